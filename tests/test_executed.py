"""Executed numbers: what one call of a program does, by hand. `test_numbers` holds them against runs that count."""

from __future__ import annotations

from pathlib import Path

import pytest

import hlodiff
from hlodiff.differ import ExecutedCount, executed, format_loops, runs
from hlodiff.hlo import Module, read, read_hlo, read_text
from hlodiff.normalizer import to_text
from tests.test_turns import copies, loop

ROOT = Path(__file__).resolve().parent.parent


def values(module: Module) -> dict[str, int | None]:
    return {name: number.exact for name, number in executed(module).items()}


def test_layers_in_a_loop_do_what_their_copies_do() -> None:
    for target in ("cpu", "cuda-h100-x4", "tpu-v5e-2x2"):
        for file in ("stablehlo.mlir", "compiled.hlo"):
            one, many = (
                values(read(ROOT / "snapshots" / n / target / file)) for n in ("stack_scanned", "stack_unrolled")
            )
            assert one["flops"] is not None and many["flops"] is not None
            assert one["flops"] == pytest.approx(many["flops"], rel=0.05), (target, file)


def test_a_loop_multiplies_and_its_condition_is_asked_once_more_where_xla_does_not_count() -> None:
    found = values(read_hlo(loop(inside=1, outside=2, turns=5)))
    assert (found["collectives.all-reduce"], found["collective_bytes.all-reduce"]) == (7, 7 * 32)
    assert values(read_hlo(copies(7)))["collectives.all-reduce"] == 7
    for known, asked in ((True, 0), (False, 6)):
        module = read_hlo(loop(turns=5, known=known))
        by_name = {c.name: number.exact for c, number in zip(module.computations, runs(module), strict=True)}
        assert (by_name["cond"], by_name["body"], by_name["main"]) == (asked, 5, 1)


def test_a_scan_of_chlo_runs_its_body_for_each_element() -> None:
    """JAX lowers `cumsum` to it for GPUs from 0.11 on."""
    text = """module @m {
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) -> tensor<8x4xf32> {
    %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=0 attributes {is_reverse = false} {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %1 = stablehlo.add %a, %b : tensor<4xf32>
      stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
    } : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    return %0#0 : tensor<8x4xf32>
  }
}
"""
    twice = "%b, %b : tensor<4xf32>\n      %2 = stablehlo.multiply %1, %1 : tensor<4xf32>"
    other = text.replace("%a, %b : tensor<4xf32>", twice).replace("return %1, %1", "return %2, %2")
    old, new = read_text(text, path="old.mlir"), read_text(other, path="new.mlir")
    assert (executed(old)["flops"].exact, executed(new)["flops"].exact) == (8 * 4, 2 * 8 * 4)
    assert to_text(read_text(to_text(old), path="old.mlir")) == to_text(old), "what is recorded parses"
    (added,) = (edit for edit in hlodiff.diff(old, new).edits if edit.kind == "added")
    assert added.cost is not None and added.cost[1] is not None and added.cost[1].flops == 8 * 4


UNKNOWN = loop(inside=3, outside=2, known=False).replace("direction=LT", "direction=EQ")


def test_a_loop_of_unknown_turns_is_counted_per_turn() -> None:
    number = executed(read_hlo(UNKNOWN))["collectives.all-reduce"]
    ((turning, least, most),) = number.per_turn
    assert (number.exact, number.bounds, least, most) == (None, (2, None), 3, 3)
    assert turning.words() == "the loop %w"
    assert number.to_json() == {"at_least": 2, "at_most": None, "per_turn": {"w": 3}}
    more = executed(read_hlo(UNKNOWN.replace("ROOT %n = f32[8]{0} negate", "ROOT %n = f32[8]{0} cosine")))
    assert number.compares_with(more["collectives.all-reduce"]), "the same loop, turn by turn"
    assert not number.compares_with(executed(read_hlo(loop(inside=3)))["collectives.all-reduce"])
    assert not number.compares_with(
        executed(read_hlo(UNKNOWN.replace("direction=EQ", "direction=GE")))["collectives.all-reduce"]
    )


BRANCHES = """HloModule m

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}

%one (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} all-reduce(%a), replica_groups={{0,1}}, to_apply=%sum
  ROOT %c = f32[8]{0} tanh(%b)
}

%two (d: f32[8]) -> f32[8] {
  %d = f32[8]{0} parameter(0)
  %e = f32[8]{0} all-reduce(%d), replica_groups={{0,1}}, to_apply=%sum
  %f = f32[8]{0} copy(%e)
  ROOT %g = f32[8]{0} tanh(%f)
}

ENTRY %main (i: pred[], p: f32[8]) -> f32[8] {
  %i = pred[] parameter(0)
  %p = f32[8]{0} parameter(1)
  ROOT %r = f32[8]{0} conditional(%i, %p, %p), true_computation=%one, false_computation=%two
}
"""


