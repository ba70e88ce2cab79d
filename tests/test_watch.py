"""`hlodiff.watch()`: each cause of a recompile, reproduced and named, in a script of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hlodiff.tracing import Call, Compilation, Function, Leaf, Trace, count_traces, counts_from_plain, format_counts
from hlodiff.tracing.causes import NOT_KNOWN_COMPILE, causes, closest

ROOT = Path(__file__).resolve().parent.parent
START = """import dataclasses
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
import hlodiff
x = jnp.ones((4, 4))
"""


def explained(folder: Path, script: str, seed: str = "0", python: str = sys.executable) -> str:
    """What a script of its own prints, without what JAX says when it starts."""
    (folder / "x.py").write_text(START + script)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run([python, "x.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


MODULES = """
class Layer(eqx.Module):
    weight: jax.Array
    activation: object
    use_bias: bool = eqx.field(static=True, default=False)
    def __call__(self, x):
        return self.activation(x @ self.weight)

@eqx.filter_jit
def step(model, x):
    return model(x).sum()

def fresh(): return Layer(x, lambda v: v * 2)
tanh = jnp.tanh

with hlodiff.watch() as seen:
    for _ in range(3): step(fresh(), x)
    step(Layer(x, tanh), x)
    step(Layer(x, tanh), x)  # made once outside: no trace
    step(Layer(x, tanh, True), x)
print(seen.explain())
print(seen.traces("step"), seen.programs("step"), seen.compiles("step"), seen.waste("step"), seen.traces("no such"))
print(repr(seen))
"""


def test_a_module_made_again_is_explained_to_the_leaf(tmp_path: Path) -> None:
    first, second = (explained(tmp_path, MODULES, seed) for seed in "12")
    assert first == second
    text = first.replace(jnp_place(first), "jax/numpy.py:1")
    assert text == (
        "step  5 traces, 2 programs, compiled 5 times (x.py:13)\n"
        "  traces 2, 3, called at x.py:21; waste: equal to program 1\n"
        "    `model.activation` is a new function object each time (same code, x.py:17)\n"
        "      -> create it once, outside of what runs again\n"
        "  trace 4, called at x.py:22\n"
        "    `model.activation` is `tanh` (jax/numpy.py:1), before `fresh.<locals>.<lambda>` (x.py:17)\n"
        "      -> expect one program for each function that is passed\n"
        "  trace 5, called at x.py:24; waste: equal to program 2\n"
        "    `model` is another pytree because its static field `use_bias` is True, before False\n"
        "      -> make every module with the same static fields, or expect one program for each\n"
        "5 2 5 3 0\n"
        "hlodiff.watch: 5 traces, 2 programs\n"
        "  step  5 traces, 2 programs, compiled 5 times (x.py:13)\n"
    )


def jnp_place(text: str) -> str:
    """Where the installed JAX defines `tanh`."""
    return text.partition("`tanh` (")[2].partition(")")[0]


PLAIN = """
class Trainer:
    def __init__(self, rate):
        self.step = jax.jit(lambda x: x * rate)

@jax.jit
def scale(x, t):
    return x * t

class Config:
    def __init__(self, n): self.n = n

@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int

def power(x, config): return x * config.n
powered = jax.jit(power, static_argnums=1)

def loss(w): return (w * w).sum()
slope = jax.jit(jax.grad(loss))

with hlodiff.watch() as seen:
    for rate in (1, 2, 3): Trainer(rate).step(x)
    scale(x, 1.0); scale(x, jnp.float32(1)); scale(x, 2.0); scale(x[:2], 1.0); scale(x.astype(jnp.bfloat16), 1.0)
    for n in (3, 3, 4): powered(x, Config(n))
    for n in (3, 3, 4): powered(x, Frozen(n))
    slope(x)
    with jax.default_matmul_precision("float32"): slope(x)
    slope(jax.device_put(x, jax.devices()[0]))
    jax.grad(slope.__wrapped__)
print(seen.explain())
"""

PLAIN_EXPLAINED = """\
Trainer.__init__.<lambda>  3 traces, 3 programs (x.py:8)
  traces 2, 3, called at x.py:28
    `Trainer.__init__.<lambda>` is a new function object each time (same code, x.py:8) that closes over `rate` 1 -> 2, \
jitted again at x.py:8 in `Trainer.__init__`
      -> pass what it closes over as an argument, and define and jit it once
scale  4 traces, 3 programs, compiled 4 times (x.py:10)
  trace 2, called at x.py:29; waste: equal to program 1
    `t` is f32[], before a weakly typed f32[] (a Python float)
      -> give it one type: jnp.asarray(value, dtype) for every call
  trace 3, called at x.py:29
    `x` is f32[2,4], before f32[4,4]
      -> pad to one shape, or expect one program for each shape
  trace 4, called at x.py:29
    `x` is bf16[4,4], before f32[4,4]
      -> convert it once, before the first call; see whether the function returns another type than it takes
