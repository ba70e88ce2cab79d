"""Edits of matched programs: one pass over the instructions finds what was added, removed or changed."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hlodiff.differ.computation_matches import (
    ComputationMatch,
    ProgramMatch,
    ProgramSide,
    is_misbound,
    matched_calls,
    returns_apart,
)
from hlodiff.differ.computation_matches import through as through_call
from hlodiff.differ.elements import RETURNS, keeps_elements, renumbered, with_elements
from hlodiff.differ.fields import in_order, reported_changes
from hlodiff.differ.instruction_matches import OWN, Elements, InstructionMap
from hlodiff.differ.operands import operands_changed, root_changed
from hlodiff.differ.result import Cost, FieldChange, Kind, Site
from hlodiff.hlo.grammar import aliased_buffers, donated_parts, layout_parts, load_json, split_commas, without_comments
from hlodiff.hlo.model import COPIES, Computation, Instruction, Module, Place, at
from hlodiff.hlo.printer import print_instruction
from hlodiff.hlo.traversal import fused_only, source_through
from hlodiff.normalizer.backend_config import is_of_xla

OF_COMPUTATION = "computation_attribute:"
"""Prefix of the fields of a computation's own attributes."""
THREAD = "execution_thread"
"""The field for the thread that the whole program runs on."""
OF_WHOLE = "computation"
"""The matcher named by changes of a computation's attributes."""


def only_renumbered(old: Instruction, new: Instruction, through: Sequence[tuple[int, int]] | None) -> bool:
    """True if two configurations differ only in the operand numbers of the same aliases.

    Args:
        old, new: a paired call.
        through: pairs of operand numbers that correspond; None if they correspond by position.
    """
    if not (is_of_xla(old) and is_of_xla(new)):
        return False
    ours, theirs = (_parse(it.attribute("backend_config")) for it in (old, new))
    mine, other = aliased_buffers(ours), aliased_buffers(theirs)
    if not mine or not other:
        return False
    counts = len(old.operands), len(new.operands)
    number = dict(through) if through is not None else {n: n for n in range(counts[0])}
    number |= {counts[0] + n: counts[1] + n for n in range(max(1, len(new.shape.tuple_shapes)))}
    for group in mine:
        group["indices"] = sorted(number.get(int(index), -1) for index in group["indices"])
    for group in other:
        group["indices"] = sorted(map(int, group["indices"]))
    for lists in (mine, other):
        lists.sort(key=partial(json.dumps, sort_keys=True))
    return ours == theirs


def _parse(text: str | None) -> dict[str, Any] | None:
    try:
        config = load_json(text or "")
    except ValueError:
        return None
    return config if isinstance(config, dict) else None


@dataclass(slots=True)
class RawEdit:
    """One edit of one instruction, before equal ones are grouped."""

    kind: Kind
    old: Place | None
    new: Place | None
    changes: list[FieldChange] = field(default_factory=list)
    count: int = 1
    matcher: str = ""
    cause: int | None = None
    """Index of the edit that causes this knock-on edit; None for independent edits."""
    cost: tuple[Cost | None, Cost | None] = (None, None)
    users_cost: tuple[Cost | None, Cost | None] = (None, None)
    """Cost of unedited instructions that depends on the shape of what this one gives."""
    is_weak: bool = False
    """Whether the two sides are matched on weak evidence only, see `differ/regions.py`."""
    kept: tuple[bool, bool] = (False, False)
    """Whether the old, and the new instruction is on both sides, unchanged: the one here and the other one in another
    edit."""
    region: int = -1
    """Number of the region of edits, replacing one subgraph by another, that contains this edit; -1 for none."""
    pair: tuple[int, int] | None = None
    """The matched computations that contain it; None for moves and in added or removed computations."""


def roots_of(edits: Sequence[RawEdit]) -> list[int]:
    """For each edit the index of its root cause; its own if it has none.

    Example:
        >>> roots_of([RawEdit("added", None, (0, 1)), RawEdit("added", None, (0, 0), cause=0)])
        [0, 0]
    """
    roots: list[int] = []
    for index, edit in enumerate(edits):
        root, cause = index, edit.cause
        while cause is not None:
            root, cause = cause, edits[cause].cause
        roots.append(root)
    return roots


