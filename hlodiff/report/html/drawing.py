"""Drawings of changes: boxes and lines with their places and words, for a page to draw as SVG."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hlodiff.differ.placement import compute_place, format_memory_space
from hlodiff.differ.result import Edit, FusionChange, ModuleDiff, Site
from hlodiff.hlo.model import Computation, Instruction, Shape, Stage
from hlodiff.hlo.printer import print_instruction
from hlodiff.report.edits import format_fusion
from hlodiff.report.grouping import REPLACED, EditGroup, edit_groups_of
from hlodiff.report.html.layers import DrawingLayout, Point, layered_layout
from hlodiff.report.html.limits import PageLimits
from hlodiff.report.html.listing import Listing, Matching, Place, place_of
from hlodiff.report.lines import clip, printable

_BESIDE = 4
_SEEDS = 16
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
            match = matching.mapping[1 - side].get(place)
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
            match = matching.mapping[1 - side].get(near)
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
_HEAD = 32  # the words of a box, and the sign of what is right below them
_WIDEST = 26


_Node = tuple[int, int]
"""What is drawn at one place: an instruction of the old side and one of the new side, -1 where one has none."""


@dataclass(slots=True)
class _Level:
    """What is drawn of one pair of computations: both sides at the same places, so that they can be compared.

    Args:
        computations: of the old and of the new side; -1 for none.
        nodes: in an order in which operands come first.
        inner: what is drawn inside of a node, by its number.
        layout: where each node lies.
    """

    computations: tuple[int, int]
    nodes: list[_Node]
    links: list[tuple[int, int]] = field(default_factory=list)
    of: list[set[int]] = field(default_factory=list)
    sizes: list[tuple[float, float]] = field(default_factory=list)
    inner: dict[int, _Level] = field(default_factory=dict)
    layout: DrawingLayout = field(default_factory=lambda: DrawingLayout((), (), 0, 0))


class _DrawingDraft:
    """Both sides of a drawing, laid out once: what corresponds lies at the same place on both."""

    def __init__(
        self, matching: Matching, scenes: tuple[Scene, Scene], focus: Container[tuple[int, Place]],
        listing: Listing | None,
    ) -> None:  # fmt: skip
        self.matching, self.scenes, self.focus, self.listing = matching, scenes, focus, listing
        self.found: tuple[dict[str, list[Any]], dict[str, list[Any]]] = (
            {"nodes": [], "boxes": [], "edges": [], "only": []},
            {"nodes": [], "boxes": [], "edges": [], "only": []},
        )

    def drawn(self) -> dict[str, Any]:
        """Lay out each fusion by itself, then all of it with fusions as boxes."""
        top = self.level(
            (self.scenes[0].outer, self.scenes[1].outer), (set(self.scenes[0].nodes), set(self.scenes[1].nodes))
        )
        for number, node in enumerate(top.nodes):
            inside = [scene.inside.get(n, {}) if n >= 0 else {} for scene, n in zip(self.scenes, node, strict=True)]
            if any(inside):
                callees = [self.callee(side, n) if inside[side] else -1 for side, n in enumerate(node)]
                top.inner[number] = self.level((callees[0], callees[1]), (set(inside[0]), set(inside[1])))
                self.place(top.inner[number])
        self.place(top)
        self.write(top, (0, 0))
        values = [self.value(side) for side in (0, 1)]
        return {"old": values[0], "new": values[1], **_rounded(w=top.layout.width, h=top.layout.height)}

    def callee(self, side: int, fusion: int) -> int:
        return self.matching.at(side, (self.scenes[side].outer, fusion)).called[0]

    def level(self, computations: tuple[int, int], shown: tuple[set[int], set[int]]) -> _Level:
        """Pairs and single instructions of two computations, operands first, with the edges of either side."""
        mapping = self.matching.mapping[0]
        pairs = {n: match[1] for n in shown[0] if (match := mapping.get((computations[0], n)))
                 and match[0] == computations[1] and match[1] in shown[1]}  # fmt: skip
        taken: set[int] = set()
        for n in sorted(pairs):  # an instruction of the new side can be the match of several
            if pairs[n] in taken:
                del pairs[n]
            else:
                taken.add(pairs[n])
        nodes = [(n, pairs.get(n, -1)) for n in shown[0]] + [(-1, n) for n in shown[1] - set(pairs.values())]
        nodes.sort(key=lambda node: (max(node[1], -1), node[0]) if node[1] >= 0 else (node[0], -1))
        at = [{node[side]: number for number, node in enumerate(nodes) if node[side] >= 0} for side in (0, 1)]
        links: dict[tuple[int, int], set[int]] = {}
        for side in (0, 1):
            for n in sorted(shown[side]):
                for operand in dict.fromkeys(self.matching.at(side, (computations[side], n)).operands):
                    if operand in at[side]:
                        links.setdefault((at[side][operand], at[side][n]), set()).add(side)
        order = operands_first(len(nodes), list(links))
        number_of = {number: at for at, number in enumerate(order)}
        moved = {(number_of[a], number_of[b]): sides for (a, b), sides in links.items()}
        return _Level(computations, [nodes[n] for n in order], list(moved), list(moved.values()))

    def place(self, level: _Level) -> None:
        level.sizes = [self.size(level, number) for number in range(len(level.nodes))]
        level.layout = layered_layout(level.sizes, level.links)

    def size(self, level: _Level, number: int) -> tuple[float, float]:
        """Room for the words of both sides, and for what is inside."""
        values = [
            self.node(side, (level.computations[side], n)) for side, n in enumerate(level.nodes[number]) if n >= 0
        ]
        words = [word for one in values for word in (one["op"], one["shape"], *one["places"], one.get("was", ""))]
        width = max(map(len, words)) * _CHARACTER + 2 * _PAD + 8
        inner = level.inner.get(number)
        if inner is None:
            lines = max(2 + bool(one["places"]) + ("was" in one) for one in values)
            return round(width), _LINE * lines + 10
        return round(max(width * 1.3, inner.layout.width + 2 * _PAD)), round(inner.layout.height + _HEAD + _PAD)

    def write(self, level: _Level, corner: Point) -> None:
        """Everything at its place, for each side what it has."""
        for number, node in enumerate(level.nodes):
            center, (width, height) = level.layout.centers[number], level.sizes[number]
            x, y = corner[0] + center[0] - width / 2, corner[1] + center[1] - height / 2
            inner = level.inner.get(number)
            for side, n in enumerate(node):
                if n >= 0:
                    value = self.node(side, (level.computations[side], n)) | _rounded(x=x, y=y, w=width, h=height)
                    self.found[side]["nodes" if inner is None else "boxes"].append(value)
            if inner:
                self.write(inner, (x + (width - inner.layout.width) / 2, y + _HEAD))
        for path, sides in zip(level.layout.edges, level.of, strict=True):
            points = [[round(x + corner[0]), round(y + corner[1])] for x, y in path]
            for side in sorted(sides):
                self.found[side]["only"] += [len(self.found[side]["edges"])] if len(sides) == 1 else []
                self.found[side]["edges"].append(points)

    def value(self, side: int) -> dict[str, Any] | None:
        """One side; None where nothing is drawn of it."""
        scene = self.scenes[side]
        if scene.outer < 0 or not scene.nodes:
            return None
        body = self.matching.body(side, scene.outer)
        entry = scene.outer == self.matching.modules[side].entry
        name = ("ENTRY %" if entry else "%") + clip(printable(body.name), 60)
        return {"in": name, "left": len(body.instructions) - len(scene.nodes), **self.found[side]}

    def node(self, side: int, place: Place) -> dict[str, Any]:
        it = self.matching.at(side, place)
        match = self.matching.mapping[side].get(place)  # both sides of a pair go by the new place
        words = self.places(side, place, it)
        line = self.line(side, place)
        was = self.matching.at(0, match).opcode if match and side else it.opcode
        return {
            "op": clip(printable(opcode_of(it)), _WIDEST),
            "shape": clip(printable(format_shape_of(it.shape)), _WIDEST),
            "places": words,
            "host": any("host" in word for word in words),
            "kind": self.matching.kinds[side].get(place, ""),
            "key": "{}.{}".format(*(place if side or not match else match)) + ("" if side or match else "-"),
            "line": line,
            **({"was": clip(f"was {printable(was)}", _WIDEST)} if was != it.opcode else {}),
            **({"focus": 1} if (side, place) in self.focus else {}),
        } | ({"text": clip(printable(print_instruction(self.matching.modules[side], *place)), 400)} if line < 0 else {})

    def line(self, side: int, place: Place) -> int:
        sides = (place, None) if side == 0 else (None, place)
        return self.listing.site(*sides)[side] if self.listing else -1

    def places(self, side: int, place: Place, it: Instruction) -> list[str]:
        """Where it runs and where its bytes lie, in one line, unless that is what everybody expects."""
        words = place_words(self.matching.body(side, place[0]), it, self.matching.platforms[side])
        return [clip(", ".join(words), _WIDEST)] if words else []


def operands_first(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """An order of nodes in which each comes after those that lead to it; where that closes a circle, the first goes on.

    Example:
        >>> operands_first(3, [(2, 0), (0, 1)])
        [2, 0, 1]
    """
    unplaced = [0] * count
    users: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        unplaced[b] += 1
        users[a].append(b)
    left = set(range(count))
    order = []
    while left:
        n = min(left, key=lambda n: (unplaced[n] > 0, n))
        left.discard(n)
        order.append(n)
        for user in users[n]:
            unplaced[user] -= 1
    return order


def place_words(body: Computation, it: Instruction, platform: str) -> list[str]:
    """Where an instruction runs and where its bytes lie, unless that is the device and its main memory."""
    runs = compute_place(body, it)
    spaces = dict.fromkeys(leaf.layout.memory_space for leaf in it.shape.leaves if leaf.layout)
    words = [format_memory_space(space, platform) for space in spaces if space]
    parts = [f"runs on {printable(runs)}"] if runs != "device" else []
    return parts + [f"in {'host memory' if word == 'host' else word}" for word in words[:1]]


def opcode_of(it: Instruction) -> str:
    """The opcode; of a parameter with its number, of a constant with its value."""
    return it.opcode + (f"({it.literal})" if it.literal is not None and it.opcode in ("parameter", "constant") else "")


def format_shape_of(shape: Shape) -> str:
    """A shape without layouts: `f32[8,4]`, `(f32[8], s32[])`."""
    if shape.tuple_shapes:
        return f"({', '.join(map(format_shape_of, shape.tuple_shapes))})"
    return f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]" if shape.is_array else shape.element_type


def _rounded(**values: float) -> dict[str, int]:
    return {name: round(value) for name, value in values.items()}


_CHANGED_FUSIONS = ("split", "merged", "regrouped", "grew", "shrank", "dissolved", "formed")


def drawings_of(
    diff: ModuleDiff,
    stage: Stage,
    root: str,
    packages: Sequence[str],
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
        packages: libraries whose own line is named, see `shown_place`.
        matching: both programs.
        listing: where instructions are shown line by line.
        limits: how many drawings there are, and how much is in each.
        room: for how many characters.

    Returns:
        drawings, and how many more there would have been with more room. Each has "what" in words, "change", its number
        in the list of changes (-1 for fusions), its size "w" and "h", "old" and "new": their "nodes", "boxes" (fusions
        around nodes) and "edges" from the upper left corner, what corresponds at the same place on both, and "only",
        the numbers of the edges that the other side does not have.
    """
    made: list[Callable[[], dict[str, Any]]] = [
        partial(_of_fusions, change, matching, listing, limits) for change in _listed_fusions(diff.fusions, limits)
    ]
    edit_groups = edit_groups_of(diff.reported, stage, root, packages)
    for number, edit_group in enumerate(edit_groups[: limits.drawings - len(made)]):
        old, new, focus = _seeds(edit_group, diff.reported)
        made.append(
            partial(_drawing, edit_group.what, number, edit_group.kind, (old, new), focus, matching, listing, limits)
        )
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


