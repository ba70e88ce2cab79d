"""How a program grows with a size, and where."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from hlodiff.differ.metrics import count
from hlodiff.differ.program_analysis import ProgramAnalysis
from hlodiff.differ.repeats import FrameTree, InLoop, Repeat, own_line, repeats, stands_alone
from hlodiff.hlo.grammar import bits_of
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.traversal import multiplicities

Class = Literal["constant", "logarithmic", "linear", "quadratic", "more"]
CLASSES: tuple[Class, ...] = ("constant", "logarithmic", "linear", "quadratic", "more")
LEAST_SIZES = 3
_TOLERANCE = (3, 0.15)  # tolerance of one step, absolute and relative: a rounded half, an odd last one


@dataclass(frozen=True, slots=True)
class Fit:
    """How a number grows.

    Args:
        kind: its class.
        exponent: of the power law, to one decimal; 0 if it does not grow.
        slope: the increase per unit of size if it grows linearly, otherwise 0.

    Example:
        >>> fit((8, 16, 32), (90, 170, 330)).slope
        10.0
    """

    kind: Class
    exponent: float
    slope: float = 0.0

    @property
    def words(self) -> str:
        """The class, with the exponent if faster than quadratic: `more (about n^3.0)`."""
        return f"more (about n^{self.exponent:.1f})" if self.kind == "more" else self.kind


def worse(new: Class, old: Class) -> bool:
    """Whether `new` grows faster than `old`.

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
        few: variation that is not growth: operations that depend on whether a size is odd.
        share: the same as a part of the smallest value; a line that fits exactly counts as growth only where it is 0.

    Returns:
        its class; a shrinking number does not grow.

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
    """Whether one slope explains every step, within the tolerance."""
    least, most = -math.inf, math.inf
    for a, b, low, high in zip(xs, xs[1:], ys, ys[1:], strict=False):
        tolerance = max(_TOLERANCE[0], _TOLERANCE[1] * abs(high - low))
        least, most = max(least, (high - low - tolerance) / (b - a)), min(most, (high - low + tolerance) / (b - a))
    return least <= most


def _by_exponent(sizes: Sequence[int], values: Sequence[int]) -> Fit:
    """The class with the nearest power: for sums of classes, and for numbers that no class explains.

    Uses the growth between two sizes, d ~ n^(k-1) for n^k, so that the constant part drops out.
    """
    points = [
        (math.log((a + b) / 2), math.log((y - x) / (b - a)))
        for a, b, x, y in zip(sizes, sizes[1:], values, values[1:], strict=False)
        if y > x
    ]
    if len(points) < 2:  # a single jump: whether it continues is unknown, but it grew
        return Fit("linear", 1.0)
    mean_x, mean_y = (sum(p[n] for p in points) / len(points) for n in (0, 1))
    power = 1 + sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    kind: Class = "logarithmic" if power < 0.3 else "linear" if power < 1.5 else "quadratic" if power < 2.5 else "more"
    return Fit(kind, round(power, 1))


QUANTITIES = ("instructions", "constants", "constant_bytes", "text_bytes")
WORDS = {
    "instructions": "instructions",
    "constants": "constants",
    "constant_bytes": "bytes of constants",
    "text_bytes": "bytes of text",
}


def measure(module: Module, text: str) -> dict[str, int]:
    """How large a program is.

    Args:
        module: a normalized program of either stage.
        text: the same as text.

    Returns:
        `instructions` with callees counted at each call, since XLA inlines them, without free ones (tuples, parameters,
        returns); `constants` among them; `constant_bytes`, a repeated number counted once; `text_bytes` without the
        values of constants.
    """
    ops: Mapping[str, int] = count(module).ops
    constants = [
        it
        for computation, weight in zip(module.computations, multiplicities(module), strict=True)
        for it in computation.instructions
        if weight.total and it.opcode == "constant"
    ]
    literals = sum(len(it.literal or "") for it in constants)
    return {
        "instructions": sum(ops.values()),
        "constants": ops.get("constant", 0),
        "constant_bytes": sum(map(_bytes, constants)),
        "text_bytes": len(text.encode()) - literals,
    }


def _bytes(it: Instruction) -> int:
    literal = it.literal or ""
    repeated = literal.startswith("dense<") and not literal.startswith(('dense<"', "dense<["))
    if repeated and it.attribute("hlodiff.constant") is None:
        return (bits_of(it.shape.element_type) + 7) // 8
    return it.shape.bytes


_MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity at every size.

    Args:
        name: one of QUANTITIES.
        values: at each size, in the order of the sizes.
        fit: how it grows.
    """

    name: str
    values: tuple[int, ...]
    fit: Fit


@dataclass(frozen=True, slots=True)
class GrownRepeat:
    """A body with more copies at larger sizes: a loop of Python over the size.

    Args:
        repeat: its copies at the largest size.
        copies: how many there are at each size.
    """

    repeat: Repeat
    copies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """How one case grows with one parameter.

    Args:
        name: function and case.
        target: what it was lowered for.
        parameter: of the registered function.
        sizes: its values, ascending.
        series: the quantities of the StableHLO.
        compiled: those of the compiled program; () if it was not compiled.
        repeats: bodies that are copied more often at larger sizes.
        lines: where it grows.
        same: whether the program is the same at every size.
        largest: analysis of the program at the largest size.
        tables: variable and place of the known constants of `largest`, by the hash of their bytes.
    """

    name: str
    target: str
    parameter: str
    sizes: tuple[int, ...]
    series: tuple[Series, ...]
    compiled: tuple[Series, ...] = ()
    repeats: tuple[GrownRepeat, ...] = ()
    lines: tuple[GrowingLine, ...] = ()
    same: bool = False
    largest: ProgramAnalysis = field(default_factory=ProgramAnalysis)
    tables: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def quantity(self, name: str) -> Series:
        """The series of one of QUANTITIES."""
        return next(series for series in self.series if series.name == name)


@dataclass(frozen=True, slots=True)
class GrowingLine:
    """A line of Python with more operations at larger sizes.

    Args:
        where: the user's line.
        values: its operations at each size.
        fit: how they grow.
    """

    where: FrameTree
    values: tuple[int, ...]
    fit: Fit


def growth_series(sizes: Sequence[int], measured: Sequence[Mapping[str, int]]) -> tuple[Series, ...]:
    """The quantities of a program at several sizes.

    Args:
        sizes: ascending.
        measured: what `measure` gave at each of them.

    Returns:
        one record for each quantity.

    Example:
        >>> at = [{"instructions": 3 * n, "constants": 1, "constant_bytes": 4, "text_bytes": 900} for n in (2, 4, 8)]
        >>> [one.fit.kind for one in growth_series((2, 4, 8), at)]
        ['linear', 'constant', 'constant', 'constant']
    """
    found = []
    for name in QUANTITIES:
        values = tuple(one[name] for one in measured)
        few, share = _NOISE[name]
        found.append(Series(name, values, fit(sizes, values, few=few, share=share)))
    return tuple(found)


# Tolerated variation, absolute and relative to the smallest value: a text gets longer with each digit of a size, 2 to 4
# %.
_NOISE = {"instructions": (4, 0.0), "constants": (4, 0.0), "constant_bytes": (64, 0.0), "text_bytes": (0, 0.15)}


def grown_repeats(modules: Sequence[Module], at_largest: Sequence[Repeat], in_loop: InLoop) -> tuple[GrownRepeat, ...]:
    """The bodies with more copies at larger sizes.

    Args:
        modules: the program at each size.
        at_largest: the copies in the last of them.
        in_loop: whether a line of a file lies in a loop of Python.

    Returns:
        those that have more copies at the largest size than at the smallest and are proved at every size, in the
        given order.
    """
    smaller = [repeats(module, in_loop, least=2) for module in modules[:-1]]
    found = []
    for repeat in at_largest:
        same = [[one for one in known if one.where == repeat.where] for known in smaller]
        copies = tuple(one.copies * one.times for one in (*(known[0] for known in same if known), repeat))
        if all(same) and copies[-1] > copies[0]:
            found.append(GrownRepeat(repeat, copies))
    return tuple(found)


def growing_lines(sizes: Sequence[int], modules: Sequence[Module]) -> tuple[GrowingLine, ...]:
    """The lines at which a program grows, fastest first.

    Args:
        sizes: ascending.
        modules: the program at each size, with Python frames.

    Returns:
        at most eight lines, all of which grow.
    """
    counts = [_by_line(module) for module in modules]
    found = []
    for where in dict.fromkeys(line for one in counts for line in one):
        values = tuple(one[where] for one in counts)
        how = fit(sizes, values)
        if how.kind != "constant":
            found.append(GrowingLine(where, values, how))
    return tuple(sorted(found, key=_order)[:_MOST_LINES])


def _order(line: GrowingLine) -> tuple[int, str, int]:
    return (line.values[0] - line.values[-1], line.where.file, line.where.first)


def _by_line(module: Module) -> Counter[FrameTree]:
    found: Counter[FrameTree] = Counter()
    for computation, weight in zip(module.computations, multiplicities(module), strict=True):
        for it in computation.instructions if weight.total else ():
            where = own_line(module, it.frame) if stands_alone(it) else None
            if where is not None:
                found[where] += weight.total
    return found
