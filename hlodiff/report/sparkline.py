"""A number over time in one line of characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_BLOCKS = "▁▂▃▄▅▆▇█"
# For terminals that show no blocks: by how high the ink stands and how much there is of it.
_ASCII = "_.-~=+*#"
_GAP = " "


def sparkline(values: Sequence[float | None], *, width: int = 40, ascii_only: bool = False) -> str:
    """Values as characters of eight heights, the lowest value lowest.

    Args:
        values: oldest first; None where nothing is known, which leaves a gap.
        width: most characters; where there are more values, each character shows the largest of several.
        ascii_only: whether the terminal shows ASCII alone.

    Returns:
        one character for each value or group of values; all the lowest where the value never changes.

    Example:
        >>> sparkline([1, 2, None, 8]), sparkline([1, 2, None, 8], ascii_only=True), sparkline([5, 5])
        ('▁▂ █', '_. #', '▁▁')
    """
    marks = _ASCII if ascii_only else _BLOCKS
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)

    def mark(value: float | None) -> str:
        if value is None:
            return _GAP
        return marks[round((value - low) / (high - low) * (len(marks) - 1))] if high > low else marks[0]

    return "".join(map(mark, _grouped(values, max(width, 1)))).rstrip()


def _grouped(values: Sequence[float | None], width: int) -> list[float | None]:
    if len(values) <= width:
        return list(values)
    bounds = [number * len(values) // width for number in range(width + 1)]
    groups = [values[start:end] for start, end in pairwise(bounds)]
    return [max((value for value in group if value is not None), default=None) for group in groups]
