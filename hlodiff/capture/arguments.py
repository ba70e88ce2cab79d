"""Leaves of argument trees: which are traced, abstract arrays for them, and placeholder values for real calls."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding, SingleDeviceSharding
from jax.tree_util import tree_flatten, tree_map, tree_unflatten

from hlodiff.capture.imports import message
from hlodiff.errors import RegistryError

# JAX's name of the default memory of every platform; compile-only GPUs do not list theirs.
ORDINARY_MEMORY = "device"
HOST_MEMORIES = ("pinned_host", "unpinned_host")


class PlacedStruct(jax.ShapeDtypeStruct):
    """A `ShapeDtypeStruct` whose memory kind is known before its device."""

    __slots__ = ("wanted_memory_kind",)
    wanted_memory_kind: str


class KeptOnDevice(SingleDeviceSharding):
    """A sharding on one device that keeps its memory kind even if the device lists no memories."""

    def __init__(self, device: Any, memory_kind: str) -> None:
        super().__init__(device)
        self._kept = (device, memory_kind)

    @property
    def memory_kind(self) -> str:
        return self._kept[1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeptOnDevice) and other._kept == self._kept

    def __hash__(self) -> int:
        return hash(self._kept)


class KeptOnMesh(NamedSharding):
    """Like `KeptOnDevice`, over a mesh."""

    def __init__(self, mesh: Any, spec: Any, memory_kind: str) -> None:
        super().__init__(mesh, spec)
        self._kept = (mesh, spec, memory_kind)

    @property
    def memory_kind(self) -> str:
        return self._kept[2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeptOnMesh) and other._kept == self._kept

    def __hash__(self) -> int:
        return hash(self._kept)


def keeps_memory_kinds(device: Any) -> bool:
    """Whether a sharding on the device keeps its memory kind. JAX drops the kind if the device lists no memories."""
    return bool(device.addressable_memories())


def ordinary(memory_kind: str | None) -> bool:
    """Whether a memory kind is the default of every device."""
    return memory_kind in (None, ORDINARY_MEMORY)


def on_device(device: Any, memory_kind: str) -> Sharding:
    """A sharding on one device, in one of its memories."""
    if ordinary(memory_kind) or keeps_memory_kinds(device):
        return SingleDeviceSharding(device, memory_kind=memory_kind)
    return KeptOnDevice(device, _known(memory_kind))


def in_memory(sharding: Sharding, memory_kind: str) -> Sharding:
    """The same sharding in another memory of its devices."""
    device = next(iter(sharding.device_set))
    if ordinary(memory_kind) or keeps_memory_kinds(device):
        return sharding.with_memory_kind(memory_kind)
    if isinstance(sharding, NamedSharding):
        return KeptOnMesh(sharding.mesh, sharding.spec, _known(memory_kind))
    return KeptOnDevice(device, _known(memory_kind))


def _known(memory_kind: str) -> str:
    """The memory kind, checked as JAX checks it on devices that list their memories."""
    if memory_kind not in HOST_MEMORIES:
        raise RegistryError(
            f"there is no memory kind {memory_kind!r}", hint=f"one of device, {', '.join(HOST_MEMORIES)}"
        )
    return memory_kind


def abstract_leaf(
    shape: tuple[int, ...], dtype: Any, sharding: Sharding | None, memory_kind: str | None, weak_type: bool
) -> Any:
    """A `ShapeDtypeStruct`, see `hlodiff.abstract`."""
    if memory_kind is None:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding, weak_type=weak_type)
    if sharding is not None:
        sharding = in_memory(sharding, memory_kind)
    leaf = PlacedStruct(shape, dtype, sharding=sharding, weak_type=weak_type)  # type: ignore[no-untyped-call]
    leaf.wanted_memory_kind = memory_kind
    return leaf


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array, concrete or abstract: what `eqx.filter_jit` traces."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct)


def is_scalar(leaf: Any) -> bool:
    """Whether a leaf is a Python number, which `jax.jit` traces and `eqx.filter_jit` does not."""
    return isinstance(leaf, bool | int | float | complex)


def without_numbers(leaf: Any, device: Any) -> Any:
    """The abstract array for an array, to lower with; every other leaf is returned as it is.

    Args:
        leaf: any leaf.
        device: the first device of the target.
    """
    if isinstance(leaf, PlacedStruct):
        sharding = leaf.sharding if leaf.sharding is not None else on_device(device, leaf.wanted_memory_kind)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=leaf.weak_type)
    if isinstance(leaf, jax.ShapeDtypeStruct) or not is_array(leaf):
        return leaf
    if isinstance(leaf, jax.Array):
        struct = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=bool(getattr(leaf, "weak_type", False)))
        return struct.update(sharding=_kept_sharding(leaf.sharding, device))
    return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))


def _kept_sharding(sharding: Sharding, device: Any) -> Sharding | None:
    """The sharding of a concrete array to keep on the target: a mesh of the same platform, or a memory kind."""
    of: Any = next(iter(sharding.device_set))
    if isinstance(sharding, NamedSharding) and of.platform == device.platform:
        return sharding
    kind = sharding.memory_kind
    return None if kind is None or ordinary(kind) else on_device(device, kind)


def describe(sharding: Any) -> str:
    """A sharding in one line without device ids."""
    if isinstance(sharding, NamedSharding):
        axes = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape.items())
        spec = ", ".join(_axis(part) for part in sharding.spec)
        return f"P({spec}) over {axes}"
    return "one device" if isinstance(sharding, SingleDeviceSharding) else str(sharding)


def _axis(part: Any) -> str:
    if isinstance(part, tuple):
        return "(" + ", ".join(map(str, part)) + ")"
    return "None" if part is None else str(part)


ALL_TRACED = object()
"""The static half of a fully traced tree, used because some containers cannot hold None."""


def split(tree: Any, *, scalars: bool) -> tuple[Any, Any]:
    """Split a tree into its traced leaves and its static leaves, each with None in place of the others.

    Args:
        tree: any tree.
        scalars: whether Python numbers are traced; those inside an Equinox module never are.
    """
    module = module_type()

    def is_value(leaf: Any) -> bool:
        return is_traced(leaf) or (scalars and is_scalar(leaf))

    def one(leaf: Any) -> tuple[Any, Any]:
        if isinstance(leaf, module):
            leaves, treedef = tree_flatten(leaf)
            halves = [(x, None) if is_traced(x) else (None, x) for x in leaves]
            return tree_unflatten(treedef, [h[0] for h in halves]), tree_unflatten(treedef, [h[1] for h in halves])
        return (leaf, None) if is_value(leaf) else (None, leaf)

    leaves, treedef = tree_flatten(tree, is_leaf=lambda node: isinstance(node, module))
    if not any(isinstance(leaf, module) for leaf in leaves) and all(map(is_value, leaves)):
        return tree, ALL_TRACED
    halves = [one(leaf) for leaf in leaves]
    return tree_unflatten(treedef, [half[0] for half in halves]), tree_unflatten(treedef, [half[1] for half in halves])


def join(traced: Any, static: Any) -> Any:
    """The inverse of `split`."""
    if static is ALL_TRACED:
        return traced
    return tree_map(lambda a, b: b if a is None else a, traced, static, is_leaf=lambda leaf: leaf is None)


def is_traced(leaf: Any) -> bool:
    """Whether a leaf is an array, concrete, abstract or a tracer."""
    return is_array(leaf) or isinstance(leaf, jax.core.Tracer)


def module_type() -> tuple[type, ...]:
    """Equinox's module class, for `isinstance`; empty if Equinox is not imported, because importing it is slow."""
    eqx = sys.modules.get("equinox")
    return (eqx.Module,) if eqx is not None else ()


