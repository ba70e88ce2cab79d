"""Who changed a program: the code, a setting of the project, or the compiler under another toolchain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.result import Edit
from hlodiff.report.report import Report, ToolchainChange
from hlodiff.report.wording import format_pair, many

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
