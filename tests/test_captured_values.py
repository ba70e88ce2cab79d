"""Values that regions of StableHLO capture: an operation has them in no order of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hlodiff
from hlodiff.hlo import Instruction

TEXT = """module @m {
  func.func public @main(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
DEFINITIONS    %r = "stablehlo.case"(%i) ({
      %s = stablehlo.subtract %a, %b : tensor<4xf32>
      stablehlo.return %s : tensor<4xf32>
    }, {
      %d = stablehlo.divide %b, %c : tensor<4xf32>
      stablehlo.return %d : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %w:2 = stablehlo.while(%k = %i, %v = %r) : tensor<i32>, tensor<4xf32>
    cond {
      %t = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %p = stablehlo.power %v, %a : tensor<4xf32>
      %q = stablehlo.subtract %p, %c : tensor<4xf32>
      %l = stablehlo.add %k, %o : tensor<i32>
      stablehlo.return %l, %q : tensor<i32>, tensor<4xf32>
    }
    return %w#1 : tensor<4xf32>
  }
}
"""
DEFINED = {
    name: f"    %{name} = stablehlo.{opcode} %x : tensor<4xf32>\n"
    for name, opcode in (("a", "sine"), ("b", "cosine"), ("c", "tanh"))
}


def program(order: str = "abc", *replaced: tuple[str, str]) -> hlodiff.Module:
    text = TEXT.replace("DEFINITIONS", "".join(DEFINED[name] for name in order))
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return hlodiff.read_text(text, trusted=True)


@pytest.mark.parametrize("order", ["acb", "bac", "bca", "cab", "cba"])
def test_values_that_are_defined_in_another_order_are_captured_as_before(order: str) -> None:
    found = hlodiff.diff(program(), program(order))
    assert not found.edits and found.replay().complete


@pytest.mark.parametrize("order", ["abc", "bca", "cba"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("subtract %a, %b", "subtract %b, %a"),
        ("divide %b, %c", "divide %b, %b"),
        ("subtract %a, %b", "subtract %a, %c"),
        ("power %v, %a", "power %v, %b"),
        ("compare LT, %k, %n", "compare LT, %k, %o"),
    ],
)
def test_another_captured_value_is_one_edit(order: str, one: str, other: str) -> None:
    """Of what takes it, or of what owns the region."""
    found = hlodiff.diff(program(), program(order, (one, other)))
    assert [(edit.kind, edit.fields) for edit in found.edits] == [("changed", ("operands",))]
    assert found.replay().complete


def test_an_operation_in_a_branch_brings_the_value_that_it_captures() -> None:
    """The branch captures one value more; its operands are no edit of their own."""
    new = program(
        "cab",
        ("%d = stablehlo.divide", "%e = stablehlo.divide"),
        ("return %d :", "return %p2 :"),
        ("    stablehlo.return %p2", "    %p2 = stablehlo.power %e, %a : tensor<4xf32>\n      stablehlo.return %p2"),
    )
    found = hlodiff.diff(program(), new)
    assert [(edit.kind, edit.new.opcode) for edit in found.edits if edit.new and edit.cause is None] == [
        ("added", "power")
    ]
    assert found.replay().complete


def test_a_script_that_does_not_say_that_captured_values_were_exchanged_proves_nothing() -> None:
    found = hlodiff.diff(program(), program("abc", ("subtract %a, %b", "subtract %b, %a")))
    assert not replace(found, edits=()).replay().complete


def exchanged(module: hlodiff.Module) -> hlodiff.Module:
    """The first branch captures its two values the other way round."""
    entry = module.entry_computation

    def turned(it: Instruction) -> Instruction:
        if it.opcode != "case":
            return it
        index, one, two, *rest = it.operands
        return replace(it, operands=(index, two, one, *rest))

    instructions = tuple(map(turned, entry.instructions))
    computations = [*module.computations]
    computations[module.entry] = replace(entry, instructions=instructions)
    return replace(module, computations=tuple(computations))


def test_captured_values_that_were_exchanged_are_a_change() -> None:
    found = hlodiff.diff(program(), exchanged(program()))
    assert found.edits and found.replay().complete


CALL = """module @m {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<2xf32>, %z: tensor<3xf32>)
      -> (tensor<4xf32>, tensor<2xf32>, tensor<3xf32>) {
    %a = stablehlo.sine %x : tensor<4xf32>
    %b = stablehlo.cosine %y : tensor<2xf32>
    %c = stablehlo.tanh %z : tensor<3xf32>
    %r:3 = call @g(ARGUMENTS) : (TYPES) -> (tensor<4xf32>, tensor<2xf32>, tensor<3xf32>)
    return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<2xf32>, tensor<3xf32>
  }
  func.func private @g(PARAMETERS) -> (tensor<4xf32>, tensor<2xf32>, tensor<3xf32>) {
    %s = stablehlo.negate %p : tensor<4xf32>
    %t = stablehlo.abs %q : tensor<2xf32>
    %u = stablehlo.exponential %r : tensor<3xf32>
    return %s, %t, %u : tensor<4xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
"""


def call(order: str) -> str:
    taken = {"p": ("%a", "tensor<4xf32>"), "q": ("%b", "tensor<2xf32>"), "r": ("%c", "tensor<3xf32>")}
    text = CALL.replace("ARGUMENTS", ", ".join(taken[name][0] for name in order))
    text = text.replace("TYPES", ", ".join(taken[name][1] for name in order))
    return text.replace("PARAMETERS", ", ".join(f"%{name}: {taken[name][1]}" for name in order))


@pytest.mark.parametrize("order", ["qpr", "rpq", "qrp"])
def test_parameters_of_a_function_that_are_exchanged_with_the_operands_of_its_call_are_nothing(order: str) -> None:
    old, new = (hlodiff.read_text(call(each), trusted=True) for each in ("pqr", order))
    found = hlodiff.diff(old, new)
    assert not found.edits and found.replay().complete
    other = hlodiff.read_text(call(order).replace("exponential", "log"), trusted=True)
    assert [edit.fields for edit in hlodiff.diff(old, other).edits] == [("opcode",)]
