"""The table on top of a report: a row for each function, with the numbers that decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hlodiff.differ.classify import CLASSES
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.hlo.collectives import FAMILIES
from hlodiff.report.counts import passing
from hlodiff.report.executed import executed_number
from hlodiff.report.grouping import format_scopes
from hlodiff.report.lines import printable
from hlodiff.report.view import Number, ProgramView, ReportView
from hlodiff.report.wording import FORMATS, Unit, format_arrow, format_bytes, format_change, format_pair, format_place

# (metric, its words, unit), in the order of the table; collectives come between the two.
_BEFORE: tuple[tuple[str, str, Unit], ...] = (("ops", "ops", "count"), ("fusions", "fusions", "count"))
_MEMORY: tuple[tuple[str, str, Unit], ...] = (("memory.temp", "temp", "bytes"), ("memory.alias", "aliased", "bytes"))
_IN_LOOPS: tuple[tuple[str, str, Unit], ...] = (("copies_in_loops", "copies in loops", "count"),)
# (metric, its words, unit, metric of its bytes): what one call does.
_COPIES: tuple[tuple[str, str, Unit, str], ...] = (("copies", "copies", "count", "copy_bytes"),)
_EXECUTED: tuple[tuple[str, str, Unit, str], ...] = (
    ("host_transfers", "host transfers", "count", ""),
    ("launches", "launches", "count", ""),
    ("flops", "flops", "count", ""),
    ("bytes_accessed", "bytes accessed", "bytes", ""),
)


def key_numbers(program: ProgramComparison) -> tuple[Number, ...]:
    """The numbers that changed: op counts, collectives by kind with bytes, temp and aliased bytes, copies, work.

    Op counts, fusions and memory are those of the program's text; the others are of one call of the program.

    Args:
        program: any; one with one side only has op counts alone.

    Returns:
        changed numbers in a fixed order.

    Example:
        >>> key_numbers(ProgramComparison("f", "cpu", "compiled", "added", op_counts={"add": 2}))[0].new
        2
    """
    if program.diff is None:
        pairs = program.op_count_pairs().values()
        return tuple(_static({"ops": (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))}, _BEFORE))
    metrics = program.metrics()
    return (
        *_static(metrics, _BEFORE),
        *_executed(program, _families(program)),
        *_static(metrics, _MEMORY),
        *_executed(program, _COPIES),
        *_static(metrics, _IN_LOOPS),
        *_executed(program, _EXECUTED),
    )


def _static(metrics: Mapping[str, tuple[float, float]], names: Iterable[tuple[str, str, Unit]]) -> Iterator[Number]:
    for metric, words, unit in names:
        old, new = metrics.get(metric, (0, 0))
        if old != new:
            yield Number(words, old, new, unit)


def _executed(program: ProgramComparison, names: Iterable[tuple[str, str, Unit, str]]) -> Iterator[Number]:
    for metric, words, unit, size in names:
        found = executed_number(program, metric, words, unit, size)
        if found is not None:
            yield found


def _families(program: ProgramComparison) -> Iterator[tuple[str, str, Unit, str]]:
    for name in program.executed():
        family = name.removeprefix("collectives.")
        if family != name:
            yield name, family, "count", f"collective_bytes.{family}"


_IN_WORDS = re.compile(r"(?:at (?:least|most) )?\d")


def is_in_words(number: Number) -> bool:
    """Whether a side is a range or per turn of a loop; words that begin with no number are those of a forged result.

    Example:
        >>> is_in_words(Number("copies", 4, 2, old_words="4", new_words="2 + 1 per turn of the loop at model.py:3"))
        True
    """
    return all(_IN_WORDS.match(words) for words in (number.old_words, number.new_words))


def format_number(number: Number) -> str:
    """A number with both sides: `0 -> 2 (0 B -> 24.0 KiB)`.

    Example:
        >>> format_number(Number("all-gather", 0, 2, "count", 0, 24576))
        '0 -> 2 (0 B -> 24.0 KiB)'
    """
    words = format_arrow(number.old, number.new, FORMATS[number.unit])
    if is_in_words(number):
        words = printable(format_pair(number.old_words, number.new_words))
    if number.old_bytes or number.new_bytes:
        words += f" ({format_arrow(number.old_bytes, number.new_bytes, format_bytes)})"
    return words + (f" ({printable(number.per).strip()})" if number.per else "")


def by_how_much(number: Number) -> str:
    """The change of a number: `+17 %`; of its bytes where the count stayed; "" where the sides do not compare."""
    if not number.comparable:
        return ""
    if number.old != number.new:
        return format_change(number.old, number.new)
    return format_change(number.old_bytes, number.new_bytes)


_STATUS = {
    "check": {"changed": "changed", "added": "new: no snapshot", "removed": "orphaned"},
    "diff": {"changed": "changed", "added": "added", "removed": "removed"},
}
_COLUMNS = ("ops", "fusions", "collectives", "temp", "aliased", "copies in loops", "shared", "most changed scopes")
_MOST_SCOPES = 3
MOST_ROWS = 12
"""More rows are counted in text and folded in Markdown: with a few lines around them a reviewer decides from twenty."""


@dataclass(frozen=True, slots=True)
class Row:
    """One function on those targets where it changed alike, and others with exactly the same row.

    Args:
        name, targets: which programs.
        also: names of the other functions.
        change: what happened, in a few words.
        where: the line of Python that matters most.
        cells: text by column; only what changed.
        failing: whether a finding fails it or leaves it without a verdict.
        edited: how many instructions were edited.
        ids: what `hlodiff accept` calls it on each target; "" where it does not wait for a decision.
    """

    name: str
    targets: tuple[str, ...]
    change: str
    where: str
    cells: tuple[tuple[str, str], ...]
    failing: bool
    edited: int
    ids: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`train_step on cpu, tpu-v5e`, `loss and 7 more on cpu`."""
        words = self.name + (f" and {len(self.also):,} more" if len(self.also) > 1 else "")
        words = f"{self.name}, {self.also[0]}" if len(self.also) == 1 else words
        return f"{words} on {', '.join(self.targets)}" if self.targets else words


