"""What custom calls carry: pointers of the process that compiled them, serialized kernels."""

from __future__ import annotations

import re
from typing import Any

from hlodiff.ir.hlo_tokens import unquote
from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.backend_config import parse_config, print_config
from hlodiff.normalize.embedded_kernels import MARK, base64_digest, without_bytecode
from hlodiff.normalize.rewrite import map_instructions, with_attribute

# A pointer is all the text there is. Ten digits: the smallest heap address seen has 14, the largest plain number 4.
_POINTER = re.compile(r"(?:\d{10,20}|0x[0-9a-fA-F]{8,16})$")
POINTER = '"pointer"'
# Text from which an opaque configuration is a serialized kernel and no settings that a person reads.
_LONG = 1000
_KERNEL = 16


def process_pointers(module: Module) -> tuple[Module, int]:
    """Replace addresses of the compiling process (`backend_config="140504855962192"`) by the word `pointer`."""
    return map_instructions(module, _without_pointer)


def _without_pointer(it: Instruction) -> Instruction:
    config = it.attribute("backend_config") if it.opcode.startswith("custom-call") else None
    if config is None or not _POINTER.match(unquote(config)):
        return it
    return with_attribute(it, "backend_config", POINTER)


def embedded_kernels(module: Module) -> tuple[Module, int]:
    """Replace serialized kernels by a hash: decoded and without locations where they are MLIR, else of their text."""
    return map_instructions(module, _without_kernel)


def _without_kernel(it: Instruction) -> Instruction:
    if not it.opcode.startswith("custom-call"):
        return it
    value = it.attribute("backend_config")
    if value is None or len(value) < _KERNEL:
        return it
    config = parse_config(value)
    if config is None:
        return _without_opaque_kernel(it, value)
    hashed = _hashed(config)
    return it if hashed == config else with_attribute(it, "backend_config", print_config(hashed))


def _without_opaque_kernel(it: Instruction, value: str) -> Instruction:
    """A typed call (Pallas on GPUs) holds an MLIR dictionary, an older one any text."""
    typed = without_bytecode(value)
    if typed != value:
        return with_attribute(it, "backend_config", typed)
    if len(value) < _LONG:
        return it
    return with_attribute(it, "backend_config", f'"{base64_digest(unquote(value))}"')


def _hashed(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _hashed(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_hashed(part) for part in value]
    if isinstance(value, str) and not value.startswith(MARK) and len(value) >= (_KERNEL if key == "body" else _LONG):
        return base64_digest(value)
    return value
