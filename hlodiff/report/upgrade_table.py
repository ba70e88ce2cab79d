"""The report of `upgrade`: a row for each program under two toolchains, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Literal

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.function_view import Number, Verdict
from hlodiff.report.functions import WORST
from hlodiff.report.headline import class_meanings
from hlodiff.report.lines import Line, clip, code, escape_markdown, json_text, lay_out, printable
from hlodiff.report.markdown import SIGNS, numbers_table, to_markdown, verdict_words
from hlodiff.report.numbers import key_numbers
from hlodiff.report.parts import build_view
from hlodiff.report.report import Report
from hlodiff.report.sentences import reordered_write
from hlodiff.report.text import number_lines, to_terminal, written_lines
from hlodiff.report.verdict import MARKS, VERDICT_NAMES, both_sides, judged, other_work, verdict_of
from hlodiff.report.view import ReportView
from hlodiff.report.wording import Unit, format_names, format_pair, many

FORMAT_VERSION = "1.1"
Outcome = Literal["identical", "compiler", "lowering", "added", "removed", "not_checked", "broken"]
# (metric, title, unit) of the numbers that matter in an upgrade.
_NUMBERS: tuple[tuple[str, str, Unit], ...] = (
    ("memory.temp", "temp", "bytes"),
    ("fusions", "fusions", "count"),
    ("copies", "copies", "count"),
    ("instructions", "instructions", "count"),
)
_METRIC = {title: metric for metric, title, _ in _NUMBERS}
_TOTALS: dict[Outcome, str] = {
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
    """One program under two toolchains.

    Args:
        name, target: the program.
        verdict: "compiler" if StableHLO is the same but the compiled program, its schedule or its memory differs;
            "lowering" if jax lowers it to different StableHLO.
        classes: change classes of the compiled program.
        numbers: (title, unit, before, after) of the main numbers, changed or not.
        reason, advice: why it was not checked.
        cost: whether the compiled program got better or worse; "same" also if unchanged.
        changes: numbers that changed by more than the threshold, most important first.
    """

    name: str
    target: str
    verdict: Outcome
    classes: tuple[str, ...] = ()
    numbers: tuple[tuple[str, Unit, float, float], ...] = ()
    reason: str = ""
    advice: str = ""
    cost: Verdict = "same"
    changes: tuple[Number, ...] = ()


def upgrade_changes(report: Report) -> tuple[UpgradeChange, ...]:
    """A row for each program of a report, both stages together.

    Args:
        report: comparison of two toolchains.

    Example:
        >>> programs = (ProgramComparison("f", "cpu", "compiled", "identical"),)
        >>> upgrade_changes(Report("diff", "jax 1", "jax 2", programs))[0].verdict
        'identical'
    """
    both: dict[tuple[str, str], list[ProgramComparison]] = {}
    for program in report.programs:
        both.setdefault((program.name, program.target or ""), []).append(program)
    return tuple(_change_of(name, target, stages, report.threshold) for (name, target), stages in both.items())


def _change_of(name: str, target: str, stages: Sequence[ProgramComparison], threshold: float) -> UpgradeChange:
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
        verdict: Outcome = "lowering"
    else:
        verdict = "compiler" if is_other else "identical"
    found = judged(last, key_numbers(last), threshold) if last.diff is not None else ()
    changes = tuple(sorted((one for one in found if one.relevant), key=lambda one: -one.rank))
    doubtful = reordered_write(last.diff) is not None
    cost = verdict_of(found, doubtful, other_work(last))
    return UpgradeChange(name, target, verdict, classes, numbers, cost=cost, changes=changes)


def _worst_first(rows: Iterable[UpgradeChange]) -> list[UpgradeChange]:
    """Compared programs, worst first, unchanged ones last."""
    compared = [row for row in rows if _is_compared(row)]
    most = {id(row): max((one.rank for one in row.changes), default=0.0) for row in compared}
    return sorted(compared, key=lambda row: (row.verdict == "identical", WORST.index(row.cost), -most[id(row)]))


def totals(rows: Sequence[UpgradeChange]) -> dict[Outcome, int]:
    """Number of programs of each verdict, in display order."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in _TOTALS}


