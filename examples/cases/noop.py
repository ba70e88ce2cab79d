"""jax-ml/jax#39449: assigning one element if a condition holds copies the donated array since JAX 0.8, on a GPU."""

import jax

import hlodiff

OLD, NEW, TARGET = ("jax==0.7.2",), ("jax==0.9.1",), "cuda-h100"


def assign(due: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.cond(due, lambda: x.at[0].set(1.0), lambda: x)


@hlodiff.register(targets=[TARGET])
def noop() -> hlodiff.Case:
    return hlodiff.Case(assign, hlodiff.abstract((), "bool"), hlodiff.abstract((1 << 24,), "float32"), donate=1)
