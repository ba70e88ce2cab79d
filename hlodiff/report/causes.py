"""Your code or the compiler: what StableHLO says where the two sides were made by different toolchains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlodiff.diff.compared import Cause, Compared
from hlodiff.report.numbers import many
from hlodiff.report.record import Report

_WORDS: dict[Cause, str] = {
    "compiler": "StableHLO is the same, so the compiler did this",
    "code_and_compiler": "StableHLO differs too: your code changed, or the way jax lowers it",
}


def causes_in_words(report: Report) -> tuple[str, ...]:
    """How many functions the compiler changed and how many changed before it saw them; () where toolchains are equal.

    Example:
        >>> causes_in_words(Report("check", "a", "b", (Compared("f", "cpu", "compiled", "changed", cause="compiler"),)))
        ('the compiler changed 1 program whose StableHLO is the same',)
    """
    counts = {cause: sum(1 for _ in _changed(report.programs, cause)) for cause in _WORDS}
    compiler, both = counts["compiler"], counts["code_and_compiler"]
    said = [f"the compiler changed {many(compiler, 'program')} whose StableHLO is the same"] if compiler else []
    if both:
        said.append(f"{many(both, 'program')} differ{'s' if both == 1 else ''} in StableHLO too: code or its lowering")
    return tuple(said)


def cause_lines(programs: Sequence[Compared]) -> tuple[str, ...]:
    """What is to be said of the programs of one name: `on cpu: StableHLO is the same, so the compiler did this`."""
    lines = []
    for cause, words in _WORDS.items():
        targets = list(dict.fromkeys(program.target for program in _changed(programs, cause) if program.target))
        if targets:
            lines.append(f"on {', '.join(targets)}: {words}")
    return tuple(lines)


def _changed(programs: Iterable[Compared], cause: Cause) -> Iterable[Compared]:
    """The compiled programs that changed for this cause; the compiler is not asked for StableHLO."""
    return (one for one in programs if one.cause == cause and one.status == "changed" and one.stage == "compiled")
