"""Compares the edits that the differ reports with the true edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.pairs import Pair, PlacedEdit
from benchmarks.workbench import Place, colours
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.hlo.model import Module, is_embedded

# Knock-on edits when a fusion splits or merges, besides the instructions that moved.
_PLUMBING = ("parameter", "fusion", "tuple", "get-tuple-element")


@dataclass(frozen=True, slots=True)
class Said:
    """One site of a reported edit; a place is None if the report has none."""

    kind: str
    fields: tuple[str, ...]
    old: Place | None
    new: Place | None
    opcode: str


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one pair.

    Args:
        exact: whether the report is the true script, at the true places.
        no_longer: whether at most the true number of edits is reported, and at least one if any was made.
        reported: the number of edits in the program channel, without knock-on edits of split fusions.
        true: the true number of edits.
        why: the first error, "" if exact.
    """

    exact: bool
    no_longer: bool
    reported: int
    true: int
    why: str


def judge(pair: Pair, found: ModuleDiff) -> Score:
    """Score one diff against the true edits."""
    said = {
        "program": _sites(pair, found.edits),
        "schedule": _sites(pair, found.schedule),
        "tuning": _sites(pair, found.tuning),
    }
    if pair.fusion_change:
        return _judge_fusions(pair, found, said["program"])
    here = [edit for edit in pair.script if edit.channel == "program"]
    if any(edit.anywhere for edit in here):
        said["program"] = [s for s in said["program"] if not _is_inner_parameter(pair, s)]
    why = _compare(pair, here, said["program"])
    for channel in ("schedule", "tuning"):
        aside = [edit for edit in pair.script if edit.channel == channel]
        if aside and not why:
            why = _compare(pair, aside, said[channel])
            why = f"{channel}: {why}" if why else ""
    if said["tuning"] and not why and all(edit.channel != "tuning" for edit in pair.script):
        why = "tuning reported where none was done"
    count, shown = sum(edit.count for edit in found.edits), _times(pair, said["program"])
    if count != shown and not why:
        why = f"counts {count} edits and shows {shown}"
    true = _times(pair, here)
    return Score(not why, true >= count and (count > 0 or not here), count, true, why)


def _times(pair: Pair, edits: Iterable[PlacedEdit | Said]) -> int:
    """The number of edits, with one in a shared computation counted once per call site."""
    old, new = call_counts(pair.old), call_counts(pair.new)
    counts = [
        [side[place[0]] for side, place in ((old, e.old), (new, e.new)) if place and place[0] >= 0] for e in edits
    ]
    return sum(min(count, default=1) for count in counts)


def call_counts(module: Module) -> dict[int, int]:
    """How many call sites lead to each computation; 1 for the entry and if it is applied to elements or not called.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> call_counts(Module("m", "compiled", (), 0))
        {}
    """
    sites: dict[int, list[int]] = {number: [] for number in range(len(module.computations))}
    for caller, computation in enumerate(module.computations):
        for it in computation.instructions:
            for attribute, callees in it.calls:
                for callee in callees if not is_embedded(it, attribute) else ():
                    sites[callee].append(caller)
    found: dict[int, int] = {}

    def count(number: int) -> int:
        if number not in found:
            found[number] = max(sum(map(count, sites[number])), 1)
        return found[number]

    return {number: count(number) for number in sites}


def _is_inner_parameter(pair: Pair, said: Said) -> bool:
    """Whether it is a parameter added with its computation's call: it only repeats an operand of the call."""
    return said.kind == "added" and said.opcode == "parameter" and (said.new or (-1,))[0] != pair.new.entry