def rows_of(view: ReportView) -> tuple[Row, ...]:
    """Rows for all changed, added and removed functions: failing ones first, then the most edited.

    Targets of one function, and functions, share a row if everything else in it is the same.

    Example:
        >>> rows_of(ReportView("diff", "a", "b", (ProgramView("f", None, "compiled", "added"),)))[0].change
        'added'
    """
    both: dict[tuple[str, str | None], list[ProgramView]] = {}
    for program in view.programs:
        if program.status in _STATUS[view.command]:
            both.setdefault((program.name, program.target), []).append(program)
    failing = {(f.program, f.target) for f in view.findings if f.severity in ("broken", "error")}
    failing |= {(f.program, None) for f in view.findings if f.severity in ("broken", "error") and f.target is None}
    lets_pass = passing(view.findings)
    same_source = {(p.name, p.target) for p in view.programs if (p.stage, p.status) == ("stablehlo", "identical")}
    shared = _shared(view)
    found: dict[object, Row] = {}
    for (name, target), programs in both.items():
        is_failing = (name, target) in failing or (name, None) in failing
        row = _row(programs, view.command, is_failing, (name, target) in same_source)
        row = replace(row, cells=_with_shared(row.cells, _listed(shared.get((name, target), {}), view)))
        if (name, target) in lets_pass and not is_failing:
            row = replace(row, change=f"{row.change}, passes")
        same = replace(row, targets=(), ids=())
        known = found.get(same, same)
        found[same] = replace(known, targets=(*known.targets, *row.targets), ids=(*known.ids, *row.ids))
    return _together(sorted(found.values(), key=lambda row: (not row.failing, -row.edited)))


def _shared(view: ReportView) -> dict[tuple[str, str | None], dict[str, None]]:
    """The marks of what each program shares with others, as they are listed above the details."""
    found: dict[tuple[str, str | None], dict[str, None]] = {}
    for detail in view.details:
        for target in detail.targets or (None,):
            found.setdefault((detail.name, target), {}).update(dict.fromkeys(detail.shared.split()))
    return found


