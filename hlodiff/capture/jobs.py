"""Runs captures as jobs of an executor: the code that runs on each machine, and the code that collects results here.

A job is one program. The machine that runs it captures it in a worker of its own (`hlodiff.capture.pool`), which is
kept for further jobs of the run. First it compares itself with this machine: the project's files by content, hlodiff
itself, and the versions of Python and packages. A machine that differs is refused, with its name in the error.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, cast

from hlodiff.capture.availability import check_jax, missing_packages
from hlodiff.capture.cache_folder import COMPILE_CACHE, CacheFolder, CacheUse, chosen_folder
from hlodiff.capture.environment import SEED, compiled_by, elsewhere
from hlodiff.capture.executor import EXECUTOR, RunningExecutor, called
from hlodiff.capture.imports import COMPILERS, Inputs, file_digest, package_version
from hlodiff.capture.messages import CapturedProgram, CaptureFailure, Event, NotChecked
from hlodiff.capture.pool import Answer, Job, WorkerPool, imported_inputs, without_dead
from hlodiff.capture.pool import capture as capture_here
from hlodiff.capture.supervision import LOOK_SECONDS
from hlodiff.capture.targets import is_target, parse_target
from hlodiff.config import Config, process_environment
from hlodiff.errors import CaptureError, HlodiffError

PROJECT = "HLODIFF_PROJECT"
"""The project's folder on a machine that runs jobs, if it differs from the one here."""

_IDLE_SECONDS = 60.0  # idle time after which a machine stops the workers of a run; the next job may still arrive before
_MOST = 3


