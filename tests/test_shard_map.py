"""What `jax.shard_map` runs is one operation with a body: it is compared inside, whatever the operation hands on."""

from __future__ import annotations

import pytest

import hlodiff
from hlodiff.differ import Edit, FieldChange, Site, classes_of
from tests.scenarios import lines
from tests.shown import changes, happened, words

_OPS = ("tanh", "exponential", "cosine", "sine", "negate", "sqrt", "abs", "floor")


def program(is_divided: bool) -> hlodiff.Module:
    """A forward pass that saves values, and a backward pass that takes them; `is_divided` saves one more in between."""
    steps, values = [], ["%x"]
    for number, op in enumerate(_OPS):
        steps.append(f"%v{number} = stablehlo.{op} {values[-1]} : tensor<4x4xf32>")
        values.append(f"%v{number}")
    saved = [values[n] for n in (1, 3, 5, 7, 8)]
    if is_divided:
        steps += [f"%d = stablehlo.divide {values[-1]}, {values[2]} : tensor<4x4xf32>"]
        saved = [saved[0], values[2], *saved[1:4], "%d"]
    handed = saved[:-1]
    names = [f"%s{number}" for number in range(len(handed))]
    sums, total = [], names[0]
    for number, name in enumerate(names[1:]):
        sums.append(f"%t{number} = stablehlo.add {total}, {name} : tensor<4x4xf32>")
        total = f"%t{number}"
    local, whole, sharding = "tensor<4x4xf32>", "tensor<8x4xf32>", '<@mesh, [{"d"}, {}]>'

    def repeated(text: str, values: list[str]) -> str:
        return ", ".join([text] * len(values))

    takes = ", ".join(f"%0#{n}" for n in range(len(handed)))
    arguments = ", ".join(f"{name}: {local}" for name in names)
    newline = "\n"
    return hlodiff.read_text(
        f"""module @m attributes {{mhlo.num_partitions = 2 : i32}} {{
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%arg0: {whole}) -> ({whole}, {whole}) {{
    %0:{len(saved)} = sdy.manual_computation(%arg0) in_shardings=[{sharding}]
        out_shardings=[{repeated(sharding, saved)}] manual_axes={{"d"}} (%x: {local}) {{
      {newline.join(steps)}
      sdy.return {", ".join(saved)} : {repeated(local, saved)}
    }} : ({whole}) -> ({repeated(whole, saved)})
    %1 = sdy.manual_computation({takes})
        in_shardings=[{repeated(sharding, handed)}] out_shardings=[{sharding}] manual_axes={{"d"}} ({arguments}) {{
      {newline.join(sums)}
      sdy.return {total} : {local}
    }} : ({repeated(whole, handed)}) -> {whole}
    return %1, %0#{len(handed)} : {whole}, {whole}
  }}
}}
"""
    )


def test_one_more_value_that_is_handed_on_is_no_other_body() -> None:
    old, new = program(False), program(True)
    for one, other, word in ((old, new, "added"), (new, old, "removed")):
        found = hlodiff.diff(one, other)
        assert found.replay().complete
        assert lines(found)[:2] == [f"{word} divide", f"{word} add"]
        assert {edit.kind for edit in found.edits[2:]} == {"changed"}
        assert classes_of(found) == ("structure",)


def test_the_shardings_of_its_values_are_counted_or_those_that_differ_are_listed() -> None:
    found = [
        it.what for it in changes(hlodiff.diff(program(False), program(True)), "stablehlo") if it.kind == "changed"
    ]
    assert found[0].endswith("; out_shardings: 5 -> 6 values")
    assert found[1].endswith("; in_shardings: 4 -> 5 values")
    old = '#sdy.sharding_per_value<[<@m, [{}, {"model"}]>, <@m, [{"data"}]>]>'
    change = FieldChange("attribute:in_shardings", old, old.replace("{}", '{"data"}'))
    assert (
        words(Edit("changed", (change.field,), changes=(change,)))
        == "in_shardings: P(None, 'model') -> P('data', 'model')"
    )
    change = FieldChange("attribute:in_shardings", old, old.replace("@m,", "@n,"))  # the axes in another order
    assert words(Edit("changed", (change.field,), changes=(change,))) == "in_shardings: 2 values of m -> n"
    change = FieldChange("attribute:in_shardings", "", old)
    assert words(Edit("changed", (change.field,), changes=(change,))) == "in_shardings: 0 -> 2 values"
    added = Site(
        0, 0, "main", "m", "sdy.manual_computation", f"%m = f32[8] sdy.manual_computation(%a), in_shardings={old}"
    )
    assert words(Edit("added", sites=((None, added),))).endswith("in_shardings=[P(None, 'model'), P('data',)]")


