"""Scenarios in a report; what is wrong with one is a finding, see `policy.scenarios`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from hlodiff.report.numbers import many
from hlodiff.tracing.compare import TraceComparison
from hlodiff.tracing.counts import TraceCounts
from hlodiff.tracing.serialize import to_plain

State = Literal["changed", "added", "removed", "not_checked", "over_budget", "identical"]
_WORDS = {
    "check": {"added": "new", "removed": "orphaned", "not_checked": "could not be judged"},
    "diff": {"not_checked": "could not be compared"},
}
_ORDER: tuple[State, ...] = ("changed", "added", "removed", "not_checked", "over_budget", "identical")


def state_of(one: TraceComparison) -> State:
    """What became of a scenario: a limit outranks a change, as for programs.

    Example:
        >>> state_of(TraceComparison("steps", "identical", over=("too much",)))
        'over_budget'
    """
    return "over_budget" if one.status in ("identical", "changed", "added") and one.over else one.status


def scenario_totals(states: Sequence[State], command: str) -> str:
    """How many scenarios changed, "" where there is none.

    Example:
        >>> scenario_totals(["changed", "identical"], "check")
        'scenarios: 1 changed, 1 unchanged'
    """
    words = {"over_budget": "over budget", "identical": "unchanged", **_WORDS[command]}
    counts = Counter(states)
    text = ", ".join(f"{counts[state]:,} {words.get(state, state)}" for state in _ORDER if counts[state])
    return f"scenarios: {text}" if text else ""


def checked_scenarios(scenarios: Sequence[TraceComparison]) -> str:
    """How many were run, "" for none.

    Example:
        >>> checked_scenarios([])
        ''
    """
    ran = sum(one.new is not None for one in scenarios)
    return f"{many(ran, 'scenario')} on cpu" if ran else ""


def scenario_json(one: TraceComparison) -> dict[str, Any]:
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


def _side(counts: TraceCounts | None) -> dict[str, Any] | None:
    if counts is None:
        return None
    return {"traces": counts.traces, "programs": counts.programs, "functions": to_plain(counts)}
