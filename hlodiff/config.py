"""`[tool.hlodiff]` of pyproject.toml, and the process environment: this file is the only reader of both."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, cast

from hlodiff.config_policy import FAIL_ON, Budget, Changes, RuleUse, budgets, changes, fail_on, rules
from hlodiff.config_values import closest as closest
from hlodiff.config_values import constants, count, flag, flags, folder, reject_unknown_keys, strings, wrong
from hlodiff.errors import ConfigError

TABLE = "tool.hlodiff"


@dataclass(frozen=True, slots=True)
class Config:
    """What `[tool.hlodiff]` says, with defaults filled in.

    Args:
        root: the folder of the pyproject.toml; every relative path of the table starts here.
        modules: module names (`pkg.registered`) or files (`examples/mlp.py`, `examples/*.py`) that register functions.
        path: folders that are put on `sys.path` before the modules are imported.
        targets: what a function without targets of its own is compiled for.
        snapshots: absolute path of the folder that holds the recorded programs.
        jobs: how many worker processes compile at once.
        xla_flags: flags for XLA_FLAGS of the workers.
        libtpu_init_args: flags for LIBTPU_INIT_ARGS of the workers.
        env: other environment variables of the workers, sorted by name.
        x64: whether 64-bit types are on; None leaves it to the environment and JAX.
        matmul_precision: JAX's default matmul precision; None leaves it to the environment and JAX.
        max_file_bytes: a snapshot file above this is stored compressed.
        large_constants: "hash" compares constants of more than 64 elements by their content, "ignore" only by type and
            shape, as random weights need it.
        limits: how much a diff may try, by name, where it is not what `hlodiff.Limits` says.
        fail_on: classes of change that fail `check`.
        changes: the same for some programs, in their order; the last one that fits a program counts.
        budgets: limits of metrics, in their order.
        rules: graph rules and what they are used for, in their order.

    Example:
        >>> Config(root=Path("/project")).targets
        ('cpu',)
    """

    root: Path
    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = (".",)
    targets: tuple[str, ...] = ("cpu",)
    snapshots: Path = Path("snapshots")
    jobs: int = field(default_factory=lambda: min(4, os.cpu_count() or 1))  # each takes about 1 GB with libtpu
    xla_flags: tuple[str, ...] = ()
    libtpu_init_args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    x64: bool | None = None
    matmul_precision: str | None = None
    max_file_bytes: int = 1024 * 1024
    large_constants: Literal["hash", "ignore"] = "hash"
    limits: tuple[tuple[str, int], ...] = ()
    fail_on: tuple[str, ...] = FAIL_ON
    changes: tuple[Changes, ...] = ()
    budgets: tuple[Budget, ...] = ()
    rules: tuple[RuleUse, ...] = ()


def load(start: Path) -> Config:
    """Read the configuration that governs a folder.

    Args:
        start: a pyproject.toml, or a folder; then the nearest pyproject.toml upward that has the table is read.

    Returns:
        the configuration.

    Raises:
        ConfigError: no such table, TOML that does not parse, an unknown key, or a value of the wrong kind.

    Example:
        >>> load(Path("examples")).snapshots.name  # doctest: +SKIP
        'snapshots'
    """
    config = load_if_any(start)
    if config is None:
        what = f"no pyproject.toml with a [{TABLE}] table here or in a folder above"
        raise ConfigError(what, where=str(start.absolute()), hint="hlodiff init")
    return config


def load_if_any(start: Path) -> Config | None:
    """The same as `load`, but None where no folder upward has the table."""
    file, table = _find(start.absolute())
    if file is None:
        return None
    where = os.path.relpath(file)
    reject_unknown_keys(table, _READERS, TABLE, where)
    read = {key: _READERS[key](table[key], f"{where}: [{TABLE}] {key}") for key in _READERS if key in table}
    root = file.parent
    read["snapshots"] = root / cast(Path, read.get("snapshots", Config.__dataclass_fields__["snapshots"].default))
    return Config(root=root, **read)  # type: ignore[arg-type]  # each reader checks the kind its field needs


def process_environment() -> dict[str, str]:
    """A copy of the environment variables of this process.

    Returns:
        names and values.

    Example:
        >>> "PATH" in process_environment()
        True
    """
    return dict(os.environ)


def set_defaults(variables: Mapping[str, str]) -> None:
    """Set environment variables of this process that are not set yet.

    Args:
        variables: names and values.
    """
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def in_ci() -> bool:
    """Whether this is a run of continuous integration: the variable `CI` is set, and neither `0` nor `false`.

    Returns:
        True there; then snapshots are written only where the command line says so.

    Example:
        >>> in_ci()  # doctest: +SKIP
        False
    """
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false")


def _find(start: Path) -> tuple[Path | None, Mapping[str, object]]:
    files = [start] if start.is_file() else [folder / "pyproject.toml" for folder in (start, *start.parents)]
    for file in files:
        table = _table(file) if file.is_file() else None
        if table is not None:
            return file, table
    return None, {}


def _table(file: Path) -> Mapping[str, object] | None:
    try:
        with file.open("rb") as stream:
            tool = tomllib.load(stream).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=os.path.relpath(file)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=os.path.relpath(file)) from None
    table = tool.get("hlodiff") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"[{TABLE}] must be a table", where=os.path.relpath(file))
    return table


# What JAX takes for `jax_default_matmul_precision`, from its documentation.
_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip


def _precision(value: object, where: str) -> str:
    if value not in _PRECISIONS:
        raise wrong(value, where, f"one of {', '.join(_PRECISIONS[:6])} or a dot algorithm of JAX")
    return str(value)


_OWNED = (("XLA_FLAGS", "xla_flags"), ("LIBTPU_INIT_ARGS", "libtpu_init_args"), ("JAX_ENABLE_X64", "x64"))


def _env(value: object, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise wrong(value, where, 'a table of strings, as in {NAME = "value"}')
    for name, owner in _OWNED:
        if name in value:
            raise ConfigError(f"{name} cannot be set here", where=where, hint=f"use the key `{owner}`")
    return tuple(sorted(value.items()))


# The fields of `hlodiff.Limits`, which this file may not know; a test holds the two together.
LIMITS = ("assignment", "search", "moves", "move_rounds")


def _limits(value: object, where: str) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise wrong(value, where, "a table of whole numbers, as in {search = 400}")
    reject_unknown_keys(value, LIMITS, f"{TABLE}.limits", where)
    return tuple((name, count(value[name], f"{where}.{name}")) for name in LIMITS if name in value)


# Order is the order of the documentation and of `hlodiff init`.
_READERS: dict[str, Callable[[object, str], object]] = {
    "modules": strings,
    "path": strings,
    "targets": strings,
    "snapshots": folder,
    "jobs": count,
    "xla_flags": flags,
    "libtpu_init_args": flags,
    "env": _env,
    "x64": flag,
    "matmul_precision": _precision,
    "max_file_bytes": count,
    "large_constants": constants,
    "limits": _limits,
    "fail_on": fail_on,
    "changes": changes,
    "budgets": budgets,
    "rules": rules,
}

assert {each.name for each in fields(Config)} == {"root", *_READERS}
