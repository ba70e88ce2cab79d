"""openxla/xla#46351: slices are copied before a sum instead of read in it, on a CPU since YNNPACK does the sum."""

import jax
import jax.numpy as jnp

import hlodiff

OLD, NEW, TARGET = ("jax==0.9.2",), ("jax==0.10.2",), "cpu"


def cost(x: jax.Array) -> jax.Array:
    total = jnp.zeros(())
    for axis in range(x.ndim):
        total += jnp.sum(jnp.square(jnp.diff(x, axis=axis)))
    return total


@hlodiff.register(targets=[TARGET])
def slices() -> hlodiff.Case:
    return hlodiff.Case(cost, hlodiff.abstract((256, 256, 256), "float32"))
