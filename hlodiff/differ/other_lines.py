"""Pairs that rest on weak evidence, mostly without an edit: operations of two lines of Python that are of one type.

The shortest script keeps whatever it can. If an array grew, and a new operation elsewhere has the size that the old one
had, one of the two is an edit either way, and the script is an edit shorter if the old one becomes the new one. If
numbers are cast after a product now and no longer before it, the shortest script moves the product and keeps the cast.
A report says what each line of Python lost and got, so it shows such a pair as one removed and one added operation.

Names and lines alone decide nothing: a pair that shares an operand or a user with its match, as it was, is what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from hlodiff.differ.computation_matches import ProgramMatch, paired_places
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.loops import LOOPS
from hlodiff.differ.regions import CARRIERS, FEEDERS, PRODUCTS
from hlodiff.differ.result import Edit, Site
from hlodiff.hlo.collectives import family
from hlodiff.hlo.metadata import own_place
from hlodiff.hlo.model import CALLS, Module, Place, at
from hlodiff.hlo.traversal import source_through

Line = tuple[str, int] | None
_MOSTLY = 0.8


def pairs_of_other_lines(old: Module, new: Module, found: ProgramMatch, edits: Sequence[RawEdit]) -> list[RawEdit]:
    """Pairs without an edit that are shown as removed and added; those with one are marked as weak.

    Args:
        old, new: the programs as they were paired.
        found: which instructions correspond.
        edits: the edits of the program channel, after `mark_regions`.

    Returns:
        for each of them an edit on weak evidence in which nothing changed; it is no part of the script.

    Example:
        >>> empty = Module("m", "compiled", (), 0)
        >>> pairs_of_other_lines(empty, empty, ProgramMatch((), {}, {}), [])
        []
    """
    return _OtherLines((old, new), found, edits).pairs()


class _OtherLines:
    def __init__(self, modules: tuple[Module, Module], found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
        self.modules, self.edits = modules, edits
        forth = paired_places(found)
        self.mapping = forth, {new: old for old, new in forth.items()}
        self.matches = {(pair.old, pair.new): pair for pair in found.pairs}
        self.edited = {edit.old for edit in edits}
        self.weak = {edit.old for edit in edits if edit.is_weak}
        self._lines: tuple[dict[int, Line], dict[int, Line]] = ({}, {})

    def pairs(self) -> list[RawEdit]:
        self._mark_products()
        pairs: dict[Place, RawEdit] = {}
        worklist = [
            near
            for edit in self.edits
            if edit.kind in ("added", "removed") or edit.is_weak
            for side, place in enumerate((edit.old, edit.new))
            if place
            for near in self._near(side, place)
        ]
        for edit in self.edits:
            one, other = edit.old, edit.new
            if one and other and edit.kind == "changed" and not edit.is_weak and self._is_apart(one, other):
                edit.is_weak = True
                self.weak.add(one)
                worklist += self._near(0, one)
        worklist += (one for one in self.mapping[0] if self._is_loop(one))
        for near in worklist:  # the list grows
            if near in self.edited:
                continue
            match = self.mapping[0].get(near)
            is_other = self._is_apart if self._is_loop(near) else self._is_other
            if match is not None and near not in pairs and is_other(near, match):
                pair = self.matches.get((near[0], match[0]))
                if pair and pair.pairing and pair.pairing.old[near[1]] == match[1]:
                    matcher, key = pair.pairing.matchers.get(near[1], ""), (pair.old, pair.new)
                    pairs[near] = RawEdit("changed", near, match, [], pair.count, matcher, is_weak=True, pair=key)
                    self.weak.add(near)
                    worklist += self._near(0, near)
        return [pairs[one] for one in sorted(pairs)]

    def _mark_products(self) -> None:
        """Mark matrix products of another size at another line, and collectives: they are mostly two of many.

        They may share an operand or a user as such, but a line that is the same has its own: products of one backward
        pass, and collectives that the steps of a TPU's fusions hold together.
        """
        for edit in self.edits:
            one, other = edit.old, edit.new
            if one and other and edit.kind == "changed" and not edit.is_weak:
                opcodes = at(self.modules[0], one).opcode, at(self.modules[1], other).opcode
                are_collectives = all(map(family, opcodes))
                is_one_of_many = are_collectives or all(opcode in PRODUCTS for opcode in opcodes)
                if is_one_of_many and (are_collectives or any(change.field == "shape" for change in edit.changes)):
                    lines = self._line(0, one), self._line(1, other)
                    # Of equal computations, which nobody opened, no pair is known.
                    is_alone = lines not in self._matched_lines and all(line in self._known_lines for line in lines)
                    edit.is_weak = lines in self._other_lines or (is_alone and are_collectives)
                    self.weak |= {one} if edit.is_weak else set()

    def _near(self, side: int, place: Place) -> Iterator[Place]:
        """The old places of the operands and users that are matched."""
        computation, position = place
        owner = self.modules[side].computations[computation]
        for near in (*owner.instructions[position].operands, *owner.users[position]):
            one = (computation, near) if side == 0 else self.mapping[1].get((computation, near))
            if one is not None:
                yield one

    def _is_loop(self, place: Place) -> bool:
        return at(self.modules[0], place).opcode in LOOPS

    def _is_apart(self, one: Place, other: Place) -> bool:
        return (self._line(0, one), self._line(1, other)) in self._left_lines or self._is_other(one, other)

    def _is_other(self, one: Place, other: Place) -> bool:
        """Whether two matched instructions share no neighbour, and their lines mostly correspond to others."""
        it = at(self.modules[0], one)
        if not it.operands or it.opcode in CARRIERS or it.opcode in CALLS or it.called:
            return False
        lines = self._line(0, one), self._line(1, other)
        return lines[0] != lines[1] and not self._share(one, other) and lines in self._other_lines

    def _line(self, side: int, place: Place) -> Line:
        module, known = self.modules[side], self._lines[side]
        frame = at(module, place).frame
        if frame not in known:
            known[frame] = own_place(module.stack(frame))
        return known[frame]

    @cached_property
    def _other_lines(self) -> set[tuple[Line, Line]]:
        """Pairs of lines of which one mostly corresponds to another line."""
        counts = {lines: opcodes.total() for lines, opcodes in self._matched_lines.items()}
        most: tuple[dict[Line, int], dict[Line, int]] = ({}, {})
        for lines, times in counts.items():
            for side, line in enumerate(lines):
                most[side][line] = max(times, most[side].get(line, 0))
        return {
            lines for lines, times in counts.items() if any(times < most[side][line] for side, line in enumerate(lines))
        }

    @cached_property
    def _known_lines(self) -> set[Line]:
        """The lines that both programs have, with the same number or another one."""
        return {line for lines in self._matched_lines for line in lines}

    @cached_property
    def _matched_lines(self) -> dict[tuple[Line, Line], Counter[str]]:
        """The opcodes of what is matched, by its lines."""
        found: dict[tuple[Line, Line], Counter[str]] = {}
        for one, other in self.mapping[0].items():
            lines = self._line(0, one), self._line(1, other)
            if None not in lines:
                found.setdefault(lines, Counter())[at(self.modules[0], one).opcode] += 1
        return found

    @cached_property
    def _left_lines(self) -> set[tuple[Line, Line]]:
        """Pairs of two lines with loops, one of which has the same operations without a match in the other program.

        If a loop is put around another one, the shortest script may make the old one the new one around it: what is of
        the line of the old one then has no match, in the new loop.
        """
        pairs = {
            (old, new): opcodes
            for (old, new), opcodes in self._matched_lines.items()
            if old != new and not opcodes.keys().isdisjoint(LOOPS)
        }
        unmatched: tuple[dict[Line, Counter[str]], ...] = (
            {new: Counter() for _, new in pairs}, {old: Counter() for old, _ in pairs}
        )  # fmt: skip
        for edit in self.edits:
            side, place = int(edit.kind == "added"), edit.new if edit.kind == "added" else edit.old
            if edit.kind in ("added", "removed") and place and (line := self._line(side, place)) in unmatched[side]:
                unmatched[side][line][at(self.modules[side], place).opcode] += 1
        return {
            (old, new)
            for (old, new), opcodes in pairs.items()
            if any(
                (opcodes & others).total() >= _MOSTLY * opcodes.total()
                for others in (unmatched[1][old], unmatched[0][new])
            )
        }

    def _share(self, one: Place, other: Place) -> bool:
        """Whether two instructions share a user, or an operand that is no number, by a match that is not weak."""
        (old, position), (new, matched) = one, other
        before, after = self.modules[0].computations[old], self.modules[1].computations[new]
        if before.root == position and after.root == matched:
            return True
        given = [n for n in before.instructions[position].operands if not self._is_number(old, n)]
        near = (given, after.instructions[matched].operands), (before.users[position], after.users[matched])
        return any(
            (old, n) not in self.weak and self.mapping[0].get((old, n)) in {(new, m) for m in theirs}
            for ours, theirs in near
            for n in ours
        )

    def _is_number(self, computation: int, position: int) -> bool:
        owner = self.modules[0].computations[computation]
        return owner.instructions[source_through(owner, position, FEEDERS)].opcode in FEEDERS


def edits_of_script(edits: Sequence[Edit], shown: Sequence[Edit]) -> list[int]:
    """For each edit that is shown the index of the script's edit, or of one in the same computation.

    Args:
        edits: of the script.
        shown: those, with the pairs that are shown as removed and added.

    Example:
        >>> script = Edit("removed", sites=((Site(0, 1, "main", "t", "tanh", ""), None),))
        >>> edits_of_script([script], [Edit("changed", sites=((Site(0, 2, "main", "s", "sine", ""), None),)), script])
        [0, 0]
    """
    known: dict[object, int] = {}
    for n, edit in enumerate(edits):
        known.setdefault((edit.op_name, edit.changes), n)  # of facts of the module, which have no place
        for pair in edit.sites:
            known.setdefault((edit.kind, *map(_place, pair)), n)
            for side, site in enumerate(pair):
                known.setdefault((side, site and site.computation), n)
    found: list[int] = []
    for edit in shown:
        keys: list[object] = [] if edit.sites else [(edit.op_name, edit.changes)]
        for pair in edit.sites[:1]:
            inside = [(side, site.computation) for side, site in enumerate(pair) if site]
            keys += [(edit.kind, *map(_place, pair)), *inside]
        found.append(next((known[key] for key in keys if key in known), 0))
    return found


def _place(site: Site | None) -> Place | None:
    return (site.computation, site.instruction) if site else None
