"""Channels: the number means nothing, but who shares it does. Two collectives that swap numbers are a change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hlodiff.differ.computation_matches import (
    ComputationMatch,
    Mapped,
    ProgramMatch,
    ProgramSide,
    equal_callees,
    paired_places,
)
from hlodiff.differ.edits import RawEdit, outside
from hlodiff.differ.fields import in_order, reported_changes
from hlodiff.differ.prepare import channel_of, tuning_of
from hlodiff.differ.regions import joined_halves, with_joined
from hlodiff.differ.result import Edit, FieldChange
from hlodiff.hlo.collectives import FAMILIES, continued_steps, is_step
from hlodiff.hlo.model import Module, Place, at
from hlodiff.hlo.traversal import preorder
from hlodiff.normalizer.backend_config import split_backend_config

_FIELD = "attribute:channel_id"
_NUMBER = re.compile(r"\d+")


def channel_changes(
    mappings: Sequence[Mapped], numbered: tuple[Module, Module], printed: tuple[Module, Module]
) -> tuple[list[RawEdit], bool]:
    """One change for each matched instruction that shares its channel with different instructions than before.

    Args:
        mappings: all pairs of computations, equal ones included, see `every_mapping`.
        numbered: the programs with channels numbered by who shares them, equal computations counted as one; same
            indices.
        printed: the same with the numbers as read, which the change shows.

    Returns:
        the changes, and whether the numbers as read are one to one. In that case there are no changes, even if one of
        several equal computations was edited and no longer counts as one with them.
    """
    meetings: list[tuple[Place, Place, str, str, int]] = []
    for pair, mapping in mappings:
        olds, news = numbered[0].computations[pair.old].instructions, numbered[1].computations[pair.new].instructions
        for position, matched in mapping.items():
            ours, theirs = olds[position], news[matched]
            if ours.attributes or theirs.attributes:
                a, b = channel_of(ours), channel_of(theirs)
                if a or b:
                    meetings.append(((pair.old, position), (pair.new, matched), a, b, pair.count))
    if not meetings or keep_numbers(_shown(printed, one, other) for one, other, *_ in meetings):
        return [], True
    # A number for each channel that depends on its users only, not on the numbers as read.
    ranks = [
        {channel: rank for rank, channel in enumerate(dict.fromkeys(channels))}
        for channels in zip(*((a, b) for _, _, a, b, _ in meetings), strict=True)
    ]
    counts = Counter((ranks[0][a], ranks[1][b]) for _, _, a, b, _ in meetings if a and b)
    there = _most_common(counts)
    back = _most_common(Counter({(b, a): n for (a, b), n in counts.items()}))
    shared = [Counter(channel_of(it) for body in module.computations for it in body.instructions) for module in printed]
    edits = []
    for one, other, a, b, count in meetings:
        first, second = ranks[0][a], ranks[1][b]
        if not a or not b or there[first] != second or back[second] != first:
            words = _sharing(_shown(printed, one, other), shared)
            edits.append(RawEdit("changed", one, other, [FieldChange(_FIELD, *words)], count, "channel"))
    return edits, False


def _sharing(channels: tuple[str, str], shared: Sequence[Counter[str]]) -> tuple[str, str]:
    """Both channels by their numbers, each with how many others share it in the text of its program.

    Example:
        >>> _sharing(("5", "8"), (Counter({"5": 4}), Counter({"8": 1}))), _sharing(("5", "5"), [Counter({"5": 2})] * 2)
        (('5, shared with 3 others', '8, not shared'), ('5, shared with 1 other', '5, shared with another'))
    """
    others = [count[channel] - 1 for count, channel in zip(shared, channels, strict=True)]
    numbers = [found[0] if (found := _NUMBER.search(channel)) else channel or "none" for channel in channels]
    words = [
        f"{number}, {f'shared with {many}' if many else 'not shared'}" if channel else number
        for number, many, channel in zip(numbers, map(_others, others), channels, strict=True)
    ]
    if all(channels) and others[0] == others[1]:
        words[1] = f"{numbers[1]}, shared with {'another' if others[1] == 1 else 'others than before'}"
    return words[0], words[1]


def _others(count: int) -> str:
    return f"{count:,} other{'s' * (count > 1)}" if count > 0 else ""


def keep_numbers(channels: Iterable[tuple[str, str]]) -> bool:
    """Whether old and new channels are one to one, and no instruction has a channel on one side only.

    Example:
        >>> keep_numbers([("1", "7"), ("2", "8"), ("1", "7")]), keep_numbers([("1", "7"), ("2", "7")])
        (True, False)
    """
    there: dict[str, str] = {"": ""}
    back: dict[str, str] = {"": ""}
    return all(there.setdefault(a, b) == b and back.setdefault(b, a) == a for a, b in channels)


def _shown(printed: tuple[Module, Module], one: Place, other: Place) -> tuple[str, str]:
    return channel_of(at(printed[0], one)), channel_of(at(printed[1], other))


def _most_common(counts: Counter[tuple[int, int]]) -> dict[int, int]:
    """For each channel the one that most of its instructions use on the other side."""
    best: dict[int, int] = {}
    for (a, b), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        best.setdefault(a, b)
    return best


def with_channels(edits: list[RawEdit], changes: Sequence[RawEdit]) -> list[RawEdit]:
    """Add channel changes to the edits of the same instructions, or append them."""
    by_place: Mapping[tuple[Place | None, Place | None], RawEdit] = {(c.old, c.new): c for c in changes}
    merged = []
    for edit in edits:
        change = by_place.get((edit.old, edit.new))
        merged.append(replace(edit, changes=in_order([*edit.changes, *change.changes])) if change else edit)
    taken = {(edit.old, edit.new) for edit in edits}
    return [*merged, *(c for c in changes if (c.old, c.new) not in taken)]


# Fields in which start and done always differ from a plain collective.
_BY_NATURE = frozenset(["opcode", "shape", "layout", "memory_space", "element_type"])


_SPLIT = frozenset([*FAMILIES, "copy"])
"""Opcodes that XLA may split into a `-start` and a `-done`."""
ENDS = frozenset(f"{opcode}-done" for opcode in _SPLIT)


def with_asynchronous(old: ProgramSide, new: ProgramSide, found: ProgramMatch, edits: list[RawEdit]) -> list[RawEdit]:
    """Replace the edits of a collective or a copy that became asynchronous or synchronous by one change.

    Args:
        old, new: the programs as they were matched.
        found: which instructions correspond.
        edits: single edits; order is kept.
    """
    for plain in (0, 1) if any(edit.kind in ("added", "removed") for edit in edits) else ():
        splits = dict(_splits(old.module, new.module, found, edits, plain))
        if splits:
            pairs = [(place, start) if plain == 0 else (start, place) for place, (start, _) in splits.items()]
            edits = outside(edits, equal_callees(old, new, pairs))
            parts = {place for split in splits.values() for place in split}
            kept: list[RawEdit] = []
            reported: set[Place] = set()
            for edit in edits:
                mine, theirs = (edit.old, edit.new) if plain == 0 else (edit.new, edit.old)
                if mine is not None and mine in splits:
                    if mine not in reported:
                        reported.add(mine)
                        kept.append(_change((old.module, new.module), plain, mine, splits[mine], edit.count))
                elif theirs not in parts:
                    kept.append(edit)
            edits = kept
    return edits


def _splits(
    old: Module, new: Module, found: ProgramMatch, edits: list[RawEdit], plain: int
) -> Iterator[tuple[Place, tuple[Place, Place]]]:
    """Collectives and copies that are plain on side `plain` (0 old, 1 new), with their start and done on the other."""
    modules = (old, new)
    gone = [e.old for e in edits if e.kind == "removed" and e.old is not None]
    came = [e.new for e in edits if e.kind == "added" and e.new is not None]
    removed, fresh = (gone, set(came)) if plain == 0 else (came, set(gone))
    # Start, done or both were added with the split.
    if not any(at(modules[1 - plain], place).opcode.endswith(("-start", "-done")) for place in fresh):
        return
    there = paired_places(found)
    mapping = there if plain == 0 else {b: a for a, b in there.items()}
    free = [p for p in removed if at(modules[plain], p).opcode in FAMILIES]  # any copy may stand for any other
    for place in [*mapping, *free]:
        it = at(modules[plain], place)
        family = it.opcode
        if family not in _SPLIT:
            continue
        other = modules[1 - plain]
        for done in _dones(other, mapping.get(place), fresh, family):
            start = (done[0], at(other, done).operands[0])
            mine = {start, done}
            if family == "copy" and mapping.get((place[0], it.operands[0])) != (start[0], at(other, start).operands[0]):
                continue  # of another value
            if (mapping.get(place) in mine and mine & fresh) or (place not in mapping and mine <= fresh):
                yield place, (start, done)
                fresh -= mine
                break


def _dones(module: Module, near: Place | None, fresh: set[Place], family: str) -> list[Place]:
    """Added `-done` instructions of a family, or those whose start was added; the match's own ones first."""
    candidates = []
    for place in sorted(fresh | ({near} if near else set())):
        it = at(module, place)
        if it.opcode == f"{family}-done" and it.operands:
            candidates.append(place)
        elif it.opcode == f"{family}-start":
            owner = module.computations[place[0]]
            users = owner.users[place[1]]
            candidates += [(place[0], n) for n in users if owner.instructions[n].opcode == f"{family}-done"]
    own = [d for d in candidates if near in (d, (d[0], at(module, d).operands[0]))]
    return own if near else candidates


