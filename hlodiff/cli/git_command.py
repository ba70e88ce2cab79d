"""`hlodiff git`: install, remove and inspect the drivers that let git read our files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

_DRIVER: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}


@click.group("git", epilog="\b\nExample:\n  hlodiff git install\n")
def command() -> None:
    """Readable reports in `git diff` and `git log -p`; blocks line merges of programs.

    \b
    hlodiff git install     once in every clone
    hlodiff git status      what is installed, what is missing, what is stale
    hlodiff git uninstall   removes exactly what install wrote
    """


# A copy of the option in `hlodiff.cli.options`, whose imports the drivers do not need: git starts one driver per file.
_project = click.option(
    "--project",
    type=click.Path(exists=True, path_type=Path),
    default=Path(),
    metavar="FOLDER",
    help="Where to look for pyproject.toml; this folder by default.",
)


@command.command("install", epilog="\b\nExample:\n  hlodiff git install\n")
@_project
def install_command(project: Path) -> int:
    """Set up drivers in this clone's git configuration and .gitattributes.

    Nothing of yours is changed: where a key already has a value of your own, nothing is written. Commit .gitattributes;
    the configuration belongs to this clone and its worktrees, so everybody who wants reports runs this once. Without it
    git treats snapshots as plain text.
    """
    from hlodiff.cli.output import emit
    from hlodiff.config import shown_path
    from hlodiff.integrations.git.setup import install, read_attributes, repository_of
    from hlodiff.workflows import load

    repository = repository_of(load(project))
    before = read_attributes(repository.attributes)
    done = list(install(repository))
    written = read_attributes(repository.attributes) != before
    last = f"installed; next: git add {shown_path(repository.attributes)}" if written else "installed"
    emit("".join(f"{line}\n" for line in [*done, last if done else "was installed already"]), None)
    return 0


@command.command("uninstall", epilog="\b\nExample:\n  hlodiff git uninstall\n")
@_project
def uninstall_command(project: Path) -> int:
    """Remove exactly what `hlodiff git install` wrote here."""
    from hlodiff.cli.output import emit
    from hlodiff.integrations.git.setup import repository_of, uninstall
    from hlodiff.workflows import load

    done = list(uninstall(repository_of(load(project))))
    emit("".join(f"{line}\n" for line in done or ["nothing was installed here"]), None)
    return 0


@command.command("status", epilog="\b\nExample:\n  hlodiff git status\n")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form.")
@_project
def status_command(form: str, project: Path) -> int:
    """Show what is installed, what is missing or no longer works, and which snapshots a merge has left stale.

    Exits 0 if everything is in order, 1 if something has to be done, 2 if there is no repository.
    """
    from hlodiff.cli.output import emit
    from hlodiff.integrations.git.setup import repository_of, status
    from hlodiff.report.lines import json_text, printable
    from hlodiff.workflows import load

    parts = status(repository_of(load(project)))
    ill = [part for part in parts if not part.is_well]
    if form == "json":
        rows = [
            {"part": part.name, "state": part.state, "what": part.what, "next": part.next or None} for part in parts
        ]
        emit(json_text({"format_version": "1.0", "parts": rows}), None)
    else:
        lines = [f"{part.name:<13} {part.state}{f': {part.what}' if part.what else ''}" for part in parts]
        steps = dict.fromkeys(part.next for part in ill)
        lines.append(f"{len(ill)} of {len(parts)} to repair; next: {' && '.join(steps)}" if ill else "all is well")
        emit("".join(f"{printable(line)}\n" for line in lines), None)
    return int(bool(ill))


@command.command("diff-driver", hidden=True, context_settings=_DRIVER)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def diff_driver(arguments: tuple[str, ...]) -> int:
    """Git calls this for `git diff`."""
    from hlodiff.cli.output import color, emit, width
    from hlodiff.integrations.git.diff_driver import external_diff

    emit(external_diff(arguments, width(), color()), None)
    return 0


@command.command("textconv", hidden=True, context_settings=_DRIVER)
@click.argument("file", type=click.Path(path_type=Path))
def textconv_driver(file: Path) -> int:
    """Git calls this for `git log -p` and `git show`."""
    from hlodiff.integrations.git.diff_driver import textconv

    sys.stdout.buffer.write(textconv(file).encode("utf-8", "backslashreplace"))
    return 0


@command.command("merge-driver", hidden=True, context_settings=_DRIVER)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("path")
def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Git calls this where both sides of a merge have changed a file."""
    from hlodiff.cli.output import messages
    from hlodiff.integrations.git.diff_driver import merge

    with messages():
        return merge(ours, path)
