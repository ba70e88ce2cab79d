"""One program on both sides and the difference: the record that policies judge and reports print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.differ.classify import CLASSES, Class, classes_of, replaces_a_number
from hlodiff.differ.loops import loops_of, whiles
from hlodiff.differ.metrics import ExecutedCount, executed
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.model import Module, Place, Stage

if TYPE_CHECKING:
    from hlodiff.differ.passes.blame import PassBlame

Status = Literal["identical", "changed", "added", "removed", "not_checked"]
STATUSES: tuple[Status, ...] = ("identical", "changed", "added", "removed", "not_checked")

_TOO_MANY = 2**63  # of anything


@dataclass(frozen=True, slots=True)
class LoopComparison:
    """How the loops of two programs affect numbers that count each body once.

    Args:
        old, new: whether that side has a loop.
        same: whether an increase of such a number is also one per run: both sides have the same loops with the same
            trip counts, and no count of one call went the other way, as when something moved into or out of a loop.
    """

    old: bool = False
    new: bool = False
    same: bool = True

    def words(self) -> str:
        """The suffix for XLA's figures of both sides: "" without a loop."""
        if not (self.old or self.new):
            return ""
        side = "" if self.old and self.new else "before: " if self.old else "after: "
        return f" ({side}each loop body once)"


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """One program (function, case, target, stage) after comparing.

    Args:
        name: function and case, or a file's relative path without suffix.
        target: what it is compiled for; None if unknown, as for plain files.
        stage: "compiled" or "stablehlo".
        status: "added" is only on the new side, "removed" only on the old one.
        diff: the difference; None unless both sides were read.
        old_facts, new_facts: numbers that the compiler reports beside the program, by name: `memory.temp`,
            `cost.flops`.
        op_counts: of the only side of an added or removed program, or of both sides if they are known to be equal.
        reason: why it was not checked; "" otherwise.
        advice: what to do about that; "" if nothing helps.
        broken: whether it could not be judged because something is wrong (a damaged file, a failed compile), rather
            than because this machine lacks the target.
        log: the end of a log with more details.
        recorded: whether a program that was not checked has a snapshot, so that its result is unknown.
        id: the name that `hlodiff accept` takes for a captured program that awaits a decision; "" if none does.
        replayed: whether replaying the edits turned the old program into the new one; None if not requested.
        module: the program of the only side, or of both if they are known to be equal, for policies.
        by_compiler: whether the StableHLO is the same but the toolchain differs, so that the compiler made the change.
        other_toolchain: whether it changed and the two sides come from different toolchains.
        has_folded_constants: whether its StableHLO changed but no number in it: changed constants are the compiler's.
        is_of_numbers: whether its StableHLO differs in floating-point numbers alone: whole numbers that differ are what
            the compiler folds from them, as a number of steps.
        compiles_alike: whether its StableHLO changed and it compiles to the same program as before, which rounds alike.
        passes: which of XLA's passes made both sides differ; None if not requested.
        remarks: what a web page shows for a selected instruction, by side (0 old, 1 new) and place; None for nothing.
        memo: cache of results that others computed from it.
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
    is_of_numbers: bool = False
    compiles_alike: bool = False
    donated: tuple[int, ...] = ()
    module: Module | None = field(default=None, repr=False, compare=False)
    passes: PassBlame | None = field(default=None, repr=False, compare=False)
    remarks: Callable[[int, Place], str] | None = field(default=None, repr=False, compare=False)
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # Every report and every policy needs the classes, and computing them looks at thousands of edits.
    _known: list[tuple[ModuleDiff, bool, tuple[Class, ...]]] = field(default_factory=list, repr=False, compare=False)

    @property
    def label(self) -> str:
        """Its name in messages: `train_step on cpu`."""
        return f"{self.name} on {self.target}" if self.target else self.name

    @property
    def now(self) -> Module | None:
        """The program of the new side; None if it was not captured or was removed."""
        if self.diff is not None:
            return self.diff.new
        return self.module if self.status in ("identical", "added") else None

    @property
    def classes(self) -> tuple[Class, ...]:
        """What kind of change it is, most severe first; () for a one-sided program or one not compared."""
        if self.status not in ("identical", "changed"):
            return ()
        found: tuple[Class, ...] = ("identical",)
        if self.diff is not None:
            folded = self.has_folded_constants
            if not self._known or self._known[0][0] is not self.diff or self._known[0][1] != folded:
                self._known[:] = [(self.diff, folded, classes_of(self.diff, folded))]
            found = self._known[0][2]  # computed on first access; a copy of this record shares them
            literals = self.is_of_numbers and all(map(_is_of_constants, self.diff.reported))
            found = ("numerics",) if literals and "structure" in found else found
        if self.status == "changed" and found == ("identical",):
            found = ("structure",)  # known to differ, but not compared
        if self.compiles_alike and "numerics" in found:
            found = tuple(name for name in CLASSES if name in {*found, "structure"} - {"numerics"})
        return ("toolchain", *found) if self.by_compiler and self.status == "changed" else found

    def facts(self) -> dict[str, tuple[float, float]]:
        """Facts known on both sides, as (old, new)."""
        return {name: (old, self.new_facts[name]) for name, old in self.old_facts.items() if name in self.new_facts}

    def metrics(self) -> dict[str, tuple[float, float]]:
        """Counted metrics and the compiler's facts, as (old, new)."""
        counted = dict(self.diff.metrics.items()) if self.diff else {}
        return counted | self.facts()

    def executed(self) -> Mapping[str, tuple[ExecutedCount | None, ExecutedCount | None]]:
        """What one call does, by metric, as (old, new); None for a missing side."""
        if self.diff is not None:
            return self.diff.executed
        if "executed" not in self.memo:
            self.memo["executed"] = executed(self.module) if self.module is not None else {}
        found: Mapping[str, ExecutedCount] = self.memo["executed"]
        has_old, has_new = self.status != "added", self.status != "removed"
        return {name: (one if has_old else None, one if has_new else None) for name, one in found.items()}

    def loops(self) -> LoopComparison:
        """How the loops of both sides affect numbers that count each body once; computed on first access."""
        diff = self.diff
        if diff is None:
            has = self.module is not None and any(whiles(self.module))
            return LoopComparison(has and self.status != "added", has and self.status != "removed")
        known = self.memo.get("loops")
        if known is None or known[0] is not diff:
            old, new = any(whiles(diff.old)), any(whiles(diff.new))
            same = loops_of(diff.old) == loops_of(diff.new) and not any(_goes_another_way(diff)) if old or new else True
            known = self.memo["loops"] = (diff, LoopComparison(old, new, same))
        found: LoopComparison = known[1]
        return found

    def metrics_by_kind(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Counted metrics as (old, new), apart for entry, fusions, loop bodies, branches and reductions."""
        return {kind: dict(metrics) for kind, metrics in self.diff.kinds.items()} if self.diff else {}

    def op_count_pairs(self) -> dict[str, tuple[int, int]]:
        """Op counts as (old, new); a missing side counts 0."""
        if self.diff:
            return dict(self.diff.op_counts.items())
        there = {"added": (0, 1), "removed": (1, 0)}.get(self.status, (1, 1))
        return {name: (there[0] * count, there[1] * count) for name, count in self.op_counts.items()}


def _goes_another_way(diff: ModuleDiff) -> Iterator[bool]:
    """For each number counted both ways, whether the count of one call does not follow that of the text."""
    for name, (before, after) in diff.executed.items():
        old, new = diff.metrics.get(name, (0, 0))
        if before.exact is not None and after.exact is not None:
            yield (new > old) != (after.exact > before.exact) or (new < old) != (after.exact < before.exact)


def with_compiler(
    programs: Iterable[ProgramComparison], other: Callable[[ProgramComparison], bool]
) -> tuple[ProgramComparison, ...]:
    """Mark programs changed under a different toolchain, by the compiler (same StableHLO), or in StableHLO alone.

    If the StableHLO changed but no number in it, changed constants of the compiled program are marked as the
    compiler's: it multiplies constants with each other and with element counts.

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
    by_stage = {(p.stage, p.name, p.target): p for p in programs}

    others: dict[Stage, Stage] = {"compiled": "stablehlo", "stablehlo": "compiled"}
    return tuple(
        _marked(one, by_stage.get((others[one.stage], one.name, one.target)), other(one))
        if one.status == "changed"
        else one
        for one in programs
    )


def _is_of_constants(edit: Edit) -> bool:
    """Whether only constants came, went or have another number, as themselves or as what an operation takes."""
    site = edit.new or edit.old
    if edit.kind in ("added", "removed"):
        return site is not None and site.opcode == "constant"
    return edit.kind == "changed" and all(one.field == "literal" or one.literals for one in edit.changes)


def _marked(program: ProgramComparison, other_stage: ProgramComparison | None, other: bool) -> ProgramComparison:
    if program.stage == "stablehlo" and other_stage is not None and other_stage.status == "identical":
        # Other tiles of a kernel may add in another order.
        is_tuned = other_stage.diff is not None and bool(other_stage.diff.tuning)
        return replace(program, other_toolchain=other, compiles_alike=not is_tuned)
    if program.stage != "compiled" or other_stage is None:
        return replace(program, other_toolchain=True) if other else program
    written = other_stage
    if written.status == "identical":
        return replace(program, by_compiler=True, other_toolchain=True) if other else program
    reported = written.diff.reported if written.diff else ()
    # If only literals were edited, constants folded from them differ too.
    are_numbers = bool(reported) and all(edit.fields == ("literal",) for edit in reported)
    is_folded = written.diff is not None and not (
        other or are_numbers or "numerics" in written.classes or replaces_a_number(written.diff)
    )
    is_of_numbers = are_numbers and written.classes == ("numerics",) and not other
    return replace(program, other_toolchain=other, has_folded_constants=is_folded, is_of_numbers=is_of_numbers)


def donated_parameters(summary: Mapping[str, Any]) -> tuple[int, ...]:
    """The program parameters that its summary lists as donated; unused arguments are not parameters.

    Example:
        >>> donated_parameters({"arguments": [{"unused": True}, {"donated": False}, {"donated": True}]})
        (1,)
    """
    listed = summary.get("arguments")
    found = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    taken = [one for one in found if one.get("unused") is not True]
    return tuple(number for number, one in enumerate(taken) if one.get("donated") is True)


def flat_facts(summary: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a summary's `memory` and `cost` tables, as `memory.temp`, without impossible ones.

    XLA for CPUs reports as peak what arguments and results take, without the temporary memory (11 of 11 examples,
    within 16 bytes). XLA for TPUs reports 0 bytes of temporary memory for programs whose peak exceeds all that it
    reports (11 of 17 examples); there the peak is what their buffers need.

    Example:
        >>> flat_facts({"memory": {"argument": 800, "output": 800, "alias": 0, "temp": 0, "peak": 2400}})
        {'memory.argument': 800, 'memory.output': 800, 'memory.alias': 0, 'memory.peak': 2400}
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
    elif is_whole and peak > held + temp + _ROUNDING:
        found.pop("memory.temp", None)
    return found


_HELD = ("memory.argument", "memory.output", "memory.host_argument", "memory.host_output", "memory.host_temp")
_HELD_TWICE = ("memory.alias", "memory.host_alias")
_ROUNDING = 64  # bytes: buffer alignment and the address table of a tuple


def is_figure(value: object) -> bool:
    """Whether a value from an untrusted file is a number that a compiler can report.

    Example:
        >>> is_figure(8), is_figure(0.5), is_figure(float("nan")), is_figure(True), is_figure(10**400)
        (True, True, False, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _TOO_MANY