power  5 traces, 2 programs, compiled 5 times (x.py:21)
  trace 2, called at x.py:30; waste: equal to program 1
    static `config` is another Config, and its class compares by identity
      -> create it once, or give its class `==` and a hash: @dataclass(frozen=True)
  trace 3, called at x.py:30
    static `config` is another Config, and its class compares by identity
      -> create it once, or give its class `==` and a hash: @dataclass(frozen=True)
  trace 4, called at x.py:31; waste: equal to program 1
    static `config` is Frozen(n=3), before an object of class Config
      -> if it varies, pass it as an array; static values cost a program each
  trace 5, called at x.py:31; waste: equal to program 2
    static `config` is Frozen(n=4), before Frozen(n=3)
      -> if it varies, pass it as an array; static values cost a program each
grad(loss)  2 traces, 2 programs, compiled 3 times (x.py:24)
  trace 2, called at x.py:33; waste: equal to program 1
    default_matmul_precision is float32 around the call, before none
      -> set it once, before the first call
  compile 3, called at x.py:34
    `w` is on cpu:0, before wherever JAX put it
      -> put it where it belongs before the first call: jax.device_put(value, sharding)
"""


def test_every_other_cause_is_named(tmp_path: Path) -> None:
    assert explained(tmp_path, PLAIN) == PLAIN_EXPLAINED


HELD = """
class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.step = jax.jit(self.update)
    def update(self, x): return x * self.rate

class Config:
    def __repr__(self): return f"<Config at {id(self):x}, {id(self)}>"

power = jax.jit(lambda x, config: x * 2, static_argnums=1)
scale = jax.jit(lambda x, t: x * t)

with hlodiff.watch() as seen:
    for rate in (0.1, 0.2): Trainer(rate).step(x)
    for _ in range(3): power(x, Config())
    scale(x, 0.5); scale(x, 3)
for function in seen.counts.functions:
    print(*(f"{cause.what} -> {cause.advice}" for again in function.again for cause in again.causes), sep="\\n")
