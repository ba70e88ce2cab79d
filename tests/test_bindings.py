"""What hlodiff uses of jaxlib is still where it was; when this file fails, mend `hlodiff/hlo/mlir.py`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from hlodiff.errors import HlodiffError
from hlodiff.hlo import mlir


def test_mlir_context_knows_the_dialects() -> None:
    known = mlir.context()
    mpmd = ["mpmd.fragment"] if importlib.util.find_spec("jaxlib.mlir.dialects.mpmd") else []  # not in jaxlib 0.7
    for operation in ("stablehlo.add", "chlo.top_k", "sdy.mesh", "mhlo.copy", "func.func", *mpmd):
        assert known.is_registered_operation(operation), operation


def test_mlir_members() -> None:
    ir = mlir.mlir()
    for name in ("AsmState", "Context", "DialectRegistry", "MLIRError", "Module"):
        assert hasattr(ir, name), name


def test_attributes_that_the_bindings_cannot_convert_come_as_text() -> None:
    text = (
        "func.func @f() -> tensor<complex<f32>> {\n"
        "  %0 = stablehlo.constant dense<(0.0,1.0)> : tensor<complex<f32>>\n  return %0 : tensor<complex<f32>>\n}"
    )
    module = mlir.parse_mlir(text)
    constant = module.body.operations[0].regions[0].blocks[0].operations[0].operation
    expected = "dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>"
    assert [(name, str(value)) for name, value in mlir.attributes_of(constant)] == [("value", expected)]


def test_quantized_types_are_refused_with_the_reason() -> None:
    kind = "tensor<4x!quant.uniform<i8:f32, 0.1:5>>"
    text = f"func.func @f(%a: {kind}) -> {kind} {{\n  %0 = stablehlo.add %a, %a : {kind}\n  return %0 : {kind}\n}}"
    with pytest.raises(HlodiffError, match="jaxlib cannot read quantized types") as caught:
        mlir.parse_mlir(text)
    assert "no dialect `quant`" in caught.value.hint


def test_hlo_text_proto_and_back() -> None:
    module = mlir.hlo_from_text("HloModule m\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}\n")
    again = mlir.hlo_from_proto(module.as_serialized_hlo_module_proto())
    assert "ROOT %p = f32[2]{0} parameter(0)" in mlir.hlo_text(again)


def test_reading_stablehlo_does_not_import_jax() -> None:
    code = (
        "import sys; from hlodiff.hlo.stablehlo_parser import read_stablehlo;"
        "read_stablehlo('func.func @main() { return }');"
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_missing_jaxlib_is_a_sentence() -> None:
    code = (
        "import sys; sys.modules['jaxlib'] = None\n"
        "from hlodiff.errors import HlodiffError; from hlodiff.hlo.stablehlo_parser import read_stablehlo\n"
        "try: read_stablehlo('module {}')\n"
        "except HlodiffError as error: print(error.render())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == (
        "reading StableHLO and HLO protos needs jaxlib, which is missing\nhint: pip install 'jaxlib>=0.7.1'\n"
    )


def test_a_moved_module_is_a_sentence() -> None:
    with pytest.raises(HlodiffError, match=r"jaxlib \d+\.\d+.* has no `jaxlib\.moved`"):
        mlir._load("jaxlib.moved")
