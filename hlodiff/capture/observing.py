"""Observing JAX in the process it runs in: every trace of a jitted function, and every program that is compiled.

The interface for everything else in hlodiff that watches real calls:

    with observing() as seen:
        step(model, x)
    seen.traces     # Trace records, in order; JAX's own functions (`jnp.where`) are not listed
    seen.programs   # Program records, in order; `eager` ones are JAX's own operations (`jnp.ones`, a cast)
    seen.events     # both, in the order in which they ended

- It costs nothing for a call that JAX answers from its cache, about 20 microseconds for an eager operation that is
  compiled, and one walk over the arguments for each trace of a function of the user's.
- It may be nested and used from several threads: each observer sees what all threads do while it is open. What was
  replaced in JAX is put back when the last one is left, also by an exception.
- `observing(on_event)` calls `on_event(record)` at once for each record, in the thread it happened in (and after a fork
  in the child too). With `keep=False` the observer itself keeps none. What `on_event` raises is raised in the user's
  program: let it raise nothing.
- A `Program` holds JAX's own module and, unless `executables=False`, the loaded executable; texts are made when they
  are asked for. `forget()` lets both go.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

import jax

from hlodiff.capture import private
from hlodiff.capture.compiled_programs import Program
from hlodiff.capture.identities import Identities
from hlodiff.capture.places import caller, code_of, defined, is_users, name_of
from hlodiff.capture.signatures import Arguments, leaves
from hlodiff.errors import HlodiffError
from hlodiff.traces.records import Call, Function, Trace

Event = Trace | Program

# What JAX traces anew for, of its public configuration (the rest of what it compares are debug switches).
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
    """What was seen so far.

    Args:
        on_event: called with each record.
        keep: whether records are kept in `events`.
        executables: whether programs keep their executables.
        root: the folder that files are named relative to.
    """

    def __init__(self, on_event: Callable[[Event], None] | None, keep: bool, executables: bool, root: str) -> None:
        self.events: list[Event] = []
        self.root = root
        self._on_event = on_event
        self._keep = keep
        self._executables = executables
        self._orders = count()
        self._functions: dict[str, Function] = {}

    @property
    def traces(self) -> list[Trace]:
        """Traces of functions that are not JAX's own, in order."""
        return [event for event in self.events if isinstance(event, Trace)]

    @property
    def programs(self) -> list[Program]:
        """Programs, in order, with those of eager operations."""
        return [event for event in self.events if isinstance(event, Program)]

    def traced(self, call: Call, within: str, ahead: bool, seconds: float) -> None:
        """Add a trace."""
        self._functions[_plain(call.function.plain)] = call.function
        self._add(Trace(next(self._orders), call, within, ahead, seconds, threading.current_thread().name))

    def compiled(self, call: Call | None, traced: bool, eager: bool, executable: Any, shared: dict[str, Any]) -> None:
        """Add a program; outside of any call its name is all there is to know whose it is."""
        function = call.function if call is not None else None
        if function is None and not eager:
            function = self._functions.get(_plain(shared["name"].removeprefix("jit_")))
        self._add(
            Program(
                order=next(self._orders),
                function=function,
                call=call,
                traced=traced,
                eager=function is None,
                executable=executable if self._executables else None,
                **shared,
            )
        )

    def _add(self, event: Event) -> None:
        if self._keep:
            self.events.append(event)
        if self._on_event is not None:
            self._on_event(event)


def _plain(name: str) -> str:
    """A function's name as it survives in the name of a program: `<lambda>` is `_lambda` there."""
    return re.sub(r"\W", "_", name).strip("_")


