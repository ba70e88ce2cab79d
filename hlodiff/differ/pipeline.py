"""diff(old, new) from top to bottom: prune, drop noise, match, list the edits, explain them. Each step has a file."""

from __future__ import annotations

from collections import Counter, UserDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from hlodiff.differ.canonical_direction import (
    BodyMatch,
    CanonicalDiff,
    diff_in_canonical_direction,
    reverse_edits,
    reversed_fusions,
)
from hlodiff.differ.channels import (
    ENDS,
    channel_changes,
    is_other_emitter,
    schedule_edits,
    tuning_edits,
    with_asynchronous,
    with_channels,
    with_later_steps,
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
    with_memory_of_results,
)
from hlodiff.differ.fusions import fusion_changes
from hlodiff.differ.grouping import Origins, group_edits
from hlodiff.differ.instruction_costs import own_costs
from hlodiff.differ.limits import DEFAULTS, LimitHit, Limits, hits_of, unrelated_hit
from hlodiff.differ.metrics import (
    ZERO,
    Counts,
    ExecutedCount,
    count,
    executed,
    metrics_by_kind,
    metrics_of,
    own_counts,
    static_costs,
)
from hlodiff.differ.prepare import CHANNELS, DiffInput, prepare_pair
from hlodiff.differ.regions import mark_regions, reported_edits
from hlodiff.differ.result import FusionChange, ModuleDiff
from hlodiff.errors import DiffError
from hlodiff.hlo.collectives import FAMILIES
from hlodiff.hlo.model import Module, Shape, with_each_other, without_garbage_collection
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
            found = _edits_of(canonical, ready, opened, (old, new), limits)
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
    found = _edits_of(canonical, ready, (old, new), (old, new), limits)
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
    shown, script_edits = edits, list(range(len(edits)))
    if found.others:
        shown = group_edits(*ready.printed, [*found.edits, *found.others], opened, origins)
        from hlodiff.differ.other_lines import edits_of_script

        script_edits = edits_of_script(edits, shown)
    reported, reported_from = reported_edits(
        shown, lambda side, *place: origins[side].origin(*place), lambda side, *place: origins[side].part(*place)
    )
    reported_from = tuple([script_edits[n] for n in reported_from])
    if not ready.words.isdisjoint(FAMILIES):
        reported, reported_from = with_steps(reported, reported_from, ready.printed)
        reported = with_later_steps(reported, ready.printed)
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
    """Single edits by channel, fusion changes, limits that were hit, and the matches behind them.

    `others` are pairs without an edit that reports show as removed and added.
    """

    edits: list[RawEdit]
    others: list[RawEdit]
    schedule: list[RawEdit]
    tuning: list[RawEdit]
    fusions: tuple[FusionChange, ...]
    hits: tuple[LimitHit, ...]
    matches: BodyMatch


