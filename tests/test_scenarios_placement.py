"""SCENARIOS.md, rows P and F: where instructions run, where bytes live, what is fused with what."""

from __future__ import annotations

import pytest

from hlodiff.hlo import read_stablehlo
from hlodiff.report import format_field_change
from tests.scenarios import compare, line, lines

BASE = """
  p = f32[8,4]{1,0} parameter(0), sharding={replicated}
  s = f32[8,4]{1,0} sine(p)
  ROOT c = f32[8,4]{1,0} cosine(s)
"""


def test_p1_a_result_that_moves_to_the_host() -> None:
    found = compare(BASE, BASE.replace("s = f32[8,4]{1,0}", "s = f32[8,4]{1,0:S(5)}"))
    assert lines(found) == ["changed sine memory_space"]
    assert [(c.old, c.new) for c in found.edits[0].changes] == [("device", "host")]


def test_p2_a_replicated_argument_is_split() -> None:
    found = compare(BASE, BASE.replace("{replicated}", "{devices=[2,1]<=[2]}"))
    assert lines(found) == ["changed parameter sharding"]


def test_p3_the_host_mark_lost_on_three_operations_is_one_pattern() -> None:
    mark = '{mhlo.frontend_attributes = {_xla_compute_type = "host"}}'
    text = "\n".join(
        ["module @m {", "  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {"]
        + [f"    %{n} = stablehlo.sine %{'a' if n == 0 else n - 1} MARK : tensor<4xf32>" for n in range(3)]
        + ["    return %2 : tensor<4xf32>", "  }", "}"]
    )
    from hlodiff.differ import diff as compare_modules

    old = read_stablehlo(text.replace("MARK", mark))
    new = read_stablehlo(text.replace("MARK ", ""))
    found = compare_modules(old, new)
    assert [line(edit) for edit in found.edits] == ["changed sine compute_type x3"]
    assert [(c.old, c.new) for c in found.edits[0].changes] == [("host", "device")]


def test_p5_an_argument_is_no_longer_donated() -> None:
    found = compare(BASE, BASE, head=", input_output_alias={ {}: (0, {}, may-alias) }", new_head="")
    assert lines(found) == ["changed parameter alias"]
    assert [(c.old, c.new) for c in found.edits[0].changes] == [("output {}", "not donated")]


REDUCE = """
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  ROOT r = f32[8]{0} all-reduce(p), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=sum
}
"""


def test_p6_replica_groups_and_their_spelling() -> None:
    found = compare(REDUCE, REDUCE.replace("{{0,1},{2,3}}", "{{0,1,2,3}}"))
    assert lines(found) == ["changed all-reduce replica_groups"]
    assert lines(compare(REDUCE, REDUCE.replace("{{0,1},{2,3}}", "[2,2]<=[4]"))) == []


def test_p7_an_all_reduce_becomes_asynchronous() -> None:
    new = REDUCE.replace("ROOT r = f32[8]{0} all-reduce(p)", "s = f32[8]{0} all-reduce-start(p)")
    new = new.replace("to_apply=sum\n}", "to_apply=sum\n  ROOT r = f32[8]{0} all-reduce-done(s)\n}")
    found = compare(REDUCE, new)
    assert lines(found) == ["changed all-reduce->all-reduce-start attribute:asynchronous"]
    assert [found.metrics[name] for name in ("collectives", "collective_bytes")] == [(1, 1), (32, 32)]


COPIED = """
ENTRY main {
  p = f32[8,4]{1,0} parameter(0)
  t = f32[8,4]{1,0} tanh(p)
  c = f32[8,4]{0,1} copy(t)
  ROOT n = f32[8,4]{0,1} negate(c)
}
"""
BEGUN = COPIED.replace(
    "  c = f32[8,4]{0,1} copy(t)",
    "  s = (f32[8,4]{0,1}, f32[8,4]{1,0}, u32[]) copy-start(t)\n  c = f32[8,4]{0,1} copy-done(s)",
)


@pytest.mark.parametrize("rows", [8, 16])
def test_p9_a_copy_becomes_asynchronous_or_waits(rows: int) -> None:
    """Also one of another shape than before: the end of it alone neither came nor went."""
    for old, new in ((COPIED, BEGUN), (BEGUN, COPIED)):
        found = compare(old, new.replace("[8,4]", f"[{rows},4]"))
        assert {edit.kind for edit in found.edits} == {"changed"}
        (copied,) = (line for line in lines(found) if "copy" in line)
        assert "attribute:asynchronous" in copied
        assert found.replay().complete


def test_p8_a_gpu_waits_for_a_reduction_that_ran_beside_other_work() -> None:
    start = "s = f32[8]{0} all-reduce-start(p)"
    old = REDUCE.replace("ROOT r = f32[8]{0} all-reduce(p)", start)
    old = old.replace("to_apply=sum\n}", "to_apply=sum\n  ROOT r = f32[8]{0} all-reduce-done(s)\n}")
    new = old.replace("to_apply=sum\n", 'to_apply=sum, backend_config={"collective_backend_config":{"is_sync":true}}\n')
    words = [format_field_change(compare(*pair).edits[0].changes[0]) for pair in ((old, new), (new, old))]
    assert words == ["asynchronous: yes -> no", "asynchronous: no -> yes"]


