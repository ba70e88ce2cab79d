"""The matches of a diff, kept beside it: its script is written from them, and nothing is matched twice.

Pruned computations have no matches. Their instructions are matched line by line when a script is requested, since the
pruner found them equal; the proof verifies that, by comparing the instructions themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlodiff.differ.canonical_direction import CanonicalDiff
from hlodiff.differ.computation_matches import ProgramMatch, ProgramSide
from hlodiff.differ.operands import Elements
from hlodiff.differ.prepare import CHANNELS, channel_of
from hlodiff.hlo.fingerprint import renumbered
from hlodiff.hlo.grammar import called_names_by_attribute
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.parser import LazySequence

if TYPE_CHECKING:
    from hlodiff.differ.prune import PrunedPair
    from hlodiff.differ.script import PrintedText

Key = tuple[int, int, tuple[int, ...]]
"""Old and new computation, -1 for none, and the permutation of parameters at an operand-symmetric call."""


@dataclass(frozen=True, slots=True)
class PrintedPair:
    """Two computations that were not parsed for a diff, by their lines.

    Args:
        mapping: for each old line the new one.
        calls: by new line, the callees by attribute, as pairs of computation indices.
        parameters: how many both have.
    """

    mapping: tuple[int, ...]
    calls: tuple[tuple[int, tuple[tuple[str, tuple[tuple[int, int], ...]], ...]], ...]
    parameters: int


@dataclass(slots=True)
class BodyMatch:
    """Matches of the instructions of paired computations, old to new.

    Args:
        old, new: the programs, in the caller's direction.
        opened: matches inside computations that differ.
        counts: call sites of those.
        elements: in those, by the old place of a tuple, the new numbers of its elements by old ones.
        keeps_numbers: whether the channel numbers as read are one to one.
    """

    old: ProgramSide
    new: ProgramSide
    opened: dict[tuple[int, int], tuple[int, ...]]
    counts: dict[tuple[int, int], int]
    elements: dict[tuple[int, int], dict[int, Elements]]
    keeps_numbers: bool = False
    _known: dict[Key, tuple[int, ...]] = field(default_factory=dict)

    @staticmethod
    def of(canonical: CanonicalDiff, found: ProgramMatch, keeps_numbers: bool) -> BodyMatch:
        """The matches in the caller's direction.

        Args:
            canonical: both sides, and whether they are reversed.
            found: what corresponds, without the calls that moved.
            keeps_numbers: whether the channel numbers as read are one to one.
        """
        opened: dict[tuple[int, int], tuple[int, ...]] = {}
        counts: dict[tuple[int, int], int] = {}
        elements: dict[tuple[int, int], dict[int, Elements]] = {}
        for pair in found.pairs:
            key = (pair.new, pair.old) if canonical.is_reversed else (pair.old, pair.new)
            counts[key] = pair.count
            if pair.pairing is not None:
                opened[key] = tuple(pair.pairing.new if canonical.is_reversed else pair.pairing.old)
                elements[key] = pair.elements
                if canonical.is_reversed:
                    there = pair.pairing.old
                    elements[key] = {there[n]: {b: a for a, b in which.items()} for n, which in pair.elements.items()}
        alone = (found.added, found.removed) if canonical.is_reversed else (found.removed, found.added)
        counts |= {(index, -1): count for index, count in alone[0].items()}
        counts |= {(-1, index): count for index, count in alone[1].items()}
        sides = (canonical.new, canonical.old) if canonical.is_reversed else (canonical.old, canonical.new)
        return BodyMatch(*sides, opened, counts, elements, keeps_numbers)

    def mapping(self, key: Key) -> tuple[int, ...]:
        """For each old instruction the new one, -1 for none."""
        if key not in self._known:
            self._known[key] = self._mapping(key)
        return self._known[key]

    def _mapping(self, key: Key) -> tuple[int, ...]:
        old, new, order = key
        if old < 0:
            return ()
        size = len(self.old.module.computations[old].instructions)
        if new < 0 or (not order and (old, new) not in self.opened and not self.are_equal(old, new)):
            return (-1,) * size
        if not order and (old, new) in self.opened:
            return self.opened[old, new]
        ours = self.old.contents[old].order
        if order:
            ours = renumbered(self.old.module.computations[old], self.old.hashes, order).order
        mapping = [-1] * size
        for one, other in zip(ours, self.new.contents[new].order, strict=True):
            mapping[one] = other
        return tuple(mapping)

    def count(self, key: Key) -> int:
        """How many call sites lead to two computations."""
        return self.counts.get(key[:2], 1)

    def is_pruned(self, key: Key) -> bool:
        """True if neither of the two was parsed for the diff."""
        return False

    def printed(self, key: Key) -> PrintedPair | None:
        """The lines of two computations that were not parsed for the diff; None for all others."""
        return None

    def texts(self) -> tuple[PrintedText, PrintedText] | None:
        """Both programs as printed, if not everything was parsed."""
        return None

    def renumbered(self, key: Key, mapping: Sequence[int]) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Tuple elements whose numbers changed, by the new places of the tuples."""
        known = {} if key[2] else self.elements.get(key[:2], {})
        places = ((mapping[old], tuple(sorted(which.items()))) for old, which in known.items())
        return tuple((place, which) for place, which in places if place >= 0)

    def are_equal(self, old: int, new: int) -> bool:
        """True if two computations have the same content."""
        return self.old.hashes[old] == self.new.hashes[new]

    def is_operand_symmetric(self, old: int, order: Sequence[int]) -> bool:
        """True if a computation is the same with its parameters in that order."""
        owner = self.old.module.computations[old]
        return len(order) == len(owner.parameters()) and (
            renumbered(owner, self.old.hashes, order).hash == self.old.hashes[old]
        )


