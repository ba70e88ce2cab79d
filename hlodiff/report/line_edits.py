"""The lines of Python that changes come from: edits of a file, and which edit an unedited line depends on.

A program names the line where a call begins. If an argument two lines below was edited, or the loop around the call, or
the definition of a name, that line is the same on both sides, but a reviewer looks for the edited one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from hlodiff.differ.classify import is_argument, numbers_in_place
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.fields import field_of
from hlodiff.differ.grouping import LOOP_BODY, Origins
from hlodiff.differ.instruction_costs import operand_shapes, result_of
from hlodiff.differ.regions import Part
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.hlo.metadata import is_library, own_frames, portable_file, shown_file
from hlodiff.hlo.model import CALLS, Frame, Module
from hlodiff.report.function_view import ChangedLine
from hlodiff.report.group_members import GroupMember, members_of
from hlodiff.report.grouping import (
    ADDED_OR_REMOVED,
    HANDED_ON,
    EditGroup,
    Key,
    change_view,
    collective_of,
    edit_group_of,
    importance,
)
from hlodiff.report.joined_groups import Turns, Work
from hlodiff.report.order import ARGUMENT, LEAST, LITERAL, OTHER, REPLACEMENT, cause_order
from hlodiff.report.report import Report
from hlodiff.report.wording import Place, format_place, shown_place

if TYPE_CHECKING:
    from hlodiff.report.file_edits import FileEdits, LineEdit

MOST_CHANGED_LINES = 4
"""The most lines of Python that are listed with their changes."""
DONATED = "donated"
"""In every sentence about a donation."""
_SPECS = frozenset(["attribute:in_shardings", "attribute:out_shardings"])
_CLEARLY = 4  # times as many edits as of another line
_MOST_EDITED = 3  # lines that were edited or deleted together, as they are shown
_MOST_SITES = 64  # edits of a change, and sites of an edit, whose lines are looked up
_MOST_FILES = 20  # edited files in which the only edit is searched


@dataclass(slots=True)
class ChangedLines:
    """The lines of Python that changes come from, on both sides, and their text if known."""

    report: Report
    origins: dict[int, Origins] = field(default_factory=dict)
    numbers: dict[int, frozenset[int]] = field(default_factory=dict)
    """Of programs by index, see `numbers_in_place`."""
    files: dict[tuple[str, str | None, str], FileEdits] = field(default_factory=dict)
    counted_on: dict[Key, str] = field(default_factory=dict)
    """Changes of the current stage whose cost differs between targets, with the target whose cost is shown."""
    in_all: dict[EditGroup, str] = field(default_factory=dict)
    """Changes of the current stage that cost more than their program, with the change of the whole program."""
    edited: dict[str, Place] = field(default_factory=dict)
    """The places of edited lines that were found by their edit rather than by an operation, by formatted place."""
    members: dict[int, dict[int, GroupMember]] = field(default_factory=dict)
    """Of programs by index, the edits without a cause by index."""

    def listed(
        self,
        edit_groups: Iterable[EditGroup],
        most: int,
        with_callers: bool = False,
        *,
        as_given: bool = False,
        compare_with_all: Callable[[Collection[EditGroup]], None] | None = None,
    ) -> tuple[ChangedLine, ...]:
        """The first changes by the line that made them: edited lines first, then in program order.

        Args:
            edit_groups: what changed.
            most: the largest number of changes.
            with_callers: whether changes of unedited lines are attributed to an edit elsewhere, see `_with_callers`.
            as_given: whether the changes are in order: then lines are in the order of their first ones.
            compare_with_all: fills `in_all` for those that are listed.
        """
        edit_groups = tuple(edit_groups)
        found: dict[tuple[Place | None, Place | None], list[EditGroup]] = {}
        for edit_group in edit_groups:
            old, new = self.by_edit(edit_group)
            if edit_group.kind == "moved" and old and new and not self._is_one_line(old, new, edit_group):
                old = None  # it is listed where it is now
            found.setdefault((old, new), []).append(edit_group)
        # Removed operations belong to the line that replaced theirs, if another change shows which line that is.
        whole = [(old, new) for old, new in found if old is not None and new is not None]
        of_old, of_new = {pair[0]: pair for pair in whole}, {pair[1]: pair for pair in whole}
        merged: dict[tuple[Place | None, Place | None], list[EditGroup]] = {}
        for (old, new), groups in found.items():
            places = (old, new)
            if new is None and old is not None:
                is_replaced = (None, old) in found and not self._is_known(groups, old)
                places = of_old.get(old) or ((old, old) if is_replaced else places)
            elif old is None and new is not None:
                is_replaced = (new, None) in found and not self._is_known(groups, new)
                places = of_new.get(new) or ((new, new) if is_replaced else places)
            merged.setdefault(places, []).extend(groups)
        by_line: dict[ChangedLine, list[EditGroup]] = {}
        of_edit: dict[LineEdit, tuple[Place | None, Place | None]] = {}
        for places, groups in merged.items():
            if edit := self._edit_of_one_line(places, groups):
                places = of_edit.setdefault(edit, places)
            by_line.setdefault(self._changed_line(places, groups), []).extend(groups)
        if with_callers and any(line.is_edited for line in by_line):
            by_line = dict(self._sharded_elsewhere(by_line))
        is_body = len(by_line) > MOST_CHANGED_LINES and _is_more_or_less(edit_groups)
        entries = [*by_line.items()]
        if as_given:  # but what no line of Python made comes last
            entries.sort(key=lambda item: not (item[0].where or any(map(collective_of, item[1]))))
        else:
            entries.sort(key=lambda item: self._order(item[0], item[1], is_body))
            entries = _with_most_edits_first(entries)
        if with_callers and not any(line.is_edited for line, _ in entries):
            entries = self._with_callers(entries)
        shown_of: list[tuple[ChangedLine, Sequence[EditGroup]]] = []
        for number, (line, groups) in enumerate(entries[:MOST_CHANGED_LINES], 1):
            in_order = groups if as_given else self._in_order(line, groups, most)
            # Each edited line is shown with one of its changes.
            edited = {other.edit for other, _ in entries[number:MOST_CHANGED_LINES] if other.is_edited}
            kept = 0 if as_given else len(edited - {one.edit for one, _ in [*shown_of, (line, groups)]})
            least = line.edit not in {one.edit for one, _ in shown_of}
            shown_of.append((line, in_order[: max(most - kept, min(most, least), 0)]))
            most -= len(shown_of[-1][1])
        if compare_with_all:
            compare_with_all({edit_group for _, shown in shown_of for edit_group in shown})
        result = []
        for line, shown in shown_of:
            changes = []
            for edit_group in shown:
                change, on = change_view(edit_group, self.report), self.counted_on.get(edit_group.key)
                cost = f"{change.cost} on {on}" if on and change.cost else change.cost
                in_all = self.in_all.get(edit_group, "")
                where = self._where_now(edit_group, change.where)
                changes.append(replace(change, cost="; ".join(filter(None, (cost, in_all))), where=where))
            if changes:
                runs = {self._runs(edit_group) for edit_group in shown}
                result.append(replace(line, changes=tuple(changes), runs=runs.pop() if len(runs) == 1 else 0))
        return tuple(result)

    def _runs(self, edit_group: EditGroup) -> int:
        """How often each instruction of a change runs in one call; 0 if not all run equally often, or if unknown.

        Of instructions of a computation that is called at several places only their sum is known.
        """
        found: set[int] = set()
        for number, index in edit_group.edits:
            edit = self._edit((number, index))[0]
            for side, cost in enumerate(edit.cost or ()):
                if cost is None:
                    continue
                inside = {site.computation for pair in edit.sites if (site := pair[side])}
                is_counted = len(edit.sites) == edit.count and not (
                    cost.loops or cost.is_in_branches or cost.is_at_most
                )
                each = self._runs_of(number, side, inside) if is_counted else 0
                found.add(each if each * edit.count == cost.runs else 0)
        return found.pop() if len(found) == 1 else 0

    def _runs_of(self, number: int, side: int, computations: Iterable[int]) -> int:
        """How often each of some computations of a program runs; 0 if they run differently often, or if unknown."""
        diff = self.report.programs[number].diff
        if diff is None:
            return 0
        counts = {diff.runs[side][computation].exact for computation in computations}
        return (counts.pop() or 0) if len(counts) == 1 else 0

    def _in_order(self, line: ChangedLine, groups: Sequence[EditGroup], most: int) -> Sequence[EditGroup]:
        """The changes of a line, causes first.

        Those that come from other lines stay in program order, except a whole body, and those with much of the work
        come first, behind arguments and literals; what only hands values on comes last.
        """
        if line.is_elsewhere:
            is_body = len(groups) > most and _is_more_or_less(groups)
            in_order = sorted(groups, key=_most_work) if is_body else self._largest_first(groups)
            in_order = sorted(in_order, key=lambda group: group.weight > 1)
        else:
            in_order = sorted(sorted(groups, key=importance), key=self._causes_first)
        return sorted(in_order, key=lambda group: not self._is_number(group)) if line.is_edited else in_order

    def _largest_first(self, groups: Sequence[EditGroup]) -> list[EditGroup]:
        """Arguments, subgraphs that replaced much work, literals, then changes with a tenth of the work or more.

        Of the others, shapes that changed alone come last.
        """
        least = sum(map(_work, groups)) / 10

        def order(group: EditGroup) -> tuple[object, ...]:
            rank, position = cause_order(group, *self._edit(group.edits[0]))
            work = _work(group) if _work(group) > least else 0
            if rank == REPLACEMENT and not work:
                rank = OTHER
            return min(rank, OTHER), -work, rank, position

        return sorted(groups, key=order)

    def _causes_first(self, group: EditGroup) -> int:
        """Sort key: arguments and collectives, replaced subgraphs, literals, others, new shapes, what is handed on."""
        rank, _ = cause_order(group, *self._edit(group.edits[0]))
        if collective_of(group):
            rank = ARGUMENT
        elif group.weight > 1:
            rank = LEAST
        return OTHER if rank == LITERAL else rank

    def _is_number(self, edit_group: EditGroup) -> bool:
        """Whether a change is a number in place of a computed value or of another one: nothing else shows it."""
        is_constant = "constant" in edit_group.group[1:3] and edit_group.kind in ("added", "removed")
        if not is_constant:
            return False
        program = edit_group.edits[0][0]
        if program not in self.numbers:
            self.numbers[program] = numbers_in_place(self._edit(edit_group.edits[0])[1])
        return not self.numbers[program].isdisjoint(n for number, n in edit_group.edits if number == program)

    def _edit_of_one_line(
        self, places: tuple[Place | None, Place | None], groups: Sequence[EditGroup]
    ) -> LineEdit | None:
        """The edit that both places are in, if it made one line of several, or several of one."""
        old, new = places
        if old is None or new is None or not self._knows_sources():
            return None
        edit, other = self._edits_at(self._program_of(groups), old, new)
        return edit if edit and edit == other and any(first == last for first, last in edit.spans) else None

    def _changed_line(self, places: tuple[Place | None, Place | None], groups: Sequence[EditGroup]) -> ChangedLine:
        old, new = places
        before = after = ""
        if self.report.source_line is not None:
            program = self._program_of(groups)
            old = self._own_old(program, old, new)
            before, after = self._texts(program, old, new)
            if before == after and self._knows_sources():  # the edit may be on a later line of the statement
                side, frames = self._frames(groups)
                edits = (self._file(program, frame.file).of_statement(side, frame.line) for frame in frames[:1])
                if edit := next(edits, None):
                    return self._edited_line(program, edit)
        was = ""
        if new is not None and old is not None and old != new:
            was = format_place(replace(old, caller="") if old.caller == new.caller else old)
        elif new is None and old is not None and self._is_known(groups, old):
            was = format_place(old)
        line = ChangedLine(format_place(new or old), was, before, after)
        edit = self._edit_of_one_line(places, groups) if before != after else None
        if edit is not None:
            texts = [[text.strip() for _, text in self._file(program, edit.file).lines(side, edit)] for side in (0, 1)]
            if max(map(len, texts)) <= _MOST_EDITED and before in texts[0] and after in texts[1]:
                line = replace(line, old_lines=tuple(texts[0]), new_lines=tuple(texts[1]))
        return line

    def _own_old(self, program: ProgramComparison, old: Place | None, new: Place | None) -> Place | None:
        """The old line that a new one replaced, where an operation was of another one that has its own replacement."""
        if old is None or new is None or old.file != new.file or old.line == new.line or not self._knows_sources():
            return old
        file = self._file(program, old.stored)
        line, other = file.counterpart(1, new.line), file.counterpart(0, old.line)
        if not line or not other or (line, other) == (old.line, new.line):
            return old
        return replace(old, line=line, function=file.function_at(0, line))

    def _texts(self, program: ProgramComparison, old: Place | None, new: Place | None) -> tuple[str, str]:
        """The text of a line on both sides; the same twice if it was not edited, "" if unknown."""
        before, after = self._source(program, 0, old), self._source(program, 1, new)
        if old is not None and new is not None and not (before and after):
            before = after = before or after
        kept = self._has(program, 1, old or new, before), self._has(program, 0, new or old, after)
        if kept[1] and (old is None or kept[0]):  # the line itself was not edited
            before = after
        elif kept[0] and new is None:
            after = before
        elif old is None and not before:  # the old line left no change of its own, or there is none
            before = self._replaced_by(program, 0, new, after)
        elif new is None and not after:
            after = self._replaced_by(program, 1, old, before)
        return before, after

    def _with_callers(
        self, entries: Sequence[tuple[ChangedLine, list[EditGroup]]]
    ) -> list[tuple[ChangedLine, list[EditGroup]]]:
        """Maps changes of unedited lines to an edit on their stacks or of a name used there, or to the only edit."""
        found: dict[LineEdit | int, list[EditGroup]] = {}
        for number, (_, groups) in enumerate(entries):
            program = self._program_of(groups)
            side, frames = self._frames(groups)
            found.setdefault(next(filter(None, self._edits(program, side, frames)), number), []).extend(groups)
        if entries:
            only = self._only_edit(self._program_of(entries[0][1]))
            if only is not None and all(isinstance(edit, int) or edit == only for edit in found):
                found = {only: [group for _, groups in entries for group in groups]}
        return [
            entries[edit] if isinstance(edit, int) else (self._elsewhere(self._program_of(groups), edit), groups)
            for edit, groups in sorted(found.items(), key=lambda item: isinstance(item[0], int))  # edited lines first
        ]

    def _sharded_elsewhere(
        self, by_line: dict[ChangedLine, list[EditGroup]]
    ) -> Iterator[tuple[ChangedLine, list[EditGroup]]]:
        """Maps calls of a `shard_map` with other shardings, at lines that were not edited, to the edit of its specs."""
        listed = {line.where for line in by_line}
        for line, groups in by_line.items():
            found, program = line, self._program_of(groups)
            if not line.is_edited and line.where and all(map(_is_of_specs, groups)):
                edit = next(filter(None, self._edits(program, *self._frames(groups))), None)
                found = self._elsewhere(program, edit) if edit else line
            yield (line if found.where in listed else found), groups

    def _edits(self, program: ProgramComparison, side: int, frames: Sequence[Frame]) -> Iterator[LineEdit | None]:
        """Edits that may have caused a change with these frames, most probable first; None where a search fails."""
        own = [(self._file(program, frame.file), frame.line) for frame in frames]
        yield from (file.of_statement(side, line) for file, line in own)
        if own:
            files = self._edited_files(program) | {file.file: file for file, _ in own}
        for file, line in own:
            yield file.of_function(side, line)
            yield file.by_names(files, side, line)

    def _edited_files(self, program: ProgramComparison) -> dict[str, FileEdits]:
        known = self.report.source_line
        edited = known.edited_files(program.name, program.target) if known and not self.report.packages else ()
        return {file: self._file(program, file) for file in edited[:_MOST_FILES]}

    def of_registration(self, program: ProgramComparison, cause: str) -> Place | None:
        """The edit where a function is registered or of a name used there; for a donation, else the registration.

        Args:
            program: a program of the function.
            cause: the sentence about its arguments.
        """
        found = self._registration(program)
        if found is None or is_library(found[0]):
            return None
        path, line = found
        registered = Place(shown_file(path, self.report.root), line) if DONATED in cause else None
        if not self._knows_sources():
            return registered
        file = self._file(program, path)
        files = self._edited_files(program) | {file.file: file}
        edit = file.of_function(1, line) or file.by_names(files, 1, line, of_function=True)
        if edit is not None:
            where = self._edited_line(program, edit).where
            return self.edited[where]
        names = file.names(1)
        return replace(registered, line=names.donation(line) or line) if registered and names else registered

    def _registration(self, program: ProgramComparison) -> tuple[str, int] | None:
        """File and line where a function is registered; where no function was imported, as far as the sources show."""
        name = program.name.partition("/")[0]
        if self.report.registered:
            return self.report.registered.get(name)
        for path, file in self._edited_files(program).items():
            if (names := file.names(1)) and (line := names.registration(name)):
                return path, line
        return None

    def only(self, program: ProgramComparison) -> tuple[ChangedLine, ...]:
        """The line of the project's only edit in Python; () if there are none or several."""
        edit = self._only_edit(program)
        return (self._elsewhere(program, edit),) if edit else ()

    def _only_edit(self, program: ProgramComparison) -> LineEdit | None:
        """The project's only edit in Python, which must then have caused the change; None if none or several."""
        known = self.report.source_line
        if known is None or self.report.packages:
            return None
        names = known.edited_files(program.name, program.target)
        files = [self._file(program, name) for name in names] if len(names) <= _MOST_FILES else []
        found = [edit for file in files for edit in file.all()]
        return found[0] if len(found) == 1 and all(file.is_known() for file in files) else None

    def _program_of(self, groups: Sequence[EditGroup]) -> ProgramComparison:
        return self.report.programs[groups[0].edits[0][0]]

    def _elsewhere(self, program: ProgramComparison, edit: LineEdit) -> ChangedLine:
        """The line of an edit that changed operations of other lines."""
        line = self._edited_line(program, edit)
        old, new = ([text.strip() for _, text in self._file(program, edit.file).lines(side, edit)] for side in (0, 1))
        if 1 < len(old) == len(new) and not line.is_moved:  # nothing shows which of them changed what
            line = replace(line, old_lines=tuple(old[:_MOST_EDITED]), new_lines=tuple(new[:_MOST_EDITED]))
        return replace(line, is_elsewhere=True)

    def _edited_line(self, program: ProgramComparison, edit: LineEdit) -> ChangedLine:
        shown = shown_file(edit.file, self.report.root)
        if not edit.new[1]:
            return self._deleted_line(program, edit)
        old, new = (
            Place(shown, line, function)
            for (line, _), function in zip((edit.old, edit.new), edit.functions, strict=True)
        )
        where = format_place(new)
        self.edited[where] = new
        was = format_place(old) if old != new and edit.old[1] else ""
        return ChangedLine(where, was, edit.old[1], edit.new[1], is_moved=edit.is_moved)

    def _deleted_line(self, program: ProgramComparison, edit: LineEdit) -> ChangedLine:
        """The deleted line that most removed and changed operations were of, or else the last statement."""
        file = self._file(program, edit.file)
        lines = dict(file.lines(0, edit))
        firsts = file.statements(0, edit.spans[0]) or [edit.old[0]]
        counts = Counter[int]()
        for numbers in self._old_lines(program, edit.file) if len(firsts) > 1 else ():
            inside = (line for line in numbers if line in lines and line >= firsts[0])
            counts.update(max(first for first in firsts if first <= line) for line in islice(inside, 1))
        number = counts.most_common(1)[0][0] if counts else firsts[-1]
        place = Place(shown_file(edit.file, self.report.root), number, file.function_at(0, number))
        where = format_place(place)
        self.edited[where] = place
        first = max(0, min([*lines].index(number) - 1, len(lines) - _MOST_EDITED))
        texts = tuple(text.strip() for text in islice(lines.values(), first, first + _MOST_EDITED))
        return ChangedLine(where, where, lines[number].strip(), old_lines=texts if len(texts) > 1 else ())

    def _old_lines(self, program: ProgramComparison, file: str) -> Iterator[list[int]]:
        """The lines of a file on the stack of each removed or changed operation, innermost first."""
        diff = program.diff
        if diff is None:
            return
        origins = self._origins(diff.old)
        for site in (edit.old for edit in diff.reported if edit.old is not None and edit.kind != "added"):
            stack = origins.stack(site.computation, site.instruction).frames
            yield [frame.line for frame in stack if portable_file(frame.file, self.report.root) == file]

    def _file(self, program: ProgramComparison, file: str) -> FileEdits:
        name = portable_file(file, self.report.root)
        key = program.name, program.target, name
        if key not in self.files:
            from hlodiff.report.file_edits import FileEdits  # two files that were compared have no sources

            known = self.report.source_line
            sides = [known.file_lines(program.name, program.target, side, name) if known else () for side in (0, 1)]
            self.files[key] = FileEdits(name, (sides[0], sides[1]))
        return self.files[key]

    def _frames(self, groups: Sequence[EditGroup]) -> tuple[int, tuple[Frame, ...]]:
        """The side with most of the changes' stacks, and the user's own frames of its most frequent stack."""
        if not self._knows_sources():
            return 0, ()
        counts: tuple[Counter[tuple[Frame, ...]], Counter[tuple[Frame, ...]]] = (Counter(), Counter())
        for edit_group in groups:
            for side, stack in self._stacks(edit_group):
                counts[side].update([own_frames(stack)])
        side = int(counts[1].total() >= counts[0].total())
        known = [stack for stack, _ in counts[side].most_common() if stack]
        return side, known[0] if known else ()

    def _replaced_by(self, program: ProgramComparison, side: int, place: Place | None, text: str) -> str:
        """The line at this place on `side`, if it was edited too; else "", also if edits are known: it has none."""
        is_known = place is not None and self._knows_sources() and self._file(program, place.stored).is_known()
        other = self._source(program, side, place) if text and not is_known else ""
        return "" if self._has(program, 1 - side, place, other) else other

    def _source(self, program: ProgramComparison, side: int, place: Place | None) -> str:
        if place is None or self.report.source_line is None or (place.library and not self.report.packages):
            return ""
        return self.report.source_line(program.name, program.target, side, place.stored, place.line).strip()

    def _has(self, program: ProgramComparison, side: int, place: Place | None, text: str) -> bool:
        """Whether `side` has a line with this text, so that the line was neither added nor deleted."""
        known = self.report.source_line
        if place is None or not text or known is None:
            return False
        return known.has(program.name, program.target, side, place.stored, text)

    def _order(self, line: ChangedLine, groups: Sequence[EditGroup], is_body: bool = False) -> tuple[object, ...]:
        """Sort key: edited lines first, then by weight, then lines that compute something, then program order.

        `is_body` if a whole body was added or removed: then the most expensive lines come before the others.
        """
        computes = is_argument_among = False
        positions = []
        for group in groups:
            opcodes = {str(opcode).partition(" ")[0] for opcode in group.group[1:3] if opcode} - CALLS
            is_work = not opcodes or not opcodes <= HANDED_ON
            computes = computes or (group.kind in ADDED_OR_REMOVED and is_work)
            edit, diff = self._edit(group.edits[0])
            # A change of an argument comes before what follows from it.
            is_argument_among = is_argument_among or is_argument(edit, diff) or edit.fields == ("alias",)
            site, module = edit.new or edit.old, diff.new if edit.new else diff.old
            is_inside = site is not None and site.computation != module.entry
            positions.append((is_inside, site.computation, site.instruction) if site else (False, 0, 0))
        weight = min(group.weight for group in groups)
        nowhere = not line.where and not is_argument_among
        if self.report.packages:  # a library has many edited lines: the most expensive is the cause
            work = max(map(_work, groups))
            return nowhere, bool(line.where), weight, -work, not line.is_edited, not computes, min(positions)
        first = min(map(_most_work, groups)) if is_body else (False, 0)
        is_written = line.is_edited, line.is_elsewhere  # specs of a `shard_map` come before what they need
        return nowhere, bool(line.where), [not one for one in is_written], weight, not computes, first, min(positions)

    def _edit(self, number: tuple[int, int]) -> tuple[Edit, ModuleDiff]:
        diff = self.report.programs[number[0]].diff
        assert diff is not None
        return diff.reported[number[1]], diff

    def places(self, edit_group: EditGroup) -> tuple[Place | None, Place | None]:
        """The line that most of a group comes from, in the old and in the new program."""
        counts: tuple[Counter[Place], Counter[Place]] = (Counter(), Counter())
        for side, stack in self._stacks(edit_group):
            place = shown_place(stack, self.report.root, self.report.packages)
            counts[side].update([place] if place else [])
        old, new = (count.most_common(1)[0][0] if count else None for count in counts)
        return old, new

    def near(self, edit_group: EditGroup) -> Place | None:
        """The line of its operands, users or callees, for a group that has no line itself; None if they differ."""
        edit, diff = self._edit(edit_group.edits[0])
        for module, site in ((diff.new, edit.new), (diff.old, edit.old)):
            if site is not None and site.opcode != "parameter":
                origins = self._origins(module)
                return shown_place(
                    origins.near(site.computation, site.instruction), self.report.root, self.report.packages
                )
        return None

    def by_edit(self, edit_group: EditGroup) -> tuple[Place | None, Place | None]:
        """Like `places`; if only one of the two lines was edited, both sides of that edit.

        An operation of one line may replace an operation of an unrelated line. A line that has operations in only one
        program may still be in both files, at different line numbers.
        """
        old, new = self.places(edit_group)
        known = old or new
        if known is None or not self._knows_sources():
            return old, new
        program = self.report.programs[edit_group.edits[0][0]]
        file = self._file(program, known.stored)
        if old is None or new is None:
            side = int(old is None)
            if file.at(side, known.line):
                other = _other_side(known, file, side)
            else:
                number = file.on_other_side(side, known.line)
                other = replace(known, line=number, caller="") if number else None
            return (other, known) if side else (known, other)
        edits = self._edits_at(program, old, new)
        if edits[0] is not None and edits[1] is None:
            return old, _other_side(old, file, 0)
        if edits[1] is not None and edits[0] is None:
            return _other_side(new, self._file(program, new.stored), 1), new
        return old, new

    def _is_one_line(self, old: Place, new: Place, edit_group: EditGroup) -> bool:
        """Whether two places are the same line of both sides, edited or not."""
        if not self._knows_sources():
            return (old.file, old.line) == (new.file, new.line)
        program = self._program_of([edit_group])
        edit, other = self._edits_at(program, old, new)
        if edit or other:
            return edit == other
        return self._file(program, old.stored).on_other_side(0, old.line) == new.line

    def _edits_at(self, program: ProgramComparison, old: Place, new: Place) -> tuple[LineEdit | None, LineEdit | None]:
        """The edits of a line of the old side and of one of the new side."""
        return self._file(program, old.stored).at(0, old.line), self._file(program, new.stored).at(1, new.line)

    def line_of(self, edit_group: EditGroup) -> tuple[Place | None, Place | None] | None:
        """The line of a change on both sides, see `by_edit`; None if it has none."""
        found = self.by_edit(edit_group)
        return found if any(found) else None

    def scope_of(self, edit_group: EditGroup) -> frozenset[str]:
        """JAX's names for the operations of a change; none if it is known to be at a line that was not edited."""
        places = self.by_edit(edit_group)
        if all(places) and self._knows_sources():
            program = self.report.programs[edit_group.edits[0][0]]
            sides = [(side, place) for side, place in enumerate(places) if place]
            if all(self._file(program, place.stored).at(side, place.line) is None for side, place in sides):
                return frozenset()
        return frozenset(filter(None, (self._edit(number)[0].op_name for number in edit_group.edits[:_MOST_SITES])))

    def are_two_edits(self, removed: EditGroup, added: EditGroup) -> bool:
        """Whether two changes are of two lines that were edited and that both sides have."""
        both = self.by_edit(removed), self.by_edit(added)
        if both[0] == both[1] or not (all(both[0]) and all(both[1])) or not self._knows_sources():
            return False
        program = self.report.programs[added.edits[0][0]]
        return all(
            place is not None and self._file(program, place.stored).at(side, place.line) is not None
            for places in both
            for side, place in enumerate(places)
        )

    def part_of(self, edit_group: EditGroup) -> tuple[frozenset[Part], frozenset[str]]:
        """The parts of its program that a change is in, and the element types of its results."""
        parts: set[Part] = set()
        types: set[str] = set()
        for _, module, site in self._sites(edit_group):
            parts.add(self._origins(module).part(site.computation, site.instruction))
            types |= {leaf.element_type for leaf in result_of(site.instruction_in(module)).leaves}
        return frozenset(parts), frozenset(types)

    def turns_of(self, edit_group: EditGroup) -> tuple[Turns | None, Turns | None]:
        """Where and how often the instructions of a change run, before and after, see `with_loop_moves`."""
        loops: tuple[set[tuple[tuple[tuple[str, int], ...], tuple[str, ...]]], ...] = (set(), set())
        work: tuple[set[Work], set[Work]] = (set(), set())
        for side, module, site in self._sites(edit_group):
            origins, place = self._origins(module), (site.computation, site.instruction)
            loops[side].add((origins.loops_around(*place), _up_to_its_loop(origins.part(*place)[0])))
            work[side].add(_work_of(module, place))
        costs = [edit.cost for edit, _ in map(self._edit, edit_group.edits) if edit.cost]
        found: list[Turns | None] = []
        for side, around in enumerate(loops):
            own = [cost for pair in costs if (cost := pair[side]) is not None]
            lines, nesting = next(iter(around), ((), ()))
            program = self.report.programs[edit_group.edits[0][0]]
            words = [self._loop_in_words(program, side, *place) for place in lines]
            is_known = not any(cost.loops for cost in own)
            turns = Turns(tuple(words), sum(cost.runs for cost in own), is_known, nesting, frozenset(work[side]))
            found.append(turns if len(around) == 1 and own else None)
        return found[0], found[1]

    def _loop_in_words(self, program: ProgramComparison, side: int, file: str, line: int) -> str:
        """`the loop at net.py:7`, by the number that its line has now; `that was` if it has none."""
        if not line:
            return "a loop"
        was = ""
        if side == 0 and self._knows_sources() and (edits := self._file(program, file)).is_known():
            edit = edits.at(0, line)
            is_paired = edit is not None and len({last - first for first, last in edit.spans}) == 1
            now = edits.counterpart(0, line) if is_paired else edits.on_other_side(0, line)
            was, line = ("", now) if now else (" that was", line)
        return f"the loop{was} at {shown_file(file, self.report.root)}:{line}"

    def each_edit_of(self, edit_group: EditGroup) -> tuple[EditGroup, ...]:
        """Each edit of a change as one of its own; the change itself if it joins what was removed and added."""
        edits, kind = edit_group.edits, edit_group.kind
        if len(edits) < 2 or any(self._edit(number)[0].kind != kind for number in edits):
            return (edit_group,)
        for program, diff in ((n, self.report.programs[n].diff) for n, _ in edits if n not in self.members):
            found = members_of(diff.reported, program) if diff is not None else ()
            self.members[program] = {member.index: member for member in found}
        key = (*edit_group.key[:1], kind)
        own = (self.members[program][index] for program, index in edits)
        return tuple(edit_group_of(key, [one], self.report.root, self.report.packages) for one in own)

    def _where_now(self, edit_group: EditGroup, where: tuple[str, ...]) -> tuple[str, ...]:
        """The line of a change, by the number that it has now if only the old program has operations of it."""
        old, new = self.by_edit(edit_group) if edit_group.kind == "removed" else (None, None)
        return (format_place(new),) if new is not None and where == (format_place(old),) else where

    def _is_known(self, groups: Sequence[EditGroup], place: Place) -> bool:
        """Whether both sides of the file of a change are known."""
        program = self._program_of(groups)
        return self._knows_sources() and self._file(program, place.stored).is_known()

    def _knows_sources(self) -> bool:
        return self.report.source_line is not None and not self.report.packages

    def _stacks(self, edit_group: EditGroup) -> Iterator[tuple[int, tuple[Frame, ...]]]:
        """The side and the stack of each site of a group."""
        for side, module, site in self._sites(edit_group):
            yield side, self._origins(module).stack(site.computation, site.instruction).frames
        for edit in (self._edit(number)[0] for number in edit_group.edits[:_MOST_SITES]):
            if not edit.sites:  # a fact of the module
                yield 1, edit.source

    def _origins(self, module: Module) -> Origins:
        if id(module) not in self.origins:
            self.origins[id(module)] = Origins(module)
        return self.origins[id(module)]

    def _sites(self, edit_group: EditGroup) -> Iterator[tuple[int, Module, Site]]:
        for number in edit_group.edits[:_MOST_SITES]:
            edit, diff = self._edit(number)
            for pair in edit.sites[:_MOST_SITES]:
                for side, (module, site) in enumerate(zip((diff.old, diff.new), pair, strict=True)):
                    if site is not None:
                        yield side, module, site


