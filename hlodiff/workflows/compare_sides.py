"""The one comparison of two sides, for `check`, `check --against`, `upgrade` and `diff`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hlodiff.differ.comparison import ProgramComparison, donated_parameters, with_compiler
from hlodiff.differ.limits import Limits
from hlodiff.differ.metrics import op_counts, raw_metrics
from hlodiff.errors import DiffError
from hlodiff.hlo.model import PROGRAM_NAMES, Stage
from hlodiff.workflows.sides import Pair, Side, SideFailure, SideProgram, failure_of, pair

_BUG = "this is a bug in hlodiff: please report it with both programs, {old} and {new}"
Toolchain = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SideComparison:
    """The comparison of two sides.

    Args:
        programs: every program of either side.
        toolchains: target, old and new toolchain of each program on both sides, if known.
    """

    programs: tuple[ProgramComparison, ...] = ()
    toolchains: tuple[tuple[str, Toolchain, Toolchain], ...] = ()


def compare_sides(
    old: Side,
    new: Side,
    limits: Limits,
    *,
    pairs: Iterable[Pair] | None = None,
    verify: bool = False,
    on_compared: Callable[[ProgramComparison], None] = lambda program: None,
) -> SideComparison:
    """Compare two sides program by program.

    Args:
        old, new: both sides.
        limits: search limits of the differ.
        pairs: pairs to compare; all of `pair(old, new)` where None.
        verify: whether to apply the edits to each old program, and report it if that does not give the new one.
        on_compared: called with each compared program.

    Returns:
        one record for each pair, in their order. An error in reading or comparing a program affects that program alone.

    Example:
        >>> compare_sides(Side("old"), Side("new"), Limits()).programs
        ()
    """
    pairs = pair(old, new) if pairs is None else list(pairs)
    programs = []
    for before, after in pairs:
        programs.append(_compare_program(before, after, old, new, limits, verify))
        on_compared(programs[-1])
    known = {
        (after.name, after.target): (before.toolchain, after.toolchain)
        for before, after in pairs
        if before and after and before.target == after.target and None not in (before.toolchain, after.toolchain)
    }
    upgraded = {label for label, (one, other) in known.items() if one != other}
    return SideComparison(
        with_compiler(programs, lambda program: (program.name, program.target) in upgraded),
        tuple((target or "", one or {}, other or {}) for (_, target), (one, other) in known.items()),
    )


def _compare_program(
    before: SideProgram | None, after: SideProgram | None, old: Side, new: Side, limits: Limits, verify: bool
) -> ProgramComparison:
    one = after or before
    assert one is not None
    failures = before.failure if before else None, after.failure if after else None
    if not any(failures):
        try:
            if before is None or after is None:
                return _one_sided(one, "added" if after else "removed")
            if before.snapshot is not None and before.snapshot is after.snapshot:
                return _one_sided(before, "identical")
            compared = _compare_both(before, after, limits)
            return _verified(compared, before, after) if verify else compared
        except Exception as error:
            failures = None, failure_of(error)
    failure = _joint_failure(*failures, old, new)
    return ProgramComparison(
        one.name,
        one.target,
        one.stage,
        "not_checked",
        reason=failure.reason,
        advice=failure.advice,
        broken=failure.broken,
        log=failure.log,
        recorded=old.recorded and before is not None and not failure.broken,
    )


def _joint_failure(before: SideFailure | None, after: SideFailure | None, old: Side, new: Side) -> SideFailure:
    """One failure if both sides have the same reason, else each reason with the name of its side."""
    main = after or before
    assert main is not None
    reason = main.reason
    if before is None or after is None or before.reason != after.reason:
        failures = ((old.called, before), (new.called, after))
        reason = "; ".join(f"{name}: {one.reason}" if name else one.reason for name, one in failures if one)
    broken = any(one is not None and one.broken for one in (before, after))
    return SideFailure(reason, main.advice, broken, main.log)


def _one_sided(program: SideProgram, status: Literal["added", "removed", "identical"]) -> ProgramComparison:
    """A program without a diff: on one side alone, or known to be the same on both."""
    module = program.load()
    facts = _facts(program, module.stage)
    return ProgramComparison(
        program.name,
        program.target,
        module.stage,
        status,
        None,
        {} if status == "added" else facts,
        {} if status == "removed" else facts,
        op_counts(module),
        donated=() if status == "removed" else _donated(program),
        module=module,
    )


def _compare_both(old: SideProgram, new: SideProgram, limits: Limits) -> ProgramComparison:
    from hlodiff.differ import diff

    before, after = old.load(), new.load()
    if before.stage != after.stage:
        what = f"{old.where} is {PROGRAM_NAMES[before.stage]}, {new.where} is {PROGRAM_NAMES[after.stage]}"
        raise DiffError(what, hint="compare programs of the same stage")
    found = diff(before, after, limits=limits)
    status: Literal["identical", "changed"] = "identical" if found.identical else "changed"
    # Facts beside the programs come from summaries or from raw text; the two do not mix.
    if old.snapshot is None and new.snapshot is None:
        facts = raw_metrics(before), raw_metrics(after)
    else:
        facts = _facts(old, before.stage), _facts(new, after.stage)
    return ProgramComparison(new.name, new.target, after.stage, status, found, *facts, donated=_donated(new))


def _facts(program: SideProgram, stage: Stage) -> dict[str, float]:
    if program.snapshot is None:
        return {}
    from hlodiff.workflows.build_snapshot import (
        stage_facts,  # imports everything that reads and writes snapshots, which plain files do not need
    )

    return stage_facts(program.snapshot.summary, stage)


def _donated(program: SideProgram) -> tuple[int, ...]:
    return donated_parameters(program.snapshot.summary) if program.snapshot else ()


def _verified(compared: ProgramComparison, old: SideProgram, new: SideProgram) -> ProgramComparison:
    """The comparison, after checking that its edits turn the old program into the new one."""
    assert compared.diff is not None
    outcome = compared.diff.replay()
    if not outcome.missing:
        return replace(compared, replayed=outcome.complete)
    more = outcome.missing - len(outcome.failures)
    what = ["internal error: the edits do not turn the old program into the new one", *outcome.failures]
    return ProgramComparison(
        compared.name, compared.target, compared.stage, "not_checked", replayed=False, broken=True,
        reason="\n".join([*what, f"and {more} more"] if more else what),
        advice=_BUG.format(old=old.where, new=new.where),
    )  # fmt: skip
