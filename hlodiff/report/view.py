"""What a report says, as plain values: CI forms are made from this one record, whether it was computed or read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hlodiff.differ.comparison import Status
from hlodiff.hlo.model import Stage
from hlodiff.policy.findings import PROGRAM_RULES, Judgement
from hlodiff.report.lines import Line
from hlodiff.report.report import State, Timing, ToolchainChange, count_programs
from hlodiff.report.wording import Place, Unit

Mark = Literal["", "better", "worse"]
Verdict = Literal["better", "worse", "mixed", "same"]


@dataclass(frozen=True, slots=True)
class Number:
    """One number on both sides, with the bytes that belong to a count where there are any: 2 all-gathers, 24 KiB.

    Args:
        name, old, new, unit, old_bytes, new_bytes: the number.
        per: " executed" where a loop makes it another number than the text has; "" else.
        comparable: whether a larger number is more in a real run too: false where a side is not known exactly.
        old_words, new_words: a number that is a range or per turn of a loop; "" where `old` and `new` say it.
        mark: whether the change costs less or more; "" where the number has no direction, as a count of operations.
        relevant: whether the change is above the threshold below which reports only count it.
        rank: how much the change matters beside others of one program; 0 without a mark.
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
    def has_verdict(self) -> bool:
        """Whether it changed, or is the same and the compiler gives it other memory."""
        return self.status == "changed" or (self.status == "identical" and bool(self.numbers))


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One change of a list, in words: see `grouping.EditGroup`."""

    kind: str
    count: int
    what: str
    mark: str = ""
    follows: str = ""
    passes: str = ""
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
class TargetVerdict:
    """Whether a function got better or worse on targets where the same numbers changed alike.

    Args:
        targets: () where they are not known.
        verdict: what the numbers amount to.
        numbers: those to list, most important first.
        below: how many numbers changed by less than the threshold.
    """

    targets: tuple[str, ...]
    verdict: Verdict
    numbers: tuple[Number, ...] = ()
    below: int = 0


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """What one line of Python changed in a program.

    Args:
        where: the line, as the new program has it; "" where no line is known.
        was: the line of the old side, where it is another one.
        old_source, new_source: the text of both lines; "" where it is not known.
        changes: new and removed operations first.
        is_elsewhere: whether the operations come from other lines, which each change names, and this one was edited.
    """

    where: str
    was: str = ""
    old_source: str = ""
    new_source: str = ""
    changes: tuple[ChangeView, ...] = ()
    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class StageView:
    """What changed in one stage of a function, on the targets where the same changed.

    Args:
        stage, targets: which programs.
        what: what happened, in a sentence; "" where the changes say it.
        lines: causes before consequences; only the first ones.
        left: how many further changes are not listed.
        notes: what must be read with it: a limit that was hit, the pass that did it.
    """

    stage: Stage
    targets: tuple[str, ...]
    what: str = ""
    lines: tuple[ChangedLine, ...] = ()
    left: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionView:
    """What a reviewer reads first of one changed function or file.

    Args:
        name: function and case, or the name of a file.
        verdict: over all targets: "mixed" also where it is better on some and worse on others.
        sentence: the verdict in words: `worse on 2 of 3 targets: +1 all-gather (32.0 KiB)`.
        largest: the numbers of that sentence alone.
        happened: what happened and where, as that sentence has it: `jax.nn.gelu -> jax.nn.silu at net.py:6`.
        what: what happened in a few words: `placement: 2 sharding constraints gone`.
        where: the line of Python that did it.
        targets: the verdict of each target, worst first.
        stages: what was written, then what the compiler made of it.
        shared: marks of changes that other functions have too.
        folded: whether nothing changed in it but what is shared.
        budget: the budget that it is closest to, of those that it is within: `temp_bytes at 80 % of its budget (...)`.
        budget_target: the target of that.
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


@dataclass(frozen=True, slots=True)
class NumberTotals:
    """One number over all programs: how many got worse and better by more than the threshold, and by how much.

    Args:
        name: of the number.
        worse, better: how many programs.
        most_worse, most_better: the largest change with its program: `+12 %, attention on cpu`.
    """

    name: str
    worse: int = 0
    most_worse: str = ""
    better: int = 0
    most_better: str = ""


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
        functions: changed functions and files, worst first.
        written: lines of Python that were edited and that changed several functions, each once.
        numbers: each number over all of them.
        verdict: what a reader knows after one sentence; "" where nothing changed.
        threshold: the share of a number below which a change is counted and not listed.
        brief: whether verdicts are enough, without details.
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
        """The verdict in words on the changed function that a finding is about; "" where it is about another thing."""
        return next((one.sentence for one in self.functions if one.name == finding.program), "")

    def totals(self) -> dict[str, int]:
        """The number of programs and of each outcome; the same numbers in every form."""
        return count_programs(self.programs, self.findings)

    def every_finding(self) -> tuple[FindingView, ...]:
        """The findings, worst first, and where nothing is judged (`diff`) one for each program that cannot be read."""
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
