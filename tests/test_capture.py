"""Discovering and capturing in worker processes, through the public functions, in temporary projects."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hlodiff.capture import (
    CapturedProgram,
    CaptureFailure,
    Event,
    NotChecked,
    Request,
    capture,
    discover,
    missing_packages,
    parse_target,
)
from hlodiff.capture.cases import build_cases
from hlodiff.config import Config
from hlodiff.errors import CaptureError, ConfigError, HlodiffError, RegistryError
from hlodiff.registry import Case, Registration
from tests.captured_programs import ABSENT, THREE, Project, only, outcomes
from tests.captured_programs import project as project

pytestmark = pytest.mark.slow  # each test starts processes

# --- discovering ----------------------------------------------------------------------------------------------------


def test_discovery_lists_functions_cases_targets_and_places(project: Project) -> None:
    config = project(
        """
        @hlodiff.register
        def one():
            return hlodiff.Case(jnp.sin, VECTOR)

        @hlodiff.register(targets=["cpu", "cpu-4"])
        def several():
            return {"small": hlodiff.Case(jnp.sin, VECTOR), "large": hlodiff.Case(jnp.cos, VECTOR)}

        @hlodiff.register(targets=["tpu-v5e-2x4"])
        def generated(target):
            for size in (2, 8):
                mesh = target.mesh((size,), ("x",))
                yield hlodiff.Case(jnp.sin, VECTOR, name=f"on_{size}")
        """,
        targets=("cpu",),
    )
    one, several, generated = discover(config).functions
    assert (one.name, one.module, one.file, one.line) == ("one", "programs", "programs.py", 5)
    assert one.programs == (("cpu", ("",)),)
    assert several.programs == (("cpu", ("small", "large")), ("cpu-4", ("small", "large")))
    assert generated.programs == (("tpu-v5e-2x4", ("on_2", "on_8")),)
    assert [(r.function, r.case, r.target) for r in discover(config).requests()][:2] == [
        ("one", "", "cpu"),
        ("several", "small", "cpu"),
    ]


def test_a_target_that_is_too_small_has_the_cases_of_the_others(project: Project) -> None:
    config = project(
        """
        @hlodiff.register(targets=["cpu", "cpu-4"])
        def sharded(target):
            target.mesh((4,), ("x",))
            return [hlodiff.Case(jnp.sin, VECTOR, name="a"), hlodiff.Case(jnp.cos, VECTOR, name="b")]
        """
    )
    (found,) = discover(config).functions
    assert found.programs == (("cpu", ("a", "b")), ("cpu-4", ("a", "b")))
    assert found.problem == "it asks for 4 devices, and `cpu` has 1"
    assert isinstance(only(config, [Request("sharded", "a", "cpu")]), NotChecked)


def test_a_function_that_raises_is_listed_and_its_capture_tells_why(project: Project) -> None:
    config = project(
        """
        @hlodiff.register
        def broken():
            raise KeyError("weights")
        """
    )
    (found,) = discover(config).functions
    assert found.problem == "programs.py:7: KeyError: 'weights'"
    outcome = only(config)
    assert isinstance(outcome, CaptureFailure)
    assert outcome.what == "programs.py:7: KeyError: 'weights'"


def test_what_is_registered_wrongly_stops_itself_only(project: Project) -> None:
    config = project(
        """
        @hlodiff.register
        def none(): return 3

        @hlodiff.register
        def mixed():
            lowered = jax.jit(jnp.sin).lower(VECTOR)
            return {"good": hlodiff.Case(jnp.sin, VECTOR), "lowered": hlodiff.Case(lowered), "text": "sin"}

        @hlodiff.register(targets=["tpu-v5-2x2"])
        def elsewhere(): return hlodiff.Case(jnp.cos, VECTOR)

        @hlodiff.register
        def plain(): return hlodiff.Case(jnp.cos, VECTOR, 1, "no array")
        """
    )
    found = {one.name: one for one in discover(config).functions}
    assert found["none"].problem.startswith("programs.py:5: `none` returned int: neither a Case nor a dict or list")
    assert found["mixed"].programs == (("cpu", ("good", "lowered", "text")),)
    wrong = dict(found["mixed"].wrong)
    assert wrong["lowered"] == "case `lowered` of `mixed` holds a jax.stages.Lowered, which is not a function"
    assert wrong["text"].startswith("`mixed` returned str") and not found["mixed"].problem
    assert found["elsewhere"].problem == "there is no target `tpu-v5-2x2`"

    requests = [Request(one.name, case, target) for one in found.values() for target, cs in one.programs for case in cs]
    captured = outcomes(config, requests)
    kinds = {f"{key[0]}/{key[1]}": type(outcome) for key, outcome in captured.items()}
    assert kinds.pop("mixed/good") is CapturedProgram
    assert set(kinds.values()) == {CaptureFailure} and len(kinds) == 5


@pytest.mark.parametrize(
    ("built", "says"),
    [
        ([Case(abs), "x"], "m.py:3: `f` returned str: neither a Case"),
        ([], "m.py:3: `f` returned no case"),
        (Case(3, 1), "m.py:3: `f` cannot be lowered: 3 is not a function"),  # type: ignore[arg-type]
        ({"a": Case(3, 1)}, "m.py:3: case `a` of `f` cannot be lowered"),  # type: ignore[arg-type]
        (Case(abs, 1, parity="yes"), "m.py:3: `parity` of `f` is 'yes'"),  # type: ignore[arg-type]
        ({"a/b": Case(abs)}, "m.py:3: 'a/b' cannot name a case of `f`: only letters"),
        ({"cpu-4": Case(abs)}, "it is the name of a target"),
        ([Case(abs), Case(abs)], "each needs a name: Case(..., name=...)"),
        ([Case(abs, name="a"), Case(abs, name="a")], "another case has it"),
        ({"A": Case(abs), "a": Case(abs)}, "`A` differs only in upper and lower case"),
        ({3: Case(abs)}, "3 cannot name a case of `f`: a name is a string"),
    ],
)
def test_what_a_function_returns_wrongly_is_named_with_its_place(built: object, says: str) -> None:
    registration = Registration("f", lambda: built, None, "m", "/project/m.py", 3, False)
    with pytest.raises(RegistryError) as caught:
        build_cases(registration, None, Path("/project"))
    assert says in str(caught.value)


def test_what_stands_around_calls_of_a_plain_function_is_told(project: Project) -> None:
    config = project(
        """
        @jax.jit
        def inner(x): return x @ x

        def plain(x):
            with jax.default_matmul_precision("highest"):
                return inner(x)

        @jax.jit
        def whole(x): return plain(x)

        SQUARE = hlodiff.abstract((4, 4), "float32")

        @hlodiff.register
        def f(): return {"plain": hlodiff.Case(plain, SQUARE), "whole": hlodiff.Case(whole, SQUARE)}
        """
    )
    captured = outcomes(config, [Request("f", "plain", "cpu"), Request("f", "whole", "cpu")])
    around = {key[1]: outcome.around for key, outcome in captured.items() if isinstance(outcome, CapturedProgram)}
    assert around == {
        "plain": (("inner", "programs.py:5", "jax_default_matmul_precision", "highest"),),
        "whole": (),
    }


def test_a_state_made_of_an_abstract_model_is_met_with_a_hint(project: Project) -> None:
    config = project(
        """
        import equinox as eqx

        def scaled(model, state):
            return jax.tree.map(lambda w, s: w * s, model, state, is_leaf=lambda one: one is None)

        @hlodiff.register
        def f():
            model = eqx.filter_eval_shape(eqx.nn.Linear, 2, 2, key=jax.random.key(0))
            return hlodiff.Case(scaled, model, eqx.filter(model, eqx.is_inexact_array))
        """
    )
    failed = only(config)
    assert isinstance(failed, CaptureFailure)
    assert "\nhint: one Linear of the case has abstract arrays and another one has none" in failed.what


def test_two_functions_of_one_name(project: Project) -> None:
    config = project("@hlodiff.register\ndef f(): ...\n@hlodiff.register(name='f')\ndef g(): ...\n")
    with pytest.raises(RegistryError, match=r"`f` \(.*programs.py:4\) and `f` \(.*programs.py:6\) have the same name"):
        discover(config)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "def helper():\n    return 1 / 0\nhelper()\n",
            "programs.py:2: `programs.py` cannot be imported: ZeroDivision",
        ),
        ("import json\njson.loads('{')\n", "programs.py:2: `programs.py` cannot be imported: JSONDecodeError"),
        ("x = = 3\n", "programs.py:1: `programs.py` cannot be imported: SyntaxError"),
        ("import not_there_at_all\n", "programs.py:1: `programs.py` cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(7)\n", "programs.py:1: `programs.py` cannot be imported: SystemExit: 7"),
        ("\nraise KeyboardInterrupt\n", "programs.py:2: `programs.py` cannot be imported: KeyboardInterrupt"),
    ],
)
def test_a_module_that_raises_on_import(project: Project, body: str, says: str) -> None:
    with pytest.raises(RegistryError) as caught:
        discover(project(body, head=""))
    assert str(caught.value).startswith(says)
    assert "Traceback" not in str(caught.value)


def test_modules_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no modules to import"):
        discover(Config(tmp_path))
    with pytest.raises(ConfigError, match=r"there is no module `pkg.missing`"):
        discover(Config(tmp_path, modules=("pkg.missing",)))
    with pytest.raises(ConfigError, match=r"no file matches `examples/\*.py`"):
        discover(Config(tmp_path, modules=("examples/*.py",)))


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("os._exit(9)", "`b.py` cannot be imported: the worker left with exit code 9; the end of its log:\nlast words"),
        ("os.abort()", "b.py:3: `b.py` cannot be imported: the worker was ended by SIGABRT; the end of its log:\nlast"),
    ],
)
def test_a_module_that_ends_the_process_on_import_is_named(tmp_path: Path, end: str, says: str) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "b.py").write_text(f"import os\nprint('last words')\n{end}\n")
    with pytest.raises(RegistryError) as caught:
        discover(Config(tmp_path, modules=("a.py", "b.py", "a.py")))
    assert str(caught.value).startswith(says)


def test_a_module_that_ends_the_process_only_where_programs_are_compiled_is_named(project: Project) -> None:
    config = project("@hlodiff.register\ndef f(): return hlodiff.Case(jnp.sin, VECTOR)\nos._exit(4)\n")
    with pytest.raises(RegistryError, match=r"^`programs.py` cannot be imported: the worker left with exit code 4$"):
        list(capture(config, [Request("f", "", "cpu")]))


# --- capturing ------------------------------------------------------------------------------------------------------


def test_a_captured_program_has_texts_and_facts(project: Project) -> None:
    config = project(
        """
        @hlodiff.register
        def step():
            def f(state, x, scale):
                return {"w": state["w"] * x * scale, "n": state["n"]}
            state = {"w": VECTOR, "n": hlodiff.abstract((), "int32")}
            return hlodiff.Case(f, state, VECTOR, 2.0, donate="all")
        """
    )
    outcome = only(config)
    assert isinstance(outcome, CapturedProgram)
    assert outcome.compiled is not None and outcome.compiled.startswith("HloModule jit_f")
    assert "stablehlo.multiply" in outcome.stablehlo and "loc(" in outcome.stablehlo
    facts = outcome.facts
    assert facts["devices"] == 1
    assert facts["arguments"] == [
        {"path": "state['n']", "shape": [], "dtype": "int32", "donated": True},
        {"path": "state['w']", "shape": [8], "dtype": "float32", "donated": True},
        {"path": "x", "shape": [8], "dtype": "float32", "donated": True},
        {"path": "scale", "shape": [], "dtype": "float32", "donated": True, "weak_type": True},
    ]
    assert facts["results"] == [
        {"path": "result['n']", "shape": [], "dtype": "int32"},
        {"path": "result['w']", "shape": [8], "dtype": "float32"},
    ]
    assert facts["memory"]["argument"] == 72 and facts["memory"]["alias"] == 36
    assert facts["cost"]["flops"] and facts["cost"]["transcendentals"] is None
    assert facts["toolchain"]["x64"] is False and facts["toolchain"]["xla_flags"] == []
    assert list(outcome.seconds) == ["trace", "lower", "compile"]


def test_settings_reach_the_worker_and_the_toolchain(project: Project) -> None:
    body = "@hlodiff.register\ndef f():\n    return hlodiff.Case(jnp.sin, hlodiff.abstract((8,), os.environ['WIDE']))\n"
    config = project(
        body,
        x64=True,
        matmul_precision="highest",
        xla_flags=("--xla_cpu_enable_fast_math=true", "--xla_dump_hlo_as_text"),
        env=(("WIDE", "float64"),),
    )
    outcome = only(config)
    assert isinstance(outcome, CapturedProgram)
    assert "f64[8]" in (outcome.compiled or "")
    toolchain = outcome.facts["toolchain"]
    assert (toolchain["x64"], toolchain["matmul_precision"]) == (True, "highest")
    assert toolchain["xla_flags"] == ["--xla_cpu_enable_fast_math=true"]


def test_a_sharded_case_gets_the_devices_of_its_target(project: Project) -> None:
    config = project(
        """
        @hlodiff.register(targets=["cpu-4"])
        def product(target):
            mesh = target.mesh((2, 2), ("data", "model"))
            x = hlodiff.abstract((8, 8), "float32", sharding=NamedSharding(mesh, P("data", None)))
            w = hlodiff.abstract((8, 8), "float32", sharding=NamedSharding(mesh, P(None, "model")))
            return hlodiff.Case(lambda x, w: x @ w, x, w, out_shardings=NamedSharding(mesh, P()))
        """
    )
    outcome = only(config)
    assert isinstance(outcome, CapturedProgram)
    assert outcome.facts["devices"] == 4
    assert [a.get("sharding") for a in outcome.facts["arguments"]] == [
        "P(data, None) over data=2, model=2",
        "P(None, model) over data=2, model=2",
    ]
    assert "all-gather" in (outcome.compiled or "")


def test_options_for_an_already_jitted_function_are_refused(project: Project) -> None:
    config = project("@hlodiff.register\ndef f(): return hlodiff.Case(jax.jit(jnp.sin), VECTOR, donate=0)\n")
    outcome = only(config)
    assert isinstance(outcome, CaptureFailure)
    assert "the case sets donate, but its function is already jitted by jax.jit and keeps its own" in outcome.what


def test_a_mesh_of_the_function_s_own_is_not_compiled_under_the_target_s_name(project: Project) -> None:
    if missing_packages(parse_target("tpu-v5e-2x2")):
        pytest.skip("libtpu is not installed")
    config = project(
        """
        @hlodiff.register(targets=["tpu-v5e-2x2"])
        def f():
            mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
            return hlodiff.Case(lambda x: x + 1, hlodiff.abstract((8,), "float32", sharding=NamedSharding(mesh, P())))
        """
    )
    outcome = only(config)
    assert isinstance(outcome, CaptureFailure)
    assert outcome.what.startswith("the function uses cpu devices of its own, not those of `tpu-v5e-2x2`\nhint: take")


def test_what_the_user_s_code_prints_reaches_neither_results_nor_terminal(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    config = project(
        """
        print("on stdout"); os.system("echo from a child")
        @hlodiff.register
        def f():
            print("building")
            return hlodiff.Case(jnp.sin, VECTOR)
        """
    )
    assert isinstance(only(config), CapturedProgram)
    assert capfd.readouterr() == ("", "")


def test_events_tell_what_is_being_compiled(project: Project) -> None:
    config = project("@hlodiff.register(targets=['cpu', 'cpu-2'])\ndef f(): return hlodiff.Case(jnp.sin, VECTOR)\n")
    seen: list[Event] = []
    done = list(capture(config, discover(config).requests(), on_event=seen.append))
    assert [(e.kind, e.function, e.target) for e in seen if e.kind != "phase"] == [
        ("started", "f", "cpu"),
        ("finished", "f", "cpu"),
        ("started", "f", "cpu-2"),
        ("finished", "f", "cpu-2"),
    ]
    assert [e.outcome for e in seen if e.kind == "finished"] == done


def test_a_worker_that_dies_takes_only_its_own_program(project: Project) -> None:
    config = project(
        """
        def case(f): return lambda: hlodiff.Case(f, VECTOR)
        def leave(x): print("about to leave"); os._exit(3)
        def kill(x): print("about to be killed"); os.kill(os.getpid(), 9)
        def crash(x): print("about to crash"); __import__("ctypes").string_at(0)

        hlodiff.register(name="before")(case(jnp.sin))
        hlodiff.register(name="leaves")(case(leave))
        hlodiff.register(name="killed")(case(kill))
        hlodiff.register(name="crashes")(case(crash))
        hlodiff.register(name="after")(case(jnp.cos))
        """
    )
    found = outcomes(config)
    assert isinstance(found["before", "", "cpu"], CapturedProgram) and isinstance(
        found["after", "", "cpu"], CapturedProgram
    )
    deaths = {o.function: (o.what, o.log_tail.splitlines()[0]) for o in found.values() if isinstance(o, CaptureFailure)}
    assert deaths == {
        "leaves": ("the worker left with exit code 3 (`leaves` is registered at programs.py:5)", "about to leave"),
        "killed": (
            "the worker was ended by SIGKILL, possibly out of memory (`killed` is registered at programs.py:5)",
            "about to be killed",
        ),
        "crashes": ("programs.py:8: the worker was ended by SIGSEGV", "about to crash"),
    }


def test_an_error_of_the_function_points_at_its_line(project: Project) -> None:
    config = project(
        """
        def f(x):
            return x @ jnp.ones((5,))

        @hlodiff.register
        def product(): return hlodiff.Case(f, VECTOR)
        """
    )
    outcome = only(config)
    assert isinstance(outcome, CaptureFailure)
    assert outcome.what.startswith("programs.py:6: TypeError: dot_general requires")
    assert "programs.py:6 in f: return x @ jnp.ones((5,))" in outcome.log_tail
    assert "site-packages" not in outcome.log_tail


def test_flags_that_xla_does_not_know(project: Project) -> None:
    config = project(
        "@hlodiff.register\ndef f(): return hlodiff.Case(jnp.sin, VECTOR)\n", xla_flags=("--xla_no_such=1",)
    )
    with pytest.raises(CaptureError, match=r"before it could start(.|\n)*Unknown flag"):
        only(config)


def test_requests_that_name_what_is_not_there(project: Project) -> None:
    config = project("@hlodiff.register\ndef f(): return hlodiff.Case(jnp.sin, VECTOR)\n")
    found = outcomes(config, [Request("g", "", "cpu"), Request("f", "small", "cpu")])
    assert [o.what.split("\n")[0] for o in found.values() if isinstance(o, CaptureFailure)] == [
        "no function is registered as `g`",
        "programs.py:4: `f` has no case `small`, only ``",
    ]
    (unknown,) = outcomes(config, [Request("f", "", "cpu-x")]).values()
    assert isinstance(unknown, CaptureFailure) and "there is no target `cpu-x`" in unknown.what


def test_xla_is_not_asked_where_the_stablehlo_and_the_toolchain_are_known(project: Project) -> None:
    from hlodiff.hlo import program_fingerprint, read_stablehlo
    from hlodiff.normalizer import normalize

    config = project("@hlodiff.register\ndef f(): return hlodiff.Case(lambda x: jnp.sin(x) * 2, VECTOR)\n")
    first = only(config)
    assert isinstance(first, CapturedProgram) and not first.unchanged
    known = program_fingerprint(normalize(read_stablehlo(first.stablehlo)))
    toolchain = first.facts["toolchain"]

    others = ("0" * 64, toolchain), (known, {"jax": "0.9.2"})
    requests = [Request("f", "", "cpu", *stored) for stored in ((known, toolchain), *others)]
    second, *asked = capture(config, requests)
    assert isinstance(second, CapturedProgram)
    assert (second.unchanged, second.compiled) == (True, None) and "compile" not in second.seconds
    assert len(asked) == len(others)
    for one in asked:
        assert isinstance(one, CapturedProgram) and not one.unchanged and one.compiled == first.compiled


# --- three compilers ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(bool(ABSENT), reason=f"cannot compile for {ABSENT}")
def test_one_worker_compiles_for_three_backends(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    config = project(
        """
        @hlodiff.register
        def f(): return hlodiff.Case(lambda x, s: jnp.sin(x) * s, VECTOR, 2.0)

        @hlodiff.register
        def nothing(): return hlodiff.Case(lambda: jnp.arange(4))

        @hlodiff.register
        def real(): return hlodiff.Case(lambda x: x + 1, jax.device_put(jnp.ones(4), jax.devices("cpu")[0]))

        @hlodiff.register
        def talks():
            def f(x):
                jax.debug.print("{}", x)
                return x + 1
            return hlodiff.Case(f, VECTOR)

        @hlodiff.register
        def hosted():
            def f(x): return jax.device_put(x, jax.memory.Space.Device) * 2
            return hlodiff.Case(f, hlodiff.abstract((64,), "float32", memory_kind="pinned_host"))
        """,
        targets=THREE,
    )
    found = outcomes(config)
    marks = {"cpu": "HloModule", "tpu-v5e-2x2": ":T(", "cuda-h100-x4": "_gpu"}
    for function in ("f", "nothing", "real", "hosted"):
        for target in THREE if function != "hosted" else THREE[:2]:  # test_capture_memory.py has the third
            outcome = found[function, "", target]
            assert isinstance(outcome, CapturedProgram), outcome
            assert target != "tpu-v5e-2x2" or marks[target] in (outcome.compiled or "")
    gpu = found["f", "", "cuda-h100-x4"]
    assert isinstance(gpu, CapturedProgram) and "kind=kLoop" in (gpu.compiled or "")
    assert gpu.facts["cost"] == {"flops": None, "bytes_accessed": None, "transcendentals": None}
    assert gpu.facts["toolchain"]["plugin"].startswith("jax-cuda")
    hosted = found["hosted", "", "tpu-v5e-2x2"]
    assert isinstance(hosted, CapturedProgram)
    assert hosted.facts["arguments"][0]["memory_kind"] == "pinned_host"
    assert "S(5)" in (hosted.compiled or "") and hosted.facts["memory"]["host_argument"]
    refused = found["talks", "", "cuda-h100-x4"]
    assert isinstance(refused, NotChecked)
    assert "calls back into Python" in refused.reason and "EQX_ON_ERROR" in refused.advice
    assert capfd.readouterr() == ("", "")


def test_a_target_that_cannot_be_opened_is_not_checked(project: Project) -> None:
    config = project(
        "@hlodiff.register\ndef f(): return hlodiff.Case(jnp.sin, VECTOR)\n", env=(("JAX_PLATFORMS", "tpu"),)
    )
    outcome = only(config, [Request("f", "", "attached")])
    assert isinstance(outcome, NotChecked)
    assert outcome.reason.startswith("this machine has no accelerator that JAX can use")


# --- leaving --------------------------------------------------------------------------------------------------------

SLOW = """
@hlodiff.register
def slow():
    import time
    open("pid", "w").write(str(os.getpid()))
    time.sleep(600)
