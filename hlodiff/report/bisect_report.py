"""The commit that changed a number: which it is, what it did to the program, and the command that shows all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlodiff.diff.compared import Compared
from hlodiff.history import Change, History, merged_in
from hlodiff.report.costs import cost_in_words
from hlodiff.report.entries import Entry, entries_of, follows_in_words
from hlodiff.report.escape import clip, code, json_text, markdown, printable, unordered
from hlodiff.report.headline import headline
from hlodiff.report.history_data import row_json
from hlodiff.report.history_report import Shown, fitted, wrapped
from hlodiff.report.history_words import STAGES, UNSHALLOW, both_in_words, head_in_words, notes_of, summary_in_words
from hlodiff.report.sparkline import sparkline

FORMAT_VERSION = "1.0"
_MOST_ENTRIES = 5
_MOST_FURTHER = 8
_INDENT, _TITLES = 2, 12


@dataclass(frozen=True, slots=True)
class Culprit:
    """A commit that was looked for.

    Args:
        change: the commit and the number on both sides.
        programs: both stages, compared; none for a scenario.
        next: the command that shows the whole difference.
        trouble: why the programs could not be compared; "" where they could.
    """

    change: Change
    programs: tuple[Compared, ...]
    next: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Bisected:
    """What was found for one program.

    Args:
        shown: its history, with the metric.
        looked_for: what was asked, in words: "the largest change".
        culprits: the commits in question, first the one that matters most.
        further: other commits that changed the metric, in the same order.
        nothing: why no commit was found; "" where one was.
    """

    shown: Shown
    looked_for: str
    culprits: tuple[Culprit, ...] = ()
    further: tuple[Change, ...] = ()
    nothing: str = ""

    @property
    def metric(self) -> str:
        """The number that was looked at."""
        return self.shown.metrics[0]

    @property
    def history(self) -> History:
        """The program's history."""
        return self.shown.history


def bisect_text(found: Sequence[Bisected], *, width: int = 100, ascii_only: bool = False, root: str = "") -> str:
    """The report for a terminal.

    Args:
        found: for each program.
        width: columns of the window, at least 40.
        ascii_only: whether the terminal shows ASCII alone.
        root: the project's folder: Python files are named relative to it.

    Returns:
        text ending in a newline.
    """
    width = max(width, 40)
    blocks = ["".join(f"{unordered(line)}\n" for line in _text(one, width, ascii_only, root)) for one in found]
    return "\n".join(blocks)


def _text(one: Bisected, width: int, ascii_only: bool, root: str) -> Iterator[str]:
    yield clip(printable(head_in_words(one.history, one.shown.stage)), width)
    values = [row.value(one.metric) for row in one.history.line()]
    marks = sparkline(values, width=max(8, min(40, width - len(one.metric) - 36)), ascii_only=ascii_only)
    yield clip(f"  {one.metric}  {marks}  {summary_in_words(one.history, one.metric)}", width)
    if one.nothing:
        yield from wrapped(one.nothing, width, _INDENT)
    for culprit in one.culprits:
        yield ""
        yield from _culprit(one, culprit, width, root)
    if any(row.ends == "shallow" for row in one.history.rows):
        yield from wrapped(f"older commits are not here: {UNSHALLOW}", width, _INDENT)
    if one.further:
        yield ""
        yield from wrapped(f"other commits that changed {one.metric}", width, 0)
        for change in one.further[:_MOST_FURTHER]:
            words = both_in_words(one.metric, change.old, change.new)
            commit = change.row.commit
            yield fitted(printable(f"  {commit.short}  {commit.day}  {words}  {commit.subject}"), width)
        if len(one.further) > _MOST_FURTHER:
            yield f"  ... and {len(one.further) - _MOST_FURTHER:,} more, `hlodiff log` lists all"


def _culprit(one: Bisected, culprit: Culprit, width: int, root: str) -> Iterator[str]:
    row = culprit.change.row
    yield from wrapped(
        f"{one.looked_for}: {both_in_words(one.metric, culprit.change.old, culprit.change.new)}", width, 0
    )
    yield from wrapped(
        f"{row.commit.short}  {row.commit.day}  {row.commit.author}  {row.commit.subject}", width, _INDENT
    )
    for title, words in _facts(one, culprit):
        yield from wrapped(words, width, _INDENT, f"{title:<{_TITLES}}")
    for program in culprit.programs:
        yield from wrapped(headline(program), width, _INDENT, f"{STAGES[program.stage]:<{_TITLES}}")
        entries = _entries(program, root)
        for entry in entries[:_MOST_ENTRIES]:
            yield from wrapped(_in_words(entry), width, _INDENT + 2)
        if len(entries) > _MOST_ENTRIES:
            yield f"    ... and {len(entries) - _MOST_ENTRIES:,} more"
    yield f"{' ' * _INDENT}{'next':<{_TITLES}}{printable(culprit.next)}"  # whole, so that it can be copied


