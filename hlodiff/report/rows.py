"""The table on top of a report: a row for each function, with the numbers that decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hlodiff.diff.classes import CLASSES
from hlodiff.ir.collectives import FAMILIES
from hlodiff.report.counts import passing
from hlodiff.report.key_numbers import arrow, number_in_words
from hlodiff.report.scopes import scopes_in_words
from hlodiff.report.sheet import Number, Place, Program, Sheet

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
    """One function on those targets where it changed alike, and others of which all the same is to be said.

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


def rows_of(sheet: Sheet) -> tuple[Row, ...]:
    """Rows for all functions that changed, came or went: failing ones first, then the most edited.

    Targets of one function, and functions, stand in one row where everything else in it is the same.

    Example:
        >>> rows_of(Sheet("diff", "a", "b", (Program("f", None, "compiled", "added"),)))[0].change
        'added'
    """
    both: dict[tuple[str, str | None], list[Program]] = {}
    for program in sheet.programs:
        if program.status in _STATUS[sheet.command]:
            both.setdefault((program.name, program.target), []).append(program)
    failing = {(f.program, f.target) for f in sheet.findings if f.severity in ("broken", "error")}
    failing |= {(f.program, None) for f in sheet.findings if f.severity in ("broken", "error") and f.target is None}
    lets_pass = passing(sheet.findings)
    same_source = {(p.name, p.target) for p in sheet.programs if (p.stage, p.status) == ("stablehlo", "identical")}
    shared = _shared(sheet)
    found: dict[object, Row] = {}
    for (name, target), programs in both.items():
        is_failing = (name, target) in failing or (name, None) in failing
        row = _row(programs, sheet.command, is_failing, (name, target) in same_source)
        row = replace(row, cells=_with_shared(row.cells, _listed(shared.get((name, target), {}), sheet)))
        if (name, target) in lets_pass and not is_failing:
            row = replace(row, change=f"{row.change}, passes")
        same = replace(row, targets=(), ids=())
        known = found.get(same, same)
        found[same] = replace(known, targets=(*known.targets, *row.targets), ids=(*known.ids, *row.ids))
    return _together(sorted(found.values(), key=lambda row: (not row.failing, -row.edited)))


def _shared(sheet: Sheet) -> dict[tuple[str, str | None], dict[str, None]]:
    """The marks of what each program shares with others, as they are listed above the details."""
    found: dict[tuple[str, str | None], dict[str, None]] = {}
    for detail in sheet.details:
        for target in detail.targets or (None,):
            found.setdefault((detail.name, target), {}).update(dict.fromkeys(detail.shared.split()))
    return found


def _listed(marks: Iterable[str], sheet: Sheet) -> tuple[str, ...]:
    """The marks of what is listed; the rest counted."""
    hidden = {f"[{len(sheet.shared) + 1 + number}]" for number in range(sheet.shared_more)}
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


def row_in_words(row: Row) -> str:
    """`train_step on cpu: numerics; ops 57 -> 61, temp 64.0 KiB -> 56.0 KiB`.

    Example:
        >>> row_in_words(Row("f", ("cpu",), "cost", "m.py:3", (("ops", "1 -> 2"),), False, 1))
        'f on cpu: cost; ops 1 -> 2'
    """
    cells = ", ".join(
        words if column == "collectives" else f"{column} {words}" for column, words in row.cells if not _is_long(column)
    )
    return "; ".join(filter(None, (f"{row.label}: {row.change}", cells)))


def _is_long(column: str) -> bool:
    return column == "most changed scopes"


def functions_in(rows: Iterable[Row]) -> int:
    """How many functions stand in some rows.

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


def _row(programs: Sequence[Program], command: str, failing: bool, same_source: bool) -> Row:
    last = programs[-1]  # the compiled program where there is one: it is what runs
    change = _classes(programs) or _STATUS[command][last.status]
    if last.status == "changed" and last.stage == "compiled" and same_source:
        change += " (StableHLO is the same)"
    where = next((program.where for program in programs if program.where), None)
    targets = (last.target,) if last.target else ()
    edited = max(program.edited for program in programs)
    ids = (last.id,) if last.target else ()
    return Row(last.name, targets, change, place_in_words(where), _cells(last), failing, edited, ids)


def _classes(programs: Sequence[Program]) -> str:
    """The kinds of change of both stages, most severe first."""
    words = dict.fromkeys(word for program in programs for word in program.word.split(", ") if word)
    places: dict[str, int] = {name: place for place, name in enumerate(CLASSES)}
    return ", ".join(sorted(words, key=lambda word: places.get(word, -1)))


def _cells(program: Program) -> tuple[tuple[str, str], ...]:
    cells: dict[str, str] = {}
    for number in program.numbers:
        if number.name in FAMILIES:
            words = f"{number.name} {number_in_words(number)}"
            cells["collectives"] = ", ".join(filter(None, (cells.get("collectives"), words)))
        elif number.name in _COLUMNS:
            cells[number.name] = _cell(number)
    if program.scopes:
        cells["most changed scopes"] = scopes_in_words(program.scopes[:_MOST_SCOPES])
    return tuple((column, cells[column]) for column in _COLUMNS if column in cells)


def _cell(number: Number) -> str:
    return arrow(number.old, number.new, number.unit)


def place_in_words(where: Place | None) -> str:
    """`model.py:31 (loss)`, and "" for no place.

    Example:
        >>> place_in_words(Place("model.py", 31, "loss"))
        'model.py:31 (loss)'
    """
    if where is None:
        return ""
    return f"{where.file}:{where.line}" + (f" ({where.function})" if where.function else "")
