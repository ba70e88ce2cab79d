"""Running a case for real inside a worker, and lowering what it compiled ahead of time."""

from __future__ import annotations

import faulthandler
from dataclasses import dataclass, field, replace
from typing import Any

import jax
from jax.tree_util import tree_map

from hlodiff.capture import private
from hlodiff.capture.cases import build_cases
from hlodiff.capture.compiled_programs import Program
from hlodiff.capture.concrete import concrete
from hlodiff.capture.devices import Target, TooFewDevices
from hlodiff.capture.imports import one_line, relative, user_frame, user_traceback
from hlodiff.capture.leaves import without_numbers
from hlodiff.capture.literals import compiled_text
from hlodiff.capture.lowering import is_plain, jitted
from hlodiff.capture.observing import observing
from hlodiff.capture.outcomes import Failed, NotChecked
from hlodiff.capture.parity_outcomes import Called, CalledProgram, ParityRequest
from hlodiff.capture.places import defined
from hlodiff.capture.program import Bench
from hlodiff.capture.refusals import cannot_open, refusal
from hlodiff.capture.targets import parse
from hlodiff.errors import HlodiffError
from hlodiff.registry import Case, registrations


def capture_call(bench: Bench, request: ParityRequest) -> Called | NotChecked | Failed:
    """Run one case and lower each program that the call compiled ahead of time too.

    Args:
        bench: what the worker keeps.
        request: which case.

    Returns:
        both forms of each program, or why there are none.

    Example:
        >>> capture_call(bench, ParityRequest("f", "", "cpu")).programs[0].name  # doctest: +SKIP
        'step'
    """
    where = (request.function, request.case, request.target)
    opened: list[Target] = []
    for name in (request.target, *([request.compile_for] if request.compile_for else [])):
        try:
            opened.append(bench.target(parse(name)))
        except Exception as error:
            return NotChecked(*where, *cannot_open(parse(name), error))
    try:
        return _called(bench, request, opened[0], opened[1] if len(opened) > 1 else None)
    except TooFewDevices as error:
        return NotChecked(*where, str(error), "")
    except HlodiffError as error:
        return Failed(*where, str(error), "")
    except Exception as error:
        refused = refusal(parse(request.compile_for or request.target), error)
        if refused:
            return NotChecked(*where, *refused)
        place = user_frame(error, bench.root)
        said = f"{place}: {one_line(error)}" if place else one_line(error)
        what = f"the call fails: {said}; abstract arguments were filled with ones and zeros, real ones can be given"
        return Failed(*where, what, user_traceback(error, bench.root))


def _called(bench: Bench, request: ParityRequest, target: Target, other: Target | None) -> Called:
    where = (request.function, request.case, request.target)
    case = _case(bench, request, target)
    seen = _run(bench, case.fn, _arguments(case, target), other) if is_plain_call(case) else _Seen(other)
    jitted_here = not seen.programs and is_plain(case)
    if jitted_here:
        fn, args, kwargs = jitted(case, lambda tree: concrete(tree, target.devices[0]))
        seen = _run(bench, fn, (args, kwargs), other)
    programs = [_compared(one) for one in seen.programs]
    if jitted_here:
        programs = [replace(one, place=defined(case.fn, str(bench.root))) for one in programs]
    return Called(*where, tuple(programs), tuple(seen.eager), jitted_here)


def is_plain_call(case: Case) -> bool:
    """Whether a real call is just `fn(*args)`: nothing is said to the case that only a jit can do."""
    options = (case.donate, case.static_argnums, case.static_argnames, case.in_shardings, case.out_shardings)
    return all(option in (None, ()) for option in options)


def _case(bench: Bench, request: ParityRequest, target: Target) -> Case:
    found = next((r for r in registrations() if r.name == request.function), None)
    if found is None:
        raise HlodiffError(f"no function is registered as `{request.function}`", hint="hlodiff list")
    cases = build_cases(found, target, bench.root)
    if request.case not in cases:
        raise HlodiffError(
            f"`{request.function}` has no case `{request.case}`", where=relative(found.where, bench.root)
        )
    return cases[request.case]


