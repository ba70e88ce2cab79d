"""The gradient of an LSTM that walks a sequence with `jax.lax.scan`.

Catches: the scan replaced by a Python loop. The result is the same number, but the loop body is then compiled once
for every position, and compile time grows with the length of the sequence.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import hlodiff

State = tuple[jax.Array, jax.Array]


class Reader(eqx.Module):
    """Reads a sequence and says one number per feature."""

    cell: eqx.nn.LSTMCell
    head: eqx.nn.Linear

    def __init__(self, features: int, hidden: int, *, key: jax.Array) -> None:
        cell_key, head_key = jax.random.split(key)
        self.cell = eqx.nn.LSTMCell(features, hidden, key=cell_key)
        self.head = eqx.nn.Linear(hidden, features, key=head_key)

    def __call__(self, sequence: jax.Array) -> jax.Array:
        def step(state: State, x: jax.Array) -> tuple[State, None]:
            return self.cell(x, state), None

        start = (jnp.zeros(self.cell.hidden_size), jnp.zeros(self.cell.hidden_size))
        (hidden, _), _ = jax.lax.scan(step, start, sequence)
        return self.head(hidden)


def loss(model: Reader, sequences: jax.Array, y: jax.Array) -> jax.Array:
    """Mean squared error over a batch of sequences."""
    return jnp.mean((jax.vmap(model)(sequences) - y) ** 2)


@hlodiff.register
def lstm_gradient() -> hlodiff.Case:
    model = eqx.filter_eval_shape(Reader, features=16, hidden=32, key=jax.random.key(0))
    sequences, y = hlodiff.abstract((8, 12, 16), "float32"), hlodiff.abstract((8, 16), "float32")
    return hlodiff.Case(eqx.filter_grad(loss), model, sequences, y)
