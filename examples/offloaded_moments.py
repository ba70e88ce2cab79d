"""An optimizer whose moments live in the host's memory between steps (`pinned_host`).

Catches: moments that stay on the device. The step computes the same numbers, but the accelerator's memory holds two
more copies of the weights, and the transfers that were meant to be there are gone. On `cpu` both memories are the same
chips; the memory space stands in the program all the same.
"""

import jax
import jax.numpy as jnp
import optax

import hlodiff

Weights = dict[str, jax.Array]
OPTIMIZER = optax.scale_by_adam()


def loss(weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
    """Mean squared error of a layer with an activation."""
    return jnp.mean((jnp.tanh(x @ weights["kernel"] + weights["bias"]) - y) ** 2)


def step(weights: Weights, moments: optax.OptState, x: jax.Array, y: jax.Array) -> tuple[Weights, optax.OptState]:
    """New weights on the device, new moments on the host."""
    gradient = jax.grad(loss)(weights, x, y)
    moments = jax.device_put(moments, jax.memory.Space.Device)
    updates, moments = OPTIMIZER.update(gradient, moments)
    moments = jax.device_put(moments, jax.memory.Space.Host)
    return jax.tree.map(lambda w, u: w - 1e-3 * u, weights, updates), moments


@hlodiff.register
def offloaded_moments() -> hlodiff.Case:
    weights = {"kernel": hlodiff.abstract((128, 128), "float32"), "bias": hlodiff.abstract((128,), "float32")}
    shapes = jax.eval_shape(OPTIMIZER.init, weights)
    moments = jax.tree.map(lambda s: hlodiff.abstract(s.shape, s.dtype, memory_kind="pinned_host"), shapes)
    batch = hlodiff.abstract((32, 128), "float32")
    return hlodiff.Case(step, weights, moments, batch, batch, donate=(0, 1))
