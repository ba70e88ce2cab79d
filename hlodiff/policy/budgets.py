"""Budgets: metrics above an absolute limit, or that grew more than allowed. Improvements never fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import floor

from hlodiff.config import Budget, Limit, is_bytes, measured_as
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.metrics import (
    COMPILED_ONLY,
    EXECUTED,
    ZERO,
    ExecutedCount,
    count,
    custom_call_target,
    metrics_by_kind,
    metrics_of,
    static_costs,
)
from hlodiff.differ.result import Edit
from hlodiff.hlo.model import Frame, Instruction
from hlodiff.policy.findings import Finding, Severity, rule_label

Pair = tuple[float | None, float | None]
_Table = Mapping[str, float]


@dataclass(slots=True)
class MetricPair:
    """One program with its metrics, counted on first use."""

    program: ProgramComparison
    _alone: tuple[_Table, Mapping[str, _Table]] | None = field(default=None, repr=False)

    def value(self, metric: str) -> Pair:
        """A metric on the old and the new side.

        Args:
            metric: a name that `measured_as` knows.

        Returns:
            None for a missing side, or if the compiler does not report it. A count of nothing is 0.
        """
        named = measured_as(metric)
        assert named is not None, metric
        kind, name = named
        if (not kind and name.startswith(("memory.", "cost."))) or name in _RAW:
            old, new = self.program.old_facts.get(name), self.program.new_facts.get(name)
            return old, new
        if (diff := self.program.diff) is not None:
            if not kind and name.startswith("op."):
                return diff.op_counts.get(name.removeprefix("op."), (0, 0))
            return (diff.kinds.get(kind, {}) if kind else diff.metrics).get(name, (0, 0))
        if self._alone is None:
            assert self.program.now is not None
            counts = count(self.program.now)
            ops = {f"op.{opcode}": number for opcode, number in counts.ops.items()}
            costs = static_costs(self.program.now)
            self._alone = {**metrics_of(counts), **costs, **ops}, metrics_by_kind(counts)
        whole, by_kind = self._alone
        value = by_kind.get(kind, {}).get(name, 0) if kind else whole.get(name, 0)
        return (None if self.program.status == "added" else value), value


# Facts without a table of their own: only raw text has them.
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


# Facts of XLA that are also counted from shapes for one call of the program.
_COUNTED_TOO = {"cost.flops": "flops", "cost.bytes_accessed": "bytes_accessed"}


def executed_as(metric: str) -> str:
    """The comparison's name of an executed metric; "" for a metric of the program text alone.

    Example:
        >>> executed_as("flops"), executed_as("collectives.all-gather.bytes"), executed_as("loop.copies")
        ('flops', 'collective_bytes.all-gather', '')
    """
    kind, name = measured_as(metric) or ("", "")
    name = _COUNTED_TOO.get(name, name)
    tables = ("collectives.", "collective_bytes.", "custom_calls.")
    return name if not kind and (name in EXECUTED or name.startswith(tables)) else ""


def _executed_name(limit: Limit, budget: Budget) -> str:
    """The executed metric that a limit is on; "" if it is on the program text."""
    name = "" if limit.static else executed_as(limit.metric)
    return name if budget.stage == "compiled" or name not in COMPILED_ONLY else ""


def _executed(measured: MetricPair, name: str) -> tuple[ExecutedCount | None, ExecutedCount]:
    """Both sides of an executed metric; the old side is None for a new program."""
    old, new = measured.program.executed().get(name, (ZERO, ZERO))
    return None if measured.program.status == "added" else old, new or ZERO


def over_budget(measured: MetricPair, budget: Budget) -> Iterator[Finding]:
    """Findings of a budget on one program.

    Args:
        measured: a program of the budget's stage.
        budget: a budget that applies to the program.

    Returns:
        one finding for each violated limit; "info" if the compiler does not report the metric, and one without a
        verdict if it depends on an unknown trip count.
    """
    for limit in budget.limits:
        if name := _executed_name(limit, budget):
            yield from _over_executed(measured, budget, limit, name)
            continue
        old, new = measured.value(limit.metric)
        if new is None:
            what = f"{limit.metric} is not known here: the compiler for this target does not report it"
            yield _finding(measured, budget, limit, what, "info")
            continue
        what = _broken(limit, old, new)
        if what:
            what += " (static)" if executed_as(limit.metric) else ""
            yield _finding(measured, budget, limit, what, rule_label(budget.severity), old is not None and new > old)


@dataclass(frozen=True, slots=True)
class Margin:
    """How much of a budget a program uses.

    Args:
        program, target: which one.
        metric: metric of the limit.
        value, most: the program's value and its limit, in the metric's unit.
    """

    program: str
    target: str | None
    metric: str
    value: float
    most: float

    @property
    def share(self) -> float:
        """1.0 if the budget is used up."""
        return self.value / self.most

    @property
    def words(self) -> str:
        """`temp_bytes at 80 % of its budget (24 B of 30 B)`."""
        share = f"{floor(100 * self.share)} %"  # rounded down: 100 % means used up
        sides = [format_metric(self.metric, number) for number in (self.value, self.most)]
        on = f", {self.target}" if self.target else ""
        return f"{self.metric} at {share} of its budget ({sides[0]} of {sides[1]}{on})"


def margins(measured: MetricPair, budget: Budget) -> Iterator[Margin]:
    """The used share of each limit that a program is within; limits on growth alone have none.

    Args:
        measured: a program of the budget's stage.
        budget: a budget that applies to the program.
    """
    for limit in budget.limits:
        name = _executed_name(limit, budget)
        value = _executed(measured, name)[1].exact if name else measured.value(limit.metric)[1]
        if limit.most and value is not None and value <= limit.most:
            yield Margin(measured.program.name, measured.program.target, limit.metric, value, limit.most)


def _over_executed(measured: MetricPair, budget: Budget, limit: Limit, name: str) -> Iterator[Finding]:
    """Findings of a limit on an executed metric."""
    old, new = _executed(measured, name)
    what, is_known = _judged(limit, old, new)
    static = measured.value(limit.metric)
    was = _broken(limit, static[0], static[1]) if static[1] is not None else None
    if not is_known:
        severity: Severity = "broken" if budget.severity == "error" else rule_label(budget.severity)
        found = _finding(measured, budget, limit, what, severity)
        loops = [*new.per_turn, *(old.per_turn if old else ())]
        where = next((Frame(loop.file, loop.line, "") for loop, _, _ in loops if loop.line), None)
        yield replace(found, source=(where,) if where else found.source, advice=_ADVICE)
    elif what:
        if was == "":
            what += f" (executed; {_text_has(limit, static[1])} the limit holds)"
        elif new.exact != static[1]:
            what += " (executed)"
        grown = old is not None and new.least > old.least
        yield _finding(measured, budget, limit, what, rule_label(budget.severity), grown)
    elif was:
        now = new.words(partial(format_metric, limit.metric))
        what = f"{limit.metric} is {now} in one call, which holds; {_text_has(limit, static[1])} it would not"
        yield replace(_finding(measured, budget, limit, what, "info"), advice=_ADVICE)


_ADVICE = "`static = true` in the limit judges the text of the program, where each loop counts once"


def _text_has(limit: Limit, value: float | None) -> str:
    who = "by XLA, which counts each loop once" if limit.metric in ("flops", "bytes_accessed") else "in the text"
    return f"{who}, it is {format_metric(limit.metric, value or 0)}, for which"


def _judged(limit: Limit, old: ExecutedCount | None, new: ExecutedCount) -> tuple[str, bool]:
    """Why an executed metric is over its limit ("" if it is not), and whether it could be judged."""
    low, high = new.bounds
    show = partial(format_metric, limit.metric)
    now = f"{limit.metric} is {new.words(show)}"
    if limit.most is not None:
        if low > limit.most:
            return f"{now}; at most {show(limit.most)}", True
        if high is None or high > limit.most:
            return f"could not judge whether {limit.metric} is at most {show(limit.most)}: {_why(new, show)}", False
    if limit.least is not None:
        if high is not None and high < limit.least:
            return f"{now}; at least {show(limit.least)}", True
        if low < limit.least:
            return f"could not judge whether {limit.metric} is at least {show(limit.least)}: {_why(new, show)}", False
    if limit.growth is None or old is None or old.is_same(new):
        return "", True
    if old.exact is not None and new.exact is not None:
        return _broken(replace(limit, most=None, least=None), old.exact, new.exact), True
    return _grown(limit, old, new)


def _grown(limit: Limit, old: ExecutedCount, new: ExecutedCount) -> tuple[str, bool]:
    """`_judged` for growth of inexact metrics: part by part if the loops are the same, else by bounds."""
    show = partial(format_metric, limit.metric)
    if old.compares_with(new):
        parts = [(old.least, new.least), *zip(_per_turn(old), _per_turn(new), strict=True)]
        over = [after > _allowed(limit, before) for before, after in parts]
        holds, fails = not any(over), all(after >= before for before, after in parts) and any(over)
        fails = fails and (not limit.growth or all(over))
    else:
        (low, high), (was_low, was_high) = new.bounds, old.bounds
        holds = high is not None and high <= _allowed(limit, was_low)
        fails = was_high is not None and low > _allowed(limit, was_high)
    if holds:
        return "", True
    both = f"from {old.words(show)} to {new.words(show)}"
    if fails:
        return f"{limit.metric} grew {both}; {_may_grow(limit)}", True
    why = "the trip counts of its loops are not known"
    return f"could not judge how {limit.metric} grew {both}: {why}; {_may_grow(limit)}", False


def _per_turn(number: ExecutedCount) -> list[int]:
    return [low for _, low, _ in sorted(number.per_turn, key=lambda part: part[0].condition)]


def _allowed(limit: Limit, old: float) -> float:
    growth = limit.growth or 0
    return old * (1 + growth) if limit.relative else old + growth


def _why(number: ExecutedCount, show: Callable[[float], str]) -> str:
    if number.per_turn:
        return f"it is {number.words(show)}, whose trip count is not known"
    return f"it is {number.words(show)}, as loops may end early and one of several branches runs"


def _broken(limit: Limit, old: float | None, new: float) -> str:
    """Why a value is over its limit; "" if it is not."""
    name = limit.metric
    now = f"{name} is {format_metric(name, new)}"
    if limit.most is not None and new > limit.most:
        return f"{now}; at most {format_metric(name, limit.most)}"
    if limit.least is not None and new < limit.least:
        return f"{now}; at least {format_metric(name, limit.least)}"
    if limit.growth is None or old is None or new <= old:
        return ""
    if new <= _allowed(limit, old):
        return ""
    share = f" ({(new - old) / old:+.1%})".replace("%", " %") if old else ""
    return f"{name} grew from {format_metric(name, old)} to {format_metric(name, new)}{share}; {_may_grow(limit)}"


def _may_grow(limit: Limit) -> str:
    if not limit.growth:
        return "it may only fall"
    if limit.relative:
        return f"at most +{limit.growth * 100:.4g} %"
    return f"at most +{format_metric(limit.metric, limit.growth)}"


def _finding(
    measured: MetricPair, budget: Budget, limit: Limit, what: str, severity: Severity, grown: bool = False
) -> Finding:
    program = measured.program
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
        edit.source if edit else _first(measured, limit.metric) if severity != "info" else (),
        f"{budget.stage} {limit.metric}",
    )


def _cause(measured: MetricPair, metric: str) -> Edit | None:
    """The edit that most likely made a metric grow: the largest one that adds what is counted."""
    diff = measured.program.diff
    if diff is None:
        return None
    wanted = _counts(metric)
    brought = [edit for edit in diff.reported if edit.new is not None and edit.kind in ("added", "changed")]
    if wanted is not None:
        brought = [edit for edit in brought if edit.new and wanted(edit.new.instruction_in(diff.new))]
        brought = [e for e in brought if e.kind == "added" or "opcode" in e.fields or "shape" in e.fields]
    grown = []
    for number, edit in enumerate(brought):  # what each adds in flops or written bytes
        costs = edit.cost or (None, None)
        old, new = (0 if cost is None else cost.flops if metric == "flops" else cost.written for cost in costs)
        grown += [(new - old, -number)] if new > old else []
    if grown:
        return brought[-max(grown)[1]]
    return brought[0] if wanted is not None and brought else None


class _InstructionFilter:
    """Predicate: whether a metric counts an instruction."""

    def __init__(self, opcodes: tuple[str, ...], target: str = "") -> None:
        self.opcodes, self.target = opcodes, target

    def __call__(self, it: Instruction) -> bool:
        if it.opcode.removesuffix("-start") not in self.opcodes and it.opcode.replace("_", "-") not in self.opcodes:
            return False
        return self.target in custom_call_target(it) if self.target else True


def _counts(metric: str) -> _InstructionFilter | None:
    """The instructions that a metric counts; None if it does not count instructions (memory, flops, fusions)."""
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
    """Frames of the first counted instruction, for a program without edits."""
    wanted, module = _counts(metric), measured.program.now
    if wanted is None or module is None:
        return ()
    for computation in module.computations:
        for it in computation.instructions:
            if wanted(it) and it.frame >= 0:
                return module.stack(it.frame)
    return ()
