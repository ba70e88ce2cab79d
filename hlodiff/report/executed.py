"""Executed numbers in words: exact, a range, or per turn of a loop whose trip count is not known."""

from __future__ import annotations

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.executed_count import ZERO, ExecutedCount
from hlodiff.report.view import Number
from hlodiff.report.wording import FORMATS, Unit

PER_CALL = " executed"
"""Behind the name of a number that a loop makes another one than the text of the program has."""
# Executed numbers and what the same is called where it is counted in the text.
_STATIC = {"flops": "flops", "bytes_accessed": "bytes_accessed", "launches": "launches"}


def format_executed(number: ExecutedCount, unit: Unit = "count", root: str = "") -> str:
    """A number with its unit, see `ExecutedCount.words`.

    Example:
        >>> format_executed(ExecutedCount(0, 2048), "bytes")
        'at most 2.0 KiB'
    """
    return number.words(FORMATS[unit], root)


def executed_pair(program: ProgramComparison, metric: str) -> tuple[ExecutedCount, ExecutedCount]:
    """A metric of both sides; what a side does not do, or is not there, is 0."""
    old, new = program.executed().get(metric, (ZERO, ZERO))
    return old or ZERO, new or ZERO


def differs_from_text(program: ProgramComparison, metric: str) -> bool:
    """Whether a loop makes an executed number another one than the text of the program has."""
    static = program.metrics().get(_STATIC.get(metric, metric), (0, 0))
    return tuple(one.exact for one in executed_pair(program, metric)) != static


def executed_number(
    program: ProgramComparison, metric: str, name: str, unit: Unit = "count", size: str = "", root: str = ""
) -> Number | None:
    """An executed metric for a table; None where it is the same on both sides.

    Args:
        program: one with both sides.
        metric: its name.
        name: what readers call it.
        unit: of it.
        size: the metric of its bytes; "" where it has none.
        root: the project's folder.
    """
    old, new = executed_pair(program, metric)
    sizes = executed_pair(program, size) if size else (ZERO, ZERO)
    if old.is_same(new) and sizes[0].is_same(sizes[1]):
        return None
    per = PER_CALL if differs_from_text(program, metric) else ""
    exact = old.exact is not None and new.exact is not None
    are_known = all(one.exact is not None for one in sizes)
    carried = (sizes[0].least, sizes[1].least) if are_known else (0, 0)
    if exact:
        return Number(name, old.least, new.least, unit, *carried, per)
    words = format_executed(old, unit, root), format_executed(new, unit, root)
    return Number(name, old.least, new.least, unit, *carried, per, False, *words)
