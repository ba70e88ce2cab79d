"""The report as Markdown: a table of changes, then the details, folded whatever their length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import quote

from hlodiff.differ.classify import CLASSES
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.addresses import fragment, program_address
from hlodiff.report.edits import COSTS, format_beside, format_left, format_listed
from hlodiff.report.findings import first_of_rules, group_findings, group_reasons
from hlodiff.report.function_view import MANY, ChangedLine, ChangeView, FunctionView, Number, ProgramView, StageView
from hlodiff.report.functions import VerdictRow, verdict_rows, without_lines
from hlodiff.report.headline import format_changed, format_meanings, format_totals
from hlodiff.report.lines import bold, clip, code, escape_html, escape_markdown, printable
from hlodiff.report.numbers import MOST_ROWS, by_how_much, is_expression
from hlodiff.report.parts import build_view
from hlodiff.report.report import Report, toolchain_by_kind
from hlodiff.report.scopes import format_scopes
from hlodiff.report.shared_text import MORE, MOST_NAMES
from hlodiff.report.timings import timing_rows
from hlodiff.report.verdict import VERDICT_NAMES, format_legend
from hlodiff.report.view import Detail, FindingView, Group, Overview, ReportView
from hlodiff.report.wording import (
    FORMATS,
    format_bytes,
    format_classes,
    format_names,
    format_pair,
    format_sides,
    format_targets,
    line_in_repository,
    many,
    split_next,
)

WIDEST = 160
_HEAD = ("| edit | times | what | cost | where |", "| --- | ---: | --- | --- | --- |")
_SEVERITIES = {
    "broken": "could not be judged",
    "error": "fails",
    "warning": "warning",
    "info": "note",
}


@dataclass(frozen=True, slots=True)
class Links:
    """Link targets of a table; "" for none.

    Args:
        details: the complete result, such as the CI run.
        page: the HTML page; if given, each row links to its program there instead.
        source: the commit's files, ending in a slash; if given, each Python line links there.
    """

    details: str = ""
    page: str = ""
    source: str = ""


NO_LINKS = Links()
NO_SOURCES: Mapping[str, str] = MappingProxyType({})


def title(view: ReportView) -> list[str]:
    """The heading with the verdict, what was compared, and the differences of the toolchains."""
    sides = "" if view.command == "check" else format_pair(code(view.old), code(view.new))
    lines = [f"### hlodiff: {sides or 'check'}", ""]
    if view.verdict:
        sign = SIGNS[view.functions[0].verdict] if view.functions else ""
        lines = [f"### {f'{sign} hlodiff: '.lstrip()}{escape_markdown(clip(view.verdict, 2 * WIDEST))}", ""]
        lines += [sides, ""] if sides else []
    if len(view.functions) == 1 and view.functions[0].what:
        only = view.functions[0]  # otherwise what happened is only visible when unfolded
        lines += [f"{code(clip(only.name, WIDEST))}: {escape_markdown(clip(only.what, 2 * WIDEST))}", ""]
    lines += [text for line in (() if view.brief else view.written) for text in (*_place(line), *_sources(line), "")]
    if view.verdict and view.next:
        label, command = split_next(view.next)
        lines += [f"{label}: {code(command)}", ""]
    for (kind, targets), changes in toolchain_by_kind(view.toolchain).items():
        words = (f"{escape_markdown(one.what)} {format_pair(code(one.old), code(one.new))}" for one in changes)
        on = f" ({escape_markdown(', '.join(targets))})" if targets else ""
        lines.append(f"- {kind} differs: {', '.join(words)}{on}")
    lines += [f"- {escape_markdown(words)}" for words in view.causes]
    return [*lines, *([""] if view.toolchain else [])]


def totals(view: ReportView, link: str = "") -> str:
    """The last line: the totals, the next command as code if the title has none, and a link to the whole report."""
    following = "" if view.verdict else view.next
    words = format_totals(replace(view, next=following))
    command = split_next(following)[1]
    text = f"{escape_markdown(words.removesuffix(command))}{code(command)}" if command else escape_markdown(words)
    return f"{text} ([details]({link}))" if link else text


def table(every: Sequence[VerdictRow], view: ReportView, links: Links = NO_LINKS, most: int | None = None) -> list[str]:
    """A row for each function and verdict, worst first; rows after the twelfth are folded.

    Args:
        every: all rows.
        view: what a report says.
        links: where its cells lead to.
        most: number of rows to show, without folding; None for all.
    """
    rows = every[:most]
    shown, more = (rows, ()) if most is not None else (rows[:MOST_ROWS], rows[MOST_ROWS:])
    if not shown:
        return []
    sources: dict[str, str] = {}  # the address of each line that a row may show, keyed by its text there
    for where in (*(one.where for one in view.functions), *(one.where for one in view.programs)):
        if links.source and where and (at := line_in_repository(where, view.folder)):
            sources[where.at] = f"{links.source}{quote(at[0])}#L{at[1]}"
    lines = [*verdict_table(shown, links, sources), ""]
    if more:
        names = {name for row in more for name in row.names}
        lines += [f"<details><summary>{many(len(names), 'more function')}</summary>", ""]
        lines += [*verdict_table(more, links, sources), "", "</details>", ""]
    left = {name for row in every[len(rows) :] for name in row.names}
    return [*lines, *([f"... and {many(len(left), 'more function')}{all_of_it(links.details)}", ""] if left else [])]


def numbers_table(view: ReportView, several: int = MANY) -> list[str]:
    """In how many programs each number got worse and better; for reports of `several` functions."""
    if len(view.functions) < several or not view.numbers:
        return []
    lines = ["| number | worse in | better in | most |", "| --- | ---: | ---: | --- |"]
    for one in view.numbers:
        both = (SIGNS["worse"], one.most_worse), (SIGNS["better"], one.most_better)
        most = "<br>".join(f"{sign} {escape_markdown(clip(words, WIDEST))}" for sign, words in both if words)
        lines.append(f"| {escape_markdown(one.name)} | {one.worse:,} | {one.better:,} | {most} |")
    return [*lines, ""]


def all_of_it(link: str) -> str:
    """A link to the whole report, to follow a note on what is not listed; "" without a link.

    Example:
        >>> all_of_it("https://ci.example/report.html")
        ' ([all of it](https://ci.example/report.html))'
    """
    return f" ([all of it]({link}))" if link else ""


def findings(found: Sequence[FindingView], most: int) -> list[str]:
    """A line for each finding with its details, at most `most`; equal findings are one."""
    lines = []
    groups = group_findings(found)
    groups = first_of_rules(groups) if most < len(found) else groups
    for group in groups[:most]:
        finding = group.findings[0]
        text = f"{escape_markdown(finding.rule)}: {escape_markdown(clip(finding.what, 4 * WIDEST))}"
        lines.append(f"- {_SEVERITIES.get(finding.severity, '')}: {bold(clip(group.label, WIDEST))} {text}")
        lines += [f"  - and {many(group.more, 'more finding')} of this rule"] if group.more else []
        lines += [f"  - {escape_markdown(clip(group.of, 4 * WIDEST))}"] if group.of else []
        lines += [f"  - {escape_markdown(clip(detail, 4 * WIDEST))}" for detail in finding.details if detail.strip()]
        lines += [f"  - hint: {code(finding.advice)}"] if finding.advice.strip() else []
    left = sum(len(group.findings) + group.more for group in groups[most:])
    lines += [f"- ... and {many(left, 'more finding')}"] if left > 0 else []
    return [*lines, *([""] if lines else [])]


def not_checked(view: ReportView, most: int) -> list[str]:
    """Reasons with their programs."""
    reasons = group_reasons(view.programs)
    lines = []
    for words, programs in reasons[:most]:
        first = programs[0]
        names = format_names([code(label) for label in dict.fromkeys(one.label for one in programs)])
        lines.append(f"- {words}: {names}: {escape_markdown(clip(first.reason, 2 * WIDEST))}")
        lines += [f"  - hint: {code(clip(first.advice, WIDEST))}"] if first.advice.strip() else []
    left = len(reasons) - most
    lines += [f"- ... and {many(left, 'more reason')}"] if left > 0 else []
    return [*lines, *([""] if lines else [])]


def shared(view: ReportView) -> list[str]:
    """Changes that several functions have."""
    limits = [f"- limits: {escape_markdown(clip(words, 4 * WIDEST))}" for words in view.limits]
    if not view.shared:
        return [*limits, ""] if limits else []
    lines = ["The same in several programs:", "", *_HEAD, *map(_change, view.shared)]
    lines += [f"| ... | | {view.shared_more} more, {MORE} | | |"] if view.shared_more else []
    lines += ["", *limits] if limits else []
    folded = list(dict.fromkeys(code(clip(detail.name, WIDEST)) for detail in view.details if detail.folded))
    names = format_names(folded, MOST_NAMES)
    return [*lines, *(["", f"Nothing but this changed in {names}; --all lists each."] if folded else []), ""]


def listed_details(details: Iterable[Detail]) -> list[Detail]:
    """Details, except of functions in which only shared changes were made."""
    return [detail for detail in details if not detail.folded]


def folds(view: ReportView, unfolded: bool = False) -> list[list[str]]:
    """A fold for each changed function with changes of its own, worst first."""
    if not view.functions:  # a result from an older hlodiff
        return all_details(view, listed_details(view.details), unfolded)
    return [function_fold(one, view, unfolded) for one in view.functions if not one.folded]


def all_details(view: ReportView, details: Sequence[Detail], unfolded: bool = False) -> list[list[str]]:
    """The lines of each program text, folded: numbers before and after, what differs, the changes."""
    # Numbers of the first target: equal programs share one text.
    programs = {(p.name, p.stage, p.target): p for p in reversed(view.programs)}
    first = [detail.targets[0] if detail.targets else None for detail in details]
    known = [programs.get((d.name, d.stage, target)) for d, target in zip(details, first, strict=True)]
    return [_detail(detail, program, unfolded) for detail, program in zip(details, known, strict=True)]


def _detail(detail: Detail, program: ProgramView | None, unfolded: bool) -> list[str]:
    on = format_targets(detail.targets)
    head = escape_html(f"{detail.name}: {STAGE_NAMES[detail.stage]}{on}: {clip(detail.headline, 2 * WIDEST)}")
    lines = [f"<details{' open' if unfolded else ''}><summary>{head}</summary>", "", *_numbers(program)]
    for section in detail.sections:
        lines += [
            f"- {bold(clip(section.title, WIDEST))}: {escape_markdown(clip(line, 4 * WIDEST))}"
            for line in section.lines
        ]
    lines += [f"- **shared**: {escape_markdown(detail.shared)}"] if detail.shared else []
    lines.append("")
    return [*lines, *pattern_groups(detail.groups, detail.more), "</details>", ""]


def _numbers(program: ProgramView | None) -> list[str]:
    """A table of numbers: before, after, change."""
    if program is None or not program.numbers:
        return []
    lines = ["| | before | after | |", "| --- | ---: | ---: | ---: |"]
    for number in program.numbers:
        old, new = _sides(number)
        named = escape_markdown(number.name + number.per)
        lines.append(f"| {named} | {old} | {new} | {_by(number)} |")
    if program.scopes:
        lines += ["", f"Most changed scopes: {escape_markdown(clip(format_scopes(program.scopes), 2 * WIDEST))}"]
    return [*lines, ""]


def pattern_groups(groups: Iterable[Group], more: str = "") -> list[str]:
    """Tables of changes, and the number of unlisted ones."""
    lines: list[str] = []
    for group in groups:
        lines += [bold(clip(group.title, WIDEST)), ""] if group.title.strip() else []
        lines += [*_HEAD, *map(_change, group.changes), ""]
    return [*lines, *([f"... {escape_markdown(more)}", ""] if more else [])]


def _change(change: ChangeView) -> str:
    follows = "; ".join(filter(None, (change.follows, change.passes)))
    what = [code(clip(change.what, WIDEST)), escape_markdown(follows), escape_markdown(change.of)]
    mark = f"{escape_markdown(change.mark)} " if change.mark else ""
    return (
        f"| {mark}{escape_markdown(change.kind)} | {change.count:,} | {'<br>'.join(filter(None, what))} "
        f"| {escape_markdown(change.cost)} | {'<br>'.join(map(code, change.where))} |"
    )


def overview(one: Overview) -> list[str]:
    """All programs of one stage together: the unchanged share, and the largest changes."""
    changed = f"**{STAGE_NAMES[one.stage]}**: {many(one.programs, 'program')} changed"
    same = f"{changed}, the same are {escape_markdown(one.same)}"
    return [same, "", *pattern_groups(one.groups, one.more)]


MOST_FINDINGS = 20
_MOST_CHARACTERS = 60_000  # GitHub accepts comments of 65,536


def to_markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown.

    Args:
        report: what a command found out.

    Returns:
        text ending in a newline; its last line is always the totals. Untrusted names and messages are escaped.

    Example:
        >>> print(to_markdown(Report("diff", "a", "b", ())), end="")
        ### hlodiff: `a` -> `b`
        <BLANKLINE>
        nothing to compare
    """
    return view_to_markdown(build_view(report))


