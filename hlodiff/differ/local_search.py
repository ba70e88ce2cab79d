"""Second thoughts: re-pairs edited instructions wherever that makes the script shorter.

Evidence pairs most instructions rightly, but where several edits touch, an early pair can block a better one. This is
a local search over the few instructions that cost anything. A move gives an old instruction another partner or none;
their former partners go to each other where that is cheaper. Where no single move helps, a chain of them may: what a
move displaced, or what it put beside a neighbour that does not fit, moves next (ejection chains, Glover 1996, as
Kernighan and Lin 1970 did for partitions). Chains stay among neighbours, so that the work grows with the number of
edits and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hlodiff.differ.cost_model import EDIT, CostModel
from hlodiff.differ.limits import Limits
from hlodiff.differ.match_graph import ANY, EXACT, OWN, STRUCTURE, TYPE, VALUE, InstructionMap, MatchGraph

# A value with more uses than this says little about any one of them.
_BUSY = 40
# Of one label, at most so many on the other side are worth a look wherever they stand.
_COMMON = ((EXACT, 24), (OWN, 24), (VALUE, 16), (STRUCTURE, 8), (TYPE, 6))


def may_pair(old: MatchGraph, new: MatchGraph, one: int, other: int) -> bool:
    """True where two instructions share an opcode or a type, and both or neither are calls or parameters."""
    if old.labels[ANY][one] != new.labels[ANY][other]:
        return False
    if _is_unnumbered_parameter(old, one) != _is_unnumbered_parameter(new, other):
        return False
    return any(old.labels[level][one] == new.labels[level][other] for level in (STRUCTURE, TYPE))


def may_replace(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> bool:
    """True where two that are free have nothing in common but how many operands they have and who reads them."""
    if old.labels[ANY][one] != new.labels[ANY][other] or max(pairing.old[one], pairing.new[other]) >= 0:
        return False
    arity = len(old.slots[one])
    return 0 < arity == len(new.slots[other]) and len(old.uses[one]) == len(new.uses[other])


def _is_unnumbered_parameter(side: MatchGraph, position: int) -> bool:
    return side.computation.instructions[position].opcode == "parameter"


def candidates(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, olds: Sequence[int], news: Sequence[int], most: int
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
        scored = sorted((-similarity(old, new, pairing, one, other), n, other) for n, other in enumerate(fitting))
        found[one] = [other for _, _, other in scored[:most]]
    return found


def _is_worth(old: MatchGraph, new: MatchGraph, wanted: set[int], one: int, other: int) -> bool:
    """What is part of no edit is asked to give up its partner only for its equal."""
    return other in wanted or old.labels[OWN][one] == new.labels[OWN][other]


def _by_label(side: MatchGraph, positions: Iterable[int], level: int) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for position in positions:
        places.setdefault(side.labels[level][position], []).append(position)
    return places


def _near(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int) -> Iterator[int]:
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


def _sources(side: MatchGraph, partners: Sequence[int], position: int) -> Iterator[int]:
    """Paired operands, and those of free operands."""
    for operand, _, _ in side.slots[position][:_BUSY]:
        if partners[operand] >= 0:
            yield operand
        else:
            yield from (n for n, _, _ in side.slots[operand][:_BUSY] if partners[n] >= 0)


def _users(side: MatchGraph, partners: Sequence[int], position: int) -> Iterator[int]:
    """Paired users, and those of free users."""
    for user, _, _ in side.uses[position][:_BUSY]:
        if partners[user] >= 0:
            yield user
        else:
            yield from (n for n, _, _ in side.uses[user][:_BUSY] if partners[n] >= 0)


def similarity(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> float:
    """How much two instructions have in common, in what they are and in what stands around them."""
    same = [old.labels[level][one] == new.labels[level][other] for level in (EXACT, OWN, VALUE, STRUCTURE, TYPE)]
    neighbours = _shared_operands(old.uses[one], new.uses[other], pairing) + _shared_operands(
        old.slots[one], new.slots[other], pairing
    )
    free = _both_free(old, new, pairing, one, other)
    weights = (1.0, 4.0, 3.0, 3.0, 1.0)
    return sum(w * s for w, s in zip(weights, same, strict=True)) + 2.0 * neighbours + 0.5 * free


def _shared_operands(
    olds: Sequence[tuple[int, int, int]], news: Sequence[tuple[int, int, int]], pairing: InstructionMap
) -> float:
    """Paired neighbours in the same slot, as a share of the larger neighbourhood."""
    ours = [(pairing.old[o], slot) for o, slot, _ in olds[:_BUSY] if pairing.old[o] >= 0]
    if not ours:
        return 0.0
    return _in_both(ours, [(n, slot) for n, slot, _ in news[:_BUSY]]) / max(len(olds), len(news))


def _both_free(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> int:
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


_FREE = -1
Move = tuple[int, int]
"""An old instruction and its new partner; _FREE for none."""
# How many candidates of one instruction are looked at, and how many steps of a chain; long ones only from operands
# that do not fit, where a whole path may be paired one off.
_CANDIDATES = 8
_DEPTHS = (0, 3, 6)
_LONG = 6
_ROUNDS = 6
_FOLLOWERS = 24
# What a chain may cost on its way: of all that ended well on the corpus none was dearer by more than two edits and a
# half.
_DEAREST = 3 * EDIT
# Beyond this many edited instructions the work does not grow: programs of unrelated compilers, where the shortest list
# is no better story.
_MANY = 200
# And where they are most of two computations, there is no story to find: what is found at once is enough.
_UNLIKE = 20


def local_search(ledger: CostModel, limits: Limits) -> bool:
    """Re-pair edited instructions while that saves edits.

    Args:
        ledger: the pairing of two computations, which is changed in place.
        limits: how much may be tried.

    Returns:
        False where the search ended because of a limit.
    """
    if not ledger.total:
        return True
    search = _LocalSearch(ledger, limits)
    return all(search.run(depth) for depth in _DEPTHS)


@dataclass(slots=True)
class _LocalSearch:
    """One local search."""

    ledger: CostModel
    limits: Limits
    olds: dict[int, list[int]] = field(default_factory=dict)
    news: dict[int, list[int]] = field(default_factory=dict)

    def run(self, depth: int) -> bool:
        """Try every candidate until a round finds nothing; False where a limit ended that."""
        for _ in range(_ROUNDS):
            olds, news = self._edited()
            if not olds:
                return True
            limit = self.ledger.work + self.limits.search * self._worth(len(olds) + len(news))
            self._look_around(olds, news)
            improved = False
            for one, other in self._moves(olds, depth):
                improved |= self._try(one, other, depth)
                if self.ledger.work > limit:
                    return False
            if not improved:
                return True
        return True

    def _worth(self, edited: int) -> int:
        """How many edited instructions the effort grows with."""
        is_unlike = edited > _MANY and 2 * edited > self.ledger.old.size + self.ledger.new.size
        return _UNLIKE if is_unlike else min(edited, _MANY)

    def _edited(self) -> tuple[list[int], list[int]]:
        """Old and new instructions that are part of an edit, and operands that do not fit."""
        ledger, pairing = self.ledger, self.ledger.pairing
        olds = {n for n in range(ledger.old.size) if ledger.prices[0][n]}
        news = {n for n, partner in enumerate(pairing.new) if partner < 0}
        for one in sorted(olds):
            if pairing.old[one] < 0:
                continue
            news.add(pairing.old[one])
            for a, b in self._misfits(one, pairing.old[one]):
                olds |= {a, pairing.new[b]} - {-1}
                news |= {b, pairing.old[a]} - {-1}
        return sorted(olds), sorted(news)

    def _misfits(self, one: int, other: int) -> Iterator[Move]:
        """Operands of a pair that are not partners although they stand in the same slot."""
        partners = self.ledger.pairing.old
        for (a, _, _), (b, _, _) in zip(self.ledger.old.slots[one], self.ledger.new.slots[other], strict=False):
            if partners[a] != b:
                yield a, b

    def _is_rewired(self, one: int) -> bool:
        return self.ledger.pairing.old[one] >= 0 and self.ledger.is_rewired(one)

    def _look_around(self, olds: Sequence[int], news: Sequence[int]) -> None:
        ledger = self.ledger
        pairing = ledger.pairing
        self.olds = candidates(ledger.old, ledger.new, pairing, olds, news, _CANDIDATES)
        free = [n for n in news if pairing.new[n] < 0]
        turned = InstructionMap(pairing.new, pairing.old, {})
        for other, ones in candidates(ledger.new, ledger.old, turned, free, olds, _CANDIDATES).items():
            for one in ones:
                if other not in self.olds.setdefault(one, []):
                    self.olds[one].append(other)
        self.news = {}
        for rank in range(_CANDIDATES):
            for one, others in self.olds.items():
                if rank < len(others):
                    self.news.setdefault(others[rank], []).append(one)

    def _moves(self, olds: Sequence[int], depth: int) -> Iterator[Move]:
        """The likeliest pairs first; then going without a partner."""
        starts = [n for n in self.olds if depth < _LONG or self._is_rewired(n)]
        for rank in range(2 * _CANDIDATES):
            for one in starts:
                if rank < len(self.olds[one]):
                    yield one, self.olds[one][rank]
        edited = set(olds)
        yield from ((one, _FREE) for one in starts if one in edited)

    def _try(self, one: int, other: int, depth: int) -> bool:
        """Make a move and what follows from it; keep it where the whole gets cheaper."""
        ledger = self.ledger
        if ledger.pairing.old[one] == other:
            return False
        mark = ledger.mark()
        start = ledger.total
        fixed: tuple[set[int], set[int]] = (set(), set())
        move: Move | None = (one, other)
        loose: list[Move] = []
        made: list[Move] = []
        reach = _LONG if depth == _LONG else 1
        while move is not None:
            loose = self._apply(move, fixed) + loose
            made.insert(0, move)
            total = ledger.settle()
            if total < start:
                ledger.forget()
                return True
            if depth == 0 or total > start + _DEAREST:
                break
            depth -= 1
            move = self._best(made[:reach], loose, fixed)
        ledger.rollback(mark)
        return False

    def _apply(self, move: Move, fixed: tuple[set[int], set[int]]) -> list[Move]:
        """Make a move; what it displaced goes together where that is cheaper. Returns what is loose then."""
        ledger, pairing = self.ledger, self.ledger.pairing
        one, other = move
        fixed[0].add(one)
        a, b = (pairing.new[other] if other >= 0 else -1), pairing.old[one]
        if b >= 0:
            ledger.unlink(one)
        if a >= 0:
            ledger.unlink(a)
        if other >= 0:
            fixed[1].add(other)
            ledger.link(one, other)
        if a >= 0 and b >= 0 and may_pair(ledger.old, ledger.new, a, b):
            mark = ledger.mark()
            ledger.link(a, b)
            if ledger.settle() <= mark[2]:
                return []
            ledger.rollback(mark)
        return [(a, b)] if max(a, b) >= 0 else []

    def _best(self, made: Iterable[Move], loose: Iterable[Move], fixed: tuple[set[int], set[int]]) -> Move | None:
        """The cheapest next step of a chain; None where there is none."""
        ledger = self.ledger
        found: tuple[int, Move] | None = None
        tried: set[Move] = set()
        for move in self._followers(made, loose):
            one, other = move
            if move in tried or one in fixed[0] or other in fixed[1]:
                continue
            if len(tried) == _FOLLOWERS:
                break
            tried.add(move)
            mark = ledger.mark()
            self._apply(move, (set(), set()))
            total = ledger.settle()
            ledger.rollback(mark)
            if found is None or total < found[0]:
                found = total, move
        return found[1] if found else None

    def _followers(self, made: Iterable[Move], loose: Iterable[Move]) -> Iterator[Move]:
        """New partners for what is loose, and pairs of neighbours of what moved, the last first."""
        pairing = self.ledger.pairing
        for one, other in loose:
            if one >= 0:
                yield from ((one, n) for n in self.olds.get(one, ()) if pairing.old[one] != n)
            if other >= 0:
                yield from ((n, other) for n in self.news.get(other, ()) if pairing.old[n] != other)
        for last in made:
            if last[1] >= 0:
                yield from (move for move in self._beside(*last) if pairing.old[move[0]] != move[1])

    def _beside(self, one: int, other: int) -> Iterator[Move]:
        """Operands in the same slot, and users of one opcode in the same slot."""
        old, new = self.ledger.old, self.ledger.new
        for (a, slot, _), (b, same, _) in zip(old.slots[one][:8], new.slots[other][:8], strict=False):
            if slot == same and may_pair(old, new, a, b):
                yield a, b
        for a, slot, _ in old.uses[one][:8]:
            for b, same, _ in new.uses[other][:8]:
                if slot == same and old.labels[STRUCTURE][a] == new.labels[STRUCTURE][b]:
                    yield a, b
