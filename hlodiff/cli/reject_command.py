"""`hlodiff reject`: forget what an earlier `check` captured."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit
from hlodiff.workflows.accept import Selection, decisions_json, decisions_text, find, reject
from hlodiff.workflows.configuration import load
from hlodiff.workflows.pending import list_pending
from hlodiff.workflows.pending_writer import pending_folder


@click.command("reject")
@options.pending_words
@options.target
@options.pattern
@options.change_class
@click.option("--all", "everything", is_flag=True, help="Everything that is pending.")
@options.plain_form
@options.output
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    patterns: tuple[str, ...],
    classes: tuple[str, ...],
    everything: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Forget what `hlodiff check` captured; snapshots stay as they are.

    Programs are named as for `hlodiff accept`. As long as the code stays as it is, the next check captures it again.
    """
    config = load(project)
    root = pending_folder(config)
    found = find(config, root, Selection(words, targets, patterns, classes, everything))
    selected = [(one.key, one.id) for one in found.programs] + [(one.key, "") for one in found.broken]
    selected += [(one.key, one.id) for one in found.records]
    decisions = [*(reject(key, root, own) for key, own in selected), *found.left]
    remaining = len(list_pending(root))
    text = decisions_json(decisions, remaining)
    emit(text if form == "json" else decisions_text(decisions, remaining, "hlodiff check"), output)
    return 0
