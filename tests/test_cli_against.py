"""`hlodiff check --against REV` with the real command and the real compiler, in a project of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_worktree import git
from tests.typed import typed

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = """import jax.numpy as jnp

import hlodiff
from mylib.layers import layer


@hlodiff.register
def f():
    return hlodiff.Case(lambda x: layer(x) * 2, hlodiff.abstract((8,), "float32"))


@hlodiff.register
def same():
    return hlodiff.Case(lambda x: jnp.sin(x), hlodiff.abstract((8,), "float32"))


@hlodiff.register
def OLD():
    return hlodiff.Case(lambda x: jnp.cos(x), hlodiff.abstract((8,), "float32"))
"""
LAYER = "import jax.numpy as jnp\n\n\ndef layer(x):\n    return jnp.tanh(x)\n"
TABLE = '[tool.hlodiff]\nmodules = ["programs.py"]\njobs = 1\n'


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    surroundings = {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder / 'src'}", "COLUMNS": "120"}
    return typed(folder, *arguments, **(surroundings | more))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package in `src` that Python finds without the configuration's help, as after an editable install."""
    folder = tmp_path / "a project"
    (folder / "src/mylib").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(TABLE)
    (folder / "programs.py").write_text(PROGRAMS.replace("OLD", "old"))
    (folder / "src/mylib/__init__.py").write_text("")
    (folder / "src/mylib/layers.py").write_text(LAYER)
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def clean(folder: Path) -> None:
    assert len(git(folder, "worktree", "list").splitlines()) == 1
    assert not (folder / "snapshots").exists() and not (folder / ".hlodiff").exists()


