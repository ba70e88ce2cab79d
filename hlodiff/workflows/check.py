"""`hlodiff.check`: capture registered functions, compare them with their snapshots and judge."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hlodiff.capture import CapturedProgram, NotChecked, Outcome, discover, worker_reuse
from hlodiff.capture.executor import executed_on, executor_asked_for
from hlodiff.config import Config, in_ci, shown_path
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import Limits
from hlodiff.errors import UsageError
from hlodiff.policy import (
    FAILED,
    PROGRAM_RULES,
    SCENARIO_RULES,
    UNJUDGED,
    Finding,
    closest_margins,
    exit_code,
    judge,
    judge_scenarios,
    of_policy,
)
from hlodiff.policy.growth import RULE as GROWTH_RULE
from hlodiff.progress import OnProgress, reporting_to
from hlodiff.report.report import Report, Timing, toolchain_changes
from hlodiff.report.wording import format_command
from hlodiff.snapshots import BlockedError, FutureFormatError, Key, tidy
from hlodiff.snapshots.pending import digest
from hlodiff.tracing.compare import TraceComparison
from hlodiff.workflows import scenarios as scenario_workflow
from hlodiff.workflows.against import blame_at, check_against
from hlodiff.workflows.build_snapshot import ParsedSnapshot, with_facts_of
from hlodiff.workflows.capture_side import capture_programs, captured_programs, instructions
from hlodiff.workflows.configuration import load
from hlodiff.workflows.growth import check_growth
from hlodiff.workflows.notes import as_before_notes, idle_patterns, outdated_notes, renamed, skipped_notes
from hlodiff.workflows.parity import check_parity, warn_of_surroundings
from hlodiff.workflows.pending_writer import NullPendingWriter, PendingWriter, pending_folder
from hlodiff.workflows.revision import ChangedSince
from hlodiff.workflows.scenarios import compare_scenarios
from hlodiff.workflows.select import (
    ChosenFunctions,
    as_patterns,
    choose,
    intact_snapshots,
    load_stored,
    requests_for,
    with_budgets,
)
from hlodiff.workflows.shared_cache import cache_notes, using_compile_cache
from hlodiff.workflows.sides import Side, SideProgram, compare_sides, failed_programs, failure_of, snapshot_programs
from hlodiff.workflows.source_lines import of_snapshots
from hlodiff.workflows.staleness import UnchangedPrograms, settings_of

Verdict = Literal["clean", "failed", "undecided"]
_VERDICTS: tuple[Verdict, ...] = ("clean", "failed", "undecided")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found.

    Args:
        report: programs, findings, scenarios and notes, as the command renders them.
        exit_code: 0 if nothing changed, 1 if a finding fails, 2 if no verdict was possible.
    """

    report: Report
    exit_code: int

    def __str__(self) -> str:
        """The report as `hlodiff check` prints it."""
        return str(self.report)

    def _repr_html_(self) -> str:
        """The report as HTML for a notebook."""
        return self.report._repr_html_()

    @property
    def verdict(self) -> Verdict:
        """The exit code as a word: "clean", "failed" or "undecided"."""
        return _VERDICTS[self.exit_code]


