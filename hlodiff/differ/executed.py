"""How often a program runs what it holds: counts multiplied by trip counts along the call graph.

One run of a computation does what its own instructions do, plus what its callees do as often as each is called: the
body of a loop once a turn, its condition once more than that, one of the branches of a conditional. Where branches
differ, or a loop may end sooner, the number is a range. What happens in a loop whose trip count is not known is counted
apart, for one turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

from hlodiff.differ.costs import applied_bodies, fused_bodies, instruction_bytes, instruction_flops, is_launched
from hlodiff.differ.metrics import collectives_by_computation, count_computation, metrics_of
from hlodiff.differ.multiplicity import is_continuation
from hlodiff.differ.trip_counts import LoopPlace, TripCount, condition_and_body, trip_counts
from hlodiff.hlo.metadata import own_frame, shown_file
from hlodiff.hlo.model import Instruction, Module, callees_first

EXECUTED = (
    "flops", "bytes_accessed", "bytes_read", "bytes_written", "launches", "collectives", "async_collectives",
    "collective_bytes", "copies", "copy_bytes", "memory_moves", "memory_move_bytes", "custom_calls", "host_transfers",
    "host_callbacks",
)  # fmt: skip
"""Metrics that are counted as often as they happen; further ones are named by family or target."""
COMPILED_ONLY = ("bytes_accessed", "bytes_read", "bytes_written", "launches")
"""Those that only a compiled program has: StableHLO does not say which values are stored."""
_TABLES = ("collectives.", "collective_bytes.", "custom_calls.")
# What is counted once without a loop is exact up to here; a short file can call one computation 2**60 times.
_MOST = 10**15
_MOST_CONDITION_LINES = 10_000
_BRANCHING = frozenset(["conditional", "case", "if"])


@dataclass(frozen=True, slots=True)
class UncountedLoop:
    """A loop whose number of turns is not known.

    Args:
        condition: a digest of what its condition does, without names; equal for the same loop of two programs.
        name: of the `while` in the program.
        file, line: the user's line that made it; "" and 0 where it is not known.
    """

    condition: str
    name: str
    file: str = ""
    line: int = 0

    def words(self, root: str = "") -> str:
        """`the loop at model.py:12`, or its name in the program where no line is known.

        Example:
            >>> UncountedLoop("", "while.3", "model.py", 12).words(), UncountedLoop("", "while.3").words()
            ('the loop at model.py:12', 'the loop %while.3')
        """
        return f"the loop at {shown_file(self.file, root)}:{self.line}" if self.line else f"the loop %{self.name}"


@dataclass(frozen=True, slots=True)
class Executed:
    """A count of what one call of a program does.

    Args:
        least, most: how much is known to happen outside of loops with unknown trip counts; equal where it is exact,
            `most` is None where it is more than can be counted.
        per_turn: for each loop with an unknown trip count how much one turn does, as (loop, least, most).
    """

    least: int = 0
    most: int | None = 0
    per_turn: tuple[tuple[UncountedLoop, int, int | None], ...] = ()

    @property
    def exact(self) -> int | None:
        """The number, None where only a range or a number per turn is known.

        Example:
            >>> Executed(3, 3).exact, Executed(0, 3).exact
            (3, None)
        """
        return self.least if self.least == self.most and not self.per_turn else None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The fewest and the most there can be; the most is None where a loop may turn any number of times.

        Example:
            >>> Executed(2, 2, ((UncountedLoop("", "w"), 1, 1),)).bounds
            (2, None)
        """
        return self.least, None if self.per_turn else self.most

    def to_json(self) -> object:
        """The number, or `at_least`, `at_most` and `per_turn` by loop where it is not known.

        Example:
            >>> Executed(3, 3).to_json(), Executed(0, 3).to_json()
            (3, {'at_least': 0, 'at_most': 3})
        """
        if self.exact is not None:
            return self.exact
        least, most = self.bounds
        value: dict[str, object] = {"at_least": least, "at_most": most}
        if self.per_turn:
            value["per_turn"] = {loop.name: low if low == high else [low, high] for loop, low, high in self.per_turn}
        return value

    def compares_with(self, other: Executed) -> bool:
        """Whether a difference of two counts means something: both exact, or equally unknown of the same loops.

        Example:
            >>> Executed(3, 3).compares_with(Executed(4, 4)), Executed(3, 3).compares_with(Executed(0, 4))
            (True, False)
        """
        if self.exact is not None and other.exact is not None:
            return True
        loops = [sorted(loop.condition for loop, _, _ in one.per_turn) for one in (self, other)]
        return loops[0] == loops[1] and self.least == self.most and other.least == other.most and bool(loops[0])


