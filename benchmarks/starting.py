"""Overhead of the command line: start-up, `check` of unchanged programs, and capture.

Times are CPU seconds of whole commands, the best of several; they vary little with other work on the machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programs import ROOT
from benchmarks.speed import noisy_edit
from benchmarks.writer import write
from hlodiff.hlo.parser import read_hlo

# Limits in milliseconds: `diff` above a bare interpreter, capture above bare lower().compile().
MOST_HELP, MOST_DIFF = 120, 350
MOST_CAPTURE = 1.02
_PROGRAM = "mlp_gradient"  # of the examples; its compiled program has about 200 lines
_HEAVY = ("jax", "jaxlib", "numpy", "scipy", "jinja2")


@dataclass(frozen=True, slots=True)
class Started:
    """CPU milliseconds.

    Args:
        bare: an interpreter that does nothing.
        help, diff: the commands, including the interpreter.
        lines: the number of lines of either compared file.
        heavy: large packages that `diff` imported.
    """

    bare: float
    help: float
    diff: float
    lines: int
    heavy: tuple[str, ...]


def measure_start(times: int = 7) -> Started:
    """Measure `hlodiff --help`, and `hlodiff diff` of a small program and its copy with one edit and all noise."""
    text = (ROOT / "snapshots" / _PROGRAM / "cpu" / "compiled.hlo").read_text()
    with tempfile.TemporaryDirectory() as folder:
        compiled = {
            "PYTHONPYCACHEPREFIX": f"{folder}/cache",
            "PYTHONDONTWRITEBYTECODE": "",
        }  # as an installer leaves it
        pair = [str(Path(folder) / name) for name in ("old.hlo", "new.hlo")]
        Path(pair[0]).write_text(text)
        Path(pair[1]).write_text(write(noisy_edit(read_hlo(text, at_once=True))))
        commands = [["-c", ""], ["-m", "hlodiff", "--help"], ["-m", "hlodiff", "diff", *pair]]
        turns = [[_seconds(words, compiled)[0] for words in commands] for _ in range(times)]
        imported = _seconds(["-X", "importtime", *commands[2]], compiled)[1].stderr
    bare, help_, diff = (1000 * min(turn[n] for turn in turns) for n in range(3))
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in imported.splitlines()}
    return Started(bare, help_, diff, text.count("\n"), tuple(name for name in _HEAVY if name in names))


def compiled_by_check() -> tuple[list[str], list[str]]:
    """Names of the programs that XLA compiled for `check` of an unchanged program, by default and with `--timings`."""
    names = []
    for more in ([], ["--timings"]):
        with tempfile.TemporaryDirectory() as folder:
            flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder}".strip()
            _, done = _seconds(["-m", "hlodiff", "check", _PROGRAM, "--target", "cpu", *more], {"XLA_FLAGS": flags})
            if done.returncode:
                raise RuntimeError(f"`hlodiff check {_PROGRAM}` failed:\n{done.stdout}{done.stderr[-2000:]}")
            names.append(sorted(path.name.split(".")[1] for path in Path(folder).glob("*after_optimizations.txt")))
    return names[0], names[1]


# Run in a separate process: the same function lowered and compiled by JAX alone, and captured, in turn, traced from
# scratch each time. XLA compiles only once: its time is the same in all and varies more than the measured difference.
_CAPTURE = """
import time
from contextlib import nullcontext
from pathlib import Path
import jax
import hlodiff
from benchmarks.functions import LARGE, JOBS
from benchmarks.programs import _abstract
from hlodiff.capture import lowering
from hlodiff.capture.devices import open_target
from hlodiff.config import process_environment
from hlodiff.capture.messages import Request
from hlodiff.capture.compile_case import Bench, capture_with
from hlodiff.capture.targets import parse_target

