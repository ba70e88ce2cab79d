"""Backend configurations and what custom calls carry in them: XLA's plans, kernels, addresses."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any

from hlodiff.errors import HlodiffError
from hlodiff.hlo.grammar import STRING, load_json, unquote
from hlodiff.hlo.model import Instruction, Module, map_attribute, map_instructions, with_attribute, with_attributes

# --- Whose configuration an instruction carries: XLA's own, or that of a custom call registered by others.
#
# What is dropped, tuned or a pointer is known by key, and only XLA's keys are known. In any other custom call the same
# keys may decide what is computed.

# Libraries that XLA calls and kernels that it makes: `__cublas$gemm`, `__onednn$matmul`, `__gpu$xla.gpu.triton`.
_LIBRARIES = re.compile(
    r"__(?:cublas|cudnn|cufft|cusolver|cusparse|cub|cutlass|hipblas|hipblaslt|miopen|rocblas|onednn|acl|ynn|gpu|xla|triton)"
    r"(?:\$|$)"
)
# The linear algebra targets come from TPU programs of jnp.linalg and jax.lax.linalg (libtpu 0.0.42).
_TARGETS_OF_XLA = frozenset(
    ["AllocateBuffer", "ApproxTopK", "AssumeGatherIndicesInBound", "AsyncCollectiveDone", "AsyncCollectiveStart",
     "Cholesky", "CompactWyHelper", "Eigh", "EighTpu", "GatherScatterIndicesBitpacked", "HostExecute",
     "InvertDiagBlocksLowerTriangular", "InvertDiagBlocksUpperTriangular", "LuDecomposition", "LuDecompositionBlock",
     "MoveToDevice", "MoveToHost", "PadToStatic", "PartialReduce", "ProductOfElementaryHouseholderReflectors",
     "QrDecomposition", "QrDecompositionBlock", "SPMDFullToShardShape", "SPMDShardToFullShape", "Sharding",
     "SliceToDynamic", "TopK", "X64Combine", "X64SplitHigh", "X64SplitLow", "annotate_device_placement",
     "tpu_custom_call"]
)  # fmt: skip
# Custom-call targets of Pallas and jax-triton kernels; `tpu_custom_call` is used for both.
_KERNELS = re.compile(r"tpu_custom_call|mosaic_gpu\w*|triton_kernel_call|__triton\S*|__gpu\$xla\.gpu\.triton")
_PARTITIONERS = frozenset(["CustomSPMDPartitioning", "InspectSharding"])
_CALLBACK = re.compile(r"xla_(?:(?!python)\w)*+python(?:(?!callback)\w)*+callback\w*")


def target_of(it: Instruction) -> str | None:
    """The target of a custom call, in either stage; None for other instructions and for `-update` and `-done`."""
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
    return (
        target in _TARGETS_OF_XLA
        or target in _PARTITIONERS
        or bool(_LIBRARIES.match(target) or _CALLBACK.fullmatch(target))
    )


def holds_kernel(it: Instruction) -> bool:
    """Whether a custom call carries a serialized kernel of Pallas or Triton."""
    return bool(_KERNELS.fullmatch(target_of(it) or ""))


def is_callback(it: Instruction) -> bool:
    """Whether a custom call runs Python on the host: `xla_ffi_python_cpu_callback`, `xla_python_gpu_callback`, ..."""
    return bool(_CALLBACK.fullmatch(target_of(it) or ""))


def holds_pointer(it: Instruction) -> bool:
    """Whether the configuration of a custom call may be an address of a Python object in the compiling process."""
    return is_callback(it) or target_of(it) in _PARTITIONERS


# --- JSON in which each backend stores its plans, estimates and bookkeeping.

# Every key is a path from the top. Estimates of the cost model and bookkeeping of one run of the compiler; what decides
# a kernel (window bounds, emitter, compute type, aliasing operands, fusion kind) is not listed and stays.
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
# Lists and objects that XLA prints even if unset: for these keys, but not for all, empty means absent.
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
# Keys that only XLA's own configurations have, printed by every compiler version that prints defaults.
_KEYS_OF_XLA = frozenset(
    ["flag_configs", "retry_config", "operation_queue_id", "force_earliest_schedule", "device_type"]
)
_ZERO_ENUMS = ("_INVALID", "_UNSPECIFIED")  # names of the enum value 0, in proto style and in XLA
_Path = tuple[str, ...]


def parse_config(value: str) -> dict[str, Any] | None:
    """The JSON object in a `backend_config`, printed bare or (older XLA) as a string; None if it is not an object."""
    text = unquote(value)
    if not text.startswith("{"):
        return None
    try:
        found = load_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def print_config(config: dict[str, Any]) -> str:
    """JSON with sorted keys and without spaces."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"))


