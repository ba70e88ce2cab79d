"""The parent's side of worker processes: starting them, talking to them, outliving them, ending them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import Any

from hlodiff.capture.environment import Purpose, Setting, worker_environment
from hlodiff.capture.outcomes import Event, Failed
from hlodiff.capture.spare import leave, taken
from hlodiff.capture.worker_process import Worker
from hlodiff.config import Config, process_environment
from hlodiff.errors import CaptureError

_PACKAGE_PARENT = Path(__file__).resolve().parent.parent.parent
# The package is found even where it is not installed, after everything else, so that it shadows nothing.
_START = f"import sys; sys.path.append({str(_PACKAGE_PARENT)!r}); from hlodiff.capture.worker import main; main({{}})"


@dataclass(slots=True)
class Crew:
    """All workers of one run. Leaving it, in whatever way, ends them and removes their logs."""

    config: Config
    workers: list[Worker] = field(default_factory=list)
    folder: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="hlodiff-", ignore_cleanup_errors=True)
    )
    started: int = 0
    folder_is_left: bool = False  # to a worker that goes on

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self.workers):
            self.dismiss(worker)
        if not self.folder_is_left:
            self.folder.cleanup()

    def end(self) -> None:
        """End all workers from another thread: the one that waits for an answer finds its worker dead."""
        for worker in list(self.workers):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.process.pid, signal.SIGKILL)

    def hire(self, setting: Setting, purpose: Purpose) -> Worker:
        ours, theirs = Pipe()
        self.started += 1
        log = Path(self.folder.name, f"{self.started}.log")
        environment = worker_environment(self.config, setting, process_environment())
        with log.open("wb") as stream, theirs:
            process = subprocess.Popen(
                # -P: the folder in which the command was typed must not decide what is imported.
                [sys.executable, "-P", "-X", "faulthandler", "-c", _START.format(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd=self.config.root,
                start_new_session=True,  # Ctrl-C is for the parent, which ends the whole group
            )
        worker = Worker(setting, process, ours, log)
        self.workers.append(worker)
        ours.send((self.config, purpose))
        return worker

    def dismiss(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.end()

    def staff(self, queues: Mapping[Setting, deque[Any]], jobs: int) -> None:
        """Start workers for what waits, as long as there is room."""
        for setting, queue in queues.items():
            idle = sum(worker.setting == setting and worker.request is None for worker in self.workers)
            busy = sum(worker.setting == setting for worker in self.workers)
            wanted = len(queue) - idle if not setting.attached else int(bool(queue) and not busy)
            for _ in range(min(wanted, jobs - len(self.workers))):
                self._recall(setting) or self.hire(setting, "capture")

    def _recall(self, setting: Setting) -> Worker | None:
        worker = taken(self.config, setting)
        if worker is not None:
            self.workers.append(worker)
        return worker

    def leave_worker(self) -> None:
        """Leave the worker that was asked to the next crew of this command, where that wants it."""
        if self.workers and leave(self.config, self.workers[0], self.folder):
            self.workers.pop(0)
            self.folder_is_left = True

    def wait(self) -> list[Worker]:
        ready = wait([worker.connection for worker in self.workers])
        return [worker for worker in self.workers if worker.connection in ready]

    def receive(self, worker: Worker) -> Any:
        """The outcome of the worker's request; None where it has only become ready."""
        try:
            kind, payload = worker.connection.recv()
        except (EOFError, ConnectionError):
            return self._died(worker)
        if kind == "error":
            raise payload
        worker.request = None
        return payload

    def employ(self, worker: Worker, queue: deque[Any], tell: Callable[[Event], None]) -> None:
        """Give a worker its next request, or let it go."""
        if worker not in self.workers:
            return
        if not queue:
            self.dismiss(worker)
            return
        request = queue.popleft()
        worker.request, worker.log_start = request, worker.log.stat().st_size
        tell(Event("started", request.function, request.case, request.target))
        with contextlib.suppress(ConnectionError):  # it died while idle; the next wait reads the end and says so
            worker.connection.send(("capture", request))

    def _died(self, worker: Worker) -> Failed:
        what, tail, request = worker.death(), worker.log_tail(), worker.request
        self.dismiss(worker)
        if request is None:
            raise CaptureError(f"{what} before it could start; the end of its log:\n{tail}")
        return Failed(request.function, request.case, request.target, what, tail)

    def start(self, setting: Setting, purpose: Purpose) -> None:
        """A worker that `ask` will find ready."""
        self._answer(self.hire(setting, purpose))

    def ask(self, setting: Setting, what: Purpose, payload: object) -> object:
        """One question to a worker of its own setting, which stays for the next."""
        if all(worker.setting != setting for worker in self.workers):
            self.start(setting, what)
        worker = next(w for w in self.workers if w.setting == setting)
        worker.connection.send((what, payload))
        return self._answer(worker)

    def _answer(self, worker: Worker) -> object:
        try:
            kind, payload = worker.connection.recv()
        except (EOFError, ConnectionError):
            what, tail = worker.death(), worker.log_tail()
            self.dismiss(worker)
            raise CaptureError(f"{what}; the end of its log:\n{tail}") from None
        if kind == "error":
            raise payload
        return payload
