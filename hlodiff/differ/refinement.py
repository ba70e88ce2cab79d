"""Which instruction of the old computation is which of the new one.

Colour refinement with anchors: a paired instruction has its pair as colour, every other one the hash of its label and
the colours below (`down`) or above (`up`) it. Free instructions whose colours occur once on each side pair; every pair
is an anchor for the next pass. An edit changes `down` only below its users and `up` only above its operands, so one
edit leaves one of the two unchanged for everything else. Labels get weaker only when nothing stronger pairs any more.
(The idea is that of GumTree, Falleri et al. 2014, top-down and bottom-up phases, on graphs with sharing.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from hlodiff.differ.match_graph import (
    ANY,
    CALLS,
    EXACT,
    LEVELS,
    OWN,
    SIGNED,
    STRUCTURE,
    TYPE,
    VALUE,
    InstructionMap,
    Intern,
    MatchGraph,
    op_name_of,
)

# Weaker levels pair only beside something that is paired; each round may open new neighbours. Eight rounds were
# enough for everything in the corpus; the loop ends earlier when a round pairs nothing.
_ROUNDS = 8

Key = Callable[[int], Hashable | None]


def match(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, intern: Intern) -> None:
    """Pair the instructions of two computations, strongest evidence first.

    Args:
        old, new: the two computations, prepared with the same `intern`.
        pairing: what is already known (parameters); pairs are added to it.
        intern: the numbers of labels and colours, shared by both sides.
    """
    for _ in range(_ROUNDS):
        before = len(pairing.matchers)
        for level in (EXACT, SIGNED, OWN):
            _refine(old, new, pairing, intern, level)
            if level == EXACT:
                _unique(pairing, _body_key(old), _body_key(new), "exact:body")
            _ties(old, new, pairing, intern, level)
        for level in (VALUE, STRUCTURE):
            _refine(old, new, pairing, intern, level)
        for level in (VALUE, STRUCTURE):
            _beside(old, new, pairing, level)
        _refine(old, new, pairing, intern, TYPE)
        for level in (TYPE, ANY):
            _beside(old, new, pairing, level)
        _ties(old, new, pairing, intern, VALUE)
        if len(pairing.matchers) == before:
            break


def _refine(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, intern: Intern, level: int) -> None:
    """Pair what is unique by colour, until nothing is any more."""
    progress = True
    while progress and -1 in pairing.old and -1 in pairing.new:
        progress = False
        for name, keys in _colour_keys(old, new, pairing, intern, level):
            if _unique(pairing, *keys, f"{LEVELS[level]}:{name}"):
                progress = True
                break


def _colour_keys(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, intern: Intern, level: int
) -> list[tuple[str, tuple[Key, Key]]]:
    sides = ((old, pairing.old, 0), (new, pairing.new, 1))
    downs = [_down(side, partners, which, intern, level) for side, partners, which in sides]
    ups = [_up(side, partners, which, intern, level) for side, partners, which in sides]

    def both(n: int) -> Key:
        return lambda p: (downs[n][p], ups[n][p])

    def down(n: int) -> Key:  # a leaf has nothing below it: weak labels of leaves are no evidence
        return lambda p: downs[n][p] if level == EXACT or sides[n][0].slots[p] else None

    def up(n: int) -> Key:
        side = sides[n][0]
        return lambda p: ups[n][p] if side.uses[p] or p == side.computation.root else None

    kinds = [("both", both), ("down", down), ("up", up)]
    # Another opcode of the same type is the same instruction only where all around it is as it was.
    return [(name, (key(0), key(1))) for name, key in (kinds[:1] if level >= TYPE else kinds)]


def _colour(partner: int, position: int, which: int) -> int:
    """The colour of a paired instruction: its old position, negative so that it is no label's number."""
    return -1 - (position if which == 0 else partner)


def _down(side: MatchGraph, partners: Sequence[int], which: int, intern: Intern, level: int) -> list[int]:
    labels = side.labels[level]
    colours = _anchors(partners, which)
    for position in side.order:
        if partners[position] >= 0:
            continue
        below = [(slot, colours[operand], result) for operand, slot, result in side.slots[position]]
        if len(below) == 2 and below[0][0] == below[1][0]:
            below.sort()
        key = ("down", labels[position], *below)
        colours[position] = intern.setdefault(key, len(intern))
    return colours


def _up(side: MatchGraph, partners: Sequence[int], which: int, intern: Intern, level: int) -> list[int]:
    labels = side.labels[level]
    colours = _anchors(partners, which)
    root = side.computation.root
    for position in reversed(side.order):
        if partners[position] >= 0:
            continue
        above = sorted((colours[user], slot, result) for user, slot, result in side.uses[position])
        key = ("up", labels[position], position == root, *above)
        colours[position] = intern.setdefault(key, len(intern))
    return colours


