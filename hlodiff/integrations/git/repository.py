"""The git repository that a project lies in, as `hlodiff git` needs it: its top, its own configuration, attributes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hlodiff.config import Config
from hlodiff.errors import StoreError, UsageError
from hlodiff.snapshots.trees import git


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree of git with a project in it.

    Args:
        top: the top folder of the work tree.
        root: the project's folder.
        snapshots: its snapshots folder, links resolved.
    """

    top: Path
    root: Path
    snapshots: Path

    @property
    def attributes(self) -> Path:
        """The .gitattributes that names our files: the project's, or that of snapshots that lie outside of it."""
        root = Path(os.path.realpath(self.root))
        return (self.root if self.snapshots.is_relative_to(root) else self.snapshots) / ".gitattributes"

    @property
    def below(self) -> str:
        """The snapshots folder below that file's folder, with `/`; "" where it is that folder."""
        root = Path(os.path.realpath(self.attributes.parent))
        relative = self.snapshots.relative_to(root).as_posix()
        return "" if relative == "." else relative

    @property
    def own_attributes(self) -> Path:
        """The attributes of this clone and its worktrees, which nobody else gets."""
        path = os.fsdecode(self.ask(["rev-parse", "--git-path", "info/attributes"])).rstrip("\n")
        return Path(os.path.realpath((self.top / path).parent), "attributes")  # git's directory is the user's own

    @property
    def below_top(self) -> str:
        """The snapshots folder below the top of the work tree, with `/`; "" where it is that folder."""
        relative = self.snapshots.relative_to(os.path.realpath(self.top)).as_posix()
        return "" if relative == "." else relative

    def values(self, key: str) -> tuple[str, ...]:
        """What the repository's own configuration says of a key; not the user's, not the system's."""
        found = self.ask(["config", "--local", "-z", "--get-all", key], accept=(0, 1))
        return tuple(os.fsdecode(value) for value in found.split(b"\0")[:-1])

    def set(self, key: str, value: str) -> None:
        """Set a key of the repository's own configuration."""
        self.ask(["config", "--local", "--replace-all", key, value])

    def unset(self, key: str) -> None:
        """Take a key out of the repository's own configuration; a section that is left empty goes too."""
        self.ask(["config", "--local", "--unset-all", key], accept=(0, 5))

    def ask(self, arguments: Sequence[str], accept: Sequence[int] = (0,)) -> bytes:
        """One git command at the top of the work tree."""
        return git(self.top, arguments, "git", accept=accept)


def repository_of(config: Config) -> Repository:
    """The repository that a project lies in.

    Args:
        config: the project's.

    Returns:
        its work tree; of a linked worktree or a submodule its own.

    Raises:
        UsageError: there is no git, no repository, no work tree, or the snapshots lie outside of it.
    """
    try:
        top = Path(os.fsdecode(git(config.root, ["rev-parse", "--show-toplevel"], "")).rstrip("\n"))
    except StoreError as error:
        raise _no_repository(error, config.root) from None
    snapshots = Path(os.path.realpath(config.snapshots))
    if not snapshots.is_relative_to(os.path.realpath(top)):
        raise UsageError("the snapshots folder is outside this git repository", where=str(config.snapshots))
    return Repository(top, config.root, snapshots)


def _no_repository(error: StoreError, root: Path) -> UsageError:
    if "not a git repository" in error.what:
        return UsageError("this is not a git repository", where=str(root), hint="git init")
    if "work tree" in error.what or "cannot use bare repository" in error.what:
        hint = "run it where the files are checked out: drivers are set up for a clone, not for a server"
        return UsageError("this git repository has no work tree here", where=str(root), hint=hint)
    if "git is not installed" in error.what:
        return UsageError("git is not installed", hint="install git")
    return UsageError(f"git says: {error.what}", where=str(root))
