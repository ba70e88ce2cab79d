"""The one word for a change: each class by a pair of programs that a person can read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec

from hlodiff.differ import CLASSES, Edit, ModuleDiff, ProgramComparison, Site, classes_of, diff, with_compiler
from hlodiff.hlo import Frame, Module, Stage, read_text
from hlodiff.policy import judge
from hlodiff.report import Report, format_field_change, to_json, to_markdown, to_terminal
from tests.shown import happened, headline

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
    "a sharded argument": (("sharding={replicated}", "sharding={devices=[2,1]<=[2]}"), ("interface", "placement")),
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


def test_a_sum_over_another_dimension_is_structure_and_one_in_another_order_is_numerics() -> None:
    square = ONE_FUSION.replace("8,4", "8,8")
    assert of(square.replace("dimensions={1}", "dimensions={0}"), square) == ("structure",)
    turned = ONE_FUSION.replace("8,4", "4,8").replace("dimensions={1}", "dimensions={0}")
    assert "numerics" in of(ONE_FUSION, turned), "the same numbers, added in another order"
    found = diff(read_text(turned), read_text(ONE_FUSION))
    assert "numerics" not in classes_of(found, has_folded_constants=True), "the source was edited and rounds as before"
    of_all = turned.replace("dimensions={0}", "dimensions={0,1}").replace("f32[8]{0} reduce", "f32[] reduce")
    assert "numerics" not in of(of_all), "a sum of more numbers is another one"


def test_several_are_listed_most_severe_first() -> None:
    both = ONE_FUSION.replace(", input_output_alias={ {}: (0, {}, may-alias) }", "").replace(" tanh(", " cosine(")
    assert of(both) == ("interface", "structure")


def test_order_alone_is_schedule() -> None:
    body = "HloModule m, is_scheduled=true\n\nENTRY e {\n  %p = f32[8] parameter(0)\n{}"
    body += "  ROOT %a = f32[8] add(%x, %y)\n}\n"
    lines = ["  %x = f32[8] sine(%p)\n", "  %y = f32[8] tanh(%p)\n"]
    old, new = (body.replace("{}", "".join(each)) for each in (lines, lines[::-1]))
    assert of(new, old) == ("schedule",)


PAIRED = (ProgramComparison("f", "cpu", "stablehlo", "identical"), ProgramComparison("f", "cpu", "compiled", "changed"))


@pytest.mark.parametrize(("target", "word"), [("ConcatBitcast", "cost"), ("Interleave", "structure")])
def test_slices_that_are_named_in_another_order_are_cost(target: str, word: str) -> None:
    """A TPU prefetches slices to places side by side, whichever it names first."""
    old, new = (
        "HloModule m\n\nENTRY e {\n  %p = f32[8] parameter(0)\n  %a = f32[4] slice(%p), slice={[0:4]}\n"
        "  %b = f32[4] slice(%p), slice={[4:8]}\n  %s = f32[4] sine(%a)\n  %t = f32[4] tanh(%b)\n"
        f'  %c = f32[8] custom-call({order}), custom_call_target="{target}"\n'
        "  ROOT %r = (f32[8], f32[4], f32[4]) tuple(%c, %s, %t)\n}\n"
        for order in ("%a, %b", "%b, %a")
    )
    assert of(new, old) == (word,)


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


@pytest.mark.parametrize(
    ("ending", "word"), [("add(%f, %f)", "numerics"), ("add(%f, %w)", "structure")], ids=["number", "operands"]
)
def test_what_is_folded_from_a_whole_number_that_somebody_wrote_is_numerics(ending: str, word: str) -> None:
    """As `var(x, ddof=1)`: nobody wrote another floating-point number."""
    body = "HloModule m\n\nENTRY e {\n  %p = f32[] parameter(0)\n"
    written = body + "  %n = s32[] constant(#)\n  %w = f32[] convert(%n)\n  %f = f32[] multiply(%p, %w)\n"
    folded = body + "  %c = f32[] constant(#)\n  ROOT %r = f32[] multiply(%p, %c)\n}\n"
    texts = written.replace("#", "0") + "  ROOT %r = f32[] add(%f, %f)\n}\n", folded.replace("#", "0.0625")
    others = written.replace("#", "1") + f"  ROOT %r = f32[] {ending}\n}}\n", folded.replace("#", "0.0667")
    pair = (
        replace(one, status="changed", diff=diff(read_text(old), read_text(new)))
        for one, old, new in zip(PAIRED, texts, others, strict=True)
    )
    stablehlo, compiled = with_compiler(pair, lambda program: False)
    assert (stablehlo.classes, compiled.classes) == (("structure",), (word,))


@pytest.mark.parametrize(("number", "word"), [("c", "numerics"), ("p", "structure")], ids=["number", "value"])
def test_what_is_folded_from_another_number_is_numerics(number: str, word: str) -> None:
    """As `dt0=None` of a solver: another number, without the operations on the one before."""
    body = "HloModule m\n\nENTRY e {\n  %p = f32[] parameter(0)\n"
    written = "  %c = f32[] constant(0.05)\n  %i = f32[] negate(%c)\n  %d = f32[] sine(%i)\n"
    sum_ = "  %a = f32[] add(%p, %d)\n  ROOT %r = f32[] minimum(%a, %p)\n}\n"
    constant = "  %c = f32[] constant(0.01)\n" if number == "c" else ""
    other = f"{constant}  %a = f32[] add(%p, %{number})\n  ROOT %r = f32[] minimum(%a, %p)\n}}\n"
    folded = body + "  %c = f32[] constant(#)\n  ROOT %r = f32[] add(%p, %c)\n}\n"
    texts = body + written + sum_, folded.replace("#", "0.05")
    others = body + other, folded.replace("#", "0.01")
    pair = (
        replace(one, status="changed", diff=diff(read_text(old), read_text(new)))
        for one, old, new in zip(PAIRED, texts, others, strict=True)
    )
    stablehlo, compiled = with_compiler(pair, lambda program: False)
    assert (stablehlo.classes, compiled.classes) == (("structure",), (word,))


@pytest.mark.parametrize(("old", "new", "classes"), [("0.02", "0.01", ("numerics",)), ("2", "1", ("structure",))])
def test_a_whole_number_that_is_folded_from_a_float_is_of_its_class(
    old: str, new: str, classes: tuple[str, ...]
) -> None:
    """As the number of steps from `dt0`: nothing else changed in either program."""
    kind = "f32" if "." in old else "s32"
    written = f"HloModule m\n\nENTRY e {{\n  %p = {kind}[] parameter(0)\n  %c = {kind}[] constant(#)\n"
    written += f"  ROOT %r = {kind}[] divide(%p, %c)\n}}\n"
    folded = "HloModule m\n\nENTRY e {\n  %p = s32[] parameter(0)\n  %n = s32[] constant(#)\n"
    folded += "  ROOT %r = s32[] minimum(%p, %n)\n}\n"
    sides = (
        (written.replace("#", old), folded.replace("#", "50")),
        (written.replace("#", new), folded.replace("#", "100")),
    )
    pair = (
        replace(one, status="changed", diff=diff(read_text(before), read_text(after)))
        for one, before, after in zip(PAIRED, *sides, strict=True)
    )
    stablehlo, compiled = with_compiler(pair, lambda program: False)
    assert stablehlo.classes == compiled.classes == classes


def test_a_number_in_place_of_an_argument_is_the_value_that_the_argument_had() -> None:
    """As an argument that became static: `interface`, and nothing is rounded otherwise."""
    text = """module @m {{
  func.func public @main(%arg0: tensor<f32>{argument}) -> tensor<i1> {{
    {constant}%1 = stablehlo.compare GT, %arg0, %{taken} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %1 : tensor<i1>
  }}
}}
"""
    constant = "%0 = stablehlo.constant dense<3.000000e-01> : tensor<f32>\n    "
    old = text.format(argument=", %arg1: tensor<f32>", constant="", taken="arg1")
    new = text.format(argument="", constant=constant, taken="0")
    for one, other in ((old, new), (new, old)):
        found = of(one, other)
        assert "interface" in found and "numerics" not in found


@pytest.mark.parametrize("status", ["added", "removed", "not_checked"])
def test_what_was_not_compared_has_no_class(status: str) -> None:
    assert ProgramComparison("f", "cpu", "compiled", status).classes == ()  # type: ignore[arg-type]


def test_the_page_has_every_class_in_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(rows[: len(CLASSES)]) == CLASSES


def test_classes_are_worked_out_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(found: ModuleDiff, has_folded_constants: bool = False) -> tuple[Any, ...]:
        asked.append(found.old.name)
        return classes_of(found, has_folded_constants)

    monkeypatch.setattr(sys.modules["hlodiff.differ.comparison"], "classes_of", counted)
    old, new = read_text(ONE_FUSION), read_text(TWO_FUSIONS)
    programs = with_compiler((ProgramComparison("f", "cpu", "compiled", "changed", diff(old, new)),), lambda one: False)
    report = Report("check", "a", "b", programs, judge(programs))
    for form in (to_terminal, to_json, to_markdown):
        form(report)
    assert replace(programs[0], id="12345678").classes == programs[0].classes
    assert len(asked) == 1


FIXTURES = Path(__file__).parent / "fixtures" / "numerics"
NOTE = ', backend_config={"float_type_correction_info":{"original_shape":{"element_type":"BF16"}}}'


@pytest.mark.parametrize("name", ["tnew.hlo", "tnew2.hlo"])
def test_an_operation_in_another_float_type_is_numerics_however_it_pairs(name: str) -> None:
    old, new = ((FIXTURES / each).read_text() for each in ("told.hlo", name))
    assert of(new, old) == of(old, new) == ("numerics",)


def computed(opcode: str, narrow: str, wide: str, form: str, note: str = "", *, fused: bool = True) -> str:
    """`negate(opcode(a, b))`, in one type or in two."""
    row = "%{} = {}[32,64]{{1,0}} {}"
    operands = ["%a", "%b"] if opcode != "tanh" else ["%a"]
    casts = [row.format(f"c{n}", wide, f"convert({each})") for n, each in enumerate(operands)]
    inner = ", ".join(f"%c{n}" for n in range(len(casts)))
    rows = {
        "plain": [row.format("t", narrow, f"{opcode}({', '.join(operands)})")],
        "result": [
            row.format("w", wide, f"{opcode}({', '.join(operands)}){note}"),
            row.format("t", narrow, "convert(%w)"),
        ],
        "around": [*casts, row.format("w", wide, f"{opcode}({inner}){note}"), row.format("t", narrow, "convert(%w)")],
        "alone": [
            row.format("s", narrow, f"{opcode}({', '.join(operands)})"),
            row.format("w", wide, "convert(%s)"),
            row.format("t", narrow, "convert(%w)"),
        ],
        "all": [*casts, row.format("w", wide, f"{opcode}({inner}){note}"), row.format("v", wide, "negate(%w)")],
    }[form]
    last = "ROOT " + row.format("n", narrow, "convert(%v)" if form == "all" else "negate(%t)")
    arguments = [row.format(name, narrow, f"parameter({n})") for n, name in enumerate("ab")]
    body = "\n".join(f"  {each}" for each in [*arguments, *rows, last])
    if not fused:
        return f"HloModule m\n\nENTRY %e {{\n{body}\n}}\n"
    outer = [row.format(name, narrow, f"parameter({n})") for n, name in enumerate("pq")]
    outer.append("ROOT " + row.format("f", narrow, "fusion(%p, %q), kind=kLoop, calls=%fused"))
    return f"HloModule m\n\n%fused {{\n{body}\n}}\n\nENTRY %e {{\n" + "\n".join(f"  {each}" for each in outer) + "\n}\n"


@pytest.mark.parametrize("types", [("bf16", "f32"), ("f32", "bf16"), ("f32", "f64"), ("f16", "f32")])
@pytest.mark.parametrize("opcode", ["maximum", "subtract", "tanh"])
@pytest.mark.parametrize("form", ["result", "around", "all", "alone"])
def test_converts_around_an_operation_are_numerics(types: tuple[str, str], opcode: str, form: str) -> None:
    for fused in (True, False):
        for note in ("", NOTE):
            old = computed(opcode, *types, "plain", fused=fused)
            new = computed(opcode, *types, form, note, fused=fused)
            assert of(new, old) == of(old, new) == ("numerics",)
            further = new.replace(" negate(", " cosine(")
            assert of(further, old) == of(old, further) == ("numerics", "structure")


def test_other_work_under_converts_is_structure() -> None:
    old, new = (computed("maximum", "bf16", "f32", form) for form in ("plain", "around"))
    for before, after in (
        (" maximum(", " minimum("),
        ("maximum(%c0, %c1)", "maximum(%c0, %c0)"),
        ("(%c0, %c1)", "(%c1, %c1)"),
    ):
        other = new.replace(before, after)
        assert other != new
        assert "structure" in of(other, old)
        assert "structure" in of(old, other)


def test_converts_of_stablehlo_are_numerics() -> None:
    head = "module @m {\n  func.func public @main(%arg0: tensor<8xbf16>, %arg1: tensor<8xbf16>) -> tensor<8xbf16> {\n"
    old = head + "    %0 = stablehlo.maximum %arg0, %arg1 : tensor<8xbf16>\n    return %0 : tensor<8xbf16>\n  }\n}\n"
    new = (
        head
        + "    %0 = stablehlo.convert %arg0 : (tensor<8xbf16>) -> tensor<8xf32>\n"
        + "    %1 = stablehlo.convert %arg1 : (tensor<8xbf16>) -> tensor<8xf32>\n"
        + "    %2 = stablehlo.maximum %0, %1 : tensor<8xf32>\n"
        + "    %3 = stablehlo.convert %2 : (tensor<8xf32>) -> tensor<8xbf16>\n"
        + "    return %3 : tensor<8xbf16>\n  }\n}\n"
    )
    assert of(new, old) == of(old, new) == ("numerics",)


MEAN = """HloModule m

