"""Trace counts as plain values for traces.yaml, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hlodiff.tracing.causes import ADVICE, NOT_KNOWN_COMPILE, Cause
from hlodiff.tracing.counts import FunctionCounts, TraceCounts
from hlodiff.tracing.records import Function
from hlodiff.tracing.retraces import Retrace


def to_plain(counts: TraceCounts) -> dict[str, Any]:
    """Functions by name: source location, counts, programs, and the causes of retraces.

    Example:
        >>> to_plain(TraceCounts((FunctionCounts(Function("f", "a.py:1"), "f", 1, 0, 1, ("9f2c",)),)))
        {'f': {'defined': 'a.py:1', 'traces': 1, 'compiles': 1, 'programs': ['9f2c']}}
    """
    return {one.name: _write_function(one) for one in counts.functions}


def _write_function(one: FunctionCounts) -> dict[str, Any]:
    table: dict[str, Any] = {"defined": one.function.place, "traces": one.traces}
    if one.nested:
        table["inside_of_others"] = one.nested
    table |= {"compiles": one.compiles, "programs": list(one.programs)}
    if one.again:
        table["again"] = dict(_write_again(one))
    return table


def _write_again(one: FunctionCounts) -> Iterator[tuple[str, dict[str, Any]]]:
    for again in one.again:
        plural = "s" if len(again.numbers) > 1 else ""
        row: dict[str, Any] = {"called": again.called} if again.called else {}
        if again.waste:
            row["equal_to_program"] = again.same_as
        row["why"] = [{"kind": cause.kind, "path": cause.path, "what": cause.what} for cause in again.causes]
        yield f"{again.what}{plural} {', '.join(map(str, again.numbers))}", row


def from_plain(functions: Any) -> TraceCounts:
    """The counts that `to_plain` wrote.

    Args:
        functions: `functions` of an untrusted traces.yaml.

    Returns:
        the counts.

    Raises:
        ValueError: it is no such mapping; names the function that is wrong.

    Example:
        >>> from_plain({"f": {"defined": "a.py:1", "traces": 1, "compiles": 1, "programs": ["9f2c"]}}).programs
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
    if kind == "transformed":  # of an earlier version, which guessed
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
