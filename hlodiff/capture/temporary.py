"""A temporary folder bound to its process: the next process deletes what a killed one left."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from hlodiff.interrupts import deferred

_PREFIX = "hlodiff.run-"
TREE = "tree"
"""Name of a git checkout in a temporary folder."""


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is locked as long as this process lives.

    The system releases the lock when a process is killed, so a folder that can be locked is abandoned. This works
    between containers that share a temporary folder, where process ids mean nothing.

    Args:
        place: the parent folder; None for the system's temporary folder.

    Example:
        >>> with TemporaryFolder() as folder:
        ...     Path(folder).is_dir()
        True
    """

    YOUNG = 5.0
    """Seconds: a younger folder may not be locked yet."""

    def __init__(self, place: Path | None = None) -> None:
        _drop_abandoned(place)
        super().__init__(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True)
        self._handle = os.open(self.name, os.O_RDONLY)
        _lock(self._handle)

    def cleanup(self) -> None:
        """Delete the whole folder, even if signals arrive."""
        with deferred():
            with contextlib.suppress(OSError):
                os.close(self._handle)
            super().cleanup()


def _drop_abandoned(place: Path | None = None) -> None:
    """Delete the folders of dead processes of this user.

    Args:
        place: the parent folder; None for the system's temporary folder.
    """
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(place or tempfile.gettempdir())):
            if entry.name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    _drop(Path(entry.path))


def _drop(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        about = os.fstat(handle)
        if about.st_uid == os.getuid() and time.time() - about.st_mtime > TemporaryFolder.YOUNG and _lock(handle):
            with contextlib.suppress(OSError, ValueError):
                _forget_checkout(folder / TREE)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _forget_checkout(tree: Path) -> None:
    """Delete a repository's record of a removed checkout: the folder in its git directory that refers to it."""
    link = tree / ".git"
    if link.is_symlink() or not link.is_file():
        return
    known = Path(os.fsdecode(link.read_bytes().removeprefix(b"gitdir: ").rstrip(b"\n")))
    if known.parent.name == "worktrees" and os.fsdecode((known / "gitdir").read_bytes()).rstrip("\n") == str(link):
        shutil.rmtree(known, ignore_errors=True)


def _lock(handle: int) -> bool:
    """Whether the lock is free; always False if the system has no such locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
