"""Report texts of each changed program, with shared changes listed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from operator import attrgetter

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import LimitHit, format_hits
from hlodiff.hlo.model import STAGE_NAMES, Stage
from hlodiff.report.edits import NAMED
from hlodiff.report.function_view import MANY, ChangeView, Section
from hlodiff.report.group_members import GroupMember, members_of
from hlodiff.report.grouping import (
    ELEMENT_TYPES,
    REPLACED,
    EditGroup,
    Key,
    change_view,
    collective_of,
    edit_group_of,
    format_follows,
    grouped,
    in_order,
)
from hlodiff.report.headline import headline
from hlodiff.report.joined_groups import with_both_halves
from hlodiff.report.numbers import sections
from hlodiff.report.order import LITERAL, cause_order
from hlodiff.report.report import Report
from hlodiff.report.sentences import ProgramSentences, program_sentences, sentences_of
from hlodiff.report.whole_fusions import with_whole_cost
from hlodiff.report.whole_program import Nets, compared_with_all, nets_by_operation, undone_in_all
from hlodiff.report.wording import format_names, format_targets, many

MORE = "--all lists everything"
MOST_EDIT_GROUPS = 12
"""More edit groups than this are shown as a digest, unless --all is given."""
MOST_NAMES = 20
"""The most names of folded functions listed."""
_MOST_COUNTED = 2
MOST_SENTENCES = 2
"""The most sentences about a program,"""
MOST_WRITTEN = 6
"""the most listed changes of StableHLO,"""
MOST_COMPILED = 3
"""the most listed changes of the compiled program,"""
MOST_BY_COMPILER = 8
"""or the most if the compiler alone changed it."""


@dataclass(frozen=True)  # without slots, for cached properties that not every form needs
class ProgramText:
    """Report text of programs that changed alike: StableHLO is often the same for every target.

    Args:
        name: name of the programs.
        stage: their stage.
        targets: their targets; () if unknown.
        edit_groups: the changes, including those shared with other program texts.
        programs: their indices in the report.
        program, written: the first of them, and its StableHLO if in the report.
        packages: libraries whose own line is shown, see `shown_place`.
    """

    name: str
    stage: Stage
    targets: tuple[str, ...]
    edit_groups: tuple[EditGroup, ...]
    programs: tuple[int, ...]
    program: ProgramComparison
    written: ProgramComparison | None
    packages: tuple[str, ...]

    @cached_property
    def known(self) -> ProgramSentences:
        """Sentences about the first of them."""
        return program_sentences(self.program, self.packages)

    @cached_property
    def headline(self) -> str:
        """Kind and size of the change."""
        return headline(self.program, self.written, self.packages, self.known)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """See `sections`."""
        return tuple(sections(self.program))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The first sentences about them; of an unchanged program, the differences of schedule or tuning."""
        if self.program.diff is None or self.program.diff.identical:
            return (self.headline,) if differs(self.program) else ()
        return tuple(islice(sentences_of(self.program, self.known), MOST_SENTENCES))


@dataclass(frozen=True, slots=True)
class SharedText:
    """A change shared by several program texts.

    Args:
        number: number by which program texts refer to it, from 1.
        stage: stage of its programs.
        edit_group: its edit group in the program with the most occurrences.
        programs: the indices of its programs.
        of: name of that program if its numbers differ from the others, with the counts of these; else "".
        in_all: what other changes of that program undo of it, as text; "" if they do not.
        joined: the numbers of others that are listed with it, see `with_both_halves`.
    """

    number: int
    stage: Stage
    edit_group: EditGroup
    programs: tuple[int, ...]
    of: str = ""
    in_all: str = ""
    joined: tuple[int, ...] = ()

    @property
    def cost_words(self) -> str:
        """Its cost, and what of it other changes undo."""
        return "; ".join(filter(None, (self.edit_group.cost_words, self.in_all)))

    def view(self, report: Report) -> ChangeView:
        """The change as reports list it."""
        return replace(
            change_view(self.edit_group, report, f"[{self.number}]", format_shared(report, self)), cost=self.cost_words
        )


