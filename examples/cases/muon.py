"""google-deepmind/optax#1650: the loop of the muon optimizer is unrolled, and each step has buffers of its own."""

import jax
import optax

import hlodiff

OLD, NEW, TARGET = ("jax==0.10.2", "optax==0.2.5"), ("jax==0.10.2", "optax==0.2.8"), "cpu"


@hlodiff.register(targets=[TARGET])
def muon() -> hlodiff.Case:
    optimizer = optax.contrib.muon(1e-3)
    weights = {"weight": hlodiff.abstract((512, 1024), "float32")}
    state = jax.eval_shape(optimizer.init, weights)
    return hlodiff.Case(optimizer.update, weights, state, weights)
