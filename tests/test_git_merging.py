"""Merges that both sides of changed a snapshot: ours stays, marked stale, and every command says how to heal it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hlodiff.capture.imports import import_modules
from hlodiff.config import Config
from hlodiff.errors import RegistryError
from hlodiff.integrations.git.diff_driver import merge
from hlodiff.snapshots import FolderTree, Key, StaleError, is_stale, marked_stale, read_snapshot, stale_of
from tests.git_projects import HLO, Project, project

SUMMARY = "snapshots/f/cpu/summary.yaml"
STALE = "stale: merge  # both sides had changed it and ours was kept; `hlodiff update` records it anew\n"


@pytest.fixture
def made(tmp_path: Path) -> Project:
    """Two branches that both recorded f anew, and one of them g."""
    found = project(tmp_path, "a repository")
    found.hlodiff("git", "install")
    found.commit("drivers")
    found.git("checkout", "-qb", "side")
    found.record("f", "cosine")
    found.record("g", "sine")
    found.commit("theirs")
    found.git("checkout", "-q", "main")
    found.record("f", "sine")
    found.commit("ours")
    return found


def test_a_merge_keeps_ours_and_waits(made: Project) -> None:
    said = made.git("merge", "side", code=1)
    assert (
        "hlodiff: both sides changed f on cpu: ours is kept, marked stale; once the code is merged: hlodiff update f\n"
    ) in said
    assert said.count("hlodiff: ") == 1
    assert "CONFLICT (content): Merge conflict in snapshots/f/cpu/compiled.hlo\n" in said
    assert made.git("status", "--short") == (
        "UU snapshots/f/cpu/compiled.hlo\nUU snapshots/f/cpu/stablehlo.mlir\nUU snapshots/f/cpu/summary.yaml\n"
        "A  snapshots/g/cpu/compiled.hlo\nA  snapshots/g/cpu/stablehlo.mlir\nA  snapshots/g/cpu/summary.yaml\n"
    )
    assert (made.top / "snapshots/f/cpu/compiled.hlo").read_text() == HLO.replace("tanh", "sine")
    assert (made.top / SUMMARY).read_text().split("\n", 1)[1].startswith(STALE)
    assert "snapshots     stale: 1 name since a merge: f\n" in made.hlodiff("git", "status", code=1)
    assert "++stale: merge" in made.git("diff")
    assert made.git("diff", "--cached", "--", "snapshots/f/cpu/compiled.hlo") == (
        "* in conflict: snapshots/f/cpu/compiled.hlo\n"
        "  the snapshot is stale; once the code is merged: hlodiff update f\n"
    )
    assert "  stale: both sides of a merge had changed it, and ours was kept; next: hlodiff update f\n" in made.git(
        "diff", "--ours"
    )


def test_what_only_one_side_changed_is_merged_without_us(made: Project) -> None:
    made.git("reset", "-q", "--hard", "HEAD~1")
    said = made.git("merge", "--no-ff", "--no-edit", "side")
    assert "hlodiff:" not in said
    assert made.git("status", "--short") == ""
    made.git("checkout", "-q", "HEAD^2")
    made.git("merge", "--no-edit", "main")
    assert not is_stale(FolderTree(made.snapshots), ["f/cpu/summary.yaml"])


def test_equal_changes_are_no_conflict(made: Project) -> None:
    made.record("f", "cosine")
    made.commit("the same as theirs")
    assert "CONFLICT" not in made.git("merge", "--no-edit", "side")


def test_names_of_strangers_and_files_that_no_summary_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "hlodiff")
    ours = tmp_path / "ours"
    for path in (
        "snapshots/a\nerror: b\x1b[31m/cpu/summary.yaml",
        "-x.yaml",
        f"snapshots/{'a' * 9000}/cpu/summary.yaml",
    ):
        ours.write_bytes(b"format_version: 1\n")
        assert merge(ours, path) == 1 and STALE.encode() in ours.read_bytes()
    assert [len(one.message) < 400 and one.message.isprintable() for one in caplog.records] == [True] * 3
    assert caplog.records[0].message.startswith(r"hlodiff: both sides changed a\nerror: b\x1b[31m on cpu: ours")
    assert caplog.records[1].message.startswith("hlodiff: both sides changed -x.yaml of this folder: ours")
    os.truncate(ours, 2**31)  # sparse
    assert merge(ours, SUMMARY) == 1 and ours.stat().st_size == 2**31


def test_rebase_and_stash_do_the_same(made: Project) -> None:
    made.git("rebase", "side", code=1)
    assert STALE in (made.top / SUMMARY).read_text()
    made.git("rebase", "--abort")
    made.record("f", "exponential")
    made.git("stash", "-q")
    made.record("f", "logistic")
    made.commit("another")
    made.git("stash", "pop", code=1)
    assert STALE in (made.top / SUMMARY).read_text()


@pytest.mark.parametrize("command", [["merge", "side"], ["cherry-pick", "side"]])
def test_every_command_tells_of_a_stale_snapshot(made: Project, command: list[str]) -> None:
    made.git(*command, code=1)
    words = "snapshots/f/cpu/summary.yaml: is stale: both sides of a merge had changed it, and ours was kept\n"
    heal = "hint: hlodiff update f --target cpu\n"
    assert f"error: {words}{heal}" in made.hlodiff("show", "f", code=2)
    made.git("add", "-A")
    made.git("commit", "-qm", "carelessly")
    said = made.hlodiff("diff", "HEAD~1", "snapshots", code=2)
    assert "could not be judged: f on cpu\n" in said
    assert words in said
    assert f"  {heal}" in said


def test_conflict_markers_say_the_same_where_no_driver_is(made: Project) -> None:
    made.hlodiff("git", "uninstall")
    made.git("merge", "side", code=1)
    assert "<<<<<<< HEAD\n" in (made.top / SUMMARY).read_text()
    said = made.hlodiff("show", "f", code=2)
    assert ": holds git conflict markers: it is neither side, so the snapshot is stale\n" in said
    assert said.endswith("hint: hlodiff update f --target cpu\n")
    assert "snapshots     stale: 1 name since a merge: f\n" in made.hlodiff("git", "status", code=1)
    said = made.hlodiff("diff", "HEAD", "snapshots", code=2)
    assert "holds git conflict markers" in said
    assert "hint: hlodiff update f --target cpu\n" in said


def test_marks_are_found_where_they_are(made: Project) -> None:
    tree = FolderTree(made.snapshots)
    key = Key("f", "", "cpu")
    assert stale_of(tree, [key]) == ()
    path = made.top / SUMMARY
    content = path.read_bytes()
    path.write_bytes(marked_stale(content))
    assert marked_stale(path.read_bytes()) == path.read_bytes()
    assert stale_of(tree, [key]) == (key,)
    with pytest.raises(StaleError):
        read_snapshot(tree, key)
    path.write_bytes(content)
    program = made.top / "snapshots/f/cpu/compiled.hlo"
    program.write_text("=======\n" + program.read_text())
    assert stale_of(tree, [key]) == (key,)


def test_marks_keep_the_line_ends_of_the_file() -> None:
    assert marked_stale(b"format_version: 1\r\nfunction: f\r\n").count(b"\r\n") == 3
    assert marked_stale(b"").startswith(b"stale: merge")


def test_code_in_conflict_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "merged.py").write_text("x = 1\n<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> side\n")
    with pytest.raises(RegistryError) as raised:
        import_modules(Config(tmp_path, modules=("merged.py",)))
    assert raised.value.hint == "it holds git conflict markers: resolve them first"


def test_snapshots_of_tests_are_healed_by_tests(made: Project) -> None:
    made.record("t", at=made.snapshots / "pytest")
    path = made.snapshots / "pytest/t/cpu/summary.yaml"
    path.write_bytes(marked_stale(path.read_bytes()))
    said = made.hlodiff("git", "status", code=1)
    assert "snapshots     stale: 1 name since a merge: pytest/t\n" in said
    assert said.endswith("next: pytest --hlodiff-update\n")
