"""Progress of a run: the command line draws a bar, a Python caller passes a callback."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Args:
        activity: the current activity: "starting JAX", "importing", "asking for", "tracing", "lowering", "compiling".
        item: the current item: `f on cpu`; "" for none.
        done: number of finished steps.
        total: number of steps; 0 if unknown yet.
        ended: whether this is the last report of the run, including interrupted runs.
    """

    activity: str
    item: str
    done: int
    total: int
    ended: bool = False


OnProgress = Callable[[Progress], None]


class ReportStep(Protocol):
    """Reports the current activity, and by how many steps the run has advanced."""

    def __call__(self, item: str, steps: int, activity: str = ...) -> None: ...


_LISTENER: ContextVar[OnProgress | None] = ContextVar("hlodiff_progress", default=None)


@contextlib.contextmanager
def reporting_to(listener: OnProgress | None) -> Iterator[None]:
    """Report progress of all runs inside the block to a callback.

    Args:
        listener: the callback; None keeps the present one, if any.
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
    """Report progress of a run to the callback of `reporting_to`.

    Args:
        total: number of steps; None if unknown. A run with 0 steps is not reported.
        activity: the activity if a step gives none: "comparing".

    Returns:
        a function that takes the current item, by how many steps the run has advanced, and the activity.

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
