"""Matches instructions of two computations: colour refinement (Weisfeiler and Leman 1968) from strong to weak labels
as in GumTree (Falleri et al. 2014), then a linear sum assignment of what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hlodiff.differ.limits import Limits
from hlodiff.hlo.collectives import family
from hlodiff.hlo.model import Computation, Instruction, is_commutative
from hlodiff.hlo.traversal import operands_first, preorder

if TYPE_CHECKING:
    import networkx as nx

# --- Reachability of unmatched (free) instructions: the matched ones that they reach through free ones.
#
# A search needs this for thousands of matchings that differ in a few pairs, so each answer is cached until a nearby
# pair changes. The work is counted: a long walk counts towards the limit like any other work. It is what networkx calls
# `descendants`, through free instructions only; the free ones change with every step of the search, so it runs on the
# frozen tuples and keeps a bit set for each instruction.

# Answers have one bit for each instruction: beyond this many they are not cached, as they would take gigabytes.
_KEPT = 10_000


class Reach:
    """One side of a matching.

    Args:
        operands: for each instruction its (operand, result) pairs.
        users: for each instruction its users.
        mapping: for each instruction its match, negative if it is free; changed by the caller.

    `found` has the cached answers; `steps` counts the operands visited and the cached answers dropped.
    """

    __slots__ = ("_mapping", "_operands", "_users", "found", "steps")

    def __init__(
        self,
        operands: Sequence[Sequence[tuple[int, int]]],
        users: Sequence[Sequence[int]],
        mapping: Sequence[int],
    ) -> None:
        self._operands, self._users, self._mapping = operands, users, mapping
        self.found: dict[int, int] = {}
        self.steps = 0

    def below(self, start: int) -> int:
        """The matched instructions reached from a free one through free ones, as a bit set."""
        found = self.found.get(start)
        if found is not None:
            return found
        return self._work_out(start) if len(self._mapping) <= _KEPT else self._walk(start)

    def changed(self, position: int) -> None:
        """Drop the cached answers that depend on an instruction that was matched or freed."""
        found, users = self.found, self._users
        if position in found:
            del found[position]
        worklist = [position]
        for one in worklist:
            for user in users[one]:
                # A user's answer depends on this one: above an unknown answer none is known.
                if user in found:
                    del found[user]
                    worklist.append(user)
        self.steps += len(worklist)

    def _work_out(self, start: int) -> int:
        """Compute the answer for one instruction and all free ones on the way, operands first."""
        found, mapping = self.found, self._mapping
        worklist = [start]
        opened: set[int] = set()
        while worklist:
            position = worklist[-1]
            if position in found:
                worklist.pop()
                continue
            below = self._operands[position]
            further = [n for n, _ in below if mapping[n] < 0 and n not in found and n not in opened]
            self.steps += 1 + len(below)
            opened.add(position)
            if further:
                worklist += further
                continue
            bits = 0
            for operand, _ in below:
                bits |= 1 << operand if mapping[operand] >= 0 else found.get(operand, 0)
            found[position] = bits
            worklist.pop()
        return found[start]

    def _walk(self, start: int) -> int:
        mapping, reached = self._mapping, set[int]()
        worklist, seen = [start], {start}
        for position in worklist:
            below = self._operands[position]
            self.steps += 1 + len(below)
            for operand, _ in below:
                if mapping[operand] >= 0:
                    reached.add(operand)
                elif operand not in seen:
                    seen.add(operand)
                    worklist.append(operand)
        return _bits(reached)


def _bits(positions: Iterable[int]) -> int:
    """A number with these bits set."""
    positions = list(positions)
    found = bytearray(max(positions, default=0) // 8 + 1)
    for position in positions:
        found[position // 8] |= 1 << position % 8
    return int.from_bytes(found, "little")


# --- The dataflow graph of one computation, frozen into tuples, with labels from strong to weak for every node.

# Labels from strong to weak. An instruction is matched at the strongest level at which its neighbourhood agrees.
EXACT, SIGNED, OWN, VALUE, STRUCTURE, TYPE, ANY = range(7)
LEVELS = ("exact", "signed", "own", "value", "structure", "type", "any")

# Opcodes whose callees come and go with them.
CALLS = frozenset(
    ["fusion", "while", "conditional", "case", "if", "call", "async-start", "func.call", "composite",
     "sdy.manual_computation"]
)  # fmt: skip

_NO_PLACE = -2  # not 0, which both operands of a commutative operation have


@dataclass(frozen=True, slots=True)
class Intern:
    """Numbers of labels: equal for equal labels, in all computations of two programs.

    Args:
        numbers: of each label.
        rows: the labels of instructions that are equal apart from what their operands are.
    """

    numbers: dict[Hashable, int] = field(default_factory=dict)
    rows: dict[Hashable, tuple[int, ...]] = field(default_factory=dict)

    def number(self, label: Hashable) -> int:
        """The number of a label."""
        return self.numbers.setdefault(label, len(self.numbers))


Elements = Mapping[int, int]
"""New numbers of the elements of a tuple, or of results, by old ones, without added and removed ones."""
_Users = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""The users of a node of a dataflow graph, and the edges to each by key."""


