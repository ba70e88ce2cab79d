"""Knock-on edits: edits reached from their causes in the graph of edits. None is dropped.

An edit follows from an edited source of its value where the source explains every field that changed:

- **carried**: the changed type (element type, shape, layout, memory space, sharding) is on both sides what an edited
  operand passes on. A parameter takes it from the caller's operand, a call or fusion from its body's root, a loop from
  its initial value and its body. A conversion states its type itself and never follows in it.
- **brought along**: a constant, broadcast, bitcast or tuple that was added or removed only because its users were, a
  get-tuple-element or `-done` because its operand was, and the later steps of a collective because its first was.
- **counted**: the compiler's note on how often a loop turns follows from an edit in its condition.
- **halves**: a broadcast that was added or removed next to another one whose shape or dimensions changed.
- **inside**: the contents of a computation that was added or removed with its call, and instructions moved into a new
  fusion or out of a removed one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hlodiff.differ.computation_matches import ProgramMatch
from hlodiff.differ.edits import RawEdit, roots_of
from hlodiff.differ.fields import is_note
from hlodiff.differ.result import FieldChange
from hlodiff.graph import START, calls_by_callee, nearest_causes
from hlodiff.hlo.collectives import continued_steps, family
from hlodiff.hlo.metadata import called_function, own_place
from hlodiff.hlo.model import (
    BINDS,
    BROADCASTS,
    CALLS,
    CONDITIONALS,
    Instruction,
    Layout,
    Module,
    Place,
    Shape,
    at,
    is_embedded,
)
from hlodiff.hlo.traversal import call_sites, preorder

if TYPE_CHECKING:
    import networkx as nx

_TYPES = ("element_type", "shape", "layout", "memory_space")
# Fields that only repeat sizes, or plan for them: not changes of their own.
_WITH_TYPE = frozenset(
    ["backend_config", "attribute:slice", "attribute:slice_sizes", "attribute:dynamic_slice_sizes",
     "attribute:limit_indices", "attribute:window", "attribute:broadcast_dimensions"]
)  # fmt: skip
# The result has the type of the source, whatever that is.
_IDENTICAL = frozenset(
    ["parameter", "get-tuple-element", "get_tuple_element", "tuple", "return", "sdy.return", "fusion", "call",
     "func.call", "while", "conditional", "case", "if", "optimization-barrier", "optimization_barrier", "async-start",
     "async-update", "async-done", "copy-start", "copy-done", "bitcast"]
)  # fmt: skip
_STATES_TYPE = frozenset(["convert", "bitcast-convert", "bitcast_convert", "stochastic-convert"])
_FOR_USERS = frozenset(["constant", *BROADCASTS, "iota", "bitcast", "reshape", "tuple", "parameter"])
_NUMBER = re.compile(r"(?:dense<)?(-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?))>?")
# Infinities of f16, bf16, f32 and f64 as StableHLO prints them; the first digit has the sign.
_INFINITY = re.compile(r"dense<0x([7F])(?:C00|F80(?:0{4})?|FF0{13})>")
_OF_BFLOAT16 = 2.0**-8  # the relative error of rounding to it
_OF_SOURCE = frozenset(["get-tuple-element", "get_tuple_element", "bitcast", "reshape", "tuple"])
_RETURNS = frozenset(["return", "sdy.return"])
_RUN_BODY = frozenset(["fusion", "call", "func.call", "async-start"])


def with_causes(old: Module, new: Module, found: ProgramMatch, edits: list[RawEdit]) -> None:
    """Set the direct cause of each edit, as an index into the same list; None for independent ones. There are no rings.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond; only opened ones are used.
        edits: single edits of the program channel.

    Example:
        >>> edit = RawEdit("changed", None, None)
        >>> program = Module("m", "compiled", (), 0)
        >>> with_causes(program, program, ProgramMatch((), {}, {}), [edit])
        >>> edit.cause is None
        True
    """
    sides = _side(old, found, edits, 0), _side(new, found, edits, 1)
    for edit, cause in zip(edits, nearest_causes([_candidates(sides, edit) for edit in edits]), strict=True):
        edit.cause = cause
    _hand_on(sides, edits)


def follow_other_calls(old: Module, new: Module, found: ProgramMatch, edits: Sequence[RawEdit]) -> None:
    """What only one side has in a body that several calls share follows from the one of them that brought it.

    That is a call matched on weak evidence, which reports show as removed and added. The line of such a body is that of
    another call.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond.
        edits: of the program channel, after `mark_regions`; `cause` is set where there is none.

    Example:
        >>> program = Module("m", "compiled", (), 0)
        >>> follow_other_calls(program, program, ProgramMatch((), {}, {}), [])
    """
    calls: list[dict[int, int]] = [{}, {}]
    for n, edit in enumerate(edits):
        if edit.is_weak and edit.kind == "changed" and edit.old and edit.new:
            one, other = at(old, edit.old), at(new, edit.new)
            if one.opcode in _RUN_BODY and other.opcode in _RUN_BODY:
                calls[0].update((callee, n) for callee in one.called)
                calls[1].update((callee, n) for callee in other.called)
    opened = [pair for pair in found.pairs if pair.pairing is not None]
    for side, module in enumerate((old, new)):
        sites = call_sites(module) if calls[side] else []
        times = Counter((pair.old, pair.new)[side] for pair in opened for _ in range(min(pair.count, 2)))
        calls[side] = {body: n for body, n in calls[side].items() if len(sites[body]) > 1 and times[body] < 2}
    for n, edit in enumerate(edits):
        if edit.cause is None and (edit.is_weak or edit.kind in ("added", "removed")):
            places = (edit.old, edit.new)
            found_calls = (calls[side].get(place[0]) for side, place in enumerate(places) if place)
            call = next((one for one in found_calls if one is not None), None)
            if call is None or n in preorder([call], lambda one: [c for c in (edits[one].cause,) if c is not None]):
                continue
            edit.cause = call


_MESH = "attribute:sdy.mesh "
_NO_AXES = "<[]>"


def follow_meshes(edits: Sequence[RawEdit]) -> None:
    """What is split over the same axes of another mesh follows from the mesh that came, and so does the one that went.

    JAX names a mesh by its axes and their sizes, so that each sharding names another one. The change of the mesh that
    came has the axes of both.

    Args:
        edits: of the program channel, in the caller's direction; `cause` is set.

    Example:
        >>> follow_meshes([])
    """
    header = [(n, edit) for n, edit in enumerate(edits) if edit.old is None and edit.new is None]
    of_header = [(n, change) for n, edit in header for change in edit.changes if change.field.startswith(_MESH)]
    came = {change.field.removeprefix(_MESH): n for n, change in of_header if not change.old}
    gone = {change.field.removeprefix(_MESH): n for n, change in of_header if not change.new}
    if len(came) != 1 or len(gone) != 1:
        return
    (new, cause), (old, index) = *came.items(), *gone.items()
    edits[index].cause = cause
    axes = next(change.old for change in edits[index].changes if change.field == f"{_MESH}{old}")
    if axes != _NO_AXES:
        edits[cause].changes = [
            replace(change, old=axes) if change.field == f"{_MESH}{new}" and change.new != _NO_AXES else change
            for change in edits[cause].changes
        ]
    for edit in edits:
        changes = [(one.field, one.old.replace(f"{old},", f"{new},")) for one in edit.changes]
        is_alike = bool(changes) and changes == [("sharding", one.new) for one in edit.changes]
        if is_alike and edit.kind == "changed" and edit.cause is None:
            edit.cause = cause


# They pass on what others compute, and take a tuple of it or an index into one.
_HANDING_ON = frozenset(
    ["parameter", "get-tuple-element", "get_tuple_element", "tuple", "return", "sdy.return", "while", "conditional",
     "case", "if", "call", "func.call", "fusion", "optimization-barrier", "optimization_barrier"]
)  # fmt: skip
_HANDED_ON = frozenset(["shape", "element_type", "operands", "layout", "index", "attribute:index", "attribute:root"])


def _hand_on(sides: _Sides, edits: list[RawEdit]) -> None:
    """A tuple, a loop or a call that only passes on more or fewer values follows from the nearest edit of a value.

    So do users of its values under changed numbers, and instructions added or removed by the line of the loop or call
    itself: the slices and stacks that a scan makes for each value.
    """
    import networkx as nx

    roots = roots_of(edits)
    of_types = {*_TYPES, "operands"}
    of_work = [
        edit.kind in ("added", "removed") or any(c.field not in of_types for c in edit.changes) for edit in edits
    ]
    passing = {n for n, edit in enumerate(edits) if _only_hands_on(sides, edit)}
    handing = _handing(sides, edits, passing, roots)
    if not handing:
        return
    roots = roots_of(edits)
    # Places on either side of edited loops and calls that only pass values on.
    loops = tuple(
        frozenset(
            place
            for place in ((edits[n].old, edits[n].new)[which] for n in handing)
            if place and side.instruction(place).opcode in ("while", "call", "func.call")
        )
        for which, side in enumerate(sides)
    )
    of_loop = {n for n, edit in enumerate(edits) if n not in handing and _is_of_loop(sides, edit, loops)}
    calls = {n: call for n, edit in enumerate(edits) if edit.cause is None and (call := _call_of(sides, edit))}
    others = {call for n, call in calls.items() if n not in of_loop}
    handing |= {n for n in of_loop if calls.get(n) not in others}
    graph: nx.DiGraph[int] = nx.DiGraph()
    for index in sorted(handing):
        for side, place in zip(sides, (edits[index].old, edits[index].new), strict=True):
            for near in _near(side, place) if place else ():
                for other in side.at.get(near, ()):
                    if other in handing:
                        graph.add_edge(index, other)
                        graph.add_edge(other, index)
                    elif roots[other] in handing and other in passing:  # a loop's parameter follows from its tuple
                        graph.add_edge(index, roots[other])
                        graph.add_edge(roots[other], index)
                    elif roots[other] not in handing and (of_work[other] or other in passing):
                        graph.add_edge(START, other)
                        graph.add_edge(other, index)
    for index in sorted(handing - set(nx.descendants(graph, START) if START in graph else ())):
        # Results in another order: what is computed in between is the same, and something before it is not.
        for work in [n for n in _before(sides, edits[index]) if of_work[n] and roots[n] not in handing][:1]:
            graph.add_edge(START, work)
            graph.add_edge(work, index)
    for cause, follower in list(nx.bfs_edges(graph, START)) if START in graph else ():
        if follower in handing:
            edits[follower].cause = cause
            handing.discard(follower)
    # A value that a loop no longer saves or slices is the root cause if nothing else was added or removed near it.
    left = graph.subgraph(handing).copy()
    left.add_edges_from((START, index) for index in sorted(handing) if index in left and edits[index].kind != "changed")
    for cause, follower in list(nx.bfs_edges(left, START)) if START in left else ():
        if cause != START:
            edits[follower].cause = cause


def _handing(sides: _Sides, edits: Sequence[RawEdit], passing: set[int], roots: Sequence[int]) -> set[int]:
    """Edits of loops, calls and tuples that nothing explains yet, and of users of their renumbered results.

    If the loop or call already follows from an edit, a user of its renumbered results follows from the loop or call.
    """
    handing = {n for n in passing if edits[n].cause is None}
    users = []
    for index, edit in enumerate(edits):
        sources = sorted(_renumbered(sides, edit, passing)) if index not in handing else ()
        if sources and edits[sources[0]].cause is None:
            users.append(index)
        elif sources and roots[sources[0]] != index:
            edit.cause = sources[0]
    return handing.union(users)


def _before(sides: _Sides, edit: RawEdit) -> Iterator[int]:
    """Edits of what a tuple is made of that a computation returns."""
    for side, root in zip(sides, (edit.old, edit.new), strict=True):
        if root and root == side.root(root[0]) and side.instruction(root).opcode in ("tuple", *_RETURNS):
            for place in preorder([root], side.operands):
                yield from side.at.get(place, ())


def _only_hands_on(sides: _Sides, edit: RawEdit) -> bool:
    if edit.kind != "changed" or not (edit.old and edit.new):
        return False
    if not {change.field for change in edit.changes} <= _HANDED_ON:
        return False
    if any(side.instruction(p).opcode not in _HANDING_ON for side, p in zip(sides, (edit.old, edit.new), strict=True)):
        return False
    is_argument = [side.module.entry == p[0] for side, p in zip(sides, (edit.old, edit.new), strict=True)]
    return not (any(is_argument) and sides[0].instruction(edit.old).opcode == "parameter")


def _renumbered(sides: _Sides, edit: RawEdit, passing: set[int]) -> set[int]:
    """Edits of loops or calls of which an instruction now takes another result, both of one type."""
    if edit.kind != "changed" or edit.cause is not None or not (edit.old and edit.new):
        return set()
    if not {change.field for change in edit.changes} <= {"operands", "attribute:index"}:
        return set()
    one, other = sides[0].instruction(edit.old), sides[1].instruction(edit.new)
    if len(one.operands) != len(other.operands):
        return set()
    found = set()
    for a, b in zip(one.operands, other.operands, strict=True):
        edited = [
            set(side.at.get(at, ())) for side, at in zip(sides, ((edit.old[0], a), (edit.new[0], b)), strict=True)
        ]
        found |= passing.intersection(*edited)
    return found


# Instructions that contain the work of several others are independent.
_LOOPS_AND_BRANCHES = CONDITIONALS | {"while"}
_SLICES_AND_STACKS = frozenset(
    ["slice", "dynamic-slice", "dynamic_slice", "dynamic-update-slice", "dynamic_update_slice", "concatenate", "pad",
     "reshape", "bitcast", "transpose", "copy", "convert", "select", "reverse", "fusion", "parameter", *_FOR_USERS,
     *_OF_SOURCE]
)  # fmt: skip
_FEEDS_LOOPS = BROADCASTS | {"constant"}  # initial zeros of a loop


def _is_of_loop(sides: _Sides, edit: RawEdit, loops: Sequence[frozenset[Place]]) -> bool:
    """Whether something was added or removed next to an edited loop or call, by the same line."""
    place = edit.new or edit.old
    which = 1 if edit.new else 0
    if edit.cause is not None or place is None or not loops[which]:
        return False
    fields = {change.field for change in edit.changes}
    if edit.kind not in ("added", "removed") and not (edit.kind == "changed" and fields <= {*_TYPES, "literal"}):
        return False
    if edit.kind == "changed" and sides[1].instruction(place).opcode not in _FEEDS_LOOPS | {"func.call"}:
        return False
    if sides[which].instruction(place).opcode in _LOOPS_AND_BRANCHES:
        return False
    it = sides[which].instruction(place)
    is_arithmetic = it.shape.element_type.startswith(("f", "bf")) or _calls_arithmetic(sides[which], it)
    if edit.kind != "changed" and it.opcode not in _SLICES_AND_STACKS and is_arithmetic:
        return False  # no loop or call adds arithmetic of its own: it has a cause of its own, as a bias has
    side, line = sides[which], _line(sides[which], place)
    return any(near in loops[which] and line in (None, _line(side, near)) for near in _near(side, place))


def _calls_arithmetic(side: _ProgramEdits, it: Instruction) -> bool:
    """Whether a call of a function computes arrays, as random bits; what slices one adds to indices alone."""
    if it.opcode not in CALLS:
        return False
    bodies = side.module.computations
    below = preorder(it.called, lambda n: bodies[n].callees)
    inside = [inner for n in below for inner in bodies[n].instructions if inner.shape.dimensions]
    return any(inner.opcode not in _SLICES_AND_STACKS | CALLS | _RETURNS for inner in inside)


def _call_of(sides: _Sides, edit: RawEdit) -> tuple[object, ...] | None:
    """What an added or removed call calls, and its line: all of them are causes, or none is. None if it is no call."""
    side, place = (sides[1], edit.new) if edit.kind == "added" else (sides[0], edit.old)
    if edit.kind not in ("added", "removed") or place is None or side.instruction(place).opcode not in CALLS:
        return None
    name = called_function(side.instruction(place).op_name)
    return (edit.kind, name, _line(side, place)) if name else None


def _line(side: _ProgramEdits, place: Place) -> tuple[str, int] | None:
    return own_place(side.module.stack(side.instruction(place).frame))


def _calls_around(side: _ProgramEdits, computation: int, depth: int = 4) -> Iterator[Place]:
    """Callers of a computation; for an unedited caller that returns the value, also its callers."""
    for caller, position, _, _ in side.callers.get(computation, ()):
        yield caller, position
        if depth and (caller, position) not in side.at and side.root(caller) in side.users((caller, position)):
            yield side.root(caller)
            yield from _calls_around(side, caller, depth - 1)


def _results(side: _ProgramEdits, computation: int, depth: int = 4) -> Iterator[Place]:
    """The root of a computation; if that is an unedited call, also the callee's root."""
    root = side.root(computation)
    yield root
    for operand in side.instruction(root).operands:
        place = (computation, operand)
        yield place
        if depth and place not in side.at:
            for callee in side.instruction(place).called:
                yield from _results(side, callee, depth - 1)


