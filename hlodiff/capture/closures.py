"""Large arrays that a function takes from its closure or from globals: which variable each constant of a program is."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import jax
import numpy as np

from hlodiff.capture.growth_outcomes import NamedTable
from hlodiff.capture.leaves import module_type
from hlodiff.diff.metrics import LARGE_LITERAL_BYTES
from hlodiff.registry import Case

_LARGEST = 1 << 28  # hashing takes a second for each GiB
_DEEPEST = 6


def named_tables(case: Case, relative: Callable[[str], str]) -> tuple[NamedTable, ...]:
    """The large arrays that the function of a case finds outside of its arguments.

    Args:
        case: its function, and whatever that calls by name, is looked through.
        relative: makes `file:line` relative to the project.

    Returns:
        one record for each array, in the order in which they are found.
    """
    found: dict[str, NamedTable] = {}
    seen: dict[int, Any] = {}
    for name, array, code in _arrays(case.fn, seen, 0):
        if LARGE_LITERAL_BYTES <= array.nbytes <= _LARGEST:
            where = relative(f"{code.co_filename}:{code.co_firstlineno}")
            digest = _digest(array)
            found.setdefault(digest, NamedTable(digest, name, where))
    return tuple(found.values())


def _digest(array: Any) -> str:
    """Of the bytes as they stand in the program: JAX narrows doubles unless told otherwise."""
    narrowed = np.asarray(array).astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)
    return sha256(np.ascontiguousarray(narrowed).tobytes()).hexdigest()


def _arrays(value: Any, seen: dict[int, Any], depth: int) -> Iterator[tuple[str, Any, types.CodeType]]:
    """Name, array and code of the function that names it, for every function that is reached."""
    if id(value) in seen or depth > _DEEPEST:
        return
    seen[id(value)] = value  # kept, so that no other object gets its id meanwhile
    for function in _functions(value):
        for name, inner in _names(function):
            for path, leaf in _leaves(name, inner):
                if isinstance(leaf, jax.Array | np.ndarray):
                    if not isinstance(leaf, jax.core.Tracer):
                        yield path, leaf, function.__code__
                elif callable(leaf) and not isinstance(leaf, type):
                    yield from _arrays(leaf, seen, depth + 1)


def _functions(value: Any) -> Iterator[types.FunctionType]:
    """The plain functions inside jitted ones, partials, methods and callable modules."""
    for _ in range(_DEEPEST):
        if isinstance(value, types.FunctionType):
            yield value
            return
        if isinstance(value, functools.partial):
            value = value.func
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        elif hasattr(value, "__func__"):
            value = value.__func__
        else:
            call = type(value).__call__ if callable(value) else None
            if not isinstance(call, types.FunctionType) or _is_library(call):
                return
            value = call


def _names(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function and those written inside of it find outside: cells of its closure, then globals."""
    if _is_library(function):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _is_library(function: types.FunctionType) -> bool:
    return function.__module__.partition(".")[0] in ("jax", "jaxlib", "equinox", "numpy", "optax", "diffrax", "hlodiff")


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays and functions in a variable: itself, or the leaves of a container or module."""
    if isinstance(value, (list, tuple, dict, types.SimpleNamespace, *module_type())):
        tree = vars(value) if isinstance(value, types.SimpleNamespace) else value
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            yield name + jax.tree_util.keystr(path), leaf
    else:
        yield name, value
