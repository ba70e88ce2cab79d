"""diff(old, new) from top to bottom: prune, drop noise, match, list the edits, explain them. Each step has a file."""

from __future__ import annotations

from collections import Counter, UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from hlodiff.differ.canonical_direction import (
    BodyMatch,
    CanonicalDiff,
    diff_in_canonical_direction,
    reversed_edits,
    reversed_fusions,
)
from hlodiff.differ.causes import with_causes
from hlodiff.differ.channels import (
    channel_changes,
    is_other_emitter,
    schedule_edits,
    tuning_edits,
    with_asynchronous,
    with_channels,
    with_steps,
)
from hlodiff.differ.computation_matches import KnownSearches, every_mapping
from hlodiff.differ.costs import with_costs
from hlodiff.differ.edits import (
    RawEdit,
    computation_edits,
    header_edits,
    raw_edits,
    with_left_over_shardings,
)
from hlodiff.differ.executed import ZERO, ExecutedCount, executed, static_costs
from hlodiff.differ.fusions import fusion_changes
from hlodiff.differ.grouping import Origins, group_edits
from hlodiff.differ.instruction_costs import own_costs
from hlodiff.differ.limits import DEFAULTS, LimitHit, Limits, hits_of, unrelated_hit
from hlodiff.differ.metrics import Counts, count, metrics_by_kind, metrics_of, own_counts
from hlodiff.differ.moves import with_moves
from hlodiff.differ.prepare import DiffInput, prepare_pair
from hlodiff.differ.regions import mark_regions, reported_edits
from hlodiff.differ.result import FusionChange, ModuleDiff
from hlodiff.differ.unrelated import are_unrelated
from hlodiff.errors import DiffError
from hlodiff.hlo.model import Module, with_each_other, without_garbage_collection
from hlodiff.hlo.parser import LazyComputations
from hlodiff.hlo.traversal import KINDS
from hlodiff.normalizer.constants import elided_constants

if TYPE_CHECKING:
    from hlodiff.differ.prune import PrunedPair
    from hlodiff.differ.script import EditScript

_Value = TypeVar("_Value")


class LazyMapping(UserDict[str, _Value]):
    """A mapping that is computed on first access."""

    def __init__(self, work: Callable[[], dict[str, _Value]]) -> None:
        self._work = work

    @cached_property
    def data(self) -> dict[str, _Value]:  # type: ignore[override]
        return self._work()


class PairMetrics:
    """The counts of two programs, side by side."""

    def __init__(self, old: Module, new: Module) -> None:
        self._modules = old, new
        self.ops: Mapping[str, tuple[int, int]] = LazyMapping(self._ops)
        self.metrics: Mapping[str, tuple[float, float]] = LazyMapping(self._metrics)
        self.kinds: Mapping[str, Mapping[str, tuple[float, float]]] = LazyMapping(self._kinds)
        self.executed: Mapping[str, tuple[ExecutedCount, ExecutedCount]] = LazyMapping(self._executed)

    @cached_property
    def _counted(self) -> tuple[list[Module], list[list[Counts]], list[Counts], list[list[Mapping[str, int]]]]:
        """Both programs, fully read, and their counts, computed once for all metrics."""
        modules = [replace(module, computations=tuple(module.computations)) for module in self._modules]
        own = list(map(own_counts, modules))
        return modules, own, list(map(count, modules, own)), list(map(own_costs, modules))

    def _ops(self) -> dict[str, tuple[int, int]]:
        old, new = (counts.ops for counts in self._counted[2])
        return {name: (old[name], new[name]) for name in sorted({*old, *new})}

    def _metrics(self) -> dict[str, tuple[float, float]]:
        modules, _, counts, costs = self._counted
        old, new = (
            {**metrics_of(whole), **static_costs(module, cost)}
            for whole, module, cost in zip(counts, modules, costs, strict=True)
        )
        return {name: (old.get(name, 0), new.get(name, 0)) for name in sorted({*old, *new})}

    def _executed(self) -> dict[str, tuple[ExecutedCount, ExecutedCount]]:
        modules, own, _, costs = self._counted
        old, new = map(executed, modules, costs, own)
        names = sorted({*old, *new}, key=lambda name: ("." in name, name))
        return {name: (old.get(name, ZERO), new.get(name, ZERO)) for name in names}

    def _kinds(self) -> dict[str, Mapping[str, tuple[float, float]]]:
        old, new = map(metrics_by_kind, self._counted[2])
        found: dict[str, Mapping[str, tuple[float, float]]] = {}
        for kind in (kind for kind in KINDS if kind in old or kind in new):
            ours, theirs = old.get(kind, {}), new.get(kind, {})
            found[kind] = {name: (ours.get(name, 0), theirs.get(name, 0)) for name in sorted({*ours, *theirs})}
        return found


