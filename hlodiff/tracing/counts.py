"""Counts traces, compiles and programs per function, with the causes of each trace after the first; also as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hlodiff.tracing.causes import ADVICE, NOT_KNOWN, NOT_KNOWN_COMPILE, UNJITTED, Cause, causes, closest
from hlodiff.tracing.records import Call, Compilation, Function, Trace


@dataclass(frozen=True, slots=True)
class Retrace:
    """Traces after a function's first, or further compiles of an existing trace, with the same causes.

    Args:
        what: "trace" or "compile".
        numbers: numbers of these traces or compiles within the function, from 1.
        called: `file:line` of the first such call.
        causes: why JAX repeated the work.
        same_as: the number, from 1, of an earlier, equal program of this function: the work was wasted. 0 if the
            program is new or there is none.

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
        """Equal for the same causes, independent of the call site and of what a new function object closes over."""
        causes = tuple((cause.kind, cause.path, cause.what.partition(" that closes over ")[0]) for cause in self.causes)
        return self.what, self.waste, causes

    @property
    def waste(self) -> bool:
        """Whether it yields a program that was already compiled."""
        return self.same_as > 0


@dataclass(frozen=True, slots=True)
class FunctionCounts:
    """Traces, compiles and programs of one function.

    Args:
        function: the function; all objects of one definition count as one function.
        name: its name in reports: the short name, or a longer one if two functions share it.
        traces: how often JAX ran its Python code.
        nested: how many of these were part of another function's trace.
        compiles: how often a program of it was compiled.
        programs: fingerprints of its distinct programs, in order of first appearance.
        again: every trace but the first, and every compile without a trace, grouped by causes.

    Example:
        >>> FunctionCounts(Function("f", "a.py:1"), "f", 1, 0, 1, ("9f2c",)).waste
        0
    """

    function: Function
    name: str
    traces: int
    nested: int
    compiles: int
    programs: tuple[str, ...]
    again: tuple[Retrace, ...] = ()

    @property
    def waste(self) -> int:
        """Number of traces and compiles that yielded an existing program."""
        return sum(len(one.numbers) for one in self.again if one.waste)


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """The counts of a run.

    Args:
        functions: in order of first trace, including JAX operations that run a function of the caller.
        eager: number of programs compiled for other eager operations, which are not listed.

    Example:
        >>> TraceCounts(()).traces
        0
    """

    functions: tuple[FunctionCounts, ...]
    eager: int = 0

    @property
    def traces(self) -> int:
        """Traces of all functions."""
        return sum(one.traces for one in self.functions)

    @property
    def programs(self) -> int:
        """Distinct programs of all functions."""
        return sum(len(one.programs) for one in self.functions)


def count_traces(events: Iterable[Trace | Compilation]) -> TraceCounts:
    """Count traces and programs per function.

    Args:
        events: events in chronological order.

    Returns:
        the counts.

    Example:
        >>> count_traces([]).functions
        ()
    """
    groups: dict[tuple[str, str], _EventCounter] = {}
    eager: dict[tuple[str, str], list[Compilation]] = {}
    for event in events:
        function = event.call.function if isinstance(event, Trace) else event.function
        if function is None and isinstance(event, Compilation):
            eager.setdefault((event.name, event.place), []).append(event)
        elif function is not None:
            group = groups.setdefault(function.key, _EventCounter(function))
            group.trace(event) if isinstance(event, Trace) else group.compiled(event)
    # Libraries also trace to infer shapes or to make a jaxpr: no program results, and the user made no call.
    listed = [group for group in groups.values() if group.compiles or not group.function.library]
    rows = [group.row() for group in listed]
    unlisted = 0
    for compiles in eager.values():
        # Compiled so often on one line that JAX's cache cannot be working.
        most = max(Counter(one.fingerprint for one in compiles).values())
        same = _SAME_OF_BODY if compiles[0].name.startswith("shard_map") else _SAME
        if most >= same or len(compiles) >= _DIFFERENT:
            rows.append(_count_operation(compiles))
        else:
            unlisted += len(compiles)
    names = _names([row.function for row in rows])
    return TraceCounts(tuple(replace(row, name=name) for row, name in zip(rows, names, strict=True)), unlisted)


# Two equal programs are normal (a number that is weakly typed once), and one line may build a whole model.
_SAME, _DIFFERENT = 3, 32
_SAME_OF_BODY = 2  # the body of an unjitted `shard_map` is compiled again in each call