@dataclass(slots=True)
class WholeMatch:
    """The matches of a pruned pair, by places in the whole programs; same interface as `BodyMatch`.

    Args:
        pruned: the pair.
        opened: the matches of its unpruned part.
        programs: both as they were compared, whole.
    """

    pruned: PrunedPair
    opened: BodyMatch
    programs: tuple[Module, Module]
    _known: dict[Key, tuple[int, ...]] = field(default_factory=dict)

    def _here(self, key: Key) -> Key | None:
        """The same key in the pruned programs; None if a computation was pruned."""
        places = tuple(-1 if index < 0 else self.pruned.opened[side].get(index) for side, index in enumerate(key[:2]))
        return None if places[0] is None or places[1] is None else (places[0], places[1], key[2])

    def mapping(self, key: Key) -> tuple[int, ...]:
        """For each old instruction the new one, -1 for none."""
        if key not in self._known:
            self._known[key] = self._mapping(key)
        return self._known[key]

    def _mapping(self, key: Key) -> tuple[int, ...]:
        here = self._here(key)
        if key[0] < 0 or key[1] < 0:
            return (-1,) * (len(self.programs[0].computations[key[0]].instructions) if key[0] >= 0 else 0)
        if here is None:
            return self._line_by_line(key)
        found = self.opened.mapping(here)
        lines = self.pruned.lines_of(0, key[0]), self.pruned.lines_of(1, key[1])
        if lines == (None, None):
            return found
        is_skeleton = here[0] in self.pruned.sides[0].lines
        mapping = list(self._line_by_line(key)) if is_skeleton else [-1] * len(found)
        for n, matched in enumerate(found):
            there = lines[1][matched] if lines[1] and matched >= 0 else matched
            mapping[lines[0][n] if lines[0] else n] = there
        return tuple(mapping)

    def _line_by_line(self, key: Key) -> tuple[int, ...]:
        size = len(self.programs[0].computations[key[0]].instructions)
        pairs = self.pruned.matching_lines(key[0], key[1])
        if pairs is None:
            others = len(self.programs[1].computations[key[1]].instructions)
            return tuple(n if n < others else -1 for n in range(size))
        mapping = dict(pairs)
        return tuple(mapping[n] for n in range(size))

    def count(self, key: Key) -> int:
        """How many call sites lead to two computations."""
        here = self._here(key)
        return self.opened.count(here) if here else 1

    def is_pruned(self, key: Key) -> bool:
        """True if neither of the two was parsed for the diff, or only as a shared copy: no edit is in them."""
        here = self._here(key)
        return here is None or all(n in self.pruned.sides[side].shared for side, n in enumerate(here[:2]))

    def printed(self, key: Key) -> PrintedPair | None:
        """The lines of two computations that were not parsed for the diff; None for all others."""
        if key[0] < 0 or key[1] < 0 or key[2] or not self.is_pruned(key):
            return None
        found = self.pruned.matching_lines(key[0], key[1])
        if found is None:
            return None
        text = self.pruned.body_text(0, key[0])
        calls = []
        calling = found if "=%" in text or "={%" in text else []
        lines = (self.pruned.lines(0, key[0]), self.pruned.lines(1, key[1])) if calling else ([], [])
        if calling and not all(lines):
            return None  # both have a line that XLA does not print, possibly damaged
        for one, other in calling:
            attributes = lines[0][one][3]
            if "%" in attributes:
                olds, news = (
                    called_names_by_attribute(side[n][3]) for side, n in zip(lines, (one, other), strict=True)
                )
                groups = [
                    (name, tuple(zip(self._indices(0, names), self._indices(1, news.get(name, ())), strict=False)))
                    for name, names in olds.items()
                ]
                if any(-1 in pair for _, pairs in groups for pair in pairs):
                    return None  # not the name of a computation
                if groups:
                    calls.append((other, tuple(groups)))
        return PrintedPair(tuple(other for _, other in found), tuple(calls), text.count(" parameter("))

    def _indices(self, side: int, names: Iterable[str]) -> list[int]:
        return [self.pruned.index[side].get(name, -1) for name in names]

    def texts(self) -> tuple[PrintedText, PrintedText] | None:
        """Both programs as printed, if not everything was parsed."""
        from hlodiff.differ.script import PrintedText

        programs = (side.program for side in self.pruned.fingerprints)
        old, new = (PrintedText(program.text, program.spans) for program in programs)
        return old, new

    def renumbered(self, key: Key, mapping: Sequence[int]) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Tuple elements whose numbers changed, by the new places of the tuples."""
        here = self._here(key)
        lines = self.pruned.lines_of(0, key[0]) if here and key[0] >= 0 else None
        return self.opened.renumbered(here, [mapping[line] for line in lines] if lines else mapping) if here else ()

    def are_equal(self, old: int, new: int) -> bool:
        """True if two computations have the same content."""
        here = self._here((old, new, ()))
        if here is not None:
            return self.opened.are_equal(here[0], here[1])
        keys = self.pruned.key(0, old), self.pruned.key(1, new)
        return keys[0] is not None and keys[0] == keys[1]

    def is_operand_symmetric(self, old: int, order: Sequence[int]) -> bool:
        """True if a computation is the same with its parameters in that order; False for pruned ones."""
        place = self.pruned.opened[0].get(old)
        return (
            place is not None
            and place not in self.pruned.sides[0].lines
            and self.opened.is_operand_symmetric(place, order)
        )


@dataclass(frozen=True, slots=True)
class KeptMatches:
    """What a diff keeps of its matching.

    Args:
        whole: the two programs of the diff.
        compared: the same, or what pruning left of them, without noise.
        found: the matches of `compared`.
        pruned: how they were pruned, None if they were not.
    """

    whole: tuple[Module, Module]
    compared: tuple[Module, Module]
    found: BodyMatch
    pruned: PrunedPair | None

    def programs(self) -> tuple[Module, Module]:
        """Both whole programs: opened computations without noise, as compared, and pruned ones as read."""
        if self.pruned is None:
            if not self.found.keeps_numbers:
                return self.compared
            old, new = map(_with_read_channels, self.compared, self.whole)
            return old, new
        return _whole_program(self.pruned, 0, self.compared[0]), _whole_program(self.pruned, 1, self.compared[1])

    def matches(self, programs: tuple[Module, Module]) -> BodyMatch | WholeMatch:
        """The matches, by places in `programs`."""
        return WholeMatch(self.pruned, self.found, programs) if self.pruned else self.found


def _with_read_channels(compared: Module, whole: Module) -> Module:
    """A program as it was compared, with the channel numbers as read."""

    def computation(index: int) -> Computation:
        owner = compared.computations[index]
        if not any(map(channel_of, owner.instructions)):
            return owner
        pairs = zip(owner.instructions, whole.computations[index].instructions, strict=True)
        return replace(owner, instructions=tuple(_with_read_channel(*pair) for pair in pairs))

    return replace(compared, computations=LazySequence(len(compared.computations), computation))


def _with_read_channel(it: Instruction, read: Instruction) -> Instruction:
    if not channel_of(it):
        return it
    return replace(
        it, attributes=tuple((k, (read.attribute(k) or v) if k in CHANNELS else v) for k, v in it.attributes)
    )


def _whole_program(pruned: PrunedPair, side: int, compared: Module) -> Module:
    whole = pruned.whole[side]

    def computation(index: int) -> Computation:
        read, here = whole.computations[index], pruned.opened[side].get(index)
        return read if here is None else _whole_computation(pruned, side, index, read, compared.computations[here])

    return replace(compared, computations=LazySequence(len(whole.computations), computation), entry=whole.entry)


def _whole_computation(pruned: PrunedPair, side: int, index: int, read: Computation, body: Computation) -> Computation:
    """A computation as it was compared, with its pruned lines and calls and its channels as printed.

    Channels are renumbered for the comparison; their printed numbers also match those of pruned computations.
    """
    lines = pruned.lines_of(side, index)
    if lines is None and not any(it.calls or channel_of(it) for it in body.instructions):
        return body
    instructions = list(read.instructions if lines else body.instructions)
    for n, it in enumerate(body.instructions):
        place = lines[n] if lines else n
        if pruned.is_placeholder(it):
            continue
        if lines:
            before = tuple(lines[o] for o in it.control_predecessors)
            it = replace(it, operands=tuple(lines[o] for o in it.operands), control_predecessors=before)
        printed = read.instructions[place]
        it = _with_read_channel(it, printed)
        instructions[place] = _with_calls(it, printed, pruned.sides[side].positions) if it.calls else it
    return replace(body, instructions=tuple(instructions), root=lines[body.root] if lines else body.root)


def _with_calls(it: Instruction, read: Instruction, positions: dict[int, int]) -> Instruction:
    """Calls by the indices of the whole program; equal computations have one index in a pruned one."""
    left = list(read.called)

    def real(callee: int) -> int:
        return left.pop(next(n for n, index in enumerate(left) if positions[index] == callee))

    return replace(it, calls=tuple((name, tuple(map(real, group))) for name, group in it.calls))
