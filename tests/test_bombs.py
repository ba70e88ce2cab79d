"""Small texts of which a careless reader makes much: each is read in linear time, or refused, with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hlodiff.differ import diff
from hlodiff.errors import HlodiffError, StoreError
from hlodiff.hlo import read_bytes, read_hlo, read_text
from hlodiff.normalizer import normalize, to_text
from hlodiff.snapshots import FolderTree, Key, Snapshot, read_snapshot, unpack, write_snapshot
from hlodiff.workflows import load_if_any
from tests.fuzzing.bombs import COMPILED, CONFIGURATIONS, PACKED, STABLEHLO
from tests.work import bounded_work

SMALL = read_text("HloModule m\n\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT r = f32[] negate(p)\n}\n")


@contextmanager
def bounded(where: str = "") -> Iterator[None]:
    """A bounded number of calls; an error of ours is fine, if it names the file."""
    try:
        with bounded_work():
            yield
    except HlodiffError as error:
        assert "internal error" not in error.render() and where in str(error)


def test_work_is_counted() -> None:
    with pytest.raises(AssertionError, match="more than 10,000 calls"), bounded_work(10_000):
        read_text(COMPILED["20,000 branches"])


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_hlo(name: str) -> None:
    text = COMPILED[name]
    with bounded("bomb.hlo"):
        read_text(text, path="bomb.hlo")
    with bounded():
        to_text(normalize(read_hlo(text, at_once=True)))
    with bounded():
        assert not diff(SMALL, read_text(text)).identical
    with bounded():
        assert diff(read_text(text), read_text(text)).identical


@pytest.mark.parametrize("name", STABLEHLO)
def test_stablehlo(name: str) -> None:
    with bounded("bomb.mlir"):
        read_text(STABLEHLO[name], path="bomb.mlir")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("20,000 meshes", "bomb.mlir:1002:1: the module has more than 1,000 meshes"),
        ("30,000 dimensions", "bomb.mlir:1:31: a type has more than 1,000 dimensions"),
    ],
)
def test_numbers_are_bounded_before_mlir_parses(name: str, what: str) -> None:
    """The parser's time grows with their square; its child ended only at the limit, without a place."""
    with pytest.raises(HlodiffError) as error:
        read_text(STABLEHLO[name], path="bomb.mlir", trusted=True)  # in this process, as what we compiled
    assert str(error.value).partition("\n")[0] == what
    read_text("module @m {\n" + 'sdy.mesh @m0 = <["x"=2]>\nfunc.func private @main()\n}', path="a.mlir")


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configuration(name: str, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(CONFIGURATIONS[name])
    with bounded("pyproject.toml"):
        load_if_any(file)


@pytest.mark.parametrize("name", PACKED)
def test_packed_programs(name: str) -> None:
    packed = PACKED[name]
    with bounded("bomb.hlo.gz"):
        read_bytes(packed, path="bomb.hlo.gz")
    with bounded("bomb.hlo.gz"):
        unpack(packed, "bomb.hlo.gz")


def test_a_packed_program_of_a_snapshot_is_bounded_by_its_size() -> None:
    with pytest.raises(StoreError, match="more than any program of its size"):
        unpack(PACKED["100 MB of blank lines"], "compiled.hlo.gz")


def test_conflict_markers_are_looked_for_in_linear_time(tmp_path: Path) -> None:
    write_snapshot(tmp_path, Snapshot("f", "", "cpu", {"format_version": 1}, "module {}\n", "HloModule m\n"))
    (tmp_path / "f/cpu/compiled.hlo").write_bytes(b"\n" * 50_000_000)
    with bounded():
        read_snapshot(FolderTree(tmp_path), Key("f", "", "cpu"))


def refused(text: str) -> str:
    with pytest.raises(HlodiffError) as error:
        read_text(text, path="bomb.hlo")
    return str(error.value).partition("\n")[0]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tuples that double", "bomb.hlo:1:342: the shapes that are left out would be far longer than the text"),
        ("tuples that nest", "bomb.hlo:1:889: the shape that is left out is a tuple nested more than 50 deep"),
    ],
)
def test_shapes_that_are_left_out_are_bounded(name: str, what: str) -> None:
    assert refused(COMPILED[name]) == what


@pytest.mark.parametrize("head", ["", "HloModule m ", "HloModule m\n"])
def test_a_long_text_on_one_line_is_read(head: str) -> None:
    """Above 50,000 characters it was called empty."""
    many = " ".join(f"a{n} = f32[] parameter({n})" for n in range(3000))
    text = f"{head}ENTRY e {{ {many} ROOT r = f32[] negate(a0) }}"
    assert len(text) > 50_000
    assert len(read_text(text).entry_computation.instructions) == 3001


def _stack(count: int) -> Callable[[], int]:
    module = read_text(COMPILED["frames 20,000 deep"])
    frames = [it.frame for it in module.entry_computation.instructions[:count]]
    return lambda: max(len(module.stack(frame)) for frame in frames)


def test_a_call_stack_has_an_end() -> None:
    assert _stack(3)() == 250
