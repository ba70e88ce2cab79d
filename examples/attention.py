"""Causal attention in bfloat16, and its gradient.

Catches: a softmax that lost its float32 (one cast, and long sequences overflow), a mask that became a large literal,
a head dimension in another place (a transpose per call).
"""

import jax
import jax.numpy as jnp

import hlodiff


def causal_attention(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Attention over earlier positions; arguments and result are (batch, position, head, feature)."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5
    position = jnp.arange(query.shape[1])
    earlier = position[:, None] >= position[None, :]
    scores = jnp.where(earlier, scores.astype(jnp.float32), -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1).astype(value.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, value)


def attention_gradient(query: jax.Array, key: jax.Array, value: jax.Array) -> tuple[jax.Array, ...]:
    """The gradient of the summed output for all three arguments."""

    def total(*arguments: jax.Array) -> jax.Array:
        return jnp.sum(causal_attention(*arguments).astype(jnp.float32))

    gradients: tuple[jax.Array, ...] = jax.grad(total, argnums=(0, 1, 2))(query, key, value)
    return gradients


@hlodiff.register
def attention() -> hlodiff.Case:
    heads = hlodiff.abstract((2, 64, 4, 32), "bfloat16")
    return hlodiff.Case(attention_gradient, heads, heads, heads)
