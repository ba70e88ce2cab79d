"""Progress on stderr: a bar if stderr is a terminal, else a line every ten seconds."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hlodiff.progress import Progress, reporting_to

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_SECONDS = 10.0
_LONG = 60.0  # seconds after which the bar also shows the elapsed time of the item
_MOST = 3  # items named at once; a run has one per worker


@contextlib.contextmanager
def progress_bar() -> Iterator[None]:
    """Show the progress of each run inside the block, and remove the bar afterwards.

    HLODIFF_PROGRESS is the number of seconds between lines if stderr is not a terminal; 0 prints none.
    """
    try:
        interval = max(0.0, float(os.environ.get("HLODIFF_PROGRESS") or _SECONDS))
    except ValueError:
        interval = _SECONDS
    drawing = _Drawing(interval)
    try:
        with reporting_to(drawing.show):
            yield
    finally:
        drawing.close()


class _Drawing:
    """Draws from two threads: the working one and a timer."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._clock: threading.Thread | None = None
        self._bar: Bar | None = None
        self._last: Progress | None = None
        self._items: dict[str, tuple[str, float]] = {}  # item: its activity, and when the item began

    def show(self, progress: Progress) -> None:
        """Take a report of how far the run is."""
        with self._lock:
            before, self._last = self._last, progress
            if progress.item and not progress.ended:
                since = self._items.pop(progress.item, ("", time.monotonic()))[1]
                if progress.done <= (before.done if before else 0):  # this step has not finished the item
                    self._items[progress.item] = progress.activity, since
            if progress.ended:
                self._items.clear()
                self._stop()
            elif sys.stderr.isatty():
                self._draw(progress)
            if self._clock is None and not progress.ended:
                self._clock = threading.Thread(target=self._tick, daemon=True, name="hlodiff progress")
                self._clock.start()

    def close(self) -> None:
        """Stop drawing."""
        self._closed.set()
        with self._lock:
            self._stop()

    def _tick(self) -> None:
        while not self._closed.wait(self._interval or _SECONDS):
            with self._lock:
                if self._last is None or self._last.ended:
                    continue
                if sys.stderr.isatty():
                    self._draw(self._last)
                elif self._interval:
                    from hlodiff.cli.output import tell

                    tell(f"{time.monotonic() - self._begun:.0f} s: {self._line(self._last)}")

    def _line(self, progress: Progress) -> str:
        """Current activities with the elapsed time of each item: `compiling f on cpu (14 s); 3 of 12 done`."""
        now = time.monotonic()
        named = [f"{activity} {item} ({now - since:.0f} s)" for item, (activity, since) in self._items.items()]
        named = named or [f"{progress.activity} {progress.item}".rstrip()]
        more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
        counted = f"; {progress.done} of {progress.total} done" if progress.total else ""
        return ", ".join(named[:_MOST]) + more + counted

    def _longest(self, progress: Progress) -> str:
        """The activity of the oldest item, and how many others there are.

        Not the latest report: that worker may only be starting while others work.
        """
        if not self._items:
            return f"{progress.activity} {progress.item}".rstrip()
        item, (activity, since) = min(self._items.items(), key=lambda one: one[1][1])
        words = f"{activity} {item}"
        if (seconds := time.monotonic() - since) >= _LONG:
            words += f" (for {seconds:.0f} s)"
        return words + (f" and {len(self._items) - 1} more" if len(self._items) > 1 else "")

    def _draw(self, progress: Progress) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        from hlodiff.report.lines import printable

        if self._bar is None:
            words = TextColumn("{task.description}")
            columns = words, BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn()
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(progress.activity, total=progress.total or None)
            self._bar.start()
        self._bar.update(
            self._bar.task_ids[0],
            completed=progress.done,
            total=progress.total or None,
            description=escape(printable(self._longest(progress))),
        )

    def _stop(self) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError):  # the terminal was closed
                self._bar.stop()
        self._bar = None
