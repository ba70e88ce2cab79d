"""Which instruction is which, and what was done to it: what listings and drawings of one program share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hlodiff.diff.result import Edit, ModuleDiff, Site
from hlodiff.diff.script import Script
from hlodiff.diff.words import platform_of
from hlodiff.ir.model import Computation, Instruction, Module

Place = tuple[int, int]
"""A computation of a module, and an instruction in it."""


def place_of(site: Site | None) -> Place | None:
    """Where a site is."""
    return (site.computation, site.instruction) if site else None


@dataclass(slots=True)
class Matching:
    """Both programs of a diff, with the partner of each instruction and the kind of edit it has.

    Args:
        modules: old and new.
        script: the diff as steps, whose pairs say what corresponds.
        partners: for each side, the place on the other one.
        kinds: for each side, the kind of edit.
        callers: for each side, the first fusion that calls a computation.
        platforms: which backend compiled each side.
    """

    modules: tuple[Module, Module]
    script: Script
    partners: tuple[dict[Place, Place], dict[Place, Place]]
    kinds: tuple[dict[Place, str], dict[Place, str]]
    callers: tuple[dict[int, Place], dict[int, Place]]
    platforms: tuple[str, str]
    _users: dict[tuple[int, int], tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    @staticmethod
    def of(diff: ModuleDiff) -> Matching:
        """Work out everything once."""
        script = diff.script
        kinds = _kinds(diff.edits)
        callers = _callers(diff.old), _callers(diff.new)
        platforms = platform_of(diff.old), platform_of(diff.new)
        return Matching((diff.old, diff.new), script, _partners(script, diff.edits), kinds, callers, platforms)

    def body(self, side: int, computation: int) -> Computation:
        """A computation."""
        return self.modules[side].computations[computation]

    def at(self, side: int, place: Place) -> Instruction:
        """An instruction."""
        return self.body(side, place[0]).instructions[place[1]]

    def users(self, side: int, place: Place) -> tuple[int, ...]:
        """Instructions of the same computation that use one."""
        key = side, place[0]
        if key not in self._users:
            self._users[key] = self.body(side, place[0]).users()
        return self._users[key][place[1]]


def _partners(script: Script, edits: Sequence[Edit]) -> tuple[dict[Place, Place], dict[Place, Place]]:
    forth: dict[Place, Place] = {}
    back: dict[Place, Place] = {}
    for edit in edits:
        for old, new in edit.sites:
            if old and new:
                _pair(forth, back, (old.computation, old.instruction), (new.computation, new.instruction))
    for pair in script.pairs:
        for old_place, new_place in enumerate(pair.partners):
            if new_place >= 0:
                _pair(forth, back, (pair.old, old_place), (pair.new, new_place))
    return forth, back


def _pair(forth: dict[Place, Place], back: dict[Place, Place], old: Place, new: Place) -> None:
    forth.setdefault(old, new)
    back.setdefault(new, old)


def _kinds(edits: Sequence[Edit]) -> tuple[dict[Place, str], dict[Place, str]]:
    found: tuple[dict[Place, str], dict[Place, str]] = ({}, {})
    for edit in edits:
        for pair in edit.sites:
            for side, site in zip(found, pair, strict=True):
                if site:
                    side.setdefault((site.computation, site.instruction), edit.kind)
    return found


def _callers(module: Module) -> dict[int, Place]:
    found: dict[int, Place] = {}
    for number, body in enumerate(module.computations):
        for at, it in enumerate(body.instructions):
            for callee in it.called if it.opcode == "fusion" else ():
                found.setdefault(callee, (number, at))
    return found
