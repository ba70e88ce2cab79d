"""A step whose update runs on the host's processor (`compute_on("device_host")`).

Catches: a lost `compute_on`. The update then runs on the accelerator, next to the gradient, and nothing but the
compiled program says so. `cpu` is the host already: there only the mark on the instructions goes.
"""

import jax
import jax.numpy as jnp
from jax.experimental.compute_on import compute_on

import hlodiff


@compute_on("device_host")
@jax.jit
def update(weights: jax.Array, momentum: jax.Array, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Gradient descent with momentum."""
    momentum = 0.9 * momentum + gradient
    return weights - 0.1 * momentum, momentum


def step(weights: jax.Array, momentum: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The gradient on the device, the update on the host."""

    def loss(weights: jax.Array) -> jax.Array:
        return jnp.mean((jnp.tanh(x @ weights) - y) ** 2)

    return update(weights, momentum, jax.grad(loss)(weights))


@hlodiff.register
def host_update() -> hlodiff.Case:
    weights, batch = hlodiff.abstract((128, 128), "float32"), hlodiff.abstract((32, 128), "float32")
    return hlodiff.Case(step, weights, weights, batch, batch)
