"""In lists of StableHLO changes, causes come before what they drag along."""

from __future__ import annotations

import re

import hlodiff
from hlodiff.differ import ProgramComparison
from hlodiff.report import Report, to_terminal
from tests.test_edited_lines import Sources, edited


def program(heads: int, rows: int = 64) -> hlodiff.Module:
    """32 values of each row, split among heads and scaled by the values of a head."""
    size, line = 32 // heads, 'loc("model.py":7:1)'
    given, split = f"tensor<{rows}x32xf32>", f"tensor<{rows}x{heads}x{size}xf32>"
    first, table = f"tensor<{rows}x{heads}x1xf32>", f"tensor<{heads}x{size}x64xf32>"
    return hlodiff.read_text(
        f"""module @jit_f {{
  func.func public @main(%arg0: {given}) -> ({given}, {table}, {first}) {{
    %one = stablehlo.constant dense<1.0> : tensor<f32> {line}
    %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> {table} {line}
    %1 = stablehlo.exponential %0 : {table} {line}
    %2 = stablehlo.reshape %arg0 : ({given}) -> {split} {line}
    %3 = stablehlo.slice %2 [0:{rows}, 0:{heads}, 0:1] : ({split}) -> {first} {line}
    %scale = stablehlo.constant dense<{1 / size}> : tensor<f32> {line}
    %4 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> {given} {line}
    %5 = stablehlo.multiply %arg0, %4 : {given} {line}
    return %5, %1, %3 : {given}, {table}, {first}
  }}
}}
"""
    )


def listed(names: str, old: hlodiff.Module, new: hlodiff.Module, line: int) -> list[str]:
    """The opcodes of the changes in a report about functions in which this line was edited."""
    found = hlodiff.diff(old, new)
    programs = tuple(ProgramComparison(name, "cpu", "stablehlo", "changed", found) for name in names)
    text = to_terminal(Report("diff", "a", "b", programs, source_line=Sources(edited(line, "    return new"))))
    return re.findall(r"changed +(?:\d+x )?([a-z_]+) (?:%\S+ )?f32\[", text)


def test_a_literal_comes_before_the_shapes_that_it_changes_and_those_of_broadcasts_come_last() -> None:
    old, new = program(4), program(8)
    for names, line in (("fg", 7), ("f", 3), ("f", 6), ("f", 7)):  # shared, no known edit, elsewhere, that line
        found = listed(names, old, new, line)
        assert found == ["constant", "reshape", "broadcast_in_dim"], (names, line)


def test_a_number_that_is_a_size_of_an_argument_of_another_shape_causes_nothing() -> None:
    def mean(rows: int) -> hlodiff.Module:
        given = f"tensor<{rows}x32xf32>"
        return hlodiff.read_text(
            f"""module @jit_f {{
  func.func public @main(%arg0: {given}) -> ({given}, tensor<f32>) {{
    %0 = stablehlo.iota dim = 0 : {given}
    %1 = stablehlo.add %0, %0 : {given}
    %count = stablehlo.constant dense<{rows}.0> : tensor<f32>
    %one = stablehlo.constant dense<3.0> : tensor<f32>
    %2 = stablehlo.divide %one, %count : tensor<f32>
    %3 = stablehlo.slice %arg0 [0:{rows}, 0:32] : ({given}) -> {given}
    %4 = stablehlo.multiply %3, %1 : {given}
    return %4, %2 : {given}, tensor<f32>
  }}
}}
"""
        )

    assert listed("f", mean(64), mean(128), 3) == ["parameter", "iota", "constant"]