@dataclass(frozen=True, slots=True)
class MatchGraph:
    """One computation prepared for matching; sequences are indexed like its instructions.

    Args:
        computation: the computation.
        size: how many instructions it has.
        parameters: their positions, by number.
        labels: for each level one number per instruction; equal numbers mean equal labels, on both sides.
        uses: for each instruction its (user, operand slot, result) triples; slot 0 for commutative users, and one
            number for all that is returned if the other side returns more or less.
        users: for each instruction its users, each once.
        operand_edges: for each instruction its (operand, slot, result) triples.
        operands: for each instruction its (operand, result) pairs.
        order: positions, operands before users.
        is_entry: its parameters are the program's; those of other computations are names for operands of the caller.
        names: which instructions are such names.
        unordered: which instructions name their operands by parameters of their own: the order of those means nothing.
        functions: the Python functions through which a frame was called.
    """

    computation: Computation
    size: int
    parameters: tuple[int, ...]
    labels: tuple[tuple[int, ...], ...]
    uses: tuple[tuple[tuple[int, int, int], ...], ...]
    users: tuple[tuple[int, ...], ...]
    operand_edges: tuple[tuple[tuple[int, int, int], ...], ...]
    operands: tuple[tuple[tuple[int, int], ...], ...]
    order: tuple[int, ...]
    is_entry: bool
    names: tuple[bool, ...]
    unordered: tuple[bool, ...]
    functions: Callable[[int], str]

    def origin(self, position: int) -> tuple[str, str]:
        """JAX's scope and the Python functions that an instruction comes from: evidence among equal ones."""
        it = self.computation.instructions[position]
        return it.op_name, self.functions(it.frame)

    @staticmethod
    def from_networkx(
        graph: nx.MultiDiGraph[int],
        hashes: Sequence[str],
        intern: Intern,
        *,
        entry: bool,
        numbered_results: bool = True,
        functions: Callable[[int], str] = str,
    ) -> MatchGraph:
        """Freeze one computation into tuples, which the inner loops of the matchers walk seven times as fast.

        Args:
            graph: the dataflow graph of a computation without noise and tuning, as `hlodiff.graph.dataflow` makes it.
            hashes: content hash of every computation of its module.
            intern: shared by both sides, so that equal labels become equal numbers.
            entry: True for the entry, whose arguments may become constants; other parameters come and go with their
                call.
            numbered_results: whether a result's place among those returned says which one it is.
            functions: see the field.
        """
        computation: Computation = graph.graph["computation"]
        instructions = computation.instructions
        kinds = [it.shape.bare.text for it in instructions]
        rows = [
            _labels(it, hashes, intern, entry, kind, tuple([kinds[o] for o in it.operands]))
            for it, kind in zip(instructions, kinds, strict=True)
        ]
        ordered = [len(it.operands) != 2 or not is_commutative(it) for it in instructions]
        unnumbered = -1 if numbered_results else computation.root
        uses: list[tuple[tuple[int, int, int], ...]] = []
        users: list[tuple[int, ...]] = []
        slots: list[list[tuple[int, int, int]]] = [[(-1, -1, -1)] * len(it.operands) for it in instructions]
        for operand, around in graph.adjacency():
            triples: list[tuple[int, int, int]] = []
            near: list[int] = []
            for user, edges in cast("_Users", around).items():
                before = len(triples)
                for number, edge in edges.items():
                    if number >= 0:  # otherwise a control edge, which passes no value
                        slot, result = number if ordered[user] else 0, edge["result"]
                        if user == unnumbered:
                            slot = _NO_PLACE
                        triples.append((user, slot, result))
                        slots[user][number] = (operand, slot, result)
                if len(triples) > before:
                    near.append(user)
            uses.append(tuple(triples))
            users.append(tuple(near))
        return MatchGraph(
            computation,
            len(instructions),
            computation.parameters,
            tuple(zip(*rows, strict=True)),
            tuple(uses),
            tuple(users),
            tuple(map(tuple, slots)),
            tuple(tuple([(operand, result) for operand, _, result in triples]) for triples in slots),
            tuple(operands_first(computation)),
            entry,
            tuple(not entry and it.opcode == "parameter" for it in instructions),
            tuple([it.opcode == "fusion" for it in instructions]),
            functions,
        )


def _labels(
    it: Instruction, hashes: Sequence[str], intern: Intern, entry: bool, kind: str, operand_kinds: tuple[str, ...]
) -> tuple[int, ...]:
    """Labels of an instruction, by level.

    A parameter's number is not part of any label: parameters are matched by callers, uses and names."""
    literal = None if it.opcode == "parameter" else it.literal
    called = tuple([(name, *[hashes[callee] for callee in group]) for name, group in it.calls]) if it.calls else ()
    key = it.opcode, it.shape.text, literal, it.attributes, called, len(it.operands), entry
    row = intern.rows.get(key)
    if row is None:
        row = intern.rows[key] = _apart_from_operands(it, literal, called, intern, entry, kind)
    exact, own, *others = row
    return exact, intern.number((SIGNED, own, operand_kinds)), own, *others


def _apart_from_operands(
    it: Instruction, literal: str | None, called: Hashable, intern: Intern, entry: bool, kind: str
) -> tuple[int, ...]:
    attributes = tuple(sorted(it.attributes)) if len(it.attributes) > 1 else it.attributes
    # A call never matches a plain operation: the contents of the callee would not be compared.
    call = it.opcode if it.calls and it.opcode in CALLS else ""
    if it.opcode == "parameter" or (entry and it.opcode == "constant"):
        call = "argument" if entry else "parameter"
    groups = it.attribute("replica_groups") if attributes else None
    own = intern.number((OWN, it.opcode, it.shape.text, literal, attributes))
    return (
        intern.number((EXACT, own, called)),
        own,
        intern.number((VALUE, it.opcode, kind, literal, len(it.operands), groups)),
        intern.number((STRUCTURE, it.opcode)),
        intern.number((TYPE, kind, call)),
        intern.number((ANY, call)),
    )


