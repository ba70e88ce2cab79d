"""All uses of private parts of JAX and Equinox, each with the public API that is missing."""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from types import FrameType, SimpleNamespace
from typing import Any

from hlodiff.errors import CaptureError
from hlodiff.hlo import mlir


def filter_jit_type() -> type | None:
    """The type of `eqx.filter_jit(f)`; None if Equinox is not imported. Equinox does not export it."""
    eqx = sys.modules.get("equinox")
    return type(eqx.filter_jit(lambda: None)) if eqx is not None else None


def filter_jit_call(
    wrapper: Any, split: Callable[[str, Any], tuple[Any, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, Any, Any]]:
    """The inner `jax.jit` function of an `eqx.filter_jit` function and the arguments that a call would give it.

    Missing: a `lower` that takes abstract leaves as arrays; Equinox's own treats them as static and fails.

    Args:
        wrapper: the `eqx.filter_jit` function.
        split: called with "fun", "first" or "rest" and that part of the call; returns its traced and static parts.
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


def argument_infos(traced: Any) -> list[Any]:
    """`Traced.args_info` of each flat argument. Missing: a flat form; some containers hold only arrays."""
    try:
        avals, donated = traced.jaxpr.in_avals, traced._params["donated_invars"]
        return [
            SimpleNamespace(shape=aval.shape, dtype=aval.dtype, donated=given, _aval=aval)
            for aval, given in zip(avals, donated, strict=True)
        ]
    except (AttributeError, KeyError, ValueError) as error:
        raise _moved("jax", "Traced._params", str(error)) from None


def devices(lowered: Any) -> tuple[Any, ...]:
    """Devices that a lowered function will be compiled for. Missing: `Lowered` shows them only once it compiles."""
    try:
        return tuple(lowered._lowering._device_list)
    except (AttributeError, TypeError) as error:
        raise _moved("jax", "Lowered._lowering._device_list", str(error)) from None


def kept_shardings(lowered: Any) -> dict[int, Any]:
    """Sharding of each flat argument that the program uses. Missing: JAX drops unused arguments silently."""
    try:
        arguments = lowered._lowering.compile_args
        return dict(zip(sorted(arguments["kept_var_idx"]), arguments["in_shardings"], strict=True))
    except (AttributeError, KeyError, ValueError) as error:
        raise _moved("jax", "Lowered._lowering.compile_args", str(error)) from None


def exclude_frames(folder: str, generated: bool = True) -> None:
    """Keep the frames of hlodiff's own files out of the locations of programs. Missing: a public API.

    Args:
        folder: the folder of these files.
        generated: whether to exclude code without a file too: a worker's first line, and methods of dataclasses.
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
    """XLA's modules of a compiled program. Missing: options for `Compiled.as_text`, which omits constants."""
    try:
        return list(compiled.runtime_executable().hlo_modules())
    except AttributeError as error:
        raise _moved("jax", "Compiled.runtime_executable().hlo_modules", str(error)) from None


def hlo_with_constants(module: Any) -> str:
    """The text of a module as XLA prints it by default, with large constants."""
    try:
        # jaxlib 0.10 moved both from `_jax` to `_hlo`, so they are looked up together.
        options = sys.modules[type(module).__module__].HloPrintOptions()
        options.print_large_constants = True
        return str(module.to_string(options))
    except (AttributeError, TypeError) as error:
        raise _moved("jaxlib", "HloPrintOptions.print_large_constants", str(error)) from None


def hlo_header(module: Any) -> str:
    """The first line of a module's text."""
    return str(module.to_string()).partition("\n")[0]


def serialized(module: Any) -> memoryview:
    """Serialize a module to an `HloModuleProto`."""
    try:
        return memoryview(module.as_serialized_hlo_module_proto())
    except AttributeError as error:
        raise _moved("jaxlib", "HloModule.as_serialized_hlo_module_proto", str(error)) from None


def deserialized(data: bytes) -> Any:
    """Parse an `HloModuleProto` into a module."""
    try:
        return mlir.hlo_from_proto(data)
    except AttributeError as error:
        raise _moved("jaxlib", "HloModule.from_serialized_hlo_module_proto", str(error)) from None


def jit_points() -> tuple[tuple[Any, str], ...]:
    """The private functions of JAX to observe while a program runs, each as a module and a name.

    Missing: `jax.monitoring` reports names and seconds of traces and compiles, but neither the arguments nor the
    program, and nothing for a function that is traced under `jax.grad`.

    Returns:
        the function that infers, and traces if needed, for a call of a jitted function: `(fun, info, args, kwargs)`;
        the one that compiles: `(backend, module, devices, ...)`, which returns the executable; the one that makes a
        jitted function: `(fun, ...)`; and the one called each time JAX runs Python code to trace it:
        `("trace_to_jaxpr")`.
    """
    try:
        from jax._src import compiler, pjit
        from jax._src.interpreters import partial_eval

        points: tuple[tuple[Any, str], ...] = (
            (pjit, infers(pjit)),
            (compiler, "compile_or_get_cached"),
            (pjit, "make_jit"),
            (partial_eval, "test_event"),
        )
        for module, name in points:
            getattr(module, name)
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "pjit._infer_params", str(error)) from None
    return points


