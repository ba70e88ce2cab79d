"""JAX's own functions that a program calls outside `jax.jit`, and those of them that run a function of the caller.

`jnp.add` compiles one small program per shape. `lax.scan`, `lax.cond`, `jax.pure_callback` and others compile the
function that they receive, and compile again for each new function object.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
import numpy as np

from hlodiff.capture import jax_private
from hlodiff.tracing.records import Function, Leaf
from hlodiff.tracing.signatures import ObjectIds, argument_leaves, captured_by, static_leaf
from hlodiff.tracing.source_location import caller, code_of, defined, is_users, name_of, source_location

_JAX = str(Path(jax.__file__).parent) + os.sep
_DEEPEST = 4
# Their parameters include jaxprs made by JAX (how to combine two numbers): `x.at[0].add(1)` is a plain operation.
_HELPED = ("scatter", "reduce", "argm", "select_and_", "cum", "shard_map(")


@dataclass(frozen=True, slots=True)
class Operation:
    """A JAX function that runs a function of the caller.

    Args:
        name: JAX's name, such as `scan`.
        parameters: parameters of a primitive, by name; None for a Python function of JAX, which only has arguments.
    """

    name: str
    parameters: dict[str, Any] | None


def is_jax_own(fun: Any) -> bool:
    """Whether a jitted function is one of JAX's own (`jnp.where`, a primitive), not the user's or a library's."""
    if type(fun) is not FunctionType:
        return jax_private.single_operation(fun) is not None
    module = fun.__module__ or ""
    if not module.startswith(("jax.", "jaxlib.")):
        return False
    code = code_of(fun)  # code of the innermost function: `jax.jit(jax.grad(f))` is the user's
    return code is None or not is_users(code.co_filename)


def is_jax_file(file: str) -> bool:
    """Whether a Python file belongs to JAX."""
    return file.startswith(_JAX)


def operation_of(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation | None:
    """The JAX operation of a call, if it runs a function of the caller.

    Args:
        fun: a function that JAX jitted for itself.
        args, kwargs: arguments of the call.

    Returns:
        the operation; None for one that only computes, such as `jnp.add`.
    """
    single = jax_private.single_operation(fun)
    if single is not None:
        return Operation(*single) if _is_given_a_function(*single) else None
    name = name_of(fun)
    if not re.match(r"\w+\(", name):  # `vmap(sin)` was jitted by the user or a library
        name = str(getattr(fun, "__name__", name))
    if "(" in name or any(map(_is_callers, _callables((args, kwargs)))) or _is_callers(fun):
        return Operation(name, None)
    return None


def _is_given_a_function(name: str, parameters: dict[str, Any]) -> bool:
    for _, value in _flat(parameters):
        origin = jax_private.body_origin(value)
        if origin is not None and not (name.startswith(_HELPED) and (not origin.file or is_jax_file(origin.file))):
            return True
        if hasattr(value, "call") or (_is_function(value) and _is_callers(value)):
            return True  # `jax.export` returns callable objects
    return False


def _flat(parameters: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in parameters.items():
        if isinstance(value, tuple) and any(jax_private.body_origin(part) or _is_function(part) for part in value):
            yield from ((f"{name}[{index}]", part) for index, part in enumerate(value))
        else:
            yield name, value


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not isinstance(value, np.dtype)


def _callables(tree: Any) -> Iterator[Any]:
    for leaf in jax.tree.leaves(tree, is_leaf=_is_function):
        if isinstance(leaf, frozenset):  # JAX makes a table of functions hashable this way
            yield from _callables(tuple(leaf))
        elif _is_function(leaf):
            yield leaf


def _is_callers(fn: Any, depth: int = 0) -> bool:
    """Whether a function was not written by JAX, or closes over one that was not."""
    if depth > _DEEPEST:
        return False
    code = code_of(fn)
    if code is not None and not is_jax_file(code.co_filename):
        return True
    inner = [getattr(fn, name, None) for name in ("callback_func", "f", "func")]
    inner += [*fn.args, *fn.keywords.values()] if isinstance(fn, partial) else []
    for cell in getattr(fn, "__closure__", None) or ():
        try:
            inner.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return any(_is_traced_of_callers(one) for one in inner) or any(
        _is_function(one) and one is not fn and _is_callers(one, depth + 1) for one in inner
    )


def _is_traced_of_callers(value: Any) -> bool:
    origin = jax_private.body_origin(value)
    return origin is not None and bool(origin.file) and not is_jax_file(origin.file)


def function_of(operation: Operation, root: str) -> Function:
    """An operation as a function in reports, located at the call in the user's code."""
    where, inside = caller(root)
    name = operation.name if not inside or "(" in operation.name else f"{inside}.{operation.name}"
    return Function(name, where, library=True, operation=True)


def leaves_of(
    operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any], object_ids: ObjectIds, root: str
) -> tuple[Leaf, ...]:
    """The parts of a primitive's run that JAX compares: its parameters, and the types of its operands.

    Args:
        operation: a primitive.
        args, kwargs: its operands.
        object_ids: ids for values compared by identity.
        root: the folder that source locations are relative to.
    """
    found = [Leaf("", "value", operation.name)]
    for name, value in _flat(operation.parameters or {}):
        origin = jax_private.body_origin(value)
        if origin is not None:
            found.append(_body(name, value, origin, object_ids, root))
        else:
            inner = getattr(value, "callback_func", value)
            found.append(static_leaf(name, inner, object_ids, root))
    named = {f"operand {index}": value for index, value in enumerate(args)} | kwargs
    return (*found, *argument_leaves(named, object_ids, root))


def _body(name: str, value: Any, origin: jax_private.Origin, object_ids: ObjectIds, root: str) -> Leaf:
    """The jaxpr of a function of the caller, with what is known of that function."""
    # `lax.map` wraps the function that it receives, and JAX knows no file for an object with `__call__`.
    is_hidden = not origin.file or is_jax_file(origin.file)
    given = [one for one in jax_private.functions_given() if is_hidden or _is_of(one, origin)]
    fn = given[0] if given else None
    shown = name_of(fn) if is_hidden and fn is not None else origin.name
    where = source_location(origin.file, origin.line, root) if origin.file else ""
    where = defined(fn, root) if is_hidden and fn is not None else where
    code = object_ids.of((shown, where))
    body = Leaf(name, "body", shown, place=where, object_id=object_ids.of(value), code_id=code)
    if fn is None:
        return body
    # Two lambdas on one line cannot be distinguished: then what this one closes over is not reported.
    alone = len({code_of(one) for one in given}) == 1
    inside = captured_by(fn, object_ids, root) if alone else ()
    return replace(body, life_id=object_ids.life(fn), inside=inside)


def _is_of(fn: Any, origin: jax_private.Origin) -> bool:
    code = code_of(fn)
    return code is not None and (code.co_filename, code.co_firstlineno) == (origin.file, origin.line)


def source_of(origin: jax_private.Origin | None, name: str, root: str) -> Function | None:
    """The function of a program for which no call was observed.

    Args:
        origin: what JAX knows of the function.
        name: JAX's name of the program, such as `jit_step`.
        root: the folder that file names are relative to.

    Returns:
        the function; None if it is one of JAX's own.
    """
    if origin is None or not origin.file:
        shown = origin.name if origin is not None and origin.name else name.removeprefix("jit_")
        return Function(shown, "", library=True, operation=True)
    if is_jax_file(origin.file):
        return None
    return Function(origin.name, source_location(origin.file, origin.line, root), library=not is_users(origin.file))
