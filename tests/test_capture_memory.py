"""Memory kinds on devices that are not there: kept, or the program is not checked."""

from __future__ import annotations

import jax
import pytest

from hlodiff.capture import CapturedProgram, NotChecked, missing_packages, parse_target
from tests.captured_programs import Project, outcomes
from tests.captured_programs import project as project

# The plugin of JAX 0.9.2 ignores them where no GPU is attached, that of 0.10.2 does not.
HONOURED = tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 10)
HEAD = """\
import jax, hlodiff
from jax.sharding import NamedSharding, PartitionSpec as P
HOST, DEVICE = jax.memory.Space.Host, jax.memory.Space.Device

def sharding(target):
    return NamedSharding(target.mesh((2, 2), ("x", "y")), P("x"))

def add(x):
    return jax.device_put(jax.device_put(x, DEVICE) + 1, HOST)
"""
KEPT = """
@hlodiff.register
def one_device():
    return hlodiff.Case(add, hlodiff.abstract((8,), "float32", memory_kind="pinned_host"), donate=0)

@hlodiff.register
def on_a_mesh(target):
    leaf = hlodiff.abstract((8,), "float32", sharding=sharding(target), memory_kind="pinned_host")
    return hlodiff.Case(add, leaf, donate=0)

@hlodiff.register
def on_devices(target):
    leaf = hlodiff.abstract((8,), "float32", sharding=sharding(target))
    return hlodiff.Case(lambda x: x + 1, leaf, out_shardings=sharding(target).with_memory_kind("device"))
"""
DROPPED = """
@hlodiff.register
def of_an_argument(target):
    host = sharding(target).with_memory_kind("pinned_host")
    return hlodiff.Case(add, hlodiff.abstract((8,), "float32", sharding=host))

@hlodiff.register
def of_a_result(target):
    leaf = hlodiff.abstract((8,), "float32", sharding=sharding(target))
    return hlodiff.Case(lambda x: x + 1, leaf, out_shardings=sharding(target).with_memory_kind("pinned_host"))

@hlodiff.register
def inside(target):
    host = sharding(target).with_memory_kind("unpinned_host")
    inner = jax.jit(lambda x: jax.device_put(x + 1, host))
    return hlodiff.Case(lambda x: inner(x) * 2, hlodiff.abstract((8,), "float32"))
"""
pytestmark = pytest.mark.skipif(bool(missing_packages(parse_target("cuda-h100-x4"))), reason="cannot compile for cuda")


def test_kinds_that_hlodiff_gives_are_in_the_program(project: Project) -> None:
    found = outcomes(project(KEPT, head=HEAD, targets=("cuda-h100-x4",)))
    plain = found.pop(("on_devices", "", "cuda-h100-x4"))
    assert isinstance(plain, CapturedProgram) and "S(5)" not in (plain.compiled or "")
    for (function, _, _), outcome in found.items():
        if not HONOURED:
            assert isinstance(outcome, NotChecked)
            assert "ignores the memory kind `pinned_host` without a GPU" in outcome.reason
            assert "JAX 0.10 or later" in outcome.advice
            continue
        assert isinstance(outcome, CapturedProgram), outcome
        size = {"one_device": 8, "on_a_mesh": 4}[function]
        layouts = f"{{(f32[{size}]{{0:S(5)}})->f32[{size}]{{0:S(5)}}}}"
        assert f"entry_computation_layout={layouts}" in (outcome.compiled or "")
        assert outcome.facts["arguments"][0]["memory_kind"] == "pinned_host"
        assert outcome.facts["memory"]["host_argument"] == 4 * size


def test_a_kind_that_jax_drops_is_not_compiled_as_something_else(project: Project) -> None:
    config = project(DROPPED, head=HEAD, targets=("cuda-h100-x4",))
    reasons = {}
    for (function, _, _), outcome in outcomes(config).items():
        assert isinstance(outcome, NotChecked), outcome
        assert 'hlodiff.abstract(..., sharding=..., memory_kind="pinned_host")' in outcome.advice
        reasons[function] = outcome.reason
    assert sorted(reasons) == ["inside", "of_a_result", "of_an_argument"]
    for function, reason in reasons.items():
        kind = "unpinned_host" if function == "inside" else "pinned_host"
        assert reason == f"JAX drops the memory kind `{kind}` of a sharding on a GPU that is not attached"