@dataclass(frozen=True)  # without slots, for the cached patterns that few forms list
class ReportTexts:
    """Report texts of all changed programs.

    Args:
        program_texts: in the order of the report, StableHLO of each name first.
        shared: changes in programs of at least two names, those of StableHLO first.
        repeated: changes in several program texts of one name, numbered after the shared ones and listed in the first
            of these texts.
        members: the edits of all programs by group key.
        report: the report.
    """

    program_texts: tuple[ProgramText, ...]
    shared: tuple[SharedText, ...]
    repeated: tuple[SharedText, ...]
    members: Mapping[Key, list[GroupMember]] = field(repr=False)
    report: Report = field(repr=False)

    @cached_property
    def patterns(self) -> tuple[EditGroup, ...]:
        """All changes of all programs, each once."""
        lines = self.report.root, self.report.packages
        return in_order(edit_group_of(key, group, *lines) for key, group in self.members.items())

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The names whose changes are all shared with other names: a table row each is enough.

        In the order of the report; () if everything is requested, or too few functions changed for a table.
        """
        if self.report.all:
            return ()
        shared = {one.edit_group.key for one in self.shared}
        held: dict[str, set[Key]] = {}
        for program_text in self.program_texts:
            held.setdefault(program_text.name, set()).update(edit_group.key for edit_group in program_text.edit_groups)
        others = {program.name for program in self.report.programs if program.status in ("added", "removed")}
        folded = tuple(name for name, keys in held.items() if keys and keys <= shared and name not in others)
        return folded if len(held.keys() | others) >= MANY else ()

    @cached_property
    def listed(self) -> tuple[SharedText, ...]:
        """The listed shared changes: those of StableHLO, then the largest of the compiled programs.

        Where StableHLO changed, those of the compiled programs account for numbers.
        """
        if self.report.all:
            return self.shared
        written = [one for one in self.shared if one.stage == "stablehlo"]
        compiled = [one for one in self.shared if one.stage == "compiled"]
        is_edited = any(text.stage == "stablehlo" and text.edit_groups for text in self.program_texts)
        if is_edited:
            from hlodiff.report.net_work import NetWork

            left = {*NetWork(self.report).without_undone(one.edit_group for one in written)}
            written = _with_both_halves([one for one in written if one.edit_group in left])
            is_numeric = any("numerics" in self.report.programs[n].classes for one in written for n in one.programs)
            is_retyped = is_numeric and any("convert" in one.edit_group.group[1:3] for one in written)
            work = NetWork(self.report, is_retyped=is_retyped)
            compiled = [one for one in compiled if not work.is_moved(one.edit_group) and work.explains(one.edit_group)]
            compiled = [replace(one, edit_group=with_whole_cost(one.edit_group, self.report)) for one in compiled]
            compiled.sort(key=lambda one: (not work.is_library_call(one.edit_group), -_carried(one.edit_group)))
        compiled = compiled[: MOST_COMPILED if is_edited else MOST_BY_COMPILER]
        chosen = (*written[:MOST_WRITTEN], *sorted(compiled, key=lambda one: one.number))
        nets: dict[int, Nets] = {}
        for number in {number for shared in chosen if shared.stage == "stablehlo" for number in shared.programs}:
            diff = self.report.programs[number].diff
            if diff is not None:
                nets[number] = nets_by_operation(diff)
        return tuple(replace(one, in_all=self._in_all(one, nets)) for one in chosen)

    @cached_property
    def unlisted(self) -> int:
        """How many shared changes are not listed."""
        return len(self.shared) - sum(1 + len(one.joined) for one in self.listed)

    def _in_all(self, shared: SharedText, nets: Mapping[int, Nets]) -> str:
        """What other changes undo of a shared one, with the program that it is of if others differ."""
        first = shared.edit_group.edits[0][0]
        program = self.report.programs[first]
        if shared.stage == "compiled":
            found = "; ".join(words for _, words in compared_with_all([shared.edit_group], first, self.report))
            return found if shared.of or not found else f"{found} in {program.name}"
        words = [undone_in_all(shared.edit_group, nets[number]) for number in (first, *shared.programs)]
        return words[0] if shared.of or len({*words}) == 1 or not words[0] else f"{words[0]} in {program.name}"

    def own(self, program_text: ProgramText) -> tuple[EditGroup, ...]:
        """The edit groups listed with this program text."""
        known = {one.edit_group.key for one in self.shared}
        known |= {one.edit_group.key for one in self.repeated if one.programs[0] not in program_text.programs}
        return tuple(edit_group for edit_group in program_text.edit_groups if edit_group.key not in known)

    def numbers(self, program_text: ProgramText) -> tuple[int, ...]:
        """Numbers of this program text's changes that are listed elsewhere."""
        elsewhere = {edit_group.key for edit_group in program_text.edit_groups} - {
            edit_group.key for edit_group in self.own(program_text)
        }
        return tuple(one.number for one in (*self.shared, *self.repeated) if one.edit_group.key in elsewhere)

    def number(self, edit_group: EditGroup) -> int:
        """The number by which other program texts refer to an edit group; 0 if none does."""
        return next((one.number for one in self.repeated if one.edit_group.key == edit_group.key), 0)

    def limits(self, names: Collection[str]) -> tuple[str, ...]:
        """Search limits hit in programs whose details are not shown: silence never means "no change".

        Args:
            names: names of folded functions.

        Returns:
            one sentence for each kind of limit, with its functions and the largest number of computations in one of
            them.
        """
        shown = {number for program_text in self.program_texts for number in program_text.programs}
        firsts = [program_text.programs[0] for program_text in self.program_texts if program_text.name in names]
        hidden = [number for number in range(len(self.report.programs)) if number not in shown]
        limits = limits_of(self.report.programs[number] for number in (*firsts, *hidden))
        limits |= self._lost_lines()
        return tuple(
            f"{format_names(list(dict.fromkeys(program.name for program in by)))}: {words}"
            for words, by in limits.items()
        )

    def _lost_lines(self) -> dict[str, list[ProgramComparison]]:
        """Files that programs were recorded from with a content that git does not have."""
        found: dict[str, list[ProgramComparison]] = {}
        known = self.report.source_line
        if known is None:
            return found
        for program in self.report.programs:
            for side, file in known.lost_files(program.name, program.target):
                words = f"{('old', 'new')[side]} lines of {file} are of a version that git does not have"
                found.setdefault(f"{words}: it was edited before it was committed", []).append(program)
        return found


