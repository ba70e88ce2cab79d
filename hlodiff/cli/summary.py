"""What stands in summary.yaml: facts of the capture and counts of the programs, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hlodiff.diff.compared import flat_facts, is_figure
from hlodiff.diff.metrics import count, metrics_of, raw_metrics
from hlodiff.diff.placement import donations, placements
from hlodiff.ir.model import Module
from hlodiff.store import FORMAT_VERSION

if TYPE_CHECKING:
    from hlodiff.capture import Captured

_STAGES = ("stablehlo", "compiled")


def build_summary(
    captured: Captured, raw: Mapping[str, Module], modules: Mapping[str, Module], fingerprints: Mapping[str, str]
) -> dict[str, Any]:
    """The summary of a captured program.

    Args:
        captured: its names and the compiler's facts.
        raw: both stages as the compiler printed them.
        modules: both stages, normalized.
        fingerprints: of both stages.

    Returns:
        plain values, keys in the order in which a reviewer wants them; what is empty or 0 is left out.
    """
    counts = {stage: count(modules[stage]) for stage in _STAGES}
    metrics = {stage: _told({**raw_metrics(raw[stage]), **metrics_of(counts[stage])}) for stage in _STAGES}
    facts = captured.facts
    collectives = {family: dict(record) for family, record in sorted(counts["compiled"].collectives.items())}
    summary: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "function": captured.function,
        "case": captured.case,
        "target": captured.target,
        "toolchain": facts.get("toolchain", {}),
        "devices": facts.get("devices"),
        "arguments": facts.get("arguments", []),
        "results": facts.get("results", []),
        "op_counts": {stage: dict(sorted(counts[stage].ops.items())) for stage in _STAGES},
        "fusions": dict(sorted(counts["compiled"].fusions.items())),
        "placement": {stage: placements(modules[stage]) for stage in _STAGES},
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
    """Numbers of a summary that the stored program does not show itself: for compiled programs memory and cost too.

    Example:
        >>> stage_facts({"memory": {"temp": 8}, "metrics": {"stablehlo": {"functions": 2}}}, "stablehlo")
        {'functions': 2}
    """
    metrics = summary.get("metrics")
    table = metrics.get(stage) if isinstance(metrics, Mapping) else None
    names = ("functions",) if stage == "stablehlo" else ("rematerialized", "estimated_cycles")
    # 0 is left out of the file; a side that has metrics at all has counted these.
    found = {n: table[n] for n in names if is_figure(table.get(n))} if isinstance(table, Mapping) else {}
    if stage == "compiled":
        if isinstance(table, Mapping):
            found.setdefault("rematerialized", 0)
        found |= flat_facts(summary)
    return found


def _told(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics that are not 0 and have no table of their own."""
    tables = ("fusions", "custom_calls", "collectives", "collective_bytes")
    return {name: value for name, value in metrics.items() if value and name.partition(".")[0] not in tables}


def _known(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}
