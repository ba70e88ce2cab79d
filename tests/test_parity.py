"""What a call compiles against what is compiled ahead of time: words on texts, and the real command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff.capture import DiscoveredFunction, Discovery, missing_packages, parse_target
from hlodiff.policy import Parity, ParityProgram, exit_code, judge_parity
from hlodiff.report import explained, parity_markdown, parity_text
from hlodiff.snapshots import Key
from hlodiff.workflows.parity import running_target, warn_of_surroundings
from tests.test_docs import blocks, played
from tests.typed import typed

ROOT = Path(__file__).resolve().parent.parent
TPU = "tpu-v5e-2x2"
TEXT = """module @jit_f {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = stablehlo.tanh %xATTRIBUTES : tensor<4xf32> loc(#line)
    %b = stablehlo.multiply %a, %aATTRIBUTES : tensor<4xf32> loc(#line)
    return %b : tensor<4xf32>
  }
}
#place = loc("model.py":12:4 to :20)
#line = loc("update"(#place))
"""
HOST = ' {mhlo.frontend_attributes = {_xla_compute_type = "host"}}'


def program(called: str, ahead: str, **more: Any) -> ParityProgram:
    old, new = (hlodiff.read_text(TEXT.replace("ATTRIBUTES", a), path="f.mlir") for a in (called, ahead))
    return ParityProgram("update", "model.py:9", "train.py:40", hlodiff.diff(old, new), **more)


LOST = program(HOST, "", context=(("compute_on", "device_host"),))


def test_a_lost_compute_on_is_told_with_its_lines_its_cause_and_the_repair() -> None:
    assert parity_text([Parity("step", "cpu", (LOST,))]) == (
        "step  called on cpu: 1 program compiled: 1 other than ahead of time\n"
        "  update  model.py:9, called at train.py:40: differs\n"
        "    2 operations run on the host when called and on the device when compiled ahead of time: "
        "model.py:12 (update)\n"
        '    compute_on("device_host") surrounds the call, and `.lower()` outside of it does not see it\n'
        "    put compute_on inside of the function that is jitted, and jax.jit outside\n"
    )


def test_the_text_says_whether_the_numbers_differ() -> None:
    worse = replace(LOST, numbers="with these arguments the numbers differ, by up to 1")
    lines = parity_text([Parity("step", "cpu", (worse,))]).splitlines()
    assert lines[2] == "    with these arguments the numbers differ, by up to 1"


def test_check_notes_what_tracing_alone_shows() -> None:
    rows = (("update", "m.py:4", "compute_on", "device_host"), ("update", "m.py:4", "jax.set_mesh", "x=2"))
    found = Discovery((DiscoveredFunction("f", "m", "m.py", 1, (("cpu", ("a", "b")),), parity=("b",)),))
    around = {Key("f", case, target): rows for case in "ab" for target in ("cpu", "tpu-v5e-2x2")}
    (finding,) = warn_of_surroundings(found, {**around, Key("g", "", "cpu"): ()})
    assert (finding.severity, finding.rule, finding.program) == ("info", "parity", "f/a")
    assert finding.what.startswith('`update` (m.py:4) is called under compute_on("device_host"), jax.set_mesh (x=2): ')
    assert finding.advice == "hlodiff inspect parity f/a shows what the call compiles to"
    assert exit_code([finding]) == 0


def test_equal_programs_are_no_finding() -> None:
    same = Parity("step", "cpu", (program(HOST, HOST), program("", "")), eager=("add", "add", "sin"))
    assert list(judge_parity(same, {})) == []
    text = parity_text([same])
    assert "2 programs compiled: 2 the same" in text
    assert "3 operations outside of every jitted function, with no counterpart ahead of time: add 2, sin" in text


def test_a_program_that_differs_is_an_error_with_the_explanation() -> None:
    parity = Parity("step", "cpu", (program("", ""), LOST))
    words = {n: tuple(explained(one, parity)) for n, one in enumerate(parity.programs)}
    (finding,) = judge_parity(parity, words)
    assert (finding.severity, finding.rule, finding.program) == ("error", "parity", "step")
    assert finding.what == "`update` (model.py:9) compiles to one program when called and to another ahead of time"
    assert finding.details[0].startswith("2 operations run on the host when called and on the device")


def test_markup_in_names_stays_text() -> None:
    hostile = ParityProgram("<b>x</b>", "a.py:1", "", None, "\x1b[31m|no|")
    text = parity_markdown([Parity("f", "cpu", (hostile,))])
    assert "<b>" not in text and "\x1b" not in text


@pytest.mark.parametrize(
    ("targets", "runs_on"),
    [
        (("cpu", TPU), "cpu"),
        ((TPU, "cpu-8"), "cpu-8"),
        ((TPU,), "cpu-4"),
        (("cuda-h100",), "cpu"),
        (("cuda-h100-x4",), "cpu-4"),
    ],
)
def test_where_a_case_runs(targets: tuple[str, ...], runs_on: str) -> None:
    found = DiscoveredFunction("f", "m", "m.py", 1, tuple((target, ("",)) for target in targets))
    assert running_target(found, "") == runs_on


PROGRAMS = """\
import equinox as eqx
import jax
import jax.numpy as jnp
from jax.experimental.compute_on import compute_on
from jax.sharding import NamedSharding, PartitionSpec as P

import hlodiff

MATRIX, ROWS = hlodiff.abstract((8, 8), "float32"), hlodiff.abstract((4, 8), "float32")


@jax.jit
def update(weights, gradient):
    return weights - 0.1 * gradient


def lost(weights, gradient):
    with compute_on("device_host"):
        return update(weights, gradient)


@jax.jit
def kept(weights, gradient):
    with compute_on("device_host"):
        return update(weights, gradient)


@jax.jit
def loss(weights, x):
    return jnp.sum(jnp.tanh(x @ weights) ** 2)


def several(weights, x):
    value, gradient = jax.value_and_grad(loss)(weights, x)
    return update(weights, gradient), value * 2


def precise(weights, x):
    with jax.default_matmul_precision("highest"):
        return loss(weights, x)


@hlodiff.register
def a_lost():
    return hlodiff.Case(lost, MATRIX, MATRIX, parity=True)


@hlodiff.register
def b_kept():
    return hlodiff.Case(kept, MATRIX, MATRIX, parity=True)


@hlodiff.register
def c_several():
    return hlodiff.Case(several, MATRIX, ROWS)


@hlodiff.register
def d_precise():
    return hlodiff.Case(precise, MATRIX, ROWS)


@hlodiff.register
def e_donated():
    weights = jnp.ones((8, 8))
    return hlodiff.Case(jax.jit(lambda w, x: w - x.sum(), donate_argnums=0), weights, ROWS)


@hlodiff.register
def f_module():
    model = eqx.filter_eval_shape(eqx.nn.MLP, 8, 8, 8, 2, key=jax.random.key(0))
    noisy = eqx.filter_jit(lambda model, x, key, i: model(x)[i] + jax.random.normal(key))
    key = jax.eval_shape(lambda: jax.random.key(0))
    return hlodiff.Case(noisy, model, hlodiff.abstract((8,), "float32"), key, hlodiff.abstract((), "int32"))


@hlodiff.register(targets=["cpu-4"])
def g_sharded(target):
    rows = NamedSharding(target.mesh((4,), ("rows",)), P("rows"))
    return hlodiff.Case(jax.jit(lambda x: jnp.sum(x, axis=0)), hlodiff.abstract((8, 8), "float32", sharding=rows))


@hlodiff.register
def h_plain():
    return hlodiff.Case(lambda x, y: x @ y, ROWS, MATRIX)


@hlodiff.register
def i_raises():
    def broken(x):
        raise ValueError("no such thing")

    return hlodiff.Case(broken, ROWS)


@hlodiff.register
def j_needs_numbers():
    return hlodiff.Case(lambda x: [1, 2, 3][int(x)], hlodiff.abstract((), "int32"))


@jax.jit
def scaled(x):
    return x * jnp.float32(jnp.arange(8).dtype.itemsize)


def other_scale(x):
    with jax.enable_x64(True):
        return scaled(x)


@hlodiff.register
def k_other_numbers():
    return hlodiff.Case(other_scale, MATRIX)


@jax.jit
def counted(x):
    return jnp.arange(x.shape[0])


def wide(x):
    with jax.enable_x64(True):
        return counted(x)


@hlodiff.register
def l_other_type():
    return hlodiff.Case(wide, MATRIX)


@hlodiff.register
def m_ended():
    def endless(x):
        import os
        # As faulthandler does it after ten minutes.
        os.write(2, b"Timeout (0:10:00)!\\nThread 0x1 (most recent call first):\\n")
        os._exit(1)

    return hlodiff.Case(endless, ROWS)
"""


def command(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = typed(folder, *arguments, COLUMNS="160")
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\ntargets = ["cpu"]\njobs = 1\n')
    (tmp_path / "programs.py").write_text(PROGRAMS)
    return tmp_path


@pytest.mark.slow
def test_every_kind_of_function_is_run_and_compared(folder: Path) -> None:
    code, out, err = command(folder, "inspect", "parity", "*", "--format", "json")
    assert code == 2
    assert "i_raises on cpu: the call fails: programs.py:91: ValueError: no such thing" in err
    words = (
        "j_needs_numbers on cpu: the call works, and fails inside of jax.jit, which a capture needs: programs.py:98:"
    )
    assert words in err
    found = {one["name"]: one for one in json.loads(out)["parities"]}
    why = "the call took more than ten minutes and was ended; real arguments can be given in the case"
    assert f"m_ended on cpu: {why}" in err
    (numbers,), (types,) = ([p["numbers"] for p in found[n]["programs"]] for n in ("k_other_numbers", "l_other_type"))
    assert numbers == "with these arguments the numbers differ, by up to 4"
    assert types == "with these arguments the results differ in shape or type"
    differing = {name: [p["differs"] for p in one["programs"]] for name, one in found.items()}
    assert differing == {
        "a_lost": [True],
        "b_kept": [False],
        "c_several": [False, False],
        "d_precise": [True],
        "e_donated": [False],
        "f_module": [False],
        "g_sharded": [False],
        "h_plain": [False],
        "k_other_numbers": [True],
        "l_other_type": [True],
    }
    (lost,) = found["a_lost"]["programs"]
    assert (lost["place"], lost["called_at"], lost["context"]) == (
        "programs.py:12",
        "programs.py:19",
        {"compute_on": "device_host"},
    )
    assert lost["what"][0] == lost["numbers"] == "with these arguments the numbers are the same"
    assert lost["what"][1].startswith("3 operations run on the host when called and on the device when compiled")
    assert lost["what"][1].endswith(": programs.py:14 (update)")
    assert lost["stablehlo"]["summary"]["changed"] == 3
    derivative, updated = found["c_several"]["programs"]
    assert derivative["problem"].startswith("it is a part of a jax.grad or jax.vmap")
    assert (updated["name"], updated["stablehlo"]["summary"]["changed"]) == ("update", 0)
    assert "multiply" in found["c_several"]["eager"]
    assert "precision HIGHEST" in found["d_precise"]["programs"][0]["what"][1].replace("[", "")
    assert found["g_sharded"]["called_on"] == "cpu-4"
    assert (found["h_plain"]["jitted_here"], found["b_kept"]["jitted_here"]) == (True, False)
    assert str(folder) not in out


@pytest.mark.slow
def test_check_fails_where_compute_on_stands_outside(folder: Path) -> None:
    code, out, _ = command(folder, "check", "a_lost", "b_kept", "c_several", "--format", "json")
    (finding,) = [one for one in json.loads(out)["findings"] if one["rule"] == "parity"]
    assert (code, finding["program"], finding["severity"]) == (1, "a_lost", "error")
    assert finding["details"][-1] == "put compute_on inside of the function that is jitted, and jax.jit outside"


@pytest.mark.slow
@pytest.mark.skipif(missing_packages(parse_target(TPU)) is not None, reason="libtpu is not installed")
def test_a_tpu_runs_on_the_host_only_what_was_called(folder: Path) -> None:
    code, out, _ = command(
        folder, "inspect", "parity", "a_lost", "b_kept", "--target", TPU, "--format", "json", "--exit-code"
    )
    assert code == 1
    lost, kept = (one["programs"][0] for one in json.loads(out)["parities"])
    assert lost["operations_on_host"][0] > 0
    assert lost["operations_on_host"][1] == 0
    assert kept["operations_on_host"][0] == kept["operations_on_host"][1] > 0
    assert any("HostExecute" in line for line in lost["what"])


@pytest.mark.slow
def test_the_page_on_parity_can_be_followed(tmp_path: Path) -> None:
    page = ROOT / "docs" / "parity.md"
    for kind in ("python", "toml"):
        for name, text in blocks(page, kind):
            (tmp_path / name).write_text(text)
    assert played(page, tmp_path) > 0
