"""No dynamic shape: sizes that are known only at run time keep XLA from planning memory and from most fusions.

TPUs pad them to their bound, and some backends refuse them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.ir.model import Instruction
from hlodiff.policy.programs import Both, Hit, find, hits

ADVICE = "give the array a fixed size and mask what is not used"


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Values whose size is known at run time only, as they are written, else as they are compiled."""
    for program in both.programs():
        assert program.now is not None
        places = find(program.now, _is_dynamic)
        yield from hits(places, lambda place: f"{place.words} has a size that is known at run time only")
        if places:
            return


def _is_dynamic(it: Instruction) -> bool:
    # A tuple is told where its parts are computed.
    if it.opcode in ("tuple", "return", "get-tuple-element", "get_tuple_element"):
        return False
    return any(leaf.dynamic or -1 in leaf.dimensions for leaf in it.shape.leaves())
