"""A temporary folder that goes with its process: what a killed one has left is deleted by the next."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

_PREFIX = "hlodiff.run-"


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is held by a lock as long as this process lives.

    The system releases the lock of a process that was killed, so a folder that can be locked is nobody's. That holds
    between containers that share a folder of temporary files, where numbers of processes mean nothing.
    """

    YOUNG = 5.0
    """Seconds: a folder that is younger may not be locked yet."""

    def __init__(self) -> None:
        drop_abandoned()
        super().__init__(prefix=_PREFIX, ignore_cleanup_errors=True)
        self._handle = os.open(self.name, os.O_RDONLY)
        _lock(self._handle)

    def cleanup(self) -> None:
        """Delete the folder."""
        with contextlib.suppress(OSError):
            os.close(self._handle)
        super().cleanup()


def drop_abandoned() -> None:
    """Delete folders of processes of this user that no longer live."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(tempfile.gettempdir())):
            if entry.name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    _drop(Path(entry.path))


def _drop(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        about = os.fstat(handle)
        if about.st_uid == os.getuid() and time.time() - about.st_mtime > TemporaryFolder.YOUNG and _lock(handle):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether nobody else holds it; never where the system has no such locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