%sum {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY e {
  %p = f32[12,8]{1,0} parameter(0)
  %z = f32[] constant(0)
  %r = f32[] reduce(%p, %z), dimensions={0,1}, to_apply=%sum
  %n = f32[] constant(COUNT)
  ROOT %d = f32[] multiply(%r, %n)
}
"""


@pytest.mark.parametrize(
    ("old", "new", "classes"),
    [
        ("96", "128", ("interface",)),
        ("0.0104166669", "0.0078125", ("interface",)),
        ("0.0208333339", "0.015625", ("interface",)),  # twice that: its gradient
        ("12", "16", ("interface",)),
        ("96", "127", ("interface", "numerics")),
        ("0.1", "0.2", ("interface", "numerics")),
        ("-96", "128", ("interface", "numerics")),
    ],
)
def test_a_constant_that_follows_from_a_shape_is_no_other_rounding(
    old: str, new: str, classes: tuple[str, ...]
) -> None:
    before, after = MEAN.replace("COUNT", old), MEAN.replace("COUNT", new)
    assert of(after.replace("[12,8]", "[16,8]"), before) == classes
    assert of(after, before) == ("numerics",)


@pytest.mark.parametrize(("number", "name"), [("0.5", "structure"), ("0.25", "numerics")])
def test_a_constant_that_the_compiler_multiplied_is_no_other_rounding(number: str, name: str) -> None:
    """Where the StableHLO has the same numbers, as `0.5 * g / 3` and `0.5 * g / n` have in one constant."""
    written = (
        "module @m {{\n  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {{\n"
        "    %c = stablehlo.constant dense<{}> : tensor<8xf32>\n    %y = stablehlo.multiply %x, %c : tensor<8xf32>\n"
        "    %z = stablehlo.{} %y : tensor<8xf32>\n    return %z : tensor<8xf32>\n  }}\n}}\n"
    )
    compiled = (
        "HloModule m\n\nENTRY e {{\n  %x = f32[8] parameter(0)\n  %c = f32[] constant({})\n"
        "  %b = f32[8] broadcast(%c), dimensions={{}}\n  %y = f32[8] multiply(%x, %b)\n  ROOT %z = f32[8] {}(%y)\n}}\n"
    )
    pairs = [
        (written.format("0.5", "sine"), written.format(number, "cosine")),
        (compiled.format("0.5", "sine"), compiled.format("1.5", "cosine")),
    ]
    modules = [[read_text(text, trusted=True) for text in pair] for pair in pairs]
    programs = [ProgramComparison("f", "cpu", old.stage, "changed", diff(old, new)) for old, new in modules]
    for kept in (programs, programs[1:]):
        found = with_compiler(kept, lambda program: False)[-1]
        assert found.classes[0] == (name if len(kept) == 2 else "numerics")


@pytest.mark.parametrize(("opcode", "name"), [("sine", "structure"), ("convert", "numerics")])
def test_a_cast_that_the_compiler_repeats_in_another_fusion_is_no_other_rounding(opcode: str, name: str) -> None:
    """Where the StableHLO has the same casts: a value is only computed again where it is used."""
    written = (
        "module @m {\n  func.func public @main(%x: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xf32>) {\n"
        "    %w = stablehlo.convert %x : (tensor<8xbf16>) -> tensor<8xf32>\n"
        "    %a = stablehlo.sine %w : tensor<8xf32>\n    MORE\n"
        "    return %a, %b : tensor<8xf32>, tensor<8xf32>\n  }\n}\n"
    )
    more = {"sine": "%b = stablehlo.cosine %w : tensor<8xf32>",
            "convert": "%c = stablehlo.convert %x : (tensor<8xbf16>) -> tensor<8xf32>\n"
                       "    %b = stablehlo.cosine %c : tensor<8xf32>"}  # fmt: skip
    compiled = (
        "HloModule m\n\nENTRY e {\n  %x = bf16[8] parameter(0)\n"
        '  %w = f32[8] convert(%x), metadata={op_name="jit(f)/convert_element_type"}\n'
        "  %a = f32[8] sine(%w)\n  MORE\n  ROOT %z = (f32[8], f32[8]) tuple(%a, %b)\n}\n"
    )
    again = '%c = f32[8] convert(%x), metadata={op_name="jit(f)/convert_element_type"}\n  %b = f32[8] cosine(%c)'
    pairs = [
        (written.replace("MORE", "%b = stablehlo.tanh %w : tensor<8xf32>"), written.replace("MORE", more[opcode])),
        (compiled.replace("MORE", "%b = f32[8] tanh(%w)"), compiled.replace("MORE", again)),
    ]
    modules = [[read_text(text, trusted=True) for text in pair] for pair in pairs]
    programs = [ProgramComparison("f", "cpu", old.stage, "changed", diff(old, new)) for old, new in modules]
    stablehlo, found = with_compiler(programs, lambda program: False)
    assert (stablehlo.classes[0] == "numerics") == (name == "numerics")
    assert found.classes[0] == name
    assert with_compiler(programs[1:], lambda program: False)[0].classes[0] == "numerics", "nobody knows the StableHLO"


def mean(taken: tuple[int, int], over: str, divisor: int, stage: str) -> str:
    """The mean of some rows and columns of an array, over dimensions of it, and the sum of what is left."""
    kept = [taken[n] for n in (0, 1) if str(n) not in over]
    rest = ", ".join(map(str, range(len(kept))))
    if stage == "compiled":
        text = (
            f"  %x = f32[16,24]{{1,0}} parameter(0)\n  %z = f32[] constant(0)\n  %n = f32[] constant({1 / divisor})\n"
            f"  %s = f32[{taken[0]},{taken[1]}]{{1,0}} slice(%x), slice={{[0:{taken[0]}], [0:{taken[1]}]}}\n"
            f"  %r = f32{kept} reduce(%s, %z), dimensions={{{over}}}, to_apply=%sum\n"
            f"  %b = f32{kept} broadcast(%n), dimensions={{}}\n  %m = f32{kept} multiply(%r, %b)\n"
            f"  ROOT %t = f32[] reduce(%m, %z), dimensions={{{rest}}}, to_apply=%sum\n}}\n"
        )
        return MEAN[: MEAN.index("ENTRY")] + "ENTRY e {\n" + text
    sliced = f"tensor<{taken[0]}x{taken[1]}xf32>"
    left = "".join(f"{n}x" for n in kept)
    return (
        "module @m {\n  func.func public @main(%x: tensor<16x24xf32>) -> tensor<f32> {\n"
        "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f"    %s = stablehlo.slice %x [0:{taken[0]}, 0:{taken[1]}] : (tensor<16x24xf32>) -> {sliced}\n"
        f"    %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [{over}]"
        f" : ({sliced}, tensor<f32>) -> tensor<{left}f32>\n"
        f"    %n = stablehlo.constant dense<{divisor}.0> : tensor<f32>\n"
        f"    %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<{left}f32>\n"
        f"    %m = stablehlo.divide %r, %b : tensor<{left}f32>\n"
        f"    %t = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [{rest}]"
        f" : (tensor<{left}f32>, tensor<f32>) -> tensor<f32>\n    return %t : tensor<f32>\n  }}\n}}\n"
    )


@pytest.mark.parametrize("stage", ["stablehlo", "compiled"])
@pytest.mark.parametrize(
    ("old", "new", "words", "name"),
    [
        (((16, 24), "0, 1", 384), ((16, 8), "0, 1", 128), "a mean is over 128 elements instead of 384", "structure"),
        (((16, 24), "0, 1", 384), ((16, 24), "0", 16), "a mean is over 16 elements instead of 384", "structure"),
        (((16, 24), "1", 24), ((16, 24), "0", 16), "a mean is over 16 elements instead of 24", "structure"),
        (((16, 24), "0", 16), ((16, 24), "0", 15), "", "numerics"),  # another divisor alone
        (((16, 24), "0, 1", 384), ((16, 8), "0, 1", 96), "", "numerics"),
    ],
)
def test_a_mean_over_other_elements_is_another_computation(
    old: tuple[tuple[int, int], str, int],
    new: tuple[tuple[int, int], str, int],
    words: str,
    name: str,
    stage: str,
) -> None:
    before, after = (read_text(mean(*one, stage), trusted=True) for one in (old, new))
    found = diff(before, after)
    assert classes_of(found)[0] == name
    assert [one for one in happened(found) if "mean" in one] == ([words] if words and stage == "stablehlo" else [])


def test_a_mean_of_one_of_several_results_of_a_call() -> None:
    whole, part = (mean((16, 24), over, size, "stablehlo") for over, size in (("0, 1", 384), ("0", 16)))
    called = "    %w:2 = call @f(%x) : (tensor<16x24xf32>) -> (tensor<f32>, tensor<16x24xf32>)\n"
    function = (
        "  func.func private @f(%x: tensor<16x24xf32>) -> (tensor<f32>, tensor<16x24xf32>) {\n"
        "    %z = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "    return %z, %x : tensor<f32>, tensor<16x24xf32>\n  }\n}\n"
    )
    sliced = "    %s = stablehlo.slice %x [0:16, 0:24] : (tensor<16x24xf32>) -> tensor<16x24xf32>\n"
    texts = [
        text.replace(sliced, called).replace("reduce(%s init", "reduce(%w#1 init").removesuffix("}\n") + function
        for text in (whole, part)
    ]
    found = diff(*(read_text(text, trusted=True) for text in texts))
    assert "a mean is over 16 elements instead of 384" in happened(found)


def test_results_are_what_the_program_returns() -> None:
    """Not all results of a call that it returns one result of."""
    text = (
        "module @m {\n  func.func public @main(%x: tensor<16x24xf32>) -> (tensor<f32>, tensor<16x24xf32>) {\n"
        "    %0:2 = call @f(%x) : (tensor<16x24xf32>) -> (tensor<f32>, tensor<16x24xf32>)\n"
        "    return %0#0, %x : tensor<f32>, tensor<16x24xf32>\n  }\n"
        "  func.func private @f(%x: tensor<16x24xf32>) -> (tensor<f32>, tensor<16x24xf32>) {\n"
        "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1]"
        " : (tensor<16x24xf32>, tensor<f32>) -> tensor<f32>\n"
        "    %y = stablehlo.negate %x : tensor<16x24xf32>\n"
        "    return %r, %y : tensor<f32>, tensor<16x24xf32>\n  }\n}\n"
    )
    other = text.replace(
        "negate %x : tensor<16x24xf32>", "slice %x [0:15, 0:24] : (tensor<16x24xf32>) -> tensor<15x24xf32>"
    )
    other = other.replace(
        "-> (tensor<f32>, tensor<16x24xf32>)\n    return %0", "-> (tensor<f32>, tensor<15x24xf32>)\n    return %0"
    )
    other = other.replace(
        "@f(%x: tensor<16x24xf32>) -> (tensor<f32>, tensor<16x24xf32>)",
        "@f(%x: tensor<16x24xf32>) -> (tensor<f32>, tensor<15x24xf32>)",
    )
    other = other.replace(
        "return %r, %y : tensor<f32>, tensor<16x24xf32>", "return %r, %y : tensor<f32>, tensor<15x24xf32>"
    )
    modules = [read_text(one, trusted=True) for one in (text, other)]
    assert [[shape.dimensions for shape in module.result_shapes] for module in modules] == [[(), (16, 24)]] * 2
    found = diff(*modules)
    assert classes_of(found) == ("structure",)
    assert not [one for one in happened(found) if "result" in one]


CONSTANTS = """HloModule m

ENTRY e {{
  %p = f32[8]{{0}} parameter(0)
  %i = s32[8]{{0}} parameter(1)
  %one = f32[] constant(1)
  %many = f32[] constant(1e9)
  %three = s32[] constant(3)
  %four = s32[] constant(4)
  %b1 = f32[8]{{0}} broadcast(%one), dimensions={{}}
  %b2 = f32[8]{{0}} broadcast(%many), dimensions={{}}
  %i1 = s32[8]{{0}} broadcast(%three), dimensions={{}}
  %i2 = s32[8]{{0}} broadcast(%four), dimensions={{}}
  %m = f32[8]{{0}} multiply(%p, {number})
  %u = f32[8]{{0}} maximum(%m, %b1)
  %v = f32[8]{{0}} minimum(%u, %b2)
  %n = s32[8]{{0}} multiply(%i, {index})
  %x = s32[8]{{0}} maximum(%n, %i1)
  %y = s32[8]{{0}} minimum(%x, %i2)
  ROOT %t = (f32[8]{{0}}, s32[8]{{0}}) tuple(%v, %y)
}}
"""


@pytest.mark.parametrize(
    ("number", "index", "classes", "words"),
    [
        ("%b2", "%i1", ("numerics",), "operands: constant 1 -> 1e+09"),
        ("%b1", "%i2", ("structure",), "operands: constant 3 -> 4"),
        ("%p", "%i1", ("structure",), "multiply %m f32[8]: operands"),
    ],
)
def test_a_number_that_the_program_has_already_is_another_number(
    number: str, index: str, classes: tuple[str, ...], words: str
) -> None:
    """XLA keeps one constant for all its users: then 1 -> 1e9 is another operand, and no literal changes."""
    old, new = (read_text(CONSTANTS.format(number=a, index=b)) for a, b in (("%b1", "%i1"), (number, index)))
    found = diff(old, new)
    assert classes_of(found) == classes
    (edit,) = found.edits
    assert edit.fields == ("operands",)
    assert found.replay().complete
    text = to_terminal(Report("diff", "a", "b", (ProgramComparison("m", None, "compiled", "changed", found),)))
    assert words in text


@pytest.mark.parametrize(
    ("kind", "word"), [("device", "cost"), ("pinned_host", "placement"), ("unpinned_host", "placement")]
)
def test_an_argument_in_the_memory_of_the_host_is_placed_elsewhere(kind: str, word: str) -> None:
    text = (
        "module @m {{\n  func.func public @main(%arg0: tensor<8xf32> {}) -> tensor<8xf32> {{\n"
        "    %0 = stablehlo.sine %arg0 : tensor<8xf32>\n    return %0 : tensor<8xf32>\n  }}\n}}\n"
    )
    found = diff(read_text(text.format("")), read_text(text.format(f'{{mhlo.memory_kind = "{kind}"}}')))
    assert classes_of(found) == (word,)
    words = to_terminal(Report("diff", "a", "b", (ProgramComparison("m", None, "stablehlo", "changed", found),)))
    assert f"memory space: default -> {kind}" in words


@pytest.mark.parametrize(("line", "count", "name"), [(9, 2, "structure"), (8, 2, "placement"), (9, 1, "placement")])
def test_a_constraint_of_a_loop_that_was_unrolled_is_where_it_was(line: int, count: int, name: str) -> None:
    """One that was removed from the loop's body and added to a function, of the same line and as often."""

    def edit(kind: Literal["added", "removed"], row: int, often: int) -> Edit:
        text = f"%{kind} = f32[8] sdy.sharding_constraint(%{kind}_x), sharding=#sdy.sharding<@mesh, [a]>"
        site = Site(0, 0, "main", kind, "sdy.sharding_constraint", text)
        sites = ((site, None),) if kind == "removed" else ((None, site),)
        return Edit(kind, count=often, sites=sites, source=(Frame("model.py", row, "f"),))

    module = read_text(
        "module @m {\n  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
        "    return %x : tensor<8xf32>\n  }\n}\n",
        trusted=True,
    )
    assert classes_of(ModuleDiff(module, module, (edit("added", 9, 2), edit("removed", line, count))))[0] == name


@pytest.mark.parametrize(("scope", "expected"), [("checkpoint/rematted_computation/", "structure"), ("", "placement")])
def test_a_constraint_that_is_computed_again_places_nothing_new(scope: str, expected: str) -> None:
    text = """module @m {{
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{{"x"}}]> : tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
{again}    %4 = stablehlo.multiply %1, {value} : tensor<8xf32>
    return %4 : tensor<8xf32>
  }}
}}
"""
    again = """    %2 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]> : tensor<8xf32> loc(#again)
    %3 = stablehlo.tanh %2 : tensor<8xf32> loc(#again)
"""
    location = f'#again = loc("jit(f)/{scope}sharding_constraint"("model.py":3:0))\n'
    old = read_text(text.format(again="", value="%1"))
    new = read_text(location + text.format(again=again, value="%3"))
    assert classes_of(diff(old, new))[0] == classes_of(diff(new, old))[0] == expected


@pytest.mark.parametrize(
    ("axis", "line", "expected"), [("x", 3, "structure"), ("y", 3, "placement"), ("x", 4, "placement")]
)
def test_one_more_constraint_of_a_line_places_nothing_new(axis: str, line: int, expected: str) -> None:
    """The match may take the first one for the one that is computed again."""
    text = """#first = loc("jit(f)/sharding_constraint"("model.py":3:0))
#other = loc("jit(f)/sharding_constraint"("model.py":{line}:0))
module @m {{
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{{"x"}}]> : tensor<8xf32> loc(#first)
    %1 = stablehlo.tanh %0 : tensor<8xf32>
{more}    return %{last} : tensor<8xf32>
  }}
}}
"""
    more = f'    %2 = sdy.sharding_constraint %1 <@mesh, [{{"{axis}"}}]> : tensor<8xf32> loc(#other)\n'
    old = read_text(text.format(line=line, more="", last=1))
    new = read_text(text.format(line=line, more=more, last=2))
    assert classes_of(diff(old, new))[0] == classes_of(diff(new, old))[0] == expected


@pytest.mark.parametrize(("caller", "expected"), [(9, "structure"), (8, "placement")])
def test_a_helper_that_constrains_places_other_values_for_each_caller(caller: int, expected: str) -> None:
    """`constrain(grads)` and `constrain(zeros)` make constraints of one line."""
    text = """#helper = loc("model.py":3:0)
#one = loc(callsite(#helper at "model.py":9:0))
#two = loc(callsite(#helper at "model.py":{caller}:0))
module @m {{
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{{"x"}}]> : tensor<8xf32> loc(#one)
    %1 = stablehlo.tanh %0 : tensor<8xf32>
{more}    return %{last} : tensor<8xf32>
  }}
}}
"""
    more = '    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<8xf32> loc(#two)\n'
    old = read_text(text.format(caller=caller, more="", last=1))
    new = read_text(text.format(caller=caller, more=more, last=2))
    assert classes_of(diff(old, new))[0] == classes_of(diff(new, old))[0] == expected


def test_rounding_to_fewer_bits_and_back_is_numerics() -> None:
    text = "HloModule m\n\nENTRY e {{\n  %p = f32[8]{{0}} parameter(0)\n{}}}\n"
    bits = "  ROOT %r = f32[8]{{0}} reduce-precision(%p), exponent_bits=8, mantissa_bits={}\n"
    plain, seven, ten = (
        text.format(body) for body in ("  ROOT %r = f32[8]{0} copy(%p)\n", bits.format(7), bits.format(10))
    )
    assert classes_of(diff(read_text(plain), read_text(seven)))[0] == "numerics"
    assert classes_of(diff(read_text(seven), read_text(ten))) == ("numerics",)


def test_a_buffer_that_is_written_in_another_order_is_no_same_cost() -> None:
    text = """HloModule m

ENTRY e {
  %x = f32[64,128]{1,0} parameter(0)
  %u = f32[1,128]{1,0} parameter(1)
  %i = s32[] parameter(2)
  %z = s32[] constant(0)
  ROOT %r = f32[64,128]{1,0} dynamic-update-slice(%x, %u, %i, %z)
}
"""
    found = diff(read_text(text), read_text(text.replace("[64,128]{1,0}", "[64,128]{0,1}")))
    program = ProgramComparison("m", "cpu", "compiled", "changed", found)
    first = to_terminal(Report("diff", "a", "b", (program,))).splitlines()[0]
    assert first == "m  ◆ mixed on cpu: no executed number changed, but a buffer is written in another order"
    small, turned = (one.replace("64,128", "8,128") for one in (text, text.replace("[64,128]{1,0}", "[64,128]{0,1}")))
    program = ProgramComparison("m", "cpu", "compiled", "changed", diff(read_text(small), read_text(turned)))
    assert to_terminal(Report("diff", "a", "b", (program,))).startswith("m  = same cost on cpu")  # one tile of a TPU


@pytest.mark.parametrize(
    ("target", "old", "new", "words"),
    [
        ("tpu-v5e", "", "highest", "▲ worse on tpu-v5e: matrix products in 6 passes instead of 1"),
        ("tpu-v5e", "highest", "high", "▼ better on tpu-v5e: matrix products in 3 passes instead of 6"),
        ("cpu", "", "highest", "= same cost on cpu, floating-point results may differ"),
    ],
)
@pytest.mark.parametrize("element_type", ["f32", "bf16"])
def test_another_precision_is_other_work_for_the_matrix_unit_of_a_tpu(
    target: str, old: str, new: str, words: str, element_type: str
) -> None:
    def product(precision: str) -> str:
        attribute = f", operand_precision={{{precision},{precision}}}" if precision else ""
        return (
            f"HloModule m\n\nENTRY e {{\n  %x = {element_type}[8,8]{{1,0}} parameter(0)\n"
            f"  ROOT %r = {element_type}[8,8]{{1,0}} dot(%x, %x), lhs_contracting_dims={{1}}, "
            f"rhs_contracting_dims={{0}}{attribute}\n}}\n"
        )

    program = ProgramComparison("m", target, "compiled", "changed", diff(*map(read_text, map(product, (old, new)))))
    first = to_terminal(Report("diff", "a", "b", (program,))).splitlines()[0]
    assert words in first if element_type == "f32" else "= same cost on" in first


ALL_REDUCE = """HloModule m, num_partitions=4

%%sum {
  %%a = f32[] parameter(0)
  %%b = f32[] parameter(1)
  ROOT %%c = f32[] add(%%a, %%b)
}

ENTRY e {
  %%x = f32[1024]{0} parameter(0)
  %%s = f32[1024]{0} all-reduce(%%x), to_apply=%%sum, channel_id=1, replica_groups=%s, use_global_device_ids=true
  %s
}
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{{0,1},{2,3}}", "{{0,1,2,3}}", "▲ worse on cpu: all-reduce over 4 devices instead of 2 (4.0 KiB)"),
        ("[1,4]<=[4]", "[2,2]<=[4]", "▼ better on cpu: all-reduce over 2 devices instead of 4 (4.0 KiB)"),
        ("{{0,1},{2,3}}", "{{0,2},{1,3}}", "= same cost on cpu"),
    ],
)
def test_a_collective_over_more_devices_costs_more(old: str, new: str, words: str) -> None:
    """Each device sends more and waits for more of them, though the bytes of the result are the same."""
    found = diff(*(read_text(ALL_REDUCE % (groups, "ROOT %r = f32[1024]{0} copy(%s)")) for groups in (old, new)))
    program = ProgramComparison("m", "cpu", "compiled", "changed", found)
    first = to_terminal(Report("diff", "a", "b", (program,)), width=200).splitlines()[0]
    assert words in first


def test_more_devices_speak_against_a_program_that_is_better_by_the_rest() -> None:
    result = "\n  ROOT %t = (f32[1024]{0}, f32[65536]{0}) tuple(%s, %g)"
    gather = "%g = f32[65536]{0} all-gather(%x), channel_id=2, replica_groups={{0,1,2,3}}, dimensions={0}"
    more = ALL_REDUCE % ("{{0,1},{2,3}}", gather + result)
    less = ALL_REDUCE % ("{{0,1,2,3}}", "%g = f32[65536]{0} broadcast(%x), dimensions={0}" + result)
    program = ProgramComparison("m", "cpu", "compiled", "changed", diff(read_text(more), read_text(less)))
    first = to_terminal(Report("diff", "a", "b", (program,)), width=300).splitlines()[0]
    assert first.startswith("m  ▼ better on cpu: -1 all-gather (256.0 KiB), but all-reduce over 4 devices"), first


def test_memory_reserved_in_another_type_computes_nothing_in_it() -> None:
    def reserved(element_type: str, opcode: str) -> str:
        return (
            f"HloModule m\n\nENTRY e {{\n  %x = f32[8]{{0}} parameter(0)\n"
            f'  %r = {element_type}[8]{{0}} custom-call(), custom_call_target="AllocateBuffer"\n'
            f'  %w = f32[8]{{0}} custom-call(%x, %r), custom_call_target="Written"\n'
            f"  ROOT %n = f32[8]{{0}} {opcode}(%w)\n}}\n"
        )

    found = diff(read_text(reserved("f32", "negate")), read_text(reserved("bf16", "sine")))
    assert "numerics" not in classes_of(found), classes_of(found)


@pytest.mark.parametrize(
    ("mesh", "groups", "classes", "words"),
    [
        (
            '"data"=2, "model"=2',
            "[[0, 1, 2, 3]]",
            ("placement", "structure"),
            "all_reduce over data, model instead of data",
        ),
        (
            '"data"=2, "model"=2',
            "[[0, 1], [2, 3]]",
            ("placement", "structure"),
            "all_reduce over model instead of data",
        ),
        ('"model"=2, "data"=2', "[[0, 1], [2, 3]]", ("placement",), "the mesh is model=2, data=2 instead of data=2"),
    ],
)
def test_a_sum_over_another_axis_of_the_mesh_is_another_sum(
    mesh: str, groups: str, classes: tuple[str, ...], words: str
) -> None:
    """With the axes of the mesh in another order it is the same sum, by other devices."""

    def lowered(mesh: str, groups: str) -> str:
        count = groups.count("[") - 1
        return f"""module @m attributes {{mhlo.num_partitions = 4 : i32}} {{
  sdy.mesh @mesh = <[{mesh}]>
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
    %r = "stablehlo.all_reduce"(%x) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<{groups}> : tensor<{count}x{4 // count}xi64>, use_global_device_ids}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }}
}}
"""

    sides = lowered('"data"=2, "model"=2', "[[0, 2], [1, 3]]"), lowered(mesh, groups)
    found = diff(*map(read_text, sides))
    assert classes_of(found) == classes
    program = ProgramComparison("m", "cpu-4", "stablehlo", "changed", found)
    assert words in to_terminal(Report("diff", "a", "b", (program,)), width=200).splitlines()[0]


def test_a_part_of_a_sum_over_devices_is_the_same_sum() -> None:
    """As `jax.lax.psum_scatter` instead of `jax.lax.psum`."""

    def lowered(opcode: str, size: int, attribute: str) -> Module:
        return read_text(f"""module @m {{
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%x: tensor<8xf32>) -> tensor<{size}xf32> {{
    %r = "stablehlo.{opcode}"(%x) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids{attribute}}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<8xf32>) -> tensor<{size}xf32>
    return %r : tensor<{size}xf32>
  }}
}}
""")

    pair = lowered("all_reduce", 8, ""), lowered("reduce_scatter", 4, ", scatter_dimension = 0 : i64")
    for one, other in (pair, pair[::-1]):
        found = diff(one, other)
        assert found.edits[0].fields[0] == "opcode"
        assert classes_of(found) == ("interface", "structure")


def test_results_do_not_differ_where_the_compiled_program_is_the_same() -> None:
    """Another precision of a dot product that XLA writes as a multiplication and a sum."""
    lowered = """module @m {
  func.func public @main(%x: tensor<8xf32>) -> tensor<f32> {
    %r = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT]
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}
"""
    found = diff(read_text(lowered), read_text(lowered.replace("DEFAULT", "HIGHEST")))
    compiled = read_text("HloModule m\n\nENTRY e {\n  ROOT %x = f32[8]{0} parameter(0)\n}\n")
    targets = ("cpu", "tpu-v5e")
    written = [ProgramComparison("m", target, "stablehlo", "changed", found) for target in targets]
    same = [ProgramComparison("m", target, "compiled", "identical", diff(compiled, compiled)) for target in targets]
    rounded = ProgramComparison("m", "tpu-v5e", "compiled", "changed", found)
    first, other = (
        to_terminal(Report("diff", "a", "b", (*written, *programs)), width=200).splitlines()[0]
        for programs in (same, (same[0], rounded))
    )
    assert "= no compiled program changed" in first
    assert "may differ" not in first
    assert "floating-point results may differ on tpu-v5e" in other


def test_the_verdict_of_a_target_rests_on_its_compiled_program_where_the_stablehlo_stands_behind_it() -> None:
    text = """HloModule m

