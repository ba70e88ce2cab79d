"""A conditional that takes its branches in another order: one edit, whatever the branches hold."""

from __future__ import annotations

import pytest

from hlodiff.differ import diff
from hlodiff.hlo import contents, read_hlo, read_text
from tests.scenarios import compare, line, lines, module

OLD = """
bends {
  x = f32[8]{0} parameter(0)
  bent = f32[8]{0} tanh(x)
  ROOT more = f32[8]{0} multiply(bent, x)
}

turns {
  x = f32[8]{0} parameter(0)
  ROOT turned = f32[8]{0} sine(x)
}

ENTRY main {
  which = s32[] parameter(0)
  p = f32[8]{0} parameter(1)
  q = f32[8]{0} parameter(2)
  ROOT out = f32[8]{0} conditional(which, p, p), branch_computations={bends, turns}
}
"""
SWAPPED = OLD.replace("{bends, turns}", "{turns, bends}")
ORDER = "changed conditional attribute:branch_order"


def test_exchanged_branches_are_one_edit() -> None:
    found = compare(OLD, SWAPPED)
    assert lines(found) == [ORDER]
    assert {(change.old, change.new) for change in found.edits[0].changes} <= {("{0,1}", "{1,0}"), ("{1,0}", "{0,1}")}


def test_operands_follow_their_branches() -> None:
    apart = OLD.replace("conditional(which, p, p)", "conditional(which, p, q)")
    new = SWAPPED.replace("conditional(which, p, p)", "conditional(which, q, p)")
    assert lines(compare(apart, new)) == [ORDER]
    still = SWAPPED.replace("conditional(which, p, p)", "conditional(which, p, q)")
    assert lines(compare(apart, still)) == ["changed conditional operands,attribute:branch_order"]


def test_what_else_was_done_is_told() -> None:
    assert lines(compare(OLD, SWAPPED.replace("sine", "cosine"))) == [ORDER, "changed sine->cosine opcode"]


def test_one_of_two_equal_conditionals() -> None:
    twice = OLD.replace("  ROOT out", "  first").replace(
        "turns}\n}\n",
        "turns}\n  second = f32[8]{0} conditional(which, first, first), branch_computations={bends, turns}\n"
        "  ROOT out = f32[8]{0} subtract(second, p)\n}\n",
    )
    head, _, tail = twice.rpartition("{bends, turns}")
    assert lines(compare(twice, head + "{turns, bends}" + tail)) == [ORDER]


def test_a_branch_that_another_conditional_has_at_another_place_exchanges_nothing() -> None:
    """Two conditionals share a branch, of which one keeps it; the other one has it without a copy now."""
    shared = OLD.replace(
        "ROOT turned = f32[8]{0} sine(x)", "turned = f32[8]{0} sine(x)\n  ROOT c = f32[8]{0} copy(turned)"
    )
    shared = shared.replace(
        "ENTRY main", "lifts {\n  x = f32[8]{0} parameter(0)\n  ROOT y = f32[8]{0} exponential(x)\n}\n\nENTRY main"
    )
    old = shared.replace("  ROOT out", "  first").replace(
        "turns}\n}\n",
        "turns}\n  ROOT out = f32[8]{0} conditional(which, first, first), branch_computations={turns, lifts}\n}\n",
    )
    own = "turns.2 {\n  x = f32[8]{0} parameter(0)\n  ROOT turned = f32[8]{0} sine(x)\n}\n\nENTRY main"
    new = old.replace("{turns, lifts}", "{turns.2, lifts}").replace("ENTRY main", own)
    new = new.replace("bent = f32[8]{0} tanh", "bent = f32[8]{0} cosine")
    assert sorted(lines(compare(old, new))) == ["changed tanh->cosine opcode", "removed copy"]


def test_a_branch_that_takes_something_else_replays() -> None:
    # The branch reads nothing, its argument is another one: the call's, and the branch's, shape is all that differs.
    old = OLD.replace("turned = f32[8]{0} sine(x)", "turned = f32[8]{0} constant({0,0,0,0,0,0,0,1})")
    new = old.replace("turns {\n  x = f32[8]{0}", "turns {\n  x = s32[]").replace("(which, p, p)", "(which, p, which)")
    assert sorted(lines(compare(old, new))) == [
        "changed conditional operands",
        "changed parameter element_type,shape",
    ]


@pytest.mark.parametrize("pruning", [True, False])
def test_both_ways_of_looking_at_it_agree(pruning: bool) -> None:
    old = OLD.replace("conditional(which, p, p)", "conditional(which, first, second)").replace(
        "  ROOT out", "  first = f32[8]{0} abs(p)\n  second = f32[8]{0} abs(p)\n  ROOT out"
    )
    new = old.replace("{bends, turns}", "{turns, bends}")
    assert lines(diff(module(old), module(new), pruning=pruning)) == [ORDER]


