"""The report as Markdown: a table of what changed, then the details folded, however long they are."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.report import blocks
from hlodiff.report.escape import markdown
from hlodiff.report.filling import sheet_of
from hlodiff.report.record import Report
from hlodiff.report.rows import MOST_ROWS, rows_of, without_shared
from hlodiff.report.sheet import Sheet
from hlodiff.report.timings import timing_rows

COSTS = "flops and bytes of changes are computed from shapes, cycles are XLA's estimates"
MOST_FINDINGS = 20
_MOST_CHARACTERS = 60_000  # GitHub takes comments of 65,536
_MORE = "--all lists everything"


def to_markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown.

    Args:
        report: what a command found out.

    Returns:
        text ending in a newline; its last line is always the totals. Names and messages of others stand in it as plain
        text, whatever markup they hold.

    Example:
        >>> print(to_markdown(Report("diff", "a", "b", ())), end="")
        ### hlodiff: `a` -> `b`
        <BLANKLINE>
        nothing to compare
    """
    return sheet_to_markdown(sheet_of(report))


def sheet_to_markdown(sheet: Sheet) -> str:
    """The same from what was saved.

    Example:
        >>> sheet_to_markdown(Sheet("diff", "a", "b", ())).split()[:2]
        ['###', 'hlodiff:']
    """
    return "\n".join(_lines(sheet, sheet.all)) + "\n"


def _lines(sheet: Sheet, everything: bool) -> Iterator[str]:
    yield from blocks.title(sheet)
    details = [line for lines in blocks.all_details(sheet, blocks.listed(sheet.details)) for line in lines]
    listed = [*blocks.shared(sheet), *details]
    rows = rows_of(sheet)
    if sum(map(len, listed)) > _MOST_CHARACTERS and not everything:
        rows = without_shared(rows)
        listed = [line for told in sheet.overviews for line in blocks.overview(told)]
        listed += [f"Details would be longer than {_MOST_CHARACTERS:,} characters: {_MORE}.", ""]
    yield from blocks.table(rows[:MOST_ROWS], rows[MOST_ROWS:])
    yield from listed
    yield from blocks.not_checked(sheet, MOST_FINDINGS)
    yield from blocks.findings(sheet.further_findings(), len(sheet.findings))
    yield from closing(sheet)
    yield blocks.totals(sheet)


def closing(sheet: Sheet) -> Iterator[str]:
    """Notes, what the costs are, and how much was compared."""
    for note in sheet.notes:
        yield from (f"- note: {markdown(note)}", "")
    if any(change.cost for detail in sheet.details for group in detail.groups for change in group.changes) or any(
        change.cost for change in sheet.shared
    ):
        yield from (COSTS, "")
    if sheet.timings:
        yield from (*timing_rows(sheet.timings), "")
    if sheet.command == "check":
        yield from (f"checked {markdown(sheet.checked)}", "")