def limits_of(programs: Iterable[ProgramComparison]) -> dict[str, list[ProgramComparison]]:
    """Search limits that were hit and what is not known, one sentence of each kind, with the programs that have it.

    Example:
        >>> limits_of([ProgramComparison("f", "cpu", "compiled", "identical")])
        {}
    """
    hits: dict[object, list[tuple[LimitHit, ProgramComparison]]] = {}
    others: dict[str, list[ProgramComparison]] = {}
    for program in programs:
        if program.diff is not None:
            for hit in program.diff.limit_hits:
                hits.setdefault(hit.kind, []).append((hit, program))
            for words in program.diff.not_known:
                others.setdefault(words, []).append(program)
    by_kind = {
        format_hits([hit for hit, _ in found]): list({id(program): program for _, program in found}.values())
        for found in hits.values()
    }
    return by_kind | others


def texts_of(report: Report) -> ReportTexts:
    """Build the report texts of all changed programs.

    Args:
        report: the report.

    Returns:
        program texts, and their shared changes.

    Example:
        >>> texts_of(Report("diff", "a", "b", (ProgramComparison("f", "cpu", "compiled", "added"),))).program_texts
        ()
    """
    by_name: dict[str, list[tuple[int, ProgramComparison]]] = {}
    for number, program in enumerate(report.programs):
        by_name.setdefault(program.name, []).append((number, program))
    members: dict[Key, list[GroupMember]] = {}
    found: list[ProgramText] = []
    for name, programs in by_name.items():
        found += _program_texts(name, programs, report, members)
    held: dict[Key, list[ProgramText]] = {}
    for program_text in found:
        for edit_group in program_text.edit_groups:
            held.setdefault(edit_group.key, []).append(program_text)
    several = [
        (_largest(key, by, members[key], report), by)
        for key, by in held.items()
        if len({text.name for text in by}) > 1 and _is_one_change(key, by)
    ]
    several.sort(key=lambda item: _shared_order(item[0][0], item[1][0].stage, report))
    # A program text shown as a digest lists no edit group that others could refer to.
    repeated = [
        ((_group(key, by[0]), ""), by)
        for key, by in held.items()
        if len(by) > 1
        and len({text.name for text in by}) == 1
        and len(by[0].edit_groups) <= MOST_EDIT_GROUPS
        and len({_printed(_group(key, text)) for text in by}) == 1
    ]
    numbered = tuple(
        SharedText(number, by[0].stage, edit_group, tuple(n for text in by for n in text.programs), of)
        for number, ((edit_group, of), by) in enumerate([*several, *repeated], 1)
    )
    shared = numbered[: len(several)], numbered[len(several) :]
    return ReportTexts(tuple(found), *shared, members, report)


