"""Where instructions come from: held against XLA's own texts, for three compilers."""

from __future__ import annotations

import json
from dataclasses import astuple
from functools import cache
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.differ.passes import Dump, InstructionOrigin, PassHistory, dumps_of, origin_of
from tests.pass_dumps import dump, files, steps, unpack


@cache
def history(name: str) -> PassHistory:
    found = steps(name)
    stages = (found[0].before, *(step.stage for step in found))
    return PassHistory(stages, (found[0].diff.old, *(step.diff.new for step in found)), found)


def origin(name: str, instruction: str) -> InstructionOrigin:
    state, places = history(name).find(instruction)
    assert places, instruction
    return origin_of(history(name), state, places[0])


# Read by hand in the texts of each dump.
HEADLINES = [
    ("matmul-cpu", "multiply_add_fusion", "added by fusion (pass 14)"),
    ("matmul-cpu", "ynn_fusion", "added by dot-library-rewriter (pass 11)"),
    ("matmul-cpu", "tanh.0", "in the program before all passes as tanh %tanh.1"),
    ("matmul-cpu", "sub.1", "in the program before all passes as broadcast %sub.2"),
    ("matmul-cuda-h100", "loop_add_fusion", "added by priority-fusion (pass 26)"),
    ("matmul-tpu-v5e-2x2", "convert", "added by float-type-correction (pass 46)"),
    ("matmul-tpu-v5e-2x2", "multiply_add_fusion.1", "added by tpu_fusion (pass 29)"),
    ("matmul-tpu-v5e-2x2", "convolution.2", "in the program before all passes as dot %dot_general.3"),
    ("matmul-tpu-v5e-2x2", "fusion.4", "added by tpu_fusion (pass 35)"),
    ("scatter-cuda-h100-jax-0.9.1", "transpose.8.1", "added by scatter_simplifier (pass 24)"),
    ("scatter-cuda-h100-jax-0.9.2", "transpose.1.3", "added by scatter_simplifier (pass 20)"),
    ("donated-cpu-jax-0.7.1", "call", "added by cpu-parallel-task-assigner (pass 29)"),
    ("donated-cpu-jax-0.7.2", "copy.8", "added by copy-insertion (pass 34)"),
]


