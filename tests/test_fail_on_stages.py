"""`fail_on` names classes of both stages, of one stage, or a stage as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.config import Config, fail_on
from hlodiff.differ import ProgramComparison, diff
from hlodiff.errors import ConfigError
from hlodiff.hlo import read_hlo
from hlodiff.policy import judge

TEXT = "HloModule m\n\nENTRY e {\n  p = f32[8]{0} parameter(0)\n  ROOT r = f32[8]{0} sine(p)\n}\n"


def stage(name: str, changed: bool) -> ProgramComparison:
    found = diff(*(read_hlo(text) for text in (TEXT, TEXT.replace("sine", "cosine") if changed else TEXT)))
    status = "changed" if changed else "identical"
    return ProgramComparison("f", "cpu", name, status, found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "stablehlo", "compiled", "fails"),
    [
        (["structure"], True, False, True),
        (["compiled"], True, False, False),
        (["compiled"], True, True, True),
        (["compiled"], False, True, True),
        (["stablehlo"], False, True, False),
        (["compiled.structure"], True, False, False),
        (["compiled.structure"], False, True, True),
        (["compiled.numerics", "stablehlo.numerics"], True, True, False),
        (["compiled.numerics", "stablehlo.structure"], True, True, True),
    ],
)
def test_which_stage_fails(words: list[str], stablehlo: bool, compiled: bool, fails: bool) -> None:
    config = Config(root=Path(), fail_on=fail_on(words, "here"))
    programs = [stage("stablehlo", stablehlo), stage("compiled", compiled)]
    (found,) = (one for one in judge(programs, config) if one.rule == "changed")
    assert (found.severity == "error") is fails
    if not fails and stablehlo != compiled:
        assert ("the StableHLO" if stablehlo else "the compiled program") in found.what


@pytest.mark.parametrize("word", ["compiled.identical", "compiled.schedule", "compiled.numeric", "compile", "cpu.cost"])
def test_what_is_no_class_is_refused(word: str) -> None:
    with pytest.raises(ConfigError):
        fail_on([word], "here")
