"""Arguments to run a case with: given arrays as copies, and numbers that are the same every time for abstract ones."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.tree_util import tree_map

from hlodiff.capture.leaves import PlacedStruct, on_device
from hlodiff.errors import RegistryError

_KEYS = ("threefry2x32", "rbg", "unsafe_rbg")


def concrete(tree: Any, device: Any) -> Any:
    """A tree of arguments with an array in place of each abstract one.

    Args:
        tree: arguments, modules among them.
        device: the first device that the call runs on.

    Returns:
        the same tree: ones for floating point numbers, so that divisions and logarithms are fine; zeros for integers,
        which index the first element of everything, and for truth values; a key for keys. Arrays with numbers are
        copied, since a call may overwrite its arguments.
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
        return _keys(leaf)
    one = jnp.issubdtype(leaf.dtype, jnp.inexact)
    if leaf.weak_type and not leaf.shape:
        return jnp.asarray(1.0 if one else 0)
    return jnp.ones(leaf.shape, leaf.dtype) if one else jnp.zeros(leaf.shape, leaf.dtype)


def _keys(leaf: jax.ShapeDtypeStruct) -> Any:
    for name in _KEYS:
        key = jax.random.key(0, impl=name)
        if key.dtype == leaf.dtype:
            return jnp.broadcast_to(key, leaf.shape)
    raise RegistryError(
        f"no key of type {leaf.dtype} can be made up", hint="give the case a real one: jax.random.key(0)"
    )
