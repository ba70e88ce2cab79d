"""`hlodiff check`: compile, compare with the snapshots, apply the policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit_report
from hlodiff.workflows.check import check


@click.command(
    "check",
    epilog="""\b
Examples:
  hlodiff check
  hlodiff check 'train*' --target cpu
  hlodiff check --against main... --format markdown
""",
)
@options.names
@options.target
@options.form
@options.output
@options.detail
@click.option("--timings", is_flag=True, help="Show how long each program took to trace, lower and compile.")
@click.option(
    "--pending",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for captured programs; .hlodiff/pending by default.",
)
@click.option("--against", metavar="REV", help="Compare with a git revision, compiled now, instead of the snapshots.")
@click.option(
    "--stage",
    type=click.Choice(["stablehlo", "all"]),
    default="all",
    show_default=True,
    help="`stablehlo` only lowers: nothing is compiled or run.",
)
@click.option("--passes", is_flag=True, help="Report which of XLA's passes did it; compiles changed programs again.")
@click.option("--fresh", is_flag=True, help="Lower everything, even if nothing changed since the last run.")
@click.option("--changed", metavar="REV", help="Only functions whose imported files have changed since REV.")
@options.capturing
@options.project
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    form: str,
    output: str | None,
    everything: bool,
    stacks: bool,
    brief: bool,
    timings: bool,
    pending: Path | None,
    against: str | None,
    stage: str,
    passes: bool,
    fresh: bool,
    changed: str | None,
    jobs: int | None,
    executor: str | None,
    compile_cache: str | None,
    project: Path,
) -> int:
    """Compile registered functions and compare them with the snapshots.

    NAME is a function, a case (`function/case`) or a pattern (`train*`); all functions where none is given. Snapshots
    are not written: what is new or changed is left for `hlodiff review` and `hlodiff accept`. A program that cannot be
    compiled here is reported as "not checked"; if it has a snapshot, the check does not pass. `--target cpu` looks at
    one target only. `--timings` compiles everything, also what did not change; workers slow each other down, so use it
    with `--jobs 1`, or `hlodiff inspect profile`, which shows more.

    `--against REV` needs no snapshots: it checks REV out beside the work tree, compiles both and compares. `REV...`
    means the commit where this branch left REV. Functions that only one side has do not fail.

    `--stage stablehlo` lowers without compiling, for a commit hook. If StableHLO and the toolchain are those of the
    snapshot, the compiled program is too; if not, the report says that it was not compared. Nothing is run or left
    pending.

    `--passes` compiles changed programs again, here and at REV (HEAD without --against), with XLA's text after each
    pass, and reports the pass after which the two differ. `hlodiff upgrade --passes` does the same for another jax.

    A function is not lowered again if its program was unchanged in the last run on this machine and its files,
    settings, environment variables and packages are still the same; the report says how many were skipped. In CI this
    needs the variable HLODIFF_CACHE to name a folder.

    `--changed REV` looks only at functions whose imported project files or snapshot have changed since REV, committed
    or not, and at all functions if pyproject.toml or a constraints file has changed. The report says how many it
    skipped. Scenarios always run.

    Exits 0 if nothing changed, 1 if a program changed, has no snapshot or is no longer registered, 2 if hlodiff could
    not decide: something is broken, or a recorded program could not be checked here.
    """
    result = check(
        names,
        targets,
        root=project,
        jobs=jobs,
        executor=executor,
        compile_cache=compile_cache,
        against=against,
        stage="stablehlo" if stage == "stablehlo" else "all",
        timings=timings,
        pending=pending,
        everything=everything,
        passes=passes,
        fresh=fresh,
        changed=changed,
    )
    emit_report(replace(result.report, stacks=stacks, brief=brief), form, output)
    return result.exit_code