def _judge_fusions(pair: Pair, found: ModuleDiff, said: list[Said]) -> Score:
    kinds = [change.kind for change in found.fusions]
    moved = [s for s in said if s.kind == "moved" and s.opcode not in _PLUMBING]
    others = [s for s in said if s.kind != "moved" and s.opcode not in _PLUMBING]
    halves = [[edit for edit in half if _opcode(pair, edit) not in _PLUMBING] for half in pair.halves]
    lengths = [len(half) for half in halves]
    reported = len(moved) + len(others)
    why = ""
    if others:
        why = f"{others[0].kind} {others[0].opcode} where instructions only moved"
    elif all(_compare(pair, half, moved) for half in halves):
        why = f"moved {len(moved)} instructions, which are neither half of the fusion ({lengths})"
    elif kinds != [pair.fusion_change]:
        why = f"tells of fusions {kinds}, not of one {pair.fusion_change}"
    shortest = min(lengths)
    return Score(not why, 0 < reported <= max(lengths), reported, shortest, why)


def _opcode(pair: Pair, edit: PlacedEdit) -> str:
    module, place = (pair.new, edit.new) if edit.new else (pair.old, edit.old)
    return module.computations[place[0]].instructions[place[1]].opcode if place else ""


def _sites(pair: Pair, edits: Iterable[Edit]) -> list[Said]:
    names = [_names(pair.old), _names(pair.new)]
    found = []
    for edit in edits:
        for old, new in edit.sites or (((None, None),) * edit.count):
            either = new or old
            opcode = either.opcode if either else ""
            fields = tuple(sorted(edit.fields))
            found.append(Said(edit.kind, fields, _place(names[0], old), _place(names[1], new), opcode))
    return found


def _names(module: Module) -> dict[tuple[str, str], Place]:
    """Map names to places. Names are unique within one text, so they identify the place of a reported edit."""
    return {
        (computation.name, it.name): (c, n)
        for c, computation in enumerate(module.computations)
        for n, it in enumerate(computation.instructions)
    }


def _place(names: dict[tuple[str, str], Place], site: Site | None) -> Place | None:
    return None if site is None else names.get((site.computation_name, site.name), (-1, -1))


def _compare(pair: Pair, true: Sequence[PlacedEdit], said: Sequence[Said]) -> str:
    """The first error, "" for none: kinds and fields with their counts, then places."""
    ours, theirs = Counter(_what(e) for e in true), Counter(_what(s) for s in said)
    if ours != theirs:
        missing, extra = ours - theirs, theirs - ours
        return "; ".join(
            f"{word} {', '.join(f'{n} {kind} {list(fields)}' for (kind, fields), n in list(part.items())[:3])}"
            for word, part in (("missing", missing), ("extra", extra))
            if part
        )
    return "" if _same_places(pair, true, said) else "right edits at another place"


def _what(edit: PlacedEdit | Said) -> tuple[str, tuple[str, ...]]:
    return (edit.kind, edit.fields if edit.kind == "changed" else ())


def _same_places(pair: Pair, true: Sequence[PlacedEdit], said: Sequence[Said]) -> bool:
    left = list(said)
    unplaced: list[PlacedEdit] = []
    for edit in true:
        match = next((s for s in left if _what(s) == _what(edit) and _at(edit, s)), None)
        if match is None:
            unplaced.append(edit)
        else:
            left.remove(match)
    if not unplaced:
        return True
    tables = (colours(pair.old), colours(pair.new))
    true_colours = Counter(_coloured(pair, tables, e, e.anywhere) for e in unplaced)
    return true_colours == Counter(_coloured(pair, tables, s, unplaced[0].anywhere) for s in left)


def _at(edit: PlacedEdit, said: Said) -> bool:
    if edit.old is None and edit.new is None:
        return True
    if said.new is not None and said.new in edit.elsewhere:
        return True
    return said.old == edit.old and said.new == edit.new


def _coloured(
    pair: Pair, tables: tuple[dict[Place, str], dict[Place, str]], edit: PlacedEdit | Said, anywhere: bool
) -> tuple[object, ...]:
    """Kind, fields and the colours of both places, so that equivalent edits at different places are equal."""
    sides: list[object] = []
    for module, table, place in ((pair.old, tables[0], edit.old), (pair.new, tables[1], edit.new)):
        if place is None:
            sides.append(None)
        elif place not in table:
            sides.append("nowhere")
        elif anywhere:
            it = module.computations[place[0]].instructions[place[1]]
            sides.append((it.opcode, it.shape))
        else:
            sides.append(table[place])
    return (_what(edit), *sides)
