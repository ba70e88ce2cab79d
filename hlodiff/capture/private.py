"""Every use of private parts of JAX and Equinox, each with the public thing that is missing."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib.metadata import version
from types import FrameType, SimpleNamespace
from typing import Any

from hlodiff.errors import CaptureError
from hlodiff.ir import bindings


def filter_jit_type() -> type | None:
    """The type of `eqx.filter_jit(f)`, or None where nobody has imported Equinox. Equinox does not export it."""
    eqx = sys.modules.get("equinox")
    return type(eqx.filter_jit(lambda: None)) if eqx is not None else None


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


def leave_out_frames(folder: str, generated: bool = True) -> None:
    """Keep the frames of hlodiff's own files out of the locations of programs. Missing: a public way to say so.

    Args:
        folder: where these files lie.
        generated: whether code without a file is left out too: a worker's first line, and what dataclasses generate.
    """
    try:
        from jax._src import source_info_util

        source_info_util.register_exclusion(folder)
        if generated:
            source_info_util.register_exclusion("<string>")
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


def jit_points() -> tuple[tuple[Any, str], ...]:
    """Where JAX can be listened to while a program runs: the module and the name of a function in each.

    Missing: `jax.monitoring` tells names and seconds of what is traced and compiled, but neither with which arguments
    nor what the program is; nor does it tell of a function that is traced under `jax.grad`.

    Returns:
        what infers, and traces where it must, for a call of a jitted function: `(fun, info, args, kwargs)`; what
        compiles: `(backend, module, ...)`, which returns the executable; what makes a jitted function: `(fun, ...)`.
    """
    try:
        from jax._src import compiler, pjit

        points = ((pjit, "_infer_params"), (compiler, "compile_or_get_cached"), (pjit, "make_jit"))
        for module, name in points:
            getattr(module, name)
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "pjit._infer_params", str(error)) from None
    return points


def traces_done() -> int:
    """How often JAX ran Python code to trace it, in this process. Missing: a cached jaxpr looks like a new one."""
    try:
        from jax._src.interpreters import partial_eval

        return int(partial_eval.trace_to_jaxpr.cache_info().misses)
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "partial_eval.trace_to_jaxpr.cache_info", str(error)) from None


def inferred_jaxpr(inferred: Any) -> Any:
    """The jaxpr in what `_infer_params` returns."""
    try:
        return inferred[0].params["jaxpr"]
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise _moved("jax", "PjitParams.params", str(error)) from None


def jit_options(info: Any) -> dict[str, Any]:
    """What `jax.jit` was told about a function. Missing: a jitted function does not show it."""
    try:
        names = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")
        options = {name: tuple(getattr(info, name)) for name in names}
        return options | {"in_shardings": info.in_shardings_leaves, "out_shardings": info.out_shardings_leaves}
    except (AttributeError, TypeError) as error:
        raise _moved("jax", "PjitInfo", str(error)) from None


def call_in_progress() -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]] | None:
    """The innermost call of a jitted function that this thread is in: the function, `info`, args and kwargs.

    Missing: what compiles is not told for whom. A program may be compiled long after its trace, for arguments that lie
    elsewhere. A frame's variables are read, nothing is replaced.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "cache_miss" and frame.f_code.co_filename.endswith("pjit.py"):
            here = frame.f_locals
            # From Python 3.13 on these are no dictionary, and their keys are a list.
            if {"fun", "jit_info", "args", "kwargs"} <= set(here):
                return here["fun"], here["jit_info"], here["args"], here["kwargs"]
        frame = frame.f_back
    return None


