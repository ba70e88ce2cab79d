"""Equal edits are one entry with a count, whatever their layer, computation or call site: a dictionary by signature."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from hlodiff.differ.costs import added_up
from hlodiff.differ.edits import INSIDE, LEFT_OVER, RawEdit, roots_of, site_of
from hlodiff.differ.metrics import cycles_of
from hlodiff.differ.regions import CARRIERS, Line, Part, number_by_line, region_lines
from hlodiff.differ.result import KINDS, Cost, Edit, Site
from hlodiff.hlo.collectives import family
from hlodiff.hlo.metadata import REMATERIALISED, called_function, is_library, own_frame, own_place
from hlodiff.hlo.model import BROADCASTS, CALLS, Frame, Instruction, Module, Place, at
from hlodiff.hlo.traversal import call_sites, multiplicities

# Opcodes that only pass a literal to its users.
_FEEDERS = BROADCASTS | {"constant", "iota", "bitcast", "reshape", "convert"}


# Depth of nested calls: no program from JAX has so many, and a long chain would be walked for each edit below it.
_LONGEST_CHAIN = 250
_MOST_NEAR = 50


class Stack(NamedTuple):
    """Python frames, innermost first, the user's own frame, and whether that is outside of libraries."""

    frames: tuple[Frame, ...]
    own: Frame | None
    is_complete: bool

    @staticmethod
    def of(frames: tuple[Frame, ...]) -> Stack:
        """The stack of these frames."""
        own = own_frame(frames)
        return Stack(frames, own, own is not None and not is_library(own.file))


_NO_STACK = Stack((), None, False)
LOOP_BODY = "while/body"
"""How the scope of what a loop computes names the loop."""
_NESTING = re.compile(rf"transpose\(|{REMATERIALISED}|{LOOP_BODY}")
_SEVERAL = -2


