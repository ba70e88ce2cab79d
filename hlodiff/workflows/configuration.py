"""Finds and loads `[tool.hlodiff]`, with the known graph rules."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlodiff.errors import ConfigError

if TYPE_CHECKING:  # 1,000 lines, not needed without a configuration
    from hlodiff.config import Config, RuleTypes

_TIMEOUT: ContextVar[float | None] = ContextVar("timeout", default=None)


@contextmanager
def timeout_of(seconds: float) -> Iterator[None]:
    """Give this `timeout`, from the command line, to every configuration loaded inside the block."""
    token = _TIMEOUT.set(seconds)
    try:
        yield
    finally:
        _TIMEOUT.reset(token)


def load(start: Path) -> Config:
    """Read the configuration that governs a folder.

    Args:
        start: a pyproject.toml, or a folder, for the nearest pyproject.toml upward that has the table.

    Returns:
        the configuration.

    Raises:
        ConfigError: no such table, TOML that does not parse, an unknown key, a value of the wrong kind, or a snapshots
            folder outside of the repository (of the project, if there is no repository).

    Example:
        >>> load(Path("examples")).snapshots.name  # doctest: +SKIP
        'snapshots'
    """
    config = load_if_any(start)
    if config is None:
        what = "no pyproject.toml with a [tool.hlodiff] table here or in a folder above"
        raise ConfigError(what, where=str(start.absolute()), hint="hlodiff init")
    # A pull request can set the snapshots folder, and `accept` writes there without running its code.
    root, snapshots = (Path(os.path.normpath(path.absolute())) for path in (config.root, config.snapshots))
    top = top_of(root)
    if not snapshots.is_relative_to(top) or ".git" in map(str.lower, snapshots.relative_to(top).parts):
        from hlodiff.config import shown_path

        what = f"`snapshots` leads out of the {'repository' if (top / '.git').exists() else 'project'}"
        raise ConfigError(what, where=str(shown_path(config.root / "pyproject.toml")), hint="name a folder inside it")
    return config


def top_of(root: Path) -> Path:
    """The repository of a project, or the project's own folder if it is in none."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def load_if_any(start: Path) -> Config | None:
    """`load`, but None if no folder upward has the table."""
    start = start.absolute()
    files = [start] if start.is_file() else [folder / "pyproject.toml" for folder in (start, *start.parents)]
    tables = ((file, _table(file)) for file in files if file.is_file())
    file, table = next(((file, table) for file, table in tables if table is not None), (None, None))
    if file is None or table is None:
        return None
    from hlodiff.config import read_table

    graph_rules: RuleTypes = {}
    if "rules" in table:  # rules import most of the differ, 0.2 s
        from hlodiff.policy.rules import RULES_BY_NAME as graph_rules

    config = read_table(table, file, graph_rules)
    seconds = _TIMEOUT.get()
    return config if seconds is None else replace(config, timeout=seconds)


# A dotted key. Python takes n * n steps to read one of n parts.
_DOTTED_KEY = re.compile(r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')(?:\s*+\.\s*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+'))*+""")
_MAX_PARTS = 100
_LARGEST_FILE = 16 * 1024**2


def parse_toml(text: str) -> dict[str, Any]:
    """Parse the TOML of a project, which may be untrusted.

    Args:
        text: content of a pyproject.toml.

    Returns:
        its tables.

    Raises:
        ValueError: it is not TOML (`tomllib.TOMLDecodeError`), nested too deep, or would take long to read.

    Example:
        >>> parse_toml("[tool.hlodiff]\\njobs = 2")
        {'tool': {'hlodiff': {'jobs': 2}}}
    """
    for found in _DOTTED_KEY.finditer(text):
        if found.end() - found.start() > 2 * _MAX_PARTS and found[0].count(".") > _MAX_PARTS:
            line = text.count("\n", 0, found.start()) + 1
            raise ValueError(f"a key of more than {_MAX_PARTS} parts in line {line}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("tables or lists are nested too deep") from None


def _table(file: Path) -> Mapping[str, object] | None:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise ValueError(f"larger than {_LARGEST_FILE >> 20} MiB")
        tool = parse_toml(file.read_bytes().decode()).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=os.path.relpath(file)) from None
    except OSError as error:
        what, hint = f"cannot be read: {error.strerror or error}", "make it a readable file"
        raise ConfigError(what, where=os.path.relpath(file), hint=hint) from None
    except ValueError as error:  # also raised for numbers of more digits than Python converts
        raise ConfigError(f"cannot be read: {error}", where=os.path.relpath(file)) from None
    table = tool.get("hlodiff") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError("[tool.hlodiff] must be a table", where=os.path.relpath(file))
    return table
