"""How much of a result goes into one page; the page says what is left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Bounds of a page.

    Args:
        page_bytes: of what programs are shown with, all of them together, packed as they are in the page.
        instructions: of the larger side of a program that is shown line by line.
        line: characters of one instruction.
        programs: rows of the table.
        changes: of one program that are listed.
        sites: of one change that can be visited.
        drawings: of one program.
        drawn: instructions in one drawing, on each side.
        excerpt: lines of Python before and after the one that made a change.
    """

    page_bytes: int = 9_000_000
    instructions: int = 100_000
    line: int = 1_000
    programs: int = 3_000
    changes: int = 400
    sites: int = 500
    drawings: int = 60
    drawn: int = 28
    excerpt: int = 4


PAGE_LIMITS = PageLimits()
