"""Lowering one case at several sizes, inside a worker."""

from __future__ import annotations

from hlodiff.capture.cases import build_each_case, case_named, check_sizes, limits_of, registered
from hlodiff.capture.compile_case import Bench, cannot_open, refusal
from hlodiff.capture.devices import Target, TooFewDevices
from hlodiff.capture.imports import one_line, relative, user_frame, user_traceback
from hlodiff.capture.literals import compiled_text, named_tables
from hlodiff.capture.lowering import lower, trace
from hlodiff.capture.messages import (
    CaptureFailure,
    GrowthRequest,
    GrowthResult,
    LoweredProgram,
    NotChecked,
    SizedProgram,
)
from hlodiff.capture.targets import parse
from hlodiff.errors import HlodiffError
from hlodiff.registry import Case, Registration
from hlodiff.tracing.observer import forget_compiled


def capture_growth(bench: Bench, request: GrowthRequest) -> GrowthResult | NotChecked | CaptureFailure:
    """Lower one case at each of its sizes; errors become outcomes.

    Args:
        bench: the state of the worker.
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
        registration = registered(request.function)
        case = _case(bench, registration, request, target, {})
        parameters = []
        if request.sizes:
            check_sizes(registration, dict(request.sizes), relative(registration.where, bench.root))
        for parameter, sizes in request.sizes or case.grow.items():
            programs = []
            for size in sizes:
                at = f"at {parameter}={size}: "
                case = _case(bench, registration, request, target, {parameter: size})
                forget_compiled()
                lowered = lower(trace(case, target.devices[0]), target.devices[0])
                compiled = compiled_text(lowered.compile(), lowered) if request.compile else ""
                programs.append(LoweredProgram(size, lowered.as_text(debug_info=True), compiled))
            tables = named_tables(case, lambda location: relative(location, bench.root))
            parameters.append(SizedProgram(parameter, tuple(programs), tables))
        return GrowthResult(*where, tuple(parameters), limits_of(case))
    except TooFewDevices as error:
        return NotChecked(*where, at + str(error), "")
    except HlodiffError as error:
        return CaptureFailure(*where, at + error.render(), "")
    except Exception as error:
        if refused := refusal(name, error):
            return NotChecked(*where, at + refused[0], refused[1])
        location = user_frame(error, bench.root)
        what = f"{at}{location}: {one_line(error)}" if location else at + one_line(error)
        return CaptureFailure(*where, what, user_traceback(error, bench.root))


def _case(
    bench: Bench, registration: Registration, request: GrowthRequest, target: Target, sizes: dict[str, int]
) -> Case:
    cases = build_each_case(registration, target, bench.root, sizes)
    hint = "the names of cases stay the same at every size"
    return case_named(cases, request.case, registration, bench.root, hint)
