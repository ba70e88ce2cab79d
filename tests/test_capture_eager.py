"""What a lowering rule computes while it lowers runs on this machine, never on the devices that are compiled for."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlodiff.capture import CapturedProgram, NotChecked, discover, facts, parse_target, worker_reuse
from hlodiff.capture.compile_case import refusal
from hlodiff.capture.devices import open_target
from hlodiff.capture.environment import Setting, worker_environment
from hlodiff.capture.literals import compiled_text
from hlodiff.capture.lowering import lower, trace
from hlodiff.config import Config
from hlodiff.hlo import read_text
from hlodiff.normalizer import normalize
from hlodiff.registry import Case, abstract
from tests.captured_programs import ABSENT, Project, outcomes
from tests.captured_programs import project as project

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before JAX looks for other devices


JAX = tuple(int(n) for n in jax.__version__.split(".")[:2])
ONE_OF_EACH = ("cpu", "tpu-v5e-2x2", "cuda-h100")
compiles = pytest.mark.skipif(bool(ABSENT), reason=f"cannot compile for {ABSENT}")

# A primitive whose lowering rule runs whatever runs outside of a trace, and one whose rule is traced.
EAGER = """
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

def constants():
    key = jax.random.key(0)
    made = [
        jnp.array([1, 2]) + 1, jnp.asarray(np.ones(3)), jax.device_put(np.ones(3)), jax.random.normal(key, (3,)),
        jax.random.wrap_key_data(np.zeros(2, np.uint32)), jax.jit(lambda x: x * 2)(3.0), jnp.linalg.inv(jnp.eye(2)),
        jax.vmap(jnp.sin)(jnp.ones(3)), jnp.ones(3)[1:],
        jax.grad(jnp.sin)(1.0), jax.jit(jnp.sin).lower(1.0).compile()(1.0),
    ]
    if jax.__version_info__ >= (0, 8):  # before, JAX itself has no rule for a scan that is not traced here
        made.append(jax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.ones(3))[0])
    assert {device.platform for one in made for device in one.devices()} == {"cpu"}
    return float(jnp.sum(made[0]))

def at_once(x):
    with jax.ensure_compile_time_eval():
        return x * constants()

outside = Primitive("outside")
outside.def_abstract_eval(lambda x: x)
mlir.register_lowering(outside, lambda ctx, x: [x] * int(constants() - 4))
inside = Primitive("inside")
inside.def_abstract_eval(lambda x: x)
mlir.register_lowering(inside, mlir.lower_fun(at_once, multiple_results=False))

@hlodiff.register(targets=["cpu", "tpu-v5e-2x2", "cuda-h100"])
def eager():
    return hlodiff.Case(lambda x: inside.bind(outside.bind(x)), VECTOR)
"""


@pytest.mark.slow
@compiles
def test_eager_operations_of_a_lowering_rule_run_here(project: Project) -> None:
    found = outcomes(project(EAGER))
    assert [target for _, _, target in found] == list(ONE_OF_EACH)
    for (_, _, target), outcome in found.items():
        assert isinstance(outcome, CapturedProgram), outcome
        assert outcome.compiled is not None and outcome.compiled.startswith("HloModule"), target
        assert "dense<5.000000e+00>" in outcome.stablehlo and "sharding" not in outcome.stablehlo


SOLVERS = """
import diffrax, equinox as eqx, lineax, optimistix

MATRIX, TALL = hlodiff.abstract((8, 8), "float32"), hlodiff.abstract((12, 8), "float32")
LONG = hlodiff.abstract((12,), "float32")

def solving(solver, *tags):
    return lambda matrix, x: lineax.linear_solve(lineax.MatrixLinearOperator(matrix, tags), x, solver).value

def residuals(y, args):
    return jnp.tanh(y) * args - 0.5

def stiff(solver, y, rate):
    term = diffrax.ODETerm(lambda t, y, args: -args * y)
    control = diffrax.PIDController(1e-3, 1e-3)
    return diffrax.diffeqsolve(term, solver, 0, 1, 0.1, y, rate, stepsize_controller=control, max_steps=16).ys

@hlodiff.register(targets=["tpu-v5e-2x2", "cuda-h100"])
def solvers():
    fit = optimistix.LevenbergMarquardt(1e-3, 1e-3)
    return {
        "qr": hlodiff.Case(solving(lineax.QR()), TALL, LONG),
        "lu": hlodiff.Case(solving(lineax.LU()), MATRIX, VECTOR),
        "cholesky": hlodiff.Case(solving(lineax.Cholesky(), lineax.positive_semidefinite_tag), MATRIX, VECTOR),
        "levenberg": hlodiff.Case(lambda y, a: optimistix.least_squares(residuals, fit, y, a).value, VECTOR, VECTOR),
        "kvaerno": hlodiff.Case(lambda y, a: stiff(diffrax.Kvaerno3(), y, a), VECTOR, VECTOR),
    }
