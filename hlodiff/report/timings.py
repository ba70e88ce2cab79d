"""Timings of programs with their sizes: rows for reports, and bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlodiff.report.lines import code, printable
from hlodiff.report.report import PHASES, RunParts, Timing
from hlodiff.report.wording import format_seconds

TITLES = {"trace": "trace", "lower": "lower", "compile": "XLA"}
_EIGHTHS = " ▏▎▍▌▋▊▉"
_BAR = 24


def bar(share: float, width: int = _BAR) -> str:
    """A horizontal bar in eighths of a character.

    Args:
        share: a number between 0 and 1.
        width: characters of a full bar.

    Returns:
        the bar, not padded; a share above 0 has at least an eighth.

    Example:
        >>> bar(0.5, 4), bar(1e-9, 4), bar(0, 4)
        ('██', '▏', '')
    """
    eighths = round(min(max(share, 0), 1) * width * 8)
    eighths = max(eighths, 1) if share > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def timing_lines(timings: Sequence[Timing]) -> Iterator[str]:
    """A table for a terminal: a row for each program; the longest total has the full bar.

    Example:
        >>> for line in timing_lines([Timing("f", "cpu", 0.01, 0.002, 0.1, 57, 49)]):
        ...     print(line.rstrip())
        time to make      trace     lower       XLA  StableHLO ops  compiled ops
        f  cpu          10.0 ms   2.00 ms    100 ms             57            49  ████████████████████████
    """
    if not timings:
        return
    names = [printable(f"{timing.name}  {timing.target}") for timing in timings]
    wide = max(len("time to make"), *map(len, names))
    longest = max(timing.total for timing in timings) or 1
    yield f"{'time to make':<{wide}}  {'trace':>9} {'lower':>9} {'XLA':>9}  {'StableHLO ops':>13}{'compiled ops':>14}"
    for name, timing in zip(names, timings, strict=True):
        times = " ".join(f"{_seconds(getattr(timing, phase)):>9}" for phase in PHASES)
        sizes = f"{_count(timing.stablehlo):>13}{_count(timing.compiled):>14}"
        yield f"{name:<{wide}}  {times}  {sizes}  {bar(timing.total / longest)}"


def timing_rows(timings: Sequence[Timing]) -> Iterator[str]:
    """The timings as a Markdown table."""
    if not timings:
        return
    yield from ("| time to make | trace | lower | XLA | StableHLO ops | compiled ops |", "|---|--:|--:|--:|--:|--:|")
    for timing in timings:
        times = " | ".join(_seconds(getattr(timing, phase)) for phase in PHASES)
        name = code(f"{timing.name} {timing.target}")
        yield f"| {name} | {times} | {_count(timing.stablehlo)} | {_count(timing.compiled)} |"


def run_lines(parts: RunParts) -> Iterator[str]:
    """The time of a whole run as text: the parts and their sum.

    Example:
        >>> for line in run_lines((("starting", 1.0), ("capturing", 3.0))):
        ...     print(line.rstrip())
        time of this run     4.00 s
          starting           1.00 s  ██████
          capturing          3.00 s  ██████████████████
    """
    if not parts:
        return
    total = sum(seconds for _, seconds in parts)
    wide = max(len("time of this run"), *(len(what) + 2 for what, _ in parts)) + 1
    yield f"{'time of this run':<{wide}}  {format_seconds(total):>8}"
    for what, seconds in parts:
        yield f"  {what:<{wide - 2}}  {format_seconds(seconds):>8}  {bar(seconds / total if total else 0)}"


def _seconds(seconds: float | None) -> str:
    return "not asked" if seconds is None else format_seconds(seconds)


def _count(count: int | None) -> str:
    return "" if count is None else f"{count:,}"
