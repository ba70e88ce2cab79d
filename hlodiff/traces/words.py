"""An account in words, for terminals and messages."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.traces.counted import Account, Again, Counted

_MOST = 12  # reasons of one function
_MOST_NUMBERS = 8


def account_in_words(account: Account, everything: bool = False) -> Iterator[str]:
    """One line for each function, and below it why it was traced again.

    Args:
        account: what a run cost.
        everything: whether every trace is listed, however many there are.

    Returns:
        lines without line ends.

    Example:
        >>> list(account_in_words(Account(())))
        ['no function was traced or compiled']
    """
    if not account.functions:
        yield "no function was traced or compiled"
    for one in account.functions:
        yield function_in_words(one)
        yield from again_in_words(one, everything)


def function_in_words(one: Counted) -> str:
    """How often a function was traced, and to how many programs.

    Example:
        >>> from hlodiff.traces.records import Function
        >>> function_in_words(Counted(Function("f", "a.py:1"), "f", 2, 0, 2, ("9f2c",)))
        'f  2 traces, 1 program, compiled 2 times (a.py:1)'
    """
    nested = f" ({one.nested} inside of others)" if one.nested else ""
    times = f", compiled {one.compiles} times" if one.compiles != len(one.programs) else ""
    place = f" ({one.function.place})" if one.function.place and one.function.place not in one.name else ""
    return f"{one.name}  {many(one.traces, 'trace')}{nested}, {many(len(one.programs), 'program')}{times}{place}"


def again_in_words(one: Counted, everything: bool = False) -> Iterator[str]:
    """Why a function was traced again: what differs, and below it what to do.

    Args:
        one: a function.
        everything: whether every reason is listed.

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


def heading(again: Again) -> str:
    """Which traces these are, and whether they were of any use.

    Example:
        >>> heading(Again("trace", (2, 3), "a.py:9", (), 1))
        'traces 2, 3, called at a.py:9; waste: equal to program 1'
    """
    many = len(again.numbers) > _MOST_NUMBERS
    numbers = ", ".join(map(str, again.numbers[: 4 if many else None])) + (f" ... {again.numbers[-1]}" if many else "")
    at = f", called at {again.called}" if again.called else ""
    waste = f"; waste: equal to program {again.same_as}" if again.waste else ""
    return f"{again.what}{'s' if len(again.numbers) > 1 else ''} {numbers}{at}{waste}"


def many(number: int, thing: str) -> str:
    """A number of things.

    Example:
        >>> many(1, "trace"), many(2, "trace")
        ('1 trace', '2 traces')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
