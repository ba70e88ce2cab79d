"""Selecting by name and target: shell patterns over `function`, `function/case` and targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from hlodiff.config import closest
from hlodiff.errors import UsageError
from hlodiff.store import Key


def selected(key: Key, names: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether a program is among the chosen ones; no pattern chooses all.

    Example:
        >>> selected(Key("train", "small", "cpu"), ["train"], ["c*"])
        True
    """
    return _matches((key.function, key.name), names) and _matches((key.target,), targets)


def select(
    keys: Iterable[Key], names: Sequence[str], targets: Sequence[str], others: Sequence[str] = ()
) -> tuple[Key, ...]:
    """The chosen keys.

    Args:
        keys: everything there is.
        names: patterns for functions (`train*`) or cases (`train/small`); all where empty.
        targets: patterns for targets; all where empty.
        others: names of scenarios, which run on cpu: a pattern may be meant for them alone.

    Returns:
        the chosen keys, in order.

    Raises:
        UsageError: a pattern matches nothing; says what is nearest.
    """
    keys = tuple(keys)
    for pattern in names:
        there = any(_matches((key.function, key.name), [pattern]) for key in keys)
        if not there and not any(fnmatchcase(name, pattern) for name in others):
            raise _nothing("function", pattern, [*(key.name for key in keys), *others], "hlodiff list")
    for pattern in targets:
        if not any(_matches((key.target,), [pattern]) for key in keys) and not (others and fnmatchcase("cpu", pattern)):
            raise _nothing("target", pattern, [key.target for key in keys], "hlodiff list")
    return tuple(key for key in keys if selected(key, names, targets))


def _matches(values: Sequence[str], patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for value in values for pattern in patterns)


def _nothing(what: str, pattern: str, options: list[str], command: str) -> UsageError:
    near = closest(pattern, dict.fromkeys(options))
    hint = f"did you mean `{near}`? " if near else ""
    return UsageError(f"no {what} matches `{pattern}`", hint=f"{hint}`{command}` shows what there is")
