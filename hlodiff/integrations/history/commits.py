"""The commits of a git repository that touched some files, and what the files held: a few processes, however many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.errors import StoreError
from hlodiff.snapshots.trees import LARGEST, find_object, git, is_shallow

_HEAD = "%x01%H%x00%P%x00%aN%x00%aI%x00%s"
# Settings of a user's git that change what `git log` prints.
_SETTINGS = ("-c", "log.showRoot=true", "-c", "log.showSignature=false")
# Merges are recognized by what none of their parents has (`-c`), and history is simplified as for a person.
_LOG = (
    "log", "--topo-order", "--parents", "-c", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-relative",
    "--no-color", "--no-ext-diff", "--no-decorate", "--no-notes", "--encoding=UTF-8", f"--format=tformat:{_HEAD}",
)  # fmt: skip
_MOST_LISTED = 256 * 1024 * 1024  # bytes of all commits: 100,000 with ten files each
_REGULAR = ("100644", "100755")
_CUT_OFF = "this clone is shallow and may lack it: `git fetch --unshallow`"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as a report names it.

    Args:
        id: its whole object id.
        parents: ids of the next older commits that touched the files, as git has simplified the history.
        author: name only.
        date: when it was written, in ISO 8601 with the author's time zone.
        subject: the first line of its message, not yet escaped.

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
        """The beginning of its id."""
        return self.id[:7]

    @property
    def day(self) -> str:
        """The day it was written on."""
        return self.date[:10]


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a commit did to one file.

    Args:
        path: from the top of the repository, with `/`.
        old, new: object ids on both sides; "" where there is no such file, or it is a link.
    """

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit with the files that it changed; a merge with those that it has from none of its parents."""

    commit: Commit
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class GitObjects:
    """Where history is read from.

    Args:
        folder: any folder in the repository.
        below: path of the snapshots folder from the top of the repository, with `/`; "" where it is the top.
        shallow: commits at which a shallow clone ends; their parents exist, and are not here.
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
        StoreError: there is none, or the snapshots lie outside it.

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
    """What a revision or a range of revisions means, as ids: where history starts, and with `^` what it leaves out.

    Args:
        repository: where to look.
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
    """The commits that touched folders or files, newest first, by one `git log`.

    Args:
        repository: where to look.
        revisions: ids, those with `^` left out.
        folders: pathspecs; plain paths from the top are made by `literally`.
        options: further ones of `git log`.

    Returns:
        commits in an order in which no parent comes before its child.

    Raises:
        StoreError: git fails.
    """
    command = [*_SETTINGS, *_LOG, *options, *revisions, "--", *folders]
    return tuple(_touches(git(repository.folder, command, "git log", limit=_MOST_LISTED)))


def literally(path: str) -> str:
    """The pathspec of a path from the top of the repository, whatever characters it has."""
    return f":(top,literal){path}"


def _touches(output: bytes) -> Iterator[Touch]:
    """Fields are parted by NUL; how many a head has is known, so that no subject can look like anything else."""
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
    """What git has under many names, by two processes.

    Args:
        repository: where to look.
        names: object ids, or `COMMIT:PATH`.
        limit: bytes above which nothing is read.

    Returns:
        for each name its bytes; where there are none, in words why not.

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
    # What is missing is listed with its name, which may have spaces.
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
