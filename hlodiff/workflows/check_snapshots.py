"""`check` against snapshots: programs are captured and compared with their snapshots, one by one, and judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from hlodiff.capture import CapturedProgram, Discovery, NotChecked, Outcome, discover
from hlodiff.config import TABLE, Config, closest, in_ci, shown_path
from hlodiff.differ.comparison import ProgramComparison, Status
from hlodiff.differ.limits import Limits
from hlodiff.errors import HlodiffError
from hlodiff.hlo.fingerprint import fingerprint
from hlodiff.policy import Finding, judge, judge_scenarios
from hlodiff.policy.growth import RULE as GROWTH_RULE
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.report.timings import Timing
from hlodiff.snapshots import FutureFormatError, Key, is_unfinished, writing
from hlodiff.workflows.capture_programs import capture_programs
from hlodiff.workflows.capture_side import SideFailure, failure_of, not_compared, timing
from hlodiff.workflows.compare import ParsedSnapshot, compare, compare_lowered, one_sided, parse, record
from hlodiff.workflows.growth import check_growth
from hlodiff.workflows.next_command import following_all
from hlodiff.workflows.parity import check_parity
from hlodiff.workflows.pending import PendingWriter
from hlodiff.workflows.scenarios import compare_scenarios
from hlodiff.workflows.select import ChosenFunctions, choose, intact_snapshots, load_stored, requests_for, with_budgets

_MOST_NAMES = 3


def skipped_notes(uncompiled: Sequence[Key], discovery: Discovery, chosen: ChosenFunctions) -> tuple[str, ...]:
    """Notes of a report on what a run skipped because it only lowers.

    Args:
        uncompiled: programs whose compiled HLO may have changed.
        discovery: what is registered.
        chosen: what the run is about.

    Returns:
        one note for compiled programs and one for what would have to be run; () where nothing was skipped.
    """
    notes = []
    if uncompiled:
        named = _listed([f"{key.name} on {key.target}" for key in uncompiled])
        notes.append(f"compiled HLO was not looked at: {named}; `hlodiff check` without --stage compiles")
    functions = {key.function for key in chosen.registered}
    run = [f"scenario {found.name}" for found in chosen.scenarios.registered]
    run += [f"parity of {found.name}" for found in discovery.functions if found.parity and found.name in functions]
    if run:
        notes.append(f"not run, so not looked at: {_listed(run)}; `hlodiff check` without --stage runs them")
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more])


@dataclass(slots=True)
class CheckRun:
    """Programs compared with their snapshots, as they are captured.

    Args:
        config: the project's.
        pending: keeps what was captured and is not recorded.
        results: both stages of each program.
        toolchains: target, recorded and current toolchain of each program that has a snapshot.
        timed: how long each program took to make; None where timings were not requested, so that unchanged programs
            are not compiled.
        lower_only: whether XLA is never asked, and StableHLO alone is compared where the compiled program is unknown.
        uncompiled: programs whose compiled HLO was not compared.
    """

    config: Config
    pending: PendingWriter
    results: dict[Key, tuple[ProgramComparison, ...]] = field(default_factory=dict)
    toolchains: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    timed: dict[Key, Timing] | None = None
    lower_only: bool = False
    uncompiled: list[Key] = field(default_factory=list)

    def compare_all(self, chosen: ChosenFunctions, jobs: int | None) -> None:
        """Capture the chosen programs and compare each as it comes."""
        stored, invalid = load_stored(self.config, (*chosen.registered, *chosen.orphaned))
        for key, error in invalid.items():
            self.results[key] = not_compared(key, replace(failure_of(error), advice=_repair(key, error)))
        for key in chosen.orphaned:
            if key in stored:
                self.results[key] = one_sided(stored[key], "removed")
        keys = [key for key in chosen.registered if key not in invalid]
        # Timings need XLA to compile also what is known to be unchanged.
        known = intact_snapshots(stored) if self.timed is None else {}
        with closing(capture_programs(self.config, requests_for(keys, known, self.lower_only), jobs)) as outcomes:
            for key, outcome in outcomes:
                self.results[key] = self.compare_one(key, outcome, stored.get(key))

    def compare_one(self, key: Key, outcome: Outcome, old: ParsedSnapshot | None) -> tuple[ProgramComparison, ...]:
        """Compare one program with its snapshot; an error concerns this program alone."""
        if isinstance(outcome, NotChecked):
            return not_compared(key, SideFailure(outcome.reason, outcome.advice), recorded=old is not None)
        if not isinstance(outcome, CapturedProgram):
            self.pending.forget(key)
            return not_compared(key, SideFailure(outcome.what, "", True, outcome.log_tail))
        if old is not None:
            before = old.snapshot.summary.get("toolchain") or {}
            self.toolchains.append((key.target, before, outcome.facts.get("toolchain") or before))
        try:
            if self.timed is not None:
                self.timed[key] = timing(key, outcome)
            if outcome.unchanged and old is not None:
                self.pending.forget(key)
                return one_sided(old, "identical")
            limits, root = Limits(**dict(self.config.limits)), str(self.config.root)
            if outcome.compiled is None:
                self.uncompiled.append(key)
                return (compare_lowered(outcome, old, limits, root, self.config.large_constants),)
            new = parse(record(outcome, root, self.config.large_constants), key.name)
            if old is None:
                return self.pending.compared(new.snapshot, None, one_sided(new, "added"), outcome.inputs)
            return self.pending.compared(new.snapshot, old.snapshot, compare(old, new, limits), outcome.inputs)
        except Exception as error:
            return not_compared(key, failure_of(error))

    def timings(self, chosen: ChosenFunctions) -> tuple[Timing, ...]:
        """Timings in the order of registration."""
        timed = self.timed or {}
        return tuple(timed[key] for key in chosen.registered if key in timed)

    def in_order(self, chosen: ChosenFunctions) -> tuple[ProgramComparison, ...]:
        """Results in the order of registration, orphans last."""
        return tuple(program for key in (*chosen.registered, *chosen.orphaned) for program in self.results.get(key, ()))


def _repair(key: Key, error: HlodiffError) -> str:
    """The command that records an invalid snapshot again, unless a newer hlodiff wrote it."""
    newer = isinstance(error, FutureFormatError) or error.what.startswith("internal error")
    return error.hint if newer else f"hlodiff update {key.name} --target {key.target}"


def check_snapshots(
    run: CheckRun, names: Sequence[str], targets: Sequence[str], everything: bool, jobs: int | None
) -> Report:
    """Compare what is registered with the snapshots and judge it.

    Args:
        run: nothing compared yet.
        names, targets: patterns; all where empty.
        everything: whether findings on scenarios list every reason.
        jobs: how many workers; None for the configuration's.

    Returns:
        the report.

    Raises:
        UsageError: a pattern matches nothing.
        HlodiffError: a registered module cannot be imported, or a setting is wrong.
    """
    config = run.config
    if is_unfinished(config.snapshots) and not in_ci():
        with writing(config.snapshots):
            pass  # taking the folder finishes what a killed `update` began
    discovery = discover(config)
    policy = with_budgets(config, discovery)
    chosen = choose(config, discovery, names, targets)
    idle = () if names or targets else idle_patterns(config, discovery)
    run.compare_all(chosen, jobs)
    if not (names or targets or run.lower_only):
        run.pending.forget_unregistered(discovery)
    programs = run.in_order(chosen)
    # Scenarios make real calls; records without a scenario are known without any.
    to_run = replace(chosen.scenarios, registered=()) if run.lower_only else chosen.scenarios
    scenarios = compare_scenarios(config, to_run, jobs, run.pending)
    findings = (
        *judge(programs, policy),
        *check_growth(config, discovery, chosen, names, jobs, run.pending),
        *(() if run.lower_only else check_parity(config, discovery, chosen, jobs)),
        *judge_scenarios(scenarios, everything=everything),
    )
    skipped = skipped_notes(run.uncompiled, discovery, chosen) if run.lower_only else ()
    # In CI the pending folder is on another machine than the reader of the log.
    kept = {} if in_ci() else run.pending.ids
    findings = with_ids(findings, run.pending.ids, here=not in_ci())
    return Report(
        command="check",
        old=str(shown_path(config.snapshots)),
        new="this work tree",
        programs=programs,
        findings=findings,
        toolchain=toolchain_changes(run.toolchains),
        notes=(*chosen.notes(), *run.pending.notes(), *skipped, *renamed(programs), *idle),
        next=following_all(programs, findings, scenarios, kept),
        root=str(config.root),
        timings=run.timings(chosen),
        scenarios=scenarios,
        registered={function.name: (function.file, function.line) for function in discovery.functions},
    )


def with_ids(findings: tuple[Finding, ...], kept: Mapping[Key, str], *, here: bool = True) -> tuple[Finding, ...]:
    """Findings on traces and growth that name the command which records them without another run.

    Args:
        findings: of a check.
        kept: pending records with their ids.
        here: whether the pending folder is on the reader's machine, so that the command can be typed.
    """
    words = {"traces": "traces", "traces-new": "traces", GROWTH_RULE: "growth"}
    ids = {(key.name, key.target): own for key, own in kept.items()}
    named = [ids.get((f.program, words.get(f.rule, "")), "") for f in findings]
    return tuple(_named(finding, own, here) for finding, own in zip(findings, named, strict=True))


def _named(finding: Finding, own: str, here: bool) -> Finding:
    is_accepted = own and here and finding.advice.startswith("hlodiff ")
    return replace(finding, id=own, advice=f"hlodiff accept {own}" if is_accepted else finding.advice)


_Label = tuple[str, str | None]


def renamed(programs: Iterable[ProgramComparison], *, recorded: bool = True) -> tuple[str, ...]:
    """Notes of a report on new programs that are equal to orphaned ones.

    Args:
        programs: of a check.
        recorded: whether the old ones are snapshots, so that a command can move them.

    Returns:
        a note for each pair of names; where there are snapshots, with the command that records the new one and
        deletes the old one.

    Example:
        >>> renamed([ProgramComparison("f", "cpu", "compiled", "added")])
        ()
    """
    programs = tuple(programs)
    removed, added = _contents(programs, "removed"), _contents(programs, "added")
    pairs: dict[tuple[str, str], None] = {}
    for (name, target), stages in added.items():
        # One that was only lowered has no compiled stage.
        olds = [old for (old, on), known in removed.items() if on == target and known.items() >= stages.items()]
        if len(olds) == 1:
            pairs[olds[0], name] = None
    return tuple(
        f"{new} compiles to what {old} was: "
        + (f"if it was renamed, `hlodiff update --prune {new} {old}`" if recorded else "it may have been renamed")
        for old, new in pairs
    )


def _contents(programs: Iterable[ProgramComparison], status: Status) -> dict[_Label, dict[str, str]]:
    """The fingerprint of each program by stage; names of instructions are not part of it."""
    contents: dict[_Label, dict[str, str]] = {}
    for one in programs:
        if one.status == status and one.module is not None:
            contents.setdefault((one.name, one.target), {})[one.stage] = fingerprint(one.module)
    return contents


_Patterns = tuple[str, ...]


def idle_patterns(config: Config, discovery: Discovery) -> tuple[str, ...]:
    """Notes of a report on patterns that match no registered function or target.

    Args:
        config: with the policy of the configuration alone, without budgets of registered functions.
        discovery: everything that is registered.

    Returns:
        a note for each such pattern; () where cases are not known, because patterns may match them.

    Example:
        >>> from pathlib import Path
        >>> idle_patterns(Config(Path(".")), Discovery(()))
        ()
    """
    if any(found.problem for found in discovery.functions):
        return ()
    requests = discovery.requests()
    names = dict.fromkeys(name for one in requests for name in (one.function, _name(one.function, one.case)))
    targets = dict.fromkeys(one.target for one in requests)
    notes: dict[str, None] = {}
    for table, functions, on in _tables(config):
        for word, patterns, known in (("function", functions, names), ("target", on, targets)):
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) for name in known):
                    near = closest(pattern, known)
                    hint = f", did you mean `{near}`?" if near else ""
                    notes[f"[{TABLE}] {table}: no {word} fits `{pattern}`{hint}"] = None
    return tuple(notes)


def _name(function: str, case: str) -> str:
    return f"{function}/{case}" if case else function


def _tables(config: Config) -> Iterator[tuple[str, _Patterns, _Patterns]]:
    for number, table in enumerate(config.changes, 1):
        yield f"changes {number}", table.functions, table.targets
    for number, budget in enumerate(config.budgets, 1):
        yield f"budgets {number}", budget.functions, budget.targets
    for use in config.rules:
        yield f"rules.{use.rule}", use.functions, use.targets
