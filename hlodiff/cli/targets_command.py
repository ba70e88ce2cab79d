"""`hlodiff targets`: what this machine can compile for."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import click

from hlodiff import capture
from hlodiff.cli import options
from hlodiff.cli.output import emit
from hlodiff.config import Config
from hlodiff.errors import ConfigError
from hlodiff.report.lines import json_text, printable
from hlodiff.workflows.configuration import load


@click.command("targets")
@options.target
@options.plain_form
@options.output
@options.project
def command(targets: tuple[str, ...], form: str, output: str | None, project: Path) -> int:
    """Show what this machine can compile for; for the rest, why not and what to install.

    No accelerator is needed to compile for one, only its package.
    """
    found = [
        status
        for status in capture.targets(_config(project))
        if not targets or any(fnmatchcase(status.name, pattern) for pattern in targets)
    ]
    if form == "json":
        rows = [{"name": s.name, "available": s.available, "reason": s.reason, "install": s.install} for s in found]
        emit(json_text({"format_version": "1.0", "targets": rows}), output)
        return 0
    wide = max((len(status.name) for status in found), default=0)
    lines = []
    for status in found:
        lines.append(f"{status.name:<{wide}}  {'yes' if status.available else 'no '}  {status.reason}")
        if status.install:
            lines.append(f"{'':<{wide}}       install: {status.install}")
    available = sum(status.available for status in found)
    lines.append(f"{available} of {len(found)} targets available; next: hlodiff list")
    emit("".join(printable(line) + "\n" for line in lines), output)
    return 0


def _config(project: Path) -> Config:
    """The project's configuration; outside of a project the defaults, since targets are the machine's."""
    try:
        return load(project)
    except ConfigError as error:
        if error.hint != "hlodiff init":
            raise
        return Config(root=project.absolute())