@dataclass
class Origins:
    """Scopes and frames of one module's instructions; call sites are found on first access."""

    module: Module
    _stacks: dict[int, Stack] = field(default_factory=dict)
    _found: dict[Place, Stack] = field(default_factory=dict)
    # Where a stack ends inside a library, the callers of its computation add to it, see `stack`.
    _called: dict[tuple[int, int], Stack] = field(default_factory=dict)
    _of_several: dict[int, bool] = field(default_factory=dict)

    @cached_property
    def _sites(self) -> list[list[tuple[int, int, str]]]:
        return call_sites(self.module)

    def near(self, computation: int, instruction: int) -> tuple[Frame, ...]:
        """The common stack of the neighbours and callees of an instruction that the compiler made.

        The nearest neighbours with a stack count, reached through others without one, then those of the call. () if
        they come from several lines, or there are none.
        """
        if not self.module.frames:
            return ()
        for place in self._chain(computation, instruction):
            stacks = {stack.own: stack.frames for stack in self._around(*place) if stack.own is not None}
            if stacks:
                return next(iter(stacks.values())) if len({(f.file, f.line) for f in stacks}) == 1 else ()
        return ()

    def _around(self, computation: int, instruction: int) -> Iterator[Stack]:
        owner = self.module.computations[computation]
        instructions, users = owner.instructions, owner.users
        worklist = [instruction]
        for position in worklist:  # nearest first; the list grows
            it = instructions[position]
            if it.frame >= 0 and position != instruction:
                yield Stack.of(self.module.stack(it.frame))
                continue
            for callee in it.called:
                inside = self.module.computations[callee].instructions
                yield from (Stack.of(self.module.stack(inner.frame)) for inner in inside if inner.frame >= 0)
            near = [*it.operands, *users[position]]
            worklist += [other for other in dict.fromkeys(near) if other not in worklist][: _MOST_NEAR - len(worklist)]

    def stack(self, computation: int, instruction: int) -> Stack:
        """Python frames, innermost first: the instruction's own, otherwise those of the nearest caller that has any.

        If they end inside a library, as when JAX traced a helper once for all of its callers, the call's frames follow.
        A computation that several lines apply to elements, as the `add` of two sums, has no frames.
        """
        found = self._found.get((computation, instruction))
        if found is None:
            found = self._found[computation, instruction] = self._stack(computation, instruction)
        return found

    def _stack(self, computation: int, instruction: int) -> Stack:
        if not self.module.frames:
            return _NO_STACK
        if appliers := self._appliers.get(computation):
            stacks = {stack.own: stack for stack in (self.stack(*place) for place in appliers)}
            return next(iter(stacks.values())) if len(stacks) == 1 else _NO_STACK
        own = self._own(computation, instruction)
        if own == _SEVERAL:
            return _NO_STACK
        stack = self._stacks.get(own)
        if stack is None:
            stack = self._stacks[own] = Stack.of(self.module.stack(own))
        if stack.is_complete:
            return stack
        known = self._called.get((computation, own))
        if known is None:
            frames = stack.frames
            for place in islice(self._chain(computation, instruction), own >= 0, None):
                more = self.module.stack(at(self.module, place).frame)
                frames = more if frames == more[: len(frames)] else frames + more
                if any(not is_library(frame.file) for frame in more):
                    break
            known = self._called[computation, own] = Stack.of(frames)
        return known

    def origin(self, computation: int, instruction: int) -> tuple[str | None, tuple[Frame, ...], bool]:
        """Scope and Python frames of an instruction, and whether it is in a body that several lines share."""
        frames = self.stack(computation, instruction).frames
        return self.op_name(computation, instruction) or None, frames, self.is_of_several_lines(computation)

    def part(self, computation: int, instruction: int) -> Part:
        """The part of its program that an instruction is in: two halves of one change are in the same part.

        It is the backward pass, what that computes again, or a loop, as JAX's scope nests them, and whether it is in a
        fusion. An instruction that the compiler made is where its nearest caller is.
        """
        scope = ""
        for place in self._chain(computation, instruction):
            it = at(self.module, place)
            name = it.op_name.partition(";")[0]
            is_around = it.opcode == "while" and place[0] != computation and not scope
            scope = "/".join(filter(None, (name, "body" * is_around, scope)))
            if name and (self.module.stage == "compiled" or name.startswith("jit(")):  # else what calls it is around it
                break
        return tuple(_NESTING.findall(scope)), self._is_fused(computation)

    def loops_around(self, computation: int, instruction: int) -> tuple[tuple[str, int], ...]:
        """The lines of Python of the loops that an instruction is in, innermost first; ("", 0) for an unknown one."""
        callers = [at(self.module, place) for place in islice(self._chain(computation, instruction), 1, None)]
        loops = [self.module.stack(it.frame) for it in callers if it.opcode == "while"]
        return tuple(own_place(frames) or ("", 0) for frames in loops)

    def _own(self, computation: int, instruction: int) -> int:
        """The frame of an instruction, for a literal that of its user: JAX makes a literal once for all users.

        A literal passed to a loop or a call has the line of that; its user's stack continues there. In a fusion the
        compiler leaves many instructions without a frame: that of the fusion is its root's, so the user's counts, else
        that of an operand. A fusion without one has that of what it computes last, a collective of several arrays that
        of the first one, which XLA gives to those it combines, but not on GPUs. Of equal literals the compiler keeps
        one, with the frame of any.
        """
        instructions = self.module.computations[computation].instructions
        own = instructions[instruction]
        if own.frame < 0 and own.opcode == "fusion" and own.called:
            return self._operand_frame(own.called[0], self.module.computations[own.called[0]].root)
        if own.frame < 0 and family(own.opcode) and self._is_combined(instructions, own):
            return self._operand_frame(computation, instruction)
        is_literal = own.opcode == "constant" or (own.opcode in _FEEDERS and own.frame < 0)
        is_fused = not is_literal and own.frame < 0 and self._is_fused(computation)
        if not is_literal and not is_fused:
            return own.frame
        user = self._user_frame(computation, instruction)
        if user == _SEVERAL:
            return user
        if user < 0 > own.frame and own.opcode == "constant" and self._is_fused(computation):
            return _SEVERAL  # the fusion has the line of what it computes last
        if user < 0 and is_fused:
            return self._operand_frame(computation, instruction)
        inner, outer = self.module.stack(user), self.module.stack(own.frame)
        is_on_the_way = not outer or any((frame.file, frame.line) == (outer[0].file, outer[0].line) for frame in inner)
        return user if is_on_the_way else own.frame

    def _is_combined(self, instructions: Sequence[Instruction], it: Instruction) -> bool:
        """Whether a collective carries several arrays, as a tuple or put together."""
        if len(it.operands) != 1:
            return len(it.operands) > 1
        source = instructions[it.operands[0]]
        if source.opcode == "fusion" and source.called:
            inside = self.module.computations[source.called[0]]
            source = inside.instructions[inside.root]
        return source.opcode == "concatenate"

    def _operand_frame(self, computation: int, instruction: int) -> int:
        """The frame of an instruction or of the first one that has one among those it is computed from; -1 if none.

        A fusion without one has that of what it computes, unless others compute the same; what a call of a library
        without one is given says nothing.
        """
        instructions = self.module.computations[computation].instructions
        worklist = [instruction]
        for position in worklist:  # nearest first; the list grows
            it = instructions[position]
            if (inside := self._frame_of_element(instructions, it)) >= 0:
                return inside
            if it.frame >= 0:
                return it.frame
            if it.opcode == "fusion" and it.called and position != instruction and len(self._sites[it.called[0]]) == 1:
                root = self.module.computations[it.called[0]].root
                if (inside := self._operand_frame(it.called[0], root)) >= 0:
                    return inside
            if it.opcode.startswith("custom-call") and position != instruction:
                continue
            if (element := _element_of_collective(instructions, it)) is not None:
                worklist.append(element)
                continue
            worklist += [operand for operand in instructions[position].operands if operand not in worklist]
        return -1

    def _frame_of_element(self, instructions: Sequence[Instruction], it: Instruction) -> int:
        """The frame of what a fusion of several results computes for one of them; -1 for other instructions.

        XLA gives all of its elements the line of one, where it merged fusions.
        """
        index = it.attribute("index") if it.opcode == "get-tuple-element" else None
        made = instructions[it.operands[0]] if index is not None and index.isdigit() else it
        if made.opcode != "fusion" or index is None or len(self._sites[made.called[0]]) != 1:
            return -1
        body = self.module.computations[made.called[0]]
        root = body.instructions[body.root]
        if root.opcode != "tuple" or int(index) >= len(root.operands):
            return -1
        return body.instructions[root.operands[int(index)]].frame

    def _is_fused(self, computation: int) -> bool:
        sites = self._sites[computation]
        return bool(sites) and at(self.module, sites[0][:2]).opcode == "fusion"

    def _user_frame(self, computation: int, instruction: int) -> int:
        """The frame of the first user that has one, looking through those without and through shape-only operations.

        Those may have the line of the loop around them, as the literal has. `_SEVERAL` if the users of a literal of
        a compiled program come from several lines.
        """
        owner = self.module.computations[computation]
        instructions, users = owner.instructions, owner.users
        worklist, seen, outer, first = [instruction], {instruction}, -1, -1
        # What is computed of a number without a line of its own says nothing of the number.
        is_number = self.module.stage == "compiled" and instructions[instruction].opcode == "constant"
        for position in worklist:  # nearest first; the list grows
            for user in users[position]:
                it = instructions[user]
                if it.frame >= 0 and (it.opcode not in _FEEDERS or it.frame != instructions[instruction].frame):
                    if first >= 0 and own_place(self.module.stack(first)) != own_place(self.module.stack(it.frame)):
                        return _SEVERAL
                    first = it.frame
                    if self.module.stage != "compiled" or instructions[instruction].opcode not in _FEEDERS:
                        return first
                elif (it.opcode in _FEEDERS or (it.frame < 0 and first < 0 and not is_number)) and user not in seen:
                    outer = outer if outer >= 0 else it.frame
                    seen.add(user)
                    worklist.append(user)
        return first if first >= 0 else outer

    def op_name(self, computation: int, instruction: int) -> str:
        """JAX's scope; inside a StableHLO function behind the scope of the call: `jit(f)/jit(silu)/neg`."""
        own = self.module.computations[computation].instructions[instruction]
        if appliers := self._appliers.get(computation):
            names = {at(self.module, place).op_name for place in appliers}
            return names.pop() if len(names) == 1 else ""
        if self.module.stage == "compiled" or own.op_name.startswith("jit("):
            return own.op_name
        _, *callers = self._chain(computation, instruction)
        outer = next((name for place in callers if (name := at(self.module, place).op_name)), "")
        return f"{outer}/{own.op_name}" if outer and own.op_name else own.op_name or outer

    @cached_property
    def _appliers(self) -> dict[int, list[Place]]:
        """The reductions, scatters and sorts of a compiled program that apply each computation of scalars.

        XLA keeps equal computations once, with the metadata of any of them.
        """
        found: dict[int, list[Place]] = {}
        for index, sites in enumerate(self._sites if self.module.stage == "compiled" else ()):
            places = [(outer, position) for outer, position, name in sites if name == "to_apply"]
            places = [place for place in places if at(self.module, place).opcode != "call"]
            instructions = self.module.computations[index].instructions if places else ()
            if places and not any(it.opcode == "parameter" and it.shape.dimensions for it in instructions):
                found[index] = places
        return found

    def is_of_several_lines(self, computation: int) -> bool:
        """Whether fusions of several lines share a body: XLA keeps equal ones once, with the metadata of one."""
        found = self._of_several.get(computation)
        if found is None:
            places = [place[:2] for place in self._sites[computation]] if self.module.stage == "compiled" else []
            calls = [it for place in places if (it := at(self.module, place)).opcode == "fusion"]
            frames = {it.frame for it in calls if it.frame >= 0}
            lines = {own_frame(self.module.stack(frame)) for frame in frames} if len(frames) > 1 else frames
            found = self._of_several[computation] = len(lines) > 1
        return found

    def _chain(self, computation: int, instruction: int) -> Iterator[Place]:
        """The instruction and the nearest calls that lead to it, nearest first."""
        place = computation, instruction
        for _ in range(_LONGEST_CHAIN):
            yield place
            if not (sites := self._sites[place[0]]):
                return
            place = sites[0][:2]


