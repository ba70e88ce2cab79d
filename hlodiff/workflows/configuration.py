"""Loading `[tool.hlodiff]`: the configuration, read with the graph rules that there are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from hlodiff.config import TABLE, Config, RuleTypes, find_and_read, shown_path
from hlodiff.errors import ConfigError

_TIMEOUT: ContextVar[float | None] = ContextVar("timeout", default=None)


@contextmanager
def timeout_of(seconds: float) -> Iterator[None]:
    """Every configuration that is loaded inside the block has this `timeout`, as the command line asks for."""
    token = _TIMEOUT.set(seconds)
    try:
        yield
    finally:
        _TIMEOUT.reset(token)


def load(start: Path) -> Config:
    """Read the configuration that governs a folder.

    Args:
        start: a pyproject.toml, or a folder; then the nearest pyproject.toml upward that has the table is read.

    Returns:
        the configuration.

    Raises:
        ConfigError: no such table, TOML that does not parse, an unknown key, a value of the wrong kind, or a snapshots
            folder outside of the repository (where there is none, of the project).

    Example:
        >>> load(Path("examples")).snapshots.name  # doctest: +SKIP
        'snapshots'
    """
    config = load_if_any(start)
    if config is None:
        what = f"no pyproject.toml with a [{TABLE}] table here or in a folder above"
        raise ConfigError(what, where=str(start.absolute()), hint="hlodiff init")
    _refuse_outside(config)
    return config


def _refuse_outside(config: Config) -> None:
    """A pull request names the folder of snapshots too, and `accept` writes there without running its code."""
    root, snapshots = (Path(os.path.normpath(path.absolute())) for path in (config.root, config.snapshots))
    top = top_of(root)
    if not snapshots.is_relative_to(top) or ".git" in map(str.lower, snapshots.relative_to(top).parts):
        what = f"`snapshots` leads out of the {'repository' if (top / '.git').exists() else 'project'}"
        raise ConfigError(what, where=str(shown_path(config.root / "pyproject.toml")), hint="name a folder inside it")


def top_of(root: Path) -> Path:
    """The repository that a project lies in; the project's own folder where it lies in none."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def load_if_any(start: Path) -> Config | None:
    """The same as `load`, but None where no folder upward has the table."""
    config = find_and_read(start, _graph_rules)
    seconds = _TIMEOUT.get()
    return config if config is None or seconds is None else replace(config, timeout=seconds)


def _graph_rules() -> RuleTypes:
    # The rules need most of the differ: 0.2 s that a project without rules does not pay.
    from hlodiff.policy.rules import RULES_BY_NAME

    return RULES_BY_NAME