def view_to_markdown(view: ReportView, link: str = "") -> str:
    """`to_markdown` from a view, such as that of a saved result.

    Args:
        view: what a report says.
        link: not used: this form is never truncated.

    Returns:
        text ending in a newline.

    Example:
        >>> view_to_markdown(ReportView("diff", "a", "b", ())).split()[:2]
        ['###', 'hlodiff:']
    """
    return "\n".join(without_blank_items(_lines(view, view.all))) + "\n"


def _lines(view: ReportView, everything: bool) -> Iterator[str]:
    yield from title(view)
    if everything:
        details = [line for lines in all_details(view, listed_details(view.details)) for line in lines]
    else:
        details = [] if view.brief else [line for fold in folds(view) for line in fold]
    listed = [*([] if view.brief else shared(view)), *details]
    if sum(map(len, listed)) > _MOST_CHARACTERS and not everything:
        listed = [line for one in view.overviews for line in overview(one)]
        listed += [f"Details would be longer than {_MOST_CHARACTERS:,} characters: {MORE}.", ""]
    yield from (
        *table(verdict_rows(view.functions, view.programs, view.command), view),
        *numbers_table(view),
    )
    yield from listed
    yield from not_checked(view, MOST_FINDINGS)
    yield from findings(view.further_findings(), len(view.findings))
    yield from closing(view)
    yield totals(view)


