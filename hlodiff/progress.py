"""How far a run is, for whoever wants to show it: the command line draws a bar, a Python caller passes a callback."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Args:
        activity: one word for the run: "compiling".
        item: what is being done now: `f on cpu`; "" at the beginning and the end.
        done: how many steps are done.
        total: how many steps there will be.
        ended: whether this is the last report of the run, also of one that was interrupted.
    """

    activity: str
    item: str
    done: int
    total: int
    ended: bool = False


OnProgress = Callable[[Progress], None]
Step = Callable[[str, int], None]

_LISTENER: ContextVar[OnProgress | None] = ContextVar("hlodiff_progress", default=None)


@contextlib.contextmanager
def reporting_to(listener: OnProgress | None) -> Iterator[None]:
    """Report all runs inside the block to a callback.

    Args:
        listener: the callback; None keeps the one that listens already, if any.
    """
    if listener is None:
        yield
        return
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextlib.contextmanager
def progress(total: int, activity: str) -> Iterator[Step]:
    """Report how far a run is to the callback of `reporting_to`.

    Args:
        total: how many steps there will be; a run without steps is not reported.
        activity: one word for the run: "compiling".

    Returns:
        a function that takes what is being done now and by how many steps the run has advanced.

    Example:
        >>> with reporting_to(lambda one: print(one.activity, one.item, one.done)), progress(2, "comparing") as step:
        ...     step("f on cpu", 1)
        comparing  0
        comparing f on cpu 1
        comparing  1
    """
    listener = _LISTENER.get()
    if listener is None or total < 1:
        yield lambda item, steps: None
        return
    done = 0

    def step(item: str, steps: int) -> None:
        nonlocal done
        done += steps
        listener(Progress(activity, item, done, total))

    listener(Progress(activity, "", 0, total))
    try:
        yield step
    finally:
        listener(Progress(activity, "", done, total, ended=True))
