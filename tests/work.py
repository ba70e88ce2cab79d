"""Work that is counted and not timed: the same on each machine, however fast or busy it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile

# The largest of the inputs takes 2.7 million calls of functions; what grows with the square of an input takes billions.
CALLS = 10_000_000


@contextmanager
def bounded_work(most: int = CALLS) -> Iterator[None]:
    """The block calls at most so many functions, builtin ones included."""
    profile = Profile()
    try:
        with profile:
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
