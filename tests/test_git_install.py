"""`hlodiff git install`, `status` and `uninstall` in real repositories."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hlodiff.integrations.git.setup import is_ours, python_of, rows, settings, with_block, without_block
from tests.git_projects import Project, project

WELL = (
    "diff driver   installed\n"
    "textconv      installed\n"
    "merge driver  installed\n"
    "attributes    installed: in .gitattributes, not committed yet\n"
    "snapshots     ok: none is stale\n"
    "all is well\n"
)


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return project(tmp_path)


def config(made: Project) -> bytes:
    return (made.top / ".git/config").read_bytes()


def test_install_says_what_it_does_once(made: Project) -> None:
    assert made.hlodiff("git", "status", code=1) == (
        "diff driver   missing\n"
        "textconv      missing\n"
        "merge driver  missing\n"
        "attributes    missing: not in .gitattributes\n"
        "snapshots     ok: none is stale\n"
        "4 of 5 to repair; next: hlodiff git install\n"
    )
    assert made.hlodiff("git", "install") == (
        "added 8 lines in .gitattributes\n"
        "added 1 line in .git/info/attributes\n"
        "set up in this clone's git configuration: diff driver, textconv, merge driver\n"
        "installed; next: git add .gitattributes\n"
    )
    written = config(made), (made.root / ".gitattributes").read_bytes()
    assert made.hlodiff("git", "install") == "was installed already\n"
    assert (config(made), (made.root / ".gitattributes").read_bytes()) == written
    assert made.hlodiff("git", "status") == WELL


def test_attributes_are_those_of_every_kind_of_file(made: Project) -> None:
    made.hlodiff("git", "install")
    assert (made.root / ".gitattributes").read_text() == (
        "# hlodiff git install: begin (`hlodiff git uninstall` takes these lines out)\n"
        "snapshots/**/*.hlo text eol=lf diff=hlodiff merge=hlodiff linguist-generated\n"
        "snapshots/**/*.mlir text eol=lf diff=hlodiff merge=hlodiff linguist-generated\n"
        "snapshots/**/*.hlo.gz -text diff=hlodiff merge=hlodiff linguist-generated\n"
        "snapshots/**/*.mlir.gz -text diff=hlodiff merge=hlodiff linguist-generated\n"
        "snapshots/**/source.json text eol=lf -diff merge=hlodiff linguist-generated\n"
        "snapshots/**/summary.yaml text eol=lf diff=hlodiff-facts merge=hlodiff\n"
        "snapshots/**/traces.yaml text eol=lf diff=hlodiff-facts merge=hlodiff\n"
        "snapshots/**/growth.yaml text eol=lf diff=hlodiff-facts merge=hlodiff\n"
        "# hlodiff git install: end\n"
    )


@pytest.mark.parametrize("text", [None, b"*.png binary\n", b"*.png binary", b"# mine\r\n*.png binary\r\n", b"\xff x\n"])
def test_uninstall_takes_back_exactly_what_was_put_there(made: Project, text: bytes | None) -> None:
    path = made.root / ".gitattributes"
    if text is not None:
        path.write_bytes(text)
    made.git("config", "diff.png.textconv", "exiftool")
    before = config(made)
    made.hlodiff("git", "install")
    assert made.hlodiff("git", "uninstall").endswith(
        "took out of this clone's git configuration: diff driver, textconv, merge driver\n"
    )
    assert config(made) == before
    assert (path.read_bytes() if path.exists() else None) == text
    assert made.hlodiff("git", "uninstall") == "nothing was installed here\n"


def test_lines_of_others_stay_wherever_they_stand(made: Project) -> None:
    path = made.root / ".gitattributes"
    path.write_text("*.png binary\n")
    made.hlodiff("git", "install")
    path.write_text(path.read_text() + "*.jpg binary\n")
    made.git("config", "merge.hlodiff.more", "mine")
    made.hlodiff("git", "uninstall")
    assert path.read_text() == "*.png binary\n*.jpg binary\n"
    assert made.git("config", "--local", "--get-regexp", "hlodiff") == "merge.hlodiff.more mine\n"


def test_somebodys_own_value_is_left_alone(made: Project) -> None:
    made.git("config", "diff.hlodiff.command", "difft")
    before = config(made)
    assert made.hlodiff("git", "install", code=2) == (
        "error: git configuration, diff.hlodiff.command: is set to something of your own already: difft\n"
        "hint: git config --unset-all diff.hlodiff.command, if that may go; then `hlodiff git install` again\n"
    )
    assert (config(made), (made.root / ".gitattributes").exists()) == (before, False)
    assert "diff driver   overridden: diff.hlodiff.command holds something of your own\n" in made.hlodiff(
        "git", "status", code=1
    )
    assert made.hlodiff("git", "uninstall") == "nothing was installed here\n"
    assert config(made) == before


def test_a_python_that_is_gone_is_told_and_replaced(made: Project) -> None:
    made.hlodiff("git", "install")
    for setting in settings("/gone with spaces/bin/python"):
        made.git("config", setting.key, setting.value)
    said = made.hlodiff("git", "status", code=1)
    assert "diff driver   stale: /gone with spaces/bin/python is gone, or has no hlodiff any more\n" in said
    assert said.endswith("3 of 5 to repair; next: hlodiff git install\n")
    assert made.hlodiff("git", "install") == (
        "set up in this clone's git configuration: diff driver, textconv, merge driver\ninstalled\n"
    )
    assert made.hlodiff("git", "status") == WELL


def test_another_python_that_works_is_well(made: Project, tmp_path: Path) -> None:
    made.hlodiff("git", "install")
    other = tmp_path / "other python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    for setting in settings(str(other)):
        made.git("config", setting.key, setting.value)
    assert f"diff driver   installed: runs {other}\n" in made.hlodiff("git", "status")


def test_lines_that_no_longer_fit_are_rewritten_in_their_place(made: Project) -> None:
    made.hlodiff("git", "install")
    path = made.root / ".gitattributes"
    path.write_text(path.read_text() + "*.jpg binary\n")
    (made.root / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\nsnapshots = "elsewhere"\n')
    assert (
        "attributes    stale: .gitattributes has lines of another version of hlodiff or for another folder\n"
        in made.hlodiff("git", "status", code=1)
    )
    assert made.hlodiff("git", "install").startswith("rewrote 8 lines in .gitattributes\n")
    assert path.read_text().count("elsewhere/**/") == 8
    assert path.read_text().endswith("install: end\n*.jpg binary\n")


def test_lines_and_keys_of_an_older_version_are_seen_and_repaired(made: Project) -> None:
    made.hlodiff("git", "install")
    path = made.root / ".gitattributes"
    current = path.read_text()
    path.write_text(current.replace("linguist-generated", "linguist-vendored"))
    made.git("config", "--remove-section", "diff.hlodiff-source")
    own = made.top / ".git/info/attributes"
    own.unlink()
    said = made.hlodiff("git", "status", code=1)
    assert "diff driver   missing\ntextconv      missing\nmerge driver  installed\nattributes    stale: " in said
    path.write_text(current)
    assert "attributes    missing: source.json is not in .git/info/attributes\n" in made.hlodiff(
        "git", "status", code=1
    )
    own.write_text("*.png binary")
    assert made.hlodiff("git", "install") == (
        "added 1 line in .git/info/attributes\n"
        "set up in this clone's git configuration: diff driver, textconv\n"
        "installed\n"
    )
    assert (path.read_text(), made.hlodiff("git", "status")) == (current, WELL)
    made.hlodiff("git", "uninstall")
    assert own.read_text() == "*.png binary"


def test_attributes_that_others_override_are_told(made: Project) -> None:
    made.hlodiff("git", "install")
    own = made.top / ".git/info/attributes"
    ours = own.read_text()
    own.write_text(f"{ours}*.yaml -merge\n")
    said = made.hlodiff("git", "status", code=1)
    assert "attributes    overridden: other lines decide about snapshots/f/cpu/summary.yaml\n" in said
    assert "next: git check-attr --all snapshots/f/cpu/summary.yaml\n" in said
    own.write_text(f"{ours}source.json -diff\n")
    assert "other lines decide about snapshots/f/cpu/source.json\n" in made.hlodiff("git", "status", code=1)


@pytest.mark.parametrize(
    ("below", "snapshots", "first"),
    [
        ("", "my [old] snäpshots", '"my \\\\[old] snäpshots/**/*.hlo"'),
        ("packages/a b", "snapshots", "snapshots/**/*.hlo"),
        ("packages/a", "#records", "/#records/**/*.hlo"),
        ("packages/a", "../../kept", "*.hlo"),
    ],
)
def test_paths_of_all_kinds(tmp_path: Path, below: str, snapshots: str, first: str) -> None:
    """A project in a folder of a repository has its own file; snapshots outside of it have one of their own."""
    made = project(tmp_path, "a repository ü", below, snapshots)
    assert made.hlodiff("git", "install").endswith(
        "installed; next: git add "
        + (".gitattributes\n" if ".." not in snapshots else f"{made.snapshots.resolve()}/.gitattributes\n")
    )
    file = (made.snapshots if ".." in snapshots else made.root) / ".gitattributes"
    assert file.read_text().splitlines()[1].startswith(f"{first} ")
    assert "attributes    installed" in made.hlodiff("git", "status")
    made.record("f", "sine")
    assert "changed tanh -> sine" in made.git("diff", "--", f"{made.snapshots}/f/cpu/compiled.hlo", at=made.root)
    made.hlodiff("git", "uninstall")
    assert not file.exists()


def test_two_projects_in_one_repository(tmp_path: Path) -> None:
    made = project(tmp_path, below="one")
    other = made.top / "two"
    other.mkdir()
    (other / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    made.hlodiff("git", "install")
    assert made.hlodiff("git", "install", "--project", "two", at=made.top) == (
        "added 8 lines in two/.gitattributes\n"
        "added 1 line in .git/info/attributes\n"
        "installed; next: git add two/.gitattributes\n"
    )
    assert "attributes    installed: in two/.gitattributes" in made.hlodiff(
        "git", "status", "--project", "two", at=made.top
    )


def test_a_worktree_a_shallow_clone_and_a_detached_head(made: Project, tmp_path: Path) -> None:
    made.hlodiff("git", "install")
    made.record("f", "sine")
    made.commit("second")
    tree, clone = tmp_path / "a tree", tmp_path / "a clone"
    made.git("worktree", "add", "-q", "--detach", str(tree))
    made.git("clone", "-q", "--depth", "1", f"file://{made.top}", str(clone))
    assert "all is well" in made.hlodiff("git", "status", at=tree)  # a worktree has its repository's configuration
    assert "attributes    missing: source.json is not in .git/info/attributes\n" in made.hlodiff(
        "git", "status", at=clone, code=1
    )
    assert made.hlodiff("git", "install", at=clone) == (
        "added 1 line in .git/info/attributes\n"
        "set up in this clone's git configuration: diff driver, textconv, merge driver\ninstalled\n"
    )
    for folder in (tree, clone):
        made.record("f", "cosine", at=folder / "snapshots")
        assert "changed sine -> cosine" in made.git("diff", "--", "snapshots/f/cpu/compiled.hlo", at=folder)


def test_where_there_is_nothing_to_install_into(made: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    assert made.hlodiff("git", "install", at=outside, code=2).startswith("error: ")
    (outside / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m"]\n')
    assert made.hlodiff("git", "install", at=outside, code=2, GIT_CEILING_DIRECTORIES=str(tmp_path)) == (
        f"error: {outside}: this is not a git repository\nhint: git init\n"
    )
    bare = tmp_path / "bare"
    made.git("init", "-q", "--bare", str(bare))
    (bare / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m"]\n')
    assert "this git repository has no work tree here\n" in made.hlodiff("git", "status", at=bare, code=2)
    (made.root / ".gitattributes").symlink_to(tmp_path / "elsewhere")
    assert "is a link, and git reads no attributes through links" in made.hlodiff("git", "install", code=2)
    assert "hlodiff" not in config(made).decode()


def test_status_for_machines(made: Project) -> None:
    value = json.loads(made.hlodiff("git", "status", "--format", "json", code=1))
    assert value["parts"][0] == {"part": "diff driver", "state": "missing", "what": "", "next": "hlodiff git install"}
    assert value["parts"][-1] == {"part": "snapshots", "state": "ok", "what": "none is stale", "next": None}


@pytest.mark.parametrize("text", ["", "a\n", "a", "a\r\nb\r\n", "\n\n"])
def test_a_block_leaves_no_trace(text: str) -> None:
    assert without_block(with_block(text, "snapshots")) == text
    assert with_block(with_block(text, "old"), "new") == with_block(text, "new")


def test_whose_a_value_is() -> None:
    for setting in settings("/a b/py'thon"):
        assert is_ours(setting, setting.value)
        assert not is_ours(setting, f"x {setting.value}")
        assert python_of(setting.value) in ("/a b/py'thon", "")
    assert python_of(settings("/usr/bin/python3")[0].value) == "/usr/bin/python3"
    assert len(rows("x")) == 8


def test_what_git_could_not_run_is_not_installed(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/usr/bin/false")
    before = config(made)
    said = made.hlodiff("git", "install", code=2)
    assert said.startswith("error: /usr/bin/false: finds hlodiff only from some folders, and git runs it from others\n")
    assert (config(made), (made.root / ".gitattributes").exists()) == (before, False)
