"""Parity: what a call compiles against what is compiled ahead of time, and what makes `check` fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlodiff.differ.result import ModuleDiff
from hlodiff.policy.findings import Finding

RULE = "parity"


@dataclass(frozen=True, slots=True)
class ParityProgram:
    """One program that a call compiled.

    Args:
        name: of the jitted function.
        place: `file:line` of its definition.
        called_at: `file:line` of the call.
        diff: from what the call compiled to what `.lower()` gives; None where that gives nothing.
        problem: why it gives nothing.
        context: what stood around the call and not around `.lower()`, as (name, value) pairs.
        compiled: the same for what the compiler of another target made of both; None where it was not asked.
        numbers: whether both ways gave the same numbers; "" where that is not known.
    """

    name: str
    place: str
    called_at: str
    diff: ModuleDiff | None
    problem: str = ""
    context: tuple[tuple[str, str], ...] = ()
    compiled: ModuleDiff | None = None
    numbers: str = ""

    @property
    def differs(self) -> bool:
        """Whether a call and `.lower()` give different programs."""
        return any(diff is not None and bool(diff.edits) for diff in (self.diff, self.compiled))


@dataclass(frozen=True, slots=True)
class Parity:
    """What a real call of a case compiled.

    Args:
        name: function and case.
        target: what it ran on.
        programs: of jitted functions, in the order in which they were compiled.
        eager: operations that ran by themselves, by name.
        jitted_here: whether the function jits nothing itself and was called as `jax.jit(function)`.
        compiled_for: the target of `compiled`; "" for none.
    """

    name: str
    target: str
    programs: tuple[ParityProgram, ...]
    eager: tuple[str, ...] = ()
    jitted_here: bool = False
    compiled_for: str = ""


def judge_parity(parity: Parity, details: Mapping[int, Sequence[str]]) -> Iterator[Finding]:
    """Judge the programs of a call.

    Args:
        parity: what the call compiled.
        details: lines of explanation for each program that differs, by its number.

    Returns:
        an error for each program that differs. What has no counterpart ahead of time is no error.
    """
    for number, program in enumerate(parity.programs):
        if program.differs:
            at = f" ({program.place})" if program.place else ""
            what = f"`{program.name}`{at} compiles to one program when called and to another ahead of time"
            yield Finding("error", RULE, parity.name, None, what, "", tuple(details.get(number, ())))


def judge_surroundings(
    around: Mapping[tuple[str, str], Sequence[tuple[str, str, str, str]]], sentences: Mapping[str, str]
) -> Iterator[Finding]:
    """Tell of calls whose program no snapshot holds: a plain function calls a jitted one under a context.

    It decides nothing.

    Args:
        around: by program and target what tracing has met: function, place, name and value of what stands there.
        sentences: texts of what stands there, by name, with a place for the value.

    Returns:
        one note for each program and function, whatever the target.
    """
    texts_of: dict[tuple[str, str, str], dict[str, None]] = {}
    for (program, _), rows in around.items():
        for fn, place, name, value in rows:
            text = sentences.get(name, "{name} {value}").format(name=name.removeprefix("jax_"), value=value)
            texts_of.setdefault((program, fn, place), {})[text] = None
    for (program, fn, place), texts in texts_of.items():
        at = f" ({place})" if place else ""
        what = f"`{fn}`{at} is called under {', '.join(texts)}: `{fn}.lower()` does not see it, and the snapshot holds"
        what += " jax.jit of the whole function"
        yield Finding(
            "info", RULE, program, None, what, f"hlodiff inspect parity {program} shows what the call compiles to"
        )
