"""Whole commands, in this process, in a project of which one file is damaged: what the readers alone do not reach."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

from hlodiff.snapshots import Snapshot, write_snapshot
from tests.fuzzing import folders

ROOT = Path(__file__).resolve().parents[2]
_HLO = "HloModule m\n\nENTRY e {\n  %p = f32[8]{0} parameter(0)\n  ROOT %n = f32[8]{0} tanh(%p)\n}\n"
_MLIR = """module @m {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %a : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""
_CONFIG = b"""[tool.hlodiff]
modules = ["programs.py"]
targets = ["cpu"]
fail_on = ["numerics", "structure"]
relevance_threshold = "2%"
[tool.hlodiff.limits]
moves = 3
[tool.hlodiff.rules]
no-f64 = "error"
no-collective = { kind = "all-gather", targets = ["tpu-*"] }
[[tool.hlodiff.changes]]
functions = ["train*", "f"]
fail_on = ["compiled.numerics"]
[[tool.hlodiff.budgets]]
functions = ["f"]
temp_bytes = { max_increase = "2%" }
fusions = { ratchet = true }
collectives.all-gather.bytes = "1 MiB"
flops = { max = 4, static = true }
"""
_SMALL = {
    "pyproject.toml": _CONFIG,
    "programs.py": b"import hlodiff\n",
    "old.hlo": _HLO.encode(),
    "new.hlo": _HLO.replace("tanh(", "exponential(").encode(),
    "old.mlir": _MLIR.encode(),
}

COMMANDS: Sequence[Sequence[str]] = [
    ("show", "f"), ("show", "attention", "--format", "json"), ("show", "attention", "--why"), ("show", "fresh_lambda"),
    ("show", "attention", "--stage", "compiled", "--scopes"), ("show", "attention", "--format", "html"),
    ("show", "other", "attention"), ("show", "old.hlo", "--why"), ("show", "old.mlir", "--stage", "stablehlo"),
    ("diff", "snapshots", "other"), ("diff", "other", "snapshots", "--format", "json"),
    ("diff", "snapshots", "other", "--format", "markdown", "--all"), ("diff", "result.json"),
    ("diff", "snapshots", "other", "--format", "sarif"),
    ("diff", "snapshots", "other", "--format", "junit"), ("diff", "snapshots", "other", "--format", "html"),
    ("diff", "old.hlo", "new.hlo", "--verify"), ("diff", "result.json", "--format", "github"),
    ("accept", "--from", "sent", "--ci-write"), ("accept", "--from", "sent", "--ci-write", "--stale"),
    ("accept", "--from", "sent", "--ci-write", "--class", "traces", "--format", "json"),
]  # fmt: skip
"""None of them runs code of the project or asks git for more than where it is."""


@cache
def project_files() -> Mapping[str, bytes]:
    """A project with a recorded function, a scenario, a pending folder of another machine and a saved result."""
    files = dict(_SMALL)
    with tempfile.TemporaryDirectory() as name:
        for root, opcode in (("snapshots", "tanh"), ("other", "exponential")):
            summary = {"format_version": 1, "function": "f", "target": "cpu", "memory": {"temp": 8}}
            write_snapshot(Path(name, root), Snapshot("f", "", "cpu", summary, _MLIR, _HLO.replace("tanh", opcode)))
        files |= {str(file.relative_to(name)): file.read_bytes() for file in Path(name).rglob("*") if file.is_file()}
    for file in (ROOT / "snapshots/attention/cpu").iterdir():
        files[f"snapshots/attention/cpu/{file.name}"] = content = file.read_bytes()
        files[f"other/attention/cpu/{file.name}"] = content.replace(b"exponential", b"tanh")
    traces = (ROOT / "snapshots/fresh_lambda/traces.yaml").read_bytes()
    files |= {f"{root}/fresh_lambda/traces.yaml": traces for root in ("snapshots", "other")}
    files |= {f"sent/{name}": content for name, content in folders.pending_files().items()}
    files["result.json"] = min((ROOT / "tests/pinned").glob("*.json"), key=lambda one: one.stat().st_size).read_bytes()
    return files


def seeds() -> Sequence[bytes]:
    """The name of a file, a line break, its content: of all that a stranger writes."""
    return [name.encode() + b"\n" + content for name, content in project_files().items() if name != "programs.py"]


@contextlib.contextmanager
def _project(damaged: Mapping[str, bytes]) -> Iterator[None]:
    """A project in the current folder, which is made once in a process and put right again after each input."""
    root = _root(os.getpid())
    for name, content in damaged.items():
        (root / name).write_bytes(content)
    before = Path.cwd(), os.environ.get("HLODIFF_TRACEBACK")
    os.environ["HLODIFF_TRACEBACK"] = "1"
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(before[0])
        os.environ.pop("HLODIFF_TRACEBACK")
        if before[1] is not None:
            os.environ["HLODIFF_TRACEBACK"] = before[1]
        good = project_files()
        for name in damaged:
            (root / name).write_bytes(good[name])


@cache
def _root(process: int) -> Path:
    root = Path(tempfile.mkdtemp(prefix="hlodiff-fuzz-"))
    _fill(root)
    return root


def _fill(root: Path) -> None:
    for name, content in project_files().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def clean_up() -> None:
    """Delete what this process made."""
    if _root.cache_info().currsize:
        shutil.rmtree(_root(os.getpid()), ignore_errors=True)
        _root.cache_clear()


def _reads(arguments: Sequence[str], file: str) -> bool:
    """Whether a command looks at a file."""
    top = file.partition("/")[0]
    functions = ("f", "attention", "fresh_lambda")
    if top == "pyproject.toml":
        return True
    if top == "snapshots" and arguments[0] == "show":
        return any(f"/{one}/" in file for one in functions if one in arguments)
    return top in arguments or (top == "snapshots" and arguments[0] == "accept")


def run_command(data: bytes) -> None:
    """Run a command that the input chooses; raises with what it printed of a bug."""
    from hlodiff.cli import run

    files = project_files()
    name, _, content = data.partition(b"\n")
    wanted = name.decode(errors="replace")
    random = Random(zlib.crc32(data))
    file = wanted if wanted in files else random.choice([one for one in files if one != "programs.py"])
    arguments = random.choice([one for one in COMMANDS if _reads(one, file)])
    output, errors = io.StringIO(), io.StringIO()
    with _project({file: content}):
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = run(arguments)
        if arguments[0] == "accept":
            root = Path.cwd()
            for folder in ("snapshots", "sent"):
                shutil.rmtree(root / folder)
            _fill(root)
    said = f"{output.getvalue()}\n{errors.getvalue()}"
    if "Traceback (most recent" in said or "internal error" in said:
        raise CommandFailed(f"`hlodiff {' '.join(arguments)}`, {file}: {said.strip().splitlines()[-1]}")
    if code not in (0, 1, 2):
        raise CommandFailed(f"`hlodiff {' '.join(arguments)}` exits {code}")
    if b"\x1b" in said.encode("utf-8", "replace"):
        raise CommandFailed(f"`hlodiff {' '.join(arguments)}` prints an escape of terminals")


class CommandFailed(Exception):
    """A command ended in a traceback, or otherwise than commands do."""
