"""`hlodiff accept`: record what an earlier `check` captured, without recompiling."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit
from hlodiff.workflows import decisions_json
from hlodiff.workflows.accept import accept, decisions_text


@click.command(
    "accept",
    epilog="""\b
Examples:
  hlodiff accept train_step
  hlodiff accept --everything
  hlodiff accept --from artifact/pending
""",
)
@options.pending_words
@options.target
@options.pattern
@options.change_class
@options.every_pending("All that is pending.")
@options.captured_elsewhere("Record what another machine captured, such as CI: all of it if nothing is named.")
@options.any_age
@options.plain_form
@options.output
@options.ci_write
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    patterns: tuple[str, ...],
    classes: tuple[str, ...],
    everything: bool,
    folder: Path | None,
    any_age: bool,
    form: str,
    output: str | None,
    ci_write: bool,
    project: Path,
) -> int:
    """Record what `hlodiff check` captured. Nothing is compiled and no code of yours is run.

    NAME is a function, a scenario, a case (`function/case`) or a pattern (`train*`), ID what the report printed. A
    program is refused if its snapshot, its toolchain, or the project's files or configuration have changed since it was
    captured. --pattern and --class record only programs that have no other change; `--class traces` records scenarios,
    `--class growth` cases with sizes.

    Exits 0 if everything asked for is recorded, 2 if something was refused.
    """
    result = accept(
        words,
        targets,
        root=project,
        patterns=patterns,
        classes=classes,
        everything=everything,
        pending=folder,
        stale=any_age,
        ci_write=ci_write,
    )
    if form == "json":
        emit(decisions_json(result.decisions, result.remaining), output)
    else:
        emit(decisions_text(result.decisions, result.remaining, result.next), output)
    return result.exit_code