"""


@compiles
@pytest.mark.slow
def test_solvers_are_lowered_for_devices_that_are_not_here(project: Project) -> None:
    """What runs in a lowering rule runs before XLA compiles; an example has a solver that is compiled."""
    config = project(SOLVERS, env=(("EQX_ON_ERROR", "nan"),))
    with worker_reuse():
        requests = [replace(request, lower_only=True) for request in discover(config).requests()]
        found = outcomes(config, requests)
    assert len(found) == 5 * 2
    assert {key: outcome for key, outcome in found.items() if not isinstance(outcome, CapturedProgram)} == {}


@compiles
@pytest.mark.parametrize("target", ONE_OF_EACH)
def test_a_program_that_names_no_device_is_lowered_for_each_target_in_one_process(target: str) -> None:
    """Also where JAX has lowered the very same trace for another target before."""
    opened = [open_target(parse_target(name)) for name in ("cpu", target)]
    traced = trace(Case(jax.nn.gelu, abstract((8,), "float32")), opened[0].devices[0])
    texts = []
    for each in opened:
        lowered = lower(traced, each.devices[0])
        texts.append(lowered.as_text())
        compiled = str(lowered.compile().as_text())
        assert ("T(" in compiled) == (each.kind == "tpu") and "sharding" not in texts[-1]
    assert texts[0] == texts[1]  # these operations are the same for all
    assert jnp.ones(1).devices() == set(jax.devices("cpu")[:1])


PALLAS = """
from jax.experimental import pallas as pl

def sign(x):
    return pl.pallas_call(
        lambda x, o: o.__setitem__(..., jnp.sign(x[...])), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)

@hlodiff.register(targets=["tpu-v5e-2x2", "tpu-v4-2x2x1"])
def kernel():
    return hlodiff.Case(sign, hlodiff.abstract((256, 128), "bfloat16"))
"""


@compiles
@pytest.mark.skipif(JAX < (0, 9), reason="Mosaic of this libtpu cannot compile the kernel")
def test_a_kernel_is_lowered_for_the_chip_of_its_target(project: Project) -> None:
    """The rule for `sign` asks which generation of TPU it is for."""
    for outcome in outcomes(project(PALLAS)).values():
        assert isinstance(outcome, CapturedProgram), outcome


def test_what_only_the_libraries_of_cuda_can_lower_is_refused() -> None:
    error = RuntimeError("jaxlib/cuda/versions_helpers.cc:66: operation cusolverGetVersion(&version) failed")
    refused = refusal(parse_target("cuda-h100"), error)
    assert refused is not None and "only where it can load the libraries of CUDA" in refused[0]


@compiles
def test_what_a_target_cannot_do_is_told_as_it_is(project: Project) -> None:
    body = """
    @hlodiff.register(targets=["cpu", "tpu-v5e-2x2", "cuda-h100"])
    def eigenvalues():
        return hlodiff.Case(jnp.linalg.eigvals, hlodiff.abstract((4, 4), "float32"))
    """
    on_cpu, on_tpu, on_cuda = outcomes(project(body)).values()
    assert isinstance(on_cpu, CapturedProgram)
    assert isinstance(on_tpu, NotChecked) and "'eig' not found for platform tpu" in on_tpu.reason
    if JAX >= (0, 9):  # an older one lowers it without asking for the libraries
        assert isinstance(on_cuda, NotChecked) and "libraries of CUDA" in on_cuda.reason


class Staged:
    """As Flax has it: `nnx.jit(f).trace()` gives a record of Flax's own around what JAX traced."""

    def __init__(self, traced: jax.stages.Traced) -> None:
        self.traced = traced

    def lower(self) -> object:
        raise AssertionError("what JAX traced is lowered")


