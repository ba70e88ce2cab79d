"""One program on both sides and how they differ: the record that policies judge and reports print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.differ.classify import Class, classes_of
from hlodiff.differ.computation_matches import Place
from hlodiff.differ.result import ModuleDiff
from hlodiff.hlo.model import Module, Stage

if TYPE_CHECKING:
    from hlodiff.differ.executed import ExecutedCount
    from hlodiff.differ.passes.blame import PassBlame

Status = Literal["identical", "changed", "added", "removed", "not_checked"]
STATUSES: tuple[Status, ...] = ("identical", "changed", "added", "removed", "not_checked")

_TOO_MANY = 2**63  # of anything


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """One program (function, case, target, stage) after comparing.

    Args:
        name: function and case, or a file's relative path without suffix.
        target: what it is compiled for; None where that is not known, as for plain files.
        stage: "compiled" or "stablehlo".
        status: "added" is only on the new side, "removed" only on the old one.
        diff: the difference; None unless both sides were read.
        old_facts, new_facts: numbers that the compiler gave beside the program, by name: `memory.temp`, `cost.flops`.
        op_counts: of the one side of an added or removed program, or of both sides of one that is known to be the same.
        reason: why it was not checked; "" else.
        advice: what to do about that; "" where nothing helps.
        broken: whether it could not be judged because something is wrong (a damaged file, a failed compile), rather
            than because this machine lacks the target.
        log: the end of a log that tells more.
        recorded: whether a program that was not checked has a snapshot, so that something stays unknown.
        id: what `hlodiff accept` calls a captured program that waits for a decision; "" where none does.
        replayed: whether the edits were seen to turn the old program into the new one; None where nobody asked.
        module: the program of the only side there is, or of both where they are known to be the same, for policies.
        by_compiler: whether the StableHLO is the same and the toolchain is not, so that the compiler made the change.
        other_toolchain: whether it changed and both sides were not made by one toolchain.
        has_folded_constants: whether its StableHLO changed, and no number in it: other constants are the compiler's.
        passes: which of XLA's passes made both sides differ; None where nobody asked.
        remarks: what a page says of an instruction that is chosen, by side (0 old, 1 new) and place; None for nothing.
        memo: what others worked out of it and ask for again.
        donated: entry parameters that the case donates. JAX leaves the mark out of the program where no result fits.
    """

    name: str
    target: str | None
    stage: Stage
    status: Status
    diff: ModuleDiff | None = None
    old_facts: Mapping[str, float] = field(default_factory=dict)
    new_facts: Mapping[str, float] = field(default_factory=dict)
    op_counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    advice: str = ""
    broken: bool = False
    log: str = ""
    recorded: bool = False
    id: str = ""
    replayed: bool | None = None
    by_compiler: bool = False
    other_toolchain: bool = False
    has_folded_constants: bool = False
    donated: tuple[int, ...] = ()
    module: Module | None = field(default=None, repr=False, compare=False)
    passes: PassBlame | None = field(default=None, repr=False, compare=False)
    remarks: Callable[[int, Place], str] | None = field(default=None, repr=False, compare=False)
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # Every report and every policy asks for the classes, and thousands of edits are looked at to tell them.
    _known: list[tuple[ModuleDiff, bool, tuple[Class, ...]]] = field(default_factory=list, repr=False, compare=False)

    @property
    def label(self) -> str:
        """How messages call it: `train_step on cpu`."""
        return f"{self.name} on {self.target}" if self.target else self.name

    @property
    def now(self) -> Module | None:
        """The program as it is now: that of the new side; None where nobody captured it or it is gone."""
        if self.diff is not None:
            return self.diff.new
        return self.module if self.status in ("identical", "added") else None

    @property
    def classes(self) -> tuple[Class, ...]:
        """What kind of change it is, most severe first; () for a program that only one side has or nobody looked at."""
        if self.status not in ("identical", "changed"):
            return ()
        found: tuple[Class, ...] = ("identical",)
        if self.diff is not None:
            folded = self.has_folded_constants
            if not self._known or self._known[0][0] is not self.diff or self._known[0][1] != folded:
                self._known[:] = [(self.diff, folded, classes_of(self.diff, folded))]
            found = self._known[0][2]  # worked out at the first look; a copy of this record knows them too
        if self.status == "changed" and found == ("identical",):
            found = ("structure",)  # known to differ, and nobody looked at how
        return ("toolchain", *found) if self.by_compiler and self.status == "changed" else found

    def facts(self) -> dict[str, tuple[float, float]]:
        """Facts known on both sides, as (old, new)."""
        return {name: (old, self.new_facts[name]) for name, old in self.old_facts.items() if name in self.new_facts}

    def metrics(self) -> dict[str, tuple[float, float]]:
        """Counted metrics and the compiler's facts, as (old, new)."""
        counted = dict(self.diff.metrics.items()) if self.diff else {}
        return counted | self.facts()

    def executed(self) -> Mapping[str, tuple[ExecutedCount | None, ExecutedCount | None]]:
        """What one call does, by metric, as (old, new); None for a side that there is not."""
        if self.diff is not None:
            return self.diff.executed
        if "executed" not in self.memo:
            from hlodiff.differ.executed import executed  # which knows how programs are compared

            self.memo["executed"] = executed(self.module) if self.module is not None else {}
        found: Mapping[str, ExecutedCount] = self.memo["executed"]
        has_old, has_new = self.status != "added", self.status != "removed"
        return {name: (one if has_old else None, one if has_new else None) for name, one in found.items()}

    def metrics_by_kind(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Counted metrics as (old, new), apart for entry, fusions, loop bodies, branches and reductions."""
        return {kind: dict(metrics) for kind, metrics in self.diff.kinds.items()} if self.diff else {}

    def op_count_pairs(self) -> dict[str, tuple[int, int]]:
        """Op counts as (old, new), whichever sides there are."""
        if self.diff:
            return dict(self.diff.op_counts.items())
        there = {"added": (0, 1), "removed": (1, 0)}.get(self.status, (1, 1))
        return {name: (there[0] * count, there[1] * count) for name, count in self.op_counts.items()}


def with_compiler(
    programs: Iterable[ProgramComparison], other: Callable[[ProgramComparison], bool]
) -> tuple[ProgramComparison, ...]:
    """Mark what changed under another toolchain, and of it what the compiler did: its StableHLO did not change.

    Where the StableHLO changed, and no number in it, constants of the compiled program are marked as the compiler's: it
    multiplies one with another, and with numbers of elements.

    Args:
        programs: both stages of some programs; a program whose StableHLO is not among them is never marked.
        other: whether the toolchains of the two sides of a program differ.

    Returns:
        the same programs in the same order.

    Example:
        >>> stages = (("stablehlo", "identical"), ("compiled", "changed"))
        >>> pair = tuple(ProgramComparison("f", "cpu", stage, status) for stage, status in stages)
        >>> [program.by_compiler for program in with_compiler(pair, lambda program: True)]
        [False, True]
    """
    programs = tuple(programs)
    written = {(p.name, p.target): p for p in programs if p.stage == "stablehlo"}
    return tuple(
        _marked(p, written.get((p.name, p.target)), other(p)) if p.status == "changed" else p for p in programs
    )


def _marked(program: ProgramComparison, written: ProgramComparison | None, other: bool) -> ProgramComparison:
    if program.stage != "compiled" or written is None:
        return replace(program, other_toolchain=True) if other else program
    if written.status == "identical":
        return replace(program, by_compiler=True, other_toolchain=True) if other else program
    reported = written.diff.reported if written.diff else ()
    # Where whole numbers are all that was written, what was folded from them is another number too.
    are_numbers = bool(reported) and all(edit.fields == ("literal",) for edit in reported)
    is_folded = written.diff is not None and not (other or are_numbers or "numerics" in written.classes)
    return replace(program, other_toolchain=other, has_folded_constants=is_folded)


def donated_parameters(summary: Mapping[str, Any]) -> tuple[int, ...]:
    """The parameters of the program that its summary calls donated; arguments that it does not take are none.

    Example:
        >>> donated_parameters({"arguments": [{"unused": True}, {"donated": False}, {"donated": True}]})
        (1,)
    """
    listed = summary.get("arguments")
    found = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    taken = [one for one in found if one.get("unused") is not True]
    return tuple(number for number, one in enumerate(taken) if one.get("donated") is True)


def flat_facts(summary: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a summary's `memory` and `cost` tables, as `memory.temp`, without those that cannot be.

    XLA for CPUs gives as peak what arguments and results take, without the temporary memory (11 of 11 examples, within
    16 bytes). XLA for TPUs gives 0 bytes of temporary memory for programs whose peak is above all that it gives (of 17
    examples for 11), where the peak is what their buffers need.

    Example:
        >>> flat_facts({"memory": {"argument": 8, "output": 8, "alias": 0, "temp": 0, "peak": 24}})
        {'memory.argument': 8, 'memory.output': 8, 'memory.alias': 0, 'memory.peak': 24}
        >>> flat_facts({"memory": {"argument": 800, "output": 800, "temp": 400, "peak": 1612}})
        {'memory.argument': 800, 'memory.output': 800, 'memory.temp': 400}
        >>> flat_facts({"memory": {"temp": 8, "alias": None}})
        {'memory.temp': 8}
    """
    found: dict[str, float] = {}
    for table in ("memory", "cost"):
        values = summary.get(table)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if is_figure(value):
                found[f"{table}.{name}"] = value
    peak, temp = found.get("memory.peak", 0), found.get("memory.temp", 0)
    held = sum(found.get(name, 0) for name in _HELD) - sum(found.get(name, 0) for name in _HELD_TWICE)
    is_whole = "memory.argument" in found and "memory.output" in found
    if peak < temp or (is_whole and temp > _ROUNDING and 0 <= peak - held <= _ROUNDING):
        found.pop("memory.peak", None)
    elif is_whole and peak > held + temp:
        found.pop("memory.temp", None)
    return found


_HELD = ("memory.argument", "memory.output", "memory.host_argument", "memory.host_output", "memory.host_temp")
_HELD_TWICE = ("memory.alias", "memory.host_alias")
_ROUNDING = 64  # bytes: to the next border of a buffer, and the addresses of the parts of a tuple


def is_figure(value: object) -> bool:
    """Whether a value of a file that nobody vouches for is a number that a compiler can give.

    Example:
        >>> is_figure(8), is_figure(0.5), is_figure(float("nan")), is_figure(True), is_figure(10**400)
        (True, True, False, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _TOO_MANY