@contextmanager
def observing(
    on_event: Callable[[Event], None] | None = None,
    *,
    keep: bool = True,
    executables: bool = True,
    root: str | Path | None = None,
) -> Iterator[Observer]:
    """Observe what JAX traces and compiles, in this process, until the block is left.

    Args:
        on_event: called with each record at once.
        keep: whether the observer keeps the records.
        executables: whether programs keep their executables, and with them their memory.
        root: the folder that files are named relative to; the current one by default.

    Yields:
        the observer.

    Raises:
        CaptureError: this version of JAX keeps what is listened to in another place.

    Example:
        >>> with observing() as seen:
        ...     _ = jax.jit(lambda x: x + 1)(1.0)
        >>> [program.name for program in seen.programs]
        ['jit__lambda']
    """
    observer = Observer(on_event, keep, executables, str(Path.cwd() if root is None else root))
    _enter(observer)
    try:
        yield observer
    finally:
        _leave(observer)


def forget_compiled() -> None:
    """Empty JAX's caches, and Equinox's where it is used: everything is traced and compiled anew."""
    jax.clear_caches()
    equinox = sys.modules.get("equinox")
    if equinox is not None:
        equinox.clear_caches()


_OBSERVERS: list[Observer] = []
_REPLACED: list[tuple[Any, str, Any, Any]] = []
_LOCK = threading.RLock()
_IDENTITIES = Identities()
_JITTED: weakref.WeakKeyDictionary[Any, tuple[str, str]] = weakref.WeakKeyDictionary()
_JAXPRS: weakref.WeakSet[Any] = weakref.WeakSet()


class _Here(threading.local):
    """What this thread is in the middle of."""

    def __init__(self) -> None:
        self.open: list[str] = []  # names of functions that are being traced, outermost first
        self.traced: Call | None = None  # the call that was traced last, until its program is compiled
        self.lowering = 0.0
        self.from_cache = False


_HERE = _Here()


def _enter(observer: Observer) -> None:
    with _LOCK:
        if not _OBSERVERS:
            _install()
        _OBSERVERS.append(observer)


def _leave(observer: Observer) -> None:
    with _LOCK:
        _OBSERVERS.remove(observer)
        if not _OBSERVERS:
            _uninstall()


def _install() -> None:
    points = private.jit_points()
    private.traces_done()
    arounds: tuple[Callable[..., Any], ...] = (_around_call, _around_compile, _around_jit)
    for (module, name), around in zip(points, arounds, strict=True):
        original = getattr(module, name)
        replacement = functools.wraps(original)(functools.partial(around, original))
        setattr(module, name, replacement)
        _REPLACED.append((module, name, original, replacement))
    jax.monitoring.register_event_duration_secs_listener(_on_duration)
    jax.monitoring.register_event_listener(_on_event)


def _uninstall() -> None:
    while _REPLACED:
        module, name, original, replacement = _REPLACED.pop()
        if getattr(module, name) is replacement:  # else somebody replaced ours; ours then only passes calls on
            setattr(module, name, original)
    jax.monitoring.unregister_event_duration_listener(_on_duration)
    jax.monitoring.unregister_event_listener(_on_event)


def _on_duration(event: str, duration_secs: float, **_: Any) -> None:
    if event.endswith("/jaxpr_to_mlir_module_duration"):
        _HERE.lowering = duration_secs


def _on_event(event: str, **_: Any) -> None:
    if event.endswith("/cache_hits"):
        _HERE.from_cache = True


