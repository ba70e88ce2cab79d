"""The report as Markdown for a comment or a job summary: a table of what changed, then the details folded."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.diff.compared import Compared
from hlodiff.report.escape import clip, code, markdown, printable
from hlodiff.report.headline import headline
from hlodiff.report.record import Report
from hlodiff.report.sections import Story, stories
from hlodiff.report.totals import checked_in_words, totals_in_words

_MOST_PROGRAMS = 100
_MOST_EDITS = 20
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
    if report.toolchain:
        yield ""
    told = [program for program in report.programs if program.status != "identical"]
    if told:
        yield from ("| program | target | stage | change |", "| --- | --- | --- | --- |")
        yield from (_row(program, report) for program in told[:_MOST_PROGRAMS])
        if len(told) > _MOST_PROGRAMS:
            yield f"| ... and {len(told) - _MOST_PROGRAMS} more, see --format json | | | |"
        yield ""
    for name, programs in list(report.by_name().items())[:_MOST_PROGRAMS]:
        for story in stories((p for p in programs if p.status == "changed"), report.root):
            yield from _details(name, story)
    for note in report.notes:
        yield from (f"- note: {markdown(note)}", "")
    if report.command == "check":
        yield from (f"checked {markdown(checked_in_words(report))}", "")
    yield markdown(totals_in_words(report)) if not report.next else _totals(report)


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
    return f"| {code(program.name)} | {code(program.target or '')} | {_STAGES[program.stage]} | {change} |"


def _details(name: str, story: Story) -> Iterator[str]:
    on = f" on {', '.join(story.targets)}" if story.targets else ""
    yield f"<details><summary>{_html(f'{name}: {_STAGES[story.stage]}{on}')}</summary>"
    yield ""
    for title, lines in story.sections:
        yield from (f"- **{title}**: {markdown(clip(line, 4 * _WIDEST))}" for line in lines)
    yield ""
    if story.edits:
        yield from ("| edit | times | what | where |", "| --- | ---: | --- | --- |")
    for row in story.edits[:_MOST_EDITS]:
        yield f"| {row.kind} | {row.count} | {code(clip(row.what, _WIDEST))} | {code(row.where)} |"
    if len(story.edits) > _MOST_EDITS:
        yield f"| ... | | {len(story.edits) - _MOST_EDITS} more, see --format json | |"
    yield from ("", "</details>", "")


def _html(text: str) -> str:
    """Inside an HTML block Markdown is not read, so only HTML must be escaped."""
    return "".join(f"&#{ord(c)};" if c in "&<>@`*_[]\\" else c for c in printable(text))
