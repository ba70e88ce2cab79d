"""The documentation is true: pages made from code are current, and what stands there as a command was run."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import hlodiff
from hlodiff.config import Config
from tests import commands_page
from tests.normalizer_page import PAGE, page

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path, kind: str) -> list[tuple[str, str]]:
    """(what stands behind the kind, text) of the fenced blocks of one kind."""
    return [(match[2] or "", match[3]) for match in _BLOCK.finditer(path.read_text()) if match[1] == kind]


def played(path: Path, folder: Path) -> int:
    """Run the `$` lines of a page's console blocks in a folder, compare all that they print, and count them."""
    commands = 0
    for _, text in blocks(path, "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, expected = part.partition("\n")
            words = shlex.split(line)
            command = [sys.executable, "-m", "hlodiff", *words[1:]] if words[0] == "hlodiff" else words
            env = {"PATH": "/usr/bin:/bin", "COLUMNS": "110", "HOME": str(folder), "PYTHONPATH": str(ROOT)}
            env["HLODIFF_CACHE"] = "off"  # what was checked before is another matter on each page
            done = subprocess.run(
                command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
            )
            assert done.stdout == expected, f"{path.name}: $ {line}\n{done.stderr}"
            commands += 1
    return commands


def test_the_page_of_rules_is_current() -> None:
    assert PAGE.read_text() == page(), "python -m tests.normalizer_page"


def test_every_key_of_the_configuration_is_explained_in_order() -> None:
    keys = re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE)
    assert keys == [field.name for field in fields(Config) if field.name != "root"]


def test_defaults_in_the_configuration_page() -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    config = Config(root=ROOT)
    for key in ("max_file_bytes", "large_constants", "snapshots"):
        value = getattr(config, key)
        assert re.search(rf"^\| `{key}` \|.*\| `\"?{value}\"?` \|", text, re.MULTILINE), key


def test_the_page_of_commands_is_made_from_the_parser() -> None:
    assert commands_page.PAGE.read_text() == commands_page.page(), "python -m tests.commands_page"


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs/python-api.md").read_text()
    assert sorted(re.findall(r"^::: hlodiff\.(\w+)$", text, re.MULTILINE)) == sorted(hlodiff.__all__)


def test_every_page_is_in_the_navigation_once() -> None:
    def leaves(item: Any) -> list[str]:
        if isinstance(item, str):
            return [item]
        return [leaf for one in (item.values() if isinstance(item, dict) else item) for leaf in leaves(one)]

    nav = leaves(yaml.load((ROOT / "mkdocs.yml").read_text(), yaml.BaseLoader)["nav"])
    assert sorted(nav) == sorted(
        [
            *(page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.parent != ROOT),
            *("changelog.md", "sample.html"),
        ]
    )


def test_no_page_installs_what_is_not_published() -> None:
    for path in PAGES:
        for line in re.findall(r"pip install ([^`#\n]*)", path.read_text()):
            assert not re.search(r"""(?:^|[\s'"])hlodiff(?:\[[\w,]*\])?(?! @)(?=['"`\s]|$)""", line), (
                f"{path.name}: {line}"
            )


def test_every_key_of_a_summary_is_explained_in_order() -> None:
    table = (ROOT / "docs/snapshots.md").read_text().partition("## summary.yaml")[2].partition("\n## ")[0]
    explained = [
        key for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)
    ]
    summaries = [path.read_text() for path in (ROOT / "snapshots").rglob("summary.yaml")]
    written = [re.findall(r"^(\w+):", text, re.MULTILINE) for text in summaries]
    # No program here has several cases, and none is so large that it is compressed.
    assert {key for keys in written for key in keys} == {*explained} - {"case", "compressed"}
    assert all(keys == [key for key in explained if key in keys] for keys in written)


def anchors(path: Path) -> set[str]:
    """What a page's titles are called in links, as GitHub and mkdocs.yml have it."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for name, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", path.read_text()):
        target = path.parent / name if name else path
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


@pytest.mark.parametrize("name", ["examples", "benchmarks"])
def test_files_that_pages_name_exist(name: str) -> None:
    for path in PAGES:
        for file in re.findall(rf"`({name}/[\w/]+\.py)`", path.read_text()):
            assert (ROOT / file).is_file(), f"{path.name}: {file}"


def test_the_worked_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "docs/internals.md"
    for name, text in blocks(path, "hlo"):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{code}\n" for _, code in blocks(path, "python"))
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    said: list[str] = []
    result = doctest.DocTestRunner().run(test, out=said.append)
    assert result.attempted >= 10
    assert not said, "".join(said)
    assert played(path, tmp_path) > 0


@pytest.mark.slow
def test_the_first_minute_of_the_readme(tmp_path: Path) -> None:
    assert played(ROOT / "README.md", tmp_path) > 0
    assert (tmp_path / "snapshots/first_gradient/cpu/compiled.hlo").is_file()
