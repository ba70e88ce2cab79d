"""The part of `check --against` that is about scenarios and growth: both sides run now, and nothing is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hlodiff.capture import Discovery, GrowthRequest, NotChecked, Ran
from hlodiff.cli.growing import Grew, growing_keys, grown
from hlodiff.cli.growth_checking import grown_words
from hlodiff.cli.registered import Chosen
from hlodiff.cli.scenario_runs import ChosenScenarios, chosen_scenarios, compared_records, run_scenarios
from hlodiff.config import Config
from hlodiff.policy import Finding, judge_scenarios
from hlodiff.policy.growth import RULE, growth_record, judge_growth
from hlodiff.store import Key, RecordedTraces
from hlodiff.traces.compare import ComparedTraces, exceeded
from hlodiff.traces.counted import count

# What only one side has is told, and fails nothing.
_ONE_SIDED = ("traces-new", "traces-orphaned")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared.

    Args:
        config, discovery: its own.
        keys: its programs that are compared.
        called: `at main (3fa2b1c)`, `in this work tree`.
    """

    config: Config
    discovery: Discovery
    keys: tuple[Key, ...]
    called: str

    def chosen(self) -> Chosen:
        """Its programs, as a run has them."""
        return Chosen(self.keys, (), (), ChosenScenarios())


def scenario_names(*sides: Discovery) -> tuple[str, ...]:
    """All scenarios of some sides, each once."""
    return tuple(dict.fromkeys(found.name for side in sides for found in side.scenarios))


def compared_scenarios(
    old: Side, new: Side, names: Sequence[str], targets: Sequence[str], jobs: int | None
) -> tuple[ComparedTraces, ...]:
    """Run the scenarios of both sides and compare them.

    Args:
        old, new: both sides.
        names, targets: patterns; all where empty.
        jobs: how many workers.

    Returns:
        one record for each: those of the new side in their order, then those that only the old one has.
    """
    before, after = (_ran(side, names, targets, jobs) for side in (old, new))
    limits = {found.name: found for found in new.discovery.scenarios}
    compared = []
    for name in dict.fromkeys((*after, *before)):
        one = _compared(name, (old, before.get(name)), (new, after.get(name)))
        if one.new is not None:
            own = limits[name]
            one = replace(one, over=exceeded(one.new, own.max_traces, own.max_programs))
        compared.append(one)
    return tuple(compared)


def _ran(side: Side, names: Sequence[str], targets: Sequence[str], jobs: int | None) -> dict[str, Ran]:
    chosen = chosen_scenarios(ChosenScenarios(side.discovery.scenarios), names, targets)
    outcomes = {outcome.name: outcome for outcome in run_scenarios(side.config, chosen, jobs)}
    return {found.name: outcomes[found.name] for found in chosen.registered}


def _compared(name: str, old: tuple[Side, Ran | None], new: tuple[Side, Ran | None]) -> ComparedTraces:
    failed = [(side, outcome) for side, outcome in (old, new) if outcome is not None and outcome.what]
    if failed:
        # The work tree's own trouble is what can be repaired.
        side, outcome = failed[-1]
        where = f"{side.config.root}/"
        words, log = outcome.what.replace(where, ""), outcome.log.replace(where, "")
        return ComparedTraces(name, "not_checked", reason=f"{side.called}: {words}", advice=outcome.advice, log=log)
    before, after = (RecordedTraces(name, one.jax, count(one.events)) if one else None for _, one in (old, new))
    if before is not None and after is not None:
        return compared_records(name, before, after)
    if after is not None:
        return ComparedTraces(name, "added", None, after.account)
    return ComparedTraces(name, "removed", before.account if before else None)


def judged_scenarios(scenarios: Sequence[ComparedTraces], everything: bool = False) -> tuple[Finding, ...]:
    """What fails of scenarios that both sides have, and of budgets.

    Args:
        scenarios: compared.
        everything: whether the details list every reason.
    """
    found = [one for one in judge_scenarios(scenarios, everything=everything) if one.rule not in _ONE_SIDED]
    return tuple(replace(one, advice="") if one.rule == "traces" else one for one in found)


def judged_growth(old: Side, new: Side, jobs: int | None, spec: str) -> tuple[Finding, ...]:
    """Look how the cases of both sides grow, and judge those of the new one.

    Args:
        old, new: both sides.
        jobs: how many workers.
        spec: what the old one is called in a sentence.

    Returns:
        findings in the order of registration; a case that only one side has is judged by its limits alone.
    """
    after = _grew(new, growing_keys(new.discovery, new.chosen()), jobs)
    both = [key for key in growing_keys(old.discovery, old.chosen()) if any(_same(key, grew.key) for grew in after)]
    before = _grew(old, both, jobs)
    return tuple(
        finding
        for grew in after
        for finding in _judged(grew, next((one for one in before if _same(one.key, grew.key)), None), old, new, spec)
    )


def _same(one: Key, other: Key) -> bool:
    return (one.function, one.case) == (other.function, other.case)


def _grew(side: Side, keys: Sequence[Key], jobs: int | None) -> list[Grew]:
    requests = [GrowthRequest(key.function, key.case, key.target) for key in keys]
    found = {grew.key: grew for grew in grown(side.config, requests, jobs)}
    return [found[key] for key in keys if key in found]


def _judged(new: Grew, old: Grew | None, there: Side, here: Side, spec: str) -> Iterator[Finding]:
    for side, grew in ((here, new), (there, old)):
        if grew is not None and grew.trouble is not None:
            yield _trouble(side, grew)
            return
    key = new.key
    known = {growth.parameter for growth in new.growths}
    # Sizes that came or went are the code's affair; without a partner only the limits are asked.
    growths = [growth for growth in (old.growths if old else ()) if growth.parameter in known]
    growths += [growth for growth in new.growths if growth.parameter not in {one.parameter for one in growths}]
    record = growth_record(key.function, key.case, growths)
    words = {growth.parameter: grown_words(growth, str(here.config.root)) for growth in new.growths}
    for finding in judge_growth(key.name, new.growths, record, dict(new.limits), words):
        details = tuple(line.replace("(recorded: ", f"(at {spec}: ") for line in finding.details)
        what = finding.what.replace(", recorded as ", f", at {spec} ")
        what = what.replace("better than recorded", f"better than at {spec}")
        yield replace(finding, what=what, advice="", details=details)


def _trouble(side: Side, grew: Grew) -> Finding:
    assert grew.trouble is not None
    if isinstance(grew.trouble, NotChecked):
        return Finding("info", RULE, grew.key.name, grew.key.target, grew.trouble.reason, grew.trouble.advice)
    where = f"{side.config.root}/"
    log = tuple(grew.trouble.log_tail.replace(where, "").rstrip().split("\n")[-12:]) if grew.trouble.log_tail else ()
    what = f"{side.called}: {grew.trouble.what.replace(where, '')}"
    return Finding("broken", RULE, grew.key.name, None, what, "", log)
