"""Compiled text with its constants in it: XLA's own `as_text` prints `constant({...})` from eleven elements on.

XLA prints 16 million floats (64 MB) in 3.7 to 4.8 seconds as 209 MB of text, two to five times as long as it takes to
compile that program; serializing it takes 0.14 s. So a constant above `PRINTED_BYTES` is not printed: its bytes are
hashed in the serialized module, and the hash stands on the constant as the attribute in which the normalizer puts its
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from hlodiff.capture import private
from hlodiff.ir.model import bits_of
from hlodiff.normalize.literals import content_note

PRINTED_BYTES = 1 << 18  # printed in 0.02 s as 0.8 MB
LEFT_OUT = "constant({...})"
_CONSTANT = re.compile(r"%(\S+) = (\w+)\[([0-9,]*)\]\S* constant\(\{\.\.\.\}\)")
_ATTRIBUTES = " frontend_attributes={"

# Field numbers of hlo.proto and xla_data.proto; protobuf never gives a number to another field.
_MODULE_COMPUTATIONS = 3
_COMPUTATION_INSTRUCTIONS = 2
_INSTRUCTION_NAME = 1
_INSTRUCTION_LITERAL = 8
_LITERAL_SHAPE = 1


def compiled_text(compiled: Any) -> str:
    """The text of a compiled program, with its constants printed or, where they are large, hashed.

    Args:
        compiled: a `jax.stages.Compiled`.

    Returns:
        what `compiled.as_text()` gives, with the constants that it leaves out.

    Example:
        >>> compiled_text(jax.jit(jnp.sin).lower(1.0).compile())[:9]  # doctest: +SKIP
        'HloModule'
    """
    text = compiled.as_text()
    if LEFT_OUT not in text:
        return str(text)
    return "\n\n".join(_whole(text, module) for module in private.hlo_modules(compiled))


def text_of(printed: str, proto: bytes | None) -> str:
    """The same of a module that was written to files.

    Args:
        printed: the module's text as XLA prints it.
        proto: the module as an `HloModuleProto` where that text leaves constants out.

    Returns:
        the text with its constants printed or hashed; as it was where there is no proto.

    Example:
        >>> text_of("HloModule m", None)
        'HloModule m'
    """
    if proto is None or LEFT_OUT not in printed:
        return printed
    header = printed.partition("\n")[0]  # a proto holds less of it
    lines = _whole(printed, private.deserialized(proto)).split("\n")
    return "\n".join([header, *lines[1:]])


def _whole(printed: str, module: Any) -> str:
    sizes = (_bytes(element, dimensions) for _, element, dimensions in _CONSTANT.findall(printed))
    if max(sizes, default=0) <= PRINTED_BYTES:
        return private.hlo_with_constants(module)
    return _with_hashes(module)


def _bytes(element: str, dimensions: str) -> int:
    count = bits_of(element)
    for size in dimensions.split(",") if dimensions else ():
        count *= int(size)
    return count // 8


def _with_hashes(module: Any) -> str:
    """Print a module without its large literals, which are serialized and hashed instead."""
    digests: dict[str, str] = {}
    slim = _without_large_literals(private.serialized(module), digests)
    lines = private.hlo_with_constants(private.deserialized(slim)).split("\n")
    lines[0] = private.hlo_header(module)  # a proto holds less of it
    return "\n".join(_noted(line, digests) if LEFT_OUT in line else line for line in lines)


def _noted(line: str, digests: dict[str, str]) -> str:
    found = _CONSTANT.search(line)
    if found is None or found[1] not in digests:
        return line
    note = content_note(found[2], found[3], _bytes(found[2], found[3]), digests[found[1]])
    if _ATTRIBUTES in line:
        return line.replace(_ATTRIBUTES, f"{_ATTRIBUTES}{note},", 1)
    return f"{line[: found.end()]},{_ATTRIBUTES}{note}}}{line[found.end() :]}"


def _without_large_literals(module: memoryview, digests: dict[str, str]) -> bytes:
    """A serialized module without its large literals; their hashes go into `digests` by instruction name."""
    return _mapped(
        module,
        _MODULE_COMPUTATIONS,
        lambda computation: _mapped(computation, _COMPUTATION_INSTRUCTIONS, lambda it: _slim(it, digests)),
    )


def _slim(instruction: memoryview, digests: dict[str, str]) -> bytes | memoryview:
    if len(instruction) <= PRINTED_BYTES:
        return instruction
    kept, name, literal = [], "", None
    for number, field, value in _fields(instruction):
        if number == _INSTRUCTION_LITERAL and len(value) > PRINTED_BYTES:
            literal = value
            continue
        kept.append(field)
        name = bytes(value).decode() if number == _INSTRUCTION_NAME else name
    if literal is None:
        return instruction
    digest = sha256()
    for number, field, _ in _fields(literal):
        if number != _LITERAL_SHAPE:  # the instruction says it, and layouts are spelled in more than one way
            digest.update(field)
    digests[name] = digest.hexdigest()
    return b"".join(kept)


def _mapped(message: memoryview, wanted: int, change: Any) -> bytes:
    """A serialized message with one of its fields, a message itself, changed wherever it stands."""
    parts: list[bytes | memoryview] = []
    for number, field, value in _fields(message):
        if number != wanted:
            parts.append(field)
            continue
        new = change(value)
        parts += [_varint(number << 3 | 2), _varint(len(new)), new]
    return b"".join(parts)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """The fields of a serialized message: number, the whole field, and its content where it has a length."""
    end, nothing = 0, memoryview(b"")
    while end < len(message):
        start = end
        tag, end = _read_varint(message, end)
        kind, value = tag & 7, nothing
        if kind == 0:
            _, end = _read_varint(message, end)
        elif kind == 2:
            size, end = _read_varint(message, end)
            value, end = message[end : end + size], end + size
        else:
            end += {1: 8, 5: 4}[kind]
        yield tag >> 3, message[start:end], value


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
