"""What JAX compares of a call of a jitted function, as records: one leaf for each part of its arguments."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
import weakref
from collections.abc import Iterator, Mapping
from itertools import count
from types import CodeType, MethodType
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from jax.tree_util import DictKey, SequenceKey, keystr, tree_flatten_with_path, tree_structure

from hlodiff.capture.arguments import describe, is_scalar, is_traced
from hlodiff.tracing.records import Leaf
from hlodiff.tracing.source_location import code_of, defined, name_of, open_function
from hlodiff.tracing.stable_repr import stable_repr


class ObjectIds:
    """Object ids: two objects that JAX finds equal have the same id."""

    def __init__(self) -> None:
        self._next = count()
        self._lock = threading.RLock()
        self._weak: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._equal: dict[Any, int] = {}
        self._kept: dict[int, tuple[Any, int]] = {}

    def of(self, value: Any, held: bool = True) -> int:
        """The id of a static value: by `==` where its class defines it, else by identity.

        Args:
            value: any object.
            held: whether JAX itself keeps a reference, as to static arguments. It keeps none to the jitted function:
                a reference from here would keep its programs in JAX's cache, and hide that they are compiled again.

        Returns:
            an id, for comparison only.
        """
        if isinstance(value, MethodType):  # a reference to the method would keep the object it is bound to
            value = ("method", self.of(value.__self__, held), self.of(value.__func__))
            held = True
        with self._lock:
            if not held or not has_equality(value):
                return self._by_identity(value)
            try:
                return self._equal.setdefault((type(value), value), len(self._equal) * 2)
            except Exception:  # no hash, or `==` returns no truth value
                return self._by_identity(value)

    def _by_identity(self, value: Any) -> int:
        try:
            return self._weak.setdefault(value, next(self._next) * 2 + 1)
        except Exception:  # no weak references: kept, so that its address is not reused
            return self._kept.setdefault(id(value), (value, next(self._next) * 2 + 1))[1]

    def code(self, code: CodeType | None) -> int:
        """The id of a function's code; equal code from equal lines has the same id."""
        return -1 if code is None else self.of(code)


def has_equality(value: Any) -> bool:
    """Whether objects of this class are compared by `==` of their own, not by identity."""
    kind: Any = type(value)
    return kind.__eq__ is not object.__eq__


_LEAVES = (jax.Array, np.ndarray, np.generic, bool, int, float, complex, str)
_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """What a jitted function was called with, without the wrappers of JAX and Equinox.

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


def leaves(call: Arguments, object_ids: ObjectIds, root: str) -> tuple[Leaf, ...]:
    """Everything that JAX compares of a call.

    Args:
        call: the function and its arguments.
        object_ids: ids for what is compared by identity.
        root: the folder that source locations are relative to.

    Returns:
        the function first, then the arguments in order.
    """
    walk = _Walk(object_ids, root, filtered=call.static is None)
    found = list(walk.function(call.fn))
    for name, value, static in _named(call):
        found += [walk.static(name, value)] if static else walk.tree(name, value)
    return tuple(found)


def argument_leaves(named: Mapping[str, Any], object_ids: ObjectIds, root: str) -> tuple[Leaf, ...]:
    """Everything that JAX compares of traced arguments with these names."""
    walk = _Walk(object_ids, root, filtered=False)
    return tuple(leaf for name, value in named.items() for leaf in walk.tree(name, value))


def static_leaf(name: str, value: Any, object_ids: ObjectIds, root: str) -> Leaf:
    """A value that JAX compares with `==`, or a function that it compares by identity."""
    return _Walk(object_ids, root, filtered=False).static(name, value)


def _named(call: Arguments) -> Iterator[tuple[str, Any, bool]]:
    numbers, names = call.static if call.static is not None else ((), ())
    shown = _parameters(call.fn, len(call.args))
    for position, (name, value) in enumerate(zip(shown, call.args, strict=True)):
        yield name, value, position in numbers or position - len(call.args) in numbers or name in names
    for name, value in sorted(call.kwargs.items()):  # JAX sorts them too
        yield name, value, name in names


def _parameters(fn: Any, count: int) -> tuple[str, ...]:
    """The names of the positional arguments; their positions where the function has no signature."""
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

    def __init__(self, object_ids: ObjectIds, root: str, filtered: bool) -> None:
        self.object_ids = object_ids
        self.root = root
        self.filtered = filtered

    def function(self, fn: Any) -> Iterator[Leaf]:
        """The function itself; a callable module also has leaves."""
        children = tree_flatten_with_path(fn, is_leaf=lambda node: node is not fn)[0]
        if len(children) == 1 and not children[0][0]:
            yield self._static_leaf("", fn, held=False)
        elif self.filtered:
            yield from self.tree("function", fn)
        else:  # `jax.jit(module)` compares the module by its own ==
            yield self._static_leaf("", fn, held=False)

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
        yield Leaf(path, "node", type(node).__name__, object_id=self.object_ids.of(level))
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

    def _static_leaf(self, path: str, value: Any, held: bool = True) -> Leaf:
        number = self.object_ids.of(value, held)
        if callable(value) and not isinstance(value, type) and code_of(value) is not None:
            code = self.object_ids.code(code_of(value))
            where = defined(value, self.root)
            return Leaf(
                path, "function", name_of(value), place=where, inside=_inside(value), object_id=number, code_id=code
            )
        kind = "value" if has_equality(value) else "object"
        return Leaf(path, kind, stable_repr(value), python=type(value).__qualname__, object_id=number)  # type: ignore[arg-type]


def _inside(fn: Any) -> tuple[tuple[str, str], ...]:
    """The plain values that a function closes over, has in a partial or is bound to."""
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
            found.append((name, stable_repr(value)))
    keywords = getattr(fn, "keywords", None)
    bound = [*enumerate(getattr(fn, "args", ()) or ())] if isinstance(keywords, dict) else []
    given = [(str(name), value) for name, value in [*bound, *sorted((keywords or {}).items())]]
    given += [(f"self.{name}", value) for name, value in _bound_to(fn)]
    found += [(name, stable_repr(value)) for name, value in given if _is_plain(value)]
    return tuple(found)


def _bound_to(fn: Any) -> list[tuple[str, Any]]:
    """The attributes of the object that a method is bound to: `jax.jit(self.step)` keeps them as a closure does."""
    if not inspect.ismethod(fn) or isinstance(fn.__self__, type):
        return []
    try:
        return sorted(vars(fn.__self__).items())
    except Exception:  # slots, or an object whose attributes raise
        return []


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | complex | str | bytes)


def _array(path: str, value: Any) -> Leaf:
    try:
        kind = jax.typeof(value)
    except TypeError:  # JAX cannot trace it either, and will raise itself
        return Leaf(path, "array", stable_repr(value), python=type(value).__qualname__)
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
    """The sharding of an array, "" for an uncommitted one; JAX compiles again for a different one."""
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return ""
    sharding = value.sharding
    if isinstance(sharding, SingleDeviceSharding):
        kind = sharding.memory_kind
        memory = f" in {kind}" if kind not in (None, "device", "unpinned_host") else ""
        device: Any = next(iter(sharding.device_set))
        return f"on {device.platform}:{device.id}{memory}" if value.committed else memory.strip()
    return describe(sharding)
