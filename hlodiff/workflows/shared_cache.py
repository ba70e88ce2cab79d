"""The compile cache of a run: its folder, which folders are refused as untrusted, and the report notes on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hlodiff.capture import COMPILE_CACHE, CacheFolder
from hlodiff.capture.cache_folder import CacheUse, trim
from hlodiff.config import process_environment, shown_path
from hlodiff.errors import StoreError, UsageError
from hlodiff.report.wording import many
from hlodiff.snapshots.paths import refuse_links
from hlodiff.snapshots.trees import git

VARIABLE = "HLODIFF_COMPILE_CACHE"
"""Environment variable for the cache folder, with the suffix `:ro` if read-only. If unset, nothing is cached."""
_READ_ONLY = ":ro"


@contextmanager
def using_compile_cache(folder: str | Path | None) -> Iterator[None]:
    """Cache compiled programs of the block in a folder.

    Args:
        folder: a folder, with the suffix `:ro` if read-only; None for the one in HLODIFF_COMPILE_CACHE, if any.

    Raises:
        UsageError: the folder holds files of the repository.
        StoreError: the path contains a link of a project.
    """
    chosen = str(folder or "") or process_environment().get(VARIABLE, "")
    if not chosen or chosen.lower() in ("off", "0"):
        yield
        return
    path = Path(chosen.removesuffix(_READ_ONLY)).expanduser().absolute()
    refuse_links(path)
    _refuse_committed(path)
    use = CacheUse(CacheFolder(str(path), not chosen.endswith(_READ_ONLY)))
    token = COMPILE_CACHE.set(use)
    try:
        yield
    finally:
        COMPILE_CACHE.reset(token)
        if use.folder.write and use.compiled:
            trim(path)


def _refuse_committed(path: Path) -> None:
    """Refuse a folder with committed files: a commit must not supply compiled programs."""
    real = Path(os.path.realpath(path))
    for folder in dict.fromkeys((path, real)):
        above = next((one for one in (folder, *folder.parents) if one.is_dir()), folder)
        below = os.path.relpath(folder, above)
        try:
            tracked = git(above, ["ls-files", "-z", "--", below], "", accept=(0, 128))
        except StoreError:  # without git nothing is committed
            return
        if tracked:
            what = f"the compile cache {shown_path(path)} holds files of the repository, which any commit may bring"
            raise UsageError(what, hint="name a folder that git does not track")


def cache_notes() -> tuple[str, ...]:
    """Report notes on the cache of this run.

    Returns:
        one note if anything was compiled or found; else ().
    """
    use = COMPILE_CACHE.get()
    if use is None or not use.hits + use.compiled:
        return ()
    asked = many(use.hits + use.compiled, "program")
    return (f"{use.hits:,} of {asked} that XLA would have compiled came from the compile cache",)
