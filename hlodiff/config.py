"""`[tool.hlodiff]` of pyproject.toml, and the process environment: this file is the only reader of both."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, cast

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
    _reject_unknown_keys(table, _READERS, TABLE, where)
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


def in_ci() -> bool:
    """Whether this is a run of continuous integration: the variable `CI` is set, and neither `0` nor `false`.

    Returns:
        True there; then snapshots are written only where the command line says so.

    Example:
        >>> in_ci()  # doctest: +SKIP
        False
    """
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false")


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


def _reject_unknown_keys(table: Mapping[str, object], known: Iterable[str], name: str, where: str) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            near = closest(key, known)
            hint = f"did you mean `{near}`?" if near else f"known keys: {', '.join(known)}"
            raise ConfigError(f"unknown key `{key}` in [{name}]", where=where, hint=hint)


def _wrong(value: object, where: str, expected: str) -> ConfigError:
    return ConfigError(f"expected {expected}, found {type(value).__name__} {value!r}", where=where)


def _strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise _wrong(value, where, 'a list of strings, as in ["a", "b"]')
    return tuple(cast(list[str], value))


def _flags(value: object, where: str) -> tuple[str, ...]:
    flags = tuple(value.split()) if isinstance(value, str) else _strings(value, where)
    for flag in flags:
        if not flag.startswith("--") or len(flag.split()) != 1:
            raise ConfigError(f"expected a flag, as in --name=value, found {flag!r}", where=where)
    return flags


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(value, where, "a string that is not empty")
    return value


def _folder(value: object, where: str) -> Path:
    return Path(_text(value, where))


def _count(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _wrong(value, where, "a whole number of at least 1")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, where, "true or false")
    return value


def _constants(value: object, where: str) -> str:
    if value not in ("hash", "ignore"):
        raise _wrong(value, where, '"hash" or "ignore"')
    return str(value)


# What JAX takes for `jax_default_matmul_precision`, from its documentation.
_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip


def _precision(value: object, where: str) -> str:
    if value not in _PRECISIONS:
        raise _wrong(value, where, f"one of {', '.join(_PRECISIONS[:6])} or a dot algorithm of JAX")
    return str(value)


_OWNED = (("XLA_FLAGS", "xla_flags"), ("LIBTPU_INIT_ARGS", "libtpu_init_args"), ("JAX_ENABLE_X64", "x64"))


def _env(value: object, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise _wrong(value, where, 'a table of strings, as in {NAME = "value"}')
    for name, owner in _OWNED:
        if name in value:
            raise ConfigError(f"{name} cannot be set here", where=where, hint=f"use the key `{owner}`")
    return tuple(sorted(value.items()))


# The fields of `hlodiff.Limits`, which this file may not know; a test holds the two together.
LIMITS = ("assignment", "search", "moves", "move_rounds")


def _limits(value: object, where: str) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise _wrong(value, where, "a table of whole numbers, as in {search = 400}")
    _reject_unknown_keys(value, LIMITS, f"{TABLE}.limits", where)
    return tuple((name, _count(value[name], f"{where}.{name}")) for name in LIMITS if name in value)


# Order is the order of the documentation and of `hlodiff init`.
_READERS: dict[str, Callable[[object, str], object]] = {
    "modules": _strings,
    "path": _strings,
    "targets": _strings,
    "snapshots": _folder,
    "jobs": _count,
    "xla_flags": _flags,
    "libtpu_init_args": _flags,
    "env": _env,
    "x64": _flag,
    "matmul_precision": _precision,
    "max_file_bytes": _count,
    "large_constants": _constants,
    "limits": _limits,
}

assert {each.name for each in fields(Config)} == {"root", *_READERS}
