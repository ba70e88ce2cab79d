"""The report of `hlodiff inspect variants`: variants side by side, fusions across the border, effects of nested jit."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hlodiff.differ.fusion_borders import REST, Calls, Kernel
from hlodiff.report.lines import code, escape_markdown, json_text, printable
from hlodiff.report.wording import format_bytes, format_count, format_seconds, many


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant: what it compiled, what a call of it launches, how long it takes.

    Args:
        name: its name.
        problem: why it could not be run; then the other fields are not set.
        executables, eager: how many were compiled, and how many of these are eager operations.
        launches: how many executables one later call runs.
        again: executables that a second, equal call compiled again.
        stablehlo, instructions, fusions: of all executables together, each counted once.
        bytes_accessed, flops: of one later call: XLA's estimate, or counted as often as loops run them where a variant
            has a loop.
        traces: how often Python code was traced.
        unknown: why a figure is missing, one sentence each.
        trace, compile, first, later: seconds; `later` is a median.
        least, most: seconds of the fastest and the slowest later call.
        kernels: of the programs, without eager operations.
        calls: of inner functions, where the variant is one program.
        same_as: an earlier variant whose compiled program is the same; "" where there is none.
        edits: how many edits from the first variant that is one program to this one; None where not compared.

    Example:
        >>> Variant("outer", executables=1, launches=1).launches
        1
    """

    name: str
    problem: str = ""
    executables: int = 0
    eager: int = 0
    launches: int = 0
    again: int = 0
    stablehlo: int = 0
    instructions: int = 0
    fusions: int = 0
    bytes_accessed: float | None = None
    flops: float | None = None
    traces: int = 0
    trace: float = 0.0
    compile: float = 0.0
    first: float = 0.0
    later: float = 0.0
    least: float = 0.0
    most: float = 0.0
    unknown: tuple[str, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    calls: Calls | None = None
    same_as: str = ""
    compared_with: str = ""
    edits: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One computation in all its variants, on cpu.

    Args:
        name: what it is registered as.
        jax: the version that ran it.
        inner: names of the inner functions.
        variants: in the order in which they are registered.
        over: one sentence for each budget that is exceeded.
    """

    name: str
    jax: str
    inner: tuple[str, ...]
    variants: tuple[Variant, ...]
    over: tuple[str, ...] = ()


COUNTS = (
    "executables", "eager", "launches", "again", "stablehlo", "instructions", "fusions", "bytes_accessed", "flops",
    "traces",
)  # fmt: skip
"""The counts that a budget can limit. Times cannot be limited: they vary between runs."""


_ROWS: tuple[tuple[str, Callable[[Variant], str]], ...] = (
    ("executables", lambda v: f"{v.executables} ({v.eager} eager)" if v.eager else str(v.executables)),
    ("launches per call", lambda v: str(v.launches)),
    ("StableHLO ops", lambda v: format_count(v.stablehlo)),
    ("instructions", lambda v: format_count(v.instructions)),
    ("fusions", lambda v: format_count(v.fusions)),
    ("bytes accessed", lambda v: "not known" if v.bytes_accessed is None else format_bytes(v.bytes_accessed)),
    ("flops", lambda v: "not known" if v.flops is None else format_count(v.flops)),
    ("traces", lambda v: str(v.traces)),
    ("trace time", lambda v: format_seconds(v.trace)),
    ("compile time", lambda v: format_seconds(v.compile)),
    ("first call", lambda v: format_seconds(v.first)),
    ("later call", lambda v: format_seconds(v.later)),
    ("  least to most", lambda v: f"{format_seconds(v.least)} to {format_seconds(v.most)}" if v.most else ""),
)


def variants_text(comparisons: Sequence[Comparison]) -> str:
    """The report for a terminal.

    Args:
        comparisons: in the order in which they are shown.

    Returns:
        text ending in a newline.

    Example:
        >>> print(variants_text([Comparison("g", "0.10.2", (), (Variant("outer", problem="broken"),))]), end="")
        g  cpu  jax 0.10.2
          outer  not run: broken
    """
    return "\n".join("".join(line.rstrip() + "\n" for line in _lines(each)) for each in comparisons)


def _lines(comparison: Comparison) -> Iterator[str]:
    yield printable(f"{comparison.name}  cpu  jax {comparison.jax}")
    ran = [variant for variant in comparison.variants if not variant.problem]
    for variant in comparison.variants:
        if variant.problem:
            yield printable(f"  {variant.name}  not run: {variant.problem}")
    if not ran:
        return
    wide = max(len(title) for title, _ in _ROWS)
    columns = [max(len(v.name), *(len(show(v)) for _, show in _ROWS)) + 2 for v in ran]
    yield f"  {'':<{wide}}" + "".join(f"{printable(v.name):>{w}}" for v, w in zip(ran, columns, strict=True))
    for title, show in _shown_rows(ran):
        yield f"  {title:<{wide}}" + "".join(f"{show(v):>{w}}" for v, w in zip(ran, columns, strict=True))
    yield ""
    for title, lines in _sections(comparison, ran):
        yield f"  {title}"
        yield from (f"    {printable(line)}" for line in lines)


def _shown_rows(ran: Sequence[Variant]) -> list[tuple[str, Callable[[Variant], str]]]:
    """The rows in which at least one variant has something."""
    return [row for row in _ROWS if any(row[1](variant) for variant in ran)]


def _sections(comparison: Comparison, ran: Sequence[Variant]) -> Iterator[tuple[str, list[str]]]:
    of = f" of {', '.join(comparison.inner)}" if comparison.inner else ""
    if borders := [f"{v.name}: {words}" for v in ran for words in _border(v)]:
        yield f"across the border{of}", borders
    if nested := [f"{v.name}: {words}" for v in ran for words in _nested(v)]:
        yield f"what nested jit does here, with jax {comparison.jax}", nested
    if notes := [f"{v.name}: {words}" for v in ran for words in _notes(v)]:
        yield "look at", notes
    if comparison.over:
        yield "over budget", list(comparison.over)


def _border(variant: Variant) -> Iterator[str]:
    own = variant.executables - variant.eager
    if not own:
        launches = many(variant.launches, "launch", "launches")
        if variant.fusions:
            fused = many(variant.fusions, "fusion")
            yield f"{launches}: each operation runs by itself, and the {fused} are inside of single operations"
        else:
            yield f"nothing is fused, {launches}: each operation runs by itself"
        return
    crossing = [kernel for kernel in variant.kernels if kernel.crosses]
    if own > 1 or variant.eager:
        words = f"{many(own, 'jitted executable')} and {many(variant.eager, 'eager operation')}"
        yield f"{words}: what one hands the next goes through memory, and nothing is fused between them"
    elif variant.launches > 1:
        times = f"one executable, launched {variant.launches} times"
        yield f"{times}: what one launch hands the next goes through memory, and nothing is fused between them"
    for kernel in crossing[:4]:
        parts = _listed([part for part in kernel.parts if part != REST] + ["the rest"] * (REST in kernel.parts))
        yield f"fused: one kernel of {many(len(kernel.opcodes), 'operation')} holds {parts}"
    if len(crossing) > 4:
        yield f"fused: {len(crossing) - 4} more kernels across the border"
    yield from _apart(variant, bool(crossing))


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _apart(variant: Variant, crossing: bool) -> Iterator[str]:
    """Kernels on one side of the border only, where there are two sides to fuse."""
    alone: dict[str, list[str]] = {}
    for kernel in variant.kernels:
        if not kernel.crosses:
            alone.setdefault(kernel.parts[0], []).append(kernel.opcodes[0] if len(kernel.opcodes) == 1 else "fusion")
    sides = {part for kernel in variant.kernels for part in kernel.parts}
    if len(sides) < 2:
        return
    for part, opcodes in alone.items():
        names = ", ".join(dict.fromkeys(opcodes))
        yield f"not fused: {many(len(opcodes), 'kernel')} of {part or 'the rest'} alone ({names})"
    if not crossing and not variant.eager and variant.executables == variant.launches == 1:
        yield "nothing was fused across the border, although it is one program"


def _nested(variant: Variant) -> Iterator[str]:
    calls = variant.calls
    if calls is not None and calls.calls:
        what = f"{many(calls.calls, 'call')} of {_listed(calls.functions)} in StableHLO"
        left = "none is left in the compiled program: XLA inlined them" if not calls.left else (
            f"{many(calls.left, 'call')} in the compiled program"
        )  # fmt: skip
        yield f"{what}; {left}"
    if variant.same_as:
        same = f"the compiled program is the same as that of {variant.same_as}"
        yield f"{same}: the difference in time is noise" if variant.most else same
    elif variant.edits:
        yield f"the compiled program differs from that of {variant.compared_with} in {many(variant.edits, 'edit')}"


def _notes(variant: Variant) -> Iterator[str]:
    if variant.again:
        yield f"a second, equal call compiled {many(variant.again, 'executable')} again"
    yield from variant.unknown


def variants_markdown(comparisons: Sequence[Comparison]) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    return "\n".join("\n".join(_markdown(each)) + "\n" for each in comparisons)


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield from (f"### hlodiff: {code(comparison.name)} on cpu, jax {escape_markdown(comparison.jax)}", "")
    ran = [variant for variant in comparison.variants if not variant.problem]
    for variant in comparison.variants:
        if variant.problem:
            yield f"- {code(variant.name)} not run: {escape_markdown(variant.problem)}"
    if not ran:
        return
    yield "| | " + " | ".join(code(variant.name) for variant in ran) + " |"
    yield "|---|" + "--:|" * len(ran)
    for title, show in _shown_rows(ran):
        yield f"| {title.strip()} | " + " | ".join(escape_markdown(show(variant)) for variant in ran) + " |"
    for title, lines in _sections(comparison, ran):
        yield from ("", f"**{escape_markdown(title)}**", "")
        yield from (f"- {escape_markdown(line)}" for line in lines)


def variants_json(comparisons: Sequence[Comparison]) -> str:
    """Everything as JSON text."""
    value = {"format_version": "1.0", "command": "jit-report", "comparisons": [_json(each) for each in comparisons]}
    return json_text(value)


def _json(comparison: Comparison) -> dict[str, Any]:
    head: dict[str, Any] = {"name": comparison.name, "target": "cpu", "jax": comparison.jax}
    return {**head, "inner": list(comparison.inner), "variants": [asdict(each) for each in comparison.variants],
            "over": list(comparison.over)}  # fmt: skip


def median(seconds: Sequence[float]) -> float:
    """The median; 0 for no values."""
    return statistics.median(seconds) if seconds else 0.0
