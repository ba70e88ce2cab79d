"""`hlodiff.update`: capture registered functions and write the snapshots of those that changed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hlodiff.capture import CapturedProgram, Discovery, NotChecked, Outcome, ScenarioRun, discover, worker_reuse
from hlodiff.capture.executor import executed_on
from hlodiff.config import Config, refuse_in_ci, shown_path
from hlodiff.differ.limits import Limits
from hlodiff.errors import HlodiffError, StoreError, UsageError, expected_error
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.policy.findings import end_of_log
from hlodiff.policy.growth import growth_record, recorded_classes
from hlodiff.progress import OnProgress, reporting_to
from hlodiff.report.headline import headline
from hlodiff.report.lines import json_text, printable
from hlodiff.report.wording import format_command, format_names, format_next, many
from hlodiff.snapshots import (
    FolderTree,
    FutureFormatError,
    Key,
    RecordedTraces,
    Snapshot,
    StaleError,
    read_growth,
    read_traces,
    remove_growth,
    remove_snapshot,
    remove_traces,
    rewrite_snapshot,
    write_growth,
    write_snapshot,
    write_traces,
    writing,
)
from hlodiff.tracing.compare import differences
from hlodiff.tracing.counts import count_traces
from hlodiff.workflows.build_snapshot import ParsedSnapshot, snapshot_of, with_facts_of
from hlodiff.workflows.capture_side import capture_programs
from hlodiff.workflows.configuration import load
from hlodiff.workflows.growth import PLACE, GrowthSeries, growing_keys, measured_growth, orphaned_growth
from hlodiff.workflows.pending_writer import PendingWriter, pending_folder
from hlodiff.workflows.scenarios import ChosenScenarios, run_scenarios
from hlodiff.workflows.select import ChosenFunctions, as_patterns, choose, intact_snapshots, load_stored, requests_for
from hlodiff.workflows.shared_cache import cache_notes, using_compile_cache
from hlodiff.workflows.sides import Side, compare_sides, snapshot_programs
from hlodiff.workflows.source_lines import uncommitted_with_old_lines
from hlodiff.workflows.staleness import UnchangedPrograms

_LOG = logging.getLogger(__name__)
_RECORDED = ("new", "changed", "repaired", "healed", "facts", "rewritten")
_STATUSES = (*_RECORDED, "unchanged", "orphaned", "deleted", "not checked", "failed")


@dataclass(frozen=True, slots=True)
class UpdateRow:
    """What `update` did with one program, scenario or growth record.

    Args:
        key: which one; "traces" or "growth" is the target of a record.
        status: "new", "changed", "repaired" (the snapshot was invalid), "healed" (a merge had left it stale), "facts"
            (same program, different toolchain, figures or paths), "rewritten", "unchanged", "orphaned" (no longer
            registered), "deleted", "not checked" (this machine cannot compile it) or "failed".
        details: why, or what changed, one line each.
        log: the end of the worker's log.
    """

    key: Key
    status: str
    details: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What `update` did.

    Args:
        rows: one for each program, scenario and growth record; registered ones first, then orphans.
        notes: on folders that are not snapshots.
        snapshots: the folder that was written to, relative to the current folder if below it.
    """

    rows: tuple[UpdateRow, ...]
    notes: tuple[str, ...]
    snapshots: Path

    @property
    def exit_code(self) -> int:
        """0, or 2 if something failed."""
        return 2 if any(row.status == "failed" for row in self.rows) else 0

    @property
    def verdict(self) -> Literal["clean", "undecided"]:
        """The exit code as a word."""
        return "undecided" if self.exit_code else "clean"


