"""The picture of a program: numbers of one call, the largest first, bounded for any program, and harmless."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page as Tab

from hlodiff.cli import run
from hlodiff.differ import executed, part_costs
from hlodiff.hlo import read, read_hlo
from hlodiff.report.html import PicturedProgram, PictureLimits, to_picture
from tests.page_parts import long_program, parsed
from tests.test_page import assert_closed

ROOT = Path(__file__).resolve().parent.parent
HEAD = "HloModule m, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n"
LOOP = (
    HEAD
    + """%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %e = f32[8]{0} exponential(%p)
  ROOT %m = f32[8]{0} multiply(%e, %p)
}

%body (b: (s32[], f32[8])) -> (s32[], f32[8]) {
  %b = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%b), index=0
  %v = f32[8]{0} get-tuple-element(%b), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %f = f32[8]{0} fusion(%v), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/mul" SOURCE}
  ROOT %t = (s32[], f32[8]{0}) tuple(%next, %f)
}

%condition (c: (s32[], f32[8])) -> pred[] {
  %c = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(12)
  ROOT %less = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %s = (s32[], f32[8]{0}) tuple(%zero, %x)
  %w = (s32[], f32[8]{0}) while(%s), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"12"}}
  %y = f32[8]{0} get-tuple-element(%w), index=1
  %g = f32[16]{0} all-gather(%y), dimensions={0}, replica_groups={{0,1}}
  %h = f32[16]{0:S(5)} copy(%g)
  ROOT %r = f32[8]{0} slice(%g), slice={[0:8]}
}
"""
).replace("SOURCE", 'source_file="model.py" source_line=7')


def value(text: str, limits: PictureLimits | None = None, name: str = "a.hlo") -> dict[str, Any]:
    """What the page of one program holds."""
    program = PicturedProgram(name, None, read_hlo(text))
    (body,) = parsed(to_picture([program], limits=limits or PictureLimits())).bodies()
    return body


def nodes(level: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["op"].split(" ")[0]: node for node in level["nodes"]}


def test_each_part_says_what_it_costs_and_where_it_is() -> None:
    body = value(LOOP)
    assert dict(body["facts"])["bytes accessed"]
    assert dict(body["facts"])["all-gather"] == "1 (64 B)"
    assert dict(body["facts"])["in host memory"] == "1 value, 64 B"
    entry, loop = body["levels"][0], next(level for level in body["levels"] if level["name"] == "body")
    assert (entry["entry"], entry["runs"], loop["runs"]) == (True, "once", "12")
    drawn = nodes(entry)
    assert drawn["all-gather"]["kind"] == "collective"
    assert (drawn["copy"]["kind"], drawn["copy"]["lines"][0]) == ("host", "in host memory")
    assert drawn["while"]["kind"] == "body"
    assert "its body runs 12" in drawn["while"]["lines"]
    assert body["levels"][drawn["while"]["opens"]]["name"] == "body"
    fusion = nodes(loop)["fusion"]
    assert fusion["lines"][0] == "64 B \u00d7 12"
    assert fusion["lines"][-1] == "exponential, multiply"
    assert fusion["where"] == "model.py:7"
    assert body["levels"][fusion["opens"]]["fused"]


def test_the_largest_come_first_and_add_up_to_the_program() -> None:
    body = value(LOOP)
    module = read_hlo(LOOP)
    parts = part_costs(module)
    assert parts.bytes[module.entry] == executed(module)["bytes_accessed"].exact
    assert parts.flops[module.entry] == executed(module)["flops"].exact
    shares = [float(row[7].removesuffix(" %").removeprefix("under ")) for row in body["largest"]]
    assert shares == sorted(shares, reverse=True)
    assert abs(sum(shares) - 100) < 1
    assert body["largest"][0][0] == "fusion loop f32[8]"
    assert body["largest"][0][4:7] == ["12", "64 B", "768 B"]


@pytest.mark.parametrize("folder", ["stack_scanned", "feed_forward_fsdp", "offloaded_moments", "lstm_gradient"])
def test_parts_of_recorded_programs_add_up(folder: str) -> None:
    for file in sorted((ROOT / "snapshots" / folder).glob("*/compiled.hlo")):
        module = read(file)
        total = executed(module)["bytes_accessed"]
        assert part_costs(module).bytes[module.entry] == total.exact


def test_ten_thousand_instructions_stay_small_and_it_is_said() -> None:
    limits = PictureLimits()
    text = to_picture([PicturedProgram("big", "cpu", read_hlo(long_program(2_000)))])
    (body,) = parsed(text).bodies()
    assert len(text) < 200_000
    (entry, *_) = body["levels"]
    assert (len(entry["nodes"]), entry["size"]) == (limits.drawn, 10_002)
    assert len(body["largest"]) == limits.largest
    # Every drawn instruction but the arguments is reached: through what is not drawn, where there is no direct edge.
    assert len(entry["edges"]) >= limits.drawn - 1
    assert entry["only"]


def test_what_is_not_drawn_is_said() -> None:
    body = value(LOOP, PictureLimits(computations=2))
    assert len(body["levels"]) == 2
    assert body["notes"] == ["2 of 4 computations are drawn: the costliest."]
    body = value(LOOP, PictureLimits(page_bytes=100))
    assert body["notes"] == ["This program is not drawn: it does not fit into the page. Show it alone."]


def test_a_hostile_program_stays_text() -> None:
    name = "</script><img src=x onerror=alert(1)>\x1b[2J.hlo"
    text = LOOP.replace('op_name="jit(f)/mul"', 'op_name="</script><b>\\"x"')
    page = parsed(to_picture([PicturedProgram(name, "<i>", read_hlo(text), {"<b>": 5})]))
    assert_closed(page)


def test_show_draws_a_file_and_a_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.hlo").write_text(LOOP)
    assert run(["show", str(tmp_path / "a.hlo"), "--format", "html"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("<!DOCTYPE html>")
    assert run(["show", str(tmp_path / "a.hlo"), "--format", "html"]) == 0
    assert capsys.readouterr().out == first
    out = tmp_path / "step.html"
    arguments = ["show", "feed_forward_fsdp", "--format", "html", "-o", str(out), "--project", str(ROOT)]
    assert run(arguments) == 0
    page = parsed(out.read_text(encoding="utf-8"))
    names = [(e.attributes["data-target"], e.attributes["data-stage"]) for e in page.all("option")]
    assert ("tpu-v5e-2x2", "compiled") in names
    assert len(page.bodies()) == len(names)
    assert any(row[9].startswith("examples/") for body in page.bodies() for row in body["largest"])
    assert run(["show", "feed_forward_fsdp", "--format", "html", "--why", "--project", str(ROOT)]) == 2
    assert run(["show", "feed_forward_fsdp", "--format", "html", "--stage", "compiled", "--project", str(ROOT)]) == 2


def look_at_large(tab: Tab) -> None:
    """What is drawn of it, and the search: words that nothing has, hits of every computation, the next and the last."""
    assert "40 of 2,002 instructions drawn" in tab.locator("figcaption").inner_text()
    tab.keyboard.press("/")
    tab.keyboard.type("no such words")
    assert tab.locator("#found").inner_text() == "none drawn"
    tab.fill("#find", "= f32")
    hits = tab.locator("#found").inner_text().removesuffix(" drawn")
    assert int(hits) > tab.locator(".part.hit").count() > 1, "those of other computations are counted too"
    tab.keyboard.press("Enter")
    assert tab.locator("#found").inner_text() == f"1 of {hits}"
    assert "= f32" in tab.locator("#chosen code").inner_text()
    tab.keyboard.press("Shift+Enter")
    assert tab.locator("#found").inner_text() == f"{hits} of {hits}"
    assert tab.locator("figcaption b").inner_text() == "%fused"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(tmp_path: Path, scheme: Literal["light", "dark"], width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, "no Chromium on this machine: install Debian's package `chromium`"
    page = tmp_path / "picture.html"
    texts = {"loop": LOOP, "big": long_program(400)}
    programs = [PicturedProgram(name, "cpu", read_hlo(text)) for name, text in texts.items()]
    page.write_text(to_picture(programs), encoding="utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        tab = context.new_page()
        wrong: list[str] = []
        tab.on("console", lambda message: wrong.append(message.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.goto(page.as_uri() + "#big/cpu")
        tab.wait_for_selector("html.ready")
        look_at_large(tab)
        assert Axe().run(tab).response["violations"] == []
        tab.goto("about:blank")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html.ready")
        assert tab.locator("#program-name").inner_text() == "loop"
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.locator("button.change").first.click()  # the fusion in the loop
        assert tab.locator("figcaption b").inner_text() == "%body"
        assert tab.locator(".part.twin .op").text_content() == "fusion loop"
        assert "model.py:7" in tab.locator("#chosen").inner_text()
        tab.click("#chosen button")
        assert tab.locator("figcaption b").inner_text() == "%fused"
        tab.locator(".trail button", has_text="ENTRY").click()
        tab.locator(".canvas-2 .part.body").focus()
        tab.keyboard.press("Enter")
        assert tab.locator("figcaption b").inner_text() == "%body"
        with tab.expect_download() as waiting:
            tab.click("text=Save SVG")
        assert re.fullmatch(r"loop-cpu-compiled-body\.svg", waiting.value.suggested_filename)
        assert Axe().run(tab).response["violations"] == []
        assert wrong == []
        browser.close()
