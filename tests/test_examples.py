"""The examples: right as programs, recorded for three kinds of target, and each regression they promise to catch."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlodiff
from hlodiff import capture, config

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(file for file in (ROOT / "examples").glob("*.py") if file.name != "__init__.py")
CPU, TPU, CUDA = "cpu", "tpu-v5e-2x2", "cuda-h100-x4"


def test_the_configuration_names_every_example() -> None:
    assert config.load(ROOT).modules == tuple(f"examples.{file.stem}" for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_example_says_what_it_catches(file: Path) -> None:
    assert "\nCatches: " in (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def test_scanned_and_unrolled_stack_give_the_same_numbers() -> None:
    stack = importlib.import_module("examples.layer_stack")
    layers = {"kernel": numbers(stack.DEPTH, stack.WIDTH, stack.WIDTH) / 8, "bias": numbers(stack.DEPTH, stack.WIDTH)}
    x = numbers(4, stack.WIDTH, seed=1)
    np.testing.assert_allclose(stack.scanned(layers, x), stack.unrolled(layers, x), rtol=2e-5, atol=2e-5)


def test_the_pallas_kernel_computes_silu_plus() -> None:
    kernel = importlib.import_module("examples.pallas_kernel")
    x, y = numbers(256, 128), numbers(256, 128, seed=1)
    np.testing.assert_allclose(kernel.silu_plus(x, y), x / (1 + np.exp(-x)) + y, rtol=1e-5, atol=1e-5)


def test_attention_looks_at_earlier_positions_only() -> None:
    attention = importlib.import_module("examples.attention")
    query, key, value = (numbers(1, 8, 2, 4, seed=seed) for seed in range(3))
    whole = attention.causal_attention(query, key, value)
    first = attention.causal_attention(query[:, :3], key[:, :3], value[:, :3])
    np.testing.assert_allclose(whole[:, :3], first, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(whole[:, 0], value[:, 0], rtol=1e-5, atol=1e-5)


def test_the_solver_keeps_what_lotka_and_volterra_keep() -> None:
    ode = importlib.import_module("examples.ode_solve")
    a, b, c, d = rates = np.array([1.1, 0.4, 0.1, 0.4], np.float32)
    prey, predators = np.asarray(ode.solve(np.array([10.0, 5.0], np.float32), rates)).T
    energy = c * prey - d * np.log(prey) + b * predators - a * np.log(predators)
    np.testing.assert_allclose(energy, energy[0], rtol=5e-3)


def test_training_steps_lower_the_loss() -> None:
    import jax

    example = importlib.import_module("examples.train_step")
    weights = {"in": numbers(64, 128) / 8, "bias": numbers(128), "out": numbers(128, 10) / 11}
    x, label = numbers(32, 64, seed=1), np.arange(32, dtype=np.int32) % 10
    weights = jax.tree.map(jax.numpy.asarray, weights)
    state = example.OPTIMIZER.init(weights)
    losses = []
    for _ in range(20):
        weights, state, loss = example.train_step(weights, state, x, label)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)


# One-line edits and what each must be reported as.


@dataclass(frozen=True, slots=True)
class Program:
    """One captured program of both stages."""

    stablehlo: hlodiff.Module
    compiled: hlodiff.Module


def project(folder: Path) -> Path:
    """A copy of this project's examples and configuration."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def captured(folder: Path, function: str, targets: tuple[str, ...]) -> dict[str, Program]:
    requests = [capture.Request(function, "", target) for target in targets]
    programs = {}
    for outcome in capture.capture(config.load(folder), requests):
        assert isinstance(outcome, capture.Captured), outcome
        assert outcome.compiled is not None
        pair = hlodiff.read_text(outcome.stablehlo), hlodiff.read_text(outcome.compiled)
        programs[outcome.target] = Program(*pair)
    assert set(programs) == set(targets)
    return programs


@dataclass(frozen=True, slots=True)
class Difference:
    """What the differ says of both stages."""

    stablehlo: hlodiff.ModuleDiff
    compiled: hlodiff.ModuleDiff


def after_edit(
    folder: Path, module: str, function: str, old: str, new: str, targets: tuple[str, ...]
) -> dict[str, Difference]:
    """Differences of one function, by target, where one text of an example is replaced by another."""
    before = captured(project(folder / "before"), function, targets)
    after_folder = project(folder / "after")
    file = after_folder / "examples" / f"{module}.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{module}.py holds {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8")
    after = captured(after_folder, function, targets)
    return {
        target: Difference(
            hlodiff.diff(before[target].stablehlo, after[target].stablehlo),
            hlodiff.diff(before[target].compiled, after[target].compiled),
        )
        for target in targets
    }


def fields(change: hlodiff.ModuleDiff) -> set[str]:
    return {field for edit in change.edits for field in edit.fields}


