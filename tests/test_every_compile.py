"""Every program that JAX compiles is counted: what `hlodiff.watch()` sees against what JAX itself says it did."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each loop is played twice from empty caches: alone, where JAX's own events count, and watched.
VARIATIONS = """
import contextlib, sys, threading
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import PartitionSpec as P
import hlodiff

x, pair = jnp.ones(4), jnp.ones((2, 4))
mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
split = jax.device_put(pair, jax.NamedSharding(mesh, P("i")))
shape = jax.ShapeDtypeStruct((4,), jnp.float32)
ran, tried = [], []

def body(c, a): return c + a, c
def through(fn): return jax.shard_map(fn, mesh=mesh, in_specs=P("i"), out_specs=P("i"))

class Equal:  # its objects are equal, and JAX forgets each with its programs
    def __eq__(self, other): return isinstance(other, Equal)
    def __hash__(self): return 7
    def __call__(self, a): return a * 3

@jax.jit
def raises(a):
    ran.append(a)
    raise ValueError

@jax.jit
def raises_at_first(a):
    tried.append(a)
    if len(tried) < 3: raise ValueError
    return a * 2

@jax.jit
def outer(a): return raises(a)

def attempt(fn):
    with contextlib.suppress(Exception): fn()

def custom():
    @jax.custom_vjp
    def f(a): return lax.scan(lambda c, b: (c * b, c), 1.0, a)[0]
    f.defvjp(lambda a: (f(a), a), lambda r, g: (g * r,))
    return f

def thread(fn):
    one = threading.Thread(target=fn)
    one.start(); one.join()

known, spare, plain = jax.jit(lambda a: a * 2), jax.jit(lambda a: a + 1), jax.jit(lambda a: (a * a).sum())

PLAYS = {
    "scan": lambda: lax.scan(lambda c, a: (c + a, c), 0.0, x),
    "scan of one function": lambda: lax.scan(body, 0.0, x),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, c: c + i, x),
    "fori_loop of unknown length": lambda: lax.fori_loop(0, jnp.int32(3), lambda i, c: c + i, x),
    "while_loop": lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, x),
    "cond": lambda: lax.cond(True, lambda a: a + 1, lambda a: a - 1, x),
    "switch": lambda: lax.switch(1, [lambda a: a + 1, lambda a: a - 1, lambda a: a], x),
    "map": lambda: lax.map(lambda a: a + 1, x),
    "map of one function": lambda: lax.map(jnp.sin, x),
    "reduce": lambda: lax.reduce(x, 0.0, lambda a, b: a + b + 0.0, (0,)),
    "associative_scan": lambda: lax.associative_scan(lambda a, b: a + b, x),
    "pmap": lambda: jax.pmap(lambda a: a + 1)(pair),
    "pmap with a static argument": lambda: jax.pmap(lambda a, n: a + n, static_broadcasted_argnums=1)(pair, 2),
    "shard_map": lambda: through(lambda a: jnp.sin(a) + lax.psum(a, "i"))(split),
    "scan in shard_map": lambda: through(lambda a: lax.scan(lambda c, b: (c + b, c), a[0], a)[1])(split),
    "jit in shard_map": lambda: through(jax.jit(lambda a: a * 2))(split),
    "custom_vjp": lambda: jax.grad(custom())(x),
    "checkpoint": lambda: jax.grad(jax.checkpoint(lambda a: lax.scan(lambda c, b: (c * b, c), 1.0, a)[0]))(x),
    "vmap of jit": lambda: jax.vmap(jax.jit(lambda a: a * 2))(pair),
    "vmap of one jit": lambda: jax.vmap(known)(pair),
    "grad of jit": lambda: jax.grad(jax.jit(lambda a: (a * a).sum()))(x),
    "grad of one jit": lambda: jax.grad(plain)(x),
    "jit of grad of a function of JAX": lambda: jax.jit(jax.grad(jnp.sum))(x),
    "filter_vmap of filter_jit": lambda: eqx.filter_vmap(eqx.filter_jit(lambda a: a * 2))(pair),
    "equal callables": lambda: jax.jit(Equal())(x),
    "pure_callback": lambda: jax.pure_callback(lambda a: a, shape, x),
    "io_callback": lambda: io_callback(lambda a: a, shape, x),
    "export": lambda: jax.export.export(known)(shape).call(x),
    "ahead of time": lambda: spare.lower(x).compile(),
    "a function given to jnp": lambda: jnp.piecewise(x, [x > 0], [lambda a: a + 1, lambda a: a]),
    "cg": lambda: jax.scipy.sparse.linalg.cg(lambda v: 2 * v, x),
    "emptied caches": lambda: (jax.clear_caches(), x + 1),
    "another thread": lambda: thread(lambda: lax.scan(lambda c, a: (c + a, c), 0.0, x)),
    "a compile that fails": lambda: attempt(lambda: spare.lower(x).compile(compiler_options={"xla_no_such": 1})),
    "a trace that raises": lambda: attempt(lambda: raises(x)),
    "a trace that raises inside of another": lambda: attempt(lambda: outer(x)),
    "a trace that raises at first": lambda: attempt(lambda: raises_at_first(x)),
    "a loop that raises": lambda: attempt(lambda: lax.scan(lambda c, a: raises(a), 0.0, x)),
    "eager operations": lambda: x * 2 + 1,
}

