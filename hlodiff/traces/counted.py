"""What was observed, counted for each function, and each trace after the first explained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from hlodiff.traces.causes import ADVICE, Cause, closest
from hlodiff.traces.records import Call, Compiled, Function, Trace


@dataclass(frozen=True, slots=True)
class Again:
    """Traces after a function's first, or more compiles of a trace that there was, for one and the same reason.

    Args:
        what: "trace" or "compile".
        numbers: the how manieth traces or compiles of the function these are, from 1.
        called: `file:line` of the first of the calls.
        causes: why JAX did it again.
        same_as: the number of the earlier program of this function that the first is equal to, from 1: the work was
            wasted; 0 where the program is new or there is none.

    Example:
        >>> Again("trace", (2,), "a.py:9", (), 1).waste
        True
    """

    what: Literal["trace", "compile"]
    numbers: tuple[int, ...]
    called: str
    causes: tuple[Cause, ...]
    same_as: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What two of one reason share: not the place, nor what a function that is new each time closes over."""
        told = tuple((cause.kind, cause.path, cause.what.partition(" that closes over ")[0]) for cause in self.causes)
        return self.what, self.waste, told

    @property
    def waste(self) -> bool:
        """Whether it yields a program equal to one already compiled."""
        return self.same_as > 0


@dataclass(frozen=True, slots=True)
class Counted:
    """What one function cost.

    Args:
        function: which function; all objects of one definition are one function.
        name: what it is called in reports: its short name, and more where two functions share it.
        traces: how often JAX ran its Python code.
        nested: how many of these were part of the trace of another function.
        compiles: how often a program of it was compiled.
        programs: fingerprints of the different programs, in the order of the first.
        again: every trace but the first, and every compile without a trace, by their reasons.

    Example:
        >>> Counted(Function("f", "a.py:1"), "f", 1, 0, 1, ("9f2c",)).waste
        0
    """

    function: Function
    name: str
    traces: int
    nested: int
    compiles: int
    programs: tuple[str, ...]
    again: tuple[Again, ...] = ()

    @property
    def waste(self) -> int:
        """How many of its traces and compiles yielded a program that there was."""
        return sum(len(one.numbers) for one in self.again if one.waste)


@dataclass(frozen=True, slots=True)
class Account:
    """What a run cost.

    Args:
        functions: in the order of their first trace.
        eager: how many programs of eager operations were compiled.

    Example:
        >>> Account(()).traces
        0
    """

    functions: tuple[Counted, ...]
    eager: int = 0

    @property
    def traces(self) -> int:
        """Traces of all functions."""
        return sum(one.traces for one in self.functions)

    @property
    def programs(self) -> int:
        """Different programs of all functions."""
        return sum(len(one.programs) for one in self.functions)


def count(events: Iterable[Trace | Compiled]) -> Account:
    """Count what was observed, function by function.

    Args:
        events: in the order in which they happened.

    Returns:
        the account.

    Example:
        >>> count([]).functions
        ()
    """
    groups: dict[tuple[str, str], _Group] = {}
    eager = 0
    for event in events:
        function = event.call.function if isinstance(event, Trace) else event.function
        if function is None:
            eager += 1
            continue
        group = groups.setdefault(function.key, _Group(function))
        group.trace(event) if isinstance(event, Trace) else group.compiled(event)
    # What libraries trace for themselves, to learn shapes or to make a jaxpr, has no program and is nobody's call.
    told = [group for group in groups.values() if group.compiles or not group.function.library]
    names = _names([group.function for group in told])
    return Account(tuple(group.counted(name) for group, name in zip(told, names, strict=True)), eager)


class _Group:
    """Traces and programs of one function, one after the other."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.calls: list[Call] = []
        self.traces = self.nested = self.compiles = 0
        self.programs: list[str] = []
        self.again: list[Again] = []
        self.pending: list[int] = []  # traces in `again` whose program has not come yet

    def trace(self, event: Trace) -> None:
        self.traces += 1
        self.nested += event.nested
        if self.calls:
            if not event.nested:
                self.pending.append(len(self.again))
            self.again.append(Again("trace", (self.traces,), event.call.place, closest(event.call, self.calls)))
        self.calls.append(event.call)

    def compiled(self, event: Compiled) -> None:
        self.compiles += 1
        known = self.programs.index(event.fingerprint) + 1 if event.fingerprint in self.programs else 0
        if not known:
            self.programs.append(event.fingerprint)
        if event.traced:
            if self.pending:
                place = self.pending.pop()
                self.again[place] = replace(self.again[place], same_as=known)
            return
        if self.compiles == 1:  # traced inside of another function before; now compiled by itself
            return
        self.again.append(self._without_trace(event, known))
        if event.call is not None:
            self.calls.append(event.call)

    def _without_trace(self, event: Compiled, known: int) -> Again:
        call = event.call
        found = closest(call, self.calls) if call is not None and self.calls else ()
        if not found or found[0].kind == "unknown":
            name = self.function.short
            what = f"`{name}` was compiled in another form: its derivative, a batch of it, or within eager code"
            found = (Cause("transformed", "", what, ADVICE["transformed"]),)
        return Again("compile", (self.compiles,), call.place if call else "", found, known)

    def counted(self, name: str) -> Counted:
        programs, again = tuple(self.programs), tuple(_gathered(self.again))
        return Counted(self.function, name, self.traces, self.nested, self.compiles, programs, again)


def _gathered(again: list[Again]) -> list[Again]:
    groups: dict[tuple[object, ...], list[Again]] = {}
    for one in again:
        groups.setdefault(one.key, []).append(one)
    return [replace(group[0], numbers=tuple(one.numbers[0] for one in group)) for group in groups.values()]


def _names(functions: list[Function]) -> list[str]:
    """Short names where they tell functions apart, else with what they are defined in, else with their place."""
    names = []
    for function in functions:
        options = (function.short, function.name, f"{function.name} ({function.place})")
        others = [other for other in functions if other is not function]
        told = (
            (options[0], [other.short for other in others]),
            (options[1], [other.name for other in others]),
        )
        names.append(next((name for name, taken in told if name not in taken), options[2]))
    return names
