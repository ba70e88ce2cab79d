"""Edit groups: equal changes from one line of Python, across shapes, layers and programs.

Two edits belong to one group if they make the same change and come from the same line. Shapes, names, operands and
layouts of their instructions may differ: the text of a group names them only if there are few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from itertools import product

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.costs import added_up
from hlodiff.differ.grouping import ARRANGING, weight_of
from hlodiff.differ.instruction_costs import FUSIONS
from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.regions import CARRIERS, MOST_FOR_ONE, MOST_OF_A_LINE, PRODUCTS, opcode_counts
from hlodiff.differ.result import Cost, Edit, FieldChange, ModuleDiff, Site
from hlodiff.hlo.collectives import FAMILIES, chain_of_step, stem
from hlodiff.hlo.model import BROADCASTS, CALLS
from hlodiff.report.edits import (
    NAMED,
    OF_BODY,
    callee_of,
    format_attributes,
    format_cost,
    format_edit,
    format_field_change,
    format_following,
    format_listed,
    format_shape,
    is_jitted_around,
    is_of_body,
    jitted_in,
    listed_changes,
    listed_fields,
    literal_of,
    other_arrays,
)
from hlodiff.report.function_view import ChangeView, Scope
from hlodiff.report.numbers import entered_otherwise, executed_change, executed_pair, most_executed, of_which_turns
from hlodiff.report.report import Report
from hlodiff.report.wording import (
    ARROW,
    format_bytes,
    format_count,
    format_names,
    format_pair,
    many,
    place,
    shown_stack,
)

Key = tuple[object, ...]
REPLACED = "replaced"
ADDED_OR_REMOVED = (REPLACED, "added", "removed")
HANDED_ON = BOOKKEEPING | {"constant", "reshape", "broadcast", "broadcast_in_dim", "return"}
"""Operations that only pass values on."""
LAST = 2
"""The weight of what interests a reviewer least."""
Counts = tuple[tuple[str, int], ...]
Sides = tuple[Cost | None, Cost | None]
# Fields whose values may differ within a group, because they belong to the single instruction.
_OWN = frozenset(["shape", "layout", "operands", "backend_config", "computation", "schedule", "attribute:root"])
_OWN_ATTRIBUTES = ("dim", "slice", "window", "indices", "permutation", "frontend_attributes", "iota", "padding")
# Entries of a configuration whose values are operand numbers of the instruction.
_OWN_NOTES = frozenset(["aliasing_operands"])
_ENTRY = re.compile(r"(?:^|, )([A-Za-z_][\w.]*)=")
# Fields that a compiler chooses again if anything differs.
_BY_CHIP = frozenset(["layout", "backend_config"])
_AMONG = re.compile(r" (?:replica_groups|source_target_pairs)=[^ ]+")
_ATTRIBUTES = re.compile(r", (?=\w+=)")
# Fields of a collective that carries as much as before among the same devices.
_OF_SAME_TRAFFIC = frozenset(["operands", "attribute:asynchronous", "attribute:channel_id", "backend_config"])
_MOST_SHAPES = 3
_MOST_FOLLOWERS = 4
_MOST_OPCODES = 5
_MOST_FOR_EACH = 15  # the most operations that one operation replaces


@dataclass(frozen=True, slots=True)
class EditGroup:
    """One change, whatever its number of occurrences.

    Args:
        key: equal for equal changes of one stage, in this program and in others.
        kind: added, removed, changed or moved; or replaced, if one subgraph took the place of another.
        count: number of instructions (or module-level facts) without knock-on edits; of a replaced subgraph, those of
            both sides.
        what: the change as text, without markup and not yet escaped.
        where: the innermost line of the user's code.
        stack: the whole call stack of the first edit, innermost first, one line each.
        follows: opcodes of knock-on edits with their counts, those that compute first, then most frequent first.
        cost: cost on the old and the new side, including knock-on edits of added or removed instructions.
        weight: sort key; 0 is what a reviewer wants to see first.
        group: equal for edit groups that a digest merges: kind, opcode and names of changed fields.
        edits: (index of the program, index of the edit) for each edit without a cause.
        passes: the XLA passes that made it, if requested.
        along: cost of the other knock-on edits, and of unedited operations that take what they give: a product of
            another size follows from the array that it takes.
        along_at: the line that most of the flops of these have, if that is another one; "" else.
    """

    key: Key
    kind: str
    count: int
    what: str
    where: str
    stack: tuple[str, ...] = ()
    follows: tuple[tuple[str, int], ...] = ()
    cost: Sides = (None, None)
    weight: int = 1
    group: Key = ()
    edits: tuple[tuple[int, int], ...] = ()
    passes: str = ""
    along: Sides = (None, None)
    along_at: str = ""
    collective: str = ""

    @property
    def cost_words(self) -> str:
        """Its cost; of more, less or other operations the difference, as the text has those that only one side has."""
        return format_cost(*self.cost, str(self.key[0] if self.key else ""), is_net=self.kind in ADDED_OR_REMOVED)

    @property
    def id(self) -> str:
        """The id for `hlodiff accept --pattern`: the same for the same change in any set of programs."""
        return sha256(repr(self.key).encode()).hexdigest()[:8]

    @property
    def times(self) -> str:
        """The prefix `12x `; "" for a replaced subgraph, whose text has the sizes."""
        return f"{self.count:,}x " if self.count > 1 and self.kind != REPLACED else ""

    @property
    def fields(self) -> tuple[object, ...]:
        """The names of the changed fields; () for what was added, removed or replaced."""
        last = self.group[-1] if self.group else ()
        return last if isinstance(last, tuple) else ()

    @property
    def following(self) -> int:
        """Number of instructions in the knock-on edits."""
        return sum(count for _, count in self.follows)

    @property
    def size(self) -> int:
        """Bytes read and written by the larger side."""
        return max(cost.bytes if cost else 0 for cost in self.cost)

    def by(self, measure: Callable[[Cost], int]) -> int:
        """By how much the new side costs more than the old one."""
        return _by(self.cost, measure)

    def by_all(self, measure: Callable[[Cost], int]) -> int:
        """The same with all knock-on edits."""
        return self.by(measure) + _by(self.along, measure)


def _by(sides: Sides, measure: Callable[[Cost], int]) -> int:
    old, new = (measure(cost) if cost else 0 for cost in sides)
    return new - old


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One edit with its index in its program, the index of the program, and its knock-on edits."""

    program: int
    index: int
    edit: Edit
    followers: tuple[Edit, ...]


def members_of(edits: Sequence[Edit], program: int = 0) -> list[GroupMember]:
    """Edits without a cause, each with its knock-on edits.

    Example:
        >>> [len(one.followers) for one in members_of((Edit("added"), Edit("added", cause=0)))]
        [1]
    """
    followers: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.cause is not None:
            followers.setdefault(edit.cause, []).append(edit)
    found = [
        GroupMember(program, index, edit, tuple(followers.get(index, ())))
        for index, edit in enumerate(edits)
        if edit.cause is None
    ]
    return _with_own_parts(found)


