"""Pruning: a computation in both texts, called equally often on both sides, becomes one placeholder instruction.

Why it is sound: equal text fingerprints mean equal computations apart from names and order, and a placeholder
identifies its computation, so calls of equal ones are equal and calls of different ones differ. If an edit touches a
call, it may depend on what is inside: `expand` opens that, and the pair is compared again. The proof does not rest on
any of it (`verify`). GumTree's top-down phase matches equal subtrees in the same way, by hash and first; here without
parsing.

A computation in both texts, but in one more often than in the other (a layer of which one copy was edited), is read
once on either side: one copy is shared by all calls of its equals, as in a program that stores equal computations once.
No edit may be in a shared copy: copies that were edited, added, removed or have a different match are read separately,
and the pair is compared again. So an edit has the names and lines of its own copy, and the edits are those of the two
whole programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hlodiff.differ.computation_matches import matched_calls
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.prepare import ORDER
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.hlo.grammar import (
    LineParts,
    Span,
    called_names,
    called_names_by_attribute,
    cuda_sign,
    has_memory_space,
    has_tiled_layout,
    operand_references,
    renamed_calls,
)
from hlodiff.hlo.model import CONDITIONALS, Computation, Instruction, Layout, Module, Shape, at, is_embedded
from hlodiff.hlo.parser import LazyComputations
from hlodiff.hlo.text_fingerprint import TextFingerprint, TextFingerprinter, same_names
from hlodiff.hlo.traversal import preorder

PLACEHOLDER = "unopened"
# If more than this share of both programs has to be read, pruning gains little, and such programs are often compared
# two or three times until everything that an edit may depend on is read.
_MOST_READ = 0.8


@dataclass(frozen=True, slots=True)
class CallSkeleton:
    """Two matched computations, reduced to pairs of lines that are kept.

    Args:
        old, new: their names.
        whole: lines that are kept as they are.
        placeholders: lines that are kept without operands, in an order that does not depend on which side is the old
            one.
        calls: pairs of names of different computations that the two call.
    """

    old: str
    new: str
    whole: tuple[tuple[int, int], ...]
    placeholders: tuple[tuple[int, int], ...]
    calls: tuple[tuple[str, str], ...]

    def lines(self, side: int) -> tuple[int, ...]:
        """The kept lines of one side, ascending."""
        return tuple(sorted(pair[side] for pair in (*self.whole, *self.placeholders)))


def find_call_skeletons(
    fingerprints: Sequence[TextFingerprint],
    entries: Sequence[str],
    opened: Sequence[Mapping[str, Sequence[str]]],
    ignores_counts: bool,
) -> list[CallSkeleton]:
    """Callers, from the entries downwards, that are equal except for their callees.

    Args:
        fingerprints: both sides, made with the same numbers.
        entries: names of the entries.
        opened: for each side the unpruned computations, and their callees.
        ignores_counts: whether calls of equal computations are pruned although one side has more of these.
    """
    fingerprinter = TextFingerprinter({}, False)
    found: dict[tuple[str, str], CallSkeleton] = {}

    def calls_of(pair: tuple[str, str]) -> Sequence[tuple[str, str]]:
        lines = fingerprinter.matching_lines(fingerprints[0], fingerprints[1], *pair)
        if lines is None:
            return ()
        # Callees of other opened computations: whether they were added, removed or kept depends on all calls.
        elsewhere = {
            fingerprint.keys[callee]
            for fingerprint, own, each in zip(fingerprints, pair, opened, strict=True)
            for name, callees in each.items()
            if name != own
            for callee in callees
        }
        if not ignores_counts:
            # For a computation that is opened although both programs have it, all calls matter.
            elsewhere |= {
                fingerprint.keys[name] for fingerprint, each in zip(fingerprints, opened, strict=True) for name in each
            }
        found[pair] = _call_skeleton(fingerprints, pair, lines, elsewhere)
        return found[pair].calls

    preorder([(entries[0], entries[1])], calls_of)
    return _called_by_no_other(found, opened, (entries[0], entries[1]))


def _call_skeleton(
    fingerprints: Sequence[TextFingerprint],
    pair: tuple[str, str],
    lines: Sequence[tuple[int, int]],
    elsewhere: set[int | None],
) -> CallSkeleton:
    ours, theirs = (fingerprint.lines(name) for fingerprint, name in zip(fingerprints, pair, strict=True))
    matches = dict(lines)
    calls: list[tuple[str, str]] = []
    kept: dict[str, None] = {}
    for n, row in enumerate(ours):
        for a, b in _calls_of_line(row, theirs[matches[n]]):
            # A callee may be missing in a damaged program: the line is kept, and rejected when parsed.
            keys = fingerprints[0].keys.get(a), fingerprints[1].keys.get(b)
            if keys[0] is None or keys[0] != keys[1] or keys[0] in elsewhere:
                kept[row[0]] = None
            if (keys[0] is None or keys[0] != keys[1]) and a in fingerprints[0].keys and b in fingerprints[1].keys:
                calls.append((a, b))
    operands = [operand_references(row) for row in ours]
    whole = {n for n, row in enumerate(ours) if row[0] in kept or not kept.keys().isdisjoint(operands[n])}
    place = {row[0]: n for n, row in enumerate(ours)}
    root = fingerprints[0].root(pair[0])
    placeholders = {place[name] for n in whole for name in operands[n]} | {place[root]}
    placeholders |= {n for n, row in enumerate(ours) if row[1].endswith(" parameter")}
    return CallSkeleton(
        *pair,
        tuple((n, matches[n]) for n in sorted(whole)),
        tuple(
            sorted(
                ((n, matches[n]) for n in placeholders - whole),
                key=lambda pair: sorted((ours[pair[0]], theirs[pair[1]])),
            )
        ),
        tuple(calls),
    )


def _calls_of_line(ours: LineParts, theirs: LineParts) -> list[tuple[str, str]]:
    """Pairs of computations that two calls lead to, by attribute and position."""
    if "%" not in ours[3]:
        return []
    names, others = called_names(ours[3]), called_names(theirs[3])
    if len(names) == len(others) == 1:
        return [(names[0], others[0])]
    before, after = (called_names_by_attribute(row[3]) for row in (ours, theirs))
    return [pair for name, names in before.items() for pair in zip(names, after.get(name, ()), strict=False)]


def _called_by_no_other(
    found: dict[tuple[str, str], CallSkeleton], opened: Sequence[Mapping[str, Sequence[str]]], entries: tuple[str, str]
) -> list[CallSkeleton]:
    """Skeletons reached from skeletons only, each with one match; all others are opened in full."""
    while True:
        kept = [{pair[side] for pair in found} for side in (0, 1)]
        others = [{c for name, names in opened[n].items() if name not in kept[n] for c in names} for n in (0, 1)]
        mapping = [_mapping(found.values(), side) for side in (0, 1)]
        wrong = [
            pair
            for pair in found
            if any(pair[n] in others[n] or len(mapping[n].get(pair[n], {})) > 1 for n in (0, 1))
            or (pair != entries and not all(pair[n] in mapping[n] for n in (0, 1)))
        ]
        if not wrong:
            return list(found.values())
        for pair in wrong:
            del found[pair]


def _mapping(found: Iterable[CallSkeleton], side: int) -> dict[str, set[str]]:
    mapping: dict[str, set[str]] = {}
    for skeleton in found:
        for call in skeleton.calls:
            mapping.setdefault(call[side], set()).add(call[1 - side])
    return mapping


_NOTHING = Shape("token", is_array=False)
_KnownSites = dict[tuple[int, int], Site]
"""Sites in the whole programs, by side and by the identity of the site: those reported are mostly those of edits."""


@dataclass(frozen=True, slots=True)
class PrunedSide:
    """One program without the computations that the other program has too.

    Args:
        module: the pruned program.
        places: for each computation of `module`, its index in the whole program.
        lines: for each call skeleton, by its index in `module`, the positions of its instructions in the whole program.
        positions: for each reached computation of the whole program, the index in `module` of it or its representative.
        read: the computations of `module` before their calls were redirected to representatives: `called` holds indices
            of the whole program.
        shared: for each shared computation of `module`, all computations of the whole program that it represents.
    """

    module: Module
    places: tuple[int, ...]
    lines: Mapping[int, Sequence[int]]
    positions: dict[int, int]
    read: tuple[Computation, ...]
    shared: Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class PrunedPair:
    """Two programs without their equal computations.

    Args:
        whole, fingerprints: of both programs.
        pruned_keys, expanded: keys of pruned computations, and of those kept because something depends on them.
        sides: both pruned programs.
        apart: sides and names of computations that are not shared.
        ignores_counts: whether calls of equal computations were pruned although one side has more of these.
        skeletons: callers that are equal except for their callees.
    """

    whole: tuple[Module, Module]
    fingerprints: tuple[TextFingerprint, TextFingerprint]
    pruned_keys: frozenset[int]
    expanded: frozenset[int]
    sides: tuple[PrunedSide, PrunedSide]
    apart: frozenset[tuple[int, str]]
    ignores_counts: bool
    skeletons: tuple[CallSkeleton, ...]

    @property
    def modules(self) -> tuple[Module, Module]:
        """Both programs, as far as they were read."""
        return self.sides[0].module, self.sides[1].module

    def looked_at(self) -> tuple[set[str], set[str]]:
        """For either side names of computations in which damage was seen or is seen elsewhere.

        They were parsed, or are equal but for their calls to one of the other side that is not named here.
        """
        names = [
            {self.name(n, place) for place, here in self.opened[n].items() if here not in self.sides[n].lines}
            for n in (0, 1)
        ]
        for each in self.skeletons:
            lengths = [len(it.body(name)) for it, name in zip(self.fingerprints, (each.old, each.new), strict=True)]
            if lengths[0] < lengths[1]:
                names[1].add(each.new)
            else:
                names[0].add(each.old)
        return names[0], names[1]

    @cached_property
    def opened(self) -> tuple[dict[int, int], dict[int, int]]:
        """For either side, the index here of each unpruned computation of the whole."""
        return self._opened(0), self._opened(1)

    def _opened(self, side: int) -> dict[int, int]:
        computations = self.sides[side].module.computations
        found = {
            place: n
            for n, place in enumerate(self.sides[side].places)
            if len(computations[n].instructions) > 1 or not is_pruned(computations[n])
        }
        return found | {place: n for n, places in self.sides[side].shared.items() for place in places}

    def shared_below(self, side: int, index: int) -> list[int]:
        """A computation of the whole and its transitive callees that are shared here, by index in the whole."""

        def called(caller: int) -> list[int]:
            found = [self.index[side].get(name, -1) for name in called_names(self.body_text(side, caller))]
            return [callee for callee in found if self.sides[side].positions.get(callee) in self.sides[side].shared]

        return preorder([index], called)

    @property
    def copies(self) -> tuple[dict[int, int], dict[int, int]]:
        """For either side, how many computations of the whole each shared one represents."""
        old, new = ({n: len(places) for n, places in side.shared.items()} for side in self.sides)
        return old, new

    def lines_of(self, side: int, index: int) -> Sequence[int] | None:
        """Which instruction of a computation of the whole each of those is that were read for it; None for the same."""
        here = self.opened[side][index]
        if here not in self.sides[side].shared or index == self.sides[side].places[here]:
            return self.sides[side].lines.get(here)
        name, fingerprint = self.name(side, index), self.fingerprints[side]
        pairs = fingerprint.equal_lines(self.name(side, self.sides[side].places[here]), fingerprint, name)
        return [b for _, b in pairs] if pairs and any(a != b for a, b in pairs) else None

    @cached_property
    def index(self) -> tuple[dict[str, int], dict[str, int]]:
        """For either side, indices in the whole by name."""
        old, new = ({span.name: n for n, span in enumerate(it.program.spans)} for it in self.fingerprints)
        return old, new

    def lines(self, side: int, index: int) -> list[LineParts]:
        """The parts of the lines of a computation of the whole."""
        return self.fingerprints[side].lines(self.name(side, index))

    def body_text(self, side: int, index: int) -> str:
        """The lines of a computation of the whole."""
        return self.fingerprints[side].body(self.name(side, index))

    def key(self, side: int, index: int) -> int | None:
        """The pruner's key of a computation of the whole."""
        return self.fingerprints[side].keys[self.name(side, index)]

    def matching_lines(self, old: int, new: int) -> list[tuple[int, int]] | None:
        """Pairs of equal lines of two computations of the whole; None if they are not alike."""
        names = self.name(0, old), self.name(1, new)
        bodies = [fingerprint.body(name) for fingerprint, name in zip(self.fingerprints, names, strict=True)]
        if bodies[0] == bodies[1]:
            return [(n, n) for n in range(self.fingerprints[0].spans[names[0]].lines)]
        keys = self.key(0, old), self.key(1, new)
        if keys[0] is not None and keys[0] == keys[1]:
            return self.fingerprints[0].equal_lines(names[0], self.fingerprints[1], names[1])
        return TextFingerprinter({}, False).matching_lines(*self.fingerprints, *names)

    def name(self, side: int, index: int) -> str:
        """The name of a computation of the whole."""
        return self.fingerprints[side].program.spans[index].name

    @staticmethod
    def is_placeholder(it: Instruction) -> bool:
        """Whether an instruction is a placeholder for a pruned computation."""
        return it.opcode == PLACEHOLDER

    def wider(self, keys: Iterable[int], apart: Iterable[tuple[int, str]]) -> PrunedPair | None:
        """The same pair with these keys opened, and the computations `apart` not shared.

        None if hardly anything would be pruned.
        """
        found = _prune(self.whole, self.fingerprints, self.expanded.union(keys), self.apart.union(apart))
        return found if found.is_worth_it() else None

    def is_worth_it(self) -> bool:
        """Whether a good part of both programs is pruned; otherwise everything is read and compared once."""
        read = sum(module.instruction_count() for module in self.modules)
        return read <= _MOST_READ * sum(span.lines for each in self.fingerprints for span in each.program.spans)

    def body(self, side: int, index: int) -> Computation:
        """A computation of a pruned module; the real one for a placeholder."""
        it = self.sides[side].module.computations[index]
        is_placeholder = it.instructions[it.root].opcode == PLACEHOLDER and len(it.instructions) == 1
        return self.whole[side].computations[self.sides[side].places[index]] if is_placeholder else it

    def widened(self, found: ModuleDiff) -> ModuleDiff:
        """The same difference with places in the whole programs."""
        known: _KnownSites = {}
        return replace(
            found,
            edits=self._edits(found.edits, known),
            reported=self._edits(found.reported, known),
            schedule=self._edits(found.schedule, known),
            tuning=self._edits(found.tuning, known),
            fusions=tuple(
                replace(
                    change,
                    old=tuple(self._here(site, 0) for site in change.old),
                    new=tuple(self._here(site, 1) for site in change.new),
                )
                for change in found.fusions
            ),
        )

    def _edits(self, edits: tuple[Edit, ...], known: _KnownSites) -> tuple[Edit, ...]:
        return tuple(
            replace(
                edit, sites=tuple([(self._site(old, 0, known), self._site(new, 1, known)) for old, new in edit.sites])
            )
            for edit in edits
        )

    def _site(self, site: Site | None, side: int, known: _KnownSites) -> Site | None:
        if site is None:
            return None
        found = known.get((side, id(site)))
        if found is None:
            found = known[side, id(site)] = self._here(site, side)
        return found

    def _here(self, site: Site, side: int) -> Site:
        place = self.sides[side].places[site.computation]
        lines = self.sides[side].lines.get(site.computation)
        position = lines[site.instruction] if lines else site.instruction
        stand_ins = site.instruction_in(self.sides[side].module).called
        whole = self.whole[side].computations
        if not stand_ins or not isinstance(whole, LazyComputations):
            return Site(place, position, site.computation_name, site.name, site.opcode, site.text)
        called = whole[place].instructions[position].called
        # The text with the names of the real callees, not of the equal computations that represent them.
        ours = [self.sides[side].module.computations[n].name for n in stand_ins]
        names = dict(zip(ours, [whole.spans[n].name for n in called], strict=True))
        return replace(site, computation=place, instruction=position, text=renamed_calls(site.text, names))


