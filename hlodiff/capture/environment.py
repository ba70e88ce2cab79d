"""The environment of worker processes: process-wide settings of JAX, XLA and libtpu."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hlodiff.config import Config

Purpose = Literal["discover", "cases", "capture", "probe", "profile", "variants", "vary", "scenario", "imported"]


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings shared by all programs of one worker.

    Args:
        attached: whether the worker opens the accelerator of this machine.
        cpu_devices: number of its CPU devices.

    Example:
        >>> Setting(False, 8).cpu_devices
        8
    """

    attached: bool
    cpu_devices: int


SEED = "PYTHONHASHSEED"

# Read by libtpu when it starts, in every process that compiles for TPUs.
LIBTPU = {
    "TPU_SKIP_MDS_QUERY": "1",  # otherwise libtpu waits minutes for a metadata server
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # nothing runs on a TPU here, so processes need no lock on it
}

# Read when a plugin starts. Without it, some CUDA plugins require CUDA libraries that only running needs.
CUDA = {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}

# Variables that would change or break a capture and are not settings of a program.
_DROPPED = (
    "JAX_DISABLE_JIT", "JAX_PLATFORM_NAME", "JAX_NUM_CPU_DEVICES", "JAX_COMPILATION_CACHE_DIR", "JAX_DUMP_IR_TO",
    "JAX_LOG_COMPILES", "JAX_CHECK_TRACER_LEAKS", "JAX_EXPLAIN_CACHE_MISSES",
)  # fmt: skip

# Flags for what XLA dumps or logs, where it looks for files, and how many threads it uses.
_NO_MATTER = (
    "--xla_dump_", "--xla_force_host_platform_device_count", "--xla_gpu_cuda_data_dir", "--xla_log_",
    "--xla_gpu_force_compilation_parallelism", "--xla_cpu_parallel_codegen_split_count", "--xla_hlo_profile",
    "--vmodule", "--v=", "--minloglevel", "--stderrthreshold", "--log_dir", "--logtostderr", "--alsologtostderr",
)  # fmt: skip

# Variables that workers inherit and that affect compilation.
_COMPILED_BY = re.compile(r"(XLA_FLAGS|LIBTPU_INIT_ARGS|JAX_(?!COMPILATION_CACHE|PLATFORM|LOG|DUMP|TRACEBACK).*)$")

# This flag would override the number of devices that a target needs.
_FORBIDDEN = ("--xla_force_host_platform_device_count",)


def worker_environment(config: Config, setting: Setting, outside: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a worker.

    Args:
        config: its flags and variables take precedence.
        setting: what all programs of the worker share.
        outside: the environment of this process; its XLA_FLAGS are kept.

    Returns:
        names and values.

    Example:
        >>> worker_environment(Config(Path(".")), Setting(False, 1), {})["JAX_PLATFORMS"]
        'cpu'
    """
    env = {name: value for name, value in outside.items() if name not in _DROPPED}
    # With another seed, a function that iterates over a set of strings may be traced in another order.
    env[SEED] = env.get(SEED) or "0"
    env |= {
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        "JAX_NUM_CPU_DEVICES": str(setting.cpu_devices),
        "PYTHONUNBUFFERED": "1",  # the log must contain everything printed before a worker died
        **LIBTPU,
    }
    if not setting.attached:
        env = CUDA | env | {"JAX_PLATFORMS": "cpu"}
        path = env.get("PATH", "")
        folder = ptxas_folder()
        env["PATH"] = f"{folder}:{path}" if folder else path
    else:
        # Nothing runs, so leave device memory to other processes.
        env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    env["XLA_FLAGS"] = _joined(outside.get("XLA_FLAGS", "").split(), config.xla_flags)
    env["LIBTPU_INIT_ARGS"] = _joined(outside.get("LIBTPU_INIT_ARGS", "").split(), config.libtpu_init_args)
    if config.x64 is not None:
        env["JAX_ENABLE_X64"] = str(config.x64).lower()
    if config.matmul_precision is not None:
        env["JAX_DEFAULT_MATMUL_PRECISION"] = config.matmul_precision
    return env | dict(config.env)


def compiled_by(outside: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that affect compilation by JAX and XLA.

    Args:
        outside: the environment of a process.

    Returns:
        the variables that workers inherit and that may change a program.

    Example:
        >>> compiled_by({"XLA_FLAGS": "--xla_a=1", "JAX_ENABLE_X64": "1", "HOME": "/root", "JAX_PLATFORMS": "cpu"})
        {'XLA_FLAGS': '--xla_a=1', 'JAX_ENABLE_X64': '1'}
    """
    return {name: value for name, value in outside.items() if _COMPILED_BY.match(name)}


def elsewhere(outside: Mapping[str, str], here: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process on another machine, with this machine's values for variables that affect programs.

    Args:
        outside: environment of that process.
        here: result of `compiled_by` here, and the hash seed.
    """
    kept = {name: value for name, value in outside.items() if not _COMPILED_BY.match(name) and name != SEED}
    return kept | dict(here)


def defaults_for(target: str) -> dict[str, str]:
    """Environment variables that a process needs to compile for a target; they apply only if unset.

    Args:
        target: name of the target.

    Returns:
        names and values.

    Example:
        >>> defaults_for("cuda-h100")
        {'JAX_SKIP_CUDA_CONSTRAINTS_CHECK': '1'}
    """
    return {"tpu": LIBTPU, "cuda": CUDA}.get(target.partition("-")[0], {})


def _joined(first: Iterable[str], last: Iterable[str]) -> str:
    return " ".join(flag for flag in (*first, *last) if not flag.startswith(_FORBIDDEN))


def flags_that_matter(flags: str) -> list[str]:
    """The flags that may change a program, in an order that does not depend on who set them.

    Args:
        flags: the value of XLA_FLAGS or LIBTPU_INIT_ARGS.

    Returns:
        each flag once, sorted; the last value of a repeated flag, as in XLA.

    Example:
        >>> flags_that_matter("--xla_b=1 --xla_dump_to=/tmp --xla_a=2 --xla_b=3")
        ['--xla_a=2', '--xla_b=3']
    """
    last = {flag.partition("=")[0]: flag for flag in flags.split() if not flag.startswith(_NO_MATTER)}
    return [last[name] for name in sorted(last)]


def ptxas_folder() -> Path | None:
    """The folder of `ptxas` in NVIDIA's pip packages; None if they are not installed.

    Returns:
        the folder.

    Example:
        >>> ptxas_folder()  # doctest: +SKIP
        PosixPath('.../site-packages/nvidia/cuda_nvcc/bin')
    """
    for entry in sys.path:
        for package in ("cuda_nvcc", "cu13"):
            folder = Path(entry, "nvidia", package, "bin")
            if (folder / "ptxas").is_file():
                return folder
    return None
