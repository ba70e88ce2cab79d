"""Where results go: stdout or a file, in the chosen format; messages go to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from hlodiff.errors import UsageError
from hlodiff.report.escape import printable
from hlodiff.report.record import Report

FORMATS = ("text", "json", "markdown")
# Files, CI logs and pipes have no width: wide enough that hardly any row is cut.
_NO_TERMINAL = 160


def emit(text: str, output: str | None) -> None:
    """Write a result.

    Args:
        text: the whole result.
        output: a file, or None or "-" for stdout.

    Raises:
        UsageError: the file cannot be written.
    """
    if output in (None, "-"):
        _print(text)
        return
    path = Path(str(output))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        hint = "-o takes a file in a folder that exists"
        raise UsageError(f"cannot be written: {error.strerror or error}", where=str(path), hint=hint) from None


def _print(text: str) -> None:
    if sys.stdout is None:
        raise UsageError("is closed, so the result goes nowhere", where="stdout", hint="write it to a file: -o FILE")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()  # whoever read it has seen enough; the verdict stands
    except OSError as error:
        close_stdout()
        hint = "write it to a file: -o FILE"
        raise UsageError(f"cannot be written: {error.strerror}", where="stdout", hint=hint) from None


def close_stdout() -> None:
    """Nothing more is written to stdout, not even what Python still holds for it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_report(report: Report, form: str, output: str | None) -> None:
    """Write a report in one of FORMATS."""
    if form == "json":
        from hlodiff.report.json_report import to_json

        emit(to_json(report), output)
    elif form == "markdown":
        from hlodiff.report.markdown_report import to_markdown

        emit(to_markdown(report), output)
    else:
        from hlodiff.report.terminal import to_terminal

        to_file = output not in (None, "-")
        emit(to_terminal(report, width=_NO_TERMINAL if to_file else width(), color=not to_file and color()), output)


def tell(message: str) -> None:
    """A message for people, on stderr."""
    click.echo(printable(message, lines=True), err=True)


def near(path: Path) -> Path:
    """The path as it would be typed here: relative where it lies below this folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def color() -> bool:
    """Whether stdout takes colours: a terminal that is not dumb, and NO_COLOR is not set."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and (_is_terminal() or bool(os.environ.get("FORCE_COLOR")))


def width() -> int:
    """Columns of the window, or of COLUMNS where that is set."""
    if not _is_terminal() and not os.environ.get("COLUMNS"):
        return _NO_TERMINAL
    return shutil.get_terminal_size((_NO_TERMINAL, 24)).columns
