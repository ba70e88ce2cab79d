"""The fixture `hlodiff_case`, seen through pytest itself. A stand-in compiles where it need not be real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hlodiff.differ import diff
from hlodiff.errors import RegistryError
from hlodiff.hlo import read_text
from hlodiff.registry import register
from hlodiff.snapshots import FolderTree, list_snapshots
from tests.test_cli_check import STABLEHLO, TANH

pytest_plugins = ["pytester"]

# Other plugins take seconds in each of these runs, as their modules are imported anew.
QUICK = (
    "-p", "hlodiff.pytest_plugin", "--assert=plain",
    "-p", "no:hypothesispytest", "-p", "no:jaxtyping", "-p", "no:cacheprovider",
)  # fmt: skip
ROOT = Path(__file__).parent.parent
# What the compiler would say of a function is told by its name; `absent` cannot be compiled here, `broken` not at all.
STAND_IN = """
import pytest
from hlodiff.capture import CapturedProgram, CaptureFailure, NotChecked
from hlodiff.pytest_plugin.fixtures import CaseChecker
from tests.test_cli_check import STABLEHLO, TANH

def compiled(checker, case, key, stored):
    name = (case if not hasattr(case, "fn") else case.fn).__name__
    where = (key.function, key.case, key.target)
    if name == "absent":
        return NotChecked(*where, "no libtpu here", "pip install libtpu")
    if name == "broken":
        return CaptureFailure(*where, "model.py:3: TypeError: no", "the end of a log")
    facts = {"toolchain": {"jax": "0.10.2"}, "memory": {}, "cost": {}}
    return CapturedProgram(*where, STABLEHLO, TANH.replace("tanh", name), facts, {})

CaseChecker._capture = compiled
"""
SUITE = """
import hlodiff, pytest
def tanh(): ...
def exponential(): ...
def test_one(hlodiff_case):
    hlodiff_case(hlodiff.Case(tanh))
def test_two(hlodiff_case):
    hlodiff_case(hlodiff.Case(tanh), name="small")
    hlodiff_case(hlodiff.Case(tanh), name="large", targets=["cpu", "cpu-4"])
