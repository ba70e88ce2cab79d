"""Splitting HLO text at top-level commas, aware of quotes and brackets.

A regular expression that stops at the first `}` is the classic bug of HLO tools: backend configurations, frontend
attributes and op names hold braces, commas and escaped quotes inside strings.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}()\[\],"]|/\*.*?\*/')
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/', re.DOTALL)


class Unbalanced(ValueError):
    """A bracket or quote that never closes, at character `position`."""

    def __init__(self, position: int) -> None:
        super().__init__(f"unbalanced at {position}")
        self.position = position


def split_commas(text: str) -> list[str]:
    """Split at commas outside brackets and strings, parts stripped: `split_commas('a={1,2}, b="x,y"')` has 2 parts."""
    parts: list[str] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind == ",":
            if depth == 0:
                parts.append(text[start : token.start()].strip())
                start = token.end()
        elif kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth -= 1
            if depth < 0:
                raise Unbalanced(token.start())
        elif kind == '"':  # a string that closes is one token
            raise Unbalanced(token.start())
    if depth:
        raise Unbalanced(len(text))
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def parts_or_whole(text: str) -> list[str]:
    """The same for a value that may be damaged: what cannot be taken apart is one part."""
    try:
        return split_commas(text)
    except Unbalanced:
        return [text]


def closing(text: str, opening: int) -> int:
    """Index of the bracket that closes the one at `opening`; raises Unbalanced where there is none."""
    depth = 0
    for token in _TOKEN.finditer(text, opening):
        kind = text[token.start()]
        if kind in "{([":
            depth += 1
        elif kind in "})]":
            depth -= 1
            if depth == 0:
                return token.start()
        elif kind == '"' and token.end() == token.start() + 1:
            raise Unbalanced(token.start())
    raise Unbalanced(opening)


def is_balanced(text: str) -> bool:
    """Whether every bracket and quote closes; if not, the instruction continues on the next line."""
    try:
        split_commas(text)
    except Unbalanced:
        return False
    return True


def without_comments(text: str) -> str:
    """Drop `/*index=5*/` comments, not those inside strings."""
    return _COMMENT.sub(lambda m: m.group(1) or "", text) if "/*" in text else text


def unquote(text: str) -> str:
    r"""Content of a C-escaped string: `unquote(r'"a\"b"') == 'a"b'`; anything else comes back as it is."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    return _ESCAPE.sub(_unescape, text[1:-1]) if "\\" in text else text[1:-1]


_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r"}


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    return _NAMED.get(code, code)
