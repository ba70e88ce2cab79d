"""The edits of a Python file, and which of them a line depends on through the names that it uses."""

from __future__ import annotations

import ast
import io
import keyword
import re
import textwrap
import tokenize
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from hlodiff.differ.subsequence import longest_common_subsequence
from hlodiff.report.lines import common_ends

_MOST_LINES = 400  # of one side from the first to the last edit; a file that differs in more was replaced, not edited
_MOST_PAIRS = 2_500  # pairs of lines of an edit that are compared
_ALIKE = 0.5  # of the names in two lines that replaced each other
_MOST_NAMES_AWAY, _MOST_DEFINITIONS = 3, 200


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines of code that were added, deleted or changed, ignoring comments and docstrings.

    Args:
        old, new: number and text of the first line on either side; for a side without lines, the number of the line
            before and "".
        file: its name in programs.
        functions: the innermost function around them on either side; "" at module level, and on a side without lines.
        spans: first and last line on either side; empty if last < first.
    """

    old: tuple[int, str]
    new: tuple[int, str]
    file: str = ""
    functions: tuple[str, str] = ("", "")
    spans: tuple[Span, Span] = ((0, -1), (0, -1))

    @property
    def is_moved(self) -> bool:
        """Whether the same lines were elsewhere in the file."""
        return bool(self.old[1]) and self.old[1] == self.new[1]


@dataclass(slots=True)
class _ParsedFile:
    """One parsed side of a file."""

    code: list[tuple[int, str]]
    statements: list[Span]
    functions: list[tuple[Span, str]]

    def function_of(self, span: Span) -> str:
        """The innermost function around the first line of a span; "" if there is none or the span is empty."""
        around = (item for item in self.functions if item[0][0] <= span[0] <= min(item[0][1], span[1]))
        return max(around, default=((0, 0), ""))[1]


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
    _exchanges: tuple[tuple[Span, Span], ...] = ()
    _pairs: dict[LineEdit, list[tuple[int, int]]] = field(default_factory=dict)
    _names: dict[int, ParsedNames] = field(default_factory=dict)

    def all(self) -> tuple[LineEdit, ...]:
        """All edits, in the order of the file; () if a side is unknown or not valid Python.

        A line that makes the call of a deleted one a few lines away has taken its place.

        Example:
            >>> lines = ["grads = grad(x)", "grads = reduce(grads)", "moment = 2 * grads", "y = moment"]
            >>> same, other = (FileEdits("a.py", (lines, [*lines[::2], one, lines[3]]))
            ...                for one in ("moment = reduce(moment)", "moment = clip(moment)"))
            >>> [(edit.old, edit.new) for edit in same.all()]
            [((2, 'grads = reduce(grads)'), (3, 'moment = reduce(moment)'))]
            >>> [(edit.old, edit.new) for edit in other.all()]
            [((2, 'grads = reduce(grads)'), (1, '')), ((3, ''), (3, 'moment = clip(moment)'))]
        """
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

    def counterpart(self, side: int, line: int) -> int:
        """The number of an edited line on the other side; 0 if the line has no counterpart: it was added or deleted.

        Example:
            >>> old = ["def f(x):", "    y = g(x)", "    return lax.scan(y, x)"]
            >>> new = ["def h(a):", "    z = a + 1", "    b = z", "    return lax.scan(z, x)"]
            >>> edits = FileEdits("model.py", (old, new))
            >>> [edits.counterpart(0, line) for line in (1, 2, 3)], edits.counterpart(1, 4)
            ([0, 0, 4], 3)
        """
        edit = self.at(side, line)
        if edit is None or self._parsed is None:
            return 0
        if edit not in self._pairs:
            lines = [self.lines(n, edit) for n in (0, 1)]
            texts = [[text for _, text in own] for own in lines]
            self._pairs[edit] = [(lines[0][a][0], lines[1][b][0]) for a, b in _counterparts(*texts)]
        return next((pair[1 - side] for pair in self._pairs[edit] if pair[side] == line), 0)

    def function_at(self, side: int, line: int) -> str:
        """The innermost function around a line of a side; "" if there is none or the side is unknown."""
        self.all()
        return self._parsed[side].function_of((line, line)) if self._parsed else ""

    def of_statement(self, side: int, line: int) -> LineEdit | None:
        """The first edit of the innermost statement around a line of a side, excluding nested statements."""
        edits = self.all()
        if self._parsed is None:
            return None
        around = [span for span in self._parsed[side].statements if span[0] <= line <= span[1]]
        found = list(_within(edits, side, max(around))) if around else []
        return next(iter([edit for edit in found if edit.new[1]] or found), None)

    def first(self, side: int, edit: LineEdit) -> LineEdit:
        """The first edit of the statement that an edit is in."""
        return self.of_statement(side, edit.spans[side][0]) or edit

    def statements(self, side: int, span: Span) -> list[int]:
        """The first lines of the statements that begin in a span of a side."""
        self.all()
        found = self._parsed[side].statements if self._parsed else []
        return sorted({first for first, _ in found if span[0] <= first <= span[1]})

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

    def by_names(
        self, files: Mapping[str, FileEdits], side: int, line: int, of_function: bool = False
    ) -> LineEdit | None:
        """The edit of a definition that a statement depends on, directly or through other definitions.

        A decorator, a default argument, a module constant and the rule of a `custom_vjp` are not on any stack: JAX
        gives the operations of such a rule the line of the call that they differentiate.

        Args:
            files: edited files and this one, by name.
            side, line: location of the statement.
            of_function: whether to start from the names of the whole function around it.

        Returns:
            the edit that is the fewest definitions away, the first of a statement; None if there is none or a tie.

        Example:
            >>> old = ["RATE = 1", "def scaled(x):", "    return RATE * x", "def f(x):", "    return scaled(x)"]
            >>> file = FileEdits("a.py", (old, ["RATE = 2", *old[1:]]))
            >>> file.by_names({"a.py": file}, 1, 5).new
            (1, 'RATE = 2')
        """
        parsed = {name: names for name, one in files.items() if (names := one.names(side)) is not None}
        if self.file not in parsed:
            return None
        names = parsed[self.file]
        level = [
            (self.file, use, at) for use, at in (names.of_function(line) if of_function else names.of_statement(line))
        ]
        seen: set[tuple[str, str, int]] = set()
        for _ in range(_MOST_NAMES_AWAY):
            found: set[LineEdit] = set()
            following: list[tuple[str, Use, int]] = []
            for where, use, at in level:
                for owner, definition in definitions(parsed, where, use, at):
                    key = owner, definition.name, definition.spans[0][0] if definition.spans else 0
                    if key not in seen and len(seen) < _MOST_DEFINITIONS:
                        seen.add(key)
                        # What is in the body of a function has its line on the stack.
                        edits = files[owner].inside(side, definition.header) or files[owner].inside(
                            side, definition.spans
                        )
                        found |= {files[owner].first(side, edit) for edit in edits}
                        following += [(owner, one, place) for one, place in definition.uses]
            if found:
                return found.pop() if len(found) == 1 else None
            level = following
        return None

    def lines(self, side: int, edit: LineEdit) -> list[tuple[int, str]]:
        """Number and text of the lines of an edit on a side."""
        first, last = edit.spans[side]
        return [item for item in self._parsed[side].code if first <= item[0] <= last] if self._parsed else []

    def _found(self, one: _ParsedFile, other: _ParsedFile) -> Iterator[LineEdit]:
        old, new = one.code, other.code
        texts = [text for _, text in old], [text for _, text in new]
        exchanges = list(_exchanged(*texts))
        self._exchanges = tuple(((a, b), (c, d)) for a, b, c, d in exchanges)
        for a, b, c, d in _with_moves(exchanges, *texts):
            ends = (_first(old, a, b), _first(new, c, d))
            spans = (_span(old, a, b), _span(new, c, d))
            functions = one.function_of(spans[0]), other.function_of(spans[1])
            yield LineEdit(*ends, self.file, functions, spans)


def _within(edits: Iterable[LineEdit], side: int, span: Span) -> Iterator[LineEdit]:
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
    # Where two lines were exchanged, those between them stay.
    common = longest_common_subsequence(*inner, lambda a, b: max(1000 - abs(a - b), 0))
    for b, d in [*common, (len(inner[0]), len(inner[1]))]:
        if (a, c) != (b, d):
            yield a + start, b + start, c + start, d + start
        a, c = b + 1, d + 1


def _with_moves(
    exchanges: Sequence[tuple[int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> list[tuple[int, int, int, int]]:
    """The same ranges, but lines that were only deleted in one place and added in another are one range.

    The indentation may differ: lines that were moved into a function or a loop are the same lines.
    """
    gone: dict[tuple[str, ...], list[tuple[int, int, int, int]]] = {}
    came: dict[tuple[str, ...], list[tuple[int, int, int, int]]] = {}
    for one in exchanges:
        a, b, c, d = one
        if c == d:
            gone.setdefault(_dedented(old[a:b]), []).append(one)
        elif a == b:
            came.setdefault(_dedented(new[c:d]), []).append(one)
    moved = {came[text][0]: one for text, (one, *more) in gone.items() if not more and len(came.get(text, ())) == 1}
    rest = [one for one in exchanges if one not in moved and one not in moved.values()]
    moved |= dict(_rewritten_nearby(rest, old, new))
    lost = set(moved.values())
    return [(*moved[one][:2], *one[2:]) if one in moved else one for one in exchanges if one not in lost]


_NEARBY = 3  # unedited lines between a deleted line and the added one that does the same


def _rewritten_nearby(
    exchanges: Sequence[tuple[int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[tuple[int, int, int, int], tuple[int, int, int, int]]]:
    """Pairs of an added line and a deleted one a few lines away that makes the same call, of other values.

    `grads = reduce(grads)` before another line became `moment = reduce(moment)` after it.
    """
    taken: set[tuple[int, int, int, int]] = set()
    for came in exchanges:
        if came[0] != came[1] or came[3] - came[2] != 1:
            continue
        for gone in exchanges:
            is_one = gone[2] == gone[3] and gone[1] - gone[0] == 1 and gone not in taken
            is_near = abs(came[0] - gone[1] if came[0] >= gone[1] else gone[0] - came[0]) <= _NEARBY
            if is_one and is_near and _is_same_call(old[gone[0]], new[came[2]]):
                taken.add(gone)
                yield came, gone
                break


_TOKEN = re.compile(r"\w+|[^\w\s]")


def _is_same_call(one: str, other: str) -> bool:
    """Whether two lines are the same but for some names, and call one function at least."""
    tokens = [_TOKEN.findall(line) for line in (one, other)]
    shapes = [["name" if token.isidentifier() else token for token in side] for side in tokens]
    called = [{a for a, b in pairwise(side) if b == "(" and a.isidentifier()} for side in tokens]
    return shapes[0] == shapes[1] and bool(called[0] & called[1])


def _counterparts(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of positions in which lines replaced each other; a line without one was added or deleted.

    First those with most names in common; between them, as many lines as on the other side, or several by one.
    """
    words = [[Counter(_names_in(text)) for text in texts] for texts in (old, new)]
    is_compared = len(old) * len(new) <= _MOST_PAIRS
    alike = {
        (a, b): _likeness(words[0][a], words[1][b]) for a, b in product(*map(range, map(len, words))) if is_compared
    }

    def pairs(a: int, b: int, c: int, d: int) -> Iterator[tuple[int, int]]:
        best = max(product(range(a, b), range(c, d)), key=lambda pair: alike.get(pair, 0), default=(a, c))
        if alike.get(best, 0) >= _ALIKE and best[0] < b and best[1] < d:
            yield from pairs(a, best[0], c, best[1])
            yield best
            yield from pairs(best[0] + 1, b, best[1] + 1, d)
        elif b - a == d - c:
            yield from zip(range(a, b), range(c, d), strict=True)
        elif 1 in (b - a, d - c):
            yield from sorted(product(range(a, b), range(c, d)), key=lambda pair: -alike.get(pair, 0))

    return pairs(0, len(old), 0, len(new))