def made_points() -> tuple[tuple[Any, str], ...]:
    """Functions of JAX that wrap a function (`jax.vmap`, `jax.grad`, `jax.checkpoint`), as decorators.

    Missing: a wrapper does not know the line that made it. Functions that a version of JAX lacks are skipped; the line
    is then that of the wrapped function.
    """
    try:
        from jax._src import ad_checkpoint, api
    except ImportError:
        return ()
    return tuple((module, "wraps") for module in (api, ad_checkpoint) if hasattr(module, "wraps"))


def emptying_points() -> tuple[tuple[Any, str], ...]:
    """Functions that empty JAX's caches: all of them, or those of one function. Missing: an event for either.

    Returns:
        `clear_all_caches()`, `jit_evict_fn(jitted)` and the method equivalent to it, as far as this version of JAX has
        them.
    """
    try:
        from jax._src import pjit, util
    except ImportError:
        return ()
    import jax

    jitted = type(jax.jit(_nothing))  # `jax.jit` sets its `clear_cache` to `jit_evict_fn` each time
    points = ((util, "clear_all_caches"), (pjit, "jit_evict_fn"), (jitted, "clear_cache"))
    return tuple((module, name) for module, name in points if hasattr(module, name))


def infers(pjit: Any) -> str:
    """Name of the function that infers, and traces if needed, for a call: before jax 0.10 it always traced."""
    return "_infer_params" if hasattr(pjit, "_infer_params") else "_trace_for_jit"


