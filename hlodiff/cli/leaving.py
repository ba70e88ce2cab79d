"""What `check` leaves for `review`, `accept` and `reject`: what it found and what is not recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hlodiff.capture import Discovery
from hlodiff.config import Config
from hlodiff.diff.compared import Compared
from hlodiff.errors import StoreError
from hlodiff.store import (
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
)
from hlodiff.store.pending import Kind
from hlodiff.store.yaml_text import dump

FOLDER = Path(".hlodiff", "pending")


def pending_folder(config: Config, given: Path | None = None) -> Path:
    """Where captured programs wait: the folder that was given, else the project's own.

    Example:
        >>> pending_folder(Config(Path("project"))).as_posix()
        'project/.hlodiff/pending'
    """
    return given if given is not None else config.root / FOLDER


@dataclass(slots=True)
class Leaving:
    """Keeps the pending folder as the run finds things. A folder that cannot be written is told, and no failure.

    Args:
        root: the pending folder.
        max_file_bytes: a program above this is stored compressed.
        trouble: why something could not be kept; "" where all went well.
        ids: what `accept` calls the traces and the growth that changed and are kept.
    """

    root: Path
    max_file_bytes: int
    trouble: str = ""
    ids: dict[Key, str] = field(default_factory=dict)

    def record(self, key: Key, table: Mapping[str, Any], old: str | None, changed: bool) -> None:
        """Keep traces or growth that differ from what is recorded, or forget them where they do not.

        Args:
            key: whose; "traces" or "growth" stands for the target.
            table: what would be recorded.
            old: the text of the record as it is, None where there is none.
            changed: whether somebody has to look at it; it has no id else.
        """
        if old is not None and dump(table) == old:
            self.forget_record(key)
            return
        try:
            own = keep_record(self.root, key, table, old)
        except StoreError as error:
            self._told(error)
            return
        if changed:
            self.ids[key] = own

    def forget_record(self, key: Key) -> None:
        """What an earlier check has left of these traces or this growth is not what is found now."""
        try:
            drop_record(self.root, key)
        except StoreError as error:
            self._told(error)

    def _told(self, error: StoreError) -> None:
        self.trouble = self.trouble or str(error).removesuffix(f"\nhint: {error.hint}")

    def compared(self, new: Snapshot, old: Snapshot | None, programs: tuple[Compared, ...]) -> tuple[Compared, ...]:
        """Keep a program that was captured and compared, or forget it where it is what is recorded.

        Args:
            new: what was captured.
            old: its snapshot; None where there is none.
            programs: both stages as they were compared.

        Returns:
            the same, with what `accept` calls the program where it is another one than the snapshot.
        """
        kind: Kind = "new" if old is None else "changed" if _is_changed(programs) else "facts"
        if old is not None and digest(old) == digest(new):
            self.forget(new.key)
            return programs
        try:
            keep_pending(self.root, new, old, kind, self.max_file_bytes)
        except StoreError as error:
            self._told(error)
            return programs
        # One of which only the figures differ is accepted along with others; nobody has to look at it.
        return programs if kind == "facts" else tuple(replace(one, id=program_id(new)) for one in programs)

    def forget(self, key: Key) -> None:
        """What an earlier check has left of this program is not what it compiles to now."""
        try:
            drop_pending(self.root, key)
        except StoreError as error:
            self._told(error)

    def forget_unregistered(self, discovery: Discovery) -> None:
        """Once everything was looked at: forget programs of functions that exist no more."""
        known = dict.fromkeys(Key(one.function, one.case, one.target) for one in discovery.requests())
        # Nobody knows the cases of a function whose cases could not be listed.
        unknown = {found.name for found in discovery.functions if found.problem}
        known_records = {Key(one.name, "", "traces") for one in discovery.scenarios}
        known_records |= {Key(found.name, case, "growth") for found in discovery.functions for case in found.grown}
        try:
            keys = list_snapshots(FolderTree(self.root)).keys
            records = list_records(FolderTree(self.root).files())
        except StoreError as error:
            self._told(error)
            return
        for key in records:
            if key not in known_records and key.function not in unknown:
                self.forget_record(key)
        for key in keys:
            if key not in known and key.function not in unknown:
                self.forget(key)

    def notes(self) -> tuple[str, ...]:
        """What must be said of the pending folder in the report."""
        return (f"not everything is left for `hlodiff accept`: {self.trouble}",) if self.trouble else ()


class LeavesNothing(Leaving):
    """Keeps nothing: for programs that are no registered function's, which `accept` knows nothing of."""

    def compared(self, new: Snapshot, old: Snapshot | None, programs: tuple[Compared, ...]) -> tuple[Compared, ...]:
        """The programs as they are."""
        return programs

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""

    def record(self, key: Key, table: Mapping[str, Any], old: str | None, changed: bool) -> None:
        """Nothing is kept."""

    def forget_record(self, key: Key) -> None:
        """There is nothing to forget."""


def _is_changed(programs: tuple[Compared, ...]) -> bool:
    return any(program.status == "changed" for program in programs)
