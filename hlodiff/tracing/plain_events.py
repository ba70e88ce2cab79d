"""Observed events as plain records that can leave the process: programs become fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hlodiff.errors import HlodiffError
from hlodiff.hlo.model import Computation, Module
from hlodiff.tracing.observer import CompiledProgram
from hlodiff.tracing.records import Compilation, Trace


def fingerprint_of(program: CompiledProgram) -> str:
    """The fingerprint of a program's normalized StableHLO: equal for two compiles of the same program.

    For a single eager operation, of which there may be many, and for a program that cannot be read, it is a hash of the
    text. Conversions to the type that a value already has are dropped first: JAX writes them for weakly typed
    arguments, and XLA removes them at once.
    """
    from hlodiff.hlo.fingerprint import fingerprint
    from hlodiff.hlo.stablehlo_parser import read_stablehlo
    from hlodiff.normalizer import normalize

    if program.function is None:
        return program.digest()
    try:
        return fingerprint(normalize(without_idle_converts(read_stablehlo(program.stablehlo()))))
    except HlodiffError:
        return program.digest()


def without_idle_converts(module: Module) -> Module:
    """The module without `convert` instructions that do not change the type.

    Args:
        module: StableHLO.

    Returns:
        the module; the same object where there is none.
    """
    computations = tuple(map(_without, module.computations))
    return module if computations == tuple(module.computations) else replace(module, computations=computations)


def _without(computation: Computation) -> Computation:
    old = computation.instructions
    value = list(range(len(old)))  # the instruction that replaces each one
    for index, it in enumerate(old):
        idle = it.opcode == "convert" and len(it.operands) == 1 and not any(it.results)
        if idle and old[it.operands[0]].shape == it.shape:
            value[index] = value[it.operands[0]]
    kept = [index for index in range(len(old)) if value[index] == index]
    if len(kept) == len(old):
        return computation
    position = {index: new for new, index in enumerate(kept)}
    instructions = tuple(
        replace(old[index], operands=tuple(position[value[o]] for o in old[index].operands)) for index in kept
    )
    return replace(computation, instructions=instructions, root=position[value[computation.root]])


def plain_events(
    events: Iterable[Trace | CompiledProgram], fingerprint: Callable[[CompiledProgram], str] = fingerprint_of
) -> Iterator[Trace | Compilation]:
    """The same events without JAX's objects.

    Args:
        events: traces and programs in order.
        fingerprint: makes the fingerprint of a program.

    Returns:
        traces as they are, and a plain record of each program.
    """
    for event in events:
        if isinstance(event, Trace):
            yield event
        else:
            yield Compilation(
                event.order, event.name, event.function, event.call, event.traced, fingerprint(event), event.platform,
                event.place, event.failed, event.under,
            )  # fmt: skip
