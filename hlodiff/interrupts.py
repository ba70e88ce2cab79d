"""SIGINT, SIGTERM and SIGHUP: one exception for all three, and cleanup that none of them interrupts."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_STOP = 2.0  # seconds: signals in quick succession count as one request to stop


class Interrupted(KeyboardInterrupt):
    """A signal asks this process to stop.

    Args:
        number: which one.

    Example:
        >>> exit_code(Interrupted(signal.SIGTERM))
        143
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: BaseException | None) -> int:
    """The exit code of a command ended by a signal, as shells report it: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)


class _Raise:
    """A signal handler that raises `Interrupted`, once for signals in quick succession."""

    def __init__(self) -> None:
        self._last = -_ONE_STOP

    def __call__(self, number: int, frame: FrameType | None) -> None:
        before, self._last = self._last, time.monotonic()
        if self._last - before >= _ONE_STOP:
            raise Interrupted(number)


def install() -> None:
    """Raise `Interrupted` in the main thread for each of the signals that is not ignored."""
    handler = _Raise()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def ignore() -> None:
    """Ignore further signals: all work is done, and the process only has to exit."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raise `Interrupted` on SIGTERM inside the block, instead of dying. CI sends SIGTERM to jobs that take too long.

    For callers from Python; the command line installs its own handlers.
    """
    if not _is_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _Raise())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Deliver signals that arrive inside the block after it, so that cleanup completes."""
    if not _is_main_thread():  # Python runs signal handlers only in the main thread
        yield
        return
    arrived: dict[int, None] = {}
    before: dict[int, Any] = {}
    for number in SIGNALS:
        handler = signal.getsignal(number)
        if handler is not None and handler is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda it, frame: arrived.setdefault(it))
    try:
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler)
        for found in arrived:
            signal.raise_signal(found)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
