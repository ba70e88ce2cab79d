"""Trace counts as text, for terminals and messages."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.tracing.counts import FunctionCounts, TraceCounts
from hlodiff.tracing.retraces import Retrace

_MOST = 12  # reasons of one function
_MOST_NUMBERS = 8


def format_counts(counts: TraceCounts, everything: bool = False) -> Iterator[str]:
    """One line for each function, and below it the causes of its retraces.

    Args:
        counts: of a run.
        everything: whether every retrace is listed, however many there are.

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
    """How often a function was traced, and how many programs it compiled to.

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
        everything: whether every retrace is listed.

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
    """Which traces or compiles these are, and whether they were wasted.

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
    """A number with its noun, in the plural where needed.

    Example:
        >>> many(1, "trace"), many(2, "trace")
        ('1 trace', '2 traces')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
