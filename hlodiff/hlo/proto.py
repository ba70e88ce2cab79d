"""Reads HLO protos: jaxlib prints them as text, which our own parser reads.

Two files share the suffix `.pb`: a bare `HloModuleProto`, and the `HloProto` that `--xla_dump_hlo_as_proto` writes,
which wraps one in its field 1. The wire format tells them apart: an `HloModuleProto` begins with its name, a
printable string; an `HloProto` with a message that begins with a name itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hlodiff.errors import ReadError
from hlodiff.hlo import mlir


def proto_text(data: bytes, *, path: str = "") -> str:
    """Full HLO text of a serialized HloModuleProto or HloProto.

    Args:
        data: the whole file.
        path: the file as the user named it, for errors.

    Raises:
        ReadError: the bytes are not an HLO proto.
        HlodiffError: jaxlib is missing or of a version that hlodiff does not know.

    Example:
        >>> proto_text(b"no proto", path="a.pb")
        Traceback (most recent call last):
        hlodiff.errors.ReadError: a.pb: the file is not an HLO proto...
    """
    module_bytes = unwrap(data)
    if not module_bytes or not _is_module(module_bytes):
        raise ReadError(
            "the file is not an HLO proto", path=path, hint="pass a HloModuleProto or HloProto (`*.hlo.pb`)"
        )
    try:
        return mlir.hlo_text(mlir.hlo_from_proto(module_bytes))
    except (RuntimeError, ValueError) as error:  # XlaRuntimeError is a RuntimeError or, since 0.8, a ValueError
        what = f"XLA does not accept the HLO proto: {str(error).splitlines()[0]}"
        raise ReadError(what, path=path, hint="is the file complete?") from None


def unwrap(data: bytes) -> bytes:
    """The HloModuleProto inside an HloProto, or `data` itself if it is a module already."""
    payload, _ = _first_field(data)
    return payload if payload and _is_module(payload) else data


def _is_module(data: bytes) -> bool:
    """Whether the message begins with field 1, a short name, and field 2, the entry computation's name."""
    name, end = _first_field(data)
    return bool(name) and all(byte >= 0x20 for byte in name) and data[end : end + 1] == b"\x12"


def _first_field(data: bytes) -> tuple[bytes, int]:
    """The payload of field 1 and its end, if the message begins with it and is long enough; otherwise b"" and 0."""
    if data[:1] != bytes([1 << 3 | LENGTH_DELIMITED]):
        return b"", 0
    try:
        size, start = read_varint(data, 1)
    except (IndexError, ValueError):
        return b"", 0
    end = start + size
    return (data[start:end], end) if end <= len(data) else (b"", 0)


# --- The wire format of protobuf.

LENGTH_DELIMITED = 2
_VARINT, _FIXED_SIZES = 0, {1: 8, 5: 4}


def read_varint(message: bytes | memoryview, position: int) -> tuple[int, int]:
    """Read an integer of seven bits per byte, least significant first; returns it and the position after it.

    Raises:
        IndexError: the message ends before the integer does.
        ValueError: it has more than the 64 bits that protobuf allows.
    """
    value = shift = 0
    while shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a varint of more than 64 bits")


def print_varint(value: int) -> bytes:
    """Encode an integer for `read_varint`."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """The fields of a serialized message: number, the whole field, and its content if it is length-delimited."""
    end, nothing = 0, memoryview(b"")
    while end < len(message):
        start = end
        tag, end = read_varint(message, end)
        kind, value = tag & 7, nothing
        if kind == _VARINT:
            _, end = read_varint(message, end)
        elif kind == LENGTH_DELIMITED:
            size, end = read_varint(message, end)
            value, end = message[end : end + size], end + size
        else:
            end += _FIXED_SIZES[kind]
        yield tag >> 3, message[start:end], value


def with_field(message: memoryview, wanted: int, change: Callable[[memoryview], bytes | memoryview]) -> bytes:
    """Apply `change` to each field of one number in a serialized message; the fields are messages themselves."""
    parts: list[bytes | memoryview] = []
    for number, field, value in fields(message):
        if number != wanted:
            parts.append(field)
            continue
        new = change(value)
        parts += [print_varint(number << 3 | LENGTH_DELIMITED), print_varint(len(new)), new]
    return b"".join(parts)
