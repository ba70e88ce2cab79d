"""What makes JAX trace and compile again: each scenario with the trouble, and the same without it.

Catches: one more trace or program than recorded or allowed. docs/recompiles.md goes through each scenario.
"""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp

import hlodiff

STEPS = 4


class Layer(eqx.Module):
    """One layer with an activation that is whatever callable it is given."""

    weight: jax.Array
    activation: Callable[[jax.Array], jax.Array]

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.activation(x @ self.weight)


@eqx.filter_jit
def loss(model: Layer, x: jax.Array) -> jax.Array:
    return jnp.mean(model(x) ** 2)


@hlodiff.scenario
def fresh_lambda() -> None:
    """The layer is made in the loop, and with it a new function object: traced and compiled in every step."""
    for _ in range(STEPS):
        model = Layer(jnp.ones((8, 8)), lambda x: jax.nn.gelu(x, approximate=False))
        loss(model, jnp.ones((4, 8)))


def exact_gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x, approximate=False)


@hlodiff.scenario(max_traces=1, max_programs=1)
def callable_made_once() -> None:
    """The same with a function that is defined once: the layer may be made anew, its activation is the same object."""
    for _ in range(STEPS):
        loss(Layer(jnp.ones((8, 8)), exact_gelu), jnp.ones((4, 8)))


class Trainer:
    """Jits in `__init__`: every trainer has a function of its own, and JAX knows none of them."""

    def __init__(self, rate: float) -> None:
        self.step = jax.jit(lambda weights, gradient: weights - rate * gradient)


@hlodiff.scenario
def jit_in_init() -> None:
    for rate in (0.1, 0.01, 0.001):
        Trainer(rate).step(jnp.ones(8), jnp.ones(8))


@jax.jit
def descend(weights: jax.Array, gradient: jax.Array, rate: jax.Array) -> jax.Array:
    return weights - rate * gradient


@hlodiff.scenario(max_traces=1)
def jit_at_the_top() -> None:
    """The same with what differs as an argument."""
    for rate in (0.1, 0.01, 0.001):
        descend(jnp.ones(8), jnp.ones(8), rate)


@jax.jit
def decay(x: jax.Array, t: jax.Array | float) -> jax.Array:
    return x * jnp.exp(-t)


@hlodiff.scenario
def scalar_and_array() -> None:
    """A Python number in one place and an array in another: two types, two programs that do the same."""
    x = jnp.ones(8)
    for step in range(STEPS):
        x = decay(x, 0.5 if step % 2 else jnp.float32(0.5))


@hlodiff.scenario(max_traces=1)
def always_an_array() -> None:
    x = jnp.ones(8)
    for _ in range(STEPS):
        x = decay(x, jnp.float32(0.5))


@jax.jit
def average(mean: jax.Array, count: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
    count = count + batch.shape[0]
    return mean + (batch.mean() - mean) / count, count


@hlodiff.scenario
def second_compile() -> None:
    """What the first step returns has another type than what it was given: the second step is compiled again."""
    mean, count = jnp.zeros(3, jnp.bfloat16), 0
    for _ in range(STEPS):
        mean, count = average(mean, count, jnp.ones(16))


@hlodiff.scenario(max_traces={"average": 1})
def settled_types() -> None:
    """The same, begun with the types that the function returns."""
    mean, count = jnp.zeros(3), jnp.int32(0)
    for _ in range(STEPS):
        mean, count = average(mean, count, jnp.ones(16))


@hlodiff.scenario
def last_batch() -> None:
    """The last batch of an epoch is smaller."""
    for size in (16, 16, 5):
        average(jnp.zeros(3), jnp.int32(0), jnp.ones(size))


class Options:
    """Compared by identity, as every class that defines no `==`: each object is another static argument."""

    def __init__(self, power: int) -> None:
        self.power = power


@dataclass(frozen=True)
class FrozenOptions:
    """Compared by what it holds."""

    power: int


def raised(x: jax.Array, options: Options | FrozenOptions) -> jax.Array:
    return x**options.power


raise_to = jax.jit(raised, static_argnames="options")


@hlodiff.scenario
def freshly_hashed() -> None:
    for _ in range(STEPS):
        raise_to(jnp.ones(8), options=Options(3))


@hlodiff.scenario(max_traces=1)
def frozen_options() -> None:
    for _ in range(STEPS):
        raise_to(jnp.ones(8), options=FrozenOptions(3))
