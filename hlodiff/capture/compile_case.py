"""Captures one program, in a worker or in a user's process, and lowers one case at several sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Sharding
from jax.tree_util import tree_leaves

from hlodiff.capture import facts, jax_private
from hlodiff.capture.arguments import (
    HOST_MEMORIES,
    KeptOnDevice,
    KeptOnMesh,
    PlacedStruct,
    dropped_leaves_hint,
    keeps_memory_kinds,
    on_device,
    ordinary,
)
from hlodiff.capture.cases import BuiltCases, build_each_case, case_named, check_sizes, limits_of, registered
from hlodiff.capture.compile_cache import CompileCache, xla_result
from hlodiff.capture.devices import Target, TooFewDevices, open_target
from hlodiff.capture.imports import is_own, message, one_line, one_line_at, relative, user_traceback
from hlodiff.capture.literals import compiled_text, named_tables
from hlodiff.capture.lowering import TracedCase, lower, trace
from hlodiff.capture.messages import (
    CapturedProgram,
    CaptureFailure,
    GrowthRequest,
    GrowthResult,
    LoweredProgram,
    NotChecked,
    Outcome,
    Request,
    SizedProgram,
)
from hlodiff.capture.pass_dumps import compile_with_dump
from hlodiff.capture.targets import TargetName, parse_target
from hlodiff.errors import HlodiffError
from hlodiff.normalizer.constants import Constants
from hlodiff.registry import Case, Registration, registrations
from hlodiff.tracing.observer import forget_compiled, unobserved

_LEAVE_OUT = "leave this target out for the function: @hlodiff.register(targets=[...])"
_CALLBACK = (
    'for Equinox\'s errors (error_if, so most of diffrax) set env = { EQX_ON_ERROR = "nan" } in [tool.hlodiff]; '
    f"else remove jax.debug.print and callbacks, or {_LEAVE_OUT}"
)
_AUTOTUNING = (
    'set xla_flags = ["--xla_gpu_autotune_level=0"] in [tool.hlodiff], which takes XLA\'s default instead; '
    "JAX 0.9 and later need no flag"
)


def cannot_open(name: TargetName, error: Exception) -> tuple[str, str]:
    """Why a target could not be opened, and what to do.

    Args:
        name: the target.
        error: what JAX raised.

    Returns:
        reason and advice.

    Example:
        >>> from hlodiff.capture.targets import parse_target
        >>> cannot_open(parse_target("attached"), RuntimeError("no backend"))[0]
        'this machine has no accelerator that JAX can use (RuntimeError: no backend)'
    """
    if name.kind == "attached":
        return f"this machine has no accelerator that JAX can use ({one_line(error)})", ""
    return f"`{name.name}` cannot be opened: {one_line(error)}", "`hlodiff list --targets` shows what is missing"


def refusal(name: TargetName, error: Exception) -> tuple[str, str] | None:
    """Whether an error means that the program cannot be compiled for the target at all.

    Args:
        name: the target.
        error: what lowering or compiling raised.

    Returns:
        reason and advice; None for an error in the function itself.

    Example:
        >>> from hlodiff.capture.targets import parse_target
        >>> refusal(parse_target("cpu"), TypeError("mine")) is None
        True
    """
    text = message(error)
    # Seen with jax.debug.print, pure_callback and error_if: their lowering requires a running GPU.
    if "Unknown backend: 'gpu' requested" in text or "Unknown backend: 'cuda' requested" in text:
        return "it calls back into Python, which JAX lowers for CUDA only where a GPU is attached", _CALLBACK
    if "jaxlib/cuda/versions_helpers.cc" in text:  # seen with jnp.linalg.eig
        return f"JAX lowers it only where it can load the libraries of CUDA ({one_line(error)})", _LEAVE_OUT
    if "autotune result" in text and "deviceless" in text:  # XLA before JAX 0.9, for each matrix product
        return "XLA of this JAX measures how to run a matrix product, and no GPU is attached", _AUTOTUNING
    if "ptxas" in text.lower():
        return f"XLA found no ptxas that it can use ({one_line(error)})", "pip install nvidia-cuda-nvcc-cu12"
    if "Only interpret mode is supported on CPU backend" in text:
        return "a Pallas kernel cannot be compiled for the CPU", f"{_LEAVE_OUT}, or use interpret=True"
    if isinstance(error, NotImplementedError) or text.startswith("UNIMPLEMENTED"):
        return f"JAX or XLA cannot compile it for `{name.name}` ({one_line(error)})", _LEAVE_OUT
    return None


class Bench:
    """The state of a process between programs: opened targets, and the cases of the last function.

    Args:
        root: the folder that files in errors are relative to.
        environment: the process environment, which becomes part of the toolchain.
        large_constants: how the stored StableHLO was normalized.
        worker: whether this is a worker, where JAX's caches may be cleared.
    """

    def __init__(
        self, root: Path, environment: dict[str, str], large_constants: Constants = "hash", *, worker: bool = False
    ) -> None:
        jax_private.exclude_frames(str(Path(__file__).parent))
        self.root = root
        self.environment = environment
        self.large_constants = large_constants
        self.worker = worker
        self.compile_cache: CompileCache | None = None
        self.on_phase: Callable[[str], None] = lambda phase: None
        self._targets: dict[str, Target] = {}
        self._last: tuple[tuple[str, str], BuiltCases] | None = None

    def target(self, name: TargetName) -> Target:
        """The opened target; opening takes libtpu half a second."""
        if name.name not in self._targets:
            self._targets[name.name] = open_target(name)
        return self._targets[name.name]

    def fresh(self) -> AbstractContextManager[None]:
        """A context in which no earlier trace is reused.

        JAX caches traces of inner functions (`jnp.where`, a jitted helper, the body of a scan) with the lines of their
        first caller. Traced from scratch, a program has its own lines, whatever was captured before.
        """
        if not self.worker:
            return jax_private.fresh_traces()
        forget_compiled()
        return nullcontext()

    def cases(self, registration: Registration, target: Target) -> BuiltCases:
        """The cases of a function. Cases of the previous function are released, because they may hold large arrays."""
        key = (registration.name, target.name)
        if self._last is None or self._last[0] != key:
            self._last = None
            self._last = (key, build_each_case(registration, target, self.root))
        return self._last[1]


def capture_program(bench: Bench, request: Request) -> Outcome:
    """Trace, lower and compile one program; errors become outcomes.

    Args:
        bench: the state of the worker.
        request: the program to capture.

    Returns:
        the program, or why it could not be captured.

    Example:
        >>> capture_program(bench, Request("f", "", "cpu")).compiled[:9]  # doctest: +SKIP
        'HloModule'
    """
    return capture_with(bench, request, lambda target, keep: find_case(bench, request, target, keep))


def capture_with(bench: Bench, request: Request, find: Callable[[Target, bool], Case]) -> Outcome:
    """Like `capture_program`, for a case that need not be registered.

    Args:
        bench: the state of the process.
        request: the program's name and target.
        find: returns the case for a target; the second argument says whether to keep it for the next request.

    Returns:
        the program, or why it could not be captured.
    """
    name = parse_target(request.target)
    where = (request.function, request.case, request.target)
    case: Case | None = None
    with nullcontext() if bench.worker else unobserved():
        try:
            target = bench.target(name)
        except Exception as error:
            return NotChecked(*where, *cannot_open(name, error))
        try:
            bench.on_phase("asking for")
            with bench.fresh():
                case = find(target, True)
            bench.on_phase("tracing")
            with bench.fresh():
                traced = trace(case, target.devices[0])
            dropped = dropped_kinds(case, traced.traced.jaxpr, target, lambda other: find(other, False))
        except TooFewDevices as error:
            return NotChecked(*where, str(error), "use a larger target, or @hlodiff.register(targets=[...]) without it")
        except Exception as error:
            if is_own(error):
                return CaptureFailure(*where, message(error), "")
            failure = failed(bench, request, error)
            hint = dropped_leaves_hint(case, error) if case is not None else ""
            return replace(failure, what=f"{failure.what}\nhint: {hint}") if hint else failure
        if dropped:
            return NotChecked(*where, *dropped)
        outcome = _compile(bench, request, name, target, traced)
    if not traced.around or not isinstance(outcome, CapturedProgram):
        return outcome
    around = tuple((fn, relative(place, bench.root), what, value) for fn, place, what, value in traced.around)
    return replace(outcome, around=around)


def find_case(bench: Bench, request: Request, target: Target, keep: bool = True) -> Case:
    """The case of a request; `keep` says whether to keep it for the next request."""
    registration = registered(request.function)
    cases = bench.cases(registration, target) if keep else build_each_case(registration, target, bench.root)
    return case_named(cases, request.case, registration, bench.root)


def failed(bench: Bench, request: Request, error: BaseException) -> CaptureFailure:
    """The outcome for a program whose function raised."""
    what = one_line_at(error, bench.root)
    registration = next((r for r in registrations() if r.name == request.function), None)
    # If the line is known, the function is not named, so that an error of one line in many functions is reported once.
    if registration is not None and what == one_line(error):
        what += f" (`{request.function}` is registered at {relative(registration.where, bench.root)})"
    return CaptureFailure(request.function, request.case, request.target, what, user_traceback(error, bench.root))


def _compile(bench: Bench, request: Request, name: TargetName, target: Target, traced: TracedCase) -> Outcome:
    where = (request.function, request.case, request.target)
    try:
        bench.on_phase("lowering")
        start = time.perf_counter()
        lowered = lower(traced, target.devices[0])
        lowering = time.perf_counter() - start
        _check_devices(lowered, target)
        stablehlo = lowered.as_text(debug_info=True)
        toolchain = facts.toolchain(name, bench.environment)
        found: dict[str, Any] = {
            "toolchain": toolchain,
            "arguments": facts.arguments(traced.traced, lowered, traced.names),
            "results": facts.results(lowered),
            "devices": facts.partitions(stablehlo),
            "memory": {},
            "cost": {},
        }
        seconds = {"trace": traced.seconds, "lower": lowering}
        if _is_known(request, stablehlo, toolchain, bench.large_constants):
            return CapturedProgram(*where, stablehlo, None, found, seconds, unchanged=True)
        if ignored := ignored_kinds(stablehlo, target):
            return NotChecked(*where, *ignored)
        if request.lower_only:
            return CapturedProgram(*where, stablehlo, None, found, seconds)
        bench.on_phase("compiling")
        start = time.perf_counter()
        if bench.compile_cache is not None and not request.dump:
            result = bench.compile_cache.compile(lowered, stablehlo, name, toolchain)
            seconds["compile"] = time.perf_counter() - start
        else:
            compiled = compile_with_dump(lowered, Path(request.dump)) if request.dump else lowered.compile()
            seconds["compile"] = time.perf_counter() - start
            result = xla_result(compiled, lowered)
        found |= {"memory": dict(result.memory), "cost": dict(result.cost)}
        return CapturedProgram(*where, stablehlo, result.text, found, seconds, cached=result.cached)
    except Exception as error:
        if is_own(error):
            return CaptureFailure(*where, message(error), "")
        refused = refusal(name, error)
        return NotChecked(*where, *refused) if refused else failed(bench, request, error)


def _check_devices(lowered: Any, target: Target) -> None:
    """Reject a function that builds a mesh from `jax.devices()`: it would be compiled for this CPU."""
    for device in jax_private.devices(lowered):
        if device.platform != target.devices[0].platform:
            raise HlodiffError(
                f"the function uses {device.platform} devices of its own, not those of `{target.name}`",
                hint="take the parameter `target` in the registered function, and build the mesh with target.mesh(...)",
            )


def _is_known(request: Request, stablehlo: str, toolchain: dict[str, Any], large_constants: Constants) -> bool:
    if not request.known_stablehlo or request.known_toolchain != toolchain:
        return False
    from hlodiff.hlo.fingerprint import program_fingerprint
    from hlodiff.hlo.stablehlo_parser import read_stablehlo
    from hlodiff.normalizer import normalize

    return (
        program_fingerprint(normalize(read_stablehlo(stablehlo), large_constants=large_constants))
        == request.known_stablehlo
    )


# --- One case at several sizes.


def capture_growth(bench: Bench, request: GrowthRequest) -> GrowthResult | NotChecked | CaptureFailure:
    """Lower one case at each of its sizes; errors become outcomes.

    Args:
        bench: the state of the worker.
        request: the case to lower.

    Returns:
        the programs, or why they could not be lowered.

    Example:
        >>> capture_growth(bench, GrowthRequest("f", "", "cpu")).parameters[0].parameter  # doctest: +SKIP
        'length'
    """
    name = parse_target(request.target)
    where = (request.function, request.case, request.target)
    try:
        target = bench.target(name)
    except Exception as error:
        return NotChecked(*where, *cannot_open(name, error))
    at = ""
    try:
        registration = registered(request.function)
        case = _case_of_size(bench, registration, request, target, {})
        parameters = []
        if request.sizes:
            check_sizes(registration, dict(request.sizes), relative(registration.where, bench.root))
        for parameter, sizes in request.sizes or case.grow.items():
            programs = []
            for size in sizes:
                at = f"at {parameter}={size}: "
                case = _case_of_size(bench, registration, request, target, {parameter: size})
                forget_compiled()
                lowered = lower(trace(case, target.devices[0]), target.devices[0])
                compiled = compiled_text(lowered.compile(), lowered) if request.compile else ""
                programs.append(LoweredProgram(size, lowered.as_text(debug_info=True), compiled))
            tables = named_tables(case, lambda location: relative(location, bench.root))
            parameters.append(SizedProgram(parameter, tuple(programs), tables))
        return GrowthResult(*where, tuple(parameters), limits_of(case))
    except TooFewDevices as error:
        return NotChecked(*where, at + str(error), "")
    except HlodiffError as error:
        return CaptureFailure(*where, at + error.render(), "")
    except Exception as error:
        if refused := refusal(name, error):
            return NotChecked(*where, at + refused[0], refused[1])
        return CaptureFailure(*where, at + one_line_at(error, bench.root), user_traceback(error, bench.root))


def _case_of_size(
    bench: Bench, registration: Registration, request: GrowthRequest, target: Target, sizes: dict[str, int]
) -> Case:
    cases = build_each_case(registration, target, bench.root, sizes)
    hint = "the names of cases stay the same at every size"
    return case_named(cases, request.case, registration, bench.root, hint)


# --- Memory kinds (`pinned_host`) on devices that are not attached.
#
# The compile-only GPUs of JAX 0.9 and 0.10 list no memories, and a sharding on such devices silently drops its memory
# kind, so that a different program would be compiled. If hlodiff makes the sharding, it keeps the kind. If the user's
# code makes it, the dropped kind leaves no trace, so the case is built again on a device that keeps kinds; if a kind
# appears, the program is not checked.

_ADVICE = (
    'for arguments write hlodiff.abstract(..., sharding=..., memory_kind="pinned_host"), and inside of the function '
    "jax.device_put(x, jax.memory.Space.Host): these are kept"
)
_UPGRADE = "use JAX 0.10 or later for this target, or leave it out for the function: @hlodiff.register(targets=[...])"


def dropped_kinds(case: Case, jaxpr: Any, target: Target, build: Callable[[Target], Case]) -> tuple[str, str] | None:
    """Whether shardings in the user's code have lost their memory kinds.

    Args:
        case: the case built for the target.
        jaxpr: its traced function.
        target: the target.
        build: builds the same case for another target.

    Returns:
        reason and advice; None if no kind was lost.
    """
    if keeps_memory_kinds(target.devices[0]):
        return None
    inside = any(_in_jaxpr(jaxpr))
    if not inside and not any(_in_case(case)):
        return None
    cpu = jax.devices("cpu")[0]
    other = build(Target(target.target, [cpu] * len(target.devices)))
    shardings = [*_in_case(other), *(_in_jaxpr(trace(other, cpu).traced.jaxpr) if inside else ())]
    kinds = dict.fromkeys(s.memory_kind for s in shardings if not ordinary(s.memory_kind))
    if not kinds:
        return None
    named = " and ".join(f"`{kind}`" for kind in kinds)
    return f"JAX drops the memory kind {named} of a sharding on a GPU that is not attached", _ADVICE


def _in_case(case: Case) -> Iterator[Sharding]:
    """Shardings in the arguments and options of a case, made by its author."""
    for leaf in tree_leaves((case.args, case.kwargs)):
        sharding = None if isinstance(leaf, PlacedStruct | jax.Array) else getattr(leaf, "sharding", None)
        if isinstance(sharding, Sharding):
            yield sharding
    yield from (leaf for leaf in tree_leaves((case.in_shardings, case.out_shardings)) if isinstance(leaf, Sharding))


def _in_jaxpr(value: Any) -> Iterator[Sharding]:
    """Shardings in the parameters of all equations."""
    if isinstance(value, Sharding):
        if not isinstance(value, KeptOnDevice | KeptOnMesh):
            yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _in_jaxpr(part)
    elif hasattr(value, "eqns"):
        for equation in value.eqns:
            yield from _in_jaxpr(tuple(equation.params.values()))
    elif hasattr(value, "jaxpr"):
        yield from _in_jaxpr(value.jaxpr)


def ignored_kinds(stablehlo: str, target: Target) -> tuple[str, str] | None:
    """Whether a target's compiler ignores memory kinds that the program requests.

    Args:
        stablehlo: the lowered program.
        target: the target.

    Returns:
        reason and advice; None if it honors them.
    """
    kinds = [kind for kind in HOST_MEMORIES if f'mhlo.memory_kind = "{kind}"' in stablehlo]
    if not kinds or keeps_memory_kinds(target.devices[0]):
        return None
    for kind in kinds:
        if kind not in target.honours_memory:
            target.honours_memory[kind] = _honours(target.devices[0], kind)
    if all(target.honours_memory[kind] for kind in kinds):
        return None
    named = " and ".join(f"`{kind}`" for kind in kinds if not target.honours_memory[kind])
    return f"the CUDA plugin of JAX {jax.__version__} ignores the memory kind {named} without a GPU", _UPGRADE


def _honours(device: Any, kind: str) -> bool:
    """Compile a copy from host memory and inspect it. JAX 0.9.2 does not place the argument there, 0.10.2 does."""
    x = jax.ShapeDtypeStruct((8,), "float32", sharding=on_device(device, kind))
    copy = jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Device))
    try:
        header = str(copy.lower(x).compile().as_text()).partition("\n")[0]
    except jax.errors.JaxRuntimeError:
        return False
    return "entry_computation_layout={(f32[8]{0:S(" in header
