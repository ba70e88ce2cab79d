"""Programs that hold every StableHLO construct JAX lowers to; run as a script it writes them into a folder.

    python tests/stablehlo_programs.py FOLDER [--reverse]

Each is written as JAX prints it with debug info. `--reverse` traces them in the opposite order.
"""

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax, shard_map
from jax.experimental import io_callback
from jax.experimental import pallas as pl
from jax.experimental.compute_on import compute_on
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 4)
PROGRAMS: dict[str, Callable[[], str]] = {}
Program = Callable[..., Any]


def arr(*shape: int, dtype: str = "float32") -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def add(name: str, function: Program, *arguments: Any) -> None:
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    PROGRAMS[name] = lambda: jitted.lower(*arguments).as_text(debug_info=True)


def add_for(name: str, platforms: tuple[str, ...], function: Program, *arguments: Any) -> None:
    PROGRAMS[name] = lambda: (
        jax.jit(function).trace(*arguments).lower(lowering_platforms=platforms).as_text(debug_info=True)
    )


mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))


def on_mesh(spec: P, *shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, spec))


def control_flow() -> None:
    add(
        "while",
        lambda x, y: lax.while_loop(lambda c: c[0].sum() < y.sum(), lambda c: (c[0] * y + c[1], c[1] + 1), (x, x)),
        arr(4),
        arr(4),
    )
    add(
        "cond",
        lambda x, y: lax.cond(x.sum() > 0, lambda: x * y, lambda: x - lax.cond(y.sum() > 1, lambda: x, lambda: y)),
        arr(4),
        arr(4),
    )
    add("switch", lambda i, x: lax.switch(i, [lambda a: a, jnp.sin, jnp.cos], x), arr(dtype="int32"), arr(4))
    add(
        "scan",
        lambda w, x: lax.scan(lambda c, a: (jnp.tanh(c @ w) + a, c.sum()), jnp.zeros((4,)), x),
        arr(4, 4),
        arr(10, 4),
    )
    add(
        "nested_loops",
        lambda w, x: lax.fori_loop(0, 5, lambda i, c: lax.fori_loop(0, i, lambda j, d: d * w + x, c), x),
        arr(4),
        arr(4),
    )
    step = lambda w, c, a: ((jnp.tanh(c[0] @ w + a), c[1] + 1), c[0].sum())  # noqa: E731
    add(
        "scan_gradient",
        lambda w, x: jax.grad(lambda w: lax.scan(partial(step, w), (jnp.zeros(4), 0), x)[1].sum())(w),
        arr(4, 4),
        arr(10, 4),
    )


def arrays() -> None:
    add("sort", lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 2), jnp.median(x)), arr(8))
    add(
        "scatter",
        lambda x, i: (x.at[i].add(1.0), x.at[i].set(2.0), x[i], jnp.take(x, i)),
        arr(8),
        arr(3, dtype="int32"),
    )
    add("random", lambda k: (jax.random.normal(k, (4,)), jax.random.permutation(k, 8)), arr(2, dtype="uint32"))
    add("rng_bits", lambda k: lax.rng_bit_generator(k, (4,), dtype=jnp.uint32), arr(4, dtype="uint32"))
    add(
        "convolution",
        lambda x, w: jax.grad(lambda w: lax.conv_general_dilated(x, w, (2, 2), "SAME").sum())(w),
        arr(2, 3, 8, 8),
        arr(5, 3, 3, 3),
    )
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum()  # noqa: E731
    add("pool_gradient", lambda x: jax.grad(pool)(x), arr(8, 8))
    add("cholesky", lambda x: (jnp.linalg.cholesky(x), jnp.linalg.svd(x), jnp.linalg.inv(x)), arr(4, 4))
    add("complex", lambda x: jnp.fft.fft(x) * 1j, arr(8))
    types = ("float8_e4m3fn", "float8_e5m2", "int4", "float16")
    add("small_types", lambda x: sum(x.astype(t).astype("float32") for t in types), arr(8))
    add("barrier", lambda x: (lax.optimization_barrier((x, x + 1)), lax.reduce_precision(x, 5, 10)), arr(8))
    pick = lambda a, b: tuple(lax.select(a[0] > b[0], p, q) for p, q in zip(a, b, strict=True))  # noqa: E731
    add("variadic_reduce", lambda x, i: lax.reduce((x, i), (0.0, 0), pick, (0,)), arr(8), arr(8, dtype="int32"))
    add("cumulative", lambda x: (jnp.cumsum(x), lax.associative_scan(jnp.add, x), jnp.argmax(x)), arr(8))
    table = np.random.RandomState(0).randn(64, 64).astype("float32")
    add("constants", lambda x: x @ table + np.arange(64, dtype="float32") + np.eye(64, dtype="float32"), arr(64, 64))


