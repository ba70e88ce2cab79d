"""Lines of text: escaping for safe output, layout for a terminal, and which words of a line changed."""

from __future__ import annotations

import html
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

# --- Escaping untrusted text: names, paths and messages may contain control codes, HTML or Markdown.

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~:$])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_NUMBERED = {ord(c): f"&#{ord(c)};" for c in "&<>@`*_[]\\\"'"}
# Code hosts look for people, issues, addresses and more in rendered Markdown, where escapes are lost: a zero-width
# space after the character prevents notifying and linking.
_LINKS = re.compile(r"(@|[#!~$&](?=[\w\"'])|/(?=/)|www(?=\.)|G[HL](?=-))", re.IGNORECASE)
# GitLab's milestones and alerts: a backslash is enough, and keeps `%add.3` a name that can be copied.
_REFERENCES = re.compile(r"([%^])(?=[\w\"'])")
# Characters that, at the start of a line or item, make the rest a list, a rule or code.
_FIRST = re.compile(r"^( *)(?:(?=-(?: |[- ]*$)|=[= ]*$)|(\d{1,9})(?=\.(?: |$)))")
_INDENTED = re.compile(r"^ {2,}")
# A line beginning like this is a command to GitHub's runners; the older form is a command anywhere in a line.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|(?<=#)#(?=\[)", re.MULTILINE)
_INVISIBLE = re.compile(r"[^\x20-\x7e\n]")


def printable(text: str, *, lines: bool = False) -> str:
    """The text with everything that a terminal would interpret shown as an escape.

    Args:
        text: anything.
        lines: whether to keep line ends; otherwise the result is one line.

    Returns:
        text without control, direction and other invisible characters.

    Example:
        >>> printable("a\\x1b[31mb\\nc")
        'a\\\\x1b[31mb\\\\nc'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or (lines and c == "\n") else c.encode("unicode_escape", errors="replace").decode("ascii")
        for c in text
    )


def escape_markdown(text: str) -> str:
    """The text escaped for Markdown: it cannot produce markup, a link, mention, HTML or table cell.

    Example:
        >>> escape_markdown("<b>*x*|y")
        '&lt;b&gt;\\\\*x\\\\*\\\\|y'
    """
    plain = _MARKDOWN.sub(r"\\\1", _unlinked(text).translate(_HTML))
    return _FIRST.sub(r"\1\2\\", _INDENTED.sub(" ", _REFERENCES.sub(r"\\\1", plain)))


def bold(text: str) -> str:
    """The text escaped and bold for Markdown; "" if it is blank, because `** **` would be a rule.

    Example:
        >>> bold(" a*b "), bold(" ")
        ('**a\\\\*b**', '')
    """
    plain = escape_markdown(text.strip())
    return f"**{plain}**" if plain else ""


def escape_html(text: str) -> str:
    """The text escaped for an HTML element, where Markdown is not parsed but code hosts still make links.

    Example:
        >>> escape_html("<b> & @you") == "&#60;b&#62; &#38; &#64;\u200byou"
        True
    """
    return _unlinked(text).translate(_NUMBERED)


def _unlinked(text: str) -> str:
    return _LINKS.sub("\\1\u200b", printable(text))


def unordered(text: str) -> str:
    """The text escaped for a CI log, which would run `::error::` at the start of a line as a command.

    Example:
        >>> unordered("  ::error::no"), unordered("a ##[error]no"), unordered("a::b")
        ('  \\\\x3a:error::no', 'a #\\\\x23[error]no', 'a::b')
    """
    return _COMMAND.sub(lambda found: f"{found[1]}\\x3a" if found[1] is not None else "\\x23", text)


def json_text(value: Any) -> str:
    """A value as indented JSON, ending in a newline, escaped for terminals and CI logs.

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
    """The value with null for NaN and infinity, which JSON does not have."""
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
    # In a table GitHub splits cells before parsing code, and reads `\|` in a cell as a bar, but `\\|` as a border.
    return f"`{plain}`".replace("\\|", "\\\u200b|").replace("|", "\\|") if plain else ""


