"""Drawings of changes: boxes and lines with their places and words, for a page to draw as SVG."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hlodiff.differ.placement import compute_place, format_memory_space
from hlodiff.differ.result import Edit, FusionChange, ModuleDiff, Site
from hlodiff.hlo.model import Instruction, Shape, Stage
from hlodiff.hlo.printer import print_instruction
from hlodiff.report.edits import format_fusion
from hlodiff.report.grouping import edit_groups_of
from hlodiff.report.html.layers import DrawingLayout, Point, layered_layout
from hlodiff.report.html.limits import PageLimits
from hlodiff.report.html.listing import Listing, Matching, Place, place_of
from hlodiff.report.lines import clip, printable

_BESIDE = 4
_SEEDS = 8
_FEW = 12  # so few on both sides together show too little


@dataclass(slots=True)
class Scene:
    """One side of a drawing.

    Args:
        outer: the computation that is drawn; -1 for nothing.
        nodes: its instructions, in order of importance.
        inside: instructions of fused computations, in the same order, by the place of their fusion in `outer`.
    """

    outer: int = -1
    nodes: dict[int, None] = field(default_factory=dict)
    inside: dict[int, dict[int, None]] = field(default_factory=dict)

    def count(self) -> int:
        """Instructions that are drawn."""
        return len(self.nodes) + sum(map(len, self.inside.values()))


def scenes_of(matching: Matching, seeds: tuple[Sequence[Place], Sequence[Place]], most: int) -> tuple[Scene, Scene]:
    """Both sides of a drawing.

    Args:
        matching: both programs.
        seeds: where the change was made on each side, the first one first.
        most: instructions on each side.

    Returns:
        scenes that show the same part of both programs: what is on one of them has its match on the other.
    """
    scenes = _scene(matching, 0, seeds[0], seeds[1]), _scene(matching, 1, seeds[1], seeds[0])
    for side, scene in enumerate(scenes):
        for place in seeds[side][:_SEEDS]:
            _add(matching, side, scene, place, most)
    for side, scene in enumerate(scenes):
        _widen(matching, side, scene, seeds[side], most)
    if scenes[0].count() + scenes[1].count() < _FEW:
        for side, scene in enumerate(scenes):
            _widen(matching, side, scene, _places(matching, side, scene), most)
    shown = [_places(matching, side, scene) for side, scene in enumerate(scenes)]
    for side, scene in enumerate(scenes):
        for place in shown[1 - side]:
            match = matching.partners[1 - side].get(place)
            if match:
                _add(matching, side, scene, match, most)
    return scenes


def _widen(matching: Matching, side: int, scene: Scene, places: Sequence[Place], most: int) -> None:
    for place in places[:_SEEDS]:
        for near in _near(matching, side, place):
            _add(matching, side, scene, near, most)


def _scene(matching: Matching, side: int, seeds: Sequence[Place], others: Sequence[Place]) -> Scene:
    """What is drawn is the computation around the first seed, or around the match of what is beside the other's."""
    if seeds:
        return Scene(_around(matching, side, seeds[0])[0])
    for seed in others:
        for near in _near(matching, 1 - side, seed):
            match = matching.partners[1 - side].get(near)
            if match:
                return Scene(_around(matching, side, match)[0])
    return Scene()


def _around(matching: Matching, side: int, place: Place) -> tuple[int, int]:
    """The computation in which a place is drawn, and the fusion there that it is inside of; -1 for none."""
    caller = matching.callers[side].get(place[0])
    return caller if caller else (place[0], -1)


def _near(matching: Matching, side: int, place: Place) -> list[Place]:
    """Operands and users; of something in a fusion those of the fusion too. What was edited comes first."""
    found = _beside(matching, side, place)
    caller = matching.callers[side].get(place[0])
    if caller:
        found += _beside(matching, side, caller)
    return found


def _beside(matching: Matching, side: int, place: Place) -> list[Place]:
    def chosen(near: Iterable[int]) -> list[Place]:
        places = [(place[0], n) for n in dict.fromkeys(near)]
        return sorted(places, key=lambda p: p not in matching.kinds[side])[:_BESIDE]

    return [*chosen(matching.at(side, place).operands), *chosen(matching.users(side, place))]


def _add(matching: Matching, side: int, scene: Scene, place: Place, most: int) -> None:
    if scene.count() >= most:
        return
    outer, fusion = _around(matching, side, place)
    if place[0] == scene.outer:
        scene.nodes.setdefault(place[1])
    elif outer == scene.outer and fusion >= 0:
        scene.nodes.setdefault(fusion)
        scene.inside.setdefault(fusion, {}).setdefault(place[1])


def _places(matching: Matching, side: int, scene: Scene) -> list[Place]:
    found = [(scene.outer, n) for n in scene.nodes]
    for fusion, inside in scene.inside.items():
        callee = next(iter(matching.at(side, (scene.outer, fusion)).called))
        found += [(callee, n) for n in inside]
    return found


_CHARACTER = 6.7  # of the font that a page draws words in
_LINE = 15
_PAD = 12
_HEAD = 24
_WIDEST = 26


