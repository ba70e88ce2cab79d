"""Counts of what one call of a program executes: multiplied by trip counts along the call graph.

One run of a computation does what its own instructions do, plus what its callees do as often as each is called: the
body of a loop once per iteration, its condition as `condition_runs` says, one of the branches of a conditional. Where
branches differ, or a loop may end early, the number is a range. Work in a loop with unknown trip count is counted
separately, per iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hlodiff.differ.instruction_costs import own_costs
from hlodiff.differ.metrics import Counts, metrics_of, own_counts
from hlodiff.differ.trip_counts import (
    LoopPlace,
    TripCount,
    UncountedLoop,
    condition_and_body,
    condition_runs,
    scan_length,
    trip_counts,
    uncounted_loop,
)
from hlodiff.hlo.model import CONDITIONALS, Module
from hlodiff.hlo.traversal import callees_first, is_continuation, multiplicities

EXECUTED = (
    "flops", "bytes_accessed", "bytes_read", "bytes_written", "launches", "collectives", "async_collectives",
    "collective_bytes", "copies", "copy_bytes", "memory_moves", "memory_move_bytes", "custom_calls", "host_transfers",
    "host_callbacks",
)  # fmt: skip
"""Metrics that are counted per execution; further ones are named by family or target."""
COMPILED_ONLY = ("bytes_accessed", "bytes_read", "bytes_written", "launches")
"""Metrics of compiled programs only: StableHLO does not determine which values are stored."""
_TABLES = ("collectives.", "collective_bytes.", "custom_calls.")
# Counts outside of loops are exact up to here; a short file can call one computation 2**60 times.
_MOST = 10**15


@dataclass(frozen=True, slots=True)
class ExecutedCount:
    """A count of what one call of a program does.

    Args:
        least, most: bounds of what happens outside of loops with unknown trip counts; equal if exact; `most` is None if
            it is too large to count.
        per_turn: for each loop with unknown trip count what one iteration does, as (loop, least, most).
        once: with one iteration of each loop that data may end at once, and all of the others; None if unknown.
    """

    least: int = 0
    most: int | None = 0
    per_turn: tuple[tuple[UncountedLoop, int, int | None], ...] = ()
    once: int | None = field(default=None, compare=False, repr=False)

    @property
    def exact(self) -> int | None:
        """The number; None if only a range or a number per iteration is known.

        Example:
            >>> ExecutedCount(3, 3).exact, ExecutedCount(0, 3).exact
            (3, None)
        """
        return self.least if self.least == self.most and not self.per_turn else None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The lower and the upper bound; the upper one is None if a loop has no known limit.

        Example:
            >>> ExecutedCount(2, 2, ((UncountedLoop("", "w"), 1, 1),)).bounds
            (2, None)
        """
        return self.least, None if self.per_turn else self.most

    def words(self, show: Callable[[float], str], root: str = "") -> str:
        """The number as people read it.

        Args:
            show: of one number.
            root: the project's folder; files of loops in it are named relative to it.

        Example:
            >>> ExecutedCount(4, 4).words(str), ExecutedCount(0, 12).words(str), ExecutedCount(2, 12).words(str)
            ('4', 'at most 12', '2 to 12')
            >>> ExecutedCount(2, 2, ((UncountedLoop("", "w", "model.py", 12), 3, 3),)).words(str)
            '2 + 3 per turn of the loop at model.py:12'
        """
        parts = [_range(self.least, self.most, show)] if self.most != 0 or not self.per_turn else []
        for loop, least, most in self.per_turn:
            parts.append(f"{_range(least, most, show)} per turn of {loop.words(root)}")
        return " + ".join(parts)

    def to_json(self) -> object:
        """The number, or `at_least`, `at_most` and `per_turn` by loop where it is not known.

        Example:
            >>> ExecutedCount(3, 3).to_json(), ExecutedCount(0, 3).to_json()
            (3, {'at_least': 0, 'at_most': 3})
        """
        if self.exact is not None:
            return self.exact
        least, most = self.bounds
        value: dict[str, object] = {"at_least": least, "at_most": most}
        if self.per_turn:
            value["per_turn"] = {loop.name: low if low == high else [low, high] for loop, low, high in self.per_turn}
        return value

    def is_same(self, other: ExecutedCount) -> bool:
        """Whether both are equal counts over the same loops, whatever their names."""
        ours, theirs = (
            (one.least, one.most, sorted((loop.condition, low, high or -1) for loop, low, high in one.per_turn))
            for one in (self, other)
        )
        return ours == theirs

    def compares_with(self, other: ExecutedCount) -> bool:
        """Whether two counts can be compared: both exact, or with the same loops unknown.

        Example:
            >>> [ExecutedCount(3, 3).compares_with(other) for other in (ExecutedCount(4, 4), ExecutedCount(0, 4))]
            [True, False]
        """
        if self.exact is not None and other.exact is not None:
            return True
        loops = [sorted(loop.condition for loop, _, _ in one.per_turn) for one in (self, other)]
        ranges = [(low, high) for one in (self, other) for _, low, high in one.per_turn]
        ranges += [(one.least, one.most) for one in (self, other)]
        return loops[0] == loops[1] and bool(loops[0]) and all(low == high for low, high in ranges)


