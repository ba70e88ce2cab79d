"""Writes snapshots atomically: each is complete at every moment, old or new, even if the process is killed."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gzip
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import COMPILED, FILES, PROGRAMS, SOURCE, STABLEHLO, SUMMARY, Key, is_safe
from hlodiff.snapshots.paths import git_folder, place_below, refuse_links, repair_of
from hlodiff.snapshots.read import Snapshot, read_whole_snapshot, unpack
from hlodiff.snapshots.trees import FolderTree
from hlodiff.snapshots.yaml_format import dump_yaml

MAX_FILE_BYTES = 1024 * 1024
# Work in progress if git's own directory cannot be used: beside the snapshots, so that a rename suffices, and ignored
# by git through a file of its own. A pull request can add it, so its content is deleted when a run begins.
PARTIAL = ".partial"
# A complete snapshot that is being installed, in git's own directory.
_READY = ".ready"


@contextlib.contextmanager
def writing(root: Path, wait: float = 0) -> Iterator[None]:
    """Hold the snapshots folder for writing, and repair what a killed run left.

    Args:
        root: the snapshots folder or the pending folder; created if needed.
        wait: seconds to wait for another process that is writing.

    Raises:
        StoreError: another process is writing, the folder cannot be written, or it is behind a link of the project.

    Example:
        >>> with writing(Path("snapshots")):  # doctest: +SKIP
        ...     write_snapshot(Path("snapshots"), snapshot)
    """
    with clear_errors(root):
        refuse_links(root / PARTIAL)
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root, os.O_RDONLY)
    try:
        _lock(handle, root, time.monotonic() + wait)
        try:
            with clear_errors(root):
                recover(root)
                if not os.access(root, os.W_OK | os.X_OK, effective_ids=True):  # report it before minutes of compiling
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(root))
                next(_scratch_folders(root))
            yield
        finally:
            if not is_unfinished(root):
                _drop_scratch(root)
    finally:
        os.close(handle)  # releases the lock, as the death of a process does


def is_unfinished(root: Path) -> bool:
    """Whether a killed run left a half-installed snapshot: `with writing(root)` finishes it.

    Example:
        >>> is_unfinished(Path("no such folder"))
        False
    """
    return bool(_ready(root))


def _ready(root: Path) -> list[Path]:
    """Snapshots that a killed run was installing, in git's own directory, where git itself adds nothing."""
    journal = git_folder(root)
    return sorted(journal.glob(f"*{_READY}")) if journal else []


def recover(root: Path) -> None:
    """Finish what was complete when a run was killed, delete the rest. Call it while holding the folder.

    Args:
        root: the snapshots folder.

    Raises:
        StoreError: the location of a snapshot is behind a link.
    """
    for ready in _ready(root):
        parts = ready.name.removesuffix(_READY).split("+")
        if len(parts) in (2, 3) and all(map(is_safe, parts)) and ready.is_dir() and not ready.is_symlink():
            _install_files(root, ready, place_below(root, "/".join(parts)))
    _drop_scratch(root)


def tidy(root: Path) -> None:
    """Finish or delete what a killed run left, unless another process is writing.

    Args:
        root: the snapshots folder or the pending folder.
    """
    if any(folder.is_dir() for folder in _abandoned_folders(root)):
        with contextlib.suppress(StoreError), writing(root):
            pass


def _abandoned_folders(root: Path) -> list[Path]:
    private = git_folder(root)
    return [root / PARTIAL, *([private] if private else [])]


def _drop_scratch(root: Path) -> None:
    for folder in _abandoned_folders(root):
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)  # a link is not followed