@contextmanager
def calls_from(fn: Any, on_call: Callable[[Any, tuple[Any, ...]], None]) -> Iterator[None]:
    """Report the calls of jitted functions that a function makes while it is traced, except nested ones.

    Missing: a jaxpr does not record the context of the call of a jitted function that it holds.

    Args:
        fn: the traced function; None reports nothing.
        on_call: called with the jitted function and its arguments, in the context of the call.
    """
    from jax._src import pjit

    name = infers(pjit)
    original = getattr(pjit, name, None)
    if fn is None or original is None:
        yield
        return
    thread, depth = threading.get_ident(), 0

    @functools.wraps(original)
    def reporting(fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal depth
        if threading.get_ident() != thread:
            return original(fun, info, args, kwargs)
        if depth == 1 and not (getattr(fun, "__module__", "") or "").startswith("jax."):
            on_call(fun, args)
        depth += 1
        try:
            return original(fun, info, args, kwargs)
        finally:
            depth -= 1

    setattr(pjit, name, reporting)
    try:
        yield
    finally:
        setattr(pjit, name, original)


RAN_PYTHON = "trace_to_jaxpr"
"""The event of `test_event` when JAX runs Python code to trace it. Missing: a cached jaxpr looks like a new one."""


def inferred_origin(inferred: Any) -> Origin | None:
    """Origin of the jaxpr in a result of `_infer_params`."""
    try:
        params = inferred[0].params
        return _origin(params["name"], params["jaxpr"].jaxpr.debug_info)
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise _moved("jax", "PjitParams.params", str(error)) from None


@dataclass(frozen=True, slots=True)
class Origin:
    """The Python function that a jaxpr was traced from, also under `jax.grad` and `jax.vmap`.

    Args:
        name: JAX's name of it.
        file: the file that defines it; "" if JAX does not know it.
        line: the line in that file.
    """

    name: str
    file: str
    line: int


def _origin(name: str, info: Any) -> Origin | None:
    """Missing: a jaxpr does not show its debug information."""
    source = getattr(info, "func_src_info", None)
    if not isinstance(source, str):
        return None
    file, _, line = source.partition(" at ")[2].rpartition(":")
    return Origin(name, file, int(line)) if line.isdigit() else Origin(name, "", 0)


def body_origin(value: Any) -> Origin | None:
    """Origin of a jaxpr that is a parameter of an operation, such as a loop body; None for other parameters."""
    jaxpr = getattr(value, "jaxpr", value)
    if type(jaxpr).__name__ != "Jaxpr":
        return None
    info = getattr(jaxpr, "debug_info", None)
    name = str(getattr(info, "func_src_info", "")).partition(" at ")[0]
    return _origin(name, info) or Origin("", "", 0)


@dataclass(frozen=True, slots=True)
class Compiling:
    """The compilation in progress.

    Args:
        origin: the function of its jaxpr; None if unknown.
        call: the innermost call in progress, see `call_in_progress`, if it is a call of that function.
        under: the transformations through which a jitted function reached the compiler, outside any other function,
            innermost first: "vmap", "jvp", "linearize", "backward".
        of_what: for each transformation, the batched axes or the differentiated arguments, as text.
        operands: the arguments of the program.
    """

    origin: Origin | None
    call: tuple[Any, Any, tuple[Any, ...], dict[str, Any]] | None
    under: tuple[str, ...] = ()
    of_what: tuple[str, ...] = ()
    operands: tuple[Any, ...] = ()


# JAX functions that run a jitted function under a transformation: their names are on the stack during compilation.
_TRANSFORMATIONS = {
    "_pjit_batcher": "vmap",
    "_pjit_jvp": "jvp",
    "_pjit_linearize": "linearize",
    "_pjit_partial_eval": "linearize",
    "_lift_linearized": "jvp",
    "backward_pass": "backward",
    "backward_pass3": "backward",
}


def compiling() -> Compiling:
    """The compilation of this thread. Missing: the compiler does not know the call, see `call_in_progress`."""
    origin: Origin | None = None
    under: list[str] = []
    of_what: list[str] = []
    operands: tuple[Any, ...] = ()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if name == "_pjit_call_impl_python" and "jaxpr" in frame.f_locals:
            here = frame.f_locals
            origin = _origin(here["name"], here["jaxpr"].jaxpr.debug_info)
            operands = tuple(here.get("args", ()))
        elif name in _TRANSFORMATIONS and is_jax_source(file):
            under.append(_TRANSFORMATIONS[name])
            of_what.append(_transformed_arguments(frame.f_locals))
        elif name == "cache_miss" and file.endswith("pjit.py"):
            call = _call_of(frame.f_locals, origin)
            return Compiling(origin, call, tuple(under), tuple(of_what), operands)
        elif name == "compile" and file.endswith("stages.py"):
            return Compiling(_origin_ahead_of_time(frame.f_locals.get("self")), None)
        frame = frame.f_back
    return Compiling(origin, None, tuple(under), tuple(of_what), operands)


def _transformed_arguments(here: Any) -> str:
    """The batched axes of `jax.vmap`, or the differentiated arguments; "" if they cannot be seen."""
    names = set(here)
    if "dims_in" in names:
        return ", ".join(map(str, here["dims_in"]))
    if "nzs" in names:
        return ", ".join(str(index) for index, active in enumerate(here["nzs"]) if active)
    return ""


def is_jax_source(file: str) -> bool:
    """Whether a Python file is one of JAX's private modules."""
    return "/jax/_src/" in file.replace("\\", "/")


def _call_of(here: Any, origin: Origin | None) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]] | None:
    """The call of a frame, unless it is still being traced and the program belongs to another function."""
    if not {"fun", "jit_info", "args", "kwargs"} <= set(here) or "p" not in set(here):
        return None
    params = here["p"].params
    if origin is not None and _origin(params["name"], params["jaxpr"].jaxpr.debug_info) != origin:
        return None
    return here["fun"], here["jit_info"], here["args"], here["kwargs"]


def _origin_ahead_of_time(lowered: Any) -> Origin | None:
    try:
        lowering = lowered._lowering
        name = re.sub(r"^\w+\((.*)\)$", r"\1", lowering._name)
        return _origin(name, lowering.compile_args["all_args_info"].debug_info)
    except (AttributeError, KeyError, TypeError):
        return None


