"""`hlodiff check --changed REV`: programs that changes since a revision may affect."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from hlodiff.capture import Discovery, package_version
from hlodiff.config import Config
from hlodiff.errors import HlodiffError
from hlodiff.snapshots import FolderTree, Key, read_summary
from hlodiff.snapshots.trees import git
from hlodiff.workflows.revision import commit_of
from hlodiff.workflows.select import ChosenFunctions

# The configuration and files that pin packages: if one changed, every program is checked.
_FOR_ALL = (
    "pyproject.toml", "setup.py", "setup.cfg", "*constraints*.txt", "*requirements*.txt", "*.lock", "pylock*.toml",
    "environment*.y*ml",
)  # fmt: skip
_VERSIONS = ("jax", "jaxlib")


@dataclass(frozen=True, slots=True)
class ChangedSince:
    """Files changed since a revision, committed or not.

    Args:
        revision: as typed.
        files: real paths of changed, new and deleted files.
    """

    revision: str
    files: frozenset[str]

    @classmethod
    def of(cls, revision: str, root: Path) -> ChangedSince:
        """Ask git.

        Args:
            revision: any git revision; `main...` is where this branch left main.
            root: the project's folder.

        Raises:
            UsageError: no git, no repository or no such revision.
        """
        commit = commit_of(root, revision, "--changed")
        top = Path(os.fsdecode(git(root, ["rev-parse", "--show-toplevel"], revision)).rstrip("\n"))
        listed = git(top, ["diff", "--name-only", "--no-renames", "-z", commit, "--"], revision)
        listed += git(top, ["ls-files", "--others", "--exclude-standard", "-z"], revision)
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        return cls(revision, frozenset(os.path.realpath(top / name) for name in names))

    def only_changed(
        self, chosen: ChosenFunctions, discovery: Discovery, config: Config
    ) -> tuple[ChosenFunctions, tuple[str, ...]]:
        """Skip programs that the changes cannot affect.

        Args:
            chosen: the programs of the run.
            discovery: registered functions with their source files.
            config: the project's.

        Returns:
            the remaining programs, and a note on how many were skipped.
        """
        names = sorted(Path(file).name for file in self.files)
        for_all = (name for name in names if any(fnmatchcase(name, pattern) for pattern in _FOR_ALL))
        if everything := next(for_all, ""):
            return chosen, (f"all functions are looked at: {everything} changed since {self.revision}",)
        touched = {
            one.name
            for one in discovery.functions
            if one.imports is None or any(os.path.realpath(config.root / file) in self.files for file in one.imports)
        }
        installed = cache(package_version)  # reads package metadata, three times per program
        kept = tuple(
            key
            for key in chosen.registered
            if key.function in touched or self._is_recorded_otherwise(key, config, installed)
        )
        left = len(chosen.registered) - len(kept)
        if not left:
            return chosen, ()
        note = f"{left:,} of {len(chosen.registered):,} programs were not looked at: no file that they import"
        return replace(chosen, registered=kept), (f"{note} has changed since {self.revision}",)

    def _is_recorded_otherwise(self, key: Key, config: Config, installed: Callable[[str], str]) -> bool:
        """Whether the snapshot is missing, has changed too, or was made by another JAX."""
        folder = os.path.realpath(config.snapshots / key.folder) + os.sep
        if any(file.startswith(folder) for file in self.files):
            return True
        try:
            toolchain = read_summary(FolderTree(config.snapshots), key).get("toolchain") or {}
        except HlodiffError:
            return True
        plugin, _, version = str(toolchain.get("plugin") or "").rpartition(" ")
        wanted = {name: toolchain.get(name) for name in _VERSIONS} | ({plugin: version} if plugin else {})
        return any(installed(name) != version for name, version in wanted.items())
