"""jax-ml/jax#39103: JAX 0.10.2 computes a sum of squares of a matrix product wrongly on a CPU."""

import jax
import jax.numpy as jnp

import hlodiff

OLD, NEW, TARGET = ("jax==0.10.1",), ("jax==0.10.2",), "cpu"
N = 32_769


def lengths(x: jax.Array) -> jax.Array:
    matrix = jnp.eye(3, dtype=x.dtype)
    return jax.vmap(lambda row: jnp.sum((matrix @ row) ** 2))(x)


@hlodiff.register(targets=[TARGET])
def rows() -> hlodiff.Case:
    return hlodiff.Case(lengths, hlodiff.abstract((N, 3), "float32"))