@dataclass(frozen=True, slots=True)
class JobContext:
    """Settings shared by all jobs of a run.

    Args:
        run: a unique name.
        config: this machine's configuration of the project.
        variables: this machine's environment variables that affect compilation.
        code: a hash of hlodiff's own files.
        inputs: the inputs of the registered modules on this machine.
        cache: folder of the compile cache on the machine that captures; None for no cache.
    """

    run: str
    config: Config
    variables: Mapping[str, str]
    code: str
    inputs: Inputs
    cache: CacheFolder | None = None


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job on one machine.

    Args:
        machine: its name.
        answer: the outcome; None if there is none.
        refusal: why the machine must not capture for this run; "" if it may.
        error: an error that ends the whole run, such as a failed import.
        compilers: versions of the installed packages that compile.
    """

    machine: str
    answer: Answer | None = None
    refusal: str = ""
    error: HlodiffError | None = None
    compilers: Mapping[str, str] = field(default_factory=dict)


# ---- here


def capture(
    config: Config,
    requests: Iterable[Job],
    *,
    jobs: int | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Iterator[Answer]:
    """Compile programs in worker processes of this machine, or on the executor of this run.

    Args:
        config: names the modules and the settings of the workers.
        requests: the programs, growth checks and parity checks to capture.
        jobs: maximum number of concurrent workers on this machine; by default that of the configuration.
        on_event: called in this process when a program starts, if that is known, and when it finishes.

    Returns:
        one outcome per request, in order of completion. Closing the iterator stops the workers.

    Raises:
        ConfigError: a configured module does not exist.
        RegistryError: a module raises while it is imported, or something is registered wrongly.
        CaptureError: JAX is missing or too old, a worker died before it could start, or a machine is refused.

    Example:
        >>> for outcome in capture(config, discover(config).requests()):  # doctest: +SKIP
        ...     print(outcome.function, outcome.target)
    """
    running = EXECUTOR.get()
    if running is None:
        answers = capture_here(config, requests, jobs=jobs, on_event=on_event)
    else:
        answers = _capture_away(running, config, tuple(requests), jobs, on_event or (lambda event: None))
    use = COMPILE_CACHE.get()
    return answers if use is None else _counted(answers, use)


def _counted(answers: Iterator[Answer], use: CacheUse) -> Iterator[Answer]:
    """Pass the answers through, and count those that were compiled or found in the cache."""
    with closing(cast(Generator[Answer, None, None], answers)):
        for answer in answers:
            if isinstance(answer, CapturedProgram) and answer.compiled is not None:
                use.hits += answer.cached
                use.compiled += not answer.cached
            yield answer


def _capture_away(
    running: RunningExecutor,
    config: Config,
    requests: tuple[Job, ...],
    jobs: int | None,
    on_event: Callable[[Event], None],
) -> Iterator[Answer]:
    # What is attached to this machine is attached to no other.
    away = [(one, parse_target(one.target)) for one in requests if is_target(one.target) and one.target != "attached"]
    alive, dead = without_dead(config, away)
    on_event(Event("phase", "", "", "", phase=f"capturing on {running.name}"))
    with closing(cast(Generator[Answer, None, None], capture_on(running, config, [one for one, _ in alive]))) as found:
        for answer in chain(dead, found):
            on_event(Event("finished", answer.function, answer.case, answer.target, answer))
            yield answer
    kept = [one for one in requests if not is_target(one.target) or one.target == "attached"]
    if kept:
        yield from capture_here(config, kept, jobs=jobs, on_event=on_event)


def capture_on(running: RunningExecutor, config: Config, requests: Sequence[Job]) -> Iterator[Answer]:
    """Capture programs on an executor.

    Args:
        running: the executor.
        config: the project's.
        requests: the programs to capture.

    Returns:
        one outcome per request, in order of completion. Closing the iterator cancels the remaining jobs.

    Raises:
        CaptureError: a machine is refused, or the executor was lost.
    """
    if not requests:
        return
    environment = process_environment()
    variables = compiled_by(environment) | {SEED: environment.get(SEED) or "0"}
    context = JobContext(uuid.uuid4().hex, config, variables, own_code(), imported_inputs(config), chosen_folder())
    agreed = _Agreement(config)
    for machine, found in running.on_all(examined, context).items():
        result = found if isinstance(found, JobResult) else JobResult("", refusal=_words(found))
        agreed.accept(replace(result, machine=machine))
    futures: dict[Future[JobResult], Job] = {}
    try:
        for request in requests:
            futures[running.executor.submit(run_job, context, request)] = request
        unfinished = set(futures)
        while unfinished:
            done, unfinished = wait(unfinished, LOOK_SECONDS, FIRST_COMPLETED)
            for future in done:
                yield _collected(futures.pop(future), future, agreed, running)
            if not done:
                running.look()
    finally:
        for future in futures:
            future.cancel()
        _end_run(context.run)  # if it captured in threads of this process


def _collected(request: Job, future: Future[JobResult], agreed: _Agreement, running: RunningExecutor) -> Answer:
    try:
        result = future.result()
    except CancelledError:
        raise CaptureError(f"{running.name} has given up a job, as a scheduler that ended does") from None
    except Exception as error:
        # All machines that took it have died, so no other function is the cause.
        what = f"no machine of {running.name} has returned it: {_words(error)}"
        return CaptureFailure(request.function, request.case, request.target, what, "")
    if not isinstance(result, JobResult):
        raise CaptureError(f"a worker of {running.name} returned something that is not the result of a capture")
    answer = agreed.accept(result)
    if answer is None:
        raise CaptureError(f"the worker {result.machine} of {running.name} returned nothing")
    if (answer.function, answer.case, answer.target) != (request.function, request.case, request.target):
        raise CaptureError(f"the worker {result.machine} of {running.name} returned a program that was not requested")
    return answer


def _words(error: object) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]


@dataclass(slots=True)
class _Agreement:
    """Compares the results of machines with this machine and with each other."""

    config: Config
    compilers: tuple[str, Mapping[str, str]] | None = None
    digests: dict[str, str] = field(default_factory=dict)

    def accept(self, result: JobResult) -> Answer | None:
        if result.refusal:
            raise _refused(result.machine, result.refusal)
        if result.error is not None:
            raise result.error
        if self.compilers is None:
            self.compilers = result.machine, result.compilers
        other, known = self.compilers
        for name in sorted({*known, *result.compilers}):
            mine, its = result.compilers.get(name), known.get(name)
            if mine != its:
                raise _refused(result.machine, f"it has {_version(name, mine)}, and the worker {other} {its or 'none'}")
        inputs: Inputs = getattr(result.answer, "inputs", None) or Inputs()
        for name in inputs.files:
            if name not in self.digests:
                self.digests[name] = file_digest(Path(os.path.realpath(self.config.root), name))
        changed = [name for name, digest in inputs.files.items() if self.digests[name] != digest]
        if changed:
            raise _refused(result.machine, f"it has other content of {_listed(changed)} than this machine")
        return result.answer


def _refused(machine: str, why: str) -> CaptureError:
    hint = "give every worker the same commit of the project and the same packages as this machine, and start it again"
    return CaptureError(f"the worker {machine} is refused: {why}", hint=hint)


def _version(name: str, version: str | None) -> str:
    return f"{name} {version}" if version else f"no {name}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


# ---- on the machine that takes a job


def run_job(context: JobContext, request: Job) -> JobResult:
    """Capture one program on this machine.

    Args:
        context: settings of the run.
        request: the program to capture.

    Returns:
        the outcome, or why there is none.
    """
    found = examined(context)
    if found.refusal:
        return found
    try:
        answer: Answer
        if (lacking := missing_packages(parse_target(request.target))) is not None:
            answer = NotChecked(request.function, request.case, request.target, *lacking)
        else:
            with _kept(context) as pool:
                answer = pool.answer(request)
    except HlodiffError as error:
        return replace(found, error=error)
    there, here = str(_config(context).root), str(context.config.root)
    return replace(found, answer=answer if there == here else _moved(answer, f'"{there}/', f'"{here}/'))


def examined(context: JobContext) -> JobResult:
    """Whether this machine may capture for a run: it has the same project, hlodiff, Python and packages."""
    if context.run not in _EXAMINED:
        compilers = {name: found for name in COMPILERS if (found := package_version(name))}
        _EXAMINED[context.run] = JobResult("", refusal=_problem(context), compilers=compilers)
    return replace(_EXAMINED[context.run], machine=_machine())


_EXAMINED: dict[str, JobResult] = {}


def _problem(context: JobContext) -> str:
    if context.code != own_code():
        return "it has another hlodiff than this machine"
    root = _config(context).root
    if not (root / "pyproject.toml").is_file():
        return f"it has no project at {root}; the variable {PROJECT} of a worker names another folder"
    top = Path(os.path.realpath(root))
    changed = [name for name, digest in context.inputs.files.items() if file_digest(top / name) != digest]
    if changed:
        return f"it has other content of {_listed(changed)} than this machine"
    for name, version in context.inputs.packages.items():
        if (found := package_version(name)) != version:
            return f"it has {_version(name, found)}, and this machine {version}"
    try:
        check_jax()
    except CaptureError as error:
        return error.what
    return ""


def _config(context: JobContext) -> Config:
    config = context.config
    there = process_environment().get(PROJECT)
    if not there:
        return config
    root = Path(there).absolute()
    return replace(config, root=root, snapshots=root / os.path.relpath(config.snapshots, config.root))


def _machine() -> str:
    """The name of this machine; Dask's name if it is a Dask worker."""
    distributed = sys.modules.get("distributed")
    try:
        worker = distributed.get_worker() if distributed else None
    except ValueError:  # not in a task
        worker = None
    if worker is None:
        return f"{platform.node()}:{os.getpid()}"
    return called(worker.address, worker.name)


