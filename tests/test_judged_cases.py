"""Known edits in real programs, reduced to the few lines that decide them."""

from __future__ import annotations

import pytest

from tests.scenarios import compare, lines

SGD = """
body {
  weight = f32[64]{0} parameter(0)
  trace = f32[64]{0} parameter(1)
  rate = f32[] constant(0.9)
  rates = f32[64]{0} broadcast(rate), dimensions={}
  scaled = f32[64]{0} multiply(trace, rates)
  sum = f32[64]{0} add(weight, scaled)
  ROOT flipped = f32[64]{0} negate(sum)
}

ENTRY main {
  w = f32[64]{0} parameter(0)
  g = f32[64]{0} parameter(1)
  bent = f32[64]{0} tanh(g)
  step = f32[64]{0} fusion(w, bent), kind=kLoop, calls=body
  root = f32[64]{0} cosine(step)
  ROOT out = (f32[64]{0}, f32[64]{0}) tuple(root, bent)
}
"""

# Each: what was done, the text it was done to, its replacement, and all that may be reported.
ONE_EDIT = [
    # A sum has no operand order, a difference has: the new opcode alone is reported, no operands.
    ("add_to_subtract", "add(weight, scaled)", "subtract(weight, scaled)", ["changed add->subtract opcode"]),
    # The layout of the call's result differs from that of the body's root: nobody else carries it.
    ("layout", "step = f32[64]{0}", "step = f32[64]{0:T(128)}", ["changed fusion layout"]),
    # A body's parameter lies in another memory than the operand that is passed to it.
    ("space", "trace = f32[64]{0}", "trace = f32[64]{0:S(1)}", ["changed parameter memory_space"]),
    # An instruction alone runs on the host.
    (
        "host",
        "tanh(g)",
        'tanh(g), frontend_attributes={_xla_compute_type="host"}',
        ["changed tanh compute_type"],
    ),
    # The type of one instruction in the middle, its operands and users as they were.
    ("type", "scaled = f32", "scaled = bf16", ["changed multiply element_type"]),
    # An equal value is passed twice to the tuple instead of two different ones.
    ("rewired", "tuple(root, bent)", "tuple(root, root)", ["changed tuple operands"]),
    # The two results swap their places.
    ("swapped", "tuple(root, bent)", "tuple(bent, root)", ["changed tuple operands"]),
    # The body is what it was, XLA only calls it another kind of fusion.
    ("kind", "kind=kLoop", "kind=kInput", ["changed fusion fusion_kind"]),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"), [case[1:] for case in ONE_EDIT], ids=[case[0] for case in ONE_EDIT]
)
def test_one_edit_is_the_only_one_reported(old: str, new: str, expected: list[str]) -> None:
    assert SGD.count(old) == 1
    assert lines(compare(SGD, SGD.replace(old, new))) == expected


def test_the_last_op_of_a_body_leaves_it() -> None:
    # The call's new user is the old root: one moved, and neither the call nor its users are edits.
    new = SGD.replace("  ROOT flipped = f32[64]{0} negate(sum)\n", "").replace("  sum =", "  ROOT sum =")
    new = new.replace("  root =", "  flipped = f32[64]{0} negate(step)\n  root =").replace(
        "cosine(step)", "cosine(flipped)"
    )
    assert lines(compare(SGD, new)) == ["moved negate computation"]


def test_body_parameters_in_another_order_with_the_operands_are_noise() -> None:
    # Body parameters and call operands are renumbered together, while one opcode changes.
    new = SGD.replace("weight = f32[64]{0} parameter(0)", "weight = f32[64]{0} parameter(1)")
    new = new.replace("trace = f32[64]{0} parameter(1)", "trace = f32[64]{0} parameter(0)")
    new = new.replace("fusion(w, bent)", "fusion(bent, w)")
    assert lines(compare(SGD, new)) == []
    assert lines(compare(SGD, new.replace("cosine", "sine"))) == ["changed cosine->sine opcode"]


def test_a_donated_argument_and_its_sharding_are_told_apart() -> None:
    # One argument, two things done to it.
    new = SGD.replace("w = f32[64]{0} parameter(0)", "w = f32[64]{0} parameter(0), sharding={replicated}")
    found = compare(SGD, new, new_head=", input_output_alias={ {0}: (0, {}, may-alias) }")
    assert sorted(lines(found)) == ["changed parameter alias", "changed parameter sharding"]


