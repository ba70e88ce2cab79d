"""Tuples and loops whose elements have other numbers, as far as it is known which element is which.

`element_matches.py` finds that out. Elements are taken by `get-tuple-element` in compiled programs; in StableHLO an
operand says which result it reads.
"""

from __future__ import annotations

from dataclasses import replace

from hlodiff.differ.instruction_matches import Elements, InstructionMap, MatchGraph
from hlodiff.differ.operands import keeps_operands, same_value
from hlodiff.differ.result import FieldChange
from hlodiff.hlo.model import Instruction

_ELEMENT = "get-tuple-element"
_INDEX = "attribute:index"
CARRIERS = frozenset(["while", "call"])
"""Opcodes that may pass on the tuple they are given."""
RETURNS = frozenset(["tuple", "return"])
"""Opcodes whose operands are the elements that a computation returns."""


def hands_on(side: MatchGraph, it: Instruction) -> bool:
    """Whether an instruction yields the elements that it is given: a loop, or a call with one tuple."""
    return it.opcode == "while" or (it.opcode == "call" and takes_tuple(side, it))


def takes_tuple(side: MatchGraph, it: Instruction) -> bool:
    """Whether its only operand is a tuple of the type that it yields."""
    return bool(
        len(it.operands) == 1
        and it.shape.tuple_shapes
        and side.computation.instructions[it.operands[0]].shape == it.shape
    )


def number_of_elements(side: MatchGraph, position: int) -> int:
    """The number of elements of a loop."""
    return len(side.computation.instructions[position].shape.tuple_shapes) or 1


def of_tuple(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, one: int, other: int) -> Elements | None:
    """Matches of the elements of two matched tuples if operands were added and removed with edits of their own.

    The kept operands are the same elements. None if they are not tuples, or have other values.
    """
    ours, theirs = old.computation.instructions[one], new.computation.instructions[other]
    if ours.opcode not in RETURNS or theirs.opcode != ours.opcode or pairing.old[one] != other:
        return None
    if not keeps_operands(old, new, pairing, one):
        return None
    before = [n for n, operand in enumerate(ours.operands) if pairing.old[operand] >= 0]
    after = [n for n, operand in enumerate(theirs.operands) if pairing.new[operand] >= 0]
    return dict(zip(before, after, strict=True))


def keeps_elements(
    old: MatchGraph, new: MatchGraph, pairing: InstructionMap, position: int, elements: Elements
) -> bool:
    """Whether a loop or a tuple is made of the same elements, except those added or removed by an edit."""
    ours, theirs = old.operands[position], new.operands[pairing.old[position]]
    opcode = old.computation.instructions[position].opcode
    if opcode == "while":  # captured values are apart
        sizes = number_of_elements(old, position), number_of_elements(new, pairing.old[position])
        ours, theirs = ours[: sizes[0]], theirs[: sizes[1]]
    if not all(same_value(old, new, pairing, ours[a], theirs[b]) for a, b in elements.items()):
        return False
    left = [
        (side.computation.instructions[slot[0]].opcode, matched[slot[0]])
        for side, slots, matched, kept in (
            (old, ours, pairing.old, set(elements)),
            (new, theirs, pairing.new, set(elements.values())),
        )
        for n, slot in enumerate(slots)
        if n not in kept
    ]
    # A parameter of a body, which comes and goes with the loop, has no edit of its own that could name what returns it.
    return all(matched < 0 and (opcode not in RETURNS or other != "parameter") for other, matched in left)


def renumbered(it: Instruction, elements: Elements) -> Instruction:
    """An instruction with the types and attributes of its elements in their new order, if none was added or removed."""
    shapes = it.shape.tuple_shapes
    is_return = it.opcode == "return"
    numbered = {f"result{a}": f"result{b}" for a, b in elements.items()}
    attributes = [(name, *name.partition(".")) for name, _ in it.attributes]
    if not is_return and len(elements) == len(shapes) and set(elements.values()) == {*elements}:
        back = {b: a for a, b in elements.items()}
        it = replace(it, shape=replace(it.shape, tuple_shapes=tuple(shapes[back[n]] for n in range(len(shapes)))))
    if any(first in numbered for _, first, _, _ in attributes):
        names = [numbered.get(first, first) + dot + rest for _, first, dot, rest in attributes]
        pairs = zip(names, (value for _, value in it.attributes), strict=True)
        it = replace(it, attributes=tuple(pairs))
    return it


def match_elements(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, source: int, elements: Elements) -> None:
    """Match get-tuple-elements of a tuple by element, replacing earlier matches.

    Args:
        old, new, pairing: two computations.
        source: the old position of the matched tuple.
        elements: its elements.
    """
    ours, theirs = _element_users(old, source), _element_users(new, pairing.old[source])
    for number, positions in ours.items():
        for one, other in zip(positions, theirs.get(elements.get(number, -1), ()), strict=False):
            if pairing.old[one] != other:
                if pairing.old[one] >= 0:
                    pairing.remove(one)
                if pairing.new[other] >= 0:
                    pairing.remove(pairing.new[other])
                pairing.add(one, other, "tuple:element")


def _element_users(side: MatchGraph, source: int) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for user, _, _ in side.uses[source]:
        number = element_of(side.computation.instructions[user])
        if number is not None:
            found.setdefault(number, []).append(user)
    return found


def are_all_known(old: MatchGraph, new: MatchGraph, pairing: InstructionMap, source: int, elements: Elements) -> bool:
    """Whether all matched get-tuple-elements of a tuple take one of these elements, on both sides."""
    back = {after: before for before, after in elements.items()}
    sides = (old, new, source, pairing.old, elements), (new, old, pairing.old[source], pairing.new, back)
    for side, others, tuple_, mapping, known in sides:
        for number, positions in _element_users(side, tuple_).items():
            for matched in (mapping[one] for one in positions):
                theirs = element_of(others.computation.instructions[matched]) if matched >= 0 else None
                if theirs is not None and (number not in known or theirs not in known.values()):
                    return False
    return True


def element_of(it: Instruction) -> int | None:
    """The number of the element that a get-tuple-element takes; None for other instructions."""
    text = it.attribute("index") if it.opcode == _ELEMENT else None
    return int(text) if text is not None and text.isdigit() else None


def with_elements(
    changes: list[FieldChange], one: Instruction, other: Instruction, elements: Elements
) -> list[FieldChange]:
    """Changes of two matched get-tuple-elements, without a changed number of the same element.

    Args:
        changes: the changes by number.
        one, other: a get-tuple-element and its match.
        elements: of the tuple.
    """
    kept = [change for change in changes if change.field != _INDEX]
    before, after = element_of(one), element_of(other)
    if before is None or after is None:
        return changes
    if elements.get(before) == after:
        return kept
    return [*kept, FieldChange(_INDEX, str(before), str(after))]
