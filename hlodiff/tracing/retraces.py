"""What was traced or compiled again; retraces that differ only in a number are one: forty lengths, twenty values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hlodiff.tracing.causes import ADVICE, Cause

_FEWEST = 4  # distinct causes of one kind; fewer are reported one by one
_LISTED = 6  # values that are listed one by one
_KINDS = ("shape", "value", "field", "length")


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


def merge_series(again: Sequence[Retrace]) -> list[Retrace]:
    """Retraces of which only the lengths or values differ, as one with the range of these.

    Args:
        again: retraces, one for each distinct set of causes.

    Returns:
        the same retraces in the same order, those of a series as one at the place of its first.

    Example:
        >>> retraces = [
        ...     Retrace("trace", (n,), "a.py:9", (Cause("shape", "x", "", "", f"f32[{n}]", f"f32[{n - 1}]"),))
        ...     for n in range(2, 7)
        ... ]
        >>> [cause.what for one in merge_series(retraces) for cause in one.causes]
        ['`x`: axis 0 took 6 lengths, 1 to 6']
    """
    families: dict[tuple[object, ...], list[Retrace]] = {}
    for one in again:
        families.setdefault(_family(one), []).append(one)
    return [merged for family in families.values() for merged in _merged(family)]


def _family(one: Retrace) -> tuple[object, ...]:
    if not one.causes or any(cause.kind not in _KINDS or not cause.old for cause in one.causes):
        return one.key
    return one.what, one.waste, tuple((cause.kind, cause.path) for cause in one.causes)


def _merged(family: list[Retrace]) -> list[Retrace]:
    if len(family) < _FEWEST:
        return family
    texts: dict[tuple[str, str], list[str]] = {}
    for position, first in enumerate(family[0].causes):
        pairs = [(one.causes[position].old, one.causes[position].new) for one in family]
        seen = list(dict.fromkeys(text for pair in pairs for text in pair))
        texts.setdefault((first.kind, _series(first.kind, seen)), []).append(first.path)
    causes = tuple(
        Cause(kind, paths[0], _sentence(kind, paths, text), ADVICE["bucket" if kind == "shape" else kind])
        for (kind, text), paths in texts.items()
    )
    numbers = tuple(sorted(number for one in family for number in one.numbers))
    return [replace(family[0], numbers=numbers, causes=causes)]


def _sentence(kind: str, paths: list[str], text: str) -> str:
    shown = ", ".join(f"`{path}`" for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    if kind == "shape":
        return f"{shown}: {text}"
    return {"value": "static ", "field": "static field "}.get(kind, "") + f"{shown} {text}"


def _series(kind: str, seen: list[str]) -> str:
    if kind == "shape":
        return _axes(seen)
    if kind == "length":
        return f"took {_lengths([int(text) for text in seen])}"
    listed = ", ".join(seen) if len(seen) <= _LISTED else f"{', '.join(seen[: _LISTED - 2])} ... {seen[-1]}"
    return f"took {len(seen)} values: {listed}"


def _axes(seen: list[str]) -> str:
    """Which axes of an array took how many lengths."""
    shapes = [tuple(re.findall(r"\d+", text.partition("[")[2])) for text in seen]
    if len({len(shape) for shape in shapes}) > 1:
        return f"took {len(seen)} shapes, such as {seen[0]} and {seen[-1]}"
    axes = [sorted({int(length) for length in axis}) for axis in zip(*shapes, strict=True)]
    return "; ".join(f"axis {axis} took {_lengths(found)}" for axis, found in enumerate(axes) if len(found) > 1)


def _lengths(lengths: list[int]) -> str:
    found = sorted(set(lengths))
    if len(found) == found[-1] - found[0] + 1:
        return f"{len(found)} lengths, {found[0]} to {found[-1]}"
    if len(found) <= _LISTED:
        return f"{len(found)} lengths: {', '.join(map(str, found))}"
    return f"{len(found)} lengths between {found[0]} and {found[-1]}"
