"""A diffrax solve with an adaptive step size.

Catches: a solver, controller or adjoint that changed its default, an unrolled or doubled loop, a constant that made
its way into float64. The configuration sets `env = { EQX_ON_ERROR = "nan" }`: otherwise Equinox reports a failed
solve through a host callback, which cannot be lowered for `cuda` on a machine without a GPU.
"""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp

import hlodiff


def predators_and_prey(t: Any, y: jax.Array, rates: jax.Array) -> jax.Array:
    """The Lotka-Volterra equations."""
    prey, predators = y
    return jnp.stack(
        [rates[0] * prey - rates[1] * prey * predators, rates[2] * prey * predators - rates[3] * predators]
    )


def solve(start: jax.Array, rates: jax.Array) -> jax.Array:
    """The populations at 16 times."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(predators_and_prey),
        diffrax.Tsit5(),
        t0=0.0,
        t1=10.0,
        dt0=0.1,
        y0=start,
        args=rates,
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 10.0, 16)),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
        max_steps=1024,
    )
    assert solution.ys is not None
    return solution.ys


@hlodiff.register
def ode_solve() -> hlodiff.Case:
    return hlodiff.Case(solve, hlodiff.abstract((2,), "float32"), hlodiff.abstract((4,), "float32"))
