"""Which operand of an old instruction is which operand of its partner, and what each reads."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.diff.script import Value
from hlodiff.ir.model import Computation

Aligned = list[tuple[int | None, int | None]]
"""Operand numbers, old and new, that belong together; None for an operand that only one side has."""


def align(ours: Sequence[Value | None], theirs: Sequence[tuple[Value, bool]]) -> Aligned:
    """Pair operands by position, or where their numbers differ, those that were and are there in order.

    Args:
        ours: what each old operand is in the new program, None for what is not there any more.
        theirs: what each new operand is, and whether that was there before.
    """
    if len(ours) == len(theirs):
        return [(n, n) for n in range(len(ours))]
    olds = [n for n, value in enumerate(ours) if value is not None]
    news = [n for n, (_, was_there) in enumerate(theirs) if was_there]
    if len(olds) != len(news):
        return []
    there: Aligned = list(zip(olds, news, strict=True))
    gone: Aligned = [(n, None) for n, value in enumerate(ours) if value is None]
    return [*there, *gone, *((None, n) for n, (_, was_there) in enumerate(theirs) if not was_there)]


def below(owner: Computation, partners: Sequence[int], start: int) -> set[int]:
    """The paired instructions that are reached from one without a partner through such; none from a paired one."""
    found: set[int] = set()
    waiting = [start] if partners[start] < 0 else []
    seen = {start}
    for place in waiting:
        for operand in owner.instructions[place].operands:
            if partners[operand] >= 0:
                found.add(operand)
            elif operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return found


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
