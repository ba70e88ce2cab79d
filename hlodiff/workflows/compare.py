"""From a captured program to a snapshot, from a snapshot to modules, and both sides of one program compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.differ.comparison import ProgramComparison, donated_parameters, flat_facts, is_figure, with_compiler
from hlodiff.differ.limits import Limits
from hlodiff.differ.loop_turns import trip_counts
from hlodiff.differ.metrics import count, metrics_of, raw_metrics
from hlodiff.differ.placement import donations, placements
from hlodiff.hlo.model import Module, Stage
from hlodiff.snapshots import SUMMARY_VERSION, Key, Snapshot, attach_source, numbered, restored, source_of

if TYPE_CHECKING:
    from hlodiff.capture import CapturedProgram


STAGES: tuple[Stage, ...] = ("stablehlo", "compiled")


def build_summary(
    captured: CapturedProgram, raw: Mapping[str, Module], modules: Mapping[str, Module], fingerprints: Mapping[str, str]
) -> dict[str, Any]:
    """The summary of a captured program.

    Args:
        captured: its names and the compiler's facts.
        raw: both stages as the compiler printed them.
        modules: both stages, normalized.
        fingerprints: of both stages.

    Returns:
        plain values, keys in the order in which a reviewer wants them, without what is empty or 0.
    """
    counts = {stage: count(modules[stage]) for stage in STAGES}
    metrics = {stage: _without_tables({**raw_metrics(raw[stage]), **metrics_of(counts[stage])}) for stage in STAGES}
    facts = captured.facts
    collectives = {family: dict(record) for family, record in sorted(counts["compiled"].collectives.items())}
    summary: dict[str, Any] = {
        "format_version": SUMMARY_VERSION,
        "function": captured.function,
        "case": captured.case,
        "target": captured.target,
        "toolchain": facts.get("toolchain", {}),
        "devices": facts.get("devices"),
        "arguments": facts.get("arguments", []),
        "results": facts.get("results", []),
        "turns": {stage: counted for stage in STAGES if (counted := trip_counts(modules[stage]))},
        "op_counts": {stage: dict(sorted(counts[stage].ops.items())) for stage in STAGES},
        "fusions": dict(sorted(counts["compiled"].fusions.items())),
        "placement": {stage: placements(modules[stage]) for stage in STAGES},
        "collectives": collectives,
        "custom_calls": dict(sorted(counts["compiled"].custom_calls.items())),
        "metrics": metrics,
        "memory": _known(facts.get("memory", {})),
        "cost": _known(facts.get("cost", {})),
        "donation": donations(modules["compiled"]),
        "fingerprints": dict(fingerprints),
    }
    return {name: value for name, value in summary.items() if value not in ("", None, {}, [])}


def stage_facts(summary: Mapping[str, Any], stage: str) -> dict[str, float]:
    """Numbers of a summary that cannot be counted in the stored program: for compiled programs memory and cost too.

    Example:
        >>> stage_facts({"memory": {"temp": 8}, "metrics": {"stablehlo": {"functions": 2}}}, "stablehlo")
        {'functions': 2}
    """
    metrics = summary.get("metrics")
    table = metrics.get(stage) if isinstance(metrics, Mapping) else None
    names = ("functions",) if stage == "stablehlo" else ("rematerialized", "estimated_cycles")
    # The file leaves 0 out; a side that has metrics at all has counted these.
    facts = {n: table[n] for n in names if is_figure(table.get(n))} if isinstance(table, Mapping) else {}
    if stage == "compiled":
        if isinstance(table, Mapping):
            facts.setdefault("rematerialized", 0)
        facts |= flat_facts(summary)
    return facts


def _without_tables(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics that are not 0 and have no table of their own in the summary."""
    tables = ("fusions", "custom_calls", "collectives", "collective_bytes")
    return {name: value for name, value in metrics.items() if value and name.partition(".")[0] not in tables}


