"""Whether the operands of matched instructions changed, or something was only added or removed on the way to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlodiff.differ.instruction_matches import InstructionMap, MatchGraph

Slot = tuple[int, int]
"""An operand: the instruction's index and which of its results."""
OrderFree = Callable[[Sequence[int]], bool]
"""Whether the callee computes the same with its operands in another order."""


def operands_changed(
    old: MatchGraph,
    new: MatchGraph,
    pairing: InstructionMap,
    position: int,
    through: Sequence[tuple[int, int]] | None,
    interchangeable: OrderFree | None,
) -> bool:
    """True where an operand was swapped or rewired.

    An operand that differs only because an instruction was inserted or removed between the two is no change.

    Args:
        old, new, pairing: two matched computations.
        position: a matched old instruction.
        through: for calls the pairs of parameter numbers of what they call, so that arguments may come, go and be
            permuted with the parameters; None pairs operands by position.
        interchangeable: whether the callee, equal on both sides, computes the same with its operands in another order;
            None if not.
    """
    matched = pairing.old[position]
    ours, theirs = old.operands[position], new.operands[matched]
    pairing.steps += len(ours) + len(theirs)
    if through is not None:
        pairs = [(ours[a], theirs[b]) for a, b in through if a < len(ours) and b < len(theirs)]
        return not all(same_value(old, new, pairing, a, b) for a, b in pairs)
    if len(ours) != len(theirs):
        # Only added or removed operands may be missing on either side.
        kept_old = [slot for slot in ours if pairing.old[slot[0]] >= 0 or old.names[slot[0]]]
        kept_new = [slot for slot in theirs if pairing.new[slot[0]] >= 0 or new.names[slot[0]]]
        if len(kept_old) != len(kept_new):
            return True
        return not all(same_value(old, new, pairing, a, b) for a, b in zip(kept_old, kept_new, strict=True))
    if _same_values(old, new, pairing, ours, theirs):
        return False
    if interchangeable is not None:
        order = _permutation(old, new, pairing, ours, theirs)
        if order is not None and interchangeable(order):
            return False
    if _is_commutative(old, position) and _is_commutative(new, matched):
        return not _same_values(old, new, pairing, ours, theirs[::-1])
    return True


def _same_values(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> bool:
    return all(same_value(old, new, pairing, one, other) for one, other in zip(ours, theirs, strict=True))


def _is_commutative(side: MatchGraph, position: int) -> bool:
    """Whether both operands are in slot 0; see `MatchGraph.uses`."""
    slots = side.operand_edges[position]
    return len(slots) == 2 and slots[1][1] == 0


def same_operands_in_any_order(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int) -> bool:
    """True if a matched call has the same operands in any order; arguments may be added or removed.

    Each operand of the side with fewer takes the first free one of the other side with the same value.
    """
    ours, theirs = old.operands[position], new.operands[pairing.old[position]]
    if pairing.results:  # by their old numbers
        theirs = tuple([(b, _old_number(pairing, b, result)) for b, result in theirs])
    which = int(len(ours) > len(theirs))
    fewer, more = (theirs, ours) if which else (ours, theirs)
    there, back = (pairing.new, pairing.old) if which else (pairing.old, pairing.new)
    names = (new.names, old.names) if which else (old.names, new.names)
    sides = (old, new)
    below, above = pairing.reach(sides, which), pairing.reach(sides, 1 - which)
    pairing.steps += len(ours) + len(theirs)
    places: dict[Slot, list[int]] = {}
    unpaired: list[tuple[int, int]] = []  # by place, ascending, with what each reaches
    for n in range(len(more) - 1, -1, -1):
        if back[more[n][0]] >= 0:
            places.setdefault(more[n], []).append(n)
        else:
            unpaired.append((n, above.below(more[n][0])))
    unpaired.reverse()
    found = 0  # by any unmatched operand
    for _, bits in unpaired:
        found |= bits
    for one, result in fewer:
        matched = there[one]
        if matched >= 0:
            first = places.get((matched, result))
            before = first[-1] if first else len(more)
            free = _first_that_leads_to(matched, unpaired, before) if found >> matched & 1 else -1
        else:
            bits = below.below(one)
            first = min(
                (each for slot, each in places.items() if each and bits >> back[slot[0]] & 1), key=_last, default=None
            )
            named = names[0][one]
            free = next((k for k, (n, _) in enumerate(unpaired) if not (named and names[1][more[n][0]])), -1)
            pairing.steps += len(places)
        if first and (free < 0 or first[-1] < unpaired[free][0]):
            first.pop()
        elif free >= 0:
            del unpaired[free]
        else:
            return False
    return True


def _old_number(pairing: InstructionMap, new: int, result: int) -> int:
    """The number that a result had; a negative one for an added result."""
    elements = pairing.results.get((pairing.new[new], new))
    return result if elements is None else next((a for a, b in elements.items() if b == result), ~result)


def _first_that_leads_to(matched: int, unpaired: Sequence[tuple[int, int]], before: int) -> int:
    """The first unmatched operand, by place, that reaches an instruction; -1 if none before a place does."""
    for number, (place, bits) in enumerate(unpaired):
        if place > before:
            return -1
        if bits >> matched & 1:
            return number
    return -1


def _last(places: Sequence[int]) -> int:
    return places[-1]


def _permutation(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, ours: Sequence[Slot], theirs: Sequence[Slot]
) -> list[int] | None:
    """For each old operand its position in the new instruction; None if the operands differ."""
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
    """True if two operands match, or only unmatched instructions are between them."""
    (a, a_result), (b, b_result) = ours, theirs
    matched, back = pairing.old[a], pairing.new[b]
    if matched == b:
        elements = pairing.results.get((a, b)) if pairing.results else None
        return a_result == b_result if elements is None else elements.get(a_result) == b_result
    if matched >= 0:
        return back < 0 and bool(pairing.reach((old, new), 1).below(b) >> matched & 1)
    if back >= 0:
        return bool(pairing.reach((old, new), 0).below(a) >> back & 1)
    # One was removed and another added: both have their own edits, unless they name a caller's operands.
    return not (old.names[a] and new.names[b])


def keeps_operands(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int) -> bool:
    """True if all operands of a matched instruction are kept, except those added or removed by an edit."""
    ours = old.computation.instructions[position].reads
    theirs = new.computation.instructions[pairing.old[position]].reads
    kept = [slot for slot in ours if pairing.old[slot[0]] >= 0], [slot for slot in theirs if pairing.new[slot[0]] >= 0]
    return len(kept[0]) == len(kept[1]) and all(same_value(old, new, pairing, a, b) for a, b in zip(*kept, strict=True))


def root_changed(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> int | None:
    """The matched old instruction that is now returned or no longer returned; None if the root is unchanged."""
    before, after = old.computation.root, new.computation.root
    if same_value(old, new, pairing, (before, 0), (after, 0)):
        return None
    return pairing.new[after] if pairing.new[after] >= 0 else before
