"""How many programs have each outcome: the same unit in every report, and each program counts once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from hlodiff.differ.comparison import STATUSES, Status
from hlodiff.policy import over_programs
from hlodiff.policy.findings import Judgement

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
        findings: of their policy; a program over a limit counts as that alone, whether or not it changed.

    Returns:
        further `broken`, those of the unchecked that could not be judged, and `passing`, those of the changed whose
        change the policy lets pass.

    Example:
        >>> count_programs([], [])["programs"]
        0
    """
    stages, findings = tuple(stages), tuple(findings)
    over = over_programs(findings)
    lets_pass = passing(findings)
    counts = {"programs": 0, **dict.fromkeys(map(str, STATUSES), 0), "over_budget": 0, "passing": 0}
    for label, status in outcomes(stages).items():
        outcome = "over_budget" if label in over and status != "not_checked" else status
        counts["programs"] += 1
        counts[outcome] += 1
        counts["passing"] += outcome == "changed" and label in lets_pass
    broken = {(one.name, one.target) for one in stages if one.broken}
    return counts | {"broken": len(broken)}


def passing(findings: Iterable[Judgement]) -> frozenset[Label]:
    """Programs that changed in a way that the policy lets pass.

    Example:
        >>> passing([])
        frozenset()
    """
    return frozenset((f.program, f.target) for f in findings if (f.rule, f.severity) == ("changed", "info"))