def _program_texts(
    name: str, programs: Sequence[tuple[int, ProgramComparison]], report: Report, members: dict[Key, list[GroupMember]]
) -> Iterator[ProgramText]:
    """The program texts of one name, equal ones once; an unchanged program is only included if its target changed."""
    lines = report.root, report.packages
    found: dict[object, list[ProgramText]] = {}
    touched = {program.target for _, program in programs if differs(program)}
    ordered = [
        (number, program)
        for number, program in sorted(programs, key=lambda item: item[1].stage != "stablehlo")
        if program.target in touched and (program.diff is not None or program.status == "identical")
    ]
    of_stage = Counter(program.stage for _, program in ordered)
    for number, program in ordered:
        own = members_of(program.diff.reported if program.diff else (), number)
        groups = grouped(own, program.stage, *lines)
        for key, group in groups.items():
            members.setdefault(key, []).extend(group)
        is_numeric = "numerics" in program.classes
        edit_groups = in_order(
            edit_group_of(key, group, *lines, is_numeric=is_numeric) for key, group in groups.items()
        )
        written = next((one for _, one in programs if (one.stage, one.target) == ("stablehlo", program.target)), None)
        targets = (program.target,) if program.target else ()
        text = ProgramText(
            name, program.stage, targets, edit_groups, (number,), program, written, tuple(report.packages)
        )
        same: object = program.stage
        if of_stage[program.stage] > 1:  # which of them share a text?
            plain = [replace(edit_group, edits=()) for edit_group in edit_groups]
            same = repr((program.stage, text.headline, text.sections, plain))
        found.setdefault(same, []).append(text)
    for first, *others in found.values():
        on = (*first.targets, *(target for text in others for target in text.targets))
        numbers = (*first.programs, *(number for text in others for number in text.programs))
        yield replace(first, targets=on, programs=numbers) if others else first


def _with_both_halves(shared: Sequence[SharedText]) -> list[SharedText]:
    """Joins what was removed and added at one line of the same programs, as a function's own list does."""
    by_programs: dict[tuple[int, ...], list[SharedText]] = {}
    for one in shared:
        by_programs.setdefault(one.programs, []).append(one)
    found: list[SharedText] = []
    for alike in by_programs.values():
        by_edits = {edit: one for one in alike for edit in one.edit_group.edits}
        for edit_group in with_both_halves([one.edit_group for one in alike], _line_and_types, attrgetter("where")):
            halves = sorted({*map(by_edits.__getitem__, edit_group.edits)}, key=lambda one: one.number)
            counted = {one.of for one in halves if one.of}
            if len(counted) > 1 or len({one.edit_group.count for one in halves}) > 1:  # of two programs, or more of it
                found += halves
                continue
            joined = tuple(one.number for one in halves[1:])
            found.append(replace(halves[0], edit_group=edit_group, of=next(iter(counted), ""), joined=joined))
    return sorted(found, key=lambda one: one.number)


