"""What `check` captured and is not accepted yet: whole snapshots outside the snapshots folder.

A pending folder is laid out like a snapshots folder. Each program's folder holds one file more, pending.json: what the
snapshot was that the program was compared with.
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
from hlodiff.snapshots.yaml_format import NEWER, FutureFormatError, dump

PENDING = "pending.json"
PENDING_VERSION = 1
OWN_FOLDER = (".hlodiff", "pending")
"""Where captures wait below a project's folder."""
Kind = Literal["new", "changed", "facts"]
KINDS: tuple[Kind, ...] = ("new", "changed", "facts")
_LARGEST_NOTE = 16 * 1024 * 1024  # 100 bytes for each file that was imported
_PATIENCE = 60  # seconds that another check may take to write one program
_PROGRAM_ID_DIGITS = 8  # 4 billion: two of 10,000 programs share one in a run out of a hundred, and then both are named


@dataclass(frozen=True, slots=True)
class Pending:
    """A captured program that waits for a decision.

    Args:
        snapshot: what accepting it would record.
        kind: "new" has no snapshot, "changed" is a different program, "facts" the same one with other figures or tools.
        base: digest of the snapshot that it was compared with; "" where there was none.
        origin: what it was captured from; None where the note, an older one, does not have it.
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
    """A hash of the content of a snapshot, however it is stored, without provenance.

    Args:
        snapshot: read from a folder, or made by a capture.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> digest(Snapshot("f", "", "cpu", {}))[:8]
        '3d7fd8cd'
    """
    parts = (snapshot.key.folder, dump(_plain(snapshot.summary)), snapshot.stablehlo, snapshot.compiled)
    return digest_of(parts)


def program_id(snapshot: Snapshot) -> str:
    """A short name for one captured program: equal wherever and whenever the same program is captured.

    Args:
        snapshot: what was captured.

    Returns:
        8 hexadecimal digits that depend on function, case, target and both programs.

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
    """Put a captured program where `accept` finds it, over what an earlier check has left there.

    Args:
        root: the pending folder; made where it does not exist, and ignored by git through a file of its own.
        snapshot: what was captured.
        base: the snapshot that it was compared with; None where there was none.
        kind: how the two differ.
        max_file_bytes: a program above this is stored compressed.
        origin: what it was captured from.

    Raises:
        StoreError: the folder cannot be written.
    """
    note = note_text(kind, digest(base) if base else "", origin)
    contents = contents_of(snapshot, max_file_bytes) | {PENDING: note.encode()}
    with holding(root), clear_errors(root):
        replace_folder(root, snapshot.key, contents)


def note_text(kind: str, base: str, origin: CaptureOrigin | None) -> str:
    """The text of pending.json: how a program or record differs from its base, and what it was captured from."""
    note: dict[str, object] = {"format_version": PENDING_VERSION, "kind": kind, "base": base}
    return json.dumps(note | ({"origin": to_plain(origin)} if origin else {}), ensure_ascii=False) + "\n"


@contextlib.contextmanager
def holding(root: Path) -> Iterator[None]:
    """The pending folder for one change: another check may be at work, and drops what a killed one has left."""
    with writing(root, wait=_PATIENCE):
        with clear_errors(root):
            ignored_by_git(root)
        yield


def drop_pending(root: Path, key: Key) -> None:
    """Delete what is pending for a program, if anything is.

    Args:
        root: the pending folder.
        key: which program.

    Raises:
        StoreError: it cannot be deleted.
    """
    if place_below(root, key.folder).is_dir():
        with holding(root):
            remove_snapshot(root, key, [PENDING])


def tidy_pending(root: Path) -> None:
    """Drop what a killed run left half written, and hlodiff's own pending folder where nothing waits in it.

    Args:
        root: the pending folder; one that somebody made elsewhere stays, also where it is empty.

    Raises:
        StoreError: the folder cannot be written.
    """
    if not root.is_dir():
        return
    with writing(root, wait=_PATIENCE):
        pass  # taking the folder drops what a killed run has left
    with contextlib.suppress(OSError):  # another check has just left something there
        if root.parts[-2:] == OWN_FOLDER and all(entry.name == ".gitignore" for entry in root.iterdir()):
            (root / ".gitignore").unlink(missing_ok=True)
            root.rmdir()
            root.parent.rmdir()


