"""A temporary folder that goes with its process: what a killed one has left is deleted by the next."""

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
"""What a checkout of git is called in a temporary folder."""


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is held by a lock as long as this process lives.

    The system releases the lock of a process that was killed, so a folder that can be locked is nobody's. That holds
    between containers that share a folder of temporary files, where numbers of processes mean nothing.

    Args:
        place: the folder to make it in; the system's for temporary files where it is None.

    Example:
        >>> with TemporaryFolder() as folder:
        ...     Path(folder).is_dir()
        True
    """

    YOUNG = 5.0
    """Seconds: a folder that is younger may not be locked yet."""

    def __init__(self, place: Path | None = None) -> None:
        drop_abandoned(place)
        super().__init__(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True)
        self._handle = os.open(self.name, os.O_RDONLY)
        _lock(self._handle)

    def cleanup(self) -> None:
        """Delete the folder, all of it, whatever signals arrive."""
        with deferred():
            with contextlib.suppress(OSError):
                os.close(self._handle)
            super().cleanup()


def drop_abandoned(place: Path | None = None) -> None:
    """Delete folders of processes of this user that no longer live.

    Args:
        place: where they lie; the system's folder for temporary files where it is None.
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
    """Delete what a repository knows of a checkout that goes: a folder in its own directory that names this one."""
    link = tree / ".git"
    if link.is_symlink() or not link.is_file():
        return
    known = Path(os.fsdecode(link.read_bytes().removeprefix(b"gitdir: ").rstrip(b"\n")))
    if known.parent.name == "worktrees" and os.fsdecode((known / "gitdir").read_bytes()).rstrip("\n") == str(link):
        shutil.rmtree(known, ignore_errors=True)


def _lock(handle: int) -> bool:
    """Whether nobody else holds it; never where the system has no such locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
