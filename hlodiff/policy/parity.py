"""Parity of what a call compiles and what `.lower()` compiles, and what makes `check` fail."""

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
        name: name of the jitted function.
        place: `file:line` of its definition.
        called_at: `file:line` of the call.
        diff: difference from what the call compiled to what `.lower()` gives; None if that gives nothing.
        problem: why `.lower()` gives nothing.
        context: context of the call that `.lower()` does not have, as (name, value) pairs.
        compiled: difference after compiling both for another target; None if not requested.
        numbers: whether both ways gave the same numbers; "" if unknown.
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
    """The programs that a real call of a case compiled.

    Args:
        name: function and case.
        target: target it ran on.
        programs: programs of jitted functions, in order of compilation.
        eager: operations that ran by themselves, by name.
        jitted_here: whether the function has no jit of its own, so it was called through `jax.jit`.
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
        details: lines of explanation for each differing program, by its index.

    Returns:
        an error for each program that differs. A program without an ahead-of-time counterpart is not an error.
    """
    for number, program in enumerate(parity.programs):
        if program.differs:
            at = f" ({program.place})" if program.place else ""
            what = f"`{program.name}`{at} compiles to one program when called and to another ahead of time"
            yield Finding("error", RULE, parity.name, None, what, "", tuple(details.get(number, ())))


def judge_surroundings(
    around: Mapping[tuple[str, str], Sequence[tuple[str, str, str, str]]], sentences: Mapping[str, str]
) -> Iterator[Finding]:
    """Report calls whose program is in no snapshot: a plain function calls a jitted one under a context.

    These findings do not affect the verdict.

    Args:
        around: contexts seen in tracing, by program and target: function, source location, name and value.
        sentences: format string of each context, by name, with a `{value}`.

    Returns:
        one finding for each program and function, whatever the target.
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