def test_one_branch_runs_so_what_both_do_is_known_and_the_rest_is_a_range() -> None:
    found = executed(read_hlo(BRANCHES))
    assert found["collectives.all-reduce"] == ExecutedCount(1, 1)
    assert found["flops"] == ExecutedCount(16, 16), "8 of the reduction, 8 of tanh"
    assert found["copies"] == ExecutedCount(0, 1) and found["copies"].to_json() == {"at_least": 0, "at_most": 1}
    assert [number.bounds for number in runs(read_hlo(BRANCHES))[1:]] == [(0, 1), (0, 1), (1, 1)]


def test_nested_loops_multiply_and_an_unknown_one_around_them_does_not_hide_them() -> None:
    """`w` turns five times in every turn of a loop that nobody knows."""
    inner = loop(inside=2, outside=0, turns=5).replace("ENTRY %main", "%inner").replace("HloModule m\n", "")
    outer = (
        "%going (q: f32[8]) -> pred[] {\n  %q = f32[8]{0} parameter(0)\n"
        '  ROOT %more = pred[] custom-call(%q), custom_call_target="more"\n}\n\n'
        "ENTRY %top (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n"
        "  ROOT %o = f32[8]{0} while(%x), condition=%going, body=%inner\n}\n"
    )
    number = executed(read_hlo(f"HloModule m\n{inner}\n{outer}"))["collectives.all-reduce"]
    assert (number.bounds, [(one.name, low, high) for one, low, high in number.per_turn]) == (
        (0, None),
        [("o", 10, 10)],
    )
    asked = executed(read_hlo(f"HloModule m\n{inner}\n{outer}"))["custom_calls.more"]
    assert asked.least == 1 and asked.per_turn[0][1:] == (1, 1)


def test_an_early_end_makes_a_range() -> None:
    text = loop(turns=8, known=False).replace(
        "  ROOT %l = pred[] compare(%i, %n), direction=LT",
        '  %l = pred[] compare(%i, %n), direction=LT\n  %f = pred[] custom-call(%c), custom_call_target="more"\n'
        "  ROOT %b = pred[] and(%l, %f)",
    )
    assert format_loops(read_hlo(text)) == ["unknown"]
    assert executed(read_hlo(text))["collectives.all-reduce"].bounds == (2, 10)


@pytest.mark.parametrize(
    ("change", "turns"),
    [
        (("constant(2)\n  ROOT", "constant(9)\n  ROOT"), 9),
        (("direction=LT", "direction=LE"), 3),
        (("%zero = s32[] constant(0)", "%zero = s32[] constant(1)"), 1),
        (("%next = s32[] add(%k, %one)", "%wide = s64[] convert(%k)\n  %next = s32[] add(%wide, %one)"), 2),
        (("%next = s32[] add(%k, %one)", "%twice = s32[] add(%k, %one)\n  %next = s32[] add(%twice, %one)"), 1),
        (("compare(%i, %n)", "compare(%n, %i)"), None),
        (("%next = s32[] add(%k, %one)", "%next = s32[] multiply(%k, %one)"), None),
        (("direction=LT", "direction=GT"), None),
    ],
)
def test_what_a_program_says_of_its_turns(change: tuple[str, str], turns: int | None) -> None:
    module = read_hlo(loop(known=False).replace(*change))
    assert format_loops(module) == ["unknown" if turns is None else str(turns)]


def test_all_targets_know_the_loops_that_stablehlo_knows() -> None:
    for name, turns in {"stack_scanned": "6", "recurrence": "32", "lstm_gradient": "12 (2 loops)"}.items():
        for path in sorted((ROOT / "snapshots" / name).glob("*/*.[hm]l*")):
            assert format_loops(read(path)) == [turns], path


def test_a_call_that_nests_without_end_is_no_number() -> None:
    body = "".join(
        f"%c{n} (x: f32[8]) -> f32[8] {{\n  %x = f32[8]{{0}} parameter(0)\n"
        + (f"  %a = f32[8]{{0}} call(%x), to_apply=%c{n - 1}\n" if n else "  %a = f32[8]{0} copy(%x)\n")
        + (
            f"  ROOT %b = f32[8]{{0}} call(%a), to_apply=%c{n - 1}\n}}\n\n"
            if n
            else "  ROOT %b = f32[8]{0} copy(%a)\n}\n\n"
        )
        for n in range(70)
    )
    root = "  ROOT %r = f32[8]{0} call(%p), to_apply=%c69\n}"
    entry = f"ENTRY %e (p: f32[8]) -> f32[8] {{\n  %p = f32[8]{{0}} parameter(0)\n{root}"
    number = executed(read_text(f"HloModule m\n\n{body}{entry}\n"))["copies"]
    assert number.exact is None and number.bounds[1] is None


