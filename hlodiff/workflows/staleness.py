"""Inputs of a capture: whether they have changed when it is accepted, and whether `check` has to lower again."""

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

from hlodiff.capture import Inputs, file_digest, package_version
from hlodiff.capture.environment import compiled_by
from hlodiff.config import Config, in_ci, process_environment
from hlodiff.report.lines import clip
from hlodiff.snapshots import CaptureOrigin, Key, Snapshot
from hlodiff.snapshots.pending import digest, from_plain, to_plain
from hlodiff.workflows.configuration import top_of

# Keys that affect captures. The others affect where snapshots are, how they are compared and what passes.
_SETTINGS = (
    "modules", "path", "targets", "xla_flags", "libtpu_init_args", "env", "x64", "matmul_precision", "large_constants",
)  # fmt: skip
_MOST = 3
_LONGEST = 200  # characters of a name, which may be untrusted


def settings_of(config: Config) -> dict[str, str]:
    """The settings that affect captures, hashed because values may be secret.

    Returns:
        keys of the configuration; environment variables that JAX and XLA read have a `$` before their names.
    """
    values = {name: json.dumps(getattr(config, name)) for name in _SETTINGS}
    values |= {f"${name}": value for name, value in compiled_by(process_environment()).items()}
    return {name: sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16] for name, value in values.items()}


@dataclass(slots=True)
class Freshness:
    """Compares the inputs of captures with the project as it is now. Runs no code and reads each file once.

    Args:
        config: the project's.
        foreign: whether another machine captured, with its own packages and possibly other files.
        any_age: whether to accept captures of any age.
    """

    config: Config
    foreign: bool = False
    any_age: bool = False
    _digests: dict[str, str] = field(default_factory=dict)
    _versions: dict[str, str] = field(default_factory=dict)

    def refusal(self, key: Key, origin: CaptureOrigin | None) -> tuple[str, ...]:
        """Why a capture must not be accepted: what has changed, and a hint; () if nothing has.

        Args:
            key: its key; the target may be "traces" or "growth".
            origin: its inputs; None if unknown.
        """
        changes = () if self.any_age else self._changes(origin)
        if not changes:
            return ()
        where = "" if key.target in ("traces", "growth") else f" --target {key.target}"
        again = f"hint: hlodiff check {key.name}{where}"
        return (*changes, f"{again}; --stale accepts what was captured all the same")

    def is_current(self, origin: CaptureOrigin) -> bool:
        """Whether a capture made now would have the same inputs."""
        return not self._changes(origin)

    def _changes(self, origin: CaptureOrigin | None) -> tuple[str, ...]:
        if origin is None:
            return ("it does not record what it was captured from; an older hlodiff made it",)
        return (*self._files(origin), *self._settings(origin), *self._packages(origin))

    def _files(self, origin: CaptureOrigin) -> tuple[str, ...]:
        changed = [name for name, digest in origin.files.items() if self._is_ours(name) and self._now(name) != digest]
        if not changed:
            return ()
        more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
        names = ", ".join(clip(name, _LONGEST) for name in changed[:_MOST]) + more
        if self.foreign:
            return (f"it was captured from other content of {names} than is here, perhaps of a merge commit",)
        removed = [name for name in changed if not self._now(name)]
        if removed == changed:
            return (f"{names} {'is' if len(changed) == 1 else 'are'} gone since this was captured",)
        return (f"{names} {'has' if len(changed) == 1 else 'have'} changed since this was captured",)

    def _is_ours(self, name: str) -> bool:
        """Whether a file can be compared: outside of the repository, another machine has different files."""
        if not self.foreign:
            return True
        root = Path(os.path.realpath(self.config.root))
        return Path(os.path.normpath(root / name)).is_relative_to(top_of(root))

    def _now(self, name: str) -> str:
        try:
            # Resolved, because an untrusted list may name one file many times.
            path = os.path.realpath(Path(os.path.realpath(self.config.root), name))
        except ValueError:  # zero bytes, invalid UTF-8
            return ""  # not a valid file name
        if path not in self._digests:
            self._digests[path] = file_digest(Path(path))
        return self._digests[path]

    def _settings(self, origin: CaptureOrigin) -> tuple[str, ...]:
        now = settings_of(self.config)
        changed = [name for name in now if origin.settings.get(name) != now[name] and not name.startswith("$")]
        verb = "has" if len(changed) == 1 else "have"
        named = ", ".join(f"`{name}`" for name in changed)
        words = [f"{named} in [tool.hlodiff] {verb} changed since this was captured"] if changed else []
        if not self.foreign:
            names = sorted({name for name in (*now, *origin.settings) if name.startswith("$")})
            words += [
                f"the environment variable {clip(name[1:], _LONGEST)} has changed since this was captured"
                for name in names
                if now.get(name) != origin.settings.get(name)
            ][:_MOST]
        return tuple(words)

    def _packages(self, origin: CaptureOrigin) -> tuple[str, ...]:
        if self.foreign:
            return ()
        for name in origin.packages:
            if name not in self._versions:
                self._versions[name] = package_version(name)
        changed = [name for name, version in origin.packages.items() if self._versions[name] != version]
        return tuple(
            f"{clip(name, _LONGEST)} was {clip(origin.packages[name], _LONGEST)} when this was captured, "
            f"and is {self._versions[name] or 'gone'}"
            for name in changed[:_MOST]
        )


# --- Programs that `check` need not lower again because they were unchanged, with the inputs of their captures.
#
# Kept in the user's cache folder, outside of the work tree, so that no commit can supply it; safe to delete. An entry
# is valid for one content of the snapshot and of the files, settings, environment variables and packages that the
# capture saw. docs/accepting.md lists what a capture cannot see.

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
