"""What goes wrong around a program: each gives one message (what, where, what to type next) and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hlodiff.errors import StoreError, expected_error
from hlodiff.snapshots import FolderTree, Key, Snapshot, read_summary, write_snapshot

COMMAND = [sys.executable, "-m", "hlodiff"]
ONE = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} tanh(%p)\n}\n"
MLIR = """module @m {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
"""
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a.hlo and one snapshot."""
    monkeypatch.chdir(tmp_path)
    Path("a.hlo").write_text(ONE)
    write_snapshot(Path("snapshots"), Snapshot("f", "", "cpu", {"format_version": 1}, MLIR, ONE))


@pytest.mark.parametrize("arguments", [("a.hlo", "snapshots"), ("snapshots", "a.hlo")])
def test_one_program_and_many(arguments: tuple[str, str], said: Said) -> None:
    code, out, err = said("diff", *arguments)
    assert (code, out) == (2, "")
    assert "a.hlo is one" in err
    assert "hint: compare two files or two folders" in err


def test_one_program_and_a_folder_that_has_it(said: Said) -> None:
    Path("other").mkdir()
    Path("other/a.hlo").write_text(ONE.replace("tanh", "exponential"))
    code, out, _ = said("diff", "a.hlo", "other", "--exit-code")
    assert code == 1
    assert "tanh -> exponential" in out


def test_nothing_on_either_side_is_no_verdict(said: Said) -> None:
    Path("empty").mkdir()
    code, out, err = said("diff", "empty", "empty")
    assert (code, out) == (2, "")
    assert err.count("empty holds no snapshot and no program file") == 1


def test_a_file_where_the_snapshots_should_be(said: Said) -> None:
    Path("file").touch()
    with pytest.raises(StoreError, match="is not a folder"):
        FolderTree(Path("file")).files()


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    def scandir(path: str | Path) -> object:
        if Path(path).name == "f":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    real = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    code, out, err = said("diff", "snapshots", "snapshots")
    assert (code, out) == (2, "")
    assert err == "error: snapshots/f: cannot be read: Permission denied\nhint: make the folder readable\n"


@pytest.mark.parametrize("version", ["4", '"9.0"', "3.5", '"4"'])
def test_every_spelling_of_a_future_format(version: str, said: Said) -> None:
    path = Path("snapshots/f/cpu/summary.yaml")
    path.write_text(f"format_version: {version}\n")
    with pytest.raises(StoreError, match="newer than this hlodiff reads") as caught:
        read_summary(FolderTree(Path("snapshots")), Key("f", "", "cpu"))
    assert caught.value.hint == "run `git pull` in your clone of hlodiff and install it from there again"


@pytest.mark.parametrize("version", ["0", '"new"', "true", "[1]", ".inf", ".nan", "null"])
def test_what_is_no_format_version(version: str, said: Said) -> None:
    Path("snapshots/f/cpu/summary.yaml").write_text(f"format_version: {version}\n")
    with pytest.raises(StoreError, match=r"is .*, not a positive number") as caught:
        read_summary(FolderTree(Path("snapshots")), Key("f", "", "cpu"))
    assert caught.value.hint == "hlodiff update f --target cpu"


def test_a_bug_in_one_program_is_not_the_run_s(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    from hlodiff.differ import diff

    def broken(old: object, new: object, limits: object) -> object:
        if old.stage == "stablehlo":  # type: ignore[attr-defined]
            raise KeyError("nobody foresaw this")
        return diff(old, new, limits=limits)  # type: ignore[arg-type]

    monkeypatch.setattr(sys.modules["hlodiff.differ"], "diff", broken)
    code, out, err = said("diff", "snapshots", "snapshots")
    assert (code, err) == (2, "")
    assert "internal error: KeyError: 'nobody foresaw this' (test_cli_errors.py:" in out
    assert "hint: this is a bug in hlodiff; HLODIFF_TRACEBACK=1 shows where" in out
    assert out.endswith("\n1 could not be judged\n")


def test_the_bug_itself_for_those_who_look_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLODIFF_TRACEBACK", "1")
    with pytest.raises(KeyError):
        expected_error(KeyError("x"))


def test_a_result_that_cannot_be_written(said: Said) -> None:
    command = '"$0" -m hlodiff diff a.hlo a.hlo > /dev/full'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: stdout: cannot be written: No space left on device")
    assert done.stderr.endswith("hint: write it to a file: -o FILE\n"), "and nothing from Python's own end"


@pytest.mark.slow
@pytest.mark.parametrize("shell", [">&-", "2>&-", ">&- 2>&- <&-", "2>/dev/full", "| head -0", "2>&1 | head -0"])
def test_a_closed_stream_changes_no_exit_code(shell: str, said: Said) -> None:
    Path("b.hlo").write_text(ONE.replace("tanh", "exponential"))
    for arguments, code in (("diff a.hlo b.hlo --exit-code", 1), ("diff a.hlo nothing.hlo", 2), ("--help", 0)):
        script = f'{{ "$0" -m hlodiff {arguments}; echo $? > code; }} {shell}'
        done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, text=True, check=False)
        assert (Path("code").read_text().strip(), done.stderr.count("Traceback")) == (str(code), 0), arguments


def test_a_reader_that_has_left(said: Said) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, "diff", "a.hlo", "a.hlo"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b""), "the verdict stands, whoever reads it"


def test_a_file_that_cannot_be_written(said: Said) -> None:
    for place in ("snapshots", "nowhere/x"):
        code, out, err = said("diff", "a.hlo", "a.hlo", "-o", place)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {place}: cannot be written: ")
        assert "hint: -o takes a file in a folder that exists" in err
    assert not list(Path().glob(".*.part"))


def test_a_folder_that_is_gone_and_a_time_that_is_no_number(said: Said, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    for arguments in (("check",), ("diff", "a.hlo", "b.hlo")):
        code, out, err = said(*arguments)
        assert (code, out) == (2, "") and err.startswith("error: the current folder no longer exists\nhint: cd")
    os.chdir(tmp_path)
    for seconds in ("nan", "inf"):
        assert "is not a number of seconds" in said("check", "--timeout", seconds)[2]
