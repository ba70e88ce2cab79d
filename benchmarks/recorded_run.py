"""The script that `benchmarks.recording` runs: a neural ODE that learns a spiral, validated at a different batch size.

An ordinary script with diffrax, equinox and optax that does not use hlodiff.
"""

from __future__ import annotations

import sys
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array


class Field(eqx.Module):
    """The vector field: a small network."""

    mlp: eqx.nn.MLP

    def __call__(self, t: Any, y: Array, args: Any) -> Array:
        return self.mlp(y)


def solve(model: Field, ts: Array, y0: Array) -> Array:
    """One trajectory."""
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(model), diffrax.Tsit5(), ts[0], ts[-1], ts[1] - ts[0], y0,
        saveat=diffrax.SaveAt(ts=ts), stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
    )  # fmt: skip
    assert found.ys is not None
    return jnp.asarray(found.ys)


@eqx.filter_value_and_grad
def loss(model: Field, ts: Array, ys: Array) -> Array:
    """Mean squared distance from the data."""
    return jnp.mean((jax.vmap(solve, in_axes=(None, None, 0))(model, ts, ys[:, 0]) - ys) ** 2)


@eqx.filter_jit
def validate(model: Field, ts: Array, ys: Array) -> Array:
    """The loss without its gradient."""
    return jnp.mean((jax.vmap(solve, in_axes=(None, None, 0))(model, ts, ys[:, 0]) - ys) ** 2)


def spirals(ts: Array, count: int, key: Array) -> Array:
    """Data: damped rotations from random starts."""
    starts = jax.random.uniform(key, (count, 2), minval=-0.6, maxval=1.0)
    turns = jnp.stack([jnp.cos(ts), jnp.sin(ts), -jnp.sin(ts), jnp.cos(ts)], -1).reshape(-1, 2, 2)
    return jnp.exp(-0.1 * ts)[None, :, None] * jnp.einsum("tij,bj->bti", turns, starts)


def main(steps: int) -> None:
    """Train and validate."""
    key = jax.random.key(0)
    model = Field(eqx.nn.MLP(2, 2, 32, 2, activation=jax.nn.softplus, key=key))
    optim = optax.adabelief(3e-3)
    state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    ts = jnp.linspace(0.0, 5.0, 40)

    @eqx.filter_jit
    def step(model: Field, state: Any, ts: Array, ys: Array) -> tuple[Field, Any, Array]:
        value, grads = loss(model, ts, ys)
        updates, state = optim.update(grads, state)
        return eqx.apply_updates(model, updates), state, value

    for i in range(steps):
        model, state, value = step(model, state, ts, spirals(ts, 32, jax.random.fold_in(key, i)))
    print(f"trained: {value:.3f}, validated: {validate(model, ts, spirals(ts, 64, key)):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
