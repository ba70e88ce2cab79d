"""Running one computation jitted in several ways: the records, and asking a worker for them.

This is the parent's side; `hlodiff.capture.variants_worker` is what runs in the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import cast

from hlodiff.capture.availability import check_jax
from hlodiff.capture.environment import Setting
from hlodiff.capture.pool import WorkerDeath, WorkerPool
from hlodiff.config import Config, closest
from hlodiff.errors import UsageError


@dataclass(frozen=True, slots=True)
class Executable:
    """One executable of a variant.

    Args:
        name: JAX's name of it, such as `jit_g`.
        eager: whether it is one of JAX's own operations, run by itself.
        stablehlo, compiled: its texts.
        launches: how often one later call runs it.
        bytes_accessed, flops: of one run, by XLA's estimate; None where it gives none.
        seconds: what lowering and compiling it took.

    Example:
        >>> Executable("jit_add", True, "", "", 2, 8.0, 1.0, 0.01).launches
        2
    """

    name: str
    eager: bool
    stablehlo: str
    compiled: str
    launches: int
    bytes_accessed: float | None
    flops: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Border:
    """A function that is jitted or called inside another; kernels may be fused across the border between the two.

    Args:
        name: its name.
        place: `file:line` of its definition.

    Example:
        >>> Border("f", "model.py:12").file
        'model.py'
    """

    name: str
    place: str

    @property
    def file(self) -> str:
        return self.place.rpartition(":")[0]


@dataclass(frozen=True, slots=True)
class VariantRun:
    """One variant, called for real.

    Args:
        name: its name.
        executables: everything that was compiled for it, in order.
        traced: seconds of tracing.
        traces: how often Python code was traced, inner functions included.
        first: seconds of the first call, in a process that has compiled other things before.
        later: seconds of calls after it.
        again: executables that the second call compiled again; normally none.
        problem: why it could not be run.

    Example:
        >>> VariantRun("outer", (), 0.0, 1, 0.1, (0.001,), 0).problem
        ''
    """

    name: str
    executables: tuple[Executable, ...] = ()
    traced: float = 0.0
    traces: int = 0
    first: float = 0.0
    later: tuple[float, ...] = ()
    again: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class VariantsResult:
    """One computation in all its variants.

    Args:
        name: what it is registered as.
        variants: in the order in which they are registered.
        borders: the inner functions.
        jax: its version.
        where: where it is registered.
        budget: limits of the variants, as they were written; None where nothing is limited.

    Example:
        >>> VariantsResult("g_calls_f", (), (), "0.10.2").variants
        ()
    """

    name: str
    variants: tuple[VariantRun, ...]
    borders: tuple[Border, ...]
    jax: str
    where: str = ""
    budget: Mapping[str, object] | None = None


def run_variants(
    config: Config, patterns: tuple[str, ...], calls: int, on_name: Callable[[str], None]
) -> tuple[VariantsResult, ...]:
    """Run what `@hlodiff.variants` registers, on cpu, in a worker process.

    Args:
        config: names the modules.
        patterns: names of computations, with wildcards; all where empty.
        calls: how many later calls are timed.
        on_name: called with the name of each computation before it runs.

    Returns:
        one record for each, in the order of registration.

    Raises:
        UsageError: a pattern matches nothing, or nothing is registered.
        HlodiffError: modules cannot be imported, or something is registered wrongly.

    Example:
        >>> run_variants(config, (), 20, print)  # doctest: +SKIP
    """
    check_jax()
    setting = Setting(False, 1)
    with WorkerPool(config) as pool:
        pool.start_ready(setting, "capture")
        names = _select(cast("tuple[str, ...]", pool.ask(setting, "variants", None)), patterns)
        found = []
        for name in names:
            on_name(name)
            try:
                found.append(cast(VariantsResult, pool.ask(setting, "vary", (name, calls))))
            except WorkerDeath as death:  # the others are run in a new worker
                found.append(
                    VariantsResult(name, (VariantRun(name, problem=death.describe(name)),), (), version("jax"))
                )
        return tuple(found)


def _select(names: tuple[str, ...], patterns: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        hint = 'decorate one that returns {"inner": hlodiff.Case(f, x), "outer": hlodiff.Case(jax.jit(f), x)}'
        raise UsageError("no function uses @hlodiff.variants", hint=hint)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            near = closest(pattern, names)
            hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(names)}"
            raise UsageError(f"nothing matches `{pattern}` in variants", hint=hint)
    return tuple(name for name in names if not patterns or any(fnmatchcase(name, each) for each in patterns))
