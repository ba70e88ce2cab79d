"""Where the time of a run goes: seconds added up by what was done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stopwatch:
    """Seconds by activity. Inside of another activity's block, time counts for the inner one alone.

    Example:
        >>> watch = Stopwatch()
        >>> with watch("capturing"), watch("comparing"):
        ...     pass
        >>> [what for what, _ in watch.parts()]
        ['capturing', 'comparing']
    """

    seconds: dict[str, float] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Count the time inside the block for an activity."""
        self._turn()
        self.seconds.setdefault(what, 0.0)
        self._open.append(what)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def parts(self) -> tuple[tuple[str, float], ...]:
        """Each activity and its seconds, in the order in which they began."""
        return tuple(self.seconds.items())
