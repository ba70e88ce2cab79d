"""The report of `log`: sparklines and one line per commit for people; JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import combining, east_asian_width

from hlodiff.config import is_bytes
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.integrations.history.rows import History, HistoryRow, changes, comparable
from hlodiff.report.lines import clip, code, escape_markdown, json_text, printable, unordered
from hlodiff.report.wording import format_bytes, format_change, format_count, format_pair, many, sparkline

UNSHALLOW = "this clone is shallow; `git fetch --unshallow` brings the rest"
_MOST_FRESH = 4
_MANY_TIMES = 10
_EXACT = 1e6  # larger changes are shown in percent


def format_value(metric: str, value: float | None) -> str:
    """A metric with its unit; "" if unknown.

    Example:
        >>> format_value("temp_bytes", 2048), format_value("fusions", 12), format_value("flops", None)
        ('2.0 KiB', '12', '')
    """
    if value is None:
        return ""
    return format_bytes(value) if is_bytes(metric) else format_count(value)


def format_delta(metric: str, old: float | None, new: float | None) -> str:
    """The change of a metric, short: the difference for small counts, percent for the rest; "" if unchanged.

    Example:
        >>> format_delta("fusions", 3, 5), format_delta("temp_bytes", 2048, 1024), format_delta("fusions", 3, 3)
        ('+2', '-50 %', '')
    """
    if old is None or new is None or old == new:
        return ""
    if not is_bytes(metric) and max(abs(old), abs(new)) < _EXACT:
        return f"{new - old:+,.0f}"
    return _change(metric, old, new)


def _change(metric: str, old: float, new: float) -> str:
    """The change in percent; if that is not informative, the factor, or the difference with its unit."""
    words = format_change(old, new)
    if not old or not new:
        return words
    if new / old >= _MANY_TIMES:
        return f"{new / old:,.0f} times"
    if words == "-100 %":  # almost all, but not all
        return f"{max(100 * (new - old) / old, -99.9):.1f} %"
    return f"{new - old:+,.0f} B" if is_bytes(metric) and not words.endswith("%") else words


def format_both(metric: str, old: float | None, new: float | None, comparable: bool = True) -> str:
    """Both sides and the change: `2.0 KiB -> 1.0 KiB (-50 %)`; without the change if the loops of both differ.

    Example:
        >>> format_both("fusions", 3, 4), format_both("fusions", 3, 3), format_both("temp_bytes", 40962, 40960)
        ('3 -> 4 (+33 %)', '3', '40,962 -> 40,960 (-2 B)')
    """
    before, after = format_value(metric, old), format_value(metric, new)
    if old is None or new is None or old == new:
        return after or before
    if before == after:
        before, after = f"{old:,.15g}", f"{new:,.15g}"
    return format_pair(before, after) + (f" ({_change(metric, old, new)})" if old and new and comparable else "")


def format_toolchain(row: HistoryRow) -> tuple[str, ...]:
    """The toolchain changes of a commit: `jax 0.9.2 -> 0.10.2`; a jaxlib that follows its jax is not listed."""
    changes = row.toolchain()
    jax = next(((one.old, one.new) for one in changes if one.what == "jax"), None)
    shown = [one for one in changes if not (one.what == "jaxlib" and (one.old, one.new) == jax)]
    return tuple(f"{one.what} {format_pair(_value(one.old), _value(one.new))}" for one in shown)


def notes_of(row: HistoryRow, history: History, metrics: Sequence[str]) -> tuple[str, ...]:
    """Notes on a commit beside its numbers.

    Args:
        row: the commit.
        history: its history.
        metrics: the shown metrics, so that notes can report changes of others.

    Returns:
        sentences without markup, unescaped, most important first.
    """
    return tuple(_notes(row, history, metrics))


def _notes(row: HistoryRow, history: History, metrics: Sequence[str]) -> Iterator[str]:
    if row.status == "unreadable":
        assert row.now is not None
        file = "traces.yaml" if history.kind == "scenario" else "summary.yaml"
        is_sentence = row.now.problem.startswith(("is ", "holds "))
        yield f"{file} {row.now.problem}" if is_sentence else f"{file} cannot be read: {row.now.problem}"
    if row.status == "removed":
        newest = row is next((one for one in history.rows if not one.step.aside), None)
        yield f"renamed: continues as {history.successor}" if newest and history.successor else "removed"
    if row.step.aside:
        yield "on a side branch: the merge has another version"
    changed = format_toolchain(row)
    if changed:
        yield f"toolchain: {', '.join(changed)}{_by_compiler(row)}"
    if row.recounted and row.before is not None and row.now is not None:
        versions = f"format {format_pair(row.before.version, row.now.version)}"
        yield f"counted differently since here ({versions}); numbers before are not comparable"
    once = [metric for metric in metrics if not row.comparable(metric)]
    if once:
        verb = "counts" if len(once) == 1 else "count"
        yield f"other loops than before: {', '.join(once)} {verb} each loop body once"
    if row.since and row.status == "changed":
        yield f"compared with {row.since.short}, the newest before it that can be read"
    if row.step.was:
        yield f"renamed from {_old_name(row)}"
    if row.again:
        yield "recorded again"
    if row.merge and row.status == "changed":
        yield "merge: neither parent's version"
    rewritten = row.recounted and not row.other_programs()
    if row.status == "changed" and (rewritten or all(row.value(m) == row.old_value(m) for m in metrics)):
        yield from _same_numbers(row, history)
    if row.ends == "begins":
        others = ", ".join(dict.fromkeys(history.predecessors))
        yield "history begins here" + (f"; the same commit removed {others}, another program" if others else "")
    elif row.ends == "shallow":
        yield f"history ends here: {UNSHALLOW}"


def _by_compiler(row: HistoryRow) -> str:
    programs = row.other_programs()
    if programs == ("compiled",):
        return " (StableHLO is the same, so the compiler did this)"
    return "" if programs else " (the same programs)"


def _same_numbers(row: HistoryRow, history: History) -> Iterator[str]:
    programs = row.other_programs()
    if row.before is None or row.step.was or (not programs and format_toolchain(row)):
        return
    if not programs:
        fresh = [name for name in row.now.values if name not in row.before.values] if row.now else []
        same = "the same programs" if row.before != row.now else "the same summary: other files of the snapshot changed"
        yield f"{same}, recorded with {', '.join(fresh[:_MOST_FRESH])}" if fresh else same
    elif history.kind == "scenario":
        yield f"other programs of {', '.join(programs)}, the same counts"
    else:
        yield f"these numbers are the same; {' and '.join(STAGE_NAMES.get(one, one) for one in programs)} changed"


def _old_name(row: HistoryRow) -> str:
    """The old name of a function; if it is the same, or other snapshots had it, the folder."""
    step = row.step
    own = "/".join(filter(None, (step.key.function, step.key.case, step.key.target)))
    if step.was.endswith(f"/{own}"):
        return step.was.removesuffix(f"/{own}")
    if step.was == own:
        return "the top of the repository"
    inside = step.was.removeprefix(f"{step.base}/") if step.base else step.was
    return inside.removesuffix(f"/{step.key.target}") if step.key.target else inside


def format_summary(history: History, metric: str) -> str:
    """A metric from the oldest comparable version to the newest: `164 -> 210 (+28 %)`."""
    values = [value for row in comparable(history, metric) if (value := row.value(metric)) is not None]
    if not values:
        return "not known"
    rows = comparable(history, metric)
    words = format_both(metric, values[0], values[-1], all(row.comparable(metric) for row in rows[1:]))
    if values[0] == values[-1]:
        low, high = min(values), max(values)
        if low == high:
            return f"{words}, unchanged"
        return f"{words}, between {format_value(metric, low)} and {format_value(metric, high)}"
    return words


def format_head(history: History, stage: str) -> str:
    """`train_step on cpu, compiled: 12 commits, 2026-01-05 to 2026-03-09`."""
    what = "traces of a scenario" if history.kind == "scenario" else STAGE_NAMES[stage]
    days = sorted({row.commit.day for row in history.rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{history.label}, {what}: {many(len(history.rows), 'commit')}, {when}"


def _value(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


_LEAST_SUBJECT = 24  # columns; a narrower subject gets a line of its own
_WIDEST_SPARK, _SMALL_SPARK = 40, 16
_BELOW = 11  # notes on a commit are printed below its date
_NO_SUBJECT = "(no subject)"


@dataclass(frozen=True, slots=True)
class ShownHistory:
    """One history and how to show it.

    Args:
        history: history of one program.
        metrics: the columns.
        stage: the stage of the numbers.
        most: maximum number of listed commits; 0 for all.
    """

    history: History
    metrics: tuple[str, ...]
    stage: str
    most: int = 0

    @property
    def rows(self) -> tuple[HistoryRow, ...]:
        """The listed rows, newest first."""
        return self.history.rows[: self.most] if self.most else self.history.rows

    @property
    def untold(self) -> int:
        """Number of older rows that are not listed."""
        return len(self.history.rows) - len(self.rows)


def history_text(shown: Sequence[ShownHistory], *, width: int = 100, ascii_only: bool = False) -> str:
    """The report for a terminal.

    Args:
        shown: histories.
        width: columns of the terminal, at least 40.
        ascii_only: whether the terminal only shows ASCII.

    Returns:
        text ending in a newline.
    """
    width = max(width, 40)
    blocks = ["".join(f"{unordered(line)}\n" for line in _block(one, width, ascii_only)) for one in shown]
    return "\n".join(blocks)


def overview_text(shown: Sequence[ShownHistory], *, width: int = 100, ascii_only: bool = False) -> str:
    """One line per history: its first metric, and the last commit that changed or removed it.

    Args:
        shown: histories.
        width: columns of the terminal, at least 40.
        ascii_only: whether the terminal only shows ASCII.

    Returns:
        text ending in a newline; "" for none.
    """
    # A renamed program continues under its new name.
    rows = [_in_one_line(one, ascii_only) for one in shown if not one.history.successor]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)]
        lines.append(fitted("  ".join(cells).rstrip(), max(width, 40)))
    return "".join(f"{unordered(line)}\n" for line in lines)


def _in_one_line(one: ShownHistory, ascii_only: bool) -> tuple[str, ...]:
    metric, line = one.metrics[0], one.history.line()
    marks = sparkline(
        [row.value(metric) for row in comparable(one.history, metric)], width=_SMALL_SPARK, ascii_only=ascii_only
    )
    found = changes(one.history, metric)
    last = found[-1].row if found else line[0]
    word = "changed" if found else "recorded"
    if line[-1].status == "removed":
        word, last = "removed", line[-1]
    words = format_summary(one.history, metric)
    return printable(one.history.label), metric, marks, words, f"{word} {last.commit.day} {last.commit.short}"


def _block(one: ShownHistory, width: int, ascii_only: bool) -> Iterator[str]:
    yield clip(printable(format_head(one.history, one.stage)), width)
    names = max(map(len, one.metrics))
    room = min(_WIDEST_SPARK, max(8, width - names - 36))
    for metric in one.metrics:
        line = [row.value(metric) for row in comparable(one.history, metric)]
        marks = sparkline(line, width=room, ascii_only=ascii_only)
        yield clip(f"  {metric:<{names}}  {marks}  {format_summary(one.history, metric)}", width)
    yield ""
    table = _columns(one)
    if width - len(table[0]) - 2 >= _LEAST_SUBJECT:
        yield f"{table[0]}  subject"
        for row, cells in zip(one.rows, table[1:], strict=True):
            yield fitted(f"{cells}  {_subject(row)}", width)
            for note in notes_of(row, one.history, one.metrics):
                yield from wrapped(note, width, _BELOW)
    else:
        yield from _narrow(one, width)
    if one.untold:
        yield f"  ... and {one.untold:,} older, -n 0 lists all"


def _columns(one: ShownHistory) -> list[str]:
    """The table without subjects: a header, then one line per row."""
    cells = [[(format_value(m, row.value(m)), _delta(m, row)) for m in one.metrics] for row in one.rows]
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


def _delta(metric: str, row: HistoryRow) -> str:
    return format_delta(metric, row.old_value(metric), row.value(metric)) if row.comparable(metric) else ""


def _narrow(one: ShownHistory, width: int) -> Iterator[str]:
    """Several lines per commit: its id, and the numbers that it changed."""
    for row in one.rows:
        yield fitted(f"  {row.commit.short}  {row.commit.day}  {_subject(row)}", width)
        for metric in one.metrics:
            old, new = row.old_value(metric), row.value(metric)
            if new is not None and old != new:
                yield from wrapped(f"{metric} {format_both(metric, old, new, row.comparable(metric))}", width, _BELOW)
        for note in notes_of(row, one.history, one.metrics):
            yield from wrapped(note, width, _BELOW)


def _subject(row: HistoryRow) -> str:
    return printable(row.commit.subject.strip()) or _NO_SUBJECT


def wrapped(sentence: str, width: int, indent: int, title: str = "") -> Iterator[str]:
    """Wrap untrusted text at spaces, after a title; continuation lines are indented.

    Args:
        sentence: any text.
        width: columns of the terminal.
        indent: columns before it.
        title: printed before the first line only.

    Returns:
        lines without line ends.
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
    """Number of terminal columns that a text takes.

    Example:
        >>> columns_of("abc"), columns_of("日本")
        (3, 4)
    """
    return len(text) + (0 if text.isascii() else sum(map(_more_columns, text)))


