"""What was removed and what was added, joined: one change, or a move between loops or parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from hlodiff.differ.grouping import ARRANGING
from hlodiff.differ.regions import CARRIERS, PRODUCTS
from hlodiff.hlo.model import CALLS
from hlodiff.report.edits import NAMED, format_listed
from hlodiff.report.function_view import ChangeView
from hlodiff.report.grouping import (
    AMONG,
    ANY_LAYOUT,
    ELEMENT_TYPES,
    HANDED_ON,
    LOOP_MOVE,
    OTHER_PART,
    REPLACED,
    EditGroup,
    operation_of,
    sides_added_up,
)
from hlodiff.report.wording import format_pair

_ATTRIBUTES = re.compile(r", (?=\w+=)")


def with_both_halves(
    edit_groups: Sequence[EditGroup],
    part_of: Callable[[EditGroup], tuple[object, object]],
    *places: Callable[[EditGroup], object],
    are_apart: Callable[[EditGroup, EditGroup], bool] = lambda removed, added: False,
) -> list[EditGroup]:
    """Joins what was removed and what was added of one kind of operation at one place: none is new or gone.

    Instructions that differ in too much for a match are removed here and added there. Lists show one change of them.

    Args:
        edit_groups: the changes of one program.
        part_of: the part of its program that a change is in, and its element type: both halves are of one part, and of
            one type, or instructions of the same sizes are of another type now.
        places: how a place is known, best first; a change without one has a false one.
        are_apart: whether two halves are of two lines that were both edited, and are no change of one.

    Example:
        >>> def joined(opcode, old, new, counts=(1, 1)):
        ...     groups = ("removed", opcode, "", ()), ("added", "", opcode, ())
        ...     halves = [
        ...         EditGroup(group, group[0], count, f"{opcode} {shape}", "", group=group)
        ...         for group, count, shape in zip(groups, counts, (old, new))
        ...     ]
        ...     part = lambda one: (one.what.endswith("]"), one.what.partition("[")[0])
        ...     found = with_both_halves(halves, part, lambda _: "net.py:4")
        ...     return [(one.kind, one.count, one.what) for one in found]
        >>> joined("dot", "f32[8]", "f32[16]"), joined("tanh", "f32[8]", "f32[8]", (2, 6))
        ([('replaced', 2, 'dot f32[8] by dot f32[16]')], [('added', 4, 'tanh f32[8]')])
        >>> joined("dot", "f32[2,8]", "bf16[16]"), len(joined("add", "f32[2,8]", "bf16[16]"))
        ([('replaced', 2, 'dot f32[2,8] by dot bf16[16]')], 2)
        >>> joined("copy", "f32[8,48]", "f32[1,8,80]")
        [('removed', 1, 'copy f32[8,48]'), ('added', 1, 'copy f32[1,8,80]')]
        >>> halves = [
        ...     EditGroup((kind,), kind, count, what, "", group=(kind, *sides, ()))
        ...     for kind, count, what, sides in (
        ...         ("removed", 41, "add f32[8]", ("add", "")), ("added", 1, "add %add.7 f32[8]", ("", "add"))
        ...     )
        ... ]
        >>> (one,) = with_both_halves(halves, lambda _: (0, 0), lambda _: "net.py:4")
        >>> one.kind, one.count, one.what
        ('removed', 40, 'add f32[8]')
        >>> joined("dot", "f32[8]", "f32[8] in the backward pass")
        [('removed', 1, 'dot f32[8]'), ('added', 1, 'dot f32[8] in the backward pass')]
        >>> joined("square", "f32[8]", "bf16[8]", (5, 5))
        [('changed', 5, 'square bf16[8]: element type: f32 -> bf16')]
        >>> joined("add", "f32[8]", "bf16[8]", (2, 1))
        [('replaced', 3, '2x add f32[8] by add bf16[8]')]
    """
    halves: dict[str, list[EditGroup]] = {}
    for edit_group in edit_groups:
        is_half = edit_group.kind in ("added", "removed") and any(edit_group.group[1:3])
        if is_half and operation_of(edit_group) != "constant":  # another number is of another user
            halves.setdefault(operation_of(edit_group), []).append(edit_group)
    joined: dict[EditGroup, EditGroup | None] = {}
    keys: tuple[Callable[[EditGroup], object], ...] = (
        part_of,
        lambda one: (part_of(one)[0], one.count, _untyped(one.what)),
        lambda one: (part_of(one)[0], _untyped(one.what)),
        lambda one: (part_of(one)[0], one.count) if operation_of(one) in PRODUCTS else one.key,
    )
    for alike, key_of, place_of in product(halves.values(), keys, places):
        at: dict[object, tuple[list[EditGroup], list[EditGroup]]] = {}
        if len({edit_group.kind for edit_group in alike}) == 2:
            for edit_group in alike:
                if edit_group not in joined and (found := place_of(edit_group)):
                    at.setdefault((found, key_of(edit_group)), ([], []))[edit_group.kind == "added"].append(edit_group)
        for removed, added in at.values():
            # Of several it is not known which belong together, nor of copies or fusions of other sizes.
            are_halves = len(removed) == len(added) == 1 and _are_halves(removed[0], added[0])
            are_halves = are_halves and not are_apart(removed[0], added[0])
            if are_halves and (key_of is part_of or _other_types(removed[0], added[0])):
                joined |= {removed[0]: None, added[0]: _both_halves(removed[0], added[0])}
    shown = (joined.get(edit_group, edit_group) for edit_group in edit_groups)
    return [edit_group for edit_group in shown if edit_group is not None]


def without_moves(edit_groups: Sequence[EditGroup], place_of: Callable[[EditGroup], object]) -> list[EditGroup]:
    """Joins what was removed from one part of a program and added to another, at one line: only the difference is new.

    A compiler puts it into another fusion. Where the backward pass computes the forward pass again, what the forward
    pass only computed for it goes there.

    Args:
        edit_groups: the changes of one program.
        place_of: the line of a change; a change without one has a false one.

    Example:
        >>> groups = [
        ...     EditGroup((kind,), kind, count, "add f32[8]", "", group=(kind, *sides, ()))
        ...     for kind, count, sides in (("removed", 2, ("add", "")), ("added", 6, ("", "add")))
        ... ]
        >>> [(one.kind, one.count, one.what) for one in without_moves(groups, lambda _: "net.py:4")]
        [('added', 4, 'add f32[8]')]
    """
    at: dict[object, list[EditGroup]] = {}
    for edit_group in edit_groups:
        if edit_group.kind in ("added", "removed") and (place := place_of(edit_group)):
            at.setdefault((place, NAMED.sub(r"\1", edit_group.what)), []).append(edit_group)
    joined: dict[EditGroup, EditGroup | None] = {}
    for found in at.values():
        removed, added = ([one for one in found if one.kind == kind] for kind in ("removed", "added"))
        if len(removed) == len(added) == 1:
            joined |= {removed[0]: None, added[0]: _moved(removed[0], added[0])}
    shown = (joined.get(edit_group, edit_group) for edit_group in edit_groups)
    return [edit_group for edit_group in shown if edit_group is not None]


Work = tuple[tuple[str, ...], tuple[int, ...]]
"""What one run of an instruction computes: element types and precision; elements of the operands and of the result."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Where and how often the instructions of a change run on one side.

    Args:
        loops: the loops around them as text, innermost first.
        runs: how often they run in one call; one turn of each loop of unknown length is counted.
        is_known: whether the lengths of all loops are known.
        nesting: how JAX's scope nests passes and loops: the loop of a backward pass is another one.
        work: what one run of each computes.
    """

    loops: tuple[str, ...]
    runs: int
    is_known: bool
    nesting: tuple[str, ...] = ()
    work: frozenset[Work] = frozenset()


BothTurns = tuple[Turns | None, Turns | None]
"""Where and how often a change's instructions run, before and after; None for a side of none, or of several loops."""


