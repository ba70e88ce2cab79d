"""Where results go: stdout or a file, in the chosen format; messages go to stderr."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from hlodiff.errors import UsageError
from hlodiff.report.forms import to_form
from hlodiff.report.lines import printable, unordered
from hlodiff.workflows.configuration import top_of

if TYPE_CHECKING:
    from hlodiff.report.report import Report
    from hlodiff.report.view import ReportView


REPORTS, LINK, PAGE = "hlodiff.reports", "hlodiff.link", "hlodiff.page"
# Files, CI logs and pipes have no width: wide enough that hardly any row is cut.
NO_TERMINAL = 160
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HANDLE = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]{1,6})")


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
        return
    _write(str(output), text)


def _write(output: str, text: str, append: bool = False) -> None:
    """Write to a file as every tool does: through links, into devices, pipes and what is open already.

    Nothing is put in the place of what is there: a device would be no device any more, a link no link, and a file would
    lose its mode and its owner. A plain file is only touched once there is room for all of the text.

    Raises:
        UsageError: it cannot be written.
    """
    content = text.encode("utf-8", "backslashreplace")
    try:
        handle, is_new = _opened(output, append)
        with handle as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and not append and not _HANDLE.fullmatch(output):
                _overwrite(file, content, output if is_new else "")
            else:
                _write_all(file, content)
    except BrokenPipeError:
        return  # whoever read it has seen enough; the verdict stands
    except OSError as error:
        hint = (
            "make room on the disk, then try again"
            if error.errno in _FULL
            else "-o takes a file in a folder that exists"
        )
        raise UsageError(f"cannot be written: {error.strerror or error}", where=output, hint=hint) from None


def _opened(output: str, append: bool) -> tuple[IO[bytes], bool]:
    """The file that somebody named, and whether it was made now."""
    handle = _HANDLE.fullmatch(output)
    if handle:  # opening it by its name would start at the beginning of a file that others have written to
        number = {"stdout": 1, "stderr": 2}.get(handle[1]) or int(handle[2])
        return os.fdopen(os.dup(number), "wb", buffering=0), False
    is_new = not Path(output).exists()
    how = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0)
    return os.fdopen(os.open(output, how, 0o666), "wb", buffering=0), is_new


def _overwrite(file: IO[bytes], content: bytes, new: str) -> None:
    """Old or new, never half: room on the disk is asked for before anything is written, where that can be asked."""
    before = os.fstat(file.fileno()).st_size
    try:
        if content and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, len(content))
            except OSError as error:
                if error.errno in _FULL:
                    raise
        _write_all(file, content)
        file.truncate(len(content))
    except OSError as error:
        if error.errno in _FULL and new:
            Path(new).unlink(missing_ok=True)
        elif error.errno in _FULL:
            file.truncate(before)
        raise


def _write_all(file: IO[bytes], content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def close_stdout() -> None:
    """Nothing more is written to stdout, not even what Python still holds for it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_report(report: Report, form: str, output: str | None) -> None:
    """Write a report in one form, and in those that `--report` asks for."""
    root = Path(report.root)
    below = root.relative_to(top_of(root)).as_posix() if report.root else "."
    folder = "" if below == "." else below

    @cache
    def view() -> ReportView:
        from hlodiff.report.view_builder import build_view

        return build_view(report, folder)  # once, for however many forms

    # A form made alone knows more than the view: it builds its own from what it has grouped already.
    shared = view if _asked(REPORTS, ()) else None

    def shown(one: str, where: str | None) -> str:
        columns, colored = window(where)
        links = {"link": _asked(LINK, ""), "page": _asked(PAGE, "")}
        return to_form(report, one, **links, folder=folder, width=columns, color=colored, view=shared)

    emit_forms(form, output, shown)


def window(output: str | None) -> tuple[int, bool]:
    """The columns of a result, and whether it may have colours: a file has no window."""
    return (NO_TERMINAL, False) if output not in (None, "-") else (width(), color())


def emit_forms(form: str, output: str | None, shown: Callable[[str, str | None], str]) -> None:
    """Write what a command found out in the form that is asked for, and in those of `--report`.

    Args:
        form: the name of the form.
        output: a file, or None or "-" for stdout.
        shown: gives the text of a form that goes to a file or to stdout.
    """
    further: tuple[tuple[str, str], ...] = _asked(REPORTS, ())
    for one, file in (*further, (form, output)):
        text = shown(one, file)
        if one == "summary" and file and file == os.environ.get("GITHUB_STEP_SUMMARY"):
            _write(file, text, append=True)  # what other steps' commands have written into it stays
        else:
            emit(text, file, commands=one in ("github", "html"))


def _asked(what: str, default: Any) -> Any:
    context = click.get_current_context(silent=True)
    return context.meta.get(what, default) if context else default


def tell(message: str) -> None:
    """A message for people, on stderr. Where nobody reads it, the verdict stands."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(unordered(printable(message, lines=True)), err=True)


@contextlib.contextmanager
def messages() -> Iterator[None]:
    """Show on stderr what workflows log inside the block."""
    import logging  # 3 ms that only commands with messages pay

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage())

    logger, handler = logging.getLogger("hlodiff"), Handler()
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # a registered module may have set the root logger up: each message is shown once
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


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


def shows_blocks() -> bool:
    """Whether stdout can show characters beyond ASCII: by its encoding, and by the kind of terminal."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "▁█".encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return not (sys.stdout.isatty() and os.environ.get("TERM", "") in ("dumb", "linux"))
