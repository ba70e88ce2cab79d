"""From a case to the program that JAX hands to XLA: the same that a real call of the function would compile."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_map, tree_unflatten

from hlodiff.capture import private
from hlodiff.capture.leaves import is_array, is_scalar, without_numbers
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, Donate


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced function, with a name for each of its flat arguments.

    Args:
        traced: the `jax.stages.Traced`.
        names: what a reader calls each flat argument, such as `model.layers[0].weight`.
        seconds: how long tracing took.
    """

    traced: Any
    names: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that is ready to be traced: `fn.trace(*args, **kwargs)`."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...] | None  # None: as JAX names them


def trace(case: Case, device: Any) -> Traced:
    """Trace the function of a case as a real call would.

    Args:
        case: the function and its arguments.
        device: first device of the target, for arguments that name a memory kind and no device.

    Returns:
        the traced function.

    Raises:
        RegistryError: the options of the case do not fit its function.
        Exception: whatever the function raises.
    """
    call = _call(case, device)
    start = time.perf_counter()
    traced = call.fn.trace(*call.args, **call.kwargs)
    seconds = time.perf_counter() - start
    names = private.argument_names(traced) if call.names is None else call.names
    return Traced(traced, names, seconds)


def _call(case: Case, device: Any) -> _Call:
    fn, bound, keywords = _open(case.fn)
    place = functools.partial(_place, device)
    if _is_filter_jitted(fn):
        _reject_options(case, "eqx.filter_jit")
        return _filter_jitted(fn, (*bound, *case.args), {**keywords, **case.kwargs}, place)
    if _is_jitted(fn):
        _reject_options(case, "jax.jit")
        return _Call(fn, place((*bound, *case.args)), place({**keywords, **case.kwargs}), None)
    return _plain(case, fn, bound, keywords, place)


def _place(device: Any, tree: Any) -> Any:
    return tree_map(lambda leaf: without_numbers(leaf, device), tree)


def _is_jitted(fn: Any) -> bool:
    # A method object passes every attribute of its function on, so it looks jitted too; lowering that loses `self`.
    return isinstance(fn, jax.stages.Wrapped) and not hasattr(fn, "__self__")


def _is_filter_jitted(fn: Any) -> bool:
    kind = private.filter_jit_type()
    return kind is not None and isinstance(fn, kind)


