"""The first view of a page: what a reviewer decides from, as values for its template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hlodiff.differ.comparison import LoopComparison, ProgramComparison
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.policy import PROGRAM_RULES, over_programs
from hlodiff.policy.findings import SEVERITIES
from hlodiff.report.addresses import program_address
from hlodiff.report.function_view import Number, ProgramView, Verdict
from hlodiff.report.functions import WORST
from hlodiff.report.headline import format_status
from hlodiff.report.lines import printable
from hlodiff.report.numbers import executed_pair, format_by, format_executed, format_number, key_numbers
from hlodiff.report.report import Report, outcomes
from hlodiff.report.verdict import THRESHOLD, VERDICT_NAMES, judged
from hlodiff.report.view import FindingView, ReportView
from hlodiff.report.wording import FORMATS, Place, Unit, format_change, format_place, format_sides, many

# The order of the table and of the totals' colours: what a reviewer has to look at first.
_WORST = ("broken", "over_budget", "changed", "removed", "added", "not_checked", "identical")
_MOST_NUMBERS = 4
_MOST_FINDINGS = 12


@dataclass(frozen=True, slots=True)
class OverviewStage:
    """One stage of a program in the table.

    Args:
        index: its number in the report.
        program: what the view says.
        status: in the words of the command.
        by_kind: edits by kind: added, removed, changed, moved.
        body: number of what is shown when it is opened; "" for nothing.
    """

    index: int
    program: ProgramView
    status: str
    by_kind: dict[str, int]
    body: str

    @property
    def address(self) -> str:
        """Where a page has it."""
        return program_address(self.program.name, self.program.target, self.program.stage)

    @property
    def kind(self) -> str:
        """What became of it, for its colour."""
        return "broken" if self.program.broken else self.program.status

    @property
    def word(self) -> str:
        """Which stage."""
        return STAGE_NAMES[self.program.stage]


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """One program in the table: a function and case on a target, with both stages.

    Args:
        stages: StableHLO first.
        kind: its status: that of the worse stage, or "over_budget".
        status: the same in the words of the command.
        findings: severities, worst first.
    """

    stages: tuple[OverviewStage, ...]
    kind: str
    status: str
    findings: tuple[str, ...]

    @property
    def main(self) -> OverviewStage:
        """The stage to look at: what differs before what does not, compiled before StableHLO."""
        return min(
            self.stages, key=lambda one: (not one.body, one.kind == "identical", one.program.stage != "compiled")
        )

    @property
    def classes(self) -> list[str]:
        """The classes of its change."""
        words = [word for stage in reversed(self.stages) for word in stage.program.word.split(", ") if word]
        return list(dict.fromkeys(words))

    @property
    def differs(self) -> list[str]:
        """The stages in which it differs."""
        return [stage.word for stage in self.stages if stage.kind != "identical"]

    @property
    def _is_kept(self) -> bool:
        """Whether the compiled program is the same: then the same runs, whatever the StableHLO counts."""
        last = self.stages[-1].program
        return last.stage == "compiled" and last.status == "identical" and not last.has_verdict

    @property
    def _found(self) -> tuple[Number, ...]:
        if self._is_kept:
            return ()
        return next((stage.program.numbers for stage in reversed(self.stages) if stage.program.numbers), ())

    @property
    def numbers(self) -> list[tuple[str, str, str, str]]:
        """Name, both sides, change and mark of the numbers that matter most, compiled ones where there are any."""
        found = self._found
        ranked = sorted((one for one in found if one.relevant), key=lambda one: (not one.mark, -one.rank))
        return [(one.name, format_number(one), format_by(one), one.mark) for one in ranked[:_MOST_NUMBERS]]

    @property
    def below(self) -> str:
        """How many of them changed too little to list."""
        count = sum(not one.relevant for one in self._found)
        return f"{many(count, 'number')} changed too little to list" if count else ""

    @property
    def verdict(self) -> Verdict | Literal[""]:
        """Whether it got better or worse, by the compiled program where there is one; "" where nothing changed."""
        judged = [stage.program.verdict for stage in self.stages if stage.program.has_verdict]
        if judged and self._is_kept:
            return "same"
        return judged[-1] if judged else ""

    @property
    def where(self) -> str:
        """The line of Python: that of StableHLO is what was written."""
        return next((where_of(stage.program.where) for stage in self.stages if stage.program.where), "")

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Why it was not checked, and what to do about that, each once."""
        return list(dict.fromkeys((s.program.reason, s.program.advice) for s in self.stages if s.program.reason))

    @property
    def text(self) -> str:
        """What the filter for text looks into."""
        words = [self.main.program.name, self.main.program.target or "", self.status, self.where, *self.findings]
        for stage in self.stages:
            program = stage.program
            words += [stage.word, program.word, program.headline, program.reason, program.id]
            words += [scope.name for scope in program.scopes]
        return " ".join(dict.fromkeys(words))


