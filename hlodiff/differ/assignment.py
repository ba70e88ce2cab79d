"""Pairs what no unique evidence paired: the assignment of least cost among free instructions of one neighbourhood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hlodiff.differ.limits import Limits
from hlodiff.differ.match_graph import ANY, OWN, STRUCTURE, TYPE, VALUE, InstructionMap, MatchGraph

_ROUNDS = 4


def assign(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, limits: Limits) -> bool:
    """Pair free instructions that share an opcode or a type and a paired neighbour, best pairs first.

    A pair costs one edit, two free instructions cost two, so any pair that keeps its neighbours is worth it.

    Args:
        old, new: the two computations.
        pairing: what is paired so far; pairs are added.
        limits: how many instructions may be left over; many more are unrelated programs, where pairs mean little.

    Returns:
        False where there were too many free instructions to look at.
    """
    for _ in range(_ROUNDS):
        olds, news = pairing.free_old(), pairing.free_new()
        if not olds or not news:
            return True
        if max(len(olds), len(news)) > limits.assignment:
            return False
        if not _assign_once(old, new, pairing, olds, news):
            return True
    return True


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
