"""Constants that the files do not hold are counted, and nothing is claimed of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hlodiff.cli import run
from hlodiff.differ import diff
from hlodiff.hlo import LazyComputations, read_hlo, read_text
from hlodiff.normalizer import normalize, to_text

# One constant is in a computation that is the same on both sides and is never read.
ELIDED = """HloModule m

%shift (p.1: f32[16]) -> f32[16] {
  %p.1 = f32[16]{0} parameter(0)
  %c.1 = f32[16]{0} constant({...}), metadata={op_name="jit(f)/add"}
  ROOT %a.1 = f32[16]{0} add(%p.1, %c.1)
}

%scale (p.2: f32[16]) -> f32[16] {
  %p.2 = f32[16]{0} parameter(0)
  %c.2 = f32[16]{0} constant({...})
  %m.2 = f32[16]{0} multiply(%p.2, %c.2)
  ROOT %n.2 = f32[16]{0} tanh(%m.2)
}

ENTRY %main (x: f32[16]) -> f32[16] {
  %x = f32[16]{0} parameter(0)
  %first = f32[16]{0} fusion(%x), kind=kLoop, calls=%shift
  ROOT %second = f32[16]{0} fusion(%first), kind=kLoop, calls=%scale
}
"""
CHANGED = ELIDED.replace("tanh(", "sine(")
VALUES = "{" + ", ".join(str(n) for n in range(16)) + "}"
WORDS = "2 constants are not in the files ({...}): whether they are the same is not known"
LOWERED = """module @m {
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %cst = stablehlo.constant dense_resource<__elided__> : tensor<16xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, text in (("old", ELIDED), ("same", ELIDED), ("new", CHANGED)):
        (tmp_path / f"{name}.hlo").write_text(text)
        (tmp_path / f"{name}_known.hlo").write_text(text.replace("{...}", VALUES))
    return tmp_path


@pytest.mark.parametrize("new", [ELIDED, CHANGED])
@pytest.mark.parametrize("at_once", [True, False])
def test_they_are_counted_and_nothing_is_proved(new: str, at_once: bool) -> None:
    old, later = (read_hlo(text, at_once=at_once) for text in (ELIDED, new))
    found = diff(old, later)
    assert found.identical == (new == ELIDED)
    assert found.elided == 2
    assert [words.startswith(WORDS) for words in found.limits] == [True]
    if not at_once:
        assert isinstance(old.computations, LazyComputations)
        assert 0 not in old.computations.parsed, "what is counted there is not read"
    assert found.to_json()["elided_constants"] == 2
    replay = found.replay()
    assert (replay.complete, replay.failures, replay.unknown) == (False, (), 2)


def test_what_has_values_says_nothing() -> None:
    old, new = (read_text(text.replace("{...}", VALUES)) for text in (ELIDED, CHANGED))
    found = diff(old, new)
    assert not found.limits
    assert found.replay().complete


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("size", [16, 80])  # small ones stay in snapshots, of large ones there is a hash
def test_a_value_on_one_side_alone_is_unknown_and_no_edit(size: int, swapped: bool) -> None:
    values = "{" + ", ".join(map(str, range(size))) + "}"
    elided = ELIDED.replace("[16]", f"[{size}]")
    texts = [elided, elided.replace("{...}", values)]
    sides = [read_text(text) for text in (reversed(texts) if swapped else texts)]
    found = diff(*sides)
    assert found.identical and not found.edits
    assert (found.elided, found.limits[0].startswith(WORDS)) == (2, True)
    replay = found.replay()
    assert (replay.complete, replay.failures, replay.unknown) == (False, (), 2)
    stored = [normalize(side) for side in sides]
    assert diff(*stored).identical


def test_what_is_known_of_such_a_constant_is_compared() -> None:
    known = ELIDED.replace("{...}", VALUES)
    other = diff(read_text(ELIDED), read_text(known.replace("f32[16]{0} constant", "f32[16]{0:T(256)} constant", 1)))
    assert [edit.fields for edit in other.edits] == [("layout",)]
    both = diff(read_text(known), read_text(known.replace("{0, 1,", "{7, 1,")))
    assert [edit.fields for edit in both.edits] == [("literal",)]
    rest = diff(read_text(ELIDED), read_text(known.replace("tanh(", "sine(")))
    assert [edit.fields for edit in rest.edits] == [("opcode",)]
    assert not rest.replay().failures


def test_elided_stablehlo_against_values_is_unknown_too() -> None:
    known = LOWERED.replace("dense_resource<__elided__>", f"dense<[{', '.join(f'{n}.0' for n in range(16))}]>")
    for old, new in ((LOWERED, known), (known, LOWERED)):
        found = diff(read_text(old), read_text(new))
        assert found.identical and found.elided == 1
        assert not found.replay().failures


def test_a_snapshot_holds_hashes() -> None:
    large = ELIDED.replace("[16]", "[80]").replace("{...}", "{" + ", ".join(map(str, range(80))) + "}")
    stored = to_text(normalize(read_text(large)))
    assert "constant({...})" in stored
    found = diff(read_text(stored), read_text(large.replace("tanh(", "sine(")))
    assert not found.limits
    assert found.summary["changed"] == 1
    assert found.replay().complete


def test_stablehlo_elides_too() -> None:
    found = diff(read_text(LOWERED), read_text(LOWERED))
    assert found.elided == 1
    assert found.limits[0].startswith("1 constant is not in the files")
    assert not found.replay().complete


@pytest.mark.parametrize("new", ["same", "new"])
def test_the_command_says_so_and_claims_no_proof(new: str, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("--verify",)):
        assert run(["diff", "old.hlo", f"{new}.hlo", *options]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert WORDS in text
        assert "replayed:" not in text
    assert run(["diff", "old.hlo", f"{new}.hlo", "--verify", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["programs"][0]["replayed"] is False
    assert report["programs"][0]["limits"][0].startswith(WORDS)
    assert run(["diff", "old_known.hlo", f"{new}_known.hlo", "--verify"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "not in the files" not in text
    assert "replayed:" in text
