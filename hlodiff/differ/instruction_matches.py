"""Matches instructions of two computations: colour refinement (Weisfeiler and Leman 1968) from strong to weak labels
as in GumTree (Falleri et al. 2014), then a linear sum assignment of what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from hlodiff.differ.limits import Limits
from hlodiff.hlo.fingerprint import is_commutative, operands_first, shape_text
from hlodiff.hlo.model import Computation, Instruction

if TYPE_CHECKING:
    import networkx as nx

# --- What an instruction without a partner is computed from: the paired instructions that it leads to through free
# ones.
#
# A search asks this of thousands of pairings that differ in a few pairs, so each answer is kept until a pair near it
# comes or goes. The work is counted: a search that walks far ends at its limit like any other. It is the reachability
# that networkx calls `descendants`, through free instructions alone; which are free changes with every step of the
# search, so it runs on the frozen tuples and keeps a bit set for each instruction.

# Answers have one bit for each instruction: beyond so many of these they are not kept, or they would take gigabytes.
_KEPT = 10_000


class Reach:
    """One side of a pairing.

    Args:
        operands: for each instruction its (operand, result) pairs.
        users: for each instruction its users.
        partners: for each instruction its partner, negative where it is free; changed from outside.

    `steps` counts the operands looked at and the answers that were dropped.
    """

    __slots__ = ("_found", "_operands", "_partners", "_users", "steps")

    def __init__(
        self,
        operands: Sequence[Sequence[tuple[int, int]]],
        users: Sequence[Sequence[int]],
        partners: Sequence[int],
    ) -> None:
        self._operands, self._users, self._partners = operands, users, partners
        self._found: dict[int, int] = {}
        self.steps = 0

    def below(self, start: int) -> int:
        """The paired instructions that are reached from a free one through free ones, one bit each."""
        found = self._found.get(start)
        if found is not None:
            return found
        return self._work_out(start) if len(self._partners) <= _KEPT else self._walk(start)

    def changed(self, position: int) -> None:
        """An instruction was paired or freed: forget what was found through it."""
        if not self._found:
            return
        self._found.pop(position, None)
        waiting = [position]
        for one in waiting:
            for user in self._users[one]:
                # What is known of a user was found through this one: above what is not known nothing is.
                if self._found.pop(user, None) is not None:
                    waiting.append(user)
        self.steps += len(waiting)

    def _work_out(self, start: int) -> int:
        """The answer for one and for all free ones on the way, operands first."""
        found, partners = self._found, self._partners
        waiting = [start]
        opened: set[int] = set()
        while waiting:
            position = waiting[-1]
            if position in found:
                waiting.pop()
                continue
            below = self._operands[position]
            further = [n for n, _ in below if partners[n] < 0 and n not in found and n not in opened]
            self.steps += 1 + len(below)
            opened.add(position)
            if further:
                waiting += further
                continue
            bits = 0
            for operand, _ in below:
                bits |= 1 << operand if partners[operand] >= 0 else found.get(operand, 0)
            found[position] = bits
            waiting.pop()
        return found[start]

    def _walk(self, start: int) -> int:
        partners, reached = self._partners, set[int]()
        waiting, seen = [start], {start}
        for position in waiting:
            below = self._operands[position]
            self.steps += 1 + len(below)
            for operand, _ in below:
                if partners[operand] >= 0:
                    reached.add(operand)
                elif operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
        return _bits(reached)


def _bits(positions: Iterable[int]) -> int:
    """A number with these bits set."""
    positions = list(positions)
    found = bytearray(max(positions, default=0) // 8 + 1)
    for position in positions:
        found[position // 8] |= 1 << position % 8
    return int.from_bytes(found, "little")


# --- The dataflow graph of one computation, frozen into tuples, with labels from strong to weak for every node.

# Labels from strong to weak. An instruction pairs at the strongest level at which its neighbourhood agrees.
EXACT, SIGNED, OWN, VALUE, STRUCTURE, TYPE, ANY = range(7)
LEVELS = ("exact", "signed", "own", "value", "structure", "type", "any")

CALLS = frozenset(["fusion", "while", "conditional", "call", "async-start", "func.call"])

Intern = dict[Any, int]
_Users = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""Of one node of a dataflow graph: each user, and the edges to it by key."""