def closing(view: ReportView) -> Iterator[str]:
    """Notes, the meaning of costs, and how much was compared."""
    for note in view.notes:
        yield from (f"- note: {escape_markdown(note)}", "")
    if view.functions:
        meanings = format_meanings(view.programs)
        words = ". ".join(filter(None, (format_legend(view.threshold), meanings)))
        yield from (escape_markdown(words), "")
    if any(change.cost for detail in view.details for group in detail.groups for change in group.changes) or any(
        change.cost for change in view.shared
    ):
        yield from (COSTS, "")
    if view.timings:
        yield from (*timing_rows(view.timings), "")
    if view.command == "check":
        yield from (f"checked {escape_markdown(view.checked)}", "")


def without_blank_items(lines: Iterable[str]) -> list[str]:
    """The lines without empty list items, which would make a heading of the line above."""
    return [line for line in lines if line.strip() != "-"]


# --- Changed functions: the table of verdicts, and a self-contained fold for each function.

SIGNS: dict[str, str] = {"worse": "🔴", "better": "🟢", "mixed": "🟡", "same": "⚪"}
"""The mark of each verdict, because Markdown has no colours; always used with the word."""
_LONGEST = 640  # characters of a change: readers skip longer text
_MOST_TARGETS = 3


def verdict_words(verdict: str) -> str:
    """A verdict with its mark: `🔴 worse`; other words are unchanged.

    Example:
        >>> verdict_words("new")
        'new'
    """
    word = VERDICT_NAMES.get(verdict, verdict)
    return f"{SIGNS[verdict]} {word}" if verdict in SIGNS else escape_markdown(word)


