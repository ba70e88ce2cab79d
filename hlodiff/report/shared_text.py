"""What a report says about each changed program, and once about what several programs share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import LimitHit, format_hits
from hlodiff.hlo.model import STAGE_NAMES, Stage
from hlodiff.report.grouping import EditGroup, GroupMember, Key, edit_group_of, grouped, in_order, members_of
from hlodiff.report.headline import headline
from hlodiff.report.report import Report
from hlodiff.report.sections import Section, sections
from hlodiff.report.sentences import program_sentences, sentences_of
from hlodiff.report.wording import format_names, many

MORE = "--all lists everything"
MOST_EDIT_GROUPS = 12
"""More edit groups than this are shown as a digest, unless --all is given."""
MOST_NAMES = 20
"""How many names of folded functions are listed."""
NAMED = re.compile(r"^([\w.-]+) %[\w.-]+(?=[ :,]|$)")
"""An operation with its name, which is another one in another program."""
_FEW = 4  # program texts that are shown although everything in them is listed above: two functions, both stages of each


@dataclass(frozen=True, slots=True)
class ProgramText:
    """What a report says about programs that changed alike: StableHLO is often the same for every target.

    Args:
        name: of the programs.
        stage: their stage.
        targets: those it holds for; () where targets are not known.
        headline: kind and size of the change.
        sections: see `sections`.
        edit_groups: what changed; edit groups that other program texts have too are among them.
        programs: their numbers in the report.
        sentences: what happened to them, most important first, see `sentences_of`.
    """

    name: str
    stage: Stage
    targets: tuple[str, ...]
    headline: str
    sections: tuple[Section, ...]
    edit_groups: tuple[EditGroup, ...]
    programs: tuple[int, ...]
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedText:
    """A change that several program texts have.

    Args:
        number: what program texts refer to it by, from 1.
        stage: of all its programs.
        edit_group: in one program, that with most of it.
        programs: the numbers of its programs.
        of: what that program is called, where it has other numbers than the others; "" else.
    """

    number: int
    stage: Stage
    edit_group: EditGroup
    programs: tuple[int, ...]
    of: str = ""


@dataclass(frozen=True, slots=True)
class ReportTexts:
    """Everything a report says about changed programs.

    Args:
        program_texts: in the order of the report, StableHLO of each name first.
        shared: changes that programs of at least two names have, those of StableHLO first: what was written.
        repeated: changes that several program texts of one name have, numbered after the shared ones and
            listed in the first of these texts.
        patterns: all changes of all programs, each once, shared or not.
    """

    program_texts: tuple[ProgramText, ...]
    shared: tuple[SharedText, ...]
    repeated: tuple[SharedText, ...]
    patterns: tuple[EditGroup, ...]

    def own(self, program_text: ProgramText) -> tuple[EditGroup, ...]:
        """The edit groups that are listed with this program text."""
        known = {one.edit_group.key for one in self.shared}
        known |= {one.edit_group.key for one in self.repeated if one.programs[0] not in program_text.programs}
        return tuple(edit_group for edit_group in program_text.edit_groups if edit_group.key not in known)

    def numbers(self, program_text: ProgramText) -> tuple[int, ...]:
        """The changes that this program text has too and that are listed elsewhere."""
        elsewhere = {edit_group.key for edit_group in program_text.edit_groups} - {
            edit_group.key for edit_group in self.own(program_text)
        }
        return tuple(one.number for one in (*self.shared, *self.repeated) if one.edit_group.key in elsewhere)

    def number(self, edit_group: EditGroup) -> int:
        """What other program texts refer to an edit group by; 0 where none does."""
        return next((one.number for one in self.repeated if one.edit_group.key == edit_group.key), 0)


def texts_of(report: Report) -> ReportTexts:
    """Everything a report says about its changed programs.

    Args:
        report: what a command found out.

    Returns:
        program texts, and what they share.

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
    patterns = {key: edit_group_of(key, group, report.root, report.packages) for key, group in members.items()}
    shared, repeated = _shared(found)
    return ReportTexts(tuple(found), shared, repeated, in_order(patterns.values()))


