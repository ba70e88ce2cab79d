"""A report in twenty lines of text: a row for each function, findings, totals."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.report.alike import alike, first_of_rules
from hlodiff.report.escape import clip, printable, unordered
from hlodiff.report.numbers import many
from hlodiff.report.rows import Row, functions_in, rows_of
from hlodiff.report.sheet import Sheet
from hlodiff.report.totals import totals_in_words

MOST_ROWS = 12
_MOST_REASONS = 5


def row_in_words(row: Row) -> str:
    """`train_step on cpu: numerics; ops 57 -> 61, temp 64.0 KiB -> 56.0 KiB`.

    Example:
        >>> row_in_words(Row("f", ("cpu",), "cost", "m.py:3", (("ops", "1 -> 2"),), False, 1))
        'f on cpu: cost; ops 1 -> 2'
    """
    cells = ", ".join(
        words if column == "collectives" else f"{column} {words}" for column, words in row.cells if not _is_long(column)
    )
    return "; ".join(filter(None, (f"{row.label}: {row.change}", cells)))


def _is_long(column: str) -> bool:
    return column == "most changed scopes"


def to_brief(sheet: Sheet, width: int = 100) -> str:
    """A sheet as text, cut to a window.

    Args:
        sheet: what a report says.
        width: columns of the window.

    Returns:
        text ending in a newline; its last line is the totals.

    Example:
        >>> to_brief(Sheet("diff", "a", "b", ()))
        'nothing to compare\\n'
    """
    lines = [unordered(clip(printable(line), max(width, 40))) for line in _lines(sheet)]
    return "".join(f"{line}\n" for line in [*lines, unordered(printable(totals_in_words(sheet)))])


def _lines(sheet: Sheet) -> Iterator[str]:
    for change in sheet.toolchain:
        on = f" ({', '.join(change.targets)})" if change.targets else ""
        yield f"toolchain differs: {change.what} {change.old} -> {change.new}{on}"
    rows = rows_of(sheet)
    for row in rows[:MOST_ROWS]:
        yield "  ".join(filter(None, (row_in_words(row), row.where)))
    yield from _more(functions_in(rows[MOST_ROWS:]), "function")
    groups = first_of_rules(alike(sheet.further_findings()))
    for (finding, *_), about, more in groups[:MOST_ROWS]:
        of = f" ({about.of})" if about.of else ""
        yield f"{about.label}: {finding.rule}: {finding.what}{of}{f' and {more:,} more' if more else ''}"
    yield from _more(sum(len(group) + more for group, _, more in groups[MOST_ROWS:]), "finding")
    reasons: dict[tuple[bool, str], set[tuple[str, str | None]]] = {}
    for program in sheet.programs:
        if program.status == "not_checked":
            key = (program.broken, program.reason.partition("\n")[0])
            reasons.setdefault(key, set()).add((program.name, program.target))
    for (broken, reason), labels in list(reasons.items())[:_MOST_REASONS]:
        yield f"{many(len(labels), 'program')} {'could not be judged' if broken else 'not checked'}: {reason}"
    yield from _more(len(reasons) - _MOST_REASONS, "reason")
    yield from (f"note: {note}" for note in sheet.notes[:_MOST_REASONS])


def _more(left: int, what: str) -> Iterator[str]:
    if left > 0:
        yield f"... and {many(left, f'more {what}')}"
