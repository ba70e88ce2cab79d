"""`hlodiff upgrade`: what another jax would make of the registered functions, before anyone upgrades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from hlodiff.capture import discover, one_worker_for_both
from hlodiff.cli import options
from hlodiff.cli.environments import Elsewhere, elsewhere, with_plugins
from hlodiff.cli.output import color, emit, tell, width
from hlodiff.cli.registered import load_stored
from hlodiff.cli.remote import take_elsewhere
from hlodiff.cli.selecting import select
from hlodiff.cli.taking import Names, Taken, compare_taken, take
from hlodiff.config import Config, load
from hlodiff.diff.limits import Limits
from hlodiff.errors import UsageError
from hlodiff.report.record import Report, toolchain_changes
from hlodiff.report.upgrades import upgrade_json, upgrade_markdown, upgrade_text
from hlodiff.store import Key


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
    with elsewhere(wanted, python, folder) as other:
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
    other: Elsewhere,
    keys: Sequence[Key],
    names: Sequence[str],
    targets: Sequence[str],
    jobs: int | None,
) -> Report:
    here = f"jax {version('jax')}, jaxlib {version('jaxlib')}"
    stored, _ = load_stored(config, keys)
    known = {key: one.snapshot for key, one in stored.items() if one.intact}
    tell(f"capturing {len(keys)} programs with {here}")
    old = take(config, keys, jobs, known)
    tell(f"capturing them with {other.label}")
    new = take_elsewhere(config, other, names, targets, jobs)
    called = Names(f"with {here}", f"with {other.label}")
    programs = compare_taken(old, new, Limits(**dict(config.limits)), called)
    return Report(
        command="diff",
        old=here,
        new=other.label,
        programs=programs,
        toolchain=toolchain_changes(_toolchains(old, new)),
        root=str(config.root),
        same_code=True,
    )


def _toolchains(old: Taken, new: Taken) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    both = [(old.snapshots[key], snapshot) for key, snapshot in new.snapshots.items() if key in old.snapshots]
    return [(b.target, a.summary.get("toolchain") or {}, b.summary.get("toolchain") or {}) for a, b in both]
