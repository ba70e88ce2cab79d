"""Scenarios in `update`, `check`, `list`, `show` and `diff`, around a stand-in for the worker.

The real one is asked last.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hlodiff import registry as registered
from hlodiff.capture import DiscoveredScenario, Discovery, ScenarioRun
from hlodiff.config import Config
from hlodiff.errors import RegistryError
from hlodiff.snapshots import Key, record_id
from hlodiff.tracing import Call, Compilation, Function, Leaf, Trace
from tests.typed import typed

ROOT = Path(__file__).resolve().parent.parent
Ask = Callable[..., tuple[int, str, str]]


def events(*shapes: int, name: str = "step", line: int = 3) -> tuple[Trace | Compilation, ...]:
    """A function that is called with an array of each size in turn, each traced and compiled."""
    found: list[Trace | Compilation] = []
    function = Function(name, f"m.py:{line}")
    for number, size in enumerate(shapes):
        call = Call(function, f"m.py:{line + 5}", (Leaf("x", "array", f"f32[{size}]"),))
        found.append(Trace(2 * number, call, "", False, 0.5, "MainThread"))
        found.append(Compilation(2 * number + 1, f"jit_{name}", function, call, True, f"mark{size}", "cpu"))
    return tuple(found)


class Runner:
    """Answers for the workers: what is registered, and what running it gives."""

    def __init__(self) -> None:
        self.outcomes: dict[str, ScenarioRun] = {
            name: ScenarioRun(name, events(3), "0.10.2") for name in ("one", "two")
        }
        self.budgets: dict[str, tuple[tuple[str, int], ...]] = {}
        self.ran: list[str] = []

    def discover(self, config: Config) -> Discovery:
        found = [DiscoveredScenario(name, "m.py", 9, self.budgets.get(name, ())) for name in self.outcomes]
        return Discovery((), tuple(found))

    def run(
        self, config: Config, wanted: Sequence[DiscoveredScenario], jobs: int | None = None
    ) -> Iterator[ScenarioRun]:
        for found in reversed(wanted):  # they come as they are done
            self.ran.append(found.name)
            yield self.outcomes[found.name]

    def now(self, name: str, *shapes: int, **more: int) -> None:
        self.outcomes[name] = ScenarioRun(name, events(*shapes, **more), "0.10.2")  # type: ignore[arg-type]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["m.py"]\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    stand_in = Runner()
    for name in ("workflows.check", "workflows.update", "cli.list_command"):
        monkeypatch.setattr(f"hlodiff.{name}.discover", stand_in.discover)
    monkeypatch.setattr("hlodiff.workflows.scenarios.ran", stand_in.run)
    return stand_in


def recorded(name: str = "one") -> Path:
    return Path("snapshots") / name / "traces.yaml"


def rules(out: str) -> list[tuple[str, str]]:
    return [(finding["rule"], finding["program"]) for finding in json.loads(out)["findings"]]


def test_update_writes_what_a_reviewer_reads(runner: Runner, said: Ask) -> None:
    runner.now("one", 3, 4)
    code, out, _ = said("update")
    assert (code, out) == (0, "one  traces  new\ntwo  traces  new\n2 new; next: git add snapshots\n")
    assert recorded().read_text() == (
        "format_version: 1\n"
        "scenario: one\n"
        "jax: 0.10.2\n"
        "functions:\n"
        "  step:\n"
        "    defined: m.py:3\n"
        "    traces: 2\n"
        "    compiles: 2\n"
        "    programs: [mark3, mark4]\n"
        "    again:\n"
        "      trace 2:\n"
        "        called: m.py:8\n"
        "        why:\n"
        "        - {kind: shape, path: x, what: '`x` is f32[4], before f32[3]'}\n"
    )


def test_the_same_calls_from_other_lines_change_nothing(runner: Runner, said: Ask) -> None:
    said("update")
    before = recorded().read_bytes()
    runner.now("one", 3, line=40)
    code, out, _ = said("check")
    assert (code, out) == (0, "checked 2 scenarios on cpu\nscenarios: 2 unchanged\n")
    assert said("update")[1] == "2 unchanged; next: hlodiff check\n"
    assert recorded().read_bytes() == before


def test_more_traces_fail_and_say_why(runner: Runner, said: Ask) -> None:
    said("update")
    runner.now("one", 3, 5, 3)
    code, out, _ = said("check")
    own = record_id(Key("one", "", "traces"), Path(".hlodiff/pending/one/traces.yaml").read_text())
    assert (code, out) == (
        1,
        "one on cpu  traces: `step` is traced 3 times, before 1 time; `step` has 2 programs, before 1\n"
        "  step  3 traces, 2 programs, compiled 3 times (m.py:3)\n"
        "    trace 2, called at m.py:8\n"
        "      `x` is f32[5], before f32[3]\n"
        "        -> pad to one shape, or expect one program for each shape\n"
        "    trace 3, called at m.py:8; waste: equal to program 1\n"
        "      nothing that hlodiff sees differs from an earlier call\n"
        "        -> JAX_EXPLAIN_CACHE_MISSES=1 shows what JAX looked for in its cache\n"
        f"  hint: hlodiff accept {own}\n"
        "\n"
        "checked 2 scenarios on cpu\n"
        "scenarios: 1 changed, 1 unchanged; next: hlodiff accept one\n",
    )
    assert said("update")[1].startswith("one  traces  changed\n  `step` is traced 3 times, before 1 time\n")
    assert said("check")[0] == 0


@pytest.mark.parametrize(
    ("shapes", "what"),
    [((9,), "`step`: 1 of 1 program changed"), ((3, 3), "`step` is traced 2 times, before 1 time")],
)
def test_what_else_changes(runner: Runner, said: Ask, shapes: tuple[int, ...], what: str) -> None:
    said("update")
    runner.now("one", *shapes)
    assert json.loads(said("check", "--format", "json")[1])["scenarios"][0]["changes"] == [what]


def test_another_jax_writes_other_programs(runner: Runner, said: Ask) -> None:
    said("update")
    runner.outcomes["one"] = ScenarioRun("one", events(9), "0.11.0")
    code, out, _ = said("check", "--format", "json")
    (one, _) = json.loads(out)["scenarios"]
    assert (code, one["status"]) == (0, "identical")
    assert one["notes"] == ["recorded with jax 0.10.2, now 0.11.0: counts are compared, not the programs"]


@pytest.mark.parametrize(
    ("budget", "what"),
    [
        ((("", 1),), "`step` has 2 traces, max_traces allows 1"),
        ((("step", 1),), "`step` has 2 traces, max_traces allows 1"),
        ((("total", 1),), "2 traces in all, max_traces allows 1"),
        ((("stp", 2),), "max_traces names `stp`, but no function of that name was traced"),
        ((("step", 2), ("total", 2)), ""),
    ],
)
def test_a_budget_fails_also_where_nothing_changed(
    runner: Runner, said: Ask, budget: tuple[tuple[str, int], ...], what: str
) -> None:
    runner.now("one", 3, 4)
    said("update")
    runner.budgets["one"] = budget
    code, out, _ = said("check", "--format", "json")
    assert code == (1 if what else 0)
    assert [finding["what"] for finding in json.loads(out)["findings"]] == ([what] if what else [])
    if what:
        assert f"one on cpu  traces-budget: {what}\n  step  2 traces, 2 programs (m.py:3)\n" in said("check")[1]
        assert "fails: **one on cpu** traces-budget" in said("check", "--format", "markdown")[1].replace("\\", "")


def test_missing_and_orphaned_records(runner: Runner, said: Ask) -> None:
    said("update", "one")
    assert not recorded("two").exists()
    code, out, _ = said("check", "--format", "json")
    assert (code, rules(out)) == (1, [("traces-new", "two")])
    del runner.outcomes["one"]
    code, out, _ = said("check", "--format", "json")
    assert (code, rules(out)) == (1, [("traces-new", "two"), ("traces-orphaned", "one")])
    assert said("list")[1] == (
        "two  (m.py:9)\n  scenario: new\none  (no longer registered)\n  scenario: orphaned\n"
        "0 functions, 2 scenarios, 0 recorded, 1 new, 1 orphaned; next: hlodiff update\n"
    )
    assert "one  traces  orphaned" in said("update")[1] and recorded().exists()
    assert "one  traces  deleted" in said("update", "--prune")[1] and not recorded().parent.exists()
    assert said("check")[0] == 0


def test_a_scenario_that_raises_is_broken(runner: Runner, said: Ask) -> None:
    said("update")
    runner.outcomes["two"] = ScenarioRun("two", what="m.py:12: ValueError: \x1b[31mno", advice="do better", log="a\nb")
    code, out, _ = said("check")
    assert code == 2
    assert out.startswith(
        "two on cpu  traces-broken: m.py:12: ValueError: \\x1b[31mno\n  a\n  b\n  hint: do better\n\n"
    )
    assert out.endswith("1 could not be judged, 1 unchanged; next, once it is repaired: hlodiff check two\n")
    code, out, _ = said("update")
    assert code == 2 and "two  traces  failed\n  m.py:12" in out


def test_a_broken_record_is_said_and_healed(runner: Runner, said: Ask) -> None:
    said("update")
    recorded().write_text("format_version: 1\nfunctions:\n  step: 3\n")
    code, out, _ = said("check")
    assert code == 2 and "snapshots/one/traces.yaml: is not a record of traces: `step` cannot be" in out
    assert "one  traces  recorded again: the old one was broken" in said("update")[1]
    recorded().write_text("format_version: 99\n")
    assert said("check")[0] == 2
    code, out, _ = said("update")
    assert code == 2 and "format version 99 is newer than this hlodiff reads" in out


def test_names_and_targets_select(runner: Runner, said: Ask) -> None:
    said("update")
    runner.ran.clear()
    assert "checked 1 scenario on cpu" in said("check", "tw*")[1]
    assert said("check", "--target", "cpu")[0] == 0
    assert runner.ran == ["two", "two", "one"]
    code, _, err = said("check", "thre")
    assert code == 2 and "no function matches `thre`" in err
    code, _, err = said("check", "--target", "tpu-v5e-2x2")
    assert code == 2 and "no target matches" in err


def test_show_and_diff(runner: Runner, said: Ask) -> None:
    runner.now("one", 3, 4)
    said("update")
    Path("snapshots").rename("old")
    runner.now("one", 3)
    said("update")
    assert said("show", "one")[1] == "one  traces of a scenario, jax 0.10.2\n  step  1 trace, 1 program (m.py:3)\n"
    shown = json.loads(said("show", "one", "--format", "json")[1])["scenarios"]
    assert shown == [
        {"name": "one", "jax": "0.10.2", "functions": {
            "step": {"defined": "m.py:3", "traces": 1, "compiles": 1, "programs": ["mark3"]}}}
    ]  # fmt: skip
    code, out, _ = said("diff", "old", "snapshots", "--exit-code")
    assert code == 1
    assert out.startswith(
        "one  note: traces: `step` is traced 1 time, before 2 times; `step` has 1 program, before 2\n"
    )
    assert out.endswith("scenarios: 1 changed, 1 unchanged\n")
    recorded().unlink()
    assert "one  note: traces: removed\n" in said("diff", "old", "snapshots")[1]


def test_every_form_tells_of_scenarios(runner: Runner, said: Ask) -> None:
    said("update")
    runner.now("one", 3, 5)
    said("check", "--format", "json", "-o", "saved.json")
    for form in ("markdown", "junit", "sarif", "github", "comment", "summary"):
        code, fresh, _ = said("check", "--format", form)
        assert code == 1 and "is traced 2 times, before 1 time" in fresh
        if form in ("junit", "comment"):  # made from what was saved, too
            assert "is traced 2 times, before 1 time" in said("diff", "saved.json", "--format", form)[1]
    assert "scenarios: 1 changed, 1 unchanged" in said("diff", "saved.json")[1]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"name": "a/b"}, "cannot be the name of a scenario"),
        ({"max_traces": "1"}, "must be a whole number, or a dict"),
        ({"max_programs": {"step": -1}}, "must be a whole number, or a dict"),
        ({"devices": 0}, "must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_registered(options: dict[str, object], what: str) -> None:
    def steps(count: int = 3) -> None: ...

    def needy(count: int) -> None: ...

    with pytest.raises(RegistryError, match=what):
        registered.scenario(**options)(steps)  # type: ignore[call-overload]
    with pytest.raises(RegistryError, match="needs the parameters count: a scenario has none"):
        registered.scenario(needy)  # type: ignore[type-var]


STEPS = """import equinox as eqx, hlodiff, jax, jax.numpy as jnp

