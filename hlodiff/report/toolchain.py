"""Who changed a program: the code, a setting of the project, or the compiler under another toolchain."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.report.report import Report, ToolchainChange
from hlodiff.report.wording import format_pair, many

_COMPILER = "StableHLO is the same, so the compiler did this"
_BOTH = "StableHLO differs too: "
_WHO = "your code changed, or the way jax lowers it"
# Settings of the project that affect what JAX lowers, by their names among toolchain differences.
_SETTINGS = ("x64", "matmul_precision", "prng", "threefry_partitionable", "partitioner", "env")
_JAX = "this jax lowers it differently"


def _who(report: Report) -> str:
    """What may have changed the StableHLO: a setting, or else the toolchain."""
    return format_settings(report) or (_JAX if report.same_code else _WHO)


def format_settings(report: Report, targets: Collection[str] | None = None) -> str:
    """Differing settings of the project that affect what JAX lowers; "" for none.

    Args:
        report: the report.
        targets: only settings that differ for one of these; None for all.

    Example:
        >>> from hlodiff.report.report import ToolchainChange
        >>> format_settings(Report("check", "a", "b", (), toolchain=(ToolchainChange("x64", "False", "True"),)))
        'the configuration changed (x64 False -> True)'
    """
    settings = [
        one
        for one in report.toolchain
        if one.what.partition(".")[0] in _SETTINGS
        and (targets is None or not one.targets or not targets or not set(targets).isdisjoint(one.targets))
    ]
    words = ", ".join(f"{one.what} {format_pair(one.old, one.new)}" for one in settings)
    return f"the configuration changed ({words})" if words else ""


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
        lines.append(f"{len(both):,} {differ} in StableHLO too: {_who(report)}")
    return tuple(lines)


def cause_lines(report: Report, programs: Sequence[ProgramComparison], verdict: str = "") -> tuple[str, ...]:
    """What changed the programs of one name: `on cpu: StableHLO is the same, so the compiler did this`.

    Args:
        report: the report.
        programs: programs of one name.
        verdict: the verdict on them; a setting that it names is not repeated.
    """
    lines = []
    compiler, both = ([program.target or "" for program in found] for found in _who_changed(programs))
    if compiler:
        lines.append(f"on {', '.join(dict.fromkeys(compiler))}: {_COMPILER}")
    if both and (who := _who(report)) not in verdict:
        lines.append(f"on {', '.join(dict.fromkeys(both))}: {_BOTH}{who}")
    return tuple(lines)


def _who_changed(programs: Sequence[ProgramComparison]) -> tuple[list[ProgramComparison], list[ProgramComparison]]:
    """Programs that the compiler alone changed, and those for which a different toolchain lowered different StableHLO.

    A program whose snapshot was made by the current toolchain is in neither.
    """
    compiler = [one for one in programs if one.by_compiler]
    both = [one for one in programs if one.stage == "stablehlo" and one.other_toolchain]
    return compiler, both
