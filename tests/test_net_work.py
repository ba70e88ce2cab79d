"""What is listed first of a compiled program: what came or went, and not what the compiler arranged differently."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import jax
import jax.numpy as jnp
import pytest

from hlodiff.differ import Cost, Edit, ModuleDiff, ProgramComparison, Site, diff, with_compiler
from hlodiff.hlo import Frame, Module, read_text
from hlodiff.report import EditGroup, NetWork, Report, build_view, edit_groups_of, to_terminal
from tests.test_turns import compared, copies, loop

NAMES = re.compile(r" %[\w.]+")
WIDE = "f32[32,64]{1,0}"


def listed(*programs: ProgramComparison) -> list[str]:
    """The listed changes of the compiled program, in order."""
    (function,) = build_view(Report("diff", "a", "b", programs)).functions
    stages = [stage for stage in function.stages if stage.stage == "compiled"]
    return [f"{one.kind} {one.count} {one.what}" for stage in stages for line in stage.lines for one in line.changes]


def both(old: Module, new: Module) -> ProgramComparison:
    return ProgramComparison("f", "cpu", new.stage, "changed", diff(old, new))


def fused(body: str, main: str) -> Module:
    """A program with one fusion of some operations on `%p`, and operations on its result `%f`."""
    return read_text(
        f"HloModule m\n\n%fused {{\n  %p = {WIDE} parameter(0)\n{body}}}\n\n"
        f"ENTRY %main {{\n  %x = {WIDE} parameter(0)\n"
        f"  %f = {WIDE} fusion(%x), kind=kLoop, calls=%fused\n{main}}}\n"
    )


def test_collectives_that_left_a_loop_are_not_the_first_change() -> None:
    """A loop with an all-reduce in it became copies of its body: one call does as many."""
    first, *_ = listed(compared(loop(), copies(4)))
    assert first.startswith("removed 1 while")


def test_conversions_are_first_where_values_are_rounded_to_another_type() -> None:
    """A CPU multiplies no bfloat16: it converts before and after. A conversion costs no flops, unlike a negation."""

    def lowered(element: str) -> Module:
        here = f"tensor<32x64x{element}>"
        cast = f"    %c = stablehlo.convert %a : (tensor<32x64xf32>) -> {here}\n" if element != "f32" else ""
        back = f"    %w = stablehlo.convert %m : ({here}) -> tensor<32x64xf32>\n" if element != "f32" else ""
        value = "%c" if cast else "%a"
        return read_text(
            "module @f {\n  func.func public @main(%a: tensor<32x64xf32>) -> tensor<32x64xf32> {\n"
            f"{cast}    %m = stablehlo.multiply {value}, {value} : {here}\n{back}"
            f"    return {'%w' if back else '%m'} : tensor<32x64xf32>\n  }}\n}}\n"
        )

    product = "%d = f32[64,64]{1,0} dot(%f, %f), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    casts = "  %b = bf16[32,64]{1,0} convert(%p)\n  %w = f32[32,64]{1,0} convert(%b)\n"
    old = fused(f"  %n = {WIDE} negate(%p)\n  ROOT %m = {WIDE} multiply(%n, %p)\n", f"  ROOT {product}\n")
    new = fused(f"{casts}  ROOT %m = {WIDE} multiply(%w, %w)\n", f"  ROOT {product}\n")
    first, *_ = listed(both(lowered("f32"), lowered("bf16")), both(old, new))
    assert "convert" in first


def test_of_a_compiled_program_only_what_explains_its_numbers_is_listed() -> None:
    """The StableHLO says what was written: of four compiled changes the product alone is most of the flops."""

    def lowered(operation: str) -> Module:
        return read_text(
            "module @f {\n  func.func public @main(%a: tensor<32x64xf32>) -> tensor<32x64xf32> {\n"
            f"    %m = stablehlo.{operation} %a : tensor<32x64xf32>\n    return %m : tensor<32x64xf32>\n  }}\n}}\n"
        )

    def compiled(operation: str, rows: str) -> Module:
        body = f"  %n = {WIDE} {operation}(%p)\n  %s = {WIDE} sine(%n)\n  ROOT %m = {WIDE} maximum(%s, %p)\n"
        return fused(body, rows + f"  ROOT %r = {WIDE} copy(%f)\n")

    product = "  %d = f32[64,64]{1,0} dot(%f, %f), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
    small = "  %i = s32[8]{0} iota(), iota_dimension=0\n  %u = u32[] partition-id()\n  %c = f32[] constant(1)\n"
    programs = both(lowered("tanh"), lowered("cosine")), both(compiled("tanh", ""), compiled("cosine", product + small))
    assert listed(*programs) == ["added 1 dot %d f32[64,64], lhs_contracting_dims={0}, rhs_contracting_dims={0}"]
    assert "\n    ... and 4 more changes, --all lists everything\n" in to_terminal(Report("diff", "a", "b", programs))
    assert len(listed(programs[1])) > 1  # without a change of the StableHLO nothing else explains them


def test_what_the_forward_pass_computed_for_the_backward_pass_is_not_new_there() -> None:
    """A derivative of a sigmoid needs `1 - s`, which a checkpoint computes in the backward pass instead."""

    def cell(w: jax.Array, h: jax.Array) -> jax.Array:
        return jax.nn.sigmoid(h @ w) * h

    def traced(step: Callable[[jax.Array, jax.Array], jax.Array]) -> Module:
        def loss(w: jax.Array, h: jax.Array) -> jax.Array:
            return jnp.sum(jax.lax.scan(lambda carry, _: (step(w, carry), None), h, length=4)[0])

        arguments = jax.ShapeDtypeStruct((8, 8), "float32"), jax.ShapeDtypeStruct((2, 8), "float32")
        return read_text(jax.jit(jax.grad(loss)).lower(*arguments).as_text(debug_info=True))

    program = both(traced(cell), traced(jax.checkpoint(cell)))
    (function,) = build_view(Report("diff", "a", "b", (program,), all=True)).functions
    assert "computed again" in function.stages[0].what
    found = [
        (line.where, NAMES.sub("", change.what), change.kind)
        for line in function.stages[0].lines
        for change in line.changes
        if change.kind in ("added", "removed")
    ]
    assert {kind for _, _, kind in found} >= {"added"}
    assert len({(where, what) for where, what, _ in found}) == len(found)


FUSED = "fusion(%BEFORE), kind=kLoop, calls=%fused"


def unrolled(copies: int, turns: int, operation: str = FUSED, behind: str = "") -> Module:
    """A loop whose body holds so many fusions, each of which takes the result of the one before."""
    state = f"(s32[], {WIDE})"
    names = ["a", *(f"f{n}" for n in range(copies))]
    body = "".join(f"  %{name} = {WIDE} {operation.replace('BEFORE', before)}\n" for before, name in pairwise(names))
    return read_text(
        f"HloModule m\n\n%fused {{\n  %p = {WIDE} parameter(0)\n  ROOT %t = {WIDE} tanh(%p)\n}}\n\n"
        f"%cond {{\n  %c = {state} parameter(0)\n  %i = s32[] get-tuple-element(%c), index=0\n"
        f"  %n = s32[] constant({turns})\n  ROOT %l = pred[] compare(%i, %n), direction=LT\n}}\n\n"
        f"%body {{\n  %b = {state} parameter(0)\n  %k = s32[] get-tuple-element(%b), index=0\n"
        "  %one = s32[] constant(1)\n  %next = s32[] add(%k, %one)\n"
        f"  %a = {WIDE} get-tuple-element(%b), index=1\n{body}  ROOT %z = {state} tuple(%next, %{names[-1]})\n}}\n\n"
        f"ENTRY %main {{\n  %p = {WIDE} parameter(0)\n  %zero = s32[] constant(0)\n"
        f"  %s = {state} tuple(%zero, %p)\n  %w = {state} while(%s), condition=%cond, body=%body, "
        f'backend_config={{"known_trip_count":{{"n":"{turns}"}}}}\n'
        f"{behind}  ROOT %r = {WIDE} get-tuple-element(%w), index=1\n}}\n"
    )


def costs_of_fusions(old: Module, new: Module) -> list[str]:
    (function,) = build_view(Report("diff", "a", "b", (both(old, new),))).functions
    lines = (line for stage in function.stages for line in stage.lines)
    return [f"{one.kind} {one.count}: {one.cost}" for line in lines for one in line.changes if "fusion" in one.what]


def test_fusions_of_an_unrolled_loop_say_how_often_they_run() -> None:
    """The text has 3 more, and a call starts fewer kernels: fewer turns count fewer turns."""
    (only,) = costs_of_fusions(unrolled(1, 16), unrolled(4, 4))
    assert only.startswith("added 3: ") and only.endswith("; +12 launches, in all -12")
    (only,) = costs_of_fusions(unrolled(4, 4), unrolled(1, 16))
    assert only.startswith("removed 3: ") and only.endswith("; -12 launches, in all +12")


def test_every_number_in_all_of_one_target_names_it() -> None:
    """A change that two targets share: the launches of the second one are not those of the first."""
    behind = "  %d = f32[32,32]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    old, new = unrolled(1, 16), unrolled(4, 4)
    on_cuda = replace(both(unrolled(1, 16, behind=behind), new), target="cuda-h100")
    text = to_terminal(Report("diff", "a", "b", (both(old, new), on_cuda)), width=200)
    assert "; on cpu flops in all -12; on cpu +12 launches, in all -12)" in text, text


@pytest.mark.parametrize(("operation", "name"), [(FUSED, "fusion"), ("tanh(%BEFORE)", "tanh")])
def test_beside_changed_stablehlo_what_an_unrolled_loop_holds_is_not_new(operation: str, name: str) -> None:
    """The loop holds four copies of its body and turns a quarter as often: each runs as often as before."""
    as_often = unrolled(1, 16, operation), unrolled(4, 4, operation)
    assert not [one for one in listed(rewritten(), both(*as_often)) if f" {name}" in one]
    more = [
        one
        for one in listed(rewritten(), both(unrolled(1, 4, operation), unrolled(3, 4, operation)))
        if f" {name}" in one
    ]
    assert [one.partition(f" {name}")[0] for one in more] == ["added 2"]


def test_fusions_that_are_started_more_often_do_not_repeat_the_number_of_all() -> None:
    (only,) = costs_of_fusions(unrolled(1, 4), unrolled(3, 4))
    assert only.endswith("; +8 launches")


def test_operations_of_a_line_in_another_pass_are_one_change() -> None:
    """A derivative needed a product in the forward pass, and another one needs four in the backward pass."""
    head = (
        'HloModule m\n\nFileNames\n1 "model.py"\n\nFunctionNames\n1 "loss"\n\nFileLocations\n'
        "1 {file_name_id=1 function_name_id=1 line=31 end_line=31 column=1 end_column=2}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=0}\n\n"
    )

    def program(forward: int, backward: int) -> Module:
        lines, last = ["%p = f32[8] parameter(0)", "%q = f32[8] parameter(1)"], "%p"
        for n in range(forward):
            where = 'metadata={op_name="jit(f)/jvp()/mul" stack_frame_id=1}'
            lines.append(f"%f{n} = f32[8] multiply({last}, {last}), {where}")
            last = f"%f{n}"
        lines.append(f"%e = f32[8] exponential({last})")
        last = "%q"
        for n in range(backward):
            where = 'metadata={op_name="jit(f)/transpose(jvp())/mul" stack_frame_id=1}'
            lines.append(f"%b{n} = f32[8] multiply({last}, %e), {where}")
            last = f"%b{n}"
        lines += [f"%s = f32[8] sine({last})", "ROOT %t = (f32[8], f32[8]) tuple(%e, %s)"]
        body = "".join(f"  {line}\n" for line in lines)
        return read_text(f"{head}ENTRY %main {{\n{body}}}\n")

    def change(old: Module, new: Module) -> str:
        return NAMES.sub("", listed(both(old, new))[0])

    assert change(program(1, 0), program(0, 4)) == "added 3 multiply f32[8]"
    assert change(program(0, 4), program(1, 0)) == "removed 3 multiply f32[8]"


def test_fusions_of_which_a_program_has_as_many_as_before_are_not_added() -> None:
    """One fusion was cut into two: that of the old result is still there, with less in it."""

    def body(name: str, shape: str, *rows: str) -> str:
        return f"%{name} {{\n  %p = {shape} parameter(0)\n" + "".join(f"  {row}\n" for row in rows) + "}\n\n"

    wide, narrow = "f32[32,64]", "f32[32]"
    sums = "%add { %a = f32[] parameter(0)\n %b = f32[] parameter(1)\n ROOT %c = f32[] add(%a, %b)\n}\n\n"
    reduced = f"%r = {narrow} reduce(%s, %z), dimensions={{1}}, to_apply=%add"
    spread = f"ROOT %w = {wide} broadcast(%{{}}), dimensions={{{{0}}}}"
    work = [f"%s = {wide} sine(%p)", "%z = f32[] constant(0)"]
    whole = body("whole", wide, *work, reduced, f"%t = {narrow} tanh(%r)", spread.format("t"))
    first = body("first", wide, *work, f"ROOT {reduced}")
    second = body("second", narrow, f"%c = {narrow} cosine(%p)", f"%e = {narrow} exponential(%c)", spread.format("e"))
    entry = f"ENTRY %main {{\n  %x = {wide} parameter(0)\n"
    old = f"{entry}  ROOT %f = {wide} fusion(%x), kind=kLoop, calls=%whole\n}}\n"
    new = f"{entry}  %g = {narrow} fusion(%x), kind=kInput, calls=%first\n"
    new += f"  ROOT %h = {wide} fusion(%g), kind=kLoop, calls=%second\n}}\n"
    texts = [f"HloModule m\n\n{sums}{text}" for text in (whole + old, first + second + new)]
    found = [NAMES.sub("", one) for one in listed(both(*map(read_text, texts)))]
    assert "changed 1 fusion f32[32,64]: holds other operations" in found
    assert not [one for one in found if one.startswith(("added 1 fusion f32[32,64]", "removed 1 fusion f32[32,64]"))]


def test_equal_fusions_of_which_others_undo_a_part_say_how_many_fewer_there_are() -> None:
    """Three went, and a fourth one has their shape now."""

    def program(is_old: bool) -> Module:
        size, inner = ("4", "  %k = f32[4] slice(%q), slice={[0:4]}\n") if is_old else ("8", "")
        rows = "".join(f"  %f{n} = f32[8] fusion(%x{n}), kind=kLoop, calls=%a\n" for n in range(3)) if is_old else ""
        results = ", ".join(f"%{'f' if is_old else 'x'}{n}" for n in range(3))
        return read_text(
            "HloModule m\n\n%a {\n  %p = f32[8] parameter(0)\n  ROOT %t = f32[8] tanh(%p)\n}\n\n" * is_old
            + "HloModule m\n\n" * (not is_old)
            + f"%b {{\n  %q = f32[8] parameter(0)\n{inner}"
            f"  ROOT %s = f32[{size}] sine({'%k' if is_old else '%q'})\n}}\n\nENTRY %e {{\n"
            + "".join(f"  %x{n} = f32[8] parameter({n})\n" for n in range(4))
            + f"{rows}  %g = f32[{size}] fusion(%x3), kind=kLoop, calls=%b\n"
            f"  ROOT %r = (f32[8], f32[8], f32[8], f32[{size}]) tuple({results}, %g)\n}}\n"
        )

    assert any(
        "fusion" in one and one.endswith("; 2 fewer of this shape in all")
        for one in listed(both(program(True), program(False)))
    )


NESTED = """HloModule m

