"""`hlodiff check --changed REV`: which functions a change can have touched."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import hlodiff
from hlodiff.capture.imports import files_behind
from hlodiff.errors import UsageError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], set[str] | None]:
    """Modules of a name of their own, and the files behind one of them."""
    name = f"package_of_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    (folder / "inner").mkdir(parents=True)
    for path, text in {
        "__init__.py": "",
        "plain.py": "import json\nimport math\n",
        "one.py": "from . import two\nfrom .inner import deep\n",
        "two.py": "",
        "late.py": "def f():\n    from .inner.deep import g\n    return g\n",
        "inner/__init__.py": "from .. import two\n",
        "inner/deep.py": "def g():\n    pass\n",
        "dynamic.py": "import importlib\n\ndef f(name):\n    return importlib.import_module(name)\n",
        "behind.py": "from . import dynamic\n",
    }.items():
        (folder / path).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def behind(module: str) -> set[str] | None:
        found = importlib.import_module(f"{name}.{module}")
        files = files_behind(found.__name__, found.__file__ or "")
        return None if files is None else {str(Path(file).relative_to(folder.resolve())) for file in files}

    return behind


@pytest.mark.parametrize(
    ("module", "files"),
    [
        ("plain", {"__init__.py", "plain.py"}),
        ("one", {"__init__.py", "one.py", "two.py", "inner/__init__.py", "inner/deep.py"}),
        ("late", {"__init__.py", "late.py", "two.py", "inner/__init__.py", "inner/deep.py"}),
        ("dynamic", None),
        ("behind", None),
    ],
)
def test_the_files_behind_a_module(
    module: str, files: set[str] | None, package: Callable[[str], set[str] | None]
) -> None:
    found = package(module)
    assert found == files


def commit(folder: Path) -> None:
    for words in (["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)


def program(helper: str) -> str:
    return f"""import hlodiff
from {helper} import f


@hlodiff.register
def of_{helper}():
    return hlodiff.Case(f, hlodiff.abstract((8,), "float32"))
"""


@pytest.mark.slow
def test_only_functions_whose_files_have_changed_are_looked_at(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    configuration = '[tool.hlodiff]\nmodules = ["p_*.py"]\njobs = 1\n'
    (tmp_path / "pyproject.toml").write_text(configuration)
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("def f(x):\n    return x + x\n")
        (tmp_path / f"p_{name}.py").write_text(program(name))
    hlodiff.update(root=tmp_path)
    commit(tmp_path)

    def looked_at() -> tuple[set[str], tuple[str, ...]]:
        report = hlodiff.check(root=tmp_path, changed="HEAD").report
        return {one.name for one in report.programs}, report.notes

    names, (note,) = looked_at()
    assert names == set()
    assert note == "2 of 2 programs were not looked at: no file that they import has changed since HEAD"
    (tmp_path / "two.py").write_text("def f(x):\n    return x * x\n")
    changed = hlodiff.check(root=tmp_path, changed="HEAD")
    assert changed.verdict == "failed" and {one.name for one in changed.report.programs} == {"of_two"}
    (tmp_path / "two.py").write_text("def f(x):\n    return x + x\n")
    summary = next((tmp_path / "snapshots/of_one").rglob("summary.yaml"))
    summary.write_text(summary.read_text() + "\n")
    assert looked_at()[0] == {"of_one"}, "its snapshot was edited"
    (tmp_path / "pyproject.toml").write_text(configuration + "x64 = false\n")
    names, (note,) = looked_at()
    assert names == {"of_one", "of_two"}
    assert note == "all functions are looked at: pyproject.toml changed since HEAD"
    with pytest.raises(UsageError, match="no git revision is called 'nowhere'"):
        hlodiff.check(root=tmp_path, changed="nowhere")
    with pytest.raises(UsageError, match="--changed is about snapshots"):
        hlodiff.check(root=tmp_path, changed="HEAD", against="HEAD")
