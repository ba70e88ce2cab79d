"""`hlodiff.check`, `update` and `accept` in Python: the same as the commands, in another folder, without output."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff.cli import run
from hlodiff.errors import ConfigError, UsageError
from hlodiff.progress import Progress, progress, reporting_to
from hlodiff.report import to_json
from hlodiff.workflows import decisions_json, update_json

PROGRAM = """import jax.numpy as jnp

import hlodiff


@hlodiff.register
def f():
    return hlodiff.Case(lambda x: jnp.sin(x) * 2, hlodiff.abstract((8,), "float32"))


@hlodiff.register
def g():
    return hlodiff.Case(lambda x: x + 1, hlodiff.abstract((8,), "float32"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\njobs = 1\n')
    (folder / "programs.py").write_text(PROGRAM)
    return folder


def command(folder: Path, *arguments: str) -> tuple[int, Any]:
    """Exit code and JSON of a command, typed in the current folder as the functions are called in it."""
    line = [sys.executable, "-m", "hlodiff", *arguments, "--project", str(folder), "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_update_check_and_accept(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    events: list[Progress] = []
    updated = hlodiff.update(root=project, on_progress=events.append)
    assert [(row.key.name, row.key.target, row.status) for row in updated.rows] == [
        ("f", "cpu", "new"),
        ("g", "cpu", "new"),
    ]
    assert (updated.exit_code, updated.verdict) == (0, "clean")
    assert events[0] == Progress("starting JAX", "", 0, 0) and events[-1] == Progress("capturing", "", 2, 2, ended=True)
    done = [f"{event.activity} {event.item} {event.done}/{event.total}" for event in events if not event.ended]
    assert list(dict.fromkeys(done))[:4] == [
        "starting JAX  0/0",
        "importing programs.py  0/0",
        "asking for the cases of f 0/0",
        "asking for the cases of g 0/0",
    ]
    phases = ["asking for", "tracing", "lowering", "compiling", "recording"]
    for name in ("f on cpu", "g on cpu"):
        assert [event.activity for event in events if event.item == name and event.activity != "capturing"][
            :5
        ] == phases

    assert hlodiff.check(root=str(project)).verdict == "clean"
    again = hlodiff.update("g", root=project)
    assert command(project, "update", "g") == (0, json.loads(update_json(again)))
    assert [row.status for row in again.rows] == ["unchanged"]

    (project / "programs.py").write_text(PROGRAM.replace("jnp.sin", "jnp.cos"))
    lowered = hlodiff.check(root=project, stage="stablehlo")
    assert lowered.verdict == "failed" and not (project / ".hlodiff").exists()
    checked = hlodiff.check(["f", "g"], "cpu", root=project)
    assert (checked.exit_code, checked.verdict) == (1, "failed")
    assert [(finding.rule, finding.program) for finding in checked.report.findings] == [("changed", "f")]
    assert command(project, "check", "f", "g", "--target", "cpu") == (1, json.loads(to_json(checked.report)))

    accepted = hlodiff.accept(["f"], root=project)
    assert [(one.key.name, one.status, one.what) for one in accepted.decisions] == [("f", "accepted", ("changed",))]
    assert (accepted.exit_code, accepted.remaining, accepted.next) == (0, 0, f"git add {project / 'snapshots'}")
    assert hlodiff.check(root=project).verdict == "clean"
    assert capfd.readouterr() == ("", ""), "nothing is printed"

    (project / "programs.py").write_text(PROGRAM)
    assert hlodiff.check("f", root=project).verdict == "failed"
    code, value = command(project, "accept", "f")
    decision = accepted.decisions[0]
    assert (code, value["totals"]) == (0, json.loads(decisions_json([decision], 0))["totals"])
    with pytest.raises(FrozenInstanceError):
        checked.exit_code = 0  # type: ignore[misc]


def test_a_folder_without_a_project(tmp_path: Path) -> None:
    for function in (hlodiff.check, hlodiff.update, hlodiff.accept):
        with pytest.raises(ConfigError, match=r"no pyproject\.toml"):
            function(root=tmp_path)


def test_what_cannot_be_combined(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--against leaves nothing pending"):
        hlodiff.check(root=project, against="HEAD", timings=True)
    with pytest.raises(UsageError, match="only lowers"):
        hlodiff.check(root=project, against="HEAD", stage="stablehlo")
    with pytest.raises(UsageError, match="exclude each other"):
        hlodiff.update(root=project, prune=True, rewrite=True)
    with pytest.raises(UsageError, match="nothing is pending"):
        hlodiff.accept(root=project, everything=True)
    monkeypatch.setenv("CI", "true")
    for function in (hlodiff.update, hlodiff.accept):
        with pytest.raises(UsageError, match="not written in CI"):
            function(root=project)
    assert not (project / "snapshots").exists()


def test_progress_of_a_run_that_is_interrupted() -> None:
    events: list[Progress] = []
    with pytest.raises(KeyboardInterrupt), reporting_to(events.append), progress(3, "running") as step:
        step("f", 1)
        raise KeyboardInterrupt
    assert [(event.item, event.done, event.ended) for event in events] == [
        ("", 0, False),
        ("f", 1, False),
        ("", 1, True),
    ]
    with progress(3, "running") as step:
        step("f", 1)
    assert len(events) == 3, "nobody listens outside of the block"


def test_messages_are_logged_and_the_command_line_shows_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("hlodiff.workflows")

    def update(*_: object, **__: object) -> None:
        logger.info("installing %s", "jax")
        raise UsageError("no more")

    monkeypatch.setattr("hlodiff.cli.update_command.update", update)
    logger.info("for nobody")
    assert run(["update"]) == 2
    logger.info("for nobody")
    assert capsys.readouterr() == ("", "installing jax\nerror: no more\n")
