"""Whether one subgraph really replaced another: what a line of Python computes, counted in both whole programs.

A compiler that fuses, copies or computes again in another place removes and adds operations that are still the same
ones. Only what a line has fewer of in the new program was removed, and only what it has more of was added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from hlodiff.differ.edits import RawEdit
from hlodiff.differ.regions import CARRIERS, Line, region_lines
from hlodiff.hlo.collectives import family
from hlodiff.hlo.metadata import is_library
from hlodiff.hlo.model import Frame, Instruction, Module
from hlodiff.hlo.traversal import multiplicities

# How a compiler arranges values and in which type it computes; none of it is what a line of Python computes.
ARRANGING = frozenset(
    ["copy", "bitcast", "transpose", "reshape", "convert", "slice", "pad", "concatenate", "async-start", "async-done"]
)
_FLOATS = ("f", "bf", "c")


class StackSource(Protocol):
    """Where the instructions of one program come from, by computation and position."""

    def stack(self, computation: int, instruction: int) -> tuple[Frame, ...]:
        """Python frames, innermost first."""

    def own_frame(self, computation: int, instruction: int) -> Frame | None:
        """The one of them that is the user's own."""


def replaced_edits(
    modules: tuple[Module, Module],
    edits: Sequence[RawEdit],
    lines: Sequence[tuple[Line, ...]],
    regions: Sequence[int | None],
    origins: tuple[StackSource, StackSource],
) -> frozenset[int]:
    """The edits of which a report may say that they replaced one subgraph by another.

    Args:
        modules: both programs.
        edits, lines, regions: the edits, the old and new line of each, and the region of each, see `number_by_line`.
        origins: where instructions come from.

    Returns:
        indices of edits in regions whose two lines are in one function of Python, where the old line has fewer of
        most that was removed, and the new line more of most that was added. Something that went or came has to be gone
        from the line or new on it; of compiled programs both.
    """
    members: dict[int, list[int]] = {}
    for index, region in enumerate(regions):
        if region is not None:
            members.setdefault(region, []).append(index)
    if not members:
        return frozenset()
    work = _Work(modules[0], origins[0]), _Work(modules[1], origins[1])
    found: set[int] = set()
    for indices in members.values():
        old, new = region_lines([edits[n] for n in indices], [lines[n] for n in indices])
        if old is None or new is None or not _are_related(work[0], work[1], old, new):
            continue
        here = work[0].at(old), work[1].at(new)
        differences = here[0] - here[1], here[1] - here[0]
        counts = Counter[str](), Counter[str]()
        for n in indices:
            for side in (0, 1):
                it = _it(modules, edits[n], side)
                if it is not None and is_work(it, modules[0].stage):
                    counts[side][it.opcode] += edits[n].count
        net = counts[0] - counts[1], counts[1] - counts[0]
        true = [sum((net[side] & differences[side]).values()) * 2 > sum(net[side].values()) for side in (0, 1)]
        whole = [any(not here[1 - side][opcode] for opcode in net[side]) for side in (0, 1)]
        # A compiler computes more or less of the same in many places; what is new on a line, it did not make up.
        if all(true) and (all(whole) if modules[0].stage == "compiled" else any(whole)):
            found.update(indices)
    return frozenset(found)


def _it(modules: tuple[Module, Module], edit: RawEdit, side: int) -> Instruction | None:
    place = (edit.old, edit.new)[side]
    return modules[side].computations[place[0]].instructions[place[1]] if place else None


class _Work:
    """How often each line of the user's own code computes each operation in one program, calls counted."""

    def __init__(self, module: Module, origin: StackSource) -> None:
        self.stage = module.stage
        self.counts: dict[Line, Counter[str]] = {}
        self.functions: dict[Line, tuple[frozenset[tuple[str, str]], tuple[str, str]]] = {}
        for index, weight in enumerate(multiplicities(module)):
            for position, it in enumerate(module.computations[index].instructions) if weight.total else ():
                if not is_work(it, module.stage):
                    continue
                frame = origin.own_frame(index, position)
                if frame is None:
                    continue
                line = (frame.file, frame.line)
                self.counts.setdefault(line, Counter())[it.opcode] += weight.total
                if line not in self.functions:
                    own = [one for one in origin.stack(index, position) if not is_library(one.file)]
                    self.functions[line] = (
                        frozenset((one.file, one.function) for one in own),
                        (frame.file, frame.function),
                    )

    def at(self, line: Line) -> Counter[str]:
        """The work of one line."""
        return self.counts.get(line, Counter())


def _are_related(one: _Work, other: _Work, old: Line, new: Line) -> bool:
    """Whether both lines are in one function; in StableHLO one may also be in what the other one calls now."""
    if old not in one.functions or new not in other.functions:
        return False
    (around, function), (others, other_function) = one.functions[old], other.functions[new]
    if function == other_function:
        return True
    return one.stage == "stablehlo" and (function in others or other_function in around)


def is_work(it: Instruction, stage: str) -> bool:
    """Whether an instruction computes values of the program.

    Collectives only bring values where they are used, and whole numbers one by one are indices.
    """
    if it.opcode in CARRIERS or it.opcode == "convert" or (stage == "compiled" and it.opcode in ARRANGING):
        return False
    if family(it.opcode.removesuffix("-done")):
        return False
    return bool(it.shape.dimensions or it.shape.tuple_shapes or it.shape.element_type.startswith(_FLOATS))
