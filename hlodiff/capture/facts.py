"""Facts about a program besides its text: plain JSON values for summary.yaml."""

from __future__ import annotations

import functools
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import jax
from jax.sharding import Sharding
from jax.tree_util import keystr, tree_flatten_with_path, tree_leaves

from hlodiff.capture import jax_private
from hlodiff.capture.arguments import ORDINARY_MEMORY, describe
from hlodiff.capture.environment import flags_that_matter
from hlodiff.capture.targets import GPUS, TargetName

_PLUGINS = {
    "cpu": (),
    "tpu": ("libtpu", "libtpu-nightly"),
    "cuda": ("jax-cuda12-pjrt", "jax-cuda13-pjrt"),
    "attached": ("libtpu", "jax-cuda12-pjrt", "jax-cuda13-pjrt", "jax-rocm7-pjrt"),
}


def toolchain(target: TargetName, environment: dict[str, str]) -> dict[str, Any]:
    """The toolchain of a program: versions and settings that affect it, besides the function.

    Args:
        target: the target to compile for.
        environment: the worker's environment variables.

    Returns:
        names and plain values, in a fixed order; flags that do not affect programs are omitted.

    Example:
        >>> toolchain(parse("cpu"), {})["jax"]  # doctest: +SKIP
        '0.10.2'
    """
    settings = {name: getattr(jax.config, f"jax_{option}") for name, option in _SETTINGS.items()}
    return {
        "jax": jax.__version__,
        "jaxlib": _jaxlib(),
        "plugin": _plugin(target),
        "device": _device(target),
        "xla_flags": flags_that_matter(environment.get("XLA_FLAGS", "")),
        "libtpu_init_args": flags_that_matter(environment.get("LIBTPU_INIT_ARGS", "")) if target.kind == "tpu" else [],
        "x64": bool(settings["x64"]),
        "matmul_precision": settings["matmul_precision"] or "default",
        "partitioner": "shardy" if settings["shardy"] else "gspmd",
        "threefry_partitionable": bool(settings["threefry_partitionable"]),
        "prng": str(settings["prng"]),
    }


_SETTINGS = {
    "x64": "enable_x64",
    "matmul_precision": "default_matmul_precision",
    "shardy": "use_shardy_partitioner",
    "threefry_partitionable": "threefry_partitionable",
    "prng": "default_prng_impl",
}


def _device(target: TargetName) -> str | None:
    """The device whose figures the compiler used, if the target's name does not imply it."""
    if target.kind == "attached":
        return str(jax.devices()[0].device_kind)
    return GPUS[target.model].name if target.kind == "cuda" else None


@functools.cache
def _jaxlib() -> str:
    return version("jaxlib")


@functools.cache
def _plugin(target: TargetName) -> str | None:
    for name in _PLUGINS[target.kind]:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return None


def arguments(traced: Any, lowered: Any, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """One record per flat argument of a lowered function, in program order.

    Args:
        traced: the `jax.stages.Traced`.
        lowered: the `jax.stages.Lowered`.
        names: a readable name for each.

    Returns:
        records with `path`, `shape`, `dtype`, `donated`, non-default `sharding`, `memory_kind` and `weak_type`, and
        `unused` for an argument that the program does not take.
    """
    infos = tree_leaves(traced.args_info, is_leaf=lambda node: hasattr(node, "donated"))
    if len(infos) != len(names):  # a container that holds only arrays has dropped them
        infos = jax_private.argument_infos(traced)
    shardings = jax_private.kept_shardings(lowered)
    records = []
    for i, (info, name) in enumerate(zip(infos, names, strict=True)):
        record: dict[str, Any] = {"path": name, **_array(info), "donated": bool(info.donated)}
        record |= {"weak_type": True} if jax_private.is_weak(info) else {}
        record |= _placement(shardings.get(i)) if i in shardings else {"unused": True}
        records.append(record)
    return records


def results(lowered: Any) -> list[dict[str, Any]]:
    """One record per flat result of a lowered function.

    Args:
        lowered: the `jax.stages.Lowered`.

    Returns:
        records with `path`, `shape` and `dtype`, and if known `sharding` and `memory_kind`.
    """
    flat = tree_flatten_with_path(lowered.out_info)[0]
    return [
        {"path": "result" + keystr(path), **_array(info), **_placement(getattr(info, "sharding", None))}
        for path, info in flat
    ]


def _array(info: Any) -> dict[str, Any]:
    return {"shape": [int(n) if isinstance(n, int) else str(n) for n in info.shape], "dtype": str(info.dtype)}


def _placement(sharding: Any) -> dict[str, Any]:
    if not isinstance(sharding, Sharding):
        return {}
    described = describe(sharding)
    kind = sharding.memory_kind
    placement = {} if described == "one device" else {"sharding": described}
    return placement | ({"memory_kind": kind} if kind not in (None, ORDINARY_MEMORY) else {})


_MEMORY = ("argument", "output", "temp", "alias", "generated_code")
MEMORY_FIGURES = (*(prefix + name for prefix in ("", "host_") for name in _MEMORY), "peak")
"""Keys of the result of `memory`, in order."""
_COST = {"flops": "flops", "bytes_accessed": "bytes accessed", "transcendentals": "transcendentals"}
COST_FIGURES = tuple(_COST)
"""Keys of the result of `cost`, in order."""


def memory(compiled: Any) -> dict[str, int | None]:
    """Bytes that a compiled program needs on each device and on the host.

    Args:
        compiled: the `jax.stages.Compiled`.

    Returns:
        `argument`, `output`, `temp`, `alias`, `generated_code`, each also with the prefix `host_`, and `peak`, the
        maximum in use at one time; None if XLA gives no value, or a peak below `temp`, which is impossible.
    """
    return memory_figures(compiled.memory_analysis())


def memory_figures(stats: Any) -> dict[str, int | None]:
    """Like `memory`, from XLA's `CompiledMemoryStats`."""
    names = MEMORY_FIGURES[:-1]
    sizes = {name: getattr(stats, f"{name}_size_in_bytes", None) for name in names}
    peak = getattr(stats, "peak_memory_in_bytes", None)
    is_possible = peak is None or peak >= (sizes["temp"] or 0)
    return sizes | {"peak": peak if is_possible else None}


def cost(compiled: Any) -> dict[str, float | None]:
    """XLA's own cost estimate for a compiled program.

    Args:
        compiled: the `jax.stages.Compiled`.

    Returns:
        `flops`, `bytes_accessed` and `transcendentals`; None if XLA gives no value, as for every compile-only GPU.
    """
    return cost_figures(compiled.cost_analysis())


def cost_figures(analysis: Any) -> dict[str, float | None]:
    """Like `cost`, from XLA's table of properties or a list of them."""
    if isinstance(analysis, list):
        analysis = analysis[0] if analysis else None
    return {name: (analysis.get(key) if analysis else None) for name, key in _COST.items()}


def partitions(stablehlo: str) -> int:
    """Number of devices that run a program together.

    Args:
        stablehlo: the program's text.

    Returns:
        partitions times replicas.
    """
    found = re.findall(r"mhlo\.num_(?:partitions|replicas) = (\d+)", stablehlo[:4096])
    product = 1
    for number in found:
        product *= int(number)
    return product
