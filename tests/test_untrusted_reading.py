"""What a pull request can bring to be read: links, devices, files without end, folders that are closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from hlodiff import errors
from hlodiff.capture import package_version
from hlodiff.config import Config
from hlodiff.errors import ConfigError, HlodiffError, ReadError, StoreError, expected_error
from hlodiff.hlo import read, read_text
from hlodiff.integrations.git import diff_driver
from hlodiff.integrations.history import commits
from hlodiff.snapshots import (
    CaptureOrigin,
    FolderTree,
    Key,
    drop_pending,
    keep_pending,
    read_pending,
    trees,
    write_snapshot,
)
from hlodiff.workflows import Freshness, load_if_any, open_side
from hlodiff.workflows.passes import pass_dumps
from hlodiff.workflows.sides import Side, SideProgram, pair
from tests.test_store import NEW, OLD

HLO = "HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n"


def test_nothing_is_read_behind_a_linked_folder(tmp_path: Path) -> None:
    project, victim = tmp_path / "project", tmp_path / "victim"
    write_snapshot(victim, OLD)
    (project / ".git").mkdir(parents=True)
    (project / "snapshots").mkdir()
    (project / "snapshots/step").symlink_to(victim / "step")
    tree = FolderTree(project / "snapshots")
    assert tree.files() == ()
    with pytest.raises(StoreError, match="step: is a link, and links are not followed"):
        tree.read(["step/cpu/summary.yaml"])
    # Outside of every project it is the user's own.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/step").symlink_to(victim / "step")
    assert FolderTree(tmp_path / "mine").read(["step/cpu/summary.yaml"])


def test_a_link_that_leads_out_of_the_project_gives_nothing_to_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(HLO)
    for folder, followed in (("project/programs", False), ("mine", True)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "project/.git").mkdir(exist_ok=True)
        (tmp_path / folder / "a.hlo").symlink_to(secret)
        (program,) = open_side(str(tmp_path / folder), tmp_path).programs
        if followed:
            assert program.load().name == "m"
        else:
            with pytest.raises(StoreError, match="is a link that leads out of the project"):
                program.load()
    (tmp_path / "project/programs/b.hlo").write_text(HLO)
    (tmp_path / "project/programs/a.hlo").unlink()
    (tmp_path / "project/programs/a.hlo").symlink_to("b.hlo")
    assert [one.load().name for one in open_side(str(tmp_path / "project/programs"), tmp_path).programs] == ["m", "m"]


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
def test_a_device_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").symlink_to("/dev/zero")
    with pytest.raises(ReadError, match=r"a.hlo: is a device, and no program"):
        read(tmp_path / "a.hlo")
    (program,) = open_side(str(tmp_path / "a.hlo"), tmp_path).programs
    with pytest.raises(ReadError, match="is a device"):
        program.content()


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", f"import sys; sys.stdout.write({HLO!r})"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert read(f"/dev/fd/{process.stdout.fileno()}") == read_text(HLO)
    file = tmp_path / "a.hlo"
    file.write_text(HLO)
    assert read(file) == read_text(HLO)
    os.truncate(file, 2**40)  # sparse
    with pytest.raises(ReadError, match="larger than"):
        read(file)


def test_a_configuration_has_a_bounded_size(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.hlodiff]\n")
    os.truncate(file, 1 << 40)
    with pytest.raises(ConfigError, match="cannot be read: larger than 16 MiB"):
        load_if_any(file)


def test_a_closed_folder_is_named_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system names the file in it, which need not exist."""
    monkeypatch.setattr(errors, "_is_closed", lambda folder: str(folder) == "snapshots")
    error = expected_error(PermissionError(13, "Permission denied", "snapshots/.partial"))
    assert error.render() == "snapshots: cannot be used: Permission denied\nhint: make the folder readable"
    other = expected_error(PermissionError(13, "Permission denied", "elsewhere/x"))
    assert other.render() == "elsewhere/x: cannot be used: Permission denied"


def test_only_a_full_snapshots_folder_can_be_moved_by_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, hinted in (("snapshots", True), (".hlodiff/pending", False)):
        keep_pending(tmp_path / folder, NEW, None, "new")

        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied", "there")

        monkeypatch.setattr("hlodiff.snapshots.write.place_below", refuse)
        with pytest.raises(HlodiffError) as error:
            drop_pending(tmp_path / folder, NEW.key)
        monkeypatch.undo()
        assert ("set `snapshots`" in error.value.hint) == hinted