def _names_in(text: str) -> list[str]:
    """The names and numbers in a line."""
    return [word for word in re.findall(r"\w+", text) if not keyword.iskeyword(word)]


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of names that two lines have in common (Dice's coefficient), from 0 to 1."""
    return 2 * (one & other).total() / max(one.total() + other.total(), 1)


def _dedented(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(textwrap.dedent("\n".join(lines)).split("\n"))


def _first(code: Sequence[tuple[int, str]], start: int, end: int) -> tuple[int, str]:
    if start < end:
        return code[start][0], code[start][1].strip()
    return (code[start - 1][0] if start else 0), ""


def _span(code: Sequence[tuple[int, str]], start: int, end: int) -> Span:
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


def _statements(tree: ast.AST) -> Iterator[Span]:
    """Spans of statements; of a compound statement only its header."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            inner = body[0].lineno - 1 if isinstance(body, list) and body else None
            last = max(node.lineno, inner) if inner is not None else node.end_lineno or node.lineno
            yield node.lineno, last


def _functions(node: ast.AST, outer: str) -> Iterator[tuple[Span, str]]:
    for child in ast.iter_child_nodes(node):
        name = outer
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{child.name}" if outer else child.name
            if not isinstance(child, ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                yield (first, child.end_lineno or child.lineno), name
        yield from _functions(child, name)


# --- Resolves names in a Python file to their definitions, as far as possible without running it.

Span = tuple[int, int]
"""First and last line, inclusive."""
Use = tuple[str, ...]
"""A name that is read, or a name and an attribute of it: `("gelu",)`, `("nn", "gelu")`."""
_SELF = ("self", "cls")
_REGISTERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Expr, ast.Assign)
_AT_START = ("__init__", "__post_init__", "setup")


@dataclass(slots=True)
class Definition:
    """One definition of a name.

    Args:
        name: `gelu`, or `self.scale` for an instance attribute.
        scope: the lines in which the name has this definition; None for the whole module.
        spans: the lines of the definition; () for a parameter, whose value is not visible here.
        header: the lines of a function before its body: decorators, arguments and their defaults.
        uses: the names read in these lines, with the line of each.
    """

    name: str
    scope: Span | None
    spans: tuple[Span, ...]
    uses: tuple[tuple[Use, int], ...] = ()
    header: tuple[Span, ...] = ()


@dataclass(slots=True)
class ParsedNames:
    """The names and definitions of one file.

    Args:
        tree: the parsed file.

    Example:
        >>> names = ParsedNames(ast.parse("A = 1; f = lambda x: A * x"))
        >>> names.of_statement(1)
        [(('A',), 1), (('x',), 1)]
        >>> names.definitions["A"][0].spans, names.definitions["x"][0].scope
        (((1, 1),), (1, 1))
    """

    tree: ast.Module
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For each imported name, the last part of its module and its name there; "" for a module itself."""

    def __post_init__(self) -> None:
        self._visit(self.tree, None, None)

    def of_statement(self, line: int) -> list[tuple[Use, int]]:
        """Names read by the innermost statement around a line; of a compound statement, by its header."""
        around = [
            node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and node.lineno <= line <= _last(node)
        ]
        if not around:
            return []
        first, last = max((node.lineno, -_last(node)) for node in around)
        inner = [node for node in around if (node.lineno, -_last(node)) == (first, last)]
        bodies = [body for node in inner if isinstance(body := getattr(node, "body", None), list) and body]
        end = max(first, min([-last, *(body[0].lineno - 1 for body in bodies)]))
        return list(dict.fromkeys((use, at) for node in inner for use, at in _uses(node) if at <= end))

    def of_function(self, line: int) -> list[tuple[Use, int]]:
        """Names read by the innermost function around a line and its decorators, or else by its statement.

        Example:
            >>> ParsedNames(ast.parse("@g(A)\\ndef f():\\n    return B")).of_function(1)
            [(('g',), 1), (('A',), 1), (('B',), 3)]
        """
        nodes = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_in(line, _extent(node))
        ]
        return list(dict.fromkeys(_uses(max(nodes, key=_extent)))) if nodes else self.of_statement(line)

    def donation(self, line: int) -> int:
        """The line of the donation argument in the innermost function around a line, or in its statement; 0 for none.

        Example:
            >>> ParsedNames(ast.parse("def f():\\n    return Case(\\n        g,\\n        donate=0)")).donation(1)
            4
        """
        around = [node for node in ast.walk(self.tree) if isinstance(node, _REGISTERS) and _is_in(line, _extent(node))]
        inner = max(around, key=_extent) if around else None
        found = [word for word in ast.walk(inner) if isinstance(word, ast.keyword)] if inner else []
        return next((word.value.lineno for word in found if (word.arg or "").startswith("donate")), 0)

    def registration(self, name: str) -> int:
        """The line where a function of that name is registered: under its decorator or by a call; 0 if nowhere.

        Example:
            >>> ParsedNames(ast.parse("@hlodiff.register(targets=['cpu'])\\ndef f():\\n    pass")).registration("f")
            1
            >>> ParsedNames(ast.parse("hlodiff.register(g, name='f')")).registration("f")
            1
        """
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                calls = [one for one in node.decorator_list if _is_register(one)]
                if any((_given_name(call) or node.name) == name for call in calls):
                    return _extent(node)[0]
            elif isinstance(node, ast.Call) and _is_register(node):
                functions = [ast.unparse(one).rpartition(".")[2] for one in node.args[:1]]
                if functions and (_given_name(node) or functions[0]) == name:
                    return node.lineno
        return 0

    def _visit(self, node: ast.AST, scope: Span | None, owner: Span | None) -> None:
        """Collect the definitions below a node; `owner` is the class around it."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(child, scope, owner)
            elif isinstance(child, ast.ClassDef):
                self._add(child.name, scope, tuple(_of_class(child)), child, is_class=True)
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                self._import(child)
            elif isinstance(child, ast.stmt):
                self._statement(child, scope, owner)
            elif isinstance(child, ast.NamedExpr):
                self._add(child.target.id, scope, ((child.lineno, _last(child)),), child)
            if isinstance(child, ast.ClassDef):
                self._visit(child, _extent(child), _extent(child))
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                for argument in ast.walk(child.args):
                    if isinstance(argument, ast.arg):
                        self._add(argument.arg, _extent(child), (), None)
                self._visit(child, _extent(child), owner)
            else:
                self._visit(child, scope, owner)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Span | None, owner: Span | None) -> None:
        span = _extent(node)
        self._add(node.name, scope, (span,), node)
        if owner is not None:
            self._add(f"self.{node.name}", owner, (span,), node)
        for decorator in node.decorator_list:  # `@f.defjvp` extends the definition of f
            if (name := self._extended(decorator)) is not None:
                self._add(name, scope, (span,), node)

    def _statement(self, node: ast.stmt, scope: Span | None, owner: Span | None) -> None:
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else _last(node)
        span = node.lineno, last
        if isinstance(node, ast.Expr):  # `f.defvjp(forward, backward)` extends the definition of f
            called = node.value.func if isinstance(node.value, ast.Call) else None
            if (name := self._extended(called)) is not None:
                self._add(name, scope, (span,), node)
            return
        targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
        targets += [item.optional_vars for item in getattr(node, "items", ()) if item.optional_vars]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    self._add(part.id, scope, (span,), node)
                    if owner is not None and owner == scope:
                        self._add(f"self.{part.id}", owner, (span,), node)
                elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in _SELF:
                    self._add(f"self.{part.attr}", owner, (span,), node)

    def _extended(self, node: ast.expr | None) -> str | None:
        """The name that `f.defvjp` extends; None for a module, whose functions only receive what is registered."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        name = node.value.id
        return None if name in self.imports and not self.imports[name][1] else name

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports[name] = whole.rpartition(".")[2], ""
            else:
                self.imports[name] = (node.module or "").rpartition(".")[2], alias.name

    def _add(
        self, name: str, scope: Span | None, spans: tuple[Span, ...], node: ast.AST | None, is_class: bool = False
    ) -> None:
        uses = _uses(node) if node is not None else ()
        kept = tuple(
            dict.fromkeys(
                (use, line) for use, line in uses if not is_class or any(first <= line <= last for first, last in spans)
            )
        )
        header: tuple[Span, ...] = ()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.body[0].lineno > node.lineno:
            header = ((_extent(node)[0], node.body[0].lineno - 1),)
        self.definitions.setdefault(name, []).append(Definition(name, scope, spans, kept, header))


def definitions(files: Mapping[str, ParsedNames], file: str, use: Use, line: int) -> list[tuple[str, Definition]]:
    """The definitions of a name on a line, each with its file; the innermost scope with one wins.

    Args:
        files: parsed files by path.
        file, use, line: the name, and where it is read.

    Example:
        >>> sources = {"a.py": "import b; b.f()", "b.py": "def f(): pass"}
        >>> files = {name: ParsedNames(ast.parse(text)) for name, text in sources.items()}
        >>> [name for name, _ in definitions(files, "a.py", ("b", "f"), 1)]
        ['b.py']
    """
    names = files[file]
    name = f"self.{use[1]}" if use[0] in _SELF and len(use) > 1 else use[0]
    known = [one for one in names.definitions.get(name, ()) if one.scope is None or _is_in(line, one.scope)]
    inner = max((one.scope for one in known), key=lambda scope: scope or (0, 0), default=None)
    here = [(file, one) for one in known if one.scope == inner]
    if inner is not None or use[0] not in names.imports:
        return here
    module, original = names.imports[use[0]]
    found = [(module, original)] if original else [(module, use[1])] if len(use) > 1 else []
    if original and len(use) > 1:  # `from package import module`
        found.append((original, use[1]))
    return here + [
        (path, one)
        for stem, wanted in found
        for path, other in files.items()
        if _stem(path) == stem
        for one in other.definitions.get(wanted, ())
        if one.scope is None
    ]


def _stem(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _is_register(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, (ast.Name, ast.Attribute)) and ast.unparse(called).rpartition(".")[2] == "register"


def _given_name(node: ast.expr) -> str:
    """What a registration calls its function; "" if that is the function's own name."""
    words = [word.value for word in node.keywords if word.arg == "name"] if isinstance(node, ast.Call) else []
    return next((str(word.value) for word in words if isinstance(word, ast.Constant)), "")


def _is_in(line: int, span: Span) -> bool:
    return span[0] <= line <= span[1]


def _last(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _extent(node: ast.stmt | ast.Lambda) -> Span:
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(one.lineno for one in decorators)]), _last(node)


def _of_class(node: ast.ClassDef) -> Iterator[Span]:
    """The spans of a class that run when an instance is made; methods are on the stack when they run."""
    yield _extent(node)[0], node.body[0].lineno - 1 if node.body[0].lineno > node.lineno else node.lineno
    for statement in node.body:
        is_method = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        if not is_method or getattr(statement, "name", "") in _AT_START:
            yield statement.lineno, _last(statement)


def _uses(node: ast.AST) -> Iterator[tuple[Use, int]]:
    """The names read in a node with their lines, in source order."""
    found: list[tuple[int, int, Use]] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            found.append((part.lineno, part.col_offset, (part.value.id, part.attr)))
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.append((part.lineno, part.col_offset, (part.id,)))
    return ((use, line) for line, _, use in sorted(found))
