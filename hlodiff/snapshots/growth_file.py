"""`growth.yaml`: how the programs of a case grow, beside the folders of its targets."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hlodiff.errors import StoreError
from hlodiff.snapshots.keys import is_safe
from hlodiff.snapshots.paths import place_below
from hlodiff.snapshots.read import refuse_conflict, refuse_stale
from hlodiff.snapshots.trees import FolderTree
from hlodiff.snapshots.write import clear_errors, remove_empty, replace_text
from hlodiff.snapshots.yaml_format import dump, load

GROWTH = "growth.yaml"
_LARGEST = 1024 * 1024


def growth_path(function: str, case: str) -> str:
    """Its path below the snapshots folder.

    Example:
        >>> growth_path("solve", ""), growth_path("solve", "long")
        ('solve/growth.yaml', 'solve/long/growth.yaml')
    """
    parts = [function, *([case] if case else [])]
    for part in parts:
        if not is_safe(part):
            raise StoreError(f"{part!r} cannot be the name of a folder", where="/".join(parts))
    return "/".join([*parts, GROWTH])


def list_growth(root: Path) -> tuple[tuple[str, str], ...]:
    """Function and case of every `growth.yaml` of a snapshots folder, in order.

    Example:
        >>> list_growth(Path("no such folder"))
        ()
    """
    found = []
    for file in FolderTree(root).files():
        parts = file.split("/")
        if parts[-1] == GROWTH and len(parts) in (2, 3) and all(map(is_safe, parts[:-1])):
            found.append((parts[0], parts[1] if len(parts) == 3 else ""))
    return tuple(sorted(found))


def read_growth(root: Path, function: str, case: str) -> dict[str, Any] | None:
    """What is recorded of a case, None where nothing is.

    Raises:
        StoreError: the file is broken, stale since a merge, or of a format of the future.
    """
    name = growth_path(function, case)
    content = FolderTree(root).read([name], _LARGEST).get(name)
    if content is None:
        return None
    where = f"{root}/{name}"
    again = f"hlodiff update {function}/{case}" if case else f"hlodiff update {function}"
    refuse_conflict(content, where, again)
    try:
        table = load(content.decode("utf-8"), where)
    except UnicodeDecodeError as error:
        raise StoreError(f"is not UTF-8 text: byte {error.start}", where=where) from None
    refuse_stale(table, where, again)
    return table


def write_growth(root: Path, function: str, case: str, value: Mapping[str, Any]) -> bool:
    """Record how a case grows; False where the same is recorded already. Call it with the folder held."""
    name, text = growth_path(function, case), dump(value)
    with contextlib.suppress(OSError):
        if (root / name).read_text(encoding="utf-8") == text:
            return False
    replace_text(root, name, text)
    return True


def remove_growth(root: Path, function: str, case: str) -> None:
    """Delete what is recorded of a case, and the folders that it leaves empty."""
    path = place_below(root, growth_path(function, case))
    with clear_errors(root):
        path.unlink(missing_ok=True)
        remove_empty(root, path.parent)
