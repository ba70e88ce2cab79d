"""`hlodiff inspect variants NAME`: one computation jitted in several ways; each is run and compared."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit
from hlodiff.inspect import variants_json, variants_markdown, variants_text
from hlodiff.inspect.variants import compare_variants
from hlodiff.workflows import load


@click.command(
    "variants",
    epilog="""\b
Examples:
  hlodiff inspect variants
  hlodiff inspect variants 'g_calls*' --calls 100
""",
)
@options.names
@click.option(
    "--calls",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of calls to time after the first.",
)
@options.form
@options.output
@options.timeout
@options.project
def command(names: tuple[str, ...], calls: int, form: str, output: str | None, project: Path) -> int:
    """Run a computation that is jitted in several ways, and show what each way compiles to and costs.

    NAME is what `@hlodiff.variants` registers, or a pattern; all where none is given. Each variant is called for real
    on cpu, in a worker process.

    Exits 0, 1 if a variant is over its budget, or 2 if one could not be run.
    """  # fmt: skip
    comparisons = compare_variants(load(project), names, calls)
    forms = {"json": variants_json, "markdown": variants_markdown, "text": variants_text}
    emit(forms[form](comparisons), output)
    if any(variant.problem for comparison in comparisons for variant in comparison.variants):
        return 2
    return 1 if any(comparison.over for comparison in comparisons) else 0