def _change(
    modules: tuple[Module, Module], plain: int, place: Place, parts: tuple[Place, Place], count: int
) -> RawEdit:
    one, start, done = at(modules[plain], place), *(at(modules[1 - plain], part) for part in parts)
    pairs = ((one, start), (one, done)) if plain == 0 else ((start, one), (done, one))
    changes = [c for c in reported_changes(*pairs[0]) if c.field not in _BY_NATURE]
    changes += [c for c in reported_changes(*pairs[1]) if c.field in _BY_NATURE - {"opcode"}]
    words = ("no", "yes") if plain == 0 else ("yes", "no")
    changes.append(FieldChange("attribute:asynchronous", *words))
    places = (place, parts[0]) if plain == 0 else (parts[0], place)
    return RawEdit("changed", *places, in_order(changes), count, "asynchronous")


# A fusion that carries the state of a collective on to the next step has another shape and shares memory.
_CARRYING = frozenset(["shape", "operands", "layout", "backend_config", "attribute:output_to_operand_aliasing"])
_OF_STEPS = frozenset([*FAMILIES, "custom-call", "parameter", "tuple", "bitcast"])


def with_steps(
    edits: tuple[Edit, ...], origins: tuple[int, ...], modules: tuple[Module, Module]
) -> tuple[tuple[Edit, ...], tuple[int, ...]]:
    """Join the edits of a collective that a TPU takes in steps on one side only: it is one that changed.

    Args:
        edits: as reports show them. The script removes one instruction and adds those of the steps, or the reverse.
        origins: for each the index of the script's edit that it is about.
        modules: the old and the new program.
    """
    removed, added = (
        {site.opcode for edit in edits if edit.kind == kind and (site := edit.old or edit.new)}
        for kind in ("removed", "added")
    )
    if removed.isdisjoint(added & {*FAMILIES}):
        return edits, origins
    joined: dict[int, Edit] = {}
    halves: dict[int, int] = {}  # of the joined edit with this index
    rest: dict[int, Edit] = {}
    causes: dict[int, int] = {}
    for side, module in enumerate(modules):  # the one with the steps
        later = continued_steps(module)
        bodies: dict[int, int] = {}
        for olds, news in _plain_and_begun(edits, modules, side, later):
            head = min(*olds, *news)
            spelling = ("in steps", "no") if side == 0 else ("no", "in steps")
            change = FieldChange("attribute:asynchronous", *spelling)
            joined[head] = joined_halves(list(olds.values()), list(news.values()), change)
            halves |= dict.fromkeys((*olds, *news), head)
            for n, edit in (olds, news)[side].items():  # the first step may be grouped with others
                left = tuple(pair for pair in edits[n].sites if pair not in edit.sites)
                rest |= {n: replace(edits[n], sites=left, count=len(left), cost=None, cause=n)} if left else {}
            begun = set(_places(joined[head], side))
            steps = begun.union(place for place, starts in later.items() if not begun.isdisjoint(starts))
            bodies |= {computation: head for computation, _ in steps}
        for n, edit in enumerate(edits if bodies else ()):
            site = edit.sites[0][side] if edit.sites and edit.cause is None and n not in halves else None
            if site is not None and (edit.kind == ("removed", "added")[side] or _CARRYING.issuperset(edit.fields)):
                instructions = module.computations[site.computation].instructions
                it = instructions[site.instruction]
                is_user = it.opcode == "get-tuple-element" or edit.fields == ("operands",)
                given = [callee for operand in it.operands for callee in instructions[operand].called]
                callees = given if is_user else it.called
                inside = (site.computation,) if it.opcode in _OF_STEPS else ()
                causes.update((n, bodies[callee]) for callee in (*inside, *callees) if callee in bodies)
    causes |= {n: causes[edit.cause] for n, edit in enumerate(edits) if n not in causes and edit.cause in causes}
    split = [*(replace(edit, cause=causes.get(n, edit.cause)) for n, edit in enumerate(edits)), *rest.values()]
    return with_joined(split, [*origins, *(origins[n] for n in rest)], joined, halves)


