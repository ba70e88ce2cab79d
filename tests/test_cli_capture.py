"""The real command with the real compiler, in a temporary project of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.typed import typed

pytestmark = pytest.mark.slow


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a newcomer has after `hlodiff init` and `hlodiff update`, committed; the path has a space."""
    folder = tmp_path_factory.mktemp("a project")
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("__pycache__/\n")
    assert typed(folder, "init").returncode == 0
    update = typed(folder, "update")
    assert (update.returncode, update.stdout) == (
        0,
        "first_gradient  cpu  new\n1 new; next: git add snapshots\n",
    ), update.stderr
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def clean(project: Path) -> Path:
    """The project as it was committed."""
    git(project, "checkout", "-q", "--", ".")
    git(project, "clean", "-qfd")
    return project


def test_a_newcomer_is_done(clean: Path) -> None:
    check = typed(clean, "check")
    assert (check.returncode, check.stderr) == (0, "")
    assert check.stdout == ("checked 1 program: 1 function on cpu, StableHLO and compiled HLO of each\n1 unchanged\n")
    assert git(clean, "status", "--short") == ""


def test_a_renamed_helper_and_forty_lines_change_nothing(clean: Path) -> None:
    path = clean / "hlodiff_programs.py"
    path.write_text(path.read_text().replace("def loss", "\n" * 40 + "def cost").replace("(loss)", "(cost)"))
    path.write_text(path.read_text().replace("grad(loss)", "grad(cost)"))
    update = typed(clean, "update")
    assert update.stdout == "1 unchanged; next: hlodiff check\n", update.stderr
    assert git(clean, "status", "--short") == " M hlodiff_programs.py\n"


def test_one_edited_line_is_explained(clean: Path) -> None:
    path = clean / "hlodiff_programs.py"
    path.write_text(path.read_text().replace("jnp.mean(", "jnp.sum("))
    line = 1 + path.read_text().split("\n").index("    return jnp.sum((predicted - y) ** 2)")
    check = typed(clean, "check")
    assert check.returncode == 1
    assert " ".join(check.stdout.split()).startswith(
        f"first_gradient = same cost on cpu; jnp.mean -> jnp.sum at hlodiff_programs.py:{line} changed on cpu ("
    )
    assert f"hlodiff_programs.py:{line} (loss)" in check.stdout
    assert check.stdout.endswith("\n1 changed\n") and "\n  next: hlodiff accept first_gradient\n" in check.stdout
    update = typed(clean, "update", "--format", "json")
    assert json.loads(update.stdout)["programs"][0]["status"] == "changed"
    assert "source.json" in git(clean, "status", "--short"), "provenance goes with its program"
    against = typed(clean, "diff", "HEAD", "snapshots", "--exit-code")
    assert against.returncode == 1
    assert f"hlodiff_programs.py:{line} (loss)" in against.stdout
    assert typed(clean, "check").returncode == 0


def test_lines_that_move_before_a_commit_are_recorded_again(clean: Path) -> None:
    path = clean / "hlodiff_programs.py"
    path.write_text(path.read_text().replace("jnp.mean(", "jnp.sum("))
    typed(clean, "update")
    path.write_text("# Losses.\n\n" + path.read_text())
    update = typed(clean, "update")
    assert update.stdout == (
        "first_gradient  cpu  same program, summary and sources rewritten\n1 rewritten; next: git add snapshots\n"
    ), update.stderr
    source = json.loads((clean / "snapshots/first_gradient/cpu/source.json").read_text())
    assert source["files"] == {path.name: git(clean, "hash-object", path.name).strip()}
    assert typed(clean, "update").stdout == "1 unchanged; next: hlodiff check\n"


