"""Everything that one program says about itself."""

from __future__ import annotations

from dataclasses import dataclass

from hlodiff.anatomy.frames import InLoop, unknown
from hlodiff.anatomy.literals import Table, tables
from hlodiff.anatomy.repeats import Repeat, repeats
from hlodiff.anatomy.shared import LoweredAgain, Twice, computed_twice, lowered_again
from hlodiff.anatomy.trips import Loop, loops
from hlodiff.ir.model import Module


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What one program holds more often or larger than it must.

    Args:
        repeats: bodies with several copies: loops of Python that JAX unrolled.
        twice: values computed several times from the same inputs.
        lowered_again: inner functions that stand there several times.
        tables: large constants.
        loops: loops of the program whose number of turns is known.
    """

    repeats: tuple[Repeat, ...] = ()
    twice: tuple[Twice, ...] = ()
    lowered_again: tuple[LoweredAgain, ...] = ()
    tables: tuple[Table, ...] = ()
    loops: tuple[Loop, ...] = ()


def anatomy(module: Module, in_loop: InLoop = unknown) -> Anatomy:
    """Look at one program.

    Args:
        module: a program of either stage, best as JAX printed it: normalizing merges equal functions.
        in_loop: whether a line of a file lies in a loop of Python.

    Returns:
        everything found, each kind with the costliest first.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> anatomy(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        Anatomy(repeats=(), twice=(), lowered_again=(), tables=(), loops=())
    """
    stablehlo = module.stage == "stablehlo"
    return Anatomy(
        repeats(module, in_loop),
        computed_twice(module) if stablehlo else (),
        lowered_again(module),
        tables(module),
        loops(module),
    )
