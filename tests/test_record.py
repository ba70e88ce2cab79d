"""`hlodiff record`: names that stay, and runs that fail, fork, are killed or bring a sitecustomize of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hlodiff.capture import RawProgram, read_raw
from hlodiff.errors import ReadError, UsageError
from hlodiff.hlo import mlir
from hlodiff.tracing import Call, CapturedValue, Function, Leaf, call_of, call_row
from hlodiff.workflows.record_run import RecordNames, check_replaceable, difference, safe
from tests.typed import typed


def leaf(path: str, text: str, weak: bool = False) -> Leaf:
    return Leaf(path, "array", text, weak)


# --- names -----------------------------------------------------------------------------------------------------------


def test_a_call_is_read_as_it_was_recorded() -> None:
    part = Leaf("c.o", "object", "an object", python="NoEq", object_id=3)
    leaves = (
        Leaf(
            "", "function", "f", place="a.py:1", inside=(CapturedValue("k", "2", 4),), object_id=1, code_id=2, life_id=5
        ),
        Leaf("c", "value", "Cfg()", parts=(part,), keyword=True),
        Leaf("x", "array", "f32[2]", sharding="P(i) over i=2", devices="0, 1"),
    )
    call = Call(Function("f", "a.py:1"), "a.py:9", leaves, (("donate", "yes"),), (("x64", "True"),), (2, "a.py:7"))
    assert call_of(json.loads(json.dumps(call_row(call)))) == call
    for name in ("call", "under"):
        program = RawProgram(Path(), {name: json.loads(json.dumps(call_row(call)))})
        assert [one == call for one in (program.called, program.under)] == [name == "call", name == "under"]


def test_the_first_program_of_a_function_keeps_the_plain_name() -> None:
    names = RecordNames()
    keys = [
        names.key("step", "a.py:3", "cpu", [leaf("x", "f32[64]"), leaf("n", "4")]),
        names.key("step", "a.py:3", "cpu", [leaf("x", "f32[3,64]"), leaf("n", "4")]),
        names.key("step", "a.py:3", "cpu", [leaf("x", "f32[64]"), leaf("n", "8")]),
        names.key("step", "a.py:3", "cpu", [leaf("x", "f32[64]", weak=True), leaf("n", "4")]),
        names.key("step", "a.py:3", "cpu-8", [leaf("x", "f32[3,64]"), leaf("n", "4")]),
    ]
    assert [key.folder for key in keys] == [
        "step/cpu",
        "step/x-f32-3x64/cpu",
        "step/n-8/cpu",
        "step/x-weak_f32-64/cpu",
        "step/cpu-8",
    ]


def test_programs_that_nothing_tells_apart_are_numbered() -> None:
    names = RecordNames()
    folders = [names.key("f", "a.py:1", "cpu", [leaf("x", "f32[2]")]).folder for _ in range(3)]
    assert folders == ["f/cpu", "f/again-2/cpu", "f/again-3/cpu"]


def test_a_backward_pass_has_no_call() -> None:
    names = RecordNames()
    calls = [[leaf("x", "f32[2]")], None, None, [leaf("x", "f32[3]")]]
    assert [names.key("f", "a.py:1", "cpu", each).folder for each in calls] == [
        "f/cpu",
        "f/no-call/cpu",
        "f/no-call-2/cpu",
        "f/x-f32-3/cpu",
    ]


def test_a_case_never_looks_like_a_target() -> None:
    names = RecordNames()
    folders = [names.key("f", "a.py:1", "cpu", [Leaf("cpu", "value", text)]).folder for text in ("4", "8")]
    assert folders == ["f/cpu", "f/with-cpu-8/cpu"]


def test_functions_of_one_name_are_told_apart_by_file_and_surroundings() -> None:
    names = RecordNames()
    given = [("Trainer.step", "train.py:3"), ("step", "eval.py:9"), ("Other.step", "train.py:90"), ("STEP", "x.py:1")]
    assert [names.function(*each) for each in given] == ["step", "eval.step", "train.Other.step", "x.STEP"]
    # A definition that moved within its file is the same function.
    assert names.function("Trainer.step", "train.py:300") == "step"


def test_a_line_that_moved_changes_no_name() -> None:
    def folders(line: int) -> list[str]:
        names = RecordNames()
        calls = [
            ("f", f"a.py:{line}", "f32[2]"),
            ("f", f"a.py:{line}", "f32[3]"),
            ("<lambda>", f"a.py:{line}", "f32[]"),
        ]
        return [names.key(name, place, "cpu", [leaf("x", text)]).folder for name, place, text in calls]

    assert folders(3) == folders(40) == ["f/cpu", "f/x-f32-3/cpu", "lambda/cpu"]


@pytest.mark.parametrize("name", ["<lambda>", "con", "a/../b", "\x1b[31m", "é" * 90, "", "step" * 40, "<locals>"])
def test_every_name_can_be_a_folder(name: str) -> None:
    from hlodiff.snapshots import is_safe

    assert is_safe(safe(name)), safe(name)


def test_long_differences_stay_different() -> None:
    one = difference([], [leaf(f"model.layers[{i}].weight", "f32[3,64]") for i in range(40)])
    two = difference([], [leaf(f"model.layers[{i}].weight", "f32[3,65]") for i in range(40)])
    assert one != two and max(len(one), len(two)) <= 80


def test_only_recordings_are_replaced(tmp_path: Path) -> None:
    check_replaceable(tmp_path)
    check_replaceable(tmp_path / "new")
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="is not a recording"):
        check_replaceable(tmp_path)
    (tmp_path / "recording.json").write_text("{}")
    check_replaceable(tmp_path)


# --- raw records -----------------------------------------------------------------------------------------------------


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "7.jsonl").write_text(
        '{"kind": "process", "started": 2}\n{"kind": "counts", "eager": {"jit_add": 2}}\n{"kind": "prog'
    )
    (tmp_path / "9.jsonl").write_text(
        '{"kind": "process", "started": 1}\n{"kind": "counts", "eager": {"jit_add": 1}}\n'
        '{"kind": "counts", "eager": {"jit_add": 5}, "launches": {"9-0": 3, "eager jit_add": 9}}\n'
    )
    (tmp_path / "8.problem").write_text("CaptureError: jax moved\n")
    raw = read_raw(tmp_path)
    assert (raw.processes, raw.programs, raw.problems) == (2, [], ["CaptureError: jax moved"])
    assert raw.eager == {"jit_add": 7}, "the last count of each process"
    assert raw.calls == {"9-0": 3}


def test_targets_of_recorded_programs() -> None:
    def target(**record: Any) -> str:
        return RawProgram(Path(), record).target

    assert target(platform="cpu", devices=1) == "cpu"
    assert target(platform="cpu", devices=8) == "cpu-8"
    assert target(platform="gpu", devices=1) == "attached"


def test_bytes_that_are_no_bytecode() -> None:
    with pytest.raises(ReadError, match="not MLIR bytecode"):
        mlir.mlir_text(b"module {}")
    with pytest.raises(ReadError, match="does not read"):
        mlir.mlir_text(b"ML\xefR but not more")


# --- the real command ------------------------------------------------------------------------------------------------

RUN = """
import multiprocessing, os, sys
import jax, jax.numpy as jnp
import numpy as np
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_enable_x64", True)

