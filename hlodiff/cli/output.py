"""Where results go: stdout or a file, in the chosen format; messages go to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hlodiff.errors import UsageError
from hlodiff.report.escape import printable, unordered
from hlodiff.report.record import Report

if TYPE_CHECKING:
    from hlodiff.report.sheet import Sheet

# Those of `hlodiff.report.FORMS`, which is not imported for `--help`; a test holds that they are the same.
FORMS = ("text", "json", "markdown", "html", "junit", "sarif", "codequality", "github", "summary", "comment")
REPORTS, LINK = "hlodiff.reports", "hlodiff.link"
# Files, CI logs and pipes have no width: wide enough that hardly any row is cut.
NO_TERMINAL = 160


def emit(text: str, output: str | None, *, commands: bool = False) -> None:
    """Write a result.

    Args:
        text: the whole result.
        output: a file, or None or "-" for stdout.
        commands: whether a line may begin like a command to the log of a CI run: annotations do, and CSS.

    Raises:
        UsageError: the file cannot be written.
    """
    text = text if commands else unordered(text)
    # Names of files may hold bytes that are no text; written so they are JSON's escapes too.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
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
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # of a terminal that knows less than Unicode
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
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
    """Write a report in one of FORMS, and in those that `--report` asks for."""
    from hlodiff.report import sheet_of, to_form, to_terminal
    from hlodiff.report.forms import OF_SHEET

    folder = _below_repository(Path(report.root)) if report.root else ""

    @cache
    def sheet() -> Sheet:
        return sheet_of(report, folder)  # once, for however many forms

    def shown(one: str, where: str | None) -> str:
        if one in OF_SHEET:
            return OF_SHEET[one](sheet(), _asked(LINK, ""))
        if one != "text":
            return to_form(report, one, folder=folder)
        to_file = where not in (None, "-")
        return to_terminal(report, width=NO_TERMINAL if to_file else width(), color=not to_file and color())

    emit_forms(form, output, shown)


def emit_forms(form: str, output: str | None, shown: Callable[[str, str | None], str]) -> None:
    """Write what a command found out in the form that is asked for, and in those of `--report`.

    Args:
        form: one of FORMS.
        output: a file, or None or "-" for stdout.
        shown: gives the text of a form that goes to a file or to stdout.
    """
    further: tuple[tuple[str, str], ...] = _asked(REPORTS, ())
    for one, file in further:
        _to_file(shown(one, file), one, file)
    _to_file(shown(form, output), form, output)


def _to_file(text: str, form: str, output: str | None) -> None:
    """What other steps' commands have written into a job's summary stays."""
    if form == "summary" and output and output == os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(output).open("a", encoding="utf-8") as summary:
            summary.write(text)
    else:
        emit(text, output, commands=form in ("github", "html"))


def _asked(what: str, default: Any) -> Any:
    context = click.get_current_context(silent=True)
    return context.meta.get(what, default) if context else default


def _below_repository(root: Path) -> str:
    """The project's folder below the top of the git repository, with `/`; "" where it is the top, or there is none."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            below = root.relative_to(folder).as_posix()
            return "" if below == "." else below
    return ""


def tell(message: str) -> None:
    """A message for people, on stderr."""
    click.echo(unordered(printable(message, lines=True)), err=True)


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
        return NO_TERMINAL
    return shutil.get_terminal_size((NO_TERMINAL, 24)).columns
