"""Rule `large_constants`: a table of numbers stands as its hash."""

from __future__ import annotations

import re
from hashlib import sha256

from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.literals import LITERAL_LIMIT
from hlodiff.normalize.rewrite import map_instructions, with_attributes
from hlodiff.normalize.stablehlo_callbacks import with_literal

ATTRIBUTE = "hlodiff.constant"
_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}, ")


def hash_constants(module: Module) -> tuple[Module, int]:
    """Replace constants of more than `LITERAL_LIMIT` elements by a zero of the same shape and a hash.

    The hash and the number of bytes stand in the attribute `hlodiff.constant`. A constant that repeats one number
    is no large constant.

    Args:
        module: a StableHLO module.

    Returns:
        The module and how many constants were replaced.
    """
    return map_instructions(module, lambda it: _noted(it, compared=True) if _is_large(it) else it)


def ignore_constants(module: Module) -> tuple[Module, int]:
    """The same without the hash, also where there is one already: their numbers are not compared."""
    return map_instructions(module, lambda it: _noted(it, compared=False) if _is_large(it) else _without_digest(it))


def _is_large(it: Instruction) -> bool:
    if it.opcode != "constant" or it.literal is None or it.shape.elements <= LITERAL_LIMIT:
        return False
    return it.literal.startswith(('dense<"', "dense<[", "dense_resource<"))


def _noted(it: Instruction, *, compared: bool) -> Instruction:
    content = f"sha256:{_digest(it.literal or '')}, " if compared else ""
    note = f'"{content}{it.shape.bytes} bytes"'
    attributes = tuple(sorted((*it.attributes, (ATTRIBUTE, note))))
    return with_attributes(with_literal(it, _zero(it.shape.element_type)), attributes)


def _digest(literal: str) -> str:
    data = _HEX.fullmatch(literal)
    return sha256(bytes.fromhex(data[1]) if data else literal.encode()).hexdigest()


def _without_digest(it: Instruction) -> Instruction:
    note = it.attribute(ATTRIBUTE) if it.opcode == "constant" else None
    if note is None or not _DIGEST.search(note):
        return it
    pairs = ((key, _DIGEST.sub("", value) if key == ATTRIBUTE else value) for key, value in it.attributes)
    return with_attributes(it, tuple(pairs))


def _zero(element_type: str) -> str:
    """A splat of zero as MLIR prints it."""
    if element_type == "pred":
        return "dense<false>"
    if element_type in ("c64", "c128"):
        return "dense<(0.000000e+00,0.000000e+00)>"
    return "dense<0.000000e+00>" if element_type.startswith(("f", "bf")) else "dense<0>"
