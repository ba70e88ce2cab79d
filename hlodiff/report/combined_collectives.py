"""Collectives that a compiler combines: which arrays they carry in all, however these are combined.

A compiler puts the gradients of many weights into one all-reduce, by type and size. Where one of them is rounded or is
gone, others change places: a tuple here loses what a tuple there gains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.hlo.collectives import FAMILIES, canonical_groups, family, result_shape, stem
from hlodiff.hlo.model import Module, Shape
from hlodiff.report.collective_arrays import arrays_of, format_other_arrays
from hlodiff.report.edits import OF_ARRAYS, format_field_change
from hlodiff.report.grouping import EditGroup, Sides, sides_added_up
from hlodiff.report.report import Report
from hlodiff.report.wording import many


@dataclass(frozen=True, slots=True)
class Carried:
    """What the collectives of a change carry.

    Args:
        family: their kind.
        arrays: of each collective the arrays, before and after.
        among: the devices that take part now, as text.
        among_before: those that took part before, where others do now.
        cost: of the collectives, before and after.
        is_put_together: whether one of them carries several arrays as one: its shape says nothing of them.
        other_devices: how the devices differ from those before, as text; "" if they do not.
        run_equally: whether those of one side run equally often; one may be in a loop, and another not.
    """

    family: str
    arrays: tuple[tuple[tuple[Shape, ...], ...], tuple[tuple[Shape, ...], ...]]
    among: str
    among_before: str
    cost: Sides
    is_put_together: bool = False
    other_devices: str = ""
    run_equally: bool = True

    @property
    def are_combined(self) -> bool:
        """Whether one of them carries several arrays."""
        return any(len(one) > 1 for side in self.arrays for one in side)

    def all(self, side: int) -> list[Shape]:
        """All arrays of a side."""
        return [array for one in self.arrays[side] for array in one]


def carried_arrays(module: Module, computation: int, position: int) -> tuple[Shape, ...]:
    """The arrays that a collective carries, without layouts: where it carries them as one, those that are put together.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> lines = ["a = f32[4] parameter(0)", "b = f32[2] parameter(1)"]
        >>> lines += ["c = f32[6] concatenate(a, b), dimensions={0}", "ROOT r = f32[6] all-reduce-start(c)"]
        >>> module = read_hlo("\\n".join(["HloModule m", "ENTRY e {", *lines, "}"]))
        >>> [shape.text for shape in carried_arrays(module, 0, 3)]
        ['f32[4]', 'f32[2]']
    """
    whole = module.computations[computation]
    it = whole.instructions[position]
    arrays = result_shape(it.opcode, it.shape).bare.leaves
    if len(arrays) != 1 or len(arrays[0].dimensions) != 1 or len(it.operands) != 1:
        return arrays
    source = whole.instructions[it.operands[0]]
    if source.opcode == "fusion" and source.called:
        whole = module.computations[source.called[0]]
        source = whole.instructions[whole.root]
    if source.opcode != "concatenate":
        return arrays
    return tuple(whole.instructions[operand].shape.bare for operand in source.operands)


def with_combined_collectives(edit_groups: Sequence[EditGroup], report: Report) -> list[EditGroup]:
    """Joins changes of collectives of one kind whose arrays are combined differently: what counts is their arrays.

    Args:
        edit_groups: the changes of one compiled program.
        report: the report that has it.

    Example:
        >>> with_combined_collectives([], Report("diff", "a", "b", ()))
        []
    """
    alike: dict[object, list[tuple[EditGroup, Carried]]] = {}
    found = [(one, carried) for one in edit_groups if (carried := _carried_by(one, report)) is not None]
    known = Counter((carried.family, carried.among) for _, carried in found)
    for item in found:
        key = item[1].family, item[1].among
        before = item[1].family, item[1].among_before
        # One that other devices take part in now may have handed arrays on to those that were beside it.
        alike.setdefault(before if known[key] == 1 and known[before] else key, []).append(item)
    joined: dict[EditGroup, EditGroup | None] = {}
    for of_one_kind in chain.from_iterable(map(_by_runs, alike.values())):
        chosen = _recombined(of_one_kind)
        if len(chosen) > 1 or any(carried.is_put_together for _, carried in chosen):
            joined |= dict.fromkeys(edit_group for edit_group, _ in chosen)
            joined[chosen[0][0]] = _joined(chosen)
    shown = (joined.get(edit_group, edit_group) for edit_group in edit_groups)
    return [edit_group for edit_group in shown if edit_group is not None]


def _carried_by(edit_group: EditGroup, report: Report) -> Carried | None:
    """What the collectives of a change carry; None for another change.

    Where a GPU carries arrays as one, the change may be of the operation that puts them together.
    """
    opcodes = [stem(str(one)) for one in edit_group.group[1:3] if one]
    if not opcodes or not edit_group.edits or (opcodes[0] not in FAMILIES and opcodes != ["concatenate"] * 2):
        return None
    program = edit_group.edits[0][0]
    diff = report.programs[program].diff
    if diff is None:
        return None
    numbers = {index for number, index in edit_group.edits if number == program}
    if opcodes[0] == "concatenate":
        edits = [edit for edit in diff.reported if edit.cause in numbers and _family(edit)]
    else:
        edits = [diff.reported[index] for index in sorted(numbers)]
    families, among = {_family(edit) for edit in edits}, {_among(edit, diff) for edit in edits}
    before = {_among(edit, diff, before=True) for edit in edits}
    is_of_arrays = all(edit.kind != "changed" or not OF_ARRAYS.isdisjoint(edit.fields) for edit in edits)
    if len(families) != 1 or "" in families or len(among) != 1 or not is_of_arrays:
        return None
    arrays = [
        tuple(
            carried_arrays(module, site.computation, site.instruction)
            for edit in edits
            for site in (pair[side] for pair in edit.sites)
            if site is not None
        )
        for side, module in enumerate((diff.old, diff.new))
    ]
    cost = sides_added_up(*(edit.cost for edit in edits if edit.cost))
    own = sum(len(arrays_of(site)) for edit in edits for pair in edit.sites for site in pair)
    is_put_together = own < sum(len(one) for side in arrays for one in side)
    devices = {
        format_field_change(one, edit) for edit in edits for one in edit.changes if one.field == "replica_groups"
    }
    other_devices = devices.pop() if len(devices) == 1 else ""
    bodies = [{site.computation for edit in edits for pair in edit.sites if (site := pair[side])} for side in (0, 1)]
    run_equally = all(
        len(some) < 2 or len({diff.runs[side][body] for body in some}) == 1 for side, some in enumerate(bodies)
    )
    return Carried(
        families.pop(),
        (arrays[0], arrays[1]),
        among.pop(),
        before.pop() if len(before) == 1 else "",
        cost,
        is_put_together,
        other_devices,
        run_equally,
    )


def _family(edit: Edit) -> str:
    """The kind of a collective that is no `-done`, on both sides; "" for another operation."""
    kinds = {family(site.opcode) or "" for site in (edit.old, edit.new) if site is not None and edit.kind != "moved"}
    return kinds.pop() if len(kinds) == 1 else ""


def _among(edit: Edit, diff: ModuleDiff, *, before: bool = False) -> str:
    is_old = edit.new is None or (before and edit.old is not None)
    site, module = (edit.old, diff.old) if is_old else (edit.new, diff.new)
    if site is None:
        return ""
    it = site.instruction_in(module)
    return canonical_groups(it.attribute("replica_groups") or it.attribute("source_target_pairs") or "")


def _by_runs(found: Sequence[tuple[EditGroup, Carried]]) -> list[list[tuple[EditGroup, Carried]]]:
    """Changes of collectives by how often these run; all of them at once if one has some in a loop and some outside."""
    alike: dict[object, list[tuple[EditGroup, Carried]]] = {}
    are_apart = all(carried.run_equally for _, carried in found)
    for item in found:
        alike.setdefault(_runs(item[1]) if are_apart else None, []).append(item)
    return list(alike.values())


def _runs(carried: Carried) -> frozenset[tuple[int, object]]:
    """How often each of them runs in one call, and in which loops."""
    counts = (len(side) for side in carried.arrays)
    return frozenset((cost.runs // max(n, 1), cost.loops) for cost, n in zip(carried.cost, counts, strict=True) if cost)


def _recombined(found: Sequence[tuple[EditGroup, Carried]]) -> list[tuple[EditGroup, Carried]]:
    """The changes of combined collectives, and of those that carry alone what one of these carried or carries now."""
    chosen = [item for item in found if item[1].are_combined]
    more = Counter[int]()
    for _, carried in chosen:
        more.update(_sizes(carried.all(1)))
        more.subtract(_sizes(carried.all(0)))
    for edit_group, carried in found:
        gone, came = (_sizes(carried.all(side)) for side in (0, 1))
        is_elsewhere = all(more[n] >= count for n, count in gone.items()) and all(
            more[n] <= -count for n, count in came.items()
        )
        if chosen and not carried.are_combined and edit_group.kind in ("added", "removed") and is_elsewhere:
            chosen.append((edit_group, carried))
            more.update(came)
            more.subtract(gone)
    return chosen if all(any(carried.arrays[side] for _, carried in chosen) for side in (0, 1)) else []


def _other_devices(chosen: Sequence[Carried]) -> str:
    """How the devices differ from those before: of all arrays, or of how many."""
    words = {carried.other_devices for carried in chosen}
    if len(words) == 1:
        return words.pop()
    others = [carried for carried in chosen if carried.other_devices]
    if len({carried.other_devices for carried in others}) != 1:
        return ""
    count, total = (sum(len(carried.all(1)) for carried in some) for some in (others, chosen))
    how = others[0].other_devices
    return f"{count} of {many(total, 'array')} {how if how.startswith('over ') else 'among other devices'}"


def _sizes(arrays: Iterable[Shape]) -> Counter[int]:
    return Counter(array.elements for array in arrays)


def _joined(chosen: Sequence[tuple[EditGroup, Carried]]) -> EditGroup:
    """One change of all these collectives."""
    groups = [edit_group for edit_group, _ in chosen]
    first = next((one for one in groups if one.where), groups[0])
    arrays = [[array for _, carried in chosen for array in carried.all(side)] for side in (0, 1)]
    counts = [sum(len(carried.arrays[side]) for _, carried in chosen) for side in (0, 1)]
    words = format_other_arrays(arrays[0], arrays[1])
    if Counter(arrays[0]) == Counter(arrays[1]):
        words = f"{len(arrays[1])} arrays combined differently"
    if counts[0] != counts[1]:
        words += f", in {many(counts[1], 'operation')} instead of {counts[0]}"
    words = "; ".join(filter(None, (_other_devices([carried for _, carried in chosen]), words)))
    name = chosen[0][1].family
    follows = Counter[str]()
    for one in groups:
        follows.update(dict(one.follows))
    return replace(
        first,
        key=(*first.key[:1], "combined", *(one.key for one in groups)),
        kind="changed",
        count=1,
        what=f"{name}: {words}",
        follows=tuple(sorted(follows.items(), key=lambda item: (-item[1], item[0]))),
        cost=sides_added_up(*(carried.cost for _, carried in chosen)),
        along=sides_added_up(*(one.along for one in groups)),
        weight=min(one.weight for one in groups),
        group=("changed", name, name, ("shape",)),
        edits=tuple(edit for one in groups for edit in one.edits),
        passes=" | ".join(dict.fromkeys(filter(None, (one.passes for one in groups)))),
        collective="",
    )