def with_later_steps(edits: tuple[Edit, ...], modules: tuple[Module, Module]) -> tuple[Edit, ...]:
    """Let the later steps of a TPU's collective follow from the edit of its first step: only that one carries bytes.

    Args:
        edits: as reports show them.
        modules: the old and the new program.

    Example:
        >>> with_later_steps((), (Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ()
    """
    causes: dict[int, int] = {}
    for side, kind in enumerate(("removed", "added")):
        lone = [n for n, edit in enumerate(edits) if edit.kind == kind and edit.cause is None and _is_collective(edit)]
        later = continued_steps(modules[side]) if lone else {}
        at = {place: n for n, edit in enumerate(edits if later else ()) for place in _places(edit, side)}
        for n in lone if later else ():
            places = _places(edits[n], side)
            firsts = [at[first] for place in places for first in later.get(place, ()) if first in at]
            if not firsts or any(place not in later for place in places):
                continue
            chain = [firsts[0]]
            while (cause := causes.get(chain[-1], edits[chain[-1]].cause)) is not None:
                chain.append(cause)
            if n not in chain:
                causes[n] = firsts[0]
    return tuple(replace(edit, cause=causes.get(n, edit.cause)) for n, edit in enumerate(edits)) if causes else edits


def _is_collective(edit: Edit) -> bool:
    site = edit.new or edit.old
    return site is not None and site.opcode in FAMILIES


