"""In what order a computation uses its parameters, seen from its root."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.ir.content import is_commutative
from hlodiff.ir.model import Computation

# Levels of operands that are looked at before hashes of everything below: an edit far down then seldom flips the
# order of two operands, and with it the numbers of all parameters. Measured in names.py.
_LEVELS = 3


def has_tie(computation: Computation, hashes: Sequence[bytes]) -> bool:
    """Whether some commutative operation has two operands that these hashes do not tell apart."""
    return any(
        is_commutative(it) and it.operands[0] != it.operands[1] and hashes[it.operands[0]] == hashes[it.operands[1]]
        for it in computation.instructions
    )


def first_uses(computation: Computation, deep: Sequence[Sequence[bytes]], *, by_number: bool) -> list[int]:
    """Parameter numbers, depth first from the root, then from the rest; operands of commutative operations by content.

    Args:
        computation: the computation, its parameters numbered 0, 1, 2.
        deep: hashes of its instructions, the next looked at where the one before tells no difference.
        by_number: twins that all these leave equal keep the order of their numbers; else that in which the operation
            has them, which stays whatever the parameters are numbered.

    Returns:
        Each number once.
    """
    number = {position: n for n, position in enumerate(computation.parameters())}
    order: list[int] = []
    seen: set[int] = set()
    for start in (computation.root, *number):
        stack = [start]
        while stack:
            position = stack.pop()
            if position in seen:
                continue
            seen.add(position)
            if position in number:
                order.append(number[position])
            it = computation.instructions[position]
            below: Sequence[int] = it.operands
            if len(below) == 2 and is_commutative(it):
                below = _in_order_of_content(computation, below, deep, number if by_number else {})
            stack.extend(reversed(below))
    return order


def _in_order_of_content(
    computation: Computation, both: Sequence[int], deep: Sequence[Sequence[bytes]], number: dict[int, int]
) -> Sequence[int]:
    """Two operands by the opcodes near them, then by all that is below; a step further only where that is equal."""
    one, other = both
    for level in range(_LEVELS):
        first, second = outline(computation, one, level), outline(computation, other, level)
        if first != second:
            return both if first < second else (other, one)
    keys = [(*(key[n] for key in deep), number.get(n, 0)) for n in both]
    return both if keys[0] <= keys[1] else (other, one)


def outline(computation: Computation, position: int, levels: int = _LEVELS) -> str:
    """The opcodes under an instruction down to some level, operands of bags sorted: `add(multiply,tanh)`."""
    it = computation.instructions[position]
    if not levels or not it.operands:
        return it.opcode
    below = [outline(computation, operand, levels - 1) for operand in it.operands]
    if is_commutative(it) or it.opcode == "fusion":
        below.sort()
    return f"{it.opcode}({','.join(below)})"