def test_what_it_computes_again_is_counted() -> None:
    """Its operations have scopes that begin anew."""
    local, whole, spec = "tensor<4xf32>", "tensor<8xf32>", '[<@mesh, [{"d"}]>]'

    def text(*scopes: str) -> str:
        bodies = "".join(
            f"""
    %{n} = sdy.manual_computation(%arg0) in_shardings={spec} out_shardings={spec} manual_axes={{"d"}} (%x: {local}) {{
      %a = stablehlo.tanh %x : {local} loc("tanh")
      %b = stablehlo.sine %a : {local} loc("sin")
      sdy.return %b : {local}
    }} : ({whole}) -> {whole} loc("jit(f)/{scope}/shard_map")"""
            for n, scope in enumerate(scopes)
        )
        return f"""module @m {{
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%arg0: {whole}) -> ({whole}, {whole}) {{{bodies}
    return %0, %{len(scopes) - 1} : {whole}, {whole}
  }}
}}
"""

    old = hlodiff.read_text(text("jvp()"))
    new = hlodiff.read_text(text("jvp()", "checkpoint/rematted_computation"))
    assert happened(hlodiff.diff(old, new))[0].startswith(
        "at least 2 operations are computed again in the backward pass"
    )


def test_inputs_that_are_split_in_another_way_are_said_before_what_follows_from_it() -> None:
    def text(spec: str, rows: int, divisor: int) -> str:
        return f"""module @m {{
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<f32> {{
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{spec}]>] out_shardings=[<@mesh, []>]
        manual_axes={{"d"}} (%x: tensor<{rows}xf32>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.constant dense<{divisor}.0> : tensor<f32>
      %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<{rows}xf32>, tensor<f32>) -> tensor<f32>
      %b = stablehlo.divide %a, %n : tensor<f32>
      sdy.return %b : tensor<f32>
    }} : (tensor<8xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }}
}}
"""

    old, new = (hlodiff.read_text(text(*one)) for one in (('{"d"}', 4, 4), ("{}", 8, 8)))
    found = hlodiff.diff(old, new)
    assert classes_of(found) == ("placement",)
    assert happened(found) == [
        "inputs of shard_map are sharded differently (P('d',) -> replicated)",
        "a mean is over 8 elements instead of 4",
    ]


@pytest.mark.parametrize(("taken", "is_resharded"), [("%saved", True), ("%arg1", False)])
def test_another_value_that_the_backward_pass_takes_is_no_resharded_one(taken: str, is_resharded: bool) -> None:
    """It takes what the forward pass saved, each with its own sharding."""

    def text(taken: str, spec: str, rows: int) -> str:
        return f"""module @m {{
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {{
    %saved = stablehlo.tanh %arg1 : tensor<8xf32>
    %0 = sdy.manual_computation(%arg0, {taken}) in_shardings=[<@mesh, [{{"d"}}]>, <@mesh, [{spec}]>]
        out_shardings=[<@mesh, []>] manual_axes={{"d"}} (%x: tensor<4xf32>, %y: tensor<{rows}xf32>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<{rows}xf32>, tensor<f32>) -> tensor<f32>
      %c = stablehlo.multiply %a, %b : tensor<f32>
      sdy.return %c : tensor<f32>
    }} : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    return %0, %saved : tensor<f32>, tensor<8xf32>
  }}
}}
"""

    old, new = (hlodiff.read_text(text(*one)) for one in (("%saved", "{}", 8), (taken, '{"d"}', 4)))
    found = hlodiff.diff(old, new)
    said = "inputs of shard_map are sharded differently (replicated -> P('d',))"
    assert ("placement" in classes_of(found), said in happened(found)) == (is_resharded, is_resharded)
