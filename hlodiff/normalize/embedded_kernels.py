"""Kernels inside custom calls, compared by what they compute and not by where they were written.

Pallas puts a whole program into a custom call: Mosaic (TPU) as base64 of MLIR bytecode in JSON, Triton and Mosaic GPU
as bytecode in a string attribute. The bytecode holds the absolute path of the Python source, so it is decoded, its
debug info dropped, and its hash takes its place. What does not decode is hashed as it is, and says so: `opaque`.
"""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import sha256

from hlodiff.ir.bindings import kernel_text
from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attributes

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
    """Replace embedded kernels by the hash of their content; the name of a kernel is the Python function's: dropped."""
    return map_instructions(module, _hashed)


def _hashed(it: Instruction) -> Instruction:
    if it.opcode != "custom_call":
        return it
    pairs = ((key, _without_kernel(value)) for key, value in it.attributes if key not in _NAMES)
    changed = tuple((key, value) for key, value in pairs if (key, value) != ("mhlo.frontend_attributes", "{}"))
    return it if changed == it.attributes else with_attributes(it, changed)


def _without_kernel(text: str) -> str:
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
    """What stands in place of a kernel: `hlodiff:kernel:sha256:...`, or `hlodiff:opaque:<bytes>:sha256:...`.

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