def _program_texts(
    name: str, programs: Sequence[tuple[int, ProgramComparison]], report: Report, members: dict[Key, list[GroupMember]]
) -> Iterable[ProgramText]:
    """The program texts of one name, equal ones once; programs that are the same only where their target changed."""
    lines = report.root, report.packages
    found: dict[object, ProgramText] = {}
    ordered = sorted(programs, key=lambda item: item[1].stage != "stablehlo")
    touched = {program.target for _, program in ordered if differs(program)}
    for number, program in ordered:
        if program.target not in touched or (program.diff is None and program.status != "identical"):
            continue
        own = members_of(program.diff.reported if program.diff else (), number)
        groups = grouped(own, program.stage, *lines)
        for key, group in groups.items():
            members.setdefault(key, []).extend(group)
        edit_groups = in_order(edit_group_of(key, group, *lines) for key, group in groups.items())
        written = next((one for _, one in programs if (one.stage, one.target) == ("stablehlo", program.target)), None)
        known = program_sentences(program, report.packages)
        words = headline(program, written, report.packages, known), tuple(sections(program))
        same = repr((program.stage, words, [replace(edit_group, edits=()) for edit_group in edit_groups]))
        program_text = found.get(same)
        if program_text is None:
            about = tuple(sentences_of(program, known))
            program_text = ProgramText(name, program.stage, (), *words, edit_groups, (), about)
        targets = (*program_text.targets, program.target) if program.target else program_text.targets
        found[same] = replace(program_text, targets=targets, programs=(*program_text.programs, number))
    return found.values()


def differs(program: ProgramComparison) -> bool:
    """Whether a program that both sides have differs: edits, or a different schedule or tuning."""
    diff = program.diff
    return diff is not None and bool(diff.edits or diff.schedule or diff.tuning)


def folded_of(report: Report, texts: ReportTexts) -> tuple[str, ...]:
    """The names whose only changes are shared with other names: a row is enough for each.

    Args:
        report: what a command found out.
        texts: what `texts_of` gives for it.

    Returns:
        names in the order of the report; () where everything is asked for, or where there is little to fold.

    Example:
        >>> report = Report("diff", "a", "b", ())
        >>> folded_of(report, texts_of(report))
        ()
    """
    if report.all:
        return ()
    shared = {one.edit_group.key for one in texts.shared}
    held: dict[str, set[Key]] = {}
    for program_text in texts.program_texts:
        held.setdefault(program_text.name, set()).update(edit_group.key for edit_group in program_text.edit_groups)
    others = {program.name for program in report.programs if program.status in ("added", "removed")}
    folded = tuple(name for name, keys in held.items() if keys and keys <= shared and name not in others)
    return folded if sum(program_text.name in folded for program_text in texts.program_texts) > _FEW else ()


def limits_of(report: Report, texts: ReportTexts, names: Collection[str]) -> tuple[str, ...]:
    """Where the differ gave up in programs whose details are not shown: silence never means "no change".

    Args:
        report: what a command found out.
        texts: what `texts_of` gives for it.
        names: of folded functions.

    Returns:
        one sentence for each kind of limit, with the functions and the most computations of one of them.

    Example:
        >>> report = Report("diff", "a", "b", ())
        >>> limits_of(report, texts_of(report), ["f"])
        ()
    """
    shown = {number for program_text in texts.program_texts for number in program_text.programs}
    firsts = [program_text.programs[0] for program_text in texts.program_texts if program_text.name in names]
    hidden = [number for number in range(len(report.programs)) if number not in shown]
    hits: dict[object, list[tuple[str, LimitHit]]] = {}
    others: dict[object, list[str]] = {}
    for number in (*firsts, *hidden):
        program = report.programs[number]
        if program.diff is not None:
            for hit in program.diff.limit_hits:
                hits.setdefault(hit.kind, []).append((program.name, hit))
            for words in program.diff.not_known:
                others.setdefault(words, []).append(program.name)
    lines = {format_hits([hit for _, hit in found]): [name for name, _ in found] for found in hits.values()} | others
    return tuple(f"{format_names(list(dict.fromkeys(by)))}: {words}" for words, by in lines.items())


