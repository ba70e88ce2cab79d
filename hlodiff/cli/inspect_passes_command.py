"""`hlodiff inspect passes NAME`: what each of XLA's passes did."""

from __future__ import annotations

import re
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import color, emit, width
from hlodiff.errors import UsageError
from hlodiff.inspect import passes_json, passes_markdown, passes_text, passes_view
from hlodiff.inspect.passes import dumped_programs, limits_of, passes_page


@click.command(
    "passes",
    epilog="""\b
Examples:
  hlodiff inspect passes train_step -t cpu
  hlodiff inspect passes train_step -t cpu --pass fusion
  hlodiff inspect passes train_step --format html -o passes.html
""",
)
@options.required_names("NAME|DUMP...")
@options.target
@click.option("--module", "modules", multiple=True, metavar="REGEX", help="Only these modules of a DUMP.")
@click.option("--pass", "pattern", metavar="REGEX", help="List the edits of passes whose name or pipeline matches.")
@click.option("--all", "everything", is_flag=True, help="List texts without an edit too, and every edit.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="Form.",
)
@options.output
@options.timeout
@options.project
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    modules: tuple[str, ...],
    pattern: str | None,
    everything: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Show what each of XLA's passes did to a program: a table in order, passes without an edit folded.

    NAME is a function, a case (`function/case`) or a pattern; it is compiled once more, with a text after each pass.
    DUMP is a folder with such texts, made anywhere:

    \b
      XLA_FLAGS="--xla_dump_to=DUMP --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text"

    `--format html` makes a page with a slider over the passes. Numbers are those of XLA's files. Bytes are what one
    call reads and writes, computed from shapes. No snapshot is read or written. Exits 0, or 2 if a program could not be
    compiled or a text could not be read.
    """
    found = None
    if pattern is not None:
        try:
            found = re.compile(pattern)
        except re.error as error:
            raise UsageError(f"`{pattern}` is not a regular expression: {error}") from None
    limits, root = limits_of(project)
    views = [passes_view(*one, limits) for one in dumped_programs(names, targets, modules, project)]
    if form == "json":
        emit(passes_json(views), output)
    elif form == "html":
        emit(passes_page(views, root), output, commands=True)
    elif form == "markdown":
        emit(passes_markdown(views, found, everything, root), output)
    else:
        is_colored = color() and output in (None, "-")
        emit(passes_text(views, found, everything, root, width(), is_colored), output)
    return 2 if any(view.broken for view in views) or all(view.problem for view in views) else 0
