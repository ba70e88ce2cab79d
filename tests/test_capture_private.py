"""Each private part of JAX and Equinox that capture uses: where it moves, one of these says which."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import hlodiff.capture
from hlodiff.capture import jax_private
from hlodiff.errors import CaptureError

os.environ.setdefault("JAX_PLATFORMS", "cpu")


def test_equinox_filter_jit_has_one_type() -> None:
    kind = jax_private.filter_jit_type()
    assert kind is not None and isinstance(eqx.filter_jit(jnp.sin), kind)


def test_equinox_filter_jit_calls_a_jit_of_three_arguments() -> None:
    wrapper = eqx.filter_jit(lambda x, n: x * n, donate="all-except-first")

    def split(key: str, part: object) -> tuple[object, object]:
        leaves, treedef = jax.tree_util.tree_flatten(part)
        arrays = tuple(leaf if eqx.is_array(leaf) else None for leaf in leaves)
        return arrays, (tuple(None if eqx.is_array(leaf) else leaf for leaf in leaves), treedef)

    inner, (donate, keep, static) = jax_private.filter_jit_call(wrapper, split, (jnp.ones(3), 2), {})
    assert sorted(donate) == ["fun", "rest"] and sorted(keep) == ["first"]
    assert inner(donate, keep, static)[1] is not None


def test_jax_names_flat_arguments() -> None:
    traced = jax.jit(lambda model, x: model["w"] * x).trace({"w": jnp.ones(3)}, 2.0)
    assert jax_private.argument_names(traced) == ("model['w']", "x")


def test_jax_tells_devices_and_kept_arguments_of_a_lowered_function() -> None:
    lowered = jax.jit(lambda x, unused, y: x + y).lower(jnp.ones(3), jnp.ones(4), jnp.ones(3))
    assert jax_private.devices(lowered) == (jax.devices()[0],)
    assert sorted(jax_private.kept_shardings(lowered)) == [0, 2]


def test_jax_leaves_frames_out_of_locations(tmp_path: Path) -> None:
    for name, body in (("inner", "def g(x): return x * 2"), ("outer", "import inner\ndef f(x): return inner.g(x)")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(body)
    program = """
