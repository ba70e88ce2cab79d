"""A progress bar on stderr, where stderr is a terminal; nothing at all elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Step = Callable[[str, int], None]


@contextlib.contextmanager
def progress(total: int, what: str) -> Iterator[Step]:
    """Show how far a run is.

    Args:
        total: how many steps there will be.
        what: one word for the run: "compiling".

    Returns:
        a function that takes what is being done now and by how many steps the run has advanced.

    Example:
        >>> with progress(2, "comparing") as step:
        ...     step("f on cpu", 1)
    """
    if not sys.stderr.isatty() or total < 1:
        yield lambda doing, steps: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from hlodiff.report.escape import printable

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task(what, total=total)

        def step(doing: str, steps: int) -> None:
            bar.update(task, advance=steps, description=escape(printable(f"{what} {doing}")))

        yield step
