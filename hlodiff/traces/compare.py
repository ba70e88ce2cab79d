"""A scenario against its record and its budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hlodiff.traces.counted import Account, Counted
from hlodiff.traces.words import many

Status = Literal["identical", "changed", "added", "removed", "not_checked"]
Budgets = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ComparedTraces:
    """One scenario on both sides.

    Args:
        name: its name.
        status: what became of it; "added" has no record, "removed" is registered no more.
        old: what is recorded; None where nothing is.
        new: what it costs now; None where it was not run.
        changes: what differs, one sentence each.
        over: budgets that are exceeded, one sentence each.
        notes: what must be said of the comparison.
        reason: why it was not compared.
        advice: what to do about that; "" when nothing helps.
        log: the end of what the worker wrote.

    Example:
        >>> ComparedTraces("steps", "added").status
        'added'
    """

    name: str
    status: Status
    old: Account | None = None
    new: Account | None = None
    changes: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    advice: str = ""
    log: str = ""


def differences(old: Account, new: Account, *, programs: bool = True) -> tuple[str, ...]:
    """What differs between two runs of a scenario; places in files do not count.

    Args:
        old, new: both runs.
        programs: whether the programs themselves are compared; their number always is.

    Returns:
        sentences, in the order of the functions.

    Example:
        >>> from hlodiff.traces.records import Function
        >>> runs = [Account((Counted(Function("f", "a.py:1"), "f", n, 0, 1, ("9f2c",)),)) for n in (1, 3)]
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
            found.append(f"`{name}` is traced no more, before {_cost(before[name])}")
        else:
            found += _changed(before[name], after[name], programs)
    return tuple(found)


def _changed(old: Counted, new: Counted, programs: bool) -> Iterator[str]:
    counts = False
    for what, before, after in (
        ("traced", old.traces, new.traces),
        ("compiled", old.compiles, new.compiles),
    ):
        # A trace brings its compile along: said once.
        if before != after and not (counts and after - new.traces == before - old.traces):
            counts = True
            yield f"`{new.name}` is {what} {many(after, 'time')}, before {many(before, 'time')}"
    if len(old.programs) != len(new.programs):
        yield f"`{new.name}` has {many(len(new.programs), 'program')}, before {len(old.programs)}"
    elif programs and old.programs != new.programs:
        others = sum(mark not in old.programs for mark in new.programs)
        what = f"{others} of {many(len(new.programs), 'program')}" if others else "the order of its programs"
        yield f"`{new.name}`: {what} changed"
    elif not counts and _reasons(old) != _reasons(new):
        yield f"`{new.name}` is traced again for other reasons"


def _reasons(one: Counted) -> list[object]:
    return [(a.what, a.numbers, a.waste, tuple((c.kind, c.path) for c in a.causes)) for a in one.again]


def _cost(one: Counted) -> str:
    return f"{many(one.traces, 'trace')}, {many(len(one.programs), 'program')}"


def exceeded(account: Account, max_traces: Budgets, max_programs: Budgets) -> tuple[str, ...]:
    """Which budgets a run exceeds.

    Args:
        account: the run.
        max_traces, max_programs: pairs of a function's name and a number; "" for every function, "total" for all.

    Returns:
        one sentence for each; a budget for a function that was never traced is one too, since it guards nothing.

    Example:
        >>> exceeded(Account(()), (("stp", 1),), ())
        ('max_traces names `stp`, but no function of that name was traced',)
    """
    traces = {one.name: one.traces for one in account.functions}
    programs = {one.name: len(one.programs) for one in account.functions}
    return (
        *_over(account, "max_traces", "trace", max_traces, traces),
        *_over(account, "max_programs", "program", max_programs, programs),
    )


def _over(account: Account, key: str, thing: str, budgets: Budgets, counts: dict[str, int]) -> Iterator[str]:
    for name, most in budgets:
        if name == "total":
            total = sum(counts.values())
            if total > most:
                yield f"{many(total, thing)} in all, {key} allows {most}"
            continue
        meant = [one.name for one in account.functions if name in ("", one.name, one.function.short, one.function.name)]
        if name and not meant:
            yield f"{key} names `{name}`, but no function of that name was traced"
        yield from (
            f"`{one}` has {many(counts[one], thing)}, {key} allows {most}" for one in meant if counts[one] > most
        )
