"""Which part of a backend configuration is the program, and which is how a GPU is tuned to run it.

Tiles, warps, stages and selected algorithms stay in the file and are compared, but in a channel of their own: they
change with the device and with autotuning while the program stays the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hlodiff.normalize.backend_config import parse_config, print_config

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
    """Split a `backend_config` into what the program says and how it is tuned.

    Args:
        text: the value as it stands in the program.

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