def upgrade_text(report: Report, width: int = 100, color: bool = False, details: bool = False) -> str:
    """The report as text: versions, verdict, next command, a table and totals; with `details` the changes too."""
    rows = upgrade_changes(report)
    lines = [
        f"{change.what} {format_pair(change.old, change.new)}" + _on(change.targets) for change in report.toolchain
    ]
    view, following = build_view(report), _following(report, rows)
    if any(_is_compared(row) for row in rows):
        lines += ["", *([f"{MARKS[view.functions[0].verdict]} {view.verdict}", ""] if view.functions else [])]
        lines += [*([f"next: {following}", ""] if following else []), *_table(rows, width)]
        meanings = [Line(0, words, wrap=True) for words in ([] if details else _meanings(view, rows))]
        lines += lay_out([*meanings, Line(0, "")], width=width).split("\n")[:-1]  # the details end with them
    lines += lay_out(number_lines(view.numbers), width=width).split("\n")[:-1]
    lines += lay_out(list(_at_libraries(report)), width=width).split("\n")[:-1]
    lines += _what_to_do(report, rows)
    lines += [line for text in _not_checked(rows) for line in text]
    text = "".join(printable(line) + "\n" for line in lines)
    if details:
        text += to_terminal(report, width=width, color=color, footer=False) + "\n"
    return text + "".join(printable(line) + "\n" for line in (*_summed(rows), _totals(rows)))


def _meanings(view: ReportView, rows: Iterable[UpgradeChange]) -> list[str]:
    """What the classes in the table mean, in one line; none if it has none."""
    shown = {name for row in rows for name in row.classes}
    compiled = (one for one in view.programs if one.stage == "compiled")
    words = [f"{name}: {words}" for name, words in class_meanings(compiled).items() if name in shown]
    return ["; ".join(words)] if words else []


def _following(report: Report, rows: Sequence[UpgradeChange]) -> str:
    """The next command; "" if no program changed."""
    counts = totals(rows)
    return report.next if counts["compiler"] + counts["lowering"] else ""


_MOST_FUNCTIONS = 3


def _at_libraries(report: Report) -> Iterator[Line]:
    """For the functions that library versions changed most: the lines, their callers, and both source texts."""
    if not report.packages:
        return
    functions = build_view(replace(report, all=False)).functions
    changed = [one for one in functions if any(stage.stage == "stablehlo" for stage in one.stages)]
    for function in changed[:_MOST_FUNCTIONS]:
        yield Line(0, function.name, style="bold")
        yield from written_lines(function, report)
        yield Line(0, "")
    if len(changed) > _MOST_FUNCTIONS:
        yield Line(0, f"... and {many(len(changed) - _MOST_FUNCTIONS, 'more function')}")
        yield Line(0, "")


def _what_to_do(report: Report, rows: Sequence[UpgradeChange]) -> list[str]:
    """Advice for a changed library version; none if jax itself or the compiler changed."""
    libraries = [one for one in report.toolchain if not one.targets]
    if not report.packages or len(libraries) < len(report.toolchain) or not any(map(_is_compared, rows)):
        return []
    names = dict.fromkeys(row.name for row in rows if row.cost in ("worse", "mixed") and row.verdict == "lowering")
    wanted = " ".join(f"'{one.what}=={one.new}'" for one in libraries)
    if not names:
        if any(row.cost in ("worse", "mixed") for row in rows):
            return []
        return [f"what to do: no compared program costs more; install {wanted}, then hlodiff check", ""]
    kept = " ".join(f"'{one.what}=={one.old}'" for one in libraries if one.old != "none")
    keep = f"keep {kept}" if kept else "leave it out"
    return [
        f"what to do: {keep} while the cost of {format_names(list(names))} counts, or look at the lines above for an "
        "option that brings the old program back;",
        f"  for its maintainers: hlodiff upgrade {wanted} --name '{next(iter(names))}' --details --format markdown",
        "",
    ]


def _on(targets: Sequence[str]) -> str:
    return f" ({', '.join(targets)})" if targets else ""


def _is_compared(row: UpgradeChange) -> bool:
    return row.verdict not in ("not_checked", "broken")


_HEAD = ("program", "target", "verdict", *STAGE_NAMES.values(), "numbers that changed")
_MOST_NUMBERS = 4