@pytest.mark.slow
def test_gelu_to_silu(tmp_path: Path) -> None:
    changes = after_edit(tmp_path, "mlp_gradient", "mlp_gradient", "jax.nn.gelu(", "jax.nn.silu(", (CPU, TPU, CUDA))
    for change in changes.values():
        old, new = change.stablehlo.op_counts["tanh"]
        assert old > 0 and new == 0
        assert not change.compiled.identical


@pytest.mark.slow
def test_added_sharding_constraint(tmp_path: Path) -> None:
    line = '    return hidden @ weights["down"]'
    constraint = "    hidden = jax.lax.with_sharding_constraint(hidden, P(None, None))\n"
    targets = ("cpu-4", TPU, CUDA)
    changes = after_edit(tmp_path, "feed_forward", "feed_forward_sharded", line, constraint + line, targets)
    for change in changes.values():
        assert change.stablehlo.summary["added"] > 0
        old, new = change.compiled.op_counts["all-gather"]
        assert old == 0 and new > 0


@pytest.mark.slow
def test_one_cast_to_bfloat16(tmp_path: Path) -> None:
    old, new = "logits.astype(jnp.float32)", "logits.astype(jnp.bfloat16)"
    changes = after_edit(tmp_path, "mixed_precision", "mixed_precision_step", old, new, (CPU, TPU, CUDA))
    for change in changes.values():
        assert "element_type" in fields(change.stablehlo)
        assert not change.compiled.identical


@pytest.mark.slow
def test_lost_donation(tmp_path: Path) -> None:
    old = '@partial(jax.jit, donate_argnames=("weights", "state"))'
    changes = after_edit(tmp_path, "train_step", "optax_train_step", old, "@jax.jit", (CPU, TPU, CUDA))
    for change in changes.values():
        assert fields(change.stablehlo) == fields(change.compiled) == {"alias"}
        assert change.compiled.summary == {"added": 0, "removed": 0, "changed": 10, "moved": 0}


@pytest.mark.slow
def test_lost_compute_on(tmp_path: Path) -> None:
    old = '@compute_on("device_host")\n'
    changes = after_edit(tmp_path, "host_update", "host_update", old, "", (CPU, TPU, CUDA))
    for target, change in changes.items():
        assert "compute_type" in fields(change.stablehlo)
        assert change.compiled.identical == (target == CPU)  # a cpu is the host already


@pytest.mark.slow
def test_scan_to_python_loop(tmp_path: Path) -> None:
    old = "    x, _ = jax.lax.scan(lambda x, weights: (layer(x, weights), None), x, layers)"
    new = "    for i in range(DEPTH): x = layer(x, jax.tree.map(lambda w: w[i], layers))"
    changes = after_edit(tmp_path, "layer_stack", "stack_scanned", old, new, (CPU, TPU, CUDA))
    for change in changes.values():
        assert change.stablehlo.op_counts["while"] == (1, 0)
        assert change.compiled.op_counts["while"] == (1, 0)


@pytest.mark.slow
def test_edited_pallas_kernel(tmp_path: Path) -> None:
    changes = after_edit(tmp_path, "pallas_kernel", "pallas_kernel", "jax.nn.sigmoid(x)", "jax.nn.relu(x)", (TPU, CUDA))
    for change in changes.values():
        assert change.compiled.summary == {"added": 0, "removed": 0, "changed": 1, "moved": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "function", "helper"),
    [
        ("mlp_gradient", "mlp_gradient", "mean_squared_error"),
        ("lstm", "lstm_gradient", "loss"),
        ("host_update", "host_update", "update"),
        ("pallas_kernel", "pallas_kernel", "blockwise"),
        ("ode_solve", "ode_solve", "predators_and_prey"),
    ],
)
def test_renamed_helper_and_shifted_lines_are_nothing(tmp_path: Path, module: str, function: str, helper: str) -> None:
    before = captured(project(tmp_path / "before"), function, (CPU, TPU, CUDA))
    file = project(tmp_path / "another folder") / "examples" / f"{module}.py"
    text = file.read_text(encoding="utf-8")
    renamed, count = re.subn(rf"\b{helper}\b", f"another_{helper}", text)
    assert count >= 2
    docstring, first_import, rest = renamed.partition("\nimport jax")
    file.write_text(docstring + "\n" * 40 + first_import + rest, encoding="utf-8")
    after = captured(file.parent.parent, function, (CPU, TPU, CUDA))
    for target, program in before.items():
        for old, new in zip(
            (program.stablehlo, program.compiled), (after[target].stablehlo, after[target].compiled), strict=True
        ):
            change = hlodiff.diff(old, new)
            assert change.identical and not change.schedule and not change.tuning
            assert text_of(old) == text_of(new)


def text_of(module: hlodiff.Module) -> str:
    from hlodiff.normalize import to_text

    return to_text(hlodiff.normalize(module))