CHAIN = """
  p = u32[8]{0} parameter(0)
  q = u32[8]{0} parameter(1)
  add.1 = u32[8]{0} add(p, q)
  left.1 = u32[8]{0} shift-left(p, q)
  xor.1 = u32[8]{0} xor(add.1, left.1)
  add.2 = u32[8]{0} add(xor.1, q)
  left.2 = u32[8]{0} shift-left(xor.1, q)
  xor.2 = u32[8]{0} xor(add.2, left.2)
  ROOT root = u32[8]{0} not(xor.2)
"""


def test_one_more_round_of_equal_rounds_is_its_own_instructions_and_nothing_else() -> None:
    # Rounds of a random number generator: each looks like the one before it.
    more = """  add.3 = u32[8]{0} add(xor.2, q)
  left.3 = u32[8]{0} shift-left(xor.2, q)
  xor.3 = u32[8]{0} xor(add.3, left.3)
  ROOT root = u32[8]{0} not(xor.3)
"""
    new = CHAIN.replace("  ROOT root = u32[8]{0} not(xor.2)\n", more)
    found = compare(CHAIN, new)
    assert sorted(lines(found)) == ["added add", "added shift-left", "added xor"]


def test_a_control_edge_alone_is_the_schedules() -> None:
    # Order is another channel: the program is the same.
    found = compare(CHAIN, CHAIN.replace("shift-left(xor.1, q)", "shift-left(xor.1, q), control-predecessors={add.2}"))
    assert found.identical
    assert len(found.schedule) == 1


def test_operands_that_nothing_reads_are_exchanged_and_that_is_told() -> None:
    # The body reads neither, so that it cannot tell them apart; the caller passes others all the same.
    body = SGD.replace("add(weight, scaled)", "add(rates, rates)").replace("multiply(trace, rates)", "tanh(rates)")
    assert lines(compare(body, body.replace("fusion(w, bent)", "fusion(bent, w)"))) == ["changed fusion operands"]


def test_operands_exchanged_while_parameters_stand_in_another_order_are_one_edit() -> None:
    # The order of two parameters in the text alone says nothing; their names are other ones, too.
    old = """
  p = f32[64]{0} parameter(0)
  q = f32[64]{0} parameter(1)
  ROOT out = f32[64]{0} divide(p, q)
"""
    new = """
  x = f32[64]{0} parameter(1)
  y = f32[64]{0} parameter(0)
  ROOT out = f32[64]{0} divide(x, y)
"""
    assert lines(compare(old, new)) == ["changed divide operands"]


LABELLED = """
  x = f32[64]{0} parameter(0), metadata={op_name="x"}
  scale = f32[64]{0} parameter(1), metadata={op_name="scale"}
  bias = f32[64]{0} parameter(2), metadata={op_name="bias"}
  scaled = f32[64]{0} multiply(x, scale)
  bent = f32[64]{0} tanh(scaled)
  moved = f32[64]{0} subtract(bent, bias)
  ROOT out = f32[64]{0} cosine(moved)
"""


def test_an_argument_in_its_place_is_what_it_was_whatever_its_label_says() -> None:
    # Labels are exchanged, numbers, types and users are as before: nobody has to doubt a pair first.
    new = LABELLED.replace('"scale"', '"?"').replace('"bias"', '"scale"').replace('"?"', '"bias"')
    assert lines(compare(LABELLED, new)) == []
    found = compare(LABELLED, new.replace("parameter(2),", "parameter(2), sharding={replicated},"))
    assert lines(found) == ["changed parameter sharding"]
    assert found.edits[0].matcher != "repair"
    assert lines(compare(LABELLED, new.replace("cosine", "sine"))) == ["changed cosine->sine opcode"]