def _near(side: _ProgramEdits, place: Place) -> Iterator[Place]:
    """Operands and users; across the border of a computation, the values passed in and out."""
    it, computation = side.instruction(place), place[0]
    yield from ((computation, operand) for operand in it.operands)
    yield from side.users(place)
    if it.opcode == "parameter" or side.root(computation) in (place, *side.users(place)):
        yield from _calls_around(side, computation)
    for callee in it.called:
        yield from _results(side, callee)


@dataclass
class _ProgramEdits:
    """One program: its edits by place, who calls its opened computations, which were added or removed,
    users when asked."""

    module: Module
    edits: Sequence[RawEdit]
    at: dict[Place, list[int]]
    callers: dict[int, list[tuple[int, int, str, int]]]
    alone: Mapping[int, int]

    def instruction(self, place: Place) -> Instruction:
        return self.module.computations[place[0]].instructions[place[1]]

    def operands(self, place: Place) -> list[Place]:
        return [(place[0], operand) for operand in self.instruction(place).operands]

    def users(self, place: Place) -> list[Place]:
        computation, position = place
        return [(computation, user) for user in self.module.computations[computation].users[position]]

    @cached_property
    def steps(self) -> Mapping[Place, Sequence[Place]]:
        """The steps that continue a collective, and its first step; several if the module has no channels."""
        return continued_steps(self.module)

    def root(self, computation: int) -> Place:
        return computation, self.module.computations[computation].root

    def returned(self, computation: int) -> list[Place]:
        """The root; of a StableHLO function, whose `return` has no type of its own, also the values it returns."""
        root = self.root(computation)
        it = self.instruction(root)
        return [root, *((computation, n) for n in it.operands)] if it.opcode in _RETURNS else [root]

    def sources(self, place: Place) -> list[Place]:
        """Where an instruction's value comes from, nearest first: operands, a body's root, a caller's operands."""
        it, computation = self.instruction(place), place[0]
        if it.opcode == "parameter":
            return list(self._given(computation, it.number))
        own = [(computation, operand) for operand in it.operands]
        if it.opcode in _RUN_BODY:
            return [place for callee in it.called for place in self.returned(callee)] or own
        if it.opcode == "while":
            bodies = [callee for name, group in it.calls if name == "body" for callee in group]
            return own + [place for callee in bodies for place in self.returned(callee)]
        if it.opcode in CONDITIONALS:
            return [place for callee in it.called for place in self.returned(callee)]
        return own

    def _given(self, computation: int, number: int) -> Iterator[Place]:
        """The operands that callers pass to a parameter."""
        for caller, position, attribute, branch in self.callers.get(computation, ()):
            it = self.module.computations[caller].instructions[position]
            if is_embedded(it, attribute) or (attribute == "body" and it.opcode not in BINDS):  # a reducer's elements
                yield from ((caller, operand) for operand in it.operands)
            elif it.opcode == "conditional" and branch + 1 < len(it.operands):
                yield caller, it.operands[branch + 1]
            elif it.operands:
                yield caller, it.operands[number] if number < len(it.operands) else it.operands[0]
                if it.opcode == "while":
                    yield from self.returned(computation)


