"""Regions: edits that touch each other, and which of them replace one subgraph by another.

The shortest script matches what it can: if `gelu` became `silu`, a multiplication by 0.044715 becomes one by 1. That is
right for a proof but misleads readers. So the edits of a program are the nodes of a graph, with an edge if one takes
the value of another, if a user takes an added value instead of a removed one, and from a call to instructions added or
removed with it. Its connected components are the regions. Pairs on weak evidence are marked in the edits, and a region
in which most was added and removed is *replaced*: reports show what was removed and what was added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import ProgramMatch, paired_places
from hlodiff.differ.costs import added_up
from hlodiff.differ.edits import RawEdit
from hlodiff.differ.instruction_costs import applied_bodies
from hlodiff.differ.instruction_matches import are_apart
from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.result import ArgumentChanges, Edit, FieldChange, argument_changes
from hlodiff.differ.shape_literals import number_in
from hlodiff.hlo.collectives import FAMILIES, family, stem
from hlodiff.hlo.metadata import own_place, path_of
from hlodiff.hlo.model import (
    BROADCASTS,
    CALLS,
    Computation,
    Frame,
    Instruction,
    Module,
    Place,
    Shape,
    at,
    is_commutative,
)
from hlodiff.hlo.traversal import source_through

if TYPE_CHECKING:
    import networkx as nx

# They store or pass on values for others, and come, go and change with them.
CARRIERS = (BOOKKEEPING - CALLS) | {
    "fusion", "while", "conditional", "case", "if", "reshape", "constant", "broadcast", "broadcast_in_dim",
    "optimization-barrier", "optimization_barrier", "copy-start", "copy-done",
}  # fmt: skip
FEEDERS = BROADCASTS | {"constant", "iota"}
"""They give numbers, which are no evidence of what takes them."""
_NO_WORK = CARRIERS | CALLS
_HANDING_ON = _NO_WORK - FEEDERS
_PASSING_ON = CARRIERS - FEEDERS
_COMPARED = ("attribute:comparison_direction", "attribute:direction")
# With another shape they say that other values are taken, unless an operand is the same.
_OF_OTHERS = frozenset(["operands", "replica_groups", "attribute:permutation", *_COMPARED])
_REPEATING = frozenset(["attribute:broadcast_dimensions", "attribute:dimensions"])
_TAKEN = frozenset(["operands", "element_type"])
PRODUCTS = frozenset(["dot", "dot_general", "convolution"])
# Along which dimensions a product sums.
_CONTRACTED = frozenset(
    ["attribute:dot_dimension_numbers", "attribute:lhs_contracting_dims", "attribute:rhs_contracting_dims"]
)
_ASKED_FOR = frozenset(["precision", *_COMPARED])  # of operations that are otherwise alike
# Their result is the first operand or a part of it; the others say which part.
_OF_FIRST = frozenset(
    ["gather", "dynamic-slice", "dynamic-update-slice", "slice", "scatter", "transpose", "reshape", "bitcast", "copy"]
)
_ROUNDED = 0.01  # a number in bfloat16 differs by less from what it was
_SLICES = frozenset(["dynamic-slice", "slice", "gather"])
# Their callee only defines how two numbers are combined.
_WITH_REDUCERS = frozenset(["reduce", "reduce-window", "all-reduce", "reduce-scatter"])
_STARTS_AND_ENDS = frozenset(["copy-start", "copy-done"])
_ELEMENTS = frozenset(["get-tuple-element", "get_tuple_element"])
_PLACES = frozenset(["index", "attribute:index"])
# Operands that they write into an array or choose from.
_UPDATES = {"dynamic-update-slice": (1,), "dynamic_update_slice": (1,), "scatter": (-1,)}
_CHOICES = {"select": (1, 2)}
_UNCHANGED_BY = frozenset(["bitcast", "reshape", "broadcast", "broadcast_in_dim", "copy", "convert"])
_READS = frozenset(["slice", "dynamic-slice", "dynamic_slice", "gather"])
# Alternative spellings of an operation: each such pair is evidence regardless of neighbours.
_FAMILIES = (
    frozenset(["copy", "copy-start", "bitcast", "reshape", "transpose"]),
    frozenset(["dot", "dot_general", "convolution", "custom-call", "custom_call", "fusion"]),
)


def mark_regions(old: Module, new: Module, found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
    """Mark matches on weak evidence, and number the regions that were replaced.

    Args:
        old, new: the programs as they were paired.
        found: which instructions correspond.
        edits: the edits of the program channel, with their causes; `is_weak` and `region` are set.

    Example:
        >>> mark_regions(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0), ProgramMatch((), {}, {}), [])
    """
    if any(edit.old or edit.new for edit in edits):
        _Regions((old, new), found, edits).mark()


MOST_FOR_ONE, MOST_OF_A_LINE = 4, 8
"""The most operations that can replace a single one, or the reverse; with more, it was removed and they were added. A
line that had one and has others may have more of them: the derivative of a `tanh` is two operations, that of a sigmoid
five."""


class _Regions:
    """The edits of one pair of programs as a graph."""

    def __init__(self, modules: tuple[Module, Module], found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
        self.modules = modules
        self.edits = edits
        forth = paired_places(found)
        self.mapping: tuple[Mapping[Place, Place], Mapping[Place, Place]] = (
            forth,
            {new: old for old, new in forth.items()},
        )
        self.computations = {pair.old: pair.new for pair in reversed(found.pairs)}
        self.pairs = {(pair.old, pair.new): pair for pair in found.pairs}
        self.of_pair = {(edit.old, edit.new): edit for edit in edits}
        self.at: tuple[dict[Place, int], dict[Place, int]] = ({}, {})
        for index, edit in enumerate(edits):
            for side, place in enumerate((edit.old, edit.new)):
                if place is not None:
                    self.at[side].setdefault(place, index)
        self._added_operands: dict[Place, list[int]] = {}
        self.kept: dict[Place, Place] = {}
        self._contents: dict[Place, object] = {}  # of the new program, where it depends on nothing that is found here
        # Whether each edit joins others: a tuple or a loop that only passes on more or fewer values does not.
        self._joins = [
            edit.kind != "changed"
            or any(
                place and at(module, place).opcode not in _HANDING_ON
                for module, place in zip(modules, (edit.old, edit.new), strict=True)
            )
            for edit in edits
        ]

    @cached_property
    def _groups(self) -> set[str | None]:
        """The replica groups that collectives of both programs have."""
        old, new = (
            {it.attribute("replica_groups") for body in module.computations for it in body.instructions}
            for module in self.modules
        )
        return old & new

    @cached_property
    def _arguments(self) -> ArgumentChanges:
        return argument_changes(*self.modules)

    def mark(self) -> None:
        import networkx as nx

        number = 0
        regions = [sorted(members) for members in nx.connected_components(self.graph())]
        left = sorted(regions, key=len)  # a parameter is a region of its own, and its users may rest on it
        changed = [n for n, edit in enumerate(self.edits) if edit.kind == "changed"]
        # What they rest on may be in another region: the users of a constant, and what is handed on.
        outside = {n for n in changed if any(change.field == "literal" for change in self.edits[n].changes)}
        outside.update(n for n in changed if not self._joins[n])
        while sum(self._mark_weak(region) for region in left):
            left = [region for region in left if not outside.isdisjoint(region)]
        self._mark_kept()
        # Amid much other work, another number, question, values of another type or none as before are there by chance.
        amid: set[int] = set()
        for region in regions:
            removed, added, kept = work = self._work(region)
            if self._is_replaced(region, work) or removed + added > max(2 * kept, MOST_FOR_ONE):
                amid.update(region)
        for n in changed:
            edit = self.edits[n]
            fields = {change.field for change in edit.changes}
            is_number = "literal" in fields or any(change.literals for change in edit.changes)
            is_chosen = is_number or not fields.isdisjoint(_COMPARED)
            if n in amid:
                edit.is_weak |= is_chosen or {"element_type", "operands"} <= fields or self._takes_others(edit)
                edit.is_weak |= "element_type" in fields and self._has_other_neighbours(edit)
            elif is_chosen and amid:
                edit.is_weak |= self._is_amid(edit, amid)
            edit.is_weak |= self._is_other_fusion(edit) or self._returns_another(edit) or self._applies_another(edit)
            edit.is_weak |= "element_type" in fields and self._repeats_another(edit)
        for region in regions:
            if self._is_replaced(region, self._work(region)):
                for index in region:
                    edit = self.edits[index]
                    # A StableHLO function that was added with its call is not a new place for existing instructions.
                    edit.is_weak |= edit.kind == "moved" and self.modules[0].stage == "stablehlo"
                    if edit.is_weak or edit.kind in ("added", "removed"):
                        edit.region = number
                number += 1
        # After the regions: a saved array says nothing about what else was done in its place.
        for opcodes in (_CHOICES, _UPDATES):
            for edit in self.edits:
                edit.is_weak |= self._saves_another(edit, opcodes)
        self._mark_kept()

    def _mark_kept(self) -> None:
        """Find the operations that are on both sides, with the same operands, in two edits of which one is weak.

        The shortest script may make an `erfc` of a product, and that product of a `tanh`. Neither is an edit of it.
        """
        sides: tuple[list[tuple[Place, RawEdit]], list[tuple[Place, RawEdit]]] = ([], [])
        for edit in self.edits if any(edit.is_weak for edit in self.edits) else ():
            for side, kind in enumerate(("removed", "added")):
                place = (edit.old, edit.new)[side]
                if place is not None and (edit.is_weak or edit.kind == kind) and not edit.kept[side]:
                    it = at(self.modules[side], place)
                    if it.operands and it.opcode not in _NO_WORK and not it.called:
                        sides[side].append((place, edit))
        is_finding = bool(sides[0]) and bool(sides[1])
        while is_finding:
            is_finding = False
            known: dict[object, list[tuple[Place, RawEdit]]] = {}
            for place, edit in sides[1]:
                if not edit.kept[1]:
                    if place not in self._contents:
                        self._contents[place] = self._content(1, place)
                    known.setdefault(self._contents[place], []).append((place, edit))
            for place, edit in sides[0]:
                key = None if edit.kept[0] else self._content(0, place)
                same = known.get(key, []) if key is not None else []
                if same and (edit.is_weak or same[0][1].is_weak) and same[0][1] is not edit:
                    twin, other = same.pop(0)
                    self.kept[place] = twin
                    edit.kept, other.kept = (True, edit.kept[1]), (other.kept[0], True)
                    is_finding = True

    def _content(self, side: int, place: Place) -> object:
        """What an instruction is, with its operands as places of the new program; None if these are not known."""
        it = at(self.modules[side], place)
        operands: list[Place] = [(place[0], operand) for operand in it.operands]
        if all(self._is_literal(side, operand) for operand in operands):
            return None
        if not side:
            found = [self.kept.get(o) or (None if self._marked(o) else self.mapping[0].get(o)) for o in operands]
            operands = [operand for operand in found if operand is not None]
            if len(operands) < len(found):
                return None
        read = [(place, result) for place, (_, result) in zip(operands, it.reads, strict=True)]
        return it.opcode, it.shape, tuple(sorted(it.attributes)), tuple(sorted(read) if is_commutative(it) else read)

    def _is_amid(self, edit: RawEdit, amid: set[int]) -> bool:
        """Whether the unedited user of a value stands between other work, on both sides and at most two steps away."""
        below = above = False
        for side, start in enumerate((edit.old, edit.new)):
            for user in self._users_of_number(side, start) if start else ():
                instructions = self.modules[side].computations[user[0]].instructions
                given = instructions[user[1]].operands
                given = (*given, *(n for operand in given for n in instructions[operand].operands))
                taken = [n for _, n in self.users(side, user)]
                taken += [other for n in taken for other in instructions[n].operands]
                below |= any(self.at[side].get((user[0], n)) in amid for n in given)
                above |= any(self.at[side].get((user[0], n)) in amid for n in taken)
        return below and above

    def _users_of_number(self, side: int, place: Place) -> Iterator[Place]:
        """The users of a constant, directly or through broadcasts."""
        for user in self.users(side, place):
            if at(self.modules[side], user).opcode in FEEDERS:
                yield from self._users_of_number(side, user)
            else:
                yield user

    def _saves_another(self, edit: RawEdit, opcodes: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether two updates in two types write values that are not the same: a loop saves another array there.

        All that a loop saves is written at one place and under one condition, so that neither is evidence.
        """
        if edit.old is None or edit.new is None or all(change.field != "element_type" for change in edit.changes):
            return False
        it, other = at(self.modules[0], edit.old), at(self.modules[1], edit.new)
        if it.opcode not in opcodes or it.opcode != other.opcode or not (_is_float(it) and _is_float(other)):
            return False
        sides = zip(self.modules, (edit.old, edit.new), strict=True)
        ours, theirs = (set(_values(*side, opcodes[it.opcode])) for side in sides)
        is_shared = any(self.mapping[0].get(place) in theirs and not self._marked(place) for place in ours)
        return bool(ours or theirs) and not is_shared

    def graph(self) -> nx.Graph[int]:
        """The graph of edits, with edges where they touch."""
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(n for n, edit in enumerate(self.edits) if edit.old or edit.new)
        graph.add_edges_from(self._edges())
        return graph

    def _edges(self) -> Iterator[tuple[int, int]]:
        for index, edit in enumerate(self.edits):
            cause = edit.cause
            if cause is not None and edit.kind != "changed" and self._joins[cause]:
                yield index, cause
            if self._joins[index]:
                for side, place in enumerate((edit.old, edit.new)):
                    if place is not None:
                        yield from ((index, other) for other in self._touched(side, place))
            if edit.kind == "removed" and edit.old:
                yield from ((index, other) for other in self._put_in_its_place(edit.old))

    def _touched(self, side: int, place: Place) -> Iterator[int]:
        """Edits of the operands, and of the other users of constants and broadcasts that only edits use."""
        for operand in at(self.modules[side], place).operands:
            other = self.at[side].get((place[0], operand))
            if other is not None:
                if self._joins[other]:
                    yield other
            elif at(self.modules[side], (place[0], operand)).opcode in FEEDERS:
                users = [self.at[side].get(user) for user in self.users(side, (place[0], operand))]
                if len(users) <= 8 and None not in users:
                    yield from (user for user in users if user is not None and self._joins[user])
                    yield from self._touched(side, (place[0], operand))

    def _put_in_its_place(self, place: Place) -> Iterator[int]:
        """Added values that a user now takes instead of this removed one.

        All of a user for the first that it took, which joins them; one of them for any other.
        """
        users = [self.mapping[0].get(user) for user in self.users(0, place)]
        for user in (user for user in users if user is not None):
            known = self._added_operands.get(user)
            if known is None:
                indices = [self.at[1].get((user[0], operand)) for operand in at(self.modules[1], user).operands]
                added = [n for n in indices if n is not None and self.edits[n].kind == "added"]
                self._added_operands[user] = added
                yield from added
            else:
                yield from known[:1]
        matched = self.computations.get(place[0])
        if matched is not None and place[1] == self.modules[0].computations[place[0]].root:
            index = self.at[1].get((matched, self.modules[1].computations[matched].root))
            if index is not None and self.edits[index].kind == "added":
                yield index

    def users(self, side: int, place: Place) -> list[Place]:
        computation, position = place
        return [(computation, user) for user in self.modules[side].computations[computation].users[position]]

    def _mark_weak(self, region: Sequence[int]) -> bool:
        """Mark the weak matches of a region until none rests on a weak one; return whether there were any."""
        changed = [n for n in region if self.edits[n].kind == "changed" and self.edits[n].old and self.edits[n].new]
        alone = not self._is_restructured(region)
        before = sum(self.edits[n].is_weak for n in changed)
        is_marking = True
        while is_marking:
            is_marking = False
            for n in changed:
                edit = self.edits[n]
                if not edit.is_weak and self._is_weak(edit, alone):
                    edit.is_weak = is_marking = True
        return sum(self.edits[n].is_weak for n in changed) > before

    def _is_restructured(self, region: Sequence[int]) -> bool:
        """Whether something was added or removed, or several operations differ and are connected differently."""
        edits = [self.edits[n] for n in region]
        others = [{change.field for change in edit.changes} for edit in edits if edit.kind == "changed"]
        others = [fields for fields in others if "opcode" in fields]
        return any(edit.kind in ("added", "removed") for edit in edits) or (
            len(others) > 1 and any("operands" in fields for fields in others)
        )

    def _is_weak(self, edit: RawEdit, alone: bool) -> bool:
        """Whether a changed pair rests on weak evidence; `alone` if its region is not restructured."""
        assert edit.old and edit.new
        one, other = at(self.modules[0], edit.old), at(self.modules[1], edit.new)
        fields = {change.field for change in edit.changes}
        of_program = (edit.old[0], edit.new[0]) == (self.modules[0].entry, self.modules[1].entry)
        is_argument = of_program and "parameter" in (one.opcode, other.opcode)
        if is_argument and (one.opcode != other.opcode or self._came_or_went(one, other)):
            return True  # one was removed and the other added
        if self._are_other_values(edit, one, other, fields):
            return True
        if "operands" in fields and (
            self._is_at_another_place(edit.old, edit.new, alone)
            or (of_program and self._is_of_other_argument(edit.old, edit.new))
        ):
            return True
        if "opcode" in fields:
            return self._is_other_operation(edit, one, other, fields, alone)
        if one.opcode in _ELEMENTS:  # of a different number
            is_other = _kind(one) != _kind(other) and not fields.isdisjoint(_PLACES)
            return is_other or ("shape" in fields and not _are_alike(one, other))
        if one.opcode == "constant" and not {"literal", "element_type"}.isdisjoint(fields):
            return self._is_other_constant(edit, fields, alone)
        if self._hands_on_another(edit.old, edit.new, fields):
            return True
        sums_along_others = one.opcode in PRODUCTS and not fields.isdisjoint(_CONTRACTED)
        if sums_along_others and "shape" in fields:
            return True  # a product that is alone in its fusion shares operands and users with any other
        is_of_others = (sums_along_others and "operands" in fields) or (
            "shape" in fields and not _are_alike(one, other)
        )
        if one.opcode in PRODUCTS and is_of_others:
            # A product of the forward pass and one of its gradients share an operand.
            return not (self._shares_operand(edit.old, edit.new) and self._shares_user(edit.old, edit.new))
        is_caller = one.called and stem(one.opcode) not in _WITH_REDUCERS
        is_same = "replica_groups" not in fields and _carry_the_same(one, other)
        if alone or is_same or one.opcode in _PASSING_ON or one.opcode in CALLS or is_caller:
            return False
        is_reshaped = "shape" in fields and not fields.isdisjoint(_OF_OTHERS)
        if is_reshaped and not self._shares_operand(edit.old, edit.new, keeps_values=True):
            return True
        if fields == {"shape"} and one.opcode in BROADCASTS:  # a number fits everywhere
            return not self._shares_user(edit.old, edit.new)
        if "operands" not in fields and "literal" not in fields:
            return False
        rests = self._shares_operand(edit.old, edit.new, keeps_values="literal" not in fields)
        return not (rests or self._shares_user(edit.old, edit.new))

    def _is_other_operation(
        self, edit: RawEdit, one: Instruction, other: Instruction, fields: set[str], alone: bool
    ) -> bool:
        """Whether a pair of two opcodes rests on weak evidence."""
        assert edit.old and edit.new
        is_spelling = any(one.opcode in family and other.opcode in family for family in _FAMILIES)
        if is_spelling or stem(one.opcode) == stem(other.opcode):
            if {"element_type", "shape"} <= fields:
                return not (_are_alike(one, other) and self._is_of_argument(edit))
            is_typed = "operands" in fields and not fields.isdisjoint(("element_type", "shape"))
            return is_typed and not self._shares_operand(edit.old, edit.new)
        if {stem(one.opcode), stem(other.opcode)} <= {*FAMILIES} and self._shares_operand(edit.old, edit.new):
            return False  # the same value is sent in another way
        if "shape" in fields and (not fields.isdisjoint(_TAKEN) or not _are_alike(one, other)):  # little is unchanged
            return True
        if "shape" in fields and "convert" in (one.opcode, other.opcode):  # a cast of all, and a part that is cast
            return True
        has_other_count = "operands" in fields and len(one.operands) != len(other.operands)
        if has_other_count or ("element_type" in fields and _kind(one) != _kind(other)):
            return True
        return not alone or (one.opcode in CARRIERS) != (other.opcode in CARRIERS)

    def _came_or_went(self, one: Instruction, other: Instruction) -> bool:
        return path_of(one) in self._arguments.removed or path_of(other) in self._arguments.added

    def _hands_on_another(self, old: Place, new: Place, fields: set[str]) -> bool:
        """Whether two broadcasts are of another number, along others, or one of a number and one of what was computed.

        Or whether two reshapes, slices or the like are of values that have nothing in common but this pair.
        """
        one, other = at(self.modules[0], old), at(self.modules[1], new)
        opcode = one.opcode.replace("_", "-")
        if opcode in _SLICES and "shape" in fields and self._are_of_other_arguments(old, new):
            return True  # as of a weight, and of what the forward pass saved
        if opcode in _OF_FIRST and "shape" in fields and not _are_alike(one, other):
            return not (self._rests_on_operands(old, new) or self._shares_user(old, new))
        if one.opcode not in BROADCASTS:
            return False
        if "element_type" in fields and self._marked((old[0], one.operands[0])):
            return not self._rests_on_operands(old, new)  # a cast came or went on the way
        if not fields.isdisjoint(_REPEATING) and not self._rests_on_operands(old, new):  # a vector, or a number
            return "element_type" in fields or not self._shares_user(old, new)
        return self._is_literal(0, old) != self._is_literal(1, new) and not self._shares_user(old, new)

    def _are_of_other_arguments(self, old: Place, new: Place) -> bool:
        """Whether two slices in functions are of arguments of other ranks: their calls pass other arrays."""
        arguments = [
            at(module, (place[0], at(module, place).operands[0]))
            for module, place in zip(self.modules, (old, new), strict=True)
            if place[0] != module.entry
        ]
        ranks = {len(_first(it).dimensions) for it in arguments if it.opcode == "parameter"}
        return len(ranks) == len(arguments) == 2

    def _is_other_constant(self, edit: RawEdit, fields: set[str], alone: bool) -> bool:
        assert edit.old and edit.new
        one, other = at(self.modules[0], edit.old), at(self.modules[1], edit.new)
        if _kind(one) != _kind(other) and not self._arguments.retyped:  # a mask in the place of a number
            return True
        if "literal" not in fields:
            return not alone and not self._shares_user(edit.old, edit.new)
        if "element_type" in fields:
            return not alone and not (_are_alike(one, other) and self._shares_user(edit.old, edit.new))
        return not self._shares_user(edit.old, edit.new, keeps_values=True)

    def _are_other_values(self, edit: RawEdit, one: Instruction, other: Instruction, fields: set[str]) -> bool:
        """Whether neither type nor shape is as it was, or another value is copied. An argument may be anything."""
        assert edit.old and edit.new
        if "opcode" in fields or (one.opcode == "parameter" and edit.old[0] == self.modules[0].entry):
            return False
        is_other_kind = _kind(one) != _kind(other) and one.opcode not in _ELEMENTS
        if {"element_type", "shape"} <= fields and not (_are_alike(one, other) and self._is_of_argument(edit)):
            return True
        if {"element_type", "operands"} <= fields and is_other_kind and one.shape.is_array:
            return True
        if "operands" in fields and not fields.isdisjoint(_ASKED_FOR):
            # One shared operand is not enough: the products of one backward pass share one, and so do comparisons of
            # one counter.
            is_shared = self._shares_operand(edit.old, edit.new, keeps_values=True)
            return not (is_shared and self._shares_user(edit.old, edit.new))
        if "element_type" in fields and _kind(one) != _kind(other) and not one.called:
            is_value = one.operands and (one.opcode not in _PASSING_ON or one.opcode in _OF_FIRST)
            is_buffer = one.opcode == "custom-call" and not one.operands  # that something else is written into
            if (is_value or is_buffer) and not self._rests_on_operands(edit.old, edit.new):
                return True
        if family(one.opcode) is not None and self._are_exchanged(one, other):
            return True
        if {"replica_groups", "shape"} <= fields and not _carry_the_same(one, other):
            # A mesh of other sizes changes both. What comes from another operation is another collective, and so is
            # one of other groups where the mesh is the same.
            of_same_mesh = {one.attribute("replica_groups"), other.attribute("replica_groups")} <= self._groups
            return not _are_alike(one, other) or one.op_name != other.op_name or of_same_mesh
        is_copy = one.opcode in _STARTS_AND_ENDS and {"operands", "shape"} <= fields
        return is_copy and not self._shares_operand(edit.old, edit.new)

    def _are_exchanged(self, one: Instruction, other: Instruction) -> bool:
        """Whether both programs have both of two unlike collectives: the compiler treats the other one so now."""
        keys = [self._collective(0, one), self._collective(1, other)]
        return keys[0] != keys[1] and keys[0] in self._collectives[1] and keys[1] in self._collectives[0]

    @cached_property
    def _collectives(self) -> tuple[set[object], set[object]]:
        """The collectives of each program, by what they carry from where."""
        old, new = (
            {
                self._collective(side, it)
                for body in module.computations
                for it in body.instructions
                if family(it.opcode) is not None
            }
            for side, module in enumerate(self.modules)
        )
        return old, new

    def _collective(self, side: int, it: Instruction) -> object:
        line = own_place(self.modules[side].stack(it.frame))
        return it.opcode, it.shape.bare.text, it.attribute("dimensions"), it.op_name, line

    def _takes_others(self, edit: RawEdit) -> bool:
        """Whether an operation takes none of the values that it took."""
        if not (edit.old and edit.new) or all(change.field != "operands" for change in edit.changes):
            return False
        it = at(self.modules[0], edit.old)
        if it.opcode in _NO_WORK or it.called:
            return False
        return not self._shares_operand(edit.old, edit.new, keeps_values=True)

    def _has_other_neighbours(self, edit: RawEdit) -> bool:
        """Whether an operation takes none of the values that it took, cast or not, and no user of it is as it was."""
        if not (edit.old and edit.new):
            return False
        it = at(self.modules[0], edit.old)
        if it.opcode in _NO_WORK or it.opcode in ("parameter", "constant") or it.called:
            return False
        return not (self._rests_on_operands(edit.old, edit.new) or self._shares_user(edit.old, edit.new))

    def _is_at_another_place(self, old: Place, new: Place, alone: bool) -> bool:
        """Whether the two share no operand, nor a parameter nearest to them: one works on a weight, one on a bias.

        Where nothing else came or went, the same operations are connected differently.
        """
        pair = self.pairs.get((old[0], new[0]))
        if pair is None or pair.pairing is None or pair.old_side is None or pair.new_side is None:
            return False
        places = pair.pairing.places(pair.old_side, pair.new_side)
        if not are_apart(places[0][old[1]], places[1][new[1]]) or self._shares_operand(old, new, keeps_values=True):
            return False
        sides = (self.mapping[side].get(place) for side in (0, 1) for place in self._taken(side, (old, new)[side]))
        return not alone or None in sides

    def _is_of_other_argument(self, old: Place, new: Place) -> bool:
        """Whether an argument that was removed, or added, is all that one of two instructions takes beside numbers."""
        comes_and_goes = self._arguments.removed, self._arguments.added
        for side, place in enumerate((old, new)):
            taken = [at(self.modules[side], one) for one in self._taken(side, place)]
            if taken and all(path_of(it) in comes_and_goes[side] for it in taken):
                return True
        return False

    def _is_of_argument(self, edit: RawEdit) -> bool:
        """Whether a value may change type and size and stay the same: arguments, and values made of them."""
        assert edit.old and edit.new
        old = edit.old
        it = at(self.modules[0], old)
        is_value = it.opcode == "fusion" and it.shape.is_array and not self._shares_work(edit.old, edit.new)
        if self._arguments.retyped or (it.opcode in _HANDING_ON and not is_value):
            return True
        places = [(old[0], operand) for operand in it.operands]
        given = [self.at[0].get(place) for place in places if at(self.modules[0], place).opcode not in _HANDING_ON]
        fields = [{change.field for change in self.edits[n].changes} for n in given if n is not None]
        return any({"element_type", "shape"} <= one for one in fields)

    def _is_other_fusion(self, edit: RawEdit) -> bool:
        """Whether an edited pair of fusions has its place in common and none of its work."""
        if not (edit.old and edit.new):
            return False
        pair = at(self.modules[0], edit.old), at(self.modules[1], edit.new)
        if any(it.opcode != "fusion" for it in pair) or self._shares_work(edit.old, edit.new, changing=()):
            return False
        bodies = [self.modules[side].computations[callee] for side, it in enumerate(pair) for callee in it.called]
        work = [it.opcode for body in bodies for it in body.instructions if it.opcode not in CARRIERS]
        return bool(work) and all(it.opcode not in CALLS for body in bodies for it in body.instructions)

    def _applies_another(self, edit: RawEdit) -> bool:
        """Whether a compiled reduction applies another operation now: a sum is no maximum, whatever else they share.

        In StableHLO somebody may have written the one for the other. The operation that it applies goes with it.
        """
        if not (edit.old and edit.new) or self.modules[0].stage != "compiled":
            return False
        pair = at(self.modules[0], edit.old), at(self.modules[1], edit.new)
        if all(it.opcode in _WITH_REDUCERS and it.called for it in pair):
            bodies = [module.computations[it.called[-1]] for module, it in zip(self.modules, pair, strict=True)]
            return len({body.instructions[body.root].opcode for body in bodies}) > 1
        places = zip(self._applied, (edit.old[0], edit.new[0]), strict=True)
        return pair[0].opcode != pair[1].opcode and all(index in applied for applied, index in places)

    def _repeats_another(self, edit: RawEdit) -> bool:
        """Whether compiled broadcasts of two types are of different numbers: coefficients of different polynomials."""
        if not (edit.old and edit.new) or self.modules[0].stage != "compiled":
            return False
        numbers = []
        for module, place in zip(self.modules, (edit.old, edit.new), strict=True):
            it = at(module, place)
            of = at(module, (place[0], it.operands[0])) if it.opcode == "broadcast" else it
            numbers.append(number_in(of.literal) if of.opcode == "constant" else None)
        old, new = numbers
        return old is not None and new is not None and abs(old - new) > _ROUNDED * max(abs(old), abs(new))

    @cached_property
    def _applied(self) -> tuple[Container[int], Container[int]]:
        """The computations of either side that reductions and others apply to elements."""
        old, new = (applied_bodies(module) for module in self.modules)
        return old, new

    def _returns_another(self, edit: RawEdit) -> bool:
        """Whether two fusions return another value where its type changed, or of one result type and shape.

        The compiler computes a value again in each fusion that takes it, so that most fusions of a layer share work.
        """
        fields = {change.field for change in edit.changes}
        if not (edit.old and edit.new) or "element_type" not in fields:
            return False
        pair = at(self.modules[0], edit.old), at(self.modules[1], edit.new)
        callees = tuple(it.called[0] for it in pair if it.opcode == "fusion")
        pair_inside = self.pairs.get((callees[0], callees[1])) if len(callees) == 2 else None
        pairing = pair_inside.pairing if pair_inside else None
        if pairing is None:
            return False
        bodies = [module.computations[n] for module, n in zip(self.modules, callees, strict=True)]
        if all(it.shape.is_array for it in pair):
            one, other = (source_through(body, body.root, _UNCHANGED_BY | _READS) for body in bodies)
            return "shape" in fields and (pairing.old[one] != other or self._marked((callees[0], one)))
        results = [_results(body) for body in bodies]
        parts = [it.shape.tuple_shapes for it in pair]
        retyped = [
            one
            for one, *types in zip(results[0], *parts, strict=False)
            if types[0].element_type != types[1].element_type
        ]
        is_kept = (pairing.old[one] in results[1] and not self._marked((callees[0], one)) for one in retyped)
        return bool(retyped) and not any(is_kept)

    def _shares_work(self, old: Place, new: Place, changing: Container[str] = ("opcode", "element_type")) -> bool:
        """Whether two fusions share work: one that grew by a slice and a cast is the same one.

        Args:
            old, new: the fusions.
            changing: fields of which one makes an operation another one.
        """
        callees = [at(module, place).called for module, place in zip(self.modules, (old, new), strict=True)]
        for one, other in zip(*callees, strict=False):
            if (one, other) not in self.pairs:
                continue
            pairing = self.pairs[one, other].pairing  # of one body that several fusions call, each match counts
            if pairing is None:
                return True
            for n, it in enumerate(self.modules[0].computations[one].instructions):
                if it.opcode not in CARRIERS and pairing.old[n] >= 0:
                    edit = self.of_pair.get(((one, n), (other, pairing.old[n])))
                    if edit is None or not (edit.is_weak or any(c.field in changing for c in edit.changes)):
                        return True
        return False

    def _shares_operand(self, old: Place, new: Place, *, keeps_values: bool = False) -> bool:
        """Whether they take the same value, on strong evidence; with `keeps_values` more than a number."""
        operands = at(self.modules[1], new).operands
        ours = at(self.modules[0], old).operands
        if keeps_values:
            ours = tuple(operand for operand in ours if not self._is_literal(0, (old[0], operand))) or ours
        for operand in ours:
            matched = self.mapping[0].get((old[0], operand))
            if matched is not None and matched[1] in operands and not self._marked((old[0], operand)):
                return True
        return False

    def _rests_on_operands(self, old: Place, new: Place) -> bool:
        """Whether the two share an operand, directly or through a convert, by a match on more than weak evidence.

        Why converts: where the element type changed, operands changed it too or were cast on the way. The position from
        which a value is taken says nothing of it.
        """
        sides: list[list[int]] = []
        most = 1 if at(self.modules[0], old).opcode.replace("_", "-") in _OF_FIRST else None
        for module, place in zip(self.modules, (old, new), strict=True):
            instructions, operands = module.computations[place[0]].instructions, at(module, place).operands[:most]
            casts = [instructions[n] for n in operands if instructions[n].opcode == "convert"]
            sides.append([*operands, *(behind for it in casts for behind in it.operands)])
        before, after = sides
        matches = (self.mapping[0].get((old[0], operand)) for operand in before if not self._marked((old[0], operand)))
        return any(matched is not None and matched[1] in after for matched in matches)

    def _are_kept(self, old: Place, new: Place) -> bool:
        """Whether two instructions take the same values, except constants, on strong evidence."""
        ours, theirs = self._taken(0, old), self._taken(1, new)
        for place in ours:
            matched = self.mapping[0].get(place)
            if matched not in theirs or self._is_another(place):
                return False
        return len(ours) == len(theirs)

    def _taken(self, side: int, place: Place) -> list[Place]:
        """The operands of an instruction except constants; behind those added or removed that only hand on a value."""
        found = []
        for operand in at(self.modules[side], place).operands:
            taken = place[0], operand
            while taken not in self.mapping[side] and _hands_on(at(self.modules[side], taken)):
                taken = place[0], at(self.modules[side], taken).operands[0]
            if not self._is_literal(side, taken):
                found.append(taken)
        return found

    def _is_literal(self, side: int, place: Place) -> bool:
        owner = self.modules[side].computations[place[0]]
        return owner.instructions[source_through(owner, place[1], FEEDERS)].opcode in FEEDERS

    def _shares_user(self, old: Place, new: Place, *, keeps_values: bool = False) -> bool:
        """Whether the two share a user, directly or through broadcasts, by a match on more than weak evidence.

        The user may be unedited even though one of its operands was replaced; it has to rest on something else then.
        With `keeps_values` the user must also take the same values.
        """
        theirs = set(self.users(1, new))
        for user in self.users(0, old):
            matched = self.mapping[0].get(user)
            if matched not in theirs or self._marked(user):
                continue
            if at(self.modules[0], user).opcode in FEEDERS:
                is_shared = self._shares_user(user, matched, keeps_values=keeps_values)
            elif keeps_values:
                is_shared = self._are_kept(user, matched)
            else:
                is_shared = self._rests_on_another(user, matched, old)
            if is_shared:
                return True
        is_root = [module.computations[p[0]].root == p[1] for module, p in zip(self.modules, (old, new), strict=True)]
        return all(is_root)

    def _rests_on_another(self, old: Place, new: Place, apart: Place) -> bool:
        """Whether two instructions share an operand other than `apart` and more than a number, or a user."""
        after = {(new[0], operand) for operand in at(self.modules[1], new).operands}
        beside = [(old[0], operand) for operand in at(self.modules[0], old).operands]
        beside = [place for place in beside if place != apart and not self._is_literal(0, place)]
        after.update(self.users(1, new))
        near = [*beside, *self.users(0, old)]
        if any(self.mapping[0].get(place) in after and not self._marked(place) for place in near):
            return True
        return all(module.computations[p[0]].root == p[1] for module, p in zip(self.modules, (old, new), strict=True))

    def _is_another(self, place: Place) -> bool:
        """Whether the match of an old instruction is weak, between two different operations, or of other values."""
        index = self.at[0].get(place)
        if index is None:
            return False
        fields = {change.field for change in self.edits[index].changes}
        return self.edits[index].is_weak or not fields.isdisjoint(("opcode", "operands"))

    def _marked(self, place: Place) -> bool:
        index = self.at[0].get(place)
        return index is not None and self.edits[index].is_weak

    def _work(self, region: Sequence[int]) -> tuple[int, int, int]:
        """How many operations of a region were removed, how many added, and how many edits keep theirs.

        What moved between functions of StableHLO is kept: JAX wrote a call out, or made one.
        """
        counts = {"removed": 0, "added": 0, "kept": 0}
        keeping = ("changed", "moved") if self.modules[0].stage == "stablehlo" else ("changed",)
        for edit in [self.edits[n] for n in region]:
            if edit.kind in keeping and not edit.is_weak:
                counts["kept"] += 1
                continue
            for side, kind in ((0, "removed"), (1, "added")):
                place = edit.new if side else edit.old
                if place is not None and (edit.is_weak or edit.kind == kind) and not edit.kept[side]:
                    opcode = at(self.modules[side], place).opcode
                    counts[kind] += opcode not in CARRIERS and opcode != "copy"
        return counts["removed"], counts["added"], counts["kept"]

    def _is_replaced(self, region: Sequence[int], work: tuple[int, int, int]) -> bool:
        """Whether most of a region, whose `_work` is given, was added and removed, on both sides."""
        removed, added, kept = work
        if min(removed, added) == 1 and max(removed, added) > MOST_OF_A_LINE:
            return False
        return bool(removed and added) and self._is_restructured(region) and removed + added > 2 * kept