def prune(old: Module, new: Module) -> PrunedPair | None:
    """Leave out the computations that both programs share.

    None if the programs were not read from text in XLA's own form, or hardly anything would be pruned.

    Args:
        old, new: two compiled programs.

    Raises:
        ReadError: a text is damaged, even in a computation that both programs have.
    """
    if not isinstance(old.computations, LazyComputations) or not isinstance(new.computations, LazyComputations):
        return None
    scheduled = all(module.attribute("is_scheduled") == "true" for module in (old, new))
    same = same_names(old.computations, new.computations)
    fingerprinter = TextFingerprinter({}, scheduled)
    first = fingerprinter.fingerprint(old.computations, old.entry, same)
    fingerprints = first, fingerprinter.fingerprint(new.computations, new.entry, same)
    found = _prune((old, new), fingerprints, frozenset(), ignores_counts=True)
    if not found.is_worth_it():
        return None
    if fingerprinter.are_damaged(fingerprints, found.looked_at()):
        for module in (old, new):
            tuple(module.computations)  # the parser reports what is wrong, and where
        return None
    return found


def _prune(
    whole: tuple[Module, Module],
    fingerprints: tuple[TextFingerprint, TextFingerprint],
    but: frozenset[int],
    apart: frozenset[tuple[int, str]] = frozenset(),
    ignores_counts: bool = False,
) -> PrunedPair:
    entries = [s.program.spans[module.entry].name for s, module in zip(fingerprints, whole, strict=True)]
    pruned_keys, opened = _prunable(fingerprints, entries, but)
    # A number for each pruned key that does not depend on which program is the old one.
    texts: dict[int, str] = {}
    for fingerprint in fingerprints:
        for name, key in fingerprint.keys.items():
            if key is not None and key in pruned_keys:
                text = fingerprint.body(name)
                texts[key] = min(texts.get(key, text), text)
    ranks = {key: rank for rank, key in enumerate(sorted(texts, key=lambda key: texts[key]))}
    skeletons = find_call_skeletons(fingerprints, entries, opened, ignores_counts)
    has_spaces = _has_spaces(fingerprints, opened)
    # If the callers are equal except for their calls, those calls show which copy was edited.
    named = {(side, name) for each in skeletons for call in each.calls for side, name in enumerate(call)}
    apart |= named | {(side, name) for each in skeletons for side, name in enumerate((each.old, each.new))}
    first, second = (
        _pruned_side(
            module,
            fingerprints,
            side,
            opened[side],
            skeletons,
            ranks,
            has_spaces,
            _shared(fingerprints, opened, side, apart),
        )
        for side, module in enumerate(whole)
    )
    return PrunedPair(
        whole, fingerprints, frozenset(pruned_keys), but, (first, second), apart, ignores_counts, tuple(skeletons)
    )


