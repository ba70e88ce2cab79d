"""A conditional that takes its branches in another order: one edit, whatever the branches hold."""

from __future__ import annotations

import pytest

from hlodiff.differ import diff
from hlodiff.hlo import read_text
from hlodiff.hlo.fingerprint import fingerprint
from tests.scenarios import compare, lines, module

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
    assert fingerprint(first) == fingerprint(second)
