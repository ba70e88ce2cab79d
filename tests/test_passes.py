"""Pass dumps: which file is which stage, what each pass did, which instruction is which, and the command that asks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.differ import Limits
from hlodiff.differ.passes import PassStep, dumps_of, followed, pass_steps
from hlodiff.differ.passes import dumps as dumps_module
from hlodiff.errors import ReadError
from hlodiff.hlo import read_hlo
from hlodiff.inspect import PassesView, passes_markdown, passes_text
from tests.pass_dumps import dump, files, steps, unpack

MATMUL = ("matmul-cpu", "matmul-cuda-h100", "matmul-tpu-v5e-2x2")


def edited(name: str) -> list[PassStep]:
    return [step for step in steps(name) if step.has_edits]


def row(step: PassStep) -> tuple[int | None, str, dict[str, int]]:
    return step.stage.number, step.passed.label, {kind: n for kind, n in step.diff.summary.items() if n}


def test_modules_of_one_folder_are_told_apart() -> None:
    names = [
        *files("matmul-cuda-h100"),
        "module_0001.jit_other.0000.p.after_pipeline-start.before_dce.txt",
        "sub/module_0001.jit_other.0000.p.after_pipeline-start.before_dce.txt",
        "1700000000.module_0001.jit_other.0000.p.after_dce.before_cse.txt",
        "module_0003.fused_add.0000.cublaslt.after_pipeline-start.before_dot.hlo.pb",
        "module_0004.jit_late.before_optimizations.txt",
        "module_0001.jit_matmul.ir-no-opt.ll",
    ]
    labels = [one.key.label for one in dumps_of(names, lambda name: b"")]
    assert labels == [
        "module_0001.jit_matmul",
        "module_0001.jit_other",
        "module_0002.fused_add",
        "module_0003.fused_add",
        "1700000000.module_0001.jit_other",
        "sub/module_0001.jit_other",
    ]


def test_files_stand_in_the_order_of_the_compile() -> None:
    stages = dump("matmul-tpu-v5e-2x2").stages
    assert stages[0].file.endswith("cl_932483720.before_optimizations.txt")
    assert [stage.number for stage in stages[1:17]] == list(range(16))
    assert [stage.follows.label for stage in stages[-2:]] == [
        "no pass named, after_optimizations",
        "no pass named, after_codegen",
    ]
    assert dump("matmul-tpu-v5e-2x2").last == 59


def test_texts_that_a_pass_writes_while_it_runs_are_part_of_it() -> None:
    named = {stage.number: stage.follows for stage in dump("matmul-tpu-v5e-2x2").stages}
    assert not {16, 17, 18, 19, 40, 41, 42} & set(named)
    assert (named[20].pipeline, named[20].label) == ("Layout_assignment", "layout-assignment")
    assert (named[43].pipeline, named[43].label) == ("Global_Copy_Insertion", "copy-insertion")
    assert not named[30].name


def test_a_pipeline_that_starts_inside_of_a_pass_shows_what_that_pass_did_until_then() -> None:
    names = [
        "module_0000.jit_f.0000.spmd-partitioner.after_pipeline-start.before_shardy-xla.txt",
        "module_0000.jit_f.0001.spmd-partitioner.after_shardy-xla.before_spmd-partitioning.txt",
        "module_0000.jit_f.0002.spmd-cleanup.after_pipeline-start.before_dce.txt",
        "module_0000.jit_f.0003.spmd-cleanup.after_dce.before_pipeline-end.txt",
        "module_0000.jit_f.0004.spmd-partitioner.after_spmd-partitioning.before_pipeline-end.txt",
        "module_0000.jit_f.0005.late.after_pipeline-start.before_dce.txt",
    ]
    (found,) = dumps_of(names, lambda name: b"")
    assert [stage.follows.label for stage in found.stages] == [
        "no pass named, before spmd-partitioner",
        "shardy-xla",
        "spmd-partitioning: before pipeline spmd-cleanup",
        "dce",
        "spmd-partitioning",
        "no pass named, before late",
    ]


def test_a_step_of_a_pass_that_changed_nothing_keeps_its_own_name() -> None:
    names = [
        "module_0000.jit_f.0000.outer.after_pipeline-start.before_copy-insertion.txt",
        "module_0000.jit_f.0001.copy-insertion.after_adding_copies.txt",
        "module_0000.jit_f.0002.next.after_pipeline-start.before_dce.txt",
        "module_0000.jit_f.0003.next.after_dce.before_pipeline-end.txt",
    ]
    (found,) = dumps_of(names, lambda name: b"")
    assert [stage.follows.label for stage in found.stages] == [
        "no pass named, before outer",
        "copy-insertion: after adding copies",
        "no pass named, before next",
        "dce",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "matmul-cpu",
            [
                (11, "dot-library-rewriter", {"added": 2, "moved": 2}),
                (14, "fusion", {"added": 1, "moved": 6}),
                (20, "no pass named, before HLO_passes_after_scheduling", {}),
            ],
        ),
        (
            "matmul-tpu-v5e-2x2",
            [
                (20, "layout-assignment", {"changed": 10}),
                (22, "dot_canonicalizer", {"changed": 2}),
                (29, "tpu_fusion", {"added": 2, "moved": 8}),
                (32, "bfloat16-propagation", {"changed": 2}),
                (35, "tpu_fusion", {"added": 6}),
                (46, "float-type-correction", {"added": 1, "changed": 1}),
                (49, "hlo-memory-scheduler-with-brkga-fallback", {}),
                (None, "no pass named, after_optimizations", {"added": 2, "changed": 4}),
                (None, "no pass named, after_codegen", {"changed": 1}),
            ],
        ),
    ],
)
def test_what_each_pass_did(name: str, expected: list[tuple[int, str, dict[str, int]]]) -> None:
    assert [row(step) for step in edited(name)] == expected


@pytest.mark.parametrize("name", MATMUL)
def test_every_instruction_is_followed_or_was_added(name: str) -> None:
    for step in steps(name):
        new = step.diff.new
        places = {(c, n) for c, body in enumerate(new.computations) for n in range(len(body.instructions))}
        arrived = set(step.mapping.values())
        added = {place for place, edits in step.edits.items() if any(edit.kind == "added" for edit in edits)}
        parameters = {(c, n) for c, n in places if new.computations[c].instructions[n].opcode == "parameter"}
        assert not arrived & added
        assert places - arrived - added <= parameters  # those of a new fusion are names for its operands
        assert len(step.mapping) == len(set(step.mapping))


def test_instructions_are_followed_through_new_names_and_another_order() -> None:
    old = """HloModule m
