"""Inputs of a capture, and whether they have changed when it is accepted."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from hlodiff.capture import file_digest, package_version
from hlodiff.capture.environment import compiled_by
from hlodiff.config import Config, process_environment
from hlodiff.report.lines import clip
from hlodiff.snapshots import CaptureOrigin, Key
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