def _count_operation(compiles: Sequence[Compilation]) -> FunctionCounts:
    """The counts of an eager operation, whose arguments are not recorded."""
    first = compiles[0]
    programs = tuple(dict.fromkeys(one.fingerprint for one in compiles))
    function = Function(first.name.removeprefix("jit_"), first.place, library=True, operation=True)
    again: list[Retrace] = []
    seen: list[str] = []
    for number, one in enumerate(compiles, 1):
        known = programs.index(one.fingerprint) + 1 if one.fingerprint in seen else 0
        if seen:
            again.append(Retrace("compile", (number,), one.place, (_repeat_cause(first.name, bool(known)),), known))
        seen.append(one.fingerprint)
    traces = sum(one.traced for one in compiles)
    return FunctionCounts(function, "", traces, 0, len(compiles), programs, tuple(_grouped(again)))


def _repeat_cause(name: str, known: bool) -> Cause:
    if name.startswith("shard_map"):
        return UNJITTED
    if known:
        what = "the same program was compiled before, and why JAX compiled it again is not known"
        return Cause("unknown", "", what, ADVICE["unknown"])
    what = "an eager operation is compiled for each combination of shapes and types"
    return Cause("shapes", "", what, ADVICE["shapes"])


class _EventCounter:
    """Counts the events of one function, in order."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.calls: list[Call] = []  # traced calls
        self.ran: list[Call] = []  # compiled calls
        self.traces = self.nested = self.compiles = 0
        self.programs: list[str] = []
        self.again: list[Retrace] = []
        self.pending: list[tuple[Call, int]] = []  # traces in `again` that are not compiled yet
        self.raised: list[str] = []  # for each of `calls` the type of the exception that ended its trace, or ""

    def trace(self, event: Trace) -> None:
        self.traces += 1
        self.nested += event.nested
        if self.calls:
            if not event.nested and not event.raised:
                self.pending.append((event.call, len(self.again)))
            self.again.append(Retrace("trace", (self.traces,), event.call.place, self._causes(event.call)))
        self.calls.append(event.call)
        self.raised.append(event.raised)

    def _causes(self, call: Call) -> tuple[Cause, ...]:
        found = closest(call, self.calls)
        if found != (NOT_KNOWN,):
            return found
        if self.function.operation and self.function.name.rpartition(".")[2].startswith("shard_map"):
            return (UNJITTED,)
        raised = next(
            raised for one, raised in list(zip(self.calls, self.raised, strict=True))[::-1] if not causes(call, one)
        )
        if raised:
            what = f"its trace raised {raised} before: JAX keeps nothing of that"
            return (Cause("raised", "", what, ADVICE["raised"]),)
        return found

    def compiled(self, event: Compilation) -> None:
        self.compiles += 1
        if event.failed:  # no program; its trace is kept
            self._pending(event)
            what = f"compiling it ended with {event.failed}"
            cause = Cause("failed", "", what, ADVICE["failed"])
            self.again.append(Retrace("compile", (self.compiles,), event.place, (cause,)))
            return
        known = self.programs.index(event.fingerprint) + 1 if event.fingerprint in self.programs else 0
        if not known:
            self.programs.append(event.fingerprint)
        if event.traced:
            index = self._pending(event)
            if index is not None:
                self.again[index] = replace(self.again[index], same_as=known)
        elif self.compiles > 1:  # otherwise it was traced inside another function and is now compiled by itself
            call = event.under or event.call
            found = closest(call, self.ran) if call is not None and self.ran else (NOT_KNOWN,)
            if found == (NOT_KNOWN,):
                found = (NOT_KNOWN_COMPILE,)
            self.again.append(Retrace("compile", (self.compiles,), call.place if call else event.place, found, known))
        self.ran += [call for call in (event.under or event.call,) if call is not None]

    def _pending(self, event: Compilation) -> int | None:
        """Index in `again` of the program's trace; several threads may trace concurrently."""
        found = next((index for index, (call, _) in enumerate(self.pending) if call == event.call), None)
        return self.pending.pop(found)[1] if found is not None and event.traced else None

    def row(self) -> FunctionCounts:
        """The counts, without a name."""
        programs, again = tuple(self.programs), tuple(_grouped(self.again))
        return FunctionCounts(self.function, "", self.traces, self.nested, self.compiles, programs, again)


def _grouped(again: list[Retrace]) -> list[Retrace]:
    groups: dict[tuple[object, ...], list[Retrace]] = {}
    for one in again:
        groups.setdefault(one.key, []).append(one)
    rows = [replace(group[0], numbers=tuple(one.numbers[0] for one in group)) for group in groups.values()]
    return merge_series(rows)


