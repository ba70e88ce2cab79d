"""Where the work of a program goes: edits, what follows from them, and unedited operations account for all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import hlodiff
from hlodiff.differ import ModuleDiff, ProgramComparison
from hlodiff.report import Report, to_terminal


def compared(*lowered: Any, with_lines: bool = False) -> ModuleDiff:
    old, new = (hlodiff.read_text(one.as_text(debug_info=with_lines)) for one in lowered)
    return hlodiff.diff(old, new)


def report(found: ModuleDiff, names: Sequence[str] = ("f",)) -> str:
    programs = tuple(ProgramComparison(name, "cpu", "stablehlo", "changed", found) for name in names)
    return " ".join(to_terminal(Report("diff", "a", "b", programs)).split())


def lowered(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    return jax.jit(function).lower(*(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes))


def accounted(found: ModuleDiff) -> int:
    """By how many flops the edits say that the program is more."""
    costs = [cost for edit in found.edits for cost in (edit.cost, edit.users_cost) if cost]
    return sum(sign * cost.flops for both in costs for sign, cost in zip((-1, 1), both, strict=True) if cost)


def product(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.tanh(x @ w)


def test_a_product_that_contracts_more_is_a_cost_of_its_operand() -> None:
    """It has no edit: what it gives has the same type, and it takes the same values."""
    found = compared(lowered(product, (4, 8), (8, 16)), lowered(product, (4, 32), (32, 16)))
    assert not any("dot_general" in (site.opcode for site in edit.sites[0] if site) for edit in found.edits)
    assert accounted(found) == 2 * 4 * 16 * (32 - 8)
    assert "with +3,072 flops in what takes it" in report(found)


def test_knock_on_edits_say_what_they_cost() -> None:
    found = compared(lowered(product, (4, 8), (8, 16)), lowered(product, (6, 8), (8, 16)))
    assert accounted(found) == (2 * 8 + 1) * 2 * 16
    assert "(+ 2 knock-on edits with +544 flops)" in report(found)


def test_a_hundredth_of_the_work_of_a_program_is_not_named_as_the_cost_of_knock_on_edits() -> None:
    def beside(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(x), product(w, w)

    found = compared(lowered(beside, (4,), (64, 64)), lowered(beside, (12,), (64, 64)))
    assert accounted(found) == 12 - 4
    assert "flops" not in report(found)
    found = compared(lowered(beside, (4,), (64, 64)), lowered(beside, (12_000,), (64, 64)))
    assert "with +11,996 flops" in report(found)


def steps(x: jax.Array, w: jax.Array, length: int, unroll: int = 1) -> jax.Array:
    return jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), None), x, None, length=length, unroll=unroll)[0]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({"length": 8}, "a loop turns 8 times instead of 4; unedited operations in loops: +2,180 flops"),
        ({"length": 4, "unroll": 2}, "a loop turns 2 times instead of 4; as many flops in all"),
    ],
)
def test_operations_without_an_edit_run_more_or_less_often(after: dict[str, int], words: str) -> None:
    shapes = (4, 8), (8, 8)
    found = compared(lowered(lambda x, w: steps(x, w, 4), *shapes), lowered(lambda x, w: steps(x, w, **after), *shapes))
    assert words in report(found)


def test_calls_of_a_body_that_is_unrolled_are_named() -> None:
    """JAX calls its function `closed_call`, and its results are all that the loop carries."""

    def two(x: jax.Array, w: jax.Array, unroll: int) -> tuple[jax.Array, jax.Array]:
        def step(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
            return (jnp.tanh(carry[0] @ w), carry[1] + 1.0), None

        return jax.lax.scan(step, (x, x), None, length=4, unroll=unroll)[0]

    sides = [lowered(partial(two, unroll=unroll), (4, 8), (8, 8)) for unroll in (1, 2)]
    words = report(compared(*sides, with_lines=True))
    assert re.search(r"added (?:2x )?func.call of a loop's body \(", words), words


def test_work_that_left_a_loop_is_not_more_work() -> None:
    shapes = (40, 4, 8), (8, 8)

    def projected(x: jax.Array, w: jax.Array) -> jax.Array:
        return x @ w

    def inside(xs: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda h, x: (h + projected(x, w), None), xs[0], xs)[0]

    def before(xs: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda h, x: (h + x, None), xs[0], projected(xs, w))[0]

    one, other = lowered(inside, *shapes), lowered(before, *shapes)
    words = report(compared(one, other, with_lines=True))
    loop = r"the loop at \S*test_explained_costs.py:\d+"
    assert re.match(rf"f = same cost on cpu; dot_general moved out of {loop} ", words)
    moved = rf"out of {loop}; runs once instead of 40 times \(20,480 flops"
    assert re.search(rf"moved dot_general f32\[40,4,8\] \(was f32\[4,8\]\): {moved}", words)
    assert "here in all" not in words

    words = report(compared(other, one, with_lines=True))
    assert re.match(rf"f = same cost on cpu; dot_general moved into {loop} ", words)
    moved = rf"into {loop}; runs 40 times instead of once \(20,480 flops"
    assert re.search(rf"moved dot_general f32\[4,8\] \(was f32\[40,4,8\]\): {moved}", words)


@pytest.mark.parametrize("is_known", [True, False])
def test_what_does_not_depend_on_a_loop_runs_less_often_outside_of_it(is_known: bool) -> None:
    def until(step: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
        if is_known:
            found: jax.Array = jax.lax.fori_loop(0, 12, lambda _, h: step(h), x)
        else:
            found = jax.lax.while_loop(lambda h: h.sum() < 1.0, step, x)
        return found

    def inside(x: jax.Array, w: jax.Array) -> jax.Array:
        return until(lambda h: h * jnp.tanh(w @ w), x)

    def before(x: jax.Array, w: jax.Array) -> jax.Array:
        once = jnp.tanh(w @ w)
        return until(lambda h: h * once, x)

    words = report(compared(lowered(inside, (8, 8), (8, 8)), lowered(before, (8, 8), (8, 8)), with_lines=True))
    runs = re.escape("12 times (12,288 -> 1,024 flops" if is_known else "in every turn (1,024 flops")
    moved = rf"out of the loop at \S*test_explained_costs.py:\d+; runs once instead of {runs}"
    assert re.search(rf"moved dot_general f32\[8,8\]: {moved}", words), words


@pytest.mark.parametrize("precision", ["highest", None])
def test_another_product_outside_of_a_loop_did_not_move(precision: str | None) -> None:
    """Both do as much in one run, for a batch of 8 in the loop; or only the precision differs."""

    def f(x: jax.Array, w: jax.Array, is_inside: bool) -> jax.Array:
        def product(h: jax.Array) -> jax.Array:
            if precision is not None and is_inside:
                return jnp.dot(h[0], w.reshape(7, 32), precision=precision).reshape(8, 4)
            return jnp.einsum("bk,bkn->bn", h, w) if is_inside else (h[0] @ w.reshape(7, 32)).reshape(8, 4)

        once = 0.0 if is_inside else product(x)

        def step(h: jax.Array) -> jax.Array:
            return h + jnp.sum(product(h) if is_inside else once)

        return jax.lax.while_loop(lambda h: h.sum() < 1.0, step, x)

    sides = [lowered(partial(f, is_inside=is_inside), (8, 7), (8, 7, 4)) for is_inside in (True, False)]
    words = report(compared(*sides, with_lines=True))
    assert "out of the loop" not in words, words
    assert re.search(r"\bremoved dot_general.*added dot_general|\badded dot_general.*removed dot_general", words), words


def test_a_product_moves_out_of_the_loop_with_its_gradient() -> None:
    """They are of one line, and in two loops: the product of each step, and the sum of products of the gradient."""

    def lengths(w: jax.Array, u: jax.Array, x: jax.Array, is_inside: bool) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            return jnp.tanh((x @ w if is_inside else x) + h @ u), None

        h, _ = jax.lax.scan(step, jnp.zeros((4, 16)), x if is_inside else x @ w)
        return h.sum()

    gradient = [jax.grad(partial(lengths, is_inside=is_inside)) for is_inside in (True, False)]
    sides = [lowered(function, (7, 16), (16, 16), (20, 4, 7)) for function in gradient]
    moved = r"moved 2x dot_general f32\[\S+\], f32\[\S+\]: out of the loop at \S+; runs once instead of 20 times"
    words = report(compared(*sides, with_lines=True))
    assert re.search(moved, words) and not re.search(r"(added|removed) (\d+x )?dot_general", words), words
    assert "2 dot_general moved out of the loop" in words, words


def wave(x: jax.Array) -> jax.Array:
    return jnp.sin(jnp.exp(x))


def until_large(x: jax.Array) -> jax.Array:
    """A loop whose length depends on each row, and two calls of a jitted function in it."""
    found: jax.Array = jax.lax.while_loop(lambda h: h.sum() < 1.0, lambda h: jax.jit(wave)(jax.jit(wave)(h)), x)
    return found


@pytest.mark.parametrize("row", [wave, until_large])
@pytest.mark.parametrize("names", [["f"], ["f", "g"]], ids=["one function", "two functions"])
def test_what_a_new_loop_computes_did_not_go(row: Callable[[jax.Array], jax.Array], names: list[str]) -> None:
    def at_once(x: jax.Array) -> jax.Array:
        return jax.vmap(row)(x)

    def one_by_one(x: jax.Array) -> jax.Array:
        found: jax.Array = jax.lax.map(row, x)
        return found

    words = report(compared(lowered(at_once, (8, 4)), lowered(one_by_one, (8, 4)), with_lines=True), names)
    assert "added while" in words or "added 2x while" in words or "operations on all 8 turns at once" in words, words
    assert not re.search(r"removed (\d+x )?(while|func.call|sine)", words), words


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_loop_that_went_with_a_branch_is_said(is_reversed: bool) -> None:
    def refined(x: jax.Array) -> jax.Array:
        def until(h: jax.Array) -> jax.Array:
            found: jax.Array = jax.lax.while_loop(lambda h: h.sum() < 1.0, jnp.sin, h)
            return found

        found: jax.Array = jax.lax.cond(x[0] > 0, until, lambda h: h, jnp.tanh(x))
        return found

    sides = [lowered(function, (8,)) for function in (refined, jnp.tanh)]
    words = report(compared(*(sides[::-1] if is_reversed else sides), with_lines=True))
    assert f"StableHLO: 1 loop {'added' if is_reversed else 'gone'} (of unknown length)" in words, words


def test_what_another_loop_of_a_line_computes_now_is_one_change() -> None:
    """The index of a step counts down in the loop that runs backwards, which the loop of the gradient did before."""

    def loss(x: jax.Array, w: jax.Array, reverse: bool) -> jax.Array:
        return jax.lax.scan(lambda h, y: (jnp.tanh(h @ w + y), None), x[0], x, reverse=reverse)[0].sum()

    sides = [lowered(jax.grad(partial(loss, reverse=reverse), argnums=1), (6, 8), (8, 8)) for reverse in (False, True)]
    words = report(compared(*sides, with_lines=True))
    assert re.search(r"moved 2x subtract s32\[\]: to another loop at \S*test_explained_costs.py:\d+", words), words
    assert "here in all" not in words


def test_another_pass_inside_a_loop_is_no_other_loop() -> None:
    def solved(jacobian: Callable[..., Any]) -> Callable[[jax.Array], jax.Array]:
        def step(h: jax.Array, _: None) -> tuple[jax.Array, None]:
            w = jnp.ones((6, 6))
            return h + jax.vmap(jacobian(lambda x: jnp.tanh(jnp.tanh(x @ w) @ w)))(h).sum(1), None

        return lambda x: jax.lax.scan(step, x, None, length=5)[0]

    words = report(compared(*(lowered(solved(one), (3, 6)) for one in (jax.jacfwd, jax.jacrev)), with_lines=True))
    assert "moved 2x multiply f32[3,6,6] (1,080 flops)" in words and "another loop" not in words, words


def test_a_new_argument_is_in_the_first_line_beside_the_edit() -> None:
    found = compared(lowered(lambda x: x * 0.5, (8,)), lowered(lambda x, scale: x * scale, (8,), ()))
    assert report(found).partition(" changed on ")[0].endswith("1 new argument; constant -> parameter")


def test_a_call_is_not_counted_by_its_opcode() -> None:
    found = compared(lowered(jnp.tanh, (8,)), lowered(lambda x: jax.nn.silu(jnp.tanh(x)), (8,)), with_lines=True)
    assert "added func.call silu" in report(found)
    assert "here in all" not in report(found)


HEAD = """HloModule m