def _shared(
    fingerprints: Sequence[TextFingerprint],
    opened: Sequence[Mapping[str, object]],
    side: int,
    apart: Container[tuple[int, str]],
) -> dict[str, str]:
    """For each computation of one side that the other side has too, the one to read: the first of its equals."""
    theirs = {fingerprints[1 - side].keys[name] for name in opened[1 - side]} - {None}
    keys = fingerprints[side].keys
    first: dict[int | None, str] = {}
    return {
        name: first.setdefault(keys[name], name)
        for name in opened[side]
        if keys[name] in theirs and (side, name) not in apart
    }


def _prunable(
    fingerprints: Sequence[TextFingerprint], entries: Sequence[str], but: Container[int]
) -> tuple[set[int], list[dict[str, list[str]]]]:
    """Keys of pruned computations, and for either side the names of opened ones, with their callees.

    A computation that one side calls more often than the other may have been added, removed or edited at one of its
    calls.
    """
    pruned_keys = {key for key in fingerprints[0].keys.values() if key is not None and key not in but}
    pruned_keys &= {key for key in fingerprints[1].keys.values() if key is not None}
    callees: list[dict[str, list[str]]] = [{}, {}]
    leaves: set[int] = set()
    while True:
        opened = [_reached(*each, leaves, pruned_keys) for each in zip(fingerprints, entries, callees, strict=True)]
        counts = [_calls(*each, pruned_keys) for each in zip(fingerprints, opened, callees, strict=True)]
        uneven = {key for key in counts[0] | counts[1] if counts[0][key] != counts[1][key]}
        if not uneven:
            return pruned_keys, [
                {name: each[name] for name in some} for some, each in zip(opened, callees, strict=True)
            ]
        pruned_keys -= uneven