@pytest.mark.parametrize("wide", ["f64", "bf16"])
def test_an_operation_run_in_another_type_is_that_and_its_converts(wide: str) -> None:
    # The operation keeps its opcode and changes its type; it did not become one of the converts around it.
    old = """
  p = f32[16,16]{1,0} parameter(0)
  turned = f32[16,16]{0,1} copy(p)
  half = f32[] constant(0.5)
  halves = f32[16,16]{0,1} broadcast(half), dimensions={}
  product = f32[16,16]{0,1} multiply(turned, halves)
  ROOT out = f32[16,16]{0,1} negate(product)
"""
    new = old.replace("product = f32", f"product = {wide}").replace("multiply(turned, halves)", "multiply(left, right)")
    before = f"  left = {wide}[16,16]{{0,1}} convert(turned)\n  right = {wide}[16,16]{{0,1}} convert(halves)\n  product"
    new = new.replace("  product", before, 1).replace("negate(product)", "negate(back)")
    new = new.replace("  ROOT", "  back = f32[16,16]{0,1} convert(product)\n  ROOT")
    found = compare(old, new)
    assert "changed multiply element_type" in lines(found)
    assert dict(found.summary) == {"added": 3, "removed": 0, "changed": 1, "moved": 0}


SUBTRACTED = """
body {
  left = f32[64]{0} parameter(0)
  right = f32[64]{0} parameter(1)
  bent = f32[64]{0} tanh(left)
  ratio = f32[64]{0} divide(left, right)
  power = f32[64]{0} power(left, right)
  sum = f32[64]{0} add(ratio, power)
  ROOT difference = f32[64]{0} subtract(bent, sum)
}

ENTRY main {
  a = f32[64]{0} parameter(0)
  b = f32[64]{0} parameter(1)
  ROOT out = f32[64]{0} fusion(a, b), kind=kLoop, calls=body
}
"""


@pytest.mark.parametrize("kind", ["", "kInput"], ids=["a call as it was", "a call edited otherwise too"])
def test_exchanged_operands_of_a_call_whose_body_changed_are_one_edit_of_the_call(kind: str) -> None:
    # Paired as the caller's operands are, the parameters would leave two users rewired inside.
    new = SUBTRACTED.replace("fusion(a, b), kind=kLoop", "fusion(b, a), kind=kLoop")
    new = new.replace("subtract(bent, sum)", "atan2(bent, sum)")
    expected = ["changed fusion operands", "changed subtract->atan2 opcode"]
    if kind:
        new, expected[0] = new.replace("kind=kLoop", f"kind={kind}"), "changed fusion operands,fusion_kind"
    assert sorted(lines(compare(SUBTRACTED, new))) == expected


HALVES = """
ENTRY main {
  rounds = u32[8]{0} parameter(0)
  half = u32[] constant(16)
  halves = u32[8]{0} broadcast(half), dimensions={}
  start = u32[8]{0} shift-right-logical(rounds, halves)
  low = u32[8]{0} shift-right-logical(start, halves)
  high = u32[8]{0} and(start, rounds)
  ROOT out = u32[8]{0} subtract(low, high)
}
"""


def test_a_group_inserted_in_front_of_its_equal_is_no_more_than_the_group() -> None:
    # The inserted shift stands where the old one stood, which moved down behind it: no user was rewired.
    new = HALVES.replace("(start, halves)", "(mixed, halves)").replace("and(start,", "and(mixed,")
    group = """  shifted = u32[8]{0} shift-right-logical(start, halves)
  mixed = u32[8]{0} add(rounds, shifted)
  low ="""
    assert sorted(lines(compare(HALVES, new.replace("  low =", group)))) == ["added add", "added shift-right-logical"]


def test_an_operation_that_runs_in_another_type_stays_what_it_is() -> None:
    # As many edits as the operation turned into a cast and added anew: operations keep their opcode where they can.
    new = SGD.replace(
        "bent = f32[64]{0} tanh(g)",
        "wide = f64[64]{0} convert(g)\n  far = f64[64]{0} tanh(wide)\n  bent = f32[64]{0} convert(far)",
    )
    expected = ["added convert", "added convert", "changed tanh element_type"]
    assert sorted(lines(compare(SGD, new))) == expected


REDUCED = """
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  left = f32[8]{0} all-reduce(p), channel_id=1, replica_groups={{0,1}}, to_apply=sum
  right = f32[8]{0} copy(q)
  ROOT out = f32[8]{0} divide(left, right)
}
"""


def test_operations_do_not_trade_places_for_what_they_apply_to_elements() -> None:
    # all-reduce <-> copy would be two opcodes, and the sum gone and come.
    new = REDUCED.replace("all-reduce(p)", "all-reduce(q)").replace("copy(q)", "copy(p)")
    new = new.replace("divide(left, right)", "divide(right, left)")
    expected = ["changed all-reduce operands", "changed copy operands", "changed divide operands"]
    assert sorted(lines(compare(REDUCED, new))) == expected


