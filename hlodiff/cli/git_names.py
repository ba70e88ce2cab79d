"""What a file that git names by its path is: of which program, and the command that records it anew."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hlodiff.errors import HlodiffError
from hlodiff.store.names import PYTEST, is_safe

_RECORDS = ("traces.yaml", "growth.yaml")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a snapshots folder.

    Args:
        path: as git names it, from the top of the work tree.
        name: function and case, or scenario.
        target: "" for records that are not of one target.
        known: whether the project's configuration says so; else the folders alone do.
    """

    path: str
    name: str
    target: str
    known: bool

    @property
    def file(self) -> str:
        """Its own name."""
        return self.path.rpartition("/")[2]

    @property
    def again(self) -> str:
        """The command that records it anew."""
        if self.name.startswith(f"{PYTEST}/"):
            return "pytest --hlodiff-update"
        return f"hlodiff update {self.name}" if self.known else "hlodiff update"


def named_file(path: str) -> NamedFile:
    """Find out of which program a file is.

    Args:
        path: below the top of the work tree, which is the current folder of every driver.

    Returns:
        its names; where no configuration is found, those of its folders.

    Example:
        >>> named_file("no such/snapshots/f/cpu/compiled.hlo").name
        'f'
    """
    file = PurePosixPath(path)
    folders, known = _below_snapshots(file)
    if file.name in _RECORDS:
        return NamedFile(path, "/".join(folders if known else folders[-1:]), "", known and all(map(is_safe, folders)))
    name = "/".join(folders[:-1] if known else folders[-2:-1])
    return NamedFile(path, name, folders[-1] if folders else "", known and all(map(is_safe, folders)))


def _below_snapshots(file: PurePosixPath) -> tuple[tuple[str, ...], bool]:
    """The folders between the snapshots folder and the file, and whether the configuration knows that folder."""
    from hlodiff.config import load_if_any

    # In the middle of a merge pyproject.toml may be no TOML.
    with contextlib.suppress(HlodiffError, OSError):
        config = load_if_any(Path(file.parent))
        if config is not None:
            whole = Path(file.parent).resolve()
            snapshots = config.snapshots.resolve()
            if whole.is_relative_to(snapshots):
                return whole.relative_to(snapshots).parts, True
    return file.parent.parts, False
