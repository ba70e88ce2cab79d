"""The executor that captures run on: workers of this machine, or remote machines at an address like dask://HOST:PORT.

An executor is Python's own `concurrent.futures.Executor`. The address comes from the command line or the environment:
no file of a repository can send anything to another machine.
"""

from __future__ import annotations

import logging
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from hlodiff.config import process_environment
from hlodiff.errors import CaptureError, UsageError
from hlodiff.interrupts import deferred

VARIABLE = "HLODIFF_EXECUTOR"
"""Default address of the executor."""

_ADDRESS = re.compile(r"dask(\+tls)?://((?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5})", re.ASCII)
_CONNECT_SECONDS = 10.0
_WORKER_SECONDS = 20.0  # how long a scheduler may be without workers, at the start and after losing the last one


def _nothing() -> None:
    """Nothing to check."""


def _nobody(job: Callable[..., Any], *arguments: object) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class RunningExecutor:
    """The executor that this run sends captures to.

    Args:
        name: its name in messages.
        executor: accepts the jobs.
        on_all: runs a function on each known machine; returns results or errors by machine name.
        look: called while idle; raises a CaptureError if no progress is possible.
    """

    name: str
    executor: Executor
    on_all: Callable[..., Mapping[str, Any]] = _nobody
    look: Callable[[], None] = _nothing


EXECUTOR: ContextVar[RunningExecutor | None] = ContextVar("executor", default=None)
"""The executor of this run; None if workers of this machine capture."""


@contextmanager
def executed_on(executor: str | Executor | None) -> Iterator[None]:
    """Run the captures inside the block on an executor.

    Args:
        executor: an address, or a `concurrent.futures.Executor`; None for the address in HLODIFF_EXECUTOR, if any.

    Raises:
        UsageError: the address is invalid.
        CaptureError: the executor cannot be reached, has no workers, or needs a package that is not installed.
    """
    with _opened(executor) as running:
        token = EXECUTOR.set(running)
        try:
            yield
        finally:
            EXECUTOR.reset(token)


def _opened(executor: str | Executor | None) -> AbstractContextManager[RunningExecutor | None]:
    if isinstance(executor, Executor):
        return nullcontext(RunningExecutor(f"a {type(executor).__name__}", executor))
    address, where = (executor, "--executor") if executor else (process_environment().get(VARIABLE, ""), VARIABLE)
    return _dask(address, where) if address else nullcontext(EXECUTOR.get())


def executor_asked_for(executor: str | Executor | None) -> bool:
    """Whether this run was asked to capture elsewhere."""
    return bool(executor or process_environment().get(VARIABLE))


@contextmanager
def _dask(address: str, where: str) -> Iterator[RunningExecutor]:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        what = f"`{address}` is not the address of an executor"
        raise UsageError(what, where=where, hint="dask://HOST:PORT, or dask+tls://HOST:PORT, of a Dask scheduler")
    if find_spec("distributed") is None:
        what = f"`{address}` needs Dask's distributed, which is not installed"
        raise CaptureError(what, hint="pip install dask distributed")
    from distributed import Client

    # Dask's log of a lost worker is redundant: whoever waits for its job reports it.
    for name in ("distributed", "distributed.client", "distributed.comm", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    scheduler = f"{'tls' if match[1] else 'tcp'}://{match[2]}"
    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:  # TypeError: no certificates for tls
        what = f"the scheduler {address} cannot be reached ({_short(error)})"
        raise CaptureError(what, hint=f"start one there with `dask scheduler`, and name it with {where}") from None
    try:
        yield _on_client(client, address, match[2])
    finally:
        with deferred():
            client.close(timeout=2)


def _on_client(client: Any, address: str, place: str) -> RunningExecutor:
    def no_worker() -> CaptureError:
        return CaptureError(
            f"the scheduler {address} has no worker", hint=f"start one: dask worker {place} --nthreads 1"
        )

    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError:
        raise no_worker() from None
    lonely: list[float] = []  # since when there has been no worker

    def look() -> None:
        if client.status not in ("running", "connecting"):
            raise CaptureError(f"the scheduler {address} is gone")
        if client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]:
            lonely.clear()
            return
        lonely[:] = lonely or [time.monotonic()]
        if time.monotonic() - lonely[0] > _WORKER_SECONDS:
            raise no_worker()

    def on_all(job: Callable[..., Any], *arguments: object) -> Mapping[str, Any]:
        found = client.run(pkgutil.resolve_name, "hlodiff:__version__", on_error="return")
        for worker, version in found.items():
            if isinstance(version, BaseException):
                what = f"the worker {worker} is refused: it has no hlodiff ({_short(version)})"
                raise CaptureError(what, hint="install the project and hlodiff there, as they are here")
        workers = client.scheduler_info(n_workers=-1)["workers"]
        answers = client.run(job, *arguments, on_error="return")
        return {called(worker, workers.get(worker, {}).get("name", worker)): one for worker, one in answers.items()}

    return RunningExecutor(address, client.get_executor(pure=False), on_all, look)


def called(address: str, name: object) -> str:
    """How messages name a worker: by name and address.

    Example:
        >>> called("tcp://10.0.0.7:4242", "big"), called("tcp://10.0.0.7:4242", "tcp://10.0.0.7:4242")
        ('big (tcp://10.0.0.7:4242)', 'tcp://10.0.0.7:4242')
    """
    return address if name in (None, address) else f"{name} ({address})"


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:200]
