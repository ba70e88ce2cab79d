"""Elements of tuples and results of calls whose numbers changed, which is no edit if they are the same values.

A loop that carries one value more or less shifts the numbers of all others, and one that carries them in another order
(a key of the carried dictionary was renamed) renumbers them. An element has one number in the initial tuple, in the
parameters of body and condition, in what the body returns, and in the result. The results of other calls have the
numbers of what their callees return.

In compiled programs elements are taken by `get-tuple-element`; in StableHLO a loop takes each value as an operand of
its own, and an operand says which result it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hlodiff.differ.elements import CARRIERS, RETURNS, element_of, hands_on, number_of_elements, of_tuple, takes_tuple
from hlodiff.differ.instruction_matches import Elements, InstructionMap, MatchGraph
from hlodiff.differ.subsequence import longest_common_subsequence
from hlodiff.hlo.model import CALLS, CONDITIONALS, Computation, Instruction, Module, is_commutative, operand_names
from hlodiff.hlo.traversal import operands_first

# Opcodes whose results are what their callees return.
_CALLS = CALLS | CONDITIONALS | {"fusion"}
_Value = tuple[int, int]  # an instruction, and which of its results


# --- What a program does with a value, whatever its number is.

_Roles = Counter[int]
"""Hashes of uses, and of what is returned in the place of a value."""


@dataclass(slots=True)
class Roles:
    """The uses of the values that the computations of a module are given and return."""

    module: Module
    _given: dict[int, Sequence[_Roles]] = field(default_factory=dict)
    _returned: dict[int, Sequence[_Roles]] = field(default_factory=dict)

    def given(self, index: int) -> Sequence[_Roles]:
        """For each parameter its uses, those inside callees included; of a tuple, which is alone, for each element."""
        found = self._given.get(index)
        if found is None:
            found = self._given[index] = self._of_parameters(self.module.computations[index])
        return found

    def _of_parameters(self, owner: Computation) -> Sequence[_Roles]:
        places = owner.parameters
        shapes = [owner.instructions[place].shape for place in places]
        taken: dict[int, list[int]] = {}
        if len(places) == 1 and shapes[0].tuple_shapes:
            for user in owner.users[places[0]]:
                if (number := element_of(owner.instructions[user])) is not None:
                    taken.setdefault(number, []).append(user)
            values = [taken.get(n, []) for n in range(len(shapes[0].tuple_shapes))]
        else:
            values = [[place] for place in places]
        return [
            Counter(
                role
                for place in group
                for user in owner.users[place]
                for slot, operand in enumerate(owner.instructions[user].operands)
                if operand == place
                for role in self.uses(owner, user, slot)
            )
            for group in values
        ]

    def uses(self, owner: Computation, user: int, slot: int) -> Iterator[int]:
        """What an instruction does with an operand; a call what its callees do with it, a tuple nothing."""
        it = owner.instructions[user]
        if it.opcode in RETURNS:
            for loop in owner.users[user] if it.opcode == "tuple" else ():
                if owner.instructions[loop].opcode in CARRIERS and len(owner.instructions[loop].operands) == 1:
                    yield from self._inside(owner.instructions[loop], slot)
            return
        names = operand_names(it, self.module) if it.calls else {}
        inner = [(n, p) for n, numbers in names.items() for p, number in enumerate(numbers) if number == slot]
        for rank, (callee, parameter) in enumerate(inner):
            given = self.given(callee)
            for role, count in given[parameter].items() if parameter < len(given) else ():
                yield from (hash((it.opcode, rank, role)),) * count
        if not inner:
            yield hash((it.opcode, it.shape.bare.text, 0 if is_commutative(it) else slot))

    def _inside(self, it: Instruction, number: int) -> Iterator[int]:
        for rank, callee in enumerate(it.called):
            given = self.given(callee)
            if number < len(given):
                yield from (hash((it.opcode, rank, role)) for role in given[number].elements())

    def returned(self, index: int) -> Sequence[_Roles]:
        """For each element that a computation returns what it is and what it is computed from."""
        found = self._returned.get(index)
        if found is None:
            found = self._returned[index] = self._of_results(self.module.computations[index])
        return found

    def _of_results(self, owner: Computation) -> Sequence[_Roles]:
        root = owner.instructions[owner.root]
        if root.opcode in CARRIERS and root.shape.tuple_shapes:
            below = [self.returned(callee) for callee in root.called]
            return below[-1] if below else ()
        values = _Values(self, owner)
        found = []
        for operand, result in root.reads if root.opcode in RETURNS else [(owner.root, 0)]:
            roles = Counter(self.made_by(owner, operand, result))
            if not roles:
                it = owner.instructions[operand]
                roles[hash((it.opcode, it.shape.bare.text))] += 1
            roles[values.of(operand, result)] += 1
            found.append(roles)
        return found

    def made_by(self, owner: Computation, operand: int, result: int) -> Iterable[int]:
        """What the callee of a call returns as a result of it; nothing for other instructions."""
        it = owner.instructions[operand]
        if (number := element_of(it)) is not None:
            it, result = owner.instructions[it.operands[0]], number
        inner = self.returned(it.called[-1]) if it.called and (it.opcode in _CALLS or it.opcode == "while") else ()
        return inner[result].elements() if result < len(inner) else ()


class _Values:
    """Hashes of all that each value of a computation is computed from, parameters without their numbers.

    What a call returns is computed as its callee computes it: of several results each has its own.
    """

    def __init__(self, roles: Roles, owner: Computation) -> None:
        self._roles, self._owner = roles, owner
        self._below: list[tuple[int, ...]] = [()] * len(owner.instructions)
        self._hashes = [0] * len(owner.instructions)
        for position in operands_first(owner):
            it = owner.instructions[position]
            if element_of(it) is None or owner.instructions[it.operands[0]].opcode != "parameter":
                below = [self.of(*read) for read in it.reads]
                self._below[position] = tuple(sorted(below) if is_commutative(it) else below)
                own = None if it.opcode == "parameter" else it.literal, *sorted(it.attributes)
                self._hashes[position] = hash((it.opcode, it.shape.bare.text, own, self._below[position]))
            else:
                self._hashes[position] = hash((it.opcode, it.shape.bare.text))

    def of(self, position: int, result: int) -> int:
        made = sorted(self._roles.made_by(self._owner, position, result))
        is_taken = element_of(self._owner.instructions[position]) is not None
        source = self._owner.instructions[position].operands[0] if is_taken else position
        return hash((self._below[source], *made)) if made else self._hashes[position]


@dataclass(frozen=True, slots=True)
class ElementContext:
    """The context of two computations.

    Args:
        roles: of the modules that contain them.
        down: for each side, each instruction with everything that it is computed from.
        hashes: for each side, the content of each computation.

    What the elements of loops have in common does not depend on matches, and is found once.
    """

    roles: tuple[Roles, Roles]
    down: tuple[Sequence[bytes], Sequence[bytes]]
    hashes: tuple[Sequence[str], Sequence[str]]
    _of_loops: dict[tuple[int, int], tuple[Sequence[_Roles], Sequence[_Roles]]] = field(default_factory=dict)
    _alike: dict[tuple[tuple[int, int], int, int], int] = field(default_factory=dict)

    def alike(self, old: MatchGraph, new: MatchGraph, loop: tuple[int, int], one: int, other: int) -> int:
        """How many uses two elements of two loops have in common."""
        found = self._alike.get((loop, one, other))
        if found is None:
            if loop not in self._of_loops:
                ours, theirs = self.roles
                self._of_loops[loop] = _of_loop(ours, old, loop[0]), _of_loop(theirs, new, loop[1])
            both = self._of_loops[loop]
            found = min((both[0][one] & both[1][other]).total(), _MOST_ALIKE)
            self._alike[loop, one, other] = found
        return found

    def are_equal(self, one: Instruction, other: Instruction) -> bool:
        """Whether two calls call equal computations."""
        return [self.hashes[0][n] for n in one.called] == [self.hashes[1][n] for n in other.called]


# --- Which elements are the same values.

# Elements compared with all others: loops that carry more values keep their order.
_MOST_COMPARED = 5_000
_MOST_ALIKE = 100


def carried_elements(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: ElementContext, given: Elements | None = None
) -> dict[int, Elements]:
    """For each matched loop, by old position, the matches of its elements if their numbers changed.

    Args:
        old, new, pairing: two computations.
        held: their context.
        given: the elements of the only parameter, if their numbers changed.
    """
    found: dict[int, Elements] = {}
    known = dict.fromkeys(old.parameters[:1], given) if given is not None and len(old.parameters) == 1 else {}
    for position in old.order:
        it, matched = old.computation.instructions[position], pairing.old[position]
        if it.opcode not in CARRIERS or matched < 0:
            continue
        other = new.computation.instructions[matched]
        if other.opcode != it.opcode or not (hands_on(old, it) and hands_on(new, other)):
            continue
        elements = None
        if takes_tuple(old, it) and takes_tuple(new, other):
            one, two = it.operands[0], other.operands[0]
            elements = known.get(one) if pairing.old[one] == two else None
        if elements is None:
            numbered = {one: which for (one, _), which in pairing.results.items()}  # of calls
            elements = _same_elements(old, new, pairing, held, (position, matched), numbered | found)
        if elements is not None:
            found[position] = known[position] = elements
    return found


def _same_elements(
    old: MatchGraph,
    new: MatchGraph,
    pairing: InstructionMap,
    held: ElementContext,
    loop: tuple[int, int],
    known: Mapping[int, Elements],
) -> Elements | None:
    """The matches of a loop's elements; None if all keep their numbers, or nothing is known about them.

    Elements keep their order unless more of them keep their initial values and uses in another one. `known` has the
    elements of loops before it, of which it may take some: a backward pass takes what the forward pass saved.
    """
    one, other = old.computation.instructions[loop[0]], new.computation.instructions[loop[1]]
    begins = _begins(old, new, pairing, loop)
    if begins is None or (len(begins[0]) == len(begins[1]) and held.are_equal(one, other)):
        return None
    # The matches of its equals, for one left unmatched among them.
    became = {held.down[0][a]: held.down[1][b] for a, _ in begins[0] if (b := pairing.old[a]) >= 0}
    ours = [
        (
            held.down[1][pairing.old[a]] if pairing.old[a] >= 0 else became.get(held.down[0][a], held.down[0][a]),
            known[a].get(result, -1) if a in known else result,
        )
        for a, result in begins[0]
    ]
    theirs = [(held.down[1][b], result) for b, result in begins[1]]
    alike = partial(held.alike, old, new, loop)

    if len(ours) != len(theirs):
        kept = of_tuple(old, new, pairing, one.operands[0], other.operands[0]) if len(one.operands) == 1 else None
        kept = dict(longest_common_subsequence(ours, theirs, alike)) if kept is None else kept
        likely = [(a, b) for a, value in enumerate(ours) for b in range(len(theirs)) if theirs[b] == value]
    else:
        kept = {n: n for n in range(len(ours))}
        types = _types(old, begins[0]), _types(new, begins[1])
        likely = [(a, b) for a in kept for b in kept if types[0][a] == types[1][b]]

    def likeness(a: int, b: int) -> int:
        return (ours[a] == theirs[b]) + alike(a, b)

    return _reordered(kept, likely, likeness, (len(ours), len(theirs)))


def _reordered(
    kept: Elements, likely: Sequence[tuple[int, int]], likeness: Callable[[int, int], int], sizes: tuple[int, int]
) -> Elements | None:
    """The matches of elements, in another order if more of them are alike then; None if all keep their numbers.

    Args:
        kept: those that correspond if all keep their order.
        likely: those that may correspond otherwise.
        likeness: of two elements.
        sizes: how many elements there are.
    """
    if len(likely) <= _MOST_COMPARED:
        ranked = [(-likeness(a, b), kept.get(a) != b, a, b) for a, b in likely]
        found: dict[int, int] = {}
        back: dict[int, int] = {}
        for worth, _, a, b in sorted(ranked):
            if worth and a not in found and b not in back:
                found[a], back[b] = b, a
        if sum(likeness(a, b) for a, b in found.items()) > sum(likeness(a, b) for a, b in kept.items()):
            if sizes[0] == sizes[1]:
                left = [[n for n in range(sizes[0]) if n not in some] for some in (found, back)]
                found |= dict(zip(*left, strict=True))
            kept = dict(sorted(found.items()))
    return None if sizes[0] == sizes[1] and all(a == b for a, b in kept.items()) else kept


def _begins(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, loop: tuple[int, int]
) -> tuple[Sequence[_Value], Sequence[_Value]] | None:
    """The initial values of two loops, without captured ones; None if they begin with tuples that do not match."""
    begins = []
    for side, position in zip((old, new), loop, strict=True):
        its = side.computation.instructions
        it = its[position]
        count = len(it.shape.tuple_shapes) or 1
        if takes_tuple(side, it):
            it = its[it.operands[0]]
            if it.opcode != "tuple":
                return None
        elif it.opcode != "while":
            return None
        begins.append((it.opcode, it.reads[:count]))
    (ours, before), (theirs, after) = begins
    if ours == theirs == "tuple":
        one, other = (side.computation.instructions[n].operands[0] for side, n in zip((old, new), loop, strict=True))
        return (before, after) if pairing.old[one] == other else None
    return (before, after) if ours == theirs else None


def _types(side: MatchGraph, values: Iterable[_Value]) -> list[str]:
    shapes = [(side.computation.instructions[place].shape, result) for place, result in values]
    return [(one.tuple_shapes[result] if result < len(one.tuple_shapes) else one).bare.text for one, result in shapes]


def _of_loop(roles: Roles, side: MatchGraph, position: int) -> Sequence[_Roles]:
    """For each element of a loop its uses in the loop and behind it, and what the body returns in its place."""
    it = side.computation.instructions[position]
    found = [Counter[int]() for _ in range(number_of_elements(side, position))]
    for rank, callee in enumerate(it.called):
        for number, given in enumerate(roles.given(callee)[: len(found)]):
            found[number].update(hash((rank, role)) for role in given.elements())
    owner = roles.module.computations[it.called[-1]] if it.called else None
    root = owner.instructions[owner.root] if owner else None
    for number, returned in enumerate(roles.returned(it.called[-1])[: len(found)] if it.called else ()):
        found[number].update(hash(("returned", role)) for role in returned.elements())
        if owner and root and root.opcode in RETURNS:
            found[number][hash(_carried(owner.instructions[root.operands[number]]) == number)] += 1
    its = side.computation.instructions
    for user, slot, result in side.uses[position]:
        taken = element_of(its[user])
        number = result if taken is None else taken
        for n, place in [(user, slot)] if taken is None else [(n, place) for n, place, _ in side.uses[user]]:
            if number < len(found):
                found[number].update(hash(("behind", role)) for role in roles.uses(side.computation, n, place))
                if side.is_entry and n == side.computation.root:
                    found[number][hash(("result", place))] += 1
    return found


def result_elements(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: ElementContext
) -> dict[int, Elements]:
    """For each matched call, by old position, the matches of its results if the callees renumber them.

    They depend on the callees alone, so that they are the same wherever those are called.
    """
    found: dict[int, Elements] = {}
    for position, matched in enumerate(pairing.old):
        one = old.computation.instructions[position]
        if matched < 0 or one.opcode not in _CALLS or not one.shape.tuple_shapes or hands_on(old, one):
            continue
        other = new.computation.instructions[matched]
        if other.opcode != one.opcode or len(one.called) != len(other.called) or held.are_equal(one, other):
            continue
        ours, theirs = (_of_results(roles, it) for roles, it in zip(held.roles, (one, other), strict=True))
        if not ours or not theirs:
            continue
        types = [[shape.bare.text for shape in it.shape.tuple_shapes] for it in (one, other)]

        def likeness(a: int, b: int, ours: Sequence[_Roles] = ours, theirs: Sequence[_Roles] = theirs) -> int:
            return (ours[a] & theirs[b]).total()

        likely = [(a, b) for a, kind in enumerate(types[0]) for b, its in enumerate(types[1]) if its == kind]
        kept = {n: n for n in range(min(len(ours), len(theirs)))}
        elements = _reordered(kept, likely, likeness, (len(ours), len(theirs)))
        if elements is not None:
            found[position] = elements
    return found


def _of_results(roles: Roles, it: Instruction) -> Sequence[_Roles]:
    found = [Counter[int]() for _ in it.shape.tuple_shapes]
    for rank, callee in enumerate(it.called):
        returned = roles.returned(callee)
        if len(returned) != len(found):
            return ()
        for number, each in enumerate(returned):
            found[number].update(hash((rank, role)) for role in each.elements())
    return found


def match_indistinguishable(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: ElementContext) -> None:
    """Match equal initial values of a loop by element, replacing earlier matches.

    A loop may begin with ten arrays of zeros. Slots alone would match them off by one if another was added in front.
    """
    for position, matched in enumerate(pairing.old):
        it = old.computation.instructions[position]
        if it.opcode not in CARRIERS or matched < 0 or not it.operands:
            continue
        other = new.computation.instructions[matched]
        begins = _begins(old, new, pairing, (position, matched)) if other.opcode == it.opcode else None
        if begins is None:
            continue
        is_wider = len(begins[0]) != len(begins[1]) and len(it.operands) == 1
        if is_wider and of_tuple(old, new, pairing, it.operands[0], other.operands[0]) is not None:
            continue
        elements = _same_elements(old, new, pairing, held, (position, matched), {}) or {}
        wanted = {begins[0][a][0]: begins[1][b][0] for a, b in elements.items()}
        for a, b in [*wanted.items()]:  # and what they are computed from: a broadcast and its constant
            while len(old.operand_edges[a]) == len(new.operand_edges[b]) == 1:
                a, b = old.operand_edges[a][0][0], new.operand_edges[b][0][0]
                if pairing.old[a] < 0 or held.down[1][pairing.old[a]] != held.down[1][b]:
                    break
                wanted.setdefault(a, b)
        _exchange(old, new, pairing, held, wanted)


def _exchange(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, held: ElementContext, wanted: Mapping[int, int]
) -> None:
    """Give old instructions the wanted matches, if all instructions that change theirs are equal."""
    moves = {a: b for a, b in wanted.items() if pairing.old[a] != b and len(old.uses[a]) == len(new.uses[b]) == 1}
    while True:  # no instruction loses its match
        olds, news = {*moves, -1}, {*moves.values(), -1}
        kept = {a: b for a, b in moves.items() if pairing.old[a] in news and pairing.new[b] in olds}
        if len(kept) == len(moves):
            break
        moves = kept
    holders = {a: pairing.new[b] for a, b in moves.items() if pairing.new[b] >= 0}
    if any(held.down[0][a] != held.down[0][other] for a, other in holders.items()):
        return
    for a in moves:
        if pairing.old[a] >= 0:
            pairing.remove(a)
    for a, b in moves.items():
        pairing.add(a, b, "tuple:element")


def _carried(it: Instruction) -> int | None:
    """The number of the element that an instruction in a loop takes: of the only parameter, or as a parameter."""
    return it.number if it.opcode == "parameter" and not it.shape.tuple_shapes else element_of(it)