def _more_columns(char: str) -> int:
    return -1 if combining(char) else int(east_asian_width(char) in "WF")


def fitted(text: str, width: int) -> str:
    """The text cut to a number of terminal columns, with the cut marked.

    Example:
        >>> fitted("日本語", 5), fitted("abc", 5)
        ('日...', 'abc')
    """
    if columns_of(text) <= width:
        return text
    while columns_of(text) > max(width - 3, 0):
        text = text[:-1]
    return f"{text}..."


def history_markdown(shown: Sequence[ShownHistory]) -> str:
    """The report as Markdown.

    Args:
        shown: histories.

    Returns:
        a table per history; text written by others is escaped.
    """
    return "\n".join("".join(f"{line}\n" for line in _markdown(one)) for one in shown)


def _markdown(one: ShownHistory) -> Iterator[str]:
    yield f"### {escape_markdown(format_head(one.history, one.stage))}"
    yield ""
    for metric in one.metrics:
        marks = sparkline([row.value(metric) for row in comparable(one.history, metric)], width=_WIDEST_SPARK)
        yield f"- {code(metric)} {marks} {escape_markdown(format_summary(one.history, metric))}"
    yield ""
    yield "| commit | date | " + " | ".join(map(escape_markdown, one.metrics)) + " | subject |"
    yield "| --- | --- |" + " ---: |" * len(one.metrics) + " --- |"
    for row in one.rows:
        cells = ""
        for metric in one.metrics:
            delta = _delta(metric, row)
            words = " ".join(filter(None, (format_value(metric, row.value(metric)), f"({delta})" if delta else "")))
            cells += f"{escape_markdown(words)} | "
        notes = notes_of(row, one.history, one.metrics)
        words = "; ".join([row.commit.subject.strip() or _NO_SUBJECT, *notes])
        yield f"| {code(row.commit.short)} | {row.commit.day} | {cells}{escape_markdown(words)} |"
    if one.untold:
        yield ""
        yield f"... and {one.untold:,} older, `-n 0` lists all"


