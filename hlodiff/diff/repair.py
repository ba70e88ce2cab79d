"""Second thoughts: re-pairs edited instructions wherever that makes the script shorter.

Evidence pairs most instructions rightly, but where several edits touch, an early pair can block a better one. This is
a local search (first improvement) over the few instructions that cost anything: pair an old one with another new one,
give their partners to each other, and keep it where the total cost falls. The cost is the number of edits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hlodiff.diff.features import ANY, CALLS, EXACT, OWN, STRUCTURE, TYPE, VALUE, Pairing, Side
from hlodiff.diff.operands import operands_changed, same_operands_in_any_order
from hlodiff.ir.model import Module

# One trial costs 30 to 100 us; computations with more edits than this are other programs, not edited ones.
_MOST_EDITED = 200
_MOST_TRIALS = 8000


@dataclass(slots=True)
class Bodies:
    """What each computation of a module holds: how many instructions of each opcode and shape, parameters apart.

    Counted when first asked for: computations of equal content are never opened, and most are equal.
    """

    module: Module
    _counted: dict[int, Counter[object]] = field(default_factory=dict)

    def __getitem__(self, computation: int) -> Counter[object]:
        if computation not in self._counted:
            instructions = self.module.computations[computation].instructions
            held = Counter[object]((it.opcode, it.shape) for it in instructions if it.opcode != "parameter")
            self._counted[computation] = held
        return self._counted[computation]


def repair(old: Side, new: Side, pairing: Pairing, bodies: tuple[Bodies, Bodies]) -> bool:
    """Re-pair edited instructions while that saves edits; False where there were too many to search through.

    Args:
        old, new: the two computations.
        pairing: changed in place.
        bodies: of both modules, to know what pairing two calls will cost inside.
    """
    search = _Search(old, new, pairing, bodies)
    trials = 0
    improved = True
    while improved and trials < _MOST_TRIALS:
        improved = False
        edited_old, edited_new = search.edited()
        if not edited_old or not edited_new:
            return True
        if max(len(edited_old), len(edited_new)) > _MOST_EDITED:
            return search.is_tight(edited_old)
        for one, other in _candidates(old, new, pairing, edited_old, edited_new):
            trials += 1
            if pairing.old[one] != other and not search.is_settled(one, other) and search.try_pair(one, other):
                improved = True
            if trials >= _MOST_TRIALS:
                return False
    return True


def _candidates(
    old: Side, new: Side, pairing: Pairing, olds: Sequence[int], news: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Pairs worth a trial: alike in what they do or yield; the most alike first."""
    for level in (EXACT, OWN, VALUE, STRUCTURE, TYPE):
        places: dict[int, list[int]] = {}
        for position in news:
            places.setdefault(new.labels[level][position], []).append(position)
        for one in olds:
            for other in places.get(old.labels[level][one], ()):
                if old.labels[ANY][one] == new.labels[ANY][other]:
                    yield one, other


