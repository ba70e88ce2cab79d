"""Edit script from reported edits: each step belongs to one site of one edit; nothing else is in it.

Nothing is checked here. An operand that changed although nothing was added or removed beside it, or a field that no
edit names, is not in the script, and `replay` reports that the result is a different program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from hlodiff.differ.canonical_direction import BodyMatch, Key
from hlodiff.differ.edits import INSIDE, OF_COMPUTATION, OF_WHOLE, THREAD
from hlodiff.differ.elements import RETURNS, renumbered
from hlodiff.differ.fields import Attributes, field_of, flat_attributes, goes_with_opcode, has_other_elements, skeleton
from hlodiff.differ.prepare import CHANNELS, bare_instruction, channel_of, tuning_of
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.differ.script import (
    AddStep,
    Calls,
    ChangeStep,
    Channel,
    ComputationStep,
    EditReference,
    EditScript,
    HeaderStep,
    InstructionPair,
    OperandRewiring,
    PrintedPair,
    PrintedText,
    RemoveStep,
    ReorderStep,
    SettingChange,
    Step,
    Value,
)
from hlodiff.errors import DiffError
from hlodiff.hlo.grammar import called_names_by_attribute, donated_results
from hlodiff.hlo.model import (
    BINDS,
    Computation,
    Instruction,
    Layout,
    Module,
    Place,
    Shape,
    is_commutative,
    is_embedded,
    operand_names,
    with_attributes,
    with_instructions,
)
from hlodiff.hlo.parser import LazySequence
from hlodiff.hlo.traversal import preorder

if TYPE_CHECKING:
    from hlodiff.differ.prune import PrunedPair

TUNING = "tuning"
CHANNEL = "channel_id"


_KnownAttributes = dict[tuple[str, Attributes], Attributes]
"""Attributes in canonical form by opcode and attributes as read; they depend on nothing else."""


def canonical_form(module: Module) -> Module:
    """The same module, indices alike, with the attributes of each instruction split and sorted by name.

    Frontend attributes are split, tuning is separate from the rest of its configuration, channels have one name.

    Args:
        module: without noise; its computations are read on demand.
    """
    known: _KnownAttributes = {}
    read = module.computations
    return replace(module, computations=LazySequence(len(read), lambda n: _computation(read[n], known)))


def _computation(computation: Computation, known: _KnownAttributes) -> Computation:
    if not any(it.attributes for it in computation.instructions):
        return computation
    instructions = []
    for it in computation.instructions:
        key = it.opcode, it.attributes
        attributes = known.get(key) if it.attributes else it.attributes
        if attributes is None:
            flat = flat_attributes(bare_instruction(it))
            if any(name in CHANNELS for name, _ in it.attributes):
                flat[CHANNEL] = channel_of(it)
            if tuning := tuning_of(it):
                flat[TUNING] = tuning
            attributes = tuple(sorted(flat.items()))
            attributes = known[key] = it.attributes if attributes == it.attributes else attributes
        instructions.append(it if attributes is it.attributes else with_attributes(it, attributes))
    return with_instructions(computation, instructions)


ASYNCHRONOUS = "attribute:asynchronous"
_SHAPE = ("element_type", "shape", "layout", "memory_space", INSIDE)


@dataclass(frozen=True, slots=True)
class EditClaims:
    """One site of one edit."""

    reference: EditReference
    edit: Edit
    old: Place | None
    new: Place | None


@dataclass(slots=True)
class EditIndex:
    """All sites of all edits.

    Args:
        removed, added: by place, for instructions on one side only; moved ones are in both.
        changed: by both places of a match.
        header: those of the module itself.
        table: channel, kind, number of sites and count of every edit.
        computations: edits of a computation's own attributes, by pair of computations.
        removed_whole, added_whole: collectives spelled differently on the other side (plain or `-start` and `-done`),
            by all their instructions.
    """

    removed: dict[Place, list[EditClaims]] = field(default_factory=dict)
    added: dict[Place, list[EditClaims]] = field(default_factory=dict)
    changed: dict[tuple[Place, Place], list[EditClaims]] = field(default_factory=dict)
    header: list[EditClaims] = field(default_factory=list)
    computations: dict[tuple[int, int], list[EditClaims]] = field(default_factory=dict)
    table: list[tuple[Channel, str, int, int]] = field(default_factory=list)
    removed_whole: set[Place] = field(default_factory=set)
    added_whole: set[Place] = field(default_factory=set)

    @staticmethod
    def of(found: ModuleDiff, modules: tuple[Module, Module]) -> EditIndex:
        """Index the edits of a diff."""
        reported = EditIndex()
        for channel, edits in (("edits", found.edits), ("schedule", found.schedule), ("tuning", found.tuning)):
            for number, edit in enumerate(edits):
                reported.table.append((channel, edit.kind, len(edit.sites), edit.count))
                for site, (old, new) in enumerate(edit.sites):
                    places = [(s.computation, s.instruction) if s else None for s in (old, new)]
                    claim = EditClaims(EditReference(channel, number, site), edit, places[0], places[1])
                    if claim.old is None and claim.new is None:
                        reported.header.append(claim)
                    elif claim.edit.matcher == OF_WHOLE:
                        assert claim.old and claim.new
                        reported.computations.setdefault((claim.old[0], claim.new[0]), []).append(claim)
                    elif ASYNCHRONOUS in claim.edit.fields:
                        assert claim.old and claim.new
                        for place in with_done(modules[0], claim.old):
                            reported.removed.setdefault(place, []).append(claim)
                            reported.removed_whole.add(place)
                        for place in with_done(modules[1], claim.new):
                            reported.added.setdefault(place, []).append(claim)
                            reported.added_whole.add(place)
                    elif claim.edit.kind == "changed":
                        assert claim.old and claim.new
                        reported.changed.setdefault((claim.old, claim.new), []).append(claim)
                    else:
                        if claim.old:
                            reported.removed.setdefault(claim.old, []).append(claim)
                        if claim.new:
                            reported.added.setdefault(claim.new, []).append(claim)
        return reported


def with_done(module: Module, place: Place) -> list[Place]:
    """All instructions of a collective: itself, and its `-done` if it is a `-start`."""
    instructions = module.computations[place[0]].instructions
    opcode = instructions[place[1]].opcode
    if not opcode.endswith("-start"):
        return [place]
    done = opcode.removesuffix("-start") + "-done"
    return [
        place,
        *((place[0], n) for n, it in enumerate(instructions) if it.opcode == done and place[1] in it.operands),
    ]


def settings(claim: EditClaims, old: Instruction, new: Instruction) -> Iterator[SettingChange]:
    """Settings that an edit names for two matched instructions in canonical form, and no others.

    Args:
        claim: a site of a changed or moved edit.
        old, new: the instructions.
    """
    if claim.reference.channel == "tuning":
        yield SettingChange(f"attribute:{TUNING}", new.attribute(TUNING))
        if "fusion_kind" not in claim.edit.fields:  # of another emitter the rest of the configuration differs too
            return
    fields = claim.edit.fields
    if "opcode" in fields:
        yield SettingChange("opcode", new.opcode)
    turned = "opcode" in fields and old.opcode != new.opcode
    is_one_sided = (old.literal is None) != (new.literal is None)
    if "literal" in fields or (turned and (is_one_sided or "parameter" in (old.opcode, new.opcode))):
        yield SettingChange("literal", new.literal)
    if "attribute:parameter_number" in fields:
        yield SettingChange("number", new.literal)
    yield from _shape_settings(fields, old.shape, new.shape)
    ours, theirs = dict(old.attributes), dict(new.attributes)
    for name, value in {**ours, **theirs}.items():
        named = field_of(name, value) in fields or f"attribute:{name}" in fields
        if (named or (turned and goes_with_opcode(name, ours, theirs))) and name != TUNING:
            yield SettingChange(f"attribute:{name}", new.attribute(name))


def _shape_settings(fields: tuple[str, ...], old: Shape, new: Shape) -> Iterator[SettingChange]:
    if not set(fields) & set(_SHAPE):
        return
    ours, theirs = old.leaves, new.leaves
    if skeleton(old) != skeleton(new) or has_other_elements(old, new):
        if "shape" in fields:
            yield SettingChange("shape", leaves=(new,))
        return
    if "element_type" in fields:
        yield SettingChange("element_type", leaves=tuple(Shape(leaf.element_type) for leaf in theirs))
    if "shape" in fields:
        # The layout is set too, but only where the dimensions differ.
        arranged = [
            None if one.dimensions == other.dimensions else _arranged(other.layout)
            for one, other in zip(ours, theirs, strict=True)
        ]
        leaves = [replace(leaf, element_type="", layout=layout) for leaf, layout in zip(theirs, arranged, strict=True)]
        yield SettingChange("dimensions", leaves=tuple(leaves))
    if "layout" in fields:
        yield SettingChange("layout", leaves=tuple(Shape("", layout=_arranged(leaf.layout)) for leaf in theirs))
    if "memory_space" in fields or INSIDE in fields:
        layouts = [Layout(memory_space=leaf.memory_space) for leaf in theirs]
        yield SettingChange("memory_space", leaves=tuple(Shape("", layout=layout) for layout in layouts))


def _arranged(layout: Layout | None) -> Layout | None:
    return None if layout is None else replace(layout, memory_space=0)


def donation_settings(claim: EditClaims, old: Module, new: Module, numbers: tuple[int, int]) -> Iterator[SettingChange]:
    """Settings of an edit of the field `alias` of an argument of a compiled program.

    Args:
        claim: the site.
        old, new: the modules.
        numbers: of the parameter on both sides.
    """
    if "alias" not in claim.edit.fields:
        return
    donated = donated_results(old.attributes), donated_results(new.attributes)
    ours, theirs = (of_side.get(number, {}) for of_side, number in zip(donated, numbers, strict=True))
    for inside in dict.fromkeys([*ours, *theirs]):
        if ours.get(inside) != theirs.get(inside):
            yield SettingChange(f"donation:{inside}", theirs.get(inside))


Aligned = list[tuple[int | None, int | None]]
"""Corresponding operand numbers, old and new; None for an operand that only one side has."""


def align(ours: Sequence[Value | None], theirs: Sequence[tuple[Value, bool]]) -> Aligned:
    """Pair operands by position; if their counts differ, pair those that both sides have in order.

    Args:
        ours: what each old operand is in the new program, None for a removed one.
        theirs: what each new operand is, and whether it is in the old program.
    """
    if len(ours) == len(theirs):
        return [(n, n) for n in range(len(ours))]
    olds = [n for n, value in enumerate(ours) if value is not None]
    news = [n for n, (_, was_there) in enumerate(theirs) if was_there]
    if len(olds) != len(news):
        return []
    there: Aligned = list(zip(olds, news, strict=True))
    removed: Aligned = [(n, None) for n, value in enumerate(ours) if value is None]
    return [*there, *removed, *((None, n) for n, (_, was_there) in enumerate(theirs) if not was_there)]


def below(owner: Computation, mapping: Sequence[int], start: int) -> set[int]:
    """Matched instructions reached from an unmatched one through unmatched ones; empty if `start` is matched."""
    reached = preorder([start], lambda place: () if mapping[place] >= 0 else owner.instructions[place].operands)
    return {place for place in reached if mapping[place] >= 0 and place != start}


def bound_operands(old: Sequence[int], new: Sequence[int], mapping: Sequence[int]) -> Aligned:
    """Operands of a call by the parameters they are bound to.

    Args:
        old, new: places of the parameters of what is called, by number.
        mapping: for each instruction of the old computation the new one.
    """
    number = {place: n for n, place in enumerate(new)}
    pairs: Aligned = [(n, number.get(mapping[place])) for n, place in enumerate(old)]
    taken = {b for _, b in pairs}
    return [*pairs, *((None, n) for n in range(len(new)) if n not in taken)]


def exchanged(ours: Sequence[Value | None], theirs: Sequence[Value]) -> tuple[int, ...]:
    """For each old operand its position in the new instruction, others in order; () if all stay."""
    free = list(range(len(theirs)))
    order: list[int] = [-1] * len(ours)
    for fits in (True, False):
        for n, value in enumerate(ours):
            place = next((p for p in free if not fits or theirs[p] == value), -1) if order[n] < 0 else -1
            if place >= 0:
                order[n] = place
                free.remove(place)
    return () if order == list(range(len(ours))) else tuple(order)


_ROOT = -1


def build_script(
    found: ModuleDiff,
    whole: tuple[Module, Module],
    compared: tuple[Module, Module],
    matches: BodyMatch,
    pruned: PrunedPair | None,
) -> EditScript:
    """The machine-readable script of a diff, computed from its edits on demand; nothing is matched again.

    Pruned computations have no matches. Their instructions are matched line by line, since the pruner found them equal;
    the proof verifies that, by comparing the instructions themselves.

    Args:
        found: what `diff` returned, or the same with different edits.
        whole: the two programs that were compared.
        compared: the same, or what pruning left of them, without noise.
        matches: those of `compared` that the edits are based on.
        pruned: how they were pruned, None if they were not.

    Returns:
        the script; `replay` checks whether it is complete.

    Raises:
        DiffError: the matches belong to different programs.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> from hlodiff.differ.pipeline import diff
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2]{0} parameter(0)\\n  ROOT r = f32[2]{0} sine(p)\\n}"
        >>> script = diff(read_hlo(text), read_hlo(text.replace("sine", "cosine"))).script
        >>> [(type(step).__name__, step.settings[0].text) for step in script.steps]
        [('ChangeStep', 'cosine')]
    """
    if found.old is not whole[0] or found.new is not whole[1]:
        raise DiffError("no script: the matches are those of other programs")
    # Both whole programs: opened computations without noise, as compared, and pruned ones as read.
    old, new = compared
    bodies: BodyMatch | WholeMatch = matches
    if pruned is not None:
        old, new = _whole_program(pruned, 0, old), _whole_program(pruned, 1, new)
        bodies = WholeMatch(pruned, matches, (old, new))
    elif matches.keeps_numbers:
        old, new = map(_with_read_channels, compared, whole)
    return _ScriptBuilder((canonical_form(old), canonical_form(new)), bodies, EditIndex.of(found, (old, new))).write()


@dataclass
class _PairDraft:
    """A pair under construction; operand changes by the place of the instruction added or removed on the way.

    `printed` holds the lines of a pair that was not parsed for the diff: it is not parsed for the script either.
    """

    modules: tuple[Module, Module]
    key: Key
    mapping: list[int]
    printed: PrintedPair | None = None
    calls: dict[int, Calls] = field(default_factory=dict)
    added: list[tuple[int, Instruction]] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    arguments: list[OperandRewiring] = field(default_factory=list)
    rewired_by_added: dict[int, list[OperandRewiring]] = field(default_factory=dict)
    rewired_by_removed: dict[int, list[OperandRewiring]] = field(default_factory=dict)
    elements: dict[int, dict[int, int]] = field(default_factory=dict)

    def value(self, read: Value) -> Value | None:
        """What an old value is in the new program; None if it was removed."""
        place, result = self.mapping[read[0]], read[1]
        if place in self.elements and self.modules[0].stage == "stablehlo":
            result = self.elements[place].get(result, -1)
        return (place, result) if place >= 0 <= result else None

    @cached_property
    def old(self) -> Computation:
        """The old computation, an empty one if there is none."""
        return self.modules[0].computations[self.key[0]] if self.key[0] >= 0 else _NOTHING

    @cached_property
    def new(self) -> Computation:
        """The new computation, an empty one if there is none."""
        return self.modules[1].computations[self.key[1]] if self.key[1] >= 0 else _NOTHING

    @cached_property
    def back(self) -> list[int]:
        """For each new instruction the old one, -1 for none."""
        back = [-1] * (len(self.mapping) if self.printed else len(self.new.instructions))
        for one, other in enumerate(self.mapping):
            if other >= 0:
                back[other] = one
        return back


_NOTHING = Computation("", (), -1)


@dataclass(slots=True)
class _ScriptBuilder:
    """Walks from the entries along calls: matched computations first, then added and removed ones."""

    modules: tuple[Module, Module]
    bodies: BodyMatch | WholeMatch
    reported: EditIndex
    index: dict[Key, int] = field(default_factory=dict)
    drafts: list[_PairDraft] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    of_computation: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    sites: set[tuple[int, int]] = field(default_factory=set)

    def write(self) -> EditScript:
        self._reach((self.modules[0].entry, self.modules[1].entry, ()))
        for number, draft in enumerate(self.drafts):  # grows on the way
            (self._pruned if self.bodies.is_pruned(draft.key) else self._survivors)(number, draft)
        paired = len(self.drafts)
        self._follow()
        for number, draft in enumerate(islice(self.drafts, paired, None), paired):  # grows on the way
            (self._pruned if self.bodies.is_pruned(draft.key) else self._survivors)(number, draft)
        for number, draft in enumerate(self.drafts):
            for one, matched in enumerate(draft.mapping if not draft.printed else ()):
                if matched >= 0:
                    continue
                claims = self._mine(0, number, one)
                if not claims and number > 0 and draft.old.instructions[one].opcode == "parameter":
                    draft.removed.append(one)
                for n, claim in enumerate(claims):
                    rewirings = () if n else tuple(draft.rewired_by_removed.get(one, ()))
                    self.steps.append(RemoveStep(claim.reference, number, one, rewirings))
            self._arrivals(number, draft)
        names = {"layout": "entry_computation_layout", "schedule": "is_scheduled"}
        for claim in self.reported.header:
            for what in claim.edit.fields:
                name = names.get(what, what.removeprefix("attribute:"))
                self.steps.append(HeaderStep(claim.reference, name, self.modules[1].attribute(name)))
        return EditScript(
            *self.modules,
            tuple(map(self._pair, self.drafts)),
            tuple(self.steps),
            tuple(self.reported.table),
            self.bodies.texts(),
        )

    def _pair(self, draft: _PairDraft) -> InstructionPair:
        return InstructionPair(
            draft.key[0],
            draft.key[1],
            tuple(draft.mapping),
            tuple(draft.calls.items()),
            tuple(draft.added),
            tuple(draft.removed),
            tuple(draft.arguments),
            self.bodies.count(draft.key),
            draft.new.root if draft.key[0] < 0 else -1,
            tuple((place, tuple(which.items())) for place, which in draft.elements.items()),
            draft.printed is not None,
        )

    def _reach(self, key: Key) -> int:
        if key not in self.index:
            self.index[key] = len(self.drafts)
            printed = self.bodies.printed(key)
            if printed and not (self._is_untouched(0, key[0]) and self._is_untouched(1, key[1])):
                printed = None
            mapping = list(printed.mapping if printed else self.bodies.mapping(key))
            # A collective that is reported as changed as a whole has no match.
            removed, added = self.reported.removed_whole, self.reported.added_whole
            for one, other in enumerate(mapping if (removed or added) and not printed else ()):
                if other >= 0 and ((key[0], one) in removed or (key[1], other) in added):
                    mapping[one] = -1
            elements = {
                place: dict(which) for place, which in ([] if printed else self.bodies.renumbered(key, mapping))
            }
            self.drafts.append(_PairDraft(self.modules, key, mapping, printed, elements=elements))
            for side in (0, 1):
                self.of_computation.setdefault((side, key[:2][side]), []).append(self.index[key])
        return self.index[key]

    def _is_untouched(self, side: int, index: int) -> bool:
        """Whether no edit has a site in a computation."""
        if not self.sites:
            reported = self.reported
            for place in (*reported.removed, *(pair[0] for pair in reported.changed), *reported.removed_whole):
                self.sites.add((0, place[0]))
            for place in (*reported.added, *(pair[1] for pair in reported.changed), *reported.added_whole):
                self.sites.add((1, place[0]))
            for pair in reported.computations:
                self.sites |= {(0, pair[0]), (1, pair[1])}
            self.sites.add((-1, -1))
        return (side, index) not in self.sites

    def _pruned(self, _: int, draft: _PairDraft) -> None:
        """Pruned computations, which no edit mentions: only their calls are needed."""
        if draft.printed:
            for other, groups in draft.printed.calls:
                draft.calls[other] = tuple(
                    (name, tuple(self._reach((*pair, ())) for pair in group)) for name, group in groups
                )
            return
        for one, other in enumerate(draft.mapping):
            if other >= 0 and draft.old.instructions[one].calls:
                draft.calls[other] = self._calls(draft, one, other, True)

    def _survivors(self, number: int, draft: _PairDraft) -> None:
        returns_another = False
        changed, mapping = self.reported.changed, draft.mapping
        olds, news = draft.old.instructions, draft.new.instructions
        old, new = draft.key[:2]
        for one, other in enumerate(mapping):
            if other >= 0:
                before, after = olds[one], news[other]
                known = changed.get(((old, one), (new, other)), ())
                claims = [claim for claim in known if claim.edit.matcher != "schedule"] if known else []
                is_rewired = any("operands" in claim.edit.fields for claim in claims)
                returns_another |= any("attribute:root" in claim.edit.fields for claim in claims)
                calls = before.calls or after.calls
                if calls:
                    draft.calls[other] = self._calls(draft, one, other, is_rewired)
                if not is_rewired and (
                    calls
                    or draft.elements
                    or before.results != after.results
                    or tuple([mapping[operand] for operand in before.operands]) != after.operands
                ):  # all other operands are unchanged, position by position
                    self._operands(draft, one, other)
                for claim in claims:
                    self.steps.append(self._changed(number, draft, claim, one, other))
        if draft.key[0] >= 0 and draft.key[1] >= 0:
            if not returns_another:
                self._rewiring(draft, _ROOT, (0, 0), (draft.old.root, 0), (draft.new.root, 0))
            roots = (draft.key[0], draft.old.root), (draft.key[1], draft.new.root)
            for each in self.reported.changed.get(roots, ()):
                if each.edit.matcher == "schedule":
                    self.steps.append(ReorderStep(each.reference, number))
            for each in self.reported.computations.get(draft.key[:2], ()):
                self.steps += self._computation(number, draft, each)

    def _computation(self, number: int, draft: _PairDraft, claim: EditClaims) -> Iterator[Step]:
        """Steps of the edits of a computation itself."""
        theirs = dict(draft.new.attributes)
        for name in claim.edit.fields:
            if name == THREAD:
                yield ComputationStep(claim.reference, number, name, draft.new.execution_thread)
            else:
                name = name.removeprefix(OF_COMPUTATION)
                yield ComputationStep(claim.reference, number, name, theirs.get(name))

    def _calls(self, draft: _PairDraft, one: int, other: int, is_rewired: bool) -> Calls:
        before, after = draft.old.instructions[one], draft.new.instructions[other]
        ours = dict(before.calls)
        order = () if is_rewired else self._exchange(draft, before, after)
        found = []
        for name, group in after.calls:
            olds = ours.get(name, ())
            refs = [self._reach((a, b, order)) for a, b in zip(olds, group, strict=False)]
            found.append((name, (*refs, *(self._callee(after, name, b) for b in group[len(olds) :]))))
        return tuple(found)

    def _exchange(self, draft: _PairDraft, before: Instruction, after: Instruction) -> tuple[int, ...]:
        """How the operands of a fusion were permuted where its callee is operand-symmetric; () if they were not."""
        if before.opcode != "fusion" or after.opcode != "fusion" or len(before.called) != 1 or len(after.called) != 1:
            return ()
        if len(before.operands) != len(after.operands) or not self.bodies.are_equal(before.called[0], after.called[0]):
            return ()
        order = exchanged(_mapped(draft, before), after.reads)
        return order if order and self.bodies.is_operand_symmetric(before.called[0], order) else ()

    def _operands(self, draft: _PairDraft, one: int, other: int) -> None:
        before, after = draft.old.instructions[one], draft.new.instructions[other]
        ours, theirs = before.reads, after.reads
        aligned = self._through(draft, before, after, other)
        if other in draft.elements and after.opcode in RETURNS:
            elements = draft.elements[other]
            aligned = [*elements.items(), *((n, None) for n in range(len(ours)) if n not in elements)]
            aligned += [(None, n) for n in range(len(theirs)) if n not in elements.values()]
            for slot, place in aligned:
                a, b = ours[slot] if slot is not None else None, theirs[place] if place is not None else None
                self._rewiring(draft, other, (slot, place), a, b)
            return
        is_call = aligned is not None
        commutative = is_commutative(before) and is_commutative(after)
        if aligned is None:
            there = [(value, draft.back[value[0]] >= 0) for value in theirs]
            aligned = align(_mapped(draft, before), there)
            if (
                commutative
                and not self._is_explained(draft, ours, theirs)
                and self._is_explained(draft, ours, theirs[::-1])
            ):
                aligned = [(0, 1), (1, 0)]
        for slot, place in aligned:
            a = ours[slot] if slot is not None else None
            b = theirs[place] if place is not None else None
            numbers = (slot, slot if commutative and len(ours) == len(theirs) else place)
            if is_call and (slot is None or place is None):
                draft.arguments.append(OperandRewiring(other, slot, place, b))
            else:
                self._rewiring(draft, other, numbers, a, b)

    def _is_explained(self, draft: _PairDraft, ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
        """Whether each operand is unchanged, or something was added or removed on the way to it."""
        return all(
            draft.value(a) == b
            or (draft.mapping[a[0]] < 0 and draft.back[b[0]] < 0)
            or draft.mapping[a[0]] in below(draft.new, draft.back, b[0])
            or draft.back[b[0]] in below(draft.old, draft.mapping, a[0])
            for a, b in zip(ours, theirs, strict=True)
        )

    def _through(self, draft: _PairDraft, before: Instruction, after: Instruction, other: int) -> Aligned | None:
        if self.modules[0].stage == "stablehlo" and before.calls and after.calls:
            return self._through_regions(draft, before, after, other)
        for _, refs in draft.calls.get(other, ()):
            for ref in refs if after.opcode in BINDS else ():
                inner = self.drafts[ref]
                if inner.key[0] < 0 or inner.key[1] < 0:
                    continue
                if inner.printed:
                    if inner.printed.parameters == len(before.operands) == len(after.operands):
                        return [(n, n) for n in range(inner.printed.parameters)]
                    continue
                olds, news = inner.old.parameters, inner.new.parameters
                if len(olds) == len(before.operands) and len(news) == len(after.operands):
                    return bound_operands(olds, news, inner.mapping)
        return None

    def _through_regions(
        self, draft: _PairDraft, before: Instruction, after: Instruction, other: int
    ) -> Aligned | None:
        """Align operands by the parameters of functions and the captures of regions, the rest by position."""
        names = [operand_names(it, module) for it, module in zip((before, after), self.modules, strict=True)]
        found: dict[int, int] = {}
        is_bound = False
        for ref in (ref for _, refs in draft.calls.get(other, ()) for ref in refs):
            inner = self.drafts[ref]
            slots = [side.get(key, ()) for side, key in zip(names, inner.key[:2], strict=True)]
            if min(inner.key[:2]) < 0 or any(one and max(one) < 0 for one in slots):
                continue
            is_bound |= any(slots) or after.opcode in BINDS
            for n, m in bound_operands(inner.old.parameters, inner.new.parameters, inner.mapping):
                if n is not None and m is not None and slots[0][n] >= 0 and slots[1][m] >= 0:
                    found.setdefault(slots[0][n], slots[1][m])
        if not is_bound:
            return None
        taken = [{slot for slots in side.values() for slot in slots} for side in names]
        own = [
            [n for n in range(len(it.operands)) if n not in used]
            for it, used in zip((before, after), taken, strict=True)
        ]
        if len(own[0]) != len(own[1]):
            return None
        found |= dict(zip(*own, strict=True))
        pairs: Aligned = [(n, found.get(n)) for n in range(len(before.operands))]
        return [*pairs, *((None, m) for m in range(len(after.operands)) if m not in found.values())]

    def _rewiring(
        self,
        draft: _PairDraft,
        user: int,
        numbers: tuple[int | None, int | None],
        before: Value | None,
        after: Value | None,
    ) -> None:
        """Record a changed operand under the edit that added or removed something there, if any."""
        if before and after and draft.value(before) == after:
            return
        rewiring = OperandRewiring(user, *numbers, after)
        if after and draft.back[after[0]] < 0 and (draft.key[1], after[0]) in self.reported.added:
            draft.rewired_by_added.setdefault(after[0], []).append(rewiring)
        elif before and draft.mapping[before[0]] < 0 and (draft.key[0], before[0]) in self.reported.removed:
            draft.rewired_by_removed.setdefault(before[0], []).append(rewiring)

    def _changed(self, number: int, draft: _PairDraft, claim: EditClaims, one: int, other: int) -> Step:
        before, after = draft.old.instructions[one], draft.new.instructions[other]
        if claim.reference.channel == "schedule":
            return ChangeStep(
                claim.reference, number, other, (SettingChange("control", places=after.control_predecessors),)
            )
        if other in draft.elements:
            before = renumbered(before, draft.elements[other])
        found = [*settings(claim, before, after)]
        if "compute_type" in claim.edit.fields:
            for inner in (self.drafts[ref] for _, refs in draft.calls.get(other, ()) for ref in refs):
                if inner.old.execution_thread != inner.new.execution_thread:
                    found.append(SettingChange("thread", inner.new.execution_thread))
        if number == 0 and before.opcode == after.opcode == "parameter":
            numbers = before.number, after.number
            found += donation_settings(claim, *self.modules, numbers)
        if "attribute:root" in claim.edit.fields:
            found.append(SettingChange("root", places=(draft.new.root,)))
        operands = after.reads if "operands" in claim.edit.fields else None
        return ChangeStep(claim.reference, number, other, tuple(found), operands)

    def _follow(self) -> None:
        """Follow the calls of added and removed instructions; moved callees first, as others may apply them too."""
        for is_last in (False, True):
            for draft in self.drafts:  # grows on the way
                if not draft.printed:
                    # Follow moved and called computations; in the last round also those that are applied to elements.
                    for other, it in enumerate(draft.new.instructions):
                        for claim in self._claims_of(1, draft, other) if it.calls else ():
                            source = self._source(claim)
                            for name, group in it.calls:
                                for callee in group:
                                    if is_last or not is_embedded(it, name) or self._along(source, callee) is not None:
                                        self._callee(it, name, callee, source)
        for draft in self.drafts:
            for one, matched in enumerate(draft.mapping if not draft.printed else ()):
                before = draft.old.instructions[one]
                if not before.calls:
                    continue
                # Computations that a matched instruction no longer calls must have an edit too.
                left: list[tuple[str, int]] = []
                if matched >= 0:
                    theirs = dict(draft.new.instructions[matched].calls)
                    left = [(name, n) for name, group in before.calls for n in group[len(theirs.get(name, ())) :]]
                # So must the callees of removed instructions, unless they moved along unchanged.
                called = [(name, n) for name, group in before.calls for n in group]
                for place in (claim.new for claim in self._claims_of(0, draft, one)):
                    along = self.modules[1].computations[place[0]].instructions[place[1]].called if place else ()
                    left += [(name, n) for name, n in called if not any(self.bodies.are_equal(n, m) for m in along)]
                for name, callee in left:
                    still = any(key[0] == callee and key[1] >= 0 for key in self.index)
                    if not (is_embedded(before, name) and still):
                        self._reach((callee, -1, ()))

    def _claims_of(self, side: int, draft: _PairDraft, place: int) -> list[EditClaims]:
        """The edits of an unmatched instruction."""
        if (draft.mapping, draft.back)[side][place] >= 0:
            return []
        return (self.reported.removed, self.reported.added)[side].get((draft.key[:2][side], place), [])

    def _mine(self, side: int, number: int, place: int) -> list[EditClaims]:
        """The edits that belong to this pair: if a computation has several matches, each pair has its own.

        If there are fewer edits than pairs, the last one belongs to all remaining pairs.
        """
        draft = self.drafts[number]
        claims = self._claims_of(side, draft, place)
        others = self.of_computation[side, draft.key[:2][side]]
        alike = [n for n in others if (self.drafts[n].mapping, self.drafts[n].back)[side][place] < 0]
        rank = alike.index(number)
        if rank >= len(claims):
            return claims[-1:]
        return claims[rank:] if rank + 1 == len(alike) else claims[rank : rank + 1]

    def _arrivals(self, number: int, draft: _PairDraft) -> None:
        for other, matched in enumerate(draft.back if not draft.printed else ()):
            if matched >= 0:
                continue
            it = draft.new.instructions[other]
            claims = self._mine(1, number, other)
            if not claims and it.opcode == "parameter" and number > 0:
                draft.added.append((other, it))
            for n, claim in enumerate(claims):
                rewirings = () if n else tuple(draft.rewired_by_added.get(other, ()))
                self.steps += self._arrival(number, claim, other, it, rewirings)

    def _arrival(
        self, number: int, claim: EditClaims, other: int, it: Instruction, rewirings: tuple[OperandRewiring, ...]
    ) -> Iterator[Step]:
        source = self._source(claim)
        calls = tuple((name, tuple(self._callee(it, name, b, source) for b in group)) for name, group in it.calls)
        added = AddStep(claim.reference, number, other, replace(it, calls=()), calls, rewirings)
        if claim.edit.kind != "moved" or source is None or claim.old is None or claim.new is None:
            yield added
            return
        yield replace(added, source=claim.old, settings=tuple(settings(claim, source, it)))
        for each in self.reported.changed.get((claim.old, claim.new), ()):  # its tuning may have changed there
            yield ChangeStep(each.reference, number, other, tuple(settings(each, source, it)))

    def _source(self, claim: EditClaims) -> Instruction | None:
        """The moved instruction, or the collective under its old spelling."""
        return self.modules[0].computations[claim.old[0]].instructions[claim.old[1]] if claim.old else None

    def _callee(self, it: Instruction, name: str, callee: int, source: Instruction | None = None) -> int:
        """The callee of an added instruction: one that moved along, one that others use, or a new one."""
        if (old := self._along(source, callee)) is not None:
            return self._reach((old, callee, ()))
        if is_embedded(it, name):
            known = next((n for key, n in self.index.items() if key[1] == callee and key[0] >= 0), None)
            if known is not None:
                return known
        return self._reach((-1, callee, ()))

    def _along(self, source: Instruction | None, callee: int) -> int | None:
        """The computation that moved along and is now `callee`."""
        return next((old for old in (source.called if source else ()) if self.bodies.are_equal(old, callee)), None)


def _mapped(draft: _PairDraft, it: Instruction) -> Sequence[Value | None]:
    """What the operands of an old instruction are in the new program."""
    return [draft.value(read) for read in it.reads]


# --- The matches of a pruned pair, and both programs with what was pruned.


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
