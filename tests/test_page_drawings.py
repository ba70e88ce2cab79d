"""Drawings of the page: nothing covers anything else, both sides show the same part, signs are those of the edits."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hlodiff.differ import ModuleDiff, ProgramComparison, diff
from hlodiff.hlo import read_hlo
from hlodiff.report import Report
from hlodiff.report.html import PageLimits, PicturedProgram, to_page, to_picture
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
def programs(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """Instructions with labels of different widths, and which one reads which."""
    count = draw(st.integers(1, 14))
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=24))
    edges = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    rows, parameters = [], 0
    for n in range(count):
        operands = ", ".join(f"%v{a}" for a, b in edges if b == n)
        size = ",".join(["8"] * draw(st.integers(1, 9)))
        what = f'custom-call({operands}), custom_call_target="{"t" * draw(st.integers(1, 30))}"'
        if not operands:
            what, parameters = f"parameter({parameters})", parameters + 1
        rows.append(f"  {'ROOT ' if n == count - 1 else ''}%v{n} = f32[{size}] {what}")
    return "\n".join([HEAD + "ENTRY %e {", *rows, "}\n"]), edges


@settings(max_examples=40, deadline=None, derandomize=True)
@given(programs())
def test_no_node_covers_another_and_edges_lead_down(program: tuple[str, list[tuple[int, int]]]) -> None:
    text, edges = program
    pictured = [PicturedProgram("f", None, read_hlo(text))]
    assert to_picture(pictured) == to_picture(pictured)
    (body,) = parsed(to_picture(pictured)).bodies()
    (level,) = body["levels"]
    nodes = sorted(level["nodes"], key=lambda node: int(node["text"].partition("%v")[2].split(" ")[0]))
    boxes = [(node["x"], node["y"], node["x"] + node["w"], node["y"] + node["h"]) for node in nodes]
    for n, one in enumerate(boxes):
        assert min(one[:2]) >= 0
        assert (one[2] <= level["w"] + 1, one[3] <= level["h"] + 1) == (True, True)
        for other in boxes[:n]:
            apart = max(one[0] - other[2], other[0] - one[2], one[1] - other[3], other[1] - one[3])
            assert apart >= 19
    assert len(level["edges"]) == len(edges)
    ends = []
    for path in level["edges"]:
        ys = [y for _, y in path]
        assert ys == sorted(ys)
        ends.append((leaving(boxes, path[0], 3), leaving(boxes, path[-1], 1)))
    assert sorted(ends) == edges


def leaving(boxes: list[tuple[int, int, int, int]], point: list[int], border: int) -> int:
    """The node on whose upper (1) or lower (3) border a point is."""
    x, y = point
    (found,) = (n for n, box in enumerate(boxes) if box[border] == y and box[0] <= x <= box[2])
    return found


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