def lowered_again(fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `.lower()` of a jitted function gives. Missing: the jitted function that a call is of, see above.

    Args:
        fun, info, args, kwargs: as `call_in_progress` gives them; arrays may be abstract.

    Returns:
        a `jax.stages.Lowered`.
    """
    import jax

    stand_in = SimpleNamespace(_fun=fun, _jit_info=info)
    try:
        lower = type(jax.jit(lambda: None)).lower
        return lower(stand_in, *args, **kwargs)
    except AttributeError as error:
        raise _moved("jax", "the jitted function's _fun and _jit_info", str(error)) from None


def is_ahead_of_time() -> bool:
    """Whether this thread traces for `.lower()` or `.trace()`, not for a call. Missing: nothing tells."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("pjit.py") and frame.f_code.co_name in ("cache_miss", "jit_trace"):
            return frame.f_code.co_name == "jit_trace"
        frame = frame.f_back
    return False


def module_name(module: Any) -> str:
    """The name of an MLIR module that JAX compiles, such as `jit_step`."""
    try:
        return str(module.operation.attributes["sym_name"]).strip('"')
    except (AttributeError, KeyError) as error:
        raise _moved("jax", "the module's sym_name", str(error)) from None


def filter_jitted(fun: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], dict[str, Any], bool] | None:
    """The user's function and arguments inside a call that `eqx.filter_jit` makes of its inner `jax.jit` function.

    Missing: Equinox hands JAX flat tuples; the names and containers of the user are in its statics only.

    Returns:
        function, args, kwargs and whether anything is donated; None for another function.
    """
    code = getattr(fun, "__code__", None)
    if code is None or code.co_name != "fun_wrapped" or getattr(fun, "__module__", "") != "equinox._jit":
        return None
    try:
        from jax.tree_util import tree_unflatten

        donated, kept, statics = args
        arrays = {**donated, **kept}
        parts = [
            tree_unflatten(treedef, [d if s is None else s for d, s in zip(arrays[key], leaves, strict=True)])
            for key, (leaves, treedef) in zip(("fun", "first", "rest"), statics, strict=True)
        ]
        function, first, (rest, kwargs) = parts
        return function, (first, *rest)[:-1], kwargs, bool(donated)  # Equinox's own None stands last
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _moved("equinox", "filter_jit", str(error)) from None


def surroundings() -> dict[str, str]:
    """What stands around a call and makes JAX trace anew: meshes, named axes, `compute_on`. Missing: a public list."""
    try:
        from jax._src import config, core, mesh

        concrete, abstract = mesh.thread_resources.env.physical_mesh, mesh.get_abstract_mesh()
        axes = core.get_axis_env().axis_sizes
        found = {
            "with mesh": "" if concrete.empty else _axes(concrete.shape),
            "jax.set_mesh": "" if abstract.empty else _axes(abstract.shape),
            "axis names": _axes(axes),
            "compute_on": str(config.compute_on_context_manager.value or ""),
        }
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "config.trace_context", str(error)) from None
    return found


def _axes(sizes: Any) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def count_launches(on_launch: Callable[[Any], None]) -> Callable[[], None]:
    """Tell of every executable that is launched, from now on. Missing: JAX's fast path, in C++, tells nobody.

    The fast path is closed for what is called for the first time from now on, which makes each call slower.

    Args:
        on_launch: called with the executable before it runs; it must raise nothing.

    Returns:
        what ends it. Functions that were called meanwhile stay off the fast path until `jax.clear_caches()`.
    """
    try:
        from jax._src import pjit
        from jax._src.interpreters import pxla

        launch, fast_path = pxla.ExecuteReplicated.__call__, pjit._get_fastpath_data
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "pxla.ExecuteReplicated", str(error)) from None

    @functools.wraps(launch)
    def counted(self: Any, *args: Any) -> Any:
        on_launch(self.xla_executable)
        return launch(self, *args)

    def put(call: Any, fast: Any) -> None:
        setattr(pxla.ExecuteReplicated, "__call__", call)  # noqa: B010 - a type checker refuses the assignment
        pjit._get_fastpath_data = fast

    def end() -> None:
        put(launch, fast_path)

    put(counted, lambda *_, **__: None)
    return end


def _moved(package: str, what: str, detail: str) -> CaptureError:
    return CaptureError(
        f"{package} {version(package)} keeps `{what}` in another place than hlodiff knows ({detail})",
        hint="use a version that hlodiff was tested with, or report this",
    )
