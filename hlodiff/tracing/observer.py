"""Observes JAX in its own process: every trace of a jitted function, and every compiled program.

The interface for everything else in hlodiff that watches real calls:

    with observing() as seen:
        step(model, x)
    seen.traces     # Trace records, in order; JAX's own functions (`jnp.where`) are not listed
    seen.programs   # CompiledPrograms, in order; `eager` ones are JAX's own operations (`jnp.ones`, a cast, `lax.scan`)
    seen.events     # both, in the order in which they ended, with traces of JAX's operations that run a user's function

- Every program that this process compiles is recorded, whether or not its function is known.
- It costs nothing for a call that JAX finds in its cache, 0.2 ms for an eager operation that is compiled, and one walk
  over the arguments for each trace of a user's function.
- It may be nested and used from several threads: each observer sees what all threads do while it is open. The functions
  replaced in JAX are restored when the last one is closed, also by an exception.
- `observing(on_event)` calls `on_event(record)` at once for each record, in the same thread (and after a fork in the
  child too). With `keep=False` the observer itself keeps none. `on_event` must not raise: it runs in the user's
  program.
- A `CompiledProgram` holds JAX's own module and, unless `executables=False`, the loaded executable; texts are made on
  request. `forget()` releases both.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import jax

from hlodiff.capture import jax_private
from hlodiff.errors import HlodiffError
from hlodiff.hlo.model import Computation, Module
from hlodiff.tracing.jax_operations import Operation, function_of, is_jax_own, leaves_of, operation_of, source_of
from hlodiff.tracing.records import Call, Compilation, Function, Leaf, Trace
from hlodiff.tracing.signatures import Arguments, ObjectIds, argument_leaves, format_sharding, leaves
from hlodiff.tracing.source_location import caller, code_of, defined, is_users, name_of
from hlodiff.tracing.stable_repr import stable_repr


@dataclass(slots=True)
class CompiledProgram:
    """A program that was compiled, or read from JAX's compilation cache. Texts are made on request.

    Args:
        order: 0, 1, ... over all observed traces and programs.
        name: JAX's name, such as `jit_step`.
        function: the called function, the function of that name if it was compiled outside a call (a backward pass,
            `.lower().compile()`), or an operation that runs a function of the caller, such as `scan`; None for a single
            eager operation.
        call: the call it was compiled for; None if there is none.
        under: the run under `jax.vmap` or `jax.grad`, outside any other jitted function, that it was compiled for; None
            for a plain call.
        traced: whether that call was traced; if not, JAX compiled an existing trace again.
        eager: whether it is a single JAX operation run outside `jax.jit`.
        platform: "cpu", "tpu" or "gpu".
        from_cache: whether it came from the persistent compilation cache.
        seconds: duration of "lower" (to StableHLO) and "compile".
        module: JAX's MLIR module; None after `forget`.
        executable: the loaded executable; None if it is not kept.
        place: `file:line` in the user's code that made JAX compile it.
        devices: the ids of the devices it was compiled for.
        failed: the type of the exception that compiling raised; "" if it succeeded.
    """

    order: int
    name: str
    function: Function | None
    call: Call | None
    traced: bool
    eager: bool
    platform: str
    from_cache: bool
    seconds: dict[str, float]
    module: Any = field(repr=False)
    executable: Any = field(repr=False)
    place: str = ""
    devices: tuple[int, ...] = ()
    failed: str = ""
    under: Call | None = None
    _text: str = field(default="", repr=False)

    def stablehlo(self) -> str:
        """The compiled StableHLO, with locations.

        Returns:
            text as in `jax.stages.Lowered.as_text(debug_info=True)`; "" after `forget`.
        """
        if not self._text and self.module is not None:
            self._text = str(self.module.operation.get_asm(enable_debug_info=True))
        return self._text

    def digest(self) -> str:
        """A hash of the text and the devices: cheaper and finer than a fingerprint."""
        text = str(self.module.operation.get_asm(enable_debug_info=False)) if self.module is not None else ""
        return sha256(f"{self.platform} {self.devices} {text}".encode()).hexdigest()[:32]

    def hlo(self) -> str:
        """The compiled HLO of all modules, with constants; "" if the executable is not kept."""
        if self.executable is None:
            return ""
        return "\n".join(jax_private.hlo_with_constants(module) for module in self.executable.hlo_modules())

    def forget(self, text: bool = False) -> None:
        """Release the module and the executable, and their memory.

        Args:
            text: whether to release the cached StableHLO too.
        """
        self.module = self.executable = None
        if text:
            self._text = ""


Event = Trace | CompiledProgram

# Public configuration whose change makes JAX trace again (it also compares some debug switches).
_CONFIG = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_device",
    "jax_threefry_partitionable",
    "jax_debug_key_reuse",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_enable_checks",
    "jax_use_shardy_partitioner",
)


class Observer:
    """The events so far.

    Args:
        on_event: called with each record.
        keep: whether to keep records in `events`.
        executables: whether programs keep their executables.
        root: the folder that source locations are relative to.
    """

    def __init__(self, on_event: Callable[[Event], None] | None, keep: bool, executables: bool, root: str) -> None:
        self.events: list[Event] = []
        self.root = root
        self._on_event = on_event
        self._keep = keep
        self._executables = executables
        self._orders = count()
        self._functions: dict[jax_private.Origin | None, dict[tuple[str, str], Function]] = {}

    @property
    def traces(self) -> list[Trace]:
        """Traces of functions other than JAX's own, in order."""
        return [event for event in self.events if isinstance(event, Trace) and not event.call.function.operation]

    @property
    def programs(self) -> list[CompiledProgram]:
        """Programs in order, including those of eager operations."""
        return [event for event in self.events if isinstance(event, CompiledProgram)]

    def traced(self, call: Call, origin: jax_private.Origin | None, within: str, how: tuple[bool, float, str]) -> None:
        """Add a trace; `how` is whether it was ahead of time, its seconds, and the type of the exception it raised."""
        self._functions.setdefault(origin, {})[call.function.key] = call.function
        ahead, seconds, raised = how
        thread = threading.current_thread().name
        self._add(Trace(next(self._orders), call, within, ahead, seconds, thread, raised))

    def compiled(
        self, now: jax_private.Compiling, ran: _TracedCall | None, executable: Any, shared: dict[str, Any]
    ) -> None:
        """Add a program of the function that is called, or of the one that JAX made it from."""
        call, eager = (ran.calls.get(id(self)), ran.eager) if ran is not None else (None, False)
        if call is None and now.call is not None:
            call, eager = _listed(now.call, self.root), _is_eager(now.call)
        function = call.function if call is not None else None
        if now.call is None and function is None:
            function = self._known(now.origin) or source_of(now.origin, shared["name"], self.root)
        under = _transformed(function, now, self.root) if function is not None and now.under else None
        self._add(
            CompiledProgram(
                order=next(self._orders),
                function=function,
                call=call,
                eager=eager or function is None,
                executable=executable if self._executables else None,
                place=call.place if call is not None else caller(self.root)[0],
                under=under,
                **shared,
            )
        )

    def _known(self, origin: jax_private.Origin | None) -> Function | None:
        """The function traced at that line, if it is unique: several share one line if Equinox jits them."""
        found = self._functions.get(origin, {}) if origin is not None else {}
        return next(iter(found.values())) if len(found) == 1 else None

    def _add(self, event: Event) -> None:
        if self._keep:
            self.events.append(event)
        if self._on_event is not None:
            self._on_event(event)