def _anchors(partners: Sequence[int], which: int) -> list[int]:
    return [_colour(partner, position, which) if partner >= 0 else 0 for position, partner in enumerate(partners)]


def _buckets(free: list[int], key: Key) -> dict[Hashable, list[int]]:
    buckets: dict[Hashable, list[int]] = {}
    for position in free:
        value = key(position)
        if value is not None:
            buckets.setdefault(value, []).append(position)
    return buckets


def _unique(pairing: InstructionMap, old_key: Key, new_key: Key, matcher: str) -> bool:
    """Pair free instructions whose key occurs exactly once on each side."""
    new_buckets = _buckets(pairing.free_new(), new_key)
    found = False
    for value, olds in _buckets(pairing.free_old(), old_key).items():
        news = new_buckets.get(value, ())
        if len(olds) == 1 and len(news) == 1:
            pairing.add(olds[0], news[0], matcher)
            found = True
    return found


def _ties(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, intern: Intern, level: int) -> None:
    """Pair what is equal in every respect, by op_name and then by order, where the counts agree.

    Members of one bucket are equal, so any order among them is right; but what hangs on them must follow, so buckets
    with free neighbours are settled one at a time.
    """
    while -1 in pairing.old and -1 in pairing.new:
        (_, (old_key, new_key)), *_ = _colour_keys(old, new, pairing, intern, level)
        new_buckets = _buckets(pairing.free_new(), new_key)
        buckets = [(olds, new_buckets.get(value, [])) for value, olds in _buckets(pairing.free_old(), old_key).items()]
        buckets = [(olds, news) for olds, news in buckets if len(olds) == len(news)]
        settled = [pair for pair in buckets if _is_enclosed(old, pairing.old, pair[0][0])]
        for olds, news in settled or buckets[:1]:
            _pair_by_name(old, new, pairing, olds, news, f"{LEVELS[level]}:tie")
        if not buckets:
            return
        _refine(old, new, pairing, intern, level)


def _body_key(side: MatchGraph) -> Key:
    """Calls that are equal with all they call: a body says more than its neighbours."""
    instructions = side.computation.instructions
    return lambda p: side.labels[EXACT][p] if instructions[p].opcode in CALLS else None


def _is_enclosed(side: MatchGraph, partners: Sequence[int], position: int) -> bool:
    """True where everything around the instruction is paired."""
    neighbours = [o for o, _, _ in side.slots[position]] + [u for u, _, _ in side.uses[position]]
    return all(partners[n] >= 0 for n in neighbours)


def _pair_by_name(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, olds: list[int], news: list[int], matcher: str
) -> None:
    """Those equal in more than the bucket asks first, then equal op_names, then what is left; each in order."""
    for same in (_own_and_name, _own, op_name_of, _anything):
        places: dict[Hashable, list[int]] = {}
        for position in news:
            if pairing.new[position] < 0:
                places.setdefault(same(new, position), []).append(position)
        for position in olds:
            if pairing.old[position] < 0 and (free := places.get(same(old, position))):
                pairing.add(position, free.pop(0), matcher)


def _own_and_name(side: MatchGraph, position: int) -> Hashable:
    return side.labels[OWN][position], op_name_of(side, position)


def _own(side: MatchGraph, position: int) -> Hashable:
    return side.labels[OWN][position]


def _anything(side: MatchGraph, position: int) -> Hashable:
    return None


def _beside(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, level: int) -> None:
    """Pair free instructions of one label that have the same paired users, the same paired operands, or both."""
    progress = True
    while progress:
        progress = False
        for name in ("around", "users", "operands"):
            if level >= TYPE and name != "around":
                continue
            keys = [_neighbour_key(side, pairing, which, level, name) for which, side in enumerate((old, new))]
            if _unique(pairing, keys[0], keys[1], f"{LEVELS[level]}:{name}"):
                progress = True
                break


def _neighbour_key(side: MatchGraph, pairing: InstructionMap, which: int, level: int, name: str) -> Key:
    partners = pairing.old if which == 0 else pairing.new
    labels = side.labels[level]

    def colour(position: int) -> int | None:
        partner = partners[position]
        return _colour(partner, position, which) if partner >= 0 else None

    def key(position: int) -> Hashable | None:
        users = tuple(sorted((c, s, r) for u, s, r in side.uses[position] if (c := colour(u)) is not None))
        users += ((0, 0, 0),) if position == side.computation.root else ()
        operands = tuple((s, c, r) for o, s, r in side.slots[position] if (c := colour(o)) is not None)
        arity = len(side.slots[position])
        if name == "around":
            complete = operands or arity == 0
            return (labels[position], users, tuple(sorted(operands)), arity) if users and complete else None
        if name == "users":
            return (labels[position], users) if users else None
        return (labels[position], tuple(sorted(operands))) if operands else None

    return key
