"""Runs a case inside a worker, and also lowers the functions that it compiled ahead of time."""

from __future__ import annotations

import contextlib
import faulthandler
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from jax.tree_util import tree_map

from hlodiff.capture import jax_private
from hlodiff.capture.arguments import concrete, without_numbers
from hlodiff.capture.cases import build_each_case, case_named, options_of_jit, registered
from hlodiff.capture.compile_case import Bench, cannot_open, refusal
from hlodiff.capture.devices import Target, TooFewDevices
from hlodiff.capture.imports import message, one_line, one_line_at, user_traceback
from hlodiff.capture.literals import compiled_text
from hlodiff.capture.lowering import is_plain, jitted
from hlodiff.capture.messages import LONGEST_CALL, CalledProgram, CallResult, CaptureFailure, NotChecked, ParityRequest
from hlodiff.capture.targets import parse_target
from hlodiff.errors import HlodiffError
from hlodiff.registry import Case
from hlodiff.tracing.observer import CompiledProgram, call_context, forget_compiled, observing
from hlodiff.tracing.source_location import defined


def capture_call(bench: Bench, request: ParityRequest) -> CallResult | NotChecked | CaptureFailure:
    """Run one case, and lower each program that the call compiled ahead of time too.

    Args:
        bench: the state of the worker.
        request: the case to run.

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
            opened.append(bench.target(parse_target(name)))
        except Exception as error:
            return NotChecked(*where, *cannot_open(parse_target(name), error))
    try:
        return _called(bench, request, opened[0], opened[1] if len(opened) > 1 else None)
    except TooFewDevices as error:
        return NotChecked(*where, str(error), "")
    except HlodiffError as error:
        return CaptureFailure(*where, error.render(), "")
    except _FailsUnderJit as failed:
        raised = one_line_at(failed.error, bench.root)
        what = f"the call works, and fails inside of jax.jit, which a capture needs: {raised}"
        return CaptureFailure(*where, what, user_traceback(failed.error, bench.root))
    except Exception as error:
        refused = refusal(parse_target(request.compile_for or request.target), error)
        if refused:
            return NotChecked(*where, *refused)
        what = f"the call fails: {one_line_at(error, bench.root)}"
        what += "; abstract arguments were filled with ones and zeros, real ones can be given"
        return CaptureFailure(*where, what, user_traceback(error, bench.root))


class _FailsUnderJit(Exception):
    """A plain function that ran but cannot be jitted."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _called(bench: Bench, request: ParityRequest, target: Target, other: Target | None) -> CallResult:
    where = (request.function, request.case, request.target)
    found = registered(request.function)
    case = case_named(build_each_case(found, target, bench.root), request.case, found, bench.root)
    is_plain_call = not options_of_jit(case)  # a real call is just `fn(*args)`
    seen = _run(bench, case.fn, _arguments(case, target), other) if is_plain_call else _CompiledInRun(other)
    jitted_here = not seen.programs and is_plain(case) and not isinstance(case.fn, jax.stages.Compiled)
    if jitted_here:
        fn, args, kwargs = jitted(case, lambda tree: concrete(tree, target.devices[0]))
        try:
            seen = _run(bench, fn, (args, kwargs), other)
        except Exception as error:
            if not (isinstance(error, TypeError) and _COMPILED_OBJECT in message(error)):
                raise _FailsUnderJit(error) if is_plain_call else error from None
            jitted_here = False  # it calls an object made by `.lower().compile()`, which runs either way
    programs = [_compared(one) for one in seen.programs]
    if not jitted_here and any(_differs(one) for one in programs):
        numbers = _numbers(bench, case, target, {n for n, one in enumerate(programs) if _differs(one)})
        programs = [replace(one, numbers=numbers.get(n, "")) for n, one in enumerate(programs)]
    if jitted_here:
        programs = [replace(one, place=defined(case.fn, str(bench.root))) for one in programs]
    return CallResult(*where, tuple(programs), tuple(seen.eager), jitted_here)


