"""One optax training step that gives its old state away.

Catches: a lost donation. With it the new weights and moments are written over the old ones; without it they need a
second place, and the memory for the state of the optimizer doubles.
"""

from functools import partial

import jax
import jax.numpy as jnp
import optax

import hlodiff

Weights = dict[str, jax.Array]
OPTIMIZER = optax.adamw(1e-3)


def loss(weights: Weights, x: jax.Array, label: jax.Array) -> jax.Array:
    """Cross entropy of a classifier with one hidden layer."""
    hidden = jnp.tanh(x @ weights["in"] + weights["bias"])
    return optax.softmax_cross_entropy_with_integer_labels(hidden @ weights["out"], label).mean()


@partial(jax.jit, donate_argnames=("weights", "state"))
def train_step(
    weights: Weights, state: optax.OptState, x: jax.Array, label: jax.Array
) -> tuple[Weights, optax.OptState, jax.Array]:
    """New weights, new state of the optimizer, and the loss before the step."""
    value, gradient = jax.value_and_grad(loss)(weights, x, label)
    updates, state = OPTIMIZER.update(gradient, state, weights)
    return optax.apply_updates(weights, updates), state, value


@hlodiff.register
def optax_train_step() -> hlodiff.Case:
    weights = {
        "in": hlodiff.abstract((64, 128), "float32"),
        "bias": hlodiff.abstract((128,), "float32"),
        "out": hlodiff.abstract((128, 10), "float32"),
    }
    state = jax.eval_shape(OPTIMIZER.init, weights)
    return hlodiff.Case(
        train_step, weights, state, hlodiff.abstract((32, 64), "float32"), hlodiff.abstract((32,), "int32")
    )
