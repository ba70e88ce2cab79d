"""What is told of the programs of a report: of each one its story, and once what is the same in several of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from hlodiff.diff.compared import Compared
from hlodiff.ir.model import Stage
from hlodiff.report.entries import Entry, Key, Member, entry_of, grouped, in_order, members_of
from hlodiff.report.headline import headline
from hlodiff.report.numbers import many
from hlodiff.report.record import Report
from hlodiff.report.sections import Section, sections

MOST_ENTRIES = 12
"""More than these are told as a digest unless everything was asked for."""
MOST_NAMES = 20
"""Functions that are told by name where nothing else is told of them."""
_FEW = 4  # stories that are told although all that they say stands above them: two functions, both stages of each


@dataclass(frozen=True, slots=True)
class Story:
    """What is said of programs that changed alike: StableHLO is often the same for every target.

    Args:
        name: of the programs.
        stage: their stage.
        targets: those it holds for; () where targets are not known.
        headline: kind and size of the change.
        sections: see `sections`.
        entries: what changed; entries that other stories have too are among them.
        programs: their numbers in the report.
    """

    name: str
    stage: Stage
    targets: tuple[str, ...]
    headline: str
    sections: tuple[Section, ...]
    entries: tuple[Entry, ...]
    programs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """A change that several stories have.

    Args:
        number: what stories refer to it by, from 1.
        stage: of all its programs.
        entry: everything together, in all programs.
        programs: the numbers of its programs.
    """

    number: int
    stage: Stage
    entry: Entry
    programs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """All that a report tells of changed programs.

    Args:
        stories: in the order of the report, StableHLO of each name first.
        shared: changes that programs of at least two names have, those of StableHLO first: what was written.
        repeated: changes that several stories of one name have, numbered behind the shared ones: they are listed in the
            first of these stories.
        patterns: all changes of all programs, each once, shared or not.
    """

    stories: tuple[Story, ...]
    shared: tuple[Shared, ...]
    repeated: tuple[Shared, ...]
    patterns: tuple[Entry, ...]

    def own(self, story: Story) -> tuple[Entry, ...]:
        """The entries that are listed with this story."""
        known = {one.entry.key for one in self.shared}
        known |= {one.entry.key for one in self.repeated if one.programs[0] not in story.programs}
        return tuple(entry for entry in story.entries if entry.key not in known)

    def numbers(self, story: Story) -> tuple[int, ...]:
        """The changes that this story has too and that are listed elsewhere."""
        elsewhere = {entry.key for entry in story.entries} - {entry.key for entry in self.own(story)}
        return tuple(one.number for one in (*self.shared, *self.repeated) if one.entry.key in elsewhere)

    def number(self, entry: Entry) -> int:
        """What other stories refer to an entry by; 0 where none does."""
        return next((one.number for one in self.repeated if one.entry.key == entry.key), 0)


def told_of(report: Report) -> Told:
    """Everything that is to be told of the programs of a report.

    Args:
        report: what a command found out.

    Returns:
        stories, and what they share.

    Example:
        >>> told_of(Report("diff", "a", "b", (Compared("f", "cpu", "compiled", "added"),))).stories
        ()
    """
    by_name: dict[str, list[tuple[int, Compared]]] = {}
    for number, program in enumerate(report.programs):
        by_name.setdefault(program.name, []).append((number, program))
    members: dict[Key, list[Member]] = {}
    found: list[Story] = []
    for name, programs in by_name.items():
        found += _stories(name, programs, report.root, members)
    patterns = {key: entry_of(key, group, report.root) for key, group in members.items()}
    shared, repeated = _shared(found, patterns)
    return Told(tuple(found), shared, repeated, in_order(patterns.values()))


def _stories(
    name: str, programs: Sequence[tuple[int, Compared]], root: str, members: dict[Key, list[Member]]
) -> Iterable[Story]:
    """The stories of one name, equal ones once; programs that are the same only where their target changed."""
    found: dict[object, Story] = {}
    ordered = sorted(programs, key=lambda item: item[1].stage != "stablehlo")
    touched = {program.target for _, program in ordered if differs(program)}
    for number, program in ordered:
        if program.target not in touched or (program.diff is None and program.status != "identical"):
            continue
        groups = grouped(members_of(program.diff.edits if program.diff else (), number), program.stage, root)
        for key, group in groups.items():
            members.setdefault(key, []).extend(group)
        entries = in_order(entry_of(key, group, root) for key, group in groups.items())
        words = headline(program), tuple(sections(program))
        same = repr((program.stage, words, [replace(entry, edits=()) for entry in entries]))
        story = found.get(same) or Story(name, program.stage, (), *words, entries, ())
        targets = (*story.targets, program.target) if program.target else story.targets
        found[same] = replace(story, targets=targets, programs=(*story.programs, number))
    return found.values()


def differs(program: Compared) -> bool:
    """Whether there is anything to tell of a program that both sides have: edits, or another schedule or tuning."""
    diff = program.diff
    return diff is not None and bool(diff.edits or diff.schedule or diff.tuning)


def folded_of(report: Report, told: Told) -> tuple[str, ...]:
    """The names in which nothing changed but what several names share: a row says what is left to say of each.

    Args:
        report: what a command found out.
        told: what `told_of` gives for it.

    Returns:
        names in the order of the report; () where everything is asked for, or where there is little to fold.

    Example:
        >>> report = Report("diff", "a", "b", ())
        >>> folded_of(report, told_of(report))
        ()
    """
    if report.all:
        return ()
    shared = {one.entry.key for one in told.shared}
    held: dict[str, set[Key]] = {}
    for story in told.stories:
        held.setdefault(story.name, set()).update(entry.key for entry in story.entries)
    others = {program.name for program in report.programs if program.status in ("added", "removed")}
    folded = tuple(name for name, keys in held.items() if keys and keys <= shared and name not in others)
    return folded if sum(story.name in folded for story in told.stories) > _FEW else ()


def limits_of(told: Told, names: Collection[str]) -> tuple[str, ...]:
    """Where the differ gave up in functions of which nothing else is told: silence is never "no change".

    Example:
        >>> limits_of(told_of(Report("diff", "a", "b", ())), ["f"])
        ()
    """
    limits: dict[str, dict[str, None]] = {}
    for story in told.stories:
        for line in (line for title, lines in story.sections if title == "limits" for line in lines):
            if story.name in names:
                limits.setdefault(line, {})[story.name] = None
    return tuple(f"{names_in_words(list(found))}: {line}" for line, found in limits.items())


def _shared(stories: Sequence[Story], patterns: dict[Key, Entry]) -> tuple[tuple[Shared, ...], tuple[Shared, ...]]:
    """Changes of several names, largest first, and those of several stories of one name, as they appear."""
    held: dict[Key, list[Story]] = {}
    for story in stories:
        for entry in story.entries:
            held.setdefault(entry.key, []).append(story)
    several = [(patterns[key], by) for key, by in held.items() if len({story.name for story in by}) > 1]
    several.sort(key=lambda item: (item[1][0].stage != "stablehlo", item[0].weight, -item[0].count - item[0].following))
    # A story that is told as a digest lists no single entry that others could refer to.
    repeated = [
        (patterns[key], by)
        for key, by in held.items()
        if len(by) > 1 and len({story.name for story in by}) == 1 and len(by[0].entries) <= MOST_ENTRIES
    ]
    numbered = [
        Shared(number, by[0].stage, entry, tuple(n for story in by for n in story.programs))
        for number, (entry, by) in enumerate([*several, *repeated], 1)
    ]
    return tuple(numbered[: len(several)]), tuple(numbered[len(several) :])


def programs_in_words(report: Report, numbers: Iterable[int], most: int = 3) -> str:
    """Which programs: `6 functions on 3 targets: f, g, h and 3 more`.

    Args:
        report: whose programs they are.
        numbers: of programs in it.
        most: names that are told.

    Example:
        >>> programs = tuple(Compared(name, "cpu", "compiled", "changed") for name in "fg")
        >>> programs_in_words(Report("diff", "a", "b", programs), (0, 1))
        '2 functions on cpu: f, g'
    """
    programs = [report.programs[number] for number in dict.fromkeys(numbers)]
    names = list(dict.fromkeys(program.name for program in programs))
    targets = [target for target in dict.fromkeys(program.target for program in programs) if target]
    what = "function" if targets else "program"
    on = f" on {targets[0] if len(targets) == 1 else many(len(targets), 'target')}" if targets else ""
    if len(names) == 1:
        return f"{names[0]} on {', '.join(targets)}" if targets else names[0]
    return f"{many(len(names), what)}{on}: {names_in_words(names, most)}"


def names_in_words(names: Sequence[str], most: int = 3) -> str:
    """`f, g, h and 3 more`.

    Example:
        >>> names_in_words("fghij")
        'f, g, h and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def shared_in_words(report: Report, shared: Shared) -> str:
    """Which programs have a change, and what `hlodiff accept` calls it where there is something to accept."""
    stage = {"stablehlo": "StableHLO", "compiled": "compiled"}[shared.stage]
    words = f"{stage} of {programs_in_words(report, shared.programs)}"
    return f"{words}, pattern {shared.entry.id}" if any(program.id for program in report.programs) else words