def raw_edits(old: ProgramSide, new: ProgramSide, found: ProgramMatch) -> list[RawEdit]:
    """All edits of the program channel in program order: inside matched computations, then whole computations."""
    pairs = {(pair.old, pair.new): pair for pair in found.pairs}
    edits: list[RawEdit] = []
    for pair in found.pairs:
        if pair.pairing is not None:
            edits += _inside(old, new, pair, pairs)
    edits += _whole(old.module, found.removed, "removed")
    edits += _whole(new.module, found.added, "added")
    return edits


def _whole(module: Module, alone: dict[int, int], kind: Kind) -> Iterator[RawEdit]:
    """Every instruction of a one-sided computation except parameters, which come and go with the call."""
    for index, count in alone.items():
        for position, it in enumerate(module.computations[index].instructions):
            if it.opcode != "parameter":
                place = (index, position)
                old, new = (place, None) if kind == "removed" else (None, place)
                yield RawEdit(kind, old, new, count=count)


Pairs = dict[tuple[int, int], ComputationMatch]


def _inside(before: ProgramSide, after: ProgramSide, pair: ComputationMatch, pairs: Pairs) -> Iterator[RawEdit]:
    assert pair.pairing and pair.old_side and pair.new_side
    old, new = before.module, after.module
    plumbing = bool(pair.callers)
    numbers = _moved_numbers(old, new, pair) if not plumbing else {}
    returned = root_changed(pair.old_side, pair.new_side, pair.pairing)
    for position, matched in enumerate(pair.pairing.old):
        one = pair.old_side.computation.instructions[position]
        place = (pair.old, position)
        if matched < 0:
            if not (plumbing and one.opcode == "parameter"):
                yield RawEdit("removed", place, None, count=pair.count, pair=(pair.old, pair.new))
            continue
        other = pair.new_side.computation.instructions[matched]
        # Most are equal in everything that their labels cover: opcode, shape, literal, attributes.
        is_equal = pair.old_side.labels[OWN][position] == pair.new_side.labels[OWN][matched]
        elements = pair.elements.get(position)
        kept = one if elements is None else renumbered(one, elements)
        is_same = is_equal and elements is None
        changes = [] if is_same else reported_changes(kept, other, lambda: after.platform or before.platform)
        changes += numbers.get(position, [])
        if pair.elements and one.operands and one.operands[0] in pair.elements:
            changes = with_elements(changes, one, other, pair.elements[one.operands[0]])
        if one.calls:  # the thread of the computation that it calls
            called = [(old.computations[a], new.computations[b]) for (a, b), _ in matched_calls(one, other)]
            threads = [(a.execution_thread, b.execution_thread) for a, b in called]
            changes += [FieldChange("compute_type", a or "device", b or "device") for a, b in threads if a != b][:1]
        if one.operands or other.operands:
            calls = bool(one.calls and other.calls)
            through = through_call(one, other, pairs, (old, new)) if calls else None
            operand_symmetric = before.operand_symmetric(one, other) if calls else None
            both = pair.old_side, pair.new_side, pair.pairing
            if elements is not None and one.opcode in RETURNS:
                rewired = not keeps_elements(*both, position, elements)
            else:
                rewired = operands_changed(*both, position, through, operand_symmetric)
            rewired = rewired or (calls and is_misbound(one, other, pairs, (old, new), through))
            rewired = rewired or (elements is None and returns_apart(one, other, pairs, (old, new)))
            # If operands differ, nothing proves that different numbers mean the same operands.
            configured = not rewired and any(change.field == "backend_config" for change in changes)
            if configured and only_renumbered(one, other, through):
                changes = [change for change in changes if change.field != "backend_config"]
            if rewired:
                texts = _operand_texts(old, new, pair, position, matched, elements)
                changes.append(replace(_exchanged_operands(pair, pairs, one, other), old=texts[0], new=texts[1]))
        if position == returned:
            owners = old.computations[pair.old], new.computations[pair.new]
            changes.append(FieldChange("attribute:root", *(f"%{one.instructions[one.root].name}" for one in owners)))
        if changes:
            matcher = pair.pairing.matchers[position]
            yield RawEdit(
                "changed", place, (pair.new, matched), in_order(changes), pair.count, matcher, pair=(pair.old, pair.new)
            )
    for position, matched in enumerate(pair.pairing.new):
        it = pair.new_side.computation.instructions[position]
        if matched < 0 and not (plumbing and it.opcode == "parameter"):
            yield RawEdit("added", None, (pair.new, position), count=pair.count, pair=(pair.old, pair.new))


