"""`hlodiff accept`: record what an earlier `check` captured, without compiling it again."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.accepting import accept, accept_record, decisions_json, decisions_text, find
from hlodiff.cli.deciding import Wish
from hlodiff.cli.leaving import FOLDER, pending_folder
from hlodiff.cli.output import emit, near
from hlodiff.cli.waiting import list_waiting
from hlodiff.config import load
from hlodiff.store import writing


@click.command("accept")
@options.pending_words
@options.target
@options.pattern
@options.change_class
@click.option("--all", "everything", is_flag=True, help="Everything that is pending.")
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take what another machine captured, as CI did: all of it where nothing is named.",
)
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
    form: str,
    output: str | None,
    ci_write: bool,
    project: Path,
) -> int:
    """Record what `hlodiff check` captured. Nothing is compiled and no code of yours is run.

    NAME is a function, a scenario, a case (`function/case`) or a pattern (`train*`), ID what the report printed.
    A program is refused where its snapshot has changed since it was captured. With --pattern and --class only those
    programs are recorded that have no other change. `--class traces` and `--class growth` mean what `check` found of
    scenarios and of cases with sizes.

    Exits 0 where everything that was asked for is recorded, 2 where something was refused.
    """
    options.refuse_in_ci(ci_write, "accept")
    config = load(project)
    # A whole checkout may have been uploaded instead of the folder inside it.
    inner = folder / FOLDER if folder else None
    root = pending_folder(config, inner if inner and inner.is_dir() else folder)
    wish = Wish(words, targets, patterns, classes, everything)
    found = find(config, root, wish if wish or folder is None else Wish(everything=True))
    with writing(near(config.snapshots)):
        own = pending_folder(config)
        decisions = [*(accept(config, one, own) for one in found.programs), *found.broken]
        decisions += [accept_record(config, one, own) for one in found.records]
    decisions += found.left
    remaining = len(list_waiting(root)) if folder is None else 0
    recorded = any(one.status == "accepted" for one in decisions)
    refused = any(one.status == "refused" for one in decisions)
    undecided = "hlodiff review" if remaining and not refused else "hlodiff check"
    following = f"git add {near(config.snapshots)}" if recorded else undecided
    text = decisions_json(decisions, remaining) if form == "json" else decisions_text(decisions, remaining, following)
    emit(text, output)
    return 2 if refused else 0
