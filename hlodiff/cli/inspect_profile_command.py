"""`hlodiff inspect profile NAME`: what a first call costs before it runs."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.capture import discover
from hlodiff.cli import options
from hlodiff.cli.output import color, emit
from hlodiff.inspect import profiles_json, profiles_markdown, profiles_text
from hlodiff.inspect.profile import measure_profiles
from hlodiff.snapshots import Key
from hlodiff.workflows import load
from hlodiff.workflows.select import select


@click.command(
    "profile",
    epilog="""\b
Example:
  hlodiff inspect profile train_step --target cpu
""",
)
@options.required_names()
@options.target
@click.option(
    "--repeat",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="How many more times to compile.",
)
@click.option("-n", "former_repeat", type=click.IntRange(0, 1000), hidden=True)
@click.option("--no-passes", is_flag=True, help="Skip the extra compile that times XLA's passes.")
@click.option("--all", "everything", is_flag=True, help="List every pass.")
@options.form
@options.output
@options.timeout
@options.project
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    repeat: int,
    former_repeat: int | None,
    no_passes: bool,
    everything: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Show how long a function's first call takes before it runs: tracing, lowering, XLA, and XLA's passes.

    NAME is a function, a case (`function/case`) or a pattern. Each program is compiled in a process of its own, one
    after the other; nothing is run, and no snapshot is read or written.

    Exits 0, or 2 if a program could not be compiled.
    """  # fmt: skip
    config = load(project)
    keys = select((Key(r.function, r.case, r.target) for r in discover(config).requests()), names, targets)
    found = measure_profiles(config, keys, repeat if former_repeat is None else former_repeat, not no_passes)
    if form == "json":
        emit(profiles_json(found), output)
    elif form == "markdown":
        emit(profiles_markdown(found, everything), output)
    else:
        emit(profiles_text(found, everything, color() and output in (None, "-")), output)
    return 2 if any(each.broken for each in found) or not any(each.first for each in found) else 0
