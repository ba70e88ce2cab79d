"""Finds the changed words of a Python line or of a value, compared with the old one.

The common prefix and suffix are the same, and the part between is marked: an edit of a line is nearly always in one
place. A longest common subsequence (difflib) would also pair commas and brackets that have nothing to do with each
other, which marks the wrong half of a call, and takes quadratic time on a hostile line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlodiff.differ.subsequence import common_ends

Span = tuple[int, int]
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# `shape: f32[8,2] -> f32[4,2]; precision: default -> highest`
_CHANGE = re.compile(r"[^;]++")
_ARROW = " -> "  # of `wording`, which would import the reader of programs
_LONGEST = 2_000  # characters: nobody compares longer lines word by word


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