def write_snapshot(root: Path, snapshot: Snapshot, max_file_bytes: int = MAX_FILE_BYTES) -> bool:
    """Write one snapshot if anything in it has changed.

    Unchanged programs and their source.json are not touched; if only facts beside the program changed (the toolchain),
    only summary.yaml is written. A snapshot with a damaged or conflicting file is written as a whole.

    Args:
        root: the snapshots folder.
        snapshot: the snapshot to record.
        max_file_bytes: larger programs are stored compressed, which summary.yaml records.

    Returns:
        False if nothing has changed.

    Raises:
        StoreError: the folder cannot be written, or the name is not a safe folder name.

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
            _replace_file(root, place_below(root, key.folder) / SUMMARY, summary)
        return True
    with clear_errors(root):
        replace_folder(root, key, contents_of(snapshot, max_file_bytes))
    return True


def write_new_snapshot(root: Path, snapshot: Snapshot) -> None:
    """Write one snapshot into a folder that nobody reads yet, such as that of a recording in progress.

    Args:
        root: the folder.
        snapshot: the snapshot to record; its folder must not exist.

    Raises:
        StoreError: the folder cannot be written, or the name is not a safe folder name.
    """
    with clear_errors(root):
        place = place_below(root, snapshot.key.folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        _write_folder(place, contents_of(snapshot))


def rewrite_snapshot(root: Path, snapshot: Snapshot) -> bool:
    """Write summary.yaml and source.json of a program that is already recorded; its programs keep their bytes.

    Args:
        root: the snapshots folder.
        snapshot: the same programs as the recorded ones.

    Returns:
        False if both files are up to date.

    Raises:
        StoreError: the folder cannot be written, or has other programs than the snapshot.
    """
    key = snapshot.key
    files = _read_existing(root, key) or {}
    programs = {name: content for name, content in files.items() if name != SUMMARY}
    unpacked = _unpacked(programs)
    if unpacked != {STABLEHLO: snapshot.stablehlo.encode(), COMPILED: snapshot.compiled.encode()}:
        raise StoreError("holds another program", where=f"{root}/{key.folder}", hint=f"hlodiff update {key.name}")
    packed = {
        name: {"stored_as": f"{name}.gz", "bytes": len(content)}
        for name, content in unpacked.items()
        if f"{name}.gz" in programs
    }
    contents = {SUMMARY: _summary_of(snapshot, packed), **programs, **_source_of(snapshot)}
    with clear_errors(root):
        stored = [(name, root / key.folder / name) for name in (SUMMARY, SOURCE)]
        if all((file.read_bytes() if file.is_file() else None) == contents.get(name) for name, file in stored):
            return False
        replace_folder(root, key, contents)
    return True


def contents_of(snapshot: Snapshot, max_file_bytes: int = MAX_FILE_BYTES) -> dict[str, bytes]:
    """All files of a snapshot's folder by name, as written by `write_snapshot`."""
    programs, summary = _files_of(snapshot, max_file_bytes)
    return {SUMMARY: summary, **programs, **_source_of(snapshot)}


