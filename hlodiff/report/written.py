"""Describes the edit of one line of Python in its own text: what was added, deleted or rewritten.

Compares the old and the new line token by token. The result is always true of the text; the caller decides whether it
explains the change of a program.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlodiff.differ.subsequence import common_ends

_GLANCE = 60  # characters; longer pairs of expressions are shortened
_MOST = 80
OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_BEGINS = frozenset([".", "[", "+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "if", "and", "or", "not"])
_ENDS_BEFORE = _NO_EXPRESSION = frozenset(["=", ",", ":", ":="])


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int


def written(old_source: str, new_source: str, most: int = _MOST) -> str:
    """Describes the edit of one line; "" if that is too long or the lines have too little in common.

    Args:
        old_source, new_source: the line before and after.
        most: longest result, in characters.

    Example:
        >>> written("y = f(x)", "y = f(x).astype(t)"), written("y = x + f(x)", "y = f(x)")
        ('.astype(t) added', 'x + f(x) -> f(x)')
        >>> written("y = f(x)", "y = f(stop_gradient(x))")
        'stop_gradient() added'
        >>> written("k = split(key)", "k = split(key, 3)[1:]")
        'split(key) -> split(key, 3)[1:]'
        >>> written("v = mean((x - m) ** 2, axis=-1)", "v = mean(x**2, axis=-1) - m**2", 50)
        'mean((x - m) ** 2, ...) -> mean(x**2, ...) - m**2'
        >>> written("y = sum(x * used) / maximum(sum(used), 1)", "y = mean(x, where=used)", 50)
        'sum(...) / maximum(...) -> mean(x, where=used)'
    """
    lines, sides = (old_source, new_source), (_tokens(old_source), _tokens(new_source))
    for side in sides:  # drop the trailing comma of an argument on its own line
        del side[len(side) - (side[-1:] != [] and side[-1].text == ",") :]
    old, new = ([token.text for token in side] for side in sides)
    if old == new or not _is_alike(old, new):
        return ""
    short, long = (0, 1) if len(old) < len(new) else (1, 0)
    status = "added" if long == 1 else "gone"
    texts = old, new
    for words in (_inserted(texts[short], sides[long], lines[long]), _call_around(texts[short], texts[long])):
        if words and len(words) + len(status) < most:
            return f"{words} {status}"
    return _rewritten(sides, lines, most)


def _is_alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether both share half of the shorter line's tokens; lines that git pairs may have nothing in common."""
    return (Counter(old) & Counter(new)).total() * 2 >= min(len(old), len(new)) > 0


def _inserted(short: Sequence[str], side: Sequence[_Token], line: str) -> str:
    """The one piece of text that only the longer line has: a call after a value, a term, a condition."""
    long = [token.text for token in side]
    more = len(long) - len(short)
    start, _ = common_ends(short, long)
    while more > 0 and start >= 0 and long[:start] + long[start + more :] == list(short):
        words = long[start : start + more]
        is_suffix = words[0] in _BEGINS and words[-1] not in _BEGINS  # `* b` of `a * b`
        if start and is_suffix and _is_balanced(words) and "," not in _at_the_top(words):
            return line[side[start].start : side[start + more - 1].end]
        start -= 1
    return ""


def _call_around(short: Sequence[str], long: Sequence[str]) -> str:
    """The call that wraps an expression in the longer line only: `jnp.clip(..., -1.0, 1.0)`."""
    start, _ = common_ends(short, long)
    for first in range(start, -1, -1):
        opens = first
        while opens + 1 < len(long) and long[opens].isidentifier() and long[opens + 1] == ".":
            opens += 2
        if not long[first : first + 1] or keyword.iskeyword(long[first]) or long[first - 1 : first] == ["."]:
            continue
        if not (opens + 1 < len(long) and long[opens].isidentifier() and long[opens + 1] == "("):
            continue
        end = bracket_end(long, opens + 1)
        after = len(long) - end
        inside = list(short[first : len(short) - after])
        taken = list(long[opens + 2 : end - 1])
        if not end or [*long[:first], *inside, *long[end:]] != list(short) or not (inside and _is_balanced(inside)):
            continue
        if taken == inside:
            return f"{''.join(long[first : opens + 1])}()"
        if taken[: len(inside) + 1] == [*inside, ","]:
            rest = "".join(f"{word} " if word == "," else word for word in taken[len(inside) + 1 :])
            return f"{''.join(long[first : opens + 1])}(..., {rest})"
    return ""


def _rewritten(sides: Sequence[Sequence[_Token]], lines: Sequence[str], most: int) -> str:
    """The smallest whole expression that covers all differences, before and after; "" if that is too long."""
    texts = [[token.text for token in side] for side in sides]
    start, behind = common_ends(*texts)
    for first in _starts(texts[0], start):
        for after in _ends(texts[0], behind):
            spans = [side[first : len(side) - after] for side in sides]
            words = [[token.text for token in span] for span in spans]
            if all(one and _is_balanced(one) and _NO_EXPRESSION.isdisjoint(_at_the_top(one)) for one in words):
                whole = " -> ".join(line[span[0].start : span[-1].end] for line, span in zip(lines, spans, strict=True))
                shown = whole if len(whole) <= min(most, _GLANCE) else _without_same_arguments(spans, lines)
                return shown if len(shown) <= most else _without_arguments(spans, lines, most)
    return ""