def clip(text: str, width: int) -> str:
    """The text truncated to a width, with a mark.

    Example:
        >>> clip("abcdefgh", 5)
        'ab...'
    """
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


# --- Lines of a report, and their layout in a terminal: indented, wrapped or truncated, and escaped.

_TITLES = 13
_DEEPEST = 20  # the most indentation: lines may come from an untrusted file
NEXT = "next"
"""The style of the line with the next command; a saved result has only its position."""
_STYLES = frozenset(
    f"{weight}{color}".rstrip() for weight in ("", "bold ") for color in ("", "red", "green", "yellow", "cyan")
)


# Excludes anything that could end a link in Markdown or a line.
_LINK = re.compile(r"https?://[\w.~:/?#@!$&'*+,;=%-]{1,2000}", re.ASCII)


def is_link(value: str) -> bool:
    """Whether a text is an address that is safe in a report.

    Example:
        >>> is_link("https://ci.example/run/7"), is_link("javascript:alert(1)")
        (True, False)
    """
    return _LINK.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class Line:
    """One line: indentation, text that may be truncated, words kept at its end, and a style.

    With `wrap` nothing is truncated: the text and the words at its end continue on further lines. A line with a
    `title`, "" included, starts in the column after the titles. `hanging` is the indentation of further lines.
    """

    indent: int
    text: str
    ends: tuple[str, ...] = ()
    style: str = ""
    wrap: bool = False
    title: str | None = None
    hanging: int = 2