@cache
def own_code() -> str:
    """A hash of hlodiff's own files."""
    package = Path(__file__).parent.parent
    digest = sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(f"{file.relative_to(package).as_posix()} {file_digest(file)}\n".encode())
    return digest.hexdigest()


def _moved(value: Any, there: str, here: str) -> Any:
    """Rewrite texts of programs so that project files have their location on the requesting machine."""
    if isinstance(value, str):
        return value.replace(there, here)
    if isinstance(value, tuple):
        return tuple(_moved(item, there, here) for item in value)
    if is_dataclass(value) and not isinstance(value, type | Inputs):
        return replace(value, **{one.name: _moved(getattr(value, one.name), there, here) for one in fields(value)})
    return value


@dataclass(slots=True)
class _Kept:
    """The workers of one run and one thread on this machine, and whether a job uses them."""

    pool: WorkerPool
    used: float = 0.0
    busy: bool = False

    def __enter__(self) -> WorkerPool:
        self.busy = True
        return self.pool

    def __exit__(self, *_: object) -> None:
        self.used, self.busy = time.monotonic(), False


_POOLS: dict[tuple[str, int], _Kept] = {}
_LOCK = threading.Lock()


def _kept(context: JobContext) -> _Kept:
    key = (context.run, threading.get_ident())
    with _LOCK:
        if not _POOLS:
            threading.Thread(target=_end_idle, daemon=True, name="hlodiff idle workers").start()
        if key not in _POOLS:
            outside = elsewhere(process_environment(), context.variables)
            _POOLS[key] = _Kept(WorkerPool(_config(context), outside=outside, cache=context.cache), busy=True)
        _POOLS[key].busy = True
        return _POOLS[key]


def _end_idle() -> None:
    """Stop workers that no job has used for a while: the run is over, or continues elsewhere."""
    while True:
        time.sleep(_IDLE_SECONDS / 6)
        with _LOCK:
            for key, kept in list(_POOLS.items()):
                if not kept.busy and time.monotonic() - kept.used > _IDLE_SECONDS:
                    del _POOLS[key]
                    kept.pool.__exit__()
            if not _POOLS:
                return


def _end_run(run: str) -> None:
    with _LOCK:
        ended = [_POOLS.pop(key) for key in list(_POOLS) if key[0] == run]
    for kept in ended:
        kept.pool.kill()
        if not kept.busy:
            kept.pool.__exit__()


@atexit.register
def _end_all() -> None:
    for kept in _POOLS.values():
        kept.pool.__exit__()
