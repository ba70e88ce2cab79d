"""Sources of files: a folder, or a git revision, read without touching the work tree."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from hlodiff.errors import StoreError
from hlodiff.snapshots.paths import BlockedError, refuse_leading_out, refuse_links

GIT = ("git", "-c", "safe.bareRepository=explicit")
"""Keeps git from using a folder in the work tree as a repository: a pull request could add one, with hooks."""
_SHALLOW_CLONE = "this clone is shallow and may lack it: `git fetch --unshallow`"


def git(
    repository: Path,
    arguments: Sequence[str],
    where: str,
    data: bytes = b"",
    accept: Sequence[int] = (0,),
    limit: int | None = None,
) -> bytes:
    """Run one git command.

    Args:
        repository: a folder in the repository.
        arguments: the arguments of `git`.
        where: the user's input, for messages.
        data: input of the command.
        accept: exit codes that do not count as failures.
        limit: maximum bytes of a listing: a few objects can describe trees with a million million files.

    Returns:
        its output.

    Raises:
        StoreError: git is not installed, reports an error, or prints more than `limit`.

    Example:
        >>> git(Path("."), ["rev-parse", "HEAD"], "HEAD")  # doctest: +SKIP
        b'0f3e1c...\\n'
    """
    folder = repository.parent if repository.is_file() else repository  # `--project pyproject.toml`
    try:
        command = [*GIT, "-C", str(folder), *arguments]
        if limit is not None:
            done = _listed(command, limit, where)
        else:
            done = subprocess.run(command, input=data, capture_output=True, check=False)
    except FileNotFoundError:
        hint = "give files or folders, or install git"
        raise StoreError("git is not installed, so no revision can be read", where=where, hint=hint) from None
    if done.returncode not in accept:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise StoreError(lines[0].removeprefix("fatal: "), where=where)
    return done.stdout


def _listed(command: Sequence[str], limit: int, where: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input, reading a limited number of bytes of its output."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        output = process.stdout.read(limit + 1)
        if len(output) > limit:
            process.kill()
            what = f"git lists more than {limit // 1024**2:,} MiB of files there: no project has so many snapshots"
            raise StoreError(what, where=where, hint="give the folder of the snapshots: REVISION:FOLDER")
        code = process.wait()
        errors.seek(0)
        return subprocess.CompletedProcess(command, code, output, errors.read())


def is_shallow(repository: Path) -> bool:
    """Whether this clone only has the newest commits.

    Args:
        repository: a folder in the repository.
    """
    return git(repository, ["rev-parse", "--is-shallow-repository"], "", accept=(0, 128)).strip() == b"true"


def find_object(repository: Path, expression: str, where: str) -> str:
    """The id of the object for an expression; "" if there is none.

    Args:
        repository: a folder in the repository.
        expression: as in `git rev-parse`: `main^{commit}`, `HEAD:snapshots`.
        where: the user's input, for messages.
    """
    # `--end-of-options`: a revision that starts with a dash is a name, never an option.
    command = ["rev-parse", "--verify", "--quiet", "--end-of-options", expression]
    return git(repository, command, where, accept=(0, 1, 128)).decode().strip()


def need_object(repository: Path, expression: str, where: str, what: str) -> str:
    """Like `find_object`, but the object must exist.

    Args:
        repository, expression, where: see `find_object`.
        what: the error message if there is none.

    Raises:
        StoreError: there is no such object.
    """
    found = find_object(repository, expression, where)
    if not found:
        hint = _SHALLOW_CLONE if is_shallow(repository) else "`git log --oneline` lists revisions"
        raise StoreError(what, where=where, hint=hint)
    return found


def merge_base(repository: Path, one: str, other: str, where: str) -> str:
    """The merge base of two revisions.

    Args:
        repository: a folder in the repository.
        one, other: revisions.
        where: the user's input, for messages.

    Returns:
        the id of the merge base.

    Raises:
        StoreError: one of them does not exist, or they have no common commit in this clone.

    Example:
        >>> merge_base(Path("."), "main", "HEAD", "main...HEAD")  # doctest: +SKIP
        '0f3e1c...'
    """
    commits = [
        need_object(repository, f"{name}^{{commit}}", where, f"no git revision is called {name!r}")
        for name in (one, other)
    ]
    base = git(repository, ["merge-base", *commits], where, accept=(0, 1)).decode().split()
    if not base:
        hint = _SHALLOW_CLONE if is_shallow(repository) else f"compare the two themselves: `hlodiff diff {one} {other}`"
        raise StoreError(f"{one} and {other} have no commit in common", where=where, hint=hint)
    return base[0]


# More than the largest useful program (1M instructions take about 100 MB normalized). It protects against hostile files
# and is not a budget.
LARGEST = 256 * 1024 * 1024
MOST_LISTED = 16 * 1024 * 1024
"""Maximum bytes of a git listing: 120,000 files at 130 bytes."""


class Tree(Protocol):
    """A set of files: its name, its file names (relative, with `/`), and their bytes."""

    @property
    def where(self) -> str: ...

    def files(self) -> tuple[str, ...]: ...

    def read(self, names: Sequence[str], limit: int = LARGEST) -> dict[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class FolderTree:
    """Files below a folder; hidden folders are skipped.

    Args:
        root: the folder.
        links: whether to follow links to files. Never in snapshots: a pull request could make one point anywhere. In a
            project, links that lead out of it are not followed either.

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
        """All files, sorted; () if the folder does not exist.

        Raises:
            StoreError: it is not a folder, or a folder below it cannot be read.
        """
        if self.root.exists() and not self.root.is_dir():
            hint = "move it away, or set `snapshots` in [tool.hlodiff] to another place"
            raise StoreError("is not a folder", where=str(self.root), hint=hint)
        found: list[str] = []
        for folder, folders, names in os.walk(self.root, onerror=_unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            relative = Path(folder).relative_to(self.root)
            found += [(relative / name).as_posix() for name in names]
        return tuple(sorted(found))

    def read(self, names: Sequence[str], limit: int = LARGEST) -> dict[str, bytes]:
        """The bytes of the files that exist.

        Raises:
            StoreError: a file is a link or behind one, not a regular file, larger than `limit`, or not readable.
        """
        contents: dict[str, bytes] = {}
        for folder in dict.fromkeys(above for name in names for above in PurePosixPath(name).parents):
            if folder.parts and (self.root / folder).is_symlink():
                refuse_links(self.root / folder)
        for name in names:
            path = self.root / name
            if self.links and path.is_symlink():
                refuse_leading_out(path)
            try:
                about = path.stat() if self.links else path.lstat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from None
            if stat.S_ISDIR(about.st_mode):
                raise BlockedError("is a folder, where a file belongs", where=str(path), hint="move it away")
            if not stat.S_ISREG(about.st_mode):
                raise StoreError("is not a regular file (links are not followed)", where=str(path))
            _refuse_large(about.st_size, limit, str(path))
            try:
                contents[name] = path.read_bytes()
            except OSError as error:
                raise StoreError(f"cannot be read: {error.strerror}", where=str(path)) from None
        return contents


@dataclass(frozen=True, slots=True)
class RenamedFolder:
    """A tree in which one folder has its snapshot's full name.

    Args:
        tree: the files.
        folder: the folder's name in `tree`; "" for the whole tree.
        name: its name here.
    """

    tree: Tree
    folder: str
    name: str

    @property
    def where(self) -> str:
        return self.tree.where

    def files(self) -> tuple[str, ...]:
        return self.tree.files()

    def read(self, names: Sequence[str], limit: int = LARGEST) -> dict[str, bytes]:
        prefix = f"{self.folder}/" if self.folder else ""
        actual = {name: prefix + name.removeprefix(self.name + "/") for name in names}
        found = self.tree.read(list(actual.values()), limit)
        return {name: found[real] for name, real in actual.items() if real in found}


def _unreadable(error: OSError) -> None:
    """Raise for an unreadable folder: treated as empty, its snapshots would appear deleted."""
    if not isinstance(error, FileNotFoundError):
        hint = "make the folder readable"
        raise StoreError(f"cannot be read: {error.strerror}", where=str(error.filename), hint=hint) from None


@dataclass(frozen=True, slots=True)
class GitTree:
    """Files of a git revision.

    Args:
        repository: a folder in the repository.
        spec: the user's input (`main`, `v1.2:snapshots`), for messages.
        tree: the object id of the tree with the files.
        entries: name -> (object id, size in bytes); links and submodules are skipped.
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
        """The bytes of the files that exist, from one `git cat-file --batch`.

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
    """Open the snapshots of a git revision.

    Args:
        repository: a folder in the repository.
        spec: a revision (`main`, `HEAD~3`), whose `default_folder` is read, or `REVISION:FOLDER`.
        default_folder: absolute path of the snapshots folder in the work tree.

    Returns:
        the files of that revision; none if the folder did not exist then.

    Raises:
        StoreError: not a repository, no such revision or folder, or a file, link or submodule in its place.

    Example:
        >>> open_revision(Path("."), "HEAD~3", Path("snapshots").absolute()).files()  # doctest: +SKIP
    """
    revision, colon, folder = spec.partition(":")
    top = Path(os.fsdecode(git(repository, ["rev-parse", "--show-toplevel"], spec)).rstrip("\n"))
    commit = need_object(repository, f"{revision}^{{commit}}", spec, f"no git revision is called {revision!r}")
    if not colon:
        absolute = Path(os.path.realpath(default_folder))
        if not absolute.is_relative_to(top.resolve()):
            raise StoreError("the snapshots folder is outside this git repository", where=str(default_folder))
        folder = absolute.relative_to(top.resolve()).as_posix()
    folder = "" if folder == "." else folder.strip("/")
    if not folder:
        tree = need_object(repository, f"{commit}^{{tree}}", spec, "has no tree")
    elif colon:
        tree = need_object(repository, f"{commit}:{folder}", spec, f"{revision} has no folder {folder!r}")
    else:
        tree = find_object(repository, f"{commit}:{folder}", spec)
    if tree and git(repository, ["cat-file", "-t", tree], spec, accept=(0, 128)).strip() != b"tree":
        what = f"{folder} is not a folder there: it is a file, a link or a submodule, and none of these is followed"
        raise StoreError(what, where=spec, hint="give the folder itself, or a revision in the submodule's own folder")
    return GitTree(repository, spec, tree, _entries(repository, tree, spec) if tree else {})


def _entries(repository: Path, tree: str, spec: str) -> dict[str, tuple[str, int]]:
    listing = git(repository, ["ls-tree", "-r", "-l", "-z", "--full-tree", tree], spec, limit=MOST_LISTED)
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