def check(
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    *,
    root: str | Path = ".",
    jobs: int | None = None,
    executor: str | Executor | None = None,
    compile_cache: str | Path | None = None,
    against: str | None = None,
    stage: Literal["stablehlo", "all"] = "all",
    timings: bool = False,
    pending: str | Path | None = None,
    everything: bool = False,
    passes: bool = False,
    fresh: bool = False,
    changed: str | None = None,
    on_progress: OnProgress | None = None,
) -> CheckResult:
    """Compile registered functions, compare them with their snapshots and judge the differences.

    Snapshots are not written. New and changed programs are left in the pending folder for `hlodiff.accept`. Nothing is
    printed.

    Args:
        names: functions (`"train"`), cases (`"train/small"`) or patterns (`"train*"`); all functions where empty.
        targets: targets (`"cpu"`) or patterns (`"tpu-*"`); all targets where empty.
        root: the project: a folder with pyproject.toml, or one below it.
        jobs: number of worker processes, 1 or more; None for the configured number.
        executor: runs captures instead of worker processes: a `concurrent.futures.Executor`, or the address of a
            scheduler (`"dask://HOST:PORT"`); None for the address in HLODIFF_EXECUTOR, if there is one.
        compile_cache: a folder that caches compiled HLO; with the suffix `:ro` it is only read. None for the one in
            HLODIFF_COMPILE_CACHE, if there is one.
        against: a git revision to compare with instead of the snapshots; `"main..."` is where this branch left main.
        stage: "stablehlo" only lowers: nothing is compiled, run or left pending. "all" also compiles.
        timings: whether to compile everything, including unchanged programs, and report how long each program took.
        pending: the folder for new and changed programs; None for `.hlodiff/pending` of the project.
        everything: whether the report lists every change instead of the largest ones.
        passes: whether to report which XLA pass caused each change; recompiles changed programs here and at `against`
            (HEAD if compared with snapshots).
        fresh: whether to lower everything, including programs that were unchanged at the last check and have the same
            inputs.
        changed: a git revision; checks only functions whose imported files changed since, or all if the configuration
            or the pinned packages did.
        on_progress: called with a `hlodiff.Progress` whenever the activity changes.

    Returns:
        the report, the exit code and the verdict.

    Raises:
        ConfigError: there is no `[tool.hlodiff]` table, or it has a mistake.
        RegistryError: a module that the configuration names cannot be imported.
        UsageError: a name or target matches nothing, there is no such revision, or the options exclude each other.

    Example:
        >>> result = hlodiff.check(["train_step"], ["cpu"], root="project")  # doctest: +SKIP
        >>> result.verdict, [finding.rule for finding in result.report.findings]  # doctest: +SKIP
        ('failed', ['changed'])
    """
    config = load(Path(root))
    names, targets = as_patterns(names), as_patterns(targets)
    if stage == "stablehlo" and (timings or pending or passes or against is not None):
        what = "--stage stablehlo only lowers: it leaves nothing pending, times nothing and looks at no revision"
        raise UsageError(what, hint="use only one of these options")
    if against is not None and (timings or pending):
        raise UsageError("--against leaves nothing pending and times nothing", hint="use only one of these options")
    if against is not None and changed:
        raise UsageError("--changed is about snapshots, and --against needs none", hint="use only one of these options")
    if against is not None and executor_asked_for(executor):
        what = "--against captures a temporary checkout, which only this machine has"
        raise UsageError(what, hint="leave out --executor and the variable HLODIFF_EXECUTOR")
    # Timings measure XLA, so the cache is off.
    cached = using_compile_cache("off" if timings else compile_cache)
    with reporting_to(on_progress), worker_reuse(), executed_on(executor), cached:
        if against is not None:
            report = check_against(config, against, names, targets, jobs, passes)
        else:
            lower_only = stage == "stablehlo"
            writer = NullPendingWriter if lower_only else PendingWriter
            folder = pending_folder(config, Path(pending) if pending else None)
            kept = writer(folder, config.max_file_bytes, settings_of(config))
            since = ChangedSince.of(changed, config.root) if changed else None
            run = CheckRun(
                config, kept, UnchangedPrograms.of(config), {} if timings else None, lower_only, fresh, since
            )
            report = check_snapshots(run, names, targets, everything, jobs)
            run.unchanged.save()
            if passes:
                report = replace(report, programs=blame_at(config, "HEAD", report.programs, jobs))
        report = replace(report, notes=(*report.notes, *cache_notes()))
    return CheckResult(replace(report, all=everything), exit_code(report.findings))


