"""Which targets this machine can compile for, and what to install for the others."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import PackageNotFoundError, version

from hlodiff.capture.environment import ptxas_folder
from hlodiff.capture.targets import TargetName
from hlodiff.errors import CaptureError

OLDEST_JAX = "0.7.1"  # tested: 0.7.1, 0.7.2, 0.8.0, 0.9.1, 0.9.2, 0.10.2 and 0.11.2


def check_jax() -> None:
    """Reject a missing or too old JAX, without importing it.

    Raises:
        CaptureError: with what to install.

    Example:
        >>> check_jax()
    """
    found, oldest = installed_version("jax"), OLDEST_JAX
    if found is None:
        raise CaptureError("JAX is not installed, and capturing needs it", hint=f"pip install 'jax>={oldest}'")
    if is_too_old(found):
        hint = f"pip install 'jax>={oldest}'"
        raise CaptureError(f"JAX {found} is too old to capture with: {oldest} is needed", hint=hint)
    lib = installed_version("jaxlib")
    if lib is None:
        raise CaptureError(f"jaxlib is not installed beside JAX {found}", hint=f"pip install jaxlib=={found}")


def missing_packages(name: TargetName) -> tuple[str, str] | None:
    """What a target needs that this machine lacks, judged by the installed packages alone.

    Args:
        name: the target.

    Returns:
        the reason and what to type; None if nothing is missing.

    Example:
        >>> from hlodiff.capture.targets import parse_target
        >>> missing_packages(parse_target("cpu")) is None
        True
    """
    if name.kind == "tpu":
        if installed_version("libtpu") or installed_version("libtpu-nightly"):
            return None
        return "libtpu is not installed", f'pip install "jax[tpu]=={installed_version("jax")}"'
    return _missing_cuda() if name.kind == "cuda" else None


def _missing_cuda() -> tuple[str, str] | None:
    lib = installed_version("jaxlib") or ""
    both = [f"jax-cuda12-{part}=={lib}" for part in ("plugin", "pjrt")]
    if not any(installed_version(f"jax-cuda{n}-plugin") and installed_version(f"jax-cuda{n}-pjrt") for n in (12, 13)):
        return "JAX's CUDA plugin is not installed", f"pip install {' '.join(both)} nvidia-cuda-nvcc-cu12"
    for package in (f"jax-cuda{n}-{part}" for n in (12, 13) for part in ("plugin", "pjrt")):
        found = installed_version(package)
        if found and _numbers(found) != _numbers(lib):
            return f"{package} {found} does not fit jaxlib {lib}", f"pip install {package}=={lib}"
    if ptxas_folder() is None and shutil.which("ptxas") is None:
        return "no ptxas, which XLA needs to compile for NVIDIA GPUs", "pip install nvidia-cuda-nvcc-cu12"
    return None


def compiler(name: TargetName) -> str:
    """The package that compiles for a target, with its version: `libtpu 0.0.42`; "" if it is not installed."""
    packages = {"tpu": ("libtpu", "libtpu-nightly"), "cuda": ("jax-cuda12-pjrt", "jax-cuda13-pjrt")}
    for package in (*packages.get(name.kind, ()), "jaxlib"):
        if found := installed_version(package):
            return f"{package} {found}"
    return ""


def is_too_old(jax: str) -> bool:
    """Whether this version of jax or jaxlib is too old to capture with.

    Example:
        >>> is_too_old("0.7.0"), is_too_old("0.10.2")
        (True, False)
    """
    return _numbers(jax) < _numbers(OLDEST_JAX)


def installed_version(package: str) -> str | None:
    """The version of a package in this environment; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])