# JAX's parameter names for the functions that its operations receive.
_GIVEN_AS = frozenset(["f", "fun", "body_fun", "cond_fun", "true_fun", "false_fun", "branches"])


def functions_given() -> Iterator[Any]:
    """The user's functions that JAX's functions in progress hold, innermost first.

    Missing: the jaxpr of a loop body does not know its function, and so not the variables that it closes over.
    """
    frame: FrameType | None = sys._getframe(1)
    entered = False
    while frame is not None:
        inside = is_jax_source(frame.f_code.co_filename)
        if entered and not inside:
            return
        entered |= inside
        if inside:
            for name, value in list(frame.f_locals.items()):
                for one in value if isinstance(value, tuple | list) else (value,):
                    plain = one.func if isinstance(one, functools.partial) else one
                    if name in _GIVEN_AS and callable(plain) and not hasattr(plain, "__code__"):
                        plain = type(plain).__call__
                    code = getattr(plain, "__code__", None)
                    if code is not None and not is_jax_source(code.co_filename):
                        yield one
        frame = frame.f_back


def single_operation(fun: Any) -> tuple[str, dict[str, Any]] | None:
    """Name and parameters of the operation that JAX jits to run it eagerly; None for any other function.

    Missing: eager code runs each operation as a jitted function of JAX's own, which does not show its operation. The
    body of an unjitted `shard_map` runs the same way.
    """
    if getattr(fun, "_apply_primitive", False):
        cells = _cells(fun)
        return (cells["prim"].name, dict(cells["params"])) if {"prim", "params"} <= set(cells) else None
    if type(fun).__name__ == "HashablePartial":
        for index, value in enumerate(fun.args):
            if hasattr(value, "abstract_eval"):  # a primitive; the tuple after next holds its parameters
                tables = [more for more in fun.args[index:] if isinstance(more, tuple) and _is_table(more)]
                return f"shard_map({value.name})", dict(tables[0]) if tables else {}
        return "shard_map", {}
    return None


def _is_table(value: tuple[Any, ...]) -> bool:
    return all(isinstance(row, tuple) and len(row) == 2 and isinstance(row[0], str) for row in value)


def _cells(fun: Any) -> dict[str, Any]:
    names = fun.__code__.co_freevars
    found = {}
    for name, cell in zip(names, fun.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def without_pmap_axis(text: str) -> str:
    """Remove the name that JAX gives to the axis of an unnamed `jax.pmap` from a text."""
    return text.replace("_internal_pmap_axis_name", "pmap_axis")


def pmapped(fun: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], dict[str, Any], tuple[int, ...]] | None:
    """The user's function and arguments inside the jitted function that `jax.pmap` makes.

    Missing: `jax.pmap` passes `jax.jit` a wrapper that takes flat arguments.

    Returns:
        function, args, kwargs and positions of static arguments; None for any other function.
    """
    inner = getattr(fun, "__wrapped__", fun)
    if not getattr(inner, "__qualname__", "").endswith("_cached_shard_map.<locals>._fun"):
        return None
    from jax.tree_util import tree_unflatten

    cells = _cells(inner)
    wrapped, tree = cells.get("fun"), cells.get("in_tree")
    function = getattr(wrapped, "f", None)
    if function is None:
        return None
    if tree is None:
        return function, args, {}, ()
    positional, keywords = tree_unflatten(tree, args)
    static: dict[int, Any] = {}
    for transform, given in getattr(wrapped, "transforms", ()):
        if getattr(transform, "__name__", "") == "_argnums_partial":  # it binds the static arguments
            traced, fixed = given
            places = [place for place in range(len(traced) + len(fixed)) if place not in traced]
            static = dict(zip(places, (getattr(one, "val", one) for one in fixed), strict=True))
    rest = iter(positional)
    arguments = tuple(static[n] if n in static else next(rest) for n in range(len(positional) + len(static)))
    return function, arguments, dict(keywords), tuple(static)


