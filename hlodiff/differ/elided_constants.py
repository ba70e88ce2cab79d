"""Constants whose values a program does not hold: XLA prints `constant({...})` from eleven elements on, unless asked.

Two of them look the same whatever their values are.
"""

from __future__ import annotations

from hlodiff.hlo.grammar import ELIDED_CONSTANT
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.parser import LazyComputations
from hlodiff.normalizer.constants import ELIDED_ATTRIBUTE

_OF_MLIR = "__elided__"


def elided_constants(module: Module) -> int:
    """How many constants of a program have no values; those that a snapshot holds as a hash have them.

    Args:
        module: as it was read; what nobody has read yet stays unread.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> elided_constants(read_hlo("HloModule m\\nENTRY e {\\n  ROOT c = f32[16]{0} constant({...})\\n}"))
        1
    """
    if isinstance(module.computations, LazyComputations):
        return sum(ELIDED_ATTRIBUTE not in found[0] for found in ELIDED_CONSTANT.finditer(module.computations.text))
    return sum(_is_elided(it) for computation in module.computations for it in computation.instructions)


def _is_elided(it: Instruction) -> bool:
    if it.opcode == "constant" and "..." in (it.literal or ""):
        return not any(ELIDED_ATTRIBUTE in key or ELIDED_ATTRIBUTE in value for key, value in it.attributes)
    return _OF_MLIR in (it.literal or "") or any(_OF_MLIR in value for _, value in it.attributes)


def in_words(count: int) -> str:
    """The same in one sentence."""
    what, which = ("1 constant is", "it is") if count == 1 else (f"{count:,} constants are", "they are")
    how = "to have them, dump with XLA_FLAGS=--xla_dump_large_constants"
    return f"{what} not in the files ({{...}}): whether {which} the same is not known; {how}"
