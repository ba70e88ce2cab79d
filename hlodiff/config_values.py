"""Readers of single values of the configuration: each checks what it is given and says where it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from hlodiff.errors import ConfigError


def closest(word: str, options: Iterable[str]) -> str:
    """The option a mistyped word most likely means.

    Args:
        word: what was typed.
        options: what could have been meant.

    Returns:
        the nearest option, or "" where none is within a third of the word (at least two) in edits.

    Example:
        >>> closest("tagets", ["modules", "targets"])
        'targets'
    """
    ranked = sorted((_edits(word.lower(), option.lower()), option) for option in options)
    return ranked[0][1] if ranked and ranked[0][0] <= max(2, len(word) // 3) else ""


def _edits(a: str, b: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def reject_unknown_keys(table: Mapping[str, object], known: Iterable[str], name: str, where: str) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            near = closest(key, known)
            hint = f"did you mean `{near}`?" if near else f"known keys: {', '.join(known)}"
            raise ConfigError(f"unknown key `{key}` in [{name}]", where=where, hint=hint)


def wrong(value: object, where: str, expected: str) -> ConfigError:
    return ConfigError(f"expected {expected}, found {type(value).__name__} {value!r}", where=where)


def strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise wrong(value, where, 'a list of strings, as in ["a", "b"]')
    return tuple(cast(list[str], value))


def flags(value: object, where: str) -> tuple[str, ...]:
    flags = tuple(value.split()) if isinstance(value, str) else strings(value, where)
    for flag in flags:
        if not flag.startswith("--") or len(flag.split()) != 1:
            raise ConfigError(f"expected a flag, as in --name=value, found {flag!r}", where=where)
    return flags


def text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(value, where, "a string that is not empty")
    return value


def folder(value: object, where: str) -> Path:
    return Path(text(value, where))


def count(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise wrong(value, where, "a whole number of at least 1")
    return value


def flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(value, where, "true or false")
    return value


def constants(value: object, where: str) -> str:
    if value not in ("hash", "ignore"):
        raise wrong(value, where, '"hash" or "ignore"')
    return str(value)