def _with_most_edits_first(
    entries: list[tuple[ChangedLine, list[EditGroup]]],
) -> list[tuple[ChangedLine, list[EditGroup]]]:
    """Of two edited lines, the one that clearly changed more operations comes first, whichever runs first."""
    edits = Counter[tuple[str, str, str]]()
    least = min((group.weight for _, groups in entries for group in groups), default=0)
    for line, groups in entries:
        if line.is_edited:
            edits[line.edit] += sum(group.count for group in groups if group.weight == least)
    if len(edits) != 2 or any(line.is_elsewhere for line, _ in entries):
        return entries
    (_, fewer), (other, more) = edits.items()
    return sorted(entries, key=lambda item: item[0].edit != other) if more >= _CLEARLY * fewer else entries


def _is_of_specs(group: EditGroup) -> bool:
    """Whether a `shard_map` takes or returns values that are sharded differently."""
    return group.kind == "changed" and bool(group.fields) and _SPECS.issuperset(group.fields)


def _up_to_its_loop(nesting: tuple[str, ...]) -> tuple[str, ...]:
    """The passes and loops around the innermost loop of an instruction, with it: a pass inside it is no other loop."""
    loops = [n for n, word in enumerate(nesting, 1) if word == LOOP_BODY]
    return nesting[: loops[-1] if loops else 0]