def with_loop_moves(
    edit_groups: Sequence[EditGroup],
    turns_of: Callable[[EditGroup], BothTurns],
    each_edit_of: Callable[[EditGroup], Sequence[EditGroup]] = lambda one: (one,),
) -> list[EditGroup]:
    """Joins work that was removed from a loop and added outside of it, the reverse, or in another loop: it only moved.

    It is the same computation: of the same element types and precision, as large in one run, or as large in all: a
    product of each step may be one product of all steps.

    Args:
        edit_groups: the changes of one program.
        turns_of: where and how often a change's instructions run.
        each_edit_of: each edit of a change as one of its own: a product and its gradient are of one line, in two loops.

    Example:
        >>> from hlodiff.differ.result import Cost
        >>> products = [
        ...     EditGroup((), "removed", 1, "dot f32[8]", "", cost=(Cost(20, 640), None), group=("", "dot", "")),
        ...     EditGroup((), "added", 1, "dot f32[20,8]", "", cost=(None, Cost(1, 640)), group=("", "", "dot")),
        ... ]
        >>> turns = {"removed": (Turns(("the loop at net.py:7",), 20, True), None), "added": (None, Turns((), 1, True))}
        >>> [(one.kind, one.what) for one in with_loop_moves(products, lambda one: turns[one.kind])]
        [('moved', 'dot f32[20,8] (was f32[8]): out of the loop at net.py:7; runs once instead of 20 times')]

        What runs more often outside of the loop did not leave it:

        >>> turns["added"] = None, Turns((), 40, True)
        >>> products[1] = replace(products[1], cost=(None, Cost(40, 1280)))
        >>> [one.kind for one in with_loop_moves(products, lambda one: turns[one.kind])]
        ['removed', 'added']
    """
    known = {one: turns_of(one) for one in edit_groups if one.kind in ("added", "removed", "moved") and _has_flops(one)}
    joined: dict[EditGroup, EditGroup | None] = {}
    for one, (old, new) in known.items():
        if one.kind == "moved" and old and new and (way := _loop_move(old, new)):
            what = _FROM_TO.sub("", one.what)
            what = f"{what}{'; ' if ':' in what else ': '}{way}"
            joined[one] = replace(one, what=what, group=(*one.group[:3], _moved_loops(old, new)))
    halves: dict[str, tuple[list[EditGroup], list[EditGroup]]] = {}
    for one in known:
        if one.kind != "moved":
            halves.setdefault(operation_of(one), ([], []))[one.kind == "added"].append(one)
    each: dict[EditGroup, list[tuple[EditGroup, BothTurns]]] = {}
    for removed, added in (pair for both in halves.values() for pair in product(*both)):
        if removed in joined or added in joined:
            continue
        if found := _way_of(removed, added, known[removed], known[added]):
            shapes = [one.what.partition(", ")[0].rpartition(" ")[2] for one in (removed, added)]
            was = f" (was {shapes[0]})" if shapes[0] != shapes[1] else ""
        else:
            if len(removed.edits) != len(added.edits):
                continue
            for one in (removed, added):
                if one not in each:
                    each[one] = [(edit, turns_of(edit)) for edit in each_edit_of(one)]
            found, was = _way_of_each(each[removed], each[added]), ""
        if found:
            way, loops = found
            operation, both = operation_of(added), _both_halves(removed, added)
            what = f"{shape_of(added.what)}{was}: {way}"
            joined |= {removed: None}
            joined[added] = replace(
                both, kind="moved", count=added.count, what=what, group=("moved", operation, operation, loops)
            )
    shown = (joined.get(edit_group, edit_group) for edit_group in edit_groups)
    return [edit_group for edit_group in shown if edit_group is not None]