def _results(body: Computation) -> list[int]:
    """Sources of the values in the tuple that a fusion returns, regardless of shape and type."""
    return [source_through(body, n, _UNCHANGED_BY) for n in body.instructions[body.root].operands]


def _values(module: Module, place: Place, operands: Sequence[int]) -> Iterator[Place]:
    """Sources of operands, regardless of shape and type, with the values that each is made of.

    What is kept where another value is not chosen was read at some place of an array: it is no evidence.
    """
    body = module.computations[place[0]]
    instructions = body.instructions
    sources = [source_through(body, instructions[place[1]].operands[number], _UNCHANGED_BY) for number in operands]
    for written in [n for n in sources if instructions[n].opcode not in _READS] or sources:
        for position in (written, *(source_through(body, n, _UNCHANGED_BY) for n in instructions[written].operands)):
            it = instructions[position]
            if _is_float(it) and it.opcode not in FEEDERS | _READS:
                yield place[0], position


def _hands_on(it: Instruction) -> bool:
    """Whether a result is one value that is taken, in another form or of all devices."""
    return len(it.operands) == 1 and (it.opcode in _UNCHANGED_BY or stem(it.opcode) in FAMILIES)


def _are_alike(one: Instruction, other: Instruction) -> bool:
    """Whether two values have as many dimensions and hold one kind of numbers."""
    ranks = [len(_first(it).dimensions) for it in (one, other)]
    return _kind(one) == _kind(other) and ranks[0] == ranks[1]


