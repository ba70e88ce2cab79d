"""Drawings of the page: nothing covers anything else, both sides show the same part, signs are those of the edits."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hlodiff.differ import ModuleDiff, ProgramComparison, diff
from hlodiff.hlo import read_hlo
from hlodiff.report import Report
from hlodiff.report.html import PageLimits, to_page
from hlodiff.report.html.layers import GAP, layered_layout
from tests.page_parts import parsed

HEAD = "HloModule m\n\n"
TOGETHER = (
    HEAD
    + """%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %e = f32[8]{0} exponential(%p)
  %t = f32[8]{0} tanh(%e)
  %s = f32[8]{0} sine(%t)
  ROOT %n = f32[8]{0} negate(%s)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %f = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
}
"""
)
APART = (
    HEAD
    + """%first (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %e = f32[8]{0} exponential(%p)
  ROOT %t = f32[8]{0} tanh(%e)
}

%second (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  %s = f32[8]{0} sine(%q)
  ROOT %n = f32[8]{0} negate(%s)
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %a = f32[8]{0} fusion(%x), kind=kLoop, calls=%first
  ROOT %b = f32[8]{0} fusion(%a), kind=kLoop, calls=%second
}
"""
)


def body_of(found: ModuleDiff, limits: PageLimits = PageLimits()) -> dict[str, Any]:  # noqa: B008
    """What a page shows of a program that changed."""
    report = Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "changed", found),))
    (body,) = parsed(to_page(report, limits=limits)).bodies()
    return body


def drawings(found: ModuleDiff) -> list[dict[str, Any]]:
    return list(body_of(found)["drawings"])


def between(old: str, new: str) -> ModuleDiff:
    return diff(read_hlo(old), read_hlo(new))


def opcodes(side: dict[str, Any], kind: str = "nodes") -> list[str]:
    return sorted(node["op"] for node in side[kind])


def holds(box: dict[str, int], node: dict[str, int]) -> bool:
    x, y = node["x"] - box["x"], node["y"] - box["y"]
    return x >= 0 and y >= 0 and x + node["w"] <= box["w"] and y + node["h"] <= box["h"]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    count = draw(st.integers(1, 14))
    sizes = [(float(draw(st.integers(20, 300))), float(draw(st.integers(20, 200)))) for _ in range(count)]
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=24))
    return sizes, list(dict.fromkeys((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(graphs())
def test_no_node_covers_another_and_edges_lead_down(
    graph: tuple[list[tuple[float, float]], list[tuple[int, int]]],
) -> None:
    sizes, edges = graph
    found = layered_layout(sizes, edges)
    assert found == layered_layout(sizes, edges)
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(found.centers, sizes, strict=True)]
    for n, one in enumerate(boxes):
        assert min(one[:2]) >= -0.2
        assert one[2] <= found.width + 0.2
        assert one[3] <= found.height + 0.2
        for other in boxes[:n]:
            apart = max(one[0] - other[2], other[0] - one[2], one[1] - other[3], other[1] - one[3])
            assert apart > min(GAP, 20) - 1
    for (a, b), path in zip(edges, found.edges, strict=True):
        ys = [y for _, y in path]
        assert ys == sorted(ys)
        assert (ys[0], ys[-1]) == (boxes[a][3], boxes[b][1])


def test_a_fusion_that_became_two() -> None:
    found = between(TOGETHER, APART)
    assert [change.kind for change in found.fusions] == ["split"]
    story = drawings(found)[0]
    assert story["what"].startswith("1 fusion became 2")
    old, new = story["old"], story["new"]
    assert old["in"] == new["in"] == "ENTRY %main"
    assert opcodes(old, "boxes") == ["fusion"]
    assert opcodes(new, "boxes") == ["fusion", "fusion"]
    inside = ["exponential", "negate", "sine", "tanh"]
    assert [op for op in opcodes(old) if "parameter" not in op] == inside
    assert [op for op in opcodes(new) if "parameter" not in op] == inside
    for side in (old, new):
        for node in side["nodes"]:
            assert node["op"] == "parameter(0)" or any(holds(box, node) for box in side["boxes"])
    kinds = {node["op"]: node["kind"] for node in new["nodes"]}
    moves = [edit for edit in found.edits if edit.kind == "moved"]
    moved = {site.opcode for edit in moves for pair in edit.sites for site in pair if site}
    assert {op for op, kind in kinds.items() if kind == "moved"} == moved
    keys = {node["op"]: node["key"] for node in old["nodes"]}
    assert all(keys[op] == node["key"] for node in new["nodes"] for op in inside if node["op"] == op)


def test_what_came_is_drawn_beside_the_place_that_it_came_to() -> None:
    text = HEAD + "ENTRY %e {\n  %p = f32[8]{0} parameter(0)\n  %t = f32[8]{0} tanh(%p)\n"
    text += "  ROOT %n = f32[8]{0} negate(%t)\n}\n"
    more = text.replace("negate(%t)", "negate(%c)").replace("  ROOT", "  %c = f32[8]{0:S(5)} copy(%t)\n  ROOT")
    (drawing,) = drawings(between(text, more))
    assert opcodes(drawing["old"]) == ["negate", "parameter(0)", "tanh"]
    (copy,) = [node for node in drawing["new"]["nodes"] if node["kind"]]
    assert (copy["op"], copy["kind"], copy["places"], copy["host"]) == ("copy", "added", ["in host memory"], True)
    assert len(drawing["new"]["edges"]) == 3


def test_as_many_drawings_as_there_is_room_for() -> None:
    found = between(TOGETHER, APART)
    whole, missing = len(drawings(found)), []
    for room in range(4_000, 12_000, 1_000):
        body = body_of(found, PageLimits(page_bytes=room))
        said = [words for words in body["left_out"] if re.fullmatch(r"\d+ drawings? not shown: .*", words)]
        missing.append(int(said[0].split()[0]) if said else 0)
        assert len(body.get("drawings", ())) + missing[-1] == whole
    assert sorted({*missing}) == [0, 1, 2]
    assert missing == sorted(missing, reverse=True)
