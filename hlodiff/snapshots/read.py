"""Reads snapshots: lists them, and reads their summaries and programs."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import COMPILED, FILES, PROGRAMS, SOURCE, STABLEHLO, SUMMARY, Key, keys_of
from hlodiff.snapshots.trees import LARGEST, Tree
from hlodiff.snapshots.yaml_format import SUMMARY_VERSION, load_yaml

STALE = "stale"
"""The key that marks a summary.yaml, traces.yaml or growth.yaml after a merge kept one side of it."""
_LINE = b"stale: merge  # both sides had changed it and ours was kept; `hlodiff update` records it anew\n"
_MARKED = re.compile(rb"^stale:", re.MULTILINE)
# Seven, or more in nested merges and with `conflict-marker-size`; a side need not have a name.
_CONFLICT = re.compile(rb"^(?:(?:<{7,}|>{7,}|\|{7,})(?: |\r?$)|={7,}\r?$)", re.MULTILINE)
_IN_CONFLICT = (b"<" * 7, b">" * 7, b"|" * 7, b"=" * 7)


def _conflict(content: bytes) -> re.Match[bytes] | None:
    """The first conflict marker. The expression checks each line, so it only runs if the file contains a marker."""
    return _CONFLICT.search(content) if any(mark in content for mark in _IN_CONFLICT) else None


class StaleError(StoreError):
    """A record that a merge made unreliable; recording it again repairs it."""


def marked_stale(content: bytes) -> bytes:
    """Mark the content of a YAML file as stale.

    Args:
        content: a summary.yaml, traces.yaml or growth.yaml.

    Returns:
        the same with one more line, after the first one.

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
    """Raise if a file contains git conflict markers.

    Args:
        content: content of the file.
        where: the file.
        hint: the command that repairs it.

    Raises:
        StaleError: it contains conflict markers; the error gives the line.
    """
    found = _conflict(content)
    if found:
        line = content.count(b"\n", 0, found.start()) + 1
        what = "holds git conflict markers: it is neither side, so the snapshot is stale"
        raise StaleError(what, where=f"{where}:{line}", hint=hint)


