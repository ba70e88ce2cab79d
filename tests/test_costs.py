"""What an edit costs: operations and bytes from shapes, as often as it runs; compilers agree on the operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff import read, read_text
from hlodiff.differ import Cost, Edit, ModuleDiff, Site, UncountedLoop, diff, executed, static_costs
from hlodiff.hlo import Computation, read_hlo
from tests.scenarios import compare
from tests.shown import PROGRAM, changes

SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots"

LOOP = """
cond (p: (s32[], f32[64,64])) -> pred[] {
  p = (s32[], f32[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(6)
  ROOT l = pred[] compare(i, n), direction=LT
}

body (q: (s32[], f32[64,64])) -> (s32[], f32[64,64]) {
  q = (s32[], f32[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[64,64]{1,0} get-tuple-element(q), index=1
  d = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[64,64]{1,0}) tuple(next, d)
}

ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[64,64]{1,0}) tuple(z, x)
  w = (s32[], f32[64,64]{1,0}) while(s), condition=cond, body=body, backend_config={"known_trip_count":{"n":"6"}}
  ROOT o = f32[64,64]{1,0} get-tuple-element(w), index=1
}
"""


def only(old: str, new: str) -> Edit:
    (edit,) = (edit for edit in compare(old, new).edits if edit.cause is None)
    return edit


def cost_of(*costs: tuple[Cost | None, Cost | None]) -> str:
    """What edits of one line cost together, as a list has it."""
    site = Site(0, 0, "main", "a", "add", "%a = f32[] add()")
    edits = tuple(Edit("changed", ("shape",), sites=((site, site),), cost=cost) for cost in costs)
    (change,) = changes(ModuleDiff(PROGRAM, PROGRAM, edits))
    return change.cost


def test_a_dot_in_a_loop_counts_as_often_as_the_loop_turns() -> None:
    dims = "rhs_contracting_dims={0}"
    edit = only(LOOP, LOOP.replace(dims, f"{dims}, operand_precision={{highest,highest}}"))
    size = 64 * 64 * 4
    one = Cost(runs=6, flops=6 * 2 * 64**3, read=6 * 2 * size, written=6 * size)
    assert edit.fields == ("precision",)
    assert edit.cost == (one, one)
    unstated = LOOP.replace(', backend_config={"known_trip_count":{"n":"6"}}', "")
    edit = only(unstated, unstated.replace(dims, "rhs_contracting_dims={1}"))
    assert edit.cost and edit.cost[0] == one, "the condition says it too"
    unknown = unstated.replace("direction=LT", "direction=EQ")
    edit = only(unknown, unknown.replace(dims, "rhs_contracting_dims={1}"))
    assert edit.cost and edit.cost[0] and [loop.words() for loop in edit.cost[0].loops] == ["the loop %w"]
    assert edit.cost[0].runs == 1 and edit.cost[0].to_json()["one_turn_of"] == ["w"]
    assert cost_of(edit.cost).endswith("KiB per turn of the loop %w")
    assert cost_of((edit.cost[0], None), (Cost(1, 128), None)).endswith(", counting one turn of the loop %w")


SHARED = """f {
  a = f32[8,8]{1,0} parameter(0)
  ROOT d = f32[8,8]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY main {
  x = f32[8,8]{1,0} parameter(0)
  b = f32[8,8]{1,0} fusion(x), kind=kLoop, calls=f
  c = f32[8,8]{1,0} fusion(b), kind=kLoop, calls=f
  ROOT r = f32[8,8]{1,0} negate(c)
}
"""


def test_of_a_body_that_several_fusions_share_only_the_new_calls_cost_more() -> None:
    more = SHARED.replace("ROOT r = f32[8,8]{1,0} negate(c)", "g = f32[8,8]{1,0} fusion(c), kind=kLoop, calls=f\n"
                          "  ROOT r = f32[8,8]{1,0} negate(g)")  # fmt: skip
    (dot,) = (edit for edit in compare(SHARED, more).edits if edit.new and edit.new.opcode == "dot")
    assert dot.kind == "added" and dot.cost == (None, Cost(1, 2 * 8**3))


CALLED = """module {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = func.call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = func.call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


@pytest.mark.parametrize("calls", [1, 2])
def test_of_a_function_only_the_calls_of_another_one_cost_something_else(calls: int) -> None:
    found = diff(read_text(CALLED), read_text(CALLED.replace("call @f", "call @g", calls)))
    (edit,) = (edit for edit in found.edits if "opcode" in edit.fields)
    assert [(cost.runs, cost.flops) for cost in edit.cost or () if cost] == [(calls, 8 * calls)] * 2


BODY = "a = f32[8,16]{1,0%s} parameter(0)\n  i = s32[] parameter(1)\n  %s\n  ROOT r = f32[8,16]{1,0} negate(%s)"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("k = f32[8,16]{1,0} tanh(a)", Cost(1, 128, 512, 512)),
        ("k = f32[8,16]{1,0} copy(a)", Cost(1, 0, 512, 512)),
        ("k = f32[8,16]{1,0:S(5)} copy(a)", Cost(1, 0, 512, 512, (("host", 512),))),
        ("k = f32[8,16]{1,0} dynamic-slice(a, i, i), dynamic_slice_sizes={8,16}", Cost(1, 0, 520, 512)),
        ('k = f32[8,16]{1,0} custom-call(a), custom_call_target="mine"', Cost(1, 0, 512, 512)),
    ],
)
def test_bytes_of_one_added_instruction(line: str, expected: Cost) -> None:
    edit = only(BODY % ("", "", "a"), BODY % ("", line, "k"))
    assert (edit.kind, edit.cost) == ("added", (None, expected))


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (("k = bf16[8,16] slice(p), slice={[0:8], [0:16]}",), 512),  # a TPU casts what it slices; it reads float32
        (("t = f32[16,24] transpose(p), dimensions={1,0}", "k = f32[16,4] slice(t), slice={[0:16], [0:4]}"), 256),
        (("c = bf16[24,16] convert(p)", "k = bf16[4,16] slice(c), slice={[0:4], [0:16]}"), 256),
        (("d = f32[24,16] multiply(p, p)", "k = f32[4,16] slice(d), slice={[4:8], [0:16]}"), 256),
        (("d = f32[24,16] tanh(p)", "k = f32[] reduce(d, z), dimensions={0,1}, to_apply=add"), 1536),
        (("d = f32[24,16,2] broadcast(p), dimensions={0,1}", "k = f32[4,16,2] slice(d), slice={[0:4]}"), 1536),
    ],
)  # fmt: skip
def test_a_fusion_reads_only_the_elements_that_it_needs(lines: tuple[str, ...], read: int) -> None:
    """Of an array that it transposes, casts or maps and then slices; what it sums or repeats it reads whole."""
    body = "".join(f"  {'ROOT ' if line is lines[-1] else ''}{line}\n" for line in lines)
    made = lines[-1].split()[2]
    text = (
        "HloModule m\n\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\n"
        f"fused {{\n  p = f32[24,16] parameter(0)\n  z = f32[] constant(0)\n{body}}}\n\n"
        f"ENTRY main {{\n  x = f32[24,16] parameter(0)\n  ROOT f = {made} fusion(x), kind=kLoop, calls=fused\n}}\n"
    )
    assert static_costs(read_text(text))["bytes_read"] == read