@jax.jit
def step(x, n):
    return jnp.tanh(x) * n

@jax.jit
def spread(x):
    return x @ x.T

@jax.jit
def in_child(x):
    return jnp.cos(x)

def child(kind):
    in_child(np.ones(5 if kind == "spawn" else 6, np.float32))

def run_in(kind):
    process = multiprocessing.get_context(kind).Process(target=child, args=(kind,))
    process.start()
    process.join()

if __name__ == "__main__":
    print("out", sys.argv[1:], "sitecustomize" in sys.modules and sys.modules["sitecustomize"].__file__[-16:])
    print("err", file=sys.stderr)
    run_in("fork")  # later, JAX has threads, and a forked child that uses it hangs with or without hlodiff
    step(np.ones(3), 2.0)
    step(np.ones((2, 3)), 2.0)
    step(np.ones(3), 2.0)
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spread(jax.device_put(jnp.ones((4, 4)), jax.NamedSharding(mesh, jax.P("i"))))
    run_in("spawn")
    raise SystemExit(7)
"""


def recorded(folder: Path, *words: str, name: str = "recording") -> tuple[subprocess.CompletedProcess[str], Any]:
    done = subprocess.run(
        [sys.executable, "-m", "hlodiff", "record", "-o", name, "--", *words],
        cwd=folder, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    path = folder / name / "recording.json"
    return done, json.loads(path.read_text()) if path.exists() else None


@pytest.mark.slow
def test_a_run_with_two_devices_x64_children_and_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.py").write_text(RUN)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/sitecustomize.py").write_text("import os; os.environ['CHAINED'] = 'yes'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent.parent), str(tmp_path / "theirs")]))
    plain = subprocess.run([sys.executable, "run.py", "a b"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    done, index = recorded(tmp_path, sys.executable, "run.py", "a b")
    assert done.returncode == plain.returncode == 7, done.stderr
    assert done.stdout == plain.stdout
    assert "['a b'] sitecustomize.py" in done.stdout
    assert "err\n" in done.stderr
    programs = {row["name"]: row for row in index["programs"]}
    assert sorted(programs) == ["in_child", "in_child/x-f32-5", "spread", "step", "step/x-f64-2x3"]
    assert programs["spread"]["target"] == "cpu-2"
    assert programs["step"]["arguments"] == ["x f64[3]", "n f64[]"]
    assert (index["exit_code"], index["processes"]) == (7, 3)
    step = next(row for row in index["functions"] if row["function"] == "step")
    assert (step["traces"], step["programs"]) == (2, 2)
    assert index["problems"] == []
    traces = (tmp_path / "recording/whole_run/traces.yaml").read_text()
    assert "`x` is f64[2,3], before f64[3]" in traces
    summary = (tmp_path / "recording/spread/cpu-2/summary.yaml").read_text()
    assert "x64: true" in summary and "all-gather" in summary
    # Two recordings of the same are the same, file by file.
    recorded(tmp_path, sys.executable, "run.py", "a b", name="again")
    diff = typed(tmp_path, "diff", "recording", "again", "--exit-code")
    assert diff.returncode == 0, diff.stdout
    assert "5 unchanged" in diff.stdout
    files = sorted(path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*") if path.is_file())
    assert len(files) == 5 * 4 + 3 + 1, "four files for each program, the traces of three processes, and the index"
    for file in files:
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "recording" / file).read_bytes(), file


PROGRAMS = """
import jax, jax.numpy as jnp, numpy as np

