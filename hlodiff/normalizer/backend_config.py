"""Backend configurations: JSON that every backend fills with its own plans, estimates and bookkeeping."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from hlodiff.hlo.grammar import unquote
from hlodiff.hlo.model import Instruction, Module
from hlodiff.normalizer.custom_call_targets import is_of_xla
from hlodiff.normalizer.rewrite import map_attribute, map_instructions, with_attribute

# Every key is a path from the top. Estimates of the cost model and bookkeeping of one run of the compiler; what a
# kernel does (window bounds, emitter, compute type, aliasing operands, fusion kind) is not here and stays.
CPU_NOISE = frozenset([("outer_dimension_partitions",)])
CUDA_NOISE = frozenset([("reification_cost",), ("operation_queue_id",), ("force_earliest_schedule",)])
TPU_NOISE = frozenset(
    [
        ("window_config", "estimated_cycles"),
        ("window_config", "estimated_bundle_count"),
        ("window_config", "ml_estimated_microseconds"),
        ("window_config", "estimated_vmem_bytes"),
        ("window_config", "estimated_scoped_vmem_bytes"),
        ("retry_config",),
        ("indices_config", "index_known_bits"),
        ("scoped_memory_configs", "offset"),
        ("scoped_memory_configs", "size"),
        ("used_scoped_memory_configs", "offset"),
        ("used_scoped_memory_configs", "size"),
    ]
)
# Lists and objects that XLA prints even where nobody set them: empty is what absent is. Not for every key.
EMPTY_NOISE = frozenset(
    [
        ("flag_configs",),
        ("scoped_memory_configs",),
        ("used_scoped_memory_configs",),
        ("aliasing_operands", "lists"),
        ("indices_config", "is_index_aligned"),
        ("output_chunk_bound_config", "output_chunk_bound"),
        ("window_config",),
        ("indices_config",),
        ("aliasing_operands",),
        ("output_chunk_bound_config",),
        ("native_emitter_backend_config",),
    ]
)
# Keys that only XLA's own configurations have, printed by every compiler version that prints defaults at all.
_OF_XLA = frozenset(["flag_configs", "retry_config", "operation_queue_id", "force_earliest_schedule", "device_type"])
_ZERO_ENUMS = ("_INVALID", "_UNSPECIFIED")  # what proto style and XLA call the value with number 0
_Path = tuple[str, ...]


def parse_config(value: str) -> dict[str, Any] | None:
    """The JSON object in a `backend_config`, printed bare or (older XLA) as a string; None where it is no object."""
    text = unquote(value)
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def print_config(config: dict[str, Any]) -> str:
    """JSON with sorted keys and without spaces."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"))


def json_spelling(module: Module) -> tuple[Module, int]:
    """Print every JSON configuration with sorted keys, bare; what is no JSON stays verbatim."""
    return map_attribute(module, "backend_config", _respelled)


@lru_cache(maxsize=4096)
def _respelled(value: str) -> str:
    config = parse_config(value)
    return value if config is None else print_config(config)


def config_noise(module: Module) -> tuple[Module, int]:
    """Drop what the lists above name and fields at their default; an empty configuration is removed.

    XLA's configurations are proto3 messages: a number, text, flag, enum or list at its default and a missing one are
    the same, and compiler versions differ in which they print. A message that is there and empty is not a missing one
    (a known induction variable with index 0). Custom calls that are not XLA's own keep all that they carry.
    """
    return map_instructions(module, _without_noise)


def _without_noise(it: Instruction) -> Instruction:
    value = it.attribute("backend_config")
    if value is None:
        return it
    if not is_of_xla(it):
        return it
    kept = _pruned(value, it.opcode.startswith("custom-call"))
    return it if kept == value else with_attribute(it, "backend_config", kept)


@lru_cache(maxsize=4096)
def _pruned(value: str, of_custom_call: bool) -> str | None:
    config = parse_config(value)
    if config is None:
        return value
    kept = _prune(config, (), of_xla=not of_custom_call or not _OF_XLA.isdisjoint(config))
    if kept == config:
        return value
    return print_config(kept) if kept else None


_NOISE = CPU_NOISE | CUDA_NOISE | TPU_NOISE


def _prune(config: dict[str, Any], path: _Path, *, of_xla: bool) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in config.items():
        here = (*path, key)
        if here in _NOISE:
            continue
        if isinstance(value, dict):
            value = _prune(value, here, of_xla=of_xla)
        elif isinstance(value, list):
            value = [_prune(part, here, of_xla=of_xla) if isinstance(part, dict) else part for part in value]
        if (here in EMPTY_NOISE and not value) or (of_xla and _is_default(value)):
            continue
        kept[key] = value
    return kept


def _is_default(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("", "0") or value.endswith(_ZERO_ENUMS)
    return value is None or (not isinstance(value, dict) and not value)  # 0, 0.0, false, []


# Keys at the top of a configuration, and inside `fusion_backend_config` and `collective_backend_config`.
_TUNING = frozenset(
    [
        ("sizes",),  # contracting tile of a dot inside a Triton fusion
        ("native_emitter_backend_config",),
        ("fusion_backend_config", "block_level_fusion_config"),
        ("fusion_backend_config", "triton_gemm_config"),
        ("fusion_backend_config", "cudnn_fusion_config"),
        ("fusion_backend_config", "cuda_fusion_config"),
        ("fusion_backend_config", "custom_fusion_config"),
        ("collective_backend_config", "kernel_strategy"),
        ("gemm_backend_config", "selected_algorithm"),
        ("gemm_backend_config", "autotune_workspace_size"),
        ("cudnn_conv_backend_config", "algorithm"),
        ("block_level_fusion_config",),
        ("reduction_tiling",),
    ]
)


@lru_cache(maxsize=4096)
def split_backend_config(text: str) -> tuple[str, str]:
    """Split a `backend_config` into the part that belongs to the program and the tuning.

    Args:
        text: the value as in the program.

    Returns:
        The program part and the tuning part, each JSON with sorted keys or "" where there is nothing. What is no
        JSON is all program.

    Example:
        >>> split_backend_config('{"device_type":"GPU","sizes":["16"]}')
        ('{"device_type":"GPU"}', '{"sizes":["16"]}')
    """
    config = parse_config(text)
    if config is None:
        return text, ""
    program: dict[str, Any] = {}
    tuning: dict[str, Any] = {}
    for key, value in config.items():
        if (key,) in _TUNING:
            tuning[key] = value
        elif isinstance(value, dict):
            inner = {k: v for k, v in value.items() if (key, k) in _TUNING}
            if inner:
                tuning[key] = inner
            rest = {k: v for k, v in value.items() if k not in inner}
            if rest or not inner:
                program[key] = rest
        else:
            program[key] = value
    return (print_config(program) if program else ""), (print_config(tuning) if tuning else "")
