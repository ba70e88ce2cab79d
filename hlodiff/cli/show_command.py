"""`hlodiff show NAME`: what one recorded program is made of, or its text."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit
from hlodiff.config import Config, shown_path
from hlodiff.errors import UsageError
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.inspect import file_reasons, file_summary, reasons_text, summary_text
from hlodiff.inspect.summary import file_picture, snapshot_picture, snapshot_reasons, traces_text
from hlodiff.report.lines import json_text, printable
from hlodiff.snapshots import FolderTree, RecordedTraces, list_snapshots, open_revision, read_summary
from hlodiff.snapshots.trees import Tree
from hlodiff.tracing.counts import to_plain
from hlodiff.workflows import load
from hlodiff.workflows.program_text import fresh_text, one_program, printed_text, stored_text
from hlodiff.workflows.scenarios import shown_scenarios
from hlodiff.workflows.select import select, selected


@click.command(
    "show",
    epilog="""\b
Examples:
  hlodiff show step                          counts, placement, memory, cost
  hlodiff show step --stage compiled         the program as it is stored
  hlodiff show step --stage stablehlo --fresh -t cpu
  hlodiff show program.hlo                   a file
  hlodiff show step --format html -o step.html   a picture of what runs where
  hlodiff show recording step --stage compiled --scopes
""",
)
@options.words("[FOLDER] NAME", required=True)
@options.target
@click.option("--stage", type=click.Choice(["stablehlo", "compiled"]), help="Print the program's text instead.")
@click.option("--fresh", is_flag=True, help="With --stage: captured now, printed as JAX and XLA print it.")
@click.option("--normalized", is_flag=True, help="With --fresh: printed as a snapshot stores it.")
@click.option("--scopes", is_flag=True, help="With --stage: op_name and line of each instruction behind it.")
@click.option("--at", "revision", metavar="REV", help="The snapshots of a git revision.")
@click.option("--why", is_flag=True, help="List duplicated and unneeded work, and where it comes from.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    show_default=True,
    help="Form; html is a picture of the program.",
)
@options.output
@options.timeout
@options.project
def command(
    words: tuple[str, ...],
    targets: tuple[str, ...],
    stage: str | None,
    fresh: bool,
    normalized: bool,
    scopes: bool,
    revision: str | None,
    why: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Show what a recorded program is made of, or its text.

    NAME is a function, a case (`function/case`), a pattern, or a program file; FOLDER is what `hlodiff record` wrote.
    Nothing is compiled, except with --fresh. With --why instead: loops of Python that were unrolled and how many copies
    there are, values computed twice, functions that were lowered again, large constants, and how often loops turn.

    With --format html the program is drawn in one page: what runs, where (host, memories of the device), fusions,
    loops and collectives, each with its bytes and how often it runs, the largest first.
    """
    _refuse_misfits(words, stage, fresh, normalized, scopes, revision, why, form)
    name = words[-1]
    if len(words) == 1 and Path(name).is_file():
        if stage:
            emit(_file_text(Path(name), stage, scopes), output)
            return 0
        if form == "html":
            emit(file_picture(Path(name)), output)
            return 0
        found = [file_reasons(Path(name), project)] if why else [file_summary(Path(name))]
        traces: list[RecordedTraces] = []
    elif fresh and stage:
        emit(_fresh(load(project), name, targets, stage, normalized, scopes), output)
        return 0
    else:
        tree, root = _tree(words, revision, project)
        keys = list_snapshots(tree).keys
        traces = shown_scenarios(tree, name) if not targets else []
        if not keys and not traces:
            raise UsageError("there are no snapshots", where=tree.where, hint="hlodiff update")
        if len(words) == 2 and not any(selected(key, [name], ()) for key in keys):
            held = ", ".join(dict.fromkeys(key.name for key in keys))
            raise UsageError(f"holds no `{name}`", where=words[0], hint=f"it holds {held}")
        keys = select(keys, [name], targets, [] if stage else [one.scenario for one in traces])
        if stage:
            key = one_program(keys, name, f"hlodiff show {' '.join(words)} --stage {stage}")
            emit(stored_text(tree, key, stage, scopes, str(root)), output)
            return 0
        if form == "html":
            emit(snapshot_picture(tree, keys, root), output)
            return 0
        found = [snapshot_reasons(tree, key, root) if why else read_summary(tree, key) for key in keys]
    if form == "json":
        scenarios = [{"name": one.scenario, "jax": one.jax, "functions": to_plain(one.counts)} for one in traces]
        table = {"format_version": "1.0", "programs": found, **({"scenarios": scenarios} if scenarios else {})}
        emit(json_text(table), output)
    else:
        blocks = [*map(reasons_text if why else summary_text, found), *map(traces_text, traces)]
        emit("\n".join("".join(printable(line) + "\n" for line in block) for block in blocks), output)
    return 0


def _refuse_misfits(
    words: tuple[str, ...],
    stage: str | None,
    fresh: bool,
    normalized: bool,
    scopes: bool,
    revision: str | None,
    why: bool,
    form: str,
) -> None:
    again = f"hlodiff show {' '.join(words)} --stage compiled"
    if len(words) > 2:
        raise UsageError("expected NAME, or FOLDER and NAME", hint="hlodiff show recording step")
    if not stage and (fresh or normalized or scopes):
        raise UsageError("--fresh, --normalized and --scopes are about the program's text", hint=again)
    if normalized and not fresh:
        raise UsageError("what is stored is normalized already", hint=again)
    if stage and (why or form != "text"):
        raise UsageError("--stage prints the text of a program and nothing else", hint=again)
    if why and form == "html":
        raise UsageError("--why has no picture", hint=f"hlodiff show {' '.join(words)} --why")
    if fresh and (revision or len(words) > 1):
        raise UsageError("--fresh captures what is registered here and now", hint=f"{again} --fresh")


def _tree(words: tuple[str, ...], revision: str | None, project: Path) -> tuple[Tree, Path]:
    """The snapshots, and the folder that their source paths are relative to."""
    if len(words) == 2:  # a recorded run needs no project
        if not Path(words[0]).is_dir():
            raise UsageError("there is no such folder", where=words[0], hint="hlodiff record -o FOLDER -- COMMAND")
        return FolderTree(Path(words[0])), Path.cwd()
    config = load(project)
    if revision:
        return open_revision(project, revision, config.snapshots), config.root
    return FolderTree(shown_path(config.snapshots)), config.root


def _file_text(path: Path, stage: str, scopes: bool) -> str:
    from hlodiff.hlo.files import read, text_of

    held = read(path).stage
    if held != stage:
        raise UsageError(f"holds {STAGE_NAMES[held]}", where=str(path), hint=f"hlodiff show {path} --stage {held}")
    text = text_of(path)
    return printed_text(text, scopes=True) if scopes else text


def _fresh(config: Config, name: str, targets: tuple[str, ...], stage: str, normalized: bool, scopes: bool) -> str:
    from hlodiff.capture import discover, worker_reuse
    from hlodiff.workflows.select import choose

    with worker_reuse():
        keys = choose(config, discover(config), [name], targets).registered
        if not keys:
            raise UsageError(f"`{name}` is not a registered program", hint="hlodiff list")
        key = one_program(keys, name, f"hlodiff show {name} --stage {stage} --fresh")
        return fresh_text(config, key, stage, normalized, scopes)