def test_a_package_that_a_note_names_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find `trap.inner`, Python imports `trap`; `accept` runs no code."""
    (tmp_path / "trap").mkdir()
    (tmp_path / "trap/__init__.py").write_text("raise SystemExit('the code of a stranger')")
    monkeypatch.syspath_prepend(tmp_path)
    assert package_version("trap.inner") == ""
    assert package_version("trap").startswith("content ")
    assert "trap" not in sys.modules


def test_what_a_note_says_of_its_origin_is_bounded(tmp_path: Path) -> None:
    keep_pending(tmp_path / "pending", NEW, None, "new")
    note = tmp_path / "pending" / NEW.key.folder / "pending.json"
    for count, is_read in ((1_000, True), (1_001, False)):
        inputs = {"files": {}, "settings": {}, "packages": {f"p{n}": "1" for n in range(count)}}
        note.write_text(json.dumps(json.loads(note.read_text()) | {"origin": inputs}))
        with nullcontext() if is_read else pytest.raises(StoreError, match="does not hold what hlodiff writes there"):
            read_pending(FolderTree(tmp_path / "pending"), NEW.key)
    long = "n" * 5_000
    origin = CaptureOrigin(files={f"{long}.py": "00"}, packages={long: long})
    words = Freshness(Config(tmp_path)).refusal(Key("f", "", "cpu"), origin)
    assert len(words) > 2
    assert max(map(len, words)) < 500


@pytest.mark.parametrize("listing", ["files", "log"])
def test_a_tree_of_a_million_million_files_is_refused(
    listing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few objects of git spell such a tree: ten folders with ten folders each that are all the same one."""
    monkeypatch.setattr(trees, "MOST_LISTED", 20_000)
    monkeypatch.setattr(commits, "_MOST_LISTED", 20_000)

    def git(*arguments: str, data: str = "") -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tmp_path, input=data, check=True, capture_output=True, text=True).stdout[:40]

    git("init", "--quiet")
    below = f"100644 blob {git('hash-object', '-w', '--stdin')}"
    for name in ("summary.yaml", "f", "f", "f"):
        rows = [f"{below}\t{name}{n if name == 'f' else ''}" for n in range(10 if name == "f" else 1)]
        below = f"040000 tree {git('mktree', data=chr(10).join(rows) + chr(10))}"
    commit = git("commit-tree", git("mktree", data=f"{below}\tsnapshots\n"), "-m", "bomb")
    with pytest.raises(StoreError, match="git lists more than 0 MiB"):
        if listing == "files":
            trees.open_revision(tmp_path, commit, tmp_path / "snapshots")
        else:
            commits.touching(commits.GitObjects(tmp_path, "snapshots"), [commit], [":(top)"])


def test_thousands_of_modules_of_one_name_are_told_apart_in_linear_time(tmp_path: Path) -> None:
    for n in range(2_000):
        (tmp_path / f"module_{n:04d}.x.0001.p.after_a.before_b.txt").touch()
    (tmp_path / "module_9999.x (2).0001.p.after_a.before_b.txt").touch()
    found, _ = pass_dumps(str(tmp_path), str(tmp_path))
    assert len(found) == 2_001


def test_beside_a_program_only_a_plain_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "source.json"
    file.write_text("{" * 100)
    monkeypatch.setattr(diff_driver, "_LARGEST_SOURCE", 10)
    assert len(diff_driver._beside(str(file))) == 11
    file.unlink()
    os.mkfifo(file)
    assert diff_driver._beside(str(file)) == b""


def test_many_programs_of_one_name_are_paired_in_linear_time() -> None:
    """A dump holds one program for each shape of a function; 20,000 took an hour."""

    def side(count: int) -> Side:
        found = Side(label="a")
        for number in range(count):
            head = b"HloModule m, entry_computation_layout={(f32[%d]{0})->f32[]}, x=1" % number
            found.programs.append(SideProgram("f", None, "compiled", partial(read_text, ""), "", partial(bytes, head)))
        return found

    def calls(count: int) -> tuple[int, list[tuple[SideProgram | None, SideProgram | None]]]:
        old, new, made = side(count), side(count), [0]

        def count_call(_frame: FrameType, event: str, _argument: object) -> None:
            made[0] += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            pairs = pair(old, new)
        finally:
            sys.setprofile(None)
        return made[0], pairs

    few, _ = calls(1_000)
    many, pairs = calls(4_000)
    assert many < 5 * few
    assert sum(old is not None and new is not None for old, new in pairs) == 4_000
    assert pairs[0][0] is not None and pairs[0][0].name == "f#1"
