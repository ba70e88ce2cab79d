"""Equal computations, stored once."""

from __future__ import annotations

from collections.abc import Hashable

from hlodiff.ir.content import Content, contents
from hlodiff.ir.model import Computation, Module
from hlodiff.normalize.order import redirected
from hlodiff.normalize.roles import scheduled


def equal_computations(module: Module) -> tuple[Module, int]:
    """Keep one of several computations of equal content (and schedule, where they have one), and call that."""
    found = contents(module)
    has_schedule = scheduled(module)
    groups: dict[Hashable, list[int]] = {}
    for index, computation in enumerate(module.computations):
        if index != module.entry:
            groups.setdefault(_key(computation, found[index], has_schedule[index]), []).append(index)
    new = list(range(len(module.computations)))
    for group in groups.values():
        chosen = min(group, key=lambda n: _spelling(module.computations[n])) if len(group) > 1 else group[0]
        for index in group:
            new[index] = chosen
    kept = sorted(set(new))
    if len(kept) == len(new):
        return module, 0
    place = {old: n for n, old in enumerate(kept)}
    moved = [place[n] for n in new]
    computations = tuple(redirected(module.computations[old], moved) for old in kept)
    merged = Module(module.name, module.stage, computations, place[module.entry], module.attributes, module.frames)
    return merged, len(new) - len(kept)


def _key(computation: Computation, content: Content, has_schedule: bool) -> Hashable:
    number = {position: n for n, position in enumerate(content.order)}
    control = sorted(
        (number[n], *sorted(number[p] for p in it.control_predecessors))
        for n, it in enumerate(computation.instructions)
        if it.control_predecessors
    )
    return content.hash, tuple(control), content.order if has_schedule else ()


def _spelling(computation: Computation) -> tuple[tuple[int, ...], ...]:
    """Equal content may still print commutative operands in either order: the smaller spelling is kept."""
    return tuple(it.operands for it in computation.instructions)
