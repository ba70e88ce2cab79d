"""Did an instruction's operands change, or did something come or go on the way to them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlodiff.diff.features import Pairing, Side
from hlodiff.ir.model import Instruction

Slot = tuple[int, int]
"""An operand: the instruction's index and which of its results."""
Blind = Callable[[Sequence[int]], bool]
"""Whether what is called cannot tell its operands in another order apart."""


def slots_of(it: Instruction) -> list[Slot]:
    """The operands of an instruction with the result each one takes."""
    return list(zip(it.operands, it.results or (0,) * len(it.operands), strict=True))


def operands_changed(
    old: Side,
    new: Side,
    pairing: Pairing,
    position: int,
    through: Sequence[tuple[int, int]] | None,
    interchangeable: Blind | None,
) -> bool:
    """True where an operand was swapped or rewired.

    An operand that differs only because an instruction was inserted or removed between the two is no change.

    Args:
        old, new, pairing: two paired computations.
        position: a paired old instruction.
        through: for calls the pairs of parameter numbers of what they call, so that arguments may come, go and be
            permuted with the parameters; None pairs operands by position.
        interchangeable: asked whether what is called, equal on both sides, cannot tell operands in another order apart;
            None where it can.
    """
    partner = pairing.old[position]
    ours, theirs = old.operands[position], new.operands[partner]
    if through is not None:
        pairs = [(ours[a], theirs[b]) for a, b in through if a < len(ours) and b < len(theirs)]
        return not all(same_value(old, new, pairing, a, b) for a, b in pairs)
    if len(ours) != len(theirs):
        return not _subsequence(old, new, pairing, ours, theirs)
    if _same_values(old, new, pairing, ours, theirs):
        return False
    if interchangeable is not None:
        order = _permutation(old, new, pairing, ours, theirs)
        if order is not None and interchangeable(order):
            return False
    if _is_commutative(old, position) and _is_commutative(new, partner):
        return not _same_values(old, new, pairing, ours, theirs[::-1])
    return True


def _same_values(old: Side, new: Side, pairing: Pairing, ours: Sequence[Slot], theirs: Sequence[Slot]) -> bool:
    for one, other in zip(ours, theirs, strict=True):
        if (pairing.old[one[0]] != other[0] or one[1] != other[1]) and not same_value(old, new, pairing, one, other):
            return False
    return True


def _is_commutative(side: Side, position: int) -> bool:
    """Both operands stand in slot 0; see `Side.uses`."""
    slots = side.slots[position]
    return len(slots) == 2 and slots[1][1] == 0


def same_operands_in_any_order(old: Side, new: Side, pairing: Pairing, position: int) -> bool:
    """True where a paired call has the operands it had, in whatever order; arguments may have come or gone."""
    ours, theirs = old.operands[position], new.operands[pairing.old[position]]
    fewer, more = (ours, theirs) if len(ours) <= len(theirs) else (theirs, ours)
    free = list(more)
    for slot in fewer:
        for n, other in enumerate(free):
            sides = (slot, other) if fewer is ours else (other, slot)
            if same_value(old, new, pairing, *sides):
                del free[n]
                break
        else:
            return False
    return True


def _permutation(
    old: Side, new: Side, pairing: Pairing, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> list[int] | None:
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
    if partner >= 0:
        return back < 0 and _leads_to(new, pairing.new, b, partner)
    if back >= 0:
        return _leads_to(old, pairing.old, a, back)
    # One went and another came: both are edits of their own, unless they are names for a caller's operands.
    return not (old.names[a] and new.names[b])


def _leads_to(side: Side, partners: Sequence[int], start: int, goal: int) -> bool:
    """Whether a paired instruction is reached from a free one through free ones."""
    seen = {start}
    waiting = [start]
    for position in waiting:
        for operand, _ in side.operands[position]:
            if operand == goal:
                return True
            if partners[operand] < 0 and operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return False


def _subsequence(old: Side, new: Side, pairing: Pairing, ours: Sequence[Slot], theirs: Sequence[Slot]) -> bool:
    """Of different lengths: True where only operands that came or went themselves are missing on either side."""
    kept_old = [slot for slot in ours if pairing.old[slot[0]] >= 0 or old.names[slot[0]]]
    kept_new = [slot for slot in theirs if pairing.new[slot[0]] >= 0 or new.names[slot[0]]]
    return len(kept_old) == len(kept_new) and all(
        same_value(old, new, pairing, a, b) for a, b in zip(kept_old, kept_new, strict=True)
    )


def keeps_operands(old: Side, new: Side, pairing: Pairing, position: int) -> bool:
    """True where operands came to a paired instruction or went, each with an edit of its own, and the others stayed."""
    ours = slots_of(old.computation.instructions[position])
    theirs = slots_of(new.computation.instructions[pairing.old[position]])
    kept = [slot for slot in ours if pairing.old[slot[0]] >= 0], [slot for slot in theirs if pairing.new[slot[0]] >= 0]
    return len(kept[0]) == len(kept[1]) and all(same_value(old, new, pairing, a, b) for a, b in zip(*kept, strict=True))


def root_changed(old: Side, new: Side, pairing: Pairing) -> int | None:
    """The paired old instruction that is returned now, or no longer; None where neither is so."""
    before, after = old.computation.root, new.computation.root
    if same_value(old, new, pairing, (before, 0), (after, 0)):
        return None
    return pairing.new[after] if pairing.new[after] >= 0 else before