def _element_of_collective(instructions: Sequence[Instruction], it: Instruction) -> int | None:
    """The array of a collective of several, without a line of its own, that an instruction takes the result of."""
    index = it.attribute("index") if it.opcode == "get-tuple-element" else None
    if index is None or not index.isdigit():
        return None
    made = instructions[it.operands[0]]
    made = instructions[made.operands[0]] if made.opcode.endswith("-done") and made.operands else made
    is_one = bool(family(made.opcode)) and made.frame < 0 and int(index) < len(made.operands)
    return made.operands[int(index)] if is_one else None


@dataclass(slots=True)
class PrintedProgram:
    """A program as it was read, with instructions by name: names survive the removal of noise, indices may not."""

    module: Module
    _computations: dict[str, int] | None = None
    _instructions: dict[int, dict[str, Instruction]] = field(default_factory=dict)

    def find(self, computation: str, name: str) -> Instruction | None:
        """The instruction of that name, None if there is none."""
        if self._computations is None:
            self._computations = {c.name: index for index, c in enumerate(self.module.computations)}
        index = self._computations.get(computation)
        if index is None:
            return None
        if index not in self._instructions:
            self._instructions[index] = {it.name: it for it in self.module.computations[index].instructions}
        return self._instructions[index].get(name)


_FIRST = frozenset(["memory_space", "sharding", "compute_type", "alias", "replica_groups", "element_type", "precision"])
_CARRIERS = frozenset(
    [
        "parameter",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "constant",
        "broadcast",
        "broadcast_in_dim",
        "reshape",
        "return",
    ]
)
_RETYPED = (_CARRIERS - {"parameter"}) | {"func.call"}
_Sites = tuple[tuple[Site | None, Site | None], ...]
_Costs = tuple[Cost | None, Cost | None] | None
# In these fields the values of one pattern may differ between sites.
_OWN_WORDS = frozenset(["operands", "schedule", "attribute:root"])


