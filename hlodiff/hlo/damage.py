"""Finds, without parsing, what the parser would refuse.

A computation that is equal on both sides of a comparison is never parsed, so damage in it must be found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NO_PARAMETER = re.compile(rb" parameter\((?!\d{1,9}\))")
_PAIRS = (b"(", b")"), (b"[", b"]"), (b"{", b"}")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"()[]{}")
_IN_NAMES = bytes(byte for byte in range(256) if byte >= 128 or chr(byte).isalnum() or chr(byte) in "_.-")
_IN_WORDS = b"abcdefghijklmnopqrstuvwxyz0123456789_.-"
_ANY = bytes(range(256))
# Three-byte sequences that never occur in a valid text: a missing item or comma, a `%` inside a name, nothing between
# two brackets, or something after the bracket that closes a computation.
_NEVER = (
    (b",=", b",=)", _ANY), (_IN_NAMES, b"%", _ANY), (b"}", b"{", _ANY), (b"]", b"[", _ANY),
    (b"]", b" ", b"["), (b",", b" ", b","), (b"0123456789", b" ", b"0123456789"), (b"\n", b"}", b" "),
)  # fmt: skip
_FIRST, _SECOND, _THIRD = (
    bytes(sum((byte in three[n]) << bit for bit, three in enumerate(_NEVER)) for byte in range(256)) for n in range(3)
)
# How most lines end, between the last string and its number, and a shorter text with the same borders and brackets.
_LONG_METADATA, _SHORT_METADATA = b', metadata={op_name=" stack_frame_id=', b",{="
# Attributes that never occur inside a value: each follows a comma.
_NEVER_INSIDE = (b"index=", b"calls=", b"dimensions=", b"kind=")


def is_damaged(text: str, rows: int) -> bool:
    """Whether the parser would refuse computations in canonical form. Takes 8 ns per character.

    Detects a parameter without a number, a `%` inside a name, a missing item or comma, mismatched brackets, and lines
    that are no instruction, as after a line break in a string. Strings are removed first.

    Args:
        text: lines of instructions, whole computations or both, after a line break.
        rows: number of instructions in the text.

    Example:
        >>> text = "\\n%f (p: f32[]) -> f32[] {\\n  ROOT %p = f32[] parameter(0)\\n}\\n"
        >>> is_damaged(text, 1), is_damaged(text.replace("parameter(0)", "parameter()"), 1)
        (False, True)
    """
    found = found_with_value = 0
    open_ = [0] * len(_PAIRS)
    for part in _parts(text):
        # The text with a backslash in place of each escaped quote.
        pieces = (part.replace(b"\\\\", b"\\ ").replace(b'\\"', b"\\") if b"\\" in part else part).split(b'"')
        if not len(pieces) % 2:
            return True  # a line ends inside a string
        outside = b'"'.join(pieces[::2]).replace(_LONG_METADATA, _SHORT_METADATA)
        if b"\\" in outside:
            return True
        if _NO_PARAMETER.search(outside):
            return True
        # One bit per sequence, shifted by one byte for each position: searching for each sequence takes three times as
        # long.
        first, second, third = (int.from_bytes(outside.translate(kinds), "big") for kinds in (_FIRST, _SECOND, _THIRD))
        if first >> 16 & second >> 8 & third:
            return True
        found_with_value += outside.count(b" = ")
        marks = outside.translate(None, _IN_WORDS)  # a third remains, and usually decides
        found += marks.count(b"\n  %") + marks.count(b"\n  ROOT %")
        if marks.count(b" =") != marks.count(b", =") + marks.count(b"% = ") and any(
            outside.count(b" " + name) != outside.count(b", " + name) for name in _NEVER_INSIDE
        ):
            return True
        brackets = marks.translate(None, _NO_BRACKETS)
        for n, both in enumerate(_PAIRS):  # what remains without one of them: counting one by one is slower
            opening, ending = (len(brackets.translate(None, bracket)) for bracket in both)
            open_[n] += ending - opening
    return any(open_) or found != rows or found_with_value < rows


# Size of one piece: larger pieces do not fit into a processor's cache.
_PART = 1 << 18


def _parts(text: str) -> Iterator[bytes]:
    """Split a text that begins with a line break into parts that begin and end with one; the last may not end so."""
    at = 0
    while at + 1 < len(text):
        end = text.find("\n", at + _PART)
        end = len(text) - 1 if end < 0 else end
        yield text[at : end + 1].encode(errors="replace")  # searching bytes is faster
        at = end
