"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hlodiff.cli.output import FORMATS
from hlodiff.config import in_ci
from hlodiff.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def names(command: F) -> F:
    """Positional names or globs."""
    return click.argument("names", nargs=-1, metavar="[NAME]...")(command)


def pending_words(command: F) -> F:
    """Positional names, globs and ids of pending programs."""
    return click.argument("words", nargs=-1, metavar="[NAME|ID]...")(command)


def pattern(command: F) -> F:
    """`--pattern`, repeatable."""
    return click.option(
        "--pattern", "patterns", multiple=True, metavar="ID", help="Programs with this change and no other."
    )(command)


def change_class(command: F) -> F:
    """`--class`, repeatable."""
    return click.option(
        "--class", "classes", multiple=True, metavar="WORD", help="Programs whose change is of this class, e.g. cost."
    )(command)


def target(command: F) -> F:
    """`--target`, repeatable."""
    return click.option(
        "-t", "--target", "targets", multiple=True, metavar="GLOB", help="Only these targets, e.g. cpu or 'tpu-*'."
    )(command)


def form(command: F) -> F:
    """`--format` for reports."""
    return click.option(
        "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Form of the report."
    )(command)


def plain_form(command: F) -> F:
    """`--format` for lists."""
    return click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form."
    )(command)


def output(command: F) -> F:
    """`-o FILE`."""
    return click.option("-o", "--output", metavar="FILE", help="Write the result to a file instead of stdout.")(command)


def jobs(command: F) -> F:
    """`--jobs N`."""
    return click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Worker processes; the configuration's by default.",
    )(command)


def ci_write(command: F) -> F:
    """`--ci-write`."""
    return click.option("--ci-write", is_flag=True, help="Write snapshots although this is CI (variable CI).")(command)


def refuse_in_ci(ci_write: bool, command: str) -> None:
    """Stop before snapshots are written in CI, where nobody sees what was accepted.

    Raises:
        UsageError: this is CI, and the command line does not say that it may write.
    """
    if in_ci() and not ci_write:
        hint = f"run it on your machine and commit what it wrote, or say `hlodiff {command} --ci-write`"
        raise UsageError("snapshots are not written in CI (the variable CI is set)", hint=hint)


def project(command: F) -> F:
    """`--project FOLDER`."""
    return click.option(
        "--project",
        type=click.Path(exists=True, path_type=Path),
        default=Path(),
        metavar="FOLDER",
        help="Where to look for pyproject.toml; this folder by default.",
    )(command)


def detail(command: F) -> F:
    """`--all` and `--stacks`: how much a report lists."""
    command = click.option(
        "--stacks", is_flag=True, help="List the whole Python call stack of each change, innermost line first."
    )(command)
    return click.option(
        "--all", "everything", is_flag=True, help="List every change, where a long report would tell the largest."
    )(command)
