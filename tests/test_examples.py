"""The examples: right as programs, recorded for three kinds of target, and each regression they promise to catch."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import hlodiff
from hlodiff import capture
from hlodiff.hlo import parser
from hlodiff.workflows import load
from tests import oracle

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(file for file in (ROOT / "examples").glob("*.py") if file.name != "__init__.py")
CPU, TPU, CUDA = "cpu", "tpu-v5e-2x2", "cuda-h100-x4"


def test_the_configuration_names_every_example() -> None:
    assert load(ROOT).modules == tuple(f"examples.{file.stem}" for file in FILES)


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


def test_the_curve_fit_finds_the_parameters() -> None:
    example = importlib.import_module("examples.curve_fit")
    times, truth = np.linspace(0.0, 3.0, 16, dtype=np.float32), np.array([2.0, 1.5, 0.5], np.float32)
    values = truth[0] * np.exp(-truth[1] * times) + truth[2]
    np.testing.assert_allclose(example.fit(np.ones(3, np.float32), times, values), truth, rtol=1e-3)


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


# One-line edits and what each must be reported as. All are made in one copy of the project and captured in one go: the
# processes that compile take longer to start than most of these programs take to compile.

TARGETS = (CPU, TPU, CUDA)
KINDS = tuple(target.split("-")[0] for target in TARGETS)
FOUR = ("cpu-4", TPU, CUDA)
RETURN = '    return hidden @ weights["down"]'
EDITS = {  # file -> old line, new line
    "mlp_gradient": ("jax.nn.gelu(", "jax.nn.silu("),
    "feed_forward": (RETURN, f"    hidden = jax.lax.with_sharding_constraint(hidden, P(None, None))\n{RETURN}"),
    "mixed_precision": ("logits.astype(jnp.float32)", "logits.astype(jnp.bfloat16)"),
    "train_step": ('@partial(jax.jit, donate_argnames=("weights", "state"))', "@jax.jit"),
    "host_update": ('@compute_on("device_host")\n', ""),
    "layer_stack": (
        "    x, _ = jax.lax.scan(lambda x, weights: (layer(x, weights), None), x, layers)",
        "    for i in range(DEPTH): x = layer(x, jax.tree.map(lambda w: w[i], layers))",
    ),
    "pallas_kernel": ("jax.nn.sigmoid(x)", "jax.lax.tanh(x)"),
}
HELPERS = {  # file -> a function that another function calls
    "attention": "causal_attention",
    "curve_fit": "misfit",
    "equinox_training": "initial",
    "feed_forward": "feed_forward",
    "host_update": "update",
    "layer_stack": "layer",
    "lstm": "loss",
    "mixed_precision": "half",
    "mlp_gradient": "mean_squared_error",
    "ode_solve": "predators_and_prey",
    "offloaded_moments": "loss",
    "pallas_kernel": "blockwise",
    "train_step": "loss",
}
# The CUDA plugin of JAX 0.9 ignores memory kinds where there is no GPU; hlodiff then compiles nothing and says so.
JAX_0_9 = version("jax").startswith("0.9.")
UNCHECKED = {("offloaded_moments", CUDA)} if JAX_0_9 else set()
Texts = dict[tuple[str, str], tuple[str, str]]
Programs = dict[tuple[str, str], tuple[hlodiff.Module, hlodiff.Module]]


@dataclass(frozen=True, slots=True)
class Difference:
    """What the differ says of the two stages of one program."""

    stablehlo: hlodiff.ModuleDiff
    compiled: hlodiff.ModuleDiff


def project(folder: Path) -> Path:
    """A copy of this project's examples and configuration."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@cache
def registered() -> tuple[capture.DiscoveredFunction, ...]:
    """What the examples register; no edit changes that."""
    return capture.discover(load(ROOT)).functions


