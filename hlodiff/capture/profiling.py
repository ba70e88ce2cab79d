"""Timing one program inside a worker: tracing, lowering, XLA, and once more with XLA's passes told apart."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from hlodiff.capture.lowering import trace
from hlodiff.capture.outcomes import Captured, Failed, NotChecked, Request
from hlodiff.capture.passes import dumped_spans, merged, pass_times, profiler_spans
from hlodiff.capture.profiled import PassTime, Phases, Profiled, ProfileRequest, Source
from hlodiff.capture.program import Bench, capture_program, find_case
from hlodiff.capture.targets import parse


def profile_program(bench: Bench, wanted: ProfileRequest) -> Profiled | NotChecked | Failed:
    """Time one program: the first compile of this process, then `repeat` more, then one for XLA's passes.

    Args:
        bench: what the worker keeps.
        wanted: which program, how often, and whether its passes are told apart.

    Returns:
        what it took, or why there is nothing to time.

    Example:
        >>> profile_program(bench, ProfileRequest(Request("f", "", "cpu"), 3)).first.compile  # doctest: +SKIP
        0.21
    """
    request = wanted.request
    # The same road as `check` takes, with the same refusals; its times are those of a first call.
    captured = capture_program(bench, request)
    if not isinstance(captured, Captured):
        return captured
    seconds = captured.seconds
    first = Phases(seconds["trace"], seconds["lower"], seconds["compile"])
    later = tuple(_timed(bench, request) for _ in range(wanted.repeat))
    passes, source, observed = _passes(bench, request) if wanted.passes else ((), "", 0.0)
    return Profiled(
        request.function, request.case, request.target, captured.stablehlo, captured.compiled or "",
        first, later, passes, source, observed,
    )  # fmt: skip


def _timed(bench: Bench, request: Request, compile_it: Callable[[Any], float] | None = None) -> Phases:
    """Trace, lower and compile as if the function had never been called, in a process that has done so before."""
    jax.clear_caches()
    target = bench.target(parse(request.target))
    traced = trace(find_case(bench, request, target), target.devices[0])
    start = time.perf_counter()
    with jax.default_device(target.devices[0]):
        lowered = traced.traced.lower()
    middle = time.perf_counter()
    return Phases(traced.seconds, middle - start, (compile_it or _compile)(lowered))


def _compile(lowered: Any, options: dict[str, bool | str] | None = None) -> float:
    start = time.perf_counter()
    lowered.compile(compiler_options=options)
    return time.perf_counter() - start


def _passes(bench: Bench, request: Request) -> tuple[tuple[PassTime, ...], Source, float]:
    """The passes of one more compile, by whom they are told, and how long that compile took."""
    with tempfile.TemporaryDirectory(prefix="hlodiff-") as folder:
        profile, dump = Path(folder, "profile"), Path(folder, "dump")
        options: dict[str, bool | str] = {}
        if parse(request.target).kind in ("tpu", "attached"):
            # No module of a compile has this name: its pass metadata is all that is written.
            options = {
                "xla_dump_to": str(dump),
                "xla_dump_module_metadata": True,
                "xla_dump_hlo_module_re": "^hlodiff wants no module$",
            }

        def compile_it(lowered: Any) -> float:
            with jax.profiler.trace(str(profile), profiler_options=_quiet()):
                return _compile(lowered, options or None)

        with contextlib.chdir(folder):  # a compiler that ignores the folder must not litter the project
            phases = _timed(bench, request, compile_it)
        if spans := profiler_spans(profile):
            return pass_times(spans), "profiler", phases.compile
        found = merged(pass_times(each) for each in dumped_spans(dump))
        return found, "dump" if found else "", phases.compile


def _quiet() -> Any:
    """Python's own calls would be most of the profile and most of its cost."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    return options
