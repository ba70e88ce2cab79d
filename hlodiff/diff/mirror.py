"""diff(a, b) is the exact mirror of diff(b, a): both are worked out from the same side, which content decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hlodiff.diff.edits import RawEdit
from hlodiff.diff.pairs import Program
from hlodiff.diff.result import FieldChange, FusionChange, Kind
from hlodiff.ir.content import shape_text
from hlodiff.ir.model import Instruction

_KINDS: dict[Kind, Kind] = {"added": "removed", "removed": "added", "changed": "changed", "moved": "moved"}
_STORIES = {
    "split": "merged",
    "merged": "split",
    "grew": "shrank",
    "shrank": "grew",
    "added": "removed",
    "removed": "added",
    "formed": "dissolved",
    "dissolved": "formed",
}


def is_mirrored(old: Program, new: Program) -> bool:
    """True where the pair is worked out as (new, old).

    Decided by the computations that only one side has, and first of all by what they hold without what they call, so
    that it makes no difference which equal computations stayed closed.
    """
    ours, theirs = _own(old, new), _own(new, old)
    if ours != theirs:
        return ours > theirs
    return (old.hashes[old.module.entry], sorted(old.hashes)) > (new.hashes[new.module.entry], sorted(new.hashes))


def _own(program: Program, other: Program) -> list[str]:
    shared = set(other.hashes)
    alone = [c for c, it in zip(program.module.computations, program.hashes, strict=True) if it not in shared]
    return sorted("\n".join(sorted(map(_line, computation.instructions))) for computation in alone)


def _line(it: Instruction) -> str:
    return f"{it.opcode} {shape_text(it.shape)} {it.literal} {it.attributes}"


def mirrored_edits(edits: Iterable[RawEdit]) -> list[RawEdit]:
    """What was done, undone."""
    return [
        replace(
            edit,
            kind=_KINDS[edit.kind],
            old=edit.new,
            new=edit.old,
            changes=[FieldChange(change.field, change.new, change.old) for change in edit.changes],
            cost=(edit.cost[1], edit.cost[0]),
        )
        for edit in edits
    ]


def mirrored_fusions(changes: Iterable[FusionChange]) -> tuple[FusionChange, ...]:
    """The story of fusions told backwards."""
    return tuple(
        FusionChange(
            _STORIES.get(change.kind, change.kind),
            change.new,
            change.old,
            change.moved_out,
            change.moved_in,
            -change.intermediate_bytes,
        )
        for change in changes
    )
