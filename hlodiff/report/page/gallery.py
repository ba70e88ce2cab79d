"""The drawings of one program: of its largest changes, and of fusions that became others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from hlodiff.diff.result import Edit, FusionChange, ModuleDiff, Site
from hlodiff.ir.model import Stage
from hlodiff.report.edits import fusion_in_words
from hlodiff.report.entries import entries_of
from hlodiff.report.escape import clip, printable
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.drawing import picture
from hlodiff.report.page.listing import Listing
from hlodiff.report.page.matching import Matching, Place, place_of
from hlodiff.report.page.neighbourhood import scenes_of

_CHANGED_FUSIONS = ("split", "merged", "regrouped", "grew", "shrank", "dissolved", "formed")


def drawings_of(
    diff: ModuleDiff,
    stage: Stage,
    root: str,
    matching: Matching,
    listing: Listing | None,
    limits: PageLimits,
    room: int,
) -> tuple[list[dict[str, Any]], int]:
    """Drawings with both sides.

    Args:
        diff: the difference.
        stage: of its programs.
        root: the project's folder.
        matching: both programs.
        listing: where instructions are shown line by line.
        limits: how many drawings there are, and how much is in each.
        room: for how many characters.

    Returns:
        drawings, and how many more there would have been with more room. Each has "what" in words, "change", its number
        in the list of changes (-1 for fusions), "old" and "new".
    """
    made: list[Callable[[], dict[str, Any]]] = [
        partial(_of_fusions, change, matching, listing, limits) for change in _told(diff.fusions, limits)
    ]
    entries = entries_of(diff.edits, stage, root)
    for number, entry in enumerate(entries[: limits.drawings - len(made)]):
        seeds = _seeds(diff.edits[entry.edits[0][1]], diff.edits, entry.edits[0][1])
        made.append(partial(_drawing, entry.what, number, entry.kind, seeds, matching, listing, limits))
    found: list[dict[str, Any]] = []
    for at, make in enumerate(made):
        drawing = make()
        room -= len(json.dumps(drawing))
        if room < 0:
            return found, len(made) - at
        found += [drawing] if drawing["old"] or drawing["new"] else []
    return found, 0


def _told(changes: Iterable[FusionChange], limits: PageLimits) -> list[FusionChange]:
    """Fusions of which something stayed, those that became others before those that grew."""
    told = [change for change in changes if change.kind in _CHANGED_FUSIONS and (change.old or change.new)]
    told.sort(key=lambda change: _CHANGED_FUSIONS.index(change.kind))
    return told[: limits.drawings // 2]


def _seeds(edit: Edit, edits: Sequence[Edit], number: int) -> tuple[list[Place], list[Place]]:
    """The first place of an edit, then those of what follows from it."""
    first = edit.sites[:1]
    following = [pair for other in edits if other.cause == number for pair in other.sites[:2]]
    old, new = ([place_of(pair[side]) for pair in (*first, *following)] for side in (0, 1))
    return [place for place in old if place], [place for place in new if place]


def _of_fusions(
    change: FusionChange, matching: Matching, listing: Listing | None, limits: PageLimits
) -> dict[str, Any]:
    seeds = _inside(change.old, matching, 0), _inside(change.new, matching, 1)
    words = fusion_in_words(change)
    return _drawing(words, -1, "changed", seeds, matching, listing, limits)


def _inside(sites: Sequence[Site], matching: Matching, side: int) -> list[Place]:
    """The fusions, then what is in them: what moved, came or went first."""
    fusions = [place for site in sites[:4] if (place := place_of(site))]
    found: list[Place] = []
    for fusion in fusions:
        for callee in matching.at(side, fusion).called[:1]:
            found += [(callee, n) for n in range(len(matching.body(side, callee).instructions))]
    found.sort(key=lambda place: place not in matching.kinds[side])
    return [*fusions, *found]


def _drawing(
    what: str,
    number: int,
    kind: str,
    seeds: tuple[list[Place], list[Place]],
    matching: Matching,
    listing: Listing | None,
    limits: PageLimits,
) -> dict[str, Any]:
    scenes = scenes_of(matching, seeds, limits.drawn)
    old, new = (picture(matching, side, scene, listing) for side, scene in enumerate(scenes))
    return {"what": clip(printable(what), 120), "change": number, "kind": kind, "old": old, "new": new}
