"""One side of a comparison, captured: every program as a snapshot, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from hlodiff.capture import Captured, NotChecked, Outcome, Request
from hlodiff.cli.capturing import captured
from hlodiff.cli.recording import STAGES, compare, one_sided, parse, record
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config
from hlodiff.diff.compared import Compared
from hlodiff.diff.limits import Limits
from hlodiff.store import Key, Snapshot


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why there is no program.

    Args:
        reason: what is wrong, or what this machine lacks.
        advice: what to type about it.
        broken: whether something is wrong, rather than missing here.
        log: the end of a log that tells more.
    """

    reason: str
    advice: str = ""
    broken: bool = False
    log: str = ""


@dataclass(slots=True)
class Taken:
    """What one side gave.

    Args:
        snapshots: its programs, as `update` would record them.
        troubles: programs that could not be captured.
    """

    snapshots: dict[Key, Snapshot] = field(default_factory=dict)
    troubles: dict[Key, Trouble] = field(default_factory=dict)

    def keys(self) -> tuple[Key, ...]:
        """Everything that was asked for."""
        return tuple(dict.fromkeys((*self.snapshots, *self.troubles)))


def take(config: Config, keys: Sequence[Key], jobs: int | None, known: Mapping[Key, Snapshot] | None = None) -> Taken:
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
    found = Taken()
    with closing(captured(config, [_request(key, known.get(key)) for key in keys], jobs)) as outcomes:
        results = {key: _taken(config, outcome, known.get(key)) for key, outcome in outcomes}
    for key in keys:
        result = results.get(key)
        if isinstance(result, Snapshot):
            found.snapshots[key] = result
        elif result is not None:
            found.troubles[key] = result
    return found


def _request(key: Key, known: Snapshot | None) -> Request:
    if known is None:
        return Request(key.function, key.case, key.target)
    stablehlo, toolchain = known.summary["fingerprints"]["stablehlo"], dict(known.summary.get("toolchain") or {})
    return Request(key.function, key.case, key.target, stablehlo, toolchain)


def _taken(config: Config, outcome: Outcome, known: Snapshot | None) -> Snapshot | Trouble:
    if isinstance(outcome, NotChecked):
        return Trouble(outcome.reason, outcome.advice)
    if not isinstance(outcome, Captured):
        return Trouble(outcome.what, "", True, outcome.log_tail)
    if outcome.unchanged and known is not None:
        return known
    try:
        return record(outcome, str(config.root), config.large_constants)
    except Exception as error:
        wrong = foreseen(error)
        return Trouble(str(wrong).removesuffix(f"\nhint: {wrong.hint}"), wrong.hint, True)


@dataclass(frozen=True, slots=True)
class Names:
    """What the two sides are called where one of them has a trouble of its own: `at main`, `with jax 0.10.2`."""

    old: str
    new: str


def compare_taken(old: Taken, new: Taken, limits: Limits, names: Names) -> tuple[Compared, ...]:
    """Compare both sides program by program.

    Args:
        old, new: what both sides gave.
        limits: how much may be tried.
        names: what the sides are called.

    Returns:
        both stages of each program: those of the new side in their order, then those that only the old one has.
    """
    keys = dict.fromkeys((*new.keys(), *old.keys()))
    return tuple(program for key in keys for program in _compared(key, old, new, limits, names))


def _compared(key: Key, old: Taken, new: Taken, limits: Limits, names: Names) -> tuple[Compared, ...]:
    troubles = old.troubles.get(key), new.troubles.get(key)
    before, after = old.snapshots.get(key), new.snapshots.get(key)
    if any(troubles):
        return _troubled(key, *troubles, names)
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
        wrong = foreseen(error)
        reason = str(wrong).removesuffix(f"\nhint: {wrong.hint}")
        return _troubled(key, None, Trouble(reason, wrong.hint, True), names)


def _troubled(key: Key, old: Trouble | None, new: Trouble | None, names: Names) -> tuple[Compared, ...]:
    """One reason where both sides have the same one, else whose it is."""
    told = new or old
    assert told is not None
    reason = told.reason
    if old is None or new is None or old.reason != new.reason:
        sides = ((names.old, old), (names.new, new))
        reason = "; ".join(f"{name}: {trouble.reason}" for name, trouble in sides if trouble)
    broken = any(trouble is not None and trouble.broken for trouble in (old, new))
    return tuple(
        Compared(
            key.name,
            key.target,
            stage,
            "not_checked",
            reason=reason,
            advice=told.advice,
            broken=broken,
            log=told.log,
        )
        for stage in STAGES
    )
