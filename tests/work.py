"""Work that is counted and not timed: the same on each machine, however fast or busy it is."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# The largest of the inputs takes 2.7 million calls of functions; what grows with the square of an input takes billions.
CALLS = 10_000_000
# For what does not end inside one call, in seconds of the processor: only what takes exponential time gets there. The
# largest of the inputs takes 2 seconds.
SECONDS = 120


class _TooMuchWork(BaseException):
    """No `except Exception` of the code under test takes it for an invalid input."""


@contextmanager
def ending_at(seconds: float) -> Iterator[None]:
    """End the block after that much time of the processor, which does not pass while other processes run."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooMuchWork(f"more than {seconds} s of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _TooMuchWork as error:
        raise AssertionError(str(error)) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def bounded_work(most: int = CALLS) -> Iterator[None]:
    """The block calls at most so many functions, builtin ones included, and ends."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls > most:
            raise _TooMuchWork(f"more than {most:,} calls of functions")

    with ending_at(SECONDS):
        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(None)
    assert calls <= most


def calls_of(block: Callable[[], object]) -> int:
    """How many functions a block calls: beside that of an input half as large, it says how the work grows."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        block()
    finally:
        sys.setprofile(None)
    return calls
