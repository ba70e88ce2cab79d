"""Fusions that came or went, with all that they compute and the bytes that they read and write.

The edits of a script count what came or went inside of a fusion, apart from what moved into it or out of it. Of a
kernel that is listed as new or gone a reader takes the numbers for those of the whole kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.differ.costs import computation_runs, flops_inside
from hlodiff.differ.instruction_costs import FUSIONS
from hlodiff.differ.result import Cost, Edit, ModuleDiff, Site
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.traversal import multiplicities
from hlodiff.report.grouping import LEAST_PART, EditGroup, operation_of, sides_added_up, sides_of
from hlodiff.report.numbers import executed_change, most_executed
from hlodiff.report.report import Report
from hlodiff.report.wording import place

_Kind = tuple[str, str, str]
"""An opcode, a shape without layouts, and how the fusion is compiled."""


@dataclass(slots=True)
class WholeFusions:
    """The fusions of the programs of a report.

    Example:
        >>> WholeFusions(Report("diff", "a", "b", ())).are_more(EditGroup((), "added", 1, "add f32[8]", ""))
        True
    """

    report: Report
    _more: dict[int, tuple[Counter[_Kind], Counter[_Kind]]] = field(default_factory=dict)
    _by_line: dict[int, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)

    def are_more(self, edit_group: EditGroup) -> bool:
        """Whether one side has as many more of the fusions of a change, by shape and kind, as the change says.

        Else others of their kind are gone, or new: the compiler put other operations into them. They also run as much
        more often: in a loop with several copies of its body, which turns less often, each fusion is there several
        times and runs as often as before. And others do not undo more than half of the bytes that they read and write,
        on their line, and of their flops, there or, if it has few, in all. True for what is no fusion that came or
        went, and for fusions that are named by a collective, which are counted with that.
        """
        if not _is_of_fusions(edit_group):
            return True
        by_program: dict[int, list[tuple[Edit, ModuleDiff]]] = {}
        for number, edit, diff in _edits(edit_group, self.report):
            by_program.setdefault(number, []).append((edit, diff))
        return all(self._are_more_in(number, edit_group, edits) for number, edits in by_program.items())

    def _are_more_in(self, number: int, edit_group: EditGroup, edits: Sequence[tuple[Edit, ModuleDiff]]) -> bool:
        """The same of the edits that one program has of a change."""
        way = 1 if edit_group.kind == "added" else -1
        program, (_, diff) = self.report.programs[number], edits[0]
        in_text, executed = Counter[_Kind](), Counter[_Kind]()
        size = flops = 0
        for edit, _ in edits:
            site, module = _side(edit, diff)
            if site is not None:
                costs = [cost for cost in edit.cost or () if cost]
                in_text[_kind(site, module)] += edit.count
                executed[_kind(site, module)] += sum(cost.runs for cost in costs)
                size += sum(cost.bytes for cost in costs)
                flops += _flops(edit, diff)
        bytes_here, flops_here = (of_line[edit_group.where] for of_line in self._costs_here(number, diff))
        # What is in a fusion may be of other lines than its own.
        more_flops = flops_here if 10 * abs(flops_here) >= flops else executed_change(program, "flops")
        is_little = LEAST_PART * flops < most_executed(program, "flops")
        if (edit_group.where and 2 * way * bytes_here < size) or not (is_little or 2 * way * more_flops >= flops):
            return False
        more = self._more_of(number, diff)
        return all(
            way * both[kind] >= count
            for own, both in zip((in_text, executed), more, strict=True)
            for kind, count in own.items()
        )

    def _costs_here(self, number: int, diff: ModuleDiff) -> tuple[Counter[str], Counter[str]]:
        """By line of Python, by how many bytes its fusions read and write more, and all its edits' flops are more."""
        if number not in self._by_line:
            in_bytes, flops = self._by_line[number] = Counter(), Counter()
            for edit in diff.reported:
                where = place(edit.source, self.report.root, self.report.packages)
                for site, cost, sign in sides_of(edit):
                    if cost is not None:
                        flops[where] += sign * cost.flops
                        in_bytes[where] += sign * cost.bytes * (site.opcode in FUSIONS)
        return self._by_line[number]

    def _more_of(self, number: int, diff: ModuleDiff) -> tuple[Counter[_Kind], Counter[_Kind]]:
        """How many fusions of each kind a program has more than before, wherever they are called, and runs of them."""
        if number not in self._more:
            in_text, executed = self._more[number] = Counter(), Counter()
            for module, sign in ((diff.old, -1), (diff.new, 1)):
                found = {
                    index: [_kind_of(it) for it in computation.instructions if it.opcode in FUSIONS]
                    for index, computation in enumerate(module.computations)
                }
                times = multiplicities(module)
                runs = computation_runs(module, [index for index, kinds in found.items() if kinds])
                for index, kinds in found.items():
                    for kind in kinds:
                        in_text[kind] += sign * times[index].total
                        executed[kind] += sign * runs.get(index, 0)
        return self._more[number]


def with_whole_cost(edit_group: EditGroup, report: Report) -> EditGroup:
    """A change of fusions that came or went with the cost of these fusions; others as they are.

    Example:
        >>> group = EditGroup((), "added", 1, "add f32[8]", "", group=("added", "", "add", ()))
        >>> with_whole_cost(group, Report("diff", "a", "b", ())) is group
        True
    """
    if not _is_of_fusions(edit_group):
        return edit_group
    costs: list[tuple[Cost | None, Cost | None]] = []
    for _, edit, diff in _edits(edit_group, report):
        if not edit.sites or edit.cost is None:
            return edit_group
        flops = _flops(edit, diff)
        old, new = (one and replace(one, flops=flops) for one in edit.cost)
        costs.append((old, new))
    return replace(edit_group, cost=sides_added_up(*costs), along=(None, None)) if costs else edit_group


def _flops(edit: Edit, diff: ModuleDiff) -> int:
    """The flops of all runs of the fusions of an edit, which may compute different things."""
    side = edit.kind == "added"
    module = (diff.old, diff.new)[side]
    sites = [site for pair in edit.sites if (site := pair[side]) is not None]
    runs = sum(cost.runs for cost in edit.cost or () if cost)
    inside = [flops_inside(module, (site.computation, site.instruction)) for site in sites]
    callers = {site.computation for site in sites}
    is_alike = len(set(inside)) == 1 or len(callers) == 1
    known = {} if is_alike else computation_runs(module, callers)  # only then the whole program is looked at
    times = [1 if is_alike else known.get(site.computation, 0) for site in sites]
    return runs * sum(one * flops for one, flops in zip(times, inside, strict=True)) // (sum(times) or 1)


def _edits(edit_group: EditGroup, report: Report) -> Iterator[tuple[int, Edit, ModuleDiff]]:
    for number, index in edit_group.edits:
        diff = report.programs[number].diff
        if diff is not None:
            yield number, diff.reported[index], diff


def _is_of_fusions(edit_group: EditGroup) -> bool:
    is_one_side = edit_group.kind in ("added", "removed") and bool(edit_group.edits)
    return is_one_side and operation_of(edit_group) in FUSIONS and not edit_group.collective


def _side(edit: Edit, diff: ModuleDiff) -> tuple[Site | None, Module]:
    return (edit.new, diff.new) if edit.kind == "added" else (edit.old, diff.old)


def _kind(site: Site, module: Module) -> _Kind:
    return _kind_of(site.instruction_in(module))


def _kind_of(it: Instruction) -> _Kind:
    return it.opcode, it.shape.bare.text, it.attribute("kind") or ""
