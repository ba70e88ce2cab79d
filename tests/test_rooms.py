"""The picture of the rooms in docs/internals.md is the one that the imports make."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from tests.rooms import PICTURE, ROOT, imports_between_rooms, picture, upward


def package(folder: Path, **files: str) -> Path:
    """A package `house` of these rooms, one file each, or a folder for names with `__`."""
    for name, text in files.items():
        file = folder / "house" / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder / "house"


def test_the_picture_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(ROOT / "hlodiff"), "python -m tests.rooms"


def test_every_way_of_importing_counts_once_for_each_file(tmp_path: Path) -> None:
    house = package(
        tmp_path,
        ground="",
        wall="import json\nimport house.ground\nfrom house.ground import x\n",
        roof__tiles="def lazily():\n    from house import wall\n",
        roof__beams="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.wall import y\n",
        roof__nails="from house import __version__\nfrom house.roof.tiles import lazily\n",
    )
    assert imports_between_rooms(house) == {("wall", "ground"): 1, ("roof", "wall"): 2}


def test_the_fewest_imports_lead_upwards(tmp_path: Path) -> None:
    imports = {("a", "b"): 3, ("b", "c"): 1, ("c", "a"): 2, ("a", "d"): 1}
    assert upward(imports) == {("b", "c")}
    assert upward({("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 1}) == set()


def test_arrows_that_a_longer_way_implies_are_not_drawn(tmp_path: Path) -> None:
    house = package(
        tmp_path,
        a="import house.b\nimport house.c\n",
        b="import house.c\n",
        c="def lazily():\n    import house.b\n",
        b__more="import house.c\n",
    )
    (house / "b.py").rename(house / "b/__init__.py")
    tree = ET.fromstring(picture(house))
    names = [node.text for node in tree.iter("{http://www.w3.org/2000/svg}text")]
    kinds = [node.get("class") for node in tree.iter("{http://www.w3.org/2000/svg}path") if node.get("class")]
    assert names == ["a", "b", "c"]
    assert kinds == ["down", "down", "up"]  # a -> b -> c, and c asks b
