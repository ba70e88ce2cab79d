"""Reading snapshots: which there are, their summaries, their programs."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.store.names import COMPILED, PROGRAMS, SOURCE, STABLEHLO, SUMMARY, Key, keys_of
from hlodiff.store.staleness import refuse_conflict, refuse_stale
from hlodiff.store.trees import LARGEST, Tree
from hlodiff.store.yaml_text import load

# A summary has some 5 KB, a source table some 10 % of its program.
_LARGEST_SUMMARY = 4 * 1024 * 1024
_LARGEST_SOURCE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One recorded program: what stands in its folder.

    Args:
        function, case, target: which program.
        summary: what summary.yaml says, plain values in order.
        stablehlo, compiled: the normalized programs as text; "" where there is none.
        source: for reports: scopes and Python frames by instruction; None where it is not known.
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
class Listing:
    """The snapshots of a tree, and folders that hold a summary but have no name of ours."""

    keys: tuple[Key, ...]
    strays: tuple[str, ...]


def list_snapshots(tree: Tree) -> Listing:
    """Which snapshots a tree holds; nothing is read.

    Args:
        tree: a folder or a git revision.

    Returns:
        keys in order of function, case and target.

    Example:
        >>> from pathlib import Path
        >>> from hlodiff.store import FolderTree
        >>> list_snapshots(FolderTree(Path("no such folder"))).keys
        ()
    """
    keys, strays = keys_of(tree.files())
    return Listing(tuple(sorted(keys)), strays)


def read_summary(tree: Tree, key: Key) -> dict[str, Any]:
    """Read one summary.yaml.

    Raises:
        StoreError: missing, broken, stale since a merge, or of a format of the future.
    """
    name = f"{key.folder}/{SUMMARY}"
    content = tree.read([name], _LARGEST_SUMMARY).get(name)
    where = f"{tree.where}/{name}"
    if content is None:
        raise StoreError("is missing", where=where, hint=_again(key))
    try:
        summary = load(_text(content, where, key), where)
    except StoreError as error:
        raise error if error.hint else StoreError(error.what, where=error.where, hint=_again(key)) from None
    refuse_stale(summary, where, _again(key))
    return summary


def read_snapshot(tree: Tree, key: Key) -> Snapshot:
    """Read one snapshot whole.

    Args:
        tree: a folder or a git revision.
        key: which one.

    Returns:
        the snapshot; compressed programs are unpacked.

    Raises:
        StoreError: a file is missing, damaged, in conflict, or of a format of the future; it names the file and
            the command that records the program again.
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
                f"stands beside {name}.gz, so nobody knows which one counts", where=where, hint=_again(key)
            )
        if plain is None and packed is None:
            raise StoreError("is missing", where=where, hint=_again(key))
        content = plain if plain is not None else unpack(packed or b"", where + ".gz")
        programs[name] = _text(content, where, key)
    source = _read_source(tree, key)
    return Snapshot(key.function, key.case, key.target, summary, programs[STABLEHLO], programs[COMPILED], source)


def unpack(packed: bytes, where: str, limit: int = 0) -> bytes:
    """Unpack a compressed program, never to more than a program may have.

    Args:
        packed: gzip bytes.
        where: the file, for errors.
        limit: bytes that it may have; 0 for what any program may have.

    Returns:
        the bytes of the program.

    Raises:
        StoreError: damaged, or larger than any program.
    """
    limit = limit or LARGEST
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(packed, limit)
    except zlib.error as error:
        raise StoreError(f"is damaged: {error}", where=where) from None
    if not unpacker.eof:
        what = "unpacks to more than any program has" if len(content) >= limit else "is cut off"
        raise StoreError(what, where=where)
    return content


def _read_source(tree: Tree, key: Key) -> Mapping[str, Any] | None:
    """Provenance is a help for reports: where it is damaged there is none, and the programs still count."""
    name = f"{key.folder}/{SOURCE}"
    try:
        value = json.loads(tree.read([name], _LARGEST_SOURCE).get(name, b"null"))
    except (StoreError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(content: bytes, where: str, key: Key) -> str:
    refuse_conflict(content, where, _again(key))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StoreError(f"is not UTF-8 text: byte {error.start}", where=where, hint=_again(key)) from None
    if "\0" in text:
        raise StoreError("is no text: it holds zero bytes", where=where, hint=_again(key))
    # Git for Windows checks text out with CRLF where .gitattributes does not say otherwise.
    text = text.replace("\r\n", "\n") if "\r\n" in text else text
    return text


def _again(key: Key) -> str:
    return f"hlodiff update {key.name} --target {key.target}"
