"""Programs as each supported jax prints them are read, and compared with the newest."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlodiff
from hlodiff.hlo import Module, read_text
from hlodiff.normalizer import normalize, to_text

ARCHIVE = Path(__file__).parent / "fixtures" / "versions" / "programs.tar.xz"
NEWEST = "0.10.2"
VERSIONS = ("0.7.1", "0.7.2", "0.8.0", "0.9.1", "0.9.2", NEWEST)
Programs = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def printed() -> Programs:
    """Texts by version and by file name."""
    found: Programs = {version: {} for version in VERSIONS}
    with tarfile.open(ARCHIVE) as archive:
        for entry in archive:
            version, _, name = entry.name.partition("/")
            content = archive.extractfile(entry)
            assert content is not None
            found[version][name] = content.read().decode()
    return found


def modules(programs: dict[str, str], suffix: str) -> Iterator[tuple[str, str, Module]]:
    for name, text in programs.items():
        if name.endswith(suffix):
            yield name, text, read_text(text)


@pytest.mark.parametrize("version", VERSIONS)
def test_compiled_programs_of_each_version_are_read_without_loss(version: str, printed: Programs) -> None:
    names = []
    for name, text, module in modules(printed[version], ".hlo"):
        names.append(name)
        lines = [line for line in text.split("\n") if line.startswith(("  %", "  ROOT %"))]
        assert len(lines) == sum(len(each.instructions) for each in module.computations), name
        normal = to_text(normalize(module))
        assert to_text(normalize(read_text(normal))) == normal, name
    programs = ("branches", "gradient", "loop", "scattered", "sharded", "solved")
    expected = {f"{program}.{kind}.hlo" for program in programs for kind in ("cpu", "tpu", "cuda")}
    expected -= {"sharded.cuda.hlo"}  # one GPU
    if version in ("0.7.1", "0.7.2", "0.8.0"):
        expected -= {"gradient.cuda.hlo"}  # a matrix product, which XLA would measure
    assert sorted(names) == sorted(expected)


@pytest.mark.parametrize("version", VERSIONS)
def test_stablehlo_of_each_version_is_read(version: str, printed: Programs) -> None:
    found = {name: module for name, _, module in modules(printed[version], ".mlir")}
    assert len(found) == 17
    for name, module in found.items():
        normal = normalize(module)
        assert normal.stage == "stablehlo" and len(normal.computations) >= 1, name
        newest = normalize(read_text(printed[NEWEST][name]))
        if name.startswith(("branches", "sharded")):
            assert hlodiff.diff(normal, newest).identical, f"jax lowers it otherwise: {name}"


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_each_version_is_compared_with_the_newest(version: str, printed: Programs) -> None:
    for name, _, old in modules(printed[version], ".hlo"):
        new = read_text(printed[NEWEST][name])
        result = hlodiff.diff(old, new)
        assert result.identical == (not result.edits), name
        assert hlodiff.diff(old, old).identical
