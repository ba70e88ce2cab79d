"""Registering functions (`@hlodiff.register`), variants of one computation (`@hlodiff.variants`) and scenarios
(`@hlodiff.scenario`), with `hlodiff.Case` and `hlodiff.abstract` for their arguments. Importing this imports no JAX.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from hlodiff.errors import RegistryError

F = TypeVar("F", bound=Callable[..., object])
S = TypeVar("S", bound=Callable[[], object])
Donate = str | int | Sequence[int] | None
Budget = int | Mapping[str, int] | None

# Names become folders, which must be valid on every system that checks the repository out.
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_LONGEST = 100  # four such names and the file name fit the limits of 255 bytes and 260 characters of file systems


@dataclass(frozen=True, slots=True, init=False)
class Case:
    """A function to compile and one set of arguments for it.

    Args:
        fn: a plain function, a `jax.jit` or `eqx.filter_jit` function, a method of an Equinox module, or a
            `functools.partial` of one of these.
        args: positional arguments of `fn`: arrays, `hlodiff.abstract`s, Python scalars, pytrees and Equinox modules of
            them, and static values.
        kwargs: keyword arguments of `fn`.
        donate: arguments whose buffers the function may overwrite: None, "all", "all-except-first", or positions. Only
            for a function that is not jitted; a jitted one keeps its own.
        static_argnums: positions that are compile-time constants, as for `jax.jit`; not for a jitted function.
        static_argnames: keyword arguments that are compile-time constants; not for a jitted function.
        in_shardings: as for `jax.jit`; not for a jitted function.
        out_shardings: as for `jax.jit`; not for a jitted function.
        name: distinguishes several cases of one function; "" if there is only one.
        grow: sizes at which `hlodiff inspect growth` and `hlodiff check` measure how the program grows, by the name of
            a parameter of the registered function: `{"length": [8, 16, 32, 64]}`.
        max_growth: the worst allowed growth: "constant", "logarithmic", "linear" or "quadratic" for everything, or a
            dict that gives one of them to "instructions", "constants", "constant_bytes" or "text_bytes".
        parity: whether `hlodiff check` runs the function and compares what the call compiled with `.lower()`.

    Example:
        >>> Case(max, 1, 2, name="small").args
        (1, 2)
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    donate: Donate
    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    in_shardings: Any
    out_shardings: Any
    name: str
    grow: dict[str, tuple[int, ...]]
    max_growth: str | dict[str, str]
    parity: bool

    def __init__(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        kwargs: Mapping[str, Any] | None = None,
        donate: Donate = None,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        in_shardings: Any = None,
        out_shardings: Any = None,
        name: str = "",
        grow: Mapping[str, Sequence[int]] | None = None,
        max_growth: str | Mapping[str, str] | None = None,
        parity: bool = False,
    ) -> None:
        values = {
            "fn": fn,
            "args": args,
            "kwargs": dict(kwargs or {}),
            "donate": donate,
            "static_argnums": (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums),
            "static_argnames": (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames),
            "in_shardings": in_shardings,
            "out_shardings": out_shardings,
            "name": name,
            "grow": _sizes(grow),
            "max_growth": max_growth if isinstance(max_growth, str) else dict(max_growth or {}),
            "parity": parity,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)


def _sizes(grow: Any) -> Any:
    """Sizes as tuples. An invalid table is kept: `check_sizes` rejects it, with its source location."""
    if not isinstance(grow, Mapping):
        return grow or {}
    return {name: tuple(sizes) if isinstance(sizes, (list, range)) else sizes for name, sizes in grow.items()}


