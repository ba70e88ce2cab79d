"""What a program computes or holds more than once although once would do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlodiff.anatomy.frames import Lines, own_line
from hlodiff.anatomy.labels import is_operation, size_of, sizes_of
from hlodiff.diff.weights import weigh
from hlodiff.ir.content import computation_hashes, digest
from hlodiff.ir.hlo_shapes import print_shape
from hlodiff.ir.model import Computation, Instruction, Module

_NUMBERED = re.compile(r"_\d+$")
_EFFECTS = frozenset(
    ["custom_call", "custom-call", "rng", "rng_bit_generator", "rng-bit-generator", "infeed", "outfeed", "send", "recv",
     "after_all", "create_token", "optimization_barrier", "opt-barrier", "while", "sdy.manual_computation"]
)  # fmt: skip
# Costs next to nothing: two equal broadcasts are no finding.
_CHEAP = frozenset(
    ["constant", "iota", "broadcast_in_dim", "broadcast", "reshape", "convert", "transpose", "slice", "bitcast",
     "compare", "select", "concatenate", "dynamic_slice", "pad", "reverse", "get_dimension_size"]
)  # fmt: skip
LEAST_OPERATIONS = 3


@dataclass(frozen=True, slots=True)
class Twice:
    """A value that is computed several times from the same inputs.

    Args:
        what: opcode and shape of the last operation.
        lines: the user's lines that compute it, each once.
        times: how often it is computed.
        operations: how many operations one of them takes.
    """

    what: str
    lines: tuple[Lines, ...]
    times: int
    operations: int


@dataclass(frozen=True, slots=True)
class LoweredAgain:
    """An inner function that stands in the program several times with the same content.

    Args:
        name: without JAX's number.
        lines: the user's lines that call it, each once.
        times: how many equal functions there are.
        operations: in one of them.
    """

    name: str
    lines: tuple[Lines, ...]
    times: int
    operations: int


def computed_twice(module: Module) -> tuple[Twice, ...]:
    """Values that are computed several times from the same inputs in one computation, costliest first.

    Args:
        module: a StableHLO program. XLA finds most of these itself; in a compiled program none is expected.

    Returns:
        one record for each value that is used as such: what it is computed from is not told apart.
    """
    sizes = dict(enumerate(sizes_of(module)))
    hashes = computation_hashes(module)
    found: list[Twice] = []
    for computation, weight in zip(module.computations, weigh(module), strict=True):
        if weight.total:
            found += _twice(module, computation, hashes, sizes)
    return tuple(sorted(found, key=lambda one: (-one.operations * (one.times - 1), one.what, repr(one.lines))))


def _twice(module: Module, computation: Computation, hashes: Sequence[str], sizes: Mapping[int, int]) -> list[Twice]:
    values = _values(computation, hashes)
    groups: dict[bytes, list[int]] = {}
    for position, value in enumerate(values):
        groups.setdefault(value, []).append(position)
    doubled = {position for group in groups.values() if len(group) > 1 for position in group}
    inner = {o for n, it in enumerate(computation.instructions) if n in doubled for o in it.operands}
    found = []
    for group in groups.values():
        tops = [position for position in group if position not in inner]
        if len(tops) < 2:
            continue
        it = _worth(computation, tops[0])
        operations = _cost(computation, tops[0], doubled, sizes)
        if operations >= LEAST_OPERATIONS:
            shape = print_shape(it.shape).partition("{")[0]
            found.append(Twice(f"{it.opcode} {shape}", _lines(module, computation, tops), len(tops), operations))
    return found


def _values(computation: Computation, hashes: Sequence[str]) -> list[bytes]:
    """A number for each value: equal where the same operation was done to equal values, and nothing else happens."""
    values: list[bytes] = []
    for position, it in enumerate(computation.instructions):
        if it.opcode in ("parameter", "return", "tuple") or it.opcode in _EFFECTS:
            values.append(b"%d" % position)
            continue
        inputs = [values[o] for o in it.operands]
        results = ",".join(map(str, it.results))
        own = f"{it.opcode} {print_shape(it.shape)} {it.attributes} {it.literal} {results}"
        values.append(digest([own.encode(), *(hashes[c].encode() for c in it.called), *inputs]))
    return values


def _worth(computation: Computation, top: int) -> Instruction:
    """The last operation on the way to a value that is not cheap: what a reader knows it by."""
    it = computation.instructions[top]
    while it.opcode in _CHEAP and len(it.operands) == 1:
        it = computation.instructions[it.operands[0]]
    return it


def _cost(computation: Computation, top: int, doubled: set[int], sizes: Mapping[int, int]) -> int:
    """Operations that computing a value once more takes: all that is doubled on the way to it, and not cheap."""
    seen = {top: None}
    waiting = [top]
    for position in waiting:
        for operand in computation.instructions[position].operands:
            if operand in doubled and operand not in seen:
                seen[operand] = None
                waiting.append(operand)
    return sum(_weight(computation.instructions[position], sizes) for position in seen)


def _weight(it: Instruction, sizes: Mapping[int, int]) -> int:
    if it.opcode in _CHEAP or not is_operation(it):
        return 0
    return size_of(it, sizes)


def lowered_again(module: Module) -> tuple[LoweredAgain, ...]:
    """Inner functions that stand in a program several times with the same content, costliest first.

    Args:
        module: a StableHLO program as JAX printed it; normalizing keeps one of each.

    Returns:
        one record for each function of three operations or more: JAX's own small ones are often there twice.
    """
    if module.stage != "stablehlo":
        return ()
    hashes, sizes = computation_hashes(module), sizes_of(module)
    groups: dict[str, list[int]] = {}
    for index, computation in enumerate(module.computations):
        if ("visibility", "private") in computation.attributes:
            groups.setdefault(hashes[index], []).append(index)
    found = []
    for group in groups.values():
        if len(group) > 1 and sizes[group[0]] >= LEAST_OPERATIONS:
            names = sorted({_NUMBERED.sub("", module.computations[index].name) for index in group})
            found.append(LoweredAgain(", ".join(names), _callers(module, group), len(group), sizes[group[0]]))
    return tuple(sorted(found, key=lambda one: (-one.operations * one.times, one.name)))


def _callers(module: Module, functions: Sequence[int]) -> tuple[Lines, ...]:
    wanted = set(functions)
    frames = [
        it.frame
        for computation in module.computations
        for it in computation.instructions
        if wanted.intersection(it.called)
    ]
    return _distinct(module, frames)


def _lines(module: Module, computation: Computation, positions: Sequence[int]) -> tuple[Lines, ...]:
    return _distinct(module, [computation.instructions[position].frame for position in positions])


def _distinct(module: Module, frames: Sequence[int]) -> tuple[Lines, ...]:
    found = dict.fromkeys(own_line(module, frame) for frame in frames)
    return tuple(line for line in found if line is not None)
