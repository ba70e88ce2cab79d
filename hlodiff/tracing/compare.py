"""Compares a scenario with its recorded counts and with its budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hlodiff.tracing.counts import FunctionCounts, TraceCounts, many

Status = Literal["identical", "changed", "added", "removed", "not_checked"]
Budgets = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """The comparison of one scenario.

    Args:
        name: its name.
        status: "added" has no record, "removed" is no longer registered.
        old: the recorded counts; None if there is no record.
        new: the current counts; None if it was not run.
        changes: the differences, one sentence each.
        over: exceeded budgets, one sentence each.
        notes: remarks on the comparison.
        reason: why it was not compared.
        advice: what to do about that; "" if nothing helps.
        log: the end of the worker's output.

    Example:
        >>> TraceComparison("steps", "added").status
        'added'
    """

    name: str
    status: Status
    old: TraceCounts | None = None
    new: TraceCounts | None = None
    changes: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    advice: str = ""
    log: str = ""


def differences(old: TraceCounts, new: TraceCounts, *, programs: bool = True) -> tuple[str, ...]:
    """The differences between two runs of a scenario; source locations are not compared.

    Args:
        old, new: both runs.
        programs: whether to compare fingerprints of programs; the number of programs is always compared.

    Returns:
        sentences, in the order of the functions.

    Example:
        >>> from hlodiff.tracing.records import Function
        >>> runs = [TraceCounts((FunctionCounts(Function("f", "a.py:1"), "f", n, 0, 1, ("9f2c",)),)) for n in (1, 3)]
        >>> differences(*runs)
        ('`f` is traced 3 times, before 1 time',)
    """
    before = {one.name: one for one in old.functions}
    after = {one.name: one for one in new.functions}
    found: list[str] = []
    for name in dict.fromkeys([*after, *before]):
        if name not in before:
            found.append(f"`{name}` is traced now: {_cost(after[name])}")
        elif name not in after:
            found.append(f"`{name}` is no longer traced, before {_cost(before[name])}")
        else:
            found += _changed(before[name], after[name], programs)
    return tuple(found)


def _changed(old: FunctionCounts, new: FunctionCounts, programs: bool) -> Iterator[str]:
    differs = False
    for what, before, after in (
        ("traced", old.traces, new.traces),
        ("compiled", old.compiles, new.compiles),
    ):
        # Each additional trace also compiles again: report that once.
        if before != after and not (differs and after - new.traces == before - old.traces):
            differs = True
            yield f"`{new.name}` is {what} {many(after, 'time')}, before {many(before, 'time')}"
    if len(old.programs) != len(new.programs):
        yield f"`{new.name}` has {many(len(new.programs), 'program')}, before {len(old.programs)}"
    elif programs and old.programs != new.programs:
        others = sum(fingerprint not in old.programs for fingerprint in new.programs)
        what = f"{others} of {many(len(new.programs), 'program')}" if others else "the order of its programs"
        yield f"`{new.name}`: {what} changed"
    elif not differs and _reasons(old) != _reasons(new):
        yield f"`{new.name}` is traced again for other reasons"


def _reasons(one: FunctionCounts) -> list[object]:
    return [(a.what, a.numbers, a.waste, tuple((c.kind, c.path) for c in a.causes)) for a in one.again]


def _cost(one: FunctionCounts) -> str:
    return f"{many(one.traces, 'trace')}, {many(len(one.programs), 'program')}"


def exceeded(counts: TraceCounts, max_traces: Budgets, max_programs: Budgets) -> tuple[str, ...]:
    """The budgets that a run exceeds.

    Args:
        counts: counts of the run.
        max_traces, max_programs: pairs of a function's name and a number; "" for every function, "total" for all.

    Returns:
        one sentence each, including for a budget of a function that was never traced, because it limits nothing.

    Example:
        >>> exceeded(TraceCounts(()), (("stp", 1),), ())
        ('max_traces names `stp`, but no function of that name was traced',)
    """
    traces = {one.name: one.traces for one in counts.functions}
    programs = {one.name: len(one.programs) for one in counts.functions}
    return (
        *_over(counts, "max_traces", "trace", max_traces, traces),
        *_over(counts, "max_programs", "program", max_programs, programs),
    )


def _over(counts: TraceCounts, key: str, thing: str, budgets: Budgets, numbers: dict[str, int]) -> Iterator[str]:
    for name, most in budgets:
        if name == "total":
            total = sum(numbers.values())
            if total > most:
                yield f"{many(total, thing)} in all, {key} allows {most}"
            continue
        named = [one.name for one in counts.functions if name in ("", one.name, one.function.short, one.function.name)]
        if name and not named:
            yield f"{key} names `{name}`, but no function of that name was traced"
        yield from (
            f"`{one}` has {many(numbers[one], thing)}, {key} allows {most}" for one in named if numbers[one] > most
        )
