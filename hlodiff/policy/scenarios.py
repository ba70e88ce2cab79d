"""Findings on scenarios: changed counts or programs, an exceeded budget, or no record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlodiff.policy.findings import Finding, Severity, end_of_log
from hlodiff.tracing.compare import TraceComparison
from hlodiff.tracing.counts import format_counts

_TARGET = "cpu"


def judge_scenarios(
    scenarios: Iterable[TraceComparison], *, command: str = "check", everything: bool = False
) -> tuple[Finding, ...]:
    """Judge compared scenarios.

    Args:
        scenarios: compared scenarios.
        command: "check", or "diff", in which nothing fails.
        everything: whether the details list every reason.

    Returns:
        findings in the order of the scenarios.

    Example:
        >>> judge_scenarios([TraceComparison("steps", "added")])[0].rule
        'traces-new'
    """
    judged = _checked if command == "check" else _compared
    return tuple(finding for one in scenarios for finding in judged(one, everything))


def _checked(one: TraceComparison, everything: bool) -> Iterator[Finding]:
    update, details = f"hlodiff update {one.name}", _details(one, everything)
    if one.status == "not_checked":
        yield _broken(one)
    elif one.status == "added":
        yield Finding("error", "traces-new", one.name, _TARGET, "has no record of its traces", update, details)
    elif one.status == "removed":
        what = "has a record of its traces, but no scenario of this name is registered any more"
        yield Finding("error", "traces-orphaned", one.name, _TARGET, what, "hlodiff update --prune")
    elif one.status == "changed":
        yield Finding("error", "traces", one.name, _TARGET, "; ".join(one.changes), update, details)
    for number, what in enumerate(one.over):
        shown = details if one.status == "identical" and not number else ()
        yield Finding("error", "traces-budget", one.name, _TARGET, what, details=shown)


def _compared(one: TraceComparison, everything: bool) -> Iterator[Finding]:
    words = {"added": "added", "removed": "removed", "changed": "; ".join(one.changes)}
    if one.status == "not_checked":
        yield _broken(one)
    elif one.status != "identical":
        severity: Severity = "info"
        yield Finding(severity, "traces", one.name, None, words[one.status], details=_details(one, everything))


def _broken(one: TraceComparison) -> Finding:
    details = end_of_log(one.log)
    return Finding("broken", "traces-broken", one.name, _TARGET, one.reason, one.advice, details)


def _details(one: TraceComparison, everything: bool) -> tuple[str, ...]:
    return (*one.notes, *(format_counts(one.new, everything) if one.new is not None else ()))
