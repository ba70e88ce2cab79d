"""The only file of `hlo` that imports jaxlib: MLIR bindings and XLA's HLO module, imported when first needed.

jaxlib promises stability for none of this. `tests/test_bindings.py` fails clearly when something moves.
Tried with jaxlib 0.7.1 to 0.11.2; jax itself is never imported.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import re
from collections.abc import Iterator
from typing import Any

from hlodiff.errors import HlodiffError, ReadError
from hlodiff.hlo.grammar import STRING
from hlodiff.interrupts import deferred

_INSTALL = "pip install 'jaxlib>=0.7.1'"
# Deeper nesting of regions, types and locations crashes the process: MLIR parses them recursively.
_DEPTH = 200
# MLIR parses a type in time quadratic in its rank. XLA's own arrays have fewer than ten dimensions.
_DIMENSIONS = 1_000
_TOO_MANY = re.compile(rf"<\s*+(?:(?:\d++|\?)\s*+x\s*+){{{_DIMENSIONS + 1}}}")
MOST_BESIDE = 1_000
"""Meshes and other operations beside the functions: printing each one takes time proportional to their number."""
_MESH = re.compile(r'(?<![#\w])sdy\.mesh"?\s*+[(@]')
_BRACKETS = re.compile(STRING + r"?|//[^\n]*|->|[(\[{<]+|[)\]}>]+", re.DOTALL)
# Converting digits takes cubic time.
_DIGITS = 400
_LONG_NUMBER = re.compile(STRING + rf"|(\d{{{_DIGITS + 1}}})", re.DOTALL)
MOST_ATTRIBUTES = 1_000
"""Attributes of one operation: each step of the binding's iterator walks all earlier ones."""
_CONFLICT = re.compile(r"^(<<<<<<< |=======$|>>>>>>> )", re.MULTILINE)


@deferred()  # a signal while native code is imported kills the process, or is lost
def _load(name: str) -> Any:
    """Import a jaxlib module; if it is missing, the error is one sentence."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise _too_old(name) if _version() else _missing() from None
    except ImportError as error:
        raise HlodiffError(f"jaxlib is installed but does not load: {error}", hint=_INSTALL) from None


def _version() -> str:
    """The installed jaxlib's version; "" if there is none."""
    try:
        return str(importlib.import_module("jaxlib").__version__)
    except ModuleNotFoundError:
        return ""


def _missing() -> HlodiffError:
    return HlodiffError("reading StableHLO and HLO protos needs jaxlib, which is missing", hint=_INSTALL)


def _too_old(what: str) -> HlodiffError:
    text = f"jaxlib {_version()} has no `{what}`: it is older or newer than what hlodiff knows"
    return HlodiffError(text, hint=_INSTALL)


@functools.cache
def mlir() -> Any:
    """jaxlib's `ir` module of MLIR bindings.

    Raises:
        HlodiffError: jaxlib is missing, broken, or of a version without these bindings.

    Example:
        >>> mlir().Context  # doctest: +ELLIPSIS
        <class '...Context'>
    """
    return _load("jaxlib.mlir.ir")


def context() -> Any:
    """A new MLIR context with every dialect that JAX programs use, as `jax` itself sets it up.

    Create one for each program: a context never frees constants, and renames resources that it has seen before.
    """
    try:
        found = mlir().Context()
        found.enable_multithreading(False)  # starting threads for each context costs more time than they save
        found.append_dialect_registry(_registry())
        found.load_all_available_dialects()
        for name in ("sdy", "chlo", "stablehlo"):
            _load(f"jaxlib.mlir.dialects.{name}").register_dialect(found)
        with contextlib.suppress(ModuleNotFoundError):  # jaxlib 0.7.1 has none
            importlib.import_module("jaxlib.mlir.dialects.mpmd").register_dialect(found)
        _load("jaxlib.mlir.dialects.mhlo").register_mhlo_dialect(found)
        found.allow_unregistered_dialects = True  # unregistered operations and types are kept as written
    except AttributeError as error:
        raise _too_old(str(error)) from None
    return found