def captured(folder: Path, files: Iterable[str], only: Mapping[str, str] = MappingProxyType({})) -> Texts:
    """Programs of these examples, by function and target: their StableHLO, and what XLA made of it.

    Args:
        folder: a copy of the project.
        files: which examples.
        only: of a file, the kind of target that is compiled for; all where it says nothing.
    """
    modules = tuple(f"examples.{file}" for file in files)
    settings = replace(load(folder), modules=modules, jobs=1)
    functions = tuple(found for found in registered() if found.module in modules)
    texts = {}
    files_of = {found.name: found.module.removeprefix("examples.") for found in functions}
    requests = capture.Discovery(functions).requests()
    wanted = [it for it in requests if it.target.startswith(only.get(files_of[it.function], ""))]
    for outcome in capture.capture(settings, wanted):
        if (outcome.function, outcome.target) in UNCHECKED:
            assert isinstance(outcome, capture.NotChecked) and "ignores the memory kind" in outcome.reason
            continue
        assert isinstance(outcome, capture.CapturedProgram), outcome
        assert outcome.compiled is not None
        texts[outcome.function, outcome.target] = outcome.stablehlo, outcome.compiled
    return texts


def read(texts: Texts) -> Programs:
    return {key: (hlodiff.read_text(one), hlodiff.read_text(other)) for key, (one, other) in texts.items()}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    """The examples as they are."""
    return captured(project(tmp_path_factory.mktemp("before") / "project"), [file.stem for file in FILES])


@pytest.fixture(scope="module")
def before(compiled: Texts) -> Programs:
    return read(compiled)


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The examples with one line of each changed."""
    folder = project(tmp_path_factory.mktemp("edited") / "project")
    for module, (old, new) in EDITS.items():
        file = folder / "examples" / f"{module}.py"
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{module}.py holds {old!r} {text.count(old)} times"
        file.write_text(text.replace(old, new), encoding="utf-8")
    return read(captured(folder, [*EDITS, "recurrence"]))  # which no edit reaches


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The examples in a folder of another name, forty lines further down, each with one helper function renamed.

    Each for one kind of target, in turn: what JAX writes of names is the same for all, and compiling takes long.
    """
    folder = project(tmp_path_factory.mktemp("renamed") / "another folder")
    for module, helper in HELPERS.items():
        file = folder / "examples" / f"{module}.py"
        docstring, first_import, rest = file.read_text(encoding="utf-8").rpartition('"""\n\n')
        text = docstring + first_import + "\n" * 40 + rest
        text, count = re.subn(rf"(?<!\.)\b{helper}\b(?=\(|,|\))", f"another_{helper}", text)
        assert count >= 2, f"{module}.py names {helper} {count} times"
        file.write_text(text, encoding="utf-8")
    return read(captured(folder, HELPERS, dict(zip(HELPERS, cycle(KINDS), strict=False))))


def differences(
    old: Programs, new: Programs, function: str, targets: tuple[str, ...] = TARGETS
) -> dict[str, Difference]:
    checked = [target for target in targets if (function, target) not in UNCHECKED]
    pairs = {target: (old[function, target], new[function, target]) for target in checked}
    return {target: Difference(hlodiff.diff(a[0], b[0]), hlodiff.diff(a[1], b[1])) for target, (a, b) in pairs.items()}


def fields(change: hlodiff.ModuleDiff) -> set[str]:
    return {field for edit in change.edits for field in edit.fields}


