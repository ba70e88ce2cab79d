"""The tuning channel: how a GPU is told to run instructions that are otherwise the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlodiff.diff.edits import Place, RawEdit
from hlodiff.diff.pairs import PairedComputations, Program
from hlodiff.diff.prepare import tuning_of
from hlodiff.diff.result import FieldChange
from hlodiff.diff.walk import at, every_pair, partners_of
from hlodiff.ir.model import Module


def tuning_edits(
    old: Program,
    new: Program,
    tuned: tuple[Module, Module],
    pairs: tuple[PairedComputations, ...],
    edits: Sequence[RawEdit],
) -> list[RawEdit]:
    """One edit for each paired or moved instruction whose tiles, warps, stages or algorithm differ.

    Args:
        old, new: the programs as they were paired, without tuning.
        tuned: the same modules with it, indices alike.
        pairs: all pairs of computations; equal ones are opened too, for tuning is no part of equality.
        edits: those of the program: what moved is compared too, what became another spelling of itself is not.
    """
    respelt = [{place for e in edits if e.matcher == "asynchronous" and (place := (e.old, e.new)[n])} for n in (0, 1)]
    found: list[RawEdit] = []
    for pair in every_pair(old, new, pairs):
        for position, partner in partners_of(old, new, pair).items():
            one, other = (pair.old, position), (pair.new, partner)
            if one not in respelt[0] and other not in respelt[1]:
                found += _edit(tuned, one, other, pair.count)
    for edit in edits:
        if edit.kind == "moved" and edit.old and edit.new:
            found += _edit(tuned, edit.old, edit.new, edit.count)
    return found


def _edit(tuned: tuple[Module, Module], old: Place, new: Place, count: int) -> Iterator[RawEdit]:
    a, b = tuning_of(at(tuned[0], old)), tuning_of(at(tuned[1], new))
    if a != b:
        yield RawEdit("changed", old, new, [FieldChange("backend_config", a or "none", b or "none")], count, "tuning")
