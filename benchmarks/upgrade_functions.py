"""Functions of published libraries, compiled for cpu and tpu by the installed version of JAX.

`benchmarks/upgrades.py` compares the programs of two versions. This file does not import hlodiff, so that it runs in an
environment with only JAX and the libraries:

    python -m venv old && old/bin/pip install 'jax[tpu]==0.7.2' equinox diffrax lineax optimistix optax flax
    JAX_PLATFORMS=cpu TPU_SKIP_MDS_QUERY=1 old/bin/python benchmarks/upgrade_functions.py compiled/old
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffrax
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import lineax
import optax
import optimistix
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

Tree = Any
Job = tuple[Callable[..., Any], tuple[Tree, ...]]
KEY = jax.random.key(0)


def floats(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, "float32")


def integers(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, "int32")


# --- optax: one step of training a small network by each optimizer.

DENSE = [(floats(64, 128), floats(128)), (floats(128, 128), floats(128)), (floats(128, 8), floats(8))]


def dense(weights: Tree, x: Any) -> Any:
    for w, b in weights[:-1]:
        x = jax.nn.gelu(x @ w + b)
    return x @ weights[-1][0] + weights[-1][1]


def trained_by(optimizer: optax.GradientTransformation) -> Job:
    def step(weights: Tree, state: Tree, x: Any, y: Any) -> Any:
        def loss(weights: Tree) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(dense(weights, x), y).mean()

        value, gradient = jax.value_and_grad(loss)(weights)
        updates, state = optimizer.update(gradient, state, weights)
        return value, optax.apply_updates(weights, updates), state

    return step, (DENSE, jax.eval_shape(optimizer.init, DENSE), floats(32, 64), integers(32))


def ctc_gradient(logits: Any, paddings: Any, labels: Any) -> Any:
    return jax.grad(lambda x: optax.ctc_loss(x, paddings, labels, jnp.zeros(labels.shape)).sum())(logits)


# --- equinox: gradients of its layers.


def gradient_of(model: Any, *arguments: Any) -> Job:
    """The gradient of the mean square of a batched equinox model's output with respect to its arrays."""
    arrays, static = eqx.partition(model, eqx.is_array)

    def run(arrays: Tree, *arguments: Any) -> Any:
        def loss(arrays: Tree) -> Any:
            return jnp.mean(jax.vmap(eqx.combine(arrays, static))(*arguments) ** 2)

        return jax.value_and_grad(loss)(arrays)

    return run, (arrays, *arguments)


class Recurrent(eqx.Module):
    cell: eqx.nn.LSTMCell
    out: eqx.nn.Linear

    def __call__(self, sequence: Any) -> Any:
        zero = jnp.zeros(self.cell.hidden_size)
        (state, _), _ = jax.lax.scan(lambda carry, x: (self.cell(x, carry), None), (zero, zero), sequence)
        return self.out(state)


class Attention(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm: eqx.nn.LayerNorm

    def __call__(self, x: Any) -> Any:
        return jax.vmap(self.norm)(x + self.attention(x, x, x))


class Convolutions(eqx.Module):
    layers: tuple[eqx.nn.Conv2d, ...]
    norms: tuple[eqx.nn.GroupNorm, ...]

    def __call__(self, x: Any) -> Any:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = jax.nn.relu(norm(layer(x)))
        return eqx.nn.AvgPool2d(4)(x)


CONVOLUTIONS = Convolutions(
    (eqx.nn.Conv2d(3, 16, 3, padding=1, key=KEY), eqx.nn.Conv2d(16, 32, 3, stride=2, padding=1, key=KEY)),
    (eqx.nn.GroupNorm(4, 16), eqx.nn.GroupNorm(4, 32)),
)

# --- diffrax, lineax, optimistix: solvers with loops, linear algebra and random numbers.


def field(t: Any, y: Any, arguments: Any) -> Any:
    return jnp.tanh(arguments @ y) - 0.1 * y


def solved(solver: Any, controller: Any = None, steps: int = 256) -> Callable[..., Any]:
    def run(y: Any, matrix: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            solver,
            0.0,
            1.0,
            0.05,
            y,
            matrix,
            stepsize_controller=controller or diffrax.ConstantStepSize(),
            max_steps=steps,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 1.0, 8)),
        ).ys

    return run


def neural_ode_gradient(y: Any, matrix: Any) -> Any:
    run = solved(diffrax.Heun(), steps=64)
    return jax.grad(lambda matrix: jnp.sum(run(y, matrix) ** 2))(matrix)


def stochastic(y: Any, matrix: Any, seed: Any) -> Any:
    path = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=y.shape, key=jax.random.key(seed))
    terms: Any = diffrax.MultiTerm(
        diffrax.ODETerm(field), diffrax.ControlTerm(lambda t, y, a: lineax.DiagonalLinearOperator(0.1 * y), path)
    )
    return diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.1, y, matrix, max_steps=32).ys


def conjugate_gradients(matrix: Any, b: Any) -> Any:
    positive = lineax.MatrixLinearOperator(matrix @ matrix.T, lineax.positive_semidefinite_tag)
    return lineax.linear_solve(positive, b, lineax.CG(rtol=1e-5, atol=1e-5)).value


def least_squares(matrix: Any, b: Any) -> Any:
    return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), b, lineax.QR()).value