def _places(edit: Edit, side: int) -> list[Place]:
    return [(site.computation, site.instruction) for pair in edit.sites if (site := pair[side])]


def _plain_and_begun(
    edits: Sequence[Edit], modules: tuple[Module, Module], side: int, later: Mapping[Place, Sequence[Place]]
) -> Iterator[tuple[dict[int, Edit], dict[int, Edit]]]:
    """Removed and added collectives that carry the same, as often: plain ones, and on `side` the first steps."""
    begun = {start for starts in later.values() for start in starts}
    found: dict[object, tuple[dict[int, Edit], dict[int, Edit]]] = {}
    for n, edit in enumerate(edits if begun else ()):
        which = int(edit.kind == "added")
        site = edit.sites[0][which] if edit.kind in ("added", "removed") and edit.sites else None
        if site is not None and site.opcode in FAMILIES:
            it, places = site.instruction_in(modules[which]), _places(edit, which)
            half = edit
            if which == side and not begun.issuperset(places):
                first = [pair for pair, one in zip(edit.sites, places, strict=True) if one in begun]
                half = replace(edit, sites=tuple(first), count=len(first) if len(places) == edit.count else 0)
            if half.count and is_step(it) == (which == side):
                groups = it.attribute("replica_groups") or it.attribute("source_target_pairs")
                key = it.opcode, it.shape.bare.text, groups, it.attribute("dimensions"), edit.op_name
                found.setdefault(key, ({}, {}))[which][n] = half
    for olds, news in found.values():
        if olds and sum(edit.count for edit in olds.values()) == sum(edit.count for edit in news.values()):
            yield olds, news


# They take no time, and the printer puts them anywhere.
_NOT_SCHEDULED = frozenset(["parameter", "constant", "get-tuple-element", "tuple", "bitcast"])


def schedule_edits(old: ProgramSide, new: ProgramSide, mappings: Sequence[Mapped]) -> Iterator[RawEdit]:
    """One edit for each computation whose order changed and each instruction whose control edges changed."""
    # Whether the printed order is the order of execution.
    scheduled = [program.module.attribute("is_scheduled") == "true" for program in (old, new)]
    if scheduled[0] != scheduled[1]:
        words = ["scheduled" if is_scheduled else "not scheduled" for is_scheduled in scheduled]
        yield RawEdit("changed", None, None, [FieldChange("schedule", *words)], matcher="schedule")
    steps = [
        _steps(program) if is_scheduled else set() for program, is_scheduled in zip((old, new), scheduled, strict=True)
    ]
    for pair, mapping in mappings:
        if pair.old in steps[0] and pair.new in steps[1]:
            yield from _order_edit(old, new, pair, mapping)
        before = old.module.computations[pair.old].instructions
        after = new.module.computations[pair.new].instructions
        for position, matched in mapping.items():
            ours, theirs = before[position].control_predecessors, after[matched].control_predecessors
            if not ours and not theirs:
                continue
            if sorted(mapping.get(p, -1) for p in ours) != sorted(theirs):
                texts = [
                    ", ".join("%" + its[p].name for p in edges) for its, edges in ((before, ours), (after, theirs))
                ]
                change = FieldChange(
                    "schedule", texts[0] or "no control predecessor", texts[1] or "no control predecessor"
                )
                yield RawEdit("changed", (pair.old, position), (pair.new, matched), [change], matcher="control")