def _source_of(snapshot: Snapshot) -> dict[str, bytes]:
    if snapshot.source is None:
        return {}
    return {SOURCE: json.dumps(snapshot.source, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"}


def replace_file(root: Path, name: str, content: bytes) -> None:
    """Write one file beside the snapshots atomically. Call it while holding the folder.

    Args:
        root: the snapshots folder.
        name: path below it.
        content: the new content.

    Raises:
        StoreError: it cannot be written, the name is not safe, or it or a folder on the path is a link.
    """
    with clear_errors(root):
        _replace_file(root, place_below(root, name), content)


def remove_snapshot(root: Path, key: Key, more: Sequence[str] = ()) -> None:
    """Delete one snapshot and the folders that this leaves empty.

    Args:
        root: the snapshots folder.
        key: the snapshot.
        more: names of other hlodiff files that its folder may contain.

    Raises:
        StoreError: it cannot be deleted.
    """
    with clear_errors(root):
        folder = place_below(root, key.folder)
        if not folder.is_dir():
            return
        names = {*FILES, *more}
        if all(entry.name in names and entry.is_file(follow_symlinks=False) for entry in os.scandir(folder)):
            # In one step, so that a killed run leaves all of it or nothing.
            _with_scratch(root, lambda scratch: folder.rename(scratch / "old"))
        else:
            for name in (SUMMARY, *sorted(names - {SUMMARY})):  # without its summary it is not a snapshot
                (folder / name).unlink(missing_ok=True)
        remove_empty(root, folder)


def remove_empty(root: Path, folder: Path) -> None:
    """Delete a folder and its parents up to `root`, as long as they are empty."""
    while folder != root:
        with contextlib.suppress(FileNotFoundError):
            if any(folder.iterdir()):
                return
            folder.rmdir()
        folder = folder.parent


def _files_of(snapshot: Snapshot, max_file_bytes: int) -> tuple[dict[str, bytes], bytes]:
    """The program files and their summary."""
    programs: dict[str, bytes] = {}
    packed: dict[str, Any] = {}
    for name, text in ((STABLEHLO, snapshot.stablehlo), (COMPILED, snapshot.compiled)):
        content = text.encode()
        if len(content) > max_file_bytes:
            programs[f"{name}.gz"] = gzip.compress(content, 9, mtime=0)
            packed[name] = {"stored_as": f"{name}.gz", "bytes": len(content)}
        else:
            programs[name] = content
    return programs, _summary_of(snapshot, packed)


def _summary_of(snapshot: Snapshot, packed: Mapping[str, Any]) -> bytes:
    """The summary, including which programs are stored compressed."""
    return dump_yaml({**snapshot.summary, "compressed": dict(packed)} if packed else snapshot.summary).encode()


def _read_existing(root: Path, key: Key) -> dict[str, bytes] | None:
    """The recorded files without source.json; None if they cannot be read and must be written again."""
    tree, names = FolderTree(root), [name for name in FILES if name != SOURCE]
    try:
        read_whole_snapshot(tree, key)
        contents = tree.read([f"{key.folder}/{name}" for name in names])
    except StoreError:
        return None
    return {name.rpartition("/")[2]: content for name, content in contents.items()}


def _unpacked(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Programs by plain name: compressed bytes differ between versions of zlib, which is not a change."""
    programs: dict[str, bytes] = {}
    for name in PROGRAMS:
        if name in files:
            programs[name] = files[name]
        elif f"{name}.gz" in files:
            with contextlib.suppress(StoreError):  # damaged: differs from every program, so it is written again
                programs[name] = unpack(files[f"{name}.gz"], name)
    return programs


def _replace_file(root: Path, place: Path, content: bytes) -> None:
    def put(scratch: Path) -> None:
        part = scratch / "file"
        _write(part, content)
        part.replace(place)

    place.parent.mkdir(parents=True, exist_ok=True)
    _with_scratch(root, put)
    _sync(place.parent)


def replace_folder(root: Path, key: Key, contents: Mapping[str, bytes]) -> None:
    """Write all files elsewhere, then move them into place in one step.

    Args:
        root: the snapshots folder or the pending folder.
        key: the snapshot whose folder is replaced.
        contents: its files by name; other files there are deleted.

    Raises:
        StoreError: a folder on the path is a link, or the place contains other snapshots.
        OSError: it cannot be written.
    """
    place = place_below(root, key.folder)
    folders = sorted(entry for entry in place.iterdir() if entry.is_dir()) if place.is_dir() else []
    for folder in folders:
        if folder.name in contents:
            raise StoreError("is a folder, where a file belongs", where=str(folder), hint="move it away")
        hint = f"give the cases of `{key.function}` other names than its targets"
        raise StoreError("this snapshot's folder holds other snapshots", where=str(place), hint=hint)

    def put(scratch: Path) -> None:
        part = scratch / "new"
        _write_folder(part, contents)
        if not place.exists():
            part.rename(place)
        elif not _exchange(part, place):
            # File systems without an atomic exchange (NFS, some overlays).
            journal = git_folder(root)
            if journal is not None and _is_usable(journal, root):
                _install_files(root, _journaled(journal, key, contents), place)
            else:
                _rename_over(part, place, scratch / "old")

    place.parent.mkdir(parents=True, exist_ok=True)
    _with_scratch(root, put)
    _sync(place.parent)


def _journaled(journal: Path, key: Key, contents: Mapping[str, bytes]) -> Path:
    """Write the files under the name from which the next run would finish the installation."""
    part, ready = journal / "journal.new", journal / (key.folder.replace("/", "+") + _READY)
    shutil.rmtree(part, ignore_errors=True)
    _write_folder(part, contents)
    part.rename(ready)
    _sync(journal)
    return ready


def _install_files(root: Path, ready: Path, place: Path) -> None:
    """Move every file of a complete folder into place and delete the files that no longer belong there."""
    names = [name for name in FILES if (ready / name).is_file() and not (ready / name).is_symlink()]
    for name in names:
        # Copies, so that `ready` stays complete until the end and this can be repeated.
        _replace_file(root, place / name, (ready / name).read_bytes())
    for path in sorted(place.iterdir()):
        if path.is_file() and path.name not in names:
            path.unlink()
    _sync(place)
    shutil.rmtree(ready)


def _rename_over(part: Path, place: Path, old: Path) -> None:
    """Rename in two steps: a run killed between them leaves no snapshot, which the next `update` writes again."""
    place.rename(old)
    try:
        part.rename(place)
    except OSError:
        old.rename(place)
        raise


def _with_scratch(root: Path, put: Callable[[Path], object]) -> None:
    """Call `put` with a new folder with an unpredictable name, from which a rename reaches the snapshots."""
    for folder in _scratch_folders(root):
        try:
            scratch = Path(tempfile.mkdtemp(dir=folder))
            try:
                put(scratch)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            return
        except OSError as error:
            # A separate mount, which the device number does not always show.
            if error.errno != errno.EXDEV or folder == root / PARTIAL:
                raise


def _scratch_folders(root: Path) -> Iterator[Path]:
    """Folders for work in progress, best first; each is created when requested.

    Preferably in git's own directory, to which git adds nothing, if it is on the same file system and writable;
    otherwise beside the snapshots, where the next run trusts nothing and deletes it.
    """
    private = git_folder(root)
    if private is not None and _is_usable(private, root):
        yield private
    folder = root / PARTIAL
    refuse_links(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ignored_by_git(folder)
    yield folder


def _is_usable(private: Path, root: Path) -> bool:
    with contextlib.suppress(OSError):
        private.mkdir(parents=True, exist_ok=True)
        return private.stat().st_dev == root.stat().st_dev and os.access(private, os.W_OK | os.X_OK, effective_ids=True)
    return False


def place_beside(folder: Path) -> Path:
    """Where to write what will be renamed to a folder: in git's own directory if possible, else beside it.

    Args:
        folder: need not exist, but its parent must.

    Example:
        >>> place_beside(Path("/recording")).as_posix()
        '/'
    """
    private = git_folder(folder)
    return private if private is not None and _is_usable(private, folder.parent) else folder.parent


def put_in_place(part: Path, folder: Path) -> None:
    """Replace a folder by a complete one, in one step if the system can.

    Args:
        part: the complete folder, on the same file system; afterwards the old content is deleted or is here.
        folder: the destination, which may be empty.

    Raises:
        OSError: the system refuses it.
    """
    if not os.path.lexists(folder):
        part.rename(folder)
    elif not _exchange(part, folder):
        _rename_over(part, folder, part.with_name("old"))
    _sync(folder.parent)


def ignored_by_git(folder: Path) -> None:
    """Make git ignore everything in a folder, including the ignore file that this adds; an existing one is kept.

    Args:
        folder: an existing folder.

    Raises:
        OSError: the file cannot be written.
    """
    with contextlib.suppress(FileExistsError), (folder / ".gitignore").open("x") as file:
        file.write("*\n")


def _write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, content in contents.items():
        _write(folder / name, content)
    _sync(folder)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Flush a folder's entries to disk; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# Errors of renameat2 if it is unknown, or unsupported for these folders (lower layers of an overlay).
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False if the system or file system cannot.

    Raises:
        OSError: it is supported but failed for another reason, such as a read-only folder.
    """
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if swap(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    # Moving a folder needs the right to write into it, too.
    refused = other.parent if os.access(other, os.W_OK, effective_ids=True) else other
    raise OSError(number, os.strerror(number), str(refused))


def _lock(handle: int, root: Path, until: float) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: each snapshot is still written atomically, the last writer wins
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
    except OSError:  # a file system without locks, treated like Windows
        return


@contextlib.contextmanager
def clear_errors(root: Path) -> Iterator[None]:
    """Report system errors with the file and a hint."""
    try:
        yield
    except OSError as error:
        where = str(error.filename2 or error.filename or root)
        # The name of a temporary file helps nobody: the folder is full or read-only.
        if where.startswith((f"{git_folder(root)}{os.sep}", f"{root / PARTIAL}{os.sep}")):
            where = str(root)
        what = f"cannot be written: {error.strerror or error}"
        setting = "" if ".hlodiff" in root.parts else "snapshots"
        raise StoreError(what, where=where, hint=repair_of(error, setting)) from None