@custom_partitioning
def doubled(x: Any) -> Any:
    return x * 2


doubled.def_partition(
    partition=lambda mesh, args, result: (mesh, doubled, result.sharding, (args[0].sharding,)),
    infer_sharding_from_operands=lambda mesh, args, result: args[0].sharding,
    sharding_rule="i j -> i j",
)


def sharding() -> None:
    rows, columns = P("data", None), P(None, "model")
    constrained = lambda x, w: lax.with_sharding_constraint(x @ w, NamedSharding(mesh, rows))  # noqa: E731
    add(
        "sharded",
        jax.jit(constrained, out_shardings=NamedSharding(mesh, columns)),
        on_mesh(rows, 8, 8),
        on_mesh(columns, 8, 8),
    )
    add("donated", jax.jit(lambda x, y: (x + 1, y.sum()), donate_argnums=(0, 1)), arr(8), arr(8))
    summed = shard_map(
        lambda x, w: lax.psum(x @ w, "model") + lax.all_gather(x, "data").sum(),
        mesh=mesh,
        in_specs=(P("data", "model"), P("model", None)),
        out_specs=rows,
        check_vma=False,
    )
    add("shard_map", summed, arr(8, 8), arr(8, 8))
    rotated = shard_map(
        lambda x: lax.ppermute(x, "data", [(0, 1), (1, 0)]),
        mesh=mesh,
        in_specs=P("data"),
        out_specs=P("data"),
        axis_names={"data"},
    )
    add("shard_map_partly", rotated, arr(8, 8))
    add("custom_partitioning", lambda x: doubled(x), on_mesh(rows, 8, 8))


def printed(x: Any) -> Any:
    jax.debug.print("x {}", x.sum())
    return x + 1


@compute_on("device_host")
@jax.jit
def on_host(x: Any) -> Any:
    return x * 2


@partial(lax.composite, name="example.scaled")
def scaled(x: Any, *, scale: float) -> Any:
    return x * scale


def calls() -> None:
    callback: Any = jax.pure_callback
    add("callback", lambda x: callback(np.sin, arr(8), x) * callback(np.cos, arr(8), x), arr(8))
    add("debug_print", printed, arr(8))
    add("ordered_callback", lambda x: io_callback(lambda v: v, arr(8), x, ordered=True), arr(8))
    add(
        "private_functions",
        lambda x: (
            jnp.where(jnp.clip(x, 0, 1) > 0, jnp.clip(x, 0, 1), jax.nn.gelu(x)) + jnp.where(x > 2, x, 0.0) + jnp.clip(x)
        ),
        arr(8),
    )
    add("composite", lambda x: scaled(x, scale=2.0) + scaled(x, scale=2.0), arr(8))
    add("compute_on_host", lambda x: on_host(x) + 1, arr(8))
    twice = lambda x: jnp.sin(jnp.sin(x)).sum()  # noqa: E731
    checkpointed: Any = jax.checkpoint(twice)
    add("checkpoint", lambda x: jax.grad(checkpointed)(x), arr(8))
    add_for("platforms", ("tpu", "cpu"), lambda x: lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos), arr(8))


def sine_kernel(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = jnp.sin(x_ref[...]) * 2


def kernels() -> None:
    kernel = lambda interpret, x: pl.pallas_call(  # noqa: E731
        sine_kernel, out_shape=arr(8, 128), interpret=interpret
    )(x)
    add("pallas_interpret", partial(kernel, True), arr(8, 128))
    add_for("pallas_tpu", ("tpu",), partial(kernel, False), arr(8, 128))


def dynamic() -> str:
    (size,) = export.symbolic_shape("b")
    shape = jax.ShapeDtypeStruct((size, 4), "float32")
    exported = export.export(jax.jit(lambda x: (x @ x.T).sum(0) + jnp.arange(x.shape[0])))(shape)
    return str(exported.mlir_module())


for group in (control_flow, arrays, sharding, calls, kernels):
    group()
PROGRAMS["dynamic"] = dynamic


def main(folder: str, *flags: str) -> None:
    """Write every program into `folder`."""
    warnings.simplefilter("ignore")  # a donated buffer that cannot be used is meant
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in sorted(PROGRAMS, reverse="--reverse" in flags):
        Path(folder, f"{name}.mlir").write_text(PROGRAMS[name](), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
