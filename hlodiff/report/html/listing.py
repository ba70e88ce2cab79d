"""Both programs line by line: which instruction is which, in the order in which a page shows them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hlodiff.differ.placement import platform_of
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.differ.script import EditScript, InstructionPair
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.printer import print_instruction
from hlodiff.report.html.limits import PageLimits
from hlodiff.report.lines import clip, printable
from hlodiff.report.wording import many, place

Run = tuple[str, int]
"""`("=", 5)`: five rows with both; "-" for the old side alone, "+" for the new one."""


def runs_of(mapping: Sequence[int], size: int) -> list[Run]:
    """The rows of two computations, in the order of both: as many pairs side by side as the orders allow.

    Args:
        mapping: for each old line its new one, -1 for none.
        size: how many new lines there are.

    Returns:
        runs that use up both sides from top to bottom. Pairs in another order stand apart.

    Example:
        >>> runs_of([0, -1, 3], 4)
        [('=', 1), ('-', 1), ('+', 2), ('=', 1)]
    """
    found: list[Run] = []
    old = new = 0
    for one, other in (*_in_order(mapping), (len(mapping), size)):
        for sign, count in (("-", one - old), ("+", other - new), ("=", int(one < len(mapping)))):
            if count and found and found[-1][0] == sign:
                found[-1] = (sign, found[-1][1] + count)
            elif count:
                found.append((sign, count))
        old, new = one + 1, other + 1
    return found


def _in_order(mapping: Sequence[int]) -> list[tuple[int, int]]:
    """The longest list of pairs that ascends on both sides."""
    tails: list[int] = []
    ends: list[int] = []
    before = [-1] * len(mapping)
    for one, other in enumerate(mapping):
        if other < 0:
            continue
        place = bisect_left(tails, other)
        before[one] = ends[place - 1] if place else -1
        tails[place : place + 1] = [other]
        ends[place : place + 1] = [one]
    return [(one, mapping[one]) for one in _back(before, ends[-1] if ends else -1)][::-1]


def _back(before: Sequence[int], last: int) -> Iterator[int]:
    while last >= 0:
        yield last
        last = before[last]


Place = tuple[int, int]
"""A computation of a module, and an instruction in it."""


def place_of(site: Site | None) -> Place | None:
    """Where a site is."""
    return (site.computation, site.instruction) if site else None


@dataclass(slots=True)
class Matching:
    """Both programs of a diff, with the match of each instruction and the kind of edit it has.

    Args:
        modules: old and new.
        script: the diff as steps, whose pairs say what corresponds.
        mapping: for each side, the place on the other one.
        kinds: for each side, the kind of edit.
        callers: for each side, the first fusion that calls a computation.
        platforms: which backend compiled each side.
    """

    modules: tuple[Module, Module]
    script: EditScript
    mapping: tuple[dict[Place, Place], dict[Place, Place]]
    kinds: tuple[dict[Place, str], dict[Place, str]]
    callers: tuple[dict[int, Place], dict[int, Place]]
    platforms: tuple[str, str]

    @staticmethod
    def of(diff: ModuleDiff) -> Matching:
        """Work out everything once."""
        script = diff.script
        kinds = _kinds(diff.reported)
        callers = _callers(diff.old), _callers(diff.new)
        platforms = platform_of(diff.old), platform_of(diff.new)
        return Matching((diff.old, diff.new), script, _mapping(script, diff.edits), kinds, callers, platforms)

    def body(self, side: int, computation: int) -> Computation:
        """A computation."""
        return self.modules[side].computations[computation]

    def at(self, side: int, place: Place) -> Instruction:
        """An instruction."""
        return self.body(side, place[0]).instructions[place[1]]

    def users(self, side: int, place: Place) -> tuple[int, ...]:
        """Instructions of the same computation that use one."""
        return self.body(side, place[0]).users[place[1]]


def _mapping(script: EditScript, edits: Sequence[Edit]) -> tuple[dict[Place, Place], dict[Place, Place]]:
    forth: dict[Place, Place] = {}
    back: dict[Place, Place] = {}
    for edit in edits:
        for old, new in edit.sites:
            if old and new:
                _pair(forth, back, (old.computation, old.instruction), (new.computation, new.instruction))
    for pair in script.pairs:
        for old_place, new_place in enumerate(pair.mapping):
            if new_place >= 0:
                _pair(forth, back, (pair.old, old_place), (pair.new, new_place))
    return forth, back


def _pair(forth: dict[Place, Place], back: dict[Place, Place], old: Place, new: Place) -> None:
    forth.setdefault(old, new)
    back.setdefault(new, old)


def _kinds(edits: Sequence[Edit]) -> tuple[dict[Place, str], dict[Place, str]]:
    found: tuple[dict[Place, str], dict[Place, str]] = ({}, {})
    for edit in edits:
        for pair in edit.sites:
            for side, site in zip(found, pair, strict=True):
                if site:
                    side.setdefault((site.computation, site.instruction), edit.kind)
    return found


def _callers(module: Module) -> dict[int, Place]:
    found: dict[int, Place] = {}
    for number, body in enumerate(module.computations):
        for at, it in enumerate(body.instructions):
            for callee in it.called if it.opcode == "fusion" else ():
                found.setdefault(callee, (number, at))
    return found


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
        distant: pairs that are not side by side, by their places inside.
        is_equal: whether nothing in it was edited.
        is_again: whether one side calls once more what stands beside its match in another block.
        order: instructions of the old side as they are listed.
        is_sorted: whether that is the order of the new side rather than its own.
    """

    sides: tuple[int, int]
    bodies: tuple[Computation, Computation]
    runs: list[tuple[str, int]]
    distant: list[tuple[int, int]]
    is_equal: bool
    order: Sequence[int]
    is_sorted: bool
    is_again: bool = False

    def place(self, side: int, at: int) -> Place:
        """The instruction that is listed there."""
        return self.sides[side], self.order[at] if side == 0 else at