def loss(w, x):
    table = jnp.asarray(np.arange(200, dtype=np.float32))
    return jnp.sum(jnp.tanh(x @ w) ** 2) + table[:4].sum() * w[0, 0]

step = jax.jit(jax.value_and_grad(loss), donate_argnums=0)
"""
REGISTERED = """
import hlodiff, programs

@hlodiff.register(name="loss", targets=["cpu"])
def case():
    return hlodiff.Case(programs.step, hlodiff.abstract((4, 4), "float32"), hlodiff.abstract((2, 4), "float32"))
"""


@pytest.mark.slow
def test_a_recorded_program_is_the_one_that_update_records(tmp_path: Path) -> None:
    (tmp_path / "programs.py").write_text(PROGRAMS)
    (tmp_path / "registered.py").write_text(REGISTERED)
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["registered.py"]\n')
    typed(tmp_path, "update")
    run = "import programs, numpy as n\nfor _ in range(5): programs.step(n.ones((4, 4), 'f'), n.ones((2, 4), 'f'))"
    done, index = recorded(tmp_path, "-c", run)
    assert done.returncode == 0, done.stderr
    (name,) = (row["name"] for row in index["programs"])
    assert name.endswith("loss")
    folders = tmp_path / "recording" / name / "cpu", tmp_path / "snapshots/loss/cpu"
    for file in ("stablehlo.mlir", "compiled.hlo"):
        ours, theirs = (folder / file for folder in folders)
        assert ours.read_text() == theirs.read_text()
    said = [(folder / "summary.yaml").read_text() for folder in folders]
    after = [text.partition("op_counts:")[2] for text in said]
    assert after[0] == after[1], "counts, metrics, memory and cost"


SLEEPER = """
import os, sys, time, jax, jax.numpy as jnp
jax.jit(lambda x: x + 1)(jnp.ones(3))
open("pid", "w").write(str(os.getpid()))
time.sleep(100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_run_has_compiled_is_there(tmp_path: Path, how: signal.Signals) -> None:
    """SIGKILL hits the command itself, SIGTERM hlodiff, which hands it on."""
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    command = [sys.executable, "-m", "hlodiff", "record", "--", sys.executable, "sleeper.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.kill(int((tmp_path / "pid").read_text()) if how == signal.SIGKILL else process.pid, how)
    process.communicate(timeout=120)
    assert process.returncode == 128 + how
    index = json.loads((tmp_path / "recording/recording.json").read_text())
    assert [row["name"] for row in index["programs"]] == ["lambda"]
    assert index["exit_code"] == 128 + how


@pytest.mark.slow
def test_a_script_that_watches_itself_ends_quietly(tmp_path: Path) -> None:
    """What records the run watches too, until the end, and must be gone before Python takes its modules down."""
    (tmp_path / "watched.py").write_text(
        "import equinox as eqx, hlodiff, numpy as n\n"
        "@eqx.filter_jit\n"
        "def twice(x): return x * 2\n"
        "with hlodiff.watch() as seen:\n"
        "    twice(n.ones(3, n.float32))\n"
        "    twice(2.0)\n"
        "print(seen.traces('twice'))\n"
    )
    done, index = recorded(tmp_path, sys.executable, "watched.py")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert "ignored" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert [row["function"] for row in index["functions"]] == ["twice"]


@pytest.mark.slow
def test_calls_are_counted_where_that_is_asked_for(tmp_path: Path) -> None:
    script = "import jax, numpy as n; f = jax.jit(lambda x: x * 2); [f(n.ones(3)) for _ in range(11)]; f(n.ones(4))"
    done = typed(tmp_path, "record", "--count-calls", "--", "-c", script)
    assert done.returncode == 0, done.stderr
    index = json.loads((tmp_path / "recording/recording.json").read_text())
    assert [(row["name"], row["calls"]) for row in index["programs"]] == [("lambda", 11), ("lambda/x-f64-4", 1)] or [
        (row["name"], row["calls"]) for row in index["programs"]
    ] == [("lambda", 11), ("lambda/x-f32-4", 1)]


@pytest.mark.slow
def test_forked_children_tell_what_they_called(tmp_path: Path) -> None:
    """They leave by `os._exit`, at which Python runs no exit handler."""
    (tmp_path / "pool.py").write_text(
        "import jax, multiprocessing, numpy as n, os\n"
        "def work(size):\n"
        "    f = jax.jit(lambda x: x * 2)\n"
        "    for _ in range(3): f(n.ones(size, n.float32))\n"
        "child = multiprocessing.get_context('fork').Process(target=work, args=(5,))\n"
        "child.start(); child.join()\n"
        "if not (pid := os.fork()): work(6); os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "if not (pid := os.fork()): os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    done = typed(tmp_path, "record", "--count-calls", "--", "pool.py")
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
    index = json.loads((tmp_path / "recording/recording.json").read_text())
    assert sorted((row["arguments"], row["calls"]) for row in index["programs"]) == [
        (["x f32[5]"], 3),
        (["x f32[6]"], 3),
    ]
    assert index["processes"] == 3, "a child that compiles nothing is none"


@pytest.mark.slow
def test_a_command_without_jax_and_one_that_is_not_there(tmp_path: Path) -> None:
    done, index = recorded(tmp_path, "sh", "-c", "echo hello; exit 3")
    assert (done.returncode, done.stdout, index["programs"], index["processes"]) == (3, "hello\n", [], 0)
    assert "no process imported jax" in done.stderr
    done, _ = recorded(tmp_path, "no-such-command-anywhere", name="other")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-command-anywhere: there is no such command" in done.stderr
    assert not (tmp_path / "other").exists()


LOOPS = """
import contextlib, jax, jax.numpy as jnp
from jax import lax
xs = jnp.ones(4)
double = jax.jit(lambda x: x * 2)
for _ in range(3):
    lax.scan(lambda c, x: (c + x, None), 0.0, xs)
    lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, xs)
    jax.pmap(lambda x: x + 1)(xs[None])
    jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((4,), jnp.float32), xs)
with contextlib.suppress(Exception):
    double.lower(xs).compile(compiler_options={"xla_no_such": 1})
"""


@pytest.mark.slow
def test_loops_outside_of_jit_are_kept(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    done = typed(tmp_path, "record", "--", "loops.py")
    assert done.returncode == 0, done.stderr
    index = json.loads((tmp_path / "recording/recording.json").read_text())
    assert [(row["function"], row["compiles"]) for row in index["programs"]] == [
        ("scan", 3),
        ("while", 3),
        ("pmap(<lambda>)", 3),
        ("pure_callback", 3),
    ]
    assert index["problems"] == [] and set(index["eager"]["operations"]) <= {
        "jit_broadcast_in_dim",
        "jit_convert_element_type",
    }
    assert index["failed"] == {"<lambda>: compiling it ended with JaxRuntimeError": 1}
    assert "not kept: <lambda>: compiling it ended with JaxRuntimeError" in done.stderr
    traces = (tmp_path / "recording/whole_run/traces.yaml").read_text()
    assert traces.count("    traces: 3\n    compiles: 3\n") == 4
