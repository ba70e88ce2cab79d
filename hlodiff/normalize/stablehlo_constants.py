"""Rule `large_constants`: a table of numbers stands as its hash."""

from __future__ import annotations

import re
from hashlib import sha256

from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attributes
from hlodiff.normalize.stablehlo_callbacks import with_literal

LIMIT = 4096  # bytes; prints as 8 kB of hex, about the size of a whole small program
_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')


def hash_constants(module: Module, limit: int = LIMIT) -> tuple[Module, int]:
    """Replace constants above `limit` bytes by a zero of the same shape with `hlodiff.constant = "sha256:..."`.

    Args:
        module: a StableHLO module.
        limit: bytes of data up to which a constant stays as it is.

    Returns:
        The module and how many constants were replaced.
    """
    return map_instructions(module, lambda it: _hashed(it) if _is_large(it, limit) else it)


def _is_large(it: Instruction, limit: int) -> bool:
    if it.opcode != "constant" or it.literal is None or it.shape.bytes <= limit:
        return False
    return it.literal.startswith(('dense<"', "dense<[", "dense_resource<"))


def _hashed(it: Instruction) -> Instruction:
    literal = it.literal or ""
    data = _HEX.fullmatch(literal)
    content = bytes.fromhex(data[1]) if data else literal.encode()
    note = f'"sha256:{sha256(content).hexdigest()}, {it.shape.bytes} bytes"'
    attributes = tuple(sorted((*it.attributes, ("hlodiff.constant", note))))
    return with_attributes(with_literal(it, _zero(it.shape.element_type)), attributes)


def _zero(element_type: str) -> str:
    """A splat of zero as MLIR prints it."""
    if element_type == "pred":
        return "dense<false>"
    if element_type in ("c64", "c128"):
        return "dense<(0.000000e+00,0.000000e+00)>"
    return "dense<0.000000e+00>" if element_type.startswith(("f", "bf")) else "dense<0>"
