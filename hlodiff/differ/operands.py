"""Did an instruction's operands change, or did something come or go on the way to them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlodiff.differ.match_graph import InstructionMap, MatchGraph
from hlodiff.hlo.model import Instruction

Slot = tuple[int, int]
"""An operand: the instruction's index and which of its results."""
Blind = Callable[[Sequence[int]], bool]
"""Whether what is called cannot tell its operands in another order apart."""


def slots_of(it: Instruction) -> list[Slot]:
    """The operands of an instruction with the result each one takes."""
    return list(zip(it.operands, it.results or (0,) * len(it.operands), strict=True))


def operands_changed(
    old: MatchGraph,
    new: MatchGraph,
    pairing: InstructionMap,
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
    pairing.steps += len(ours) + len(theirs)
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


def _same_values(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> bool:
    for one, other in zip(ours, theirs, strict=True):
        if (pairing.old[one[0]] != other[0] or one[1] != other[1]) and not same_value(old, new, pairing, one, other):
            return False
    return True


def _is_commutative(side: MatchGraph, position: int) -> bool:
    """Both operands stand in slot 0; see `Side.uses`."""
    slots = side.slots[position]
    return len(slots) == 2 and slots[1][1] == 0


def same_operands_in_any_order(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int) -> bool:
    """True where a paired call has the operands it had, in whatever order; arguments may have come or gone.

    Each operand of the side that has fewer takes the first of the other side that is the same value and not yet taken.
    """
    ours, theirs = old.operands[position], new.operands[pairing.old[position]]
    which = int(len(ours) > len(theirs))
    fewer, more = (theirs, ours) if which else (ours, theirs)
    there, back = (pairing.new, pairing.old) if which else (pairing.old, pairing.new)
    names = (new.names, old.names) if which else (old.names, new.names)
    sides = (old, new)
    below, above = pairing.reach(sides, which), pairing.reach(sides, 1 - which)
    pairing.steps += len(ours) + len(theirs)
    places: dict[Slot, list[int]] = {}
    loose: dict[int, int] = {}
    for n in range(len(more) - 1, -1, -1):
        if back[more[n][0]] >= 0:
            places.setdefault(more[n], []).append(n)
        else:
            loose[n] = above.below(more[n][0])
    found = 0  # by any operand without partner
    for bits in loose.values():
        found |= bits
    for one, result in fewer:
        partner = there[one]
        first: list[int] | None
        if partner >= 0:
            first = places.get((partner, result))
            free = (n for n, bits in loose.items() if bits >> partner & 1) if found >> partner & 1 else ()
        else:
            bits = below.below(one)
            first = min(
                (each for slot, each in places.items() if each and bits >> back[slot[0]] & 1), key=_last, default=None
            )
            free = (n for n in loose if not (names[0][one] and names[1][more[n][0]]))
            pairing.steps += len(places)
        place = min(free, default=None)
        if first and (place is None or first[-1] < place):
            first.pop()
        elif place is not None:
            del loose[place]
        else:
            return False
    return True


def _last(places: Sequence[int]) -> int:
    return places[-1]


def _permutation(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> list[int] | None:
    """For each old operand the place at which the new instruction has it; None where it has others."""
    free = list(range(len(theirs)))
    order = []
    for slot in ours:
        at = next((n for n, place in enumerate(free) if same_value(old, new, pairing, slot, theirs[place])), None)
        pairing.steps += len(free) if at is None else at + 1
        if at is None:
            return None
        order.append(free.pop(at))
    return order


def same_value(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Slot, theirs: Slot) -> bool:
    """True where two operands are partners, or only something without partner stands between them."""
    (a, a_result), (b, b_result) = ours, theirs
    partner, back = pairing.old[a], pairing.new[b]
    if partner == b:
        return a_result == b_result
    if partner >= 0:
        return back < 0 and bool(pairing.reach((old, new), 1).below(b) >> partner & 1)
    if back >= 0:
        return bool(pairing.reach((old, new), 0).below(a) >> back & 1)
    # One went and another came: both are edits of their own, unless they are names for a caller's operands.
    return not (old.names[a] and new.names[b])


def _subsequence(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> bool:
    """Of different lengths: True where only operands that came or went themselves are missing on either side."""
    kept_old = [slot for slot in ours if pairing.old[slot[0]] >= 0 or old.names[slot[0]]]
    kept_new = [slot for slot in theirs if pairing.new[slot[0]] >= 0 or new.names[slot[0]]]
    return len(kept_old) == len(kept_new) and all(
        same_value(old, new, pairing, a, b) for a, b in zip(kept_old, kept_new, strict=True)
    )


def keeps_operands(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int) -> bool:
    """True where operands came to a paired instruction or went, each with an edit of its own, and the others stayed."""
    ours = slots_of(old.computation.instructions[position])
    theirs = slots_of(new.computation.instructions[pairing.old[position]])
    kept = [slot for slot in ours if pairing.old[slot[0]] >= 0], [slot for slot in theirs if pairing.new[slot[0]] >= 0]
    return len(kept[0]) == len(kept[1]) and all(same_value(old, new, pairing, a, b) for a, b in zip(*kept, strict=True))


def root_changed(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> int | None:
    """The paired old instruction that is returned now, or no longer; None where neither is so."""
    before, after = old.computation.root, new.computation.root
    if same_value(old, new, pairing, (before, 0), (after, 0)):
        return None
    return pairing.new[after] if pairing.new[after] >= 0 else before
