"""Registering scenarios, functions that make several real calls: `@hlodiff.scenario`. Importing this imports no JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from hlodiff.errors import RegistryError
from hlodiff.registry import folder_name_problem, registrations

F = TypeVar("F", bound=Callable[[], object])
Budget = int | Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A function that makes several real calls, and how much they may cost.

    Args:
        name: the name of its folder below `snapshots`.
        run: makes the calls.
        max_traces: how often a function may be traced at most: pairs of its name and a number, "" for every function,
            "total" for all of them together.
        max_programs: how many different programs may come out, in the same form.
        devices: how many CPU devices there are.
        module: the module it was registered in.
        file: the file it was registered in.
        line: 1-based line in that file.

    Example:
        >>> Scenario("steps", print, (("", 1),), (), 1, "m", "m.py", 3).where
        'm.py:3'
    """

    name: str
    run: Callable[[], object]
    max_traces: tuple[tuple[str, int], ...]
    max_programs: tuple[tuple[str, int], ...]
    devices: int
    module: str
    file: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


_SCENARIOS: list[Scenario] = []


@overload
def scenario(run: F, /) -> F: ...
@overload
def scenario(
    *, name: str | None = None, max_traces: Budget = None, max_programs: Budget = None, devices: int = 1
) -> Callable[[F], F]: ...
def scenario(
    run: F | None = None,
    /,
    *,
    name: str | None = None,
    max_traces: Budget = None,
    max_programs: Budget = None,
    devices: int = 1,
) -> F | Callable[[F], F]:
    """Register a function that makes several real calls, so that `hlodiff check` counts what they trace and compile.

    Args:
        run: the decorated function, without parameters. It is run in a worker process of its own, on cpu.
        name: the name of its folder below `snapshots`; the function's own name by default.
        max_traces: how often a function may be traced at most: one number for each function, or a dict of function
            names and numbers, "total" for all together. `check` fails above it.
        max_programs: how many different programs may come out, in the same form.
        devices: how many CPU devices the scenario has.

    Returns:
        the decorated function, unchanged.

    Raises:
        RegistryError: the name is no safe folder name, the function has parameters, or a budget is no whole number.

    Example:
        >>> @scenario(max_traces={"step": 1})
        ... def three_steps():
        ...     for batch in batches:
        ...         step(model, batch)
    """

    def decorate(run: F) -> F:
        _SCENARIOS.append(_scenario(run, name, (max_traces, max_programs), devices))
        return run

    return decorate if run is None else decorate(run)


def scenarios() -> tuple[Scenario, ...]:
    """Every scenario registered so far, in order.

    Returns:
        one record for each name; a module that was imported again replaces its own earlier records.

    Raises:
        RegistryError: two scenarios, or a scenario and a function, have names that are one folder.

    Example:
        >>> [found.name for found in scenarios()]  # doctest: +SKIP
        ['three_steps']
    """
    taken = {known.name.lower(): (known.name, known.where) for known in registrations()}
    latest: dict[str, Scenario] = {}
    for new in _SCENARIOS:
        old = latest.get(new.name.lower())
        here = (new.name, new.where)
        other = (old.name, old.where) if old is not None else taken.get(new.name.lower(), here)
        if other != here:
            raise RegistryError(
                f"the scenario `{new.name}` and `{other[0]}` ({other[1]}) would have one folder",
                where=new.where,
                hint='give one of them another name: @hlodiff.scenario(name="...")',
            )
        latest[new.name.lower()] = new
    return tuple(latest.values())


def clear() -> None:
    """Forget every scenario, as tests and reloading need it.

    Example:
        >>> clear()
    """
    _SCENARIOS.clear()


def _scenario(run: Any, name: Any, budgets: tuple[Any, Any], devices: Any) -> Scenario:
    if not callable(run):
        raise RegistryError(f"`scenario` decorates a function, not {run!r}")
    code = getattr(inspect.unwrap(run), "__code__", None)
    file, line = (code.co_filename, code.co_firstlineno) if code else ("?", 0)
    where = f"{file}:{line}"
    name = str(getattr(run, "__name__", "")) if name is None else name
    problem = folder_name_problem(name) if isinstance(name, str) else "a name is a string"
    if problem:
        hint = '@hlodiff.scenario(name="a_safe_name")'
        raise RegistryError(f"{name!r} cannot be the name of a scenario: {problem}", where=where, hint=hint)
    _reject_parameters(name, run, where)
    if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
        raise RegistryError(f"`devices` of `{name}` must be a whole number of at least 1", where=where)
    traces, programs = (
        _budget(name, key, value, where) for key, value in zip(("max_traces", "max_programs"), budgets, strict=True)
    )
    return Scenario(name, run, traces, programs, devices, str(getattr(run, "__module__", "")), file, line)


def _reject_parameters(name: str, run: Callable[..., object], where: str) -> None:
    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed:
        raise RegistryError(
            f"the scenario `{name}` needs the parameters {', '.join(needed)}: a scenario has none",
            where=where,
            hint="decorate a function that makes the calls with arguments of its own",
        )


def _budget(name: str, key: str, value: Any, where: str) -> tuple[tuple[str, int], ...]:
    table = {} if value is None else dict(value) if isinstance(value, Mapping) else {"": value}
    for function, most in table.items():
        if not isinstance(function, str) or not isinstance(most, int) or isinstance(most, bool) or most < 0:
            what = f"`{key}` of `{name}` must be a whole number, or a dict of function names and whole numbers"
            raise RegistryError(what, where=where, hint=f'{key}={{"step": 1}}')
    return tuple(table.items())
