"""The gradient of a small Equinox MLP.

Catches: an activation that was swapped (`gelu` -> `silu`). Every shape stays the same and the loss still goes down,
but other instructions run in each layer, forwards and backwards.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import hlodiff


class MLP(eqx.Module):
    """Linear layers with an activation between them."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, width: int, depth: int, *, key: jax.Array) -> None:
        keys = jax.random.split(key, depth)
        self.layers = tuple(eqx.nn.Linear(width, width, key=key) for key in keys)

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers[:-1]:
            x = jax.nn.gelu(layer(x))
        return self.layers[-1](x)


def mean_squared_error(model: MLP, x: jax.Array, y: jax.Array) -> jax.Array:
    """The loss of a batch."""
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


@eqx.filter_jit
def loss_and_gradient(model: MLP, x: jax.Array, y: jax.Array) -> tuple[jax.Array, MLP]:
    """The loss and its gradient for every weight."""
    return eqx.filter_value_and_grad(mean_squared_error)(model, x, y)


@hlodiff.register
def mlp_gradient() -> hlodiff.Case:
    model = eqx.filter_eval_shape(MLP, width=64, depth=3, key=jax.random.key(0))
    batch = hlodiff.abstract((32, 64), "float32")
    return hlodiff.Case(loss_and_gradient, model, batch, batch)