def test_inside_a_fusion_nothing_is_stored_and_a_removed_one_costs_on_the_old_side() -> None:
    text = (
        "fused (p: f32[8]) -> f32[8] {\n  p = f32[8]{0} parameter(0)\n  t = f32[8]{0} tanh(p)\n"
        "  ROOT n = f32[8]{0} negate(t)\n}\n\n"
        "ENTRY main {\n  x = f32[8]{0} parameter(0)\n  ROOT f = f32[8]{0} fusion(x), kind=kLoop, calls=fused\n}\n"
    )
    edit = only(text, text.replace("  t = f32[8]{0} tanh(p)\n", "").replace("negate(t)", "negate(p)"))
    assert edit.cost == (Cost(runs=1, flops=8), None)


def test_the_compilers_own_estimate_where_it_prints_one() -> None:
    text = (
        "ENTRY main {\n  x = f32[8]{0} parameter(0)\n"
        '  k = f32[8]{0} custom-call(x), custom_call_target="%s", '
        'backend_config={"window_config":{"estimated_cycles":"%s"}}\n'
        "  ROOT n = f32[8]{0} negate(k)\n}\n"
    )
    edit = only(text % ("one", 4300), text % ("two", 5100))
    assert edit.cost and [cost and cost.cycles for cost in edit.cost] == [4300, 5100]
    assert edit.to_json()["cost"]["new"]["estimated_cycles"] == 5100