def jit_options(info: Any) -> dict[str, Any]:
    """Options of `jax.jit` for a function. Missing: a jitted function does not show them."""
    try:
        names = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")
        options = {name: tuple(getattr(info, name)) for name in names}
        options |= {"in_shardings": info.in_shardings_leaves, "out_shardings": info.out_shardings_leaves}
    except (AttributeError, TypeError) as error:
        raise _moved("jax", "PjitInfo", str(error)) from None
    layouts = {f"{side}_layouts": getattr(info, f"{side}_layouts_leaves", ()) for side in ("in", "out")}
    options |= {name: tuple(one for one in values if one is not None) for name, values in layouts.items()}
    options["compiler_options"] = tuple(f"{key}={value}" for key, value in getattr(info, "compiler_options_kvs", ()))
    for name in ("device", "backend", "keep_unused", "inline"):
        value = getattr(info, name, None)
        options[name] = (value,) if value else ()
    return options


def call_in_progress() -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]] | None:
    """The innermost call of a jitted function on this thread: the function, `info`, args and kwargs.

    Missing: the compiler does not know which call it compiles for; it may compile long after the trace, for arguments
    on other devices. This only reads the variables of a frame.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "cache_miss" and frame.f_code.co_filename.endswith("pjit.py"):
            here = frame.f_locals
            # Since Python 3.13 `f_locals` is not a dict, and its keys are a list.
            if {"fun", "jit_info", "args", "kwargs"} <= set(here):
                return here["fun"], here["jit_info"], here["args"], here["kwargs"]
        frame = frame.f_back
    return None


def lowered_again(fun: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`.lower()` of a jitted function. Missing: the jitted function of a call, see `call_in_progress`.

    Args:
        fun, info, args, kwargs: the result of `call_in_progress`; arrays may be abstract.

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


_LOWERING = threading.RLock()


def lowered_for(device: Any, lower: Callable[[], Any]) -> Any:
    """Lower a program for a device, unless its arguments have one.

    Missing: a device argument of `.lower()`. `jax.default_device` also changes where eager operations run. Lowering
    rules run some (`jax.numpy` outside a trace, or inside `jax.ensure_compile_time_eval()`), and a compile-only
    device cannot run anything. So only the lowering of the program itself gets the device.

    Args:
        device: the device.
        lower: calls `.lower()`, once.

    Returns:
        the result of `lower`.
    """
    import jax.extend.backend
    from jax._src.interpreters import pxla

    try:
        original = pxla.get_default_device
    except AttributeError as error:
        raise _moved("jax", "pxla.get_default_device", str(error)) from None
    thread = threading.get_ident()

    @functools.wraps(original)
    def replacement() -> Any:
        mine = threading.get_ident() == thread and _asks_for_program(sys._getframe(1))
        return device if mine else original()

    owners = [owner for owner in (pxla, jax.extend.backend) if hasattr(owner, "get_default_device")]
    # JAX's cache ignores this device: lowering for another device must not reuse it.
    with _LOWERING, fresh_traces():
        for owner in owners:
            setattr(owner, "get_default_device", replacement)  # noqa: B010 - a type checker refuses the assignment
        try:
            return lower()
        finally:
            for owner in owners:
                setattr(owner, "get_default_device", original)  # noqa: B010


def _asks_for_program(frame: FrameType | None) -> bool:
    """Whether JAX asks for the default device to lower the program of `lowered_for`, not to run something."""
    assert frame is not None
    if frame.f_globals.get("__name__", "").startswith("jax._src.pallas."):
        return True  # a kernel is lowered for the chip that it will run on
    if frame.f_code.co_name != "_get_and_check_device_assignment":
        return False
    lowerings = 0
    while frame is not None and frame.f_code is not lowered_for.__code__:
        if frame.f_code.co_name == "_pjit_call_impl_python":  # a call
            return False
        lowerings += frame.f_code.co_name == "lower_sharding_computation"
        frame = frame.f_back
    return lowerings == 1  # otherwise a lowering rule lowers a program of its own


def accept_unlisted_memories() -> None:
    """Let JAX compile for devices that list no memories, as GPUs that are not attached; applies to the whole process.

    Missing: any way to compile for such a GPU with JAX 0.8.3. XLA compiles the program and names the memory of each
    output; JAX then fails to find that memory among those of the device. 0.8.1 and 0.9.0 do not look it up.
    """
    from jax._src.interpreters import pxla

    original = getattr(pxla, "get_out_shardings_from_executable", None)
    if original is None or hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def replacement(executable: Any, *rest: Any, **more: Any) -> Any:
        try:
            return original(executable, *rest, **more)
        except ValueError as error:
            if "Could not find memory addressable by device" not in str(error):
                raise
            return original(_WithoutOutputMemories(executable), *rest, **more)

    setattr(pxla, "get_out_shardings_from_executable", replacement)  # noqa: B010 - a type checker refuses it


class _WithoutOutputMemories:
    """An executable that hides the memories of its outputs, so that JAX uses each device's default."""

    def __init__(self, executable: Any) -> None:
        self._executable = executable

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executable, name)

    def get_output_memory_kinds(self) -> list[list[str]]:
        raise NotImplementedError


