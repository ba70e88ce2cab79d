"""Attributes of the header and of instructions that record a step of the compiler and not the program."""

from __future__ import annotations

from hlodiff.ir.hlo_tokens import Unbalanced, split_commas
from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import Attributes, map_attribute, map_instructions, with_attributes, with_header

_HEADER = frozenset(
    ["allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output",
     "cross_program_prefetches", "cross_program_prefetch_index"]
)  # fmt: skip
# What JAX and XLA leave for each other on the way; the layouts and memory spaces they led to stand in the program.
_FRONTEND = frozenset(
    ["fingerprint_before_lhs", "arg_layout_modes", "out_layout_modes", "arg_memory_spaces", "out_memory_spaces"]
)
_EMPTY_MESHES = frozenset(["{}", '"{}"', "{empty_mesh = #sdy.mesh<[]>}", '"{empty_mesh = #sdy.mesh<[]>}"'])


def header_attributes(module: Module) -> tuple[Module, int]:
    """Drop header attributes that told the partitioner or the prefetcher what it may do; sort the rest by name.

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