UPDATED = """HloModule m

%stacked (a: f32[32,16], b: f32[1,16], i: s32[]) -> f32[32,16] {
  %a = f32[32,16]{1,0} parameter(0)
  %b = f32[1,16]{1,0} parameter(1)
  %i = s32[] parameter(2)
  %z = s32[] constant(0)
  %t = f32[1,16]{1,0} tanh(%b)
  ROOT %u = f32[32,16]{1,0} dynamic-update-slice(%a, %t, %i, %z)
}

%taken (c: f32[32,16], j: s32[]) -> f32[1,16] {
  %c = f32[32,16]{1,0} parameter(0)
  %j = s32[] parameter(1)
  %y = s32[] constant(0)
  %d = f32[1,16]{1,0} dynamic-slice(%c, %j, %y), dynamic_slice_sizes={1,16}
  ROOT %n = f32[1,16]{1,0} negate(%d)
}

ENTRY %main (p: f32[32,16], k: s32[]) -> f32[32,16] {
  %p = f32[32,16]{1,0} parameter(0)
  %k = s32[] parameter(1)
  %f = f32[1,16]{1,0} fusion(%p, %k), kind=kLoop, calls=%taken
  ROOT %g = f32[32,16]{1,0} fusion(%p, %f, %k), kind=kLoop, calls=%stacked
}
"""


def test_fusions_that_slice_or_update_in_place_move_only_the_slice() -> None:
    found = values(read_hlo(UPDATED))
    assert (found["bytes_read"], found["bytes_written"]) == (64 + 4 + 64 + 4, 64 + 64)
    assert (found["bytes_accessed"], found["launches"], found["flops"]) == (264, 2, 32)
    assert ExecutedCount().exact == 0


STEPPED = """HloModule m

%begun {
  %p = bf16[64]{0} parameter(0)
  %g = bf16[256]{0} all-gather(%p), channel_id=1, dimensions={0}, replica_groups={{0,1,2,3}}, @
  ROOT %s = (bf16[64]{0}, bf16[256]{0}, u32[]) custom-call(%g), custom_call_target="AsyncCollectiveStart"
}

%step {
  %x = f32[32]{0} parameter(0)
  %p = bf16[64]{0} parameter(1)
  %q = bf16[256]{0} parameter(2)
  %u = u32[] parameter(3)
  %t = f32[32]{0} tanh(%x)
  %g = bf16[256]{0} all-gather(%p), channel_id=1, dimensions={0}, replica_groups={{0,1,2,3}}, @
  ROOT %r = (f32[32]{0}, bf16[64]{0}, bf16[256]{0}, bf16[256]{0}, u32[]) tuple(%t, %p, %q, %g, %u)
}

%ended {
  %p = bf16[64]{0} parameter(0)
  %q = bf16[256]{0} parameter(1)
  %u = u32[] parameter(2)
  %g = bf16[256]{0} all-gather(%p), channel_id=1, dimensions={0}, replica_groups={{0,1,2,3}}, @
  ROOT %d = bf16[256]{0} custom-call(%p, %q, %g, %u), custom_call_target="AsyncCollectiveDone"
}

ENTRY %main {
  %w = bf16[64]{0} parameter(0)
  %x = f32[32]{0} parameter(1)
  %b = (bf16[64]{0}, bf16[256]{0}, u32[]) fusion(%w), kind=kCustom, calls=%begun, alias={{0}: (0, {})}
  %b0 = bf16[64]{0} get-tuple-element(%b), index=0
  %b1 = bf16[256]{0} get-tuple-element(%b), index=1
  %b2 = u32[] get-tuple-element(%b), index=2
  %c = (f32[32], bf16[64], bf16[256], bf16[256], u32[]) fusion(%x, %b0, %b1, %b2), kind=kLoop, calls=%step, KEPT
  %c0 = f32[32]{0} get-tuple-element(%c), index=0
  %c1 = bf16[64]{0} get-tuple-element(%c), index=1
  %c2 = bf16[256]{0} get-tuple-element(%c), index=2
  %c4 = u32[] get-tuple-element(%c), index=4
  %e = bf16[256]{0} fusion(%c1, %c2, %c4), kind=kCustom, calls=%ended, alias={{}: (1, {})}
  ROOT %r = (bf16[256]{0}, f32[32]{0}) tuple(%e, %c0)
}
"""
CONFIG = 'frontend_attributes={chain_id="0"}, backend_config={"async_collective_fusion_config":{"flag_end":"8"}}'
KEPT = "alias={{1}: (1, {}), {2}: (2, {}), {3}: (2, {}), {4}: (3, {})}"
STEPPED = STEPPED.replace("@", CONFIG).replace("KEPT", KEPT).replace("alias=", "output_to_operand_aliasing=")


def test_the_steps_of_a_collective_on_a_tpu_move_its_data_once() -> None:
    """The first step reads the operand, makes the result and a mark; others compute beside it and hand both through."""
    found = values(read_hlo(STEPPED))
    assert (found["bytes_read"], found["bytes_written"]) == (128 + 128, 512 + 4 + 128)


def test_a_fusion_that_returns_its_operand_in_another_buffer_copies_it() -> None:
    copied = STEPPED.replace("{1}: (1, {}), ", "").replace("{4}: (3, {})", "{5}: (3, {})")
    found = values(read_hlo(copied))
    assert (found["bytes_read"], found["bytes_written"]) == (2 * 128 + 128 + 4, 512 + 4 + 128 + 128 + 4)
