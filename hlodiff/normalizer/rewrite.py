"""Rebuilding a module instruction by instruction; untouched parts stay the same objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_not

from hlodiff.hlo.model import Computation, Instruction, Module

Attributes = tuple[tuple[str, str], ...]


def map_instructions(
    module: Module,
    change: Callable[[Instruction], Instruction],
    *,
    with_attributes: bool = False,
    holding: str | None = None,
) -> tuple[Module, int]:
    """Apply `change` to every instruction and count the instructions that it replaced.

    Args:
        module: any program.
        change: gives the instruction itself where nothing changes.
        with_attributes: whether to skip instructions without attributes: they are half of all, and the calls dominate
            the time.
        holding: an attribute without which a computation stays as it is.
    """
    count = 0
    computations = []
    for computation in module.computations:
        if holding is not None and holding not in computation.attribute_names():
            computations.append(computation)
            continue
        old = computation.instructions
        new = [change(it) if it.attributes else it for it in old] if with_attributes else [*map(change, old)]
        changed = sum(map(is_not, new, old))
        count += changed
        computations.append(with_instructions(computation, new) if changed else computation)
    return (with_computations(module, computations), count) if count else (module, 0)


def map_attribute(module: Module, name: str, change: Callable[[str], str | None]) -> tuple[Module, int]:
    """Apply `change` to every attribute of that name; None drops it. `change` is called once for each value."""
    known: dict[str, str | None] = {}

    def rewrite(it: Instruction) -> Instruction:
        for key, value in it.attributes:
            if key == name:
                if value not in known:
                    known[value] = change(value)
                new = known[value]
                return it if new == value else with_attribute(it, name, new)
        return it

    return map_instructions(module, rewrite, with_attributes=True, holding=name)


def with_attribute(it: Instruction, name: str, value: str | None) -> Instruction:
    """The instruction with one attribute replaced in place, appended if it was missing, or dropped (None)."""
    pairs: list[tuple[str, str]] = []
    found = False
    for pair in it.attributes:
        if pair[0] != name:
            pairs.append(pair)
        elif value is not None and not found:
            pairs.append((name, value))
        found = found or pair[0] == name
    if not found and value is not None:
        pairs.append((name, value))
    return with_attributes(it, tuple(pairs))


# Plain constructor calls instead of dataclasses.replace: a third of its time, and this runs for every instruction.
def with_attributes(it: Instruction, attributes: Attributes) -> Instruction:
    """The instruction with other attributes."""
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, attributes, it.calls, it.control_predecessors,
        it.literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip


def with_literal(it: Instruction, literal: str) -> Instruction:
    """The instruction with a different literal."""
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip


def with_instructions(computation: Computation, instructions: Sequence[Instruction]) -> Computation:
    """The computation with other instructions in the same places."""
    return Computation(
        computation.name,
        tuple(instructions),
        computation.root,
        computation.execution_thread,
        computation.attributes,
        computation.line,
    )


def with_computations(module: Module, computations: Sequence[Computation]) -> Module:
    """The module with other computations in the same places."""
    return Module(module.name, module.stage, tuple(computations), module.entry, module.attributes, module.frames)


def with_header(module: Module, attributes: Attributes) -> Module:
    """The module with other header attributes."""
    return Module(module.name, module.stage, module.computations, module.entry, attributes, module.frames)


def reordered(computation: Computation, order: Sequence[int]) -> Computation:
    """The computation with its instructions reordered: `order` holds their old positions."""
    new = [0] * len(order)
    for position, old in enumerate(order):
        new[old] = position
    instructions = [_moved(computation.instructions[old], new) for old in order]
    return Computation(
        computation.name,
        tuple(instructions),
        new[computation.root],
        computation.execution_thread,
        computation.attributes,
        computation.line,
    )


def _moved(it: Instruction, new: Sequence[int]) -> Instruction:
    return Instruction(
        it.name, it.opcode, it.shape, tuple([new[o] for o in it.operands]), it.results, it.attributes, it.calls,
        tuple([new[o] for o in it.control_predecessors]), it.literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