class Wrapper:
    """As `nnx.jit(f)`: it has the methods of a jitted function."""

    def __init__(self, fn: Any) -> None:
        self.jitted = jax.jit(fn, static_argnames="n", donate_argnums=0)
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.jitted(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Staged:
        return Staged(self.jitted.trace(*args, **kwargs))

    def lower(self, *args: Any, **kwargs: Any) -> object:
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        return self.jitted.eval_shape(*args, **kwargs)


def test_a_wrapper_around_a_jitted_function_is_captured_as_that_function() -> None:
    def scaled(x: jax.Array, n: int) -> jax.Array:
        return x * n

    cpu = jax.devices("cpu")[0]
    x = abstract((3,), "float32")
    traced = trace(Case(Wrapper(scaled), x, kwargs={"n": 3}), cpu)
    expected = jax.jit(scaled, static_argnames="n", donate_argnums=0).lower(x, n=3)
    assert traced.names == ("x",)
    assert lower(traced, cpu).as_text() == expected.as_text()


class Model:
    """As a module of Flax: a call is that of the wrapper, which alone may be given the module."""

    def __init__(self) -> None:
        self.weight = jnp.ones(3)

    @jax.jit
    def __call__(self, x: jax.Array) -> jax.Array:
        return self.weight * x


jax.tree_util.register_pytree_node(Model, lambda model: ((model.weight,), None), lambda _, weights: filled(*weights))


def filled(weight: Any) -> Model:
    model = object.__new__(Model)
    model.weight = weight
    return model


def test_an_object_whose_call_is_jitted_is_an_argument_of_it() -> None:
    x = abstract((3,), "float32")
    traced = trace(Case(Model(), x), jax.devices("cpu")[0])
    assert len(traced.names) == 2 and traced.names[1] == "x"
    expected = Model.__call__.lower(Model(), x)
    assert lower(traced, jax.devices("cpu")[0]).as_text() == expected.as_text()


class Particular:
    """As a distribution of distrax: only arrays are children, whatever else is in their place is static."""

    def __init__(self, loc: Any, scale: Any) -> None:
        self.values = (loc, scale)

    def parts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        held = [isinstance(value, jax.Array) for value in self.values]
        arrays = tuple(value for value, array in zip(self.values, held, strict=True) if array)
        return arrays, tuple(None if array else value for value, array in zip(self.values, held, strict=True))


def particular(static: tuple[Any, ...], arrays: Any) -> Particular:
    rest = iter(arrays)
    return Particular(*(next(rest, None) if value is None else value for value in static))


jax.tree_util.register_pytree_node(Particular, Particular.parts, particular)


def test_a_container_that_holds_nothing_but_arrays_keeps_its_own() -> None:
    def shifted(given: Particular, x: jax.Array) -> Any:
        return particular((None, None), tuple(value + x for value in given.values))

    arguments = Particular(jnp.zeros(3), jnp.ones(3)), jnp.ones(3)
    traced = trace(Case(shifted, *arguments), jax.devices("cpu")[0])
    lowered = lower(traced, jax.devices("cpu")[0])
    assert lowered.as_text() == jax.jit(shifted).lower(*arguments).as_text()
    found = facts.arguments(traced.traced, lowered, traced.names)
    assert [(one["shape"], one["dtype"], one["donated"]) for one in found] == [([3], "float32", False)] * 3


def test_a_program_that_jax_cannot_print_is_written_by_xla() -> None:
    """Before 0.9 JAX has no text of what it compiles for a GPU that is not attached."""
    table = np.random.RandomState(0).uniform(size=100).astype("float32")
    lowered = jax.jit(lambda x: jnp.sin(x) + table).lower(abstract((100,), "float32"))
    compiled = lowered.compile()

    class Unprintable:
        def as_text(self) -> None:
            return None

    expected = compiled_text(compiled, lowered)
    found = compiled_text(Unprintable(), lowered)
    assert "constant({...})" in str(compiled.as_text()) and "constant({...})" not in found
    assert normalize(read_text(found)) == normalize(read_text(expected))


def test_matrix_products_that_xla_would_measure_are_not_checked() -> None:
    error = RuntimeError("INTERNAL: Expect autotune result cache hit for deviceless compilation (HLO: %gemm")
    refused = refusal(parse_target("cuda-h100"), error)
    assert refused is not None and "no GPU is attached" in refused[0] and "--xla_gpu_autotune_level=0" in refused[1]


def test_workers_have_one_hash_seed_and_ask_for_no_library_of_cuda() -> None:
    config, here = Config(Path()), Setting(attached=False, cpu_devices=1)
    names = ("PYTHONHASHSEED", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK")

    def given(outside: dict[str, str], config: Config = config, setting: Setting = here) -> list[str | None]:
        environment = worker_environment(config, setting, outside)
        return [environment.get(name) for name in names]

    assert given({}) == ["0", "1"]
    assert given({"PYTHONHASHSEED": "7", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "0"}) == ["7", "0"]
    assert given({}, Config(Path(), env=(("PYTHONHASHSEED", "5"),))) == ["5", "1"]
    assert given({}, setting=Setting(attached=True, cpu_devices=1)) == ["0", None]  # a device that runs has them