def _seeds(edit_group: EditGroup, edits: Sequence[Edit]) -> tuple[list[Place], list[Place], set[tuple[int, Place]]]:
    """The first place of an edit (of a replaced subgraph all of it), then what follows; and which of it is in focus."""
    own = [edits[number] for _, number in edit_group.edits]
    numbers = {number for _, number in edit_group.edits[:1]}
    first = [pair for edit in own[:1] for pair in edit.sites[:1]]
    if edit_group.kind == REPLACED:
        numbers = {number for _, number in edit_group.edits if edits[number].region == own[0].region}
        first = [pair for number in sorted(numbers) for pair in edits[number].sites]
    following = [pair for other in edits if other.cause in numbers for pair in other.sites[:2]]
    focus = {(side, place) for pair in first for side in (0, 1) if (place := place_of(pair[side]))}
    old, new = ([place_of(pair[side]) for pair in (*first, *following)] for side in (0, 1))
    return [place for place in old if place], [place for place in new if place], focus


def _of_fusions(
    change: FusionChange, matching: Matching, listing: Listing | None, limits: PageLimits
) -> dict[str, Any]:
    seeds = _inside(change.old, matching, 0), _inside(change.new, matching, 1)
    focus = {
        (side, place) for side, sites in enumerate((change.old, change.new)) for place in map(place_of, sites) if place
    }
    return _drawing(format_fusion(change), -1, "changed", seeds, focus, matching, listing, limits)


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
    focus: Container[tuple[int, Place]],
    matching: Matching,
    listing: Listing | None,
    limits: PageLimits,
) -> dict[str, Any]:
    scenes = scenes_of(matching, seeds, limits.drawn)
    drawn = _DrawingDraft(matching, scenes, focus, listing).drawn()
    return {"what": clip(printable(what), 120), "change": number, "kind": kind, **drawn}
