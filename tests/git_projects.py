"""Made-up git repositories with snapshots in them, and git without this machine's settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from hlodiff.cli import run
from hlodiff.snapshots import Snapshot, write_snapshot

ROOT = Path(__file__).resolve().parent.parent
HLO = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} tanh(%p)\n}\n"
STABLEHLO = (
    "module {\n  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
    "    %b = stablehlo.tanh %a : tensor<8xf32>\n    return %b : tensor<8xf32>\n  }\n}\n"
)
TABLE = '[tool.hlodiff]\nmodules = ["programs.py"]\nsnapshots = "{}"\n'


@dataclass(frozen=True, slots=True)
class Project:
    """A project in a repository of its own, or in a folder of one."""

    top: Path
    root: Path
    snapshots: Path
    env: Mapping[str, str]

    def git(self, *arguments: str, at: Path | None = None, code: int | None = 0, **more: str) -> str:
        """Runs git; returns what it printed, messages behind it."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=at or self.top,
            env={**self.env, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def hlodiff(self, *arguments: str, at: Path | None = None, code: int | None = 0, **more: str) -> str:
        """Runs a command in this process; returns what it printed, messages behind it."""
        out, err = StringIO(), StringIO()
        with (
            patch.dict(os.environ, {**self.env, **more}, clear=True),
            chdir(at or self.root),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            returned = run(arguments)
        assert code is None or returned == code, out.getvalue() + err.getvalue()
        assert "Traceback" not in err.getvalue(), err.getvalue()
        return out.getvalue() + err.getvalue()

    def record(self, name: str, opcode: str = "tanh", temp: int = 64, at: Path | None = None, line: int = 0) -> None:
        """Writes a snapshot of a program of one operation, which stands in a line of model.py where one is given."""
        summary = {
            "format_version": 1, "function": name, "target": "cpu", "toolchain": {"jax": "0.10.2"},
            "op_counts": {"stablehlo": {opcode: 1}, "compiled": {opcode: 1}}, "memory": {"temp": temp},
        }  # fmt: skip
        rows = {"frames": [["model.py", line, "step", -1]], "op_names": [], "instructions": {"e": {"n": [-1, 0]}}}
        source = {"compiled": rows} if line else None
        texts = [text.replace("tanh", opcode) for text in (STABLEHLO, HLO)]
        write_snapshot(at or self.snapshots, Snapshot(name, "", "cpu", summary, texts[0], texts[1], source))

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)


def isolated(home: Path) -> dict[str, str]:
    """An environment in which git knows nobody's settings and every folder runs this hlodiff."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name != "CI"}
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    own = {"HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}
    return {**kept, **who, **dates, **own, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "COLUMNS": "120"}


def project(
    folder: Path, name: str = "repository", below: str = "", snapshots: str = "snapshots", function: str = "f"
) -> Project:
    """A repository with a configured project and the snapshot of one function, committed.

    Args:
        folder: where the repository is made.
        name: of its folder.
        below: the project's folder in it.
        snapshots: the snapshots folder of the project.
        function: of which there is a snapshot.
    """
    top = folder / name
    root = top / below
    root.mkdir(parents=True)
    made = Project(top, root, root / snapshots, isolated(folder / "home"))
    made.git("init", "-q", "-b", "main")
    (root / "pyproject.toml").write_text(TABLE.format(snapshots), encoding="utf-8")
    (root / "programs.py").write_text("import hlodiff\n")
    made.record(function)
    made.commit("first")
    return made
