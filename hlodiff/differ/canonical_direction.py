"""diff(a, b) is exactly the reverse of diff(b, a): both are computed from the same side, chosen by content.

Matching and search are greedy, and greedy steps from opposite sides give different results. Making every step symmetric
would constrain each of them; choosing the side once is one place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import KnownSearches, ProgramMatch, ProgramSide, match_arguments, match_programs
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.limits import Limits
from hlodiff.differ.prepare import DiffInput
from hlodiff.differ.result import FusionChange, Kind
from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import Computation, is_commutative
from hlodiff.hlo.traversal import operands_first

if TYPE_CHECKING:
    from hlodiff.differ.prune import PrunedPair


@dataclass(frozen=True, slots=True)
class CanonicalDiff:
    """Both programs, and which of their computations and instructions correspond.

    Where `is_reversed`, `old` is the new program: content decides the side to start from. `unrelated` is the common
    share of two programs, from 0 to 1, if only their arguments were matched; None if everything was.
    """

    old: ProgramSide
    new: ProgramSide
    found: ProgramMatch
    is_reversed: bool
    unrelated: float | None = None


def diff_in_canonical_direction(
    ready: DiffInput,
    limits: Limits,
    pruned: PrunedPair | None = None,
    unrelated: float | None = None,
    search: KnownSearches | None = None,
) -> CanonicalDiff:
    """Match two programs without noise; equal inputs and limits always give equal matches.

    Args:
        ready: the programs.
        limits: how much work is allowed. pruned: how they were pruned, if they were; pruned computations are read if a
            cost depends on them.
        unrelated: the common share of programs of which only the arguments are matched, None for all others.
        search: what is known from the same programs with less of them read.
    """
    old, new = (
        ProgramSide.of(hashed, partial(pruned.body, side), pruned.copies[side]) if pruned else ProgramSide.of(hashed)
        for side, hashed in enumerate(ready.hashed)
    )
    reverse = is_reversed(old, new)
    if reverse:
        old, new = new, old
    found = match_programs(old, new, limits, search) if unrelated is None else match_arguments(old, new)
    return CanonicalDiff(old, new, found, reverse, unrelated)


_KINDS: dict[Kind, Kind] = {"added": "removed", "removed": "added", "changed": "changed", "moved": "moved"}

_OPPOSITE = {
    "split": "merged",
    "merged": "split",
    "grew": "shrank",
    "shrank": "grew",
    "added": "removed",
    "removed": "added",
    "formed": "dissolved",
    "dissolved": "formed",
}


def is_reversed(old: ProgramSide, new: ProgramSide) -> bool:
    """True if the pair is computed as (new, old).

    Decided by the lines that only one side has, then by those lines with everything they are computed from. Lines that
    both sides hold have no influence, so it does not matter how many of them were pruned.
    """
    ours, theirs = (
        [c for c, one in zip(program.module.computations, program.hashes, strict=True) if one not in shared]
        for program, shared in ((old, set(new.hashes)), (new, set(old.hashes)))
    )
    kinds = [
        Counter([(it.opcode, shape_text(it.shape), it.literal, it.attributes) for c in side for it in c.instructions])
        for side in (ours, theirs)
    ]
    # The lines as text, made only here because most kinds are on both sides and need none.
    lines = [
        sorted(Counter({" ".join(map(str, kind)): times for kind, times in only.items()}).elements())
        for only in (kinds[0] - kinds[1], kinds[1] - kinds[0])
    ]
    if lines[0] != lines[1]:
        return lines[0] > lines[1]
    before, after = _deep_lines(ours), _deep_lines(theirs)
    lines = [sorted((before - after).elements()), sorted((after - before).elements())]
    if lines[0] != lines[1]:
        return lines[0] > lines[1]
    return (old.hashes[old.module.entry], sorted(old.hashes)) > (new.hashes[new.module.entry], sorted(new.hashes))


def _deep_lines(owners: Iterable[Computation]) -> Counter[str]:
    """Hashes of each instruction with everything it is computed from."""
    found: Counter[str] = Counter()
    for owner in owners:
        hashes: dict[int, str] = {}
        for position in operands_first(owner):
            it = owner.instructions[position]
            below = [hashes.get(operand, "") for operand in it.operands]
            text = "\n".join(
                (
                    f"{it.opcode} {shape_text(it.shape)} {it.literal} {it.attributes}",
                    *(sorted(below) if is_commutative(it) else below),
                )
            )
            hashes[position] = blake2b(text.encode(), digest_size=12).hexdigest()
        found.update(hashes.values())
    return found


def reversed_edits(edits: Iterable[RawEdit]) -> list[RawEdit]:
    """The edits in the opposite direction."""
    return [
        replace(
            edit,
            kind=_KINDS[edit.kind],
            old=edit.new,
            new=edit.old,
            changes=[
                replace(change, old=change.new, new=change.old, literals=change.literals and change.literals[::-1])
                for change in edit.changes
            ],
            cost=edit.cost[::-1],
            pair=edit.pair and edit.pair[::-1],
        )
        for edit in edits
    ]


def reversed_fusions(changes: Iterable[FusionChange]) -> tuple[FusionChange, ...]:
    """Fusion changes in the opposite direction."""
    return tuple(
        replace(
            change,
            kind=_OPPOSITE.get(change.kind, change.kind),
            old=change.new,
            new=change.old,
            moved_in=change.moved_out,
            moved_out=change.moved_in,
            intermediate_bytes=-change.intermediate_bytes,
        )
        for change in changes
    )
