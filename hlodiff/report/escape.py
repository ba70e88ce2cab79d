"""Making text that others wrote harmless: names, paths and messages may hold control codes, HTML or Markdown."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~:])")
# A zero-width space after `@` keeps GitHub from notifying people; an escape does not.
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b"}


def printable(text: str, *, lines: bool = False) -> str:
    """The text with everything that a terminal would obey shown as an escape.

    Args:
        text: anything.
        lines: whether line ends stay; without, the result is one line.

    Returns:
        text without control, direction and other invisible characters.

    Example:
        >>> printable("a\\x1b[31mb\\nc")
        'a\\\\x1b[31mb\\\\nc'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or (lines and c == "\n") else _escaped(c) for c in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", errors="replace").decode("ascii")


def markdown(text: str) -> str:
    """The text as plain words inside Markdown: no markup, link, mention, HTML or table cell can come out of it.

    Example:
        >>> markdown("<b>*x*|y")
        '&lt;b&gt;\\\\*x\\\\*\\\\|y'
    """
    escaped = "".join(_HTML.get(c, c) for c in printable(text))
    return _MARKDOWN.sub(r"\\\1", escaped)


def code(text: str) -> str:
    """The text as a code span of a Markdown table; a backtick in it becomes an apostrophe.

    Example:
        >>> code("f32[2] | `x`")
        "`f32[2] \\\\| 'x'`"
    """
    plain = printable(text).replace("`", "'").strip()
    # In a table GitHub splits cells before it sees code, and takes `\|` in a cell for a bar.
    return f"`{plain}`".replace("|", "\\|") if plain else ""


def clip(text: str, width: int) -> str:
    """The text cut to a width, the cut marked.

    Example:
        >>> clip("abcdefgh", 5)
        'ab...'
    """
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."
