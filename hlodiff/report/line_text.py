"""Describes the edit of one line of Python in its own text: what was added, deleted or rewritten.

Compares the old and the new line token by token: `replaced_name` where one name, number, argument or call took the
place of another, `in_brackets` for plain values, `written` for any other edit. The result is always true of the text;
the caller decides whether it explains the change of a program.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hlodiff.report.lines import common_ends
from hlodiff.report.wording import ARROW, FIRST_LINE, format_pair

_GLANCE = 60  # characters; longer pairs of expressions are shortened
_LONGEST = 45  # characters of an argument
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_BEGINS = frozenset([".", "[", "+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "if", "and", "or", "not"])
_ENDS_BEFORE = _NO_EXPRESSION = frozenset(["=", ",", ":", ":="])
# `- 1 added` reads as an entry of a list, or as a negative number.
_MINUS = re.compile(r"- *\d[\d._e]*")
_IS_VALUE = re.compile(r"-?\w|[rb]?[\"']")
_ELEMENT = re.compile(r"-?[\w.]+(?:\[[^\[\]()]*\])*")
_BEFORE_A_SIGN = frozenset("=([{,:+-*/")
_MODULE = re.compile(r"(?<![\w.])(?:jax|jnp|np|numpy|lax|eqx|optax|nn)\.(?:[^\W\d]\w*\.)*(?=\w+\()")
# An argument that says what a call does: a type, a number, a short string.
_PLAIN = re.compile(r"(?:\w+\.)*(?:b?float|u?int|complex|bool)(?:\d\w*|_)?|-?\d[\w.]*|([\"'])[^\"']{0,12}\1")
_NO_VALUES = frozenset(keyword.kwlist) - {"None", "True", "False"}


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int


def written(old_source: str, new_source: str, most: int = FIRST_LINE) -> str:
    """Describes the edit of one line; "" if that is too long or the lines have too little in common.

    Args:
        old_source, new_source: the line before and after; "" if it was added or deleted.
        most: longest result, in characters.

    Example:
        >>> written("y = f(x)", "y = f(x).astype(t)"), written("y = x + f(x)", "y = f(x)")
        ('.astype(t) added', 'x + f(x) -> f(x)')
        >>> written("y = x + f(x)", "y = (x + f(x)).astype(t)"), written("y = a[0] + 1", "y = (a[0] + 1) * b")
        ('.astype(t) added', '* b added')
        >>> written("y = f(x)", "y = f(stop_gradient(x))")
        'stop_gradient() added'
        >>> written("y = f(x)", "y = g(f(x), [i for i in n])")
        'g(..., [i for i in n]) added'
        >>> written("k = split(key)", "k = split(key, 3)[1:]")
        'split(key) -> split(key, 3)[1:]'
        >>> written("v = mean((x - m) ** 2, axis=-1)", "v = mean(x**2, axis=-1) - m**2", 50)
        'mean((x - m) ** 2, ...) -> mean(x**2, ...) - m**2'
        >>> written("y = sum(x * used) / maximum(sum(used), 1)", "y = mean(x, where=used)", 50)
        'sum(...) / maximum(...) -> mean(x, where=used)'
        >>> written("y = jax.vmap(step)(states, keys)", "y = jax.vmap(step, in_axes=(0, None))(states, key)")
        'jax.vmap(step)(..., keys) -> jax.vmap(step, in_axes=(0, None))(..., key)'
        >>> written("y = optax.cross_entropy(logits, labels)", "y = optax.huber_loss(f(logits), g(labels))", 40)
        'cross_entropy(...) -> huber_loss(...)'
        >>> written("for i in range(n)", "for i in range(n - 1)"), written("y = x", "y = x * scale")
        ('n -> n - 1', '* scale added')
        >>> written("y = x @ w + h @ u + b", "y = jnp.concatenate([x, h], -1) @ jnp.concatenate([w, u]) + b", 60)
        'x @ w + h @ u -> jnp.concatenate(...) @ jnp.concatenate(...)'
        >>> written("y = sum(where(m, x * x, 0)) + y", "y = sum(where(m, x * x, 0)).astype(jnp.int8) + z.real", 50)
        'sum(...) + y -> sum(...).astype(jnp.int8) + z.real'
        >>> written("y = sum(where(m, x * x, 0)) + y", "y = sum(where(m, x * x, 1)).astype(jnp.int8) + z.real", 50)
        ''
        >>> written("y = f(x, out=t) + 1", "y = f(x).astype(t) + 1", 28)
        'out=t gone, .astype(t) added'
        >>> written("self.mlp = eqx.nn.MLP(2, 2, 32, 2)", "self.mlp = eqx.nn.MLP(2, 2, 32, 3)")
        '2 -> 3 in MLP()'
        >>> written("", "loss += penalty(x)"), written("    clip(1.0),", "")
        ('loss += penalty(x) added', 'clip(1.0) gone')
        >>> written("grads = tree_at(lambda g: g.covariates, grads, replace_fn=jnp.zeros_like)", "", 40)
        'grads = tree_at(...) gone'
        >>> written("h = swapaxes(x, 0, 1) @ w + b", "h = swapaxes(x @ w + b, 0, 1)", 30)
        '@ w + b moved'
        >>> written("return a, b", "return a, b, norm(g)"), written("return a, b", "return b")
        ('norm(g) added', 'a gone')
    """
    lines, sides = (old_source, new_source), (_tokens(old_source), _tokens(new_source))
    for side in sides:  # drop the trailing comma of an argument on its own line
        del side[len(side) - (side[-1:] != [] and side[-1].text == ",") :]
    old, new = ([token.text for token in side] for side in sides)
    if bool(old) != bool(new):
        line, side = lines[bool(new)], sides[bool(new)]
        whole = line[side[0].start : side[-1].end]
        found = (f"{words} {'added' if new else 'gone'}" for words in (whole, _called_names(side, line)))
        return next((words for words in found if len(words) < most), "") if _is_python(whole) else ""
    # Lines that git pairs may have nothing in common: what they assign or return, or half of the shorter one's tokens.
    start, _ = common_ends(old, new)
    is_alike = (Counter(old) & Counter(new)).total() * 2 >= min(len(old), len(new)) > 0
    is_alike |= not {"=", "return"}.isdisjoint(_at_the_top(old[:start]))
    if old == new or not is_alike:
        return ""
    short, long = (0, 1) if len(old) < len(new) else (1, 0)
    status = "added" if long == 1 else "gone"
    texts = old, new
    side, line = sides[long], lines[long]
    for words in (
        _inserted(texts[short], side, line),
        _after_brackets(texts[short], side, line),
        _returned(texts[short], side, line),
        _call_around(texts[short], texts[long]),
    ):
        if words and len(words) + len(status) < most:
            whole = _rewritten(sides, lines, most) if _MINUS.fullmatch(words) else ""
            return whole or f"{words} {status}"
    return _rewritten(sides, lines, most) or _two_pieces(sides, lines, most)


_MOST_CALLS = 2
_WORDS = re.compile(r"[A-Za-z_]\w*+")
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*+)\(")
_METHOD = re.compile(r"(?<=[)\]])\.([A-Za-z_]\w*+)\(")


def exchanged_calls(old: Iterable[str], new: Iterable[str], most: int = FIRST_LINE) -> str:
    """The functions that some lines called and that others call in their place; "" if one side has no others.

    Args:
        old, new: the lines before and after.
        most: longest result, in characters.

    Example:
        >>> exchanged_calls(["gates, index = lax.top_k(p, k)"], ["index = argsort(p)[:k]", "gates = take(p, index)"])
        'lax.top_k() -> argsort(), take()'
        >>> old, new = "loss = jnp.mean(jax.nn.logsumexp(z) - p)", "loss = optax.cross_entropy(z, p).mean()"
        >>> exchanged_calls([old], [new])
        'jax.nn.logsumexp() -> optax.cross_entropy()'
    """
    texts = ["\n".join(side) for side in (old, new)]
    called = [dict.fromkeys(_CALLED.findall(text)) for text in texts]
    methods = [{*_METHOD.findall(text)} for text in texts]  # `f(x).mean()` is what `jnp.mean(f(x))` was
    gone, came = (
        [name for name in one if name not in other and name.rpartition(".")[2] not in also]
        for one, other, also in zip(called, called[::-1], methods[::-1], strict=True)
    )
    words = ARROW.join(", ".join(f"{name}()" for name in names) for names in (gone, came))
    words = words if len(words) <= most else _MODULE.sub("", words)
    # Lines that git pairs may have nothing in common.
    values = [
        {*_WORDS.findall(text)}.difference(*(name.split(".") for name in names))
        for text, names in zip(texts, called, strict=True)
    ]
    is_alike = 2 * len(values[0] & values[1]) >= min(map(len, values)) > 0
    is_short = bool(gone and came) and max(len(gone), len(came)) <= _MOST_CALLS and len(words) <= most
    return words if is_alike and is_short else ""


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


def _after_brackets(short: Sequence[str], side: Sequence[_Token], line: str) -> str:
    """What the longer line does with a whole expression: `.astype(t)` of `(a + b).astype(t)`."""
    long = [token.text for token in side]
    more = len(long) - len(short) - 2
    start, _ = common_ends(short, long)
    while more > 0 and start >= 0:
        end = _bracket_end(long, start) if long[start] == "(" else 0
        words = long[end : end + more] if end else []
        is_rest = [*long[:start], *long[start + 1 : end - 1], *long[end + more :]] == list(short)
        if words and is_rest and words[0] in _BEGINS and _is_balanced(words) and "," not in _at_the_top(words):
            return line[side[end].start : side[end + more - 1].end]
        start -= 1
    return ""


def _returned(short: Sequence[str], side: Sequence[_Token], line: str) -> str:
    """The one value of several that only the longer line returns."""
    long = [token.text for token in side]
    more = len(long) - len(short)
    start, _ = common_ends(short, long)
    while short[:1] == ["return"] and more > 1 and start > 0 and long[:start] + long[start + more :] == list(short):
        words = long[start : start + more]
        first, end = (1, more) if words[0] == "," else (0, more - 1) if words[-1] == "," else (0, 0)
        value = words[first:end]
        if value and not _depth(long[:start]) and _is_balanced(value) and "," not in _at_the_top(value):
            return line[side[start + first].start : side[start + end - 1].end]
        start -= 1
    return ""


def _two_pieces(sides: Sequence[Sequence[_Token]], lines: Sequence[str], most: int) -> str:
    """An edit of two pieces of text: `out=t gone, .astype(t) added`, `.astype(t) and .sum() added`; "" of any other."""
    old, new = texts = [[token.text for token in side] for side in sides]
    start, least = common_ends(old, new)
    for behind in range(least, -1, -1):
        one, other = (side[start : len(side) - behind] for side in texts)
        for kept in range(min(len(one), len(other)) - 1, 0, -1):
            if one[-kept:] == other[:kept] or one[:kept] == other[-kept:]:
                between = one[-kept:] if one[-kept:] == other[:kept] else one[:kept]
                both = [*old[:start], *between, *old[len(old) - behind :]]
                words = [_piece(both, sides[0], lines[0], "gone"), _piece(both, sides[1], lines[1], "added")]
                if words[0] and words[0].removesuffix(" gone") == words[1].removesuffix(" added"):
                    words = [f"{words[0].removesuffix(' gone')} moved"]
                if all(words) and len(", ".join(words)) <= most:
                    return ", ".join(words)
    longer = int(len(new) > len(old))
    status, short, long = ("gone", "added")[longer], texts[1 - longer], texts[longer]
    between, rest = short[start : len(short) - least], long[start : len(long) - least]
    for first in range(1, len(rest) - len(between)):
        end = first + len(between)
        if between and rest[first:end] == between:
            half = [*sides[longer][: start + end], *sides[longer][len(long) - least :]]
            words = [_piece(short, half, lines[longer], status)]
            words += [_piece([token.text for token in half], sides[longer], lines[longer], status)]
            found = (
                f"2x {words[1]}" if words[0] == words[1] else f"{words[0].removesuffix(f' {status}')} and {words[1]}"
            )
            if all(words) and len(found) <= most:
                return found
    return ""


def _piece(short: Sequence[str], side: Sequence[_Token], line: str, status: str) -> str:
    """The one argument or piece of text that only the longer line has."""
    words = _argument(short, [token.text for token in side]).removesuffix(" added") or _inserted(short, side, line)
    return f"{words} {status}" if words else ""


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
        end = _bracket_end(long, opens + 1)
        after = len(long) - end
        inside = list(short[first : len(short) - after])
        taken = list(long[opens + 2 : end - 1])
        if not end or [*long[:first], *inside, *long[end:]] != list(short) or not (inside and _is_balanced(inside)):
            continue
        if taken == inside:
            return f"{''.join(long[first : opens + 1])}()"
        if taken[: len(inside) + 1] == [*inside, ","]:
            return f"{''.join(long[first : opens + 1])}(..., {_joined(taken[len(inside) + 1 :])})"
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
                whole = [line[span[0].start : span[-1].end] for line, span in zip(lines, spans, strict=True)]
                operands = _operands(whole[0], whole[1])
                pair = ARROW.join(operands)
                if [*operands] != whole:
                    spans, lines = [_tokens(text) for text in operands], operands
                if all(text.replace(".", "").isdigit() for text in operands):  # a bare number says nothing
                    pair += _in_call(texts[0][:first])
                shown = pair if len(pair) <= min(most, _GLANCE) else _without_same_arguments(spans, lines)
                return shown if len(shown) <= most else _without_arguments(spans, lines, most)
    return ""


def _in_call(before: Sequence[str]) -> str:
    """` in MLP()`: the call that is open after these tokens; "" if there is none."""
    opened = next((n for n in range(len(before) - 1, 0, -1) if _depth(before[n:]) > 0), 0)
    return (
        f" in {before[opened - 1]}()"
        if opened and _is_call(before, opened) and before[opened - 1].isidentifier()
        else ""
    )


def _operands(old: str, new: str) -> tuple[str, str]:
    """The operands in which two expressions of the same operations differ, unless that is a bare number.

    Example:
        >>> _operands("x + 0.04 * x**3", "x + 0.04 * f(x)"), _operands("a + x**3", "a + x**2")
        (('x**3', 'f(x)'), ('x**3', 'x**2'))
    """
    try:
        pair = ast.parse(old, mode="eval").body, ast.parse(new, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return old, new
    found = None
    while isinstance(one := pair[0], ast.BinOp) and isinstance(other := pair[1], ast.BinOp):
        sides = (one.left, other.left), (one.right, other.right)
        differing = [side for side in sides if ast.dump(side[0]) != ast.dump(side[1])]
        if type(one.op) is not type(other.op) or len(differing) != 1:
            break
        pair = differing[0]
        if any(isinstance(node, (ast.Constant, ast.UnaryOp)) for node in pair):
            break
        found = pair
    texts = [ast.get_source_segment(text, node) for text, node in zip((old, new), found or (), strict=False)]
    return (texts[0] or old, texts[1] or new) if found else (old, new)


def _without_arguments(spans: Sequence[Sequence[_Token]], lines: Sequence[str], most: int) -> str:
    """Both expressions, with `...` for call arguments of the longer one or both: `sum(...) / max(...) -> mean(x)`.

    Without modules of calls (`jnp.`), if that is still too long.
    """
    texts = [line[span[0].start : span[-1].end] for line, span in zip(lines, spans, strict=True)]
    short = [_called_names(span, line) for line, span in zip(lines, spans, strict=True)]
    old_calls, new_calls = map(_called, spans)
    if any(new_calls[name] != arguments for name, arguments in old_calls.items() if name in new_calls):
        return ""  # `f(...) -> f(...) + 1` would hide what differs
    longer = int(len(texts[1]) > len(texts[0]))
    for sides in ((longer,), (0, 1)):
        old, new = (short[side] if side in sides else text for side, text in enumerate(texts))
        if old != new and len(old) + len(new) + len(ARROW) <= most:
            return format_pair(old, new)
    bare = [_MODULE.sub("", text) for text in short]  # without `jnp.`
    return format_pair(*bare) if bare[0] != bare[1] and len(bare[0]) + len(bare[1]) + len(ARROW) <= most else ""


def _called_names(span: Sequence[_Token], line: str) -> str:
    """An expression with `...` for the arguments of each call, unless its only one is a type, a number or a string."""
    shown, at = "", span[0].start
    for first, end in _long_calls([token.text for token in span]):
        shown, at = f"{shown}{line[at : span[first].end]}...", span[end - 1].start
    return shown + line[at : span[-1].end]


def _called(span: Sequence[_Token]) -> dict[str, list[list[str]]]:
    """The arguments of each name that is called in an expression, as far as they may be shortened."""
    words = [token.text for token in span]
    found: dict[str, list[list[str]]] = {}
    for first, end in _long_calls(words):
        found.setdefault(words[first - 1], []).append(words[first + 1 : end - 1])
    return found


def _long_calls(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The brackets of outer calls with more arguments than a type, a number or a string: from the first to the end."""
    number = 0
    while number < len(words):
        end = _bracket_end(words, number) if _is_call(words, number) else 0
        if end > number + 2 and not _PLAIN.fullmatch("".join(words[number + 1 : end - 1])):
            yield number, end
        number = max(number + 1, end)


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
        return ARROW.join(line[span[0].start : span[-1].end] for line, span in zip(lines, spans, strict=True))
    return ARROW.join(
        f"{line[span[0].start : span[at].start]}...{line[span[at + length - 1].end : span[-1].end]}"
        for line, span, at in zip(lines, spans, (one, other), strict=True)
    )


