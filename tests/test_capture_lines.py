"""The lines of a program are its own, whatever was traced before in the same process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hlodiff.capture import CapturedProgram, Request
from hlodiff.config import Config
from hlodiff.workflows import snapshot_of
from tests.captured_programs import HEAD, Project, outcomes
from tests.captured_programs import project as project

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before JAX looks for other devices


ROOT = Path(__file__).resolve().parent.parent

# Two functions that share everything JAX keeps: a jitted helper, jitted functions of jax.numpy and jax.nn, a custom
# derivative, the body of a scan, a jaxpr that is made while the case is built.
SHARED = """
import equinox as eqx

@jax.jit
def helper(x):
    return jnp.where(x > 0, x, 2 * x)

@jax.custom_jvp
def root(x):
    return jnp.sqrt(helper(x))

@root.defjvp
def _(primals, tangents):
    return root(*primals), tangents[0] / (2 * helper(primals[0]))

def body(carry, x):
    return jnp.clip(carry + helper(x), -1, 1), x

def work(x):
    total, _ = jax.lax.scan(body, x[0], x)
    return total + jnp.sum(jax.nn.silu(helper(x))) + jnp.sum(root(x)) + jnp.linalg.norm(x)

def tangent(x):
    return jax.jvp(helper, (x,), (jnp.ones(8),))[1]
"""
FIRST = """
def first(x):
    y = jax.grad(work)(x)
    return work(y) + jnp.sum(jnp.clip(helper(y), 0, 2))

@hlodiff.register(name="first", targets=["cpu"])
def _first():
    return [hlodiff.Case(first, VECTOR, name="once"), hlodiff.Case(first, VECTOR, name="again")]
"""
SECOND = """
def second(x):
    return jnp.sum(jnp.clip(helper(x), 0, 2)) * work(x)

@hlodiff.register(name="second", targets=["cpu"])
def _second():
    _, linear = jax.linearize(tangent, jnp.ones(8))
    return hlodiff.Case(lambda x: second(x) + jnp.sum(linear(x)), VECTOR)
"""
OF = {"first": FIRST, "second": SECOND}
FILE = HEAD + SHARED + FIRST + SECOND


def own_lines(name: str) -> set[int]:
    """The lines that a function may be blamed on: its own and those of what both share."""
    start = FILE[: FILE.index(OF[name])].count("\n") + 1
    shared = range(HEAD.count("\n") + 1, HEAD.count("\n") + SHARED.count("\n") + 1)
    return {*shared, *range(start, start + OF[name].count("\n") + 1)}


def frames(source: Any) -> set[tuple[str, int]]:
    """Every file and line in a source.json."""
    return {(file, line) for name, stage in source.items() if name != "files" for file, line, *_ in stage["frames"]}


def blamed(name: str, source: Any) -> set[int]:
    """Lines of the project that a source.json names, and that are not the function's."""
    lines = {line for file, line in frames(source) if file == "programs.py"}
    assert lines, name
    return lines - own_lines(name)


def sources(config: Config, *order: tuple[str, str]) -> dict[tuple[str, str], str]:
    """What source.json holds of each program, captured in this order by one worker."""
    found = {}
    for outcome in outcomes(config, [Request(name, case, "cpu") for name, case in order]).values():
        assert isinstance(outcome, CapturedProgram), outcome
        found[outcome.function, outcome.case] = json.dumps(snapshot_of(outcome, str(config.root)).source)
    return found


@pytest.mark.slow
def test_lines_do_not_depend_on_what_was_captured_before(project: Project) -> None:
    config = project(SHARED + FIRST + SECOND)
    once, again, second = ("first", "once"), ("first", "again"), ("second", "")
    alone = {name: sources(config, key)[key] for name, key in (("first", once), ("second", second))}
    for order in ((once, second, again), (second, once)):
        assert sources(config, *order) == {key: alone[key[0]] for key in order}
    assert {name: blamed(name, json.loads(text)) for name, text in alone.items()} == {"first": set(), "second": set()}


IN_PROCESS = """
import json, sys, jax, jax.numpy as jnp, hlodiff, programs
from pathlib import Path
from hlodiff.capture import Request
from hlodiff.capture.compile_case import Bench, capture_with
from hlodiff.workflows import snapshot_of

calls = 0
@jax.jit
def mine(x):
    global calls
    calls += 1
    return programs.work(x)

VECTOR = hlodiff.abstract((8,), "float32")
FUNCTIONS = {"first": programs.first, "second": programs.second}
mine(jnp.ones(8))  # what the user's own code has traced stays traced, and lends nobody its lines
bench = Bench(Path.cwd(), {})
found = {}
with hlodiff.watch() as seen:
    for name in sys.argv[1].split(","):
        outcome = capture_with(bench, Request(name, "", "cpu"), lambda *_: hlodiff.Case(FUNCTIONS[name], VECTOR))
        found[name] = snapshot_of(outcome, str(Path.cwd())).source
    hlodiff.capture_program(hlodiff.Case(mine, VECTOR))
    mine(jnp.ones(8)), programs.helper(jnp.ones(8))
print(json.dumps({"sources": found, "calls": calls, "counted": seen.traces("mine") + seen.programs("mine")}))
"""


@pytest.mark.slow
def test_a_capture_in_the_users_process_neither_takes_lines_from_it_nor_empties_its_caches(tmp_path: Path) -> None:
    (tmp_path / "programs.py").write_text(FILE)
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "JAX_PLATFORMS": "cpu"}
    results = {}
    for order in ("first", "second", "first,second", "second,first,second"):
        command = [sys.executable, "-c", IN_PROCESS, order]
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr[-2000:]
        results[order] = json.loads(run.stdout)
    alone = {name: results[name]["sources"][name] for name in OF}
    for order, result in results.items():
        assert result["sources"] == {name: alone[name] for name in order.split(",")}, order
        # Traced by its first call and by hlodiff, which does not count; the second call finds the trace of the first.
        assert (result["calls"], result["counted"]) == (2, 0), order
    assert {name: blamed(name, source) for name, source in alone.items()} == {"first": set(), "second": set()}


HASHED = """
NAMES = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"}

@hlodiff.register(targets=["cpu"])
def ordered():
    return hlodiff.Case(lambda x: [jnp.sin(x) * len(name) + ord(name[0]) for name in NAMES], VECTOR)
"""


@pytest.mark.parametrize("given", [None, ""])
def test_a_set_of_strings_is_iterated_over_in_the_same_order_every_time(
    project: Project, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # the second run reads what the first has compiled
    if given is not None:
        monkeypatch.setenv("PYTHONHASHSEED", given)
    config = project(HASHED)
    found = []
    for _ in range(2):
        (outcome,) = outcomes(config).values()
        assert isinstance(outcome, CapturedProgram), outcome
        found.append(f"{outcome.stablehlo}{outcome.compiled}".splitlines())
    assert [lines for lines in zip(*found, strict=True) if lines[0] != lines[1]] == []