# --- For programs: JSON with everything, CSV with one line per commit.

FORMAT_VERSION = "1.0"
_FIXED = ("function", "case", "target", "stage", "commit", "date", "author", "subject", "status", "notes")
# Spreadsheets treat a cell with this prefix as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def history_json(shown: Sequence[ShownHistory], revision: str) -> str:
    """The report as JSON.

    Args:
        shown: histories.
        revision: the requested range, as in `git log`.

    Returns:
        one JSON object, ending in a newline; rows are newest first.
    """
    found = [
        {
            "name": one.history.name,
            "target": one.history.key.target or None,
            "kind": one.history.kind,
            "stage": one.stage if one.history.kind == "program" else None,
            "metrics": list(one.metrics),
            "ends": next((row.ends for row in reversed(one.history.rows) if row.ends), "range"),
            "renamed_to": one.history.successor or None,
            "untold": one.untold,
            "commits": [row_json(row, one) for row in one.rows],
        }
        for one in shown
    ]
    return json_text({"format_version": FORMAT_VERSION, "revision": revision, "histories": found})


def row_json(row: HistoryRow, one: ShownHistory) -> dict[str, Any]:
    """One commit: author and date, status of the file, values before and after it, and toolchain."""
    readable = row.now if row.now is not None and not row.now.problem else None
    return {
        "commit": row.commit.id,
        "date": row.commit.date,
        "author": row.commit.author,
        "subject": row.commit.subject,
        "merge": row.merge,
        "status": row.status,
        "aside": row.step.aside,
        "folder": row.step.folder,
        "renamed_from": row.step.was or None,
        "counted_differently": row.recounted,
        "old": {metric: row.old_value(metric) for metric in one.metrics},
        "new": {metric: row.value(metric) for metric in one.metrics},
        "jax": str(readable.toolchain.get("jax") or "") or None if readable else None,
        "toolchain_changes": [
            {"what": change.what, "old": change.old, "new": change.new} for change in row.toolchain()
        ],
        "changed_programs": list(row.other_programs()),
        "notes": list(notes_of(row, one.history, one.metrics)),
    }


def history_csv(shown: Sequence[ShownHistory]) -> str:
    """The report as CSV, for spreadsheets and plots: oldest first, one column for each metric.

    Args:
        shown: histories.

    Returns:
        lines with a header; text that a spreadsheet would treat as a formula is prefixed with an apostrophe.
    """
    metrics = list(dict.fromkeys(metric for one in shown for metric in one.metrics))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FIXED, *metrics])
    for one in shown:
        stage = one.stage if one.history.kind == "program" else ""
        for row in reversed(one.rows):
            key, commit = row.step.key, row.commit
            notes = "; ".join(notes_of(row, one.history, one.metrics))
            told = (commit.id, commit.date, commit.author, commit.subject, row.status, notes)
            texts = [printable(text) for text in (key.function, key.case, key.target, stage, *told)]
            fixed = [f"'{text}" if text.startswith(_FORMULA) else text for text in texts]
            values = (row.value(metric) for metric in metrics)
            writer.writerow([*fixed, *("" if value is None else f"{value:.17g}" for value in values)])
    return out.getvalue()
