"""A training step in bfloat16 with weights, loss and update in float32.

Catches: one cast that changed. With logits in bfloat16 the loss is computed with 8 bits of precision; with a cast
missing before a matrix product it runs in float32, at half the speed or less. No shape changes.
"""

import jax
import jax.numpy as jnp

import hlodiff

Weights = dict[str, jax.Array]


def half(x: jax.Array) -> jax.Array:
    """What the matrix units see."""
    return x.astype(jnp.bfloat16)


def loss(weights: Weights, x: jax.Array, label: jax.Array) -> jax.Array:
    """Cross entropy of a classifier with one hidden layer."""
    hidden = jax.nn.relu(half(x) @ half(weights["in"]))
    logits = hidden @ half(weights["out"])
    probabilities = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.mean(jnp.take_along_axis(probabilities, label[:, None], axis=-1))


def train_step(weights: Weights, x: jax.Array, label: jax.Array) -> tuple[Weights, jax.Array]:
    """New float32 weights after plain gradient descent, and the loss before the step."""
    value, gradient = jax.value_and_grad(loss)(weights, x, label)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), value


@hlodiff.register
def mixed_precision_step() -> hlodiff.Case:
    weights = {"in": hlodiff.abstract((64, 128), "float32"), "out": hlodiff.abstract((128, 16), "float32")}
    return hlodiff.Case(train_step, weights, hlodiff.abstract((32, 64), "float32"), hlodiff.abstract((32,), "int32"))
