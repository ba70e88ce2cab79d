"""Python source lines of programs, from the work tree and from the commit that recorded a snapshot."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.errors import StoreError
from hlodiff.hlo.metadata import INSTALLED
from hlodiff.report.wording import is_python
from hlodiff.snapshots import Key, Snapshot, content_id, recorded_files
from hlodiff.snapshots.keys import SOURCE
from hlodiff.snapshots.trees import FolderTree, GitTree, Tree, git

WORK_TREE = "work tree"
_MOST_BYTES = 4 * 1024**2  # of a Python file
_LONGEST = 300


def plain_file(path: Path) -> bytes:
    """The content of a file named by a program, which may be untrusted.

    Args:
        path: any path.

    Raises:
        OSError: there is no such file, or it is a device, a pipe, a folder, or too large.
        ValueError: not a valid file name.

    Example:
        >>> plain_file(Path("/dev/zero"))
        Traceback (most recent call last):
        OSError: no plain file of a bearable size
    """
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
        raise OSError("no plain file of a bearable size")
    return path.read_bytes()


@dataclass(frozen=True, slots=True)
class SourceSide:
    """Where the sources of one side of a report are.

    Args:
        revision: a git revision; WORK_TREE for files as they are now.
        snapshots: the folder of the snapshots that hold the programs, each recorded by its own commit; None if the
            programs were made from the sources of `revision`.
    """

    revision: str
    snapshots: Path | None = None


@dataclass(slots=True)
class SourceLines:
    """Looks up Python source lines for `Report.source_line`; "" if unknown.

    Args:
        root: the project's folder; paths are relative to it.
        sides: the old and the new side; None if unknown.
        libraries: lines of library files on both sides, by name (`site-packages/optax/_src/base.py`).

    Example:
        >>> lines = SourceLines(Path("."), (SourceSide("HEAD"), SourceSide(WORK_TREE)))
        >>> lines("train_step", "cpu", 1, "model.py", 31)  # doctest: +SKIP
        '    x = jax.nn.silu(layer(x))'
    """

    root: Path
    sides: tuple[SourceSide | None, SourceSide | None]
    libraries: tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]] = ({}, {})
    _files: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    _contents: dict[tuple[str, str], bytes] = field(default_factory=dict)
    _recorded_files: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    _lost: dict[tuple[int, str], dict[str, None]] = field(default_factory=dict)
    _commits: dict[tuple[str, str], str] = field(default_factory=dict)
    _edited: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        """The text of a line; "" if unknown, or not in a Python file of the project or `libraries`."""
        lines = self.file_lines(name, target, side, file)
        return lines[line - 1].rstrip()[:_LONGEST] if 1 <= line <= len(lines) else ""

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        """Whether a file has a line with that text, ignoring indentation; True if the file is unknown."""
        lines = self.file_lines(name, target, side, file)
        return not lines or any(text.strip() == line[:_LONGEST].strip() for line in lines)

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> Sequence[str]:
        """All lines of a file; () if unknown."""
        if file.startswith(INSTALLED):
            return self.libraries[side].get(file, ())
        source, folder = self.sides[side], f"{name}/{target}" if target else name
        if source is None or not is_python(file):
            return ()
        try:
            revision = self._recorded(source, folder)
            return self._lines(*self._version(side, folder, file, revision)) if revision else ()
        except (StoreError, OSError, ValueError):  # ValueError: zero bytes, invalid UTF-8
            return ()

    def edited_files(self, name: str, target: str | None) -> Sequence[str]:
        """The project's Python files that differ between the sides; () if unknown."""
        folder = f"{name}/{target}" if target else name
        try:
            revisions = [self._recorded(side, folder) if side else "" for side in self.sides]
            return self._differing(revisions[0], revisions[1]) if all(revisions) else ()
        except (StoreError, OSError):
            return ()

    def lost_files(self, name: str, target: str | None) -> Sequence[tuple[int, str]]:
        """Files that had another content when a program was recorded, which git does not have, each with its side.

        Only those whose lines were asked for are known.
        """
        folder = f"{name}/{target}" if target else name
        return [(side, file) for side in (0, 1) for file in self._lost.get((side, folder), ())]

    def _version(self, side: int, folder: str, file: str, revision: str) -> tuple[str, str]:
        """The revision and the file that a program came from; if none has its content, git's name for that."""
        known = self._files_of(side, folder).get(file)
        for one in (revision, WORK_TREE) if known else ():
            if content_id(self._content(one, file)) == known:
                return one, file
        if known is None:
            return revision, file
        if not self._content("", known):
            self._lost.setdefault((side, folder), {})[file] = None
        return "", known

    def _files_of(self, side: int, folder: str) -> dict[str, str]:
        """Git's names for the files that a program was recorded from; {} if it was made from a revision."""
        source = self.sides[side]
        if source is None or source.snapshots is None:
            return {}
        if (side, folder) not in self._recorded_files:
            path = (self.root / source.snapshots / folder / SOURCE).absolute()
            if source.revision in (WORK_TREE, "HEAD"):
                content = path.read_bytes() if path.is_file() else b""
            else:
                inside = path.relative_to(self.root.absolute()).as_posix()
                content = git(
                    self.root, ["show", "--end-of-options", f"{source.revision}:./{inside}"], "git", accept=(0, 128)
                )
            self._recorded_files[side, folder] = recorded_files(content)
        return self._recorded_files[side, folder]

    def _differing(self, old: str, new: str) -> Sequence[str]:
        if (old, new) not in self._edited:
            commands = []
            if old != WORK_TREE:
                ends = [old] if new == WORK_TREE else [old, new]
                commands.append(["diff", "--name-only", "--relative", "--end-of-options", *ends, "--", "*.py"])
            if new == WORK_TREE != old:
                commands.append(["ls-files", "--others", "--exclude-standard", "--", "*.py"])
            found = (file for command in commands for file in self._git(command).split("\n"))
            self._edited[old, new] = sorted(filter(None, found))
        return self._edited[old, new]

    def _recorded(self, side: SourceSide, folder: str) -> str:
        """The revision whose sources made a program: the last commit of its snapshot, WORK_TREE if not committed."""
        if side.snapshots is None:
            return side.revision
        key = (side.revision, folder)
        if key not in self._commits:
            path = str(side.snapshots / folder)
            if side.revision == WORK_TREE:
                dirty = self._git(["status", "--porcelain", "--", path])
                found = WORK_TREE if dirty else self._git(["log", "-1", "--format=%H", "--", path])
            else:
                found = self._git(["log", "-1", "--format=%H", "--end-of-options", side.revision, "--", path])
            self._commits[key] = found
        return self._commits[key]

    def _lines(self, revision: str, file: str) -> Sequence[str]:
        key = (revision, file)
        if key not in self._files:
            text = self._content(revision, file).decode("utf-8", "replace")
            self._files[key] = text.splitlines() if len(text) <= _MOST_BYTES else ()
        return self._files[key]

    def _content(self, revision: str, file: str) -> bytes:
        """The content of a file; without a revision, that of git's name for it; empty if unknown."""
        key = (revision, file)
        if key not in self._contents:
            if revision == WORK_TREE:
                path = self.root / file
                ok = path.resolve().is_relative_to(self.root.resolve())
                content = plain_file(path) if ok else b""
            else:
                arguments = (
                    ["show", "--end-of-options", f"{revision}:./{file}"] if revision else ["cat-file", "blob", file]
                )
                content = git(self.root, arguments, "git", accept=(0, 128))
            self._contents[key] = content
        return self._contents[key]

    def _git(self, arguments: Sequence[str]) -> str:
        return git(self.root, arguments, "git", accept=(0, 128)).decode("utf-8", "replace").strip("\n")


