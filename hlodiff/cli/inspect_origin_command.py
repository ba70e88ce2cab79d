"""`hlodiff inspect origin NAME INSTRUCTION`: where an instruction comes from."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import color, emit, width
from hlodiff.inspect.origin import origin_views, origins_json, origins_markdown, origins_text
from hlodiff.inspect.passes import dumped_programs, limits_of


@click.command(
    "origin",
    epilog="""\b
Example:
  hlodiff inspect origin train_step copy.3 -t cpu
""",
)
@click.argument("name", metavar="NAME|DUMP")
@click.argument("instruction")
@options.target
@click.option("--module", "modules", multiple=True, metavar="REGEX", help="Only these modules of a DUMP.")
@click.option("--stacks", is_flag=True, help="List the whole Python call stack, innermost line first.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True, help="Form."
)
@options.output
@options.timeout
@options.project
def command(
    name: str,
    instruction: str,
    targets: tuple[str, ...],
    modules: tuple[str, ...],
    stacks: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Show where an instruction comes from: its Python line, and each of XLA's passes that touched or made it.

    NAME is a function, a case (`function/case`) or a pattern, DUMP a folder as for `hlodiff inspect passes`.
    INSTRUCTION is a name in the compiled program, in any text of the dump, or in a snapshot. It is followed from text
    to text by what it is, not by its name. A reason is given only where two texts show it.

    Exits 0, or 2 if no program has the instruction or one could not be compiled.
    """
    limits, root = limits_of(project)
    views = [
        view
        for one in dumped_programs([name], targets, modules, project)
        for view in origin_views(*one, instruction, limits)
    ]
    # Show the targets that have the instruction; broken ones are always reported.
    shown = [view for view in views if view.origin or view.broken] or views
    if form == "json":
        emit(origins_json(shown), output)
    elif form == "markdown":
        emit(origins_markdown(shown, root), output)
    else:
        emit(origins_text(shown, root, stacks, width(), color() and output in (None, "-")), output)
    return 2 if any(view.broken for view in views) or not any(view.origin for view in views) else 0
