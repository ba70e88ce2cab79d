"""The tuning channel: how a GPU is told to run instructions that are otherwise the same."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.diff.edits import RawEdit
from hlodiff.diff.pairs import PairedComputations, Program
from hlodiff.diff.prepare import tuning_of
from hlodiff.diff.result import FieldChange
from hlodiff.diff.walk import every_pair, partners_of
from hlodiff.ir.model import Module


def tuning_edits(
    old: Program, new: Program, tuned: tuple[Module, Module], pairs: tuple[PairedComputations, ...]
) -> Iterator[RawEdit]:
    """One edit for each paired instruction whose tiles, warps, stages or algorithm differ.

    Args:
        old, new: the programs as they were paired, without tuning.
        tuned: the same modules with it, indices alike.
        pairs: all pairs of computations; equal ones are opened too, for tuning is no part of equality.
    """
    for pair in every_pair(old, new, pairs):
        before = tuned[0].computations[pair.old].instructions
        after = tuned[1].computations[pair.new].instructions
        for position, partner in partners_of(old, new, pair).items():
            a, b = tuning_of(before[position]), tuning_of(after[partner])
            if a != b:
                change = FieldChange("backend_config", a or "none", b or "none")
                yield RawEdit("changed", (pair.old, position), (pair.new, partner), [change], pair.count, "tuning")
