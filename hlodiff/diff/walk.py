"""Walking what corresponds: instructions of paired computations, and pairs inside of equal ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hlodiff.diff.pairs import PairedComputations, Program


def partners_of(old: Program, new: Program, pair: PairedComputations) -> Mapping[int, int]:
    """Old positions to new ones; computations of equal content correspond along their canonical walks."""
    if pair.pairing is not None:
        return {position: partner for position, partner in enumerate(pair.pairing.old) if partner >= 0}
    return dict(zip(old.contents[pair.old].order, new.contents[pair.new].order, strict=True))


def every_pair(old: Program, new: Program, pairs: Sequence[PairedComputations]) -> Iterator[PairedComputations]:
    """All pairs of computations, and those inside of equal ones, which correspond by content."""
    seen = {(pair.old, pair.new) for pair in pairs}
    waiting = list(pairs)
    for pair in waiting:
        yield pair
        if pair.pairing is not None:
            continue
        before = old.module.computations[pair.old].instructions
        after = new.module.computations[pair.new].instructions
        for position, partner in partners_of(old, new, pair).items():
            for a, b in zip(before[position].called, after[partner].called, strict=True):
                if (a, b) not in seen:
                    seen.add((a, b))
                    waiting.append(PairedComputations(a, b, count=pair.count))
