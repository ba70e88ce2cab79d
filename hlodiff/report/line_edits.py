"""Edits of a Python file, and which edit an unedited line depends on.

A program names the line where a call begins. If an argument two lines below was edited, or the loop around the call, or
the definition of a name, that line is the same on both sides, but a reviewer looks for the edited one.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hlodiff.differ.subsequence import common_ends, longest_common_subsequence
from hlodiff.report.python_names import ParsedNames, Span, Use, definitions

_MOST_LINES = 400  # of one side from the first to the last edit; a file that differs in more was replaced, not edited
_MOST_NAMES_AWAY, _MOST_DEFINITIONS = 3, 200
_Span = Span


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines of code that were added, deleted or changed, ignoring comments and docstrings.

    Args:
        old, new: number and text of the first line on either side; for a side without lines, the number of the line
            before and "".
        file: its name in programs.
        function: the innermost function or class around them; "" at module level.
        spans: first and last line on either side; empty if last < first.
    """

    old: tuple[int, str]
    new: tuple[int, str]
    file: str = ""
    function: str = ""
    spans: tuple[_Span, _Span] = ((0, -1), (0, -1))


@dataclass(slots=True)
class _ParsedFile:
    """One parsed side of a file."""

    code: list[tuple[int, str]]
    statements: list[_Span]
    functions: list[tuple[_Span, str]]


@dataclass(slots=True)
class FileEdits:
    """The edits of one file.

    Args:
        file: its name in programs.
        sides: its lines, old and new.

    Example:
        >>> old = ["def f(x):", "    y = g(", "        x,", "        2,", "    )", "    return y"]
        >>> new = [*old[:3], "        3,", *old[4:]]
        >>> edits = FileEdits("model.py", (old, new))
        >>> edits.of_statement(1, 2).new
        (4, '3,')
        >>> edits.of_statement(1, 6), edits.of_function(1, 6).new
        (None, (4, '3,'))
    """

    file: str
    sides: tuple[Sequence[str], Sequence[str]]
    _parsed: tuple[_ParsedFile, _ParsedFile] | None = field(default=None)
    _edits: tuple[LineEdit, ...] | None = field(default=None)
    _exchanges: tuple[tuple[_Span, _Span], ...] = ()
    _names: dict[int, ParsedNames] = field(default_factory=dict)

    def all(self) -> tuple[LineEdit, ...]:
        """All edits, in the order of the file; () if a side is unknown or not valid Python."""
        if self._edits is None:
            parsed = [_parsed(lines) for lines in self.sides]
            one, other = parsed
            self._edits = ()
            if one is not None and other is not None:
                self._parsed = one, other
                self._edits = tuple(self._found(one, other))
        return self._edits

    def is_known(self) -> bool:
        """Whether this Python can parse both sides."""
        self.all()
        return self._parsed is not None

    def at(self, side: int, line: int) -> LineEdit | None:
        """The edit that contains a line of a side."""
        return next(_within(self.all(), side, (line, line)), None)

    def on_other_side(self, side: int, line: int) -> int:
        """The number of a line of one side on the other side; 0 if it was edited or a side is unknown.

        Example:
            >>> FileEdits("model.py", (["A = 1", "B = 2"], ["# a model", "A = 1", "", "B = 2"])).on_other_side(0, 2)
            4
        """
        self.all()
        if self._parsed is None:
            return 0
        one, other = (self._parsed[n].code for n in (side, 1 - side))
        index = bisect_left(one, line, key=lambda item: item[0])
        if index == len(one) or one[index][0] != line:
            return 0
        shift = 0
        for exchange in self._exchanges:
            (start, end), (_, behind) = exchange[side], exchange[1 - side]
            if start <= index < end:
                return 0
            shift = behind - end if end <= index else shift
        return other[index + shift][0]

    def of_statement(self, side: int, line: int) -> LineEdit | None:
        """The first edit of the innermost statement around a line of a side, excluding nested statements."""
        edits = self.all()
        if self._parsed is None:
            return None
        around = [span for span in self._parsed[side].statements if span[0] <= line <= span[1]]
        found = list(_within(edits, side, max(around))) if around else []
        return next(iter([edit for edit in found if edit.new[1]] or found), None)

    def of_function(self, side: int, line: int) -> LineEdit | None:
        """The edit of the innermost function with edits around a line of a side; None if it has several."""
        edits = self.all()
        if self._parsed is None:
            return None
        for span, _ in sorted(self._parsed[side].functions, reverse=True):
            if span[0] <= line <= span[1] and (found := list(_within(edits, side, span))):
                return found[0] if len(found) == 1 else None
        return None

    def names(self, side: int) -> ParsedNames | None:
        """The definitions of names of a side; None if a side is unknown or not valid Python."""
        if self.is_known() and side not in self._names:
            try:
                self._names[side] = ParsedNames(ast.parse("\n".join(self.sides[side])))
            except RecursionError:
                return None
        return self._names.get(side)

    def inside(self, side: int, spans: Iterable[Span]) -> set[LineEdit]:
        """The edits inside some line spans of a side."""
        return {edit for span in spans for edit in _within(self.all(), side, span)}

    def _found(self, one: _ParsedFile, other: _ParsedFile) -> Iterator[LineEdit]:
        old, new = one.code, other.code
        texts = [text for _, text in old], [text for _, text in new]
        exchanges = list(_exchanged(*texts))
        self._exchanges = tuple(((a, b), (c, d)) for a, b, c, d in exchanges)
        for a, b, c, d in exchanges:
            ends = (_first(old, a, b), _first(new, c, d))
            spans = (_span(old, a, b), _span(new, c, d))
            side = other if d > c else one
            at = (spans[1] if d > c else spans[0])[0]
            inner = max((item for item in side.functions if item[0][0] <= at <= item[0][1]), default=None)
            yield LineEdit(*ends, self.file, inner[1] if inner else "", spans)


