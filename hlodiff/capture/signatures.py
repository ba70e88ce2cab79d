"""From a call of a jitted function to a record of what JAX compares: one leaf for each part of its arguments."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from jax.tree_util import DictKey, SequenceKey, keystr, tree_flatten_with_path, tree_structure

from hlodiff.capture.identities import Identities, has_equality
from hlodiff.capture.leaves import describe, is_scalar, is_traced
from hlodiff.capture.places import code_of, defined, name_of, open_function
from hlodiff.capture.spoken import spoken
from hlodiff.traces.records import Leaf

_LEAVES = (jax.Array, np.ndarray, np.generic, bool, int, float, complex, str)
_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """What a jitted function was called with, out of the wrappers that JAX and Equinox put around it.

    Args:
        fn: the function that was jitted.
        args: positional arguments.
        kwargs: keyword arguments.
        static: positions and names of static arguments; None where every leaf that is no array is static, as under
            `eqx.filter_jit`.
    """

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: tuple[tuple[int, ...], tuple[str, ...]] | None


def leaves(call: Arguments, identities: Identities, root: str) -> tuple[Leaf, ...]:
    """Everything that JAX compares of a call.

    Args:
        call: the function and its arguments.
        identities: numbers what is compared by identity.
        root: the folder that places are told relative to.

    Returns:
        the function first, then the arguments in order.
    """
    walk = _Walk(identities, root, filtered=call.static is None)
    found = list(walk.function(call.fn))
    for name, value, static in _named(call):
        found += [walk.static(name, value)] if static else walk.tree(name, value)
    return tuple(found)


def _named(call: Arguments) -> Iterator[tuple[str, Any, bool]]:
    numbers, names = call.static if call.static is not None else ((), ())
    shown = _parameters(call.fn, len(call.args))
    for position, (name, value) in enumerate(zip(shown, call.args, strict=True)):
        yield name, value, position in numbers or position - len(call.args) in numbers or name in names
    for name, value in sorted(call.kwargs.items()):  # JAX sorts them too
        yield name, value, name in names


def _parameters(fn: Any, count: int) -> tuple[str, ...]:
    """What the positional arguments are called; their numbers where the function does not tell."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{index}]" for index in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names += [f"argument {index}" for index in range(len(names), count)]
    return tuple(names[:count])


class _Walk:
    """Walks a pytree one level at a time: JAX's own flattening does not show None, containers and static fields."""

    def __init__(self, identities: Identities, root: str, filtered: bool) -> None:
        self.identities = identities
        self.root = root
        self.filtered = filtered

    def function(self, fn: Any) -> Iterator[Leaf]:
        """The function itself; a module that is called brings leaves of its own."""
        children = tree_flatten_with_path(fn, is_leaf=lambda node: node is not fn)[0]
        if len(children) == 1 and not children[0][0]:
            yield self._static_leaf("", fn)
        elif self.filtered:
            yield from self.tree("function", fn)
        else:  # `jax.jit(module)` compares the module by its own ==
            yield self.static("", fn)

    def tree(self, path: str, node: Any) -> Iterator[Leaf]:
        """All leaves, containers and static fields of an argument."""
        if node is None:
            yield Leaf(path, "none", "None")
            return
        path = path.replace("function.__self__", "self", 1)  # a method of a module
        children, level = self._level(node)
        if level is None:
            yield self._leaf(path, node)
            return
        yield Leaf(path, "node", type(node).__name__, same=self.identities.number(level))
        names = set()
        for key, child in children:
            names.add(getattr(key[0], "name", None))
            yield from self.tree(path + keystr(key), child)
        if dataclasses.is_dataclass(node):
            for field in dataclasses.fields(node):
                if field.name not in names and hasattr(node, field.name):
                    yield self.static(f"{path}.{field.name}", getattr(node, field.name), "field")

    def _level(self, node: Any) -> tuple[Any, Any]:
        """Children of a node with their keys; None for the structure where it is a leaf."""
        kind = type(node)
        if kind is list or kind is tuple:  # most containers are these three; JAX takes ten times as long
            return [((SequenceKey(index),), child) for index, child in enumerate(node)], (kind, len(node))
        if kind is dict and all(type(key) is str for key in node):
            keys = sorted(node)
            return [((DictKey(key),), node[key]) for key in keys], (kind, *keys)
        if isinstance(node, _LEAVES):
            return (), None

        def inner(other: Any) -> bool:
            return other is not node

        children = tree_flatten_with_path(node, is_leaf=inner)[0]
        if len(children) == 1 and not children[0][0]:
            return (), None
        return children, tree_structure(node, is_leaf=inner)

    def _leaf(self, path: str, value: Any) -> Leaf:
        if is_traced(value) or (is_scalar(value) and not self.filtered):
            return _array(path, value)
        return self._static_leaf(path, value)

    def static(self, path: str, value: Any, kind: str = "value") -> Leaf:
        """A static argument or field."""
        leaf = self._static_leaf(path, value)
        return dataclasses.replace(leaf, kind="field") if kind == "field" and leaf.kind == "value" else leaf

    def _static_leaf(self, path: str, value: Any) -> Leaf:
        number = self.identities.number(value)
        if callable(value) and not isinstance(value, type) and code_of(value) is not None:
            code = self.identities.code(code_of(value))
            where = defined(value, self.root)
            return Leaf(path, "function", name_of(value), place=where, inside=_inside(value), same=number, code=code)
        kind = "value" if has_equality(value) else "object"
        return Leaf(path, kind, spoken(value), python=type(value).__qualname__, same=number)  # type: ignore[arg-type]