"""


@pytest.fixture(scope="module", autouse=True)
def _imported_before() -> None:
    """Runs inside this process forget what they import, and C++ extensions cannot be imported twice."""
    assert not diff(read_text(TANH), read_text(TANH.replace("tanh", "exponential"))).identical
    assert diff(*(read_text(STABLEHLO, trusted=True) for _ in range(2))).identical  # parsed in this process


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    pytester.makeconftest(STAND_IN)
    pytester.makepyfile(test_suite=SUITE)
    return pytester


def run(suite: pytest.Pytester, *options: str) -> pytest.RunResult:
    return suite.runpytest_inprocess(*QUICK, *options, no_reraise_ctrlc=True)


def folders(suite: pytest.Pytester) -> list[str]:
    return [key.folder for key in list_snapshots(FolderTree(suite.path / "snapshots/pytest")).keys]


ALL = [
    "test_suite.test_one/cpu",
    "test_suite.test_two/large/cpu",
    "test_suite.test_two/large/cpu-4",
    "test_suite.test_two/small/cpu",
]


def edit(suite: pytest.Pytester, old: str, new: str) -> None:
    file = suite.path / "test_suite.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


# --- recording and comparing -----------------------------------------------------------------------------------------


def test_a_missing_snapshot_fails_with_the_command_that_records_it(suite: pytest.Pytester) -> None:
    result = run(suite, "test_suite.py::test_one")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_suite.test_one  new: no snapshot on cpu",
            "1 new; next: pytest test_suite.py::test_one --hlodiff-update",
        ]
    )
    assert not (suite.path / "snapshots").exists(), "nothing is written unless asked for"


def test_record_then_compare(suite: pytest.Pytester) -> None:
    result = run(suite, "--hlodiff-update")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["snapshots of tests: 4 written, 0 as they were"])
    assert folders(suite) == ALL
    run(suite).assert_outcomes(passed=2)
    run(suite, "--hlodiff-update").stdout.fnmatch_lines(["snapshots of tests: 0 written, 4 as they were"])


def test_a_change_fails_with_the_report(suite: pytest.Pytester) -> None:
    run(suite, "--hlodiff-update")
    edit(suite, "Case(tanh), name", "Case(exponential), name")
    result = run(suite)
    result.assert_outcomes(passed=1, failed=1)
    shown = result.stdout.str().split("test_two _")[1]
    assert shown.split("\n", 1)[1].startswith(
        "test_suite.test_two/small  = same cost on cpu; tanh -> exponential\n"
        "  changed on cpu: structure\n"
        "  StableHLO is the same\n"
        "  compiled (executed numbers)\n"
        "    cpu  no executed number changed\n"
        "    changed tanh -> exponential  (8 flops, 64 B)\n"
    )
    assert "1 changed; next: pytest test_suite.py::test_two --hlodiff-update\n" in shown
    assert "Traceback" not in shown and "def test_two" not in shown
    run(suite, "--hlodiff-update").stdout.fnmatch_lines(["snapshots of tests: 3 written, 1 as they were"])
    run(suite).assert_outcomes(passed=2)


def test_a_damaged_snapshot(suite: pytest.Pytester) -> None:
    run(suite, "--hlodiff-update")
    (suite.path / "snapshots/pytest/test_suite.test_one/cpu/compiled.hlo").write_text("HloModule\n")
    result = run(suite)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["hint: record it again: pytest test_suite.py::test_one --hlodiff-update"])
    run(suite, "--hlodiff-update").assert_outcomes(passed=2)
    run(suite).assert_outcomes(passed=2)


def test_the_marker_names_targets(suite: pytest.Pytester) -> None:
    edit(suite, "def test_one", '@pytest.mark.hlodiff(targets=["cpu", "cpu-2"])\ndef test_one')
    run(suite, "--hlodiff-update", "--strict-markers").assert_outcomes(passed=2)
    assert folders(suite)[:2] == ["test_suite.test_one/cpu", "test_suite.test_one/cpu-2"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("hlodiff_case(3)", "UsageError: `hlodiff_case` takes a hlodiff.Case, not int"),
        (
            "hlodiff_case(hlodiff.Case(tanh), name='a/b')",
            "UsageError: *'a/b' cannot name a case of a test*",
        ),
        ("hlodiff_case(hlodiff.Case(tanh), name='cpu')", "*it is the name of a target"),
        ("[hlodiff_case(hlodiff.Case(tanh)) for _ in '12']", "*has already compared a case without a name"),
        ("hlodiff_case(hlodiff.Case(broken))", "*model.py:3: TypeError: no*"),
    ],
)
def test_what_goes_wrong_is_said_in_words(call: str, words: str, suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=SUITE + f"def broken(): ...\ndef test_three(hlodiff_case):\n    {call}\n")
    result = run(suite, "-k", "three", "--hlodiff-update")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines([words])
    assert "During handling" not in result.stdout.str()


def test_a_marker_of_another_form(suite: pytest.Pytester) -> None:
    edit(suite, "def test_one", '@pytest.mark.hlodiff("cpu")\ndef test_one')
    result = run(suite)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["UsageError: the marker takes a list of targets:*"])


# --- what cannot be compiled here ------------------------------------------------------------------------------------


def test_a_target_that_is_not_here_is_skipped_and_fails_in_ci(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(suite, "Case(tanh))", "Case(absent))")
    edit(suite, "def tanh", "def absent(): ...\ndef tanh")
    run(suite, "--hlodiff-update", "-k", "two")
    result = run(suite, "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*test_suite.test_one on cpu is not checked: no libtpu here"])
    monkeypatch.setenv("CI", "true")
    result = run(suite)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["not checked: test_suite.test_one on cpu", "1 not checked"])


# --- continuous integration ------------------------------------------------------------------------------------------


def test_ci_records_nothing_unless_told(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(suite, "--hlodiff-update")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --hlodiff-update records nothing in CI*"])
    assert folders(suite) == []
    run(suite, "--hlodiff-update", "--hlodiff-ci-write").assert_outcomes(passed=2)
    assert folders(suite) == ALL
    assert run(suite, "--hlodiff-prune").ret == pytest.ExitCode.USAGE_ERROR


# --- snapshots that no test uses -------------------------------------------------------------------------------------

UNUSED = "used by no test: 1 snapshot"


@pytest.fixture
def recorded(suite: pytest.Pytester) -> pytest.Pytester:
    run(suite, "--hlodiff-update")
    edit(suite, 'Case(tanh), name="small"', 'Case(tanh), name="tiny"')
    run(suite, "--hlodiff-update", "-k", "two")
    return suite


def test_unused_snapshots_are_named_when_the_whole_suite_ran(recorded: pytest.Pytester) -> None:
    result = run(recorded)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            UNUSED,
            "  test_suite.test_two/small/cpu",
            "to delete them: pytest --hlodiff-update --hlodiff-prune",
        ]
    )
    run(recorded, ".").stdout.fnmatch_lines([UNUSED])


def test_unused_snapshots_fail_in_ci(recorded: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    result = run(recorded)
    result.stdout.fnmatch_lines([f"this fails in CI, {UNUSED}"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


PARTIAL = (
    ("-k", "test"),
    ("-m", "not slow"),
    ("test_suite.py",),
    ("--deselect", "test_suite.py::test_one"),
    ("--ignore", "other"),
    ("--collect-only",),
)


def test_a_partial_run_blames_nobody(recorded: pytest.Pytester) -> None:
    for options in PARTIAL:
        assert "used by no test" not in run(recorded, *options).stdout.str(), options


def test_a_plugin_that_drops_tests_without_a_word(recorded: pytest.Pytester) -> None:
    recorded.makeconftest(STAND_IN + "def pytest_collection_modifyitems(items): del items[:1]\n")
    result = run(recorded)
    result.assert_outcomes(passed=1)
    assert "used by no test" not in result.stdout.str()


def test_a_run_that_failed_blames_nobody(recorded: pytest.Pytester) -> None:
    edit(recorded, "def test_two", "def test_bad():\n    body\ndef test_two")
    before = "body"
    for body in ("assert False", "raise KeyboardInterrupt", "pytest.exit('enough')"):
        edit(recorded, before, body)
        before = body
        result = run(recorded)
        assert result.ret != 0
        assert "used by no test" not in result.stdout.str()


def test_a_skipped_test_may_have_used_its_snapshots(recorded: pytest.Pytester) -> None:
    edit(recorded, "def test_two", "@pytest.mark.skip\ndef test_two")
    result = run(recorded)
    result.assert_outcomes(passed=1, skipped=1)
    assert "used by no test" not in result.stdout.str()


def test_a_renamed_test(suite: pytest.Pytester) -> None:
    run(suite, "--hlodiff-update")
    edit(suite, "test_one", "test_first")
    result = run(suite, "--hlodiff-update", "--hlodiff-prune")
    result.stdout.fnmatch_lines(["deleted: 1 snapshot", "  test_suite.test_one/cpu"])
    assert folders(suite) == ["test_suite.test_first/cpu", *ALL[1:]]


def test_a_partial_run_deletes_nothing(recorded: pytest.Pytester) -> None:
    before = folders(recorded)
    result = run(recorded, "--hlodiff-update", "--hlodiff-prune", "-k", "one")
    result.stdout.fnmatch_lines(["nothing is deleted, because not the whole suite ran: -k was given"])
    assert folders(recorded) == before


def test_a_run_without_any_case_says_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite="def test_plain(): pass\n")
    assert "hlodiff" not in run(suite).stdout.str().partition("plugins:")[2].partition("\n")[2]


# --- names -----------------------------------------------------------------------------------------------------------


NAMED = """
import hlodiff, pytest
def tanh(): ...
def test_b(hlodiff_case):
    hlodiff_case(hlodiff.Case(tanh))