class Layer(eqx.Module):
    activation: object
    def __call__(self, x):
        return self.activation(x)

@eqx.filter_jit
def step(model, x):
    return model(x) * 2

def relu(x):
    return jnp.maximum(x, 0)

@hlodiff.scenario(max_traces=1)
def three_steps():
    for _ in range(3):
        step(Layer(relu), jnp.ones(8))
"""


def hlodiff(folder: Path, *arguments: str, seed: str = "1") -> tuple[int, str]:
    run = typed(folder, *arguments, COLUMNS="120", PYTHONHASHSEED=seed)
    return run.returncode, run.stdout


@pytest.mark.slow
def test_the_real_worker(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["steps.py"]\n')
    (tmp_path / "steps.py").write_text(STEPS)
    assert hlodiff(tmp_path, "update") == (0, "three_steps  traces  new\n1 new; next: git add snapshots\n")
    assert hlodiff(tmp_path, "check") == (0, "checked 1 scenario on cpu\nscenarios: 1 unchanged\n")
    (tmp_path / "steps.py").write_text(STEPS.replace("Layer(relu)", "Layer(lambda x: relu(x))"))
    code, out = hlodiff(tmp_path, "check")
    assert code == 1
    own = record_id(
        Key("three_steps", "", "traces"), (tmp_path / ".hlodiff/pending/three_steps/traces.yaml").read_text()
    )
    assert out == (
        "three_steps on cpu  traces: `step` is traced 3 times, before 1 time\n"
        "  step  3 traces, 1 program, compiled 3 times (steps.py:8)\n"
        "    traces 2, 3, called at steps.py:18; waste: equal to program 1\n"
        "      `model.activation` is a new function object each time (same code, steps.py:18)\n"
        "        -> create it once, outside of what runs again\n"
        f"  hint: hlodiff accept {own}\n"
        "\n"
        "three_steps on cpu  traces-budget: `step` has 3 traces, max_traces allows 1\n"
        "\n"
        "checked 1 scenario on cpu\n"
        "scenarios: 1 over budget; next, once within limits: hlodiff check three_steps\n"
    )
    (tmp_path / "steps.py").write_text(STEPS.replace("Layer(relu)", "Layer({1, 2})"))
    code, out = hlodiff(tmp_path, "check")
    assert code == 2 and "traces-broken: steps.py:18: ValueError: Non-hashable static arguments" in out
    assert "hint: make static arguments hashable" in out and " at 0x" not in out


TROUBLES = """
@hlodiff.scenario(devices=4, max_programs={"total": 1})
def spread():
    from jax.sharding import NamedSharding, PartitionSpec as P
    double = jax.jit(lambda x: x * 2)
    mesh = jax.make_mesh((4,), ("d",))
    double(jnp.ones(8)), double(jax.device_put(jnp.ones(8), NamedSharding(mesh, P("d"))))