def compile_unless_known(lowered: Any, known: Callable[[str], Any]) -> Any:
    """Compile a lowered program, unless a callback knows the result.

    Missing: a public key of the inputs of a compilation; JAX has one for its own cache of executables.

    Args:
        lowered: the `jax.stages.Lowered`.
        known: called with JAX's key, at most once; returns the result, or None to compile.

    Returns:
        the result of the callback, or the `jax.stages.Compiled`. If JAX has no key, the callback is not called.
    """
    try:
        from jax._src import cache_key, compiler

        original, module = compiler.compile_or_get_cached, lowered.compiler_ir()
    except (ImportError, AttributeError):
        return lowered.compile()

    @functools.wraps(original)
    def asking(backend: Any, computation: Any, devices: Any, options: Any, *rest: Any, **more: Any) -> Any:
        if computation is module:
            try:
                key = cache_key.get(module, devices, options, backend)
            except Exception:  # the backend has no key
                return original(backend, computation, devices, options, *rest, **more)
            if (answer := known(f"{getattr(backend, 'platform_version', '')} {key}")) is not None:
                raise _KnownAnswer(answer)
        return original(backend, computation, devices, options, *rest, **more)

    with _LOWERING:
        setattr(compiler, "compile_or_get_cached", asking)  # noqa: B010 - a type checker refuses the assignment
        try:
            return lowered.compile()
        except _KnownAnswer as found:
            return found.answer
        finally:
            setattr(compiler, "compile_or_get_cached", original)  # noqa: B010


class _KnownAnswer(Exception):
    """The result of compiling a program is known."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


_FRESH = count(1)


@contextmanager
def fresh_traces() -> Iterator[None]:
    """Trace and lower everything from scratch, without discarding traces that this process already has.

    Missing: a public way to do so. `jax.clear_caches()` and `jax.make_user_context()` discard the traces of everybody.
    JAX keys traces by some of its settings. This one is an integer that affects only a compiler that fetches
    profiles, and only if it is positive.
    """
    try:
        from jax._src import config

        setting = config.jax_xla_profile_version
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "config.jax_xla_profile_version", str(error)) from None
    with setting(-next(_FRESH)):
        yield


def is_jitted(fun: Any) -> bool:
    """Whether a function was made by `jax.jit` or `eqx.filter_jit`. Missing: a public type."""
    import jax

    kind = filter_jit_type()
    return isinstance(fun, type(jax.jit(_nothing))) or (kind is not None and isinstance(fun, kind))


def _nothing() -> None:
    """A function to jit."""


def is_ahead_of_time() -> bool:
    """Whether this thread traces for `.lower()` or `.trace()`, not for a call. Missing: a public way to tell."""
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
    """The user's function and arguments inside the call of the inner `jax.jit` function of `eqx.filter_jit`.

    Missing: Equinox passes flat tuples to JAX; only its statics have the user's names and containers.

    Returns:
        function, args, kwargs and whether anything is donated; None for any other function.
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
        return function, (first, *rest)[:-1], kwargs, bool(donated)  # drop the None that Equinox appends
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _moved("equinox", "filter_jit", str(error)) from None


# JAX's names for the context of a call, and the user's. `jax_xla_profile_version` is used by `fresh_traces`.
_CONTEXT_NAMES = {
    "mesh_context_manager": "with mesh",
    "abstract_mesh_context_manager": "jax.set_mesh",
    "compute_on_context_manager": "compute_on",
    "xla_metadata_context_manager": "set_xla_metadata",
    "axis_env_state": "axis names",
    "jax_xla_profile_version": "",
}


