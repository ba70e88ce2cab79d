"""Whose configuration an instruction carries: XLA's own, or that of a custom call which somebody registered.

What is dropped, tuned or a pointer is known by key, and only XLA's keys are known. In a custom call of anybody else the
same keys may decide what is computed.
"""

from __future__ import annotations

import re

from hlodiff.hlo.model import Instruction

# Libraries that XLA calls and kernels that it makes: `__cublas$gemm`, `__onednn$matmul`, `__gpu$xla.gpu.triton`.
_LIBRARIES = re.compile(
    r"__(?:cublas|cudnn|cufft|cusolver|cusparse|cub|cutlass|hipblas|hipblaslt|miopen|rocblas|onednn|acl|ynn|gpu|xla|triton)"
    r"(?:\$|$)"
)
# The linear algebra among them was read off TPU programs of jnp.linalg and jax.lax.linalg (libtpu 0.0.42).
_OF_XLA = frozenset(
    ["AllocateBuffer", "ApproxTopK", "AssumeGatherIndicesInBound", "AsyncCollectiveDone", "AsyncCollectiveStart",
     "Cholesky", "CompactWyHelper", "Eigh", "EighTpu", "GatherScatterIndicesBitpacked", "HostExecute",
     "InvertDiagBlocksLowerTriangular", "InvertDiagBlocksUpperTriangular", "LuDecomposition", "LuDecompositionBlock",
     "MoveToDevice", "MoveToHost", "PadToStatic", "PartialReduce", "ProductOfElementaryHouseholderReflectors",
     "QrDecomposition", "QrDecompositionBlock", "SPMDFullToShardShape", "SPMDShardToFullShape", "Sharding",
     "SliceToDynamic", "TopK", "X64Combine", "X64SplitHigh", "X64SplitLow", "annotate_device_placement",
     "tpu_custom_call"]
)  # fmt: skip
# What Pallas and jax-triton make of kernels; `tpu_custom_call` is both.
_KERNELS = re.compile(r"tpu_custom_call|mosaic_gpu\w*|triton_kernel_call|__triton\S*|__gpu\$xla\.gpu\.triton")
_PARTITIONERS = frozenset(["CustomSPMDPartitioning", "InspectSharding"])
_CALLBACK = re.compile(r"xla_\w*python\w*callback\w*")


def target_of(it: Instruction) -> str | None:
    """What a custom call calls, in either stage; None for other instructions and later asynchronous halves."""
    if not it.opcode.startswith(("custom-call", "custom_call")) or it.opcode in (
        "custom-call-done",
        "custom-call-update",
    ):
        return None
    return (it.attribute("custom_call_target") or it.attribute("call_target_name") or "").strip('"')


def is_of_xla(it: Instruction) -> bool:
    """Whether the keys of an instruction's configuration are XLA's.

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> [is_of_xla(Instruction("c", "custom-call", Shape("f32"), attributes=(("custom_call_target", target),)))
        ...  for target in ('"__cublas$gemm"', '"my_op"')]
        [True, False]
    """
    target = target_of(it)
    if target is None:
        return True
    return target in _OF_XLA or target in _PARTITIONERS or bool(_LIBRARIES.match(target) or _CALLBACK.fullmatch(target))


def holds_kernel(it: Instruction) -> bool:
    """Whether a custom call carries a serialized kernel of Pallas or Triton."""
    return bool(_KERNELS.fullmatch(target_of(it) or ""))


def is_callback(it: Instruction) -> bool:
    """Whether a custom call runs Python on the host: `xla_ffi_python_cpu_callback`, `xla_python_gpu_callback`, ..."""
    return bool(_CALLBACK.fullmatch(target_of(it) or ""))


def holds_pointer(it: Instruction) -> bool:
    """Whether the configuration of a custom call may be an address of a Python object in the compiling process."""
    return is_callback(it) or target_of(it) in _PARTITIONERS
