"""The lines of Python that changes come from: edits of a file, and which edit an unedited line depends on.

A program names the line where a call begins. If an argument two lines below was edited, or the loop around the call, or
the definition of a name, that line is the same on both sides, but a reviewer looks for the edited one.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.differ.classify import is_argument, numbers_for_values
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.grouping import Origins
from hlodiff.differ.instruction_costs import result_of
from hlodiff.differ.regions import Part
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.differ.subsequence import longest_common_subsequence
from hlodiff.hlo.metadata import is_library, own_frames, portable_file, shown_file
from hlodiff.hlo.model import CALLS, Frame, Module
from hlodiff.report.grouping import (
    ADDED_OR_REMOVED,
    HANDED_ON,
    EditGroup,
    Key,
    change_view,
    collective_of,
    importance,
)
from hlodiff.report.lines import common_ends
from hlodiff.report.report import Report
from hlodiff.report.view import ChangedLine
from hlodiff.report.wording import Place, format_place, shown_place

_MOST_LINES = 400  # of one side from the first to the last edit; a file that differs in more was replaced, not edited
_MOST_NAMES_AWAY, _MOST_DEFINITIONS = 3, 200


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines of code that were added, deleted or changed, ignoring comments and docstrings.

    Args:
        old, new: number and text of the first line on either side; for a side without lines, the number of the line
            before and "".
        file: its name in programs.
        function: the innermost function or class around them; "" at module level.
        spans: first and last line on either side; empty if last < first.
    """

    old: tuple[int, str]
    new: tuple[int, str]
    file: str = ""
    function: str = ""
    spans: tuple[Span, Span] = ((0, -1), (0, -1))


@dataclass(slots=True)
class _ParsedFile:
    """One parsed side of a file."""

    code: list[tuple[int, str]]
    statements: list[Span]
    functions: list[tuple[Span, str]]