def _listed(marks: Iterable[str], view: ReportView) -> tuple[str, ...]:
    """The marks of what is listed; the rest counted."""
    hidden = {f"[{len(view.shared) + 1 + number}]" for number in range(view.shared_more)}
    marks = tuple(marks)
    shown = tuple(mark for mark in marks if mark not in hidden)
    return shown if len(shown) == len(marks) else (*shown, f"and {len(marks) - len(shown)} more")


def without_shared(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows for an overview, which does not list what is shared.

    Example:
        >>> without_shared([Row("f", ("cpu",), "cost", "", (("shared", "[1]"),), False, 1)])[0].cells
        ()
    """
    return tuple(replace(row, cells=tuple(cell for cell in row.cells if cell[0] != "shared")) for row in rows)


def _with_shared(cells: tuple[tuple[str, str], ...], marks: Iterable[str]) -> tuple[tuple[str, str], ...]:
    own = {**dict(cells), "shared": " ".join(marks)}
    return tuple((column, own[column]) for column in _COLUMNS if own.get(column))


def _together(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Fifty functions that one line changed alike are one thing to decide on."""
    found: dict[object, Row] = {}
    for row in rows:
        same = replace(row, name="", ids=(), edited=0)
        known = found.get(same)
        found[same] = replace(known, also=(*known.also, row.name), ids=("",) * len(row.ids)) if known else row
    return tuple(found.values())


def format_row(row: Row) -> str:
    """`train_step on cpu: numerics; ops 57 -> 61, temp 64.0 KiB -> 56.0 KiB`.

    Example:
        >>> format_row(Row("f", ("cpu",), "cost", "m.py:3", (("ops", "1 -> 2"),), False, 1))
        'f on cpu: cost; ops 1 -> 2'
    """
    cells = ", ".join(
        words if column == "collectives" else f"{column} {words}"
        for column, words in row.cells
        if column != "most changed scopes"
    )
    return "; ".join(filter(None, (f"{row.label}: {row.change}", cells)))


def functions_in(rows: Iterable[Row]) -> int:
    """How many functions some rows have.

    Example:
        >>> functions_in(())
        0
    """
    return len({name for row in rows for name in (row.name, *row.also)})


def columns_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns in which any row has something to say.

    Example:
        >>> columns_of(())
        ()
    """
    used = {column for row in rows for column, _ in row.cells}
    return tuple(column for column in _COLUMNS if column in used)


def _row(programs: Sequence[ProgramView], command: str, failing: bool, same_source: bool) -> Row:
    last = programs[-1]  # the compiled program where there is one: it is what runs
    change = _classes(programs) or _STATUS[command][last.status]
    if last.status == "changed" and last.stage == "compiled" and same_source:
        change += " (StableHLO is the same)"
    where = next((program.where for program in programs if program.where), None)
    targets = (last.target,) if last.target else ()
    edited = max(program.edited for program in programs)
    ids = (last.id,) if last.target else ()
    return Row(last.name, targets, change, format_place(where), _cells(last), failing, edited, ids)


def _classes(programs: Sequence[ProgramView]) -> str:
    """The kinds of change of both stages, most severe first."""
    words = dict.fromkeys(word for program in programs for word in program.word.split(", ") if word)
    places: dict[str, int] = {name: place for place, name in enumerate(CLASSES)}
    return ", ".join(sorted(words, key=lambda word: places.get(word, -1)))


def _cells(program: ProgramView) -> tuple[tuple[str, str], ...]:
    cells: dict[str, str] = {}
    for number in program.numbers:
        if number.name in FAMILIES:
            words = f"{number.name} {format_number(number)}"
            cells["collectives"] = ", ".join(filter(None, (cells.get("collectives"), words)))
        elif number.name in _COLUMNS:
            cells[number.name] = format_arrow(number.old, number.new, FORMATS[number.unit])
    if program.scopes:
        cells["most changed scopes"] = format_scopes(program.scopes[:_MOST_SCOPES])
    return tuple((column, cells[column]) for column in _COLUMNS if column in cells)
