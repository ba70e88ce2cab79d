"""Which new instructions an old one might be: alike in what it does or yields, and standing near it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hlodiff.diff.features import ANY, EXACT, OWN, STRUCTURE, TYPE, VALUE, Pairing, Side

# A value with more uses than this says little about any one of them.
_BUSY = 40
# Of one label, at most so many on the other side are worth a look wherever they stand.
_COMMON = ((EXACT, 24), (OWN, 24), (VALUE, 16), (STRUCTURE, 8), (TYPE, 6))


def may_pair(old: Side, new: Side, one: int, other: int) -> bool:
    """True where two instructions share an opcode or a type, and both or neither are calls or parameters."""
    if old.labels[ANY][one] != new.labels[ANY][other]:
        return False
    if _is_parameter(old, one) != _is_parameter(new, other):
        return False
    return any(old.labels[level][one] == new.labels[level][other] for level in (STRUCTURE, TYPE))


def may_replace(old: Side, new: Side, pairing: Pairing, one: int, other: int) -> bool:
    """True where two that are free have nothing in common but how many operands they have and who reads them."""
    if old.labels[ANY][one] != new.labels[ANY][other] or max(pairing.old[one], pairing.new[other]) >= 0:
        return False
    arity = len(old.slots[one])
    return 0 < arity == len(new.slots[other]) and len(old.uses[one]) == len(new.uses[other])


def _is_parameter(side: Side, position: int) -> bool:
    return side.computation.instructions[position].opcode == "parameter"


def candidates(
    old: Side, new: Side, pairing: Pairing, olds: Sequence[int], news: Sequence[int], most: int
) -> dict[int, list[int]]:
    """For each of some old instructions the new ones it might be, the most alike first.

    Args:
        old, new, pairing: two computations as far as they are paired.
        olds, news: instructions that are part of edits.
        most: how many for each.
    """
    wanted = set(news)
    buckets = [(level, few, _by_label(new, news, level)) for level, few in _COMMON]
    found: dict[int, list[int]] = {}
    for one in olds:
        near = {other: None for other in _near(old, new, pairing, one) if _is_worth(old, new, wanted, one, other)}
        for level, few, places in buckets:
            alike = places.get(old.labels[level][one], ())
            if len(alike) <= few:
                near.update(dict.fromkeys(alike))
        fitting = [
            other for other in near if may_pair(old, new, one, other) or may_replace(old, new, pairing, one, other)
        ]
        scored = sorted((-likeness(old, new, pairing, one, other), n, other) for n, other in enumerate(fitting))
        found[one] = [other for _, _, other in scored[:most]]
    return found


def _is_worth(old: Side, new: Side, wanted: set[int], one: int, other: int) -> bool:
    """What is part of no edit is asked to give up its partner only for its equal."""
    return other in wanted or old.labels[OWN][one] == new.labels[OWN][other]


def _by_label(side: Side, positions: Iterable[int], level: int) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for position in positions:
        places.setdefault(side.labels[level][position], []).append(position)
    return places


def _near(old: Side, new: Side, pairing: Pairing, one: int) -> Iterator[int]:
    """Users of what its operands became, operands of what its users became; across one free instruction too."""
    for operand in _sources(old, pairing.old, one):
        uses = new.uses[pairing.old[operand]]
        for user, _, _ in uses if len(uses) <= _BUSY else ():
            yield user
            if pairing.new[user] < 0 and len(new.uses[user]) <= _BUSY:
                yield from (above for above, _, _ in new.uses[user])
    for user in _users(old, pairing.old, one):
        slots = new.slots[pairing.old[user]]
        for operand, _, _ in slots if len(slots) <= _BUSY else ():
            yield operand
            if pairing.new[operand] < 0 and len(new.slots[operand]) <= _BUSY:
                yield from (below for below, _, _ in new.slots[operand])


def _sources(side: Side, partners: Sequence[int], position: int) -> Iterator[int]:
    """Paired operands, and those of free operands."""
    for operand, _, _ in side.slots[position][:_BUSY]:
        if partners[operand] >= 0:
            yield operand
        else:
            yield from (n for n, _, _ in side.slots[operand][:_BUSY] if partners[n] >= 0)


def _users(side: Side, partners: Sequence[int], position: int) -> Iterator[int]:
    """Paired users, and those of free users."""
    for user, _, _ in side.uses[position][:_BUSY]:
        if partners[user] >= 0:
            yield user
        else:
            yield from (n for n, _, _ in side.uses[user][:_BUSY] if partners[n] >= 0)


def likeness(old: Side, new: Side, pairing: Pairing, one: int, other: int) -> float:
    """How much two instructions have in common, in what they are and in what stands around them."""
    same = [old.labels[level][one] == new.labels[level][other] for level in (EXACT, OWN, VALUE, STRUCTURE, TYPE)]
    neighbours = _shared(old.uses[one], new.uses[other], pairing) + _shared(old.slots[one], new.slots[other], pairing)
    free = _free_alike(old, new, pairing, one, other)
    weights = (1.0, 4.0, 3.0, 3.0, 1.0)
    return sum(w * s for w, s in zip(weights, same, strict=True)) + 2.0 * neighbours + 0.5 * free


def _shared(olds: Sequence[tuple[int, int, int]], news: Sequence[tuple[int, int, int]], pairing: Pairing) -> float:
    """Paired neighbours in the same slot, as a share of the larger neighbourhood."""
    ours = [(pairing.old[o], slot) for o, slot, _ in olds[:_BUSY] if pairing.old[o] >= 0]
    if not ours:
        return 0.0
    return _in_both(ours, [(n, slot) for n, slot, _ in news[:_BUSY]]) / max(len(olds), len(news))


def _free_alike(old: Side, new: Side, pairing: Pairing, one: int, other: int) -> int:
    """Free neighbours of equal structure in the same slot: two chains of free instructions pair along each other."""
    count = 0
    for olds, news in ((old.slots[one], new.slots[other]), (old.uses[one], new.uses[other])):
        ours = [(old.labels[STRUCTURE][o], slot) for o, slot, _ in olds[:_BUSY] if pairing.old[o] < 0]
        if ours:
            theirs = [(new.labels[STRUCTURE][n], slot) for n, slot, _ in news[:_BUSY] if pairing.new[n] < 0]
            count += _in_both(ours, theirs)
    return count


def _in_both(ours: Iterable[tuple[int, int]], theirs: list[tuple[int, int]]) -> int:
    """How many of some neighbours there are on both sides; `theirs` is used up. A handful each, so no counting."""
    count = 0
    for neighbour in ours:
        if neighbour in theirs:
            theirs.remove(neighbour)
            count += 1
    return count