@dataclass(frozen=True, slots=True)
class MatchGraph:
    """One computation prepared for matching; sequences are indexed like its instructions.

    Args:
        computation: the computation.
        labels: for each level one number per instruction; equal numbers mean equal labels, on both sides.
        uses: for each instruction its (user, operand slot, result) triples; slot 0 for commutative users.
        users: for each instruction its users, each once.
        slots: for each instruction its (operand, slot, result) triples.
        operands: for each instruction its (operand, result) pairs.
        order: positions, operands before users.
        is_entry: its parameters are the program's; those of other computations are names for operands of the caller.
        names: which instructions are such names.
    """

    computation: Computation
    labels: tuple[tuple[int, ...], ...]
    uses: tuple[tuple[tuple[int, int, int], ...], ...]
    users: tuple[tuple[int, ...], ...]
    slots: tuple[tuple[tuple[int, int, int], ...], ...]
    operands: tuple[tuple[tuple[int, int], ...], ...]
    order: tuple[int, ...]
    is_entry: bool
    names: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Number of instructions."""
        return len(self.computation.instructions)

    @staticmethod
    def from_networkx(graph: nx.MultiDiGraph[int], hashes: Sequence[str], intern: Intern, *, entry: bool) -> MatchGraph:
        """Freeze one computation into tuples, which the inner loops of the matchers walk seven times as fast.

        Args:
            graph: the dataflow of a computation without noise and tuning, as `hlodiff.graph.dataflow` makes it.
            hashes: content hash of every computation of its module.
            intern: shared by both sides, so that equal labels become equal numbers.
            entry: True for the entry, whose arguments may become constants; other parameters come and go with their
                call.
        """
        computation: Computation = graph.graph["computation"]
        instructions = computation.instructions
        kinds = [shape_text(it.shape, False) for it in instructions]
        rows = [_labels(it, hashes, intern, entry, tuple([kinds[o] for o in it.operands])) for it in instructions]
        ordered = [not is_commutative(it) for it in instructions]
        uses: list[tuple[tuple[int, int, int], ...]] = []
        slots: list[list[tuple[int, int, int]]] = [[(-1, -1, -1)] * len(it.operands) for it in instructions]
        for operand in graph:
            triples = []
            for user, edges in cast("_Users", graph.adj[operand]).items():
                for number, edge in edges.items():
                    if number >= 0:  # else a control edge, which hands on no value
                        slot, result = number if ordered[user] else 0, edge["result"]
                        triples.append((user, slot, result))
                        slots[user][number] = (operand, slot, result)
            uses.append(tuple(triples))
        return MatchGraph(
            computation,
            tuple(zip(*rows, strict=True)),
            tuple(uses),
            tuple(tuple(dict.fromkeys([user for user, _, _ in triples])) for triples in uses),
            tuple(map(tuple, slots)),
            tuple(tuple([(operand, result) for operand, _, result in triples]) for triples in slots),
            tuple(operands_first(computation)),
            entry,
            tuple(not entry and it.opcode == "parameter" for it in instructions),
        )


def _labels(
    it: Instruction, hashes: Sequence[str], intern: Intern, entry: bool, operand_kinds: tuple[str, ...]
) -> tuple[int, ...]:
    """A parameter's number is no part of any label: parameters pair by their callers, uses and names."""
    literal = None if it.opcode == "parameter" else it.literal
    kind = shape_text(it.shape, False)
    attributes = tuple(sorted(it.attributes))
    called = tuple((name, *(hashes[callee] for callee in group)) for name, group in it.calls)
    # A call and an operation that stands alone are never each other: what is inside would be lost from sight.
    call = it.opcode if it.calls and it.opcode in CALLS else ""
    if it.opcode == "parameter" or (it.opcode == "constant" and entry):
        call = "argument" if entry else "parameter"
    own = (it.opcode, shape_text(it.shape), literal, attributes)
    rows: tuple[Any, ...] = (
        (EXACT, *own, called),
        (SIGNED, *own, operand_kinds),
        (OWN, *own),
        (VALUE, it.opcode, kind, literal, len(it.operands)),
        (STRUCTURE, it.opcode),
        (TYPE, kind, call),
        (ANY, call),
    )
    return tuple(intern.setdefault(row, len(intern)) for row in rows)