SLICES = """
first {
  a = f32[8]{0} parameter(0)
  ROOT b = f32[4]{0} slice(a), slice={[0:4]}
}

second {
  a = f32[8]{0} parameter(0)
  ROOT b = f32[4]{0} slice(a), slice={[4:8]}
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  one = f32[4]{0} fusion(p), kind=kLoop, calls=first
  two = f32[4]{0} fusion(p), kind=kLoop, calls=second
  three = f32[4]{0} fusion(q), kind=kLoop, calls=first
  four = f32[4]{0} fusion(q), kind=kLoop, calls=second
  left = f32[4]{0} subtract(one, two)
  right = f32[4]{0} subtract(three, four)
  ROOT out = f32[4]{0} divide(left, right)
}
"""


def test_calls_are_known_by_what_is_in_their_bodies() -> None:
    # `one` and `two` as each other's partners would be two slices changed, one for each body.
    new = SLICES.replace("subtract(one, two)", "subtract(two, one)")
    assert lines(compare(SLICES, new)) == ["changed subtract operands"]


def test_another_operation_of_another_type_in_the_same_place_is_one_edit() -> None:
    # A sum has no operand order to go by, and neither opcode nor type is what it was.
    new = REDUCED.replace("c = f32[] add(a, b)", "c = f64[] atan2(b, a)")
    assert lines(compare(REDUCED, new)) == ["changed add->atan2 opcode,element_type,operands"]


NESTED = """
inner {
  a = f32[8]{0} parameter(0)
  b = f32[8]{0} tanh(a)
  ROOT c = f32[8]{0} negate(b)
}

outer {
  x = f32[8]{0} parameter(0)
  n = f32[8]{0} fusion(x), kind=kLoop, calls=inner
  ROOT s = f32[8]{0} sine(n)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  ROOT out = f32[8]{0} fusion(p), kind=kOutput, calls=outer
}
"""


def test_a_fusion_moves_with_all_that_is_in_it() -> None:
    # It leaves the fusion that holds it: one moved, and its body is what it was.
    new = NESTED.replace("  n = f32[8]{0} fusion(x), kind=kLoop, calls=inner\n", "").replace("sine(n)", "sine(x)")
    new = new.replace(
        "  ROOT out = f32[8]{0} fusion(p)",
        "  n = f32[8]{0} fusion(p), kind=kLoop, calls=inner\n  ROOT out = f32[8]{0} fusion(n)",
    )
    found = compare(NESTED, new)
    assert lines(found) == ["moved fusion computation"]
    assert [change.kind for change in found.fusions] == ["shrank"]


APPLIED = """
step {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ratio = f32[] divide(a, b)
  rest = f32[] subtract(a, b)
  ROOT c = f32[] power(ratio, rest)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  zero = f32[] constant(0)
  ROOT out = f32[] reduce(p, zero), dimensions={0}, to_apply=step
}
"""


def test_parameters_of_what_is_applied_to_elements_are_known_by_their_numbers() -> None:
    # Two users of exchanged parameters changed: no operand of the reduction could tell of it in one edit.
    new = APPLIED.replace("divide(a, b)", "divide(b, a)").replace("subtract(a, b)", "subtract(b, a)")
    assert sorted(lines(compare(APPLIED, new))) == ["changed divide operands", "changed subtract operands"]


def test_edits_of_two_lines_stay_apart_whichever_side_knows_the_lines() -> None:
    def program(opcode: str, *places: str) -> str:
        rows = [f"  x{n} = f32[8]{{0}} {opcode}(x{n - 1}){place}" for n, place in enumerate(places, 1)]
        return "\n".join(
            ["ENTRY main {", "  x0 = f32[8]{0} parameter(0)", *rows, "  ROOT r = f32[8]{0} negate(x2)", "}"]
        )

    known = (f', metadata={{source_file="/srv/project/model.py" source_line={line}}}' for line in (3, 7))
    old, new = program("sine", *known), program("cosine", "", "")
    assert [len(compare(*sides).edits) for sides in ((old, new), (new, old))] == [2, 2]