import sys, jax
from hlodiff.capture import jax_private
sys.path += [f"{sys.argv[1]}/inner", f"{sys.argv[1]}/outer"]
import outer
jax_private.exclude_frames(f"{sys.argv[1]}/outer")
print(jax.jit(outer.f).lower(1.0).as_text(debug_info=True))
"""
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert "inner.py" in run.stdout and "outer.py" not in run.stdout


def test_jax_can_be_listened_to() -> None:
    (trace, infer), (compiler, compile_), (maker, make), (tracer, said) = jax_private.jit_points()
    assert [infer, compile_, make, said] == ["_infer_params", "compile_or_get_cached", "make_jit", "test_event"]
    assert callable(getattr(tracer, said))
    assert list(inspect.signature(getattr(trace, infer)).parameters) == ["fun", "ji", "args", "kwargs"]
    assert list(inspect.signature(getattr(compiler, compile_)).parameters)[:3] == [
        "backend",
        "computation",
        "devices",
    ]
    assert next(iter(inspect.signature(getattr(maker, make)).parameters)) == "fun"


def test_jax_says_when_it_runs_python_code_to_trace_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (module, name), said, ran = jax_private.jit_points()[3], [], []
    monkeypatch.setattr(module, name, lambda what, *_: said.append(what))

    @jax.jit
    def fails_at_first(x: jax.Array) -> jax.Array:
        ran.append(x)
        if len(ran) < 3:
            raise ValueError
        return x

    for _ in range(4):
        with suppress(ValueError):
            fails_at_first(1.0)
    assert said == [jax_private.RAN_PYTHON] * 3 and len(ran) == 3


def test_jax_knows_where_what_it_compiles_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    module, name = jax_private.jit_points()[1]
    original, found = getattr(module, name), []

    def look(*args: Any, **kwargs: Any) -> Any:
        found.append(jax_private.compiling())
        return original(*args, **kwargs)

    def double(x: jax.Array) -> jax.Array:
        return x * 2

    x = jnp.ones(7)
    monkeypatch.setattr(module, name, look)
    jax.vjp(jax.jit(double), x)[1](x)
    jax.jit(double).lower(x).compile()
    forward, backward, ahead = found
    line = double.__code__.co_firstlineno
    assert {one.origin for one in found} == {jax_private.Origin("double", __file__, line)}
    assert forward.call is not None and forward.call[0] is double
    assert (backward.call, ahead.call) == (None, None)


def test_jax_shows_what_its_single_operations_are_of() -> None:
    found: list[Any] = []

    def look(c: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return c + x, c

    (module, name), said = jax_private.jit_points()[0], found.append
    original = getattr(module, name)
    try:
        setattr(module, name, lambda fun, *rest: (said(jax_private.single_operation(fun)), original(fun, *rest))[1])
        jax.lax.scan(look, jnp.float32(0), jnp.ones(7))
    finally:
        setattr(module, name, original)
    ((_, parameters),) = [one for one in found if one is not None and one[0] == "scan"]
    origin = jax_private.body_origin(parameters["jaxpr"])
    assert origin == jax_private.Origin("look", __file__, look.__code__.co_firstlineno)
    assert jax_private.body_origin(parameters["length"]) is None and jax_private.single_operation(look) is None


def test_jax_keeps_the_function_and_arguments_of_a_pmap() -> None:
    found: list[Any] = []

    def look(tree: Any, n: Any) -> Any:
        found.append(jax_private.call_in_progress())
        return tree["a"] * n

    jax.pmap(look)({"a": jnp.ones((1, 3))}, jnp.ones(1))
    jax.pmap(look, static_broadcasted_argnums=1)({"a": jnp.ones((1, 3))}, 2)
    (plain, static) = [jax_private.pmapped(call[0], call[2]) for call in found if call is not None]
    assert plain is not None and plain[0] is look and plain[1][0]["a"].shape == (1, 3) and plain[2:] == ({}, ())
    assert static is not None and static[0] is look and static[1][1] == 2 and static[3] == (1,)
    assert jax_private.pmapped(look, ()) is None


def test_jax_tells_the_call_in_progress() -> None:
    found: list[Any] = []

    def look(x: jax.Array, n: int) -> jax.Array:
        found.append((jax_private.call_in_progress(), jax_private.is_ahead_of_time()))
        return x

    jitted = jax.jit(look, static_argnums=1, donate_argnames="x")
    jitted(jnp.ones(3), 4)
    jitted.trace(jnp.ones(3), 5)
    ((call, ahead), (no_call, traced)) = found
    assert call is not None and call[0] is look and call[2][1] == 4 and call[3] == {}
    assert (no_call, ahead, traced) == (None, False, True)
    options = jax_private.jit_options(call[1])
    assert (options["static_argnums"], options["donate_argnums"], options["donate_argnames"]) == ((1,), (0,), ("x",))


def test_equinox_statics_hold_the_call() -> None:
    found: list[Any] = []

    def look(x: object, *, k: object) -> None:
        fun, _, args, _ = jax_private.call_in_progress() or (None, None, (), {})
        found.append(jax_private.filter_jitted(fun, args))

    eqx.filter_jit(look, donate="all")(jnp.ones(3), k="key")
    ((function, args, kwargs, donates),) = found
    assert function is look and args[0].shape == (3,) and kwargs == {"k": "key"} and donates


def test_jax_tells_what_stands_around_a_call() -> None:
    with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        assert jax_private.trace_context()["jax.set_mesh"] == "x=1 (explicit) on devices 0"
    around = jax_private.trace_context()
    assert {around[name] for name in ("with mesh", "jax.set_mesh", "axis names", "compute_on")} == {""}


def test_a_call_in_progress_can_be_lowered_again() -> None:
    found: list[Any] = []

    def look(x: Any, n: int) -> Any:
        found.append(jax_private.call_in_progress())
        return x * n

    jitted = jax.jit(look, static_argnums=1, donate_argnums=0)
    jitted(jnp.ones(3), 4)
    fun, info, _, kwargs = found[0]
    lowered = jax_private.lowered_again(fun, info, (jax.ShapeDtypeStruct((3,), "float32"), 4), kwargs)
    assert lowered.as_text() == jitted.lower(jax.ShapeDtypeStruct((3,), "float32"), 4).as_text()


def test_jax_tells_weak_types() -> None:
    args, _ = jax.jit(lambda x, y: x + y).trace(jnp.ones(3), 2.0).args_info
    assert [jax_private.is_weak(info) for info in args] == [False, True]


@pytest.mark.parametrize(
    "use", [jax_private.argument_names, jax_private.devices, jax_private.kept_shardings, jax_private.is_weak]
)
def test_what_moved_is_said_in_a_sentence(use: object) -> None:
    with pytest.raises(CaptureError, match=r"jax \d+\.\d+\.\d+ keeps `.*` in another place than hlodiff knows"):
        use(object())  # type: ignore[operator]


def test_no_other_file_of_the_room_uses_private_parts() -> None:
    folder = Path(hlodiff.capture.__file__).parent
    uses = re.compile(r"jax\._src|jaxlib\._jax|equinox\._|\._(lowering|jit_info|cached|signature|aval)\b")
    found = [file.name for file in sorted(folder.glob("*.py")) if uses.search(file.read_text())]
    assert found == ["jax_private.py"]


def test_jax_tells_of_launches_off_its_fast_path() -> None:
    launched: list[object] = []
    end = jax_private.count_launches(launched.append)
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


def test_a_device_that_lists_no_memories_has_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.interpreters import pxla

    class Executable:
        name = "compiled"

        def get_output_memory_kinds(self) -> list[list[str]]:
            return [["device"]]

    def shardings(executable: Any, *, fails: str = "Could not find memory addressable by device") -> tuple[str, Any]:
        """As JAX 0.8.3 does it."""
        try:
            kind = executable.get_output_memory_kinds()[0][0]
        except NotImplementedError:
            return executable.name, None
        raise ValueError(f"{fails} NVIDIA H100. Got memory kind: {kind}")

    monkeypatch.setattr(pxla, "get_out_shardings_from_executable", shardings)
    jax_private.accept_unlisted_memories()
    mended: Any = pxla.get_out_shardings_from_executable
    assert mended(Executable()) == ("compiled", None)
    with pytest.raises(ValueError, match="something else"):
        mended(Executable(), fails="something else")
    jax_private.accept_unlisted_memories()
    assert pxla.get_out_shardings_from_executable is mended, "replaced once"
