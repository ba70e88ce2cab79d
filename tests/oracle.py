"""Second opinions: XLA's own HLO parser and MLIR's own walk, to hold our readers to.

Nothing here uses `hlodiff.hlo.parser`, `hlo_printer` or the model: what both sides say is compared as plain tuples.
`HloModuleProto` has no schema in jaxlib, so the few fields that are needed are read from its wire format
(xla/service/hlo.proto and xla/xla_data.proto; field numbers there never change).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hlodiff.hlo import Module, Shape, mlir

# xla_data.proto, PrimitiveType
_TYPES = {
    0: "invalid", 1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64", 10: "f16",
    11: "f32", 12: "f64", 13: "tuple", 14: "opaque", 15: "c64", 16: "bf16", 17: "token", 18: "c128", 19: "f8e5m2",
    20: "f8e4m3fn", 21: "s4", 22: "u4", 23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 26: "s2", 27: "u2",
    28: "f8e4m3", 29: "f8e3m4", 30: "s1", 31: "u1", 32: "f4e2m1fn", 33: "f8e8m0fnu", 34: "buffer",
}  # fmt: skip


class Fact(NamedTuple):
    """What XLA says of one instruction."""

    computation: str
    name: str
    opcode: str
    shape: str
    operands: tuple[str, ...]
    called: tuple[str, ...]
    root: bool


def xla_facts(text: str) -> set[Fact]:
    """All instructions of HLO text as XLA's own parser understands it; raises XLA's error where it refuses the text."""
    return proto_facts(mlir.hlo_from_text(text).as_serialized_hlo_module_proto())


def proto_facts(data: bytes) -> set[Fact]:
    """All instructions of a serialized HloModuleProto."""
    computations = [fields(c) for n, c in messages(data) if n == 3]
    names = {_one(c, 5): _text(c, 1) for c in computations}
    facts = set()
    for computation in computations:
        instructions = [fields(i) for i in computation.get(2, [])]
        titles = {_one(i, 35): _text(i, 1) for i in instructions}
        for it in instructions:
            facts.add(
                Fact(
                    _text(computation, 1),
                    _text(it, 1),
                    _text(it, 2),
                    _shape(it[3][0]),
                    tuple(titles[n] for n in _numbers(it, 36)),
                    tuple(names[n] for n in _numbers(it, 38)),
                    _one(it, 35) == _one(computation, 6),
                )
            )
    return as_printed(facts)


def as_printed(facts: set[Fact]) -> set[Fact]:
    """XLA's protos beside XLA's texts: a while lists its body first, and `X-start` stands for an `async-start` that
    calls a computation of its own with nothing but X in it (`HloPrintOptions::syntax_sugar_async_ops`)."""
    inside: dict[str, list[Fact]] = {}
    for fact in facts:
        inside.setdefault(fact.computation, []).append(fact)
    wrapped: dict[tuple[str, str], Fact] = {}
    for fact in facts:
        if fact.opcode == "async-start":
            roots = [f for f in inside[fact.called[0]] if f.root]
            if all(f.root or f.opcode == "parameter" for f in inside[fact.called[0]]):
                wrapped[fact.computation, fact.name] = roots[0]
    grew = True
    while grew:  # updates and dones belong to the start that they hang on
        more = {
            (f.computation, f.name): wrapped[f.computation, f.operands[0]]
            for f in facts
            if f.opcode in ("async-update", "async-done") and (f.computation, f.operands[0]) in wrapped
        }
        grew = not more.keys() <= wrapped.keys()
        wrapped |= more
    gone = {f.called[0] for f in facts if (f.computation, f.name) in wrapped and f.called}
    return {_printed(f, wrapped.get((f.computation, f.name))) for f in facts if f.computation not in gone}


def _printed(fact: Fact, wrapped: Fact | None) -> Fact:
    if fact.opcode == "while":
        return fact._replace(called=fact.called[::-1])
    if wrapped is None:
        return fact
    called = wrapped.called if fact.opcode == "async-start" else ()
    return fact._replace(opcode=fact.opcode.replace("async", wrapped.opcode), called=called)


def model_facts(module: Module) -> set[Fact]:
    """The same, of a module that our reader read."""
    facts = set()
    for computation in module.computations:
        for index, it in enumerate(computation.instructions):
            facts.add(
                Fact(
                    computation.name,
                    it.name,
                    it.opcode,
                    plain_shape(it.shape),
                    tuple(computation.instructions[o].name for o in it.operands),
                    tuple(module.computations[c].name for c in it.called),
                    index == computation.root,
                )
            )
    return facts


def plain_shape(shape: Shape) -> str:
    """A shape without layouts, bounds as plain sizes."""
    if shape.element_type == "tuple":
        return f"({', '.join(map(plain_shape, shape.tuple_shapes))})"
    if not shape.is_array:
        return shape.element_type
    return f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]"


def messages(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, value) pairs of a protobuf message: ints, and bytes for everything with a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value: Any
            value, at = _varint(data, at)
        elif kind == 2:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def fields(data: bytes) -> dict[int, list[Any]]:
    """All values of a message by field number, in order."""
    found: dict[int, list[Any]] = {}
    for number, value in messages(data):
        found.setdefault(number, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def _one(message: dict[int, list[Any]], number: int) -> int:
    return int(message.get(number, [0])[0])


def _text(message: dict[int, list[Any]], number: int) -> str:
    found: bytes = message[number][0]
    return found.decode()


def _numbers(message: dict[int, list[Any]], number: int) -> list[int]:
    """A repeated integer field, packed or not."""
    out: list[int] = []
    for value in message.get(number, []):
        at = 0
        if isinstance(value, int):
            out.append(value)
            continue
        while at < len(value):
            one, at = _varint(value, at)
            out.append(one)
    return out


def _shape(data: bytes) -> str:
    message = fields(data)
    kind = _TYPES[_one(message, 2)]
    if kind == "tuple":
        return f"({', '.join(_shape(part) for part in message.get(4, []))})"
    if kind in ("token", "opaque"):
        return kind
    sizes = [size - (1 << 64) if size >> 63 else size for size in _numbers(message, 3)]
    return f"{kind}[{','.join(map(str, sizes))}]"


class MlirFact(NamedTuple):
    """What MLIR says of one operation."""

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    attributes: tuple[str, ...]


_NOT_OURS = ("builtin.module", "func.func", "sdy.mesh")


def mlir_facts(text: str) -> list[MlirFact]:
    """All operations of StableHLO text by MLIR's own walk, inner ones first; functions and meshes left out."""
    parsed = mlir.parse_mlir(text)
    found: list[MlirFact] = []

    def visit(op: Any) -> Any:
        if op.name not in _NOT_OURS:
            attributes = tuple(name for name, _ in mlir.attributes_of(op))
            found.append(MlirFact(op.name, _types(op.operands), _types(op.results), attributes))
        return mlir.mlir().WalkResult.ADVANCE

    parsed.operation.walk(lambda op: visit(op.operation))
    return found


def mlir_locations(text: str) -> list[str]:
    """The whole location of each operation, in the order of `mlir_facts`."""
    found: list[str] = []

    def visit(op: Any) -> Any:
        if op.name not in _NOT_OURS:
            found.append(str(op.location))
        return mlir.mlir().WalkResult.ADVANCE

    mlir.parse_mlir(text).operation.walk(lambda op: visit(op.operation))
    return found


def _types(values: Any) -> tuple[str, ...]:
    return tuple(str(value.type) for value in values)
