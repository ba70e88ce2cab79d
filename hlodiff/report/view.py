"""The view of a whole report as plain values: CI forms are rendered from it, whether it was computed or read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlodiff.hlo.model import Stage
from hlodiff.policy.findings import PROGRAM_RULES, Judgement
from hlodiff.report.function_view import ChangedLine, ChangeView, FunctionView, NumberTotals, ProgramView, Section
from hlodiff.report.lines import Line
from hlodiff.report.report import State, Timing, ToolchainChange, count_programs
from hlodiff.report.wording import Place


@dataclass(frozen=True, slots=True)
class Group:
    """Changes listed together; `title` is "" for the plain list."""

    title: str
    changes: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """Details of programs that changed alike.

    Args:
        name, stage, targets: the programs.
        headline: kind and size of the change.
        sections: changed numbers.
        shared: changes listed elsewhere, by their marks.
        groups: the changes.
        more: text on what is not listed.
        edited: number of edited instructions.
        folded: whether all its changes are shared, so that lists skip it.
    """

    name: str
    stage: Stage
    targets: tuple[str, ...]
    headline: str
    sections: tuple[Section, ...] = ()
    shared: str = ""
    groups: tuple[Group, ...] = ()
    more: str = ""
    edited: int = 0
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Overview:
    """All changed programs of one stage together: the unchanged share, and the largest changes."""

    stage: Stage
    programs: int
    same: str
    groups: tuple[Group, ...] = ()
    more: str = ""


@dataclass(frozen=True, slots=True)
class FindingView(Judgement):
    """A finding with its location in the project.

    Args:
        where: the Python line that caused it.
        fingerprint: stable across runs for the same finding.
    """

    where: Place | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole view of a report.

    Args:
        command, old, new, toolchain, notes, next: as in `Report`.
        programs: every compared program, in the order of the report.
        findings: worst first.
        shared: changes shared by several functions.
        shared_more: number of unlisted ones.
        details: details of changed programs.
        overviews: summaries by stage, for reports that would be too long.
        checked: how much was compared, as text.
        folder: the project's folder below the top of the repository, "" if they are the same: CI paths start at the
            top.
        timings: how long programs took, if requested.
        causes: if toolchains differ, how many programs the compiler alone changed.
        scenarios: the outcome of each scenario; problems with one are findings.
        limits: search limits hit in functions whose details are folded.
        all: whether every change is listed, however long the report gets.
        text: lines of the report except the totals, before layout.
        functions: changed functions and files, worst first.
        written: edited Python lines that changed several functions, each once.
        numbers: totals of each number over all functions.
        verdict: the overall verdict in one sentence; "" if nothing changed.
        threshold: the share of a number below which a change is counted but not listed.
        brief: whether to show only verdicts, without details.
    """

    command: Literal["check", "diff"]
    old: str
    new: str
    programs: tuple[ProgramView, ...]
    findings: tuple[FindingView, ...] = ()
    toolchain: tuple[ToolchainChange, ...] = ()
    shared: tuple[ChangeView, ...] = ()
    shared_more: int = 0
    details: tuple[Detail, ...] = ()
    overviews: tuple[Overview, ...] = ()
    notes: tuple[str, ...] = ()
    next: str = ""
    checked: str = ""
    folder: str = ""
    timings: tuple[Timing, ...] = ()
    causes: tuple[str, ...] = ()
    scenarios: tuple[State, ...] = ()
    limits: tuple[str, ...] = ()
    all: bool = False
    text: tuple[Line, ...] = ()
    functions: tuple[FunctionView, ...] = ()
    written: tuple[ChangedLine, ...] = ()
    numbers: tuple[NumberTotals, ...] = ()
    verdict: str = ""
    threshold: float = 0.01
    brief: bool = False

    def verdict_on(self, finding: FindingView) -> str:
        """The verdict sentence of the changed function that a finding is about; "" if it is about something else."""
        return next((one.sentence for one in self.functions if one.name == finding.program), "")

    def totals(self) -> dict[str, int]:
        """The number of programs and of each outcome; the same numbers in every form."""
        return count_programs(self.programs, self.findings)

    def every_finding(self) -> tuple[FindingView, ...]:
        """The findings, worst first; `diff` judges nothing, so also one for each unreadable program."""
        with_findings = {(one.program, one.target) for one in self.findings}
        broken = dict.fromkeys(
            FindingView("broken", "broken", one.name, one.target, one.reason, one.advice, fingerprint="broken")
            for one in self.programs
            if one.broken and (one.name, one.target) not in with_findings
        )
        return (*broken, *self.findings)

    def further_findings(self) -> tuple[FindingView, ...]:
        """Findings that are not listed with a program."""
        return tuple(finding for finding in self.findings if finding.rule not in PROGRAM_RULES)

    def scenario_states(self) -> tuple[State, ...]:
        """The outcome of each scenario."""
        return self.scenarios