%inner (p: f32[64]) -> f32[64] {
  %p = f32[64] parameter(0)
  ROOT %s = f32[64] sine(%p)
}

%outer (p.1: f32[64], q.1: f32[64]) -> f32[64] {
  %p.1 = f32[64] parameter(0)
  %q.1 = f32[64] parameter(1)
  %f = f32[64] fusion(%p.1), kind=kLoop, calls=%inner
  ROOT %a = f32[64] add(INSIDE, %q.1)
}

%body (b: (s32[], f32[64])) -> (s32[], f32[64]) {
  %b = (s32[], f32[64]) parameter(0)
  %i = s32[] get-tuple-element(%b), index=0
  %v = f32[64] get-tuple-element(%b), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %w = f32[64] fusion(%v, %v), kind=kLoop, calls=%outer
  ROOT %t = (s32[], f32[64]) tuple(%next, %w)
}

%more (c: (s32[], f32[64])) -> pred[] {
  %c = (s32[], f32[64]) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(3)
  ROOT %less = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x: f32[64]) -> f32[64] {
  %x = f32[64] parameter(0)
  %zero = s32[] constant(0)
  %start = (s32[], f32[64]) tuple(%zero, %x)
  %loop = (s32[], f32[64]) while(%start), condition=%more, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  ROOT %r = f32[64] get-tuple-element(%loop), index=1
}
"""


def test_a_fusion_within_a_fusion_is_no_launch() -> None:
    nested = NESTED.replace("INSIDE", "%f")
    plain = NESTED.replace("INSIDE", "%p.1").replace("  %f = f32[64] fusion(%p.1), kind=kLoop, calls=%inner\n", "")
    sides = [read_text(text) for text in (nested, plain)]
    program = ProgramComparison("f", "tpu", "compiled", "changed", diff(*sides))
    text = to_terminal(Report("diff", "a", "b", (program,)), width=200)
    assert "removed fusion" in text and "launch" not in text, text


RETURNS = f"""HloModule m