@pytest.mark.parametrize(("name", "instruction", "expected"), HEADLINES)
def test_what_made_an_instruction(
    name: str, instruction: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = said(capsys, str(unpack(name, tmp_path)), instruction)
    assert code == 0
    assert f"  %{instruction}: {expected}" in out.splitlines()


def test_reasons_are_what_two_texts_show() -> None:
    fusion = origin("matmul-cpu", "multiply_add_fusion")
    assert fusion.reasons == (
        "it holds %sub.2, %tanh.1, %sub.3, %mul.1 and 1 more, which were outside of it before the pass",
    )
    convert = origin("matmul-tpu-v5e-2x2", "convert")
    assert convert.reasons == ("its operand %add_any.2 is f32 since the same pass",)
    copy = origin("donated-cpu-jax-0.7.2", "copy.8")
    assert copy.reasons[0].startswith("it copies the constant %constant.14 into the state of the loop %while")
    prefetch = origin("matmul-tpu-v5e-2x2", "copy-start")
    assert prefetch.reasons == ("it moves %w.1 from memory device to fast memory",)


def test_what_has_no_line_of_its_own_names_an_operand_that_has() -> None:
    found = origin("matmul-tpu-v5e-2x2", "convert")
    assert not found.op_name
    assert found.near is not None
    site, op_name, frames = found.near
    assert (site.name, op_name, frames[0].line) == ("add_any.2", "jit(matmul)/transpose(jvp())/add_any", 5)


def test_each_pass_that_touched_it_is_listed_in_order() -> None:
    found = origin("matmul-tpu-v5e-2x2", "convolution.2")
    numbers = [touch.step.stage.number for touch in found.touches]
    assert numbers == sorted(number for number in numbers if number is not None) + [None] * numbers.count(None)
    words = {touch.step.passed.name: [change.field for change in touch.changes] for touch in found.touches}
    assert "layout" in words["layout-assignment"]
    assert "opcode" in words["dot_canonicalizer"]
    assert found.touches[0].kind == "changed"


def test_an_instruction_that_a_pass_removed_has_an_end() -> None:
    found = origin("scatter-cuda-h100-jax-0.9.1", "transpose.4")
    assert found.fate is not None
    assert found.made is not None
    assert found.fate.index > found.made.step.index


SUMMED = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
ENTRY e {
  p = f32[4]{0} parameter(0)
  s = f32[4]{0} sine(p), metadata={op_name="jit(f)/sin"}
  a = f32[4]{0} negate(s)
  b = f32[4]{0} exponential(s)
  ROOT t = f32[4]{0} add(a, b)
}
"""
FUSED = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
f {
  q = f32[4]{0} parameter(0)
  s.1 = f32[4]{0} sine(q), metadata={op_name="jit(f)/sin"}
  ROOT a.1 = f32[4]{0} negate(s.1)
}
g {
  q.1 = f32[4]{0} parameter(0)
  s.2 = f32[4]{0} sine(q.1), metadata={op_name="jit(f)/sin"}
  ROOT b.1 = f32[4]{0} exponential(s.2)
}
ENTRY e {
  p = f32[4]{0} parameter(0)
  x = f32[4]{0} fusion(p), kind=kLoop, calls=f
  y = f32[4]{0} fusion(p), kind=kLoop, calls=g
  ROOT t = f32[4]{0} add(x, y)
}
"""


def test_a_pass_that_fuses_writes_an_instruction_more_than_once() -> None:
    texts = {
        "module_0000.jit_f.0000.late.after_pipeline-start.before_fusion.txt": SUMMED,
        "module_0000.jit_f.0001.late.after_fusion.before_pipeline-end.txt": FUSED,
    }
    (found,) = dumps_of(texts, lambda name: texts[name].encode())
    assert (type(found), astuple(found.key)) == (Dump, ("", "", 0, "jit_f"))
    both = PassHistory.of(found)
    origins = [origin_of(both, *(lambda at: (at[0], at[1][0]))(both.find(name))) for name in ("s.1", "s.2")]
    assert [one.first.name if one.first else "" for one in origins] == ["s", "s"]
    assert sorted(touch.kind for one in origins for touch in one.touches) == ["copied", "moved"]


def test_an_instruction_that_a_fusion_takes_in_is_followed_to_the_one_of_its_scope(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last product of a gelu and its square are both multiplies: the shortest list of edits mixes them up."""
    folder, texts = str(unpack("gelu-fusion-cuda-h100", tmp_path)), files("gelu-fusion-cuda-h100")
    (found,) = dumps_of(texts, texts.__getitem__)
    fused = PassHistory.of(found)

    def follow(name: str) -> InstructionOrigin:
        state, (place, *_) = fused.find(name)
        return origin_of(fused, state, place)

    names = {name: follow(name) for name in ("mul.13.3", "mul.12.5", "integer_pow.2.7")}
    assert [one.first.name if one.first else "" for one in names.values()] == [
        "mul.13.0",
        "mul.12.0",
        "integer_pow.2.0",
    ]
    for name in names:
        out = said(capsys, folder, name)[1]
        passed = [line for line in out.splitlines() if line.startswith("  pass ")]
        assert len(passed) == 1
        assert ": moved from %main.2 to %fused_computation.7 (it was " in passed[0]
    assert follow("fusion.7").reasons == (
        "it holds %convert_element_type.1.0, %integer_pow.2.0, %integer_pow.3.0, %mul.9.0 and 11 more,"
        " which were outside of it before the pass",
    )


def test_an_operation_that_a_pass_computes_in_another_type_is_the_same_one() -> None:
    """Float normalization computes a convolution in f32: the converts around it are new, the convolution is not."""
    texts = files("gelu-normalized-cpu")
    (dumped,) = dumps_of(texts, texts.__getitem__)
    normalized = PassHistory.of(dumped)
    state, (place, *_) = normalized.find("conv_general_dilated.1")
    found = origin_of(normalized, state, place)
    assert found.first is not None and found.first.name == "conv_general_dilated.1"
    changes = {change.field: (change.old, change.new) for touch in found.touches for change in touch.changes}
    assert changes["element_type"] == ("bf16", "f32")


DIVIDED = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
ENTRY e {
  p = f32[4]{0} parameter(0)
  c = f32[] constant(-inf)
  w = f32[4]{0} broadcast(c), dimensions={}, metadata={op_name="jit(f)/max"}
  ROOT m = f32[4]{0} maximum(p, w), metadata={op_name="jit(f)/max"}
}
"""
RECIPROCAL = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
ENTRY e {
  p = f32[4]{0} parameter(0)
  one = f32[] constant(1)
  b = f32[4]{0} broadcast(one), dimensions={}, metadata={op_name="jit(f)/div"}
  ROOT d = f32[4]{0} divide(b, p), metadata={op_name="jit(f)/div"}
}
"""


def test_what_has_another_name_and_another_scope_is_another_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shortest list of edits changes the constant, and keeps the broadcast of it."""
    texts = {
        "module_0000.jit_f.0000.late.after_pipeline-start.before_algsimp.txt": DIVIDED,
        "module_0000.jit_f.0001.late.after_algsimp.before_pipeline-end.txt": RECIPROCAL,
    }
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    assert "  %b: added by algsimp (pass 1)\n" in said(capsys, str(tmp_path), "b")[1]


LAID_OUT = """HloModule m, entry_computation_layout={(f32[4,4]{1,0})->(f32[4,4]{1,0}, f32[4,4]{0,1})}
ENTRY e {
  p = f32[4,4]{1,0} parameter(0)
  s = f32[4,4]{1,0} sine(p)
  ROOT t = (f32[4,4]{1,0}, f32[4,4]{0,1}) tuple(s, COPY)
}
"""


def test_the_user_of_a_copy_is_told_with_the_layout_of_that_very_element() -> None:
    copied = LAID_OUT.replace("  ROOT", "  c = f32[4,4]{0,1} copy(p)\n  ROOT").replace("COPY", "c")
    texts = {
        "module_0000.jit_f.0000.late.after_pipeline-start.before_layout.txt": LAID_OUT.replace("COPY", "p"),
        "module_0000.jit_f.0001.late.after_layout.before_pipeline-end.txt": copied,
    }
    (found,) = dumps_of(texts, lambda name: texts[name].encode())
    both = PassHistory.of(found)
    state, (place, *_) = both.find("c")
    assert origin_of(both, state, place).reasons == (
        "its operand %p has the layout {1,0}",
        "its user %t has {0,1}",
    )


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["inspect", "origin", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(unpack("matmul-tpu-v5e-2x2", tmp_path))
    code, out, _ = said(capsys, folder, "%convolution.2")
    assert code == 0
    assert "%convolution.2: in the program before all passes as dot %dot_general.3" in out
    assert "pass 22      dot_canonicalizer: opcode: dot -> convolution" in out
    assert "fns.py:5 (matmul)" in out
    code, out, _ = said(capsys, folder, "convert", "--format", "json")
    (program,) = json.loads(out)["programs"]
    assert (program["passes"][0]["pass"], program["passes"][0]["number"]) == ("float-type-correction", 46)
    code, out, _ = said(capsys, folder, "convert", "--format", "markdown")
    assert "**%convert: added by float-type-correction" in out.replace("\\", "")
    code, out, _ = said(capsys, folder, "nothing.1")
    assert code == 2
    assert "holds no instruction `nothing.1`" in out


def test_names_of_a_snapshot_are_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hlodiff.hlo import read_text
    from hlodiff.normalizer import normalize, to_text

    folder = unpack("matmul-cpu", tmp_path)
    stored = read_text(to_text(normalize(history("matmul-cpu").modules[-1])))
    tanh = next(it for body in stored.computations for it in body.instructions if it.opcode == "tanh")
    assert tanh.name != "tanh.0"
    code, out, _ = said(capsys, str(folder), tanh.name)
    assert code == 0
    assert "%tanh.0: in the program before all passes" in out


def test_the_dump_of_the_tests_is_whole() -> None:
    assert dump("matmul-cpu").is_whole


def test_an_operation_that_got_another_type_is_the_same_one() -> None:
    found = origin("matmul-tpu-v5e-2x2", "add_any.2")
    assert found.made is None and found.first is not None
    assert (found.first.opcode, found.first.name) == ("add", "add_any.1")
    changed = {touch.step.passed.name: [change.field for change in touch.changes] for touch in found.touches}
    assert "element_type" in changed["float-type-correction"]
    assert found.fate is None
