"""The same stack of layers twice: unrolled by a Python loop, and scanned.

Catches: a scan that became a Python loop and the reverse. Both give the same numbers; the unrolled stack compiles
every layer again, which costs compile time and lets XLA fuse across layers, and the scanned stack compiles one layer.
"""

import jax
import jax.numpy as jnp

import hlodiff

DEPTH, WIDTH = 6, 64
Layers = dict[str, jax.Array]


def layer(x: jax.Array, weights: Layers) -> jax.Array:
    """A residual layer with normalization."""
    normal = x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    return x + jax.nn.gelu(normal @ weights["kernel"] + weights["bias"])


def unrolled(layers: Layers, x: jax.Array) -> jax.Array:
    """One layer after another, each compiled on its own."""
    for i in range(DEPTH):
        x = layer(x, jax.tree.map(lambda w, i=i: w[i], layers))
    return x


def scanned(layers: Layers, x: jax.Array) -> jax.Array:
    """One compiled layer, run once for each row of the weights."""
    x, _ = jax.lax.scan(lambda x, weights: (layer(x, weights), None), x, layers)
    return x


def arguments() -> tuple[Layers, jax.ShapeDtypeStruct]:
    """Stacked weights and a batch."""
    kernel, bias = hlodiff.abstract((DEPTH, WIDTH, WIDTH), "float32"), hlodiff.abstract((DEPTH, WIDTH), "float32")
    return {"kernel": kernel, "bias": bias}, hlodiff.abstract((16, WIDTH), "float32")


@hlodiff.register
def stack_unrolled() -> hlodiff.Case:
    return hlodiff.Case(unrolled, *arguments())


@hlodiff.register
def stack_scanned() -> hlodiff.Case:
    return hlodiff.Case(scanned, *arguments())
