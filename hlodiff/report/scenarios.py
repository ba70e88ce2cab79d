"""Scenarios in a report: what changed, which budgets are exceeded, and why functions were traced again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hlodiff.report.escape import clip, code, markdown
from hlodiff.traces.compare import ComparedTraces
from hlodiff.traces.counted import Account
from hlodiff.traces.stored import to_plain
from hlodiff.traces.words import account_in_words, many

_WORDS = {
    "check": {"added": "new: no record", "removed": "orphaned: no such scenario any more"},
    "diff": {"added": "added", "removed": "removed"},
}
_TOTALS = {"changed": "changed", "added": "new", "removed": "orphaned", "not_checked": "could not be judged"}
_MOST_LINES_OF_LOG = 12
_WIDEST = 300


def is_told(one: ComparedTraces) -> bool:
    """Whether there is anything to say of a scenario."""
    return one.status != "identical" or bool(one.over)


def scenario_lines(scenarios: Sequence[ComparedTraces], command: str, everything: bool) -> Iterator[tuple[int, str]]:
    """What a report says of scenarios, line by line.

    Args:
        scenarios: all of them.
        command: "check" or "diff".
        everything: whether every reason is listed.

    Returns:
        indentation and text.

    Example:
        >>> list(scenario_lines([ComparedTraces("steps", "removed")], "diff", False))
        [(0, 'steps  removed'), (0, '')]
    """
    for one in filter(is_told, scenarios):
        yield 0, f"{one.name}  {_status(one, command)}"
        for text in (*one.changes, *(f"over budget: {what}" for what in one.over), *one.notes):
            yield 2, text
        if one.status == "not_checked":
            yield from ((2, part) for part in one.reason.split("\n"))
            if one.advice:
                yield 2, f"hint: {one.advice}"
            yield from ((4, f"| {part}") for part in one.log.rstrip().split("\n")[-_MOST_LINES_OF_LOG:] if one.log)
        elif one.new is not None:
            for line in account_in_words(one.new, everything):
                yield 2 + len(line) - len(line.lstrip()), line.lstrip()
        yield 0, ""


def _status(one: ComparedTraces, command: str) -> str:
    if one.status == "not_checked":
        return "could not be judged"
    if one.status == "identical":
        return "over budget"
    return _WORDS[command].get(one.status, f"{one.status}: calls are traced or compiled otherwise")


def scenario_markdown(scenarios: Sequence[ComparedTraces], command: str, everything: bool) -> Iterator[str]:
    """The same as Markdown: a table, and the reasons folded.

    Args:
        scenarios: all of them.
        command: "check" or "diff".
        everything: whether every reason is listed.

    Returns:
        lines.
    """
    told = [one for one in scenarios if is_told(one)]
    if not told:
        return
    yield from ("| scenario | what | traces | programs |", "| --- | --- | ---: | ---: |")
    for one in told:
        said = [*one.changes, *(f"over budget: {what}" for what in one.over), *([one.reason] if one.reason else [])]
        what = "<br>".join(markdown(clip(text, _WIDEST)) for text in [_status(one, command), *said])
        yield f"| {code(one.name)} | {what} | {_pair(one, 'traces')} | {_pair(one, 'programs')} |"
    yield ""
    for one in told:
        if one.new is not None and any(function.again for function in one.new.functions):
            yield from (f"<details><summary>why of {code(one.name)}</summary>".replace("`", ""), "")
            for line in account_in_words(one.new, everything):
                yield f"{' ' * (len(line) - len(line.lstrip()))}- {markdown(line.lstrip().removeprefix('-> '))}"
            yield from ("", "</details>", "")


def _pair(one: ComparedTraces, what: str) -> str:
    sides = [str(getattr(side, what)) for side in (one.old, one.new) if side is not None]
    return " -> ".join(dict.fromkeys(sides))


def scenario_json(one: ComparedTraces) -> dict[str, Any]:
    """A scenario for machines: everything, nothing cut."""
    return {
        "name": one.name,
        "status": one.status,
        "changes": list(one.changes),
        "over_budget": list(one.over),
        "notes": list(one.notes),
        "old": _side(one.old),
        "new": _side(one.new),
        **({"reason": one.reason, "advice": one.advice, "log": one.log} if one.reason else {}),
    }


def _side(account: Account | None) -> dict[str, Any] | None:
    if account is None:
        return None
    return {"traces": account.traces, "programs": account.programs, "functions": to_plain(account)}


def scenario_totals(scenarios: Sequence[ComparedTraces]) -> str:
    """How many scenarios changed: `scenarios: 1 changed, 2 unchanged`.

    Example:
        >>> scenario_totals([ComparedTraces("steps", "identical")])
        'scenarios: 1 unchanged'
    """
    counts = [(word, sum(one.status == key for one in scenarios)) for key, word in _TOTALS.items()]
    over = sum(one.status == "identical" and bool(one.over) for one in scenarios)
    same = sum(one.status == "identical" and not one.over for one in scenarios)
    counts += [("over budget", over), ("unchanged", same)]
    return "scenarios: " + ", ".join(f"{count:,} {word}" for word, count in counts if count)


def checked_scenarios(scenarios: Sequence[ComparedTraces]) -> str:
    """How many were run.

    Example:
        >>> checked_scenarios([ComparedTraces("steps", "identical")])
        '1 scenario on cpu'
    """
    return f"{many(sum(one.new is not None for one in scenarios), 'scenario')} on cpu"
