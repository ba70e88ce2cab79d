"""What goes into a capture and what comes out of it: records that cross the border between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hlodiff.traces.records import Compiled, Trace


@dataclass(frozen=True, slots=True)
class Request:
    """One program to capture.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: what to compile for.
        known_stablehlo: fingerprint of the stored, normalized StableHLO; "" where there is none.
        known_toolchain: the toolchain that made the stored program. Where both are what is found again, XLA is not
            asked to compile.
        lower_only: whether the program is lowered and XLA is never asked.

    Example:
        >>> Request("f", "", "cpu").target
        'cpu'
    """

    function: str
    case: str
    target: str
    known_stablehlo: str = ""
    known_toolchain: dict[str, Any] | None = None
    lower_only: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """A program as the compiler gave it, before any normalizing.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it was compiled for.
        stablehlo: StableHLO text with locations.
        compiled: compiled HLO text; None where XLA was not asked.
        facts: plain JSON values: `toolchain`, `arguments`, `results`, `memory`, `cost`, `devices`.
        seconds: how long `trace`, `lower` and `compile` took.
        unchanged: whether the stored program is known to be the same, so that XLA need not be asked.

    Example:
        >>> Captured("f", "", "cpu", "module {}", "HloModule m", {}, {}).unchanged
        False
    """

    function: str
    case: str
    target: str
    stablehlo: str
    compiled: str | None
    facts: dict[str, Any]
    seconds: dict[str, float]
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A program that cannot be compiled for its target here: neither a pass nor a failure.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it should have been compiled for.
        reason: why not.
        advice: what to do about it; "" when nothing helps.

    Example:
        >>> NotChecked("f", "", "tpu-v5e-2x2", "libtpu is not installed", "pip install libtpu").reason
        'libtpu is not installed'
    """

    function: str
    case: str
    target: str
    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A program that should have compiled and did not.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it was being compiled for.
        what: what went wrong, in one sentence, with file and line where they are known.
        log_tail: the end of what the worker wrote, or of the traceback.

    Example:
        >>> Failed("f", "", "cpu", "the worker was killed by SIGKILL", "").what
        'the worker was killed by SIGKILL'
    """

    function: str
    case: str
    target: str
    what: str
    log_tail: str


Outcome = Captured | NotChecked | Failed


@dataclass(frozen=True, slots=True)
class Event:
    """Progress of a capture.

    Args:
        kind: whether the program was handed to a worker or came back.
        function: name of the registered function.
        case: name of the case.
        target: what it is compiled for.
        outcome: what came back; None when started.

    Example:
        >>> Event("started", "f", "", "cpu").outcome is None
        True
    """

    kind: Literal["started", "finished"]
    function: str
    case: str
    target: str
    outcome: Any = None


@dataclass(frozen=True, slots=True)
class Discovered:
    """A registered function and what can be captured of it.

    Args:
        name: its name.
        module: the module that registered it.
        file: the file, relative to the project where it lies inside.
        line: 1-based line in that file.
        programs: for each target the names of its cases; "" is the case without a name.
        problem: why its cases could not be listed; then `programs` holds one nameless case, whose capture tells more.
        grown: names of the cases whose growth is looked at.
        parity: names of the cases that are run and compared with what is compiled ahead of time.
        budget: limits of metrics that it is registered with, as they were written; None where there are none.

    Example:
        >>> Discovered("f", "m", "m.py", 1, (("cpu", ("small", "large")),)).cases
        ('small', 'large')
    """

    name: str
    module: str
    file: str
    line: int
    programs: tuple[tuple[str, tuple[str, ...]], ...]
    problem: str = ""
    grown: tuple[str, ...] = ()
    parity: tuple[str, ...] = ()
    budget: Mapping[str, object] | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(target for target, _ in self.programs)

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case for _, cases in self.programs for case in cases))


@dataclass(frozen=True, slots=True)
class FoundScenario:
    """A registered scenario.

    Args:
        name: its name.
        file: the file, relative to the project where it lies inside.
        line: 1-based line in that file.
        max_traces, max_programs: its budgets, see `hlodiff.scenarios.Scenario`.
        devices: how many CPU devices it has.

    Example:
        >>> FoundScenario("steps", "m.py", 3).devices
        1
    """

    name: str
    file: str
    line: int
    max_traces: tuple[tuple[str, int], ...] = ()
    max_programs: tuple[tuple[str, int], ...] = ()
    devices: int = 1


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a scenario.

    Args:
        name: its name.
        events: what it traced and compiled, in order.
        jax: the version of JAX.
        what: why there is nothing to count, in one sentence with file and line; "" where it ran.
        advice: what to do about that; "" when nothing helps.
        log: the end of what the worker wrote, or of the traceback.

    Example:
        >>> Ran("steps", what="m.py:3: ValueError: no").what
        'm.py:3: ValueError: no'
    """

    name: str
    events: tuple[Trace | Compiled, ...] = ()
    jax: str = ""
    what: str = ""
    advice: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Everything that the configured modules register, in the order of registration.

    Args:
        functions: one record for each function.
        scenarios: one record for each scenario.
        files: absolute paths of everything of the user's own that was imported for it.

    Example:
        >>> Discovery((Discovered("f", "m", "m.py", 1, (("cpu", ("",)),)),)).requests()[0].function
        'f'
    """

    functions: tuple[Discovered, ...] = field(default=())
    scenarios: tuple[FoundScenario, ...] = ()
    files: tuple[str, ...] = ()

    def requests(self) -> tuple[Request, ...]:
        """One request for each program, function by function."""
        return tuple(
            Request(found.name, case, target)
            for found in self.functions
            for target, cases in found.programs
            for case in cases
        )


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """Whether this machine can compile for a target.

    Args:
        name: the target.
        available: whether it can.
        reason: why not, or what it compiles with.
        install: what to type to make it available; "" when nothing helps.

    Example:
        >>> TargetStatus("cpu", True, "jaxlib 0.10.2", "").available
        True
    """

    name: str
    available: bool
    reason: str
    install: str
