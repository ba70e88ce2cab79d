"""How far a run is, for whoever wants to show it: the command line draws a bar, a Python caller passes a callback."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Args:
        activity: what is being done now: "starting JAX", "importing", "asking for", "tracing", "lowering", "compiling".
        item: what it is done with: `f on cpu`; "" where there is nothing to name.
        done: how many steps are done.
        total: how many steps there will be; 0 where that is not known yet.
        ended: whether this is the last report of the run, also of one that was interrupted.
    """

    activity: str
    item: str
    done: int
    total: int
    ended: bool = False


OnProgress = Callable[[Progress], None]


class ReportStep(Protocol):
    """Reports what is being done now, and by how many steps the run has advanced."""

    def __call__(self, item: str, steps: int, activity: str = ...) -> None: ...


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
def progress(total: int | None, activity: str) -> Iterator[ReportStep]:
    """Report how far a run is to the callback of `reporting_to`.

    Args:
        total: how many steps there will be, None where that is not known; a run without steps is not reported.
        activity: what it does, where a step says nothing more exact: "comparing".

    Returns:
        a function that takes what is being done now, by how many steps the run has advanced, and what is done with it.

    Example:
        >>> with reporting_to(lambda one: print(one.activity, one.item, one.done)), progress(2, "comparing") as step:
        ...     step("f on cpu", 1)
        comparing  0
        comparing f on cpu 1
        comparing  1
    """
    listener = _LISTENER.get()
    if listener is None or total == 0:
        yield lambda item, steps, activity="": None
        return
    done, all_ = 0, total or 0

    def step(item: str, steps: int, activity: str = activity) -> None:
        nonlocal done
        done += steps
        listener(Progress(activity, item, done, all_))

    listener(Progress(activity, "", 0, all_))
    try:
        yield step
    finally:
        listener(Progress(activity, "", done, all_, ended=True))
