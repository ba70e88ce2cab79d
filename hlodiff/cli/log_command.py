"""`hlodiff log NAME [METRIC]`: the numbers of a recorded program over commits, and who changed one."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import NO_TERMINAL, emit, shows_blocks, tell, width
from hlodiff.config import Config
from hlodiff.errors import UsageError
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history import shown_metrics
from hlodiff.integrations.history.bisect import (
    ChangeQuery,
    bisect_history,
    bisect_json,
    bisect_markdown,
    bisect_text,
    change_query,
)
from hlodiff.integrations.history.report import (
    ShownHistory,
    history_csv,
    history_json,
    history_markdown,
    history_text,
    overview_text,
)
from hlodiff.integrations.history.select import HistoryRequest, find, is_revision, uncommitted
from hlodiff.workflows.configuration import load

_FORMS = ("text", "json", "csv", "markdown")
_FOR_PEOPLE = ("text", "markdown")
_MOST = 30  # rows that people read


@click.command(
    "log",
    epilog="""\b
Examples:
  hlodiff log train_step                     its numbers over commits
  hlodiff log train_step temp_bytes          the commit that changed this number most
  hlodiff log train_step copies v1.2..main --above 10
""",
)
@options.words("[NAME] [METRIC] [REV-RANGE]")
@options.target
@options.stage
@click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="METRIC",
    help="Show this number, as budgets call it: temp_bytes, collectives.all-gather, loop.copies; repeatable.",
)  # fmt: skip
@click.option("--above", metavar="X", help="With METRIC: the commit that took it over X, as in 12 or '3 MiB'.")
@click.option("--below", metavar="X", help="With METRIC: the commit that took it below X.")
@click.option("--change", "percent", metavar="PERCENT", help="With METRIC: every commit that changed it by so much.")
@click.option("--newest", "most", type=click.IntRange(0), metavar="N", help="List the newest N commits; 0 lists all.")
@click.option("-n", "former_most", type=click.IntRange(0), hidden=True)
@click.option("--from", "start", hidden=True)
@click.option("--to", "end", hidden=True)
@click.option("--first-parent", is_flag=True, help="Skip the commits of merged branches.")
@click.option("--format", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Form.")
@options.output
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    stage: Stage,
    metrics: tuple[str, ...],
    above: str | None,
    below: str | None,
    percent: str | None,
    most: int | None,
    former_most: int | None,
    start: str | None,
    end: str | None,
    first_parent: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Show the numbers of a recorded program over the commits that changed its snapshot.

    With METRIC: the commit that changed this number, and what it did to the program; without --above, --below or
    --change the one that changed it most. METRIC is named as in budgets: temp_bytes, fusions, op.convert,
    collectives.all-gather.bytes, loop.copies.

    NAME is a function, a case (`function/case`), a scenario, a test (`pytest/test_model.test_step`) or a pattern; also
    one that no longer exists. REV-RANGE is one of git's: `main..HEAD`, `v1.2..`. Everything is read from git; nothing
    is compiled or checked out. Text and Markdown list the newest 30 commits, JSON and CSV all. Without NAME, text has a
    line for each program.

    Exits 0; with METRIC, 1 if no commit was found.
    """
    config = load(project)
    given = (start, end, above, below, percent)
    name, metric, revision = _asked(words, any(one is not None for one in given), project, config.snapshots)
    if start is not None or end is not None:
        revision = f"{start}..{end or 'HEAD'}" if start else end or "HEAD"
    if metric is not None:
        if form == "csv" or metrics or most is not None or former_most is not None:
            what = "--metric, --newest and --format csv list commits, and METRIC finds one"
            raise UsageError(what, hint=f"hlodiff log {name} {metric}")
        query = change_query(metric, above, below, percent)
        asked = HistoryRequest(name, targets, (metric,), stage, revision, first_parent)
        return _commits_that_changed(asked, query, config, project, form, output)
    overview = not words and form == "text"
    asked = HistoryRequest(name, targets, metrics, stage, revision, first_parent)
    found = find(asked, project, config.snapshots)
    if most is None:
        most = former_most if former_most is not None else _MOST if form in _FOR_PEOPLE else 0
    shown = [ShownHistory(one, shown_metrics(metrics, one, stage), stage, most) for one in found.histories]
    if not shown:
        tell(f"no commit of {revision} touched the snapshots of {name if name != '*' else 'any function'}")
    if uncommitted(found):
        tell(f"not shown: snapshots{f' of {name}' if name != '*' else ''} in the work tree that are not committed")
    emit(_report(shown, "overview" if overview else form, revision, output), output)
    return 0


def _asked(words: tuple[str, ...], finds: bool, project: Path, snapshots: Path) -> tuple[str, str | None, str]:
    """NAME, METRIC and REV-RANGE.

    Args:
        words: what was given.
        finds: whether an option such as --above asks for the commit that changed METRIC.
    """
    if len(words) > 3:
        raise UsageError("expected NAME, METRIC and REV-RANGE at most", hint="hlodiff log --help")
    name, *others = words or ("*",)
    if finds and not others:
        raise UsageError("--above, --below and --change need a METRIC", hint=f"hlodiff log {name} temp_bytes")
    if len(others) == 2 or finds:
        return name, others[0], others[1] if len(others) == 2 else "HEAD"
    if not others or is_revision(project, snapshots, others[0]):
        return name, None, others[0] if others else "HEAD"
    return name, others[0], "HEAD"


def _commits_that_changed(
    asked: HistoryRequest, query: ChangeQuery, config: Config, project: Path, form: str, output: str | None
) -> int:
    """Show which commits changed a number."""
    found = find(asked, project, config.snapshots).histories
    if not found:
        tell(f"no commit of {asked.revision} touched the snapshots of {asked.name}")
    done = [bisect_history(one, asked.metrics[0], asked.stage, query, config, project) for one in found]
    root = str(config.root)
    if form == "json":
        text = bisect_json(done, asked.revision, root)
    elif form == "markdown":
        text = bisect_markdown(done, root)
    else:
        to_file = output not in (None, "-")
        ascii_only = not to_file and not shows_blocks()
        text = bisect_text(done, width=NO_TERMINAL if to_file else width(), ascii_only=ascii_only, root=root)
    emit(text, output)
    return 0 if any(one.culprits for one in done) else 1


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
