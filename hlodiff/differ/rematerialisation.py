"""What a backward pass computes again, as `jax.checkpoint` tells it to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlodiff.differ.computation_matches import Place
from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.repeats import own_line
from hlodiff.hlo.fingerprint import computation_hashes, digest, shape_text
from hlodiff.hlo.model import CALLS, CONDITIONALS, Computation, Instruction, Module
from hlodiff.hlo.traversal import called_by, callees_first

SCOPE = "rematted_computation"
# They hand on what they take.
_BARRIERS = frozenset(["optimization_barrier", "reduce_precision"])
# Known by their types alone: what a body is given or reads from an array at an index, and what may be saved for it.
_GIVEN = (
    CALLS
    | CONDITIONALS
    | {"parameter", "dynamic_slice", "while", "sdy.manual_computation", "dot_general", "convolution"}
)


@dataclass(frozen=True, slots=True)
class RepeatedValue:
    """Instructions that compute one value.

    Args:
        opcode: of all of them.
        first: those of the forward pass, by computation and position.
        again: those in the scope of rematerialisation.
    """

    opcode: str
    first: tuple[Place, ...]
    again: tuple[Place, ...]


def has_scope(module: Module) -> bool:
    """Whether any operation is in the scope of rematerialisation."""
    return any(SCOPE in it.op_name for one in module.computations for it in one.instructions)


def repeated_values(module: Module) -> Iterator[RepeatedValue]:
    """Values that a program computes, and computes again in the scope of rematerialisation.

    That scope also holds what only the backward pass needs, such as a cosine where the function has a sine. In
    StableHLO two values are equal if the same operations of the same lines compute them. XLA moves operations between
    fusions, so in a compiled program opcode, type and line decide.
    """
    if not has_scope(module):
        return
    inside = _computations_inside(module)
    hashes = computation_hashes(module)
    lines: dict[int, object] = {}
    groups: dict[tuple[str, bytes], tuple[list[Place], list[Place]]] = {}
    run = called_by(module, CARRIERS | CALLS) | {module.entry}  # a reduction applies others
    for number, computation in enumerate(module.computations):
        values: list[Sequence[bytes]] = []  # the results of each instruction
        for position, it in enumerate(computation.instructions):
            if it.frame not in lines:
                lines[it.frame] = own_line(module, it.frame)
            line = "" if it.opcode in CARRIERS else lines[it.frame]  # equal constants have the line of one of them
            own = [f"{it.opcode} {it.literal} {line}", shape_text(it.shape, False)]
            inputs: list[bytes] = []
            if module.stage == "stablehlo":
                own += [str(it.attributes), *(hashes[callee] for callee in it.called)]
                inputs = [values[operand][result] for operand, result in it.reads]
            key = digest([*(part.encode("utf-8", "surrogatepass") for part in own), *inputs])
            if module.stage == "stablehlo":
                values.append(_results(it, computation, inputs, key))
            if number in inside and not it.op_name and module.stage == "compiled":
                continue  # XLA's own, such as the condition of a loop
            is_again = number in inside or SCOPE in it.op_name
            if number not in run or ("transpose(" in it.op_name and not is_again):
                continue
            groups.setdefault((it.opcode, key), ([], []))[is_again].append((number, position))
    for (opcode, _), (first, again) in groups.items():
        if first and again:
            yield RepeatedValue(opcode, tuple(first), tuple(again))


def _results(it: Instruction, computation: Computation, inputs: Sequence[bytes], key: bytes) -> list[bytes]:
    """What identifies each result of an operation for its users; `key` identifies the operation and its inputs."""
    if it.opcode in _BARRIERS:
        return [*inputs]
    parts = [shape_text(part, False).encode() for part in it.shape.tuple_shapes or (it.shape,)]
    is_read = it.opcode == "reshape" and computation.instructions[it.operands[0]].opcode in _GIVEN
    if it.opcode in _GIVEN or is_read:
        return parts
    return [digest([key, b"%d" % n]) for n in range(len(parts))]


def _computations_inside(module: Module) -> set[int]:
    """Computations that are called only from the scope. Inside loops and `shard_map`, names of scopes start afresh."""
    inside: dict[int, bool] = {}
    for number in reversed(callees_first(module)):
        for it in module.computations[number].instructions:
            if it.called and it.opcode in CARRIERS:
                is_inside = inside.get(number, False) or SCOPE in it.op_name
                inside.update((callee, is_inside and inside.get(callee, True)) for callee in it.called)
    return {number for number, is_inside in inside.items() if is_inside}
