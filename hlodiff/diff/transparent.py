"""A module seen without borders: a fusion's parameter is the operand it is called with, a fusion the root inside it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from hlodiff.diff.edits import Place
from hlodiff.diff.walk import at
from hlodiff.ir.content import is_commutative
from hlodiff.ir.model import Instruction, Module

BORDERS = frozenset(["parameter", "fusion", "call", "while", "conditional", "func.call", "return"])


@dataclass(frozen=True, slots=True)
class Around:
    """One module seen without borders: resolved operands and users of every instruction, and of fusions as a whole."""

    operands: dict[Place, tuple[tuple[Place, int], ...]]
    users: dict[Place, tuple[tuple[Place, int], ...]]


def around(module: Module, closed: Container[int]) -> Around:
    """Neighbours of every instruction; what is equal on both sides was never opened and stands as one instruction."""
    sites = _single_sites(module, closed)
    operands: dict[Place, tuple[tuple[Place, int], ...]] = {}
    users: dict[Place, list[tuple[Place, int]]] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions if index not in closed else ()):
            if it.opcode in BORDERS and it.opcode != "fusion":
                continue
            numbers: Sequence[int] = (0, 0) if is_commutative(it) else range(len(it.operands))
            results = it.results or (0,) * len(it.operands)
            resolved = [
                (_resolve(module, sites, (index, operand), result), number)
                for operand, number, result in zip(it.operands, numbers, results, strict=True)
            ]
            operands[index, position] = tuple(resolved)
            for place, slot in resolved if it.opcode != "fusion" else ():
                users.setdefault(place, []).append(((index, position), slot))
    for place in operands:
        if at(module, place).opcode == "fusion":
            users[place] = users.get(_resolve(module, sites, place), [])
    return Around(operands, {place: tuple(found) for place, found in users.items()})


def _single_sites(module: Module, closed: Container[int]) -> dict[int, Place | None]:
    """For each computation called as a step of the program from one place only, that place."""
    sites: dict[int, Place | None] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            for callee in it.called if it.calls else ():
                fits = _is_step(it) and callee not in sites and callee not in closed
                sites[callee] = (index, position) if fits else None
    return sites


def _is_step(it: Instruction) -> bool:
    return it.opcode in ("fusion", "call", "func.call") or it.opcode.startswith(("custom-call", "async-start"))


def _resolve(module: Module, sites: dict[int, Place | None], place: Place, result: int = 0) -> Place:
    """Through borders to what a value really is, see `_behind`; `result` of an operation that has several."""
    for _ in range(1000):  # nesting is shallow in real programs; a hostile call cycle ends here
        behind = _behind(module, sites, place)
        if behind is None:
            return place
        place = behind
        it = at(module, place)
        if it.opcode == "return":  # of a StableHLO function
            if result >= len(it.operands):
                return place
            place, result = (place[0], it.operands[result]), it.results[result] if it.results else 0
    return place


def _behind(module: Module, sites: dict[int, Place | None], place: Place) -> Place | None:
    """A parameter is its caller's operand, a call the root of what it calls, an element what the tuple was made of."""
    it = at(module, place)
    site = sites.get(place[0])
    if it.opcode == "parameter" and site is not None:
        operands = at(module, site).operands
        number = int(it.literal or 0)
        return (site[0], operands[number]) if number < len(operands) else None
    if it.opcode in ("bitcast", "copy-done") or (it.opcode.endswith("-done") and it.operands):
        return place[0], it.operands[0]
    if it.opcode == "copy-start":
        return place[0], it.operands[0]
    if it.calls and len(it.called) == 1 and _is_step(it) and sites.get(it.called[0]) is not None:
        return it.called[0], module.computations[it.called[0]].root
    if it.opcode == "get-tuple-element" and (it.attribute("index") or "").isdigit():
        source = _resolve(module, sites, (place[0], it.operands[0]))
        made = at(module, source)
        index = int(it.attribute("index") or 0)
        return (source[0], made.operands[index]) if made.opcode == "tuple" and index < len(made.operands) else None
    return None
