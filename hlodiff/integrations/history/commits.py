"""The commits that touched certain files, and the contents of the files, in a fixed number of git processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.errors import StoreError
from hlodiff.snapshots.trees import LARGEST, find_object, git, is_shallow

_HEAD = "%x01%H%x00%P%x00%aN%x00%aI%x00%s"
# User settings of git that change the output of `git log`.
_SETTINGS = ("-c", "log.showRoot=true", "-c", "log.showSignature=false")
# Merges are listed with the files that differ from all parents (`-c`), and history is simplified as by default.
_LOG = (
    "log", "--topo-order", "--parents", "-c", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-relative",
    "--no-color", "--no-ext-diff", "--no-decorate", "--no-notes", "--encoding=UTF-8", f"--format=tformat:{_HEAD}",
)  # fmt: skip
_MOST_LISTED = 256 * 1024 * 1024  # bytes for all commits: 100,000 with ten files each
_REGULAR = ("100644", "100755")
_CUT_OFF = "this clone is shallow and may lack it: `git fetch --unshallow`"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as reports show it.

    Args:
        id: full object id.
        parents: ids of the next older commits that touched the files, after git's history simplification.
        author: name only.
        date: author date, in ISO 8601 with the author's time zone.
        subject: the first line of its message, unescaped.

    Example:
        >>> Commit("3f2a1bc9d0", (), "Ann", "2026-02-11T10:00:00+01:00", "Fuse the loss").short
        '3f2a1bc'
    """

    id: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str

    @property
    def short(self) -> str:
        """The abbreviated id."""
        return self.id[:7]

    @property
    def day(self) -> str:
        """The day of the author date."""
        return self.date[:10]


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file in a commit.

    Args:
        path: path from the top of the repository, with `/`.
        old, new: object ids on both sides; "" if there is no such file, or it is a link.
    """

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit with the files that it changed; for a merge, those that differ from all its parents."""

    commit: Commit
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class GitObjects:
    """The repository that history is read from.

    Args:
        folder: any folder in the repository.
        below: path of the snapshots folder from the top of the repository, with `/`; "" if it is the top.
        shallow: commits at which a shallow clone ends; their parents exist, but not in this clone.
    """

    folder: Path
    below: str
    shallow: frozenset[str] = field(default_factory=frozenset)


def open_repository(folder: Path, snapshots: Path) -> GitObjects:
    """Find the repository of a folder.

    Args:
        folder: any folder in it.
        snapshots: absolute path of the snapshots folder; it need not exist.

    Returns:
        the repository.

    Raises:
        StoreError: there is none, or the snapshots are outside it.

    Example:
        >>> open_repository(Path("."), Path("snapshots").absolute()).below  # doctest: +SKIP
        'snapshots'
    """
    top = Path(os.path.realpath(_line(git(folder, ["rev-parse", "--show-toplevel"], str(folder)))))
    inside = Path(os.path.realpath(snapshots))
    if not inside.is_relative_to(top):
        raise StoreError("the snapshots folder is outside this git repository", where=str(snapshots))
    below = inside.relative_to(top).as_posix()
    shallow: frozenset[str] = frozenset()
    if is_shallow(folder):
        listed = Path(_line(git(folder, ["rev-parse", "--git-path", "shallow"], "")))
        file = listed if listed.is_absolute() else (folder.parent if folder.is_file() else folder) / listed
        shallow = frozenset(file.read_text(encoding="ascii").split()) if file.is_file() else shallow
    return GitObjects(folder, "" if below == "." else below, shallow)


def _line(output: bytes) -> str:
    return os.fsdecode(output).rstrip("\n")


def revisions_of(repository: GitObjects, revision: str) -> tuple[str, ...]:
    """Resolve a revision or range to ids: the starting points, and with `^` the excluded commits.

    Args:
        repository: the repository.
        revision: `HEAD`, `main..`, `v1.0...HEAD`, as in `git log`.

    Raises:
        StoreError: there is no such revision.

    Example:
        >>> revisions_of(open_repository(Path("."), Path("snapshots").absolute()), "v1..v2")  # doctest: +SKIP
        ('5d0c...', '^0f3e...')
    """
    what = f"no git revision or range is called {revision!r}"
    hint = "as in git: `main..HEAD`, `v1.2..`, `HEAD~20..`"
    if revision.startswith("-") or not revision:
        raise StoreError(what, where=revision, hint=hint)
    command = ["rev-parse", "--revs-only", revision, "--"]
    found = git(repository.folder, command, revision, accept=(0, 128)).decode().split()
    commits = [f"{one}^{{commit}}" for one in found]
    if not found or not all(find_object(repository.folder, one.removeprefix("^"), revision) for one in commits):
        raise StoreError(what, where=revision, hint=_CUT_OFF if repository.shallow else hint)
    return tuple(found)


