"""Which instruction of one computation is which of another, as the differ has it: in opened pairs and in equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hlodiff.diff.differ import Worked
from hlodiff.diff.elements import Elements
from hlodiff.diff.pairs import PairedComputations, Program
from hlodiff.ir.content import renumbered

Key = tuple[int, int, tuple[int, ...]]
"""Old and new computation, -1 for none, and the exchange of parameters at a call that cannot tell them apart."""


@dataclass(slots=True)
class PairedBodies:
    """Partners of the instructions of paired computations, old to new.

    Args:
        old, new: the programs, the right way round.
        opened: partners inside computations that differ.
        counts: call sites of those.
        elements: inside of those, by the old place of a tuple, new numbers of its elements by old ones.
        apart: (old, new) places that are no pair after all.
    """

    old: Program
    new: Program
    opened: dict[tuple[int, int], tuple[int, ...]]
    counts: dict[tuple[int, int], int]
    elements: dict[tuple[int, int], dict[int, Elements]]
    _known: dict[Key, tuple[int, ...]] = field(default_factory=dict)

    @staticmethod
    def of(worked: Worked) -> PairedBodies:
        """Turn round what was worked out from the other side."""
        opened: dict[tuple[int, int], tuple[int, ...]] = {}
        counts: dict[tuple[int, int], int] = {}
        elements: dict[tuple[int, int], dict[int, Elements]] = {}
        for pair in worked.found.pairs:
            key = (pair.new, pair.old) if worked.is_mirrored else (pair.old, pair.new)
            counts[key] = pair.count
            if pair.pairing is not None:
                opened[key] = tuple(pair.pairing.new if worked.is_mirrored else pair.pairing.old)
                elements[key] = _turned(pair) if worked.is_mirrored else pair.elements
        alone = (
            (worked.found.added, worked.found.removed)
            if worked.is_mirrored
            else (worked.found.removed, worked.found.added)
        )
        counts |= {(index, -1): count for index, count in alone[0].items()}
        counts |= {(-1, index): count for index, count in alone[1].items()}
        sides = (worked.new, worked.old) if worked.is_mirrored else (worked.old, worked.new)
        return PairedBodies(*sides, opened, counts, elements)

    def partners(self, key: Key) -> tuple[int, ...]:
        """For each old instruction the new one, -1 for none."""
        if key not in self._known:
            self._known[key] = self._partners(key)
        return self._known[key]

    def _partners(self, key: Key) -> tuple[int, ...]:
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
        partners = [-1] * size
        for one, other in zip(ours, self.new.contents[new].order, strict=True):
            partners[one] = other
        return tuple(partners)

    def renumbered(self, key: Key, partners: Sequence[int]) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Elements of tuples that have other numbers now, by the new places of the tuples."""
        known = {} if key[2] else self.elements.get(key[:2], {})
        places = ((partners[old], tuple(sorted(which.items()))) for old, which in known.items())
        return tuple((place, which) for place, which in places if place >= 0)

    def are_equal(self, old: int, new: int) -> bool:
        """True where two computations have the same content."""
        return self.old.hashes[old] == self.new.hashes[new]

    def cannot_tell(self, old: int, order: Sequence[int]) -> bool:
        """True where a computation is the same with its parameters in that order."""
        owner = self.old.module.computations[old]
        return len(order) == len(owner.parameters()) and (
            renumbered(owner, self.old.hashes, order).hash == self.old.hashes[old]
        )


def _turned(pair: PairedComputations) -> dict[int, Elements]:
    assert pair.pairing
    return {pair.pairing.old[n]: {b: a for a, b in which.items()} for n, which in pair.elements.items()}
