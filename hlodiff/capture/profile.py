"""Timing what a program costs before it runs: the records, and asking a fresh worker for each program in turn.

This is the parent's side; `hlodiff.capture.profile_worker` is what runs in the worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from hlodiff.capture.availability import check_jax, missing
from hlodiff.capture.messages import CaptureFailure, NotChecked, Request
from hlodiff.capture.pool import WorkerDeath, WorkerPool, worker_setting
from hlodiff.capture.targets import parse
from hlodiff.config import Config
from hlodiff.errors import CaptureError, HlodiffError

Source = Literal["profiler", "dump", ""]
PHASE_NAMES = ("trace", "lower", "compile")


@dataclass(frozen=True, slots=True)
class Phases:
    """What a first call pays before anything runs, in seconds.

    Args:
        trace: Python runs once, with tracers for arrays.
        lower: the jaxpr becomes StableHLO.
        compile: XLA makes machine code of it.

    Example:
        >>> Phases(0.5, 0.25, 1.0).total
        1.75
    """

    trace: float
    lower: float
    compile: float

    @property
    def total(self) -> float:
        return self.trace + self.lower + self.compile


@dataclass(frozen=True, slots=True)
class PassTime:
    """One pass of XLA in one compile.

    Args:
        name: what XLA calls it.
        pipeline: the pipeline in which most of its time went; "" for what is no pass, such as code generation.
        seconds: in all its runs, without what ran inside it.
        runs: how often it ran.

    Example:
        >>> PassTime("fusion", "HLO passes", 0.002, 3).runs
        3
    """

    name: str
    pipeline: str
    seconds: float
    runs: int


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """One program to time.

    Args:
        request: which program.
        repeat: how often it is compiled again after the first time.
        passes: whether each of XLA's passes is timed, which takes one more compile.

    Example:
        >>> ProfileRequest(Request("f", "", "cpu"), 3).passes
        True
    """

    request: Request
    repeat: int
    passes: bool = True


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """How long a program took to make.

    Args:
        function, case, target: which program.
        stablehlo, compiled: its texts.
        first: the first compile of a fresh process.
        later: the same again in that process, with JAX's caches emptied before each.
        passes: XLA's passes in one more compile, the longest first; empty where the compiler reports none.
        source: where the times of the passes come from; "" where there are none.
        observed: how long XLA took in the compile of `passes`.

    Example:
        >>> ProfileResult("f", "", "cpu", "", "", Phases(0, 0, 1), ()).key
        ('f', '', 'cpu')
    """

    function: str
    case: str
    target: str
    stablehlo: str
    compiled: str
    first: Phases
    later: tuple[Phases, ...]
    passes: tuple[PassTime, ...] = ()
    source: Source = ""
    observed: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        return self.function, self.case, self.target


def profile(
    config: Config,
    requests: Sequence[ProfileRequest],
) -> Iterator[ProfileResult | NotChecked | CaptureFailure]:
    """Time programs, each in a fresh worker, never two at once: they would slow each other down.

    Args:
        config: names the modules and the settings of the workers.
        requests: which programs.

    Returns:
        one outcome for each request, in their order.

    Raises:
        UsageError: a request names a target that does not exist.
        ConfigError: a configured module does not exist.
        RegistryError: a module raises while it is imported, or something is registered wrongly.
        CaptureError: JAX is missing or too old, or a worker died before it could start.

    Example:
        >>> for outcome in profile(config, requests):  # doctest: +SKIP
        ...     print(outcome.first.total)
    """
    check_jax()
    for wanted in requests:
        yield _profile_one(config, wanted)


def _profile_one(config: Config, wanted: ProfileRequest) -> ProfileResult | NotChecked | CaptureFailure:
    request = wanted.request
    where = (request.function, request.case, request.target)
    name = parse(request.target)
    if lacking := missing(name):
        return NotChecked(*where, *lacking)
    setting = worker_setting(name)
    with WorkerPool(config) as pool:
        worker = pool.start_ready(setting, "capture")
        try:
            return cast("ProfileResult | NotChecked | CaptureFailure", pool.ask(setting, "profile", wanted))
        except WorkerDeath as death:
            what = death.describe(request.function, worker.locations.get(request.function, ""))
            return CaptureFailure(*where, what, death.log)
        except CaptureError as error:
            return CaptureFailure(*where, error.what, "")
        except HlodiffError as error:
            return CaptureFailure(*where, error.render(), "")
