"""Requests and results of captures: records sent between processes."""

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
        target: the target to compile for.
        known_stablehlo: fingerprint of the stored, normalized StableHLO; "" if there is none.
        known_toolchain: the toolchain that made the stored program. If both are unchanged, the program is not compiled.
        lower_only: whether the program is lowered and never compiled.
        dump: an empty folder for a text after each of XLA's passes; "" for no dump.

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
        target: the target it was compiled for.
        stablehlo: StableHLO text with locations.
        compiled: compiled HLO text; None if it was not compiled.
        facts: plain JSON values: `toolchain`, `arguments`, `results`, `memory`, `cost`, `devices`.
        seconds: how long `trace`, `lower` and `compile` took.
        unchanged: whether the stored program is known to be the same, so that compiling is unnecessary.
        inputs: the files and packages it was captured from.
        around: context of the calls of jitted functions in a plain function, see `TracedCase`.
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
        target: the target it was meant for.
        reason: why it was not compiled.
        advice: what to do about it; "" if nothing helps.

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
    """A program that should have compiled but failed.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: the target it was being compiled for.
        what: what went wrong, in one sentence, with file and line where they are known.
        log_tail: the end of the worker's output, or of the traceback.

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
        kind: whether the program was started or finished, or its current phase.
        function: name of the registered function; "" while the worker itself starts.
        case: name of the case.
        target: the target it is compiled for.
        outcome: the result; None before it is finished.
        phase: the worker's current step: "tracing", "lowering", "compiling"; "" if unknown.

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
    """A registered function and the programs that can be captured from it.

    Args:
        name: its name.
        module: the module that registered it.
        file: the file, relative to the project if it is inside.
        line: 1-based line in that file.
        programs: for each target the names of its cases; "" is the case without a name.
        problem: why its cases could not be listed; then `programs` has one unnamed case, whose capture shows more.
        grown: names of the cases whose growth is checked.
        parity: names of the cases that are run and compared with their ahead-of-time compilation.
        budget: its limits on metrics as written; None if there are none.
        wrong: invalid cases by name, and what is wrong with each; their capture fails.
        cache: whether `check` may skip lowering it if none of its inputs has changed.
        imports: the user's files behind its module, relative to the project if they are inside; None if unknown.

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
        events: its traces and compiles, in order.
        jax: the version of JAX.
        what: why there is nothing to count, in one sentence with file and line; "" if it ran.
        advice: what to do about that; "" if nothing helps.
        log: the end of the worker's output, or of the traceback.
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
        """Functions that every check lowers."""
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
        install: what to type to make it available; "" if nothing helps.

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
    """A request to lower one case at all its sizes.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: the target to lower for.
        compile: whether to compile it too.
        sizes: parameters and sizes to use; if empty, those of the case.

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
        size: value of the parameter.
        stablehlo: StableHLO text with locations.
        compiled: compiled HLO text; "" if it was not compiled.
    """

    size: int
    stablehlo: str
    compiled: str = ""


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A large array that a function uses without taking it as an argument.

    Args:
        digest: a hash of its bytes.
        name: name of the variable in the function.
        where: `file:line` of the function that uses it.
    """

    digest: str
    name: str
    where: str


@dataclass(frozen=True, slots=True)
class SizedProgram:
    """The programs for one parameter, by ascending size."""

    parameter: str
    programs: tuple[LoweredProgram, ...]
    tables: tuple[NamedTable, ...] = ()


@dataclass(frozen=True, slots=True)
class GrowthResult:
    """The programs of a case at all its sizes.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: the target it was lowered for.
        parameters: one record per parameter in `grow`.
        limits: maximum growth of each quantity, by its name.
        inputs: the files and packages it was lowered from.
    """

    function: str
    case: str
    target: str
    parameters: tuple[SizedProgram, ...]
    limits: dict[str, str]
    inputs: Inputs = field(default_factory=Inputs)


LONGEST_CALL = 600
"""Seconds after which a called case is stopped, including its compilations."""


@dataclass(frozen=True, slots=True)
class ParityRequest:
    """A request to run one case on this machine's CPU.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: the CPU target that it runs on, `cpu` or `cpu-8`.
        compile_for: a target that both programs are compiled for too; "" for none.

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
    """A program that a call compiled, and the result of `.lower()` for the same function and arguments.

    Args:
        name: of the jitted function.
        place: `file:line` of its definition, relative to the project.
        called_at: `file:line` of the call.
        called: StableHLO compiled by the call.
        ahead: StableHLO lowered ahead of time; "" if that fails.
        problem: why it cannot be lowered ahead of time.
        context: configuration and meshes of the call that `.lower()` does not have, as (name, value) pairs.
        compiled_called, compiled_ahead: compiled HLO of both for `compile_for`; "" if it was not requested.
        numbers: whether both ways gave the same numbers, if they differ; "" if unknown.
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
    """The programs that a real call of a case compiled.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: the target it ran on.
        programs: those of jitted functions, in order of compilation.
        eager: names of operations that ran outside jitted functions.
        jitted_here: whether the function has no jit of its own and was called as `jax.jit(function)`.
    """

    function: str
    case: str
    target: str
    programs: tuple[CalledProgram, ...]
    eager: tuple[str, ...] = ()
    jitted_here: bool = False


# --- The cost of a program before it runs, and one computation jitted in several ways.

Source = Literal["profiler", "dump", ""]
PHASE_NAMES = ("trace", "lower", "compile")


@dataclass(frozen=True, slots=True)
class Phases:
    """Time of a first call before anything runs, in seconds.

    Args:
        trace: Python runs once, with tracers in place of arrays.
        lower: the jaxpr becomes StableHLO.
        compile: XLA generates machine code.

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
    """Time of one XLA pass in one compilation.

    Args:
        name: XLA's name.
        pipeline: the pipeline with most of its time; "" for work outside passes, such as code generation.
        seconds: total over all runs, excluding nested spans.
        runs: number of runs.

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
    """A request to time one program.

    Args:
        request: which program.
        repeat: number of compilations after the first.
        passes: whether to time each XLA pass, which takes one more compilation.

    Example:
        >>> ProfileRequest(Request("f", "", "cpu"), 3).passes
        True
    """

    request: Request
    repeat: int
    passes: bool = True


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """How long it took to make a program.

    Args:
        function, case, target: which program.
        stablehlo, compiled: texts of the program.
        first: the first compilation in a fresh process.
        later: repeated compilations in that process, each after clearing JAX's caches.
        passes: XLA's passes in one more compilation, slowest first; empty if the compiler reports none.
        source: source of the pass times; "" if there are none.
        observed: XLA's total time in the compilation of `passes`.

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
        name: JAX's name, such as `jit_g`.
        eager: whether it is a single JAX operation run eagerly.
        stablehlo, compiled: texts of the program.
        launches: number of launches in one later call.
        bytes_accessed, flops: XLA's estimate for one launch; None if XLA gives none.
        seconds: time to lower and compile it.

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
    """A function that is jitted or called inside another; kernels may be fused across this border.

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
        name: name of the variant.
        executables: everything compiled for it, in order.
        traced: seconds of tracing.
        traces: number of traces of Python code, inner functions included.
        first: seconds of the first call, in a process that has compiled before.
        later: seconds of each later call.
        again: number of executables that the second call compiled again; normally 0.
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
        name: its registered name.
        variants: one record each, in order of registration.
        borders: the inner functions.
        jax: version of JAX.
        where: location of the registration.
        budget: limits on the variants as written; None if there are none.

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
