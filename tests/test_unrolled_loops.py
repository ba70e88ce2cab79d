"""Loops of Python that JAX unrolled: only what the program proves is said, on the line of the loop, with its count."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest

import hlodiff
from hlodiff.differ import analyze_program
from hlodiff.hlo import Module
from hlodiff.report import AnalysisNote, analysis_notes
from hlodiff.workflows import PythonLoops
from tests.shown import happened
from tests.typed import typed

ROOT = Path(__file__).resolve().parent.parent
SOURCE = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.special as special
import optax


def layer(x, w):
    return jnp.tanh(x @ w)


def two_loops(ws, vs, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    for v in vs:
        x = jnp.sin(x @ v)
    return x


def nested(ws, x):
    for i in range(3):
        for j in range(4):
            x = jnp.tanh(x @ ws[4 * i + j])
        x = jnp.sin(x)
    return x


def twice_in_a_line(ws, x):
    for w in ws:
        x = layer(layer(x, w), w)
    return x


def forward(ws, x):
    for w in ws:
        x = layer(x, w)
    return jnp.mean(x**2)


def own_weights(layers, x):
    for weights in layers:
        hidden = jax.nn.gelu(x @ weights["in"])
        x = x + hidden @ weights["out"]
    return jnp.mean(x**2)


def linear(ws, x):
    for w in ws:
        x = x @ w
    return jnp.sum(x)


def fibonacci(x):
    before = x
    for _ in range(12):
        before, x = x, jnp.tanh(before + x)
    return x


def first_turn_differs(ws, x):
    for n, w in enumerate(ws):
        x = layer(x, w)
        if n == 0:
            x = jnp.sin(x)
    return x


def a_turn_differs(ws, x):
    for n, w in enumerate(ws):
        x = layer(x, w)
        if n == 5:
            x = jnp.sin(x)
    return x


def a_turn_of_the_inner_loop_differs(ws, x):
    for _ in range(2):
        for n, w in enumerate(ws):
            x = layer(x, w)
            if n == 5:
                x = jnp.sin(x)
        x = jnp.cos(x)
    return x


def heads(ws, x):
    return jnp.concatenate([layer(x, w) * 2 for w in ws])


def heads_in_a_loop(ws, x):
    found = []
    for w in ws:
        found.append(layer(x, w) * 2)
    return jnp.concatenate(found)


def summed_heads(ws, x):
    return sum(layer(x, w) * 2 for w in ws)


def mapped(ws, x):
    return jax.tree.map(lambda w: jnp.tanh(x @ w) * jnp.sin(x @ w), list(ws))


def polynomials(ws, x):
    return [special.ndtri(w) for w in ws]


def scanned(ws, x):
    return jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0]


def scanned_by_four(ws, x):
    for _ in range(2):
        x = jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws, unroll=4)[0]
    return x


def both_scanned(ws, x):
    x = jax.lax.scan(lambda x, w: (jnp.sin(x @ w), None), x, ws)[0]
    return jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0]


def one_scanned(ws, x):
    x = jax.lax.scan(lambda x, w: (jnp.sin(x @ w), None), x, ws)[0]
    for w in ws:
        x = layer(x, w)
    return x


def adam(params, grads):
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    return optax.apply_updates(params, updates)


def sequential(weights, x):
    net = eqx.nn.Sequential([eqx.nn.Lambda(lambda x, w=w: layer(x, w)) for w in weights])
    return net(x)


def walks(ws, xs):
    return [forward(ws, x) for x in xs]


def in_turns(unroll):
    def turns(ws, x):
        return jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws, unroll=unroll)[0]
    return turns


def written_out(count, is_unrolled, act=jnp.sin):
    def turns(w, x):
        return jax.lax.fori_loop(0, count, lambda i, h: act(h @ w) + h, x, unroll=is_unrolled)
    return turns


def four_scanned(ws, x):
    return jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0]


def four_in_a_line(ws, x):
    return layer(layer(layer(layer(x, ws[0]), ws[1]), ws[2]), ws[3])


def four_lines(ws, x):
    x = layer(x, ws[0])
    x = layer(x, ws[1])
    x = layer(x, ws[2])
    return layer(x, ws[3])


def three_and_another(ws, x):
    return jnp.exp(layer(layer(layer(x, ws[0]), ws[1]), ws[2]) @ ws[3])


def side_by_side(ws, x):
    return layer(x, ws[0]) + layer(x, ws[1]) + layer(x, ws[2]) + layer(x, ws[3])


def each_row(how):
    def loss(w, xs):
        row = lambda x: jnp.tanh(jax.nn.softmax(jnp.sin(x @ w) @ w) @ w)
        if how == "map":
            return jnp.sum(jax.lax.map(row, xs) ** 2)
        return jnp.sum((jax.vmap(row)(xs) if how == "vmap" else jnp.stack([row(x) for x in xs])) ** 2)
    return loss
"""
W, X = jnp.ones((12, 8, 8)), jnp.ones((4, 8))
LAYERS = [{"in": jnp.ones((8, 8)), "out": jnp.ones((8, 8))} for _ in range(12)]


