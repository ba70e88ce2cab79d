"""The one word for a change: each class by a pair of programs that a person can read."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.diff import diff
from hlodiff.diff.classes import CLASSES, Class, classes_of
from hlodiff.diff.compared import Compared, with_compiler
from hlodiff.diff.result import ModuleDiff
from hlodiff.ir import read_text
from hlodiff.policy import judge
from hlodiff.report.headline import headline
from hlodiff.report.json_report import to_json
from hlodiff.report.markdown_report import to_markdown
from hlodiff.report.record import Report
from hlodiff.report.terminal import to_terminal

PAGE = Path(__file__).resolve().parent.parent / "docs" / "policy.md"

ONE_FUSION = """HloModule m, input_output_alias={ {}: (0, {}, may-alias) }

%sum {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%fused {
  %q = f32[8,4]{1,0} parameter(0)
  %t = f32[8,4]{1,0} tanh(%q)
  ROOT %e = f32[8,4]{1,0} exponential(%t)
}

ENTRY e {
  %p = f32[8,4]{1,0} parameter(0), sharding={replicated}
  %f = f32[8,4]{1,0} fusion(%p), kind=kLoop, calls=%fused
  %n = f32[] constant(0)
  ROOT %r = f32[8]{0} reduce(%f, %n), dimensions={1}, to_apply=%sum
}
"""
TWO_FUSIONS = ONE_FUSION.replace(
    "ENTRY e {",
    "%other {\n  %q2 = f32[8,4]{1,0} parameter(0)\n  ROOT %e2 = f32[8,4]{1,0} exponential(%q2)\n}\n\nENTRY e {",
)
TWO_FUSIONS = TWO_FUSIONS.replace("  ROOT %e = f32[8,4]{1,0} exponential(%t)\n", "").replace("  %t =", "  ROOT %t =")
TWO_FUSIONS = TWO_FUSIONS.replace("reduce(%f,", "reduce(%g,").replace(
    "  %n =", "  %g = f32[8,4]{1,0} fusion(%f), kind=kLoop, calls=%other\n  %n ="
)


def of(new: str, old: str = ONE_FUSION) -> tuple[str, ...]:
    return classes_of(diff(read_text(old), read_text(new)))


def edited(old: str, new: str) -> tuple[str, ...]:
    assert old in ONE_FUSION
    return of(ONE_FUSION.replace(old, new))


CASES = {
    "the same": ((" tanh(", " tanh("), ("identical",)),
    "donation gone": ((", input_output_alias={ {}: (0, {}, may-alias) }", ""), ("interface",)),
    "a sharded argument": (("sharding={replicated}", "sharding={devices=[2,1]<=[2]}"), ("interface",)),
    "an argument laid out otherwise": (("%p = f32[8,4]{1,0}", "%p = f32[8,4]{0,1}"), ("interface",)),
    "another element type of an argument": (
        ("%p = f32[8,4]{1,0} parameter", "%p = bf16[8,4]{1,0} parameter"),
        ("interface", "numerics"),
    ),
    "a fusion's value on the host": (("%f = f32[8,4]{1,0} f", "%f = f32[8,4]{1,0:S(5)} f"), ("placement",)),
    "more devices": (("HloModule m", "HloModule m, num_partitions=2"), ("placement",)),
    "a value in fast memory": (("%f = f32[8,4]{1,0} f", "%f = f32[8,4]{1,0:S(1)} f"), ("cost",)),
    "a rounded value inside": (("%t = f32[8,4]{1,0} tanh", "%t = bf16[8,4]{1,0} tanh"), ("numerics",)),
    "a floating-point constant": (("constant(0)", "constant(1)"), ("numerics",)),
    "another operation": ((" tanh(", " cosine("), ("structure",)),
    "another reducer": (("f32[] add(", "f32[] maximum("), ("structure",)),
    "another kind of fusion": (("kind=kLoop", "kind=kInput"), ("cost",)),
    "a layout inside": (("%t = f32[8,4]{1,0} tanh", "%t = f32[8,4]{0,1} tanh"), ("cost",)),
}


@pytest.mark.parametrize("case", CASES)
def test_one_edit_one_word(case: str) -> None:
    replaced, classes = CASES[case]
    assert edited(*replaced) == classes


def test_a_fusion_in_two_is_cost_and_a_further_operation_is_structure() -> None:
    assert of(TWO_FUSIONS) == ("cost",)
    assert of(ONE_FUSION, TWO_FUSIONS) == ("cost",)
    twice = TWO_FUSIONS.replace("exponential(%q2)", "exponential(%t2)").replace(
        "  ROOT %e2", "  %t2 = f32[8,4]{1,0} tanh(%q2)\n  ROOT %e2"
    )
    assert of(twice) == ("structure", "cost")


def test_a_result_of_another_shape_is_the_interface() -> None:
    wide = ONE_FUSION.replace("ROOT %r = f32[8]", "%r = f32[8]").replace(
        "to_apply=%sum\n}", "to_apply=%sum\n  ROOT %w = f32[8,2]{1,0} broadcast(%r), dimensions={0}\n}"
    )
    assert of(wide) == ("interface", "structure"), "something else is returned"


def test_a_sum_over_another_dimension_of_equal_size_is_numerics() -> None:
    square = ONE_FUSION.replace("8,4", "8,8")
    assert of(square.replace("dimensions={1}", "dimensions={0}"), square) == ("numerics",)


def test_several_are_listed_most_severe_first() -> None:
    both = ONE_FUSION.replace(", input_output_alias={ {}: (0, {}, may-alias) }", "").replace(" tanh(", " cosine(")
    assert of(both) == ("interface", "structure")


def test_order_alone_is_schedule() -> None:
    body = "HloModule m, is_scheduled=true\n\nENTRY e {\n  %p = f32[8] parameter(0)\n{}"
    body += "  ROOT %a = f32[8] add(%x, %y)\n}\n"
    lines = ["  %x = f32[8] sine(%p)\n", "  %y = f32[8] tanh(%p)\n"]
    old, new = (body.replace("{}", "".join(each)) for each in (lines, lines[::-1]))
    assert of(new, old) == ("schedule",)


PAIRED = (Compared("f", "cpu", "stablehlo", "identical"), Compared("f", "cpu", "compiled", "changed"))


def test_what_the_compiler_did_by_itself_is_toolchain() -> None:
    found = diff(read_text(ONE_FUSION), read_text(TWO_FUSIONS))
    pair = (PAIRED[0], replace(PAIRED[1], diff=found))
    stablehlo, compiled = with_compiler(pair, lambda program: True)
    assert (stablehlo.classes, compiled.classes) == (("identical",), ("toolchain", "cost"))
    assert headline(compiled).startswith("toolchain, cost: ")
    assert with_compiler(pair, lambda program: False)[1].classes == ("cost",)
    mine = (replace(PAIRED[0], status="changed"), pair[1])
    assert with_compiler(mine, lambda program: True)[1].classes == ("cost",), "the code changed too"
    assert with_compiler(pair[1:], lambda program: True)[0].classes == ("cost",), "nobody knows the StableHLO"


@pytest.mark.parametrize("status", ["added", "removed", "not_checked"])
def test_what_was_not_compared_has_no_class(status: str) -> None:
    assert Compared("f", "cpu", "compiled", status).classes == ()  # type: ignore[arg-type]


def test_the_page_has_every_class_in_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(rows[: len(CLASSES)]) == CLASSES


def test_classes_are_worked_out_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(found: ModuleDiff) -> tuple[Class, ...]:
        asked.append(found.old.name)
        return classes_of(found)

    monkeypatch.setattr(sys.modules["hlodiff.diff.compared"], "classes_of", counted)
    old, new = read_text(ONE_FUSION), read_text(TWO_FUSIONS)
    programs = with_compiler((Compared("f", "cpu", "compiled", "changed", diff(old, new)),), lambda one: False)
    report = Report("check", "a", "b", programs, judge(programs))
    for form in (to_terminal, to_json, to_markdown):
        form(report)
    assert replace(programs[0], id="12345678").classes == programs[0].classes
    assert len(asked) == 1
