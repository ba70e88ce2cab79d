"""The user's files behind a module: its own, and those of all that it imports, also inside of functions."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hlodiff.capture.imports import is_users

# What imports by names that stand in no import statement.
_DYNAMIC = frozenset(["__import__", "import_module", "exec", "eval", "exec_module", "run_path", "run_module"])


def files_behind(module: str, file: str) -> tuple[str, ...] | None:
    """The user's files that a module imports, and those that these import.

    Statements are read, so an import inside of a function counts although it has not run.

    Args:
        module: the name of an imported module.
        file: the file that it was read from.

    Returns:
        real paths, sorted; None where a file imports by names that only running it tells.
    """
    found: set[str] = set()
    parts = module.split(".")
    parents = (".".join(parts[:n]) for n in range(1, len(parts)))
    worklist = [(module, os.path.realpath(file)), *((name, _file_of(name)) for name in parents if _file_of(name))]
    while worklist:
        name, path = worklist.pop()
        if path in found or not is_users(path):
            continue
        found.add(path)
        wanted = _imports(path)
        if wanted is None:
            return None
        worklist += _files_of(wanted, name, path)
    return tuple(sorted(found))


@cache
def _imports(path: str) -> tuple[tuple[int, str], ...] | None:
    """Level and name of everything that import statements may mean; None where more is imported."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            head = node.module or ""
            found += [(node.level, head), *((node.level, f"{head}.{alias.name}".strip(".")) for alias in node.names)]
        elif isinstance(node, ast.Call):
            called = node.func
            if getattr(called, "id", getattr(called, "attr", "")) in _DYNAMIC:
                return None
    return tuple(found)


def _files_of(wanted: tuple[tuple[int, str], ...], name: str, path: str) -> Iterator[tuple[str, str]]:
    package = name if Path(path).name == "__init__.py" else name.rpartition(".")[0]
    for level, target in wanted:
        base = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        parts = [*base, *filter(None, target.split("."))]
        for n in range(1, len(parts) + 1):  # a package's own file is imported too
            full = ".".join(parts[:n])
            if found := _file_of(full):
                yield full, os.path.realpath(found)


@cache
def _file_of(name: str) -> str:
    """The file of a module; "" where there is none. Nothing is imported for it."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) or ""
    parent, _, own = name.rpartition(".")
    if parent:
        if not (file := _file_of(parent)):
            return ""  # no package of the user's, or one without a file of its own
        package = Path(file)
        below = (package.with_name(f"{own}.py"), package.parent / own / "__init__.py")
        return next((str(file) for file in below if package.name == "__init__.py" and file.is_file()), "")
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return ""
    return spec.origin if spec is not None and spec.has_location and spec.origin else ""
