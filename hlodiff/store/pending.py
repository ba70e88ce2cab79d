"""What `check` captured and nobody has accepted yet: whole snapshots outside the snapshots folder.

A pending folder is laid out like a snapshots folder. Each program's folder holds one file more, pending.json: what the
snapshot was that the program was compared with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from hlodiff.errors import StoreError
from hlodiff.store.names import Key
from hlodiff.store.snapshot import Snapshot, read_snapshot
from hlodiff.store.trees import Tree
from hlodiff.store.writing import MAX_FILE_BYTES, clear_errors, contents_of, remove_snapshot, replace_folder
from hlodiff.store.yaml_text import FutureFormatError, dump

PENDING = "pending.json"
PENDING_VERSION = 1
Kind = Literal["new", "changed", "facts"]
KINDS: tuple[Kind, ...] = ("new", "changed", "facts")
_LARGEST_NOTE = 4096
_ID_DIGITS = 8  # 4 billion: two of 10,000 programs share one in a run out of a hundred, and then both are named


@dataclass(frozen=True, slots=True)
class Pending:
    """A captured program that waits for a decision.

    Args:
        snapshot: what accepting it would record.
        kind: "new" has no snapshot, "changed" is another program, "facts" the same with another toolchain or figures.
        base: digest of the snapshot that it was compared with; "" where there was none.
    """

    snapshot: Snapshot
    kind: Kind
    base: str

    @property
    def key(self) -> Key:
        """Function, case and target."""
        return self.snapshot.key


def digest(snapshot: Snapshot) -> str:
    """A hash of everything that a snapshot says, however it is stored; provenance is left out.

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
    return digest_of((snapshot.key.folder, snapshot.stablehlo, snapshot.compiled))[:_ID_DIGITS]


def keep_pending(
    root: Path, snapshot: Snapshot, base: Snapshot | None, kind: Kind, max_file_bytes: int = MAX_FILE_BYTES
) -> None:
    """Put a captured program where `accept` finds it, over what an earlier check has left there.

    Args:
        root: the pending folder; made where it does not exist, and ignored by git through a file of its own.
        snapshot: what was captured.
        base: the snapshot that it was compared with; None where there was none.
        kind: how the two differ.
        max_file_bytes: a program above this is stored compressed.

    Raises:
        StoreError: the folder cannot be written.
    """
    note = {"format_version": PENDING_VERSION, "kind": kind, "base": digest(base) if base else ""}
    contents = contents_of(snapshot, max_file_bytes) | {PENDING: json.dumps(note).encode() + b"\n"}
    with clear_errors(root):
        ignored_by_git(root)
        replace_folder(root, snapshot.key, contents)


def ignored_by_git(root: Path) -> None:
    """Make the pending folder where there is none; git ignores it through a file of its own."""
    if not (root / ".gitignore").is_file():
        root.mkdir(parents=True, exist_ok=True)
        (root / ".gitignore").write_text("*\n")


def drop_pending(root: Path, key: Key) -> None:
    """Delete what is pending for a program, if anything is.

    Args:
        root: the pending folder.
        key: which program.

    Raises:
        StoreError: it cannot be deleted.
    """
    remove_snapshot(root, key, [PENDING])


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
    kind, base = _note(tree, f"{key.folder}/{PENDING}", _again(key))
    snapshot = read_snapshot(tree, key)
    named = tuple(snapshot.summary.get(name, "") for name in ("function", "case", "target"))
    if named != (key.function, key.case, key.target):
        what = f"its summary is about {'/'.join(str(part)[:100] for part in named if part)}, not about {key.folder}"
        hint = "give the folder that holds a folder for each function"
        raise StoreError(what, where=f"{tree.where}/{key.folder}", hint=hint)
    return Pending(replace(snapshot, summary=_plain(snapshot.summary)), kind, base)


def base_in(tree: Tree, name: str, again: str) -> str:
    """The digest in a note that nobody has vouched for.

    Args:
        tree: the pending folder.
        name: the note.
        again: the command that writes it anew.

    Raises:
        StoreError: it is missing, damaged, or of a format of the future.
    """
    return _note(tree, name, again)[1]


def _note(tree: Tree, name: str, again: str) -> tuple[Kind, str]:
    where = f"{tree.where}/{name}"
    content = tree.read([name], _LARGEST_NOTE).get(name)
    if content is None:
        hint = "give the folder that `hlodiff check` left in .hlodiff/pending or where --pending said"
        raise StoreError("is missing, so nobody knows what this was compared with", where=where, hint=hint)
    try:
        note = json.loads(content)
    except (ValueError, RecursionError):
        raise StoreError("is no JSON", where=where, hint=again) from None
    version = note.get("format_version") if isinstance(note, dict) else None
    if isinstance(version, int) and version > PENDING_VERSION:
        raise FutureFormatError("was written by a newer hlodiff", where=where, hint="pip install --upgrade hlodiff")
    if version != PENDING_VERSION or note.get("kind") not in KINDS or not isinstance(note.get("base"), str):
        raise StoreError("does not say what hlodiff writes there", where=where, hint=again)
    return note["kind"], note["base"]


def _again(key: Key) -> str:
    return f"hlodiff check {key.name} --target {key.target}"


def _plain(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """A summary without what it says of its files: that depends on the limit under which they were written."""
    return {name: value for name, value in summary.items() if name != "compressed"}


def digest_of(parts: tuple[str, ...]) -> str:
    """A hash of several texts, which none of them alone has.

    Example:
        >>> digest_of(("a", "b")) == digest_of(("ab",))
        False
    """
    return sha256("\0".join(parts).encode()).hexdigest()
