"""What a page shows of one program when it is opened, as JSON: as much as there is room for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hlodiff.diff.compared import Compared
from hlodiff.diff.result import ModuleDiff
from hlodiff.report.escape import printable
from hlodiff.report.numbers import many
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.changes import changes_of, places_of
from hlodiff.report.page.excerpt import Sources
from hlodiff.report.page.gallery import drawings_of
from hlodiff.report.page.listing import Listing, listing_of
from hlodiff.report.page.matching import Matching
from hlodiff.report.page.tables import tables_of

_TOO_MANY = "The programs are not shown line by line: {size:,} instructions are more than {most:,}."
_NO_ROOM = "The programs are not shown line by line: {} do not fit into the page."
_NO_DRAWINGS = "Nothing is drawn: it does not fit into the page."
_NO_CHANGES = "Changes are not listed: they do not fit into the page. JSON has all."
_NOTHING = "Nothing of this program fits into the page. JSON has all."
# Parts of a program's room: lines of listings, and drawings.
_LINES, _DRAWN = 0.6, 0.25
_FEWER = (60, 6)


@dataclass(frozen=True)
class Subject:
    """One program, and what is needed to tell of it."""

    program: Compared
    root: str
    sources: Sources
    limits: PageLimits

    @cached_property
    def matching(self) -> Matching:
        """Which instruction is which, worked out once for all accounts that are tried."""
        assert self.program.diff
        return Matching.of(self.program.diff)


def size_of(program: Compared) -> int:
    """Instructions of the larger side; 0 where nothing has to be told of them."""
    diff = program.diff
    if diff is None or program.status == "identical":
        return 0
    return max(diff.old.instruction_count(), diff.new.instruction_count())


def body_of(subject: Subject, room: int) -> str:
    """The first of ever shorter accounts of a program that fits.

    Args:
        subject: the program.
        room: for how many characters, before they are packed.

    Returns:
        JSON; the shortest account says that nothing fits.
    """
    text = ""
    for value in _accounts(subject, room):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= room:
            break
    return text


def _accounts(subject: Subject, room: int) -> Iterator[dict[str, Any]]:
    """Everything, then without lines, without drawings, with fewer and fewer changes, with numbers alone."""
    program, diff = subject.program, subject.program.diff
    bare: dict[str, Any] = {"tables": tables_of(program), "left_out": [], "limits": []}
    if program.log:
        bare["log"] = printable(program.log[-20_000:], lines=True)
    if diff is None or not (diff.edits or diff.schedule or diff.tuning):
        yield bare
    else:
        bare["limits"] = list(diff.limits)
        words = _NO_ROOM.format(many(size_of(program), "instruction"))
        if size_of(program) > subject.limits.instructions:
            words = _TOO_MANY.format(size=size_of(program), most=subject.limits.instructions)
        else:
            yield from _with_both_sides(subject, diff, bare, room, words)
        yield bare | {"left_out": [words, _NO_DRAWINGS], "changes": _changes(subject, diff, None)}
        for most in _FEWER:
            fewer = replace(subject, limits=replace(subject.limits, changes=most, sites=most))
            yield bare | {"left_out": [words, _NO_DRAWINGS], "changes": _changes(fewer, diff, None)}
        yield bare | {"left_out": [words, _NO_CHANGES]}
    yield {"tables": [], "left_out": [_NOTHING], "limits": []}


def _with_both_sides(
    subject: Subject, diff: ModuleDiff, bare: dict[str, Any], room: int, words: str
) -> Iterator[dict[str, Any]]:
    matching = subject.matching
    listing = listing_of(matching.script, diff, places_of(diff), subject.root, int(room * _LINES), subject.limits)
    for shown in (listing, None) if listing else (None,):
        drawings, missing = drawings_of(
            diff, subject.program.stage, subject.root, matching, shown, subject.limits, int(room * _DRAWN)
        )
        said = list(shown.left_out) if shown else [words]
        said += [f"{many(missing, 'drawing')} left out: there is no room for more in the page."] if missing else []
        value = bare | {"left_out": said, "changes": _changes(subject, diff, shown), "drawings": drawings}
        yield value | ({"cut": shown.cut, "listing": shown.value} if shown else {})


def _changes(subject: Subject, diff: ModuleDiff, listing: Listing | None) -> dict[str, Any]:
    return changes_of(diff, subject.program.stage, subject.root, listing, subject.sources, subject.limits)
