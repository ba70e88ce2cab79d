"""What custom calls carry: pointers of the process that compiled them, serialized kernels."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from hlodiff.hlo.grammar import unquote
from hlodiff.hlo.mlir import kernel_text
from hlodiff.hlo.model import Instruction, Module
from hlodiff.normalizer.backend_config import parse_config, print_config
from hlodiff.normalizer.custom_call_targets import holds_kernel, holds_pointer
from hlodiff.normalizer.rewrite import map_instructions, with_attribute, with_attributes

MARK = "hlodiff:"
_BODY = re.compile(r"(\\22body\\22:\s*\\22)([A-Za-z0-9+/=]{16,})(?=\\22)")
_BYTECODE = re.compile(r'\b(ir|module) = "(ML\\EFR(?:[^"\\]|\\.)*)"')
_STRING = r'"(?:[^"\\]|\\.)*"'
# `kernel_hash` is taken over the bytes with their debug info; `name` is the Python function's.
_HASH_AND_NAME = rf"\b(?:kernel_hash|name) = {_STRING}"
_EMPTY_METADATA = r'\bkernel_metadata = "\{\}"'
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_SYMBOL = re.compile(r'sym_name = "((?:[^"\\]|\\.)*)"')
_NAMES = frozenset(["kernel_name"])


def hash_kernels(module: Module) -> tuple[Module, int]:
    """Replace kernels of Pallas and Triton by the hash of their content; drop their names, which come from Python."""
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
    """`kernel_digest` of a base64 text; text that is no base64 is hashed as it is."""
    try:
        return kernel_digest(base64.b64decode(body, validate=True))
    except (binascii.Error, ValueError):
        return _opaque(body.encode())


def kernel_digest(bytecode: bytes) -> str:
    """What replaces a kernel: `hlodiff:kernel:sha256:...`, or `hlodiff:opaque:<bytes>:sha256:...`.

    Example:
        >>> kernel_digest(b"object code")[:18]
        'hlodiff:opaque:11:'
    """
    text = kernel_text(bytecode)
    if text is None:
        return _opaque(bytecode)
    return f"{MARK}kernel:sha256:{sha256(_anonymous(text).encode()).hexdigest()}"


def _opaque(data: bytes) -> str:
    return f"{MARK}opaque:{len(data)}:sha256:{sha256(data).hexdigest()}"


def _anonymous(text: str) -> str:
    """Symbols by their number: a kernel's function carries the name of the Python function."""
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
    return map_instructions(module, _without_pointer)


def _without_pointer(it: Instruction) -> Instruction:
    config = it.attribute("backend_config") if holds_pointer(it) else None
    if config is None or not _POINTER.match(unquote(config)):
        return it
    return with_attribute(it, "backend_config", POINTER)


def embedded_kernels(module: Module) -> tuple[Module, int]:
    """Replace serialized kernels by a hash: decoded and without locations where they are MLIR, else of their text."""
    return map_instructions(module, _without_opaque_body)


def _without_opaque_body(it: Instruction) -> Instruction:
    if not holds_kernel(it):
        return it
    value = it.attribute("backend_config")
    if value is None or len(value) < _KERNEL:
        return it
    config = parse_config(value)
    if config is None:
        return _without_opaque_kernel(it, value)
    hashed = _with_hashed_kernels(config)
    return it if hashed == config else with_attribute(it, "backend_config", print_config(hashed))


def _without_opaque_kernel(it: Instruction, value: str) -> Instruction:
    """A typed call (Pallas on GPUs) holds an MLIR dictionary, an older one any text."""
    typed = without_bytecode(value)
    if typed != value:
        return with_attribute(it, "backend_config", typed)
    if len(value) < _LONG:
        return it
    return with_attribute(it, "backend_config", f'"{base64_digest(unquote(value))}"')


def _with_hashed_kernels(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _with_hashed_kernels(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_hashed_kernels(part) for part in value]
    if isinstance(value, str) and not value.startswith(MARK) and len(value) >= (_KERNEL if key == "body" else _LONG):
        return base64_digest(value)
    return value
