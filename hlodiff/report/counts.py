"""How many programs and scenarios have each outcome: the same unit in every report, and each program counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hlodiff.differ.comparison import STATUSES, Status
from hlodiff.policy.findings import Judgement, of_policy, over_programs
from hlodiff.report.wording import many

if TYPE_CHECKING:
    from hlodiff.tracing.compare import TraceComparison
    from hlodiff.tracing.counts import TraceCounts


# --- Scenarios; what is wrong with one is a finding, see `policy.scenarios`.

State = Literal["changed", "added", "removed", "not_checked", "over_budget", "identical"]

_SCENARIO_WORDS = {
    "check": {"added": "new", "removed": "orphaned", "not_checked": "could not be judged"},
    "diff": {"not_checked": "could not be compared"},
}

_SCENARIO_ORDER: tuple[State, ...] = ("changed", "added", "removed", "not_checked", "over_budget", "identical")


def state_of(one: TraceComparison) -> State:
    """What became of a scenario: a limit outranks a change, as for programs.

    Example:
        >>> from hlodiff.tracing.compare import TraceComparison
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
    words = {"over_budget": "over budget", "identical": "unchanged", **_SCENARIO_WORDS[command]}
    counts = Counter(states)
    text = ", ".join(f"{counts[state]:,} {words.get(state, state)}" for state in _SCENARIO_ORDER if counts[state])
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


def _side(account: TraceCounts | None) -> dict[str, Any] | None:
    if account is None:
        return None
    from hlodiff.tracing.counts import to_plain

    return {"traces": account.traces, "programs": account.programs, "functions": to_plain(account)}


# --- Programs.

# The worse one first: what nobody could look at, what breaks a limit, what is another program.
_WORST: tuple[Status, ...] = ("not_checked", "changed", "added", "removed", "identical")

Label = tuple[str, str | None]


class StageCounts(Protocol):
    """One stage of a program, as records and views have it."""

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str | None: ...
    @property
    def status(self) -> Status: ...
    @property
    def broken(self) -> bool: ...


def outcomes(stages: Iterable[StageCounts]) -> Mapping[Label, Status]:
    """The outcome of each program, by name and target: that of the worse stage.

    Example:
        >>> from hlodiff.differ.comparison import ProgramComparison
        >>> stages = (("stablehlo", "identical"), ("compiled", "changed"))
        >>> outcomes([ProgramComparison("f", "cpu", stage, status) for stage, status in stages])
        {('f', 'cpu'): 'changed'}
    """
    found: dict[Label, Status] = {}
    for one in stages:
        known = found.get((one.name, one.target), "identical")
        found[one.name, one.target] = min(known, one.status, key=_WORST.index)
    return found


def count_programs(stages: Iterable[StageCounts], findings: Iterable[Judgement]) -> dict[str, int]:
    """The number of programs and of each outcome: the outcomes add up.

    Args:
        stages: of all programs.
        findings: of their policy; a program over a limit counts as that alone, whether or not it changed, and so does
            one whose limit could not be judged.

    Returns:
        further `broken`, those of the unchecked that could not be judged, and `passing`, those of the changed whose
        change the policy lets pass.

    Example:
        >>> count_programs([], [])["programs"]
        0
    """
    stages, findings = tuple(stages), tuple(findings)
    over = over_programs(findings)
    unjudged = {(f.program, f.target) for f in findings if f.severity == "broken" and of_policy(f)} - over
    lets_pass = passing(findings)
    counts = {"programs": 0, **dict.fromkeys(map(str, STATUSES), 0), "over_budget": 0, "passing": 0}
    for label, status in outcomes(stages).items():
        outcome = "over_budget" if label in over and status != "not_checked" else status
        outcome = "not_checked" if label in unjudged else outcome
        counts["programs"] += 1
        counts[outcome] += 1
        counts["passing"] += outcome == "changed" and label in lets_pass
    broken = {(one.name, one.target) for one in stages if one.broken or (one.name, one.target) in unjudged}
    return counts | {"broken": len(broken)}


def passing(findings: Iterable[Judgement]) -> frozenset[Label]:
    """Programs that changed in a way that the policy lets pass.

    Example:
        >>> passing([])
        frozenset()
    """
    return frozenset((f.program, f.target) for f in findings if (f.rule, f.severity) == ("changed", "info"))