def _with_own_parts(members: list[GroupMember]) -> list[GroupMember]:
    """Gives each of several fusions with one body its part of what is in it: the body's edits follow from one of them.

    By how often each runs, where that divides all numbers; else they stay with that one.
    """
    by_body: dict[tuple[str, str], list[int]] = {}
    for n, member in enumerate(members):
        site = member.edit.new or member.edit.old
        if member.edit.kind in ADDED_OR_REMOVED and site is not None and site.opcode in FUSIONS:
            by_body.setdefault((member.edit.kind, _body_of(site.text)), []).append(n)
    for (kind, body), sharing in by_body.items():
        holding = [n for n in sharing if members[n].followers]
        if not body or len(sharing) < 2 or len(holding) != 1:
            continue
        inside, outside = _inside(members[holding[0]].followers, body)
        runs = [_runs(members[n].edit, kind) for n in sharing]
        parts = [[_part_of(edit, one, sum(runs)) for edit in inside] for one in runs]
        if not inside or not all(runs) or any(edit is None for part in parts for edit in part):
            continue
        for n, part in zip(sharing, parts, strict=True):
            own = (*(outside if n == holding[0] else ()), *filter(None, part))
            members[n] = replace(members[n], followers=own)
    return members


_CALLS = re.compile(r"\bcalls=%?([\w.#-]+)")


def _body_of(text: str) -> str:
    found = _CALLS.search(text)
    return found[1] if found else ""


def _inside(edits: Sequence[Edit], body: str) -> tuple[list[Edit], list[Edit]]:
    """The edits in a fusion's body and in the fusions that it calls, and the others."""
    by_computation: dict[str, list[Edit]] = {}
    for edit in edits:
        site = edit.new or edit.old
        by_computation.setdefault(site.computation_name if site else "", []).append(edit)
    inside: list[Edit] = []
    bodies = [body]
    for one in bodies:  # the list grows
        own = by_computation.pop(one, [])
        inside += own
        bodies += [called for edit in own if (site := edit.new or edit.old) and (called := _body_of(site.text))]
    return inside, [edit for own in by_computation.values() for edit in own]


def _runs(edit: Edit, kind: str) -> int:
    cost = (edit.cost or (None, None))[kind == "added"]
    return cost.runs if cost else 0