ENTRY e {
  %x = f32[8,8]{1,0} parameter(0)
  ROOT %r = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={high,high}
}
"""
    lowered = """module @m {
  func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %r = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %r : tensor<8x8xf32>
  }
}
"""
    stages: tuple[tuple[Stage, str, str], ...] = (
        ("compiled", text.replace(", operand_precision={high,high}", ""), text),
        ("stablehlo", lowered, lowered.replace("DEFAULT", "HIGH")),
    )
    programs = tuple(
        ProgramComparison("m", "tpu-v5e", stage, "changed", diff(*(read_text(t, trusted=True) for t in (old, new))))
        for stage, old, new in stages
    )
    first = to_terminal(Report("diff", "a", "b", programs)).splitlines()[0]
    assert "worse on tpu-v5e: matrix products in 3 passes instead of 1; " in first


TRITON = """HloModule m

%kernel {
  %a = f32[64,64]{1,0} parameter(0)
  %b = f32[64,64]{1,0} parameter(1)
  ROOT %d = f32[64,64]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY e {
  %x = f32[64,64]{1,0} parameter(0)
  ROOT %r = f32[64,64]{1,0} fusion(%x, %x), kind=kCustom, calls=%kernel, backend_config={"kind":"__triton_gemm"}
}
"""
CUBLAS = """HloModule m

ENTRY e {
  %x = f32[64,64]{1,0} parameter(0)
  ROOT %r = (f32[64,64]{1,0}, s8[4096]{0}) custom-call(%x, %x), custom_call_target="__cublas$gemm", backend_config={\
"gemm_backend_config":{"alpha_real":1,"precision_config":{"operand_precision":["DEFAULT","DEFAULT"],\
"algorithm":"ALG_UNSET"},"epilogue":"DEFAULT"}}
}
"""
AS_FLOAT32 = "▲ worse on cuda-h100: matrix products in float32 instead of TF32"
UNKNOWN = "= same cost on cuda-h100, not counting matrix products, floating-point results may differ"
SAME = "= same cost on cuda-h100, floating-point results may differ"


@pytest.mark.parametrize(
    ("precision", "words"),
    [
        ("operand_precision={highest,highest}", AS_FLOAT32),
        ("operand_precision={default,highest}", AS_FLOAT32),
        ("operand_precision={high,high}", UNKNOWN),
        ("algorithm=dot_tf32_tf32_f32", SAME),
        ("algorithm=dot_f32_f32_f32", AS_FLOAT32),
        ("algorithm=dot_bf16_bf16_f32_x6", UNKNOWN),
    ],
)
def test_a_gpu_multiplies_float32_as_tf32_unless_the_precision_says_otherwise(precision: str, words: str) -> None:
    def first(old: str, new: str) -> str:
        program = ProgramComparison("m", "cuda-h100", "compiled", "changed", diff(read_text(old), read_text(new)))
        return " ".join(to_terminal(Report("diff", "a", "b", (program,))).partition("\n  changed")[0].split())

    other = TRITON.replace("rhs_contracting_dims={0}", f"rhs_contracting_dims={{0}}, {precision}")
    assert words in first(TRITON, other)
    back = words.replace("▲ worse", "▼ better").replace("float32 instead of TF32", "TF32 instead of float32")
    assert back in first(other, TRITON)
    if precision.startswith("operand"):
        kinds = [kind.upper() for kind in precision.partition("{")[2].strip("}").split(",")]
        gemm = CUBLAS.replace('["DEFAULT","DEFAULT"]', '["{}","{}"]'.format(*kinds))
        assert words in first(CUBLAS, gemm)
    assert "same cost on cuda-h100, floating" in first(*(text.replace("f32[", "bf16[") for text in (TRITON, other)))
    in_a_loop = '{"kind":"__triton_gemm"}', '{"kind":"loop"}'
    if words != SAME:
        assert UNKNOWN in first(*(text.replace(*in_a_loop) for text in (TRITON, other)))


CUDNN = """HloModule m

ENTRY e {
  %x = f32[8,24,16]{2,1,0} parameter(0)
  %k = f32[3,16,16]{2,1,0} parameter(1)
  ROOT %r = (f32[8,24,16]{2,1,0}, u8[0]{0}) custom-call(%x, %k), custom_call_target="__cudnn$convForward", \
dim_labels=b0f_0io->b0f, window={size=3 pad=1_1}
}
"""


def test_convolutions_and_products_of_narrower_values_have_a_direction_on_a_gpu() -> None:
    def first(old: str, new: str) -> str:
        program = ProgramComparison("m", "cuda-h100", "compiled", "changed", diff(read_text(old), read_text(new)))
        return " ".join(to_terminal(Report("diff", "a", "b", (program,)), width=200).split())

    highest = CUDNN.replace("window=", "operand_precision={highest,highest}, window=")
    assert AS_FLOAT32 in first(CUDNN, highest)
    assert "better on cuda-h100: matrix products in bfloat16 instead of TF32" in first(
        TRITON, TRITON.replace("f32[", "bf16[")
    )


@pytest.mark.parametrize(("kernels", "verdict"), [(1, "▼ better"), (2, "◆ mixed")])
def test_faster_products_do_not_outweigh_more_kernels(kernels: int, verdict: str) -> None:
    """A small product takes as long as a kernel needs to start, whatever its precision."""
    small = "%small {\n  %p = s32[8]{0} parameter(0)\n  ROOT %n = s32[8]{0} negate(%p)\n}\n\nENTRY e {"

    def module(element: str, kernels: int) -> Module:
        names = ["n", *(f"k{n}" for n in range(kernels))]
        calls = (f"  %{b} = s32[8]{{0}} fusion(%{a}), kind=kLoop, calls=%small\n" for a, b in pairwise(names))
        rows = "  %n = s32[8]{0} parameter(1)\n" + "".join(calls) + "  %r = "
        product = TRITON.replace("f32[", f"{element}[").replace("ENTRY e {", small).replace("  ROOT %r = ", rows)
        root = f"  ROOT %t = ({element}[64,64]{{1,0}}, s32[8]{{0}}) tuple(%r, %{names[-1]})\n}}\n"
        return read_text(product.removesuffix("}\n") + root)

    found = diff(module("f32", 1), module("bf16", kernels))
    program = ProgramComparison("m", "cuda-h100", "compiled", "changed", found)
    first = to_terminal(Report("diff", "a", "b", (program,)), width=200)
    assert f"{verdict} on cuda-h100: matrix products in bfloat16 instead of TF32" in first


def test_each_target_says_how_its_matrix_products_are_made() -> None:
    tpu = TRITON.replace("kCustom", "kOutput").replace(', backend_config={"kind":"__triton_gemm"}', "")
    programs = tuple(
        ProgramComparison("m", target, "compiled", "changed", diff(read_text(text), read_text(other)))
        for target, text in (("cuda-h100", TRITON), ("tpu-v5e", tpu))
        for other in [text.replace("dims={0}", "dims={0}, operand_precision={highest,highest}")]
    )
    first = " ".join(to_terminal(Report("diff", "a", "b", programs)).partition("changed")[0].split())
    assert "matrix products in float32 instead of TF32 (cuda-h100), matrix products in 6 passes instead of 1" in first
    several = (*programs, *(replace(programs[0], name=f"n{number}") for number in range(6)))
    rows = [line for line in str(Report("diff", "a", "b", several)).splitlines() if "▲ worse  " in line]
    assert rows and all("matrix products in float32 instead of TF32" in line for line in rows)


def test_a_constant_that_only_the_compiler_worked_out_is_no_numerics_whatever_else_changed_with_it() -> None:
    """A table that `linspace` makes of more points: the compiler folds the step into another constant."""
    text = """HloModule m

ENTRY e {
  %i = f32[8]{0} iota(), iota_dimension=0
  %c = f32[] constant(0.5)
  %b = f32[8]{0} broadcast(%c), dimensions={}
  %k = f32[8]{0} add(%i, %b)
  ROOT %m = f32[8]{0} multiply(%k, %b)
}
"""
    found = diff(read_text(text), read_text(text.replace("[8]", "[32]").replace("0.5", "0.03125")))
    assert "numerics" in classes_of(found)
    assert "numerics" not in classes_of(found, True)
    other = diff(read_text(text), read_text(text.replace("f32", "bf16")))
    assert "numerics" in classes_of(other, True)


@pytest.mark.parametrize(("bits", "word"), [((8, 23), "structure"), ((8, 7), "numerics"), ((5, 23), "numerics")])
def test_a_value_that_keeps_all_its_bits_is_not_rounded(bits: tuple[int, int], word: str) -> None:
    """JAX puts such a `reduce-precision` behind what a policy of rematerialisation saves."""
    taken = f"  %k = f32[8,4]{{1,0}} reduce-precision(%t), exponent_bits={bits[0]}, mantissa_bits={bits[1]}\n"
    new = ONE_FUSION.replace("exponential(%t)", "exponential(%k)").replace("  ROOT %e =", taken + "  ROOT %e =")
    assert of(new) == (word,)


LOOP = """HloModule m

%body {
  %c = (f32[8], @) parameter(0)
  %x = f32[8] get-tuple-element(%c), index=0
  %y = # get-tuple-element(%c), index=1
  %t = f32[8] tanh(%x)
  ROOT %n = (f32[8], @) tuple(%t, %y)
}

%cond {
  %d = (f32[8], @) parameter(0)
  ROOT %l = pred[] constant(false)
}

ENTRY e {
  %p = f32[8] parameter(0)
  %q = # parameter(1)
  %i = (f32[8], @) tuple(%p, %q)
  %w = (f32[8], @) while(%i), condition=%cond, body=%body
  ROOT %r = f32[8] get-tuple-element(%w), index=0
}
"""


def test_what_a_loop_hands_on_by_its_place_is_no_value_in_another_type() -> None:
    """Another value of another size: of which type the one in its place was says nothing."""
    old, new = (
        LOOP.replace("@", text).replace("#", text).replace("tanh", opcode)
        for text, opcode in (("bf16[4]", "tanh"), ("f32[6,2]", "sine"))
    )
    found = diff(read_text(old), read_text(new))
    loop = next(edit for edit in found.edits if edit.new and edit.new.opcode == "while")
    assert [change.field for change in loop.changes] == ["shape"]
    assert (loop.changes[0].old, loop.changes[0].new) == ("bf16[4]", "f32[6,2]")
    assert found.replay().complete
    same_size = diff(read_text(old), read_text(old.replace("bf16[4]", "f32[4]")))
    loop = next(edit for edit in same_size.edits if edit.new and edit.new.opcode == "while")
    assert [change.field for change in loop.changes] == ["element_type"]


@pytest.mark.parametrize(("direction", "name"), [("GT", "numerics"), ("LT", "structure")])
def test_a_comparison_with_another_number_that_asks_something_else_is_another_one(direction: str, name: str) -> None:
    """The other number is in the program already, so it is an operand that changed."""
    lines = [
        "  %p = f32[8]{0} parameter(0)", "  %a = f32[] constant(0)", "  %b = f32[] constant(inf)",
        "  %x = f32[8]{0} broadcast(%a), dimensions={}", "  %y = f32[8]{0} broadcast(%b), dimensions={}",
        "  %m = f32[8]{0} maximum(%x, %y)", "  %c = pred[8]{0} compare(%p, %x), direction=GT",
        "  ROOT %s = f32[8]{0} select(%c, %p, %m)",
    ]  # fmt: skip
    old = "HloModule m\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"
    assert of(old.replace("(%p, %x), direction=GT", f"(%p, %y), direction={direction}"), old) == (name,)


def test_a_loop_that_turns_more_often_is_structure_alone() -> None:
    """XLA writes how often into the configuration of the loop: that arranges nothing."""
    known = 'body=%body, backend_config={"known_trip_count":{"n":"8"}}'
    text = LOOP.replace("@", "s32[]").replace("#", "s32[]").replace("body=%body", known)
    text = text.replace("%l = pred[] constant(false)", "%l = pred[] compare(%e, %k), direction=LT").replace(
        "  ROOT %l", "  %e = s32[] get-tuple-element(%d), index=1\n  %k = s32[] constant(8)\n  ROOT %l"
    )
    assert of(text.replace("constant(8)", "constant(12)").replace('"n":"8"', '"n":"12"'), text) == ("structure",)


def test_work_that_went_with_its_fusion_is_structure() -> None:
    text = """HloModule m

%fused {
  %q = f32[8] parameter(0)
  %t = f32[8] tanh(%q)
  ROOT %e = f32[8] exponential(%t)
}

ENTRY e {
  %p = f32[8] parameter(0)
  %f = f32[8] fusion(%p), kind=kLoop, calls=%fused
  ROOT %c = (f32[8], f32[8]) tuple(%p, @)
}
"""
    with_it, without = (
        text.replace("@", "%f"),
        text.replace("@", "%p").replace("  %f = f32[8] fusion", "  %f = f32[8] copy"),
    )
    without = without.replace(", kind=kLoop, calls=%fused", "").replace(
        text[text.index("%fused {") : text.index("ENTRY")], ""
    )
    assert "structure" in of(without, with_it)
    assert "structure" in of(with_it, without)


@pytest.mark.parametrize(("name", "is_numeric"), [("", False), (', metadata={op_name="f/convert_element_type"}', True)])
def test_a_cast_of_the_compiler_goes_with_the_value_that_it_casts(name: str, is_numeric: bool) -> None:
    """A weight that nothing takes any more: that it was cast beforehand says nothing of the rest."""
    text = f"""HloModule m

ENTRY e {{
  %p = f32[8] parameter(0)
  %q = f32[8] parameter(1)
  %n = f32[8] negate(%q)
  %c = bf16[8] convert(%n){name}
  %d = bf16[8] multiply(%c, %c)
  %x = f32[8] convert(%d)
  %t = f32[8] tanh(%p)
  ROOT %r = f32[8] @
}}
"""
    less = "\n".join(line for line in text.splitlines() if not re.match(r"  %[qncdx] ", line))
    new, old = less.replace("@", "sine(%t)"), text.replace("@", "add(%t, %x)")
    found = diff(read_text(old), read_text(new))
    assert ("numerics" in classes_of(found)) is is_numeric


def test_a_cast_that_became_a_copy_to_another_layout_rounds_as_before() -> None:
    """A TPU casts a value where it copies it, too."""
    text = "HloModule m\n\nENTRY e {\n  %p = f32[8,4]{1,0} parameter(0)\n  ROOT %c = @(%p)\n}\n"
    old = read_text(text.replace("@", "bf16[8,4]{1,0} convert"))
    assert classes_of(diff(old, read_text(text.replace("@", "bf16[8,4]{0,1} copy")))) == ("cost",)
    assert "numerics" in classes_of(diff(old, read_text(text.replace("@", "f32[8,4]{0,1} copy"))))


def test_rounding_in_the_body_of_a_loop_that_calls_the_host_has_a_class() -> None:
    text = """module @m {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<i32>) -> tensor<4xf32> {
    %0:2 = stablehlo.while(%a = %arg0, %i = %arg1) : tensor<4xf32>, tensor<i32>
    cond {
      %c = stablehlo.constant dense<8> : tensor<i32>
      %p = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %q = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xTYPE>
      %r = stablehlo.multiply %q, %q : tensor<4xTYPE>
      %v = stablehlo.convert %r : (tensor<4xTYPE>) -> tensor<4xf32>
      %b = stablehlo.custom_call @xla_ffi_python_cpu_callback(%v) {api_version = 4 : i32, backend_config = {}, \
mhlo.backend_config = {index = 4 : ui64}} : (tensor<4xf32>) -> tensor<4xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %b, %n : tensor<4xf32>, tensor<i32>
    }
    return %0#0 : tensor<4xf32>
  }
}
"""
    old, new = (read_text(text.replace("TYPE", one)) for one in ("bf16", "f16"))
    assert classes_of(diff(old, new)) == ("numerics",)


@pytest.mark.parametrize(
    ("result", "is_numeric"), [("f32[8,8] negate(%c)", False), ("(f32[8,8], TYPE[8,8]) tuple(%c, %k)", True)]
)
def test_a_product_whose_result_another_product_takes_now_may_round_it_itself(result: str, is_numeric: bool) -> None:
    """What was between two products of a TPU went; it was computed in float32, and the second product rounds."""
    text = """HloModule m

