"""`hlodiff git install` and `uninstall`: what is written, and what is taken back, to the byte."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hlodiff.cli.git_attributes import block_of, own_row, with_block, with_row, without_block, without_row
from hlodiff.cli.git_drivers import Setting, is_ours, runs, settings
from hlodiff.cli.git_repository import Repository
from hlodiff.cli.output import near
from hlodiff.errors import UsageError


def install(repository: Repository) -> Iterator[str]:
    """Set the drivers up in this clone, and name our files in .gitattributes.

    Args:
        repository: where.

    Returns:
        what was done, one line each; nothing where everything was as it should be.

    Raises:
        UsageError: a key holds somebody's own value, git could not run hlodiff, or a file cannot be written. Nothing is
            written then.
    """
    before = read_attributes(repository.attributes)
    changes = [one for one in settings() if repository.values(one.key) != (one.value,)]
    for one in changes:
        _refuse_others(repository, one)
    if changes and not runs(sys.executable, repository.top):
        what = "finds hlodiff only from some folders, and git runs it from others"
        raise UsageError(
            what, where=sys.executable, hint="pip install hlodiff there; `pip install -e .` in a checkout of it"
        )
    after = with_block(before, repository.below)
    if after != before:
        _write(repository.attributes, after)
        verb = "rewrote" if block_of(before) is not None else "added"
        yield f"{verb} {len(block_of(after) or ())} lines in {near(repository.attributes)}"
    yield from _install_own(repository)
    for one in changes:
        repository.set(one.key, one.value)
    if changes:
        drivers = ", ".join(dict.fromkeys(one.driver for one in changes))
        yield f"set up in this clone's git configuration: {drivers}"


def _install_own(repository: Repository) -> Iterator[str]:
    path, row = repository.own_attributes, own_row(repository.below_top)
    text = read_attributes(path)
    if row not in text.splitlines():
        _write(path, with_row(text, row))
        yield f"added 1 line in {near(path)}"


def _uninstall_own(repository: Repository) -> Iterator[str]:
    path = repository.own_attributes
    before = read_attributes(path)
    after = without_row(before, own_row(repository.below_top))
    if after != before:
        if after:
            _write(path, after)
        else:
            path.unlink()
        yield f"took our line out of {near(path)}"


def _refuse_others(repository: Repository, setting: Setting) -> None:
    foreign = [value for value in repository.values(setting.key) if not is_ours(setting, value)]
    if foreign:
        what = f"is set to something of your own already: {foreign[0][:80]}"
        hint = f"git config --unset-all {setting.key}, if that may go; then `hlodiff git install` again"
        raise UsageError(what, where=f"git configuration, {setting.key}", hint=hint)


def uninstall(repository: Repository) -> Iterator[str]:
    """Take back what `install` has written; what is somebody's own stays.

    Args:
        repository: where.

    Returns:
        what was done, one line each; nothing where nothing was installed.

    Raises:
        UsageError: a file cannot be written.
    """
    before = read_attributes(repository.attributes)
    after = without_block(before)
    if after != before:
        if after:
            _write(repository.attributes, after)
            yield f"took our lines out of {near(repository.attributes)}{_for_all(repository)}"
        else:
            repository.attributes.unlink()
            yield f"deleted {near(repository.attributes)}, which held nothing else{_for_all(repository)}"
    yield from _uninstall_own(repository)
    mine = [one for one in settings() if any(is_ours(one, value) for value in repository.values(one.key))]
    for one in mine:
        foreign = [value for value in repository.values(one.key) if not is_ours(one, value)]
        if not foreign:
            repository.unset(one.key)
    if mine:
        drivers = ", ".join(dict.fromkeys(one.driver for one in mine))
        yield f"took out of this clone's git configuration: {drivers}"


def _for_all(repository: Repository) -> str:
    """What has to be said where the lines are committed."""
    is_committed = repository.ask(["ls-files", "-z", "--", str(repository.attributes)])
    return "; committed, that takes them from everybody" if is_committed else ""


def read_attributes(path: Path) -> str:
    """The text of a .gitattributes; "" where there is none. Bytes that are no text stay as they are.

    Raises:
        UsageError: it is a link, which git does not follow either, or cannot be read.
    """
    if path.is_symlink():
        raise UsageError("is a link, and git reads no attributes through links", where=str(near(path)))
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(near(path))) from None


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(text.encode("utf-8", "surrogateescape"))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"cannot be written: {error.strerror}", where=str(near(path))) from None
