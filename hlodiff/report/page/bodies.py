"""What a page shows of each program when it is opened, as plain values; equal ones once, all of them bounded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hlodiff.diff.compared import Compared
from hlodiff.diff.result import ModuleDiff
from hlodiff.report.edits import fusion_in_words
from hlodiff.report.escape import printable
from hlodiff.report.numbers import many
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.changes import changes_of, places_of
from hlodiff.report.page.excerpt import Sources
from hlodiff.report.page.listing import Listing, listing_of
from hlodiff.report.page.tables import tables_of
from hlodiff.report.record import Report

_LINE = 60  # characters that a line of a listing takes at least


@dataclass(slots=True)
class Bodies:
    """Texts of JSON, and for each program of the report which of them is its own; -1 for none."""

    texts: list[str] = field(default_factory=list)
    of_program: list[int] = field(default_factory=list)


def bodies_of(report: Report, limits: PageLimits) -> Bodies:
    """Everything that a page shows of single programs.

    Small programs come first in taking room, so that a single large one does not leave nothing for the others.

    Args:
        report: what a command found out.
        limits: how much goes into a page.
    """
    sources = Sources(report.root, limits.excerpt)
    order = sorted(range(len(report.programs)), key=lambda n: (_size(report.programs[n]), n))
    texts: dict[str, int] = {}
    found = [-1] * len(report.programs)
    room = limits.page_bytes
    for at, number in enumerate(order):
        program = report.programs[number]
        if not has_body(program):
            continue
        share = room if at == len(order) - 1 else min(room, max(room // (len(order) - at) * 8, 100_000))
        text = _text_of(program, report, sources, share, limits)
        room -= len(text) if text not in texts else 0
        found[number] = texts.setdefault(text, len(texts))
    return Bodies(list(texts), found)


def has_body(program: Compared) -> bool:
    """Whether there is more to say of a program than its row of the table does."""
    return program.diff is not None or bool(program.op_count_pairs()) or bool(program.log)


def _size(program: Compared) -> int:
    diff = program.diff
    if diff is None or program.status == "identical":
        return 0
    return max(diff.old.instruction_count(), diff.new.instruction_count())


def _text_of(program: Compared, report: Report, sources: Sources, room: int, limits: PageLimits) -> str:
    """The program's part of the page as JSON; where it is too long even without listings, without changes too."""
    diff = program.diff
    value: dict[str, Any] = {"tables": tables_of(program), "left_out": [], "limits": []}
    if program.log:
        value["log"] = printable(program.log[-20_000:], lines=True)
    if diff is None or not (diff.edits or diff.schedule or diff.tuning):
        return _json(value)
    value |= {"limits": list(diff.limits), "ignored": dict(diff.ignored)}
    value["fusions"] = [fusion_in_words(change) for change in diff.fusions]
    listing, words = _listing(program, diff, report.root, room, limits)
    value["left_out"] += words
    value["cut"] = listing.cut if listing else []
    value["changes"] = changes_of(diff, program.stage, report.root, listing, sources, limits)
    value["listing"] = listing.value if listing else None
    text = _json(value)
    if len(text) <= 2 * room or listing is None:
        return text
    value["listing"] = None
    value["changes"] = changes_of(diff, program.stage, report.root, None, sources, limits)
    value["cut"] = []
    value["left_out"] = ["The programs are not shown line by line: they do not fit into the page."]
    return _json(value)


def _listing(
    program: Compared, diff: ModuleDiff, root: str, room: int, limits: PageLimits
) -> tuple[Listing | None, list[str]]:
    size = _size(program)
    if size > limits.instructions:
        words = f"The programs are not shown line by line: {size:,} instructions are more than {limits.instructions:,}."
        return None, [words]
    listing = listing_of(diff, places_of(diff), root, room, limits)
    if listing is None:
        return None, [f"The programs are not shown line by line: {many(size, 'instruction')} do not fit into the page."]
    return listing, listing.left_out


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def embedded(texts: Sequence[str]) -> list[str]:
    """JSON that can stand inside of a `script` element, and holds no line end that JavaScript does not know.

    Example:
        >>> embedded(['"</script>"'])
        ['"\\\\u003c/script\\\\u003e"']
    """
    escapes = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
    return [text.translate(escapes) for text in texts]
