"""Files and names that docs/glossary.md and docs/internals.md speak of exist, and no term is explained twice."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "hlodiff"
GLOSSARY = ROOT / "docs/glossary.md"
PAGES = (GLOSSARY, ROOT / "docs/internals.md")
_NAMED = re.compile(r"`(\w+)` (?:in|of) `([\w/]+\.py)`")
_FILE = re.compile(r"`((?:hlodiff/|tests/)?[\w/]+\.(?:py|json))`")
_FOLDER = re.compile(r"`((?:hlodiff/|tests/)?[\w/]+/)`")


def names_of(file: Path) -> set[str]:
    """What a file defines or imports at its top level."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def places(path: str) -> list[Path]:
    """Where a file or folder that a page names may be: a page names files of a room by their last part too."""
    below = [ROOT / path, PACKAGE / path]
    found = [place for place in below if place.exists()]
    return found if found or "/" in path.rstrip("/") else sorted(PACKAGE.rglob(path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_are_defined_in_the_files_that_the_page_names(page: Path) -> None:
    found = _NAMED.findall(page.read_text(encoding="utf-8"))
    assert found
    assert [f"{name} in {file}" for name, file in found if not any(name in names_of(p) for p in places(file))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_folders_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = [*_FILE.findall(text), *_FOLDER.findall(text)]
    assert len(named) > 20
    assert [path for path in named if not places(path)] == []


def test_each_term_is_explained_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term for term, _ in rows if term not in ("term", "---")]
    assert len(terms) > 60
    assert sorted(terms) == sorted(set(terms))
    assert [term for term, meaning in rows if term in terms and not meaning.endswith(".")] == []