def group_edits(
    old: Module,
    new: Module,
    edits: Sequence[RawEdit],
    printed: tuple[Module, Module] | None = None,
    origins: tuple[Origins, Origins] | None = None,
) -> tuple[Edit, ...]:
    """Group equal edits: independent ones first, then knock-on edits.

    Edits from different lines of the user's own Python stay separate, and knock-on edits are one entry only if they
    have one cause.

    Args:
        old, new: the programs as the user knows them, for names, scopes and Python frames.
        edits: single edits, indices into these modules.
        printed: the programs as they were read, with the compiler's own estimates.
        origins: of both programs, if the caller needs them too.

    Returns:
        patterns: most relevant to a reviewer first, larger ones before smaller ones, then in program order.
    """
    if not edits:
        return ()
    origins = origins or (Origins(old), Origins(new))
    signatures = [_signature(old, new, edit) for edit in edits]
    roots = roots_of(edits)
    # The innermost lines of the user's own code that an edit comes from, on both sides, so that swapped sides group
    # alike.
    lines: list[tuple[Line, ...]] = []
    for edit in edits:
        sides = zip(origins, (edit.old, edit.new), strict=True)
        frames = [origin.stack(*place).own if place else None for origin, place in sides]
        lines.append(tuple((frame.file, frame.line) if frame else None for frame in frames))
    regions = number_by_line(edits, lines)
    is_any = any(region is not None for region in regions)
    replaced = replaced_edits((old, new), edits, lines, regions, origins) if is_any else frozenset()
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, root in enumerate(roots):
        edit = edits[index]
        cause = None if root == index else signatures[root]
        apart = (regions[index], edit.is_weak, edit.kept, index in replaced, cause)
        groups.setdefault((signatures[index], lines[root], *apart), []).append(index)
    is_timed = printed is not None and any("backend_config" in module.words for module in printed)
    printed_sides = tuple(map(PrintedProgram, printed)) if printed and is_timed else ()
    found: list[tuple[tuple[bool, int, int, int], list[int], _Sites, _Costs]] = []
    for members in groups.values():
        alike = [edits[n] for n in members]
        sites = tuple([(site_of(old, m.old) if m.old else None, site_of(new, m.new) if m.new else None) for m in alike])
        cost = _cost_of(alike, sites, printed_sides)
        follows = roots[members[0]] != members[0]  # its cost is then that of its cause
        fields, site = [change.field for change in alike[0].changes], sites[0][1] or sites[0][0]
        weight = _weight(alike[0].kind, fields, site, None if follows else cost)
        count = sum([edit.count for edit in alike])
        found.append(((follows, weight, -count, KINDS.index(alike[0].kind)), members, sites, cost))
    found.sort(key=itemgetter(0))  # then in program order
    places = {member: place for place, (_, members, *_) in enumerate(found) for member in members}
    return tuple(
        _edit(
            origins,
            [edits[n] for n in members],
            sites,
            cost,
            None if roots[members[0]] == members[0] else places[roots[members[0]]],
            regions[members[0]],
            members[0] in replaced,
        )
        for _, members, sites, cost in found
    )


