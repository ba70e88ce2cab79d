"""A loop that carries one value more, or its values in another order: they have other numbers, and that is no edit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import hlodiff
from hlodiff.differ import replay
from hlodiff.hlo import Module
from tests.scenarios import compare, lines

OLD = """
asks {
  t = (s32[], f32[8]{0}, f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  most = s32[] constant(10)
  ROOT less = pred[] compare(i, most), direction=LT
}

runs {
  t = (s32[], f32[8]{0}, f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8]{0} get-tuple-element(t), index=1
  y = f32[8]{0} get-tuple-element(t), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  bent = f32[8]{0} tanh(x)
  product = f32[8]{0} multiply(bent, y)
  ROOT out = (s32[], f32[8]{0}, f32[8]{0}) tuple(next, bent, product)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  zero = s32[] constant(0)
  begin = (s32[], f32[8]{0}, f32[8]{0}) tuple(zero, p, q)
  loop = (s32[], f32[8]{0}, f32[8]{0}) while(begin), condition=asks, body=runs
  first = f32[8]{0} get-tuple-element(loop), index=1
  second = f32[8]{0} get-tuple-element(loop), index=2
  ROOT both = f32[8]{0} subtract(first, second)
}
"""
# Carried in front of the others, and no part of what comes out.
NEW = (
    OLD.replace("(s32[], f32[8]{0}, f32[8]{0})", "(s32[], f32[8]{0}, f32[8]{0}, f32[8]{0})")
    .replace("index=2", "index=3")
    .replace("index=1", "index=2")
    .replace("  next =", "  z = f32[8]{0} get-tuple-element(t), index=1\n  less = f32[8]{0} sine(z)\n  next =")
    .replace("tuple(next, bent", "tuple(next, less, bent")
    .replace("  zero =", "  r = f32[8]{0} exponential(q)\n  zero =")
    .replace("tuple(zero, p", "tuple(zero, r, p")
)
# The tuple is one more element wide wherever it is; what came is one instruction each.
EXPECTED = [
    *["added exponential", "added get-tuple-element", "added sine"],
    *["changed parameter shape x2", "changed tuple shape", "changed tuple shape", "changed while shape"],
]


def test_one_more_value_is_what_came_and_a_wider_tuple() -> None:
    assert sorted(lines(compare(OLD, NEW))) == EXPECTED
    assert sum(edit.count for edit in compare(NEW, OLD).edits) == len(EXPECTED) + 1


@pytest.mark.parametrize(
    ("old", "new", "story"),
    [
        ("multiply(bent, y)", "multiply(bent, z)", "changed multiply operands"),
        ("subtract(first, second)", "subtract(second, first)", "changed subtract operands"),
        ("tuple(next, less, bent, product)", "tuple(next, less, product, bent)", "changed tuple operands,shape"),
    ],
)
def test_what_else_changed_is_told(old: str, new: str, story: str) -> None:
    assert NEW.count(old) == 1
    found = compare(OLD, NEW.replace(old, new))
    assert story in [line.replace("shape,operands", "operands,shape") for line in lines(found)]


def test_another_element_is_an_edit() -> None:
    # `y` takes what `z` takes: the number alone would be as if nothing had shifted.
    found = compare(
        OLD, NEW.replace("y = f32[8]{0} get-tuple-element(t), index=3", "y = f32[8]{0} get-tuple-element(t), index=1")
    )
    assert any("attribute:index" in line or "operands" in line for line in lines(found))
    assert found.replay().complete


def test_values_handed_on_as_they_were_shift_others_too() -> None:
    # The new value is what another was one turn before: the body returns something that it had.
    new = NEW.replace("tuple(next, less, bent, product)", "tuple(next, x, bent, product)").replace(
        "  less = f32[8]{0} sine(z)\n", ""
    )
    found = compare(OLD, new)
    assert not [line for line in lines(found) if "index" in line]
    assert found.replay().complete


def _with_elements(pair: Any, change: dict[int, int] | None) -> Any:
    pairs = tuple((place, tuple(change.items()) if change else ()) for place, _ in pair.elements)
    return replace(pair, elements=pairs if change else ())


@pytest.mark.parametrize(
    "elements", [None, {0: 0, 1: 3, 2: 2}, {0: 0, 1: 1, 2: 2}], ids=["none", "exchanged", "as if it came last"]
)
def test_a_script_with_other_elements_does_not_replay(elements: dict[int, int] | None) -> None:
    script = compare(OLD, NEW).script
    assert replay(script).complete
    assert {which for pair in script.pairs for _, which in pair.elements} == {((0, 0), (1, 2), (2, 3))}
    wrong = replace(script, pairs=tuple(_with_elements(pair, elements) for pair in script.pairs))
    assert not replay(wrong).complete


def test_each_place_of_the_loop_is_proved() -> None:
    script = compare(OLD, NEW).script
    for number, pair in enumerate(script.pairs):
        if pair.elements:
            pairs = (*script.pairs[:number], replace(pair, elements=()), *script.pairs[number + 1 :])
            assert not replay(replace(script, pairs=pairs)).complete


def test_an_element_that_went_is_not_the_one_that_has_its_number_now() -> None:
    script = compare(NEW, OLD).script
    entry = script.old.entry_computation
    instructions = [
        replace(it, attributes=(("index", "1"),)) if it.name == "first" else it for it in entry.instructions
    ]
    computations = list(script.old.computations)
    computations[script.old.entry] = replace(entry, instructions=tuple(instructions))
    wrong = replace(script, old=replace(script.old, computations=tuple(computations)))
    assert replay(script).complete
    assert replay(wrong).failures == (
        "the elements of %loop (while) of %main are renumbered, and not everywhere in a loop",
    )


TWINS = """
asks {
  t = (s32[], f32[8]{0}, f32[8]{0}, f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  most = s32[] constant(10)
  ROOT less = pred[] compare(i, most), direction=LT
}

runs {
  t = (s32[], f32[8]{0}, f32[8]{0}, f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8]{0} get-tuple-element(t), index=1
  y = f32[8]{0} get-tuple-element(t), index=2
  z = f32[8]{0} get-tuple-element(t), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  bent = f32[8]{0} tanh(y)
  turned = f32[8]{0} sine(z)
  raised = f32[8]{0} exponential(x)
  ROOT out = (s32[], f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(next, raised, bent, turned)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  zero = s32[] constant(0)
  a = f32[8]{0} copy(p)
  b = f32[8]{0} copy(p)
  c = f32[8]{0} copy(p)
  begin = (s32[], f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(zero, a, b, c)
  ROOT loop = (s32[], f32[8]{0}, f32[8]{0}, f32[8]{0}) while(begin), condition=asks, body=runs
}
"""
MORE_TWINS = (
    TWINS.replace("(s32[], f32[8]{0}, f32[8]{0}, f32[8]{0})", "(s32[], s32[], f32[8]{0}, f32[8]{0}, f32[8]{0})")
    .replace("index=3", "index=4")
    .replace("index=2", "index=3")
    .replace("index=1", "index=2")
    .replace("  one =", "  again = s32[] get-tuple-element(t), index=1\n  one =")
    .replace("tuple(next,", "tuple(next, again,")
    .replace("tuple(zero,", "tuple(zero, zero,")
)
WIDER = [
    *["added get-tuple-element", "changed parameter shape x2", "changed tuple operands,shape"],
    *["changed tuple shape", "changed while shape"],
]


def _plain(found: list[str]) -> list[str]:
    return sorted(line.replace("shape,operands", "operands,shape") for line in found)


def test_a_value_carried_twice_shifts_equals_that_only_the_loop_tells_apart() -> None:
    # The loop begins with three equal arrays, and with one number twice: which is which its body says.
    assert _plain(lines(compare(TWINS, MORE_TWINS))) == WIDER
    last = TWINS.replace("f32[8]{0}, f32[8]{0}, f32[8]{0})", "f32[8]{0}, f32[8]{0}, f32[8]{0}, s32[])")
    last = last.replace("  one =", "  again = s32[] get-tuple-element(t), index=4\n  one =")
    last = last.replace("turned)", "turned, again)").replace("b, c)", "b, c, zero)")
    assert _plain(lines(compare(TWINS, last))) == WIDER


def _called(text: str) -> str:
    """The loop in a computation of its own, as XLA has it for short loops on cpu."""
    shape = text.partition(" loop = ")[2].partition(" while")[0]
    body, _, rest = text.partition("ENTRY main")
    own = f"loops {{\n  t = {shape} parameter(0)\n  ROOT loop = {shape} while(t), condition=asks, body=runs\n}}\n\n"
    return (
        body
        + own
        + "ENTRY main"
        + rest.replace("while(begin), condition=asks, body=runs", "call(begin), to_apply=loops")
    )


def test_a_loop_in_a_computation_of_its_own() -> None:
    told = lines(compare(_called(TWINS), _called(MORE_TWINS)))
    inside = ["changed parameter shape x3" if "parameter" in line else line for line in WIDER]
    assert _plain(told) == sorted([*inside, "changed call shape"])
    other = _called(MORE_TWINS).replace("sine(z)", "sine(y)")
    assert "changed sine operands" in lines(compare(_called(TWINS), other))


def _saving(arrays: int, *, more: bool) -> str:
    """A loop in StableHLO that writes into arrays of zeros, and carries one value `more` in front of them."""
    number, array = "tensor<i32>", "tensor<4xi32>"
    numbers = range(arrays)
    types = ", ".join([*["tensor<f32>"] * more, *[number] * 3, *[array] * arrays])
    takes = [*["%m = %q"] * more, *(f"%v{n} = %z{n}" for n in range(3)), *(f"%a{n} = %b{n}" for n in numbers)]
    returns = [*["%m"] * more, *(f"%g{n}" for n in range(3)), *(f"%h{n}" for n in numbers)]
    lines = [
        f"module {{\nfunc.func public @main(%q: tensor<f32>, %k: {number}, %x: {number}, %y: {number}) -> {array} {{",
        *(f"%z{n} = stablehlo.constant dense<0> : {number}" for n in range(3)),
        *(f"%c{n} = stablehlo.constant dense<0> : {number}" for n in numbers),
        *(f"%b{n} = stablehlo.broadcast_in_dim %c{n}, dims = [] : ({number}) -> {array}" for n in numbers),
        f"%most = stablehlo.constant dense<10> : {number}",
        f"%l:{len(takes)} = stablehlo.while({', '.join(takes)}) : {types} cond {{",
        f"%less = stablehlo.compare LT, %v0, %most : ({number}, {number}) -> tensor<i1>",
        "stablehlo.return %less : tensor<i1> } do {",
        *(f"%g{n} = stablehlo.add %v{n}, %{'kxy'[n]} : {number}" for n in range(3)),
        *(f"%s{n} = stablehlo.reshape %g{n % 3} : ({number}) -> tensor<1xi32>" for n in numbers),
        *(
            f"%h{n} = stablehlo.dynamic_update_slice %a{n}, %s{n}, %v0 : ({array}, tensor<1xi32>, {number}) -> {array}"
            for n in numbers
        ),
        f"stablehlo.return {', '.join(returns)} : {types} }}",
        f"return %l#{3 + more} : {array}\n}}\n}}",
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("arrays", [2, 20])
@pytest.mark.parametrize("more", [True, False])
def test_a_loop_of_stablehlo_begins_with_equal_values_in_their_order(arrays: int, more: bool) -> None:
    old, new = (hlodiff.read_text(_saving(arrays, more=one)) for one in (not more, more))
    found = hlodiff.diff(old, new)
    assert found.replay().complete
    assert sorted(lines(found)) == ["changed return operands", "changed while shape,operands"]


# The same loop with `x` and `y` carried in the other order: every number changes, no value does.
EXCHANGED = (
    OLD.replace("index=2", "index=9")
    .replace("index=1", "index=2")
    .replace("index=9", "index=1")
    .replace("tuple(next, bent, product)", "tuple(next, product, bent)")
    .replace("tuple(zero, p, q)", "tuple(zero, q, p)")
)


def test_values_carried_in_another_order_are_the_same() -> None:
    for old, new in ((OLD, EXCHANGED), (EXCHANGED, OLD), (_called(OLD), _called(EXCHANGED))):
        found = compare(old, new)
        assert not found.edits
        assert found.replay().complete


@pytest.mark.parametrize(
    ("old", "new", "story"),
    [
        ("multiply(bent, y)", "multiply(bent, x)", ["changed multiply operands"]),
        ("subtract(first, second)", "subtract(second, first)", ["changed subtract operands"]),
        ("tuple(zero, q, p)", "tuple(zero, p, q)", ["changed tuple operands"]),
        ("tuple(next, product, bent)", "tuple(next, bent, product)", ["changed tuple operands"]),
    ],
)
def test_one_place_in_another_order_is_an_edit(old: str, new: str, story: list[str]) -> None:
    assert EXCHANGED.count(old) == 1
    found = compare(OLD, EXCHANGED.replace(old, new))
    assert lines(found) == story
    assert found.replay().complete


@pytest.mark.parametrize("elements", [None, {0: 0, 1: 1, 2: 2}, {0: 1, 1: 0, 2: 2}], ids=["none", "kept", "others"])
def test_a_script_with_another_order_does_not_replay(elements: dict[int, int] | None) -> None:
    script = compare(OLD, EXCHANGED).script
    assert replay(script).complete
    wrong = replace(script, pairs=tuple(_with_elements(pair, elements) for pair in script.pairs))
    assert not replay(wrong).complete
    for number, pair in enumerate(script.pairs):
        for place in range(len(pair.elements)):
            kept = replace(pair, elements=(*pair.elements[:place], *pair.elements[place + 1 :]))
            pairs = (*script.pairs[:number], kept, *script.pairs[number + 1 :])
            assert not replay(replace(script, pairs=pairs)).complete


def test_the_result_of_a_program_keeps_its_order() -> None:
    old, new = (text.replace("loop = ", "ROOT loop = ").replace("ROOT both", "both") for text in (OLD, EXCHANGED))
    assert compare(old, new).edits


_NUMBERED = """
module {
  func.func public @main(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> {
    %s = stablehlo.sine %p : tensor<f32>
    %t = stablehlo.tanh %q : tensor<f32>
    %l:2 = stablehlo.while(%x = %s, %y = %t) : tensor<f32>, tensor<f32>
    cond {
      %less = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %b:2 = func.call @body(%x, %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
      stablehlo.return %b#0, %b#1 : tensor<f32>, tensor<f32>
    }
    %d = stablehlo.subtract %l#0, %l#1 : tensor<f32>
    return %d : tensor<f32>
  }
  func.func private @body(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %e = stablehlo.exponential %x : tensor<f32>
    %f = stablehlo.sqrt %y : tensor<f32>
    return %e, %f : tensor<f32>, tensor<f32>
  }
}
"""
_BEGUN = ("%x = %s, %y = %t", "%y = %t, %x = %s")
_RETURNED = ("%b#0, %b#1", "%b#1, %b#0")
_TAKEN = ("%l#0, %l#1", "%l#1, %l#0")
_INSIDE = (
    ("@body(%x, %y)", "@body(%y, %x)"),
    ("@body(%x: tensor<f32>, %y: tensor<f32>)", "@body(%y: tensor<f32>, %x: tensor<f32>)"),
    ("return %e, %f", "return %f, %e"),
)


@pytest.mark.parametrize(
    ("replaced", "story"),
    [
        ([_BEGUN, _RETURNED, _TAKEN], []),
        ([_BEGUN, *_INSIDE, _TAKEN], []),
        (_INSIDE[:2], []),
        ([_INSIDE[2], _RETURNED], []),
        ([_BEGUN], ["changed while operands"]),  # the values are exchanged by every iteration
        ([_BEGUN, _RETURNED], ["changed subtract operands"]),
        ([_RETURNED], ["changed return operands"]),
        ([_INSIDE[2]], ["changed return operands"]),
    ],
)
def test_a_loop_of_stablehlo_carries_its_values_in_another_order(
    replaced: list[tuple[str, str]], story: list[str]
) -> None:
    new = _NUMBERED
    for before, after in replaced:
        assert before in new
        new = new.replace(before, after)
    for one, other in ((_NUMBERED, new), (new, _NUMBERED)):
        found = hlodiff.diff(hlodiff.read_text(one), hlodiff.read_text(other))
        assert lines(found) == story
        assert found.replay().complete


def test_values_that_each_iteration_exchanges_are_an_edit() -> None:
    new = hlodiff.read_text(_NUMBERED.replace(*_BEGUN))
    script = hlodiff.diff(hlodiff.read_text(_NUMBERED), new).script
    assert replay(replace(script, steps=(), reported=())).failures == (
        "%l (while) of %main takes its values in another order than it returns them, and no edit says so",
    )


def test_a_loop_that_begins_with_one_value_twice_may_read_and_return_them_in_other_orders() -> None:
    old = _NUMBERED.replace("%y = %t", "%y = %s")
    new = old.replace("%x = %s, %y = %s", "%y = %s, %x = %s").replace(*_TAKEN)
    for one, other in ((old, new), (new, old)):
        found = hlodiff.diff(hlodiff.read_text(one), hlodiff.read_text(other))
        assert found.edits  # each iteration exchanges them
        assert found.replay().complete


def _carrying(*keys: str) -> Any:
    def run(weights: Any, x: Any) -> Any:
        def body(_: Any, held: dict[str, Any]) -> dict[str, Any]:
            bent = jnp.tanh(held[keys[0]] @ weights)
            new = {keys[0]: bent, keys[1]: held[keys[1]] + bent.sum(), keys[2]: held[keys[2]] * 2 + bent}
            return new | {key: held[key] + jnp.sin(bent) for key in keys[3:]}

        begin = {keys[0]: x, keys[1]: jnp.float32(0), keys[2]: x * 3} | {key: jnp.zeros_like(x) for key in keys[3:]}
        found = jax.lax.fori_loop(0, 7, body, begin)
        return tuple(found[key] for key in keys)

    return run


def _programs(function: Any) -> tuple[Module, Module]:
    lowered = jax.jit(function).lower(jnp.zeros((8, 8)), jnp.zeros((4, 8)))
    return hlodiff.read_text(lowered.as_text()), hlodiff.read_text(lowered.compile().as_text() or "")


def test_renaming_a_key_of_what_a_loop_carries_changes_nothing() -> None:
    old, new, more = (_programs(_carrying(*keys)) for keys in ("abc", "zbc", ["z", "b", "c", "bb"]))
    for one, other in zip(old, new, strict=True):
        found = hlodiff.diff(one, other)
        assert not found.edits
        assert found.replay().complete
    for one, other in zip(old, more, strict=True):  # one value more, and the others in another order
        found = hlodiff.diff(one, other)
        assert not [line for line in lines(found) if "index" in line or line.startswith("removed")]
        assert {line.split()[1] for line in lines(found) if "operands" in line} <= {"return", "while"}
        assert found.replay().complete


def _trained(bend: Any) -> Module:
    """The gradient of a recurrent network, whose backward loop takes what the forward loop saved of each turn."""

    def loss(weights: Any, xs: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ weights, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * bend(c)
            return (h, c), h

        zero = jnp.zeros((2, 8))
        return jnp.sum(jax.lax.scan(cell, (zero, zero), xs)[1])

    return hlodiff.read_text(jax.jit(jax.grad(loss)).lower(jnp.zeros((12, 32)), jnp.zeros((5, 2, 4))).as_text())


def test_what_a_forward_loop_saves_is_known_in_the_backward_loop_by_what_it_is() -> None:
    """All are of one type, and more of them come in between."""
    found = hlodiff.diff(_trained(jnp.tanh), _trained(jax.nn.gelu))
    assert found.replay().complete
    # What `gelu` and its derivative multiply more: no product of a gate is one of another gate now.
    multiplied = [edit for edit in found.edits if "multiply(" in f"{edit.old} {edit.new}"]
    assert sum(edit.count for edit in multiplied) == 15