def _names(functions: list[Function]) -> list[str]:
    """Short names where unique, else qualified names, else qualified names with a source location."""
    names = []
    for function in functions:
        options = (function.short, function.name, f"{function.name} ({function.place})")
        others = [other for other in functions if other is not function]
        candidates = (
            (options[0], [other.short for other in others]),
            (options[1], [other.name for other in others]),
        )
        names.append(next((name for name, taken in candidates if name not in taken), options[2]))
    return names


# --- Trace counts as plain values for traces.yaml, and back.


def to_plain(counts: TraceCounts) -> dict[str, Any]:
    """Functions by name: source location, counts, programs, and the causes of retraces.

    Example:
        >>> to_plain(TraceCounts((FunctionCounts(Function("f", "a.py:1"), "f", 1, 0, 1, ("9f2c",)),)))
        {'f': {'defined': 'a.py:1', 'traces': 1, 'compiles': 1, 'programs': ['9f2c']}}
    """
    found: dict[str, Any] = {}
    for one in counts.functions:
        table: dict[str, Any] = {"defined": one.function.place, "traces": one.traces}
        if one.nested:
            table["inside_of_others"] = one.nested
        table |= {"compiles": one.compiles, "programs": list(one.programs)}
        if one.again:
            table["again"] = dict(_write_again(one))
        found[one.name] = table
    return found


def _write_again(one: FunctionCounts) -> Iterator[tuple[str, dict[str, Any]]]:
    for again in one.again:
        plural = "s" if len(again.numbers) > 1 else ""
        row: dict[str, Any] = {"called": again.called} if again.called else {}
        if again.waste:
            row["equal_to_program"] = again.same_as
        row["why"] = [{"kind": cause.kind, "path": cause.path, "what": cause.what} for cause in again.causes]
        yield f"{again.what}{plural} {', '.join(map(str, again.numbers))}", row


def counts_from_plain(functions: Any) -> TraceCounts:
    """Read counts written by `to_plain`.

    Args:
        functions: `functions` of an untrusted traces.yaml.

    Returns:
        the counts.

    Raises:
        ValueError: the value is malformed; the error names the function.

    Example:
        >>> counts_from_plain({"f": {"defined": "a.py:1", "traces": 1, "compiles": 1, "programs": ["9f2c"]}}).programs
        1
    """
    if not isinstance(functions, Mapping):
        raise ValueError("`functions` holds no functions by name")
    return TraceCounts(tuple(_read_function(str(name), table) for name, table in functions.items()))


def _read_function(name: str, table: Any) -> FunctionCounts:
    try:
        programs = tuple(str(fingerprint) for fingerprint in table["programs"])
        place = str(table.get("defined", ""))
        again = tuple(_read_again(str(key), row) for key, row in (table.get("again") or {}).items())
        return FunctionCounts(
            Function(name, place), name, int(table["traces"]), int(table.get("inside_of_others", 0)),
            int(table["compiles"]), programs, again,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"`{name}` cannot be read: {type(error).__name__}: {error}") from None


def _read_cause(why: Mapping[str, Any]) -> Cause:
    kind = str(why["kind"])
    if kind == "transformed":  # written by an earlier version, which guessed
        return NOT_KNOWN_COMPILE
    return Cause(kind, str(why["path"]), str(why["what"]), ADVICE.get(kind, ""))


def _read_again(key: str, row: Mapping[str, Any]) -> Retrace:
    head, _, numbers = key.partition(" ")
    causes = tuple(map(_read_cause, row["why"]))
    return Retrace(
        "compile" if head.startswith("compile") else "trace",
        tuple(int(number) for number in numbers.split(",")),
        str(row.get("called", "")),
        causes,
        int(row.get("equal_to_program", 0)),
    )


# --- Trace counts as text, for terminals and messages.

_MOST = 12  # maximum number of reasons shown per function
_MOST_NUMBERS = 8


def format_counts(counts: TraceCounts, everything: bool = False) -> Iterator[str]:
    """One line per function, followed by the causes of its retraces.

    Args:
        counts: counts of a run.
        everything: whether to list every retrace, however many there are.

    Returns:
        lines without line ends.

    Example:
        >>> list(format_counts(TraceCounts(())))
        ['no function was traced or compiled']
    """
    if not counts.functions:
        eager = f"; {many(counts.eager, 'eager operation')} compiled" if counts.eager else ""
        yield f"no function was traced or compiled{eager}"
    for one in counts.functions:
        yield format_function(one)
        yield from format_retrace(one, everything)