def trace_context() -> dict[str, Any]:
    """The context of a call that makes JAX retrace, by name: meshes, named axes, `compute_on`, configuration.

    Missing: a public list. Values are texts, or JAX's own objects if they have no text.
    """
    try:
        from jax._src import config, core, mesh

        concrete, abstract = mesh.thread_resources.env.physical_mesh, mesh.get_abstract_mesh()
        axes = core.get_axis_env().axis_sizes
        set_mesh = mesh.get_concrete_mesh()
        special = {
            "with mesh": "" if concrete.empty else _mesh(concrete),
            "jax.set_mesh": "" if abstract.empty else _mesh(abstract) if set_mesh.empty else _mesh(set_mesh),
            "axis names": ", ".join(f"{name}={size}" for name, size in axes.items()),
            "compute_on": str(config.compute_on_context_manager.value or ""),
        }
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "config.trace_context", str(error)) from None
    try:
        named = dict(zip(map(str, config.trace_context_names()), config.trace_context(), strict=True))
    except (AttributeError, NotImplementedError, ValueError):  # before jaxlib 0.10
        named = {}
    found = {_CONTEXT_NAMES.get(name, name): value for name, value in named.items()}
    found.pop("", None)
    return found | special


def context_key() -> object:
    """JAX's own key of the context: equal whenever `trace_context` is, and computed in a microsecond."""
    try:
        from jax._src import config, mesh

        return config.trace_context(), mesh.get_concrete_mesh(), mesh.thread_resources.env.physical_mesh
    except (ImportError, AttributeError):
        return object()


def _mesh(mesh: Any) -> str:
    """The parts of a mesh that JAX compares: axes, their types, devices."""
    kinds = dict(zip(mesh.axis_names, getattr(mesh, "axis_types", None) or (), strict=False))
    axes = ", ".join(f"{name}={size}{axis_kind(kinds.get(name))}" for name, size in mesh.shape.items())
    try:
        return f"{axes} on devices {device_list(mesh.devices.flat)}"
    except (AttributeError, ValueError):  # an abstract mesh has none
        return axes


def axis_kind(kind: Any) -> str:
    """The type of a mesh axis as text; "" for the default type."""
    name = str(getattr(kind, "name", kind))
    return "" if kind is None or name == "Auto" else f" ({name.lower()})"


def special_layout(value: Any) -> str:
    """The order of an array's axes in memory, if it is not the default. Missing: nothing, but versions differ."""
    try:
        order = tuple(value.format.layout.major_to_minor)
    except AttributeError:
        return ""
    return "" if order == tuple(range(len(order))) else f" with layout {order}"


def device_order(sharding: Any) -> tuple[Any, ...]:
    """The devices of a sharding in order. Missing: `device_set` is unordered."""
    try:
        return tuple(sharding._device_assignment)
    except AttributeError:
        return tuple(sorted(sharding.device_set, key=lambda one: int(one.id)))


def device_list(devices: Any) -> str:
    """Devices by their ids, in their order: "0 to 3", or "1, 0"."""
    ids = [int(device.id) for device in devices]
    if len(ids) > 2 and ids == list(range(ids[0], ids[0] + len(ids))):
        return f"{ids[0]} to {ids[-1]}"
    return ", ".join(map(str, ids))


def count_launches(on_launch: Callable[[Any], None]) -> Callable[[], None]:
    """Report every launch of an executable from now on. Missing: a hook in JAX's fast path, which is C++.

    This disables the fast path for functions that are first called from now on, which slows down each call.

    Args:
        on_launch: called with the executable before it runs; it must not raise.

    Returns:
        a function that stops reporting. Functions called meanwhile stay off the fast path until `jax.clear_caches()`.
    """
    try:
        from jax._src import pjit
        from jax._src.interpreters import pxla

        launch, fast_path = pxla.ExecuteReplicated.__call__, pjit._get_fastpath_data
    except (ImportError, AttributeError) as error:
        raise _moved("jax", "pxla.ExecuteReplicated", str(error)) from None

    @functools.wraps(launch)
    def reporting(self: Any, *args: Any) -> Any:
        on_launch(self.xla_executable)
        return launch(self, *args)

    def install(call: Any, fast: Any) -> None:
        setattr(pxla.ExecuteReplicated, "__call__", call)  # noqa: B010 - a type checker refuses the assignment
        pjit._get_fastpath_data = fast

    def end() -> None:
        install(launch, fast_path)

    install(reporting, lambda *_, **__: None)
    return end


def _moved(package: str, what: str, detail: str) -> CaptureError:
    return CaptureError(
        f"{package} {version(package)} keeps `{what}` in another place than hlodiff knows ({detail})",
        hint="use a version that hlodiff was tested with, or report this",
    )