_Way = tuple[str, tuple[str, ...]]
"""From where to where something moved, and how often it runs now; whether out of a loop or to another part."""


def _way_of(removed: EditGroup, added: EditGroup, before: BothTurns, after: BothTurns) -> _Way | None:
    """The way that an operation moved; None if it is another one."""
    old, new = before[0], after[1]
    if old is None or new is None or not _is_as_much(removed, added, old, new) or not (words := _loop_move(old, new)):
        return None
    return words, _moved_loops(old, new)


def _way_of_each(
    removed: Sequence[tuple[EditGroup, BothTurns]], added: Sequence[tuple[EditGroup, BothTurns]]
) -> _Way | None:
    """The way that all of some edits moved; None if there is none, or several."""
    if len(removed) < 2 or len(removed) != len(added):
        return None
    left, ways = [*added], set[_Way]()
    for one, before in removed:
        found = ((n, _way_of(one, other, before, after)) for n, (other, after) in enumerate(left))
        n, way = next((item for item in found if item[1]), (-1, None))
        if way is None:
            return None
        del left[n]
        ways.add(way)
    return ways.pop() if len(ways) == 1 else None


_FROM_TO = re.compile(r"[:;] from \S+ to \S+$")


def _has_flops(edit_group: EditGroup) -> bool:
    operation = operation_of(edit_group).partition(" ")[0]
    return operation not in CALLS | HANDED_ON and any(cost and cost.flops for cost in edit_group.cost)


