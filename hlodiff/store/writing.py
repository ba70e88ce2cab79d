"""Writing snapshots: each is whole at every moment, old or new, also when the process is killed."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gzip
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.store.names import COMPILED, PROGRAMS, SOURCE, STABLEHLO, SUMMARY, Key
from hlodiff.store.snapshot import Snapshot, unpack
from hlodiff.store.trees import FolderTree
from hlodiff.store.yaml_text import dump

MAX_FILE_BYTES = 1024 * 1024
# Work in progress, below the snapshots folder so that a rename suffices; ignored by git through a file of its own.
PARTIAL = ".partial"
_READY = ".ready"


@contextlib.contextmanager
def writing(root: Path, wait: float = 0) -> Iterator[None]:
    """Hold the snapshots folder for writing, and put right what a killed run has left.

    Args:
        root: the snapshots folder; made where it does not exist.
        wait: for how many seconds another process may still be writing.

    Raises:
        StoreError: another process is writing, or the folder cannot be written.

    Example:
        >>> with writing(Path("snapshots")):  # doctest: +SKIP
        ...     write_snapshot(Path("snapshots"), snapshot)
    """
    with clear_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root, os.O_RDONLY)
    try:
        _lock(handle, root, time.monotonic() + wait)
        with clear_errors(root):
            recover(root)
            _partial(root)  # a folder that cannot be written is told before minutes of compiling
        try:
            yield
        finally:
            if not is_unfinished(root):
                shutil.rmtree(root / PARTIAL, ignore_errors=True)
    finally:
        os.close(handle)  # releases the lock, as the end of a killed process does


def is_unfinished(root: Path) -> bool:
    """Whether a killed run has left a snapshot half installed: `with writing(root)` finishes it.

    Example:
        >>> is_unfinished(Path("no such folder"))
        False
    """
    return any((root / PARTIAL).glob(f"*{_READY}"))


def recover(root: Path) -> None:
    """Finish what was ready when a run was killed, drop what was not. Call it with the folder held.

    Args:
        root: the snapshots folder.
    """
    for ready in sorted((root / PARTIAL).glob(f"*{_READY}")):
        _install_files(ready, root / ready.name.removesuffix(_READY).replace("+", "/"))
    shutil.rmtree(root / PARTIAL, ignore_errors=True)


def write_snapshot(root: Path, snapshot: Snapshot, max_file_bytes: int = MAX_FILE_BYTES) -> bool:
    """Write one snapshot where something in it has changed.

    Programs that are the same are not touched, nor is their source.json; where only facts beside the program changed
    (the toolchain), summary.yaml alone is written.

    Args:
        root: the snapshots folder.
        snapshot: what to record.
        max_file_bytes: a program above this is stored compressed, and summary.yaml says so.

    Returns:
        False where everything was as it is already.

    Raises:
        StoreError: the folder cannot be written, or the name is no safe folder name.

    Example:
        >>> write_snapshot(Path("snapshots"), Snapshot("f", "", "cpu", {"format_version": 1}, ...))  # doctest: +SKIP
        True
    """
    key = snapshot.key
    programs, summary = _files_of(snapshot, max_file_bytes)
    old = _read_existing(root, key)
    if old is not None and _unpacked(old) == _unpacked(programs) and old.keys() - {SUMMARY} == programs.keys():
        if old.get(SUMMARY) == summary:
            return False
        with clear_errors(root):
            _replace_file(root, key, summary)
        return True
    with clear_errors(root):
        replace_folder(root, key, contents_of(snapshot, max_file_bytes))
    return True


def contents_of(snapshot: Snapshot, max_file_bytes: int = MAX_FILE_BYTES) -> dict[str, bytes]:
    """All files of a snapshot's folder by name, as `write_snapshot` writes them."""
    programs, summary = _files_of(snapshot, max_file_bytes)
    contents = {SUMMARY: summary, **programs}
    if snapshot.source is not None:
        contents[SOURCE] = json.dumps(snapshot.source, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    return contents


def replace_text(root: Path, name: str, text: str) -> None:
    """Write one file beside the snapshots in one step. Call it with the folder held.

    Args:
        root: the snapshots folder.
        name: path below it.
        text: what the file is to hold.

    Raises:
        StoreError: it cannot be written, or it or a folder on the way is a link.
    """
    with clear_errors(root):
        refuse_links(root, name)
        part = _partial(root) / f"{os.getpid()}.text"
        _write(part, text.encode())
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        part.replace(root / name)
        _sync((root / name).parent)


def remove_snapshot(root: Path, key: Key, more: Sequence[str] = ()) -> None:
    """Delete one snapshot and the folders it leaves empty.

    Args:
        root: the snapshots folder.
        key: which one.
        more: names of other files of ours that may stand in its folder.

    Raises:
        StoreError: it cannot be deleted.
    """
    folder = root / key.folder
    if not folder.is_dir():
        return
    with clear_errors(root):
        refuse_links(root, key.folder)
        for name in [SUMMARY, SOURCE, *PROGRAMS, *(f"{name}.gz" for name in PROGRAMS), *more]:
            (folder / name).unlink(missing_ok=True)
        while folder != root and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def _files_of(snapshot: Snapshot, max_file_bytes: int) -> tuple[dict[str, bytes], bytes]:
    """The program files, and the summary that belongs to them."""
    programs: dict[str, bytes] = {}
    packed: dict[str, Any] = {}
    for name, text in ((STABLEHLO, snapshot.stablehlo), (COMPILED, snapshot.compiled)):
        content = text.encode()
        if len(content) > max_file_bytes:
            programs[f"{name}.gz"] = gzip.compress(content, 9, mtime=0)
            packed[name] = {"stored_as": f"{name}.gz", "bytes": len(content)}
        else:
            programs[name] = content
    summary: Mapping[str, Any] = {**snapshot.summary, "compressed": packed} if packed else snapshot.summary
    return programs, dump(summary).encode()


def _read_existing(root: Path, key: Key) -> dict[str, bytes] | None:
    """What stands there already, without source.json; None where it cannot be read and must be written anew."""
    names = [SUMMARY, *PROGRAMS, *(f"{name}.gz" for name in PROGRAMS)]
    try:
        contents = FolderTree(root).read([f"{key.folder}/{name}" for name in names])
    except StoreError:
        return None
    return {name.rpartition("/")[2]: content for name, content in contents.items()}


def _unpacked(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Programs by plain name: another zlib packs the same program into other bytes, and that is no change."""
    programs: dict[str, bytes] = {}
    for name in PROGRAMS:
        if name in files:
            programs[name] = files[name]
        elif f"{name}.gz" in files:
            with contextlib.suppress(StoreError):  # damaged: different from every program, so it is written anew
                programs[name] = unpack(files[f"{name}.gz"], name)
    return programs


def _replace_file(root: Path, key: Key, summary: bytes) -> None:
    refuse_links(root, key.folder)
    part = _partial(root) / f"{os.getpid()}.{SUMMARY}"
    _write(part, summary)
    part.replace(root / key.folder / SUMMARY)
    _sync(root / key.folder)


def replace_folder(root: Path, key: Key, contents: Mapping[str, bytes]) -> None:
    """Write all files beside their place, then put them there in one step.

    Args:
        root: the snapshots folder.
        key: whose folder it is below that.
        contents: its files by name; what else stands there is dropped.

    Raises:
        StoreError: a folder on the way is a link, or the place holds other snapshots.
        OSError: it cannot be written.
    """
    place = root / key.folder
    refuse_links(root, key.folder)
    if place.is_dir() and any(entry.is_dir() for entry in place.iterdir()):
        hint = f"give the cases of `{key.function}` other names than its targets"
        raise StoreError("this snapshot's folder holds other snapshots", where=str(place), hint=hint)
    part = _partial(root) / f"{os.getpid()}.new"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for name, content in contents.items():
        _write(part / name, content)
    _sync(part)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        part.rename(place)
    elif not _exchange(part, place):
        # File systems without an atomic exchange (NFS, some overlays): from the moment the folder is called ready,
        # the next run finishes the job.
        ready = part.with_name(key.folder.replace("/", "+") + _READY)
        part.rename(ready)
        _install_files(ready, place)
    _sync(place.parent)
    shutil.rmtree(part, ignore_errors=True)


def refuse_links(root: Path, name: str) -> None:
    """A pull request can make a folder of snapshots a link to anywhere: nothing is written or deleted through it.

    Raises:
        StoreError: something between the root and that place below it is a link.
    """
    folder = root
    for part in name.split("/"):
        folder = folder / part
        if folder.is_symlink():
            raise StoreError("is a link, and links are not followed", where=str(folder), hint=f"git rm {folder}")


def _install_files(ready: Path, place: Path) -> None:
    """Move every file of a finished folder to its place and drop what does not belong there any more."""
    place.mkdir(parents=True, exist_ok=True)
    names = sorted(path.name for path in ready.iterdir())
    for name in names:
        # Copies, so that `ready` stays complete until the end and this can be done again.
        part = ready.with_name(f"{os.getpid()}.file")
        _write(part, (ready / name).read_bytes())
        part.replace(place / name)
    for path in sorted(place.iterdir()):
        if path.is_file() and path.name not in names:
            path.unlink()
    _sync(place)
    shutil.rmtree(ready)


def _partial(root: Path) -> Path:
    folder = root / PARTIAL
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
    return folder


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make names of a folder durable; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system or file system cannot."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(swap(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _lock(handle: int, root: Path, until: float) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: each snapshot is still written whole, the last writer wins
        return
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.02)
    except BlockingIOError:
        hint = "wait until it has finished, then try again"
        raise StoreError("another `hlodiff update` is writing here", where=str(root), hint=hint) from None
    except OSError:  # a file system without locks: as on Windows
        return


@contextlib.contextmanager
def clear_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "make room on the disk, then try again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR):
            hint = "make the folder writable, or set `snapshots` in [tool.hlodiff] to another one"
        where = str(error.filename or root)
        raise StoreError(f"cannot be written: {error.strerror or error}", where=where, hint=hint) from None