def blocks_of(script: EditScript, diff: ModuleDiff, edited: tuple[Container[int], Container[int]]) -> list[Block]:
    """Every pair of computations, the entries first.

    Args:
        script: what says which instruction is which.
        diff: the difference.
        edited: computations of the old and of the new side that hold an edit.
    """
    both = {pair.old for pair in script.pairs if pair.new >= 0}, {pair.new for pair in script.pairs if pair.old >= 0}
    blocks = [_block(pair, (diff.old, diff.new), edited) for pair in script.pairs]
    return [replace(b, is_again=-1 in b.sides and (b.sides[0] in both[0] or b.sides[1] in both[1])) for b in blocks]


def _block(
    pair: InstructionPair, modules: tuple[Module, Module], edited: tuple[Container[int], Container[int]]
) -> Block:
    sides = pair.old, pair.new
    old, new = (m.computations[n] if n >= 0 else _NOTHING for m, n in zip(modules, sides, strict=True))
    mapping = pair.mapping or (-1,) * len(old.instructions)
    order: Sequence[int] = range(len(mapping))
    runs = runs_of(mapping, len(new.instructions))
    is_sorted = sum(count for sign, count in runs if sign == "=") < _BESIDE * sum(other >= 0 for other in mapping)
    if is_sorted:
        order = _in_order_of_new(mapping)
        runs = runs_of([mapping[n] for n in order], len(new.instructions))
    beside = {(order[at], other) for at, other in _pairs_of(runs)}
    distant = [(a, b) for a, b in enumerate(mapping) if b >= 0 and (a, b) not in beside]
    is_whole = not any(sign != "=" for sign, _ in runs) or len(distant) == len(old.instructions) - len(beside)
    quiet = not any(n in some for n, some in zip(sides, edited, strict=True)) and min(sides) >= 0
    return Block(sides, (old, new), runs, distant, quiet and is_whole, order, is_sorted)


