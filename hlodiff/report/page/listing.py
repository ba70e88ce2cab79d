"""Both programs line by line: which instruction is which, in the order in which a page shows them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hlodiff.diff.result import ModuleDiff
from hlodiff.diff.script import Pair, Script
from hlodiff.ir.hlo_printer import print_instruction
from hlodiff.ir.model import Computation, Module
from hlodiff.report.escape import clip, printable
from hlodiff.report.numbers import many
from hlodiff.report.page.aligned import runs_of
from hlodiff.report.page.bounds import PageLimits
from hlodiff.report.page.matching import Place
from hlodiff.report.places import place

_AROUND = 12
_BESIDE = 0.7  # where fewer of the pairs can stand side by side, two orders are too many
_NOTHING = Computation("", (), -1)


@dataclass(frozen=True, slots=True)
class Block:
    """Two computations that correspond, or one that only one side has.

    Args:
        sides: indices into the modules' computations; -1 for none.
        bodies: the computations.
        runs: rows, as `runs_of` gives them; ("~", n) for n rows of both sides that are left out.
        twins: pairs that are not side by side, by their places inside.
        is_equal: whether nothing in it was edited.
        is_again: whether one side calls once more what stands beside its partner in another block.
        order: instructions of the old side as they are listed.
        is_sorted: whether that is the order of the new side rather than its own.
    """

    sides: tuple[int, int]
    bodies: tuple[Computation, Computation]
    runs: list[tuple[str, int]]
    twins: list[tuple[int, int]]
    is_equal: bool
    order: Sequence[int]
    is_sorted: bool
    is_again: bool = False

    def place(self, side: int, at: int) -> Place:
        """The instruction that is listed there."""
        return self.sides[side], self.order[at] if side == 0 else at


def blocks_of(script: Script, diff: ModuleDiff, edited: tuple[Container[int], Container[int]]) -> list[Block]:
    """Every pair of computations, the entries first.

    Args:
        script: what says which instruction is which.
        diff: the difference.
        edited: computations of the old and of the new side that hold an edit.
    """
    both = {pair.old for pair in script.pairs if pair.new >= 0}, {pair.new for pair in script.pairs if pair.old >= 0}
    blocks = [_block(pair, (diff.old, diff.new), edited) for pair in script.pairs]
    return [replace(b, is_again=-1 in b.sides and (b.sides[0] in both[0] or b.sides[1] in both[1])) for b in blocks]


def _block(pair: Pair, modules: tuple[Module, Module], edited: tuple[Container[int], Container[int]]) -> Block:
    sides = pair.old, pair.new
    old, new = (m.computations[n] if n >= 0 else _NOTHING for m, n in zip(modules, sides, strict=True))
    partners = pair.partners or (-1,) * len(old.instructions)
    order: Sequence[int] = range(len(partners))
    runs = runs_of(partners, len(new.instructions))
    is_sorted = sum(count for sign, count in runs if sign == "=") < _BESIDE * sum(other >= 0 for other in partners)
    if is_sorted:
        order = _in_order_of_new(partners)
        runs = runs_of([partners[n] for n in order], len(new.instructions))
    beside = {(order[at], other) for at, other in _pairs_of(runs)}
    twins = [(a, b) for a, b in enumerate(partners) if b >= 0 and (a, b) not in beside]
    is_whole = not any(sign != "=" for sign, _ in runs) or len(twins) == len(old.instructions) - len(beside)
    quiet = not any(n in some for n, some in zip(sides, edited, strict=True)) and min(sides) >= 0
    return Block(sides, (old, new), runs, twins, quiet and is_whole, order, is_sorted)


def _in_order_of_new(partners: Sequence[int]) -> list[int]:
    """Old lines as the new side has them; what has no partner stays behind the one that it stood behind."""
    keys, last = [], -1
    for partner in partners:
        last = partner if partner >= 0 else last
        keys.append(last)
    return sorted(range(len(partners)), key=lambda n: (keys[n], n))


def _pairs_of(runs: Sequence[tuple[str, int]]) -> Iterator[Place]:
    old = new = 0
    for sign, count in runs:
        if sign == "=":
            yield from zip(range(old, old + count), range(new, new + count), strict=True)
        old += count * (sign in "=-~")
        new += count * (sign in "=+~")


@dataclass(slots=True)
class Listing:
    """Lines of both sides, numbered from 0 on each, and where each instruction stands.

    Args:
        value: what goes into the page.
        lines: for each side, the lines of an instruction; several where its computation has several partners.
        left_out: what is not shown, in words.
        cut: what is shown in part, in words.
    """

    value: dict[str, Any]
    lines: tuple[dict[Place, list[int]], dict[Place, list[int]]]
    left_out: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)

    def site(self, old: Place | None, new: Place | None) -> list[int]:
        """The lines of an edit, on the old and on the new side; -1 where there is none, or it is not shown."""
        found = [self.lines[side].get(place, []) if place else [] for side, place in enumerate((old, new))]
        if old and new:
            return [lines[0] if lines else -1 for lines in found]
        # What came or went stands where nothing stands beside it.
        return [lines[-1] if lines else -1 for lines in found]


def listing_of(
    script: Script, diff: ModuleDiff, places: tuple[set[Place], set[Place]], root: str, room: int, limits: PageLimits
) -> Listing | None:
    """Both programs line by line, as much of them as there is room for.

    What is the same is left out first: the inside of equal computations, then what is far from any edit.

    Args:
        script: that of the difference.
        diff: the difference.
        places: computation and place of what was edited, on each side.
        root: the project's folder.
        room: for how many characters.
        limits: bounds of a line.

    Returns:
        None where there is no room for the edits themselves.
    """
    edited = {c for c, _ in places[0]}, {c for c, _ in places[1]}
    blocks = blocks_of(script, diff, edited)
    for words, cut in (("", _whole), (_NO_EQUAL, _closed), (_NO_FAR, _near)):
        found = _written(diff, [cut(block, places) for block in blocks], root, limits, room)
        if found is not None:
            found.left_out += [words] if words else []
            return found
    return None


_NO_EQUAL = "What computations hold that are equal on both sides is left out: it does not fit into the page."
_NO_FAR = "Only lines near an edit are shown: the others do not fit into the page."


def _whole(block: Block, places: tuple[set[Place], set[Place]]) -> Block:
    return block


def _closed(block: Block, places: tuple[set[Place], set[Place]]) -> Block:
    if not block.is_equal:
        return block
    return replace(block, runs=[("~", len(block.bodies[0].instructions))], twins=[])


def _near(block: Block, places: tuple[set[Place], set[Place]]) -> Block:
    """Rows with both sides that are far from what was edited, came or went give way to a gap."""
    if block.is_equal:
        return _closed(block, places)
    kept: list[bool] = []
    signs: list[str] = []
    old = new = 0
    for sign, count in block.runs:
        for step in range(count):
            marked = sign != "=" or any(
                block.place(side, at + step) in places[side] for side, at in ((0, old), (1, new))
            )
            signs.append(sign)
            kept.append(marked)
        old += count * (sign != "+")
        new += count * (sign != "-")
    near = _widened(kept)
    runs: list[tuple[str, int]] = []
    for sign, is_kept in zip(signs, near, strict=True):
        shown = sign if is_kept else "~"
        if runs and runs[-1][0] == shown:
            runs[-1] = (shown, runs[-1][1] + 1)
        else:
            runs.append((shown, 1))
    return replace(block, runs=runs)


def _widened(kept: Sequence[bool]) -> list[bool]:
    near = [False] * len(kept)
    for order in (range(len(kept)), range(len(kept) - 1, -1, -1)):
        left = 0
        for at in order:
            left = _AROUND + 1 if kept[at] else left - 1
            near[at] = near[at] or left > 0
    return near


@dataclass(slots=True)
class _Writer:
    diff: ModuleDiff
    root: str
    limits: PageLimits
    room: int
    texts: tuple[list[str | int], list[str | int]] = field(default_factory=lambda: ([], []))
    notes: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    lines: tuple[dict[Place, list[int]], dict[Place, list[int]]] = field(default_factory=lambda: ({}, {}))
    names: dict[str, int] = field(default_factory=dict)
    wheres: dict[str, int] = field(default_factory=dict)
    frames: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    twins: list[list[int]] = field(default_factory=list)
    cut: int = 0

    def block(self, block: Block) -> dict[str, Any]:
        """One block; its lines are written on the way."""
        at = [0, 0]
        start = len(self.texts[0]), len(self.texts[1])
        here: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for sign, count in block.runs:
            for _ in range(count if sign != "~" else 0):
                for side in (0, 1):
                    if sign != "+-"[side]:
                        here[side][block.place(side, at[side])[1]] = self.line(block, side, at[side], sign == "=")
                        at[side] += 1
            if sign == "~":
                at = [at[0] + count, at[1] + count]
        self.twins += [[here[0][a], here[1][b]] for a, b in block.twins if a in here[0] and b in here[1]]
        names = [printable(body.name) if n >= 0 else None for n, body in zip(block.sides, block.bodies, strict=True)]
        heads = [_first_line(body) for body in block.bodies]
        entry = block.sides[0] == self.diff.old.entry or block.sides[1] == self.diff.new.entry
        return {
            "n": names,
            "at": heads,
            "s": list(start),
            "r": [[sign, count] for sign, count in block.runs],
            "equal": block.is_equal,
            "again": block.is_again,
            "sorted": [block.bodies[0].instructions[n].line for n in block.order] if block.is_sorted else [],
            "entry": entry,
            "size": [len(body.instructions) for body in block.bodies],
        }

    def line(self, block: Block, side: int, at: int, beside: bool) -> int:
        """Write one line; its number on its side."""
        place_ = block.place(side, at)
        it = block.bodies[side].instructions[place_[1]]
        module = (self.diff.old, self.diff.new)[side]
        text = printable(print_instruction(module, *place_))
        self.cut += len(text) > self.limits.line
        text = clip(text, self.limits.line)
        number = len(self.texts[side])
        is_same = beside and side == 1 and self.texts[0][-1] == text
        self.texts[side].append(0 if is_same else text)
        self.lines[side].setdefault(place_, []).append(number)
        self.notes[side].extend((_known(self.names, printable(it.op_name)), self.where(side, it.frame)))
        self.room -= 12 if is_same else len(text) + 14
        return number

    def where(self, side: int, frame: int) -> int:
        """The number of the words for a Python frame."""
        if frame < 0:
            return -1
        known = self.frames[side]
        if frame not in known:
            module = (self.diff.old, self.diff.new)[side]
            known[frame] = _known(self.wheres, printable(place(module.stack(frame), self.root)))
        return known[frame]


def _known(words: dict[str, int], word: str) -> int:
    return words.setdefault(word, len(words)) if word else -1


def _first_line(body: Computation) -> int:
    """The line of the first instruction in its file, where all others follow line by line; 0 else."""
    lines = [it.line for it in body.instructions]
    return lines[0] if lines and lines[0] and lines == list(range(lines[0], lines[0] + len(lines))) else 0


def _written(diff: ModuleDiff, blocks: Sequence[Block], root: str, limits: PageLimits, room: int) -> Listing | None:
    writer = _Writer(diff, root, limits, room)
    written = []
    for block in blocks:
        written.append(writer.block(block))
        if writer.room < 0:
            return None
    room = writer.room - sum(map(len, writer.names)) - sum(map(len, writer.wheres)) - 120 * len(written)
    if room < 0:
        return None
    value: Mapping[str, Any] = {
        "size": [diff.old.instruction_count(), diff.new.instruction_count()],
        "blocks": written,
        "old": writer.texts[0],
        "new": writer.texts[1],
        "twins": writer.twins,
        "notes": list(writer.notes),
        "scopes": list(writer.names),
        "wheres": list(writer.wheres),
    }
    cut = f"{many(writer.cut, 'line')} cut at {limits.line:,} characters" if writer.cut else ""
    return Listing(dict(value), writer.lines, cut=[cut] if cut else [])
