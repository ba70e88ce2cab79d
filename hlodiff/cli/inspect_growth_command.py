"""`hlodiff inspect growth NAME`: how a program grows with a size, and in which lines."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit, tell
from hlodiff.errors import UsageError
from hlodiff.report.growth import growth_json, growth_markdown, growth_text
from hlodiff.workflows import load
from hlodiff.workflows.growth import measure_named_growth

_FORMS = {"text": growth_text, "json": growth_json, "markdown": growth_markdown}


@click.command(
    "growth",
    epilog="""\b
Example:
  hlodiff inspect growth solve --at length=8,16,32,64
""",
)
@options.names
@click.option(
    "--at",
    "sizes",
    multiple=True,
    metavar="NAME=N,N,N",
    help="Other sizes than those of the case: --at length=8,16,32.",
)
@click.option("-t", "--target", metavar="TARGET", help="What to lower for; cpu where the case has it.")
@click.option("--compile", "compile_too", is_flag=True, help="Compile at each size too, and count what XLA made of it.")
@click.option("--format", "form", type=click.Choice(list(_FORMS)), default="text", show_default=True, help="Form.")
@options.output
@options.workers
@options.project
def command(
    names: tuple[str, ...],
    sizes: tuple[str, ...],
    target: str | None,
    compile_too: bool,
    form: str,
    output: str | None,
    jobs: int | None,
    project: Path,
) -> int:
    """Lower programs at several sizes and show how they grow.

    NAME is a function, a case (`function/case`) or a pattern; all cases that name sizes where none is given. Nothing is
    written, and nothing is compiled without --compile. The report has the counts at every size and how they grow, the
    lines of Python that give more operations at larger sizes, and duplicated work in the largest program.
    """
    config = load(project)
    measured = measure_named_growth(config, names, tuple(map(_size, sizes)), target, compile_too, jobs)
    for message in (*measured.unlisted, *measured.failures):
        tell(message)
    if measured.growths or not measured.exit_code:
        emit(_FORMS[form](measured.growths, str(config.root)), output)
    return measured.exit_code


def _size(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, numbers = text.partition("=")
    try:
        return name.strip(), tuple(int(number) for number in numbers.split(","))
    except ValueError:
        raise UsageError(f"--at {text!r} is not a list of sizes", hint="--at length=8,16,32,64") from None
