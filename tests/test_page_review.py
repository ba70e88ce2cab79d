"""The page as a reviewer uses it: addresses that a comment can name, graphs, search, sources, and axe-core's checks."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab

from hlodiff.differ import ProgramComparison, diff
from hlodiff.hlo import read_hlo
from hlodiff.report import Report, build_view, to_comment
from hlodiff.report.html import to_page
from tests.page_parts import long_program
from tests.test_report import NEW, OLD

pytestmark = pytest.mark.slow

_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-quic"]
HEAD = "HloModule m\n\nENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n"
AT = ', metadata={{op_name="jit(f)/act" source_file="model.py" source_line={}}}'


def activation(line: int, *opcodes: str) -> str:
    """A program in which one line of Python is a chain of operations."""
    body, last = [], "%x"
    for n, opcode in enumerate(opcodes):
        body.append(f"  %v.{n} = f32[8]{{0}} {opcode}({last}){AT.format(line)}")
        last = f"%v.{n}"
    return HEAD + "\n".join([*body, f"  ROOT %r = f32[8]{{0}} negate({last})", "}"]) + "\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, "no Chromium on this machine: install Debian's package `chromium`"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=_OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A tab without any network; what the page complains about fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, accept_downloads=True)
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    yield tab
    context.close()
    assert wrong == []


@dataclass(frozen=True, slots=True)
class Activation:
    """A source file that was edited in one line."""

    edited: int

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        text = ("y = jnp.tanh(x)", "y = jax.nn.silu(x)")[side] if line == self.edited else f"# {line}"
        return text if line < self.edited + 3 else ""

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        return text in self.file_lines(name, target, side, file)

    def edited_files(self, name: str, target: str | None) -> list[str]:
        return []

    def lost_files(self, name: str, target: str | None) -> list[tuple[int, str]]:
        return []

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> list[str]:
        return [self(name, target, side, file, line) for line in range(1, self.edited + 3)]


def reviewed(line: int = 2, more: int = 0) -> Report:
    """Three functions; one with further lines of Python above, and further edits."""
    old = read_hlo(activation(line, "tanh", "exponential", "sine"))
    new = read_hlo(activation(line, "logistic", "cosine", "sine"))
    layers = diff(read_hlo(long_program(4)), read_hlo(long_program(4, 2, "sine", more=more + 1)))
    programs = (
        ProgramComparison("train/small (a)", "cpu", "compiled", "changed", diff(OLD, NEW)),
        ProgramComparison("train/small (a)", "cpu", "stablehlo", "identical", diff(OLD, OLD)),
        ProgramComparison("step", "cpu", "compiled", "changed", diff(old, new), {"memory.temp": 1024.0},
                          {"memory.temp": 4096.0}),
        ProgramComparison("layers", "tpu-v5e", "compiled", "changed", layers),
    )  # fmt: skip
    return Report("check", "snapshots", "this work tree", programs, root="/srv/project", source_line=Activation(line))


REVIEWED = reviewed()


def written(path: Path, report: Report = REVIEWED) -> Path:
    path.write_text(to_page(report), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("review") / "page.html")


def opened(tab: Tab, page: Path, where: str = "") -> Tab:
    tab.goto("about:blank")
    tab.goto(page.as_uri() + where)
    tab.wait_for_selector("html.ready")
    return tab


def open_change(tab: Tab) -> str:
    return tab.locator("button.change[aria-expanded=true] .what").text_content() or ""


# --- addresses -------------------------------------------------------------------------------------------------------


def test_an_address_opens_the_program_and_the_change(tab: Tab, page: Path) -> None:
    for where, name in (
        ("#layers/tpu-v5e/compiled", "layers"),
        ("#layers/tpu-v5e", "layers"),
        ("#layers", "layers"),
        ("#train/small%20%28a%29/cpu/stablehlo", "train/small (a)"),
        ("#train/small (a)", "train/small (a)"),
    ):
        opened(tab, page, where)
        assert tab.locator("#program-name").text_content() == name
    opened(tab, page, "#layers/tpu-v5e/compiled/edit-2")
    second = tab.locator("button.change").nth(1)
    assert second.get_attribute("aria-expanded") == "true"
    assert tab.locator(".row.chosen").count() > 0
    # The address bar has the one that stays; it leads to the same change.
    kept = tab.evaluate("location.hash")
    assert re.fullmatch(r"#layers/tpu-v5e/compiled/edit-[0-9a-f]{8}", kept)
    what = open_change(tab)
    opened(tab, page, kept)
    assert open_change(tab) == what
    tab.keyboard.press("Escape")
    tab.keyboard.press("Escape")
    assert tab.evaluate("location.hash") == "#layers/tpu-v5e/compiled"


def test_the_links_of_a_comment_open_the_programs(tab: Tab, page: Path) -> None:
    comment = to_comment(build_view(REVIEWED), page="https://pages.example/hlodiff.html")
    links = re.findall(r"\[details\]\(https://pages\.example/hlodiff\.html(#[^)\s]*)\) \|", comment)
    assert len(links) == 3
    names = set()
    for link in links:
        opened(tab, page, link)
        names.add(tab.locator("#program-name").text_content())
    assert names == {"train/small (a)", "step", "layers"}


def test_the_address_of_a_change_stays_when_others_and_lines_come(tab: Tab, page: Path, tmp_path: Path) -> None:
    opened(tab, page, "#step/cpu/compiled/edit-1")
    what, kept = open_change(tab), tab.evaluate("location.hash")
    assert what
    opened(tab, written(tmp_path / "later.html", reviewed(line=40, more=3)), kept)
    assert open_change(tab) == what
    assert tab.locator(".note", has_text="no longer").count() == 0


def test_what_an_address_does_not_find_is_said(tab: Tab, page: Path) -> None:
    opened(tab, page, "#nothing/cpu")
    assert tab.locator("#lost").is_visible()
    opened(tab, page, "#%zz")
    assert tab.locator("#lost").is_visible()
    opened(tab, page, "#step/cpu/compiled/edit-99")
    assert tab.locator("#program-name").text_content() == "step"
    assert "no longer in this program" in (tab.locator("#program-notes").text_content() or "")
    opened(tab, page)
    assert not tab.locator("#lost").is_visible()


# --- graphs ----------------------------------------------------------------------------------------------------------


def boxes(tab: Tab, selector: str) -> dict[str, list[float]]:
    """Where the drawn instructions of a side lie on the screen, from the corner of their canvas.

    A graph is arranged anew in the frame after its canvas has another size.
    """
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: dict[str, list[float]] = tab.evaluate(
        """selector => Object.fromEntries([...document.querySelectorAll(selector + ' .node')].map(node => {
            const own = node.querySelector('.shape').getBoundingClientRect();
            const all = node.closest('.canvas-2').getBoundingClientRect();
            const [left, top] = [all.left, all.top];
            return [node.dataset.key, [own.left - left, own.top - top, own.right - left, own.bottom - top,
                                       all.width, all.height].map(Math.round)];
        }))""",
        selector,
    )
    return found


def apart(tab: Tab) -> None:
    """Both sides in drawings of their own."""
    if tab.locator("button", has_text="Together").get_attribute("aria-pressed") == "true":
        tab.click("text=Together")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_graph_fits_and_both_sides_stay_aligned(tab: Tab, page: Path, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    opened(tab, page, "#layers/tpu-v5e/compiled/edit-1")
    tab.click("#tab-drawing")
    for together in (True, False):
        if not together:
            apart(tab)
        for left, top, right, bottom, most_x, most_y in boxes(tab, ".graph").values():
            assert min(left, top) >= 0
            assert right <= most_x
            assert bottom <= most_y
    for press in ("", "zoom in", "zoom out"):
        if press:
            tab.locator(f"button[aria-label='{press}']").click()
        tab.locator(".canvas-2").first.focus()
        tab.keyboard.press("ArrowLeft")
        old, new = boxes(tab, ".graph.old"), boxes(tab, ".graph.new")
        shared = old.keys() & new.keys()
        assert len(shared) > 3
        assert all(old[key][:4] == new[key][:4] for key in shared)
    tab.keyboard.press("0")
    assert all(box[0] >= 0 for box in boxes(tab, ".graph").values())


def test_two_fingers_zoom_a_graph_and_not_the_page(browser: Browser, page: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, offline=True)
    tab = context.new_page()
    opened(tab, page, "#layers/tpu-v5e/compiled/edit-1")
    tab.click("#tab-drawing")
    tab.locator(".canvas-2").first.scroll_into_view_if_needed()
    box = tab.locator(".canvas-2").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = int(tab.locator(".zoom output").text_content().split()[0])  # type: ignore[union-attr]
    fingers = context.new_cdp_session(tab)

    def touch(kind: str, *apart: int) -> None:
        points = [{"x": x + side * one, "y": y, "id": n} for one in apart for n, side in enumerate((-1, 1))]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 20)
    for apart_ in (30, 40, 60):
        touch("touchMove", apart_)
    touch("touchEnd")
    after = int(tab.locator(".zoom output").text_content().split()[0])  # type: ignore[union-attr]
    assert 2.5 < after / before < 3.5
    assert tab.evaluate("visualViewport.scale") == 1
    context.close()


def test_what_replaced_what_is_linked_and_shaded(tab: Tab, page: Path) -> None:
    opened(tab, page, "#step/cpu/compiled")
    tab.click("#tab-drawing")
    apart(tab)
    assert tab.locator(".graph.old .focus rect").count() >= 1
    assert tab.locator(".graph.new .focus rect").count() >= 1
    tab.click("text=Together")
    ops = tab.locator(".graph.both .node .op").all_text_contents()
    assert {"tanh", "logistic"} <= set(ops) or tab.locator(".graph.both .was", has_text="was tanh").count() == 1
    assert tab.locator(".graph.both .edge.added, .graph.both .node.changed, .graph.both .node.added").count() > 0


def test_a_graph_is_saved_as_a_file_that_stands_by_itself(tab: Tab, page: Path) -> None:
    opened(tab, page, "#step/cpu/compiled")
    tab.click("#tab-drawing")
    apart(tab)
    with tab.expect_download() as waiting:
        tab.click("text=Save SVG")
    saved = waiting.value
    assert re.fullmatch(r"step-cpu-compiled-[\w.-]+\.svg", saved.suggested_filename)
    text = Path(saved.path()).read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    style = root.find("{http://www.w3.org/2000/svg}style")
    assert style is not None
    assert "var(" not in (style.text or "")
    assert ".node .shape" in (style.text or "")
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"sine", "old: ENTRY %main", "new: ENTRY %main"} <= words
    assert not re.search(r"href=|onclick|<script", text)


# --- search and sources ----------------------------------------------------------------------------------------------


def test_hits_are_counted_and_marked(tab: Tab, page: Path) -> None:
    opened(tab, page, "#layers/tpu-v5e/compiled")
    tab.keyboard.press("/")
    tab.keyboard.type("constant(")
    assert tab.locator("#found").text_content() == "4 lines"
    assert set(tab.locator("mark.hit").all_text_contents()) == {"constant", "("}  # words and marks stand apart
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    assert tab.locator("#found").text_content() == "2 of 4"
    tab.keyboard.press("Shift+Enter")
    assert tab.locator("#found").text_content() == "1 of 4"
    tab.keyboard.press("Shift+Enter")
    assert tab.locator("#found").text_content() == "4 of 4"
    tab.keyboard.type("x")
    assert tab.locator("#found").text_content() == "not found"
    tab.keyboard.press("Escape")
    assert tab.locator("mark.hit").count() == 0
    assert tab.locator("#found").text_content() == ""


def test_old_and_new_source_are_beside_each_other(tab: Tab, page: Path) -> None:
    opened(tab, page, "#step/cpu/compiled/edit-1")
    assert tab.locator(".source.old .here").text_content() == "2 \u25b8y = jnp.tanh(x)\n"
    assert tab.locator(".source.new .here").text_content() == "2 \u25b8y = jax.nn.silu(x)\n"
    assert tab.locator(".source").count() == 2


# --- axe-core --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(tab: Tab, page: Path, scheme: Literal["light", "dark"], width: int) -> None:
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": width, "height": 900})
    axe = Axe()
    found = {}
    opened(tab, page)
    found["overview"] = [one["id"] for one in axe.run(tab).response["violations"]]
    opened(tab, page, "#layers/tpu-v5e/compiled/edit-1")
    for name in ("listing", "drawing", "numbers"):
        tab.click(f"#tab-{name}")
        found[name] = [one["id"] for one in axe.run(tab).response["violations"]]
    assert found == {"overview": [], "listing": [], "drawing": [], "numbers": []}
