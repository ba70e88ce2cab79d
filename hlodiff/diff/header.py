"""Differences of the module itself: donation, entry layout, partitions, attributes of the header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hlodiff.diff.edits import RawEdit
from hlodiff.diff.placement import donated_parts
from hlodiff.diff.result import FieldChange
from hlodiff.ir.hlo_tokens import split_commas
from hlodiff.ir.model import Module

# Compared elsewhere (parameters, the root, the schedule) or merely a name.
_ELSEWHERE = frozenset(["input_output_alias", "buffer_donor", "is_scheduled", "entry_computation_layout"])


def donations(module: Module) -> dict[tuple[int, str], str]:
    """Donated arguments: (parameter number, index inside it) -> "output {0}", or "any output" for mere donors."""
    found: dict[tuple[int, str], str] = {}
    for one in donated_parts(module):
        must = ", must alias" if one.kind == "must-alias" else ""
        found[one.parameter, one.inside] = "any output" if one.result is None else f"output {{{one.result}}}{must}"
    return found


def header_edits(old: Module, new: Module, partner: Mapping[int, int]) -> list[RawEdit]:
    """Edits of the header; `partner` maps old entry parameter numbers to new ones.

    Args:
        old, new: the modules.
        partner: which new entry parameter each old one is, by number.
    """
    edits: list[RawEdit] = []
    places = [_entry_places(module) for module in (old, new)]
    ours, theirs = donations(old), donations(new)
    back = {b: a for a, b in partner.items()}
    keys = dict.fromkeys([*((n, partner.get(n), i) for n, i in ours), *((back.get(n), n, i) for n, i in theirs)])
    for before, after, index in keys:
        a = ours.get((before, index), "") if before is not None else ""
        b = theirs.get((after, index), "") if after is not None else ""
        if a != b and before is not None and after is not None:
            change = FieldChange("alias", a or "not donated", b or "not donated")
            edits.append(RawEdit("changed", places[0].get(before), places[1].get(after), [change], matcher="header"))
    ours_rest, theirs_rest = dict(old.attributes), dict(new.attributes)
    for name in sorted({*ours_rest, *theirs_rest} - _ELSEWHERE):
        if ours_rest.get(name) != theirs_rest.get(name):
            change = FieldChange(f"attribute:{name}", ours_rest.get(name, ""), theirs_rest.get(name, ""))
            edits.append(RawEdit("changed", None, None, [change], matcher="header"))
    return edits


def entry_layout_edit(old: Module, new: Module, others: Sequence[RawEdit]) -> list[RawEdit]:
    """The entry layout says again what parameters and the root say; it counts only where they say nothing."""
    name = "entry_computation_layout"
    ours, theirs = _unmarked(old.attribute(name)), _unmarked(new.attribute(name))
    entries = (old.entry, new.entry)
    told = any(
        place is not None and place[0] == entry
        for edit in others
        for place, entry in zip((edit.old, edit.new), entries, strict=True)
    )
    if ours == theirs or not ours or not theirs or told:
        return []
    return [RawEdit("changed", None, None, [FieldChange("layout", ours, theirs)], matcher="header")]


def _unmarked(text: str | None) -> str:
    return ", ".join(split_commas(re.sub(r"/\*.*?\*/", "", text or "")))


def _entry_places(module: Module) -> dict[int, tuple[int, int]]:
    entry = module.entry_computation
    return {int(entry.instructions[p].literal or 0): (module.entry, p) for p in entry.parameters()}
