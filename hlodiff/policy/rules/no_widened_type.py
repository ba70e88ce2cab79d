"""No widened element type: bf16 that became f32 somewhere inside doubles the bytes and halves what matrix units do.

One array of another type, or one Python float made an array, is enough to widen everything that it meets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.diff.metrics import BOOKKEEPING
from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.ir.model import Module, bits_of
from hlodiff.policy.programs import Both, Hit, hit_of

ADVICE = "cast what came in wide, e.g. x.astype(weights.dtype), or use preferred_element_type for sums alone"
# What they carry is told where it is computed.
_CARRIERS = BOOKKEEPING | {"fusion", "while", "conditional"}
_KINDS = (re.compile(r"(?:bf|f)\d"), re.compile(r"s\d"), re.compile(r"u\d"), re.compile(r"c\d"))


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Values that are wider than in the snapshot, and casts to a wider type that were not there."""
    for program in (both.stablehlo, both.compiled):
        diff = program.diff if program is not None else None
        found = [hit for edit in diff.edits for hit in _hits(edit, diff)] if diff else []
        yield from found
        if found:
            return


def _hits(edit: Edit, diff: ModuleDiff) -> Iterator[Hit]:
    for change in edit.changes:
        told_inside = edit.new is None or edit.new.opcode in _CARRIERS
        if change.field == "element_type" and is_wider(change.old, change.new) and edit.new and not told_inside:
            yield hit_of(edit, f"{edit.new.opcode} %{edit.new.name} is {change.new}, it was {change.old}")
    if edit.kind == "added" and edit.new and edit.new.opcode == "convert" and edit.new.computation >= 0:
        old, new = _cast(diff.new, edit.new.computation, edit.new.instruction)
        if is_wider(old, new):
            yield hit_of(edit, f"a cast from {old} to {new} was added: %{edit.new.name}")


def is_wider(old: str, new: str) -> bool:
    """Whether a type holds the same kind of number in more bits.

    Example:
        >>> is_wider("bf16", "f32"), is_wider("f32", "bf16"), is_wider("s32", "f64")
        (True, False, False)
    """
    same = any(kind.match(old) and kind.match(new) for kind in _KINDS)
    return same and bits_of(new) > bits_of(old) > 0


def _cast(module: Module, computation: int, position: int) -> tuple[str, str]:
    instructions = module.computations[computation].instructions
    it = instructions[position]
    return instructions[it.operands[0]].shape.element_type, it.shape.element_type