def _side(module: Module, found: ProgramMatch, edits: Sequence[RawEdit], which: int) -> _ProgramEdits:
    at: dict[Place, list[int]] = {}
    for index, edit in enumerate(edits):
        place = (edit.old, edit.new)[which]
        if place is not None:
            at.setdefault(place, []).append(index)
    alone = (found.removed, found.added)[which]
    opened = [(pair.old, pair.new)[which] for pair in found.pairs if pair.pairing is not None]
    callers: dict[int, list[tuple[int, int, str, int]]] = {}
    for computation in dict.fromkeys([*opened, *alone]):
        for callee, sites in calls_by_callee(module.computations[computation]).items():
            callers.setdefault(callee, []).extend((computation, *site) for site in sites)
    return _ProgramEdits(module, edits, at, callers, alone)


_Sides = tuple[_ProgramEdits, _ProgramEdits]


def _candidates(sides: _Sides, edit: RawEdit) -> list[int]:
    """Edits that explain this one alone or together, best first; none for an independent edit."""
    if edit.old is None and edit.new is None:
        return []
    if edit.kind == "changed" and edit.old and edit.new:
        # Edited sources that explain every changed field, those with the same fields first; none if one is unexplained.
        fields = [change.field for change in edit.changes]
        if sides[1].instruction(edit.new).opcode == "constant":
            return list(_retyped_users(sides[1], edit.new)) if _is_retyped(edit.changes) else []
        if any(field not in _TYPES and field not in _WITH_TYPE and not _is_sharding(field) for field in fields):
            return _of_start(sides, edit.old, edit.new) if "opcode" in fields else []
        if all(field in _WITH_TYPE for field in fields):
            return _of_trip_count(sides[1], edit.new, edit.changes)
        sources = sides[0].sources(edit.old), sides[1].sources(edit.new)
        sided = [(side, place) for side, places in zip(sides[::-1], sources[::-1], strict=True) for place in places]
        edited = list(dict.fromkeys(n for side, place in sided for n in side.at.get(place, ())))
        edited = edited or _rewired_calls(sides[1], edit.new)
        one, other = sides[0].instruction(edit.old), sides[1].instruction(edit.new)
        given = tuple([side.instruction(p).shape for p in places] for side, places in zip(sides, sources, strict=True))
        causes: dict[int, None] = {}
        for change in edit.changes:
            if change.field in _WITH_TYPE:
                continue
            able = [index for index in edited if _may_cause(sides[0].edits[index], change)]
            if not able or not _explained(change, one, other, (given[0], given[1]), [sides[0].edits[i] for i in able]):
                return []
            causes.update(dict.fromkeys(able))
        own = set(fields)
        return sorted(causes, key=lambda index: own.isdisjoint(c.field for c in sides[0].edits[index].changes))
    if edit.kind == "moved" and edit.old and edit.new:
        runs = {cost.runs for cost in edit.cost if cost and (cost.flops or cost.bytes)}
        if len(runs) > 1:  # into a loop or out of one
            return []
        return _calls_of(sides[1], edit.new[0], "added") or _calls_of(sides[0], edit.old[0], "removed")
    side, place = (sides[1], edit.new) if edit.new else (sides[0], edit.old)
    assert place is not None
    return _calls_of(side, place[0], edit.kind) or _brought(side, place, edit)