@pytest.mark.slow
def test_a_revision_is_compared_with_the_work_tree(project: Path) -> None:
    """The change lies in a package that both sides would import from the work tree if nobody took care."""
    (project / "src/mylib/layers.py").write_text(LAYER.replace("tanh", "exp"))
    (project / "programs.py").write_text(PROGRAMS.replace("OLD", "new"))
    done = run(project, "check", "--against", "HEAD", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    result = json.loads(done.stdout)
    found = {(one["name"], one["stage"]): one["status"] for one in result["programs"]}
    expected = {"f": "changed", "same": "identical", "new": "added", "old": "removed"}
    assert found == {(name, stage): status for name, status in expected.items() for stage in ("stablehlo", "compiled")}
    assert [(one["rule"], one["program"]) for one in result["findings"]] == [("changed", "f")]
    assert result["toolchain"] == [] and result["old"].startswith("HEAD (")
    lines = [edit["source"][0]["file"] for one in result["programs"] for edit in one["edits"] if edit["source"]]
    assert set(lines) == {"src/mylib/layers.py"}, "relative to the project on both sides"
    clean(project)
    git(project, "commit", "-qam", "second")
    done = run(project, "check", "--against", "HEAD")
    assert (done.returncode, done.stdout.rstrip().split("\n")[-1]) == (0, "3 unchanged")
    clean(project)


RUNS = """import hlodiff, jax, jax.numpy as jnp


def loss(x, n):
    return jax.lax.fori_loop(0, n, lambda i, x: jnp.tanh(x), x)


@hlodiff.register
def deep(layers=4):
    return hlodiff.Case(lambda x: loss(x, layers), hlodiff.abstract((8,), "float32"), grow={"layers": [4, 8, 16, 32]})


@hlodiff.scenario
def training():
    step = jax.jit(lambda x: x * 2)
    for n in (4, 4, 4):
        step(jnp.ones(n))
"""
UNROLLED = RUNS.replace("return jax.lax.fori_loop(0, n, lambda i, x: jnp.tanh(x), x)", "return x")
UNROLLED = UNROLLED.replace("    return x\n", "    for _ in range(n):\n        x = jnp.tanh(x)\n    return x\n")


@pytest.mark.slow
def test_scenarios_and_growth_of_both_sides(project: Path) -> None:
    (project / "programs.py").write_text(RUNS)
    git(project, "commit", "-qam", "second")
    (project / "programs.py").write_text(UNROLLED.replace("(4, 4, 4)", "(4, 5, 4)"))
    done = run(project, "check", "--against", "HEAD")
    assert (done.returncode, done.stderr) == (1, "")
    assert "deep  growth: with `layers`: instructions linear, at HEAD constant; bytes of text linear" in done.stdout
    assert "  instructions: 4, 8, 16, 32 (at HEAD: 7, 7, 7, 7)\n" in done.stdout
    assert "training on cpu  traces: `training.<lambda>` is traced 2 times, before 1 time" in done.stdout
    assert "      `x` is f32[5], before f32[4]\n" in done.stdout and "hint: hlodiff update" not in done.stdout
    assert "next: hlodiff check --against HEAD deep training --stacks\n" in done.stdout
    assert "1 changed; scenarios: 1 changed, 1 growth finding" in done.stdout.splitlines()[-1]
    (project / "programs.py").write_text(RUNS.replace("jnp.ones", "jnp.nope"))
    done = run(project, "check", "--against", "HEAD", "training")
    assert done.returncode == 2
    assert "training on cpu  traces-broken: in this work tree: programs.py:" in done.stdout
    assert done.stdout.endswith("next, once it is repaired: hlodiff check --against HEAD training\n")
    clean(project)


@pytest.mark.slow
def test_interrupted(project: Path) -> None:
    """While the revision's module is imported, which does not end by itself."""
    good = (project / "programs.py").read_text()
    (project / "programs.py").write_text(f"{good}\nimport time\n\ntime.sleep(600)\n")
    git(project, "commit", "-qam", "hangs")
    (project / "programs.py").write_text(good)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{project / 'src'}", "TMPDIR": str(project.parent)}
    command = [sys.executable, "-m", "hlodiff", "check", "--against", "HEAD"]
    process = subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with contextlib.suppress(subprocess.CalledProcessError):  # git is just writing the new one
            if len(git(project, "worktree", "list").splitlines()) > 1:
                break
        time.sleep(0.1)
    while process.poll() is None and time.monotonic() < end:
        process.terminate()  # again, if Python dropped the exception: it does so inside of a destructor
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143 and "interrupted by SIGTERM" in err
    clean(project)
    assert [path.name for path in project.parent.iterdir() if path.name.startswith("hlodiff-")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("pyproject.toml", "[project]\nname = 'x'\n", ":pyproject.toml: has no [tool.hlodiff] table"),
        ("pyproject.toml", TABLE + "colour = 1\n", ":pyproject.toml: unknown key `colour` in [tool.hlodiff]"),
        ("programs.py", "import nothing_of_this_name\n", "`programs.py` cannot be imported"),
    ],
)
def test_a_revision_that_cannot_be_read(project: Path, file: str, text: str, words: str) -> None:
    good = (project / file).read_text()
    (project / file).write_text(text)
    git(project, "commit", "-qam", "broken")
    (project / file).write_text(good)
    done = run(project, "check", "--against", "HEAD")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and "HEAD (" in done.stderr and "hint: " in done.stderr
    assert str(project.parent) not in done.stderr
    clean(project)


@pytest.mark.slow
def test_other_settings_and_a_failure_on_one_side(project: Path) -> None:
    (project / "pyproject.toml").write_text(TABLE + "x64 = true\n")
    broken = PROGRAMS.replace("OLD", "old").replace("jnp.cos(x)", "jnp.nothing(x)")
    (project / "programs.py").write_text(broken)
    done = run(project, "check", "--against", "HEAD")
    assert done.returncode == 2
    assert done.stdout.startswith("configuration differs: x64 False -> True (cpu)")
    assert "note: [tool.hlodiff] x64 is another one at HEAD (" in done.stdout
    assert "could not be judged: old on cpu" in done.stdout and "in this work tree: " in done.stdout
    assert done.stdout.rstrip().endswith("next, once it is repaired: hlodiff check --against HEAD old")
    clean(project)


def test_options_that_do_not_fit(project: Path) -> None:
    done = run(project, "check", "--against", "HEAD", "--timings")
    assert done.returncode == 2 and "--against leaves nothing pending" in done.stderr
    done = run(project, "check", "--against", "HEAD", "--pending", "somewhere")
    assert done.returncode == 2 and not (project / "somewhere").exists()