HOST = """
on_host {
  a = f32[8]{0} parameter(0)
  s = f32[8]{0} sine(a)
  ROOT c = f32[8]{0} cosine(s)
}, execution_thread="host"

ENTRY main {
  p = f32[8]{0} parameter(0)
  n = f32[8]{0} negate(p)
  start = ((f32[8]), f32[8], u32[]) custom-call-start(n), custom_call_target="Host", called_computations={on_host}
  done = f32[8]{0} custom-call-done(start)
  ROOT e = f32[8]{0} exponential(done)
}
"""
DEVICE = """
fused {
  a = f32[8]{0} parameter(0)
  s = f32[8]{0} sine(a)
  ROOT c = f32[8]{0} cosine(s)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  n = f32[8]{0} negate(p)
  f = f32[8]{0} fusion(n), kind=kLoop, calls=fused
  ROOT e = f32[8]{0} exponential(f)
}
"""


def test_p4_host_execution_becomes_a_device_fusion() -> None:
    found = compare(HOST, DEVICE)
    moved = [edit for edit in found.edits if edit.kind == "moved"]
    assert sorted(line(edit) for edit in moved) == [
        "moved cosine computation,compute_type",
        "moved sine computation,compute_type",
    ]
    assert {(c.old, c.new) for edit in moved for c in edit.changes if c.field == "compute_type"} == {("host", "device")}
    assert found.summary == {"added": 1, "removed": 2, "changed": 0, "moved": 2}, lines(found)


SPLIT = """
fused {
  a = f32[64]{0} parameter(0)
  s = f32[64]{0} sine(a)
  e = f32[64]{0} exponential(s)
  c = f32[64]{0} cosine(e)
  ROOT t = f32[64]{0} tanh(c)
}

ENTRY main {
  p = f32[64]{0} parameter(0)
  ROOT f = f32[64]{0} fusion(p), kind=kLoop, calls=fused
}
"""
SPLIT_IN_TWO = """
first {
  a = f32[64]{0} parameter(0)
  s = f32[64]{0} sine(a)
  ROOT e = f32[64]{0} exponential(s)
}

second {
  b = f32[64]{0} parameter(0)
  c = f32[64]{0} cosine(b)
  ROOT t = f32[64]{0} tanh(c)
}

ENTRY main {
  p = f32[64]{0} parameter(0)
  f = f32[64]{0} fusion(p), kind=kLoop, calls=first
  ROOT g = f32[64]{0} fusion(f), kind=kLoop, calls=second
}
"""


def test_f1_one_fusion_becomes_two() -> None:
    found = compare(SPLIT, SPLIT_IN_TWO)
    (change,) = found.fusions
    assert (change.kind, len(change.old), len(change.new)) == ("split", 1, 2)
    assert change.intermediate_bytes == 64 * 4
    assert found.summary == {"added": 1, "removed": 0, "changed": 0, "moved": 2}, lines(found)


def test_f2_two_fusions_become_one() -> None:
    found = compare(SPLIT_IN_TWO, SPLIT)
    (change,) = found.fusions
    assert (change.kind, len(change.old), len(change.new)) == ("merged", 2, 1)
    assert change.intermediate_bytes == -64 * 4


def test_f3_an_operation_leaves_a_fusion() -> None:
    new = SPLIT.replace("  ROOT t = f32[64]{0} tanh(c)\n", "").replace(
        "  c = f32[64]{0} cos", "  ROOT c = f32[64]{0} cos"
    )
    new = new.replace("ROOT f = f32[64]{0} fusion", "f = f32[64]{0} fusion")
    new = new.replace("calls=fused\n}", "calls=fused\n  ROOT t = f32[64]{0} tanh(f)\n}")
    found = compare(SPLIT, new)
    assert lines(found) == ["moved tanh computation"]
    assert [change.kind for change in found.fusions] == ["shrank"]


def test_f4_a_fusion_of_another_kind() -> None:
    assert lines(compare(SPLIT, SPLIT.replace("kLoop", "kInput"))) == ["changed fusion fusion_kind"]


APART = """
constants {
  c = f32[] constant(0.001)
  ROOT b = f32[8]{0} broadcast(c), dimensions={}
}

fused {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  a = f32[8]{0} abs(p)
  m = f32[8]{0} multiply(a, q)
  ROOT s = f32[8]{0} add(m, q)
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  k = f32[8]{0} fusion(), kind=kLoop, calls=constants
  ROOT f = f32[8]{0} fusion(x, k), kind=kLoop, calls=fused
}
"""
WITH_CONSTANTS = """
fused {
  p = f32[8]{0} parameter(0)
  a = f32[8]{0} abs(p)
  c = f32[] constant(0.001)
  b = f32[8]{0} broadcast(c), dimensions={}
  m = f32[8]{0} multiply(a, b)
  ROOT s = f32[8]{0} add(m, b)
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT f = f32[8]{0} fusion(x), kind=kLoop, calls=fused
}
"""


def test_constants_that_two_readers_share_move_into_the_fusion_that_was_called_with_them() -> None:
    moves = ["moved constant computation", "moved broadcast computation"]
    assert lines(compare(APART, WITH_CONSTANTS)) == ["removed fusion", *moves]
    assert lines(compare(WITH_CONSTANTS, APART)) == ["added fusion", *moves]
