"""Edit groups: equal changes from one line of Python, across shapes, layers and programs.

Two edits belong to one group if they make the same change and come from the same line. Shapes, names, operands and
layouts of their instructions may differ: the text of a group names them only if there are few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from hlodiff.differ.costs import added_up
from hlodiff.differ.grouping import ARRANGING, weight_of
from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.differ.regions import MOST_FOR_ONE, MOST_OF_A_LINE, opcode_counts
from hlodiff.differ.result import Cost, Edit, FieldChange, Site
from hlodiff.hlo.collectives import FAMILIES, chain_of_step, stem
from hlodiff.hlo.model import CALLS
from hlodiff.report.edits import (
    NAMED,
    OF_BODY,
    callee_of,
    format_attributes,
    format_cost,
    format_edit,
    format_field_change,
    format_following,
    format_shape,
    is_jitted_around,
    is_of_body,
    jitted_in,
    listed_changes,
    listed_fields,
    literal_of,
    other_arrays,
)
from hlodiff.report.function_view import ChangeView
from hlodiff.report.group_members import GroupMember, members_of
from hlodiff.report.numbers import most_executed
from hlodiff.report.report import Report
from hlodiff.report.wording import ARROW, format_names, many, place, shown_stack

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
AMONG = re.compile(r" (?:replica_groups|source_target_pairs)=[^ ]+")
# Fields of a collective that carries as much as before among the same devices.
_OF_SAME_TRAFFIC = frozenset(["operands", "attribute:asynchronous", "attribute:channel_id", "backend_config"])
LEAST_PART = 100
"""A smaller part of the work of a program needs no explanation; whole numbers have no largest one."""
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
        is_of_several_lines: whether some of it is in a body that fusions of several lines share.
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
    is_of_several_lines: bool = False

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
        return net_of(self.cost, measure)

    def by_all(self, measure: Callable[[Cost], int]) -> int:
        """The same with all knock-on edits."""
        return self.by(measure) + net_of(self.along, measure)


def net_of(sides: Sides, measure: Callable[[Cost], int]) -> int:
    """By how much the new side costs more than the old one; a side that is not there costs nothing."""
    old, new = (measure(cost) if cost else 0 for cost in sides)
    return new - old


def flops_of(cost: Cost) -> int:
    """The flops of a cost, as a measure."""
    return cost.flops


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
    if edit.kind == "changed" or not any(opcode.startswith("fusion") for opcode in opcodes_of(edit)):
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
    is_fusion = first.kind != "changed" and any(opcode.startswith("fusion") for opcode in opcodes_of(first))
    held = collective_in(along) if is_fusion else ""
    if held:  # what else these fusions compute was mostly in others before
        cost = _traffic(cost)
    what = format_edit(first) if len(edits) == 1 else _in_common(edits)
    if held:
        inside = [one for member in members if (one := _collective_among(member.followers, first.kind)) is not None]
        operation, _, of = _without_names(inside).partition(" ")
        taken = f"{counted} of {of}" if (counted := _counted_as(inside[0])) else f"{operation} {of}"
        what = f"{opcodes_of(first)[first.kind == 'added']} with {taken}"
    elif counted := _counted_as(first):
        what, held = f"{what}, sliced: counted as {counted}", counted
    return EditGroup(
        key,
        first.kind,
        _count(edits),
        what,
        format_lines(_counts_by_line(edits, root, packages)) if _note(first) else place(first.source, root, packages),
        shown_stack(first.source, root),
        _follows(first.kind, followers),
        cost,
        min(_weight(edit, is_numeric) for edit in edits),
        (first.kind, *opcodes_of(first), listed_fields(first)),
        tuple((member.program, member.index) for member in members),
        passes=_passes(edits),
        along=beside,
        along_at=along_at,
        collective=held,
        is_of_several_lines=any(edit.is_of_several_lines for edit in edits),
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
        is_of_several_lines=edit_group.is_of_several_lines and not report.stacks,
    )


LOOP_MOVE, OTHER_PART = ("loops",), ("another part",)
"""The changed fields of what moved out of a loop or into one, and of what moved to another part of the program."""
ELEMENT_TYPES = re.compile(r"\b[a-z]\w*(?=\[)")
"""The element types of the shapes in a text."""


def operation_of(edit_group: EditGroup) -> str:
    """The operation that a change is of: asynchronous or not, a collective is one.

    Example:
        >>> operation_of(EditGroup((), "added", 1, "all-gather-start f32[8]", ""))
        'all-gather'
    """
    return operation_name(next((str(one) for one in edit_group.group[1:3] if one), edit_group.what.partition(" ")[0]))


def operation_name(opcode: str) -> str:
    """The operation of an opcode: asynchronous or not, a collective is one.

    Example:
        >>> operation_name("all-gather-start"), operation_name("dot")
        ('all-gather', 'dot')
    """
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
        largest = max(abs(edit_group.by(measure)) for measure in (flops_of, lambda cost: cost.bytes))
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


def format_lines(counts: Counter[str]) -> str:
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
    here = {(edit.kind, opcode) for edit in along for opcode in opcodes_of(edit)}
    opposite = {"added": "removed", "removed": "added"}
    others = [
        edit
        for edit in others
        if not (_is_collective(edit) and any((opposite.get(edit.kind), one) in here for one in opcodes_of(edit) if one))
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
    is_worth = LEAST_PART * abs(net_of(edit_group.along, flops_of)) >= max(of_program, *own, 1)
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
        own = ("",) if note in _OWN_NOTES else (*opcodes_of(edit), change.old, change.new)
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
    among = found[0] if site and _is_collective(edit) and (found := AMONG.search(site.text)) else ""
    # Of those that carry more or fewer arrays the text says which.
    arrays = words if among and " instead of " in (words := other_arrays(edit)) else ""
    further = filter(None, [_counted_as(edit), arrays, _within_fusion(edit)])
    return stage, edit.kind, *opcodes_of(edit), literal or among, tuple(changes), where, *further


def _counted_as(edit: Edit) -> str:
    """The kind of collective that an operation of another kind is with its users; "" if it is counted as what it is.

    An all-reduce of which each device keeps a slice is a reduce-scatter.
    """
    site = edit.new or edit.old
    families = [cost.family for cost in edit.cost or () if cost and cost.collective]
    is_other = site is not None and _is_collective(edit) and families and families[-1] != stem(site.opcode)
    return families[-1] if is_other and edit.kind != "changed" else ""


def _within_fusion(edit: Edit) -> str:
    """Of a copy that moves no bytes, as it is in a fusion, that it is another change than one that does; else ""."""
    is_copy = edit.kind != "changed" and "copy" in opcodes_of(edit)
    return "in a fusion" if is_copy and not any(cost.bytes for cost in edit.cost or () if cost) else ""


def _note(edit: Edit) -> str:
    """The configuration entry that is the only difference of an instruction; "" if more differs."""
    if edit.kind != "changed" or edit.fields != ("backend_config",) or len(edit.changes) != 1:
        return ""
    site, (change,) = edit.new or edit.old, edit.changes
    if site is None or site.opcode.replace("_", "-").startswith("custom-call"):
        return ""  # there the configuration decides what is computed
    names = {name.partition(".")[0] for name in _ENTRY.findall(f"{change.old}, {change.new}")}
    return names.pop() if len(names) == 1 else ""


def opcodes_of(edit: Edit) -> tuple[str, str]:
    """The opcodes of both sides, calls with what they call; "" for a side that is not there."""
    old, new = edit.old.opcode if edit.old else "", edit.new.opcode if edit.new else ""
    callee = callee_of(edit)  # calls of one function are one change, whatever their shapes
    return (f"{old} {callee}" if old and callee else old), (f"{new} {callee}" if new and callee else new)


_SHORT = 24
ANY_LAYOUT = re.compile(r"(?<=\])\{[^{}]*\}")


def _short_shape(site: Site) -> str:
    """The shape of an instruction's result, without its memory if it is long."""
    shape = format_shape(site)
    return shape if len(shape) <= _SHORT else ANY_LAYOUT.sub("", shape)


def _in_common(edits: Sequence[Edit]) -> str:
    """The common part of a group's edits: opcode, shapes if they are few, fields with equal values."""
    first = edits[0]
    if (note := _note(first)) in _OWN_NOTES:
        return f"{format_names(list(dict.fromkeys(opcodes_of(edit)[1] for edit in edits)))}: backend config: {note}"
    opcodes = [opcode for opcode in dict.fromkeys(opcodes_of(first)) if opcode]
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


def sides_of(edit: Edit) -> Iterator[tuple[Site, Cost | None, int]]:
    """The sides that an edit has: its first site there, the cost of all sites, and -1 for the old and 1 for the new.

    Example:
        >>> list(sides_of(Edit("added", sites=((None, Site(0, 0, "main", "a", "add", "add")),))))[0][1:]
        (None, 1)
    """
    for site, cost, sign in zip((edit.old, edit.new), edit.cost or (None, None), (-1, 1), strict=True):
        if site is not None:
            yield site, cost, sign