def weight_of(edit: Edit) -> int:
    """Sort key by relevance to a reviewer: 0 placement and numerics, 1 operations, 2 what only carries values.

    Example:
        >>> weight_of(Edit("changed", ("memory_space",)))
        0
    """
    return _weight(edit.kind, edit.fields, edit.new or edit.old, edit.cost)


def _weight(kind: str, fields: Sequence[str], site: Site | None, costs: _Costs) -> int:
    is_carrier = kind == "changed" and site is not None and site.opcode in _RETYPED
    is_retyped = is_carrier and "element_type" in fields  # as the value that it hands on
    if not _FIRST.isdisjoint({*fields} - ({"element_type"} if is_retyped else set())):
        return 0
    if [*fields] in ([LEFT_OVER], [INSIDE]) or is_retyped:
        return 2
    if kind in ("added", "removed") and site is not None and site.opcode in _CARRIERS:
        # XLA fills a buffer with one number by a broadcast that is no part of a fusion.
        return 1 if site.opcode == "broadcast" and any(cost and cost.written for cost in costs or ()) else 2
    return 1


def _signature(old: Module, new: Module, edit: RawEdit) -> tuple[object, ...]:
    if [change.field for change in edit.changes] == ["alias"]:  # arguments donated or kept together are one change
        (change,) = edit.changes
        return (edit.kind, "alias", *(side.partition(" ")[0] for side in (change.old, change.new)))
    sides: list[object] = []
    for module, place in ((old, edit.old), (new, edit.new)):
        it = at(module, place) if place else None
        literal = it.literal if it and it.opcode == "constant" else None
        callee = called_function(it.op_name) if it and it.opcode in CALLS else ""  # whose name is no attribute
        sides.append(it and (it.opcode, it.shape.text, literal, callee, tuple(sorted(it.attributes))))
    changes = tuple(
        (c.field, c.old, c.new)
        if c.field not in _OWN_WORDS
        else (c.field, c.of_copies, c.of_casts, *(c.literals or ()))
        for c in edit.changes
    )
    return (edit.kind, *sides, changes)


