"""`hlodiff check --against REV`: the work tree against a revision, both captured now by the same compiler."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

from hlodiff.capture import Discovery, NotChecked, ScenarioRun, discover
from hlodiff.config import TABLE, Config
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import Limits
from hlodiff.errors import ConfigError, HlodiffError, UsageError
from hlodiff.policy import PROGRAM_RULES, Finding, closest_margins, judge, judge_scenarios, of_policy
from hlodiff.policy.findings import end_of_log
from hlodiff.policy.growth import RULE, growth_record, judge_growth
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.report.wording import format_command
from hlodiff.snapshots import Key, RecordedTraces
from hlodiff.tracing.compare import TraceComparison, exceeded
from hlodiff.tracing.counts import count_traces
from hlodiff.workflows.capture_side import capture_side, snapshots_of
from hlodiff.workflows.configuration import load_if_any
from hlodiff.workflows.growth import GrowthSeries, growing_keys, grown_words, measured_growth
from hlodiff.workflows.notes import renamed
from hlodiff.workflows.parity import check_parity
from hlodiff.workflows.passes import blame_passes, compare_captured, dump_all
from hlodiff.workflows.revision import Checkout, checked_out
from hlodiff.workflows.scenarios import ChosenScenarios, chosen_scenarios, compared_records, run_scenarios
from hlodiff.workflows.select import ChosenFunctions, select, with_budgets
from hlodiff.workflows.source_lines import WORK_TREE, SourceLines, SourceSide

# Scenarios that only one side has are reported and do not fail.
_ONE_SIDED = ("traces-new", "traces-orphaned")


@dataclass(frozen=True, slots=True)
class ProjectSide:
    """A project on one side: what its `Side` is captured from, and what else is compared.

    Args:
        config, discovery: of this side.
        keys: its compared programs.
        called: its name in messages: `at main (3fa2b1c)`, `in this work tree`.
    """

    config: Config
    discovery: Discovery
    keys: tuple[Key, ...]
    called: str

    def chosen(self) -> ChosenFunctions:
        """Its programs as `ChosenFunctions`."""
        return ChosenFunctions(self.keys, (), (), ChosenScenarios())


def scenario_names(*sides: Discovery) -> tuple[str, ...]:
    """The scenario names of both sides, without duplicates."""
    return tuple(dict.fromkeys(found.name for side in sides for found in side.scenarios))


def compared_scenarios(
    old: ProjectSide, new: ProjectSide, names: Sequence[str], targets: Sequence[str], jobs: int | None
) -> tuple[TraceComparison, ...]:
    """Run the scenarios of both sides and compare them.

    Args:
        old, new: both sides.
        names, targets: patterns; all if empty.
        jobs: number of workers.

    Returns:
        one record for each: those of the new side in their order, then those that only the old one has.
    """
    before, after = (_run_side(side, names, targets, jobs) for side in (old, new))
    limits = {found.name: found for found in new.discovery.scenarios}
    compared = []
    for name in dict.fromkeys((*after, *before)):
        one = _compared(name, (old, before.get(name)), (new, after.get(name)))
        if one.new is not None:
            own = limits[name]
            one = replace(one, over=exceeded(one.new, own.max_traces, own.max_programs))
        compared.append(one)
    return tuple(compared)


def _run_side(
    side: ProjectSide, names: Sequence[str], targets: Sequence[str], jobs: int | None
) -> dict[str, ScenarioRun]:
    chosen = chosen_scenarios(ChosenScenarios(side.discovery.scenarios), names, targets)
    outcomes = {outcome.name: outcome for outcome in run_scenarios(side.config, chosen, jobs)}
    return {found.name: outcomes[found.name] for found in chosen.registered}


def _compared(
    name: str, old: tuple[ProjectSide, ScenarioRun | None], new: tuple[ProjectSide, ScenarioRun | None]
) -> TraceComparison:
    failed = [(side, outcome) for side, outcome in (old, new) if outcome is not None and outcome.what]
    if failed:
        # Report the work tree's failure: that one can be fixed.
        side, outcome = failed[-1]
        where = f"{side.config.root}/"
        words, log = outcome.what.replace(where, ""), outcome.log.replace(where, "")
        return TraceComparison(name, "not_checked", reason=f"{side.called}: {words}", advice=outcome.advice, log=log)
    before, after = (RecordedTraces(name, one.jax, count_traces(one.events)) if one else None for _, one in (old, new))
    if before is not None and after is not None:
        return compared_records(name, before, after)
    if after is not None:
        return TraceComparison(name, "added", None, after.counts)
    return TraceComparison(name, "removed", before.counts if before else None)


def judged_scenarios(scenarios: Sequence[TraceComparison]) -> tuple[Finding, ...]:
    """Findings on scenarios: changes of those that both sides have, and budgets."""
    found = [one for one in judge_scenarios(scenarios) if one.rule not in _ONE_SIDED]
    return tuple(replace(one, advice="") if one.rule == "traces" else one for one in found)


def judged_growth(old: ProjectSide, new: ProjectSide, jobs: int | None, spec: str) -> tuple[Finding, ...]:
    """Measure how the cases of both sides grow, and judge the new side.

    Args:
        old, new: both sides.
        jobs: number of workers.
        spec: name of the old side in messages.

    Returns:
        findings in the order of registration; a case that only one side has is judged by its limits alone.
    """
    after = measured_growth(new.config, growing_keys(new.discovery, new.chosen()), jobs)
    both = [key for key in growing_keys(old.discovery, old.chosen()) if any(_same(key, series.key) for series in after)]
    before = measured_growth(old.config, both, jobs)
    return tuple(
        finding
        for series in after
        for finding in _judged(
            series, next((one for one in before if _same(one.key, series.key)), None), old, new, spec
        )
    )


def _same(one: Key, other: Key) -> bool:
    return (one.function, one.case) == (other.function, other.case)


def _judged(
    new: GrowthSeries, old: GrowthSeries | None, there: ProjectSide, here: ProjectSide, spec: str
) -> Iterator[Finding]:
    for side, series in ((here, new), (there, old)):
        if series is not None and series.failure is not None:
            yield _failure_finding(side, series)
            return
    key = new.key
    known = {growth.parameter for growth in new.growths}
    # Sizes added or removed by the code are not compared; only limits are judged.
    growths = [growth for growth in (old.growths if old else ()) if growth.parameter in known]
    growths += [growth for growth in new.growths if growth.parameter not in {one.parameter for one in growths}]
    record = growth_record(key.function, key.case, growths)
    words = {growth.parameter: grown_words(growth, str(here.config.root)) for growth in new.growths}
    for finding in judge_growth(key.name, new.growths, record, dict(new.limits), words):
        details = tuple(line.replace("(recorded: ", f"(at {spec}: ") for line in finding.details)
        what = finding.what.replace(", recorded as ", f", at {spec} ")
        what = what.replace("better than recorded", f"better than at {spec}")
        yield replace(finding, what=what, advice="", details=details)


def _failure_finding(side: ProjectSide, series: GrowthSeries) -> Finding:
    assert series.failure is not None
    if isinstance(series.failure, NotChecked):
        return Finding("info", RULE, series.key.name, series.key.target, series.failure.reason, series.failure.advice)
    where = f"{side.config.root}/"
    log = end_of_log(series.failure.log_tail.replace(where, ""))
    what = f"{side.called}: {series.failure.what.replace(where, '')}"
    return Finding("broken", RULE, series.key.name, None, what, "", log)


# Settings taken from the work tree for both sides: they are not part of the comparison.
_SHARED = (
    "jobs", "timeout", "memory", "limits", "large_constants", "max_file_bytes", "snapshots", "fail_on", "changes",
    "budgets", "rules",
)  # fmt: skip
_PLAIN = re.compile(r"[\w./@:+~^-]+")  # needs no shell quoting inside a word
# Settings that may differ: each side registers and compiles as its own revision says.
_MODULES = ("modules", "path", "targets", "root")


def blame_at(
    config: Config, spec: str, programs: Sequence[ProgramComparison], jobs: int | None
) -> tuple[ProgramComparison, ...]:
    """Compared programs with the passes to blame; recompiles the revision and the work tree with dumps.

    Args:
        config: the work tree's.
        spec: the revision whose code made the old programs.
        programs: both stages of registered functions.
        jobs: number of workers.
    """
    with checked_out(spec, config.root) as checkout:
        there = _config_of(checkout, config)
        return blame_passes(
            programs,
            lambda folders: dump_all(there, folders, jobs),
            lambda folders: dump_all(config, folders, jobs),
            Limits(**dict(config.limits)),
        )


def check_against(
    config: Config,
    spec: str,
    names: Sequence[str],
    targets: Sequence[str],
    jobs: int | None,
    passes: bool = False,
) -> Report:
    """Capture a revision and the work tree in one run and compare them.

    Nothing is written: neither snapshots nor pending programs.

    Args:
        config: the work tree's.
        spec: the revision.
        names, targets: patterns; all if empty.
        jobs: number of workers.
        passes: whether to report which XLA pass caused each change; recompiles changed programs on each side.

    Returns:
        the report; a function that only one side has is reported and does not fail.

    Raises:
        UsageError: git has no such revision, or a pattern matches nothing on either side.
        HlodiffError: a side cannot be imported or has no configuration; the message names the side.
    """
    here = discover(config)
    policy = with_budgets(config, here)
    with checked_out(spec, config.root) as checkout:
        there_config = _config_of(checkout, config)
        at_revision = f"at {checkout.label}"
        there = _discovered(there_config, checkout, at_revision)
        old_keys, new_keys = _chosen(there, here, names, targets)
        before = ProjectSide(there_config, there, old_keys, at_revision)
        after = ProjectSide(config, here, new_keys, "in this work tree")
        old = capture_side(there_config, old_keys, jobs, label=checkout.label, called=before.called)
        new = capture_side(config, new_keys, jobs, snapshots_of(old), label="this work tree", called=after.called)
        dump_sides = partial(dump_all, there_config, jobs=jobs), partial(dump_all, config, jobs=jobs)
        compared = compare_captured(config, old, new, dump_sides if passes else None)
        programs = compared.programs
        scenarios = compared_scenarios(before, after, names, targets, jobs)
        grown = judged_growth(before, after, jobs, spec)
        settings = _settings(there_config, config, checkout.label)
        notes = (*checkout.notes, *renamed(programs, recorded=False), *settings)
        commit = checkout.commit
        repairable = [one.name for one in new.programs if one.failure and one.failure.broken]
    judged = [  # the words of a finding about snapshots are about the revision
        replace(one, what=one.what.replace("than the snapshot", f"than at {spec}"), advice="")
        if one.rule == "changed"
        else one
        for one in judge(programs, policy)
        if one.rule not in ("new", "orphaned")
    ]
    findings = (
        *judged,
        *grown,
        *check_parity(config, here, after.chosen(), jobs),
        *judged_scenarios(scenarios),
    )
    return Report(
        command="diff",
        old=old.label,
        new=new.label,
        programs=programs,
        findings=findings,
        toolchain=toolchain_changes(compared.toolchains),
        notes=notes,
        next=_following(programs, findings, repairable, spec, config.snapshots.is_dir()),
        root=str(config.root),
        scenarios=scenarios,
        registered={found.name: (found.file, found.line) for found in here.functions},
        threshold=config.relevance_threshold,
        source_line=SourceLines(config.root, (SourceSide(commit), SourceSide(WORK_TREE))),
        margins=closest_margins(programs, policy),
    )


def _following(
    programs: Sequence[ProgramComparison],
    findings: Sequence[Finding],
    repairable: Sequence[str],
    spec: str,
    recorded: bool,
) -> str:
    """The next command: accepting changes needs a `check` against the snapshots, if there are any."""
    again = f"hlodiff check --against {spec if _PLAIN.fullmatch(spec) else shlex.quote(spec)}"
    # A failure at the revision can no longer be fixed.
    further = [f for f in findings if f.severity == "broken" and f.rule not in PROGRAM_RULES]
    broken = [*repairable, *(f.program for f in further if not f.what.startswith("at "))]
    if broken:
        return f"{again} {broken[0]}, once it is repaired"
    over = dict.fromkeys(f.program for f in findings if f.severity == "error" and of_policy(f))
    if over:
        return f"{again} {' '.join(list(over)[:3])}, once within limits"
    names = dict.fromkeys(one.name for one in programs if one.status == "changed")
    names |= dict.fromkeys(f.program for f in findings if f.severity == "error")
    if not names:
        return ""
    return format_command("hlodiff check", names) if recorded else f"{format_command(again, names)} --stacks"


def _chosen(
    there: Discovery, here: Discovery, names: Sequence[str], targets: Sequence[str]
) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    """The chosen programs of both sides. A pattern may match on one side only, if a function was added or removed."""
    old, new = (tuple(Key(r.function, r.case, r.target) for r in side.requests()) for side in (there, here))
    chosen = dict.fromkeys(select(dict.fromkeys((*new, *old)), names, targets, scenario_names(here, there)))
    return tuple(key for key in old if key in chosen), tuple(key for key in new if key in chosen)


def _config_of(checkout: Checkout, config: Config) -> Config:
    """The revision's own configuration, with the shared settings taken from the work tree's."""
    try:
        root = checkout.counterpart(config.root)
    except ValueError:
        hint = "run it where pyproject.toml is inside the repository"
        raise UsageError("the project is outside this git repository", where=str(config.root), hint=hint) from None
    where = f"{checkout.label}:pyproject.toml"
    try:
        found = load_if_any(root / "pyproject.toml") if (root / "pyproject.toml").is_file() else None
    except ConfigError as error:
        raise ConfigError(error.what, where=where, hint=error.hint or "choose a revision that can be read") from None
    if found is None:
        hint = "choose a revision since hlodiff was set up; `git log --oneline -- pyproject.toml` lists candidates"
        raise ConfigError(f"has no [{TABLE}] table", where=where, hint=hint)
    own = replace(found, **{name: getattr(config, name) for name in _SHARED})
    return replace(own, path=(*own.path, *_paths_inside(checkout)))


def _paths_inside(checkout: Checkout) -> tuple[str, ...]:
    """The revision's counterparts of import folders inside the repository, such as an editable install's `src`."""
    found: dict[str, None] = {}
    for entry in (*sys.path, *_editable()):
        path = Path(entry or ".").resolve()
        if path.is_relative_to(checkout.top) and not _is_installed(path):
            mine = checkout.counterpart(path)
            if mine.is_dir():
                found[str(mine)] = None
    return tuple(found)


def _editable() -> tuple[str, ...]:
    """Package folders of editable installs that use an import hook instead of `sys.path`."""
    mappings = [getattr(sys.modules.get(getattr(f, "__module__", "")), "MAPPING", None) for f in sys.meta_path]
    return tuple(str(Path(place).parent) for one in mappings if isinstance(one, dict) for place in one.values())


def _discovered(config: Config, checkout: Checkout, side: str) -> Discovery:
    try:
        found = discover(config)
    except HlodiffError as error:
        hint = error.hint or "files that git does not track are not there: is one of them needed?"
        where = f"{side}, {error.where}" if error.where else side
        raise type(error)(error.what.replace(str(checkout.folder) + "/", ""), where=where, hint=hint) from None
    mine = [file for file in found.files if Path(file).is_relative_to(checkout.folder)]
    foreign = [file for file in found.files if file not in mine and Path(file).is_relative_to(checkout.top)]
    outside = [file for file in foreign if not _is_installed(Path(file))]
    if outside:
        shown = ", ".join(str(Path(file).relative_to(checkout.top)) for file in outside[:3])
        what = f"imports files of the work tree instead of its own: {shown}"
        hint = f'name their folder in `path` of [{TABLE}], as in path = [".", "src"]'
        raise ConfigError(what, where=side, hint=hint)
    return found


def _is_installed(path: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _settings(old: Config, new: Config, label: str) -> tuple[str, ...]:
    """A note on settings that differ between the sides and may change programs without any change of code."""
    names = [each.name for each in fields(Config) if each.name not in (*_SHARED, *_MODULES)]
    different = [name for name in names if getattr(old, name) != getattr(new, name)]
    if not different:
        return ()
    return (f"[{TABLE}] {', '.join(different)} is another one at {label}: each side was compiled with its own",)
