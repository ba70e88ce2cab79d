"""What a run says of itself: what is being done with which program, for how long, and where the time went."""

from __future__ import annotations

import re
import time

import pytest

from hlodiff.cli.progress_bar import _Drawing, progress_bar
from hlodiff.progress import Progress, progress
from hlodiff.report import Report, to_terminal
from hlodiff.workflows.check import Stopwatch


def test_a_line_names_what_is_being_done_and_for_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("hlodiff.cli.progress_bar.time.monotonic", lambda: now[0])
    drawing = _Drawing(0)

    def after(seconds: float, one: Progress) -> str:
        now[0] += seconds
        drawing.show(one)
        return drawing._line(one)

    assert after(0, Progress("starting JAX", "", 0, 0)) == "starting JAX"
    assert after(2, Progress("importing programs.py", "", 0, 0)) == "importing programs.py"
    assert after(0, Progress("asking for the cases of", "f", 0, 0)) == "asking for the cases of f (0 s)"
    assert after(1, Progress("starting JAX", "", 0, 0, ended=True)) == "starting JAX"
    assert after(0, Progress("capturing", "", 0, 6)) == "capturing; 0 of 6 done"
    assert after(0, Progress("lowering", "f on cpu", 0, 6)) == "lowering f on cpu (0 s); 0 of 6 done"
    words = "compiling f on cpu (70 s); 0 of 6 done"
    assert after(70, Progress("compiling", "f on cpu", 0, 6)) == words
    words = "compiling f on cpu (71 s), tracing g on cpu (0 s); 0 of 6 done"
    assert after(1, Progress("tracing", "g on cpu", 0, 6)) == words
    assert after(1, Progress("comparing", "f on cpu", 1, 6)) == "tracing g on cpu (1 s); 1 of 6 done"
    for name in "hijk":
        found = after(0, Progress("tracing", f"{name} on cpu", 1, 6))
    words = "tracing g on cpu (1 s), tracing h on cpu (0 s), tracing i on cpu (0 s) and 2 more; 1 of 6 done"
    assert found == words
    now[0] += 60
    starting = Progress("importing programs.py", "", 1, 6)
    assert after(0, starting).startswith("tracing g on cpu (61 s), "), "a worker that starts is not what all do"
    assert drawing._longest(starting) == "tracing g on cpu (for 61 s) and 4 more"
    assert drawing._longest(Progress("comparing", "g on cpu", 2, 6)) == "tracing g on cpu (for 61 s) and 4 more"
    after(0, Progress("comparing", "g on cpu", 2, 6))
    assert drawing._longest(starting) == "tracing h on cpu (for 60 s) and 3 more"
    drawing.close()


def test_lines_come_without_a_terminal_and_can_be_turned_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed: list[str] = []
    monkeypatch.setattr("hlodiff.cli.output.tell", printed.append)
    for value, lines in (("0.01", True), ("0", False), ("3600", False)):
        monkeypatch.setenv("HLODIFF_PROGRESS", value)
        printed.clear()
        with progress_bar(), progress(2, "comparing") as step:
            step("f on cpu", 0)
            end = time.monotonic() + (120 if lines else 0.05)
            while not printed and time.monotonic() < end:
                time.sleep(0.01)
        assert bool(printed) == lines
        assert all(re.search(r"comparing f on cpu \(\d+ s\); 0 of 2 done", line) for line in printed)
    assert capsys.readouterr() == ("", ""), "and no bar"


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
