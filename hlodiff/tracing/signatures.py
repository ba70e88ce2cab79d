"""The parts of a call of a jitted function that JAX compares, as records: one leaf per part of its arguments."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from types import CodeType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from jax.tree_util import DictKey, SequenceKey, keystr, tree_flatten_with_path, tree_structure

from hlodiff.capture import jax_private
from hlodiff.capture.arguments import describe, is_scalar, is_traced
from hlodiff.tracing.records import OBJECT, CapturedValue, Kind, Leaf
from hlodiff.tracing.source_location import class_location, code_of, defined, name_of, open_function
from hlodiff.tracing.stable_repr import stable_repr


class ObjectIds:
    """Object ids: objects that JAX considers equal have the same id."""

    def __init__(self) -> None:
        self._next = count()
        self._lock = threading.RLock()
        self._weak: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._equal: dict[Any, int] = {}
        self._kept: dict[int, tuple[Any, int]] = {}
        self._alive: dict[int, tuple[weakref.ref[Any], int]] = {}

    def of(self, value: Any, held: bool = True) -> int:
        """The id of a static value: by `==` if its class defines it, else by identity.

        Args:
            value: any object.
            held: whether JAX keeps a reference, as to static arguments. It keeps none to the jitted function: a
                reference from here would keep its programs in JAX's cache and hide recompilations.

        Returns:
            an id, for comparison only.
        """
        if isinstance(value, MethodType):  # a reference to the method would keep its object alive
            value = ("method", self.of(value.__self__, held), self.of(value.__func__))
            held = True
        with self._lock:
            if not held or not has_equality(value):
                return self._by_identity(value)
            try:
                return self._equal.setdefault((type(value), value), len(self._equal) * 2)
            except Exception:  # not hashable, or `==` returns no truth value
                return self._by_identity(value)

    def _by_identity(self, value: Any) -> int:
        try:
            return self._weak.setdefault(value, next(self._next) * 2 + 1)
        except Exception:  # no weak references: kept alive, so that its address is not reused
            return self._kept.setdefault(id(value), (value, next(self._next) * 2 + 1))[1]

    def life(self, value: Any) -> int:
        """The id of one object, regardless of equality; it is not kept alive. -1 if unknown."""
        with self._lock:
            known = self._alive.get(id(value))
            if known is not None and known[0]() is value:
                return known[1]
            try:
                self._alive[id(value)] = (weakref.ref(value), next(self._next))
            except TypeError:
                return -1
            return self._alive[id(value)][1]

    def code(self, code: CodeType | None) -> int:
        """The id of a function's code; equal code on equal lines has the same id."""
        return -1 if code is None else self.of(code)


def has_equality(value: Any) -> bool:
    """Whether instances of this class define `==`, instead of being compared by identity."""
    kind: Any = type(value)
    return kind.__eq__ is not object.__eq__


_LEAVES = (jax.Array, np.ndarray, np.generic, bool, int, float, complex, str)
_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """The function and arguments of a jitted call, without the wrappers of JAX and Equinox.

    Args:
        fn: the function that was jitted.
        args: positional arguments.
        kwargs: keyword arguments.
        static: positions and names of static arguments; None if every leaf that is not an array is static, as under
            `eqx.filter_jit`.
    """

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: tuple[tuple[int, ...], tuple[str, ...]] | None


Made = Callable[[Any], str]
"""Returns where a wrapper of a function was made; "" if unknown."""


def _unknown(_: Any) -> str:
    return ""


def leaves(call: Arguments, object_ids: ObjectIds, root: str, made: Made = _unknown) -> tuple[Leaf, ...]:
    """Everything that JAX compares in a call.

    Args:
        call: the function and its arguments.
        object_ids: ids for values compared by identity.
        root: the folder that source locations are relative to.
        made: returns where a wrapper was made.

    Returns:
        the function first, then the arguments in order.
    """
    walk = _Walk(object_ids, root, filtered=call.static is None, made=made)
    found = list(walk.function(call.fn))
    given = len(call.args)
    for index, (name, value, static) in enumerate(_named(call)):
        rows = [walk.static(name, value)] if static else list(walk.tree(name, value))
        if index >= given and call.static is not None:  # Equinox binds keywords to positions first
            rows[0] = dataclasses.replace(rows[0], keyword=True)
        found += rows
    return tuple(found)


