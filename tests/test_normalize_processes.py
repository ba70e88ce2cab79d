"""The same function gives the same bytes in another process, folder, order of tracing, hash seed, number of cores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hlodiff.capture import missing_packages, parse_target
from hlodiff.capture.environment import LIBTPU

MODEL = """
import jax
import jax.numpy as jnp


def {helper}(x):
    return jax.nn.gelu(x) * 2.0


def step(w1, w2, x):
    def loss(w1, w2):
        def body(carry, _):
            return {helper}(carry @ w1) @ w2, jnp.sum(carry)

        last, sums = jax.lax.scan(body, x, None, length=3)
        return jnp.sum(last) ** 2 + jnp.sum(sums)

    return jax.grad(loss, argnums=(0, 1))(w1, w2)
"""

# Compiles `step` for each target and prints the normalized program between two marks.
DRIVER = """
import sys
sys.path.insert(0, {root!r})
import jax
jax.config.update("jax_num_cpu_devices", 4)
from jax.sharding import NamedSharding, PartitionSpec as P
from hlodiff.capture.devices import open_target
from hlodiff.capture import parse_target
from hlodiff.hlo.parser import read_hlo
from hlodiff.normalizer import normalize, to_text
from model import step

for name in {targets!r}:
    mesh = open_target(parse_target(name)).mesh((2, 2), ("data", "model"))
    def shape(*sizes, spec):
        return jax.ShapeDtypeStruct(sizes, "float32", sharding=NamedSharding(mesh, spec))
    weights = shape(64, 256, spec=P(None, "model")), shape(256, 64, spec=P("model", None))
    arguments = *weights, shape(32, 64, spec=P("data"))
    if {others!r}:
        jax.jit(lambda *a: step(*a)[0] * 2).lower(*arguments).compile()
    text = jax.jit(step).lower(*arguments).compile().as_text()
    print("=====", name, flush=True)
    print(to_text(normalize(read_hlo(text))), flush=True)
"""
TARGETS = [name for name in ("cpu-4", "tpu-v5e-2x2", "cuda-h100-x4") if missing_packages(parse_target(name)) is None]


def run(
    folder: Path, *, seed: str, helper: str = "act", shift: int = 0, others: bool = False, one_core: bool = False
) -> str:
    folder.mkdir(parents=True)
    (folder / "model.py").write_text("\n" * shift + MODEL.format(helper=helper))
    driver = DRIVER.format(root=str(Path(__file__).parents[1]), targets=TARGETS, others=others)
    (folder / "driver.py").write_text(driver)
    environment = {**os.environ, "PYTHONHASHSEED": seed, "JAX_PLATFORMS": "cpu", **LIBTPU}
    command = [sys.executable, "driver.py"]
    if one_core:
        command = ["taskset", "-c", "0", *command]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> str:
    text = run(tmp_path_factory.mktemp("first") / "checkout", seed="0")
    assert text.count("ENTRY %main") == len(TARGETS) >= 1
    assert "all-reduce" in text
    assert "while" in text
    return text


@pytest.mark.slow
def test_other_folder_seed_lines_helpers_cores_and_functions_traced_before(first: str, tmp_path: Path) -> None:
    one_core = shutil.which("taskset") is not None
    folder = tmp_path / "a" / "longer path"
    other = run(folder, seed="77", helper="renamed_helper", shift=40, others=True, one_core=one_core)
    assert other == first


def test_targets_of_this_machine_are_said() -> None:
    """cpu is always there; the reason for each of the others is a sentence, so that nothing is left out in silence."""
    assert "cpu-4" in TARGETS
    for name in ("tpu-v5e-2x2", "cuda-h100-x4"):
        assert name in TARGETS or all(missing_packages(parse_target(name)) or ())
