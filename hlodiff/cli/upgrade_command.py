"""`hlodiff upgrade`: what another jax compiles the registered functions to, before you upgrade."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import color, emit, messages, width
from hlodiff.report import upgrade_json, upgrade_markdown, upgrade_text
from hlodiff.report.forms import to_form
from hlodiff.workflows import compare_environments


@click.command(
    "upgrade",
    epilog="""\b
Examples:
  hlodiff upgrade 'jax==0.10.2'
  hlodiff upgrade 'jax==0.10.2' 'optax==0.2.8' --name 'train*' --details
  hlodiff upgrade 'jax==0.10.2' --format html -o upgrade.html
""",
)
@click.argument("requirements", nargs=-1, metavar="[REQUIREMENT]...")
@click.option("-n", "--name", "names", multiple=True, metavar="GLOB", help="Only functions or cases of these names.")
@options.target
@click.option("--python", type=click.Path(path_type=Path), metavar="PATH", help="Use this interpreter's environment.")
@click.option("--env", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Use this virtual environment.")
@click.option("--details", is_flag=True, help="List every change below the table, as `check` does.")
@click.option("--passes", is_flag=True, help="Report which of XLA's passes did it; compiles changed programs again.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown", "html"]), default="text", show_default=True,
    help="Form of the report.",
)  # fmt: skip
@options.output
@options.workers
@options.project
def command(
    requirements: tuple[str, ...],
    names: tuple[str, ...],
    targets: tuple[str, ...],
    python: Path | None,
    folder: Path | None,
    details: bool,
    passes: bool,
    form: str,
    output: str | None,
    jobs: int | None,
    project: Path,
) -> int:
    """Show what other versions would compile registered functions to, without installing them here.

    REQUIREMENT is what you would give to pip: 'jax==0.10.2'. It goes into a temporary environment on top of this one,
    with plugins of the same version where they are installed here; --env and --python use an environment that exists.
    Your functions are captured here and there. Snapshots are neither needed nor written.

    For each program: whether StableHLO is the same, so that the compiler made every difference, and how memory, fusions
    and copies moved. Exits 0 even if programs differ, 2 if something could not be captured or compared.
    """
    with messages():
        report = compare_environments(
            requirements, names, targets, python=python, folder=folder, root=project, jobs=jobs, passes=passes
        )
    details = details or passes  # the pass is shown with each change
    given = [("--name", one) for one in names] + [("--target", one) for one in targets]
    given += [(option, str(value)) for option, value in (("--python", python), ("--env", folder)) if value]
    given += [("--project", str(project))] if project != Path() else []
    following = shlex.join(["hlodiff", "upgrade", *requirements, *(word for one in given for word in one), "--details"])
    report = replace(report, all=details, stacks=False, next="" if details else following)
    if form == "text":
        to_file = output not in (None, "-")
        text = upgrade_text(report, 160 if to_file else width(), not to_file and color(), details)
    elif form == "html":
        text = to_form(report, "html")
    else:
        text = upgrade_json(report) if form == "json" else upgrade_markdown(report, details)
    emit(text, output)
    return 2 if any(program.broken for program in report.programs) else 0
