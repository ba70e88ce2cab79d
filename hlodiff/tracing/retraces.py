"""One entry of what was traced or compiled again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlodiff.tracing.causes import Cause


@dataclass(frozen=True, slots=True)
class Retrace:
    """Traces after a function's first, or further compiles of an existing trace, all for the same causes.

    Args:
        what: "trace" or "compile".
        numbers: which of the function's traces or compiles these are, counted from 1.
        called: `file:line` of the first of the calls.
        causes: why JAX did it again.
        same_as: the number, from 1, of the earlier program of this function that the new one is equal to: the work
            was wasted. 0 where the program is new or there is none.

    Example:
        >>> Retrace("trace", (2,), "a.py:9", (), 1).waste
        True
    """

    what: Literal["trace", "compile"]
    numbers: tuple[int, ...]
    called: str
    causes: tuple[Cause, ...]
    same_as: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the same causes, wherever the call is and whatever a new function object closes over."""
        causes = tuple((cause.kind, cause.path, cause.what.partition(" that closes over ")[0]) for cause in self.causes)
        return self.what, self.waste, causes

    @property
    def waste(self) -> bool:
        """Whether it yields a program equal to one already compiled."""
        return self.same_as > 0
