"""`hlodiff record -- COMMAND`: records what JAX compiles in an unmodified run, as a folder of snapshots."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli.output import messages
from hlodiff.workflows.record_run import record_run


@click.command(
    "record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  hlodiff record -- python train.py --steps 10
  hlodiff record -o after -- -m pytest tests/test_model.py
  hlodiff diff before after
""",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("recording"),
    show_default=True,
    metavar="FOLDER",
    help="Where the recording goes; an earlier recording there is replaced.",
)
@click.option(
    "--count-calls", is_flag=True, help="Count calls too; calls get slower, because this turns JAX's fast path off."
)
@click.option("--calls", "former_calls", is_flag=True, hidden=True)
@click.argument("arguments", nargs=-1, required=True, metavar="-- COMMAND [ARG]...", type=click.UNPROCESSED)
def command(output: Path, count_calls: bool, former_calls: bool, arguments: tuple[str, ...]) -> int:
    """Run a command and record every program that JAX compiles in it.

    COMMAND is anything that starts Python, now or later; what begins with `-` or ends in `.py` is run by this Python.
    It runs as it would without hlodiff, with its own input and output; processes that it starts or forks are recorded
    too. The recording is a folder of snapshots, which `hlodiff diff` reads; recording.json in it counts compiles and
    traces.

    Exits with the exit code of the command (128 + N where signal N ended it); with 2 where it could not be started, or
    nothing could be written although the command ended with 0.
    """  # fmt: skip
    with messages():
        return record_run(arguments, output, count_calls or former_calls)
