"""Runs variants inside a worker: what each compiles, what one call of it launches, and the times of both."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlodiff.capture import facts, jax_private
from hlodiff.capture.cases import build_cases, options_of_jit
from hlodiff.capture.imports import one_line_at, relative
from hlodiff.capture.messages import Border, Executable, VariantRun, VariantsResult
from hlodiff.errors import HlodiffError, RegistryError
from hlodiff.registry import Case, varied
from hlodiff.tracing.observer import CompiledProgram, observing
from hlodiff.tracing.source_location import name_of


def vary(root: Path, name: str, calls: int) -> VariantsResult:
    """Run one computation in all its variants.

    Args:
        root: the folder that source locations are relative to.
        name: its registered name.
        calls: number of timed later calls.

    Returns:
        executables, launches and times of each variant.

    Raises:
        RegistryError: it returns something other than cases.
    """
    jax_private.exclude_frames(str(Path(__file__).parent))
    registration = next(each for each in varied() if each.name == name)
    jax.jit(lambda x: x + 1)(np.float32(1))  # so that no variant pays for starting XLA
    where = relative(registration.where, root)
    try:
        cases = build_cases(registration, None, root)
        for variant, case in cases.items():
            if given := options_of_jit(case):
                hint = "a variant is called as it is: give them to the jax.jit of the variants that have one"
                raise RegistryError(f"`{variant}` sets {', '.join(given)}", where=where, hint=hint)
    except HlodiffError:
        raise
    except BaseException as error:  # also SystemExit: the other computations still run
        return VariantsResult(name, (VariantRun(name, problem=one_line_at(error, root)),), (), jax.__version__, where)
    runs, inner = [], dict[tuple[str, str], None]()
    outermost = {name_of(case.fn) for case in cases.values()}
    for variant, case in cases.items():
        try:
            one, functions = _run(variant, case, calls, root)
        except BaseException as error:
            runs.append(VariantRun(variant, problem=one_line_at(error, root)))
            continue
        runs.append(one)
        inner.update(dict.fromkeys(function for function in functions if function[0] not in outermost))
    borders = tuple(Border(name.rpartition(".")[2], location) for name, location in inner if name and location)
    return VariantsResult(name, tuple(runs), borders, jax.__version__, where, registration.budget)


def _run(variant: str, case: Case, calls: int, root: Path) -> tuple[VariantRun, list[tuple[str, str]]]:
    """The run of a variant, and names and source locations of the functions that were traced or compiled."""
    arguments = _FreshArguments(case)
    jax.clear_caches()
    launched = _Launches()
    end = jax_private.count_launches(launched)
    try:
        args, kwargs = arguments.fresh()
        with observing(root=root) as seen:
            launched.on = True
            jax.block_until_ready(case.fn(*args, **kwargs))
            launched.on = False
        args, kwargs = arguments.fresh()
        launched.counts.clear()
        with observing(root=root) as second:
            launched.on = True
            jax.block_until_ready(case.fn(*args, **kwargs))
            launched.on = False
        executables = tuple(
            _executable(each, launched.counts) for each in (*seen.programs, *second.programs) if not each.failed
        )
    finally:
        end()
    first, later = _timed(case, arguments, calls)
    again, traced = len(second.programs), sum(trace.seconds for trace in seen.traces if not trace.within)
    ran = VariantRun(variant, executables, traced, len(seen.traces), first, later, again)
    called = [trace.call.function for trace in seen.traces]
    called += [program.function for program in seen.programs if program.function is not None]
    return ran, [(function.name, function.place) for function in called]


class _Launches:
    """Counts launches per executable while `on`."""

    def __init__(self) -> None:
        self.on = False
        self.counts: Counter[int] = Counter()

    def __call__(self, executable: Any) -> None:
        if self.on:
            self.counts[id(executable)] += 1


def _executable(program: CompiledProgram, launches: Counter[int]) -> Executable:
    cost = facts.cost_figures(program.executable.cost_analysis())
    if cost["bytes_accessed"] is not None:
        cost["flops"] = cost["flops"] or 0.0  # XLA omits zeros: `tanh` alone has transcendentals only
    return Executable(
        program.name,
        program.eager,
        program.stablehlo(),
        program.hlo(),
        launches[id(program.executable)],
        cost["bytes_accessed"],
        cost["flops"],
        sum(program.seconds.values()),
    )


def _timed(case: Case, arguments: _FreshArguments, calls: int) -> tuple[float, tuple[float, ...]]:
    """Seconds of the first call and of later ones on JAX's fast path, with no observer."""
    jax.clear_caches()
    seconds = []
    for _ in range(calls + 1):
        args, kwargs = arguments.fresh()
        start = time.perf_counter()
        jax.block_until_ready(case.fn(*args, **kwargs))
        seconds.append(time.perf_counter() - start)
    return seconds[0], tuple(seconds[1:])


class _FreshArguments:
    """The arguments of a case, new for every call, because a variant may donate them."""

    def __init__(self, case: Case) -> None:
        leaves, self._treedef = jax.tree_util.tree_flatten((case.args, case.kwargs))
        self._leaves: Sequence[Any] = [_numbers(leaf) for leaf in leaves]

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        leaves = [jax.device_put(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in self._leaves]
        args, kwargs = jax.block_until_ready(jax.tree_util.tree_unflatten(self._treedef, leaves))
        return args, kwargs


def _numbers(leaf: Any) -> Any:
    """NumPy arrays for arrays, ones for abstract arrays. Random keys stay: nobody donates them."""
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return np.ones(leaf.shape, leaf.dtype)
    if isinstance(leaf, jax.Array) and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        return np.asarray(leaf)
    return leaf
