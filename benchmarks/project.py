"""`make bench-project`: a project of hundreds of functions, compared with plain JAX that lowers and compiles the same.

Every step is a new process. It reports wall-clock and CPU time, each also as a ratio to one plain process that does the
same work. Only ratios within one run are meaningful; on a shared machine, only those of CPU time. Single processes are
measured on a third of the functions, at most a hundred, and scaled to all of them: measuring them on all functions
would take half the time of the whole benchmark.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import project_files
from hlodiff.capture.environment import CUDA, LIBTPU, ptxas_folder

_ROOT = Path(__file__).resolve().parent.parent
_TARGETS = ("cpu", "tpu-v5e-2x2", "cuda-h100")
_LARGE = 1_000
# From `_MANY` models of ten functions each, single processes are measured on one function in `_PART`, at
# most `_MOST`.
_MANY, _PART, _MOST = 6, 3, 100
MOST_KIB = 50.0
"""The limit on what a change of one function adds to the repository."""


@dataclass(frozen=True, slots=True)
class Step:
    """Time and memory of some processes.

    Args:
        seconds: wall-clock time until the last one ended.
        processor: CPU seconds of all of them and of their children.
        memory: bytes, of the largest process.
    """

    seconds: float
    processor: float
    memory: int

    def times(self, factor: float) -> Step:
        """The cost of `factor` times the work."""
        return Step(self.seconds * factor, self.processor * factor, self.memory)


@dataclass(slots=True)
class Bench:
    """The project and the processes.

    Args:
        folder: of the project.
        cores: the cores that all processes may use; all if empty.
    """

    folder: Path
    cores: tuple[int, ...] = ()

    def run(self, *commands: Sequence[str], codes: tuple[int, ...] = (0,), cache: str = "off") -> Step:
        """Run commands in parallel and wait for all of them."""
        path = f"{folder}:{os.environ['PATH']}" if (folder := ptxas_folder()) else os.environ["PATH"]
        environment = {**CUDA, **LIBTPU, **os.environ, "PYTHONPATH": str(_ROOT), "HLODIFF_CACHE": cache, "PATH": path}
        environment |= {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false", "HLODIFF_PROGRESS": "0"}
        environment.pop("CI", None)
        start = time.perf_counter()
        running = [
            subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                preexec_fn=(lambda: os.sched_setaffinity(0, self.cores)) if self.cores else None,
            )
            for command in commands
        ]  # fmt: skip
        processor, memory = 0.0, 0
        for process in running:
            assert process.stderr is not None
            messages = process.stderr.read().decode(errors="replace")
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in codes:
                raise SystemExit(f"{' '.join(process.args)} ended with {process.returncode}\n{messages[-4000:]}")  # type: ignore[arg-type]
            processor += used.ru_utime + used.ru_stime
            memory = max(memory, used.ru_maxrss * 1024)
        return Step(time.perf_counter() - start, processor, memory)

    def bare(self, processes: int) -> Step:
        """Run plain JAX, with the programs divided between processes."""
        script = [sys.executable, "-m", "benchmarks.bare_compile", str(self.folder)]
        return self.run(*([*script, str(part), str(processes)] for part in range(processes)))

    def hlodiff(self, *arguments: str, codes: tuple[int, ...] = (0,), cache: str = "off") -> Step:
        """Run one hlodiff command."""
        return self.run([sys.executable, "-m", "hlodiff", *arguments], codes=codes, cache=cache)

    def git(self, *arguments: str) -> str:
        """The output of a git command."""
        # No background packing: `gc` would fail while it runs.
        command = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def packed(self) -> int:
        """The size of the repository's pack in KiB."""
        self.git("gc", "-q", "--prune=now")
        counts = dict(line.split(": ") for line in self.git("count-objects", "-v").splitlines())
        return int(counts["size-pack"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a change adds more to the repository than the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.project", description=__doc__)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--large", action="store_true", help=f"{_LARGE:,} functions: an hour")
    parser.add_argument("--targets", nargs="+", default=_TARGETS)
    parser.add_argument("--jobs", type=int, default=2, help="workers beside --jobs 1")
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--one-core", action="store_true", help="everything on core 0, as `taskset -c 0` does")
    options = parser.parse_args(arguments)
    functions = _LARGE if options.large else options.functions
    cores = (min(os.sched_getaffinity(0)),) if options.one_core else ()
    with tempfile.TemporaryDirectory(prefix="hlodiff.bench-") as temporary:
        whole = Bench(_written(Path(temporary, "project"), functions, options.targets), cores)
        some = functions if functions < _MANY * project_files.PER_MODEL else min(functions // _PART, _MOST)
        part = whole if some == functions else Bench(_written(Path(temporary, "part"), some, options.targets), cores)
        count = len(os.sched_getaffinity(0)) if not cores else 1
        print(f"{functions:,} functions for {', '.join(options.targets)}; {count} cores")
        print(f"{'':<48}{'seconds':>10}{'ratio':>8}{'processor':>11}{'ratio':>8}{'GiB':>7}", flush=True)
        started = time.perf_counter()
        code = _steps(whole, part, functions / some, Path(temporary, "cache"), functions, options)
        print(f"{(time.perf_counter() - started) / 60:.0f} minutes altogether")
        return code


def _written(folder: Path, functions: int, targets: Sequence[str]) -> Path:
    folder.mkdir()
    project_files.write(folder, functions, tuple(targets))
    return folder


def _steps(bench: Bench, part: Bench, factor: float, cache: Path, functions: int, options: argparse.Namespace) -> int:
    jobs = str(options.jobs)
    note = f", {factor:.1f} times {functions / factor:.0f}" if part is not bench else ""
    bare = _show(f"plain JAX, one process{note}", part.bare(1).times(factor), None)
    one = _show(f"update --jobs 1{note}", part.hlodiff("update", "--jobs", "1").times(factor), bare)
    shutil.rmtree(part.folder / "snapshots")
    shared = _show(f"plain JAX, {jobs} processes", bench.bare(options.jobs), bare)
    more = _show(f"update --jobs {jobs}", bench.hlodiff("update", "--jobs", jobs, cache=str(cache)), bare)
    _show("check, nothing changed since the update", bench.hlodiff("check", cache=str(cache)), bare)
    _show("check in a new checkout", bench.hlodiff("check", "--jobs", jobs), bare)
    project_files.change_helper(bench.folder)
    _show("check, one helper changed", bench.hlodiff("check", "--jobs", jobs, codes=(1,), cache=str(cache)), bare)
    (bench.folder / "cells.py").write_text(project_files.CELLS)
    print(f"{jobs} workers: {one.seconds / more.seconds:.2f} times as fast as one;", end=" ")
    print(f"{jobs} plain processes {bare.seconds / shared.seconds:.2f} times as fast as one;", end=" ")
    print(f"update --jobs {jobs} takes {more.seconds / shared.seconds:.2f} times {jobs} plain processes")
    started = time.perf_counter()
    code = _growth(bench, functions, options)
    print(f"{options.changes} updates of one function took {time.perf_counter() - started:.1f} s")
    return code


def _growth(bench: Bench, functions: int, options: argparse.Namespace) -> int:
    bench.git("init", "-q")
    (bench.folder / ".gitignore").write_text(".hlodiff\n__pycache__\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "start")
    before = first = bench.packed()
    worst = 0
    models = (functions + project_files.PER_MODEL - 1) // project_files.PER_MODEL
    for change in range(options.changes):
        number = change % models
        count = min(project_files.PER_MODEL, functions - number * project_files.PER_MODEL)
        index = change % count
        project_files.write_model(bench.folder, number, count, index)
        bench.hlodiff("update", f"m{number:03d}_*_{index}")
        changed = set(bench.git("status", "--porcelain", "--", "snapshots").split("\n")) - {""}
        folders = {line.split("/")[1] for line in changed}
        assert len(folders) == 1, f"a change of one function changed snapshots of {len(folders)}"
        bench.git("add", "-A")
        bench.git("commit", "-qm", f"change {change}")
        now = bench.packed()
        worst, before = max(worst, now - before), now
    mean = (before - first) / max(1, options.changes)
    print(f"repository: {first:,} KiB with all snapshots; {options.changes} changes of one function each:", end=" ")
    print(f"{mean:.1f} KiB a change, the largest {worst} KiB (at most {MOST_KIB:.0f})")
    return int(mean > MOST_KIB)


def _show(what: str, step: Step, bare: Step | None) -> Step:
    base = bare or step
    ratios = f"{step.seconds / base.seconds:>8.2f}{step.processor:>11.1f}{step.processor / base.processor:>8.2f}"
    print(f"{what:<48}{step.seconds:>10.1f}{ratios}{step.memory / 2**30:>7.2f}", flush=True)
    return step


if __name__ == "__main__":
    raise SystemExit(main())