LEFT_OVER = "attribute:sharding"
"""The changed field of a sharding that XLA chose and no source line asked for."""


def with_left_over_shardings(old: Module, new: Module, edits: Sequence[RawEdit], whole: tuple[Module, Module]) -> None:
    """Give the shardings that XLA leaves behind a field of their own.

    A compiled program's copies of an argument have its attributes until they are fused or cloned. The program is
    partitioned by then, so a sharding places nothing there; what users asked for is at arguments, results and calls.

    Args:
        old, new: the programs as they were matched.
        edits: of these programs; changed in place.
        whole: both programs as they were read; their entries, which have all arguments, are read only if an edit needs
            them.
    """
    if old.stage != "compiled":
        return
    given: frozenset[str] | None = None
    for edit in edits:
        if edit.old is None or edit.new is None or all(change.field != "sharding" for change in edit.changes):
            continue
        if any(_may_be_asked_for(module, place) for module, place in ((old, edit.old), (new, edit.new))):
            continue
        if given is None:
            its = (it for module in whole for it in module.entry_computation.instructions)
            parameters = (it for it in its if it.opcode == "parameter")
            given = frozenset(["", *(it.attribute("sharding") or "" for it in parameters)])
        edit.changes = in_order(
            [
                replace(one, field=LEFT_OVER) if one.field == "sharding" and {one.old, one.new} <= given else one
                for one in edit.changes
            ]
        )


INSIDE = "attribute:memory_space"
"""The changed field of a memory space where on one side alone the value is inside a fusion and none of its results."""


def with_memory_of_results(old: Module, new: Module, edits: Sequence[RawEdit]) -> None:
    """Give memory spaces of values that only one side stores a field of their own.

    Inside a fusion XLA writes a memory space at parameters and results only. If another instruction is the result now,
    as a bitcast of the former one, that says nothing of where the result is.

    Args:
        old, new: the programs as they were matched.
        edits: of these programs; changed in place.
    """
    modules = old, new
    fused: tuple[list[bool], ...] = ()
    for number, edit in enumerate(edits):
        if not (edit.old and edit.new) or all(change.field != "memory_space" for change in edit.changes):
            continue
        fused = fused or (fused_only(old), fused_only(new))
        sides = enumerate((edit.old, edit.new))
        inside = [side for side, place in sides if fused[side][place[0]] and _is_intermediate(modules[side], place)]
        if len(inside) == 1:
            changes = [replace(one, field=INSIDE) if one.field == "memory_space" else one for one in edit.changes]
            edit.changes = in_order(changes)
            if edit.cause is None and len(changes) == 1:
                edit.cause = _result_after(modules[inside[0]], inside[0], number, edits)


def _result_after(module: Module, side: int, number: int, edits: Sequence[RawEdit]) -> int | None:
    """The edit that added or removed the result of the fusion that an edited instruction is in on one side only."""
    place = (edits[number].old, edits[number].new)[side]
    result = place and (place[0], module.computations[place[0]].root)
    halves = (n for n, edit in enumerate(edits) if (edit.old, edit.new) == ((result, None), (None, result))[side])
    return next((n for n in halves if roots_of(edits)[n] != number), None)


def _is_intermediate(module: Module, place: Place) -> bool:
    """Whether an instruction is neither a parameter nor a result of its computation."""
    owner = module.computations[place[0]]
    root = owner.instructions[owner.root]
    is_result = place[1] == owner.root or (root.opcode == "tuple" and place[1] in root.operands)
    return not is_result and owner.instructions[place[1]].opcode != "parameter"


