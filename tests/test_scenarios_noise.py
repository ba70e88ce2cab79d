"""SCENARIOS.md, rows N: never an edit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.differ import diff as compare_modules
from hlodiff.hlo import read_hlo
from tests.scenarios import compare, lines, module

PROGRAM = """
reducer {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

fused {
  a = f32[4]{0} parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(a, zero), dimensions={0}, to_apply=reducer
}

ENTRY main {
  p = f32[4]{0} parameter(0)
  q = f32[4]{0} parameter(1)
  sin = f32[4]{0} sine(p)
  cos = f32[4]{0} cosine(q)
  f = f32[] fusion(sin), kind=kInput, calls=fused
  ROOT t = (f32[], f32[4]{0}) tuple(f, cos)
}
"""


def test_n1_names_and_suffixes() -> None:
    new = PROGRAM
    for name in ("reducer", "fused", "sin", "cos", "sum", "zero", "main"):
        new = new.replace(name + " ", name + ".clone.17 ").replace(f"({name})", f"({name}.clone.17)")
        new = new.replace(f"={name}\n", f"={name}.clone.17\n").replace(f"({name},", f"({name}.clone.17,")
    for old_name, new_name in ((", cos)", ", cos.clone.17)"), (", zero)", ", zero.clone.17)")):
        new = new.replace(old_name, new_name)
    assert new != PROGRAM
    assert lines(compare(PROGRAM, new)) == []


def test_n2_metadata_and_debug_tables() -> None:
    new = PROGRAM.replace("sine(p)", 'sine(p), metadata={op_name="jit(f)/sin {x}" source_file="/a/b.py" source_line=3}')
    tables = '\n\nFileNames\n1 "/x/y.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n1 {file_name_id=1 line=3}'
    tables += "\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
    new = new.replace("cosine(q)", "cosine(q), metadata={stack_frame_id=1}")
    assert lines(compare(PROGRAM, new, new_head=tables)) == []


def test_n3_computations_in_another_legal_order() -> None:
    parts = PROGRAM.strip().split("\n\n")
    assert lines(compare(PROGRAM, "\n\n".join([parts[2], parts[1], parts[0]]))) == []


SWAPPED = PROGRAM.replace(
    "  sin = f32[4]{0} sine(p)\n  cos = f32[4]{0} cosine(q)\n",
    "  cos = f32[4]{0} cosine(q)\n  sin = f32[4]{0} sine(p)\n",
)


def test_n4_instructions_in_another_legal_order_without_a_schedule() -> None:
    found = compare(PROGRAM, SWAPPED)
    assert lines(found) == []
    assert found.schedule == ()


def test_n5_the_same_with_a_schedule_is_one_schedule_difference() -> None:
    found = compare(PROGRAM, SWAPPED, head=", is_scheduled=true")
    assert lines(found) == []
    assert [(edit.kind, edit.fields, edit.count) for edit in found.schedule] == [("changed", ("schedule",), 1)]


COLLECTIVES = """
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY main {
  p = f32[4]{0} parameter(0)
  n = f32[4]{0} negate(p)
  tok = token[] after-all()
  s1 = (f32[4]{0}, u32[], token[]) send(p, tok), channel_id=1
  d1 = token[] send-done(s1), channel_id=1
  r1 = (f32[4]{0}, u32[], token[]) recv(tok), channel_id=1
  e1 = (f32[4]{0}, token[]) recv-done(r1), channel_id=1
  s2 = (f32[4]{0}, u32[], token[]) send(n, tok), channel_id=2
  d2 = token[] send-done(s2), channel_id=2
  r2 = (f32[4]{0}, u32[], token[]) recv(tok), channel_id=2
  e2 = (f32[4]{0}, token[]) recv-done(r2), channel_id=2
  g1 = f32[4]{0} get-tuple-element(e1), index=0
  g2 = f32[4]{0} get-tuple-element(e2), index=0
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(g1, g2)
}
"""


def test_n6_renumbered_channels_are_nothing_and_swapped_partners_are_something() -> None:
    renumbered = COLLECTIVES.replace("channel_id=1", "channel_id=X").replace("channel_id=2", "channel_id=40")
    renumbered = renumbered.replace("channel_id=X", "channel_id=30")
    assert lines(compare(COLLECTIVES, renumbered)) == []
    swapped = COLLECTIVES
    for name in ("r1", "e1"):
        swapped = swapped.replace(f"  {name} = ", f"  {name} = @")
    rows = swapped.split("\n")
    partners = [
        row.replace("@", "").replace("channel_id=1", "channel_id=2") if "@" in row
        else row.replace("channel_id=2", "channel_id=1") if row.startswith(("  r2 ", "  e2 "))
        else row
        for row in rows
    ]  # fmt: skip
    assert lines(compare(COLLECTIVES, "\n".join(partners))) != []


def test_n7_key_order_and_estimates_of_backend_config() -> None:
    old = PROGRAM.replace(
        "calls=fused", 'calls=fused, backend_config={"window_config":{"estimated_cycles":"17"},"a":{"x":1,"y":2}}'
    )
    new = PROGRAM.replace(
        "calls=fused", 'calls=fused, backend_config={"a":{"y":2,"x":1},"window_config":{"estimated_cycles":"900"}}'
    )
    assert lines(compare(old, new)) == []
    other = PROGRAM.replace("calls=fused", 'calls=fused, backend_config={"window_config":{},"a":{"y":3,"x":1}}')
    assert lines(compare(old, other)) == ["changed fusion backend_config"]


def test_n9_the_same_bytes_in_processes_with_other_hash_seeds(tmp_path: Path) -> None:
    (tmp_path / "old.hlo").write_text("HloModule m\n" + PROGRAM)
    (tmp_path / "new.hlo").write_text("HloModule m\n" + PROGRAM.replace("sine(p)", "tan(q)").replace("kInput", "kLoop"))
    code = (
        "import json; from hlodiff.differ import diff; from hlodiff.hlo import read;"
        "print(json.dumps(diff(read('old.hlo'), read('new.hlo')).to_json()))"
    )
    outputs = set()
    for seed in ("0", "1", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent.parent)}
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert json.loads(outputs.pop())["summary"]["changed"] == 2


def test_diff_of_a_program_with_itself_says_nothing() -> None:
    one = module(PROGRAM)
    assert compare_modules(one, one).identical


LOOP = "kind=kLoop"
TILES = (
    'kind=kCustom, backend_config={"fusion_backend_config":{"kind":"__triton",'
    '"block_level_fusion_config":{"num_warps":"4","output_tiles":[{"sizes":["64"]}]}}}'
)


def _emitted(kind: str, opcode: str = "tanh") -> str:
    return f"""HloModule m

%body (p: f32[64]) -> f32[64] {{
  %p = f32[64]{{0}} parameter(0)
  ROOT %t = f32[64]{{0}} {opcode}(%p)
}}

ENTRY %main (x: f32[64]) -> f32[64] {{
  %x = f32[64]{{0}} parameter(0)
  ROOT %f = f32[64]{{0}} fusion(%x), {kind}, calls=%body
}}
"""


@pytest.mark.parametrize(("before", "after"), [(LOOP, TILES), (TILES, "kind=kInput")])
def test_the_emitter_that_a_gpu_was_fastest_with_is_tuning(
    before: str, after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two compiles of one program on one attached H100 differ in this."""
    old, new = read_hlo(_emitted(before)), read_hlo(_emitted(after))
    found = compare_modules(old, new)
    assert (found.identical, [edit.fields for edit in found.tuning]) == (True, [("backend_config", "fusion_kind")])
    for name, text in (("old", _emitted(before)), ("new", _emitted(after))):
        (tmp_path / f"{name}.hlo").write_text(text)
    assert run(["diff", str(tmp_path / "old.hlo"), str(tmp_path / "new.hlo"), "--verify", "--exit-code"]) == 0
    assert "replayed: the 1 edit turns the old program into the new one" in capsys.readouterr().out


@pytest.mark.parametrize(
    "after",
    [
        "kind=kInput",
        "kind=kCustom",
        TILES.replace("__triton", "__cudnn$fusion"),
        TILES.replace('"kind"', '"more":"1","kind"'),
        TILES + ", frontend_attributes={a=b}",
    ],
)
def test_any_other_kind_of_fusion_is_a_change(after: str) -> None:
    found = compare_modules(read_hlo(_emitted(LOOP)), read_hlo(_emitted(after)))
    assert [edit.kind for edit in found.edits] == ["changed"]


def test_another_emitter_beside_a_change_inside_is_told_with_it() -> None:
    found = compare_modules(read_hlo(_emitted(LOOP)), read_hlo(_emitted(TILES, "exponential")))
    assert not found.identical and "opcode" in {field for edit in found.edits for field in edit.fields}
