"""Signals for `hlodiff record`: the command and all that it started end, and no folder is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hlodiff.capture import TemporaryFolder
from hlodiff.workflows.record_run import replacing

_SLEEPER = "import os, pathlib, time\npathlib.Path('up').write_text(str(os.getpid()))\ntime.sleep(600)\n"
_STUBBORN = "import signal\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
_DETACHED = "import os\nif os.fork(): os.wait()\nelse: os.setsid()\n"
_PATIENCE = 120.0


def _wait_for(there: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while not (there.is_file() and there.read_text()):
        assert time.monotonic() < until, there
        time.sleep(0.01)


def _is_alive(process: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def _start(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    (folder / "tmp").mkdir()
    env = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        [sys.executable, "-m", "hlodiff", "record", "-o", "recording", "--", *words],
        cwd=folder, env=env, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def _record(folder: Path, script: str, shell: bool = False) -> subprocess.Popen[bytes]:
    (folder / "script.py").write_text(script)
    words = [sys.executable, "script.py"]
    process = _start(folder, ["sh", "-c", f"{sys.executable} script.py; sleep 600"] if shell else words)
    _wait_for(folder / "up")
    return process


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "script", "shell"),
    [
        (signal.SIGTERM, _SLEEPER, False),
        (signal.SIGINT, _SLEEPER, False),
        (signal.SIGTERM, _SLEEPER, True),
        (signal.SIGTERM, _DETACHED + _SLEEPER, False),
    ],
)
def test_a_signal_ends_the_command_and_all_that_it_started(
    tmp_path: Path, number: signal.Signals, script: str, shell: bool
) -> None:
    process = _record(tmp_path, script, shell)
    process.send_signal(number)
    assert process.wait(_PATIENCE) == 128 + number
    assert not _is_alive(int((tmp_path / "up").read_text()))
    assert not list((tmp_path / "tmp").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"tmp", "up", "script.py", "recording"}


@pytest.mark.slow
def test_the_third_signal_kills_what_ignores_the_first_two(tmp_path: Path) -> None:
    process = _record(tmp_path, _STUBBORN + _SLEEPER)
    sent, until = 0, time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < until:
        process.terminate()  # a busy process may see two of them as one
        sent += 1
        time.sleep(0.2)
    assert (process.wait(_PATIENCE), sent >= 3) == (137, True)
    assert not _is_alive(int((tmp_path / "up").read_text()))


@pytest.mark.slow
def test_a_killed_run_takes_the_command_along_and_the_next_one_tidies(tmp_path: Path) -> None:
    process = _record(tmp_path, _SLEEPER)
    process.kill()
    process.wait()
    until = time.monotonic() + _PATIENCE
    while _is_alive(int((tmp_path / "up").read_text())):
        assert time.monotonic() < until
        time.sleep(0.01)
    (left,) = (tmp_path / "tmp").iterdir()
    os.utime(left, (0, 0))
    TemporaryFolder(tmp_path / "tmp").cleanup()
    assert not left.exists()


def _abandoned(place: Path) -> Path:
    folder = place / "hlodiff.run-old"
    (folder / "new").mkdir(parents=True)
    os.utime(folder, (0, 0))
    return folder


@pytest.mark.parametrize("in_git", [False, True])
def test_what_a_killed_recording_left_beside_it_is_deleted(tmp_path: Path, in_git: bool) -> None:
    if in_git:
        (tmp_path / ".git").mkdir()
    with replacing(tmp_path / "recording") as part:
        (part / "recording.json").write_text("{}")
        place = part.parent.parent
    assert place.is_relative_to(tmp_path / ".git") == in_git
    old = _abandoned(place)
    with replacing(tmp_path / "recording") as part:
        (part / "recording.json").write_text("{ }")
    assert not old.exists()
    assert [path.name for path in tmp_path.iterdir() if path.name != ".git"] == ["recording"]
    assert (tmp_path / "recording/recording.json").read_text() == "{ }"


def test_what_a_repository_knows_of_a_checkout_goes_with_it(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path / "repository"), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    (tmp_path / "repository").mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    held = TemporaryFolder(tmp_path)
    git("worktree", "add", "-q", "--detach", f"{held.name}/tree")
    held.cleanup()
    folder = _abandoned(tmp_path)
    git("worktree", "prune")
    git("worktree", "add", "-q", "--detach", f"{folder}/tree")
    os.utime(folder, (0, 0))
    TemporaryFolder(tmp_path).cleanup()
    assert not folder.exists()
    assert len(git("worktree", "list").splitlines()) == 1


def test_a_checkout_names_no_folder_that_does_not_name_it(tmp_path: Path) -> None:
    victim = tmp_path / "worktrees/victim"
    victim.mkdir(parents=True)
    (victim / "gitdir").write_text("/somewhere/else/.git\n")
    folder = _abandoned(tmp_path)
    (folder / "tree").mkdir()
    (folder / "tree/.git").write_text(f"gitdir: {victim}\n")
    os.utime(folder, (0, 0))
    TemporaryFolder(tmp_path).cleanup()
    assert victim.is_dir() and not folder.exists()