def format_function(one: FunctionCounts) -> str:
    """How often a function was traced, and how many programs that gave.

    Example:
        >>> from hlodiff.tracing.records import Function
        >>> format_function(FunctionCounts(Function("f", "a.py:1"), "f", 2, 0, 2, ("9f2c",)))
        'f  2 traces, 1 program, compiled 2 times (a.py:1)'
    """
    nested = f" ({one.nested} inside of others)" if one.nested else ""
    times = f", compiled {one.compiles} times" if one.compiles != len(one.programs) else ""
    place = f" ({one.function.place})" if one.function.place and one.function.place not in one.name else ""
    return f"{one.name}  {many(one.traces, 'trace')}{nested}, {many(len(one.programs), 'program')}{times}{place}"


def format_retrace(one: FunctionCounts, everything: bool = False) -> Iterator[str]:
    """Why a function was traced again: its causes, each with advice.

    Args:
        one: the counts of a function.
        everything: whether to list every retrace.

    Returns:
        indented lines.
    """
    for again in one.again if everything else one.again[:_MOST]:
        yield f"  {heading(again)}"
        advice = ""
        for cause in again.causes:
            if advice and cause.advice != advice:
                yield f"      -> {advice}"
            advice = cause.advice
            yield f"    {cause.what}"
        if advice:
            yield f"      -> {advice}"
    if len(one.again) > _MOST and not everything:
        yield f"  ... and {len(one.again) - _MOST} more reasons"


def heading(again: Retrace) -> str:
    """The numbers of these traces or compiles, and whether they were wasted.

    Example:
        >>> heading(Retrace("trace", (2, 3), "a.py:9", (), 1))
        'traces 2, 3, called at a.py:9; waste: equal to program 1'
    """
    many = len(again.numbers) > _MOST_NUMBERS
    numbers = ", ".join(map(str, again.numbers[: 4 if many else None])) + (f" ... {again.numbers[-1]}" if many else "")
    at = f", called at {again.called}" if again.called else ""
    waste = f"; waste: equal to program {again.same_as}" if again.waste else ""
    return f"{again.what}{'s' if len(again.numbers) > 1 else ''} {numbers}{at}{waste}"


def many(number: int, thing: str) -> str:
    """A number with its noun, plural if needed.

    Example:
        >>> many(1, "trace"), many(2, "trace")
        ('1 trace', '2 traces')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


# --- Retraces that differ only in a number are merged: forty lengths, twenty values.


_FEWEST = 4  # distinct causes of one kind; fewer are reported one by one
_LISTED = 6  # maximum number of values listed one by one
_KINDS = ("shape", "value", "field", "length")
_TITLES = {"value": "static ", "field": "static field "}


def merge_series(again: Sequence[Retrace]) -> list[Retrace]:
    """Merge retraces that differ only in lengths or values into one with their range.

    Args:
        again: retraces, one per distinct set of causes.

    Returns:
        the retraces in order; a merged series takes the position of its first.

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
        is_of_series = one.causes and all(cause.kind in _KINDS and cause.old for cause in one.causes)
        alike = one.what, one.waste, tuple((cause.kind, cause.path) for cause in one.causes)
        families.setdefault(alike if is_of_series else one.key, []).append(one)
    return [merged for family in families.values() for merged in _merged(family)]


def _merged(family: list[Retrace]) -> list[Retrace]:
    if len(family) < _FEWEST:
        return family
    texts: dict[tuple[str, str], list[str]] = {}
    for position, first in enumerate(family[0].causes):
        pairs = [(one.causes[position].old, one.causes[position].new) for one in family]
        seen = list(dict.fromkeys(text for pair in pairs for text in pair))
        texts.setdefault((first.kind, _series(first.kind, seen)), []).append(first.path)
    causes = []
    for (kind, text), paths in texts.items():
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        shown = ", ".join(f"`{path}`" for path in paths[:3]) + more
        what = f"{shown}: {text}" if kind == "shape" else f"{_TITLES.get(kind, '')}{shown} {text}"
        causes.append(Cause(kind, paths[0], what, ADVICE["bucket" if kind == "shape" else kind]))
    numbers = tuple(sorted(number for one in family for number in one.numbers))
    return [replace(family[0], numbers=numbers, causes=tuple(causes))]


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
