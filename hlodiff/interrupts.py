"""SIGINT, SIGTERM and SIGHUP: one exception for all three, and cleaning up that none of them cuts short."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_STOP = 2.0  # seconds: signals in quick succession are one wish to stop, which is being met


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
    """The exit code of a command that a signal has ended, as shells count it: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)


class _Raise:
    """A handler that raises `Interrupted`, once for signals that come in quick succession."""

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
    """Take no more signals: everything is done, and the process only has to leave."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Inside the block SIGTERM, which CI sends to a job that takes too long, raises `Interrupted` where it would kill.

    For callers from Python; the command line has installed its handlers.
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
    """Signals that arrive inside the block are delivered after it: cleaning up is done whole."""
    if not _is_main_thread():  # Python runs handlers in the main thread alone
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
