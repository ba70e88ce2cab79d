"""`hlodiff upgrade` in other environments: what is asked of them, and what a real one answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from hlodiff.errors import UsageError
from hlodiff.workflows import compare_environments
from hlodiff.workflows.temporary_environment import label_of, other_environment, refuse_unsupported, with_plugins
from tests.typed import typed

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """import os

import jax.numpy as jnp

import hlodiff

BODY = jnp.tanh if os.environ.get("PRETENDED") else jnp.sin


@hlodiff.register(targets=["cpu", "tpu-v5e-2x2"])
def f():
    return hlodiff.Case(lambda x: BODY(x) * 2, hlodiff.abstract((8,), "float32"))


@hlodiff.register
def same():
    return hlodiff.Case(lambda x: x + 1, hlodiff.abstract((8,), "float32"))
"""


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return typed(folder, "upgrade", *arguments, **({"COLUMNS": "140"} | more))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\njobs = 1\n')
    (folder / "programs.py").write_text(PROGRAM)
    return folder


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """An environment with this one's packages without click and libtpu; the program can tell that it is another one."""
    folder = tmp_path / "other env"
    venv.EnvBuilder(symlinks=True).create(folder)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    here = Path(sys.prefix) / "lib" / site.parent.name / "site-packages"
    for entry in here.iterdir():
        if not entry.name.startswith(("click", "libtpu", "__editable__", "hlodiff", "_", "distutils-precedence")):
            (site / entry.name).symlink_to(entry)
    (site / "pretend.pth").write_text("import os; os.environ['PRETENDED'] = '1'\n")
    return folder