@dataclass(slots=True)
class FileEdits:
    """The edits of one file.

    Args:
        file: its name in programs.
        sides: its lines, old and new.

    Example:
        >>> old = ["def f(x):", "    y = g(", "        x,", "        2,", "    )", "    return y"]
        >>> new = [*old[:3], "        3,", *old[4:]]
        >>> edits = FileEdits("model.py", (old, new))
        >>> edits.of_statement(1, 2).new
        (4, '3,')
        >>> edits.of_statement(1, 6), edits.of_function(1, 6).new
        (None, (4, '3,'))
    """

    file: str
    sides: tuple[Sequence[str], Sequence[str]]
    _parsed: tuple[_ParsedFile, _ParsedFile] | None = field(default=None)
    _edits: tuple[LineEdit, ...] | None = field(default=None)
    _exchanges: tuple[tuple[Span, Span], ...] = ()
    _names: dict[int, ParsedNames] = field(default_factory=dict)

    def all(self) -> tuple[LineEdit, ...]:
        """All edits, in the order of the file; () if a side is unknown or not valid Python."""
        if self._edits is None:
            parsed = [_parsed(lines) for lines in self.sides]
            one, other = parsed
            self._edits = ()
            if one is not None and other is not None:
                self._parsed = one, other
                self._edits = tuple(self._found(one, other))
        return self._edits

    def is_known(self) -> bool:
        """Whether this Python can parse both sides."""
        self.all()
        return self._parsed is not None

    def at(self, side: int, line: int) -> LineEdit | None:
        """The edit that contains a line of a side."""
        return next(_within(self.all(), side, (line, line)), None)

    def on_other_side(self, side: int, line: int) -> int:
        """The number of a line of one side on the other side; 0 if it was edited or a side is unknown.

        Example:
            >>> FileEdits("model.py", (["A = 1", "B = 2"], ["# a model", "A = 1", "", "B = 2"])).on_other_side(0, 2)
            4
        """
        self.all()
        if self._parsed is None:
            return 0
        one, other = (self._parsed[n].code for n in (side, 1 - side))
        index = bisect_left(one, line, key=lambda item: item[0])
        if index == len(one) or one[index][0] != line:
            return 0
        shift = 0
        for exchange in self._exchanges:
            (start, end), (_, behind) = exchange[side], exchange[1 - side]
            if start <= index < end:
                return 0
            shift = behind - end if end <= index else shift
        return other[index + shift][0]

    def of_statement(self, side: int, line: int) -> LineEdit | None:
        """The first edit of the innermost statement around a line of a side, excluding nested statements."""
        edits = self.all()
        if self._parsed is None:
            return None
        around = [span for span in self._parsed[side].statements if span[0] <= line <= span[1]]
        found = list(_within(edits, side, max(around))) if around else []
        return next(iter([edit for edit in found if edit.new[1]] or found), None)

    def first(self, side: int, edit: LineEdit) -> LineEdit:
        """The first edit of the statement that an edit is in."""
        return self.of_statement(side, edit.spans[side][0]) or edit

    def of_function(self, side: int, line: int) -> LineEdit | None:
        """The edit of the innermost function with edits around a line of a side; None if it has several."""
        edits = self.all()
        if self._parsed is None:
            return None
        for span, _ in sorted(self._parsed[side].functions, reverse=True):
            if span[0] <= line <= span[1] and (found := list(_within(edits, side, span))):
                return found[0] if len(found) == 1 else None
        return None

    def names(self, side: int) -> ParsedNames | None:
        """The definitions of names of a side; None if a side is unknown or not valid Python."""
        if self.is_known() and side not in self._names:
            try:
                self._names[side] = ParsedNames(ast.parse("\n".join(self.sides[side])))
            except RecursionError:
                return None
        return self._names.get(side)

    def inside(self, side: int, spans: Iterable[Span]) -> set[LineEdit]:
        """The edits inside some line spans of a side."""
        return {edit for span in spans for edit in _within(self.all(), side, span)}

    def _found(self, one: _ParsedFile, other: _ParsedFile) -> Iterator[LineEdit]:
        old, new = one.code, other.code
        texts = [text for _, text in old], [text for _, text in new]
        exchanges = list(_exchanged(*texts))
        self._exchanges = tuple(((a, b), (c, d)) for a, b, c, d in exchanges)
        for a, b, c, d in exchanges:
            ends = (_first(old, a, b), _first(new, c, d))
            spans = (_span(old, a, b), _span(new, c, d))
            side = other if d > c else one
            at = (spans[1] if d > c else spans[0])[0]
            inner = max((item for item in side.functions if item[0][0] <= at <= item[0][1]), default=None)
            yield LineEdit(*ends, self.file, inner[1] if inner else "", spans)


def only_edit(files: Iterable[FileEdits]) -> LineEdit | None:
    """The only edit of several files; None if there are more or none, or a file is unknown or not valid Python.

    Example:
        >>> only_edit([FileEdits("a.py", (["A = 1"], ["A = 2"])), FileEdits("b.py", (["B = 1"], ["B = 1"]))]).old
        (1, 'A = 1')
    """
    known = list(files)
    found = [edit for file in known for edit in file.all()]
    return found[0] if len(found) == 1 and all(file.is_known() for file in known) else None


def edit_by_names(
    files: Mapping[str, FileEdits], file: str, side: int, line: int, of_function: bool = False
) -> LineEdit | None:
    """The edit of a definition that a statement depends on, directly or through other definitions.

    A decorator, a default argument, a module constant and the rule of a `custom_vjp` are not on any stack: JAX gives
    the operations of such a rule the line of the call that they differentiate.

    Args:
        files: edited files and the statement's own file, by name.
        file, side, line: location of the statement.
        of_function: whether to start from the names of the whole function around it.

    Returns:
        the edit that is the fewest definitions away, the first of a statement; None if there is none or a tie.

    Example:
        >>> old = ["RATE = 1", "def scaled(x):", "    return RATE * x", "def f(x):", "    return scaled(x)"]
        >>> files = {"a.py": FileEdits("a.py", (old, ["RATE = 2", *old[1:]]))}
        >>> edit_by_names(files, "a.py", 1, 5).new
        (1, 'RATE = 2')
    """
    parsed = {name: names for name, one in files.items() if (names := one.names(side)) is not None}
    if file not in parsed:
        return None
    names = parsed[file]
    level = [(file, use, at) for use, at in (names.of_function(line) if of_function else names.of_statement(line))]
    seen: set[tuple[str, str, int]] = set()
    for _ in range(_MOST_NAMES_AWAY):
        found: set[LineEdit] = set()
        following: list[tuple[str, Use, int]] = []
        for where, use, at in level:
            for owner, definition in definitions(parsed, where, use, at):
                key = owner, definition.name, definition.spans[0][0] if definition.spans else 0
                if key not in seen and len(seen) < _MOST_DEFINITIONS:
                    seen.add(key)
                    found |= {files[owner].first(side, edit) for edit in files[owner].inside(side, definition.spans)}
                    following += [(owner, one, place) for one, place in definition.uses]
        if found:
            return found.pop() if len(found) == 1 else None
        level = following
    return None