def _of_start(sides: _Sides, old: Place, new: Place) -> list[int]:
    """The edit that made another operation of what these two wait for."""
    starts = []
    for side, place in zip(sides, (old, new), strict=True):
        it = side.instruction(place)
        starts.append(it.operands[0] if it.opcode.endswith("-done") and it.operands else -1)
    found = [index for index in sides[0].at.get((old[0], starts[0]), ()) if min(starts) >= 0]
    return [index for index in found if sides[0].edits[index].new == (new[0], starts[1])]


def _of_trip_count(side: _ProgramEdits, place: Place, changes: Iterable[FieldChange]) -> list[int]:
    """Edits in the condition of a loop that differs only in the note of the compiler on how often it turns."""
    it = side.instruction(place)
    if it.opcode != "while" or not all(is_note(change, "known_") for change in changes):
        return []
    conditions = [callee for name, group in it.calls if name == "condition" for callee in group]
    inside = set(preorder(conditions, lambda n: side.module.computations[n].callees))
    return [index for (number, _), indices in side.at.items() if number in inside for index in indices]


def _calls_of(side: _ProgramEdits, computation: int, kind: str) -> list[int]:
    """The first call, itself an edit of that kind, of a computation that was added or removed."""
    for caller, position, _, _ in side.callers.get(computation, ()):
        for index in side.at.get((caller, position), ()):
            if side.edits[index].kind == kind:
                return [index]
    return []


