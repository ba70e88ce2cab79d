"""A donation that JAX itself drops, since no result has the argument's type, breaks `donation-aliases` too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff.config import Config, RuleUse
from hlodiff.differ import Edit, FieldChange, ProgramComparison, Site, donated_parameters
from hlodiff.hlo import read
from hlodiff.policy import judge
from hlodiff.report import format_edit
from tests.shown import happened

WITHOUT = "HloModule step, entry_computation_layout={(f32[8]{0})->f32[]}\n\nENTRY %main {\n"
WITHOUT += "  %x = f32[8]{0} parameter(0)\n  ROOT %c = f32[] constant(1)\n}\n"


def test_the_case_knows_what_the_program_does_not_say(tmp_path: Path) -> None:
    (tmp_path / "step.hlo").write_text(WITHOUT, encoding="utf-8")
    module = read(tmp_path / "step.hlo")
    same = ProgramComparison("step", "cpu", "compiled", "identical", module=module)
    config = Config(root=tmp_path, rules=(RuleUse("donation-aliases"),))
    assert judge([same], config) == ()
    (found,) = judge([replace(same, donated=(0,))], config)
    assert found.what == "argument 0, f32[8], is donated, but no result takes its buffer"
    assert judge([replace(same, donated=(7,))], config) == (), "a summary that does not fit its program"


@pytest.mark.parametrize("arguments", [None, "x", [1], [{"donated": "yes"}], {"donated": True}])
def test_a_damaged_summary_donates_nothing(arguments: Any) -> None:
    assert donated_parameters({"arguments": arguments}) == ()


@pytest.mark.slow
def test_a_captured_program_is_asked_by_its_case() -> None:
    def total(unused: Any, kept: Any, given: Any) -> Any:
        return kept.sum() + given.sum()

    shapes = [hlodiff.abstract((4, n), "float32") for n in (2, 3, 5)]
    program = hlodiff.capture_program(hlodiff.Case(total, *shapes, donate=(0, 2)))
    with pytest.raises(AssertionError, match=r"argument 1 \(given\), f32\[4,5\], is donated, but no result takes"):
        program.assert_rule("donation-aliases")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("tf.aliasing_output = 0 : i32", "jax.buffer_donor = true", ""),
        ("jax.buffer_donor = true", "tf.aliasing_output = 0 : i32", ""),
        ("", "jax.buffer_donor = true", "1 argument is donated now"),
        ("tf.aliasing_output = 0 : i32", "", "1 argument is no longer donated"),
    ],
)
def test_an_argument_whose_output_the_compiler_chooses_is_still_donated(before: str, after: str, words: str) -> None:
    """JAX names no output where the shardings of results are not given."""
    text = "module @m {\n  func.func public @main(%arg0: tensor<8xf32> {ATTRIBUTES}) -> tensor<8xf32> {\n"
    text += "    %0 = stablehlo.negate %arg0 : tensor<8xf32>\n    return %0 : tensor<8xf32>\n  }\n}\n"
    found = hlodiff.diff(*(hlodiff.read_text(text.replace("ATTRIBUTES", each)) for each in (before, after)))
    (change,) = [change for edit in found.reported for change in edit.changes]
    assert change.field == "alias"
    said = [one for one in happened(found) if "donated" in one]
    assert said == ([words] if words else [])


def test_arguments_that_are_donated_to_an_output_each_are_not_all_donated_to_the_first() -> None:
    texts = (f"%a{n} = f32[8] parameter({n})" for n in range(2))
    sites = tuple((Site(0, n, "main", f"a{n}", "parameter", text),) * 2 for n, text in enumerate(texts))
    edit = Edit("changed", ("alias",), 2, sites, (FieldChange("alias", "output 0", "any output"),))
    assert format_edit(edit) == "arguments 0, 1 are donated to any output instead of an output each"