def argument_leaves(named: Mapping[str, Any], object_ids: ObjectIds, root: str) -> tuple[Leaf, ...]:
    """Everything that JAX compares in traced arguments with these names."""
    walk = _Walk(object_ids, root, filtered=False)
    return tuple(leaf for name, value in named.items() for leaf in walk.tree(name, value))


def captured_by(fn: Any, object_ids: ObjectIds, root: str) -> tuple[CapturedValue, ...]:
    """The values that a function closes over."""
    return _Walk(object_ids, root, filtered=False).inside(fn)


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
    """The names of the positional arguments; their positions if the function has no signature."""
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
    """Walks a pytree one level at a time: JAX's own flattening skips None, containers and static fields."""

    def __init__(self, object_ids: ObjectIds, root: str, filtered: bool, made: Made = _unknown) -> None:
        self.object_ids = object_ids
        self.root = root
        self.filtered = filtered
        self.made = made

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
            is_array = is_traced(node) or (is_scalar(node) and not self.filtered)
            yield _array(path, node) if is_array else self._static_leaf(path, node)
            return
        yield self._node(path, node, level)
        names = set()
        for key, child in children:
            names.add(getattr(key[0], "name", None))
            yield from self.tree(path + keystr(key), child)
        if dataclasses.is_dataclass(node):
            for field in dataclasses.fields(node):
                if field.name not in names and hasattr(node, field.name):
                    yield self.static(f"{path}.{field.name}", getattr(node, field.name), "field")

    def _level(self, node: Any) -> tuple[Any, Any]:
        """Children of a node with their keys; the structure is None for a leaf."""
        kind = type(node)
        if kind is list or kind is tuple:  # most containers are one of these; JAX takes ten times as long
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

    def _node(self, path: str, node: Any, level: Any) -> Leaf:
        """A container, with its static data if its fields do not show them."""
        kind = type(node)
        number = self.object_ids.of(level)
        if kind in (list, tuple, dict):
            length = "" if kind is dict else str(len(node))
            return Leaf(path, "node", kind.__name__, python=length, object_id=number)
        parts: tuple[Leaf, ...] = ()
        data = None if dataclasses.is_dataclass(node) else _static_data(level)
        if data is not None:
            parts = (self._static_leaf("", data),)
        where = class_location(kind, self.root)
        class_id = self.object_ids.of(kind)
        return Leaf(path, "node", kind.__name__, place=where, parts=parts, object_id=number, code_id=class_id)

    def static(self, path: str, value: Any, kind: str = "value") -> Leaf:
        """A static argument or field."""
        leaf = self._static_leaf(path, value)
        return dataclasses.replace(leaf, kind="field") if kind == "field" and leaf.kind == "value" else leaf

    def _static_leaf(self, path: str, value: Any, held: bool = True, depth: int = 0) -> Leaf:
        number = self.object_ids.of(value, held)
        if isinstance(value, type):
            where = class_location(value, self.root)
            return Leaf(path, "object", stable_repr(value), python="class", place=where, object_id=number)
        if callable(value) and code_of(value) is not None:
            return Leaf(
                path, "function", name_of(value), python=_wrapper(value),
                place=defined(value, self.root), made=self.made(value), inside=self.inside(value),
                object_id=number, code_id=self.object_ids.code(code_of(value)), life_id=self.object_ids.life(value),
            )  # fmt: skip
        kind: Kind = "value" if has_equality(value) else "object"
        # Its parts, as far as its `==` compares them: the smallest part that differs is reported.
        inside = itertools.islice(_parts_of(value), _MOST_PARTS) if depth < _DEEPEST else ()
        parts = tuple(self._static_leaf(f"{path}{key}", part, depth=depth + 1) for key, part in inside)
        text, python, where = stable_repr(value), type(value).__qualname__, class_location(type(value), self.root)
        class_id = self.object_ids.of(type(value))
        return Leaf(path, kind, text, python=python, parts=parts, place=where, object_id=number, code_id=class_id)

    def inside(self, fn: Any) -> tuple[CapturedValue, ...]:
        """The values that a function captures: by closure, default or partial, or through the object it is bound to."""
        found: dict[str, CapturedValue] = {}
        for name, value in _captured(fn):  # an argument of a partial replaces the default
            found.pop(name, None)
            found |= {one.name: one for one in self._value(name, value)}
        return tuple(found.values())

    def _value(self, name: str, value: Any, depth: int = 0) -> Iterator[CapturedValue]:
        if isinstance(value, jax.Array | np.ndarray) and not isinstance(value, jax.core.Tracer):
            yield CapturedValue(name, f"{OBJECT}array {_array(name, value).text}", self.object_ids.life(value))
        elif _is_plain(value):
            yield CapturedValue(name, stable_repr(value), self.object_ids.of(value))
        elif code_of(value) is not None and not isinstance(value, type):
            yield CapturedValue(name, f"`{name_of(value)}`", self.object_ids.of(value, held=False))
            if depth < _DEEPEST_CAPTURED:
                for inner, part in _captured(value):
                    yield from self._value(f"{name}.{inner.removeprefix('self.')}", part, depth + 1)
        elif isinstance(value, list | dict):
            if len(value) <= _MOST_PARTS and all(map(_is_plain, value.values() if isinstance(value, dict) else value)):
                yield CapturedValue(name, stable_repr(value), self.object_ids.of(stable_repr(value)))
        elif not isinstance(value, type | ModuleType):
            plain = [(attribute, part) for attribute, part in _attributes(value) if _is_plain(part)]
            for attribute, part in plain:
                yield CapturedValue(f"{name}.{attribute}", stable_repr(part), self.object_ids.of(part))
            if not plain:
                yield CapturedValue(name, f"{OBJECT}{type(value).__qualname__}", self.object_ids.life(value))