@dataclass(slots=True)
class InstructionMap:
    """Which old instruction is which new one, and which matcher said so. Grows while matchers run.

    `steps` counts operands that were compared one by one; see `walked`.
    """

    old: list[int]
    new: list[int]
    matchers: dict[int, str]
    steps: int = 0
    _reaches: list[Reach | None] = field(default_factory=lambda: [None, None])

    @staticmethod
    def empty(old_size: int, new_size: int) -> InstructionMap:
        """Nothing paired yet; -1 stands for no partner."""
        return InstructionMap([-1] * old_size, [-1] * new_size, {})

    def add(self, old: int, new: int, matcher: str) -> None:
        """Pair two instructions that are both still free."""
        self.old[old] = new
        self.new[new] = old
        self.matchers[old] = matcher
        self._changed(old, new)

    def remove(self, old: int) -> None:
        """Undo a pair."""
        new = self.old[old]
        self.new[new] = -1
        self.old[old] = -1
        del self.matchers[old]
        self._changed(old, new)

    def _changed(self, old: int, new: int) -> None:
        first, second = self._reaches
        if first is not None:
            first.changed(old)
        if second is not None:
            second.changed(new)

    def reach(self, sides: tuple[MatchGraph, MatchGraph], which: int) -> Reach:
        """What free instructions of one side (0 old, 1 new) are computed from; the sides are always the same two."""
        found = self._reaches[which]
        if found is None:
            partners = (self.old, self.new)[which]
            found = self._reaches[which] = Reach(sides[which].operands, sides[which].users, partners)
        return found

    @property
    def walked(self) -> int:
        """All operands that were looked at to compare those of pairs: the effort beside costs."""
        return self.steps + sum(reach.steps for reach in self._reaches if reach is not None)

    def free_old(self) -> list[int]:
        """Old instructions without a partner, ascending."""
        return [n for n, partner in enumerate(self.old) if partner < 0]

    def free_new(self) -> list[int]:
        """New instructions without a partner, ascending."""
        return [n for n, partner in enumerate(self.new) if partner < 0]


def op_name_of(side: MatchGraph, position: int) -> str:
    """JAX's scope of an instruction: evidence among instructions that are otherwise equal."""
    return side.computation.instructions[position].op_name


# --- Which instruction of the old computation is which of the new one.
#
# Colour refinement with anchors: a paired instruction has its pair as colour, every other one the hash of its label and
# the colours below (`down`) or above (`up`) it. Free instructions whose colours occur once on each side pair; every
# pair is an anchor for the next pass. An edit changes `down` only below its users and `up` only above its operands, so
# one edit leaves one of the two unchanged for everything else. Labels get weaker only when nothing stronger pairs any
# more.
#
# Refining colours by neighbours is Weisfeiler and Leman 1968, and going from strong to weak evidence is GumTree
# (Falleri et al. 2014, top-down and bottom-up phases), on graphs with sharing instead of trees. networkx's
# Weisfeiler-Lehman hash is not used: it gives a graph and its reverse one hash, and loses the order of operands. Nor
# are the graphs walked themselves: on networkx one pass takes seven to nine times as long as on frozen tuples.

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


# --- Pairs what no unique evidence paired: the assignment of least cost among free instructions of one neighbourhood.
#
# The linear sum assignment problem, which the Hungarian method (Kuhn 1955) solves; scipy has a modified
# Jonker-Volgenant algorithm (Crouse 2016) with the same result. The work grows with the cube of what is left over,
# hence `limits.assignment`. Scores know one neighbourhood only, so it runs again on what its own pairs made known.

_ASSIGNMENTS = 4


def assign(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, limits: Limits) -> bool:
    """Pair free instructions that share an opcode or a type and a paired neighbour, best pairs first.

    A pair costs one edit, two free instructions cost two, so any pair that keeps its neighbours is worth it. Where too
    many are left over, groups of equals that stand alike pair as groups, and what is still left over is assigned.

    Args:
        old, new: the two computations.
        pairing: what is paired so far; pairs are added.
        limits: how many instructions may be left over; many more are unrelated programs, where pairs mean little.

    Returns:
        False where there were too many free instructions to look at.
    """
    groups = rounds = 0
    while rounds < _ASSIGNMENTS:
        olds, news = pairing.free_old(), pairing.free_new()
        if not olds or not news:
            return True
        if max(len(olds), len(news)) > limits.assignment:
            groups += 1
            if groups > _GROUP_ROUNDS or not _pair_groups(old, new, pairing):
                return False
            continue
        if not _assign_once(old, new, pairing, olds, news):
            return True
        rounds += 1
    return True


# Rounds in which groups pair: in each, those beside what the one before paired.
_GROUP_ROUNDS = 16


