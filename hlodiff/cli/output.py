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
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from hlodiff.errors import UsageError
from hlodiff.report.forms import to_form
from hlodiff.report.lines import printable, unordered
from hlodiff.workflows.configuration import top_of

if TYPE_CHECKING:
    from hlodiff.report.report import Report


REPORTS, LINK, PAGE = "hlodiff.reports", "hlodiff.link", "hlodiff.page"
# Columns for files, CI logs and pipes, which have no width: wide enough that few rows are cut.
NO_TERMINAL = 160
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HANDLE = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]{1,6})")


def emit(text: str, output: str | None, *, commands: bool = False) -> None:
    """Write a result.

    Args:
        text: the whole result.
        output: a file, or None or "-" for stdout.
        commands: whether a line may begin like a command to a CI log, as annotations and CSS do.

    Raises:
        UsageError: the file cannot be written.
    """
    text = text if commands else unordered(text)
    # File names may hold bytes that are not text; backslash escapes are valid in JSON too.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if output in (None, "-"):
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # a terminal may not support Unicode
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except BrokenPipeError:
            close_stdout()  # the reader closed the pipe; the exit code does not change
        except OSError as error:
            close_stdout()
            hint = "write it to a file: -o FILE"
            raise UsageError(f"cannot be written: {error.strerror}", where="stdout", hint=hint) from None
        return
    _write(str(output), text)


def _write(output: str, text: str, append: bool = False) -> None:
    """Write to a file, device, pipe or open descriptor, following links as other tools do.

    The path is never replaced by a new file: that would replace a device or link, and lose a file's mode and owner. A
    plain file is only changed once there is room for the whole text.

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
        return  # the reader closed the pipe; the exit code does not change
    except OSError as error:
        hint = (
            "make room on the disk, then try again"
            if error.errno in _FULL
            else "-o takes a file in a folder that exists"
        )
        raise UsageError(f"cannot be written: {error.strerror or error}", where=output, hint=hint) from None


def _opened(output: str, append: bool) -> tuple[IO[bytes], bool]:
    """Open the named file; also whether it was created."""
    handle = _HANDLE.fullmatch(output)
    if handle:  # reopening by name would overwrite what others have written
        number = {"stdout": 1, "stderr": 2}.get(handle[1]) or int(handle[2])
        return os.fdopen(os.dup(number), "wb", buffering=0), False
    is_new = not Path(output).exists()
    how = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0)
    return os.fdopen(os.open(output, how, 0o666), "wb", buffering=0), is_new


def _overwrite(file: IO[bytes], content: bytes, new: str) -> None:
    """Overwrite all or nothing: reserve disk space before writing, if the system supports it."""
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
    """Discard further output to stdout, including what Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_report(report: Report, form: str, output: str | None) -> None:
    """Write a report in one form, and in each form given by `--report`."""
    root = Path(report.root)
    below = root.relative_to(top_of(root)).as_posix() if report.root else "."
    folder = "" if below == "." else below

    from hlodiff.report.parts import ReportParts

    parts = ReportParts(report, folder)  # computed once, for however many forms

    def shown(one: str, where: str | None) -> str:
        columns, colored = window(where)
        links = {"link": _asked(LINK, ""), "page": _asked(PAGE, "")}
        return to_form(report, one, **links, width=columns, color=colored, parts=parts)

    emit_forms(form, output, shown)


def window(output: str | None) -> tuple[int, bool]:
    """The width of a result in columns, and whether it may have colours; a file has neither."""
    return (NO_TERMINAL, False) if output not in (None, "-") else (width(), color())


def emit_forms(form: str, output: str | None, shown: Callable[[str, str | None], str]) -> None:
    """Write a command's result in the requested form, and in each form given by `--report`.

    Args:
        form: the name of the form.
        output: a file, or None or "-" for stdout.
        shown: returns the text of a form, for a file or for stdout.
    """
    further: tuple[tuple[str, str], ...] = _asked(REPORTS, ())
    for one, file in (*further, (form, output)):
        text = shown(one, file)
        if one == "summary" and file and file == os.environ.get("GITHUB_STEP_SUMMARY"):
            _write(file, text, append=True)  # keep what commands of other steps wrote
        else:
            emit(text, file, commands=one in ("github", "html"))


def _asked(what: str, default: Any) -> Any:
    context = click.get_current_context(silent=True)
    return context.meta.get(what, default) if context else default


def tell(message: str) -> None:
    """Print a message on stderr. A closed stderr does not change the exit code."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(unordered(printable(message, lines=True)), err=True)


@contextlib.contextmanager
def messages() -> Iterator[None]:
    """Show on stderr what workflows log inside the block."""
    import logging  # 3 ms, only for commands with messages

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage())

    logger, handler = logging.getLogger("hlodiff"), Handler()
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # a registered module may have configured the root logger: show each message once
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
    """Columns of the terminal, or COLUMNS if set."""
    if not _is_terminal() and not os.environ.get("COLUMNS"):
        return NO_TERMINAL
    return shutil.get_terminal_size((NO_TERMINAL, 24)).columns


def shows_blocks() -> bool:
    """Whether stdout can show characters beyond ASCII, by its encoding and terminal type."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "▁█".encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return not (sys.stdout.isatty() and os.environ.get("TERM", "") in ("dumb", "linux"))
