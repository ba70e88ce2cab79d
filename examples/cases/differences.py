"""jax-ml/jax#37465: the sum of squared differences along each axis takes 1.4 times as long on a CPU since JAX 0.8.0."""

import jax
import jax.numpy as jnp

import hlodiff

OLD, NEW, TARGET = ("jax==0.7.2",), ("jax==0.8.0",), "cpu"


def cost(x: jax.Array) -> jax.Array:
    total = jnp.zeros(())
    for axis in range(x.ndim):
        total += jnp.sum(jnp.square(jnp.diff(x, axis=axis)))
    return total


@hlodiff.register(targets=[TARGET])
def differences() -> hlodiff.Case:
    return hlodiff.Case(cost, hlodiff.abstract((256, 256, 256), "float32"))
