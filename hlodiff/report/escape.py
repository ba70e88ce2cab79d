"""Making text that others wrote harmless: names, paths and messages may hold control codes, HTML or Markdown."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~:$])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_NUMBERED = {ord(c): f"&#{ord(c)};" for c in "&<>@`*_[]\\\"'"}
# Forges look for people, issues, addresses and further things of theirs in what Markdown has become, where an escape is
# gone: a zero-width space behind the sign keeps it from notifying and linking.
_LINKS = re.compile(r"(@|[#!~$&](?=[\w\"'])|/(?=/)|www(?=\.)|G[HL](?=-))", re.IGNORECASE)
# GitLab's milestones and alerts: it honours a backslash, which keeps `%add.3` a name that can be copied.
_REFERENCES = re.compile(r"([%^])(?=[\w\"'])")
# What makes a list, a rule or code of the rest where it begins a line or an item.
_FIRST = re.compile(r"^( *)(?:(?=-(?: |[- ]*$)|=[= ]*$)|(\d{1,9})(?=\.(?: |$)))")
_INDENTED = re.compile(r"^ {2,}")
# A line that begins so is a command to GitHub's runners; the older form is one wherever it stands.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|(?<=#)#(?=\[)", re.MULTILINE)
_INVISIBLE = re.compile(r"[^\x20-\x7e\n]")


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


def escape_markdown(text: str) -> str:
    """The text as plain words inside Markdown: no markup, link, mention, HTML or table cell can come out of it.

    Example:
        >>> escape_markdown("<b>*x*|y")
        '&lt;b&gt;\\\\*x\\\\*\\\\|y'
    """
    plain = _MARKDOWN.sub(r"\\\1", _unlinked(text).translate(_HTML))
    return _FIRST.sub(r"\1\2\\", _INDENTED.sub(" ", _REFERENCES.sub(r"\\\1", plain)))


def escape_html(text: str) -> str:
    """The text as plain words inside an HTML element, where Markdown is not read but links are still made.

    Example:
        >>> escape_html("<b> & @you") == "&#60;b&#62; &#38; &#64;\u200byou"
        True
    """
    return _unlinked(text).translate(_NUMBERED)


def _unlinked(text: str) -> str:
    return _LINKS.sub("\\1\u200b", printable(text))


def unordered(text: str) -> str:
    """The text for the log of a CI run, which would obey `::error::` at the beginning of a line.

    Example:
        >>> unordered("  ::error::no"), unordered("a ##[error]no"), unordered("a::b")
        ('  \\\\x3a:error::no', 'a #\\\\x23[error]no', 'a::b')
    """
    return _COMMAND.sub(lambda found: f"{found[1]}\\x3a" if found[1] is not None else "\\x23", text)


def json_text(value: Any) -> str:
    """A value as indented JSON, ending in a newline: nothing in it is obeyed by a terminal or the log of a CI run.

    Example:
        >>> print(json_text({"a": "\u202e\u00fc ##[error]"}), end="")
        {
         "a": "\\u202eü #\\u0023[error]"
        }
    """
    try:
        text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=1, ensure_ascii=False)
    text = _INVISIBLE.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)
    return text.replace("##[", "#\\u0023[") + "\n"


def _finite(value: Any) -> Any:
    """JSON has neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def code(text: str) -> str:
    """The text as a code span of a Markdown table; a backtick in it becomes an apostrophe.

    Example:
        >>> code("f32[2] | `x`")
        "`f32[2] \\\\| 'x'`"
    """
    plain = printable(text).replace("`", "'").strip()
    # In a table GitHub splits cells before it sees code, and takes `\|` in a cell for a bar, but `\\|` for a border.
    return f"`{plain}`".replace("\\|", "\\\u200b|").replace("|", "\\|") if plain else ""


def clip(text: str, width: int) -> str:
    """The text cut to a width, the cut marked.

    Example:
        >>> clip("abcdefgh", 5)
        'ab...'
    """
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."