def json_spelling(module: Module) -> tuple[Module, int]:
    """Print every JSON configuration with sorted keys and unquoted; anything else stays verbatim."""
    return map_attribute(module, "backend_config", _respelled)


@lru_cache(maxsize=4096)
def _respelled(value: str) -> str:
    config = parse_config(value)
    return value if config is None else print_config(config)


def config_noise(module: Module) -> tuple[Module, int]:
    """Drop the keys listed above and fields at their default; remove configurations that become empty.

    XLA's configurations are proto3 messages: a scalar, enum or list at its default equals a missing one, and compiler
    versions differ in which they print. An empty message is not a missing one (a known induction variable with index
    0). Custom calls that are not XLA's own keep everything.
    """
    return map_instructions(module, _without_noise, with_attributes=True)


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
    kept = _prune(config, (), of_xla=not of_custom_call or not _KEYS_OF_XLA.isdisjoint(config))
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


# --- How a GPU runs a kernel (tiles, algorithms), apart from what it computes.

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
        ("barrier_config", "id"),  # TPU: a number for each set of devices that wait for each other, given in order
    ]
)


@lru_cache(maxsize=4096)
def split_backend_config(text: str) -> tuple[str, str]:
    """Split a `backend_config` into the part that belongs to the program and the tuning.

    Args:
        text: the value as in the program.

    Returns:
        The program part and the tuning part, each JSON with sorted keys, or "" if empty. Text that is not JSON is all
        program part.

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


# --- Serialized kernels, and pointers of the process that compiled the program.

MARK = "hlodiff:"
_BODY = re.compile(r"(\\22body\\22:\s*\\22)([A-Za-z0-9+/=]{16,})(?=\\22)")
_BYTECODE = re.compile(r'\b(ir|module) = "(ML\\EFR(?:[^"\\]|\\.)*)"')
# `kernel_hash` covers the bytes with their debug info; `name` is the name of the Python function.
_HASH_AND_NAME = rf"\b(?:kernel_hash|name) = {STRING}"
_EMPTY_METADATA = r'\bkernel_metadata = "\{\}"'
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_SYMBOL = re.compile(r'sym_name = "((?:[^"\\]|\\.)*)"')
_NAMES = frozenset(["kernel_name"])


def hash_kernels(module: Module) -> tuple[Module, int]:
    """Replace Pallas and Triton kernels by a hash of their content; drop their names, which come from Python."""
    return map_instructions(module, _with_kernel_hash)


def _with_kernel_hash(it: Instruction) -> Instruction:
    if it.opcode != "custom_call":
        return it
    pairs: Iterable[tuple[str, str]] = it.attributes
    if holds_kernel(it):
        pairs = ((key, _without_kernel_body(value)) for key, value in it.attributes if key not in _NAMES)
    changed = tuple((key, value) for key, value in pairs if (key, value) != ("mhlo.frontend_attributes", "{}"))
    return it if changed == it.attributes else with_attributes(it, changed)


def _without_kernel_body(text: str) -> str:
    text = _without_entry(text, _EMPTY_METADATA)
    text = _BODY.sub(lambda found: found[1] + base64_digest(found[2]), text)
    return without_bytecode(text)


def without_bytecode(text: str) -> str:
    """An MLIR dictionary (StableHLO's and compiled HLO's typed calls hold the same) with its kernels as their hashes.

    Args:
        text: `{kernel_hash = "...", module = "ML\\EFR...", name = "..."}`; any other text stays as it is.
    """
    if not _BYTECODE.search(text):
        return text
    text = _without_entry(text, _HASH_AND_NAME)
    return _BYTECODE.sub(lambda found: f'{found[1]} = "{kernel_digest(_unescaped(found[2]))}"', text)


def _without_entry(text: str, entry: str) -> str:
    """The text of an MLIR dictionary without the entries that match."""
    return re.sub(rf", {entry}|{entry}, |{entry}", "", text)


def base64_digest(body: str) -> str:
    """`kernel_digest` of a base64 text; any other text is hashed as it is."""
    try:
        return kernel_digest(base64.b64decode(body, validate=True))
    except (binascii.Error, ValueError):
        return _opaque(body.encode())


def kernel_digest(bytecode: bytes) -> str:
    """The text that replaces a kernel: `hlodiff:kernel:sha256:...`, or `hlodiff:opaque:<bytes>:sha256:...`.

    Example:
        >>> kernel_digest(b"object code")[:18]
        'hlodiff:opaque:11:'
    """
    text = _kernel_text(bytecode)
    if text is None:
        return _opaque(bytecode)
    return f"{MARK}kernel:sha256:{sha256(_anonymous(text).encode()).hexdigest()}"


def _kernel_text(bytecode: bytes) -> str | None:
    """The kernel as text; None if it does not decode, or crashes the process that decodes it."""
    if not bytecode.startswith(b"ML\xefR"):
        return None
    from hlodiff.hlo import native_process

    try:
        text: str | None = native_process.call("kernel", bytecode)
    except HlodiffError:
        return None
    return text


def _opaque(data: bytes) -> str:
    return f"{MARK}opaque:{len(data)}:sha256:{sha256(data).hexdigest()}"


def _anonymous(text: str) -> str:
    """Number the symbols: a kernel's function has the name of the Python function."""
    names = list(dict.fromkeys(_SYMBOL.findall(text)))
    for number, name in enumerate(names):
        text = text.replace(f'sym_name = "{name}"', f'sym_name = "s{number}"')
        text = re.sub(rf"@{re.escape(name)}(?![\w.$-])", f"@s{number}", text)
    return text


