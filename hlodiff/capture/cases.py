"""Calling registered functions for their cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from hlodiff.capture.growth_options import check_growth
from hlodiff.capture.imports import relative
from hlodiff.capture.targets import is_target
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, Registration, folder_name_problem

if TYPE_CHECKING:
    from hlodiff.capture.devices import Target


def build_cases(
    registration: Registration, target: Target | None, root: Path, sizes: Mapping[str, int] | None = None
) -> dict[str, Case]:
    """Call a registered function.

    Args:
        registration: the function.
        target: what it gets where it has a parameter `target`; None only where it has none.
        root: the folder that errors tell files relative to.
        sizes: values of parameters that `grow` names; the function's own defaults where there are none.

    Returns:
        its cases by name; the name is "" where there is one case without a name.

    Raises:
        RegistryError: it returns something else, or names that cannot be folders or are not different.
        Exception: whatever the function raises.

    Example:
        >>> build_cases(registration, target, Path("."))  # doctest: +SKIP
        {'': Case(...)}
    """
    where = relative(registration.where, root)
    given = {"target": target} if registration.takes_target else {}
    built: Any = registration.build(**given, **(sizes or {}))
    named = _named(registration, built, where)
    _check_names(registration, [name for name, _ in named], where)
    for name, case in named:
        fn: object = case.fn
        if not callable(fn):
            which = f"case `{name}` of `{registration.name}`" if name else f"`{registration.name}`"
            raise RegistryError(f"{which} cannot be lowered: {fn!r} is not a function", where=where)
        check_growth(registration, case, where)
        _check_parity(registration, case.parity, where)
    return dict(named)


def _check_parity(registration: Registration, parity: object, where: str) -> None:
    if not isinstance(parity, bool):
        what = f"`parity` of `{registration.name}` is {parity!r}: it says only whether `check` runs the function"
        raise RegistryError(what, where=where, hint="parity=True, or leave it out")


def _named(registration: Registration, built: Any, where: str) -> list[tuple[str, Case]]:
    if isinstance(built, Case):
        return [(built.name, built)]
    if isinstance(built, Mapping):
        named = [(name, case) for name, case in built.items()]
    elif isinstance(built, list | tuple | GeneratorType):
        named = [(getattr(case, "name", ""), case) for case in built]
    else:
        raise _wrong_return(registration, built, where)
    for _, case in named:
        if not isinstance(case, Case):
            raise _wrong_return(registration, case, where)
    if not named:
        raise RegistryError(f"`{registration.name}` returned no case", where=where)
    return named


def _wrong_return(registration: Registration, found: Any, where: str) -> RegistryError:
    return RegistryError(
        f"`{registration.name}` returned {type(found).__name__}: neither a Case nor a dict or list of Cases",
        where=where,
        hint="return hlodiff.Case(function, *arguments)",
    )


def _check_names(registration: Registration, names: Iterable[object], where: str) -> None:
    names = list(names)
    seen: dict[str, str] = {}
    for name in names:
        problem = _problem(name, alone=len(names) == 1)
        if not problem and isinstance(name, str) and name.lower() in seen:
            same = seen[name.lower()] == name
            problem = "another case has it" if same else f"`{seen[name.lower()]}` differs only in upper and lower case"
        if problem:
            raise RegistryError(f"{name!r} cannot name a case of `{registration.name}`: {problem}", where=where)
        seen[str(name).lower()] = str(name)


def _problem(name: object, *, alone: bool) -> str:
    if not isinstance(name, str):
        return "a name is a string"
    if name == "":
        return "" if alone else "with several cases each needs a name: Case(..., name=...)"
    if is_target(name.lower()):
        return "it is the name of a target"
    return folder_name_problem(name)
