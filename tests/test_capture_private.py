"""Each private part of JAX and Equinox that capture uses: where it moves, one of these says which."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
