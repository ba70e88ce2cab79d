"""Which operand of an old instruction is which operand of its partner, and what each reads."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.diff.script import Value

Aligned = list[tuple[int | None, int | None]]
"""Operand numbers, old and new, that belong together; None for an operand that only one side has."""


def align(ours: Sequence[Value | None], theirs: Sequence[tuple[Value, bool]], *, commutative: bool) -> Aligned:
    """Pair operands by position, or where their numbers differ, those that were and are there in order.

    Args:
        ours: what each old operand is in the new program, None for what is not there any more.
        theirs: what each new operand is, and whether that was there before.
        commutative: the order of two operands means nothing on either side.
    """
    if len(ours) == len(theirs):
        straight: Aligned = [(n, n) for n in range(len(ours))]
        turned: Aligned = [(n, 1 - n) for n in range(len(ours))]
        if commutative and len(ours) == 2 and _kept(ours, theirs, turned) > _kept(ours, theirs, straight):
            return turned
        return straight
    olds = [n for n, value in enumerate(ours) if value is not None]
    news = [n for n, (_, was_there) in enumerate(theirs) if was_there]
    if len(olds) != len(news):
        return []
    there: Aligned = list(zip(olds, news, strict=True))
    gone: Aligned = [(n, None) for n, value in enumerate(ours) if value is None]
    return [*there, *gone, *((None, n) for n, (_, was_there) in enumerate(theirs) if not was_there)]


def _kept(ours: Sequence[Value | None], theirs: Sequence[tuple[Value, bool]], pairs: Aligned) -> int:
    return sum(ours[a] == theirs[b][0] for a, b in pairs if a is not None and b is not None)


def through(old: Sequence[int], new: Sequence[int], partners: Sequence[int]) -> Aligned:
    """Operands of a call by the parameters they are bound to.

    Args:
        old, new: places of the parameters of what is called, by number.
        partners: for each instruction of the old computation the new one.
    """
    number = {place: n for n, place in enumerate(new)}
    pairs: Aligned = [(n, number.get(partners[place])) for n, place in enumerate(old)]
    taken = {b for _, b in pairs}
    return [*pairs, *((None, n) for n in range(len(new)) if n not in taken)]


def exchanged(ours: Sequence[Value | None], theirs: Sequence[Value]) -> tuple[int, ...]:
    """For each old operand the place at which the new instruction has it, others in order; () where all stay."""
    free = list(range(len(theirs)))
    order: list[int] = [-1] * len(ours)
    for fits in (True, False):
        for n, value in enumerate(ours):
            place = next((p for p in free if not fits or theirs[p] == value), -1) if order[n] < 0 else -1
            if place >= 0:
                order[n] = place
                free.remove(place)
    return () if order == list(range(len(ours))) else tuple(order)
