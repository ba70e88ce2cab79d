"""`hlodiff log NAME`: the numbers of a recorded program over the commits that changed it."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import NO_TERMINAL, emit, shows_blocks, tell, width
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history import shown_metrics
from hlodiff.integrations.history.data import history_csv, history_json
from hlodiff.integrations.history.select import HistoryRequest, find, uncommitted
from hlodiff.integrations.history.text import ShownHistory, history_markdown, history_text, overview_text
from hlodiff.workflows.configuration import load

_FORMS = ("text", "json", "csv", "markdown")
_FOR_PEOPLE = ("text", "markdown")
_MOST = 30  # rows that a person looks at


@click.command("log")
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("revision", metavar="[REV-RANGE]", default="HEAD")
@options.target
@options.stage
@click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="METRIC",
    help="Show this number, as budgets call it: temp_bytes, collectives.all-gather, loop.copies; repeatable.",
)  # fmt: skip
@click.option("-n", "most", type=click.IntRange(0), metavar="N", help="List the newest N commits; 0 lists all.")
@click.option("--first-parent", is_flag=True, help="Pass over the commits of branches that were merged.")
@click.option("--format", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Form.")
@options.output
@options.project
def command(
    name: str | None,
    revision: str,
    targets: tuple[str, ...],
    stage: Stage,
    metrics: tuple[str, ...],
    most: int | None,
    first_parent: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Show the numbers of a recorded program over the commits that changed its snapshot.

    NAME is a function, a case (`function/case`), a scenario, a test (`pytest/test_model.test_step`) or a pattern; also
    one that is there no more. REV-RANGE is one of git's: `main..HEAD`, `v1.2..`. All is read from git: nothing is
    compiled or checked out. Text and Markdown list the newest 30 commits, JSON and CSV all. Without NAME, text is a
    line for each.
    """
    overview = name is None and form == "text"
    name = name or "*"
    asked = HistoryRequest(name, targets, metrics, stage, revision, first_parent)
    found = find(asked, project, load(project).snapshots)
    if most is None:
        most = _MOST if form in _FOR_PEOPLE else 0
    shown = [ShownHistory(one, shown_metrics(metrics, one, stage), stage, most) for one in found.histories]
    if not shown:
        tell(f"no commit of {revision} touched the snapshots of {name if name != '*' else 'any function'}")
    if uncommitted(found):
        tell(f"not shown: snapshots{f' of {name}' if name != '*' else ''} in the work tree that are not committed")
    emit(_report(shown, "overview" if overview else form, revision, output), output)
    return 0


def _report(shown: list[ShownHistory], form: str, revision: str, output: str | None) -> str:
    if form == "json":
        return history_json(shown, revision)
    if form == "csv":
        return history_csv(shown)
    if form == "markdown":
        return history_markdown(shown)
    to_file = output not in (None, "-")
    text = overview_text if form == "overview" else history_text
    return text(shown, width=NO_TERMINAL if to_file else width(), ascii_only=not to_file and not shows_blocks())