def _reached(
    fingerprint: TextFingerprint, entry: str, callees: dict[str, list[str]], leaves: set[int], pruned_keys: set[int]
) -> list[str]:
    """Opened computations of one side; extends `callees` and `leaves` (keys of those without calls)."""

    def opened(name: str) -> Iterator[str]:
        key = fingerprint.keys[name]
        if name not in callees:
            names = called_names(fingerprint.body(name)) if key not in leaves else ()
            callees[name] = [callee for callee in names if callee in fingerprint.spans]
            if key is not None and not names:
                leaves.add(key)
        return (callee for callee in callees[name] if fingerprint.keys[callee] not in pruned_keys)

    return preorder([entry], opened)


def _calls(
    fingerprint: TextFingerprint, opened: Sequence[str], callees: Mapping[str, list[str]], pruned_keys: set[int]
) -> Counter[int]:
    keys = (fingerprint.keys[callee] for name in opened for callee in callees[name])
    return Counter(key for key in keys if key is not None and key in pruned_keys)


def _pruned_side(
    module: Module,
    fingerprints: Sequence[TextFingerprint],
    side: int,
    opened: Mapping[str, Sequence[str]],
    skeletons: Sequence[CallSkeleton],
    ranks: Mapping[int, int],
    is_marked: bool,
    shared: Mapping[str, str],
) -> PrunedSide:
    fingerprint = fingerprints[side]
    index = {span.name: n for n, span in enumerate(fingerprint.program.spans)}
    skeletons_by_index = {index[(each.old, each.new)[side]]: each for each in skeletons}
    computations: dict[int, Computation] = {}
    stands_for: dict[int, int] = {}
    stand_ins_by_key: dict[int, int] = {}  # key -> the computation that represents all its equals
    worklist = [module.entry]
    seen = {module.entry}
    for n in worklist:
        name = fingerprint.program.spans[n].name
        key = fingerprint.keys[name]
        if shared.get(name, name) != name:
            stands_for[n] = index[shared[name]]
            further = [c for c in (stands_for[n], *(index[callee] for callee in opened[name])) if c not in seen]
            worklist += further
            seen.update(further)
        elif name in opened:
            each = skeletons_by_index.get(n)
            if each is None:
                body = module.computations[n]
            else:
                placeholders = {pair[side]: rank for rank, pair in enumerate(each.placeholders)}
                lines = fingerprint.kept_lines(name, each.lines(side), placeholders, PLACEHOLDER)
                body = fingerprint.program.read_lines(n, lines)
            further = [c for c in dict.fromkeys(c for it in body.instructions for c in it.called) if c not in seen]
            worklist += further
            seen.update(further)
            computations[n], stands_for[n] = body, n
        elif key is not None:
            stands_for[n] = stand_ins_by_key.setdefault(key, n)
            stand_in = fingerprint.program.spans[stands_for[n]].name
            placeholder = Instruction(stand_in, PLACEHOLDER, _NOTHING, literal=str(ranks[key]))
            computations[stands_for[n]] = Computation(stand_in, (placeholder,), 0)
    kept = sorted(computations)
    new = {n: at for at, n in enumerate(kept)}
    position = {n: new[stand] for n, stand in stands_for.items()}
    copies: dict[int, list[int]] = {}
    for n, stand in stands_for.items():
        if fingerprint.program.spans[stand].name in shared:
            copies.setdefault(new[stand], []).append(n)
    platform = _platform(fingerprint.program.text) if is_marked else ()
    bodies = (*(_with_callees(computations[n], position) for n in kept), *platform)
    pruned = Module(module.name, module.stage, bodies, position[module.entry], module.attributes, module.frames)
    kept_lines: dict[int, Sequence[int]] = {
        new[n]: each.lines(side) for n, each in skeletons_by_index.items() if n in new
    }
    return PrunedSide(
        pruned,
        tuple(kept),
        kept_lines,
        position,
        tuple(computations[n] for n in kept),
        {n: sorted(places) for n, places in copies.items() if len(places) > 1},
    )


