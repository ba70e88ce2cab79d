"""The last line of every report: `3 changed, 1 new, 2 not checked, 44 unchanged`, and the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.hlo.model import PROGRAM_NAMES
from hlodiff.policy.findings import SCENARIO_RULES, of_policy
from hlodiff.report.report import Report, State, outcomes
from hlodiff.report.wording import format_next, many

if TYPE_CHECKING:
    from hlodiff.report.view import ReportView
    from hlodiff.tracing.compare import TraceComparison

_WORDS = {"identical": "unchanged", "not_checked": "not checked", "over_budget": "over budget"}
_OF_CHECK = {"added": "new", "removed": "orphaned"}


def format_totals(report: Report | ReportView) -> str:
    """The totals and the next command.

    Example:
        >>> format_totals(Report("diff", "a", "b", ()))
        'nothing to compare'
    """
    counts = report.totals()
    scenarios = scenario_totals(report.scenario_states(), report.command) if report.scenarios else ""
    if not counts["programs"]:
        words = scenarios or "nothing to compare"
    else:
        differing = ("changed", "added", "removed")
        parts = [f"{counts[key]:,} {format_status(key, report.command)}" for key in differing if counts[key]]
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
    return f"{words}; {format_next(report.next)}" if report.next else words


def format_status(status: str, command: str) -> str:
    """What became of a program or scenario, in the words of "check" or "diff"; the same in every form.

    Example:
        >>> format_status("added", "check"), format_status("not_checked", "diff")
        ('new', 'not checked')
    """
    return _OF_CHECK[status] if command == "check" and status in _OF_CHECK else _WORDS.get(status, status)


def format_checked(report: Report) -> str:
    """How many programs were compared; a program is a function, case and target, in both stages.

    Example:
        >>> format_checked(Report("check", "a", "b", ()))
        '0 programs'
    """
    compared = looked_at(report)
    words = many(len(outcomes(compared)), "program")
    scenarios = checked_scenarios(report.scenarios)
    if not compared:
        return scenarios or words
    # Files of a diff belong to no function.
    functions = dict.fromkeys(program.name.partition("/")[0] for program in compared if program.target)
    on = list(dict.fromkeys(program.target for program in compared if program.target))
    parts = [words, f"{many(len(functions), 'function')} on {', '.join(on)}" if functions else ""]
    words = f"{': '.join(filter(None, parts))}, {_format_stages(compared)}"
    return f"{words}; {scenarios}" if scenarios else words


def looked_at(report: Report) -> list[ProgramComparison]:
    """Programs that were captured or read: not those whose function is no longer registered.

    Example:
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


# --- Scenarios. Problems with one are findings, see `policy.scenarios`.

_SCENARIO_ORDER: tuple[State, ...] = ("changed", "added", "removed", "not_checked", "over_budget", "identical")


def scenario_totals(states: Sequence[State], command: str) -> str:
    """How many scenarios changed; "" if there are none.

    Example:
        >>> scenario_totals(["changed", "identical"], "check")
        'scenarios: 1 changed, 1 unchanged'
    """
    words = {state: format_status(state, command) for state in _SCENARIO_ORDER}
    words["not_checked"] = f"could not be {'judged' if command == 'check' else 'compared'}"
    counts = Counter(states)
    text = ", ".join(f"{counts[state]:,} {words[state]}" for state in _SCENARIO_ORDER if counts[state])
    return f"scenarios: {text}" if text else ""


def checked_scenarios(scenarios: Sequence[TraceComparison]) -> str:
    """How many scenarios were run; "" for none.

    Example:
        >>> checked_scenarios([])
        ''
    """
    ran = sum(one.new is not None for one in scenarios)
    return f"{many(ran, 'scenario')} on cpu" if ran else ""
