"""How a program grows with a size, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hlodiff.anatomy.fits import Fit, fit
from hlodiff.anatomy.frames import InLoop, Lines, chain, own_line
from hlodiff.anatomy.labels import size_of, sizes_of, stands_alone
from hlodiff.anatomy.measure import QUANTITIES
from hlodiff.anatomy.repeats import Repeat, repeats
from hlodiff.anatomy.whole import Anatomy
from hlodiff.diff.weights import weigh
from hlodiff.ir.model import Frame, Module

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
        compiled: those of the compiled program; () where XLA was not asked.
        repeats: bodies that are copied more often at larger sizes.
        lines: where it grows.
        same: whether the program is the same at every size.
        largest: what the program at the largest size says about itself.
        tables: variable and place of the constants of `largest` that are known, by the hash of their bytes.
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
    largest: Anatomy = field(default_factory=Anatomy)
    tables: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def quantity(self, name: str) -> Series:
        """The series of one of QUANTITIES."""
        return next(series for series in self.series if series.name == name)


@dataclass(frozen=True, slots=True)
class GrowingLine:
    """A line of Python whose operations become more with the size.

    Args:
        where: the user's line.
        values: its operations at each size.
        fit: how they grow.
    """

    where: Lines
    values: tuple[int, ...]
    fit: Fit


def series(sizes: Sequence[int], measured: Sequence[Mapping[str, int]]) -> tuple[Series, ...]:
    """The quantities of a program at several sizes.

    Args:
        sizes: ascending.
        measured: what `measure` gave at each of them.

    Returns:
        one record for each quantity.

    Example:
        >>> at = [{"instructions": 3 * n, "constants": 1, "constant_bytes": 4, "text_bytes": 900} for n in (2, 4, 8)]
        >>> [one.fit.kind for one in series((2, 4, 8), at)]
        ['linear', 'constant', 'constant', 'constant']
    """
    found = []
    for name in QUANTITIES:
        values = tuple(one[name] for one in measured)
        few, share = _NOISE[name]
        found.append(Series(name, values, fit(sizes, values, few=few, share=share)))
    return tuple(found)


# What is no growth, and as a part of the smallest value: a text has more digits where a size has, 2 to 4 % for each.
_NOISE = {"instructions": (4, 0.0), "constants": (4, 0.0), "constant_bytes": (64, 0.0), "text_bytes": (0, 0.15)}


def grown_repeats(modules: Sequence[Module], at_largest: Sequence[Repeat], in_loop: InLoop) -> tuple[GrownRepeat, ...]:
    """The bodies whose copies become more with the size.

    Args:
        modules: the program at each size.
        at_largest: the copies in the last of them.
        in_loop: whether a line of a file lies in a loop of Python.

    Returns:
        those that have more copies at the largest size than at the smallest, in the given order.
    """
    smaller = [repeats(module, in_loop) for module in modules[:-1]]
    found = []
    for repeat in at_largest:
        before = [_copies_at(module, known, repeat) for module, known in zip(modules, smaller, strict=False)]
        copies = (*before, repeat.copies * repeat.times)
        if copies[-1] > copies[0]:
            found.append(GrownRepeat(repeat, copies))
    return tuple(found)


def _copies_at(module: Module, known: Sequence[Repeat], wanted: Repeat) -> int:
    """How many copies another size has: as found there, else what its lines hold of operations."""
    same = [repeat for repeat in known if repeat.where == wanted.where and repeat.order == wanted.order]
    if same:
        return same[0].copies * same[0].times
    sizes, where = dict(enumerate(sizes_of(module))), wanted.where
    total = 0
    for computation, weight in zip(module.computations, weigh(module), strict=True):
        for it in computation.instructions if weight.total else ():
            lines = (module.frames[frame] for frame in chain(module, it.frame))
            if any(_inside(frame, where) for frame in lines):
                total += weight.total * size_of(it, sizes)
    return round(total / wanted.body)


def _inside(frame: Frame, where: Lines) -> bool:
    same = (frame.file, frame.function) == (where.file, where.function)
    return same and where.first <= frame.line <= where.last


def growing_lines(sizes: Sequence[int], modules: Sequence[Module]) -> tuple[GrowingLine, ...]:
    """The lines that a program grows at, fastest first.

    Args:
        sizes: ascending.
        modules: the program at each size, with Python frames.

    Returns:
        at most eight lines; those that do not grow are left out.
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


def _by_line(module: Module) -> Counter[Lines]:
    found: Counter[Lines] = Counter()
    for computation, weight in zip(module.computations, weigh(module), strict=True):
        for it in computation.instructions if weight.total else ():
            where = own_line(module, it.frame) if stands_alone(it) else None
            if where is not None:
                found[where] += weight.total
    return found