def _is_call(words: Sequence[str], at: int) -> bool:
    name = words[at - 1] if at > 0 else ""
    return words[at] == "(" and (name in _CLOSING or (name.isidentifier() and not keyword.iskeyword(name)))


def _same_arguments(old: Sequence[str], new: Sequence[str]) -> int:
    """Length in tokens of the longest common prefix of whole arguments."""
    same = 0
    depth = 0
    for length, (one, other) in enumerate(zip(old, new, strict=False)):
        is_end = not depth and {one, other} <= {",", *_CLOSING}
        same = length if is_end else same
        depth += _nesting(one)
        if one != other or depth < 0:
            break
    return same


def _starts(words: Sequence[str], start: int) -> Iterator[int]:
    """Indices at which an expression may begin, innermost first."""
    for first in range(start, -1, -1):
        before = words[first - 1] if first else ""
        if not before or before in _OPENING or before in _ENDS_BEFORE or keyword.iskeyword(before):
            yield first


def _ends(words: Sequence[str], behind: int) -> Iterator[int]:
    """How many tokens may follow an expression, innermost first."""
    for after in range(behind, -1, -1):
        following = words[len(words) - after] if after else ""
        if not after or following in _CLOSING or following in _ENDS_BEFORE or keyword.iskeyword(following):
            yield after


