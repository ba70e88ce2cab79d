"""Reading StableHLO: against MLIR's own walk, and what it says of broken text."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hlodiff.errors import ReadError
from hlodiff.hlo import Computation, Frame, Instruction, Module, Shape, print_stablehlo, read_stablehlo
from tests.oracle import mlir_facts, mlir_locations
from tests.stablehlo_fixture import programs as programs

Fact = tuple[str, list[Shape], list[Shape], tuple[str, ...]]

LOOP = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %out:2 = stablehlo.while(%i = %zero, %acc = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %sum = stablehlo.add %acc, %x : tensor<4xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<4xf32>
  }
  return %out#1 : tensor<4xf32>
}
"""


def test_regions_become_called_computations() -> None:
    loop = _find(read_stablehlo(LOOP), "while")
    assert [name for name, _ in loop.calls] == ["cond", "body"]
    assert loop.shape == Shape("tuple", tuple_shapes=(Shape("s32"), Shape("f32", (4,))), is_array=False)


def test_values_from_outside_become_parameters_and_operands() -> None:
    module = read_stablehlo(LOOP)
    main, loop = module.entry_computation, _find(module, "while")
    assert [main.instructions[o].name for o in loop.operands] == ["zero", "x", "n", "x", "one"]
    body = module.computations[loop.called[1]]
    captured = [i for i in map(body.instructions.__getitem__, body.parameters) if ("captured", "true") in i.attributes]
    assert [(i.name, i.literal) for i in captured] == [("x", "2"), ("one", "3")]  # as they are defined, not as used


def test_captures_of_an_inner_region_pass_through_the_outer_one() -> None:
    module = read_stablehlo("""
    func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
      %a = "stablehlo.if"(%p) ({
        %b = "stablehlo.if"(%p) ({
          stablehlo.return %x : tensor<f32>
        }, {
          stablehlo.return %x : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        stablehlo.return %b : tensor<f32>
      }, {
        stablehlo.return %x : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %a : tensor<f32>
    }""")
    outer = _find(module, "if")
    names = [module.entry_computation.instructions[o].name for o in outer.operands]
    assert names == ["p", "p", "x", "x"]  # its own, two of the true region, one of the false region
    assert _split_operands(module, outer) == (1, 3)


def test_the_second_result_is_named_by_results() -> None:
    root = read_stablehlo(LOOP).entry_computation.instructions[-1]
    assert root.opcode == "return"
    assert root.results == (1,)


def test_lines_and_names_are_those_of_the_text() -> None:
    loop = _find(read_stablehlo(LOOP), "while")
    assert (loop.name, loop.line) == ("out", 5)


def test_function_references_are_calls() -> None:
    module = read_stablehlo("""
    func.func public @main(%x: tensor<f32> {jax.buffer_donor = true}) -> (tensor<f32> {jax.result_info = "r"}) {
      %y = call @f(%x) : (tensor<f32>) -> tensor<f32>
      %z = stablehlo.composite "my.op" %y {decomposition = @f, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
      return %z : tensor<f32>
    }
    func.func private @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
    """)
    _, call, composite, root = module.entry_computation.instructions
    assert (call.opcode, call.calls) == ("func.call", (("callee", (1,)),))
    assert composite.calls == (("decomposition", (1,)),)
    assert composite.attributes == (("name", '"my.op"'), ("version", "1 : i32"))
    assert root.attribute("result0.jax.result_info") == '"r"'
    assert module.entry_computation.instructions[0].attribute("jax.buffer_donor") == "true"


def test_the_entry_is_main_wherever_it_stands() -> None:
    text = "func.func private @f() { return }\nfunc.func public @main() { return }"
    assert read_stablehlo(text).entry_computation.name == "main"


@pytest.mark.parametrize(
    "text",
    [
        "tensor<2x3xbf16>", "tensor<i1>", "tensor<ui32>", "tensor<4xi4>", "tensor<complex<f64>>", "tensor<8xf8E4M3FN>",
        "tensor<8xf8E5M2FNUZ>", "tensor<?x4xf32>", "tensor<?x?xf32, #stablehlo.bounds<8, ?>>", "!stablehlo.token",
        "tuple<tensor<f32>, tuple<tensor<i32>>>", "tensor<2x!quant.uniform<i8:f32, 1.000000e-01:5>>", "tensor<4xindex>",
        "tensor<*xf32>", "!stablehlo.future<tensor<f32>>", 'tensor<4xf32, #sparse<"a, b">>',
    ],
)  # fmt: skip
def test_types_survive(text: str) -> None:
    assert print_stablehlo(read_stablehlo(_taking(text))) == _taking(text)