def verdict_table(
    rows: Sequence[VerdictRow], links: Links = NO_LINKS, sources: Mapping[str, str] = NO_SOURCES
) -> list[str]:
    """The table of verdicts, at most six columns: function, target, verdict, main change, line, link.

    Args:
        rows: worst first.
        links: targets of the last cells.
        sources: addresses of Python lines.
    """
    if not rows:
        return []
    table = [_cells(row, links, sources) for row in rows]
    kept = [name for name in table[0] if any(cells[name] for cells in table)]
    lines = [f"| {' | '.join(kept)} |", f"|{' --- |' * len(kept)}"]
    return [*lines, *(f"| {' | '.join(cells[name] for name in kept)} |" for cells in table)]


def _cells(row: VerdictRow, links: Links, sources: Mapping[str, str]) -> dict[str, str]:
    """The cells of a row by column."""
    names = [code(clip(name, WIDEST)) for name in row.names[:3]]
    left = len(row.names) - len(names)
    targets = ", ".join(map(code, row.targets))
    if len(row.targets) > _MOST_TARGETS:
        targets = f"{code(row.targets[0])} and {len(row.targets) - 1} more"
    where = code(clip(row.where, 2 * WIDEST)) if row.where else ""
    details = links.details
    if links.page:  # the first program of the row
        address = program_address(row.name, row.targets[0] if row.targets else None)
        details = links.page.partition("#")[0] + fragment(address)
    return {
        "function": ", ".join(names) + (f" and {left:,} more" if left else ""),
        "target": targets,
        "verdict": verdict_words(row.verdict),
        "main change": escape_markdown(clip(row.sides or row.largest, WIDEST)),
        "line": f"[{where}]({sources[row.where]})" if where and row.where in sources else where,
        "link": f"[details]({details})" if details else "",
    }