def picture(matching: Matching, side: int, scene: Scene, listing: Listing | None) -> dict[str, Any] | None:
    """One side of a drawing as plain values.

    Args:
        matching: both programs.
        side: 0 for the old one, 1 for the new one.
        scene: what is drawn of it.
        listing: where its instructions are shown line by line; None where they are not.

    Returns:
        "nodes", "boxes" (fusions around nodes) and "edges", from the upper left corner; None where nothing is drawn.
    """
    if scene.outer < 0 or not scene.nodes:
        return None
    return _DrawingDraft(matching, side, scene, listing).drawn()


class _DrawingDraft:
    def __init__(self, matching: Matching, side: int, scene: Scene, listing: Listing | None) -> None:
        self.matching, self.side, self.scene, self.listing = matching, side, scene, listing
        self.nodes: list[dict[str, Any]] = []
        self.boxes: list[dict[str, Any]] = []
        self.edges: list[list[list[int]]] = []

    def drawn(self) -> dict[str, Any]:
        """Lay out each fusion by itself, then all of it with fusions as boxes."""
        order = sorted(self.scene.nodes)
        inner = {fusion: self.inner(fusion) for fusion in sorted(self.scene.inside)}
        nodes = {n: self.node((self.scene.outer, n)) for n in order}
        sizes = [self.size(nodes[n], inner.get(n)) for n in order]
        found = layered_layout(sizes, self.links(self.scene.outer, order))
        for n, center, size in zip(order, found.centers, sizes, strict=True):
            corner = center[0] - size[0] / 2, center[1] - size[1] / 2
            node = nodes[n] | _rounded(x=corner[0], y=corner[1], w=size[0], h=size[1])
            if n in inner:
                self.boxes.append(node)
                self.put(inner[n], (corner[0] + (size[0] - inner[n][1].width) / 2, corner[1] + _HEAD))
            else:
                self.nodes.append(node)
        self.lines(found, (0, 0))
        body = self.matching.body(self.side, self.scene.outer)
        entry = self.scene.outer == self.matching.modules[self.side].entry
        left = len(body.instructions) - len(order)
        return {
            "in": ("ENTRY %" if entry else "%") + clip(printable(body.name), 60),
            "left": left,
            "nodes": self.nodes,
            "boxes": self.boxes,
            "edges": self.edges,
            **_rounded(w=found.width, h=found.height),
        }

    def inner(self, fusion: int) -> tuple[list[dict[str, Any]], DrawingLayout]:
        callee = self.matching.at(self.side, (self.scene.outer, fusion)).called[0]
        order = sorted(self.scene.inside[fusion])
        nodes = [self.node((callee, n)) for n in order]
        found = layered_layout([self.size(node, None) for node in nodes], self.links(callee, order))
        return nodes, found

    def put(self, inner: tuple[list[dict[str, Any]], DrawingLayout], corner: Point) -> None:
        nodes, found = inner
        for node, center in zip(nodes, found.centers, strict=True):
            width, height = self.size(node, None)
            at = corner[0] + center[0] - width / 2, corner[1] + center[1] - height / 2
            self.nodes.append(node | _rounded(x=at[0], y=at[1], w=width, h=height))
        self.lines(found, corner)

    def lines(self, found: DrawingLayout, corner: Point) -> None:
        for path in found.edges:
            self.edges.append([[round(x + corner[0]), round(y + corner[1])] for x, y in path])

    def links(self, computation: int, order: list[int]) -> list[tuple[int, int]]:
        """Lines between what is drawn, from operand to user, each once."""
        at = {n: number for number, n in enumerate(order)}
        instructions = self.matching.body(self.side, computation).instructions
        return [(at[o], at[n]) for n in order for o in dict.fromkeys(instructions[n].operands) if o in at]

    def size(
        self, node: dict[str, Any], inner: tuple[list[dict[str, Any]], DrawingLayout] | None
    ) -> tuple[float, float]:
        words = [node["op"], node["shape"], *node["places"]]
        width = max(map(len, words)) * _CHARACTER + 2 * _PAD + 8
        if inner is None:
            return round(width), _LINE * (2 + bool(node["places"])) + 10
        return round(max(width * 1.3, inner[1].width + 2 * _PAD)), round(inner[1].height + _HEAD + _PAD)

    def node(self, place: Place) -> dict[str, Any]:
        it = self.matching.at(self.side, place)
        match = self.matching.partners[self.side].get(place)  # both sides of a pair go by the new place
        words = self.places(place, it)
        line = self.line(place)
        literal = f"({it.literal})" if it.literal is not None and it.opcode in ("parameter", "constant") else ""
        return {
            "op": clip(printable(it.opcode + literal), _WIDEST),
            "shape": clip(printable(_shape(it.shape)), _WIDEST),
            "places": words,
            "host": any("host" in word for word in words),
            "kind": self.matching.kinds[self.side].get(place, ""),
            "key": "{}.{}".format(*(place if self.side or not match else match)),
            "line": line,
        } | (
            {"text": clip(printable(print_instruction(self.matching.modules[self.side], *place)), 400)}
            if line < 0
            else {}
        )

    def line(self, place: Place) -> int:
        sides = (place, None) if self.side == 0 else (None, place)
        return self.listing.site(*sides)[self.side] if self.listing else -1

    def places(self, place: Place, it: Instruction) -> list[str]:
        """Where it runs and where its bytes lie, in one line, unless that is what everybody expects."""
        runs = compute_place(self.matching.body(self.side, place[0]), it)
        spaces = dict.fromkeys(leaf.layout.memory_space for leaf in it.shape.leaves() if leaf.layout)
        words = [format_memory_space(space, self.matching.platforms[self.side]) for space in spaces if space]
        parts = [f"runs on {printable(runs)}"] if runs != "device" else []
        parts += [f"in {'host memory' if word == 'host' else word}" for word in words[:1]]
        return [clip(", ".join(parts), _WIDEST)] if parts else []


