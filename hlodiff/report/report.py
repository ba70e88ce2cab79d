"""The one record that every report is made from, what it counts, and who changed its programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hlodiff.differ.comparison import STATUSES, ProgramComparison, Status
from hlodiff.differ.result import Edit
from hlodiff.policy.findings import PROGRAM_RULES, Finding, Judgement, of_policy, over_programs
from hlodiff.renderers import Rendered
from hlodiff.report.wording import format_pair, many

if TYPE_CHECKING:
    from hlodiff.policy.budgets import Margin
    from hlodiff.tracing.compare import TraceComparison


@dataclass(frozen=True, slots=True)
class ToolchainChange:
    """A version or flag that differs between the two sides: `("jax", "0.9.2", "0.10.2", ("cpu",))`."""

    what: str
    old: str
    new: str
    targets: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The change as JSON values."""
        return {"what": self.what, "old": self.old, "new": self.new, "targets": list(self.targets)}


PHASES = ("trace", "lower", "compile")


@dataclass(frozen=True, slots=True)
class Timing:
    """Timing of one program in one run.

    Args:
        name, target: which program.
        trace, lower: seconds in JAX.
        compile: seconds in XLA; None if it did not compile.
        stablehlo, compiled: number of instructions of both stages; None if not counted.

    Example:
        >>> Timing("f", "cpu", 0.1, 0.2, None).total
        0.30000000000000004
    """

    name: str
    target: str
    trace: float
    lower: float
    compile: float | None
    stablehlo: int | None = None
    compiled: int | None = None

    @property
    def total(self) -> float:
        return self.trace + self.lower + (self.compile or 0)

    def to_json(self) -> dict[str, Any]:
        """Plain values; seconds rounded to microseconds."""
        took = {phase: getattr(self, phase) for phase in PHASES}
        seconds = {phase: None if value is None else round(value, 6) for phase, value in took.items()}
        return {"name": self.name, "target": self.target, "seconds": seconds,
                "instructions": {"stablehlo": self.stablehlo, "compiled": self.compiled}}  # fmt: skip


RunParts = tuple[tuple[str, float], ...]
"""The parts of a run with their seconds, in order."""


State = Literal["changed", "added", "removed", "not_checked", "over_budget", "identical"]


class SourceLine(Protocol):
    """Looks up Python lines of a program by its name and target, side (0 old, 1 new) and file."""

    def __call__(self, name: str, target: str | None, side: int, file: str, line: int) -> str:
        """The text of a line; "" if unknown."""

    def has(self, name: str, target: str | None, side: int, file: str, text: str) -> bool:
        """Whether a file has a line with that text, ignoring indentation; True if the file is unknown."""

    def file_lines(self, name: str, target: str | None, side: int, file: str) -> Sequence[str]:
        """All lines of a file; () if unknown."""

    def edited_files(self, name: str, target: str | None) -> Sequence[str]:
        """The project's Python files that differ between the sides; () if unknown."""

    def lost_files(self, name: str, target: str | None) -> Sequence[tuple[int, str]]:
        """Files whose recorded content git does not have, each with its side, of those whose lines were asked for."""


@dataclass(frozen=True, slots=True)
class Report(Rendered):
    """The result of a command.

    Args:
        command: "check" or "diff".
        old, new: names of the sides.
        programs: every compared program, in display order.
        findings: findings of the policy; for `diff` only differences of scenarios.
        toolchain: differences of the toolchains, listed before anything else.
        notes: anything else: skipped files, folders that are not snapshots.
        next: the next command; "" for none.
        root: the project's folder; paths of Python files are relative to it in every form.
        all: whether every change is listed, however long the report gets.
        stacks: whether the whole Python call stack of each change is listed.
        timings: how long programs took, if requested.
        run_parts: what the run spent its time on, if requested.
        scenarios: every compared scenario.
        same_code: whether both sides have the same code, as when only versions differ.
        packages: import names of libraries whose versions are compared; changes are reported at their lines.
        registered: file and line where each function is registered, if known.
        threshold: the share of a number below which reports count a change instead of listing it.
        source_line: looks up Python lines, see `SourceLine`; None if no sources are known.
        brief: whether to show only verdicts, without details.
        margins: by name and target, the budget that a changed program is closest to without exceeding it.
    """

    command: Literal["check", "diff"]
    old: str
    new: str
    programs: tuple[ProgramComparison, ...]
    findings: tuple[Finding, ...] = ()
    toolchain: tuple[ToolchainChange, ...] = ()
    notes: tuple[str, ...] = ()
    next: str = ""
    root: str = ""
    all: bool = False
    stacks: bool = False
    timings: tuple[Timing, ...] = ()
    run_parts: RunParts = ()
    scenarios: tuple[TraceComparison, ...] = ()
    same_code: bool = False
    packages: tuple[str, ...] = ()
    registered: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    threshold: float = 0.01
    source_line: SourceLine | None = field(default=None, repr=False, compare=False)
    brief: bool = False
    margins: Mapping[tuple[str, str | None], Margin] = field(default_factory=dict)

    def totals(self) -> dict[str, int]:
        """The number of programs and of each outcome; the same numbers in every form."""
        return count_programs(self.programs, self.findings)

    def further_findings(self) -> tuple[Finding, ...]:
        """Findings that are not listed with a program: on scenarios, growth and parity, in order."""
        return tuple(finding for finding in self.findings if finding.rule not in PROGRAM_RULES)

    def scenario_states(self) -> tuple[State, ...]:
        """The outcome of each scenario."""
        return tuple(map(state_of, self.scenarios))

    def targets(self) -> tuple[str, ...]:
        """Compared targets, in order of appearance."""
        return tuple(dict.fromkeys(p.target for p in self.programs if p.target and p.status != "not_checked"))

    def by_name(self) -> dict[str, list[ProgramComparison]]:
        """Programs by name, in order of appearance: both stages, all targets."""
        found: dict[str, list[ProgramComparison]] = {}
        for program in self.programs:
            found.setdefault(program.name, []).append(program)
        return found