def _shared(program_texts: Sequence[ProgramText]) -> tuple[tuple[SharedText, ...], tuple[SharedText, ...]]:
    """Changes of several names, largest first, and those of several program texts of one name, as they appear."""
    held: dict[Key, list[ProgramText]] = {}
    for program_text in program_texts:
        for edit_group in program_text.edit_groups:
            held.setdefault(edit_group.key, []).append(program_text)
    several = [(_largest(key, by), by) for key, by in held.items() if len({text.name for text in by}) > 1]
    several.sort(key=lambda item: (item[1][0].stage != "stablehlo", item[0][0].weight, -_instructions(item[0][0])))
    # A program text shown as a digest lists no single edit group that others could refer to.
    repeated = [
        (_largest(key, by), by)
        for key, by in held.items()
        if len(by) > 1 and len({text.name for text in by}) == 1 and len(by[0].edit_groups) <= MOST_EDIT_GROUPS
    ]
    numbered = [
        SharedText(number, by[0].stage, edit_group, tuple(n for text in by for n in text.programs), of)
        for number, ((edit_group, of), by) in enumerate([*several, *repeated], 1)
    ]
    return tuple(numbered[: len(several)]), tuple(numbered[len(several) :])


def _largest(key: Key, by: Sequence[ProgramText]) -> tuple[EditGroup, str]:
    """A change in the program that has most of it, and what that is called: no program has the sum over all."""
    groups = [(next(one for one in text.edit_groups if one.key == key), text) for text in by]
    chosen, text = max(groups, key=lambda item: _instructions(item[0]))

    def is_as_large(name: str = "") -> bool:
        others = [one for one, of in groups if name in ("", of.name)]
        return all((one.count, one.follows, one.cost) == (chosen.count, chosen.follows, chosen.cost) for one in others)

    on = "" if is_as_large(text.name) or not any(text.targets) else f" on {text.targets[0]}"
    return replace(chosen, what=NAMED.sub(r"\1", chosen.what)), "" if is_as_large() else f"{text.name}{on}"


def _instructions(edit_group: EditGroup) -> int:
    return edit_group.count + edit_group.following


def format_programs(report: Report, numbers: Iterable[int]) -> str:
    """Which programs: `6 functions on 3 targets: f, g, h and 3 more`.

    Args:
        report: whose programs they are.
        numbers: of programs in it.

    Example:
        >>> programs = tuple(ProgramComparison(name, "cpu", "compiled", "changed") for name in "fg")
        >>> format_programs(Report("diff", "a", "b", programs), (0, 1))
        '2 functions on cpu: f, g'
    """
    programs = [report.programs[number] for number in dict.fromkeys(numbers)]
    names = list(dict.fromkeys(program.name for program in programs))
    targets = [target for target in dict.fromkeys(program.target for program in programs) if target]
    what = "function" if targets else "program"
    on = f" on {targets[0] if len(targets) == 1 else many(len(targets), 'target')}" if targets else ""
    if len(names) == 1:
        return f"{names[0]} on {', '.join(targets)}" if targets else names[0]
    return f"{many(len(names), what)}{on}: {format_names(names, 3)}"


def format_shared(report: Report, shared: SharedText) -> str:
    """Which programs have a change, and what `hlodiff accept` calls it where there is something to accept."""
    words = f"{STAGE_NAMES[shared.stage]} of {format_programs(report, shared.programs)}"
    words += f"; counted in {shared.of}" if shared.of else ""
    return f"{words}, pattern {shared.edit_group.id}" if any(program.id for program in report.programs) else words