def _brought(side: _ProgramEdits, place: Place, edit: RawEdit) -> list[int]:
    """The edits that an instruction was added or removed with: its source, or all its users."""
    it, kind = side.instruction(place), edit.kind
    if it.opcode in _OF_SOURCE or it.opcode.endswith("-done"):
        sources = [_edit_at(side, source, lambda e: e.kind == kind) for source in side.sources(place)[:1]]
        if sources and sources[0] is not None:
            return [sources[0]]
    if it.opcode in _FOR_USERS:
        # XLA fills a buffer with one number by a broadcast outside of fusions. What only holds or passes on the buffer
        # costs nothing and has not brought it.
        fills = it.opcode == "broadcast" and any(cost and cost.written for cost in edit.cost)
        # A broadcast that maps its operand's dimensions differently had a different operand before.
        users = [
            None
            if fills and side.instruction(user).opcode in _HANDING_ON - _RUN_BODY
            else _edit_at(side, user, lambda e: e.kind == kind or _rewired(e, "attribute:broadcast_dimensions"))
            for user in side.users(place)
        ]
        known = [user for user in users if user is not None]
        return known[:1] if users and len(known) == len(users) else _other_half(side, place)
    if family(it.opcode):
        begun = (index for first in side.steps.get(place, ()) for index in side.at.get(first, ()))
        return [index for index in begun if side.edits[index].kind == kind][:1]
    if it.opcode == "convert" and it.shape == side.instruction((place[0], it.operands[0])).shape:
        # JAX inserts one where a Python number replaced an array: it computes nothing.
        given = side.sources(place)
        handed = [side.sources(one) for one in given if side.instruction(one).opcode == "parameter"]
        around = [*given, *(source for sources in handed for source in sources), *side.users(place)]
        return [index for near in around for index in side.at.get(near, ())][:1]
    return []