def _registry() -> Any:
    registry = mlir().DialectRegistry()
    _load("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    return registry


def parse_mlir(text: str, path: str = "") -> Any:
    """Parse and verify MLIR text; returns an `ir.Module`.

    Args:
        text: one module in MLIR's textual form.
        path: the file as the user named it, for the error.

    Raises:
        ReadError: the text is not valid MLIR; holds line, column and the line itself.

    Example:
        >>> parse_mlir("module @m {}").operation.name
        'builtin.module'
    """
    if "<<<<<<< " in text and (conflict := _CONFLICT.search(text)):
        hint = "take either side, then type `hlodiff update` to record the program again"
        raise _damaged("the file holds merge-conflict markers", text, conflict.start(), path, hint)
    refuse_deep(text, path)
    refuse_wide(text, path)
    try:
        with context():
            return mlir().Module.parse(text)
    except mlir().MLIRError as error:
        raise _read_error(error, text, path) from None


def refuse_deep(text: str, path: str = "") -> None:
    """Refuse MLIR text nested deeper than any program; raises ReadError with the location."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        first = text[found.start()]
        if first in "([{<":
            depth += found.end() - found.start()
            if depth > _DEPTH:
                raise _damaged(f"brackets are nested more than {_DEPTH} deep", text, found.start(), path)
        elif first in ")]}>":
            depth = max(depth - (found.end() - found.start()), 0)


def refuse_wide(text: str, path: str = "") -> None:
    """Refuse more dimensions, digits or meshes than any program has; raises ReadError with the location."""
    if found := _TOO_MANY.search(text):
        raise _damaged(f"a type has more than {_DIMENSIONS:,} dimensions", text, found.start(), path)
    if number := next((found for found in _LONG_NUMBER.finditer(text) if found[1]), None):
        raise _damaged(f"a number of more than {_DIGITS} digits", text, number.start(), path)
    if further := next(itertools.islice(_MESH.finditer(text), MOST_BESIDE, None), None):
        raise _damaged(f"the module has more than {MOST_BESIDE:,} meshes", text, further.start(), path)


def _damaged(what: str, text: str, position: int, path: str, hint: str = "is the file damaged?") -> ReadError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    shown = text[position - column + 1 : position + 100].partition("\n")[0]
    return ReadError(what, path=path, line=line, column=column, text=shown, hint=hint)


def mlir_text(bytecode: bytes) -> str:
    """Print MLIR bytecode as text with locations, as `jax.stages.Lowered.as_text(debug_info=True)` does.

    Args:
        bytecode: a StableHLO module.

    Raises:
        ReadError: not MLIR bytecode, or written by an incompatible jaxlib.

    Example:
        >>> mlir_text(b"text")
        Traceback (most recent call last):
        hlodiff.errors.ReadError: <text>: the bytes are not MLIR bytecode
    """
    try:
        if not bytecode.startswith(b"ML\xefR"):
            raise ReadError("the bytes are not MLIR bytecode")
        with context():
            text: str = mlir().Module.parse(bytecode).operation.get_asm(enable_debug_info=True)
            return text
    except mlir().MLIRError:
        raise ReadError("MLIR bytecode that this version of jaxlib does not read") from None


def _read_error(error: Any, text: str, path: str) -> ReadError:
    """MLIR's first diagnostic as a ReadError with the offending line."""
    diagnostics = list(error.error_diagnostics)
    what = diagnostics[0].message if diagnostics else str(error)
    place = re.search(r'"-":(\d+):(\d+)', str(diagnostics[0].location)) if diagnostics else None
    if place is None:
        return ReadError(f"no valid MLIR: {what}", path=path)
    line, column = int(place[1]), int(place[2])
    lines = text.splitlines()
    offending = lines[line - 1] if 0 < line <= len(lines) else ""
    end = " (the file ends here: is it truncated?)" if line >= len(lines) else ""
    if "!quant." in offending:  # StableHLO's own tools have this dialect, jaxlib does not
        what, hint = (
            "jaxlib cannot read quantized types",
            "it has no dialect `quant`; compiled HLO of the program can be read",
        )
        return ReadError(what, path=path, line=line, column=column, text=offending, hint=hint)
    return ReadError(f"no valid MLIR: {what}{end}", path=path, line=line, column=column, text=offending)


def attributes_of(operation: Any) -> Iterator[tuple[str, Any]]:
    """(name, attribute) of every inherent and discardable attribute, in MLIR's order, by name.

    An attribute that the bindings cannot convert (a dense array of complex numbers) is given as text.
    """
    attributes = operation.attributes
    for number, key in enumerate(attributes):
        is_old = not isinstance(key, str)  # jaxlib before 0.10 yields NamedAttribute
        name = key.name if is_old else key
        if is_old and name == "value" and any("complex<" in str(result.type) for result in operation.results):
            yield name, _as_text(key, name)  # jaxlib 0.7 crashes when it converts one
            continue
        try:
            yield name, attributes[name]
        except TypeError:
            yield name, _as_text(attributes[number], name)


def _as_text(named: Any, name: str) -> str:
    return str(named).removeprefix(f"NamedAttribute({name}=").removesuffix(")")


def count_operations(operation: Any) -> int:
    """Count the operation and all operations in its regions."""
    found = 0

    def visit(_: Any) -> Any:
        nonlocal found
        found += 1
        return mlir().WalkResult.ADVANCE

    operation.walk(visit)
    return found


def generic_text(module: Any) -> str:
    """MLIR's generic form with debug info and elided constants: each operation ends one line with its location."""
    text: str = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True, large_elements_limit=16)
    return text


