"""Captures of `check` that are not accepted yet: whole snapshots outside the snapshots folder.

A pending folder has the layout of a snapshots folder. Each program's folder has one more file, pending.json: the
snapshot that the program was compared with.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import Key
from hlodiff.snapshots.paths import place_below
from hlodiff.snapshots.read import Snapshot, read_snapshot
from hlodiff.snapshots.records import LARGEST_RECORD, RECORDS, record_path, recorded_text
from hlodiff.snapshots.trees import Tree
from hlodiff.snapshots.write import (
    MAX_FILE_BYTES,
    clear_errors,
    contents_of,
    ignored_by_git,
    remove_empty,
    remove_snapshot,
    replace_file,
    replace_folder,
    writing,
)
from hlodiff.snapshots.yaml_format import NEWER, FutureFormatError, dump_yaml

PENDING = "pending.json"
PENDING_VERSION = 1
OWN_FOLDER = (".hlodiff", "pending")
"""Folder of pending captures below a project's folder."""
Kind = Literal["new", "changed", "facts"]
KINDS: tuple[Kind, ...] = ("new", "changed", "facts")
_LARGEST_NOTE = 16 * 1024 * 1024  # 100 bytes for each imported file
_PATIENCE = 60  # seconds that another check may take to write one program
_PROGRAM_ID_DIGITS = 8  # 4 billion: two of 10,000 programs share one in a run out of a hundred, and then both are named


@dataclass(frozen=True, slots=True)
class Pending:
    """A captured program that is pending a decision.

    Args:
        snapshot: the snapshot that accepting it would record.
        kind: "new" has no snapshot, "changed" is a different program, "facts" the same with other facts in its summary.
        base: digest of the snapshot that it was compared with; "" if there was none.
        origin: the inputs of the capture; None if an older note lacks them.
    """

    snapshot: Snapshot
    kind: Kind
    base: str
    origin: CaptureOrigin | None = None

    @property
    def key(self) -> Key:
        """Function, case and target."""
        return self.snapshot.key


def digest(snapshot: Snapshot) -> str:
    """A hash of the content of a snapshot without provenance, independent of how it is stored.

    Args:
        snapshot: read from a folder, or made by a capture.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> digest(Snapshot("f", "", "cpu", {}))[:8]
        '3d7fd8cd'
    """
    parts = (snapshot.key.folder, dump_yaml(_plain(snapshot.summary)), snapshot.stablehlo, snapshot.compiled)
    return digest_of(parts)


def program_id(snapshot: Snapshot) -> str:
    """A short id of one captured program, equal wherever and whenever the same program is captured.

    Args:
        snapshot: the captured program.

    Returns:
        8 hexadecimal digits that depend on function, case, target and the programs of both stages.

    Example:
        >>> len(program_id(Snapshot("f", "", "cpu", {})))
        8
    """
    return digest_of((snapshot.key.folder, snapshot.stablehlo, snapshot.compiled))[:_PROGRAM_ID_DIGITS]


def keep_pending(
    root: Path,
    snapshot: Snapshot,
    base: Snapshot | None,
    kind: Kind,
    max_file_bytes: int = MAX_FILE_BYTES,
    origin: CaptureOrigin | None = None,
) -> None:
    """Store a captured program for `accept`, replacing the result of an earlier check.

    Args:
        root: the pending folder; created if needed, and ignored by git through a file of its own.
        snapshot: the captured program.
        base: the snapshot that it was compared with; None if there was none.
        kind: how the two differ.
        max_file_bytes: larger programs are stored compressed.
        origin: the inputs of the capture.

    Raises:
        StoreError: the folder cannot be written.
    """
    note = note_text(kind, digest(base) if base else "", origin)
    contents = contents_of(snapshot, max_file_bytes) | {PENDING: note.encode()}
    with holding(root), clear_errors(root):
        replace_folder(root, snapshot.key, contents)


def note_text(kind: str, base: str, origin: CaptureOrigin | None) -> str:
    """The text of pending.json: how a program or record differs from its base, and the inputs of its capture."""
    note: dict[str, object] = {"format_version": PENDING_VERSION, "kind": kind, "base": base}
    return json.dumps(note | ({"origin": to_plain(origin)} if origin else {}), ensure_ascii=False) + "\n"


@contextlib.contextmanager
def holding(root: Path) -> Iterator[None]:
    """Hold the pending folder for one change: another check may be running, and deletes leftovers of killed runs."""
    with writing(root, wait=_PATIENCE):
        with clear_errors(root):
            ignored_by_git(root)
        yield