counted = []
def listen(event, seconds, **more):
    if event.endswith("/backend_compile_duration"): counted.append(event)
jax.monitoring.register_event_duration_secs_listener(listen)

def play(fn):
    jax.clear_caches()
    counted.clear(), ran.clear(), tried.clear()
    for _ in range(3): fn()
    return len(counted), len(ran) + len(tried)

for name, fn in PLAYS.items():
    alone = play(fn)
    with hlodiff.watch() as seen:
        assert play(fn) == alone, name
    rows = " ".join(f"{one.name}:{one.traces}/{len(one.programs)}/{one.compiles}" for one in seen.counts.functions)
    print(name, alone[0], seen.compiles() + seen.eager(), alone[1], rows, sep="|")
    for one in seen.counts.functions:
        assert "x.py" in one.function.place, (name, one)
"""

# Names, traces, programs and compiles of every row; `-` where the loop is healthy and nothing is listed.
ROWS = {
    "scan": "scan:3/1/3",
    "scan of one function": "scan:1/1/1",
    "fori_loop": "scan:3/1/3",
    "fori_loop of unknown length": "scan:3/1/3",
    "while_loop": "while:3/1/3",
    "cond": "cond:3/1/3",
    "switch": "cond:3/1/3",
    "map": "scan:3/1/3",
    "map of one function": "scan:3/1/3",
    "reduce": "reduce:3/1/3",
    "associative_scan": "",
    "pmap": "pmap(<lambda>):3/1/3",
    "pmap with a static argument": "pmap(<lambda>):3/1/3",
    "scan in shard_map": "shard_map(scan):3/1/3",
    "jit in shard_map": "shard_map(jit):3/1/3",
    "custom_vjp": "scan:3/1/3",
    "checkpoint": "scan:9/3/9",
    "vmap of jit": "<lambda>:3/1/3",
    "vmap of one jit": "<lambda>:1/1/1",
    "grad of jit": "<lambda>:3/2/6",
    "grad of one jit": "<lambda>:1/2/2",
    "jit of grad of a function of JAX": "grad(sum):3/1/3",
    "filter_vmap of filter_jit": "<lambda>:3/1/3",
    "equal callables": "Equal:3/1/3",
    "pure_callback": "pure_callback:3/1/3",
    "io_callback": "io_callback:3/1/3",
    "export": "call_exported:3/1/3",
    "ahead of time": "<lambda>:1/1/1",
    "a function given to jnp": "_piecewise:3/1/3",
    "cg": "while:3/1/3",
    "emptied caches": "add:3/1/3",
    "another thread": "scan:3/1/3",
    "a compile that fails": "<lambda>:1/0/3",
    "a trace that raises": "raises:3/0/0",
    "a trace that raises inside of another": "outer:3/0/0",
    "a trace that raises at first": "raises_at_first:3/1/1",
    "a loop that raises": "raises:3/0/0",
    "eager operations": "",
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What one process prints of all variations, by name."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "x.py").write_text(VARIATIONS)
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    env = {**os.environ, "PYTHONPATH": str(ROOT), **flags}
    run = subprocess.run([sys.executable, "x.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr[-3000:]
    return {line.split("|")[0]: line.split("|")[1:] for line in run.stdout.splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ROWS, "shard_map"])
def test_every_compile_is_counted_and_has_a_name(played: dict[str, list[str]], name: str) -> None:
    compiled, counted, ran, rows = played[name]
    assert counted == compiled
    if name == "shard_map":  # a row for each operation of the body, on its line
        assert rows and all(row.startswith("shard_map") for row in rows.split())
        return
    assert ROWS[name] in rows if ROWS[name] else not rows
    if "raises" in name:
        traced = {row.partition(":")[0]: int(row.partition(":")[2].partition("/")[0]) for row in rows.split()}
        assert traced.get("raises", 0) + traced.get("raises_at_first", 0) == int(ran)
