"""What programs are captured from: the user's files as they were imported, and installed packages."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hlodiff.capture.imports import is_installed, is_users

# JAX finds and loads these by itself when it compiles for their devices.
_PLUGINS = (
    "jaxlib", "libtpu", "libtpu-nightly", "jax-cuda12-plugin", "jax-cuda12-pjrt", "jax-cuda13-plugin",
    "jax-cuda13-pjrt", "jax-rocm7-pjrt", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc",
)  # fmt: skip
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a program was captured from.

    Args:
        files: the user's imported files, relative to the project's folder with `/`, each with a hash of its content.
        packages: installed packages that were imported or compile, each with its version.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


class ImportedInputs:
    """Tracks what this process imports; a file is read right after its import, before it can change.

    Args:
        root: the project's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._kind = cache(_kind)
        self._seen: set[str] = set()
        self._files: dict[str, str] = {}
        self._packages: dict[str, str | None] = dict.fromkeys(_PLUGINS)

    def follow(self) -> None:
        """Read the files that were imported since the last time."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in self._seen or not isinstance(file, str):
                continue
            self._seen.add(name)
            kind = self._kind(str(Path(file).parent))  # cached per folder: resolving links takes long
            if kind == "user":
                path = os.path.realpath(file)
                self._files[Path(os.path.relpath(path, self._root)).as_posix()] = file_digest(Path(path))
            elif kind == "installed" and "." not in name:
                self._packages.setdefault(name, None)

    def now(self) -> Inputs:
        """Everything that was imported so far."""
        self.follow()
        for name in [name for name, found in self._packages.items() if found is None]:
            self._packages[name] = package_version(name)
        return Inputs(dict(self._files), {name: found for name, found in self._packages.items() if found})


def _kind(folder: str) -> str:
    file = str(Path(folder, "module.py"))
    return "user" if is_users(file) else "installed" if is_installed(file) else "Python"


def file_digest(path: Path) -> str:
    """A hash of a file's content, the same for LF and CRLF; "" where there is no such file.

    Args:
        path: a device, a pipe or a file above 64 MiB counts as missing.

    Example:
        >>> file_digest(Path("no such file"))
        ''
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return ""
        return sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    except (OSError, ValueError):
        return ""


def package_version(name: str) -> str:
    """The version of an installed package, "" where there is none of this name."""
    try:
        return version(name) or ""
    except (PackageNotFoundError, ValueError):
        return ""
