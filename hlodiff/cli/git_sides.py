"""The two sides that git hands to an external diff: files, what they hold, and the provenance that lay beside each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.ir.model import Module
from hlodiff.report.numbers import bytes_in_words

# What is imported here is imported once for each file of `git log -p`: the store is, where it is asked.
# What a person waits for in a pager; `hlodiff diff` reads more.
LARGEST = 32 * 1024 * 1024
_LARGEST_SOURCE = 64 * 1024 * 1024
_LINK = "120000"
_PATIENCE = 2.0  # seconds, for finding the commit that a blob is from


@dataclass(frozen=True, slots=True)
class GitSide:
    """One side.

    Args:
        path: as git names it: from the top of the work tree, which is the current folder, or below that (`--relative`).
        place: the same from the top, as far as it is known.
        file: where its content lies for the moment.
        blob: its object id, zeros for the work tree.
        mode: as git writes it, "." where the side does not exist.
    """

    path: str
    place: str
    file: Path
    blob: str
    mode: str

    @property
    def exists(self) -> bool:
        """Whether the file exists on this side."""
        return self.mode != "."

    def content(self) -> bytes | None:
        """What it holds, unpacked; None where it does not exist.

        Raises:
            StoreError: a link, larger than a person waits for, or no gzip.
        """
        if not self.exists:
            return None
        if self.mode == _LINK:
            raise StoreError("is a link, and links are not followed", where=self.path)
        size = self.file.stat().st_size
        if size > LARGEST:
            raise StoreError(f"{bytes_in_words(size)} are more than is compared here", where=self.path)
        content = self.file.read_bytes()
        if self.path.endswith(".gz"):
            from hlodiff.store import unpack

            content = unpack(content, self.path, LARGEST)
        return content

    def module(self, content: bytes) -> Module:
        """The program, with the Python lines it came from where they are known.

        Args:
            content: of the file.

        Raises:
            ReadError: it is no program.
        """
        from hlodiff.ir import read_bytes
        from hlodiff.store import attach_source

        module = read_bytes(content, path=self.path.removesuffix(".gz"))
        return attach_source(module, (self._source() or {}).get(module.stage))

    def _source(self) -> Mapping[str, Any] | None:
        """The source.json that was recorded together with this content."""
        beside = f"{self.place.rpartition('/')[0]}/source.json"
        try:
            text = _beside(beside) if not self.blob.strip("0") else _recorded_with(self.place, self.blob, beside)
            value = json.loads(text) if len(text) <= _LARGEST_SOURCE else None
        except (OSError, ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


def _beside(path: str) -> bytes:
    file = Path(path)
    return b"" if file.is_symlink() else file.read_bytes()


def _recorded_with(path: str, blob: str, beside: str) -> bytes:
    """Git says which blob, not of which commit: the index, HEAD, or the last commit that brought it or took it away."""
    for listing in _listings(path, blob, beside):
        objects = dict(_objects(listing))
        if objects.get(path) == blob and beside in objects:
            return _ask("cat-file", "blob", objects[beside])
    return b""


def _listings(path: str, blob: str, beside: str) -> Iterator[bytes]:
    both = ["--", path, beside]
    yield _ask("ls-files", "-s", "-z", *both)
    yield _ask("ls-tree", "-z", "HEAD", *both)
    commit = _ask("log", "--all", "-1", "--format=%H", f"--find-object={blob}", "--", path).decode().strip()
    for revision in (commit, f"{commit}^") if commit else ():
        yield _ask("ls-tree", "-z", revision, *both)


def _objects(listing: bytes) -> Iterator[tuple[str, str]]:
    """Path and id of each row of `ls-files -s` (mode, id, stage) or `ls-tree` (mode, kind, id)."""
    for row in listing.split(b"\0"):
        head, tab, name = row.partition(b"\t")
        if tab:
            words = head.decode().split()
            yield name.decode("utf-8", "surrogateescape"), words[2] if words[1] == "blob" else words[1]


def _ask(*arguments: str) -> bytes:
    """What a git command prints; nothing where it fails or takes too long: provenance is a help, no more."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def sides_of(arguments: Sequence[str]) -> tuple[GitSide, GitSide]:
    """Both sides, from what git hands to an external diff.

    Args:
        arguments: path, then file, id and mode of the old side and of the new one; of a rename also the new path.
    """
    path, old_file, old_blob, old_mode, new_file, new_blob, new_mode = arguments[:7]
    new_path = arguments[7] if len(arguments) > 7 else path
    # Of a file in the work tree git says where it lies.
    above = next((file.removesuffix(path) for file in (new_file, old_file) if _is_below_top(file, path)), "")
    old = GitSide(path, above + path, Path(old_file), old_blob, old_mode)
    return old, GitSide(new_path, above + new_path, Path(new_file), new_blob, new_mode)


def _is_below_top(file: str, path: str) -> bool:
    return file.endswith(f"/{path}") and not Path(file).is_absolute()