@pytest.mark.parametrize("name", ["stack_unrolled", "mlp_gradient", "attention", "lstm_gradient"])
def test_compilers_that_spell_a_matrix_product_in_their_own_ways_agree_on_its_operations(name: str) -> None:
    found = {}
    for path in sorted((SNAPSHOTS / name).glob("*/*.*l*")):
        if path.name in ("stablehlo.mlir", "compiled.hlo"):
            found["/".join(path.parts[-2:])] = _products(path)
    assert len(found) == 6
    assert len(set(found.values())) == 1, found


def _products(path: Path) -> int:
    """Operations of all dots and convolutions, whatever else is counted; equal computations are stored once."""
    module = read(path)
    bare = next(it for it in module.entry_computation.instructions if it.opcode == "parameter")
    nothing = replace(module, computations=(Computation("main", (bare,), 0),), entry=0)
    return sum(
        edit.cost[1].flops
        for edit in diff(nothing, module).edits
        if edit.new and edit.new.opcode in ("dot", "dot_general", "convolution", "custom-call")
        if edit.cost and edit.cost[1]
    )


def flops(
    opcode: str,
    attributes: dict[str, str],
    operands: Sequence[tuple[int, ...]],
    result: tuple[int, ...],
    made: str = "{}",
) -> int:
    """Operations of one added instruction of f32."""

    def shape(sizes: tuple[int, ...]) -> str:
        return f"f32[{','.join(map(str, sizes))}]"

    rows = [f"  x{n} = {shape(one)} parameter({n})" for n, one in enumerate(operands)]
    given = "".join(f", {name}={value}" for name, value in attributes.items())
    names = ", ".join(f"x{n}" for n in range(len(operands)))
    added = f"  c = {made.format(shape(result))} {opcode}({names}){given}"
    root = f"  ROOT r = {shape(operands[0])} negate(x0)"
    old, new = ("\n".join(["ENTRY main {", *rows, *more, root, "}"]) for more in ((), (added,)))
    cost = only(old, new).cost
    assert cost and cost[1]
    return cost[1].flops


@pytest.mark.parametrize(
    ("attributes", "result", "expected"),
    [
        # batch 1, 3x3 kernel over 4x4 with padding 1: 100 of 144 pairs of places lie inside
        ({"window": "{size=3x3 pad=1_1x1_1}", "dim_labels": "b01f_01io->b01f"}, (1, 4, 4, 5), 2 * 100 * 2 * 5),
        ({"window": "{size=3x3}", "dim_labels": "b01f_01io->b01f"}, (1, 2, 2, 5), 2 * 36 * 2 * 5),
        ({"window": "{size=3x3 stride=2x2 pad=1_1x1_1}", "dim_labels": "b01f_01io->b01f"}, (1, 2, 2, 5), 500),
        (
            {
                "dimension_numbers": "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                "window": "{stride = [1, 1], pad = [[1, 1], [1, 1]]}",
                "attributes": "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}",
            },
            (1, 4, 4, 5), 2 * 100 * 2 * 5,
        ),
    ],
)  # fmt: skip
def test_a_convolution_counts_what_meets_no_padding(
    attributes: dict[str, str], result: tuple[int, ...], expected: int
) -> None:
    if "dim_labels" in attributes:
        assert flops("convolution", attributes, [(1, 4, 4, 2), (3, 3, 2, 5)], result) == expected
        return
    numbers, window, more = attributes.values()
    shape = f"tensor<{'x'.join(map(str, result))}xf32>"
    text = (
        "module @m {\n  func.func public @main(%x: tensor<1x4x4x2xf32>, %k: tensor<3x3x2x5xf32>)"
        " -> tensor<1x4x4x2xf32> {\n"
        f"    %0 = stablehlo.convolution(%x, %k) dim_numbers = {numbers}, window = {window} {more}"
        f" : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> {shape}\n    return %x : tensor<1x4x4x2xf32>\n  }}\n}}\n"
    )
    old, new = read_text("\n".join(row for row in text.split("\n") if "convolution" not in row)), read_text(text)
    (edit,) = diff(old, new).edits
    assert edit.cost and edit.cost[1] and edit.cost[1].flops == expected


