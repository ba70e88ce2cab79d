"""Local search for a cheaper matching: ejection chains (Glover 1996) on a cost model that counts the edits it needs.

Why: the shortest edit script between graphs with sharing is NP-hard, and an early match may block a better one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, starmap
from operator import itemgetter, sub
from typing import NamedTuple

from hlodiff.differ.elements import RETURNS, element_of, keeps_elements, renumbered, with_elements
from hlodiff.differ.fields import field_changes
from hlodiff.differ.instruction_matches import (
    ANY,
    CALLS,
    EXACT,
    OWN,
    STRUCTURE,
    TYPE,
    VALUE,
    Elements,
    InstructionMap,
    MatchGraph,
    Neighbourhood,
    are_apart,
    assignment,
    is_parameter_of,
    labels_in_common,
)
from hlodiff.differ.limits import Limits
from hlodiff.differ.operands import OrderFree, operands_changed, same_operands_in_any_order, same_value
from hlodiff.differ.parameters import Expectation
from hlodiff.hlo.collectives import family
from hlodiff.hlo.model import Computation, Instruction

# --- Cost of a matching, in edits, updated while a search changes it; every change can be rolled back.

# One edit outweighs any number of fields: of two scripts of one length the one that changes fewer fields is better.
EDIT = 1000
_FIELD = 10
# Of two scripts of one length that change as many fields, the one that keeps more opcodes is better.
_OPCODE = 5
# Of two scripts that are equal in that too, the one that keeps instructions at their places is better.
_PLACE = 1
# A body keeps its identity wherever it is called: two swapped calls are not two edited bodies, even if that is one edit
# less.
_BODY = 600
# Pair costs computed to decide whether a search can save anything; such a search costs as much or more.
_BOUNDED = 2_000
# Operands visited in the time of one cost.
_STEPS = 100
# How far a value is followed through unmatched instructions to find whose cost may change.
_FAR = 256


@dataclass(slots=True)
class Bodies:
    """Instruction kinds of each computation of a module, without parameters, with counts.

    A kind is in the set once per instruction, numbered, so that set intersection is multiset intersection. Computed on
    first access: computations of equal content are never opened, and most are equal.

    Args:
        computation: the computation at an index.
        hashes: of the content of each.
    """

    computation: Callable[[int], Computation]
    hashes: Sequence[str]
    _counted: dict[int, frozenset[tuple[str, int]]] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)

    def __getitem__(self, computation: int) -> frozenset[tuple[str, int]]:
        found = self._counted.get(computation)
        if found is None:
            kinds: dict[str, int] = {}
            numbered: list[tuple[str, int]] = []
            for it in self.computation(computation).instructions:
                if it.opcode != "parameter":  # a kind is text because its hash is cached
                    literal = it.literal if it.opcode == "constant" and not it.shape.dimensions else None
                    kind = f"{it.opcode} {it.shape.text} {literal!r}"
                    if it.attributes:
                        kind += f" {sorted([pair for pair in it.attributes if pair[0] not in _SPELLED])}"
                    kinds[kind] = number = kinds.get(kind, 0) + 1
                    numbered.append((kind, number))
            found = self._counted[computation] = frozenset(numbered)
        return found

    def size(self, computation: int) -> int:
        """The number of instructions of a computation, without parameters."""
        found = self._sizes.get(computation)
        if found is None:
            opcodes = [it.opcode for it in self.computation(computation).instructions]
            found = self._sizes[computation] = len(opcodes) - opcodes.count("parameter")
        return found


# Attributes with many spellings; kinds are also taken of programs as read.
_SPELLED = frozenset(["backend_config", "frontend_attributes", "sharding", "replica_groups", "channel_id"])

Move = tuple[int, int]
"""An old instruction and its new match; -1 for none."""
REPAIR = "repair"
"""The matcher of what a search matches."""
_NOTHING = (0, 0)
PairCosts = dict[tuple[int, int], tuple[int, int]]
"""The cost of a match of two instructions: inside their callees, and their own."""


_Slack = tuple[list[int], list[int]]
"""For each instruction of either side, the most that moving it may save."""


class ChainStep(NamedTuple):
    """One costed step of a chain: it can be repeated from the same matching without computing costs.

    Args:
        move: an old instruction and its new match.
        left: the displaced instructions still unmatched.
        links: old instructions in order, with the match that each got, -1 if it lost its own.
        costs: changed costs: side, position and cost.
        total: of the whole.
    """

    move: Move
    left: list[Move]
    links: list[Move]
    costs: list[tuple[int, int, int]]
    total: int


class CostModel:
    """A matching and the cost of each of its instructions.

    Args:
        old, new: the two computations.
        pairing: changed in place, through `link` and `unlink`.
        bodies: of both modules, for the cost of matching two calls.
        expected: what the callers imply about the parameters.
        elements: of tuples, loops and calls, by old position, the matches of elements whose numbers changed.
        operand_symmetric: for a fusion equal on both sides, whether the order of its operands matters.
        known: costs of matches apart from operands, by labels; shared by all computations of two programs.

    `total` is the cost of the whole (a root that is another instruction now included); `scored` counts the pairs whose
    similarity was computed, which takes as long as a cost.
    """

    def __init__(
        self,
        old: MatchGraph,
        new: MatchGraph,
        pairing: InstructionMap,
        bodies: tuple[Bodies, Bodies],
        expected: Expectation,
        elements: Mapping[int, Elements],
        operand_symmetric: Callable[[Instruction, Instruction], OrderFree | None],
        known: PairCosts,
    ) -> None:
        self.old, self.new, self.pairing, self.bodies, self._expected = old, new, pairing, bodies, expected
        self._parameters = old.parameters
        self._is_parameter = [it.opcode == "parameter" and not it.operands for it in old.computation.instructions]
        both = old.computation.instructions, new.computation.instructions
        self._is_call = [it.opcode in CALLS for it in both[0]]
        self._exact_old, self._exact_new = old.labels[EXACT], new.labels[EXACT]
        self._taken = tuple([[operand for operand, _ in row] for row in side.operands] for side in (old, new))
        self._is_plain = not any(result for side in (old, new) for row in side.operands for _, result in row)
        self._elements, self._operand_symmetric = elements, operand_symmetric
        # What is made of these elements, with the match that has them.
        self._made = {n: pairing.old[n] for n in elements if both[0][n].opcode in RETURNS}
        self._priced = self._walked = self._looked = self.scored = 0
        self._size = old.size
        self._own = old.labels[OWN], new.labels[OWN]
        self._places = pairing.places(old, new)
        self._opcodes = old.labels[STRUCTURE], new.labels[STRUCTURE]
        # Negative if a callee may have to be read to know it.
        self._costs_alone = tuple([[-1 if it.opcode in CALLS else EDIT for it in its] for its in both])
        self._by_label = known
        self._watched: dict[tuple[int, int, int], int] = {}
        self._of_elements: PairCosts = {}
        self._dirty: tuple[set[int], set[int]] = (set(), set())
        self._links: list[tuple[int, int, str]] = []
        self._known: list[tuple[int, int, int]] = []
        # Results of `_slack`, negative if unknown: before any move, and while several moves are compared.
        self._settled = self._passing = self._unknown()
        self.costs = self._first_costs()
        self.total = sum(map(sum, self.costs))

    def _first_costs(self) -> tuple[list[int], list[int]]:
        """The costs of both sides; most instructions have an equal match with the matches of their operands: none."""
        mapping, (ours, theirs) = self.pairing.old, self._taken
        costs = [0] * (self._size + 2)
        changed: Iterable[int] = range(self._size)
        if self._is_plain and not self._elements:
            changed = [
                n
                for n, (matched, label) in enumerate(zip(mapping, self._exact_old, strict=True))
                if matched < 0
                or label != self._exact_new[matched]
                or [mapping[operand] for operand in ours[n]] != theirs[matched]
                or self._is_parameter[n]
            ]
        for n in (*changed, self._size, self._size + 1):
            costs[n] = self.cost(n)
        return costs, [0 if matched >= 0 else self._cost_alone(1, n) for n, matched in enumerate(self.pairing.new)]

    @property
    def outside(self) -> tuple[object, ...]:
        """What callers contribute to costs, except which parameters fit; usable as a key."""
        found = [*self._elements.items(), *self.pairing.results.items()]
        return self._expected.edits, [(place, sorted(which.items())) for place, which in found]

    @property
    def work(self) -> int:
        """The measure of one round: costs computed, and the operands visited for them."""
        return self._priced + (self._walked + self.pairing.walked) // _STEPS

    @property
    def effort(self) -> int:
        """The measure for two programs: work, scored pairs, and the work of bounds."""
        return self.work + self.scored + self._looked // _STEPS

    def move(self, one: int, other: int) -> Move:
        """Give an old instruction another match (-1: none); returns the two previous matches, -1 for none."""
        a, b = (self.pairing.new[other] if other >= 0 else -1), self.pairing.old[one]
        for freed in (one, a):
            if freed >= 0 and (matched := self.pairing.old[freed]) >= 0:
                self._links.append((freed, matched, self.pairing.matchers[freed]))
                self.pairing.remove(freed)
        self._touch((one, a), (other, b))  # before anything is matched: beyond that nothing depends on these
        if other >= 0:
            self.pairing.add(one, other, REPAIR)
            self._links.append((one, -1, ""))
        return a, b

    def checkpoint(self) -> tuple[int, int, int]:
        """A checkpoint for `rollback`; costs are updated first."""
        self.update()
        return self.point()

    def point(self) -> tuple[int, int, int]:
        """A checkpoint without an update: costs are up to date, or a later rollback goes back further."""
        return len(self._links), len(self._known), self.total

    def rollback(self, checkpoint: tuple[int, int, int]) -> None:
        """Undo every change since that checkpoint."""
        while len(self._links) > checkpoint[0]:
            one, other, matcher = self._links.pop()
            if other < 0:
                self.pairing.remove(one)
            else:
                self.pairing.add(one, other, matcher)
        while len(self._known) > checkpoint[1]:
            which, position, cost = self._known.pop()
            self.costs[which][position] = cost
        self.total = checkpoint[2]
        for dirty in self._dirty:
            dirty.clear()

    def step(self, move: Move, left: list[Move], start: tuple[int, int, int]) -> ChainStep:
        """The changes since a checkpoint, with updated costs."""
        old = self.pairing.old
        links = [(one, old[one] if other < 0 else -1) for one, other, _ in self._links[start[0] :]]
        costs = [(which, n, self.costs[which][n]) for which, n, _ in self._known[start[1] :]]
        return ChainStep(move, left, links, costs, self.total)

    def repeat(self, step: ChainStep) -> None:
        """Repeat a step from the matching where it was first made."""
        for one, other in step.links:
            if other >= 0:
                self.pairing.add(one, other, REPAIR)
                self._links.append((one, -1, ""))
            else:
                self._links.append((one, self.pairing.old[one], self.pairing.matchers[one]))
                self.pairing.remove(one)
        for which, position, cost in step.costs:
            self._set_cost(which, position, cost)
        assert self.total == step.total

    def forget(self) -> list[Move]:
        """Commit all changes; returns the previous match of each moved instruction, -1 for none."""
        self.update()
        left = [(one, other) for one, other, _ in self._links]
        self._expire()
        self._links.clear()
        self._known.clear()
        return left

    def _expire(self) -> None:
        """Forget the slack of all that may read an instruction with another match or cost than before."""
        mapping = self.pairing.old
        olds = {one for one, _, _ in self._links} | {n for which, n, _ in self._known if not which and n < self._size}
        news = {n for which, n, _ in self._known if which} | {other for _, other, _ in self._links if other >= 0}
        news.update([mapping[one] for one in olds if mapping[one] >= 0])
        sides = (self.old, mapping, olds), (self.new, self.pairing.new, news)
        for (side, matches, changed), slack in zip(sides, self._settled, strict=True):
            worklist = list(changed)
            for position in worklist:  # the list grows
                slack[position] = -1
                for operand, _ in side.operands[position]:
                    if operand not in changed:
                        slack[operand] = -1
                        if matches[operand] < 0:
                            changed.add(operand)
                            worklist.append(operand)

    def update(self) -> int:
        """The total cost, with every change so far."""
        for which, cost in enumerate((self.cost, self.cost_of_new)):
            for position in self._dirty[which]:
                self._set_cost(which, position, cost(position))
            self._dirty[which].clear()
        return self.total

    def update_below(self, limit: int) -> bool:
        """Compute the total cost only as far as needed to decide whether it is below a limit.

        A bound as in branch and bound: the least cost of the changes is known first, and most instructions that they
        touch cost nothing yet, so they can only get more expensive.

        Returns:
            False if it is not. Some costs are then out of date: only a rollback to a point before these changes may
            follow.
        """
        olds, news = self._dirty
        mapping, costs = self.pairing.old, self.costs[0]
        set_cost, size = self._set_cost, self._size
        for position in news:
            set_cost(1, position, self.cost_of_new(position))
        news.clear()
        saved: list[tuple[int, int]] = []  # how much cheaper those with a cost can get while keeping their match
        others: list[tuple[int, int]] = []
        least = 0
        for position in olds:
            most = costs[position]
            if position < size:
                matched = mapping[position]
                if matched < 0:
                    set_cost(0, position, self._cost_alone(0, position))
                    continue
                if most and not self._is_parameter[position]:
                    inside, own = self._pair(position, matched)
                    most -= inside + own
            if most:
                least -= most
                saved.append((position, most))
            else:
                others.append((position, 0))
        least += self.total
        # Those first that may save most: mostly they do not, and the others then need no cost.
        saved.sort(key=itemgetter(1), reverse=True)
        for position, most in saved + others:
            if least >= limit:
                return False
            before, now = costs[position], self.cost(position)
            if before != now:
                set_cost(0, position, now)
            least += now - before + most
        olds.clear()
        return least < limit

    def _set_cost(self, which: int, position: int, cost: int) -> None:
        before = self.costs[which][position]
        if before != cost:
            self._known.append((which, position, before))
            self.costs[which][position] = cost
            self.total += cost - before

    def cost(self, position: int) -> int:
        """The cost of an old instruction with its match, including their callees."""
        self._priced += 1
        if position >= self._size:
            if position == self._size:  # an extra user of the root: the result is a different instruction
                roots = (self.old.computation.root, 0), (self.new.computation.root, 0)
                return 0 if same_value(self.old, self.new, self.pairing, *roots) else EDIT
            # One edit of the call covers all changed parameters.
            edits = self._expected.edits or 0
            pairs = [(one, self.pairing.old[one]) for one in self._parameters] if edits else []
            return EDIT * edits * any(other >= 0 and not self._expected.fits(one, other) for one, other in pairs)
        matched = self.pairing.old[position]
        if matched < 0:
            return self._cost_alone(0, position)
        inside, own = self._pair(position, matched)
        if self._is_parameter[position]:
            return (
                own
                if self._expected.fits(position, matched)
                else own + 2 * _FIELD + (EDIT if self._expected.edits is None else 0)
            )
        if self.is_rewired(position):
            own = (own if own > EDIT else EDIT) + _FIELD
        if own or inside:  # an unedited instruction is not searched for another place
            own += _PLACE * are_apart(self._places[0][position], self._places[1][matched])
        return inside + own

    def cost_of_new(self, position: int) -> int:
        """The cost of an unmatched new instruction."""
        return self._cost_alone(1, position) if self.pairing.new[position] < 0 else 0

    def is_least(self) -> bool:
        """True if no matching that a search may find can cost less than this one.

        A lower bound, as in branch and bound: each old instruction costs at least its cheapest match. An unmatched one
        costs itself and, if the other side has as many, an unmatched one there. Most edits of one instruction reach the
        bound, so no search is needed. False if the bound was not computed.
        """
        old, new, size = self.old, self.new, self.new.size
        edited = [n for n in range(self._size) if self.costs[0][n]]
        if len(edited) * size > _BOUNDED:
            return False
        alone = EDIT if size >= self._size else 0
        # An upper limit of the bound; it falls as the cheapest matches become known.
        most = [self._cost_alone(0, position) + alone for position in edited]
        bound = EDIT * max(size - self._size, 0) + sum(most)
        # An equal one may cost nothing: that needs no pair cost, and is often enough.
        equal = set(new.labels[EXACT])
        bound -= sum([before for n, before in zip(edited, most, strict=True) if old.labels[EXACT][n] in equal])
        if self.total > bound:
            return False
        # One of each, by opcode and possible matches: equal ones cost the same.
        labels = zip(new.labels[EXACT], new.labels[ANY], new.labels[STRUCTURE], strict=True)
        kinds = {each: n for n, each in enumerate(labels)}
        by_opcode: dict[int, list[int]] = {}
        by_call: dict[int, list[int]] = {}
        for (_, call, opcode), n in kinds.items():
            by_opcode.setdefault(opcode, []).append(n)
            by_call.setdefault(call, []).append(n)
        of_other_opcode = 0 if self._elements else EDIT + _FIELD + _OPCODE
        # Those first that may cost much less: mostly they show that the bound is not reached.
        for position, before in sorted(zip(edited, most, strict=True), key=itemgetter(1), reverse=True):
            if old.labels[EXACT][position] in equal:
                continue
            matched = self.pairing.old[position]
            self._looked += len(kinds)
            likely = by_opcode.get(old.labels[STRUCTURE][position], []) + ([matched] if matched >= 0 else [])
            least = min([before, *(sum(self._pair(position, n)) for n in likely)])
            if least > of_other_opcode:
                likely = by_call.get(old.labels[ANY][position], [])
                least = min([least, *(sum(self._pair(position, n)) for n in likely)])
            bound += least - before
            if self.total > bound:
                return False
        return True

    def may_save_edit(self) -> bool:
        """Whether some matching may take fewer edits; False only if none that a search may find does."""
        edits = sum([cost // EDIT for costs in self.costs for cost in costs if cost])
        # An element whose number changed may match an instruction with another label without an edit.
        return not self._takes(edits, 0) and (bool(self._elements) or not self._takes(edits, 1))

    def _takes(self, edits: int, which: int) -> bool:
        """Whether at least `edits` edits are needed, by what one side (0 old, 1 new) has more of than the other.

        The surplus of equal instructions is matched with something else or stays unmatched. Unmatched ones beyond the
        difference in size leave as many unmatched on the other side. False if that was not computed.
        """
        one, other = (self.old, self.new)[:: 1 - 2 * which]
        labels = list(enumerate(one.labels[EXACT]))
        if which == 0 and self._elements:
            labels = [(n, label) for n, label in labels if self._elements_of(n) is None]
        left = Counter(other.labels[EXACT])
        left.subtract([label for _, label in labels])
        surplus = {label: n for n, label in labels if left[label] < 0}
        kinds = {label: n for n, label in enumerate(other.labels[EXACT])}  # one of each: equal ones cost the same
        calls = [n for n in kinds.values() if other.computation.instructions[n].opcode in CALLS]
        self._looked += one.size + other.size
        alone, together = 0, other.size - one.size
        called: list[tuple[int, int, int]] = []
        for label, n in surplus.items():
            count, by_itself = -left[label], self._cost_alone(which, n) // EDIT
            is_call = one.computation.instructions[n].opcode in CALLS
            if is_call:
                called.append((n, count, by_itself))
            alone += count * (by_itself if is_call else 1)
            together += count * (by_itself + 1 if is_call else 1)
        if len(called) * len(calls) > _BOUNDED:
            return False
        # So far calls are unmatched; if one may match for less, the bound falls.
        (mine, theirs), sizes = (self.bodies[which], self.bodies[1 - which]), dict[int, list[int]]()
        while called and max(alone, together) >= edits:
            n, count, by_itself = called.pop()
            fitting = [m for m in calls if other.labels[ANY][m] == one.labels[ANY][n]]
            self._looked += len(calls)
            least = by_itself + 1
            # Bodies differ at least by their sizes: trying the likeliest first ends most of these loops.
            own = [mine.size(callee) for callee in one.computation.instructions[n].called]
            for m in fitting:
                if m not in sizes:
                    sizes[m] = [theirs.size(callee) for callee in other.computation.instructions[m].called]
            for bound, m in sorted([(sum(map(abs, map(sub, own, sizes[m]))), m) for m in fitting]):
                if bound >= least:
                    break
                least = min(least, sum(self._pair(m, n) if which else self._pair(n, m)) // EDIT)
            alone -= count * (by_itself - min(by_itself, least))
            together -= count * (by_itself + 1 - least)
        return max(alone, together) >= edits

    def least_after(self, one: int, other: int, enough: int) -> int:
        """A lower bound of the total after an old instruction gets another match (-1: none).

        A lower bound, as in branch and bound. What reads a moved value keeps its own match, so at most the cost of its
        operands is saved there; the two displaced instructions are matched with each other or left unmatched. Computing
        the bound takes a twentieth of the time of making the move and undoing it.

        Args:
            one, other: the move.
            enough: a looser bound suffices if it reaches this value.
        """
        pairing, costs, alone = self.pairing, self.costs[0], self._cost_alone
        ours, theirs = self._passing if self._links else self._settled
        b, a = pairing.old[one], -1
        # The present costs of both ends, and what may be saved around them.
        most = costs[-2] + costs[-1] - self.total
        most += ours[one] if ours[one] >= 0 else self._slack(0, one)
        own = displaced = 0
        if other < 0:
            own = alone(0, one)
        else:
            if self._own[0][one] != self._own[1][other] and not self._elements:
                own = EDIT if self._opcodes[0][one] == self._opcodes[1][other] else EDIT + _FIELD + _OPCODE
            a = pairing.new[other]
            most += theirs[other] if theirs[other] >= 0 else self._slack(1, other)
        if a >= 0:
            most += ours[a] if ours[a] >= 0 else self._slack(0, a)
            displaced = alone(0, a)
        if b >= 0:
            most += theirs[b] if theirs[b] >= 0 else self._slack(1, b)
            displaced += alone(1, b)
        is_exchange = a >= 0 and b >= 0 and may_pair(self.old, self.new, a, b)
        # Before comparing the fields of those that would match.
        least = own if is_exchange else own + displaced
        if least - most >= enough:
            return least - most
        if other >= 0:
            least += self._least_of_pair(one, other) - own
        if is_exchange:
            least += min(self._least_of_pair(a, b), displaced)
        return least - most

    def _cost_alone(self, which: int, position: int) -> int:
        """The cost of an added or removed instruction with its callees, which may have to be read for this."""
        found = self._costs_alone[which][position]
        if found < 0:
            it = (self.old, self.new)[which].computation.instructions[position]
            inside = sum(map(self.bodies[which].size, it.called))
            found = self._costs_alone[which][position] = EDIT * (1 + inside)
        return found

    def least_after_each(self, moves: Sequence[Move], enough: int) -> list[int]:
        """`least_after` of several moves from the present matching."""
        self._passing = self._unknown()
        return [self.least_after(one, other, enough) for one, other in moves]

    def _unknown(self) -> _Slack:
        return [-1] * self.old.size, [-1] * self.new.size

    def _slack(self, which: int, start: int) -> int:
        """The cost of an instruction of a side (0 old) plus the most that its neighbours can save if it moves."""
        pairing, costs = self.pairing, self.costs[0]
        mapping = (pairing.old, pairing.new)[which]
        itself = pairing.new[start] if which else start
        found = self.costs[which][start]
        for n in self._above((self.old, self.new)[which], mapping, start):
            near = mapping[n] if which else n
            if near >= 0 and costs[near] and near != itself and pairing.old[near] >= 0:
                found += self.operands_cost(near)
        (self._passing if self._links else self._settled)[which][start] = found
        return found

    def operands_cost(self, position: int) -> int:
        """The part of an old instruction's cost that is due to operands."""
        matched = self.pairing.old[position]
        if matched < 0 or self._is_parameter[position]:
            return 0
        inside, own = self._pair(position, matched)
        found = self.costs[0][position] - inside - own
        return found if found > _PLACE else 0

    def _least_of_pair(self, one: int, other: int) -> int:
        inside, own = self._pair(one, other)
        return own if self._is_parameter[one] else inside + own

    def is_rewired(self, position: int) -> bool:
        """True if the operands of a matched instruction are not the matches of its old operands."""
        old, new, pairing = self.old, self.new, self.pairing
        matched = pairing.old[position]
        # Calls of different computations: operands correspond as the parameters inside do.
        is_opened = self._is_call[position] and self._exact_old[position] != self._exact_new[matched]
        if self._made.get(position) == matched:
            return not keeps_elements(old, new, pairing, position, self._elements[position])
        if self._is_plain:
            ours, theirs = self._taken[0][position], self._taken[1][matched]
            if self._is_call[position]:
                known = self._is_call_rewired(ours, theirs, is_opened)
                if known is not None:
                    return known
            elif len(ours) != len(theirs):
                return not self._is_subsequence(ours, theirs)
            else:
                return self._differs(position, matched, 0, theirs) and (
                    not self._is_commutative(position) or self._differs(position, matched, 1, theirs[::-1])
                )
        if is_opened:
            return not same_operands_in_any_order(old, new, pairing, position)
        calls = old.computation.instructions[position], new.computation.instructions[matched]
        return operands_changed(old, new, pairing, position, None, self._operand_symmetric(*calls))

    def _is_call_rewired(self, ours: Sequence[int], theirs: list[int], is_opened: bool) -> bool | None:
        """Whether a call is rewired, if the matches of its operands decide that; None if the slower test is needed.

        Most calls take tens of operands, and a move changes one of them.
        """
        mapping = self.pairing.old
        wanted = [mapping[operand] for operand in ours]
        self._looked += len(wanted)
        if wanted == theirs:
            return False
        roads: list[tuple[Sequence[int], list[int] | None, int]] = [(theirs, wanted, 1), (ours, None, 0)]
        if is_opened:  # the operands of the one with fewer are searched for, in any order
            roads = roads[1:] if len(ours) > len(theirs) else roads[:1]
        for others, found, which in roads:
            if found is None:
                back = self.pairing.new
                found = [back[operand] for operand in theirs]
            self._looked += len(found)
            apart = set(found)
            missing = apart.difference(others)
            if is_opened and not missing and len(apart) == len(found):
                return False
            if missing and self._is_out_of_reach(missing, others, which):
                return True
        return None

    def _differs(self, position: int, matched: int, order: int, theirs: Sequence[int]) -> bool:
        """Whether some slot has a different value, with the operands of the match in this order.

        A slot that differed before is checked first: a tried move changes one operand of tens, and mostly not that one
        (as the watched literals of Moskewicz and others 2001).
        """
        old, new, pairing = self.old, self.new, self.pairing
        ours, mapping = self._taken[0][position], pairing.old
        key = position, matched, order
        watched = self._watched.get(key)
        if watched is not None:
            self._looked += 1
            one, other = ours[watched], theirs[watched]
            if mapping[one] != other and not same_value(old, new, pairing, (one, 0), (other, 0)):
                return True
        wanted = [mapping[operand] for operand in ours]
        self._looked += len(ours)
        if wanted == theirs:
            return False
        for slot, one in enumerate(wanted):
            if one != theirs[slot] and not same_value(old, new, pairing, (ours[slot], 0), (theirs[slot], 0)):
                self._watched[key] = slot
                return True
        return False

    def _is_subsequence(self, ours: Sequence[int], theirs: Sequence[int]) -> bool:
        """Whether only added or removed operands are missing on either side, see `operands_changed`."""
        old, new, pairing = self.old, self.new, self.pairing
        mapping, back = pairing.old, pairing.new
        kept = [one for one in ours if mapping[one] >= 0 or old.names[one]]
        others = [other for other in theirs if back[other] >= 0 or new.names[other]]
        self._looked += len(ours) + len(theirs)
        if len(kept) != len(others):
            return False
        for one, other in zip(kept, others, strict=True):
            if mapping[one] != other and not same_value(old, new, pairing, (one, 0), (other, 0)):
                return False
        return True

    def _is_commutative(self, position: int) -> bool:
        """Whether both operands of an instruction are in slot 0, see `MatchGraph.uses`."""
        slots = self.old.operand_edges[position]
        return len(slots) == 2 and slots[1][1] == 0

    def _is_out_of_reach(self, missing: Iterable[int], operands: Sequence[int], which: int) -> bool:
        """Whether some `missing` instruction (1: new ones) is not reached from unmatched operands."""
        missing = [n for n in missing if n >= 0]
        if not missing:
            return False
        mapping, reach = (self.pairing.old, self.pairing.new)[which], self.pairing.reach((self.old, self.new), which)
        found = 0
        for operand in operands:
            if mapping[operand] < 0:
                found |= reach.below(operand)
        return any(not found >> n & 1 for n in missing)

    def _pair(self, position: int, matched: int) -> tuple[int, int]:
        """The cost of a match apart from operands: inside the callees, and their own."""
        if self._elements and ((elements := self._elements_of(position)) or position in self._elements):
            found = self._of_elements.get((position, matched))
            if found is None:
                found = self._of_elements[position, matched] = self._cost_inside_and_own(position, matched, elements)
            return found
        one, other = self._exact_old[position], self._exact_new[matched]
        if one == other:
            return _NOTHING
        labels = one, other
        found = self._by_label.get(labels)
        if found is None:
            found = self._by_label[labels] = self._cost_inside_and_own(position, matched, None)
        return found

    def saved_by_bodies(self, one: int, other: int) -> int:
        """How much less a match of two calls costs than both alone, without operands; 0 if their bodies are unlike."""
        called = self.old.computation.instructions[one].called, self.new.computation.instructions[other].called
        for a, b in zip(*called, strict=False):
            if not self.bodies[0][a].isdisjoint(self.bodies[1][b]):
                return self._cost_alone(0, one) + self._cost_alone(1, other) - sum(self._pair(one, other))
        return 0

    def _inside(self, one: int, other: int) -> int:
        """A lower bound of the edits between two computations."""
        if self.bodies[0].hashes[one] == self.bodies[1].hashes[other]:
            return 0
        ours, theirs = self.bodies[0][one], self.bodies[1][other]
        return max(max(len(ours), len(theirs)) - len(ours & theirs), 1)

    def _elements_of(self, position: int) -> Elements | None:
        below = self.old.operand_edges[position]
        return self._elements.get(below[0][0]) if below else None

    def _cost_inside_and_own(self, position: int, matched: int, elements: Elements | None) -> tuple[int, int]:
        one, other = self.old.computation.instructions[position], self.new.computation.instructions[matched]
        same = self.old.labels[OWN][position] == self.new.labels[OWN][matched]
        fields = 0 if same else len(field_changes(one, other))
        if elements is not None and element_of(one) is not None:
            fields = len(with_elements(field_changes(one, other), one, other, elements))
            same = not fields
        elif not same and position in self._elements:
            fields = len(field_changes(renumbered(one, self._elements[position]), other))
            same = not fields
        own = 0 if same else EDIT + _FIELD * fields + _OPCODE * (one.opcode != other.opcode)
        inside = 0
        if one.opcode in CALLS:
            inside = sum(starmap(self._inside, zip(one.called, other.called, strict=False)))
        elif not (one.calls and other.calls):  # applied ones come or go with the applying instruction
            inside = sum(
                bodies.size(n) for it, bodies in zip((one, other), self.bodies, strict=True) for n in it.called
            )
        return EDIT * inside + _BODY * (inside > 0), own

    def _touch(self, ours: Move, theirs: Move) -> None:
        """Mark the instructions whose cost may depend on these: users, continuing through free instructions."""
        (olds, news), new = self._dirty, self.pairing.new
        for one in ours:
            if one >= 0:
                if self._expected.edits and not self.old.operand_edges[one]:
                    olds.add(self._size + 1)
                olds.update(self._above(self.old, self.pairing.old, one))
        if self.old.computation.root in olds:
            olds.add(self._size)
        for other in theirs:
            if other >= 0:
                news.add(other)
                above = self._above(self.new, new, other)
                olds.update([new[n] for n in above if new[n] >= 0])
                if self.new.computation.root in above:
                    olds.add(self._size)

    def _above(self, side: MatchGraph, mapping: Sequence[int], start: int) -> list[int]:
        found = [start, *side.users[start]]
        for user in side.users[start]:
            if mapping[user] < 0:
                break
        else:
            return found
        seen = set(found)
        for position in found:
            if mapping[position] < 0 and position != start and len(found) < _FAR:
                for user in side.users[position]:
                    if user not in seen:
                        seen.add(user)
                        found.append(user)
                self._walked += len(side.users[position])
        return found


