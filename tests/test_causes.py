"""What merely follows from another edit is said to: each case is a program of a few lines, and who follows whom."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hlodiff.differ import ModuleDiff, classes_of, diff
from hlodiff.graph import nearest_causes
from hlodiff.hlo import read_hlo, read_text
from tests.scenarios import compare, line
from tests.test_diff_properties import kinds, made


def story(found: ModuleDiff) -> list[str]:
    """Edits that stand for themselves, what follows from each one indented below it."""
    rows: list[str] = []
    for index, edit in enumerate(found.edits):
        if edit.cause is None:
            rows += [line(edit), *(f"  {line(e)}" for e in found.edits if e.cause == index)]
    return rows


BODY = """
fused (p: f32[8]) -> {t}[8] {{
  p = f32[8]{{0}} parameter(0)
  ROOT r = {t}[8]{{0}} {op}(p)
}}

twice (q: {t}[8]) -> {t}[8] {{
  q = {t}[8]{{0}} parameter(0)
  ROOT d = {t}[8]{{0}} add(q, q)
}}

ENTRY main {{
  x = f32[8]{{0}} parameter(0)
  f = {t}[8]{{0}} fusion(x), kind=kLoop, calls=fused
  ROOT c = {t}[8]{{0}} call(f), to_apply=twice
}}
"""


def test_a_type_goes_from_a_fusion_through_a_call() -> None:
    found = compare(BODY.format(t="f32", op="copy"), BODY.format(t="bf16", op="convert"))
    assert story(found) == [
        "changed copy->convert opcode,element_type",
        "  changed fusion element_type",
        "  changed call element_type",
        "  changed parameter element_type",
        "  changed add element_type",
    ]
    assert found.summary == {"added": 0, "removed": 0, "changed": 5, "moved": 0}, "nothing is hidden"
    assert [edit["follows"] for edit in json.loads(json.dumps(found.to_json()))["edits"]] == [None, 0, 0, 0, 0]


WHOLE = """module @m {
  func.func public @main(%arg0: tensor<6x5xf32>, %arg1: tensor<5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<5xf32>) -> tensor<6x5xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}