class TestB:
    @pytest.mark.parametrize("one", range(len(IDS)), ids=IDS)
    def test_c(self, hlodiff_case, one):
        hlodiff_case(hlodiff.Case(tanh))
"""


def named(suite: pytest.Pytester, file: str, ids: list[str], *options: str) -> list[str]:
    """The folders that the tests of a file have for their snapshots."""
    path = suite.path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NAMED.replace("IDS", repr(ids)))
    run(suite, "--hlodiff-update", *options, str(path)).assert_outcomes(passed=1 + len(ids))
    found = {*suite.path.rglob("pytest/**/cpu/summary.yaml")}
    return sorted(one.parent.parent.name for one in found)


def test_names_of_snapshots(suite: pytest.Pytester) -> None:
    assert named(suite, "tests/deep/test_a.py", ["1-x.y"]) == [
        "tests.deep.test_a.TestB.test_c-1-x.y",
        "tests.deep.test_a.test_b",
    ]


def test_the_name_of_a_test_outside_of_the_root(suite: pytest.Pytester) -> None:
    (suite.path / "inner").mkdir()
    names = named(suite, "test_a.py", ["x"], "--rootdir=inner")
    assert not any(name.startswith((".", "-")) for name in names), "neither hidden nor an option"
    assert [name.removeprefix("test_a.") for name in names] == ["TestB.test_c-x", "test_b"]


def test_names_that_cannot_be_folders_stay_different(suite: pytest.Pytester) -> None:
    ids = ["x/y", "x y", "x:y", "..", "\x1b[31m", "ü", "x" * 300, "x" * 301]
    names = named(suite, "test_a.py", ids)
    assert len({name.lower() for name in names}) == 1 + len(ids)
    assert all(len(name) <= 100 and name.isascii() for name in names)


def test_commands_leave_the_snapshots_of_tests_alone(suite: pytest.Pytester) -> None:
    run(suite, "--hlodiff-update")
    listing = list_snapshots(FolderTree(suite.path / "snapshots"))
    assert (listing.keys, listing.strays) == ((), ())
    with pytest.raises(RegistryError, match="belongs to the pytest plugin"):
        register(name="pytest")(lambda: None)


# --- other processes -------------------------------------------------------------------------------------------------


def spawned(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CI"))}
    env |= {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "COLUMNS": "100"}
    command = [sys.executable, "-m", "pytest", *QUICK, *options]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_workers_of_xdist_write_at_once_and_are_heard(suite: pytest.Pytester) -> None:
    many = "\n".join(f"def test_{n}(hlodiff_case): hlodiff_case(hlodiff.Case(tanh))" for n in range(12))
    suite.makepyfile(test_suite=f"import hlodiff\ndef tanh(): ...\n{many}\n")
    done = spawned(suite.path, "-n", "2", "--hlodiff-update")
    assert "snapshots of tests: 12 written, 0 as they were" in done.stdout, done.stdout + done.stderr
    assert len(folders(suite)) == 12
    edit(suite, "def test_7(", "def test_seven(")
    done = spawned(suite.path, "-n", "2", "--hlodiff-update")
    assert f"{UNUSED}\n  test_suite.test_7/cpu" in done.stdout, done.stdout + done.stderr
    assert "used by no test" not in spawned(suite.path, "-n", "2", "-k", "test").stdout
    edit(suite, "def test_8(hlodiff_case): ", "import os\ndef test_8(hlodiff_case): os._exit(3); ")
    done = spawned(suite.path, "-n", "2")
    assert done.returncode == 1
    assert "used by no test" not in done.stdout


REAL = """
import hlodiff, jax.numpy as jnp, pytest
from jax.sharding import NamedSharding, PartitionSpec as P

def step(x):
    return jnp.tanh(x) * 2

def test_step(hlodiff_case):
    hlodiff_case(hlodiff.Case(step, hlodiff.abstract((8,), "float32")))

def test_sharded(hlodiff_case):
    def build(target):
        sharding = NamedSharding(target.mesh((1,), ("x",)), P("x"))
        return hlodiff.Case(step, hlodiff.abstract((8,), "float32", sharding=sharding))
    hlodiff_case(build, targets=["cpu"])
"""


@pytest.mark.slow
def test_real_programs_in_the_process_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_step.py").write_text(REAL)
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nsnapshots = "recorded"\n')
    done = spawned(tmp_path, "--hlodiff-update")
    assert "snapshots of tests: 2 written, 0 as they were" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "recorded/pytest/test_step.test_step/cpu/compiled.hlo").is_file()
    assert "2 passed" in spawned(tmp_path).stdout
    (tmp_path / "test_step.py").write_text(REAL.replace("* 2", "* 3"))
    done = spawned(tmp_path, "test_step.py::test_step")
    assert "changed constant" in done.stdout
    assert "test_step.py:6 (step)" in done.stdout
    assert "pytest_cases.py" not in done.stdout, "no line of hlodiff is blamed"
