"""What a case says about growth, checked before anything is lowered."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from hlodiff.anatomy.fits import CLASSES, LEAST_SIZES
from hlodiff.anatomy.measure import QUANTITIES
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, Registration

LIMITS = CLASSES[:-1]  # what grows as it likes needs no limit


def check_growth(registration: Registration, case: Case, where: str) -> None:
    """Refuse sizes that nobody can take or that cannot show how a program grows.

    Args:
        registration: the function that built the case.
        case: one of its cases.
        where: `file:line` of the function.

    Raises:
        RegistryError: says what to write.
    """
    grow: object = case.grow
    if not isinstance(grow, Mapping):
        raise RegistryError(f"`grow` of `{registration.name}` is {grow!r}", where=where, hint=_EXAMPLE)
    check_sizes(registration, grow, where)
    _check_limits(registration, case, where)


def check_sizes(registration: Registration, grow: Mapping[Any, Any], where: str) -> None:
    """Refuse parameters that the function does not take, and sizes that show nothing; see `check_growth`."""
    for name, sizes in grow.items():
        _check_parameter(registration, str(name), where)
        _check_sizes(registration, str(name), sizes, where)


_EXAMPLE = 'def solve(length=32): return hlodiff.Case(..., grow={"length": [8, 16, 32, 64]})'


def _check_parameter(registration: Registration, name: str, where: str) -> None:
    parameters = inspect.signature(registration.build).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if name == "target" or (name not in parameters and not takes_any):
        raise RegistryError(
            f"`grow` of `{registration.name}` names `{name}`, which is no parameter of the registered function",
            where=where,
            hint=f"it is called again with each size: {_EXAMPLE}",
        )


def _check_sizes(registration: Registration, name: str, sizes: object, where: str) -> None:
    wrong = ""
    if not isinstance(sizes, tuple) or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sizes):
        wrong = "sizes are whole numbers above 0"
    elif len(dict.fromkeys(sizes)) < LEAST_SIZES:
        wrong = f"it takes {LEAST_SIZES} different sizes to tell a line from a curve"
    elif list(sizes) != sorted(set(sizes)):
        wrong = "sizes stand in ascending order, each once"
    if wrong:
        shown = list(sizes) if isinstance(sizes, tuple) else sizes
        raise RegistryError(
            f"`grow` of `{registration.name}` has {name}={shown!r}: {wrong}",
            where=where,
            hint='double them: grow={"length": [8, 16, 32, 64]}',
        )


def _check_limits(registration: Registration, case: Case, where: str) -> None:
    limits: object = case.max_growth
    if isinstance(limits, str):
        limits = dict.fromkeys(QUANTITIES, limits) if limits else {}
    if not isinstance(limits, Mapping):
        raise _wrong_limit(registration, limits, where)
    if limits and not case.grow:
        what = f"`{registration.name}` has `max_growth` and no `grow`: nothing tells how it grows"
        raise RegistryError(what, where=where, hint=_EXAMPLE)
    for name, limit in limits.items():
        if name not in QUANTITIES or limit not in LIMITS:
            raise _wrong_limit(registration, case.max_growth, where)


def _wrong_limit(registration: Registration, limit: object, where: str) -> RegistryError:
    return RegistryError(
        f"`max_growth` of `{registration.name}` is {limit!r}",
        where=where,
        hint=f"one of {', '.join(LIMITS)}, or a dict that gives one to {', '.join(QUANTITIES)}",
    )


def limits_of(case: Case) -> dict[str, str]:
    """The limits of a case by quantity, in the order of the quantities."""
    if isinstance(case.max_growth, str):
        return dict.fromkeys(QUANTITIES, case.max_growth) if case.max_growth else {}
    return {name: case.max_growth[name] for name in QUANTITIES if name in case.max_growth}