def drop_pending(root: Path, key: Key) -> None:
    """Delete the pending files of a program, if there are any.

    Args:
        root: the pending folder.
        key: the program.

    Raises:
        StoreError: it cannot be deleted.
    """
    if place_below(root, key.folder).is_dir():
        with holding(root):
            remove_snapshot(root, key, [PENDING])


def tidy_pending(root: Path) -> None:
    """Delete incomplete files of killed runs, and hlodiff's own pending folder if nothing is pending.

    Args:
        root: the pending folder; one that the user created elsewhere is kept, even if it is empty.

    Raises:
        StoreError: the folder cannot be written.
    """
    if not root.is_dir():
        return
    with writing(root, wait=_PATIENCE):
        pass  # entering the folder deletes leftovers of a killed run
    with contextlib.suppress(OSError):  # another check has just written something there
        if root.parts[-2:] == OWN_FOLDER and all(entry.name == ".gitignore" for entry in root.iterdir()):
            (root / ".gitignore").unlink(missing_ok=True)
            root.rmdir()
            root.parent.rmdir()


def read_pending(tree: Tree, key: Key) -> Pending:
    """Read one untrusted pending program.

    Args:
        tree: the pending folder.
        key: the program.

    Returns:
        the program; its texts are not parsed yet.

    Raises:
        StoreError: a file is missing, damaged, too large, or in a newer format, or its summary names another program
            than its folder.
    """
    note = read_note(tree, f"{key.folder}/{PENDING}", (f"hlodiff check {key.name} --target {key.target}"))
    snapshot = read_snapshot(tree, key)
    named = tuple(snapshot.summary.get(name, "") for name in ("function", "case", "target"))
    if named != (key.function, key.case, key.target):
        what = f"its summary is about {'/'.join(str(part)[:100] for part in named if part)}, not about {key.folder}"
        hint = "give the folder that holds a folder for each function"
        raise StoreError(what, where=f"{tree.where}/{key.folder}", hint=hint)
    return Pending(replace(snapshot, summary=_plain(snapshot.summary)), note.kind, note.base, note.origin)


@dataclass(frozen=True, slots=True)
class Note:
    """The content of a pending.json, see `Pending`."""

    kind: Kind
    base: str
    origin: CaptureOrigin | None


def read_note(tree: Tree, name: str, again: str) -> Note:
    """Read an untrusted note.

    Args:
        tree: the pending folder.
        name: the note.
        again: the command that writes it again.

    Raises:
        StoreError: it is missing, damaged, or in a newer format.
    """
    where = f"{tree.where}/{name}"
    content = tree.read([name], _LARGEST_NOTE).get(name)
    if content is None:
        hint = "give the folder that `hlodiff check` left in .hlodiff/pending or in the folder that --pending named"
        raise StoreError("is missing, so what this was compared with is unknown", where=where, hint=hint)
    try:
        note = json.loads(content)
    except (ValueError, RecursionError):
        raise StoreError("is not JSON", where=where, hint=again) from None
    version = note.get("format_version") if isinstance(note, dict) else None
    if isinstance(version, int) and version > PENDING_VERSION:
        raise FutureFormatError("was written by a newer hlodiff", where=where, hint=NEWER)
    try:
        if version != PENDING_VERSION or note["kind"] not in KINDS or not isinstance(note["base"], str):
            raise ValueError("not a note")
        return Note(note["kind"], note["base"], from_plain(note["origin"]) if "origin" in note else None)
    except (KeyError, TypeError, ValueError):
        raise StoreError("does not hold what hlodiff writes there", where=where, hint=again) from None


def read_origin(tree: Tree, key: Key) -> CaptureOrigin | None:
    """The inputs that a pending program or record was captured from; None if its note lacks them.

    Raises:
        StoreError: the note is missing, damaged, or in a newer format.
    """
    name = record_note(record_path(key)) if key.target in RECORDS else f"{key.folder}/{PENDING}"
    return read_note(tree, name, f"hlodiff check {key.name}").origin


