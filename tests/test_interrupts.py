"""Signals: one exception, cleaning up that they do not cut short, and programs that end with the one that ran them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlodiff.capture import run_child
from hlodiff.interrupts import SIGNALS, Interrupted, deferred, exit_code, install, terminable


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of this process, put back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_each_signal_has_its_exit_code() -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        signal.signal(number, signal.SIG_DFL)  # the tests may run under nohup or in the background
        install()
        with pytest.raises(KeyboardInterrupt) as raised:
            signal.raise_signal(number)
        assert (type(raised.value), exit_code(raised.value)) == (Interrupted, code)
    assert exit_code(KeyboardInterrupt()) == 130
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    install()
    signal.raise_signal(signal.SIGHUP)


def test_signals_in_quick_succession_are_one_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("hlodiff.interrupts.time.monotonic", lambda: now[0])
    install()
    raised = []
    for after in (0.0, 0.5, 1.0, 10.0):
        now[0] += after
        try:
            signal.raise_signal(signal.SIGINT)
        except Interrupted:
            raised.append(now[0])
    assert raised == [0.0, 11.5]


def test_cleaning_up_is_done_whole() -> None:
    install()
    done = []
    with pytest.raises(Interrupted) as raised, deferred():
        signal.raise_signal(signal.SIGTERM)
        with deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert (done, exit_code(raised.value)) == (["inner", "outer"], 143)
    thread = threading.Thread(target=deferred().__enter__)  # handlers run in the main thread alone
    thread.start()
    thread.join()


def test_sigterm_is_an_exception_for_callers_from_python_too() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with pytest.raises(Interrupted), terminable():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with terminable():
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler, "a handler of the caller's own stays"


def is_alive(status: Path) -> bool:
    try:
        return "State:\tZ" not in status.read_text()
    except OSError:
        return False


def test_a_program_ends_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = f"sleep 600 & echo $! > {started}.part; mv {started}.part {started}; sleep 600"
    install()

    def interrupt() -> None:
        end = time.monotonic() + 60
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=interrupt).start()
    with pytest.raises(Interrupted):
        run_child(["sh", "-c", script])
    other, end = Path("/proc", started.read_text().strip(), "status"), time.monotonic() + 60
    while is_alive(other) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_alive(other)
    with pytest.raises(subprocess.TimeoutExpired):
        run_child(["sleep", "600"], timeout=0.05)
    done = run_child([sys.executable, "-c", "print(input()); raise SystemExit(3)"], given=b"here\n")
    assert (done.returncode, done.stdout) == (3, b"here\n")
