"""Kernels that travel inside a program as serialized MLIR: compared by content, without the paths they were built from."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from hashlib import sha256

from hlodiff.errors import HlodiffError


@lru_cache(maxsize=1024)
def kernel_hash(text: str) -> str | None:
    """Hash of a Mosaic (Pallas TPU) kernel, blind to locations.

    Args:
        text: `custom_call_config.body`: base64 of MLIR bytecode.

    Returns:
        64 hexadecimal digits over the kernel's MLIR text without debug info; None where it is no base64, no MLIR
        bytecode, or jaxlib's MLIR bindings are missing.

    Example:
        >>> kernel_hash("not a kernel") is None
        True
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data.startswith(b"ML\xefR"):
        return None
    printed = _printed(data)
    return None if printed is None else sha256(printed.encode()).hexdigest()


def _printed(data: bytes) -> str | None:
    """The kernel in MLIR's generic form; dialects that jaxlib does not know stay as they are."""
    from hlodiff.ir import bindings  # jaxlib only where a program really holds a kernel

    try:
        ir = bindings.mlir()
        with ir.Context() as context:
            context.allow_unregistered_dialects = True
            module = ir.Module.parse(data)
            text: str = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    except HlodiffError:
        return None
    except Exception:  # jaxlib raises MLIRError, RuntimeError or ValueError, depending on its version
        return None
    return text