ENTRY e {
  %x = f32[8,8] parameter(0)
  %w = f32[8,8] parameter(1)
  %v = f32[8,8] parameter(2)
  %k = TYPE[8,8] convolution(%x, %w), dim_labels=bf_io->bf
  BETWEEN
  %c = f32[8,8] convolution(%between, %v), dim_labels=bf_io->bf
  ROOT %r = RESULT
}
""".replace("RESULT", result)
    old = text.replace("BETWEEN", "%between = f32[8,8] cosine(%k)").replace("TYPE", "f32")
    new = text.replace("  BETWEEN\n", "").replace("%between", "%k").replace("TYPE", "bf16")
    for one, other in ((old, new), (new, old)):
        assert ("numerics" in classes_of(diff(read_text(one), read_text(other)))) == is_numeric


@pytest.mark.parametrize(("opcode", "is_numeric"), [("convolution", False), ("multiply", True)])
def test_a_product_that_rounds_its_result_as_the_cast_after_it_did_is_no_other_rounding(
    opcode: str, is_numeric: bool
) -> None:
    text = f"""HloModule m

ENTRY e {{
  %x = f32[8,8] parameter(0)
  %w = f32[8,8] parameter(1)
  %k = f32[8,8] {opcode}(%x, %w){", dim_labels=bf_io->bf" if opcode == "convolution" else ""}
  %c = bf16[8,8] convert(%k)
  ROOT %r = bf16[8,8] negate(%c)
}}
"""
    other = text.replace("  %c = bf16[8,8] convert(%k)\n", "").replace("%k = f32", "%c = bf16")
    for one, another in ((text, other), (other, text)):
        assert ("numerics" in classes_of(diff(read_text(one), read_text(another)))) == is_numeric


@pytest.mark.parametrize(
    ("precision", "result", "handed_on", "is_numeric"),
    [
        ("", "%c", "copy(%f)", False),
        ("", "%c", "all-gather(%f), replica_groups={{0}}, dimensions={0}", False),
        ("", "%c", "select(%p, %f, %f)", False),
        ("", "%c", "pad(%f, %f), padding=0_0x0_0", False),
        ("", "%c", "maximum(%f, %f)", False),
        ("", "%c", "negate(%f)", False),
        (
            "",
            "%c",
            "gather(%f, %n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
            "index_vector_dim=1, slice_sizes={1,8}",
            False,
        ),
        ("", "%c", "convert(%f)", False),
        ("", "%c", "abs(%f)", True),
        (", operand_precision={highest,highest}", "%c", "copy(%f)", True),
        ("", "%f", "copy(%f)", True),
    ],
)
def test_a_cast_of_the_compiler_before_a_product_that_rounds_anyway(
    precision: str, result: str, handed_on: str, is_numeric: bool
) -> None:
    """A TPU rounds operands of a product to bfloat16, and its compiler may do so where they are made."""
    plain = f"""HloModule m

