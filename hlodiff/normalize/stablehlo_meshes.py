"""Rule `meshes`: device meshes named by what they are, equal ones once, unused ones not at all."""

from __future__ import annotations

import re
from hashlib import sha256

from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attributes, with_header

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