# --- Calls first: which bodies are alike is known before any search.
#
# Where a compiler cuts a program into other fusions, their neighbours say little about which is which, and their bodies
# say much. A search finds a better match of one call or of two, but not of twenty that have to change together. So all
# edited calls of two computations are assigned at once by what their bodies have in common. Of a program of
# convolutions by two JAX versions this saves more edits than the search did, and the search has less to do.
#
# Operands are left to the search, and bodies may take more edits than their instructions show. So it is only done where
# it saves much: with any saving, one of 41 pairs of two JAX versions took two edits more.

# The least that it has to save is all costs divided by this.
_MUCH = 8


def _assign_calls(model: CostModel, limits: Limits) -> None:
    """Match edited calls by their bodies. Of equal scores prefer the present match, then equal rank as in `assign`."""
    old, new, pairing, costs = model.old, model.new, model.pairing, model.costs[0]
    olds = [n for n, it in enumerate(old.computation.instructions) if it.opcode in CALLS and costs[n]]
    news = [
        n
        for n, it in enumerate(new.computation.instructions)
        if it.opcode in CALLS and (pairing.new[n] < 0 or costs[pairing.new[n]])
    ]
    most = limits.assignment**2
    ours, theirs = (_by_label(side, some, EXACT, len(some)) for side, some in ((old, olds), (new, news)))
    if min(len(olds), len(news)) < 2 or len(ours) * len(theirs) > most:
        return
    alike: list[tuple[int, list[int], list[int]]] = []  # calls of one content, and what a match saves
    for some, others in product([*map(list, ours.values())], [*map(list, theirs.values())]):
        if old.labels[ANY][some[0]] == new.labels[ANY][others[0]]:
            saved = model.saved_by_bodies(some[0], others[0])
            if saved > 0:
                alike.append((saved, some, others))
    model.scored += len(alike)
    if sum(len(some) * len(others) for _, some, others in alike) > most:
        return
    ranks = {n: rank / len(olds) for rank, n in enumerate(olds)}, {n: rank / len(news) for rank, n in enumerate(news)}
    scores: dict[Move, float] = {}
    for saved, some, others in alike:
        for one, other in product(some, others):
            score = saved + _FIELD * (pairing.old[one] == other)
            scores[one, other] = score - (ranks[0][one] - ranks[1][other]) ** 2
    total, checkpoint = model.total, model.checkpoint()
    found = dict(assignment(scores))
    for one, other in found.items():
        if pairing.old[one] != other:
            model.move(one, other)
    if model.update() * _MUCH <= total * (_MUCH - 1):
        model.forget()
    else:
        model.rollback(checkpoint)


