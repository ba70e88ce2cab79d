"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hlodiff.cli.output import FORMATS

F = TypeVar("F", bound=Callable[..., Any])


def names(command: F) -> F:
    """Positional names or globs."""
    return click.argument("names", nargs=-1, metavar="[NAME]...")(command)


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