def _may_be_asked_for(module: Module, place: Place) -> bool:
    it, entry = at(module, place), module.entry_computation
    if place[0] == module.entry and (it.opcode == "parameter" or place[1] == entry.root):
        return True
    return it.opcode == "custom-call"


def _operand_texts(
    old: Module, new: Module, pair: ComputationMatch, position: int, matched: int, elements: Elements | None
) -> tuple[str, str]:
    """The operands on both sides; those of a tuple with renumbered elements under their new numbers."""
    texts = []
    for module, computation, index in ((old, pair.old, position), (new, pair.new, matched)):
        owner = module.computations[computation]
        it = owner.instructions[index]
        named = [f"%{owner.instructions[operand].name}{f'#{result}' if result else ''}" for operand, result in it.reads]
        texts.append(named)
    if elements and len(elements) == len(texts[0]) == len(texts[1]) and not it.calls:
        texts[0] = [texts[0][a] for a in sorted(elements, key=elements.__getitem__)]
    return ", ".join(texts[0]), ", ".join(texts[1])


_MOST_EXCHANGED = 4
_FLOATS = ("f", "bf")
_REPEATING = frozenset(["broadcast", "broadcast_in_dim", "bitcast", "reshape"])


COPYING = COPIES | {"copy-done"}
"""What only copies a value."""
_CASTS = frozenset(["convert"])


def _exchanged_operands(pair: ComputationMatch, pairs: Pairs, one: Instruction, other: Instruction) -> FieldChange:
    """A change of operands: where only constants were replaced, with their values; or only copies by their sources."""
    assert pair.pairing and pair.old_side and pair.new_side
    change = FieldChange("operands", "", "")
    if len(one.operands) != len(other.operands):
        return change
    others = [(a, b) for a, b in zip(one.operands, other.operands, strict=True) if pair.pairing.old[a] != b]
    owners = pair.old_side.computation, pair.new_side.computation
    if others and all(_is_same_copied(pair, pairs, places) for places in others):
        return replace(change, of_copies=True)
    if others and all(_is_same_cast(pair.pairing, owners, places) for places in others):
        return replace(change, of_casts=True)
    found: dict[tuple[str, str], bool] = {}
    for places in others:
        before, after = (
            owner.instructions[source_through(owner, place, _REPEATING)]
            for owner, place in zip(owners, places, strict=True)
        )
        if not before.opcode == after.opcode == "constant" or before.shape != after.shape:
            return change
        found[before.literal or "", after.literal or ""] = before.shape.element_type.startswith(_FLOATS)
    exchanged = [literals for literals in found if literals[0] != literals[1]]
    if found and not exchanged:  # the program has the number several times
        return replace(change, of_copies=True)
    if not 0 < len(exchanged) <= _MOST_EXCHANGED:
        return change
    old, new = zip(*exchanged, strict=True)
    return replace(change, literals=(old, new), of_floats=any(found[one] for one in exchanged))


def _is_same_copied(pair: ComputationMatch, pairs: Pairs, places: tuple[int, int]) -> bool:
    """Whether two operands are one value of one type, read directly or from copies of it, or made by equal casts.

    Of parameters of a fusion, the call says which values they are: copies may have made others of them alike.
    """
    assert pair.pairing and pair.old_side and pair.new_side
    owners = pair.old_side.computation, pair.new_side.computation
    types = {owner.instructions[place].shape.element_type for owner, place in zip(owners, places, strict=True)}
    old, new = (source_through(owner, place, COPYING) for owner, place in zip(owners, places, strict=True))
    sources = [owner.instructions[place] for owner, place in zip(owners, (old, new), strict=True)]
    if all(it.opcode in _CASTS for it in sources):
        old, new = (it.operands[0] for it in sources)
    if len(types) != 1 or pair.pairing.old[old] == new:
        return len(types) == 1
    if any(it.opcode != "parameter" for it in sources) or len(pair.callers) != 1:
        return False
    caller = pairs[pair.callers[0][:2]]
    if caller.pairing is None or caller.old_side is None or caller.new_side is None:
        return False
    calls = [
        [(n, it) for n, it in side.computation.calling if it.opcode == "fusion" and callee in it.called]
        for side, callee in ((caller.old_side, pair.old), (caller.new_side, pair.new))
    ]
    if any(len(some) != 1 for some in calls) or caller.pairing.old[calls[0][0][0]] != calls[1][0][0]:
        return False
    given = tuple(some[0][1].operands[it.number] for some, it in zip(calls, sources, strict=True))
    return _is_same_copied(caller, pairs, (given[0], given[1]))


