"""The views of programs and functions as plain values: what a text lists of a report; `view.py` has all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hlodiff.differ.comparison import Status
from hlodiff.hlo.model import Stage
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


OTHER_LINES = " or other lines"
"""After the line of a body that fusions of several lines share: XLA keeps that of one of them."""


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
        is_of_several_lines: whether its line is that of any of the fusions that share a body.
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
    is_of_several_lines: bool = False


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
        where: the line in the new program, or in the old one if it was deleted; "" if unknown.
        was: the line on the old side, if different or deleted.
        old_source, new_source: the text of both lines; "" if unknown.
        changes: the changes, added and removed operations first.
        is_elsewhere: whether the operations come from other lines (given with each change) but this one was edited.
        is_moved: whether the same text was on another line.
        old_lines, new_lines: where several lines were edited together, up to three of either side, with those two.
        runs: how often each of the listed operations runs in one call, if all run equally often; 0 if not, or unknown.
    """

    where: str
    was: str = ""
    old_source: str = ""
    new_source: str = ""
    changes: tuple[ChangeView, ...] = ()
    is_elsewhere: bool = False
    is_moved: bool = False
    old_lines: tuple[str, ...] = ()
    new_lines: tuple[str, ...] = ()
    runs: int = 0

    @property
    def in_loops(self) -> str:
        """`, runs 48 times` of operations that a loop runs; "" if they run once, or nobody knows how often.

        Example:
            >>> ChangedLine("net.py:4", runs=48).in_loops, ChangedLine("net.py:4", "net.py:4", runs=48).in_loops
            (', runs 48 times', ', ran 48 times')
        """
        return f", {'ran' if self.is_gone else 'runs'} {self.runs:,} times" if self.runs > 1 else ""

    @property
    def old_sources(self) -> tuple[str, ...]:
        """The text of its old lines, as they are listed."""
        return self.old_lines or ((self.old_source,) if self.old_source else ())

    @property
    def new_sources(self) -> tuple[str, ...]:
        """The text of its new lines, as they are listed."""
        return self.new_lines or ((self.new_source,) if self.new_source else ())

    def without_text(self) -> ChangedLine:
        """The line where its text was shown before."""
        return replace(self, old_source="", new_source="", old_lines=(), new_lines=())

    @property
    def is_edited(self) -> bool:
        """Whether the line was added, deleted, rewritten or moved; False if the sources are unknown."""
        return self.is_moved or self.old_source != self.new_source

    @property
    def is_gone(self) -> bool:
        """Whether only the old program has the line, so that its number is an old one."""
        return bool(self.was) and self.was == self.where

    def place_of(self, change: ChangeView) -> str:
        """The line of one of its changes: `was net.py:4 (f)` if that is a line of the old program.

        Example:
            >>> line = ChangedLine("net.py:5", "net.py:4", "y = sin(x)", "y = cos(x)")
            >>> line.place_of(ChangeView("added", 1, "cosine")), line.place_of(ChangeView("removed", 1, "sine"))
            ('net.py:5', 'was net.py:4')
            >>> line.place_of(ChangeView("added", 2, "cosine", is_of_several_lines=True))
            'net.py:5 or other lines'
        """
        at = self._place_of(change)
        return f"{at}{OTHER_LINES}" if change.is_of_several_lines and at else at

    def _place_of(self, change: ChangeView) -> str:
        is_removed = change.kind == "removed"
        if self.is_gone and not is_removed:  # another line has what the operation became
            return next(iter(change.where), f"was {self.was}")
        is_old = self.is_gone or (bool(self.was) and self.is_edited and is_removed)
        return f"was {self.was}" if is_old else self.where

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
        largest, against: only the numbers of that sentence, and the first that speaks against the verdict.
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
        is_at_equal_turns: whether numbers of the verdict hold at equal trip counts only.
        is_partly_known: whether the verdict holds only as far as trip counts are known.
        is_rounded: whether, at the same cost, floating-point results may differ.
        arguments: how its arguments changed, which callers notice, see `kinds_of_changed_arguments`.
    """

    name: str
    verdict: Verdict
    sentence: str
    largest: str = ""
    against: str = ""
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
    is_at_equal_turns: bool = False
    is_partly_known: bool = False
    is_rounded: bool = False
    arguments: tuple[str, ...] = ()


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
