"""Header and instruction attributes: drop those that only record compiler steps, spell the rest one way."""

from __future__ import annotations

import itertools
import re
from hashlib import sha256
from math import prod

from hlodiff.hlo.collectives import canonical_groups, iota, numbers
from hlodiff.hlo.grammar import STRING, Unbalanced, parts_or_whole, split_commas
from hlodiff.hlo.model import (
    Attributes,
    Instruction,
    Module,
    map_attribute,
    map_instructions,
    with_attribute,
    with_attributes,
    with_header,
)

_HEADER = frozenset(
    ["allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output",
     "cross_program_prefetches", "cross_program_prefetch_index"]
)  # fmt: skip
# Requests that JAX makes of XLA; the resulting layouts and memory spaces are in the program. Until JAX 0.9 XLA also
# records on the root how many bytes of memory are left for combining collectives. From JAX 0.11 on XLA for GPUs records
# how it launches a kernel: whether it may start before the one before it ends, and which operands stay as they are.
_FRONTEND = frozenset(
    ["fingerprint_before_lhs", "arg_layout_modes", "out_layout_modes", "arg_memory_spaces", "out_memory_spaces",
     "suggested_combiner_threshold", "xla.pdl_launch", "xla.no_invariant_operands"]
)  # fmt: skip
_NOISE_IF_EMPTY = {
    "kernel_metadata": ("{}", '"{}"'),
    "xla.sdy.meshes": ("{}", '"{}"', "{empty_mesh = #sdy.mesh<[]>}", '"{empty_mesh = #sdy.mesh<[]>}"'),
}


def header_attributes(module: Module) -> tuple[Module, int]:
    """Drop header attributes that were permissions for the partitioner or the prefetcher; sort the rest by name.

    Aliases, donors, entry layout, partitions, replicas and `is_scheduled` stay.
    """
    kept = tuple(sorted(pair for pair in module.attributes if pair[0] not in _HEADER))
    dropped = len(module.attributes) - len(kept)
    return (with_header(module, kept), dropped) if kept != module.attributes else (module, 0)


def prefetch_index(module: Module) -> tuple[Module, int]:
    """Drop `cross_program_prefetch_index`: the number of the copy that starts before the program."""
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
        parts = split_commas(value[1:-1])
    except Unbalanced:  # damaged text is compared as it is
        return value
    kept = []
    for part in parts:
        key, _, text = (half.strip() for half in part.partition("="))
        is_noise = text in _NOISE_IF_EMPTY[key] if key in _NOISE_IF_EMPTY else key in _FRONTEND
        if not is_noise:
            kept.append(part)
    return "{" + ",".join(sorted(kept)) + "}" if kept else None


def attribute_order(module: Module) -> tuple[Module, int]:
    """Print attributes sorted by name, the long ones last: printers of different versions have different orders."""
    return map_instructions(module, _sorted, with_attributes=True)


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


# --- Replica groups and shardings in one spelling.

_DEVICES = re.compile(r"devices=\[([\d,]+)\]\s*(<=\[[\d,]+\](?:T\([\d,]+\))?|[\d,]+)(.*)$", re.DOTALL)


def replica_groups(module: Module) -> tuple[Module, int]:
    """Spell out replica groups; groups ordered by their first member, the order inside a group as it is.

    The source-target pairs of a permutation are a set, so they are sorted.
    """
    return map_instructions(module, _with_groups, with_attributes=True)


_PAIR = re.compile(r"([{\[])\s*(\d{1,19})\s*,\s*(\d{1,19})\s*[}\]]")


def sorted_pairs(value: str) -> str:
    """The pairs of a `collective-permute` in ascending order; any other text stays as it is.

    Example:
        >>> sorted_pairs("{{2,3},{0,1}}"), sorted_pairs("dense<[[1, 2], [0, 1]]> : tensor<2x2xi64>")
        ('{{0,1},{2,3}}', 'dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>')
    """
    found = list(_PAIR.finditer(value))
    ranked = sorted(found, key=lambda match: (int(match[2]), int(match[3])))
    if ranked == found:
        return value
    between = [value[a.end() : b.start()] for a, b in itertools.pairwise(found)]
    parts = [value[: found[0].start()], ranked[0][0]]
    for text, match in zip(between, ranked[1:], strict=True):
        parts += [text, match[0]]
    return "".join([*parts, value[found[-1].end() :]])


def _with_groups(it: Instruction) -> Instruction:
    value = it.attribute("replica_groups") if it.attributes else None
    if value is None:
        pairs = it.attribute("source_target_pairs") if it.attributes else None
        same = pairs is None or sorted_pairs(pairs) == pairs
        return it if pairs is None or same else with_attribute(it, "source_target_pairs", sorted_pairs(pairs))
    # A mesh with explicit devices has a comma of its own: `mesh['a'=4], device_ids=([2,2]T(1,0)) {'a'}`.
    ids = it.attribute("device_ids") if value.startswith("mesh[") and not value.endswith("}") else None
    whole = value if ids is None else f"{value}, device_ids={ids}"
    groups = canonical_groups(whole)
    if groups == value:
        return it
    return with_attribute(with_attribute(it, "replica_groups", groups), "device_ids", None)