%made {{
  %q = f32[8,8] parameter(0)
  ROOT %t = f32[8,8] tanh(%q)
}}

%product {{
  %a = f32[8,8] parameter(0)
  %b = f32[8,8] parameter(1)
  ROOT %v = f32[8,8] convolution(%a, %b), dim_labels=bf_io->bf{precision}
}}

ENTRY e {{
  %p = f32[8,8] parameter(0)
  %w = f32[8,8] parameter(1)
  %n = s32[8] iota(), iota_dimension=0
  %f = f32[8,8] fusion(%p), kind=kLoop, calls=%made
  %h = f32[8,8] {handed_on}
  %c = f32[8,8] fusion(%h, %w), kind=kOutput, calls=%product
  ROOT %r = (f32[8,8], f32[8,8]) tuple(%c, {result})
}}
"""
    cast = plain.replace("ROOT %t = f32[8,8] tanh(%q)", "%t = f32[8,8] tanh(%q)\n  ROOT %d = bf16[8,8] convert(%t)")
    cast = re.sub(r"(%[afh] =) f32", r"\1 bf16", cast)
    cast = cast.replace("f32[8,8]) tuple(%c, %f)", "bf16[8,8]) tuple(%c, %f)")
    assert ("numerics" in of(cast, plain)) is is_numeric
    assert ("numerics" in of(plain, cast)) is is_numeric


def test_a_copy_that_a_compiler_shards_as_its_argument_is_no_other_placement() -> None:
    old = """HloModule m, num_partitions=2

ENTRY e {
  %p = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="x"}
  %c = f32[8,4] copy(%p), sharding={devices=[2,1]<=[2]}
  ROOT %r = f32[] custom-call(%c), custom_call_target="norm"
}
"""
    argument = old.replace("f32[8,4]", "f32[16,2]").replace("[2,1]<=", "[1,2]<=")
    assert of(argument, old) == ("interface", "placement")
    value = old.replace("copy(%p), sharding={devices=[2,1]<=", "copy(%p), sharding={devices=[1,2]<=")
    assert of(value, old) == ("placement",)


def test_a_sharding_that_the_compiler_left_at_a_copy_inside_a_fusion_places_nothing() -> None:
    old = """HloModule m, num_partitions=2

%fused {
  %q = f32[8,4] parameter(0)
  %d = f32[8,4] copy(%q), sharding={devices=[2,1]<=[2]}
  ROOT %t = f32[8,4] tanh(%d)
}

ENTRY e {
  %p = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="x"}
  %f = f32[8,4] fusion(%p), kind=kLoop, calls=%fused
  ROOT %r = f32[] custom-call(%f), custom_call_target="norm"
}
"""
    new = old.replace("copy(%q), sharding={devices=[2,1]<=[2]}", "copy(%q)")
    other = new.replace("tanh", "sine")
    for one, another, expected in ((old, new, "cost"), (new, old, "cost"), (old, other, "structure")):
        found = diff(read_text(one), read_text(another))
        assert classes_of(found) == (expected,)
        assert found.replay().complete
        program = ProgramComparison("m", "cpu-2", "compiled", "changed", found)
        assert "sharded" not in to_terminal(Report("diff", "a", "b", (program,)))
    asked = old.replace("copy(%q), sharding", 'custom-call(%q), custom_call_target="Sharding", sharding')
    assert of(asked, asked.replace('"Sharding", sharding={devices=[2,1]', '"Sharding", sharding={devices=[1,2]')) == (
        "placement",
    )


@pytest.mark.parametrize(
    ("taken", "is_numeric"),
    [("%c = f32[8,8] convolution(%x, %k), dim_labels=bf_io->bf", False), ("%c = f32[8,8] add(%x, %k)", True)],
)
def test_a_cast_of_the_compiler_before_a_product_in_a_loop(taken: str, is_numeric: bool) -> None:
    """Weights of a scan are rounded once before it or in each turn; every turn's product rounds them anyway."""
    plain = f"""HloModule m

%body {{
  %t = (s32[], f32[8,8], f32[8,8]) parameter(0)
  %n = s32[] get-tuple-element(%t), index=0
  %x = f32[8,8] get-tuple-element(%t), index=1
  %k = f32[8,8] get-tuple-element(%t), index=2
  %one = s32[] constant(1)
  %m = s32[] add(%n, %one)
  {taken}
  %e = f32[8,8] exponential(%c)
  ROOT %u = (s32[], f32[8,8], f32[8,8]) tuple(%m, %e, %k)
}}

%condition {{
  %t = (s32[], f32[8,8], f32[8,8]) parameter(0)
  %n = s32[] get-tuple-element(%t), index=0
  %eight = s32[] constant(8)
  ROOT %l = pred[] compare(%n, %eight), direction=LT
}}

ENTRY e {{
  %z = s32[] constant(0)
  %p = f32[8,8] parameter(0)
  %w = f32[8,8] parameter(1)
  %start = (s32[], f32[8,8], f32[8,8]) tuple(%z, %p, %w)
  %loop = (s32[], f32[8,8], f32[8,8]) while(%start), condition=%condition, body=%body
  ROOT %r = f32[8,8] get-tuple-element(%loop), index=1
}}
"""
    cast = plain.replace("f32[8,8])", "bf16[8,8])").replace("%k = f32", "%k = bf16").replace(", %w)", ", %d)")
    cast = cast.replace("  %start", "  %d = bf16[8,8] convert(%w)\n  %start")
    assert ("numerics" in of(cast, plain)) is is_numeric
    assert ("numerics" in of(plain, cast)) is is_numeric


@pytest.mark.parametrize(
    ("taken", "is_numeric"), [("convolution(%f, %k), dim_labels=bf_io->bf", False), ("multiply(%f, %k)", True)]
)
def test_a_fusion_that_rounds_for_products_alone_rounds_nothing(taken: str, is_numeric: bool) -> None:
    """One of two calls lost a sum; the other one now rounds what it returns."""
    old = f"""HloModule m

%fused {{
  %p0 = f32[8,8] parameter(0)
  %p1 = f32[8,8] parameter(1)
  %p2 = f32[8,8] parameter(2)
  %m = f32[8,8] multiply(%p0, %p1)
  ROOT %a = f32[8,8]{{1,0:S(1)}} add(%m, %p2)
}}

ENTRY e {{
  %x = f32[8,8] parameter(0)
  %y = f32[8,8] parameter(1)
  %k = f32[8,8] parameter(2)
  %f = f32[8,8] fusion(%x, %y, %k), kind=kLoop, calls=%fused
  %c = f32[8,8] {taken}
  %g = f32[8,8] fusion(%c, %y, %k), kind=kLoop, calls=%fused
  ROOT %t = f32[8,8] tanh(%g)
}}
"""
    without = """
%less {
  %p0 = f32[8,8] parameter(0)
  %p1 = f32[8,8] parameter(1)
  ROOT %m = f32[8,8] multiply(%p0, %p1)
}

ENTRY"""
    new = old.replace(
        "%g = f32[8,8] fusion(%c, %y, %k), kind=kLoop, calls=%fused",
        "%g = f32[8,8] fusion(%c, %y), kind=kLoop, calls=%less",
    )
    new = new.replace(
        "ROOT %a = f32[8,8]{1,0:S(1)} add(%m, %p2)", "%a = f32[8,8] add(%m, %p2)\n  ROOT %d = bf16[8,8] convert(%a)"
    )
    new = new.replace("%f = f32", "%f = bf16").replace("\nENTRY", without)
    for one, other in ((old, new), (new, old)):
        assert of(one, other) == (("numerics", "structure") if is_numeric else ("structure", "cost"))


@pytest.mark.parametrize(("mesh", "is_placement"), [("<[]>", False), ('<["x"=2]>', True)])
def test_a_constraint_on_a_mesh_without_axes_places_nothing(mesh: str, is_placement: bool) -> None:
    """JAX writes one for a key of random numbers, on any number of devices."""
    text = f"""module @m {{
  sdy.mesh @some = {mesh}
  func.func public @main(%arg0: tensor<2xui32>, %arg1: tensor<2xui32>) -> tensor<2xui32> {{
    %0 = sdy.sharding_constraint %arg0 <@some, [{{}}]> : tensor<2xui32>
    %1 = stablehlo.add %0, %arg1 : tensor<2xui32>
    %2 = stablehlo.multiply %1, %arg1 : tensor<2xui32>
    return %2 : tensor<2xui32>
  }}
}}
"""
    plain = "".join(line for line in text.splitlines(keepends=True) if " %0 = " not in line and " %1 = " not in line)
    plain = plain.replace("multiply %1", "multiply %arg0")
    for old, new in ((text, plain), (plain, text)):
        found = diff(read_text(old), read_text(new))
        program = ProgramComparison("m", "cpu", "stablehlo", "changed", found)
        shown = to_terminal(Report("diff", "a", "b", (program,)))
        assert ("placement" in program.classes) is is_placement
        assert ("1 sharding constraint" in shown) is is_placement