@pytest.mark.slow
def test_another_environment(project: Path, other: Path) -> None:
    done = run(project, "--env", str(other), "--format", "json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    found = {(one["name"], one["target"]): one for one in value["programs"]}
    assert found["same", "cpu"]["verdict"] == "identical"
    assert found["f", "cpu"]["verdict"] == "lowering", "the environment lowers it otherwise"
    assert found["f", "tpu-v5e-2x2"]["verdict"] == "not_checked"
    assert "libtpu is not installed" in found["f", "tpu-v5e-2x2"]["reason"]
    assert sorted(path.name for path in project.iterdir() if path.name != "__pycache__") == [
        "programs.py",
        "pyproject.toml",
    ]
    done = run(project, f"jax=={version('jax')}", "--python", str(other / "bin/python"), "--name", "same")
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("1 the same")


@pytest.mark.slow
def test_a_project_that_cannot_be_imported_there(project: Path, other: Path) -> None:
    (project / "programs.py").write_text(PROGRAM + "assert not os.environ.get('PRETENDED'), 'not with this'\n")
    done = run(project, "--env", str(other))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: with jax {version('jax')}" in done.stderr and "not with this" in done.stderr


def test_environments_that_cannot_be_used(tmp_path: Path) -> None:
    bare, here, nowhere = tmp_path / "bare", Path(sys.executable), tmp_path / "nowhere"
    venv.EnvBuilder(symlinks=True).create(bare)
    cases: tuple[tuple[tuple[str, ...], Path | None, Path | None, str], ...] = (
        ((), None, bare, "lacks jax, jaxlib, numpy, equinox, which capturing needs"),
        ((), None, nowhere, "nowhere: no virtual environment"),
        ((), nowhere, None, "nowhere: not an executable program"),
        ((), Path("/bin/true"), None, "is not a working Python"),
        ((), here, bare, "exclude each other"),
        (("jax==0.0.1",), here, None, f"has jax {version('jax')}, not 0.0.1"),
        (("jax>0.9",), here, None, "is not NAME==VERSION"),
    )
    for requirements, python, folder, words in cases:
        with pytest.raises(UsageError) as caught, other_environment(requirements, python, folder):
            pass
        assert words in str(caught.value) and caught.value.hint, words


def test_what_pip_cannot_install_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", ""), ("PIP_CONFIG_FILE", os.devnull)):
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as caught, other_environment(["jax==0.0.99"], None, None):
        pass
    assert "pip could not install jax==0.0.99: " in caught.value.what and "--env" in caught.value.hint
    assert list(tmp_path.iterdir()) == [], "the temporary environment is gone"


def test_nothing_to_compare_with(project: Path) -> None:
    done = run(project)
    assert (done.returncode, done.stdout) == (2, "") and "nothing to compare with" in done.stderr


@pytest.mark.parametrize("requirement", ["jax==0.7.0", "jax[tpu] == 0.6.2", "jaxlib==0.4.38"])
def test_a_jax_that_is_too_old_is_refused_before_it_is_installed(
    requirement: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlodiff.workflows.upgrade.load", lambda root: pytest.fail("nothing is read"))
    with pytest.raises(UsageError, match="too old to capture with") as caught:
        compare_environments(["optax==0.2.8", requirement], root=project)
    assert "jax 0.7.1 or a later version" in caught.value.hint
    refuse_unsupported(["jax==0.7.1", "jax>=0.5", "jaxlib==0.10.2", "optax==0.1", "jax"])


LIBRARY = """import hlodiff, optax


@hlodiff.register(targets=["cpu"])
def loss():
    return hlodiff.Case(optax.squared_error, *2 * [hlodiff.abstract((8,), "float32")])
"""


@pytest.mark.slow
def test_a_library_of_another_version_is_named_with_its_lines_on_both_sides(project: Path, other: Path) -> None:
    site = next((other / "lib").glob("python*")) / "site-packages"
    dists = {name: f"{name}-{version(name)}.dist-info" for name in ("optax", "jaxlib", "diffrax")}
    for link in (site / "optax", site / dists["optax"], site / dists["jaxlib"]):
        real = link.resolve()
        link.unlink()
        shutil.copytree(real, link)
        if (metadata := link / "METADATA").exists():
            metadata.write_text(re.sub(r"(?m)^Version: .*", "Version: 99.9", metadata.read_text(), count=1))
    (site / dists["diffrax"]).unlink()
    file = site / "optax/losses/_regression.py"
    line = "errors = predictions - targets if"
    assert line in file.read_text()
    file.write_text("# A line more.\n" + file.read_text().replace(line, line.replace("-", "+")))
    (project / "programs.py").write_text(LIBRARY)
    done = run(project, "--env", str(other), "--details")
    assert done.returncode == 0, done.stderr
    # The toolchain of a program has its jaxlib, so it is no library beside it.
    assert done.stdout.splitlines()[:4] == [
        f"jaxlib {version('jaxlib')} -> 99.9 (cpu)",
        f"optax {version('optax')} -> 99.9",
        f"diffrax {version('diffrax')} -> none",
        "",
    ]
    rows = [row.strip() for row in done.stdout.splitlines()]
    (at,) = [n for n, row in enumerate(rows) if row.startswith(f"- {line}")]
    assert rows[at + 1].startswith("+ errors = predictions + targets if")


def test_labels_of_environments() -> None:
    old = {"jax": "0.10.1", "jaxlib": "0.10.1", "optax": "0.2.5", "flax": None, "equinox": "0.13.8"}
    new = old | {"jax": "0.10.2", "optax": "0.2.8", "flax": "0.12.0", "jax-cuda12-plugin": "0.10.2"}
    assert label_of(old, new) == "jax 0.10.1, jaxlib 0.10.1, optax 0.2.5"
    assert label_of(new, old).startswith("jax 0.10.2, jaxlib 0.10.1, optax 0.2.8, flax 0.12.0")


def test_plugins_come_along() -> None:
    assert with_plugins(["jax==0.10.2"], []) == ("jax==0.10.2",)
    assert with_plugins(["jax[cuda12]==0.10.2"], ["tpu", "cuda"]) == ("jax[cuda12]==0.10.2",)
    assert with_plugins(["jax>=0.10"], ["tpu"]) == ("jax>=0.10",)