@dataclass(slots=True)
class Stopwatch:
    """Seconds by activity. In nested blocks time counts only for the innermost activity.

    Example:
        >>> watch = Stopwatch()
        >>> with watch("capturing"), watch("comparing"):
        ...     pass
        >>> [what for what, _ in watch.parts()]
        ['capturing', 'comparing']
    """

    seconds: dict[str, float] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Count time inside the block for an activity."""
        self._turn()
        self.seconds.setdefault(what, 0.0)
        self._open.append(what)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def parts(self) -> tuple[tuple[str, float], ...]:
        """Each activity and its seconds, in the order in which they began."""
        return tuple(self.seconds.items())


@dataclass(slots=True)
class CheckRun:
    """Compares programs with their snapshots as they are captured.

    Args:
        config: the project's.
        pending: keeps captures that are not recorded.
        unchanged: programs that earlier runs on this machine found unchanged, with their inputs.
        results: both stages of each program.
        toolchains: target, recorded and current toolchain of each program that has a snapshot.
        timed: how long each program took; None if timings were not requested, so that unchanged programs are not
            compiled.
        lower_only: whether to never compile, and compare StableHLO alone if the compiled program is unknown.
        fresh: whether to lower everything.
        since: changed files that restrict the run; None for no restriction.
        skipped: programs that were not lowered again.
        uncompiled: programs whose compiled HLO was not compared.
        outdated: equal programs whose snapshots have other paths or donations of arguments and results.
        around: context of calls to jitted functions, by program.
        clock: seconds by activity.
    """

    config: Config
    pending: PendingWriter
    unchanged: UnchangedPrograms
    timed: dict[Key, Timing] | None = None
    lower_only: bool = False
    fresh: bool = False
    since: ChangedSince | None = None
    results: dict[Key, tuple[ProgramComparison, ...]] = field(default_factory=dict)
    toolchains: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    skipped: list[Key] = field(default_factory=list)
    uncompiled: list[Key] = field(default_factory=list)
    outdated: list[Key] = field(default_factory=list)
    around: dict[Key, tuple[tuple[str, str, str, str], ...]] = field(default_factory=dict)
    clock: Stopwatch = field(default_factory=Stopwatch)

    def compare_all(self, chosen: ChosenFunctions, uncached: Container[str], jobs: int | None) -> None:
        """Capture the chosen programs and compare each as it comes.

        Args:
            chosen: the programs.
            uncached: functions that are always lowered.
            jobs: number of workers; None for the configured number.
        """
        with self.clock("reading snapshots"):
            stored, invalid = load_stored(self.config, (*chosen.registered, *chosen.orphaned))
        for key, error in invalid.items():
            # Recording again fixes it, unless a newer hlodiff wrote it or something blocks the path.
            other = isinstance(error, FutureFormatError | BlockedError) or error.what.startswith("internal error")
            advice = error.hint if other else f"hlodiff update {key.name} --target {key.target}"
            self._compare(key, failed_programs(key, replace(failure_of(error), advice=advice)), [])
        for key in chosen.orphaned:
            if key in stored:
                self._compare(key, _programs_of(stored[key]), [])
        keys = [key for key in chosen.registered if key not in invalid]
        keys = [key for key in keys if key.function in uncached or not self._is_as_before(key, stored.get(key))]
        # Timings need XLA to compile unchanged programs too.
        known = intact_snapshots(stored) if self.timed is None else {}
        with closing(capture_programs(self.config, requests_for(keys, known, self.lower_only), jobs)) as outcomes:
            for key, outcome in outcomes:
                with self.clock("comparing"):
                    self.compare_one(key, outcome, stored.get(key))

    def _is_as_before(self, key: Key, old: ParsedSnapshot | None) -> bool:
        """Whether a program need not be lowered; if so, its snapshot is used as the capture."""
        if self.fresh or self.timed is not None or old is None or not old.intact:
            return False
        around = self.unchanged.holds(old.snapshot)
        if around is None:
            return False
        self.skipped.append(key)
        self.around[key] = around
        self.pending.forget(key)
        self._compare(key, _programs_of(old), snapshot_programs(old.snapshot, key.folder))
        return True

    def compare_one(self, key: Key, outcome: Outcome, old: ParsedSnapshot | None) -> None:
        """Compare one program with its snapshot; an error affects this program alone."""
        new = captured_programs(self.config, key, outcome, old.snapshot if old else None)
        before = _programs_of(old) if old else []
        if not isinstance(outcome, CapturedProgram):
            if not isinstance(outcome, NotChecked):
                self.pending.forget(key)
            self.unchanged.forget(key)
            self._compare(key, before, new)
            return
        self.around[key] = outcome.around
        if self.timed is not None and not any(one.failure for one in new):
            self.timed[key] = timing(key, outcome)
        if outcome.compiled is None and not outcome.unchanged:
            self.uncompiled.append(key)
            self._compare(key, [one for one in before if one.stage == "stablehlo"], new)
        else:
            self._compare(key, before, new)
            self.unchanged.forget(key)
            fresh, programs = new[0].snapshot, self.results[key]
            if fresh is not None and not any(program.broken for program in programs):
                recorded = old.snapshot if old else None
                is_same = all(program.status == "identical" for program in programs)
                if is_same and recorded is not None and (recorded is fresh or digest(recorded) == digest(fresh)):
                    self.unchanged.remember(recorded, outcome.inputs, outcome.around)
                elif is_same and recorded is not None and with_facts_of(recorded, outcome) is not recorded:
                    self.outdated.append(key)
                self.results[key] = self.pending.compared(fresh, recorded, programs, outcome.inputs)

    def _compare(self, key: Key, old: list[SideProgram], new: list[SideProgram]) -> None:
        limits = Limits(**dict(self.config.limits))
        found = compare_sides(Side("snapshots", old, recorded=True), Side("this work tree", new), limits)
        self.results[key] = found.programs
        self.toolchains += found.toolchains

    def timings(self, chosen: ChosenFunctions) -> tuple[Timing, ...]:
        """Timings in the order of registration."""
        timed = self.timed or {}
        return tuple(timed[key] for key in chosen.registered if key in timed)

    def in_order(self, chosen: ChosenFunctions) -> tuple[ProgramComparison, ...]:
        """Results in the order of registration, orphans last."""
        return tuple(program for key in (*chosen.registered, *chosen.orphaned) for program in self.results.get(key, ()))


def _programs_of(stored: ParsedSnapshot) -> list[SideProgram]:
    return snapshot_programs(stored.snapshot, stored.snapshot.key.folder, modules=stored.modules)


def timing(key: Key, captured: CapturedProgram) -> Timing:
    """Timing of one capture.

    Args:
        key: which program.
        captured: the worker's result.

    Returns:
        seconds and instructions; no XLA seconds if it did not compile.
    """
    seconds = captured.seconds
    compiled = None if captured.compiled is None else instructions(captured.compiled)
    times = (seconds.get("trace", 0.0), seconds.get("lower", 0.0), seconds.get("compile"))
    return Timing(key.name, key.target, *times, instructions(captured.stablehlo), compiled)


def check_snapshots(
    run: CheckRun, names: Sequence[str], targets: Sequence[str], everything: bool, jobs: int | None
) -> Report:
    """Compare registered functions with their snapshots and judge.

    Args:
        run: a run that has not compared anything yet.
        names, targets: patterns; all if empty.
        everything: whether findings on scenarios list every reason.
        jobs: number of workers; None for the configured number.

    Returns:
        the report.

    Raises:
        UsageError: a pattern matches nothing.
        HlodiffError: a registered module cannot be imported, or a setting is wrong.
    """
    config = run.config
    if not in_ci():
        tidy(config.snapshots)  # finishes or removes what a killed `update` left
    if not run.lower_only:
        tidy(run.pending.root)
    with run.clock("starting JAX, importing, asking for cases"):
        discovery = discover(config)
    policy = with_budgets(config, discovery)
    chosen = choose(config, discovery, names, targets)
    idle = () if names or targets else idle_patterns(config, discovery)
    chosen, left_out = run.since.only_changed(chosen, discovery, config) if run.since else (chosen, ())
    with run.clock("capturing"):
        run.compare_all(chosen, discovery.uncached, jobs)
    if not (names or targets or run.lower_only):
        run.pending.forget_unregistered(discovery)
    programs = run.in_order(chosen)
    # Scenarios make real calls. Records without a scenario are found without calls.
    to_run = replace(chosen.scenarios, registered=()) if run.lower_only else chosen.scenarios
    with run.clock("scenarios, growth, parity"):
        scenarios = compare_scenarios(config, to_run, jobs, run.pending)
        growth = check_growth(config, discovery, chosen, names, jobs, run.pending)
        parity = () if run.lower_only else check_parity(config, discovery, chosen, jobs)
    findings = (
        *judge(programs, policy),
        *growth,
        *parity,
        *warn_of_surroundings(discovery, {key: run.around[key] for key in chosen.registered if key in run.around}),
        *judge_scenarios(scenarios, everything=everything),
    )
    if not run.lower_only:
        run.pending.forget_stale(config)
    skipped = skipped_notes(run.uncompiled, discovery, chosen) if run.lower_only else ()
    run.pending.tidy()
    skipped += outdated_notes(run.outdated)
    skipped += left_out
    skipped += as_before_notes(len(run.skipped), len(chosen.registered))
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
        run_parts=run.clock.parts() if run.timed is not None else (),
        scenarios=scenarios,
        registered={function.name: (function.file, function.line) for function in discovery.functions},
        threshold=config.relevance_threshold,
        source_line=of_snapshots(config.root, config.snapshots),
        margins=closest_margins(programs, policy),
    )


def with_ids(findings: tuple[Finding, ...], kept: Mapping[Key, str], *, here: bool = True) -> tuple[Finding, ...]:
    """Findings on traces and growth, with the command that records them without another run.

    Args:
        findings: findings of a check.
        kept: pending records with their ids.
        here: whether the pending folder is on the reader's machine, so that the command can be typed.
    """
    words = {"traces": "traces", "traces-new": "traces", GROWTH_RULE: "growth"}
    ids = {(key.name, key.target): own for key, own in kept.items()}
    named = []
    for finding in findings:
        own = ids.get((finding.program, words.get(finding.rule, "")), "")
        is_accepted = own and here and finding.advice.startswith("hlodiff ")
        named.append(replace(finding, id=own, advice=f"hlodiff accept {own}" if is_accepted else finding.advice))
    return tuple(named)


# --- The command to type after a check.


def following_all(
    programs: tuple[ProgramComparison, ...],
    findings: tuple[Finding, ...],
    scenarios: tuple[TraceComparison, ...],
    kept: Mapping[Key, str],
) -> str:
    """The next command for programs, growth and scenarios. `kept` lists records pending for `accept`."""
    plain = tuple(finding for finding in findings if finding.rule not in SCENARIO_RULES)
    both = [following(programs, exit_code(plain), plain), scenario_workflow.following(scenarios, kept)]
    commands = [command for command in both if command]
    if len(commands) < 2:
        return commands[0] if commands else ""
    if all(command.startswith("hlodiff update") or command == "hlodiff review" for command in commands):
        return commands[0] if commands[0] == commands[1] == "hlodiff update --prune" else "hlodiff update"
    verb = "hlodiff accept"
    if all(command.startswith(verb) or command == "hlodiff review" for command in commands):  # names if few
        names = dict.fromkeys(name for command in commands for name in command.removeprefix(verb).split())
        return "hlodiff review" if "hlodiff review" in commands else format_command(verb, names, "hlodiff review")
    return commands[0]


def following(programs: tuple[ProgramComparison, ...], code: int, findings: Sequence[Finding] = ()) -> str:
    """The next command; "" if there is none."""
    if code == UNJUDGED:
        return _once_judged(programs, findings)
    if code == FAILED:
        return _once_failed(programs, findings)
    # The policy passes these changes, but their snapshots are out of date.
    names = list(dict.fromkeys(program.name for program in programs if program.id and not in_ci()))
    return format_command("hlodiff accept", names, "hlodiff review") if names else ""


def _once_judged(programs: tuple[ProgramComparison, ...], findings: Sequence[Finding]) -> str:
    broken = [program for program in programs if program.broken]
    stuck = [finding for finding in _further(findings) if finding.severity == "broken"]
    if stuck and not broken:
        once = "once it can be judged" if of_policy(stuck[0]) else "once it is repaired"
        return f"hlodiff check {stuck[0].program}, {once}"
    if not broken:
        return next((program.advice for program in programs if program.recorded and program.advice), "")
    advice = [program.advice for program in broken if program.advice.startswith("hlodiff ")]
    if not advice:
        return f"hlodiff check {broken[0].name}, once it is repaired"
    if len(dict.fromkeys(advice)) == 1 or not all(one.advice.startswith("hlodiff update ") for one in broken):
        return advice[0]
    # Recording again fixes all of them, as after a merge.
    return format_command("hlodiff update", dict.fromkeys(one.name for one in broken))


def _once_failed(programs: tuple[ProgramComparison, ...], findings: Sequence[Finding]) -> str:
    further = _further(findings)
    differing = dict.fromkeys(p.name for p in programs if p.status in ("changed", "added"))
    grown = [f for f in further if f.rule == GROWTH_RULE and f.severity == "error"]
    acceptable = [f.program for f in grown if f.advice.startswith("hlodiff accept ")]
    differing |= dict.fromkeys(acceptable)
    # Accepting records a program but does not bring it within its budgets.
    over = dict.fromkeys(f.program for f in findings if f.severity == "error" and of_policy(f))
    if over and differing.keys() <= over.keys():
        return f"hlodiff check {' '.join(list(over)[:3])}, once within limits"
    differing = {name: None for name in differing if name not in over}
    if not differing:
        advice = [f.advice for f in further if f.severity == "error" and f.advice.startswith("hlodiff ")]
        orphaned = any(program.status == "removed" for program in programs)
        return "hlodiff update --prune" if orphaned else next(iter(advice), "")
    # In CI the pending folder is on another machine than the reader of the log.
    if in_ci() or not all(p.id for p in programs if p.status in ("changed", "added")):
        return format_command("hlodiff update", differing)
    changed = [program for program in programs if program.status in ("changed", "added")]
    by_compiler = not acceptable and all(one.by_compiler for one in changed)
    several = "hlodiff accept --class toolchain" if by_compiler else "hlodiff review"
    return format_command("hlodiff accept", differing, several)


def _further(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.rule not in PROGRAM_RULES]