def toolchain_changes(
    pairs: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Any]]],
) -> tuple[ToolchainChange, ...]:
    """Differences between toolchains, each once with all its targets.

    Args:
        pairs: target, old and new toolchain table.

    Returns:
        differences in the order of the tables.

    Example:
        >>> toolchain_changes([("cpu", {"jax": "0.9.2"}, {"jax": "0.10.2"})])[0].new
        '0.10.2'
    """
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for target, old, new in pairs:
        for key in dict.fromkeys([*old, *new]):
            if old.get(key) != new.get(key):
                change = (str(key), _value(old.get(key)), _value(new.get(key)))
                found.setdefault(change, {})[target] = None
    return tuple(ToolchainChange(*change, tuple(targets)) for change, targets in found.items())


def _value(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "none"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


# --- Number of programs and scenarios of each outcome: in every form, each program counts once.

# Worst first: not checked, changed, present on one side only, identical.
_WORST: tuple[Status, ...] = ("not_checked", "changed", "added", "removed", "identical")

Label = tuple[str, str | None]


class StageCounts(Protocol):
    """The fields of one stage of a program that a report and its view share."""

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str | None: ...
    @property
    def status(self) -> Status: ...
    @property
    def broken(self) -> bool: ...


def outcomes(stages: Iterable[StageCounts]) -> Mapping[Label, Status]:
    """The outcome of each program by name and target: that of its worse stage.

    Example:
        >>> stages = (("stablehlo", "identical"), ("compiled", "changed"))
        >>> outcomes([ProgramComparison("f", "cpu", stage, status) for stage, status in stages])
        {('f', 'cpu'): 'changed'}
    """
    found: dict[Label, Status] = {}
    for one in stages:
        known = found.get((one.name, one.target), "identical")
        found[one.name, one.target] = min(known, one.status, key=_WORST.index)
    return found


def count_programs(stages: Iterable[StageCounts], findings: Iterable[Judgement]) -> dict[str, int]:
    """The number of programs and of each outcome: the outcomes add up.

    Args:
        stages: stages of all programs.
        findings: findings of the policy; a program over a limit counts only as that, changed or not, and so does one
            whose limit could not be judged.

    Returns:
        the counts; also `broken`, the unchecked programs that could not be judged, and `passing`, the changed programs
        whose change the policy allows.

    Example:
        >>> count_programs([], [])["programs"]
        0
    """
    stages, findings = tuple(stages), tuple(findings)
    over = over_programs(findings)
    unjudged = {(f.program, f.target) for f in findings if f.severity == "broken" and of_policy(f)} - over
    lets_pass = passing(findings)
    counts = {"programs": 0, **dict.fromkeys(map(str, STATUSES), 0), "over_budget": 0, "passing": 0}
    for label, status in outcomes(stages).items():
        outcome = "over_budget" if label in over and status != "not_checked" else status
        outcome = "not_checked" if label in unjudged else outcome
        counts["programs"] += 1
        counts[outcome] += 1
        counts["passing"] += outcome == "changed" and label in lets_pass
    broken = {(one.name, one.target) for one in stages if one.broken or (one.name, one.target) in unjudged}
    return counts | {"broken": len(broken)}


def passing(findings: Iterable[Judgement]) -> frozenset[Label]:
    """Programs whose change the policy allows.

    Example:
        >>> passing([])
        frozenset()
    """
    return frozenset((f.program, f.target) for f in findings if (f.rule, f.severity) == ("changed", "info"))


def state_of(one: TraceComparison) -> State:
    """The outcome of a scenario: a limit outranks a change, as for programs.

    Example:
        >>> from hlodiff.tracing.compare import TraceComparison
        >>> state_of(TraceComparison("steps", "identical", over=("too much",)))
        'over_budget'
    """
    return "over_budget" if one.status in ("identical", "changed", "added") and one.over else one.status


# --- Who changed a program: the code, a setting of the project, or the compiler under another toolchain.

_COMPILER = "StableHLO is the same, so the compiler did this"
_BOTH = "StableHLO differs too: "
_WHO = "your code changed, or the way jax lowers it"
# Settings of the project that affect what JAX lowers, by their names among toolchain differences.
_SETTINGS = ("x64", "matmul_precision", "prng", "threefry_partitionable", "partitioner", "env")
# What edits hold that a setting made; `env` may do anything.
_TRACES = {
    "x64": re.compile(r"\b(?:[fsu]64|c128)\b"),
    "matmul_precision": re.compile("precision"),
    "prng": re.compile("rng|threefry|random"),
    "threefry_partitionable": re.compile("threefry|random"),
    "partitioner": re.compile("shard|sdy|partition"),
}
_JAX = "this jax lowers it differently"


def _who(report: Report, programs: Iterable[ProgramComparison]) -> str:
    """What may have changed the StableHLO: a setting, or else the toolchain."""
    return format_settings(report, programs) or (_JAX if report.same_code else _WHO)


def format_settings(report: Report, programs: Iterable[ProgramComparison]) -> str:
    """Differing settings of the project that affect what JAX lowered; "" for none.

    Args:
        report: the report.
        programs: changed StableHLO programs. A setting that differs for none of their targets is not named, nor one
            that no edit has to do with, such as x64 where all types have 32 bits.

    Example:
        >>> from hlodiff.report.report import ToolchainChange
        >>> report = Report("check", "a", "b", (), toolchain=(ToolchainChange("env.SEED", "1", "2"),))
        >>> format_settings(report, ())
        'the configuration changed (env.SEED 1 -> 2)'
    """
    programs = tuple(programs)
    targets = {one.target for one in programs if one.target}
    differ = [one for one in report.toolchain if not one.targets or not targets or not targets.isdisjoint(one.targets)]
    kinds = [(one, one.what.partition(".")[0]) for one in differ]
    edits = [edit for one in programs if one.diff for edit in one.diff.reported] if kinds else []
    settings = [
        one
        for one, kind in kinds
        if kind in _SETTINGS and (kind not in _TRACES or any(_has_trace(edit, _TRACES[kind]) for edit in edits))
    ]
    words = ", ".join(f"{one.what} {format_pair(one.old, one.new)}" for one in settings)
    return f"the configuration changed ({words})" if words else ""


def _has_trace(edit: Edit, trace: re.Pattern[str]) -> bool:
    texts = [site.text for site in (edit.old, edit.new) if site and edit.kind != "changed"]
    changed = (f"{change.field} {change.old} {change.new}" for change in edit.changes)
    return any(trace.search(text) for text in (*texts, *changed, edit.op_name or ""))


def toolchain_by_kind(
    changes: Sequence[ToolchainChange],
) -> dict[tuple[str, tuple[str, ...]], list[ToolchainChange]]:
    """Differences by kind ("configuration" for a setting of the project, else "toolchain") and by targets.

    Example:
        >>> from hlodiff.report.report import ToolchainChange
        >>> list(toolchain_by_kind([ToolchainChange("x64", "False", "True"), ToolchainChange("jax", "0.9", "0.10")]))
        [('configuration', ()), ('toolchain', ())]
    """
    found: dict[tuple[str, tuple[str, ...]], list[ToolchainChange]] = {}
    for change in changes:
        kind = "configuration" if change.what.partition(".")[0] in _SETTINGS else "toolchain"
        found.setdefault((kind, change.targets), []).append(change)
    return found


def format_causes(report: Report) -> tuple[str, ...]:
    """How many programs the compiler changed, and how many differed already in StableHLO; () for one toolchain.

    Example:
        >>> format_causes(Report("check", "a", "b", ()))
        ()
    """
    compiler, both = _who_changed(report.programs)
    lines = [f"the compiler changed {many(len(compiler), 'program')} whose StableHLO is the same"] if compiler else []
    if both:
        differ = "program differs" if len(both) == 1 else "programs differ"
        lines.append(f"{len(both):,} {differ} in StableHLO too: {_who(report, both)}")
    return tuple(lines)


def cause_lines(report: Report, programs: Sequence[ProgramComparison], verdict: str = "") -> tuple[str, ...]:
    """What changed the programs of one name: `on cpu: StableHLO is the same, so the compiler did this`.

    Args:
        report: the report.
        programs: programs of one name.
        verdict: the verdict on them; a setting that it names is not repeated.
    """
    lines = []
    changed = _who_changed(programs)
    compiler, both = (dict.fromkeys(program.target or "" for program in found) for found in changed)
    if compiler:
        lines.append(f"on {', '.join(compiler)}: {_COMPILER}")
    if both and (who := _who(report, changed[1])) not in verdict:
        lines.append(f"on {', '.join(both)}: {_BOTH}{who}")
    return tuple(lines)


def _who_changed(programs: Sequence[ProgramComparison]) -> tuple[list[ProgramComparison], list[ProgramComparison]]:
    """Programs that the compiler alone changed, and those for which a different toolchain lowered different StableHLO.

    A program whose snapshot was made by the current toolchain is in neither.
    """
    compiler = [one for one in programs if one.by_compiler]
    both = [one for one in programs if one.stage == "stablehlo" and one.other_toolchain]
    return compiler, both
