"""Budgets: metrics that went over an absolute limit, or grew more than they may. What got better never fails."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import Budget, Limit, measured_as
from hlodiff.diff.metrics import custom_call_target
from hlodiff.diff.result import Edit
from hlodiff.ir.model import Frame, Instruction
from hlodiff.policy.findings import Finding, Severity, told_as
from hlodiff.policy.measured import Measured, in_words

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


def over_budget(measured: Measured, budget: Budget) -> Iterator[Finding]:
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
        what = _broken(limit, old, new)
        if what:
            yield _finding(measured, budget, limit, what, told_as(budget.severity))


def _broken(limit: Limit, old: float | None, new: float) -> str:
    """Why a value is over its limit, "" where it is not."""
    name = limit.metric
    now = f"{name} is {in_words(name, new)}"
    if limit.most is not None and new > limit.most:
        return f"{now}; at most {in_words(name, limit.most)}"
    if limit.least is not None and new < limit.least:
        return f"{now}; at least {in_words(name, limit.least)}"
    if limit.growth is None or old is None or new <= old:
        return ""
    bound = old * (1 + limit.growth) if limit.relative else old + limit.growth
    if new <= bound:
        return ""
    share = f" ({(new - old) / old:+.1%})".replace("%", " %") if old else ""
    grew = f"{name} grew from {in_words(name, old)} to {in_words(name, new)}{share}"
    if not limit.growth:
        return f"{grew}; it may only fall"
    allowed = f"{limit.growth:.4g}".rstrip() if not limit.relative else f"{limit.growth * 100:.4g} %"
    return f"{grew}; at most +{allowed if limit.relative else in_words(name, limit.growth)}"


def _finding(measured: Measured, budget: Budget, limit: Limit, what: str, severity: Severity) -> Finding:
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


def _cause(measured: Measured, metric: str) -> Edit | None:
    """The edit that a grown metric most likely comes from: the largest of those that brought what is counted."""
    diff = measured.program.diff
    if diff is None:
        return None
    wanted = _counts(metric)
    brought = [edit for edit in diff.edits if edit.new is not None and edit.kind in ("added", "changed")]
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


def _instruction(measured: Measured, computation: int, position: int) -> Instruction:
    diff = measured.program.diff
    assert diff is not None
    return diff.new.computations[computation].instructions[position]


class _Wanted:
    """Whether an instruction is one of those that a metric counts."""

    def __init__(self, opcodes: tuple[str, ...], target: str = "") -> None:
        self.opcodes, self.target = opcodes, target

    def __call__(self, it: Instruction) -> bool:
        if it.opcode.removesuffix("-start") not in self.opcodes and it.opcode.replace("_", "-") not in self.opcodes:
            return False
        return self.target in custom_call_target(it) if self.target else True


def _counts(metric: str) -> _Wanted | None:
    """What a metric counts, None where it is no kind of instruction (memory, flops, fusions)."""
    named = measured_as(metric)
    name = named[1] if named else metric
    head, _, rest = name.partition(".")
    if name in _OPCODES:
        return _Wanted(_OPCODES[name])
    if head == "op":
        return _Wanted((rest,))
    if head in ("collectives", "collective_bytes") and rest:
        return _Wanted((rest,))
    if head == "custom_calls" and rest:
        return _Wanted(("custom-call",), rest)
    return _Wanted(("custom-call",), "callback") if name == "host_callbacks" else None


def _first(measured: Measured, metric: str) -> tuple[Frame, ...]:
    """Where the first of what is counted comes from, for a program that has no edits."""
    wanted, module = _counts(metric), measured.program.now
    if wanted is None or module is None:
        return ()
    for computation in module.computations:
        for it in computation.instructions:
            if wanted(it) and it.frame >= 0:
                return module.stack(it.frame)
    return ()
