"""The order of StableHLO changes: causes before what they drag along.

An edit of one number may change the shapes of half a program. A reader looks for the number, then for the products and
slices that are of another size; the broadcasts that give them their operands say nothing more.
"""

from __future__ import annotations

from hlodiff.differ.classify import classes_of_edit, is_argument, signature
from hlodiff.differ.result import Edit, FieldChange, ModuleDiff
from hlodiff.differ.shape_literals import follows_from_shapes
from hlodiff.hlo.model import BROADCASTS, Module
from hlodiff.report.grouping import REPLACED, EditGroup, collective_of, replaces_its_kind

ARGUMENT, REPLACEMENT, NUMERIC_LITERAL, LITERAL, OTHER, SHAPES, LEAST = range(7)
"""What a change is, causes first.

Shapes that changed alone come last, of these those of broadcasts, and with them literals that are sizes of arguments.
"""

# Attributes that repeat the sizes of operands or results.
_OF_SIZES = frozenset(["shape", "attribute:limit_indices", "attribute:start_indices", "attribute:slice_sizes"])
_FILLS = BROADCASTS | {"iota"}


def cause_order(edit_group: EditGroup, edit: Edit, diff: ModuleDiff) -> tuple[int, tuple[bool, int, int]]:
    """Sort key of a StableHLO change: what it is, and where it is if its shape alone changed: those are in data flow.

    Args:
        edit_group: the change.
        edit: its first edit.
        diff: the diff that has it.

    Example:
        >>> from hlodiff.hlo import Module
        >>> same = ModuleDiff(Module("m", "stablehlo", (), 0), Module("m", "stablehlo", (), 0))
        >>> group = EditGroup((), "changed", 1, "iota s32[8]: shape", "", group=("changed", "iota", "iota", ("shape",)))
        >>> cause_order(group, Edit("changed", ("shape",)), same)[0] == LEAST
        True
    """
    rank = _rank(edit_group, edit, diff)
    if edit.new is None or rank < SHAPES:
        return rank, (False, 0, 0)
    return rank, (edit.new.computation != diff.new.entry, edit.new.computation, edit.new.instruction)


def _rank(edit_group: EditGroup, edit: Edit, diff: ModuleDiff) -> int:
    fields = set(map(str, edit_group.fields))
    if edit_group.kind == REPLACED:
        return OTHER if replaces_its_kind(edit_group) else REPLACEMENT
    if not fields or collective_of(edit_group):
        return OTHER
    if is_argument(edit, diff) and fields != {"attribute:parameter_number"}:
        return ARGUMENT
    literals = [pair for change in edit.changes for pair in _literals(change)]
    if literals and "numerics" in classes_of_edit(edit, diff):
        return NUMERIC_LITERAL
    if literals and _given_sizes(diff.old) == _given_sizes(diff.new):
        return LITERAL
    if "shape" in fields and fields <= _OF_SIZES:
        return LEAST if _FILLS.issuperset(map(str, edit_group.group[1:3])) else SHAPES
    # Sizes of arguments of another shape, or of the parts of another mesh, cause no other shapes.
    return LEAST if literals and all(follows_from_shapes(*one, diff.element_counts) for one in literals) else OTHER


def _literals(change: FieldChange) -> list[tuple[str, str]]:
    if change.literals is not None:
        return list(zip(*change.literals, strict=True))
    return [(change.old, change.new)] if change.field == "literal" else []


def _given_sizes(module: Module) -> tuple[object, object]:
    return signature(module)[0], [one for one in module.attributes if one[0].startswith("sdy.mesh")]
