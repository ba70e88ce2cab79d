"""HLO protos: bare and wrapped, frames included, and what is said of bytes that are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hlodiff.differ import diff
from hlodiff.errors import ReadError
from hlodiff.hlo import Module, mlir, read, read_bytes, read_hlo
from tests.oracle import messages, model_facts, proto_facts, xla_facts

HLO = """\
HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }

FileNames
1 "model.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main (x: bf16[<=8,4], y: (f32[4], token[])) -> (bf16[<=8,4], f32[]) {
  %x = bf16[<=8,4]{1,0} parameter(0)
  %y = (f32[4]{0}, token[]) parameter(1)
  %first = f32[4]{0} get-tuple-element(%y), index=0
  %zero = f32[] constant(0)
  %total = f32[] reduce(%first, %zero), dimensions={0}, to_apply=%add, metadata={op_name="jit(f)/sum" stack_frame_id=1}
  ROOT %out = (bf16[<=8,4]{1,0}, f32[]) tuple(%x, %total)
}
"""


def read_proto(data: bytes) -> Module:
    return read_bytes(data, path="a.pb")


def _proto() -> bytes:
    data: bytes = mlir.hlo_from_text(HLO).as_serialized_hlo_module_proto()
    return data


def _wrapped(data: bytes) -> bytes:
    """An HloProto: field 1 is the module, field 3 the buffer assignment."""
    length, size = len(data), []
    while length > 0x7F:
        size.append(length & 0x7F | 0x80)
        length >>= 7
    return b"\x0a" + bytes([*size, length]) + data + b"\x1a\x02\x08\x01"


def test_a_proto_is_read_as_its_text_is() -> None:
    data = _proto()
    assert model_facts(read_proto(data)) == xla_facts(HLO) == proto_facts(data)


def test_the_oracle_sees_what_stands_there() -> None:
    """A small program by hand, so that two readers that are wrong alike do not pass."""
    found = {(f.name, f.opcode, f.shape, f.operands, f.called, f.root) for f in xla_facts(HLO)}
    assert ("total", "reduce", "f32[]", ("first", "zero"), ("add",), False) in found
    assert ("y", "parameter", "(f32[4], token)", (), (), False) in found
    assert ("out", "tuple", "(bf16[8,4], f32[])", ("x", "total"), (), True) in found
    assert len(found) == 9


def test_a_dumped_proto_is_unwrapped() -> None:
    data = _proto()
    assert read_proto(_wrapped(data)) == read_proto(data)


def test_scopes_frames_and_aliases_survive() -> None:
    module = read_proto(_proto())
    total = next(i for i in module.entry_computation.instructions if i.name == "total")
    assert total.op_name == "jit(f)/sum"
    assert [(f.file, f.line, f.function) for f in module.stack(total.frame)] == [("model.py", 7, "step")]
    assert module.attribute("input_output_alias") == "{ {0}: (0, {}, may-alias) }"


@pytest.mark.parametrize("swapped", [False, True])
def test_what_a_proto_does_not_hold_is_unknown_and_no_edit(swapped: bool) -> None:
    text = HLO.replace("HloModule m, ", "HloModule m, replica_count=4, num_partitions=2, ")
    sides = [read_hlo(text), read_proto(mlir.hlo_from_text(text).as_serialized_hlo_module_proto())]
    found = diff(*(reversed(sides) if swapped else sides))
    assert found.identical and not found.edits
    words = "num_partitions, replica_count: a proto does not hold this, so whether it is the same is not known"
    assert found.limits == (words,)
    assert (found.replay().failures, found.replay().complete) == ((), False)


def test_what_a_proto_holds_and_what_two_texts_hold_is_compared() -> None:
    flat = HLO.replace("HloModule m, ", "HloModule m, replica_count=4, ")
    found = diff(read_hlo(flat), read_hlo(HLO))
    assert [edit.fields for edit in found.edits] == [("attribute:replica_count",)] and not found.limits
    scheduled = read_hlo(HLO.replace("may-alias", "must-alias"))
    assert [edit.fields for edit in diff(scheduled, read_proto(_proto())).edits] == [("alias",)]
    assert not diff(read_hlo(HLO), read_proto(_proto())).limits
    assert read_proto(_proto()).not_held != ()


def test_large_constants_are_complete() -> None:
    numbers = ", ".join(str(n) for n in range(2000))
    text = f"HloModule m\nENTRY e {{\n  ROOT c = s32[2000]{{0}} constant({{{numbers}}})\n}}\n"
    data = mlir.hlo_from_text(text).as_serialized_hlo_module_proto()
    literal = read_proto(data).entry_computation.instructions[0].literal or ""
    assert literal.count(",") == 1999
    assert "..." not in literal


@pytest.mark.parametrize(
    "data", [b"", b"HloModule m", b"\x0a\xff", b"\x0a\x03abc", _proto()[:100], b"\x0a\x01m\x12\x01e"]
)
def test_bytes_that_are_no_proto(data: bytes) -> None:
    with pytest.raises(ReadError, match=r"^a\.pb: .*HLO proto") as caught:
        read_proto(data)
    assert caught.value.hint


SCRIPT = """
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_dump_to={sys.argv[1]} --xla_dump_hlo_as_proto --xla_dump_hlo_as_text"
import jax, jax.numpy as jnp
def loss(w, x):
    return jnp.tanh(x @ w).sum()
jax.jit(jax.grad(loss)).lower(jnp.ones((8, 8)), jnp.ones((4, 8))).compile()
"""


def test_what_xla_dumps_is_read(tmp_path: Path) -> None:
    """Every proto that XLA writes, before and after optimizing, equals the text it writes beside it."""
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], check=True, capture_output=True)
    protos = sorted(tmp_path.glob("*.hlo.pb"))
    assert protos
    for path in protos:
        module = read(path)
        (whole,) = (value for number, value in messages(path.read_bytes()) if number == 1)
        assert model_facts(module) == proto_facts(whole), path.name
        beside = path.with_name(path.name.replace(".hlo.pb", ".txt"))
        if beside.exists():
            assert model_facts(module) == model_facts(read_hlo(beside.read_text(encoding="utf-8"))), path.name
