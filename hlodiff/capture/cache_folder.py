"""The folder of the compile cache, and what a run had of it; `compile_cache.py` has the entries, in workers."""

from __future__ import annotations

import contextlib
import os
import re
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

LARGEST_FOLDER = 1 << 30
"""Bytes that entries may take together once a run is over; the ones that were used longest ago are deleted."""

_ENTRY = re.compile(r"[0-9a-f]{64}\.json\.z")
_UNFINISHED = re.compile(r"\.\w+\.new")
_OLD_SECONDS = 3600.0  # an unfinished entry that is older belongs to a killed run
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
    """What a run had of its folder.

    Args:
        folder: the folder.
        hits: programs that were found.
        compiled: programs that were not.
    """

    folder: CacheFolder
    hits: int = 0
    compiled: int = 0


COMPILE_CACHE: ContextVar[CacheUse | None] = ContextVar("compile_cache", default=None)
"""That of this run; None where everything is compiled."""


def chosen_folder() -> CacheFolder | None:
    """The folder of this run."""
    use = COMPILE_CACHE.get()
    return use.folder if use is not None else None


def trim(folder: Path, most: int = LARGEST_FOLDER) -> None:
    """Delete the entries that were used longest ago, and what killed runs have left unfinished.

    Args:
        folder: the folder; only entries in their places are touched.
        most: bytes that may be left.
    """
    found: list[tuple[float, int, str]] = []
    for name in _FOLDERS:
        if (folder / name).is_symlink():  # no folder of ours is one
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
        if left <= most:
            return
        with contextlib.suppress(OSError):
            Path(path).unlink()
            left -= size