def _range(least: int, most: int | None, show: Callable[[float], str]) -> str:
    if most is None:
        return f"at least {show(least)}"
    if least == most:
        return show(least)
    return f"{show(least)} to {show(most)}" if least else f"at most {show(most)}"


ZERO = ExecutedCount()
"""The count of something that does not happen."""


def executed_table(module: Module) -> dict[str, object]:
    """What one call of a program does, as plain values without zeros, see `ExecutedCount.to_json`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> executed_table(read_hlo(text))["copies"]
        1
    """
    return {name: number.to_json() for name, number in executed(module).items() if not number.is_same(ZERO)}


def executed(
    module: Module, costs: Sequence[Mapping[str, int]] | None = None, counts: Sequence[Counts] | None = None
) -> dict[str, ExecutedCount]:
    """What one call of a program does, by metric.

    Args:
        module: a program of either stage.
        costs, counts: its `own_costs` and `own_counts`, if known.

    Returns:
        the metrics of `EXECUTED` that the stage has, then one for each collective family and custom call target. Bytes
        and operations are computed from shapes, on one device.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> found = executed(read_hlo(text))
        >>> found["copies"].exact, found["bytes_accessed"].exact
        (1, 16)
    """
    names = [name for name in EXECUTED if module.stage == "compiled" or name not in COMPILED_ONLY]
    if not module.computations:
        return dict.fromkeys(names, ZERO)
    own: list[Mapping[str, int]] = []
    for counted, cost in zip(counts or own_counts(module), costs or own_costs(module), strict=True):
        figures = metrics_of(counted).items()
        named = {name: int(n) for name, n in figures if n and (name in EXECUTED or name.startswith(_TABLES))}
        own.append({**named, **cost})
    turns = trip_counts(module)
    totals = [_Total() for _ in module.computations]
    for index in callees_first(module):
        for part in (totals[index].least, totals[index].most, totals[index].once):
            _add(part, own[index], 1)
        for position, it in enumerate(module.computations[index].instructions):
            if not it.calls or is_continuation(it.opcode):
                continue
            if it.opcode in CONDITIONALS and len(it.called) > 1:
                totals[index].add(_one_of([totals[callee] for callee in it.called]), _Times())
                continue
            for callee, times in _calls(module, (index, position), turns):
                totals[index].add(totals[callee], times)
    total = totals[module.entry]
    loops = {place: uncounted_loop(module, place) for place in sorted(total.per_turn)}
    parts = [total.most, *(most for _, most in total.per_turn.values())]
    tables = {name for part in parts for name in part if name.startswith(_TABLES)}
    return {name: _number(total, name, loops) for name in [*names, *sorted(tables)]}


def static_costs(module: Module, costs: Sequence[Mapping[str, int]] | None = None) -> dict[str, int]:
    """Operations, bytes and launches of a program, each computation as often as it is called in its text.

    Args:
        module: a program of either stage.
        costs: its `own_costs`, if known.

    Returns:
        `flops`, and of a compiled program `bytes_accessed`, `bytes_read`, `bytes_written` and `launches`.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT c = f32[2] copy(p)\\n}"
        >>> static_costs(read_hlo(text))["launches"]
        1
    """
    found = dict.fromkeys(("flops", *(COMPILED_ONLY if module.stage == "compiled" else ())), 0)
    for weight, own in zip(multiplicities(module), own_costs(module) if costs is None else costs, strict=True):
        for name, number in own.items():
            found[name] += weight.total * number
    return found


def runs(module: Module) -> tuple[ExecutedCount, ...]:
    """How often each computation runs in one call of a program.

    Args:
        module: a program of either stage.

    Returns:
        one count for each computation. A computation applied to elements (a reducer, a comparator) counts once for each
        run of the applying instruction.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> runs(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        (ExecutedCount(least=1, most=1, per_turn=()),)
    """
    turns = trip_counts(module)
    found = [_Total() for _ in module.computations]
    if not found:
        return ()
    found[module.entry] = _Total(Counter(runs=1), Counter(runs=1), Counter(runs=1))
    for index in reversed(callees_first(module)):
        for position, it in enumerate(module.computations[index].instructions):
            if it.calls and not is_continuation(it.opcode):
                for callee, times in _calls(module, (index, position), turns):
                    if callee != index:
                        found[callee].add_runs(found[index], times)
    loops = {place: uncounted_loop(module, place) for place in dict.fromkeys(p for one in found for p in one.per_turn)}
    return tuple(_number(one, "runs", loops) for one in found)