def imported(folder: Path) -> ModuleType:
    file = folder / "programs.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("unrolled_programs", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loops")


@pytest.fixture(scope="module")
def programs(folder: Path) -> Iterator[ModuleType]:
    yield imported(folder)


def lowered(function: Callable[..., object], *arguments: object) -> str:
    return str(jax.jit(function).lower(*arguments).as_text(debug_info=True))


def to_mend(text: str, folder: Path) -> list[AnalysisNote]:
    found = analyze_program(hlodiff.read_text(text), PythonLoops(folder))
    return [one for one in analysis_notes(found, str(folder)) if one.advice]


def copies(text: str, folder: Path) -> list[str]:
    """What is said of copies, without who calls them."""
    return [one.what.partition(", called from ")[0] for one in to_mend(text, folder) if one.kind == "copies"]


def line_of(words: str) -> int:
    return next(n for n, line in enumerate(SOURCE.splitlines(), 1) if words in line)


def said(lines: str, function: str, count: int, body: int, times: int = 1) -> str:
    places = f", at {times} places" if times > 1 else ""
    return f"programs.py:{lines} ({function}): {count} copies of {body} operations, each fed by the one before{places}"


def test_two_loops_of_equal_length_are_two_loops(programs: ModuleType, folder: Path) -> None:
    one, other = line_of("x = jnp.tanh(x @ w)"), line_of("x = jnp.sin(x @ v)")
    assert copies(lowered(programs.two_loops, W, W, X), folder) == [
        said(f"{one - 1}-{one}", "two_loops", 12, 4),
        said(f"{other - 1}-{other}", "two_loops", 12, 4),
    ]


def test_a_loop_in_a_loop_is_told_with_its_own_count(programs: ModuleType, folder: Path) -> None:
    inner = line_of("4 * i + j")
    assert copies(lowered(programs.nested, W, X), folder) == [
        said(f"{inner}-{inner + 1}", "nested", 3, 17),
        said(f"{inner}", "nested", 4, 4, times=3),
    ]


def test_two_calls_in_one_line_are_one_turn(programs: ModuleType, folder: Path) -> None:
    line = line_of("layer(layer(x, w), w)")
    assert copies(lowered(programs.twice_in_a_line, W, X), folder) == [
        said(f"{line - 1}-{line}", "twice_in_a_line", 12, 6)
    ]


@pytest.mark.parametrize("name", ["forward", "linear"])
@pytest.mark.parametrize("argument", [0, (0, 1)])
def test_a_backward_pass_is_part_of_its_loop(
    name: str, argument: int | tuple[int, ...], programs: ModuleType, folder: Path
) -> None:
    gradient = jax.grad(getattr(programs, name), argnums=argument)
    (what,) = copies(lowered(gradient, W, X), folder)
    assert f"({name}): 12 copies of " in what


def test_layers_with_weights_of_their_own_are_turns(programs: ModuleType, folder: Path) -> None:
    line = line_of("hidden = jax.nn.gelu")
    for function in (programs.own_weights, jax.grad(programs.own_weights)):
        (what,) = copies(lowered(function, LAYERS, X), folder)
        assert what.startswith(f"programs.py:{line}-{line + 1} (own_weights): 12 copies of ")


@pytest.mark.parametrize(("name", "arguments"), [("fibonacci", (X,)), ("first_turn_differs", (W, X))])
def test_turns_are_counted_where_they_read_older_ones_or_begin_otherwise(
    name: str, arguments: tuple[object, ...], programs: ModuleType, folder: Path
) -> None:
    (what,) = copies(lowered(getattr(programs, name), *arguments), folder)
    assert f"({name}): 12 copies of " in what


@pytest.mark.parametrize(
    "name",
    [
        "a_turn_differs",
        "a_turn_of_the_inner_loop_differs",
        "heads",
        "heads_in_a_loop",
        "summed_heads",
        "mapped",
        "polynomials",
        "scanned",
        "scanned_by_four",
    ],
)
def test_what_is_not_proved_is_not_said(name: str, programs: ModuleType, folder: Path) -> None:
    assert copies(lowered(getattr(programs, name), W, X), folder) == []


@pytest.mark.parametrize("count", [2, 20])
def test_leaves_of_an_optimizer_are_no_copies(count: int, programs: ModuleType, folder: Path) -> None:
    leaves = {f"p{n}": jnp.ones((8, 8)) for n in range(count)}
    text = lowered(programs.adam, leaves, leaves)
    assert copies(text, folder) == []
    assert not any("stacked" in one.advice for one in to_mend(text, folder))