@dataclass(slots=True)
class InstructionMap:
    """Matches of old to new instructions, with the matcher that found each. Grows while matchers run.

    `steps` counts operands that were compared one by one; see `walked`. `results` has, for matches of StableHLO
    operations with several results, those whose numbers changed.
    """

    old: list[int]
    new: list[int]
    matchers: dict[int, str]
    steps: int = 0
    results: dict[tuple[int, int], Elements] = field(default_factory=dict)
    _reaches: list[Reach | None] = field(default_factory=lambda: [None, None])
    _places: tuple[Sequence[int], Sequence[int]] | None = None

    @staticmethod
    def empty(old_size: int, new_size: int) -> InstructionMap:
        """No matches yet; -1 means unmatched."""
        return InstructionMap([-1] * old_size, [-1] * new_size, {})

    def add(self, old: int, new: int, matcher: str) -> None:
        """Match two free instructions."""
        self.old[old] = new
        self.new[new] = old
        self.matchers[old] = matcher
        first, second = self._reaches
        if first is not None and first.found:
            first.changed(old)
        if second is not None and second.found:
            second.changed(new)

    def remove(self, old: int) -> None:
        """Remove a match."""
        new = self.old[old]
        self.new[new] = -1
        self.old[old] = -1
        del self.matchers[old]
        first, second = self._reaches
        if first is not None and first.found:
            first.changed(old)
        if second is not None and second.found:
            second.changed(new)

    def exchange(self, old: Sequence[int], new: Sequence[int], matchers: Mapping[int, str]) -> None:
        """Replace all matches."""
        self.old[:], self.new[:], self.matchers = old, new, dict(matchers)
        self._reaches[:] = None, None

    def reach(self, sides: tuple[MatchGraph, MatchGraph], which: int) -> Reach:
        """Reachability of free instructions of one side (0 old, 1 new); the sides are always the same two."""
        found = self._reaches[which]
        if found is None:
            mapping = (self.old, self.new)[which]
            found = self._reaches[which] = Reach(sides[which].operands, sides[which].users, mapping)
        return found

    def places(self, old: MatchGraph, new: MatchGraph) -> tuple[Sequence[int], Sequence[int]]:
        """The place of each instruction of both sides, see `_places`, as the parameters were matched at first."""
        if self._places is None:
            self._places = _places(old, new, self.old, 0), _places(new, old, self.new, 1)
        return self._places

    @property
    def walked(self) -> int:
        """All operands visited to compare those of matches: the effort in addition to costs."""
        return self.steps + sum(reach.steps for reach in self._reaches if reach is not None)

    def free_old(self) -> list[int]:
        """Old instructions without a match, ascending."""
        return [n for n, matched in enumerate(self.old) if matched < 0]

    def free_new(self) -> list[int]:
        """New instructions without a match, ascending."""
        return [n for n, matched in enumerate(self.new) if matched < 0]


def op_name_of(side: MatchGraph, position: int) -> str:
    """JAX's scope of an instruction, or the path of an argument."""
    return side.computation.instructions[position].op_name


def is_parameter_of(side: MatchGraph, position: int) -> bool:
    """Whether an instruction is a parameter of its computation."""
    return side.computation.instructions[position].opcode == "parameter"


# --- Matching the instructions of two computations.
#
# Colour refinement with anchors: the colour of a matched instruction is its match, that of a free one the hash of its
# label and the colours below (`down`) or above (`up`) it. Free instructions whose colours occur once on each side are
# matched; every match is an anchor for the next pass. An edit changes `down` only below its users and `up` only above
# its operands, so one edit leaves one of the two unchanged for everything else. Weaker labels are used only when the
# stronger ones find no further match.
#
# Refining colours by neighbours is Weisfeiler and Leman 1968, and going from strong to weak evidence is GumTree
# (Falleri et al. 2014, top-down and bottom-up phases), on graphs with sharing instead of trees. networkx's
# Weisfeiler-Lehman hash is not used: it gives a graph and its reverse one hash, and loses the order of operands. Nor
# are networkx graphs walked directly: there one pass takes seven to nine times as long as on frozen tuples.

# Weaker levels match only next to something matched; each round may add neighbours. Eight rounds were enough for
# everything in the corpus; the loop ends early when a round matches nothing.
_ROUNDS = 8


# --- The place of an instruction: the parameters nearest to it in the dataflow.
#
# The gradients of equal layers are equal, and so are those of a weight and a bias of one shape. What tells them apart
# is what they are used with: a weight or its moments. So the place of a value are the parameters that it is computed
# from, or else the nearest ones that are used with it; if there are none, or too many to mean anything, the place that
# all its operands have in common, or one of them has, or its only user. A scalar is used with everything.

_MOST_NEAR = 3
_RETURNS = ("tuple", "return")


def _places(side: MatchGraph, other: MatchGraph, mapping: Sequence[int], which: int) -> list[int]:
    """The place of each instruction of a side (0 old), as a bit set of parameters: old positions, others above them."""
    instructions, operands, users = side.computation.instructions, side.operands, side.users
    forms = [0] * side.size  # the parameter that a value is, cast, transposed or scaled by constants
    # Arguments that were added or removed are places too; other parameters come and go with what the caller does.
    is_known = side.is_entry and len(side.parameters) != len(other.parameters)
    for parameter in side.parameters:
        number = mapping[parameter] if which else parameter
        if mapping[parameter] < 0:
            number = parameter + which * other.size
        if instructions[parameter].shape.dimensions and (mapping[parameter] >= 0 or is_known):
            forms[parameter] = 1 << number
    if not any(forms):
        return forms
    constant = [not below and it.opcode != "parameter" for below, it in zip(operands, instructions, strict=True)]
    near = [0] * side.size
    for position in side.order:
        if below := operands[position]:
            given = {operand for operand, _ in below if not constant[operand]}
            constant[position] = not given
            found = 0
            for operand in given:
                found |= forms[operand]
            if len(given) == 1:
                forms[position] = found
            near[position] = found if found.bit_count() <= _MOST_NEAR else 0
    if instructions[side.computation.root].opcode in _RETURNS:
        near[side.computation.root] = 0
    places, distances = near.copy(), [0 if found else side.size for found in near]
    for position in reversed(side.order):
        if not near[position]:
            found, least = 0, side.size
            for user in users[position]:
                beside = near[user] & ~forms[position]
                distance = 0 if beside else distances[user]
                if distance < least:
                    found, least = 0, distance
                if distance == least:
                    found |= beside or places[user]
            if found.bit_count() <= _MOST_NEAR:
                places[position], distances[position] = found, least + 1
    _inherit(side, constant, places)
    return places