def lay_out(lines: Iterable[Line], *, width: int, color: bool = False) -> str:
    """Lines as text for a window.

    Args:
        lines: lines of a report; their text may be untrusted.
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


# The notebook's style sheet decides, if it has one; else colours that are legible on white and on black.
_NOTEBOOK_COLORS = {
    "red": "var(--jp-error-color1, #d64545)",
    "green": "var(--jp-success-color1, #2e9d4e)",
    "yellow": "var(--jp-warn-color1, #b8860b)",
    "cyan": "var(--jp-info-color1, #2a8fbd)",
}


def lay_out_html(lines: Iterable[Line], *, width: int) -> str:
    """Lines as one HTML element, with their styles.

    Args:
        lines: lines of a report; their text may be untrusted.
        width: columns, at least 40.

    Example:
        >>> lay_out_html([Line(0, "<b>", style="bold red")], width=80)[:5]
        '<pre '
    """
    rows = []
    for line in lines:
        *_, color = line.style.split(" ") if line.style in _STYLES else ("",)
        css = "font-weight: bold;" if line.style.startswith("bold") else ""
        css += f"color: {_NOTEBOOK_COLORS[color]};" if color in _NOTEBOOK_COLORS else ""
        for text in _plain(line, max(width, 40)):
            plain = html.escape(text)
            rows.append(f'<span style="{css}">{plain}</span>' if css and plain else plain)
    style = "white-space: pre-wrap; line-height: 1.35; margin: 0;"
    return f'<pre style="{style}">{chr(10).join(rows)}</pre>'


def _plain(line: Line, width: int) -> list[str]:
    """The line, truncated or wrapped to the width, its ends kept whole, and escaped for CI logs."""
    text, ends = printable(line.text), [printable(end) for end in line.ends]
    before = " " * min(line.indent, _DEEPEST)
    room = width - len(before)
    if line.title is not None:
        heads = [f"{clip(printable(line.title), _TITLES - 1):<{_TITLES}}"]
        parts = _wrapped(text, room - _TITLES)
        heads += [" " * _TITLES] * (len(parts) - 1)
        parts = [head + part for head, part in zip(heads, parts, strict=True)]
    elif line.wrap:
        parts = [text] if len(text) <= room and ends else _wrapped(text.rstrip(), room, line.hanging)
        for end in ends:  # whole: after the text if it fits, else on its own line
            fits = len(parts[-1]) + 2 + len(end) <= room
            below = [f"{' ' * line.hanging}{end}"]
            if end.startswith("("):  # a place is not split
                below = _wrapped(below[0], room, line.hanging)
            parts[-1:] = [f"{parts[-1]}  {end}"] if fits else [parts[-1].rstrip(), *below]
    else:
        parts = _with_ends(text, ends, room)
    return [unordered(before + part) for part in parts]


def _with_ends(text: str, ends: list[str], room: int) -> list[str]:
    """One line, the text truncated if necessary; if half of the text would be lost, the ends go below."""
    end = "".join(f"  {word}" for word in ends)
    if len(text) + len(end) > room >= len(text.rstrip()) + len(end):
        text = text.rstrip()  # the column of the ends is wider than the window
    if len(text) + len(end) <= room or len(end) <= room // 2:
        return [(clip(text, room - len(end)) + end).rstrip()]
    # A reviewer opens the Python line: it moves to its own line rather than being truncated.
    below = [end] if len(end) <= room else [*(clip(f"  {word}", room) for word in ends[:-1]), f"  {ends[-1]}"]
    return [clip(text, room), *below]


# Where a line may break: not between a number and its unit, nor inside `P('data', None)`.
_BREAK = re.compile(r" (?!%|[KMGT]iB\b|B\b|(?<=, )(?:'|None\b))")


def _wrapped(text: str, width: int, hanging: int = 2) -> list[str]:
    """Wrap at spaces, with further lines indented; a word longer than the width, such as a path, stays whole."""
    lines = [""]
    for word in _BREAK.split(text) if len(text) > width else [text]:
        if lines[-1].strip() and len(lines[-1]) + len(word) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * hanging)
            if not word:
                continue  # the second of two spaces
        lines[-1] += word + " "
    lines[-1] = lines[-1].rstrip()
    return lines


def _colored(lines: Iterable[Line], width: int) -> str:
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=width, highlight=False)
    lines = list(lines)
    for line, marks in zip(lines, _marks(lines), strict=True):
        rows = _plain(line, width)
        for text, spans in zip(rows, _in_rows(printable(line.text), marks, rows), strict=True):
            styled: Text = Text(text, style=line.style if line.style in _STYLES else "")
            for start, end in spans:
                styled.stylize(_MARKED, start, end)
            console.print(styled, soft_wrap=True)
    return out.getvalue()


_MARKED = "bold underline"  # visible on every background and with every colour of a line


def _marks(lines: Sequence[Line]) -> Iterator[Sequence[Span]]:
    """Changed spans of each line: in a Python line and its replacement, and in the values of a change."""
    for number, line in enumerate(lines):
        before, after = (lines[n] if 0 <= n < len(lines) else None for n in (number - 1, number + 1))
        text = printable(line.text)
        if after and _is_pair(line, after):
            yield [_shifted(changed_spans(text[2:], printable(after.text)[2:])[0])]
        elif before and _is_pair(before, line):
            yield [_shifted(changed_spans(printable(before.text)[2:], text[2:])[1])]
        else:
            yield list(value_spans(text)) if text.startswith(("changed ", "moved ")) else ()


def _is_pair(old: Line, new: Line) -> bool:
    signs = old.text.startswith("- ") and new.text.startswith("+ ")
    return signs and (old.style, new.style, old.indent) == ("red", "green", new.indent)


def _shifted(span: Span) -> Span:
    return span[0] + 2, span[1] + 2


def _in_rows(text: str, marks: Sequence[Span], rows: Sequence[str]) -> Iterator[list[Span]]:
    """The marks mapped to laid out rows: spaces may have become an indentation or a line break."""
    marked = [any(start <= n < end for start, end in marks) for n, sign in enumerate(text) if not sign.isspace()]
    signs = [sign for sign in text if not sign.isspace()] if any(marked) else []
    at = 0
    for row in rows:
        spans: list[Span] = []
        for n, sign in enumerate(row):
            if sign.isspace():
                continue
            if at >= len(signs) or sign != signs[at]:
                signs = []  # words at the end of the line, or truncated text
                break
            if marked[at]:
                if spans and not row[spans[-1][1] : n].strip() and at and marked[at - 1]:
                    spans[-1] = spans[-1][0], n + 1
                else:
                    spans.append((n, n + 1))
            at += 1
        yield spans


# --- Finds the changed words of a Python line or of a value, compared with the old one.
#
# The common prefix and suffix are the same, and the part between is marked: an edit of a line is nearly always in one
# place. A longest common subsequence (difflib) would also pair commas and brackets that have nothing to do with each
# other, which marks the wrong half of a call, and takes quadratic time on a hostile line.

Span = tuple[int, int]
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# `shape: f32[8,2] -> f32[4,2]; precision: default -> highest`
_CHANGE = re.compile(r"[^;]++")
_ARROW = " -> "  # of `wording`, which would import the reader of programs
_LONGEST = 2_000  # characters: nobody compares longer lines word by word


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many elements two sequences begin and end with alike; no element counts for both ends.

    Example:
        >>> common_ends("abba", "aba")
        (2, 1)
    """
    most = min(len(old), len(new))
    before = next((n for n in range(most) if old[n] != new[n]), most)
    after = next((n for n in range(most - before) if old[-1 - n] != new[-1 - n]), most - before)
    return before, after


