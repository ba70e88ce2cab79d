"""Compiling with a dump, and both sides of registered functions: without JAX, by what would write the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hlodiff.capture.pass_dumps import compile_with_dump
from hlodiff.differ import Limits, ProgramComparison, diff
from hlodiff.errors import CaptureError
from hlodiff.report import Report, to_terminal
from hlodiff.workflows.passes import DumpFolders, blame_passes
from tests.pass_dumps import compiled, dump, files

OLD, NEW = "scatter-cuda-h100-jax-0.9.1", "scatter-cuda-h100-jax-0.9.2"


class Lowered:
    """What `jax.jit(f).lower()` gives, as far as compiling with a dump asks."""

    def __init__(self, size: int) -> None:
        self.size = size

    def compile(self, compiler_options: dict[str, Any]) -> str:
        folder = Path(compiler_options["xla_dump_to"])
        assert Path.cwd() == folder  # a compiler that ignores the option litters no project
        (folder / "module_0000.jit_f.before_optimizations.txt").write_bytes(b"x" * self.size)
        return "compiled"


def test_a_dump_that_grows_too_large_is_removed(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    assert compile_with_dump(Lowered(10), tmp_path / "small", most=100) == "compiled"
    assert len(list((tmp_path / "small").iterdir())) == 1
    (tmp_path / "large").mkdir()
    with pytest.raises(CaptureError, match="grew larger"):
        compile_with_dump(Lowered(1000), tmp_path / "large", most=100)
    assert not (tmp_path / "large").exists()


def test_both_sides_are_compiled_again_where_a_program_changed_and_nothing_is_left() -> None:
    modules = [compiled(dump(name)) for name in (OLD, NEW)]
    changed = ProgramComparison("segsum/small", "cuda-h100", "compiled", "changed", diff(*modules))
    same = ProgramComparison("other", "cuda-h100", "compiled", "identical", diff(modules[0], modules[0]))
    seen: list[Path] = []

    def written(name: str) -> Any:
        def write(folders: DumpFolders) -> None:
            assert [(key.function, key.case, key.target) for key in folders] == [("segsum", "small", "cuda-h100")]
            for folder in folders.values():
                seen.append(folder)
                for file, data in files(name).items():
                    (folder / file).write_bytes(data)

        return write

    found = blame_passes((same, changed), written(OLD), written(NEW), Limits())
    assert found[0] is same
    assert found[1].passes is not None
    text = to_terminal(Report("diff", "old", "new", found))
    assert "passes: first differs after scatter_simplifier" in text
    assert len(seen) == 2
    assert not any(folder.exists() for folder in seen)


def test_a_side_without_a_dump_changes_nothing() -> None:
    modules = [compiled(dump(name)) for name in (OLD, NEW)]
    changed = ProgramComparison("segsum", "cuda-h100", "compiled", "changed", diff(*modules))
    assert blame_passes((changed,), lambda folders: None, lambda folders: None, Limits()) == (changed,)
