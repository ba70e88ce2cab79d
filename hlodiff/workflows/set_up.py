"""What `hlodiff init` writes: configuration, a first registered function, and git attributes for snapshots."""

from __future__ import annotations

from pathlib import Path

from hlodiff.errors import ConfigError, UsageError
from hlodiff.snapshots.paths import refuse_links, write_project_file
from hlodiff.workflows.configuration import parse_toml

_MODULE = "hlodiff_programs.py"
_TABLE = f'''[tool.hlodiff]
# Modules or files that register functions. Patterns work: "tests/compiled/*.py".
modules = ["{_MODULE}"]
# What a function without targets of its own is compiled for. No accelerator is needed: `hlodiff list --targets` shows
# what this machine can compile for, e.g. "tpu-v5e-2x2" or "cuda-h100".
targets = ["cpu"]
# Where the compiled programs are recorded. Commit this folder.
snapshots = "snapshots"
# How many programs are compiled at once.
# jobs = 2
# Compiler flags of all captures; they are recorded with the programs.
# xla_flags = ["--xla_cpu_enable_fast_math=false"]
# libtpu_init_args = []
# Other variables of the capturing processes. EQX_ON_ERROR keeps host callbacks out of Equinox programs.
# env = {{ EQX_ON_ERROR = "nan" }}
# x64 = false
# matmul_precision = "highest"
# A program larger than this is stored compressed.
# max_file_bytes = 1048576
# "ignore" compares constants of more than 64 elements by type and shape only, not by their numbers.
# large_constants = "hash"
# How much a comparison may try; a report says where that was not enough.
# limits = {{ search = 400 }}
'''
_FUNCTIONS = '''"""Functions whose compiled programs `hlodiff update` records and `hlodiff check` compares."""

import jax
import jax.numpy as jnp

import hlodiff


def loss(weights, x, y):
    """Yours goes here: import what you want to watch."""
    predicted = jax.nn.gelu(x @ weights)
    return jnp.mean((predicted - y) ** 2)


@hlodiff.register
def first_gradient():
    """A registered function says what is compiled and with which arguments; nothing is allocated or run."""
    return hlodiff.Case(
        jax.grad(loss),
        hlodiff.abstract((64, 8), "float32"),
        hlodiff.abstract((32, 64), "float32"),
        hlodiff.abstract((32, 8), "float32"),
    )
'''
_ATTRIBUTES = (
    "snapshots/**/*.hlo text eol=lf",
    "snapshots/**/*.mlir text eol=lf",
    "snapshots/**/*.yaml text eol=lf",
    "snapshots/**/source.json text eol=lf -diff linguist-generated=true",
)


def set_up_project(folder: Path) -> list[str]:
    """Write what a project needs, without overwriting anything.

    Args:
        folder: the project's.

    Returns:
        what was written, one line each.

    Raises:
        UsageError: the module exists already.
        StoreError: a file cannot be written, or its path contains a link.
        ConfigError: pyproject.toml cannot be read, or has our table already.
    """
    pyproject, module, attributes = folder / "pyproject.toml", folder / _MODULE, folder / ".gitattributes"
    for path in (pyproject, module, attributes):
        refuse_links(path)  # before anything is written
    if module.exists():
        raise UsageError("already exists, and nothing is overwritten", where=str(module), hint="hlodiff list")
    configured = _with_table(pyproject)
    write_project_file(pyproject, configured)
    write_project_file(module, _FUNCTIONS)
    added = _with_attributes(attributes)
    if added is not None:
        write_project_file(attributes, added)
    lines = [f"wrote [tool.hlodiff] in {pyproject}", f"wrote {module}"]
    return [*lines, *([f"wrote {attributes}"] if added is not None else [])]


def _with_table(path: Path) -> str:
    """The text of pyproject.toml with our table at its end."""
    try:
        # Bytes, so that CRLF line ends are kept.
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        before = parse_toml(text).get("tool")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path), hint="repair it, then try again") from None
    if isinstance(before, dict) and "hlodiff" in before:
        raise ConfigError("has a [tool.hlodiff] table already", where=str(path), hint="hlodiff list")
    end = "\r\n" if "\r\n" in text else "\n"
    table = _TABLE.replace("\n", end)
    gap = "" if not text else end if text.endswith("\n") else end * 2
    combined = text + gap + table
    try:
        parse_toml(combined)
    except ValueError as error:
        hint = "write `tool` as [tool.name] tables"
        raise ConfigError(f"a table cannot be added to it: {error}", where=str(path), hint=hint) from None
    return combined


def _with_attributes(path: Path) -> str | None:
    """The text of .gitattributes with our lines added; None if it has them."""
    text = path.read_bytes().decode("utf-8", errors="surrogateescape") if path.exists() else ""
    missing = [line for line in _ATTRIBUTES if line not in text.splitlines()]
    if not missing:
        return None
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + "".join(line + "\n" for line in missing)