def abstract(
    shape: Sequence[int], dtype: Any, *, sharding: Any = None, memory_kind: str | None = None, weak_type: bool = False
) -> Any:
    """An array argument without values; allocates nothing.

    Args:
        shape: its dimensions.
        dtype: its element type: a name such as "bfloat16", or any dtype of NumPy or JAX.
        sharding: a `jax.sharding.Sharding` over a mesh of the target; None for an array that is on one device.
        memory_kind: the memory it is in, such as "pinned_host". Give it here and not to the sharding: JAX drops the
            memory kind of a sharding on a GPU that is not attached.
        weak_type: whether it is weakly typed, as `jnp.asarray(1.0)` and Python numbers are.

    Returns:
        a `jax.ShapeDtypeStruct`.

    Raises:
        RegistryError: there is no such memory kind.

    Example:
        >>> abstract((32, 64), "bfloat16").shape  # doctest: +SKIP
        (32, 64)
    """
    # A local import: only `capture` imports JAX, and it is first needed when a registered function is called.
    from hlodiff.capture.arguments import abstract_leaf

    return abstract_leaf(tuple(shape), dtype, sharding, memory_kind, weak_type)


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered function: the arguments of `register` and the source location.

    Args:
        name: the name of the function's snapshots.
        build: returns the case or cases; called lazily.
        targets: targets to compile for; None for the configured targets.
        module: the module it was registered in.
        file: the file it was registered in.
        line: 1-based line in that file.
        takes_target: whether `build` has a parameter `target`, to build a mesh of its devices.
        budget: limits of metrics for this function; None for none.
        cache: whether `check` may skip lowering if none of its inputs changed.

    Example:
        >>> Registration("f", dict, None, "m", "m.py", 3, False).where
        'm.py:3'
    """

    name: str
    build: Callable[..., object]
    targets: tuple[str, ...] | None
    module: str
    file: str
    line: int
    takes_target: bool
    budget: Mapping[str, object] | None = None
    cache: bool = True

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A function that makes several real calls, with budgets for traces and programs.

    Args:
        name: the name of its folder below `snapshots`.
        run: makes the calls.
        max_traces: the most traces of a function, as pairs of name and number; "" for every function, "total" for all
            together.
        max_programs: the most different programs, in the same form.
        devices: number of CPU devices.
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


_REGISTERED: list[Registration] = []
_VARIED: list[Registration] = []
_SCENARIOS: list[Scenario] = []


@overload
def register(build: F, /) -> F: ...
@overload
def register(
    *,
    name: str | None = None,
    targets: Sequence[str] | None = None,
    budget: Mapping[str, object] | None = None,
    cache: bool = True,
) -> Callable[[F], F]: ...
def register(
    build: F | None = None,
    /,
    *,
    name: str | None = None,
    targets: Sequence[str] | None = None,
    budget: Mapping[str, object] | None = None,
    cache: bool = True,
) -> F | Callable[[F], F]:
    """Register what a function compiles to, so that `hlodiff update` records it and `hlodiff check` compares it.

    Args:
        build: the decorated function. It is called lazily, without arguments or, if it has a parameter `target`, with
            the target, and returns a `Case`, a dict of names and `Case`s, or several named `Case`s.
        name: the name of the snapshots; the function's own name by default.
        targets: names such as "cpu", "tpu-v5e-2x2" or "cuda-h100-x4"; the configured targets by default.
        budget: limits of metrics, as in a `[[tool.hlodiff.budgets]]` for this function alone.
        cache: False for a function whose program depends on inputs that hlodiff does not see, such as the time, a
            download or an environment variable of its own; `check` then lowers it every time.

    Returns:
        the decorated function, unchanged.

    Raises:
        RegistryError: the name is not a safe folder name, or the function has other required parameters.

    Example:
        >>> @register(name="sum_of_two", targets=["cpu"])
        ... def case():
        ...     return Case(lambda x, y: x + y, abstract((3,), "float32"), abstract((3,), "float32"))
    """

    def decorate(build: F) -> F:
        _REGISTERED.append(replace(_registration(build, name, targets), budget=budget, cache=cache))
        return build

    return decorate if build is None else decorate(build)


@overload
def variants(build: F, /) -> F: ...
@overload
def variants(*, name: str | None = None, budget: Mapping[str, object] | None = None) -> Callable[[F], F]: ...
def variants(
    build: F | None = None, /, *, name: str | None = None, budget: Mapping[str, object] | None = None
) -> F | Callable[[F], F]:
    """Register one computation jitted in several ways; `hlodiff inspect variants` runs and compares them.

    Args:
        build: the decorated function. It is called lazily, without arguments, and returns a dict of names and `Case`s
            that compute the same. Each is called as is, so jit what should be jitted. Abstract arguments are filled
            with ones.
        name: its name; the function's own name by default.
        budget: limits for each variant; `hlodiff inspect variants` exits 1 above them:
            `{"outer": {"launches": 1, "fusions": 1, "bytes_accessed": "2 MiB"}}`.

    Returns:
        the decorated function, unchanged.

    Raises:
        RegistryError: the name is not a safe name, or the function needs parameters.

    Example:
        >>> @variants
        ... def g_calls_f():
        ...     x = abstract((1024,), "float32")
        ...     return {"outer": Case(jax.jit(g), x), "inner": Case(g_with_jitted_f, x)}
    """

    def decorate(build: F) -> F:
        _VARIED.append(replace(_registration(build, name, ["cpu"]), budget=budget))
        return build

    return decorate if build is None else decorate(build)


@overload
def scenario(run: S, /) -> S: ...
@overload
def scenario(
    *, name: str | None = None, max_traces: Budget = None, max_programs: Budget = None, devices: int = 1
) -> Callable[[S], S]: ...
def scenario(
    run: S | None = None,
    /,
    *,
    name: str | None = None,
    max_traces: Budget = None,
    max_programs: Budget = None,
    devices: int = 1,
) -> S | Callable[[S], S]:
    """Register a function that makes several real calls; `hlodiff check` counts what they trace and compile.

    Args:
        run: the decorated function, without parameters. It runs in its own worker process, on cpu.
        name: the name of its folder below `snapshots`; the function's own name by default.
        max_traces: the most traces of a function: one number for every function, or a dict of function names and
            numbers, "total" for all together. `check` fails above it. A JAX operation that runs a function outside of
            `jax.jit` has JAX's name: `scan`, `while`, `cond`, `pure_callback`.
        max_programs: the most different programs, in the same form.
        devices: number of CPU devices of the scenario.

    Returns:
        the decorated function, unchanged.

    Raises:
        RegistryError: the name is not a safe folder name, the function has parameters, or a budget is not an integer.

    Example:
        >>> @scenario(max_traces={"step": 1})
        ... def three_steps():
        ...     for batch in batches:
        ...         step(model, batch)
    """

    def decorate(run: S) -> S:
        _SCENARIOS.append(_scenario(run, name, (max_traces, max_programs), devices))
        return run

    return decorate if run is None else decorate(run)


def registrations() -> tuple[Registration, ...]:
    """Every function registered so far, in order.

    Returns:
        one record for each name; a module that is imported again replaces its earlier records.

    Raises:
        RegistryError: two functions share a name, or their names differ only in case.

    Example:
        >>> [r.name for r in registrations()]  # doctest: +SKIP
        ['train_step']
    """
    return _latest(_REGISTERED)


def varied() -> tuple[Registration, ...]:
    """Every computation registered with `hlodiff.variants` so far, in order; see `registrations`."""
    return _latest(_VARIED)


def _latest(registered: Sequence[Registration]) -> tuple[Registration, ...]:
    latest: dict[str, Registration] = {}
    for new in registered:
        old = latest.get(new.name.lower())
        if old is not None and (old.name, old.where) != (new.name, new.where):
            raise _duplicate(old, new)
        latest[new.name.lower()] = new
    return tuple(latest.values())


def scenarios() -> tuple[Scenario, ...]:
    """Every scenario registered so far, in order.

    Returns:
        one record for each name; a module that is imported again replaces its earlier records.

    Raises:
        RegistryError: two scenarios, or a scenario and a function, have the same folder.

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
    """Remove every registered function, computation with variants and scenario, for tests and reloading.

    Example:
        >>> clear()
    """
    _REGISTERED.clear()
    _VARIED.clear()
    _SCENARIOS.clear()


