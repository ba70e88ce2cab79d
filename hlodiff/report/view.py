"""The views of a report as plain values: of its programs and functions, which a text lists, and of the whole report.

CI forms are rendered from the last, a `ReportView`, whether it was computed or read back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlodiff.differ.comparison import Status
from hlodiff.hlo.model import Stage
from hlodiff.policy.findings import PROGRAM_RULES, Judgement
from hlodiff.report.lines import Line
from hlodiff.report.report import State, Timing, ToolchainChange, count_programs
from hlodiff.report.wording import Place, Unit

MANY = 4
"""More changed functions than a reviewer remembers, so they get tables in every form."""
Mark = Literal["", "better", "worse"]
Verdict = Literal["better", "worse", "mixed", "same"]


@dataclass(frozen=True, slots=True)
class Number:
    """One number on both sides, with the bytes of a count if any: 2 all-gathers, 24 KiB.

    Args:
        name, old, new, unit, old_bytes, new_bytes: the number.
        per: " executed" if loops make it differ from the count in the text; else "".
        comparable: whether a larger number also means more in a real run: false if a side is not known exactly.
        old_words, new_words: text of a range or of a number per loop iteration; "" if `old` and `new` are exact.
        mark: whether the change costs less or more; "" if the number has no direction, such as a count of operations.
        relevant: whether the change is above the threshold, so that reports list it.
        rank: relative importance of the change within one program; 0 without a mark.
        least: the threshold of its own that the change is below, as `copies below 1 % of all bytes`; "" if it is below
            none, or below that of all numbers.
        besides: the opposite change of what the number leaves out, as `outside of the loops +67 %` of work per turn.
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
    mark: Mark = ""
    relevant: bool = True
    rank: float = 0
    least: str = ""
    besides: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A JAX scope (`while/body/attention`) and the number of edited instructions in it."""

    name: str
    edited: int


@dataclass(frozen=True, slots=True)
class ProgramView:
    """One program: a stage of a function, case and target.

    Args:
        name, target, stage, status, reason, advice, broken, recorded: as in `ProgramComparison`.
        word: the kind of change in a few words; "" if nothing changed.
        headline: kind and size of the change in one line.
        edited: number of edited instructions.
        numbers: changed numbers, in a fixed order.
        scopes: edited scopes, most changed first.
        where: the most important Python line that caused the change.
        id: id for `hlodiff accept`; "" if no decision is pending.
        verdict: whether its numbers got better or worse.
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
    verdict: Verdict = "same"

    @property
    def label(self) -> str:
        """Its name in messages: `train_step on cpu`."""
        return f"{self.name} on {self.target}" if self.target else self.name

    @property
    def has_verdict(self) -> bool:
        """Whether it changed, or is the same but needs different memory."""
        return self.status == "changed" or (self.status == "identical" and bool(self.numbers))


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One listed change as text; see `grouping.EditGroup`.

    Args:
        kind, count, what, passes, cost: as of the edit group.
        mark: its mark, by which other lists refer to it.
        follows: its knock-on edits with their operations: `+ 2 knock-on edits with +16 flops: 2 dot`.
        of: the programs that have it.
        where: its line, or the whole call stack if requested.
        following: number of its knock-on edits.
        follows_cost: by how much what follows costs more or less, if that is worth a number; "" else.
    """

    kind: str
    count: int
    what: str
    mark: str = ""
    follows: str = ""
    passes: str = ""
    of: str = ""
    cost: str = ""
    where: tuple[str, ...] = ()
    following: int = 0
    follows_cost: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a changed program: its title and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetVerdict:
    """The verdict on a function, for targets whose numbers changed alike.

    Args:
        targets: () if unknown.
        verdict: the verdict on the numbers.
        numbers: numbers to list, most important first.
        below: how many further numbers changed too little to list.
        small: of those the ones that changed by more than the threshold, each by the threshold of its own.
    """

    targets: tuple[str, ...]
    verdict: Verdict
    numbers: tuple[Number, ...] = ()
    below: int = 0
    small: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """The changes of one Python line in a program.

    Args:
        where: the line in the new program; "" if unknown.
        was: the line on the old side, if different.
        old_source, new_source: the text of both lines; "" if unknown.
        changes: the changes, added and removed operations first.
        is_elsewhere: whether the operations come from other lines (given with each change) but this one was edited.
        is_moved: whether the same text was on another line.
    """

    where: str
    was: str = ""
    old_source: str = ""
    new_source: str = ""
    changes: tuple[ChangeView, ...] = ()
    is_elsewhere: bool = False
    is_moved: bool = False

    @property
    def is_edited(self) -> bool:
        """Whether the line was added, deleted, rewritten or moved; False if the sources are unknown."""
        return self.is_moved or self.old_source != self.new_source

    @property
    def edit(self) -> tuple[str, str, str]:
        """Identifies its edit, whichever Python function its operations are in: the place and both texts."""
        return self.where.partition(" (")[0], self.old_source, self.new_source


@dataclass(frozen=True, slots=True)
class StageView:
    """The changes in one stage of a function, on targets with the same changes.

    Args:
        stage, targets: the programs.
        what: what happened, as a sentence; "" if the changes show it.
        lines: changed lines, causes before consequences; only the first ones.
        left: number of unlisted changes.
        notes: notes that belong with it: a limit that was hit, the pass that caused it.
    """

    stage: Stage
    targets: tuple[str, ...]
    what: str = ""
    lines: tuple[ChangedLine, ...] = ()
    left: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionView:
    """The view of one changed function or file that a reviewer reads first.

    Args:
        name: function and case, or a file name.
        verdict: the verdict over all targets; "mixed" also if it is better on some and worse on others.
        sentence: the verdict as a sentence: `worse on 2 of 3 targets: +1 all-gather (32.0 KiB)`.
        largest: only the numbers of that sentence.
        happened: what happened and where, in one line: `jax.nn.gelu -> jax.nn.silu at net.py:6`.
        what: what happened in a few words: `placement: 2 sharding constraints gone`.
        where: the Python line that caused it.
        targets: the verdicts by target, worst first.
        stages: changes of StableHLO, then of the compiled program.
        shared: marks of changes shared with other functions.
        folded: whether all its changes are shared.
        budget: the budget that it is closest to without exceeding it: `temp_bytes at 80 % of its budget (...)`.
        budget_target: the target of `budget`.
        is_lowered_only: whether StableHLO alone changed.
    """

    name: str
    verdict: Verdict
    sentence: str
    largest: str = ""
    happened: str = ""
    what: str = ""
    where: Place | None = None
    targets: tuple[TargetVerdict, ...] = ()
    stages: tuple[StageView, ...] = ()
    shared: str = ""
    folded: bool = False
    budget: str = ""
    budget_target: str | None = None
    is_lowered_only: bool = False


@dataclass(frozen=True, slots=True)
class NumberTotals:
    """One number over all programs: in how many it got worse or better by more than the threshold, and by how much.

    Args:
        name: name of the number.
        worse, better: number of programs.
        most_worse, most_better: the largest change with its program: `+12 %, attention on cpu`.
    """

    name: str
    worse: int = 0
    most_worse: str = ""
    better: int = 0
    most_better: str = ""


# --- The view of a whole report.


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
