"""SCENARIOS.md, rows R: what is an edit and what is not."""

from __future__ import annotations

import json

import pytest

from tests.scenarios import compare, lines

ADD = """
  p0 = f32[4]{0} parameter(0)
  p1 = f32[4]{0} parameter(1)
  ROOT add = f32[4]{0} add(p0, p1)
"""


def test_r1_a_wider_parameter_changes_itself_and_its_user() -> None:
    new = ADD.replace("p0 = f32", "p0 = f64").replace("add = f32", "add = f64")
    found = compare(ADD, new)
    assert lines(found) == ["changed parameter element_type", "changed add element_type"]
    assert [(c.old, c.new) for c in found.edits[0].changes] == [("f32", "f64")]


@pytest.mark.parametrize("opcode", ["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
def test_r2_swapped_operands_of_commutative_operations_are_nothing(opcode: str) -> None:
    old = ADD.replace("add(p0, p1)", f"{opcode}(p0, p1)")
    assert lines(compare(old, old.replace("(p0, p1)", "(p1, p0)"))) == []


@pytest.mark.parametrize(("direction", "expected"), [("EQ", 0), ("NE", 0), ("LT", 1)])
def test_r2_swapped_operands_of_comparisons(direction: str, expected: int) -> None:
    old = ADD.replace("add = f32[4]{0} add(p0, p1)", f"c = pred[4]{{0}} compare(p0, p1), direction={direction}")
    assert len(compare(old, old.replace("(p0, p1)", "(p1, p0)")).edits) == expected


def test_r3_exchanged_entry_parameters_change_and_their_user_does_not() -> None:
    old = ADD.replace("add", "subtract")
    new = old.replace("parameter(0)", "parameter(X)").replace("parameter(1)", "parameter(0)").replace("(X)", "(1)")
    found = compare(old, new)
    assert lines(found) == ["changed parameter attribute:parameter_number"] * 2


def test_r3_exchanged_operands_change_the_user() -> None:
    old = ADD.replace("add", "subtract")
    assert lines(compare(old, old.replace("(p0, p1)", "(p1, p0)"))) == ["changed subtract operands"]


FUSED = """
fused {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} parameter(1)
  ROOT s = f32[4]{0} subtract(a, b)
}

ENTRY main {
  p0 = f32[4]{0} parameter(0)
  p1 = f32[4]{0} parameter(1)
  sin = f32[4]{0} sine(p0)
  ROOT f = f32[4]{0} fusion(sin, p1), kind=kLoop, calls=fused
}
"""


def test_r4_parameters_of_a_called_computation_exchanged_with_its_operands_are_nothing() -> None:
    new = FUSED.replace("a = f32[4]{0} parameter(0)", "a = f32[4]{0} parameter(1)")
    new = new.replace("b = f32[4]{0} parameter(1)", "b = f32[4]{0} parameter(0)").replace("(sin, p1)", "(p1, sin)")
    assert lines(compare(FUSED, new)) == []
    half = FUSED.replace("(sin, p1)", "(p1, sin)")
    assert lines(compare(FUSED, half)) == ["changed fusion operands"]


def test_operands_that_a_fusion_cannot_tell_apart_may_swap() -> None:
    old = FUSED.replace("subtract(a, b)", "multiply(a, b)")
    assert lines(compare(old, old.replace("(sin, p1)", "(p1, sin)"))) == []


# The same two gradients added in several fusions, each with something else on top.
GRADIENTS = """

%sum (a: f32[4,4], b: f32[4,4]) -> f32[4,4] {{
  a = f32[4,4]{{1,0}} parameter(0)
  b = f32[4,4]{{1,0}} parameter(1)
  ROOT s = f32[4,4]{{1,0}} add(a, b)
}}

%wave (c: f32[4,4], d: f32[4,4]) -> f32[4,4] {{
  c = f32[4,4]{{1,0}} parameter(0)
  d = f32[4,4]{{1,0}} parameter(1)
  t = f32[4,4]{{1,0}} add(c, d)
  ROOT w = f32[4,4]{{1,0}} sine(t)
}}

%slope (e: f32[4,4], f: f32[4,4]) -> f32[4,4] {{
  e = f32[4,4]{{1,0}} parameter(0)
  f = f32[4,4]{{1,0}} parameter(1)
  u = f32[4,4]{{1,0}} add(e, f)
  ROOT o = f32[4,4]{{1,0}} cosine(u)
}}

ENTRY %main (x: f32[4,4], v: f32[4,4], w: f32[4,4]) -> (f32[4,4], f32[4,4], f32[4,4]) {{
  x = f32[4,4]{{1,0}} parameter(0)
  v = f32[4,4]{{1,0}} parameter(1)
  w = f32[4,4]{{1,0}} parameter(2)
  epsilon = f32[] constant({epsilon})
  wide = f32[4,4]{{1,0}} broadcast(epsilon), dimensions={{}}
  y = f32[4,4]{{1,0}} divide(x, wide)
  left = f32[4,4]{{1,0}} dot(y, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  right = f32[4,4]{{1,0}} dot(y, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  one = f32[4,4]{{1,0}} fusion({both}), kind=kLoop, calls=%sum
  two = f32[4,4]{{1,0}} fusion({both}), kind=kLoop, calls=%wave
  three = f32[4,4]{{1,0}} fusion({both}), kind=kLoop, calls=%slope
  ROOT all = (f32[4,4]{{1,0}}, f32[4,4]{{1,0}}, f32[4,4]{{1,0}}) tuple(one, two, three)
}}
"""


@pytest.mark.parametrize(("epsilon", "expected"), [("1e-06", []), ("1e-05", ["changed constant literal"])])
def test_operands_may_swap_in_every_fusion_that_cannot_tell_them_apart(epsilon: str, expected: list[str]) -> None:
    old = GRADIENTS.format(epsilon="1e-06", both="left, right")
    found = compare(old, GRADIENTS.format(epsilon=epsilon, both="right, left"))
    assert lines(found) == expected
    assert found.replay().complete


def test_r5_swapped_operands_of_a_subtraction_are_one_change() -> None:
    old = """
  p = f32[4]{0} parameter(0)
  sin = f32[4]{0} sine(p)
  cos = f32[4]{0} cosine(p)
  ROOT s = f32[4]{0} subtract(sin, cos)
"""
    found = compare(old, old.replace("(sin, cos)", "(cos, sin)"))
    assert lines(found) == ["changed subtract operands"]
    assert [(c.old, c.new) for c in found.edits[0].changes] == [("%sin, %cos", "%cos, %sin")]


CONSTANT = """
  p = f32[16]{0} parameter(0)
  c = f32[16]{0} constant({...})
  ROOT m = f32[16]{0} multiply(p, c)
"""


def test_r7_an_elided_constant_is_unchanged() -> None:
    assert lines(compare(CONSTANT, CONSTANT.replace("  c =", "  k =").replace("(p, c)", "(p, k)"))) == []


def test_r8_one_element_of_a_constant_is_one_changed_literal() -> None:
    numbers = [str(n) for n in range(16)]
    old = CONSTANT.replace("...", ", ".join(numbers))
    new = CONSTANT.replace("...", ", ".join(["9", *numbers[1:]]))
    assert lines(compare(old, new)) == ["changed constant literal"]


def test_r9_counts_and_names_survive_json() -> None:
    old = ADD.replace("add = f32[4]{0} add(p0, p1)", "s = f32[4]{0} subtract(p0, p1)")
    found = compare(old, ADD)
    again = json.loads(json.dumps(found.to_json()))
    assert again["summary"] == found.summary == {"added": 0, "removed": 0, "changed": 1, "moved": 0}
    (edit,) = again["edits"]
    assert (edit["old"]["name"], edit["new"]["name"]) == ("s", "add")
    assert edit["old"]["text"] == "%s = f32[4]{0} subtract(%p0, %p1)"
    assert again["op_counts"]["add"] == [0, 1]
    assert again["op_counts"]["subtract"] == [1, 0]


def test_aliases_of_a_kernel_that_are_numbered_anew_are_nothing() -> None:
    config = ', backend_config={"aliasing_operands":{"lists":[{"indices":["0","2"]}]}}'
    old = FUSED.replace("calls=fused", "calls=fused" + config)
    new = FUSED.replace(
        "  ROOT s = f32[4]{0} subtract(a, b)", "  n = f32[4]{0} tanh(b)\n  ROOT s = f32[4]{0} subtract(n, a)"
    )
    new = new.replace("(sin, p1)", "(p1, sin)").replace("calls=fused", "calls=fused" + config.replace('"0"', '"1"'))
    new = new.replace("subtract(n, a)", "subtract(b, n)").replace("tanh(b)", "tanh(a)")
    assert lines(compare(old, new)) == ["added tanh"]
    moved = old.replace('["0","2"]', '["1","2"]')
    assert lines(compare(old, moved)) == ["changed fusion backend_config"]
    otherwise = old.replace('["0","2"]', "[0,2]")  # not as XLA writes them: compared as they stand
    assert lines(compare(old, otherwise)) == ["changed fusion backend_config"]


DOT = "dot(p0, p1), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
OF_NO_OPCODE = ', sharding={replicated}, frontend_attributes={mine="1"}'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("add(p0, p1)", DOT),
        ("add(p0, p1)", 'custom-call(p0, p1), custom_call_target="kernel", backend_config={"a":1}'),
        (DOT, "convolution(p0, p1), window={size=1}, dim_labels=bf_io->bf"),
        ("broadcast(p0), dimensions={0}", "reduce-precision(p0), exponent_bits=5, mantissa_bits=10"),
    ],
)
@pytest.mark.parametrize("rest", ["", OF_NO_OPCODE])
def test_another_opcode_brings_its_own_attributes_along(one: str, other: str, rest: str) -> None:
    old, new = (ADD.replace("add(p0, p1)", body) for body in (one + rest, other + rest))
    for found in (compare(old, new), compare(new, old)):
        assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("opcode",))]
        assert found.replay().complete


def test_what_any_opcode_can_have_is_told_beside_another_opcode() -> None:
    old, new = (ADD.replace("add(p0, p1)", body) for body in ("add(p0, p1)", DOT + OF_NO_OPCODE))
    (edit,) = compare(old, new).edits
    assert edit.fields == ("opcode", "sharding", "attribute:frontend_attributes.mine")
    before = ADD.replace("add(p0, p1)", DOT + ", operand_precision={high,highest}")
    found = compare(before, before.replace("{high,", "{highest,").replace(" dot(", " ragged-dot("))
    assert [edit.fields for edit in found.edits] == [("opcode", "precision")]
    assert found.replay().complete