def touching(
    repository: GitObjects, revisions: Sequence[str], folders: Iterable[str], options: Sequence[str] = ()
) -> tuple[Touch, ...]:
    """The commits that touched folders or files, newest first, from one `git log`.

    Args:
        repository: the repository.
        revisions: ids; those with `^` are excluded.
        folders: pathspecs; `literally` makes them from plain paths.
        options: additional options of `git log`.

    Returns:
        commits in an order in which no parent comes before its child.

    Raises:
        StoreError: git fails.
    """
    command = [*_SETTINGS, *_LOG, *options, *revisions, "--", *folders]
    return tuple(_touches(git(repository.folder, command, "git log", limit=_MOST_LISTED)))


def literally(path: str) -> str:
    """The pathspec of a path from the top of the repository, whatever characters it contains."""
    return f":(top,literal){path}"


def _touches(output: bytes) -> Iterator[Touch]:
    """Parse `git log`. Fields are separated by NUL and each header has a fixed number, so no subject can be misread."""
    fields = iter(output.split(b"\0"))
    commit, changes = None, list[FileChange]()
    for one in fields:
        word = one.lstrip(b"\n")
        if word.startswith(b"\x01"):
            if commit:
                yield Touch(commit, tuple(changes))
            parents, author, date, subject = (next(fields).decode("utf-8", "replace") for _ in range(4))
            commit, changes = Commit(word[1:].decode(), tuple(parents.split()), author, date, subject), []
        elif word.startswith(b":"):
            changes.append(_change(word.decode(), os.fsdecode(next(fields))))
    if commit:
        yield Touch(commit, tuple(changes))


def _change(raw: str, path: str) -> FileChange:
    """`:OLDMODE NEWMODE OLD NEW M`, in a merge `::MODE MODE NEWMODE OLD OLD NEW MM`: the first parent counts."""
    words = raw.lstrip(":").split()
    parents = (len(words) - 3) // 2
    old = words[parents + 1] if words[0] in _REGULAR else ""
    new = words[2 * parents + 1] if words[parents] in _REGULAR else ""
    return FileChange(path, old, new)


def objects(repository: GitObjects, names: Iterable[str], limit: int = LARGEST) -> Mapping[str, bytes | str]:
    """The git objects with the given names, read by two processes.

    Args:
        repository: the repository.
        names: object ids, or `COMMIT:PATH`.
        limit: maximum size in bytes; larger objects are not read.

    Returns:
        for each name its bytes, or the reason in words why there are none.

    Raises:
        StoreError: git fails.
    """
    asked = [name for name in dict.fromkeys(names) if name and "\n" not in name]
    found: dict[str, bytes | str] = {}
    wanted: list[tuple[str, str]] = []
    for name, about in zip(asked, _about(repository, asked), strict=True):
        words = about.split()
        if len(words) != 3 or words[1] != "blob":
            found[name] = "git does not have it here"
        elif int(words[2]) > limit:
            found[name] = f"{int(words[2]):,} bytes are more than hlodiff reads ({limit:,})"
        else:
            wanted.append((name, words[0]))
    request = "".join(f"{oid}\n" for oid in dict.fromkeys(oid for _, oid in wanted)).encode()
    output = git(repository.folder, ["cat-file", "--batch"], "git cat-file", request) if wanted else b""
    contents = dict(_contents(output))
    return found | {name: contents.get(oid, "git does not have it here") for name, oid in wanted}


def _about(repository: GitObjects, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    request = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    output = git(repository.folder, ["cat-file", "--batch-check"], "git cat-file", request)
    # Missing objects are listed by name, which may contain spaces.
    lines = output.decode("utf-8", "surrogateescape").split("\n")[:-1]
    return ["" if line.endswith((" missing", " ambiguous")) else line for line in lines]


def _contents(output: bytes) -> Iterator[tuple[str, bytes]]:
    position = 0
    while position < len(output):
        end = output.index(b"\n", position)
        head = output[position:end].decode().split()
        size = int(head[2]) if len(head) == 3 and head[2].isdigit() else -1
        if size >= 0:
            yield head[0], output[end + 1 : end + 1 + size]
        position = end + 1 + (size + 1 if size >= 0 else 0)
