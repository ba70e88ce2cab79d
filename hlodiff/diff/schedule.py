"""The schedule channel: the order of a scheduled program and its control edges. Never an edit of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlodiff.diff.edits import RawEdit
from hlodiff.diff.pairs import PairedComputations, Program
from hlodiff.diff.result import FieldChange
from hlodiff.diff.walk import every_pair, partners_of

# They take no time and stand wherever the printer puts them.
_NOT_SCHEDULED = frozenset(["parameter", "constant", "get-tuple-element", "tuple", "bitcast"])


def is_scheduled(program: Program) -> bool:
    """True where the printed order is the order of execution."""
    return program.module.attribute("is_scheduled") == "true"


def schedule_edits(old: Program, new: Program, pairs: tuple[PairedComputations, ...]) -> Iterator[RawEdit]:
    """One edit for each computation that runs in another order, one for each instruction with other control edges."""
    if is_scheduled(old) != is_scheduled(new):
        words = ["scheduled" if is_scheduled(program) else "not scheduled" for program in (old, new)]
        yield RawEdit("changed", None, None, [FieldChange("schedule", *words)], matcher="schedule")
    steps = [_steps(program) if is_scheduled(program) else set() for program in (old, new)]
    for pair in every_pair(old, new, pairs):
        partners = partners_of(old, new, pair)
        if pair.old in steps[0] and pair.new in steps[1]:
            yield from _order_edit(old, new, pair, partners)
        yield from _control_edits(old, new, pair, partners)


def _steps(program: Program) -> set[int]:
    """Computations that run step by step: reached from the entry through loops, branches and calls, not fusions."""
    module = program.module
    found = [module.entry]
    for caller in found:
        steps = [it for it in module.computations[caller].instructions if it.opcode in ("while", "conditional", "call")]
        found += dict.fromkeys(callee for it in steps for callee in it.called if callee not in found)
    return set(found)


def _order_edit(old: Program, new: Program, pair: PairedComputations, partners: Mapping[int, int]) -> Iterator[RawEdit]:
    before = old.module.computations[pair.old].instructions
    after = new.module.computations[pair.new]
    sequence = [
        partners[n]
        for n, it in enumerate(before)
        if n in partners and _NOT_SCHEDULED.isdisjoint((it.opcode, after.instructions[partners[n]].opcode))
    ]
    if sequence == sorted(sequence):
        return
    late = next(a for a, b in zip(sequence, sorted(sequence), strict=True) if a != b)
    first = next(b for a, b in zip(sequence, sorted(sequence), strict=True) if a != b)
    words = [f"{after.instructions[n].opcode} %{after.instructions[n].name} first" for n in (late, first)]
    old_root, new_root = old.module.computations[pair.old].root, after.root
    change = FieldChange("schedule", *words)
    yield RawEdit("changed", (pair.old, old_root), (pair.new, new_root), [change], matcher="schedule")


def _control_edits(
    old: Program, new: Program, pair: PairedComputations, partners: Mapping[int, int]
) -> Iterator[RawEdit]:
    before = old.module.computations[pair.old].instructions
    after = new.module.computations[pair.new].instructions
    for position, partner in partners.items():
        ours, theirs = before[position].control_predecessors, after[partner].control_predecessors
        if not ours and not theirs:
            continue
        if sorted(partners.get(p, -1) for p in ours) != sorted(theirs):
            texts = [", ".join("%" + its[p].name for p in edges) for its, edges in ((before, ours), (after, theirs))]
            change = FieldChange("schedule", texts[0] or "no control predecessor", texts[1] or "no control predecessor")
            yield RawEdit("changed", (pair.old, position), (pair.new, partner), [change], matcher="control")
