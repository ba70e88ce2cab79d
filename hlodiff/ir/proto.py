"""HLO protos to the program model, through jaxlib and then our own text reader.

Two files share the suffix `.pb`: a bare `HloModuleProto`, and the `HloProto` that `--xla_dump_hlo_as_proto` writes,
which wraps one in its field 1. They are told apart by the wire format: an `HloModuleProto` begins with its name, a
printable string; an `HloProto` with a message that begins with a name itself.
"""

from __future__ import annotations

from hlodiff.errors import ReadError
from hlodiff.ir import bindings
from hlodiff.ir.hlo_reader import read_hlo
from hlodiff.ir.model import Module

_LENGTH_DELIMITED = 2


def read_proto(data: bytes, *, path: str = "") -> Module:
    """Read a serialized HloModuleProto or HloProto.

    Args:
        data: the whole file.
        path: the file as the user named it, for errors.

    Returns:
        The module with `stage == "compiled"`, with Python frames where the proto has them.

    Raises:
        ReadError: the bytes are no HLO proto.
        HlodiffError: jaxlib is missing or of a version that hlodiff does not know.

    Example:
        >>> read_proto(b"no proto", path="a.pb")
        Traceback (most recent call last):
        hlodiff.errors.ReadError: a.pb: the file is no HLO proto...
    """
    return read_hlo(proto_text(data, path=path), path=path)


def proto_text(data: bytes, *, path: str = "") -> str:
    """Full HLO text of a serialized HloModuleProto or HloProto; arguments and errors as in `read_proto`."""
    module_bytes = unwrap(data)
    if not module_bytes or not _is_module(module_bytes):
        raise ReadError("the file is no HLO proto", path=path, hint="pass a HloModuleProto or HloProto (`*.hlo.pb`)")
    try:
        return bindings.hlo_text(bindings.hlo_from_proto(module_bytes))
    except (RuntimeError, ValueError) as error:  # XlaRuntimeError is a RuntimeError or, since 0.8, a ValueError
        what = f"XLA does not accept the HLO proto: {str(error).splitlines()[0]}"
        raise ReadError(what, path=path, hint="is the file complete?") from None


def unwrap(data: bytes) -> bytes:
    """The HloModuleProto inside an HloProto, or `data` itself where it is one already."""
    payload = _first_field(data)
    return payload if payload is not None and _is_module(payload) else data


def _is_module(data: bytes) -> bool:
    """Does it begin with field 1, a short name, and field 2, the entry computation's name?"""
    name = _first_field(data)
    if name is None or not name or any(byte < 0x20 for byte in name):
        return False
    rest = data[len(name) + 1 + len(_varint_bytes(len(name))) :]
    return rest[:1] == b"\x12"


def _first_field(data: bytes) -> bytes | None:
    """The payload of field 1 where the message begins with it and is long enough, else None."""
    if data[:1] != bytes([1 << 3 | _LENGTH_DELIMITED]):
        return None
    length, shift, at = 0, 0, 1
    while at < len(data):
        byte = data[at]
        length |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return data[at : at + length] if at + length <= len(data) else None
    return None


def _varint_bytes(number: int) -> bytes:
    out = []
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