"""
HALF = "%h = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<5xf32>) -> tensor<1x5xf32>"
HALVES = WHOLE.replace("%0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<5", f"{HALF}\n    %0 = "
                       "stablehlo.broadcast_in_dim %h, dims = [0, 1] : (tensor<1x5")  # fmt: skip


@pytest.mark.parametrize(("old", "new", "kind"), [(WHOLE, HALVES, "added"), (HALVES, WHOLE, "removed")])
def test_a_half_of_a_broadcast_goes_with_the_other(old: str, new: str, kind: str) -> None:
    """JAX writes `x[None] + y` as two broadcasts, and `x + y` of the same shapes as one."""
    assert story(diff(read_text(old), read_text(new))) == [
        "changed broadcast_in_dim attribute:broadcast_dimensions",
        f"  {kind} broadcast_in_dim",
    ]


@pytest.mark.parametrize("turns", [(0, 1), (1, 0)])
def test_a_number_goes_with_its_broadcast(turns: tuple[int, int]) -> None:
    number = WHOLE.replace("%0 = ", "%c = stablehlo.constant dense<2.0> : tensor<f32>\n    %0 = ").replace(
        "%arg1, dims = [1] : (tensor<5xf32>)", "%c, dims = [] : (tensor<f32>)"
    )
    sides = [read_text(text) for text in (number, HALVES)]
    found = diff(*(sides[turn] for turn in turns))
    assert [row for row in story(found) if not row.startswith(" ")] == [
        "changed broadcast_in_dim attribute:broadcast_dimensions"
    ]


@pytest.mark.parametrize(
    ("body", "exchange", "expected"),
    [
        pytest.param(
            "a = f32[4,8]{1,0} parameter(0)\n  b = f32[4,8]{1,0} negate(a)\n"
            "  ROOT c = f32[8,4]{0,1} transpose(b), dimensions={1,0}",
            [("[4,8]", "[6,8]"), ("[8,4]", "[8,6]")],
            ["changed parameter shape", "  changed negate shape", "  changed transpose shape"],
            id="a shape as far as elements go one to one",
        ),
        pytest.param(
            "a = f32[4,8]{1,0} parameter(0)\n  b = f32[8,2]{1,0} parameter(1)\n"
            "  ROOT c = f32[4,2]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            [("[4,8]", "[6,8]"), ("[4,2]", "[6,2]")],
            ["changed parameter shape", "  changed dot shape"],
            id="the size of one dimension through a dot",
        ),
        pytest.param(
            "a = f32[4,8]{1,0} parameter(0)\n  b = f32[4,8]{1,0} exponential(a)\n  ROOT c = f32[4,8]{1,0} negate(b)",
            [("{1,0}", "{0,1}")],
            ["changed parameter layout", "  changed exponential layout", "  changed negate layout"],
            id="a layout",
        ),
        pytest.param(
            "a = f32[8]{0} parameter(0)\n  b = f32[8]{0} convert(a)\n  ROOT c = f32[8]{0} negate(b)",
            [("f32[8]{0} convert", "bf16[8]{0} convert"), ("f32[8]{0} negate", "bf16[8]{0} negate")],
            ["changed convert element_type", "  changed negate element_type"],
            id="a conversion says its type itself",
        ),
        pytest.param(
            "a = f32[8]{0} parameter(0)\n  b = f32[8]{0} copy(a)\n  ROOT c = f32[8]{0} copy(b)",
            [("f32[8]{0} copy", "f32[8]{0:S(5)} copy")],
            ["changed copy memory_space x2"],
            id="a copy says itself where it writes",
        ),
    ],
)
def test_what_operands_hand_on(body: str, exchange: list[tuple[str, str]], expected: list[str]) -> None:
    new = body
    for old_words, new_words in exchange:
        new = new.replace(old_words, new_words)
    found = story(compare(body, new))
    assert found == expected


MASKED = """
module @jit_f {{
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %c = stablehlo.constant dense<{number}> : tensor<f32>
    %0 = call @_where(%arg0, %c) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
  func.func private @_where(%arg0: tensor<8xf32>, %arg1: tensor<f32>) -> tensor<8xf32> {{
    {convert}%1 = stablehlo.broadcast_in_dim {value}, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.maximum %arg0, %1 : tensor<8xf32>
    return %2 : tensor<8xf32>
  }}
}}
"""


def test_a_convert_to_the_same_type_follows_from_the_number_that_took_the_place_of_an_array() -> None:
    old = MASKED.format(number="-3.0e+38", convert="", value="%arg1")
    convert = "%0 = stablehlo.convert %arg1 : tensor<f32>\n    "
    new = MASKED.format(number="-1.0e+04", convert=convert, value="%0")
    found = diff(read_text(old), read_text(new))
    assert story(found) == ["changed constant literal", "  added convert"]
    assert classes_of(found) == ("numerics",)
    assert story(diff(read_text(old), read_text(MASKED.format(number="-3.0e+38", convert=convert, value="%0")))) == [
        "added convert"
    ]


def test_constants_and_broadcasts_come_with_what_uses_them() -> None:
    old = "a = f32[8]{0} parameter(0)\n  n = f32[8]{0} negate(a)\n  ROOT r = f32[8]{0} tanh(n)"
    new = (
        "a = f32[8]{0} parameter(0)\n  n = f32[8]{0} negate(a)\n  c = f32[] constant(0.5)\n"
        "  b = f32[8]{0} broadcast(c), dimensions={}\n  m = f32[8]{0} multiply(n, b)\n  ROOT r = f32[8]{0} tanh(m)"
    )
    assert story(compare(old, new)) == ["added multiply", "  added constant", "  added broadcast"]
    assert story(compare(new, old)) == ["removed multiply", "  removed constant", "  removed broadcast"]


def test_a_call_brings_its_body_and_a_constant_that_stays_needed_is_nobodys() -> None:
    head = "inner (p: f32[8]) -> f32[8] {\n  p = f32[8]{0} parameter(0)\n  ROOT s = f32[8]{0} sine(p)\n}\n\n"
    old = "ENTRY main {\n  x = f32[8]{0} parameter(0)\n  ROOT n = f32[8]{0} negate(x)\n}\n"
    new = (
        head + "ENTRY main {\n  x = f32[8]{0} parameter(0)\n  k = f32[8]{0} call(x), to_apply=inner\n"
        "  ROOT n = f32[8]{0} negate(k)\n}\n"
    )
    assert story(compare(old, new)) == ["added call", "  added sine"]


def test_equal_edits_that_follow_from_different_ones_stay_apart() -> None:
    body = (
        "a = f32[8]{0} parameter(0)\n  b = f32[8]{0} parameter(1)\n"
        "  c = f32[8]{0} convert(a)\n  d = f32[8]{0} cosine(b)\n"
        "  e = f32[8]{0} negate(c)\n  f = f32[8]{0} negate(d)\n  ROOT t = (f32[8]{0}, f32[8]{0}) tuple(e, f)"
    )
    new = body.replace("f32[8]{0} convert", "bf16[8]{0} convert").replace("f32[8]{0} cosine", "bf16[8]{0} convert")
    new = new.replace("f32[8]{0} negate", "bf16[8]{0} negate").replace(
        "(f32[8]{0}, f32[8]{0})", "(bf16[8]{0}, bf16[8]{0})"
    )
    found = story(compare(body, new))
    assert found[0] == "changed convert element_type"
    assert sum(row == "  changed negate element_type" for row in found) == 2


OUTER = """module {{
  func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %end = stablehlo.constant dense<9> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:{count} = stablehlo.while(%i = %zero, %a = %x{carry}) : tensor<i32>, tensor<8xf32>{types}
    cond {{
      %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %n = stablehlo.add %i, %one : tensor<i32>
      %t = stablehlo.tanh %a : tensor<8xf32>{inner}
      stablehlo.return %n, %t{result} : tensor<i32>, tensor<8xf32>{types}
    }}
    %s = stablehlo.{last} : tensor<8xf32>
    return %s : tensor<8xf32>
  }}
}}
"""
INNER = """
      %w = stablehlo.while(%v = %b) : tensor<8xf32>
      cond {
        %m = stablehlo.reduce_precision %v, format = e5m2 : tensor<8xf32>
        %k = stablehlo.slice %m [0:1] : (tensor<8xf32>) -> tensor<1xf32>
        %l = stablehlo.reshape %k : (tensor<1xf32>) -> tensor<f32>
        %q = stablehlo.compare GT, %l, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        %e = stablehlo.cosine %v : tensor<8xf32>
        stablehlo.return %e : tensor<8xf32>
      }"""


def test_a_loop_that_is_gone_from_a_loop_follows_from_nothing() -> None:
    """The loop around it only hands on one value less: what is in the inner one is not what scan made for a value."""
    values = {"count": 3, "carry": ", %b = %y", "types": ", tensor<8xf32>", "inner": INNER, "result": ", %w"}
    old = OUTER.format(**values, last="add %r#1, %r#2")
    new = OUTER.format(**{**dict.fromkeys(values, ""), "count": 2}, last="negate %r#1")
    found = diff(*(read_text(text, path="a.mlir") for text in (old, new)))
    assert story(found)[:2] == ["removed while", "  removed reduce_precision"]
    assert [line for line in story(found) if not line.startswith(" ")] == [
        "removed while",
        "changed add->negate opcode,operands",
    ]


def test_a_ring_has_a_root() -> None:
    text = """