def update(
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    *,
    root: str | Path = ".",
    jobs: int | None = None,
    executor: str | Executor | None = None,
    compile_cache: str | Path | None = None,
    prune: bool = False,
    rewrite: bool = False,
    ci_write: bool = False,
    on_progress: OnProgress | None = None,
) -> UpdateResult:
    """Compile registered functions and record those whose program changed.

    A snapshot whose program is the same is not touched. A program that cannot be compiled here keeps its snapshot.
    Nothing is printed.

    Args:
        names: functions (`"train"`), cases (`"train/small"`) or patterns (`"train*"`); all functions where empty.
        targets: targets (`"cpu"`) or patterns (`"tpu-*"`); all targets where empty.
        root: the project: a folder with pyproject.toml, or one below it.
        jobs: number of worker processes, 1 or more; None for the configured number.
        executor: runs captures instead of worker processes: a `concurrent.futures.Executor`, or the address of a
            scheduler (`"dask://HOST:PORT"`); None for the address in HLODIFF_EXECUTOR, if there is one.
        compile_cache: a folder that caches compiled HLO; with the suffix `:ro` it is only read. None for the one in
            HLODIFF_COMPILE_CACHE, if there is one.
        prune: whether to delete snapshots of functions that are no longer registered.
        rewrite: whether to write summary and sources of unchanged programs again, and record nothing else.
        ci_write: whether to write although this is CI (the environment variable CI is set).
        on_progress: called with a `hlodiff.Progress` whenever the activity changes.

    Returns:
        one row for each program, and the exit code.

    Raises:
        ConfigError: there is no `[tool.hlodiff]` table, or it has a mistake.
        RegistryError: a module that the configuration names cannot be imported.
        StoreError: a snapshot cannot be written, or another process is writing snapshots.
        UsageError: a name or target matches nothing, this is CI, or `prune` and `rewrite` are both given.

    Example:
        >>> result = hlodiff.update(["train_step"], root="project")  # doctest: +SKIP
        >>> [(row.key.name, row.key.target, row.status) for row in result.rows]  # doctest: +SKIP
        [('train_step', 'cpu', 'new')]
    """
    refuse_in_ci(ci_write, "update")
    if rewrite and prune:
        raise UsageError("--rewrite and --prune exclude each other", hint="give one of them")
    config = load(Path(root))
    names, targets = as_patterns(names), as_patterns(targets)
    folder = shown_path(config.snapshots)
    with (
        reporting_to(on_progress),
        worker_reuse(),
        executed_on(executor),
        using_compile_cache(compile_cache),
        writing(folder),
    ):
        discovery = discover(config)
        chosen = choose(config, discovery, names, targets)
        unchanged = UnchangedPrograms.of(config)
        run = _UpdateRun(config, PendingWriter(pending_folder(config), config.max_file_bytes), unchanged, rewrite)
        try:
            run.update_all(chosen, jobs)
            for key in chosen.orphaned:
                if prune:
                    remove_snapshot(config.snapshots, key)
                run.rows[key] = UpdateRow(key, "deleted" if prune else "orphaned")
            traces = [] if rewrite else list(_updated_scenarios(config, chosen.scenarios, jobs, prune))
            growth = [] if rewrite else list(_updated_growth(config, discovery, chosen, names, jobs, prune))
            for row in (*growth, *traces):
                if row.status != "not checked":  # either recorded now or outdated
                    run.pending.forget_record(row.key)
            run.pending.tidy()
        except KeyboardInterrupt:
            done = sum(row.status in _RECORDED for row in run.rows.values())
            _LOG.info("%s recorded; `hlodiff update` continues with the others", many(done, "program"))
            raise
        notes = (*chosen.notes(), *cache_notes())
    rows = [run.rows[key] for key in (*chosen.registered, *chosen.orphaned) if key in run.rows]
    return UpdateResult((*rows, *growth, *traces), notes, shown_path(config.snapshots))


@dataclass(slots=True)
class _UpdateRun:
    config: Config
    pending: PendingWriter
    unchanged: UnchangedPrograms
    rewrite: bool = False
    rows: dict[Key, UpdateRow] = field(default_factory=dict)
    with_old_lines: set[Key] = field(default_factory=set)

    def update_all(self, chosen: ChosenFunctions, jobs: int | None) -> None:
        stored, invalid = load_stored(self.config, chosen.registered)
        for key, error in invalid.items():
            if isinstance(error, FutureFormatError) or self.rewrite:
                self.rows[key] = _failed(key, error)
        for key in chosen.registered if self.rewrite else ():
            if key not in stored and key not in self.rows:
                hint = f"hint: hlodiff update {key.name} --target {key.target}"
                self.rows[key] = UpdateRow(key, "not checked", ("there is no snapshot to rewrite", hint))
        keys = [key for key in chosen.registered if key not in self.rows]
        known = {} if self.rewrite else intact_snapshots(stored)
        self.with_old_lines = set(uncommitted_with_old_lines(self.config.root, self.config.snapshots, known))
        known = {key: one for key, one in known.items() if key not in self.with_old_lines}
        with closing(capture_programs(self.config, requests_for(keys, known), jobs, then="recording")) as outcomes:
            for key, outcome in outcomes:
                self.unchanged.forget(key)
                row = self.update_one(key, outcome, stored.get(key), invalid.get(key))
                self.rows[key] = row
                if row.status != "not checked":  # pending captures are either recorded now or outdated
                    self.pending.forget(key)
        self.unchanged.save()

    def update_one(
        self, key: Key, outcome: Outcome, old: ParsedSnapshot | None, invalid: HlodiffError | None
    ) -> UpdateRow:
        if isinstance(outcome, NotChecked):
            return UpdateRow(key, "not checked", (outcome.reason, *_hint(outcome.advice)))
        if not isinstance(outcome, CapturedProgram):
            return UpdateRow(key, "failed", tuple(outcome.what.split("\n")), outcome.log_tail)
        try:
            if outcome.unchanged and old is not None:
                snapshot = with_facts_of(old.snapshot, outcome)
                if snapshot is old.snapshot:
                    self.unchanged.remember(snapshot, outcome.inputs, outcome.around)
                    return UpdateRow(key, "unchanged")
            else:
                snapshot = snapshot_of(outcome, str(self.config.root), self.config.large_constants)
            if self.rewrite:
                assert old is not None
                if (snapshot.stablehlo, snapshot.compiled) != (old.snapshot.stablehlo, old.snapshot.compiled):
                    hint = f"hint: hlodiff update {key.name} --target {key.target}"
                    reason = "the program is not the recorded one any more, so nothing was rewritten"
                    return UpdateRow(key, "failed", (reason, hint))
                written = rewrite_snapshot(shown_path(self.config.snapshots), snapshot)
                return UpdateRow(key, "rewritten" if written else "unchanged")
            written = write_snapshot(shown_path(self.config.snapshots), snapshot, self.config.max_file_bytes)
            self.unchanged.remember(snapshot, outcome.inputs, outcome.around)
            if not written and key in self.with_old_lines:
                written = rewrite_snapshot(shown_path(self.config.snapshots), snapshot)
                return UpdateRow(key, "rewritten" if written else "unchanged")
            if not written:
                return UpdateRow(key, "unchanged")
            if old is None:
                return UpdateRow(key, "healed" if isinstance(invalid, StaleError) else "repaired" if invalid else "new")
            return _difference(key, old.snapshot, snapshot, Limits(**dict(self.config.limits)))
        except StoreError:
            raise  # the folder cannot be written, so the next program would fail as well
        except Exception as error:
            return _failed(key, expected_error(error))


