"""The merge driver: ours stays, and says that it is stale. Nothing is compiled, and no program is made up of two."""

from __future__ import annotations

from pathlib import Path

from hlodiff.cli.git_names import named_file
from hlodiff.cli.output import tell
from hlodiff.store import marked_stale

_CONFLICT = 1


def merge(ours: Path, path: str) -> int:
    """Keep one side of a file that both sides of a merge have changed.

    Args:
        ours: the file that git takes the result from; it holds our side.
        path: where the result goes.

    Returns:
        1: git calls it a conflict and waits. With 0 it would commit a program that neither side nor the merged code
        compiles to, and nobody would have been asked.

    Raises:
        OSError: the file cannot be read or written.
    """
    if path.endswith(".yaml"):
        ours.write_bytes(marked_stale(ours.read_bytes()))
        named = named_file(path)
        what = f"{named.name} on {named.target}" if named.target else f"{named.file} of {named.name}"
        tell(f"hlodiff: both sides changed {what}: ours is kept, marked stale; once the code is merged: {named.again}")
    return _CONFLICT
