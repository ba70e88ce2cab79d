"""What another toolchain makes of the same functions: a row for each program, and what it amounts to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.loop_turns import turns_of
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.lines import clip, code, escape_markdown, json_text, printable
from hlodiff.report.markdown import to_markdown
from hlodiff.report.report import Report
from hlodiff.report.text import to_terminal
from hlodiff.report.wording import FORMATS, Unit, format_arrow, format_names, format_pair, many

FORMAT_VERSION = "1.0"
Verdict = Literal["identical", "compiler", "lowering", "added", "removed", "not_checked", "broken"]
# (metric, its title, unit), those that a reader of release notes asks about.
_NUMBERS: tuple[tuple[str, str, Unit], ...] = (
    ("memory.temp", "temp", "bytes"),
    ("fusions", "fusions", "count"),
    ("copies", "copies", "count"),
    ("instructions", "instructions", "count"),
)
_TOTALS: dict[Verdict, str] = {
    "identical": "the same",
    "compiler": "changed by the compiler alone",
    "lowering": "with other StableHLO",
    "added": "only there",
    "removed": "only here",
    "broken": "could not be judged",
    "not_checked": "not checked",
}
_SAME_STABLEHLO = {"identical": "the same", "compiler": "the same", "lowering": "differs"}


@dataclass(frozen=True, slots=True)
class UpgradeChange:
    """One program under both toolchains.

    Args:
        name, target: which.
        verdict: "compiler" where StableHLO is the same and the compiled program, its schedule or its memory is not,
            "lowering" where jax already lowers it to other StableHLO.
        classes: of the change of the compiled program.
        numbers: (title, unit, before, after) of what a reader asks about, changed or not.
        reason, advice: why it was not looked at.
        comparable: whether both programs have the same loops: counts are of one turn of each.
    """

    name: str
    target: str
    verdict: Verdict
    classes: tuple[str, ...] = ()
    numbers: tuple[tuple[str, Unit, float, float], ...] = ()
    reason: str = ""
    advice: str = ""
    comparable: bool = True


def upgrade_changes(report: Report) -> tuple[UpgradeChange, ...]:
    """A row for each program of a report, both stages together.

    Args:
        report: two toolchains compared.

    Example:
        >>> programs = (ProgramComparison("f", "cpu", "compiled", "identical"),)
        >>> upgrade_changes(Report("diff", "jax 1", "jax 2", programs))[0].verdict
        'identical'
    """
    both: dict[tuple[str, str], list[ProgramComparison]] = {}
    for program in report.programs:
        both.setdefault((program.name, program.target or ""), []).append(program)
    return tuple(_moved(name, target, stages) for (name, target), stages in both.items())


def _moved(name: str, target: str, stages: Sequence[ProgramComparison]) -> UpgradeChange:
    first, last = stages[0], stages[-1]
    if last.status == "not_checked":
        return UpgradeChange(
            name, target, "broken" if last.broken else "not_checked", reason=last.reason, advice=last.advice
        )
    if last.status in ("added", "removed"):
        return UpgradeChange(name, target, "added" if last.status == "added" else "removed")
    classes = tuple(word for word in last.classes if word not in ("toolchain", "identical"))
    metrics = last.metrics()
    numbers = tuple((title, unit, *metrics[key]) for key, title, unit in _NUMBERS if key in metrics)
    is_other = bool(classes) or any(old != new for _, _, old, new in numbers)
    if first.stage == "stablehlo" and first.status == "changed":
        verdict: Verdict = "lowering"
    else:
        verdict = "compiler" if is_other else "identical"
    return UpgradeChange(name, target, verdict, classes, numbers, comparable=turns_of(last).same)


def totals(rows: Sequence[UpgradeChange]) -> dict[Verdict, int]:
    """How many programs of each verdict, in the order in which they are listed."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in _TOTALS}


def sums(rows: Sequence[UpgradeChange]) -> tuple[tuple[str, Unit, float, float], ...]:
    """Each number over all programs that were compared."""
    found = []
    for _, title, unit in _NUMBERS:
        pairs = [(old, new) for row in rows for name, _, old, new in row.numbers if name == title]
        if pairs:
            found.append((title, unit, sum(old for old, _ in pairs), sum(new for _, new in pairs)))
    return tuple(found)


def upgrade_text(report: Report, width: int = 100, color: bool = False, details: bool = False) -> str:
    """The report as text: versions, a table, sums and totals; the changes themselves where `details` is set."""
    rows = upgrade_changes(report)
    lines = [
        f"{change.what} {format_pair(change.old, change.new)}" + _on(change.targets) for change in report.toolchain
    ]
    lines += ["", *_table(rows, width), ""] if any(_is_compared(row) for row in rows) else []
    lines += [line for text in _not_checked(rows) for line in text]
    text = "".join(printable(line) + "\n" for line in lines)
    if details:
        text += to_terminal(report, width=width, color=color, footer=False) + "\n"
    return text + "".join(printable(line) + "\n" for line in (*_summed(rows), _totals(rows, details)))


def _on(targets: Sequence[str]) -> str:
    return f" ({', '.join(targets)})" if targets else ""


def _is_compared(row: UpgradeChange) -> bool:
    return row.verdict not in ("not_checked", "broken")


