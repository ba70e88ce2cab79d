"""patrick-kidger/diffrax#606: a solve that saves at given times compiles and runs longer since diffrax 0.6.1."""

import diffrax
import jax
import jax.numpy as jnp

import hlodiff

setattr(jax.core, "ConcreteArray", type("", (), {}))  # noqa: B010 - diffrax 0.6.0 asks for it; JAX has it no longer

_BOTH = ("jax==0.7.2", "equinox==0.13.8")
OLD, NEW, TARGET = (*_BOTH, "diffrax==0.6.0"), (*_BOTH, "diffrax==0.6.1"), "cpu"


def lorenz(t: jax.Array, y: jax.Array, args: None) -> jax.Array:
    return jnp.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def solve(ts: jax.Array, y0: jax.Array) -> jax.Array | None:
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lorenz),  # type: ignore[arg-type]
        diffrax.Tsit5(),
        t0=ts[0],
        t1=ts[-1],
        dt0=None,
        y0=y0,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6, pcoeff=0.4, icoeff=0.3),
        saveat=diffrax.SaveAt(ts=ts),
        max_steps=None,
    ).ys


@hlodiff.register(targets=[TARGET])
def saved() -> hlodiff.Case:
    return hlodiff.Case(solve, hlodiff.abstract((3000,), "float32"), hlodiff.abstract((3,), "float32"))
