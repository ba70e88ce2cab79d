"""`hlodiff log` and `bisect` of what tests have recorded, of several targets, and of names with a slip."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hlodiff.cli import run
from hlodiff.snapshots import write_snapshot
from tests.past import Past, snapshot


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Past:
    """A function on two targets, and a test with a snapshot of its own, changed in a merged branch."""
    past = Past(tmp_path_factory.mktemp("tested") / "a repository")
    tests = past.project / "snapshots/pytest"
    tests.mkdir(parents=True)
    for target in ("cpu", "tpu-v5e-2x2"):
        past.record("step", "sine", target=target)
    write_snapshot(tests, snapshot("test_model.test_step", ("sine",)))
    past.commit("Record")
    past.git("checkout", "-q", "-b", "side")
    write_snapshot(tests, snapshot("test_model.test_step", ("sine", "copy")))
    past.commit("A copy in the test")
    past.git("checkout", "-q", "main")
    past.record("step", "sine", "copy", target="tpu-v5e-2x2")
    past.commit("A copy on TPU")
    past.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    return past


Ask = Callable[..., str]


@pytest.fixture
def ask(recorded: Past, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs a command in the project; returns what it printed, messages behind it."""
    monkeypatch.chdir(recorded.project)
    monkeypatch.setenv("COLUMNS", "140")

    def run_it(*arguments: str, code: int = 0) -> str:
        assert run(arguments) == code
        printed = capsys.readouterr()
        return recorded.named(printed.out + printed.err)

    return run_it


@pytest.mark.parametrize("name", ["test_model.test_step", "pytest/test_model.test_step", "pytest/*"])
def test_a_test_has_a_history_too(ask: Ask, name: str) -> None:
    assert ask("log", name, "-m", "copies") == (
        "pytest/test_model.test_step on cpu, compiled: 2 commits, 2026-01-01 to 2026-01-02\n"
        "  copies  ▁█  0 -> 1\n\n"
        "  commit   date        copies  subject\n"
        "  c000001  2026-01-02    1 +1  A copy in the test\n"
        "  c000000  2026-01-01    0     Record\n"
        "           history begins here\n"
    )


def test_without_a_name_tests_come_last(ask: Ask) -> None:
    labels = [line.split("  ")[0].rstrip() for line in ask("log").splitlines()]
    assert labels == ["step on cpu", "step on tpu-v5e-2x2", "pytest/test_model.test_step on cpu"]


def test_bisect_of_a_test_and_of_several_targets(ask: Ask) -> None:
    said = ask("log", "test_model.test_step", "copies")
    folder = "snapshots/pytest/test_model.test_step/cpu"
    assert f"  next        hlodiff diff c000001~1:{folder} c000001:{folder}\n" in said
    assert "  c000001  2026-01-02  Ann Example  A copy in the test\n" in said
    said = ask("log", "step", "copies")
    assert "step on cpu, compiled: 1 commit, 2026-01-01\n  copies  ▁  0, unchanged\n  never changed: 0\n" in said
    assert "  c000002  2026-01-03  Ann Example  A copy on TPU\n" in said


def test_names_and_numbers_with_a_slip(ask: Ask) -> None:
    for arguments, hint in (
        (["log", "pytest/test_model.test_stpe"], "did you mean `pytest/test_model.test_step`? "),
        (["log", "test_step", "copies"], "did you mean `pytest/test_model.test_step`? "),
        (["log", "step", "copeis"], "did you mean `copies`? "),
        (["log", "pytest/test_model.test_step", "-t", "tpu*"], "it is recorded on cpu"),
    ):
        assert f"hint: {hint}" in ask(*arguments, code=2)