def _has_spaces(fingerprints: Sequence[TextFingerprint], opened: Sequence[Iterable[str]]) -> bool:
    """Whether anything opened is in a memory space, the only thing whose name depends on the backend.

    Of equal computations one is enough.
    """
    named: set[int] = set()
    for fingerprint, names in zip(fingerprints, opened, strict=True):
        for name in names:
            key = fingerprint.keys[name]
            if key not in named and has_memory_space(fingerprint.program.text, fingerprint.spans[name]):
                return True
            if key is not None:
                named.add(key)
    return False


def _platform(text: str) -> tuple[Computation, ...]:
    """An uncalled computation that identifies the backend if only pruned ones would; it is never compared."""
    if has_tiled_layout(text):
        shape = Shape("f32", (8, 128), Layout((1, 0), "(8,128)"))
        return (Computation(PLACEHOLDER, (Instruction(PLACEHOLDER, PLACEHOLDER, shape),), 0),)
    sign = cuda_sign(text)
    platform = Instruction(PLACEHOLDER, PLACEHOLDER, _NOTHING, attributes=(("custom_call_target", sign),))
    return (Computation(PLACEHOLDER, (platform,), 0),) if sign else ()


def _with_callees(computation: Computation, moved: Mapping[int, int]) -> Computation:
    if not any(it.calls for it in computation.instructions):
        return computation
    instructions = tuple(
        replace(it, calls=tuple((name, tuple(moved[c] for c in group)) for name, group in it.calls)) if it.calls else it
        for it in computation.instructions
    )
    return replace(computation, instructions=instructions)


