"""How a number grows with a size: its class, from exact counts at a few sizes.

Counts of operations are deterministic, so an exact fit at three sizes or more is no accident. What does not fit exactly
may be off by a few operations (one more where a size is odd) or, for bytes of text, by the digits of a size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

Class = Literal["constant", "logarithmic", "linear", "quadratic", "more"]
CLASSES: tuple[Class, ...] = ("constant", "logarithmic", "linear", "quadratic", "more")
LEAST_SIZES = 3
_SPARE = (3, 0.15)  # operations, or a part of a step, by which one step may be off: a rounded half, an odd last one


@dataclass(frozen=True, slots=True)
class Fit:
    """How a number grows.

    Args:
        kind: its class.
        exponent: of the power of the size that it grows with, one digit behind the point; 0 where it does not grow.
        slope: how much comes with each step of the size where it grows linearly, else 0.

    Example:
        >>> fit((8, 16, 32), (90, 170, 330)).slope
        10.0
    """

    kind: Class
    exponent: float
    slope: float = 0.0

    @property
    def words(self) -> str:
        """The class, and of what grows faster than quadratically how fast: `more (about n^3.0)`."""
        return f"more (about n^{self.exponent:.1f})" if self.kind == "more" else self.kind


def worse(new: Class, old: Class) -> bool:
    """Whether a class grows faster than another.

    Example:
        >>> worse("linear", "constant"), worse("linear", "linear")
        (True, False)
    """
    return CLASSES.index(new) > CLASSES.index(old)


def fit(sizes: Sequence[int], values: Sequence[int], *, few: int = 4, share: float = 0.0) -> Fit:
    """The simplest class that explains how a number grows.

    Args:
        sizes: at least three, ascending.
        values: the number at each size.
        few: what may come and go without being growth: operations that depend on whether a size is odd.
        share: the same as a part of the smallest value; a line that fits exactly counts as growth only where it is 0.

    Returns:
        its class. What shrinks does not grow.

    Example:
        >>> fit((8, 16, 32, 64), (30, 31, 30, 31)).kind, fit((2, 4, 8), (10, 22, 70)).kind
        ('constant', 'quadratic')
    """
    spread = max(values) - min(values)
    if spread == 0 or values[-1] <= values[0]:
        return Fit("constant", 0.0)
    rise = round((values[-1] - values[0]) / (sizes[-1] - sizes[0]), 3)
    line = _exact(sizes, values, 2)
    if line and not share:
        return Fit("linear", 1.0, rise)
    if spread <= max(few, share * min(values)):
        return Fit("constant", 0.0)
    if line:
        return Fit("linear", 1.0, rise)
    if _straight([math.log2(size) for size in sizes], values):
        return Fit("logarithmic", 0.0)
    if len(sizes) > LEAST_SIZES and _exact(sizes, values, 3):
        return Fit("quadratic", 2.0)
    return Fit("linear", 1.0, rise) if _straight(sizes, values) else _by_exponent(sizes, values)


def _exact(sizes: Sequence[int], values: Sequence[int], order: int) -> bool:
    """Whether divided differences of an order are all zero: 2 for a straight line, 3 for a parabola."""
    found = [Fraction(value) for value in values]
    for gap in range(1, order + 1):
        found = [(b - a) / (sizes[n + gap] - sizes[n]) for n, (a, b) in enumerate(pairwise(found))]
    return not any(found)


def _straight(xs: Sequence[float], ys: Sequence[int]) -> bool:
    """Whether one slope explains every step, give or take what may be left over."""
    least, most = -math.inf, math.inf
    for a, b, low, high in zip(xs, xs[1:], ys, ys[1:], strict=False):
        spare = max(_SPARE[0], _SPARE[1] * abs(high - low))
        least, most = max(least, (high - low - spare) / (b - a)), min(most, (high - low + spare) / (b - a))
    return least <= most


def _by_exponent(sizes: Sequence[int], values: Sequence[int]) -> Fit:
    """The class whose power is nearest: sums of classes, and what no class explains.

    Growth between two sizes by the size, d ~ n^(k-1) for n^k: what does not grow drops out.
    """
    points = [
        (math.log((a + b) / 2), math.log((y - x) / (b - a)))
        for a, b, x, y in zip(sizes, sizes[1:], values, values[1:], strict=False)
        if y > x
    ]
    if len(points) < 2:  # one jump: it stays or goes on, and nobody knows; that it grows is known
        return Fit("linear", 1.0)
    mean_x, mean_y = (sum(p[n] for p in points) / len(points) for n in (0, 1))
    power = 1 + sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    kind: Class = "logarithmic" if power < 0.3 else "linear" if power < 1.5 else "quadratic" if power < 2.5 else "more"
    return Fit(kind, round(power, 1))