def _cost_of(members: Sequence[RawEdit], sites: _Sites, printed: Sequence[PrintedProgram]) -> _Costs:
    costs: list[Cost | None] = []
    for side in (0, 1):
        parts: list[Cost | None] = []
        for member, pair in zip(members, sites, strict=True):
            cost, site = member.cost[side], pair[side]
            it = printed[side].find(site.computation_name, site.name) if printed and cost and site else None
            cycles = cycles_of(it) if it else None
            parts.append(replace(cost, cycles=cycles * cost.runs) if cost and cycles is not None else cost)
        costs.append(added_up(parts))
    return (costs[0], costs[1]) if any(costs) else None


def _edit(
    origins: tuple[Origins, Origins],
    members: Sequence[RawEdit],
    sites: _Sites,
    cost: _Costs,
    cause: int | None,
    region: int | None,
    is_replaced: bool,
) -> Edit:
    first = members[0]
    origin, place = (origins[1], first.new) if first.new else (origins[0], first.old)
    return Edit(
        first.kind,
        tuple([change.field for change in first.changes]),
        sum([member.count for member in members]),
        sites,
        tuple(first.changes),
        (origin.op_name(*place) or None) if place else None,
        origin.stack(*place).frames if place else (),
        first.matcher,
        cause,
        cost,
        users_cost=(added_up(m.users_cost[0] for m in members), added_up(m.users_cost[1] for m in members)),
        is_weak=first.is_weak,
        kept=first.kept,
        region=region,
        is_replaced=is_replaced,
        is_of_several_lines=place is not None and origin.is_of_several_lines(place[0]),
    )


# --- Whether one subgraph really replaced another: the work of a line of Python, counted in both whole programs.
#
# A compiler that fuses, copies or recomputes elsewhere removes and adds operations that are still the same ones. Only
# operations that a line has fewer of in the new program were removed, and only those that it has more of were added.

