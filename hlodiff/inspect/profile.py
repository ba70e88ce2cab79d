"""`hlodiff inspect profile`: measures and shows the time of a first call, by phase and by pass."""

from __future__ import annotations

import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hlodiff.capture import CaptureFailure, NotChecked, Request, check_jax, missing_packages
from hlodiff.capture.messages import PHASE_NAMES, PassTime, ProfileRequest, ProfileResult
from hlodiff.capture.pool import WorkerDeath, WorkerPool, worker_setting
from hlodiff.capture.targets import parse_target
from hlodiff.config import Config
from hlodiff.errors import CaptureError, HlodiffError
from hlodiff.inspect.summary import to_mend
from hlodiff.progress import progress
from hlodiff.report.lines import code, escape_markdown, json_text, printable
from hlodiff.report.program_analysis import AnalysisNote, listed
from hlodiff.report.report import PHASES
from hlodiff.report.timings import TITLES, bar
from hlodiff.report.wording import format_seconds, many
from hlodiff.snapshots import Key
from hlodiff.workflows.capture_side import instructions

_MOST_PASSES = 12
_BY = {
    "profiler": "as XLA reports to its profiler",
    "dump": "from the metadata of its dump",
}
_LARGER = "larger than it must be"
_NO_PASSES = "this compiler does not report how long its passes take"


@dataclass(frozen=True, slots=True)
class Profile:
    """How long one program took to trace, lower and compile, several times.

    Args:
        name, target: the program.
        stablehlo, compiled: number of instructions of both stages.
        first: seconds by phase in a fresh process.
        later: the same for each repetition in that process.
        passes: XLA's passes in one more compilation, slowest first.
        source: the source of their times, a key of `_BY`.
        observed: XLA's total time in that compilation.
        problem: why nothing was timed; `advice` is then a hint.
        reasons: what makes the program larger than necessary.

    Example:
        >>> Profile("f", "cpu", problem="libtpu is not installed").median("trace") is None
        True
    """

    name: str
    target: str
    stablehlo: int = 0
    compiled: int = 0
    first: Mapping[str, float] | None = None
    later: tuple[Mapping[str, float], ...] = ()
    passes: tuple[PassTime, ...] = ()
    source: str = ""
    observed: float = 0.0
    problem: str = ""
    advice: str = ""
    broken: bool = False
    reasons: tuple[AnalysisNote, ...] = ()

    def median(self, phase: str) -> float | None:
        """Median of the later times of one phase, or of all phases together for "total"."""
        times = [_of(run, phase) for run in self.later]
        return statistics.median(times) if times else None

    def outside(self) -> float:
        """Seconds of the observed compilation outside all passes."""
        return max(self.observed - sum(each.seconds for each in self.passes), 0.0)


def _of(run: Mapping[str, float], phase: str) -> float:
    return sum(run.values()) if phase == "total" else run[phase]


def measure_profiles(config: Config, keys: Sequence[Key], repeat: int, passes: bool) -> list[Profile]:
    """Compile each program in its own process, one after the other, and time it; nothing is run.

    Args:
        config: the project's.
        keys: the programs.
        repeat: number of further compilations in the same process.
        passes: whether to compile once more to time XLA's passes.

    Returns:
        one record each; a program that could not be compiled gives the reason.
    """
    check_jax()
    found: list[Profile] = []
    with progress(len(keys), "timing") as step:
        for key in keys:
            step(f"{key.name} on {key.target}", 0)
            wanted = ProfileRequest(Request(key.function, key.case, key.target), repeat, passes)
            found.append(_profile(key, _time(config, wanted), config.root))
            step(f"{key.name} on {key.target}", 1)
    return found


def _time(config: Config, wanted: ProfileRequest) -> ProfileResult | NotChecked | CaptureFailure:
    request = wanted.request
    where = (request.function, request.case, request.target)
    name = parse_target(request.target)
    if lacking := missing_packages(name):
        return NotChecked(*where, *lacking)
    setting = worker_setting(name)
    with WorkerPool(config) as pool:
        worker = pool.start_ready(setting, "capture")
        try:
            return cast("ProfileResult | NotChecked | CaptureFailure", pool.ask(setting, "profile", wanted))
        except WorkerDeath as death:
            return death.failure(request, worker.locations.get(request.function, ""))
        except CaptureError as error:
            return CaptureFailure(*where, error.what, "")
        except HlodiffError as error:
            return CaptureFailure(*where, error.render(), "")