jax.config.update("jax_num_cpu_devices", 4)
job = {**JOBS, **LARGE}["transformer_4_step"]
target = open_target(parse_target("cpu"))
bench = Bench(Path.cwd(), process_environment())
arguments = jax.tree.map(lambda text: _abstract(text, target), job.arguments)
noted = lowering.jax_private.calls_from

def fresh():
    return lambda *values: job.run(*values)

def bare():
    return jax.jit(fresh(), donate_argnums=job.donate).lower(*arguments).compile()

def first():
    jax.clear_caches()
    bare()

def captured():
    case = hlodiff.Case(fresh(), *arguments, donate=job.donate)
    found = capture_with(bench, Request("f", "", "cpu"), lambda target, keep: case)
    assert found.compiled, found

def unnoted():
    lowering.jax_private.calls_from = lambda *_: nullcontext()
    captured()
    lowering.jax_private.calls_from = noted

bare()
lowered = jax.jit(fresh(), donate_argnums=job.donate).lower(*arguments)
started = time.process_time()
compiled = lowered.compile()
compiling = time.process_time() - started
jax.stages.Lowered.compile = lambda *_, **__: compiled
works = bare, first, captured, unnoted
best = [1e9] * len(works)
for _ in range(12):
    for n, work in enumerate(works):
        started = time.process_time()
        work()
        best[n] = min(best[n], time.process_time() - started)
print(compiling, *best)
"""


@dataclass(frozen=True, slots=True)
class CaptureTimes:
    """CPU seconds for one program.

    Args:
        compiling: compilation by XLA, the same in all the others and not part of them.
        again: `lower().compile()` in a process that has already traced JAX's own functions.
        first: the same in one that has not, which is how every capture starts.
        captured: the capture.
        unnoted: the capture without recording calls under a context.
    """

    compiling: float
    again: float
    first: float
    captured: float
    unnoted: float


def measure_capture() -> CaptureTimes:
    """Measure a capture and `lower().compile()`."""
    _, done = _seconds(["-c", _CAPTURE], {"JAX_PLATFORMS": "cpu"})
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return CaptureTimes(*map(float, done.stdout.split()))


def _seconds(
    words: list[str], environment: dict[str, str] | None = None
) -> tuple[float, subprocess.CompletedProcess[str]]:
    """CPU seconds of one Python process and its children, and its output."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    everything = {**os.environ, "PYTHONPATH": path, **(environment or {})}
    before = _spent()
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=everything, capture_output=True, text=True)
    return _spent() - before, done


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print one line for each measurement."""
    start = measure_start()
    print(f"hlodiff --help: {start.help:.0f} ms (wanted: at most {MOST_HELP}; a bare interpreter {start.bare:.0f})")
    heavy = ", ".join(start.heavy) or "none"
    print(
        f"hlodiff diff of two files of {start.lines} lines: {start.diff - start.bare:.0f} ms over a bare interpreter "
        f"(wanted: at most {MOST_DIFF}); imported of {', '.join(_HEAVY)}: {heavy}"
    )
    unchanged, everything = compiled_by_check()
    spared = [name for name in everything if name not in unchanged]
    print(
        f"hlodiff check, nothing changed: {1 - len(spared)} programs compiled by XLA (wanted: 0); only --timings "
        f"compiles {', '.join(spared) or 'nothing more'}; both compile what makes the arguments: {', '.join(unchanged)}"
    )
    found = measure_capture()
    whole = found.compiling + found.first
    over_first = (found.captured - found.first) / whole
    over_again = (found.captured - found.again) / (found.compiling + found.again)
    print(
        f"capture: {1 + over_first:.3f} of lower().compile(), {whole:.2f} s (wanted: at most {MOST_CAPTURE:.2f}); "
        f"{1 + over_again:.3f} of one that may reuse traces of JAX's own functions, "
        f"which would blame edits on other functions' lines"
    )
    noted = (found.captured - found.unnoted) / whole
    print(f"the note of calls under a context: {noted:.2%} of a capture (wanted: at most 2 %)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