def _is_as_much(removed: EditGroup, added: EditGroup, old: Turns, new: Turns) -> bool:
    """Whether both do as much in one run, or as much in all runs."""
    before, after = removed.cost[0], added.cost[1]
    if before is None or after is None:
        return False
    is_in_all = before.flops == after.flops
    if len(old.loops) == len(new.loops):
        shown = [(one.count, NAMED.sub(r"\1", one.what), one.where) for one in (removed, added)]
        return shown[0] == shown[1] and is_in_all and old.work == new.work
    inner, outer = (old, new) if len(old.loops) > len(new.loops) else (new, old)
    if inner.is_known and outer.is_known and outer.runs > inner.runs:  # work that left a loop does not run more often
        return False
    if before.flops * new.runs == after.flops * old.runs and old.work == new.work:
        return True
    return old.is_known and new.is_known and is_in_all and _is_work_of_all_turns(old.work, new.work)


def _is_work_of_all_turns(old: Collection[Work], new: Collection[Work]) -> bool:
    """Whether runs differ only in how many turns they do at once: in that, all values that grow grow alike.

    Of a matrix product, elements of operands and result tell the sizes: of the batch, contracted, and of both operands.
    """
    if len(old) != len(new):
        return False
    ratios: set[Fraction] = set()
    for before, after in zip(sorted(old), sorted(new), strict=True):
        if before[0] != after[0] or len(before[1]) != len(after[1]) or not all((*before[1], *after[1])):
            return False
        ratios.update(Fraction(one, other) for one, other in zip(before[1], after[1], strict=True))
    return len(ratios - {1}) <= 1


def _moved_loops(old: Turns, new: Turns) -> tuple[str, ...]:
    return LOOP_MOVE if len(old.loops) != len(new.loops) else OTHER_PART


def _loop_move(old: Turns, new: Turns) -> str:
    """From which loop something moved, and how often it runs now; "" if it is in the same loops as before."""
    if len(old.loops) == len(new.loops):
        if not old.loops or old.nesting == new.nesting:
            return ""
        before, after = old.loops[0], new.loops[0]
        is_same = before == after and before != "a loop"
        return f"to another {before.removeprefix('the ')}" if is_same else f"from {before} to {after}"
    inner, way = (old.loops, "out of") if len(old.loops) > len(new.loops) else (new.loops, "into")
    counts = [
        "in every turn" if not side.is_known else f"{side.runs:,} times" if side.runs > 1 else "once"
        for side in (new, old)
    ]
    runs = f"; runs {counts[0]} instead of {counts[1]}" if old.is_known or new.is_known else ""
    return f"{way} {inner[0]}{runs}"


