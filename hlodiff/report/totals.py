"""How many programs and scenarios have each outcome, and the last line of every report, which says so.

The unit is the same in every report, and each program counts once: `3 changed, 1 new, 2 not checked, 44 unchanged`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hlodiff.differ.comparison import STATUSES, ProgramComparison, Status
from hlodiff.hlo.model import PROGRAM_NAMES
from hlodiff.policy.findings import SCENARIO_RULES, Judgement, of_policy, over_programs
from hlodiff.report.wording import many

if TYPE_CHECKING:
    from hlodiff.report.report import Report
    from hlodiff.report.view import ReportView
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
    from hlodiff.tracing.serialize import to_plain

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


# --- In words.

_WORDS = {
    "check": {"changed": "changed", "added": "new", "removed": "orphaned"},
    "diff": {"changed": "changed", "added": "added", "removed": "removed"},
}


def format_totals(report: Report | ReportView) -> str:
    """The totals and the next command.

    Example:
        >>> from hlodiff.report.report import Report
        >>> format_totals(Report("diff", "a", "b", ()))
        'nothing to compare'
    """
    counts = report.totals()
    scenarios = scenario_totals(report.scenario_states(), report.command)
    if not counts["programs"]:
        words = scenarios or "nothing to compare"
    else:
        parts = [f"{counts[key]:,} {word}" for key, word in _WORDS[report.command].items() if counts[key]]
        if counts["passing"]:
            passing = "all" if counts["passing"] == counts["changed"] > 1 else f"{counts['passing']:,}"
            verb = "passes" if counts["passing"] == 1 else "pass"
            parts[0] += f" ({f'{passing} {verb}' if counts['changed'] > 1 else verb})"
        parts += [f"{counts['over_budget']:,} over budget"] if counts["over_budget"] else []
        parts += [f"{counts['broken']:,} could not be judged"] if counts["broken"] else []
        unchecked = counts["not_checked"] - counts["broken"]
        parts += [f"{unchecked:,} not checked"] if unchecked else []
        parts += [f"{counts['identical']:,} unchanged"] if counts["identical"] or not parts else []
        words = ", ".join(parts) + (f"; {scenarios}" if scenarios else "")
    further = [finding for finding in report.further_findings() if finding.severity != "info"]
    rules = Counter(f.rule for f in further if f.rule not in SCENARIO_RULES and not of_policy(f))
    words += "".join(f", {many(count, f'{rule} finding')}" for rule, count in sorted(rules.items()))
    warned = sum(of_policy(finding) and finding.severity == "warning" for finding in further)
    words += f", {many(warned, 'warning')}" if warned else ""
    return f"{words}; next: {report.next}" if report.next else words


def format_checked(report: Report) -> str:
    """How much was looked at; a program is a function, case and target, in both stages.

    Example:
        >>> from hlodiff.report.report import Report
        >>> format_checked(Report("check", "a", "b", ()))
        '0 programs'
    """
    compared = looked_at(report)
    words = many(len(outcomes(compared)), "program")
    scenarios = checked_scenarios(report.scenarios)
    if not compared:
        return scenarios or words
    # Files of a diff belong to no known function.
    functions = dict.fromkeys(program.name.partition("/")[0] for program in compared if program.target)
    on = list(dict.fromkeys(program.target for program in compared if program.target))
    parts = [words, f"{many(len(functions), 'function')} on {', '.join(on)}" if functions else ""]
    words = f"{': '.join(filter(None, parts))}, {_format_stages(compared)}"
    return f"{words}; {scenarios}" if scenarios else words


def looked_at(report: Report) -> list[ProgramComparison]:
    """Programs that were captured or read: not those whose function is no longer registered.

    Example:
        >>> from hlodiff.report.report import Report
        >>> looked_at(Report("check", "a", "b", (ProgramComparison("f", "cpu", "compiled", "removed"),)))
        []
    """
    skipped = ("not_checked", "removed") if report.command == "check" else ("not_checked",)
    return [program for program in report.programs if program.status not in skipped]


def _format_stages(compared: Sequence[ProgramComparison]) -> str:
    """`StableHLO and compiled HLO of each`, or of how many."""
    every = {(program.name, program.target) for program in compared}
    counts = {
        word: len({(p.name, p.target) for p in compared if p.stage == stage}) for stage, word in PROGRAM_NAMES.items()
    }
    if all(count in (0, len(every)) for count in counts.values()):
        return f"{' and '.join(word for word, count in counts.items() if count)} of each"
    return " and ".join(f"{word} of {count:,}" for word, count in counts.items())