# How a compiler arranges values and in which type it computes; none of it is work of a line of Python.
ARRANGING = frozenset(
    ["copy", "bitcast", "transpose", "reshape", "convert", "slice", "pad", "concatenate", "async-start", "async-done"]
)
_FLOATS = ("f", "bf", "c")


def replaced_edits(
    modules: tuple[Module, Module],
    edits: Sequence[RawEdit],
    lines: Sequence[tuple[Line, ...]],
    regions: Sequence[int | None],
    origins: tuple[Origins, Origins],
) -> frozenset[int]:
    """The edits that a report may describe as replacing one subgraph by another.

    Args:
        modules: both programs.
        edits, lines, regions: the edits, the old and new line of each, and the region of each, see `number_by_line`.
        origins: where instructions come from.

    Returns:
        indices of edits in regions whose two lines are in one function of Python, where the old line has fewer of most
        removed operations, and the new line more of most added ones. A removed operation must be gone from its line or
        an added one new on it; in compiled programs both.
    """
    members: dict[int, list[int]] = {}
    for index, region in enumerate(regions):
        if region is not None:
            members.setdefault(region, []).append(index)
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
                place = (edits[n].old, edits[n].new)[side]
                it = at(modules[side], place) if place else None
                if it is not None and is_work(it, modules[0].stage):
                    counts[side][it.opcode] += edits[n].count
        net = counts[0] - counts[1], counts[1] - counts[0]
        true = [sum((net[side] & differences[side]).values()) * 2 > sum(net[side].values()) for side in (0, 1)]
        whole = [any(not here[1 - side][opcode] for opcode in net[side]) for side in (0, 1)]
        # A compiler computes more or less of the same in many places, but it does not invent operations new to a line.
        if all(true) and (all(whole) if modules[0].stage == "compiled" else any(whole)):
            found.update(indices)
    return frozenset(found)


class _Work:
    """How often each line of the user's own code computes each operation in one program, calls counted."""

    def __init__(self, module: Module, origin: Origins) -> None:
        self.stage = module.stage
        self.counts: dict[Line, Counter[str]] = {}
        self.functions: dict[Line, tuple[frozenset[tuple[str, str]], tuple[str, str]]] = {}
        for index, weight in enumerate(multiplicities(module)):
            for position, it in enumerate(module.computations[index].instructions) if weight.total else ():
                if not is_work(it, module.stage):
                    continue
                frames, frame, _ = origin.stack(index, position)
                if frame is None:
                    continue
                line = (frame.file, frame.line)
                self.counts.setdefault(line, Counter())[it.opcode] += weight.total
                if line not in self.functions:
                    own = [one for one in frames if not is_library(one.file)]
                    self.functions[line] = (
                        frozenset((one.file, one.function) for one in own),
                        (frame.file, frame.function),
                    )

    def at(self, line: Line) -> Counter[str]:
        """The operations of one line, by count."""
        return self.counts.get(line, Counter())


def _are_related(one: _Work, other: _Work, old: Line, new: Line) -> bool:
    """Whether both lines are in one function; in StableHLO one may also be in a function that the other now calls."""
    if old not in one.functions or new not in other.functions:
        return False
    (around, function), (others, other_function) = one.functions[old], other.functions[new]
    if function == other_function:
        return True
    return one.stage == "stablehlo" and (function in others or other_function in around)


def is_work(it: Instruction, stage: str) -> bool:
    """Whether an instruction computes values of the program.

    Collectives only bring values where they are used, and integer scalars are indices.
    """
    if it.opcode in CARRIERS or it.opcode == "convert" or (stage == "compiled" and it.opcode in ARRANGING):
        return False
    if family(it.opcode.removesuffix("-done")):
        return False
    return bool(it.shape.dimensions or it.shape.tuple_shapes or it.shape.element_type.startswith(_FLOATS))
