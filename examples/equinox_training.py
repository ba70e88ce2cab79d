"""A training step of an Equinox model with the state of its optimizer, both given away.

Catches: a lost donation, an optimizer that no longer updates in place. Model and state are made by one function, so
that both are abstract: `eqx.filter(model, eqx.is_inexact_array)` of an abstract model drops all of its leaves.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import hlodiff

OPTIMIZER = optax.adam(1e-3)


class Classifier(eqx.Module):
    """One hidden layer."""

    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, key: jax.Array) -> None:
        first, second = jax.random.split(key)
        self.hidden = eqx.nn.Linear(32, 64, key=first)
        self.out = eqx.nn.Linear(64, 8, key=second)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.out(jax.nn.gelu(self.hidden(x)))


def initial(key: jax.Array) -> tuple[Classifier, optax.OptState]:
    """A model and the state of its optimizer."""
    model = Classifier(key)
    return model, OPTIMIZER.init(eqx.filter(model, eqx.is_inexact_array))


@eqx.filter_jit(donate="all-except-first")
def equinox_step(
    batch: tuple[jax.Array, jax.Array], model: Classifier, state: optax.OptState
) -> tuple[Classifier, optax.OptState, jax.Array]:
    """New model, new state of the optimizer, and the loss before the step."""

    def loss(model: Classifier) -> jax.Array:
        x, label = batch
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), label).mean()

    value, gradient = eqx.filter_value_and_grad(loss)(model)
    updates, state = OPTIMIZER.update(gradient, state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), state, value


@hlodiff.register
def equinox_train_step() -> hlodiff.Case:
    model, state = eqx.filter_eval_shape(initial, jax.random.key(0))
    batch = hlodiff.abstract((16, 32), jnp.float32), hlodiff.abstract((16,), jnp.int32)
    return hlodiff.Case(equinox_step, batch, model, state)