def changed_spans(old: str, new: str) -> tuple[Span, Span]:
    """The spans where two lines differ, in whole words.

    Args:
        old, new: one line each.

    Returns:
        first and last index (exclusive) on each side; (0, 0) for no mark: the lines are equal or have nothing in
        common.

    Example:
        >>> old, new = "y = jax.nn.gelu(x)", "y = jax.nn.silu(x)"
        >>> [side[start:end] for side, (start, end) in zip((old, new), changed_spans(old, new))]
        ['gelu', 'silu']
    """
    nothing = (0, 0), (0, 0)
    if old == new or max(len(old), len(new)) > _LONGEST:
        return nothing
    sides = _TOKEN.findall(old), _TOKEN.findall(new)
    before, after = common_ends(*sides)
    same = "".join(sides[0][:before] + sides[0][len(sides[0]) - after :])
    if not any(character.isalnum() for character in same):
        return nothing
    spans = [_span(side, before, after) for side in sides]
    return spans[0], spans[1]


def _span(tokens: Sequence[str], before: int, after: int) -> Span:
    start = sum(map(len, tokens[:before]))
    return start, start + sum(map(len, tokens[before : len(tokens) - after]))


def value_spans(words: str) -> Iterator[Span]:
    """The spans where the old and the new values of a change differ: `shape: f32[8,2] -> f32[4,2]` in `8` and `4`.

    Args:
        words: a change as formatted by `format_listed`.

    Example:
        >>> words = "changed dot f32[8]: precision: (default, high) -> (default, highest)"
        >>> [words[start:end] for start, end in value_spans(words)]
        ['high', 'highest']
    """
    for found in _CHANGE.finditer(words):
        begin, text = found.start(), found[0]
        field = text.find(": ")
        arrow = text.find(_ARROW, field + 3)
        if field < 0 or arrow < 0 or arrow + len(_ARROW) == len(text):
            continue
        old = max(text.rfind(": ", field, arrow), field) + 2  # the name of the field precedes the value
        new = arrow + len(_ARROW)
        for (start, end), offset in zip(
            changed_spans(text[old:arrow], text[new:]), (begin + old, begin + new), strict=True
        ):
            if end > start:
                yield start + offset, end + offset
