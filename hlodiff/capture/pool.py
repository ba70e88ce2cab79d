"""Worker processes: a worker, the pool of workers, reuse of the worker that listed the functions, and on top of these
`discover`, `probe` and `capture`. Everything here runs in the parent; `hlodiff.capture.worker` runs in the process.

Why our own pool: the user's code runs in the workers and may end them. When a process dies, `concurrent.futures` and
loky fail every pending task; pebble replaces it and reports its exit code. None of them keeps the output of each task,
knows which module a worker was importing, or gives the workers of one pool different environments. Here each worker has
a log, cut per task, so that a failure shows what its own task wrote; it reports each module before importing it, so
that a module that ends the process is named; it dies with the exit code or signal and the crashed line of one task,
and the next task gets a new process; and it starts with its own environment (XLA_FLAGS, JAX_PLATFORMS, number of CPU
devices), which JAX and XLA read only once.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, cast

from hlodiff.capture.availability import check_jax, compiler, missing_packages
from hlodiff.capture.cache_folder import CacheFolder, chosen_folder
from hlodiff.capture.environment import Purpose, Setting, worker_environment
from hlodiff.capture.executor import EXECUTOR
from hlodiff.capture.imports import Inputs, is_users, one_line, relative
from hlodiff.capture.messages import (
    CallResult,
    CaptureFailure,
    DiscoveredFunction,
    Discovery,
    Event,
    GrowthRequest,
    GrowthResult,
    NotChecked,
    Outcome,
    ParityRequest,
    Request,
    TargetStatus,
)
from hlodiff.capture.supervision import LOOK_SECONDS, allowance, end, excess, kill
from hlodiff.capture.targets import KNOWN, TargetName, parse_target
from hlodiff.capture.temporary import TemporaryFolder
from hlodiff.config import TABLE, Config, process_environment
from hlodiff.errors import CaptureError, HlodiffError, RegistryError, UsageError
from hlodiff.interrupts import deferred
from hlodiff.progress import progress

Job = Request | GrowthRequest | ParityRequest
Answer = Outcome | GrowthResult | CallResult

# 256 CPU devices, as many as the largest target has, so that any case can be built; they take half a second.
_DISCOVERY = Setting(attached=False, cpu_devices=256)
_DEVICES = "JAX_NUM_CPU_DEVICES"
_PACKAGE_PARENT = Path(__file__).resolve().parent.parent.parent
# The package is found even if it is not installed, after everything else, so that it shadows nothing.
_START = (
    f"import sys; sys.path.append({str(_PACKAGE_PARENT)!r}); from hlodiff.capture.worker import main; main({{}}, {{}})"
)

_LOG = logging.getLogger(__name__)
_PROGRESS = object()
# Phases in which XLA and JAX run by themselves, with no line of the user's on the stack.
_NATIVE_PHASES = ("lowering", "compiling")

_LOG_TAIL = 4000  # characters of the log in a failure
_LOG_LINE = 400  # characters of each of its lines
_START_SECONDS = 120.0  # time to start Python and JAX beyond `timeout`, which covers the user's code
_EXIT_SECONDS = 10.0  # time for a process to exit after its connection closed
_LOG_READ = 1 << 16  # faulthandler alone writes 10 kB for a deep stack
# Output of faulthandler for a crash: all threads, the crashed one last, innermost frame first.
_CRASH = re.compile(r"^Fatal Python error: ", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
# Output of absl before any error: its own start, and lines of severity I (INFO).
_ABSL = re.compile(r"WARNING: (All log messages before|Logging before InitGoogle)|I\d{4} \d\d:\d\d:\d\d|I0000 00:00:")


class WorkerDeath(CaptureError):
    """A worker process ended during a task.

    Args:
        how: how it died, in one sentence.
        where: `file:line` of the user's code that crashed; "" if unknown.
        hint: what to do next.
        log: the end of its output during the task.
    """

    def __init__(self, how: str, *, where: str = "", hint: str = "", log: str = "") -> None:
        super().__init__(f"{how}; the end of its log:\n{log}" if log else how, where=where, hint=hint)
        self.how = how
        self.log = log

    def describe(self, function: str, registered_at: str = "") -> str:
        """One sentence for the function of the task: the line that crashed, or where it is registered."""
        if self.where:
            return f"{self.where}: {self.how}"
        return f"{self.how} (`{function}` is registered at {registered_at})" if registered_at else self.how

    def failure(self, request: Job, registered_at: str = "") -> CaptureFailure:
        """The outcome of the request of the task."""
        what = self.describe(request.function, registered_at)
        return CaptureFailure(request.function, request.case, request.target, what, self.log)


@dataclass(slots=True, eq=False)
class Worker:
    """A process, its connection and its current task."""

    setting: Setting
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    log: Path
    request: Any = None
    log_start: int = 0  # start of the request's log
    ready: bool = False  # its imports are done
    module: str = ""  # the module that it is importing
    locations: dict[str, str] = field(default_factory=dict)  # `file:line` where each function is registered
    started: float = math.inf  # start of its task, in seconds of `time.monotonic`; infinite while it is idle
    phase: str = ""  # current phase of its task
    excess: str = ""  # the limit it exceeded, if it was stopped for that
    left: dict[str, str] = field(default_factory=dict)  # threads left running by earlier functions, by function

    def death(self, root: Path) -> WorkerDeath:
        """How the process died, with file names relative to `root`."""
        how = f"the worker was {self.excess}" if self.excess else self._exit()
        how += f" while {self.phase}" if isinstance(self.request, Request) and self.phase in _NATIVE_PHASES else ""
        with self.log.open("rb") as stream:
            stream.seek(max(self.log_start, self.log.stat().st_size - _LOG_READ))
            text = stream.read().decode(errors="replace")
        parts = _CRASH.split(text)
        frames = _user_frames(parts[-1], root) if len(parts) > 1 else []
        lines = [line[:_LOG_LINE] for line in parts[0].splitlines() if not _ABSL.match(line)]
        lines += [f"  {location} in {function}" for location, function in frames]
        log = "\n".join(lines).strip("\n")[-_LOG_TAIL:]
        return WorkerDeath(how, where=frames[0][0] if frames else "", log=log)

    def _exit(self) -> str:
        try:
            code = self.process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "the worker closed its connection to hlodiff"
        if code >= 0:
            return f"the worker left with exit code {code}"
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return f"the worker was ended by {name}" + (", possibly out of memory" if name == "SIGKILL" else "")

    def kill(self) -> None:
        """Kill the process and everything that it started."""
        self.connection.close()
        kill(self.process)


def warn_of_threads(worker: Worker, function: str, death: WorkerDeath) -> bool:
    """Whether threads left running by earlier functions may have killed a worker; a message then names them.

    The function of the task is retried in a new worker, unless it is one of them.
    """
    others = {name: threads for name, threads in worker.left.items() if name != function}
    if not others or worker.excess:
        return False
    named = "; ".join(f"`{name}` left {threads} running" for name, threads in others.items())
    _LOG.warning("warning: %s during `%s`, which is tried again: %s", death.how, function, named)
    return True


def _user_frames(crash: str, root: Path) -> list[tuple[str, str]]:
    """Source location and function of the user's frames in the thread that crashed, innermost first."""
    thread = crash.rpartition("Current thread ")[2].partition("\n\n")[0]
    return [
        (relative(f"{file}:{line}", root), function)
        for file, line, function in _FRAME.findall(thread)
        if is_users(file)
    ]


