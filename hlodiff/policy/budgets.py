"""Budgets: metrics that went over an absolute limit, or grew more than they may. What got better never fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hlodiff.config import Budget, Limit, is_bytes, measured_as
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.loop_turns import ONE_TURN, Turns, counts_turns, turns_of
from hlodiff.differ.metrics import count, custom_call_target, metrics_by_kind, metrics_of
from hlodiff.differ.result import Edit
from hlodiff.hlo.model import Frame, Instruction
from hlodiff.policy.findings import Finding, Severity, rule_label

Pair = tuple[float | None, float | None]
_Table = Mapping[str, float]


@dataclass(slots=True)
class MetricPair:
    """One program with its numbers, counted at the first look."""

    program: ProgramComparison
    _alone: tuple[_Table, Mapping[str, _Table]] | None = field(default=None, repr=False)

    def value(self, metric: str) -> Pair:
        """A metric on the old and the new side.

        Args:
            metric: a name that `measured_as` knows.

        Returns:
            None for a side that there is not, or of which the compiler does not say it. What was counted and did not
            turn up is 0.
        """
        named = measured_as(metric)
        assert named is not None, metric
        kind, name = named
        if (not kind and name.startswith(("memory.", "cost."))) or name in _RAW:
            old, new = self.program.old_facts.get(name), self.program.new_facts.get(name)
            return old, new
        if self.program.diff is not None:
            return self._pair(kind, name)
        whole, by_kind = self._counted()
        value = by_kind.get(kind, {}).get(name, 0) if kind else whole.get(name, 0)
        return (None if self.program.status == "added" else value), value

    def _pair(self, kind: str, name: str) -> Pair:
        diff = self.program.diff
        assert diff is not None
        if kind:
            return diff.kinds.get(kind, {}).get(name, (0, 0))
        if name.startswith("op."):
            return diff.op_counts.get(name.removeprefix("op."), (0, 0))
        return diff.metrics.get(name, (0, 0))

    def _counted(self) -> tuple[_Table, Mapping[str, _Table]]:
        if self._alone is None:
            assert self.program.now is not None
            counts = count(self.program.now)
            ops = {f"op.{opcode}": number for opcode, number in counts.ops.items()}
            self._alone = {**metrics_of(counts), **ops}, metrics_by_kind(counts)
        return self._alone


# Facts that are no table of their own: only raw text shows them.
_RAW = ("estimated_cycles", "rematerialized", "functions")


def format_metric(metric: str, value: float) -> str:
    """A value of a metric with its unit.

    Example:
        >>> format_metric("temp_bytes", 3 * 2**20), format_metric("temp_bytes", 12), format_metric("fusions", 12)
        ('3.0 MiB', '12 B', '12')
    """
    if not is_bytes(metric):
        return f"{value:,.0f}"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:,.1f} {unit}"
    return f"{value:,.0f} B"


_OPCODES = {
    "copies": ("copy",),
    "copy_bytes": ("copy",),
    "transposes": ("transpose",),
    "converts": ("convert",),
    "loops": ("while",),
    "broadcasts": ("broadcast", "broadcast_in_dim"),
    "large_literals": ("constant",),
    "large_literal_bytes": ("constant",),
}


def over_budget(measured: MetricPair, budget: Budget) -> Iterator[Finding]:
    """What a budget has to say of one program.

    Args:
        measured: a program of the budget's stage.
        budget: it applies to the program.

    Returns:
        one finding for each limit that does not hold; one of severity "info" where nobody can tell.
    """
    for limit in budget.limits:
        old, new = measured.value(limit.metric)
        if new is None:
            what = f"{limit.metric} is not known here: the compiler for this target does not say it"
            yield _finding(measured, budget, limit, what, "info")
            continue
        turns = turns_of(measured.program) if counts_turns(limit.metric) else Turns()
        what = _broken(limit, old, new, turns.same)
        what += f" ({ONE_TURN})" if what and turns.new else ""
        if what:
            yield _finding(measured, budget, limit, what, rule_label(budget.severity))


def _broken(limit: Limit, old: float | None, new: float, comparable: bool) -> str:
    """Why a value is over its limit, "" where it is not; in percent too where both sides have the same loops."""
    name = limit.metric
    now = f"{name} is {format_metric(name, new)}"
    if limit.most is not None and new > limit.most:
        return f"{now}; at most {format_metric(name, limit.most)}"
    if limit.least is not None and new < limit.least:
        return f"{now}; at least {format_metric(name, limit.least)}"
    if limit.growth is None or old is None or new <= old:
        return ""
    bound = old * (1 + limit.growth) if limit.relative else old + limit.growth
    if new <= bound:
        return ""
    share = f" ({(new - old) / old:+.1%})".replace("%", " %") if old and comparable else ""
    grew = f"{name} grew from {format_metric(name, old)} to {format_metric(name, new)}{share}"
    if not limit.growth:
        return f"{grew}; it may only fall"
    allowed = f"{limit.growth:.4g}".rstrip() if not limit.relative else f"{limit.growth * 100:.4g} %"
    return f"{grew}; at most +{allowed if limit.relative else format_metric(name, limit.growth)}"


def _finding(measured: MetricPair, budget: Budget, limit: Limit, what: str, severity: Severity) -> Finding:
    program = measured.program
    old, new = measured.value(limit.metric)
    grown = old is not None and new is not None and new > old
    edit = _cause(measured, limit.metric) if grown else None
    site = (edit.new or edit.old) if edit else None
    details = (f"{edit.kind} {edit.count:,}x {site.opcode} %{site.name}",) if edit and site else ()
    advice = f"if it is meant, raise {limit.metric} in {budget.where}" if severity != "info" and budget.where else ""
    return Finding(
        severity,
        "budget",
        program.name,
        program.target,
        what,
        advice,
        details,
        edit.source if edit else _first(measured, limit.metric) if new else (),
        f"{budget.stage} {limit.metric}",
    )


def _cause(measured: MetricPair, metric: str) -> Edit | None:
    """The edit that a grown metric most likely comes from: the largest of those that brought what is counted."""
    diff = measured.program.diff
    if diff is None:
        return None
    wanted = _counts(metric)
    brought = [edit for edit in diff.reported if edit.new is not None and edit.kind in ("added", "changed")]
    if wanted is not None:
        brought = [e for e in brought if e.new and wanted(_instruction(measured, e.new.computation, e.new.instruction))]
        brought = [e for e in brought if e.kind == "added" or "opcode" in e.fields or "shape" in e.fields]
    grown = [(more, -number) for number, edit in enumerate(brought) if (more := _more(edit, metric)) > 0]
    if grown:
        return brought[-max(grown)[1]]
    return brought[0] if wanted is not None and brought else None


def _more(edit: Edit, metric: str) -> float:
    """What an edit adds, by the size that stands behind the metric."""
    old, new = edit.cost or (None, None)
    sizes = [0 if side is None else side.flops if metric == "flops" else side.written for side in (old, new)]
    return sizes[1] - sizes[0]


def _instruction(measured: MetricPair, computation: int, position: int) -> Instruction:
    diff = measured.program.diff
    assert diff is not None
    return diff.new.computations[computation].instructions[position]


class _InstructionFilter:
    """Whether an instruction is one of those that a metric counts."""

    def __init__(self, opcodes: tuple[str, ...], target: str = "") -> None:
        self.opcodes, self.target = opcodes, target

    def __call__(self, it: Instruction) -> bool:
        if it.opcode.removesuffix("-start") not in self.opcodes and it.opcode.replace("_", "-") not in self.opcodes:
            return False
        return self.target in custom_call_target(it) if self.target else True


def _counts(metric: str) -> _InstructionFilter | None:
    """What a metric counts, None where it is no kind of instruction (memory, flops, fusions)."""
    named = measured_as(metric)
    name = named[1] if named else metric
    head, _, rest = name.partition(".")
    if name in _OPCODES:
        return _InstructionFilter(_OPCODES[name])
    if head == "op":
        return _InstructionFilter((rest,))
    if head in ("collectives", "collective_bytes") and rest:
        return _InstructionFilter((rest,))
    if head == "custom_calls" and rest:
        return _InstructionFilter(("custom-call",), rest)
    return _InstructionFilter(("custom-call",), "callback") if name == "host_callbacks" else None


def _first(measured: MetricPair, metric: str) -> tuple[Frame, ...]:
    """Where the first of what is counted comes from, for a program that has no edits."""
    wanted, module = _counts(metric), measured.program.now
    if wanted is None or module is None:
        return ()
    for computation in module.computations:
        for it in computation.instructions:
            if wanted(it) and it.frame >= 0:
                return module.stack(it.frame)
    return ()
