"""What `hlodiff diff` compares: two sides, or one word that names both, as `main...HEAD` does in git."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath

from hlodiff.cli.output import near
from hlodiff.cli.sides import Sides, open_side, snapshots_folder, tree_side
from hlodiff.errors import UsageError
from hlodiff.store import open_revision
from hlodiff.store.git import merge_base

# No name of a revision holds two dots, so the first ones divide; what looks like a path is none of git's.
_RANGE = re.compile(r"(?P<old>(?:[^.:/][^:]*?)?)(?P<dots>\.{2,3})(?P<new>(?![./])[^:]*)")


def open_sides(old: str, new: str | None, project: Path) -> tuple[Sides, Sides]:
    """Find the programs of both sides.

    Args:
        old: a path, a revision, or a range of revisions where it stands alone: `main..HEAD` compares the two,
            `main...HEAD` compares HEAD with the commit in which it left main. An end that is left out is HEAD.
        new: a path or a revision; without it a revision is compared with the work tree.
        project: where the configuration is looked for.

    Returns:
        old side, new side.

    Raises:
        UsageError: a side is missing, or is nothing that can be compared.
        StoreError: a revision cannot be read, or two have no commit in common.

    Example:
        >>> open_sides("main...HEAD", None, Path("."))[0].label  # doctest: +SKIP
        'main...HEAD (0f3e1c2)'
    """
    ranges = [found for spec in (old, new) if spec and (found := _range(spec))]
    if new is not None:
        if ranges:
            what = "is a range of revisions, which names both sides"
            raise UsageError(what, where=ranges[0].group(), hint=f"hlodiff diff {ranges[0].group()}")
        return open_side(old, project), open_side(new, project)
    if ranges:
        return _of_range(ranges[0], project)
    if Path(old).exists():
        raise UsageError("compared with what? NEW is missing", where=old, hint="hlodiff diff OLD NEW")
    folder = snapshots_folder(project)
    if not folder.is_dir():
        what = f"{old} is compared with the snapshots of the work tree, and there are none"
        raise UsageError(what, where=str(near(folder)), hint="hlodiff update")
    return open_side(old, project), open_side(str(near(folder)), project)


def _range(spec: str) -> re.Match[str] | None:
    return None if Path(spec).exists() else _RANGE.fullmatch(spec)


def _of_range(found: re.Match[str], project: Path) -> tuple[Sides, Sides]:
    old, new = found["old"] or "HEAD", found["new"] or "HEAD"
    if found["dots"] == "..":
        return open_side(old, project), open_side(new, project)
    base = merge_base(project, old, new, found.group())
    tree = open_revision(project, base, snapshots_folder(project))
    label = f"{found.group()} ({base[:7]})"
    tree = replace(tree, spec=label)
    return tree_side(label, tree, tree, PurePosixPath()), open_side(new, project)
