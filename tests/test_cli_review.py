"""`hlodiff review` in a pseudo-terminal: what is shown, and what each key does."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from hlodiff.cli import review_command
from tests.test_cli_accept import BOTH, changed, contents, pending  # noqa: F401  # the fixture
from tests.test_cli_check import Ask, Compiler, compiler  # noqa: F401  # the fixture

pytestmark = pytest.mark.slow  # each test starts processes

ROOT = Path(__file__).resolve().parent.parent


END = b"any other key ends "


def review(keys: str, *arguments: str) -> tuple[int, str]:
    """The real command in a terminal of its own: each key is pressed when the command asks, and Enter after them."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "100"}
    command = [sys.executable, "-m", "hlodiff", "review", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True)
    os.close(theirs)
    said, answered, end = b"", 0, time.monotonic() + 240
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.02)[0]:
            try:
                said += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        # What is typed before the terminal is set to single keys is dropped; afterwards one key is one answer.
        elif not termios.tcgetattr(ours)[3] & termios.ICANON and said.count(b"q quit ") + said.count(END) > answered:
            os.write(ours, keys[answered : answered + 1].encode() or b"\r")
            answered += 1
    os.close(ours)
    return process.wait(timeout=60), said.decode().replace("\r\n", "\n")


def test_each_key(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check")
    code, out = review("mxasr")
    assert code == 0, out
    assert "[1/3] f  ▲ worse on 2 targets: temp +200 %; tanh -> exponential\n  changed on cpu (" in out
    assert "compiled on cpu, tpu-v5e-2x2: structure: 1 changed of 2 instructions" in out
    assert "f (structure): a accept   r reject   s skip   t each target   m more   o page   ? help   q quit" in out
    assert out.count("tanh -> exponential") == 4, "the verdict and the change, once more with m"
    assert out.count("\nstructure: other operations, results may differ\n") == 2, "once, and once more with m"
    assert "g/small (structure): a" in out and "h (new): a" in out
    assert "checked " not in out
    assert out.rstrip().endswith("2 accepted, 1 rejected, 1 still pending; next: git add snapshots")
    assert pending() == ["g/small/cpu"]
    assert said("check", "f")[0] == 0


def test_each_target_and_all_that_is_left(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check")
    code, out = review("?traS")
    assert code == 0, out
    assert "A  accept this and everything that is left" in out
    assert "[1/3] f  ▲ worse on cpu: temp +200 %" in out and "[1/3] f  ▲ worse on tpu-v5e-2x2: temp +200 %" in out
    assert out.rstrip().endswith("1 accepted, 1 rejected, 2 still pending; next: git add snapshots")
    assert pending() == ["g/small/cpu", "h/cpu"]


def test_undo(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check")
    before = contents(Path())
    code, out = review("uxtauAuq")
    assert code == 0, out
    assert "nothing is decided yet\n" in out and "unknown key: x; ? explains the keys\n" in out
    assert "undone: f on cpu\n\n[1/3] f  ▲ worse on cpu: temp +200 %" in out, "back to the question"
    assert "undone: f on cpu, f on tpu-v5e-2x2, g/small on cpu and 1 more\n\n[1/3] f" in out, "A is one decision"
    assert out.rstrip().endswith("4 still pending; next: hlodiff review")
    assert contents(Path()) == before, "snapshots and captures, byte for byte"
    code, out = review("rausA")
    assert out.count("all decided: u undo the last decision") == 1, out
    assert out.rstrip().endswith("1 accepted, 2 rejected, 1 still pending; next: git add snapshots")
    assert pending() == ["g/small/cpu"]


def test_the_keys_fit_in_a_window_of_80_columns() -> None:
    keys = review_command._KEYS
    prompt = review_command._prompt("train_step (structure, cost)", keys, 80)
    assert max(map(len, prompt.splitlines())) <= 80 and prompt.endswith("q quit ")
    wide = review_command._prompt("train_step (structure, cost)", keys, 160)
    assert wide == f"train_step (structure, cost): {keys} "
    assert "u undo" in prompt and "t targets" in prompt


@pytest.mark.parametrize(("colored", "asked"), [(True, None), (False, False)])
def test_a_pager_is_told_to_show_colours(
    colored: bool, asked: bool | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `color=True` click tells `less` nothing, which then prints `ESC[1;31m`."""
    found: list[bool | None] = []
    monkeypatch.setattr(review_command, "color", lambda: colored)
    monkeypatch.setattr("click.echo_via_pager", lambda text, color: found.append(color))
    review_command._page("short\n")
    assert capsys.readouterr().out == "short\n" and not found
    review_command._page("line\n" * 500)
    assert found == [asked]


def test_leaving_keeps_what_was_decided(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check")
    code, out = review("aq", "--target", "cpu")
    assert code == 0, out
    assert pending() == ["f/tpu-v5e-2x2", "g/small/cpu", "h/cpu"]
    code, out = review("\x03")
    assert (code, pending()) == (130, ["f/tpu-v5e-2x2", "g/small/cpu", "h/cpu"]), out


def test_what_is_the_same_is_asked_once(compiler: Compiler, said: Ask) -> None:  # noqa: F811
    said("update")
    compiler.toolchain = {"jax": "0.11.0", "x64": False}
    said("check")
    code, out = review("a")
    assert code == 0, out
    assert (
        "4 programs are the same programs, with another toolchain, other figures or paths: f, g/large, g/small" in out
    )
    assert pending() == []


def test_another_machines_folder_is_left_alone(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check", "--pending", "captured")
    before = sorted(Path("captured").rglob("*"))
    code, out = review("ras", "--from", "captured")
    assert code == 0, out
    assert "1 accepted, 2 rejected; next: git add snapshots" in out
    assert sorted(Path("captured").rglob("*")) == before


def test_what_is_stale_is_not_asked(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check", "--pending", "captured")
    changed.answers["g", "small", "cpu"] = BOTH
    said("update", "f", "g")
    code, out = review("s", "--from", "captured")
    assert code == 2, out
    assert "[1/3]" not in out and "[2/3]" not in out and "[3/3] h  new: no snapshot on cpu" in out
    assert "f  cpu          recorded already" in out
    assert "g/small  cpu    refused\n  its snapshot has changed since this was captured" in out


def test_what_changed_is_shown_whatever_its_note_says(changed: Compiler, said: Ask) -> None:  # noqa: F811
    said("check", "--pending", "captured")
    for note in Path("captured").rglob("pending.json"):
        note.write_text(note.read_text().replace('"changed"', '"facts"').replace('"new"', '"facts"'))
    code, out = review("sss", "--from", "captured")
    assert (
        code == 0
        and "[1/3] f  ▲ worse on 2 targets: temp +200 %; tanh -> exponential\n  changed on cpu (" in out
        and "another toolchain, other figures or paths" not in out
    ), out
    assert "f  cpu          accepted (changed)" in said("accept", "--from", "captured")[1]


@pytest.mark.parametrize("words", [(), ("f",)])
def test_without_a_terminal(changed: Compiler, said: Ask, words: tuple[str, ...]) -> None:  # noqa: F811
    said("check")
    code, out, err = said("review", *words)
    assert (code, out) == (2, "")
    assert "this is not a terminal" in err and "hlodiff accept NAME" in err


def test_the_page_is_gone_when_the_review_ends(
    changed: Compiler,  # noqa: F811
    said: Ask,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "xdg-open").write_text('#!/bin/sh\ntest -s "$1" && echo yes > "$SEEN"\n')
    (tmp_path / "xdg-open").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    said("check")
    code, out = review("oq")
    found = re.search(r"page, until the review ends: (\S+\.html)", out)
    assert code == 0 and found is not None, out
    assert not Path(found[1]).exists() and not Path(found[1]).parent.exists()
