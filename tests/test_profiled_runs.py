"""Executed counts of compiled programs against XLA's profile of a run on cpu, which has an event for each turn."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hlodiff.differ import executed, runs
from hlodiff.hlo import read_hlo

PROGRAM = """
import glob, sys
import jax, jax.numpy as jnp

def outer(state, row):
    def inner(value, _):
        return jnp.tanh(value @ weights) + row, jnp.sum(value)
    state, sums = jax.lax.scan(inner, state, None, length=3)
    return jnp.flip(state), sums

def step(x, rows):
    return jax.lax.scan(outer, x, rows)

weights = jnp.eye(32)
x, rows = jnp.ones((32, 32)), jnp.ones((5, 32))
compiled = jax.jit(step).lower(x, rows).compile()
jax.block_until_ready(compiled(x, rows))
with jax.profiler.trace(sys.argv[1]):
    jax.block_until_ready(compiled(x, rows))
(found,) = glob.glob(sys.argv[1] + "/**/*.xplane.pb", recursive=True)
for plane in jax.profiler.ProfileData.from_file(found).planes:
    for line in plane.lines:
        for event in line.events:
            name = dict(event.stats).get("hlo_op")
            if name:
                print(name)
print("PROGRAM")
print(compiled.as_text())
"""


@pytest.mark.slow
def test_each_instruction_runs_as_often_as_a_profiled_run_shows(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    events, _, text = done.stdout.partition("PROGRAM\n")
    seen = Counter(events.split())
    module = read_hlo(text)
    expected = {
        it.name: times.exact
        for computation, times in zip(module.computations, runs(module), strict=True)
        for it in computation.instructions
    }
    assert {name: expected[name] for name in seen} == dict(seen)
    # The outer loop turns 5 times, and the inner one 3 times in each turn.
    assert {1, 5, 15} <= set(seen.values())
    opcodes = {it.name: it.opcode for computation in module.computations for it in computation.instructions}
    copies = sum(count for name, count in seen.items() if opcodes[name] == "copy")
    assert executed(module)["copies"].exact == copies > 0
