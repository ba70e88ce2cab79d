"""The running part of `check`: programs are captured and compared with their snapshots, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from hlodiff.capture import Captured, NotChecked, Outcome
from hlodiff.cli.capturing import captured
from hlodiff.cli.leaving import Leaving
from hlodiff.cli.lowered import compare_lowered
from hlodiff.cli.recording import STAGES, Stored, compare, one_sided, parse, record
from hlodiff.cli.registered import Chosen, load_stored, requests_for
from hlodiff.cli.timing import timing
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config
from hlodiff.diff.compared import Compared
from hlodiff.diff.limits import Limits
from hlodiff.errors import HlodiffError
from hlodiff.policy import Finding
from hlodiff.policy.growth import RULE as GROWTH_RULE
from hlodiff.report.timings import Timing
from hlodiff.store import FutureFormatError, Key


@dataclass(slots=True)
class Run:
    """What has been compared so far.

    Args:
        config: the project's.
        leaving: keeps what was captured and is not recorded.
        results: both stages of each program that was looked at.
        toolchains: target, recorded toolchain and the one found now, for each program that was compiled.
        timed: how long each program took to make; None where nobody asked, so that what is unchanged is not compiled.
        lower_only: whether XLA is never asked, and StableHLO alone is compared where that leaves something open.
        uncompiled: programs whose compiled HLO nobody looked at.
    """

    config: Config
    leaving: Leaving
    results: dict[Key, tuple[Compared, ...]] = field(default_factory=dict)
    toolchains: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    timed: dict[Key, Timing] | None = None
    lower_only: bool = False
    uncompiled: list[Key] = field(default_factory=list)

    def compare_all(self, chosen: Chosen, jobs: int | None) -> None:
        stored, broken = load_stored(self.config, (*chosen.registered, *chosen.orphaned))
        for key, error in broken.items():
            self.results[key] = _both(key, error.what, _heal(key, error), error=error)
        for key in chosen.orphaned:
            if key in stored:
                self.results[key] = one_sided(stored[key], "removed")
        fresh = [key for key in chosen.registered if key not in broken]
        # Whoever asks how long XLA takes wants it asked, also for what is known to be unchanged.
        known = stored if self.timed is None else {}
        with closing(captured(self.config, requests_for(fresh, known, self.lower_only), jobs)) as outcomes:
            for key, outcome in outcomes:
                self.results[key] = self.judge_one(key, outcome, stored.get(key))

    def judge_one(self, key: Key, outcome: Outcome, old: Stored | None) -> tuple[Compared, ...]:
        """One program against its snapshot; whatever goes wrong is said of this program alone."""
        if isinstance(outcome, NotChecked):
            return _both(key, outcome.reason, outcome.advice, recorded=old is not None)
        if not isinstance(outcome, Captured):
            self.leaving.forget(key)
            return _both(key, outcome.what, "", broken=True, log=outcome.log_tail)
        if old is not None:
            before = old.snapshot.summary.get("toolchain") or {}
            self.toolchains.append((key.target, before, outcome.facts.get("toolchain") or before))
        try:
            if self.timed is not None:
                self.timed[key] = timing(key, outcome)
            if outcome.unchanged and old is not None:
                self.leaving.forget(key)
                return one_sided(old, "identical")
            limits = Limits(**dict(self.config.limits))
            if outcome.compiled is None:
                self.uncompiled.append(key)
                return (compare_lowered(outcome, old, self.config, limits),)
            new = parse(record(outcome, str(self.config.root), self.config.large_constants), key.name)
            if old is None:
                return self.leaving.compared(new.snapshot, None, one_sided(new, "added"))
            return self.leaving.compared(new.snapshot, old.snapshot, compare(old, new, limits))
        except Exception as error:
            known = foreseen(error)
            return _both(key, known.what, known.hint, error=known)

    def timings(self, chosen: Chosen) -> tuple[Timing, ...]:
        """What was timed, in the order of registration."""
        timed = self.timed or {}
        return tuple(timed[key] for key in chosen.registered if key in timed)

    def in_order(self, chosen: Chosen) -> tuple[Compared, ...]:
        """Results in the order of registration, orphans last."""
        return tuple(program for key in (*chosen.registered, *chosen.orphaned) for program in self.results.get(key, ()))


def _both(
    key: Key,
    reason: str,
    advice: str,
    *,
    broken: bool = False,
    log: str = "",
    error: HlodiffError | None = None,
    recorded: bool = False,
) -> tuple[Compared, ...]:
    """Both stages of a program that was not compared."""
    if error is not None:
        reason, broken = str(error).removesuffix(f"\nhint: {error.hint}"), True
    return tuple(
        Compared(
            key.name,
            key.target,
            stage,
            "not_checked",
            reason=reason,
            advice=advice,
            broken=broken,
            log=log,
            recorded=recorded,
        )
        for stage in STAGES
    )


def _heal(key: Key, error: HlodiffError) -> str:
    """What to type where a snapshot is broken: it is recorded again, unless a newer hlodiff wrote it."""
    newer = isinstance(error, FutureFormatError) or error.what.startswith("internal error")
    return error.hint if newer else f"hlodiff update {key.name} --target {key.target}"


def with_ids(findings: tuple[Finding, ...], kept: Mapping[Key, str], *, here: bool = True) -> tuple[Finding, ...]:
    """Findings on traces and growth that name the command which records them without another run.

    Args:
        findings: of a check.
        kept: what waits for `accept`, with its ids.
        here: whether it waits on the machine of whoever reads them, so that the command can be typed.
    """
    words = {"traces": "traces", "traces-new": "traces", GROWTH_RULE: "growth"}
    ids = {(key.name, key.target): own for key, own in kept.items()}
    named = [ids.get((f.program, words.get(f.rule, "")), "") for f in findings]
    return tuple(_named(finding, own, here) for finding, own in zip(findings, named, strict=True))


def _named(finding: Finding, own: str, here: bool) -> Finding:
    is_accepted = own and here and finding.advice.startswith("hlodiff ")
    return replace(finding, id=own, advice=f"hlodiff accept {own}" if is_accepted else finding.advice)
