"""Lowers a case to the program that a real call of the function would compile."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.tree_util import keystr, tree_flatten_with_path, tree_leaves, tree_map

from hlodiff.capture import jax_private
from hlodiff.capture.arguments import is_array, join, module_type, split, without_numbers
from hlodiff.capture.cases import options_of_jit
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, Donate
from hlodiff.tracing.source_location import defined, name_of


def jit_plain(
    case: Case, fn: Any, bound: tuple[Any, ...], keywords: dict[str, Any], convert: Callable[[Any], Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Jit a plain function; arguments that `jax.jit` would reject are static.

    Arguments bound by partials and methods come first; their Python numbers are static, as in `jax.jit`.

    Args:
        case: its options and arguments.
        fn: its function, unwrapped from partials and methods.
        bound: positional arguments bound by these.
        keywords: keyword arguments bound by these.
        convert: converts the arrays in a tree to abstract (or concrete) arrays.

    Returns:
        the jitted function and its arguments.

    Raises:
        RegistryError: the options do not fit the arguments.
    """
    positions = [_position(case, i, "static_argnums") for i in case.static_argnums]
    if case.static_argnames:  # as `jax.jit` also accepts
        names = positional_names(fn, len(bound) + len(case.args))[len(bound) :]
        positions += [i for i, name in enumerate(names[: len(case.args)]) if name in case.static_argnames]
    static = frozenset(positions)
    parts = [split(convert(arg), scalars=False) for arg in bound]
    parts += [(None, arg) if i in static else split(convert(arg), scalars=True) for i, arg in enumerate(case.args)]
    named = {name: split(convert(value), scalars=False) for name, value in keywords.items()}
    for name, value in case.kwargs.items():
        named[name] = (None, value) if name in case.static_argnames else split(convert(value), scalars=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        joined = [join(traced, part[1]) for traced, part in zip(args, parts, strict=True)]
        result = fn(*joined, **{name: join(traced, named[name][1]) for name, traced in kwargs.items()})
        return split(result, scalars=True)[0]

    _dress(call, fn, case.fn)
    jitted = jax.jit(call, **_jit_options(case, static, len(bound)))
    return jitted, tuple(part[0] for part in parts), {name: part[0] for name, part in named.items()}


def _position(case: Case, i: object, option: str) -> int:
    count = len(case.args)
    if not isinstance(i, int) or not -count <= i < count:
        raise RegistryError(f"{option} names position {i!r}, and the case has {count} positional arguments")
    return i % count


def _dress(call: Any, fn: Any, registered: Any) -> None:
    """Give a wrapper its function's name and parameters, which JAX uses to name programs and arguments."""
    named = registered
    while not isinstance(getattr(named, "__name__", None), str) and (
        hasattr(named, "__wrapped__") or hasattr(named, "func")
    ):
        named = named.__wrapped__ if hasattr(named, "__wrapped__") else named.func
    name = getattr(named, "__name__", None)
    call.__name__ = call.__qualname__ = name if isinstance(name, str) else type(named).__name__
    with contextlib.suppress(TypeError, ValueError):  # builtins have no signature
        call.__signature__ = inspect.signature(fn)


def _jit_options(case: Case, static: frozenset[int], shift: int) -> dict[str, Any]:
    options: dict[str, Any] = {"donate_argnums": tuple(i + shift for i in _donated(case) if i not in static)}
    if case.donate in ("all", "all-except-first"):
        options["donate_argnames"] = tuple(name for name in case.kwargs if name not in case.static_argnames)
    if case.out_shardings is not None:
        options["out_shardings"] = case.out_shardings
    if case.in_shardings is not None:
        each = case.in_shardings if isinstance(case.in_shardings, tuple) else (case.in_shardings,) * len(case.args)
        options["in_shardings"] = (None,) * shift + each
    return options


def _donated(case: Case) -> tuple[int, ...]:
    donate: Donate = case.donate
    if donate is None or donate == "none":
        return ()
    if donate in ("all", "all-except-first"):
        return tuple(range(int(donate != "all"), len(case.args)))
    if isinstance(donate, str) or not isinstance(donate, int | Sequence):
        raise RegistryError(f"donate={donate!r}", hint='donate is None, "all", "all-except-first", or positions')
    positions = (donate,) if isinstance(donate, int) else tuple(donate)
    return tuple(_position(case, i, "donate") for i in positions)


def positional_names(fn: Any, count: int) -> tuple[str, ...]:
    """Names of the first `count` positional arguments of a function."""
    names: list[str] = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return (*names, "", "")  # Equinox appends None to the arguments


@dataclass(frozen=True, slots=True)
class TracedCase:
    """A traced function, with a name for each of its flat arguments.

    Args:
        traced: the `jax.stages.Traced`.
        names: a readable name of each flat argument, such as `model.layers[0].weight`.
        seconds: how long tracing took.
        around: jitted functions that a plain function calls inside some context: name and location of each, and name
            and value of the context.
    """

    traced: Any
    names: tuple[str, ...]
    seconds: float
    around: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _BoundCall:
    """A call ready to be traced: `fn.trace(*args, **kwargs)`."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...] | None  # None: use JAX's names


def trace(case: Case, device: Any) -> TracedCase:
    """Trace the function of a case as a real call would.

    Args:
        case: the function and its arguments.
        device: first device of the target, for arguments with a memory kind but no device.

    Returns:
        the traced function.

    Raises:
        RegistryError: the options of the case do not fit its function.
        Exception: any exception that the function raises.
    """
    call = _call(case, device)
    around = _Surroundings()
    start = time.perf_counter()
    with jax_private.calls_from(call.fn if is_plain(case) else None, around.note):
        traced = call.fn.trace(*call.args, **call.kwargs)
    seconds = time.perf_counter() - start
    if not isinstance(traced, jax.stages.Traced):
        traced = getattr(traced, "traced", traced)  # `nnx.jit` wraps JAX's own
    names = jax_private.argument_names(traced) if call.names is None else call.names
    return TracedCase(traced, names, seconds, tuple(around.found))


@dataclass(slots=True)
class _Surroundings:
    """The context of the jitted functions that a plain function calls, which their `.lower()` does not see."""

    key: object = field(default_factory=jax_private.context_key)
    outside: dict[str, Any] = field(default_factory=jax_private.trace_context)
    found: dict[tuple[str, str, str, str], None] = field(default_factory=dict)

    def note(self, fun: Any, args: tuple[Any, ...]) -> None:
        if jax_private.context_key() == self.key:  # takes a tenth of the time of the rest
            return
        changed = [pair for pair in jax_private.trace_context().items() if pair[1] != self.outside.get(pair[0])]
        if changed:
            inner = jax_private.filter_jitted(fun, args)
            fn = fun if inner is None else inner[0]
            self.found |= dict.fromkeys(
                (name_of(fn), defined(fn, ""), name, str(value)) for name, value in changed if name != "axis names"
            )


def lower(traced: TracedCase, device: Any) -> Any:
    """Lower a traced function for a target.

    An argument without a device stays without one, as in a real call with uncommitted arrays. With a sharding on one
    device, StableHLO would get annotations that no call has.

    Args:
        traced: the function.
        device: first device of the target, for programs that name no device.

    Returns:
        the `jax.stages.Lowered`.
    """
    return jax_private.lowered_for(device, traced.traced.lower)


def _call(case: Case, device: Any) -> _BoundCall:
    fn, bound, keywords = _open(case.fn)
    convert = functools.partial(_abstract, device)
    if _is_filter_jitted(fn):
        _reject_options(case, "eqx.filter_jit")
        return _filter_jitted(fn, (*bound, *case.args), {**keywords, **case.kwargs}, convert)
    if _is_jitted(fn):
        _reject_options(case, "jax.jit")
        return _BoundCall(fn, convert((*bound, *case.args)), convert({**keywords, **case.kwargs}), None)
    return _BoundCall(*jit_plain(case, fn, bound, keywords, convert), None)


def is_plain(case: Case) -> bool:
    """Whether the function of a case is not jitted, so that capturing jits it."""
    fn, _, _ = _open(case.fn)
    return not (_is_filter_jitted(fn) or _is_jitted(fn))


def jitted(case: Case, convert: Callable[[Any], Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The jitted function that captures use for a case with a plain function, and its arguments."""
    fn, bound, keywords = _open(case.fn)
    return jit_plain(case, fn, bound, keywords, convert)


def _abstract(device: Any, tree: Any) -> Any:
    """The tree with abstract arrays; a container that only accepts real arrays keeps them, as in distrax."""
    abstract = tree_map(lambda leaf: without_numbers(leaf, device), tree)
    structures: list[Any] = [jax.tree.structure(abstract), jax.tree.structure(tree)]
    if structures[0] == structures[1]:
        return abstract
    if type(tree) in (tuple, list):
        return type(tree)(_abstract(device, one) for one in tree)
    return {key: _abstract(device, one) for key, one in tree.items()} if type(tree) is dict else tree


def _is_jitted(fn: Any) -> bool:
    # A method object has all attributes of its function, so it looks jitted too; lowering it would lose `self`.
    return isinstance(fn, jax.stages.Wrapped) and not hasattr(fn, "__self__")


def _is_filter_jitted(fn: Any) -> bool:
    kind = jax_private.filter_jit_type()
    return kind is not None and isinstance(fn, kind)


def _open(fn: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function inside partials, methods and callable modules, and the arguments that these bind.

    A call of a jitted function also passes them as arguments. Closed over by a plain function, their arrays would
    become constants of the program, which abstract arrays cannot be.
    """
    bound: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    while not (_is_filter_jitted(fn) or _is_jitted(fn)):
        if hasattr(fn, "__func__") and hasattr(fn, "__self__"):
            bound, fn = (fn.__self__, *bound), fn.__func__
        elif hasattr(fn, "func") and hasattr(fn, "args") and hasattr(fn, "keywords"):
            bound, keywords, fn = (*fn.args, *bound), {**fn.keywords, **keywords}, fn.func
        elif _is_jitted(type(fn).__call__) or (isinstance(fn, module_type()) and _is_opened(fn)):
            bound, fn = (fn, *bound), type(fn).__call__
        else:
            break
    return fn, bound, keywords


def _is_opened(module: Any) -> bool:
    """Whether a callable module has arrays or a jitted `__call__`; the wrapper of eqx.filter_grad has neither."""
    call = type(module).__call__
    return _is_filter_jitted(call) or _is_jitted(call) or any(is_array(leaf) for leaf in tree_leaves(module))


def _reject_options(case: Case, jitted_by: str) -> None:
    if given := options_of_jit(case):
        raise RegistryError(
            f"the case sets {', '.join(given)}, but its function is already jitted by {jitted_by} and keeps its own",
            hint=f"give them to {jitted_by}, or register the function that it wraps",
        )


def _filter_jitted(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], convert: Callable[[Any], Any]) -> _BoundCall:
    """An `eqx.filter_jit` function as its call compiles it: arrays traced, the rest static, with its own donation."""
    names: dict[str, tuple[str | None, ...]] = {}
    parameters = positional_names(fn.__wrapped__, len(args) + len(kwargs))

    def split(key: str, part: Any) -> tuple[Any, Any]:
        flat, treedef = tree_flatten_with_path(convert(part))
        names[key] = tuple(_name(key, path, parameters) if is_array(leaf) else None for path, leaf in flat)
        traced = tuple(leaf if is_array(leaf) else None for _, leaf in flat)
        return traced, (tuple(None if is_array(leaf) else leaf for _, leaf in flat), treedef)

    inner, arguments = jax_private.filter_jit_call(fn, split, args, kwargs)
    # Names are put in the same containers as the arrays, so that flattening orders both alike.
    named = tuple({key: names[key] for key in part} for part in arguments[:2])
    return _BoundCall(inner, arguments, {}, tuple(tree_leaves(named)))


def _name(key: str, path: tuple[Any, ...], parameters: tuple[str, ...]) -> str:
    if key == "fun":
        return "function" + keystr(path)
    if key == "first":
        return parameters[0] + keystr(path)
    in_keywords, position = path[0].idx == 1, path[1]
    name = str(position.key) if in_keywords else parameters[position.idx + 1]
    return name + keystr(path[2:])