@pytest.mark.parametrize(
    ("kind", "operands", "result"),
    [
        ("Forward", ((1, 4, 4, 2), (5, 3, 3, 2)), (1, 2, 2, 5)),
        ("BiasActivationForward", ((1, 4, 4, 2), (5, 3, 3, 2), (5,)), (1, 2, 2, 5)),
        ("BackwardInput", ((1, 2, 2, 5), (5, 3, 3, 2)), (1, 4, 4, 2)),
        ("BackwardFilter", ((1, 4, 4, 2), (1, 2, 2, 5)), (5, 3, 3, 2)),
        ("Other", ((1, 4, 4, 2), (5, 3, 3, 2)), None),
    ],
)
def test_a_convolution_of_cudnn_and_its_gradients_count_as_the_convolution(
    kind: str, operands: tuple[tuple[int, ...], ...], result: tuple[int, ...] | None
) -> None:
    """XLA writes labels and window of the convolution on its gradients too."""
    given = {"custom_call_target": f'"__cudnn$conv{kind}"', "dim_labels": "b01f_o01i->b01f", "window": "{size=3x3}"}
    found = flops("custom-call", given, operands, result or (1, 2, 2, 5), "({}, u8[0])")
    assert found == (2 * 36 * 2 * 5 if result else 0)


ODD = [
    ("?01f_01io->b01f", "{size=3x3}"),
    ("b01?_01io->b01f", "{size=3x3}"),
    ("b0?f_?1io->b01f", "{size=3x3}"),
    ("b01f_01??->b01f", "{size=3x3}"),
    ("b01f_01io->b01?", "{size=3x3}"),
    ("b02f_01io->b01f", "{size=3x3}"),
    ("b01f_01io->b01f", "{size=3x3 stride=0x0}"),
    ("b01f_01io->b01f", "{size=3x3 lhs_dilate=0x0}"),
    ("b01f_01io->b01f", "{size=3x3 stride=-x-}"),
]


@pytest.mark.parametrize(("labels", "window"), ODD)
def test_a_convolution_that_nobody_can_count_kills_no_diff(labels: str, window: str) -> None:
    text = (
        "ENTRY main {{\n  x = f32[1,4,4,2]{{3,2,1,0}} parameter(0)\n  k = f32[3,3,2,5]{{3,2,1,0}} parameter(1)\n"
        "  ROOT c = f32[1,2,2,5]{{3,2,1,0}} convolution(x, k), window={0}, dim_labels={1}{2}\n}}\n"
    )
    edit = only(
        text.format(window, labels, ", operand_precision={default,default}"),
        text.format(window, labels, ", operand_precision={highest,highest}"),
    )
    assert edit.fields == ("precision",)
    assert edit.cost is not None and edit.cost[1] is not None and edit.cost[1].flops == 0