ENTRY %main {{
  %x = {WIDE} parameter(0)
  %n = {WIDE} negate(%x)
  %s = {WIDE} sine(%n)
  %r = {WIDE} rsqrt(%s)
  ROOT %t = ({WIDE}, {WIDE}) tuple(%n, %r)
}}
"""


def test_where_only_more_is_returned_the_operations_are_the_same() -> None:
    """The StableHLO computes the result again, of which the compiler makes the value that the program has anyway."""

    def lowered(again: str, results: str, types: str) -> Module:
        return read_text(
            f"module @f {{\n  func.func public @main(%a: tensor<32x64xf32>) -> ({types}) {{\n"
            f"    %n = stablehlo.negate %a : tensor<32x64xf32>\n{again}"
            f"    return {results} : {types}\n  }}\n}}\n"
        )

    one = "tensor<32x64xf32>"
    again = f"    %m = stablehlo.negate %a : {one}\n    %k = stablehlo.sine %m : {one}\n"
    more = RETURNS.replace("ROOT %t = (", f"ROOT %t = ({WIDE}, ").replace("tuple(%n,", "tuple(%n, %s,")
    written = lowered("", "%n, %n", f"{one}, {one}"), lowered(again, "%n, %k, %n", f"{one}, {one}, {one}")
    moved = more.replace(f"%n = {WIDE}", "%n = f32[32,64]{1,0:S(1)}")
    programs = [
        replace(both(*sides), target=target)
        for target, compiled in (("cpu", more), ("tpu-v5e-2x2", moved))
        for sides in (written, (read_text(RETURNS), read_text(compiled)))
    ]
    text = to_terminal(Report("diff", "a", "b", tuple(programs)))
    assert "on cpu: the same operations, other results returned\n" in text
    assert "arranged differently" not in text


def test_an_exchanged_operation_is_listed_where_nothing_explains_the_numbers() -> None:
    """XLA multiplies by the inverse of a constant: with an argument it divides."""

    def lowered(number: str) -> Module:
        one = "tensor<32x64xf32>"
        arguments, constant = f"%a: {one}, %t: tensor<f32>", ""
        if number:
            arguments, constant = f"%a: {one}", f"    %t = stablehlo.constant dense<{number}> : tensor<f32>\n"
        return read_text(
            f"module @f {{\n  func.func public @main({arguments}) -> {one} {{\n{constant}"
            f"    %b = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> {one}\n"
            f"    %d = stablehlo.divide %a, %b : {one}\n    return %d : {one}\n  }}\n}}\n"
        )

    def compiled(value: str, operation: str) -> Module:
        return read_text(
            f"HloModule m\n\nENTRY %main {{\n  %x = {WIDE} parameter(0)\n  %s = {WIDE} sine(%x)\n  %c = f32[] {value}\n"
            f"  %b = {WIDE} broadcast(%c), dimensions={{}}\n  ROOT %m = {WIDE} {operation}(%s, %b), "
            'metadata={op_name="jit(f)/div" source_file="net.py" source_line=4}\n}\n'
        )

    new = compiled("parameter(1)", "divide")
    programs = both(lowered("0.8"), lowered("")), both(compiled("constant(1.25)", "multiply"), new)
    (found,) = listed(*programs)
    assert re.fullmatch(r"replaced \d multiply by divide", found)


def test_what_starts_kernels_is_listed_however_little_it_computes() -> None:
    """A GPU starts 64 kernels more, each of which computes one number; the program has fewer operations in all."""
    body = f"({WIDE}, s32[])"

    def looped(fusions: int, sines: int) -> Module:
        operands = [f"%g{n}" for n in range(fusions)]
        calls = [f"  {one} = f32[2]{{0}} fusion(%x), kind=kLoop, calls=%small\n" for one in operands]
        kept = f'  %o = f32[2]{{0}} custom-call({", ".join(operands)}), custom_call_target="keep"\n' if operands else ""
        waves = "".join(f"  %s{n + 1} = {WIDE} sine(%s{n})\n" for n in range(sines))
        return read_text(
            "HloModule m\n\n"
            f"%small {{\n  %p = {WIDE} parameter(0)\n  %i = f32[2,1]{{1,0}} slice(%p), slice={{[0:2], [0:1]}}\n"
            "  %r = f32[2]{0} reshape(%i)\n  ROOT %n = f32[2]{0} negate(%r)\n}\n\n"
            f"%large {{\n  %s0 = {WIDE} parameter(0)\n{waves}  ROOT %c = {WIDE} copy(%s{sines})\n}}\n\n"
            f"%turn {{\n  %t = {body} parameter(0)\n  %x = {WIDE} get-tuple-element(%t), index=0\n"
            f"  %n = s32[] get-tuple-element(%t), index=1\n{''.join(calls)}{kept}"
            f"  %y = {WIDE} fusion(%x), kind=kLoop, calls=%large\n  %k = s32[] constant(1)\n"
            f"  %m = s32[] add(%n, %k)\n  ROOT %o2 = {body} tuple(%y, %m)\n}}\n\n"
            f"%more {{\n  %t = {body} parameter(0)\n  %n = s32[] get-tuple-element(%t), index=1\n"
            "  %k = s32[] constant(32)\n  ROOT %l = pred[] compare(%n, %k), direction=LT\n}\n\n"
            f"ENTRY %main {{\n  %a = {WIDE} parameter(0)\n  %z = s32[] constant(0)\n  %t = {body} tuple(%a, %z)\n"
            f"  %w = {body} while(%t), condition=%more, body=%turn, "
            'backend_config={"known_trip_count":{"n":"32"}}\n'
            f"  ROOT %x = {WIDE} get-tuple-element(%w), index=0\n}}\n"
        )

    def lowered(operation: str) -> Module:
        one = "tensor<32x64xf32>"
        return read_text(
            f"module @f {{\n  func.func public @main(%a: {one}) -> {one} {{\n"
            f"    %m = stablehlo.{operation} %a : {one}\n    return %m : {one}\n  }}\n}}\n"
        )

    written = ProgramComparison("f", "cuda-h100", "stablehlo", "changed", diff(lowered("tanh"), lowered("sine")))
    compiled = ProgramComparison("f", "cuda-h100", "compiled", "changed", diff(looped(0, 8), looped(2, 6)))
    assert any(re.match("added 2 fusion", one) for one in listed(written, compiled)), listed(written, compiled)


CONVOLUTION = """HloModule m