_DEEPEST = 4  # maximum nesting of static values
_DEEPEST_CAPTURED = 2  # maximum nesting of functions in closures
_MOST_PARTS = 64


def _parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        keys = [f".{name}" for name in names] if names else [f"[{index}]" for index in range(len(value))]
        yield from zip(keys, value, strict=False)
    elif isinstance(value, list):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"[{stable_repr(key)}]", part) for key, part in value.items())
    elif dataclasses.is_dataclass(value):
        shown = [field.name for field in dataclasses.fields(value) if field.compare and hasattr(value, field.name)]
        yield from ((f".{name}", getattr(value, name)) for name in shown)


def _static_data(level: Any) -> Any:
    """The static data of a user's class that is registered as a container."""
    try:
        return level.node_data()[1]
    except (AttributeError, TypeError, IndexError):
        return None


def _captured(fn: Any) -> Iterator[tuple[str, Any]]:
    """Names and values; those of the innermost function first, then those of the partials and the bound object."""
    plain = open_function(fn)
    code = code_of(plain)
    for name, cell in zip(code.co_freevars if code else (), getattr(plain, "__closure__", None) or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    defaults = getattr(plain, "__defaults__", None) or ()
    if code is not None and defaults and hasattr(plain, "__code__"):
        yield from zip(code.co_varnames[: code.co_argcount][-len(defaults) :], defaults, strict=False)
    yield from sorted((getattr(plain, "__kwdefaults__", None) or {}).items())
    keywords = getattr(fn, "keywords", None)
    if isinstance(keywords, dict):
        given = tuple(getattr(fn, "args", ()) or ())
        yield from zip(_parameters(getattr(fn, "func", None), len(given)), given, strict=False)
        yield from ((str(name), value) for name, value in sorted(keywords.items()))
    yield from ((f"self.{name}", value) for name, value in _bound_to(fn))


def _wrapper(fn: Any) -> str:
    """The name of an object around a function, or of the one it is bound to; "" for the function itself."""
    if isinstance(fn, MethodType) and not isinstance(fn.__self__, type):
        return f"method of another {type(fn.__self__).__qualname__}"
    return "functools.partial" if isinstance(fn, functools.partial) else ""


def _bound_to(fn: Any) -> list[tuple[str, Any]]:
    """The attributes of a callable object, or of the object that a method is bound to, which act like a closure."""
    if inspect.ismethod(fn):
        holder = fn.__self__
    elif not inspect.isroutine(fn) and not hasattr(fn, "__wrapped__") and not isinstance(fn, functools.partial):
        holder = fn
    else:
        return []
    return [] if isinstance(holder, type) else _attributes(holder)


def _attributes(holder: Any) -> list[tuple[str, Any]]:
    try:
        return sorted(vars(holder).items())[:_MOST_PARTS]
    except Exception:  # slots, or an object whose attributes raise
        return []


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) <= _MOST_PARTS and all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | complex | str | bytes | enum.Enum | np.dtype)