def _profile(key: Key, outcome: ProfileResult | NotChecked | CaptureFailure, root: Path) -> Profile:
    if isinstance(outcome, NotChecked):
        return Profile(key.name, key.target, problem=outcome.reason, advice=outcome.advice)
    if isinstance(outcome, CaptureFailure):
        return Profile(key.name, key.target, problem=outcome.what, broken=True)
    stablehlo, compiled = (instructions(text) for text in (outcome.stablehlo, outcome.compiled))
    first, *later = ({name: getattr(run, name) for name in PHASE_NAMES} for run in (outcome.first, *outcome.later))
    return Profile(
        key.name,
        key.target,
        stablehlo,
        compiled,
        first,
        tuple(later),
        outcome.passes,
        outcome.source,
        outcome.observed,
        reasons=to_mend(outcome.stablehlo, root),
    )


def profiles_text(profiles: Sequence[Profile], everything: bool = False, color: bool = False) -> str:
    """The report for a terminal.

    Args:
        profiles: in display order.
        everything: whether to list every pass.
        color: whether to color bars; color carries no meaning.

    Returns:
        text ending in a newline.

    Example:
        >>> print(profiles_text([Profile("f", "cpu", problem="it is broken")]), end="")
        f  cpu  not timed: it is broken
    """
    longest = max((_of(p.first, phase) for p in profiles if p.first for phase in PHASES), default=0) or 1
    lines = [line for profile in profiles for line in _lines(profile, longest, everything)]
    if any(profile.first for profile in profiles):
        lines.append("paid by the first call with new shapes, types or static values; later calls only run the program")
    text = "".join(line.rstrip() + "\n" for line in lines)
    return _colored(text) if color else text


def _lines(profile: Profile, longest: float, everything: bool) -> Iterator[str]:
    head = printable(f"{profile.name}  {profile.target}")
    if profile.first is None:
        yield f"{head}  not timed: {printable(profile.problem)}"
        if profile.advice:
            yield f"  {printable(profile.advice)}"
        return
    yield f"{head}  {profile.stablehlo:,} StableHLO ops, {profile.compiled:,} compiled instructions"
    yield from _phases(profile, longest)
    yield from _passes(profile, everything)
    if profile.reasons:
        yield f"  {_LARGER}"
    for reason in listed(profile.reasons):
        yield printable(f"    {reason.kind}: {reason.what}")
        if reason.advice:
            yield printable(f"      {reason.advice}")
    yield ""


def _phases(profile: Profile, longest: float) -> Iterator[str]:
    first = profile.first or {}
    runs = len(profile.later)
    yield f"  {'':<7}{'first':>10}" + (f"{'again':>10}  median of {runs}, least to most" if runs else "")
    for phase in (*PHASES, "total"):
        line = f"  {TITLES.get(phase, phase):<7}{format_seconds(_of(first, phase)):>10}"
        if runs:
            times = [_of(run, phase) for run in profile.later]
            spread = f"{format_seconds(min(times))} to {format_seconds(max(times))}"
            line += f"{format_seconds(profile.median(phase) or 0):>10}  {spread:<21}"
        yield line if phase == "total" else f"{line}  {bar(_of(first, phase) / longest)}"


def _passes(profile: Profile, everything: bool) -> Iterator[str]:
    if not profile.passes:
        if profile.observed:
            yield f"  {_NO_PASSES}"
        return
    yield f"  inside XLA: {_split(profile)}; {_BY[profile.source]}"
    rows = list(_pass_rows(profile, everything))
    wide = max(len(name) for name, *_ in rows)
    most = max(seconds for _, seconds, _ in rows) or 1
    for name, seconds, note in rows:
        share = f"{100 * seconds / profile.observed:.0f} %" if profile.observed else ""
        yield f"    {name:<{wide}}{format_seconds(seconds):>9}{share:>6}  {bar(seconds / most, 16):<16}  {note}"


def _split(profile: Profile) -> str:
    """One more compilation, split into HLO passes and code generation."""
    passes = [each for each in profile.passes if each.pipeline]
    seconds = sum(each.seconds for each in passes)
    return (
        f"{format_seconds(seconds)} in {many(len(passes), 'HLO pass', 'HLO passes')}, "
        f"{format_seconds(max(profile.observed - seconds, 0))} in code generation and the rest "
        "of one more compile"
    )


