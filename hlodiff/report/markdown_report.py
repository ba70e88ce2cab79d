"""The report as Markdown for a comment or a job summary: a table of what changed, then the details folded."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.diff.compared import Compared
from hlodiff.report.causes import causes_in_words
from hlodiff.report.costs import cost_in_words
from hlodiff.report.digest import Digest, digest_of, share, share_in_words
from hlodiff.report.entries import Entry, follows_in_words
from hlodiff.report.escape import clip, code, markdown, printable
from hlodiff.report.headline import headline
from hlodiff.report.numbers import many
from hlodiff.report.record import Report
from hlodiff.report.stories import MOST_ENTRIES, Story, Told, differs, programs_in_words, told_of
from hlodiff.report.timings import timing_rows
from hlodiff.report.totals import checked_in_words, totals_in_words

_MOST_PROGRAMS = 100
_MOST_EDITS = 20
_MOST_CHARACTERS = 60_000  # GitHub takes comments of 65,536
_MORE = "--all lists everything"
_WIDEST = 160
_WORDS = {"added": "new: no snapshot", "removed": "orphaned"}
_STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}


def to_markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown.

    Args:
        report: what a command found out.

    Returns:
        text ending in a newline; its last line is always the totals. Names and messages of others stand in it as plain
        text, whatever markup they hold.

    Example:
        >>> print(to_markdown(Report("diff", "a", "b", ())), end="")
        ### hlodiff: `a` -> `b`
        <BLANKLINE>
        nothing to compare
    """
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    title = "check" if report.command == "check" else f"{code(report.old)} -> {code(report.new)}"
    yield from (f"### hlodiff: {title}", "")
    for change in report.toolchain:
        on = f" ({markdown(', '.join(change.targets))})" if change.targets else ""
        yield f"- toolchain differs: {markdown(change.what)} {code(change.old)} -> {code(change.new)}{on}"
    for words in causes_in_words(report):
        yield f"- {markdown(words)}"
    if report.toolchain:
        yield ""
    told = told_of(report)
    listed = list(_listed(report, told))
    if sum(map(len, listed)) > _MOST_CHARACTERS and not report.all:
        listed = list(_overview(report, told))
    yield from listed
    yield from _further_findings(report)
    for note in report.notes:
        yield from (f"- note: {markdown(note)}", "")
    if any(any(entry.cost) for entry in told.patterns):
        yield from ("flops and bytes of changes are computed from shapes, cycles are XLA's estimates", "")
    if report.timings:
        yield from (*timing_rows(report.timings), "")
    if report.command == "check":
        yield from (f"checked {markdown(checked_in_words(report))}", "")
    yield markdown(totals_in_words(report)) if not report.next else _totals(report)


def _listed(report: Report, told: Told) -> Iterator[str]:
    """A row for each program, then what several share, then the details of each, folded."""
    yield from _programs(report)
    if told.shared:
        yield from ("The same in several programs:", "", *_HEAD)
        shown = told.shared[: None if report.all else _MOST_EDITS]
        for shared in shown:
            mark = f", pattern {shared.entry.id}" if any(program.id for program in report.programs) else ""
            of = f"{_STAGES[shared.stage]} of {programs_in_words(report, shared.programs)}{mark}"
            yield from _entry(shared.entry, report, f"[{shared.number}] ", of)
        if len(shown) < len(told.shared):
            yield f"| ... | | {len(told.shared) - len(shown)} more, {_MORE} | | |"
        yield ""
    for story in told.stories:
        if any(report.programs[number].status == "changed" for number in story.programs):
            yield from _details(story, told, report)


def _programs(report: Report) -> Iterator[str]:
    rows = [program for program in report.programs if program.status != "identical"]
    if rows:
        yield from ("| program | target | stage | change |", "| --- | --- | --- | --- |")
        yield from (_row(program, report) for program in rows[:_MOST_PROGRAMS])
        if len(rows) > _MOST_PROGRAMS:
            yield f"| ... and {len(rows) - _MOST_PROGRAMS} more, see --format json | | | |"
        yield ""


