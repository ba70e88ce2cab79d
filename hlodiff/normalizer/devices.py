"""Replica groups and shardings in one spelling."""

from __future__ import annotations

import re
from hashlib import sha256
from math import prod

from hlodiff.hlo.collectives import canonical_groups, iota, numbers
from hlodiff.hlo.grammar import parts_or_whole
from hlodiff.hlo.model import Instruction, Module
from hlodiff.normalizer.rewrite import map_attribute, map_instructions, with_attribute, with_attributes, with_header

_DEVICES = re.compile(r"devices=\[([\d,]+)\]\s*(<=\[[\d,]+\](?:T\([\d,]+\))?|[\d,]+)(.*)$", re.DOTALL)


def replica_groups(module: Module) -> tuple[Module, int]:
    """Spell out replica groups; groups ordered by their first member, the order inside a group as it is."""
    return map_instructions(module, _with_groups)


def _with_groups(it: Instruction) -> Instruction:
    value = it.attribute("replica_groups") if it.attributes else None
    if value is None:
        return it
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


def canonical_sharding(value: str) -> str:
    """One spelling of a sharding; parts that we do not know stay.

    Example:
        >>> canonical_sharding("{devices=[2,1,2]0,1,3,2 last_tile_dim_replicate}")
        '{devices=[2,1,2]<=[4] last_tile_dim_replicate}'
    """
    inner = value.strip()[1:-1].strip() if value.strip().startswith("{") else ""
    if inner.startswith("{"):  # a tuple: one sharding for each leaf
        return "{" + ", ".join(canonical_sharding(part) for part in parts_or_whole(inner)) + "}"
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


_REFERENCE = re.compile(r'"(?:[^"\\]|\\.)*"|@([\w.$-]+)|@"((?:[^"\\]|\\.)*)"')
_AXIS = re.compile(r'"((?:[^"\\]|\\.)*)"=(\d+)')
_PREFIX = "sdy.mesh @"


def name_meshes(module: Module) -> tuple[Module, int]:
    """Name meshes by axes and devices (`@mesh_data2_model2`), merge equal ones, drop those that nothing refers to."""
    values = {k[len(_PREFIX) :].strip('"'): _value(v) for k, v in module.attributes if k.startswith(_PREFIX)}
    if not values:
        return module, 0
    names = _names(values)
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


def _value(text: str) -> str:
    """The mesh itself; the attribute `stablehlo.mesh` that newer JAX adds repeats it."""
    return text.partition(" {stablehlo.mesh = ")[0]


def _names(values: dict[str, str]) -> dict[str, str]:
    """Old name to new name; equal meshes get one."""
    plain = {value: _plain_name(value) for value in values.values()}
    taken = list(plain.values())
    unique = {v: n if taken.count(n) == 1 else f"{n}_{sha256(v.encode()).hexdigest()[:6]}" for v, n in plain.items()}
    return {old: unique[value] for old, value in values.items()}


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