print(seen.explain("stel"))
"""

HELD_EXPLAINED = """\
`update` is a method of another Trainer each time (same code, x.py:10) that closes over `self.rate` 0.1 -> 0.2, jitted \
again at x.py:9 in `Trainer.__init__` -> pass what it closes over as an argument, and define and jit it once
static `config` is another Config, and its class compares by identity -> create it once, or give its class \
`==` and a hash: @dataclass(frozen=True)
`t` is a weakly typed i32[] (a Python int), before a weakly typed f32[] (a Python float) -> give it one type: \
jnp.asarray(value, dtype) for every call
stel: neither traced nor compiled here, but update, <lambda> (x.py:15), <lambda> (x.py:16); what was traced before is \
answered from JAX's cache
"""


def test_what_a_method_is_bound_to_is_told_and_no_address_is(tmp_path: Path) -> None:
    assert explained(tmp_path, HELD) == HELD_EXPLAINED


PARTS = "`m` is another pytree: a M whose static parts differ"


def call(*leaves: Leaf, place: str = "a.py:9", **more: object) -> Call:
    return Call(Function("f", "a.py:1"), place, leaves, **more)  # type: ignore[arg-type]


def array(path: str, text: str) -> Leaf:
    return Leaf(path, "array", text)


def test_many_leaves_that_changed_alike_are_counted() -> None:
    before, after = (call(*(array(f"m[{n}]", text) for n in range(9))) for text in ("f32[3]", "bf16[3]"))
    found = causes(after, before)
    assert [cause.what for cause in found][-2:] == ["`m[2]` is bf16[3], before f32[3]", "and 6 more like these"]


def test_the_closest_call_is_the_one_to_compare_with() -> None:
    small, large = call(array("x", "f32[3]"), array("y", "f32[3]")), call(array("x", "f32[9]"), array("y", "f32[9]"))
    (cause,) = closest(call(array("x", "f32[9]"), array("y", "f32[3]")), [large, small])
    assert cause.what == "`x` is f32[9], before f32[3]"


def given(name: str, same: int) -> Leaf:
    """What JAX traced of a function that an operation was given."""
    return Leaf("body", "body", name, place="a.py:3", object_id=same, code_id=ord(name))


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ((Leaf("m", "node", "D"), array("m['a']", "i32[]")), (Leaf("m", "node", "list"),), "`m` is a list, before a D"),
        ((Leaf("b", "none", "None"),), (array("b", "f32[3]"),), "`b` is f32[3], before None"),
        ((array("t", "f32[]"),), (Leaf("t", "value", "0.5"),), "`t` is the static value 0.5, before f32[]"),
        ((array("m.a", "f32[]"),), (), "`m.a` is not there, before f32[]"),
        ((), (Leaf("n", "value", "3"),), "`n` is the static value 3, before it was not given"),
        ((Leaf("m", "node", "M", object_id=1),), (Leaf("m", "node", "M", object_id=2),), PARTS),
        ((), (), "nothing that hlodiff sees differs from an earlier call"),
        ((given("f", 1),), (given("f", 2),), "its function `f` (a.py:3) was traced again"),
        ((given("f", 1),), (given("g", 2),), "its function is `g` (a.py:3), before `f` (a.py:3)"),
        ((given("f", 1), array("x", "i32[]")), (given("f", 2), array("x", "f32[]")), "`x` is f32[], before i32[]"),
    ],
)  # fmt: skip
def test_each_difference_has_its_words(before: tuple[Leaf, ...], after: tuple[Leaf, ...], what: str) -> None:
    assert closest(call(*after), [call(*before)])[0].what == what


def test_functions_of_one_name_are_told_apart() -> None:
    events = [
        Trace(n, Call(Function(name, place), "a.py:9", ()), "", False, 0.0, "")
        for n, (name, place) in enumerate([("A.f", "a.py:1"), ("B.f", "a.py:5"), ("g", "a.py:7"), ("g", "b.py:7")])
    ]
    assert [one.name for one in count_traces(events).functions] == ["A.f", "B.f", "g (a.py:7)", "g (b.py:7)"]


def test_a_program_that_there_was_is_waste() -> None:
    calls = [call(array("x", f"f32[{n}]")) for n in range(3)]
    events: list[Trace | Compilation] = []
    for number, (one, mark) in enumerate(zip(calls, ("a", "b", "a"), strict=True)):
        events += [
            Trace(2 * number, one, "", False, 0.0, ""),
            Compilation(2 * number + 1, "jit_f", one.function, one, True, mark, "cpu"),
        ]
    (function,) = count_traces(events).functions
    assert (function.traces, function.programs, function.compiles, function.waste) == (3, ("a", "b"), 3, 1)
    assert [(again.numbers, again.same_as) for again in function.again] == [((2,), 0), ((3,), 1)]


def operations(*marks: str, place: str = "a.py:9") -> list[Compilation]:
    return [Compilation(n, "jit_add", None, None, True, mark, "cpu", place) for n, mark in enumerate(marks)]


def test_single_operations_are_listed_only_where_one_line_compiles_them_again_and_again() -> None:
    quiet = operations("a", "b", "a", *map(str, range(28))) + operations("a", place="a.py:10")
    assert (count_traces(quiet).functions, count_traces(quiet).eager) == ((), 32)
    (row,) = count_traces(operations("a", "b", "a", "a")).functions
    assert (row.name, row.traces, row.compiles, row.programs) == ("add", 4, 4, ("a", "b"))
    assert [again.causes[0].kind for again in row.again] == ["shapes", "unknown"]
    (many,) = count_traces(operations(*map(str, range(32)))).functions
    assert (many.compiles, many.waste, [again.causes[0].kind for again in many.again]) == (32, 0, ["shapes"])
    assert list(format_counts(count_traces(quiet))) == [
        "no function was traced or compiled; 32 eager operations compiled"
    ]


def test_no_cause_is_guessed() -> None:
    one = call(array("x", "f32[3]"))
    events: list[Trace | Compilation] = [
        Trace(0, one, "", False, 0.0, ""),
        Compilation(1, "jit_f", one.function, one, True, "a", "cpu"),
        Compilation(2, "jit_f", one.function, None, False, "b", "cpu", "a.py:12"),
        Trace(3, one, "", False, 0.0, "", raised="ValueError"),
        Trace(4, one, "", False, 0.0, ""),
        Compilation(5, "jit_f", one.function, one, True, "", "cpu", "a.py:9", failed="JaxRuntimeError"),
    ]
    (function,) = count_traces(events).functions
    assert (function.traces, function.compiles, function.programs) == (3, 3, ("a", "b"))
    assert [(again.what, again.numbers, again.called, again.causes[0].what) for again in function.again] == [
        ("compile", (2,), "a.py:12", "it was not traced again, and why JAX compiled it again is not known"),
        ("trace", (2,), "a.py:9", "nothing that hlodiff sees differs from an earlier call"),
        ("trace", (3,), "a.py:9", "its trace raised ValueError before: JAX keeps nothing of that"),
        ("compile", (3,), "a.py:9", "compiling it ended with JaxRuntimeError"),
    ]


def test_a_guess_of_an_earlier_record_is_not_repeated() -> None:
    why = [{"kind": "transformed", "path": "", "what": "`f` was compiled in another form: its derivative"}]
    table = {
        "defined": "a.py:1",
        "traces": 1,
        "compiles": 2,
        "programs": ["a", "b"],
        "again": {"compile 2": {"why": why}},
    }
    (function,) = counts_from_plain({"f": table}).functions
    assert function.again[0].causes == (NOT_KNOWN_COMPILE,)


HEALTHY = """
def init(key):
    return [jax.random.normal(k, (n + 3, n + 4)) for n, k in enumerate(jax.random.split(key, 6))]

