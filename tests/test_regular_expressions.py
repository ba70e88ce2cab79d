"""Every regular expression of the package, on texts that make a careless one take quadratic time.

From the parts of an expression texts are made that almost match it: each repeated part many times, behind what comes
before it, and no end. A text of four times the length may take four times the time. Where it takes more than eight
times as long (quadratic: sixteen), and not far less than an expression that is known to be quadratic takes on the same
machine, it has to be written so that it has no choice: possessive (`*+`), or beginning where the character before
cannot be one of its own.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as kinds  # type: ignore[attr-defined]
from typing import Any

import hlodiff

LENGTH = 2_500
# Known to be quadratic on `QUADRATIC_TEXT`. The linear ones take less than a fortieth of the time.
QUADRATIC, QUADRATIC_TEXT = re.compile(r"/\*.*?\*/"), "/*a" * (LENGTH // 3)
PART, TRIES = 3, 5
# An exponential expression takes seconds for the last of these and would take for ever for the whole length.
FIRST_LENGTHS = (12, 16, 20, 24)
REPEATS = frozenset([kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT])
LETTERS = ["a", "1", " ", "x", ",", *map(chr, range(33, 127)), "\n", "\t", "\u00e9"]
PIECES = [*"a0 {([<,=%\"'#:/\\-.\n", '\\"', "\\'", "a.", "%a,", "a=", '"a" ', "a/", "/*", "0,", "['"]
SMALL = {
    # Bounded where they are used: names of files have at most 255 characters, words of a result 200.
    "hlodiff.differ.passes.dumps": ("_COUNTED", "_WHOLE"),
}


@dataclass(frozen=True)
class Expression:
    """A regular expression of a module, its name there, and how it is used: "search", "match", "fullmatch"."""

    where: str
    pattern: re.Pattern[Any]
    uses: frozenset[str]


USES = {"match": "match", "fullmatch": "fullmatch", "search": "search"}  # all others look everywhere
FUNCTIONS = frozenset(["search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split", "scanner"])


def used(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Calls of `NAME.search` and the like in a module: name, how, and the call; `re` for the module's own functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS and ast.unparse(node.value) != "re":
            name = ast.unparse(node.value).rpartition(".")[2]
            yield name, USES.get(node.attr, "search"), ast.Call(node, [], [])
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"re.{one}" for one in FUNCTIONS}:
            yield "re", USES.get(ast.unparse(node.func)[3:], "search"), node


def patterns_in(value: object, name: str, depth: int = 0) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The regular expressions in a value of a module, also those in its tables and records."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif depth < 4 and isinstance(value, tuple | list | frozenset | set):
        for part in value:
            yield from patterns_in(part, name, depth + 1)
    elif depth < 4 and isinstance(value, Mapping):
        for part in value.values():
            yield from patterns_in(part, name, depth + 1)
    elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from patterns_in(getattr(value, one.name, None), name, depth + 1)


def expressions() -> Iterator[Expression]:
    """Those of every module, each once; written into a call too."""
    root = Path(hlodiff.__file__).parent
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(root.rglob("*.py"))}
    everywhere: dict[str, set[str]] = {}
    of_file: dict[tuple[str, str], set[str]] = {}
    known: set[tuple[object, int]] = set()
    for file, tree in trees.items():
        for name, how, call in used(tree):
            if name != "re":
                everywhere.setdefault(name, set()).add(how)
                of_file.setdefault((str(file), name), set()).add(how)
            elif call.args and isinstance(call.args[0], ast.Constant):
                yield Expression(f"{file.name}:{call.lineno}", re.compile(str(call.args[0].value)), frozenset([how]))
    for found in pkgutil.walk_packages(hlodiff.__path__, "hlodiff."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            for where, pattern in patterns_in(value, name):
                if (pattern.pattern, pattern.flags) in known or name in SMALL.get(found.name, ()):
                    continue
                uses = of_file.get((str(module.__file__), name)) if name.startswith("_") else everywhere.get(name)
                if uses is None and not name.startswith("_"):
                    continue  # imported: met in its own module
                known.add((pattern.pattern, pattern.flags))
                yield Expression(f"{found.name}.{where}", pattern, frozenset(uses or {"fullmatch"}))


_LETTERS: dict[str, str] = {}


def letter(items: Any, which: int) -> str:
    """A character of a class of characters."""
    if (key := repr(items)) not in _LETTERS:
        state = _parser.State()
        state.str = ""
        one = _compiler.compile(_parser.SubPattern(state, [(kinds.IN, items)]))
        _LETTERS[key] = "".join(filter(one.match, LETTERS))
    text = _LETTERS[key]
    return text[which % len(text)] if text else ""


def sample(tree: Any, which: int = 0) -> str:
    """A short text that a part of an expression matches; the number chooses among several."""
    text = ""
    for kind, value in tree:
        if kind is kinds.LITERAL:
            text += chr(value)
        elif kind is kinds.NOT_LITERAL:
            text += "b" if value == ord("a") else "a"
        elif kind is kinds.ANY:
            text += "a"
        elif kind is kinds.IN:
            text += letter(value, which)
        elif kind is kinds.BRANCH:
            text += sample(value[1][which % len(value[1])], which)
        elif kind in REPEATS:
            text += sample(value[2], which) * max(value[0], min(which % 2, value[1]))
        elif kind is kinds.SUBPATTERN:
            text += sample(value[3], which)
        elif kind is kinds.ATOMIC_GROUP:
            text += sample(value, which)
    return text


def pumps(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """For each part that may repeat: what comes before it, and a text of the part."""
    for kind, value in tree:
        if kind in REPEATS:
            if value[1] > 64:
                yield from {(before, one): None for n in range(3) if (one := sample(value[2], n))}
            yield from pumps(value[2], before)
            before += sample(value[2]) * max(value[0], min(1, value[1]))
        elif kind is kinds.BRANCH:
            for branch in value[1]:
                yield from pumps(branch, before)
            before += sample(value[1][0])
        elif kind in (kinds.SUBPATTERN, kinds.ATOMIC_GROUP):
            part = value[3] if kind is kinds.SUBPATTERN else value
            yield from pumps(part, before)
            before += sample(part)
        else:
            before += sample([(kind, value)])


def texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """What almost matches, of `LENGTH` characters or a little more."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    found = list(dict.fromkeys(pumps(_parser.parse(source, pattern.flags & ~re.ASCII | re.UNICODE))))
    units = [one for before, part in found for one in (part, before + part)]
    heads = ["", *(before for before, _ in found), *(before + part for before, part in found)]
    for unit in dict.fromkeys(units + PIECES):
        yield unit * (LENGTH // len(unit)) + "\x01"
    for head in list(dict.fromkeys(heads))[:6]:
        for unit in dict.fromkeys([part for _, part in found] + [one for one in PIECES if one in source]):
            yield head + unit * (LENGTH // len(unit)) + "\x01"


def _call(pattern: re.Pattern[Any], use: str) -> Callable[[Any], object]:
    if use == "search":
        return lambda text: pattern.sub(text[:0], text)
    return pattern.match if use == "match" else pattern.fullmatch


def _seconds(call: Callable[[Any], object], text: Any) -> float:
    start = time.process_time()
    call(text)
    return time.process_time() - start


def _least(call: Callable[[Any], object], text: Any) -> float:
    return min(_seconds(call, text) for _ in range(TRIES))


@functools.cache
def _noticed() -> float:
    """Seconds of the processor that are too many: a part of what this machine takes for a quadratic expression."""
    return _least(_call(QUADRATIC, "search"), QUADRATIC_TEXT) / PART


def _is_noticed(call: Callable[[Any], object], text: Any) -> bool:
    return _seconds(call, text) >= _noticed() and _least(call, text) >= _noticed()


def slow(expression: Expression) -> str:
    """How an expression takes more than linear time, and on which text; "" where it does not."""
    for use in sorted(expression.uses):
        call = _call(expression.pattern, use)
        for text in texts(expression.pattern):
            whole: Any = text if isinstance(expression.pattern.pattern, str) else text.encode()
            for length in FIRST_LENGTHS:
                if _is_noticed(call, whole[: length - 1] + whole[-1:]):
                    return f"{expression.where}.{use} of {text[:length]!r}: exponential"
            if not _is_noticed(call, whole):
                continue
            quarter = max(_least(call, whole[: len(whole) // 4]), _least(call, whole[-len(whole) // 4 :]))
            if (took := _least(call, whole)) > 8 * quarter:
                return f"{expression.where}.{use} of {text[:40]!r}...: {quarter * 1000:.2f} -> {took * 1000:.2f} ms"
    return ""


def test_what_is_quadratic_is_seen() -> None:
    for source in (r"a\s*,?\s*$", r"/\*.*?\*/", r"[^:]+\.py:"):
        assert slow(Expression("one", re.compile(source), frozenset(["search"]))), source
    assert not slow(Expression("one", re.compile(r"(?<![^:])[^:]++:"), frozenset(["search"])))


def test_what_is_exponential_is_seen() -> None:
    assert "exponential" in slow(Expression("one", re.compile(r"(a+)+$"), frozenset(["match"])))


def test_every_regular_expression_takes_linear_time() -> None:
    found = list(expressions())
    assert len(found) > 250
    assert not [wrong for one in found if (wrong := slow(one))]