cond (p: (f32[8])) -> pred[] {{
  p = (f32[8]{{0}}) parameter(0)
  ROOT t = pred[] constant(true)
}}

body (q: ({t}[8])) -> ({t}[8]) {{
  q = ({t}[8]{{0}}) parameter(0)
  g = {t}[8]{{0}} get-tuple-element(q), index=0
  n = {t}[8]{{0}} negate(g)
  ROOT r = ({t}[8]{{0}}) tuple(n)
}}

ENTRY main {{
  x = {t}[8]{{0}} parameter(0)
  i = ({t}[8]{{0}}) tuple(x)
  w = ({t}[8]{{0}}) while(i), condition=cond, body=body
  ROOT o = {t}[8]{{0}} get-tuple-element(w), index=0
}}
"""
    found = compare(text.format(t="f32"), text.format(t="bf16"))
    assert [line(edit) for edit in found.edits if edit.cause is None] == ["changed parameter element_type"]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=12, max_size=12))
def test_causes_are_the_nearest_and_the_first_of_a_ring_is_its_root(candidates: list[list[int]]) -> None:
    """Against the plain definition: a root follows from nothing but edits that follow from it, and is the first."""
    follows = [set(causes) for causes in candidates]
    for _ in candidates:
        follows = [causes.union(*(follows[cause] for cause in causes)) for causes in follows]
    roots = [one for one, causes in enumerate(follows) if all(one in follows[c] and one <= c for c in causes)]
    steps: dict[int, int] = {}
    for is_ring in (False, True):
        level = [one for one in roots if bool(follows[one] - {one}) == is_ring]
        distance = 0
        while level:
            steps.update(dict.fromkeys(level, distance))
            distance += 1
            level = [one for one, causes in enumerate(candidates) if one not in steps and {*causes} & {*level}]
    for one, cause in enumerate(nearest_causes(candidates)):
        assert (cause is None) == (one in roots)
        assert cause is None or (cause in candidates[one] and steps[cause] == steps[one] - 1)


def test_what_follows_from_a_ring_alone_is_no_root_though_it_comes_first() -> None:
    assert nearest_causes([[2], [2], [1]]) == [2, None, 1]


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 100), kinds, st.integers(0, 2**32))
def test_causes_and_costs_of_known_edits_are_mirrored_and_end_in_roots(program: int, kind: str, seed: int) -> None:
    pair = made(program, kind, seed, 8)
    there, back = diff(pair.old, pair.new), diff(pair.new, pair.old)
    for found in (there, back):
        assert all(edit.cause is None or found.edits[edit.cause].cause is None for edit in found.edits)
    assert _standing(there, (0, 1)) == _standing(back, (1, 0))


def _standing(found: ModuleDiff, order: tuple[int, int]) -> list[str]:
    """Places and costs of the edits that stand for themselves, as one of both sides sees them."""
    rows = []
    for edit in found.edits:
        if edit.cause is None:
            places = [
                [(site.computation, site.instruction) if site else None for site in (pair[n] for n in order)]
                for pair in edit.sites
            ]
            rows.append(f"{sorted(map(str, places))} {[edit.cost[n] for n in order] if edit.cost else None}")
    return sorted(rows)


def test_a_collective_in_steps_came_once() -> None:
    """A TPU repeats the whole instruction in every fusion that continues it."""
    step = (
        "  %g = f32[8,4] all-gather(%p), channel_id=5, replica_groups={{0,1}}, dimensions={0}, "
        'use_global_device_ids=true, backend_config={"async_collective_fusion_config":{"fusion_type":"NONE"}}\n'
    )
    opcodes = ("tanh", "sine", "cosine")
    bodies = "".join(
        f"%c{n} {{\n  %p = f32[4,4] parameter(0)\n{step}  ROOT %r = f32[4,4] {opcode}(%p)\n}}\n\n"
        for n, opcode in enumerate(opcodes)
    )
    lines = "".join(f"  %f{n} = f32[4,4] fusion(%x), kind=kLoop, calls=%c{n}\n" for n in range(3))
    new = f"HloModule m\n\n{bodies}ENTRY e {{\n  %x = f32[4,4] parameter(0)\n{lines}"
    new += "  ROOT %t = (f32[4,4], f32[4,4], f32[4,4]) tuple(%f0, %f1, %f2)\n}\n"
    old = new.replace(step, "")
    for one, other, kind in ((old, new, "added"), (new, old, "removed")):
        found = diff(read_hlo(one), read_hlo(other))
        steps = [edit for edit in found.edits if "all-gather(" in str(edit.sites)]
        assert {edit.kind for edit in steps} == {kind}
        assert [edit.count for edit in steps if edit.cause is None] == [1]
        assert sum(edit.count for edit in steps) == 3


# A layer and its activation, which JAX writes as a function of its own.
LAYER = """module @m {
  func.func public @main(%arg0: tensor<6x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1] : \
(tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
    %1 = call @silu(%0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
    return %1 : tensor<6x4xf32>
  }
  func.func private @silu(%arg0: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<6x4xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<6x4xf32>
    return %1 : tensor<6x4xf32>
  }
}
"""
WITH_BIAS = """module @m {
  func.func public @main(%arg0: tensor<6x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<6xf32>) -> tensor<4x6xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1] : \
(tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
    %t = stablehlo.transpose %0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %b = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
    %a = stablehlo.add %t, %b : tensor<4x6xf32>
    %1 = call @silu(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func private @silu(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<4x6xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
"""


@pytest.mark.parametrize(("old", "new", "kind"), [(LAYER, WITH_BIAS, "added"), (WITH_BIAS, LAYER, "removed")])
def test_arithmetic_before_a_call_whose_values_have_another_shape_follows_from_nothing(
    old: str, new: str, kind: str
) -> None:
    assert story(diff(read_text(old), read_text(new))) == [
        f"{kind} transpose",
        f"{kind} add",
        "  changed func.call shape",
        "  changed parameter shape",
        "  changed logistic shape",
        "  changed multiply shape",
        f"  {kind} parameter",
        f"  {kind} broadcast_in_dim",
    ]


NORM = """
ENTRY main {{
  x = f32[8]{{0}} parameter(0)
  {cast}
  eps = {t}[] constant({eps}){own}
  e = {t}[8]{{0}} broadcast(eps), dimensions={{}}{line}
  ROOT a = {t}[8]{{0}} add({x}, e){line}
}}
"""
LINES = """FileNames
1 "/srv/model.py"

FunctionNames
1 "norm"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=20}
2 {file_name_id=1 function_name_id=1 line=14 end_line=14 column=4 end_column=20}

StackFrames
1 {file_location_id=1 parent_frame_id=0}
2 {file_location_id=2 parent_frame_id=0}
"""


@pytest.mark.parametrize(
    ("eps", "own", "roots"),
    [
        ("9.98377e-07", ", metadata={stack_frame_id=1}", ["added convert"]),
        ("9.98377e-07", "", ["added convert"]),
        ("1e-05", "", ["added convert", "changed constant element_type,literal"]),
        ("9.98377e-07", ", metadata={stack_frame_id=2}", ["added convert", "changed constant element_type,literal"]),
    ],
)
def test_a_number_has_the_type_of_the_values_that_it_is_computed_with(eps: str, own: str, roots: list[str]) -> None:
    """Another number is nobody's follower, nor is one of another line: there somebody may have asked for its type."""
    line = ", metadata={stack_frame_id=1}"
    old = NORM.format(t="f32", eps="1e-06", x="x", cast="", own=own, line=line)
    new = NORM.format(t="bf16", eps=eps, x="c", cast="c = bf16[8]{0} convert(x)", own=own, line=line)
    found = diff(*(read_text(f"HloModule m\n\n{LINES}{text}") for text in (old, new)))
    assert sorted(row for row in story(found) if not row.startswith(" ")) == roots


CALLED = """module @m {{
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8x{t}> {{
    %0 = func.call @rest(%arg0) : (tensor<8xf32>) -> tensor<8x{t}>
    %1 = stablehlo.negate %0 : tensor<8x{t}>
    return %1 : tensor<8x{t}>
  }}
  func.func private @rest(%arg0: tensor<8xf32>) -> tensor<8x{t}> {{
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    {convert}
    return {last} : tensor<8x{t}>
  }}
}}
"""


def test_a_call_has_the_type_that_its_function_returns() -> None:
    convert = "%1 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xbf16>"
    old = CALLED.format(t="f32", convert="", last="%0")
    found = diff(read_text(old), read_text(CALLED.format(t="bf16", convert=convert, last="%1")))
    assert story(found) == [
        "added convert", "  changed negate element_type", "  changed func.call element_type",
    ]  # fmt: skip


PERMUTED = """
fused {{
  p = f32[8]{{0}} parameter(0)
  {negate}
  a = f32[8]{{0}} sine({of})
  b = pred[8]{{0}} compare(p, p), direction=LT
  ROOT t = {types} tuple({results})
}}

ENTRY main {{
  x = f32[8]{{0}} parameter(0)
  f = {types} fusion(x), kind=kLoop, calls=fused
  s = f32[8]{{0}} get-tuple-element(f), index={first}
  u = pred[8]{{0}} get-tuple-element(f), index={second}
  ROOT r = (f32[8]{{0}}, pred[8]{{0}}) tuple(s, u)
}}
"""


def test_results_in_another_order_follow_from_what_else_changed_before_them() -> None:
    old = PERMUTED.format(negate="", of="p", types="(f32[8]{0}, pred[8]{0})", results="a, b", first=0, second=1)
    new = PERMUTED.format(
        negate="n = f32[8]{0} negate(p)", of="n", types="(pred[8]{0}, f32[8]{0})", results="b, a", first=1, second=0
    )
    found = compare(old, new)
    assert [row for row in story(found) if not row.startswith(" ")] == ["added negate"]
    assert not any(edit.is_weak for edit in found.edits)


SCATTER = """module @m {{
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<2x1xi32>, %arg2: tensor<2xf32>) -> tensor<8x{t}> {{
    %c = stablehlo.constant dense<1> : tensor<2x1xi32>
    {convert}
    %0 = stablehlo.add %arg1, %c : tensor<2x1xi32>
    %1 = "stablehlo.scatter"({x}, %0, {y}) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
    ^bb0(%a: tensor<{t}>, %b: tensor<{t}>):
      %2 = stablehlo.add %a, %b : tensor<{t}>
      stablehlo.return %2 : tensor<{t}>
    }}) : (tensor<8x{t}>, tensor<2x1xi32>, tensor<2x{t}>) -> tensor<8x{t}>
    return %1 : tensor<8x{t}>
  }}
}}
"""


def test_both_parameters_of_a_scatter_have_the_type_of_its_values() -> None:
    """The second one is an update, the third operand; between both are indices."""
    convert = "\n    ".join(
        f"%{name} = stablehlo.convert %arg{n} : (tensor<{size}xf32>) -> tensor<{size}xbf16>"
        for name, n, size in (("x", 0, 8), ("y", 2, 2))
    )
    old = SCATTER.format(t="f32", convert="", x="%arg0", y="%arg2")
    found = diff(read_text(old), read_text(SCATTER.format(t="bf16", convert=convert, x="%x", y="%y")))
    assert {row for row in story(found) if not row.startswith(" ")} == {"added convert"}


MAXIMUM = """module @m {{
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x{t}> {{
    {convert}
    %c = stablehlo.constant dense<{least}> : tensor<{t}>
    %0 = stablehlo.reduce({x} init: %c) applies stablehlo.maximum across dimensions = [1] :
      (tensor<8x4x{t}>, tensor<{t}>) -> tensor<8x{t}>
    %1 = stablehlo.exponential %0 : tensor<8x{t}>
    return %1 : tensor<8x{t}>
  }}
}}
"""


@pytest.mark.parametrize(
    ("kind", "least", "roots"),
    [
        ("bf16", "0xFF80", {"added convert"}),
        ("f16", "0xFC00", {"added convert"}),
        ("f64", "0xFFF0000000000000", {"added convert"}),
        ("bf16", "0x7F80", {"added convert", "changed constant element_type,literal"}),
        ("bf16", "0.000000e+00", {"added convert", "changed constant element_type,literal"}),
    ],
)
def test_an_infinity_has_the_type_of_the_values_of_which_it_bounds_the_maximum(
    kind: str, least: str, roots: set[str]
) -> None:
    convert = f"%x = stablehlo.convert %arg0 : (tensor<8x4xf32>) -> tensor<8x4x{kind}>"
    old = MAXIMUM.format(t="f32", convert="", least="0xFF800000", x="%arg0")
    found = diff(read_text(old), read_text(MAXIMUM.format(t=kind, convert=convert, least=least, x="%x")))
    assert {row for row in story(found) if not row.startswith(" ")} == roots


CARRIED = """module @m {{
  func.func public @main(%w: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) {{
    %c = stablehlo.constant dense<0> : tensor<i32>
{before}
    %0:3 = stablehlo.while(%i = %c, %x = {first}, %y = {second}) : tensor<i32>, {types}
    cond {{
      %n = stablehlo.constant dense<5> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      %k = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %i, %k : tensor<i32>
      stablehlo.return %2, %x, %y : tensor<i32>, {types}
    }}
    %w1 = stablehlo.tanh %0#{w} : tensor<4xf32>
    %b1 = stablehlo.sine %0#{b} : tensor<2xf32>
    return %w1, %b1 : tensor<4xf32>, tensor<2xf32>
  }}
}}
"""


def test_values_that_a_loop_carries_in_another_order_follow_from_what_changed_the_loop() -> None:
    casts = """    %d = stablehlo.convert %w : (tensor<4xf32>) -> tensor<4xbf16>
    %e = stablehlo.convert %d : (tensor<4xbf16>) -> tensor<4xf32>"""
    old = CARRIED.format(before="", first="%w", second="%b", types="tensor<4xf32>, tensor<2xf32>", w=1, b=2)
    new = CARRIED.format(before=casts, first="%b", second="%e", types="tensor<2xf32>, tensor<4xf32>", w=2, b=1)
    found = diff(read_text(old), read_text(new))
    assert [edit.kind for edit in found.edits if edit.cause is None] == ["added", "added"]


COUNTED = """HloModule m

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8] get-tuple-element(%p), index=1
  %one = s32[] constant(1)
  %j = s32[] add(%i, %one)
  %y = f32[8] sine(%x)
  ROOT %t = (s32[], f32[8]) tuple(%j, %y)
}

%condition (p: (s32[], f32[8])) -> pred[] {
  %p = (s32[], f32[8]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %n = s32[] constant(4)
  ROOT %c = pred[] compare(%i, %n), direction=LT
}

ENTRY %e {
  %x = f32[8] parameter(0)
  %z = s32[] constant(0)
  %t = (s32[], f32[8]) tuple(%z, %x)
  %w = (s32[], f32[8]) while(%t), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"4"}}
  ROOT %r = f32[8] get-tuple-element(%w), index=1
}
"""


def test_how_often_a_loop_turns_follows_from_the_number_in_its_condition() -> None:
    fewer = COUNTED.replace('"n":"4"', '"n":"3"')
    found = diff(read_text(COUNTED), read_text(fewer.replace("constant(4)", "constant(3)")))
    assert {edit.fields: edit.cause for edit in found.reported} == {("literal",): None, ("backend_config",): 0}
    # Where nothing in the condition differs, the note is an edit of its own.
    alone = diff(read_text(COUNTED), read_text(fewer.replace("sine", "cosine")))
    assert {edit.fields: edit.cause for edit in alone.reported} == {("opcode",): None, ("backend_config",): None}


_DROPPED = """#line = loc("jit(f)/drop"("model.py":5:0))
module {{
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xui32>) -> tensor<8xf32> {{
    %0 = func.call @drawn(%arg1) : (tensor<8xui32>) -> tensor<8xi1> loc(#line)
    %1 = func.call @kept(%0, %arg0) : (tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32> loc(#line)
    %2 = stablehlo.sine %1 : tensor<8xf32>
    {again}
    %5 = func.call @kept(%{of}, %2) : (tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32> loc(#line)
    return %5 : tensor<8xf32>
  }}
  func.func private @drawn(%arg0: tensor<8xui32>) -> tensor<8xi1> {{
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<8xui32>
    %1 = stablehlo.compare LT, %0, %arg0 : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi1>
    return %1 : tensor<8xi1>
  }}
  func.func private @kept(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = stablehlo.select %arg0, %arg1, %arg1 : tensor<8xi1>, tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
}}
"""


def test_a_call_that_computes_arrays_has_a_cause_of_its_own() -> None:
    again = """%3 = stablehlo.optimization_barrier %arg1 : tensor<8xui32> loc(#line)
    %4 = func.call @drawn(%3) : (tensor<8xui32>) -> tensor<8xi1> loc(#line)"""
    old, new = (read_text(_DROPPED.format(again=more, of=of)) for more, of in (("", 0), (again, 4)))
    for one, other in ((old, new), (new, old)):
        edits = [edit for edit in diff(one, other).reported if edit.kind in ("added", "removed")]
        (call,) = (edit for edit in edits if (site := edit.new or edit.old) and site.opcode == "func.call")
        assert call.cause is None


SAVING_LOOP = """module @m {{
  func.func public @main(%arg0: tensor<4xf32>) -> ({results}) {{
    %c = stablehlo.constant dense<0> : tensor<i32>
    {first}
    %0:{count} = stablehlo.while({carried}) : tensor<i32>, {results}
    cond {{
      %n = stablehlo.constant dense<9> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      %2 = stablehlo.tanh %h : tensor<4xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %i, %one : tensor<i32>
      {write}
      stablehlo.return %3, {turned} : tensor<i32>, {results}
    }}
    return {returned} : {results}
  }}
}}
"""


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_value_that_a_loop_no_longer_saves_is_the_cause_of_all_that_handed_it_on(is_mirrored: bool) -> None:
    saved = "tensor<9x4xf32>"
    write = f"""%row = stablehlo.reshape %2 : (tensor<4xf32>) -> tensor<1x4xf32>
      %5 = stablehlo.dynamic_update_slice %y, %row, %i, %c :
        ({saved}, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> {saved}"""
    first = f"""%zero = stablehlo.constant dense<0.0> : tensor<f32>
    %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> {saved}"""
    whole = SAVING_LOOP.format(
        results=f"tensor<4xf32>, {saved}", first=first, count=3, carried="%i = %c, %h = %arg0, %y = %z", write=write,
        turned="%2, %5", returned="%0#1, %0#2",
    )  # fmt: skip
    less = SAVING_LOOP.format(
        results="tensor<4xf32>", first="", count=2, carried="%i = %c, %h = %arg0", write="", turned="%2",
        returned="%0#1",
    )  # fmt: skip
    found = diff(*map(read_text, (less, whole) if is_mirrored else (whole, less)))
    assert [(edit.old or edit.new).opcode for edit in found.edits if edit.cause is None] == ["dynamic_update_slice"]  # type: ignore[union-attr]


_CALLS = """#index = loc("jit(f)/jit(index)"("model.py":5:0))
#choose = loc("jit(f)/jit(choose)"("model.py":5:0))
#line = loc("jit(f)/neg"("model.py":5:0))
module {{
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    {body}
    %9 = stablehlo.negate %{last} : tensor<8xf32> loc(#line)
    return %9 : tensor<8xf32>
  }}
  func.func private @index(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
  func.func private @choose(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = stablehlo.tanh %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
}}
"""


def test_calls_of_two_functions_are_two_changes() -> None:
    rows = [
        f"%{n} = func.call @{name}(%{n - 1 if n else 'arg0'}) : (tensor<8xf32>) -> tensor<8xf32> loc(#{name})"
        for n, name in enumerate(["index", "choose", "index"])
    ]
    old = read_text(_CALLS.format(body="\n    ".join(rows), last="2"))
    new = read_text(_CALLS.format(body="", last="arg0"))
    calls = [edit for edit in diff(old, new).reported if edit.old and edit.old.opcode == "func.call"]
    assert {(edit.kind, edit.count, edit.op_name) for edit in calls} == {
        ("removed", 2, "jit(f)/jit(index)"), ("removed", 1, "jit(f)/jit(choose)")
    }  # fmt: skip


_SAVING = """#loop = loc("jit(f)/while"("model.py":5:0))
#save = loc("jit(f)/while/body/jit(save)"("model.py":5:0))
module {{
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) -> tensor<4xf32> {{
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:{count} = stablehlo.while({carried}) : {types}
    cond {{
      %n = stablehlo.constant dense<4> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      {body}
      %3 = stablehlo.sine %x : tensor<4xf32>
      stablehlo.return %i, %3{returned} : {types}
    }} loc(#loop)
    return %0#1 : tensor<4xf32>
  }}
  func.func private @save(%arg0: tensor<4xf32>, %arg1: tensor<i32>) -> tensor<4xf32> {{
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.reshape %0 : (tensor<f32>) -> tensor<1xf32>
    %2 = stablehlo.dynamic_update_slice %arg0, %1, %arg1 : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }}
  func.func private @save_whole(%arg0: tensor<4xi32>, %arg1: tensor<i32>) -> tensor<4xi32> {{
    %1 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.dynamic_update_slice %arg0, %1, %arg1 : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
    return %2 : tensor<4xi32>
  }}
}}
"""


def test_all_calls_of_one_function_at_one_line_are_causes_or_none_is() -> None:
    carried, types = "%i = %c, %x = %arg0", "tensor<i32>, tensor<4xf32>"
    more = ", %a = %arg0, %b = %arg1", ", tensor<4xf32>, tensor<4xi32>"
    body = """%4 = func.call @save(%a, %i) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32> loc(#save)
      %5 = func.call @save_whole(%b, %i) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32> loc(#save)"""
    old = read_text(
        _SAVING.format(count=4, carried=carried + more[0], types=types + more[1], body=body, returned=", %4, %5")
    )
    new = read_text(_SAVING.format(count=2, carried=carried, types=types, body="", returned=""))
    for one, other in ((old, new), (new, old)):
        calls = [e for e in diff(one, other).reported if (site := e.old or e.new) and site.opcode == "func.call"]
        assert [edit.cause is None for edit in calls] == [True, True]


SHARED_BODY = """HloModule m

%product {
  %x = f32[8,8]{1,0} parameter(0)
  %y = f32[8,8]{1,0} parameter(1)
  ROOT %d = f32[8,8]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

%chosen {
  %a = f32[8,8]{1,0} parameter(0)
  %b = pred[8,8]{1,0} parameter(1)
  %z = f32[] constant(0)
  %w = f32[8,8]{1,0} broadcast(%z), dimensions={}
  ROOT %s = f32[8,8]{1,0} select(%b, %a, %w)
}

ENTRY e {
  %p = f32[8,8]{1,0} parameter(0)
  %q = f32[8,8]{1,0} parameter(1)
  %m = pred[8,8]{1,0} parameter(2)
  %f = f32[8,8]{1,0} fusion(%p, %q), kind=kCustom, calls=%product
  %n = f32[8,8]{1,0} negate(%f)
  %g = f32[8,8]{1,0} fusion(%n, %m), kind=kLoop, calls=%chosen
  %h = f32[8,8]{1,0} tanh(%g)
  ROOT %t = (f32[8,8]{1,0}, pred[8,8]{1,0}) tuple(%h, %m)
}
"""


def test_a_shared_body_that_another_call_runs_follows_from_that_call() -> None:
    """The line of what is in it is that of the first call, and its work is what the other one brought."""
    choice = "fusion(%n, %m), kind=kLoop, calls=%chosen"
    new = SHARED_BODY.replace(choice, "fusion(%n, %q), kind=kCustom, calls=%product")
    new = new[: new.index("%chosen")] + new[new.index("ENTRY") :]
    found = diff(read_text(SHARED_BODY), read_text(new))
    causes = {
        (edit.kind, site.name): None if edit.cause is None else found.reported[edit.cause].kind
        for edit in found.reported
        if (site := edit.new or edit.old) is not None
    }
    assert causes["added", "g"] is None and causes["removed", "g"] is None
    assert causes["added", "d"] == "added" and causes["removed", "s"] == "removed"