def _is_balanced(words: Sequence[str]) -> bool:
    depth = 0
    for word in words:
        depth += _nesting(word)
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
        depth += word in _OPENING
    return found


def _nesting(word: str) -> int:
    """1 for an opening bracket, -1 for a closing one, else 0."""
    return (word in _OPENING) - (word in _CLOSING)


def _bracket_end(words: Sequence[str], start: int) -> int:
    """The index after the bracket that closes the one at `start`; 0 if it is on another line."""
    depth = 0
    for number, word in enumerate(words[start:], start):
        depth += _nesting(word)
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


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


# --- one name, number, argument or call in place of another ----------------------------------------------------------


def replaced_name(old_source: str, new_source: str) -> str:
    """The name, number, argument or call that was replaced, if nothing else in the line was edited; else "".

    Args:
        old_source, new_source: the line before and after.

    Example:
        >>> replaced_name("y = nn.gelu(x)", "y = nn.silu(x)"), replaced_name("f(x, axis=0)", "f(x, axis=1)")
        ('nn.gelu -> nn.silu', 'axis: 0 -> 1')
        >>> replaced_name("y = scan(f, x)", "y = scan(f, x, reverse=True)")
        'reverse=True added'
        >>> replaced_name("TIED = True", "TIED = False"), replaced_name("f({'last': True})", "f({'last': False})")
        ('TIED: True -> False', 'last: True -> False')
        >>> replaced_name("y = f(x, rtol=1e-3, atol=1e-6)", "y = f(x, rtol=1e-4, atol=1e-7)")
        'rtol: 1e-3 -> 1e-4, atol: 1e-6 -> 1e-7'
        >>> replaced_name("y = x[i:n]", "y = x[i:m]"), replaced_name("y['grad'] = norm(g)", "y['update'] = norm(u)")
        ('n -> m', "'grad' -> 'update', g -> u")
        >>> replaced_name("y = np.cumsum(x)", "y = lax.cumsum(x, reverse=True)")
        'np.cumsum -> lax.cumsum, reverse=True added'
    """
    old, new = _words(old_source), _words(new_source)
    if old == new:
        return ""
    if len(old) != len(new):
        return _argument(old, new) or _value(old, new) or _calls(old, new) or _other_argument(old, new)
    places = [number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    pairs = {(old[number], new[number]) for number in places}
    if len(pairs) == 2 and pairs == {(other, one) for one, other in pairs}:
        are_names = all(_ELEMENT.fullmatch(word) or word[0] in "\"'" for pair in pairs for word in pair)
        return f"{old[places[0]]} and {new[places[0]]} exchanged" if are_names else ""
    if len(pairs) != 1:
        return _keywords(old, new, places) or _key_and_name(old, new, places)
    one, other = old[places[0]], new[places[0]]
    if not all(_IS_VALUE.match(word) for word in (one, other)):
        return ""
    before = _without_annotation(["", "", *old[: places[0]]])
    is_argument = _depth(before) > 0 or old[-1] == ","  # an argument on its own line
    is_number = any(word.removeprefix("-")[0].isdigit() or word in _CONSTANTS for word in (one, other))
    name = _unpacked_name(old, places[0]) or (before[-2] if before[-1] == "=" else "")
    if before[-1] == ":" and before[-2][-1:] in ("'", '"'):  # of a dictionary
        name = before[-2][1:-1]
    if name.isidentifier() and (is_argument or is_number):  # a bare number says nothing; `axis: 0 -> 1` does
        return _named_pair(f"{name}: ", one, other)
    if is_argument and all(word[-1] in "\"'" for word in (one, other)):
        return format_pair(one, other)
    if not all(word[0].isalpha() or word[0] == "_" for word in (one, other)):
        return ""
    called = all(f"{word}(" in "".join(side) for word, side in ((one, old), (other, new)))
    ends = "()" if called and "." not in one + other else ""
    return _named_pair("", f"{one}{ends}", f"{other}{ends}")


def _named_pair(before: str, old: str, new: str) -> str:
    """Both names after `before`; without the module that both are of, where the first line has no place for it."""
    words = f"{before}{format_pair(old, new)}"
    module = old.rpartition(".")[0]
    if len(words) <= FIRST_LINE or module != new.rpartition(".")[0]:
        return words
    return before + format_pair(*(name.removeprefix(f"{module}.") for name in (old, new)))


def _keywords(old: Sequence[str], new: Sequence[str], places: Sequence[int]) -> str:
    """Several keyword arguments with other values; "" if something else was replaced too."""
    found = []
    for place in places:
        is_keyword = place > 1 and old[place - 1] == "=" and old[place - 2].isidentifier() and _depth(old[:place]) > 0
        if not (is_keyword and all(_IS_VALUE.match(side[place]) for side in (old, new))):
            return ""
        found.append(f"{old[place - 2]}: {format_pair(old[place], new[place])}")
    words = ", ".join(found)
    return words if len(words) <= FIRST_LINE else ""


def _key_and_name(old: Sequence[str], new: Sequence[str], places: Sequence[int]) -> str:
    """A string and a name that others took the place of; "" of anything else."""
    pairs = dict.fromkeys((old[place], new[place]) for place in places)
    strings = [all(word[0] in "\"'" for word in pair) for pair in pairs]
    names = [all(map(str.isidentifier, pair)) for pair in pairs]
    words = ", ".join(format_pair(*pair) for pair in pairs)
    is_both = len(pairs) == 2 and any(strings) and any(names)
    return words if is_both and len(words) <= FIRST_LINE else ""


def _unpacked_name(words: Sequence[str], place: int) -> str:
    """The name that a value of `a, b = 1, 2` is assigned to; "" if the line has another form."""
    at = words.index("=") if "=" in words else 0
    names, values = words[:at:2], words[at + 1 :: 2]
    commas = {*words[1:at:2], *words[at + 2 :: 2]}
    is_one_each = len(names) == len(values) > 1 and commas == {","} and all(map(str.isidentifier, names))
    return names[(place - at - 1) // 2] if is_one_each and place > at and (place - at) % 2 else ""


def _without_annotation(words: list[str]) -> list[str]:
    """The tokens before a default, without the argument's annotation: `base =` for `base: float =`."""
    depth = 0
    for number in range(len(words) - 2 if words[-1] == "=" else 0, 0, -1):
        depth -= _nesting(words[number])
        if depth < 0 or (not depth and words[number] in (",", "=")):
            break
        if not depth and words[number] == ":":
            is_declared = words[number - 2] in ("", "(", ",") and not keyword.iskeyword(words[number - 1])
            return [*words[:number], "="] if is_declared else words
    return words


def _calls(old: Sequence[str], new: Sequence[str]) -> str:
    """The call that was replaced by one with other arguments, if nothing else in the line changed."""
    start, _ = common_ends(old, new)
    names = [side[start] for side in (old, new) if side[start : start + 1]]
    ends = [_call_end(side, start) for side in (old, new)]
    if len(names) != 2 or 0 in ends or old[ends[0] :] != new[ends[1] :]:
        return ""
    one, other = names
    inside = [side[start + 1 : end] for side, end in zip((old, new), ends, strict=True)]
    calls = [[name for name, after in pairwise(words) if after == "("] for words in inside]
    called = [{name for name in names if name[0].isidentifier()} for names in calls]
    if one in inside[1] or other in inside[0] or called[0] != called[1]:  # not this call alone
        return ""
    found = format_pair(one, other) if "." in one + other else format_pair(f"{one}()", f"{other}()")
    more = _argument(["", "(", *inside[0]], ["", "(", *inside[1]])
    return f"{found}, {more}" if more.endswith(" added") and len(found) + len(more) < FIRST_LINE else found


def _argument(old: Sequence[str], new: Sequence[str]) -> str:
    """The keyword argument or call that was added or deleted as an argument, if nothing else was: `reverse=True`."""
    short, long = sorted((old, new), key=len)
    start, _ = common_ends(short, long)
    end = start + len(long) - len(short)
    if short[start:] != long[end:] or max(len(long[end:]), start) == 0:
        return ""
    while start and long[start - 1] == long[end - 1] and long[start] != ",":  # `, b=1` of `f(a, b=1)`
        start, end = start - 1, end - 1
    words = list(long[start:end])
    words = words[1:] if words[:1] == [","] else words[:-1] if words[-1:] == [","] else words
    is_call = _call_end(words, 0) == len(words) > 0
    if len(words) < 3 or not (is_call or (words[1] == "=" and words[0].isidentifier())) or _depth(words):
        return ""
    is_inside = _depth(long[:start]) or short[-1:] == [","]
    shown = _joined(words)
    shown = shown if len(shown) <= _LONGEST else f"{words[0]}(...)" if is_call else f"{words[0]}=..."
    return f"{shown} {'added' if long is new else 'gone'}" if is_inside else ""


def _other_argument(old: Sequence[str], new: Sequence[str]) -> str:
    """The keyword argument that was replaced by one with another name: `t1=True -> ts=times`."""
    start, behind = common_ends(old, new)
    while behind and _depth(new[start : len(new) - behind]):  # the shared closing bracket belongs to both arguments
        behind -= 1
    sides = [list(side[start : len(side) - behind]) for side in (old, new)]
    around = [*old[start - 1 : start], *old[len(old) - behind :][:1]]
    if not start or around[0] not in "(," or around[-1] not in "),":
        return ""
    if not all(_is_argument(side) for side in sides) or sides[0][0] == sides[1][0]:
        return ""
    shown = [words if len(words := _joined(side)) <= _LONGEST else f"{side[0]}=..." for side in sides]
    return ARROW.join(shown)


def _is_argument(words: Sequence[str]) -> bool:
    at_the_top = (not _depth(words[:number]) and word == "," for number, word in enumerate(words))
    return len(words) > 2 and words[1] == "=" and words[0].isidentifier() and not (_depth(words) or any(at_the_top))


def _value(old: Sequence[str], new: Sequence[str]) -> str:
    """The name, element or number that was replaced as an argument, if nothing else changed."""
    start, behind = common_ends(old, new)
    one, other = ("".join(side[start : len(side) - behind]) for side in (old, new))
    around = [*old[start - 1 : start], *old[len(old) - behind :][:1]]
    if not (start and around[0] in "(," and around[-1] in "),") or not _depth(old[:start]):
        return ""
    return format_pair(one, other) if _ELEMENT.fullmatch(one) and _ELEMENT.fullmatch(other) else ""


def in_brackets(old_source: str, new_source: str) -> str:
    """The call, index or tuple in which plain values were replaced, added or deleted: a bare number says nothing.

    Example:
        >>> in_brackets("x = x.reshape(8, 4)", "x = x.reshape(4, 8)"), in_brackets("x = g(x)", "x = f(x)")
        ('x.reshape(8, 4) -> x.reshape(4, 8)', '')
        >>> in_brackets("y = (x[1:] + b) / 2", "y = (x[2:] + b) / 2"), in_brackets("y = 2 * (x + 1)", "y = 2 * (x + 3)")
        ('x[1:] -> x[2:]', '')
    """
    old, new = _words(old_source), _words(new_source)
    start, behind = common_ends(old, new)
    if old == new:
        return ""
    inside = [side[start : len(side) - behind] for side in (old, new)]
    words = *inside[0], *inside[1]
    if not all(word == "," or (_IS_VALUE.match(word) and word not in _NO_VALUES) for word in words):
        return ""
    first = next((n for n in range(start - 1, -1, -1) if old[n] in _OPENING and _depth(old[n:start]) > 0), None)
    if first is None:
        return ""
    ends = [_bracket_end(side, first) for side in (old, new)]
    if 0 in ends or old[ends[0] :] != new[ends[1] :]:
        return ""
    before = old[first - 1] if first else ""
    if before[:1].isidentifier() and not keyword.iskeyword(before):
        first -= 1
    elif old[first] == "(" and not any(
        "," in _at_the_top(side[first + 1 : end - 1]) for side, end in zip((old, new), ends, strict=True)
    ):
        return ""  # these brackets only group an expression
    found = ARROW.join(_joined(side[first:end]) for side, end in zip((old, new), ends, strict=True))
    return found if len(found) <= FIRST_LINE else ""


def _joined(words: Sequence[str]) -> str:
    """Tokens as text, with spaces after commas and around keywords: `[i + 1 for i in x]` is `[i+1 for i in x]`."""
    text, lambdas, is_body = "", 0, False
    for before, word in pairwise(("", *words)):
        is_apart = any(keyword.iskeyword(one) and one not in _CONSTANTS for one in (before, word))
        is_apart &= before not in _BEFORE_A_SIGN and word != ":"
        text += f" {word}" if text and (before == "," or is_apart or is_body) else word
        is_body = word == ":" and lambdas > 0  # what a lambda returns
        lambdas += (word == "lambda") - is_body
    return text


_CONSTANTS = ("None", "True", "False")


def _depth(words: Sequence[str]) -> int:
    """How many brackets are open."""
    return sum(map(_nesting, words))


def _call_end(words: Sequence[str], start: int) -> int:
    """The index after a call that begins at `start`; 0 if none does or it does not end on this line."""
    if not (words[start : start + 1] and words[start][0].isidentifier() and words[start + 1 : start + 2] == ["("]):
        return 0
    return _bracket_end(words, start + 1)


def _words(source: str) -> list[str]:
    """Tokens of a line; a dotted name is one token, and so is a number with its sign."""
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            text = token.string.strip()
            if not text:
                continue
            if (text[0].isdigit() and found[-1:] == ["-"] and (len(found) == 1 or found[-2] in _BEFORE_A_SIGN)) or (
                found
                and found[-1] != "..."
                and (text == "." or found[-1].endswith("."))
                and (found[-1][-1:].isidentifier() or text != ".")
            ):
                found[-1] += text
            else:
                found.append(text)
    except (tokenize.TokenError, SyntaxError):  # one line of a longer statement: the tokens read so far are correct
        pass
    return found