def _failed(key: Key, error: HlodiffError) -> UpdateRow:
    return UpdateRow(key, "failed", tuple(error.render().split("\n")))


def _hint(advice: str) -> tuple[str, ...]:
    return (f"hint: {advice}",) if advice else ()


def _difference(key: Key, old: Snapshot, new: Snapshot, limits: Limits) -> UpdateRow:
    if (old.stablehlo, old.compiled) == (new.stablehlo, new.compiled):
        return UpdateRow(key, "facts")
    before, after = (Side("", snapshot_programs(one, key.folder)) for one in (old, new))
    programs = compare_sides(before, after, limits).programs
    written = next((one for one in programs if one.stage == "stablehlo"), None)
    lines = (f"{STAGE_NAMES[one.stage]}: {one.reason or headline(one, written)}" for one in programs)
    return UpdateRow(key, "changed", tuple(lines))


def _updated_scenarios(config: Config, chosen: ChosenScenarios, jobs: int | None, prune: bool) -> Iterator[UpdateRow]:
    """Runs scenarios and records those that changed, in the order of registration, orphans last."""
    root = shown_path(config.snapshots)
    outcomes = {outcome.name: outcome for outcome in run_scenarios(config, chosen, jobs)}
    for found in chosen.registered:
        yield _counted(root, outcomes[found.name])
    for name in chosen.orphaned:
        if prune:
            remove_traces(root, name)
        yield UpdateRow(Key(name, "", "traces"), "deleted" if prune else "orphaned")


def _counted(root: Path, outcome: ScenarioRun) -> UpdateRow:
    name, key = outcome.name, Key(outcome.name, "", "traces")
    if outcome.what:
        return UpdateRow(key, "failed", (outcome.what, *_hint(outcome.advice)), outcome.log)
    new = RecordedTraces(name, outcome.jax, count_traces(outcome.events))
    broken = ""
    try:
        old = read_traces(FolderTree(root), name)
    except FutureFormatError as error:
        return _failed(key, error)
    except HlodiffError as error:
        old, broken = None, "healed" if isinstance(error, StaleError) else "repaired"
    changes = differences(old.counts, new.counts) if old else ()
    if old is not None and not changes and old.jax == new.jax:
        return UpdateRow(key, "unchanged")
    write_traces(root, new)
    if old is None:
        return UpdateRow(key, broken or "new")
    return UpdateRow(key, "changed" if changes else "facts", changes)


def _updated_growth(
    config: Config, discovery: Discovery, chosen: ChosenFunctions, names: Sequence[str], jobs: int | None, prune: bool
) -> Iterator[UpdateRow]:
    """Records how the chosen cases grow; records of cases that no longer have `grow=` sizes come last."""
    for grew in measured_growth(config, growing_keys(discovery, chosen), jobs):
        yield _grown(config, grew)
    for function, case in orphaned_growth(config, discovery, names):
        if prune:
            remove_growth(config.snapshots, function, case)
        yield UpdateRow(Key(function, case, PLACE), "deleted" if prune else "orphaned")