def test_a_loop_of_a_library_is_told_with_the_line_that_calls_it(programs: ModuleType, folder: Path) -> None:
    (found,) = [one for one in to_mend(lowered(programs.sequential, list(W), X), folder) if one.kind == "copies"]
    assert found.what.startswith("equinox/nn/_sequential.py:")
    assert "(Sequential.__call__): 12 copies of " in found.what
    assert f", called from programs.py:{line_of('return net(x)')} (sequential)" in found.what
    assert found.advice.startswith("a library's Python loop, which JAX unrolls")


def test_a_loop_in_a_function_that_is_called_for_each_of_a_batch(programs: ModuleType, folder: Path) -> None:
    line = line_of("x = layer(x, w)")
    assert copies(lowered(programs.walks, W, [X, X, X]), folder) == [
        said(f"{line - 1}-{line}", "forward", 12, 4, times=3)
    ]


def read(function: Callable[..., object], *arguments: object) -> Module:
    return hlodiff.read_text(lowered(function, *arguments), path="program.mlir")


def sentences(old: Module, new: Module) -> list[str]:
    return [one for one in happened(hlodiff.diff(old, new)) if "copies of its body" in one]


def test_the_loop_that_went_is_named_where_another_one_stays(programs: ModuleType) -> None:
    looped, unrolled = read(programs.both_scanned, W, X), read(programs.one_scanned, W, X)
    line = next(
        n for n, text in enumerate(SOURCE.splitlines(), 1) if n > line_of("def both_scanned") and "layer" in text
    )
    (became,), (was,) = sentences(looped, unrolled), sentences(unrolled, looped)
    assert became.startswith(f"the loop of programs.py:{line} (both_scanned) became 12 copies of its body (")
    assert was.startswith(f"the loop of programs.py:{line} (both_scanned) was 12 copies of its body (")


def test_how_often_a_loop_turns_is_part_of_how_it_was_unrolled(programs: ModuleType) -> None:
    found = hlodiff.diff(read(programs.in_turns(1), W, X), read(programs.in_turns(3), W, X))
    loop = f"the loop of programs.py:{line_of('unroll=unroll')} (in_turns.turns)"
    assert happened(found) == [
        f"{loop} holds 3 copies of its body and turns less often (12 -> 4)",
        "as many flops in all",
    ]


def test_the_loop_of_a_gradient_is_unrolled_too(programs: ModuleType) -> None:
    def gradient(unroll: int) -> Module:
        return read(jax.grad(lambda ws, x: programs.in_turns(unroll)(ws, x).sum()), W, X)

    loops = f"2 loops of programs.py:{line_of('unroll=unroll')} (in_turns.turns)"
    found, undone = (hlodiff.diff(gradient(one), gradient(other)) for one, other in ((1, 3), (3, 1)))
    assert happened(found)[0] == f"{loops} hold 3 copies of their body and turn less often (12 -> 4)"
    assert happened(undone)[0] == f"{loops} no longer hold 3 copies of their body and turn more often (4 -> 12)"


@pytest.mark.parametrize("count", [2, 5])
def test_a_loop_that_became_calls_of_its_body(programs: ModuleType, count: int) -> None:
    looped, calls = (read(programs.written_out(count, unrolled), W[0], X) for unrolled in (False, True))
    loop = f"the loop of programs.py:{line_of('unroll=is_unrolled')} (written_out.turns)"
    assert sum(it.opcode == "func.call" for it in calls.entry_computation.instructions) == count
    assert sentences(looped, calls) == [f"{loop} became {count} copies of its body"]
    assert sentences(calls, looped) == [f"{loop} was {count} copies of its body"]
    others = programs.written_out(count + 1, True), programs.written_out(count, True, lambda h: jnp.abs(jnp.exp(h)))
    assert [sentences(looped, read(other, W[0], X)) for other in others] == [[], []]


def test_a_loop_that_was_written_out_by_hand_became_copies_of_its_body(programs: ModuleType) -> None:
    looped = read(programs.four_scanned, W[:4], X)
    for name in ("four_in_a_line", "four_lines"):
        written = read(getattr(programs, name), W[:4], X)
        assert [words.partition(" (")[0] for words in sentences(looped, written)] == [
            f"the loop of programs.py:{line_of('def four_scanned') + 1}"
        ]
        assert " became 4 copies of its body" in sentences(looped, written)[0]
        assert " was 4 copies of its body" in sentences(written, looped)[0]
    for name in ("three_and_another", "side_by_side"):
        assert sentences(looped, read(getattr(programs, name), W[:4], X)) == []


def test_a_loop_of_another_length_or_body_is_not_what_a_loop_became(programs: ModuleType) -> None:
    scanned = read(programs.scanned, W, X)
    assert sentences(scanned, read(programs.forward, W, X)) != []
    assert sentences(scanned, read(programs.forward, W[:11], X)) == []
    assert sentences(scanned, read(programs.fibonacci, X)) == []
    assert sentences(scanned, read(programs.heads_in_a_loop, W, X)) == []


