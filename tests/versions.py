"""Run the tests of reading and capturing with other versions of jax: `python -m tests.versions 0.7.2 0.8.0 pinned`.

Each version gets a virtual environment of its own, which is removed before the next one is made.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "test_bindings", "test_capture_eager", "test_capture_literals", "test_capture_lowering", "test_hlo_reader",
    "test_stablehlo_reader", "test_versions",
)  # fmt: skip
_NEEDED_BY_TESTS = ("hypothesis", "pytest")
_KINDS = ("cpu", "tpu", "cuda")


def requirements(version: str, kinds: Sequence[str]) -> list[str]:
    """What pip is asked for: this version of jax, what hlodiff needs, and plugins.

    Args:
        version: of jax; "pinned" for that of constraints.txt.
        kinds: what is compiled for: "cpu", "tpu", "cuda".
    """
    if version == "pinned":
        pinned = re.search(r"^jax==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
        assert pinned is not None
        version = pinned[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    others = [one for one in project["dependencies"] if not one.startswith(("jax>", "jaxlib>"))]
    wanted = [f"jax[tpu]=={version}" if "tpu" in kinds else f"jax=={version}", f"jaxlib=={version}"]
    if "cuda" in kinds:
        wanted += [f"jax-cuda12-{part}=={version}" for part in ("plugin", "pjrt")] + ["nvidia-cuda-nvcc-cu12"]
    # Solvers are not pinned: pip finds the newest that works with this jax.
    return [*wanted, *others, *_NEEDED_BY_TESTS, "lineax", "optimistix", "diffrax"]


def run(version: str, kinds: Sequence[str]) -> bool:
    """Make the environment, run the tests, remove it; whether all passed."""
    with tempfile.TemporaryDirectory(prefix="hlodiff-") as folder:
        start = time.monotonic()
        venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
        python = str(Path(folder, "bin", "python"))
        pip = [python, "-m", "pip", "install", "--quiet", *requirements(version, kinds)]
        if subprocess.run(pip, check=False).returncode:
            print(f"== jax {version}: pip could not install it", file=sys.stderr)
            return False
        print(f"== jax {version}: installed in {time.monotonic() - start:.0f} s", file=sys.stderr)
        files = [f"tests/{name}.py" for name in TESTS]
        # Not those that need every target, where only some of them were asked for.
        chosen = [] if set(kinds) == set(_KINDS) else ["-m", "not slow"]
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *files]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        passed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0
        print(f"== jax {version}: {'passed' if passed else 'FAILED'}", file=sys.stderr)
        return passed


def main(arguments: Sequence[str]) -> int:
    """Run the tests with each version."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description="Test other versions of jax.")
    parser.add_argument("versions", nargs="+", help='versions of jax, or "pinned"')
    parser.add_argument("--targets", default="cpu", help="cpu, tpu, cuda, separated by commas")
    given = parser.parse_args(arguments)
    kinds = ["cpu", *given.targets.split(",")]
    if unknown := set(kinds) - set(_KINDS):
        parser.error(f"no such targets: {', '.join(sorted(unknown))}")
    failed = [version for version in given.versions if not run(version, kinds)]
    print(f"== failed: {', '.join(failed)}" if failed else "== all passed", file=sys.stderr)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
