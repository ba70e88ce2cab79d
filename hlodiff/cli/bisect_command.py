"""`hlodiff bisect NAME METRIC`: the commit that changed a number of a recorded program."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import NO_TERMINAL, emit, shows_blocks, tell, width
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history.bisect import (
    bisect_history,
    bisect_json,
    bisect_markdown,
    bisect_text,
    change_query,
)
from hlodiff.integrations.history.select import HistoryRequest, find
from hlodiff.workflows.configuration import load


@click.command("bisect")
@click.argument("name", metavar="NAME")
@click.argument("metric", metavar="METRIC")
@options.target
@options.stage
@click.option("--from", "start", metavar="REV", help="Look at the commits after this one; all by default.")
@click.option("--to", "end", metavar="REV", default="HEAD", show_default=True, help="Look no further than this one.")
@click.option("--above", metavar="X", help="Find the commit that took it over X, as in 12 or '3 MiB'.")
@click.option("--below", metavar="X", help="Find the commit that took it below X.")
@click.option("--change", "percent", metavar="PERCENT", help="Find every commit that changed it by so much or more.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@options.output
@options.project
def command(
    name: str,
    metric: str,
    targets: tuple[str, ...],
    stage: Stage,
    start: str | None,
    end: str,
    above: str | None,
    below: str | None,
    percent: str | None,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Find the commit that changed a number of a recorded program, and say what it did.

    METRIC is called as in budgets: temp_bytes, fusions, op.convert, collectives.all-gather.bytes, loop.copies. Without
    --above, --below or --change it is the commit of the largest change. All values are read from git, so nothing is
    compiled and every commit is looked at.

    Exits 0 where a commit was found, 1 where none was, 2 where the question makes no sense.
    """
    query = change_query(metric, above, below, percent)
    revision = f"{start}..{end}" if start else end
    config = load(project)
    asked = HistoryRequest(name, targets, (metric,), stage, revision)
    found = find(asked, project, config.snapshots).histories
    if not found:
        tell(f"no commit of {revision} touched the snapshots of {name}")
    done = [bisect_history(one, metric, stage, query, config, project) for one in found]
    root = str(config.root)
    if form == "json":
        text = bisect_json(done, revision, root)
    elif form == "markdown":
        text = bisect_markdown(done, root)
    else:
        to_file = output not in (None, "-")
        ascii_only = not to_file and not shows_blocks()
        text = bisect_text(done, width=NO_TERMINAL if to_file else width(), ascii_only=ascii_only, root=root)
    emit(text, output)
    return 0 if any(one.culprits for one in done) else 1