def only_edit(files: Iterable[FileEdits]) -> LineEdit | None:
    """The only edit of several files; None if there are more or none, or a file is unknown or not valid Python.

    Example:
        >>> only_edit([FileEdits("a.py", (["A = 1"], ["A = 2"])), FileEdits("b.py", (["B = 1"], ["B = 1"]))]).old
        (1, 'A = 1')
    """
    known = list(files)
    found = [edit for file in known for edit in file.all()]
    return found[0] if len(found) == 1 and all(file.is_known() for file in known) else None


def edit_by_names(
    files: Mapping[str, FileEdits], file: str, side: int, line: int, of_function: bool = False
) -> LineEdit | None:
    """The edit of a definition that a statement depends on, directly or through other definitions.

    A decorator, a default argument, a module constant and the rule of a `custom_vjp` are not on any stack: JAX gives
    the operations of such a rule the line of the call that they differentiate.

    Args:
        files: edited files and the statement's own file, by name.
        file, side, line: location of the statement.
        of_function: whether to start from the names of the whole function around it.

    Returns:
        the edit that is the fewest definitions away; None if there is none or a tie.

    Example:
        >>> old = ["RATE = 1", "def scaled(x):", "    return RATE * x", "def f(x):", "    return scaled(x)"]
        >>> files = {"a.py": FileEdits("a.py", (old, ["RATE = 2", *old[1:]]))}
        >>> edit_by_names(files, "a.py", 1, 5).new
        (1, 'RATE = 2')
    """
    parsed = {name: names for name, one in files.items() if (names := one.names(side)) is not None}
    if file not in parsed:
        return None
    names = parsed[file]
    level = [(file, use, at) for use, at in (names.of_function(line) if of_function else names.of_statement(line))]
    seen: set[tuple[str, str, int]] = set()
    for _ in range(_MOST_NAMES_AWAY):
        found: set[LineEdit] = set()
        following: list[tuple[str, Use, int]] = []
        for where, use, at in level:
            for owner, definition in definitions(parsed, where, use, at):
                key = owner, definition.name, definition.spans[0][0] if definition.spans else 0
                if key not in seen and len(seen) < _MOST_DEFINITIONS:
                    seen.add(key)
                    found |= files[owner].inside(side, definition.spans)
                    following += [(owner, one, place) for one, place in definition.uses]
        if found:
            return found.pop() if len(found) == 1 else None
        level = following
    return None


def _within(edits: Iterable[LineEdit], side: int, span: _Span) -> Iterator[LineEdit]:
    """Edits that touch a span, including lines of the other side between two lines of it."""
    for edit in edits:
        first, last = edit.spans[side]
        if (first <= span[1] and span[0] <= last) or (last < first and span[0] <= last < span[1]):
            yield edit


def _exchanged(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Replaced line ranges of both sides."""
    start, end = common_ends(old, new)
    inner = old[start : len(old) - end], new[start : len(new) - end]
    if not any(inner) or max(map(len, inner)) > _MOST_LINES:
        return
    a = c = 0
    for b, d in [*longest_common_subsequence(*inner), (len(inner[0]), len(inner[1]))]:
        if (a, c) != (b, d):
            yield a + start, b + start, c + start, d + start
        a, c = b + 1, d + 1


def _first(code: Sequence[tuple[int, str]], start: int, end: int) -> tuple[int, str]:
    if start < end:
        return code[start][0], code[start][1].strip()
    return (code[start - 1][0] if start else 0), ""


def _span(code: Sequence[tuple[int, str]], start: int, end: int) -> _Span:
    if start < end:
        return code[start][0], code[end - 1][0]
    before = code[start - 1][0] if start else 0
    return before + 1, before


def _parsed(lines: Sequence[str]) -> _ParsedFile | None:
    """The parsed file; None if it is unknown or this Python cannot parse it."""
    if not lines:
        return None
    text = "\n".join(lines)
    try:
        tree = ast.parse(text)
        tokens = tokenize.generate_tokens(io.StringIO(text + "\n").readline)
        comments = {token.start[0]: token.start[1] for token in tokens if token.type == tokenize.COMMENT}
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    documented = set(_documentation(tree))
    code = []
    for number, line in enumerate(lines, 1):
        own = line[: comments.get(number, len(line))].rstrip()
        if own.strip() and number not in documented:
            code.append((number, own))
    return _ParsedFile(code, list(_statements(tree)), list(_functions(tree, "")))


def _documentation(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            if first is not None:
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _statements(tree: ast.AST) -> Iterator[_Span]:
    """Spans of statements; of a compound statement only its header."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            inner = body[0].lineno - 1 if isinstance(body, list) and body else None
            last = max(node.lineno, inner) if inner is not None else node.end_lineno or node.lineno
            yield node.lineno, last


def _functions(node: ast.AST, outer: str) -> Iterator[tuple[_Span, str]]:
    for child in ast.iter_child_nodes(node):
        name = outer
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{child.name}" if outer else child.name
            if not isinstance(child, ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                yield (first, child.end_lineno or child.lineno), name
        yield from _functions(child, name)