def _unescaped(text: str) -> bytes:
    """The bytes of an MLIR string."""
    simple = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}
    out, end = [], 0
    for found in _ESCAPE.finditer(text):
        out.append(text[end : found.start()].encode())
        out.append(bytes.fromhex(found[1]) if len(found[1]) == 2 else simple.get(found[1], found[1].encode()))
        end = found.end()
    return b"".join([*out, text[end:].encode()])


# A pointer is all the text there is. Ten digits: the smallest heap address seen has 14, the largest plain number 4.
_POINTER = re.compile(r"(?:\d{10,20}|0x[0-9a-fA-F]{8,16})$")
POINTER = '"pointer"'
# Text from which an opaque configuration is a serialized kernel and no settings that a person reads.
_LONG = 1000
_KERNEL = 16


def process_pointers(module: Module) -> tuple[Module, int]:
    """Replace addresses of the compiling process (`backend_config="140504855962192"`) by the word `pointer`."""
    return map_instructions(module, _without_pointer, with_attributes=True)


def _without_pointer(it: Instruction) -> Instruction:
    config = it.attribute("backend_config") if holds_pointer(it) else None
    if config is None or not _POINTER.match(unquote(config)):
        return it
    return with_attribute(it, "backend_config", POINTER)


def embedded_kernels(module: Module) -> tuple[Module, int]:
    """Replace serialized kernels by a hash: decoded and without locations where they are MLIR, else of their text."""
    return map_instructions(module, _without_opaque_body, with_attributes=True)


def _without_opaque_body(it: Instruction) -> Instruction:
    if not holds_kernel(it):
        return it
    value = it.attribute("backend_config")
    if value is None or len(value) < _KERNEL:
        return it
    config = parse_config(value)
    if config is None:
        # A typed call (Pallas on GPUs) holds an MLIR dictionary, an older one any text.
        typed = without_bytecode(value)
        if typed != value:
            return with_attribute(it, "backend_config", typed)
        if len(value) < _LONG:
            return it
        return with_attribute(it, "backend_config", f'"{base64_digest(unquote(value))}"')
    hashed = _with_hashed_kernels(config)
    return it if hashed == config else with_attribute(it, "backend_config", print_config(hashed))


def _with_hashed_kernels(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _with_hashed_kernels(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_hashed_kernels(part) for part in value]
    if isinstance(value, str) and not value.startswith(MARK) and len(value) >= (_KERNEL if key == "body" else _LONG):
        return base64_digest(value)
    return value