def _overview(report: Report, told: Told) -> Iterator[str]:
    """Where details would not fit into a comment: what is the same, the largest changes, a row for each program."""
    for stage, word in _STAGES.items():
        numbers = [n for n, program in enumerate(report.programs) if program.stage == stage and differs(program)]
        if numbers:
            same = share_in_words(share(report, numbers))
            yield from (f"**{word}**: {many(len(numbers), 'program')} changed, the same are {same}", "")
            yield from _digest(digest_of([e for e in told.patterns if e.key[0] == stage]), report, programs=True)
    yield from _programs(report)
    yield from (f"Details would be longer than {_MOST_CHARACTERS:,} characters: {_MORE}.", "")


def _further_findings(report: Report) -> Iterator[str]:
    """What was found beside the programs: growth, parity, traces."""
    for finding in report.further_findings():
        on = f" on {finding.target}" if finding.target else ""
        yield f"- **{markdown(finding.program + on)}** {markdown(finding.rule)}: {markdown(finding.what)}"
        yield from (f"  - {markdown(clip(detail, 4 * _WIDEST))}" for detail in finding.details)
        yield from (f"  - hint: {code(finding.advice)}" for _ in range(bool(finding.advice)))
    if report.further_findings():
        yield ""


def _totals(report: Report) -> str:
    words = totals_in_words(report).removesuffix(report.next)
    return f"{markdown(words)}{code(report.next)}"


def _row(program: Compared, report: Report) -> str:
    if program.diff:
        change = markdown(headline(program))
    elif program.status == "not_checked":
        word = "could not be judged" if program.broken else "not checked"
        change = f"{word}: {code(clip(program.reason, _WIDEST))}"
    else:
        change = _WORDS[program.status] if report.command == "check" else program.status
    name = f"{code(program.name)} {program.id}".rstrip()
    return f"| {name} | {code(program.target or '')} | {_STAGES[program.stage]} | {change} |"


def _details(story: Story, told: Told, report: Report) -> Iterator[str]:
    on = f" on {', '.join(story.targets)}" if story.targets else ""
    yield f"<details><summary>{_html(f'{story.name}: {_STAGES[story.stage]}{on}')}</summary>"
    yield ""
    own = told.own(story)
    is_digest = len(own) > MOST_ENTRIES and not report.all
    if is_digest:
        yield f"- **same**: {markdown(share_in_words(share(report, story.programs[:1])))}"
    for title, lines in story.sections:
        yield from (f"- **{title}**: {markdown(clip(line, 4 * _WIDEST))}" for line in lines)
    if told.numbers(story):
        yield f"- **shared**: {markdown(' '.join(f'[{number}]' for number in told.numbers(story)))}"
    yield ""
    if is_digest:
        yield from _digest(digest_of(own), report)
    elif own:
        yield from _HEAD
        for entry in own:
            number = told.number(entry)
            yield from _entry(entry, report, f"[{number}] " if number else "")
    yield from ("", "</details>", "")


_HEAD = ("| edit | times | what | cost | where |", "| --- | ---: | --- | --- | --- |")


def _digest(digest: Digest, report: Report, programs: bool = False) -> Iterator[str]:
    for title, entries in (("bytes", digest.by_bytes), ("count", digest.by_count)):
        if entries:
            yield from (f"Largest changes by {title}:", "", *_HEAD)
        for entry in entries:
            of = programs_in_words(report, (number for number, _ in entry.edits)) if programs else ""
            yield from _entry(entry, report, "", of)
        if entries:
            yield ""
    if digest.others:
        more = f"and {many(digest.others, 'more group')} of {many(digest.untold, 'instruction')}, {_MORE}"
        yield from (f"... {more}", "")


def _entry(entry: Entry, report: Report, mark: str = "", of: str = "") -> Iterator[str]:
    what = [code(clip(entry.what, _WIDEST)), markdown(follows_in_words(entry)), markdown(of)]
    frames = entry.stack if report.stacks else (entry.where,)
    yield (
        f"| {markdown(mark)}{entry.kind} | {entry.count:,} | {'<br>'.join(filter(None, what))} "
        f"| {markdown(cost_in_words(*entry.cost))} | {'<br>'.join(map(code, frames))} |"
    )


def _html(text: str) -> str:
    """Inside an HTML block Markdown is not read, so only HTML must be escaped."""
    return "".join(f"&#{ord(c)};" if c in "&<>@`*_[]\\" else c for c in printable(text))