FileNames
1 "/srv/model.py"

FunctionNames
1 "call"

FileLocations
1 {file_name_id=1 function_name_id=1 line=62 end_line=62 column=4 end_column=20}
2 {file_name_id=1 function_name_id=1 line=102 end_line=102 column=4 end_column=20}

StackFrames
1 {file_location_id=1 parent_frame_id=0}
2 {file_location_id=2 parent_frame_id=0}

"""
PRODUCT = """%NAME {
  %a = f32[8,16]{1,0} parameter(0)
  %b = f32[16,SIZE]{1,0} parameter(1)
  ROOT %d = f32[8,SIZE]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}LINE
}

"""


def test_a_body_that_several_lines_share_has_no_line_for_what_follows() -> None:
    """XLA keeps equal bodies once, with the line of one of their calls."""

    def at(line: int) -> str:
        return f", metadata={{stack_frame_id={line}}}"

    def program(size: int) -> hlodiff.Module:
        hidden, head = (
            PRODUCT.replace("NAME", name).replace("SIZE", str(columns)).replace("LINE", at(line))
            for name, columns, line in (("hidden", 256, 1), ("head", size, 2))
        )
        own = "head" if size != 256 else "hidden"
        return hlodiff.read_text(
            f"{HEAD}{hidden}{head if own == 'head' else ''}ENTRY %main {{\n"
            "  %x = f32[8,16]{1,0} parameter(0)\n  %w = f32[16,256]{1,0} parameter(1)\n"
            f"  %u = f32[16,{size}]{{1,0}} parameter(2)\n"
            "  %h = f32[8,256]{1,0} fusion(%x, %w), kind=kOutput, calls=%hidden, metadata={stack_frame_id=1}\n"
            f"  %l = f32[8,{size}]{{1,0}} fusion(%x, %u), kind=kOutput, calls=%{own}, metadata={{stack_frame_id=2}}\n"
            f"  ROOT %r = (f32[8,256]{{1,0}}, f32[8,{size}]{{1,0}}) tuple(%h, %l)\n}}\n"
        )

    def told(size: int) -> str:
        found = hlodiff.diff(program(200), program(size))
        compiled = ProgramComparison("f", "cuda-h100", "compiled", "changed", found)
        return " ".join(to_terminal(Report("diff", "a", "b", (compiled,))).split())

    assert "(+ 4 knock-on edits with +12,288 flops, most at model.py:102)" in told(248)
    assert "(+ 4 knock-on edits with +14,336 flops)" in told(256)


SHARED = f"""{HEAD}%body {{
  %a = f32[8,16]{{1,0}} parameter(0)
  %b = f32[8,16]{{1,0}} parameter(1)
  %m = f32[8,16]{{1,0}} multiply(%a, %b), metadata={{stack_frame_id=1}}
  ROOT %t = f32[8,16]{{1,0}} tanh(%m), metadata={{stack_frame_id=1}}
}}