def _carry_the_same(one: Instruction, other: Instruction) -> bool:
    """Whether two collectives carry arrays of mostly the same sizes: one that gathers along another axis is the same.

    Several that XLA combines into one are a tuple, which may have one part more.
    """
    if one.opcode != other.opcode or family(one.opcode.replace("_", "-")) is None:
        return False
    ours, theirs = (Counter((part.element_type, part.bytes) for part in it.shape.leaves) for it in (one, other))
    return (ours & theirs).total() * 2 > max(ours.total(), theirs.total())


def _kind(it: Instruction) -> str:
    """Floating-point numbers, truth values, or whole numbers."""
    return "float" if _is_float(it) else "pred" if _first(it).element_type == "pred" else "whole"


def _is_float(it: Instruction) -> bool:
    return _first(it).element_type.startswith(("f", "bf", "c"))


def _first(it: Instruction) -> Shape:
    """The shape of a value; of a tuple the first array in it."""
    return next(iter(it.shape.leaves), it.shape)


Line = tuple[str, int] | None
_MOST = 0.6  # of a region's edits have to come from one line


def number_by_line(edits: Sequence[RawEdit], lines: Sequence[tuple[Line, ...]]) -> list[int | None]:
    """For each edit the number of the replaced region that it belongs to; regions of equal lines have one number.

    Args:
        edits: edits that `mark_regions` has seen.
        lines: for each of them the old and the new line of the user's own code.

    Returns:
        None for edits of no replaced region, and of one that comes from several lines.
    """
    members: dict[int, list[int]] = {}
    for index, edit in enumerate(edits):
        if edit.region >= 0:
            members.setdefault(edit.region, []).append(index)
    if not members:
        return [None] * len(edits)
    numbers: dict[tuple[Line, ...], int] = {}
    found: list[int | None] = [None] * len(edits)
    sides_of = {
        region: region_lines([edits[n] for n in inside], [lines[n] for n in inside])
        for region, inside in members.items()
    }
    of_one_line = {old for old, new in sides_of.values() if old == new}
    for region, inside in members.items():
        sides = sides_of[region]
        if None in sides:
            continue
        # A line that took the place of itself did not take that of another one too: it is one replaced region.
        own = next((line for line in reversed(sides) if line in of_one_line), None)
        number = numbers.setdefault((own, own) if own else (sides[0], sides[1]), len(numbers))
        for n in inside:
            if all(_line_of(edits[n], lines[n], side) in (None, sides[side]) for side in (0, 1)):
                found[n] = number
    # Instructions of the same line added or removed elsewhere belong to the region: the backward pass, another layer.
    by_side: tuple[dict[Line, int], dict[Line, int]] = ({}, {})
    for key, number in numbers.items():
        for side in (0, 1):
            by_side[side].setdefault(key[side], number)
    for n, edit in enumerate(edits):
        is_other = edit.is_weak or any(change.field == "opcode" for change in edit.changes)
        if found[n] is None and edit.kind == "changed" and is_other:
            found[n] = numbers.get((lines[n][0], lines[n][1]))
            edit.is_weak |= found[n] is not None
        if found[n] is None and edit.kind in ("added", "removed") and edit.cause is None:
            side = int(edit.kind == "added")
            if lines[n][side] is not None:
                found[n] = by_side[side].get(lines[n][side])
    return found