def table_in(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a summary with text keys; empty if it is missing or malformed, because the file is untrusted.

    Example:
        >>> table_in({"memory": {"temp": 8}}, "memory"), table_in({"memory": 8}, "memory")
        ({'temp': 8}, {})
    """
    value = table.get(name)
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def refuse_stale(table: Mapping[str, Any], where: str, hint: str) -> None:
    """Raise if a record is marked stale.

    Args:
        table: the content of the YAML file.
        where: the file.
        hint: the command that repairs it.

    Raises:
        StaleError: it is marked stale.
    """
    if STALE in table:
        what = "is stale: both sides of a merge had changed it, and ours was kept"
        raise StaleError(what, where=where, hint=hint)


def stale_of(tree: Tree, keys: Iterable[Key]) -> tuple[Key, ...]:
    """The snapshots that a merge made stale; their files are searched, not parsed.

    Args:
        tree: a folder or a git revision.
        keys: the snapshots to check.

    Returns:
        keys in the given order.
    """
    return tuple(key for key in keys if is_stale(tree, [f"{key.folder}/{name}" for name in FILES]))


def is_stale(tree: Tree, names: Iterable[str]) -> bool:
    """Whether one of these files contains conflict markers or is marked stale.

    Args:
        tree: a folder or a git revision.
        names: files; those that do not exist or cannot be read count as not stale.
    """
    for name in names:
        try:
            content = tree.read([name]).get(name, b"")
        except StoreError:
            continue
        if _conflict(content) or (name.endswith(".yaml") and _MARKED.search(content)):
            return True
    return False


# A summary has about 5 KB, a source table about 10 % of the size of its program.
_LARGEST_SUMMARY = 4 * 1024 * 1024
_LARGEST_SOURCE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One recorded program: the content of its folder.

    Args:
        function, case, target: the program.
        summary: the content of summary.yaml, plain values in order.
        stablehlo, compiled: the normalized programs as text; "" if there is none.
        source: for reports: scopes and Python frames by instruction; None if unknown.
    """

    function: str
    case: str
    target: str
    summary: Mapping[str, Any]
    stablehlo: str = ""
    compiled: str = ""
    source: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def key(self) -> Key:
        """Function, case and target."""
        return Key(self.function, self.case, self.target)


@dataclass(frozen=True, slots=True)
class SnapshotListing:
    """The snapshots of a tree, and folders that contain a summary but have no valid name."""

    keys: tuple[Key, ...]
    strays: tuple[str, ...]


def list_snapshots(tree: Tree) -> SnapshotListing:
    """List the snapshots of a tree without reading them.

    Args:
        tree: a folder or a git revision.

    Returns:
        keys in order of function, case and target.

    Example:
        >>> from pathlib import Path
        >>> from hlodiff.snapshots import FolderTree
        >>> list_snapshots(FolderTree(Path("no such folder"))).keys
        ()
    """
    keys, strays = keys_of(tree.files())
    return SnapshotListing(tuple(sorted(keys)), strays)


def read_summary(tree: Tree, key: Key) -> dict[str, Any]:
    """Read one summary.yaml.

    Raises:
        StoreError: it is missing, broken, stale since a merge, or in a newer format.
    """
    name = f"{key.folder}/{SUMMARY}"
    content = tree.read([name], _LARGEST_SUMMARY).get(name)
    where = f"{tree.where}/{name}"
    if content is None:
        raise StoreError("is missing", where=where, hint=_again(key))
    try:
        summary = load_yaml(_text(content, where, key), where, SUMMARY_VERSION)
    except StoreError as error:
        raise error if error.hint else StoreError(error.what, where=error.where, hint=_again(key)) from None
    refuse_stale(summary, where, _again(key))
    return summary


def read_snapshot(tree: Tree, key: Key) -> Snapshot:
    """Read a whole snapshot.

    Args:
        tree: a folder or a git revision.
        key: the snapshot.

    Returns:
        the snapshot; compressed programs are unpacked.

    Raises:
        StoreError: a file is missing, damaged, in conflict, or in a newer format; the error names the file and the
            command that records the program again.
    """
    summary = read_summary(tree, key)
    base = key.folder
    names = [f"{base}/{name}{suffix}" for name in PROGRAMS for suffix in ("", ".gz")]
    contents = tree.read(names)
    programs = {}
    for name in PROGRAMS:
        plain, packed = contents.get(f"{base}/{name}"), contents.get(f"{base}/{name}.gz")
        where = f"{tree.where}/{base}/{name}"
        if plain is not None and packed is not None:
            raise StoreError(
                f"exists beside {name}.gz, so it is unclear which one counts", where=where, hint=_again(key)
            )
        if plain is None and packed is None:
            raise StoreError("is missing", where=where, hint=_again(key))
        content = plain if plain is not None else unpack(packed or b"", where + ".gz")
        programs[name] = _text(content, where, key)
    source = _read_source(tree, key)
    return Snapshot(key.function, key.case, key.target, summary, programs[STABLEHLO], programs[COMPILED], source)


def read_whole_snapshot(tree: Tree, key: Key) -> Snapshot:
    """Like `read_snapshot`, but provenance must be intact too: for a work tree, where it can be repaired.

    Raises:
        StoreError: as for `read_snapshot`, or source.json is not a table, or belongs to other programs.
    """
    snapshot = read_snapshot(tree, key)
    problem = source_problem(tree, key, snapshot)
    if problem:
        tree.read([f"{key.folder}/{SOURCE}"], _LARGEST_SOURCE)  # raises its own error for a non-file
        raise StoreError(problem, where=f"{tree.where}/{key.folder}/{SOURCE}", hint=_again(key))
    return snapshot


def source_problem(tree: Tree, key: Key, snapshot: Snapshot) -> str:
    """Why the Python lines of a snapshot are missing or belong to something else, as after a merge.

    Args:
        tree: a folder or a git revision.
        key: the snapshot.
        snapshot: the result of `read_snapshot`.

    Returns:
        what is wrong with its source.json; "" if it is fine, or if there is none.
    """
    if snapshot.source is None:
        name = f"{key.folder}/{SOURCE}"
        try:
            return "is damaged: it is not a JSON table" if tree.read([name], _LARGEST_SOURCE) else ""
        except StoreError as error:
            return error.what
    return "" if _fits(snapshot) else "belongs to other programs than those beside it"


# Normalized programs compress to between a fifth and a thirtieth; blank lines would compress to a thousandth.
_SMALL, _MOST_PACKED = 16 * 1024 * 1024, 100
_NAME = re.compile(r"[\w.\-]+")


def _fits(snapshot: Snapshot) -> bool:
    """Whether the program has every instruction of the source table, without parsing it: names depend on content."""
    source = snapshot.source or {}
    try:
        for stage, text in (("stablehlo", snapshot.stablehlo), ("compiled", snapshot.compiled)):
            rows = (source.get(stage) or {}).get("instructions") or {}
            names = {name.partition("#")[0] for row in rows.values() for name in row} - {"return"}
            words = set(_NAME.findall(text))
            if stage == "compiled":  # computations of StableHLO are named after their owner
                names |= rows.keys()
            else:  # and operations without results after their opcode
                words |= {word.rpartition(".")[2] for word in words}
            if not names <= words:
                return False
    except (AttributeError, TypeError):
        return False
    return not source or "stablehlo" in source or "compiled" in source


def unpack(packed: bytes, where: str, limit: int = 0) -> bytes:
    """Decompress a program, up to the maximum size of a program.

    Args:
        packed: gzip bytes.
        where: the file, for errors.
        limit: maximum size in bytes; 0 for the maximum of any program.

    Returns:
        the bytes of the program.

    Raises:
        StoreError: it is damaged, or larger than any program.
    """
    limit = min(limit or LARGEST, _SMALL + _MOST_PACKED * len(packed))
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(packed, limit)
    except zlib.error as error:
        raise StoreError(f"is damaged: {error}", where=where) from None
    if not unpacker.eof:
        what = "unpacks to more than any program of its size has" if len(content) >= limit else "is cut off"
        raise StoreError(what, where=where)
    return content


def _read_source(tree: Tree, key: Key) -> Mapping[str, Any] | None:
    """Provenance only serves reports: if it is damaged, it counts as absent, and the programs remain valid.

    Raises:
        StaleError: it contains conflict markers; a merge may have taken the programs from the other side.
    """
    name = f"{key.folder}/{SOURCE}"
    try:
        content = tree.read([name], _LARGEST_SOURCE).get(name, b"null")
    except StoreError:
        return None
    refuse_conflict(content, f"{tree.where}/{name}", _again(key))
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(content: bytes, where: str, key: Key) -> str:
    refuse_conflict(content, where, _again(key))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StoreError(f"is not UTF-8 text: byte {error.start}", where=where, hint=_again(key)) from None
    if "\0" in text:
        raise StoreError("is not text: it contains zero bytes", where=where, hint=_again(key))
    # Git for Windows checks text out with CRLF unless .gitattributes forbids it.
    text = text.replace("\r\n", "\n") if "\r\n" in text else text
    return text


def _again(key: Key) -> str:
    return f"hlodiff update {key.name} --target {key.target}"