def test_passes_say_of_how_many_products_where_not_of_all() -> None:
    text = """HloModule m

ENTRY e {
  %x = f32[8,8]{1,0} parameter(0)
  %a = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %b = f32[8,8]{1,0} dot(%a, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
    new = text.replace("dot(%a, %x)", "dot(%a, %x), operand_precision={highest,highest}")
    program = ProgramComparison("m", "tpu-v5e", "compiled", "changed", diff(read_text(text), read_text(new)))
    first = to_terminal(Report("diff", "a", "b", (program,))).splitlines()[0]
    assert "worse on tpu-v5e: 1 of 2 matrix products in 6 passes instead of 1" in first


def test_products_that_are_a_hundredth_of_the_work_decide_nothing() -> None:
    text = """HloModule m

ENTRY e {
  %x = f32[128,128]{1,0} parameter(0)
  %y = f32[128,1]{1,0} parameter(1)
  %a = f32[128,128]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %b = f32[128,128]{1,0} dot(%a, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %c = f32[128,1]{1,0} dot(%b, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
    for taken, is_worse in (("dot(%b, %y)", False), ("dot(%a, %x)", True)):
        new = text.replace(taken, f"{taken}, operand_precision={{high,high}}")
        program = ProgramComparison("m", "tpu-v5e", "compiled", "changed", diff(read_text(text), read_text(new)))
        words = to_terminal(Report("diff", "a", "b", (program,)))
        assert ("matrix products in 3 passes instead of 1" in words) is is_worse


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("s32[] constant(5)", "5 of 6 matrix products in 6 passes instead of 1"),
        ("s32[] get-tuple-element(%p), index=2", "in the text 1 of 2 matrix products in 6 passes instead of 1"),
    ],
    ids=["executed", "in the text"],
)
def test_products_in_a_loop_count_once_a_turn_where_it_is_known(limit: str, words: str) -> None:
    text = f"""HloModule m

%body (q: (s32[], f32[8,8], s32[])) -> (s32[], f32[8,8], s32[]) {{
  %q = (s32[], f32[8,8], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%q), index=0
  %x = f32[8,8] get-tuple-element(%q), index=1
  %n = s32[] get-tuple-element(%q), index=2
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %a = f32[8,8] dot(%x, %x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT %t = (s32[], f32[8,8], s32[]) tuple(%next, %a, %n)
}}

%condition (p: (s32[], f32[8,8], s32[])) -> pred[] {{
  %p = (s32[], f32[8,8], s32[]) parameter(0)
  %j = s32[] get-tuple-element(%p), index=0
  %limit = {limit}
  ROOT %less = pred[] compare(%j, %limit), direction=LT
}}

ENTRY %e (y: f32[8,8], m: s32[]) -> f32[8,8] {{
  %y = f32[8,8] parameter(0)
  %m = s32[] parameter(1)
  %zero = s32[] constant(0)
  %s = (s32[], f32[8,8], s32[]) tuple(%zero, %y, %m)
  %w = (s32[], f32[8,8], s32[]) while(%s), condition=%condition, body=%body
  %r = f32[8,8] get-tuple-element(%w), index=1
  ROOT %b = f32[8,8] dot(%r, %y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""
    new = text.replace("dot(%x, %x)", "dot(%x, %x), operand_precision={highest,highest}")
    program = ProgramComparison("m", "tpu-v5e", "compiled", "changed", diff(read_text(text), read_text(new)))
    assert words in to_terminal(Report("diff", "a", "b", (program,))).splitlines()[0]


@pytest.mark.parametrize(("element_type", "word"), [("f32", "numerics"), ("s32", "structure")])
def test_other_numbers_of_a_table_that_the_program_has_for_others_too(element_type: str, word: str) -> None:
    """Another solver of a differential equation: one of its constants is what another one was."""

    def solve(nodes: str, weights: str) -> str:
        return f"""HloModule m

ENTRY e {{
  %x = f32[2] parameter(0)
  %h = f32[] constant(1)
  %c = {element_type}[2] constant({nodes})
  %b = {element_type}[2] constant({weights})
  ROOT %r = f32[2] custom-call(%x, %h, %c, %b), custom_call_target="solve"
}}
"""

    old, new = solve("{0, 1}", "{2, 2}"), solve("{0, 3}", "{0, 1}")
    assert of(new, old) == of(old, new) == (word,)
    found = diff(read_text(old), read_text(new))
    words = [
        words for edit in found.reported for change in edit.changes if (words := format_field_change(change, edit))
    ]
    assert sorted(words)[-1] == "operands: constants {0, 1}, {2, 2} -> {0, 3}, {0, 1}"


PMEAN = """HloModule m, num_partitions=4

%sum {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}}

ENTRY e {{
  %p = f32[] parameter(0)
  %t = f32[] tanh(%p)
{sums}  %n = f32[] constant({part})
  ROOT %m = f32[] multiply(%r, %n)
}}
"""
PSUM = "  %{} = f32[] all-reduce(%{}), channel_id=1, replica_groups={}, use_global_device_ids=true, to_apply=%sum\n"


@pytest.mark.parametrize(
    ("groups", "part", "classes"),
    [
        ("{{0,1,2,3}}", 0.25, ("placement", "structure")),  # a mean over four devices
        ("{{0,1,2,3}}", 0.3, ("placement", "numerics", "structure")),
        ("{{0,2},{1,3}}", 0.25, ("numerics", "structure")),
    ],
)
def test_a_mean_over_other_devices_divides_by_another_number(
    groups: str, part: float, classes: tuple[str, ...]
) -> None:
    two = PSUM.format("s", "t", "{{0,2},{1,3}}") + PSUM.format("r", "s", "{{0,1},{2,3}}")
    old = PMEAN.format(sums=two, part=0.5)
    new = PMEAN.format(sums=PSUM.format("r", "t", groups), part=part)
    found = diff(read_text(old, trusted=True), read_text(new, trusted=True))
    # The sum hands one value on to what divides it, so that the number is the same one on both sides.
    (number,) = [edit for edit in found.reported if edit.new and edit.new.opcode == "constant"]
    assert [(one.field, one.old, one.new) for one in number.changes] == [("literal", "0.5", str(part))]
    assert classes_of(found) == classes


MESH = """module @m {{
  sdy.mesh @mesh = <[{axes}]>
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
    %s = sdy.sharding_constraint %x <@mesh, [{{"a"}}]> : tensor<8xf32>
    return %s : tensor<8xf32>
  }}
}}
"""
PART = """HloModule m, num_partitions=4

ENTRY e {{
  %p = f32[8] parameter(0), sharding={{devices=[2,2]{devices} last_tile_dim_replicate}}
  %i = u32[] partition-id()
  %c = {element_type}[{devices_listed}] constant({{{parts}}})
  %d = {element_type}[1] dynamic-slice(%c, %i), dynamic_slice_sizes={{1}}
  ROOT %r = (f32[8], {element_type}[1]) tuple(%p, %d)
}}
"""


def test_another_order_of_the_axes_of_a_mesh_is_placement_alone() -> None:
    """Which part a device has is in a table of the program too: the numbers in it are places."""
    old, new = (MESH.format(axes=axes) for axes in ('"a"=2, "b"=2', '"b"=2, "a"=2'))
    assert set(of(new, old)) <= {"interface", "placement"}
    orders = [("<=[4]", "0, 0, 1, 1"), ("<=[2,2]T(1,0)", "0, 1, 0, 1")]
    for element_type, expected in (("u32", "placement"), ("f32", "numerics")):
        old, new = (
            PART.format(devices=devices, parts=parts, element_type=element_type, devices_listed=4)
            for devices, parts in orders
        )
        assert of(new, old) == tuple(dict.fromkeys(("interface", "placement", expected)))


def test_another_value_beside_the_number_of_a_device_is_no_place_of_it() -> None:
    """An update that takes its part of a gathered value, where it took an argument before."""
    text = (
        "HloModule m, num_partitions=4\n\n"
        "ENTRY e {\n"
        "  %p = f32[8] parameter(0), sharding={replicated}\n"
        "  %a = f32[8] negate(%p)\n"
        "  %i = u32[] partition-id()\n"
        '  %t = (f32[8]) custom-call(%p), custom_call_target="given"\n'
        "  %g = f32[8] get-tuple-element(%t), index=0\n"
        "  %d = f32[1] dynamic-slice(%OPERAND, %i), dynamic_slice_sizes={1}\n"
        "  ROOT %r = (f32[8], f32[8], f32[1]) tuple(%a, %g, %d)\n}\n"
    )
    placed = text.replace("sharding={replicated}", "sharding={devices=[4]<=[4]}")
    found = of(placed.replace("%OPERAND", "%g"), text.replace("%OPERAND", "%a"))
    assert found == ("interface", "placement", "structure")  # of the argument, and of what is taken


def test_where_parts_of_another_size_begin_is_no_place_of_a_device() -> None:
    """Each device has the part that it had: the parts are larger."""
    old, new = (
        PART.format(devices="<=[4]", parts=parts, element_type="s32", devices_listed=4)
        for parts in ("0, 0, 1, 1", "0, 0, 64, 64")
    )
    assert of(new, old) == ("structure",)


def _rounded(layers: int, *lines: int, shift: int = 0) -> str:
    """Layers of one operation whose value is rounded to bfloat16, each at its line."""
    rows, locations = [], []
    for n in range(layers):
        locations.append(f'#l{n} = loc("jit(f)/convert_element_type"("model.py":{lines[n] + shift}:0))')
        rows += [
            f"%{3 * n} = stablehlo.sine %{3 * n - 1 if n else 'arg0'} : tensor<8xf32> loc(#first)",
            f"%{3 * n + 1} = stablehlo.convert %{3 * n} : (tensor<8xf32>) -> tensor<8xbf16> loc(#l{n})",
            f"%{3 * n + 2} = stablehlo.convert %{3 * n + 1} : (tensor<8xbf16>) -> tensor<8xf32> loc(#l{n})",
        ]
    first = f'#file = loc("model.py":{3 + shift}:0)\n#first = loc("jit(f)/sin"(#file))'
    body = "\n    ".join([*rows, f"return %{3 * layers - 1} : tensor<8xf32>"])
    head = "module {\n  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {\n    "
    return "\n".join([first, *locations, f"{head}{body}\n  }}\n}}\n"])


@pytest.mark.parametrize("shift", [0, 2])
@pytest.mark.parametrize(("line", "word"), [(4, "structure"), (9, "numerics")])
def test_another_layer_makes_the_casts_of_the_others(line: int, word: str, shift: int) -> None:
    one, two = _rounded(1, 4), _rounded(2, 4, line, shift=shift)
    assert of(two, one)[0] == of(one, two)[0] == word


WEIGHED = """#one = loc("jit(f)/convert_element_type"("model.py":{line}:0))
module {{
  func.func public @main(%arg0: tensor<8xbf16>, %arg1: tensor<f32>) -> tensor<8xbf16> {{
    %0 = stablehlo.sine %arg0 : tensor<8xbf16>
    {work}
  }}
}}
"""
_WEIGHT = """%1 = stablehlo.sine %arg1 : tensor<f32>
    %2 = stablehlo.convert %{of} : (tensor<f32>) -> tensor<bf16> loc(#one)
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<bf16>) -> tensor<8xbf16>
    %4 = stablehlo.multiply %0, %3 : tensor<8xbf16>
    return %4 : tensor<8xbf16>"""


def test_a_cast_inside_of_new_work_rounds_nothing_that_was_there() -> None:
    without = WEIGHED.format(line=4, work="return %0 : tensor<8xbf16>")
    assert of(WEIGHED.format(line=4, work=_WEIGHT.format(of=1)), without) == ("structure",)


def scaled(*lines: str, opcode: str = "multiply") -> Module:
    """A value times the first of these values."""
    body = [*lines, f"%1 = stablehlo.{opcode} %arg0, %0 : tensor<f32>", "return %1 : tensor<f32>"]
    head = "module @m {\n  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {\n"
    return read_text(head + "".join(f"    {line}\n" for line in body) + "  }\n}\n")


DIFFERENCE = "%0 = stablehlo.subtract %arg1, %arg0 : tensor<f32>"


@pytest.mark.parametrize(
    ("number", "opcode", "classes"),
    [
        ("1.000000e-02", "multiply", ("numerics", "structure")),
        ("8.000000e+00", "divide", ("structure",)),
        ("8.000000e-01", "divide", ("numerics", "structure")),
    ],
)
def test_a_number_in_place_of_a_computed_value_is_numerics(number: str, opcode: str, classes: tuple[str, ...]) -> None:
    """As `dt0=None` instead of `ts[1] - ts[0]`; a whole number that something is divided by is a count."""
    written = scaled(f"%0 = stablehlo.constant dense<{number}> : tensor<f32>", opcode=opcode)
    pair = scaled(DIFFERENCE, opcode=opcode), written
    assert classes_of(diff(*pair)) == classes_of(diff(*pair[::-1])) == classes


def stepped(*lines: str, opcode: str = "minimum") -> Module:
    """The first of these values as the step of a solver that has the number 0.01 elsewhere too."""
    other = "%a = stablehlo.constant dense<1.000000e-02> : tensor<f32>"
    tolerance = "%t = stablehlo.add %arg1, %a : tensor<f32>"
    return scaled(other, tolerance, *lines, "%s = stablehlo.abs %t : tensor<f32>", opcode=opcode)


COMPUTED = (
    "%c = stablehlo.constant dense<5.000000e-02> : tensor<f32>",
    "%d = stablehlo.sign %t : tensor<f32>",
    "%0 = stablehlo.multiply %c, %d : tensor<f32>",
)


@pytest.mark.parametrize(
    ("lines", "opcode", "classes"),
    [
        (["%0 = stablehlo.constant dense<1.000000e-02> : tensor<f32>"], "minimum", ("numerics", "structure")),
        (["%0 = stablehlo.constant dense<1.000000e-02> : tensor<f32>"], "divide", ("numerics", "structure")),
        (["%0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>"], "divide", ("structure",)),
        (
            [
                "%d = stablehlo.constant dense<1.000000e-02> : tensor<f32>",
                "%0 = stablehlo.power %t, %d : tensor<f32>",
            ],
            "minimum",
            ("structure",),
        ),
    ],
    ids=["number", "divisor", "count", "other work"],
)
def test_a_number_that_came_for_one_that_was_computed_with_is_numerics(
    lines: list[str], opcode: str, classes: tuple[str, ...]
) -> None:
    """As `dt0=None` instead of `dt0=0.05`, which a library multiplies by the direction of time."""
    pair = stepped(*COMPUTED, opcode=opcode), stepped(*lines, opcode=opcode)
    assert classes_of(diff(*pair)) == classes_of(diff(*pair[::-1])) == classes


def test_a_number_that_came_for_another_in_another_fusion_is_numerics() -> None:
    fused = """%fused_one {
  %c = f32[] constant(0.05)
  %b = f32[20] broadcast(%c), dimensions={}
  %d = f32[20] copy(%b)
  ROOT %t = (f32[20], f32[20]) tuple(%b, %d)
}
"""
    body = """