@dataclass(slots=True)
class WorkerPool:
    """All workers of one run. Leaving the context stops them and removes their logs.

    Two ways to use it: `ask` for one answer from one worker, or `scale`, `wait`, `receive` and `submit` for queues of
    requests on several workers.
    """

    config: Config
    workers: list[Worker] = field(default_factory=list)
    folder: TemporaryFolder = field(default_factory=TemporaryFolder)
    started: int = 0
    closed: bool = False  # no further workers are started
    folder_in_use: bool = False  # by a worker that is kept for reuse
    on_phase: Callable[[Worker, str], None] = lambda worker, phase: None
    outside: Mapping[str, str] = field(default_factory=process_environment)  # variables that workers inherit
    cache: CacheFolder | None = field(default_factory=chosen_folder)  # cache of compiled programs

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        with deferred():
            for worker in list(self.workers):
                self.stop(worker)
            if not self.folder_in_use:
                self.folder.cleanup()

    def start(self, setting: Setting, purpose: Purpose) -> Worker:
        """Start a process, without waiting for its imports."""
        ours, theirs = Pipe()
        self.started += 1
        log = Path(self.folder.name, f"{self.started}.log")
        environment = worker_environment(self.config, setting, self.outside)
        with log.open("wb") as stream, theirs:
            process = subprocess.Popen(
                # -P: the current folder must not affect imports.
                [sys.executable, "-P", "-X", "faulthandler", "-c", _START.format(theirs.fileno(), os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd=self.config.root,
                start_new_session=True,  # Ctrl-C is for the parent, which stops the whole group
            )
        worker = Worker(setting, process, ours, log, started=time.monotonic() + _START_SECONDS)
        self.workers.append(worker)
        with contextlib.suppress(ConnectionError):  # it has just died, which is handled later
            ours.send((self.config, purpose, self.cache))
        if self.closed:  # from another thread, which has not seen this worker
            self.kill()
        self._enter(worker, "starting JAX")
        return worker

    def start_ready(self, setting: Setting, purpose: Purpose) -> Worker:
        """Start a process and wait until its imports are done; the next `ask` with this setting uses it."""
        worker = self.start(setting, purpose)
        while not worker.ready:
            self._read(worker)
        return worker

    def stop(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.kill()

    def kill(self) -> None:
        """Kill all processes from another thread: the thread that waits for an answer gets a `WorkerDeath`."""
        self.closed = True
        for worker in list(self.workers):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.process.pid, signal.SIGKILL)

    def ask(self, setting: Setting, what: Purpose, payload: object) -> object:
        """The answer of a worker with this setting; it is started if needed and kept for the next question.

        Raises:
            WorkerDeath: the worker died before it answered. The next question goes to a new one.
        """
        return self._ask(self.idle(setting) or self.start_ready(setting, what), what, payload)

    def _ask(self, worker: Worker, what: Purpose, payload: object) -> object:
        self._begin(worker)
        with contextlib.suppress(ConnectionError):  # it has just died, which is handled below
            worker.connection.send((what, payload))
        while (answer := self._read(worker)) is _PROGRESS:
            pass
        return answer

    def answer(self, request: Job) -> Answer:
        """The outcome of one request, from a worker that is kept for the next one.

        Raises:
            RegistryError: a module cannot be imported.
            CaptureError: a worker died before it could start.
        """
        setting = worker_setting(parse_target(request.target))
        try:
            worker = self.idle(setting) or self.start_ready(setting, "capture")
        except WorkerDeath as death:
            raise CaptureError(f"{death.how} before it could start; the end of its log:\n{death.log}") from None
        worker.request = request
        try:
            return cast(Answer, self._ask(worker, "capture", request))
        except WorkerDeath as death:
            if warn_of_threads(worker, request.function, death):
                return self.answer(request)
            return death.failure(request, worker.locations.get(request.function, ""))

    def _begin(self, worker: Worker) -> None:
        worker.log_start, worker.started, worker.phase = worker.log.stat().st_size, time.monotonic(), ""

    def _enter(self, worker: Worker, phase: str) -> None:
        worker.phase = phase
        self.on_phase(worker, phase)

    def idle(self, setting: Setting) -> Worker | None:
        """A live worker; one that died after its last answer is dropped, so that the next question is not blamed."""
        worker = next((worker for worker in self.workers if worker.setting == setting), None)
        if worker is not None and worker.process.poll() is not None:
            self.stop(worker)
            return None
        return worker

    def scale(self, queues: Mapping[Setting, deque[Any]], jobs: int) -> None:
        """Start workers for pending requests, at most `jobs` in all."""
        for setting, queue in queues.items():
            idle = sum(worker.setting == setting and worker.request is None for worker in self.workers)
            busy = sum(worker.setting == setting for worker in self.workers)
            wanted = len(queue) - idle if not setting.attached else int(bool(queue) and not busy)
            for _ in range(min(wanted, jobs - len(self.workers))):
                self._reuse(setting) or self.start(setting, "capture")

    def wait(self) -> list[Worker]:
        """The workers that have sent something or died; none if all are busy for a while."""
        ready = wait([worker.connection for worker in self.workers], LOOK_SECONDS)
        for worker in self.workers:
            if worker.connection not in ready:
                self._look(worker)
        return [worker for worker in self.workers if worker.connection in ready]

    def _look(self, worker: Worker) -> None:
        """Stop a worker that exceeds its limits; the end of its connection is read next."""
        allowed = allowance(self.config.timeout, self.config.memory)
        if not worker.excess and (found := excess(allowed, worker.process.pid, worker.log, worker.started)):
            worker.excess = found
            end(worker.process)

    def submit(self, worker: Worker, queue: deque[Any], on_event: Callable[[Event], None]) -> None:
        """Send an idle worker the next request of the queue; stop the worker if the queue is empty."""
        if worker not in self.workers or not worker.ready or worker.request is not None:
            return
        if not queue:
            self.stop(worker)
            return
        request = queue.popleft()
        worker.request = request
        self._begin(worker)
        on_event(Event("started", request.function, request.case, request.target))
        with contextlib.suppress(ConnectionError):  # it died while idle; the next wait reads the end of the connection
            worker.connection.send(("capture", request))

    def receive(self, worker: Worker, queue: deque[Any]) -> Any:
        """The outcome of the worker's request; None while it is starting or busy.

        A request is put back into its queue if the worker died and threads of earlier functions may be the cause.
        """
        request = worker.request
        try:
            result = self._read(worker)
        except WorkerDeath as death:
            if request is None:
                raise CaptureError(f"{death.how} before it could start; the end of its log:\n{death.log}") from None
            if warn_of_threads(worker, request.function, death):
                queue.appendleft(request)
                return None
            return death.failure(request, worker.locations.get(request.function, ""))
        if result is _PROGRESS:
            return None
        worker.request = None
        return result

    def _read(self, worker: Worker) -> Any:
        """The next message of a worker; _PROGRESS if it is not an answer."""
        try:
            while not worker.connection.poll(LOOK_SECONDS):
                self._look(worker)
            kind, payload = worker.connection.recv()
        except (EOFError, OSError):
            death = worker.death(self.config.root)
            self.stop(worker)
            if worker.module:
                what = f"`{worker.module}` cannot be imported: {death.what}"
                raise RegistryError(what, where=death.where) from None
            raise death from None
        except Exception as error:  # it holds a type of the user's own modules, which are not imported here
            self.stop(worker)
            raise WorkerDeath(f"the answer of the worker cannot be read: {one_line(error)}") from None
        if kind == "importing":
            worker.module, worker.started = payload, time.monotonic() + (0 if payload else _START_SECONDS)
            self._enter(worker, f"importing {payload}" if payload else "starting JAX")
        elif kind == "phase":
            self._enter(worker, payload)
        elif kind == "left":
            worker.left.update(payload)
        elif kind == "ready":
            worker.ready, worker.locations, worker.started = True, payload, math.inf
        else:
            worker.started = math.inf
            if kind == "error":
                raise payload
            return payload
        return _PROGRESS

    def keep_for_reuse(self) -> None:
        """Keep the worker that was asked for the next pool of this command, inside `worker_reuse`."""
        reuse = _REUSE.get()
        if reuse is not None and self.workers:
            reuse.keep(self.config, self.workers.pop(0), self.folder)
            self.folder_in_use = True

    def _reuse(self, setting: Setting) -> Worker | None:
        reuse = _REUSE.get()
        worker = reuse.take(self.config, setting) if reuse is not None else None
        if worker is not None:
            self.workers.append(worker)
        return worker


@dataclass(slots=True)
class _Reuse:
    """State that one pool of a command leaves for the next.

    Args:
        worker: at most one, idle.
        config: the configuration it was started with.
        deaths: how a worker died while listing the cases of a function, by project and function: the function is not
            tried again, which would take as long and end the same way.
        folders: folders of the logs.
        imported: the inputs of a project's modules, if captures run elsewhere.
    """

    worker: Worker | None = None
    config: Config | None = None
    deaths: dict[tuple[Path, str], tuple[str, WorkerDeath]] = field(default_factory=dict)
    folders: list[TemporaryFolder] = field(default_factory=list)
    imported: dict[Path, Inputs] = field(default_factory=dict)

    def keep(self, config: Config, worker: Worker, folder: TemporaryFolder) -> None:
        self.kill()
        self.worker, self.config = worker, config
        self.folders.append(folder)

    def take(self, config: Config, setting: Setting) -> Worker | None:
        """The worker, with XLA started, if it can replace a new one; otherwise it is stopped.

        It cannot if XLA has already started in it: XLA then has as many devices as discovery needs, and may have run
        something.
        """
        worker = self.worker
        if worker is None:
            return None
        devices = worker_environment(config, setting, process_environment())[_DEVICES]
        if config == self.config and not setting.attached and _prepare(worker, devices):
            self.worker = None
            worker.setting = setting
            return worker
        self.kill()
        return None

    def kill(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.kill()


_REUSE: ContextVar[_Reuse | None] = ContextVar("reuse", default=None)


def _prepare(worker: Worker, devices: str) -> bool:
    """Set the number of CPU devices and start XLA, unless it has already started."""
    try:
        worker.connection.send(("has_devices", devices))
        kind, ready = worker.connection.recv() if worker.connection.poll(_EXIT_SECONDS) else ("", None)
        if kind == "result" and ready is True:
            worker.connection.send(("start", None))
            return True
    except (EOFError, OSError):
        pass
    return False


@contextmanager
def worker_reuse() -> Iterator[None]:
    """Let a capture reuse the worker of `discover`.

    Returns:
        a context, or a decorator of a function. On leaving it, the worker is stopped.

    Example:
        >>> with worker_reuse():  # doctest: +SKIP
        ...     outcomes = list(capture(config, discover(config).requests()))
    """
    reuse = _Reuse()
    token = _REUSE.set(reuse)
    try:
        yield
    finally:
        with deferred():
            _REUSE.reset(token)
            reuse.kill()
            for folder in reuse.folders:
                folder.cleanup()


def discover(config: Config) -> Discovery:
    """What the configured modules register.

    Args:
        config: names the modules.

    Returns:
        every function with its targets, cases and source location; nothing is compiled.

    Raises:
        ConfigError: no modules are named, or one does not exist.
        RegistryError: a module raises while it is imported, or something is registered wrongly.
        CaptureError: JAX is missing or too old, or the worker died.

    Example:
        >>> [found.name for found in discover(config).functions]  # doctest: +SKIP
        ['train_step']
    """
    check_jax()
    for name in config.targets:
        try:
            parse_target(name)
        except UsageError as error:
            error.where = f"[{TABLE}] targets"
            raise
    with (
        progress(None, "starting JAX") as step,
        WorkerPool(config, on_phase=lambda worker, phase: step("", 0, phase)) as pool,
    ):
        found = cast(Discovery, pool.ask(_DISCOVERY, "discover", None))
        files = set(found.files)
        functions = []
        for listed in found.functions:
            step(listed.name, 0, "asking for the cases of")
            function, imported = _with_cases(pool, listed)
            functions.append(function)
            files.update(imported)
        if EXECUTOR.get() is not None and (reuse := _REUSE.get()) is not None:
            reuse.imported[config.root] = cast(Inputs, pool.ask(_DISCOVERY, "imported", None))
        else:  # otherwise nothing is captured here
            pool.keep_for_reuse()
    return replace(found, functions=tuple(functions), files=tuple(sorted(files)))


def _with_cases(pool: WorkerPool, listed: DiscoveredFunction) -> tuple[DiscoveredFunction, tuple[str, ...]]:
    """A function with its cases, and the files imported for them. A function that kills the worker gets a `problem`."""
    worker = pool.idle(_DISCOVERY)
    try:
        return cast("tuple[DiscoveredFunction, tuple[str, ...]]", pool.ask(_DISCOVERY, "cases", listed.name))
    except WorkerDeath as death:
        if worker is not None and warn_of_threads(worker, listed.name, death):
            return _with_cases(pool, listed)
        where = f"{listed.file}:{listed.line}"
        if (reuse := _REUSE.get()) is not None:
            reuse.deaths[pool.config.root, listed.name] = where, death
        return replace(listed, problem=death.describe(listed.name, where)), ()
    except HlodiffError as error:
        if pool.idle(_DISCOVERY) is None:  # no further worker can be started
            raise
        return replace(listed, problem=error.render()), ()


def imported_inputs(config: Config) -> Inputs:
    """The inputs of a project's modules on this machine; inside `worker_reuse` those that `discover` found."""
    reuse = _REUSE.get()
    if reuse is not None and config.root in reuse.imported:
        return reuse.imported[config.root]
    with WorkerPool(config) as pool:
        return cast(Inputs, pool.ask(_DISCOVERY, "imported", None))


def probe(config: Config, names: Sequence[TargetName]) -> dict[str, str]:
    """Try to open targets.

    Args:
        config: the settings of the workers.
        names: the targets.

    Returns:
        for each name why it cannot be opened; "" if it can.

    Raises:
        CaptureError: JAX cannot be started.
    """
    found: dict[str, str] = {}
    with WorkerPool(config) as pool:
        for name in names:
            # CPU devices always open, and trying each number would take a worker each.
            setting = Setting(name.kind == "attached", 1)
            try:
                found[name.name] = "" if name.kind == "cpu" else str(pool.ask(setting, "probe", name.name))
            except CaptureError as error:
                found[name.name] = error.what
    return found


def capture(
    config: Config,
    requests: Iterable[Job],
    *,
    jobs: int | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Iterator[Answer]:
    """Compile programs in workers of this machine: `hlodiff.capture.capture` if no executor was chosen."""
    check_jax()
    named: list[tuple[Job, TargetName]] = []
    failures: list[Answer] = []
    for request in requests:
        try:
            named.append((request, parse_target(request.target)))
        except UsageError as error:  # this function is registered so; the others continue
            where = (request.function, request.case, request.target)
            failures.append(CaptureFailure(*where, error.render(), ""))
    return _capture(config, named, failures, jobs or config.jobs, on_event or (lambda event: None))


def _capture(
    config: Config,
    named: list[tuple[Job, TargetName]],
    failures: list[Answer],
    jobs: int,
    on_event: Callable[[Event], None],
) -> Iterator[Answer]:
    yield from (_finish(on_event, failure) for failure in failures)
    named, dead = without_dead(config, named)
    yield from (_finish(on_event, failure) for failure in dead)
    queues: dict[Setting, deque[Job]] = {}
    unavailable = {name.name: missing_packages(name) for _, name in named}
    for request, name in named:
        if (lacking := unavailable[name.name]) is not None:
            reason, install = lacking
            yield _finish(on_event, NotChecked(request.function, request.case, request.target, reason, install))
        else:
            queues.setdefault(worker_setting(name), deque()).append(request)

    def on_phase(worker: Worker, phase: str) -> None:
        one = worker.request
        function, case, target = (one.function, one.case, one.target) if one is not None else ("", "", "")
        on_event(Event("phase", function, case, target, phase=phase))

    with WorkerPool(config, on_phase=on_phase) as pool:
        while any(queues.values()) or pool.workers:
            pool.scale(queues, jobs)
            for worker in pool.wait():
                outcome = pool.receive(worker, queues[worker.setting])
                if outcome is not None:
                    yield _finish(on_event, outcome)
                pool.submit(worker, queues[worker.setting], on_event)


def without_dead(
    config: Config, named: list[tuple[Job, TargetName]]
) -> tuple[list[tuple[Job, TargetName]], list[CaptureFailure]]:
    """Requests except those whose function killed the worker while listing cases, and the failures for these."""
    reuse = _REUSE.get()
    deaths = reuse.deaths if reuse is not None else {}
    alive, dead = [], []
    for request, name in named:
        if (found := deaths.get((config.root, request.function))) is None:
            alive.append((request, name))
            continue
        where, death = found
        dead.append(death.failure(request, where))
    return alive, dead


def worker_setting(name: TargetName) -> Setting:
    """Programs for TPUs, GPUs and one CPU device share workers: one process can compile for all of them."""
    return Setting(name.kind == "attached", name.devices if name.kind == "cpu" else 1)


def _finish(on_event: Callable[[Event], None], outcome: Answer) -> Answer:
    on_event(Event("finished", outcome.function, outcome.case, outcome.target, outcome))
    return outcome


def targets(config: Config) -> tuple[TargetStatus, ...]:
    """Whether this machine can compile for each known target and each of the configuration.

    Args:
        config: its targets are tried too.

    Returns:
        one record for each, known ones first.

    Raises:
        UsageError: the configuration names a target that does not exist.
        CaptureError: JAX is missing or too old.

    Example:
        >>> targets(config)[0].name  # doctest: +SKIP
        'cpu'
    """

    check_jax()
    names = [parse_target(name) for name in dict.fromkeys((*KNOWN, *config.targets))]
    lacking = {name.name: missing_packages(name) for name in names}
    tried = probe(config, [name for name in names if lacking[name.name] is None])
    found = []
    for name in names:
        problem, advice = lacking[name.name] or (tried[name.name], "")
        found.append(TargetStatus(name.name, not problem, problem or compiler(name), advice))
    return tuple(found)
