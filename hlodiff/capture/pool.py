"""Discovering and capturing in worker processes, seen from the process that asks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

from hlodiff.capture.availability import check_jax, missing
from hlodiff.capture.crew import Crew
from hlodiff.capture.environment import Setting
from hlodiff.capture.growth_outcomes import Grown, GrowthRequest
from hlodiff.capture.outcomes import Discovery, Event, NotChecked, Outcome, Request
from hlodiff.capture.parity_outcomes import Called, ParityRequest
from hlodiff.capture.targets import TargetName, parse
from hlodiff.config import TABLE, Config
from hlodiff.errors import CaptureError, UsageError

Job = Request | GrowthRequest | ParityRequest
Answer = Outcome | Grown | Called
_REHEARSAL = Setting(attached=False, cpu_devices=256)  # as many as the largest target has; they cost half a second


def discover(config: Config) -> Discovery:
    """What the configured modules register.

    Args:
        config: names the modules.

    Returns:
        every function with its targets, cases and place; nothing is compiled.

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
            parse(name)
        except UsageError as error:
            error.where = f"[{TABLE}] targets"
            raise
    with Crew(config) as crew:
        found = cast(Discovery, crew.ask(_REHEARSAL, "discover", None))
        crew.leave_worker()
    return found


def probe(config: Config, names: Sequence[TargetName]) -> dict[str, str]:
    """Try to open targets.

    Args:
        config: the settings of the workers.
        names: which targets.

    Returns:
        for each the reason why it cannot be opened, "" where it can.

    Raises:
        CaptureError: JAX cannot be started.
    """
    found: dict[str, str] = {}
    with Crew(config) as crew:
        for name in names:
            # CPU devices are there for the asking, and asking for each number would take a worker each.
            setting = Setting(name.kind == "attached", 1)
            try:
                found[name.name] = "" if name.kind == "cpu" else str(crew.ask(setting, "probe", name.name))
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
    """Compile programs in worker processes.

    Args:
        config: names the modules and the settings of the workers.
        requests: which programs, and of which ones the growth.
        jobs: how many workers at once; those of the configuration by default.
        on_event: told of each program that starts and finishes, in this process.

    Returns:
        one outcome for each request, in the order in which they are done. Closing the iterator ends the workers.

    Raises:
        UsageError: a request names a target that does not exist.
        ConfigError: a configured module does not exist.
        RegistryError: a module raises while it is imported, or something is registered wrongly.
        CaptureError: JAX is missing or too old, or a worker died before it could start.

    Example:
        >>> for outcome in capture(config, discover(config).requests()):  # doctest: +SKIP
        ...     print(outcome.function, outcome.target)
    """
    check_jax()
    named = [(request, parse(request.target)) for request in requests]
    return _capture(config, named, jobs or config.jobs, on_event or (lambda event: None))


def _capture(
    config: Config, named: list[tuple[Job, TargetName]], jobs: int, tell: Callable[[Event], None]
) -> Iterator[Answer]:
    queues: dict[Setting, deque[Job]] = {}
    absent = {name.name: missing(name) for _, name in named}
    for request, name in named:
        lacking = absent[name.name]
        if lacking is not None:
            reason, install = lacking
            yield _told(tell, NotChecked(request.function, request.case, request.target, reason, install))
        else:
            queues.setdefault(_setting(name), deque()).append(request)
    with Crew(config) as crew:
        while any(queues.values()) or crew.workers:
            crew.staff(queues, jobs)
            for worker in crew.wait():
                outcome = crew.receive(worker)
                if outcome is not None:
                    yield _told(tell, outcome)
                crew.employ(worker, queues[worker.setting], tell)


def _setting(name: TargetName) -> Setting:
    """Programs for TPUs and GPUs share workers with those for one CPU device: all of them fit into one process."""
    return Setting(name.kind == "attached", name.devices if name.kind == "cpu" else 1)


def _told(tell: Callable[[Event], None], outcome: Answer) -> Answer:
    tell(Event("finished", outcome.function, outcome.case, outcome.target, outcome))
    return outcome
