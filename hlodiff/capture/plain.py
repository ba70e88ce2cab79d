"""Functions that are not jitted yet: compiled as `jax.jit` would, with what it refuses held static."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax

from hlodiff.capture.leaves import join, split
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, Donate


def jit_plain(
    case: Case, fn: Any, bound: tuple[Any, ...], keywords: dict[str, Any], place: Callable[[Any], Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A function that is not jitted, as `jax.jit` compiles it, with what `jax.jit` would refuse held static.

    What partials and methods bind comes before the other arguments, its Python numbers static, as `jax.jit` has them.

    Args:
        case: its options and arguments.
        fn: its function, out of partials and methods.
        bound: the positional arguments that these bind.
        keywords: the keyword arguments that these bind.
        place: takes the numbers from the arrays of a tree.

    Returns:
        the jitted function and what to call it with.

    Raises:
        RegistryError: the options do not fit the arguments.
    """
    static = _static_positions(case, fn, len(bound))
    parts = [split(place(arg), scalars=False) for arg in bound]
    parts += [(None, arg) if i in static else split(place(arg), scalars=True) for i, arg in enumerate(case.args)]
    named = {name: split(place(value), scalars=False) for name, value in keywords.items()}
    for name, value in case.kwargs.items():
        named[name] = (None, value) if name in case.static_argnames else split(place(value), scalars=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        joined = [join(traced, part[1]) for traced, part in zip(args, parts, strict=True)]
        result = fn(*joined, **{name: join(traced, named[name][1]) for name, traced in kwargs.items()})
        return split(result, scalars=True)[0]

    _dress(call, fn, case.fn)
    jitted = jax.jit(call, **_jit_options(case, static, len(bound)))
    return jitted, tuple(part[0] for part in parts), {name: part[0] for name, part in named.items()}


def _static_positions(case: Case, fn: Any, shift: int) -> frozenset[int]:
    """Positions in the case that are static, by number or, as `jax.jit` has it too, by the name of the parameter."""
    positions = [_position(case, i, "static_argnums") for i in case.static_argnums]
    if case.static_argnames:
        names = positional_names(fn, shift + len(case.args))[shift:]
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


def positional_names(fn: Any, count: int) -> tuple[str, ...]:
    """What the first `count` positional arguments of a function are called."""
    names: list[str] = []
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return (*names, "", "")  # Equinox's own None stands behind the last argument