def overview_rows(report: Report, view: ReportView, bodies: Sequence[int], in_order: bool = False) -> list[OverviewRow]:
    """All programs of a report, those to look at first in front: by status, then worse before better.

    Args:
        report: what a command found out.
        view: the same in words.
        bodies: for each stage the number of its body, -1 for none.
        in_order: whether they are one program after the other, as after passes, and stay so within a status.
    """
    found: dict[tuple[str, str | None], list[OverviewStage]] = {}
    for number, program in enumerate(view.programs):
        diff = report.programs[number].diff
        counts = {kind: n for kind, n in diff.summary.items() if n} if diff else {}
        body = "" if bodies[number] < 0 else str(bodies[number])
        stage = OverviewStage(number, program, format_status(program.status, report.command), counts, body)
        found.setdefault((program.name, program.target), []).append(stage)
    over, states = over_programs(view.findings), outcomes(view.programs)
    rows = []
    for label, stages in found.items():
        stages.sort(key=lambda stage: stage.program.stage != "stablehlo")
        severities = {one.severity for one in view.findings if (one.program, one.target) == label}
        kind: str = "over_budget" if label in over and states[label] != "not_checked" else states[label]
        kind = "broken" if any(stage.kind == "broken" for stage in stages) else kind
        status = "could not be judged" if kind == "broken" else format_status(kind, report.command)
        rows.append(OverviewRow(tuple(stages), kind, status, tuple(word for word in SEVERITIES if word in severities)))
    return sorted(rows, key=lambda row: (_WORST.index(row.kind), 0 if in_order else WORST.index(row.verdict or "same")))


def where_of(place: Place | None) -> str:
    """A line of Python in words, without what called it; "" for none."""
    return format_place(replace(place, caller="")) if place else ""


def tiles_of(rows: Iterable[OverviewRow]) -> list[dict[str, Any]]:
    """How many programs have each outcome, the worst first."""
    tiles: dict[str, dict[str, Any]] = {}
    for row in rows:
        tile = tiles.setdefault(row.kind, {"kind": row.kind, "word": row.status, "count": 0})
        tile["count"] += 1
    return list(tiles.values())


def options_of(rows: Sequence[OverviewRow]) -> dict[str, list[str]]:
    """What the filters of the table offer, each in the order of the table."""
    return {
        "status": list(dict.fromkeys(row.status for row in rows)),
        "verdict": [VERDICT_NAMES[word] for word in WORST if any(row.verdict == word for row in rows)],
        "class": list(dict.fromkeys(word for row in rows for word in row.classes)),
        "target": list(dict.fromkeys(row.main.program.target for row in rows if row.main.program.target)),
        "stage": list(dict.fromkeys(word for row in rows for word in row.differs)),
        "finding": [word for word in SEVERITIES if any(word in row.findings for row in rows)],
    }


def overview_columns(rows: Sequence[OverviewRow]) -> dict[str, bool]:
    """Which columns of the table have anything in them."""
    stages = {stage.word for row in rows for stage in row.stages}
    return {
        "target": any(row.main.program.target for row in rows),
        **{name: name in stages for name in STAGE_NAMES.values()},
        "numbers": any(row.numbers or row.reasons for row in rows),
        "where": any(row.where for row in rows),
    }


def overview_findings(view: ReportView) -> list[FindingView]:
    """The findings listed above the table, worst first: those that no status of a program shows."""
    own = [one for one in view.findings if one.severity == "broken" or one.rule not in PROGRAM_RULES]
    return own[:_MOST_FINDINGS]


def finding_of(finding: FindingView, rows: Sequence[OverviewRow]) -> dict[str, Any]:
    """A finding with the program to look at."""
    label = finding.program, finding.target
    own = [row.main for row in rows if (row.main.program.name, row.main.program.target) == label]
    return {"said": finding, "where": where_of(finding.where), "stage": own[0] if own and own[0].body else None}


