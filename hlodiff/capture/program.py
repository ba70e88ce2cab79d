"""Capturing one program inside a worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from hlodiff.capture import facts, private
from hlodiff.capture.cases import build_cases
from hlodiff.capture.devices import Target, TooFewDevices, open_target
from hlodiff.capture.imports import one_line, relative, user_frame, user_traceback
from hlodiff.capture.literals import compiled_text
from hlodiff.capture.lowering import Traced, trace
from hlodiff.capture.memory import dropped_kinds, ignored_kinds
from hlodiff.capture.outcomes import Captured, Failed, NotChecked, Outcome, Request
from hlodiff.capture.refusals import cannot_open, refusal
from hlodiff.capture.targets import TargetName, parse
from hlodiff.errors import HlodiffError
from hlodiff.normalize.literals import Constants
from hlodiff.registry import Case, Registration, registrations


class Bench:
    """What a worker keeps between programs: opened targets, and the cases of the last function.

    Args:
        root: the folder that errors tell files relative to.
        environment: the worker's environment variables, which go into the toolchain.
        large_constants: how the stored StableHLO was normalized.
    """

    def __init__(self, root: Path, environment: dict[str, str], large_constants: Constants = "hash") -> None:
        private.leave_out_frames(str(Path(__file__).parent))
        self.root = root
        self.environment = environment
        self.large_constants = large_constants
        self._targets: dict[str, Target] = {}
        self._last: tuple[tuple[str, str], dict[str, Case]] | None = None

    def target(self, name: TargetName) -> Target:
        """The opened target; opening takes libtpu half a second."""
        if name.name not in self._targets:
            self._targets[name.name] = open_target(name)
        return self._targets[name.name]

    def cases(self, registration: Registration, target: Target) -> dict[str, Case]:
        """The cases of a function; those of the function before are let go, as they may hold large arrays."""
        key = (registration.name, target.name)
        if self._last is None or self._last[0] != key:
            self._last = None
            self._last = (key, build_cases(registration, target, self.root))
        return self._last[1]


def capture_program(bench: Bench, request: Request) -> Outcome:
    """Trace, lower and compile one program; what goes wrong becomes an outcome.

    Args:
        bench: what the worker keeps.
        request: which program.

    Returns:
        the program, or why there is none.

    Example:
        >>> capture_program(bench, Request("f", "", "cpu")).compiled[:9]  # doctest: +SKIP
        'HloModule'
    """
    return capture_with(bench, request, lambda target, keep: find_case(bench, request, target, keep))


def capture_with(bench: Bench, request: Request, find: Callable[[Target, bool], Case]) -> Outcome:
    """The same for a case that need not be registered.

    Args:
        bench: what the process keeps.
        request: what the program is called, and its target.
        find: gives the case for a target; the second argument says whether it stays for the next request.

    Returns:
        the program, or why there is none.
    """
    name = parse(request.target)
    where = (request.function, request.case, request.target)
    try:
        target = bench.target(name)
    except Exception as error:
        return NotChecked(*where, *cannot_open(name, error))
    try:
        case = find(target, True)
        traced = trace(case, target.devices[0])
        dropped = dropped_kinds(case, traced.traced.jaxpr, target, lambda other: find(other, False))
    except TooFewDevices as error:
        return NotChecked(*where, str(error), "use a larger target, or @hlodiff.register(targets=[...]) without it")
    except HlodiffError as error:
        return Failed(*where, str(error), "")
    except Exception as error:
        return _failed(bench, request, error)
    return NotChecked(*where, *dropped) if dropped else _compile(bench, request, name, target, traced)


def find_case(bench: Bench, request: Request, target: Target, keep: bool = True) -> Case:
    """The case that a request names; `keep` says whether it stays for the next request."""
    registration = next((r for r in registrations() if r.name == request.function), None)
    if registration is None:
        raise HlodiffError(f"no function is registered as `{request.function}`", hint="hlodiff list")
    cases = bench.cases(registration, target) if keep else build_cases(registration, target, bench.root)
    if request.case not in cases:
        found = ", ".join(f"`{name}`" for name in cases)
        place = relative(registration.where, bench.root)
        raise HlodiffError(f"`{request.function}` has no case `{request.case}`, only {found}", where=place)
    return cases[request.case]


def _failed(bench: Bench, request: Request, error: BaseException) -> Failed:
    place = user_frame(error, bench.root)
    what = f"{place}: {one_line(error)}" if place else one_line(error)
    registration = next((r for r in registrations() if r.name == request.function), None)
    # What one line does to many functions reads the same in all of them, so that it is told once.
    if registration is not None and not place:
        what += f" (`{request.function}` is registered at {relative(registration.where, bench.root)})"
    return Failed(request.function, request.case, request.target, what, user_traceback(error, bench.root))


def _compile(bench: Bench, request: Request, name: TargetName, target: Target, traced: Traced) -> Outcome:
    where = (request.function, request.case, request.target)
    try:
        start = time.perf_counter()
        # An argument that names no device stays without one, as in a real call with arrays that are nowhere in
        # particular. Given a sharding on one device instead, StableHLO would hold annotations that no call has.
        with jax.default_device(target.devices[0]):
            lowered = traced.traced.lower()
        lowering = time.perf_counter() - start
        _check_devices(lowered, target)
        stablehlo = lowered.as_text(debug_info=True)
        toolchain = facts.toolchain(name, bench.environment)
        known = _facts(traced, lowered, stablehlo, toolchain)
        seconds = {"trace": traced.seconds, "lower": lowering}
        if _is_known(request, stablehlo, toolchain, bench.large_constants):
            return Captured(*where, stablehlo, None, known, seconds, unchanged=True)
        if ignored := ignored_kinds(stablehlo, target):
            return NotChecked(*where, *ignored)
        if request.lower_only:
            return Captured(*where, stablehlo, None, known, seconds)
        start = time.perf_counter()
        compiled = lowered.compile()
        seconds["compile"] = time.perf_counter() - start
        known |= {"memory": facts.memory(compiled), "cost": facts.cost(compiled)}
        return Captured(*where, stablehlo, compiled_text(compiled), known, seconds)
    except HlodiffError as error:
        return Failed(*where, str(error), "")
    except Exception as error:
        refused = refusal(name, error)
        return NotChecked(*where, *refused) if refused else _failed(bench, request, error)


def _check_devices(lowered: Any, target: Target) -> None:
    """A function that builds a mesh from `jax.devices()` would be compiled for this CPU instead."""
    for device in private.devices(lowered):
        if device.platform != target.devices[0].platform:
            raise HlodiffError(
                f"the function uses {device.platform} devices of its own, not those of `{target.name}`",
                hint="take the parameter `target` in the registered function, and build the mesh with target.mesh(...)",
            )


def _facts(traced: Traced, lowered: Any, stablehlo: str, toolchain: dict[str, Any]) -> dict[str, Any]:
    return {
        "toolchain": toolchain,
        "arguments": facts.arguments(traced.traced, lowered, traced.names),
        "results": facts.results(lowered),
        "devices": facts.partitions(stablehlo),
        "memory": {},
        "cost": {},
    }


def _is_known(request: Request, stablehlo: str, toolchain: dict[str, Any], large_constants: Constants) -> bool:
    if not request.known_stablehlo or request.known_toolchain != toolchain:
        return False
    from hlodiff.ir.content import fingerprint
    from hlodiff.ir.stablehlo_reader import read_stablehlo
    from hlodiff.normalize import normalize

    return fingerprint(normalize(read_stablehlo(stablehlo), large_constants=large_constants)) == request.known_stablehlo
