"""Copies of the current files of one program or record, so that a decision can be undone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import Key
from hlodiff.snapshots.paths import place_below
from hlodiff.snapshots.pending import PENDING, record_note
from hlodiff.snapshots.records import RECORDS, record_path
from hlodiff.snapshots.write import clear_errors, remove_empty, remove_snapshot, replace_file, replace_folder


@dataclass(frozen=True, slots=True)
class Backup:
    """The files of a program or record below one folder.

    Args:
        root: the snapshots folder or the pending folder.
        key: the program or record.
        copies: the folder with the copies; empty if there were no files.
    """

    root: Path
    key: Key
    copies: Path


def back_up(root: Path, key: Key, into: Path) -> Backup:
    """Copy the files of a program or record.

    Args:
        root: the snapshots folder or the pending folder; neither it nor the files need exist.
        key: a program, or a record (its target is "traces" or "growth").
        into: a folder for copies, which must live as long as the backup is needed.

    Raises:
        StoreError: a file cannot be read, or is behind a link.
    """
    with clear_errors(root):
        copies = Path(tempfile.mkdtemp(dir=into))
        for name, file in _files(root, key).items():
            shutil.copyfile(file, copies / name)
    return Backup(root, key, copies)


def digests(root: Path, key: Key) -> Mapping[str, str]:
    """A hash of each file of a program or record by name, to detect changes between two moments.

    Example:
        >>> digests(Path("no such folder"), Key("f", "", "cpu"))
        {}
    """
    with clear_errors(root):
        return {name: sha256(file.read_bytes()).hexdigest() for name, file in _files(root, key).items()}


def restore(backup: Backup) -> None:
    """Restore the files; files that did not exist are deleted. Call it while holding the folder.

    Raises:
        StoreError: the folder cannot be written.
    """
    root, key = backup.root, backup.key
    contents = {file.name: file.read_bytes() for file in sorted(backup.copies.iterdir())}
    if key.target not in RECORDS:
        if not contents:
            remove_snapshot(root, key, [PENDING])
            return
        with clear_errors(root):
            replace_folder(root, key, contents)
        return
    folder = record_path(key).rpartition("/")[0]
    for name, content in contents.items():
        replace_file(root, f"{folder}/{name}", content)
    with clear_errors(root):
        for name, file in _files(root, key).items():
            if name not in contents:
                file.unlink(missing_ok=True)
        remove_empty(root, place_below(root, folder))


def _files(root: Path, key: Key) -> dict[str, Path]:
    """The regular files in a program's folder, or the file of a record and its note."""
    if key.target in RECORDS:
        name = record_path(key)
        places = [place_below(root, one) for one in (name, record_note(name))]
    else:
        folder = place_below(root, key.folder)
        places = sorted(folder.iterdir()) if folder.is_dir() else []
    if any(place.is_symlink() for place in places):
        raise StoreError("holds a link, where files belong", where=str(root / key.folder))
    return {place.name: place for place in places if place.is_file()}
