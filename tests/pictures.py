"""Makes docs/pictures from real runs: `make pictures`.

One word of examples/feed_forward.py is changed in a copy of the project, `hlodiff check` compiles it for three targets,
and the report is drawn as the terminal and a headless Chromium show it.
"""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs/pictures"
FUNCTION = "feed_forward_sharded"
OLD, NEW = 'hidden=P("data", "model"))', 'hidden=P("data", None))'
COLUMNS = 100
_FONT = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Chromium draws the same pixels only with the same fonts, so that these differ a little from machine to machine.
_WIDTH, _HEIGHT = 1280, 800
_SETTLED = 1000  # milliseconds
_QUALITY = 0.8
# A screen as WebP: 121 KB where Chromium's PNG has 273.
_PACK = """async ([png, quality]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + png;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality);
}"""


def checked(folder: Path) -> str:
    """The report of the edit with its colours; the page lies in `folder` as report.html."""
    project = folder / "project"
    shutil.copytree(ROOT / "examples", project / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "snapshots" / FUNCTION, project / "snapshots" / FUNCTION)
    shutil.copy(ROOT / "pyproject.toml", project)
    git = ["git", "-C", str(project), "-c", "user.name=reader", "-c", "user.email=reader@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The project"]):
        subprocess.run([*git, *words], check=True)
    source = project / "examples/feed_forward.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(OLD) == 1
    source.write_text(text.replace(OLD, NEW), encoding="utf-8")
    page = f"html={folder / 'report.html'}"
    env = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "HLODIFF_CACHE": "off", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "hlodiff", "check", FUNCTION, "--report", page]
    done = subprocess.run(command, cwd=project, env=env, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1, done.stdout
    return done.stdout


def drawn(report: str) -> str:
    """A terminal with this text as SVG: nothing in it leads to a font or file elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    console.print(Text.from_ansi(report.rstrip("\n")))
    svg = console.export_svg(title=f"hlodiff check {FUNCTION}", theme=DIMMED_MONOKAI, unique_id="report")
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    return re.sub(r"Fira Code, monospace|arial", _FONT, svg)


def photographed(folder: Path) -> None:
    """The page at its first screen, and one program of it."""
    from playwright.sync_api import Page, sync_playwright

    def keep(tab: Page, name: str) -> None:
        shot = base64.b64encode(tab.screenshot()).decode()
        packed: str = packer.evaluate(_PACK, [shot, _QUALITY])
        (PICTURES / name).write_bytes(base64.b64decode(packed.partition(",")[2]))

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
        packer = browser.new_page()
        tab.goto((folder / "report.html").as_uri())
        tab.wait_for_timeout(_SETTLED)
        keep(tab, "page.webp")
        tab.get_by_role("link", name=FUNCTION).or_(tab.get_by_text(FUNCTION, exact=True)).last.click()
        tab.wait_for_timeout(_SETTLED)
        keep(tab, "program.webp")
        browser.close()


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name:
        report = checked(Path(name))
        (PICTURES / "report.svg").write_text(drawn(report), encoding="utf-8")
        photographed(Path(name))