@pytest.mark.parametrize("operation", ["stablehlo.multiply %arg0, %arg0 :", "chlo.square %arg0 : tensor<8xf32> ->"])
def test_a_square_counts_as_the_multiplication_that_it_is(operation: str) -> None:
    text = (
        "module {\nfunc.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {\n"
        f"  %0 = {operation} tensor<8xf32>\n  return %0 : tensor<8xf32>\n}}\n}}\n"
    )
    assert static_costs(read_text(text))["flops"] == 8


def test_a_clamp_counts_as_an_elementwise_operation_in_both_stages() -> None:
    compiled = read_text(
        "HloModule m\n\nENTRY e {\n  %a = f32[] parameter(0)\n  %p = f32[8] parameter(1)\n  %w = f32[8] broadcast(%a)\n"
        "  ROOT %c = f32[8] clamp(%w, %p, %w)\n}\n"
    )
    written = read_text(
        "module {\nfunc.func public @main(%arg0: tensor<f32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %0 = stablehlo.clamp %arg0, %arg1, %arg0 : (tensor<f32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>\n"
        "  return %0 : tensor<8xf32>\n}\n}\n"
    )
    assert [static_costs(module)["flops"] for module in (compiled, written)] == [8, 8]


def test_counting_a_huge_kernel_comes_to_an_end() -> None:
    attributes = {"window": f"{{size={10**9} lhs_dilate=2}}", "dim_labels": "b0f_0io->b0f"}
    assert flops("convolution", attributes, [(1, 10**9, 1), (10**9, 1, 1)], (1, 10**9, 1)) == 10**18


@pytest.mark.parametrize("start", ["fusion", "fusion-start"])
def test_an_update_in_place_writes_what_it_puts_there_also_in_an_asynchronous_fusion(start: str) -> None:
    """XLA for GPUs makes such fusions asynchronous from JAX 0.11 on."""
    shape = "((f32[20,8], f32[8], s32[]), f32[20,8], u32[])" if start == "fusion-start" else "f32[20,8]"
    done = "\n  ROOT d = f32[20,8] fusion-done(f)" if start == "fusion-start" else ""
    text = f"""HloModule m

%put (p: f32[20,8], q: f32[8], n: s32[]) -> f32[20,8] {{
  %p = f32[20,8] parameter(0)
  %q = f32[8] parameter(1)
  %b = f32[1,8] bitcast(%q)
  %n = s32[] parameter(2)
  %z = s32[] constant(0)
  ROOT %u = f32[20,8] dynamic-update-slice(%p, %b, %n, %z)
}}

ENTRY e {{
  p = f32[20,8] parameter(0)
  q = f32[8] parameter(1)
  n = s32[] parameter(2)
  {"" if done else "ROOT "}f = {shape} {start}(p, q, n), kind=kLoop, calls=%put{done}
}}
"""
    found = executed(read_hlo(text))
    assert [found[name].exact for name in ("bytes_read", "bytes_written", "launches")] == [8 * 4 + 4, 8 * 4, 1]


