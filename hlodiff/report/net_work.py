"""Which changes of a compiled program are work that came or went, and which the compiler only arranged differently.

A compiler that fuses differently removes operations here and adds them there. What counts is how many of each operation
and element type the program has more or fewer, and its flops.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hlodiff.differ.classify import FLOAT
from hlodiff.differ.costs import computation_runs
from hlodiff.differ.grouping import ARRANGING
from hlodiff.differ.instruction_costs import FUSIONS
from hlodiff.differ.regions import CARRIERS, PRODUCTS
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.hlo.model import COPIES, Module
from hlodiff.report.edits import custom_call_target, format_shape
from hlodiff.report.group_members import GroupMember, members_of
from hlodiff.report.grouping import (
    ADDED_OR_REMOVED,
    ELEMENT_TYPES,
    HANDED_ON,
    LAST,
    OTHER_PART,
    REPLACED,
    EditGroup,
    changed_fields,
    collective_in,
    collective_of,
    edit_group_of,
    operation_name,
    operation_of,
    replaces_its_kind,
    sides_added_up,
    sides_of,
)
from hlodiff.report.joined_groups import is_of_one_size, shape_of
from hlodiff.report.numbers import executed_change, executed_pair, most_executed
from hlodiff.report.report import Report
from hlodiff.report.verdict import starts_kernels
from hlodiff.report.whole_fusions import WholeFusions
from hlodiff.report.whole_program import counts_by_line, flops_by_line, is_half_of_work, launches_of
from hlodiff.report.wording import place

_Operation = tuple[str, str, bool]
"""An opcode, and its element type or its shape, and whether it is the shape."""
_BRANCHES_AND_LOOPS = frozenset(["while", "conditional", "case"])
# They store what is computed in them or elsewhere, however many there are.
_STORING = FUSIONS | _BRANCHES_AND_LOOPS | COPIES
# They store, pass on or group values: a fusion is what it computes.
_NO_OPERATION = (HANDED_ON | CARRIERS) - _BRANCHES_AND_LOOPS - COPIES
# A fusion with several of these changed holds other operations: their own changes say more.
_OF_FUSIONS = frozenset(["element_type", "shape", "operands", "fusion_kind"])
# They name a part of a value, which has another number in another fusion.
_SELECTING = ("get-tuple-element", "tuple", "bitcast")
# Of a collective of as many bytes: its arrays are in another order, or transposed.
_REORDERED = frozenset(
    ["shape", "layout", "operands", "backend_config", "attribute:dimensions", "attribute:channel_id"]
)
# They are chosen again if anything differs. Of a custom call the configuration decides what is computed.
_ARRANGED = frozenset(["backend_config", "layout"])
_MOST_OF_IT = 2 / 3  # less of a change came or went: the compiler arranged the rest differently
_AT_LEAST = 0.25  # of the flops of a change: if all flops changed by less, others undo it
_PART, _THIRD, _WHOLE = 0.2, 1 / 3, 1.5  # of the change of all flops or bytes, what one change accounts for
_SMALL = 0.05  # of all bytes: copies of less say less than an operation
_COMBINED = 10  # times as many bytes in a collective that came or went as in all that came or went of its kind
_OF_NO_KERNELS = 0.05  # fewer launches than this share of all say nothing where they start no kernels
# What XLA uses to arrange and to place; any other target is called for its work.
_OF_XLA = re.compile(
    r"AllocateBuffer|AssumeGatherIndices|GatherScatterIndices|AsyncCollective|ConcatBitcast|Sharding|SPMD|annotate_|"
    r"X64|MoveTo|HostExecute|PadToStatic|SliceToDynamic|LayoutConstraint|Barrier|tpu_barrier|xla"
)
_WHOLE_NUMBER = re.compile(r"-?\d+")
_LEAST = 0.01  # a smaller change of all needs no explanation
# A compiler copies and branches where it likes; of others only those of one line are the same ones.
_ANYWHERE = frozenset([*ARRANGING, "copy-start", "copy-done", *_BRANCHES_AND_LOOPS])


@dataclass(slots=True)
class NetWork:
    """What the changes of compiled programs are worth as an explanation.

    Args:
        report: the report that has them.
        is_retyped: whether the function converts other values than before, in its StableHLO.

    Example:
        >>> NetWork(Report("diff", "a", "b", ())).rank(EditGroup((), "changed", 1, "dot f32[8]: operands", ""), False)
        (False, True, False, False, True, 0)
    """

    report: Report
    is_retyped: bool = False
    _known: dict[int, tuple[Counter[_Operation], dict[int, list[Edit]]]] = field(default_factory=dict)
    _by_line: dict[int, Counter[tuple[str, str]]] = field(default_factory=dict)
    _counts: dict[int, tuple[Counter[tuple[str, str]], ...]] = field(default_factory=dict)
    _executed: dict[int, Counter[tuple[str, str]]] = field(default_factory=dict)
    _fusions: WholeFusions = field(init=False)

    def __post_init__(self) -> None:
        self._fusions = WholeFusions(self.report)

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
        accounts = not moved and (self._accounts(edit_group) or self.is_library_call(edit_group))
        is_small = edit_group.size < _SMALL * max(self._bytes(edit_group), 1)
        copies = bool(COPIES.intersection(edit_group.group[1:3])) and is_small
        share = max(
            self._share(edit_group, "flops", edit_group.by_all(lambda cost: cost.flops)),
            self._share(edit_group, "bytes_accessed", edit_group.by(lambda cost: cost.bytes)),
        )
        return is_elsewhere, not accounts, moved, copies, -edit_group.count if converts else True, -round(share * 20)

    def is_moved(self, edit_group: EditGroup) -> bool:
        """Whether the compiler only arranged what is computed: most of it was removed or added elsewhere."""
        if not edit_group.edits or self.is_library_call(edit_group):
            return False
        if edit_group.kind == "moved" and operation_of(edit_group) in FUSIONS | _BRANCHES_AND_LOOPS:
            return not edit_group.collective  # other operations are in it
        if not self._fusions.are_more(edit_group) or self._runs_as_often(edit_group):
            return True
        return self._is_arranged(edit_group)

    def _is_arranged(self, edit_group: EditGroup) -> bool:
        """Whether operations were removed or added elsewhere, or are only arranged differently themselves."""
        old, new = (str(one) for one in edit_group.group[1:3])
        program = self.report.programs[edit_group.edits[0][0]]
        if family := collective_of(edit_group):
            return self._is_moved_collective(edit_group, family)
        if edit_group.fields == OTHER_PART:
            return not self._accounts(edit_group)
        if edit_group.kind == REPLACED:
            is_same = old == new and not edit_group.by(lambda cost: cost.flops) and is_of_one_size(edit_group.what)
            return is_same or (not replaces_its_kind(edit_group) and self._is_undone_by_others(edit_group))
        if edit_group.kind == "changed":
            fields = {*map(str, edit_group.fields)}
            is_arranged = bool(fields) and fields <= _ARRANGED and not new.startswith("custom-call")
            is_arranged |= old == new and new in _SELECTING and not self._accounts(edit_group)
            is_other = len(fields & _OF_FUSIONS) > 1 or fields <= _ARRANGED | {"operands", "fusion_kind"}
            return is_arranged or (old == new == "fusion" and is_other)
        if edit_group.kind not in ("added", "removed"):
            return False
        opcode, way = new or old, 1 if edit_group.kind == "added" else -1
        if opcode in _SELECTING:
            return True  # it only names what the fusion that is beside it reads or writes
        if opcode in _BRANCHES_AND_LOOPS and edit_group.where and way * self._counts_here(edit_group)[0] <= 0:
            return True
        counts = program.diff.op_counts.get(opcode, (0, 0)) if program.diff is not None else (0, 0)
        more = way * (counts[1] - counts[0])
        is_undone = (more < 0 and opcode in COPIES) or (more <= 0 and max(counts) > 0 and opcode not in _STORING)
        if is_undone and not edit_group.by(lambda cost: cost.flops):
            return True  # the others have another type or size
        net = self._of(edit_group.edits[0][0])[0]
        own = self._operations(edit_group)
        in_all = sum(net[one] for one in own if one[0] == opcode and not one[2])  # of the same types
        if self._accounts_for_bytes(edit_group) and (opcode in _STORING or way * in_all >= 0):
            return False
        is_copy = opcode in COPIES and "copies" in program.executed()
        if (
            is_copy
            and way * executed_change(program, "copies") <= 0
            and way * executed_change(program, "copy_bytes") <= 0
        ):
            return True
        if is_half_of_work(edit_group) and way * self._flops_here(edit_group, opcode) <= 0:
            return True
        if not own:
            return opcode != "parameter"  # a compiler keeps a constant, or folds it, for all that take it
        for with_shape in (False, True):
            alike = {one: count for one, count in own.items() if one[2] == with_shape}
            real = sum(min(count, max(way * net[one], 0)) for one, count in alike.items())
            if alike and real / sum(alike.values()) < _MOST_OF_IT:  # nested fusions may have more than a float holds
                return True
        is_kept = not sum(count for (name, _, of_shape), count in net.items() if name == opcode and not of_shape)
        flops = abs(edit_group.by(lambda cost: cost.flops))
        on_both = program.diff is not None and all(program.diff.op_counts.get(opcode, (0, 0)))
        is_other = opcode in FUSIONS or (opcode in PRODUCTS and on_both) or is_kept
        if self._accounts_for_launches(edit_group):  # what a fusion computes may be little
            return False
        return is_other and flops > 0 and way * executed_change(program, "flops") < _AT_LEAST * flops

    def _is_moved_collective(self, edit_group: EditGroup, family: str) -> bool:
        """Whether a program, or the line of a collective that came or went, has as many of its kind as before."""
        program = self.report.programs[edit_group.edits[0][0]]
        by = edit_group.by(lambda cost: cost.collective)
        if edit_group.kind in ("added", "removed"):
            if edit_group.where and by * self._counts_here(edit_group)[1] <= 0:
                return True
            # One of those that are left carries it, combined with its own, or one that was combined carries it alone.
            fewer = by * executed_change(program, f"collectives.{family}") > 0
            if fewer and _COMBINED * abs(executed_change(program, f"collective_bytes.{family}")) <= abs(by):
                return True
        elif edit_group.kind == "changed" and not by and _REORDERED.issuperset(map(str, edit_group.fields)):
            return True
        is_fewer = by * executed_change(program, f"collectives.{family}") <= 0
        is_counted = f"collectives.{family}" in program.executed()
        return by != 0 and is_counted and is_fewer and not executed_change(program, f"collective_bytes.{family}")

    def explains(self, edit_group: EditGroup) -> bool:
        """Whether a change of a compiled program says what that of its StableHLO does not.

        A compiler makes many changes of one edit. What a reader has to know of them is which collectives came or went,
        which values have another type or precision, and what accounts for the numbers of the program.

        Args:
            edit_group: a change of a function whose StableHLO changed too, which did not only move.
        """
        old, new = (str(one) for one in edit_group.group[1:3])
        fields = set(map(str, edit_group.fields))
        if (
            edit_group.kind == "changed"
            and {old, new} <= ARRANGING | COPIES
            and "shape" in fields
            and "element_type" not in fields
        ):
            return False  # it is as large as what it copies, and may be another copy
        return self._is_in_counts(edit_group) and bool(
            collective_of(edit_group)
            or (self._rounds(edit_group) and (not self.is_retyped or new in PRODUCTS))
            or (self.is_retyped and "convert" in (old, new))
            or self._accounts(edit_group)
            or self._accounts_for_launches(edit_group)
            or self.is_library_call(edit_group)
            or self._is_folded(edit_group)
        )

    def _is_in_counts(self, edit_group: EditGroup) -> bool:
        """Whether the program has as many more or fewer of the operations as a change says.

        Else others undo it: the compiler has the same operations elsewhere, or in arrays of another shape. Of a
        replaced subgraph most of each listed operation. True for collectives, which are counted with their bytes.
        """
        if not edit_group.edits or collective_of(edit_group) or self.is_library_call(edit_group):
            return True
        return all(self._is_in_counts_of(n, edit_group) for n in dict.fromkeys(n for n, _ in edit_group.edits))

    def _is_in_counts_of(self, number: int, edit_group: EditGroup) -> bool:
        """The same for one program of a shared change."""
        diff = self.report.programs[number].diff
        if diff is None or edit_group.kind not in ADDED_OR_REMOVED:
            return True
        members = self._edits_in(number, edit_group)
        if is_subgraph := edit_group.kind == REPLACED:
            followers = self._of(number)[1]
            inside = (one for of, index in edit_group.edits if of == number for one in followers.get(index, ()))
            members += [one for one in inside if one.kind in ("added", "removed")]
        counts = (Counter[str](), Counter[str]())
        runs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for edit in members:
            side = edit.new is not None
            site = edit.new or edit.old
            if site is not None and edit.kind != "changed":
                counts[side][site.opcode] += edit.count
                cost = (edit.cost or (None, None))[side]
                runs[side][_with_shape(site, (diff.old, diff.new)[side])] += cost.runs if cost else edit.count
        least = _MOST_OF_IT if is_subgraph else 1.0
        is_of_shapes = not is_subgraph or replaces_its_kind(edit_group)
        return all(
            _has_by(diff, counts[at] - counts[1 - at], least * way)
            and not (is_of_shapes and self._runs_less_often(number, diff, runs[at], way))
            for at, way in ((0, -1), (1, 1))
        )

    def _runs_less_often(self, number: int, diff: ModuleDiff, runs: Counter[tuple[str, str]], way: int) -> bool:
        """Whether an operation does not run so much more often, or less, in arrays of its shape."""
        executed = self._executed_of(number, diff)
        return any(way * executed[key] < count for key, count in runs.items() if key[0] not in FUSIONS)

    def _runs_as_often(self, edit_group: EditGroup) -> bool:
        """Whether what nobody edited undoes it: in a loop with several copies of its body, which turns less often."""
        if edit_group.kind not in ("added", "removed") or collective_of(edit_group):
            return False
        number, way = edit_group.edits[0][0], 1 if edit_group.kind == "added" else -1
        diff = self.report.programs[number].diff
        sites = self._sites(edit_group, diff) if diff is not None else set()
        if diff is None or not sites or any(opcode in _NO_OPERATION | _STORING for opcode, _ in sites):
            return False
        edited = Counter[tuple[str, str]]()
        for edit in diff.reported:
            for site, cost, sign in sides_of(edit):
                edited[_with_shape(site, (diff.old, diff.new)[sign > 0])] += sign * (cost.runs if cost else edit.count)
        executed = self._executed_of(number, diff)
        return all(key in executed and way * edited[key] > 0 >= way * executed[key] for key in sites)

    def _edits_in(self, number: int, edit_group: EditGroup) -> list[Edit]:
        """The edits that one program has of a change, which several programs may share."""
        diff = self.report.programs[number].diff
        return [] if diff is None else [diff.reported[index] for of, index in edit_group.edits if of == number]

    def _sites(self, edit_group: EditGroup, diff: ModuleDiff) -> set[tuple[str, str]]:
        """The operations of a change in its first program, with their shapes."""
        return {
            _with_shape(site, (diff.old, diff.new)[edit.new is not None])
            for edit in self._edits_in(edit_group.edits[0][0], edit_group)
            if (site := edit.new or edit.old) is not None
        }

    def _executed_of(self, number: int, diff: ModuleDiff) -> Counter[tuple[str, str]]:
        """How much more often each operation runs in arrays of each shape.

        Of all instructions: what nobody edited runs less often in a loop that turns less often.
        """
        if number not in self._executed:
            found = self._executed[number] = Counter()
            for module, sign in ((diff.old, -1), (diff.new, 1)):
                for index, runs in computation_runs(module, range(len(module.computations))).items():
                    for it in module.computations[index].instructions:
                        if it.opcode in diff.contents and it.opcode not in _NO_OPERATION:
                            found[it.opcode, it.shape.bare.text] += sign * runs
        return self._executed[number]

    def _is_folded(self, edit_group: EditGroup) -> bool:
        """Whether a whole number is another one that the compiler computed: of which StableHLO has only the parts.

        As the steps of a solver, which StableHLO divides out. Where it differs in more, others belong to other shapes.
        """
        if edit_group.kind != "changed" or edit_group.group[1:3] != ("constant", "constant"):
            return False
        if FLOAT.match(next(iter(ELEMENT_TYPES.findall(edit_group.what)), "")):
            return False
        pairs = {(one.old, one.new) for one in changed_fields(edit_group, self.report) if one.field == "literal"}
        if not pairs or any(not _WHOLE_NUMBER.fullmatch(side) for pair in pairs for side in pair):
            return False
        is_of_numbers = self.report.programs[edit_group.edits[0][0]].is_of_numbers
        written = {
            (one.old, one.new)
            for program in self.report.programs
            if program.stage == "stablehlo" and program.diff is not None
            for edit in program.diff.reported
            for one in edit.changes
        }
        return is_of_numbers and pairs.isdisjoint(written)

    def is_library_call(self, edit_group: EditGroup) -> bool:
        """Whether calls of a library came or went, as for products, solvers or sorting."""
        target = custom_call_target(edit_group.what) if edit_group.kind in ADDED_OR_REMOVED else ""
        return bool(target) and not _OF_XLA.match(target)

    def is_other_operation(self, edit_group: EditGroup) -> bool:
        """Whether an operation is another one now: the compiler takes another way to compute a value."""
        old, new = edit_group.group[1:3]
        return edit_group.kind == REPLACED and old != new and not {old, new} & (_NO_OPERATION | _STORING)

    def _rounds(self, edit_group: EditGroup) -> bool:
        """Whether numbers have another precision, or are of another floating-point type."""
        return any(
            one.field == "precision"
            or (one.field == "element_type" and all(FLOAT.match(side) for side in (one.old, one.new)))
            for one in changed_fields(edit_group, self.report)
        )

    def without_undone(self, edit_groups: Iterable[EditGroup]) -> list[EditGroup]:
        """Leaves out what is in another loop or function now, where that came or went as a whole.

        Args:
            edit_groups: the changes of StableHLO that may be listed.

        Example:
            >>> group = EditGroup((), "changed", 1, "add f32[8]", "")
            >>> NetWork(Report("diff", "a", "b", ())).without_undone([group]) == [group]
            True
        """
        edit_groups = list(edit_groups)
        halves = {(one.kind, operation_of(one), one.where) for one in edit_groups}
        other = {"added": "removed", "removed": "added"}
        left = [
            one
            for one in edit_groups
            if (other.get(one.kind), operation_of(one), one.where) in halves or not self._is_undone(one)
        ]
        return left or edit_groups

    def _is_undone(self, edit_group: EditGroup) -> bool:
        """Whether its line has as many of the operation as before, or as many flops of it."""
        if edit_group.kind not in ("added", "removed") or not edit_group.where or not edit_group.edits:
            return False
        way = 1 if edit_group.kind == "added" else -1
        is_half = is_half_of_work(edit_group)
        is_as_much = is_half and way * self._flops_here(edit_group, operation_of(edit_group)) <= 0
        in_text, executed = self._counts_here(edit_group)
        return is_as_much or way * in_text <= 0 or (way < 0 and executed >= 0)

    def _is_undone_by_others(self, edit_group: EditGroup) -> bool:
        """Whether the lines of a replaced subgraph have as many of most of what came, or of most of what went."""
        number = edit_group.edits[0][0]
        sides: tuple[list[tuple[int, bool]], list[tuple[int, bool]]] = ([], [])
        for edit in self._edits_in(number, edit_group):
            site = edit.new or edit.old
            if edit.kind not in ("added", "removed") or site is None or site.opcode in _NO_OPERATION | ARRANGING:
                continue
            net = self._counts_of(number)[0][
                operation_name(site.opcode), place(edit.source, self.report.root, self.report.packages)
            ]
            is_undone = net <= 0 if edit.kind == "added" else net >= 0
            sides[edit.kind == "added"].append((edit.count, is_undone))
        counts = [(sum(n for n, is_undone in side if is_undone), sum(n for n, _ in side)) for side in sides]
        return any(2 * undone > all_of_it for undone, all_of_it in counts)

    def _counts_of(self, number: int) -> tuple[Counter[tuple[str, str]], ...]:
        if number not in self._counts:
            diff = self.report.programs[number].diff
            found = counts_by_line(diff, self.report.root, self.report.packages) if diff is not None else ()
            self._counts[number] = tuple(found)
        return self._counts[number]

    def _counts_here(self, edit_group: EditGroup) -> list[int]:
        """By how many the line of a change has more of its operation, in the text and executed."""
        known = self._counts_of(edit_group.edits[0][0])
        return [counts[operation_of(edit_group), edit_group.where] for counts in known]

    def _flops_here(self, edit_group: EditGroup, opcode: str) -> int:
        """By how many flops an operation is more or less at the line of a change, with what was unrolled or moved."""
        number = edit_group.edits[0][0]
        if number not in self._by_line:
            diff = self.report.programs[number].diff
            known = flops_by_line(diff, self.report.root, self.report.packages) if diff is not None else Counter()
            self._by_line[number] = known
        return self._by_line[number][opcode, edit_group.where]

    def _bytes(self, edit_group: EditGroup) -> int:
        """The bytes that the program of a change reads and writes."""
        known = (self.report.programs[number] for number, _ in edit_group.edits[:1])
        return max((most_executed(program, "bytes_accessed") for program in known), default=0)

    def _accounts(self, edit_group: EditGroup) -> bool:
        """Whether a change is by itself a good part of the change of all flops or bytes."""
        flops = edit_group.by_all(lambda cost: cost.flops)
        return self._accounts_for(edit_group, "flops", flops) or self._accounts_for_bytes(edit_group)

    def accounts_for_most(self, edit_group: EditGroup) -> bool:
        """Whether an operation accounts for a third of the change of all flops or bytes: no list does without it.

        A fusion does not say what it computes, and a collective is listed anyway.
        """
        if collective_of(edit_group) or operation_of(edit_group) in FUSIONS:
            return False
        flops, size = edit_group.by_all(lambda cost: cost.flops), edit_group.by(lambda cost: cost.bytes)
        share = max(self._share(edit_group, "flops", flops), self._share(edit_group, "bytes_accessed", size))
        return share >= _THIRD and self._accounts(edit_group)

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

    def _accounts_for_launches(self, edit_group: EditGroup) -> bool:
        if not edit_group.edits:
            return False
        number = edit_group.edits[0][0]
        program = self.report.programs[number]
        by, whole = launches_of(edit_group, number, self.report), executed_change(program, "launches")
        if not starts_kernels(program) and abs(whole) < _OF_NO_KERNELS * most_executed(program, "launches"):
            return False
        return by != 0 and self._accounts_for(edit_group, "launches", by)

    def _accounts_for(self, edit_group: EditGroup, metric: str, by: int) -> bool:
        """Whether a change is by itself a good part of the change of the whole program."""
        return self._share(edit_group, metric, by) >= _PART

    def _share(self, edit_group: EditGroup, metric: str, by: int) -> float:
        """What a change accounts for by itself of the change of the whole program; 0 if others undo it."""
        if not edit_group.edits:
            return 0.0
        sides = executed_pair(self.report.programs[edit_group.edits[0][0]], metric)
        old, new = (one.once or 0 for one in sides)
        whole = abs(new - old)
        own = by if new > old else -by
        return own / whole if whole >= _LEAST * max(old, new, 1) and 0 <= own <= _WHOLE * whole else 0.0

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
    """The operation of an edit on one side, or on the only one: by element type and by shape."""
    both = not (old or new)
    site, module = (edit.new, diff.new) if new or (both and edit.new) else (edit.old, diff.old)
    if site is None or site.opcode in _NO_OPERATION:
        return {}
    shape = site.instruction_in(module).shape
    return {(site.opcode, shape.element_type, False): edit.count, (site.opcode, shape.bare.text, True): edit.count}


def _with_shape(site: Site, module: Module) -> tuple[str, str]:
    return site.opcode, site.instruction_in(module).shape.bare.text


def _has_by(diff: ModuleDiff, counts: Counter[str], least: float) -> bool:
    """Whether a program has so many more of each operation, or fewer if the share is below 0."""
    named = ((opcode, count) for opcode, count in counts.items() if opcode not in _NO_OPERATION | ARRANGING)
    pairs = ((diff.op_counts.get(opcode, (0, 0)), count) for opcode, count in named)
    return all((new - old) / least >= count for (old, new), count in pairs)


def work_counts(diff: ModuleDiff) -> list[tuple[int, int]]:
    """How often a compiled program has each operation that computes something, before and after.

    Example:
        >>> module = Module("m", "compiled", (), 0)
        >>> work_counts(ModuleDiff(module, module))
        []
    """
    arranging = _NO_OPERATION | _STORING | ARRANGING
    return [pair for opcode, pair in diff.op_counts.items() if opcode not in arranging]


# --- What a program has as many of as before.


def without_rearranged(edit_groups: Sequence[EditGroup], report: Report, program: int) -> list[EditGroup]:
    """Takes out of what was added and removed the operations that the program has as many of as before.

    Matching pairs a fusion with one that computes about the same. If the compiler put other operations into it, it is
    removed here and added there, though the program has as many fusions of its shape. They are one change of their own.

    Args:
        edit_groups: the changes of one compiled program.
        report: the report that has it.
        program: its number in the report.

    Example:
        >>> from hlodiff.differ.comparison import ProgramComparison
        >>> group = EditGroup((), "changed", 1, "add f32[8]: operands", "")
        >>> report = Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "identical"),))
        >>> without_rearranged([group], report, 0) == [group]
        True
    """
    halves = [one for one in edit_groups if one.kind in ("added", "removed") and not collective_of(one)]
    diff = report.programs[program].diff
    if diff is None or not halves:
        return list(edit_groups)
    lines = report.root, tuple(report.packages)
    members = {member.index: member for member in members_of(diff.reported, program)}
    kinds = _Kinds(diff, *lines)
    more = Counter[tuple[_Kind, int]]()  # by how many of a kind a side has more than the other
    for member in members.values():
        for edit in (member.edit, *member.followers):
            old, new = (kinds.of(member, edit, side) for side in (0, 1))
            if old != new:
                more.update({(kind, way): way * by * edit.count for kind, by in ((old, -1), (new, 1)) for way in _WAYS})
    kept: dict[_Kind, tuple[list[GroupMember], list[GroupMember]]] = {}
    found: list[EditGroup] = []
    is_numeric = "numerics" in report.programs[program].classes
    for group in edit_groups:
        if group not in halves:
            found.append(group)
            continue
        side = int(group.kind == "added")
        own = [(members[index], kinds.of(members[index], members[index].edit, side)) for _, index in group.edits]
        shapes, opcodes = {kind.shape for _, kind in own}, {kind.opcode for _, kind in own}
        if len(shapes) < 2 and opcodes.isdisjoint(_ANYWHERE | FUSIONS):  # both halves are one change anyway
            found.append(group)
            continue
        left: list[GroupMember] = []
        shapes_left: set[str] = set()
        real = 0
        for member, kind in own:
            if kind.opcode in _UNCOUNTED or more[kind, _WAYS[side]] > 0:
                real += min(more[kind, _WAYS[side]], member.edit.count)
                more[kind, _WAYS[side]] -= member.edit.count
                left.append(member)
                shapes_left.add(kind.shape)
            else:
                kept.setdefault(kind, ([], []))[side].append(member)
        if left:
            shown = group if len(left) == len(own) else edit_group_of(group.key, left, *lines, is_numeric=is_numeric)
            if len(shapes_left) == 1 and 0 < real < shown.count:  # equal edits are one, of which others undo a part
                shown = replace(shown, what=f"{shown.what}; {real:,} {('fewer', 'more')[side]} of this shape in all")
            found.append(shown)
    return [*found, *(_rearranged(*both, *lines) for both in kept.values())]


_WAYS = (-1, 1)
# They store, pass on or name values.
_UNCOUNTED = (CARRIERS | {"constant", "parameter"}) - _ANYWHERE - FUSIONS


class _Kind(NamedTuple):
    """An opcode and a shape; the line or whether it is inside a fusion, as that matters; the collective in a fusion."""

    opcode: str
    shape: str
    where: str
    held: str


class _Kinds:
    """The kinds of the operations of two programs.

    Args:
        diff: the programs.
        root, packages: as for `grouped`.
    """

    def __init__(self, diff: ModuleDiff, root: str, packages: Sequence[str]) -> None:
        self._fused = diff.fused
        self._lines = root, packages

    def of(self, member: GroupMember, edit: Edit, side: int) -> _Kind:
        """The kind that an edit has on a side: of a member or of one that follows from it."""
        fused, site = self._fused[side], (edit.old, edit.new)[side]
        if site is None:
            return _Kind("", "", "", "")
        line = place(edit.source, *self._lines).partition(" (")[0] or edit.op_name or ""
        where = "" if site.opcode in _ANYWHERE | FUSIONS else line
        where += " in a fusion" * (site.opcode in FUSIONS and site.computation in fused)
        along = [one for one in member.followers if one.kind == edit.kind] if site.opcode in FUSIONS else []
        return _Kind(site.opcode, format_shape(site), where, collective_in(along))


def _rearranged(
    removed: Sequence[GroupMember], added: Sequence[GroupMember], root: str, packages: Sequence[str]
) -> EditGroup:
    """One change of the operations of one kind that were removed here and added there, or paired with others there.

    Some of them are paired with others where the halves differ in number: then both sides have no costs in common. Of
    fusions there are only bytes: flops are those of operations that came or went, without those that moved in or out.
    """
    halves = [edit_group_of(("compiled", one[0].edit.kind), one, root, packages) for one in (removed, added) if one]
    shown = halves[-1]
    operation = next(str(one) for one in shown.group[1:3] if one)
    is_group = operation in FUSIONS or operation in _BRANCHES_AND_LOOPS
    kind = "changed" if is_group else "moved"
    are_alike = len({half.count for half in halves}) == 1 < len(halves)
    cost = sides_added_up(*(half.cost for half in halves)) if are_alike else (None, None)
    if operation in FUSIONS:
        old, new = (one and replace(one, flops=0) for one in cost)
        cost = old, new
    return replace(
        shown,
        key=("compiled", REPLACED, operation, shown.what, shown.where),
        kind=kind,
        count=max(half.count for half in halves),
        what=f"{shape_of(shown.what)}: holds other operations" if is_group else shown.what,
        cost=cost,
        along=sides_added_up(*(half.along for half in halves)) if are_alike and not is_group else (None, None),
        weight=1 if is_group else LAST,
        group=(kind, operation, operation, OTHER_PART),
        edits=tuple(edit for half in halves[::-1] for edit in half.edits),  # the new line comes first
    )