def function_fold(function: FunctionView, view: ReportView, unfolded: bool = False) -> list[str]:
    """One function as a self-contained fold: nothing in it refers to another fold.

    Changes and edited lines shared with other functions are listed above the folds.

    Args:
        function: a function of the view.
        view: the whole view, for changes shared with other functions.
        unfolded: whether it is open.
    """
    programs = [one for one in view.programs if one.name == function.name]
    head = escape_html(f"{clip(function.name, WIDEST)}: {clip(function.sentence, 2 * WIDEST)}")
    lines = [f"<details{' open' if unfolded else ''}><summary>{SIGNS[function.verdict]} {head}</summary>", ""]
    lines += [escape_markdown(_status(programs)), ""]
    if function.shared:
        lines += [f"Shared with other functions: {escape_markdown(function.shared)}.", ""]
    stages = without_lines(function, view.written).stages
    for stage in stages:
        if stage.stage == "stablehlo":
            lines += [*_stage(stage), ""]
    lines += _numbers_by_target(function)
    lines += [f"Closest budget: {escape_markdown(function.budget)}.", ""] if function.budget else []
    for stage in stages:
        if stage.stage == "compiled":
            lines += [*_stage(stage), ""]
    return [*lines, "</details>", ""]


def _status(programs: Sequence[ProgramView]) -> str:
    """The status by target: `changed on cpu (1a2b3c4d), tpu-v5e: structure, cost (cpu)`, or that no program changed."""
    changed = [one for one in programs if one.status == "changed"]
    if not changed:
        return "unchanged"
    classes = format_classes(((one.target, one.word.split(", ")) for one in changed), CLASSES)
    return ": ".join(filter(None, ("; ".join(format_changed(programs)), classes)))