def is_pruned(computation: Computation) -> bool:
    first = computation.instructions[0]
    return first.opcode == PLACEHOLDER and not first.attributes


# --- What must be read after all: an edit is in a shared copy or touches a call that needs pruned ones.
#
# Pruning explains why that is enough. The pair is compared again with these parts read.

_Pair = tuple[int, int]
_Opened = Mapping[_Pair, Sequence[int]]


def expand(
    pruned: PrunedPair, edits: Iterable[RawEdit], apart: Iterable[RawEdit], counts: Iterable[_Pair], opened: _Opened
) -> PrunedPair | None:
    """The pair with more of it opened; itself if nothing must be opened, None if everything must.

    A callee must be opened if a call was added, removed or has different operands: reordered operands are no edit if
    the callee is operand-symmetric. So must the callees of users of an edited instruction: an operand-symmetric callee
    may take a different operand in its place. An added or removed reducer still exists if unchanged computations call
    it, so all of these are needed to decide. And if a call was added or removed, which one it was depends on all
    computations with equal content, in any order of parameters.

    Args:
        pruned: what was compared.
        edits: single edits, with places in its modules.
        apart: edits of the other channels.
        counts: all pairs of computations, -1 for none.
        opened: for the pairs that differ, the new instruction of each old one.
    """
    edits = list(edits)
    # A conditional with reordered branches has reordered operands too, equal ones included.
    exchanges_branches = any(change.field == f"attribute:{ORDER}" for edit in edits for change in edit.changes)
    if any(_must_expand_everywhere(pruned, side, edits) for side in (0, 1)) or exchanges_branches:
        return None
    # Of a loop whose elements are renumbered all that it calls is compared, also where both programs hold it.
    held = [(side, index) for key in opened for side, index in enumerate(key) if index >= 0]
    keys = {
        key
        for side, index in held
        if is_pruned(pruned.sides[side].module.computations[index])
        for key in _with_pruned(pruned, side, (index,))
    }
    indistinguishable = _Indistinguishable(pruned, 0), _Indistinguishable(pruned, 1)
    for edit in edits:
        for side, place in enumerate((edit.old, edit.new)):
            if place is None:
                continue
            module = pruned.sides[side].module
            it = at(module, place)
            if it.opcode == PLACEHOLDER and it.attributes:
                return None  # a placeholder in a call skeleton: not equal after all
            if it.opcode == PLACEHOLDER or (it.calls and _is_about_calls(edit)):
                keys |= set(_with_pruned(pruned, side, (place[0],) if it.opcode == PLACEHOLDER else it.called))
            if _is_about_calls(edit):
                keys.update(key for called in _called_with(module, place) for key in _with_pruned(pruned, side, called))
            if it.calls and edit.kind != "changed":
                keys.update(indistinguishable[side].of(it.called))
    is_in_skeleton = any(
        place is not None and place[0] in pruned.sides[side].lines
        for edit in (*edits, *apart)
        for side, place in enumerate((edit.old, edit.new))
    )
    if pruned.ignores_counts and (keys or is_in_skeleton):
        # Calls that a skeleton omits may determine which copies are edited.
        copies = (
            None if any(one.lines for one in pruned.sides) else _edited_copies(pruned, [*edits, *apart], counts, opened)
        )
        return pruned.wider(keys, copies or ())
    copies = _edited_copies(pruned, [*edits, *apart], counts, opened)
    if copies is None:
        return None
    return pruned.wider(keys, copies) if keys or copies else pruned