def _arguments(case: Case, target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    device = target.devices[0]
    return concrete(case.args, device), concrete(case.kwargs, device)


_COMPILED_OBJECT = "Cannot apply JAX transformations to a function lowered and compiled"  # JAX's message


def _differs(one: CalledProgram) -> bool:
    from hlodiff.hlo.mlir import without_locations

    return bool(one.called and one.ahead) and without_locations(one.called) != without_locations(one.ahead)


def _numbers(bench: Bench, case: Case, target: Target, wanted: set[int]) -> dict[int, str]:
    """Whether both ways give the same numbers: call once more, and pass the same arguments to both programs.

    Returns:
        one sentence per requested program; none if the comparison is impossible.
    """
    kept: dict[int, tuple[Any, Any, Any]] = {}
    number, busy = -1, False

    def note(event: Any) -> None:
        nonlocal number, busy
        if busy or not isinstance(event, CompiledProgram) or event.failed or event.eager:
            return
        call = jax_private.call_in_progress()
        number += call is not None
        if call is None or number not in wanted:
            return
        busy = True
        try:
            given = tree_map(lambda leaf: np.array(leaf) if isinstance(leaf, jax.Array) else leaf, call[2:])
            abstract = _abstract(call)
            kept[number] = abstract, given, jax_private.lowered_again(*abstract)
        except Exception:  # for example, keys are not numbers
            return
        finally:
            busy = False

    args, kwargs = _arguments(case, target)
    forget_compiled()
    with observing(note, keep=False, executables=False, root=bench.root):
        jax.block_until_ready(jax.tree.leaves(case.fn(*args, **kwargs)))
    found = {}
    for index, (call, given, lowered) in kept.items():
        with contextlib.suppress(Exception):
            ahead = jax_private.lowered_again(*call).compile()
            old, new = (_result(program, call[1], given) for program in (lowered.compile(), ahead))
            found[index] = _same_numbers(jax.tree.leaves(old), jax.tree.leaves(new))
    return found


def _result(program: Any, info: Any, given: Any) -> Any:
    """The result of a compiled program for copies of the arguments, without static ones."""
    options = jax_private.jit_options(info)
    args, kwargs = given
    static = {number % len(args) for number in options["static_argnums"] if args}
    names = options["static_argnames"]
    positional = tuple(value for index, value in enumerate(args) if index not in static)
    return program(*positional, **{name: value for name, value in kwargs.items() if name not in names})


def _same_numbers(old: list[Any], new: list[Any]) -> str:
    largest = 0.0
    for one, other in zip(old, new, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return "with these arguments the results differ in shape or type"
        before, after = (np.asarray(value).astype(np.complex128) for value in (one, other))
        if not np.array_equal(before, after, equal_nan=True):
            largest = max(largest, float(np.nanmax(np.abs(before - after), initial=0.0)))
            largest = largest or float("nan")
    if largest:
        return f"with these arguments the numbers differ, by up to {largest:.6g}"
    return "with these arguments the numbers are the same"


@dataclass(slots=True)
class _Lowering:
    """A program as it was called, and the data needed to lower it again."""

    program: CompiledProgram
    call: tuple[Any, Any, tuple[Any, ...], dict[str, Any]] | None  # None: it is part of a jax.grad or jax.vmap
    context: dict[str, str]
    other: Target | None
    compiled: str = ""


@dataclass(slots=True)
class _CompiledInRun:
    """The programs that one run compiled."""

    other: Target | None
    programs: list[_Lowering] = field(default_factory=list)
    eager: list[str] = field(default_factory=list)
    busy: bool = False


def _run(bench: Bench, fn: Any, arguments: tuple[Any, Any], other: Target | None) -> _CompiledInRun:
    """Call a function with empty JAX caches, so that everything it needs is compiled."""
    seen = _CompiledInRun(other)
    args, kwargs = arguments
    jax.block_until_ready((args, kwargs))
    forget_compiled()
    # With placeholder values a `while_loop` may never end, and XLA cannot be interrupted.
    faulthandler.dump_traceback_later(LONGEST_CALL, exit=True)
    try:
        with observing(lambda event: _note(seen, event), keep=False, executables=False, root=bench.root):
            result = fn(*args, **kwargs)
        jax.block_until_ready([leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)])
    finally:
        faulthandler.cancel_dump_traceback_later()
    return seen


def _note(seen: _CompiledInRun, event: Any) -> None:
    """Runs inside the call, so it sees the same configuration and meshes as the call."""
    if seen.busy or not isinstance(event, CompiledProgram) or event.failed:
        return
    call = jax_private.call_in_progress()
    if event.eager or call is None:
        seen.eager.append(event.name.removeprefix("jit_"))
        return
    event.stablehlo()
    one = _Lowering(event, _abstract(call), call_context(), seen.other)
    seen.programs.append(one)
    if seen.other is not None and one.call is not None:
        seen.busy = True
        try:
            one.compiled = _compiled(one, seen.other)
        finally:
            seen.busy = False


def _abstract(call: tuple[Any, Any, tuple[Any, ...], dict[str, Any]]) -> Any:
    """The call with abstract arguments, since it may overwrite the arrays; None under `jax.grad` or `jax.vmap`."""
    fun, info, args, kwargs = call
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, kwargs))):
        return None
    leaf = next((leaf for leaf in jax.tree.leaves((args, kwargs)) if isinstance(leaf, jax.Array)), None)
    device = next(iter(leaf.devices())) if leaf is not None else jax.devices()[0]
    args, kwargs = tree_map(lambda one: without_numbers(one, device), (args, kwargs))
    return fun, info, args, kwargs


_TRANSFORMED = "it is a part of a jax.grad or jax.vmap that ran outside of every jitted function: jit the whole of that"


def _compared(one: _Lowering) -> CalledProgram:
    """The same function and arguments, lowered outside any context."""
    program, function = one.program, one.program.function
    outside = call_context()
    context = tuple((name, value) for name, value in one.context.items() if value != outside.get(name))
    ahead, problem, compiled = "", "", ""
    try:
        if one.call is None:
            raise HlodiffError(_TRANSFORMED)
        ahead = jax_private.lowered_again(*one.call).as_text(debug_info=True)
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
    """The program compiled for a target that need not be attached, in the current context."""
    if one.call is None:
        return ""
    call = one.call
    lowered = jax_private.lowered_for(target.devices[0], lambda: jax_private.lowered_again(*call))
    return compiled_text(lowered.compile(), lowered)