def _arguments(case: Case, target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    device = target.devices[0]
    return concrete(case.args, device), concrete(case.kwargs, device)


LONGEST = 600.0
"""Seconds after which a call is ended, with all that it compiles."""


@dataclass(slots=True)
class _Lowering:
    """A program as it was called, with what it takes to lower it again."""

    program: Program
    call: tuple[Any, Any, tuple[Any, ...], dict[str, Any]] | None  # None: it is part of a jax.grad or jax.vmap
    context: dict[str, str]
    other: Target | None
    compiled: str = ""


@dataclass(slots=True)
class _Seen:
    """What one run compiled."""

    other: Target | None
    programs: list[_Lowering] = field(default_factory=list)
    eager: list[str] = field(default_factory=list)
    busy: bool = False


def _run(bench: Bench, fn: Any, arguments: tuple[Any, Any], other: Target | None) -> _Seen:
    """Call a function with JAX's caches empty, so that everything it needs is compiled."""
    seen = _Seen(other)
    args, kwargs = arguments
    jax.block_until_ready((args, kwargs))
    jax.clear_caches()
    # A loop that waits for numbers which made up ones never give would go on for ever; nobody can interrupt XLA.
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    try:
        with observing(lambda event: _note(seen, event), keep=False, executables=False, root=bench.root):
            result = fn(*args, **kwargs)
        jax.block_until_ready([leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)])
    finally:
        faulthandler.cancel_dump_traceback_later()
    return seen


def _note(seen: _Seen, event: Any) -> None:
    """In the middle of the call: what stands around it stands around this too."""
    if seen.busy or not isinstance(event, Program):
        return
    call = private.call_in_progress()
    if event.eager or call is None:
        seen.eager.append(event.name.removeprefix("jit_"))
        return
    event.stablehlo()
    one = _Lowering(event, _abstract(call), _context(), seen.other)
    seen.programs.append(one)
    if seen.other is not None and one.call is not None:
        seen.busy = True
        try:
            one.compiled = _compiled(one, seen.other)
        finally:
            seen.busy = False


def _abstract(call: tuple[Any, Any, tuple[Any, ...], dict[str, Any]]) -> Any:
    """The call without its numbers, which may be overwritten by it; None where a derivative of it is called."""
    fun, info, args, kwargs = call
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, kwargs))):
        return None
    leaf = next((leaf for leaf in jax.tree.leaves((args, kwargs)) if isinstance(leaf, jax.Array)), None)
    device = next(iter(leaf.devices())) if leaf is not None else jax.devices()[0]
    args, kwargs = tree_map(lambda one: without_numbers(one, device), (args, kwargs))
    return fun, info, args, kwargs


def _context() -> dict[str, str]:
    names = (
        "jax_default_matmul_precision",
        "jax_enable_x64",
        "jax_numpy_dtype_promotion",
        "jax_threefry_partitionable",
    )
    return {name: str(getattr(jax.config, name, "")) for name in names} | private.surroundings()


_TRANSFORMED = "it is a part of a jax.grad or jax.vmap that ran outside of every jitted function: jit the whole of that"


def _compared(one: _Lowering) -> CalledProgram:
    """The same function with the same arguments, lowered with nothing around it."""
    program, function = one.program, one.program.function
    outside = _context()
    context = tuple((name, value) for name, value in one.context.items() if value != outside.get(name))
    ahead, problem, compiled = "", "", ""
    try:
        if one.call is None:
            raise HlodiffError(_TRANSFORMED)
        ahead = private.lowered_again(*one.call).as_text(debug_info=True)
        if one.other is not None:
            compiled = _compiled(one, one.other)
    except HlodiffError as error:
        problem = error.what
    except Exception as error:
        problem = one_line(error)
    return CalledProgram(
        function.name if function else program.name,
        function.place if function else "",
        program.call.place if program.call else "",
        program.stablehlo(),
        ahead,
        problem,
        context,
        one.compiled,
        compiled,
    )


def _compiled(one: _Lowering, target: Target) -> str:
    """The program for a target that need not be here, in whatever stands around."""
    if one.call is None:
        return ""
    with jax.default_device(target.devices[0]):
        return compiled_text(private.lowered_again(*one.call).compile())