def _pass_rows(profile: Profile, everything: bool) -> Iterator[tuple[str, float, str]]:
    """Name, seconds and a note: the slowest passes, the sum of the others, and the time outside passes."""
    shown = profile.passes if everything else profile.passes[:_MOST_PASSES]
    for each in shown:
        pipeline = f"HLO pass, {each.pipeline}" if each.pipeline else "code generation and the rest"
        yield printable(each.name), each.seconds, printable(f"{many(each.runs, 'run')}, {pipeline}")
    if rest := profile.passes[len(shown) :]:
        yield f"{len(rest)} more", sum(each.seconds for each in rest), "--all lists them"
    yield "outside of these", profile.outside(), "nothing has a name there"


def profiles_markdown(profiles: Sequence[Profile], everything: bool = False) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    lines = ["### hlodiff: profile", ""]
    for each in profiles:
        lines += [*_markdown(each, everything), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown(profile: Profile, everything: bool) -> Iterator[str]:
    head = f"{code(profile.name)} on {code(profile.target)}"
    if profile.first is None:
        yield f"{head}: not timed, {escape_markdown(profile.problem)} {escape_markdown(profile.advice)}".rstrip()
        return
    yield f"{head}: {profile.stablehlo:,} StableHLO ops, {profile.compiled:,} compiled instructions"
    runs = len(profile.later)
    yield from ("", f"| | first |{f' again, median of {runs} |' if runs else ''}", f"|---|--:|{'--:|' if runs else ''}")
    for phase in (*PHASES, "total"):
        again = profile.median(phase)
        later = "" if again is None else f" {format_seconds(again)} |"
        yield f"| {TITLES.get(phase, phase)} | {format_seconds(_of(profile.first, phase))} |{later}"
    if profile.passes:
        yield from ("", f"Inside XLA: {_split(profile)}.", "")
        yield from ("| | time | share | |", "|---|--:|--:|---|")
        for name, seconds, note in _pass_rows(profile, everything):
            share = f"{100 * seconds / profile.observed:.0f} %" if profile.observed else ""
            yield f"| {code(name)} | {format_seconds(seconds)} | {share} | {escape_markdown(note)} |"
    elif profile.observed:
        yield from ("", _NO_PASSES)
    if profile.reasons:
        yield from ("", f"{_LARGER.capitalize()}:", "")
    for reason in listed(profile.reasons):
        yield f"- {escape_markdown(f'{reason.kind}: {reason.what}')}" + (
            f"; {escape_markdown(reason.advice)}" if reason.advice else ""
        )


def profiles_json(profiles: Sequence[Profile]) -> str:
    """All data as JSON text, seconds to the microsecond."""
    value = {"format_version": "1.0", "command": "profile", "programs": [_json(profile) for profile in profiles]}
    return json_text(value)


def _json(profile: Profile) -> dict[str, Any]:
    head: dict[str, Any] = {"name": profile.name, "target": profile.target}
    if profile.first is None:
        return {**head, "status": "not_timed", "reason": profile.problem, "advice": profile.advice}
    return {
        **head,
        "status": "timed",
        "instructions": {"stablehlo": profile.stablehlo, "compiled": profile.compiled},
        "first": _seconds(profile.first),
        "later": [_seconds(run) for run in profile.later],
        "passes": {
            "source": profile.source or None,
            "compile": round(profile.observed, 6),
            "outside": round(profile.outside(), 6),
            "listed": [
                {"name": p.name, "pipeline": p.pipeline or None, "seconds": round(p.seconds, 6), "runs": p.runs}
                for p in profile.passes
            ],
        },
        "reasons": [{"kind": one.kind, "what": one.what, "advice": one.advice} for one in profile.reasons],
    }


def _seconds(run: Mapping[str, float]) -> dict[str, float]:
    return {phase: round(run[phase], 6) for phase in PHASES}


def _colored(text: str) -> str:
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=10_000, highlight=False)
    styled = Text(text, end="")
    styled.highlight_regex(r"[█▏▎▍▌▋▊▉]+", "cyan")
    console.print(styled, soft_wrap=True, end="")
    return out.getvalue()
