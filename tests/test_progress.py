"""What a run says of itself: what is being done with which program, for how long, and where the time went."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from functools import partial

import pytest

from hlodiff.cli import run
from hlodiff.progress import progress
from hlodiff.report import Report, to_terminal
from hlodiff.workflows.check import Stopwatch


class Terminal(io.StringIO):
    """Where the bar is drawn."""

    def isatty(self) -> bool:
        return True


def during_a_command(monkeypatch: pytest.MonkeyPatch, work: Callable[[], None]) -> None:
    """Run a command that does this and nothing else."""

    def worked(*_: object, **__: object) -> Report:
        work()
        return Report("diff", "a", "b", ())

    monkeypatch.setattr("hlodiff.workflows.diff.diff_sides", worked)
    monkeypatch.setattr("hlodiff.cli.diff_command.diff_sides", worked)
    assert run(["diff", "a", "b"]) == 0


def until(said: Callable[[], bool]) -> None:
    """Another thread draws."""
    end = time.perf_counter() + 120
    while not said():
        assert time.perf_counter() < end
        time.sleep(0.01)


def test_a_line_names_what_is_being_done_and_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now, printed = [100.0], io.StringIO()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr("sys.stderr", printed)
    monkeypatch.setenv("HLODIFF_PROGRESS", "0.01")

    def says(words: str) -> None:
        until(lambda: printed.getvalue().endswith(f" s: {words}\n"))

    def work() -> None:
        with progress(None, "starting JAX") as step:
            says("starting JAX")
            now[0] += 2
            step("", 0, "importing programs.py")
            says("importing programs.py")
            step("f", 0, "asking for the cases of")
            says("asking for the cases of f (0 s)")
        with progress(6, "capturing") as step:
            says("capturing; 0 of 6 done")
            step("f on cpu", 0, "lowering")
            says("lowering f on cpu (0 s); 0 of 6 done")
            now[0] += 70
            step("f on cpu", 0, "compiling")
            says("compiling f on cpu (70 s); 0 of 6 done")
            now[0] += 1
            step("g on cpu", 0, "tracing")
            says("compiling f on cpu (71 s), tracing g on cpu (0 s); 0 of 6 done")
            now[0] += 1
            step("f on cpu", 1, "comparing")
            says("tracing g on cpu (1 s); 1 of 6 done")
            for name in "hijk":
                step(f"{name} on cpu", 0, "tracing")
            words = "tracing g on cpu (1 s), tracing h on cpu (0 s), tracing i on cpu (0 s) and 2 more; 1 of 6 done"
            says(words)
            now[0] += 60
            step("", 0, "importing programs.py")  # a worker that starts is not what all do
            says(words.replace("(1 s)", "(61 s)").replace("(0 s)", "(60 s)"))

    during_a_command(monkeypatch, work)


def test_the_bar_names_what_takes_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    now, terminal = [100.0], Terminal()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "150")

    def work() -> None:
        with progress(6, "capturing") as step:
            for name in "ghijk":
                step(f"{name} on cpu", 0, "tracing")
                now[0] += name == "g"
            until(lambda: "tracing g on cpu and 4 more" in terminal.getvalue())
            now[0] += 60
            step("", 0, "importing programs.py")
            until(lambda: "tracing g on cpu (for 61 s) and 4 more" in terminal.getvalue())
            step("g on cpu", 1, "comparing")
            until(lambda: "tracing h on cpu (for 60 s) and 3 more" in terminal.getvalue())

    during_a_command(monkeypatch, work)


def test_lines_come_without_a_terminal_and_can_be_turned_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = ""

    def wait(end: float) -> None:
        nonlocal printed
        with progress(2, "comparing") as step:
            step("f on cpu", 0)
            while not printed and time.monotonic() < end:
                time.sleep(0.01)
                out, err = capsys.readouterr()
                assert out == ""
                printed += err

    for value, lines in (("0.01", True), ("0", False), ("3600", False)):
        monkeypatch.setenv("HLODIFF_PROGRESS", value)
        printed = ""
        end = time.monotonic() + (120 if lines else 0.05)
        during_a_command(monkeypatch, partial(wait, end))
        printed += capsys.readouterr().err
        assert bool(printed) == lines
        said = re.compile(r"\d+ s: comparing( f on cpu \(\d+ s\))?; 0 of 2 done")  # at once, or once f is named
        assert all(map(said.search, printed.splitlines())), "and no bar"


def test_where_the_time_of_a_run_went(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("hlodiff.workflows.check.time.perf_counter", lambda: now[0])
    clock = Stopwatch()
    with clock("capturing"):
        now[0] += 3
        for _ in range(2):
            with clock("comparing"):
                now[0] += 0.5
        now[0] += 1
    now[0] += 100  # nobody counts that
    with clock("scenarios"):
        now[0] += 5
    assert clock.parts() == (("capturing", 4.0), ("comparing", 1.0), ("scenarios", 5.0))
    text = to_terminal(Report("check", "snapshots", "here", (), run_parts=clock.parts()), width=100)
    assert [" ".join(line.split()[:-1]) for line in text.splitlines()[:4]] == [
        "time of this run 10.0",
        "capturing 4.00 s",
        "comparing 1.00 s",
        "scenarios 5.00 s",
    ]