def _edited_copies(
    pruned: PrunedPair, edits: Iterable[RawEdit], counts: Iterable[_Pair], opened: _Opened
) -> set[tuple[int, str]] | None:
    """Sides and names of copies that must not be shared, because an edit is in one or depends on which one it is.

    None if that cannot be decided.
    """
    # Shared computations that hold an edit, are called by added or removed calls, or have several matches.
    touched: tuple[set[int], set[int]] = (set(), set())
    for edit in edits:
        for side, place in enumerate((edit.old, edit.new)):
            if place is not None:
                called = at(pruned.sides[side].module, place).called if edit.kind != "changed" else ()
                touched[side].update(n for n in (place[0], *called) if n in pruned.sides[side].shared)
    mapping: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for key in counts:
        for side, here in enumerate(key):
            if here in pruned.sides[side].shared and (
                key in opened or mapping[side].setdefault(here, key[1 - side]) != key[1 - side]
            ):
                touched[side].add(here)
    if not any(touched):
        return set()
    found: set[tuple[int, int]] = set()
    for key in counts:
        if any(here in pruned.sides[side].shared for side, here in enumerate(key)):
            continue  # it is read on its own first
        for side, here, callee, is_alone in _told_apart(pruned, key, opened.get(key)):
            if here in touched[side]:  # added and removed computations come with all their callees
                found.update((side, n) for n in (pruned.shared_below(side, callee) if is_alone else (callee,)))
    return {(side, pruned.name(side, callee)) for side, callee in found} or None