_FunCall = tuple[Any, Any, tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _TracedCall:
    """A traced call without its objects: a reference to them could keep entries of JAX's caches alive.

    Args:
        origin: JAX's own record of the function.
        calls: the call as recorded by each observer, by the observer's id.
        eager: whether the function is one of JAX's own.
    """

    origin: jax_private.Origin | None
    calls: dict[int, Call]
    eager: bool


@contextmanager
def observing(
    on_event: Callable[[Event], None] | None = None,
    *,
    keep: bool = True,
    executables: bool = True,
    root: str | Path | None = None,
) -> Iterator[Observer]:
    """Observe JAX's traces and compilations in this process until the block ends.

    Args:
        on_event: called with each record at once.
        keep: whether the observer keeps the records.
        executables: whether programs keep their executables, and thereby their memory.
        root: the folder that source locations are relative to; the current folder by default.

    Yields:
        the observer.

    Raises:
        CaptureError: this version of JAX has moved a private function that is observed.

    Example:
        >>> with observing() as seen:
        ...     _ = jax.jit(lambda x: x + 1)(1.0)
        >>> [program.name for program in seen.programs]
        ['jit__lambda']
    """
    observer = Observer(on_event, keep, executables, str(Path.cwd() if root is None else root))
    with _LOCK:
        if not _OBSERVERS:
            _install()
        _OBSERVERS.append(observer)
    try:
        yield observer
    finally:
        with _LOCK:
            _OBSERVERS.remove(observer)
            if not _OBSERVERS:
                _uninstall()


def forget_compiled() -> None:
    """Empty JAX's caches, and Equinox's if it is used, so that everything is traced and compiled again."""
    equinox = sys.modules.get("equinox")
    if equinox is not None:
        equinox.clear_caches()
    jax.clear_caches()


@contextmanager
def unobserved() -> Iterator[None]:
    """Hide this thread's traces and compilations in the block from all observers: they are hlodiff's own work."""
    before, _STATE.paused = _STATE.paused, True
    try:
        yield
    finally:
        _STATE.paused = before


_OBSERVERS: list[Observer] = []
_REPLACED: list[tuple[Any, str, Any, Any]] = []
_LOCK = threading.RLock()
_OBJECT_IDS = ObjectIds()
_JITTED: weakref.WeakKeyDictionary[Any, tuple[str, str]] = weakref.WeakKeyDictionary()
_MADE: dict[int, tuple[weakref.ref[Any], str]] = {}  # wrappers by id, because some of them define `==`
_EMPTIED = count(1)
_EMPTIED_ALL: list[tuple[int, str]] = [(0, "")]  # where all of JAX's caches were last emptied
_EMPTIED_ONE: weakref.WeakKeyDictionary[Any, tuple[int, str]] = weakref.WeakKeyDictionary()  # and those of one function


class _ThreadState(threading.local):
    """What this thread is tracing and compiling."""

    def __init__(self) -> None:
        self.open: list[str] = []  # names of functions being traced, outermost first
        self.python_runs = 0  # number of times that JAX ran Python code to trace it
        self.traced: _TracedCall | None = None  # the last traced call, until its program is compiled
        # The origin of the last traced eager operation, if it runs no function of the user.
        self.eager_origin: jax_private.Origin | None = None
        self.lowering = 0.0
        self.from_cache = False
        self.paused = False  # this thread does hlodiff's own work


_STATE = _ThreadState()


def _install() -> None:
    points = jax_private.jit_points()
    arounds: tuple[Callable[..., Any], ...] = (_around_call, _around_compile, _around_jit, _around_event)
    for (module, name), around in zip(points, arounds, strict=True):
        original = getattr(module, name)
        replacement = functools.wraps(original)(functools.partial(around, original))
        _replace(module, name, original, replacement)
    for module, name in jax_private.made_points():
        original = getattr(module, name)
        _replace(module, name, original, functools.wraps(original)(functools.partial(_around_wraps, original)))
    emptying: dict[Any, Any] = {}
    for module, name in jax_private.emptying_points():
        original = getattr(module, name)
        _replace(module, name, original, emptying.setdefault(original, _around_emptying(original)))
    jax.monitoring.register_event_duration_secs_listener(_on_duration)
    jax.monitoring.register_event_listener(_on_event)


def _replace(module: Any, name: str, original: Any, replacement: Any) -> None:
    setattr(module, name, replacement)
    _REPLACED.append((module, name, original, replacement))


def _uninstall() -> None:
    while _REPLACED:
        module, name, original, replacement = _REPLACED.pop()
        if getattr(module, name) is replacement:  # else another tool replaced ours, which then only forwards calls
            setattr(module, name, original)
    jax.monitoring.unregister_event_duration_listener(_on_duration)
    jax.monitoring.unregister_event_listener(_on_event)


def _on_duration(event: str, duration_secs: float, **_: Any) -> None:
    if event.endswith("/jaxpr_to_mlir_module_duration"):
        _STATE.lowering = duration_secs


def _on_event(event: str, **_: Any) -> None:
    if event.endswith("/cache_hits"):
        _STATE.from_cache = True


def _around_jit(original: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    if _OBSERVERS:
        where, inside = caller(_OBSERVERS[-1].root)
        with suppress(TypeError):  # no weak references
            _JITTED[fun] = (where, inside)
        return _note_made(original(fun, *args, **kwargs))
    return original(fun, *args, **kwargs)


def _around_wraps(original: Any, *args: Any, **kwargs: Any) -> Any:
    decorate = original(*args, **kwargs)
    return (lambda fun: _note_made(decorate(fun))) if _OBSERVERS and not _STATE.paused else decorate


def _note_made(wrapper: Any) -> Any:
    """Remember the user's line that made a wrapper."""
    where, inside = caller(_OBSERVERS[-1].root) if _OBSERVERS else ("", "")
    if where:
        with suppress(TypeError):  # no weak references
            number = id(wrapper)
            gone = weakref.ref(wrapper, lambda _: _MADE.pop(number, None))
            _MADE[number] = (gone, where + (f" in `{inside}`" if inside else ""))
    return wrapper


def _made(wrapper: Any) -> str:
    found = _MADE.get(id(wrapper))
    return found[1] if found is not None and found[0]() is wrapper else ""


def _around_emptying(original: Any) -> Any:
    @functools.wraps(original)
    def emptying(*args: Any) -> Any:  # a function, because one of them is a method
        if _OBSERVERS and not _STATE.paused:
            where = caller(_OBSERVERS[-1].root)[0]
            at = f" at {where}" if where else ""
            if not args:
                _EMPTIED_ALL[0] = (next(_EMPTIED), f"jax.clear_caches(){at}")
            with suppress(TypeError, AttributeError, IndexError):
                _EMPTIED_ONE[args[0].__wrapped__] = (next(_EMPTIED), f"clear_cache(){at}")
        return original(*args)

    return emptying


def _emptied(fun: Any) -> tuple[int, str]:
    try:
        return max(_EMPTIED_ALL[0], _EMPTIED_ONE.get(fun, (0, "")))
    except TypeError:
        return _EMPTIED_ALL[0]


def _around_event(original: Any, name: str, *args: Any) -> Any:
    if name == jax_private.RAN_PYTHON:
        _STATE.python_runs += 1
    return original(name, *args)


def _around_call(original: Any, fun: Any, info: Any, args: Any, kwargs: Any) -> Any:
    if not _OBSERVERS or _STATE.paused:
        return original(fun, info, args, kwargs)
    if not _is_listed(fun, args, kwargs):
        before = _STATE.python_runs
        inferred = original(fun, info, args, kwargs)
        if not _STATE.open:
            _STATE.eager_origin = jax_private.inferred_origin(inferred) if _STATE.python_runs != before else None
        return inferred
    before, start, raised, inferred = _STATE.python_runs, time.perf_counter(), "", None
    within = _STATE.open[-1] if _STATE.open else ""
    inner = jax_private.filter_jitted(fun, args)
    _STATE.open.append(name_of(fun if inner is None else inner[0]))
    _STATE.traced = None
    try:
        inferred = original(fun, info, args, kwargs)
    except BaseException as error:
        raised = type(error).__name__
        raise
    finally:
        _STATE.open.pop()
        _STATE.traced = None
        if _STATE.python_runs != before:  # this call was traced: JAX runs no Python code for a cached one
            origin = jax_private.inferred_origin(inferred) if not raised else None
            _traced((fun, info, args, kwargs), origin, within, (time.perf_counter() - start, raised))
    return inferred


def _is_listed(fun: Any, args: Any, kwargs: Any) -> bool:
    """Whether reports list a function. Inside another trace, JAX's own functions are part of that program."""
    if not is_jax_own(fun) or jax_private.pmapped(fun, args) is not None:
        return True
    return not _STATE.open and operation_of(fun, args, kwargs) is not None


def _traced(call: _FunCall, origin: jax_private.Origin | None, within: str, how: tuple[float, str]) -> None:
    ahead, (seconds, raised) = jax_private.is_ahead_of_time(), how
    ran = _TracedCall(origin, {}, _is_eager(call))
    for observer in tuple(_OBSERVERS):
        ran.calls[id(observer)] = _call_or_location(*call, observer.root)
        observer.traced(ran.calls[id(observer)], origin, within, (ahead, seconds, raised))
    _STATE.traced = None if raised else ran


def _is_eager(call: _FunCall) -> bool:
    return is_jax_own(call[0]) and jax_private.pmapped(call[0], call[2]) is None


def _around_compile(original: Any, backend: Any, module: Any, devices: Any, *args: Any, **kwargs: Any) -> Any:
    if not _OBSERVERS or _STATE.paused:
        return original(backend, module, devices, *args, **kwargs)
    _STATE.from_cache = False
    start, failed, executable = time.perf_counter(), "", None
    try:
        executable = original(backend, module, devices, *args, **kwargs)
    except BaseException as error:
        failed = type(error).__name__
        raise
    finally:
        _compiled(backend, module, devices, executable, time.perf_counter() - start, failed)
    return executable


def _compiled(backend: Any, module: Any, devices: Any, executable: Any, seconds: float, failed: str) -> None:
    now = jax_private.compiling()
    ran, alone = _STATE.traced, False
    if ran is not None and (now.origin is None or ran.origin == now.origin):
        _STATE.traced = None
    else:
        ran, alone = None, now.origin is not None and _STATE.eager_origin == now.origin
        _STATE.eager_origin = None if alone else _STATE.eager_origin
    single = jax_private.single_operation(now.call[0]) if now.call is not None else None
    shared = {
        "name": single[0]
        if single is not None and single[0].startswith("shard_map")
        else jax_private.module_name(module),
        "platform": str(backend.platform),
        "from_cache": _STATE.from_cache,
        "seconds": {"lower": _STATE.lowering, "compile": seconds},
        "module": module,
        "traced": ran is not None or alone,
        "devices": tuple(int(device.id) for device in getattr(devices, "flat", ())),
        "failed": failed,
    }
    _STATE.lowering = 0.0
    for observer in tuple(_OBSERVERS):
        observer.compiled(now, ran, executable, shared)


def _transformed(function: Function, now: jax_private.Compiling, root: str) -> Call | None:
    """A run of a jitted function under `jax.vmap` or `jax.grad`, outside any other jitted function."""
    try:
        named = {f"operand {index}": value for index, value in enumerate(now.operands)}
        operands = argument_leaves(named, _OBJECT_IDS, root)
    except Exception:  # operands that cannot be inspected
        return None
    head = Leaf("", "transform", " of ".join(now.under), object_id=_OBJECT_IDS.of(now.under))
    names = ["in_axes" if name == "vmap" else "argnums" for name in now.under]
    given = [
        Leaf(f"{name} {index}" if index else name, "value", text, object_id=_OBJECT_IDS.of(text))
        for index, (name, text) in enumerate(zip(names, now.of_what, strict=True))
        if text
    ]
    return Call(
        function, caller(root)[0], (head, *given, *operands), (), tuple(call_context().items()), _EMPTIED_ALL[0]
    )


def call_context() -> dict[str, str]:
    """The context of a call by name, with everything that JAX compares."""
    found = {name: getattr(jax.config, name, "") for name in _CONFIG} | jax_private.trace_context()
    # Plain text, because some values are JAX enumerations, which readers of a record would have to import.
    return {name: str.__str__(value) if isinstance(value, str) else _setting(value) for name, value in found.items()}


def _setting(value: Any) -> str:
    if hasattr(value, "platform") and hasattr(value, "id"):  # a device
        return f"{value.platform}:{value.id}"
    return stable_repr(getattr(value, "val", value))


def _listed(call: _FunCall, root: str) -> Call | None:
    """The call of a function that reports list; None for a single eager operation."""
    fun, _, args, kwargs = call
    if _is_eager(call) and operation_of(fun, args, kwargs) is None:
        return None
    return _call_or_location(*call, root)


def _call_or_location(fun: Any, info: Any, args: Any, kwargs: Any, root: str) -> Call:
    """The call; without leaves if inspecting a user's object raises: the program must continue."""
    try:
        return _call(fun, info, args, kwargs, root)
    except HlodiffError:
        raise
    except Exception as error:
        options = (("arguments", f"not to be seen: {type(error).__name__}"),)
        return Call(_function_or_operation(fun, args, kwargs, root), caller(root)[0], (), options)


def _call(fun: Any, info: Any, args: Any, kwargs: Any, root: str) -> Call:
    """A call as JAX compares it, without the wrappers of Equinox or `jax.pmap`."""
    options = jax_private.jit_options(info)
    operation = operation_of(fun, args, kwargs) if is_jax_own(fun) else None
    inner, mapped = jax_private.filter_jitted(fun, args), jax_private.pmapped(fun, args)
    shown = {name: _format_values(value) for name, value in options.items()}
    if mapped is not None:
        function, inner_args, inner_kwargs, static_positions = mapped
        found = leaves(Arguments(function, inner_args, inner_kwargs, (static_positions, ())), _OBJECT_IDS, root, _made)
        shown = _mapping(options)
    elif operation is not None and operation.parameters is not None:
        found = leaves_of(operation, args, kwargs, _OBJECT_IDS, root)
    elif inner is not None:
        function, inner_args, inner_kwargs, donates = inner
        found = leaves(Arguments(function, inner_args, inner_kwargs, None), _OBJECT_IDS, root, _made)
        shown = {"donate": "yes" if donates else ""}
    else:
        static = (options["static_argnums"], options["static_argnames"])
        found = leaves(Arguments(fun, args, kwargs, static), _OBJECT_IDS, root, _made)
    where, _ = caller(root)
    return Call(
        _function_or_operation(fun, args, kwargs, root),
        where,
        found,
        tuple((name, text) for name, text in shown.items() if text),
        tuple(call_context().items()),
        _emptied(fun if inner is None else inner[0]),
    )


def _mapping(options: dict[str, Any]) -> dict[str, str]:
    """The options of `jax.pmap`, which passes them to `jax.jit` as shardings over a mesh with one axis."""
    shardings = [one for side in ("in", "out") for one in options[f"{side}_shardings"] if hasattr(one, "spec")]
    donated = _format_values(options["donate_argnums"])
    if not shardings:
        return {"donate_argnums": donated}
    (axis,) = shardings[0].mesh.axis_names
    shown = {f"{side}_axes": ", ".join(map(_mapped_axis, options[f"{side}_shardings"])) for side in ("in", "out")}
    devices = jax_private.device_list(jax_private.device_order(shardings[0]))
    return {
        "axis_name": jax_private.without_pmap_axis(str(axis)),
        **shown,
        "devices": devices,
        "donate_argnums": donated,
    }


def _mapped_axis(sharding: Any) -> str:
    spec = tuple(getattr(sharding, "spec", ()))
    return str(next((index for index, part in enumerate(spec) if part is not None), None))


def _function_or_operation(fun: Any, args: Any, kwargs: Any, root: str) -> Function:
    mapped = jax_private.pmapped(fun, args)
    if mapped is not None:
        function = _function(mapped[0], root)
        return replace(function, name=f"pmap({function.name})")
    operation: Operation | None = operation_of(fun, args, kwargs) if is_jax_own(fun) else None
    if operation is not None:
        return function_of(operation, root)
    inner = jax_private.filter_jitted(fun, args)
    return _function(fun if inner is None else inner[0], root)


def _format_values(values: tuple[Any, ...]) -> str:
    texts = [_format_value(value) for value in values]
    return ", ".join(text for text in texts if "Unspecified" not in text)


def _format_value(value: Any) -> str:
    if isinstance(value, jax.sharding.Sharding):
        return f"{format_sharding(value)} on devices {jax_private.device_list(jax_private.device_order(value))}"
    return str(value)


def _function(fn: Any, root: str) -> Function:
    try:
        where, inside = _JITTED.get(fn, ("", ""))
    except TypeError:
        where, inside = "", ""
    code = code_of(fn)
    library = code is not None and not is_users(code.co_filename)
    name = f"jit({name_of(fn)})" if jax_private.is_jitted(fn) else name_of(fn)  # jit of jit: its body is not run
    return Function(name, defined(fn, root), where, inside, library)


# --- Events as plain records that can leave the process: programs become fingerprints.


def fingerprint_of(program: CompiledProgram) -> str:
    """The fingerprint of a program's normalized StableHLO: equal for two compiles of the same program.

    For a single eager operation, of which there may be many, and for an unreadable program, it is a hash of the text.
    Conversions to the same type are dropped first: JAX writes them for weakly typed arguments, and XLA removes them at
    once.
    """
    from hlodiff.hlo.fingerprint import program_fingerprint
    from hlodiff.hlo.stablehlo_parser import read_stablehlo
    from hlodiff.normalizer import normalize

    if program.function is None:
        return program.digest()
    try:
        return program_fingerprint(normalize(without_idle_converts(read_stablehlo(program.stablehlo()))))
    except HlodiffError:
        return program.digest()


def without_idle_converts(module: Module) -> Module:
    """The module without `convert` instructions that do not change the type.

    Args:
        module: StableHLO.

    Returns:
        the module; the same object if there are none.
    """
    computations = tuple(map(_without, module.computations))
    return module if computations == tuple(module.computations) else replace(module, computations=computations)


def _without(computation: Computation) -> Computation:
    old = computation.instructions
    value = list(range(len(old)))  # the instruction that replaces each one
    for index, it in enumerate(old):
        idle = it.opcode == "convert" and len(it.operands) == 1 and not any(it.results)
        if idle and old[it.operands[0]].shape == it.shape:
            value[index] = value[it.operands[0]]
    kept = [index for index in range(len(old)) if value[index] == index]
    if len(kept) == len(old):
        return computation
    position = {index: new for new, index in enumerate(kept)}
    instructions = tuple(
        replace(old[index], operands=tuple(position[value[o]] for o in old[index].operands)) for index in kept
    )
    return replace(computation, instructions=instructions, root=position[value[computation.root]])


def plain_events(
    events: Iterable[Trace | CompiledProgram], fingerprint: Callable[[CompiledProgram], str] = fingerprint_of
) -> Iterator[Trace | Compilation]:
    """Convert events to records without JAX objects.

    Args:
        events: traces and programs in order.
        fingerprint: computes the fingerprint of a program.

    Returns:
        the traces unchanged, and a plain record of each program.
    """
    for event in events:
        if isinstance(event, Trace):
            yield event
        else:
            yield Compilation(
                event.order, event.name, event.function, event.call, event.traced, fingerprint(event), event.platform,
                event.place, event.failed, event.under,
            )  # fmt: skip
