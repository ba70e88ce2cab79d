"""Which changes of a compiled program are work that came or went, and which the compiler only arranged differently.

A compiler that fuses differently removes operations here and adds them there. What counts is how many of each operation
and element type the program has more or fewer, and its flops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.result import Edit, ModuleDiff
from hlodiff.report.grouping import HANDED_ON, OTHER_PART, REPLACED, EditGroup, collective_of, is_of_one_size
from hlodiff.report.numbers import executed_change, executed_pair, most_executed
from hlodiff.report.report import Report

_Operation = tuple[str, str]
"""An opcode and an element type."""
_FUSIONS = ("fusion", "fusion-start")
_BRANCHES_AND_LOOPS = frozenset(["while", "conditional", "case"])
_COPIES = ("copy", "copy-start")
_PRODUCTS = ("dot", "convolution")
# They store, pass on or group values: a fusion is what it computes.
_NO_OPERATION = (HANDED_ON | CARRIERS) - _BRANCHES_AND_LOOPS - {*_COPIES}
# A fusion with several of these changed holds other operations: their own changes say more.
_OF_FUSIONS = frozenset(["element_type", "shape", "operands", "fusion_kind"])
# They are chosen again if anything differs. Of a custom call the configuration decides what is computed.
_ARRANGED = frozenset(["backend_config", "layout"])
_MOST_OF_IT = 2 / 3  # less of a change came or went: the compiler arranged the rest differently
_AT_LEAST = 0.25  # of the flops of a change: if all flops changed by less, others undo it
_PART, _WHOLE = 0.2, 1.5  # of the change of all flops or bytes, what one change accounts for
_SMALL = 0.05  # of all bytes: copies of less say less than an operation
_LEAST = 0.01  # a smaller change of all needs no explanation


@dataclass(slots=True)
class NetWork:
    """What the changes of compiled programs are worth as an explanation.

    Args:
        report: the report that has them.
        is_retyped: whether the function converts other values than before, in its StableHLO.

    Example:
        >>> NetWork(Report("diff", "a", "b", ())).rank(EditGroup((), "changed", 1, "dot f32[8]: operands", ""), False)
        (False, True, False, False, True)
    """

    report: Report
    is_retyped: bool = False
    _known: dict[int, tuple[Counter[_Operation], dict[int, list[Edit]]]] = field(default_factory=dict)

    def rank(self, edit_group: EditGroup, is_elsewhere: bool) -> tuple[object, ...]:
        """Sort key: changes of the edited lines first, and of these what accounts for more or fewer flops or bytes.

        Last comes what only moved; of the others, conversions are first where values have other types.

        Args:
            edit_group: a change that is not a collective, or one that carries as much as before.
            is_elsewhere: whether it is of another line than the changes of the StableHLO.
        """
        moved = self.is_moved(edit_group)
        is_new = edit_group.kind in ("added", "removed") and not moved
        converts = self.is_retyped and is_new and "convert" in edit_group.group[1:3]
        accounts = not moved and (
            self._accounts_for(edit_group, "flops", edit_group.by_all(lambda cost: cost.flops))
            or self._accounts_for_bytes(edit_group)
        )
        is_small = edit_group.size < _SMALL * max(self._bytes(edit_group), 1)
        copies = bool({*_COPIES}.intersection(edit_group.group[1:3])) and is_small
        return is_elsewhere, not accounts, moved, copies, -edit_group.count if converts else True

    def is_moved(self, edit_group: EditGroup) -> bool:
        """Whether the compiler only arranged what is computed: most of it was removed or added elsewhere."""
        if not edit_group.edits:
            return False
        old, new = (str(one) for one in edit_group.group[1:3])
        program = self.report.programs[edit_group.edits[0][0]]
        if family := collective_of(edit_group):
            by = edit_group.by(lambda cost: cost.collective)
            is_fewer = by * executed_change(program, f"collectives.{family}") <= 0
            is_counted = f"collectives.{family}" in program.executed()
            return by != 0 and is_counted and is_fewer and not executed_change(program, f"collective_bytes.{family}")
        if edit_group.fields == OTHER_PART:
            return True
        if edit_group.kind == REPLACED:
            return old == new and not edit_group.by(lambda cost: cost.flops) and is_of_one_size(edit_group.what)
        if edit_group.kind == "changed":
            fields = {*map(str, edit_group.fields)}
            is_arranged = bool(fields) and fields <= _ARRANGED and not new.startswith("custom-call")
            is_other = len(fields & _OF_FUSIONS) > 1 or fields <= _ARRANGED | {"operands", "fusion_kind"}
            return is_arranged or (old == new == "fusion" and is_other)
        if edit_group.kind not in ("added", "removed"):
            return False
        opcode, way = new or old, 1 if edit_group.kind == "added" else -1
        if self._accounts_for_bytes(edit_group):
            return False
        is_copy = opcode in _COPIES and "copies" in program.executed()
        if (
            is_copy
            and way * executed_change(program, "copies") <= 0
            and way * executed_change(program, "copy_bytes") <= 0
        ):
            return True
        net = self._of(edit_group.edits[0][0])[0]
        own = self._operations(edit_group)
        if not own:
            return opcode not in ("parameter", "constant")
        real = sum(min(count, max(way * net[one], 0)) for one, count in own.items())
        if real < _MOST_OF_IT * own.total():
            return True
        is_kept = not sum(count for (name, _), count in net.items() if name == opcode)
        flops = abs(edit_group.by(lambda cost: cost.flops))
        on_both = program.diff is not None and all(program.diff.op_counts.get(opcode, (0, 0)))
        is_other = opcode in _FUSIONS or (opcode in _PRODUCTS and on_both) or is_kept
        return is_other and flops > 0 and way * executed_change(program, "flops") < _AT_LEAST * flops

    def _bytes(self, edit_group: EditGroup) -> int:
        """The bytes that the program of a change reads and writes."""
        known = (self.report.programs[number] for number, _ in edit_group.edits[:1])
        return max((most_executed(program, "bytes_accessed") for program in known), default=0)

    def _accounts_for_bytes(self, edit_group: EditGroup) -> bool:
        """Whether a change accounts for more or fewer bytes, and its flops were not added or removed elsewhere."""
        if not self._accounts_for(edit_group, "bytes_accessed", edit_group.by(lambda cost: cost.bytes)):
            return False
        program = self.report.programs[edit_group.edits[0][0]]
        if not _BRANCHES_AND_LOOPS.isdisjoint(edit_group.group[1:3]):  # they hold what was elsewhere before
            return True
        flops = edit_group.by(lambda cost: cost.flops)
        most = most_executed(program, "flops")
        whole = executed_change(program, "flops") * (1 if flops > 0 else -1)
        return abs(flops) < _LEAST * most or abs(flops) <= _WHOLE * whole

    def _accounts_for(self, edit_group: EditGroup, metric: str, by: int) -> bool:
        """Whether a change is by itself a good part of the change of the whole program."""
        if not edit_group.edits:
            return False
        sides = executed_pair(self.report.programs[edit_group.edits[0][0]], metric)
        old, new = (one.once or 0 for one in sides)
        whole = abs(new - old)
        own = by if new > old else -by
        return whole >= _LEAST * max(old, new, 1) and _PART * whole <= own <= _WHOLE * whole

    def _operations(self, edit_group: EditGroup) -> Counter[_Operation]:
        """The operations of a change and of the fusions in it; a loop or branch is one, whatever it holds."""
        found = Counter[_Operation]()
        for program, index in edit_group.edits:
            diff, followers = self.report.programs[program].diff, self._of(program)[1]
            if diff is None:
                continue
            edit = diff.reported[index]
            site = edit.new or edit.old
            is_one = site is not None and site.opcode in _BRANCHES_AND_LOOPS
            for one in (edit, *(() if is_one else followers.get(index, ()))):
                if one.kind == edit.kind:
                    found.update(_counted(one, diff))
        return found

    def _of(self, program: int) -> tuple[Counter[_Operation], dict[int, list[Edit]]]:
        """How many of each operation a program has more than before, and the knock-on edits of each edit."""
        if program not in self._known:
            net, followers = Counter[_Operation](), dict[int, list[Edit]]()
            diff = self.report.programs[program].diff
            for edit in diff.reported if diff is not None else ():
                if diff is not None:
                    net.update(_counted(edit, diff, new=True))
                    net.subtract(_counted(edit, diff, old=True))
                if edit.cause is not None:
                    followers.setdefault(edit.cause, []).append(edit)
            self._known[program] = net, followers
        return self._known[program]


def _counted(edit: Edit, diff: ModuleDiff, *, old: bool = False, new: bool = False) -> dict[_Operation, int]:
    """The operation of an edit on one side, or on the only one."""
    both = not (old or new)
    site, module = (edit.new, diff.new) if new or (both and edit.new) else (edit.old, diff.old)
    if site is None or site.opcode in _NO_OPERATION:
        return {}
    return {(site.opcode, site.instruction_in(module).shape.element_type): edit.count}
