"""Repositories with a history of snapshots, the same on every machine: real git, fixed names, dates and programs."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hlodiff.snapshots import RecordedTraces, Snapshot, write_snapshot, write_traces
from hlodiff.tracing import Function, FunctionCounts, TraceCounts

CONFIG = '[tool.hlodiff]\nmodules = ["programs.py"]\n'
_STABLEHLO = {"sine": "sine", "cosine": "cosine", "negate": "negate", "tanh": "tanh", "exponential": "exponential"}


class Past:
    """A git repository that grows commit by commit, one day each.

    Args:
        top: made where it does not exist.
        below: the project's folder in the repository.
    """

    def __init__(self, top: Path, below: str = "") -> None:
        self.top, self.project = top, top / below
        self.commits: list[str] = []
        self.project.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        (self.project / "pyproject.toml").write_text(CONFIG)
        (self.project / "programs.py").write_text("")

    def git(self, *arguments: str, check: bool = True) -> str:
        when = f"2026-01-{1 + len(self.commits):02d}T12:00:00+00:00"
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.top), "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ann Example", "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Ann Example", "GIT_COMMITTER_EMAIL": "ann@example.org",
            "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when,
        }  # fmt: skip
        done = subprocess.run(["git", *arguments], cwd=self.top, env=env, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, subject: str) -> str:
        """Commit everything; the next commit is a day later."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    def record(self, name: str, *ops: str, target: str = "cpu", **facts: Any) -> Path:
        """Record a program of elementwise operations, as `hlodiff update` would; see `snapshot`."""
        root = self.project / "snapshots"
        one = snapshot(name, ops, target, **facts)
        write_snapshot(root, one)
        return root / one.key.folder

    def scenario(self, name: str, traces: int, jax: str = "0.10.2") -> None:
        """Record a scenario in which one function is traced so often."""
        (self.project / "snapshots").mkdir(exist_ok=True)
        one = FunctionCounts(Function("step", "a.py:1"), "step", traces, 0, traces, ("9f2c",))
        write_traces(self.project / "snapshots", RecordedTraces(name, jax, TraceCounts((one,))))

    def named(self, text: str) -> str:
        """A text with commits by their numbers in place of ids, which hang on the bytes of everything: `c000002`."""
        for number, commit in enumerate(self.commits):
            text = text.replace(commit, f"c{number:06d}" + "0" * 33).replace(commit[:7], f"c{number:06d}")
        return text


def snapshot(
    name: str,
    ops: Sequence[str],
    target: str = "cpu",
    *,
    temp: int = 4096,
    fusions: int = 2,
    jax: str = "0.10.2",
    source: Sequence[str] | None = None,
    version: int = 1,
) -> Snapshot:
    """A snapshot whose program applies operations one after the other.

    Args:
        name: function, or function/case.
        ops: opcodes of compiled HLO; a copy stands there alone.
        target: what it is for.
        temp, fusions: what the compiler is taken to say.
        jax: version.
        source: opcodes of StableHLO, where they are others.
        version: of the summary; another one counts differently.
    """
    function, _, case = name.partition("/")
    written = [op for op in (ops if source is None else source) if op in _STABLEHLO]
    stablehlo, compiled = _mlir(written), _hlo(ops)
    names = [f"{op}.{number}" for number, op in enumerate(ops)]
    summary = {
        "format_version": version,
        "function": function,
        **({"case": case} if case else {}),
        "target": target,
        "toolchain": {"jax": jax, "jaxlib": jax, "plugin": None, "xla_flags": []},
        "op_counts": {
            "stablehlo": {op: written.count(op) for op in sorted(set(written))},
            "compiled": {op: ops.count(op) for op in sorted(set(ops))},
        },
        "fusions": {"kLoop": fusions},
        "metrics": {
            "stablehlo": {"functions": 1, "instructions": len(written) + 2, "ops": len(written)},
            "compiled": {
                "instructions": len(ops) + 1, "ops": len(ops), "ops.entry": len(ops),
                **({"copies": ops.count("copy")} if "copy" in ops else {}),
            },
        },
        "memory": {"temp": temp},
        "cost": {"flops": 1000 * len(ops)},
        "fingerprints": {"stablehlo": _digest(stablehlo), "compiled": _digest(compiled)},
    }  # fmt: skip
    places = {"stablehlo": _places([str(n) for n in range(len(written))]), "compiled": _places(names)}
    return Snapshot(function, case, target, summary, stablehlo, compiled, places)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _hlo(ops: Sequence[str]) -> str:
    lines = ["HloModule program, entry_computation_layout={(f32[4]{0})->f32[4]{0}}", "", "ENTRY %main {"]
    lines.append("  %p0 = f32[4]{0} parameter(0)")
    before = "p0"
    for number, op in enumerate(ops):
        root = "ROOT " if number == len(ops) - 1 else ""
        lines.append(f"  {root}%{op}.{number} = f32[4]{{0}} {op}(%{before})")
        before = f"{op}.{number}"
    return "\n".join([*lines, "}", ""])


def _mlir(ops: Sequence[str]) -> str:
    lines = ["module @program {", "  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {"]
    before = "%arg0"
    for number, op in enumerate(ops):
        lines.append(f"    %{number} = stablehlo.{op} {before} : tensor<4xf32>")
        before = f"%{number}"
    return "\n".join([*lines, f"    return {before} : tensor<4xf32>", "  }", "}", ""])


def _places(names: Sequence[str]) -> dict[str, Any]:
    """Every operation from a line of its own: `programs.py:10`, `programs.py:11`, ..."""
    frames = [["programs.py", 10 + number, "step", -1] for number in range(len(names))]
    rows = {name: [-1, number] for number, name in enumerate(names)}
    return {"frames": frames, "op_names": [], "instructions": {"main": rows}}