def _edits_of(
    canonical: CanonicalDiff,
    ready: DiffInput,
    opened: tuple[Module, Module],
    whole: tuple[Module, Module],
    limits: Limits,
) -> _Found:
    """The edits of a matching, in the caller's direction."""
    tuned, words = ready.modules, ready.words
    if canonical.is_reversed:
        tuned, opened, whole = tuned[::-1], opened[::-1], whole[::-1]
    old, new, found = canonical.old, canonical.new, canonical.found
    edits, unseen = raw_edits(old, new, found), dict[str, int]()
    if canonical.unrelated is None and {"added", "removed"} <= {edit.kind for edit in edits}:
        from hlodiff.differ.moves import with_moves

        edits, found, unseen = with_moves(old, new, found, edits, limits)
    unpaired = Counter(name for pair in found.pairs for name in pair.limits_hit)
    mappings = every_mapping(old, new, found.pairs)
    keeps_numbers = True
    if not words.isdisjoint(CHANNELS):
        changes, keeps_numbers = channel_changes(mappings, tuned, opened)
        edits = with_channels(edits, changes)
    if not ENDS.isdisjoint(words):
        edits = with_asynchronous(old, new, found, edits)
    edits += header_edits(old.module, new.module, mappings[0][1])  # the first pair is that of the entries
    has_tuning = "backend_config" in words
    emitters = [edit for edit in edits if is_other_emitter(tuned, edit)] if has_tuning else []
    if emitters:
        apart = set(map(id, emitters))
        edits = [edit for edit in edits if id(edit) not in apart]
    with_costs(old.module, new.module, found, edits, whole)
    hits = hits_of(limits, {**unpaired, **unseen})
    fusions: tuple[FusionChange, ...] = ()
    others: list[RawEdit] = []
    if canonical.unrelated is None:  # otherwise the edits explain nothing
        if len(edits) > 1:  # a single edit has no cause
            from hlodiff.differ.causes import follow_other_calls, with_causes

            with_causes(old.module, new.module, found, edits)
        mark_regions(old.module, new.module, found, edits)
        if len(edits) > 1:
            follow_other_calls(old.module, new.module, found, edits)
        is_apart = any(edit.kind != "changed" or edit.is_weak for edit in edits)
        if is_apart and old.module.frames and new.module.frames:  # lines of Python are known
            from hlodiff.differ.other_lines import pairs_of_other_lines

            others = pairs_of_other_lines(old.module, new.module, found, edits)
            with_costs(old.module, new.module, found, others, whole)
        fusions = fusion_changes(old, new, found, edits)
    else:
        hits = (unrelated_hit(limits, canonical.unrelated), *hits)
    with_memory_of_results(old.module, new.module, edits)
    if "sharding" in words:
        with_left_over_shardings(old.module, new.module, edits, whole)
    edits = [*edits, *computation_edits(old, new, found)]
    has_order = not words.isdisjoint(("is_scheduled", "control-predecessors"))
    schedule = list(schedule_edits(old, new, mappings)) if has_order else []
    tuning = tuning_edits(mappings, tuned, edits, emitters) if has_tuning else []
    if canonical.is_reversed:
        reverse_edits([*edits, *others, *schedule, *tuning])
        fusions = reversed_fusions(fusions)
    if any(word.startswith("sdy.mesh ") for word in words):
        from hlodiff.differ.causes import follow_meshes

        follow_meshes(edits)
    return _Found(edits, others, schedule, tuning, fusions, hits, BodyMatch.of(canonical, found, keeps_numbers))


# --- Whether two programs have so little in common that a list of edits would explain nothing.
#
# Two shares decide: the common *instructions* that do some work (opcode, type, literal, opcodes of operands), and the
# common *interface* (types of arguments and results, without layouts). Measured on all pairs of together 1,000
# instructions of 41 functions of published libraries (JAX 0.7.2 and 0.10.2, cpu and TPU) and of the examples (cpu, TPU,
# CUDA):
#
# | pairs | instructions | interface |
# | --- | --- | --- |
# | 31 of one function by two versions of JAX | 70 to 100 % | 100 % |
# | 65 of one function for two targets, or both | 19 to 70 %, 16 of them below 33 % | 100 % |
# | 1,879 of different functions, of 1,986 | 0 to 33 % | 0 to 55 % |
# | 15 of a diffrax solve and its gradient or another one | 17 to 33 % | 100 % |
#
# So two programs are unrelated below a third of the instructions, or below a ninth if four fifths of the interface are
# equal: 1,879 pairs of different functions are called unrelated, and none of one function is. With instructions alone,
# 16 of the 65 pairs of targets would be.
#
# One number in Python, such as a width, changes most shapes. An LSTM of 64 instead of 48 units has 31 % of its
# instructions in common on CUDA, but 94 % apart from the sizes of arrays. So programs are related, too, that have half
# of their instructions and nine tenths of their interface in common apart from sizes. Of 4,569 pairs of different
# functions (those above, by both versions of JAX) that makes none related that was not.

# Instructions of both sides below which two programs are always matched: that takes less than half a second.
_SMALL = 1_000
# Share of the interface from which two programs may be one function, and the divisor of the threshold then.
_SAME_INTERFACE, _LENIENCE = 0.8, 3
# The same for one function with arrays of other sizes, where sizes are left out.
_SIZELESS_INTERFACE, _SIZELESS_STRICTNESS = 0.9, 1.5
# They are in every program, whatever it computes; a placeholder is counted with the pruned ones.
_EVERYWHERE = frozenset(
    ["parameter", "constant", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "broadcast",
     "broadcast_in_dim", "copy", "fusion", "call", "func.call", "return", "unopened"]
)  # fmt: skip


