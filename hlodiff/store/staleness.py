"""What a merge leaves behind: conflict markers, or a record that is marked stale because both sides had changed it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.store.names import PROGRAMS, SUMMARY, Key
from hlodiff.store.trees import Tree

STALE = "stale"
"""The key of a summary.yaml, traces.yaml or growth.yaml of which a merge kept one side."""
_LINE = b"stale: merge  # both sides had changed it and ours was kept; `hlodiff update` records it anew\n"
_MARKED = re.compile(rb"^stale:", re.MULTILINE)
_CONFLICT = re.compile(rb"^(?:<<<<<<< |>>>>>>> |\|\|\|\|\|\|\| |=======\r?$)", re.MULTILINE)


class StaleError(StoreError):
    """A record of which nobody knows what it stands for, since a merge: recording it anew heals it."""


def marked_stale(content: bytes) -> bytes:
    """The content of a YAML file of ours with the mark that it is stale.

    Args:
        content: of a summary.yaml, traces.yaml or growth.yaml.

    Returns:
        the same with one line more, behind the first one.

    Example:
        >>> print(marked_stale(b"format_version: 1\\nfunction: f\\n").decode()[:33])
        format_version: 1
        stale: merge  #
    """
    if _MARKED.search(content):
        return content
    first, end, rest = content.partition(b"\n")
    line = _LINE.replace(b"\n", b"\r\n") if first.endswith(b"\r") else _LINE
    return first + end + line + rest if end else line + content


def refuse_conflict(content: bytes, where: str, hint: str) -> None:
    """Raise where a file holds what git writes between two sides of a merge.

    Args:
        content: of the file.
        where: the file.
        hint: the command that heals it.

    Raises:
        StaleError: it does, with the line.
    """
    found = _CONFLICT.search(content)
    if found:
        line = content.count(b"\n", 0, found.start()) + 1
        what = "holds git conflict markers: it is neither side, so the snapshot is stale"
        raise StaleError(what, where=f"{where}:{line}", hint=hint)


def refuse_stale(table: Mapping[str, Any], where: str, hint: str) -> None:
    """Raise where a record is marked stale.

    Args:
        table: what the YAML file says.
        where: the file.
        hint: the command that heals it.

    Raises:
        StaleError: it is.
    """
    if STALE in table:
        what = "is stale: both sides of a merge had changed it, and ours was kept"
        raise StaleError(what, where=where, hint=hint)


def stale_of(tree: Tree, keys: Iterable[Key]) -> tuple[Key, ...]:
    """Which snapshots are stale since a merge; their files are searched, not read.

    Args:
        tree: a folder or a git revision.
        keys: which ones to look at.

    Returns:
        keys in the order in which they were given.
    """
    return tuple(key for key in keys if is_stale(tree, [f"{key.folder}/{name}" for name in (SUMMARY, *PROGRAMS)]))


def is_stale(tree: Tree, names: Iterable[str]) -> bool:
    """Whether one of these files holds conflict markers or is marked stale.

    Args:
        tree: a folder or a git revision.
        names: files; those that do not exist or cannot be read are nobody's merge.
    """
    for name in names:
        try:
            content = tree.read([name]).get(name, b"")
        except StoreError:
            continue
        if _CONFLICT.search(content) or (name.endswith(".yaml") and _MARKED.search(content)):
            return True
    return False
