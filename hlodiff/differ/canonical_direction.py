"""diff(a, b) is exactly the reverse of diff(b, a): both are computed from the same side, chosen by content.

Matching and search are greedy, and greedy steps from opposite sides give different results. Making every step symmetric
would constrain each of them; choosing the side once is one place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import KnownSearches, ProgramMatch, ProgramSide, match_arguments, match_programs
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.instruction_matches import Elements
from hlodiff.differ.limits import Limits
from hlodiff.differ.prepare import DiffInput
from hlodiff.differ.result import FusionChange, Kind
from hlodiff.hlo.fingerprint import renumbered
from hlodiff.hlo.model import Computation, is_commutative
from hlodiff.hlo.traversal import operands_first

if TYPE_CHECKING:
    from hlodiff.differ.prune import PrunedPair
    from hlodiff.differ.script import PrintedPair, PrintedText


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


Key = tuple[int, int, tuple[int, ...]]
"""Old and new computation, -1 for none, and the permutation of parameters at an operand-symmetric call."""


@dataclass(slots=True)
class BodyMatch:
    """Matches of the instructions of paired computations, old to new.

    Args:
        old, new: the programs, in the caller's direction.
        opened: matches inside computations that differ.
        counts: call sites of those.
        elements: in those, by the old place of a tuple, the new numbers of its elements by old ones.
        keeps_numbers: whether the channel numbers as read are one to one.
    """

    old: ProgramSide
    new: ProgramSide
    opened: dict[tuple[int, int], tuple[int, ...]]
    counts: dict[tuple[int, int], int]
    elements: dict[tuple[int, int], dict[int, Elements]]
    keeps_numbers: bool = False
    _known: dict[Key, tuple[int, ...]] = field(default_factory=dict)

    @staticmethod
    def of(canonical: CanonicalDiff, found: ProgramMatch, keeps_numbers: bool) -> BodyMatch:
        """The matches in the caller's direction.

        Args:
            canonical: both sides, and whether they are reversed.
            found: what corresponds, without the calls that moved.
            keeps_numbers: whether the channel numbers as read are one to one.
        """
        opened: dict[tuple[int, int], tuple[int, ...]] = {}
        counts: dict[tuple[int, int], int] = {}
        elements: dict[tuple[int, int], dict[int, Elements]] = {}
        for pair in found.pairs:
            key = (pair.new, pair.old) if canonical.is_reversed else (pair.old, pair.new)
            counts[key] = pair.count
            if pair.pairing is not None:
                opened[key] = tuple(pair.pairing.new if canonical.is_reversed else pair.pairing.old)
                elements[key] = pair.elements
                if canonical.is_reversed:
                    there = pair.pairing.old
                    elements[key] = {there[n]: {b: a for a, b in which.items()} for n, which in pair.elements.items()}
        alone = (found.added, found.removed) if canonical.is_reversed else (found.removed, found.added)
        counts |= {(index, -1): count for index, count in alone[0].items()}
        counts |= {(-1, index): count for index, count in alone[1].items()}
        sides = (canonical.new, canonical.old) if canonical.is_reversed else (canonical.old, canonical.new)
        return BodyMatch(*sides, opened, counts, elements, keeps_numbers)

    def mapping(self, key: Key) -> tuple[int, ...]:
        """For each old instruction the new one, -1 for none."""
        if key not in self._known:
            self._known[key] = self._mapping(key)
        return self._known[key]

    def _mapping(self, key: Key) -> tuple[int, ...]:
        old, new, order = key
        if old < 0:
            return ()
        size = len(self.old.module.computations[old].instructions)
        if new < 0 or (not order and (old, new) not in self.opened and not self.are_equal(old, new)):
            return (-1,) * size
        if not order and (old, new) in self.opened:
            return self.opened[old, new]
        ours = self.old.contents[old].order
        if order:
            ours = renumbered(self.old.module.computations[old], self.old.hashes, order).order
        mapping = [-1] * size
        for one, other in zip(ours, self.new.contents[new].order, strict=True):
            mapping[one] = other
        return tuple(mapping)

    def count(self, key: Key) -> int:
        """How many call sites lead to two computations."""
        return self.counts.get(key[:2], 1)

    def is_pruned(self, key: Key) -> bool:
        """True if neither of the two was parsed for the diff."""
        return False

    def printed(self, key: Key) -> PrintedPair | None:
        """The lines of two computations that were not parsed for the diff; None for all others."""
        return None

    def texts(self) -> tuple[PrintedText, PrintedText] | None:
        """Both programs as printed, if not everything was parsed."""
        return None

    def renumbered(self, key: Key, mapping: Sequence[int]) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Tuple elements whose numbers changed, by the new places of the tuples."""
        known = {} if key[2] else self.elements.get(key[:2], {})
        places = ((mapping[old], tuple(sorted(which.items()))) for old, which in known.items())
        return tuple((place, which) for place, which in places if place >= 0)

    def are_equal(self, old: int, new: int) -> bool:
        """True if two computations have the same content."""
        return self.old.hashes[old] == self.new.hashes[new]

    def is_operand_symmetric(self, old: int, order: Sequence[int]) -> bool:
        """True if a computation is the same with its parameters in that order."""
        owner = self.old.module.computations[old]
        return len(order) == len(owner.parameters) and (
            renumbered(owner, self.old.hashes, order).hash == self.old.hashes[old]
        )


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
        Counter([(it.opcode, it.shape.text, it.literal, it.attributes) for c in side for it in c.instructions])
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
                    f"{it.opcode} {it.shape.text} {it.literal} {it.attributes}",
                    *(sorted(below) if is_commutative(it) else below),
                )
            )
            hashes[position] = blake2b(text.encode(), digest_size=12).hexdigest()
        found.update(hashes.values())
    return found


def reverse_edits(edits: Iterable[RawEdit]) -> None:
    """Turn the edits in the opposite direction, in place: other edits refer to them."""
    for edit in edits:
        edit.kind = _KINDS[edit.kind]
        edit.old, edit.new = edit.new, edit.old
        edit.changes = [
            replace(change, old=change.new, new=change.old, literals=change.literals and change.literals[::-1])
            for change in edit.changes
        ]
        edit.cost, edit.users_cost, edit.kept = edit.cost[::-1], edit.users_cost[::-1], edit.kept[::-1]
        edit.pair = edit.pair and edit.pair[::-1]


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
