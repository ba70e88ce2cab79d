"""What `check` found of traces and growth and nobody has accepted yet: one file each, as it would be recorded.

It lies in the pending folder where it would lie among the snapshots, and beside it a note says what it was compared
with: `steps/traces.yaml` and `steps/traces.pending.json`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.store.growth_file import GROWTH
from hlodiff.store.names import Key, is_safe
from hlodiff.store.pending import PENDING, PENDING_VERSION, base_in, digest_of, ignored_by_git
from hlodiff.store.recorded_traces import TRACES
from hlodiff.store.trees import Tree
from hlodiff.store.writing import clear_errors, refuse_links, replace_text
from hlodiff.store.yaml_text import dump, load

RECORDS = {"traces": TRACES, "growth": GROWTH}
"""What stands for the target in the key of a record, and its file."""
_LARGEST = 16 * 1024 * 1024
_ID_DIGITS = 8


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """A record that waits for a decision.

    Args:
        key: function or scenario and case; the target is "traces" or "growth".
        text: the file that accepting it would write; nobody has vouched for it.
        base: digest of the record that it was compared with; "" where there was none.
    """

    key: Key
    text: str
    base: str


def record_path(key: Key) -> str:
    """Where a record lies below the snapshots folder and below the pending folder.

    Raises:
        StoreError: a part of the name is no safe folder name.

    Example:
        >>> record_path(Key("steps", "", "traces")), record_path(Key("solve", "long", "growth"))
        ('steps/traces.yaml', 'solve/long/growth.yaml')
    """
    return f"{key.folder.rpartition('/')[0]}/{RECORDS[key.target]}"


def record_id(key: Key, text: str) -> str:
    """A short name for what was found: equal wherever and whenever the same is found.

    Example:
        >>> record_id(Key("steps", "", "traces"), "format_version: 1")
        '5652ac31'
    """
    return digest_of((key.folder, text))[:_ID_DIGITS]


def list_records(files: Iterable[str]) -> tuple[Key, ...]:
    """Which records a list of files holds; what has no name of ours is passed over.

    Example:
        >>> list_records(["steps/traces.yaml", "../x/growth.yaml"])
        (Key(function='steps', case='', target='traces'),)
    """
    found = []
    for file in sorted(files):
        *parts, name = file.split("/")
        word = next((word for word, own in RECORDS.items() if own == name), "")
        if word and 0 < len(parts) <= (1 if word == "traces" else 2) and all(map(is_safe, parts)):
            found.append(Key(parts[0], parts[1] if len(parts) == 2 else "", word))
    return tuple(found)


def recorded_text(tree: Tree, key: Key) -> str | None:
    """A record as it is written, None where there is none; that it can be read is all that is known of it.

    Raises:
        StoreError: the file is no YAML of ours, too large, or of a format of the future.
    """
    name = record_path(key)
    content = tree.read([name], _LARGEST).get(name)
    if content is None:
        return None
    where = f"{tree.where}/{name}"
    try:
        return dump(load(content.decode("utf-8"), where))
    except UnicodeDecodeError as error:
        raise StoreError(f"is not UTF-8 text: byte {error.start}", where=where) from None


def keep_record(root: Path, key: Key, table: Mapping[str, Any], base: str | None) -> str:
    """Put what was found where `accept` finds it, over what an earlier check has left there.

    Args:
        root: the pending folder; made where it does not exist.
        key: which record.
        table: what it would hold.
        base: the text of the record that it was compared with, as `recorded_text` gives it; None where there was none.

    Returns:
        what `accept` calls it.

    Raises:
        StoreError: the folder cannot be written.
    """
    text, name = dump(table), record_path(key)
    note = {"format_version": PENDING_VERSION, "kind": "changed" if base is not None else "new"}
    note["base"] = record_digest(base)
    with clear_errors(root):
        ignored_by_git(root)
        # A record without a note is refused, an old note with a new record would be believed.
        (root / _note(name)).unlink(missing_ok=True)
    replace_text(root, name, text)
    replace_text(root, _note(name), json.dumps(note) + "\n")
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
    path = root / record_path(key)
    if not path.parent.is_dir():
        return
    with clear_errors(root):
        refuse_links(root, record_path(key))
        path.unlink(missing_ok=True)
        (root / _note(record_path(key))).unlink(missing_ok=True)
        folder = path.parent
        while folder != root:
            with contextlib.suppress(OSError):  # it holds something else
                folder.rmdir()
            folder = folder.parent


def read_record(tree: Tree, key: Key) -> PendingRecord:
    """Read one pending record, as somebody else may have written it.

    Args:
        tree: the pending folder.
        key: which one.

    Returns:
        the record; its text is YAML and written as hlodiff writes YAML, what it says is not looked at yet.

    Raises:
        StoreError: a file is missing, damaged, too large, or of a format of the future.
    """
    name = record_path(key)
    base = base_in(tree, _note(name), f"hlodiff check {key.name}")
    text = recorded_text(tree, key)
    if text is None or text.encode() != tree.read([name], _LARGEST).get(name):
        raise StoreError("is not as hlodiff writes it", where=f"{tree.where}/{name}", hint=f"hlodiff check {key.name}")
    return PendingRecord(key, text, base)


def _note(name: str) -> str:
    return f"{name.removesuffix('.yaml')}.{PENDING}"
