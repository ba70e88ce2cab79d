"""`hlodiff check`: compile again, compare with the snapshots, judge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from hlodiff.capture import discover, one_worker_for_both
from hlodiff.cli import options
from hlodiff.cli.against import check_against
from hlodiff.cli.checking import Run, with_ids
from hlodiff.cli.following import following_all
from hlodiff.cli.growth_checking import check_growth
from hlodiff.cli.idle_policy import idle_patterns
from hlodiff.cli.leaving import LeavesNothing, Leaving, pending_folder
from hlodiff.cli.lowered import left_out
from hlodiff.cli.output import emit_report, near
from hlodiff.cli.parity import check_parity
from hlodiff.cli.registered import Chosen, choose, with_budgets
from hlodiff.cli.renamed import renamed
from hlodiff.cli.scenario_runs import ChosenScenarios, compare_scenarios
from hlodiff.config import in_ci, load
from hlodiff.errors import UsageError
from hlodiff.policy import exit_code, judge, judge_scenarios
from hlodiff.report.record import Report, toolchain_changes
from hlodiff.store import is_unfinished, writing


@click.command("check")
@options.names
@options.target
@options.form
@options.output
@options.detail
@click.option("--timings", is_flag=True, help="Tell how long each program took to trace, lower and compile.")
@click.option(
    "--pending",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where to leave what was captured; .hlodiff/pending by default.",
)
@click.option("--against", metavar="REV", help="Compare with a git revision, compiled now, instead of the snapshots.")
@click.option(
    "--stage",
    type=click.Choice(["stablehlo", "all"]),
    default="all",
    show_default=True,
    help="`stablehlo` only lowers: XLA is never asked, and nothing is run.",
)
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
    pending: Path | None,
    against: str | None,
    stage: str,
    jobs: int | None,
    project: Path,
) -> int:
    """Compile registered functions and compare them with the snapshots.

    NAME is a function, a case (`function/case`) or a pattern (`train*`); all functions where none is given. Snapshots
    are not written: what is new or changed is left for `hlodiff review` and `hlodiff accept`. A program that cannot be
    compiled here is "not checked": it is reported, and where it has a snapshot it is no pass. `--target cpu` looks at
    one target only. `--timings` compiles everything, also what did not change; workers slow each other down, so use it
    with `--jobs 1`, or `hlodiff profile`, which tells more.

    `--against REV` needs no snapshots: it checks REV out beside the work tree, compiles both and compares. `REV...`
    stands for the commit where this branch left REV. A function that only one side has does not fail then.

    `--stage stablehlo` lowers and does not compile, for a commit hook: where StableHLO and the toolchain are those of
    the snapshot the compiled program is too, and where they are not the report says that nobody looked at it. Nothing
    is run or left pending then.

    Exits 0 where nothing changed, 1 where a program changed, has no snapshot or is registered no more, 2 where no
    verdict was possible: something is broken, or a recorded program could not be checked here.
    """
    config = load(project)
    if stage == "stablehlo" and (timings or pending or against is not None):
        what = "--stage stablehlo only lowers: it leaves nothing pending, times nothing and looks at no revision"
        raise UsageError(what, hint="leave out one of the options")
    if against is not None:
        if timings or pending:
            raise UsageError("--against leaves nothing pending and times nothing", hint="leave out one of the options")
        report = check_against(config, against, names, targets, jobs)
    else:
        lower_only = stage == "stablehlo"
        keeps = LeavesNothing if lower_only else Leaving
        leaving = keeps(pending_folder(config, pending), config.max_file_bytes)
        run = Run(config, leaving, timed={} if timings else None, lower_only=lower_only)
        report = _check_snapshots(run, names, targets, everything, jobs)
    emit_report(replace(report, all=everything, stacks=stacks), form, output)
    return exit_code(report.findings)


@one_worker_for_both()
def _check_snapshots(
    run: Run, names: tuple[str, ...], targets: tuple[str, ...], everything: bool, jobs: int | None
) -> Report:
    config = run.config
    if is_unfinished(config.snapshots) and not in_ci():
        with writing(config.snapshots):
            pass  # taking the folder finishes what a killed `update` has begun
    discovery = discover(config)
    policy = with_budgets(config, discovery)
    chosen = choose(config, discovery, names, targets)
    idle = () if names or targets else idle_patterns(config, discovery)
    run.compare_all(chosen, jobs)
    if not (names or targets or run.lower_only):
        run.leaving.forget_unregistered(discovery)
    programs = run.in_order(chosen)
    scenarios = compare_scenarios(config, _to_run(run, chosen), jobs, run.leaving)
    grown = check_growth(config, discovery, chosen, names, jobs, run.leaving)
    called = () if run.lower_only else check_parity(config, discovery, chosen, jobs)
    unseen = left_out(run.uncompiled, discovery, chosen) if run.lower_only else ()
    findings = (
        *judge(programs, policy),
        *grown,
        *called,
        *judge_scenarios(scenarios, everything=everything),
    )
    # What CI captured lies on CI's machine, and whoever reads its log sits at another one.
    kept = {} if in_ci() else run.leaving.ids
    findings = with_ids(findings, run.leaving.ids, here=not in_ci())
    return Report(
        command="check",
        old=str(near(config.snapshots)),
        new="this work tree",
        programs=programs,
        findings=findings,
        toolchain=toolchain_changes(run.toolchains),
        notes=(*chosen.notes(), *run.leaving.notes(), *unseen, *renamed(programs), *idle),
        next=following_all(programs, findings, scenarios, kept),
        root=str(config.root),
        timings=run.timings(chosen),
        scenarios=scenarios,
        registered={found.name: (found.file, found.line) for found in discovery.functions},
    )


def _to_run(run: Run, chosen: Chosen) -> ChosenScenarios:
    """Scenarios make real calls; that a record has no scenario any more is known without."""
    return replace(chosen.scenarios, registered=()) if run.lower_only else chosen.scenarios
