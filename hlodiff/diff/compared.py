"""One program on both sides, and what came of comparing them: what policies judge and reports print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hlodiff.diff.result import ModuleDiff
from hlodiff.ir.model import Stage

Status = Literal["identical", "changed", "added", "removed", "not_checked"]
Cause = Literal["", "compiler", "code_and_compiler"]
STATUSES: tuple[Status, ...] = ("identical", "changed", "added", "removed", "not_checked")


@dataclass(frozen=True, slots=True)
class Compared:
    """One program (function, case, target, stage) after comparing.

    Args:
        name: function and case, or a file's relative path without suffix.
        target: what it is compiled for; None where that is not known, as for plain files.
        stage: "compiled" or "stablehlo".
        status: "added" is only on the new side, "removed" only on the old one.
        diff: the difference; None unless both sides were read.
        old_facts, new_facts: numbers that the compiler gave beside the program, by name: `memory.temp`, `cost.flops`.
        op_counts: of the one side of an added or removed program, or of both sides of one that is known to be the same.
        reason: why it was not checked; "" else.
        advice: what to do about that; "" where nothing helps.
        broken: whether it could not be judged because something is wrong (a damaged file, a failed compile), rather
            than because this machine lacks the target.
        log: the end of a log that tells more.
        recorded: whether a program that was not checked has a snapshot, so that something stays unknown.
        cause: where the toolchains of both sides differ, whether StableHLO is the same, so that only the compiler can
            have changed what it compiles to; "" where they are equal or not known.
        id: what `hlodiff accept` calls a captured program that waits for a decision; "" where none does.
        replayed: whether the edits were seen to turn the old program into the new one; None where nobody asked.
    """

    name: str
    target: str | None
    stage: Stage
    status: Status
    diff: ModuleDiff | None = None
    old_facts: Mapping[str, float] = field(default_factory=dict)
    new_facts: Mapping[str, float] = field(default_factory=dict)
    op_counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    advice: str = ""
    broken: bool = False
    log: str = ""
    recorded: bool = False
    cause: Cause = ""
    id: str = ""
    replayed: bool | None = None

    @property
    def label(self) -> str:
        """How messages call it: `train_step on cpu`."""
        return f"{self.name} on {self.target}" if self.target else self.name

    def facts(self) -> dict[str, tuple[float, float]]:
        """Facts known on both sides, as (old, new)."""
        return {name: (old, self.new_facts[name]) for name, old in self.old_facts.items() if name in self.new_facts}

    def metrics(self) -> dict[str, tuple[float, float]]:
        """Counted metrics and the compiler's facts, as (old, new)."""
        counted = dict(self.diff.metrics) if self.diff else {}
        return counted | self.facts()

    def metrics_by_kind(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Counted metrics as (old, new), apart for entry, fusions, loop bodies, branches and reductions."""
        return {kind: dict(metrics) for kind, metrics in self.diff.kinds.items()} if self.diff else {}

    def op_count_pairs(self) -> dict[str, tuple[int, int]]:
        """Op counts as (old, new), whichever sides there are."""
        if self.diff:
            return dict(self.diff.op_counts)
        there = {"added": (0, 1), "removed": (1, 0)}.get(self.status, (1, 1))
        return {name: (there[0] * count, there[1] * count) for name, count in self.op_counts.items()}


def flat_facts(summary: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a summary's `memory` and `cost` tables, as `memory.temp`.

    Example:
        >>> flat_facts({"memory": {"temp": 8, "alias": None}})
        {'memory.temp': 8}
    """
    found: dict[str, float] = {}
    for table in ("memory", "cost"):
        values = summary.get(table)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found[f"{table}.{name}"] = value
    return found
