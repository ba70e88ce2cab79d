"""What happened, in the first line: the one name, loop, operation, field or buffer that explains a program."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import hlodiff
from hlodiff.differ import ProgramComparison
from hlodiff.report import ChangedLine, ChangeView, EditGroup, Report
from hlodiff.report.main_edit import OperationCounts, main_edit, new_and_gone
from tests.scenarios import compare
from tests.shown import happened
from tests.test_edited_lines import Sources, edited

ALIASED = """HloModule m, input_output_alias={ {}: (0, {}, may-alias) }

ENTRY e {
  %p = f32[4096]{0} parameter(0), metadata={op_name="x"}
  ROOT %n = f32[4096]{0} negate(%p)
}
"""


def one(
    kind: str, old: str, new: str, what: str = "", count: int = 1, fields: tuple[str, ...] = (), where: str = ""
) -> EditGroup:
    return EditGroup((), kind, count, what, where, group=(kind, old, new, fields))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("h = jax.nn.gelu(x)", "h = jax.nn.silu(x)", "jax.nn.gelu -> jax.nn.silu"),
        ("h = silu(x)", "h = square(relu(x))", "silu(x) -> square(relu(x))"),
        ("h = gelu(x) + gelu(y)", "h = silu(x) + silu(y)", "gelu() -> silu()"),
        ("return (jnp.tanh(", "return (jnp.exp(", "jnp.tanh -> jnp.exp"),
        ("y = x.sum(axis=0)", "y = x.sum(axis=1)", "axis: 0 -> 1"),
        ("y = softmax(x, axis=-1)", "y = softmax(x, axis=-2)", "axis: -1 -> -2"),
        ("y = drop(x, key=one)", "y = drop(x, key=two)", "key: one -> two"),
        ('k = key(0, impl="rbg")', 'k = key(0, impl="threefry2x32")', 'impl: "rbg" -> "threefry2x32"'),
        ("y = scan(f, x, unroll=1)", "y = scan(f, x, unroll=True)", "unroll: 1 -> True"),
        ("dt0=0.1,", "dt0=None,", "dt0: 0.1 -> None"),
        ("RATE = 0.1", "RATE = 0.2", "RATE: 0.1 -> 0.2"),
        (
            'h = hint(h, P("x", None, "y"))',
            'h = hint(h, P("x", None, None))',
            'P("x", None, "y") -> P("x", None, None)',
        ),
        (
            "return (1 - update) * new + update * h",
            "return update * new + (1 - update) * h",
            "(1 - update) * new + update * h -> update * new + (1 - update) * h",
        ),
        ("WIDTH, SIZE, DEPTH = 12, 32, 5", "WIDTH, SIZE, DEPTH = 12, 48, 5", "SIZE: 32 -> 48"),
        ("a, b = 12, f(32)", "a, b = 12, f(48)", "f(32) -> f(48)"),
        (
            "@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)",
            "@partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)",
            "policy: dots_saveable -> nothing_saveable",
        ),
        (
            "policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable",
            "policy = jax.checkpoint_policies.nothing_saveable",
            "dots_with_no_batch_dims_saveable -> nothing_saveable",
        ),
        ("step=d.PID(rtol=1e-3, atol=1e-6),", "step=d.Constant(),", "d.PID -> d.Constant"),
        ("y = f(x) + a", "y = g(x, 2) + a", "f() -> g()"),
        ("y = f(x) + a", "y = g(f(x)) + a", "g() added"),
        ("y = g(f(x)) + a", "y = f(x) + a", "g() gone"),
        ("y = f(x) + a", "y = g(x, 2) + b", "f(x) + a -> g(x, 2) + b"),
        ("y = jnp.where(m, e, 0.0)", "y = m * e", "jnp.where(m, e, 0.0) -> m * e"),
        ("y = x - 1", "y = x - 2", "x - 1 -> x - 2"),
        (
            "return jax.tree.map(lambda p, v: p - RATE * v, params, velocity)",
            "return jax.tree.map(lambda p, v, g: p - RATE * (MOMENTUM * v + g), params, velocity, gradients)",
            "",  # `jax.tree.map(...)` would hide what differs
        ),
        ("y = f(a, ts=ts)", "y = f(a, ts=ts, fn=lambda t, y: tanh(y))", "fn=lambda t, y: tanh(y) added"),
        ("y = x * 2.0", "y = x * 3.0", "x * 2.0 -> x * 3.0"),
        ("y = f(x, a)", "y = g(x, b)", "f(x, a) -> g(x, b)"),
        ("y = where(m, a, b)", "y = where(m, b, a)", "a and b exchanged"),
        ("y = a - b + f(a)", "y = b - a + f(a)", "a and b exchanged"),
        ("y = f(a, b)", "y = f(b, c)", "f(a, b) -> f(b, c)"),
        ("y = f(a) + b", "y = f(a) - b", "f(a) + b -> f(a) - b"),
        ("y = f(x)", "y = f(x).astype(t)", ".astype(t) added"),
        ("y = f(x)", "", "y = f(x) gone"),
        ("", "    loss += 1e-4 * penalty(x)  # keeps them small", "loss += 1e-4 * penalty(x) added"),
        ("    clip(1.0),", "", "clip(1.0) gone"),
        ("", "y = f(x,", ""),
        ("y = scan(f, x)", "y = scan(f, x, reverse=True)", "reverse=True added"),
        ("y = f(x, stride=2))", "y = f(x))", "stride=2 gone"),
        ("y = f(x, b=1, c=2)", "y = f(x, c=2)", "b=1 gone"),
        ("y = f(c=2)", "y = f(b=1, c=2)", "b=1 added"),
        ("y = f(x)", "y = f(x, b=g(1))", "b=g(1) added"),
        ("y = mean(x)", "y = mean(x, where=labels[..., None] != 0)", "where=labels[..., None]!=0 added"),
        ("y = f(x)", "y = f(x, where=(a_long_name > 0) & (another_much_longer_name < 1))", "where=... added"),
        ("y = clip(g, -1.0, 1.0)", "y = clip(g, -0.5, 0.5)", "clip(g, -1.0, 1.0) -> clip(g, -0.5, 0.5)"),
        ("x = like((64, 16), t)", "x = like((128, 16), t)", "(64, 16) -> (128, 16)"),
        ("y = x[2] + f(x)", "y = x[3] + f(x)", "x[2] -> x[3]"),
        (
            "y = stack([pull - rates[0] * root**2, rates[0] * root**2 - rates[1] * stem])",
            "y = stack([pull - rates[0] * root**1.5, rates[0] * root**2 - rates[1] * stem])",
            "root**2 -> root**1.5",
        ),
        ("y = f(x, 2)", "y = f(x, 2, 3)", "f(x, 2) -> f(x, 2, 3)"),
        ("y = f(x, 2 * a)", "y = f(x, a)", "2 * a -> a"),
        ("y = f(x,", "y = f(x, 2,", ""),
        ("y = f(x, a=1)", "y = g(x)", "f() -> g()"),
        ("y: int = 2", "y", ""),
        ("throw=False,", "throw=True,", "throw: False -> True"),
        ("x, unroll=2,", "x,", "unroll=2 gone"),
        ("y = where(m, y, carry[0])", "y = where(m, y, 0.0)", "carry[0] -> 0.0"),
        ("y = where(m, y[0])", "y = where(m, y[0] + 1)", "+ 1 added"),
        ("y = where(m, y[0], 1)", "y = where(m, y, 1)", "[0] gone"),
        ('y = conv(x, k, "SAME", d)', 'y = conv(x, k, "VALID", d)', '"SAME" -> "VALID"'),
        ('NAME = "SAME"', 'NAME = "VALID"', '"SAME" -> "VALID"'),
        ("def f(x: A, rate: float = 0.1) -> A:", "def f(x: A, rate: float = 0.2) -> A:", "rate: 0.1 -> 0.2"),
        ("eps: Float[A, 'n d'] = 1e-5", "eps: Float[A, 'n d'] = 1e-6", "eps: 1e-5 -> 1e-6"),
        ("else: x = 1", "else: x = 2", "x: 1 -> 2"),
        ("return x + f(x)", "return f(x)", "x + f(x) -> f(x)"),
        ("y = f(x) * w", "y = f(x)", "* w gone"),
        ("y = f(x)[:, :-1]", "y = f(x)", "[:, :-1] gone"),
        ("y = psum(g, a)", "y = psum(clip(g, -1.0, 1.0), a)", "clip(..., -1.0, 1.0) added"),
        ("k = split(key)", "k = split(key, 3)[1:]", "split(key) -> split(key, 3)[1:]"),
        ("y = a + f(p for p in x)", "y = a + f(p for p in x if p)", "if p added"),
        (
            'return jnp.tanh(drive + weights["bias"])',
            'return hidden + jnp.tanh(drive + weights["bias"])',
            "jnp.tanh(...) -> hidden + jnp.tanh(...)",
        ),
        (
            "v = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)",
            "v = jnp.mean(x**2, axis=-1, keepdims=True) - mean**2",
            "jnp.mean((x - mean) ** 2, ...) -> jnp.mean(x**2, ...) - mean**2",
        ),
        ("y = long_name_of_one(x) * 2 + long_name(x) + long_name_of(x)", "y = 2 + x - other_name_of_one(y)", ""),
        (
            'k = shard(k, P("data", "model", None))',
            'k = shard(k, P("data", None, "model"))',
            '"model" and None exchanged',
        ),
        ("at=d.At(t1=True),", "at=d.At(ts=linspace(0.0, end, 5)),", "t1=True -> ts=linspace(0.0, end, 5)"),
        ("y = f(x, *a, k=1)", "y = f(x, *a, j=(1, 2))", "k=1 -> j=(1, 2)"),
        ("y = f(x, a=1)", "y = f(x, b=g(1), c=2)", "f(x, a=1) -> f(x, b=g(1), c=2)"),
        ("y = f(x)  # one", "y = f(x)  # two", ""),
        ("y = f(x)", "z = g(a) + b", ""),
        ("y = 0.8 * (x + 0.04 * x**3)", "y = 0.8 * (x + 0.04 * x**2)", "x**3 -> x**2"),
        ("y = 0.8 * (x + 0.04 * x**3)", "y = 0.8 * (x + 0.04 * power(x, 3.0))", "x**3 -> power(x, 3.0)"),
        ("y = 0.8 * (x + 0.04 * x**3)", "y = 0.8 * (x + 0.04 * x * x * x)", "0.04 * x**3 -> 0.04 * x * x * x"),
        ("return x**3", "return soft(clip(y))", "x**3 -> soft(clip(y))"),
        ("y = 3 * (a + 1)", "y = 3 * (a + 2)", "a + 1 -> a + 2"),
        ("return (a + 1)", "return (a + 2)", "a + 1 -> a + 2"),
        (
            'y = jnp.einsum("bld,nd->bln", hidden, table[negatives], preferred_element_type=jnp.float32)',
            'y = jnp.einsum("bld,nd->bln", hidden, table[negatives]).astype(jnp.float32)',
            "preferred_element_type=jnp.float32 gone, .astype(jnp.float32) added",
        ),
        (
            'everything = jax.lax.all_gather(items, "data", tiled=True)',
            'everything = jax.lax.all_gather(items.astype(jnp.bfloat16), "data", tiled=True).astype(items.dtype)',
            ".astype(jnp.bfloat16) and .astype(items.dtype) added",
        ),
        (
            'everything = jax.lax.all_gather(items.astype(jnp.bfloat16), "data", tiled=True).astype(items.dtype)',
            'everything = jax.lax.all_gather(items, "data", tiled=True)',
            ".astype(jnp.bfloat16) and .astype(items.dtype) gone",
        ),
        (
            "y = jnp.sum(jnp.where(mask[..., None], values, 0.0), axis=-1).astype(jnp.float32) + bias",
            "y = jnp.sum(jnp.where(other[..., None], values, 1.0), axis=-1) + bias.astype(jnp.float32)",
            "",  # `jnp.sum(...)` would hide what differs
        ),
        (
            "z = dot(x, wx) + dot(h, wh)",
            "z = dot(x, wx).astype(jnp.bfloat16) + dot(h, wh).astype(jnp.bfloat16)",
            "2x .astype(jnp.bfloat16) added",
        ),
        ("opt = o.chain(o.clip(1.0), o.adam(1e-3))", "opt = o.chain(o.adam(1e-3))", "o.clip(1.0) gone"),
        ("opt = o.chain(o.adam(1e-3))", "opt = o.chain(o.adam(1e-3), o.ema(0.9))", "o.ema(0.9) added"),
    ],
)
def test_the_name_that_was_written_for_another(old: str, new: str, words: str) -> None:
    assert main_edit("worse: flops +8 %", (), [ChangedLine("a.py:1", "", old, new)], ()) == words


def test_a_cast_that_was_written_says_more_than_how_many_values_have_its_type() -> None:
    line = ChangedLine("a.py:1", "", "y = psum(x, i)", "y = psum(x.astype(bf16), i)")
    values = "3 values now bf16 instead of f32"
    assert main_edit("same cost", (values,), (line,), ()) == ".astype(bf16) added"
    assert main_edit("same cost", (values,), (), ()) == values
    assert main_edit("same cost", ("1 value now in host memory instead of vmem",), (line,), ()).startswith("1 value")


def test_operations_that_a_function_of_their_own_does_now_are_not_gone() -> None:
    counts = OperationCounts(Counter({"func.call cell": 4}), Counter({"dot_general": 4, "add": 4}), Counter())
    kept = {"dot_general": (18, 18), "add": (9, 9)}
    assert "gone" not in main_edit("same cost", (), (), (), counts, kept)
    assert "4 add gone" in main_edit("same cost", (), (), (), counts, kept | {"add": (9, 5)})


def test_what_computes_again_follows_from_another_adjoint() -> None:
    """It is the change itself where a checkpoint was written or deleted."""
    again = "at least 11 operations are computed again in the backward pass (rematerialisation)"
    adjoint = ChangedLine("a.py:1", "", "", "adjoint=diffrax.DirectAdjoint(),")
    assert main_edit("same cost", (again,), (adjoint,), ()) == "adjoint=diffrax.DirectAdjoint() added"
    block = ChangedLine("a.py:1", "", "x = block(x)", "x = jax.checkpoint(block)(x)")
    assert main_edit("same cost", (again,), (block,), ()) == again.removesuffix(" (rematerialisation)")


def test_a_call_that_one_of_two_lines_lost_to_the_other_moved() -> None:
    """A readout that is computed in the loop now is no readout more."""
    inside = ChangedLine("a.py:4", "", "return states, y", "return states, self.readout(y)")
    behind = ChangedLine("a.py:7", "", "return jax.vmap(self.readout)(outputs)", "return outputs")
    moved = "self.readout moved from a.py:7 to a.py:4"
    assert main_edit("same cost", (), (inside, behind), ()) == moved
    assert main_edit("same cost", (), (behind, inside), ()) == moved
    kept = replace(behind, new_source="return self.readout(outputs)")
    assert "moved" not in main_edit("same cost", (), (inside, kept), ())


def test_two_edited_lines_are_named_and_three_are_no_one_change() -> None:
    lines = [ChangedLine(f"a.py:{n}", "", f"f(x{n})", f"g(x{n})") for n in (1, 2, 3)]
    assert main_edit("worse: flops +8 %", (), lines[:2], ()) == "f() -> g() at a.py:1, and an edit at a.py:2"
    assert main_edit("worse: flops +8 %", (), lines, ()) == ""
    long = ChangedLine(
        "a.py:1", "", "a, b = scan(step, (h, key), None, length=n)", "c = scan(step, h, split(key, n))[1]"
    )
    gone = ChangedLine("a.py:9", "a.py:9", "key, now = split(key)")
    words = "key, now = split(key) gone at a.py:9, and an edit at a.py:1"
    assert main_edit("same cost", (), (long, gone), ()) == words
    name = "cross_entropy_with_integer_labels(...) -> cross_entropy_of_labels(...)"
    call = ChangedLine("a.py:1", "", "y = optax.cross_entropy_with_integer_labels(logits, targets)")
    call = replace(call, new_source="y = optax.cross_entropy_of_labels(logits, smooth)")
    assert main_edit("same cost", (), (call, ChangedLine("a.py:9", "", "", "smooth = f(x, 3)")), ()) == name


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([one("added", "", "exponential")], "exponential added"),
        ([one("removed", "divide", "", count=2)], "2x divide gone"),
        ([one("added", "", "func.call clip", count=2)], "2x clip() added"),
        ([one("removed", "func.call silu", ""), one("added", "", "tanh")], "silu() -> tanh"),
        ([one("removed", "tanh", ""), one("added", "", "exponential")], "tanh -> exponential"),
        (
            [one("removed", "tanh", "", where="a.py:1"), one("added", "", "exponential", where="a.py:2")],
            "exponential added, tanh gone",
        ),
        ([one("removed", "fusion", ""), one("added", "", "copy", count=3)], "3x copy added, fusion gone"),
        ([one("removed", "while", ""), one("added", "", "func.call", count=5)], "1 loop gone"),
        ([one("added", "", "add"), one("added", "", "multiply")], ""),
        ([one("changed", "tanh", "sine", fields=("operands",))], "tanh -> sine"),
        ([one("changed", "dot", "dot", "dot %d.1: precision: a -> b", fields=("precision",))], "dot precision: a -> b"),
        ([one("changed", "dot", "dot", "dot: x; y", fields=("precision", "shape"))], ""),
        ([one("added", "", "all-gather")], ""),
        ([one("changed", "divide", "multiply"), one("changed", "sqrt", "rsqrt")], "divide -> multiply, sqrt -> rsqrt"),
        ([one("changed", "tanh", "sine", where="a.py:1"), one("changed", "abs", "sign", where="a.py:2")], ""),
    ],
)
def test_the_only_kind_of_operation(groups: list[EditGroup], words: str) -> None:
    assert main_edit("worse: +1 all-gather (8 B)", (), (), groups) == words


def test_what_was_written_is_said_where_the_sentence_is_too_long() -> None:
    line = ChangedLine("a.py:1", "", "saveat=SaveAt(ts=times),", "saveat=SaveAt(t1=True),")
    results = "result 0 is f32[1,3,2] instead of f32[20,3,2], result 1 is f32[1,3,2] instead of f32[20,3,2]"
    assert main_edit("better: temp -35 %", (results,), (line,), ()) == "SaveAt(ts=times) -> SaveAt(t1=True)"
    assert main_edit("better: temp -35 %", (results[:45],), (line,), ()) == results[:45]
    both = "SaveAt(ts=times) -> SaveAt(t1=True), 3 loops gone"
    assert main_edit("mixed", (), (line,), [one("removed", "while", "", count=3)]) == both


def test_a_loop_in_another_function_is_not_gone() -> None:
    groups = [one("removed", "while", ""), one("added", "", "func.call", count=5)]
    assert main_edit("mixed", (), (), groups, op_counts={"while": (4, 3)}) == "1 loop gone"
    assert "loop" not in main_edit("mixed", (), (), groups, op_counts={"while": (4, 4)})


def test_as_many_loops_are_added_as_the_program_has_more() -> None:
    """One that is too different from the old one is listed as removed, and the new one follows from another."""
    groups = [one("added", "", "while", count=2), one("removed", "while", "")]
    assert main_edit("mixed", (), (), groups) == "1 loop added"
    assert main_edit("mixed", (), (), groups, op_counts={"while": (9, 11)}) == "2 loops added"


def test_operations_of_the_edited_line_come_first() -> None:
    line, long = ChangedLine("a.py:1", "", "y = (", f"y = {'long_' * 20}("), [one("added", "", "add", where="a.py:1")]
    others = [one("removed", "divide", "", where="b.py:9", count=40), one("added", "", "sine", where="b.py:9")]
    assert main_edit("same cost", (), (line,), [*others, *long]) == "add added"
    assert main_edit("same cost", (), (replace(line, is_elsewhere=True),), [*others, *long]) == ""


def test_an_operation_that_came_and_went_is_not_left_out() -> None:
    here = [one("removed", "reduce", "", count=5), one("removed", "subtract", ""), one("added", "", "subtract")]
    assert main_edit("same cost", (), (), [*here, one("added", "", "multiply", count=15)]) == ""


def test_a_loop_has_the_line_that_was_edited_where_it_is_known() -> None:
    groups = [one("added", "", "while", where="solve.py:14 (solve)")]
    assert main_edit("worse: temp +8 %", (), (), groups) == "1 loop added at solve.py:14"
    line = ChangedLine("solve.py:10 (field)", "", "return w @ h", "return lax.fori_loop(0, 3, body, w @ h)")
    words = "w @ h -> lax.fori_loop(0, 3, body, w @ h), 1 loop added"
    assert main_edit("worse: temp +8 %", (), (line,), groups) == words


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("h = lax.stop_gradient(f(h, x))", "lax.stop_gradient() added, 1 loop gone"),
        ("h = f(h, x) * decay", "* decay added, 1 loop gone"),
    ],
)
def test_what_was_written_comes_before_the_loop_that_it_cost(new: str, words: str) -> None:
    line = ChangedLine("rnn.py:38 (turn)", "", "h = f(h, x)", new)
    groups = [one("removed", "while", "", where="rnn.py:42 (run)")]
    assert main_edit("better: temp -83 %", (), (line,), groups) == words


def test_operands_that_were_exchanged_are_shown_as_they_were_written() -> None:
    line = ChangedLine("rnn.py:30 (cell)", "", "return (1 - z) * n + z * h", "return z * n + (1 - z) * h")
    sentence = "the same operations are connected differently"
    assert main_edit("same cost", (sentence,), (line,), ()) == "(1 - z) * n + z * h -> z * n + (1 - z) * h"
    assert main_edit("same cost", (sentence,), (), ()) == sentence


def test_the_dimensions_of_a_broadcast_are_not_the_change_where_work_was_added() -> None:
    here = "net.py:4"
    what = "broadcast_in_dim %b f32[6,5]: broadcast_dimensions: [] -> [0, 1]"
    moved = one("changed", "broadcast_in_dim", "broadcast_in_dim", what, 1, ("attribute:broadcast_dimensions",), here)
    line = ChangedLine(here, "", "return f(x, 1)", "y = g(x); return f(y, h(x))")
    said = main_edit("worse: temp +8 %", (), (line,), [one("added", "", "reduce", where=here, count=2), moved])
    assert "broadcast" not in said
    assert main_edit("worse: temp +8 %", (), (line,), [moved]).startswith("broadcast_in_dim broadcast_dimensions")


def test_what_only_hands_a_value_on_is_not_the_change() -> None:
    handed = one(
        "changed", "bitcast", "bitcast", "bitcast %b.1 f32[4,2]: shape: f32[2,4] -> f32[4,2]", fields=("shape",)
    )
    turned = "transpose %t.1 f32[4,2]: dimensions: {1,0} -> {0,1}"
    groups = [handed, one("changed", "transpose", "transpose", turned, fields=("dimensions",))]
    assert main_edit("same cost", (), (), groups) == "transpose dimensions: {1,0} -> {0,1}"
    assert main_edit("same cost", (), (), groups[:1]) == "bitcast shape: f32[2,4] -> f32[4,2]"


def test_other_operands() -> None:
    groups = [one("changed", "dot", "dot", "dot %d.1 f32[8]: operands", fields=("operands",))]
    assert main_edit("same cost", (), (), groups) == "dot has other operands"
    assert main_edit("same cost", (), (), groups * 3) == "3 dot operations have other operands"
    groups.append(one("changed", "add", "add", "add %a.1 f32[8]: operands", count=2, fields=("operands",)))
    assert main_edit("same cost", (), (), groups) == "3 operations have other operands"


def test_a_field_that_is_too_long_for_a_first_line_is_named() -> None:
    what = "collective_permute %c f32[8]: source-target pairs: [[0, 1], [1, 2], [2, 0]] -> [[0, 2], [1, 0], [2, 1]]"
    groups = [one("changed", "collective_permute", "collective_permute", what, fields=("replica_groups",))]
    assert main_edit("same cost", (), (), groups) == "collective_permute has other source-target pairs"


def test_what_comes_back_elsewhere_is_not_replaced() -> None:
    groups = [one("removed", "convert", ""), one("added", "", "add")]
    # The cast is there again, among the knock-on edits of the sum.
    assert main_edit("same cost", (), (), groups, op_counts={"convert": (5, 5), "add": (4, 5)}) == "add added"
    assert main_edit("same cost", (), (), groups, op_counts={"convert": (5, 4), "add": (4, 5)}) == "convert -> add"
    elsewhere = [EditGroup((), "removed", 1, "", "a.py:1", group=("removed", "convert", "", ())), groups[1]]
    assert main_edit("same cost", (), (), elsewhere) == "add added, convert gone"


@pytest.mark.parametrize(
    ("added", "removed", "words"),
    [
        ({"subtract": 1, "compare": 1, "and": 1}, {}, "3 operations added: and, compare, subtract"),
        ({"dot": 4, "divide": 2, "tanh": 1, "abs": 1}, {}, "8 operations added: 4 dot, 2 divide, abs, 1 more"),
        ({}, {"add": 4, "constant": 8}, "4 operations gone: 4 add"),
        ({"chlo.square": 2, "add": 1}, {}, "3 operations added: 2 square, add"),
        ({"add": 1}, {}, ""),
        ({"abs": 3, "maximum": 1}, {"multiply": 3, "sqrt": 1}, "3 multiply, sqrt -> 3 abs, maximum"),
        ({"add": 3, "dot": 1}, {"add": 1, "tanh": 1}, "tanh -> dot, 2 add"),
        ({"add": 1}, {"add": 1, "tanh": 1}, "tanh gone"),
        ({"func.call _where": 2, "add": 2}, {}, "4 operations added: 2 add, 2 _where()"),
    ],
)  # fmt: skip
def test_many_changes(added: dict[str, int], removed: dict[str, int], words: str) -> None:
    groups = [one("added", "", "add"), one("added", "", "dot")]
    assert main_edit("same cost", (), (), groups, OperationCounts(Counter(added), Counter(removed))) == words


def test_operations_of_several_lines_are_not_one_for_another() -> None:
    groups = [one("added", "", opcode, where="a.py:1 (f)") for opcode in ("abs", "maximum")]
    counts = OperationCounts(Counter({"abs": 2, "maximum": 1}), Counter({"sqrt": 2, "add": 1}))
    of_one_line = [*groups, one("removed", "sqrt", "", where="a.py:1")]
    assert main_edit("same cost", (), (), of_one_line, counts) == "2 sqrt, add -> 2 abs, maximum"
    elsewhere = [*groups, one("removed", "sqrt", "", where="a.py:2")]
    assert main_edit("same cost", (), (), elsewhere, counts) == "2 abs, maximum added and 2 sqrt, add gone"


def test_operations_are_counted_without_what_follows_from_them() -> None:
    old = "a = f32[8]{0} parameter(0)\n  n = f32[8]{0} negate(a)\n  ROOT r = f32[8]{0} tanh(n)"
    new = (
        "a = f32[8]{0} parameter(0)\n  n = f32[8]{0} negate(a)\n  c = f32[] constant(0.5)\n"
        "  b = f32[8]{0} broadcast(c), dimensions={}\n  m = f32[8]{0} multiply(n, b)\n  ROOT r = f32[8]{0} tanh(m)"
    )
    knock_on = Counter(constant=1, broadcast=1)
    assert new_and_gone(compare(old, new).reported) == OperationCounts(Counter(multiply=1), Counter(), knock_on)
    assert new_and_gone(compare(new, old).reported) == OperationCounts(Counter(), Counter(multiply=1), knock_on)


def test_knock_on_edits_are_counted_where_they_are_most_of_what_happened() -> None:
    groups = [one("added", "", "add"), one("added", "", "dot")]
    counts = OperationCounts(Counter(add=2, dot=1), Counter(tanh=1), Counter(broadcast=3000, concatenate=200))
    words = "3 operations added, 1 gone, 3,200 knock-on edits, mostly broadcast"
    assert main_edit("same cost", (), (), groups, counts) == words


def test_a_function_that_is_called_now_is_named_among_many_operations() -> None:
    groups = [one("added", "", "func.call relu"), one("added", "", "select"), one("added", "", "compare")]
    counts = Counter({"add": 8, "select": 1, "compare": 1, "func.call relu": 1})
    words = "11 operations added: relu(), 8 add, compare, 1 more"
    assert main_edit("same cost", (), (), groups, OperationCounts(counts)) == words
    of_two_lines = [*groups, one("added", "", "add", where="a.py:2")]
    both = main_edit("same cost", (), (), of_two_lines, OperationCounts(counts, Counter(add=1)))
    assert both == "relu(), 7 add, compare, 1 more added"


def test_results_that_came_or_went_are_what_happened_to_a_return() -> None:
    returned = one("changed", "return", "return", "return: operands", fields=("operands",))
    assert main_edit("better: results -50 %", ("4 results instead of 7",), (), [returned]) == "4 results instead of 7"
    assert main_edit("same cost", (), (), [returned]) == "return has other operands"


def test_a_replaced_subgraph_that_is_too_long_is_counted() -> None:
    replaced = EditGroup((), "replaced", 9, f"{'9 add, ' * 20} by tanh", "", group=("replaced",))
    words = main_edit("same cost", (), (), [replaced], OperationCounts(Counter(tanh=1), Counter(add=180)))
    assert words == "180 add -> tanh"


def test_a_long_sentence_loses_what_is_in_brackets() -> None:
    words = "1 argument is sharded differently: x"
    long = f"{words} (split over 2 devices on dimension 0, each part on 2 devices -> replicated)"
    assert main_edit("same cost", (long,), (), ()) == words


def test_what_a_verdict_says_is_not_said_again() -> None:
    assert main_edit("mixed: temp -20 %, but a buffer is written in another order", ("2 loops",), (), ()) == ""
    assert main_edit("same cost", ("4 results instead of 1",), (), [one("added", "", "tanh")]) == "tanh added"


def test_where_arguments_lie_is_not_what_happened() -> None:
    nested = "5 arguments at another path: state[0].count -> state[1][0].count, 4 more"
    assert main_edit("same cost", (nested,), (), [one("added", "", "tanh")]) == "tanh added"
    groups, counts = [one("added", "", "tanh"), one("added", "", "add")], OperationCounts(Counter(tanh=30, add=6))
    assert main_edit("same cost", (nested,), (), groups, counts) == "36 operations added: 30 tanh, 6 add"


def test_a_mean_of_another_size_is_the_change_only_on_the_line_that_takes_it() -> None:
    words = "a mean is over 1,024 elements instead of 16"
    literal = ChangeView("changed", 1, "constant %c: literal: 16 -> 1024")
    mean = ChangedLine("a.py:2", "", "m = x.mean()", "m = y.mean()", changes=(literal,))
    convolution = ChangedLine("a.py:1", "", "y = f(x) + 1", "y = f(x)", changes=(ChangeView("changed", 1, "dot"),))
    assert main_edit("same cost", (words,), (replace(mean, new_source=""),), ()) == words
    assert words not in main_edit("same cost", (words,), (convolution, mean), ())


def test_the_only_attribute_at_the_edited_line_with_what_goes_with_it() -> None:
    what = "top_k %t (f32[8,3], s32[8,3]): shape: f32[8,2] -> f32[8,3]; k: 2 -> 3"
    edited = one("changed", "top_k", "top_k", what, fields=("shape", "attribute:k"), where="a.py:1")
    other = one(
        "changed", "iota", "iota", "iota %i: dimension: 0 -> 1", fields=("attribute:dimension",), where="a.py:2"
    )
    added = [one("added", "", "add", where="a.py:1"), one("added", "", "dot", where="a.py:1")]
    line = ChangedLine("a.py:1", "", "t = top(x, 2)", "t = top(x, 3)")
    assert main_edit("same cost", (), (line,), [edited, other, *added]) == "top_k k: 2 -> 3"
    assert main_edit("same cost", (), (replace(line, new_source=line.old_source),), [edited, other, *added]) == ""
    elsewhere = (replace(line, is_elsewhere=True),)
    assert main_edit("same cost", (), elsewhere, [edited, other, *added]) == "top(x, 2) -> top(x, 3)"
    assert main_edit("same cost", (), (line,), [edited, replace(other, where="a.py:1"), *added]).startswith("top(")


def test_no_attribute_of_an_operation_that_the_line_has_more_of() -> None:
    what = "reduce %r f32[]: dimensions: [0, 1] -> [0]"
    edited = one("changed", "reduce", "reduce", what, fields=("attribute:dimensions",), where="a.py:1")
    line = ChangedLine("a.py:1", "", "y = jnp.mean(f(x))", "y = jnp.mean(jnp.mean(f(x), axis=-1))")
    added = one("added", "", "reduce", where="a.py:1")
    assert main_edit("same cost", (), (line,), [edited]) == "reduce dimensions: [0, 1] -> [0]"
    assert main_edit("same cost", (), (line,), [edited, added]) == "jnp.mean(..., axis=-1) added"


GROWN = "temp grew by the size of the donated argument x (16.0 KiB)"


def test_temp_that_grew_by_a_donated_argument() -> None:
    found = hlodiff.diff(hlodiff.read_text(ALIASED), hlodiff.read_text(ALIASED.replace("negate", "tanh")))
    assert GROWN in happened(found, temp=(196, 196 + 16384))
    assert not [words for words in happened(found, temp=(196, 196 + 3 * 16384)) if "donated" in words]
    # Where temporary memory holds much else, it is one of many things of that size.
    assert not [words for words in happened(found, temp=(10**6, 10**6 + 16384)) if "donated" in words]
    bare = ALIASED.replace(", input_output_alias={ {}: (0, {}, may-alias) }", "")
    kept = hlodiff.diff(hlodiff.read_text(bare), hlodiff.read_text(bare.replace("negate", "tanh")))
    assert not [words for words in happened(kept, temp=(196, 196 + 16384)) if "donated" in words]


def test_temp_that_another_new_buffer_explains_is_not_that_of_a_donated_argument() -> None:
    """A value in another type is as large as the argument that will have its gradient."""
    new = ALIASED.replace("negate(%p)", "negate(%y)").replace("  ROOT", "  %y = f32[4096]{0} sine(%p)\n  ROOT")
    found = hlodiff.diff(hlodiff.read_text(ALIASED), hlodiff.read_text(new))
    assert not [words for words in happened(found, temp=(196, 196 + 16384)) if "donated" in words]
    found = hlodiff.diff(hlodiff.read_text(new), hlodiff.read_text(ALIASED))
    assert not [words for words in happened(found, temp=(196 + 16384, 196)) if "donated" in words]
    copied = hlodiff.diff(hlodiff.read_text(ALIASED), hlodiff.read_text(new.replace("sine", "copy")))
    assert GROWN in happened(copied, temp=(196, 196 + 16384))


def test_a_long_sentence_about_a_line_loses_the_name_of_its_function_first() -> None:
    said = "the loop of scanned/model.py:20 (Model.part) holds 2 copies of its body and turns less often (8 -> 4)"
    assert main_edit("mixed on cpu: temp +67 %", (said,), (), ()) == (
        "the loop of scanned/model.py:20 holds 2 copies of its body and turns less often"
    )


def test_an_attribute_that_is_too_long_leaves_the_first_line_to_what_was_written() -> None:
    source, other = 'h = hint(h, P("data", None, "model"))', 'h = hint(h, P("data", None, None))'
    what = "sdy.sharding_constraint %c: sharding: P('data', None, 'model') -> P('data', None, None)"
    group = one(
        "changed",
        "sdy.sharding_constraint",
        "sdy.sharding_constraint",
        what,
        fields=("attribute:sharding",),
        where="net.py:4",
    )
    line = ChangedLine("net.py:4", "", source, other)
    assert main_edit("worse", (), (line,), [group]) == 'P("data", None, "model") -> P("data", None, None)'
    short = replace(group, what="sdy.sharding_constraint %c: sharding: P('data') -> P()")
    assert main_edit("worse", (), (line,), [short]) == "sdy.sharding_constraint sharding: P('data') -> P()"


@pytest.mark.parametrize(
    ("added", "fewer", "words"),
    [
        ("convert bf16[2,16], bf16[2,1]", 4, "4 conversions to bf16 instead of f32"),
        ("convert bf16[2,16]", 6, "4 conversions to bf16 instead of 6 to f32"),
        ("convert f32[2,16]", 6, ""),
        ("convert f32[2,16], bf16[2,16]", 4, ""),
    ],
)
def test_values_that_are_converted_to_another_type_than_before(added: str, fewer: int, words: str) -> None:
    groups = [one("removed", "convert", "", "convert %c f32[2,64]", fewer), one("added", "", "convert", added, 4)]
    assert main_edit("worse: flops +2.9 %", (), (), groups) == words
    others = [*groups, one("added", "", "tanh", "tanh f32[8]")]
    assert "instead of" not in main_edit("worse: flops +2.9 %", (), (), others)


def test_a_custom_call_that_came_or_went_is_named_by_its_target() -> None:
    text = """module @m {{
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = stablehlo.tanh %arg0 : tensor<8xf32>
{moved}    return {value} : tensor<8xf32>
  }}
}}
"""
    moved = "    %1 = stablehlo.custom_call @annotate_device_placement(%0) : (tensor<8xf32>) -> tensor<8xf32>\n"
    old, new = text.format(moved=moved, value="%1"), text.format(moved="", value="%0")
    found = hlodiff.diff(hlodiff.read_text(old), hlodiff.read_text(new))
    report = Report("diff", "a", "b", (ProgramComparison("f", "cpu", "stablehlo", "changed", found),))
    assert "; annotate_device_placement gone" in str(report).splitlines()[0]


def test_a_long_sentence_about_copies_of_a_loop_keeps_both_places_without_their_functions() -> None:
    words = "the loop of experts.py:64 (pipeline.turn) was 2 copies of its body (experts.py:64-65 (pipeline.turn))"
    shown = "the loop of experts.py:64 was 2 copies of its body (experts.py:64-65)"
    assert main_edit("worse: launches +96 %", (words,), (), ()) == shown


def test_a_result_of_another_type_is_named_whatever_was_written() -> None:
    """Callers notice it beside any other edit."""
    line = 'loc("model.py":7:1)'

    def module(opcode: str, element: str) -> hlodiff.Module:
        cast = f"    %c = stablehlo.convert %y : (tensor<8xf32>) -> tensor<8xi32> {line}\n" if element == "i32" else ""
        return hlodiff.read_text(
            f"module @m {{\n  func.func public @main(%x: tensor<8xf32>) -> tensor<8x{element}> {{\n"
            f"    %y = stablehlo.{opcode} %x : tensor<8xf32> {line}\n{cast}"
            f"    return {'%c' if cast else '%y'} : tensor<8x{element}>\n  }}\n}}\n"
        )

    found = hlodiff.diff(module("sine", "f32"), module("cosine", "i32"))
    programs = (ProgramComparison("f", "cpu", "stablehlo", "changed", found),)
    sources = Sources(edited(7, "    return jnp.cos(x)"))
    first = str(Report("diff", "a", "b", programs, source_line=sources)).splitlines()[0]
    assert first.endswith("; result 0 is s32[8] instead of f32[8]; jnp.sin -> jnp.cos at model.py:7")
    assert str(Report("diff", "a", "b", programs)).splitlines()[0].count("result 0 is s32[8]") == 1