def test_bounds_are_dynamic_dimensions() -> None:
    bounded, unbounded = _shapes(["tensor<2x?xi32, #stablehlo.bounds<?, 8>>", "tensor<?xi32>"])
    assert bounded == Shape("s32", (2, 8), dynamic=(1,)) and unbounded.dimensions == (-1,)


NESTED = """
import os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp
def inner(x):
    return jnp.sin(x)
def outer(x):
    y = inner(x)
    return y * inner(y)
print(jax.jit(outer).lower(1.0).as_text(debug_info=True))
"""


def test_the_python_stack_of_an_operation(tmp_path: Path) -> None:
    script = tmp_path / "nested.py"
    script.write_text(NESTED)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    module = read_stablehlo(ran.stdout)
    sines = [i for i in module.entry_computation.instructions if i.opcode == "sine"]
    stacks = [[(f.function, f.line) for f in module.stack(i.frame)] for i in sines]
    assert stacks == [
        [("inner", 6), ("outer", 8), ("<module>", 10)],
        [("inner", 6), ("outer", 9), ("<module>", 10)],
    ]
    assert [i.op_name for i in sines] == ["jit(outer)/sin", "jit(outer)/sin"]
    assert module.entry_computation.instructions[0].op_name == "x"
    assert {f.file for f in module.frames} == {str(script)}


def test_other_spellings_of_locations() -> None:
    module = read_stablehlo("""
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %a = stablehlo.sine %x : tensor<f32> loc(fused["jit(f)/sin"("a.py":3:1), "b.py":4:1])
      %b = stablehlo.sine %a : tensor<f32> loc("f"("c.py":5:2 to 6:9))
      %c = stablehlo.sine %b : tensor<f32> loc("call:"("jit(f)/say \\22loc(#loc1)\\22"("d.py":7:1)))
      return %c : tensor<f32> loc(unknown)
    } loc(unknown)""")
    _, a, b, c, root = module.entry_computation.instructions
    assert (a.op_name, module.stack(a.frame)) == ("jit(f)/sin", (Frame("a.py", 3, ""),))
    assert (b.op_name, module.stack(b.frame)) == ("", (Frame("c.py", 5, "f"),))
    assert (c.op_name, module.stack(c.frame)) == ('jit(f)/say "loc(#loc1)"', (Frame("d.py", 7, ""),))
    assert (root.op_name, root.frame) == ("", -1)


def test_operations_beside_functions_keep_their_locations_to_themselves() -> None:
    module = read_stablehlo("""
    module @inner {
      func.func @f() { return loc("a"("a.py":1:1)) } loc("b"("a.py":2:1))
    } loc("c"("a.py":3:1))
    func.func @main() { return loc("jit(f)/d"("a.py":4:1)) } loc(unknown)""")
    root = module.entry_computation.instructions[-1]
    assert (root.op_name, module.stack(root.frame)) == ("jit(f)/d", (Frame("a.py", 4, ""),))
    assert [name for name, _ in module.attributes] == ["builtin.module @inner"]


