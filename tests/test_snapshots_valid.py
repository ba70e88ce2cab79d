"""Every committed snapshot is accepted by the field's own parsers, and read as they read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.hlo import Module, mlir, print_hlo, print_stablehlo, read_hlo, read_stablehlo
from tests.oracle import model_facts, xla_facts

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
COMPILED = sorted(SNAPSHOTS.rglob("compiled.hlo"))
STABLEHLO = sorted(SNAPSHOTS.rglob("stablehlo.mlir"))


def test_there_are_both_stages() -> None:
    assert COMPILED
    assert STABLEHLO


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.parent.relative_to(SNAPSHOTS)))
def test_compiled_is_what_xla_reads(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    module = read_hlo(text, path=str(path))
    assert len(xla_facts(text)) == module.instruction_count()
    unique = print_hlo(with_unique_names(module))
    assert model_facts(read_hlo(unique)) == xla_facts(unique)


def with_unique_names(module: Module) -> Module:
    """XLA's parser renames instructions of different computations that share a name; the structure is what counts."""
    computations = [
        replace(c, instructions=tuple(replace(it, name=f"{c.name}_{it.name}") for it in c.instructions))
        for c in module.computations
    ]
    return replace(module, computations=tuple(computations))


@pytest.mark.parametrize("path", STABLEHLO, ids=lambda path: str(path.parent.relative_to(SNAPSHOTS)))
def test_stablehlo_is_valid_and_whole(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    printed = print_stablehlo(read_stablehlo(text, path=str(path)))
    assert mlir.parse_mlir(printed).operation.get_asm() == mlir.parse_mlir(text).operation.get_asm()
