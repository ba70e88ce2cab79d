"""Programs that `check` need not lower again because they were unchanged, with the inputs of their captures.

Kept in the user's cache folder, outside of the work tree, so that no commit can supply it; safe to delete. An entry is
valid for one content of the snapshot and of the files, settings, environment variables and packages that the capture
saw. docs/accepting.md lists what a capture cannot see.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from hlodiff.capture import Inputs, package_version
from hlodiff.config import Config, in_ci, process_environment
from hlodiff.snapshots import CaptureOrigin, Key, Snapshot
from hlodiff.snapshots.pending import digest, from_plain, to_plain
from hlodiff.workflows.staleness import Freshness, settings_of

VARIABLE = "HLODIFF_CACHE"
"""Environment variable for the cache folder, also used in CI; `off` keeps nothing."""
_VERSION = 1
_LARGEST = 64 * 1024**2
Around = tuple[tuple[str, str, str, str], ...]


def cache_folder() -> Path | None:
    """The user's cache folder of hlodiff; None if nothing is kept."""
    environment = process_environment()
    chosen = environment.get(VARIABLE, "")
    if chosen.lower() in ("off", "0") or (in_ci() and not chosen):
        return None
    if chosen:
        return Path(chosen).absolute()
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(environment.get("XDG_CACHE_HOME") or home) / "hlodiff"


@dataclass(frozen=True, slots=True)
class _Entry:
    snapshot: str
    origin: CaptureOrigin
    around: Around


@dataclass(slots=True)
class UnchangedPrograms:
    """The unchanged programs of one checkout, by key.

    Args:
        config: the project's.
        file: the cache file; None keeps nothing.
        entries: cached entries by key.
    """

    config: Config
    file: Path | None
    entries: dict[Key, _Entry] = field(default_factory=dict)
    _fresh: Freshness | None = None
    _changed: bool = False

    @classmethod
    def of(cls, config: Config) -> UnchangedPrograms:
        """The cache of this checkout; empty if the file is missing or invalid."""
        folder = cache_folder()
        if folder is None:
            return cls(config, None)
        name = sha256(os.fsencode(os.path.realpath(config.root))).hexdigest()[:24]
        file = folder / f"{name}.json"
        return cls(config, file, _read(file))

    def holds(self, snapshot: Snapshot) -> Around | None:
        """Whether capturing now would give this snapshot.

        Args:
            snapshot: the recorded snapshot.

        Returns:
            the context of calls to jitted functions that the capture noted; None if the program has to be captured.
        """
        entry = self.entries.get(snapshot.key)
        if entry is None or entry.snapshot != digest(snapshot):
            return None
        self._fresh = self._fresh or Freshness(self.config)
        return entry.around if self._fresh.is_current(entry.origin) else None

    def remember(self, snapshot: Snapshot, inputs: Inputs, around: Around) -> None:
        """Remember that a captured program equals its snapshot."""
        if self.file is not None and inputs.files:
            origin = CaptureOrigin(inputs.files, settings_of(self.config), inputs.packages)
            self.entries[snapshot.key] = _Entry(digest(snapshot), origin, around)
            self._changed = True

    def forget(self, key: Key) -> None:
        """Forget a program that changed or could not be captured."""
        self._changed |= self.entries.pop(key, None) is not None

    def save(self) -> None:
        """Write the cache. A failure to write costs time but is not an error."""
        if self.file is None or not self._changed:
            return
        value = {
            "version": _VERSION,
            "hlodiff": _own_version(),
            "checkout": os.path.realpath(self.config.root),
            "programs": [
                {"key": [key.function, key.case, key.target], "snapshot": one.snapshot, "origin": to_plain(one.origin),
                 "around": [list(note) for note in one.around]}
                for key, one in self.entries.items()
            ],
        }  # fmt: skip
        temporary = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(value), encoding="utf-8", errors="surrogateescape")
            temporary.replace(self.file)
        except OSError:
            temporary.unlink(missing_ok=True)


def _read(file: Path) -> dict[Key, _Entry]:
    try:
        if file.stat().st_size > _LARGEST:
            return {}
        value = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
        if (value["version"], value["hlodiff"]) != (_VERSION, _own_version()):
            return {}
        return dict(map(_entry, value["programs"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _entry(row: Mapping[str, Any]) -> tuple[Key, _Entry]:
    function, case, target = row["key"]
    around = tuple((str(fn), str(place), str(what), str(held)) for fn, place, what, held in row["around"])
    return Key(function, case, target), _Entry(str(row["snapshot"]), from_plain(row["origin"]), around)


@cache
def _own_version() -> str:
    """The version of hlodiff, and of its files if they are edited."""
    newest = max(file.stat().st_mtime_ns for file in Path(__file__).parent.parent.rglob("*.py"))
    return f"{package_version('hlodiff')} {newest}"
