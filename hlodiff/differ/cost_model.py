"""What a pairing costs, in edits, kept up to date while a search changes it; every change can be taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hlodiff.differ.fields import field_changes
from hlodiff.differ.loop_state import Elements, element_of, with_elements
from hlodiff.differ.match_graph import CALLS, EXACT, OWN, InstructionMap, MatchGraph
from hlodiff.differ.operands import Blind, operands_changed, same_operands_in_any_order, same_value
from hlodiff.differ.parameters import Expectation
from hlodiff.hlo.model import Computation, Instruction

# One edit outweighs any number of fields: of two scripts of one length the one that changes fewer fields is better.
EDIT = 1000
_FIELD = 10
# Of two scripts of one length that change as many fields, the one in which operations stay what they are is better.
_OPCODE = 5
# A body is what it is, wherever it is called: two that swapped their places are not two that became each other, though
# that may be an edit less.
_BODY = 600
# Operands looked at while prices are worked out that take as long as one price does.
_STEPS = 100
# How far a value is followed through instructions without partner to see whose cost may change.
_FAR = 256


@dataclass(slots=True)
class Bodies:
    """What each computation of a module holds: how many instructions of each kind, parameters apart.

    Counted when first asked for: computations of equal content are never opened, and most are equal.

    Args:
        computation: what stands at an index.
        hashes: of the content of each.
    """

    computation: Callable[[int], Computation]
    hashes: Sequence[str]
    _counted: dict[int, Counter[object]] = field(default_factory=dict)

    def __getitem__(self, computation: int) -> Counter[object]:
        if computation not in self._counted:
            instructions = self.computation(computation).instructions
            held = Counter[object](_kind(it) for it in instructions if it.opcode != "parameter")
            self._counted[computation] = held
        return self._counted[computation]


# What noise spells in many ways; `_kind` looks at programs as they were read too.
_SPELLED = frozenset(["backend_config", "frontend_attributes", "sharding", "replica_groups", "channel_id"])


def _kind(it: Instruction) -> object:
    literal = it.literal if it.opcode == "constant" and not it.shape.dimensions else None
    return it.opcode, it.shape, literal, tuple(sorted(pair for pair in it.attributes if pair[0] not in _SPELLED))


def _distance(bodies: tuple[Bodies, Bodies], old: int, new: int) -> int:
    """At least how many edits make one computation of another."""
    if bodies[0].hashes[old] == bodies[1].hashes[new]:
        return 0
    ours, theirs = bodies[0][old], bodies[1][new]
    return max((ours - theirs).total(), (theirs - ours).total(), 1)


class CostModel:
    """A pairing and the price of each of its instructions.

    Args:
        old, new: the two computations.
        pairing: changed in place, through `link` and `unlink`.
        bodies: of both modules, to know what pairing two calls will cost inside.
        expected: what is outside says of the parameters.
        elements: of tuples, by their old positions, which element is which where numbers changed.
        blind: for a fusion, equal on both sides, what to ask whether it can tell its operands in another order apart.

    `total` is the price of the whole (a root that is another instruction now included).
    """

    def __init__(
        self,
        old: MatchGraph,
        new: MatchGraph,
        pairing: InstructionMap,
        bodies: tuple[Bodies, Bodies],
        expected: Expectation,
        elements: Mapping[int, Elements],
        blind: Callable[[Instruction, Instruction], Blind | None],
    ) -> None:
        self.old, self.new, self.pairing, self.bodies, self._expected = old, new, pairing, bodies, expected
        self._parameters = old.computation.parameters()
        self._is_parameter = [it.opcode == "parameter" and not it.operands for it in old.computation.instructions]
        self._exact = old.labels[EXACT], new.labels[EXACT]
        self._elements, self._blind = elements, blind
        self._priced = self._walked = 0
        self._size = old.size
        self._prices_alone: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._own: dict[tuple[int, int], tuple[int, int]] = {}
        self._dirty: tuple[set[int], set[int]] = (set(), set())
        self._links: list[tuple[int, int, str]] = []
        self._known: list[tuple[int, int, int]] = []
        self.prices = [self.price(n) for n in range(old.size + 2)], [self.price_of_new(n) for n in range(new.size)]
        self.total = sum(map(sum, self.prices))

    @property
    def work(self) -> int:
        """The measure of effort: prices that were worked out, and the walks along operands that this took."""
        return self._priced + (self._walked + self.pairing.walked) // _STEPS

    def link(self, one: int, other: int, matcher: str = "repair") -> None:
        """Pair two instructions that are free."""
        self._touch(one, other)
        self.pairing.add(one, other, matcher)
        self._links.append((one, -1, ""))

    def unlink(self, one: int) -> None:
        """Free both sides of a pair."""
        other = self.pairing.old[one]
        self._links.append((one, other, self.pairing.matchers[one]))
        self.pairing.remove(one)
        self._touch(one, other)

    def mark(self) -> tuple[int, int, int]:
        """A point to go back to; prices are settled first."""
        self.settle()
        return len(self._links), len(self._known), self.total

    def rollback(self, mark: tuple[int, int, int]) -> None:
        """Take back every change since a mark."""
        while len(self._links) > mark[0]:
            one, other, matcher = self._links.pop()
            if other < 0:
                self.pairing.remove(one)
            else:
                self.pairing.add(one, other, matcher)
        while len(self._known) > mark[1]:
            which, position, price = self._known.pop()
            self.prices[which][position] = price
        self.total = mark[2]
        for dirty in self._dirty:
            dirty.clear()

    def forget(self) -> None:
        """What was done so far stays done."""
        self.settle()
        self._links.clear()
        self._known.clear()

    def settle(self) -> int:
        """The price of the whole, with every change so far."""
        for which, price in enumerate((self.price, self.price_of_new)):
            dirty = self._dirty[which]
            if not dirty:
                continue
            prices = self.prices[which]
            for position in dirty:
                before, after = prices[position], price(position)
                if before != after:
                    self._known.append((which, position, before))
                    prices[position] = after
                    self.total += after - before
            dirty.clear()
        return self.total

    def price(self, position: int) -> int:
        """Of an old instruction with its partner, what is inside of what they call included."""
        self._priced += 1
        if position >= self._size:
            return self._price_of_root() if position == self._size else self._price_of_call()
        partner = self.pairing.old[position]
        if partner < 0:
            return self._price_alone(self.old, position, 0)
        inside, own = self._pair(position, partner)
        if self._is_parameter[position]:
            return own if self._expected.fits(position, partner) else own + self._price_of_misfit()
        if self.is_rewired(position):
            own = max(own, EDIT) + _FIELD
        return inside + own

    def _price_of_root(self) -> int:
        """Counted as one more user of the root: another instruction is the result now."""
        roots = (self.old.computation.root, 0), (self.new.computation.root, 0)
        return 0 if same_value(self.old, self.new, self.pairing, *roots) else EDIT

    def _price_of_misfit(self) -> int:
        return 2 * _FIELD + (EDIT if self._expected.edits is None else 0)

    def _price_of_call(self) -> int:
        """One edit of the call tells of all parameters that are not what they were."""
        edits = self._expected.edits or 0
        pairs = ((one, self.pairing.old[one]) for one in self._parameters if edits)
        return EDIT * edits if any(other >= 0 and not self._expected.fits(one, other) for one, other in pairs) else 0

    def price_of_new(self, position: int) -> int:
        """Of a new instruction that has no partner."""
        return self._price_alone(self.new, position, 1) if self.pairing.new[position] < 0 else 0

    def is_rewired(self, position: int) -> bool:
        """True where the operands of a paired instruction are not the partners of what they were."""
        old, new, pairing = self.old, self.new, self.pairing
        partners = pairing.old
        partner = partners[position]
        ours, theirs = old.operands[position], new.operands[partner]
        if len(ours) == len(theirs):
            for (a, result), (b, other) in zip(ours, theirs, strict=True):
                if partners[a] != b or result != other:
                    break
            else:
                return False
        if self._is_opened(position, partner):
            return not same_operands_in_any_order(old, new, pairing, position)
        calls = old.computation.instructions[position], new.computation.instructions[partner]
        return operands_changed(old, new, pairing, position, None, self._blind(*calls))

    def _is_opened(self, position: int, partner: int) -> bool:
        """True for calls of computations that differ: their operands correspond as the parameters inside do."""
        is_call = self.old.computation.instructions[position].opcode in CALLS
        return is_call and self.old.labels[EXACT][position] != self.new.labels[EXACT][partner]

    def _pair(self, position: int, partner: int) -> tuple[int, int]:
        """What two instructions cost as partners, whatever their operands: inside of what they call, and themselves."""
        below = self.old.slots[position] if self._elements else ()
        elements = self._elements.get(below[0][0]) if below else None
        if self._exact[0][position] == self._exact[1][partner] and elements is None:
            return 0, 0
        if (position, partner) not in self._own:
            one = self.old.computation.instructions[position]
            other = self.new.computation.instructions[partner]
            same = self.old.labels[OWN][position] == self.new.labels[OWN][partner]
            fields = len(field_changes(one, other))
            if elements is not None and element_of(one) is not None:
                fields = len(with_elements(field_changes(one, other), one, other, elements))
                same = not fields
            own = 0 if same else EDIT + _FIELD * fields + _OPCODE * (one.opcode != other.opcode)
            inside = self._inside(one, other)
            self._own[position, partner] = EDIT * inside + _BODY * (inside > 0), own
        return self._own[position, partner]

    def _inside(self, one: Instruction, other: Instruction) -> int:
        if one.opcode in CALLS:
            return sum(_distance(self.bodies, a, b) for a, b in zip(one.called, other.called, strict=False))
        if one.calls and other.calls:
            return 0
        # What is applied to elements comes or goes with the one that applies it.
        return sum(
            bodies[n].total() for it, bodies in ((one, self.bodies[0]), (other, self.bodies[1])) for n in it.called
        )

    def _price_alone(self, side: MatchGraph, position: int, which: int) -> int:
        """Of an instruction that came or went, with all it calls."""
        found = self._prices_alone[which].get(position)
        if found is None:
            it = side.computation.instructions[position]
            weight = 1 + sum(self.bodies[which][callee].total() for callee in it.called if it.opcode in CALLS)
            found = self._prices_alone[which][position] = EDIT * weight
        return found

    def _touch(self, one: int, other: int) -> None:
        """Notes whose price may depend on these: users, through free instructions on to theirs."""
        olds, news = self._dirty
        news.add(other)
        if self._expected.edits and not self.old.slots[one]:
            olds.add(self._size + 1)
        above = self._above(self.new, self.pairing.new, other)
        olds.update(self._above(self.old, self.pairing.old, one))
        if self.old.computation.root in olds or self.new.computation.root in above:
            olds.add(self._size)
        olds.update(self.pairing.new[n] for n in above if self.pairing.new[n] >= 0)

    def _above(self, side: MatchGraph, partners: Sequence[int], start: int) -> list[int]:
        found = [start, *side.users[start]]
        if not any(partners[user] < 0 for user in side.users[start]):
            return found
        seen = set(found)
        for position in found:
            if partners[position] < 0 and position != start and len(found) < _FAR:
                for user in side.users[position]:
                    if user not in seen:
                        seen.add(user)
                        found.append(user)
                self._walked += len(side.users[position])
        return found