def _other_half(side: _ProgramEdits, place: Place) -> list[int]:
    """The changed broadcast before or after an added or removed one: JAX may write one broadcast as two."""
    it = side.instruction(place)
    if it.opcode not in BROADCASTS:
        return []
    near = [*((place[0], operand) for operand in it.operands), *side.users(place)]
    halves = [one for one in near if side.instruction(one).opcode in BROADCASTS]
    return [index for one in halves for index in side.at.get(one, ()) if side.edits[index].kind == "changed"][:1]


def _is_retyped(changes: Sequence[FieldChange]) -> bool:
    """Whether a constant is the same number in another floating-point type, up to rounding to bfloat16."""
    values = {change.field: (change.old, change.new) for change in changes}
    if "element_type" not in values or not values.keys() <= {"element_type", "layout", "literal"}:
        return False
    texts = values.get("literal", ("0", "0"))
    if signs := [found[1] for text in texts if (found := _INFINITY.fullmatch(text))]:
        return signs in (["7", "7"], ["F", "F"])
    old, new = (_NUMBER.fullmatch(text) for text in texts)
    if old is None or new is None:
        return False
    return abs(float(old[1]) - float(new[1])) <= _OF_BFLOAT16 * abs(float(old[1]))


def _retyped_users(side: _ProgramEdits, constant: Place) -> Iterator[int]:
    """The edits that changed the type of what uses a constant, directly or through broadcasts of the same line.

    The type of a number follows that of the values it is computed with. One that was written elsewhere, as the first
    value of a loop, is what somebody may have changed.
    """
    reached = [(constant, _line(side, constant))]
    while reached:
        place, line = reached.pop()
        for user in side.users(place):
            it, own = side.instruction(user), _line(side, user)
            index = _edit_at(side, user, lambda e: any(change.field == "element_type" for change in e.changes))
            if it.opcode in BROADCASTS:
                reached.append((user, line or own))
            elif index is not None and (own == line if line else it.opcode not in _HANDING_ON):
                yield index


