"""Names of targets: `cpu`, `cpu-8`, `tpu-v5e-2x2`, `cuda-h100-x4`, `attached`. Nothing here needs JAX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hlodiff.config import closest
from hlodiff.errors import UsageError


@dataclass(frozen=True, slots=True)
class Gpu:
    """The figures of a GPU that XLA's cost model and code generator use.

    Args:
        name: the device's own name.
        capability: CUDA compute capability, major and minor.
        cores: streaming multiprocessors.
        fpus_per_core: FP32 lanes of each.
        shared_per_core: bytes of shared memory of each.
        shared_per_block: bytes of it that one block may opt in to.
        bandwidth: bytes per second of device memory.
        memory: bytes of device memory.
        l2: bytes of the L2 cache.
        clock: GHz.

    Example:
        >>> GPUS["h100"].cores
        132
    """

    name: str
    capability: tuple[int, int]
    cores: int
    fpus_per_core: int
    shared_per_core: int
    shared_per_block: int
    bandwidth: int
    memory: int
    l2: int
    clock: float


# The figures are those that XLA itself publishes for these devices, read from the devices' own drivers
# (openxla/xla, xla/backends/gpu/target_config/specs: h100_sxm, h200, b200, a100_sxm_80 and a100_sxm_40).
GPUS = {
    "h100": Gpu("NVIDIA H100 80GB HBM3", (9, 0), 132, 128, 233472, 232448, 3352320000000, 84942979072, 52428800, 1.98),
    "h200": Gpu(
        "NVIDIA H200 141GB HBM3e", (9, 0), 132, 128, 233472, 232448, 4800000000000, 151397597184, 52428800, 1.98
    ),
    "b200": Gpu("NVIDIA B200", (10, 0), 148, 128, 233472, 232448, 7672320000000, 191514411008, 132644864, 1.965),
    "a100": Gpu("NVIDIA A100-SXM4-80GB", (8, 0), 108, 64, 167936, 166912, 2039040000000, 85100068864, 41943040, 1.41),
    "a100_40gb": Gpu(
        "NVIDIA A100-SXM4-40GB", (8, 0), 108, 64, 167936, 166912, 1555200000000, 42331013120, 41943040, 1.41
    ),
}


def target_config(gpu: Gpu) -> str:
    """The text that XLA accepts in place of a device.

    Args:
        gpu: its figures.

    Returns:
        a `GpuTargetConfigProto` in text form.

    Example:
        >>> "core_count: 132" in target_config(GPUS["h100"])
        True
    """
    # The limits of blocks, warps and registers are the same for all of these (CUDA programming guide, compute
    # capabilities 8.0 to 10.0). cuDNN and runtime versions are fixed: they choose the program, not this machine's.
    return f"""gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {gpu.shared_per_core}
  threads_per_core_limit: 2048
  core_count: {gpu.cores}
  fpus_per_core: {gpu.fpus_per_core}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {gpu.bandwidth}
  l2_cache_size: {gpu.l2}
  clock_rate_ghz: {gpu.clock}
  device_memory_size: {gpu.memory}
  shared_memory_per_block_optin: {gpu.shared_per_block}
  cuda_compute_capability {{ major: {gpu.capability[0]} minor: {gpu.capability[1]} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 7 }}
runtime_version {{ major: 12 minor: 8 }}
device_description_str: "{gpu.name}"
"""


Kind = Literal["cpu", "tpu", "cuda", "attached"]


@dataclass(frozen=True, slots=True)
class TargetName:
    """The parsed name of a target.

    Args:
        name: the name itself.
        kind: which compiler.
        model: TPU generation or GPU model; "" for the others.
        shape: chips of a TPU in each direction; empty for the others.
        devices: number of devices that a program for it may use; 0 if it depends on the machine.

    Example:
        >>> parse_target("cuda-h100-x4").devices
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
    largest: int  # chips; larger ones were not tested


GENERATIONS = {
    "v4": _Generation(3, 2, 256),
    "v5e": _Generation(2, 1, 256),
    "v5p": _Generation(3, 1, 256),
    "v6e": _Generation(2, 1, 256),
    "tpu7x": _Generation(3, 2, 256),
}

# Listed by `hlodiff list --targets`; other sizes have names too.
KNOWN = (
    "cpu",
    "cpu-8",
    *(f"tpu-{name}-{'2x2' if g.dimensions == 2 else '2x2x1'}" for name, g in GENERATIONS.items()),
    *(f"cuda-{name}" for name in GPUS),
    "attached",
)
_MOST_CPU_DEVICES = 256
_GPUS_OF_A_HOST = 8


def parse_target(name: str) -> TargetName:
    """Parse the name of a target.

    Args:
        name: the user's input.

    Returns:
        its parts.

    Raises:
        UsageError: no such target; the message has the nearest existing one.

    Example:
        >>> parse_target("tpu-v5e-2x4").shape
        (2, 4)
    """
    target = _parse(name)
    if target is None:
        raise UsageError(
            f"there is no target `{name}`", hint=f"{looks_like(name, KNOWN)}; `hlodiff list --targets` lists them"
        )
    return target


def looks_like(name: str, targets: Iterable[str]) -> str:
    """Hint for a user who gave no valid target: the nearest one, and examples of targets.

    Example:
        >>> looks_like("cpv", KNOWN)
        'did you mean `cpu`? targets look like cpu, tpu-v5e-2x2 or cuda-h100'
    """
    near = "" if name.startswith("gpu") else closest(name, targets)  # `cpu` is similar, but not meant
    return (f"did you mean `{near}`? " if near else "") + "targets look like cpu, tpu-v5e-2x2 or cuda-h100"


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
        if not re.fullmatch(r"[1-9][0-9]{0,2}", rest) or not 2 <= int(rest) <= _MOST_CPU_DEVICES:
            return None
        return TargetName(name, "cpu", "", (), int(rest))
    if kind == "tpu":
        return _tpu(name, rest)
    return _cuda(name, rest) if kind == "cuda" else None


def _tpu(name: str, rest: str) -> TargetName | None:
    model, _, topology = rest.partition("-")
    generation = GENERATIONS.get(model)
    if generation is None or not re.fullmatch(r"[1-9][0-9]?(x[1-9][0-9]?)*", topology):
        return None
    shape = tuple(int(n) for n in topology.split("x"))
    # libtpu compiles for hosts of 2x2 chips, or for one single chip.
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