def _without_arguments(spans: Sequence[Sequence[_Token]], lines: Sequence[str], most: int) -> str:
    """Both expressions, with `...` for call arguments of the longer one or both: `sum(...) / max(...) -> mean(x)`."""
    texts = [line[span[0].start : span[-1].end] for line, span in zip(lines, spans, strict=True)]
    short = [_called_names(span, line) for line, span in zip(lines, spans, strict=True)]
    longer = int(len(texts[1]) > len(texts[0]))
    for sides in ((longer,), (0, 1)):
        old, new = (short[side] if side in sides else text for side, text in enumerate(texts))
        if old != new and len(old) + len(new) + len(" -> ") <= most:
            return f"{old} -> {new}"
    return ""


def _called_names(span: Sequence[_Token], line: str) -> str:
    """An expression with `...` for the arguments of each call."""
    words = [token.text for token in span]
    shown, at, number = "", span[0].start, 0
    while number < len(words):
        end = bracket_end(words, number) if _is_call(words, number) else 0
        if end > number + 2:
            shown, at, number = f"{shown}{line[at : span[number].end]}...", span[end - 1].start, end
        else:
            number += 1
    return shown + line[at : span[-1].end]


def _without_same_arguments(spans: Sequence[Sequence[_Token]], lines: Sequence[str]) -> str:
    """Both expressions, with `...` for the longest arguments that they share: `mean(x, ...) -> mean(x**2, ...)`."""
    old, new = ([token.text for token in span] for span in spans)
    starts = [
        [n for n, text in enumerate(side[:-1], 1) if text in (",", "[", "{") or _is_call(side, n - 1)]
        for side in (old, new)
    ]
    runs = [(one, other, _same_arguments(old[one:], new[other:])) for one in starts[0] for other in starts[1]]
    one, other, length = max(runs, key=lambda run: len("".join(old[run[0] : run[0] + run[2]])), default=(0, 0, 0))
    if len("".join(old[one : one + length])) <= len("..."):
        return " -> ".join(line[span[0].start : span[-1].end] for line, span in zip(lines, spans, strict=True))
    return " -> ".join(
        f"{line[span[0].start : span[at].start]}...{line[span[at + length - 1].end : span[-1].end]}"
        for line, span, at in zip(lines, spans, (one, other), strict=True)
    )


def _is_call(words: Sequence[str], at: int) -> bool:
    name = words[at - 1] if at > 0 else ""
    return words[at] == "(" and name.isidentifier() and not keyword.iskeyword(name)


def _same_arguments(old: Sequence[str], new: Sequence[str]) -> int:
    """Length in tokens of the longest common prefix of whole arguments."""
    same = 0
    depth = 0
    for length, (one, other) in enumerate(zip(old, new, strict=False)):
        is_end = not depth and {one, other} <= {",", *_CLOSING}
        same = length if is_end else same
        depth += nesting(one)
        if one != other or depth < 0:
            break
    return same


def _starts(words: Sequence[str], start: int) -> Iterator[int]:
    """Indices at which an expression may begin, innermost first."""
    for first in range(start, -1, -1):
        if _is_start(words[first - 1] if first else ""):
            yield first


def _is_start(before: str) -> bool:
    """Whether an expression may begin after this token; "" is the start of the line."""
    return not before or before in OPENING or before in _ENDS_BEFORE or keyword.iskeyword(before)


def _ends(words: Sequence[str], behind: int) -> Iterator[int]:
    """How many tokens may follow an expression, innermost first."""
    for after in range(behind, -1, -1):
        following = words[len(words) - after] if after else ""
        if not after or following in _CLOSING or following in _ENDS_BEFORE or keyword.iskeyword(following):
            yield after


def _is_balanced(words: Sequence[str]) -> bool:
    depth = 0
    for word in words:
        depth += nesting(word)
        if depth < 0:
            return False
    return not depth


def _at_the_top(words: Sequence[str]) -> list[str]:
    """Tokens outside all brackets, with the outermost brackets."""
    found, depth = [], 0
    for word in words:
        depth -= word in _CLOSING
        if not depth:
            found.append(word)
        depth += word in OPENING
    return found


def nesting(word: str) -> int:
    """1 for an opening bracket, -1 for a closing one, else 0."""
    return (word in OPENING) - (word in _CLOSING)


def bracket_end(words: Sequence[str], start: int) -> int:
    """The index after the bracket that closes the one at `start`; 0 if it is on another line."""
    depth = 0
    for number, word in enumerate(words[start:], start):
        depth += nesting(word)
        if not depth:
            return number + 1
    return 0


def _tokens(source: str) -> list[_Token]:
    """Tokens of a line with their positions, without comments."""
    found: list[_Token] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.string.strip() and token.type != tokenize.COMMENT and token.start[0] == 1:
                found.append(_Token(token.string, token.start[1], token.end[1]))
    except (tokenize.TokenError, SyntaxError):  # one line of a longer statement: the tokens read so far are correct
        pass
    return found