ENTRY e {
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} sine(p)
  b = f32[4]{0} cosine(a)
  ROOT c = f32[4]{0} add(a, b)
}
"""
    new = """HloModule m
ENTRY e {
  z = f32[4]{0} parameter(0)
  b = f32[4]{0} sine(z)
  c = f32[4]{0} copy(b)
  a = f32[4]{0} cosine(c)
  ROOT p = f32[4]{0} add(b, a)
}
"""
    diff, mapping, edits = followed(read_hlo(old), read_hlo(new))
    assert mapping == {(0, 0): (0, 0), (0, 1): (0, 1), (0, 2): (0, 3), (0, 3): (0, 4)}
    assert {place: [edit.kind for edit in found] for place, found in edits.items()} == {(0, 2): ["added"]}
    assert diff.summary["added"] == 1


def test_the_tables_of_python_lines_make_no_other_program() -> None:
    one, *_ = (data for file, data in files("matmul-cpu").items() if "0014" in file)
    assert b"\nStackFrames\n" in one

    def count(other: bytes) -> int:
        texts = {
            "module_0000.jit_f.0000.late.after_pipeline-start.before_a.txt": one,
            "module_0000.jit_f.0001.late.after_a.before_pipeline-end.txt": other,
        }
        (found,) = dumps_of(texts, texts.__getitem__)
        return len(tuple(pass_steps(found)))

    assert count(one.replace(b'"/src/fns.py"', b'"/elsewhere/functions.py"')) == 0
    assert count(one.replace(b"tanh(", b"sine(")) == 1


def test_a_module_with_more_texts_than_a_compile_writes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps_module, "MOST_STAGES", 10)
    with pytest.raises(ReadError, match="no compile writes so many"):
        dumps_of(files("matmul-cpu"), lambda name: b"")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["inspect", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_table_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpack("matmul-cpu", tmp_path)
    code, out, _ = said(capsys, "passes", str(folder))
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "module_0000.jit_matmul: XLA wrote 23 texts, 3 texts with edits"
    assert lines[2:6] == [
        "before all passes 0 0 0 496.0 KiB",
        "11 dot-library-passes dot-library-rewriter 2 2 2",
        "14 HLO_passes_after_layout_assig... fusion 1 6 3 176.0 KiB",
        "20 HLO_passes_after_scheduling no pass named, before HLO_passes_af... [schedule]",
    ]
    assert lines[6] == "19 texts without an edit are folded"
    code, out, _ = said(capsys, "passes", str(folder), "--pass", "^HLO.* fusion$")
    assert code == 0
    assert "pass 14, fusion (pipeline HLO_passes_after_layout_assignment): 1 added, 6 moved" in out
    assert "added    fusion %multiply_add_fusion f32[64,128], kind=kLoop" in out
    assert "+ 6 knock-on edits: 1 add moved, 1 multiply moved" in out
    assert "dot-library-rewriter (pipeline" not in out


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_no_number_is_cut_off_in_a_narrow_window(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = said(capsys, "passes", str(unpack("matmul-cpu", tmp_path)))
    rows = out.splitlines()[1:]
    assert max(map(len, rows)) <= width
    text = " ".join(out.split())
    assert "496.0 KiB" in text and "176.0 KiB" in text and "[schedule]" in text


def test_the_other_forms_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpack("matmul-cpu", tmp_path)
    code, out, _ = said(capsys, "passes", str(folder), "--format", "json")
    (program,) = json.loads(out)["programs"]
    assert (code, program["texts"], program["last"]) == (0, 23, 20)
    assert [(one["number"], one["pass"], one["pipeline"]) for one in program["passes"]][:2] == [
        (11, "dot-library-rewriter", "dot-library-passes"),
        (14, "fusion", "HLO_passes_after_layout_assignment"),
    ]
    assert program["passes"][1]["after"]["fusions"] == 3
    assert len(program["passes"][1]["edits"]) == 7
    code, out, _ = said(capsys, "passes", str(folder), "--format", "markdown")
    assert code == 0
    assert "| 14 | `HLO_passes_after_layout_assig...` | `fusion` | 1 |" in out


def test_modules_of_a_folder_are_chosen_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpack("matmul-cuda-h100", tmp_path)
    assert "fused_add" not in said(capsys, "passes", str(folder))[1]
    code, out, _ = said(capsys, "passes", str(folder), "--module", "module_0002")
    assert (code, out.splitlines()[0]) == (0, "module_0002.fused_add: XLA wrote 1 text")
    code, _, err = said(capsys, "passes", str(folder), "--module", "jit_none")
    assert code == 2
    assert "no module is called `jit_none`" in err


def test_links_in_a_folder_are_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpack("matmul-cpu", tmp_path)
    victim = next(folder.glob("*0014*"))
    secret = tmp_path / "secret.txt"
    secret.write_bytes(victim.read_bytes())
    victim.unlink()
    victim.symlink_to(secret)
    code, out, _ = said(capsys, "passes", str(folder))
    assert code == 2
    assert "links are not followed" in " ".join(out.split())
    victim.unlink()
    os.mkfifo(victim)
    assert said(capsys, "passes", str(folder))[0] == 2


def test_what_is_no_pass_dump_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "module_0000.jit_f.before_optimizations.txt").write_text("HloModule m\n")
    code, _, err = said(capsys, "passes", str(folder))
    assert code == 2
    assert "has no text of any pass" in err
    assert "--xla_dump_hlo_pass_re" in err


def test_a_text_that_is_cut_off_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpack("matmul-cpu", tmp_path)
    broken = next(folder.glob("*0014*"))
    broken.write_bytes(broken.read_bytes()[:-300])
    code, out, _ = said(capsys, "passes", str(folder))
    assert code == 2
    assert broken.name in "".join(out.split())


@pytest.mark.parametrize("name", ["growth", "parity", "profile", "variants", "passes"])
def test_the_questions_have_one_group(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, name, "--help")
    assert code == 0
    assert "Usage: hlodiff inspect" in out


PROJECT = """
import jax.numpy as jnp
import hlodiff

