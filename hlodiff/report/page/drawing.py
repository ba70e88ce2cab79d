"""Drawings of changes: boxes and lines with their places and words, for a page to draw as SVG."""

from __future__ import annotations

from typing import Any

from hlodiff.diff.placement import compute_place
from hlodiff.diff.words import memory_space_in_words
from hlodiff.ir.hlo_printer import print_instruction
from hlodiff.ir.model import Instruction, Shape
from hlodiff.report.escape import clip, printable
from hlodiff.report.page.layered import Placed, Point, placed
from hlodiff.report.page.listing import Listing
from hlodiff.report.page.matching import Matching, Place
from hlodiff.report.page.neighbourhood import Scene

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
    return _Draft(matching, side, scene, listing).drawn()


class _Draft:
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
        found = placed(sizes, self.links(self.scene.outer, order))
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

    def inner(self, fusion: int) -> tuple[list[dict[str, Any]], Placed]:
        callee = self.matching.at(self.side, (self.scene.outer, fusion)).called[0]
        order = sorted(self.scene.inside[fusion])
        nodes = [self.node((callee, n)) for n in order]
        found = placed([self.size(node, None) for node in nodes], self.links(callee, order))
        return nodes, found

    def put(self, inner: tuple[list[dict[str, Any]], Placed], corner: Point) -> None:
        nodes, found = inner
        for node, center in zip(nodes, found.centers, strict=True):
            width, height = self.size(node, None)
            at = corner[0] + center[0] - width / 2, corner[1] + center[1] - height / 2
            self.nodes.append(node | _rounded(x=at[0], y=at[1], w=width, h=height))
        self.lines(found, corner)

    def lines(self, found: Placed, corner: Point) -> None:
        for path in found.edges:
            self.edges.append([[round(x + corner[0]), round(y + corner[1])] for x, y in path])

    def links(self, computation: int, order: list[int]) -> list[tuple[int, int]]:
        """Lines between what is drawn, from operand to user, each once."""
        at = {n: number for number, n in enumerate(order)}
        instructions = self.matching.body(self.side, computation).instructions
        return [(at[o], at[n]) for n in order for o in dict.fromkeys(instructions[n].operands) if o in at]

    def size(self, node: dict[str, Any], inner: tuple[list[dict[str, Any]], Placed] | None) -> tuple[float, float]:
        words = [node["op"], node["shape"], *node["places"]]
        width = max(map(len, words)) * _CHARACTER + 2 * _PAD + 8
        if inner is None:
            return round(width), _LINE * (2 + bool(node["places"])) + 10
        return round(max(width * 1.3, inner[1].width + 2 * _PAD)), round(inner[1].height + _HEAD + _PAD)

    def node(self, place: Place) -> dict[str, Any]:
        it = self.matching.at(self.side, place)
        partner = self.matching.partners[self.side].get(place)  # both sides of a pair go by the new place
        words = self.places(place, it)
        line = self.line(place)
        literal = f"({it.literal})" if it.literal is not None and it.opcode in ("parameter", "constant") else ""
        return {
            "op": clip(printable(it.opcode + literal), _WIDEST),
            "shape": clip(printable(_shape(it.shape)), _WIDEST),
            "places": words,
            "host": any("host" in word for word in words),
            "kind": self.matching.kinds[self.side].get(place, ""),
            "key": "{}.{}".format(*(place if self.side or not partner else partner)),
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
        words = [memory_space_in_words(space, self.matching.platforms[self.side]) for space in spaces if space]
        said = [f"runs on {printable(runs)}"] if runs != "device" else []
        said += [f"in {'host memory' if word == 'host' else word}" for word in words[:1]]
        return [clip(", ".join(said), _WIDEST)] if said else []


def _shape(shape: Shape) -> str:
    """A shape without layouts."""
    if shape.tuple_shapes:
        return f"({', '.join(map(_shape, shape.tuple_shapes))})"
    return f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]" if shape.is_array else shape.element_type


def _rounded(**values: float) -> dict[str, int]:
    return {name: round(value) for name, value in values.items()}
