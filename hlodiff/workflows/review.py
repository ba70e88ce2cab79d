"""Decisions on captures of an earlier `check`: how they are grouped, and what accepting would change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.config import Config, shown_path
from hlodiff.errors import StoreError
from hlodiff.report.report import Report, toolchain_changes
from hlodiff.snapshots import (
    Backup,
    Key,
    PendingRecord,
    back_up,
    digests,
    holding,
    restore,
    writing,
)
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
class _UndoStep:
    """One undo step.

    Args:
        decisions: how many decisions were made before it.
        backups: each set of files before the step, and the digests of these files after it.
    """

    decisions: int
    backups: list[tuple[Backup, Mapping[str, str]]] = field(default_factory=list)


@dataclass(slots=True)
class PendingReview:
    """Decisions on pending programs. Each is written to disk at once, and the last step can be undone.

    Args:
        config: the project's.
        root: the pending folder.
        freshness: knows what has changed since, and whether the folder is from another machine (then nothing in it is
            deleted).
        copies: a temporary folder for replaced or deleted files, kept while they may be restored.
        decisions: decisions so far.
    """

    config: Config
    root: Path
    freshness: Freshness
    copies: Path
    decisions: list[Decision] = field(default_factory=list)
    _steps: list[_UndoStep] = field(default_factory=list)

    def begin(self, decisions: int | None = None) -> None:
        """Begin an undo step; decisions up to the next step are undone together.

        Args:
            decisions: number of decisions before the step began; None for all so far.
        """
        self._steps.append(_UndoStep(len(self.decisions) if decisions is None else decisions))

    def undo(self) -> tuple[Key, ...]:
        """Undo the last step: restores snapshots and pending captures byte for byte.

        Returns:
            the programs and records accepted or rejected in it, which are pending again.

        Raises:
            StoreError: one of their files has changed since, so nothing was undone, or a folder cannot be written.
        """
        step = self._steps[-1]
        for backup, after in step.backups:
            if digests(backup.root, backup.key) != after:
                what = "has changed since it was decided on, so nothing is undone"
                raise StoreError(what, where=f"{backup.root}/{backup.key.folder}", hint="hlodiff check")
        own = pending_folder(self.config)
        waited = any(backup.root == own and any(backup.copies.iterdir()) for backup, _ in step.backups)
        with writing(shown_path(self.config.snapshots)), holding(own) if waited else nullcontext():
            for backup, _ in reversed(step.backups):
                restore(backup)
        self._steps.pop()
        undone = [one for one in self.decisions[step.decisions :] if one.status in ("accepted", "rejected")]
        del self.decisions[step.decisions :]
        return tuple(one.key for one in undone)

    @contextmanager
    def _undoable(self, key: Key) -> Iterator[None]:
        """Back up the files that a decision on one program or record replaces or deletes."""
        if not self._steps:  # settled before the first question
            yield
            return
        roots = (shown_path(self.config.snapshots), pending_folder(self.config))
        backups = [back_up(root, key, self.copies) for root in roots]
        try:
            yield
        finally:
            self._steps[-1].backups += [(one, digests(one.root, key)) for one in backups]

    def groups(self, programs: Sequence[PendingProgram]) -> list[tuple[str, list[PendingProgram]]]:
        """Programs by name. Unchanged ones come last, together under the name ""."""
        names: dict[str, list[PendingProgram]] = {}
        for one in programs:
            claimed = one.pending.kind == "facts"
            same_program = claimed and kind_of_program(self.config, one, base_of(self.config, one.key)) == "facts"
            names.setdefault("" if same_program else one.key.name, []).append(one)
        same = names.pop("", [])
        return [*names.items(), *([("", same)] if same else [])]

    def reject(self, selected: Iterable[tuple[Key, str]]) -> None:
        """Reject programs or records; a folder of another machine is not changed."""
        for key, own in selected:
            if self.freshness.foreign:
                self.decisions.append(Decision(key, "rejected", (), own))
            else:
                with self._undoable(key):
                    self.decisions.append(reject(key, self.root, own))

    def accept_record(self, one: PendingRecord) -> None:
        """Accept traces or growth."""
        with writing(shown_path(self.config.snapshots)), self._undoable(one.key):
            self.decisions.append(accept_record(self.config, one, pending_folder(self.config), self.freshness))

    def accept(self, group: Sequence[PendingProgram]) -> None:
        """Accept programs."""
        with writing(shown_path(self.config.snapshots)):
            for one in group:
                with self._undoable(one.key):
                    own = pending_folder(self.config)
                    self.decisions.append(accept_program(self.config, one, own, self.freshness))

    def ready(self, group: Sequence[PendingProgram]) -> list[PendingProgram]:
        """Programs that may be accepted. The others are settled, or refused with the reason."""
        ready = []
        for one in group:
            changes = self.freshness.refusal(one.key, one.pending.origin)
            if not changes and standing(one, base_of(self.config, one.key)) == "ready":
                ready.append(one)
            else:
                self.accept([one])  # reports it as recorded already, or refuses it as stale
        return ready

    def report(self, group: Sequence[PendingProgram]) -> Report:
        """The report of `check` for some programs."""
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