def without_locations(text: str, path: str = "") -> str:
    """MLIR text without debug info, as printed by `Lowered.as_text()`."""
    printed: str = parse_mlir(text, path).operation.get_asm(enable_debug_info=False)
    return printed


def pretty_text(module: Any) -> str:
    """MLIR's pretty form, with SSA names taken from name locations."""
    text: str = module.operation.get_asm(use_name_loc_as_prefix=True)
    return text


@functools.cache
def _kernel_context() -> Any:
    """A context for kernels in custom calls: it adds Mosaic's and Triton's dialects, and accepts unknown operations."""
    found = mlir().Context()
    found.append_dialect_registry(_registry())
    found.load_all_available_dialects()
    found.allow_unregistered_dialects = True
    for name in ("jaxlib.mosaic.python.tpu", "jaxlib.triton.dialect"):
        try:
            _load(name).register_dialect(found)
        except (HlodiffError, AttributeError):
            continue  # kernels of that dialect then do not decode, which the caller reports
    return found


def load_kernels() -> None:
    """Import the available kernel readers."""
    with contextlib.suppress(HlodiffError, AttributeError):
        _kernel_context()


def kernel_text(bytecode: bytes) -> str | None:
    """Decode an embedded kernel to generic text without debug info; None if it does not decode.

    Args:
        bytecode: MLIR bytecode that Pallas put into a custom call: Mosaic TPU, Triton or Mosaic GPU.

    Example:
        >>> kernel_text(b"object code") is None
        True
    """
    if not bytecode.startswith(b"ML\xefR"):
        return None
    try:
        known = _kernel_context()
    except (HlodiffError, AttributeError):
        return None  # without jaxlib a compiled program is still compared, its kernels by their bytes
    try:
        with known:
            text: str = mlir().Module.parse(bytecode).operation.get_asm(print_generic_op_form=True)
            return text
    except mlir().MLIRError:
        return None


@functools.cache
def _hlo() -> Any:
    """The jaxlib module that holds `HloModule`: `jaxlib._hlo` since 0.10, `jaxlib._jax` before."""
    for name in ("jaxlib._hlo", "jaxlib._jax"):
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if hasattr(found, "HloModule"):
            return found
    raise _too_old("HloModule") if _version() else _missing()


def load_hlo() -> None:
    """Import the reader of HLO protos."""
    _hlo()


def hlo_from_proto(data: bytes) -> Any:
    """Parse a serialized HloModuleProto into XLA's HloModule; raises XLA's own error if it is invalid."""
    return _hlo().HloModule.from_serialized_hlo_module_proto(data)


def hlo_from_text(text: str) -> Any:
    """Parse compiled HLO text with XLA's own parser, the oracle of the tests."""
    return _hlo().hlo_module_from_text(text)


def hlo_text(module: Any) -> str:
    """Full text of an HloModule: layouts, metadata, constants, backend configuration."""
    options = _hlo().HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = True
    options.print_backend_config = True
    options.print_extra_attributes = True
    text: str = module.to_string(options)
    return text
