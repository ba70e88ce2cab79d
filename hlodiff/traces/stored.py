"""An account as plain values for traces.yaml, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hlodiff.traces.causes import ADVICE, Cause
from hlodiff.traces.counted import Account, Again, Counted
from hlodiff.traces.records import Function


def to_plain(account: Account) -> dict[str, Any]:
    """Functions by name: where each is defined, its counts and programs, and why it was traced again.

    Example:
        >>> to_plain(Account((Counted(Function("f", "a.py:1"), "f", 1, 0, 1, ("9f2c",)),)))
        {'f': {'defined': 'a.py:1', 'traces': 1, 'compiles': 1, 'programs': ['9f2c']}}
    """
    return {one.name: _function(one) for one in account.functions}


def _function(one: Counted) -> dict[str, Any]:
    table: dict[str, Any] = {"defined": one.function.place, "traces": one.traces}
    if one.nested:
        table["inside_of_others"] = one.nested
    table |= {"compiles": one.compiles, "programs": list(one.programs)}
    if one.again:
        table["again"] = dict(_again(one))
    return table


def _again(one: Counted) -> Iterator[tuple[str, dict[str, Any]]]:
    for again in one.again:
        plural = "s" if len(again.numbers) > 1 else ""
        row: dict[str, Any] = {"called": again.called} if again.called else {}
        if again.waste:
            row["equal_to_program"] = again.same_as
        row["why"] = [{"kind": cause.kind, "path": cause.path, "what": cause.what} for cause in again.causes]
        yield f"{again.what}{plural} {', '.join(map(str, again.numbers))}", row


def from_plain(functions: Any) -> Account:
    """The account that `to_plain` wrote, as far as it can be made out.

    Args:
        functions: the mapping of functions of a traces.yaml that nobody has vouched for.

    Returns:
        the account.

    Raises:
        ValueError: it is no such mapping; says which function is wrong.

    Example:
        >>> from_plain({"f": {"defined": "a.py:1", "traces": 1, "compiles": 1, "programs": ["9f2c"]}}).programs
        1
    """
    if not isinstance(functions, Mapping):
        raise ValueError("`functions` holds no functions by name")
    return Account(tuple(_counted(str(name), table) for name, table in functions.items()))


def _counted(name: str, table: Any) -> Counted:
    try:
        programs = tuple(str(mark) for mark in table["programs"])
        place = str(table.get("defined", ""))
        again = tuple(_read_again(str(key), row) for key, row in (table.get("again") or {}).items())
        return Counted(
            Function(name, place), name, int(table["traces"]), int(table.get("inside_of_others", 0)),
            int(table["compiles"]), programs, again,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"`{name}` cannot be read: {type(error).__name__}: {error}") from None


def _read_again(key: str, row: Mapping[str, Any]) -> Again:
    head, _, numbers = key.partition(" ")
    causes = tuple(
        Cause(str(why["kind"]), str(why["path"]), str(why["what"]), ADVICE.get(str(why["kind"]), ""))
        for why in row["why"]
    )
    return Again(
        "compile" if head.startswith("compile") else "trace",
        tuple(int(number) for number in numbers.split(",")),
        str(row.get("called", "")),
        causes,
        int(row.get("equal_to_program", 0)),
    )