def levenberg_marquardt(x: Any, y: Any, guess: Any) -> Any:
    def residual(p: Any, _: Any) -> Any:
        return p[0] * jnp.exp(-p[1] * x) + p[2] - y

    return optimistix.least_squares(residual, optimistix.LevenbergMarquardt(1e-5, 1e-5), guess, throw=False).value


def bfgs(guess: Any) -> Any:
    def rosenbrock(p: Any, _: Any) -> Any:
        return jnp.sum(100.0 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2)

    return optimistix.minimise(rosenbrock, optimistix.BFGS(1e-5, 1e-5), guess, throw=False).value


# --- flax: gradients of its layers.


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x))))


class Transformer(nn.Module):
    layers: int

    @nn.compact
    def __call__(self, tokens: Any) -> Any:
        x = nn.Embed(512, 64)(tokens)
        for _ in range(self.layers):
            x = Block()(x)
        return nn.Dense(512)(nn.LayerNorm()(x))


class Residual(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.Conv(16, (3, 3))(x)
        for features in (16, 32):
            y = nn.relu(nn.GroupNorm(4)(nn.Conv(features, (3, 3))(x)))
            x = nn.Conv(features, (1, 1))(x) + nn.Conv(features, (3, 3))(y)
        return nn.Dense(10)(x.mean((1, 2)))


class Sequence(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.Dense(8)(nn.RNN(nn.GRUCell(features=32))(x))


def flax_gradient(model: nn.Module, x: Any) -> Job:
    def run(weights: Tree, x: Any) -> Any:
        return jax.value_and_grad(lambda w: jnp.mean(model.apply(w, x) ** 2))(weights)

    return run, (jax.eval_shape(model.init, jax.random.key(0), x), x)


JOBS: dict[str, Callable[[], Job]] = {
    "optax_adamw": lambda: trained_by(optax.adamw(1e-3)),
    "optax_lamb": lambda: trained_by(optax.chain(optax.clip_by_global_norm(1.0), optax.lamb(1e-3))),
    "optax_adafactor": lambda: trained_by(optax.adafactor(1e-3)),
    "optax_ctc": lambda: (ctc_gradient, (floats(4, 20, 16), floats(4, 20), integers(4, 8))),
    "equinox_mlp": lambda: gradient_of(eqx.nn.MLP(16, 8, 64, 3, key=KEY), floats(32, 16)),
    "equinox_attention": lambda: gradient_of(
        Attention(eqx.nn.MultiheadAttention(4, 64, key=KEY), eqx.nn.LayerNorm(64)), floats(4, 32, 64)
    ),
    "equinox_lstm": lambda: gradient_of(
        Recurrent(eqx.nn.LSTMCell(16, 32, key=KEY), eqx.nn.Linear(32, 4, key=KEY)), floats(8, 20, 16)
    ),
    "equinox_convolutions": lambda: gradient_of(CONVOLUTIONS, floats(8, 3, 32, 32)),
    "diffrax_tsit5": lambda: (
        solved(diffrax.Tsit5(), diffrax.PIDController(rtol=1e-3, atol=1e-6)),
        (floats(8), floats(8, 8)),
    ),
    "diffrax_dopri8": lambda: (
        solved(diffrax.Dopri8(), diffrax.PIDController(rtol=1e-3, atol=1e-6)),
        (floats(8), floats(8, 8)),
    ),
    "diffrax_kvaerno3": lambda: (
        solved(diffrax.Kvaerno3(), diffrax.PIDController(rtol=1e-3, atol=1e-6), 64),
        (floats(8), floats(8, 8)),
    ),
    "diffrax_gradient": lambda: (neural_ode_gradient, (floats(8), floats(8, 8))),
    "diffrax_stochastic": lambda: (stochastic, (floats(8), floats(8, 8), integers())),
    "lineax_cg": lambda: (conjugate_gradients, (floats(32, 32), floats(32))),
    "lineax_qr": lambda: (least_squares, (floats(32, 16), floats(32))),
    "optimistix_levenberg_marquardt": lambda: (levenberg_marquardt, (floats(64), floats(64), floats(3))),
    "optimistix_bfgs": lambda: (bfgs, (floats(8),)),
    "flax_transformer_2": lambda: flax_gradient(Transformer(2), jnp.zeros((4, 32), "int32")),
    "flax_transformer_4": lambda: flax_gradient(Transformer(4), jnp.zeros((4, 32), "int32")),
    "flax_residual": lambda: flax_gradient(Residual(), jnp.zeros((8, 16, 16, 3))),
    "flax_gru": lambda: flax_gradient(Sequence(), jnp.zeros((8, 20, 16))),
}


def compile_all(folder: Path) -> None:
    """Compile every job for cpu and tpu-v5e; jobs that a compiler rejects are printed and skipped."""
    tpu = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices[0]
    for target, device in (("cpu", jax.devices("cpu")[0]), ("tpu", tpu)):
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, job in JOBS.items():
            path = folder / target / f"{name}.hlo"
            if path.exists():
                continue
            try:
                run, arguments = job()
                placed = SingleDeviceSharding(device)
                abstract = jax.tree.map(
                    lambda a, placed=placed: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=placed), arguments
                )
                text = jax.jit(run).lower(*abstract).compile().as_text()
            except Exception as error:
                print(f"{target} {name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                continue
            path.write_text(str(text))


if __name__ == "__main__":
    compile_all(Path(sys.argv[1]))
