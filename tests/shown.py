"""What a report says of one program or one call stack, asked of the record that every form renders."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.differ import ProgramComparison
from hlodiff.hlo import Frame
from hlodiff.policy import Finding
from hlodiff.report import Report, build_view


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


def line_of(source: Sequence[Frame], root: str = "") -> tuple[str, int, str, bool]:
    """The line of Python that a report names for a call stack: file, line, function, and whether it is a library's."""
    finding = Finding("error", "parity", "f", "cpu", "what", source=tuple(source))
    (shown,) = build_view(Report("check", "a", "b", (), (finding,), root=root)).findings
    where = shown.where
    return (where.file, where.line, where.function, where.library) if where else ("", 0, "", False)