@dataclass(frozen=True, slots=True)
class _Times:
    """How often one call site calls; `most` is None for a loop without known limit, `once` counts one iteration."""

    least: int = 1
    most: int | None = 1
    once: int = 1
    loop: LoopPlace | None = None


@dataclass(slots=True)
class _Total:
    """What one run of a computation does: at least, at most, and per iteration of loops with unknown trip count.

    `once` has one iteration of each loop that data may end at once.
    """

    least: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    once: Counter[str] = field(default_factory=Counter)
    per_turn: dict[LoopPlace, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)

    def add(self, callee: _Total, times: _Times) -> None:
        """Add a callee as often as it is called; what it does per iteration of a loop stays per iteration."""
        self._add(callee, times)
        if times.loop is not None:
            self._add_per_turn(times.loop, callee.least, callee.most, _Times())
        if times.loop is not None or times.most:
            self.per_turn |= callee.per_turn

    def add_runs(self, caller: _Total, times: _Times) -> None:
        """Add the runs of a callee: the runs of its caller, times the calls of this call site."""
        self._add(caller, times)
        if times.loop is not None:
            self._add_per_turn(times.loop, Counter(runs=1), Counter(runs=1), _Times())
            return
        for loop, (least, most) in caller.per_turn.items() if times.most else ():
            self._add_per_turn(loop, least, most, times)

    def _add(self, other: _Total, times: _Times) -> None:
        # In a loop without known limit the condition runs at least once; all else is known for one iteration only.
        _add(self.once, other.once, times.once)
        _add(self.least, other.least, times.least)
        _add(self.most, other.most, times.least if times.loop is not None else times.most or 0)

    def _add_per_turn(self, loop: LoopPlace, least: Mapping[str, int], most: Mapping[str, int], times: _Times) -> None:
        low, high = self.per_turn.setdefault(loop, (Counter(), Counter()))
        _add(low, least, times.least)
        _add(high, most, times.most or 0)


def _add(total: Counter[str], part: Mapping[str, int], times: int) -> None:
    if times:
        for name, number in part.items():
            total[name] = min(total[name] + number * times, _MOST)


def _calls(module: Module, place: LoopPlace, turns: Mapping[LoopPlace, TripCount]) -> list[tuple[int, _Times]]:
    """The computations that one instruction calls and how often; each branch at most once."""
    owner = module.computations[place[0]]
    it = owner.instructions[place[1]]
    if it.opcode == "while":
        computations, known = condition_and_body(it), turns.get(place)
        if computations is None:
            return []
        condition, body = computations
        if known is None:
            return [(condition, _Times(1, None, 2, place)), (body, _Times(0, None, 1, place))]
        once = known.turns if known.least else min(known.turns, 1)
        least, most, at_once = (condition_runs(it, n) for n in (known.least, known.turns, once))
        return [(condition, _Times(least, most, at_once)), (body, _Times(known.least, known.turns, once))]
    if (length := scan_length(it, owner)) is not None:
        return [(callee, _Times(length, length, length)) for callee in it.called]
    called = it.called
    if it.opcode in CONDITIONALS and len(called) > 1:
        return [(callee, _Times(0)) for callee in called]
    return [(callee, _Times()) for callee in called]


def _one_of(branches: Sequence[_Total]) -> _Total:
    """One of several branches: for each metric the least and the most that any branch does."""
    names = dict.fromkeys(name for branch in branches for name in branch.most)
    found = _Total(
        Counter({name: min(branch.least[name] for branch in branches) for name in names}),
        Counter({name: max(branch.most[name] for branch in branches) for name in names}),
        Counter({name: max(branch.once[name] for branch in branches) for name in names}),
    )
    for branch in branches:
        found.per_turn |= branch.per_turn
    return found


def _number(total: _Total, name: str, loops: Mapping[LoopPlace, UncountedLoop]) -> ExecutedCount:
    most = total.most[name]
    per_turn = tuple(
        (loops[place], low[name], high[name] if high[name] < _MOST else None)
        for place, (low, high) in sorted(total.per_turn.items())
        if high[name]
    )
    return ExecutedCount(total.least[name], most if most < _MOST else None, per_turn, total.once[name])
