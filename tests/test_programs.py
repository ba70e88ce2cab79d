"""Capturing one case in this process, and the fixture for it: real functions, compiled for cpu."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hlodiff

ROOT = Path(__file__).parent.parent
SUITE = '''
import jax
import jax.numpy as jnp
import pytest

import hlodiff


def smooth(x):
    """A loop that turns 8 times."""
    return jax.lax.fori_loop(0, 8, lambda _, v: jnp.tanh(v @ v.T @ v), x)


def case(size, donate=None, dtype="float32"):
    return hlodiff.Case(smooth, hlodiff.abstract((size, size), dtype), donate=donate)


def test_what_holds(hlodiff_program):
    small, large = (hlodiff_program(case(size, donate="all")) for size in (32, 64))
    large.assert_grows_at_most(4.1, small)
    large.assert_aliased_bytes(64 * 64 * 4)
    large.assert_no_collective()
    large.assert_rule("no-f64")
    large.assert_rule("donation-aliases")
    large.assert_budget(loops=1, host_callbacks=0, temp_bytes="1 MiB")
    assert large.metric("op.dot") + large.metric("custom_calls") >= 2
    large.assert_placement_kept(small)


def test_what_does_not(hlodiff_program):
    hlodiff_program(case(32)).assert_aliased_bytes(1)


def test_a_callback(hlodiff_program):
    def loud(x):
        jax.debug.print("{x}", x=x)
        return x + 1

    hlodiff_program(hlodiff.Case(loud, hlodiff.abstract((4,), "float32"))).assert_rule("no-host-callback")


def test_a_target_that_is_not_here(hlodiff_program):
    def meshed(target):
        target.mesh((4,), ("x",))
        return case(32)

    hlodiff_program(meshed)


def test_a_broken_function(hlodiff_program):
    hlodiff_program(hlodiff.Case(lambda x: x.nothing, hlodiff.abstract((4,), "float32")))
'''


def test_no_such_target() -> None:
    with pytest.raises(hlodiff.HlodiffError, match="cpux"):
        hlodiff.capture_program(hlodiff.Case(max, 1, 2), target="cpux")


@pytest.mark.slow
def test_the_fixture_on_real_functions(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "hlodiff.pytest_plugin", "-p", "no:cacheprovider"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    said = done.stdout
    assert "3 failed, 1 passed, 1 skipped" in said, said
    assert "AssertionError: test_what_does_not on cpu:\n" in said
    assert "0 B are aliased; at least 1 B. Aliased arguments: none" in said
    assert "calls back to Python on the host (test_suite.py:" in said
    assert "test_a_target_that_is_not_here on cpu: it asks for 4 devices" in said
    assert "AttributeError" in said and "test_suite.py" in said
    assert str(tmp_path) not in "\n".join(line for line in said.splitlines() if line.startswith("E "))
