"""The complete report as JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.result import KINDS
from hlodiff.hlo.metadata import shown_file
from hlodiff.policy import SCENARIO_RULES
from hlodiff.report.grouping import EditGroup, edits_of
from hlodiff.report.lines import json_text
from hlodiff.report.numbers import share_of
from hlodiff.report.parts import ReportParts
from hlodiff.report.passes import blame_json
from hlodiff.report.report import Report
from hlodiff.report.shared_text import ReportTexts
from hlodiff.report.text import lines_of

if TYPE_CHECKING:
    from hlodiff.tracing.compare import TraceComparison
    from hlodiff.tracing.counts import TraceCounts

FORMAT_VERSION = "1.2"


def to_json(report: Report, *, parts: ReportParts | None = None) -> str:
    """The report as JSON text.

    Args:
        report: the report.
        parts: those of the report, if shared among several forms.

    Returns:
        one JSON object, ending in a newline; the same bytes for the same report.

    Example:
        >>> '"programs": []' in to_json(Report("diff", "a", "b", ()))
        True
    """
    parts = parts or ReportParts(report)
    texts, shown = parts.texts, parts.view
    ids = {(one.name, one.target): one.id for one in report.programs if one.id}
    records = {one.program: one.id for one in report.findings if one.id and one.rule in SCENARIO_RULES}
    value: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "command": report.command,
        "old": report.old,
        "new": report.new,
        "toolchain": [change.to_json() for change in report.toolchain],
        "programs": [
            _program(program, report.root) | {"patterns": own}
            for program, own in zip(report.programs, _patterns_of(texts, len(report.programs)), strict=True)
        ],
        "patterns": [_pattern(edit_group, report) for edit_group in texts.patterns],
        "findings": [
            {"severity": f.severity, "rule": f.rule, "program": f.program, "target": f.target,
             "id": f.id or ids.get((f.program, f.target)), "what": f.what,
             "advice": f.advice, "details": list(f.details), "fingerprint": f.fingerprint,
             "source": [{"file": shown_file(s.file, report.root), "line": s.line, "function": s.function}
                        for s in f.source]}
            for f in report.findings
        ],
        "scenarios": [_scenario(one) | {"id": records.get(one.name)} for one in report.scenarios],
        "notes": list(report.notes),
        "totals": report.totals(),
        "sheet": asdict(replace(shown, text=lines_of(parts)), dict_factory=_table),
    }  # fmt: skip
    if report.timings:
        value["timings"] = [timing.to_json() for timing in report.timings]
    if report.run_parts:
        value["run_seconds"] = {what: round(seconds, 3) for what, seconds in report.run_parts}
    return json_text(value)


def _patterns_of(texts: ReportTexts, programs: int) -> list[list[str]]:
    """For each program, the ids of its changes for `accept --pattern`."""
    found: list[dict[str, None]] = [{} for _ in range(programs)]
    for edit_group in texts.patterns:
        for number, _ in edit_group.edits:
            found[number][edit_group.id] = None
    return [list(ids) for ids in found]


def _program(program: ProgramComparison, root: str) -> dict[str, Any]:
    head = {"name": program.name, "target": program.target, "stage": program.stage, "status": program.status}
    head |= {"id": program.id or None}
    body: dict[str, Any] = program.diff.to_json() if program.diff else _one_sided()
    for edits in (body["edits"], *(channel["edits"] for channel in body["channels"].values())):
        for edit in edits:
            edit["source"] = [{**frame, "file": shown_file(frame["file"], root)} for frame in edit["source"]]
    body["metrics"] = {name: list(pair) for name, pair in program.metrics().items()}
    body["metrics_executed"] = {
        name: [one.to_json() if one is not None else None for one in pair] for name, pair in program.executed().items()
    }
    body["same"] = share_of(program.diff).to_json() if program.status == "changed" and program.diff else None
    body["metrics_by_kind"] = {
        kind: {name: list(pair) for name, pair in metrics.items()}
        for kind, metrics in program.metrics_by_kind().items()
    }
    body["op_counts"] = {name: list(pair) for name, pair in program.op_count_pairs().items()}
    # The status is that of the comparison, which may know more than the diff of the text.
    result = head | {key: value for key, value in body.items() if key != "status"}
    classes = program.classes
    loops = program.loops()
    result |= {"per": "one turn of each loop" if loops.old or loops.new else None}  # what `metrics` count
    result |= {"loops": {"old": loops.old, "new": loops.new, "same": loops.same}}
    result |= {"class": classes[0] if classes else None, "classes": list(classes), "replayed": program.replayed}
    if program.passes is not None:
        result |= {"passes": blame_json(program.passes)}
    if program.reason:
        result |= {"reason": program.reason, "advice": program.advice, "broken": program.broken, "log": program.log}
    return result


def _pattern(edit_group: EditGroup, report: Report) -> dict[str, Any]:
    """One change with all its occurrences: equal changes from one line, in all programs of the report."""
    programs = dict.fromkeys(number for number, _ in edit_group.edits)
    diffs = [(number, report.programs[number].diff, index) for number, index in edit_group.edits]
    listed = [(number, diff.reported_from[index]) for number, diff, index in diffs if diff is not None]
    old, new = (cost.to_json() if cost else None for cost in edit_group.cost)
    return {
        "id": edit_group.id,
        "stage": edit_group.key[0],
        "kind": edit_group.kind,
        "what": edit_group.what,
        "count": edit_group.count,
        "follows": dict(edit_group.follows),
        "cost": {"old": old, "new": new},
        "source": [
            {"file": shown_file(f.file, report.root), "line": f.line, "function": f.function}
            for edit in islice(edits_of(edit_group, report), 1)
            for f in edit.source
        ],
        "where": edit_group.where,
        "programs": list(programs),
        # Indices in the edit list of each program.
        "edits": [list(pair) for pair in dict.fromkeys(listed)],
    }


def _one_sided() -> dict[str, Any]:
    nothing = {"summary": dict.fromkeys(KINDS, 0), "edits": []}
    return {
        "summary": dict.fromkeys(KINDS, 0), "metrics": {}, "metrics_executed": {},
        "metrics_by_kind": {}, "same": None, "op_counts": {},
        "edits": [], "fusions": [],
        "channels": {"schedule": nothing, "tuning": nothing}, "ignored": {}, "limits": [], "limits_hit": [],
        "elided_constants": 0,
    }  # fmt: skip


def _table(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """A record as a table; XLA passes and callers of libraries only if requested, `besides` only if not empty."""
    return {name: value for name, value in fields if name not in ("passes", "caller", "besides") or value}


def _scenario(one: TraceComparison) -> dict[str, Any]:
    return {
        "name": one.name,
        "status": one.status,
        "changes": list(one.changes),
        "over_budget": list(one.over),
        "notes": list(one.notes),
        "old": _side(one.old),
        "new": _side(one.new),
        **({"reason": one.reason, "advice": one.advice, "log": one.log} if one.reason else {}),
    }


def _side(account: TraceCounts | None) -> dict[str, Any] | None:
    if account is None:
        return None
    from hlodiff.tracing.counts import to_plain

    return {"traces": account.traces, "programs": account.programs, "functions": to_plain(account)}
