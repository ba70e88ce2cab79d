"""What a report says, as plain values: CI forms are made from this one record, whether it was computed or read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlodiff.differ.comparison import Status
from hlodiff.hlo.model import Stage
from hlodiff.policy.findings import PROGRAM_RULES, Judgement
from hlodiff.report.counts import State, count_programs
from hlodiff.report.lines import Line
from hlodiff.report.report import ToolchainChange
from hlodiff.report.timings import Timing
from hlodiff.report.wording import Place, Unit


@dataclass(frozen=True, slots=True)
class Number:
    """One number on both sides, with the bytes that belong to a count where there are any: 2 all-gathers, 24 KiB.

    Args:
        name, old, new, unit, old_bytes, new_bytes: the number.
        per: " executed" where a loop makes it another number than the text has; "" else.
        comparable: whether a larger number is more in a real run too: false where a side is not known exactly.
        old_words, new_words: a number that is a range or per turn of a loop; "" where `old` and `new` say it.
    """

    name: str
    old: float
    new: float
    unit: Unit = "count"
    old_bytes: float = 0
    new_bytes: float = 0
    per: str = ""
    comparable: bool = True
    old_words: str = ""
    new_words: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of JAX (`while/body/attention`) and how many instructions below it were edited."""

    name: str
    edited: int


@dataclass(frozen=True, slots=True)
class ProgramView:
    """One program: a stage of a function, case and target.

    Args:
        name, target, stage, status, reason, advice, broken, recorded: as those of `Compared`.
        word: the kind of change in a word or few; "" where nothing changed.
        headline: kind and size of the change in one line.
        edited: how many instructions were edited.
        numbers: those that changed and that a reviewer asks for, in a fixed order.
        scopes: the most changed ones first.
        where: the line of Python that matters most of those that caused the change.
        id: what `hlodiff accept` calls it; "" where it does not wait for a decision.
    """

    name: str
    target: str | None
    stage: Stage
    status: Status
    word: str = ""
    headline: str = ""
    edited: int = 0
    numbers: tuple[Number, ...] = ()
    scopes: tuple[Scope, ...] = ()
    where: Place | None = None
    reason: str = ""
    advice: str = ""
    broken: bool = False
    recorded: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One change of a list, in words: see `grouping.EditGroup`."""

    kind: str
    count: int
    what: str
    mark: str = ""
    follows: str = ""
    of: str = ""
    cost: str = ""
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Changes that are listed together; `title` is "" for the plain list."""

    title: str
    changes: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a changed program: its title and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """What a report says about programs that changed alike.

    Args:
        name, stage, targets: of the programs.
        headline: kind and size of the change.
        sections: what differs in numbers.
        shared: changes listed elsewhere, by their marks.
        groups: the changes.
        more: what is not listed, in words.
        edited: how many instructions were edited.
        folded: whether nothing changed in this function but what is shared: lists leave it out.
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
    """All changed programs of one stage together: how much of them is the same, and the largest changes."""

    stage: Stage
    programs: int
    same: str
    groups: tuple[Group, ...] = ()
    more: str = ""


@dataclass(frozen=True, slots=True)
class FindingView(Judgement):
    """A finding, with where it appears in the project.

    Args:
        where: the line of Python that caused it.
        fingerprint: the same in every run as long as it is the same finding.
    """

    where: Place | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class ReportView:
    """Everything that a report says.

    Args:
        command, old, new, toolchain, notes, next: as those of `Report`.
        programs: every compared program, in the order of the report.
        findings: worst first.
        shared: changes that several functions have.
        shared_more: how many of them are not listed.
        details: of changed programs.
        overviews: the same in short, for reports that are too long.
        checked: how much was compared, in words.
        folder: the project's folder below the top of the repository, "" where they are the same: CI names files from
            the top.
        timings: how long programs took to make, where that was asked for.
        causes: where toolchains differ, how much the compiler did by itself.
        scenarios: the outcome of each scenario; problems with one are findings.
        limits: where the differ gave up early in functions whose details are folded.
        all: whether every change is listed, however long the report gets.
        text: the report as text, all but the totals, before it is laid out in a window.
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

    def totals(self) -> dict[str, int]:
        """The number of programs and of each outcome; the same numbers in every form."""
        return count_programs(self.programs, self.findings)

    def further_findings(self) -> tuple[FindingView, ...]:
        """Findings that are not listed with a program."""
        return tuple(finding for finding in self.findings if finding.rule not in PROGRAM_RULES)

    def scenario_states(self) -> tuple[State, ...]:
        """The outcome of each scenario."""
        return self.scenarios
