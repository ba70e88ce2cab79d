"""What each part of one program costs: bytes and operations of every instruction, and how often it runs."""

from __future__ import annotations

from dataclasses import dataclass

from hlodiff.differ.executed import runs
from hlodiff.differ.executed_count import ExecutedCount
from hlodiff.differ.instruction_costs import (
    applied_bodies,
    fused_bodies,
    instruction_bytes,
    instruction_flops,
    is_launched,
)
from hlodiff.hlo.model import Module
from hlodiff.hlo.traversal import callees, callees_first, is_continuation


@dataclass(frozen=True, slots=True)
class PartCost:
    """What one instruction costs.

    Args:
        runs: how often it runs in one call of the program.
        read, written: bytes of one run on one device; 0 in fusions and in StableHLO, which say nothing of memory.
        flops: of one run, what it calls not counted.
    """

    runs: ExecutedCount
    read: int = 0
    written: int = 0
    flops: int = 0

    @property
    def bytes(self) -> int:
        """Bytes that one run reads and writes."""
        return self.read + self.written

    @property
    def times(self) -> int:
        """A number of runs to rank by: the most there can be, with one turn of loops whose trip count is not known."""
        return times_of(self.runs)


@dataclass(frozen=True, slots=True)
class ProgramParts:
    """All parts of a program.

    Args:
        parts: for each computation its instructions.
        bytes, flops: for each computation what it and all that it calls cost in one call of the program.
        callers: for each computation the instructions that call it, in order.
        fused: computations whose values are never stored.
        applied: computations that are applied to elements.
    """

    parts: tuple[tuple[PartCost, ...], ...]
    bytes: tuple[int, ...]
    flops: tuple[int, ...]
    callers: tuple[tuple[tuple[int, int], ...], ...]
    fused: frozenset[int]
    applied: frozenset[int]


def times_of(count: ExecutedCount) -> int:
    """A number to rank by, see `PartCost.times`.

    Example:
        >>> times_of(ExecutedCount(2, 12)), times_of(ExecutedCount(3, None))
        (12, 3)
    """
    most = count.most if count.most is not None else count.least
    return most + sum(high if high is not None else low for _, low, high in count.per_turn)


def part_costs(module: Module) -> ProgramParts:
    """What each part of a program costs.

    Args:
        module: a program of either stage.

    Returns:
        the costs; a computation that several instructions call has those of all calls together.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> found = part_costs(read_hlo(text))
        >>> found.parts[0][1].bytes, found.bytes
        (16, (16,))
    """
    fused, applied, counts = frozenset(fused_bodies(module)), frozenset(applied_bodies(module)), runs(module)
    parts: list[tuple[PartCost, ...]] = []
    callers: list[list[tuple[int, int]]] = [[] for _ in module.computations]
    for index, computation in enumerate(module.computations):
        stored = module.stage == "compiled" and index not in fused
        own = []
        for position, it in enumerate(computation.instructions):
            place = index, position
            for callee in it.called if it.calls and not is_continuation(it.opcode) else ():
                callers[callee].append(place)
            sizes = instruction_bytes(module, place) if stored and is_launched(it) else (0, 0)
            flops = 0 if index in applied else instruction_flops(module, place)
            own.append(PartCost(counts[index], *sizes, flops))
        parts.append(tuple(own))
    total_bytes, total_flops = [0] * len(parts), [0] * len(parts)
    for index in callees_first(module):
        called = {callee for callee in callees(module.computations[index]) if callee != index}
        total_bytes[index] = sum(one.bytes * one.times for one in parts[index]) + sum(total_bytes[c] for c in called)
        total_flops[index] = sum(one.flops * one.times for one in parts[index]) + sum(total_flops[c] for c in called)
    return ProgramParts(
        tuple(parts), tuple(total_bytes), tuple(total_flops), tuple(map(tuple, callers)), fused, applied
    )
