"""Source locations in the user's own code, of calls and definitions, and the names of functions."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from hlodiff.hlo.metadata import is_library, shown_file

_OWN = str(Path(__file__).resolve().parent.parent) + os.sep


def source_location(file: str, line: int, root: str) -> str:
    """A `file:line` relative to the project, or `package/...` for a library: the same on every machine.

    Example:
        >>> source_location("/srv/project/model.py", 12, "/srv/project")
        'model.py:12'
    """
    return f"{shown_file(file, root)}:{line}"


def caller(root: str) -> tuple[str, str]:
    """The innermost frame of this thread in the user's own code.

    Returns:
        its `file:line`, and the qualified name of its function, "" at module level; both are "" if all frames are in
        libraries.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_users(code.co_filename):
            return source_location(
                code.co_filename, frame.f_lineno, root
            ), "" if code.co_name == "<module>" else code.co_qualname
        frame = frame.f_back
    return "", ""


@functools.lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a file is neither hlodiff's, nor an installed package's, nor Python's."""
    return not is_library(file) and not file.startswith(_OWN)


def open_function(fn: Any, steps: int = 100) -> Any:
    """Unwrap partials, wrappers such as those of `jax.grad`, and methods, down to the user's function."""
    for _ in range(steps):  # a wrapper may wrap itself
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif getattr(fn, "__wrapped__", None) is not None:
            fn = fn.__wrapped__
        else:
            break
    return fn


def code_of(fn: Any) -> CodeType | None:
    """The code object of a function, or of the `__call__` of an object."""
    fn = open_function(fn)
    code = getattr(fn, "__code__", None)
    if code is None:
        code = getattr(open_function(vars(type(fn)).get("__call__")), "__code__", None)
    return code if isinstance(code, CodeType) else None


def name_of(fn: Any) -> str:
    """A readable name of a function: `grad(loss)` if JAX wraps it, the class of a callable object."""
    around, inner = [], fn
    for _ in range(100):
        around.append(_transformation(inner))
        opened = open_function(inner, steps=1)
        if opened is inner:
            break
        inner = opened
    name = getattr(inner, "__qualname__", None) or getattr(inner, "__name__", None)
    text = name if isinstance(name, str) else type(inner).__qualname__
    for transformation in reversed([one for one in around if one]):
        text = f"{transformation}({text})"
    return text


def _transformation(fn: Any) -> str:
    """`grad` for a result of `jax.grad`, `filter_grad` for one of Equinox; "" for any other function."""
    kind = type(fn)
    if kind.__module__.startswith("equinox.") and (match := re.fullmatch(r"_(\w+)Wrapper", kind.__name__)):
        return "" if match[1] == "Jit" else "filter" + re.sub(r"(?=[A-Z])", "_", match[1]).lower()
    if getattr(fn, "__wrapped__", None) is None:
        return ""
    outer, code = _defined_in(fn)
    if outer == "api_boundary":  # wraps each public function that JAX returns; JAX's own is a variable of this one
        cells = dict(zip(code.co_freevars, fn.__closure__ or (), strict=False)) if code else {}
        outer, code = _defined_in(cells["fun"].cell_contents if "fun" in cells else None)
    return outer if code is not None and f"{os.sep}jax{os.sep}" in code.co_filename else ""


def _defined_in(fn: Any) -> tuple[str, CodeType | None]:
    """The name of the function that encloses another one's definition; "" at module level."""
    code = getattr(fn, "__code__", None)
    if not isinstance(code, CodeType):
        return "", None
    outer, inside, _ = code.co_qualname.partition(".<locals>.")
    return outer if inside else "", code


def defined(fn: Any, root: str) -> str:
    """`file:line` of a function's definition; "" for one that is not written in Python."""
    code = code_of(fn)
    return source_location(code.co_filename, code.co_firstlineno, root) if code is not None else ""


def class_location(kind: type, root: str) -> str:
    """`file:line` of a class below module level, which may be created again; "" for any other."""
    if "<locals>" not in kind.__qualname__:
        return ""
    name = (kind.__module__, kind.__qualname__)
    if name not in _CLASSES:  # keyed by name, because the class as a key would stay alive
        try:
            file, line = inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1]
        except (OSError, TypeError):
            file, line = None, 0
        _CLASSES[name] = (file or "", line)
    file, line = _CLASSES[name]
    return source_location(file, line, root) if file else ""


_CLASSES: dict[tuple[str, str], tuple[str, int]] = {}
