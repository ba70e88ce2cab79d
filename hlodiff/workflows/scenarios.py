"""Scenarios in `check`, `list`, `show` and `diff`; `update` records them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

from hlodiff.capture import DiscoveredScenario, Discovery, ScenarioRun, ran
from hlodiff.config import Config, shown_path
from hlodiff.errors import HlodiffError
from hlodiff.progress import progress
from hlodiff.report.wording import format_command
from hlodiff.snapshots import (
    BlockedError,
    FolderTree,
    FutureFormatError,
    Key,
    RecordedTraces,
    Tree,
    is_stale,
    read_traces,
    recorded_text,
    scenarios_of,
    traces_table,
)
from hlodiff.snapshots.records import TRACES
from hlodiff.tracing.compare import TraceComparison, differences, exceeded
from hlodiff.tracing.counts import count_traces
from hlodiff.workflows.pending_writer import PendingWriter

TARGET = "cpu"


@dataclass(frozen=True, slots=True)
class ChosenScenarios:
    """The scenarios of one run: registered ones, and records without a scenario."""

    registered: tuple[DiscoveredScenario, ...] = ()
    orphaned: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*(found.name for found in self.registered), *self.orphaned)


def all_scenarios(config: Config, discovery: Discovery) -> ChosenScenarios:
    """All registered or recorded scenarios."""
    known = {found.name for found in discovery.scenarios}
    recorded = scenarios_of(FolderTree(config.snapshots).files())
    return ChosenScenarios(discovery.scenarios, tuple(name for name in recorded if name not in known))


def chosen_scenarios(everything: ChosenScenarios, names: Sequence[str], targets: Sequence[str]) -> ChosenScenarios:
    """Scenarios whose names match; none if the target patterns exclude cpu.

    Args:
        everything: all scenarios.
        names, targets: patterns; all if empty.
    """
    if targets and not any(fnmatchcase(TARGET, target) for target in targets):
        return ChosenScenarios()

    def fits(name: str) -> bool:
        return not names or any(fnmatchcase(name, pattern) for pattern in names)

    registered = tuple(found for found in everything.registered if fits(found.name))
    return ChosenScenarios(registered, tuple(name for name in everything.orphaned if fits(name)))


def compare_scenarios(
    config: Config, chosen: ChosenScenarios, jobs: int | None, pending: PendingWriter
) -> tuple[TraceComparison, ...]:
    """Run scenarios and compare each with its record.

    Args:
        config: the project's.
        chosen: which ones.
        jobs: number of workers.
        pending: keeps unrecorded results for `accept`.

    Returns:
        one record for each, in the order of registration, orphans last.
    """
    tree = FolderTree(shown_path(config.snapshots))
    found = {one.name: one for one in chosen.registered}
    outcomes = run_scenarios(config, chosen, jobs)
    done = {outcome.name: _compared(tree, found[outcome.name], outcome, pending) for outcome in outcomes}
    orphans = [TraceComparison(name, "removed") for name in chosen.orphaned]
    return (*(done[name] for name in found), *orphans)


def run_scenarios(config: Config, chosen: ChosenScenarios, jobs: int | None) -> Iterator[ScenarioRun]:
    """Run scenarios, each in its own worker; outcomes in order of completion."""
    if not chosen.registered:
        return
    with progress(len(chosen.registered), "running") as step:
        running = ran(config, chosen.registered, jobs)
        with closing(running):
            for outcome in running:
                step(outcome.name, True)
                yield outcome


def _compared(tree: Tree, found: DiscoveredScenario, outcome: ScenarioRun, pending: PendingWriter) -> TraceComparison:
    name, key = found.name, Key(found.name, "", "traces")
    try:
        recorded, text = read_traces(tree, name), recorded_text(tree, key)
    except HlodiffError as error:
        advice = error.hint if isinstance(error, FutureFormatError | BlockedError) else f"hlodiff update {name}"
        return TraceComparison(name, "not_checked", reason=str(error), advice=advice)
    old = recorded.counts if recorded else None
    if outcome.what:
        pending.forget_record(key)
        return TraceComparison(name, "not_checked", old, reason=outcome.what, advice=outcome.advice, log=outcome.log)
    new = count_traces(outcome.events)
    over = exceeded(new, found.max_traces, found.max_programs)
    fresh = RecordedTraces(name, outcome.jax, new)
    if recorded is None:
        pending.record(key, traces_table(fresh), None, True, outcome.inputs)
        return TraceComparison(name, "added", None, new, over=over)
    done = compared_records(name, recorded, fresh, over)
    if done.status == "identical" and recorded.jax == fresh.jax:  # if only lines moved, there is nothing to record
        pending.forget_record(key)
    else:
        pending.record(key, traces_table(fresh), text, done.status == "changed", outcome.inputs)
    return done


def compared_records(
    name: str, old: RecordedTraces, new: RecordedTraces, over: tuple[str, ...] = ()
) -> TraceComparison:
    """Compare two records of one scenario. Between JAX versions StableHLO differs, so only counts are compared.

    Args:
        name: the scenario.
        old, new: both sides.
        over: budgets that the new side exceeds.
    """
    same = old.jax == new.jax
    changes = differences(old.counts, new.counts, programs=same)
    note = f"recorded with jax {old.jax}, now {new.jax}: counts are compared, not the programs"
    return TraceComparison(
        name, "changed" if changes else "identical", old.counts, new.counts, changes, over, () if same else (note,)
    )


def scenario_states(config: Config, chosen: ChosenScenarios) -> list[tuple[str, str, str]]:
    """For `list`: the name of each scenario, where it is registered ("" if it is not), and whether it is recorded."""
    tree = FolderTree(config.snapshots)
    recorded = scenarios_of(tree.files())

    def state(name: str) -> str:
        return "new" if name not in recorded else "stale" if is_stale(tree, [f"{name}/{TRACES}"]) else "recorded"

    rows = [(found.name, f"{found.file}:{found.line}", state(found.name)) for found in chosen.registered]
    return rows + [(name, "", "orphaned") for name in chosen.orphaned]


def shown_scenarios(tree: Tree, pattern: str) -> list[RecordedTraces]:
    """For `show`: the records whose names match."""
    names = [name for name in scenarios_of(tree.files()) if fnmatchcase(name, pattern)]
    return [found for name in names if (found := read_traces(tree, name)) is not None]


def following(scenarios: Sequence[TraceComparison], kept: Collection[Key] = ()) -> str:
    """The next command for scenarios alone; "" if there is none.

    Args:
        scenarios: compared with their records.
        kept: records pending for `accept`.
    """
    broken = [one for one in scenarios if one.status == "not_checked"]
    if broken and all(one.advice.startswith("hlodiff update ") for one in broken):
        return format_command("hlodiff update", [one.name for one in broken])
    if broken:
        return f"hlodiff check {broken[0].name}, once it is repaired"
    # Accepting records traces but does not bring them within their limits.
    over = [one.name for one in scenarios if one.over]
    differing = [one.name for one in scenarios if one.status in ("changed", "added") and one.name not in over]
    if differing:
        if all(Key(name, "", "traces") in kept for name in differing):
            return format_command("hlodiff accept", differing, "hlodiff review")
        return format_command("hlodiff update", differing)
    if over:
        return f"hlodiff check {' '.join(over[:3])}, once within limits"
    return "hlodiff update --prune" if any(one.status == "removed" for one in scenarios) else ""


def compared_trees(old: Tree | None, new: Tree | None, names: Sequence[str]) -> tuple[TraceComparison, ...]:
    """The compared scenario records of two trees, for `diff`.

    Args:
        old, new: folders of snapshots or git revisions; None if a side is something else.
        names: patterns; all if empty.

    Returns:
        one record for each scenario of either side, in the order of the names.
    """
    if old is None or new is None:
        return ()
    sides = [scenarios_of(tree.files()) for tree in (old, new)]
    found = []
    for name in sorted({*sides[0], *sides[1]}):
        if names and not any(fnmatchcase(name, pattern) for pattern in names):
            continue
        try:
            before, after = read_traces(old, name), read_traces(new, name)
        except HlodiffError as error:
            reason = str(error)
            found.append(TraceComparison(name, "not_checked", reason=reason, advice=error.hint))
            continue
        if before is not None and after is not None:
            found.append(compared_records(name, before, after))
        elif after is not None:
            found.append(TraceComparison(name, "added", None, after.counts))
        else:
            found.append(TraceComparison(name, "removed", cast(RecordedTraces, before).counts))
    return tuple(found)