ENTRY %main {{
  %x = f32[8,16]{{1,0}} parameter(0)
  %y = f32[8,16]{{1,0}} parameter(1)
  %f = f32[8,16]{{1,0}} fusion(%x, %y), kind=kLoop, calls=%body, metadata={{stack_frame_id=1}}
  %g = f32[8,16]{{1,0}} fusion(%f, %y), kind=kLoop, calls=%body, metadata={{stack_frame_id=2}}
  ROOT %r = (f32[8,16]{{1,0}}, f32[8,16]{{1,0}}) tuple(%f, %g)
}}
"""


def test_loops_that_share_a_body_have_the_cost_of_their_own_turns() -> None:
    """XLA keeps equal bodies once: two loops of two lines, with four turns each."""
    state, body = "(s32[], f32[8,16]{1,0})", ", condition=%more, body=%turn"
    known = 'backend_config={"known_trip_count":{"n":"4"}}'
    bodies = (
        f"%turn {{\n  %t = {state} parameter(0)\n  %n = s32[] get-tuple-element(%t), index=0\n"
        "  %x = f32[8,16]{1,0} get-tuple-element(%t), index=1\n  %c = s32[] constant(1)\n  %m = s32[] add(%n, %c)\n"
        f"  %y = f32[8,16]{{1,0}} tanh(%x)\n  ROOT %o = {state} tuple(%m, %y)\n}}\n\n"
        f"%more {{\n  %t = {state} parameter(0)\n  %n = s32[] get-tuple-element(%t), index=0\n"
        "  %k = s32[] constant(4)\n  ROOT %l = pred[] compare(%n, %k), direction=LT\n}\n\n"
    )

    def program(has_loops: bool) -> hlodiff.Module:
        lines = ["%x = f32[8,16]{1,0} parameter(0)", "%y = f32[8,16]{1,0} parameter(1)", "%z = s32[] constant(0)"]
        for n, taken in enumerate("xy" if has_loops else ""):
            lines += [f"%s{n} = {state} tuple(%z, %{taken})"]
            lines += [f"%w{n} = {state} while(%s{n}){body}, metadata={{stack_frame_id={n + 1}}}, {known}"]
            lines += [f"%r{n} = f32[8,16]{{1,0}} get-tuple-element(%w{n}), index=1"]
        results = "%r0, %r1" if has_loops else "%x, %y"
        lines += [f"ROOT %r = (f32[8,16]{{1,0}}, f32[8,16]{{1,0}}) tuple({results})"]
        return hlodiff.read_text(f"{HEAD}{bodies * has_loops}ENTRY %main {{\n  " + "\n  ".join(lines) + "\n}\n")

    for sides, sign in (((False, True), "+"), ((True, False), "-")):
        compiled = ProgramComparison("f", "cpu", "compiled", "changed", hlodiff.diff(*map(program, sides)))
        told = to_terminal(Report("diff", "a", "b", (compiled,), all=True), width=200)
        found = [line for line in told.splitlines() if " while " in line and "flops" in line]
        assert [f"{sign}516 flops" in line for line in found] == [True, True], told
        assert told.count("1 add, 1 compare, 1 tanh") == 2, told


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("line", [1, 2])
def test_an_edit_in_a_body_that_several_lines_share_names_one_of_them(line: int, everything: bool) -> None:
    old = SHARED.replace("ROOT %t = f32[8,16]{1,0} tanh(%m)", "ROOT %t = f32[8,16]{1,0} negate(%n)").replace(
        "\n  ROOT %t", "\n  %n = f32[8,16]{1,0} cosine(%m), metadata={stack_frame_id=1}\n  ROOT %t"
    )
    old, new = (
        one.replace("calls=%body, metadata={stack_frame_id=2}", f"calls=%body, metadata={{stack_frame_id={line}}}")
        for one in (old, old.replace("cosine(%m)", "sine(%m)").replace("negate(%n)", "exponential(%n)"))
    )
    compiled = ProgramComparison(
        "f", "cpu", "compiled", "changed", hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new))
    )
    told = to_terminal(Report("diff", "a", "b", (compiled,), all=everything), width=200)
    places = [text.partition(" (call)")[2] for text in told.splitlines() if "model.py:62" in text and "2x" in text]
    assert places and set(places) == {" or other lines" if line == 2 else ""}, told


def test_what_one_of_two_functions_undoes_of_a_shared_change_is_said_of_that_function() -> None:
    def program(*operations: str) -> hlodiff.Module:
        lines = "".join(
            f"    %{n} = stablehlo.{opcode} %arg{arg} : tensor<{size}xf32>\n"
            for n, (opcode, arg, size) in enumerate(one.split() for one in operations)
        )
        given = ", ".join(f"%{n}" for n in range(len(operations)))
        types = ", ".join(f"tensor<{one.split()[2]}xf32>" for one in operations)
        return hlodiff.read_text(
            "module @m {\n  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<16xf32>) -> "
            f"({types}) {{\n{lines}    return {given} : {types}\n  }}\n}}\n"
        )

    undone = hlodiff.diff(program("sine 0 8", "cosine 1 16"), program("sine 0 8", "tanh 1 16", "cosine 0 8"))
    more = hlodiff.diff(program("sine 0 8", "tanh 1 16"), program("sine 0 8", "tanh 1 16", "cosine 0 8"))

    def told(**found: ModuleDiff) -> str:
        programs = (ProgramComparison(name, "cpu", "stablehlo", "changed", one) for name, one in found.items())
        return " ".join(to_terminal(Report("diff", "a", "b", tuple(programs))).split())

    assert "added cosine f32[8] +8 flops; cosine in all -8 flops in f" in told(f=undone, g=more)
    assert "added cosine f32[8] +8 flops; cosine in all -8 flops " in told(f=undone, g=undone)
    assert "in all" not in told(f=more, g=more)
