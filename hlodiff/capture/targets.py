"""Names of targets: `cpu`, `cpu-8`, `tpu-v5e-2x2`, `cuda-h100-x4`, `attached`. Nothing here needs JAX."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from hlodiff.capture.gpus import GPUS
from hlodiff.config import closest
from hlodiff.errors import UsageError

Kind = Literal["cpu", "tpu", "cuda", "attached"]


@dataclass(frozen=True, slots=True)
class TargetName:
    """What the name of a target says.

    Args:
        name: the name itself.
        kind: which compiler.
        model: TPU generation or GPU model; "" for the others.
        shape: chips of a TPU in each direction; empty for the others.
        devices: how many devices a program for it may use; 0 where only the machine knows.

    Example:
        >>> parse("cuda-h100-x4").devices
        4
    """

    name: str
    kind: Kind
    model: str
    shape: tuple[int, ...]
    devices: int


@dataclass(frozen=True, slots=True)
class _Generation:
    dimensions: int
    cores: int  # devices per chip, as libtpu's compile-only topologies give them (asked for 2x2 and 2x2x1)
    largest: int  # chips; beyond it nothing was tried


GENERATIONS = {
    "v4": _Generation(3, 2, 256),
    "v5e": _Generation(2, 1, 256),
    "v5p": _Generation(3, 1, 256),
    "v6e": _Generation(2, 1, 256),
    "tpu7x": _Generation(3, 2, 256),
}

# What `hlodiff targets` lists; every other size is reached by its name.
KNOWN = (
    "cpu",
    "cpu-8",
    *(f"tpu-{name}-{'2x2' if g.dimensions == 2 else '2x2x1'}" for name, g in GENERATIONS.items()),
    *(f"cuda-{name}" for name in GPUS),
    "attached",
)
_MOST_CPU_DEVICES = 256
_GPUS_OF_A_HOST = 8


def parse(name: str) -> TargetName:
    """Read the name of a target.

    Args:
        name: what the user wrote.

    Returns:
        what it says.

    Raises:
        UsageError: no such target, with the nearest one that exists.

    Example:
        >>> parse("tpu-v5e-2x4").shape
        (2, 4)
    """
    target = _parse(name)
    if target is None:
        near = closest(name, KNOWN)
        hint = f"did you mean `{near}`? " if near else ""
        raise UsageError(f"there is no target `{name}`", hint=f"{hint}`hlodiff targets` lists them")
    return target


def is_target(name: str) -> bool:
    """Whether a name is the name of a target.

    Args:
        name: any name.

    Returns:
        whether `parse` would accept it.

    Example:
        >>> is_target("cpu-8"), is_target("small")
        (True, False)
    """
    return _parse(name) is not None


def _parse(name: str) -> TargetName | None:
    kind, _, rest = name.partition("-")
    if name in ("cpu", "attached"):
        return TargetName(name, "cpu" if name == "cpu" else "attached", "", (), 1 if name == "cpu" else 0)
    if kind == "cpu":
        return _cpu(name, rest)
    if kind == "tpu":
        return _tpu(name, rest)
    return _cuda(name, rest) if kind == "cuda" else None


def _cpu(name: str, rest: str) -> TargetName | None:
    if not re.fullmatch(r"[1-9][0-9]{0,2}", rest) or not 2 <= int(rest) <= _MOST_CPU_DEVICES:
        return None
    return TargetName(name, "cpu", "", (), int(rest))


def _tpu(name: str, rest: str) -> TargetName | None:
    model, _, topology = rest.partition("-")
    generation = GENERATIONS.get(model)
    if generation is None or not re.fullmatch(r"[1-9][0-9]?(x[1-9][0-9]?)*", topology):
        return None
    shape = tuple(int(n) for n in topology.split("x"))
    # libtpu builds hosts of 2x2 chips; one single chip is the only smaller thing it compiles for.
    whole_hosts = len(shape) == generation.dimensions and all(n % 2 == 0 for n in shape[:2])
    one_chip = shape == (1,) * generation.dimensions
    if not (whole_hosts or one_chip) or math.prod(shape) > generation.largest:
        return None
    return TargetName(name, "tpu", model, shape, math.prod(shape) * generation.cores)


def _cuda(name: str, rest: str) -> TargetName | None:
    model, _, count = rest.partition("-")
    if model not in GPUS or not re.fullmatch(r"|x[1-9][0-9]{0,2}", count) or count == "x1":
        return None
    devices = int(count[1:]) if count else 1
    if rest.endswith("-") or devices > 256 or (devices > _GPUS_OF_A_HOST and devices % _GPUS_OF_A_HOST):
        return None
    return TargetName(name, "cuda", model, (), devices)


def gpu_topology(devices: int) -> str:
    """XLA's name for a number of GPUs: slices, hosts of each, devices of each.

    Args:
        devices: up to eight, or a multiple of eight.

    Returns:
        the name.

    Example:
        >>> gpu_topology(4), gpu_topology(16)
        ('1x1x4', '1x2x8')
    """
    hosts = max(1, devices // _GPUS_OF_A_HOST)
    return f"1x{hosts}x{devices // hosts}"
