"""Who did it, and why it passes: your code or the compiler, and what the policy lets pass."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.diff.compared import Compared
from hlodiff.report.numbers import many
from hlodiff.report.record import Report

_COMPILER = "StableHLO is the same, so the compiler did this"
_BOTH = "StableHLO differs too: "
_WHO = "your code changed, or the way jax lowers it"
_JAX = "this jax lowers it otherwise"


def causes_in_words(report: Report) -> tuple[str, ...]:
    """How many programs the compiler changed, and how many had changed before it saw them; () for one toolchain.

    Example:
        >>> causes_in_words(Report("check", "a", "b", ()))
        ()
    """
    compiler, both = _split(report.programs)
    said = [f"the compiler changed {many(len(compiler), 'program')} whose StableHLO is the same"] if compiler else []
    if both:
        differ = "program differs" if len(both) == 1 else "programs differ"
        said.append(f"{len(both):,} {differ} in StableHLO too: {_JAX if report.same_code else _WHO}")
    return tuple(said)


def cause_lines(report: Report, programs: Sequence[Compared]) -> tuple[str, ...]:
    """What is to be said of the programs of one name: `on cpu: StableHLO is the same, so the compiler did this`."""
    lines = []
    for words, found in zip((_COMPILER, _BOTH + (_JAX if report.same_code else _WHO)), _split(programs), strict=True):
        targets = list(dict.fromkeys(program.target or "" for program in found))
        if targets:
            lines.append(f"on {', '.join(targets)}: {words}")
    return tuple(lines)


def passing_lines(report: Report, name: str) -> tuple[str, ...]:
    """Why changes of one name do not fail: `passes on cpu: compiles to another program, but only in cost ...`.

    Example:
        >>> passing_lines(Report("check", "a", "b", ()), "f")
        ()
    """
    passing: dict[str, list[str]] = {}
    for one in report.findings:
        if (one.program, one.rule, one.severity) == (name, "changed", "info"):
            passing.setdefault(one.what, []).append(one.target or "")
    return tuple(f"passes{_on(on)}: {what}" for what, on in passing.items())


def _on(targets: Sequence[str]) -> str:
    """` on cpu, tpu-v5e`, and nothing where targets are not known."""
    return f" on {', '.join(targets)}" if any(targets) else ""


def _split(programs: Sequence[Compared]) -> tuple[list[Compared], list[Compared]]:
    """Programs that the compiler alone changed, and those that another toolchain got as other StableHLO.

    A program whose own snapshot was made by the toolchain of now belongs to neither.
    """
    compiler = [one for one in programs if one.by_compiler]
    both = [one for one in programs if one.stage == "stablehlo" and one.other_toolchain]
    return compiler, both