@pytest.mark.parametrize("is_kept", [True, False], ids=["in git", "lost"])
def test_old_lines_are_those_of_the_recorded_file(clean: Path, is_kept: bool) -> None:
    """A commit may hold a snapshot and a file that was edited after it was recorded."""
    path, first = clean / "hlodiff_programs.py", git(clean, "rev-parse", "HEAD").strip()
    path.write_text(f"# Kept: {is_kept}.\n" + path.read_text().replace("jnp.mean(", "jnp.sum("))
    line = 1 + path.read_text().split("\n").index("    return jnp.sum((predicted - y) ** 2)")
    typed(clean, "update")
    if is_kept:
        git(clean, "hash-object", "-w", path.name)
    path.write_text("# Losses.\n\n" + path.read_text())
    git(clean, "commit", "-qam", "moved after it was recorded")
    try:
        path.write_text(path.read_text().replace("jnp.sum(", "jnp.max("))
        check = typed(clean, "check").stdout
        words = " ".join(check.split())
        was = f" (was hlodiff_programs.py:{line} (loss))"
        assert f"hlodiff_programs.py:{line + 2} (loss){was if is_kept else ''}\n" in check, check
        assert ("jnp.sum -> jnp.max at" in words) == is_kept, check
        lost = "first_gradient: old lines of hlodiff_programs.py are of a version that git does not have"
        assert (lost in words) == (not is_kept), check
    finally:
        git(clean, "reset", "-q", "--hard", first)


def test_a_module_that_raises_on_import(clean: Path) -> None:
    path = clean / "hlodiff_programs.py"
    path.write_text(path.read_text() + "\nraise ValueError('not today')\n")
    check = typed(clean, "check")
    assert (check.returncode, check.stdout) == (2, "")
    assert "not today" in check.stderr
    assert "hlodiff_programs.py" in check.stderr
    assert git(clean, "status", "--short", "snapshots") == ""


WAITING = """

@hlodiff.register
def waiting():
    import pathlib, time
    folder = pathlib.Path(__file__).parent
    # Whoever only lists cases has more devices.
    if (folder / "wait").exists() and len(jax.devices("cpu")) == 1:
        (folder / "waits").touch()
        while (folder / "wait").exists():
            time.sleep(0.05)
    return hlodiff.Case(jnp.sin, hlodiff.abstract((4,), "float32"))
"""


def start_and_wait(folder: Path) -> subprocess.Popen[str]:
    """An `update` of two functions that has recorded the first and hangs in the second."""
    path = folder / "hlodiff_programs.py"
    before = (folder / "snapshots/first_gradient/cpu/compiled.hlo").read_text()
    path.write_text(path.read_text().replace("gelu", "silu") + WAITING)
    (folder / "wait").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "hlodiff", "update", "--jobs", "1"], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until(lambda: (folder / "waits").exists(), process)
    recorded = folder / "snapshots/first_gradient/cpu/compiled.hlo"
    until(lambda: recorded.exists() and recorded.read_text() != before, process)
    return process


def until(condition: object, process: subprocess.Popen[str]) -> None:
    assert callable(condition)
    for _ in range(2400):
        if condition():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    pytest.fail("waited two minutes")


def release(folder: Path) -> None:
    for name in ("wait", "waits"):
        (folder / name).unlink(missing_ok=True)


def workers(folder: Path) -> list[str]:
    """Processes whose working folder is the project."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if (process / "cwd").samefile(folder):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
            except OSError:
                continue
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_update_that_is_ended_leaves_whole_snapshots_and_no_workers(how: signal.Signals, clean: Path) -> None:
    process = start_and_wait(clean)
    if how == signal.SIGINT:
        second = typed(clean, "update")
        assert (second.returncode, second.stdout) == (2, "")
        assert "another `hlodiff update` is writing here" in second.stderr
        os.killpg(process.pid, how)  # as a terminal does it: the workers get it too
    else:
        process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in out + err
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted: every snapshot is whole" in err
    release(clean)
    deadline = time.monotonic() + 30
    while workers(clean) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers(clean) == []
    assert typed(clean, "show", "first_gradient").returncode == 0
    again = typed(clean, "update")
    assert (again.returncode, again.stdout.split("\n")[-2]) == (0, "1 new, 1 unchanged; next: git add snapshots")
    assert not (clean / "snapshots/.partial").exists()
