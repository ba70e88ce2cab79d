"""Classes of a change: interface, placement, numerics, work, or only the arrangement of the work.

docs/policy.md defines each class with an example. A class is decided by edits, one at a time, and by the signature of
the entry. Knock-on edits (a tuple, a fusion's shape) count only if there is nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import frexp
from typing import Literal

from hlodiff.differ.edits import COPYING, INSIDE, LEFT_OVER
from hlodiff.differ.fields import field_of, is_note
from hlodiff.differ.grouping import Origins
from hlodiff.differ.instruction_costs import names_slices, reserves_memory
from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.placement import places_nothing, resharded_values
from hlodiff.differ.prepare import prepare_pair
from hlodiff.differ.reassociation import reassociated_edits
from hlodiff.differ.regions import PRODUCTS
from hlodiff.differ.result import Edit, FieldChange, ModuleDiff, Site
from hlodiff.differ.shape_literals import follows_from_shapes, number_in
from hlodiff.hlo.collectives import stem
from hlodiff.hlo.metadata import REMATERIALISED, own_frame, own_frames, own_place
from hlodiff.hlo.model import BROADCASTS, CONDITIONALS, Computation, Frame, Instruction, Module, Shape
from hlodiff.hlo.printer import print_instruction
from hlodiff.hlo.traversal import call_sites, preorder
from hlodiff.normalizer.backend_config import parse_config, print_config

FLOAT = re.compile(r"bf\d|f\d")
# The compiler's note that it computes in a type other than requested.
TYPE_NOTE = "float_type_correction_info"

_Value = tuple[int, int]  # an instruction, and which of its results


def rounded_alone(diff: ModuleDiff, numbers: Iterable[int]) -> frozenset[int]:
    """The edits inside computations that differ in rounding alone.

    Args:
        diff: the difference.
        numbers: of some of its reported edits.
    """
    chosen = {n: diff.reported[n] for n in numbers if diff.reported[n].old or diff.reported[n].new}
    if not chosen:
        return frozenset()
    if not _retyped_halves(diff):
        if {"convert", "element_type"}.isdisjoint(diff.contents):  # only these round
            return frozenset()
        if not any(_rounds(edit, diff) for edit in diff.reported):  # or matrix products round it anyway
            return frozenset()
    # Computations that correspond, as far as changed instructions show.
    changed = (edit for edit in diff.edits if edit.kind == "changed")
    mapping = {(a.computation, b.computation) for edit in changed for a, b in edit.sites if a and b}
    mapping.add((diff.old.entry, diff.new.entry))
    touched = [
        {site.computation for edit in chosen.values() for pair in edit.sites if (site := pair[side]) is not None}
        | {pair[side] for pair in mapping}
        for side in (0, 1)
    ]
    paired = [{pair[side]: pair[1 - side] for pair in sorted(mapping, reverse=True)} for side in (0, 1)]
    is_alike, is_same = (
        _finder(_hashes(diff, touched, simplified), touched, paired) for simplified in (_untyped, _without_layouts)
    )

    found = set()
    for n, edit in chosen.items():
        places = [(side, site.computation) for pair in edit.sites for side, site in enumerate(pair) if site]
        # A computation that is equal including types rounds the same, and was only listed as removed and added.
        if all(is_alike(*place) and not is_same(*place) for place in dict.fromkeys(places)):
            found.add(n)
    return frozenset(found)


def _retyped_halves(diff: ModuleDiff) -> frozenset[int]:
    """The edits that remove an operation and add it with results of another floating-point type, as before a cast.

    Both halves are of one line, where lines are known.
    """
    if not {"added", "removed"} <= diff.contents:
        return frozenset()
    found: dict[object, tuple[dict[int, str], dict[int, str]]] = {}
    for n, edit in enumerate(diff.reported):
        site = edit.new or edit.old
        if (
            edit.kind in ("added", "removed")
            and edit.cause is None
            and site is not None
            and site.opcode not in _NO_WORK
        ):
            shape = site.instruction_in((diff.old, diff.new)[edit.new is not None]).shape
            if FLOAT.match(shape.element_type):
                key = site.opcode, shape.dimensions, edit.count, own_place(edit.source)
                found.setdefault(key, ({}, {}))[edit.new is not None][n] = shape.element_type
    return frozenset(
        n
        for old, new in found.values()
        if len(old) == len(new) and {*old.values()}.isdisjoint(new.values())
        for n in (*old, *new)
    )


def _finder(
    hashes: list[dict[int, str]], touched: list[set[int]], paired: list[dict[int, int]]
) -> Callable[[int, int], bool]:
    """Whether the other side has an equal computation: among its matches, or anywhere."""
    alone = [{hashes[side][n] for n in touched[side] if n not in paired[side]} for side in (0, 1)]

    def has_same(side: int, computation: int) -> bool:
        own, matched = hashes[side][computation], paired[side].get(computation)
        return own in alone[1 - side] if matched is None else own == hashes[1 - side][matched]

    return has_same


def _hashes(
    diff: ModuleDiff, touched: list[set[int]], simplified: Callable[[Computation], Computation]
) -> list[dict[int, str]]:
    """Content hashes of the touched computations of either side, simplified first."""
    order = [sorted(some) for some in touched]
    modules = [
        replace(module, computations=tuple(simplified(module.computations[n]) for n in some), entry=0)
        for module, some in zip((diff.old, diff.new), order, strict=True)
    ]
    ready = prepare_pair(modules[0], modules[1])
    return [
        {n: content.hash for n, content in zip(some, hashed.contents, strict=True)}
        for some, hashed in zip(order, ready.hashed, strict=True)
    ]


def _without_layouts(computation: Computation) -> Computation:
    instructions = (
        replace(it, shape=it.shape.bare, attributes=(*it.attributes, *_called(it)), calls=())
        for it in computation.instructions
    )
    return replace(computation, instructions=tuple(instructions))


def _called(it: Instruction) -> list[tuple[str, str]]:
    return [(name, str(len(group))) for name, group in it.calls]


def _untyped(computation: Computation) -> Computation:
    """One type for all numbers, no converts between them, and no layouts, which go with types."""
    kept: list[Instruction] = []
    values: list[_Value] = []
    for it in computation.instructions:
        types = (it.shape.element_type, *_taken_types(it, computation)) if it.opcode == "convert" else ()
        is_cast = len(types) == 2 and all(map(FLOAT.match, types))
        if is_cast and it.operands[0] < len(values):
            at, result = values[it.operands[0]]
            values.append((at, result or (it.results[0] if it.results else 0)))
        else:
            values.append((len(kept), 0))
            kept.append(it)
    instructions = tuple(_plain(it, values) for it in kept)
    return replace(computation, instructions=instructions, root=values[computation.root][0])


def _taken_types(it: Instruction, computation: Computation) -> Iterator[str]:
    """The element types of what an instruction takes; a call has several results."""
    for operand, result in it.reads:
        shape = computation.instructions[operand].shape
        yield (shape.tuple_shapes[result] if result < len(shape.tuple_shapes) else shape).element_type


def _plain(it: Instruction, values: Sequence[_Value]) -> Instruction:
    taken = [(values[n][0], values[n][1] or r) for n, r in it.reads]
    attributes = [(key, _without_note(it, key, value)) for key, value in it.attributes if field_of(key) != "precision"]
    return replace(
        it,
        shape=_shape(it.shape.bare),
        operands=tuple(n for n, _ in taken),
        results=tuple(r for _, r in taken) if any(r for _, r in taken) else (),
        attributes=tuple((key, value) for key, value in [*attributes, *_called(it)] if value is not None),
        calls=(),
        control_predecessors=tuple(values[n][0] for n in it.control_predecessors),
        literal=None if it.opcode == "constant" and FLOAT.match(it.shape.element_type) else it.literal,
    )


def _without_note(it: Instruction, key: str, value: str) -> str | None:
    config = parse_config(value) if key == "backend_config" and TYPE_NOTE in value else None
    if config is None or it.opcode.replace("_", "-").startswith("custom-call"):
        return value
    config.pop(TYPE_NOTE, None)
    return print_config(config) if config else None


def _shape(shape: Shape) -> Shape:
    parts = tuple(map(_shape, shape.tuple_shapes))
    kind = "float" if FLOAT.match(shape.element_type) else shape.element_type
    return replace(shape, element_type=kind, tuple_shapes=parts)


Class = Literal["toolchain", "interface", "placement", "numerics", "structure", "cost", "schedule", "identical"]
# Most severe first. `toolchain` answers another question (who made the change), so it precedes all that it explains.
CLASSES: tuple[Class, ...] = (
    "toolchain", "interface", "placement", "numerics", "structure", "cost", "schedule", "identical",
)  # fmt: skip
MEANINGS: dict[Class, str] = {
    "toolchain": "by the compiler, not by the code",
    "interface": "arguments or results",
    "placement": "other memory, device or sharding",
    "numerics": "constants, types, precision",
    "structure": "other operations",
    "cost": "fusions, copies, layouts",
}
"""What each class of a changed program says of it, for a report that has its word."""
OTHER_RESULTS = "results may differ"
"""Holds besides for `structure`, unless the compiled program is the same."""

_NAMES = re.compile(r"[%@][\w.#-]+")  # of values and meshes: a mesh is named after its axes
_FLOATS = re.compile(r"= \(?b?[fc]\d")
_FLOAT = re.compile(r"\b(?:bf|f|c)\d")
_LEADING = re.compile(r"\d+")
_INTEGER = re.compile(r"-?\d+")
_BITS = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}  # of exponent and mantissa
_RESULT = re.compile(r"= \(?(b?[fc]\d+\w*)")
_ZERO = re.compile(r"(?:dense<)?-?0(?:\.0*)?(?:e[-+]?0+)?>?", re.IGNORECASE)
_HOST_SPACE = re.compile(r"S\(5\)")
_PLACEMENT = frozenset(["sharding", "compute_type", "replica_groups"])
_MODULE_PLACEMENT = ("num_partitions", "replica_count", "mhlo.num_partitions", "mhlo.num_replicas", "sdy.mesh")
_SIGNATURE = frozenset(["shape", "element_type", "sharding", "layout", "attribute:parameter_number"])
# How the compiler arranges work, not what is computed.
_ARRANGED = frozenset(
    ["layout", "fusion_kind", "schedule", "attribute:asynchronous", "attribute:inlineable",
     "attribute:custom_call_schedule"]
)  # fmt: skip
_OF_THE_OPERATION = frozenset(["precision", "literal", "backend_config", "fusion_kind", "custom_call_target"])
_ARRANGING = frozenset(["copy", "copy-start", "copy-done", "bitcast", "fusion", "fusion-start", "async-start"])
# They come, go and change shape with their users.
_FOLLOWERS = BOOKKEEPING | BROADCASTS | {"fusion", "constant"}
_NO_WORK = _FOLLOWERS | _ARRANGING | {"convert", "reduce-precision"}
# They pass on what something else computes: a changed type belongs to that.
_HANDING_ON = CONDITIONALS | {"while"}
_CONSTRAINTS = ("sdy.sharding_constraint", "sdy.reshard")
# The calls that bring work to the host's processor, and data to its memory and back.
_HOST_CALLS = ("HostExecute", "MoveToHost", "MoveToDevice", "annotate_device_placement", "Sharding")
_SUMS = frozenset(["reduce", "reduce-window", "reduce_window"])
# They accumulate numbers: a different order rounds differently.
_ACCUMULATING = frozenset(
    ["reduce", "reduce-window", "reduce_window", "dot", "dot_general", "convolution", "scatter", "all-reduce",
     "all-reduce-start", "all_reduce", "reduce-scatter", "reduce_scatter", "select-and-scatter", "select_and_scatter"]
)  # fmt: skip

_Classification = tuple[Class, bool]
"""A class, and whether the edit is a knock-on edit."""


def classes_of(diff: ModuleDiff, has_folded_constants: bool = False) -> tuple[Class, ...]:
    """The classes of a change, most severe first; the first one is shown in the headline.

    Args:
        diff: two programs of one stage.
        has_folded_constants: whether the source changed no number or type, so that changed constants and added or
            removed casts follow from other changes.

    Returns:
        one or more of `CLASSES` without "toolchain", which needs to know who compiled; ("identical",) where there is
        no difference at all, ("schedule",) where only order or tuning differ.

    Example:
        >>> classes_of(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ('identical',)
    """
    if not diff.edits:
        return ("schedule",) if diff.schedule or diff.tuning else ("identical",)
    by_edit = _classes_of_edits(diff, has_folded_constants)
    classified = [one for several in by_edit for one in several]
    chosen = {name for name, follows in classified if not follows} or {name for name, _ in classified}
    if signature(diff.old) != signature(diff.new) or _renames_results(diff):
        chosen.add("interface")
    if any(name == "cost" for name, _ in classified) and _has_other_work(diff):
        chosen.add("structure")
    if "placement" not in chosen and {"added", "removed"} <= diff.contents:
        from hlodiff.differ.moves import relocations

        if relocations(diff):
            chosen.add("placement")
    return tuple(name for name in CLASSES if name in chosen)


def _classes_of_edits(diff: ModuleDiff, has_folded_constants: bool) -> list[list[_Classification]]:
    """The classes of each edit, beside others of its program."""
    by_edit = [_classes(edit, diff) for edit in diff.reported]
    if has_folded_constants:
        for n, edit in enumerate(diff.reported):
            if edit.kind == "changed" and not _is_numeric_anyway(edit, diff):
                by_edit[n] = [("structure", True) if one[0] == "numerics" else one for one in by_edit[n]]
    for n, edit in enumerate(diff.reported) if "element_type" in diff.contents else ():
        if edit.kind == "changed" and is_rounded_anyway(edit, diff):
            by_edit[n] = [("cost", follows) if name == "numerics" else (name, follows) for name, follows in by_edit[n]]
    if not diff.contents.isdisjoint(("added", "removed")):
        for n in _constraints_elsewhere(diff):
            by_edit[n] = [("structure", True)]
        _reclassify_casts(diff, by_edit, has_folded_constants)
        for n in () if has_folded_constants else numbers_in_place(diff):
            by_edit[n] = [("numerics", False)]
    if any(change.field in _PLACEMENT for edit in diff.reported for change in edit.changes):
        for n, edit in enumerate(diff.reported):
            if edit.kind == "changed" and _is_of_places(edit, diff):
                by_edit[n] = [("placement", False)]
    for n in (*reassociated_edits(diff), *_exchanged_products(diff)):
        by_edit[n] = [("numerics" if name == "structure" else name, follows) for name, follows in by_edit[n]]
    for n in _numbers_of_replaced_lines(diff):
        by_edit[n] = [("structure" if name == "numerics" else name, follows) for name, follows in by_edit[n]]
    doubtful = [n for n, classified in enumerate(by_edit) if any(name == "structure" for name, _ in classified)]
    for n in rounded_alone(diff, () if has_folded_constants else doubtful):
        by_edit[n] = [("numerics" if name == "structure" else name, follows) for name, follows in by_edit[n]]
    for n in () if has_folded_constants or diff.new.stage != "stablehlo" else _retyped_halves(diff):
        by_edit[n] = [("numerics", False)]
    return by_edit


def _exchanged_products(diff: ModuleDiff) -> list[int]:
    """Matrix products that a line has another operation for, as `jnp.einsum` in place of a convolution: of equal flops.

    Where one became one they are paired, and that is `numerics` too.
    """
    found: dict[object, tuple[list[int], list[int]]] = {}
    for n, edit in enumerate(diff.reported):
        site, line = edit.new or edit.old, own_place(edit.source)
        if edit.kind in ("added", "removed") and site is not None and site.opcode in PRODUCTS and line is not None:
            found.setdefault(line, ([], []))[edit.kind == "added"].append(n)
    exchanged: list[int] = []
    for sides in found.values():
        edits = [[diff.reported[n] for n in side] for side in sides]
        opcodes = [{site.opcode for edit in side if (site := edit.new or edit.old)} for side in edits]
        flops = [sum(cost.flops for edit in side for cost in edit.cost or () if cost) for side in edits]
        if all(opcodes) and opcodes[0].isdisjoint(opcodes[1]) and flops[0] == flops[1]:
            exchanged += [*sides[0], *sides[1]]
    return exchanged


def _numbers_of_replaced_lines(diff: ModuleDiff) -> list[int]:
    """Changed constants of lines whose operations were replaced: the numbers of another formula."""
    lines = {own_place(edit.source) for edit in diff.reported if edit.is_replaced} - {None}
    return [
        n
        for n, edit in enumerate(diff.reported if lines else ())
        if edit.fields == ("literal",) and not edit.is_replaced and own_place(edit.source) in lines
    ]


def _has_other_work(diff: ModuleDiff) -> bool:
    """Whether operations were added or removed with their fusions: those fusions are different work."""
    found: Counter[str] = Counter()
    for edit in diff.reported:
        site = edit.new or edit.old
        if edit.cause is not None and diff.reported[edit.cause].fields == ("attribute:asynchronous",):
            continue  # a step of a collective
        if edit.kind in ("added", "removed") and site is not None and site.opcode not in _NO_WORK:
            found[site.opcode] += edit.count if edit.new else -edit.count
    return any(found.values())


def replaces_a_number(diff: ModuleDiff) -> bool:
    """Whether floating-point constants were removed and added outside of replaced subgraphs, and have users left.

    Args:
        diff: the difference of a StableHLO program.
    """
    return {False, True} <= {side for _, side, _ in _lone_numbers(diff)}


_LoneNumber = tuple[int, bool, Site]
"""An added or removed constant: the index of its edit, whether the new side has it, and where."""


def _lone_numbers(diff: ModuleDiff) -> list[_LoneNumber]:
    """The floating-point constants that were added or removed outside of replaced subgraphs, and not with a user."""
    return [
        (n, edit.new is not None, site)
        for n, edit in enumerate(diff.reported)
        if edit.kind in ("added", "removed") and edit.cause is None and edit.region is None
        if (site := edit.new or edit.old) and site.opcode == "constant" and _FLOATS.search(site.text)
    ]


def _edited_places(diff: ModuleDiff) -> list[set[_Place]]:
    """The instructions of either side that are not just connected differently."""
    others = [edit for edit in diff.reported if edit.kind != "changed" or edit.fields != ("operands",)]
    sites = [pair for edit in others for pair in edit.sites]
    return [{(site.computation, site.instruction) for pair in sites if (site := pair[side])} for side in (0, 1)]


def _is_count(user: Instruction, site: Site, module: Module) -> bool:
    """Whether an operation divides by a constant that is a whole number, as a mean does."""
    is_divisor = user.opcode == "divide" and user.operands[-1] == site.instruction
    number = number_in(site.instruction_in(module).literal) if is_divisor else None
    return number is not None and number.is_integer()


def numbers_in_place(diff: ModuleDiff) -> frozenset[int]:
    """The floating-point constants that came, or went, in place of a computed value or of another constant.

    Args:
        diff: the difference.

    Returns:
        the indices of the edits.
    """
    return _numbers_for_values(diff) | _exchanged_numbers(diff)


def _numbers_for_values(diff: ModuleDiff) -> frozenset[int]:
    """The constants of StableHLO that an operation takes in place of a computed value, or took.

    The operation stays as it is, and so do its other operands; the other program does not have the number. A whole
    number that something is divided by is a count. One in place of an argument is the value that the argument had.
    """
    alone = _lone_numbers(diff) if diff.new.stage == "stablehlo" else []
    if alone:
        arguments = _shapes_of_other_arguments(diff)
        alone = [one for one in alone if _shape_of(one, diff) not in arguments[one[1]]]
    if not alone:
        return frozenset()
    modules = diff.old, diff.new
    known = [{it.literal for one in module.computations for it in one.instructions} for module in modules]
    places = _edited_places(diff)

    def is_taken(side: bool, site: Site, user: int) -> bool:
        it = modules[side].computations[site.computation].instructions[user]
        edited = {(site.computation, n) in places[side] for n in (user, *it.operands) if n != site.instruction}
        return edited == {False} and it.opcode != "return" and not _is_count(it, site, modules[side])

    return frozenset(
        n
        for n, side, site in alone
        if site.instruction_in(modules[side]).literal not in known[not side]
        for user in modules[side].computations[site.computation].users[site.instruction]
        if is_taken(side, site, user)
    )


def _shape_of(number: _LoneNumber, diff: ModuleDiff) -> str:
    return number[2].instruction_in((diff.old, diff.new)[number[1]]).shape.bare.text


def _shapes_of_other_arguments(diff: ModuleDiff) -> tuple[set[str], set[str]]:
    """The shapes of arguments that came, and of those that went, of the whole program."""
    found: tuple[set[str], set[str]] = set(), set()
    for edit in diff.reported:
        site = edit.new or edit.old
        if edit.kind in ("added", "removed") and site is not None and site.opcode == "parameter":
            module = (diff.old, diff.new)[edit.new is not None]
            if site.computation == module.entry:
                found[edit.new is None].add(site.instruction_in(module).shape.bare.text)
    return found


def _exchanged_numbers(diff: ModuleDiff) -> frozenset[int]:
    """The constants of which one came for the other: the only ones of their type in one function.

    An operation of both programs takes them. In StableHLO it may take a value that was computed from one of them: JAX
    folds `-0.05`, but writes what a library does with a number. Numbers that follow from shapes are counts.
    """
    found: dict[object, tuple[list[_LoneNumber], list[_LoneNumber]]] = {}
    for n, side, site in _lone_numbers(diff):
        frame = own_frame(diff.reported[n].source)
        key = frame and (frame.file, frame.function), site.instruction_in((diff.old, diff.new)[side]).shape.bare.text
        found.setdefault(key, ([], []))[side].append((n, side, site))
    if not any(all(sides) for sides in found.values()):
        return frozenset()
    places = _edited_places(diff)
    exchanged: set[int] = set()
    for sides in found.values():
        literals = [
            {site.instruction_in(module).literal or "" for _, _, site in numbers}
            for module, numbers in zip((diff.old, diff.new), sides, strict=True)
        ]
        if [len(one) for one in literals] != [1, 1] or literals[0] == literals[1]:
            continue
        (old,), (new,) = literals
        if any(_ZERO.fullmatch(one) for one in (old, new)):  # sums, masks and loops start from it
            continue
        taken = [any(_is_taken(diff, one, places) for one in numbers) for numbers in sides]
        is_exchanged = any(taken) if diff.new.stage == "stablehlo" else all(taken)
        if is_exchanged and not follows_from_shapes(old, new, diff.element_counts):
            exchanged.update(n for numbers in sides for n, _, _ in numbers)
    return frozenset(exchanged)


def _is_taken(diff: ModuleDiff, number: _LoneNumber, places: Sequence[Container[_Place]]) -> bool:
    """Whether only operations of both programs take a constant, directly or as edited instructions hand it on."""
    _, side, site = number
    module = (diff.old, diff.new)[side]
    computation = module.computations[site.computation]

    def takers(position: int) -> Iterator[int]:
        if position == site.instruction or (site.computation, position) in places[side]:
            yield from computation.users[position]

    taking = [n for n in preorder([site.instruction], takers) if n != site.instruction]
    edited = [n for n in taking if (site.computation, n) in places[side]]
    is_handed_on = all(computation.instructions[n].opcode in _NO_WORK for n in edited)
    return is_handed_on and not any(_is_count(computation.instructions[n], site, module) for n in taking)


def _is_numeric_anyway(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an edit is numeric for more than a changed constant or the layout of what is summed: type or precision.

    Other shardings have other partial sums too, by other collectives, and the compiler sums a transposed array over its
    other dimension. What only hands on values is of another type where the compiler casts them earlier or later, and
    so is a cast of its own.
    """
    hands_on = all(site is None or site.opcode in {*_HANDED_OVER, "convert"} for site in (edit.old, edit.new))
    others = {"opcode", "literal", "attribute:dimensions", "attribute:window", *(["element_type"] if hands_on else [])}
    rest = tuple(change for change in edit.changes if change.field not in others and change.literals is None)
    return any(name == "numerics" for name, _ in _classes(replace(edit, changes=rest), diff))


def _constraints_elsewhere(diff: ModuleDiff) -> list[int]:
    """Sharding constraints of one line that were removed from one function and added to another, as in a loop.

    One more of the same line, or one fewer of several, places nothing new either, as where the backward pass computes
    the forward pass again: of the same calls, as a helper places other values for each of its callers.
    """
    found: dict[tuple[str, object], Counter[str]] = {}
    members: dict[tuple[str, object], list[int]] = {}
    stacks: dict[tuple[str, object], set[object]] = {}
    for n, edit in enumerate(diff.reported):
        site, line = edit.new or edit.old, own_place(edit.source)
        if edit.kind in ("added", "removed") and site is not None and site.opcode in _CONSTRAINTS and line is not None:
            key = _NAMES.sub("", site.text), line
            found.setdefault(key, Counter())[edit.kind] += edit.count
            members.setdefault(key, []).append(n)
            stacks.setdefault(key, set()).add(_calls(edit.source))
    again = [n for group in members.values() for n in group if REMATERIALISED in (diff.reported[n].op_name or "")]
    kept = _constraints(diff.old) & _constraints(diff.new) if found else set()
    others = [
        n
        for key, counts in found.items()
        if counts["added"] == counts["removed"] or all((key[0], stack) in kept for stack in stacks[key])
        for n in members[key]
    ]
    return again + others


def _constraints(module: Module) -> set[tuple[str, object]]:
    """The sharding constraints of a program, without names of values, each with its calls."""
    return {
        (_NAMES.sub("", print_instruction(module, number, position)), _calls(module.stack(it.frame)))
        for number, computation in enumerate(module.computations)
        for position, it in enumerate(computation.instructions)
        if it.opcode in _CONSTRAINTS and it.frame >= 0
    }


def _calls(source: Iterable[Frame]) -> tuple[tuple[str, int], ...]:
    """The lines of the user's own code through which an instruction was made, innermost first."""
    return tuple((frame.file, frame.line) for frame in own_frames(source))


def _reclassify_casts(diff: ModuleDiff, by_edit: list[list[_Classification]], is_source_alike: bool) -> None:
    """Casts added or removed with an operation have its class, unless the operation computes in two types.

    If a target has no arithmetic in a type, the compiler casts to another one and back around each operation. With
    `is_source_alike` the StableHLO rounds as before, so the compiler only repeats its casts in more or fewer fusions,
    or has no arithmetic in that type for other work.
    """
    regions = max((edit.region for edit in diff.reported if edit.region is not None), default=-1) + 1
    types = [_computed_types(diff, number) for number in range(regions)]
    retyped = {
        number
        for number, (old, new) in enumerate(types)
        if not is_source_alike and any(old[opcode].isdisjoint(new[opcode]) for opcode in old.keys() & new.keys())
    }
    scopes: dict[str, set[str | None]] = {"added": set(), "removed": set()}
    places: dict[str, set[tuple[int, int]]] = {"added": set(), "removed": set()}
    for edit in diff.reported:
        site = edit.new or edit.old
        if edit.kind in scopes and site is not None:
            places[edit.kind].update(_places_of(edit))
            if _is_work(site):
                scopes[edit.kind].add(edit.op_name)
    of_products = _casts_of_products(diff)
    of_other_work = _CastsOfOtherWork(diff, places) if diff.new.stage == "stablehlo" else None
    for n, edit in enumerate(diff.reported):
        site = edit.new or edit.old
        if site is None or edit.kind not in scopes or not by_edit[n]:
            continue
        module = (diff.old, diff.new)[edit.new is not None]
        is_cast = _is_cast(site, module)
        # A cast that the compiler put around an operation has the operation's name or none, not its own.
        is_users = "convert_element_type" in (edit.op_name or "").rpartition("/")[2]
        if is_cast and REMATERIALISED in (edit.op_name or ""):  # recomputed as before
            by_edit[n] = [("structure", False)]
        elif is_cast and of_products.issuperset((edit.new is not None, place) for place in _places_of(edit)):
            by_edit[n] = [("cost", True)]
        elif edit.region in retyped and _is_work(site):
            by_edit[n].append(("numerics", False))
        elif is_cast and edit.region not in retyped and (is_source_alike or (of_other_work and edit in of_other_work)):
            by_edit[n] = [("structure", True)]
        elif is_cast and edit.region not in retyped and not is_users:
            operands = site.instruction_in(module).operands
            is_with_its_operand = any((site.computation, operand) in places[edit.kind] for operand in operands)
            if is_with_its_operand if edit.op_name is None else edit.op_name in scopes[edit.kind]:
                by_edit[n] = [("structure", True)]
            elif edit.op_name is None and _only_products_take(module, (site.computation, site.instruction)):
                by_edit[n] = [("cost", False)]  # its users round it anyway


class _CastsOfOtherWork:
    """The casts of StableHLO that came or went with other work: they round nothing that is on both sides.

    Either their operands and users came or went too, or their line makes the same casts on both sides: another layer,
    a loop and a backward pass that computes again have more of them. What computes again casts the same value again.

    Args:
        diff: both programs.
        places: of its added and of its removed instructions.
    """

    def __init__(self, diff: ModuleDiff, places: Mapping[str, Container[_Place]]) -> None:
        self._diff, self._places = diff, places

    @cached_property
    def _lines(self) -> list[dict[_Place, object]]:
        return [_cast_lines(module) for module in (self._diff.old, self._diff.new)]

    @cached_property
    def _moved(self) -> frozenset[object]:
        return frozenset.intersection(*(self._keys(kind) for kind in ("added", "removed")))

    def __contains__(self, edit: Edit) -> bool:
        return all(self._is_of_other_work(edit.kind, place) for place in _places_of(edit))

    def _keys(self, kind: str) -> frozenset[object]:
        lines = self._lines[kind == "added"]
        edits = [edit for edit in self._diff.reported if edit.kind == kind]
        return frozenset(lines[place] for edit in edits for place in _places_of(edit) if place in lines)

    def _is_of_other_work(self, kind: str, place: _Place) -> bool:
        if self._came_with_others(kind, place):
            return True
        side = kind == "added"
        equal = self._equal_casts(side, place)
        if place not in self._lines[side]:  # a backward pass that computes again names no line of the user
            return any(self._came_with_others(kind, other) for other in equal)
        return self._is_of_kept_line(side, place) and any(other not in self._places[kind] for other in equal)

    def _came_with_others(self, kind: str, place: _Place) -> bool:
        side = kind == "added"
        computation, edited = (self._diff.old, self._diff.new)[side].computations[place[0]], self._places[kind]
        operands = [(place[0], n) in edited for n in computation.instructions[place[1]].operands]
        users = [(place[0], n) in edited for n in computation.users[place[1]]]
        if all(operands) and users and all(users):
            return True
        is_moved = self._lines[side].get(place) in self._moved
        return self._is_of_kept_line(side, place) and (is_moved or any(operands) or any(users))

    def _is_of_kept_line(self, side: bool, place: _Place) -> bool:
        """Whether the line of a cast casts between the same types on the other side too."""
        key = self._lines[side].get(place)
        return key is not None and key in self._lines[not side].values()

    def _equal_casts(self, side: bool, place: _Place) -> list[_Place]:
        """The other casts of the same value to the same type; what computes again takes it behind a barrier."""
        computation = (self._diff.old, self._diff.new)[side].computations[place[0]]
        it = computation.instructions[place[1]]
        value = _before_barriers(computation, it.reads[0])
        return [
            (place[0], n)
            for n, other in enumerate(computation.instructions)
            if other.opcode == "convert" and n != place[1] and other.shape.element_type == it.shape.element_type
            if _before_barriers(computation, other.reads[0]) == value
        ]


def _before_barriers(computation: Computation, value: _Value) -> _Value:
    """A value as it was before optimization barriers, which hand it on."""
    while (it := computation.instructions[value[0]]).opcode == "optimization_barrier":
        value = it.reads[value[1]]
    return value


def _places_of(edit: Edit) -> list[_Place]:
    """The instructions of an edit: the new ones, or the old ones if it has no others."""
    sites = [new or old for old, new in edit.sites]
    return [(site.computation, site.instruction) for site in sites if site is not None]


def _cast_lines(module: Module) -> dict[_Place, object]:
    """The types of each cast between floating-point types, with its line as counted from the first of its function."""
    first: dict[tuple[str, str], int] = {}
    for frame in module.frames:
        function = frame.file, frame.function
        first[function] = min(frame.line, first.get(function, frame.line))
    found: dict[_Place, object] = {}
    origins = Origins(module)
    for index, computation in enumerate(module.computations):
        for n, it in enumerate(computation.instructions):
            types = [one.shape.element_type for one in (it, *(computation.instructions[m] for m in it.operands[:1]))]
            own = origins.stack(index, n).own if it.opcode == "convert" and all(map(FLOAT.match, types)) else None
            if own is not None:
                found[index, n] = own.file, own.function, own.line - first[own.file, own.function], *types
    return found


def _rounds(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an edit casts or retypes a value that not only matrix products take, which round it anyway."""
    if edit.kind != "changed":
        side = edit.new is not None
        module, site = (diff.old, diff.new)[side], edit.new or edit.old
        if site is None or not _is_cast(site, module):
            return False
        sites = [pair[side] for pair in edit.sites]
        return not all(one and _only_products_take(module, (one.computation, one.instruction)) for one in sites)
    is_cast = "convert" in [it.opcode for it in (edit.old, edit.new) if it]
    return (is_cast or "element_type" in edit.fields) and not is_rounded_anyway(edit, diff)


def is_rounded_anyway(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether a changed type rounds nothing: only matrix products take the values, or a cast of them came or went.

    Example:
        >>> module = Module("m", "compiled", (), 0)
        >>> is_rounded_anyway(Edit("changed", ("shape",)), ModuleDiff(module, module))
        False
    """
    found = _wide_and_narrow(edit, diff)
    if found is None or not edit.sites:
        return False
    (module, wide), (narrower, narrow) = found
    return all(_only_products_take(narrower, place) for place in narrow) or all(
        _is_cast_product(module, place) for place in wide
    )


def _wide_and_narrow(edit: Edit, diff: ModuleDiff) -> tuple[tuple[Module, list[_Place]], ...] | None:
    """Where values are in float32, and in bfloat16 on the other side; None for other changes of a type."""
    types = [(change.old, change.new) for change in edit.changes if change.field == "element_type"]
    if len(types) != 1 or set(types[0]) != {"f32", "bf16"}:
        return None
    return tuple(
        ((diff.old, diff.new)[side], [(s.computation, s.instruction) for pair in edit.sites if (s := pair[side])])
        for side in (types[0].index(name) for name in ("f32", "bf16"))
    )


def _is_cast_product(module: Module, place: _Place) -> bool:
    """Whether a value is a matrix product of a TPU, and casts to bfloat16 take it: the product may round as they do."""
    computation = module.computations[place[0]]
    users = [computation.instructions[n] for n in computation.users[place[1]]]
    casts = [it for it in users if it.opcode == "convert" and it.shape.element_type == "bf16"]
    is_product = module.stage == "compiled" and computation.instructions[place[1]].opcode == "convolution"
    return is_product and bool(users) and casts == users


def _casts_of_products(diff: ModuleDiff) -> set[tuple[bool, _Place]]:
    """The casts of one side, new or old, that products of the other do themselves, see `_is_cast_product`."""
    sides = [found[0] for edit in diff.reported if edit.kind == "changed" and (found := _wide_and_narrow(edit, diff))]
    return {
        (module is diff.new, (place[0], user))
        for module, places in sides
        for place in places
        if _is_cast_product(module, place)
        for user in module.computations[place[0]].users[place[1]]
    }


def _computed_types(diff: ModuleDiff, region: int) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Floating-point types of each operation of a replaced region, among removed and added ones."""
    found: tuple[dict[str, set[str]], dict[str, set[str]]] = ({}, {})
    for edit in diff.reported:
        for side, site in enumerate((edit.old, edit.new)):
            if edit.region == region and site is not None and _is_work(site):
                found[side].setdefault(site.opcode, set()).update(_RESULT.findall(site.text)[:1])
    return found


def _is_work(site: Site) -> bool:
    return site.opcode != "convert" and site.opcode not in _FOLLOWERS and bool(_FLOATS.search(site.text))


def classes_of_edit(edit: Edit, diff: ModuleDiff) -> tuple[Class, ...]:
    """The classes of one edit of a diff, most severe first, whether or not it follows another one."""
    found = {name for name, _ in _classes(edit, diff)}
    return tuple(name for name in CLASSES if name in found)


def is_argument(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an edit is about an argument of the whole program, not of a computation inside it."""
    sides = ((edit.old, diff.old), (edit.new, diff.new))
    return all(site and (site.opcode, site.computation) == ("parameter", module.entry) for site, module in sides)


def signature(module: Module) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types of the arguments by number and of the results, without layouts.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> signature(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2] parameter(0)\\n}"))[1]
        ('f32[2]',)
    """
    if not module.computations:
        return (), ()
    entry = module.entry_computation
    arguments = tuple(entry.instructions[index].shape.bare.text for index in entry.parameters)
    return arguments, tuple(shape.bare.text for shape in module.result_shapes)


def _renames_results(diff: ModuleDiff) -> bool:
    """Whether results are at other paths, which callers read: a key of a dictionary of metrics.

    Where arguments are renamed too it is the model's field, which results repeat, and no caller names it.
    """
    if diff.new.stage != "stablehlo" or diff.arguments.renamed:
        return False
    names = [module.result_names() for module in (diff.old, diff.new) if module.computations]
    numbers = any(name.startswith("result ") for each in names for name in each)
    return not numbers and len(set(names)) > 1


def _classes(edit: Edit, diff: ModuleDiff) -> list[_Classification]:
    site = edit.new or edit.old
    follows = site is not None and (site.opcode in _FOLLOWERS or site.opcode.endswith("-done"))
    if site is not None and edit.kind in ("added", "removed"):
        module = (diff.old, diff.new)[edit.new is not None]
        follows &= not _is_kernel_of_a_copy(site, module)
        return [_of_whole(site, follows or edit.cause is not None, module)]
    changes = [change for change in edit.changes if change.field != "computation"]
    elsewhere = any(change.field == "compute_type" for change in changes)
    # A changed place brings its own layout, and a changed type its own layout and constants.
    typed = any(change.field == "element_type" for change in changes)
    dropped = ("layout", "literal") if typed else ("layout",) if elsewhere else ()
    if any(change.field == "opcode" for change in changes):
        # A different operation has different attributes; only the type of an argument or result still matters.
        changes = [c for c in changes if c.field == "opcode" or c.field not in _OF_THE_OPERATION]
        changes = [c for c in changes if not c.field.startswith("attribute:")]
    if typed:
        changes = [c for c in changes if not is_note(c, TYPE_NOTE)]
    if any(change.field == "operands" for change in changes):  # which are counted in it by their numbers
        changes = [c for c in changes if not is_note(c, "aliasing_operands")]
    found: list[_Classification] = [
        one for c in changes if c.field not in dropped for one in _of_change(c, edit, diff, follows)
    ]
    if edit.kind == "moved" and not elsewhere:
        costs = edit.cost or (None, None)
        runs = {cost.runs for cost in costs if cost is not None}  # changed run count, as when moved out of a loop
        found.append(("structure" if len(runs) > 1 else "cost", follows))
    return found


def resharded_by_map(change: FieldChange, edit: Edit, diff: ModuleDiff) -> list[tuple[str, str]]:
    """The shardings that `jax.shard_map` takes or returns its values with, where they differ.

    An operand of another type, or that another operation made, is another value and no resharded one: the backward pass
    takes what the forward pass saved, and the forward pass returns it.

    Args:
        change: a change of `in_shardings` or `out_shardings`; others give [].
        edit: its edit.
        diff: the edit's comparison.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> module = Module("m", "stablehlo", (), 0)
        >>> resharded_by_map(FieldChange("operands", "%a", "%b"), Edit("changed"), ModuleDiff(module, module))
        []
    """
    if not change.field.startswith(_OF_MAP):
        return []
    pairs = resharded_values(change.old, change.new, with_kept=True)
    if pairs and edit.old and edit.new:
        before, after = (
            _mapped_values(change.field, site, module, "operands" in edit.fields)
            for site, module in ((edit.old, diff.old), (edit.new, diff.new))
        )
        if len(pairs) <= min(len(before), len(after)):
            pairs = [pair for pair, old, new in zip(pairs, before, after, strict=False) if old == new]
    return [pair for pair in pairs if pair[0] != pair[1]]


_OF_MAP = ("attribute:in_shardings", "attribute:out_shardings")


def _mapped_values(field: str, site: Site, module: Module, with_opcode: bool) -> list[tuple[str, object]]:
    """The types of what `shard_map` takes and which operations made it, or the sizes of what it returns."""
    it = site.instruction_in(module)
    if field == _OF_MAP[1]:
        return [("", shape.dimensions) for shape in it.shape.tuple_shapes or (it.shape,)]
    instructions = module.computations[site.computation].instructions
    made = [(instructions[number], result) for number, result in it.reads]
    return [
        (by.opcode if with_opcode else "", by.shape.tuple_shapes[result] if by.shape.tuple_shapes else by.shape)
        for by, result in made
    ]


def _of_whole(site: Site, follows: bool, module: Module) -> _Classification:
    """Class of an added or removed instruction."""
    if (site.opcode, site.computation) == ("parameter", module.entry):
        return "interface", False
    if _is_placing(site):
        is_jax_own = site.opcode in _CONSTRAINTS and places_nothing(site.instruction_in(module), module)
        return ("structure", True) if is_jax_own else ("placement", False)
    if _is_cast(site, module):
        return "numerics", follows
    if site.opcode.removesuffix("-done") in _ARRANGING:
        return "cost", follows
    return "structure", follows


def _is_kernel_of_a_copy(site: Site, module: Module) -> bool:
    """Whether a fusion only copies: it follows from no operation, and is a kernel more or less as a copy itself is."""
    it = site.instruction_in(module)
    bodies = [module.computations[n] for _, called in it.calls for n in called] if it.opcode == "fusion" else []
    return bool(bodies) and all(map(_only_copies, bodies))


def _only_copies(body: Computation) -> bool:
    """Whether a computation copies a value, or a part of it; scalars say which."""
    others = (it for it in body.instructions if it.opcode not in _SELECTING and it.shape.dimensions)
    return body.instructions[body.root].opcode == "copy" and not any(others)


# They select a value, or the order of its elements.
_SELECTING = COPYING | frozenset(["parameter", "bitcast", "reshape", "transpose", "slice", "dynamic-slice", "tuple"])


def _of_change(change: FieldChange, edit: Edit, diff: ModuleDiff, follows: bool) -> list[_Classification]:
    """Classes of one changed field; the type of an argument is interface and numerics, its sharding also placement."""
    field, (old, new) = change.field, (change.old, change.new)
    site = edit.new or edit.old
    numeric = _is_numeric(field, old, new, site)
    if field == "opcode" and {old, new} <= _SUMS and any(one.field == "shape" for one in edit.changes):
        numeric = False  # sums of parts, which are other numbers, and not the same sum in another order
    exchanged = [(old, new)]
    if change.literals is not None:  # another number, which the program has for others too
        exchanged = list(zip(*change.literals, strict=True))
        # A different operation, such as a comparison with a different number, is not a change of numerics.
        is_other = any(one.field == "opcode" or one.field.startswith("attribute:") for one in edit.changes)
        field, numeric = "literal", change.of_floats and not is_other
    numeric = numeric or (field in ("attribute:dimensions", "attribute:window") and _is_reordered_sum(edit, diff))
    # Host memory is "pinned_host" or "unpinned_host".
    is_placement = field in _PLACEMENT or (field == "memory_space" and "host" in f"{old} {new}")
    if _is_interface(field, edit, diff):
        also: list[_Classification] = [("numerics", False)] if numeric else []
        return [("interface", False), *([("placement", False)] if is_placement else also)]
    if field == LEFT_OVER:
        return [("cost", True)]
    is_placement = is_placement or bool(resharded_by_map(change, edit, diff))  # of what `shard_map` takes and returns
    is_of_module = site is None and field.removeprefix("attribute:").startswith(_MODULE_PLACEMENT)
    if is_placement or (is_of_module and "<[]>" not in (old, new)):  # a mesh without axes places nothing
        # A compiler's copy of an argument has its sharding.
        placed: _Classification = "placement", field == "sharding" and edit.cause is not None
        return [placed, ("structure", False)] if field == "replica_groups" and _is_of_other_devices(diff) else [placed]
    if numeric and field == "literal" and all(follows_from_shapes(*one, diff.element_counts) for one in exchanged):
        return [("structure", True)]
    if numeric and field == "literal" and change.literals is None and _is_exact_inverse(edit, diff):
        return [("structure", True)]
    if numeric:
        handed_on = field == "element_type" and site is not None and _is_handed_on(edit, site, diff)
        return [("numerics", handed_on or (follows and field != "literal"))]
    if change.of_casts:
        return [("numerics", follows)]
    if change.of_copies and diff.new.stage == "stablehlo":
        return [("structure", True)]
    if is_note(change, "known_"):  # the trip count, which the loop's constants show too
        return [("structure", True)]
    if (
        field in ("memory_space", INSIDE)
        or field in _ARRANGED
        or change.of_copies
        or (field == "backend_config" and not _is_custom_call(site))
        or (field == "operands" and (_is_copy_for_others(edit, diff) or _only_names_slices(edit, diff)))
    ):
        return [("cost", follows or field == INSIDE)]  # another value of the fusion is stored
    if field == "opcode" and old in _ARRANGING and new in _ARRANGING:
        return [("cost", follows)]
    sides = ((edit.old, diff.old), (edit.new, diff.new))
    if field == "opcode" and any(each is not None and _is_cast(each, module) for each, module in sides):
        types = {_cast_types(each, module) for each, module in sides if each is not None}
        if {old, new} == {"convert", "copy"} and len(types) == 1:
            return [("cost", follows)]  # a TPU's copy to another layout may cast too
        return [("numerics", follows), ("structure", follows or edit.cause is not None)]
    return [("structure", (follows or edit.cause is not None) and field != "literal")]


def _only_names_slices(edit: Edit, diff: ModuleDiff) -> bool:
    return edit.new is not None and names_slices(edit.new.instruction_in(diff.new))


def _is_copy_for_others(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether a copy is of another value, and all that take it or took it compute with the values that they had.

    A compiler that keeps other arrays in fast memory copies others: the shortest script pairs the copies.
    """
    if any(site is None or site.opcode not in COPYING for site in (edit.old, edit.new)):
        return False
    for side, module in enumerate((diff.old, diff.new)):
        as_before = {
            (site.computation, site.instruction)
            for one in diff.reported
            if any(change.of_copies for change in one.changes)
            for site in (pair[side] for pair in one.sites)
            if site is not None
        }
        for site in (pair[side] for pair in edit.sites):
            assert site is not None
            computation, worklist = module.computations[site.computation], [site.instruction]
            for position in worklist:  # the list grows
                users = computation.users[position]
                worklist += [user for user in users if computation.instructions[user].opcode in COPYING]
                others = {(site.computation, user) for user in users if user not in worklist}
                if not others <= as_before or position == computation.root:
                    return False
    return True


def _is_exact_inverse(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether values are multiplied by the inverse of a power of two now and were divided by that, or the reverse.

    Both round to the same result.
    """
    numbers: list[float] = []
    opcodes: list[set[str]] = []
    for module, site in ((diff.old, edit.old), (diff.new, edit.new)):
        if site is None or site.opcode != "constant" or not (number := _number(site.instruction_in(module))):
            return False
        computation, worklist, found = module.computations[site.computation], [site.instruction], set[str]()
        for position in worklist:  # the list grows
            for user in computation.users[position]:
                it = computation.instructions[user]
                if it.opcode in BROADCASTS:
                    worklist.append(user)
                else:
                    found.add(it.opcode if it.operands[-1] == position or it.opcode == "multiply" else "")
        numbers.append(number)
        opcodes.append(found)
    is_turned = sorted(map(sorted, opcodes)) == [["divide"], ["multiply"]]
    return is_turned and numbers[0] * numbers[1] == 1 and abs(frexp(numbers[0])[0]) == 0.5


def _number(it: Instruction) -> float | None:
    """The value of a constant that is one number."""
    return None if it.shape.dimensions else number_in(it.literal)


def _is_of_other_devices(diff: ModuleDiff) -> bool:
    """Whether other groups of devices are another result: a sum over another axis of a mesh that is the same.

    In a compiled program the partitioner chooses them by the shardings.
    """
    old, new = ({one for one in module.attributes if one[0].startswith("sdy.mesh")} for module in (diff.old, diff.new))
    return diff.new.stage == "stablehlo" and old == new


def _is_cast(site: Site, module: Module) -> bool:
    """Whether an instruction rounds to another floating-point type; JAX writes many converts that change no type."""
    if site.opcode not in ("convert", "reduce-precision", "reduce_precision"):
        return False
    it = site.instruction_in(module)
    if site.opcode != "convert":
        # Whether `reduce-precision` keeps fewer bits than its type has: one that keeps all is behind what JAX saves.
        own = _BITS.get(it.shape.element_type)
        kept = [_LEADING.match(it.attribute(name) or "") for name in ("exponent_bits", "mantissa_bits")]
        if own is None or not all(kept):
            return bool(FLOAT.match(it.shape.element_type))
        return any(int(found[0]) < bits for found, bits in zip(kept, own, strict=True) if found)
    types = _cast_types(site, module)
    return all(map(FLOAT.match, types)) and len(set(types)) > 1


def _cast_types(site: Site, module: Module) -> tuple[str, ...]:
    """The element types of a value and of its first operand."""
    it = site.instruction_in(module)
    return it.shape.element_type, *islice(_taken_types(it, module.computations[site.computation]), 1)


def _is_interface(field: str, edit: Edit, diff: ModuleDiff) -> bool:
    if field == "alias" or ((edit.new or edit.old) is None and field in ("layout", "shape")):
        return True
    if field not in _SIGNATURE:
        return False
    site, entry = edit.new or edit.old, diff.new.entry
    is_result = site and (site.computation, site.instruction) == (entry, diff.new.computations[entry].root)
    return is_argument(edit, diff) or (field == "sharding" and bool(is_result))


def _is_numeric(field: str, old: str, new: str, site: Site | None) -> bool:
    """Whether a field decides how numbers are rounded: type, precision, a constant, the order of a sum."""
    if field == "element_type":
        return bool(_FLOAT.search(old) and _FLOAT.search(new))  # floats instead of indices are different work
    if field == "literal":
        return site is None or bool(_FLOATS.search(site.text))
    if field in ("precision", "attribute:exponent_bits", "attribute:mantissa_bits") or (
        field == "backend_config" and ("precision" in old or "precision" in new)
    ):
        return True
    if field == "opcode":
        # Whether each device has all of a sum over devices or a part, it is the same sum.
        is_other_sum = {old, new} <= _ACCUMULATING and not {stem(old), stem(new)} <= {"all-reduce", "reduce-scatter"}
        return is_other_sum and site is not None and bool(_FLOATS.search(site.text))
    return False


def _is_reordered_sum(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether a sum adds the same numbers in another order; over other axes of an array, or more, it is another sum."""
    if edit.old is None or edit.new is None or edit.new.opcode not in _SUMS or not _FLOATS.search(edit.new.text):
        return False
    shapes, results = [], []
    for module, site in ((diff.old, edit.old), (diff.new, edit.new)):
        instructions = module.computations[site.computation].instructions
        it = instructions[site.instruction]
        shapes.append(instructions[it.operands[0]].shape.dimensions if it.operands else ())
        results.append(sorted([str(size) for size in it.shape.dimensions if size != 1]))
    is_moved = shapes[0] != shapes[1] and sorted(map(str, shapes[0])) == sorted(map(str, shapes[1]))
    return is_moved and results[0] == results[1]


def _is_of_places(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an edit only follows from other places of the devices in the mesh.

    A device looks up which part it has in a constant with a whole number for each device, at its `partition-id`.
    """
    if edit.fields not in (("literal",), ("operands",)) or edit.new is None:
        return False
    instructions = diff.new.computations[edit.new.computation].instructions
    it = instructions[edit.new.instruction]
    if edit.fields == ("operands",) and edit.old is not None:
        before = diff.old.computations[edit.old.computation].instructions
        theirs = [before[operand] for operand in before[edit.old.instruction].operands]
        ours = [instructions[operand] for operand in it.operands]
        is_alike = all(_is_of_places_or_alike(*both) for both in zip(theirs, ours, strict=False))
        return is_alike and any(one.opcode == "partition-id" for one in ours)
    devices = diff.new.attribute("num_partitions")
    # The same numbers in another order; others are where another part of an array begins.
    old, new = (sorted(_INTEGER.findall(text)) for text in (edit.changes[0].old, edit.changes[0].new))
    return it.shape.element_type in ("s32", "u32") and [*map(str, it.shape.dimensions)] == [devices] and old == new


def _is_of_places_or_alike(one: Instruction, other: Instruction) -> bool:
    """Whether two operands say where a device is, or may be the same value: no other operation gives it."""
    return {one.opcode, other.opcode} <= {"constant", "partition-id"} or one.opcode == other.opcode


def _is_handed_on(edit: Edit, site: Site, diff: ModuleDiff) -> bool:
    """Whether what has another type now only passes a value on, or is the memory that it is written to."""
    is_over = edit.cause is not None and site.opcode in _HANDED_OVER
    module = (diff.old, diff.new)[edit.new is not None]
    return is_over or site.opcode in _HANDING_ON or reserves_memory(site.instruction_in(module))


def _is_custom_call(site: Site | None) -> bool:
    """Whether it is a custom call, whose configuration decides what is computed."""
    return site is not None and site.opcode.replace("_", "-").startswith("custom-call")


def _is_placing(site: Site) -> bool:
    """Whether an instruction only places something, or moves it between host and device."""
    if site.opcode in _CONSTRAINTS:
        return True
    if _is_custom_call(site) or site.opcode.startswith("async"):
        return any(target in site.text for target in _HOST_CALLS)
    return site.opcode in COPYING and bool(_HOST_SPACE.search(site.text))


# --- Final users of a value: a TPU rounds operands of a matrix product anyway, so a cast before it changes nothing.

_Place = tuple[int, int]
_HANDED_OVER = frozenset(
    ["bitcast", "copy", "copy-start", "copy-done", "reshape", "transpose", "slice", "dynamic-slice", "tuple",
     "get-tuple-element", "all-gather", "all-gather-start", "all-gather-done", "collective-permute",
     "collective-permute-start", "collective-permute-done", "all-to-all", "all-to-all-start", "all-to-all-done",
     "dynamic-update-slice", "select", "pad", "concatenate", "reverse", "broadcast", "gather", "maximum", "minimum",
     "negate"]
)  # fmt: skip
"""They return the numbers they take, negated or not: in other places, on other devices, among others, or several times.
To round what they take is to round what they return."""
_Elements = tuple[int, ...]
_Element = tuple[int, int, _Elements]
"""An instruction, and the element of its tuple: loops carry many values as one."""
_ELSEWHERE: _Element = (-1, -1, ())


def _only_products_take(module: Module, place: _Place) -> bool:
    """Whether only matrix products of default precision use a value, directly or indirectly.

    XLA for TPUs makes every matrix product a convolution and rounds operands in float32 to bfloat16, unless a precision
    was asked for. It may round where the value is computed.

    Args:
        module: a compiled program.
        place: an instruction, by computation and position.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT a = f32[2] add(p, p)\\n}"
        >>> _only_products_take(read_hlo(text), (0, 0))
        False
    """
    callers = call_sites(module)

    def takers(value: _Element) -> Iterator[_Element]:
        number, position, elements = value
        computation = module.computations[number]
        for user in computation.users[position]:
            yield from _taken(module, (number, user), position, elements)
        if position == computation.root:
            outside = [(n, p, module.computations[n].instructions[p].opcode) for n, p, _ in callers[number]]
            yield from ((n, p, elements) for n, p, _ in outside)
            if any(opcode == "while" for _, _, opcode in outside):  # the next iteration takes it
                yield from _given(module, number, (0,), elements)
            if not outside or any(opcode not in ("fusion", "while") for _, _, opcode in outside):
                yield _ELSEWHERE

    start: _Element = (*place, ())
    return _ELSEWHERE not in preorder([start], lambda at: () if at == _ELSEWHERE else takers(at))


def _taken(module: Module, user: _Place, position: int, elements: _Elements) -> Iterator[_Element]:
    """Where a value is after one of its users has taken it."""
    number, at = user
    it = module.computations[number].instructions[at]
    numbers = [n for n, operand in enumerate(it.operands) if operand == position]
    if it.opcode == "fusion":
        for callee in it.called:
            yield from _given(module, callee, numbers, elements)
    elif it.opcode == "while":  # every iteration takes it, and the loop returns it
        yield number, at, elements
        for callee in it.called:
            yield from _given(module, callee, (0,), elements)
    elif it.opcode == "tuple":
        yield from ((number, at, (n, *elements)) for n in numbers)
    elif it.opcode == "get-tuple-element" and elements:
        if it.attribute("index") == str(elements[0]):
            yield number, at, elements[1:]
    elif it.opcode in _HANDED_OVER or (it.opcode == "convert" and FLOAT.match(it.shape.element_type)):
        yield number, at, elements
    elif it.opcode != "convolution" or "high" in (it.attribute("operand_precision") or ""):
        yield _ELSEWHERE


def _given(module: Module, callee: int, numbers: Container[int], elements: _Elements) -> Iterator[_Element]:
    """The parameters of a callee that receive a value from a call."""
    computation = module.computations[callee]
    for parameter in computation.parameters:
        if computation.instructions[parameter].number in numbers:
            yield callee, parameter, elements
