"""Finds the commit that changed a number, its effect on the program, and the command that shows all of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.config import Config, amount
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import Limits
from hlodiff.errors import ConfigError, HlodiffError, UsageError
from hlodiff.hlo.model import STAGE_NAMES, Stage
from hlodiff.integrations.history.report import (
    UNSHALLOW,
    ShownHistory,
    fitted,
    format_both,
    format_head,
    format_summary,
    format_value,
    notes_of,
    row_json,
    wrapped,
)
from hlodiff.integrations.history.rows import (
    History,
    HistoryRow,
    NumberChange,
    at_least,
    by_size,
    changes,
    comparable,
    crossings,
    merged_in,
    values_on,
)
from hlodiff.report.grouping import EditGroup, edit_groups_of, format_follows
from hlodiff.report.headline import headline
from hlodiff.report.lines import clip, code, escape_markdown, json_text, printable, unordered
from hlodiff.report.wording import sparkline
from hlodiff.snapshots.trees import git
from hlodiff.workflows.sides import compare_sides, open_side

FORMAT_VERSION = "1.0"
_MOST_COMPARED = 3  # number of commits per program whose programs are compared; the rest is listed
_PLAIN = re.compile(r"[\w@%+=:,./-][\w@%+=:,./~-]*", re.ASCII)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%?")
_MOST_ENTRIES = 5
_MOST_FURTHER = 8
_INDENT, _TITLES = 2, 12
_PLACE = re.compile(r"([^\s:]+\.py):\d+")  # a file below the project's folder


@dataclass(frozen=True, slots=True)
class Culprit:
    """A commit that was searched for.

    Args:
        change: the commit and the number before and after it.
        programs: the comparisons of both stages; none for a scenario.
        next: the command that shows the whole difference.
        problem: why the programs could not be compared; "" if they could.
        forgotten: an older commit that changed the line and recorded nothing; "" if the commit itself changed it.
    """

    change: NumberChange
    programs: tuple[ProgramComparison, ...]
    next: str
    problem: str = ""
    forgotten: str = ""


@dataclass(frozen=True, slots=True)
class BisectResult:
    """The result for one program.

    Args:
        shown: its history, with the metric.
        looked_for: the query in words: "the largest change".
        culprits: the matching commits, most important first.
        further: other commits that changed the metric, in the same order.
        nothing: why no commit was found; "" if one was.
    """

    shown: ShownHistory
    looked_for: str
    culprits: tuple[Culprit, ...] = ()
    further: tuple[NumberChange, ...] = ()
    nothing: str = ""

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.shown.metrics[0]

    @property
    def history(self) -> History:
        """The program's history."""
        return self.shown.history


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """The query: a limit to cross, a minimum change in percent, or the largest change."""

    above: float | None = None
    below: float | None = None
    percent: float | None = None

    def among(self, found: tuple[NumberChange, ...]) -> tuple[NumberChange, ...]:
        """The matching commits, most important first."""
        if self.above is not None:
            return crossings(found, self.above, above=True)
        if self.below is not None:
            return crossings(found, self.below, above=False)
        return at_least(found, self.percent) if self.percent is not None else by_size(found)[:1]

    def words(self, metric: str) -> str:
        """The query in words."""
        if self.above is not None:
            return f"went above {format_value(metric, self.above)}"
        if self.below is not None:
            return f"went below {format_value(metric, self.below)}"
        return f"changed by {self.percent:g} % or more" if self.percent is not None else "the largest change"


def change_query(metric: str, above: str | None, below: str | None, percent: str | None) -> ChangeQuery:
    """The query of `--above`, `--below` or `--change`; at most one is given.

    Raises:
        UsageError: several are given, or one is not a number.
    """
    if sum(one is not None for one in (above, below, percent)) > 1:
        raise UsageError("--above, --below and --change exclude each other", hint="give one of them")
    share = _SHARE.fullmatch(percent.strip()) if percent is not None else None
    if percent is not None and not share:
        raise UsageError("--change takes a number of percent", where=percent, hint="as in `--change 10%`")
    return ChangeQuery(
        _limit(metric, above, "--above"), _limit(metric, below, "--below"), float(share[1]) if share else None
    )


