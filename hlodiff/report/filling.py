"""A report as plain values: what every CI form says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence

from hlodiff.diff.compared import Compared
from hlodiff.ir.frames import is_library, own_frame, shown_file
from hlodiff.ir.model import Frame
from hlodiff.policy import Finding
from hlodiff.report.alike import SEVERITIES
from hlodiff.report.causes import causes_in_words
from hlodiff.report.costs import cost_in_words
from hlodiff.report.digest import Digest, digest_of, share, share_in_words
from hlodiff.report.entries import Entry, follows_in_words
from hlodiff.report.headline import headline
from hlodiff.report.key_numbers import key_numbers
from hlodiff.report.numbers import many
from hlodiff.report.record import Report
from hlodiff.report.scopes import most_changed
from hlodiff.report.sheet import (
    Change,
    Detail,
    Group,
    Overview,
    Place,
    Program,
    Said,
    Sheet,
    Titled,
    Versions,
)
from hlodiff.report.stories import (
    MOST_ENTRIES,
    Story,
    Told,
    differs,
    folded_of,
    limits_of,
    programs_in_words,
    shared_in_words,
    told_of,
)
from hlodiff.report.totals import checked_in_words

MOST_SHARED = 20
_MORE = "--all lists everything"
_DIGITS = re.compile(r"[\d.,]+")


def sheet_of(report: Report, folder: str = "", told: Told | None = None) -> Sheet:
    """Work out everything that a report says.

    Args:
        report: what a command found out.
        folder: the project's folder below the top of the repository, with `/`; "" where they are the same.
        told: what `told_of` gives, where it is known already.

    Returns:
        plain values, the same for the same report.

    Example:
        >>> sheet_of(Report("diff", "a", "b", ())).totals()["programs"]
        0
    """
    told = told or told_of(report)
    programs = tuple(_program(program, number, told, report) for number, program in enumerate(report.programs))
    folded = folded_of(report, told)
    shown = told.shared[: None if report.all else MOST_SHARED]
    return Sheet(
        report.command,
        report.old,
        report.new,
        programs,
        _findings(report, programs),
        tuple(Versions(c.what, c.old, c.new, c.targets) for c in report.toolchain),
        tuple(_change(s.entry, report, f"[{s.number}]", shared_in_words(report, s)) for s in shown),
        len(told.shared) - len(shown),
        tuple(_detail(story, told, report, folded) for story in told.stories if _is_changed(story, report)),
        tuple(_overviews(report, told)),
        report.notes,
        report.next,
        checked_in_words(report),
        folder,
        report.timings,
        causes_in_words(report),
        report.scenario_states(),
        limits_of(told, folded),
        report.all,
    )


def _is_changed(story: Story, report: Report) -> bool:
    return any(report.programs[number].status == "changed" for number in story.programs)


def _program(program: Compared, number: int, told: Told, report: Report) -> Program:
    diff = program.diff if program.status == "changed" else None
    return Program(
        program.name,
        program.target,
        program.stage,
        program.status,
        ", ".join(program.classes) if diff else "",
        headline(program) if program.diff else "",
        sum(diff.summary.values()) if diff else 0,
        key_numbers(program) if program.status in ("changed", "added", "removed") else (),
        most_changed(diff) if diff else (),
        _cause(number, told, report) if diff else None,
        program.reason,
        program.advice,
        program.broken,
        program.recorded,
        program.id,
    )


def _cause(number: int, told: Told, report: Report) -> Place | None:
    """The user's own line behind the first change that has one; a library's where no change has."""
    stories = [story for story in told.stories if number in story.programs]
    places = [_place(edit, report) for story in stories for entry in story.entries for edit in entry.edits]
    known = [place for place in places if place]
    return next((place for place in known if not place.library), known[0] if known else None)


def _place(edit: tuple[int, int], report: Report) -> Place | None:
    diff = report.programs[edit[0]].diff
    return _shown(diff.edits[edit[1]].source, report.root) if diff else None


def _shown(source: tuple[Frame, ...], root: str) -> Place | None:
    frame = own_frame(source)
    if frame is None:
        return None
    function = frame.function.replace("<locals>.", "")
    return Place(shown_file(frame.file, root), frame.line, function, is_library(frame.file))


# --- findings --------------------------------------------------------------------------------------------------------


def _findings(report: Report, programs: Sequence[Program]) -> tuple[Said, ...]:
    """Worst first, else as they are; each with the line of the program it is about."""
    causes: dict[tuple[str, str | None], Place] = {}
    for program in programs:
        # StableHLO comes first: its line is what was written, the compiler's what was made of it.
        if program.where:
            causes.setdefault((program.name, program.target), program.where)
    said = [
        _said(finding, causes.get((finding.program, finding.target)) or _registered(finding, report), report)
        for finding in report.findings
    ]
    return tuple(sorted(said, key=lambda one: SEVERITIES.index(one.severity)))


def _registered(finding: Finding, report: Report) -> Place | None:
    """Where the function is registered: better than nowhere for what no line caused."""
    found = report.registered.get(finding.program.partition("/")[0])
    return Place(*found, library=is_library(found[0])) if found else None


def _said(finding: Finding, where: Place | None, report: Report) -> Said:
    return Said(
        finding.severity,
        finding.rule,
        finding.program,
        finding.target,
        finding.what,
        finding.advice,
        finding.details,
        _shown(finding.source, report.root) or where,
        fingerprint(finding),
    )


def fingerprint(finding: Finding) -> str:
    """A name of a finding that stays while it is the same one, whatever its numbers and lines are by now.

    Example:
        >>> a, b = (Finding("error", "growth", "f", "cpu", f"{n} ops") for n in (8, 16))
        >>> fingerprint(a) == fingerprint(b)
        True
    """
    if finding.subject:
        return finding.fingerprint
    words = _DIGITS.sub("#", finding.what).encode("utf-8", "surrogatepass")
    return f"{finding.fingerprint}{hashlib.sha256(words).hexdigest()[:16]}"


# --- details ---------------------------------------------------------------------------------------------------------


def _detail(story: Story, told: Told, report: Report, folded: Collection[str]) -> Detail:
    own = told.own(story)
    sections = [Titled(title, tuple(lines)) for title, lines in story.sections]
    groups: tuple[Group, ...] = ()
    more = ""
    if len(own) > MOST_ENTRIES and not report.all:
        same = share_in_words(share(report, story.programs[:1]))
        sections.insert(0, Titled("same", (same,)))
        groups, more = _digest(digest_of(own), report)
    elif own:
        marks = [told.number(entry) for entry in own]
        groups = (Group("", tuple(_change(e, report, f"[{m}]" if m else "") for e, m in zip(own, marks, strict=True))),)
    shared = " ".join(f"[{number}]" for number in told.numbers(story))
    edited = sum(entry.count + entry.following for entry in story.entries)
    return Detail(
        story.name,
        story.stage,
        story.targets,
        story.headline,
        tuple(sections),
        shared,
        groups,
        more,
        edited,
        story.name in folded,
    )


def _digest(digest: Digest, report: Report, programs: bool = False) -> tuple[tuple[Group, ...], str]:
    groups = []
    for title, entries in (("bytes", digest.by_bytes), ("count", digest.by_count)):
        of = [programs_in_words(report, (n for n, _ in e.edits)) if programs else "" for e in entries]
        changes = tuple(_change(entry, report, "", words) for entry, words in zip(entries, of, strict=True))
        groups += [Group(f"Largest changes by {title}", changes)] if changes else []
    left = f"and {many(digest.others, 'more group')} of {many(digest.untold, 'instruction')}, {_MORE}"
    return tuple(groups), left if digest.others else ""


def _change(entry: Entry, report: Report, mark: str = "", of: str = "") -> Change:
    frames = entry.stack if report.stacks else (entry.where,)
    cost = cost_in_words(*entry.cost)
    return Change(
        entry.kind, entry.count, entry.what, mark, follows_in_words(entry), of, cost, tuple(filter(None, frames))
    )


def _overviews(report: Report, told: Told) -> Iterable[Overview]:
    """For each stage: what is the same in all its programs, and the largest changes."""
    for stage in ("stablehlo", "compiled"):
        numbers = [n for n, program in enumerate(report.programs) if program.stage == stage and differs(program)]
        if numbers:
            entries = [entry for entry in told.patterns if entry.key[0] == stage]
            groups, more = _digest(digest_of(entries), report, programs=True)
            yield Overview(stage, len(numbers), share_in_words(share(report, numbers)), groups, more)