@hlodiff.register(targets=["cpu"])
def step():
    return hlodiff.Case(loss, hlodiff.abstract((8, 4), "float32"), hlodiff.abstract((4, 16), "float32"))

def loss(x, w):
    return jnp.tanh(x @ w).sum()
"""


def test_a_registered_function_is_compiled_with_a_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["functions"]\n')
    (tmp_path / "functions.py").write_text(PROJECT)
    before = sorted(tmp_path.iterdir())
    code, out, err = said(capsys, "passes", "step", "--project", str(tmp_path), "--pass", "fusion")
    assert code == 0, err
    assert out.startswith("step on cpu: XLA wrote ")
    assert "fusion (pipeline HLO_passes_after_layout_assignment)" in out
    assert "functions.py:10" in out
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "__pycache__"] == before


def test_a_limit_that_was_hit_is_said() -> None:
    found = list(pass_steps(dump("matmul-cpu"), Limits(search=0, assignment=0)))
    assert any(step.diff.limit_hits for step in found)
    view = PassesView("f", "cpu", 23, 20, tuple(found), found[0].numbers[0])
    text = passes_text([view], None, False, "", 160, False)
    assert "Matching was cut short in " in text
    assert "Matching was cut short in " in passes_markdown([view], None, False, "").replace("\\", "")