def diff(old: Module, new: Module, *, limits: Limits = DEFAULTS, pruning: bool = True) -> ModuleDiff:
    """The difference of two programs as a list of edits, as short as possible.

    Args:
        old: a program, as read; noise is removed here, names and order do not matter.
        new: another program of the same stage.
        limits: how much work is allowed; limits that were hit are in `limit_hits`.
        pruning: whether computations that both programs share stay unread. Of several equal instructions a different
            one may then be named, a search cut short may end differently, and `ignored` counts noise only in what was
            read.

    Returns:
        The edits, with schedule and tuning separate, fusion changes, counts and metrics.

    Raises:
        DiffError: the programs are of different stages.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2]{0} parameter(0)\\n  ROOT r = f32[2]{0} sine(p)\\n}"
        >>> diff(read_hlo(text), read_hlo(text.replace("sine", "cosine"))).edits[0].fields
        ('opcode',)
    """
    with without_garbage_collection():
        if old.stage != new.stage:
            raise DiffError(
                f"a {old.stage} program and a {new.stage} program cannot be compared",
                hint="compare two compiled programs (.hlo) or two StableHLO programs (.mlir)",
            )
        old, new, not_held = with_each_other(old, new)
        pruned = None
        if pruning and all(isinstance(module.computations, LazyComputations) for module in (old, new)):
            # StableHLO and short texts are read whole and do not need these.
            from hlodiff.differ.prune import expand, prune

            pruned = prune(old, new)
        opened = pruned.modules if pruned else (old, new)
        unrelated = are_unrelated(opened, (old, new), limits, pruned.copies if pruned else ({}, {}))
        if unrelated is not None:
            pruned = None  # both programs are listed in full
        search = KnownSearches()
        while True:
            opened = pruned.modules if pruned else (old, new)
            ready = prepare_pair(*opened, only_listed=unrelated is not None)
            canonical = diff_in_canonical_direction(ready, limits, pruned, unrelated, search)
            found = _edits_of(canonical, ready.modules, opened, (old, new), limits)
            apart = [*found.schedule, *found.tuning]
            wider = expand(pruned, found.edits, apart, found.matches.counts, found.matches.opened) if pruned else None
            if wider is pruned:
                break
            pruned = wider
        result = _result(ready, found, (old, new), opened, limits, pruned)
        result = pruned.widened(result) if pruned else result
        return replace(result, not_held=not_held) if not_held else result


def diff_with_matches(
    old: Module, new: Module, *, limits: Limits = DEFAULTS
) -> tuple[ModuleDiff, DiffInput, CanonicalDiff]:
    """The difference of two compiled programs, and the matches of their instructions.

    Args:
        old, new: two programs, which are read in full.
        limits: how much work is allowed.

    Returns:
        what `diff` gives with `pruning=False`, the programs without noise, and the matches that the edits are based on.
    """
    ready = prepare_pair(old, new)
    canonical = diff_in_canonical_direction(ready, limits)
    found = _edits_of(canonical, ready.modules, (old, new), (old, new), limits)
    return _result(ready, found, (old, new), (old, new), limits), ready, canonical


