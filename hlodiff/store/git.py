"""Asking git: one command, its output as bytes, its trouble as ours."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from hlodiff.errors import StoreError

_SHALLOW = "this clone is shallow and may lack it: `git fetch --unshallow`"


def git(
    repository: Path, arguments: Sequence[str], where: str, data: bytes = b"", accept: Sequence[int] = (0,)
) -> bytes:
    """Run one git command.

    Args:
        repository: a folder in the repository.
        arguments: what stands after `git`.
        where: what the user typed, for messages.
        data: what the command reads.
        accept: exit codes that are no failure.

    Returns:
        what it printed.

    Raises:
        StoreError: git is not installed, or says that something is wrong.

    Example:
        >>> git(Path("."), ["rev-parse", "HEAD"], "HEAD")  # doctest: +SKIP
        b'0f3e1c...\\n'
    """
    folder = repository.parent if repository.is_file() else repository  # `--project pyproject.toml`
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], input=data, capture_output=True, check=False)
    except FileNotFoundError:
        hint = "give files or folders, or install git"
        raise StoreError("git is not installed, so no revision can be read", where=where, hint=hint) from None
    if done.returncode not in accept:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise StoreError(lines[0].removeprefix("fatal: "), where=where)
    return done.stdout


def is_shallow(repository: Path) -> bool:
    """Whether this clone holds only the newest commits.

    Args:
        repository: a folder in the repository.
    """
    return git(repository, ["rev-parse", "--is-shallow-repository"], "", accept=(0, 128)).strip() == b"true"


def find_object(repository: Path, expression: str, where: str) -> str:
    """The id of the object that git calls so; "" where there is none.

    Args:
        repository: a folder in the repository.
        expression: as in `git rev-parse`: `main^{commit}`, `HEAD:snapshots`.
        where: what the user typed, for messages.
    """
    # `--end-of-options`: a revision that starts with a dash is a name, never an option.
    command = ["rev-parse", "--verify", "--quiet", "--end-of-options", expression]
    return git(repository, command, where, accept=(0, 1, 128)).decode().strip()


def need_object(repository: Path, expression: str, where: str, what: str) -> str:
    """The same, where it has to exist.

    Args:
        repository, expression, where: see `find_object`.
        what: the message where there is none.

    Raises:
        StoreError: there is none.
    """
    found = find_object(repository, expression, where)
    if not found:
        hint = _SHALLOW if is_shallow(repository) else "`git log --oneline` lists revisions"
        raise StoreError(what, where=where, hint=hint)
    return found


def merge_base(repository: Path, one: str, other: str, where: str) -> str:
    """The commit in which two revisions parted.

    Args:
        repository: a folder in the repository.
        one, other: revisions.
        where: what the user typed, for messages.

    Returns:
        its id.

    Raises:
        StoreError: one of them does not exist, or they have no commit in common here.

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
        hint = _SHALLOW if is_shallow(repository) else f"compare the two themselves: `hlodiff diff {one} {other}`"
        raise StoreError(f"{one} and {other} have no commit in common", where=where, hint=hint)
    return base[0]