def _inherit(side: MatchGraph, constant: Sequence[bool], places: list[int]) -> None:
    """Give instructions without a place that of their operands, or of their only user."""
    operands, users = side.operands, side.users
    partly = [0] * side.size  # of one term of a sum; it is not the place of the whole sum
    for position in side.order:
        if not places[position] and not constant[position] and operands[position]:
            common, found = -1, 0
            for operand, _ in operands[position]:
                if not constant[operand]:
                    common &= places[operand]
                    found |= places[operand]
            places[position] = common
            partly[position] = found if found.bit_count() <= _MOST_NEAR else 0
    for position in reversed(side.order):
        places[position] = places[position] or partly[position]
        if not places[position] and len(users[position]) == 1:
            places[position] = places[users[position][0]]


def match(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> None:
    """Match the instructions of two computations, strongest evidence first.

    Args:
        old, new: the two computations, prepared with the same `intern`.
        pairing: known matches (parameters); matches are added to it.
    """
    refinement = _Refinement(old, new, pairing)
    for _ in range(_ROUNDS):
        before = len(pairing.matchers)
        for level in (EXACT, SIGNED, OWN):
            refinement.match_unique(level)
            if level == EXACT:  # calls that are equal including their callees: a body is stronger than neighbours
                bodies = [
                    [(side.labels[EXACT][p], p) for p in free if side.computation.instructions[p].opcode in CALLS]
                    for side, free in ((old, pairing.free_old()), (new, pairing.free_new()))
                ]
                _match_once(pairing, bodies[0], bodies[1], "exact:body")
            refinement.match_ties(level)
        for level in (VALUE, STRUCTURE):
            refinement.match_unique(level)
        for level in (VALUE, STRUCTURE):
            refinement.match_beside(level)
        refinement.match_unique(TYPE)
        for level in (TYPE, ANY):
            refinement.match_beside(level)
        refinement.match_ties(VALUE)
        if len(pairing.matchers) == before:
            break


_Numbers = dict[Any, int]
_Colours = tuple[list[int], list[int], list[int]]
"""The free instructions of one side, ascending, and the colours below and above each instruction."""
_Edges = tuple[tuple[int, int, int], ...]
_Neighbours = Sequence[tuple[int, _Edges, _Edges, int]]
"""Free instructions with their matched users and operands, by colour and slot, and how many operands they have."""
_Keyed = Sequence[tuple[Hashable, int]]
"""Instructions with the key that must be equal for a match."""


@dataclass(slots=True)
class _Last:
    """What was found at a given number of matches: nothing of it changes until something is matched.

    `refined` is the strongest level at which unique colours were matched, `has_no_ties` whether equal ones were too.
    `may_match` names the keys of `_by_colour` that some instructions of both sides may share: after the last match of a
    level mostly none.
    """

    count: int
    colours: tuple[_Colours, _Colours]
    may_match: tuple[str, ...]
    refined: int = ANY
    has_no_ties: bool = False

    @staticmethod
    def of(count: int, one: _Colours, other: _Colours) -> _Last:
        """What two colourings have in common."""
        shared = [not {one[n][p] for p in one[0]}.isdisjoint([other[n][p] for p in other[0]]) for n in (1, 2)]
        names = [name for name, is_shared in zip(("down", "up"), shared, strict=True) if is_shared]
        return _Last(count, (one, other), ("both", "down", "up") if all(shared) else tuple(names))


class _Refinement:
    """Two computations while they are matched, with the colours of their instructions."""

    def __init__(self, old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> None:
        self.old, self.new, self.pairing = old, new, pairing
        # For each level the strongest one that distinguishes the same instructions, as their colours then do too.
        self._stands_for: list[int] = []
        kinds: list[int] = []
        for level in range(ANY):
            labels = old.labels[level] + new.labels[level]
            kinds.append(len(set(labels)))
            alike = (n for n in dict.fromkeys(self._stands_for) if kinds[n] == kinds[level])
            same = (n for n in alike if len({*zip(labels, old.labels[n] + new.labels[n], strict=True)}) == kinds[n])
            self._stands_for.append(next(same, level))
        self._stands_for.append(ANY)
        self._last: dict[int, _Last] = {}
        # The same of matched neighbours: how many matches there were, the neighbours of both sides, and by level the
        # strongest level at which unique ones were matched.
        self._beside: tuple[int, tuple[_Neighbours, _Neighbours], dict[int, int]] = -1, ((), ()), {}

    def match_unique(self, level: int) -> None:
        """Match instructions whose colours are unique on both sides, until a pass finds none."""
        pairing, progress = self.pairing, True
        places = pairing.places(self.old, self.new)
        # A different opcode of the same type is the same instruction only if its whole neighbourhood is unchanged.
        names = ["both", "down", "inside", "place", "up"] if level < TYPE else ["both"]
        if not any(places[0]):
            names = [name for name in names if name not in ("inside", "place")]
        while progress and -1 in pairing.old and -1 in pairing.new:
            last = self._colours(level)
            if last.refined <= level:
                return
            last.refined, colours = level, last.colours
            # Every key of one colouring is used before the next: colours cost more than a new anchor adds to them.
            found = [
                _match_once(
                    pairing,
                    _by_colour(self.old, colours[0], level, name, places[0]),
                    _by_colour(self.new, colours[1], level, name, places[1]),
                    f"{LEVELS[level]}:{name}",
                    places if name in ("both", "up") else None,
                )
                for name in names
                if name in last.may_match or name == "place" or (name == "inside" and "down" in last.may_match)
            ]
            progress = any(found)

    def _colours(self, level: int) -> _Last:
        """Colours of a level: equal on both sides if everything below, or above, the instructions is equal.

        The last colours are reused if nothing was matched since: during this phase matches are only added.
        """
        level = self._stands_for[level]
        found = self._last.get(level)
        if found is None or found.count != len(self.pairing.matchers):
            below: _Numbers = {}
            above: _Numbers = {}
            first = _coloured(self.old, self.pairing.old, 0, level, below, above)
            second = _coloured(self.new, self.pairing.new, 1, level, below, above)
            found = self._last[level] = _Last.of(len(self.pairing.matchers), first, second)
        return found

    def match_ties(self, level: int) -> None:
        """Match instructions that are equal in every respect, by place and origin and then by order, if counts agree.

        Members of one bucket are equal, so any order among them is right; but dependent instructions must follow, so
        buckets with free neighbours are matched one at a time.
        """
        old, new, pairing = self.old, self.new, self.pairing
        while -1 in pairing.old and -1 in pairing.new:
            last = self._colours(level)
            if last.has_no_ties or "both" not in last.may_match:
                return
            ours, theirs = last.colours
            by_key: tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]] = {}, {}
            for found, side, colours in ((by_key[0], old, ours), (by_key[1], new, theirs)):
                for key, position in _by_colour(side, colours, level, "both", ()):
                    found.setdefault(key, []).append(position)
            buckets = [(olds, by_key[1].get(key, [])) for key, olds in by_key[0].items()]
            buckets = [(olds, news) for olds, news in buckets if len(olds) == len(news)]
            settled = [pair for pair in buckets if _is_enclosed(old, pairing.old, pair[0][0])]
            for olds, news in settled or buckets[:1]:
                _pair_by_name(old, new, pairing, olds, news, f"{LEVELS[level]}:tie")
            if not buckets:
                last.has_no_ties = True
                return
            self.match_unique(level)

    def match_beside(self, level: int) -> None:
        """Match free instructions of one label with the same matched users, the same matched operands, or both."""
        old, new, pairing, progress = self.old, self.new, self.pairing, True
        while progress and -1 in pairing.old and -1 in pairing.new:
            if self._beside[0] != len(pairing.matchers):
                sides = _neighbours(old, pairing.old, 0), _neighbours(new, pairing.new, 1)
                self._beside = len(pairing.matchers), sides, {}
            _, (ours, theirs), done = self._beside
            if done.get(self._stands_for[level], ANY + 1) <= level:
                return
            done[self._stands_for[level]] = level
            found = [
                _match_once(
                    pairing,
                    _by_neighbours(ours, old.labels[level], name),
                    _by_neighbours(theirs, new.labels[level], name),
                    f"{LEVELS[level]}:{name}",
                )
                for name in (("around",) if level >= TYPE else ("around", "users", "operands"))
            ]
            progress = any(found)