ENTRY e {
  %x = f32[1,8,8,4] parameter(0)
  %k = f32[3,3,4,4] parameter(1)
  %l = f32[3,3,4,4] tanh(%k)
  %a = f32[1,8,8,4] exponential(%x)
CALL  ROOT %t = (f32[1,8,8,4], f32[3,3,4,4]) tuple(%GIVEN, %l)
}
"""


def test_calls_of_a_library_are_listed_by_their_function() -> None:
    """On a GPU a convolution is one of cuDNN now; the list of what explains nothing else would leave it out."""
    call = '  %c = f32[1,8,8,4] custom-call(%a, %l), custom_call_target="__cudnn$convForward", window={size=3x3}\n'
    old, new = (
        read_text(CONVOLUTION.replace("CALL", line).replace("GIVEN", given)) for line, given in (("", "a"), (call, "c"))
    )
    written = [
        read_text(
            "module @m {\n  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {\n"
            f"    %0 = stablehlo.{opcode} %arg0 : tensor<8xf32>\n    return %0 : tensor<8xf32>\n  }}\n}}\n"
        )
        for opcode in ("sine", "cosine")
    ]
    programs = (
        ProgramComparison("f", "cuda-h100", "stablehlo", "changed", diff(*written)),
        ProgramComparison("f", "cuda-h100", "compiled", "changed", diff(old, new)),
    )
    text = to_terminal(Report("diff", "a", "b", programs), width=200)
    assert 'custom-call f32[1,8,8,4], custom_call_target="__cudnn$convForward"' in text, text


def test_of_added_fusions_only_those_that_are_not_in_another_one_are_launches() -> None:
    """Two of one line: one is in a fusion of the loop, the other is started in each of three turns."""
    line = ', metadata={op_name="jit(f)/a" source_file="net.py" source_line=4}'
    plain = NESTED.replace("INSIDE", "%p.1").replace("  %f = f32[64] fusion(%p.1), kind=kLoop, calls=%inner\n", "")
    other = (
        "%other (o: f32[64]) -> f32[64,1] {\n  %o = f32[64] parameter(0)\n  %e = f32[64] exponential(%o)\n"
        "  ROOT %u = f32[64,1] bitcast(%e)\n}\n\n%outer ("
    )
    both_kinds = NESTED.replace("INSIDE", "%f").replace("calls=%inner\n", f"calls=%inner{line}\n")
    both_kinds = both_kinds.replace("%outer (", other, 1).replace(
        "  ROOT %t = (s32[], f32[64]) tuple(%next, %w)",
        f"  %y = f32[64,1] fusion(%w), kind=kLoop, calls=%other{line}\n  %z = f32[64] bitcast(%y)\n"
        "  ROOT %t = (s32[], f32[64]) tuple(%next, %z)",
    )
    sides = read_text(plain), read_text(both_kinds)
    (added,), (removed,) = costs_of_fusions(*sides), costs_of_fusions(*sides[::-1])
    assert added.startswith("added 2: ") and added.endswith("; +3 launches")
    assert removed.startswith("removed 2: ") and removed.endswith("; -3 launches")


SQUARE = "f32[8,8]"


def chained(inside: Sequence[str], outside: Sequence[str], resized: str = SQUARE) -> Module:
    """A loop that turns three times with so many fusions in it, and others behind it; one more has another shape.

    Each of `inside` and of `outside` has the operations of one fusion.
    """
    state = f"({SQUARE}, s32[])"
    bodies, rows = "", []
    for key, value, fusions in (("i", "a", inside), ("o", "y", outside)):
        calls = ""
        for n, opcodes in enumerate(fusions):
            lines = [f"%{key}{n}.{k + 1} = {SQUARE} {one}(%{key}{n}.{k})\n" for k, one in enumerate(opcodes.split())]
            bodies += f"%in_{key}{n} {{\n  %{key}{n}.0 = {SQUARE} parameter(0)\n  "
            bodies += f"{'  '.join(lines[:-1])}{'  ' * (len(lines) > 1)}ROOT {lines[-1]}}}\n\n"
            calls += f"  %{key}{n} = {SQUARE} fusion(%{value}), kind=kLoop, calls=%in_{key}{n}\n"
            value = f"{key}{n}"
        rows.append((calls, value))
    (turn, end_of_turn), (behind, end) = rows
    cut = f"  %h1 = {resized} slice(%h0), slice={{[0:4], [0:8]}}\n" if resized != SQUARE else ""
    return read_text(
        f"HloModule m\n\n{bodies}%in_h {{\n  %h0 = {SQUARE} parameter(0)\n{cut}"
        f"  ROOT %h2 = {resized} erf(%{'h1' if cut else 'h0'})\n}}\n\n"
        f"%turn {{\n  %t = {state} parameter(0)\n  %a = {SQUARE} get-tuple-element(%t), index=0\n"
        f"  %n = s32[] get-tuple-element(%t), index=1\n{turn}  %r = {SQUARE} negate(%{end_of_turn})\n"
        f"  %one = s32[] constant(1)\n  %m = s32[] add(%n, %one)\n  ROOT %q = {state} tuple(%r, %m)\n}}\n\n"
        f"%more {{\n  %u = {state} parameter(0)\n  %v = s32[] get-tuple-element(%u), index=1\n"
        "  %e = s32[] constant(3)\n  ROOT %l = pred[] compare(%v, %e), direction=LT\n}\n\n"
        f"ENTRY %main {{\n  %x = {SQUARE} parameter(0)\n  %h = {resized} fusion(%x), kind=kLoop, calls=%in_h\n"
        f'  %g = f32[1] custom-call(%h), custom_call_target="keep"\n  %z = s32[] constant(0)\n'
        f"  %s = {state} tuple(%x, %z)\n  %w = {state} while(%s), condition=%more, body=%turn, "
        'backend_config={"known_trip_count":{"n":"3"}}\n'
        f"  %y = {SQUARE} get-tuple-element(%w), index=0\n{behind}  %k = {SQUARE} cosine(%{end})\n"
        f"  ROOT %b = ({SQUARE}, f32[1]) tuple(%k, %g)\n}}\n"
    )


def test_fusions_that_hold_other_operations_have_no_flops_and_only_as_many_of_them_have_bytes() -> None:
    """What moved from one fusion into another is not work that came or went."""
    kept = chained(["tanh sine"], []), chained([], ["abs sqrt rsqrt"])
    assert costs_of_fusions(*kept) == ["changed 1: 1.5 KiB -> 512 B"]
    # Two went, one came, and another one has their shape now.
    fewer = chained(["tanh sine", "log floor"], [], "f32[4,8]"), chained([], ["abs sqrt rsqrt"])
    assert "changed 2: " in costs_of_fusions(*fewer)


FOLDED = """HloModule m