def _limit(metric: str, value: str | None, option: str) -> float | None:
    if value is None:
        return None
    try:
        return amount(float(value) if re.fullmatch(r"\d+(\.\d+)?", value.strip()) else value, metric, option)
    except ConfigError as error:
        raise UsageError(error.what, where=option) from None


def bisect_history(
    one: History, metric: str, stage: Stage, query: ChangeQuery, config: Config, project: Path
) -> BisectResult:
    """The commits of one history that match a query, and their effect on the program.

    Args:
        one: the history of a program or scenario.
        metric: name of the number.
        stage: which program of each snapshot.
        query: the changes of the number to find.
        config, project: location of snapshots and sources.
    """
    shown = ShownHistory(one, (metric,), stage)
    every = changes(one, metric)
    found = query.among(every)
    words = query.words(metric)
    if not found:
        return BisectResult(shown, words, nothing=_nothing(one, metric, query, every))
    compared = found[:_MOST_COMPARED] if query.percent is not None else found[:1]
    culprits = tuple(_culprit(one, change, config, project) for change in compared)
    further = tuple(
        change for change in (found if query.percent is not None else by_size(every)) if change not in compared
    )
    return BisectResult(shown, words, culprits, further)


def _nothing(one: History, metric: str, query: ChangeQuery, every: tuple[NumberChange, ...]) -> str:
    """Why there is no such commit."""
    lately = {row.commit.id for row in comparable(one, metric)}
    known = [(row, value) for row, _, value in values_on(one, metric) if row.commit.id in lately]
    if not known:
        if any(row.now is not None and metric in row.now.inexact for row in one.rows):
            return f"no commit says what {metric} is: the trip count of a loop is not known"
        return f"no commit says what {metric} is: the compiler for this target does not report it"
    high, low = max(known, key=lambda pair: pair[1]), min(known, key=lambda pair: pair[1])
    if query.above is not None or query.below is not None:
        row, extreme = high if query.above is not None else low
        way = "above" if query.above is not None else "below"
        limit = query.above if query.above is not None else query.below
        assert limit is not None
        if (extreme > limit) if query.above is not None else (extreme < limit):
            first = known[0][0]
            start = "since it is counted as it is now" if first.recounts(metric) else "from the start"
            return f"was {way} {format_value(metric, limit)} {start} ({first.commit.short})"
        most = "most" if query.above is not None else "least"
        nearest = f"at {most} {format_value(metric, extreme)} ({row.commit.short})"
        return f"was never {way} {format_value(metric, limit)}: {nearest}"
    if not every:
        return f"never changed: {format_value(metric, known[0][1])}"
    largest = max(change.share for change in every) * 100
    return f"never changed by {query.percent:g} % or more: at most by {largest:.3g} %"


def _culprit(one: History, change: NumberChange, config: Config, project: Path) -> Culprit:
    step, row = change.row.step, change.row
    old = row.since.short if row.since else f"{row.commit.short}~1"
    new = row.commit.short
    if step.was or one.of_tests:
        command = ["hlodiff", "diff", f"{old}:{step.was or step.folder}", f"{new}:{step.folder}"]
    else:
        command = ["hlodiff", "diff", old, new, "--name", step.key.name]
        command += ["--target", step.key.target] if step.key.target else []
    if one.kind == "scenario" or not step.old:
        return Culprit(change, (), _typed(command))
    sides = f"{old}:{step.was or step.folder}", f"{new}:{step.folder}"
    try:
        limits = Limits(**dict(config.limits))
        before, after = (open_side(side, project) for side in sides)
        programs = compare_sides(before, after, limits).programs
    except HlodiffError as error:
        return Culprit(change, (), _typed(command), error.headline)
    broken = next((one.reason for one in programs if one.broken), "")
    forgotten = "" if broken or row.merge else _forgotten(one, row, programs, config.root)
    return Culprit(change, () if broken else programs, _typed(command), broken, forgotten)


