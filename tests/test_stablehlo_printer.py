"""Printing StableHLO: valid, complete, with our names, in MLIR's pretty form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.errors import ReadError
from hlodiff.hlo import Computation, Instruction, Module, mlir, print_stablehlo, read_stablehlo
from tests.stablehlo_fixture import programs as programs

NAMED = """\
module @m attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) \
-> (tensor<4xf32> {jax.result_info = "out"}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %pi.value = stablehlo.constant {note = "kept"} dense<3.140000e+00> : tensor<4xf32>
    %loop:2 = stablehlo.while(%i = %zero, %acc = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %sum = stablehlo.add %acc, %pi.value : tensor<4xf32>
      stablehlo.return %i, %sum : tensor<i32>, tensor<4xf32>
    }
    %helped = call @helper(%loop#1) : (tensor<4xf32>) -> tensor<4xf32>
    return %helped : tensor<4xf32>
  }
  func.func private @helper(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
}
"""


def test_what_is_read_is_printed() -> None:
    assert print_stablehlo(read_stablehlo(NAMED)) == NAMED


def test_reduce_keeps_its_short_form() -> None:
    line = "%r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : "
    text = (
        "module {\n  func.func @main(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {\n"
        f"    {line}(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n    return %r : tensor<f32>\n  }}\n}}\n"
    )
    assert print_stablehlo(read_stablehlo(text)) == text


def test_programs_survive_reading_and_printing(programs: Path) -> None:
    for path in sorted(programs.glob("*.mlir")):
        module = read_stablehlo(path.read_text(encoding="utf-8"))
        again = read_stablehlo(print_stablehlo(module))
        assert _bare(again) == _bare(module), path.name


def test_mlir_sees_the_same_program(programs: Path) -> None:
    """MLIR's own printing of both texts, where names are MLIR's counters, has the same bytes."""
    for path in sorted(programs.glob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        printed = print_stablehlo(read_stablehlo(text))
        assert _canonical(printed) == _canonical(text), path.name


def test_printing_is_stable(programs: Path) -> None:
    for path in sorted(programs.glob("*.mlir")):
        printed = print_stablehlo(read_stablehlo(path.read_text(encoding="utf-8")))
        assert print_stablehlo(read_stablehlo(printed)) == printed, path.name


def test_names_that_clash_or_are_no_words_are_still_valid() -> None:
    module = read_stablehlo(NAMED)
    main = module.entry_computation
    odd = tuple(replace(it, name="über 9") for it in main.instructions)
    module = replace(module, computations=(replace(main, instructions=odd), *module.computations[1:]))
    assert _bare(read_stablehlo(print_stablehlo(module))) == _bare(module)


def test_a_function_name_that_is_no_word_is_quoted() -> None:
    text = NAMED.replace("@helper", '@"a helper/1"')
    assert print_stablehlo(read_stablehlo(text)) == text


def test_declarations_and_resources_survive() -> None:
    text = """\
module {
  func.func private @outside(tensor<f32>) -> tensor<f32>
  func.func @main() -> tensor<2xf32> {
    %w = stablehlo.constant dense_resource<weights> : tensor<2xf32>
    return %w : tensor<2xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
"""
    assert print_stablehlo(read_stablehlo(text)) == text


def test_an_invalid_module_is_an_error_and_no_text() -> None:
    add = Instruction("a", "add", read_stablehlo(NAMED).entry_computation.instructions[0].shape)
    computation = Computation("main", (add,), 0, attributes=(("visibility", "public"),))
    with pytest.raises(ReadError, match="expected 2 operands"):
        print_stablehlo(Module("m", "stablehlo", (computation,), 0))


def test_quoting() -> None:
    for name, printed in (("f_1", "f_1"), ("1 f", '"1 f"'), ('a "b" \\ é', '"a \\22b\\22 \\\\ \\C3\\A9"')):
        module = read_stablehlo(NAMED)
        module = replace(
            module, computations=tuple(replace(c, name=c.name.replace("helper", name)) for c in module.computations)
        )
        assert f"call @{printed}(" in print_stablehlo(module)


def _canonical(text: str) -> str:
    printed: str = mlir.parse_mlir(text).operation.get_asm()
    return printed


def _bare(module: Module) -> Module:
    """Without names of values and regions, lines, scopes and frames."""

    def plain(computation: Computation) -> Computation:
        instructions = tuple(replace(it, name="", line=0, op_name="", frame=-1) for it in computation.instructions)
        is_function = any(name == "visibility" for name, _ in computation.attributes)
        name = computation.name if is_function else ""
        return replace(computation, name=name, line=0, instructions=instructions)

    return replace(module, frames=(), computations=tuple(map(plain, module.computations)))
