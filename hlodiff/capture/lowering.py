"""From a case to the program that JAX hands to XLA: the same that a real call of the function would compile."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.tree_util import keystr, tree_flatten_with_path, tree_leaves, tree_map

from hlodiff.capture import private
from hlodiff.capture.leaves import is_array, module_type, without_numbers
from hlodiff.capture.plain import jit_plain, positional_names
from hlodiff.errors import RegistryError
from hlodiff.registry import Case


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
    return _Call(*jit_plain(case, fn, bound, keywords, place), None)


def is_plain(case: Case) -> bool:
    """Whether the function of a case jits nothing as a whole: capturing it jits it."""
    fn, _, _ = _open(case.fn)
    return not (_is_filter_jitted(fn) or _is_jitted(fn))


def jitted(case: Case, place: Callable[[Any], Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A case whose function is plain as the jitted function that capturing makes of it, and its arguments."""
    fn, bound, keywords = _open(case.fn)
    return jit_plain(case, fn, bound, keywords, place)


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
        elif isinstance(fn, module_type()) and _holds_something(fn):
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
    parameters = positional_names(fn.__wrapped__, len(args) + len(kwargs))

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
