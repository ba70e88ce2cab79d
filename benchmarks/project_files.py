"""Files of a project with many registered functions: shared layers, and models of ten functions each."""

from __future__ import annotations

from pathlib import Path

LAYERS = '''\
"""Layers that the models share."""

import jax
import jax.numpy as jnp


def normal(x, scale):
    x32 = x.astype(jnp.float32)
    mean = x32.mean(-1, keepdims=True)
    variance = jnp.square(x32 - mean).mean(-1, keepdims=True)
    return ((x32 - mean) * jax.lax.rsqrt(variance + 1e-6)).astype(x.dtype) * scale


def dense(p, x):
    return x @ p["w"] + p["b"]


def attention(p, x, heads):
    batch, length, width = x.shape
    q, k, v = (dense(p[name], x).reshape(batch, length, heads, -1) for name in "qkv")
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5
    mask = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    return dense(p["o"], jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width))


def block(p, x, heads, activation):
    x = x + attention(p, normal(x, p["s1"]), heads)
    return x + dense(p["down"], activation(dense(p["up"], normal(x, p["s2"]))))


def cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -chosen.mean()


def adam(grads, m, v, params, step):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    scale = jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return jax.tree.map(lambda p, m, v: p - 1e-3 * scale * m / (jnp.sqrt(v) + 1e-8), params, m, v), m, v
'''

CELLS = '''\
"""A recurrent cell, the helper that the benchmark changes."""

import jax
import jax.numpy as jnp


def gru(p, h, x):
    both = jnp.concatenate([x, h], -1)
    z = jax.nn.sigmoid(both @ p["z"])
    r = jax.nn.sigmoid(both @ p["r"])
    new = jnp.tanh(jnp.concatenate([x, r * h], -1) @ p["n"])
    return (1 - z) * h + z * new
'''