def _match_once(
    pairing: InstructionMap,
    olds: _Keyed,
    news: _Keyed,
    matcher: str,
    places: tuple[Sequence[int], Sequence[int]] | None = None,
) -> bool:
    """Match free instructions whose key occurs exactly once on each side, and whose known `places` do not differ."""
    once: dict[Hashable, int] = {}
    for key, position in olds:
        once[key] = -1 if key in once else position
    shared: dict[Hashable, int] = {}
    for key, position in news:
        if key in once:
            shared[key] = -1 if key in shared else position
    paired = False
    mapping, back = pairing.old, pairing.new
    for key, position in once.items() if shared else ():
        other = shared.get(key, -1)
        if other < 0 or position < 0 or mapping[position] >= 0 or back[other] >= 0:
            continue
        if places is None or not are_apart(places[0][position], places[1][other]):
            pairing.add(position, other, matcher)
            paired = True
    return paired


def are_apart(one: int, other: int) -> bool:
    """Whether two places are known and have nothing in common."""
    return bool(one and other and not one & other)


def _anchors(mapping: Sequence[int], which: int) -> list[int]:
    """The colours of matched instructions: their old positions, negative to differ from those of free ones."""
    return [-1 - matched for matched in mapping] if which else list(range(-1, -1 - len(mapping), -1))


def _coloured(
    side: MatchGraph, mapping: Sequence[int], which: int, level: int, below: _Numbers, above: _Numbers
) -> _Colours:
    labels, slots, uses = side.labels[level], side.operand_edges, side.uses
    ordered = [position for position in side.order if mapping[position] < 0]
    down = _anchors(mapping, which)
    up = down.copy()
    key: tuple[Any, ...]
    for position in ordered:  # most have one operand and one user; building a list would cost a call
        around = slots[position]
        if len(around) == 1:
            neighbour, slot, result = around[0]
            key = labels[position], slot, down[neighbour], result
        elif len(around) == 2:
            (one, slot, result), (other, second, another) = around
            below_one, below_other = (slot, down[one], result), (second, down[other], another)
            if slot == second and below_other < below_one:
                below_one, below_other = below_other, below_one
            key = labels[position], below_one, below_other
        elif around:
            key = (labels[position], *[(slot, down[operand], result) for operand, slot, result in around])
        else:
            key = (labels[position],)
        down[position] = below.setdefault(key, len(below))
    root = side.computation.root
    for position in reversed(ordered):
        around = uses[position]
        if len(around) == 1:
            neighbour, slot, result = around[0]
            key = labels[position], position == root, up[neighbour], slot, result
        else:
            users = [(up[user], slot, result) for user, slot, result in around]
            users.sort()
            key = (labels[position], position == root, *users)
        up[position] = above.setdefault(key, len(above))
    return sorted(ordered), down, up


def _by_colour(side: MatchGraph, colours: _Colours, level: int, name: str, places: Sequence[int]) -> _Keyed:
    """Free instructions by what is below and above them, by what is below, also at one place, or by what is above.

    Or by place and origin alone.
    """
    free, down, up = colours
    if name == "both":
        return [((down[p], up[p]), p) for p in free]
    if name == "inside":
        return [((down[p], places[p]), p) for p in free if places[p]]
    if name == "place":
        labels = side.labels[level]
        return [((labels[p], places[p], side.origin(p)), p) for p in free if places[p]]
    if name == "down":
        if level == EXACT:
            return [(down[p], p) for p in free]
        slots = side.operand_edges
        # A leaf has nothing below it: weak labels of leaves are no evidence.
        return [(down[p], p) for p in free if slots[p]]
    uses, root = side.uses, side.computation.root
    return [(up[p], p) for p in free if uses[p] or p == root]


def _is_enclosed(side: MatchGraph, mapping: Sequence[int], position: int) -> bool:
    """True if all neighbours of an instruction are matched."""
    neighbours = [o for o, _, _ in side.operand_edges[position]] + [u for u, _, _ in side.uses[position]]
    return all(mapping[n] >= 0 for n in neighbours)


