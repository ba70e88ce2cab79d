"""Every use of private parts of JAX and Equinox, each with the public thing that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from hlodiff.errors import CaptureError
from hlodiff.ir import bindings


def filter_jit_type() -> type | None:
    """The type of `eqx.filter_jit(f)`, or None without Equinox. Equinox does not export it."""
    try:
        import equinox as eqx
    except ImportError:
        return None
    return type(eqx.filter_jit(lambda: None))


def filter_jit_call(
    wrapper: Any, split: Callable[[str, Any], tuple[Any, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, Any, Any]]:
    """The inner `jax.jit` function of an `eqx.filter_jit` function and the arguments that a call would give it.

    Missing: a `lower` that takes abstract leaves as arrays; Equinox's own holds them static and fails.

    Args:
        wrapper: the `eqx.filter_jit` function.
        split: from "fun", "first" or "rest" and that part of the call to what is traced and what is static of it.
        args: positional arguments.
        kwargs: keyword arguments.

    Returns:
        the inner function and its three arguments: donated arrays, other arrays, statics.
    """
    try:
        signature, inner = wrapper._signature, wrapper._cached
        donated = {"fun": wrapper.donate_rest, "first": wrapper.donate_first, "rest": wrapper.donate_rest}
    except AttributeError as error:
        raise _moved("equinox", "filter_jit", str(error)) from None
    bound = signature.bind(*args, **kwargs)
    given: tuple[Any, ...] = (*tuple(bound.args), None)  # Equinox appends None, so that there always is a first one
    parts = {"fun": wrapper.__wrapped__, "first": given[0], "rest": (given[1:], bound.kwargs)}
    halves = {key: split(key, part) for key, part in parts.items()}
    donate = {key: half[0] for key, half in halves.items() if donated[key]}
    keep = {key: half[0] for key, half in halves.items() if not donated[key]}
    return inner, (donate, keep, tuple(half[1] for half in halves.values()))


def argument_names(traced: Any) -> tuple[str, ...]:
    """JAX's own names of the flat arguments (`model.layers[0].weight`). Missing: public debug information."""
    try:
        return tuple(traced.jaxpr.jaxpr.debug_info.arg_names)
    except AttributeError as error:
        raise _moved("jax", "jaxpr.debug_info", str(error)) from None


def devices(lowered: Any) -> tuple[Any, ...]:
    """The devices a lowered function will be compiled for. Missing: `Lowered` does not tell before it compiles."""
    try:
        return tuple(lowered._lowering._device_list)
    except (AttributeError, TypeError) as error:
        raise _moved("jax", "Lowered._lowering._device_list", str(error)) from None


def kept_shardings(lowered: Any) -> dict[int, Any]:
    """For each flat argument that the program uses its sharding. Missing: JAX drops unused ones without saying so."""
    try:
        arguments = lowered._lowering.compile_args
        return dict(zip(sorted(arguments["kept_var_idx"]), arguments["in_shardings"], strict=True))
    except (AttributeError, KeyError, ValueError) as error:
        raise _moved("jax", "Lowered._lowering.compile_args", str(error)) from None


def leave_out_frames(folder: str) -> None:
    """Keep the frames of hlodiff's own files out of the locations of programs. Missing: a public way to say so."""
    try:
        from jax._src import source_info_util

        source_info_util.register_exclusion(folder)
        source_info_util.register_exclusion("<string>")  # the worker's first line, and what dataclasses generate
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "source_info_util.register_exclusion", str(error)) from None


def is_weak(info: Any) -> bool:
    """Whether an argument is weakly typed, as a Python number is. Missing: `ArgInfo` shows shape and dtype only."""
    try:
        return bool(info._aval.weak_type)
    except AttributeError as error:
        raise _moved("jax", "ArgInfo._aval", str(error)) from None


def hlo_modules(compiled: Any) -> list[Any]:
    """XLA's modules of a compiled program. Missing: options for `Compiled.as_text`, which leaves constants out."""
    try:
        return list(compiled.runtime_executable().hlo_modules())
    except AttributeError as error:
        raise _moved("jax", "Compiled.runtime_executable().hlo_modules", str(error)) from None


def hlo_with_constants(module: Any) -> str:
    """The text of a module as XLA prints it by default, with large constants."""
    try:
        # jaxlib 0.10 moved both from `_jax` to `_hlo`: they stay together.
        options = sys.modules[type(module).__module__].HloPrintOptions()
        options.print_large_constants = True
        return str(module.to_string(options))
    except (AttributeError, TypeError) as error:
        raise _moved("jaxlib", "HloPrintOptions.print_large_constants", str(error)) from None


def hlo_header(module: Any) -> str:
    """The first line of a module's text."""
    return str(module.to_string()).partition("\n")[0]


def serialized(module: Any) -> memoryview:
    """A module as an `HloModuleProto`."""
    try:
        return memoryview(module.as_serialized_hlo_module_proto())
    except AttributeError as error:
        raise _moved("jaxlib", "HloModule.as_serialized_hlo_module_proto", str(error)) from None


def deserialized(data: bytes) -> Any:
    """The module of an `HloModuleProto`."""
    try:
        return bindings.hlo_from_proto(data)
    except AttributeError as error:
        raise _moved("jaxlib", "HloModule.from_serialized_hlo_module_proto", str(error)) from None


def _moved(package: str, what: str, detail: str) -> CaptureError:
    return CaptureError(
        f"{package} {version(package)} keeps `{what}` in another place than hlodiff knows ({detail})",
        hint="use a version that hlodiff was tested with, or report this",
    )
