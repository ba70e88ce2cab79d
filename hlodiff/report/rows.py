"""The table on top of a report: a row for each function, with the numbers that decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hlodiff.differ.classify import CLASSES
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.loop_turns import Turns, counts_turns, turns_of
from hlodiff.hlo.collectives import FAMILIES
from hlodiff.report.counts import passing
from hlodiff.report.grouping import format_scopes
from hlodiff.report.view import Number, ProgramView, ReportView
from hlodiff.report.wording import FORMATS, Unit, format_arrow, format_bytes, format_change, format_place

# (metric, its words, unit, metric of its bytes), in the order of the table; collectives come between the two.
_BEFORE: tuple[tuple[str, str, Unit, str], ...] = (("ops", "ops", "count", ""), ("fusions", "fusions", "count", ""))
_AFTER: tuple[tuple[str, str, Unit, str], ...] = (
    ("memory.temp", "temp", "bytes", ""),
    ("memory.alias", "aliased", "bytes", ""),
    ("copies", "copies", "count", "copy_bytes"),
    ("copies_in_loops", "copies in loops", "count", ""),
    ("host_transfers", "host transfers", "count", ""),
    ("cost.flops", "flops", "count", ""),
    ("cost.bytes_accessed", "bytes accessed", "bytes", ""),
)
# They say how long the program is, however often it runs.
_PARTS = ("ops", "fusions", "copies_in_loops")


def key_numbers(program: ProgramComparison) -> tuple[Number, ...]:
    """The numbers that changed: op counts, collectives by kind with bytes, temp and aliased bytes, copies.

    Args:
        program: any; one with one side only has op counts alone.

    Returns:
        changed numbers in a fixed order.

    Example:
        >>> key_numbers(ProgramComparison("f", "cpu", "compiled", "added", op_counts={"add": 2}))
        (Number(name='ops', old=0, new=2, unit='count', old_bytes=0, new_bytes=0, per='', comparable=True),)
    """
    metrics: Mapping[str, tuple[float, float]] = program.metrics()
    if program.diff is None:
        pairs = program.op_count_pairs().values()
        metrics = {"ops": (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))}
    turns = turns_of(program)
    found = [*_numbers(metrics, _BEFORE, turns), *_collectives(metrics, turns), *_numbers(metrics, _AFTER, turns)]
    return tuple(n for n in found if (n.old, n.old_bytes) != (n.new, n.new_bytes))


def _numbers(
    metrics: Mapping[str, tuple[float, float]], names: Iterable[tuple[str, str, Unit, str]], turns: Turns
) -> Iterator[Number]:
    for metric, words, unit, size in names:
        old, new = metrics.get(metric, (0, 0))
        runs = counts_turns(metric)
        per = turns.words() if runs and metric not in _PARTS else ""
        yield Number(words, old, new, unit, *metrics.get(size, (0, 0)), per, turns.same or not runs)


def _collectives(metrics: Mapping[str, tuple[float, float]], turns: Turns) -> Iterator[Number]:
    for name, (old, new) in metrics.items():
        family = name.removeprefix("collectives.")
        if family != name:
            size = metrics.get(f"collective_bytes.{family}", (0, 0))
            yield Number(family, old, new, "count", *size, turns.words(), turns.same)


def format_number(number: Number) -> str:
    """A number with both sides: `0 -> 2 (0 B -> 24.0 KiB)`.

    Example:
        >>> format_number(Number("all-gather", 0, 2, "count", 0, 24576))
        '0 -> 2 (0 B -> 24.0 KiB)'
    """
    words = format_arrow(number.old, number.new, FORMATS[number.unit])
    if number.old_bytes or number.new_bytes:
        words += f" ({format_arrow(number.old_bytes, number.new_bytes, format_bytes)})"
    return words + number.per


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
            cells[number.name] = format_arrow(number.old, number.new, FORMATS[number.unit]) + number.per
    if program.scopes:
        cells["most changed scopes"] = format_scopes(program.scopes[:_MOST_SCOPES])
    return tuple((column, cells[column]) for column in _COLUMNS if column in cells)