def _steps(program: ProgramSide) -> set[int]:
    """Computations that run step by step: reached from the entry through loops, branches and calls, not fusions."""
    computations = program.module.computations

    def run_in_steps(caller: int) -> Iterator[int]:
        steps = (it for it in computations[caller].instructions if it.opcode in ("while", "conditional", "call"))
        return (callee for it in steps for callee in it.called)

    return set(preorder([program.module.entry], run_in_steps))


def _order_edit(
    old: ProgramSide, new: ProgramSide, pair: ComputationMatch, mapping: Mapping[int, int]
) -> Iterator[RawEdit]:
    before = old.module.computations[pair.old].instructions
    after = new.module.computations[pair.new]
    sequence = [
        mapping[n]
        for n, it in enumerate(before)
        if n in mapping and _NOT_SCHEDULED.isdisjoint((it.opcode, after.instructions[mapping[n]].opcode))
    ]
    if sequence == sorted(sequence):
        return
    late = next(a for a, b in zip(sequence, sorted(sequence), strict=True) if a != b)
    first = next(b for a, b in zip(sequence, sorted(sequence), strict=True) if a != b)
    words = [f"{after.instructions[n].opcode} %{after.instructions[n].name} first" for n in (late, first)]
    old_root, new_root = old.module.computations[pair.old].root, after.root
    change = FieldChange("schedule", *words)
    yield RawEdit("changed", (pair.old, old_root), (pair.new, new_root), [change], matcher="schedule")


def tuning_edits(
    mappings: Sequence[Mapped], tuned: tuple[Module, Module], edits: Sequence[RawEdit], emitters: Sequence[RawEdit]
) -> list[RawEdit]:
    """One edit for each paired or moved instruction whose tiles, warps, stages or algorithm differ.

    Args:
        mappings: all pairs of computations; equal ones included, because tuning is not part of equality.
        tuned: the programs with tuning, indices alike.
        edits: edits of the program channel: moved instructions are compared too, respelled ones are not.
        emitters: edits that are tuning alone, see `is_other_emitter`.
    """
    respelt = [{place for e in edits if e.matcher == "asynchronous" and (place := (e.old, e.new)[n])} for n in (0, 1)]
    paired: list[tuple[Place, Place, int]] = []
    for pair, mapping in mappings:
        inside = [m.computations[c].instructions for m, c in zip(tuned, (pair.old, pair.new), strict=True)]
        for position, matched in mapping.items():
            ours, theirs = inside[0][position], inside[1][matched]
            if ours.opcode == theirs.opcode and ours.attributes == theirs.attributes:
                continue
            one, other = (pair.old, position), (pair.new, matched)
            if one not in respelt[0] and other not in respelt[1]:
                paired.append((one, other, pair.count))
    paired += [(edit.old, edit.new, edit.count) for edit in edits if edit.kind == "moved" and edit.old and edit.new]
    found: list[RawEdit] = []
    chosen = {(edit.old, edit.new) for edit in emitters}
    for old, new, count in paired:
        before, after = at(tuned[0], old), at(tuned[1], new)
        a, b = tuning_of(before), tuning_of(after)
        changes = [FieldChange("backend_config", a or "none", b or "none")] if a != b else []
        if (old, new) in chosen:
            changes.append(FieldChange("fusion_kind", *(it.attribute("kind") or "none" for it in (before, after))))
        if changes:
            found.append(RawEdit("changed", old, new, changes, count, "tuning"))
    return found


def is_other_emitter(tuned: tuple[Module, Module], edit: RawEdit) -> bool:
    """Whether all that an edit changes is which of XLA's emitters for GPUs writes the kernel of one fusion.

    With a GPU attached, XLA times its own loops (`kLoop`, `kInput`) against Triton's tiles (`kCustom` with `__triton`)
    and takes what was faster: two compiles of one program on one H100 differ in this (JAX 0.11.2).
    """
    if edit.kind != "changed" or edit.old is None or edit.new is None:
        return False
    if "fusion_kind" not in (fields := {change.field for change in edit.changes}) or fields - _OF_EMITTERS:
        return False
    sides = [at(module, place) for module, place in zip(tuned, (edit.old, edit.new), strict=True)]
    kinds = [(it.attribute("kind"), split_backend_config(it.attribute("backend_config") or "")[0]) for it in sides]
    return sorted(kind in _NATIVE and not config for kind, config in kinds) == [False, True] and any(
        kind == ("kCustom", _TRITON) for kind in kinds
    )


_OF_EMITTERS = frozenset(["fusion_kind", "backend_config"])
_NATIVE = ("kLoop", "kInput")
_TRITON = '{"fusion_backend_config":{"kind":"__triton"}}'
