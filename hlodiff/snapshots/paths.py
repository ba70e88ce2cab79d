"""Restricts where hlodiff writes: below a folder, through no link, under names that cannot lead elsewhere.

A pull request can add folders, links and names to the work tree, but nothing to git's own directory.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import is_safe

# A folder with one of these entries is a project, and a pull request may have made any link below it.
_PROJECT = (".git", "pyproject.toml")


class BlockedError(StoreError):
    """A folder on the path is a link, or a folder is in the place of a file: recording again would fail too."""


def place_below(root: Path, name: str) -> Path:
    """The path of a file or folder to write or delete.

    Args:
        root: the snapshots folder or the pending folder.
        name: path below it, with `/`.

    Raises:
        StoreError: a part of the name is not safe, or a part of the path is a link.

    Example:
        >>> place_below(Path("snapshots"), "train_step/cpu").as_posix()
        'snapshots/train_step/cpu'
    """
    parts = name.split("/")
    for part in parts:
        if not is_safe(part):
            raise StoreError(f"{part!r} cannot be the name of a file or folder", where=str(root))
    refuse_links(root)
    place = root
    for part in parts:
        place = place / part
        _refuse_link(place)
    return place


def refuse_links(root: Path) -> None:
    """Raise if a folder is a link, or is behind one, that a pull request may have made.

    Args:
        root: a folder; links outside projects are the user's own, and are followed.

    Raises:
        StoreError: it, or a folder above it inside a project, is a link.

    Example:
        >>> refuse_links(Path("snapshots"))
    """
    path = root.absolute()
    for folder in (*reversed(path.parents), path):
        if folder.is_symlink() and any(map(_is_project, folder.parents)):
            _refuse_link(folder)


def refuse_leading_out(path: Path) -> None:
    """Raise if a link in a project leads out of it: the author of the project must not choose what is read there.

    Args:
        path: a link; one outside projects is the user's own.

    Raises:
        StoreError: the link leads out of the project.
    """
    top = next((folder for folder in path.absolute().parents if _is_project(folder)), None)
    if top is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top)):
        shown = _shown(path)
        raise StoreError("is a link that leads out of the project", where=shown, hint=f"git rm {shlex.quote(shown)}")


def _is_project(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in _PROJECT)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        shown = _shown(path)
        raise BlockedError("is a link, and links are not followed", where=shown, hint=f"git rm {shlex.quote(shown)}")


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def write_project_file(path: Path, text: str) -> None:
    """Write a file of a project, such as pyproject.toml, atomically and through no link of the project.

    Args:
        path: a missing file, or a regular file, whose mode is kept. Missing folders are created.
        text: the content; bytes that are not text are surrogates.

    Raises:
        StoreError: it cannot be written, is not a regular file, or it or a folder on the path is a link.
    """
    refuse_links(path)
    try:
        if path.exists() and not path.is_file():
            raise StoreError("is not a plain file, so it is not replaced", where=_shown(path), hint="move it away")
        path.parent.mkdir(parents=True, exist_ok=True)
        # A name that a pull request cannot guess; existing files are never opened.
        part = path.with_name(f".{path.name}.{token_hex(8)}.part")
        try:
            with part.open("xb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", where=_shown(path), hint=repair_of(error)) from None


def repair_of(error: OSError, setting: str = "") -> str:
    """How to make a file writable.

    Args:
        error: the system's error.
        setting: the configuration key that names the folder; "" if there is none.

    Example:
        >>> repair_of(OSError(errno.ENOSPC, "No space left on device"))
        'make room on the disk, then try again'
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "make room on the disk, then try again"
    other = f", or set `{setting}` in [tool.hlodiff] to another one" if setting else ""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"make the folder writable{other}"
    if error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY):
        return f"move away what is in its place{other}"
    return ""


def git_folder(root: Path) -> Path | None:
    """A folder in git's own directory that belongs to a folder in the work tree.

    Args:
        root: the folder in the work tree.

    Returns:
        the folder, which need not exist; None if the root is in no work tree. Each work tree of a repository has a
        directory of its own.

    Example:
        >>> git_folder(Path("/snapshots")) is None
        True
    """
    path = root.absolute()
    for top in path.parents:
        directory = _git_directory(top)
        if directory is not None:
            name = sha256(os.fsencode(path.relative_to(top))).hexdigest()[:16]
            return directory / "hlodiff" / name
    return None


def _git_directory(top: Path) -> Path | None:
    """Git directory of a work tree: the folder `.git`, or the one named by a file `.git`, as in submodules."""
    git = top / ".git"
    if git.is_dir():
        return git
    try:
        named = git.read_bytes()
    except OSError:
        return None
    if not named.startswith(b"gitdir: "):
        return None
    directory = top / os.fsdecode(named.removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    return directory if directory.is_dir() else None
