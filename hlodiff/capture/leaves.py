"""Leaves of argument trees: which are traced, and as what."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, Sharding, SingleDeviceSharding
from jax.tree_util import tree_flatten, tree_map, tree_unflatten

from hlodiff.errors import RegistryError

# What JAX calls the default memory of every platform; compile-only GPUs cannot be asked for theirs.
ORDINARY_MEMORY = "device"


class PlacedStruct(jax.ShapeDtypeStruct):
    """A `ShapeDtypeStruct` on one device, whose memory kind is known before the device is."""

    __slots__ = ("wanted_memory_kind",)
    wanted_memory_kind: str


def abstract_leaf(
    shape: tuple[int, ...], dtype: Any, sharding: Sharding | None, memory_kind: str | None, weak_type: bool
) -> Any:
    """A `ShapeDtypeStruct`, see `hlodiff.abstract`."""
    if memory_kind is None:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding, weak_type=weak_type)
    if sharding is not None:
        raise RegistryError(
            "`abstract` got a sharding and a memory kind", hint="sharding.with_memory_kind(kind) holds both"
        )
    leaf = PlacedStruct(shape, dtype, weak_type=weak_type)  # type: ignore[no-untyped-call]
    leaf.wanted_memory_kind = memory_kind
    return leaf


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array, with or without numbers: what `eqx.filter_jit` traces."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct)


def is_scalar(leaf: Any) -> bool:
    """Whether a leaf is a Python number, which `jax.jit` traces and `eqx.filter_jit` does not."""
    return isinstance(leaf, bool | int | float | complex)


def without_numbers(leaf: Any, device: Any) -> Any:
    """What stands for an array while lowering; every other leaf is returned as it is.

    Args:
        leaf: any leaf.
        device: the first device of the target.
    """
    if isinstance(leaf, PlacedStruct):
        sharding = SingleDeviceSharding(device, memory_kind=leaf.wanted_memory_kind)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=leaf.weak_type)
    if isinstance(leaf, jax.ShapeDtypeStruct) or not is_array(leaf):
        return leaf
    if isinstance(leaf, jax.Array):
        struct = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=bool(getattr(leaf, "weak_type", False)))
        return struct.update(sharding=_kept_sharding(leaf.sharding, device))
    return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))


def _kept_sharding(sharding: Sharding, device: Any) -> Sharding | None:
    """A real array lies on a device of this machine, which says nothing about the target, unless it was spread."""
    of: Any = next(iter(sharding.device_set))
    if isinstance(sharding, NamedSharding) and of.platform == device.platform:
        return sharding
    kind = sharding.memory_kind
    return SingleDeviceSharding(device, memory_kind=kind) if kind not in (None, ORDINARY_MEMORY) else None


def describe(sharding: Any) -> str:
    """A sharding in one line that holds no device ids."""
    if isinstance(sharding, NamedSharding):
        axes = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape.items())
        spec = ", ".join(_axis(part) for part in sharding.spec)
        return f"P({spec}) over {axes}"
    return "one device" if isinstance(sharding, SingleDeviceSharding) else str(sharding)


def _axis(part: Any) -> str:
    if isinstance(part, tuple):
        return "(" + ", ".join(map(str, part)) + ")"
    return "None" if part is None else str(part)


def split(tree: Any, *, scalars: bool) -> tuple[Any, Any]:
    """The traced leaves and the static leaves of a tree, None in place of the others.

    Args:
        tree: any tree.
        scalars: whether Python numbers are traced; those inside an Equinox module never are.
    """
    module = module_type()

    def one(leaf: Any) -> tuple[Any, Any]:
        if isinstance(leaf, module):
            leaves, treedef = tree_flatten(leaf)
            halves = [(x, None) if is_traced(x) else (None, x) for x in leaves]
            return tree_unflatten(treedef, [h[0] for h in halves]), tree_unflatten(treedef, [h[1] for h in halves])
        return (leaf, None) if is_traced(leaf) or (scalars and is_scalar(leaf)) else (None, leaf)

    leaves, treedef = tree_flatten(tree, is_leaf=lambda node: isinstance(node, module))
    halves = [one(leaf) for leaf in leaves]
    return tree_unflatten(treedef, [half[0] for half in halves]), tree_unflatten(treedef, [half[1] for half in halves])


def join(traced: Any, static: Any) -> Any:
    """The tree that `split` took apart."""
    return tree_map(lambda a, b: b if a is None else a, traced, static, is_leaf=lambda leaf: leaf is None)


def is_traced(leaf: Any) -> bool:
    """Whether a leaf is an array, with or without numbers, or one that is being traced."""
    return is_array(leaf) or isinstance(leaf, jax.core.Tracer)


def module_type() -> tuple[type, ...]:
    """Equinox's modules, for `isinstance`; nothing where Equinox is not installed."""
    try:
        import equinox as eqx
    except ImportError:
        return ()
    return (eqx.Module,)