@jax.jit
def train(ws, x):
    def loss(ws):
        h = x
        for w in ws: h = jnp.tanh(h @ w)
        return jnp.where(h > 0, h, 0).sum()
    value, slopes = jax.value_and_grad(loss)(ws)
    return [w - 0.1 * slope for w, slope in zip(ws, slopes)], value

with hlodiff.watch(fresh=True) as seen:
    ws, batch, losses = init(jax.random.key(0)), jnp.ones((8, 3)), []
    for n in range(200):
        ws, value = train(ws, batch)
        batch = batch.at[n % 8].set(jax.random.normal(jax.random.fold_in(jax.random.key(1), n), (3,))) * 1.0 + 0.5
        if n % 10 == 0: losses.append(float(value))
    jnp.mean(jnp.array(losses))
print(seen.explain(), seen.eager() > 0)
with hlodiff.watch(fresh=True) as alone: jnp.ones(3) + 1
print(alone.explain())
"""


def test_a_healthy_loop_is_one_line(tmp_path: Path) -> None:
    assert explained(tmp_path, HEALTHY) == (
        "train  1 trace, 1 program (x.py:9) True\nno function was traced or compiled; 3 eager operations compiled\n"
    )


LIBRARY = """
import functools

class Odd:
    def __eq__(self, other): raise RuntimeError("never compared")
    __hash__ = None

@jax.jit
def shapes(x):
    jax.eval_shape(jnp.linalg.norm, x)  # traced by a library for itself: not listed
    return eqx.filter_eval_shape(lambda y: y * 2, x) and x

@jax.jit
def looked_at(x): return x * 2

@jax.tree_util.register_pytree_node_class
class Tree:
    def __init__(self, odd): self.odd = odd
    def tree_flatten(self): return (x,), "aux"
    @classmethod
    def tree_unflatten(cls, aux, children): return cls(children[0])
    @property
    def __dataclass_fields__(self): raise RuntimeError("not to be looked at")

with hlodiff.watch() as seen:
    shapes(x)
    looked_at(x)
    jax.jit(lambda t: t["odd"].odd)({"odd": Tree(Odd())})
    for n in (2, 3): jax.jit(functools.partial(lambda n, x: n * x, n))(x)
    for size in range(1, 12): looked_at(jnp.ones(size))
print(seen.explain("looked_at").splitlines()[0])
print("\\n".join(f"{one.name} {one.traces}" for one in seen.counts.functions))
print(seen.counts.functions[-1].again[0].causes[0].what)
"""


def test_libraries_and_odd_objects_do_no_harm(tmp_path: Path) -> None:
    assert explained(tmp_path, LIBRARY) == (
        "looked_at  12 traces, 12 programs (x.py:17)\n"
        "shapes 1\nlooked_at 12\n<lambda> (x.py:32) 1\n<lambda> (x.py:33) 2\n"
        "`<lambda>` is a new functools.partial each time (same code, x.py:33) that closes over `n` 2 -> 3, "
        "jitted again at x.py:33\n"
    )


PLUGIN = """
import jax
step = jax.jit(lambda x: x + 1)

def test_fails(hlodiff_watch):
    step(1.0), step(2)
    assert hlodiff_watch.traces("<lambda>") == 1

def test_passes(hlodiff_watch):
    step(1.0), step(2.0)
    assert hlodiff_watch.traces("<lambda>") == hlodiff_watch.programs() == 1
"""


@pytest.mark.slow
def test_the_fixture_says_why_an_assertion_failed(tmp_path: Path) -> None:
    (tmp_path / "test_step.py").write_text(PLUGIN)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "hlodiff.pytest_plugin", "-p", "no:cacheprovider", "."]
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert "1 failed, 1 passed" in run.stdout
    assert "trace 2, called at test_step.py:6" in run.stdout
    assert "`x` is a weakly typed i32[] (a Python int), before a weakly typed f32[] (a Python float)" in run.stdout
