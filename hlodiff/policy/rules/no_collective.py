"""No collective of a kind, or none over an axis of the mesh: one word in a sharding can make every step gather weights.

An all-gather over the axis that splits the model brings back what the axis was there to split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from hlodiff.config_policy import RuleUse
from hlodiff.config_values import closest
from hlodiff.diff.weights import weigh
from hlodiff.ir.collectives import Collective, collectives
from hlodiff.ir.devices import numbers, parse_groups
from hlodiff.ir.model import Module
from hlodiff.policy.programs import Both, Hit, Place, hits

ADVICE = "look at the shardings on the way to it, first those of the line it comes from"
_AXIS = re.compile(r'"([^"]+)"\s*=\s*(\d+)')
_IDS = re.compile(r"device_ids\s*=\s*\[([\d,\s]*)\]")
# A mesh beyond any machine is a damaged file: laying it out would not end.
_MOST_AXES, _MOST_DEVICES = 8, 1 << 20


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Collectives of the kind, over the axis where one is named."""
    compiled = both.compiled.now if both.compiled is not None else None
    if compiled is None:
        return
    kind, axis = use.option("kind"), use.option("axis")
    found = [one for one in collectives(compiled) if one.family == kind]
    if axis and found:
        found, unknown = over_axis(found, both.stablehlo.now if both.stablehlo is not None else None, axis)
        if unknown:
            yield Hit(unknown, f"axis {axis}")
            return
    weights = weigh(compiled)
    places = [_place(compiled, one, weights[one.computation].total) for one in found]
    over = f" over `{axis}`" if axis else ""
    yield from hits((p for p in places if p.count), lambda place: f"{place.words} works{over or ' between devices'}")


def over_axis(found: list[Collective], stablehlo: Module | None, axis: str) -> tuple[list[Collective], str]:
    """Those collectives that work over an axis of the mesh.

    Args:
        found: some of a compiled program.
        stablehlo: the same program before XLA, which names the mesh; None where there is none.
        axis: the name of the axis.

    Returns:
        the collectives, and why nobody can tell ("" where it can be told).

    Example:
        >>> over_axis([], None, "model")
        ([], 'whether a collective works over `model` cannot be told: its StableHLO names no mesh')
    """
    meshes = _meshes(stablehlo) if stablehlo is not None else []
    names = sorted({name for mesh in meshes for name in mesh.sizes})
    near = closest(axis, names) if axis not in names else ""
    if near or not names:
        why = f"the mesh has the axis `{near}`" if near else "its StableHLO names no mesh"
        return [], f"whether a collective works over `{axis}` cannot be told: {why}"
    return [one for one in found if any(axis in _axes(one, mesh) for mesh in meshes)], ""


def _place(module: Module, one: Collective, count: int) -> Place:
    computation = module.computations[one.computation]
    return Place(module, computation, computation.instructions[one.instruction], count)


@dataclass(frozen=True, slots=True)
class _Mesh:
    """Sizes by axis, and the device at each place, the last axis running fastest."""

    sizes: dict[str, int]
    devices: tuple[int, ...]


def _meshes(module: Module) -> list[_Mesh]:
    """Every mesh that the StableHLO names in its header."""
    found = []
    for name, text in module.attributes:
        sizes = {axis: int(size) for axis, size in _AXIS.findall(text)} if name.startswith("sdy.mesh") else {}
        count = prod(sizes.values())
        if sizes and 0 < count <= _MOST_DEVICES and len(sizes) <= _MOST_AXES:
            ids = _IDS.search(text)
            devices = tuple(numbers(ids[1])) if ids else ()
            found.append(_Mesh(sizes, devices if len(devices) == count else tuple(range(count))))
    return found


def _axes(one: Collective, mesh: _Mesh) -> set[str]:
    """The axes over which the groups of a collective reach: those along which members of one group differ."""
    groups = parse_groups(one.groups)
    if groups is None:
        return set(mesh.sizes)  # a spelling that we do not know: it may be any
    places = dict(zip(mesh.devices, product(*(range(size) for size in mesh.sizes.values())), strict=True))
    members = [[places[d] for d in group if d in places] for group in groups or [mesh.devices]]
    return {
        name
        for number, name in enumerate(mesh.sizes)
        if any(len({place[number] for place in group}) > 1 for group in members)
    }
