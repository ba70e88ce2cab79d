"""What stands behind the closing brace of a computation is compared, told and proved like everything else."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from hlodiff.differ import diff
from hlodiff.errors import ReadError
from hlodiff.hlo import read_bytes, read_hlo
from tests.shown import changes

_TEXT = """HloModule m

%used (p.1: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  ROOT %t = f32[8]{0} tanh(%p.1)
}

%body (p.2: f32[8]) -> f32[8] {
  %p.2 = f32[8]{0} parameter(0)
  %n = f32[8]{0} negate(%p.2)
  ROOT %c.1 = f32[8]{0} call(%n), to_apply=%used
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %c = f32[8]{0} call(%p), to_apply=%body
}
"""
_SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots"
_TAILS = ["", ', execution_thread="host"', ", foo=1", ", foo=2", ", bar, foo=1", ', foo={a=1,b="}"}', ", bar="]


def _with_tail(name: str, tail: str) -> str:
    return re.sub(rf"(%{name} \(.*?\n\}})", lambda found: found[1] + tail, _TEXT, count=1, flags=re.DOTALL)


@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize(
    ("name", "tails", "words"),
    [
        ("used", (", foo=1", ", foo=2"), "computation %used: foo: 1 -> 2"),
        ("used", ("", ", foo={x}"), "computation %used: foo: none -> {x}"),
        ("body", (", foo=1, bar", ", foo=1"), "computation %body: bar: present -> none"),
        ("main", ("", ", foo=1"), "computation %main: foo: none -> 1"),
        ("main", ("", ', execution_thread="host"'), "computation %main: execution thread: main -> host"),
        ("used", ("", ', execution_thread="host"'), "call %c.1 f32[8]: runs on: device -> host"),
    ],
)
def test_an_attribute_that_differs_is_an_edit(name: str, tails: tuple[str, str], words: str, lazily: bool) -> None:
    sides = [read_hlo(_with_tail(name, tail), at_once=not lazily) for tail in tails]
    found = diff(*sides)
    assert [change.what for change in changes(found)] == [words]
    assert found.replay().complete
    assert len(diff(*reversed(sides)).edits) == 1


@pytest.mark.parametrize("pair", [(", a=1, b=2", ", b=2, a=1"), ("", ', execution_thread="main"')])
def test_order_and_the_main_thread_are_no_difference(pair: tuple[str, str]) -> None:
    for name in ("used", "main"):
        assert diff(*(read_hlo(_with_tail(name, tail)) for tail in pair)).identical


def test_without_the_edit_the_proof_fails() -> None:
    from dataclasses import replace

    found = diff(*(read_hlo(_with_tail("used", tail)) for tail in (", foo=1", ", foo=2")))
    assert replace(found, edits=()).replay().failures == ("the attributes of %used changed, and no edit says so",)


def test_the_proof_is_complete_wherever_attributes_differ_and_whatever_else_does() -> None:
    random = Random(17)
    files = sorted(_SNAPSHOTS.glob("*/cpu/compiled.hlo"))
    assert len(files) > 10
    for file in files:
        lines = file.read_text(encoding="utf-8").split("\n")
        ends = [n for n, line in enumerate(lines) if line.startswith("}")]
        sides = [list(lines), list(lines)]
        for end in random.sample(ends, min(3, len(ends))):
            for side in sides:
                side[end] = "}" + random.choice(_TAILS)
        sides[1] = [line.replace(" multiply(", " add(") for line in sides[1]] if random.random() < 0.4 else sides[1]
        found = diff(*(read_hlo("\n".join(side), at_once=random.random() < 0.5) for side in sides))
        assert found.limits or found.replay().complete, file
        assert found.identical == (sides[0] == sides[1]), file


def test_attributes_of_functions_in_stablehlo() -> None:
    text = """module @m {
  func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.tanh %a : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
    other = text.replace("private @f(%a: tensor<2xf32>) -> tensor<2xf32> {", "private @f(%a: tensor<2xf32>)"
                         " -> tensor<2xf32> attributes {foo = 1 : i32} {")  # fmt: skip
    found = diff(*(read_bytes(side.encode(), path="a.mlir") for side in (text, other)))
    assert [change.what for change in changes(found)] == ["computation %f: foo: none -> 1"]
    assert found.replay().complete


@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("HloModule m", "HloModule m, a=1, a=2", "a"),
        ("tanh(%p.1)", "tanh(%p.1), foo=1, foo=2", "foo"),
        ("tanh(%p.1)", 'tanh(%p.1), metadata={op_name="a"}, metadata={op_name="b"}', "metadata"),
        ("to_apply=%used", "to_apply=%used, to_apply=%used", "to_apply"),
        ("}\n\nENTRY", "}, foo=1, foo=1\n\nENTRY", "foo"),
    ],
)
def test_an_attribute_that_is_given_twice_is_refused(old: str, new: str, name: str, lazily: bool) -> None:
    with pytest.raises(ReadError, match=f"the attribute `{name}` is given twice"):
        tuple(read_hlo(_TEXT.replace(old, new), at_once=not lazily).computations)
