"""`hlodiff show NAME`: what one recorded program is made of."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit
from hlodiff.config import shown_path
from hlodiff.errors import UsageError
from hlodiff.inspect.reasons import file_reasons, reasons_text, snapshot_reasons
from hlodiff.inspect.summary import file_summary, summary_text, traces_text
from hlodiff.report.lines import json_text, printable
from hlodiff.snapshots import FolderTree, RecordedTraces, list_snapshots, open_revision, read_summary
from hlodiff.tracing.serialize import to_plain
from hlodiff.workflows.configuration import load
from hlodiff.workflows.scenarios import shown_scenarios
from hlodiff.workflows.select import select


@click.command("show")
@click.argument("name", metavar="NAME")
@options.target
@click.option("--at", "revision", metavar="REV", help="The snapshots of a git revision.")
@click.option("--why", is_flag=True, help="What the program holds more often or larger than it must, and where.")
@options.plain_form
@options.output
@options.project
def command(
    name: str, targets: tuple[str, ...], revision: str | None, why: bool, form: str, output: str | None, project: Path
) -> int:
    """Show op counts, fusions, placement, memory and cost of a recorded program.

    NAME is a function, a case (`function/case`), a pattern, or a program file. Nothing is compiled. With --why instead:
    loops of Python that were unrolled and how many copies there are, values computed twice, functions that were lowered
    again, large constants, and how often loops turn.
    """
    traces: list[RecordedTraces] = []
    if Path(name).is_file():
        found = [file_reasons(Path(name), project)] if why else [file_summary(Path(name))]
    else:
        config = load(project)
        tree = (
            open_revision(project, revision, config.snapshots) if revision else FolderTree(shown_path(config.snapshots))
        )
        keys = list_snapshots(tree).keys
        traces = shown_scenarios(tree, name) if not targets else []
        if not keys and not traces:
            raise UsageError("there are no snapshots", where=tree.where, hint="hlodiff update")
        keys = select(keys, [name], targets, [one.scenario for one in traces])
        found = [snapshot_reasons(tree, key, config.root) if why else read_summary(tree, key) for key in keys]
    if form == "json":
        scenarios = [{"name": one.scenario, "jax": one.jax, "functions": to_plain(one.counts)} for one in traces]
        table = {"format_version": "1.0", "programs": found, **({"scenarios": scenarios} if scenarios else {})}
        emit(json_text(table), output)
    else:
        blocks = [*map(reasons_text if why else summary_text, found), *map(traces_text, traces)]
        emit("\n".join("".join(printable(line) + "\n" for line in block) for block in blocks), output)
    return 0