ENTRY %e {
  %p = f32[20] parameter(0)
  %f = FUSION
  %x = f32[20] add(%p, FIRST)
  %y = f32[20] sine(SECOND)
  ROOT %r = (f32[20], f32[20]) tuple(%x, %y)
}
"""
    pair = body.replace("FUSION", "(f32[20], f32[20]) fusion(), kind=kLoop, calls=%fused_one")
    pair = pair.replace(
        "  %x", "  %g = f32[20] get-tuple-element(%f), index=0\n  %h = f32[20] get-tuple-element(%f), index=1\n  %x"
    )
    pair = pair.replace("FIRST", "%g").replace("SECOND", "%h")
    alone = "%fused_two {\n  %c = f32[] constant(0.01)\n  ROOT %b = f32[20] broadcast(%c), dimensions={}\n}\n"
    one = (
        body.replace("FUSION", "f32[20] fusion(), kind=kLoop, calls=%fused_two")
        .replace("FIRST", "%f")
        .replace("SECOND", "%f")
    )
    old, new = f"HloModule m\n\n{fused}{pair}", f"HloModule m\n\n{alone}{one}"
    for first, second in ((old, new), (new, old)):
        assert classes_of(diff(read_text(first), read_text(second)))[0] == "numerics"
        same = second.replace("0.05", "0.01"), first.replace("0.05", "0.01")
        assert "numerics" not in classes_of(diff(*map(read_text, same)))


WEIGHT_USED_TWICE = """#one = loc("jit(f)/convert_element_type"("model.py":4:0))
#other = loc("jit(f)/convert_element_type"("model.py":{line}:0))
module {{
  func.func public @main(%arg0: tensor<8xbf16>, %arg1: tensor<8xf32>) -> tensor<8xbf16> {{
    %0 = stablehlo.convert %arg1 : (tensor<8xf32>) -> tensor<8xbf16> loc(#one)
    %1 = stablehlo.multiply %arg0, %0 : tensor<8xbf16>
    %2 = stablehlo.sine %1 : tensor<8xbf16>
    {work}
    return %6 : tensor<8xbf16>
  }}
}}
"""
_AGAIN = """%3 = stablehlo.convert %arg1 : (tensor<8xf32>) -> tensor<8xbf16> loc(#other)
    %4 = stablehlo.tanh %2 : tensor<8xbf16>
    %5 = stablehlo.add %4, %0 : tensor<8xbf16>
    %6 = stablehlo.subtract %5, %3 : tensor<8xbf16>"""


@pytest.mark.parametrize(("line", "word"), [(4, "structure"), (9, "numerics")])
def test_a_value_that_its_line_casts_once_more_is_rounded_as_before(line: int, word: str) -> None:
    """The backward pass of `jax.checkpoint` casts the weights again."""
    old = WEIGHT_USED_TWICE.format(line=line, work="%6 = stablehlo.subtract %2, %0 : tensor<8xbf16>")
    new = WEIGHT_USED_TWICE.format(line=line, work=_AGAIN)
    assert of(new, old)[0] == of(old, new)[0] == word


def test_an_operation_that_takes_an_equal_cast_rounds_as_before() -> None:
    """What computes again has casts of its own: an operation of the backward pass takes those."""
    before = "%3 = stablehlo.subtract %2, %0 : tensor<8xbf16>\n    %6 = stablehlo.negate %3 : tensor<8xbf16>"
    after = (
        "%4 = stablehlo.convert %arg1 : (tensor<8xf32>) -> tensor<8xbf16> loc(#other)\n"
        "    %3 = stablehlo.subtract %2, %4 : tensor<8xbf16>\n    %5 = stablehlo.tanh %3 : tensor<8xbf16>\n"
        "    %6 = stablehlo.negate %5 : tensor<8xbf16>"
    )
    old, new = (WEIGHT_USED_TWICE.format(line=4, work=work) for work in (before, after))
    assert of(new, old) == of(old, new) == ("structure",)


@pytest.mark.parametrize("turned", [False, True])
def test_sums_of_parts_are_not_the_whole_sum_in_another_order(turned: bool) -> None:
    parts = ONE_FUSION.replace(
        "ROOT %r = f32[8]{0} reduce(%f, %n), dimensions={1}",
        "ROOT %r = f32[8,2]{1,0} reduce-window(%f, %n), window={size=1x2 stride=1x2}",
    )
    sides = (parts, ONE_FUSION) if turned else (ONE_FUSION, parts)
    assert "numerics" not in of(*sides)


@pytest.mark.parametrize("is_turned", [False, True])
def test_casts_at_other_places_change_types_alone(is_turned: bool) -> None:
    """A softmax of bfloat16 sums in float32 and casts the sum; what takes the same values, cast or not, is the same."""

    def module(element: Any) -> Module:
        def softmax(x: jax.Array) -> jax.Array:
            return jax.nn.softmax((jnp.tanh(x) * x).astype(element), axis=-1).astype(x.dtype)

        return read_text(jax.jit(softmax).lower(jax.ShapeDtypeStruct((8, 16), jnp.bfloat16)).as_text())

    sides = [module(jnp.float32), module(jnp.bfloat16)]
    found = diff(*(sides[::-1] if is_turned else sides))
    assert classes_of(found) == ("numerics",)
    came_or_went = [edit.new or edit.old for edit in found.reported if edit.kind in ("added", "removed")]
    assert {site.opcode for site in came_or_went if site} == {"convert"}
    words = [format_field_change(change) for edit in found.edits for change in edit.changes if change.of_casts]
    assert set(words) <= {"operands: other casts of the same values"}


def test_the_last_of_many_inputs_of_shard_map_counts_as_the_first_does() -> None:
    """A list of shardings is compared whole, however long it is."""
    mesh = jax.sharding.AbstractMesh((4,), ("data",))
    split, whole = PartitionSpec("data"), PartitionSpec()
    arrays = [jax.ShapeDtypeStruct((8,), jnp.float32)] * 24

    def lowered(last: PartitionSpec) -> Module:
        specs = (*[split] * 23, last)
        summed = jax.shard_map(lambda *x: sum(map(jnp.sum, x)) + x[0], mesh=mesh, in_specs=specs, out_specs=split)
        traced = jax.jit(summed).trace(*arrays)
        return read_text(traced.lower(lowering_platforms=("cpu",)).as_text())

    found = diff(lowered(split), lowered(whole))
    assert "placement" in classes_of(found)
    words = [format_field_change(change, edit) for edit in found.edits for change in edit.changes]
    assert "in_shardings: P('data',) -> replicated" in words


@pytest.mark.parametrize(
    ("old", "new", "classes"),
    [
        (lambda a, b, c: a + b - c, lambda a, b, c: a + (b - c), ("numerics",)),
        (lambda a, b, c: a * b / c, lambda a, b, c: a * (b / c), ("numerics",)),
        (lambda a, b, c: (a + b) + c, lambda a, b, c: a + (b + c), ("numerics",)),
        (lambda a, b, c: a + b - c, lambda a, b, c: a - (b - c), ("structure",)),
        (lambda a, b, c: a * b / c, lambda a, b, c: a / (b / c), ("structure",)),
        (lambda a, b, c: a + b - c, lambda a, b, c: a + b - b, ("interface", "structure")),
    ],
)
def test_a_sum_or_product_in_another_order_rounds_differently(
    old: Callable[..., jax.Array], new: Callable[..., jax.Array], classes: tuple[str, ...]
) -> None:
    """The same values are added or multiplied."""
    for sides in ((old, new), (new, old)):
        assert reordered(*sides) == classes


def of_functions(old: Callable[..., Any], new: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[str, ...]:
    """Classes of StableHLO with lines, where both functions are one line of a file."""
    texts = []
    for function in (old, new):
        arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
        text = jax.jit(function).lower(*arrays).as_text(debug_info=True)
        texts.append(re.sub(r'loc\("(?:[^"]*/)?test_classes\.py":\d+', 'loc("model.py":3', text))
    return classes_of(diff(*map(read_text, texts)))


def test_products_by_another_operation_round_differently_alone_and_with_their_gradients() -> None:
    """Patches of an image: a convolution without overlap, or a product of its blocks."""

    def convolved(x: jax.Array, k: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, k, (4, 4), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def multiplied(x: jax.Array, k: jax.Array) -> jax.Array:
        return jnp.einsum("bhpwqc,pqcd->bhwd", x.reshape(1, 4, 4, 4, 4, 3), k)

    def gradient(patches: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[..., Any]:
        return jax.grad(lambda x, k: jnp.sin(patches(x, k)).sum(), argnums=1)

    shapes = (1, 16, 16, 3), (4, 4, 3, 8)
    for sides in ((convolved, multiplied), (multiplied, convolved)):
        assert "numerics" in of_functions(*sides, *shapes)
        assert "numerics" in of_functions(gradient(sides[0]), gradient(sides[1]), *shapes)


def test_a_number_of_another_formula_is_no_changed_constant() -> None:
    """The derivative of the exact GELU multiplies by a constant where that of the approximate one multiplied by 0.5."""

    def gradient(is_approximate: bool) -> Callable[[jax.Array, jax.Array], Any]:
        def step(carry: jax.Array, weights: jax.Array) -> tuple[jax.Array, None]:
            return jax.nn.gelu(carry @ weights, approximate=is_approximate), None

        return jax.grad(lambda x, w: jax.lax.scan(step, x, w)[0].sum(), argnums=1)

    for sides in ((True, False), (False, True)):
        assert of_functions(gradient(sides[0]), gradient(sides[1]), (8, 16), (3, 16, 16)) == ("structure",)


def test_a_sum_of_whole_numbers_is_exact_in_every_order() -> None:
    assert reordered(lambda a, b, c: a + b - c, lambda a, b, c: a + (b - c), "int32") == ("structure",)


def reordered(old: Callable[..., jax.Array], new: Callable[..., jax.Array], dtype: str = "float32") -> tuple[str, ...]:
    arrays = [jax.ShapeDtypeStruct((8,), dtype)] * 3
    return classes_of(diff(*(read_text(jax.jit(one).lower(*arrays).as_text()) for one in (old, new))))


def test_a_value_that_is_no_result_of_its_fusion_any_more_is_stored_nowhere() -> None:
    """XLA writes the memory of what a fusion returns at its root: the root is another one now, in the same memory."""
    old = """HloModule m

%mask {
  %i = s32[8,8]{1,0:T(8,128)} iota(), iota_dimension=0
  %j = s32[8,8]{1,0:T(8,128)} iota(), iota_dimension=1
  ROOT %c = pred[8,8]{1,0:T(8,128)(4,1)S(1)} compare(%i, %j), direction=GE
}

ENTRY e {
  %p = f32[8,8]{1,0:T(8,128)} parameter(0)
  %q = f32[8,8]{1,0:T(8,128)} parameter(1)
  %f = pred[8,8]{1,0:T(8,128)(4,1)S(1)} fusion(), kind=kLoop, calls=%mask
  ROOT %s = f32[8,8]{1,0:T(8,128)} select(%f, %p, %q)
}
"""
    new = old.replace("ROOT %c = pred[8,8]{1,0:T(8,128)(4,1)S(1)}", "%c = pred[8,8]{1,0:T(8,128)(4,1)}")
    new = new.replace("direction=GE", "direction=GE\n  ROOT %n = pred[8,8]{1,0:T(8,128)(4,1)S(1)} not(%c)")
    new = new.replace("select(%f, %p, %q)", "select(%f, %q, %p)")
    assert of(old, new) == of(new, old) == ("structure",)


def test_what_the_backward_pass_of_shard_map_saves_is_no_resharded_value() -> None:
    """It saves an index or an array of another rank; both are split over the same axis."""
    mesh = jax.sharding.AbstractMesh((4,), ("data",))

    def module(picks: Callable[[jax.Array, jax.Array], jax.Array]) -> Module:
        def local(x: jax.Array, index: jax.Array) -> jax.Array:
            return jnp.sin(picks(x, index))

        mapped = jax.shard_map(local, mesh=mesh, in_specs=PartitionSpec("data"), out_specs=PartitionSpec("data"))
        traced = jax.jit(jax.grad(lambda x, index: mapped(x, index).sum())).trace(
            jax.ShapeDtypeStruct((8, 16), jnp.float32), jax.ShapeDtypeStruct((8,), jnp.int32)
        )
        return read_text(traced.lower(lowering_platforms=("cpu",)).as_text())

    indexed = module(lambda x, index: jnp.take_along_axis(x, index[:, None], axis=-1)[:, 0])
    summed = module(lambda x, index: jnp.sum(x * jax.nn.one_hot(index, 16), axis=-1))
    for found in (diff(indexed, summed), diff(summed, indexed)):
        fields = [change.field for edit in found.reported for change in edit.changes]
        assert any(field.endswith("_shardings") for field in fields), "what is saved has other shardings"
        assert classes_of(found) == ("structure",)


def test_results_that_are_sharded_differently_are_one_change_that_names_each_way() -> None:
    def module(*shardings: str) -> Module:
        results = ", ".join(f"tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{one}]>}}" for one in shardings)
        types = ", ".join(["tensor<8xf32>"] * len(shardings))
        values = ", ".join(["%arg0"] * len(shardings))
        return read_text(
            'module @m {\n  sdy.mesh @mesh = <["data"=2, "model"=2]>\n'
            f"  func.func public @main(%arg0: tensor<8xf32>) -> ({results}) {{\n"
            f"    return {values} : {types}\n  }}\n}}\n"
        )

    data, model = '{"data"}', '{"model"}'
    found = diff(module(data, model, data), module(model, model, "{}"))
    (change,) = (change for edit in found.edits for change in edit.changes)
    assert format_field_change(change) == "sharding: P('data',) -> P('model',), P('data',) -> replicated"
    assert classes_of(found) == ("interface", "placement")
    one = diff(module(data, data), module(data, model))
    (change,) = (change for edit in one.edits for change in edit.changes)
    assert format_field_change(change) == "sharding: P('data',) -> P('model',)"


@pytest.mark.parametrize(
    ("sharding", "classes"),
    [("[]", ("structure",)), ("[{?}]", ("structure",)), ("[{}]", ("placement",))],
)
def test_a_sharding_that_leaves_all_open_places_nothing(sharding: str, classes: tuple[str, ...]) -> None:
    """As JAX writes it inside of a `shard_map` over some of the axes of a mesh."""
    value = "tensor<f32>" if sharding == "[]" else "tensor<8xf32>"
    constraint = f"    %c = sdy.sharding_constraint %s <@mesh, {sharding}> : {value}\n"

    def module(body: str, result: str) -> Module:
        other = 'tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}'
        return read_text(
            'module @m {\n  sdy.mesh @mesh = <["data"=2]>\n'
            f"  func.func public @main(%a: {value}, %b: {other}) -> {value} {{\n"
            f"{body}    return {result} : {value}\n  }}\n}}\n"
        )

    sine = f"    %s = stablehlo.sine %a : {value}\n"
    assert classes_of(diff(module(sine + constraint, "%c"), module(sine, "%s"))) == classes


def test_another_copy_of_one_number_is_not_listed_beside_other_changes() -> None:
    def module(first: str, second: str, opcode: str) -> Module:
        here = "tensor<4xf32>"
        zeros = "".join(f"    %{name} = stablehlo.constant dense<0.0> : {here}\n" for name in "xy")
        return read_text(
            f"module @m {{\n  func.func public @main(%a: {here}) -> ({here}, {here}, {here}, {here}) {{\n"
            f"{zeros}    %s = stablehlo.add %a, {first} : {here}\n    %t = stablehlo.power %a, {second} : {here}\n"
            f"    %u = stablehlo.atan2 %x, %y : {here}\n    %v = stablehlo.{opcode} %a : {here}\n"
            f"    return %s, %t, %u, %v : {here}, {here}, {here}, {here}\n  }}\n}}\n"
        )

    found = diff(module("%x", "%x", "sine"), module("%x", "%y", "cosine"))
    assert sorted(edit.fields for edit in found.edits) == [("opcode",), ("operands",)]
    words = to_terminal(Report("diff", "a", "b", (ProgramComparison("f", "cpu", "stablehlo", "changed", found),)))
    assert "sine -> cosine" in words and "power" not in words and "1 more change, --all" in words
    alone = diff(module("%x", "%x", "sine"), module("%x", "%y", "sine"))
    words = to_terminal(Report("diff", "a", "b", (ProgramComparison("f", "cpu", "stablehlo", "changed", alone),)))
    assert "power %t f32[4]: operands: other copies of the same values" in words


def test_a_type_that_the_compiler_chose_for_what_is_handed_on_is_no_numerics() -> None:
    """The StableHLO rounds as before: only where a value is cast differs, in front of a gather or behind it."""
    table, rows = "f32[64,128]{1,0}", "f32[8,128]{1,0}"
    gather = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,128}"

    def module(body: str) -> Module:
        return read_text(
            f"HloModule m\n\nENTRY e {{\n  %t = {table} parameter(0)\n  %i = s32[8]{{0}} parameter(1)\n{body}"
            "  ROOT %r = bf16[8,128]{1,0} negate(%c)\n}\n"
        )

    early = module(f"  %b = bf16[64,128]{{1,0}} convert(%t)\n  %c = bf16[8,128]{{1,0}} gather(%b, %i), {gather}\n")
    late = module(f"  %g = {rows} gather(%t, %i), {gather}\n  %c = bf16[8,128]{{1,0}} convert(%g)\n")
    found = diff(early, late)
    assert "numerics" in classes_of(found)
    assert "numerics" not in classes_of(found, has_folded_constants=True)


@pytest.mark.parametrize(
    ("old", "new", "classes"),
    [
        ("divide 2.0", "multiply 5.000000e-01", ("structure",)),
        ("multiply 2.500000e-01", "divide 4.0", ("structure",)),
        ("divide 3.0", "multiply 0.333333343", ("numerics", "structure")),
        ("divide 2.0", "multiply 2.0", ("structure",)),
        ("multiply 2.0", "multiply 5.000000e-01", ("numerics",)),
    ],
)
def test_the_inverse_of_a_power_of_two_rounds_to_the_same_result(old: str, new: str, classes: tuple[str, ...]) -> None:
    def program(text: str) -> Module:
        operation, number = text.split()
        here = "tensor<8x4xf32>"
        return read_text(
            f"module @m {{\n  func.func public @main(%a: {here}) -> {here} {{\n"
            f"    %c = stablehlo.constant dense<{number}> : tensor<f32>\n"
            f"    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> {here}\n"
            f"    %m = stablehlo.{operation} %a, %b : {here}\n    return %m : {here}\n  }}\n}}\n"
        )

    found = classes_of(diff(program(old), program(new)))
    assert found == classes


def test_an_operation_that_came_with_its_fusion_is_work_whatever_arguments_came() -> None:
    """A number that was folded into the program is an argument now, of which a new fusion computes something."""
    old = """HloModule m

ENTRY e {
  %p = f32[8,4]{1,0} parameter(0)
  %c = f32[] constant(1.25)
  %b = f32[8,4]{1,0} broadcast(%c), dimensions={}
  ROOT %m = f32[8,4]{1,0} multiply(%p, %b)
}
"""
    new = """HloModule m

%inverse {
  %one = f32[] parameter(0)
  %t = f32[] parameter(1)
  ROOT %d = f32[] divide(%one, %t)
}

ENTRY e {
  %p = f32[8,4]{1,0} parameter(0)
  %t = f32[] parameter(1)
  %c = f32[] constant(1)
  %f = f32[] fusion(%c, %t), kind=kLoop, calls=%inverse
  %b = f32[8,4]{1,0} broadcast(%f), dimensions={}
  ROOT %m = f32[8,4]{1,0} multiply(%p, %b)
}
"""
    assert {"interface", "structure"} <= {*of(new, old)}


GIVEN = """HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["data"=1]>}}

