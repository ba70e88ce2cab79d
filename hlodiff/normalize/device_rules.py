"""Replica groups and shardings in one spelling."""

from __future__ import annotations

import re
from math import prod

from hlodiff.ir.devices import canonical_groups, iota, numbers
from hlodiff.ir.hlo_tokens import parts_or_whole
from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_attribute, map_instructions, with_attribute

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
