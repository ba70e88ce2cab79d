"""Resolves names in a Python file to their definitions, as far as possible without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

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
        uses: the names read in these lines, with the line of each.
    """

    name: str
    scope: Span | None
    spans: tuple[Span, ...]
    uses: tuple[tuple[Use, int], ...] = ()


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
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_in(line, _span(node))
        ]
        return list(dict.fromkeys(_uses(max(nodes, key=_span)))) if nodes else self.of_statement(line)

    def donation(self, line: int) -> int:
        """The line of the donation argument in the innermost function around a line, or in its statement; 0 for none.

        Example:
            >>> ParsedNames(ast.parse("def f():\\n    return Case(\\n        g,\\n        donate=0)")).donation(1)
            4
        """
        around = [node for node in ast.walk(self.tree) if isinstance(node, _REGISTERS) and _is_in(line, _span(node))]
        inner = max(around, key=_span) if around else None
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
                    return _span(node)[0]
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
                self._visit(child, _span(child), _span(child))
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                for argument in ast.walk(child.args):
                    if isinstance(argument, ast.arg):
                        self._add(argument.arg, _span(child), (), None)
                self._visit(child, _span(child), owner)
            else:
                self._visit(child, scope, owner)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Span | None, owner: Span | None) -> None:
        span = _span(node)
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
        self.definitions.setdefault(name, []).append(Definition(name, scope, spans, kept))


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


def _span(node: ast.stmt | ast.Lambda) -> Span:
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(one.lineno for one in decorators)]), _last(node)


def _of_class(node: ast.ClassDef) -> Iterator[Span]:
    """The spans of a class that run when an instance is made; methods are on the stack when they run."""
    yield _span(node)[0], node.body[0].lineno - 1 if node.body[0].lineno > node.lineno else node.lineno
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