def region_lines(edits: Sequence[RawEdit], lines: Sequence[tuple[Line, ...]]) -> tuple[Line, Line]:
    """The old and the new line that most edits of a region come from; None if no line has most of them."""
    found: list[Line] = [None, None]
    for side in (0, 1):
        counts = Counter(line for edit, own in zip(edits, lines, strict=True) if (line := _line_of(edit, own, side)))
        for line, count in counts.most_common(1):
            if count >= _MOST * counts.total():
                found[side] = line
    return found[0], found[1]


def _line_of(edit: RawEdit, lines: tuple[Line, ...], side: int) -> Line:
    return lines[side] if (edit.old, edit.new)[side] else None


Describe = Callable[[int, int, int], tuple[str | None, tuple[Frame, ...], bool]]
"""Of an instruction, by side, computation and position, its scope and its Python frames."""
Part = tuple[tuple[str, ...], bool]
"""Which passes and loops an instruction is in, outermost first, and whether it is in a fusion."""
PartOf = Callable[[int, int, int], Part]
"""The part of an instruction, by side, computation and position."""


def reported_edits(
    edits: Sequence[Edit], describe: Describe, part_of: PartOf
) -> tuple[tuple[Edit, ...], tuple[int, ...]]:
    """The edits as reports show them: a match on weak evidence as removed and added.

    Args:
        edits: the edits of the script.
        describe: what is known about an instruction's origin.
        part_of: the part of its program that an instruction is in.

    Returns:
        the edits, and for each the index of the script's edit that it is about.
    """
    if not any(edit.is_weak for edit in edits):
        return tuple(edits), tuple(range(len(edits)))
    halves = {n: _split(edit, describe) for n, edit in enumerate(edits) if edit.is_weak or any(edit.kept)}
    halves |= _without_moved(edits, halves, part_of)
    rewired = [n for n, edit in enumerate(edits) if edit.kind == "changed" and edit.fields == ("operands",)]
    alone = [n for n in rewired if n not in halves and edits[n].region is None and edits[n].cause is None]
    elsewhere = {n: _split(edits[n], describe) for n in alone}
    moved = {n: some for n, some in elsewhere.items() if _line_key(some[0], part_of) != _line_key(some[1], part_of)}
    joined = _joined(edits, halves, moved, part_of)
    parts_of = [joined.get(index, halves.get(index, [edit])) for index, edit in enumerate(edits)]
    found: list[Edit] = []
    origins: list[int] = []
    first: dict[int, tuple[int, int]] = {}
    for index in range(len(edits)):
        parts = parts_of[index]
        first[index] = (len(found), len(found) + len(parts) - 1)
        found += parts
        origins += [index] * len(parts)
    if not found:  # operations that changed their places, and nothing else: the script says which
        return tuple(edits), tuple(range(len(edits)))
    causes = [
        None if edit.cause is None or not parts_of[edit.cause] else first[edit.cause][edit.kind != "removed"]
        for edit in found
    ]
    found = list(map(_with_cause, found, causes))
    retyped = dict(_retyped(found, {n for n, origin in enumerate(origins) if origin in halves}, part_of))
    heads = {n: head for head, (_, members) in retyped.items() for n in members}
    return with_joined(found, origins, {head: edit for head, (edit, _) in retyped.items()}, heads)