def _work_of(module: Module, place: tuple[int, int]) -> Work:
    it = module.computations[place[0]].instructions[place[1]]
    values = [leaf for shape in (*operand_shapes(module, place), result_of(it)) for leaf in shape.leaves]
    precision = [value for name, value in it.attributes if field_of(name, value) == "precision"]
    inside = sorted(inner.opcode for callee in it.called for inner in module.computations[callee].instructions)
    frame = module.frames[it.frame] if it.frame >= 0 else None
    function = frame.function if frame and is_library(frame.file) else ""  # what one does is not what another does
    kind = (*[leaf.element_type for leaf in values], *precision, *inside, function)
    return kind, tuple([leaf.elements for leaf in values])


def _is_more_or_less(groups: Iterable[EditGroup]) -> bool:
    """Whether work was nearly only added or only removed, as with one layer more: none is the cause of others."""
    work: Counter[str] = Counter()
    for group in groups:
        work[group.kind] += _work(group)
    kind, most = work.most_common(1)[0] if work else ("", 0)
    is_clear = most * 10 >= work.total() * 9 if most else len(work) == 1
    return kind in ("added", "removed") and is_clear


def _work(group: EditGroup) -> int:
    """By how many flops a change differs on both sides, with all that follows from it."""
    return abs(group.by_all(lambda cost: cost.flops))


def _most_work(group: EditGroup) -> tuple[bool, int]:
    """Sort key: collectives, then those whose flops differ most."""
    return not collective_of(group), -_work(group)


def _other_side(place: Place, file: FileEdits, side: int) -> Place | None:
    """The place of an edited line on the other side; None if the whole line was added or deleted."""
    line = file.counterpart(side, place.line)
    if not line:
        return None
    own, other = file.function_at(side, place.line), file.function_at(1 - side, line)
    return replace(place, line=line, function=place.function if own == other else other)
