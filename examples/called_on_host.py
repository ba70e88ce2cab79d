"""A step that is called and lowered ahead of time, with `compute_on` where both see it.

Catches: `compute_on` moved out of the jitted function, around its call. The call then still runs on the host, and
what `.lower()` gives runs on the device. `parity=True` makes `hlodiff check` run the step and compare both.
"""

import jax
from jax.experimental.compute_on import compute_on

import hlodiff


@jax.jit
def decayed(moment: jax.Array, gradient: jax.Array) -> jax.Array:
    """The moving average of an optimizer, on the host's processor."""
    with compute_on("device_host"):
        return moment + 0.1 * (gradient - moment)


@hlodiff.register
def called_on_host() -> hlodiff.Case:
    moment = hlodiff.abstract((64, 64), "float32")
    return hlodiff.Case(decayed, moment, moment, parity=True)
