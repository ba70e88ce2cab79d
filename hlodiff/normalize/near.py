"""What stands right below an instruction, without what an edit further away could change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlodiff.ir.content import is_commutative, operands_first, shape_text
from hlodiff.ir.model import Computation, Instruction

# How far down twins are told apart before everything below decides. An edit elsewhere then does not exchange them.
LEVELS = 4

# A label and what is below; nested, comparable, equal parts shared.
Near = tuple[Any, ...]


class Neighbourhood:
    """What stands below the instructions of one computation, down to some level, each worked out once.

    Numbers of parameters and tuple elements are compared as numbers: two arguments keep their order where another
    one came before them. Literals and called computations are left out, and operands of fusions are a bag.

    Args:
        computation: any.
        fused: whether only fusions call it: its parameters have no numbers yet.
    """

    def __init__(self, computation: Computation, fused: bool) -> None:
        self._instructions = computation.instructions
        self._fused = fused
        self._found: dict[tuple[int, int], Near] = {}

    def below(self, position: int, levels: int = LEVELS) -> Near:
        """An instruction with what is below it.

        Args:
            position: of the instruction.
            levels: how many levels of operands to look at.

        Returns:
            Equal tuples where nothing tells two instructions apart, else in an order that an edit seldom changes.
        """
        key = (position, levels)
        if key not in self._found:
            it = self._instructions[position]
            operands = [self.below(operand, levels - 1) for operand in it.operands] if levels else []
            if is_commutative(it) or it.opcode == "fusion":
                operands.sort()
            self._found[key] = (*self._label(it), *operands)
        return self._found[key]

    def _label(self, it: Instruction) -> tuple[str, str, int]:
        text = it.attribute("index")
        if it.opcode == "parameter" and not self._fused:
            text = it.literal
        return it.opcode, shape_text(it.shape), int(text) if text is not None and text.isdecimal() else -1


def ranked(computation: Computation, passed: Sequence[Near]) -> list[bytes]:
    """For each instruction which of the operands of a call it is computed from, as ranks among them.

    Args:
        computation: what is called; its parameters are numbered 0, 1, 2.
        passed: for each parameter what a call passes for it.

    Returns:
        Keys that sort as the operands do.
    """
    rank = {near: n for n, near in enumerate(sorted(set(passed)))}
    numbers = {position: rank[passed[n]] for n, position in enumerate(computation.parameters())}
    found: list[frozenset[int]] = [frozenset()] * len(computation.instructions)
    for position in operands_first(computation):
        own = (numbers[position],) if position in numbers else ()
        found[position] = frozenset(own).union(
            *(found[operand] for operand in computation.instructions[position].operands)
        )
    return [b"".join(n.to_bytes(4, "big") for n in sorted(ranks)) for ranks in found]
