"""Every committed snapshot is accepted by the field's own parsers, and read as they read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.ir import bindings
from hlodiff.ir.hlo_reader import read_hlo
from hlodiff.ir.stablehlo_printer import print_stablehlo
from hlodiff.ir.stablehlo_reader import read_stablehlo
from tests.oracle import model_facts, xla_facts

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
COMPILED = sorted(SNAPSHOTS.rglob("compiled.hlo"))
STABLEHLO = sorted(SNAPSHOTS.rglob("stablehlo.mlir"))
pytestmark = pytest.mark.skipif(not SNAPSHOTS.is_dir(), reason="no snapshots are recorded yet: type `make update`")


def test_there_are_both_stages() -> None:
    assert COMPILED
    assert STABLEHLO


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.parent.relative_to(SNAPSHOTS)))
def test_compiled_is_what_xla_reads(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert model_facts(read_hlo(text, path=str(path))) == xla_facts(text)


@pytest.mark.parametrize("path", STABLEHLO, ids=lambda path: str(path.parent.relative_to(SNAPSHOTS)))
def test_stablehlo_is_valid_and_whole(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    printed = print_stablehlo(read_stablehlo(text, path=str(path)))
    assert bindings.parse_mlir(printed).operation.get_asm() == bindings.parse_mlir(text).operation.get_asm()