def _plain(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """A summary without values that depend on how its files are stored."""
    return {name: value for name, value in summary.items() if name != "compressed"}


def digest_of(parts: tuple[str, ...]) -> str:
    """A hash of several texts that also depends on where one ends and the next begins.

    Example:
        >>> digest_of(("a", "b")) == digest_of(("ab",))
        False
    """
    return sha256("\0".join(parts).encode()).hexdigest()


_RECORD_ID_DIGITS = 8


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """A record that is pending a decision.

    Args:
        key: function or scenario and case; the target is "traces" or "growth".
        text: the file that accepting it would write; it is untrusted.
        base: digest of the record that it was compared with; "" if there was none.
        origin: the inputs of the capture; None if the note lacks them.
    """

    key: Key
    text: str
    base: str
    origin: CaptureOrigin | None = None

    @property
    def id(self) -> str:
        """The id that `accept` takes."""
        return record_id(self.key, self.text)


def record_id(key: Key, text: str) -> str:
    """A short id of the result, equal wherever and whenever the result is the same.

    Example:
        >>> record_id(Key("steps", "", "traces"), "format_version: 1")
        '5652ac31'
    """
    return digest_of((key.folder, text))[:_RECORD_ID_DIGITS]


def keep_record(
    root: Path, key: Key, table: Mapping[str, Any], base: str | None, origin: CaptureOrigin | None = None
) -> str:
    """Store a result for `accept`, replacing that of an earlier check.

    Args:
        root: the pending folder; created if needed.
        key: the record.
        table: its content.
        base: the text of the record that it was compared with, from `recorded_text`; None if there was none.
        origin: the inputs of the capture.

    Returns:
        the id that `accept` takes.

    Raises:
        StoreError: the folder cannot be written.
    """
    text, name = dump_yaml(table), record_path(key)
    note = note_text("changed" if base is not None else "new", record_digest(base), origin)
    with holding(root):
        with clear_errors(root):
            # A record without a note is refused; a new record with an old note would be believed.
            place_below(root, record_note(name)).unlink(missing_ok=True)
        replace_file(root, name, text.encode())
        replace_file(root, record_note(name), note.encode())
    return record_id(key, text)


def record_digest(text: str | None) -> str:
    """A hash of a record; "" if there is none.

    Example:
        >>> record_digest(None), len(record_digest("format_version: 1"))
        ('', 64)
    """
    return "" if text is None else digest_of((text,))


def drop_record(root: Path, key: Key) -> None:
    """Delete the pending files of a record, if there are any, and the folders that this leaves empty.

    Raises:
        StoreError: it cannot be deleted.
    """
    path = place_below(root, record_path(key))
    note = place_below(root, record_note(record_path(key)))
    if not (os.path.lexists(path) or os.path.lexists(note)):
        return
    with holding(root), clear_errors(root):
        path.unlink(missing_ok=True)
        note.unlink(missing_ok=True)
        remove_empty(root, path.parent)


def read_record(tree: Tree, key: Key) -> PendingRecord:
    """Read one untrusted pending record.

    Args:
        tree: the pending folder.
        key: the record.

    Returns:
        the record; its text is YAML in hlodiff's format, and its content is not checked yet.

    Raises:
        StoreError: a file is missing, damaged, too large, or in a newer format.
    """
    name = record_path(key)
    note = read_note(tree, record_note(name), f"hlodiff check {key.name}")
    text = recorded_text(tree, key)
    if text is None or text.encode() != tree.read([name], LARGEST_RECORD).get(name):
        raise StoreError("is not as hlodiff writes it", where=f"{tree.where}/{name}", hint=f"hlodiff check {key.name}")
    return PendingRecord(key, text, note.base, note.origin)


def record_note(name: str) -> str:
    """The path of the note beside a pending record, which identifies what it was compared with.

    Example:
        >>> record_note("steps/traces.yaml")
        'steps/traces.pending.json'
    """
    return f"{name.removesuffix('.yaml')}.{PENDING}"


# --- The inputs of a pending program or record, so that an outdated one is not accepted.


@dataclass(frozen=True, slots=True)
class CaptureOrigin:
    """The inputs that a capture depends on.

    Args:
        files: the project's imported files, relative to its folder with `/`, each with a hash of its content.
        settings: configuration keys that affect captures, each with a hash of its value.
        packages: installed packages with the versions that the programs were compiled with.

    Example:
        >>> CaptureOrigin({"model.py": "5f0c"}).packages
        {}
    """

    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


# Maximum number of entries of each: all are compared with this machine, which takes a millisecond per package.
_PARTS = {"files": 50_000, "settings": 1_000, "packages": 1_000}


def to_plain(origin: CaptureOrigin) -> dict[str, dict[str, str]]:
    """The origin as a JSON value."""
    return {name: dict(sorted(table.items())) for name, table in asdict(origin).items()}


def from_plain(value: object) -> CaptureOrigin:
    """Read the origin from an untrusted JSON value.

    Raises:
        ValueError: the value is malformed.

    Example:
        >>> from_plain({"files": {}, "settings": {"x64": "00ff"}, "packages": {}}).settings
        {'x64': '00ff'}
    """
    if not isinstance(value, dict) or not all(_is_table(value.get(name), most) for name, most in _PARTS.items()):
        raise ValueError("not what a capture depends on")
    return CaptureOrigin(*(value[name] for name in _PARTS))


def _is_table(value: object, most: int) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= most
        and all(isinstance(each, str) for pair in value.items() for each in pair)
    )
