"""Names of snapshots and the folders they live in: `<function>[/<case>]/<target>`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hlodiff.errors import StoreError

SUMMARY = "summary.yaml"
STABLEHLO = "stablehlo.mlir"
COMPILED = "compiled.hlo"
SOURCE = "source.json"
PYTEST = "pytest"
"""The folder below the snapshots that belongs to tests: the pytest plugin writes there, commands ignore it."""
PROGRAMS = (STABLEHLO, COMPILED)
FILES = (SUMMARY, SOURCE, *PROGRAMS, *(f"{name}.gz" for name in PROGRAMS))
"""Files that a snapshot's folder may contain."""

# Names that every system can check out. A folder is read back only if each part of its path matches.
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?<!\.)")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Identifies a snapshot: a function, one of its cases ("" if it has only one) and a target.

    Example:
        >>> Key("train_step", "small", "cpu").folder
        'train_step/small/cpu'
    """

    function: str
    case: str
    target: str

    @property
    def name(self) -> str:
        """Function and case, as users select and read them: `train_step/small`."""
        return f"{self.function}/{self.case}" if self.case else self.function

    @property
    def folder(self) -> str:
        """Path below the snapshots folder, with `/` on every system.

        Raises:
            StoreError: a part of the name is not a safe folder name.
        """
        parts = [self.function, *([self.case] if self.case else []), self.target]
        for part in parts:
            if not is_safe(part):
                hint = "use letters, digits, '_', '-' and '.' only; the first is not '.' or '-'"
                raise StoreError(f"{part!r} cannot be the name of a folder", where=self.name, hint=hint)
        return "/".join(parts)


def is_safe(name: str) -> bool:
    """Whether a name can be a folder on every system.

    Example:
        >>> is_safe("train_step"), is_safe("../x"), is_safe("nul")
        (True, False, False)
    """
    return bool(_SAFE.fullmatch(name)) and not _RESERVED.fullmatch(name)


def key_at(parts: Sequence[str]) -> Key:
    """The key of a folder: function and target, or function, case and target.

    Example:
        >>> key_at(["f", "cpu"]), key_at(["f", "small", "cpu"]).case
        (Key(function='f', case='', target='cpu'), 'small')
    """
    return Key(parts[0], parts[1] if len(parts) == 3 else "", parts[-1])


def keys_of(files: Iterable[str]) -> tuple[tuple[Key, ...], tuple[str, ...]]:
    """The snapshots in a list of files.

    Args:
        files: relative paths with `/`.

    Returns:
        the keys in order, and the folders that contain a summary but have no valid name.

    Example:
        >>> keys_of(["f/cpu/summary.yaml", "a/b/c/d/summary.yaml"])
        ((Key(function='f', case='', target='cpu'),), ('a/b/c/d',))
    """
    keys: list[Key] = []
    strays: list[str] = []
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        parts = folder.split("/")
        if name != SUMMARY or parts[0].startswith(".") or parts[0] == PYTEST:
            continue
        if len(parts) in (2, 3) and all(map(is_safe, parts)):
            keys.append(key_at(parts))
        else:
            strays.append(folder)
    return tuple(keys), tuple(strays)
