"""Compile a reported regression with both versions, and compare.

python -m examples.cases                      list the cases
python -m examples.cases scatter              make an environment of each version, one after the other; removes them
python -m examples.cases scatter --recorded   compare the programs that are committed here; installs nothing
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
ROOT = HERE.parent.parent
_PLUGINS = ("jax-cuda12-plugin", "jax-cuda12-pjrt")


def names() -> list[str]:
    """Names of the cases."""
    return [file.stem for file in sorted(HERE.glob("[a-z]*.py"))]


def main(arguments: Sequence[str]) -> int:
    """List the cases, or compare the two sides of one."""
    parser = argparse.ArgumentParser(prog="python -m examples.cases", description="Compare both sides of a regression.")
    parser.add_argument("name", nargs="?", choices=names(), help="which case; all are listed without one")
    parser.add_argument("--recorded", action="store_true", help="compare the committed programs, and install nothing")
    parser.add_argument("--old", type=Path, metavar="PYTHON", help="an interpreter with the old versions")
    parser.add_argument("--new", type=Path, metavar="PYTHON", help="an interpreter with the new versions")
    parser.add_argument("--pack", action="store_true", help="keep what was compiled in examples/cases/programs")
    given = parser.parse_args(arguments)
    if given.name is None:
        for name in names():
            print(f"{name:16} {(_case(name).__doc__ or '').strip()}")
        return 0
    with tempfile.TemporaryDirectory(prefix="hlodiff-case-") as folder:
        place = Path(folder)
        if given.recorded:
            unpack(given.name, place)
        else:
            case = _case(given.name)
            for side, requirements, python in (("old", case.OLD, given.old), ("new", case.NEW, given.new)):
                start = time.monotonic()
                _capture(given.name, place / side, requirements, case.TARGET, python)
                print(f"{side}: {', '.join(requirements)}, {time.monotonic() - start:.0f} s", file=sys.stderr)
        if given.pack:
            _pack(given.name, place)
        return _run([sys.executable, "-m", "hlodiff", "diff", "old", "new"], place)


def _case(name: str) -> ModuleType:
    return importlib.import_module(f"examples.cases.{name}")


def unpack(name: str, folder: Path) -> None:
    """Put the committed programs of a case into a folder, as `old` and `new`."""
    with tarfile.open(PROGRAMS / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")


def _pack(name: str, folder: Path) -> None:
    with tarfile.open(PROGRAMS / f"{name}.tar.xz", "w:xz", preset=9) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(file.relative_to(folder).as_posix())
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(entry, content)


def _capture(name: str, out: Path, requirements: Sequence[str], target: str, python: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="hlodiff-case-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        shutil.copy(HERE / f"{name}.py", project)
        flags = f"xla_flags = {list(getattr(_case(name), 'FLAGS', ()))}\n"
        (project / "pyproject.toml").write_text(f'[tool.hlodiff]\nmodules = ["{name}.py"]\n{flags}')
        interpreter = python.absolute() if python else _environment(Path(folder, "env"), requirements, target)
        if _run([str(interpreter), "-m", "hlodiff", "update", "--jobs", "1"], project, quiet=True):
            raise SystemExit(f"the {out.name} side was not captured")
        shutil.copytree(project / "snapshots", out)


def _environment(folder: Path, requirements: Sequence[str], target: str) -> Path:
    venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    version = requirements[0].partition("==")[2]
    wanted = [*requirements]
    if target.startswith("tpu"):
        wanted[0] = f"jax[tpu]=={version}"
    elif target.startswith("cuda"):
        wanted += [f"{plugin}=={version}" for plugin in _PLUGINS] + ["nvidia-cuda-nvcc-cu12"]
    interpreter = folder / "bin" / "python"
    print(f"installing {' '.join(wanted)}", file=sys.stderr)
    if _run([str(interpreter), "-m", "pip", "install", "--quiet", str(_copied(folder)), *wanted], folder):
        raise SystemExit("pip could not install them")
    return interpreter


def _copied(folder: Path) -> Path:
    """hlodiff's sources beside the environment: building a package writes into its folder."""
    source = folder / "hlodiff"
    shutil.copytree(ROOT / "hlodiff", source / "hlodiff", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    return source


def _run(command: list[str], folder: Path, *, quiet: bool = False) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=sys.stderr if quiet else None, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