def _stage(stage: StageView) -> Iterator[str]:
    head = f"**{STAGE_NAMES[stage.stage]}**{escape_markdown(format_targets(stage.targets))}"
    yield f"{head}: {escape_markdown(clip(stage.what, _LONGEST))}" if stage.what else head
    yield ""
    is_written = stage.stage == "stablehlo"
    for line in stage.lines:
        if is_written and line.where:
            yield from (*_place(line), *_sources(line))
        for change in line.changes:
            own = change.where[0] if change.where and line.is_elsewhere else ""
            at = code(clip(own if is_written else line.place_of(change), 2 * WIDEST))
            kind, _, words = format_listed(change).partition(" ")
            beside = format_beside(change, stage.stage)
            cost = f" ({escape_markdown(beside)})" if beside else ""
            yield f"- {escape_markdown(kind)} {code(clip(words, _LONGEST))}{cost}{f' at {at}' if at else ''}"
            if len(change.where) > 1:  # the whole stack, if requested
                yield f"  - {'<br>'.join(map(code, change.where))}"
            if change.passes:
                yield f"  - {escape_markdown(change.passes)}"
        if is_written:
            yield ""
    if stage.left:
        yield f"- {format_left(stage)}, {MORE}"
    yield from (f"- {escape_markdown(note)}" for note in stage.notes)


def _place(line: ChangedLine) -> Iterator[str]:
    where = code(clip(line.where, 2 * WIDEST))
    place = f"was {where}" if line.is_gone else f"{where} (was {code(line.was)})" if line.was else where
    yield f"{place}{line.in_loops}"
    yield ""


def _sources(line: ChangedLine) -> Iterator[str]:
    """The Python line before and after."""
    if line.is_edited:
        yield from (f"- was {code(source)}" for source in line.old_sources)
        yield from (f"- is {code(source)}" for source in line.new_sources)
    elif text := line.new_source:
        yield f"- {code(text)}"


def _numbers_by_target(function: FunctionView) -> list[str]:
    """The numbers of each target before and after, increased costs first."""
    rows = []
    for one in function.targets:
        on = ", ".join(map(code, one.targets))
        for number in one.numbers:
            sign = f" {SIGNS[number.mark]} {number.mark}" if number.mark else ""
            old, new = _sides(number)
            cells = (on, escape_markdown(number.name + number.per), old, new, _by(number) + sign)
            rows.append(f"| {' | '.join(cells)} |")
    below = sum(one.below for one in function.targets)
    lines = ["| target | number | before | after | change |", "| --- | --- | ---: | ---: | --- |", *rows, ""]
    return [*(lines if rows else []), *([f"{many(below, 'number')} changed too little to list.", ""] if below else [])]


def _by(number: Number) -> str:
    return ", ".join(filter(None, (by_how_much(number), escape_markdown(printable(number.besides)))))


def _sides(number: Number) -> tuple[str, str]:
    old, new = format_sides(number.old, number.new, FORMATS[number.unit])
    if is_expression(number):
        old, new = (escape_markdown(printable(words)) for words in (number.old_words, number.new_words))
    if number.old_bytes or number.new_bytes:
        sizes = format_sides(number.old_bytes, number.new_bytes, format_bytes)
        old, new = f"{old} ({sizes[0]})", f"{new} ({sizes[1]})"
    return old, new