def _moved(removed: EditGroup, added: EditGroup) -> EditGroup:
    both = _both_halves(removed, added)
    if removed.count != added.count:
        more = added.count - removed.count
        return replace(both, kind="added" if more > 0 else "removed", count=abs(more), what=added.what)
    operation = operation_of(added)
    return replace(both, kind="moved", what=added.what, group=("moved", operation, operation, OTHER_PART))


def _are_halves(removed: EditGroup, added: EditGroup) -> bool:
    sizes = [set(_SIZES.findall(one.what)) for one in (removed, added)]
    among = [found[0] for one in (removed, added) if (found := AMONG.search(one.what))]
    is_another = operation_of(added) in CARRIERS | ARRANGING or len(set(among)) == 2  # among other devices
    return not is_another or not sizes[0].isdisjoint(sizes[1])


def shape_of(what: str) -> str:
    """A text of an instruction without its name and its attributes.

    Example:
        >>> shape_of("fusion %fusion.jykm f32[8,64], kind=kLoop")
        'fusion f32[8,64]'
    """
    return _ATTRIBUTES.split(NAMED.sub(r"\1", what))[0]


def is_of_one_size(what: str) -> bool:
    """Whether a text names at most one shape, whatever its layouts.

    Example:
        >>> is_of_one_size("add f32[8]{0:T(128)} by add f32[8]"), is_of_one_size("add f32[8,3] by add f32[3,8]")
        (True, False)
    """
    return len(set(_SIZES.findall(what))) < 2


_SIZES = re.compile(r"\[[\d,]*\]")


def _untyped(what: str) -> str:
    return ELEMENT_TYPES.sub("", _without_layouts(what))  # tiles depend on the type


def _without_layouts(what: str) -> str:
    return ANY_LAYOUT.sub("", NAMED.sub(r"\1", what))  # a single one has its name


def _retyped(removed: EditGroup, added: EditGroup) -> str:
    """Both element types, if as many instructions of the same sizes have another one now."""
    alike = [(one.count, _untyped(one.what)) for one in (removed, added)]
    return _other_types(removed, added) if alike[0] == alike[1] else ""


def _other_types(removed: EditGroup, added: EditGroup) -> str:
    """Both element types, if each side has one and they differ; no cast is another one."""
    types = [set(ELEMENT_TYPES.findall(one.what)) for one in (removed, added)]
    if [len(one) for one in types] != [1, 1] or operation_of(added) == "convert":
        return ""
    (old,), (new,) = types
    return format_pair(old, new) if old != new else ""


def _both_halves(removed: EditGroup, added: EditGroup) -> EditGroup:
    words = [format_listed(ChangeView(one.kind, one.count, one.what)).partition(" ")[2] for one in (removed, added)]
    follows = Counter(dict(removed.follows)) + Counter(dict(added.follows))
    kind, count, what = REPLACED, removed.count + added.count, " by ".join(words)
    if words[0] == words[1]:  # but takes other values
        kind, count, what = "changed", added.count, f"{_ATTRIBUTES.split(added.what)[0]}: operands"
    elif types := _retyped(removed, added):
        what = shape_of(added.what)
        kind, count, what = "changed", added.count, f"{what}: element type: {types}"
    elif removed.count != added.count and _without_layouts(removed.what) == _without_layouts(added.what):
        more = added.count - removed.count
        kind, count, what = "added" if more > 0 else "removed", abs(more), NAMED.sub(r"\1", added.what)
    return replace(
        added,
        key=(*added.key[:1], REPLACED, removed.key, added.key),
        kind=kind,
        count=count,
        what=what,
        where=added.where or removed.where,
        stack=added.stack or removed.stack,
        follows=tuple(sorted(follows.items(), key=lambda item: (-item[1], item[0]))),
        cost=(removed.cost[0], added.cost[1]),
        along=sides_added_up(removed.along, added.along),
        weight=min(removed.weight, added.weight),
        group=(REPLACED, removed.group[1], added.group[2], ()),
        edits=removed.edits + added.edits,
        passes=" | ".join(dict.fromkeys(filter(None, (removed.passes, added.passes)))),
    )