def library_lines(files: Iterable[str], packages: Sequence[str], folder: Path | None) -> dict[str, Sequence[str]]:
    """The lines of files of installed libraries, read while their environment exists.

    Args:
        files: as programs name them (`site-packages/optax/_src/base.py`); others are skipped.
        packages: import names of the libraries to read; nothing else in the folder is read.
        folder: where they are installed; None if unknown.

    Returns:
        lines by file.

    Example:
        >>> library_lines(["site-packages/optax/_src/base.py"], ["optax"], None)
        {}
    """
    heads = tuple(f"{INSTALLED}{package}/" for package in packages)
    found: dict[str, Sequence[str]] = {}
    if folder is None or folder.name not in ("site-packages", "dist-packages"):
        return found
    for file in sorted(set(files)):
        inside = file.removeprefix(INSTALLED)
        if not file.startswith(heads) or not is_python(inside):
            continue
        path, package = folder / inside, folder / inside.partition("/")[0]
        try:
            if path.resolve().is_relative_to(package.resolve()):
                found[file] = plain_file(path).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            continue
    return found


def of_snapshots(root: Path, snapshots: Path) -> SourceLines:
    """The sources of committed snapshots and of the work tree, as `check` compares them.

    Args:
        root: the project's folder.
        snapshots: the folder of its snapshots.

    Example:
        >>> of_snapshots(Path("."), Path("snapshots")).sides[1]
        SourceSide(revision='work tree', snapshots=None)
    """
    return SourceLines(root, (SourceSide("HEAD", snapshots), SourceSide(WORK_TREE)))


def of_trees(root: Path, snapshots: Path, trees: tuple[Tree | None, Tree | None]) -> SourceLines | None:
    """The sources of committed snapshots on either side; None if both are plain files or other folders.

    Args:
        root: the project's folder.
        snapshots: the folder of its snapshots.
        trees: the files that the programs of both sides were read from.

    Example:
        >>> of_trees(Path("."), Path("snapshots"), (None, None))
    """
    sides: list[SourceSide | None] = []
    for tree in trees:
        side = None
        if isinstance(tree, GitTree):
            side = SourceSide(tree.spec.partition(":")[0], snapshots)
        elif isinstance(tree, FolderTree) and tree.root.resolve() == snapshots.resolve():
            side = SourceSide(WORK_TREE, snapshots)
        sides.append(side)
    return SourceLines(root, (sides[0], sides[1])) if any(sides) else None


def uncommitted_with_old_lines(root: Path, snapshots: Path, recorded: Mapping[Key, Snapshot]) -> Iterator[Key]:
    """Snapshots that are not committed as they are, and whose Python files were edited since they were recorded.

    Their lines would be those of no commit. A snapshot that is committed keeps its lines: its commit has the files.

    Args:
        root: the project's folder.
        snapshots: the folder of its snapshots.
        recorded: the snapshots, by key.

    Example:
        >>> list(uncommitted_with_old_lines(Path("."), Path("snapshots"), {}))
        []
    """
    contents: dict[str, str] = {}
    status = ["status", "--porcelain", "--untracked-files=all", "--"]
    is_any = bool(recorded) and bool(git(root, [*status, str(snapshots)], "git", accept=(0, 128)))
    for key, snapshot in recorded.items() if is_any else ():
        files = (snapshot.source or {}).get("files")
        for file, known in files.items() if isinstance(files, dict) else ():
            if file not in contents:
                path = root / file
                contents[file] = content_id(plain_file(path)) if path.is_file() else ""
            if contents[file] != known and git(root, [*status, str(snapshots / key.folder)], "git", accept=(0, 128)):
                yield key
                break