def _told_apart(
    pruned: PrunedPair, key: tuple[int, int], mapping: Sequence[int] | None
) -> Iterator[tuple[int, int, int, bool]]:
    """Callees of a matched pair whose calls lead to different computations or are unmatched.

    Yields the side, the callee's index here and in the whole program, and whether the call is unmatched.
    """
    bodies = [pruned.sides[side].read[n].instructions if n >= 0 else () for side, n in enumerate(key)]
    alone = [[it for it in its if it.calls] for its in bodies]
    if mapping is None and key[0] >= 0 and key[1] >= 0:
        return  # equal: its instructions were not matched
    if mapping is not None:
        kept = [(n, matched) for n, matched in enumerate(mapping) if matched >= 0]
        calls = [(bodies[0][n], bodies[1][matched]) for n, matched in kept if bodies[0][n].calls]
        alone[0] = [it for n, it in enumerate(bodies[0]) if it.calls and mapping[n] < 0]
        there = {matched for _, matched in kept}
        alone[1] = [it for n, it in enumerate(bodies[1]) if it.calls and n not in there]
        for one, other in calls:
            pairs = [pair for pair, _ in matched_calls(one, other)]
            if one.opcode in CONDITIONALS or len(pairs) != len(one.called) or len(pairs) != len(other.called):
                alone[0].append(one)  # branches may have been reordered
                alone[1].append(other)
                continue
            for pair in pairs:
                here = pruned.sides[0].positions[pair[0]], pruned.sides[1].positions[pair[1]]
                if not all(n in pruned.sides[side].shared for side, n in enumerate(here)) or (
                    pruned.key(0, pair[0]) != pruned.key(1, pair[1])
                ):
                    yield from ((side, here[side], pair[side], False) for side in (0, 1))
    for side in (0, 1):
        for it in alone[side]:
            yield from ((side, pruned.sides[side].positions[callee], callee, True) for callee in it.called)


def _is_about_calls(edit: RawEdit) -> bool:
    return edit.kind != "changed" or any(change.field == "operands" for change in edit.changes)


def _with_pruned(pruned: PrunedPair, side: int, called: Iterable[int]) -> Iterator[int]:
    """Keys of the pruned computations that these stand for."""
    computations = pruned.sides[side].module.computations
    for index in preorder(called, lambda n: [c for it in computations[n].instructions for c in it.called]):
        if is_pruned(computations[index]):
            key = pruned.fingerprints[side].keys[computations[index].name]
            assert key is not None  # only computations with a key were pruned
            yield key


def _called_with(module: Module, place: tuple[int, int]) -> Iterator[tuple[int, ...]]:
    """Callees of fusions that have an instruction and another of the same shape as operands."""
    owner = module.computations[place[0]]
    it = owner.instructions[place[1]]
    for position in owner.users[place[1]]:
        user = owner.instructions[position]
        if user.opcode == "fusion" and any(
            operand != place[1] and owner.instructions[operand].shape == it.shape for operand in user.operands
        ):
            yield user.called


class _Indistinguishable:
    """Computations pruned from one side of a pair although something with equal content is present."""

    def __init__(self, pruned: PrunedPair, side: int) -> None:
        self._pruned, self._side = pruned, side
        self._spans: list[Span | None] = []
        self._placeholders: list[tuple[int, Span]] = []

    def of(self, called: Iterable[int]) -> Iterator[int]:
        """Keys of pruned ones with the same opcodes and shapes as one of these computations."""
        module, fingerprint = self._pruned.sides[self._side].module, self._pruned.fingerprints[self._side]
        if not self._spans:
            self._spans = [fingerprint.spans.get(computation.name) for computation in module.computations]
            numbered = enumerate(self._spans)
            self._placeholders = [(n, span) for n, span in numbered if span and is_pruned(module.computations[n])]
        for index in called:
            ours = self._spans[index]
            if ours is None or is_pruned(module.computations[index]):
                continue
            for n, theirs in self._placeholders:
                if theirs.lines == ours.lines and self._held(n) == self._held(index):
                    key = fingerprint.keys[theirs.name]
                    assert key is not None  # only computations with a key were pruned
                    yield key

    def _held(self, index: int) -> Counter[object]:
        return Counter((it.opcode, it.shape) for it in self._pruned.body(self._side, index).instructions)


def _must_expand_everywhere(pruned: PrunedPair, side: int, edits: Iterable[RawEdit]) -> bool:
    """Whether an edit adds or removes something in an applied computation that pruned computations apply too."""
    places = ((edit.old, edit.new)[side] for edit in edits if edit.kind != "changed")
    module, fingerprint = pruned.sides[side].module, pruned.fingerprints[side]
    touched = {place[0] for place in places if place is not None}
    if not touched:
        return False
    calls = ((it, name, to) for c in module.computations for it in c.instructions for name, to in it.calls)
    applied = {index for it, name, to in calls if is_embedded(it, name) for index in to}
    names = {module.computations[index].name for index in touched & applied}
    if not names:
        return False
    left_out = (span for span in fingerprint.program.spans if fingerprint.keys[span.name] in pruned.pruned_keys)
    return any(not names.isdisjoint(called_names(span.body_of(fingerprint.program.text))) for span in left_out)