def _forgotten(one: History, row: HistoryRow, programs: Sequence[ProgramComparison], root: Path) -> str:
    """The last commit before this one that changed the line of the largest edit without updating the snapshot."""
    line = one.line()
    older = line[: line.index(row)] if row in line else ()
    places = [
        match for program in programs for entry in _entries(program, str(root)) if (match := _PLACE.match(entry.where))
    ]
    if not older or not places or row.toolchain():
        return ""
    place = places[0]
    revisions = f"{older[-1].commit.id}..{row.commit.id}"
    try:
        found = git(root, ["log", "-1", "--format=%H %s", revisions, "--", place[1]], "git log").decode(
            errors="replace"
        )
    except HlodiffError:
        return ""
    commit, _, subject = found.strip().partition(" ")
    if not commit or commit == row.commit.id:
        return ""
    return (
        f"this commit did not touch {place[0]}; it was last changed by {commit[:7]} ({subject}), "
        "whose snapshot was not updated"
    )


def _typed(command: list[str]) -> str:
    """A command as users type it; shlex also quotes the `~` of a revision, which shells leave alone inside a word."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in command)


def bisect_text(found: Sequence[BisectResult], *, width: int = 100, ascii_only: bool = False, root: str = "") -> str:
    """The report for a terminal.

    Args:
        found: results of each program.
        width: columns of the terminal, at least 40.
        ascii_only: whether the terminal only shows ASCII.
        root: the project's folder; Python file names are relative to it.

    Returns:
        text ending in a newline.
    """
    width = max(width, 40)
    blocks = ["".join(f"{unordered(line)}\n" for line in _text(one, width, ascii_only, root)) for one in found]
    return "\n".join(blocks)


def _text(one: BisectResult, width: int, ascii_only: bool, root: str) -> Iterator[str]:
    yield clip(printable(format_head(one.history, one.shown.stage)), width)
    values = [row.value(one.metric) for row in comparable(one.history, one.metric)]
    marks = sparkline(values, width=max(8, min(40, width - len(one.metric) - 36)), ascii_only=ascii_only)
    yield clip(f"  {one.metric}  {marks}  {format_summary(one.history, one.metric)}", width)
    if one.nothing:
        yield from wrapped(one.nothing, width, _INDENT)
    for culprit in one.culprits:
        yield ""
        yield from _culprit_lines(one, culprit, width, root)
    if any(row.ends == "shallow" for row in one.history.rows):
        yield from wrapped(f"older commits are not here: {UNSHALLOW}", width, _INDENT)
    if one.further:
        yield ""
        yield from wrapped(f"other commits that changed {one.metric}", width, 0)
        for change in one.further[:_MOST_FURTHER]:
            words = _both(one, change)
            commit = change.row.commit
            yield fitted(printable(f"  {commit.short}  {commit.day}  {words}  {commit.subject}"), width)
        if len(one.further) > _MOST_FURTHER:
            yield f"  ... and {len(one.further) - _MOST_FURTHER:,} more, `hlodiff log` lists all"


def _culprit_lines(one: BisectResult, culprit: Culprit, width: int, root: str) -> Iterator[str]:
    row = culprit.change.row
    yield from wrapped(f"{one.looked_for}: {_both(one, culprit.change)}", width, 0)
    yield from wrapped(
        f"{row.commit.short}  {row.commit.day}  {row.commit.author}  {row.commit.subject}", width, _INDENT
    )
    for title, words in _facts(one, culprit):
        yield from wrapped(words, width, _INDENT, f"{title:<{_TITLES}}")
    for program in culprit.programs:
        yield from wrapped(headline(program), width, _INDENT, f"{STAGE_NAMES[program.stage]:<{_TITLES}}")
        entries = _entries(program, root)
        for entry in entries[:_MOST_ENTRIES]:
            yield from wrapped(_format_entry(entry), width, _INDENT + 2)
        if len(entries) > _MOST_ENTRIES:
            yield f"    ... and {len(entries) - _MOST_ENTRIES:,} more"
    yield f"{' ' * _INDENT}{'next':<{_TITLES}}{printable(culprit.next)}"  # not wrapped, so that it can be copied


def _both(one: BisectResult, change: NumberChange) -> str:
    return format_both(one.metric, change.old, change.new, change.row.comparable(one.metric))


def _facts(one: BisectResult, culprit: Culprit) -> Iterator[tuple[str, str]]:
    row = culprit.change.row
    notes = notes_of(row, one.history, (one.metric,))
    if not row.toolchain() and row.now and row.now.toolchain.get("jax"):
        yield "toolchain", f"the same, jax {row.now.toolchain['jax']}"
    for note in notes:
        title, colon, words = note.partition(": ")
        yield (title, words) if colon and title == "toolchain" else ("note", note)
    for one_merged in merged_in(one.history, row):
        old, new = one_merged.old_value(one.metric), one_merged.value(one.metric)
        if old != new and new is not None and not one_merged.recounts(one.metric):
            commit = one_merged.commit
            words = format_both(one.metric, old, new, one_merged.comparable(one.metric))
            yield (
                "merged",
                f"{commit.short}  {commit.day}  {words}  {commit.subject}",
            )
    if culprit.forgotten:
        yield "note", culprit.forgotten
    if culprit.problem:
        yield "not compared", culprit.problem


def _entries(program: ProgramComparison, root: str) -> tuple[EditGroup, ...]:
    return edit_groups_of(program.diff.reported, program.stage, root) if program.diff else ()


def _format_entry(entry: EditGroup) -> str:
    words = (f"{entry.kind} {entry.times}{entry.what}", entry.cost_words, format_follows(entry), entry.where)
    return "  ".join(filter(None, words))


def bisect_markdown(found: Sequence[BisectResult], root: str = "") -> str:
    """The report as Markdown.

    Args:
        found: results of each program.
        root: the project's folder.

    Returns:
        text ending in a newline; text written by others is escaped.
    """
    return "\n".join("".join(f"{line}\n" for line in _markdown(one, root)) for one in found)


def _markdown(one: BisectResult, root: str) -> Iterator[str]:
    yield f"### {escape_markdown(format_head(one.history, one.shown.stage))}"
    yield ""
    marks = sparkline([row.value(one.metric) for row in comparable(one.history, one.metric)])
    yield f"{code(one.metric)} {marks} {escape_markdown(format_summary(one.history, one.metric))}"
    if one.nothing:
        yield ""
        yield escape_markdown(one.nothing)
    for culprit in one.culprits:
        row = culprit.change.row
        words = _both(one, culprit.change)
        yield ""
        yield f"**{escape_markdown(one.looked_for)}: {escape_markdown(words)}**"
        yield ""
        line = f"{row.commit.day}, {row.commit.author}: {row.commit.subject}"
        yield f"- {code(row.commit.short)} {escape_markdown(line)}"
        yield from (f"- {title}: {escape_markdown(words)}" for title, words in _facts(one, culprit))
        for program in culprit.programs:
            yield f"- {STAGE_NAMES[program.stage]}: {escape_markdown(headline(program))}"
            yield from (
                f"  - {escape_markdown(_format_entry(entry))}" for entry in _entries(program, root)[:_MOST_ENTRIES]
            )
        yield f"- next: {code(culprit.next)}"
    if any(row.ends == "shallow" for row in one.history.rows):
        yield ""
        yield f"older commits are not here: {UNSHALLOW}"
    if one.further:
        yield ""
        yield "| other commits | date | change | subject |"
        yield "| --- | --- | --- | --- |"
    for change in one.further:
        commit, words = change.row.commit, _both(one, change)
        yield f"| {code(commit.short)} | {commit.day} | {escape_markdown(words)} | {escape_markdown(commit.subject)} |"


def bisect_json(found: Sequence[BisectResult], revision: str, root: str = "") -> str:
    """The report as JSON.

    Args:
        found: results of each program.
        revision: the searched range.
        root: the project's folder.

    Returns:
        one JSON object, ending in a newline.
    """
    value = {"format_version": FORMAT_VERSION, "revision": revision, "programs": [_json(one, root) for one in found]}
    return json_text(value)


def _json(one: BisectResult, root: str) -> dict[str, Any]:
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
                "not_compared": culprit.problem or None,
                "next": culprit.next,
            }
            for culprit in one.culprits
        ],
        "further": [_change(one, change) for change in one.further],
        "nothing": one.nothing or None,
        "ends": next((row.ends for row in reversed(history.rows) if row.ends), "range"),
    }


def _change(one: BisectResult, change: NumberChange) -> dict[str, Any]:
    row = row_json(change.row, one.shown)
    return {**row, "old": change.old, "new": change.new}


def _program(program: ProgramComparison, root: str) -> dict[str, Any]:
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
