"""Figures of the GPUs that programs are compiled for without having one: XLA's `GpuTargetConfigProto`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """What XLA's cost model and code generator ask of a GPU.

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
    """The text that XLA takes in place of a device.

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