def _known(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


def record(captured: CapturedProgram, root: str, large_constants: Literal["hash", "ignore"] = "hash") -> Snapshot:
    """Make a snapshot of a captured program.

    Args:
        captured: a program with both stages.
        root: the project's folder; source files below it are named relative to it.
        large_constants: whether the numbers of large constants are compared.

    Returns:
        normalized text of both stages, summary and provenance.
    """
    from hlodiff.hlo import read_text
    from hlodiff.normalizer import to_text

    label = f"{captured.function} on {captured.target}"
    raw = {
        "stablehlo": read_text(captured.stablehlo, path=f"{label}: stablehlo.mlir"),
        "compiled": read_text(captured.compiled or "", path=f"{label}: compiled.hlo"),
    }
    modules = {stage: _normalized(module, large_constants) for stage, module in raw.items()}
    return Snapshot(
        captured.function,
        captured.case,
        captured.target,
        build_summary(captured, raw, modules, _fingerprints(modules)),
        to_text(modules["stablehlo"]),
        to_text(modules["compiled"]),
        {stage: source_of(module, root) for stage, module in modules.items()},
    )


def _normalized(module: Module, large_constants: Literal["hash", "ignore"]) -> Module:
    from hlodiff.normalizer import normalize

    return restored(normalize(numbered(module), large_constants=large_constants), module)


@dataclass(frozen=True, slots=True)
class ParsedSnapshot:
    """A snapshot with its programs, parsed.

    Args:
        snapshot: the content of its folder.
        modules: both stages with provenance.
        intact: whether the programs have the fingerprints that the summary holds.
    """

    snapshot: Snapshot
    modules: Mapping[str, Module]
    intact: bool


def parse(snapshot: Snapshot, where: str, verify: bool = False) -> ParsedSnapshot:
    """Read the programs of a snapshot.

    Args:
        snapshot: from a folder, a git revision or a capture.
        where: name of its folder, for errors.
        verify: whether to compute the fingerprints again.

    Returns:
        its modules.

    Raises:
        ReadError: a program is broken: file, line, column.
    """
    from hlodiff.hlo import read_text

    names = {"stablehlo": "stablehlo.mlir", "compiled": "compiled.hlo"}
    texts = {"stablehlo": snapshot.stablehlo, "compiled": snapshot.compiled}
    source = snapshot.source or {}
    modules = {
        stage: attach_source(read_text(text, path=f"{where}/{names[stage]}"), source.get(stage))
        for stage, text in texts.items()
    }
    intact = verify and _fingerprints(modules) == snapshot.summary.get("fingerprints")
    return ParsedSnapshot(snapshot, modules, intact)


def _fingerprints(modules: Mapping[str, Module]) -> dict[str, str]:
    from hlodiff.hlo.fingerprint import fingerprint

    return {stage: fingerprint(module) for stage, module in modules.items()}


def compare(old: ParsedSnapshot, new: ParsedSnapshot, limits: Limits) -> tuple[ProgramComparison, ...]:
    """Compare both stages of two snapshots of one program.

    Args:
        old, new: both sides, read from text.
        limits: how much may be tried.

    Returns:
        one record for each stage, StableHLO first.
    """
    stages = tuple(_compare_stage(old, new, stage, limits) for stage in STAGES)
    toolchains = [side.snapshot.summary.get("toolchain") or {} for side in (old, new)]
    return with_compiler(stages, lambda _: toolchains[0] != toolchains[1])


def _compare_stage(old: ParsedSnapshot, new: ParsedSnapshot, stage: Stage, limits: Limits) -> ProgramComparison:
    from hlodiff.differ import diff

    result = diff(old.modules[stage], new.modules[stage], limits=limits)
    key = new.snapshot.key
    return ProgramComparison(
        key.name,
        key.target,
        stage,
        "identical" if result.identical else "changed",
        result,
        stage_facts(old.snapshot.summary, stage),
        stage_facts(new.snapshot.summary, stage),
        donated=donated_parameters(new.snapshot.summary),
    )


def compare_lowered(
    captured: CapturedProgram,
    old: ParsedSnapshot | None,
    limits: Limits,
    root: str,
    large_constants: Literal["hash", "ignore"] = "hash",
) -> ProgramComparison:
    """Compare the StableHLO of a program that was lowered and not compiled.

    Args:
        captured: the program, without compiled HLO.
        old: its snapshot; None where there is none.
        limits: how much may be tried.
        root: the project's folder; source files below it are named relative to it.
        large_constants: whether the numbers of large constants are compared.

    Returns:
        one record; there is none for the compiled stage, so that it neither passes nor fails.
    """
    from hlodiff.differ import diff
    from hlodiff.differ.metrics import op_counts
    from hlodiff.hlo import read_text
    from hlodiff.normalizer import to_text

    name = Key(captured.function, captured.case, captured.target).name
    label = f"{captured.function} on {captured.target}"
    module = _normalized(read_text(captured.stablehlo, path=f"{label}: stablehlo.mlir"), large_constants)
    # Through text, as the stored side came.
    new = attach_source(read_text(to_text(module), path=label), source_of(module, root))
    if old is None:
        return ProgramComparison(name, captured.target, "stablehlo", "added", op_counts=op_counts(new), module=new)
    result = diff(old.modules["stablehlo"], new, limits=limits)
    summary = old.snapshot.summary
    other_toolchain = (summary.get("toolchain") or {}) != (captured.facts.get("toolchain") or {})
    return ProgramComparison(
        name,
        captured.target,
        "stablehlo",
        "identical" if result.identical else "changed",
        result,
        stage_facts(summary, "stablehlo"),
        other_toolchain=other_toolchain and not result.identical,
    )


def one_sided(stored: ParsedSnapshot, status: Any) -> tuple[ProgramComparison, ...]:
    """Both stages of a program without a diff: "added" or "removed" on one side, "identical" on both."""
    from hlodiff.differ.metrics import op_counts

    key = stored.snapshot.key
    facts = {stage: stage_facts(stored.snapshot.summary, stage) for stage in STAGES}
    return tuple(
        ProgramComparison(
            key.name,
            key.target,
            stage,
            status,
            None,
            {} if status == "added" else facts[stage],
            {} if status == "removed" else facts[stage],
            op_counts(stored.modules[stage]),
            donated=() if status == "removed" else donated_parameters(stored.snapshot.summary),
            module=stored.modules[stage],
        )
        for stage in STAGES
    )
