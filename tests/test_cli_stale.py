"""What `list`, `check`, `accept` and `update` say of snapshots that a merge has left stale."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from hlodiff.snapshots import marked_stale
from tests.test_cli_check import (
    EXP,  # the fixture
    Ask,  # the fixture
    Compiler,  # the fixture
    compiler,  # noqa: F401  # the fixture
)
from tests.test_cli_pending_records import (
    Grower,  # the fixture
    grower,  # noqa: F401  # the fixture
)
from tests.test_cli_scenarios import (
    Runner,  # the fixture
    recorded,  # the fixture
    runner,  # noqa: F401  # the fixture
)


def mark(*folders: str, how: str) -> None:
    """Leave these snapshots as a merge does, with the driver or without."""
    for folder in folders:
        path = Path("snapshots", folder, "summary.yaml")
        text = path.read_bytes()
        path.write_bytes(marked_stale(text) if how == "driver" else b"<<<<<<< HEAD\n" + text)


@pytest.mark.parametrize("how", ["driver", "markers"])
def test_a_stale_snapshot_is_told_and_healed(how: str, compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    whole = Path("snapshots/f/cpu/summary.yaml").read_bytes()
    mark("f/cpu", "g/small/cpu", how=how)
    code, out, _ = said("list")
    assert code == 0
    assert "  cpu stale, tpu-v5e-2x2 recorded\n" in out
    assert out.endswith("2 recorded, 2 stale since a merge; next: hlodiff update\n")
    compiler.compiled.clear()
    code, out, _ = said("check")
    words = {"driver": "is stale: both sides of a merge had changed it", "markers": "holds git conflict markers"}
    assert code == 2
    assert "could not be judged: f on cpu\n" in out
    assert words[how] in out
    assert "hint: hlodiff update f --target cpu\n" in out
    assert out.endswith("; next: hlodiff update f g/small\n")
    code, out, _ = said("update", "f", "g/small")
    assert (code, out) == (
        0,
        "f  cpu          recorded again: a merge had left it stale\n"
        "g/small  cpu    recorded again: a merge had left it stale\n"
        "2 recorded again, 1 unchanged; next: git add snapshots\n",
    )
    assert Path("snapshots/f/cpu/summary.yaml").read_bytes() == whole
    assert said("check")[0] == 0


def test_what_was_captured_before_a_merge_does_not_heal(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    said("check")
    mark("f/cpu", how="driver")
    code, out, _ = said("accept", "f", "--target", "cpu")
    assert code == 2
    assert out.startswith(
        "f  cpu  refused\n"
        "  a merge has left its snapshot stale, and this was captured before\n"
        "  hint: hlodiff update f --target cpu\n"
    )


OTHER_LINES = (
    b'{"compiled":{"frames":[["m.py",1,"f",-1]],"op_names":[],"instructions":{"main":{"sine.9x2k":[-1,0]}}}}\n'
)
MERGED = b"<<<<<<< HEAD\n%s=======\n%s>>>>>>> theirs\n"


def in_conflict(file: Path, how: str = "whole") -> None:
    """As git leaves a file of which both sides had changed a line."""
    ours = file.read_bytes()
    if how == "whole":
        file.write_bytes(MERGED % (ours, ours))
    elif how == "nameless":
        file.write_bytes(ours + b"<<<<<<<\r\na\r\n=======\r\nb\r\n>>>>>>>\r\n")
    elif how == "nested":
        file.write_bytes(ours + b"<<<<<<<<< ours\na\n=========\nb\n>>>>>>>>> theirs\n")
    else:
        file.write_bytes(ours + b">>>>>>> theirs\n")


@pytest.mark.parametrize("how", ["whole", "nameless", "nested", "end"])
@pytest.mark.parametrize("file", ["summary.yaml", "stablehlo.mlir", "compiled.hlo", "source.json"])
def test_markers_in_any_file_are_seen_and_healed(how: str, file: str, compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    folder = Path("snapshots/f/cpu")
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    in_conflict(folder / file, how)
    if file != "source.json":  # which a merge has resolved by itself, to what belongs to the other side
        (folder / "source.json").write_bytes(b'{"theirs":{}}\n')
    assert "  cpu stale, tpu-v5e-2x2 recorded\n" in said("list")[1]
    code, out, _ = said("check")
    assert code == 2
    assert f"snapshots/f/cpu/{file}:" in out and "holds git conflict markers" in out
    assert "could not be judged: f on cpu\n" in out
    assert out.endswith("1 could not be judged, 3 unchanged; next: hlodiff update f --target cpu\n")
    compiler.compiled.clear()
    assert said("update")[1].startswith("f  cpu          recorded again: a merge had left it stale\n")
    assert compiler.compiled == ["f/cpu"], "the others are known to be unchanged"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole
    assert said("check")[0] == 0


DAMAGED = b"", b'{"compiled": {"frames": [', b"[1]", b"\xff\xfe", b"{}{}\n", b"null"
# A merge took the program of one side and the lines of the other one.
OF_ANOTHER = OTHER_LINES, b'{"theirs":{}}', b'{"compiled":{"instructions":[1]}}'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *((content, "is damaged") for content in DAMAGED),
        *((content, "belongs to other programs than those beside it") for content in OF_ANOTHER),
    ],
)
def test_lines_that_cannot_be_used_are_seen_and_written_again(
    content: bytes,
    problem: str,
    compiler: Compiler,  # noqa: F811
    said: Ask,
) -> None:
    said("update")
    file = Path("snapshots/f/cpu/source.json")
    whole = file.read_bytes()
    file.write_bytes(content)
    code, out, _ = said("check")
    assert code == 2
    assert f"snapshots/f/cpu/source.json: {problem}" in out
    assert out.endswith("3 unchanged; next: hlodiff update f --target cpu\n")
    again = said("update", "f", "--target", "cpu") if content in OF_ANOTHER else said("update")
    assert "recorded again: the old one was broken" in again[1]
    assert file.read_bytes() == whole
    assert said("check")[0] == 0


def test_a_diff_says_where_lines_are_missing(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    shutil.copytree("snapshots", "other")
    file = Path("snapshots/f/cpu/source.json")
    for content, words in (
        (
            b'{"compiled": {',
            "snapshots/f/cpu/source.json is damaged: it is not a JSON table: Python lines may be missing",
        ),
        (
            OTHER_LINES,
            "snapshots/f/cpu/source.json belongs to other programs than those beside it: Python lines may be",
        ),
        (None, "snapshots: no source.json, so no Python lines: f"),
    ):
        file.unlink() if content is None else file.write_bytes(content)
        assert f"note: {words}" in " ".join(said("diff", "other", "snapshots")[1].split())


def test_markers_in_a_compressed_program_are_seen_and_healed(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    Path("pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m.py"]\nmax_file_bytes = 10\n')
    said("update")
    file = Path("snapshots/f/cpu/compiled.hlo.gz")
    whole = file.read_bytes()
    in_conflict(file)
    assert said("check")[0] == 2
    assert "  cpu stale, " in said("list")[1]
    assert "f  cpu          recorded again: " in said("update")[1]
    assert file.read_bytes() == whole
    packed = gzip.compress(b"<<<<<<< HEAD\n" + gzip.decompress(whole))
    file.write_bytes(packed)
    assert "holds git conflict markers" in said("check")[1]
    assert "recorded again: a merge had left it stale" in said("update")[1]
    assert said("check")[0] == 0


def test_what_merged_into_markers_is_not_accepted_over(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    compiler.answers["f", "", "cpu"] = EXP
    said("check")
    in_conflict(Path("snapshots/f/cpu/source.json"))
    code, out, _ = said("accept", "f", "--target", "cpu")
    assert code == 2 and "a merge has left its snapshot stale, and this was captured before" in out


@pytest.mark.parametrize("how", ["whole", "nameless", "nested", "end"])
def test_markers_in_traces_are_seen_and_healed(how: str, runner: Runner, said: Ask) -> None:  # noqa: F811
    said("update")
    file = recorded("one")
    whole = file.read_bytes()
    in_conflict(file, how)
    assert "scenario: stale" in said("list")[1]
    code, out, _ = said("check")
    assert code == 2 and "snapshots/one/traces.yaml:" in out and "holds git conflict markers" in out
    assert out.endswith("next: hlodiff update one\n")
    assert "one  traces  recorded again: a merge had left it stale" in said("update", "one")[1]
    assert file.read_bytes() == whole
    assert said("check")[0] == 0


@pytest.mark.parametrize("how", ["whole", "nameless", "nested", "end"])
def test_markers_in_growth_are_seen_and_healed(how: str, grower: Grower, said: Ask) -> None:  # noqa: F811
    said("update")
    file = Path("snapshots/walk/growth.yaml")
    whole = file.read_bytes()
    in_conflict(file, how)
    code, out, _ = said("check")
    assert code == 2 and "snapshots/walk/growth.yaml:" in out and "holds git conflict markers" in out
    assert "walk  growth  recorded again: a merge had left it stale" in said("update")[1]
    assert file.read_bytes() == whole
    assert said("check")[0] == 0
