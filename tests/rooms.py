"""Makes docs/rooms.svg, the picture of who imports whom, from the imports themselves: python -m tests.rooms"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    Graph = nx.DiGraph[str]

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/rooms.svg"

_BOX, _HEIGHT, _GAP, _LANE = 132, 36, 36, 26
_ROW = 92
_MARGIN = 24
_SWEEPS = 12


def imports_between_rooms(package: Path) -> Counter[tuple[str, str]]:
    """How many files of one room import another one, lazily or not.

    Args:
        package: the folder of the package. A room is a folder or file right in it; `__init__` and `__main__`, which
            only open the others, are none.
    """
    found: Counter[tuple[str, str]] = Counter()
    for file in sorted(package.rglob("*.py")):
        own = file.relative_to(package).parts[0].removesuffix(".py")
        if not own.startswith("__"):
            rooms = set(_rooms_imported(ast.parse(file.read_text(encoding="utf-8")), package))
            found.update((own, room) for room in rooms - {own})
    return found


def _rooms_imported(tree: ast.AST, package: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for top, room, *_ in (name.split(".") for name in names if "." in name):
            if top == package.name and ((package / room).is_dir() or (package / f"{room}.py").is_file()):
                yield room


def upward(imports: Mapping[tuple[str, str], int]) -> set[tuple[str, str]]:
    """The fewest imports (by files) without which no rooms import each other in a circle.

    This is the minimum feedback arc set, which is NP-hard; circles of rooms are so short that every order is tried.
    """
    graph: Graph = nx.DiGraph(list(imports))
    found: set[tuple[str, str]] = set()
    for circle in nx.strongly_connected_components(graph):
        inside = [pair for pair in imports if circle.issuperset(pair)]
        found |= min(
            ({(a, b) for a, b in inside if order.index(a) < order.index(b)} for order in permutations(sorted(circle))),
            key=lambda against: (sum(imports[pair] for pair in against), sorted(against)),
        )
    return found


def picture(package: Path) -> str:
    """The rooms as SVG: each above all that it imports.

    A solid arrow is an import, drawn only where no longer way of arrows leads there; a dashed one leads upwards.
    """
    imports = imports_between_rooms(package)
    against = upward(imports)
    graph: Graph = nx.DiGraph(sorted(set(imports) - against))
    layers = [sorted(layer) for layer in nx.topological_generations(graph.reverse())]
    layers.reverse()
    down = _ways(sorted(nx.transitive_reduction(graph).edges), layers, "down")
    up = _ways(sorted((above, below) for below, above in against), layers, "up")
    ways = [*down, *up]
    rows = _in_order(layers, ways)
    places = _places(rows)
    width = max(x for x, _ in places.values()) + _BOX // 2 + _MARGIN
    height = len(rows) * _ROW - (_ROW - _HEIGHT) + 2 * _MARGIN
    lines = [_HEAD.format(width=width, height=height)]
    lines += [_curve([places[name] for name in way], "down") for way in down]
    lines += [_curve([places[name] for name in way], "up") for way in up]
    for room in sorted(graph):
        x, y = places[room]
        lines.append(f'<rect x="{x - _BOX // 2}" y="{y - _HEIGHT // 2}" width="{_BOX}" height="{_HEIGHT}" rx="6"/>')
        lines.append(f'<text x="{x}" y="{y + 5}">{room}</text>')
    return "\n".join([*lines, "</svg>", ""])


_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>The rooms of hlodiff, each above all that it imports</title>
<style>
rect {{ fill: #f6f8fa; stroke: #57606a; }}
text {{ fill: #1f2328; font: 14px ui-monospace, monospace; text-anchor: middle; }}
path {{ fill: none; stroke: #57606a; stroke-width: 1.3; }}
path.down {{ marker-end: url(#tip); }}
path.up {{ marker-start: url(#tip); stroke-dasharray: 4 4; }}
#tip path {{ fill: #57606a; stroke: none; }}
@media (prefers-color-scheme: dark) {{
rect {{ fill: #21262d; stroke: #9198a1; }}
text {{ fill: #f0f6fc; }}
path {{ stroke: #9198a1; }}
#tip path {{ fill: #9198a1; }}
}}
</style>
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
<path d="M0 0 8 4 0 8z"/>
</marker>
</defs>"""


