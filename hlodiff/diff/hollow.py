"""Computations that are the same on both sides but for what their calls lead to: callers of what was edited.

The entry of a program differs wherever anything does. Where a sketch shows that a computation is the same but for what
it calls, nothing in it is an edit: of its instructions only the calls that lead to a difference are kept, with their
users and operands, and the operands as leaves that say nothing but which they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hlodiff.ir.hlo_tokens import parts_or_whole
from hlodiff.ir.sketch import Row, Sketch, Sketcher, called_names, metadata_of, operand_names, root_of

LEAF = "unopened"


@dataclass(frozen=True, slots=True)
class Hollow:
    """Two computations that correspond; lines of both sides that are kept, in pairs.

    Args:
        old, new: their names.
        whole: lines that are kept as they are.
        leaves: lines that are kept without operands, in an order that does not depend on which side is the old one.
        calls: names of computations that the two call where the other calls another, in pairs.
    """

    old: str
    new: str
    whole: tuple[tuple[int, int], ...]
    leaves: tuple[tuple[int, int], ...]
    calls: tuple[tuple[str, str], ...]

    def lines(self, side: int) -> tuple[int, ...]:
        """The kept lines of one side, ascending."""
        return tuple(sorted(pair[side] for pair in (*self.whole, *self.leaves)))


def find_hollow(
    sketches: Sequence[Sketch], entries: Sequence[str], opened: Sequence[Mapping[str, Sequence[str]]]
) -> list[Hollow]:
    """Callers from the entries downwards that are the same but for what they call.

    Args:
        sketches: both sides, made with the same numbers.
        entries: names of the entries.
        opened: for each side the computations that are not left out, and what they call.
    """
    sketcher = Sketcher({}, False)
    found: dict[tuple[str, str], Hollow] = {}
    waiting = [(entries[0], entries[1])]
    for pair in waiting:
        lines = sketcher.twins(sketches[0], sketches[1], *pair)
        if lines is not None:
            elsewhere = _called_elsewhere(sketches, pair, opened) | _opened_keys(sketches, opened)
            found[pair] = _hollow(sketches, pair, lines, elsewhere)
            waiting += [call for call in dict.fromkeys(found[pair].calls) if call not in waiting]
    return _called_by_no_other(found, opened, (entries[0], entries[1]))


def _called_elsewhere(
    sketches: Sequence[Sketch], pair: tuple[str, str], opened: Sequence[Mapping[str, Sequence[str]]]
) -> set[int | None]:
    """Keys of what other opened computations call too: whether it came, went or stayed there hangs on all its calls."""
    return {
        sketch.keys[callee]
        for sketch, own, each in zip(sketches, pair, opened, strict=True)
        for name, callees in each.items()
        if name != own
        for callee in callees
    }


def _opened_keys(sketches: Sequence[Sketch], opened: Sequence[Mapping[str, object]]) -> set[int | None]:
    """Keys of computations that are looked at although both programs hold them: all calls of them matter."""
    return {sketch.keys[name] for sketch, each in zip(sketches, opened, strict=True) for name in each}


def _hollow(
    sketches: Sequence[Sketch], pair: tuple[str, str], lines: Sequence[tuple[int, int]], elsewhere: set[int | None]
) -> Hollow:
    ours, theirs = (sketch.rows(name) for sketch, name in zip(sketches, pair, strict=True))
    partner = dict(lines)
    calls: list[tuple[str, str]] = []
    kept: dict[str, None] = {}
    for n, row in enumerate(ours):
        for a, b in _calls(row, theirs[partner[n]]):
            keys = sketches[0].keys[a], sketches[1].keys[b]
            if keys[0] is None or keys[0] != keys[1] or keys[0] in elsewhere:
                kept[row[0]] = None
            if keys[0] is None or keys[0] != keys[1]:
                calls.append((a, b))
    operands = [operand_names(row) for row in ours]
    whole = {n for n, row in enumerate(ours) if row[0] in kept or not kept.keys().isdisjoint(operands[n])}
    place = {row[0]: n for n, row in enumerate(ours)}
    root = root_of(sketches[0].program.text, sketches[0].chunks[pair[0]])
    leaves = {place[name] for n in whole for name in operands[n]} | {place[root]}
    leaves |= {n for n, row in enumerate(ours) if row[1].endswith(" parameter")}
    return Hollow(
        *pair,
        tuple((n, partner[n]) for n in sorted(whole)),
        tuple(
            sorted(((n, partner[n]) for n in leaves - whole), key=lambda pair: sorted((ours[pair[0]], theirs[pair[1]])))
        ),
        tuple(calls),
    )


def _calls(ours: Row, theirs: Row) -> list[tuple[str, str]]:
    """Which computations two calls lead to, by attribute and position."""
    if "%" not in ours[3]:
        return []
    names, others = called_names(ours[3]), called_names(theirs[3])
    if len(names) == len(others) == 1:
        return [(names[0], others[0])]
    before, after = (_calls_by_attribute(row[3]) for row in (ours, theirs))
    return [pair for name, names in before.items() for pair in zip(names, after.get(name, ()), strict=False)]


def _calls_by_attribute(tail: str) -> dict[str, list[str]]:
    parts = [part for part in parts_or_whole(tail.removeprefix(",")) if "%" in part and '"' not in part]
    return {part.partition("=")[0]: called_names(part) for part in parts}


def _called_by_no_other(
    found: dict[tuple[str, str], Hollow], opened: Sequence[Mapping[str, Sequence[str]]], entries: tuple[str, str]
) -> list[Hollow]:
    """Only those that hollow ones alone lead to, and each to one partner: all others are looked at as a whole."""
    while True:
        kept = [{pair[side] for pair in found} for side in (0, 1)]
        others = [{c for name, names in opened[n].items() if name not in kept[n] for c in names} for n in (0, 1)]
        partners = [_partners(found.values(), side) for side in (0, 1)]
        wrong = [
            pair
            for pair in found
            if any(pair[n] in others[n] or len(partners[n].get(pair[n], {})) > 1 for n in (0, 1))
            or (pair != entries and not all(pair[n] in partners[n] for n in (0, 1)))
        ]
        if not wrong:
            return list(found.values())
        for pair in wrong:
            del found[pair]


def _partners(found: Iterable[Hollow], side: int) -> dict[str, set[str]]:
    partners: dict[str, set[str]] = {}
    for hollow in found:
        for call in hollow.calls:
            partners.setdefault(call[side], set()).add(call[1 - side])
    return partners


def kept_lines(hollow: Hollow, sketches: Sequence[Sketch], side: int) -> list[str]:
    """The text of what is kept of one side."""
    sketch, name = sketches[side], (hollow.old, hollow.new)[side]
    chunk = sketch.chunks[name]
    lines = sketch.program.text[chunk.body : chunk.end - 1].split("\n")
    rows = sketch.rows(name)
    marks = {pair[side]: rank for rank, pair in enumerate(hollow.leaves)}
    return [_leaf(lines[n], rows[n], marks[n]) if n in marks else lines[n] for n in hollow.lines(side)]


def _leaf(line: str, row: Row, mark: int) -> str:
    shape, _, opcode = row[1].rpartition(" ")
    if opcode == "parameter":
        return line
    root = "ROOT " if line.startswith("  ROOT ") else ""
    return f"  {root}{row[0]} = {shape} {LEAF}(), kept={mark}{metadata_of(row)}"
