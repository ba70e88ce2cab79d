"""The page of `hlodiff inspect passes`: one file with a slider over the passes, and origins of its lines."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from hlodiff.cli import run
from tests.pass_dumps import unpack


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("passes")
    file = folder / "passes.html"
    code = run(["inspect", "passes", str(unpack("matmul-tpu-v5e-2x2", folder)), "--format", "html", "-o", str(file)])
    assert code == 0
    return file


def test_it_is_one_file_that_asks_for_nothing(page: Path) -> None:
    text = page.read_text()
    assert "default-src &#39;none&#39;" in text
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    assert text.count('class="main"') == 9
    assert "module_0000.jit_matmul: 9 passes with edits" in text


def is_correction(listing: dict[str, list[str | int]]) -> bool:
    """Whether a step adds the first convert of the program."""
    return [any("convert(" in str(line) for line in listing[side]) for side in ("old", "new")] == [False, True]


def test_each_line_says_where_it_comes_from(page: Path) -> None:
    bodies = [
        json.loads(zlib.decompress(base64.b64decode(text)) if kind == "zlib" else text)
        for kind, text in re.findall(
            r'<script type="application/(json|zlib)" id="body-\d+">(.*?)</script>', page.read_text()
        )
    ]
    assert len(bodies) == 9
    for body in bodies:
        remarks, listing = body["listing"]["remarks"], body["listing"]
        assert [len(numbers) for numbers in remarks["of"]] == [len(listing["old"]), len(listing["new"])]
        assert all(0 <= number < len(remarks["texts"]) for numbers in remarks["of"] for number in numbers)
    correction = next(one for one in bodies if is_correction(one["listing"]))
    at = next(n for n, line in enumerate(correction["listing"]["new"]) if "convert(" in str(line))
    words = correction["listing"]["remarks"]["texts"][correction["listing"]["remarks"]["of"][1][at]]
    assert words.split("\n")[0] == "%convert: added by float-type-correction (pass 46)"


@pytest.mark.slow
def test_the_slider_goes_through_the_passes_and_a_click_tells_the_origin(page: Path) -> None:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, "no Chromium on this machine: install Debian's package `chromium`"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        errors: list[str] = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(page.as_uri())
        tab.wait_for_selector("html.ready")
        tab.locator("a.main").first.click()
        tab.locator("#pass-now", has_text="1 of 9").wait_for()
        assert tab.locator("#program-name").inner_text() == "0020 layout-assignment"
        tab.locator("#passes").focus()
        for number in range(2, 7):
            tab.keyboard.press("ArrowRight")
            tab.locator("#pass-now", has_text=f"{number} of 9").wait_for()
        tab.locator("#pass-now", has_text="6 of 9").wait_for()
        assert tab.locator("#program-name").inner_text() == "0046 float-type-correction"
        tab.locator("#sides .edited").first.click()
        assert "added by float-type-correction (pass 46)" in tab.locator("#chosen .origin").inner_text()
        assert errors == []
        browser.close()
