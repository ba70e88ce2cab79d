"""A recurrence over a sequence whose length is a parameter: the program must not grow with it.

Catches: a loop that became unrolled at some size. `hlodiff check` lowers the case at four lengths, and fails where
more instructions come with a longer sequence.
"""

import jax
import jax.numpy as jnp

import hlodiff


def turn(state: jax.Array, x: jax.Array, weights: jax.Array) -> jax.Array:
    """One step of the recurrence."""
    return jnp.tanh(state @ weights + x)


def walk(weights: jax.Array, sequence: jax.Array) -> jax.Array:
    """The state after the whole sequence."""
    start = jnp.zeros(sequence.shape[1:])
    state, _ = jax.lax.scan(lambda state, x: (turn(state, x, weights), None), start, sequence)
    return state


@hlodiff.register
def recurrence(length: int = 32) -> hlodiff.Case:
    weights, sequence = hlodiff.abstract((16, 16), "float32"), hlodiff.abstract((length, 16), "float32")
    return hlodiff.Case(walk, weights, sequence, grow={"length": [8, 16, 32, 64]}, max_growth="constant")
