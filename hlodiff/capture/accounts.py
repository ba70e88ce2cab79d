"""From what was observed to plain records that leave the process: programs become fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hlodiff.capture.compiled_programs import Program
from hlodiff.ir.model import Computation, Module
from hlodiff.traces.records import Compiled, Trace


def fingerprint_of(program: Program) -> str:
    """The fingerprint of a program's normalized StableHLO, by which two compiles are told to give the same.

    Conversions to the type that a value has already are left out: JAX writes them for weakly typed arguments, and XLA
    drops them first of all.
    """
    from hlodiff.ir.content import fingerprint
    from hlodiff.ir.stablehlo_reader import read_stablehlo
    from hlodiff.normalize import normalize

    module = read_stablehlo(program.stablehlo())
    return fingerprint(normalize(without_idle_converts(module)))


def without_idle_converts(module: Module) -> Module:
    """The module without conversions that change nothing.

    Args:
        module: StableHLO.

    Returns:
        the module; the same object where there is none.
    """
    computations = tuple(map(_without, module.computations))
    return module if computations == tuple(module.computations) else replace(module, computations=computations)


def _without(computation: Computation) -> Computation:
    there = computation.instructions
    value = list(range(len(there)))  # what stands for each instruction, as old positions
    for index, it in enumerate(there):
        idle = it.opcode == "convert" and len(it.operands) == 1 and not any(it.results)
        if idle and there[it.operands[0]].shape == it.shape:
            value[index] = value[it.operands[0]]
    kept = [index for index in range(len(there)) if value[index] == index]
    if len(kept) == len(there):
        return computation
    place = {old: new for new, old in enumerate(kept)}
    instructions = tuple(
        replace(there[index], operands=tuple(place[value[o]] for o in there[index].operands)) for index in kept
    )
    return replace(computation, instructions=instructions, root=place[value[computation.root]])


def plain_events(
    events: Iterable[Trace | Program], fingerprint: Callable[[Program], str] = fingerprint_of
) -> Iterator[Trace | Compiled]:
    """The same events without JAX's objects.

    Args:
        events: traces and programs in order.
        fingerprint: asked for each program that is no eager operation.

    Returns:
        traces as they are, and a plain record of each program.
    """
    for event in events:
        if isinstance(event, Trace):
            yield event
        else:
            mark = "" if event.eager else fingerprint(event)
            yield Compiled(event.order, event.name, event.function, event.call, event.traced, mark, event.platform)
