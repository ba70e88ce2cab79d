"""What says where a program came from: debug tables, metadata, the module's name."""

from __future__ import annotations

from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions

# `origin` (XLA's original value) and its table hold names of the program before it was optimized.
_DEBUG_ATTRIBUTES = frozenset(["origin", "original_value"])
_DEBUG_HEADER = frozenset(["origin_recovery_table", "stack_frame_index"])


def drop_metadata(module: Module) -> tuple[Module, int]:
    """Drop debug tables, `op_name`, frames, `scheduling_name` and other metadata."""
    found, count = map_instructions(module, _without_metadata)
    header = tuple(pair for pair in module.attributes if pair[0] not in _DEBUG_HEADER)
    count += len(module.attributes) - len(header)
    return Module(found.name, found.stage, found.computations, found.entry, header, ()), count


def _without_metadata(it: Instruction) -> Instruction:
    debug = any(key in _DEBUG_ATTRIBUTES for key, _ in it.attributes)
    if not (debug or it.op_name or it.metadata or it.frame != -1):
        return it
    attributes = tuple(p for p in it.attributes if p[0] not in _DEBUG_ATTRIBUTES) if debug else it.attributes
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, attributes, it.calls, it.control_predecessors,
        it.literal, line=it.line,
    )  # fmt: skip


def module_name(module: Module) -> tuple[Module, int]:
    """Name the module `program`: JAX names it after the Python function."""
    named = Module("program", module.stage, module.computations, module.entry, module.attributes, module.frames)
    return named, int(module.name != "program")