class TestOneLine:
    """Each edit is found in every program it changes, and reported as what it is."""

    pytestmark = pytest.mark.slow

    def test_gelu_to_silu(self, before: Programs, edited: Programs) -> None:
        for change in differences(before, edited, "mlp_gradient").values():
            old, new = change.stablehlo.op_counts["tanh"]
            assert old > 0 and new == 0
            assert not change.compiled.identical

    def test_added_sharding_constraint(self, before: Programs, edited: Programs) -> None:
        for change in differences(before, edited, "feed_forward_sharded", FOUR).values():
            assert change.stablehlo.summary["added"] > 0
            old, new = change.compiled.op_counts["all-gather"]
            assert old == 0 and new > 0

    def test_one_cast_to_bfloat16(self, before: Programs, edited: Programs) -> None:
        for change in differences(before, edited, "mixed_precision_step").values():
            assert "element_type" in fields(change.stablehlo)
            assert not change.compiled.identical

    def test_lost_donation(self, before: Programs, edited: Programs) -> None:
        for target, change in differences(before, edited, "optax_train_step").items():
            assert fields(change.stablehlo) == {"alias"}
            assert change.stablehlo.summary == {"added": 0, "removed": 0, "changed": 10, "moved": 0}
            assert sum(edit.count for edit in change.compiled.edits if edit.fields == ("alias",)) == 10
            if target != TPU:  # libtpu also writes results that need not overlap an argument straight to HBM
                assert change.compiled.summary == {"added": 0, "removed": 1, "changed": 10, "moved": 0}
                assert change.compiled.op_counts["copy"] == (1, 0)  # of an argument that was read after its overwriting

    def test_lost_compute_on(self, before: Programs, edited: Programs) -> None:
        for target, change in differences(before, edited, "host_update").items():
            assert fields(change.stablehlo) == {"compute_type"}
            if target == CPU:  # the host already: only the mark goes
                assert fields(change.compiled) == {"compute_type"}
            else:
                removed = [edit.old.text for edit in change.compiled.edits if edit.kind == "removed" and edit.old]
                assert any("host" in text for text in removed)

    def test_scan_to_python_loop(self, before: Programs, edited: Programs) -> None:
        for change in differences(before, edited, "stack_scanned").values():
            assert change.stablehlo.op_counts["while"] == (1, 0)
            assert change.compiled.op_counts["while"] == (1, 0)

    def test_edited_pallas_kernel(self, before: Programs, edited: Programs) -> None:
        for change in differences(before, edited, "pallas_kernel", (TPU, CUDA)).values():
            assert change.stablehlo.summary == {"added": 0, "removed": 0, "changed": 1, "moved": 0}
            assert change.compiled.summary == {"added": 0, "removed": 0, "changed": 1, "moved": 0}

    def test_programs_that_no_edit_reaches_are_identical(self, before: Programs, edited: Programs) -> None:
        for function in ("recurrence", "stack_unrolled"):
            for change in differences(before, edited, function).values():
                assert change.stablehlo.identical and change.compiled.identical


@pytest.mark.slow
def test_every_example_is_captured_for_three_kinds_of_target(before: Programs) -> None:
    by_function: dict[str, list[str]] = {}
    for function, target in (*before, *UNCHECKED):
        by_function.setdefault(function, []).append(target)
    assert len(by_function) == 17
    assert {frozenset(targets) for targets in by_function.values()} == {frozenset(TARGETS), frozenset(FOUR)}


@pytest.mark.slow
def test_renamed_helpers_and_shifted_lines_are_nothing(before: Programs, renamed: Programs) -> None:
    from hlodiff.normalizer import to_text

    other_text, other_program = [], []
    for (function, target), modules in renamed.items():
        for old, new in zip(before[function, target], modules, strict=True):
            change = hlodiff.diff(old, new)
            if change.edits or change.schedule or change.tuning:
                other_program.append((function, target, old.stage))
            if to_text(hlodiff.normalize(old)) != to_text(hlodiff.normalize(new)):
                other_text.append((function, target, old.stage))
    assert {target.split("-")[0] for _, target in renamed} == set(KINDS)
    assert other_program == []
    assert other_text == []


@pytest.mark.slow
def test_compiled_now_they_are_read_as_xla_reads_them(compiled: Texts) -> None:
    """What is recorded may be older than the compilers that are here; tests/test_hlo_reader.py reads that."""
    wanted = {"attention", "lstm_gradient", "host_update", "feed_forward_fsdp", "pallas_kernel"}
    seen = []
    for (function, target), (_, text) in compiled.items():
        if function in wanted:
            module = parser.read_hlo(text)
            assert oracle.model_facts(module) == oracle.xla_facts(text), (function, target)
            assert any(module.stack(it.frame) for c in module.computations for it in c.instructions)
            seen.append(target.split("-")[0])
    assert Counter(seen) == {"cpu": 5, "tpu": 5, "cuda": 5}
