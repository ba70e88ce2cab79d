"""Compiled text with its constants. XLA's `as_text` prints `constant({...})` for more than ten elements.

XLA prints 16 million floats (64 MB) in 3.7 to 4.8 seconds as 209 MB of text, two to five times as long as compiling
that program; serializing it takes 0.14 s. So a constant above `PRINTED_BYTES` is not printed: its bytes are hashed in
the serialized module, and the hash is added to the constant as the attribute that the normalizer uses.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import jax
import numpy as np

from hlodiff.capture import jax_private
from hlodiff.capture.arguments import module_type
from hlodiff.capture.messages import NamedTable
from hlodiff.capture.pass_dumps import written_text
from hlodiff.differ.metrics import LARGE_LITERAL_BYTES
from hlodiff.hlo.grammar import ELIDED_CONSTANT_LINE, bits_of
from hlodiff.hlo.proto import fields, with_field
from hlodiff.normalizer.constants import content_note
from hlodiff.registry import Case

PRINTED_BYTES = 1 << 18  # printed in 0.02 s as 0.8 MB
LEFT_OUT = "constant({...})"
_ATTRIBUTES = " frontend_attributes={"

# Field numbers of hlo.proto and xla_data.proto; protobuf never reuses a number for another field.
_MODULE_COMPUTATIONS = 3
_COMPUTATION_INSTRUCTIONS = 2
_INSTRUCTION_NAME = 1
_INSTRUCTION_LITERAL = 8
_LITERAL_SHAPE = 1


def compiled_text(compiled: Any, lowered: Any = None) -> str:
    """The text of a compiled program, with its constants printed or, if they are large, hashed.

    Args:
        compiled: a `jax.stages.Compiled`.
        lowered: the program before compiling; needed if JAX cannot print the compiled one.

    Returns:
        `compiled.as_text()` plus the constants that it omits. If JAX cannot print the compiled program, as before 0.9
        for a GPU that is not attached, the program is compiled again and XLA writes the text.

    Example:
        >>> lowered = jax.jit(jnp.sin).lower(1.0)  # doctest: +SKIP
        >>> compiled_text(lowered.compile(), lowered)[:9]  # doctest: +SKIP
        'HloModule'
    """
    text = compiled.as_text()
    if text is None and lowered is not None:
        return text_of(*written_text(lowered))
    if LEFT_OUT not in text:
        return str(text)
    return "\n\n".join(_whole(text, module) for module in jax_private.hlo_modules(compiled))


def text_of(printed: str, proto: bytes | None) -> str:
    """Like `compiled_text`, for a module that was written to files.

    Args:
        printed: the module's text as XLA prints it.
        proto: the module as an `HloModuleProto`, if the text omits constants.

    Returns:
        the text with its constants printed or hashed; unchanged if there is no proto.

    Example:
        >>> text_of("HloModule m", None)
        'HloModule m'
    """
    if proto is None or LEFT_OUT not in printed:
        return printed
    header = printed.partition("\n")[0]  # a proto has a shorter header
    lines = _whole(printed, jax_private.deserialized(proto)).split("\n")
    return "\n".join([header, *lines[1:]])


def _whole(printed: str, module: Any) -> str:
    sizes = (_bytes(element, dimensions) for _, element, dimensions in ELIDED_CONSTANT_LINE.findall(printed))
    if max(sizes, default=0) <= PRINTED_BYTES:
        return jax_private.hlo_with_constants(module)
    # Printed without its large literals, which are serialized and hashed instead.
    digests: dict[str, str] = {}
    slim = with_field(
        jax_private.serialized(module),
        _MODULE_COMPUTATIONS,
        lambda computation: with_field(computation, _COMPUTATION_INSTRUCTIONS, lambda it: _slim(it, digests)),
    )
    lines = jax_private.hlo_with_constants(jax_private.deserialized(slim)).split("\n")
    lines[0] = jax_private.hlo_header(module)  # a proto has a shorter header
    return "\n".join(_noted(line, digests) if LEFT_OUT in line else line for line in lines)


def _bytes(element: str, dimensions: str) -> int:
    count = bits_of(element)
    for size in dimensions.split(",") if dimensions else ():
        count *= int(size)
    return count // 8


def _noted(line: str, digests: dict[str, str]) -> str:
    found = ELIDED_CONSTANT_LINE.search(line)
    if found is None or found[1] not in digests:
        return line
    note = content_note(found[2], found[3], _bytes(found[2], found[3]), digests[found[1]])
    if _ATTRIBUTES in line:
        return line.replace(_ATTRIBUTES, f"{_ATTRIBUTES}{note},", 1)
    return f"{line[: found.end()]},{_ATTRIBUTES}{note}}}{line[found.end() :]}"


def _slim(instruction: memoryview, digests: dict[str, str]) -> bytes | memoryview:
    if len(instruction) <= PRINTED_BYTES:
        return instruction
    kept, name, literal = [], "", None
    for number, field, value in fields(instruction):
        if number == _INSTRUCTION_LITERAL and len(value) > PRINTED_BYTES:
            literal = value
            continue
        kept.append(field)
        name = bytes(value).decode() if number == _INSTRUCTION_NAME else name
    if literal is None:
        return instruction
    digest = sha256()
    for number, field, _ in fields(literal):
        if number != _LITERAL_SHAPE:  # the instruction has the shape, and layouts have several spellings
            digest.update(field)
    digests[name] = digest.hexdigest()
    return b"".join(kept)


_LARGEST = 1 << 28  # hashing takes a second for each GiB
_DEEPEST = 6


def named_tables(case: Case, relative: Callable[[str], str]) -> tuple[NamedTable, ...]:
    """The large arrays that the function of a case uses without taking them as arguments.

    Args:
        case: its function and the functions that it refers to are searched.
        relative: makes `file:line` relative to the project.

    Returns:
        one record per array, in the order found.
    """
    found: dict[str, NamedTable] = {}
    seen: dict[int, Any] = {}
    for name, array, code in _arrays(case.fn, seen, 0):
        if LARGE_LITERAL_BYTES <= array.nbytes <= _LARGEST:
            where = relative(f"{code.co_filename}:{code.co_firstlineno}")
            # The bytes as in the program: JAX narrows doubles by default.
            as_traced = np.asarray(array).astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)
            digest = sha256(np.ascontiguousarray(as_traced).tobytes()).hexdigest()
            found.setdefault(digest, NamedTable(digest, name, where))
    return tuple(found.values())


def _arrays(value: Any, seen: dict[int, Any], depth: int) -> Iterator[tuple[str, Any, types.CodeType]]:
    """Name, array and code of the using function, for every reachable function."""
    if id(value) in seen or depth > _DEEPEST:
        return
    seen[id(value)] = value  # kept, so that its id is not reused
    for function in _functions(value):
        for name, inner in _names(function):
            for path, leaf in _leaves(name, inner):
                if isinstance(leaf, jax.Array | np.ndarray):
                    if not isinstance(leaf, jax.core.Tracer):
                        yield path, leaf, function.__code__
                elif callable(leaf) and not isinstance(leaf, type):
                    yield from _arrays(leaf, seen, depth + 1)


def _functions(value: Any) -> Iterator[types.FunctionType]:
    """The plain functions inside jitted ones, partials, methods and callable modules."""
    for _ in range(_DEEPEST):
        if isinstance(value, types.FunctionType):
            yield value
            return
        if isinstance(value, functools.partial):
            value = value.func
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        elif hasattr(value, "__func__"):
            value = value.__func__
        else:
            call = type(value).__call__ if callable(value) else None
            if not isinstance(call, types.FunctionType) or _is_library(call):
                return
            value = call


def _names(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Free variables of a function and of functions defined in it: cells of its closure, then globals."""
    if _is_library(function):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _is_library(function: types.FunctionType) -> bool:
    return function.__module__.partition(".")[0] in ("jax", "jaxlib", "equinox", "numpy", "optax", "diffrax", "hlodiff")


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays and functions in a variable: itself, or the leaves of a container or module."""
    if isinstance(value, (list, tuple, dict, types.SimpleNamespace, *module_type())):
        tree = vars(value) if isinstance(value, types.SimpleNamespace) else value
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            yield name + jax.tree_util.keystr(path), leaf
    else:
        yield name, value