def test_the_word_loc_in_a_string_is_no_location() -> None:
    text = """
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %named = stablehlo.custom_call @"say loc(here)"(%x) : (tensor<f32>) -> tensor<f32>
      return %named : tensor<f32>
    }"""
    call = read_stablehlo(text).entry_computation.instructions[1]
    assert (call.name, call.line) == ("named", 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.sine %b : tensor<f32>\n  return\n}",
            "a.mlir:2:23: no valid MLIR: use of undeclared SSA value name\n"
            "    %0 = stablehlo.sine %b : tensor<f32>\n                        ^",
        ),
        (
            "module {\n  func.func @f() {\n    return",
            "a.mlir:3:10: no valid MLIR: expected operation name in quotes (the file ends here: is it truncated?)",
        ),
        (
            "module {\n<<<<<<< HEAD\n=======\n>>>>>>> b\n}",
            "a.mlir:2:1: the file holds merge-conflict markers\n  <<<<<<< HEAD\n  ^\n"
            "hint: take either side, then type `hlodiff update` to record the program again",
        ),
        ("module {}", "a.mlir: the module holds no function"),
        (
            "func.func @f() {\n  cf.br ^bb1\n^bb1:\n  return\n}",
            "a.mlir:1:1: a function with several blocks (func.func) is not StableHLO\n  func.func @f() {\n  ^",
        ),
    ],
)
def test_broken_text_says_where(text: str, message: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_stablehlo(text, path="a.mlir")
    assert caught.value.render().startswith(message)


def test_every_operation_that_mlir_sees(programs: Path) -> None:
    for path in sorted(programs.glob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        seen = mlir_facts(text)
        types = list(dict.fromkeys(each for fact in seen for each in (*fact.operands, *fact.results)))
        shape_of = dict(zip(types, _shapes(types), strict=True))
        expected = [
            (fact.name, [shape_of[t] for t in fact.operands], [shape_of[t] for t in fact.results], fact.attributes)
            for fact in seen
        ]
        assert list(_facts(read_stablehlo(text))) == expected, path.name


def test_every_operation_has_the_location_that_mlir_gives_it(programs: Path) -> None:
    """One location too many or too few in the printed text would shift all that follow."""
    for path in sorted(programs.glob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        module = read_stablehlo(text)
        ours = list(_operations(module))
        locations = mlir_locations(text)
        assert len(ours) == len(locations), path.name
        for it, location in zip(ours, locations, strict=True):
            assert f'"{it.op_name}"' in location or not it.op_name, (path.name, it)
            place = re.search(r'"([^"]*)":(\d+):', location)
            innermost = module.stack(it.frame)[:1]
            assert [(f.file, f.line) for f in innermost] == ([(place[1], int(place[2]))] if place else []), path.name


def _taking(*types: str) -> str:
    parameters = ", ".join(f"%arg{n}: {each}" for n, each in enumerate(types))
    return f"module {{\n  func.func @main({parameters}) {{\n    return\n  }}\n}}\n"


def _shapes(types: Sequence[str]) -> list[Shape]:
    """The shape of each MLIR type, as parameters have it."""
    return [it.shape for it in read_stablehlo(_taking(*types)).entry_computation.instructions if it.opcode != "return"]


def _is_function(computation: Computation) -> bool:
    return any(name == "visibility" for name, _ in computation.attributes)


def _split_operands(module: Module, op: Instruction) -> tuple[int, int]:
    """How many operands are the operation's own, and how many its regions capture: parameters without a number."""
    regions = [module.computations[index] for index in op.called if not _is_function(module.computations[index])]
    captured = sum("captured" in dict(it.attributes) for region in regions for it in region.instructions)
    return len(op.operands) - captured, captured


def _result_shapes(shape: Shape) -> tuple[Shape, ...]:
    return shape.tuple_shapes if shape.element_type == "tuple" else (shape,)


def _find(module: Module, opcode: str) -> Instruction:
    return next(i for i in module.entry_computation.instructions if i.opcode == opcode)


def _operations(module: Module) -> Iterator[Instruction]:
    """Operations in MLIR's post-order."""
    for index, computation in enumerate(module.computations):
        if _is_function(computation):
            yield from _operations_of(module, index)


def _operations_of(module: Module, index: int) -> Iterator[Instruction]:
    for it in module.computations[index].instructions:
        if it.opcode != "parameter":
            for called in it.called:
                if not _is_function(module.computations[called]):
                    yield from _operations_of(module, called)
            yield it


def _facts(module: Module) -> Iterator[Fact]:
    """Operations in MLIR's post-order, told from the model alone."""
    for index, computation in enumerate(module.computations):
        if _is_function(computation):
            yield from _facts_of(module, index, "func.func")


def _facts_of(module: Module, index: int, owner: str) -> Iterator[Fact]:
    computation = module.computations[index]
    for it in computation.instructions:
        if it.opcode == "parameter":
            continue
        name = it.opcode if "." in it.opcode else f"stablehlo.{it.opcode}"
        name = f"{owner.partition('.')[0]}.return" if it.opcode == "return" else name
        for called in it.called:
            if not _is_function(module.computations[called]):
                yield from _facts_of(module, called, name)
        inside, _ = _split_operands(module, it)
        results = it.results or (0,) * len(it.operands)
        shapes = [
            _result_shapes(computation.instructions[o].shape)[r] for o, r in zip(it.operands, results, strict=True)
        ]
        symbols = [key for key, called in it.calls if all(_is_function(module.computations[c]) for c in called)]
        attributes = [key for key, _ in it.attributes if not key.startswith("result") or "." not in key]
        literal = ["value"] if it.opcode == "constant" and it.literal is not None else []
        yield name, shapes[:inside], list(_result_shapes(it.shape)), tuple(sorted([*attributes, *symbols, *literal]))