def _rewired(edit: RawEdit, *more: str) -> bool:
    return any(change.field in ("opcode", "operands", *more) for change in edit.changes)


def _edit_at(side: _ProgramEdits, place: Place, fits: Callable[[RawEdit], bool]) -> int | None:
    return next((index for index in side.at.get(place, ()) if fits(side.edits[index])), None)


def _rewired_calls(side: _ProgramEdits, place: Place) -> list[int]:
    """Calls that now pass something else to a parameter."""
    if side.instruction(place).opcode != "parameter":
        return []
    calls = [caller[:2] for caller in side.callers.get(place[0], ())]
    return [index for call in calls for index in side.at.get(call, ()) if _rewired(side.edits[index])]


def _may_cause(source: RawEdit, change: FieldChange) -> bool:
    if source.kind in ("added", "removed") or _rewired(source):
        return not _is_sharding(change.field)
    return any(c.field == change.field or (c.field in _TYPES and change.field in _TYPES) for c in source.changes)


def _explained(
    change: FieldChange,
    one: Instruction,
    other: Instruction,
    given: tuple[Sequence[Shape], Sequence[Shape]],
    causes: Sequence[RawEdit],
) -> bool:
    """Whether both values of a field are passed on by sources."""
    if _is_sharding(change.field):
        return any(
            (c.old, c.new) == (change.old, change.new) for e in causes for c in e.changes if c.field == change.field
        )
    if _has_type_of_source(one) and _has_type_of_source(other):
        return True
    if change.field == "memory_space" or (change.field == "element_type" and other.opcode in _STATES_TYPE):
        return False
    before, after = one.shape.leaves, other.shape.leaves
    if len(before) != len(after):
        return False
    pairs = [(_part(change.field, a), _part(change.field, b)) for a, b in zip(before, after, strict=True)]
    known = [{_part(change.field, leaf) for shape in shapes for leaf in shape.leaves} for shapes in given]
    if all(a == b or (a in known[0] and b in known[1]) for a, b in pairs):
        return True
    return change.field == "shape" and _same_exchange(before, after, given)


