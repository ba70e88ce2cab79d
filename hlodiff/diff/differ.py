"""diff(old, new): noise off, pair, say what was done; each step is a function of its own file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

from hlodiff.diff.asynchronous import with_asynchronous
from hlodiff.diff.causes import with_causes
from hlodiff.diff.channels import channel_changes, with_channels
from hlodiff.diff.costs import with_costs
from hlodiff.diff.counted import Counted
from hlodiff.diff.doubts import reopened
from hlodiff.diff.edits import RawEdit, raw_edits
from hlodiff.diff.fusions import fusion_changes
from hlodiff.diff.header import entry_layout_edit, header_edits
from hlodiff.diff.limits import DEFAULTS, LimitHit, Limits, hits_of
from hlodiff.diff.mirror import is_mirrored, mirrored_edits, mirrored_fusions
from hlodiff.diff.moves import with_moves
from hlodiff.diff.narrow import Narrowed, narrow
from hlodiff.diff.pairs import Correspondence, Program, correspond
from hlodiff.diff.patterns import group
from hlodiff.diff.prepare import Prepared, prepared
from hlodiff.diff.result import FusionChange, ModuleDiff
from hlodiff.diff.schedule import schedule_edits
from hlodiff.diff.tuning import tuning_edits
from hlodiff.diff.walk import partners_of
from hlodiff.errors import DiffError
from hlodiff.ir.model import Module


def diff(old: Module, new: Module, *, limits: Limits = DEFAULTS, closed: bool = True) -> ModuleDiff:
    """What someone had to do to the old program to get the new one, in as few edits as possible.

    Args:
        old, new: two programs of one stage, as read; noise is taken off here, names and order are not looked at.
        limits: how much may be tried; those that were hit are said in `limit_hits`.
        closed: whether computations that both programs hold as they are stay unread. Of several equals another may be
            named then, a search that ends early may end elsewhere, and `ignored` counts the noise in the others only.

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
    narrowed = narrow(old, new) if closed else None
    while True:
        opened = narrowed.modules if narrowed else (old, new)
        ready = prepared(*opened)
        found = _compare(ready, limits, narrowed)
        wider = reopened(narrowed, found.edits) if narrowed else None
        if wider is narrowed:
            break
        narrowed = wider
    edits = group(*ready.printed, found.edits, opened)
    schedule, tuning = group(*ready.printed, found.schedule), group(*ready.printed, found.tuning)
    counted = Counted(old, new)
    result = ModuleDiff(
        old,
        new,
        edits,
        schedule,
        tuning,
        found.fusions,
        ready.ignored,
        counted.metrics,
        counted.ops,
        found.hits,
        counted.kinds,
        limits,
    )
    return narrowed.widened(result) if narrowed else result


@dataclass(frozen=True, slots=True)
class _Found:
    """Single edits by channel, the story of fusions, and limits that were hit."""

    edits: list[RawEdit]
    schedule: list[RawEdit]
    tuning: list[RawEdit]
    fusions: tuple[FusionChange, ...]
    hits: tuple[LimitHit, ...]


@dataclass(frozen=True, slots=True)
class Worked:
    """Both programs, and which of their computations and instructions correspond.

    Where `is_mirrored`, `old` is the new program: the side to work from is the one that content decides.
    """

    old: Program
    new: Program
    found: Correspondence
    is_mirrored: bool


def work_out(ready: Prepared, limits: Limits, narrowed: Narrowed | None = None) -> Worked:
    """Pair two programs without noise; the same two with the same limits always give the same pairs.

    Args:
        ready: the programs.
        limits: how much may be tried.
        narrowed: where they were narrowed, how; what was left out is read where a price hangs on it.
    """
    old, new = (
        Program.of(hashed, partial(narrowed.body, side) if narrowed else None)
        for side, hashed in enumerate(ready.hashed)
    )
    mirrored = is_mirrored(old, new)
    if mirrored:
        old, new = new, old
    return Worked(old, new, correspond(old, new, limits), mirrored)


def _compare(ready: Prepared, limits: Limits, narrowed: Narrowed | None) -> _Found:
    """Work out the pair from the side that content decides."""
    tuned = ready.modules
    worked = work_out(ready, limits, narrowed)
    if not worked.is_mirrored:
        return _compare_programs(worked, tuned, limits)
    found = _compare_programs(worked, (tuned[1], tuned[0]), limits)
    return _Found(
        mirrored_edits(found.edits),
        mirrored_edits(found.schedule),
        mirrored_edits(found.tuning),
        mirrored_fusions(found.fusions),
        found.hits,
    )


def _compare_programs(worked: Worked, tuned: tuple[Module, Module], limits: Limits) -> _Found:
    old, new, found = worked.old, worked.new, worked.found
    edits, unseen = with_moves(old, new, found, raw_edits(old, new, found), limits)
    unpaired = Counter(name for pair in found.pairs for name in pair.limits_hit)
    edits = with_channels(edits, channel_changes(old, new, tuned, found.pairs))
    edits = with_asynchronous(old, new, found, edits)
    edits += header_edits(old.module, new.module, _entry_numbers(old, new, found))
    edits += entry_layout_edit(old.module, new.module, partners_of(old, new, found.pairs[0]))
    with_costs(old.module, new.module, found, edits)
    return _Found(
        with_causes(old.module, new.module, found, edits),
        list(schedule_edits(old, new, found.pairs)),
        tuning_edits(old, new, tuned, found.pairs, edits),
        fusion_changes(old, new, found, edits),
        hits_of(limits, {**unpaired, **unseen}),
    )


def _entry_numbers(old: Program, new: Program, found: Correspondence) -> dict[int, int]:
    """Which new entry parameter each old one is, by number."""
    partners = partners_of(old, new, found.pairs[0])
    before, after = old.module.entry_computation.instructions, new.module.entry_computation.instructions
    return {
        int(it.literal or 0): int(after[partners[n]].literal or 0)
        for n, it in enumerate(before)
        if it.opcode == "parameter" and n in partners and after[partners[n]].opcode == "parameter"
    }
