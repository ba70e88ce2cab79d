"""A fused computation with the fusions inside of it written out, so that what they do to their operands can be seen."""

from __future__ import annotations

from dataclasses import replace

from hlodiff.ir.model import Computation, Instruction, Module

# Fused computations hold tens of instructions, large ones a thousand; one that nests more than this stays as it is.
_LARGEST = 4000


def flattened(module: Module, index: int) -> Computation:
    """A computation without nested fusions; it itself where there are none, or too much to write out.

    Each instruction keeps in an attribute which kinds of fusion it came from, so that the same operations in other
    fusions stay different.

    Args:
        module: the program.
        index: of the computation.
    """
    owner = module.computations[index]
    if not any(it.opcode == "fusion" for it in owner.instructions):
        return owner
    written: list[Instruction] = []
    root = _write(module, index, None, (), written)
    return owner if root < 0 else replace(owner, instructions=tuple(written), root=root)


def _write(
    module: Module, index: int, arguments: tuple[int, ...] | None, path: tuple[str, ...], written: list[Instruction]
) -> int:
    """Appends what a computation does to its arguments; its root's place, -1 where there is no end to it."""
    owner = module.computations[index]
    numbers = {p: n for n, p in enumerate(owner.parameters())}
    places: dict[int, int] = {}
    for position, it in enumerate(owner.instructions):
        if len(written) > _LARGEST or len(path) > 8 or any(o not in places for o in it.operands):
            return -1
        operands = tuple(places[o] for o in it.operands)
        if position in numbers and arguments is not None:
            places[position] = arguments[numbers[position]]
            continue
        if it.opcode == "fusion" and len(it.called) == 1:
            kind = repr(sorted(it.attributes))
            places[position] = _write(module, it.called[0], operands, (*path, kind), written)
            if places[position] < 0:
                return -1
            continue
        marks = tuple((f"in_fusion_{n}", kind) for n, kind in enumerate(path))
        places[position] = len(written)
        fresh = replace(it, operands=operands, attributes=(*it.attributes, *marks), control_predecessors=())
        written.append(fresh)
    return places[owner.root]
