"""Each private part of JAX and Equinox that capture uses: where it moves, one of these says which."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import hlodiff.capture
from hlodiff.capture import private
from hlodiff.errors import CaptureError


def test_equinox_filter_jit_has_one_type() -> None:
    kind = private.filter_jit_type()
    assert kind is not None and isinstance(eqx.filter_jit(jnp.sin), kind)


def test_equinox_filter_jit_calls_a_jit_of_three_arguments() -> None:
    wrapper = eqx.filter_jit(lambda x, n: x * n, donate="all-except-first")

    def split(key: str, part: object) -> tuple[object, object]:
        leaves, treedef = jax.tree_util.tree_flatten(part)
        arrays = tuple(leaf if eqx.is_array(leaf) else None for leaf in leaves)
        return arrays, (tuple(None if eqx.is_array(leaf) else leaf for leaf in leaves), treedef)

    inner, (donate, keep, static) = private.filter_jit_call(wrapper, split, (jnp.ones(3), 2), {})
    assert sorted(donate) == ["fun", "rest"] and sorted(keep) == ["first"]
    assert inner(donate, keep, static)[1] is not None


def test_jax_names_flat_arguments() -> None:
    traced = jax.jit(lambda model, x: model["w"] * x).trace({"w": jnp.ones(3)}, 2.0)
    assert private.argument_names(traced) == ("model['w']", "x")


def test_jax_tells_devices_and_kept_arguments_of_a_lowered_function() -> None:
    lowered = jax.jit(lambda x, unused, y: x + y).lower(jnp.ones(3), jnp.ones(4), jnp.ones(3))
    assert private.devices(lowered) == (jax.devices()[0],)
    assert sorted(private.kept_shardings(lowered)) == [0, 2]


def test_jax_leaves_frames_out_of_locations(tmp_path: Path) -> None:
    for name, body in (("inner", "def g(x): return x * 2"), ("outer", "import inner\ndef f(x): return inner.g(x)")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(body)
    program = """
import sys, jax
from hlodiff.capture import private
sys.path += [f"{sys.argv[1]}/inner", f"{sys.argv[1]}/outer"]
import outer
private.leave_out_frames(f"{sys.argv[1]}/outer")
print(jax.jit(outer.f).lower(1.0).as_text(debug_info=True))
"""
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert "inner.py" in run.stdout and "outer.py" not in run.stdout


def test_jax_can_be_listened_to() -> None:
    (trace, infer), (compiler, compile_), (maker, make) = private.jit_points()
    assert [infer, compile_, make] == ["_infer_params", "compile_or_get_cached", "make_jit"]
    assert list(inspect.signature(getattr(trace, infer)).parameters) == ["fun", "ji", "args", "kwargs"]
    assert list(inspect.signature(getattr(compiler, compile_)).parameters)[:2] == ["backend", "computation"]
    assert next(iter(inspect.signature(getattr(maker, make)).parameters)) == "fun"


def test_jax_counts_its_traces() -> None:
    before = private.traces_done()
    jitted = jax.jit(lambda x: x)
    assert (jitted(1.0), jitted(2.0), private.traces_done() - before) == (1.0, 2.0, 1)


def test_jax_tells_the_call_in_progress() -> None:
    found: list[Any] = []

    def look(x: jax.Array, n: int) -> jax.Array:
        found.append((private.call_in_progress(), private.is_ahead_of_time()))
        return x

    jitted = jax.jit(look, static_argnums=1, donate_argnames="x")
    jitted(jnp.ones(3), 4)
    jitted.trace(jnp.ones(3), 5)
    ((call, ahead), (no_call, traced)) = found
    assert call is not None and call[0] is look and call[2][1] == 4 and call[3] == {}
    assert (no_call, ahead, traced) == (None, False, True)
    options = private.jit_options(call[1])
    assert (options["static_argnums"], options["donate_argnums"], options["donate_argnames"]) == ((1,), (0,), ("x",))


def test_equinox_statics_hold_the_call() -> None:
    found: list[Any] = []

    def look(x: object, *, k: object) -> None:
        fun, _, args, _ = private.call_in_progress() or (None, None, (), {})
        found.append(private.filter_jitted(fun, args))

    eqx.filter_jit(look, donate="all")(jnp.ones(3), k="key")
    ((function, args, kwargs, donates),) = found
    assert function is look and args[0].shape == (3,) and kwargs == {"k": "key"} and donates


def test_jax_tells_what_stands_around_a_call() -> None:
    with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        assert private.surroundings()["jax.set_mesh"] == "x=1"
    assert set(private.surroundings().values()) == {""}


def test_a_call_in_progress_can_be_lowered_again() -> None:
    found: list[Any] = []

    def look(x: Any, n: int) -> Any:
        found.append(private.call_in_progress())
        return x * n

    jitted = jax.jit(look, static_argnums=1, donate_argnums=0)
    jitted(jnp.ones(3), 4)
    fun, info, _, kwargs = found[0]
    lowered = private.lowered_again(fun, info, (jax.ShapeDtypeStruct((3,), "float32"), 4), kwargs)
    assert lowered.as_text() == jitted.lower(jax.ShapeDtypeStruct((3,), "float32"), 4).as_text()


def test_jax_tells_weak_types() -> None:
    args, _ = jax.jit(lambda x, y: x + y).trace(jnp.ones(3), 2.0).args_info
    assert [private.is_weak(info) for info in args] == [False, True]


@pytest.mark.parametrize("use", [private.argument_names, private.devices, private.kept_shardings, private.is_weak])
def test_what_moved_is_said_in_a_sentence(use: object) -> None:
    with pytest.raises(CaptureError, match=r"jax \d+\.\d+\.\d+ keeps `.*` in another place than hlodiff knows"):
        use(object())  # type: ignore[operator]


def test_no_other_file_of_the_room_uses_private_parts() -> None:
    folder = Path(hlodiff.capture.__file__).parent
    uses = re.compile(r"jax\._src|jaxlib\._jax|equinox\._|\._(lowering|jit_info|cached|signature|aval)\b")
    found = [file.name for file in sorted(folder.glob("*.py")) if uses.search(file.read_text())]
    assert found == ["private.py"]


def test_jax_tells_of_launches_off_its_fast_path() -> None:
    launched: list[object] = []
    end = private.count_launches(launched.append)
    try:
        f = jax.jit(lambda x: x + 1)
        x = jnp.ones(3)
        launched.clear()
        for _ in range(5):
            f(x)
        assert len(launched) == 5
        assert len(set(map(id, launched))) == 1
    finally:
        end()
    g = jax.jit(lambda x: x + 2)
    launched.clear()
    g(x)
    g(x)
    assert launched == []