def _is_same_cast(pairing: InstructionMap, owners: tuple[Computation, Computation], places: tuple[int, int]) -> bool:
    """Whether two operands are one value, taken as it is or from casts of it to floating-point types."""
    casts = [
        it for owner, place in zip(owners, places, strict=True) if (it := owner.instructions[place]).opcode in _CASTS
    ]
    old, new = (source_through(owner, place, _CASTS) for owner, place in zip(owners, places, strict=True))
    return all(it.shape.element_type.startswith(_FLOATS) for it in casts) and pairing.old[old] == new


def _moved_numbers(old: Module, new: Module, pair: ComputationMatch) -> dict[int, list[FieldChange]]:
    """Parameters whose order among the matched ones changed; shifts by added or removed ones do not count."""
    assert pair.pairing
    ours, theirs = old.computations[pair.old].parameters, new.computations[pair.new].parameters
    olds = [p for p in ours if pair.pairing.old[p] in theirs]
    news = [p for p in theirs if pair.pairing.new[p] in ours]
    rank = {p: n for n, p in enumerate(news)}
    moved: dict[int, list[FieldChange]] = {}
    for number, position in enumerate(olds):
        matched = pair.pairing.old[position]
        if rank[matched] != number:
            before = old.computations[pair.old].instructions[position].literal or ""
            after = new.computations[pair.new].instructions[matched].literal or ""
            if before == after:
                continue  # added or removed parameters before it cancel those that changed places with it
            moved[position] = [FieldChange("attribute:parameter_number", before, after)]
    return moved


def computation_edits(old: ProgramSide, new: ProgramSide, found: ProgramMatch) -> Iterator[RawEdit]:
    """Changed attributes after the closing brace of matched computations, as changes of their roots.

    A callee's thread is a change of the call; only the entry has no caller.

    Args:
        old, new: the programs as they were paired.
        found: which computations correspond.
    """
    for pair in found.pairs:
        before, after = old.module.computations[pair.old], new.module.computations[pair.new]
        ours, theirs = dict(before.attributes), dict(after.attributes)
        changes = [
            FieldChange(f"{OF_COMPUTATION}{name}", *(_value_of(name, side) for side in (ours, theirs)))
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)
        ]
        if not pair.callers and before.execution_thread != after.execution_thread:
            changes.append(FieldChange(THREAD, before.execution_thread or "main", after.execution_thread or "main"))
        if changes:
            places = (pair.old, before.root), (pair.new, after.root)
            yield RawEdit("changed", *places, changes, pair.count, OF_WHOLE, pair=(pair.old, pair.new))


def _value_of(name: str, attributes: Mapping[str, str]) -> str:
    """The value of an attribute; `present` for a flag. MLIR omits that a function is public."""
    if name not in attributes:
        return ""
    return attributes[name] or ("default" if name == "visibility" else "present")


def text_of(module: Module, place: Place) -> str:
    """The instruction on one line, shortened where a literal or configuration is very long."""
    text = print_instruction(module, *place).removeprefix("ROOT ")
    return text if len(text) <= 2000 else text[:2000] + " ..."


def site_of(module: Module, place: Place) -> Site:
    """An instruction as reports name it."""
    it = at(module, place)
    return Site(*place, module.computations[place[0]].name, it.name, it.opcode, text_of(module, place))


