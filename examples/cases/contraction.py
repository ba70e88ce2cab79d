"""jax-ml/jax#39257: a product of rank eight summed over one axis crashes or hangs on a CPU since jaxlib 0.10.2."""

import jax
import jax.numpy as jnp

import hlodiff

OLD, NEW, TARGET = ("jax==0.10.1",), ("jax==0.10.2",), "cpu"


def likelihood(observed: jax.Array, model: jax.Array) -> jax.Array:
    total = jnp.sum(observed[..., None, None, None, None, None] * model, axis=2)
    return jnp.log(jnp.maximum(total, 2.220446049250313e-16))


@hlodiff.register(targets=[TARGET])
def contraction() -> hlodiff.Case:
    model = hlodiff.abstract((10, 4, 6, 9, 9, 9, 9, 9), "float32")
    return hlodiff.Case(likelihood, hlodiff.abstract((10, 4, 6), "float32"), model)
