"""Requests and results of captures: records that are sent between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hlodiff.capture.imports import Inputs
from hlodiff.tracing.records import Compilation, Trace


@dataclass(frozen=True, slots=True)
class Request:
    """One program to capture.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: what to compile for.
        known_stablehlo: fingerprint of the stored, normalized StableHLO; "" where there is none.
        known_toolchain: the toolchain that made the stored program. Where both are unchanged, the program is not
            compiled.
        lower_only: whether the program is lowered and never compiled.
        dump: an empty folder for a text after each of XLA's passes; "" where none is wanted.

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
    dump: str = ""


@dataclass(frozen=True, slots=True)
class CapturedProgram:
    """A program as the compiler printed it, before normalizing.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it was compiled for.
        stablehlo: StableHLO text with locations.
        compiled: compiled HLO text; None where it was not compiled.
        facts: plain JSON values: `toolchain`, `arguments`, `results`, `memory`, `cost`, `devices`.
        seconds: how long `trace`, `lower` and `compile` took.
        unchanged: whether the stored program is known to be the same, so that it need not be compiled.
        inputs: the files and packages it was captured from.
        around: what stands around calls of jitted functions that a plain function makes, see `TracedCase`.
        cached: whether the compiled program comes from the compile cache.

    Example:
        >>> CapturedProgram("f", "", "cpu", "module {}", "HloModule m", {}, {}).unchanged
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
    inputs: Inputs = field(default_factory=Inputs)
    around: tuple[tuple[str, str, str, str], ...] = ()
    cached: bool = False


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
class CaptureFailure:
    """A program that should have compiled and did not.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it was being compiled for.
        what: what went wrong, in one sentence, with file and line where they are known.
        log_tail: the end of what the worker wrote, or of the traceback.

    Example:
        >>> CaptureFailure("f", "", "cpu", "the worker was killed by SIGKILL", "").what
        'the worker was killed by SIGKILL'
    """

    function: str
    case: str
    target: str
    what: str
    log_tail: str


Outcome = CapturedProgram | NotChecked | CaptureFailure


@dataclass(frozen=True, slots=True)
class Event:
    """Progress of a capture.

    Args:
        kind: whether a worker started or finished the program, or what it does now.
        function: name of the registered function; "" where the worker itself is being started.
        case: name of the case.
        target: what it is compiled for.
        outcome: the result; None before it is finished.
        phase: what the worker does with it: "tracing", "lowering", "compiling"; "" where it does not say.

    Example:
        >>> Event("started", "f", "", "cpu").outcome is None
        True
    """

    kind: Literal["started", "phase", "finished"]
    function: str
    case: str
    target: str
    outcome: Any = None
    phase: str = ""


@dataclass(frozen=True, slots=True)
class DiscoveredFunction:
    """A registered function and what can be captured of it.

    Args:
        name: its name.
        module: the module that registered it.
        file: the file, relative to the project if it is inside.
        line: 1-based line in that file.
        programs: for each target the names of its cases; "" is the case without a name.
        problem: why its cases could not be listed; then `programs` holds one nameless case, whose capture shows more.
        grown: names of the cases whose growth is checked.
        parity: names of the cases that are run and compared with what is compiled ahead of time.
        budget: limits of metrics that it is registered with, as they were written; None where there are none.
        wrong: names of cases that hold something no case can hold, and what it is; their capture fails.
        cache: whether `check` need not lower it where nothing that it is made from has changed.
        imports: the user's files behind its module, relative to the project if they are inside; None where that is not
            known.

    Example:
        >>> DiscoveredFunction("f", "m", "m.py", 1, (("cpu", ("small", "large")),)).cases
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
    wrong: tuple[tuple[str, str], ...] = ()
    cache: bool = True
    imports: tuple[str, ...] | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(target for target, _ in self.programs)

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case for _, cases in self.programs for case in cases))


@dataclass(frozen=True, slots=True)
class DiscoveredScenario:
    """A registered scenario.

    Args:
        name: its name.
        file: the file, relative to the project if it is inside.
        line: 1-based line in that file.
        max_traces, max_programs: its budgets, see `hlodiff.registry.Scenario`.
        devices: how many CPU devices it has.

    Example:
        >>> DiscoveredScenario("steps", "m.py", 3).devices
        1
    """

    name: str
    file: str
    line: int
    max_traces: tuple[tuple[str, int], ...] = ()
    max_programs: tuple[tuple[str, int], ...] = ()
    devices: int = 1


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """The result of running a scenario.

    Args:
        name: its name.
        events: what it traced and compiled, in order.
        jax: the version of JAX.
        what: why there is nothing to count, in one sentence with file and line; "" where it ran.
        advice: what to do about that; "" when nothing helps.
        log: the end of what the worker wrote, or of the traceback.
        inputs: the files and packages it was run from.

    Example:
        >>> ScenarioRun("steps", what="m.py:3: ValueError: no").what
        'm.py:3: ValueError: no'
    """

    name: str
    events: tuple[Trace | Compilation, ...] = ()
    jax: str = ""
    what: str = ""
    advice: str = ""
    log: str = ""
    inputs: Inputs = field(default_factory=Inputs)


