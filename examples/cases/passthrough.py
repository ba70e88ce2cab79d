"""jax-ml/jax#38145: each step of a scan copies its carry since JAX 0.8, where a `cond` may return it as it is."""

import jax
import jax.numpy as jnp

import hlodiff

OLD, NEW, TARGET = ("jax==0.7.2",), ("jax==0.9.1",), "cuda-h100"


def train(weights: dict[str, jax.Array], due: jax.Array) -> dict[str, jax.Array]:
    def step(carry: dict[str, jax.Array], now: jax.Array) -> tuple[dict[str, jax.Array], None]:
        updated = jax.lax.cond(now, lambda w: jax.tree.map(lambda x: x - 1e-3 * jnp.tanh(x), w), lambda w: w, carry)
        return updated, None

    return jax.lax.scan(step, weights, due)[0]


@hlodiff.register(targets=[TARGET])
def passthrough() -> hlodiff.Case:
    weights = {name: hlodiff.abstract((512, 512), "float32") for name in ("first", "second", "third")}
    return hlodiff.Case(train, weights, hlodiff.abstract((25000,), "bool"))