# --- Local search: rematches edited instructions wherever that makes the script shorter.
#
# Evidence matches most instructions correctly, but where several edits touch, an early match can block a better one.
# This is a local search over the few instructions with a cost. A move gives an old instruction another match or none;
# their former matches are matched with each other if that is cheaper. If no single move helps, a chain of them may:
# what a move displaced, or put next to a neighbour that does not fit, moves next (ejection chains, Glover 1996, as
# Kernighan and Lin 1970 did for partitions). Chains stay among neighbours, so that the work grows with the number of
# edits and not with its square. An exact search is infeasible: the shortest script between two graphs is an NP-hard
# problem. Single moves alone leave scripts in which a whole path is matched off by one.

# A value with more uses than this is weak evidence for any one of them.
_BUSY = 40
# For each level, the most instructions of one label on the other side that are tried regardless of place.
_COMMON = ((EXACT, 24), (OWN, 24), (VALUE, 16), (STRUCTURE, 8), (TYPE, 6))


def may_pair(old: MatchGraph, new: MatchGraph, one: int, other: int) -> bool:
    """True if two instructions share an opcode or a type, and both or neither are calls or parameters."""
    ours, theirs = old.labels, new.labels
    if ours[ANY][one] != theirs[ANY][other]:
        return False
    if ours[STRUCTURE][one] == theirs[STRUCTURE][other]:
        return True
    if ours[TYPE][one] != theirs[TYPE][other]:
        return False
    return is_parameter_of(old, one) == is_parameter_of(new, other)


