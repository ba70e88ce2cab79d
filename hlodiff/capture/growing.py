"""Lowering one case at several sizes inside a worker."""

from __future__ import annotations

import jax

from hlodiff.capture.cases import build_cases
from hlodiff.capture.closures import named_tables
from hlodiff.capture.devices import Target, TooFewDevices
from hlodiff.capture.growth_options import check_sizes, limits_of
from hlodiff.capture.growth_outcomes import Grown, GrowthRequest, Lowered, Sized
from hlodiff.capture.imports import one_line, relative, user_frame, user_traceback
from hlodiff.capture.literals import compiled_text
from hlodiff.capture.lowering import trace
from hlodiff.capture.outcomes import Failed, NotChecked
from hlodiff.capture.program import Bench
from hlodiff.capture.refusals import cannot_open, refusal
from hlodiff.capture.targets import parse
from hlodiff.errors import HlodiffError
from hlodiff.registry import Case, Registration, registrations


def capture_growth(bench: Bench, request: GrowthRequest) -> Grown | NotChecked | Failed:
    """Lower one case at each of its sizes; what goes wrong becomes an outcome.

    Args:
        bench: what the worker keeps.
        request: which case.

    Returns:
        the programs, or why there are none.

    Example:
        >>> capture_growth(bench, GrowthRequest("f", "", "cpu")).parameters[0].parameter  # doctest: +SKIP
        'length'
    """
    name = parse(request.target)
    where = (request.function, request.case, request.target)
    try:
        target = bench.target(name)
    except Exception as error:
        return NotChecked(*where, *cannot_open(name, error))
    at = ""
    try:
        registration = _registered(request)
        case = _case(bench, registration, request, target, {})
        parameters = []
        if request.sizes:
            check_sizes(registration, dict(request.sizes), relative(registration.where, bench.root))
        for parameter, sizes in request.sizes or case.grow.items():
            programs = []
            for size in sizes:
                at = f"at {parameter}={size}: "
                case = _case(bench, registration, request, target, {parameter: size})
                programs.append(_lowered(case, target, size, request.compile))
            tables = named_tables(case, lambda place: relative(place, bench.root))
            parameters.append(Sized(parameter, tuple(programs), tables))
        return Grown(*where, tuple(parameters), limits_of(case))
    except TooFewDevices as error:
        return NotChecked(*where, at + str(error), "")
    except HlodiffError as error:
        return Failed(*where, at + str(error), "")
    except Exception as error:
        refused = refusal(name, error)
        if refused:
            return NotChecked(*where, at + refused[0], refused[1])
        place = user_frame(error, bench.root)
        what = f"{at}{place}: {one_line(error)}" if place else at + one_line(error)
        return Failed(*where, what, user_traceback(error, bench.root))


def _registered(request: GrowthRequest) -> Registration:
    found = next((r for r in registrations() if r.name == request.function), None)
    if found is None:
        raise HlodiffError(f"no function is registered as `{request.function}`", hint="hlodiff list")
    return found


def _case(
    bench: Bench, registration: Registration, request: GrowthRequest, target: Target, sizes: dict[str, int]
) -> Case:
    cases = build_cases(registration, target, bench.root, sizes)
    if request.case not in cases:
        found = ", ".join(f"`{name}`" for name in cases)
        place = relative(registration.where, bench.root)
        hint = "the names of cases stay the same at every size"
        raise HlodiffError(f"`{request.function}` has no case `{request.case}`, only {found}", where=place, hint=hint)
    return cases[request.case]


def _lowered(case: Case, target: Target, size: int, compile_too: bool) -> Lowered:
    # What was traced before decides how often inner functions are printed, and with the lines of which call.
    jax.clear_caches()
    traced = trace(case, target.devices[0])
    with jax.default_device(target.devices[0]):
        lowered = traced.traced.lower()
    compiled = compiled_text(lowered.compile()) if compile_too else ""
    return Lowered(size, lowered.as_text(debug_info=True), compiled)
