"""The HTML page in a browser: opened from a file with no network, looked at, filtered, followed, by mouse and keys."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab

from hlodiff.differ import ProgramComparison, diff
from hlodiff.hlo import read_hlo
from hlodiff.policy import Finding, judge
from hlodiff.report import Report
from hlodiff.report.html import PAGE_LIMITS, PageLimits, to_page
from tests.page_parts import long_program
from tests.test_report import HOSTILE, NEW, OLD

pytestmark = pytest.mark.slow

_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--no-first-run", "--disable-quic"]  # fmt: skip
_MISSING = "no Chromium on this machine: install Debian's package `chromium` (apt-get install chromium) and run again"
LAYERS = 2_000  # of five instructions


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, _MISSING
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=_OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def small(folder: Path) -> Path:
    """Programs of every status, one of them with hostile names, and findings."""
    hostile = "".join(HOSTILE) + "<img src=x onerror=document.title='broken'>"
    found = diff(read_hlo(long_program(4)), read_hlo(long_program(4, 2, "sine", more=1)))
    programs = (
        ProgramComparison("train_step", "cpu", "compiled", "changed", diff(OLD, NEW)),
        ProgramComparison("train_step", "tpu-v5e", "compiled", "changed", found),
        ProgramComparison("decode", "cpu", "stablehlo", "identical", diff(OLD, OLD)),
        ProgramComparison(hostile, "cpu", "compiled", "changed", diff(OLD, NEW)),
        ProgramComparison("gone", "cpu", "compiled", "removed", op_counts={hostile: 2}),
        ProgramComparison("train_step", "cpu", "stablehlo", "changed", diff(OLD, NEW)),
    )
    findings = (*judge(programs), Finding("error", "growth", "train_step", "cpu", hostile, details=(hostile,)))
    return written(folder / "small.html", Report("check", hostile, "new", programs, findings, notes=(hostile,)))


@pytest.fixture(scope="module")
def large(folder: Path) -> Path:
    """10,000 instructions a side: one opcode changed in the middle, two instructions added far below."""
    old, new = long_program(LAYERS), long_program(LAYERS, LAYERS // 2, "sine", more=1)
    found = diff(read_hlo(old), read_hlo(new))
    return written(
        folder / "large.html", Report("diff", "a", "b", (ProgramComparison("m", None, "compiled", "changed", found),))
    )


def written(path: Path, report: Report, limits: PageLimits = PAGE_LIMITS) -> Path:
    path.write_text(to_page(report, limits=limits).encode("utf-8", "backslashreplace").decode(), encoding="utf-8")
    return path


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A tab without any network; what the page asks for but itself, or complains about, fails the test."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000}, offline=True)
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("request", lambda one: None if one.url.partition("?")[0].endswith(".html") else wrong.append(one.url))
    tab.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    yield tab
    context.close()
    assert wrong == []


def opened(tab: Tab, page: Path, where: str = "") -> Tab:
    tab.goto(page.as_uri() + where)
    tab.wait_for_selector("html.ready")
    return tab


def shown(tab: Tab) -> list[str]:
    """Names in the rows of the table that can be seen."""
    found: list[str] = tab.eval_on_selector_all(
        "#programs tr:not([hidden])", "rows => rows.map(row => row.dataset.name + ' ' + row.dataset.target)"
    )
    return found


def chosen(tab: Tab) -> list[str]:
    """The chosen line of the old and of the new side, as far as they are on the screen."""
    lines: list[str] = tab.eval_on_selector_all(
        ".pane .row.chosen [role=gridcell]",
        """cells => cells.filter(cell => {
            const pane = cell.closest('.pane').getBoundingClientRect(), row = cell.getBoundingClientRect();
            return row.top >= pane.top && row.bottom <= pane.bottom;
        }).map(cell => cell.textContent)""",
    )
    return lines


def in_document(tab: Tab) -> int:
    return tab.locator(".pane .row").count()


def until(tab: Tab, condition: str) -> None:
    """Wait until `condition` holds. `Tab.wait_for_function` has the page evaluate it, which its own policy forbids."""
    end = time.monotonic() + 30
    while not tab.evaluate(condition):
        assert time.monotonic() < end, f"not within 30 s: {condition}"
        tab.wait_for_timeout(20)


# --- the first view --------------------------------------------------------------------------------------------------


def test_nothing_that_others_wrote_runs(tab: Tab, small: Path) -> None:
    opened(tab, small)
    assert "broken" not in tab.title()
    assert tab.locator("img, iframe, object, embed, link").count() == 0
    for index in range(5):
        opened(tab, small, f"#program-{index}")
    assert tab.locator("img").count() == 0


def test_filters(tab: Tab, small: Path) -> None:
    opened(tab, small)
    everything = shown(tab)
    assert len(everything) == 5
    tab.keyboard.press("/")
    tab.keyboard.type("train tpu")
    assert shown(tab) == ["train_step tpu-v5e"]
    assert tab.locator("#shown").text_content() == "1 of 5 programs"
    tab.keyboard.press("Escape")
    assert shown(tab) == everything
    tab.select_option("#filter-status", "changed")
    assert len(shown(tab)) == 3
    tab.select_option("#filter-target", "tpu-v5e")
    assert shown(tab) == ["train_step tpu-v5e"]
    tab.select_option("#filter-stage", "StableHLO")
    assert shown(tab) == []
    assert tab.locator("#none").is_visible()
    tab.click("#clear")
    assert shown(tab) == everything
    tab.select_option("#filter-finding", "error")
    assert "train_step cpu" in shown(tab)
    assert "decode cpu" not in shown(tab)
    tab.select_option("#filter-finding", "")
    tab.click("[data-status=orphaned].tile")
    assert shown(tab) == ["gone cpu"]


def test_the_address_keeps_the_filters(tab: Tab, small: Path) -> None:
    opened(tab, small)
    words = tab.eval_on_selector("#filter-verdict", "one => [...one.options].map(option => option.value)")
    verdict = tab.eval_on_selector("#programs tr[data-target=tpu-v5e]", "row => row.dataset.verdict")
    assert verdict in words and len(words) > 2, "all, and two verdicts"
    tab.select_option("#filter-verdict", verdict)
    assert "train_step cpu" not in (rows := shown(tab)) and "train_step tpu-v5e" in rows
    tab.fill("#filter-text", "train tpu")
    assert shown(tab) == ["train_step tpu-v5e"]
    assert f"?text=train+tpu&verdict={verdict.replace(' ', '+')}" in tab.url
    tab.click("a.main:visible")
    tab.wait_for_selector("#program:not([hidden])")
    tab.go_back()
    tab.reload()
    tab.wait_for_selector("html.ready")
    assert shown(tab) == ["train_step tpu-v5e"]
    tab.click("#clear")
    assert "?" not in tab.url
    opened(tab, small, "?verdict=none-of-these&target=cpu")
    assert tab.input_value("#filter-verdict") == "" and len(shown(tab)) > 1


def test_keys_alone_lead_to_an_edit_and_back(tab: Tab, small: Path) -> None:
    opened(tab, small)
    for _ in range(shown(tab).index("train_step tpu-v5e") + 1):
        tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#program:not([hidden])")
    assert tab.locator("#program-name").text_content() == "train_step"
    assert "tpu-v5e" in (tab.locator("#program-of").text_content() or "")
    tab.keyboard.press("j")
    assert any("sine(" in line or "tanh(" in line for line in chosen(tab))
    first = chosen(tab)
    tab.keyboard.press("j")
    assert chosen(tab) != first
    tab.keyboard.press("k")
    assert chosen(tab) == first
    assert tab.locator("button.change[aria-expanded=true]").count() == 1
    for _ in range(2):
        tab.keyboard.press("Escape")  # the choice, then the open change
    assert tab.locator(".row.chosen").count() == 0
    assert tab.locator("#program").is_visible()
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#overview:not([hidden])")
    assert tab.evaluate("document.activeElement.getAttribute('href')") == "#train_step/tpu-v5e/compiled"


def seen(tab: Tab) -> list[str]:
    """Lines with an edit that are on the screen."""
    lines: list[str] = tab.eval_on_selector_all(
        ".pane .row.edited",
        """rows => rows.filter(row => {
            const pane = row.closest('.pane').getBoundingClientRect(), here = row.getBoundingClientRect();
            return here.top >= pane.top && here.bottom <= Math.min(pane.bottom, innerHeight);
        }).map(row => row.querySelector('[role=gridcell]').textContent)""",
    )
    return lines


def test_the_first_edit_is_in_view(tab: Tab, folder: Path) -> None:
    """Programs that are short enough to be shown whole do not hide their only edit below."""
    found = diff(read_hlo(long_program(50)), read_hlo(long_program(50, 40, "sine")))
    report = Report("diff", "a", "b", (ProgramComparison("m", None, "compiled", "changed", found),))
    opened(tab, written(folder / "short.html", report), "#program-0")
    assert tab.locator("#everything[aria-pressed=true]").count() == 1
    assert [line.split("(")[0].split(" ")[-1] for line in seen(tab)] == ["tanh", "sine"]
    assert chosen(tab) == []
    for _ in range(2):  # to what is near an edit, and back
        tab.click("#everything")
        assert len(seen(tab)) == 2


def test_a_match_is_followed_from_either_side(tab: Tab, small: Path) -> None:
    opened(tab, small, "#program-1")
    tab.locator(".pane.old .row", has_text="ROOT %r = ").click()
    assert [line.split("(")[0] for line in chosen(tab)] == ["ROOT %r = f32[64,64]{1,0} negate"] * 2
    tab.locator(".pane.new .row", has_text="%t.2 = ").click()
    assert [line.split(" ")[3].split("(")[0] for line in chosen(tab)] == ["tanh", "sine"]
    assert tab.locator("#chosen mark").all_text_contents() == ["tanh", "sine"]
    assert tab.locator(".row.chosen[aria-selected=true]").count() == 2
    tab.locator(".pane.new").focus()
    tab.keyboard.press("ArrowDown")
    assert all(line.startswith("%f.2 = ") for line in chosen(tab))
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "old program"


def test_the_graph_shows_what_was_made_of_an_instruction(tab: Tab, small: Path) -> None:
    opened(tab, small, "#program-0")
    tab.click("#tab-drawing")
    assert tab.locator(".graph.old .node.changed text.op").all_text_contents() == ["tanh"]
    assert tab.locator(".graph.new .node.changed text.op").all_text_contents() == ["exponential"]
    assert tab.locator(".graph.new .node.changed .place").all_text_contents() == ["in host memory"]
    assert tab.locator(".graph.new .edge").count() == 2
    tab.locator(".graph.old .node.changed").hover()
    assert tab.locator(".graph.new .node.twin text.op").all_text_contents() == ["exponential"]
    tab.locator(".graph.new .node.changed").focus()
    tab.keyboard.press("Enter")
    assert [line.split("{")[0] for line in chosen(tab)] == ["%t = f32[8]"] * 2
    opened(tab, small, "#program-1")
    tab.click("#tab-drawing")
    tab.select_option("#drawing-pick", label="~  tanh -> sine")
    assert tab.locator(".graph.new .node.changed text.op").first.text_content() == "sine"


def test_an_open_change_without_a_drawing_is_said(tab: Tab, folder: Path) -> None:
    found = diff(read_hlo(long_program(4)), read_hlo(long_program(4, 2, "sine", more=1)))
    report = Report("diff", "a", "b", (ProgramComparison("m", None, "compiled", "changed", found),))
    opened(tab, written(folder / "few.html", report, PageLimits(drawings=1)), "#program-0")
    says = []
    for _ in range(tab.locator("button.change").count()):
        tab.keyboard.press("j")
        tab.click("#tab-drawing")
        says.append(tab.locator(".missing").is_visible())
        tab.click("#tab-listing")
    assert sorted(says) == [False] + [True] * (len(says) - 1)
    assert len(says) > 1


def test_tab_passes_a_long_list_of_changes_by(tab: Tab, small: Path) -> None:
    opened(tab, small, "#program-1")
    changes = tab.locator("button.change")
    assert changes.count() > 1
    changes.first.focus()
    tab.keyboard.press("ArrowDown")
    assert changes.nth(1).evaluate("one => one === document.activeElement")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "tab-listing"
    tab.keyboard.press("Shift+Tab")
    assert changes.nth(1).evaluate("one => one === document.activeElement")


def contrasts(tab: Tab) -> dict[str, float]:
    """Words whose colour is too near to what is behind them, by their classes."""
    found: dict[str, float] = tab.evaluate(
        """() => {
            const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
            const parts = (color) => [...numbers(color).slice(0, 3), numbers(color)[3] ?? 1];
            const light = (color) => color.slice(0, 3).map((one) => one / 255)
                .map((one) => one <= .03928 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4)
                .reduce((sum, one, at) => sum + one * [.2126, .7152, .0722][at], .05);
            const found = {};
            for (const node of document.querySelectorAll('body *:not(svg *)')) {
                const words = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
                if (!words || !node.checkVisibility()) continue;
                let behind = node, opacity = 1;
                const clear = (one) => parts(getComputedStyle(one).backgroundColor)[3] < 1;
                while (clear(behind) && behind.parentElement) behind = behind.parentElement;
                for (let one = node; one; one = one.parentElement) opacity *= getComputedStyle(one).opacity;
                const back = parts(getComputedStyle(behind).backgroundColor), own = parts(getComputedStyle(node).color);
                const seen = own.map((one, at) => one * opacity + back[at] * (1 - opacity));
                const [low, high] = [light(back), light(seen)].sort((one, other) => one - other);
                if (high / low < 4.5) found[`${node.tagName}.${node.className}`] = high / low;
            }
            return found;
        }"""
    )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out(tab: Tab, small: Path, scheme: Literal["light", "dark"]) -> None:
    tab.emulate_media(color_scheme=scheme)
    assert contrasts(opened(tab, small)) == {}
    opened(tab, small, "#program-1")
    for name in ("listing", "drawing", "numbers"):
        tab.click(f"#tab-{name}")
        tab.keyboard.press("j")
        assert contrasts(tab) == {}


def test_numbers_and_tabs_by_keys(tab: Tab, small: Path) -> None:
    opened(tab, small, "#program-0")
    tab.locator("#tab-listing").focus()
    for _ in range(5):
        if tab.locator("#panel-numbers").is_visible():
            break
        tab.keyboard.press("ArrowRight")
    rows = tab.locator("#numbers section").first.locator("tbody tr").all_text_contents()
    assert rows[:2] == ["exponential01was 0", "tanh10now 0"]


@pytest.mark.parametrize("width", [400, 900, 1600])
def test_widths(tab: Tab, small: Path, large: Path, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    for page, where in ((small, ""), (small, "#program-1"), (large, "#program-0")):
        opened(tab, page, where)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.click("#everything")
    tab.keyboard.press("j")
    assert len(chosen(tab)) == 2
    assert in_document(tab) < 250
    tab.click("#tab-drawing")
    assert tab.locator(".graph").count() == 2
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


# --- 10,000 instructions a side --------------------------------------------------------------------------------------


def test_ten_thousand_instructions_a_side(tab: Tab, large: Path) -> None:
    """However far one goes, no more rows than fit on the screen and a little beyond are made."""
    opened(tab, large, "#program-0")
    assert tab.locator("script[type='application/zlib']").count() == 1  # packed, so what follows was unpacked
    assert in_document(tab) < 100
    tab.click("#everything")
    tab.keyboard.press("j")
    assert [line.split("(")[0].split(" ")[-1] for line in chosen(tab)] == ["tanh", "sine"]
    assert in_document(tab) < 250
    tab.locator(".pane.old").focus()
    tab.keyboard.press("End")
    # The other side follows when the browser tells of the scrolling, with its next frame.
    until(tab, f"document.querySelector('.pane.new').scrollTop > {20 * 5 * LAYERS - 1_000}")
    assert in_document(tab) < 250
    for part in (0.1, 0.9, 0.5):
        tab.locator(".pane.old").hover()
        tab.eval_on_selector(".pane.old", f"pane => {{ pane.scrollTop = pane.scrollHeight * {part} }}")
        until(tab, "document.querySelector('.pane.new .row').offsetTop > 0")
        assert in_document(tab) < 250
    tab.keyboard.press("/")
    tab.keyboard.type("c.1777 ")
    tab.keyboard.press("Enter")
    assert [line.split(" ")[0] for line in chosen(tab)] == ["%c.1777"] * 2


def test_a_fold_is_opened(tab: Tab, large: Path) -> None:
    opened(tab, large, "#program-0")
    folds = tab.locator(".pane.new .row.fold")
    before = int(tab.locator(".pane.new").get_attribute("aria-rowcount") or 0)
    folds.first.click()
    assert int(tab.locator(".pane.new").get_attribute("aria-rowcount") or 0) > before + 4_000
    assert in_document(tab) < 250
