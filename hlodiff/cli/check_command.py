"""`hlodiff check`: compile again, compare with the snapshots, judge."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from hlodiff.capture import Captured, NotChecked, Outcome, discover
from hlodiff.cli import options
from hlodiff.cli.capturing import captured
from hlodiff.cli.output import emit_report, near
from hlodiff.cli.recording import STAGES, Stored, compare, one_sided, parse, record
from hlodiff.cli.registered import Chosen, choose, load_stored, requests_for
from hlodiff.cli.timing import timing
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config, load
from hlodiff.diff.compared import Compared
from hlodiff.diff.limits import Limits
from hlodiff.diff.metrics import op_counts
from hlodiff.errors import HlodiffError
from hlodiff.policy import FAILED, UNJUDGED, exit_code, judge
from hlodiff.report.record import Report, toolchain_changes
from hlodiff.report.timings import Timing
from hlodiff.store import FutureFormatError, Key, is_unfinished, writing


@click.command("check")
@options.names
@options.target
@options.form
@options.output
@options.detail
@click.option("--timings", is_flag=True, help="Tell how long each program took to trace, lower and compile.")
@options.jobs
@options.project
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    form: str,
    output: str | None,
    everything: bool,
    stacks: bool,
    timings: bool,
    jobs: int | None,
    project: Path,
) -> int:
    """Compile registered functions and compare them with the snapshots.

    NAME is a function, a case (`function/case`) or a pattern (`train*`); all functions where none is given. Nothing is
    written. A program that cannot be compiled here is "not checked": it is reported, and where it has a snapshot it is
    no pass. `--target cpu` looks at one target only. `--timings` compiles everything, also what did not change; workers
    slow each other down, so use it with `--jobs 1`, or `hlodiff profile`, which tells more.

    Exits 0 where nothing changed, 1 where a program changed, has no snapshot or is registered no more, 2 where no
    verdict was possible: something is broken, or a recorded program could not be checked here.
    """
    config = load(project)
    if is_unfinished(config.snapshots):
        with writing(config.snapshots):
            pass  # taking the folder finishes what a killed `update` has begun
    chosen = choose(config, discover(config), names, targets)
    run = _Run(config, timed={} if timings else None)
    run.compare_all(chosen, jobs)
    programs = run.in_order(chosen)
    findings = judge(programs)
    code = exit_code(findings)
    report = Report(
        "check",
        str(near(config.snapshots)),
        "this work tree",
        programs,
        findings,
        toolchain_changes(run.toolchains),
        tuple(f"{folder}: a summary.yaml, but no snapshot's place" for folder in chosen.strays),
        _next(programs, code),
        str(config.root),
        everything,
        stacks,
        tuple(run.timed[key] for key in chosen.registered if key in run.timed) if run.timed else (),
    )
    emit_report(report, form, output)
    return code


@dataclass(slots=True)
class _Run:
    """What has been compared so far."""

    config: Config
    results: dict[Key, tuple[Compared, ...]] = field(default_factory=dict)
    toolchains: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    timed: dict[Key, Timing] | None = None

    def compare_all(self, chosen: Chosen, jobs: int | None) -> None:
        stored, broken = load_stored(self.config, (*chosen.registered, *chosen.orphaned))
        for key, error in broken.items():
            self.results[key] = _both(key, error.what, _heal(key, error), error=error)
        for key in chosen.orphaned:
            if key in stored:
                self.results[key] = one_sided(stored[key], "removed")
        fresh = [key for key in chosen.registered if key not in broken]
        # Whoever asks how long XLA takes wants it asked, also for what is known to be unchanged.
        known = stored if self.timed is None else {}
        with closing(captured(self.config, requests_for(fresh, known), jobs)) as outcomes:
            for key, outcome in outcomes:
                self.results[key] = self.judge_one(key, outcome, stored.get(key))

    def judge_one(self, key: Key, outcome: Outcome, old: Stored | None) -> tuple[Compared, ...]:
        """One program against its snapshot; whatever goes wrong is said of this program alone."""
        if isinstance(outcome, NotChecked):
            return _both(key, outcome.reason, outcome.advice, recorded=old is not None)
        if not isinstance(outcome, Captured):
            return _both(key, outcome.what, "", broken=True, log=outcome.log_tail)
        if old is not None:
            before = old.snapshot.summary.get("toolchain") or {}
            self.toolchains.append((key.target, before, outcome.facts.get("toolchain") or before))
        try:
            if self.timed is not None:
                self.timed[key] = timing(key, outcome)
            if outcome.unchanged and old is not None:
                return _same(key, old)
            new = parse(record(outcome, str(self.config.root), self.config.large_constants), key.name)
            limits = Limits(**dict(self.config.limits))
            return one_sided(new, "added") if old is None else compare(old, new, limits)
        except Exception as error:
            known = foreseen(error)
            return _both(key, known.what, known.hint, error=known)

    def in_order(self, chosen: Chosen) -> tuple[Compared, ...]:
        """Results in the order of registration, orphans last."""
        return tuple(program for key in (*chosen.registered, *chosen.orphaned) for program in self.results.get(key, ()))


def _both(
    key: Key,
    reason: str,
    advice: str,
    *,
    broken: bool = False,
    log: str = "",
    error: HlodiffError | None = None,
    recorded: bool = False,
) -> tuple[Compared, ...]:
    """Both stages of a program that was not compared."""
    if error is not None:
        reason, broken = str(error).removesuffix(f"\nhint: {error.hint}"), True
    return tuple(
        Compared(
            key.name,
            key.target,
            stage,
            "not_checked",
            reason=reason,
            advice=advice,
            broken=broken,
            log=log,
            recorded=recorded,
        )
        for stage in STAGES
    )


def _heal(key: Key, error: HlodiffError) -> str:
    """What to type where a snapshot is broken: it is recorded again, unless a newer hlodiff wrote it."""
    newer = isinstance(error, FutureFormatError) or error.what.startswith("internal error")
    return error.hint if newer else f"hlodiff update {key.name} --target {key.target}"


def _same(key: Key, old: Stored) -> tuple[Compared, ...]:
    return tuple(
        Compared(key.name, key.target, stage, "identical", op_counts=op_counts(old.modules[stage])) for stage in STAGES
    )


def _next(programs: tuple[Compared, ...], code: int) -> str:
    if code == UNJUDGED:
        broken = [program for program in programs if program.broken]
        if not broken:
            return next((program.advice for program in programs if program.recorded and program.advice), "")
        advice = [program.advice for program in broken if program.advice.startswith("hlodiff ")]
        return advice[0] if advice else f"hlodiff check {broken[0].name}, once it is repaired"
    if code == FAILED:
        differing = dict.fromkeys(p.name for p in programs if p.status in ("changed", "added"))
        if not differing:
            return "hlodiff update --prune"
        return f"hlodiff update {' '.join(differing)}" if len(differing) <= 3 else "hlodiff update"
    return ""