def _pair_by_name(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, olds: list[int], news: list[int], matcher: str
) -> None:
    """Match those equal beyond the bucket's key first, then those of one place and origin, then the rest, in order."""
    ours, theirs = (
        {position: (side.labels[OWN][position], places[position], side.origin(position)) for position in positions}
        for side, places, positions in zip((old, new), pairing.places(old, new), (olds, news), strict=True)
    )
    for parts in ((0, 1, 2), (0, 1), (0, 2), (0,), (1, 2), (1,), (2,), ()):
        alike: dict[Hashable, list[int]] = {}
        for position, own in theirs.items():
            if pairing.new[position] < 0:
                alike.setdefault(tuple([own[n] for n in parts]), []).append(position)
        for position, own in ours.items():
            if pairing.old[position] < 0 and (free := alike.get(tuple([own[n] for n in parts]))):
                pairing.add(position, free.pop(0), matcher)


def _neighbours(side: MatchGraph, mapping: Sequence[int], which: int) -> _Neighbours:
    root, colours = side.computation.root, _anchors(mapping, which)
    found = []
    for position, matched in enumerate(mapping):
        if matched < 0:
            users = [(colours[u], s, r) for u, s, r in side.uses[position] if mapping[u] >= 0]
            if len(users) > 1:
                users.sort()
            if position == root:
                users.append((0, 0, 0))
            slots = side.operand_edges[position]
            operands = [(s, colours[o], r) for o, s, r in slots if mapping[o] >= 0]
            if len(operands) > 1:
                operands.sort()
            found.append((position, tuple(users), tuple(operands), len(slots)))
    return found


def _by_neighbours(free: _Neighbours, labels: Sequence[int], name: str) -> _Keyed:
    """Free instructions of a label by their matched neighbours, by their users, or by their operands."""
    if name == "around":
        return [
            ((labels[position], users, operands, arity), position)
            for position, users, operands, arity in free
            if users and (operands or arity == 0)
        ]
    if name == "users":
        return [((labels[position], users), position) for position, users, _, _ in free if users]
    return [((labels[position], operands), position) for position, _, operands, _ in free if operands]


# --- Matching without unique evidence: the assignment of least cost among free instructions of a neighbourhood.
#
# The linear sum assignment problem, which the Hungarian method (Kuhn 1955) solves, here by shortest augmenting paths
# (Jonker and Volgenant 1987, as in Crouse 2016). scipy has it, but its import takes 0.4 seconds, as comparing two
# programs of 5,000 instructions does. The work is cubic in the number of free instructions, hence `limits.assignment`.
# Scores see one neighbourhood only, so it runs again with its own matches known.

_ASSIGNMENTS = 4


def assign(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, limits: Limits) -> bool:
    """Match free instructions that share an opcode or a type and a matched neighbour, best pairs first.

    A match costs one edit, two free instructions cost two, so any match that keeps its neighbours is worth it. If too
    many are free, groups of equal instructions with equal neighbours are matched first, and the rest is assigned.

    Args:
        old, new: the two computations.
        pairing: the matches so far; matches are added.
        limits: how many instructions may be free; many more means unrelated programs, where matches mean little.

    Returns:
        False if there were too many free instructions.
    """
    groups = rounds = 0
    near: _Near | None = None
    while rounds < _ASSIGNMENTS:
        olds, news = pairing.free_old(), pairing.free_new()
        if not olds or not news:
            return True
        if len(olds) * len(news) > limits.assignment**2:
            groups += 1
            if groups > _GROUP_ROUNDS or not _pair_groups(old, new, pairing):
                return False
            continue
        near = _assign_once(old, new, pairing, olds, news, near)
        if not near[0] or not near[1]:
            return True
        rounds += 1
    return True


# Rounds of matching groups: each handles the neighbours of the previous round's matches.
_GROUP_ROUNDS = 16