def _around_jit(original: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    if _OBSERVERS:
        where, inside = caller(_OBSERVERS[-1].root)
        with suppress(TypeError):  # where there are no weak references
            _JITTED[fun] = (where, inside)
    return original(fun, *args, **kwargs)


def _around_call(original: Any, fun: Any, info: Any, args: Any, kwargs: Any) -> Any:
    if not _OBSERVERS or _is_jax_own(fun):
        return original(fun, info, args, kwargs)
    before, start = private.traces_done(), time.perf_counter()
    within = _HERE.open[-1] if _HERE.open else ""
    _HERE.open.append(_name(fun, args))
    try:
        inferred = original(fun, info, args, kwargs)
    finally:
        _HERE.open.pop()
    _HERE.traced = None
    if private.traces_done() != before and _is_new(private.inferred_jaxpr(inferred)):
        _traced(fun, info, args, kwargs, within, time.perf_counter() - start)
    return inferred


def _is_new(jaxpr: Any) -> bool:
    """Not seen before: another thread may have traced while this call was answered from the cache."""
    new = jaxpr not in _JAXPRS
    _JAXPRS.add(jaxpr)
    return new


def _traced(fun: Any, info: Any, args: Any, kwargs: Any, within: str, seconds: float) -> None:
    ahead = private.is_ahead_of_time()
    for observer in tuple(_OBSERVERS):
        _HERE.traced = _call_or_place(fun, info, args, kwargs, observer.root)
        observer.traced(_HERE.traced, within, ahead, seconds)


def _around_compile(original: Any, backend: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
    if not _OBSERVERS:
        return original(backend, module, *args, **kwargs)
    _HERE.from_cache = False
    start = time.perf_counter()
    executable = original(backend, module, *args, **kwargs)
    seconds = {"lower": _HERE.lowering, "compile": time.perf_counter() - start}
    _HERE.lowering = 0.0
    current = private.call_in_progress()
    eager = current is not None and _is_jax_own(current[0])
    traced = None if eager else _HERE.traced
    if not eager:
        _HERE.traced = None
    shared = {
        "name": private.module_name(module),
        "platform": str(backend.platform),
        "from_cache": _HERE.from_cache,
        "seconds": seconds,
        "module": module,
    }
    for observer in tuple(_OBSERVERS):
        again = current is not None and traced is None and not eager
        call = _call_or_place(*current, observer.root) if again and current else traced
        observer.compiled(call, traced is not None, eager, executable, shared)
    return executable


def _call_or_place(fun: Any, info: Any, args: Any, kwargs: Any, root: str) -> Call:
    """The call; without its leaves where an object of the user's raises when it is looked at: the program goes on."""
    try:
        return _call(fun, info, args, kwargs, root)
    except HlodiffError:
        raise
    except Exception as error:
        unseen = (("arguments", f"not to be seen: {type(error).__name__}"),)
        return Call(_function(fun, root), caller(root)[0], (), unseen)


def _call(fun: Any, info: Any, args: Any, kwargs: Any, root: str) -> Call:
    """A call as JAX compares it, out of the wrapper of Equinox where there is one."""
    options = private.jit_options(info)
    inner = private.filter_jitted(fun, args)
    if inner is not None:
        function, args, kwargs, donates = inner
        arguments = Arguments(function, args, kwargs, None)
        shown = {"donate": "yes" if donates else ""}
    else:
        function = fun
        arguments = Arguments(fun, args, kwargs, (options["static_argnums"], options["static_argnames"]))
        shown = {name: _shown(value) for name, value in options.items()}
    where, _ = caller(root)
    context = {name: str(getattr(jax.config, name, "")) for name in _CONFIG} | private.surroundings()
    return Call(
        _function(function, root),
        where,
        leaves(arguments, _IDENTITIES, root),
        tuple((name, text) for name, text in shown.items() if text),
        tuple(context.items()),
    )


def _shown(values: tuple[Any, ...]) -> str:
    texts = [str(value) for value in values]
    return ", ".join(text for text in texts if "Unspecified" not in text)


def _function(fn: Any, root: str) -> Function:
    try:
        where, inside = _JITTED.get(fn, ("", ""))
    except TypeError:
        where, inside = "", ""
    code = code_of(fn)
    library = code is not None and not is_users(code.co_filename)
    return Function(name_of(fn), defined(fn, root), where, inside, library)


def _name(fun: Any, args: Any) -> str:
    inner = private.filter_jitted(fun, args)
    return name_of(fun if inner is None else inner[0])


def _is_jax_own(fun: Any) -> bool:
    """Whether a jitted function is one of JAX's own (`jnp.where`, a primitive), not one that somebody else jitted."""
    if type(fun) is not FunctionType:
        return False
    module = fun.__module__ or ""
    if not module.startswith(("jax.", "jaxlib.")):
        return False
    code = code_of(fun)  # of what is inside: `jax.jit(jax.grad(f))` is the user's
    return code is None or not is_users(code.co_filename)
