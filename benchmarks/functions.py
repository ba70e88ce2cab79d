"""The functions of the corpus: small, real, and together covering most kinds of instructions.

Only `benchmarks/programs.py` imports this file, in a process of its own: it needs JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Tree = Any


@dataclass(frozen=True, slots=True)
class Job:
    """A function, the shapes of its arguments ("f32[64,64]") and which of them are donated."""

    run: Callable[..., Any]
    arguments: tuple[Tree, ...]
    donate: tuple[int, ...] = ()


def dense_layers(weights: list[tuple[Any, Any]], x: Any) -> Any:
    for w, b in weights:
        x = jax.nn.gelu(x @ w + b)
    return x


def mlp_step(weights: Tree, x: Any, y: Any) -> Any:
    loss, gradient = jax.value_and_grad(lambda p: jnp.mean((dense_layers(p, x) - y) ** 2))(weights)
    return loss, jax.tree.map(lambda p, g: p - 0.1 * g, weights, gradient)


def momentum_step(weights: Tree, velocity: Tree, x: Any, y: Any) -> Any:
    loss, gradient = jax.value_and_grad(lambda p: jnp.mean(jnp.abs(dense_layers(p, x) - y)))(weights)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
    return loss, jax.tree.map(lambda p, v: p - 0.1 * v, weights, velocity), velocity


def adam_step(weights: Tree, first: Tree, second: Tree, step: Any, x: Any, y: Any) -> Any:
    gradient = jax.grad(lambda p: jnp.mean((dense_layers(p, x) - y) ** 2))(weights)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    rate = 1e-3 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    weights = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
    return weights, first, second, step + 1


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8.0)
    return jnp.einsum("bhqk,bkhd->bqhd", scores, v)


def attention_gradient(q: Any, k: Any, v: Any) -> Any:
    return jax.grad(lambda *a: jnp.sum(attention(*a).astype("float32")), argnums=(0, 1, 2))(q, k, v)


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def layer_norm_gradient(x: Any, scale: Any, bias: Any) -> Any:
    return jax.grad(lambda *a: jnp.sum(layer_norm(*a) ** 3), argnums=(0, 1, 2))(x, scale, bias)


def convolution(x: Any, kernel: Any) -> Any:
    y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convolution_gradient(x: Any, kernel: Any) -> Any:
    return jax.grad(lambda k: jnp.sum(convolution(x, k)))(kernel)


def batch_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) / jnp.sqrt(variance + 1e-3) * scale + bias


def lstm(weights: Tree, x: Any, state: Tree) -> Any:
    w, u, b = weights

    def cell(carry: Tree, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(cell, state, x)


def lstm_gradient(weights: Tree, x: Any, state: Tree) -> Any:
    return jax.grad(lambda p: jnp.sum(lstm(p, x, state)[1] ** 2))(weights)


def newton(x: Any) -> Any:
    def step(state: Any) -> Any:
        y, n = state
        return y - (y * y * y - x) / (3 * y * y + 1e-6), n + 1

    return lax.while_loop(lambda s: (s[1] < 50) & (jnp.max(jnp.abs(s[0] ** 3 - x)) > 1e-5), step, (x, 0))


def branches(which: Any, x: Any) -> Any:
    return lax.switch(which, [jnp.sin, lambda x: jnp.cumsum(x, 0) * 2, lambda x: x @ x.T @ x], x)


def condition(x: Any) -> Any:
    return lax.cond(jnp.sum(x) > 0, lambda x: jnp.tanh(x) - x, lambda x: jnp.exp(-x) / (1 + x * x), x)


def sorting(x: Any) -> Any:
    order = jnp.argsort(x, axis=-1)
    return jnp.take_along_axis(x, order, -1), lax.top_k(x, 4), jnp.median(x)


def embedding(table: Any, tokens: Any) -> Any:
    return jax.grad(lambda t: jnp.sum(t[tokens] ** 2))(table)


def scatter(x: Any, at: Any, update: Any) -> Any:
    return x.at[at].add(update), x.at[at, 0].max(update[:, 0]), x.at[3:7].set(0)


def slices(x: Any, at: Any) -> Any:
    part = lax.dynamic_slice(x, (at, 0), (4, x.shape[1]))
    rolled = jnp.roll(x, 3, 0)[:, ::2]
    return lax.dynamic_update_slice(x, part * 2 - 1, (at + 1, 0)), jnp.pad(rolled, ((1, 2), (0, 1)))


def reductions(x: Any) -> Any:
    return x.sum(0), x.max(1), x.prod(), jnp.argmin(x, 0), jnp.linalg.norm(x, axis=1), jax.nn.logsumexp(x)


def statistics(x: Any, y: Any) -> Any:
    centered = x - x.mean(0)
    covariance = centered.T @ centered / (len(x) - 1)
    return covariance, jnp.corrcoef(x.T), jnp.percentile(y, 30.0)


def random(key: Any) -> Any:
    a, b = jax.random.split(key)
    return jax.random.normal(a, (16, 32)), jax.random.bernoulli(b, 0.3, (64,)), jax.random.permutation(b, 20)


def dropout(x: Any, key: Any) -> Any:
    keep = jax.random.bernoulli(key, 0.9, x.shape)
    return jnp.where(keep, x / 0.9, 0) + jnp.flip(x, 0)


def fourier(x: Any) -> Any:
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(-jnp.arange(x.shape[-1] // 2 + 1) / 7.0))


def mixed_precision(w: Tree, x: Any) -> Any:
    def loss(w: Tree) -> Any:
        h = x.astype("bfloat16")
        for one in w:
            h = jax.nn.silu(h @ one.astype("bfloat16"))
        return jnp.mean(h.astype("float32") ** 2)

    value, gradient = jax.value_and_grad(loss)(w)
    finite = jnp.isfinite(value)
    return value, jax.tree.map(lambda p, g: jnp.where(finite, p - 0.01 * g, p), w, gradient)


def quantized(x: Any, w: Any, scale: Any) -> Any:
    y = lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return jnp.clip(jnp.round(y * scale), -128, 127).astype(jnp.int8)


def runge_kutta(y: Any, dt: Any) -> Any:
    def field(y: Any) -> Any:
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def step(_: Any, y: Any) -> Any:
        a = field(y)
        b = field(y + dt / 2 * a)
        c = field(y + dt / 2 * b)
        return y + dt / 6 * (a + 2 * b + 2 * c + field(y + dt * c))

    return lax.fori_loop(0, 100, step, y)


def unrolled_runge_kutta(y: Any, dt: Any) -> Any:
    for _ in range(4):
        a = jnp.sin(y)
        b = jnp.sin(y + dt * a) - y
        y = y + dt * (a - b / 2)
    return y


def cholesky_solve(a: Any, b: Any) -> Any:
    factor = jnp.linalg.cholesky(a @ a.T + jnp.eye(len(a)))
    return lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)


def special(x: Any) -> Any:
    return lax.erf(x) - lax.lgamma(jnp.abs(x) + 1), jnp.arctan2(x, x + 1), jnp.mod(x, 3) ** 1.7


def bits(x: Any) -> Any:
    y = (x << 5) ^ (x >> 3)
    return lax.population_count(y | 1) - lax.clz(x), lax.bitcast_convert_type(y, jnp.float32)


def recommender(tables: Tree, tokens: Any, x: Any) -> Any:
    def loss(tables: Tree) -> Any:
        found = [t[tokens] for t in tables]
        crossed = found[0] * found[1] - found[2]
        return jnp.mean(jax.nn.softplus(crossed.sum(-1) * x))

    return jax.value_and_grad(loss)(tables)


def contrastive(a: Any, b: Any) -> Any:
    def loss(a: Any, b: Any) -> Any:
        a, b = (t / jnp.linalg.norm(t, axis=-1, keepdims=True) for t in (a, b))
        logits = a @ b.T / 0.07
        return -jnp.mean(jnp.diag(jax.nn.log_softmax(logits)) + jnp.diag(jax.nn.log_softmax(logits.T)))

    return jax.value_and_grad(loss, argnums=(0, 1))(a, b)


def mixture(x: Any, router: Any, experts: Any) -> Any:
    gates = jax.nn.softmax(x @ router)
    best, which = lax.top_k(gates, 2)
    outputs = jnp.einsum("td,edf->tef", x, experts)
    chosen = jnp.take_along_axis(outputs, which[..., None], 1)
    return jnp.sum(jax.nn.relu(chosen) * best[..., None], 1)


def block(w: Tree, x: Any) -> Any:
    """One transformer layer; `w` is (qkv, out, up, down, scale, bias)."""
    qkv, out, up, down, scale, bias = w
    q, k, v = jnp.split(layer_norm(x, scale, bias) @ qkv, 3, -1)
    heads = [t.reshape(*t.shape[:-1], 4, -1) for t in (q, k, v)]
    x = x + causal_attention(*heads).reshape(x.shape) @ out
    return x + jax.nn.gelu(layer_norm(x, scale, bias) @ up) @ down


def transformer(weights: Tree, x: Any) -> Any:
    for w in weights:
        x = block(w, x)
    return x


def transformer_step(weights: Tree, x: Any) -> Any:
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean(transformer(w, x) ** 2))(weights)
    return loss, jax.tree.map(lambda p, g: p - 1e-3 * g, weights, gradient)


def scanned_transformer(weights: Tree, x: Any) -> Any:
    return jax.grad(lambda w: jnp.sum(lax.scan(lambda x, w: (block(w, x), None), x, w)[0]))(weights)


def sharded_gradient(w1: Any, w2: Any, x: Any) -> Any:
    return jax.grad(lambda a, b: jnp.sum(jax.nn.gelu(x @ a) @ b) ** 2, argnums=(0, 1))(w1, w2)


def sharded_step(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    def loss(a: Any, b: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ a) @ b - y) ** 2)

    value, (g1, g2) = jax.value_and_grad(loss, argnums=(0, 1))(w1, w2)
    return value, w1 - 0.1 * g1, w2 - 0.1 * g2


def _layer(size: int = 64) -> Tree:
    s = size
    return (f"f32[{s},{3 * s}]", f"f32[{s},{s}]", f"f32[{s},{4 * s}]", f"f32[{4 * s},{s}]", f"f32[{s}]", f"f32[{s}]")


def _stacked(count: int, layer: Tree) -> Tree:
    return tuple(shape.replace("[", f"[{count},") for shape in layer)


_MLP: Tree = [("f32[64,64]", "f32[64]")] * 3
_QKV = ("bf16[2,32,4,64]",) * 3
_LSTM: Tree = (("f32[16,128]", "f32[32,128]", "f32[128]"), "f32[12,8,16]", ("f32[8,32]", "f32[8,32]"))
_SMALL: Tree = [("f32[32,32]", "f32[32]")] * 2

JOBS: dict[str, Job] = {
    "mlp_step": Job(mlp_step, (_MLP, "f32[32,64]", "f32[32,64]"), (0,)),
    "momentum_step": Job(momentum_step, (_SMALL, _SMALL, "f32[16,32]", "f32[16,32]"), (0, 1)),
    "adam_step": Job(adam_step, (_SMALL, _SMALL, _SMALL, "f32[]", "f32[16,32]", "f32[16,32]"), (0, 1, 2)),
    "attention": Job(attention, _QKV),
    "attention_gradient": Job(attention_gradient, _QKV),
    "causal_attention": Job(causal_attention, ("f32[2,32,4,16]",) * 3),
    "layer_norm": Job(layer_norm, ("f32[32,64]", "f32[64]", "f32[64]")),
    "layer_norm_gradient": Job(layer_norm_gradient, ("f32[32,64]", "f32[64]", "f32[64]")),
    "convolution": Job(convolution, ("f32[2,16,16,8]", "f32[3,3,8,16]")),
    "convolution_gradient": Job(convolution_gradient, ("f32[2,16,16,8]", "f32[3,3,8,16]")),
    "batch_norm": Job(batch_norm, ("f32[4,8,8,16]", "f32[16]", "f32[16]")),
    "lstm": Job(lstm, _LSTM),
    "lstm_gradient": Job(lstm_gradient, _LSTM),
    "newton": Job(newton, ("f32[128]",)),
    "branches": Job(branches, ("s32[]", "f32[16,16]")),
    "condition": Job(condition, ("f32[16,16]",)),
    "sorting": Job(sorting, ("f32[8,64]",)),
    "embedding": Job(embedding, ("f32[100,16]", "s32[4,12]")),
    "scatter": Job(scatter, ("f32[32,8]", "s32[5]", "f32[5,8]")),
    "slices": Job(slices, ("f32[16,12]", "s32[]")),
    "reductions": Job(reductions, ("f32[24,40]",)),
    "statistics": Job(statistics, ("f32[40,6]", "f32[100]")),
    "random": Job(random, ("u32[2]",)),
    "dropout": Job(dropout, ("f32[16,32]", "u32[2]")),
    "fourier": Job(fourier, ("f32[4,64]",)),
    "mixed_precision": Job(mixed_precision, (["f32[64,64]"] * 3, "f32[32,64]"), (0,)),
    "quantized": Job(quantized, ("s8[32,64]", "s8[64,32]", "f32[]")),
    "runge_kutta": Job(runge_kutta, ("f32[3,8]", "f32[]")),
    "unrolled_runge_kutta": Job(unrolled_runge_kutta, ("f32[64]", "f32[]")),
    "cholesky_solve": Job(cholesky_solve, ("f32[16,16]", "f32[16,4]")),
    "special": Job(special, ("f32[32,32]",)),
    "bits": Job(bits, ("u32[64]",)),
    "recommender": Job(recommender, (["f32[50,8]"] * 3, "s32[16]", "f32[16]")),
    "contrastive": Job(contrastive, ("f32[16,32]", "f32[16,32]")),
    "mixture": Job(mixture, ("f32[24,32]", "f32[32,4]", "f32[4,32,64]")),
    "transformer_4": Job(transformer, ([_layer()] * 4, "f32[2,16,64]")),
    "transformer_4_step": Job(transformer_step, ([_layer()] * 4, "f32[2,16,64]"), (0,)),
    "scanned_transformer": Job(scanned_transformer, (_stacked(6, _layer()), "f32[2,16,64]")),
    "sharded_gradient": Job(sharded_gradient, ("f32[64,256]@.m", "f32[256,64]@m.", "f32[32,64]@d.")),
    "sharded_step": Job(sharded_step, ("f32[64,256]@dm", "f32[256,64]@md", "f32[32,64]@d.", "f32[32,64]@d."), (0, 1)),
}
# Large ones, compiled only when requested by name: thousands of instructions, up to half a minute each.
LARGE: dict[str, Job] = {
    "transformer_12_step": Job(transformer_step, ([_layer()] * 12, "f32[2,16,64]"), (0,)),
    "transformer_24_step": Job(partial(transformer_step), ([_layer(128)] * 24, "f32[4,32,128]"), (0,)),
}