def _array(path: str, value: Any) -> Leaf:
    try:
        kind = jax.typeof(value)
    except TypeError:  # JAX cannot trace it either, and will raise itself
        return Leaf(path, "array", stable_repr(value), python=type(value).__qualname__)
    name = type(value).__name__  # JAX turns an int into a `TypedInt`
    python = f"Python {name.removeprefix('Typed').lower()}" if is_scalar(value) else ""
    if isinstance(value, np.ndarray | np.generic):
        python = "NumPy array" if isinstance(value, np.ndarray) else "NumPy number"
    text = f"{_short(getattr(kind, 'dtype', kind))}[{','.join(map(str, getattr(kind, 'shape', ())))}]"
    weak = bool(getattr(kind, "weak_type", False))
    sharding, devices = _sharding(value)
    return Leaf(path, "array", text, weak=weak, python=python, sharding=sharding, devices=devices)


@functools.lru_cache(maxsize=256)
def _short(dtype: Any) -> str:
    name = str(dtype)
    head = name.rstrip("0123456789")
    return _SHORT[head] + name[len(head) :] if head in _SHORT and name != head else name


def _sharding(value: Any) -> tuple[str, str]:
    """The sharding of an array and its devices; "" for an uncommitted one. JAX recompiles if they differ."""
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return "", ""
    sharding = value.sharding
    kind = getattr(sharding, "memory_kind", None)
    memory = f" in {kind}" if kind not in (None, "device", "unpinned_host") else ""
    memory += jax_private.special_layout(value) if value.committed else ""
    if isinstance(sharding, SingleDeviceSharding):
        device: Any = next(iter(sharding.device_set))
        return (f"on {device.platform}:{device.id}{memory}" if value.committed else memory.strip()), ""
    devices = jax_private.device_list(jax_private.device_order(sharding))
    shown = jax_private.without_pmap_axis(describe(sharding)) + memory
    return shown, ", ".join([devices, *_axis_kinds(sharding)])


def format_sharding(sharding: Any) -> str:
    """A sharding with its axis types, without devices."""
    return ", ".join([describe(sharding), *_axis_kinds(sharding)])


def _axis_kinds(sharding: Any) -> list[str]:
    """The axes of a mesh with a non-default type."""
    mesh = getattr(sharding, "mesh", None)
    kinds = dict(zip(getattr(mesh, "axis_names", ()), getattr(mesh, "axis_types", None) or (), strict=False))
    return [f"{name}{kind}" for name, one in kinds.items() if (kind := jax_private.axis_kind(one))]
