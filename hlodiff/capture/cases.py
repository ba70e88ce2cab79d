"""Calls registered functions to build their cases."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from hlodiff.capture.imports import relative
from hlodiff.capture.targets import is_target
from hlodiff.differ.growth import CLASSES, LEAST_SIZES, QUANTITIES
from hlodiff.errors import HlodiffError, RegistryError
from hlodiff.registry import Case, Registration, folder_name_problem, registrations

if TYPE_CHECKING:
    from hlodiff.capture.devices import Target


LIMITS = CLASSES[:-1]  # the last class is no limit


def check_growth(registration: Registration, case: Case, where: str) -> None:
    """Reject sizes that the function cannot take or that cannot show how its program grows.

    Args:
        registration: the function that built the case.
        case: one of its cases.
        where: `file:line` of the function.

    Raises:
        RegistryError: with what to write instead.
    """
    grow: object = case.grow
    if not isinstance(grow, Mapping):
        raise RegistryError(f"`grow` of `{registration.name}` is {grow!r}", where=where, hint=_EXAMPLE)
    check_sizes(registration, grow, where)
    _check_limits(registration, case, where)


def check_sizes(registration: Registration, grow: Mapping[Any, Any], where: str) -> None:
    """Reject parameters that the function lacks, and sizes that show nothing; see `check_growth`."""
    parameters = inspect.signature(registration.build).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name, sizes in grow.items():
        if name == "target" or (name not in parameters and not takes_any):
            raise RegistryError(
                f"`grow` of `{registration.name}` names `{name}`, which is not a parameter of the registered function",
                where=where,
                hint=f"it is called again with each size: {_EXAMPLE}",
            )
        wrong = ""
        if not isinstance(sizes, tuple) or not all(
            isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sizes
        ):
            wrong = "sizes are whole numbers above 0"
        elif len(dict.fromkeys(sizes)) < LEAST_SIZES:
            wrong = f"it takes {LEAST_SIZES} different sizes to tell a line from a curve"
        elif list(sizes) != sorted(set(sizes)):
            wrong = "list sizes in ascending order, each once"
        if wrong:
            shown = list(sizes) if isinstance(sizes, tuple) else sizes
            raise RegistryError(
                f"`grow` of `{registration.name}` has {name}={shown!r}: {wrong}",
                where=where,
                hint='double them: grow={"length": [8, 16, 32, 64]}',
            )


_EXAMPLE = 'def solve(length=32): return hlodiff.Case(..., grow={"length": [8, 16, 32, 64]})'


def _check_limits(registration: Registration, case: Case, where: str) -> None:
    limits: object = case.max_growth
    if isinstance(limits, str):
        limits = dict.fromkeys(QUANTITIES, limits) if limits else {}
    if not isinstance(limits, Mapping):
        raise _wrong_limit(registration, limits, where)
    if limits and not case.grow:
        what = f"`{registration.name}` has `max_growth` but no `grow`, so there are no sizes to grow over"
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
    """The growth limits of a case by quantity, in the order of the quantities."""
    if isinstance(case.max_growth, str):
        return dict.fromkeys(QUANTITIES, case.max_growth) if case.max_growth else {}
    return {name: case.max_growth[name] for name in QUANTITIES if name in case.max_growth}


@dataclass(frozen=True, slots=True)
class BuiltCases:
    """The cases that a registered function returned.

    Args:
        sound: its valid cases by name; "" for a single unnamed case.
        wrong: its invalid cases, and what is wrong with each. They do not affect the others.
        names: names of all cases, in order.
    """

    sound: dict[str, Case]
    wrong: dict[str, RegistryError]
    names: tuple[str, ...]

    def case(self, name: str) -> Case | None:
        """The case of that name; None if there is none.

        Raises:
            RegistryError: the case is invalid.
        """
        if name in self.wrong:
            raise self.wrong[name]
        return self.sound.get(name)


_OF_JIT = ("donate", "static_argnums", "static_argnames", "in_shardings", "out_shardings")


def options_of_jit(case: Case) -> list[str]:
    """Options of a case that only a jitted function has."""
    return [name for name in _OF_JIT if getattr(case, name) not in (None, ())]


def registered(function: str) -> Registration:
    """The registered function of that name.

    Raises:
        HlodiffError: no such function is registered.
    """
    found = next((one for one in registrations() if one.name == function), None)
    if found is None:
        raise HlodiffError(f"no function is registered as `{function}`", hint="hlodiff list")
    return found


def case_named(cases: BuiltCases, name: str, registration: Registration, root: Path, hint: str = "") -> Case:
    """The case of that name.

    Args:
        cases: what the function returned.
        name: name of the case.
        registration: the function.
        root: the folder that files in errors are relative to.
        hint: the hint if there is no such case.

    Raises:
        HlodiffError: there is no such case, or it is invalid.
    """
    case = cases.case(name)
    if case is None:
        found = ", ".join(f"`{known}`" for known in cases.names)
        what = f"`{registration.name}` has no case `{name}`, only {found}"
        raise HlodiffError(what, where=relative(registration.where, root), hint=hint)
    return case


def build_cases(registration: Registration, target: Target | None, root: Path) -> dict[str, Case]:
    """The cases of a registered function, all of which must be valid; see `build_each_case`.

    Raises:
        RegistryError: as for `build_each_case`, or one of the cases is invalid.
    """
    built = build_each_case(registration, target, root)
    for error in built.wrong.values():
        raise error
    return built.sound


def build_each_case(
    registration: Registration, target: Target | None, root: Path, sizes: Mapping[str, int] | None = None
) -> BuiltCases:
    """Call a registered function to build its cases.

    Args:
        registration: the function.
        target: passed if the function has a parameter `target`; may be None only if it has none.
        root: the folder that files in errors are relative to.
        sizes: values of parameters in `grow`; by default the function's own defaults.

    Returns:
        its valid and invalid cases.

    Raises:
        RegistryError: it returns no case, or names that are duplicates or cannot be folder names.
        Exception: whatever the function raises.

    Example:
        >>> build_each_case(registration, target, Path(".")).names  # doctest: +SKIP
        ('',)
    """
    where = relative(registration.where, root)
    given = {"target": target} if registration.takes_target else {}
    built: Any = registration.build(**given, **(sizes or {}))
    named = _named(registration, built, where)
    _check_names(registration, [name for name, _ in named], where)
    sound: dict[str, Case] = {}
    wrong: dict[str, RegistryError] = {}
    for name, case in named:
        try:
            sound[name] = _checked(registration, name, case, where)
        except RegistryError as error:
            wrong[name] = error
    return BuiltCases(sound, wrong, tuple(name for name, _ in named))


def _checked(registration: Registration, name: str, case: object, where: str) -> Case:
    if not isinstance(case, Case):
        raise _wrong_return(registration, case, where)
    fn: object = case.fn
    if not callable(fn):
        which = f"case `{name}` of `{registration.name}`" if name else f"`{registration.name}`"
        what, hint = f"{which} cannot be lowered: {fn!r} is not a function", ""
        kind = type(fn).__name__
        if type(fn).__module__.startswith("jax.") and kind in ("Lowered", "Compiled", "Traced"):
            # Its repr is the whole text.
            what = f"{which} holds a jax.stages.{kind}, which is not a function"
            hint = "give the function and its arguments: hlodiff.Case(function, *arguments); hlodiff lowers it"
        raise RegistryError(what, where=where, hint=hint)
    check_growth(registration, case, where)
    parity: object = case.parity
    if not isinstance(parity, bool):
        what = f"`parity` of `{registration.name}` is {parity!r}: it says only whether `check` runs the function"
        raise RegistryError(what, where=where, hint="parity=True, or leave it out")
    return case


def _named(registration: Registration, built: Any, where: str) -> list[tuple[str, Any]]:
    if isinstance(built, Case):
        return [(built.name, built)]
    if isinstance(built, Mapping):
        named = [(name, case) for name, case in built.items()]
    elif isinstance(built, list | tuple | GeneratorType):
        named = [(getattr(case, "name", ""), case) for case in built]
    else:
        raise _wrong_return(registration, built, where)
    for _, case in named:  # cases in a dict have names, so that the others remain valid
        if not isinstance(case, Case) and not isinstance(built, Mapping):
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
        problem = ""
        if not isinstance(name, str):
            problem = "a name is a string"
        elif name == "":
            problem = "" if len(names) == 1 else "with several cases each needs a name: Case(..., name=...)"
        elif is_target(name.lower()):
            problem = "it is the name of a target"
        else:
            problem = folder_name_problem(name)
        if not problem and (other := seen.get(str(name).lower())) is not None:
            same = "another case has it"
            problem = same if other == name else f"`{other}` differs only in upper and lower case"
        if problem:
            raise RegistryError(f"{name!r} cannot name a case of `{registration.name}`: {problem}", where=where)
        seen[str(name).lower()] = str(name)
