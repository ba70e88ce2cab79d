"""Another git revision: a temporary checkout beside the work tree, removed whatever happens, and what changed since."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from hlodiff.capture import Discovery, TemporaryFolder, package_version
from hlodiff.capture.supervision import run_child
from hlodiff.capture.temporary import TREE
from hlodiff.config import Config, process_environment
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.interrupts import deferred, terminable
from hlodiff.snapshots import FolderTree, Key, read_summary
from hlodiff.snapshots.trees import GIT, git
from hlodiff.workflows.select import ChosenFunctions

# Git hooks run with these set; they would point our commands at another repository or index.
_DROPPED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
_GITLINK = b"160000"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A revision that is checked out.

    Args:
        commit: its full id.
        label: name in reports: `main (3fa2b1c)`.
        top: the top folder of the repository.
        folder: the folder of the checkout.
        notes: notes for the report.
    """

    commit: str
    label: str
    top: Path
    folder: Path
    notes: tuple[str, ...] = ()

    def counterpart(self, path: Path) -> Path:
        """The path in this checkout of a file or folder of the repository."""
        return self.folder / path.resolve().relative_to(self.top)


@contextlib.contextmanager
def checked_out(spec: str, start: Path) -> Iterator[Checkout]:
    """Check a revision out into a temporary folder, removed on exit, also by Ctrl-C or SIGTERM.

    Args:
        spec: a revision; with the suffix `...`, the commit where this branch left it.
        start: a folder in the repository.

    Returns:
        the checkout, with those submodules of the revision that exist here.

    Raises:
        UsageError: no git, no repository, no such revision, or git cannot check it out.

    Example:
        >>> with checked_out("HEAD~1", Path(".")) as checkout:  # doctest: +SKIP
        ...     print(checkout.label)
    """
    top = Path(os.fsdecode(_git(start, ["rev-parse", "--show-toplevel"], spec)).rstrip("\n")).resolve()
    commit = commit_of(start, spec)
    held = TemporaryFolder()
    temporary = Path(held.name).resolve()
    folder = temporary / TREE
    with terminable():
        try:
            # No hooks: a project's checkout hooks are not meant for a temporary folder.
            add = ["-c", f"core.hooksPath={os.devnull}", "worktree", "add", "--quiet", "--detach", "--force"]
            _git(top, [*add, str(folder), commit], spec)
            notes = tuple(_submodules(top, folder, commit, spec, temporary / "index"))
            yield Checkout(commit, f"{spec} ({commit[:7]})", top, folder, notes)
        finally:
            with deferred():  # a second Ctrl-C must not leave it half removed
                _run(top, ["worktree", "remove", "--force", "--force", str(folder)])
                held.cleanup()
                _run(top, ["worktree", "prune"])


def commit_of(start: Path, spec: str, option: str = "--against") -> str:
    """The id of the commit that a revision names; `main...` is where this branch left main.

    Args:
        start: a folder in the repository.
        spec: as typed.
        option: the option it was typed for, for messages.

    Raises:
        UsageError: there is no such revision here.
    """
    revision = spec.removesuffix("...") if spec.endswith("...") else spec
    found = _run(start, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"])
    commit = found.stdout.decode().strip()
    if found.returncode or not commit:
        shallow = _run(start, ["rev-parse", "--is-shallow-repository"]).stdout.strip() == b"true"
        what = f"no git revision is called {revision!r}"
        if shallow:
            hint = "this clone is shallow: `git fetch --unshallow`, or `git fetch origin REVISION` and `FETCH_HEAD`"
            raise UsageError(f"{what} here", where=option, hint=hint)
        raise UsageError(what, where=option, hint="`git log --oneline` lists revisions; fetch those of others")
    if revision == spec:
        return commit
    base = _run(start, ["merge-base", commit, "HEAD"]).stdout.decode().strip()
    if not base:
        hint = f"a shallow clone may lack it: `git fetch --unshallow`; or compare with `{revision}` itself"
        raise UsageError(f"this branch and {revision!r} have no commit in common here", where=option, hint=hint)
    return base


def _submodules(repository: Path, folder: Path, commit: str, spec: str, index: Path) -> Iterator[str]:
    """Fill submodule folders, which `git worktree` leaves empty, from the work tree's own submodules."""
    listing = _git(repository, ["ls-tree", "-r", "-z", "--full-tree", commit], spec)
    for row in listing.split(b"\0"):
        head, _, name = row.partition(b"\t")
        if not head.startswith(_GITLINK):
            continue
        path, wanted = os.fsdecode(name), head.split()[2].decode()
        inner = repository / path
        has_it = (inner / ".git").exists() and _run(inner, ["cat-file", "-e", f"{wanted}^{{commit}}"]).returncode == 0
        if not has_it:
            yield f"submodule {path} of {spec} is not here: `git submodule update --init --recursive`"
            continue
        # A separate index, so that the submodule's work tree and index are not touched.
        env = {"GIT_INDEX_FILE": str(index)}
        _git(inner, ["read-tree", wanted], spec, env)
        _git(inner, ["checkout-index", "--all", "--force", f"--prefix={folder / path}{os.sep}"], spec, env)
        index.unlink(missing_ok=True)
        yield from _submodules(inner, folder / path, wanted, spec, index)


def _git(folder: Path, arguments: Sequence[str], spec: str, more: dict[str, str] | None = None) -> bytes:
    done = _run(folder, arguments, more)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        message = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
        if "not a git repository" in message:
            hint = "--against compares with a revision: commit the project to git first"
            raise UsageError("this is not a git repository", where=str(folder), hint=hint)
        raise UsageError(f"git cannot check {spec!r} out: {message.partition(': ')[2] or message}", where="--against")
    return done.stdout


def _run(
    folder: Path, arguments: Sequence[str], more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in process_environment().items() if name not in _DROPPED} | (more or {})
    command = [*GIT, "-C", str(folder), *arguments]
    try:
        return run_child(command, env=env)
    except FileNotFoundError:
        raise UsageError("git is not installed", where="--against", hint="install git") from None


# --- `hlodiff check --changed REV`: programs that changes since a revision may affect.

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
