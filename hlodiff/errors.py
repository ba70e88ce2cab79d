"""Every error that a user can meet: what is wrong, where, and what to type next."""

from __future__ import annotations

import errno
import os
import traceback
from pathlib import Path


class HlodiffError(Exception):
    """Base of all errors that hlodiff raises on purpose.

    Args:
        what: one sentence that says what is wrong.
        where: the file, `file:line:column`, function or configuration key it is wrong in; "" when nowhere.
        hint: what to do or type next; "" when there is nothing to say.

    Example:
        >>> error = HlodiffError("unknown key `tagets`", where="pyproject.toml", hint="did you mean `targets`?")
        >>> str(error)
        'pyproject.toml: unknown key `tagets`'
        >>> error.render()
        'pyproject.toml: unknown key `tagets`\\nhint: did you mean `targets`?'
    """

    has_lines = False
    """Whether `what` may contain lines of a program or a log. If False, newlines are escaped: a name may hold them."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # tracebacks show it too

    def __str__(self) -> str:
        what = self.what if self.has_lines else one_line(self.what)
        return f"{one_line(self.where)}: {what}" if self.where else what

    @property
    def headline(self) -> str:
        """What is wrong and where, in one line, without lines of a program or a log."""
        what = one_line(self.what.partition("\n")[0] if self.has_lines else self.what)
        return f"{one_line(self.where)}: {what}" if self.where else what

    def render(self) -> str:
        """What is wrong and where, then the hint on a line of its own."""
        return f"{self}\nhint: {one_line(self.hint)}" if self.hint else str(self)

    def __reduce__(self) -> tuple[object, ...]:  # errors cross process borders
        return (_rebuild, (type(self), self.__dict__.copy()))


def one_line(text: str) -> str:
    """Escape newlines and other control characters, which names may contain.

    Example:
        >>> one_line("a\\nb")
        'a\\\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)


def _rebuild(kind: type[HlodiffError], state: dict[str, object]) -> HlodiffError:
    error = kind.__new__(kind)
    Exception.__init__(error, state["what"])
    error.__dict__.update(state)
    return error


class UsageError(HlodiffError):
    """The command line asks for something that does not exist or does not fit together."""


class ConfigError(HlodiffError):
    """`[tool.hlodiff]` holds an unknown key or a value of the wrong kind."""


class RegistryError(HlodiffError):
    """A function or case is registered in a way that cannot be captured."""

    has_lines = True


class ReadError(HlodiffError):
    """A program file cannot be read: prints the line and a caret under the place.

    Args:
        what: what the reader expected or found.
        path: the file as the user named it.
        line: 1-based line, 0 when the whole file is meant.
        column: 1-based column, 0 when the whole line is meant.
        text: the offending line.
        hint: what to do next.
    """

    def __init__(
        self, what: str, *, path: str = "", line: int = 0, column: int = 0, text: str = "", hint: str = ""
    ) -> None:
        place = ":".join([path or "<text>", *(str(n) for n in (line, column) if n)])
        super().__init__(what, where=place, hint=hint)
        self.line = line
        self.column = column
        self.text = text

    def __str__(self) -> str:
        head = super().__str__()
        return f"{head}\n{_caret(self.text, self.column)}" if self.text else head


def _caret(text: str, column: int) -> str:
    """A window of `text` around `column` with a caret under it; HLO lines reach thousands of characters."""
    width = 100
    start = max(0, column - width // 2) if len(text) > width else 0
    window = "".join(c if c.isprintable() else "?" for c in text[start : start + width])
    return f"  {window}\n  {' ' * max(0, column - 1 - start)}^" if column else f"  {window}"


class StoreError(HlodiffError):
    """A snapshot folder cannot be read or written."""


class CaptureError(HlodiffError):
    """A program could not be captured because a worker or the compiler failed."""

    has_lines = True


class DiffError(HlodiffError):
    """Two things cannot be compared with each other."""


class CodeHostError(HlodiffError):
    """GitHub or GitLab did not answer as expected, or what a run has uploaded there cannot be used."""


def _is_closed(folder: Path) -> bool:
    """Whether the contents of a folder are unreachable, found by asking for a file that need not exist."""
    effective = os.access in os.supports_effective_ids
    return os.path.lexists(folder) and not os.access(folder, os.X_OK, effective_ids=effective)


def expected_error(error: Exception) -> HlodiffError:
    """Return errors of ours as they are, and wrap any other exception as a bug in hlodiff.

    Args:
        error: the exception caught while one program was processed.

    Returns:
        the error to report for that program.

    Raises:
        Exception: the error itself, if it is a bug and HLODIFF_TRACEBACK is set.

    Example:
        >>> expected_error(HlodiffError("no such thing")).what, expected_error(KeyError("x")).what
        ('no such thing', "internal error: KeyError: 'x'")
    """
    if isinstance(error, HlodiffError):
        return error
    if os.environ.get("HLODIFF_TRACEBACK"):
        raise error
    if isinstance(error, OSError) and error.errno is not None:  # the system refused something, and the error names it
        where, hint = str(error.filename2 or error.filename or ""), ""
        closed = next((folder for folder in reversed(Path(where).parents) if _is_closed(folder)), None)
        if where and error.errno == errno.EACCES and closed is not None:
            where, hint = str(closed), "make the folder readable"
        what = f"cannot be used: {error.strerror}" if where else str(error.strerror)
        return HlodiffError(what, where=where, hint=hint)
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    words = str(error).split("\n")[0][:300]
    hint = "this is a bug in hlodiff; HLODIFF_TRACEBACK=1 shows where, please report it"
    return HlodiffError(f"internal error: {type(error).__name__}: {words}{at}", hint=hint)