def may_replace(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> bool:
    """True if two free instructions have only the operand count and their readers in common."""
    if old.labels[ANY][one] != new.labels[ANY][other] or max(pairing.old[one], pairing.new[other]) >= 0:
        return False
    arity = len(old.operand_edges[one])
    return 0 < arity == len(new.operand_edges[other]) and len(old.uses[one]) == len(new.uses[other])


def candidates(
    old: MatchGraph,
    new: MatchGraph,
    pairing: InstructionMap,
    olds: Sequence[int],
    news: Sequence[int],
    most: int,
    scores: dict[Move, float],
    is_turned: bool = False,
) -> tuple[dict[int, list[int]], int]:
    """Candidate matches of old instructions, most similar first; and how many pairs were scored.

    Args:
        old, new, pairing: two partially matched computations.
        olds, news: instructions that are part of edits.
        most: how many for each.
        scores: similarities, the same from either side; new ones are added.
        is_turned: whether the old computation is the new one there.
    """
    wanted = set(news)
    own, calls, kinds, exact_there = new.labels[OWN], new.labels[ANY], new.labels[STRUCTURE], new.labels[EXACT]
    exact, values = old.labels[EXACT], old.labels[VALUE]
    buckets = [(level, _by_label(new, news, level, few)) for level, few in _COMMON]
    alike: dict[tuple[int, int], dict[int, None]] = {}  # of equal labels, regardless of place
    found: dict[int, list[int]] = {}
    around: dict[int, Neighbourhood] = {}
    count = 0
    owns, old_calls, old_kinds = old.labels[OWN], old.labels[ANY], old.labels[STRUCTURE]
    for one in olds:
        label, call, kind = owns[one], old_calls[one], old_kinds[one]
        labels = exact[one], values[one]
        others = alike.get(labels)
        if others is None:
            likely: dict[int, None] = {}
            for level, places in buckets:
                if same := places.get(old.labels[level][one]):
                    likely |= same
            others = alike[labels] = {n: None for n in likely if may_pair(old, new, one, n)}
        # An unedited instruction gives up its match only for an equal one.
        fitting = {
            n: None
            for n in _near(old, new, pairing, one)
            if calls[n] == call
            and (n in wanted or own[n] == label)
            and (kinds[n] == kind or may_pair(old, new, one, n) or may_replace(old, new, pairing, one, n))
        }
        fitting |= others
        count += len(fitting)
        if len(fitting) > 1:
            ours: Neighbourhood | None = None
            scored = []
            for rank, other in enumerate(fitting):
                both = (other, one) if is_turned else (one, other)
                score = scores.get(both)
                if score is None:
                    ours = ours or Neighbourhood.of(old, pairing, 0, one, _BUSY)
                    theirs = around.get(other)
                    if theirs is None:
                        theirs = around[other] = Neighbourhood.of(new, pairing, 1, other, _BUSY)
                    neighbours, free = ours.in_common(theirs)
                    score = labels_in_common(old, new, one, other) + 2.0 * neighbours + 0.5 * free
                    score = scores[both] = score + (exact_there[other] == labels[0])
                scored.append((-score, rank, other))
            scored.sort()
            found[one] = [other for _, _, other in scored[:most]]
        else:
            found[one] = list(fitting)
    return found, count


def _by_label(side: MatchGraph, positions: Iterable[int], level: int, few: int) -> dict[int, dict[int, None]]:
    """The instructions of each label with few instructions."""
    labels = side.labels[level]
    places: dict[int, dict[int, None]] = {}
    for position in positions:
        places.setdefault(labels[position], {})[position] = None
    return {label: alike for label, alike in places.items() if len(alike) <= few}


def _near(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int) -> list[int]:
    """Users of the matches of its operands, operands of the matches of its users; also across one free instruction."""
    mapping, back = pairing.old, pairing.new
    found: list[int] = []
    for operand in _matched_beside(old.operand_edges, mapping, one):
        source = mapping[operand]
        for user in new.users[source] if len(new.uses[source]) <= _BUSY else ():
            found.append(user)
            if back[user] < 0 and len(new.uses[user]) <= _BUSY:
                found += new.users[user]
    for user in _matched_beside(old.uses, mapping, one):
        slots = new.operand_edges[mapping[user]]
        for operand, _, _ in slots if len(slots) <= _BUSY else ():
            found.append(operand)
            if back[operand] < 0 and len(new.operand_edges[operand]) <= _BUSY:
                found += [below for below, _, _ in new.operand_edges[operand]]
    return found


def _matched_beside(
    edges: Sequence[Sequence[tuple[int, int, int]]], mapping: Sequence[int], position: int
) -> list[int]:
    """Matched operands, or users, and those of free ones, each once."""
    found: list[int] = []
    for near, _, _ in edges[position][:_BUSY]:
        if mapping[near] >= 0:
            found.append(near)
        else:
            found += [n for n, _, _ in edges[near][:_BUSY] if mapping[n] >= 0]
    return list(dict.fromkeys(found)) if len(found) > 1 else found


_FREE = -1
# Candidates tried per instruction, and steps of a chain. Chains of six steps saved nothing in 466 computations of two
# JAX versions and of 16 and 64 random edits.
_CANDIDATES = 8
_STEPS_OF_CHAIN = 3
# Distance from moved instructions that the next round covers.
_NEAR = 2
_ROUNDS = 6
# Next steps of a chain that are compared. Twice as many changed no list of 360 pairs with 16 and 64 random edits and of
# 41 of two JAX versions.
_FOLLOWERS = 12
# Branches from one value that are exchanged, and the most operations of one.
_MOST_BRANCHES = 8
_LONGEST_BRANCH = 32
# The search for chains ends after this many failures per edited instruction, and in all. In 900 pairs with 16 and 64
# random edits nine of ten chains that saved an edit came after at most thirty failures; two hundred save three edits
# more of 150, and none in 41 pairs of two JAX versions.
_TRIES = 3
_PATIENCE = 30
# No chain helped if more than this many are edited on either side and they are most of it: such a computation is
# replaced as a whole.
_MOST_IN_CHAINS = 40
# Extra cost allowed within a chain: no successful chain on the corpus needed more than two and a half edits.
_DEAREST = 3 * EDIT
# The same, in bounds of the first step: of 290 chains that saved an edit all but one began with a step that could cost
# 46 more, not a thousand; a third of all tries is left out by this. If both are matched, the step must be able to save
# something: of 4,334 others four saved an edit, none of them in 41 pairs of two JAX versions, and they were half of the
# tries there.
_DEAREST_START = EDIT // 2
# The work does not grow beyond this many edited instructions: programs of unrelated compilers, where the shortest list
# explains no better.
_MANY = 200
# If they are most of two computations, there is little to explain: the first result is enough.
_UNLIKE = 20
# The budget of two programs is that of this many edited instructions, over all computations: twice what any of 41 pairs
# of two JAX versions needs. Thousands of small computations that all differ gain little from more, and so do programs
# of one function for two targets: on eleven such pairs twice the budget saves four edits in a thousand.
_PROGRAM = 100
# One computation takes at most this many times its share of the remaining budget, by size, and seven eighths of it.
_SHARES = 8
# Less than this is not worth a search. Of 600 fusions of nine instructions each that all differ, three quarters of the
# gain in a fusion is reached by then, and the rest takes twelve times as long.
_LEAST = 120


def _patience(edited: int) -> int:
    """The number of failed chains after which the search ends, for this many edited instructions."""
    return min(_PATIENCE, _TRIES * (edited + 2))


@dataclass(slots=True)
class SearchBudget:
    """The remaining budget of the searches in all computations of two programs.

    Args:
        left: costs that may still be computed; negative if the last search exceeded it.
        pending: instructions of the computations that may still be searched.
    """

    left: int
    pending: int = 0

    @staticmethod
    def of(limits: Limits) -> SearchBudget:
        """The whole budget of two programs."""
        return SearchBudget(limits.search * _PROGRAM)

    def share(self, size: int) -> int:
        """The budget for the search in two computations; 0 if too little is left.

        Args:
            size: instructions of both.

        Example:
            >>> SearchBudget(4000, pending=100).share(1), SearchBudget(4000, pending=100).share(90)
            (320, 3500)
            >>> SearchBudget(100, pending=100).share(90)
            0
        """
        fair = _SHARES * self.left * size // max(self.pending, size, 1)
        return min(max(fair, _LEAST), self.left * 7 // 8) if self.left >= _LEAST else 0


def local_search(model: CostModel, limits: Limits, budget: SearchBudget) -> bool:
    """Rematch edited instructions while that saves edits.

    Args:
        model: the matching of two computations, changed in place.
        limits: how much work is allowed.
        budget: the work allowed in all computations together; the work done here is deducted.

    Returns:
        False if a limit ended the search, or it did not start because the budget is spent.
    """
    size = model.old.size + model.new.size
    share = budget.share(size)
    budget.pending -= size
    if not model.total:
        return True
    start = model.effort
    if model.is_least():
        is_whole = True
    elif not share:
        is_whole = False
    else:
        _assign_calls(model, limits)
        search = _LocalSearch(model, limits, start + share)
        is_whole = search.run(0) and (not model.may_save_edit() or search.run(_STEPS_OF_CHAIN))
    _exchange_branches(model, start + share)
    _exchange_numbers(model)
    _exchange_collectives(model)
    _exchange_origins(model)
    budget.left -= model.effort - start
    return is_whole


def _exchange_branches(model: CostModel, most: int) -> None:
    """Match equal branches, as the terms of a sum, as the values are matched that they begin with.

    Where the terms are in another order, all operations of two branches have to change places together: more steps than
    a chain of the search has. It ends with the same effort of the model as the search.
    """
    pairing, labels = model.pairing, (model.old.labels[EXACT], model.new.labels[EXACT])
    for one in [n for n in range(model.old.size) if model.costs[0][n] and model.operands_cost(n)]:
        starts = [
            other
            for operand, _ in model.old.operands[one]
            if (source := pairing.old[operand]) >= 0
            for other in model.new.users[source][:_MOST_BRANCHES]
            if pairing.new[other] >= 0 and labels[0][one] == labels[1][other]
        ]
        for other in dict.fromkeys(starts):
            if model.effort >= most:
                return
            moves: list[Move] = []
            a, b = one, other
            while pairing.old[a] != b and labels[0][a] == labels[1][b] and len(moves) < _LONGEST_BRANCH:
                moves += [(a, b), *_own_constants(model, a, b)]
                if len(model.old.users[a]) != 1 or len(model.new.users[b]) != 1:
                    break
                a, b = model.old.users[a][0], model.new.users[b][0]
            if moves and _is_shorter_exchanged(model, moves):
                break


def _own_constants(model: CostModel, one: int, other: int) -> Iterator[Move]:
    """Equal constants in the same slots of two instructions, which nothing else takes."""
    labels = model.old.labels[EXACT], model.new.labels[EXACT]
    for (a, _), (b, _) in zip(model.old.operands[one], model.new.operands[other], strict=False):
        is_own = len(model.old.users[a]) == len(model.new.users[b]) == 1
        if is_own and labels[0][a] == labels[1][b] and not model.old.operands[a] and not model.new.operands[b]:
            yield a, b


def _is_shorter_exchanged(model: CostModel, moves: Iterable[Move]) -> bool:
    """Make these moves, each with the match of what it displaces, if the script is shorter with them."""
    checkpoint = model.checkpoint()
    for one, other in moves:
        if model.pairing.old[one] != other:
            a, b = model.move(one, other)
            if min(a, b) >= 0:
                model.move(a, b)
    if model.update() < checkpoint[2]:
        model.forget()
        return True
    model.rollback(checkpoint)
    return False


def _exchange_numbers(model: CostModel) -> None:
    """Match equal numbers, as zeros that several arrays begin with, as their users are matched.

    Each has its constant and its broadcasts, which have to move together: more steps than a chain of the search has.
    """
    pairing, labels = model.pairing, (model.old.labels[EXACT], model.new.labels[EXACT])
    for one in [n for n in range(model.old.size) if model.costs[0][n] and model.operands_cost(n)]:
        slots = zip(model.old.operands[one], model.new.operands[pairing.old[one]], strict=False)
        for (a, _), (b, _) in slots:
            moves: list[Move] = []
            while pairing.old[a] != b and labels[0][a] == labels[1][b] and len(model.old.operands[a]) < 2:
                moves.append((a, b))
                if not model.old.operands[a]:
                    break
                (a, _), (b, _) = model.old.operands[a][0], model.new.operands[b][0]
            if moves and not model.old.operands[moves[-1][0]]:
                _is_shorter_exchanged(model, moves)


def _exchange_collectives(model: CostModel) -> None:
    """Match collectives that take the same value, where one is of another kind now and another of its kind came.

    That an all-reduce became a reduce-scatter, and another all-reduce was added, takes as many edits as that it has
    another operand and shape, and a reduce-scatter was added.
    """
    for which, (side, mapping) in enumerate(((model.old, model.pairing.old), (model.new, model.pairing.new))):
        other, back = (model.new, model.pairing.new) if which == 0 else (model.old, model.pairing.old)
        free = [n for n, it in enumerate(other.computation.instructions) if back[n] < 0 and family(it.opcode)]
        for n in free:
            kind, source = family(other.computation.instructions[n].opcode), back[other.operands[n][0][0]]
            for one in side.users[source] if source >= 0 else ():
                found = family(side.computation.instructions[one].opcode)
                rival = mapping[one]
                if found is None or found == kind or rival < 0 or side.operands[one][0][0] != source:
                    continue
                takes_another = back[other.operands[rival][0][0]] != source
                if takes_another and family(other.computation.instructions[rival].opcode) == found:
                    ends = [_end_of(side, one), _end_of(other, n)]
                    moves = [(one, n), *([(ends[0], ends[1])] if min(ends) >= 0 else [])]
                    if _is_as_short(model, moves if which == 0 else [(b, a) for a, b in moves]):
                        break


def _exchange_origins(model: CostModel) -> None:
    """Match an instruction with the one of its Python function, where an equal one was put before it.

    A value that is summed over devices twice now was summed once: either sum may be the one that came.
    """
    both = (model.old, model.pairing.old), (model.new, model.pairing.new)
    for which in (0, 1):
        (side, mapping), (other, _) = both[which], both[1 - which]
        for free in [n for n, matched in enumerate(mapping) if matched < 0]:
            for taken, _ in side.operands[free]:
                match = mapping[taken]
                if match < 0 or side.labels[OWN][free] != side.labels[OWN][taken]:
                    continue
                functions = [one.origin(n)[1] for one, n in ((other, match), (side, free), (side, taken))]
                if functions[0] == functions[1] != functions[2] and all(functions):
                    move = (free, match) if which == 0 else (match, free)
                    if _is_as_short(model, [move]):
                        break


def _end_of(side: MatchGraph, position: int) -> int:
    """The operation that waits for an asynchronous one; -1 for none."""
    instructions = side.computation.instructions
    return next((user for user in side.users[position] if instructions[user].opcode.endswith("-done")), -1)


def _is_as_short(model: CostModel, moves: Iterable[Move]) -> bool:
    """Make these moves if the script is as short with them."""
    checkpoint = model.checkpoint()
    for move in moves:
        model.move(*move)
    if model.update() < checkpoint[2] + EDIT // 2:
        model.forget()
        return True
    model.rollback(checkpoint)
    return False


@dataclass(slots=True)
class _LocalSearch:
    """One local search; `most` is the effort of the model at which it stops."""

    model: CostModel
    limits: Limits
    most: int
    olds: dict[int, list[int]] = field(default_factory=dict)
    news: dict[int, list[int]] = field(default_factory=dict)
    edited: tuple[list[int], list[int]] | None = None
    moved: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def run(self, depth: int) -> bool:
        """Try every candidate until a round finds nothing; False if a limit ended that."""
        near: tuple[set[int], set[int]] | None = None
        for _ in range(_ROUNDS):
            is_known, self.edited = self.edited is not None, self.edited or self._edited()
            olds, news = self.edited
            if near is not None:
                olds, news = [n for n in olds if n in near[0]], [n for n in news if n in near[1]]
            if not olds or (depth and self._is_replaced(len(olds), len(news))):
                return True
            limit = self.model.work + self.limits.search * self._worth(len(olds) + len(news))
            if not is_known:
                self._look_around(olds, news)
            improved = False
            failures = 0
            for one, other in self._moves(olds, depth):
                if self._is_hopeless(one, other, depth):
                    continue
                if self._try(one, other, depth):
                    improved, failures, self.edited = True, 0, None
                elif depth and (failures := failures + 1) > _patience(len(olds)):
                    break
                if self.model.work > limit or self.model.effort > self.most:
                    return False
            if not improved:
                # A deeper round starts from these instructions, if this round covered all.
                self.edited = self.edited if near is None else None
                return True
            near = self._near_moved()
        return True

    def _near_moved(self) -> tuple[set[int], set[int]]:
        """Old and new instructions whose moves may have a different cost than in the previous round.

        Failed moves are retried only near moved instructions (the don't-look bits of Bentley 1992).
        """
        found = self.moved
        self.moved = set(), set()
        for _ in range(_NEAR):
            for one in list(found[0]):
                found[0].update(self.model.old.users[one], [n for n, _ in self.model.old.operands[one]])
            for other in list(found[1]):
                found[1].update(self.model.new.users[other], [n for n, _ in self.model.new.operands[other]])
            found[0].update([n for n in map(self.model.pairing.new.__getitem__, found[1]) if n >= 0])
            found[1].update([n for n in map(self.model.pairing.old.__getitem__, found[0]) if n >= 0])
        return found

    def _worth(self, edited: int) -> int:
        """The number of edited instructions that scales the effort."""
        is_unlike = edited > _MANY and 2 * edited > self.model.old.size + self.model.new.size
        return _UNLIKE if is_unlike else min(edited, _MANY)

    def _edited(self) -> tuple[list[int], list[int]]:
        """Old and new instructions that are part of an edit, and operands that do not fit."""
        model, pairing = self.model, self.model.pairing
        olds = {n for n in range(model.old.size) if model.costs[0][n]}
        news = {n for n, matched in enumerate(pairing.new) if matched < 0}
        for one in sorted(olds):
            if pairing.old[one] < 0:
                continue
            news.add(pairing.old[one])
            slots = zip(model.old.operand_edges[one], model.new.operand_edges[pairing.old[one]], strict=False)
            for (a, _, _), (b, _, _) in slots:
                if pairing.old[a] != b:  # operands in the same slot that are not matched with each other
                    olds |= {a, pairing.new[b]} - {-1}
                    news |= {b, pairing.old[a]} - {-1}
        return sorted(olds), sorted(news)

    def _look_around(self, olds: Sequence[int], news: Sequence[int]) -> None:
        model = self.model
        pairing = model.pairing
        scores: dict[Move, float] = {}
        self.olds, there = candidates(model.old, model.new, pairing, olds, news, _CANDIDATES, scores)
        free = [n for n in news if pairing.new[n] < 0]
        turned = InstructionMap(pairing.new, pairing.old, {})
        found, back = candidates(model.new, model.old, turned, free, olds, _CANDIDATES, scores, is_turned=True)
        model.scored += there + back
        for other, ones in found.items():
            for one in ones:
                if other not in self.olds.setdefault(one, []):
                    self.olds[one].append(other)
        self.news = {}
        left = list(self.olds.items())
        for rank in range(_CANDIDATES):
            left = [(one, others) for one, others in left if rank < len(others)]
            for one, others in left:
                self.news.setdefault(others[rank], []).append(one)

    def _moves(self, olds: Sequence[int], depth: int) -> Iterator[Move]:
        """Moves to try: the likeliest matches first, then unmatching."""
        left = starts = list(self.olds)
        for rank in range(_CANDIDATES if depth else 2 * _CANDIDATES):
            left = [one for one in left if rank < len(self.olds[one])]
            yield from [(one, self.olds[one][rank]) for one in left]
        edited = set(olds)
        yield from ((one, _FREE) for one in starts if one in edited)

    def _note(self, positions: Iterable[Move]) -> None:
        for one, other in positions:
            self.moved[0].add(one)
            self.moved[1].update([n for n in (other, self.model.pairing.old[one]) if n >= 0])

    def _is_replaced(self, olds: int, news: int) -> bool:
        """Whether so much of both computations is edited that one replaces the other as a whole."""
        return min(olds, news) > _MOST_IN_CHAINS and 2 * (olds + news) > self.model.old.size + self.model.new.size

    def _is_hopeless(self, one: int, other: int, depth: int) -> bool:
        """Whether a move changes nothing, or is too expensive whatever follows."""
        model = self.model
        is_free = model.pairing.old[one] < 0 or other < 0 or model.pairing.new[other] < 0
        dearest = model.total + _DEAREST_START + 1 if depth and is_free else model.total
        return model.pairing.old[one] == other or model.least_after(one, other, dearest) >= dearest

    def _try(self, one: int, other: int, depth: int) -> bool:
        """Make a move and its follow-ups; keep them if the total gets cheaper."""
        model = self.model
        checkpoint = model.checkpoint()
        start = model.total
        fixed: tuple[set[int], set[int]] = (set(), set())
        limit = start if not depth else start + _DEAREST + 1
        displaced, last = self._apply((one, other), limit), (one, other)
        for number in range(1, depth + 1):
            if displaced is None or model.total < start:
                break
            fixed[0].add(last[0])
            fixed[1].update([n for n in last[1:] if n >= 0])
            # The last step of a chain must lower the total, any other must stay within the limit.
            step = self._best(last, displaced, fixed, start if number == depth else limit)
            displaced = None if step is None else step.left + displaced
            if step is not None:
                model.repeat(step)
                last = step.move
        if displaced is not None and model.total < start:
            self._note(model.forget())
            return True
        model.rollback(checkpoint)
        return False

    def _apply(self, move: Move, limit: int) -> list[Move] | None:
        """Make a move; match the two displaced instructions with each other if that is cheaper.

        Returns:
            the displaced instructions; None if the total is not below the limit, and the move must be rolled back.
        """
        model = self.model
        a, b = model.move(*move)
        is_below = model.update_below(limit)
        if a >= 0 and b >= 0 and may_pair(model.old, model.new, a, b):
            checkpoint = model.point()
            model.move(a, b)
            if model.update_below(checkpoint[2] + 1 if is_below else limit):
                return []
            model.rollback(checkpoint)
        return ([(a, b)] if max(a, b) >= 0 else []) if is_below else None

    def _best(
        self, last: Move, displaced: Iterable[Move], fixed: tuple[set[int], set[int]], below: int
    ) -> ChainStep | None:
        """The cheapest next step of a chain with a total below `below`; None if there is none."""
        model = self.model
        tried: dict[Move, None] = {}
        for move in self._followers(last, displaced):
            if move in tried or move[0] in fixed[0] or move[1] in fixed[1]:
                continue
            if len(tried) == _FOLLOWERS:
                break
            tried[move] = None
        moves = list(tried)
        bounds = model.least_after_each(moves, below)
        found: ChainStep | None = None
        rank = -1
        # The likeliest first, so that bounds skip most; of equal ones the first listed.
        for least, n, move in sorted(zip(bounds, range(len(moves)), moves, strict=True)):
            if least > below or (least == below and n > rank):
                break
            point = model.point()
            left = self._apply(move, below + 1)
            if left is not None and (model.total < below or n < rank):
                below, found, rank = model.total, model.step(move, left, point), n
            model.rollback(point)
        return found

    def _followers(self, last: Move, displaced: Iterable[Move]) -> Iterator[Move]:
        """New matches for displaced instructions, and matches of neighbours of the one moved last."""
        pairing = self.model.pairing
        for one, other in displaced:
            if one >= 0:
                yield from ((one, n) for n in self.olds.get(one, ()) if pairing.old[one] != n)
            if other >= 0:
                yield from ((n, other) for n in self.news.get(other, ()) if pairing.old[n] != other)
        if last[1] >= 0:
            yield from (move for move in self._beside(*last) if pairing.old[move[0]] != move[1])
            yield from ((one, _FREE) for one in self._rewired_beside(last[0]))

    def _rewired_beside(self, one: int) -> Iterator[int]:
        """Operands and users whose own match no longer fits because it is now on the other side."""
        old = self.model.old
        near = dict.fromkeys([*(n for n, _, _ in old.operand_edges[one][:8]), *(n for n, _, _ in old.uses[one][:8])])
        yield from (n for n in near if self.model.operands_cost(n))

    def _beside(self, one: int, other: int) -> Iterator[Move]:
        """Operands in the same slot, and users of one opcode in the same slot."""
        old, new = self.model.old, self.model.new
        for (a, slot, _), (b, same, _) in zip(old.operand_edges[one][:8], new.operand_edges[other][:8], strict=False):
            if slot == same and may_pair(old, new, a, b):
                yield a, b
        for a, slot, _ in old.uses[one][:8]:
            for b, same, _ in new.uses[other][:8]:
                if slot == same and old.labels[STRUCTURE][a] == new.labels[STRUCTURE][b]:
                    yield a, b