def read_pending(tree: Tree, key: Key) -> Pending:
    """Read one pending program, as somebody else may have written it.

    Args:
        tree: the pending folder.
        key: which one.

    Returns:
        the program; its texts are not parsed yet.

    Raises:
        StoreError: a file is missing, damaged, too large, or of a format of the future, or its summary is about
            another program than its folder.
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
        StoreError: it is missing, damaged, or of a format of the future.
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
    """What a pending program or record was captured from; None where its note does not say.

    Raises:
        StoreError: the note is missing, damaged, or of a format of the future.
    """
    name = record_note(record_path(key)) if key.target in RECORDS else f"{key.folder}/{PENDING}"
    return read_note(tree, name, f"hlodiff check {key.name}").origin


def _plain(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """A summary without what depends on how its files are stored."""
    return {name: value for name, value in summary.items() if name != "compressed"}


def digest_of(parts: tuple[str, ...]) -> str:
    """A hash of several texts, which none of them alone has.

    Example:
        >>> digest_of(("a", "b")) == digest_of(("ab",))
        False
    """
    return sha256("\0".join(parts).encode()).hexdigest()


_RECORD_ID_DIGITS = 8


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """A record that waits for a decision.

    Args:
        key: function or scenario and case; the target is "traces" or "growth".
        text: the file that accepting it would write; it is untrusted.
        base: digest of the record that it was compared with; "" where there was none.
        origin: what it was captured from; None where the note does not have it.
    """

    key: Key
    text: str
    base: str
    origin: CaptureOrigin | None = None

    @property
    def id(self) -> str:
        """What `accept` calls it."""
        return record_id(self.key, self.text)


def record_id(key: Key, text: str) -> str:
    """A short name for what was found: equal wherever and whenever the same is found.

    Example:
        >>> record_id(Key("steps", "", "traces"), "format_version: 1")
        '5652ac31'
    """
    return digest_of((key.folder, text))[:_RECORD_ID_DIGITS]


def keep_record(
    root: Path, key: Key, table: Mapping[str, Any], base: str | None, origin: CaptureOrigin | None = None
) -> str:
    """Put what was found where `accept` finds it, over what an earlier check has left there.

    Args:
        root: the pending folder; made where it does not exist.
        key: which record.
        table: what it would hold.
        base: the text of the record that it was compared with, as `recorded_text` gives it; None where there was none.
        origin: what it was captured from.

    Returns:
        what `accept` calls it.

    Raises:
        StoreError: the folder cannot be written.
    """
    text, name = dump(table), record_path(key)
    note = note_text("changed" if base is not None else "new", record_digest(base), origin)
    with holding(root):
        with clear_errors(root):
            # A record without a note is refused, an old note with a new record would be believed.
            place_below(root, record_note(name)).unlink(missing_ok=True)
        replace_file(root, name, text.encode())
        replace_file(root, record_note(name), note.encode())
    return record_id(key, text)


def record_digest(text: str | None) -> str:
    """A hash of a record, "" of none.

    Example:
        >>> record_digest(None), len(record_digest("format_version: 1"))
        ('', 64)
    """
    return "" if text is None else digest_of((text,))


def drop_record(root: Path, key: Key) -> None:
    """Delete what is pending of a record, if anything is, and the folders that it leaves empty.

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
    """Read one pending record, as somebody else may have written it.

    Args:
        tree: the pending folder.
        key: which one.

    Returns:
        the record; its text is YAML and written as hlodiff writes YAML; its content is not checked yet.

    Raises:
        StoreError: a file is missing, damaged, too large, or of a format of the future.
    """
    name = record_path(key)
    note = read_note(tree, record_note(name), f"hlodiff check {key.name}")
    text = recorded_text(tree, key)
    if text is None or text.encode() != tree.read([name], LARGEST_RECORD).get(name):
        raise StoreError("is not as hlodiff writes it", where=f"{tree.where}/{name}", hint=f"hlodiff check {key.name}")
    return PendingRecord(key, text, note.base, note.origin)


def record_note(name: str) -> str:
    """The note beside a pending record, which says what it was compared with.

    Example:
        >>> record_note("steps/traces.yaml")
        'steps/traces.pending.json'
    """
    return f"{name.removesuffix('.yaml')}.{PENDING}"


# --- What a pending program or record was captured from, so that one that is out of date is not accepted.


@dataclass(frozen=True, slots=True)
class CaptureOrigin:
    """What a capture depends on.

    Args:
        files: the project's files that were imported, relative to its folder with `/`, each with a hash of its content.
        settings: keys of the configuration that decide what is captured, each with a hash of its value.
        packages: installed packages with their versions: what the programs were compiled with.

    Example:
        >>> CaptureOrigin({"model.py": "5f0c"}).packages
        {}
    """

    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


# The most entries of each: all are held against what is here, which takes a millisecond for a package.
_PARTS = {"files": 50_000, "settings": 1_000, "packages": 1_000}


def to_plain(origin: CaptureOrigin) -> dict[str, dict[str, str]]:
    """The origin as JSON takes it."""
    return {name: dict(sorted(table.items())) for name, table in asdict(origin).items()}


def from_plain(value: object) -> CaptureOrigin:
    """The origin in an untrusted JSON value.

    Raises:
        ValueError: it is none.

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
