"""The report for a terminal: a headline for each changed program, what it means, then the edits."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.diff.compared import Compared
from hlodiff.ir.frames import own_frame, shown_file
from hlodiff.report.alike import alike, first_of_rules
from hlodiff.report.causes import cause_lines, causes_in_words, passing_lines
from hlodiff.report.costs import cost_in_words
from hlodiff.report.digest import Digest, digest_of, share, share_in_words, shares_in_words
from hlodiff.report.entries import Entry, follows_in_words
from hlodiff.report.filling import sheet_of
from hlodiff.report.headline import SAME
from hlodiff.report.lines import Line, laid_out
from hlodiff.report.numbers import many
from hlodiff.report.record import Report
from hlodiff.report.rows import MOST_ROWS, functions_in, row_in_words, rows_of, without_shared
from hlodiff.report.scenarios import checked_scenarios
from hlodiff.report.sheet import Sheet
from hlodiff.report.stories import (
    MOST_ENTRIES,
    MOST_NAMES,
    Story,
    Told,
    differs,
    folded_of,
    limits_of,
    names_in_words,
    programs_in_words,
    shared_in_words,
    told_of,
)
from hlodiff.report.timings import timing_lines
from hlodiff.report.totals import checked_in_words, looked_at, totals_in_words

_MOST_EDITS = 12
_MOST_MORE_EDITS = 6  # of each further story: what was written comes first, then what each compiler made of it
_MOST_GROUPS = 100
_MANY = 4  # functions that changed: more than a reviewer keeps in mind
_MOST_LINES = 300  # what a reviewer still scrolls through; more becomes an overview
_MOST_LINES_OF_LOG = 12
_MOST_FINDINGS = 10  # that say different things, the worst first
_BELOW = 15  # what is said further of an edit stands below its words
_MORE = "--all lists everything"
_COSTS = "flops and bytes of changes are computed from shapes, cycles are XLA's estimates"
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}
_WORDS = {"added": "new: no snapshot", "removed": "orphaned: no such function any more"}
_SEVERITIES = {"warning": "warning: ", "info": "note: "}  # what fails says nothing more
_STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}


def to_terminal(
    report: Report, *, width: int = 100, color: bool = False, footer: bool = True, legend: bool = True
) -> str:
    """The report as text.

    Args:
        report: what a command found out.
        width: columns of the window; long lines are cut or wrapped to it, at least 40.
        color: whether terminal colours may be used. No meaning rests on them.
        footer: whether it ends with how much was compared and the totals, as every report that stands alone does.
        legend: whether it says where flops and bytes come from.

    Returns:
        text ending in a newline; its last line is always the totals.

    Example:
        >>> print(to_terminal(Report("diff", "a", "b", ())), end="")
        nothing to compare
    """
    lines = list(_lines(report, legend))
    return laid_out([*lines, *_checked(report), totals_line(report)] if footer else lines, width=width, color=color)


def lines_of(report: Report) -> tuple[Line, ...]:
    """The report as text, line by line, all but the totals: what is saved to be laid out elsewhere.

    Example:
        >>> lines_of(Report("diff", "a", "b", ()))
        ()
    """
    return (*_lines(report, True), *_checked(report))


def totals_line(report: Report | Sheet) -> Line:
    """The last line of every report that stands alone."""
    return Line(0, totals_in_words(report), style="bold", wrap=True)


def _lines(report: Report, legend: bool) -> Iterator[Line]:
    for change in report.toolchain:
        on = f" ({', '.join(change.targets)})" if change.targets else ""
        yield Line(0, f"toolchain differs: {change.what} {change.old} -> {change.new}{on}", style="bold", wrap=True)
    for words in causes_in_words(report):
        yield Line(0, words, wrap=True)
    if report.toolchain:
        yield Line(0, "")
    told = told_of(report)
    listed = list(_listed(report, told))
    overview = len(listed) > _MOST_LINES and not report.all
    yield from _overview(report, told) if overview else listed
    yield from _in_short(report, told, overview)
    yield from _not_checked(report)
    yield from _further_findings(report)
    for note in report.notes:
        yield Line(0, f"note: {note}", wrap=True)
    if legend and any(cost_in_words(*entry.cost) for entry in told.patterns):
        yield Line(0, _COSTS, wrap=True)
    yield from (Line(0, line) for line in timing_lines(report.timings))


def _checked(report: Report) -> Iterator[Line]:
    if report.command == "check" and (looked_at(report) or checked_scenarios(report.scenarios)):
        yield Line(0, f"checked {checked_in_words(report)}", wrap=True)


def _listed(report: Report, told: Told) -> Iterator[Line]:
    """Changes that several programs share, once; then every function or file with what is its own."""
    yield from _shared(report, told, len(told.shared) if report.all else _MOST_EDITS)
    folded = folded_of(report, told)
    limits = limits_of(told, folded)
    yield from (Line(0, f"limits: {words}", wrap=True) for words in limits)
    yield from [Line(0, "")] if limits else []
    bare = False  # what is new or gone has one line; such lines stand together
    for name, programs in report.by_name().items():
        if any(map(_is_told, programs)) and name not in folded:
            body = list(_body(name, programs, report, told))
            yield from [Line(0, "")] if bare and body else []
            yield from _one(name, programs, report)
            yield from [*body, Line(0, "")] if body else []
            bare = not body
    yield from [Line(0, "")] if bare else []


def _body(name: str, programs: list[Compared], report: Report, told: Told) -> Iterator[Line]:
    """What is told below the name of a function or file."""
    for words in (*passing_lines(report, name), *cause_lines(report, programs)):
        yield Line(2, words, wrap=True)
    most = _MOST_EDITS
    compilers = {program.target for program in programs if program.by_compiler}  # said already: StableHLO is the same
    for story in told.stories:
        is_said = story.headline == SAME and story.stage == "stablehlo" and compilers.issuperset(story.targets)
        if story.name == name and not (is_said and compilers):
            yield from _story(story, told, report, most)
            most = _MOST_MORE_EDITS


def _shared(report: Report, told: Told, most: int) -> Iterator[Line]:
    """Changes that several programs share, each once, with what `hlodiff accept` calls it."""
    if not told.shared:
        return
    yield Line(0, "the same in several programs", style="bold")
    for shared in told.shared[:most]:
        yield from _entry(shared.entry, report, f"[{shared.number}] ")
        yield Line(_BELOW, shared_in_words(report, shared), wrap=True)
    if len(told.shared) > most:
        yield Line(6, f"... and {len(told.shared) - most} more, {_MORE}")
    yield Line(0, "")


def _is_told(program: Compared) -> bool:
    return program.status in ("changed", "added", "removed") or differs(program)


def _one(name: str, programs: list[Compared], report: Report) -> Iterator[Line]:
    """One function or file: what became of it on which targets."""
    targets: dict[str, dict[str, None]] = {}
    for program in programs:
        if program.status in _STYLES:
            mark = f" ({program.id})" if program.id else ""
            targets.setdefault(program.status, {})[f"{program.target or ''}{mark}"] = None
    said = []
    for status, on in targets.items():
        word = _WORDS.get(status, status) if report.command == "check" else status
        said.append(f"{word} on {', '.join(on)}" if any(on) else word)
    style = _STYLES[next(iter(targets))] if targets else ""
    yield Line(0, f"{name}  {'; '.join(said)}", style=f"bold {style}".rstrip(), wrap=True)


def _story(story: Story, told: Told, report: Report, most: int) -> Iterator[Line]:
    on = f" on {', '.join(story.targets)}" if story.targets else ""
    yield Line(2, f"{_STAGES[story.stage]}{on}: {story.headline}", wrap=True)
    own = told.own(story)
    is_digest = len(own) > MOST_ENTRIES and not report.all
    if is_digest:
        yield Line(4, share_in_words(share(report, story.programs[:1])), title="same")
    for title, lines in story.sections:
        for number, line in enumerate(lines):
            yield Line(4, line, title="" if number else title, wrap=True)
    if told.numbers(story):
        yield Line(4, _references(told, story, report), title="shared", wrap=True)
    if is_digest:
        yield from _digest(digest_of(own, (most + 1) // 2), report)
    elif own:
        yield Line(4, "edits")
        for entry in own:
            number = told.number(entry)
            yield from _entry(entry, report, f"[{number}] " if number else "")


def _references(told: Told, story: Story, report: Report) -> str:
    """Which of the changes above: those that were listed by number, the others counted."""
    hidden = [one.number for one in told.shared[_MOST_EDITS:]] if not report.all else []
    words = [f"[{number}]" for number in told.numbers(story) if number not in hidden]
    more = len(told.numbers(story)) - len(words)
    return " ".join([*words, *([f"and {more} more"] if more else [])])


def _digest(digest: Digest, report: Report, programs: bool = False) -> Iterator[Line]:
    for title, entries in (("bytes", digest.by_bytes), ("count", digest.by_count)):
        if entries:
            yield Line(4, f"largest changes by {title}")
        for entry in entries:
            yield from _entry(entry, report)
            if programs:
                yield Line(_BELOW, programs_in_words(report, (number for number, _ in entry.edits)))
    if digest.others:
        words = f"... and {many(digest.others, 'more group')} of {many(digest.untold, 'instruction')}, {_MORE}"
        yield Line(6, words)


def _entry(entry: Entry, report: Report, mark: str = "") -> Iterator[Line]:
    times = f"{entry.count:,}x " if entry.count > 1 else ""
    ends = tuple(word for word in (cost_in_words(*entry.cost), entry.where) if word)
    yield Line(6 - len(mark), f"{mark}{entry.kind:<8} {times}{entry.what}", ends, _STYLES[entry.kind])
    if entry.follows:
        yield Line(_BELOW, follows_in_words(entry), wrap=True)
    for frame in entry.stack if report.stacks else ():
        yield Line(_BELOW + 2, f"at {frame}")


def _overview(report: Report, told: Told) -> Iterator[Line]:
    """Where the list would be too long: what is the same, the largest changes of all programs, a line for each."""
    for stage, word in _STAGES.items():
        numbers = [n for n, program in enumerate(report.programs) if program.stage == stage and differs(program)]
        if not numbers:
            continue
        yield Line(0, f"{word}: {many(len(numbers), 'program')} changed", style="bold")
        yield Line(4, share_in_words(share(report, numbers)), title="same")
        yield from _digest(digest_of([e for e in told.patterns if e.key[0] == stage]), report, programs=True)
        yield Line(0, "")
    if any(program.id for program in report.programs):  # there is something to accept, all of it at once
        yield from _shared(report, told, _MOST_MORE_EDITS)
    yield from _table(report, told)
    for name, programs in report.by_name().items():
        if any(program.status in _WORDS for program in programs):
            yield from _one(name, programs, report)
    yield Line(0, f"too long to list every change here (more than {_MOST_LINES} lines), {_MORE}", wrap=True)
    yield Line(0, "")


def _table(report: Report, told: Told) -> Iterator[Line]:
    """A row for each story, most changed first: how much is the same of instructions and bytes, and the headline."""
    changed = [story for story in told.stories if story.entries]
    changed.sort(key=lambda story: -sum(entry.count + entry.following for entry in story.entries))
    rows = []
    for story in changed[:_MOST_GROUPS]:
        same = shares_in_words(share(report, story.programs[:1]))
        name = " on ".join([story.name, *([", ".join(story.targets)] if story.targets else [])])
        rows.append((name, _STAGES[story.stage], *same, story.headline))
    widths = [max(len(row[n]) for row in rows) for n in range(4)] if rows else []
    yield Line(0, "how much is the same of each, by instructions and by bytes written", style="bold")
    for name, stage, count, size, words in rows:
        text = f"{name:<{widths[0]}}  {stage:<{widths[1]}}  {count:>{widths[2]}}  {size:>{widths[3]}}  {words}"
        yield Line(2, text)
    if len(changed) > _MOST_GROUPS:
        yield Line(2, f"... and {len(changed) - _MOST_GROUPS} more, {_MORE}")


def _in_short(report: Report, told: Told, overview: bool) -> Iterator[Line]:
    """A row for each function, where there are too many to remember, or where nothing else is told of some.

    What a terminal shows last is read first. An overview does not number what is shared, so nothing refers to it.
    """
    changed = {program.name for program in report.programs if program.status in _STYLES}
    folded = folded_of(report, told) if not overview else ()
    if len(changed) < _MANY and not folded:
        return
    rows = rows_of(sheet_of(report, told=told))
    rows = without_shared(rows) if overview else rows
    yield Line(0, "in short", style="bold")
    for row in rows[:MOST_ROWS]:
        yield Line(2, row_in_words(row), (row.where,) if row.where else ())
    if len(rows) > MOST_ROWS:
        yield Line(2, f"... and {functions_in(rows[MOST_ROWS:])} more")
    if folded:
        names = names_in_words(folded, MOST_NAMES)
        yield Line(2, f"nothing but what is shared changed in {names}; --all lists each", wrap=True)
    yield Line(0, "")


def _not_checked(report: Report) -> Iterator[Line]:
    """Reasons with the programs they hold for; one reason often holds for all programs of a target."""
    reasons: dict[tuple[bool, str, str], list[Compared]] = {}
    for program in report.programs:
        if program.status == "not_checked":
            key = (not program.broken, program.reason, program.advice)
            reasons.setdefault(key, []).append(program)
    for (fine, reason, advice), programs in sorted(reasons.items(), key=lambda item: item[0][0]):
        log = programs[0].log
        labels = list(dict.fromkeys(program.label for program in programs))
        many = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        head = "not checked" if fine else "could not be judged"
        yield Line(0, f"{head}: {', '.join(labels[:3])}{many}", style="" if fine else "bold red", wrap=True)
        for part in reason.split("\n"):
            yield Line(2, part, wrap=True)
        if advice:
            yield Line(2, f"hint: {advice}", wrap=True)
        for part in log.rstrip().split("\n")[-_MOST_LINES_OF_LOG:] if log else []:
            yield Line(4, f"| {part}")
        yield Line(0, "")


def _further_findings(report: Report) -> Iterator[Line]:
    """What was found beside the programs: budgets, rules, growth, parity, traces. What says the same is said once."""
    styles = {"broken": "bold red", "error": "bold yellow"}
    all_groups = alike(report.further_findings())
    groups = [(*one, 0) for one in all_groups] if report.all else first_of_rules(all_groups)
    shown = groups if report.all else groups[:_MOST_FINDINGS]
    for group, about, more in shown:
        finding = group[0]
        word = _SEVERITIES.get(finding.severity, "")
        head = f"{about.label}  {word}{finding.rule}: {finding.what}"
        yield Line(0, head, style=styles.get(finding.severity, ""), wrap=True)
        if more:
            yield Line(2, f"and {many(more, 'more finding')} of this rule, {_MORE}")
        if about.of:
            yield Line(2, about.of, wrap=True)
        for detail in finding.details:
            yield Line(2, detail, wrap=True)
        frames = list(dict.fromkeys(own_frame(one.source) for one in group))
        if frame := frames[0]:
            others = f" and {many(len(frames) - 1, 'other place')}" if len(frames) > 1 else ""
            place = f"{shown_file(frame.file, report.root)}:{frame.line} ({frame.function})"
            yield Line(2, f"at {place}{others}", wrap=True)
        if finding.advice:
            yield Line(2, f"hint: {finding.advice}", wrap=True)
        yield Line(0, "")
    left = sum(len(group) + more for group, _, more in groups[len(shown) :])
    if left:
        yield Line(0, f"... and {many(left, 'more finding')}, {_MORE}")
        yield Line(0, "")