def _grown(config: Config, grew: GrowthSeries) -> UpdateRow:
    key, root = Key(grew.key.function, grew.key.case, PLACE), shown_path(config.snapshots)
    if isinstance(grew.failure, NotChecked):
        return UpdateRow(key, "not checked", (grew.failure.reason, *_hint(grew.failure.advice)))
    if grew.failure is not None:
        return UpdateRow(key, "failed", (grew.failure.what,), grew.failure.log_tail)
    status = "changed"
    try:
        old = read_growth(root, key.function, key.case)
        status = "new" if old is None else status
    except HlodiffError as error:
        old, status = None, "healed" if isinstance(error, StaleError) else "repaired"
        if isinstance(error, FutureFormatError):
            return _failed(key, error)
    if not write_growth(root, key.function, key.case, growth_record(key.function, key.case, grew.growths)):
        return UpdateRow(key, "unchanged")
    return UpdateRow(key, status, tuple(_growth_lines(grew, old)))


def _growth_lines(grew: GrowthSeries, old: object) -> list[str]:
    """The growth classes of a parameter in one line, with the old ones."""
    lines = []
    for growth in grew.growths:
        before = recorded_classes(old if isinstance(old, dict) else None, growth.parameter)
        words = []
        for series in growth.series:
            was = before.get(series.name, series.fit.kind)
            name = series.name.replace("_", " ")
            words.append(f"{name} {series.fit.kind}" + (f" (was {was})" if was != series.fit.kind else ""))
        lines.append(f"with `{growth.parameter}`: {', '.join(words)}")
    return lines


def update_text(result: UpdateResult) -> str:
    """One line for each recorded program, and the totals with the next command."""
    return "".join(line + "\n" for line in _lines(result))


def _lines(result: UpdateResult) -> Iterator[str]:
    width = max((len(f"{row.key.name}  {row.key.target}") for row in result.rows), default=0)
    not_checked: dict[tuple[str, ...], list[UpdateRow]] = {}
    failed: dict[tuple[str, ...], list[UpdateRow]] = {}
    for row in result.rows:
        if row.status == "not checked":
            not_checked.setdefault(row.details, []).append(row)
        elif row.status == "failed":
            failed.setdefault(row.details, []).append(row)
        elif row.status != "unchanged":
            yield from _group_lines([row], width)
    for group in failed.values():
        yield from _group_lines(group, width)
    for reason, group in not_checked.items():
        yield f"not checked: {format_names([f'{row.key.name} on {row.key.target}' for row in group])}"
        yield from (f"  {printable(line)}" for part in reason for line in part.split("\n"))
    yield from (f"note: {printable(note)}" for note in result.notes)
    yield _totals(result)


def _group_lines(rows: Sequence[UpdateRow], width: int) -> Iterator[str]:
    """Lines for programs with the same details, with the log of the first."""
    first = rows[0]
    words = {
        "facts": "same program, other toolchain, figures or paths",
        "repaired": "recorded again: the old one was broken",
        "healed": "recorded again: a merge had left it stale",
        "rewritten": "same program, summary and sources rewritten",
    }
    for row in rows:
        yield f"{f'{row.key.name}  {row.key.target}':<{width}}  {words.get(row.status, row.status)}"
    yield from (f"  {printable(line)}" for line in first.details)
    yield from (f"    | {printable(line)}" for line in end_of_log(first.log))


def _totals(result: UpdateResult) -> str:
    rows = result.rows
    counts = [(status, sum(row.status == status for row in rows)) for status in _STATUSES]
    words = {"facts": "with new facts only", "healed": "recorded again"}
    totals = ", ".join(f"{count} {words.get(status, status)}" for status, count in counts if count)
    recorded = any(count for status, count in counts if status in (*_RECORDED, "deleted"))
    failed = dict.fromkeys(row.key.name for row in rows if row.status == "failed")
    if failed:
        following = f"{format_command('hlodiff update', failed)}, once it is repaired"
    elif any(row.status == "orphaned" for row in rows):
        following = "hlodiff update --prune"
    else:
        following = f"git add {result.snapshots}" if recorded else "hlodiff check"
    return f"{totals or 'nothing is registered'}; {format_next(following)}"


def update_json(result: UpdateResult) -> str:
    """The result as JSON."""
    programs = [
        {
            "name": row.key.name,
            "target": row.key.target,
            "status": row.status.replace(" ", "_"),
            "what": list(row.details),
        }
        for row in result.rows
    ]
    totals = {status.replace(" ", "_"): sum(row.status == status for row in result.rows) for status in _STATUSES}
    return json_text({"format_version": "1.0", "programs": programs, "totals": totals})
