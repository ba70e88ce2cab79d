"""The folder of the compile cache and its use by one run. `compile_cache.py` handles the entries, in workers."""

from __future__ import annotations

import contextlib
import os
import re
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

LARGEST_FOLDER = 1 << 30
"""Maximum total size of the entries in bytes after a run; the least recently used ones are deleted."""

_ENTRY = re.compile(r"[0-9a-f]{64}\.json\.z")
_UNFINISHED = re.compile(r"\.\w+\.new")
_OLD_SECONDS = 3600.0  # an older unfinished entry belongs to a killed run
_FOLDERS = tuple(f"{number:02x}" for number in range(256))


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A folder of entries.

    Args:
        path: absolute.
        write: whether new entries are written.

    Example:
        >>> CacheFolder("/cache", True).file("ab12").as_posix()
        '/cache/ab/ab12.json.z'
    """

    path: str
    write: bool

    def file(self, key: str) -> Path:
        """The file of an entry."""
        return Path(self.path, key[:2], f"{key}.json.z")


@dataclass(slots=True)
class CacheUse:
    """How one run used the cache folder.

    Args:
        folder: the folder.
        hits: number of programs found.
        compiled: number of programs not found.
    """

    folder: CacheFolder
    hits: int = 0
    compiled: int = 0


COMPILE_CACHE: ContextVar[CacheUse | None] = ContextVar("compile_cache", default=None)
"""Use of the cache by this run; None if everything is compiled."""


def chosen_folder() -> CacheFolder | None:
    """The folder of this run."""
    use = COMPILE_CACHE.get()
    return use.folder if use is not None else None


def trim(folder: Path) -> None:
    """Delete the least recently used entries, and unfinished files of killed runs.

    Args:
        folder: the folder; only entries in their proper places are touched.
    """
    found: list[tuple[float, int, str]] = []
    for name in _FOLDERS:
        if (folder / name).is_symlink():  # hlodiff creates no symlinks
            continue
        with contextlib.suppress(OSError), os.scandir(folder / name) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    if _ENTRY.fullmatch(entry.name):
                        found.append((about.st_mtime, about.st_size, entry.path))
                    elif _UNFINISHED.fullmatch(entry.name) and time.time() - about.st_mtime > _OLD_SECONDS:
                        Path(entry.path).unlink()
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= LARGEST_FOLDER:
            return
        with contextlib.suppress(OSError):
            Path(path).unlink()
            left -= size
