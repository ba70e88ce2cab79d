"""A Pallas kernel is compared by what it computes, wherever it was written and whatever its functions are called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hlodiff.capture import CapturedProgram, capture, discover, worker_reuse
from hlodiff.config import Config
from hlodiff.hlo import read_text
from hlodiff.normalizer import normalize, to_text
from tests.captured_programs import ABSENT, THREE

EXAMPLE = (Path(__file__).parents[1] / "examples" / "pallas_kernel.py").read_text()


def programs(folder: Path, source: str) -> dict[str, tuple[str, str]]:
    """Both stages for each target, normalized; every call compiles in a new process."""
    folder.mkdir(parents=True)
    (folder / "pallas_kernel.py").write_text(source)
    config = Config(folder, modules=("pallas_kernel.py",), targets=THREE, jobs=1)
    found = {}
    with worker_reuse():
        outcomes = list(capture(config, discover(config).requests()))
    for outcome in outcomes:
        assert isinstance(outcome, CapturedProgram), outcome
        stages = (outcome.stablehlo, outcome.compiled or "")
        texts = [to_text(normalize(read_text(text))) for text in stages]
        found[outcome.target] = (texts[0], texts[1])
    return found


@pytest.mark.slow
@pytest.mark.skipif(bool(ABSENT), reason=f"cannot compile for {ABSENT}")
def test_folder_lines_and_names_mean_nothing_and_the_kernel_does(tmp_path: Path) -> None:
    renamed = re.sub(r"\bkernel\b", "another", re.sub(r"\bblockwise\b", "in_blocks", EXAMPLE))
    renamed = renamed.replace("def another(", "\n" * 40 + "def another(")
    assert renamed.count("another") >= 2 and "x * jax.nn.sigmoid(x)" in EXAMPLE
    first = programs(tmp_path / "a", EXAMPLE)
    assert programs(tmp_path / "b" / "another folder", renamed) == first
    edited = programs(tmp_path / "c", EXAMPLE.replace("x * jax.nn.sigmoid(x)", "x * jax.nn.sigmoid(-x)"))
    for target, stages in edited.items():
        for new, old in zip(stages, first[target], strict=True):
            assert new != old
    for target in THREE[1:]:
        assert all("hlodiff:kernel:sha256:" in stage for stage in first[target])
        assert not any(str(tmp_path) in stage or "opaque" in stage for stage in first[target])