def _facts(one: Bisected, culprit: Culprit) -> Iterator[tuple[str, str]]:
    row = culprit.change.row
    notes = notes_of(row, one.history, (one.metric,))
    if not row.toolchain() and row.now and row.now.toolchain.get("jax"):
        yield "toolchain", f"the same, jax {row.now.toolchain['jax']}"
    for note in notes:
        title, colon, words = note.partition(": ")
        yield (title, words) if colon and title == "toolchain" else ("note", note)
    for one_merged in merged_in(one.history, row):
        old, new = one_merged.old_value(one.metric), one_merged.value(one.metric)
        if old != new and new is not None:
            commit = one_merged.commit
            yield "merged", f"{commit.short}  {commit.day}  {both_in_words(one.metric, old, new)}  {commit.subject}"
    if culprit.trouble:
        yield "not compared", culprit.trouble


def _entries(program: Compared, root: str) -> tuple[Entry, ...]:
    return entries_of(program.diff.edits, program.stage, root) if program.diff else ()


def _in_words(entry: Entry) -> str:
    times = f"{entry.count:,}x " if entry.count > 1 else ""
    words = (f"{entry.kind} {times}{entry.what}", cost_in_words(*entry.cost), follows_in_words(entry), entry.where)
    return "  ".join(filter(None, words))


def bisect_markdown(found: Sequence[Bisected], root: str = "") -> str:
    """The report as Markdown.

    Args:
        found: for each program.
        root: the project's folder.

    Returns:
        text ending in a newline; what others wrote stands in it as plain text.
    """
    return "\n".join("".join(f"{line}\n" for line in _markdown(one, root)) for one in found)


def _markdown(one: Bisected, root: str) -> Iterator[str]:
    yield f"### {markdown(head_in_words(one.history, one.shown.stage))}"
    yield ""
    marks = sparkline([row.value(one.metric) for row in one.history.line()])
    yield f"{code(one.metric)} {marks} {markdown(summary_in_words(one.history, one.metric))}"
    if one.nothing:
        yield ""
        yield markdown(one.nothing)
    for culprit in one.culprits:
        row = culprit.change.row
        words = both_in_words(one.metric, culprit.change.old, culprit.change.new)
        yield ""
        yield f"**{markdown(one.looked_for)}: {markdown(words)}**"
        yield ""
        said = f"{row.commit.day}, {row.commit.author}: {row.commit.subject}"
        yield f"- {code(row.commit.short)} {markdown(said)}"
        yield from (f"- {title}: {markdown(words)}" for title, words in _facts(one, culprit))
        for program in culprit.programs:
            yield f"- {STAGES[program.stage]}: {markdown(headline(program))}"
            yield from (f"  - {markdown(_in_words(entry))}" for entry in _entries(program, root)[:_MOST_ENTRIES])
        yield f"- next: {code(culprit.next)}"
    if any(row.ends == "shallow" for row in one.history.rows):
        yield ""
        yield f"older commits are not here: {UNSHALLOW}"
    if one.further:
        yield ""
        yield "| other commits | date | change | subject |"
        yield "| --- | --- | --- | --- |"
    for change in one.further:
        commit, words = change.row.commit, both_in_words(one.metric, change.old, change.new)
        yield f"| {code(commit.short)} | {commit.day} | {markdown(words)} | {markdown(commit.subject)} |"


def bisect_json(found: Sequence[Bisected], revision: str, root: str = "") -> str:
    """The report as JSON.

    Args:
        found: for each program.
        revision: the range that was looked at.
        root: the project's folder.

    Returns:
        one JSON object, ending in a newline.
    """
    value = {"format_version": FORMAT_VERSION, "revision": revision, "programs": [_json(one, root) for one in found]}
    return json_text(value)


def _json(one: Bisected, root: str) -> dict[str, Any]:
    history = one.history
    return {
        "name": history.name,
        "target": history.key.target or None,
        "stage": one.shown.stage if history.kind == "program" else None,
        "metric": one.metric,
        "looked_for": one.looked_for,
        "found": [
            {
                **_change(one, culprit.change),
                "programs": [_program(program, root) for program in culprit.programs],
                "not_compared": culprit.trouble or None,
                "next": culprit.next,
            }
            for culprit in one.culprits
        ],
        "further": [_change(one, change) for change in one.further],
        "nothing": one.nothing or None,
        "ends": next((row.ends for row in reversed(history.rows) if row.ends), "range"),
    }


def _change(one: Bisected, change: Change) -> dict[str, Any]:
    row = row_json(change.row, one.shown)
    return {**row, "old": change.old, "new": change.new}


def _program(program: Compared, root: str) -> dict[str, Any]:
    return {
        "stage": program.stage,
        "status": program.status,
        "classes": list(program.classes),
        "headline": headline(program),
        "changes": [
            {"kind": entry.kind, "count": entry.count, "what": entry.what, "where": entry.where or None}
            for entry in _entries(program, root)
        ],
    }