def _result(
    ready: DiffInput,
    found: _Found,
    whole: tuple[Module, Module],
    opened: tuple[Module, Module],
    limits: Limits,
    pruned: PrunedPair | None = None,
) -> ModuleDiff:
    """The record of a diff: grouped edits, and the counts of both programs."""
    old, new = whole
    origins = Origins(ready.printed[0]), Origins(ready.printed[1])
    edits = group_edits(*ready.printed, found.edits, opened, origins)
    split = reported_edits(edits, lambda side, *place: origins[side].origin(*place))
    reported, reported_from = with_steps(*split, ready.printed)
    schedule = group_edits(*ready.printed, found.schedule, origins=origins)
    tuning = group_edits(*ready.printed, found.tuning, origins=origins)
    counted = PairMetrics(old, new)
    return ModuleDiff(
        old,
        new,
        edits,
        schedule=schedule,
        tuning=tuning,
        fusions=found.fusions,
        ignored=ready.ignored,
        metrics=counted.metrics,
        op_counts=counted.ops,
        limit_hits=found.hits,
        kinds=counted.kinds,
        executed=counted.executed,
        bounds=limits,
        elided=max(map(elided_constants, (old, new))),
        reported=reported,
        reported_from=reported_from,
        write_script=partial(_script_of, whole, ready.modules, found.matches, pruned),
    )


def _script_of(
    whole: tuple[Module, Module],
    compared: tuple[Module, Module],
    matches: BodyMatch,
    pruned: PrunedPair | None,
    found: ModuleDiff,
) -> EditScript:
    from hlodiff.differ.build_script import build_script  # most diffs are shown and never replayed

    return build_script(found, whole, compared, matches, pruned)


@dataclass(frozen=True, slots=True)
class _Found:
    """Single edits by channel, fusion changes, limits that were hit, and the matches behind them."""

    edits: list[RawEdit]
    schedule: list[RawEdit]
    tuning: list[RawEdit]
    fusions: tuple[FusionChange, ...]
    hits: tuple[LimitHit, ...]
    matches: BodyMatch


def _edits_of(
    canonical: CanonicalDiff,
    tuned: tuple[Module, Module],
    opened: tuple[Module, Module],
    whole: tuple[Module, Module],
    limits: Limits,
) -> _Found:
    """The edits of a matching, in the caller's direction."""
    if canonical.is_reversed:
        tuned, opened, whole = tuned[::-1], opened[::-1], whole[::-1]
    old, new, found = canonical.old, canonical.new, canonical.found
    edits, unseen = raw_edits(old, new, found), dict[str, int]()
    if canonical.unrelated is None:
        edits, found, unseen = with_moves(old, new, found, edits, limits)
    unpaired = Counter(name for pair in found.pairs for name in pair.limits_hit)
    mappings = every_mapping(old, new, found.pairs)
    changes, keeps_numbers = channel_changes(mappings, tuned, opened)
    edits = with_channels(edits, changes) if changes else edits
    edits = with_asynchronous(old, new, found, edits)
    edits += header_edits(old.module, new.module, mappings[0][1])  # the first pair is that of the entries
    emitters = [edit for edit in edits if is_other_emitter(tuned, edit)]
    if emitters:
        apart = set(map(id, emitters))
        edits = [edit for edit in edits if id(edit) not in apart]
    with_costs(old.module, new.module, found, edits, whole)
    hits = hits_of(limits, {**unpaired, **unseen})
    fusions: tuple[FusionChange, ...] = ()
    if canonical.unrelated is None:  # otherwise the edits explain nothing
        with_causes(old.module, new.module, found, edits)
        mark_regions(old.module, new.module, found, edits)
        fusions = fusion_changes(old, new, found, edits)
    else:
        hits = (unrelated_hit(limits, canonical.unrelated), *hits)
    with_left_over_shardings(old.module, new.module, edits, whole)
    edits = [*edits, *computation_edits(old, new, found)]
    schedule, tuning = list(schedule_edits(old, new, mappings)), tuning_edits(mappings, tuned, edits, emitters)
    if canonical.is_reversed:
        edits, schedule, tuning = reversed_edits(edits), reversed_edits(schedule), reversed_edits(tuning)
        fusions = reversed_fusions(fusions)
    return _Found(edits, schedule, tuning, fusions, hits, BodyMatch.of(canonical, found, keeps_numbers))