def _line_and_types(edit_group: EditGroup) -> tuple[str, frozenset[str]]:
    return edit_group.where, frozenset(ELEMENT_TYPES.findall(edit_group.what))


def differs(program: ProgramComparison) -> bool:
    """Whether a program that both sides have differs: edits, or a different schedule or tuning."""
    diff = program.diff
    return diff is not None and bool(diff.edits or diff.schedule or diff.tuning)


def format_marks(numbers: Iterable[int], listed: Iterable[SharedText]) -> str:
    """Marks of listed changes, and the number of others: `[1] [4] and 2 more`.

    Example:
        >>> format_marks([1, 2], ())
        '2 that are not listed'
    """
    numbers = sorted(numbers)
    listed = [*listed]
    known = {one.number for one in listed}
    joined = {number for one in listed for number in one.joined}
    marks = " ".join(f"[{number}]" for number in numbers if number in known)
    left = sum(number not in known | joined for number in numbers)
    more = f"{left:,} more" if marks else f"{left:,} that are not listed"
    return " and ".join(filter(None, (marks, more if left else "")))


def _shared_order(edit_group: EditGroup, stage: Stage, report: Report) -> tuple[object, ...]:
    """StableHLO first, causes before consequences; of others and of the compiled programs, the largest first."""
    program, index = edit_group.edits[0]
    diff = report.programs[program].diff
    if stage != "stablehlo" or diff is None:
        return True, 0, edit_group.weight, 0, (), -_instructions(edit_group)
    rank, position = cause_order(edit_group, diff.reported[index], diff)
    return False, min(rank, LITERAL), edit_group.weight, rank, position, -_instructions(edit_group)


def _carried(edit_group: EditGroup) -> int:
    """By how many bytes a change of a collective is more or less; 0 for others."""
    return abs(edit_group.by(lambda cost: cost.collective)) if collective_of(edit_group) else 0


def _group(key: Key, text: ProgramText) -> EditGroup:
    return next(one for one in text.edit_groups if one.key == key)


def _unnamed(edit_group: EditGroup) -> str:
    return NAMED.sub(r"\1", edit_group.what)


def _printed(edit_group: EditGroup) -> tuple[object, ...]:
    """All that is printed of a change."""
    return _unnamed(edit_group), edit_group.count, format_follows(edit_group), edit_group.cost_words


def _is_one_change(key: Key, by: Sequence[ProgramText]) -> bool:
    """Whether a change is the same in all of them.

    Arguments of other shapes, which have no line, are others, and so are fusions in which other operations changed.
    """
    groups = [_group(key, text) for text in by]
    is_changed = groups[0].kind == "changed" and not groups[0].where
    if any(str(opcode).startswith("fusion") for opcode in groups[0].group[1:3]):
        inside = {(one.collective, frozenset(opcode for opcode, _ in one.follows)) for one in groups}
        return len(inside) == 1 and not (is_changed and len({one.what for one in groups}) > 1)
    return not is_changed or len({one.what for one in groups}) == 1


