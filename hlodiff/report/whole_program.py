"""Changes beside the numbers of their whole program: what one adds, others may undo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.instruction_costs import FUSIONS
from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.result import Cost, ModuleDiff
from hlodiff.hlo.collectives import FAMILIES
from hlodiff.hlo.model import BROADCASTS, CALLS
from hlodiff.report.grouping import (
    LEAST_PART,
    EditGroup,
    collective_of,
    flops_of,
    net_of,
    opcodes_of,
    operation_name,
    operation_of,
    sides_of,
)
from hlodiff.report.numbers import entered_otherwise, executed_change, executed_pair, of_which_turns
from hlodiff.report.report import Report
from hlodiff.report.wording import format_bytes, format_count, many, place

# What a cost has in common with the numbers of its whole program: metric, name, measure and format.
_OF_PROGRAM: tuple[tuple[str, str, Callable[[Cost], int], Callable[[float], str]], ...] = (
    ("flops", "flops", lambda cost: cost.flops, format_count),
    ("bytes_accessed", "bytes", lambda cost: cost.bytes, format_bytes),
)


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


def compared_with_all(edit_groups: Sequence[EditGroup], number: int, report: Report) -> Iterator[tuple[EditGroup, str]]:
    """What `format_in_all` gives, `dot here in all +512 flops` where the line's other changes undo much of one, and how
    often fusions run.

    What a compiler moved into another fusion, or to another turn of a loop, is added here and removed there.

    Args:
        edit_groups: the listed changes of a program, which others may have too.
        number: of the program in the report.
        report: with both sides of the program.

    Example:
        >>> same = ProgramComparison("f", "cpu", "compiled", "identical")
        >>> list(compared_with_all([EditGroup((), "added", 1, "", "")], 0, Report("diff", "a", "b", (same,))))
        []
    """
    program = report.programs[number]
    of_program = list(format_in_all(edit_groups, program))
    yield from of_program
    known = {edit_group for edit_group, words in of_program if words.startswith("flops")}
    others = [one for one in edit_groups if one not in known]
    halves = [one for one in others if is_half_of_work(one)]
    exchanged = [one for one in others if one.kind == "changed" and len({*map(str, one.group[1:3])}) == 2]
    exchanged += [one for one in others if one.kind in ("added", "removed") and not one.by(flops_of)]
    if program.diff is not None and exchanged:
        everywhere = nets_by_operation(program.diff)
        yield from ((one, words) for one in exchanged if (words := undone_in_all(one, everywhere)))
    if program.diff is not None and halves:
        nets, everywhere = flops_by_line(program.diff, report.root, report.packages), nets_by_operation(program.diff)
        for edit_group in halves:
            operation, own = operation_of(edit_group), edit_group.by(flops_of)
            net = nets[operation, edit_group.where]
            if net * own <= 0 or abs(net) < _MOST_UNDONE * abs(own):
                yield edit_group, f"{operation} here in all {'+' if net > 0 else ''}{format_count(net)} flops"
            elif words := undone_in_all(edit_group, everywhere):
                yield edit_group, words
    yield from _launches_of_fusions(edit_groups, number, report)


def _launches_of_fusions(
    edit_groups: Iterable[EditGroup], number: int, report: Report
) -> Iterator[tuple[EditGroup, str]]:
    """How often fusions run that came or went, if not once each, and the change of all launches if it is another way.

    A list counts them in the text: of an unrolled loop there are more, and each runs less often.
    """
    program, is_said = report.programs[number], False
    for edit_group in edit_groups:
        by = launches_of(edit_group, number, report)
        if not by or abs(by) == edit_group.count:
            continue
        words = f"{'+' if by > 0 else '-'}{many(abs(by), 'launch', 'launches')}"
        whole = executed_change(program, "launches")
        if whole * by <= 0 and not is_said:
            is_said = True
            turns = of_which_turns(*executed_pair(program, "launches"))
            words += f", in all {'+' if whole > 0 else ''}{format_count(whole)}{turns}"
        yield edit_group, words


def launches_of(edit_group: EditGroup, number: int, report: Report) -> int:
    """How many launches more or fewer a program has by fusions that came or went; 0 for all other changes.

    Args:
        edit_group: a change, of which other programs may have edits too.
        number: of the program in the report.
        report: with both sides of the program.

    Example:
        >>> group = EditGroup((), "added", 1, "add f32[8]", "", group=("added", "", "add", ()))
        >>> same = ProgramComparison("f", "cpu", "compiled", "identical")
        >>> launches_of(group, 0, Report("diff", "a", "b", (same,)))
        0
    """
    diff = report.programs[number].diff
    if edit_group.kind not in ("added", "removed") or operation_of(edit_group) not in FUSIONS or diff is None:
        return 0
    side = int(edit_group.kind == "added")
    found = 0
    for edit in (diff.reported[index] for of, index in edit_group.edits if of == number):
        are_inside = {site.computation in diff.fused[side] for pair in edit.sites if (site := pair[side]) is not None}
        if len(are_inside) > 1:
            return 0  # the cost is of both kinds
        if are_inside != {True}:  # one inside starts with the fusion that it is in
            old, new = edit.cost or (None, None)
            found += (new.runs if new else 0) - (old.runs if old else 0)
    return found


_MOST_UNDONE = 0.75


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
    return is_half and bool(edit_group.where and edit_group.by(flops_of))


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
            found[site.opcode, place(edit.source, root, packages)] += net_of(edit.cost, flops_of)
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
        in_text[operation_name(opcode)] += new - old
    for edit in diff.reported:
        for site, cost, sign in sides_of(edit):
            flops[operation_name(site.opcode)] += sign * (cost.flops if cost else 0)
    return flops, in_text


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
    old, new = (operation_name(str(one)) if one else "" for one in edit_group.group[1:3])
    if edit_group.kind == "changed" and old and new and old != new and not {old, new} & (CARRIERS | {*FAMILIES}):
        if nets[1][old] >= 0:  # the shortest script made one of them another operation, and added it elsewhere
            return f"as many {old} in all" if not nets[1][old] else f"{old} in all {nets[1][old]:+,}"
        return ""
    operation, own = operation_of(edit_group), edit_group.by(flops_of)
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
        for opcode, cost, sign in zip(opcodes_of(edit), edit.cost or (None, None), (-1, 1), strict=True):
            if opcode:
                in_text[operation_name(opcode), where] += sign * edit.count
                executed[operation_name(opcode), where] += sign * (cost.runs if cost else edit.count)
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
    least = LEAST_PART if listed * whole > 0 else 100 * LEAST_PART
    is_large = by[largest] and least * abs(by[largest]) >= max(old, new)
    if not (is_large and undone * listed > 0 and 2 * abs(undone) >= abs(listed)):
        return None
    change = f"{'+' if whole > 0 else ''}{show(whole)}" if whole else "unchanged"
    return edit_groups[largest], f"{name} in all {change}{of_which_turns(*sides) if whole else ''}"