HELPERS = """module {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = func.call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32> loc("a.py":1:0)
    %1 = func.call @f(%0) : (tensor<8xf32>) -> tensor<8xf32> loc("a.py":2:0)
    %2 = func.call @f(%1) : (tensor<8xf32>) -> tensor<8xf32> loc("a.py":3:0)
    return %2 : tensor<8xf32>
  }
  func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = func.call @g(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


def _removed_flops(old: str, new: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for edit in diff(read_text(old), read_text(new)).edits:
        if edit.kind == "removed" and edit.old and edit.cost and edit.cost[0]:
            found[edit.old.opcode] += edit.cost[0].flops
    return +found


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_each_call_less_of_a_function_costs_what_the_function_does(kept: int) -> None:
    lines = HELPERS.splitlines()
    result = f"    return %{kept - 1 if kept else 'arg0'} : tensor<8xf32>"
    fewer = "\n".join([*lines[: 2 + kept], result, *lines[6:]])
    assert _removed_flops(HELPERS, fewer) == {"func.call": 16 * (3 - kept)}


def test_what_a_single_call_brought_keeps_its_own_cost() -> None:
    once = HELPERS.replace("@f(%0)", "@g(%0)").replace("@f(%1)", "@g(%1)")
    call = "func.call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>"
    without = once.replace(call, "stablehlo.negate %arg0 : tensor<8xf32>")
    # The function is gone with its only call; what it called has other calls.
    assert _removed_flops(once, without) == {"tanh": 8, "func.call": 8}


def _turning(is_inside: bool) -> str:
    """A loop with a value that is the same in each turn, computed in it or before it."""
    once = "%e = stablehlo.exponential %w : tensor<8x8xf32>\n  %k = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"  # noqa: E501
    outside, inside, given = ("", once.replace("%w", "%u"), "%w") if is_inside else (once, "", "%k")
    name = "%u" if is_inside else "%k_"
    return f"""module {{
func.func public @main(%w: tensor<8x8xf32>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  {outside}
  %c = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while({name} = {given}, %i = %c, %y = %x) : tensor<8x8xf32>, tensor<i32>, tensor<4x8xf32>
  cond {{
    %n = stablehlo.constant dense<5> : tensor<i32>
    %b = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %b : tensor<i1>
  }} do {{
    {inside}
    %p = stablehlo.dot_general %y, {"%k" if is_inside else "%k_"}, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %o : tensor<i32>
    stablehlo.return {name}, %j, %p : tensor<8x8xf32>, tensor<i32>, tensor<4x8xf32>
  }}
  return %l#2 : tensor<4x8xf32>
}}
}}"""  # noqa: E501


def test_what_moves_out_of_a_loop_moved_and_costs_less() -> None:
    inside, outside = (read_text(_turning(is_inside)) for is_inside in (True, False))
    for old, new in ((inside, outside), (outside, inside)):
        found = diff(old, new)
        assert found.replay().complete
        assert {(edit.kind, edit.cause) for edit in found.edits} == {("moved", None)}
        runs = {tuple(cost.runs for cost in edit.cost if cost) for edit in found.edits if edit.cost}
        assert runs == {(5, 1) if old is inside else (1, 5)}


BRANCHES = """
first {
  a = f32[64]{0} parameter(0)
  ROOT t = f32[64]{0} tanh(a)
}

second {
  b = f32[64]{0} parameter(0)
  ROOT c = f32[64]{0} cosine(b)
}

ENTRY main {
  p = pred[] parameter(0)
  x = f32[64]{0} parameter(1)
  ROOT r = f32[64]{0} conditional(p, x, x), true_computation=first, false_computation=second
}
"""


def test_work_of_a_branch_is_not_said_to_be_done_in_each_call() -> None:
    edit = only(BRANCHES, BRANCHES.replace("ROOT t = f32[64]{0} tanh(a)", "ROOT t = f32[64]{0} exponential(a)"))
    assert edit.cost and edit.cost[1] and edit.cost[1].to_json()["counts_every_branch"]
    assert cost_of(edit.cost).endswith(", counting every branch")
    unknown = UncountedLoop("", "w")
    assert cost_of((replace(edit.cost[1], loops=(unknown,)), None), (Cost(1, 8), None)).endswith(
        ", counting every branch and one turn of the loop %w"
    )
    assert "branch" not in cost_of((Cost(1, 8), None))


def test_an_outer_product_contracts_nothing_and_multiplies_all_the_same() -> None:
    """MLIR leaves out the empty lists, as XLA does."""
    assert flops("dot", {}, [(8,), (4,)], (8, 4)) == 2 * 8 * 4


def test_slices_that_were_prefetched_side_by_side_are_joined_by_their_name() -> None:
    """A TPU calls it `ConcatBitcast`: the slices are where the whole array is to be."""
    joined = 'custom-call(x0, x0), custom_call_target="ConcatBitcast"'
    old = "ENTRY main {\n  x0 = f32[8] parameter(0)\n  ROOT r = f32[8] negate(x0)\n}"
    new = old.replace("  ROOT", f"  c = f32[16] {joined}\n  ROOT")
    cost = only(old, new).cost
    assert cost and cost[1] and (cost[1].read, cost[1].written) == (0, 0)