"""

RUN = """
import sys; from pathlib import Path; from hlodiff.capture import capture, Request; from hlodiff.config import Config
print("ready", flush=True)
list(capture(Config(Path(sys.argv[1]), modules=("programs.py",)), [Request("slow", "", "cpu")]))
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(1200):
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_run_that_is_stopped(project: Project, tmp_path: Path, how: signal.Signals) -> None:
    project(SLOW)
    logs = tmp_path / "logs"
    logs.mkdir()
    environment = os.environ | {"TMPDIR": str(logs)}
    parent = subprocess.Popen([sys.executable, "-c", RUN, tmp_path], env=environment, stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    assert eventually(lambda: pid.exists() and pid.read_text() != "")
    worker = int(pid.read_text())
    parent.send_signal(how)
    assert parent.wait(timeout=300) != 0
    assert eventually(lambda: not alive(worker))
    assert how != signal.SIGINT or list(logs.iterdir()) == []


QUICK = """
@hlodiff.register
def quick():
    # A worker that starts late would get nothing to do: work is given out while somebody waits for the next outcome.
    import time
    while not os.path.exists("pid"):
        time.sleep(0.02)
    return hlodiff.Case(jnp.sin, VECTOR)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_iterator_that_is_closed_ends_its_workers(project: Project, tmp_path: Path) -> None:
    config = project(QUICK + SLOW, jobs=2)
    run = capture(config, [Request("quick", "", "cpu"), Request("slow", "", "cpu")], jobs=2)
    first = next(iter(run))
    assert first.function == "quick"
    pid = tmp_path / "pid"
    assert eventually(lambda: pid.exists() and pid.read_text() != "")
    run.close()  # type: ignore[attr-defined]  # it is a generator
    assert not alive(int(pid.read_text()))


def test_errors_cross_from_the_worker_as_they_are(project: Project) -> None:
    with pytest.raises(HlodiffError) as caught:
        discover(project("@hlodiff.register(name='a b')\ndef f(): ...\n"))
    assert type(caught.value) is RegistryError
    assert caught.value.where == "programs.py:4" and caught.value.hint == '@hlodiff.register(name="a_safe_name")'
