"""The verdict on all programs: changes, exceeded budgets and violated rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlodiff.config import FAIL_ON, STAGE_WORDS, Config, RuleUse
from hlodiff.differ.classify import CLASSES
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.policy.budgets import Margin, MetricPair, margins, over_budget
from hlodiff.policy.findings import Finding, Severity, rule_label
from hlodiff.policy.program_pair import Hit, ProgramPair, pairs_of
from hlodiff.policy.rules import rule_of

# A program that changed type throughout violates a rule at every line; the first hits are enough.
_MOST_HITS = 10


def judge(programs: Iterable[ProgramComparison], config: Config | None = None) -> tuple[Finding, ...]:
    """Judge compared programs.

    Args:
        programs: both stages of each.
        config: the project's, with its policy; None for the default: changes fail, and there are no budgets or rules.

    Returns:
        findings in the order of the programs: for each function, case and target its outcomes (at most one finding of
        each kind), then its budgets, then its rules.

    Example:
        >>> judge([ProgramComparison("f", "cpu", "compiled", "added")])[0].what
        'has no snapshot'
    """
    return tuple(finding for both in pairs_of(programs) for finding in _judge(both, config))


def closest_margins(programs: Iterable[ProgramComparison], config: Config) -> dict[tuple[str, str | None], Margin]:
    """For each changed program, the limit that it is closest to without exceeding it.

    Args:
        programs: both stages of each.
        config: the project's, with its policy.

    Returns:
        margins by name and target.
    """
    found: dict[tuple[str, str | None], Margin] = {}
    for both in pairs_of(programs):
        for program in both.programs():
            if program.status != "changed":
                continue
            measured = MetricPair(program)
            for budget in config.budgets:
                if budget.stage == program.stage and both.fits(budget.functions, budget.targets):
                    for one in margins(measured, budget):
                        known = found.get((one.program, one.target), one)
                        found[one.program, one.target] = max(known, one, key=lambda margin: margin.share)
    return found


def _judge(both: ProgramPair, config: Config | None) -> Iterator[Finding]:
    fails: Iterable[str] = FAIL_ON
    if config is not None:  # the last table that matches the program, else the default
        fails = [config.fail_on, *(one.fail_on for one in config.changes if both.fits(one.functions, one.targets))][-1]
    found: dict[str, Finding] = {}  # one finding for each outcome of the comparison
    for stage in (both.stablehlo, both.compiled):
        if stage is not None and stage.status == "changed":
            found.setdefault("changed", _changed(both, fails))
        elif stage is not None and stage.status != "identical":
            one = _outcome(stage)
            found.setdefault(one.rule, one)
    yield from found.values()
    if config is None:
        return
    for program in both.programs():
        measured = MetricPair(program)
        for budget in config.budgets:
            if budget.stage == program.stage and both.fits(budget.functions, budget.targets):
                yield from over_budget(measured, budget)
    for use in config.rules:
        if both.fits(use.functions, use.targets):
            yield from _of_rule(both, use)


def _of_rule(both: ProgramPair, use: RuleUse) -> Iterator[Finding]:
    rule = rule_of(use)
    found: dict[str, Hit] = {}
    for hit in rule.violations(both):
        found.setdefault(hit.subject, hit)
    shown = list(found.values())[:_MOST_HITS]
    for number, hit in enumerate(shown, 1):
        rest = len(found) - len(shown)
        details = (f"and {rest:,} more like it",) if rest and number == len(shown) else ()
        yield Finding(
            rule_label(use.severity),
            use.rule,
            both.name,
            both.target,
            hit.what,
            rule.advice,
            details,
            hit.source,
            hit.subject,
        )


def _changed(both: ProgramPair, fails: Iterable[str]) -> Finding:
    stages = [program for program in (both.stablehlo, both.compiled) if program is not None]
    classes = dict.fromkeys(name for program in stages for name in program.classes if program.status == "changed")
    what = "no longer matches its snapshot"
    changed = [program for program in stages if program.status == "changed"]
    failing = set(fails)
    if any(failing & {one.stage, *one.classes, *(f"{one.stage}.{name}" for name in one.classes)} for one in changed):
        return Finding("error", "changed", both.name, both.target, what)
    own = " and ".join(sorted(classes, key=CLASSES.index)) or "nothing"
    if failing and any(word.partition(".")[0] in STAGE_WORDS for word in failing) and len(changed) == 1:
        own += f" of {'the compiled program' if changed[0].stage == 'compiled' else 'the StableHLO'}"
    only = f"{what}, but only in {own}, which `fail_on` does not name"
    return Finding("info", "changed", both.name, both.target, only, f"hlodiff update {both.name}")


def _outcome(program: ProgramComparison) -> Finding:
    name, target = program.name, program.target
    if program.status == "added":
        return Finding("error", "new", name, target, "has no snapshot", f"hlodiff update {name}")
    if program.status == "removed":
        what = "has a snapshot, but nothing of this name is registered for this target any more"
        return Finding("error", "orphaned", name, target, what, "hlodiff update --prune")
    if program.broken:
        return Finding("broken", "broken", name, target, program.reason, program.advice)
    # An unchecked program does not pass if it has a snapshot; without one it is only reported.
    severity: Severity = "warning" if program.recorded else "info"
    return Finding(severity, "not-checked", name, target, program.reason, program.advice)
