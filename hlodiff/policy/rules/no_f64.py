"""No f64: one Python float or NumPy array with x64 on makes a whole program run in double precision.

TPUs emulate it, and GPUs for machine learning compute it many times slower than f32.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.ir.model import Instruction
from hlodiff.policy.programs import Both, Hit, find, hits

ADVICE = "give arrays and constants a dtype, or leave jax_enable_x64 off"
_DOUBLE = ("f64", "c128")
_CARRIERS = ("get-tuple-element", "get_tuple_element", "bitcast", "tuple", "return", "call", "func.call")


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Values of double precision: where they are written, else where only the compiler made them."""
    for program in both.programs():
        assert program.now is not None
        places = find(program.now, _is_double)
        yield from hits(places, lambda place: f"{place.words} is of double precision")
        if places:
            return


def _is_double(it: Instruction) -> bool:
    # An argument is said where it enters, a tuple where its parts are computed.
    return not it.shape.tuple_shapes and it.shape.element_type in _DOUBLE and it.opcode not in _CARRIERS
