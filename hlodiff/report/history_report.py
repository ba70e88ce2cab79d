"""The history of recorded programs for people: sparklines, then a line for each commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from hlodiff.history import History, Row, changes
from hlodiff.report.escape import clip, code, markdown, printable, unordered
from hlodiff.report.history_words import (
    both_in_words,
    delta_in_words,
    head_in_words,
    notes_of,
    summary_in_words,
    value_in_words,
)
from hlodiff.report.sparkline import sparkline

_LEAST_SUBJECT = 24  # columns: below that a subject gets a line of its own
_WIDEST_SPARK, _SMALL_SPARK = 40, 16
_BELOW = 11  # what is said of a commit stands below its date
_NO_SUBJECT = "(no subject)"


@dataclass(frozen=True, slots=True)
class Shown:
    """One history as it is to be shown.

    Args:
        history: of one program.
        metrics: the columns.
        stage: which of its two programs the numbers are of.
        most: how many commits are listed; 0 for all.
    """

    history: History
    metrics: tuple[str, ...]
    stage: str
    most: int = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """The listed rows, newest first."""
        return self.history.rows[: self.most] if self.most else self.history.rows

    @property
    def untold(self) -> int:
        """How many older rows are not listed."""
        return len(self.history.rows) - len(self.rows)


def history_text(shown: Sequence[Shown], *, width: int = 100, ascii_only: bool = False) -> str:
    """The report for a terminal.

    Args:
        shown: histories.
        width: columns of the window, at least 40.
        ascii_only: whether the terminal shows ASCII alone.

    Returns:
        text ending in a newline.
    """
    width = max(width, 40)
    blocks = ["".join(f"{unordered(line)}\n" for line in _block(one, width, ascii_only)) for one in shown]
    return "\n".join(blocks)


def overview_text(shown: Sequence[Shown], *, width: int = 100, ascii_only: bool = False) -> str:
    """A line for each history: its first metric, and the commit that changed it last or removed it all.

    Args:
        shown: histories.
        width: columns of the window, at least 40.
        ascii_only: whether the terminal shows ASCII alone.

    Returns:
        text ending in a newline; "" for none.
    """
    # What was renamed goes on under its new name.
    rows = [_in_one_line(one, ascii_only) for one in shown if not one.history.successor]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)]
        lines.append(fitted("  ".join(cells).rstrip(), max(width, 40)))
    return "".join(f"{unordered(line)}\n" for line in lines)


def _in_one_line(one: Shown, ascii_only: bool) -> tuple[str, ...]:
    metric, line = one.metrics[0], one.history.line()
    marks = sparkline([row.value(metric) for row in line], width=_SMALL_SPARK, ascii_only=ascii_only)
    found = changes(one.history, metric)
    last = found[-1].row if found else line[0]
    word = "changed" if found else "recorded"
    if line[-1].status == "removed":
        word, last = "removed", line[-1]
    words = summary_in_words(one.history, metric)
    return printable(one.history.label), metric, marks, words, f"{word} {last.commit.day} {last.commit.short}"


def _block(one: Shown, width: int, ascii_only: bool) -> Iterator[str]:
    yield clip(printable(head_in_words(one.history, one.stage)), width)
    names = max(map(len, one.metrics))
    room = min(_WIDEST_SPARK, max(8, width - names - 36))
    for metric in one.metrics:
        line = [row.value(metric) for row in one.history.line()]
        marks = sparkline(line, width=room, ascii_only=ascii_only)
        yield clip(f"  {metric:<{names}}  {marks}  {summary_in_words(one.history, metric)}", width)
    yield ""
    table = _columns(one)
    if width - len(table[0]) - 2 >= _LEAST_SUBJECT:
        yield from _wide(one, table, width)
    else:
        yield from _narrow(one, width)
    if one.untold:
        yield f"  ... and {one.untold:,} older, -n 0 lists all"


def _columns(one: Shown) -> list[str]:
    """The table without subjects: a head, then a line for each row."""
    cells = [[(value_in_words(m, row.value(m)), _delta(m, row)) for m in one.metrics] for row in one.rows]
    lines = [f"{'commit':<7}  {'date':<10}", *(f"{row.commit.short}  {row.commit.day:<10}" for row in one.rows)]
    for number, metric in enumerate(one.metrics):
        values = max(len(row[number][0]) for row in cells)
        deltas = max(len(row[number][1]) for row in cells)
        size = max(len(metric), values + (deltas + 1 if deltas else 0))
        values = size - (deltas + 1 if deltas else 0)
        words = [
            f"{v:>{values}} {d:<{deltas}}" if deltas else f"{v:>{values}}" for v, d in (row[number] for row in cells)
        ]
        lines = [f"{line}  {word}" for line, word in zip(lines, [f"{metric:>{size}}", *words], strict=True)]
    return [f"  {line}" for line in lines]


def _delta(metric: str, row: Row) -> str:
    return delta_in_words(metric, row.old_value(metric), row.value(metric))


def _wide(one: Shown, table: Sequence[str], width: int) -> Iterator[str]:
    yield f"{table[0]}  subject"
    for row, line in zip(one.rows, table[1:], strict=True):
        yield fitted(f"{line}  {_subject(row)}", width)
        for note in notes_of(row, one.history, one.metrics):
            yield from wrapped(note, width, _BELOW)


def _narrow(one: Shown, width: int) -> Iterator[str]:
    """Several lines for each commit: which it is, and the numbers that it changed."""
    for row in one.rows:
        yield fitted(f"  {row.commit.short}  {row.commit.day}  {_subject(row)}", width)
        for metric in one.metrics:
            old, new = row.old_value(metric), row.value(metric)
            if new is not None and old != new:
                yield from wrapped(f"{metric} {both_in_words(metric, old, new)}", width, _BELOW)
        for note in notes_of(row, one.history, one.metrics):
            yield from wrapped(note, width, _BELOW)


def _subject(row: Row) -> str:
    return printable(row.commit.subject.strip()) or _NO_SUBJECT


def wrapped(sentence: str, width: int, indent: int, title: str = "") -> Iterator[str]:
    """A sentence that others may have written, behind a title, wrapped at spaces; further lines stand deeper.

    Args:
        sentence: anything.
        width: columns of the window.
        indent: columns before it.
        title: stands before the first line only.

    Returns:
        lines without their ends.
    """
    room = width - indent - len(title)
    lines = [""]
    for word in printable(sentence).split(" "):
        if lines[-1].strip() and columns_of(lines[-1]) + 1 + columns_of(word) > room:
            lines.append(" " if not title else "")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    for number, line in enumerate(lines):
        yield (" " * indent + (" " * len(title) if number else title) + line).rstrip()


def columns_of(text: str) -> int:
    """How many columns a terminal takes for a text.

    Example:
        >>> columns_of("abc"), columns_of("日本")
        (3, 4)
    """
    return len(text) + (0 if text.isascii() else sum(map(_more_columns, text)))


def _more_columns(char: str) -> int:
    return -1 if combining(char) else int(east_asian_width(char) in "WF")


def fitted(text: str, width: int) -> str:
    """The text cut to the columns of a terminal, the cut marked.

    Example:
        >>> fitted("日本語", 5), fitted("abc", 5)
        ('日...', 'abc')
    """
    if columns_of(text) <= width:
        return text
    while columns_of(text) > max(width - 3, 0):
        text = text[:-1]
    return f"{text}..."


def history_markdown(shown: Sequence[Shown]) -> str:
    """The report as Markdown.

    Args:
        shown: histories.

    Returns:
        a table for each history; what others wrote stands in it as plain text.
    """
    return "\n".join("".join(f"{line}\n" for line in _markdown(one)) for one in shown)


def _markdown(one: Shown) -> Iterator[str]:
    yield f"### {markdown(head_in_words(one.history, one.stage))}"
    yield ""
    for metric in one.metrics:
        marks = sparkline([row.value(metric) for row in one.history.line()], width=_WIDEST_SPARK)
        yield f"- {code(metric)} {marks} {markdown(summary_in_words(one.history, metric))}"
    yield ""
    yield "| commit | date | " + " | ".join(map(markdown, one.metrics)) + " | subject |"
    yield "| --- | --- |" + " ---: |" * len(one.metrics) + " --- |"
    for row in one.rows:
        cells = " | ".join(markdown(_cell(metric, row)) for metric in one.metrics)
        notes = notes_of(row, one.history, one.metrics)
        words = "; ".join([row.commit.subject.strip() or _NO_SUBJECT, *notes])
        yield f"| {code(row.commit.short)} | {row.commit.day} | {cells} | {markdown(words)} |"
    if one.untold:
        yield ""
        yield f"... and {one.untold:,} older, `-n 0` lists all"


def _cell(metric: str, row: Row) -> str:
    delta = _delta(metric, row)
    return " ".join(filter(None, (value_in_words(metric, row.value(metric)), f"({delta})" if delta else "")))