def pair_ends(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> None:
    """Match `-done` instructions whose `-start`s match, if the search has separated them.

    If most users of the `-done` differ, removing and adding it may be the shorter script; but the operation is the same
    one. So it is where one of them has no match and the other only one with an operation of another kind.
    """
    for start, other in enumerate(pairing.old):
        it = old.computation.instructions[start]
        if other < 0 or not it.opcode.endswith("-start"):
            continue
        opcode = it.opcode.removesuffix("-start") + "-done"
        ends = [
            [n for n in side.users[at] if side.computation.instructions[n].opcode == opcode]
            for side, at in ((old, start), (new, other))
        ]
        if [len(found) for found in ends] != [1, 1]:
            continue
        (one,), (end,) = ends
        matched, taken = pairing.old[one], pairing.new[end]
        others = [new.computation.instructions[matched].opcode] if matched >= 0 else []
        others += [old.computation.instructions[taken].opcode] if taken >= 0 else []
        if (matched < 0 or taken < 0) and opcode not in others:
            if matched >= 0:
                pairing.remove(one)
            if taken >= 0:
                pairing.remove(taken)
            pairing.add(one, end, "end")


# How far the matched neighbours of a collective may be: between them are a few copies, bitcasts and fusions.
_MOST_BETWEEN = 50
_BY_SLOT = frozenset(["tuple", "while", "conditional", "call"])


def pair_collectives(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> None:
    """Match collectives of one kind and one group of devices whose neighbours the compiler arranged differently.

    One into which XLA combined one value more has another type, and each of its results has another number, so no
    neighbour has a match. The nearest instructions with one tell which collective is which. A change is one edit where
    a removal and an addition are two.
    """
    olds, news = (
        [(n, found) for n in free if (found := _kind_of_collective(side.computation.instructions[n]))]
        for side, free in ((old, pairing.free_old()), (new, pairing.free_new()))
    )
    if not olds or not news:
        return
    ours = [_nearest(old, pairing.old, 0, n) for n, _ in olds]
    theirs = [_nearest(new, pairing.new, 1, n) for n, _ in news]
    scores = {
        (row, column): shared
        for row, (_, kind) in enumerate(olds)
        for column, (_, other) in enumerate(news)
        if kind == other and (shared := len(ours[row] & theirs[column]))
    }
    for (row, column), score in scores.items():
        rivals = [s for (r, c), s in scores.items() if (r == row) != (c == column)]
        if score > max(rivals, default=0):
            pairing.add(olds[row][0], news[column][0], "collective")


def _kind_of_collective(it: Instruction) -> tuple[str, ...] | None:
    if family(it.opcode) is None:
        return None
    return it.opcode, it.attribute("replica_groups") or "", it.attribute("source_target_pairs") or ""


def _nearest(side: MatchGraph, mapping: Sequence[int], which: int, position: int) -> set[tuple[int, int, int]]:
    """The nearest matched users and operands, through instructions without a match; new positions on both sides."""
    found: set[tuple[int, int, int]] = set()
    for direction in (0, 1):
        worklist = [position]
        for at in worklist:  # nearest first; the list grows
            edges = side.uses[at] if direction == 0 else side.operand_edges[at]
            for other, slot, _ in edges:
                if mapping[other] >= 0:
                    is_by_slot = direction == 0 and side.computation.instructions[other].opcode in _BY_SLOT
                    found.add((direction, other if which else mapping[other], slot if is_by_slot else 0))
                elif other not in worklist and len(worklist) < _MOST_BETWEEN:
                    worklist.append(other)
    return found


def _pair_groups(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> bool:
    """Match groups of equal instructions with the same neighbours and place, by origin; False if there are none.

    Members of a group are interchangeable, so this needs no assignment.
    """
    for level in (OWN, VALUE, STRUCTURE, TYPE):
        places = pairing.places(old, new)
        groups = _groups(new, pairing, 1, level, places[1])
        found = False
        for key, olds in _groups(old, pairing, 0, level, places[0]).items():
            news = groups.get(key, ())
            if news and _are_equal(old, olds) and _are_equal(new, news):
                found = True
                _pair_by_name(old, new, pairing, olds, news, f"{LEVELS[level]}:group")
        if found:
            return True
    return False


def _groups(
    side: MatchGraph, pairing: InstructionMap, which: int, level: int, places: Sequence[int]
) -> dict[Hashable, list[int]]:
    """Free instructions next to matched ones, without parameters, by label, place and neighbours, ascending."""
    mapping = (pairing.old, pairing.new)[which]
    colours = _anchors(mapping, which)
    groups: dict[Hashable, list[int]] = {}
    for position, matched in enumerate(mapping):
        if matched >= 0 or is_parameter_of(side, position):
            continue
        uses, slots = side.uses[position], side.operand_edges[position]
        if not any(mapping[n] >= 0 for n, _, _ in (*uses, *slots)):
            continue
        around = [
            tuple(sorted((colours[n] if mapping[n] >= 0 else 0, slot, r) for n, slot, r in found))
            for found in (slots, uses)
        ]
        key = side.labels[level][position], position == side.computation.root, places[position], *around
        groups.setdefault(key, []).append(position)
    return groups


def _are_equal(side: MatchGraph, positions: Sequence[int]) -> bool:
    labels = side.labels[OWN]
    return all(labels[position] == labels[positions[0]] for position in positions)


_Near = tuple[set[int], set[int]]
"""Neighbours, old and new, of the instructions that an assignment matched."""


def _assign_once(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, olds: list[int], news: list[int], near: _Near | None
) -> _Near:
    """Match the best pairs; return their neighbours. After the first time only `near` instructions can score."""
    ours = {row: Neighbourhood.of(old, pairing, 0, n) for row, n in enumerate(olds) if near is None or n in near[0]}
    theirs = {
        column: Neighbourhood.of(new, pairing, 1, n) for column, n in enumerate(news) if near is None or n in near[1]
    }
    alike: dict[int, list[int]] = {}  # columns by label: most pairs share neither an opcode nor a type
    for column in theirs:
        for level in (STRUCTURE, TYPE):
            alike.setdefault(new.labels[level][news[column]], []).append(column)
    scores: dict[tuple[int, int], float] = {}
    places = pairing.places(old, new)
    for row, one in ours.items():
        place = row / len(olds)
        labels = old.labels[STRUCTURE][olds[row]], old.labels[TYPE][olds[row]]
        for column in sorted({n for label in labels for n in alike.get(label, ())}):
            if score := _score(old, new, olds[row], news[column], one, theirs[column]):
                # Of equal scores prefer one place and origin, then equal rank, the same from either side; squares, as
                # pairs that do not cross have the smaller sum of squares of the distances.
                score += 0.25 * (old.origin(olds[row]) == new.origin(news[column]))
                score -= 0.5 * are_apart(places[0][olds[row]], places[1][news[column]])
                scores[row, column] = score - 0.01 * (place - column / len(news)) ** 2
    beside: _Near = (set(), set())
    for row, column in assignment(scores):
        pairing.add(olds[row], news[column], "leftover:assignment")
        for side, position, found in ((old, olds[row], beside[0]), (new, news[column], beside[1])):
            found.update(side.users[position], [n for n, _ in side.operands[position]])
    return beside


def assignment(scores: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The pairs of rows and columns of the highest total score, each row and column at most once, by row.

    Rows and columns that no pair connects are assigned apart: most of these parts are one pair or have one row, and the
    work is cubic in their size.

    Args:
        scores: of each possible pair, positive.

    Example:
        >>> assignment({(0, 0): 5.0, (0, 1): 4.0, (1, 0): 3.0, (2, 2): 1.0})
        [(0, 1), (1, 0), (2, 2)]
    """
    around: dict[int, list[int]] = {}  # columns have negative numbers
    for row, column in scores:
        around.setdefault(row, []).append(~column)
        around.setdefault(~column, []).append(row)
    found: list[tuple[int, int]] = []
    while around:
        part = preorder([next(iter(around))], around.__getitem__)
        for n in part:
            del around[n]
        rows, columns = sorted([n for n in part if n >= 0]), sorted([~n for n in part if n < 0])
        if len(rows) <= len(columns):
            costs = [[-scores.get((row, column), 0.0) for column in columns] for row in rows]
            pairs = [(rows[n], columns[other]) for n, other in enumerate(_columns_of_least_cost(costs))]
        else:
            costs = [[-scores.get((row, column), 0.0) for row in rows] for column in columns]
            pairs = [(rows[other], columns[n]) for n, other in enumerate(_columns_of_least_cost(costs))]
        found += [pair for pair in pairs if pair in scores]
    return sorted(found)


def _columns_of_least_cost(costs: Sequence[Sequence[float]]) -> list[int]:
    """For each row its column, so that the sum of the costs is least; at least as many columns as rows."""
    width = range(len(costs[0]))
    owners, columns = [-1] * len(width), [-1] * len(costs)
    row_potentials, column_potentials = [0.0] * len(costs), [0.0] * len(width)
    for start in range(len(costs)):
        # The shortest path from this row to a free column, as Dijkstra searches for it, through rows with a column.
        row, length, left = start, 0.0, list(width)
        lengths, before, reached = [inf] * len(width), [-1] * len(width), list[int]()
        while True:
            line, base = costs[row], length - row_potentials[row]
            for column in left:
                found = base + line[column] - column_potentials[column]
                if found < lengths[column]:
                    lengths[column], before[column] = found, row
            nearest = min(left, key=lengths.__getitem__)
            length = lengths[nearest]
            if owners[nearest] < 0:
                break
            left.remove(nearest)
            reached.append(nearest)
            row = owners[nearest]
        row_potentials[start] += length
        for column in reached:
            row_potentials[owners[column]] += length - lengths[column]
            column_potentials[column] -= length - lengths[column]
        while nearest >= 0:  # every row on the path takes the next column
            row = before[nearest]
            owners[nearest], columns[row], nearest = row, nearest, columns[row]
    return columns


def _score(old: MatchGraph, new: MatchGraph, one: int, other: int, ours: Neighbourhood, theirs: Neighbourhood) -> float:
    """Similarity of two instructions of one type or opcode; 0 if they cannot match."""
    if old.labels[ANY][one] != new.labels[ANY][other] or is_parameter_of(old, one) != is_parameter_of(new, other):
        return 0.0
    neighbours, free = ours.in_common(theirs)
    if neighbours == 0 and not (free and old.labels[VALUE][one] == new.labels[VALUE][other]):
        return 0.0
    return labels_in_common(old, new, one, other) + 2.0 * neighbours + 0.5 * free


def labels_in_common(old: MatchGraph, new: MatchGraph, one: int, other: int) -> int:
    """How similar the labels of two instructions are."""
    ours, theirs = old.labels, new.labels
    found = 1 if ours[TYPE][one] == theirs[TYPE][other] else 0
    if ours[STRUCTURE][one] == theirs[STRUCTURE][other]:
        found += 3
        if ours[OWN][one] == theirs[OWN][other]:
            found += 4
    return found + 3 if ours[VALUE][one] == theirs[VALUE][other] else found


Marks = set[tuple[int, ...]]
"""Neighbours by colour or label and slot, see `marks_of`."""


class Neighbourhood(NamedTuple):
    """An instruction with its neighbours: users, then operands.

    Args:
        degrees: the number of users and of operands.
        paired: matched neighbours, by new position and slot.
        free: unmatched neighbours, by structure label and slot.
    """

    degrees: tuple[int, int]
    paired: tuple[Marks, Marks]
    free: tuple[Marks, Marks]

    @staticmethod
    def of(
        side: MatchGraph, pairing: InstructionMap, which: int, position: int, most: int | None = None
    ) -> Neighbourhood:
        """Of an instruction of one side (0 old, 1 new); with `most`, the first of its neighbours only.

        A search, which gives `most`, may change each match: it takes all neighbours of a new instruction as matched.
        """
        mapping, labels = (pairing.old, pairing.new)[which], side.labels[STRUCTURE]
        uses, slots, unordered = side.uses[position], side.operand_edges[position], side.unordered
        marks: list[Marks] = []
        for around, is_used in ((uses[:most], True), (slots[:most], False)):
            paired: list[tuple[int, int]] = []
            free: list[tuple[int, int]] = []
            for n, slot, _ in around:
                if unordered[n if is_used else position]:
                    slot = 0
                matched = mapping[n]
                if matched < 0:
                    free.append((labels[n], slot))
                if matched >= 0 or (which and most):
                    paired.append((n if which else matched, slot))
            marks += marks_of(paired), marks_of(free)
        return Neighbourhood((len(uses), len(slots)), (marks[0], marks[2]), (marks[1], marks[3]))

    def in_common(self, other: Neighbourhood) -> tuple[float, int]:
        """How much two have in common in the same slots: matched neighbours, as a share of the larger neighbourhood.

        And the number of free ones of equal structure, because two chains of free instructions match along each other.
        """
        degrees, paired, apart = self
        other_degrees, other_paired, other_apart = other
        neighbours, free = 0.0, 0
        for n in (0, 1):
            if paired[n] and other_paired[n] and (both := paired[n] & other_paired[n]):
                neighbours += len(both) / max(degrees[n], other_degrees[n])
            if apart[n] and other_apart[n]:
                free += len(apart[n] & other_apart[n])
        return neighbours, free


def marks_of(neighbours: Sequence[tuple[int, int]]) -> Marks:
    """Neighbours as a set in which repeated ones are numbered.

    The intersection of two such sets is the multiset intersection of the two lists.

    Example:
        >>> marks_of([(3, 0), (3, 0)]) & marks_of([(3, 0), (3, 0), (3, 0), (4, 1)]) == {(3, 0), (3, 0, 1)}
        True
    """
    found: Marks = set(neighbours)
    if len(found) < len(neighbours):
        counts = Counter(neighbours)
        found.update([(*mark, n) for mark, times in counts.items() for n in range(1, times)])
    return found
