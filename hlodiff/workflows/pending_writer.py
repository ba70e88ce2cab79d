"""Keeps captures that differ from their snapshots, for `review` and `accept`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hlodiff.capture import Discovery, Inputs
from hlodiff.config import Config
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import StoreError
from hlodiff.snapshots import (
    OWN_FOLDER,
    RECORDS,
    CaptureOrigin,
    FolderTree,
    Key,
    Snapshot,
    digest,
    drop_pending,
    drop_record,
    keep_pending,
    keep_record,
    list_records,
    list_snapshots,
    program_id,
    tidy_pending,
)
from hlodiff.snapshots.pending import Kind, read_origin
from hlodiff.snapshots.yaml_format import dump_yaml
from hlodiff.workflows.staleness import Freshness

FOLDER = Path(*OWN_FOLDER)


def pending_folder(config: Config, given: Path | None = None) -> Path:
    """The pending folder: the given one, else the project's own.

    Example:
        >>> pending_folder(Config(Path("project"))).as_posix()
        'project/.hlodiff/pending'
    """
    return given if given is not None else config.root / FOLDER


@dataclass(slots=True)
class PendingWriter:
    """Writes the pending folder as the run goes. A folder that cannot be written is a note, not a failure.

    Args:
        root: the pending folder.
        max_file_bytes: a program above this is stored compressed.
        settings: the configuration that affects captures.
        problem: why something could not be kept; "" if there was no problem.
        ids: ids for `accept` of the changed traces and growth that are kept.
        dropped: outdated captures of an earlier check that were dropped.
    """

    root: Path
    max_file_bytes: int
    settings: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    ids: dict[Key, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    def record(self, key: Key, table: Mapping[str, Any], old: str | None, changed: bool, inputs: Inputs) -> None:
        """Keep traces or growth that differ from their record; drop them if they do not differ.

        Args:
            key: key of the record; its target is "traces" or "growth".
            table: content that accepting would record.
            old: the current text of the record; None if there is none.
            changed: whether it needs a decision; only then it gets an id.
            inputs: inputs of the capture.
        """
        if old is not None and dump_yaml(table) == old:
            self.forget_record(key)
            return
        try:
            own = keep_record(self.root, key, table, old, self._origin(inputs))
        except StoreError as error:
            self._keep_problem(error)
            return
        if changed:
            self.ids[key] = own

    def forget_record(self, key: Key) -> None:
        """Drop pending traces or growth of an earlier check."""
        try:
            drop_record(self.root, key)
        except StoreError as error:
            self._keep_problem(error)

    def _origin(self, inputs: Inputs) -> CaptureOrigin:
        return CaptureOrigin(inputs.files, self.settings, inputs.packages)

    def _keep_problem(self, error: StoreError) -> None:
        self.problem = self.problem or str(error).replace(f"{Path.cwd()}/", "")

    def compared(
        self, new: Snapshot, old: Snapshot | None, programs: tuple[ProgramComparison, ...], inputs: Inputs
    ) -> tuple[ProgramComparison, ...]:
        """Keep a captured program; drop it if it equals its snapshot.

        Args:
            new: the captured program.
            old: its snapshot; None if there is none.
            programs: both stages, compared.
            inputs: inputs of the capture.

        Returns:
            `programs`, with the id for `accept` if the program differs from the snapshot.
        """
        is_changed = any(program.status == "changed" for program in programs)
        kind: Kind = "new" if old is None else "changed" if is_changed else "facts"
        if old is not None and (old is new or digest(old) == digest(new)):
            self.forget(new.key)
            return programs
        try:
            keep_pending(self.root, new, old, kind, self.max_file_bytes, self._origin(inputs))
        except StoreError as error:
            self._keep_problem(error)
            return programs
        # A program that differs only in figures or paths needs no decision; it is accepted along with others.
        return programs if kind == "facts" else tuple(replace(one, id=program_id(new)) for one in programs)

    def forget(self, key: Key) -> None:
        """Drop the pending program of an earlier check."""
        try:
            drop_pending(self.root, key)
        except StoreError as error:
            self._keep_problem(error)

    def forget_unregistered(self, discovery: Discovery) -> None:
        """Drop programs of functions that are no longer registered, after a complete run."""
        known = dict.fromkeys(Key(one.function, one.case, one.target) for one in discovery.requests())
        # The cases of a function with a problem are unknown.
        unknown = {found.name for found in discovery.functions if found.problem}
        known_records = {Key(one.name, "", "traces") for one in discovery.scenarios}
        known_records |= {Key(found.name, case, "growth") for found in discovery.functions for case in found.grown}
        try:
            keys = list_snapshots(FolderTree(self.root)).keys
            records = list_records(FolderTree(self.root).files())
        except StoreError as error:
            self._keep_problem(error)
            return
        for key in records:
            if key not in known_records and key.function not in unknown:
                self.forget_record(key)
        for key in keys:
            if key not in known and key.function not in unknown:
                self.forget(key)

    def tidy(self) -> None:
        """Remove what a killed run left half written, and hlodiff's own pending folder if it is empty."""
        try:
            tidy_pending(self.root)
        except StoreError as error:
            self._keep_problem(error)

    def forget_stale(self, config: Config) -> None:
        """Drop captures whose files, configuration or toolchain have changed."""
        try:
            stale = stale_pending(self.root, Freshness(config))
        except StoreError as error:
            self._keep_problem(error)
            return
        for key in stale:
            (self.forget_record if key.target in RECORDS else self.forget)(key)
        self.dropped = tuple(f"{key.name} on {key.target}" for key in stale)

    def notes(self) -> tuple[str, ...]:
        """Report notes on the pending folder."""
        names, more = self.dropped[:3], len(self.dropped) - 3
        words = f"{', '.join(names)}{f' and {more} more' if more > 0 else ''}"
        dropped = (f"no longer pending, because what it was captured from has changed: {words}",) if names else ()
        return (*dropped, *((f"not everything is left for `hlodiff accept`: {self.problem}",) if self.problem else ()))


class NullPendingWriter(PendingWriter):
    """Keeps nothing; for runs that only lower, and for programs of tests."""

    def compared(
        self, new: Snapshot, old: Snapshot | None, programs: tuple[ProgramComparison, ...], inputs: Inputs
    ) -> tuple[ProgramComparison, ...]:
        """Return the programs unchanged."""
        return programs

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""

    def tidy(self) -> None:
        """Nothing to tidy."""

    def forget_stale(self, config: Config) -> None:
        """There is nothing to forget."""

    def record(self, key: Key, table: Mapping[str, Any], old: str | None, changed: bool, inputs: Inputs) -> None:
        """Keep nothing."""

    def forget_record(self, key: Key) -> None:
        """There is nothing to forget."""


def stale_pending(root: Path, freshness: Freshness) -> tuple[Key, ...]:
    """Outdated keys of a pending folder. Unreadable ones are left for `accept` to report.

    Args:
        root: the pending folder.
        freshness: compares captures with the project as it is now.
    """
    tree = FolderTree(root)
    found = []
    for key in (*list_snapshots(tree).keys, *list_records(tree.files())):
        try:
            origin = read_origin(tree, key)
        except StoreError:
            continue
        if freshness.refusal(key, origin):
            found.append(key)
    return tuple(found)
