"""`hlodiff diff --verify`: the edits are carried out, and the outcome is the new program, or that is said."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.differ import Limits, ModuleDiff, diff
from hlodiff.hlo import Module

ONE = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} tanh(%p)\n}\n"
TWO = ONE.replace("tanh", "exponential")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for side, texts in (("old", (ONE, ONE)), ("new", (TWO, ONE))):
        (tmp_path / side).mkdir()
        for name, text in zip(("step", "same"), texts, strict=True):
            (tmp_path / side / f"{name}.hlo").write_text(text)
    return tmp_path


def silent(old: Module, new: Module, limits: Limits) -> ModuleDiff:
    """A differ that keeps its first edit to itself."""
    found = diff(old, new, limits=limits)
    return replace(found, edits=found.edits[1:])


def test_each_program_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "old", "new", "--verify"]) == 0
    text = capsys.readouterr().out
    assert "note: step, compiled: replayed: the 1 edit turns the old program into the new one" in text
    assert "note: replayed: 1 program without edits is the same edge by edge" in text


def test_json_says_whether_it_was_proved(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, wanted in ((["--verify"], [True, True]), ([], [None, None])):
        assert run(["diff", "old", "new", "--format", "json", *arguments]) == 0
        programs = json.loads(capsys.readouterr().out)["programs"]
        assert [program["replayed"] for program in programs] == wanted


def test_a_diff_that_hides_an_edit_is_an_internal_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("hlodiff.differ"), "diff", silent)
    assert run(["diff", "old/step.hlo", "new/step.hlo"]) == 0
    assert "1 unchanged" in capsys.readouterr().out
    assert run(["diff", "old/step.hlo", "new/step.hlo", "--verify"]) == 2
    text = " ".join(capsys.readouterr().out.split())
    assert "internal error: the edits do not turn the old program into the new one" in text
    assert "%n (tanh) of %e: opcode is tanh, in the new program it is exponential, and no edit says so" in text
    assert "please report it with both programs, old/step.hlo and new/step.hlo" in text
    assert run(["diff", "old", "new", "--verify", "--format", "json"]) == 2
    programs = json.loads(capsys.readouterr().out)["programs"]
    assert {program["name"]: program["replayed"] for program in programs} == {"same": True, "step": False}


def test_both_stages_of_a_program_are_one_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lowered = (
        "module @m {\n  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
        "    return %a : tensor<8xf32>\n  }\n}\n"
    )
    for side in ("old", "new"):
        for name in ("step", "same"):
            (folder / side / f"{name}.mlir").write_text(lowered)
    assert run(["diff", "old", "new", "--verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "note: step, stablehlo: replayed: the same edge by edge" in lines
    assert "note: step, compiled: replayed: the 1 edit turns the old program into the new one" in lines
    assert "note: replayed: 1 program without edits is the same edge by edge" in lines
    assert lines[-1] == "1 changed, unchanged: same"
    assert any(line.startswith("  next: hlodiff diff old new ") for line in lines)