def test_loops_that_both_have_were_no_copies() -> None:
    """An activation of four operations is in the forward and in the backward loop: as often as either turns."""

    def gradient(activation: Callable[[jax.Array], jax.Array]) -> Module:
        def norm(x: jax.Array, scale: jax.Array) -> jax.Array:
            wide = x.astype(jnp.float32)
            mean = jnp.mean(wide * wide, axis=-1, keepdims=True)
            return (wide * jax.lax.rsqrt(mean + 1e-6) * scale).astype(x.dtype)

        def mlp(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
            return activation(x @ w["in"]) @ w["out"]

        def block(x: jax.Array, w: dict[str, jax.Array]) -> tuple[jax.Array, None]:
            return x + mlp(w, norm(x, w["scale"])), None

        def loss(layers: dict[str, jax.Array], x: jax.Array) -> jax.Array:
            x, _ = jax.lax.scan(block, x, jax.tree.map(lambda w: w.astype(jnp.bfloat16), layers))
            return jnp.mean(x.astype(jnp.float32) ** 2)

        layers = {"in": jnp.ones((2, 8, 16)), "out": jnp.ones((2, 16, 8)), "scale": jnp.ones((2, 8))}
        return read(jax.grad(loss), layers, jnp.ones((4, 8), jnp.bfloat16))

    gelu, silu = gradient(jax.nn.gelu), gradient(jax.nn.silu)
    assert all(
        sum(it.opcode == "while" for one in m.computations for it in one.instructions) == 2 for m in (gelu, silu)
    )
    assert sentences(gelu, silu) == sentences(silu, gelu) == []


@pytest.mark.parametrize("of", [lambda function: function, jax.grad], ids=["loss", "gradient"])
def test_turns_that_need_nothing_of_each_other_are_done_at_once(
    programs: ModuleType, of: Callable[[Callable[..., object]], Callable[..., object]]
) -> None:
    """As by `vmap` where `lax.map` was, or in a list of calls: one change, not a loop that is gone beside others."""
    xs = jnp.ones((6, 5, 8))
    mapped, batched, listed = (read(of(programs.each_row(how)), W[0], xs) for how in ("map", "vmap", "list"))
    loop = f"the loop of programs.py:{line_of('jax.lax.map(row')} (each_row.loss)"
    assert happened(hlodiff.diff(mapped, batched)) == [f"{loop} became operations on all 6 turns at once"]
    assert happened(hlodiff.diff(batched, mapped)) == [f"{loop} was operations on all 6 turns at once"]
    (words,) = happened(hlodiff.diff(mapped, listed))
    assert words.startswith(f"{loop} became 6 copies of its body")
    fewer = read(of(programs.each_row("vmap")), W[0], xs[:5])
    assert not [one for one in happened(hlodiff.diff(mapped, fewer)) if "at once" in one]


def test_compiled_programs_say_nothing_of_copies(programs: ModuleType, folder: Path) -> None:
    text, scan = (str(jax.jit(one).lower(W, X).compile().as_text()) for one in (programs.forward, programs.scanned))
    assert "forward" in text
    old, new = (hlodiff.read_text(one, path="program.hlo") for one in (scan, text))
    assert copies(text, folder) == []
    assert sentences(old, new) == []
    assert sentences(new, old) == []


REGISTERED = """

import hlodiff

W, X = hlodiff.abstract((12, 8, 8), "float32"), hlodiff.abstract((4, 8), "float32")
LEAVES = {name: hlodiff.abstract((8, 8), "float32") for name in "ab"}


@hlodiff.register
def loops():
    return hlodiff.Case(two_loops, W, W, X)


@hlodiff.register
def optimizer():
    return hlodiff.Case(adam, LEAVES, LEAVES)
"""


@pytest.mark.slow
def test_the_real_command(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\ntargets = ["cpu"]\n')
    (tmp_path / "programs.py").write_text(SOURCE + REGISTERED)

    def run(*arguments: str) -> str:
        done = typed(tmp_path, *arguments, COLUMNS="160")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("update")
    found = json.loads(run("show", "loops", "--why", "--format", "json"))
    (program,) = found if isinstance(found, list) else found["programs"]
    assert [(one["copies"], one["operations"], one["python_loop"]) for one in program["copies"]] == [(12, 4, True)] * 2
    assert run("show", "optimizer", "--why").startswith(
        "optimizer  cpu\n  nothing: no loop that was unrolled for certain, no value computed twice, "
    )
    why = run("show", "snapshots/loops/cpu/compiled.hlo", "--why")
    assert why.endswith("  nothing: no large constant, no loop of known length\n")
