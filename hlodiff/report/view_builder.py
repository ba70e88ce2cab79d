"""Makes the view of a whole report, from its groups of edits and the views of its functions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

from hlodiff.hlo.metadata import is_library
from hlodiff.hlo.model import STAGES
from hlodiff.policy.findings import SEVERITIES, Finding, Judgement
from hlodiff.report.digest import Digest, digest_of
from hlodiff.report.function_view import ProgramView, Section
from hlodiff.report.functions import ChangedFunctions, overall, totals_by_number
from hlodiff.report.grouping import change_view, edits_of
from hlodiff.report.headline import format_checked, headline
from hlodiff.report.numbers import format_share, share
from hlodiff.report.report import Report, format_causes
from hlodiff.report.scopes import most_changed
from hlodiff.report.shared_text import (
    MORE,
    MOST_EDIT_GROUPS,
    ProgramText,
    ReportTexts,
    differs,
    format_programs,
)
from hlodiff.report.view import Detail, FindingView, Group, Overview, ReportView
from hlodiff.report.wording import Place, many, shown_place

_DIGITS = re.compile(r"[\d.,]+")


def view_of(texts: ReportTexts, found: ChangedFunctions, folder: str) -> ReportView:
    """The view of a report: plain values, the same for the same report.

    Args:
        texts, found, folder: see `ReportParts`.
    """
    report = texts.report
    programs, functions, written = tuple(_whole_programs(found[0], texts)), *found[1:]
    return ReportView(
        command=report.command,
        old=report.old,
        new=report.new,
        programs=programs,
        findings=_findings(report, programs),
        toolchain=report.toolchain,
        shared=tuple(one.view(report) for one in texts.listed),
        shared_more=texts.unlisted,
        details=tuple(
            _detail(program_text, texts)
            for program_text in texts.program_texts
            if any(report.programs[number].status == "changed" for number in program_text.programs)
        ),
        overviews=tuple(_overviews(texts)),
        notes=report.notes,
        next=report.next,
        checked=format_checked(report),
        folder=folder,
        timings=report.timings,
        causes=format_causes(report),
        scenarios=report.scenario_states(),
        limits=texts.limits(texts.folded),
        all=report.all,
        functions=functions,
        written=written,
        numbers=totals_by_number(functions),
        verdict=overall(functions),
        threshold=report.threshold,
        brief=report.brief,
    )


def _whole_programs(programs: Iterable[ProgramView], texts: ReportTexts) -> Iterator[ProgramView]:
    """Programs with what a list of them says of each: the change in one line, its scopes and the line behind it."""
    report = texts.report
    text_of = {number: text for text in reversed(texts.program_texts) for number in text.programs}
    lowered = {(one.name, one.target): one for one in reversed(report.programs) if one.stage == "stablehlo"}
    for number, (view, program) in enumerate(zip(programs, report.programs, strict=True)):
        diff, text = program.diff, text_of.get(number)
        if diff is None:
            yield view
            continue
        written = lowered.get((program.name, program.target))
        words = text.headline if text else headline(program, written, report.packages)
        if program.status == "changed":
            view = replace(view, scopes=most_changed(diff), where=_cause(text, report) if text else None)
        yield replace(view, headline=words)


def _cause(text: ProgramText, report: Report) -> Place | None:
    """The user's line of the first change that has one; a library's line if none has, or if requested."""
    edits = (edit for edit_group in text.edit_groups for edit in edits_of(edit_group, report))
    known = [place for edit in edits if (place := shown_place(edit.source, report.root, report.packages))]
    return next((place for place in known if report.packages or not place.library), known[0] if known else None)


# --- findings --------------------------------------------------------------------------------------------------------


def _findings(report: Report, programs: Sequence[ProgramView]) -> tuple[FindingView, ...]:
    """The findings, worst first, then in order, each with the line of its program."""
    causes: dict[tuple[str, str | None], Place] = {}
    for program in programs:
        # StableHLO comes first: its line is the edited one.
        if program.where:
            causes.setdefault((program.name, program.target), program.where)
    views = []
    for finding in report.findings:
        where = causes.get((finding.program, finding.target))
        registered = report.registered.get(finding.program.partition("/")[0])
        if where is None and registered:  # fallback for findings without a line
            where = Place(*registered, library=is_library(registered[0]))
        judgement = {field.name: getattr(finding, field.name) for field in fields(Judgement)}
        where = shown_place(finding.source, report.root) or where
        views.append(FindingView(**judgement, where=where, fingerprint=fingerprint(finding)))
    return tuple(sorted(views, key=lambda one: SEVERITIES.index(one.severity)))


def fingerprint(finding: Finding) -> str:
    """A fingerprint of a finding that is stable while its numbers and lines change.

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


def _detail(program_text: ProgramText, texts: ReportTexts) -> Detail:
    report = texts.report
    own = texts.own(program_text)
    sections = list(program_text.sections)
    groups: tuple[Group, ...] = ()
    more = ""
    if len(own) > MOST_EDIT_GROUPS and not report.all:
        same = format_share(share(report, program_text.programs[:1]))
        sections.insert(0, Section("same", (same,)))
        groups, more = _digest(digest_of(own), report)
    elif own:
        marks = [texts.number(edit_group) for edit_group in own]
        groups = (
            Group("", tuple(change_view(e, report, f"[{m}]" if m else "") for e, m in zip(own, marks, strict=True))),
        )
    shared = " ".join(f"[{number}]" for number in texts.numbers(program_text))
    edited = sum(edit_group.count + edit_group.following for edit_group in program_text.edit_groups)
    return Detail(
        name=program_text.name,
        stage=program_text.stage,
        targets=program_text.targets,
        headline=program_text.headline,
        sections=tuple(sections),
        shared=shared,
        groups=groups,
        more=more,
        edited=edited,
        folded=program_text.name in texts.folded,
    )


def _digest(digest: Digest, report: Report, programs: bool = False) -> tuple[tuple[Group, ...], str]:
    groups = []
    for title, edit_groups in (("bytes", digest.by_bytes), ("count", digest.by_count)):
        of = [format_programs(report, (n for n, _ in e.edits)) if programs else "" for e in edit_groups]
        changes = tuple(
            change_view(edit_group, report, "", words) for edit_group, words in zip(edit_groups, of, strict=True)
        )
        groups += [Group(f"Largest changes by {title}", changes)] if changes else []
    left = f"and {many(digest.others, 'more group')} of {many(digest.unlisted, 'instruction')}, {MORE}"
    return tuple(groups), left if digest.others else ""


def _overviews(texts: ReportTexts) -> Iterable[Overview]:
    """For each stage: the unchanged share of its programs, and the largest changes."""
    report = texts.report
    for stage in STAGES:
        numbers = [n for n, program in enumerate(report.programs) if program.stage == stage and differs(program)]
        if numbers:
            edit_groups = [edit_group for edit_group in texts.patterns if edit_group.key[0] == stage]
            groups, more = _digest(digest_of(edit_groups), report, programs=True)
            yield Overview(stage, len(numbers), format_share(share(report, numbers)), groups, more)