ZERO = Executed()
"""Of something that does not happen."""


def executed(module: Module) -> dict[str, Executed]:
    """What one call of a program does, by metric.

    Args:
        module: a program of either stage.

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
    total = _totals(module, _own_counts(module))[module.entry]
    loops = {place: _loop(module, place) for place in sorted(total.per_turn)}
    tables = {name for part in total.parts() for name in part if name.startswith(_TABLES)}
    return {name: _number(total, name, loops) for name in [*names, *sorted(tables)]}


def runs(module: Module) -> tuple[Executed, ...]:
    """How often each computation runs in one call of a program.

    Args:
        module: a program of either stage.

    Returns:
        one count for each computation. What is applied to elements (a reducer, a comparator) counts once for each run
        of the instruction that applies it.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> runs(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        (Executed(least=1, most=1, per_turn=()),)
    """
    turns = trip_counts(module)
    found = [_Total() for _ in module.computations]
    if not found:
        return ()
    found[module.entry].add_own(Counter(runs=1))
    for index in reversed(callees_first(module)):
        for position, it in enumerate(module.computations[index].instructions):
            if it.calls and not is_continuation(it.opcode):
                for callee, times in _calls(it, (index, position), turns):
                    if callee != index:
                        found[callee].add_runs(found[index], times)
    loops = {place: _loop(module, place) for place in dict.fromkeys(p for one in found for p in one.per_turn)}
    return tuple(_number(one, "runs", loops) for one in found)


@dataclass(frozen=True, slots=True)
class _Times:
    """How often one call site calls: `most` is None for a loop that may turn any number of times."""

    least: int = 1
    most: int | None = 1
    loop: LoopPlace | None = None


@dataclass(slots=True)
class _Total:
    """What one run of a computation does: at least, at most, and in one turn of loops with unknown trip counts."""

    least: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    per_turn: dict[LoopPlace, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)

    def parts(self) -> Iterable[Counter[str]]:
        yield self.most
        yield from (most for _, most in self.per_turn.values())

    def add_own(self, counts: Mapping[str, int]) -> None:
        _add(self.least, counts, 1)
        _add(self.most, counts, 1)

    def add(self, callee: _Total, times: _Times) -> None:
        """What a callee does, as often as it is called; what it does per turn of a loop stays per turn."""
        if times.loop is not None:
            # The condition is asked once, whether the loop turns or not; all else is known for one turn only.
            _add(self.least, callee.least, times.least)
            _add(self.most, callee.most, times.least)
            low, high = self.per_turn.setdefault(times.loop, (Counter(), Counter()))
            _add(low, callee.least, 1)
            _add(high, callee.most, 1)
        else:
            _add(self.least, callee.least, times.least)
            _add(self.most, callee.most, times.most or 0)
        if times.loop is not None or times.most:
            self.per_turn |= callee.per_turn

    def add_runs(self, caller: _Total, times: _Times) -> None:
        """Runs of a callee: those of its caller, as often as this call site calls."""
        if times.loop is not None:
            _add(self.least, caller.least, times.least)
            _add(self.most, caller.most, times.least)
            low, high = self.per_turn.setdefault(times.loop, (Counter(), Counter()))
            _add(low, Counter(runs=1), 1)
            _add(high, Counter(runs=1), 1)
            return
        _add(self.least, caller.least, times.least)
        _add(self.most, caller.most, times.most or 0)
        for loop, (least, most) in caller.per_turn.items() if times.most else ():
            low, high = self.per_turn.setdefault(loop, (Counter(), Counter()))
            _add(low, least, times.least)
            _add(high, most, times.most or 0)


def _add(total: Counter[str], part: Mapping[str, int], times: int) -> None:
    if times:
        for name, number in part.items():
            total[name] = min(total[name] + number * times, _MOST)


def _calls(it: Instruction, place: LoopPlace, turns: Mapping[LoopPlace, TripCount]) -> list[tuple[int, _Times]]:
    """The computations that one instruction calls and how often; of branches each is at most once."""
    if it.opcode == "while":
        computations, known = condition_and_body(it), turns.get(place)
        if computations is None:
            return []
        condition, body = computations
        if known is None:
            return [(condition, _Times(1, None, place)), (body, _Times(0, None, place))]
        least = known.turns if known.exact else 0
        return [(condition, _Times(least + 1, known.turns + 1)), (body, _Times(least, known.turns))]
    called = it.called
    if it.opcode in _BRANCHING and len(called) > 1:
        return [(callee, _Times(0, 1)) for callee in called]
    return [(callee, _Times()) for callee in called]


def _totals(module: Module, own: Sequence[Mapping[str, int]]) -> list[_Total]:
    turns = trip_counts(module)
    totals = [_Total() for _ in module.computations]
    for index in callees_first(module):
        total = totals[index]
        total.add_own(own[index])
        for position, it in enumerate(module.computations[index].instructions):
            if not it.calls or is_continuation(it.opcode):
                continue
            if it.opcode in _BRANCHING and len(it.called) > 1:
                total.add(_one_of([totals[callee] for callee in it.called]), _Times())
                continue
            for callee, times in _calls(it, (index, position), turns):
                total.add(totals[callee], times)
    return totals


def _one_of(branches: Sequence[_Total]) -> _Total:
    """One of several branches: of each metric the fewest and the most that any of them does."""
    names = dict.fromkeys(name for branch in branches for name in branch.most)
    found = _Total(
        Counter({name: min(branch.least[name] for branch in branches) for name in names}),
        Counter({name: max(branch.most[name] for branch in branches) for name in names}),
    )
    for branch in branches:
        found.per_turn |= branch.per_turn
    return found


def _own_counts(module: Module) -> list[Mapping[str, int]]:
    """What the instructions of each computation do in one run of it, callees apart."""
    inside, applied = fused_bodies(module), applied_bodies(module)
    collectives, later = collectives_by_computation(module)
    found: list[Mapping[str, int]] = []
    for index in range(len(module.computations)):
        counted = metrics_of(count_computation(module, index, collectives.get(index, ()), later))
        own = {name: int(n) for name, n in counted.items() if n and (name in EXECUTED or name.startswith(_TABLES))}
        if index not in applied:
            _add_costs(own, module, index, stored=module.stage == "compiled" and index not in inside)
        found.append(own)
    return found


def _add_costs(own: dict[str, int], module: Module, index: int, *, stored: bool) -> None:
    flops = read = written = launches = 0
    for position, it in enumerate(module.computations[index].instructions):
        flops += instruction_flops(module, (index, position))
        if stored and is_launched(it):
            launches += 1
            sizes = instruction_bytes(module, (index, position))
            read, written = read + sizes[0], written + sizes[1]
    figures = {"flops": flops, "bytes_read": read, "bytes_written": written, "bytes_accessed": read + written}
    own |= {name: number for name, number in (figures | {"launches": launches}).items() if number}


def _number(total: _Total, name: str, loops: Mapping[LoopPlace, UncountedLoop]) -> Executed:
    most = total.most[name]
    per_turn = tuple(
        (loops[place], low[name], high[name] if high[name] < _MOST else None)
        for place, (low, high) in sorted(total.per_turn.items())
        if high[name]
    )
    return Executed(total.least[name], most if most < _MOST else None, per_turn)


def _loop(module: Module, place: LoopPlace) -> UncountedLoop:
    it = module.computations[place[0]].instructions[place[1]]
    frame = own_frame(module.stack(it.frame))
    where = (frame.file, frame.line) if frame else ("", 0)
    return UncountedLoop(_condition(module, it), it.name, *where)


def _condition(module: Module, it: Instruction) -> str:
    """What a loop's condition does: operations, literals and attributes, without names."""
    computations = condition_and_body(it)
    lines = islice(_lines(module, computations[0]), _MOST_CONDITION_LINES) if computations else ()
    return blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def _lines(module: Module, index: int, depth: int = 0) -> Iterable[str]:
    for it in module.computations[index].instructions:
        attributes = [f"{name}={value}" for name, value in it.attributes if name not in ("metadata", "backend_config")]
        yield f"{depth} {it.opcode} {it.operands} {it.literal} {attributes} {it.shape.element_type}"
        for callee in it.called if depth < 4 else ():
            yield from _lines(module, callee, depth + 1)