def scenarios_of(report: Report) -> list[tuple[str, str]]:
    """Each scenario and its outcome."""
    states = zip(report.scenarios, report.scenario_states(), strict=True)
    return [(one.name, format_status(state, report.command)) for one, state in states]


def plain(value: object) -> str:
    """Words that others wrote, as one line without control or direction characters."""
    return printable(str(value))


_KINDS = {
    "entry": "In the entry",
    "fusion": "In fusions",
    "loop": "In loop bodies",
    "branch": "In branches",
    "reduction": "In reductions",
}
_GROUPS = (
    ("memory.", "Memory"),
    ("cost.", "XLA's cost"),
    ("collective", "Collectives"),
    ("custom_calls.", "Custom calls"),
)

Pairs = Mapping[str, tuple[float, float]]
XLAS_COST = "XLA's cost"
_EXECUTED = "One call of the program (executed)"


def tables_of(program: ProgramComparison, threshold: float = THRESHOLD) -> list[dict[str, Any]]:
    """All numbers of a program, those of JSON, in tables.

    Args:
        program: any.
        threshold: the share of a number below which its change is neither better nor worse.

    Returns:
        tables with a title and rows of name, old and new number, the same in words, the change in words, and "better"
        or "worse", "" for what has no direction.

    Example:
        >>> tables_of(ProgramComparison("f", "cpu", "compiled", "added", op_counts={"add": 2}))[0]["rows"]
        [['add', 0, 2, '0', '2', 'was 0', '']]
    """
    metrics, loops = program.metrics(), program.loops()
    grouped: dict[str, dict[str, tuple[float, float]]] = {"Counts": {}}
    for name, pair in metrics.items():
        prefix, title = next((group for group in _GROUPS if name.startswith(group[0])), ("", "Counts"))
        short = name.removeprefix(prefix) if prefix.endswith(".") else name
        grouped.setdefault(title, {})[short] = pair
    tables = [{"title": _EXECUTED, "rows": _executed_rows(program)}, _table("Memory", grouped.get("Memory", {}), loops)]
    tables.append(_table("Operations", program.op_count_pairs(), loops))
    order = ["XLA's cost", "Collectives", "Counts", "Custom calls"]
    tables += [_table(title, grouped.get(title, {}), loops) for title in order]
    judged_numbers = judged(program, key_numbers(program), threshold) if program.diff else ()
    marks = {one.name: one.mark for one in judged_numbers if one.relevant and program.stage == "compiled"}
    for table in tables:
        if table["title"] in ("Memory", _EXECUTED):
            for row in table["rows"]:
                row[6] = marks.get(row[0], "") if row[1] != row[2] else ""
    kinds = program.metrics_by_kind()
    tables += [_table(_KINDS.get(kind, kind), pairs, loops) for kind, pairs in kinds.items() if len(kinds) > 1]
    return [table for table in tables if table["rows"]]


def _executed_rows(program: ProgramComparison) -> list[list[Any]]:
    """What one call does; ranges and numbers per turn of a loop in words."""
    rows = []
    for name in program.executed():
        unit: Unit = "bytes" if "bytes" in name else "count"
        old, new = executed_pair(program, name)
        row = _row(name, old.least, new.least, unit, old.exact is not None and new.exact is not None)
        if old.exact is None or new.exact is None:
            row[3:5] = [printable(format_executed(side, unit)) for side in (old, new)]
        rows.append(row)
    return sorted(rows, key=lambda row: row[3] == row[4])


def _table(title: str, pairs: Pairs, loops: LoopComparison) -> dict[str, Any]:
    """One table: memory is of one call, XLA's figures and counts of the text have each loop body once."""
    is_memory = title == "Memory"
    rows = [
        _row(name, *pair, "bytes" if is_memory or "bytes" in name else "count", is_memory or loops.same)
        for name, pair in pairs.items()
    ]
    rows.sort(key=lambda row: (row[1] == row[2], -abs(row[2] - row[1]) if title == "Operations" else 0))
    has_loops = loops.old or loops.new
    ends = "" if is_memory or not has_loops else loops.words() if title == XLAS_COST else " (in the program's text)"
    return {"title": title + ends, "rows": rows}


def _row(name: str, old: float, new: float, unit: Unit, comparable: bool) -> list[Any]:
    before, after = format_sides(old, new, FORMATS[unit])
    by = format_change(old, new) if old != new and comparable else ""
    return [printable(name.replace("_", " ")), old, new, before, after, by, ""]
