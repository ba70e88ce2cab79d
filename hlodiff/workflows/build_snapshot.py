"""Builds a snapshot from a captured program, and parses the modules of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.differ.comparison import flat_facts, is_figure
from hlodiff.differ.loops import format_loops
from hlodiff.differ.metrics import count, executed_table, metrics_of, raw_metrics
from hlodiff.differ.placement import donations, placements
from hlodiff.hlo.model import STAGES, Module, Stage
from hlodiff.snapshots import (
    SUMMARY_VERSION,
    Snapshot,
    attach_source,
    contents_of_files,
    name_arguments,
    name_results,
    numbered,
    restored,
    source_of,
)
from hlodiff.snapshots.keys import COMPILED, STABLEHLO

if TYPE_CHECKING:
    from hlodiff.capture import CapturedProgram


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
        plain values, keys in the order in which reviewers read them, without empty or zero values.
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
        "turns": {stage: counted for stage in STAGES if (counted := format_loops(modules[stage]))},
        "op_counts": {stage: dict(sorted(counts[stage].ops.items())) for stage in STAGES},
        "fusions": dict(sorted(counts["compiled"].fusions.items())),
        "placement": {stage: placements(modules[stage]) for stage in STAGES},
        "collectives": collectives,
        "custom_calls": dict(sorted(counts["compiled"].custom_calls.items())),
        "metrics": metrics,
        "executed": {stage: found for stage in STAGES if (found := executed_table(modules[stage]))},
        "memory": _known(facts.get("memory", {})),
        "cost": _known(facts.get("cost", {})),
        "donation": donations(modules["compiled"]),
        "fingerprints": dict(fingerprints),
    }
    return {name: value for name, value in summary.items() if value not in ("", None, {}, [])}


def stage_facts(summary: Mapping[str, Any], stage: str) -> dict[str, float]:
    """Numbers of a summary that cannot be counted in the stored program; for compiled programs also memory and cost.

    Example:
        >>> stage_facts({"memory": {"temp": 8}, "metrics": {"stablehlo": {"functions": 2}}}, "stablehlo")
        {'functions': 2}
    """
    metrics = summary.get("metrics")
    table = metrics.get(stage) if isinstance(metrics, Mapping) else None
    names = ("functions",) if stage == "stablehlo" else ("rematerialized", "estimated_cycles")
    # The file omits zeros; a summary that has metrics has counted these.
    facts = {n: table[n] for n in names if is_figure(table.get(n))} if isinstance(table, Mapping) else {}
    if stage == "compiled":
        if isinstance(table, Mapping):
            facts.setdefault("rematerialized", 0)
        facts |= flat_facts(summary)
    return facts


def _without_tables(metrics: Mapping[str, float]) -> dict[str, float]:
    """Nonzero metrics without a table of their own in the summary."""
    tables = ("fusions", "custom_calls", "collectives", "collective_bytes")
    return {name: value for name, value in metrics.items() if value and name.partition(".")[0] not in tables}


def _known(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


def snapshot_of(captured: CapturedProgram, root: str, large_constants: Literal["hash", "ignore"] = "hash") -> Snapshot:
    """Make a snapshot of a captured program.

    Args:
        captured: a program with both stages.
        root: the project's folder; source files below it get relative paths.
        large_constants: whether the numbers of large constants are compared.

    Returns:
        normalized text of both stages, summary and provenance.
    """
    from hlodiff.hlo import read_text
    from hlodiff.normalizer import to_text

    label = f"{captured.function} on {captured.target}"
    raw = {
        "stablehlo": read_text(captured.stablehlo, path=f"{label}: {STABLEHLO}", trusted=True),
        "compiled": read_text(captured.compiled or "", path=f"{label}: {COMPILED}"),
    }
    modules = {stage: normalized(module, large_constants) for stage, module in raw.items()}
    return Snapshot(
        captured.function,
        captured.case,
        captured.target,
        build_summary(captured, raw, modules, _fingerprints(modules)),
        to_text(modules["stablehlo"]),
        to_text(modules["compiled"]),
        {
            **({"files": files} if (files := contents_of_files(modules.values(), root)) else {}),
            **{stage: source_of(module, root) for stage, module in modules.items()},
        },
    )


def with_facts_of(recorded: Snapshot, captured: CapturedProgram) -> Snapshot:
    """The snapshot of a program that was not compiled again, because lowering gave the recorded one.

    Paths of arguments and results and requested donations are not in the program, so they may have changed.

    Args:
        recorded: the program's snapshot.
        captured: the same program, lowered only.

    Returns:
        `recorded` itself if nothing else is known now.
    """
    now = {name: captured.facts.get(name) for name in _LOWERED if captured.facts.get(name)}
    before = {name: recorded.summary.get(name) for name in _LOWERED if recorded.summary.get(name)}
    if now == before:
        return recorded
    summary = {name: value for name, value in recorded.summary.items() if name not in (*_LOWERED, "compressed")}
    place = next((at for at, name in enumerate(summary) if name not in _BEFORE_LOWERED), len(summary))
    items = list(summary.items())
    return replace(recorded, summary=dict([*items[:place], *now.items(), *items[place:]]))


_LOWERED = ("devices", "arguments", "results")
_BEFORE_LOWERED = ("format_version", "function", "case", "target", "toolchain")


def normalized(module: Module, large_constants: Literal["hash", "ignore"] = "hash") -> Module:
    """A captured module normalized as in snapshots, with its provenance."""
    from hlodiff.normalizer import normalize

    return restored(normalize(numbered(module), large_constants=large_constants), module)


@dataclass(frozen=True, slots=True)
class ParsedSnapshot:
    """A snapshot with its programs, parsed.

    Args:
        snapshot: the content of its folder.
        modules: both stages with provenance.
        intact: whether the programs' fingerprints equal those in the summary.
    """

    snapshot: Snapshot
    modules: Mapping[str, Module]
    intact: bool


def parse_snapshot(snapshot: Snapshot, where: str, verify: bool = False) -> ParsedSnapshot:
    """Read the programs of a snapshot.

    Args:
        snapshot: from a folder, a git revision or a capture.
        where: name of its folder, for errors.
        verify: whether to recompute the fingerprints.

    Returns:
        its modules.

    Raises:
        ReadError: a program is invalid; the message has file, line and column.
    """
    modules: dict[str, Module] = {stage: parse_stage(snapshot, stage, where) for stage in STAGES}
    intact = verify and _fingerprints(modules) == snapshot.summary.get("fingerprints")
    return ParsedSnapshot(snapshot, modules, intact)


def parse_stage(snapshot: Snapshot, stage: Stage, where: str) -> Module:
    """Read one program of a snapshot, with its provenance; see `parse`."""
    from hlodiff.hlo import read_text

    text, name = (snapshot.stablehlo, STABLEHLO) if stage == "stablehlo" else (snapshot.compiled, COMPILED)
    module = attach_source(read_text(text, path=f"{where}/{name}"), (snapshot.source or {}).get(stage))
    module = name_arguments(module, snapshot.summary.get("arguments"))
    return name_results(module, snapshot.summary.get("results"))


def _fingerprints(modules: Mapping[str, Module]) -> dict[str, str]:
    from hlodiff.hlo.fingerprint import program_fingerprint

    return {stage: program_fingerprint(module) for stage, module in modules.items()}