def _in_order_of_new(mapping: Sequence[int]) -> list[int]:
    """Old lines as the new side has them; what has no match stays behind the one that it stood behind."""
    keys, last = [], -1
    for match in mapping:
        last = match if match >= 0 else last
        keys.append(last)
    return sorted(range(len(mapping)), key=lambda n: (keys[n], n))


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
        lines: for each side, the lines of an instruction; several where its computation has several matches.
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
        # What was added or removed appears where nothing is beside it.
        return [lines[-1] if lines else -1 for lines in found]


def listing_of(
    script: EditScript,
    diff: ModuleDiff,
    places: tuple[set[Place], set[Place]],
    root: str,
    packages: Sequence[str],
    room: int,
    limits: PageLimits,
) -> Listing | None:
    """Both programs line by line, as much of them as there is room for.

    What is the same is left out first: the inside of equal computations, then what is far from any edit.

    Args:
        script: that of the difference.
        diff: the difference.
        places: computation and place of what was edited, on each side.
        root: the project's folder.
        packages: libraries whose own line is named, see `shown_place`.
        room: for how many characters.
        limits: bounds of a line.

    Returns:
        None where there is no room for the edits themselves.
    """
    edited = {c for c, _ in places[0]}, {c for c, _ in places[1]}
    blocks = blocks_of(script, diff, edited)
    for words, cut in (("", _whole), (_NO_EQUAL, _closed), (_NO_FAR, _near)):
        found = _written(diff, [cut(block, places) for block in blocks], root, packages, limits, room)
        if found is not None:
            found.left_out += [words] if words else []
            return found
    return None


_NO_EQUAL = "Computations that are equal on both sides are not shown: they do not fit into the page."
_NO_FAR = "Only lines near an edit are shown: the others do not fit into the page."


def _whole(block: Block, places: tuple[set[Place], set[Place]]) -> Block:
    return block


def _closed(block: Block, places: tuple[set[Place], set[Place]]) -> Block:
    if not block.is_equal:
        return block
    return replace(block, runs=[("~", len(block.bodies[0].instructions))], distant=[])


def _near(block: Block, places: tuple[set[Place], set[Place]]) -> Block:
    """Rows with both sides that are far from what was edited, added or removed give way to a gap."""
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
    packages: Sequence[str]
    limits: PageLimits
    room: int
    texts: tuple[list[str | int], list[str | int]] = field(default_factory=lambda: ([], []))
    notes: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    lines: tuple[dict[Place, list[int]], dict[Place, list[int]]] = field(default_factory=lambda: ({}, {}))
    names: dict[str, int] = field(default_factory=dict)
    wheres: dict[str, int] = field(default_factory=dict)
    frames: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    distant: list[list[int]] = field(default_factory=list)
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
        self.distant += [[here[0][a], here[1][b]] for a, b in block.distant if a in here[0] and b in here[1]]
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
            known[frame] = _known(self.wheres, printable(place(module.stack(frame), self.root, self.packages)))
        return known[frame]


def _known(words: dict[str, int], word: str) -> int:
    return words.setdefault(word, len(words)) if word else -1


def _first_line(body: Computation) -> int:
    """The line of the first instruction in its file, where all others follow line by line; 0 else."""
    lines = [it.line for it in body.instructions]
    return lines[0] if lines and lines[0] and lines == list(range(lines[0], lines[0] + len(lines))) else 0


def _written(
    diff: ModuleDiff, blocks: Sequence[Block], root: str, packages: Sequence[str], limits: PageLimits, room: int
) -> Listing | None:
    writer = _Writer(diff, root, packages, limits, room)
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
        "twins": writer.distant,
        "notes": list(writer.notes),
        "scopes": list(writer.names),
        "wheres": list(writer.wheres),
    }
    cut = f"{many(writer.cut, 'line')} cut at {limits.line:,} characters" if writer.cut else ""
    return Listing(dict(value), writer.lines, cut=[cut] if cut else [])