def _largest(
    key: Key, by: Sequence[ProgramText], members: Sequence[GroupMember], report: Report
) -> tuple[EditGroup, str]:
    """A change in the program with the most occurrences, and that program's name: no program has the sum over all.

    Its text is what all have in common if all are as many, else its own; other counts are named with their functions.
    """
    groups = [(_group(key, text), text) for text in by]
    chosen, text = max(groups, key=lambda item: _instructions(item[0]))

    def is_as_large(name: str = "") -> bool:
        alike = (one for one, of in groups if name in ("", of.name))
        return all((one.count, one.follows, one.cost) == (chosen.count, chosen.follows, chosen.cost) for one in alike)

    on = "" if is_as_large(text.name) or not any(text.targets) else f" on {text.targets[0]}"
    of = "" if is_as_large() else f"{text.name}{on}"
    what = _unnamed(chosen)
    if not of and chosen.kind != REPLACED and any(_unnamed(one) != what for one, _ in groups):
        what = _unnamed(edit_group_of(key, members, report.root, report.packages))
    if chosen.kind != REPLACED:  # its text has the numbers of one program
        counted = [(one.count, own) for one, own in groups if own.name != text.name or one.count != chosen.count]
        counted.sort(key=lambda item: item[0])
        others = [item for item in counted if item[0] != chosen.count]
        words = [
            _counted(name, [item for item in counted if item[1].name == name], bool(on) and name == text.name)
            for name in dict.fromkeys(own.name for _, own in others)
        ]
        if len(words) > _MOST_COUNTED:
            words = [f"{_from_to(count for count, _ in others)} in {len(words):,} others"]
        of = ", ".join([of, *words]) if of else ""
    return replace(chosen, what=what), of


def _counted(name: str, found: Sequence[tuple[int, ProgramText]], is_of_targets: bool) -> str:
    """How many of a change a function has; on which of its targets, where another one has been named."""
    targets = [target for _, text in found for target in text.targets] if is_of_targets else []
    return f"{_from_to(count for count, _ in found)} in {name}{format_targets(targets) if targets else ''}"


def _from_to(counts: Iterable[int]) -> str:
    least, *_, most = sorted([*counts] * 2)
    return f"{least:,}x" if least == most else f"{least:,}x to {most:,}x"


def _instructions(edit_group: EditGroup) -> int:
    return edit_group.count + edit_group.following


def format_programs(report: Report, numbers: Iterable[int]) -> str:
    """Programs as text: `6 functions on 3 targets: f, g, h and 3 more`.

    Args:
        report: their report.
        numbers: indices of programs in it.

    Example:
        >>> programs = tuple(ProgramComparison(name, "cpu", "compiled", "changed") for name in "fg")
        >>> format_programs(Report("diff", "a", "b", programs), (0, 1))
        '2 functions on cpu: f, g'
        >>> programs = (*programs, ProgramComparison("g", "tpu-v5e", "compiled", "changed"))
        >>> format_programs(Report("diff", "a", "b", programs), (0, 1, 2))
        '2 functions: f on cpu; g on cpu, tpu-v5e'
    """
    programs = [report.programs[number] for number in dict.fromkeys(numbers)]
    found: dict[str, dict[str, None]] = {}
    for program in programs:
        found.setdefault(program.name, {}).update({program.target: None} if program.target else {})
    targets = list(dict.fromkeys(target for own in found.values() for target in own))
    what = "function" if targets else "program"
    if len(found) == 1:
        return f"{programs[0].name} on {', '.join(targets)}" if targets else programs[0].name
    by_targets: dict[frozenset[str], list[str]] = {}
    for name, own in found.items():
        by_targets.setdefault(frozenset(own), []).append(name)
    if len(by_targets) == 1 or len(by_targets) > _MOST_WAYS:
        most = targets[0] if len(targets) == 1 else many(len(targets), "target")
        on = f" on {'up to ' * (len(by_targets) > 1)}{most}" if targets else ""
        return f"{many(len(found), what)}{on}: {format_names(list(found), 3)}"
    each = (
        f"{format_names(names, 3)}{_on([target for target in targets if target in own])}"
        for own, names in by_targets.items()
    )
    return f"{many(len(found), what)}: {'; '.join(each)}"


_MOST_WAYS = 3
"""The most sets of targets that are listed with their functions."""


def _on(targets: Sequence[str]) -> str:
    return format_targets(targets) if len(targets) < 3 else f" on {many(len(targets), 'target')}"


def format_shared(report: Report, shared: SharedText) -> str:
    """The programs with a change, and its id for `hlodiff accept` if there is something to accept."""
    words = f"{STAGE_NAMES[shared.stage]} of {format_programs(report, shared.programs)}"
    words += f"; counted in {shared.of}" if shared.of else ""
    return f"{words}, pattern {shared.edit_group.id}" if any(program.id for program in report.programs) else words
