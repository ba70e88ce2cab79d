"""One side of a comparison, captured: every program as a snapshot, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from hlodiff.capture import CapturedProgram, NotChecked, Outcome
from hlodiff.config import Config
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import Limits
from hlodiff.errors import expected_error
from hlodiff.report.timings import Timing
from hlodiff.snapshots import Key, Snapshot
from hlodiff.workflows.capture_programs import capture_programs
from hlodiff.workflows.compare import STAGES, compare, one_sided, parse, record
from hlodiff.workflows.select import requests_for


@dataclass(frozen=True, slots=True)
class SideFailure:
    """Why one side has no program to compare.

    Args:
        reason: what is wrong, or what this machine lacks.
        advice: what to type about it.
        broken: whether something is wrong, rather than missing here.
        log: the end of the worker's log.
    """

    reason: str
    advice: str = ""
    broken: bool = False
    log: str = ""


def failure_of(error: Exception) -> SideFailure:
    """An error while one program was captured, read or compared, as a failure of that program alone."""
    known = expected_error(error)
    return SideFailure(str(known), known.hint, True)


def capture_failure(outcome: Outcome) -> SideFailure | None:
    """Why a capture has no program; None where it has one."""
    if isinstance(outcome, NotChecked):
        return SideFailure(outcome.reason, outcome.advice)
    if not isinstance(outcome, CapturedProgram):
        return SideFailure(outcome.what, "", True, outcome.log_tail)
    return None


def not_compared(key: Key, failure: SideFailure, *, recorded: bool = False) -> tuple[ProgramComparison, ...]:
    """Both stages of a program that could not be compared.

    Args:
        key: which program.
        failure: why.
        recorded: whether it has a snapshot, so that not checking it is no pass.
    """
    return tuple(
        ProgramComparison(
            key.name,
            key.target,
            stage,
            "not_checked",
            reason=failure.reason,
            advice=failure.advice,
            broken=failure.broken,
            log=failure.log,
            recorded=recorded,
        )
        for stage in STAGES
    )


@dataclass(slots=True)
class CapturedSide:
    """The programs of one side.

    Args:
        snapshots: its programs, as `update` would record them.
        failures: programs that could not be captured.
    """

    snapshots: dict[Key, Snapshot] = field(default_factory=dict)
    failures: dict[Key, SideFailure] = field(default_factory=dict)

    def keys(self) -> tuple[Key, ...]:
        """All programs that were to be captured."""
        return tuple(dict.fromkeys((*self.snapshots, *self.failures)))


def capture_side(
    config: Config, keys: Sequence[Key], jobs: int | None, known: Mapping[Key, Snapshot] | None = None
) -> CapturedSide:
    """Capture programs.

    Args:
        config: of the project they are registered in.
        keys: which programs.
        jobs: how many workers; None for the configuration's.
        known: programs of the other side: where StableHLO and toolchain are the same, XLA is not asked again.

    Returns:
        all of them, in the order of `keys`.
    """
    known = known or {}
    side = CapturedSide()
    with closing(capture_programs(config, requests_for(keys, known), jobs)) as outcomes:
        results = {key: _snapshot_of(config, outcome, known.get(key)) for key, outcome in outcomes}
    for key in keys:
        result = results.get(key)
        if isinstance(result, Snapshot):
            side.snapshots[key] = result
        elif result is not None:
            side.failures[key] = result
    return side


def _snapshot_of(config: Config, outcome: Outcome, known: Snapshot | None) -> Snapshot | SideFailure:
    if not isinstance(outcome, CapturedProgram):
        failure = capture_failure(outcome)
        assert failure is not None
        return failure
    if outcome.unchanged and known is not None:
        return known
    try:
        return record(outcome, str(config.root), config.large_constants)
    except Exception as error:
        return failure_of(error)


@dataclass(frozen=True, slots=True)
class SideNames:
    """Names of the two sides where a failure belongs to one of them: `at main`, `with jax 0.10.2`."""

    old: str
    new: str


def compare_sides(
    old: CapturedSide, new: CapturedSide, limits: Limits, names: SideNames
) -> tuple[ProgramComparison, ...]:
    """Compare both sides program by program.

    Args:
        old, new: both sides.
        limits: how much may be tried.
        names: names of the sides.

    Returns:
        both stages of each program: those of the new side in their order, then those that only the old one has.
    """
    keys = dict.fromkeys((*new.keys(), *old.keys()))
    return tuple(program for key in keys for program in _compare_program(key, old, new, limits, names))


def _compare_program(
    key: Key, old: CapturedSide, new: CapturedSide, limits: Limits, names: SideNames
) -> tuple[ProgramComparison, ...]:
    failures = old.failures.get(key), new.failures.get(key)
    if any(failures):
        return not_compared(key, _joint_failure(*failures, names))
    before, after = old.snapshots.get(key), new.snapshots.get(key)
    try:
        if before is not None and after is not None:
            stored = parse(before, key.folder)
            if before is after:
                return one_sided(stored, "identical")
            return compare(stored, parse(after, key.folder), limits)
        if after is not None:
            return one_sided(parse(after, key.folder), "added")
        assert before is not None
        return one_sided(parse(before, key.folder), "removed")
    except Exception as error:
        return not_compared(key, _joint_failure(None, failure_of(error), names))


def _joint_failure(old: SideFailure | None, new: SideFailure | None, names: SideNames) -> SideFailure:
    """One reason where both sides have the same one, else each with the name of its side."""
    main = new or old
    assert main is not None
    reason = main.reason
    if old is None or new is None or old.reason != new.reason:
        sides = ((names.old, old), (names.new, new))
        reason = "; ".join(f"{name}: {failure.reason}" for name, failure in sides if failure)
    broken = any(failure is not None and failure.broken for failure in (old, new))
    return SideFailure(reason, main.advice, broken, main.log)


def toolchains_of(old: CapturedSide, new: CapturedSide) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Target, old and new toolchain of each program that both sides have."""
    both = [(old.snapshots[key], snapshot) for key, snapshot in new.snapshots.items() if key in old.snapshots]
    return [
        (after.target, before.summary.get("toolchain") or {}, after.summary.get("toolchain") or {})
        for before, after in both
    ]


def timing(key: Key, captured: CapturedProgram) -> Timing:
    """How long one capture took.

    Args:
        key: which program.
        captured: the worker's result.

    Returns:
        seconds and instructions; no seconds of XLA where it was not asked.
    """
    seconds = captured.seconds
    compiled = None if captured.compiled is None else instructions(captured.compiled)
    stablehlo = instructions(captured.stablehlo)
    times = (seconds.get("trace", 0.0), seconds.get("lower", 0.0), seconds.get("compile"))
    return Timing(key.name, key.target, *times, stablehlo, compiled)


def instructions(text: str) -> int:
    """How many instructions a program has, counted as reports and summaries count them.

    Args:
        text: StableHLO or compiled HLO.

    Returns:
        the number of instructions; a computation that is called from three places counts three times.
    """
    from hlodiff.differ.metrics import count
    from hlodiff.hlo import read_text

    return int(count(read_text(text)).plain["instructions"])
