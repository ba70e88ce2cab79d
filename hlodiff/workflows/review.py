"""Deciding on what an earlier `check` captured: what belongs together, and what accepting it would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.config import Config, shown_path
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.snapshots import Key, PendingRecord, writing
from hlodiff.workflows.accept import Decision, accept_program, accept_record, reject
from hlodiff.workflows.pending import (
    PendingProgram,
    base_of,
    compare_pending,
    kind_of_program,
    standing,
)
from hlodiff.workflows.pending_writer import pending_folder
from hlodiff.workflows.source_lines import of_snapshots
from hlodiff.workflows.staleness import Freshness


@dataclass(slots=True)
class PendingReview:
    """Decisions on pending programs.

    Args:
        config: the project's.
        root: the folder they lie in.
        freshness: knows what has changed since, and whether that folder is another machine's, from which nothing goes.
        decisions: what was decided so far.
    """

    config: Config
    root: Path
    freshness: Freshness
    decisions: list[Decision] = field(default_factory=list)

    def groups(self, programs: Sequence[PendingProgram]) -> list[tuple[str, list[PendingProgram]]]:
        """Programs by name; those that are the same as before come last, all together under the name ""."""
        names: dict[str, list[PendingProgram]] = {}
        for one in programs:
            claimed = one.pending.kind == "facts"
            same_program = claimed and kind_of_program(self.config, one, base_of(self.config, one.key)) == "facts"
            names.setdefault("" if same_program else one.key.name, []).append(one)
        same = names.pop("", [])
        return [*names.items(), *([("", same)] if same else [])]

    def reject(self, selected: Iterable[tuple[Key, str]]) -> None:
        """Reject programs or records; another machine's folder stays as it is."""
        self.decisions += [
            Decision(key, "rejected", (), own) if self.freshness.foreign else reject(key, self.root, own)
            for key, own in selected
        ]

    def accept_record(self, one: PendingRecord) -> None:
        """Accept traces or growth."""
        with writing(shown_path(self.config.snapshots)):
            self.decisions.append(accept_record(self.config, one, pending_folder(self.config), self.freshness))

    def accept(self, group: Sequence[PendingProgram]) -> None:
        """Accept programs."""
        with writing(shown_path(self.config.snapshots)):
            own = pending_folder(self.config)
            self.decisions += [accept_program(self.config, one, own, self.freshness) for one in group]

    def ready(self, group: Sequence[PendingProgram]) -> list[PendingProgram]:
        """Those that may be accepted; the others are settled or refused with the reason."""
        ready = []
        for one in group:
            changes = self.freshness.refusal(one.key, one.pending.origin)
            if not changes and standing(one, base_of(self.config, one.key)) == "ready":
                ready.append(one)
            else:
                self.accept([one])  # settles what is recorded already, refuses what is stale
        return ready

    def report(self, group: Sequence[PendingProgram]) -> Report:
        """What some programs change, as `check` reports it."""
        compared = [compare_pending(self.config, one, base_of(self.config, one.key)) for one in group]
        return Report(
            command="check",
            old=str(shown_path(self.config.snapshots)),
            new=str(shown_path(self.root)),
            programs=tuple(program for each in compared for program in each.programs),
            toolchain=toolchain_changes(pair for each in compared for pair in each.toolchains),
            root=str(self.config.root),
            threshold=self.config.relevance_threshold,
            source_line=of_snapshots(self.config.root, self.config.snapshots),
        )
