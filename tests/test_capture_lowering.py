"""The program that is captured is the one that a real call of the function compiles."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before JAX looks for other devices

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import mlir
from jaxlib.mlir import ir

from hlodiff.capture.lowering import trace
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, abstract


class Layer(eqx.Module):
    weight: jax.Array
    activation: Callable[[jax.Array], jax.Array]
    scale: float = 0.5

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.activation(self.weight @ x) * self.scale

    def forward(self, x: jax.Array) -> jax.Array:
        return self(x)

    @eqx.filter_jit
    def jitted(self, x: jax.Array, factor: Any = 1.0) -> jax.Array:
        return jnp.multiply(self(x), factor)


def layer() -> Layer:
    return Layer(jnp.ones((3, 3)), jnp.tanh)


ABSTRACT: Layer = eqx.filter_eval_shape(layer)
AX = abstract((3,), "float32")


def x() -> jax.Array:
    return jnp.ones(3)


def step(model: Layer, x: jax.Array, scale: Any = 2.0) -> tuple[jax.Array, Layer]:
    return jnp.sum(model(x)) * scale, model


def mixed(x: Any, y: Any, n: Any) -> dict[str, Any]:
    return {"r": x * n + y}


def loss(model: Layer, x: jax.Array) -> jax.Array:
    return jnp.sum(model(x))


class Plain:
    @functools.partial(jax.jit, static_argnums=0)
    def method(self, x: jax.Array) -> jax.Array:
        return x * 3


PLAIN = Plain()
FILTERED = {how: eqx.filter_jit(step, donate=how) for how in ("none", "all", "all-except-first", "warn")}
WARN_EXCEPT_FIRST = eqx.filter_jit(step, donate="warn-except-first")
JITTED = jax.jit(mixed, static_argnums=2, donate_argnums=0)
GRADIENT = eqx.filter_jit(eqx.filter_value_and_grad(loss))
CLOSED_OVER = jnp.arange(9.0).reshape(3, 3)


def closes_over(x: jax.Array) -> jax.Array:
    return CLOSED_OVER @ x


def no_arguments() -> jax.Array:
    return jnp.arange(4) * 2


def of_dict(v: dict[str, Any]) -> Any:
    return v["a"] * v["b"]


CALLS: dict[str, tuple[Callable[[], object], Case, tuple[str, ...]]] = {
    # eqx.filter_jit: all its ways of donating, scalars static, keywords, methods, modules, partials
    "filter_jit": (lambda: FILTERED["none"](layer(), x()), Case(FILTERED["none"], ABSTRACT, AX), ("model.weight", "x")),
    "filter_jit_all": (
        lambda: FILTERED["all"](layer(), x()),
        *(Case(FILTERED["all"], ABSTRACT, AX), ("model.weight", "x")),
    ),
    "filter_jit_all_except_first": (
        lambda: FILTERED["all-except-first"](layer(), x()),
        *(Case(FILTERED["all-except-first"], ABSTRACT, AX), ("x", "model.weight")),
    ),
    "filter_jit_warn": (
        lambda: FILTERED["warn"](layer(), x()),
        *(Case(FILTERED["warn"], ABSTRACT, AX), ("model.weight", "x")),
    ),
    "filter_jit_warn_except_first": (
        lambda: WARN_EXCEPT_FIRST(layer(), x()),
        *(Case(WARN_EXCEPT_FIRST, ABSTRACT, AX), ("x", "model.weight")),
    ),
    "filter_jit_static_keyword": (
        lambda: FILTERED["none"](layer(), x(), scale=3.0),
        *(Case(FILTERED["none"], ABSTRACT, AX, kwargs={"scale": 3.0}), ("model.weight", "x")),
    ),
    "filter_jit_traced_keyword": (
        lambda: FILTERED["none"](layer(), x(), scale=jnp.ones(())),
        *(
            Case(FILTERED["none"], ABSTRACT, AX, kwargs={"scale": abstract((), "float32")}),
            ("model.weight", "x", "scale"),
        ),
    ),
    "filter_jit_concrete": (
        lambda: FILTERED["none"](layer(), x()),
        *(Case(FILTERED["none"], layer(), x()), ("model.weight", "x")),
    ),
    "filter_jit_gradient": (lambda: GRADIENT(layer(), x()), Case(GRADIENT, ABSTRACT, AX), ("model.weight", "x")),
    "filter_jit_numpy": (
        lambda: eqx.filter_jit(mixed)(np.ones(3), np.float32(2), 3),
        *(Case(eqx.filter_jit(mixed), np.ones(3), np.float32(2), 3), ("x", "y")),
    ),
    "filter_jitted_method": (lambda: layer().jitted(x()), Case(ABSTRACT.jitted, AX), ("self.weight", "x")),
    "filter_jitted_method_keyword": (
        lambda: layer().jitted(x(), factor=x()),
        *(Case(ABSTRACT.jitted, AX, kwargs={"factor": AX}), ("self.weight", "x", "factor")),
    ),
    "filter_jit_of_method": (
        lambda: eqx.filter_jit(layer().forward)(x()),
        *(Case(eqx.filter_jit(ABSTRACT.forward), AX), ("x", "function.__self__.weight")),
    ),
    "filter_jit_of_module": (
        lambda: eqx.filter_jit(layer())(x()),
        *(Case(eqx.filter_jit(ABSTRACT), AX), ("x", "function.weight")),
    ),
    "partial_of_filter_jit": (
        lambda: functools.partial(FILTERED["none"], layer())(x()),
        *(Case(functools.partial(FILTERED["none"], ABSTRACT), AX), ("model.weight", "x")),
    ),
    # jax.jit: its own static and donated arguments
    "jit": (lambda: JITTED(x(), 2.0, 4), Case(JITTED, AX, 2.0, 4), ("x", "y")),
    "jit_keyword": (lambda: JITTED(x(), x(), n=4), Case(JITTED, AX, AX, kwargs={"n": 4}), ("x", "y")),
    "jitted_method": (lambda: PLAIN.method(x()), Case(PLAIN.method, AX), ("x",)),
    "partial_of_jit": (
        lambda: functools.partial(JITTED, x(), n=4)(x()),
        *(Case(functools.partial(JITTED, AX, n=4), AX), ("x", "y")),
    ),
    # plain functions, as jax.jit with the same options compiles them
    "plain": (lambda: jax.jit(mixed)(x(), x(), 4), Case(mixed, AX, AX, 4), ("x", "y", "n")),
    "plain_static_by_number": (
        lambda: jax.jit(mixed, static_argnums=2, donate_argnums=1)(x(), x(), 4),
        *(Case(mixed, AX, AX, 4, static_argnums=-1, donate="all-except-first"), ("x", "y")),
    ),
    "plain_static_by_name": (
        lambda: jax.jit(mixed, static_argnames="n", donate_argnums=(0, 1))(x(), x(), 4),
        *(Case(mixed, AX, AX, 4, static_argnames="n", donate="all"), ("x", "y")),
    ),
    "plain_static_keyword": (
        lambda: jax.jit(mixed, static_argnames="n", donate_argnums=0)(x(), x(), n=4),
        *(Case(mixed, AX, AX, kwargs={"n": 4}, static_argnames="n", donate=0), ("x", "y")),
    ),
    "plain_types": (
        lambda: jax.jit(mixed)(jnp.asarray(1.0), np.ones(3), np.float32(2)),
        *(Case(mixed, jnp.asarray(1.0), np.ones(3), np.float32(2)), ("x", "y", "n")),
    ),
    "plain_weak_type": (
        lambda: jax.jit(mixed)(jnp.asarray(1.0), jnp.ones(3, "bfloat16"), 1),
        *(Case(mixed, abstract((), "float32", weak_type=True), abstract((3,), "bfloat16"), 1), ("x", "y", "n")),
    ),
    "plain_partial": (
        lambda: jax.jit(functools.partial(mixed, n=4))(x(), x()),
        *(Case(functools.partial(mixed, n=4), AX, AX), ("x", "y")),
    ),
    "plain_tree": (
        lambda: jax.jit(of_dict)({"a": x(), "b": 2}),
        *(Case(of_dict, {"a": AX, "b": 2}), ("v['a']", "v['b']")),
    ),
    "plain_nothing": (lambda: jax.jit(no_arguments)(), Case(no_arguments), ()),
    "plain_closure": (lambda: jax.jit(closes_over)(x()), Case(closes_over, AX), ("x",)),
}


def printed(stablehlo: str) -> str:
    with mlir.make_ir_context():
        return str(ir.Module.parse(stablehlo))


def compiled_by(call: Callable[[], object], folder: Path) -> list[str]:
    jax.clear_caches()
    jax.config.update("jax_dump_ir_to", str(folder))
    try:
        call()
    finally:
        jax.config.update("jax_dump_ir_to", "")
        jax.clear_caches()
    return [printed(file.read_text()) for file in sorted(folder.glob("*compile*.mlir"))]


@pytest.mark.filterwarnings("ignore:Some donated buffers")
@pytest.mark.parametrize("name", CALLS)
def test_the_program_is_that_of_a_real_call(name: str, tmp_path: Path) -> None:
    call, case, arguments = CALLS[name]
    expected = compiled_by(call, tmp_path)
    traced = trace(case, jax.devices("cpu")[0])
    assert printed(traced.traced.lower().as_text()) in expected
    assert traced.names == arguments


def lowered(case: Case) -> str:
    return str(trace(case, jax.devices("cpu")[0]).traced.lower().as_text())


@pytest.mark.parametrize(
    ("case", "arguments"),
    [
        (Case(step, ABSTRACT, AX), ("model.weight", "x")),
        (Case(ABSTRACT, AX), ("self.weight", "x")),
        (Case(ABSTRACT.forward, AX), ("self.weight", "x")),
        (Case(functools.partial(step, ABSTRACT), AX, 3.0), ("model.weight", "x", "scale")),
        (Case(eqx.filter_value_and_grad(loss), ABSTRACT, AX), ("model.weight", "x")),
    ],
)
def test_a_plain_function_takes_the_arrays_of_modules_and_holds_the_rest(
    case: Case, arguments: tuple[str, ...]
) -> None:
    traced = trace(case, jax.devices("cpu")[0])
    assert traced.names == arguments
    text = str(traced.traced.lower().as_text())
    assert "tensor<3x3xf32>" in text.split("->")[0]
    assert "dense<5.000000e-01>" in text  # the scale of the module, a Python number


def test_a_program_is_named_after_its_function() -> None:
    assert "module @jit_step " in lowered(Case(functools.partial(step, ABSTRACT), AX))
    assert "module @jit_loss " in lowered(Case(eqx.filter_grad(loss), ABSTRACT, AX))
    assert "module @jit_Layer " in lowered(Case(ABSTRACT, AX))
    assert "module @jit_forward " in lowered(Case(ABSTRACT.forward, AX))


def test_donation_counts_positions_of_the_case() -> None:
    case = Case(functools.partial(mixed, AX), AX, AX, donate=0)
    first, second, _ = lowered(case).split("@main(")[1].split("->")[0].split("%arg")[1:]
    assert "tf.aliasing_output" not in first and "tf.aliasing_output = 0" in second


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (Case(mixed, AX, AX, 1, donate=3), "donate names position 3, and the case has 3 positional arguments"),
        (Case(mixed, AX, AX, 1, static_argnums=7), "static_argnums names position 7"),
        (Case(mixed, AX, AX, 1, donate="everything"), "donate='everything'\nhint: donate is None"),
        (Case(JITTED, AX, AX, 1, static_argnums=2), "the case sets static_argnums, but its function is already jitted"),
        (Case(FILTERED["all"], ABSTRACT, AX, donate="all"), "already jitted by eqx.filter_jit and keeps its own"),
    ],
)
def test_options_that_do_not_fit(case: Case, says: str) -> None:
    with pytest.raises(RegistryError) as caught:
        trace(case, jax.devices("cpu")[0])
    assert says in caught.value.render()


def test_abstract_takes_a_sharding_and_a_memory_kind() -> None:
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    leaf = abstract((3,), "float32", sharding=sharding, memory_kind="pinned_host")
    assert leaf.sharding == sharding.with_memory_kind("pinned_host")
    text = lowered(Case(lambda x: jax.device_put(x, jax.memory.Space.Device) + 1, leaf))
    assert 'mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>' in text


def test_abstract_is_what_jax_takes_for_an_array() -> None:
    made = jax.eval_shape(jnp.sin, abstract((2, 3), "bfloat16"))
    assert (made.shape, made.dtype) == ((2, 3), jnp.bfloat16)
    assert isinstance(abstract((3,), "float32", memory_kind="pinned_host"), jax.ShapeDtypeStruct)