def _ways(arrows: Sequence[tuple[str, str]], layers: Sequence[Sequence[str]], kind: str) -> list[list[str]]:
    """Each arrow as the points it goes through, from above: a lane of its own in every layer between its ends."""
    layer = {room: number for number, rooms in enumerate(layers) for room in rooms}
    return [
        [start, *(f"{start} {end} {kind} {number}" for number in range(layer[start] + 1, layer[end])), end]
        for start, end in arrows
    ]


def _in_order(layers: Sequence[Sequence[str]], ways: Sequence[Sequence[str]]) -> list[list[str]]:
    """The layers with their lanes, each in the order in which arrows cross least (Sugiyama 1981, barycentres)."""
    rows = [list(layer) for layer in layers]
    layer = {room: number for number, rooms in enumerate(layers) for room in rooms}
    for way in ways:
        for number, lane in enumerate(way[1:-1], layer[way[0]] + 1):
            rows[number].append(lane)
    steps = [step for way in ways for step in pairwise(way)]
    best = rows
    for sweep in range(_SWEEPS):
        rows = _swept(rows, steps, sweep % 2 == 0)
        best = min(best, rows, key=lambda order: _crossings(order, steps))
    return best


def _swept(rows: Sequence[Sequence[str]], steps: Sequence[tuple[str, str]], is_down: bool) -> list[list[str]]:
    x = {name: place for name, (place, _) in _places(rows).items()}
    near: dict[str, list[str]] = {}
    for above, below in steps:
        near.setdefault(*((below, []) if is_down else (above, []))).append(above if is_down else below)
    found = []
    for row in rows if is_down else reversed(rows):
        centre = {name: sum(x[n] for n in near[name]) / len(near[name]) if name in near else x[name] for name in row}
        found.append(sorted(row, key=lambda name: (centre[name], name)))
        x |= {name: place for name, (place, _) in _places([found[-1]]).items()}
    return found if is_down else found[::-1]


def _crossings(rows: Sequence[Sequence[str]], steps: Sequence[tuple[str, str]]) -> int:
    rank = {name: (number, place) for number, row in enumerate(rows) for place, name in enumerate(row)}
    ends = [(*rank[above], rank[below][1]) for above, below in steps]
    return sum(
        row == other and (a - c) * (b - d) < 0 for n, (row, a, b) in enumerate(ends) for other, c, d in ends[n + 1 :]
    )


def _places(rows: Sequence[Sequence[str]]) -> dict[str, tuple[int, int]]:
    """The middle of each box and lane; a lane's name has blanks."""
    widths = [sum(_LANE if " " in name else _BOX for name in row) + _GAP * (len(row) - 1) for row in rows]
    found = {}
    for number, (row, width) in enumerate(zip(rows, widths, strict=True)):
        x = _MARGIN + (max(widths) - width) // 2
        for name in row:
            own = _LANE if " " in name else _BOX
            found[name] = x + own // 2, _MARGIN + _HEIGHT // 2 + number * _ROW
            x += own + _GAP
    return found


def _curve(points: Sequence[tuple[int, int]], kind: str) -> str:
    """From the lower edge of the first box through the lanes to the upper edge of the last one."""
    half = _HEIGHT // 2
    aside = _BOX // 3 if kind == "up" else 0  # beside the arrow in the other direction
    x, y = points[0][0] + aside, points[0][1] + half
    text = f"M{x} {y}"
    for number, (to_x, to_y) in enumerate(points[1:], 1):
        is_last = number == len(points) - 1
        to_x += aside if is_last else 0
        middle = (y + to_y - half) // 2
        text += f"C{x} {middle} {to_x} {middle} {to_x} {to_y - half}"
        x, y = to_x, to_y + half
        text += "" if is_last else f"V{y}"
    return f'<path class="{kind}" d="{text}"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(ROOT / "hlodiff"), encoding="utf-8")
