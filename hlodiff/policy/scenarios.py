"""What makes `check` fail of a scenario: other counts or programs, a budget that is exceeded, no record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlodiff.policy.findings import Finding
from hlodiff.traces.compare import ComparedTraces

_TARGET = "cpu"
SCENARIO_RULES = ("traces-changed", "traces-new", "traces-orphaned", "traces-broken", "budget")


def judge_scenarios(scenarios: Iterable[ComparedTraces]) -> tuple[Finding, ...]:
    """Judge compared scenarios.

    Args:
        scenarios: each with its record.

    Returns:
        findings in the order of the scenarios.

    Example:
        >>> judge_scenarios([ComparedTraces("steps", "added")])[0].rule
        'traces-new'
    """
    return tuple(finding for one in scenarios for finding in _findings(one))


def _findings(one: ComparedTraces) -> Iterator[Finding]:
    update = f"hlodiff update {one.name}"
    if one.status == "not_checked":
        yield Finding("broken", "traces-broken", one.name, _TARGET, one.reason, one.advice)
    elif one.status == "added":
        yield Finding("error", "traces-new", one.name, _TARGET, "has no record of its traces", update)
    elif one.status == "removed":
        what = "has a record of its traces, but no scenario of this name is registered any more"
        yield Finding("error", "traces-orphaned", one.name, _TARGET, what, "hlodiff update --prune")
    elif one.status == "changed":
        yield Finding("error", "traces-changed", one.name, _TARGET, "; ".join(one.changes), update)
    yield from (Finding("error", "budget", one.name, _TARGET, what) for what in one.over)