def with_joined(
    edits: Sequence[Edit], origins: Sequence[int], joined: Mapping[int, Edit], heads: Mapping[int, int]
) -> tuple[tuple[Edit, ...], tuple[int, ...]]:
    """The edits where some of them are one; what one of those caused, that one did.

    Args:
        edits: as reports show them.
        origins: for each the index of the script's edit that it is about.
        joined: the edits that others are together, by the index of the first of those.
        heads: that index, by the index of each of those.

    Returns:
        the edits, and for each the index of the script's edit.
    """
    kept = [n for n in range(len(edits)) if heads.get(n, n) == n]
    places = {n: place for place, n in enumerate(kept)}
    chosen = (joined.get(n, edits[n]) for n in kept)
    return (
        tuple(_with_cause(e, None if e.cause is None else places[heads.get(e.cause, e.cause)]) for e in chosen),
        tuple(origins[n] for n in kept),
    )


def _with_cause(edit: Edit, cause: int | None) -> Edit:
    return edit if edit.cause == cause else replace(edit, cause=cause)


def _retyped(
    edits: Sequence[Edit], halves: Container[int], part_of: PartOf
) -> Iterator[tuple[int, tuple[Edit, list[int]]]]:
    """Removed and added operations of one scope that differ in their floating-point type alone, or in their sizes.

    Those of other sizes are of one line, and a cast is another one either way. The shortest script has paired at least
    one of them with another operation, for the sake of its neighbours.

    Args:
        edits: as reports show them.
        halves: those that are one side of a pair.

    Yields:
        the index of the first of each, with the edit that changes their type or shape and all their indices.
    """
    of_types: dict[object, tuple[list[int], list[int]]] = {}
    of_sizes: dict[object, tuple[list[int], list[int]]] = {}
    for n, edit in enumerate(edits):
        site = edit.new or edit.old
        is_half = edit.kind in ("added", "removed") and edit.cause is None and edit.op_name
        if is_half and site and site.opcode != "convert" and (key := _line_key(edit, part_of)):
            part, text, file, line = key
            alike = part, _FLOATS.sub("f", text), file, edit.op_name  # lines above it may have come or gone
            of_types.setdefault(alike, ([], []))[edit.kind == "added"].append(n)
            sized = part, _SIZES.sub(_without_sizes, text), file, line, edit.op_name
            of_sizes.setdefault(sized, ([], []))[edit.kind == "added"].append(n)
    joined: set[int] = set()
    for field, pattern, same in (("element_type", _FLOATS, of_types), ("shape", _SHAPE, of_sizes)):
        for olds, news in same.values():
            members = [*olds, *news]
            sides = ([edits[n] for n in olds], [edits[n] for n in news])
            types = [{_result_of(edit, pattern) for edit in some} for some in sides]
            counts = [sum(edit.count for edit in some) for some in sides]
            if counts[0] != counts[1] or [len(some) for some in types] != [1, 1] or types[0] == types[1]:
                continue
            if any(n in halves for n in members) and joined.isdisjoint(members):
                joined.update(members)
                change = FieldChange(field, *types[0], *types[1])
                yield min(members), (joined_halves(*sides, change), members)


