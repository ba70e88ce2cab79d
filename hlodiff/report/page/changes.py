"""The changes of one program as a page lists them: root causes first, what follows from them below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hlodiff.diff.result import Edit, ModuleDiff, Site
from hlodiff.ir.model import Stage
from hlodiff.report.costs import cost_in_words
from hlodiff.report.edits import change_in_words, edit_in_words, told_changes
from hlodiff.report.entries import Entry, entries_of, follows_in_words
from hlodiff.report.escape import clip, printable
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.excerpt import Sources
from hlodiff.report.page.listing import Listing
from hlodiff.report.page.matching import Place, place_of

_CHANNELS = ("edits", "schedule", "tuning")
_MOST_FRAMES = 60
_LONGEST = 600


def changes_of(
    diff: ModuleDiff, stage: Stage, root: str, listing: Listing | None, sources: Sources, limits: PageLimits
) -> dict[str, Any]:
    """All changes of a program, by channel.

    Args:
        diff: the difference.
        stage: of its programs.
        root: the project's folder.
        listing: where the instructions are shown; None where they are not.
        sources: Python files of the project.
        limits: how much is listed.

    Returns:
        for each channel with changes its list; "more" counts the entries that are not listed.
    """
    found: dict[str, Any] = {}
    for channel in _CHANNELS:
        edits: tuple[Edit, ...] = getattr(diff, channel)
        entries = entries_of(edits, stage, root)
        shown = [_change(entry, edits, listing, sources, limits) for entry in entries[: limits.changes]]
        found[channel] = {"list": shown, "more": max(len(entries) - limits.changes, 0)}
    return found


def places_of(diff: ModuleDiff) -> tuple[set[Place], set[Place]]:
    """Where both programs were edited, in any channel."""
    found: tuple[set[Place], set[Place]] = (set(), set())
    for edit in (*diff.edits, *diff.schedule, *diff.tuning):
        for pair in edit.sites:
            for side, site in zip(found, pair, strict=True):
                if site:
                    side.add((site.computation, site.instruction))
    return found


def _change(
    entry: Entry, edits: Sequence[Edit], listing: Listing | None, sources: Sources, limits: PageLimits
) -> dict[str, Any]:
    own = [edits[number] for _, number in entry.edits]
    roots = {number for _, number in entry.edits}
    followers = [edit for edit in edits if edit.cause in roots]
    first = own[0]
    value: dict[str, Any] = {
        "kind": entry.kind,
        "count": entry.count,
        "what": _plain(entry.what),
        "where": _plain(entry.where),
        "cost": cost_in_words(*entry.cost),
        "scope": _plain(first.op_name or ""),
        "fields": _fields(first),
        "texts": [_text(first.old), _text(first.new)],
        "stack": [_plain(frame) for frame in entry.stack[:_MOST_FRAMES]],
        "source": sources.excerpt(first.source),
        "follows": follows_in_words(entry),
    }
    value["sites"] = _sites(own, listing, limits)
    value["followers"] = [
        {"kind": edit.kind, "count": edit.count, "what": _plain(edit_in_words(edit)),
         "sites": _sites([edit], listing, limits)}
        for edit in followers[: limits.changes // 4]
    ]  # fmt: skip
    value["more"] = max(len(followers) - limits.changes // 4, 0)
    return value


def _fields(edit: Edit) -> list[list[str]]:
    """Field, old and new value, in words."""
    told = []
    for change in edit.changes:
        if change.field in ("opcode", "computation") or change in told_changes(edit):
            words = change_in_words(change, edit)
            name, colon, values = words.partition(": ")
            old, arrow, new = values.partition(" -> ")
            told.append([name, old, new] if colon and arrow else [words, "", ""])
    return [[_plain(part) for part in row] for row in told]


def _sites(edits: Iterable[Edit], listing: Listing | None, limits: PageLimits) -> list[list[int]]:
    """Lines of the old and of the new side, -1 for none."""
    found: list[list[int]] = []
    for edit in edits:
        for old, new in edit.sites if listing else ():
            lines = listing.site(place_of(old), place_of(new)) if listing else [-1]
            if max(lines) >= 0:
                found.append(lines)
    return found[: limits.sites]


def _text(site: Site | None) -> str:
    return _plain(site.text) if site else ""


def _plain(text: str) -> str:
    return clip(printable(text), _LONGEST)
