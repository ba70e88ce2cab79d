"""Which lines of Python files lie in a loop or comprehension: what JAX unrolls."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_INSTALLED = "site-packages/"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class PythonLoops:
    """Answers for files of the project and of installed packages, each read once.

    Args:
        root: the project's folder, which relative files are looked for in.

    Example:
        >>> PythonLoops(Path("."))("no such file.py", 3) is None
        True
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lines: dict[str, frozenset[int] | None] = {}

    def __call__(self, file: str, line: int) -> bool | None:
        if file not in self._lines:
            self._lines[file] = self._read(file)
        lines = self._lines[file]
        return None if lines is None else line in lines

    def _read(self, file: str) -> frozenset[int] | None:
        try:
            tree = ast.parse(self._path(file).read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None
        return frozenset(_looping(tree, False))

    def _path(self, file: str) -> Path:
        if file.startswith(_INSTALLED):
            return Path(sysconfig.get_path("purelib"), file.removeprefix(_INSTALLED))
        return self.root / file  # an absolute one stays what it is


def _looping(node: ast.AST, inside: bool) -> Iterator[int]:
    """Lines in loops; a function defined in a loop is none of its turns."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield from _looping(child, False)
            continue
        within = inside or isinstance(child, (*_LOOPS, *_COMPREHENSIONS))
        if within and isinstance(child, (ast.stmt, ast.expr)):
            last = child.lineno if isinstance(child, _LOOPS) else child.end_lineno or child.lineno
            yield from range(child.lineno, last + 1)
        yield from _looping(child, within)