_KEYS = ("threefry2x32", "rbg", "unsafe_rbg")


def concrete(tree: Any, device: Any) -> Any:
    """Replace each abstract array in a tree of arguments by a concrete one.

    Args:
        tree: arguments, which may include modules.
        device: the first device that the call runs on.

    Returns:
        the same tree: ones for floating-point numbers, so that divisions and logarithms are finite; zeros for integers,
        which are valid indices, and for booleans; a key for keys. Concrete arrays are copied, because a call may
        overwrite its arguments.
    """
    return tree_map(lambda leaf: _leaf(leaf, device), tree)


def _leaf(leaf: Any, device: Any) -> Any:
    if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer):
        return jnp.array(leaf, copy=True)
    if not isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    array = _numbers(leaf)
    sharding = leaf.sharding
    if sharding is None and isinstance(leaf, PlacedStruct):
        sharding = on_device(device, leaf.wanted_memory_kind)
    return array if sharding is None else jax.device_put(array, sharding)


def _numbers(leaf: jax.ShapeDtypeStruct) -> Any:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        keys = (jax.random.key(0, impl=name) for name in _KEYS)
        key = next((key for key in keys if key.dtype == leaf.dtype), None)
        if key is None:
            hint = "give the case a real one: jax.random.key(0)"
            raise RegistryError(f"no key of type {leaf.dtype} can be made up", hint=hint)
        return jnp.broadcast_to(key, leaf.shape)
    one = jnp.issubdtype(leaf.dtype, jnp.inexact)
    if leaf.weak_type and not leaf.shape:
        return jnp.asarray(1.0 if one else 0)
    return jnp.ones(leaf.shape, leaf.dtype) if one else jnp.zeros(leaf.shape, leaf.dtype)


def dropped_leaves_hint(case: Any, error: BaseException) -> str:
    """Hint for a case that passes an optimizer state made from an abstract Equinox model.

    `eqx.is_inexact_array` is false for abstract arrays, so `eqx.filter` drops them: the state has None in their place.

    Args:
        case: the case that failed to trace.
        error: the exception it raised.

    Returns:
        the hint; "" for any other error.
    """
    kind = module_type()
    if "NoneType" not in message(error) or not kind:
        return ""
    found: dict[type, set[bool]] = {}
    pending: list[Any] = [case.args, case.kwargs]
    while pending:
        for node in tree_flatten(pending.pop(), is_leaf=lambda one: isinstance(one, kind))[0]:
            if isinstance(node, kind):
                leaves = jax.tree.leaves(node)
                abstract = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
                found.setdefault(type(node), set()).add(abstract)
    for model, states in found.items():
        if states == {True, False}:
            return (
                f"one {model.__name__} of the case has abstract arrays and another one has none: "
                "`eqx.filter(model, eqx.is_inexact_array)` drops abstract arrays. Make the model and the state of its "
                "optimizer in one function, and give that to eqx.filter_eval_shape"
            )
    return ""
