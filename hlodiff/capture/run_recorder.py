"""Records the user's own process: every program that JAX compiles is written immediately and cheaply.

The cheapest forms are written (measured on a solve of diffrax that compiles in 0.5 s): StableHLO as MLIR bytecode
0.8 ms where text takes 14 ms, compiled HLO as text 0.4 ms and, only where that omits constants, also as a proto,
XLA's memory and cost figures 0.8 ms. Normalizing is left to another process (`hlodiff.capture.run_reader`).

A program is recorded once its line is in `<pid>.jsonl`. The line is written after the files, in one write, so that a
process killed at any moment leaves complete records, and at most files that no record names.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from hlodiff.capture import jax_private
from hlodiff.capture.imports import message
from hlodiff.capture.literals import LEFT_OUT
from hlodiff.config import process_environment
from hlodiff.tracing.observer import CompiledProgram, Event, observing
from hlodiff.tracing.records import Trace, call_row, row_of

FORMAT = 1
_RUNNING: list[Any] = []


def start(folder: str, root: str, calls: bool = False) -> None:
    """Record everything that this process compiles from now on.

    Args:
        folder: where raw records go; it exists.
        root: the folder that source locations are relative to.
        calls: whether launches are counted, which disables JAX's fast path.

    Raises:
        CaptureError: this version of JAX has moved a private function that is observed.

    Example:
        >>> start(folder, "/srv/project")  # doctest: +SKIP
    """
    jax_private.exclude_frames(str(Path(__file__).parent), generated=False)
    recorder = _Recorder(Path(folder), calls)
    observer = observing(recorder.on_event, keep=False, root=root or None)
    observer.__enter__()
    _RUNNING.append(observer)
    if calls:
        jax_private.count_launches(recorder.on_launch)
    recorder.write({"kind": "process", "format": FORMAT, "started": time.time()})
    atexit.register(recorder.finish)
    # Before the interpreter unloads modules: closing the observer later would print errors to the user's stderr.
    atexit.register(observer.__exit__, None, None, None)
    _finish_before_exit(recorder)


def _finish_before_exit(recorder: _Recorder) -> None:
    """Forked children of `multiprocessing` exit by `os._exit`, which skips `atexit`."""
    exit_now = os._exit

    @functools.wraps(exit_now)
    def finish_and_exit(status: int) -> NoReturn:
        if os.getpid() == recorder.pid:  # otherwise this is a forked child that compiled nothing
            recorder.finish()
        exit_now(status)

    os._exit = finish_and_exit


class _Recorder:
    """Writes records. Its own errors become records too, and never reach the user's program."""

    def __init__(self, folder: Path, calls: bool) -> None:
        self.folder = folder
        self.eager: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.launches: Counter[str] = Counter()
        self.numbers = count()
        self.calls = calls
        # Executables by file name, to attribute launches; kept only to count calls.
        self.names: dict[int, tuple[str, Any]] = {}
        self.pid = os.getpid()
        self.lock = threading.Lock()

    def on_event(self, event: Event) -> None:
        try:
            self.after_fork()
            if isinstance(event, Trace):
                call = call_row(event.call)
                self.write({
                    "kind": "trace", "order": event.order, "call": call, "within": event.within, "ahead": event.ahead
                })  # fmt: skip
            elif event.failed:
                name = event.function.name if event.function is not None else event.name.removeprefix("jit_")
                self.failed[f"{name}: compiling it ended with {event.failed}"] += 1
            elif event.function is None:
                self.eager[event.name] += 1
                self.remember(event, f"eager {event.name}")
            else:
                self.program(event)
        except Exception as error:
            self.problem(error)

    def after_fork(self) -> None:
        """Reset all counts in a forked child."""
        if os.getpid() != self.pid:
            self.pid, self.eager, self.failed, self.launches = os.getpid(), Counter(), Counter(), Counter()
            self.write({"kind": "process", "format": FORMAT, "started": time.time()})

    def program(self, program: CompiledProgram) -> None:
        name = f"{self.pid}-{next(self.numbers)}"
        bytecode = BytesIO()
        program.module.operation.write_bytecode(bytecode)
        (self.folder / f"{name}.mlirbc").write_bytes(bytecode.getvalue())
        modules = program.executable.hlo_modules()
        for number, module in enumerate(modules):
            text = str(module.to_string())
            (self.folder / f"{name}.{number}.hlo").write_text(text, encoding="utf-8")
            if LEFT_OUT in text:
                (self.folder / f"{name}.{number}.pb").write_bytes(jax_private.serialized(module))
        self.remember(program, name)
        self.write({"kind": "program", "file": name, "modules": len(modules), **_program(program)})
        self.counts()  # in case the process is killed

    def remember(self, program: CompiledProgram, name: str) -> None:
        if self.calls:
            self.names[id(program.executable)] = (name, program.executable)

    def on_launch(self, executable: Any) -> None:
        name, _ = self.names.get(id(executable), ("", None))
        if name:
            self.launches[name] += 1

    def counts(self) -> None:
        """Write the counts so far; the last such record of a process is valid."""
        launches = dict(self.launches) if self.calls else None
        self.write({"kind": "counts", "eager": dict(self.eager), "failed": dict(self.failed), "launches": launches})

    def finish(self) -> None:
        try:
            self.after_fork()
            self.counts()
        except Exception as error:
            self.problem(error)

    def problem(self, error: Exception) -> None:
        try:
            self.write({"kind": "problem", "what": f"{type(error).__name__}: {message(error)}"})
        except OSError:  # a full disk: the user's program will report it
            return

    def write(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, default=str) + "\n"
        with self.lock, (self.folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(line)


def _program(program: CompiledProgram) -> dict[str, Any]:
    from hlodiff.capture import facts
    from hlodiff.capture.targets import parse_target

    executable = program.executable
    target = parse_target("cpu" if program.platform == "cpu" else "attached")
    return {
        "order": program.order,
        "name": program.name,
        "function": row_of(program.function) if program.function is not None else None,
        "call": call_row(program.call) if program.call is not None else None,
        "under": call_row(program.under) if program.under is not None else None,
        "traced": program.traced,
        "platform": program.platform,
        "place": program.place,
        "devices": len(executable.local_devices()),
        "from_cache": program.from_cache,
        "toolchain": facts.toolchain(target, _environment()),
        "memory": _quietly(lambda: facts.memory_figures(executable.get_compiled_memory_stats()), {}),
        "cost": _quietly(lambda: facts.cost_figures(executable.cost_analysis()), {}),
    }


def _quietly(figure: Callable[[], Any], default: Any) -> Any:
    """A figure that some compilers do not provide."""
    try:
        return figure()
    except Exception:
        return default


@functools.cache
def _environment() -> dict[str, str]:
    """The environment when the first program was compiled: XLA does not see later changes."""
    return process_environment()