def _table(rows: Sequence[UpgradeChange], width: int) -> Iterator[str]:
    """A row for each program, worst first, with old, new and ratio of the main numbers."""
    compared = _worst_first(rows)
    lines = _aligned([_HEAD, *(_cells(row) for row in compared)])
    if all(len(line) <= width for line in lines):
        yield from lines
        return
    # Numbers matter most: in a narrow window they go below their program.
    first, *names = _aligned([_HEAD[:-1], *(_cells(row)[:-1] for row in compared)])
    yield clip(first, width)
    for line, row in zip(names, compared, strict=True):
        yield clip(line, width)
        yield from wrap(_cells(row)[-1], width, initial_indent="    ", subsequent_indent="    ")


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[n]) for row in cells) for n in range(len(cells[0]))]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cells(row: UpgradeChange) -> tuple[str, ...]:
    words = [both_sides(one) for one in row.changes[:_MOST_NUMBERS]]
    left = len(row.changes) - len(words)
    words += [f"{left} more"] if left else []
    stablehlo = _SAME_STABLEHLO.get(row.verdict, _TOTALS[row.verdict])
    if row.verdict in ("added", "removed"):
        return row.name, row.target, "", stablehlo, "", ", ".join(words)
    moved_only = any(old != new for _, _, old, new in row.numbers)
    compiled = ", ".join(row.classes) or ("the same, other memory" if moved_only else "the same")
    return row.name, row.target, f"{MARKS[row.cost]} {VERDICT_NAMES[row.cost]}", stablehlo, compiled, ", ".join(words)


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
    """For each number, in how many programs it rose and fell; a sum over functions and targets would mean nothing."""
    compared = [row for row in rows if row.numbers]
    words = []
    for _, title, _ in _NUMBERS:
        pairs = [(old, new) for row in compared for name, _, old, new in row.numbers if name == title]
        moved = [
            f"{way} in {count:,}"
            for way, count in (("lower", sum(b < a for a, b in pairs)), ("higher", sum(b > a for a, b in pairs)))
            if count
        ]
        words += [f"{title} {' and '.join(moved)}"] if moved else []
    if words:
        yield f"of {many(len(compared), 'compared program')}: {', '.join(words)}"


def _totals(rows: Sequence[UpgradeChange]) -> str:
    counts = totals(rows)
    words = [f"{counts[verdict]:,} {words}" for verdict, words in _TOTALS.items() if counts[verdict]]
    return ", ".join(words) or "nothing to compare"


def upgrade_markdown(report: Report, details: bool = False) -> str:
    """The report as GitHub-flavoured Markdown."""
    rows = upgrade_changes(report)
    lines = [f"### hlodiff upgrade: {format_pair(code(report.old), code(report.new))}", ""]
    lines += [
        f"- {escape_markdown(c.what)} {format_pair(code(c.old), code(c.new))}{escape_markdown(_on(c.targets))}"
        for c in report.toolchain
    ]
    view = build_view(report)
    if view.functions:
        lines += ["", f"{SIGNS[view.functions[0].verdict]} {escape_markdown(view.verdict)}"]
    if following := _following(report, rows):
        lines += ["", f"next: {code(following)}"]
    lines += ["", f"| {' | '.join(_HEAD)} |", f"|{' --- |' * len(_HEAD)}"]
    for row in _worst_first(rows):
        name, target, cost, *rest = _cells(row)
        mark = verdict_words(row.cost) if cost else ""
        lines.append(f"| {' | '.join([code(name), code(target), mark, *map(escape_markdown, rest)])} |")
    meanings = () if details else _meanings(view, rows)
    lines += ["", *(f"{escape_markdown(words)}\n" for words in meanings), *numbers_table(view, several=1)]
    lines += [f"    {line}" for line in lay_out(list(_at_libraries(report)), width=160).split("\n")]
    lines += [escape_markdown(line) for line in _what_to_do(report, rows)]
    for block in _not_checked(rows):
        words = [line.strip() for line in block if line]
        lines += [f"- {escape_markdown('; '.join(words))}"]
    text = "\n".join([*lines, ""]) + "\n"
    if details:
        text += to_markdown(report) + "\n"
    return (
        text + "".join(f"{escape_markdown(line)}\n\n" for line in _summed(rows)) + escape_markdown(_totals(rows)) + "\n"
    )


def upgrade_json(report: Report) -> str:
    """The report as JSON, with the whole report of every change under `report`."""
    from hlodiff.report.json_form import to_json

    rows = upgrade_changes(report)
    value: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "command": "upgrade",
        "old": report.old,
        "new": report.new,
        "toolchain": [change.to_json() for change in report.toolchain],
        "programs": [
            {"name": row.name, "target": row.target, "verdict": row.verdict, "classes": list(row.classes),
             "cost": row.cost,
             "changes": [{"name": one.name, "old": one.old, "new": one.new, "mark": one.mark} for one in row.changes],
             "numbers": {_METRIC[title]: [old, new] for title, _, old, new in row.numbers}, "reason": row.reason,
             "advice": row.advice}
            for row in rows
        ],
        "totals": totals(rows),
        "report": json.loads(to_json(report)),
    }  # fmt: skip
    return json_text(value)
