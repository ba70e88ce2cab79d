"""A collective is one thing whatever its spelling: an all-reduce that becomes start and done is one change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlodiff.diff.edits import Place, RawEdit
from hlodiff.diff.fields import in_order, told_changes
from hlodiff.diff.pairs import Correspondence, Program
from hlodiff.diff.result import FieldChange
from hlodiff.diff.walk import at, equal_callees, outside, paired_places
from hlodiff.ir.collectives import FAMILIES
from hlodiff.ir.model import Module

# What start and done have by nature and a plain collective has not.
_BY_NATURE = frozenset(["opcode", "shape", "layout", "memory_space", "element_type"])


@dataclass(frozen=True, slots=True)
class _Split:
    """A collective that is plain on one side and start and done on the other; `count` as the edits have it."""

    plain: Place
    start: Place
    done: Place


def with_asynchronous(old: Program, new: Program, found: Correspondence, edits: list[RawEdit]) -> list[RawEdit]:
    """Replace the edits of a collective that became asynchronous, or stopped being so, by one change.

    Args:
        old, new: the programs as they were paired.
        found: which instructions correspond.
        edits: single edits; order is kept.
    """
    for plain in (0, 1):
        splits = list(_splits(old.module, new.module, found, edits, plain))
        if splits:
            pairs = [(s.plain, s.start) if plain == 0 else (s.start, s.plain) for s in splits]
            edits = outside(edits, equal_callees(old, new, pairs))
            edits = _collapse(old.module, new.module, edits, splits, plain)
    return edits


def _splits(old: Module, new: Module, found: Correspondence, edits: list[RawEdit], plain: int) -> Iterator[_Split]:
    """Splits whose plain collective is on side `plain` (0 old, 1 new)."""
    modules = (old, new)
    gone = [place for e in edits if (place := _gone(e, plain)) is not None]
    fresh = {place for e in edits if (place := _gone(e, 1 - plain)) is not None}
    there = paired_places(found)
    partners = there if plain == 0 else {b: a for a, b in there.items()}
    free = [p for p in gone if at(modules[plain], p).opcode in FAMILIES]
    for place in [*partners, *free]:
        family = at(modules[plain], place).opcode
        if family not in FAMILIES:
            continue
        other = modules[1 - plain]
        for done in _dones(other, partners.get(place), fresh, family):
            start = (done[0], at(other, done).operands[0])
            mine = {start, done}
            if (partners.get(place) in mine and mine & fresh) or (place not in partners and mine <= fresh):
                yield _Split(place, start, done)
                fresh -= mine
                break


def _gone(edit: RawEdit, side: int) -> Place | None:
    if side == 0:
        return edit.old if edit.kind == "removed" else None
    return edit.new if edit.kind == "added" else None


def _dones(module: Module, near: Place | None, fresh: set[Place], family: str) -> list[Place]:
    """`-done` instructions of a family that are new themselves or whose start is, the partner's own ones first."""
    candidates = []
    for place in sorted(fresh | ({near} if near else set())):
        it = at(module, place)
        if it.opcode == f"{family}-done" and it.operands:
            candidates.append(place)
        elif it.opcode == f"{family}-start":
            instructions = module.computations[place[0]].instructions
            users = [n for n, user in enumerate(instructions) if place[1] in user.operands]
            candidates += [(place[0], n) for n in users if instructions[n].opcode == f"{family}-done"]
    own = [d for d in candidates if near in (d, (d[0], at(module, d).operands[0]))]
    return own if near else candidates


def _collapse(old: Module, new: Module, edits: list[RawEdit], splits: list[_Split], plain: int) -> list[RawEdit]:
    whole = {split.plain: split for split in splits}
    parts = {place for split in splits for place in (split.start, split.done)}
    kept: list[RawEdit] = []
    told: set[Place | None] = set()
    for edit in edits:
        sides = (edit.old, edit.new)
        mine, theirs = sides[plain], sides[1 - plain]
        if mine in whole:
            if mine not in told:
                told.add(mine)
                kept.append(_change(old, new, whole[mine], plain, edit.count))
        elif theirs not in parts:
            kept.append(edit)
    return kept


def _change(old: Module, new: Module, split: _Split, plain: int, count: int) -> RawEdit:
    modules = (old, new)
    one, start, done = (
        at(modules[plain], split.plain),
        *(at(modules[1 - plain], p) for p in (split.start, split.done)),
    )
    pairs = ((one, start), (one, done)) if plain == 0 else ((start, one), (done, one))
    changes = [c for c in told_changes(*pairs[0]) if c.field not in _BY_NATURE]
    changes += [c for c in told_changes(*pairs[1]) if c.field in _BY_NATURE - {"opcode"}]
    words = ("no", "yes") if plain == 0 else ("yes", "no")
    changes.append(FieldChange("attribute:asynchronous", *words))
    places = (split.plain, split.start) if plain == 0 else (split.start, split.plain)
    return RawEdit("changed", *places, in_order(changes), count, "asynchronous")
