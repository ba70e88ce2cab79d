"""The worker that has listed what is registered captures too: to start another one takes a second."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from hlodiff.capture.environment import Setting, worker_environment
from hlodiff.capture.worker_process import Worker
from hlodiff.config import Config, process_environment

_DEVICES = "JAX_NUM_CPU_DEVICES"


@dataclass(slots=True)
class _Spare:
    """At most one worker that waits for work, what it was started with, and where logs lie."""

    worker: Worker | None = None
    config: Config | None = None
    folders: list[tempfile.TemporaryDirectory[str]] = field(default_factory=list)

    def end(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.end()


_SPARE: ContextVar[_Spare | None] = ContextVar("spare", default=None)


@contextmanager
def one_worker_for_both() -> Iterator[None]:
    """Let a capture use the worker that has discovered what is to be captured.

    Returns:
        a context, or a decorator of a function, outside of which no such worker is left.

    Example:
        >>> with one_worker_for_both():  # doctest: +SKIP
        ...     outcomes = list(capture(config, discover(config).requests()))
    """
    spare = _Spare()
    token = _SPARE.set(spare)
    try:
        yield
    finally:
        _SPARE.reset(token)
        spare.end()
        for folder in spare.folders:
            folder.cleanup()


def leave(config: Config, worker: Worker, folder: tempfile.TemporaryDirectory[str]) -> bool:
    """Leave a worker to the next capture.

    Args:
        config: what it was started with.
        worker: it waits for a question.
        folder: what its log lies in.

    Returns:
        whether somebody takes care of both from now on.
    """
    spare = _SPARE.get()
    if spare is None:
        return False
    spare.end()
    spare.worker, spare.config = worker, config
    spare.folders.append(folder)
    return True


def taken(config: Config, setting: Setting) -> Worker | None:
    """The worker that was left, where it can do what a new one would do.

    It cannot where XLA has started in it: then it has as many devices as discovering needs, and may have run something.

    Args:
        config: what a new one would be started with.
        setting: of what is to be captured.

    Returns:
        a worker that is starting XLA, as a new one does; None where there is none. One that does not suit is ended.
    """
    spare = _SPARE.get()
    if spare is None or spare.worker is None:
        return None
    worker = spare.worker
    environment = worker_environment(config, setting, process_environment())
    if config == spare.config and not setting.attached and _ready(worker, environment[_DEVICES]):
        spare.worker = None
        worker.setting = setting
        return worker
    spare.end()
    return None


def _ready(worker: Worker, devices: str) -> bool:
    try:
        worker.connection.send(("has_devices", devices))
        kind, ready = worker.connection.recv()
        if kind == "result" and ready is True:
            worker.connection.send(("start", None))
            return True
    except (EOFError, OSError):
        pass
    return False
