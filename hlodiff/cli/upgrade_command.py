"""`hlodiff upgrade`: what another jax would make of the registered functions, before anyone upgrades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import click

from hlodiff.capture import discover, one_worker_for_both
from hlodiff.cli import options
from hlodiff.cli.output import color, emit, messages, tell, width
from hlodiff.config import Config
from hlodiff.differ.limits import Limits
from hlodiff.errors import UsageError
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.report.upgrade_table import upgrade_json, upgrade_markdown, upgrade_text
from hlodiff.snapshots import Key
from hlodiff.workflows.capture_side import SideNames, capture_side, compare_sides, toolchains_of
from hlodiff.workflows.configuration import load
from hlodiff.workflows.environments import OtherEnvironment, capture_elsewhere, other_environment, with_plugins
from hlodiff.workflows.select import intact_snapshots, load_stored, select


@click.command("upgrade")
@click.argument("requirements", nargs=-1, metavar="[REQUIREMENT]...")
@click.option("-n", "--name", "names", multiple=True, metavar="GLOB", help="Only functions or cases of these names.")
@options.target
@click.option("--python", type=click.Path(path_type=Path), metavar="PATH", help="Use this interpreter's environment.")
@click.option("--env", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Use this virtual environment.")
@click.option("--details", is_flag=True, help="Tell every change below the table, as `check` does.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True,
    help="Form of the report.",
)  # fmt: skip
@options.output
@options.jobs
@options.project
@one_worker_for_both()
def command(
    requirements: tuple[str, ...],
    names: tuple[str, ...],
    targets: tuple[str, ...],
    python: Path | None,
    folder: Path | None,
    details: bool,
    form: str,
    output: str | None,
    jobs: int | None,
    project: Path,
) -> int:
    """Show what other versions would compile registered functions to, without installing them here.

    REQUIREMENT is what you would tell pip: 'jax==0.10.2'. It goes into a temporary environment on top of this one, with
    plugins of the same version where they are installed here; --env and --python use an environment that exists. Your
    functions are captured here and there. Snapshots are neither needed nor written.

    For each program: whether StableHLO is the same, so that the compiler made every difference, and how memory, fusions
    and copies moved. Exits 0 whatever it finds, 2 where something could not be captured or compared.
    """
    if not requirements and python is None and folder is None:
        raise UsageError("nothing to compare with", hint="hlodiff upgrade 'jax==VERSION', or --env DIR")
    config = load(project)
    keys = select((Key(r.function, r.case, r.target) for r in discover(config).requests()), names, targets)
    kinds = [kind for kind in ("tpu", "cuda") if any(key.target.startswith(kind) for key in keys)]
    wanted = requirements if python or folder else with_plugins(requirements, kinds)
    with messages(), other_environment(wanted, python, folder) as other:
        report = _compared(config, other, keys, names, targets, jobs)
    report = replace(report, all=details, stacks=False)
    if form == "text":
        to_file = output not in (None, "-")
        text = upgrade_text(report, 160 if to_file else width(), not to_file and color(), details)
    else:
        text = upgrade_json(report) if form == "json" else upgrade_markdown(report, details)
    emit(text, output)
    return 2 if any(program.broken for program in report.programs) else 0


def _compared(
    config: Config,
    other: OtherEnvironment,
    keys: Sequence[Key],
    names: Sequence[str],
    targets: Sequence[str],
    jobs: int | None,
) -> Report:
    here = f"jax {version('jax')}, jaxlib {version('jaxlib')}"
    stored, _ = load_stored(config, keys)
    tell(f"capturing {len(keys)} programs with {here}")
    old = capture_side(config, keys, jobs, intact_snapshots(stored))
    tell(f"capturing them with {other.label}")
    new = capture_elsewhere(config, other, names, targets, jobs)
    called = SideNames(f"with {here}", f"with {other.label}")
    programs = compare_sides(old, new, Limits(**dict(config.limits)), called)
    return Report(
        command="diff",
        old=here,
        new=other.label,
        programs=programs,
        toolchain=toolchain_changes(toolchains_of(old, new)),
        root=str(config.root),
        same_code=True,
    )