def _open(fn: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function inside partials, methods and callable modules, and what these bind: arguments like any other.

    A call of a jitted function passes them on in the same way. Closed over by a function that is not jitted yet, their
    arrays would be constants of the program, and abstract ones cannot be.
    """
    bound: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    while not (_is_filter_jitted(fn) or _is_jitted(fn)):
        if hasattr(fn, "__func__") and hasattr(fn, "__self__"):
            bound, fn = (fn.__self__, *bound), fn.__func__
        elif hasattr(fn, "func") and hasattr(fn, "args") and hasattr(fn, "keywords"):
            bound, keywords, fn = (*fn.args, *bound), {**fn.keywords, **keywords}, fn.func
        elif isinstance(fn, _module_type()) and _holds_something(fn):
            bound, fn = (fn, *bound), type(fn).__call__
        else:
            break
    return fn, bound, keywords


def _holds_something(module: Any) -> bool:
    """Whether a callable module brings arrays along or has a jitted call, as eqx.filter_grad's wrapper does not."""
    call = type(module).__call__
    return _is_filter_jitted(call) or _is_jitted(call) or any(is_array(leaf) for leaf in tree_leaves(module))


def _reject_options(case: Case, jitted_by: str) -> None:
    options = ("donate", "static_argnums", "static_argnames", "in_shardings", "out_shardings")
    given = [name for name in options if getattr(case, name) not in (None, ())]
    if given:
        raise RegistryError(
            f"the case sets {', '.join(given)}, but its function is already jitted by {jitted_by} and keeps its own",
            hint=f"give them to {jitted_by}, or register the function that it wraps",
        )


def _filter_jitted(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: Callable[[Any], Any]) -> _Call:
    """An `eqx.filter_jit` function, as its call compiles it: arrays traced, all else static, its own donation."""
    names: dict[str, tuple[str | None, ...]] = {}
    parameters = _positional_names(fn.__wrapped__, len(args) + len(kwargs))

    def split(key: str, part: Any) -> tuple[Any, Any]:
        flat, treedef = tree_flatten_with_path(place(part))
        names[key] = tuple(_name(key, path, parameters) if is_array(leaf) else None for path, leaf in flat)
        traced = tuple(leaf if is_array(leaf) else None for _, leaf in flat)
        return traced, (tuple(None if is_array(leaf) else leaf for _, leaf in flat), treedef)

    inner, arguments = private.filter_jit_call(fn, split, args, kwargs)
    # Names in the same containers as the arrays, so that flattening puts both in the same order.
    named = tuple({key: names[key] for key in part} for part in arguments[:2])
    return _Call(inner, arguments, {}, tuple(tree_leaves(named)))


def _name(key: str, path: tuple[Any, ...], parameters: tuple[str, ...]) -> str:
    if key == "fun":
        return "function" + keystr(path)
    if key == "first":
        return parameters[0] + keystr(path)
    in_keywords, position = path[0].idx == 1, path[1]
    name = str(position.key) if in_keywords else parameters[position.idx + 1]
    return name + keystr(path[2:])


def _positional_names(fn: Any, count: int) -> tuple[str, ...]:
    """What the first `count` positional arguments of a function are called."""
    names: list[str] = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return (*names, "", "")  # Equinox's own None stands behind the last argument


def _plain(case: Case, fn: Any, bound: tuple[Any, ...], keywords: dict[str, Any], place: Callable[[Any], Any]) -> _Call:
    """A function that is not jitted, as `jax.jit` compiles it, with what `jax.jit` would refuse held static.

    What partials and methods bind comes before the other arguments, its Python numbers static, as `jax.jit` has them.
    """
    static = _static_positions(case, fn, len(bound))
    parts = [_split(place(arg), scalars=False) for arg in bound]
    parts += [(None, arg) if i in static else _split(place(arg), scalars=True) for i, arg in enumerate(case.args)]
    named = {name: _split(place(value), scalars=False) for name, value in keywords.items()}
    for name, value in case.kwargs.items():
        named[name] = (None, value) if name in case.static_argnames else _split(place(value), scalars=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        joined = [_join(traced, part[1]) for traced, part in zip(args, parts, strict=True)]
        result = fn(*joined, **{name: _join(traced, named[name][1]) for name, traced in kwargs.items()})
        return _split(result, scalars=True)[0]

    _dress(call, fn, case.fn)
    jitted = jax.jit(call, **_jit_options(case, static, len(bound)))
    return _Call(jitted, tuple(part[0] for part in parts), {name: part[0] for name, part in named.items()}, None)


def _split(tree: Any, *, scalars: bool) -> tuple[Any, Any]:
    """The traced leaves and the static leaves of a tree, None in place of the others.

    Args:
        tree: any tree.
        scalars: whether Python numbers are traced; those inside an Equinox module never are.
    """
    module = _module_type()

    def one(leaf: Any) -> tuple[Any, Any]:
        if isinstance(leaf, module):
            leaves, treedef = tree_flatten(leaf)
            halves = [(x, None) if is_traced(x) else (None, x) for x in leaves]
            return tree_unflatten(treedef, [h[0] for h in halves]), tree_unflatten(treedef, [h[1] for h in halves])
        return (leaf, None) if is_traced(leaf) or (scalars and is_scalar(leaf)) else (None, leaf)

    leaves, treedef = tree_flatten(tree, is_leaf=lambda node: isinstance(node, module))
    halves = [one(leaf) for leaf in leaves]
    return tree_unflatten(treedef, [half[0] for half in halves]), tree_unflatten(treedef, [half[1] for half in halves])


def _join(traced: Any, static: Any) -> Any:
    return tree_map(lambda a, b: b if a is None else a, traced, static, is_leaf=lambda leaf: leaf is None)


def is_traced(leaf: Any) -> bool:
    """Whether a leaf is an array, with or without numbers, or one that is being traced."""
    return is_array(leaf) or isinstance(leaf, jax.core.Tracer)


def _module_type() -> tuple[type, ...]:
    try:
        import equinox as eqx
    except ImportError:
        return ()
    return (eqx.Module,)


def _static_positions(case: Case, fn: Any, shift: int) -> frozenset[int]:
    """Positions in the case that are static, by number or, as `jax.jit` has it too, by the name of the parameter."""
    positions = [_position(case, i, "static_argnums") for i in case.static_argnums]
    if case.static_argnames:
        names = _positional_names(fn, shift + len(case.args))[shift:]
        positions += [i for i, name in enumerate(names[: len(case.args)]) if name in case.static_argnames]
    return frozenset(positions)


def _position(case: Case, i: object, option: str) -> int:
    count = len(case.args)
    if not isinstance(i, int) or not -count <= i < count:
        raise RegistryError(f"{option} names position {i!r}, and the case has {count} positional arguments")
    return i % count


def _dress(call: Any, fn: Any, registered: Any) -> None:
    """Give a wrapper the name and the parameters of its function: JAX names programs and arguments by them."""
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
