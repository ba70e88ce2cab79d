"""What the site of the docs has beyond docs/: the changelog, the examples as pages, and a report of a real diff.

mkdocs.yml names this file as its hook.
"""

from __future__ import annotations

import re
import tarfile
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from hlodiff.cli import run

ROOT = Path(__file__).parent.parent
_EDITS = ROOT / "tests/fixtures/one_line_edits/programs.tar.xz"
_EDIT, _FUNCTION = "s01_hidden", "sharded"


def _examples() -> list[Path]:
    return [source for source in sorted((ROOT / "examples").glob("*.py")) if source.stem != "__init__"]


def sample_page() -> str:
    """The page of one edit of a sharded step on three targets, from program files that lie in the repository."""
    with TemporaryDirectory() as folder, chdir(folder):
        with tarfile.open(_EDITS) as archive:
            archive.extractall(filter="data")
        Path(_EDIT).rename("after")
        sides = [f"{side}/{_FUNCTION}" for side in ("before", "after")]
        assert run(["diff", *sides, "--format", "html", "-o", "sample.html"]) == 0
        return Path("sample.html").read_text(encoding="utf-8")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add a tab of the examples, each a page."""
    assert config.nav is not None
    config.nav.insert(-1, {"Examples": [f"examples/{source.stem}.md" for source in _examples()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made from other files of the repository."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "changelog.md", content=changelog))
    for source in _examples():
        text = f"# {source.name}\n\n```python\n{source.read_text(encoding='utf-8')}```\n"
        files.append(File.generated(config, f"examples/{source.stem}.md", content=text))
    files.append(File.generated(config, "sample.html", content=sample_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files beside docs/ to their pages of the site."""
    markdown = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](examples/\1.md)", markdown)
    markdown = re.sub(r"`examples/(\w+)\.py`", r"[`examples/\1.py`](examples/\1.md)", markdown)
    return markdown.replace("](../README.md)", "](index.md)").replace("](../CHANGELOG.md)", "](changelog.md)")


def on_post_build(config: MkDocsConfig) -> None:
    """Fail where a page would load something from a network."""
    loads = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
    for page in Path(config.site_dir).rglob("*.html"):
        if found := loads.search(page.read_text(encoding="utf-8")):
            raise PluginError(f"{page.name} loads from a network: {found[0]}")
