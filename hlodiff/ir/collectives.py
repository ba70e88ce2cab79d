"""Collectives of a compiled module, one record each, whatever their spelling.

XLA writes one all-reduce as `all-reduce`, as `all-reduce-start` with its `-done`, as `async-start` around it, as
`fusion-start` (TPU) around it, or as a `-start` that its backend configuration calls synchronous (`"is_sync":true`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hlodiff.ir.devices import canonical_groups
from hlodiff.ir.hlo_tokens import parts_or_whole, unquote
from hlodiff.ir.model import Computation, Instruction, Module, Shape

FAMILIES = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective.

    Args:
        family: XLA's word without `-start` ("all-reduce").
        bytes: of the result on one device; of all parts where several arrays are combined into one collective.
        dimension: the dimension that is gathered, scattered or split, None where there is none.
        groups: replica groups in one spelling, or source-target pairs as they are.
        asynchronous: it has a start and a done with other work possible between.
        computation: index of the computation it starts in (for an async wrapper, the wrapper's caller).
        instruction: position of the instruction that starts it.
    """

    family: str
    bytes: int
    dimension: int | None
    groups: str
    asynchronous: bool
    computation: int
    instruction: int


def collectives(module: Module) -> tuple[Collective, ...]:
    """All collectives of a compiled module, each once, in the order of computations and instructions.

    Args:
        module: a compiled module as read; a normalized one holds collectives of equal computations once only.

    Returns:
        One record for each collective: a `-done` is none of its own, and neither is the inside of an async wrapper.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> gather = "  ROOT g = f32[8]{0} all-gather(p), dimensions={0}, replica_groups={{0,1}}"
        >>> module = read_hlo("HloModule m\\nENTRY e {\\n  p = f32[4]{0} parameter(0)\\n" + gather + "\\n}")
        >>> [(c.family, c.bytes, c.dimension) for c in collectives(module)]
        [('all-gather', 32, 0)]
    """
    wrapped = _wrapped(module)
    found = []
    for index, computation in enumerate(module.computations):
        if index in wrapped:
            continue
        for position, it in enumerate(computation.instructions):
            found += _records(module, index, position, it)
    return tuple(found)


def family(opcode: str) -> str | None:
    """The family of a collective's opcode, plain or `-start`; None for everything else, `-done` included."""
    plain = opcode.removesuffix("-start")
    return plain if plain in FAMILIES else None


def _records(module: Module, index: int, position: int, it: Instruction) -> list[Collective]:
    if it.opcode in ("async-start", "fusion-start"):
        inner = [one for callee in it.called for one in _inside(module.computations[callee])]
        return [_record(one, index, position, asynchronous=not _is_sync(it)) for one in inner]
    if family(it.opcode) is None:
        return []
    asynchronous = it.opcode.endswith("-start") and not _is_sync(it)
    return [_record(it, index, position, asynchronous=asynchronous)]


def _record(it: Instruction, index: int, position: int, *, asynchronous: bool) -> Collective:
    replicas, ids = it.attribute("replica_groups"), it.attribute("device_ids")
    if replicas is not None and ids is not None and not replicas.endswith("}"):
        replicas = f"{replicas}, device_ids={ids}"
    groups = canonical_groups(replicas) if replicas is not None else it.attribute("source_target_pairs") or ""
    name = family(it.opcode) or it.opcode
    return Collective(name, _result(it).bytes, _dimension(it), groups, asynchronous, index, position)


def _inside(computation: Computation) -> list[Instruction]:
    return [it for it in computation.instructions if family(it.opcode) is not None]


def _wrapped(module: Module) -> frozenset[int]:
    """Computations that asynchronous wrappers call: what stands in them is counted at the wrapper."""
    return frozenset(
        callee
        for computation in module.computations
        for it in computation.instructions
        if it.opcode in ("async-start", "fusion-start")
        for callee in it.called
    )


def _result(it: Instruction) -> Shape:
    """What the collective hands over. A start's shape may also hold operands and contexts.

    all-reduce-start: the result alone. all-gather-start: (operands, results). collective-permute-start:
    (operands, results, contexts...). A pair of operands and results holds tuples where there are several.
    """
    parts = it.shape.tuple_shapes
    if not it.opcode.endswith("-start") or it.opcode == "all-reduce-start" or len(parts) < 2:
        return it.shape
    return parts[1]


def _dimension(it: Instruction) -> int | None:
    value = it.attribute("dimensions") or it.attribute("split_dimension") or ""
    numbers = [part for part in parts_or_whole(value.strip("{} ")) if part.isdigit()]
    return int(numbers[0]) if numbers else None


def _is_sync(it: Instruction) -> bool:
    config = unquote(it.attribute("backend_config") or "").replace(" ", "")
    return '"is_sync":true' in config