%inner {
  %v = s32[] parameter(0)
  %three = s32[] constant(3)
  %u = s32[] add(%v, %three)
  %w = s32[] copy(%three)
  ROOT %s = (s32[], s32[]) tuple(%u, %w)
}

ENTRY %main {
  %i = s32[] parameter(0)
  %g = (s32[], s32[]) call(%i), to_apply=%inner
  %n = s32[] constant(100)
  %j = s32[] minimum(%i, %n)
  %z = s32[] constant(0)
  %y = s32[] constant(1)
  %own = s32[] constant(0)
  %a = s32[] copy(%own), metadata={op_name="a" source_file="net.py" source_line=5}
  %b = s32[] copy(%z), metadata={op_name="a" source_file="net.py" source_line=6}
  %c = s32[] copy(%z), metadata={op_name="a" source_file="net.py" source_line=7}
  ROOT %t = (s32[], s32[], s32[], s32[], s32[], s32[], (s32[], s32[])) tuple(%j, %z, %y, %a, %b, %c, %g)
}
"""


def test_a_whole_number_that_the_compiler_computed_of_another_number_is_listed() -> None:
    """The steps of a solver: StableHLO has the length of one, of which the compiler folds how many there are."""

    def lowered(number: str, opcode: str) -> Module:
        one = "tensor<8xf32>"
        return read_text(
            f"module @f {{\n  func.func public @main(%a: {one}) -> {one} {{\n"
            f"    %c = stablehlo.constant dense<{number}> : {one}\n    %m = stablehlo.{opcode} %a, %c : {one}\n"
            f"    return %m : {one}\n  }}\n}}\n"
        )

    new = FOLDED.replace("constant(100)", "constant(50)").replace("  %own = s32[] constant(0)\n", "")
    new = re.sub(r"copy\(%(own|z)\)", "copy(%y)", new).replace("copy(%three)", "copy(%seven)")
    found = diff(read_text(FOLDED), read_text(new.replace("  %w =", "  %seven = s32[] constant(7)\n  %w =")))
    assert {edit.kind for edit in found.reported} == {"added", "removed", "changed"}
    assert any(change.literals for edit in found.reported for change in edit.changes), "copies of other constants"

    def programs(opcode: str) -> tuple[ProgramComparison, ...]:
        written = both(lowered("0.01", "multiply"), lowered("0.02", opcode))
        return with_compiler((written, replace(written, stage="compiled", diff=found)), lambda program: False)

    alone = programs("multiply")
    assert [program.classes for program in alone] == [("numerics",), ("numerics",)]
    assert listed(*alone) == ["changed 1 constant %n s32[]: literal: 100 -> 50"]
    assert listed(*programs("add")) == [], "others belong to other shapes"


def test_behind_a_collective_the_operation_that_accounts_for_most_of_the_flops_is_listed() -> None:
    def lowered(operation: str) -> Module:
        one = "tensor<8xf32>"
        return read_text(
            f"module @f {{\n  func.func public @main(%a: {one}) -> {one} {{\n"
            f"    %m = stablehlo.{operation} %a : {one}\n    return %m : {one}\n  }}\n}}\n"
        )

    def compiled(is_new: bool) -> Module:
        rows, results, types = "", ["%h"], ["f32[64,64]"]
        for n, size in enumerate((8, 16, 32)):
            rows += f"  %x{n} = f32[{size},64] parameter({n + 1})\n"
            if is_new:
                line = f'metadata={{op_name="jit(f)/a" source_file="net.py" source_line={n + 1}}}'
                gather = f"all-gather(%x{n}), replica_groups={{{{0,1}}}}, dimensions={{0}}, {line}"
                rows += f"  %g{n} = f32[{2 * size},64] {gather}\n"
                results, types = [*results, f"%g{n}"], [*types, f"f32[{2 * size},64]"]
        if is_new:
            rows += "  %d = f32[64,64] dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
            results, types = [*results, "%d"], [*types, "f32[64,64]"]
        return read_text(
            f"HloModule m, num_partitions=2\n\nENTRY %main {{\n  %x = f32[64,64] parameter(0)\n"
            f"  %h = f32[64,64] {'cosine' if is_new else 'sine'}(%x)\n{rows}"
            f"  ROOT %t = ({', '.join(types)}) tuple({', '.join(results)})\n}}\n"
        )

    written = lowered("tanh"), lowered("cosine")
    for way, sides in (("added", (False, True)), ("removed", (True, False))):
        found = [" ".join(one.split()[:3]) for one in listed(both(*written), both(*map(compiled, sides)))]
        assert found == [f"{way} 1 all-gather", f"{way} 1 all-gather", f"{way} 1 dot"]


def chain_of_fusions(*fusions: str, kinds: Sequence[str]) -> Module:
    """Fusions of some operations each, every one of which takes the result of the one before."""
    bodies, rows, value = "", "", "x"
    for n, (fusion, kind) in enumerate(zip(fusions, kinds, strict=True)):
        lines = [f"%p{n}.{k + 1} = {WIDE} {opcode}(%p{n}.{k})\n" for k, opcode in enumerate(fusion.split())]
        lines[-1] = f"ROOT {lines[-1]}"
        bodies += f"%in{n} {{\n  %p{n}.0 = {WIDE} parameter(0)\n  {'  '.join(lines)}}}\n\n"
        rows += f"  %f{n} = {WIDE} fusion(%{value}), kind={kind}, calls=%in{n}\n"
        value = f"f{n}"
    return read_text(
        f"HloModule m\n\n{bodies}ENTRY %main {{\n  %x = {WIDE} parameter(0)\n{rows}"
        f"  ROOT %r = {WIDE} copy(%{value})\n}}\n"
    )


def test_a_new_fusion_has_the_flops_of_all_that_it_computes() -> None:
    """Two of its three operations moved into it from another fusion."""
    whole = chain_of_fusions("negate abs floor sign", kinds=["kLoop"])
    cut = chain_of_fusions("negate abs", "floor sign ceil", kinds=["kLoop", "kInput"])
    assert costs_of_fusions(whole, cut) == ["added 1: +6,144 flops, +16.0 KiB; flops in all +2,048"]
    assert costs_of_fusions(cut, whole) == ["removed 1: -6,144 flops, -16.0 KiB; flops in all -2,048"]


def rewritten() -> ProgramComparison:
    """A change of the StableHLO, beside which a compiled program lists what explains its numbers."""
    one = "tensor<32x64xf32>"
    sides = [
        read_text(
            f"module @f {{\n  func.func public @main(%a: {one}) -> {one} {{\n"
            f"    %m = stablehlo.{opcode} %a : {one}\n    return %m : {one}\n  }}\n}}\n"
        )
        for opcode in ("tanh", "cosine")
    ]
    return both(*sides)


# Changes of which none explains a number of a program.
UNTOLD = (
    "  %i = s32[8] iota(), iota_dimension=0\n  %u = u32[] partition-id()\n"
    "  %v = u32[] replica-id()\n  %w = f32[] constant(1)\n"
)


@pytest.mark.parametrize(("target", "is_listed"), [("TopK", True), ("AllocateBuffer", False)])
def test_a_custom_call_is_listed_by_what_it_computes_and_not_for_memory(target: str, is_listed: bool) -> None:
    def compiled(is_new: bool) -> Module:
        rows, results, types = "", "%s, %e", "f32[16,16], f32[8]"
        if is_new:
            rows = "  %d = f32[16,16] dot(%s, %s), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
            rows += f'  %k = f32[8] custom-call(%e), custom_call_target="{target}"\n{UNTOLD}'
            results, types = f"{results}, %d, %k", f"{types}, f32[16,16], f32[8]"
        return read_text(
            "HloModule m\n\nENTRY %main {\n  %x = f32[16,16] parameter(0)\n  %y = f32[8] parameter(1)\n"
            f"  %s = f32[16,16] sine(%x)\n  %e = f32[8] exponential(%y)\n{rows}"
            f"  ROOT %r = ({types}) tuple({results})\n}}\n"
        )

    for way, sides in (("added", (False, True)), ("removed", (True, False))):
        found = [" ".join(one.split()[:3]) for one in listed(rewritten(), both(*map(compiled, sides)))]
        assert found == [f"{way} 1 dot", *[f"{way} 1 custom-call"] * is_listed]


def test_fewer_copies_are_not_better_where_others_move_their_bytes() -> None:
    def program(copied: int, turned: int) -> Module:
        copies = "".join(f"  %c{n + 1} = {WIDE} copy(%c{n})\n" for n in range(copied))
        turns = "".join(f"  %t{n + 1} = {WIDE} transpose(%t{n}), dimensions={{0,1}}\n" for n in range(turned))
        return read_text(
            f"HloModule m\n\nENTRY %main {{\n  %x = {WIDE} parameter(0)\n  %c0 = {WIDE} negate(%x)\n"
            f"  %t0 = {WIDE} sine(%x)\n{copies}{turns}  ROOT %r = ({WIDE}, {WIDE}) tuple(%c{copied}, %t{turned})\n}}\n"
        )

    def verdict(new: Module) -> str:
        (function,) = build_view(Report("diff", "a", "b", (both(program(3, 0), new),))).functions
        return function.verdict

    assert verdict(program(1, 2)) == "same"
    assert verdict(program(1, 0)) == "better"


@pytest.mark.parametrize(("name", "words"), [("argument", "arguments"), ("output", "results")])
def test_arguments_and_results_that_grow_by_less_than_a_hundredth_of_all_memory_have_no_mark(
    name: str, words: str
) -> None:
    def shown(temp: float) -> str:
        sides = (fused(f"  ROOT %m = {WIDE} {one}(%p)\n", f"  ROOT %r = {WIDE} copy(%f)\n") for one in ("sine", "tanh"))
        old, new = ({"memory.temp": temp, f"memory.{name}": size} for size in (1e6, 9e6))
        program = replace(both(*sides), old_facts=old, new_facts=new)
        return to_terminal(Report("diff", "a", "b", (program,)), width=160)

    small, large = shown(1e9), shown(1e7)
    assert f"    cpu  {words} 976.6 KiB -> 8.6 MiB (+800 %)\n" in small
    assert "no mark: arguments and results below 1 % of all memory" in small
    assert f"    cpu  ▲ worse: {words} 976.6 KiB -> 8.6 MiB (+800 %)" in large and "no mark" not in large


def test_each_of_two_fusions_that_call_one_body_with_a_collective_in_it_has_its_own_bytes_and_line() -> None:
    def gathered(is_new: bool) -> Module:
        body = (
            "%in {\n  %p = f32[8] parameter(0)\n  %g = f32[16] all-gather(%p), channel_id=1, "
            "replica_groups={{0,1}}, dimensions={0}\n  ROOT %n = f32[16] negate(%g)\n}\n\n"
        )
        fusions = "".join(
            f"  %f{n} = f32[16] fusion(%x{n}), kind=kCustom, calls=%in, "
            f'metadata={{op_name="jit(f)/a" source_file="net.py" source_line={n + 4}}}\n'
            for n in range(2)
        )
        types, results = ("f32[8], f32[16], f32[16]", "%s, %f0, %f1") if is_new else ("f32[8]", "%s")
        return read_text(
            f"HloModule m, num_partitions=2\n\n{body * is_new}ENTRY %main {{\n  %x0 = f32[8] parameter(0)\n"
            f"  %x1 = f32[8] parameter(1)\n  %s = f32[8] sine(%x0)\n{fusions * is_new}"
            f"  ROOT %t = ({types}) tuple({results})\n}}\n"
        )

    for way, sign, sides in (("added", "+", (False, True)), ("removed", "-", (True, False))):
        text = to_terminal(Report("diff", "a", "b", (both(*map(gathered, sides)),)), width=160)
        for line in (4, 5):
            what = f"    {way} fusion with all-gather f32[16], dimensions={{0}}, replica_groups={{{{0,1}}}}"
            assert f"{what}  ({sign}64 B)  net.py:{line}\n" in text, text


def shared(old: Module, new: Module) -> str:
    """What is listed of two functions whose StableHLO and compiled programs differ in the same."""
    programs = [replace(one, name=name) for one in (rewritten(), both(old, new)) for name in "fg"]
    text = to_terminal(Report("diff", "a", "b", tuple(programs)), width=160)
    return text.partition("the same in several programs\n")[2].partition("\n\n")[0]


def test_shared_fusions_are_added_only_if_the_program_has_more_of_their_shape() -> None:
    """The script removes one in a loop and adds one behind it; its operations are other ones."""
    inside, behind = chained(["tanh sine"], []), chained([], ["abs sqrt rsqrt"])
    for sides in ((inside, behind), (behind, inside)):
        text = shared(*sides)
        assert "fusion" not in text and "      ... and 2 more, --all lists everything" in text
    more = shared(chained([], []), behind)
    assert "added    fusion f32[8,8], kind=kLoop" in more


def test_shared_products_are_removed_only_if_the_program_has_as_many_fewer() -> None:
    """There were two of one line, and there is one of another shape and line now; or none."""

    def compiled(*products: tuple[str, str, int]) -> Module:
        rows, types, results, value = "", "f32[16,16], f32[16,4]", "%s, %e", "%k"
        for n, (shape, what, line) in enumerate(products):
            where = f'metadata={{op_name="jit(f)/a" source_file="net.py" source_line={line}}}'
            rows += f"  %d{n} = f32[{shape}] dot({what.replace('LAST', value)}, {where}\n"
            value = f"%d{n}"
        if products:
            types, results = f"{types}, f32[{products[-1][0]}]", f"{results}, {value}"
        return read_text(
            "HloModule m\n\nENTRY %main {\n  %x = f32[16,16] parameter(0)\n  %k = f32[8,16] parameter(1)\n"
            "  %l = f32[16,4] parameter(2)\n  %m = f32[8,4] parameter(3)\n  %s = f32[16,16] sine(%x)\n"
            f"  %e = f32[16,4] exponential(%l)\n{rows}  ROOT %r = ({types}) tuple({results})\n}}\n"
        )

    old = [("8,16", "LAST, %s), lhs_contracting_dims={1}, rhs_contracting_dims={0}", 4)] * 2
    new = [("16,8", "%e, %m), lhs_contracting_dims={1}, rhs_contracting_dims={1}", 9)]
    assert "dot" not in shared(compiled(*old), compiled(*new))
    assert "dot" not in shared(compiled(*new), compiled(*old))
    assert "removed  2x dot f32[8,16]" in shared(compiled(*old), compiled())


def test_a_program_that_has_other_operations_is_not_only_arranged_differently() -> None:
    """Two negations of a large array went and one of a small array came: neither is listed, and flops are halved."""

    def compiled(large: str, small: str) -> Module:
        bodies = ""
        for key, shape, opcodes in (("a", "f32[32,64]", large.split()), ("b", "f32[16]", small.split())):
            lines = [f"%{key}{n} = {shape} {opcode}(%{key}{n - 1})\n" for n, opcode in enumerate(opcodes, 1)]
            lines[-1] = f"ROOT {lines[-1]}"
            bodies += f"%in_{key} {{\n  %{key}0 = {shape} parameter(0)\n  {'  '.join(lines)}}}\n\n"
        return read_text(
            f"HloModule m\n\n{bodies}ENTRY %main {{\n  %x = f32[32,64] parameter(0)\n  %y = f32[16] parameter(1)\n"
            "  %f = f32[32,64] fusion(%x), kind=kLoop, calls=%in_a\n"
            "  %g = f32[16] fusion(%y), kind=kLoop, calls=%in_b\n"
            "  ROOT %t = (f32[32,64], f32[16]) tuple(%f, %g)\n}\n"
        )

    old = compiled("negate sine negate exponential", "tanh floor")
    new = compiled("sine exponential", "tanh negate floor")
    for sides in ((old, new), (new, old)):
        text = to_terminal(Report("diff", "a", "b", (rewritten(), both(*sides))), width=160)
        assert "\n    2 changes, --all lists everything\n" in text and "arranged differently" not in text, text


@pytest.mark.parametrize(("limit", "turns"), [(1, 1), (5, 5), (256, 1)])
def test_fusions_of_one_shape_have_the_flops_of_each_however_often_each_runs(limit: int, turns: int) -> None:
    """Two fusions went, of which one computes thrice as much and is in a loop, which data may end."""

    def program(is_old: bool) -> Module:
        calls = [f"  %{n} = {WIDE} fusion(%x), kind=kLoop, calls=%{n}s\n" if is_old else "" for n in ("one", "three")]
        results = [("%one", "%three")[n] if is_old else "%x" for n in range(2)]
        kept = [f'  %k{n} = {WIDE} custom-call({one}), custom_call_target="keep"\n' for n, one in enumerate(results)]
        state, end, known = f"({WIDE}, s32[])", "  ROOT %l = pred[] compare(%n, %k), direction=LT\n", ""
        if limit == turns:
            known = f', backend_config={{"known_trip_count":{{"n":"{turns}"}}}}'
        else:
            end = (
                f"  %x = {WIDE} get-tuple-element(%t), index=0\n  %s = f32[1,1] slice(%x), slice={{[0:1], [0:1]}}\n"
                f"  %v = f32[] bitcast(%s)\n  %z = f32[] constant(0)\n  %p = pred[] compare(%v, %z), direction=GT\n"
                f"{end.replace('ROOT ', '')}  ROOT %a = pred[] and(%l, %p)\n"
            )
        return read_text(
            "HloModule m\n\n"
            f"%ones {{\n  %p = {WIDE} parameter(0)\n  ROOT %n = {WIDE} negate(%p)\n}}\n\n"
            f"%threes {{\n  %p = {WIDE} parameter(0)\n  %a = {WIDE} add(%p, %p)\n  %b = {WIDE} subtract(%a, %p)\n"
            f"  ROOT %m = {WIDE} multiply(%b, %b)\n}}\n\n"
            f"%turn {{\n  %t = {state} parameter(0)\n  %x = {WIDE} get-tuple-element(%t), index=0\n"
            f"  %n = s32[] get-tuple-element(%t), index=1\n{calls[1]}{kept[1]}"
            f"  %c = s32[] constant(1)\n  %m = s32[] add(%n, %c)\n  ROOT %o = {state} tuple(%k1, %m)\n}}\n\n"
            f"%more {{\n  %t = {state} parameter(0)\n  %n = s32[] get-tuple-element(%t), index=1\n"
            f"  %k = s32[] constant({limit})\n{end}}}\n\n"
            f"ENTRY %main {{\n  %x = {WIDE} parameter(0)\n{calls[0]}{kept[0]}  %z = s32[] constant(0)\n"
            f"  %t = {state} tuple(%k0, %z)\n  %w = {state} while(%t), condition=%more, body=%turn"
            f"{known}\n"
            f"  ROOT %r = {WIDE} get-tuple-element(%w), index=0\n}}\n"
        )

    pair = both(program(is_old=True), program(is_old=False))
    (view,) = build_view(Report("diff", "a", "b", (pair,))).functions
    changes = [one for stage in view.stages for line in stage.lines for one in line.changes if "fusion" in one.what]
    assert [(one.kind, one.count) for one in changes] == [("removed", 2)]
    assert f"{-32 * 64 * (1 + 3 * turns):,} flops" in changes[0].cost


def test_a_fusion_with_deeply_nested_ones_is_reported() -> None:
    """Each of 1,100 bodies runs the one in it twice: more than Python nests, and more operations than a float holds."""
    head = f"{{\n  p = {WIDE} parameter(0)\n"
    bodies = [f"%f0 {head}  ROOT s = {WIDE} add(p, p)\n}}\n\n"]
    for n in range(1, 1100):
        calls = [f"{name} = {WIDE} fusion({taken}), kind=kLoop, calls=%f{n - 1}\n" for name, taken in ("ap", "ba")]
        bodies.append(f"%f{n} {head}  {calls[0]}  ROOT {calls[1]}}}\n\n")

    def program(depth: int) -> Module:
        call = f"  f = {WIDE} fusion(p), kind=kLoop, calls=%f{depth - 1}\n" if depth else ""
        taken = "f" if depth else "p"
        entry = f'ENTRY %main {head}{call}  ROOT r = {WIDE} custom-call({taken}), custom_call_target="keep"\n}}\n'
        return read_text("".join(["HloModule m\n\n", *bodies[:depth], entry]))

    assert costs_of_fusions(program(0), program(3)) == ["added 1: +8,192 flops, +16.0 KiB"]
    (deep,) = costs_of_fusions(program(0), program(1100))
    assert re.match(r"added \d{300}\d*: \+[\d.e+]+ T flops", deep), deep


def test_an_all_reduce_that_was_combined_with_another_is_neither_new_nor_gone() -> None:
    """The matcher pairs the small one with that of both arrays: as many bytes are reduced in one operation less."""

    def program(is_combined: bool) -> Module:
        told = "replica_groups={{0,1}}, to_apply=%sum"
        apart = [
            f"%p = f32[4096] all-reduce(%a), channel_id=1, {told}",
            f"%q = f32[64] all-reduce(%b), channel_id=2, {told}",
        ]
        together = [
            "%c = f32[4160] concatenate(%a, %b), dimensions={0}",
            f"%r = f32[4160] all-reduce(%c), channel_id=1, {told}",
            "%p = f32[4096] slice(%r), slice={[0:4096]}",
            "%q = f32[64] slice(%r), slice={[4096:4160]}",
        ]
        lines = ["%a = f32[4096] parameter(0)", "%b = f32[64] parameter(1)", *(together if is_combined else apart)]
        return read_text(
            "HloModule m\n\n%sum {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
            "  ROOT %s = f32[] add(%x, %y)\n}\n\nENTRY %main {\n  "
            + "\n  ".join([*lines, "ROOT %t = (f32[4096], f32[64]) tuple(%p, %q)"])
            + "\n}\n"
        )

    apart, together = program(is_combined=False), program(is_combined=True)
    for sides in ((apart, together), (together, apart)):
        assert not [one for one in listed(rewritten(), both(*sides)) if "all-reduce" in one]


def edited(kind: Literal["added", "removed"], opcode: str, count: int = 1, size: int = 0, line: int = 47) -> Edit:
    """An edit of an operation of one side, with the bytes that it moves."""
    site = Site(0, 0, "main", "it", opcode, f"%it = bf16[8]{{0}} {opcode}(%p)")
    sites = ((None, site) if kind == "added" else (site, None),)
    cost = Cost(count, 0, size, size)
    source = (Frame("model.py", line, "f", 0),)
    return Edit(kind, (), count, sites, source=source, cost=(None, cost) if kind == "added" else (cost, None))


def of_edits(*edits: Edit, **counts: tuple[int, int]) -> tuple[NetWork, tuple[EditGroup, ...]]:
    """What the edits of a program are worth, and its changes."""
    module = read_text("HloModule m\n\nENTRY %main {\n  ROOT %p = bf16[8]{0} parameter(0)\n}\n")
    found = ModuleDiff(module, module, edits, op_counts=counts)
    report = Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "changed", found),))
    return NetWork(report), edit_groups_of(edits, "compiled")


@pytest.mark.parametrize(("counts", "is_moved"), [((9, 6), True), ((3, 6), False)])
def test_copies_of_another_size_are_not_new_where_the_program_has_fewer(
    counts: tuple[int, int], is_moved: bool
) -> None:
    """Of twice as many checkpoints three copies are larger, and six of others are gone."""
    work, (copies,) = of_edits(edited("added", "copy", 3, 1 << 20), copy=counts)
    assert work.is_moved(copies) is is_moved


@pytest.mark.parametrize(("counts", "is_moved"), [((3, 3), True), ((6, 3), True), ((0, 3), False), ((3, 6), False)])
def test_what_a_program_has_as_many_of_in_another_type_is_not_new(counts: tuple[int, int], is_moved: bool) -> None:
    """Three arrays in bfloat16 are padded, and three in float32 were."""
    work, (pads,) = of_edits(edited("added", "pad", 3, 1 << 20), pad=counts)
    assert work.is_moved(pads) is is_moved


@pytest.mark.parametrize("opcode", ["bitcast", "tuple", "get-tuple-element"])
def test_what_only_names_a_value_explains_no_bytes(opcode: str) -> None:
    """The fusion that follows from it reads and writes them."""
    work, (names,) = of_edits(edited("removed", opcode, 3, 1 << 20), **{opcode: (9, 6)})
    assert work.is_moved(names)


@pytest.mark.parametrize(("gone", "is_moved"), [(4, True), (1, False)])
def test_a_subgraph_that_replaced_another_is_new_only_if_its_line_has_more_of_it(gone: int, is_moved: bool) -> None:
    """Two roots more here, and four fewer in other fusions of the same line."""
    edits = [edited("removed", "slice", 2), edited("added", "sqrt", 2), edited("removed", "sqrt", gone)]
    work, _ = of_edits(*edits)
    key = "replaced", "slice", "sqrt", ()
    replaced = EditGroup(key, "replaced", 2, "2 slice by 2 sqrt", "model.py:47 (f)", group=key, edits=((0, 0), (0, 1)))
    assert work.is_moved(replaced) is is_moved
    two = (
        of_edits(*edits)[0].report.programs[0],
        of_edits(edited("added", "copy"), *edits, *edits)[0].report.programs[0],
    )
    shared = replace(replaced, edits=((0, 0), (0, 1), (1, 5), (1, 6)))
    assert NetWork(Report("diff", "a", "b", two)).is_moved(shared) is is_moved, "an edit of another program"


def test_a_copy_of_another_size_explains_nothing() -> None:
    """It is as large as what it copies, and the shortest script may have paired it with any."""
    work, _ = of_edits()
    sized = EditGroup(
        (), "changed", 1, "copy bf16[8]: shape", "", group=("changed", "copy", "copy", ("shape", "operands"))
    )
    assert not work.explains(sized)
    assert not work.explains(replace(sized, group=("changed", "copy", "reshape", ("opcode", "shape"))))


def test_a_copy_within_a_fusion_is_no_part_of_copies_that_move_bytes() -> None:
    """One function has a copy in memory, and another one a copy in a fusion, which moves nothing."""
    end = f"  ROOT %r = {WIDE} negate(%f)\n"
    tanh = f"  ROOT %t = {WIDE} tanh(%p)\n"
    old = fused(tanh, end)
    moving = fused(tanh, f"  %c = {WIDE} copy(%f)\n" + end.replace("%f", "%c"))
    within = fused(f"  %c = {WIDE} copy(%p)\n" + tanh.replace("%p", "%c"), end)

    def told(*new: Module) -> str:
        programs = [replace(both(old, one), name=name) for one, name in zip(new, "fg", strict=True)]
        return to_terminal(Report("diff", "a", "b", tuple(programs)), width=160)

    assert "[1] added    copy f32[32,64]  +16.0 KiB\n" in told(moving, moving)
    text = told(moving, within)
    assert "the same in several" not in text and "added copy f32[32,64]  (+16.0 KiB)\n" in text


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_shared_fusion_is_asked_in_its_first_program(is_shared: bool) -> None:
    """That has fewer edits than the second one, whose edits are no edits of the first."""
    work, (fusions,) = of_edits(edited("added", "fusion", 2))
    alone = work.report.programs[0]
    other = of_edits(*[edited("removed", "copy")] * 2, edited("added", "fusion"))[0].report.programs[0]
    shared = replace(fusions, edits=(*fusions.edits, *([(1, 2)] if is_shared else [])))
    assert not NetWork(Report("diff", "a", "b", (alone, other))).explains(shared), "it says nothing of launches"
