"""Devices of a target: those of this machine, or compile-only devices for hardware that is not attached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

from hlodiff.capture import jax_private
from hlodiff.capture.targets import GPUS, TargetName, gpu_topology, target_config


class TooFewDevices(Exception):
    """A case requests a larger mesh than its target has."""


class Target:
    """The argument `target` of a registered function.

    Args:
        name: the parsed name of the target.
        devices: its devices; programs may be lowered and compiled for them, not run.

    Example:
        >>> target.mesh((2, 2), ("data", "model"))  # doctest: +SKIP
    """

    def __init__(self, name: TargetName, devices: Sequence[Any]) -> None:
        self.target = name
        self.name = name.name
        self.kind = name.kind
        self.devices = tuple(devices)
        self.honours_memory: dict[str, bool] = {}  # by memory kind; filled by `hlodiff.capture.compile_case`

    def mesh(self, shape: Sequence[int], axis_names: Sequence[str], *, axis_types: Any = None) -> Mesh:
        """A mesh of the first devices of the target.

        Args:
            shape: how many devices along each axis.
            axis_names: name of each axis.
            axis_types: as for `jax.make_mesh`; all `AxisType.Auto` by default.

        Returns:
            the mesh, with devices in the order of `jax.make_mesh`.
        """
        count = math.prod(shape)
        if count > len(self.devices):
            raise TooFewDevices(f"it asks for {count} devices, and `{self.name}` has {len(self.devices)}")
        types = axis_types if axis_types is not None else (AxisType.Auto,) * len(shape)
        return jax.make_mesh(tuple(shape), tuple(axis_names), axis_types=types, devices=self.devices[:count])


def open_target(name: TargetName) -> Target:
    """Open a target, with its devices.

    Args:
        name: the parsed name of the target.

    Returns:
        the target; its devices are compile-only for `tpu` and `cuda`.

    Raises:
        Exception: any error that JAX raises; see `hlodiff.capture.compile_case.cannot_open`.
    """
    if name.kind == "cpu":
        return Target(name, jax.devices("cpu")[: name.devices])
    if name.kind == "attached":
        return Target(name, jax.devices())
    if name.kind == "tpu":
        topology = f"{name.model}:{'x'.join(map(str, name.shape))}"
        # libtpu's hosts have 2x2 chips by default, and a single chip is not a multiple of that.
        options = {"chips_per_host_bounds": (1, 1, 1)} if math.prod(name.shape) == 1 else {}
        found = topologies.get_topology_desc(platform="tpu", topology_name=topology, **options)
    else:
        jax_private.accept_unlisted_memories()
        config, topology = target_config(GPUS[name.model]), gpu_topology(name.devices)
        found = topologies.get_topology_desc(platform="cuda", topology_name="", target_config=config, topology=topology)
    return Target(name, found.devices)
