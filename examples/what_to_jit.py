"""Functions that call others: jitted outside, inside, both, or not at all. `hlodiff inspect variants` runs them all.

Catches: `jit` around the inner function only, so that what is between its calls is not fused with it.
"""

import jax
import jax.numpy as jnp
from jax import Array

import hlodiff


def f(x: Array) -> Array:
    return jnp.tanh(x) * 2.0 + x


jitted_f = jax.jit(f)


def g(x: Array) -> Array:
    y = f(x) + 1.0
    z = f(y)
    return jnp.sin(z) - x


def g_with_jitted_f(x: Array) -> Array:
    y = jitted_f(x) + 1.0
    z = jitted_f(y)
    return jnp.sin(z) - x


@hlodiff.variants
def g_calls_f_twice() -> dict[str, hlodiff.Case]:
    x = hlodiff.abstract((256, 1024), "float32")
    return {
        "none": hlodiff.Case(g, x),
        "inner": hlodiff.Case(g_with_jitted_f, x),
        "outer": hlodiff.Case(jax.jit(g), x),
        "both": hlodiff.Case(jax.jit(g_with_jitted_f), x),
    }


def dense(w: Array, x: Array) -> Array:
    return x @ w


jitted_dense = jax.jit(dense)


def block(w: Array, x: Array) -> Array:
    return jnp.tanh(dense(w, jnp.tanh(dense(w, x))) + 1.0) + x


def block_with_jitted_dense(w: Array, x: Array) -> Array:
    return jnp.tanh(jitted_dense(w, jnp.tanh(jitted_dense(w, x))) + 1.0) + x


@hlodiff.variants
def block_calls_dense_twice() -> dict[str, hlodiff.Case]:
    arguments = hlodiff.abstract((64, 64), "float32"), hlodiff.abstract((32, 64), "float32")
    return {
        "none": hlodiff.Case(block, *arguments),
        "inner": hlodiff.Case(block_with_jitted_dense, *arguments),
        "outer": hlodiff.Case(jax.jit(block), *arguments),
        "both": hlodiff.Case(jax.jit(block_with_jitted_dense), *arguments),
    }
