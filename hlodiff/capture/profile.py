"""Times one program inside a worker: tracing, lowering, compiling, and one more compilation for pass times."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from hlodiff.capture.compile_case import Bench, capture_program, find_case
from hlodiff.capture.lowering import lower, trace
from hlodiff.capture.messages import (
    CapturedProgram,
    CaptureFailure,
    NotChecked,
    PassTime,
    Phases,
    ProfileRequest,
    ProfileResult,
    Request,
    Source,
)
from hlodiff.capture.targets import parse_target
from hlodiff.capture.temporary import TemporaryFolder
from hlodiff.tracing.observer import forget_compiled

_PIPELINE_FILE = "hlo_pass_pipeline.cc"
_MODULE = re.compile(r" \([^() ]+\)$|\(jit_[^()]*\)$|:jit_\w+$")
_PASS = re.compile(r"RunInvariantCheckers|[a-z][a-z0-9_ .-]*")
_BLOCK = re.compile(r"^pass_metadata \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^  (\w+): (?:"((?:[^"\\]|\\.)*)"|(\S+))$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TimedSpan:
    """A timed span.

    Args:
        name: XLA's name.
        pipeline: its pipeline; "" if it is not a pass, such as code generation.
        start, end: seconds on any clock.
    """

    name: str
    pipeline: str
    start: float
    end: float


def pass_times(spans: Sequence[TimedSpan]) -> tuple[PassTime, ...]:
    """Add up spans by name, excluding nested spans.

    Args:
        spans: spans of one thread: any two are disjoint or nested.

    Returns:
        the passes, slowest first.

    Example:
        >>> [(p.name, p.seconds) for p in pass_times([TimedSpan("a", "", 0, 5), TimedSpan("b", "a", 1, 3)])]
        [('a', 3), ('b', 2)]
    """
    own: dict[str, float] = {}
    runs: dict[str, int] = {}
    pipelines: dict[str, dict[str, float]] = {}
    open_spans: list[TimedSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        while open_spans and open_spans[-1].end <= span.start:
            open_spans.pop()
        length = span.end - span.start
        own[span.name] = own.get(span.name, 0) + length
        if open_spans:
            # With microsecond clocks, a span may end after the one that contains it.
            own[open_spans[-1].name] -= min(span.end, open_spans[-1].end) - span.start
        runs[span.name] = runs.get(span.name, 0) + 1
        table = pipelines.setdefault(span.name, {})
        table[span.pipeline] = table.get(span.pipeline, 0) + length
        open_spans.append(span)
    found = [
        PassTime(name, max(pipelines[name], key=lambda p: pipelines[name][p]), max(seconds, 0), runs[name])
        for name, seconds in own.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.seconds, each.name)))


def profiler_spans(folder: Path) -> list[TimedSpan]:
    """The spans of the thread that ran XLA's passes, from a profile of one compilation.

    Args:
        folder: the folder passed to `jax.profiler.trace`.

    Returns:
        spans in seconds; none if the compiler reported no pass to the profiler.
    """
    best: list[TimedSpan] = []
    most = 0
    for file in sorted(folder.rglob("*.xplane.pb")):
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
            for line in plane.lines:
                spans, passes = _line_spans(line)
                if passes > most:
                    best, most = spans, passes
    return best


def _line_spans(line: Any) -> tuple[list[TimedSpan], int]:
    """The spans of one thread, and how many of them are pass pipelines."""
    spans: list[TimedSpan] = []
    open_pipelines: list[tuple[str, float]] = []
    passes = 0
    for event in sorted(line.events, key=lambda event: (event.start_ns, -event.duration_ns)):
        start, end = event.start_ns / 1e9, (event.start_ns + event.duration_ns) / 1e9
        while open_pipelines and open_pipelines[-1][1] <= start:
            open_pipelines.pop()
        stats = {str(name): value for name, value in event.stats if name is not None}
        within = open_pipelines[-1][0] if open_pipelines else ""
        # Without the module: `simplification (jit_f)` and `Compiling IR:jit_f_consts` are the same for every function.
        name = _MODULE.sub("", str(event.name))
        if _PIPELINE_FILE in str(stats.get("_src", "")):
            passes += 1
            open_pipelines.append((name, end))
            within = within or name
        if end > start:
            spans.append(TimedSpan(name, within, start, end))
    # jaxlib 0.9 reports passes to the profiler, but no pipelines: there, lower-case names are passes.
    if not passes and any(span.name == "RunInvariantCheckers" for span in spans):
        spans = [replace(span, pipeline="all pipelines") if _PASS.fullmatch(span.name) else span for span in spans]
        passes = sum(bool(span.pipeline) for span in spans)
    return spans, passes


def metadata_spans(text: str) -> list[TimedSpan]:
    """The passes of an `HloModuleMetadataProto` in text form.

    Args:
        text: content of a file `module_0000.metadata.textproto`.

    Returns:
        one span per pass with a start and an end, in seconds.

    Example:
        >>> block = 'pass_metadata {\\n  pass_name: "dce"\\n  pipeline_name: "p"\\n'
        >>> block += '  start_timestamp_usec: 1000000\\n  end_timestamp_usec: 3000000\\n}\\n'
        >>> metadata_spans(block)
        [TimedSpan(name='dce', pipeline='p', start=1.0, end=3.0)]
    """
    spans = []
    for block in _BLOCK.findall(text):
        fields = {name: quoted or plain for name, quoted, plain in _FIELD.findall(block)}
        try:
            start, end = (int(fields[f"{edge}_timestamp_usec"]) / 1e6 for edge in ("start", "end"))
            spans.append(TimedSpan(fields["pass_name"], fields.get("pipeline_name", ""), start, end))
        except (KeyError, ValueError):  # a pass that never ended has no end time
            continue
    return spans


def merged(tables: Iterable[tuple[PassTime, ...]]) -> tuple[PassTime, ...]:
    """The passes of several modules combined, slowest first."""
    found: dict[str, PassTime] = {}
    for each in (each for table in tables for each in table):
        known = found.get(each.name)
        pipeline = each.pipeline if known is None or each.seconds > known.seconds else known.pipeline
        seconds, runs = (known.seconds, known.runs) if known else (0.0, 0)
        found[each.name] = PassTime(each.name, pipeline, seconds + each.seconds, runs + each.runs)
    return tuple(sorted(found.values(), key=lambda each: (-each.seconds, each.name)))


def profile_program(bench: Bench, wanted: ProfileRequest) -> ProfileResult | NotChecked | CaptureFailure:
    """Time one program: the first compilation of this process, then `repeat` more, then one for XLA's passes.

    Args:
        bench: the state of the worker.
        wanted: the program, the repetitions, and whether to time passes.

    Returns:
        the times, or why there is nothing to time.

    Example:
        >>> profile_program(bench, ProfileRequest(Request("f", "", "cpu"), 3)).first.compile  # doctest: +SKIP
        0.21
    """
    request = wanted.request
    # As `check` captures it, with the same refusals; these are the times of a first call.
    captured = capture_program(bench, request)
    if not isinstance(captured, CapturedProgram):
        return captured
    seconds = captured.seconds
    first = Phases(seconds["trace"], seconds["lower"], seconds["compile"])
    later = tuple(_timed(bench, request) for _ in range(wanted.repeat))
    passes, source, observed = _passes(bench, request) if wanted.passes else ((), "", 0.0)
    return ProfileResult(
        request.function, request.case, request.target, captured.stablehlo, captured.compiled or "",
        first, later, passes, source, observed,
    )  # fmt: skip


def _timed(bench: Bench, request: Request, compile_it: Callable[[Any], float] | None = None) -> Phases:
    """Trace, lower and compile with empty JAX caches, in a process that has compiled before."""
    target = bench.target(parse_target(request.target))
    case = find_case(bench, request, target)
    forget_compiled()
    traced = trace(case, target.devices[0])
    start = time.perf_counter()
    lowered = lower(traced, target.devices[0])
    middle = time.perf_counter()
    return Phases(traced.seconds, middle - start, (compile_it or _compile)(lowered))


def _compile(lowered: Any, options: dict[str, bool | str] | None = None) -> float:
    start = time.perf_counter()
    lowered.compile(compiler_options=options)
    return time.perf_counter() - start


def _passes(bench: Bench, request: Request) -> tuple[tuple[PassTime, ...], Source, float]:
    """The passes of one more compilation, the source of their times, and its total time."""
    with TemporaryFolder() as folder:
        profile, dump = Path(folder, "profile"), Path(folder, "dump")
        options: dict[str, bool | str] = {}
        if parse_target(request.target).kind in ("tpu", "attached"):
            # No module has this name, so that only its pass metadata is written.
            options = {
                "xla_dump_to": str(dump),
                "xla_dump_module_metadata": True,
                "xla_dump_hlo_module_re": "^hlodiff wants no module$",
            }

        def compile_it(lowered: Any) -> float:
            quiet = jax.profiler.ProfileOptions()
            quiet.python_tracer_level = 0  # Python's own calls would be most of the profile and most of its cost
            with jax.profiler.trace(str(profile), profiler_options=quiet):
                return _compile(lowered, options or None)

        with contextlib.chdir(folder):  # a compiler that ignores the folder must not litter the project
            phases = _timed(bench, request, compile_it)
        if spans := profiler_spans(profile):
            return pass_times(spans), "profiler", phases.compile
        files = sorted(dump.rglob("module_*.metadata.textproto"))  # one for each module
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
        found = merged(pass_times(metadata_spans(text)) for text in texts)
        return found, "dump" if found else "", phases.compile