_FLOATS = re.compile(r"\bb?f\d+\b")
_SIZES = re.compile(r"(?<=\w)\[(?:\d+,)*\d+\]")
_SHAPE = re.compile(r"\w+\[[\d,]+\]")


def _without_sizes(dimensions: re.Match[str]) -> str:
    return _NUMBER.sub("n", dimensions[0])


_NUMBER = re.compile(r"\b(?!1\b)\d+")  # a dimension of size 1 is repeated


def _result_of(edit: Edit, pattern: re.Pattern[str]) -> str:
    """The type, or the shape, of what an operation gives."""
    site = edit.new or edit.old
    found = pattern.search(site.text.partition(" = ")[2]) if site else None
    return found[0] if found else ""


def _without_moved(edits: Sequence[Edit], halves: Mapping[int, list[Edit]], part_of: PartOf) -> dict[int, list[Edit]]:
    """Edits without the halves that only went to another fusion: the same operations of a line, with their operands.

    Names are made of what an instruction is, so that equal texts with all names say that it takes the same.
    """
    single = {n: [edit] for n, edit in enumerate(edits) if edit.kind in ("added", "removed")}
    same: dict[object, tuple[list[tuple[int, Edit]], list[tuple[int, Edit]]]] = {}
    for n, some in {**single, **halves}.items():
        for edit in some if edits[n].cause is None else ():
            if key := _line_key(edit, part_of):
                same.setdefault(key, ([], []))[edit.kind == "added"].append((n, edit))
    gone: dict[int, list[Edit]] = {}
    for sides in same.values():
        counts = [sum(edit.count for _, edit in some) for some in sides]
        texts = [sorted(s.text for _, edit in some for pair in edit.sites for s in pair if s) for some in sides]
        members = [*sides[0], *sides[1]]
        if counts[0] == counts[1] and texts[0] == texts[1] and any(n in halves for n, _ in members):
            for n, edit in members:
                gone.setdefault(n, []).append(edit)
    return {
        n: [edit for edit in halves.get(n, single.get(n, [])) if all(edit is not one for one in some)]
        for n, some in gone.items()
    }