STABLEHLO = """
func.func @main(%p: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.case"(%p) ({
    %1 = stablehlo.sine %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = stablehlo.cosine %x : tensor<8xf32>
    %2 = stablehlo.add %1, %1 : tensor<8xf32>
    stablehlo.return %2 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def test_exchanged_branches_in_stablehlo() -> None:
    first, second = STABLEHLO.split("({")[1].split("}) :")[0].split("}, {")
    new = STABLEHLO.replace(first, "FIRST").replace(second, first).replace("FIRST", second)
    found = diff(read_text(STABLEHLO), read_text(new))
    assert lines(found) == ["changed case attribute:branch_order"]
    assert found.replay().complete


CAPTURING = STABLEHLO.replace(
    "%1 = stablehlo.sine %x", "%1 = stablehlo.sine %x : tensor<8xf32>\n    %3 = stablehlo.subtract %1, %y"
).replace("return %1", "return %3")
CAPTURING = CAPTURING.replace("%x: tensor<8xf32>", "%x: tensor<8xf32>, %y: tensor<8xf32>")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("subtract %1, %y", "subtract %y, %1", ["changed subtract operands"]),
        (
            "%1 = stablehlo.sine %x",
            "%4 = stablehlo.tanh %y : tensor<8xf32>\n    %1 = stablehlo.sine %x",
            ["added tanh"],
        ),
    ],
)
def test_the_order_of_uses_is_not_that_of_what_a_branch_captures(old: str, new: str, expected: list[str]) -> None:
    found = diff(read_text(CAPTURING), read_text(CAPTURING.replace(old, new, 1)))
    assert sorted(lines(found)) == expected
    assert found.replay().complete


def test_lines_of_a_branch_in_another_order_are_noise() -> None:
    one, two = "%1 = stablehlo.sine %x : tensor<8xf32>", "%4 = stablehlo.tanh %y : tensor<8xf32>"
    old = CAPTURING.replace(one, f"{one}\n    {two}").replace("subtract %1, %y", "subtract %1, %4")
    new = CAPTURING.replace(one, f"{two}\n    {one}").replace("subtract %1, %y", "subtract %1, %4")
    first, second = read_text(old), read_text(new)
    assert diff(first, second).identical
    assert contents(first)[first.entry].hash == contents(second)[second.entry].hash


ON_A_TRUTH = (
    OLD.replace("which = s32[]", "which = pred[]")
    .replace("{bends, turns}", "")
    .replace("branch_computations=", "true_computation=bends, false_computation=turns")
)
COPIES = "  copied = f32[8]{0} copy(x)\n  ROOT turned = f32[8]{0} sine(copied)"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([], []),
        (
            [("true_computation=bends, false_computation=turns", "true_computation=turns, false_computation=bends")],
            [ORDER],
        ),
        ([("true_computation=bends, false_computation=turns", "false_computation=turns, true_computation=bends")], []),
        ([("sine", "cosine")], ["changed sine->cosine opcode"]),
        ([("  ROOT turned = f32[8]{0} sine(x)", COPIES)], ["added copy"]),
    ],
)
def test_branches_on_a_truth_and_on_an_index_are_paired(written: list[tuple[str, str]], expected: list[str]) -> None:
    new = ON_A_TRUTH
    for before, after in written:
        assert before in new
        new = new.replace(before, after)
    found = compare(OLD, new)  # both ways, each replayed
    assert sorted(lines(found)) == sorted(["changed parameter element_type", *expected])


def test_operands_of_branches_on_a_truth_follow_them() -> None:
    old, new = (text.replace("(which, p, p)", "(which, p, q)") for text in (OLD, ON_A_TRUTH))
    assert lines(compare(old, new)) == ["changed parameter element_type"]
    assert lines(compare(old, new.replace("(which, p, q)", "(which, q, p)"))) == [
        "changed parameter element_type",
        "changed conditional operands",
    ]


def test_a_third_branch_came_where_two_stood_on_a_truth() -> None:
    three = OLD.replace("conditional(which, p, p)", "conditional(which, p, p, q)").replace(
        "{bends, turns}", "{bends, turns, third}"
    )
    three = three.replace(
        "ENTRY", "third {\n  x = f32[8]{0} parameter(0)\n  ROOT far = f32[8]{0} exponential(x)\n}\n\nENTRY"
    )
    found = compare(ON_A_TRUTH, three)
    assert {"added exponential", "changed conditional operands"} <= set(lines(found))
    assert not {"added sine", "removed sine", "added tanh", "removed tanh"} & set(lines(found))


def test_a_program_that_is_mostly_not_read_has_branches_of_both_kinds() -> None:
    layers = "".join(
        f"\nlayer.{n} {{\n  x = f32[8]{{0}} parameter(0)\n"
        + "".join(f"  a.{k} = f32[8]{{0}} add({f'a.{k - 1}' if k else 'x'}, x)\n" for k in range(n + 2))
        + f"  ROOT r = f32[8]{{0}} abs(a.{n + 1})\n}}\n"
        for n in range(30)
    )
    calls = "".join(
        f"  l.{n} = f32[8]{{0}} call({f'l.{n - 1}' if n else 'p'}), to_apply=layer.{n}\n" for n in range(30)
    )
    old, new = (
        "HloModule test\n"
        + layers
        + text.replace("  ROOT out", calls + "  ROOT out").replace("which, p, p", "which, l.29, l.29")
        for text in (OLD, ON_A_TRUTH.replace("sine", "cosine"))
    )
    for texts in ((old, new), (new, old)):
        found = diff(*(read_hlo(text, at_once=False) for text in texts))
        assert "changed parameter element_type" in map(line, found.edits) and len(found.edits) == 2
        assert found.replay().complete
