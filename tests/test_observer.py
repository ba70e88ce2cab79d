"""Observing JAX while it runs: traces and programs of real calls, and nothing left behind."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from hlodiff.capture import jax_private
from hlodiff.tracing import Leaf, Observer, Trace, observing

os.environ.setdefault("JAX_PLATFORMS", "cpu")


ROOT = Path(__file__).resolve().parent.parent


class Layer(eqx.Module):
    weight: jax.Array
    activation: Any
    bias: jax.Array | None
    use_bias: bool = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.asarray(self.activation(x @ self.weight))


def layer(activation: Any) -> Layer:
    return Layer(jnp.ones((4, 4)), activation, None, use_bias=False)


def names(seen: Observer) -> list[str]:
    return [trace.call.function.short for trace in seen.traces]


def leaf(trace: Trace, path: str) -> Leaf:
    (found,) = [leaf for leaf in trace.call.leaves if leaf.path == path]
    return found


def test_a_trace_and_its_program() -> None:
    x = jnp.ones((3, 4))

    @jax.jit
    def double(x: jax.Array) -> jax.Array:
        return jnp.where(x > 0, x, 0) * 2

    with observing(root=ROOT) as seen:
        double(x)
        double(x)  # answered by JAX's cache
    (trace,), (program,) = seen.traces, seen.programs
    assert trace.call.function.name.endswith("<locals>.double") and not trace.nested and not trace.ahead
    assert trace.call.function.place.startswith("tests/test_observer.py:")
    assert trace.call.place.startswith("tests/test_observer.py:")
    assert leaf(trace, "x").text == "f32[3,4]" and not leaf(trace, "x").weak
    assert (program.name, program.traced, program.eager, program.platform) == ("jit_double", True, False, "cpu")
    assert program.call == trace.call and program.seconds["lower"] > 0 < program.seconds["compile"]
    assert "stablehlo.select" in program.stablehlo() and "test_observer.py" in program.stablehlo()
    assert program.hlo().startswith("HloModule jit_double")
    program.forget()
    assert program.stablehlo() and not program.hlo()


def test_eager_operations_are_nobodys_function() -> None:
    with observing() as seen:
        jnp.ones((3, 17)) + 1
    assert seen.traces == [] and seen.programs and all(program.eager for program in seen.programs)


def test_nested_and_transformed_functions() -> None:
    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        return x * 3

    @jax.jit
    def outer(x: jax.Array) -> jax.Array:
        return jnp.add(inner(x), inner(x))

    with observing() as seen:
        outer(1.0)
        jax.grad(inner)(jnp.float32(2.0))
    assert [(t.call.function.short, t.within.rpartition(".")[2]) for t in seen.traces] == [
        ("inner", "outer"),
        ("outer", ""),
        ("inner", ""),
    ]
    own = [program for program in seen.programs if not program.eager]
    # The forward and the backward pass; the latter is compiled outside of any call.
    assert [(p.function.short if p.function else "", p.call is not None) for p in own] == [
        ("outer", True),
        ("inner", True),
        ("inner", False),
    ]
    assert [p.under.leaves[0].text if p.under else "" for p in own] == ["", "linearize", "backward"]


def test_leaves_of_an_equinox_call() -> None:
    @eqx.filter_jit
    def apply(model: Layer, x: jax.Array, count: int = 2) -> jax.Array:
        return jnp.asarray(model(x) * count)

    x = jnp.ones((3, 4))
    with observing() as seen:
        apply(layer(lambda v: v * 2), x)
        apply(layer(lambda v: v * 2), x, 3)
    first, second = seen.traces
    assert first.call.function == second.call.function and first.call.function.short == "apply"
    assert [(part.path, part.kind, part.text) for part in second.call.leaves] == [
        ("", "function", "test_leaves_of_an_equinox_call.<locals>.apply"),
        ("model", "node", "Layer"),
        ("model.weight", "array", "f32[4,4]"),
        ("model.activation", "function", "test_leaves_of_an_equinox_call.<locals>.<lambda>"),
        ("model.bias", "none", "None"),
        ("model.use_bias", "field", "False"),
        ("x", "array", "f32[3,4]"),
        ("count", "value", "3"),
    ]
    assert leaf(first, "model.activation").object_id != leaf(second, "model.activation").object_id
    assert leaf(first, "model.use_bias").object_id == leaf(second, "model.use_bias").object_id
    assert leaf(first, "").object_id == leaf(second, "").object_id


def test_weak_types_and_static_arguments() -> None:
    def scale(x: Any, t: Any, n: int) -> Any:
        return x * t * n

    jitted = jax.jit(scale, static_argnames="n")
    with observing() as seen:
        jitted(jnp.ones(3), 2.0, n=4)
        jitted(jnp.ones(3), jnp.float32(2.0), n=4)
        jitted(jnp.ones(3), jnp.float32(2.0), 5)
    first, second, third = seen.traces
    assert (leaf(first, "t").weak, leaf(first, "t").python) == (True, "Python float")
    assert (leaf(second, "t").weak, leaf(second, "t").python) == (False, "")
    assert [leaf(trace, "n").text for trace in (first, second, third)] == ["4", "4", "5"]


def test_a_program_without_a_trace_knows_its_call() -> None:
    jitted = jax.jit(lambda x: x * 7)
    with observing() as seen:
        jitted(jnp.ones(5))
        jitted(jax.device_put(jnp.ones(5), jax.devices()[0]))
    own = [program for program in seen.programs if not program.eager]
    assert len(seen.traces) == 1 and [program.traced for program in own] == [True, False]
    assert own[1].call is not None and [part.sharding for part in own[1].call.leaves] == ["", "on cpu:0"]


def test_jit_in_a_method_and_ahead_of_time() -> None:
    class Trainer:
        def __init__(self, rate: float) -> None:
            self.step = jax.jit(lambda x: x * rate)

    with observing() as seen:
        Trainer(1.0).step(2.0)
        Trainer(2.0).step.lower(2.0).compile()
    first, second = seen.traces
    assert first.call.function.jitted == first.call.function.place and first.call.function.jitted_in.endswith(
        "__init__"
    )
    assert first.call.function.key == second.call.function.key
    inside = [[(one.name, one.text) for one in leaf(trace, "").inside] for trace in (first, second)]
    assert inside == [[("rate", "1.0")], [("rate", "2.0")]]
    assert (
        leaf(first, "").object_id != leaf(second, "").object_id and leaf(first, "").code_id == leaf(second, "").code_id
    )
    assert [first.ahead, second.ahead] == [False, True]
    assert [program.traced for program in seen.programs] == [True, True]


def test_observers_may_be_nested_and_everything_is_put_back() -> None:
    points = jax_private.jit_points()
    before = [getattr(module, name) for module, name in points]
    with pytest.raises(ZeroDivisionError), observing() as outer:
        with observing(keep=False) as inner:
            jax.jit(lambda x: x - 1)(1.0)
        jax.jit(lambda x: x - 2)(1.0)
        raise ZeroDivisionError
    assert [getattr(module, name) for module, name in points] == before
    assert (len(outer.traces), len(inner.events)) == (2, 0)
    jax.jit(lambda x: x - 3)(1.0)
    assert len(outer.traces) == 2


def test_threads_are_told_apart() -> None:
    def work(number: int) -> None:
        jax.jit(lambda x: x * number)(1.0)

    with observing() as seen:
        threads = [threading.Thread(target=work, args=(number,), name=f"t{number}") for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(trace.thread for trace in seen.traces) == ["t0", "t1", "t2", "t3"]
    assert not any(trace.nested for trace in seen.traces) and len(seen.programs) == 4


def test_every_record_is_reported_at_once() -> None:
    reported: list[str] = []
    with observing(lambda event: reported.append(type(event).__name__), executables=False) as seen:
        jax.jit(lambda x: x / 3)(1.0)
        assert reported == ["Trace", "CompiledProgram"]
    assert seen.programs[0].executable is None and [event.order for event in seen.events] == [0, 1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (4, "4"),
        ({"b", "a"}, "{'a', 'b'}"),
        (object(), "an object of class object"),
        ((1, [2.5], {"k": None}), "(1, [2.5], {'k': None})"),
        (jnp.dtype("float32"), "float32"),
        (threading.Lock(), "<unlocked _thread.lock object>"),
    ],
)
def test_values_are_told_without_addresses(value: object, words: str) -> None:
    @dataclass(frozen=True, eq=False)
    class Held:
        value: object

    with observing() as seen:
        jax.jit(lambda x, held: x, static_argnums=1)(1.0, Held(value))
    (trace,) = seen.traces
    assert leaf(trace, "held").text.endswith(f"Held(value={words})")