def _joined(
    edits: Sequence[Edit], halves: Mapping[int, list[Edit]], elsewhere: Mapping[int, list[Edit]], part_of: PartOf
) -> dict[int, list[Edit]]:
    """What the same operations of one line are, where they were put together in another way: for each edit its own.

    The shortest script makes of two operations that changed their places each other: a gather became an add, and an add
    became a gather. As removed and added, each at its line, they are what they were, with other operands or none.
    """
    single = {n: [e] for n, e in enumerate(edits) if e.kind in ("added", "removed")}
    parts = {
        n: some
        for n, some in {**single, **halves, **elsewhere}.items()
        if edits[n].region is None and edits[n].cause is None
    }
    while True:
        same: dict[object, tuple[list[Edit], list[Edit]]] = {}
        members: dict[object, set[int]] = {}
        for n, some in parts.items():
            for edit in some:
                key = _line_key(edit, part_of)
                same.setdefault(key, ([], []))[edit.kind == "added"].append(edit)
                members.setdefault(key, set()).add(n)
        counts = {key: [sum(edit.count for edit in side) for side in sides] for key, sides in same.items()}
        unlike = {
            n for key, (removed, added) in counts.items() if key is None or removed != added for n in members[key]
        }
        if not unlike:
            break
        parts = {n: some for n, some in parts.items() if n not in unlike}
    reached = {n for n in parts if n in halves}
    while more := {n for some in members.values() if not some.isdisjoint(reached) for n in some} - reached:
        reached |= more
    found: dict[int, list[Edit]] = {n: [] for n in reached}
    for kind, numbers in members.items():
        if not numbers.isdisjoint(reached):
            found[min(numbers)] += _rewired(*same[kind])
    return found