Copies = tuple[Mapping[int, int], Mapping[int, int]]
"""For shared copies on either side, how many computations they represent."""
_NO_COPIES: Copies = ({}, {})


def share_in_common(
    modules: tuple[Module, Module], left_out: int = 0, copies: Copies = _NO_COPIES, *, sized: bool = True
) -> float:
    """Instructions that both programs hold, as a share of all, from 0 to 1.

    Args:
        modules: two programs without noise.
        left_out: instructions that were pruned because they are equal on both sides.
        copies: how many computations a shared copy represents.
        sized: whether arrays of other sizes and other literals are something else.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> rows = "p = f32[] parameter(0)", "s = f32[] sine(p)", "ROOT r = f32[] log(s)"
        >>> text = "\\n".join(["HloModule m", "ENTRY e {", *rows, "}"])
        >>> share_in_common((read_hlo(text), read_hlo(text.replace("log", "tanh"))))
        0.5
    """
    old, new = (_counted(module, times, sized) for module, times in zip(modules, copies, strict=True))
    total = old.total() + new.total() + left_out
    return (2 * (old & new).total() + left_out) / total if total else 1.0


def _type(shape: Shape, sized: bool) -> Hashable:
    return shape.bare.text if sized else tuple([(it.element_type, len(it.dimensions)) for it in shape.leaves])


def _counted(module: Module, copies: Mapping[int, int], sized: bool) -> Counter[Hashable]:
    found: Counter[Hashable] = Counter()
    for index, owner in enumerate(module.computations):
        times = copies.get(index, 1)
        opcodes = [it.opcode for it in owner.instructions]
        work = [
            (it.opcode, _type(it.shape, sized), it.literal if sized else None, tuple([opcodes[o] for o in it.operands]))
            for it in owner.instructions
            if it.opcode not in _EVERYWHERE
        ]
        found.update(work if times == 1 else {one: number * times for one, number in Counter(work).items()})
    return found


def interface_in_common(modules: tuple[Module, Module], *, sized: bool = True) -> float:
    """Types of arguments and results that both programs have, as a share of all, from 0 to 1.

    Args:
        modules: the programs.
        sized: whether arrays of other sizes have another type.
    """
    found: list[Counter[Hashable]] = []
    for entry in (module.entry_computation for module in modules):
        taken = [entry.instructions[index].shape for index in entry.parameters]
        given = entry.instructions[entry.root].shape.leaves
        types = [("argument", shape) for shape in taken] + [("result", shape) for shape in given]
        found.append(Counter((what, _type(shape, sized)) for what, shape in types))
    total = found[0].total() + found[1].total()
    return 2 * (found[0] & found[1]).total() / total if total else 1.0


def are_unrelated(
    opened: tuple[Module, Module], whole: tuple[Module, Module], limits: Limits, copies: Copies = _NO_COPIES
) -> float | None:
    """The common share of two programs that are not worth matching; None if they are.

    Args:
        opened: what pruning left of the two.
        whole: the programs; at most their entries are read for this.
        limits: `limits.unrelated` is the percentage below which they are not, a third of it where they take and return
            the same.
        copies: how many computations a shared copy represents.
    """
    size = sum(
        len(owner.instructions) * times.get(index, 1)
        for module, times in zip(opened, copies, strict=True)
        for index, owner in enumerate(module.computations)
    )
    if size < _SMALL:
        return None
    left_out = max(sum(map(_lines, whole)) - size, 0)
    share = share_in_common(opened, left_out, copies)
    if 100 * share >= limits.unrelated:
        return None
    if _LENIENCE * 100 * share >= limits.unrelated and interface_in_common(whole) >= _SAME_INTERFACE:
        return None
    if interface_in_common(whole, sized=False) < _SIZELESS_INTERFACE:
        return share
    is_resized = 100 * share_in_common(opened, left_out, copies, sized=False) >= _SIZELESS_STRICTNESS * limits.unrelated
    return None if is_resized else share


def _lines(module: Module) -> int:
    if isinstance(module.computations, LazyComputations):
        return sum(span.lines for span in module.computations.spans)
    return module.instruction_count()