def _has_type_of_source(it: Instruction) -> bool:
    return it.opcode in _IDENTICAL or it.opcode.endswith("-done")


def _part(field: str, shape: Shape) -> object:
    if field == "element_type":
        return shape.element_type
    if field == "shape":
        return shape.dimensions, shape.dynamic
    layout = shape.layout or Layout()
    return layout.minor_to_major, layout.tiling, layout.other


def _same_exchange(
    before: Sequence[Shape], after: Sequence[Shape], given: tuple[Sequence[Shape], Sequence[Shape]]
) -> bool:
    """The result of a dot, slice or reduction changed the sizes that its operands changed, and no others."""
    sources = [[leaf for shape in shapes for leaf in shape.leaves] for shapes in given]
    if len(sources[0]) != len(sources[1]):
        return False
    exchanged: list[tuple[int, int]] = []
    for a, b in zip(*sources, strict=True):
        if len(a.dimensions) == len(b.dimensions):
            exchanged += [pair for pair in zip(a.dimensions, b.dimensions, strict=True) if pair[0] != pair[1]]
    for a, b in zip(before, after, strict=True):
        if len(a.dimensions) != len(b.dimensions):
            return False
        if any(m != n and (m, n) not in exchanged for m, n in zip(a.dimensions, b.dimensions, strict=True)):
            return False
    return True


def _is_sharding(field: str) -> bool:
    return field == "sharding" or (field.startswith("attribute:") and field.endswith("sharding"))
