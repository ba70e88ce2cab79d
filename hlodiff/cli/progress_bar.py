"""A progress bar on stderr, where stderr is a terminal; nothing at all elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hlodiff.progress import Progress, reporting_to

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


@contextlib.contextmanager
def progress_bar() -> Iterator[None]:
    """Draw a bar for each run inside the block, and leave none behind."""
    drawing = _Drawing()
    try:
        with reporting_to(drawing.show):
            yield
    finally:
        drawing.stop()


class _Drawing:
    def __init__(self) -> None:
        self._bar: Bar | None = None

    def show(self, progress: Progress) -> None:
        if progress.ended:
            self.stop()
            return
        if not sys.stderr.isatty():
            return
        from rich.markup import escape

        from hlodiff.report.lines import printable

        if self._bar is None:
            self._bar = _start(progress)
        words = f"{progress.activity} {progress.item}".rstrip()
        self._bar.update(self._bar.task_ids[0], completed=progress.done, description=escape(printable(words)))

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


def _start(progress: Progress) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(progress.activity, total=progress.total)
    bar.start()
    return bar
