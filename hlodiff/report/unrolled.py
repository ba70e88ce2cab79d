"""Loops that became copies of their body, and copies that became a loop: what a scan replaced by a Python loop is."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.anatomy.frames import Lines, own_line
from hlodiff.anatomy.repeats import Repeat, repeats
from hlodiff.diff.result import ModuleDiff
from hlodiff.ir.model import Module
from hlodiff.report.anatomy_words import place_of


def unrolled_in_words(diff: ModuleDiff, loops: tuple[float, float]) -> Iterator[str]:
    """One sentence where a program has fewer loops and copies of a body in their place, or the reverse.

    Args:
        diff: of two programs.
        loops: how many loops they have.

    Returns:
        at most one sentence without markup.
    """
    old, new = loops
    if old > new:
        yield from _sentence(diff.old, diff.new, "became")
    elif new > old:
        yield from _sentence(diff.new, diff.old, "was")


def _sentence(looped: Module, unrolled: Module, verb: str) -> Iterator[str]:
    gone = [line for line in _loop_lines(looped) if line not in _loop_lines(unrolled)]
    files = {line.file for line in gone}

    # Where a loop went, equal groups of operations in its file are what became of it, however few there are.
    def in_loop(file: str, line: int) -> bool:
        return file in files

    known = {_what(one) for one in repeats(looped, in_loop)} if gone else set()
    fresh = [one for one in repeats(unrolled, in_loop) if _what(one) not in known] if gone else []
    if fresh:
        one = fresh[0]
        copies = f"{one.copies:,} copies of its body"
        here = "" if one.where == gone[0] else f" ({place_of(one.where)})"
        yield f"the loop of {place_of(gone[0])} {verb} {copies}{here}"


def _what(one: Repeat) -> tuple[str, str, int]:
    return one.where.file, one.where.function, one.copies


def _loop_lines(module: Module) -> list[Lines]:
    frames = [it.frame for c in module.computations for it in c.instructions if it.opcode == "while"]
    return [line for line in dict.fromkeys(own_line(module, frame) for frame in frames) if line is not None]
