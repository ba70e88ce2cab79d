"""Walking what corresponds: instructions of paired computations, and pairs inside of equal ones."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from hlodiff.differ.computation_matches import ComputationMatch, ProgramMatch, ProgramSide, matched_calls
from hlodiff.differ.edits import Place, RawEdit
from hlodiff.hlo.model import Instruction, Module


def partners_of(old: ProgramSide, new: ProgramSide, pair: ComputationMatch) -> Mapping[int, int]:
    """Old positions to new ones; computations of equal content correspond along their canonical walks."""
    if pair.pairing is not None:
        return {position: partner for position, partner in enumerate(pair.pairing.old) if partner >= 0}
    return dict(zip(old.contents[pair.old].order, new.contents[pair.new].order, strict=True))


def every_pair(old: ProgramSide, new: ProgramSide, pairs: Sequence[ComputationMatch]) -> Iterator[ComputationMatch]:
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
                    waiting.append(ComputationMatch(a, b, count=pair.count))


def at(module: Module, place: Place) -> Instruction:
    """The instruction that stands there."""
    return module.computations[place[0]].instructions[place[1]]


def paired_places(found: ProgramMatch) -> dict[Place, Place]:
    """Old places to new ones in all computations that were opened; the first pair of a place counts."""
    partners: dict[Place, Place] = {}
    for pair in found.pairs:
        for position, partner in enumerate(pair.pairing.old if pair.pairing else ()):
            if partner >= 0:
                partners.setdefault((pair.old, position), (pair.new, partner))
    return partners


def equal_callees(old: ProgramSide, new: ProgramSide, pairs: Iterable[tuple[Place, Place]]) -> set[tuple[int, int]]:
    """Computations, with their side (0 old, 1 new), that paired instructions call there as they did here."""
    same: set[tuple[int, int]] = set()
    for a, b in pairs:
        for c, d in zip(at(old.module, a).called, at(new.module, b).called, strict=False):
            if old.hashes[c] == new.hashes[d]:
                same |= {(0, c), (1, d)}
    return same


def equal_below(old: ProgramSide, new: ProgramSide, pair: tuple[Place, Place]) -> Iterator[tuple[int, int, bool]]:
    """Computations of equal content behind two calls, with those behind them, and whether they are embedded."""
    waiting = [(at(old.module, pair[0]), at(new.module, pair[1]), False)]
    seen: set[tuple[int, int]] = set()
    for one, other, inside in waiting:
        for (a, b), embedded in matched_calls(one, other):
            if (a, b) not in seen and old.hashes[a] == new.hashes[b]:
                seen.add((a, b))
                yield a, b, embedded or inside
                walks = zip(old.contents[a].order, new.contents[b].order, strict=True)
                pairs = ((at(old.module, (a, c)), at(new.module, (b, d))) for c, d in walks)
                waiting += [(*both, embedded or inside) for both in pairs if both[0].calls]


def outside(edits: Iterable[RawEdit], computations: Container[tuple[int, int]]) -> list[RawEdit]:
    """The edits that are in none of these computations."""
    return [
        e
        for e in edits
        if not (e.old and (0, e.old[0]) in computations) and not (e.new and (1, e.new[0]) in computations)
    ]
