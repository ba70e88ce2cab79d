"""diff(old, new): noise off, pair, say what was done; each step is a function of its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlodiff.diff.asynchronous import with_asynchronous
from hlodiff.diff.channels import channel_changes, with_channels
from hlodiff.diff.edits import raw_edits
from hlodiff.diff.fusions import fusion_changes
from hlodiff.diff.header import entry_layout_edit, header_edits
from hlodiff.diff.metrics import module_metrics, op_counts
from hlodiff.diff.moves import with_moves
from hlodiff.diff.pairs import Correspondence, Program, correspond
from hlodiff.diff.patterns import group
from hlodiff.diff.prepare import without_channels, without_noise
from hlodiff.diff.result import ModuleDiff
from hlodiff.diff.schedule import partners_of, schedule_edits
from hlodiff.diff.tuning import tuning_edits
from hlodiff.errors import DiffError
from hlodiff.ir.model import Module


def diff(old: Module, new: Module) -> ModuleDiff:
    """What someone had to do to the old program to get the new one, in as few edits as possible.

    Args:
        old, new: two programs of one stage, as read; noise is taken off here, names and order are not looked at.

    Returns:
        The edits, those of schedule and tuning apart, the fusion-level story, counts and metrics.

    Raises:
        DiffError: the programs are of different stages.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2]{0} parameter(0)\\n  ROOT r = f32[2]{0} sine(p)\\n}"
        >>> diff(read_hlo(text), read_hlo(text.replace("sine", "cosine"))).edits[0].fields
        ('opcode',)
    """
    if old.stage != new.stage:
        raise DiffError(
            f"a {old.stage} program and a {new.stage} program cannot be compared",
            hint="compare two compiled programs (.hlo) or two StableHLO programs (.mlir)",
        )
    tuned, ignored = _prepare(old, new)
    bare = [Program.of(without_channels(module)) for module in tuned]
    found = correspond(bare[0], bare[1])
    edits = with_moves(bare[0].module, bare[1].module, found, raw_edits(bare[0], bare[1], found))
    edits = with_channels(edits, channel_changes(bare[0], bare[1], tuned, found.pairs))
    edits = with_asynchronous(bare[0], bare[1], found, edits)
    edits += header_edits(bare[0].module, bare[1].module, _entry_numbers(bare[0], bare[1], found))
    edits += entry_layout_edit(bare[0].module, bare[1].module, edits)
    counts = [op_counts(module) for module in tuned]
    metrics = [module_metrics(module) for module in tuned]
    return ModuleDiff(
        old,
        new,
        group(tuned[0], tuned[1], edits),
        group(tuned[0], tuned[1], list(schedule_edits(bare[0], bare[1], found.pairs))),
        group(tuned[0], tuned[1], list(tuning_edits(bare[0], bare[1], tuned, found.pairs))),
        fusion_changes(bare[0].module, bare[1].module, found, edits),
        ignored,
        {name: (metrics[0].get(name, 0), metrics[1].get(name, 0)) for name in _names(metrics)},
        {name: (counts[0].get(name, 0), counts[1].get(name, 0)) for name in _names(counts)},
        (),
    )


def _prepare(old: Module, new: Module) -> tuple[tuple[Module, Module], dict[str, int]]:
    tuned_old, dropped_old = without_noise(old)
    tuned_new, dropped_new = without_noise(new)
    names = dict.fromkeys([*dropped_old, *dropped_new])
    ignored = {name: dropped_old.get(name, 0) + dropped_new.get(name, 0) for name in names}
    return (tuned_old, tuned_new), ignored


def _names(sides: Sequence[Mapping[str, object]]) -> list[str]:
    return sorted({*sides[0], *sides[1]})


def _entry_numbers(old: Program, new: Program, found: Correspondence) -> dict[int, int]:
    """Which new entry parameter each old one is, by number."""
    partners = partners_of(old, new, found.pairs[0])
    before, after = old.module.entry_computation.instructions, new.module.entry_computation.instructions
    numbers = {
        int(it.literal or 0): int(after[partners[n]].literal or 0)
        for n, it in enumerate(before)
        if it.opcode == "parameter" and n in partners and after[partners[n]].opcode == "parameter"
    }
    return numbers