def shardings(module: Module) -> tuple[Module, int]:
    """Spell shardings one way: devices listed unless they are 0..n-1 in order, replicas of one tile ascending."""
    return map_attribute(module, "sharding", canonical_sharding)


def canonical_sharding(value: str, depth: int = 0) -> str:
    """One spelling of a sharding; unknown parts stay as they are.

    Example:
        >>> canonical_sharding("{devices=[2,1,2]0,1,3,2 last_tile_dim_replicate}")
        '{devices=[2,1,2]<=[4] last_tile_dim_replicate}'
    """
    inner = value.strip()[1:-1].strip() if value.strip().startswith("{") else ""
    if inner.startswith("{"):  # a tuple: one sharding for each leaf, and nothing is nested deeper
        if depth > 1:
            return value
        return "{" + ", ".join(canonical_sharding(part, depth + 1) for part in parts_or_whole(inner)) + "}"
    match = _DEVICES.match(inner)
    if match is None:
        return value
    sizes, rest = numbers(match.group(1)), " ".join(match.group(3).split())
    devices = iota(match.group(2)) if match.group(2).startswith("<=") else numbers(match.group(2))
    if devices is None or prod(sizes) != len(devices):
        return value
    replicated = rest == "last_tile_dim_replicate" or rest == "last_tile_dims={replicated}"
    if replicated:
        rest = "last_tile_dim_replicate"
        if len(devices) == sizes[-1]:
            return "{replicated}"
        devices = [d for start in range(0, len(devices), sizes[-1]) for d in sorted(devices[start : start + sizes[-1]])]
    ids = f"<=[{len(devices)}]" if devices == list(range(len(devices))) else ",".join(map(str, devices))
    return f"{{devices=[{match.group(1)}]{ids}{' ' + rest if rest else ''}}}"


_REFERENCE = re.compile(STRING + r'|@([\w.$-]+)|@"((?:[^"\\]|\\.)*+)"')
_AXIS = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*+)"=(\d{1,18})')
_PREFIX = "sdy.mesh @"


def name_meshes(module: Module) -> tuple[Module, int]:
    """Name meshes by axes and devices (`@mesh_data2_model2`), merge equal ones, drop those that nothing refers to."""
    # The text of the mesh; the attribute `stablehlo.mesh` that newer JAX adds repeats it.
    values = {
        k[len(_PREFIX) :].strip('"'): v.partition(" {stablehlo.mesh = ")[0]
        for k, v in module.attributes
        if k.startswith(_PREFIX)
    }
    if not values:
        return module, 0
    # Old name to new name; equal meshes get one.
    plain = {value: _plain_name(value) for value in values.values()}
    taken = list(plain.values())
    unique = {v: n if taken.count(n) == 1 else f"{n}_{sha256(v.encode()).hexdigest()[:6]}" for v, n in plain.items()}
    names = {old: unique[value] for old, value in values.items()}
    used: set[str] = set()
    known: dict[str, str] = {}

    def rewrite(text: str) -> str:
        if "@" not in text:
            return text
        if text not in known:
            known[text] = _REFERENCE.sub(lambda found: _renamed(found, names, used), text)
        return known[text]

    def refer(it: Instruction) -> Instruction:
        new = tuple((key, rewrite(value)) for key, value in it.attributes)
        return it if new == it.attributes else with_attributes(it, new)

    module, count = map_instructions(module, refer)
    others = tuple((k, rewrite(v)) for k, v in module.attributes if not k.startswith(_PREFIX))
    meshes = sorted({f"{_PREFIX}{names[old]}": value for old, value in values.items() if names[old] in used}.items())
    header = (*others, *meshes)
    return with_header(module, header), count + (header != module.attributes)


def _plain_name(value: str) -> str:
    axes = ["".join(c if c.isalnum() else "_" for c in name) + size for name, size in _AXIS.findall(value)]
    name = "_".join(["mesh", *axes]) if axes else "empty_mesh"
    devices = value.partition("device_ids=")[2]
    if not devices:
        return name
    ids = re.findall(r"\d+", devices)
    return f"maximal_mesh_{ids[0]}" if not axes and len(ids) == 1 else f"{name}_devices"


def _renamed(found: re.Match[str], names: dict[str, str], used: set[str]) -> str:
    old = found[1] or found[2]
    if old is None or old not in names:
        return found[0]
    used.add(names[old])
    return f"@{names[old]}"
