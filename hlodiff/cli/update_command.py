"""`hlodiff update`: compile registered functions and write what changed."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit, messages
from hlodiff.workflows import update_json
from hlodiff.workflows.update import update, update_text


@click.command(
    "update",
    epilog="""\b
Examples:
  hlodiff update
  hlodiff update train_step --target 'tpu-*'
""",
)
@options.names
@options.target
@click.option("--prune", is_flag=True, help="Delete snapshots of functions that are no longer registered.")
@click.option(
    "--rewrite", is_flag=True, help="Write summary and sources of unchanged programs again; record nothing else."
)
@options.plain_form
@options.output
@options.ci_write
@options.capturing
@options.project
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    prune: bool,
    rewrite: bool,
    form: str,
    output: str | None,
    ci_write: bool,
    jobs: int | None,
    executor: str | None,
    compile_cache: str | None,
    project: Path,
) -> int:
    """Compile registered functions and record those whose program changed.

    NAME is a function, a case (`function/case`) or a pattern (`train*`); all functions where none is given. A snapshot
    whose program is the same is not touched. A program that cannot be compiled here keeps the snapshot it has. In CI
    (the variable CI is set) nothing is written unless --ci-write is given.

    --rewrite writes summary.yaml and source.json of unchanged programs again, as after a new version of hlodiff that
    counts something differently. The programs keep their bytes. A program that has changed is left alone, and the
    command exits 2: record it without --rewrite. Scenarios and growth are left alone too.
    """
    with messages():
        result = update(
            names,
            targets,
            root=project,
            jobs=jobs,
            executor=executor,
            compile_cache=compile_cache,
            prune=prune,
            rewrite=rewrite,
            ci_write=ci_write,
        )
    emit(update_json(result) if form == "json" else update_text(result), output)
    return result.exit_code
