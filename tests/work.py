"""Work that is counted and not timed: the same on each machine, however fast or busy it is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
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
    """The block ends and calls at most so many functions, builtin ones included."""
    profile = Profile()
    try:
        with ending_at(SECONDS), profile:
            yield
    finally:
        assert _calls(profile) <= most, f"more than {most:,} calls of functions"


def calls_of(block: Callable[[], object]) -> int:
    """How many functions a block calls: beside that of an input half as large, it says how the work grows."""
    with Profile() as profile:
        block()
    return _calls(profile)


def _calls(profile: Profile) -> int:
    return sum(entry.callcount for entry in profile.getstats())