def _table(rows: Sequence[UpgradeChange], width: int) -> Iterator[str]:
    head = ("program", "target", *STAGE_NAMES.values(), *(title for _, title, _ in _NUMBERS))
    cells = [head, *(_cells(row) for row in rows if _is_compared(row))]
    lines = _aligned(cells)
    if all(len(line) <= width for line in lines):
        yield from lines
        return
    # Numbers are what the table is for: in a narrow window, changed ones follow below their program.
    compared = [row for row in rows if _is_compared(row)]
    first, *names = _aligned([row[: -len(_NUMBERS)] for row in cells])
    yield clip(first, width)
    for line, row in zip(names, compared, strict=True):
        yield clip(line, width)
        moved_ = [
            f"{title} {format_arrow(old, new, FORMATS[unit])}" for title, unit, old, new in row.numbers if old != new
        ]
        yield from wrap(", ".join(moved_), width, initial_indent="    ", subsequent_indent="    ")


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[n]) for row in cells) for n in range(len(cells[0]))]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cells(row: UpgradeChange) -> tuple[str, ...]:
    known = {title: format_arrow(old, new, FORMATS[unit]) for title, unit, old, new in row.numbers}
    numbers = [known.get(title, "") for _, title, _ in _NUMBERS]
    return (row.name, row.target, _SAME_STABLEHLO.get(row.verdict, _TOTALS[row.verdict]), _compiled(row), *numbers)


def _compiled(row: UpgradeChange) -> str:
    if row.verdict in ("added", "removed"):
        return ""
    moved_only = any(old != new for _, _, old, new in row.numbers)
    return ", ".join(row.classes) or ("the same, other memory" if moved_only else "the same")


def _not_checked(rows: Sequence[UpgradeChange]) -> Iterator[list[str]]:
    reasons: dict[tuple[bool, str, str], list[str]] = {}
    for row in rows:
        if not _is_compared(row):
            reasons.setdefault((row.verdict == "broken", row.reason, row.advice), []).append(
                f"{row.name} on {row.target}"
            )
    for (broken, reason, advice), labels in reasons.items():
        lines = [f"{'could not be judged' if broken else 'not checked'}: {format_names(labels)}"]
        lines += [f"  {part}" for part in reason.split("\n")]
        yield [*lines, *([f"  hint: {advice}"] if advice else []), ""]


def _summed(rows: Sequence[UpgradeChange]) -> Iterator[str]:
    compared = [row for row in rows if row.numbers]
    if compared:
        same = all(row.comparable for row in compared)
        words = [
            f"{title} {format_arrow(old, new, FORMATS[unit])}{_by(old, new) if same or unit == 'bytes' else ''}"
            for title, unit, old, new in sums(rows)
        ]
        yield f"{many(len(compared), 'compared program')} together: {', '.join(words)}"


def _by(old: float, new: float) -> str:
    return f" ({(new - old) / old:+.1%})".replace("%", " %") if old and old != new else ""


def _totals(rows: Sequence[UpgradeChange], details: bool) -> str:
    counts = totals(rows)
    text = ", ".join(f"{counts[verdict]:,} {words}" for verdict, words in _TOTALS.items() if counts[verdict])
    changed = counts["compiler"] + counts["lowering"]
    return (text or "nothing to compare") + ("; next: the same with --details" if changed and not details else "")


def upgrade_markdown(report: Report, details: bool = False) -> str:
    """The same as GitHub-flavoured Markdown."""
    rows = upgrade_changes(report)
    lines = [f"### hlodiff upgrade: {format_pair(code(report.old), code(report.new))}", ""]
    lines += [
        f"- {escape_markdown(c.what)} {format_pair(code(c.old), code(c.new))}{escape_markdown(_on(c.targets))}"
        for c in report.toolchain
    ]
    head = ("program", "target", *STAGE_NAMES.values(), *(title for _, title, _ in _NUMBERS))
    lines += ["", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        if _is_compared(row):
            name, target, *rest = _cells(row)
            lines.append(f"| {' | '.join([code(name), code(target), *map(escape_markdown, rest)])} |")
    lines.append("")
    for block in _not_checked(rows):
        words = [line.strip() for line in block if line]
        lines += [f"- {escape_markdown('; '.join(words))}"]
    text = "\n".join([*lines, ""]) + "\n"
    if details:
        text += to_markdown(report) + "\n"
    return (
        text
        + "".join(f"{escape_markdown(line)}\n\n" for line in _summed(rows))
        + escape_markdown(_totals(rows, details))
        + "\n"
    )


def upgrade_json(report: Report) -> str:
    """The same for machines, with the whole report of every change under `report`."""
    from hlodiff.report.json_form import to_json

    rows = upgrade_changes(report)
    value: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "command": "upgrade",
        "old": report.old,
        "new": report.new,
        "toolchain": [
            {"what": c.what, "old": c.old, "new": c.new, "targets": list(c.targets)} for c in report.toolchain
        ],
        "programs": [
            {"name": row.name, "target": row.target, "verdict": row.verdict, "classes": list(row.classes),
             "numbers": {title: [old, new] for title, _, old, new in row.numbers}, "reason": row.reason,
             "advice": row.advice}
            for row in rows
        ],
        "sums": {title: [old, new] for title, _, old, new in sums(rows)},
        "totals": totals(rows),
        "report": json.loads(to_json(report)),
    }  # fmt: skip
    return json_text(value)