def folder_name_problem(name: str) -> str:
    """Why a name is not valid for a snapshot folder.

    Args:
        name: the name of a function or case.

    Returns:
        the reason, or "" if it is valid.

    Example:
        >>> folder_name_problem("a/b")
        "only letters, digits, '_', '-' and '.' are allowed, and the first is not '.' or '-'"
    """
    if not _SAFE.fullmatch(name):
        return "only letters, digits, '_', '-' and '.' are allowed, and the first is not '.' or '-'"
    if name.endswith("."):
        return "a name cannot end in '.'"
    if _RESERVED.fullmatch(name):
        return "Windows reserves this name"
    return f"longer than {_LONGEST} characters" if len(name) > _LONGEST else ""


def _registration(build: Any, name: str | None, targets: Sequence[str] | None) -> Registration:
    if not callable(build):
        raise RegistryError(f"`register` decorates a function, not {build!r}", where=_caller())
    plain = inspect.unwrap(build)
    code = getattr(plain, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else _caller()
    name = getattr(build, "__name__", "") if name is None else name
    problem = folder_name_problem(name) if isinstance(name, str) else "a name is a string"
    if isinstance(name, str) and name.lower() == "pytest":
        problem = "this folder of the snapshots belongs to the pytest plugin"
    if problem:
        hint = '@hlodiff.register(name="a_safe_name")'
        raise RegistryError(f"{name!r} cannot be the name of a function: {problem}", where=where, hint=hint)
    if targets is not None and (
        isinstance(targets, str) or not targets or not all(isinstance(target, str) for target in targets)
    ):
        hint = 'targets=["cpu", "tpu-v5e-2x2"]'
        raise RegistryError(f"`targets` of `{name}` must be a list of names, not {targets!r}", where=where, hint=hint)
    checked = None if targets is None else tuple(dict.fromkeys(targets))
    parameters = _parameters(build)
    needed = _needed(parameters)
    if any(parameter != "target" for parameter in needed):
        raise RegistryError(
            f"`{name}` needs the parameters {', '.join(needed)}: a registered function has none, or only `target`",
            where=where,
            hint="decorate a function that returns hlodiff.Case(your_function, *its_arguments); "
            "a parameter that `grow` names needs a default",
        )
    file, _, line = where.rpartition(":")
    takes_target = any(parameter.name == "target" for parameter in parameters)
    return Registration(name, build, checked, str(getattr(build, "__module__", "")), file, int(line), takes_target)


def _parameters(fn: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # a few builtins have no signature; calling them raises the error
        return []


def _needed(parameters: list[inspect.Parameter]) -> list[str]:
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


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
    if needed := _needed(_parameters(run)):
        raise RegistryError(
            f"the scenario `{name}` needs the parameters {', '.join(needed)}: a scenario has none",
            where=where,
            hint="decorate a function that makes the calls with arguments of its own",
        )
    if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
        raise RegistryError(f"`devices` of `{name}` must be a whole number of at least 1", where=where)
    traces, programs = (
        _budget(name, key, value, where) for key, value in zip(("max_traces", "max_programs"), budgets, strict=True)
    )
    return Scenario(name, run, traces, programs, devices, str(getattr(run, "__module__", "")), file, line)


def _budget(name: str, key: str, value: Any, where: str) -> tuple[tuple[str, int], ...]:
    table = {} if value is None else dict(value) if isinstance(value, Mapping) else {"": value}
    for function, most in table.items():
        if not isinstance(function, str) or not isinstance(most, int) or isinstance(most, bool) or most < 0:
            what = f"`{key}` of `{name}` must be a whole number, or a dict of function names and whole numbers"
            raise RegistryError(what, where=where, hint=f'{key}={{"step": 1}}')
    return tuple(table.items())


def _caller() -> str:
    for frame in inspect.stack()[1:]:
        if frame.filename != __file__:
            return f"{frame.filename}:{frame.lineno}"
    return "?:0"


def _duplicate(old: Registration, new: Registration) -> RegistryError:
    same = "have the same name" if old.name == new.name else "differ only in upper and lower case"
    return RegistryError(
        f"the functions `{old.name}` ({old.where}) and `{new.name}` ({new.where}) {same}",
        where=new.where,
        hint='give one of them another: @hlodiff.register(name="...")',
    )