@dataclass(frozen=True, slots=True)
class Discovery:
    """Everything that the configured modules register, in the order of registration.

    Args:
        functions: one record for each function.
        scenarios: one record for each scenario.
        files: absolute paths of all imported files of the user's own.

    Example:
        >>> Discovery((DiscoveredFunction("f", "m", "m.py", 1, (("cpu", ("",)),)),)).requests()[0].function
        'f'
    """

    functions: tuple[DiscoveredFunction, ...] = field(default=())
    scenarios: tuple[DiscoveredScenario, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def uncached(self) -> frozenset[str]:
        """Functions that are lowered by every check."""
        return frozenset(function.name for function in self.functions if not function.cache)

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


@dataclass(frozen=True, slots=True)
class GrowthRequest:
    """One case that is to be lowered at all its sizes.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: what to lower for.
        compile: whether it is compiled too.
        sizes: parameters and sizes in place of those of the case; those of the case where empty.

    Example:
        >>> GrowthRequest("f", "", "cpu").compile
        False
    """

    function: str
    case: str
    target: str
    compile: bool = False
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """The program at one size.

    Args:
        size: of the parameter.
        stablehlo: StableHLO text with locations.
        compiled: compiled HLO text; "" where it was not compiled.
    """

    size: int
    stablehlo: str
    compiled: str = ""


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A large array that a function uses without taking it as an argument.

    Args:
        digest: a hash of its bytes.
        name: of the variable in the function.
        where: `file:line` of the function that uses it.
    """

    digest: str
    name: str
    where: str


@dataclass(frozen=True, slots=True)
class SizedProgram:
    """The programs of one parameter, in ascending order of its sizes."""

    parameter: str
    programs: tuple[LoweredProgram, ...]
    tables: tuple[NamedTable, ...] = ()


@dataclass(frozen=True, slots=True)
class GrowthResult:
    """A case at all its sizes.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it was lowered for.
        parameters: one record for each parameter that `grow` names.
        limits: how each quantity may grow at most, by its name.
        inputs: the files and packages it was lowered from.
    """

    function: str
    case: str
    target: str
    parameters: tuple[SizedProgram, ...]
    limits: dict[str, str]
    inputs: Inputs = field(default_factory=Inputs)


@dataclass(frozen=True, slots=True)
class ParityRequest:
    """One case that is to be run for real on this machine's CPU.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: the CPU target that it runs on, `cpu` or `cpu-8`.
        compile_for: a target for which both programs are compiled too; "" for none.

    Example:
        >>> ParityRequest("f", "", "cpu").compile_for
        ''
    """

    function: str
    case: str
    target: str
    compile_for: str = ""


@dataclass(frozen=True, slots=True)
class CalledProgram:
    """A program that a call compiled, and what `.lower()` of the same function with the same arguments gives.

    Args:
        name: of the jitted function.
        place: `file:line` of its definition, relative to the project.
        called_at: `file:line` of the call.
        called: StableHLO that the call compiled.
        ahead: StableHLO that is lowered ahead of time; "" where that fails.
        problem: why it cannot be lowered ahead of time.
        context: configuration and meshes of the call that `.lower()` does not have, as (name, value) pairs.
        compiled_called, compiled_ahead: compiled HLO of both for `compile_for`; "" where it was not asked for.
        numbers: whether both ways gave the same numbers where they differ; "" where that is not known.
    """

    name: str
    place: str
    called_at: str
    called: str
    ahead: str = ""
    problem: str = ""
    context: tuple[tuple[str, str], ...] = ()
    compiled_called: str = ""
    compiled_ahead: str = ""
    numbers: str = ""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a real call of a case compiled.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it ran on.
        programs: of jitted functions, in the order in which they were compiled.
        eager: names of operations that ran outside every jitted function.
        jitted_here: whether the function has no jit of its own and was called as `jax.jit(function)`.
    """

    function: str
    case: str
    target: str
    programs: tuple[CalledProgram, ...]
    eager: tuple[str, ...] = ()
    jitted_here: bool = False


# --- What a program costs before it runs, and one computation jitted in several ways.

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


@dataclass(frozen=True, slots=True)
class Executable:
    """One executable of a variant.

    Args:
        name: JAX's name of it, such as `jit_g`.
        eager: whether it is one of JAX's own operations, run by itself.
        stablehlo, compiled: its texts.
        launches: how often one later call runs it.
        bytes_accessed, flops: of one run, by XLA's estimate; None where it gives none.
        seconds: what lowering and compiling it took.

    Example:
        >>> Executable("jit_add", True, "", "", 2, 8.0, 1.0, 0.01).launches
        2
    """

    name: str
    eager: bool
    stablehlo: str
    compiled: str
    launches: int
    bytes_accessed: float | None
    flops: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Border:
    """A function that is jitted or called inside another; kernels may be fused across the border between the two.

    Args:
        name: its name.
        place: `file:line` of its definition.

    Example:
        >>> Border("f", "model.py:12").file
        'model.py'
    """

    name: str
    place: str

    @property
    def file(self) -> str:
        return self.place.rpartition(":")[0]


@dataclass(frozen=True, slots=True)
class VariantRun:
    """One variant, called for real.

    Args:
        name: its name.
        executables: everything that was compiled for it, in order.
        traced: seconds of tracing.
        traces: how often Python code was traced, inner functions included.
        first: seconds of the first call, in a process that has compiled other things before.
        later: seconds of calls after it.
        again: executables that the second call compiled again; normally none.
        problem: why it could not be run.

    Example:
        >>> VariantRun("outer", (), 0.0, 1, 0.1, (0.001,), 0).problem
        ''
    """

    name: str
    executables: tuple[Executable, ...] = ()
    traced: float = 0.0
    traces: int = 0
    first: float = 0.0
    later: tuple[float, ...] = ()
    again: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class VariantsResult:
    """One computation in all its variants.

    Args:
        name: what it is registered as.
        variants: in the order in which they are registered.
        borders: the inner functions.
        jax: its version.
        where: where it is registered.
        budget: limits of the variants, as they were written; None where nothing is limited.

    Example:
        >>> VariantsResult("g_calls_f", (), (), "0.10.2").variants
        ()
    """

    name: str
    variants: tuple[VariantRun, ...]
    borders: tuple[Border, ...]
    jax: str
    where: str = ""
    budget: Mapping[str, object] | None = None