def _within(edits: Iterable[LineEdit], side: int, span: Span) -> Iterator[LineEdit]:
    """Edits that touch a span, including lines of the other side between two lines of it."""
    for edit in edits:
        first, last = edit.spans[side]
        if (first <= span[1] and span[0] <= last) or (last < first and span[0] <= last < span[1]):
            yield edit


def _exchanged(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Replaced line ranges of both sides."""
    start, end = common_ends(old, new)
    inner = old[start : len(old) - end], new[start : len(new) - end]
    if not any(inner) or max(map(len, inner)) > _MOST_LINES:
        return
    a = c = 0
    # Where two lines were exchanged, those between them stay.
    common = longest_common_subsequence(*inner, lambda a, b: max(1000 - abs(a - b), 0))
    for b, d in [*common, (len(inner[0]), len(inner[1]))]:
        if (a, c) != (b, d):
            yield a + start, b + start, c + start, d + start
        a, c = b + 1, d + 1


def _first(code: Sequence[tuple[int, str]], start: int, end: int) -> tuple[int, str]:
    if start < end:
        return code[start][0], code[start][1].strip()
    return (code[start - 1][0] if start else 0), ""


def _span(code: Sequence[tuple[int, str]], start: int, end: int) -> Span:
    if start < end:
        return code[start][0], code[end - 1][0]
    before = code[start - 1][0] if start else 0
    return before + 1, before


def _parsed(lines: Sequence[str]) -> _ParsedFile | None:
    """The parsed file; None if it is unknown or this Python cannot parse it."""
    if not lines:
        return None
    text = "\n".join(lines)
    try:
        tree = ast.parse(text)
        tokens = tokenize.generate_tokens(io.StringIO(text + "\n").readline)
        comments = {token.start[0]: token.start[1] for token in tokens if token.type == tokenize.COMMENT}
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return None
    documented = set(_documentation(tree))
    code = []
    for number, line in enumerate(lines, 1):
        own = line[: comments.get(number, len(line))].rstrip()
        if own.strip() and number not in documented:
            code.append((number, own))
    return _ParsedFile(code, list(_statements(tree)), list(_functions(tree, "")))


def _documentation(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            if first is not None:
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _statements(tree: ast.AST) -> Iterator[Span]:
    """Spans of statements; of a compound statement only its header."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            inner = body[0].lineno - 1 if isinstance(body, list) and body else None
            last = max(node.lineno, inner) if inner is not None else node.end_lineno or node.lineno
            yield node.lineno, last


def _functions(node: ast.AST, outer: str) -> Iterator[tuple[Span, str]]:
    for child in ast.iter_child_nodes(node):
        name = outer
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{child.name}" if outer else child.name
            if not isinstance(child, ast.ClassDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                yield (first, child.end_lineno or child.lineno), name
        yield from _functions(child, name)


# --- the lines that changes come from --------------------------------------------------------------------------------

MOST_CHANGED_LINES = 4
"""The most lines of Python that are listed with their changes."""
DONATED = "donated"
"""In every sentence about a donation."""
_MOST_SITES = 64  # edits of a change, and sites of an edit, whose lines are looked up
_MOST_FILES = 20  # edited files in which the only edit is searched


@dataclass(slots=True)
class ChangedLines:
    """The lines of Python that changes come from, on both sides, and their text if known."""

    report: Report
    origins: dict[int, Origins] = field(default_factory=dict)
    numbers: dict[int, frozenset[int]] = field(default_factory=dict)
    """Of programs by index, see `numbers_for_values`."""
    files: dict[tuple[str, str | None, str], FileEdits] = field(default_factory=dict)
    counted_on: dict[Key, str] = field(default_factory=dict)
    """Changes of the current stage whose cost differs between targets, with the target whose cost is shown."""
    in_all: dict[EditGroup, str] = field(default_factory=dict)
    """Changes of the current stage that cost more than their program, with the change of the whole program."""
    edited: dict[str, Place] = field(default_factory=dict)
    """The places of edited lines that were found by their edit rather than by an operation, by formatted place."""

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
            found.setdefault(self.by_edit(edit_group), []).append(edit_group)
        # Removed operations belong to the line that replaced theirs, if another change shows which line that is.
        whole = [(old, new) for old, new in found if old is not None and new is not None]
        of_old, of_new = {pair[0]: pair for pair in whole}, {pair[1]: pair for pair in whole}
        merged: dict[tuple[Place | None, Place | None], list[EditGroup]] = {}
        for (old, new), groups in found.items():
            places = (old, new)
            if new is None and old is not None:
                places = of_old.get(old) or ((old, old) if (None, old) in found else places)
            elif old is None and new is not None:
                places = of_new.get(new) or ((new, new) if (new, None) in found else places)
            merged.setdefault(places, []).extend(groups)
        by_line: dict[ChangedLine, list[EditGroup]] = {}
        of_edit: dict[LineEdit, tuple[Place | None, Place | None]] = {}
        for places, groups in merged.items():
            if edit := self._edit_of_one_line(places, groups):
                places = of_edit.setdefault(edit, places)
            by_line.setdefault(self._changed_line(places, groups), []).extend(groups)
        is_body = len(by_line) > MOST_CHANGED_LINES and _is_more_or_less(edit_groups)
        entries = [*by_line.items()]
        if as_given:  # but what no line of Python made comes last
            entries.sort(key=lambda item: not (item[0].where or any(map(collective_of, item[1]))))
        else:
            entries.sort(key=lambda item: self._order(item[0], item[1], is_body))
        if with_callers and not any(line.is_edited for line, _ in entries):
            entries = self._with_callers(entries)
        shown_of: list[tuple[ChangedLine, Sequence[EditGroup]]] = []
        for line, groups in entries[:MOST_CHANGED_LINES]:
            # Changes that come from other lines stay in program order, except a whole body, and those with much of the
            # work come first, behind arguments; what only hands values on comes last.
            in_order: Sequence[EditGroup] = groups if as_given else sorted(groups, key=importance)
            if line.is_elsewhere and not as_given:
                is_body = len(groups) > most and _is_more_or_less(groups)
                in_order = sorted(groups, key=_most_work) if is_body else self._largest_first(groups)
                in_order = sorted(in_order, key=lambda group: group.weight > 1)
            if line.is_edited and not as_given:
                in_order = sorted(in_order, key=lambda group: not self._is_number(group))
            shown_of.append((line, in_order[: max(most, 0)]))
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
                result.append(replace(line, changes=tuple(changes)))
        return tuple(result)

    def _largest_first(self, groups: Sequence[EditGroup]) -> Sequence[EditGroup]:
        """Arguments, then changes with a tenth of the work or more, the largest first, then the others in order."""
        least = sum(map(_work, groups)) / 10

        def order(group: EditGroup) -> tuple[bool, float]:
            return not is_argument(*self._edit(group.edits[0])), -_work(group) if _work(group) > least else 0

        return sorted(groups, key=order)

    def _is_number(self, edit_group: EditGroup) -> bool:
        """Whether a change is a number that an operation takes in place of a computed one: nothing else shows it."""
        is_constant = "constant" in edit_group.group[1:3] and edit_group.kind in ("added", "removed")
        if not is_constant:
            return False
        program = edit_group.edits[0][0]
        if program not in self.numbers:
            self.numbers[program] = numbers_for_values(self._edit(edit_group.edits[0])[1])
        return not self.numbers[program].isdisjoint(n for number, n in edit_group.edits if number == program)

    def _edit_of_one_line(
        self, places: tuple[Place | None, Place | None], groups: Sequence[EditGroup]
    ) -> LineEdit | None:
        """The edit that both places are in, if it made one line of several, or several of one."""
        old, new = places
        if old is None or new is None or not self._knows_sources():
            return None
        program = self.report.programs[groups[0].edits[0][0]]
        edit = self._file(program, old.stored).at(0, old.line)
        is_same = edit is not None and edit == self._file(program, new.stored).at(1, new.line)
        return edit if edit and is_same and any(first == last for first, last in edit.spans) else None

    def _changed_line(self, places: tuple[Place | None, Place | None], groups: Sequence[EditGroup]) -> ChangedLine:
        old, new = places
        program = self.report.programs[groups[0].edits[0][0]]
        before, after = (self._source(program, side, place) for side, place in enumerate(places))
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
        if before == after and self._knows_sources():  # the edit may be on a later line of the statement
            side, frames = self._frames(groups)
            edits = (self._file(program, frame.file).of_statement(side, frame.line) for frame in frames[:1])
            if edit := next(edits, None):
                return self._edited_line(edit)
        was = ""
        if new is not None and old is not None and old != new:
            was = format_place(replace(old, caller="") if old.caller == new.caller else old)
        return ChangedLine(format_place(new or old), was, before, after)

    def _with_callers(
        self, entries: Sequence[tuple[ChangedLine, list[EditGroup]]]
    ) -> list[tuple[ChangedLine, list[EditGroup]]]:
        """Maps changes of unedited lines to an edit on their stacks or of a name used there, or to the only edit."""
        found: dict[LineEdit | int, list[EditGroup]] = {}
        for number, (_, groups) in enumerate(entries):
            program = self.report.programs[groups[0].edits[0][0]]
            side, frames = self._frames(groups)
            found.setdefault(next(filter(None, self._edits(program, side, frames)), number), []).extend(groups)
        if entries:
            only = self._only_edit(self.report.programs[entries[0][1][0].edits[0][0]])
            if only is not None and all(isinstance(edit, int) or edit == only for edit in found):
                found = {only: [group for _, groups in entries for group in groups]}
        return [
            entries[edit] if isinstance(edit, int) else (replace(self._edited_line(edit), is_elsewhere=True), groups)
            for edit, groups in sorted(found.items(), key=lambda item: isinstance(item[0], int))  # edited lines first
        ]

    def _edits(self, program: ProgramComparison, side: int, frames: Sequence[Frame]) -> Iterator[LineEdit | None]:
        """Edits that may have caused a change with these frames, most probable first; None where a search fails."""
        own = [(self._file(program, frame.file), frame.line) for frame in frames]
        yield from (file.of_statement(side, line) for file, line in own)
        if own:
            files = self._edited_files(program) | {file.file: file for file, _ in own}
        for file, line in own:
            yield file.of_function(side, line)
            yield edit_by_names(files, file.file, side, line)

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
        edit = file.of_function(1, line) or edit_by_names(files, file.file, 1, line, of_function=True)
        if edit is not None:
            where = self._edited_line(edit).where
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
        return (replace(self._edited_line(edit), is_elsewhere=True),) if edit else ()

    def _only_edit(self, program: ProgramComparison) -> LineEdit | None:
        """The project's only edit in Python, which must then have caused the change; None if none or several."""
        known = self.report.source_line
        if known is None or self.report.packages:
            return None
        files = known.edited_files(program.name, program.target)
        return only_edit(self._file(program, file) for file in files) if len(files) <= _MOST_FILES else None

    def _edited_line(self, edit: LineEdit) -> ChangedLine:
        new = edit.new if edit.new[1] else edit.old
        place, old = (
            Place(shown_file(edit.file, self.report.root), line, edit.function) for line in (new[0], edit.old[0])
        )
        where = format_place(place)
        self.edited[where] = place
        return ChangedLine(where, format_place(old) if old != place and edit.old[1] else "", edit.old[1], edit.new[1])

    def _file(self, program: ProgramComparison, file: str) -> FileEdits:
        name = portable_file(file, self.report.root)
        key = program.name, program.target, name
        if key not in self.files:
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
        """The line at this place on `side`, if it was edited too; else ""."""
        other = self._source(program, side, place) if text else ""
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
        return nowhere, bool(line.where), not line.is_edited, weight, not computes, first, min(positions)

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
            if edit := file.at(side, known.line):
                other = _other_side(known, edit, side)
            else:
                number = file.on_other_side(side, known.line)
                other = replace(known, line=number, caller="") if number else None
            return (other, known) if side else (known, other)
        edits = file.at(0, old.line), self._file(program, new.stored).at(1, new.line)
        if edits[0] is not None and edits[1] is None:
            return old, _other_side(old, edits[0], 0)
        if edits[1] is not None and edits[0] is None:
            return _other_side(new, edits[1], 1), new
        return old, new

    def line_of(self, edit_group: EditGroup) -> tuple[Place | None, Place | None] | None:
        """The line of a change on both sides, see `by_edit`; None if it has none."""
        found = self.by_edit(edit_group)
        return found if any(found) else None

    def scope_of(self, edit_group: EditGroup) -> frozenset[str]:
        """JAX's names for the operations of a change."""
        return frozenset(filter(None, (self._edit(number)[0].op_name for number in edit_group.edits[:_MOST_SITES])))

    def part_of(self, edit_group: EditGroup) -> tuple[frozenset[Part], frozenset[str]]:
        """The parts of its program that a change is in, and the element types of its results."""
        parts: set[Part] = set()
        types: set[str] = set()
        for _, module, site in self._sites(edit_group):
            parts.add(self._origins(module).part(site.computation, site.instruction))
            types |= {leaf.element_type for leaf in result_of(site.instruction_in(module)).leaves}
        return frozenset(parts), frozenset(types)

    def _where_now(self, edit_group: EditGroup, where: tuple[str, ...]) -> tuple[str, ...]:
        """The line of a change, by the number that it has now if only the old program has operations of it."""
        old, new = self.by_edit(edit_group) if edit_group.kind == "removed" else (None, None)
        return (format_place(new),) if new is not None and where == (format_place(old),) else where

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


def _other_side(place: Place, edit: LineEdit, side: int) -> Place | None:
    """The place of an edited line on the other side; None if the whole line was added or deleted."""
    (first, last), (start, end) = edit.spans[side], edit.spans[1 - side]
    if end < start:
        return None
    return replace(place, line=start + place.line - first if last - first == end - start else start)


# --- Resolves names in a Python file to their definitions, as far as possible without running it.

Span = tuple[int, int]
"""First and last line, inclusive."""
Use = tuple[str, ...]
"""A name that is read, or a name and an attribute of it: `("gelu",)`, `("nn", "gelu")`."""
_SELF = ("self", "cls")
_REGISTERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Expr, ast.Assign)
_AT_START = ("__init__", "__post_init__", "setup")


@dataclass(slots=True)
class Definition:
    """One definition of a name.

    Args:
        name: `gelu`, or `self.scale` for an instance attribute.
        scope: the lines in which the name has this definition; None for the whole module.
        spans: the lines of the definition; () for a parameter, whose value is not visible here.
        uses: the names read in these lines, with the line of each.
    """

    name: str
    scope: Span | None
    spans: tuple[Span, ...]
    uses: tuple[tuple[Use, int], ...] = ()


@dataclass(slots=True)
class ParsedNames:
    """The names and definitions of one file.

    Args:
        tree: the parsed file.

    Example:
        >>> names = ParsedNames(ast.parse("A = 1; f = lambda x: A * x"))
        >>> names.of_statement(1)
        [(('A',), 1), (('x',), 1)]
        >>> names.definitions["A"][0].spans, names.definitions["x"][0].scope
        (((1, 1),), (1, 1))
    """

    tree: ast.Module
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For each imported name, the last part of its module and its name there; "" for a module itself."""

    def __post_init__(self) -> None:
        self._visit(self.tree, None, None)

    def of_statement(self, line: int) -> list[tuple[Use, int]]:
        """Names read by the innermost statement around a line; of a compound statement, by its header."""
        around = [
            node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and node.lineno <= line <= _last(node)
        ]
        if not around:
            return []
        first, last = max((node.lineno, -_last(node)) for node in around)
        inner = [node for node in around if (node.lineno, -_last(node)) == (first, last)]
        bodies = [body for node in inner if isinstance(body := getattr(node, "body", None), list) and body]
        end = max(first, min([-last, *(body[0].lineno - 1 for body in bodies)]))
        return list(dict.fromkeys((use, at) for node in inner for use, at in _uses(node) if at <= end))

    def of_function(self, line: int) -> list[tuple[Use, int]]:
        """Names read by the innermost function around a line and its decorators, or else by its statement.

        Example:
            >>> ParsedNames(ast.parse("@g(A)\\ndef f():\\n    return B")).of_function(1)
            [(('g',), 1), (('A',), 1), (('B',), 3)]
        """
        nodes = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_in(line, _extent(node))
        ]
        return list(dict.fromkeys(_uses(max(nodes, key=_extent)))) if nodes else self.of_statement(line)

    def donation(self, line: int) -> int:
        """The line of the donation argument in the innermost function around a line, or in its statement; 0 for none.

        Example:
            >>> ParsedNames(ast.parse("def f():\\n    return Case(\\n        g,\\n        donate=0)")).donation(1)
            4
        """
        around = [node for node in ast.walk(self.tree) if isinstance(node, _REGISTERS) and _is_in(line, _extent(node))]
        inner = max(around, key=_extent) if around else None
        found = [word for word in ast.walk(inner) if isinstance(word, ast.keyword)] if inner else []
        return next((word.value.lineno for word in found if (word.arg or "").startswith("donate")), 0)

    def registration(self, name: str) -> int:
        """The line where a function of that name is registered: under its decorator or by a call; 0 if nowhere.

        Example:
            >>> ParsedNames(ast.parse("@hlodiff.register(targets=['cpu'])\\ndef f():\\n    pass")).registration("f")
            1
            >>> ParsedNames(ast.parse("hlodiff.register(g, name='f')")).registration("f")
            1
        """
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                calls = [one for one in node.decorator_list if _is_register(one)]
                if any((_given_name(call) or node.name) == name for call in calls):
                    return _extent(node)[0]
            elif isinstance(node, ast.Call) and _is_register(node):
                functions = [ast.unparse(one).rpartition(".")[2] for one in node.args[:1]]
                if functions and (_given_name(node) or functions[0]) == name:
                    return node.lineno
        return 0

    def _visit(self, node: ast.AST, scope: Span | None, owner: Span | None) -> None:
        """Collect the definitions below a node; `owner` is the class around it."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(child, scope, owner)
            elif isinstance(child, ast.ClassDef):
                self._add(child.name, scope, tuple(_of_class(child)), child, is_class=True)
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                self._import(child)
            elif isinstance(child, ast.stmt):
                self._statement(child, scope, owner)
            elif isinstance(child, ast.NamedExpr):
                self._add(child.target.id, scope, ((child.lineno, _last(child)),), child)
            if isinstance(child, ast.ClassDef):
                self._visit(child, _extent(child), _extent(child))
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                for argument in ast.walk(child.args):
                    if isinstance(argument, ast.arg):
                        self._add(argument.arg, _extent(child), (), None)
                self._visit(child, _extent(child), owner)
            else:
                self._visit(child, scope, owner)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Span | None, owner: Span | None) -> None:
        span = _extent(node)
        self._add(node.name, scope, (span,), node)
        if owner is not None:
            self._add(f"self.{node.name}", owner, (span,), node)
        for decorator in node.decorator_list:  # `@f.defjvp` extends the definition of f
            if (name := self._extended(decorator)) is not None:
                self._add(name, scope, (span,), node)

    def _statement(self, node: ast.stmt, scope: Span | None, owner: Span | None) -> None:
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else _last(node)
        span = node.lineno, last
        if isinstance(node, ast.Expr):  # `f.defvjp(forward, backward)` extends the definition of f
            called = node.value.func if isinstance(node.value, ast.Call) else None
            if (name := self._extended(called)) is not None:
                self._add(name, scope, (span,), node)
            return
        targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
        targets += [item.optional_vars for item in getattr(node, "items", ()) if item.optional_vars]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    self._add(part.id, scope, (span,), node)
                    if owner is not None and owner == scope:
                        self._add(f"self.{part.id}", owner, (span,), node)
                elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in _SELF:
                    self._add(f"self.{part.attr}", owner, (span,), node)

    def _extended(self, node: ast.expr | None) -> str | None:
        """The name that `f.defvjp` extends; None for a module, whose functions only receive what is registered."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        name = node.value.id
        return None if name in self.imports and not self.imports[name][1] else name

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.imports[name] = whole.rpartition(".")[2], ""
            else:
                self.imports[name] = (node.module or "").rpartition(".")[2], alias.name

    def _add(
        self, name: str, scope: Span | None, spans: tuple[Span, ...], node: ast.AST | None, is_class: bool = False
    ) -> None:
        uses = _uses(node) if node is not None else ()
        kept = tuple(
            dict.fromkeys(
                (use, line) for use, line in uses if not is_class or any(first <= line <= last for first, last in spans)
            )
        )
        self.definitions.setdefault(name, []).append(Definition(name, scope, spans, kept))


def definitions(files: Mapping[str, ParsedNames], file: str, use: Use, line: int) -> list[tuple[str, Definition]]:
    """The definitions of a name on a line, each with its file; the innermost scope with one wins.

    Args:
        files: parsed files by path.
        file, use, line: the name, and where it is read.

    Example:
        >>> sources = {"a.py": "import b; b.f()", "b.py": "def f(): pass"}
        >>> files = {name: ParsedNames(ast.parse(text)) for name, text in sources.items()}
        >>> [name for name, _ in definitions(files, "a.py", ("b", "f"), 1)]
        ['b.py']
    """
    names = files[file]
    name = f"self.{use[1]}" if use[0] in _SELF and len(use) > 1 else use[0]
    known = [one for one in names.definitions.get(name, ()) if one.scope is None or _is_in(line, one.scope)]
    inner = max((one.scope for one in known), key=lambda scope: scope or (0, 0), default=None)
    here = [(file, one) for one in known if one.scope == inner]
    if inner is not None or use[0] not in names.imports:
        return here
    module, original = names.imports[use[0]]
    found = [(module, original)] if original else [(module, use[1])] if len(use) > 1 else []
    if original and len(use) > 1:  # `from package import module`
        found.append((original, use[1]))
    return here + [
        (path, one)
        for stem, wanted in found
        for path, other in files.items()
        if _stem(path) == stem
        for one in other.definitions.get(wanted, ())
        if one.scope is None
    ]


def _stem(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _is_register(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, (ast.Name, ast.Attribute)) and ast.unparse(called).rpartition(".")[2] == "register"


def _given_name(node: ast.expr) -> str:
    """What a registration calls its function; "" if that is the function's own name."""
    words = [word.value for word in node.keywords if word.arg == "name"] if isinstance(node, ast.Call) else []
    return next((str(word.value) for word in words if isinstance(word, ast.Constant)), "")


def _is_in(line: int, span: Span) -> bool:
    return span[0] <= line <= span[1]


def _last(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _extent(node: ast.stmt | ast.Lambda) -> Span:
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(one.lineno for one in decorators)]), _last(node)


def _of_class(node: ast.ClassDef) -> Iterator[Span]:
    """The spans of a class that run when an instance is made; methods are on the stack when they run."""
    yield _extent(node)[0], node.body[0].lineno - 1 if node.body[0].lineno > node.lineno else node.lineno
    for statement in node.body:
        is_method = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        if not is_method or getattr(statement, "name", "") in _AT_START:
            yield statement.lineno, _last(statement)


def _uses(node: ast.AST) -> Iterator[tuple[Use, int]]:
    """The names read in a node with their lines, in source order."""
    found: list[tuple[int, int, Use]] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            found.append((part.lineno, part.col_offset, (part.value.id, part.attr)))
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.append((part.lineno, part.col_offset, (part.id,)))
    return ((use, line) for line, _, use in sorted(found))
