"""`growth.yaml` on disk, and the report of growth in its three forms."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hlodiff.differ import QUANTITIES, FrameTree, GrowingLine, GrownRepeat, Growth, Repeat, growth_series
from hlodiff.errors import StoreError
from hlodiff.policy import growth_record
from hlodiff.report import growth_json, growth_markdown, growth_text
from hlodiff.snapshots import list_growth, read_growth, remove_growth, write_growth, writing
from hlodiff.workflows import PythonLoops
from hlodiff.workflows.source_lines import WORK_TREE, SourceLines, SourceSide

SIZES = (8, 16, 32)
WHERE = FrameTree("model.py", 12, 13, "walk")


def growth(*instructions: int, same: bool = False, repeats: bool = True) -> Growth:
    at = [dict.fromkeys(QUANTITIES, 2048) | {"instructions": count} for count in instructions]
    copies = GrownRepeat(Repeat(WHERE, (), 32, 5, "chained", in_loop=True), SIZES)
    series = growth_series(SIZES, at)
    (fit,) = (one.fit for one in series if one.name == "instructions")
    own = ((copies,), ()) if repeats else ((), (GrowingLine(WHERE, instructions, fit),))
    return Growth("solve", "cpu", "n", SIZES, series, repeats=own[0], lines=own[1], same=same)


def test_what_is_written_is_read_again_and_written_once(tmp_path: Path) -> None:
    value = growth_record("solve", "long", [growth(50, 90, 170)])
    with writing(tmp_path):
        assert write_growth(tmp_path, "solve", "long", value)
        assert not write_growth(tmp_path, "solve", "long", value), "the same is not written again"
        assert write_growth(tmp_path, "other", "", value)
    assert read_growth(tmp_path, "solve", "long") == value
    assert read_growth(tmp_path, "solve", "") is None
    assert list_growth(tmp_path) == (("other", ""), ("solve", "long"))
    assert (
        (tmp_path / "solve/long/growth.yaml").read_text().startswith("format_version: 1\nfunction: solve\ncase: long\n")
    )
    remove_growth(tmp_path, "solve", "long")
    assert not (tmp_path / "solve").exists(), "no empty folders are left"
    assert list_growth(tmp_path) == (("other", ""),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<<<<<<< HEAD\nformat_version: 1\n", "holds git conflict markers"),
        (b"format_version: 99\n", "newer than this hlodiff reads"),
        (b"\xff\xfe", "not UTF-8"),
        (b"- 1\n", "expected `key: value` pairs"),
    ],
)
def test_a_broken_file_is_told_with_its_name(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "solve").mkdir()
    (tmp_path / "solve/growth.yaml").write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        read_growth(tmp_path, "solve", "")
    assert "solve/growth.yaml" in str(caught.value)


def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        read_growth(tmp_path, "../solve", "")


def test_text_holds_counts_classes_and_the_line() -> None:
    assert growth_text([(growth(50, 90, 170), {"instructions": "constant"})]) == (
        "solve  grows with `n`, lowered for cpu\n"
        "  n                         8       16       32\n"
        "  instructions             50       90      170  linear, 5 for each, recorded as constant\n"
        "  constants             2,048    2,048    2,048  constant\n"
        "  bytes of constants  2.0 KiB  2.0 KiB  2.0 KiB  constant\n"
        "  bytes of text       2.0 KiB  2.0 KiB  2.0 KiB  constant\n"
        "  model.py:12-13 (walk): 8, 16, 32 copies of 5 operations, each fed by the one before\n"
        "    a Python loop, which JAX unrolls; jax.lax.scan or jax.lax.fori_loop compiles the body once\n"
    )


def test_lines_are_told_where_no_copies_explain_the_growth() -> None:
    text = growth_text([(growth(50, 90, 170, repeats=False), {})])
    assert "model.py:12-13 (walk): 50, 90, 170 operations (linear)\n" in text


def test_a_size_that_reaches_nothing_is_told() -> None:
    text = growth_text([(growth(50, 50, 50, same=True, repeats=False), {})])
    assert "the program is the same at every size: does `n` reach the arguments?" in text


def test_markdown_and_json() -> None:
    found = [(growth(50, 90, 170), {"instructions": "constant"})]
    assert "| instructions | 50 | 90 | 170 | linear, 5 for each, recorded as constant |" in growth_markdown(found)
    (one,) = json.loads(growth_json(found))["growths"]
    assert one["stablehlo"]["instructions"] == {
        "values": [50, 90, 170], "class": "linear", "exponent": 1.0, "for_each": 5.0, "recorded": "constant",
    }  # fmt: skip
    assert one["copies"][0]["copies"] == [8, 16, 32]


SOURCE = """\
def f(xs):
    for x in xs:
        y = g(
            x
        )
    z = [
        g(x) for x in xs
    ]
    while y:
        def inner():
            return 1
        y = inner()
    return z
"""


def test_lines_of_python_loops(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SOURCE)
    loops = PythonLoops(tmp_path)
    inside = [number for number in range(1, 15) if loops("model.py", number)]
    assert inside == [2, 3, 4, 5, 6, 7, 8, 9, 12], "a function defined in a loop is not a turn of it"
    assert loops("missing.py", 3) is None
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert loops("broken.py", 1) is None
    assert PythonLoops(Path("/"))("site-packages/no such package/x.py", 1) is None


def test_files_that_a_stranger_names_are_read_if_they_are_plain(tmp_path: Path) -> None:
    """A program names any file; these hung, or ended in an internal error."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "sum.py").write_text(f"for x in y:\n    z = {' + '.join(['x'] * 900)}\n")
    (tmp_path / "loops.py").write_text("".join(f"{' ' * n}for x in y:\n" for n in range(60)) + f"{' ' * 60}pass\n")
    loops = PythonLoops(tmp_path)
    names = ["pipe.py", "/dev/zero", "site-packages/../../../../../../dev/zero", "\0.py", "\ud800.py", ".", "loops.py"]
    assert [loops(name, 2) for name in names] == [None] * len(names)
    assert loops("sum.py", 2) in ((1,), None)  # Python itself may find it too deep
    lines = SourceLines(tmp_path, (SourceSide("HEAD"), SourceSide(WORK_TREE)))
    assert [lines.file_lines("f", "cpu", 1, name) for name in names[:-1]] == [()] * (len(names) - 1)