def outside(edits: Iterable[RawEdit], computations: Container[tuple[int, int]]) -> list[RawEdit]:
    """The edits outside these computations."""
    return [
        e
        for e in edits
        if not (e.old and (0, e.old[0]) in computations) and not (e.new and (1, e.new[0]) in computations)
    ]


# --- Differences of the module itself: donation, entry layout, partitions, header attributes.

_DONATIONS = frozenset(["input_output_alias", "buffer_donor"])
# Compared elsewhere (parameters, the root, the schedule) or merely a name.
_ELSEWHERE = _DONATIONS | {"is_scheduled", "entry_computation_layout"}


def _donation_edits(old: Module, new: Module, mapping: Mapping[int, int]) -> Iterator[RawEdit]:
    its, others = old.entry_computation.instructions, new.entry_computation.instructions
    matched = {  # which new entry parameter each old one is, by number
        it.number: others[mapping[n]].number
        for n, it in enumerate(its)
        if it.opcode == "parameter" and n in mapping and others[mapping[n]].opcode == "parameter"
    }
    entries = [(module.entry, module.entry_computation) for module in (old, new)]
    places = [{entry.instructions[p].number: (index, p) for p in entry.parameters} for index, entry in entries]
    ours, theirs = header_donations(old), header_donations(new)
    back = {b: a for a, b in matched.items()}
    keys = dict.fromkeys([*((n, matched.get(n), i) for n, i in ours), *((back.get(n), n, i) for n, i in theirs)])
    for before, after, index in keys:
        a = ours.get((before, index), "") if before is not None else ""
        b = theirs.get((after, index), "") if after is not None else ""
        if a != b and before is not None and after is not None:
            change = FieldChange("alias", a or "not donated", b or "not donated")
            yield RawEdit("changed", places[0].get(before), places[1].get(after), [change], matcher="header")


def header_donations(module: Module) -> dict[tuple[int, str], str]:
    """Donated arguments: (parameter number, index inside it) -> "output {0}", or "any output" for mere donors."""
    found: dict[tuple[int, str], str] = {}
    for one in donated_parts(module.attributes):
        must = ", must alias" if one.kind == "must-alias" else ""
        found[one.parameter, one.inside] = "any output" if one.result is None else f"output {{{one.result}}}{must}"
    return found


def header_edits(old: Module, new: Module, mapping: Mapping[int, int]) -> list[RawEdit]:
    """Edits of the header.

    Args:
        old, new: the modules.
        mapping: which new instruction of the entry each old one is.
    """
    ours, theirs = dict(old.attributes), dict(new.attributes)
    edits = [] if _DONATIONS.isdisjoint(ours | theirs) else list(_donation_edits(old, new, mapping))
    for name in sorted({*ours, *theirs} - _ELSEWHERE):
        if ours.get(name) != theirs.get(name):
            change = FieldChange(f"attribute:{name}", ours.get(name, ""), theirs.get(name, ""))
            edits.append(RawEdit("changed", None, None, [change], matcher="header"))
    # The entry layout repeats parameters and root: only where it differs beyond those is there an edit.
    layout, other = (
        ", ".join(split_commas(without_comments(module.attribute("entry_computation_layout") or "")))
        for module in (old, new)
    )
    if layout != other and layout and other and any(_layouts_differ(old, new, mapping, layout, other)):
        edits.append(RawEdit("changed", None, None, [FieldChange("layout", layout, other)], matcher="header"))
    return edits


def _layouts_differ(old: Module, new: Module, mapping: Mapping[int, int], ours: str, theirs: str) -> Iterator[bool]:
    """For each argument and result with one shape on both sides, whether the header lays it out differently."""
    (olds, old_result), (news, new_result) = layout_parts(ours), layout_parts(theirs)
    before, after = old.entry_computation, new.entry_computation
    for position, matched in mapping.items():
        one, other = before.instructions[position], after.instructions[matched]
        if one.opcode == other.opcode == "parameter" and one.shape == other.shape:
            yield olds.get(one.number) != news.get(other.number)
    if before.instructions[before.root].shape == after.instructions[after.root].shape:
        yield old_result != new_result
