"""A curve fitted with optimistix: each step of Levenberg-Marquardt solves a linear system by QR.

Catches: another linear solver, a step that is computed twice, a factorization that left its loop for a host callback.
Solvers like this one, and those of lineax and the implicit ones of diffrax, compute constants while JAX lowers them.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optimistix

import hlodiff


def misfit(parameters: jax.Array, data: tuple[jax.Array, jax.Array]) -> jax.Array:
    """How far an exponential decay is from each value."""
    times, values = data
    amplitude, rate, offset = parameters
    return amplitude * jnp.exp(-rate * times) + offset - values


def fit(parameters: jax.Array, times: jax.Array, values: jax.Array) -> jax.Array:
    """Amplitude, rate and offset of the decay that fits best."""
    solver: optimistix.LevenbergMarquardt[Any, Any, Any] = optimistix.LevenbergMarquardt(rtol=1e-5, atol=1e-5)
    return optimistix.least_squares(misfit, solver, parameters, (times, values), max_steps=64).value


@hlodiff.register
def curve_fit() -> hlodiff.Case:
    return hlodiff.Case(fit, hlodiff.abstract((3,), "float32"), *[hlodiff.abstract((16,), "float32")] * 2)
