"""Differences of the module itself: donation, entry layout, partitions, attributes of the header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hlodiff.differ.edits import RawEdit
from hlodiff.differ.placement import donated_parts
from hlodiff.differ.result import FieldChange
from hlodiff.hlo.grammar import closing, split_commas
from hlodiff.hlo.model import Module

# Compared elsewhere (parameters, the root, the schedule) or merely a name.
_ELSEWHERE = frozenset(["input_output_alias", "buffer_donor", "is_scheduled", "entry_computation_layout"])


def header_donations(module: Module) -> dict[tuple[int, str], str]:
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
    ours, theirs = header_donations(old), header_donations(new)
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


def entry_layout_edit(old: Module, new: Module, partners: Mapping[int, int]) -> list[RawEdit]:
    """The entry layout says again what parameters and the root say; it counts only where it says more than they do.

    Args:
        old, new: the modules.
        partners: which new instruction of the entry each old one is.
    """
    name = "entry_computation_layout"
    ours, theirs = _unmarked(old.attribute(name)), _unmarked(new.attribute(name))
    if ours == theirs or not ours or not theirs or not any(_layouts_differ(old, new, partners, ours, theirs)):
        return []
    return [RawEdit("changed", None, None, [FieldChange("layout", ours, theirs)], matcher="header")]


def _layouts_differ(old: Module, new: Module, partners: Mapping[int, int], ours: str, theirs: str) -> Iterator[bool]:
    """Whether arguments and results that have one shape on both sides are laid out otherwise by the header."""
    (olds, old_result), (news, new_result) = _layout_parts(ours), _layout_parts(theirs)
    before, after = old.entry_computation, new.entry_computation
    for position, partner in partners.items():
        one, other = before.instructions[position], after.instructions[partner]
        if one.opcode == other.opcode == "parameter" and one.shape == other.shape:
            yield olds.get(int(one.literal or 0)) != news.get(int(other.literal or 0))
    if before.instructions[before.root].shape == after.instructions[after.root].shape:
        yield old_result != new_result


def _layout_parts(text: str) -> tuple[dict[int, str], str]:
    """`{(f32[8]{0}, s32[])->f32[8]{0}}` as its arguments by number, and its result."""
    end = closing(text, 1) if text.startswith("{(") else 0
    parts = split_commas(text[2:end]) if end else []
    return {n: part.strip() for n, part in enumerate(parts)}, text[end + 1 :]


def _unmarked(text: str | None) -> str:
    return ", ".join(split_commas(re.sub(r"/\*.*?\*/", "", text or "")))


def _entry_places(module: Module) -> dict[int, tuple[int, int]]:
    entry = module.entry_computation
    return {int(entry.instructions[p].literal or 0): (module.entry, p) for p in entry.parameters()}
