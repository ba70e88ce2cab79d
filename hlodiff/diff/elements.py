"""Elements of tuples that a loop carries: one more or less shifts the numbers of all others, which is no edit.

The elements that the loop begins with say which is which: those that survived, in order. What the loop hands on is
numbered alike in its result, in the parameters of its body and of its condition, and in what the body returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlodiff.diff.features import Pairing, Side
from hlodiff.diff.operands import keeps_operands
from hlodiff.diff.result import FieldChange
from hlodiff.ir.model import Instruction

Elements = Mapping[int, int]
"""New numbers of a tuple's elements by old ones; those that came or went are in none."""
_ELEMENT = "get-tuple-element"
_INDEX = "attribute:index"


def carried(old: Side, new: Side, pairing: Pairing) -> dict[int, Elements]:
    """For each paired loop, by its old position, which of its elements is which where their numbers changed."""
    found: dict[int, Elements] = {}
    for position, partner in enumerate(pairing.old):
        it = old.computation.instructions[position]
        if it.opcode != "while" or partner < 0 or len(it.operands) != 1:
            continue
        other = new.computation.instructions[partner]
        if other.opcode == "while" and len(it.shape.tuple_shapes) != len(other.shape.tuple_shapes):
            elements = of_tuple(old, new, pairing, it.operands[0], other.operands[0])
            if elements is not None:
                found[position] = elements
    return found


def of_tuple(old: Side, new: Side, pairing: Pairing, one: int, other: int) -> Elements | None:
    """Which element of a tuple is which of its partner; None where they are no tuples.

    Where operands came and went with edits of their own, those that stayed are the same elements; where a value that
    was there before is handed on besides, as many as fit in order.
    """
    ours, theirs = old.computation.instructions[one], new.computation.instructions[other]
    if ours.opcode != "tuple" or theirs.opcode != "tuple" or pairing.old[one] != other:
        return None
    if not keeps_operands(old, new, pairing, one):
        return _in_order([pairing.old[operand] for operand in ours.operands], theirs.operands)
    before = [n for n, operand in enumerate(ours.operands) if pairing.old[operand] >= 0]
    after = [n for n, operand in enumerate(theirs.operands) if pairing.new[operand] >= 0]
    return dict(zip(before, after, strict=True))


def _in_order(ours: Sequence[int], theirs: Sequence[int]) -> Elements:
    """The longest common subsequence of two lists of instructions, by numbers."""
    lengths = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for a in reversed(range(len(ours))):
        for b in reversed(range(len(theirs))):
            same = ours[a] == theirs[b]
            lengths[a][b] = lengths[a + 1][b + 1] + 1 if same else max(lengths[a + 1][b], lengths[a][b + 1])
    found: dict[int, int] = {}
    a = b = 0
    while a < len(ours) and b < len(theirs):
        if ours[a] == theirs[b]:
            found[a] = b
            a, b = a + 1, b + 1
        elif lengths[a + 1][b] >= lengths[a][b + 1]:
            a += 1
        else:
            b += 1
    return found


def pair_elements(old: Side, new: Side, pairing: Pairing, source: int, elements: Elements) -> None:
    """Pair what takes a tuple apart by which element it takes, whatever it was paired with.

    Args:
        old, new, pairing: two computations.
        source: the old position of the tuple, which has a partner.
        elements: its elements.
    """
    ours, theirs = _takers(old, source), _takers(new, pairing.old[source])
    for number, positions in ours.items():
        for one, other in zip(positions, theirs.get(elements.get(number, -1), ()), strict=False):
            if pairing.old[one] != other:
                if pairing.old[one] >= 0:
                    pairing.remove(one)
                if pairing.new[other] >= 0:
                    pairing.remove(pairing.new[other])
                pairing.add(one, other, "tuple:element")


def _takers(side: Side, source: int) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for user, _, _ in side.uses[source]:
        number = element_of(side.computation.instructions[user])
        if number is not None:
            found.setdefault(number, []).append(user)
    return found


def are_all_known(old: Side, new: Side, pairing: Pairing, source: int, elements: Elements) -> bool:
    """Whether what takes a tuple apart and has a partner takes one of these elements."""
    for number, positions in _takers(old, source).items():
        for partner in (pairing.old[one] for one in positions):
            after = element_of(new.computation.instructions[partner]) if partner >= 0 else None
            if after is not None and (number not in elements or after not in elements.values()):
                return False
    return True


def element_of(it: Instruction) -> int | None:
    """The number of the element that a get-tuple-element takes; None for everything else."""
    text = it.attribute("index") if it.opcode == _ELEMENT else None
    return int(text) if text is not None and text.isdigit() else None


def with_elements(
    changes: list[FieldChange], one: Instruction, other: Instruction, elements: Elements
) -> list[FieldChange]:
    """The changes of two that take a tuple apart, where numbers mean elements: another number may be the same element.

    Args:
        changes: as they are by number.
        one, other: a get-tuple-element and its partner.
        elements: of the tuple.
    """
    kept = [change for change in changes if change.field != _INDEX]
    before, after = element_of(one), element_of(other)
    if before is None or after is None:
        return changes
    if elements.get(before) == after:
        return kept
    return [*kept, FieldChange(_INDEX, str(before), str(after))]