@hlodiff.scenario
def dies():
    import os
    os._exit(3)
"""


@pytest.mark.slow
def test_devices_deaths_and_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["steps.py"]\n')
    (tmp_path / "steps.py").write_text(STEPS.replace("Layer(relu)", "Layer(lambda x: relu(x))") + TROUBLES)
    records = []
    for seed in "12":
        code, out = hlodiff(tmp_path, "update", seed=seed)
        assert code == 2 and "dies  traces         failed\n  the worker left with exit code 3\n" in out
        records.append(
            [recorded(str(tmp_path / "snapshots" / name)).read_bytes() for name in ("three_steps", "spread")]
        )
        shutil.rmtree(tmp_path / "snapshots")
    assert records[0] == records[1]
    assert b"`x` is sharded as P(d) over d=4, before wherever JAX put it" in records[0][1]
    assert b"called: steps.py:18" in records[0][0] and b"0x" not in records[0][0] + records[0][1]


LOOPS = """
import hlodiff, jax, jax.numpy as jnp
from jax import lax

def body(carry, x): return carry + x, None

@hlodiff.scenario(max_traces={"total": 2, "scan": 1}, max_programs=1)
def eager_loops():
    xs = jnp.ones(4)
    for _ in range(3):
        lax.scan(body, 0.0, xs)
        PMAP(xs[None])

