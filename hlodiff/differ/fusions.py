"""Connected components of the graph of fusions, in which old and new fusions that share instructions are neighbours.

Each component is one record: which fusions became which, what crossed their borders, what is now written to memory
between them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import ProgramMatch, ProgramSide, equal_below
from hlodiff.differ.edits import RawEdit, site_of
from hlodiff.differ.result import FusionChange, Site
from hlodiff.hlo.model import Module, Place

if TYPE_CHECKING:
    import networkx as nx

_Node = tuple[int, int]
"""A fused computation: 0 for the old side or 1 for the new one, and its index there."""


def fusion_changes(
    before: ProgramSide, after: ProgramSide, found: ProgramMatch, edits: Iterable[RawEdit]
) -> tuple[FusionChange, ...]:
    """Fusions whose instructions crossed borders or were added or removed; fusions that share any form one entry.

    Args:
        before, after: the programs as they were paired.
        found: which computations correspond.
        edits: single edits, moves among them.
    """
    if not any(pair.pairing is not None for pair in found.pairs):
        return ()
    import networkx as nx

    old, new = before.module, after.module
    opened = [(pair.old, pair.new) for pair in found.pairs if pair.pairing is not None]
    sites = (
        _fusion_sites(old, {*(a for a, _ in opened), *found.removed}),
        _fusion_sites(new, {*(b for _, b in opened), *found.added}),
    )
    shared: nx.Graph[_Node] = nx.Graph()
    for pair in found.pairs:
        is_shared = pair.pairing is None or any(matched >= 0 for matched in pair.pairing.old)
        if pair.old in sites[0] and pair.new in sites[1] and is_shared:
            shared.add_edge((0, pair.old), (1, pair.new))
    crossing: dict[_Node, int] = {}  # how many instructions crossed the border of each fusion
    for edit in edits:
        if edit.kind != "moved" or edit.old is None or edit.new is None:
            continue
        source, target = (0, edit.old[0]), (1, edit.new[0])
        if source[1] in sites[0]:
            crossing[source] = crossing.get(source, 0) + edit.count
        if target[1] in sites[1]:
            crossing[target] = crossing.get(target, 0) + edit.count
        if source[1] in sites[0] and target[1] in sites[1]:
            shared.add_edge(source, target)
        for a, b, _ in equal_below(before, after, (edit.old, edit.new)):
            if a in sites[0] and b in sites[1]:
                shared.add_edge((0, a), (1, b))  # moved as a whole
    shared.add_nodes_from((0, index) for index in found.removed if index in sites[0])
    shared.add_nodes_from((1, index) for index in found.added if index in sites[1])
    changes = []
    for component in nx.connected_components(shared):
        change = _change((old, new), sites, sorted(component), shared, crossing)
        if change is not None:
            changes.append(change)
    return tuple(changes)


def _fusion_sites(module: Module, opened: Container[int]) -> dict[int, list[Place]]:
    """Fused computations and their calling fusions, in opened and one-sided computations."""
    sites: dict[int, list[Place]] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions if index in opened else ()):
            if it.opcode == "fusion":
                for callee in it.called:
                    sites.setdefault(callee, []).append((index, position))
    return sites


_Sites = tuple[dict[int, list[Place]], dict[int, list[Place]]]


def _change(
    modules: tuple[Module, Module],
    sites: _Sites,
    nodes: list[_Node],
    shared: nx.Graph[_Node],
    crossing: dict[_Node, int],
) -> FusionChange | None:
    olds = [node for node in nodes if node[0] == 0]
    news = [node for node in nodes if node[0] == 1]
    moved_out = sum(crossing.get(node, 0) for node in olds)
    moved_in = sum(crossing.get(node, 0) for node in news)
    if len(olds) == len(news) == 1 and not moved_in and not moved_out:
        return None
    if not shared.degree(nodes[0]) and not moved_in and not moved_out:
        return FusionChange("removed" if olds else "added", _all(modules, sites, olds), _all(modules, sites, news))
    between = [_between(modules[which], sites[which], group) for which, group in ((0, olds), (1, news))]
    return FusionChange(
        _kind(len(olds), len(news), moved_in, moved_out),
        _all(modules, sites, olds),
        _all(modules, sites, news),
        moved_in,
        moved_out,
        between[1] - between[0],
    )


def _kind(olds: int, news: int, moved_in: int, moved_out: int) -> str:
    if olds == 0:
        return "formed"
    if news == 0:
        return "dissolved"
    if olds == 1 and news == 1:
        return "grew" if moved_in > moved_out else "shrank" if moved_out > moved_in else "regrouped"
    if olds == 1:
        return "split"
    return "merged" if news == 1 else "regrouped"


def _all(modules: tuple[Module, Module], sites: _Sites, nodes: list[_Node]) -> tuple[Site, ...]:
    return tuple(site_of(modules[which], place) for which, index in nodes for place in sites[which][index])


def _between(module: Module, sites: dict[int, list[Place]], nodes: list[_Node]) -> int:
    """Bytes that fusions of a group write for other fusions of the group."""
    inside = [place for _, index in nodes for place in sites[index]]
    group = set(inside)
    read: set[Place] = set()
    for computation, position in inside:
        for operand in module.computations[computation].instructions[position].operands:
            if (computation, operand) in group:
                read.add((computation, operand))
    return sum(module.computations[c].instructions[p].shape.bytes for c, p in read)
