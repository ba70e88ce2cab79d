"""What an operation is apart from which turn of a loop it belongs to: the same for each copy of a body."""

from __future__ import annotations

from collections.abc import Mapping

from hlodiff.diff.metrics import BOOKKEEPING
from hlodiff.diff.weights import is_continuation
from hlodiff.ir.content import digest
from hlodiff.ir.hlo_printer import callees_first
from hlodiff.ir.model import Instruction, Module, Shape

# Where a turn of a loop takes its slice from and puts its result to.
_POSITIONS = frozenset(
    ["start_indices", "limit_indices", "edge_padding_low", "edge_padding_high", "slice", "padding", "backend_config"]
)
_CALLS = frozenset(["call", "func.call", "composite"])
_NAMES = _CALLS | {"fusion"}  # nothing but what they call
_OPENED = _NAMES | {"while", "if", "case", "conditional"}


def is_operation(it: Instruction) -> bool:
    """Whether an instruction computes something, or calls what does."""
    if it.opcode in _CALLS:
        return True
    return it.opcode not in BOOKKEEPING and it.opcode != "constant" and not is_continuation(it.opcode)


def labels_of(module: Module) -> tuple[tuple[bytes, ...], ...]:
    """For each instruction of each computation its opcode, types, attributes and what it calls, without positions.

    Args:
        module: a program of either stage.

    Returns:
        equal bytes for operations that differ in nothing but which slice they take and which number they hold.
    """
    found: dict[int, tuple[bytes, ...]] = {}
    wholes: dict[int, bytes] = {}
    for index in callees_first(module):
        found[index] = tuple(_label(it, wholes) for it in module.computations[index].instructions)
        wholes[index] = digest(sorted(found[index]))
    return tuple(found[index] for index in range(len(module.computations)))


def _label(it: Instruction, wholes: Mapping[int, bytes]) -> bytes:
    attributes = [f"{key}={value}" for key, value in it.attributes if key not in _POSITIONS]
    callees = [wholes.get(callee, b"cycle") for callee in it.called]
    return digest([it.opcode.encode(), _shape(it.shape).encode(), "|".join(attributes).encode(), *callees])


def _shape(shape: Shape) -> str:
    return ";".join(f"{leaf.element_type}{leaf.dimensions}" for leaf in shape.leaves())


def sizes_of(module: Module) -> tuple[int, ...]:
    """How many operations each computation is, what it calls counted at each call.

    Example:
        >>> sizes_of(Module("m", "compiled", (Computation("e", (), 0),), 0))
        (0,)
    """
    found: dict[int, int] = {}
    for index in callees_first(module):
        instructions = module.computations[index].instructions
        found[index] = min(sum(size_of(it, found) for it in instructions), 10**15)
    return tuple(found[index] for index in range(len(module.computations)))


def size_of(it: Instruction, sizes: Mapping[int, int]) -> int:
    """How many operations an instruction stands for; what a reduction applies to its elements is part of it."""
    inside = sum(sizes.get(callee, 0) for callee in it.called) if it.opcode in _OPENED else 0
    return inside + int(stands_alone(it))


def stands_alone(it: Instruction) -> bool:
    """Whether an instruction is an operation of its own and not merely a name for what it calls."""
    return is_operation(it) and it.opcode not in _NAMES
