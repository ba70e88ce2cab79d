"""Lines of a report, and how they are laid out in a terminal's window: indented, wrapped or cut, made harmless."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlodiff.report.escape import clip, printable, unordered

if TYPE_CHECKING:
    from rich.text import Text


_TITLES = 13
_DEEPEST = 20  # of an indentation: lines may come from an untrusted file
_STYLES = frozenset(
    f"{weight}{color}".rstrip() for weight in ("", "bold ") for color in ("", "red", "green", "yellow", "cyan")
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: indentation, text that may be cut at the window's edge, words that stay at its end, a style.

    A line with a `title`, "" included, starts in the column after the titles.
    """

    indent: int
    text: str
    ends: tuple[str, ...] = ()
    style: str = ""
    wrap: bool = False
    title: str | None = None


def lay_out(lines: Iterable[Line], *, width: int, color: bool = False) -> str:
    """Lines as text for a window.

    Args:
        lines: of a report; what they hold may be another's.
        width: columns of the window, at least 40.
        color: whether terminal colours may be used.

    Returns:
        text ending in a newline.

    Example:
        >>> lay_out([Line(2, "a\\x1b[31mb")], width=80)
        '  a\\\\x1b[31mb\\n'
    """
    width = max(width, 40)
    if color:
        return _colored(lines, width)
    return "".join(f"{text}\n" for line in lines for text in _plain(line, width))


def _plain(line: Line, width: int) -> list[str]:
    """The line, cut or wrapped to the width, its ends kept whole; no CI log obeys it as a command."""
    return [unordered(text) for text in _laid_out(line, width)]


def _laid_out(line: Line, width: int) -> list[str]:
    text = printable(line.text)
    before = " " * min(line.indent, _DEEPEST)
    room = width - len(before)
    if line.title is not None:
        heads = [f"{clip(printable(line.title), _TITLES - 1):<{_TITLES}}"]
        parts = _wrapped(text, room - _TITLES)
        heads += [" " * _TITLES] * (len(parts) - 1)
        return [before + head + part for head, part in zip(heads, parts, strict=True)]
    if line.wrap:
        return [before + part for part in _wrapped(text, room)]
    return [before + part for part in _with_ends(text, [printable(end) for end in line.ends], room)]


def _with_ends(text: str, ends: list[str], room: int) -> list[str]:
    """One line, the text cut if necessary; if half of the text would be lost, the ends go below."""
    end = "".join(f"  {word}" for word in ends)
    if len(text) + len(end) <= room or len(end) <= room // 2:
        return [(clip(text, room - len(end)) + end).rstrip()]
    # The place in Python is what a reviewer goes to: it gets a line of its own before any of it is lost.
    below = [end] if len(end) <= room else [*(clip(f"  {word}", room) for word in ends[:-1]), f"  {ends[-1]}"]
    return [clip(text, room), *below]


def _wrapped(text: str, width: int) -> list[str]:
    """Wrapped at spaces, further lines indented; a word longer than the width, such as a path, stays whole."""
    lines = [""]
    for word in text.split(" ") if len(text) > width else [text]:
        if lines[-1].strip() and len(lines[-1]) + len(word) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append("  ")
        lines[-1] += word + " "
    lines[-1] = lines[-1].rstrip()
    return lines


def _colored(lines: Iterable[Line], width: int) -> str:
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=width, highlight=False)
    for line in lines:
        for text in _plain(line, width):
            styled: Text = Text(text, style=line.style if line.style in _STYLES else "")
            console.print(styled, soft_wrap=True)
    return out.getvalue()
