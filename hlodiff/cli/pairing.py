"""Which program of the old side belongs to which of the new one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hlodiff.cli.sides import Side, Sides
from hlodiff.ir.model import Stage

Pair = tuple[Side | None, Side | None]
_LAYOUT = re.compile(rb"entry_computation_layout=(\{\(.*?\)->.*?\}), ")
_HEAD = 65536


def pair(old: Sides, new: Sides) -> list[Pair]:
    """Pair programs by name, target and stage.

    Two single files or two single snapshots are a pair whatever they are called. Several programs of one name, as an
    XLA dump has them where a function was compiled for several shapes, pair by their entry layout, then in order, and
    are told apart by a number.

    Args:
        old, new: both sides.

    Returns:
        pairs in the order of the names; one side is None where only the other one has the program.
    """
    if old.single and new.single:
        return _pair_single(old.programs, new.programs)
    groups: dict[tuple[str, str, Stage], tuple[list[Side], list[Side]]] = {}
    for number, side in enumerate((old, new)):
        for program in side.programs:
            groups.setdefault((program.name, program.target or "", program.stage), ([], []))[number].append(program)
    pairs: list[Pair] = []
    for key in sorted(groups):
        pairs += _pair_group(*groups[key])
    return pairs


def _pair_single(old: Sequence[Side], new: Sequence[Side]) -> list[Pair]:
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    stages = sorted({program.stage for program in (*old, *new)})
    return [
        (next((p for p in old if p.stage == stage), None), next((p for p in new if p.stage == stage), None))
        for stage in stages
    ]


def _pair_group(old: list[Side], new: list[Side]) -> list[Pair]:
    if len(old) <= 1 and len(new) <= 1:
        return [(old[0] if old else None, new[0] if new else None)]
    pairs: list[Pair] = []
    waiting = [(program, _layout(program)) for program in new]
    rest: list[Side] = []
    for program in old:
        layout = _layout(program)
        found = next((item for item in waiting if item[1] == layout), None)
        if found is None:
            rest.append(program)
        else:
            waiting.remove(found)
            pairs.append((program, found[0]))
    others = [program for program, _ in waiting]
    pairs += list(zip(rest, others, strict=False))
    shared = min(len(rest), len(others))
    pairs += [(program, None) for program in rest[shared:]] + [(None, program) for program in others[shared:]]
    return [_numbered(one, number) for number, one in enumerate(pairs, 1)]


def _numbered(one: Pair, number: int) -> Pair:
    old, new = (replace(side, name=f"{side.name}#{number}") if side else None for side in one)
    return old, new


def _layout(program: Side) -> bytes:
    found = _LAYOUT.search(program.content()[:_HEAD])
    return found.group(1) if found else b""
