"""Channels: a number means nothing, who meets on it does. Two collectives that swap partners are a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hlodiff.diff.edits import Place, RawEdit
from hlodiff.diff.fields import in_order
from hlodiff.diff.pairs import PairedComputations, Program
from hlodiff.diff.prepare import channel_of
from hlodiff.diff.result import FieldChange
from hlodiff.diff.walk import every_pair, partners_of
from hlodiff.ir.model import Module

_FIELD = "attribute:channel_id"


def channel_changes(
    old: Program, new: Program, numbered: tuple[Module, Module], pairs: Sequence[PairedComputations]
) -> list[RawEdit]:
    """One change for each paired instruction that meets others on its channel than before.

    Args:
        old, new: the programs as they were paired, without channel numbers.
        numbered: the same modules with them, indices alike.
        pairs: all pairs of computations, equal ones included.
    """
    meetings = list(_meetings(old, new, numbered, pairs))
    counts = Counter((a, b) for _, _, a, b, _ in meetings if a and b)
    there = _most_common(counts)
    back = _most_common(Counter({(b, a): n for (a, b), n in counts.items()}))
    edits = []
    for one, other, a, b, count in meetings:
        if there.get(a, "") != b or back.get(b, "") != a:
            change = FieldChange(_FIELD, a or "none", b or "none")
            edits.append(RawEdit("changed", one, other, [change], count, "channel"))
    return edits


def _most_common(counts: Counter[tuple[str, str]]) -> dict[str, str]:
    """For each channel the one most of its instructions use on the other side."""
    best: dict[str, str] = {}
    for (a, b), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        best.setdefault(a, b)
    return best


def _meetings(
    old: Program, new: Program, numbered: tuple[Module, Module], pairs: Sequence[PairedComputations]
) -> Iterator[tuple[Place, Place, str, str, int]]:
    for pair in every_pair(old, new, pairs):
        before, after = (m.computations[c].instructions for m, c in zip(numbered, (pair.old, pair.new), strict=True))
        for position, partner in partners_of(old, new, pair).items():
            a, b = channel_of(before[position]), channel_of(after[partner])
            if a or b:
                yield (pair.old, position), (pair.new, partner), a, b, pair.count


def with_channels(edits: list[RawEdit], changes: Sequence[RawEdit]) -> list[RawEdit]:
    """Put channel changes on the edits of the same instructions, or behind the others."""
    by_place: Mapping[tuple[Place | None, Place | None], RawEdit] = {(c.old, c.new): c for c in changes}
    merged = []
    for edit in edits:
        change = by_place.get((edit.old, edit.new))
        merged.append(replace(edit, changes=in_order([*edit.changes, *change.changes])) if change else edit)
    taken = {(edit.old, edit.new) for edit in edits}
    return [*merged, *(c for c in changes if (c.old, c.new) not in taken)]
