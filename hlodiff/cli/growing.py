"""From a case lowered at several sizes to how it grows, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from hlodiff.anatomy.growth import Growth, growing_lines, grown_repeats, series
from hlodiff.anatomy.measure import measure
from hlodiff.anatomy.whole import anatomy
from hlodiff.capture import Discovery, Failed, Grown, GrowthRequest, NotChecked, Sized
from hlodiff.cli.capturing import captured
from hlodiff.cli.python_loops import PythonLoops
from hlodiff.cli.registered import Chosen
from hlodiff.config import Config
from hlodiff.ir.model import Module
from hlodiff.store import Key


@dataclass(frozen=True, slots=True)
class Grew:
    """What became of one case.

    Args:
        key: function, case and target.
        growths: how it grows, for each parameter; () where that is not known.
        limits: how each quantity may grow at most.
        trouble: why nothing is known.
    """

    key: Key
    growths: tuple[Growth, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    trouble: NotChecked | Failed | None = None


def growing_keys(discovery: Discovery, chosen: Chosen) -> tuple[Key, ...]:
    """The chosen cases that name sizes, each with the one target that it is lowered for.

    StableHLO is the same for nearly all targets, so one is enough: `cpu` where the case has it, else its first.
    """
    wanted = dict.fromkeys(chosen.registered)
    keys = []
    for found in discovery.functions:
        for case in found.grown:
            targets = [target for target, cases in found.programs if case in cases]
            key = Key(found.name, case, "cpu" if "cpu" in targets else targets[0])
            if key in wanted:
                keys.append(key)
    return tuple(keys)


def grown(config: Config, requests: Sequence[GrowthRequest], jobs: int | None) -> Iterator[Grew]:
    """Lower cases at their sizes and see how they grow.

    Args:
        config: the project's.
        requests: which cases.
        jobs: how many workers.

    Returns:
        one record for each request, as they come.
    """
    in_loop = PythonLoops(config.root)
    if not requests:
        return
    with closing(captured(config, requests, jobs, "lowering")) as outcomes:
        for key, outcome in outcomes:
            if isinstance(outcome, Grown):
                growths = tuple(growth_of(config, key, sized, in_loop) for sized in outcome.parameters)
                yield Grew(key, growths, tuple(outcome.limits.items()))
            elif isinstance(outcome, (NotChecked, Failed)):
                yield Grew(key, trouble=outcome)


def growth_of(config: Config, key: Key, sized: Sized, in_loop: PythonLoops) -> Growth:
    """How a case grows with one parameter.

    Args:
        config: says how constants are compared.
        key: the case.
        sized: its programs.
        in_loop: whether a line lies in a loop of Python.
    """
    from hlodiff.ir import read_text
    from hlodiff.ir.content import fingerprint

    sizes = tuple(program.size for program in sized.programs)
    label = f"{key.name}: {sized.parameter}="
    modules = [read_text(program.stablehlo, path=f"{label}{program.size}") for program in sized.programs]
    normal = [_normalized(module, config) for module in modules]
    compiled = [
        _normalized(read_text(program.compiled, path=f"{label}{program.size}"), config)
        for program in sized.programs
        if program.compiled
    ]
    largest = anatomy(modules[-1], in_loop)
    return Growth(
        key.name,
        key.target,
        sized.parameter,
        sizes,
        series(sizes, [measure(*one) for one in normal]),
        series(sizes, [measure(*one) for one in compiled]) if compiled else (),
        grown_repeats(modules, largest.repeats, in_loop),
        growing_lines(sizes, modules),
        len({fingerprint(module) for module, _ in normal}) == 1,
        largest,
        {table.digest: (table.name, table.where) for table in sized.tables},
    )


def _normalized(module: Module, config: Config) -> tuple[Module, str]:
    from hlodiff.normalize import normalize, to_text

    found = normalize(module, large_constants=config.large_constants)
    return found, to_text(found)