def _pair_groups(old: MatchGraph, new: MatchGraph, pairing: InstructionMap) -> bool:
    """Pair groups of equals that have the same neighbours, in order; False where there are none.

    Which member of a group is which makes no difference, so this takes no assignment.
    """
    for level in (OWN, VALUE, STRUCTURE, TYPE):
        groups = _groups(new, pairing, 1, level)
        found = False
        for key, olds in _groups(old, pairing, 0, level).items():
            news = groups.get(key, ())
            if news and _are_equal(old, olds) and _are_equal(new, news):
                found = True
                for one, other in zip(olds, news, strict=False):
                    pairing.add(one, other, f"{LEVELS[level]}:group")
        if found:
            return True
    return False


def _groups(side: MatchGraph, pairing: InstructionMap, which: int, level: int) -> dict[Hashable, list[int]]:
    """Free instructions beside something paired, parameters apart, by label and neighbours, ascending."""
    partners = (pairing.old, pairing.new)[which]
    groups: dict[Hashable, list[int]] = {}
    for position, partner in enumerate(partners):
        if partner >= 0 or _is_parameter_pair(side, position):
            continue
        uses, slots = side.uses[position], side.slots[position]
        if not any(partners[n] >= 0 for n, _, _ in (*uses, *slots)):
            continue
        around = [
            tuple(sorted((_colour(partners[n], n, which) if partners[n] >= 0 else 0, slot, r) for n, slot, r in found))
            for found in (slots, uses)
        ]
        key = side.labels[level][position], position == side.computation.root, *around
        groups.setdefault(key, []).append(position)
    return groups


def _are_equal(side: MatchGraph, positions: Sequence[int]) -> bool:
    labels = side.labels[OWN]
    return all(labels[position] == labels[positions[0]] for position in positions)


def _assign_once(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, olds: list[int], news: list[int]) -> bool:
    scores = [[_score(old, new, pairing, one, other) for other in news] for one in olds]
    for row, line in enumerate(scores):  # equal scores: those that stand alike, the same from either side
        apart = [abs(row / len(olds) - column / len(news)) for column in range(len(news))]
        scores[row] = [score and score - 0.01 * distance for score, distance in zip(line, apart, strict=True)]
    if not any(map(any, scores)):
        return False
    found = False
    for row, column in _obvious(scores) or _best(scores):
        if scores[row][column] > 0:
            pairing.add(olds[row], news[column], "leftover:assignment")
            found = True
    return found


def _obvious(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The assignment where no two rows want one column and none has a choice; importing scipy takes 0.3 seconds."""
    wanted = [(row, column) for row, line in enumerate(scores) for column, score in enumerate(line) if score > 0]
    alone = len({row for row, _ in wanted}) == len({column for _, column in wanted}) == len(wanted)
    return wanted if alone else []


def _best(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.asarray(scores), maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _score(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> float:
    """How much two instructions have in common; 0 where they may not pair."""
    if old.labels[ANY][one] != new.labels[ANY][other]:
        return 0.0
    same = [old.labels[level][one] == new.labels[level][other] for level in (OWN, VALUE, STRUCTURE, TYPE)]
    if not (same[2] or same[3]) or _is_parameter_pair(old, one) != _is_parameter_pair(new, other):
        return 0.0
    neighbours = _shared_labels(old.uses[one], new.uses[other], pairing) + _shared_labels(
        old.slots[one], new.slots[other], pairing
    )
    free = _free_on_both(old, new, pairing, one, other)
    if neighbours == 0 and not (same[1] and free):
        return 0.0
    return 4.0 * same[0] + 3.0 * same[1] + 3.0 * same[2] + 1.0 * same[3] + 2.0 * neighbours + 0.5 * free


def _is_parameter_pair(side: MatchGraph, position: int) -> bool:
    return side.computation.instructions[position].opcode == "parameter"


def _shared_labels(
    olds: Sequence[tuple[int, int, int]], news: Sequence[tuple[int, int, int]], pairing: InstructionMap
) -> float:
    """Paired neighbours in the same slot, as a share of the larger neighbourhood."""
    ours = Counter((pairing.old[o], slot) for o, slot, _ in olds if pairing.old[o] >= 0)
    theirs = Counter((n, slot) for n, slot, _ in news)
    return (ours & theirs).total() / max(len(olds), len(news), 1)


def _free_on_both(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> int:
    """Free neighbours of equal structure in the same slot: two chains of free instructions pair along each other."""
    count = 0
    for olds, news in ((old.slots[one], new.slots[other]), (old.uses[one], new.uses[other])):
        ours = Counter((old.labels[STRUCTURE][o], slot) for o, slot, _ in olds if pairing.old[o] < 0)
        theirs = Counter((new.labels[STRUCTURE][n], slot) for n, slot, _ in news if pairing.new[n] < 0)
        count += (ours & theirs).total()
    return count