def _inside(fn: Any) -> tuple[tuple[str, str], ...]:
    """What a function closes over, holds as a default or is bound to, as far as it is a plain value."""
    plain = open_function(fn)
    code = code_of(plain)
    cells = zip(code.co_freevars if code else (), getattr(plain, "__closure__", None) or (), strict=False)
    found = []
    for name, cell in cells:
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if _is_plain(value):
            found.append((name, spoken(value)))
    keywords = getattr(fn, "keywords", None)
    bound = [*enumerate(getattr(fn, "args", ()) or ())] if isinstance(keywords, dict) else []
    given = [(str(name), value) for name, value in [*bound, *sorted((keywords or {}).items())]]
    given += [(f"self.{name}", value) for name, value in _bound_to(fn)]
    found += [(name, spoken(value)) for name, value in given if _is_plain(value)]
    return tuple(found)


def _bound_to(fn: Any) -> list[tuple[str, Any]]:
    """The attributes of the object that a method is bound to: `jax.jit(self.step)` keeps them as a closure does."""
    if not inspect.ismethod(fn) or isinstance(fn.__self__, type):
        return []
    try:
        return sorted(vars(fn.__self__).items())
    except Exception:  # slots, or an object that does not like to be looked at
        return []


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | complex | str | bytes)


def _array(path: str, value: Any) -> Leaf:
    try:
        kind = jax.typeof(value)
    except TypeError:  # what JAX cannot trace, it will refuse in its own words
        return Leaf(path, "array", spoken(value), python=type(value).__qualname__)
    python = f"Python {type(value).__name__}" if is_scalar(value) and not isinstance(value, np.generic) else ""
    if isinstance(value, np.ndarray | np.generic):
        python = "NumPy array" if isinstance(value, np.ndarray) else "NumPy number"
    text = f"{_dtype(kind)}[{','.join(map(str, getattr(kind, 'shape', ())))}]"
    weak = bool(getattr(kind, "weak_type", False))
    return Leaf(path, "array", text, weak=weak, python=python, sharding=_sharding(value))


def _dtype(kind: Any) -> str:
    return _short(getattr(kind, "dtype", kind))


@functools.lru_cache(maxsize=256)
def _short(dtype: Any) -> str:
    name = str(dtype)
    head = name.rstrip("0123456789")
    return _SHORT[head] + name[len(head) :] if head in _SHORT and name != head else name


def _sharding(value: Any) -> str:
    """How an array lies, "" where nobody said it: JAX compiles anew for another one."""
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return ""
    sharding = value.sharding
    if isinstance(sharding, SingleDeviceSharding):
        kind = sharding.memory_kind
        memory = f" in {kind}" if kind not in (None, "device", "unpinned_host") else ""
        device: Any = next(iter(sharding.device_set))
        return f"on {device.platform}:{device.id}{memory}" if value.committed else memory.strip()
    return describe(sharding)
