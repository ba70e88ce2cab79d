"""Patterns of a policy that fit nothing: a mistyped one would hold for no program, and nobody would see it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from hlodiff.capture import Discovery
from hlodiff.config import TABLE, Config, closest

_Patterns = tuple[str, ...]


def idle_patterns(config: Config, discovery: Discovery) -> tuple[str, ...]:
    """What a report says of patterns that fit no registered function or target.

    Args:
        config: with the policy of the configuration alone; a function's own budget is for that function.
        discovery: everything that is registered.

    Returns:
        a note for each such pattern; () where cases are not known, since they may be what is meant.

    Example:
        >>> from pathlib import Path
        >>> idle_patterns(Config(Path(".")), Discovery(()))
        ()
    """
    if any(found.problem for found in discovery.functions):
        return ()
    requests = discovery.requests()
    names = dict.fromkeys(name for one in requests for name in (one.function, _name(one.function, one.case)))
    targets = dict.fromkeys(one.target for one in requests)
    notes: dict[str, None] = {}
    for table, functions, on in _tables(config):
        for word, patterns, known in (("function", functions, names), ("target", on, targets)):
            for pattern in patterns:
                if not any(fnmatchcase(name, pattern) for name in known):
                    near = closest(pattern, known)
                    hint = f", did you mean `{near}`?" if near else ""
                    notes[f"[{TABLE}] {table}: no {word} fits `{pattern}`{hint}"] = None
    return tuple(notes)


def _name(function: str, case: str) -> str:
    return f"{function}/{case}" if case else function


def _tables(config: Config) -> Iterator[tuple[str, _Patterns, _Patterns]]:
    for number, table in enumerate(config.changes, 1):
        yield f"changes {number}", table.functions, table.targets
    for number, budget in enumerate(config.budgets, 1):
        yield f"budgets {number}", budget.functions, budget.targets
    for use in config.rules:
        yield f"rules.{use.rule}", use.functions, use.targets
