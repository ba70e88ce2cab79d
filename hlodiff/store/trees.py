"""Where files are read from: a folder, or a git revision without touching the work tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hlodiff.errors import StoreError
from hlodiff.store.git import find_object, git, need_object

# Above the largest program that is worth reading (1M instructions normalized are some 100 MB); a bound against
# hostile files, not a budget.
LARGEST = 256 * 1024 * 1024


class Tree(Protocol):
    """A set of files: what it is called, which files it has (relative, with `/`), and their bytes."""

    @property
    def where(self) -> str: ...

    def files(self) -> tuple[str, ...]: ...

    def read(self, names: Sequence[str], limit: int = LARGEST) -> dict[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class FolderTree:
    """Files below a folder; hidden folders are left out.

    Args:
        root: the folder.
        links: whether links to files are followed. Never in snapshots: a pull request could make one point anywhere.

    Example:
        >>> FolderTree(Path("snapshots")).files()  # doctest: +SKIP
        ('train_step/cpu/compiled.hlo', 'train_step/cpu/stablehlo.mlir', 'train_step/cpu/summary.yaml')
    """

    root: Path
    links: bool = False

    @property
    def where(self) -> str:
        return str(self.root)

    def files(self) -> tuple[str, ...]:
        """All files, sorted; () where the folder does not exist.

        Raises:
            StoreError: it is no folder, or a folder below it cannot be read.
        """
        if self.root.exists() and not self.root.is_dir():
            hint = "move it away, or set `snapshots` in [tool.hlodiff] to another place"
            raise StoreError("is no folder", where=str(self.root), hint=hint)
        found: list[str] = []
        for folder, folders, names in os.walk(self.root, onerror=_unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            relative = Path(folder).relative_to(self.root)
            found += [(relative / name).as_posix() for name in names]
        return tuple(sorted(found))

    def read(self, names: Sequence[str], limit: int = LARGEST) -> dict[str, bytes]:
        """The bytes of those files that exist.

        Raises:
            StoreError: a file is a link, no regular file, larger than `limit`, or not readable.
        """
        contents: dict[str, bytes] = {}
        for name in names:
            path = self.root / name
            try:
                about = path.stat() if self.links else path.lstat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from None
            if not stat.S_ISREG(about.st_mode):
                raise StoreError("is no regular file (links are not followed)", where=str(path))
            _refuse_large(about.st_size, limit, str(path))
            try:
                contents[name] = path.read_bytes()
            except OSError as error:
                raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from None
        return contents


def _unreadable(error: OSError) -> None:
    """What cannot be listed is no empty folder: its snapshots would look as if they had been deleted."""
    if not isinstance(error, FileNotFoundError):
        hint = "make the folder readable"
        raise StoreError(f"cannot be read: {error.strerror}", where=str(error.filename), hint=hint) from None


@dataclass(frozen=True, slots=True)
class GitTree:
    """Files of a git revision.

    Args:
        repository: a folder in the repository.
        spec: what the user typed (`main`, `v1.2:snapshots`), for messages.
        tree: the object id of the tree that holds the files.
        entries: name -> (object id, size in bytes); links and submodules are left out.
    """

    repository: Path
    spec: str
    tree: str
    entries: dict[str, tuple[str, int]] = field(repr=False)

    @property
    def where(self) -> str:
        return self.spec

    def files(self) -> tuple[str, ...]:
        """All files, sorted."""
        return tuple(sorted(self.entries))

    def read(self, names: Sequence[str], limit: int = LARGEST) -> dict[str, bytes]:
        """The bytes of those files that exist, by one `git cat-file --batch`.

        Raises:
            StoreError: a file is larger than `limit`, or git fails.
        """
        wanted = [name for name in names if name in self.entries]
        for name in wanted:
            _refuse_large(self.entries[name][1], limit, f"{self.spec}:{name}")
        if not wanted:
            return {}
        request = "".join(self.entries[name][0] + "\n" for name in wanted).encode()
        output = git(self.repository, ["cat-file", "--batch"], self.spec, request)
        contents: dict[str, bytes] = {}
        position = 0
        for name in wanted:
            end = output.index(b"\n", position)
            head = output[position:end].split()
            if len(head) != 3:
                hint = "in a shallow or partial clone: `git fetch` first"
                raise StoreError("git does not have this file's content", where=f"{self.spec}:{name}", hint=hint)
            start, size = end + 1, int(head[2])
            contents[name] = output[start : start + size]
            position = start + size + 1
        return contents


def open_revision(repository: Path, spec: str, default_folder: Path) -> GitTree:
    """Find the snapshots of a git revision.

    Args:
        repository: a folder in the repository.
        spec: a revision (`main`, `HEAD~3`), whose `default_folder` is read, or `REVISION:FOLDER`.
        default_folder: absolute path of the snapshots folder in the work tree.

    Returns:
        the files of that revision; none where the folder did not exist then.

    Raises:
        StoreError: not a repository, no such revision, or no such folder in it.

    Example:
        >>> open_revision(Path("."), "HEAD~3", Path("snapshots").absolute()).files()  # doctest: +SKIP
    """
    revision, colon, folder = spec.partition(":")
    top = Path(os.fsdecode(git(repository, ["rev-parse", "--show-toplevel"], spec)).rstrip("\n"))
    commit = need_object(repository, f"{revision}^{{commit}}", spec, f"no git revision is called {revision!r}")
    if not colon:
        absolute = Path(os.path.realpath(default_folder))
        if not absolute.is_relative_to(top.resolve()):
            raise StoreError("the snapshots folder lies outside this git repository", where=str(default_folder))
        folder = absolute.relative_to(top.resolve()).as_posix()
    folder = "" if folder == "." else folder.strip("/")
    if not folder:
        tree = need_object(repository, f"{commit}^{{tree}}", spec, "has no tree")
    elif colon:
        tree = need_object(repository, f"{commit}:{folder}", spec, f"{revision} has no folder {folder!r}")
    else:
        tree = find_object(repository, f"{commit}:{folder}", spec)
    return GitTree(repository, spec, tree, _entries(repository, tree, spec) if tree else {})


def _entries(repository: Path, tree: str, spec: str) -> dict[str, tuple[str, int]]:
    listing = git(repository, ["ls-tree", "-r", "-l", "-z", "--full-tree", tree], spec)
    entries: dict[str, tuple[str, int]] = {}
    for row in listing.split(b"\0"):
        head, tab, name = row.partition(b"\t")
        if tab:
            mode, kind, oid, size = head.split()
            if kind == b"blob" and mode != b"120000":
                entries[os.fsdecode(name)] = (oid.decode(), int(size))
    return entries


def _refuse_large(size: int, limit: int, where: str) -> None:
    if size > limit:
        raise StoreError(f"{size:,} bytes are more than hlodiff reads ({limit:,})", where=where)
