"""Compares what a call compiled with what `.lower()` gives ahead of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta

from hlodiff.capture import (
    CalledProgram,
    CallResult,
    CaptureFailure,
    DiscoveredFunction,
    Discovery,
    NotChecked,
    ParityRequest,
    is_target,
)
from hlodiff.capture.messages import LONGEST_CALL
from hlodiff.capture.targets import parse_target
from hlodiff.config import Config
from hlodiff.differ.limits import Limits
from hlodiff.differ.result import ModuleDiff
from hlodiff.policy import Finding
from hlodiff.policy.findings import Severity, end_of_log
from hlodiff.policy.parity import RULE, Parity, ParityProgram, judge_parity, judge_surroundings
from hlodiff.report.parity import explained
from hlodiff.snapshots import Key
from hlodiff.workflows.capture_side import capture_programs
from hlodiff.workflows.select import ChosenFunctions

_ENDED = f"Timeout ({timedelta(seconds=LONGEST_CALL)})!"  # printed by faulthandler


@dataclass(frozen=True, slots=True)
class ParityRun:
    """The result for one case: the comparison, or why there is none."""

    key: Key
    parity: Parity | None = None
    failure: NotChecked | CaptureFailure | None = None


def running_target(found: DiscoveredFunction, case: str) -> str:
    """The CPU target that a case runs on: one of its own, else one with as many devices as its first target.

    Example:
        >>> running_target(DiscoveredFunction("f", "m", "m.py", 1, (("tpu-v5e-2x2", ("",)),)), "")
        'cpu-4'
    """
    targets = [target for target, cases in found.programs if case in cases and is_target(target)]
    cpus = [target for target in targets if parse_target(target).kind == "cpu"]
    if cpus or not targets:
        return cpus[0] if cpus else "cpu"
    devices = parse_target(targets[0]).devices
    return f"cpu-{devices}" if devices > 1 else "cpu"


def parity_keys(discovery: Discovery, chosen: ChosenFunctions, marked: bool) -> tuple[Key, ...]:
    """The chosen cases, each once with the target that it runs on.

    Args:
        discovery: what is registered.
        chosen: the programs of this run.
        marked: whether to take only cases with `parity=True`.
    """
    wanted = dict.fromkeys((key.function, key.case) for key in chosen.registered)
    return tuple(
        Key(found.name, case, running_target(found, case))
        for found in discovery.functions
        for case in (found.parity if marked else found.cases)
        if (found.name, case) in wanted
    )


def ran(config: Config, keys: Sequence[Key], jobs: int | None, compile_for: str = "") -> Iterator[ParityRun]:
    """Run cases and compare the called program with the one compiled ahead of time.

    Args:
        config: the project's.
        keys: which cases, with the target that each runs on.
        jobs: number of workers.
        compile_for: a target for which both programs are compiled too; "" for none.

    Returns:
        one record for each case, in order of completion.
    """
    if not keys:
        return
    requests = [ParityRequest(key.function, key.case, key.target, compile_for) for key in keys]
    with closing(capture_programs(config, requests, jobs, "running")) as outcomes:
        for key, outcome in outcomes:
            if isinstance(outcome, CallResult):
                programs = tuple(_program(config, key, program) for program in outcome.programs)
                counts = outcome.eager, outcome.jitted_here
                yield ParityRun(key, Parity(key.name, key.target, programs, *counts, compile_for))
            elif isinstance(outcome, NotChecked):
                yield ParityRun(key, failure=outcome)
            elif isinstance(outcome, CaptureFailure):
                yield ParityRun(key, failure=replace(outcome, what=_why(outcome)))


def _why(failed: CaptureFailure) -> str:
    """The reason of a failure. A call that ran too long is ended inside its process; only the log shows it."""
    if _ENDED in failed.log_tail:
        return "the call took more than ten minutes and was ended; real arguments can be given in the case"
    return failed.what


def _program(config: Config, key: Key, program: CalledProgram) -> ParityProgram:
    label = f"{key.name}: {program.name}"
    return ParityProgram(
        program.name.replace("<locals>.", ""),
        program.place,
        program.called_at,
        _diff(config, label, program.called, program.ahead),
        program.problem,
        program.context,
        _diff(config, label, program.compiled_called, program.compiled_ahead),
        program.numbers,
    )


def _diff(config: Config, label: str, called: str, ahead: str) -> ModuleDiff | None:
    from hlodiff.differ import diff
    from hlodiff.hlo import read_text

    if not called or not ahead:
        return None
    old = read_text(called, path=f"{label}, called", trusted=True)
    new = read_text(ahead, path=f"{label}, ahead of time", trusted=True)
    return diff(old, new, limits=Limits(**dict(config.limits)))


def check_parity(
    config: Config, discovery: Discovery, chosen: ChosenFunctions, jobs: int | None
) -> tuple[Finding, ...]:
    """Run the chosen cases with `parity=True`, and compare.

    Args:
        config: the project's.
        discovery: what is registered.
        chosen: the programs of this run.
        jobs: number of workers.

    Returns:
        findings in the order of registration.
    """
    keys = parity_keys(discovery, chosen, marked=True)
    found = {one.key: one for one in ran(config, keys, jobs)}
    return tuple(finding for key in keys if key in found for finding in _judged(config, found[key]))


def _judged(config: Config, one: ParityRun) -> Iterator[Finding]:
    if isinstance(one.failure, NotChecked):
        severity: Severity = "warning"
        yield Finding(severity, RULE, one.key.name, one.key.target, one.failure.reason, one.failure.advice)
    elif one.failure is not None:
        log = end_of_log(one.failure.log_tail)
        yield Finding("broken", RULE, one.key.name, one.key.target, one.failure.what, "", log)
    elif one.parity is not None:
        words = {
            number: tuple(explained(program, one.parity, str(config.root)))
            for number, program in enumerate(one.parity.programs)
        }
        yield from judge_parity(one.parity, words)


_SENTENCES = {
    "compute_on": 'compute_on("{value}")',
    "jax_default_matmul_precision": 'jax.default_matmul_precision("{value}")',
    "jax.set_mesh": "jax.set_mesh ({value})",
    "with mesh": "a mesh ({value})",
}


def warn_of_surroundings(
    discovery: Discovery, around: Mapping[Key, Sequence[tuple[str, str, str, str]]]
) -> tuple[Finding, ...]:
    """Warnings about the context of calls that tracing saw, for cases that are not run anyway.

    Args:
        discovery: what is registered.
        around: context of calls, by program.
    """
    ran_anyway = {(found.name, case) for found in discovery.functions for case in found.parity}
    rows = {
        (key.name, key.target): found
        for key, found in around.items()
        if found and (key.function, key.case) not in ran_anyway
    }
    return tuple(judge_surroundings(rows, _SENTENCES))
