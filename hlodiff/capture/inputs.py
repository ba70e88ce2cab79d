"""What programs are captured from: the user's files as they were imported, and installed packages."""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from hlodiff import __version__ as hlodiff_version
from hlodiff.capture.imports import is_installed, is_users

COMPILERS = (
    "Python", "hlodiff", "jaxlib", "libtpu", "libtpu-nightly", "jax-cuda12-plugin", "jax-cuda12-pjrt",
    "jax-cuda13-plugin", "jax-cuda13-pjrt", "jax-rocm7-pjrt", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc",
)  # fmt: skip
"""What compiles, or decides how: JAX finds and loads plugins by itself when it compiles for their devices."""

_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a program was captured from.

    Args:
        files: the user's files that were imported, and those of the project that were read, relative to the project's
            folder with `/`, each with a hash of its content.
        packages: Python, hlodiff and installed packages that were imported or compile, each with its version.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


class ImportedInputs:
    """Tracks what this process imports and reads; a file is hashed right after that, before it can change.

    Args:
        root: the project's folder.
        own: a folder whose files are no input, such as that of the snapshots.
    """

    def __init__(self, root: Path, own: Path | None = None) -> None:
        self._root = os.path.realpath(root)
        self._own = os.path.realpath(own) if own else ""
        self._opened: dict[str, None] = {}
        self._kind = cache(_kind)
        self._seen: set[str] = set()
        self._files: dict[str, str] = {}
        self._packages: dict[str, str | None] = dict.fromkeys(COMPILERS)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note what is opened for reading; hooks see every event, so this one is quick."""
        if event == "open" and isinstance(arguments[0], str) and arguments[2] is not None:
            assert isinstance(arguments[2], int)
            if not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._opened[arguments[0]] = None

    def _follow_opened(self) -> None:
        """Data below the project's folder: a module may compute a constant from it."""
        opened, self._opened = self._opened, {}
        for name in opened:
            path = os.path.realpath(name)
            below = Path(os.path.relpath(path, self._root)).as_posix()
            hidden = any(part.startswith(".") or part == "__pycache__" for part in below.split("/"))
            if hidden or below in self._files or is_installed(path):
                continue
            if not (self._own and Path(path).is_relative_to(self._own)) and (digest := file_digest(Path(path))):
                self._files[below] = digest

    def follow(self) -> None:
        """Read the files that were imported or opened since the last time."""
        self._follow_opened()
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in self._seen or not isinstance(file, str):
                continue
            self._seen.add(name)
            kind = self._kind(str(Path(file).parent))  # cached per folder: resolving links takes long
            if kind == "user":
                path = os.path.realpath(file)
                self._files[Path(os.path.relpath(path, self._root)).as_posix()] = file_digest(Path(path))
            elif kind == "installed" and "." not in name and not name.startswith("_"):
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
    """The version of an installed package, or a hash where it is distributed under another name; "" where it is none.

    Args:
        name: of a distribution or of a top-level module, or "Python" or "hlodiff".
    """
    if name == "Python":
        return platform.python_version()
    if name == "hlodiff":
        return hlodiff_version
    try:
        return version(name) or ""
    except (PackageNotFoundError, ValueError):
        pass
    if "." in name:  # to find a module in a package, Python would run the package, and a stranger may have named it
        return ""
    try:
        spec = find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return ""
    digest = file_digest(Path(spec.origin)) if spec and spec.origin else ""
    return f"content {digest[:12]}" if digest else ""