PMAP = jax.pmap(lambda x: x * 2)
"""


@pytest.mark.slow
def test_a_loop_outside_of_jit_fails_its_record_and_its_budgets(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["loops.py"]\n')
    (tmp_path / "loops.py").write_text(LOOPS)
    assert hlodiff(tmp_path, "update")[0] == 0
    text = recorded(str(tmp_path / "snapshots/eager_loops")).read_text()
    assert "  scan:\n    defined: loops.py:11\n    traces: 1\n    compiles: 1\n" in text
    assert "  pmap(<lambda>):\n    defined: loops.py:14\n    traces: 1\n    compiles: 1\n" in text
    assert hlodiff(tmp_path, "check")[0] == 0
    fresh = LOOPS.replace("(body,", "(lambda carry, x: (carry + x, None),").replace("PMAP(", "jax.pmap(lambda x: x)(")
    (tmp_path / "loops.py").write_text(fresh)
    code, out = hlodiff(tmp_path, "check")
    assert code == 1
    for line in (
        "eager_loops on cpu  traces: `scan` is traced 3 times, before 1 time; `pmap(<lambda>)` is traced 3 times",
        "      its function `<lambda>` (loops.py:11) is a new function object each time\n",
        "      `pmap(<lambda>)` is a new function object each time (same code, loops.py:12)\n",
        "traces-budget: 6 traces in all, max_traces allows 2\n",
        "traces-budget: `scan` has 3 traces, max_traces allows 1\n",
    ):
        assert line in out