def _part_of(edit: Edit, runs: int, of: int) -> Edit | None:
    """The part of an edit in a shared body that one of its callers runs; None if that is no whole number."""
    if not edit.cost:
        return None
    costs = [one and _part_of_cost(one, runs, of) for one in edit.cost]
    is_whole = all((one is None) == (part is None) for one, part in zip(edit.cost, costs, strict=True))
    count = max(edit.count * runs // of, 1)
    return replace(edit, count=count, cost=(costs[0], costs[1])) if is_whole else None


def _part_of_cost(cost: Cost, runs: int, of: int) -> Cost | None:
    numbers = [cost.runs, cost.flops, cost.read, cost.written, cost.collective, cost.cycles or 0]
    numbers += [size for _, size in cost.elsewhere]
    if any(number * runs % of for number in numbers):
        return None
    total, flops, read, written, collective, cycles, *sizes = (number * runs // of for number in numbers)
    return replace(
        cost,
        runs=total,
        flops=flops,
        read=read,
        written=written,
        collective=collective,
        cycles=None if cost.cycles is None else cycles,
        elsewhere=tuple((space, size) for (space, _), size in zip(cost.elsewhere, sizes, strict=True)),
    )


def grouped(
    members: Iterable[GroupMember], stage: str, root: str = "", packages: Sequence[str] = ()
) -> dict[Key, list[GroupMember]]:
    """Members by group key, in order of appearance.

    Args:
        members: edits of one or several programs.
        stage: their stage.
        root: the project's folder.
        packages: libraries whose own line is shown, see `shown_place`.
    """
    members = tuple(members)
    regions: dict[tuple[int, int], list[Edit]] = {}
    for member in members:
        if member.edit.is_replaced and member.edit.region is not None:
            regions.setdefault((member.program, member.edit.region), []).extend(_whole(member, stage))
    keys = {number: _region_key(edits, stage, root, packages) for number, edits in regions.items()}
    found: dict[Key, list[GroupMember]] = {}
    for member in members:
        edit = member.edit
        region = keys.get((member.program, edit.region or 0)) if edit.is_replaced else None
        found.setdefault(region or (*_edit_key(edit, stage, root, packages), *_held(member)), []).append(member)
    return found


def _held(member: GroupMember) -> tuple[str, ...]:
    """The kind of collective that an added or removed fusion holds; such a fusion is no change of those without."""
    edit = member.edit
    if edit.kind == "changed" or not any(opcode.startswith("fusion") for opcode in _opcodes(edit)):
        return ()
    return tuple(filter(None, (collective_in(one for one in member.followers if one.kind == edit.kind),)))


def _whole(member: GroupMember, stage: str) -> list[Edit]:
    """An edit and, for a fusion, the edits inside it: what becomes a fusion is the compiler's choice."""
    along = [edit for edit in member.followers if edit.kind == member.edit.kind] if stage == "compiled" else []
    return [member.edit, *(replace(edit, cause=None) for edit in along)]


def _region_key(edits: Sequence[Edit], stage: str, root: str, packages: Sequence[str]) -> Key | None:
    """The key of a replaced subgraph: its two lines, or else what was removed and added. None if nothing was."""
    sides = [[edit for edit in edits if edit.kind == kind] for kind in ("removed", "added")]
    if not all(sides):
        return None
    works = _net_counts(sides[0], sides[1], stage)
    fewer, more = sorted(works, key=lambda counts: sum(count for _, count in counts))
    least, most = (sum(count for _, count in counts) for counts in (fewer, more))
    calls = any(opcode in CALLS for opcode, _ in fewer)  # each call is many operations
    lines = [_common_line(side, root, packages) for side in sides]
    is_one_line = all(lines) and lines[0] == lines[1]
    most_for_each = _MOST_FOR_EACH if is_one_line or not all(lines) else MOST_FOR_ONE
    if not least or (not calls and most > most_for_each * least):
        return None
    if least == 1 and most > (MOST_OF_A_LINE if is_one_line else MOST_FOR_ONE):  # the line added more elsewhere
        return None
    return stage, REPLACED, *(lines if all(lines) else map(opcode_counts, sides))


def edit_group_of(
    key: Key,
    members: Sequence[GroupMember],
    root: str = "",
    packages: Sequence[str] = (),
    *,
    is_numeric: bool = True,
) -> EditGroup:
    """The group of all edits with one key.

    Args:
        key, members: what `grouped` found.
        root, packages: as for `grouped`.
        is_numeric: whether the program rounds differently; if not, another element type counts as little as
            another shape.

    Example:
        >>> edit_group_of((), members_of((Edit("removed", count=3),))).count
        3
    """
    edits = [member.edit for member in members]
    if key[1:2] == (REPLACED,):
        # New side first: it gives the stack and the scope.
        edits.sort(key=lambda edit: (edit.kind != "added", weight_of(edit)))
    followers = [edit for member in members for edit in member.followers]
    first = edits[0]
    # Knock-on edits that add or remove count toward its cost; one that only changes shape has a cost of its own. For a
    # replaced subgraph both sides count: a pair reported as removed and added follows from one of them.
    kinds = ("removed", "added") if key[1:2] == (REPLACED,) else () if first.kind == "changed" else (first.kind,)
    along = [edit for edit in followers if edit.kind in kinds]
    if _is_collective(first):  # its bytes are read as those that it sends
        along = [edit for edit in along if _is_collective(edit)]
    cost = sides_added_up(*(edit.cost for edit in (*edits, *along) if edit.cost))
    others = [edit.cost for edit in followers if edit.cost and edit.kind not in (kinds and ("removed", "added"))]
    others += [edit.users_cost for edit in (*edits, *followers) if any(edit.users_cost)]
    beside = sides_added_up(*others) if others else (None, None)
    if key[1:2] == (REPLACED,):
        return _replaced_subgraph(key, members, followers, cost, beside, root, packages)
    along_at = _line_of_flops(followers, kinds and ("removed", "added"), root, packages) if any(beside) else ""
    is_fusion = first.kind != "changed" and any(opcode.startswith("fusion") for opcode in _opcodes(first))
    held = collective_in(along) if is_fusion else ""
    if held:  # what else these fusions compute was mostly in others before
        cost = _traffic(cost)
    what = format_edit(first) if len(edits) == 1 else _in_common(edits)
    if held:
        inside = [one for member in members if (one := _collective_among(member.followers, first.kind)) is not None]
        operation, _, of = _without_names(inside).partition(" ")
        taken = f"{counted} of {of}" if (counted := _counted_as(inside[0])) else f"{operation} {of}"
        what = f"{_opcodes(first)[first.kind == 'added']} with {taken}"
    elif counted := _counted_as(first):
        what, held = f"{what}, sliced: counted as {counted}", counted
    return EditGroup(
        key,
        first.kind,
        _count(edits),
        what,
        _lines(_counts_by_line(edits, root, packages)) if _note(first) else place(first.source, root, packages),
        shown_stack(first.source, root),
        _follows(first.kind, followers),
        cost,
        min(_weight(edit, is_numeric) for edit in edits),
        (first.kind, *_opcodes(first), listed_fields(first)),
        tuple((member.program, member.index) for member in members),
        passes=_passes(edits),
        along=beside,
        along_at=along_at,
        collective=held,
    )


def _count(edits: Sequence[Edit]) -> int:
    """The instructions of a change, where the steps in which a TPU takes a collective are one: that with its bytes."""
    if not _is_collective(edits[0]):
        return sum(edit.count for edit in edits)
    others = 0
    begun, continued = set[str](), set[str]()
    for edit in edits:
        chains = {chain_of_step(site.text) for pair in edit.sites if (site := pair[1] or pair[0])}
        others += edit.count if chains <= {""} else 0
        (begun if any(cost and cost.collective for cost in edit.cost or ()) else continued).update(chains - {""})
    return others + (len(begun) or len(continued))


def _traffic(sides: Sides) -> Sides:
    """The bytes that collectives carry, as the only cost of what holds them."""
    old, new = (cost and replace(cost, flops=0, read=0, written=cost.collective, elsewhere=()) for cost in sides)
    return old, new


def _without_names(edits: Sequence[Edit]) -> str:
    return NAMED.sub(r"\1", format_edit(edits[0])) if len(edits) == 1 else _in_common(edits)


def collective_in(edits: Iterable[Edit]) -> str:
    """The kind of the first collective among knock-on edits that transfers something; "" for none.

    Example:
        >>> collective_in([])
        ''
    """
    found = _collective_among(edits)
    return next((cost.family for cost in (found.cost or ())[::-1] if cost and cost.collective), "") if found else ""


def _collective_among(edits: Iterable[Edit], kind: str = "") -> Edit | None:
    """The first collective that transfers something, of a kind of edit if one is given."""
    return next(
        (
            edit
            for edit in edits
            if (not kind or edit.kind == kind)
            if _is_collective(edit) and any(cost and cost.collective for cost in edit.cost or ())
        ),
        None,
    )


def sides_added_up(*costs: Sides) -> Sides:
    """The sum of several costs on either side, see `added_up`."""
    old, new = (added_up(cost[side] for cost in costs) for side in (0, 1))
    return old, new


def change_view(edit_group: EditGroup, report: Report, mark: str = "", of: str = "") -> ChangeView:
    """Describes an edit group.

    Args:
        edit_group: what changed.
        report: the report that has it.
        mark: its mark, by which other lists refer to it.
        of: the programs that have it.

    Example:
        >>> change_view(EditGroup((), "added", 2, "add f32[8]", ""), Report("diff", "a", "b", ())).what
        'add f32[8]'
    """
    frames = edit_group.stack if report.stacks else (edit_group.where,)
    most = 0
    if edit_group.edits and any(edit_group.along) and not report.all:
        most = most_executed(report.programs[edit_group.edits[0][0]], "flops")
    return ChangeView(
        kind=edit_group.kind,
        count=edit_group.count,
        what=edit_group.what,
        mark=mark,
        follows=format_follows(edit_group, most),
        passes=edit_group.passes,
        of=of,
        cost=edit_group.cost_words,
        where=tuple(filter(None, frames)),
        following=edit_group.following,
        follows_cost=_follows_cost(edit_group, most),
    )


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


LOOP_MOVE, OTHER_PART = ("loops",), ("another part",)
"""The changed fields of what moved out of a loop or into one, and of what moved to another part of the program."""


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
    among = [found[0] for one in (removed, added) if (found := _AMONG.search(one.what))]
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
ELEMENT_TYPES = re.compile(r"\b[a-z]\w*(?=\[)")
"""The element types of the shapes in a text."""


def _untyped(what: str) -> str:
    return ELEMENT_TYPES.sub("", _without_layouts(what))  # tiles depend on the type


def _without_layouts(what: str) -> str:
    return _ANY_LAYOUT.sub("", NAMED.sub(r"\1", what))  # a single one has its name


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


def operation_of(edit_group: EditGroup) -> str:
    """The operation that a change is of: asynchronous or not, a collective is one.

    Example:
        >>> operation_of(EditGroup((), "added", 1, "all-gather-start f32[8]", ""))
        'all-gather'
    """
    return _operation(next((str(one) for one in edit_group.group[1:3] if one), edit_group.what.partition(" ")[0]))


def _operation(opcode: str) -> str:
    name = stem(opcode)
    return name if name in FAMILIES else opcode


def changed_fields(edit_group: EditGroup, report: Report) -> list[FieldChange]:
    """The changed fields of all edits of a change.

    Example:
        >>> changed_fields(EditGroup((), "added", 1, "add f32[8]", ""), Report("diff", "a", "b", ()))
        []
    """
    return [one for edit in edits_of(edit_group, report) for one in edit.changes]


def edits_of(edit_group: EditGroup, report: Report) -> Iterator[Edit]:
    """The edits of a change, in the order of the programs.

    Example:
        >>> list(edits_of(EditGroup((), "added", 1, "add f32[8]", ""), Report("diff", "a", "b", ())))
        []
    """
    diffs = ((report.programs[program].diff, index) for program, index in edit_group.edits)
    return (diff.reported[index] for diff, index in diffs if diff is not None)


def _is_collective(edit: Edit) -> bool:
    site = edit.new or edit.old
    return site is not None and stem(site.opcode) in FAMILIES


def collective_of(edit_group: EditGroup) -> str:
    """The kind of collective that a change is about; "" for none.

    None too where as much is carried as before: the collective is in another memory or channel, takes another value, or
    is waited for at another place.

    Example:
        >>> collective_of(EditGroup((), "added", 1, "all-gather-start f32[8]", ""))
        'all-gather'
        >>> waits = ("changed", "all-reduce", "all-reduce", ("attribute:asynchronous",))
        >>> collective_of(EditGroup((), "changed", 1, "all-reduce f32[8]: asynchronous: yes -> no", "", group=waits))
        ''
    """
    fields = edit_group.fields if edit_group.kind == "changed" else ()
    if fields and _OF_SAME_TRAFFIC.issuperset(map(str, fields)):
        return ""
    name = edit_group.collective or operation_of(edit_group)
    if any(str(opcode).endswith("-done") for opcode in edit_group.group[1:3]):  # it only waits for one
        return ""
    return name if name in FAMILIES and edit_group.weight < LAST else ""


def importance(edit_group: EditGroup) -> tuple[object, ...]:
    """Sort key: collectives, then replaced subgraphs, then additions and removals; the largest by bytes or flops first.

    Of an operation that replaced one of its kind, the difference counts. In StableHLO, which has no bytes, reads and
    writes at computed places come before arithmetic: they say what a line does.
    """
    is_same_operation, is_written = replaces_its_kind(edit_group), edit_group.key[:1] == ("stablehlo",)
    of_all = abs(edit_group.by_all(lambda cost: cost.flops)) if edit_group.kind == "changed" else 0
    largest = max(edit_group.size, of_all, *(cost.flops if cost else 0 for cost in edit_group.cost))
    if is_same_operation:
        largest = max(abs(edit_group.by(measure)) for _, _, measure, _ in _OF_PROGRAM)
    return (
        not collective_of(edit_group),
        bool(edit_group.collective),
        edit_group.kind != REPLACED or is_same_operation,
        edit_group.weight,
        edit_group.kind not in ADDED_OR_REMOVED and edit_group.fields != LOOP_MOVE,
        not is_written or _AT_COMPUTED_PLACES.isdisjoint(map(str, edit_group.group[1:3])),
        -largest,
    )


_AT_COMPUTED_PLACES = frozenset(["gather", "scatter", "sort"])


def replaces_its_kind(edit_group: EditGroup) -> bool:
    """Whether a change is of an operation that was removed, and of one of its kind that was added in its place.

    Example:
        >>> replaces_its_kind(EditGroup((), "added", 1, "add f32[8]", ""))
        False
    """
    return edit_group.kind == REPLACED and edit_group.group != edit_group.key


def _weight(edit: Edit, is_numeric: bool) -> int:
    """`weight_of`, but other memories of a chip and other channels come last: they interest reviewers least."""
    if edit.fields == ("attribute:channel_id",) or (edit.changes and all(one.of_copies for one in edit.changes)):
        return LAST
    if not is_numeric and "element_type" in edit.fields:
        fields = tuple(field for field in edit.fields if field != "element_type")
        return max(weight_of(edit), _weight(replace(edit, fields=fields), True))
    spaces = [f"{change.old} {change.new}" for change in edit.changes if change.field == "memory_space"]
    if not spaces or "host" in spaces[0]:
        return weight_of(edit)
    others = tuple(field for field in edit.fields if field != "memory_space")
    return LAST if set(others) <= _BY_CHIP else weight_of(replace(edit, fields=others))


def _lines(counts: Counter[str]) -> str:
    """The most frequent line, and the number of others."""
    more = f" and {many(len(counts) - 1, 'more line')}" if len(counts) > 1 else ""
    return counts.most_common(1)[0][0] + more if counts else ""


def _passes(edits: Sequence[Edit]) -> str:
    """The passes that made the edits; the first few."""
    return " | ".join(list(dict.fromkeys(edit.passes for edit in edits if edit.passes))[:_MOST_SHAPES])


def _replaced_subgraph(
    key: Key,
    members: Sequence[GroupMember],
    followers: Sequence[Edit],
    cost: Sides,
    beside: Sides,
    root: str,
    packages: Sequence[str],
) -> EditGroup:
    """One group for everything that one line removed and added."""
    edits, stage = [member.edit for member in members], str(key[0])
    along = [edit for member in members for edit in _whole(member, stage)]
    removed, added = ([edit for edit in along if edit.kind == kind] for kind in ("removed", "added"))
    is_counted = [
        stage == "compiled" and edit.kind == member.edit.kind for member in members for edit in member.followers
    ]
    others = [edit for edit, counted in zip(followers, is_counted, strict=True) if not counted]
    # A collective of a function that is no longer called may be the one that is here now.
    collectives = [replace(edit, cause=None) for edit in others if _is_collective(edit)]
    gone, came = ([edit for edit in collectives if edit.kind == kind] for kind in ("removed", "added"))
    here = {(edit.kind, opcode) for edit in along for opcode in _opcodes(edit)}
    opposite = {"added": "removed", "removed": "added"}
    others = [
        edit
        for edit in others
        if not (_is_collective(edit) and any((opposite.get(edit.kind), one) in here for one in _opcodes(edit) if one))
    ]
    lines = [_common_line(side, root, packages) for side in (removed, added)]
    first = next((edit for edit in added if place(edit.source, root, packages) == lines[1]), added[0])
    was = f" (was {lines[0]})" if lines[0] and lines[0] != lines[1] else ""
    if stage == "compiled" and not all(_is_stored(edit) for edit in along):
        cost = _flops_alone(cost)
    return EditGroup(
        key,
        REPLACED,
        sum(edit.count for edit in edits),
        f"{_subgraph(removed, [*added, *came], stage)} by {_subgraph(added, [*removed, *gone], stage)}{was}",
        lines[1],
        shown_stack(first.source, root),
        _follows("", others),
        cost,
        0,
        key,
        tuple((member.program, member.index) for member in members),
        passes=_passes(edits),
        along=beside,
    )


def _is_stored(edit: Edit) -> bool:
    """Whether an instruction reads and writes memory by itself: in a fusion none does."""
    return any(cost is not None and cost.bytes for cost in edit.cost or ())


def _flops_alone(sides: Sides) -> Sides:
    old, new = (cost and replace(cost, read=0, written=0, elsewhere=()) for cost in sides)
    return old, new


def _common_line(edits: Sequence[Edit], root: str, packages: Sequence[str]) -> str:
    """The line that most instructions come from; "" if no line is known."""
    counts = _counts_by_line(edits, root, packages)
    return counts.most_common(1)[0][0] if counts else ""


def _counts_by_line(edits: Sequence[Edit], root: str, packages: Sequence[str]) -> Counter[str]:
    """Number of instructions by known line."""
    counts: Counter[str] = Counter()
    for edit in edits:
        counts[place(edit.source, root, packages)] += edit.count
    del counts[""]
    return counts


def _net_counts(edits: Sequence[Edit], others: Sequence[Edit], stage: str) -> tuple[Counts, Counts]:
    """Operations that only one side computes."""
    here, there = Counter(dict(opcode_counts(edits))), Counter(dict(opcode_counts(others)))
    pair = here - there, there - here
    dropped = {"convert", *(ARRANGING if stage == "compiled" else ())}
    works = [{opcode: count for opcode, count in one.items() if opcode not in dropped} or one for one in pair]
    old, new = (tuple(sorted(one.items(), key=lambda item: (-item[1], item[0]))) for one in works)
    return old, new


def _subgraph(edits: Sequence[Edit], others: Sequence[Edit], stage: str) -> str:
    """Operations that the other side does not have: `12 multiply, 4 add, tanh and 3 more`."""
    counts = _net_counts(edits, others, stage)[0]
    # Constants and the like have the scope of what is around them.
    listed_edits = [edit for edit in edits if (site := edit.new or edit.old) and site.opcode in dict(counts)]
    # Calls by their callees, if all are known: `silu()`.
    callees = _callees(edits) - _callees(others)
    called = sum(count for opcode, count in counts if opcode in CALLS)
    if called and "()" not in callees:
        named = [*(one for one in counts if one[0] not in CALLS), *callees.items()]
        counts = tuple(sorted(named, key=lambda item: (-item[1], item[0])))
    words = [f"{count:,} {opcode}" if count > 1 else opcode for opcode, count in counts[:_MOST_OPCODES]]
    rest = sum(count for _, count in counts[_MOST_OPCODES:])
    listed = ", ".join(words) + (f" and {rest:,} more" if rest else "")
    names = {jitted_in(edit.op_name) for edit in listed_edits if edit.op_name}
    name = next(iter(names)) if len(names) == 1 else ""
    is_inside = bool(name) and f"{name}()" not in listed
    # What is around both sides stayed: a solver is not replaced with an activation of its vector field.
    is_inside &= not any(is_jitted_around(name, edit.op_name) for edit in others)
    return f"{name} ({listed})" if is_inside else listed


def _callees(edits: Sequence[Edit]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for edit in edits:
        site = edit.new or edit.old
        if site is not None and edit.cause is None and site.opcode in CALLS:
            counts[f"{callee_of(edit)}()"] += edit.count
    return counts


def edit_groups_of(
    edits: Sequence[Edit], stage: str, root: str = "", packages: Sequence[str] = ()
) -> tuple[EditGroup, ...]:
    """The edit groups of one program, sorted by weight, then by count."""
    groups = grouped(members_of(edits), stage, root, packages)
    return in_order(edit_group_of(key, members, root, packages) for key, members in groups.items())


def in_order(edit_groups: Iterable[EditGroup]) -> tuple[EditGroup, ...]:
    """Sorted by weight, then largest count first; ties keep their order."""
    return tuple(
        sorted(edit_groups, key=lambda edit_group: (edit_group.weight, -edit_group.count - edit_group.following))
    )


def format_follows(edit_group: EditGroup, of_program: int = 0) -> str:
    """`+ 16 knock-on edits: 8 constant, 8 broadcast`; "" if there are none.

    With them the flops that they are more or less, where these are not in the cost of the change.

    Args:
        edit_group: a change.
        of_program: the flops of its program.

    Example:
        >>> format_follows(EditGroup((), "added", 1, "", "", follows=(("constant", 2),)))
        '+ 2 knock-on edits: 2 constant'
        >>> product = EditGroup((), "changed", 1, "", "", follows=(("dot", 1),), along=(Cost(1, 8), Cost(1, 24)))
        >>> format_follows(product), format_follows(product, 10_000)
        ('+ 1 knock-on edit with +16 flops: 1 dot', '+ 1 knock-on edit: 1 dot')
    """
    following = format_following(edit_group.following, _follows_cost(edit_group, of_program))
    if not edit_group.follows:
        return following
    steps = collective_of(edit_group)  # of an asynchronous collective, as many instructions as fusions that it is in
    words = [
        f"{many(count, 'step')} of it" if steps and opcode == steps else f"{count:,} {opcode}"
        for opcode, count in edit_group.follows[:_MOST_FOLLOWERS]
    ]
    rest = sum(count for _, count in edit_group.follows[_MOST_FOLLOWERS:])
    words += [f"{rest:,} more"] if rest else []
    return f"{following}: {', '.join(words)}"


def _line_of_flops(followers: Iterable[Edit], kinds: Container[str], root: str, packages: Sequence[str]) -> str:
    """The line at which knock-on edits, but those of some kinds, change most of their flops; "" if there is none."""
    found: Counter[str] = Counter()
    for edit in followers:
        if edit.cost and edit.kind not in kinds:
            old, new = (cost.flops if cost else 0 for cost in edit.cost)
            line = place(edit.source, root, packages).partition(" (")[0]
            found["" if edit.is_of_several_lines else line] += abs(new - old)
    line, flops = found.most_common(1)[0] if found else ("", 0)
    return line if 2 * flops > found.total() else ""


def _follows_cost(edit_group: EditGroup, of_program: int) -> str:
    """The flops that what follows is more or less; of a collective in a fusion its traffic counts.

    Less than a hundredth of the flops of the change or of its program is not worth a number.
    """
    own = [cost.flops for cost in edit_group.cost if cost]
    is_worth = _LEAST_PART * abs(_by(edit_group.along, _flops)) >= max(of_program, *own, 1)
    is_named = any(edit_group.along) and is_worth and not edit_group.collective
    if not is_named:
        return ""
    at = edit_group.along_at
    elsewhere = f", most at {at}" if at and at != edit_group.where.partition(" (")[0] else ""
    return format_cost(*edit_group.along, "stablehlo", is_net=True) + elsewhere


_ON_MESH = re.compile(r"<@([\w.]+),")


def _values_of(change: FieldChange) -> tuple[str, str]:
    """Both values; shardings on one mesh without its name, which has its size and so differs by target."""
    meshes = {mesh for text in (change.old, change.new) for mesh in _ON_MESH.findall(text)}
    if change.field != "sharding" or len(meshes) != 1:
        return change.old, change.new
    return _ON_MESH.sub("<", change.old), _ON_MESH.sub("<", change.new)


def _edit_key(edit: Edit, stage: str, root: str, packages: Sequence[str]) -> Key:
    where = place(edit.source, root, packages)
    if note := _note(edit):  # what a compiler writes everywhere is one change, whatever its lines
        (change,) = edit.changes
        own = ("",) if note in _OWN_NOTES else (*_opcodes(edit), change.old, change.new)
        return stage, edit.kind, "backend_config", note, *own
    if not edit.sites or edit.fields == ("alias",):  # facts of the module and of its arguments are not grouped
        return stage, edit.kind, edit.op_name, tuple((c.field, c.old, c.new) for c in edit.changes), where
    changes: list[tuple[str, ...]] = []
    for one in edit.changes:
        is_own = one.field in _OWN or (
            one.field.startswith("attribute:") and any(word in one.field for word in _OWN_ATTRIBUTES)
        )
        own = (
            one.field,
            *(one.literals or ()),
            *(["of copies"] if one.of_copies else ["of casts"] if one.of_casts else []),
        )
        changes.append(own if is_own else (one.field, *_values_of(one)))
    # An added or removed constant is identified by its value.
    site = edit.new or edit.old
    literal = site.text.partition(" constant(")[2] if site and site.opcode == "constant" else ""
    # Those of other devices are of another axis of the mesh.
    among = found[0] if site and _is_collective(edit) and (found := _AMONG.search(site.text)) else ""
    counted = filter(None, [_counted_as(edit)])
    return stage, edit.kind, *_opcodes(edit), literal or among, tuple(changes), where, *counted


def _counted_as(edit: Edit) -> str:
    """The kind of collective that an operation of another kind is with its users; "" if it is counted as what it is.

    An all-reduce of which each device keeps a slice is a reduce-scatter.
    """
    site = edit.new or edit.old
    families = [cost.family for cost in edit.cost or () if cost and cost.collective]
    is_other = site is not None and _is_collective(edit) and families and families[-1] != stem(site.opcode)
    return families[-1] if is_other and edit.kind != "changed" else ""


def _note(edit: Edit) -> str:
    """The configuration entry that is the only difference of an instruction; "" if more differs."""
    if edit.kind != "changed" or edit.fields != ("backend_config",) or len(edit.changes) != 1:
        return ""
    site, (change,) = edit.new or edit.old, edit.changes
    if site is None or site.opcode.replace("_", "-").startswith("custom-call"):
        return ""  # there the configuration decides what is computed
    names = {name.partition(".")[0] for name in _ENTRY.findall(f"{change.old}, {change.new}")}
    return names.pop() if len(names) == 1 else ""


def _opcodes(edit: Edit) -> tuple[str, str]:
    old, new = edit.old.opcode if edit.old else "", edit.new.opcode if edit.new else ""
    callee = callee_of(edit)  # calls of one function are one change, whatever their shapes
    return (f"{old} {callee}" if old and callee else old), (f"{new} {callee}" if new and callee else new)


_SHORT = 24
_ANY_LAYOUT = re.compile(r"(?<=\])\{[^{}]*\}")


def _short_shape(site: Site) -> str:
    """The shape of an instruction's result, without its memory if it is long."""
    shape = format_shape(site)
    return shape if len(shape) <= _SHORT else _ANY_LAYOUT.sub("", shape)


def _in_common(edits: Sequence[Edit]) -> str:
    """The common part of a group's edits: opcode, shapes if they are few, fields with equal values."""
    first = edits[0]
    if (note := _note(first)) in _OWN_NOTES:
        return f"{format_names(list(dict.fromkeys(_opcodes(edit)[1] for edit in edits)))}: backend config: {note}"
    opcodes = [opcode for opcode in dict.fromkeys(_opcodes(first)) if opcode]
    shapes = list(dict.fromkeys(_short_shape(site) for edit in edits if (site := edit.new or edit.old)))
    arrays = {other_arrays(edit) for edit in edits}
    are_bodies = all(map(is_of_body, edits))
    shapes = [] if any(arrays) or are_bodies else shapes
    shown = [shape for shape in shapes if len(shape) <= _SHORT][:_MOST_SHAPES]
    more = [many(len(shapes) - len(shown), "other shape" if shown else "shape")] if len(shapes) > len(shown) else []
    head = " ".join(filter(None, [ARROW.join(opcodes), OF_BODY * are_bodies, ", ".join([*shown, *more])]))
    if first.kind in ("added", "removed"):
        values = list(dict.fromkeys(literal_of(s) for edit in edits if (s := edit.new or edit.old)))
        if opcodes == ["constant"] and all(values) and len(listed := " and ".join(values)) <= _SHORT:
            return f"{head} ({listed})"
        attributes = list(dict.fromkeys(tuple(format_attributes(s)) for e in edits if (s := e.new or e.old)))
        # Of calls of one library function with other shapes and layouts the function says what they do.
        told = [one for one in attributes[0] if len(attributes) == 1 or one.startswith("custom_call_target")]
        return ", ".join([head, *(one for one in told if all(one in others for others in attributes))])
    words = []
    for change in listed_changes(first):
        shown_change = format_field_change(change, first)
        if {shown_change} == arrays:
            words.append(shown_change)
            continue
        same = (
            change.literals is not None
            or change.of_copies
            or change.of_casts
            or all(any(c == change for c in edit.changes) for edit in edits)
        )
        words.append(shown_change if same else shown_change.partition(":")[0])
    if "shape" in first.fields:  # another size follows from what is taken, or equal ones are crossed by it
        words = [one for one in words if one != "operands"]
    return f"{head}: {'; '.join(words)}" if words else head


def _follows(kind: str, followers: Sequence[Edit]) -> tuple[tuple[str, int], ...]:
    """The opcodes of knock-on edits with their counts: what computes first, and of that what came or went alike."""
    counts: dict[str, int] = {}
    for edit in followers:
        site = edit.new or edit.old
        word = site.opcode if site else edit.kind
        word = word if edit.kind == kind else f"{word} {edit.kind}"
        counts[word] = counts.get(word, 0) + edit.count
    passed_on = HANDED_ON - CALLS

    def rank(item: tuple[str, int]) -> tuple[object, ...]:
        opcode, _, other_kind = item[0].partition(" ")
        return opcode in passed_on, bool(other_kind), -item[1], item[0]

    return tuple(sorted(counts.items(), key=rank))


_MOST_OF_EACH = 5


@dataclass(frozen=True, slots=True)
class Digest:
    """The largest groups of changes, and the number of unlisted ones.

    Args:
        by_bytes, by_count: merged edit groups, each group once.
        others: number of unlisted groups.
        unlisted: number of instructions in them, including knock-on edits.
    """

    by_bytes: tuple[EditGroup, ...]
    by_count: tuple[EditGroup, ...]
    others: int = 0
    unlisted: int = 0


def digest_of(edit_groups: Sequence[EditGroup], most: int = _MOST_OF_EACH) -> Digest:
    """Edit groups merged: the `most` largest groups by bytes, then as many by count.

    Example:
        >>> digest_of([EditGroup((), "added", 2, "add", "")]).by_count[0].count
        2
    """
    groups: dict[Key, list[EditGroup]] = {}
    for edit_group in edit_groups:
        groups.setdefault(edit_group.group, []).append(edit_group)
    merged = [_merged_group(members) for members in groups.values()]
    by_bytes = [one for one in sorted(merged, key=lambda one: -one.size) if one.size][:most]
    rest = [one for one in merged if one not in by_bytes]
    by_count = sorted(rest, key=lambda one: -one.count - one.following)[:most]
    left = [one for one in rest if one not in by_count]
    return Digest(tuple(by_bytes), tuple(by_count), len(left), sum(one.count + one.following for one in left))


def _merged_group(edit_groups: Sequence[EditGroup]) -> EditGroup:
    """Merge edit groups that differ in line, literals and values of fields."""
    first = edit_groups[0]
    if len(edit_groups) == 1:
        return first
    follows: dict[str, int] = {}
    places: Counter[str] = Counter()
    for edit_group in edit_groups:
        places[edit_group.where] += edit_group.count + edit_group.following
        for word, count in edit_group.follows:
            follows[word] = follows.get(word, 0) + count
    del places[""]
    _, *opcodes, fields = first.group
    what = ARROW.join(dict.fromkeys(word for word in map(str, opcodes) if word))
    words = [str(name).removeprefix("attribute:").replace("_", " ") for name in fields if name != "opcode"]  # type: ignore[attr-defined]
    old, new = (added_up(edit_group.cost[side] for edit_group in edit_groups) for side in (0, 1))
    return replace(
        first,
        key=first.group,
        count=sum(edit_group.count for edit_group in edit_groups),
        what=f"{what}: {', '.join(words)}" if words and len(words) <= 4 else what,
        where=_lines(places),
        stack=(),
        follows=tuple(sorted(follows.items(), key=lambda item: (-item[1], item[0]))),
        cost=(old, new),
        edits=tuple(edit for edit_group in edit_groups for edit in edit_group.edits),
    )


_MOST = 5
_NUMBER = re.compile(r"(?<=[_\[.])\d+|(?<=layer)\d+|(?<=block)\d+")
# The prefix of every name is uninteresting: `jit(step)/jit(main)/`.
_OUTER = re.compile(r"^(?:(?:jit|pjit)\([^()]*\)/)+")


def most_changed(diff: ModuleDiff) -> tuple[Scope, ...]:
    """The scopes with the most edited instructions.

    If there would be too many scopes, layers that differ only in a number count together.

    Args:
        diff: difference of one program.

    Returns:
        scopes, most edited first; instructions without a scope are skipped.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> most_changed(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ()
    """
    counts: Counter[str] = Counter()
    for edit in diff.reported:
        if not edit.sites or edit.count != len(edit.sites):
            counts[scope_of(edit.op_name)] += edit.count
            continue
        for old, new in edit.sites:  # an instruction on both sides counts for its new scope
            module, site = (diff.new, new) if new else (diff.old, old)
            if site:
                counts[scope_of(site.instruction_in(module).op_name)] += 1
    del counts[""]
    if len(counts) > _MOST:
        merged: Counter[str] = Counter()
        for scope, count in counts.items():
            merged[_NUMBER.sub("*", scope)] += count
        counts = merged
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Scope(name, count) for name, count in ranked[:_MOST])


def scope_of(op_name: str | None) -> str:
    """The scope without its last part (the operation itself) and without the common prefix.

    Example:
        >>> scope_of("jit(step)/jit(main)/attention/mul"), scope_of("jit(step)/a/mul;jit(step)/b/add")
        ('attention', 'a')
    """
    # An instruction merged from several by XLA has several names; the first is enough.
    inner = _OUTER.sub("", (op_name or "").partition(";")[0])
    depth, parts = 0, []
    for char in inner:  # a slash in parentheses, as in `checkpoint(a/b)`, is not a separator
        depth += (char in "([") - (char in ")]")
        parts.append("\0" if char == "/" and depth <= 0 else char)
    return "".join(parts).rpartition("\0")[0].replace("\0", "/")


def format_scopes(scopes: Iterable[Scope]) -> str:
    """`attention 24, loss 3`.

    Example:
        >>> format_scopes((Scope("attention", 24), Scope("loss", 3)))
        'attention 24, loss 3'
    """
    return ", ".join(f"{scope.name} {scope.edited:,}" for scope in scopes)


# What a cost has in common with the numbers of its whole program: metric, name, measure and format.
_OF_PROGRAM: tuple[tuple[str, str, Callable[[Cost], int], Callable[[float], str]], ...] = (
    ("flops", "flops", lambda cost: cost.flops, format_count),
    ("bytes_accessed", "bytes", lambda cost: cost.bytes, format_bytes),
)
_LEAST_PART = 100  # a smaller part of the work of a program needs no explanation; whole numbers have no largest one


def format_in_all(edit_groups: Sequence[EditGroup], program: ProgramComparison) -> Iterator[tuple[EditGroup, str]]:
    """The changes that a reader may take for new or saved work of the program, with the change of the whole program.

    A product that the compiler moved to another fusion is added here and removed there, and only one may be listed.

    Args:
        edit_groups: the listed changes of a compiled program.
        program: it, with both sides.

    Yields:
        the largest change and `flops in all +512`, if the changes that are not listed undo half of the listed ones or
        more: of flops or else bytes, and of the bytes of each kind of collective.

    Example:
        >>> list(format_in_all([], ProgramComparison("f", "cpu", "compiled", "identical")))
        []
    """
    # The bytes of a collective are those of its result, and are transferred.
    of_work = [one for one in edit_groups if not any(cost and cost.collective for cost in one.cost)]
    by_family: dict[str, list[EditGroup]] = {}
    for edit_group in edit_groups:
        if name := collective_of(edit_group):
            by_family.setdefault(name, []).append(edit_group)
    found = (_in_all(of_work, program, *of_program) for of_program in _OF_PROGRAM)
    yield from [first] if (first := next(filter(None, found), None)) else []
    for name, alike in by_family.items():
        one = _in_all(
            alike, program, f"collective_bytes.{name}", f"{name} bytes", lambda cost: cost.collective, format_bytes
        )
        yield from [one] if one else []


def compared_with_all(
    edit_groups: Sequence[EditGroup], program: ProgramComparison, root: str = "", packages: Sequence[str] = ()
) -> Iterator[tuple[EditGroup, str]]:
    """What `format_in_all` gives, `dot here in all +512 flops` where the line's other changes undo much of one, and how
    often fusions run.

    What a compiler moved into another fusion, or to another turn of a loop, is added here and removed there.

    Args:
        edit_groups: the listed changes of a program.
        program: it, with both sides.
        root, packages: as for `grouped`.

    Example:
        >>> same = ProgramComparison("f", "cpu", "compiled", "identical")
        >>> list(compared_with_all([EditGroup((), "added", 1, "", "")], same))
        []
    """
    of_program = list(format_in_all(edit_groups, program))
    yield from of_program
    known = {edit_group for edit_group, words in of_program if words.startswith("flops")}
    others = [one for one in edit_groups if one not in known]
    halves = [one for one in others if is_half_of_work(one)]
    exchanged = [one for one in others if one.kind == "changed" and len({*map(str, one.group[1:3])}) == 2]
    exchanged += [one for one in others if one.kind in ("added", "removed") and not one.by(_flops)]
    if program.diff is not None and exchanged:
        everywhere = nets_by_operation(program.diff)
        yield from ((one, words) for one in exchanged if (words := undone_in_all(one, everywhere)))
    if program.diff is not None and halves:
        nets, everywhere = flops_by_line(program.diff, root, packages), nets_by_operation(program.diff)
        for edit_group in halves:
            operation, own = operation_of(edit_group), edit_group.by(_flops)
            net = nets[operation, edit_group.where]
            if net * own <= 0 or abs(net) < _MOST_UNDONE * abs(own):
                yield edit_group, f"{operation} here in all {'+' if net > 0 else ''}{format_count(net)} flops"
            elif words := undone_in_all(edit_group, everywhere):
                yield edit_group, words
    yield from _launches_of_fusions(edit_groups, program)


def _launches_of_fusions(
    edit_groups: Iterable[EditGroup], program: ProgramComparison
) -> Iterator[tuple[EditGroup, str]]:
    """How often fusions run that came or went, if not once each, and the change of all launches if it is another way.

    A list counts them in the text: of an unrolled loop there are more, and each runs less often.
    """
    is_said = False
    for edit_group in edit_groups:
        by = launches_of(edit_group, program.diff)
        if not by or abs(by) == edit_group.count:
            continue
        words = f"{'+' if by > 0 else '-'}{many(abs(by), 'launch', 'launches')}"
        whole = executed_change(program, "launches")
        if whole * by <= 0 and not is_said:
            is_said = True
            turns = of_which_turns(*executed_pair(program, "launches"))
            words += f", in all {'+' if whole > 0 else ''}{format_count(whole)}{turns}"
        yield edit_group, words


def launches_of(edit_group: EditGroup, diff: ModuleDiff | None) -> int:
    """How many launches more or fewer there are by fusions that came or went; 0 for all other changes.

    Args:
        edit_group: a change of one program.
        diff: of that program.

    Example:
        >>> launches_of(EditGroup((), "added", 1, "add f32[8]", "", group=("added", "", "add", ())), None)
        0
    """
    if edit_group.kind not in ("added", "removed") or operation_of(edit_group) not in FUSIONS or diff is None:
        return 0
    side = int(edit_group.kind == "added")
    found = 0
    for edit in (diff.reported[index] for _, index in edit_group.edits):
        are_inside = {site.computation in diff.fused[side] for pair in edit.sites if (site := pair[side]) is not None}
        if len(are_inside) > 1:
            return 0  # the cost is of both kinds
        if are_inside != {True}:  # one inside starts with the fusion that it is in
            old, new = edit.cost or (None, None)
            found += (new.runs if new else 0) - (old.runs if old else 0)
    return found


_MOST_UNDONE = 0.75


def _flops(cost: Cost) -> int:
    return cost.flops


def is_half_of_work(edit_group: EditGroup) -> bool:
    """Whether it came or went at a known line with its flops, and is one operation; a call is named with what it calls.

    Example:
        >>> is_half_of_work(EditGroup((), "added", 1, "dot f32[8]", "net.py:4", cost=(None, Cost(1, 8))))
        True
    """
    operation = operation_of(edit_group)
    others = CARRIERS | {*FAMILIES, "custom-call", "custom_call"}
    is_one = operation not in others and operation.partition(" ")[0] not in CALLS
    is_half = edit_group.kind in ("added", "removed") and is_one
    return is_half and bool(edit_group.where and edit_group.by(_flops))


def flops_by_line(diff: ModuleDiff, root: str = "", packages: Sequence[str] = ()) -> Counter[tuple[str, str]]:
    """By how many flops all edits of an opcode at a line of Python are more or less.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> flops_by_line(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        Counter()
    """
    found = Counter[tuple[str, str]]()
    for edit in diff.reported:
        if (site := edit.new or edit.old) is not None and edit.cost:
            found[site.opcode, place(edit.source, root, packages)] += _by(edit.cost, _flops)
    return found


Nets = tuple[Counter[str], Counter[str]]
"""By how many flops, and by how many in the text, a program has more or fewer of each operation."""


def nets_by_operation(diff: ModuleDiff) -> Nets:
    """By how many flops, and by how many in the text, a program has more or less of each operation.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> nets_by_operation(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        (Counter(), Counter())
    """
    flops, in_text = Counter[str](), Counter[str]()
    for opcode, (old, new) in diff.op_counts.items():
        in_text[_operation(opcode)] += new - old
    for edit in diff.reported:
        for site, cost, sign in sides_of(edit):
            flops[_operation(site.opcode)] += sign * (cost.flops if cost else 0)
    return flops, in_text


def sides_of(edit: Edit) -> Iterator[tuple[Site, Cost | None, int]]:
    """The sides that an edit has: its first site there, the cost of all sites, and -1 for the old and 1 for the new.

    Example:
        >>> list(sides_of(Edit("added", sites=((None, Site(0, 0, "main", "a", "add", "add")),))))[0][1:]
        (None, 1)
    """
    for site, cost, sign in zip((edit.old, edit.new), edit.cost or (None, None), (-1, 1), strict=True):
        if site is not None:
            yield site, cost, sign


# Of these nobody counts how many a program has.
_UNTOLD = CARRIERS - {
    "optimization_barrier", "optimization-barrier", "broadcast", "broadcast_in_dim", "reshape",
}  # fmt: skip


def undone_in_all(edit_group: EditGroup, nets: Nets) -> str:
    """`dot in all +512 flops`, `as many gather in all`: where other changes undo half of one that came or went, or "".

    Args:
        edit_group: a listed change.
        nets: what all changes of its program are together.

    Example:
        >>> removed = EditGroup((), "removed", 2, "gather f32[8]", "", group=("removed", "gather", "", ()))
        >>> undone_in_all(removed, (Counter(), Counter())), undone_in_all(removed, (Counter(), Counter(gather=-2)))
        ('as many gather in all', '')
    """
    old, new = (_operation(str(one)) if one else "" for one in edit_group.group[1:3])
    if edit_group.kind == "changed" and old and new and old != new and not {old, new} & (CARRIERS | {*FAMILIES}):
        if nets[1][old] >= 0:  # the shortest script made one of them another operation, and added it elsewhere
            return f"as many {old} in all" if not nets[1][old] else f"{old} in all {nets[1][old]:+,}"
        return ""
    operation, own = operation_of(edit_group), edit_group.by(_flops)
    untold = _UNTOLD | BROADCASTS if edit_group.key[:1] == ("stablehlo",) else _UNTOLD
    if edit_group.kind not in ("added", "removed") or operation in untold | {*FAMILIES}:
        return ""
    if operation.partition(" ")[0] in CALLS:
        return ""
    flops, count = nets[0][operation], nets[1][operation]
    if own:
        is_undone = flops * own <= 0 or 2 * abs(flops) <= abs(own)
        return f"{operation} in all {'+' if flops > 0 else ''}{format_count(flops)} flops" if is_undone else ""
    if count * (1 if edit_group.kind == "added" else -1) > 0:
        return ""
    return f"{operation} in all {count:+,}" if count else f"as many {operation} in all"


def counts_by_line(
    diff: ModuleDiff, root: str = "", packages: Sequence[str] = ()
) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """By how many a program has more or fewer of an operation at a line of Python, in the text and executed.

    Calls are counted by callee.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> counts_by_line(ModuleDiff(Module("m", "stablehlo", (), 0), Module("m", "stablehlo", (), 0)))
        (Counter(), Counter())
    """
    in_text, executed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for edit in diff.reported:
        where = place(edit.source, root, packages)
        for opcode, cost, sign in zip(_opcodes(edit), edit.cost or (None, None), (-1, 1), strict=True):
            if opcode:
                in_text[_operation(opcode), where] += sign * edit.count
                executed[_operation(opcode), where] += sign * (cost.runs if cost else edit.count)
    return in_text, executed


def _in_all(
    edit_groups: Sequence[EditGroup],
    program: ProgramComparison,
    metric: str,
    name: str,
    measure: Callable[[Cost], int],
    show: Callable[[float], str],
) -> tuple[EditGroup, str] | None:
    sides = executed_pair(program, metric)
    old, new = (one.once for one in sides)
    counts_one_turn = {len(one.loop_turns()) > 1 for one in sides}
    if old is None or new is None or not edit_groups or len(counts_one_turn) > 1 or entered_otherwise(*sides):
        return None
    by, whole = [one.by(measure) for one in edit_groups], new - old
    largest, listed = max(range(len(by)), key=lambda n: abs(by[n])), sum(by)
    undone = listed - whole
    # What is against the change of the whole misleads sooner.
    least = _LEAST_PART if listed * whole > 0 else 100 * _LEAST_PART
    is_large = by[largest] and least * abs(by[largest]) >= max(old, new)
    if not (is_large and undone * listed > 0 and 2 * abs(undone) >= abs(listed)):
        return None
    change = f"{'+' if whole > 0 else ''}{show(whole)}" if whole else "unchanged"
    return edit_groups[largest], f"{name} in all {change}{of_which_turns(*sides) if whole else ''}"
