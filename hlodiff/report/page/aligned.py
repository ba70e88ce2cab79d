"""Two lists of paired lines as one table: rows in which both stand, and rows in which one stands alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

Run = tuple[str, int]
"""`("=", 5)`: five rows with both; "-" for the old side alone, "+" for the new one."""


def runs_of(partners: Sequence[int], size: int) -> list[Run]:
    """The rows of two computations, in the order of both: as many pairs side by side as the orders allow.

    Args:
        partners: for each old line its new one, -1 for none.
        size: how many new lines there are.

    Returns:
        runs that use up both sides from top to bottom. Pairs in another order stand apart.

    Example:
        >>> runs_of([0, -1, 3], 4)
        [('=', 1), ('-', 1), ('+', 2), ('=', 1)]
    """
    found: list[Run] = []
    old = new = 0
    for one, other in (*_in_order(partners), (len(partners), size)):
        for sign, count in (("-", one - old), ("+", other - new), ("=", int(one < len(partners)))):
            _append(found, sign, count)
        old, new = one + 1, other + 1
    return found


def _append(runs: list[Run], sign: str, count: int) -> None:
    if count and runs and runs[-1][0] == sign:
        runs[-1] = (sign, runs[-1][1] + count)
    elif count:
        runs.append((sign, count))


def _in_order(partners: Sequence[int]) -> list[tuple[int, int]]:
    """The longest list of pairs that ascends on both sides."""
    tails: list[int] = []
    ends: list[int] = []
    before = [-1] * len(partners)
    for one, other in enumerate(partners):
        if other < 0:
            continue
        place = bisect_left(tails, other)
        before[one] = ends[place - 1] if place else -1
        tails[place : place + 1] = [other]
        ends[place : place + 1] = [one]
    return [(one, partners[one]) for one in _back(before, ends[-1] if ends else -1)][::-1]


def _back(before: Sequence[int], last: int) -> Iterator[int]:
    while last >= 0:
        yield last
        last = before[last]