MODEL = '''\
"""Ten functions of a model."""

import hlodiff
import jax
import jax.numpy as jnp
import cells
import layers

NUMBER = {number}
WIDTH = {width}
RATES = {rates}


def array(*shape, dtype="float32"):
    return hlodiff.abstract(shape, dtype)


def linear(a, b):
    return dict(w=array(a, b), b=array(b))


def weights(width, hidden):
    named = dict((name, linear(width, width)) for name in "qkvo")
    return dict(named, up=linear(width, hidden), down=linear(hidden, width), s1=array(width), s2=array(width))


def register(index, make):
    def build():
        return make(WIDTH, RATES[index])

    build.__name__ = f"m{{NUMBER:03d}}_{{make.__name__}}_{{index}}"
    hlodiff.register(build)


def mlp_step(width, rate):
    params = [linear(width, 2 * width), linear(2 * width, 2 * width), linear(2 * width, 16)]

    def loss(params, x, labels):
        for p in params[:-1]:
            x = jax.nn.gelu(layers.dense(p, x))
        return layers.cross_entropy(layers.dense(params[-1], x), labels)

    def step(params, x, labels):
        value, grads = jax.value_and_grad(loss)(params, x, labels)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), value

    return hlodiff.Case(step, params, array(32, width), array(32, dtype="int32"), donate=0)


def forward(width, rate):
    def forward(p, x):
        return layers.block(p, x, 4, jax.nn.silu) * rate

    return hlodiff.Case(forward, weights(width, 4 * width), array(4, 32, width))


def language_model(width, rate):
    params = dict(blocks=[weights(width, 2 * width) for _ in range(2)], out=linear(width, 128), table=array(128, width))

    def loss(params, tokens):
        x = params["table"][tokens]
        for p in params["blocks"]:
            x = layers.block(p, x, 4, jax.nn.gelu)
        return layers.cross_entropy(layers.dense(params["out"], x)[:, :-1], tokens[:, 1:]) * rate

    return hlodiff.Case(jax.grad(loss), params, array(4, 32, dtype="int32"))


def recurrent(width, rate):
    params = dict((name, array(2 * width, width)) for name in "zrn")

    def run(params, h, xs):
        def turn(h, x):
            h = cells.gru(params, h, x)
            return h, h.sum(-1)

        return jax.lax.scan(turn, h * rate, xs)

    return hlodiff.Case(run, params, array(8, width), array(16, 8, width))


def optimizer(width, rate):
    params = weights(width, 2 * width)

    def update(grads, m, v, params, step):
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, rate / norm), grads)
        return layers.adam(grads, m, v, params, step)

    return hlodiff.Case(update, params, params, params, params, array())


def decode(width, rate):
    heads, size = 4, width // 4

    def step(q, k, v, keys, values, position):
        keys = jax.lax.dynamic_update_slice(keys, k[:, None], (0, position, 0, 0))
        values = jax.lax.dynamic_update_slice(values, v[:, None], (0, position, 0, 0))
        scores = jnp.einsum("bhd,blhd->bhl", q, keys) * rate
        seen = jnp.arange(keys.shape[1]) <= position
        return jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)), values), keys, values

    one, cache = array(4, heads, size), array(4, 64, heads, size)
    return hlodiff.Case(step, one, one, one, cache, cache, array(dtype="int32"), donate=(3, 4))


def image(width, rate):
    def forward(first, second, last, x):
        for kernel in (first, second):
            x = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x) * rate
        return layers.dense(last, x.mean((1, 2)))

    return hlodiff.Case(forward, array(3, 3, 3, 16), array(3, 3, 16, width), linear(width, 10), array(4, 32, 32, 3))


def statistics(width, rate):
    def measure(logits, labels):
        top = jax.lax.top_k(logits, 5)[1]
        hit = (top == labels[:, None]).any(-1).mean()
        entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1)
        return hit * rate, entropy.mean(), jnp.quantile(entropy, 0.9)

    return hlodiff.Case(measure, array(64, width), array(64, dtype="int32"))


def mixed(width, rate):
    def forward(p, x):
        return layers.block(p, x.astype(jnp.bfloat16), 4, jax.nn.gelu).astype(jnp.float32) * rate

    def half(tree):
        return jax.tree.map(lambda a: array(*a.shape, dtype="bfloat16"), tree)

    return hlodiff.Case(jax.vmap(forward, (None, 0)), half(weights(width, 2 * width)), array(2, 2, 16, width))


def rollout(width, rate):
    def run(p, state):
        def turn(_, state):
            return state + rate * jnp.tanh(layers.dense(p, state))

        return jax.lax.fori_loop(0, 10, turn, state)

    return hlodiff.Case(run, linear(width, width), array(16, width))


ALL = (mlp_step, forward, language_model, recurrent, optimizer, decode, image, statistics, mixed, rollout)
for index, make in enumerate(ALL[: {count}]):
    register(index, make)
'''

PER_MODEL = 10


def write(folder: Path, functions: int, targets: tuple[str, ...]) -> None:
    """Write the project.

    Args:
        folder: where its files are written.
        functions: the number of registered functions.
        targets: the targets that each is compiled for.
    """
    listed = ", ".join(f'"{target}"' for target in targets)
    (folder / "pyproject.toml").write_text(f'[tool.hlodiff]\nmodules = ["model_*.py"]\ntargets = [{listed}]\n')
    (folder / "layers.py").write_text(LAYERS)
    (folder / "cells.py").write_text(CELLS)
    for number in range((functions + PER_MODEL - 1) // PER_MODEL):
        write_model(folder, number, min(PER_MODEL, functions - number * PER_MODEL))


def write_model(folder: Path, number: int, count: int = PER_MODEL, changed: int | None = None) -> None:
    """Write one model.

    Args:
        folder: of the project.
        number: of the model; its width and its rates depend on it.
        count: the number of registered functions.
        changed: the function whose rate changes; None for none.
    """
    # XLA cannot tile some products of other widths for GPUs.
    rates = [0.5 if index == changed else 0.25 + number / 1024 for index in range(PER_MODEL)]
    text = MODEL.format(number=number, width=32 << number % 3, rates=rates, count=count)
    (folder / f"model_{number:03d}.py").write_text(text)


def change_helper(folder: Path) -> None:
    """Change the recurrent cell, which one function in ten uses."""
    (folder / "cells.py").write_text(CELLS.replace("jnp.tanh(", "jax.nn.silu("))