class _Search:
    """The cost of a pairing, in edits, and what one change of it does to that cost."""

    def __init__(self, old: Side, new: Side, pairing: Pairing, bodies: tuple[Bodies, Bodies]) -> None:
        self.old, self.new, self.pairing, self.bodies = old, new, pairing, bodies

    def edited(self) -> tuple[list[int], list[int]]:
        """Old and new instructions that are part of an edit."""
        olds = [n for n in range(self.old.size) if self._cost(n)]
        news = [n for n, partner in enumerate(self.pairing.new) if partner < 0 or self._cost(partner)]
        return olds, news

    def is_tight(self, edited: Sequence[int]) -> bool:
        """True where other pairs could hardly save anything: no free instructions on both sides, nothing rewired."""
        if -1 in self.pairing.old and -1 in self.pairing.new:
            return False
        paired = (n for n in edited if self.pairing.old[n] >= 0 and self.old.slots[n])
        return not any(operands_changed(self.old, self.new, self.pairing, n, None, lambda _: False) for n in paired)

    def try_pair(self, one: int, other: int) -> bool:
        """Pair two instructions and their former partners with each other; keep it where that is cheaper."""
        touched = self._touched(one, other)
        olds, news = self._around(*touched)
        former = self._apply(one, other)
        more_olds, more_news = self._around(*touched)
        olds, news = olds | more_olds, news | more_news
        after = self._total(olds, news)
        self._restore(one, former)
        if after >= self._total(olds, news):
            return False
        self._apply(one, other)
        return True

    def is_settled(self, one: int, other: int) -> bool:
        """Calls that pair by all they call stay paired: a body is what it is, wherever it is called."""
        positions = (one, self.pairing.new[other])
        return any(self.pairing.matchers.get(n) == "exact:body" for n in positions)

    def _touched(self, one: int, other: int) -> tuple[set[int], set[int]]:
        return {one, self.pairing.new[other]} - {-1}, {other, self.pairing.old[one]} - {-1}

    def _apply(self, one: int, other: int) -> list[tuple[int, int, str]]:
        """Pair them, and their former partners where those are alike; returns the pairs that were undone."""
        pairing = self.pairing
        partners = pairing.new[other], pairing.old[one]
        former = [
            (n, pairing.old[n], pairing.matchers[n]) for n in (one, partners[0]) if n >= 0 and pairing.old[n] >= 0
        ]
        for position, _, _ in former:
            pairing.remove(position)
        pairing.add(one, other, "repair")
        if min(partners) >= 0 and self._may_pair(*partners):
            pairing.add(*partners, "repair")
        return former

    def _restore(self, one: int, former: list[tuple[int, int, str]]) -> None:
        for position in {one, *(n for n, _, _ in former)}:
            if self.pairing.old[position] >= 0:
                self.pairing.remove(position)
        for pair in former:
            self.pairing.add(*pair)

    def _may_pair(self, one: int, other: int) -> bool:
        alike = any(self.old.labels[level][one] == self.new.labels[level][other] for level in (STRUCTURE, TYPE))
        return alike and self.old.labels[ANY][one] == self.new.labels[ANY][other]

    def _total(self, olds: Iterable[int], news: Iterable[int]) -> int:
        free = sum(self._weight(self.new, n, 1) for n in news if self.pairing.new[n] < 0)
        return free + sum(self._cost(n) for n in olds)

    def _cost(self, position: int) -> int:
        """Edits of one old instruction, those inside what it calls included."""
        partner = self.pairing.old[position]
        if partner < 0:
            return self._weight(self.old, position, 0)
        one = self.old.computation.instructions[position]
        if one.opcode in CALLS and self.old.labels[EXACT][position] != self.new.labels[EXACT][partner]:
            own = self.old.labels[OWN][position] != self.new.labels[OWN][partner]
            moved = not same_operands_in_any_order(self.old, self.new, self.pairing, position)
            return int(own or moved) + self._inside(position, partner)
        if self.old.labels[OWN][position] != self.new.labels[OWN][partner]:
            return 1
        if not one.operands:
            return 0
        return int(operands_changed(self.old, self.new, self.pairing, position, None, lambda _: False))

    def _inside(self, position: int, partner: int) -> int:
        ours = self.old.computation.instructions[position].called
        theirs = self.new.computation.instructions[partner].called
        distance = 0
        for a, b in zip(ours, theirs, strict=False):
            x, y = self.bodies[0][a], self.bodies[1][b]
            distance += max((x - y).total(), (y - x).total())
        return distance

    def _weight(self, side: Side, position: int, which: int) -> int:
        it = side.computation.instructions[position]
        return 1 + sum(self.bodies[which][callee].total() for callee in it.called if it.opcode in CALLS)

    def _around(self, olds: set[int], news: set[int]) -> tuple[set[int], set[int]]:
        """Everything whose cost may depend on these: users, through free instructions on to theirs, and partners."""
        found_old, found_new = set(olds), set(news)
        waiting_old, waiting_new = list(olds), list(news)
        while waiting_old or waiting_new:
            if waiting_old:
                position = waiting_old.pop()
                fresh = {u for u, _, _ in self.old.uses[position]} - found_old
                found_old |= fresh
                waiting_old += [u for u in fresh if self.pairing.old[u] < 0]
            else:
                position = waiting_new.pop()
                fresh = {u for u, _, _ in self.new.uses[position]} - found_new
                found_new |= fresh
                waiting_new += [u for u in fresh if self.pairing.new[u] < 0]
        found_old |= {self.pairing.new[n] for n in found_new if self.pairing.new[n] >= 0}
        return found_old, found_new