ENTRY e {
  %p = f32[8,4]{1,0} parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\\"data\\"}, {}]>"}
  ROOT %t = f32[8,4]{1,0} tanh(%p)
}
"""


def test_a_sharding_that_jax_gave_is_placement_where_nothing_was_partitioned() -> None:
    found = diff(read_text(GIVEN), read_text(GIVEN.replace('[{\\"data\\"}, {}]', '[{}, {\\"data\\"}]')))
    assert classes_of(found) == ("interface", "placement")
    (change,) = found.edits[0].changes
    assert format_field_change(change) == "sharding: P('data', None) -> P(None, 'data')"


PREFETCHED = """HloModule m

%update {{
  %m = f32[64]{{0}} parameter(0)
  %n = f32[64]{{0}} parameter(1)
  %tenth = f32[] constant(0.9)
  %wide = f32[64]{{0}} broadcast(%tenth), dimensions={{}}
  %most = f32[] constant(0.95)
  %wider = f32[64]{{0}} broadcast(%most), dimensions={{}}
  %a = f32[64]{{0}} multiply(%m, %wide)
  %b = f32[64]{{0}} multiply(%n, %wider)
  ROOT %t = (f32[64]{{0}}, f32[64]{{0}}) tuple(%a, %b)
}}

ENTRY e {{
  %mu = f32[64]{{0}} parameter(0), metadata={{op_name="mu"}}
  %nu = f32[64]{{0}} parameter(1), metadata={{op_name="nu"}}
  %start = (f32[64]{{0:S(1)}}, f32[64]{{0}}, u32[]) copy-start(%{0})
  %done = f32[64]{{0:S(1)}} copy-done(%start)
  ROOT %f = (f32[64]{{0}}, f32[64]{{0}}) fusion({1}), kind=kLoop, calls=%update
}}
"""


def test_a_prefetch_of_another_array_is_no_other_work() -> None:
    """The shortest script pairs both copies; all that computes has the values that it had."""
    sides = PREFETCHED.format("mu", "%done, %nu"), PREFETCHED.format("nu", "%mu, %done")
    assert of(sides[1], sides[0]) == ("cost",)
    assert of(PREFETCHED.format("nu", "%nu, %done"), sides[0]) != ("cost",), "another value is multiplied"


def of_modules(old: Module, new: Module) -> tuple[str, ...]:
    return classes_of(diff(old, new))


def returned(path: str, opcode: str, argument: str = "state[0].mu") -> Module:
    """A program that returns a value under a path."""
    here = "tensor<8xf32>"
    return read_text(
        f'module @m {{\n  func.func public @main(%x: {here} loc("{argument}"), %z: {here} loc("z")) -> '
        f'({here} {{jax.result_info = "{path}"}}) {{\n    %y = stablehlo.{opcode} %x : {here}\n'
        f"    %w = stablehlo.add %y, %z : {here}\n    return %w : {here}\n  }}\n}}\n"
    )


@pytest.mark.parametrize(
    ("path", "argument", "classes"),
    [
        ("result['b']", "state[0].mu", ("interface", "structure")),
        ("result['b']", "state[1][0].mu", ("structure",)),  # a field of a model that is passed and returned
        ("result['a']", "state[0].mu", ("structure",)),
    ],
    ids=["result", "result and argument", "neither"],
)
def test_a_result_at_another_path_is_the_interface(path: str, argument: str, classes: tuple[str, ...]) -> None:
    assert of_modules(returned("result['a']", "tanh"), returned(path, "sine", argument)) == classes


@pytest.mark.parametrize("opcode", ["sine", "cosine"])
def test_a_fusion_that_only_copies_is_cost_whatever_else_changed(opcode: str) -> None:
    """A compiler puts a copy that follows from nothing into a kernel of its own."""
    rows, columns = "f32[32,64]{1,0}", "f32[32,64]{0,1}"
    body = f"%kernel {{\n  %q = {rows} parameter(0)\n  ROOT %k = {columns} copy(%q)\n}}\n\n"

    def module(opcode: str, is_copied: bool) -> Module:
        fusion = f"  %f = {columns} fusion(%s), kind=kInput, calls=%kernel\n" if is_copied else ""
        return read_text(
            f"HloModule m\n\n{body if is_copied else ''}ENTRY %e {{\n  %x = {rows} parameter(0)\n"
            f"  %s = {rows} {opcode}(%x)\n{fusion}"
            f"  ROOT %t = ({rows}, {columns}) tuple(%s, {'%f' if is_copied else '%s'})\n}}\n"
        )

    sides = module("sine", False), module(opcode, True)
    classes = ("structure", "cost") if opcode == "cosine" else ("cost",)
    assert of_modules(*sides) == of_modules(*sides[::-1]) == classes


def all_reduced(kind: str, before: str, value: str = "%v", functions: str = "") -> str:
    """A sum over two devices, in one type, of a value that `before` computes of `%x`; a cast is before or after it."""
    line = 'loc("jit(f)/psum"("net.py":7:1))'
    early, late = (
        f"    %c = stablehlo.convert {each} : (tensor<8xf32>) -> tensor<8xbf16> {line}\n" for each in (value, "%r")
    )
    is_early = kind == "bf16"
    return f"""module @m attributes {{mhlo.num_partitions = 2 : i32}} {{
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xbf16> {{
{before}{early if is_early else ""}    %r = "stablehlo.all_reduce"({"%c" if is_early else value}) <{{
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({{
    ^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>):
      %s = stablehlo.add %a, %b : tensor<{kind}>
      stablehlo.return %s : tensor<{kind}>
    }}) : (tensor<8x{kind}>) -> tensor<8x{kind}> {line}
{"" if is_early else late}    return {"%r" if is_early else "%c"} : tensor<8xbf16>
  }}
{functions}}}
"""


BOTH_OF = """  func.func private @both(%y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>) {
    %t = stablehlo.tanh %y : tensor<8xf32>
    %i = stablehlo.iota dim = 0 : tensor<8xi32>
    return %t, %i : tensor<8xf32>, tensor<8xi32>
  }
"""


@pytest.mark.parametrize("is_called", [False, True], ids=["operation", "first of two results"])
def test_a_cast_that_moved_before_a_collective_is_numerics(is_called: bool) -> None:
    before = "    %v = stablehlo.tanh %x : tensor<8xf32>\n"
    given = before, "%v", ""
    if is_called:
        call = "    %v:2 = call @both(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>)\n"
        given = call, "%v#0", BOTH_OF
    sides = all_reduced("f32", *given), all_reduced("bf16", *given)
    assert of(*sides) == of(*sides[::-1]) == ("numerics",)
