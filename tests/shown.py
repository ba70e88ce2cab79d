"""What a report says of one program, one edit or one call stack, asked of the record that every form renders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlodiff.differ import Edit, ModuleDiff, ProgramComparison
from hlodiff.hlo import Computation, Frame, Instruction, Module, Shape, Stage
from hlodiff.policy import Finding
from hlodiff.report import Report, build_view, by_how_much, format_number

_ONE = Instruction("a", "add", Shape("f32"), ())
PROGRAM = Module("m", "compiled", (Computation("main", (_ONE,) * 64, 0),), 0)
"""A program with room for the sites of edits that a test makes up."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change as a list of changes has it."""

    kind: str
    count: int
    what: str
    where: str
    follows: str
    cost: str


def headline(program: ProgramComparison, *lowered: ProgramComparison) -> str:
    """Kind and size of a change in one line; `lowered` is the StableHLO of the same function."""
    return build_view(Report("check", "a", "b", (*lowered, program))).programs[-1].headline


def marks(program: ProgramComparison) -> dict[str, str]:
    """Whether each number of a program costs less or more."""
    (shown,) = build_view(Report("check", "a", "b", (program,))).programs
    return {number.name: number.mark for number in shown.numbers}


def ranks(program: ProgramComparison) -> dict[str, float]:
    """How much the change of each number matters."""
    (shown,) = build_view(Report("check", "a", "b", (program,))).programs
    return {number.name: number.rank for number in shown.numbers}


def numbers(program: ProgramComparison) -> dict[str, tuple[str, str]]:
    """Each number of a program on both sides, and by how much it changed."""
    (shown,) = build_view(Report("check", "a", "b", (program,))).programs
    return {number.name: (format_number(number), by_how_much(number)) for number in shown.numbers}


def in_words(old: float, new: float) -> str:
    """By how much a number changed, as a report shows it."""
    facts = {"memory.temp": 1.0}, {"memory.temp": 2.0}
    program = ProgramComparison("f", "cpu", "compiled", "changed", ModuleDiff(PROGRAM, PROGRAM), *facts)
    (known,) = build_view(Report("check", "a", "b", (program,))).programs[0].numbers
    return by_how_much(replace(known, old=old, new=new))


def changes(found: ModuleDiff, stage: Stage = "compiled") -> list[Change]:
    """The changes of a program, as its list has them."""
    program = ProgramComparison("f", "cpu", stage, "changed", found)
    return [
        Change(it.kind, it.count, it.what, "".join(it.where[:1]), it.follows, it.cost)
        for detail in build_view(Report("check", "a", "b", (program,), all=True)).details
        for group in detail.groups
        for it in group.changes
    ]


def words(edit: Edit, stage: Stage = "compiled") -> str:
    """An edit in words, as the list of a program's changes has it."""
    (change,) = changes(ModuleDiff(PROGRAM, PROGRAM, (edit,)), stage)
    return change.what


def happened(found: ModuleDiff, name: str = "f", *, temp: tuple[int, int] | None = None) -> list[str]:
    """What happened to a program, in sentences, the most important first; `temp` is its temporary memory."""
    old, new = ({"memory.temp": size} for size in temp) if temp else ({}, {})
    program = ProgramComparison(name, "cpu", found.new.stage, "changed", found, old, new)
    (function,) = build_view(Report("diff", "a", "b", (program,))).functions
    return [one for stage in function.stages for one in stage.what.split("; ") if one]


def line_of(source: Sequence[Frame], root: str = "") -> tuple[str, int, str, bool]:
    """The line of Python that a report names for a call stack: file, line, function, and whether it is a library's."""
    finding = Finding("error", "parity", "f", "cpu", "what", source=tuple(source))
    (shown,) = build_view(Report("check", "a", "b", (), (finding,), root=root)).findings
    where = shown.where
    return (where.file, where.line, where.function, where.library) if where else ("", 0, "", False)
