"""openxla/xla#45912: an array that is donated has a second buffer since JAX 0.7.2, because a loop reads it."""

import jax
import jax.numpy as jnp

import hlodiff

OLD, NEW, TARGET = ("jax==0.7.1",), ("jax==0.7.2",), "cpu"
N = 1 << 27


def step(x: jax.Array) -> jax.Array:
    between = jnp.exp(x)
    total = jax.lax.fori_loop(0, 8, lambda i, s: s + between[i * (N // 8)], 0.0)
    return between * total


@hlodiff.register(targets=[TARGET])
def donated() -> hlodiff.Case:
    return hlodiff.Case(step, hlodiff.abstract((N,), "float32"), donate=0)