def _shape(shape: Shape) -> str:
    """A shape without layouts."""
    if shape.tuple_shapes:
        return f"({', '.join(map(_shape, shape.tuple_shapes))})"
    return f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]" if shape.is_array else shape.element_type


def _rounded(**values: float) -> dict[str, int]:
    return {name: round(value) for name, value in values.items()}


_CHANGED_FUSIONS = ("split", "merged", "regrouped", "grew", "shrank", "dissolved", "formed")


def drawings_of(
    diff: ModuleDiff,
    stage: Stage,
    root: str,
    matching: Matching,
    listing: Listing | None,
    limits: PageLimits,
    room: int,
) -> tuple[list[dict[str, Any]], int]:
    """Drawings with both sides.

    Args:
        diff: the difference.
        stage: of its programs.
        root: the project's folder.
        matching: both programs.
        listing: where instructions are shown line by line.
        limits: how many drawings there are, and how much is in each.
        room: for how many characters.

    Returns:
        drawings, and how many more there would have been with more room. Each has "what" in words, "change", its number
        in the list of changes (-1 for fusions), "old" and "new".
    """
    made: list[Callable[[], dict[str, Any]]] = [
        partial(_of_fusions, change, matching, listing, limits) for change in _listed_fusions(diff.fusions, limits)
    ]
    edit_groups = edit_groups_of(diff.reported, stage, root)
    for number, edit_group in enumerate(edit_groups[: limits.drawings - len(made)]):
        seeds = _seeds(diff.reported[edit_group.edits[0][1]], diff.reported, edit_group.edits[0][1])
        made.append(partial(_drawing, edit_group.what, number, edit_group.kind, seeds, matching, listing, limits))
    found: list[dict[str, Any]] = []
    for at, make in enumerate(made):
        drawing = make()
        room -= len(json.dumps(drawing))
        if room < 0:
            return found, len(made) - at
        found += [drawing] if drawing["old"] or drawing["new"] else []
    return found, 0


def _listed_fusions(changes: Iterable[FusionChange], limits: PageLimits) -> list[FusionChange]:
    """Fusions of which something stayed, those that became others before those that grew."""
    listed = [change for change in changes if change.kind in _CHANGED_FUSIONS and (change.old or change.new)]
    listed.sort(key=lambda change: _CHANGED_FUSIONS.index(change.kind))
    return listed[: limits.drawings // 2]


def _seeds(edit: Edit, edits: Sequence[Edit], number: int) -> tuple[list[Place], list[Place]]:
    """The first place of an edit, then those of what follows from it."""
    first = edit.sites[:1]
    following = [pair for other in edits if other.cause == number for pair in other.sites[:2]]
    old, new = ([place_of(pair[side]) for pair in (*first, *following)] for side in (0, 1))
    return [place for place in old if place], [place for place in new if place]


def _of_fusions(
    change: FusionChange, matching: Matching, listing: Listing | None, limits: PageLimits
) -> dict[str, Any]:
    seeds = _inside(change.old, matching, 0), _inside(change.new, matching, 1)
    words = format_fusion(change)
    return _drawing(words, -1, "changed", seeds, matching, listing, limits)


def _inside(sites: Sequence[Site], matching: Matching, side: int) -> list[Place]:
    """The fusions, then what is in them: what was moved, added or removed first."""
    fusions = [place for site in sites[:4] if (place := place_of(site))]
    found: list[Place] = []
    for fusion in fusions:
        for callee in matching.at(side, fusion).called[:1]:
            found += [(callee, n) for n in range(len(matching.body(side, callee).instructions))]
    found.sort(key=lambda place: place not in matching.kinds[side])
    return [*fusions, *found]


def _drawing(
    what: str,
    number: int,
    kind: str,
    seeds: tuple[list[Place], list[Place]],
    matching: Matching,
    listing: Listing | None,
    limits: PageLimits,
) -> dict[str, Any]:
    scenes = scenes_of(matching, seeds, limits.drawn)
    old, new = (picture(matching, side, scene, listing) for side, scene in enumerate(scenes))
    return {"what": clip(printable(what), 120), "change": number, "kind": kind, "old": old, "new": new}
