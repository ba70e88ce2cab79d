"""Attributes of the header and of instructions that record a step of the compiler and not the program."""

from __future__ import annotations

from hlodiff.hlo.grammar import Unbalanced, split_commas
from hlodiff.hlo.model import Instruction, Module
from hlodiff.normalizer.rewrite import Attributes, map_attribute, map_instructions, with_attributes, with_header

_HEADER = frozenset(
    ["allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output",
     "cross_program_prefetches", "cross_program_prefetch_index"]
)  # fmt: skip
# Requests that JAX makes of XLA; the layouts and memory spaces that came of them are in the program.
_FRONTEND = frozenset(
    ["fingerprint_before_lhs", "arg_layout_modes", "out_layout_modes", "arg_memory_spaces", "out_memory_spaces"]
)
_EMPTY_MESHES = frozenset(["{}", '"{}"', "{empty_mesh = #sdy.mesh<[]>}", '"{empty_mesh = #sdy.mesh<[]>}"'])


def header_attributes(module: Module) -> tuple[Module, int]:
    """Drop header attributes that were permissions for the partitioner or the prefetcher; sort the rest by name.

    Aliases, donors, entry layout, partitions, replicas and `is_scheduled` stay.
    """
    kept = tuple(sorted(pair for pair in module.attributes if pair[0] not in _HEADER))
    dropped = len(module.attributes) - len(kept)
    return (with_header(module, kept), dropped) if kept != module.attributes else (module, 0)


def prefetch_index(module: Module) -> tuple[Module, int]:
    """Drop `cross_program_prefetch_index`: which of the copies starts before the program, by number."""
    return map_attribute(module, "cross_program_prefetch_index", lambda _: None)


def frontend_attributes(module: Module) -> tuple[Module, int]:
    """Drop exactly the frontend attributes that mean nothing, sort the others by name."""
    found, count = map_attribute(module, "frontend_attributes", _frontend)
    header: Attributes = tuple(
        (key, new)
        for key, value in module.attributes
        if (new := _frontend(value) if key == "frontend_attributes" else value) is not None
    )
    if header == module.attributes:
        return found, count
    return with_header(found, header), count + 1


def _frontend(value: str) -> str | None:
    try:
        kept = [part for part in split_commas(value[1:-1]) if not _is_noise(*_halves(part))]
    except Unbalanced:  # damaged text is compared as it is
        return value
    return "{" + ",".join(sorted(kept)) + "}" if kept else None


def _halves(part: str) -> tuple[str, str]:
    key, _, value = part.partition("=")
    return key.strip(), value.strip()


def _is_noise(key: str, value: str) -> bool:
    if key == "kernel_metadata":
        return value in ("{}", '"{}"')
    if key == "xla.sdy.meshes":
        return value in _EMPTY_MESHES
    return key in _FRONTEND


def attribute_order(module: Module) -> tuple[Module, int]:
    """Print attributes sorted by name, the long ones last: printers of different versions have different orders."""
    return map_instructions(module, _sorted)


def _sorted(it: Instruction) -> Instruction:
    if len(it.attributes) < 2:
        return it
    attributes = tuple(sorted(it.attributes, key=_rank))
    return it if attributes == it.attributes else with_attributes(it, attributes)


def _rank(pair: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
    return pair[0] == "backend_config", pair[0] == "frontend_attributes", pair


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
