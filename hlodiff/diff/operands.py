"""Did an instruction's operands change, or did something come or go on the way to them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlodiff.diff.features import Pairing, Side
from hlodiff.ir.content import is_commutative
from hlodiff.ir.model import Instruction

Slot = tuple[int, int]
"""An operand: the instruction's index and which of its results."""


def slots_of(it: Instruction) -> list[Slot]:
    """The operands of an instruction with the result each one takes."""
    return list(zip(it.operands, it.results or (0,) * len(it.operands), strict=True))


def operands_changed(
    old: Side,
    new: Side,
    pairing: Pairing,
    position: int,
    through: Sequence[tuple[int, int]] | None,
    interchangeable: Callable[[Sequence[int]], bool],
) -> bool:
    """True where an operand was swapped or rewired.

    An operand that differs only because an instruction was inserted or removed between the two is no change.

    Args:
        old, new, pairing: two paired computations.
        position: a paired old instruction.
        through: for calls the pairs of parameter numbers of what they call, so that arguments may come, go and be
            permuted with the parameters; None pairs operands by position.
        interchangeable: asked whether what is called, equal on both sides, cannot tell operands in another order apart.
    """
    one = old.computation.instructions[position]
    other = new.computation.instructions[pairing.old[position]]
    ours, theirs = slots_of(one), slots_of(other)
    if through is not None:
        pairs = [(ours[a], theirs[b]) for a, b in through if a < len(ours) and b < len(theirs)]
        return not all(same_value(old, new, pairing, a, b) for a, b in pairs)
    if len(ours) != len(theirs):
        return not _subsequence(old, new, pairing, ours, theirs)
    if all(same_value(old, new, pairing, a, b) for a, b in zip(ours, theirs, strict=True)):
        return False
    order = _permutation(old, new, pairing, ours, theirs)
    if order is not None and interchangeable(order):
        return False
    if is_commutative(one) and is_commutative(other):
        return not all(same_value(old, new, pairing, a, b) for a, b in zip(ours, reversed(theirs), strict=True))
    return True


def same_operands_in_any_order(old: Side, new: Side, pairing: Pairing, position: int) -> bool:
    """True where a paired call has the operands it had, in whatever order; arguments may have come or gone."""
    ours = slots_of(old.computation.instructions[position])
    theirs = slots_of(new.computation.instructions[pairing.old[position]])
    fewer, more = (ours, theirs) if len(ours) <= len(theirs) else (theirs, ours)
    free = list(more)
    for slot in fewer:
        sides = ((slot, other) if fewer is ours else (other, slot) for other in free)
        match = next((pair for pair in sides if same_value(old, new, pairing, *pair)), None)
        if match is None:
            return False
        free.remove(match[1] if fewer is ours else match[0])
    return True


def _permutation(old: Side, new: Side, pairing: Pairing, ours: list[Slot], theirs: list[Slot]) -> list[int] | None:
    """For each old operand the place at which the new instruction has it; None where it has others."""
    free = list(range(len(theirs)))
    order = []
    for slot in ours:
        place = next((n for n in free if same_value(old, new, pairing, slot, theirs[n])), None)
        if place is None:
            return None
        free.remove(place)
        order.append(place)
    return order


def same_value(old: Side, new: Side, pairing: Pairing, ours: Slot, theirs: Slot) -> bool:
    """True where two operands are partners, or only something without partner stands between them."""
    (a, a_result), (b, b_result) = ours, theirs
    partner, back = pairing.old[a], pairing.new[b]
    if partner == b:
        return a_result == b_result
    if partner >= 0 and back >= 0:
        return False
    if partner >= 0:
        return partner in _below(new, pairing.new, b)
    if back >= 0:
        return back in _below(old, pairing.old, a)
    # One went and another came: both are edits of their own, unless they are names for a caller's operands.
    return not (is_name(old, ours) and is_name(new, theirs))


def _below(side: Side, partners: Sequence[int], start: int) -> set[int]:
    """The paired instructions that are reached from a free one through free ones."""
    reached: set[int] = set()
    seen = {start}
    waiting = [start]
    for position in waiting:
        for operand, _, _ in side.slots[position]:
            if partners[operand] >= 0:
                reached.add(operand)
            elif operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return reached


def _subsequence(old: Side, new: Side, pairing: Pairing, ours: list[Slot], theirs: list[Slot]) -> bool:
    """Of different lengths: True where only operands that came or went themselves are missing on either side."""
    kept_old = [slot for slot in ours if pairing.old[slot[0]] >= 0 or is_name(old, slot)]
    kept_new = [slot for slot in theirs if pairing.new[slot[0]] >= 0 or is_name(new, slot)]
    return len(kept_old) == len(kept_new) and all(
        same_value(old, new, pairing, a, b) for a, b in zip(kept_old, kept_new, strict=True)
    )


def trades_names(old: Side, new: Side, pairing: Pairing, position: int) -> bool:
    """True where a paired instruction reads a free parameter on one side and something else that is free on the other.

    Replay asks for an edit where nothing outside tells of it, so a search had better not go there.
    """
    ours, theirs = old.slots[position], new.slots[pairing.old[position]]
    free = [
        (a, b) for (a, _, _), (b, _, _) in zip(ours, theirs, strict=False) if max(pairing.old[a], pairing.new[b]) < 0
    ]
    return any(is_name(old, (a, 0)) or is_name(new, (b, 0)) for a, b in free)


def is_name(side: Side, slot: Slot) -> bool:
    """A parameter of a called computation: what the caller hands over is there, whatever becomes of its name."""
    return not side.is_entry and side.computation.instructions[slot[0]].opcode == "parameter"


def root_changed(old: Side, new: Side, pairing: Pairing) -> int | None:
    """The paired old instruction that is returned now, or no longer; None where neither is so."""
    before, after = old.computation.root, new.computation.root
    if same_value(old, new, pairing, (before, 0), (after, 0)):
        return None
    return pairing.new[after] if pairing.new[after] >= 0 else before