def _line_key(edit: Edit, part_of: PartOf) -> tuple[Part, str, str, int] | None:
    """The part that an added or removed operation is in, its text without names, and its line; None if unknown."""
    site, line = edit.new or edit.old, own_place(edit.source)
    if site is None or line is None or site.opcode in _NO_WORK:
        return None
    part = part_of(int(edit.new is not None), site.computation, site.instruction)
    return part, _NAMES.sub("%", site.text.partition(" = ")[2]), *line


def _rewired(removed: Sequence[Edit], added: Sequence[Edit]) -> list[Edit]:
    """The operations whose operands changed; empty if none changed."""
    olds, news = ([pair[side] for edit in some for pair in edit.sites] for side, some in enumerate((removed, added)))
    texts = [
        [", ".join(_NAMES.findall(site.text.partition(" = ")[2])) for site in some if site] for some in (olds, news)
    ]
    if sorted(texts[0]) == sorted(texts[1]):
        return []
    return [joined_halves(removed, added, FieldChange("operands", texts[0][0], texts[1][0]))]


_NAMES = re.compile(r"%[\w.#-]+")


def _split(edit: Edit, describe: Describe) -> list[Edit]:
    if not edit.is_weak and edit.kept != (False, False):
        return []
    cost = edit.cost or (None, None)
    name, source, is_of_several = edit.op_name, edit.source, edit.is_of_several_lines
    if edit.old:
        name, source, is_of_several = describe(0, edit.old.computation, edit.old.instruction)
    removed = replace(
        edit, kind="removed", fields=(), changes=(), sites=tuple((old, None) for old, _ in edit.sites),
        op_name=name, source=source, matcher="", cost=(cost[0], None), users_cost=(None, None), is_weak=False,
        is_of_several_lines=is_of_several,
    )  # fmt: skip
    added = replace(
        edit, kind="added", fields=(), changes=(), sites=tuple((None, new) for _, new in edit.sites),
        matcher="", cost=(None, cost[1]), is_weak=False,
    )  # fmt: skip
    return [half for half, is_kept in zip((removed, added), edit.kept, strict=True) if not is_kept]


def joined_halves(olds: Sequence[Edit], news: Sequence[Edit], change: FieldChange) -> Edit:
    """Joins removed and added edits of equally many instructions, paired in order, into one changed edit.

    Args:
        olds, news: the removed edits and the added ones.
        change: what differs.
    """
    sites = ([pair[side] for edit in some for pair in edit.sites] for side, some in enumerate((olds, news)))
    old, new = (added_up(e.cost[side] for e in some if e.cost) for side, some in enumerate((olds, news)))
    return replace(
        news[0], kind="changed", fields=(change.field,), changes=(change,), count=sum(edit.count for edit in olds),
        sites=tuple(zip(*sites, strict=False)), cost=(old, new), cause=None, region=None, is_replaced=False,
    )  # fmt: skip


def opcode_counts(edits: Iterable[Edit]) -> tuple[tuple[str, int], ...]:
    """Opcodes of added or removed instructions with their counts, most frequent first.

    Knock-on edits are not counted, nor are instructions that only pass on values if there are others.
    """
    counts: Counter[str] = Counter()
    for edit in edits:
        site = edit.new or edit.old
        if site is not None and edit.cause is None:
            counts[site.opcode] += edit.count
    work = {opcode: count for opcode, count in counts.items() if opcode not in CARRIERS} or counts
    return tuple(sorted(work.items(), key=lambda item: (-item[1], item[0])))
