"""Pieces of Markdown, made from plain values: comments, summaries and the long report are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlodiff.report.alike import alike, first_of_rules
from hlodiff.report.escape import clip, code, html, markdown
from hlodiff.report.key_numbers import arrow, by_how_much
from hlodiff.report.numbers import many
from hlodiff.report.rows import Row, columns_of, functions_in
from hlodiff.report.scopes import scopes_in_words
from hlodiff.report.sheet import Change, Detail, Group, Overview, Program, Said, Sheet
from hlodiff.report.stories import MOST_NAMES, names_in_words
from hlodiff.report.totals import totals_in_words

STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}
WIDEST = 160
_HEAD = ("| edit | times | what | cost | where |", "| --- | ---: | --- | --- | --- |")
_SEVERITIES = {
    "broken": "could not be judged",
    "error": "fails",
    "warning": "warning",
    "info": "note",
}


def title(sheet: Sheet) -> list[str]:
    """The heading, and what differs between the toolchains."""
    what = "check" if sheet.command == "check" else f"{code(sheet.old)} -> {code(sheet.new)}"
    lines = [f"### hlodiff: {what}", ""]
    for change in sheet.toolchain:
        on = f" ({markdown(', '.join(change.targets))})" if change.targets else ""
        lines.append(f"- toolchain differs: {markdown(change.what)} {code(change.old)} -> {code(change.new)}{on}")
    lines += [f"- {markdown(words)}" for words in sheet.causes]
    return [*lines, *([""] if sheet.toolchain else [])]


def totals(sheet: Sheet, link: str = "") -> str:
    """The last line: the totals, the next command as code, a link to all of it."""
    words = totals_in_words(sheet)
    text = f"{markdown(words.removesuffix(sheet.next))}{code(sheet.next)}" if sheet.next else markdown(words)
    return f"{text} ([details]({link}))" if link else text


def table(rows: Sequence[Row], more: Sequence[Row] = ()) -> list[str]:
    """A row for each function, with those columns in which any row has something; `more` stand folded below."""
    if not rows:
        return []
    columns = columns_of((*rows, *more))
    folded = []
    if more:
        folded = [f"<details><summary>{many(functions_in(more), 'more function')}</summary>", ""]
        folded += [*_table(more, columns), "", "</details>", ""]
    return [*_table(rows, columns), "", *folded]


def _table(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    where = any(row.where for row in rows)
    on = any(row.targets for row in rows)
    head = ["function", *(["target"] if on else []), "change", *columns, *(["where"] if where else [])]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        cells = dict(row.cells)
        told = [
            _names(row),
            *([", ".join(_with_id(*pair) for pair in zip(row.targets, row.ids, strict=True))] if on else []),
            markdown(row.change),
        ]
        told += [markdown(clip(cells.get(column, ""), WIDEST)) for column in columns]
        lines.append(f"| {' | '.join([*told, *([code(clip(row.where, 2 * WIDEST))] if where else [])])} |")
    return lines


def _names(row: Row) -> str:
    """The function; with others of which the same is to be said, the first few and how many more."""
    names = [code(clip(name, WIDEST)) for name in (row.name, *row.also[:2])]
    left = len(row.also) + 1 - len(names)
    return ", ".join(names) + (f" and {left:,} more" if left else "")


def _with_id(target: str, own: str) -> str:
    return f"{code(target)} {markdown(own)}".rstrip()


def findings(found: Sequence[Said], most: int) -> list[str]:
    """A line for each finding with what explains it, at most so many; what says the same of several is one."""
    lines = []
    groups = first_of_rules(alike(found)) if most < len(found) else [(*one, 0) for one in alike(found)]
    for (finding, *_), about, more in groups[:most]:
        told = f"{markdown(finding.rule)}: {markdown(clip(finding.what, 4 * WIDEST))}"
        lines.append(f"- {_SEVERITIES.get(finding.severity, '')}: **{markdown(clip(about.label, WIDEST))}** {told}")
        lines += [f"  - and {many(more, 'more finding')} of this rule"] if more else []
        lines += [f"  - {markdown(clip(about.of, 4 * WIDEST))}"] if about.of else []
        lines += [f"  - {markdown(clip(detail, 4 * WIDEST))}" for detail in finding.details if detail.strip()]
        lines += [f"  - hint: {code(finding.advice)}"] if finding.advice.strip() else []
    left = sum(len(group) + more for group, _, more in groups[most:])
    lines += [f"- ... and {many(left, 'more finding')}"] if left > 0 else []
    return [*lines, *([""] if lines else [])]


def not_checked(sheet: Sheet, most: int) -> list[str]:
    """Reasons with the programs they hold for."""
    reasons: dict[tuple[bool, str, str], dict[str, None]] = {}
    for program in sheet.programs:
        if program.status == "not_checked":
            label = f"{program.name} on {program.target}" if program.target else program.name
            reasons.setdefault((not program.broken, program.reason, program.advice), {})[label] = None
    lines = []
    for (fine, reason, advice), labels in sorted(reasons.items(), key=lambda item: item[0][0])[:most]:
        names = ", ".join(code(label) for label in list(labels)[:3])
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        head = "not checked" if fine else "could not be judged"
        lines.append(f"- {head}: {names}{more}: {code(clip(reason, 2 * WIDEST))}")
        lines += [f"  - hint: {code(clip(advice, WIDEST))}"] if advice.strip() else []
    left = len(reasons) - most
    lines += [f"- ... and {many(left, 'more reason')}"] if left > 0 else []
    return [*lines, *([""] if lines else [])]


def shared(sheet: Sheet) -> list[str]:
    """Changes that several functions have."""
    if not sheet.shared:
        return []
    lines = ["The same in several programs:", "", *_HEAD, *map(_change, sheet.shared)]
    lines += [f"| ... | | {sheet.shared_more} more, --all lists everything | | |"] if sheet.shared_more else []
    lines += ["", *(f"- limits: {markdown(clip(words, 4 * WIDEST))}" for words in sheet.limits)] if sheet.limits else []
    folded = list(dict.fromkeys(code(clip(detail.name, WIDEST)) for detail in sheet.details if detail.folded))
    names = names_in_words(folded, MOST_NAMES)
    return [*lines, *(["", f"Nothing but this changed in {names}; --all lists each."] if folded else []), ""]


def listed(details: Iterable[Detail]) -> list[Detail]:
    """Details without those of functions in which nothing changed but what is shared."""
    return [detail for detail in details if not detail.folded]


def all_details(sheet: Sheet, details: Sequence[Detail], unfolded: bool = False) -> list[list[str]]:
    """The lines of each story, folded: numbers before and after, what differs, the changes."""
    # The numbers are those of the first target: the story is told once because they are the others' too.
    programs = {(p.name, p.stage, p.target): p for p in reversed(sheet.programs)}
    first = [detail.targets[0] if detail.targets else None for detail in details]
    known = [programs.get((d.name, d.stage, target)) for d, target in zip(details, first, strict=True)]
    return [_detail(detail, program, unfolded) for detail, program in zip(details, known, strict=True)]


def _detail(detail: Detail, program: Program | None, unfolded: bool) -> list[str]:
    on = f" on {', '.join(detail.targets)}" if detail.targets else ""
    head = html(f"{detail.name}: {STAGES[detail.stage]}{on}: {clip(detail.headline, 2 * WIDEST)}")
    lines = [f"<details{' open' if unfolded else ''}><summary>{head}</summary>", "", *_numbers(program)]
    for section in detail.sections:
        lines += [f"- **{section.title}**: {markdown(clip(line, 4 * WIDEST))}" for line in section.lines]
    lines += [f"- **shared**: {markdown(detail.shared)}"] if detail.shared else []
    lines.append("")
    return [*lines, *groups(detail.groups, detail.more), "</details>", ""]


def _numbers(program: Program | None) -> list[str]:
    """The table that people write by hand: before, after, by how much."""
    if program is None or not program.numbers:
        return []
    lines = ["| | before | after | |", "| --- | ---: | ---: | ---: |"]
    for number in program.numbers:
        old, new = _sides(number.old, number.new, number.unit)
        if number.old_bytes or number.new_bytes:
            sizes = _sides(number.old_bytes, number.new_bytes, "bytes")
            old, new = f"{old} ({sizes[0]})", f"{new} ({sizes[1]})"
        lines.append(f"| {markdown(number.name)} | {old} | {new} | {by_how_much(number)} |")
    if program.scopes:
        lines += ["", f"Most changed scopes: {markdown(clip(scopes_in_words(program.scopes), 2 * WIDEST))}"]
    return [*lines, ""]


def _sides(old: float, new: float, unit: str) -> tuple[str, str]:
    words = arrow(old, new, "bytes" if unit == "bytes" else "count")
    before, _, after = words.partition(" -> ")
    return before, after or before


def groups(told: Iterable[Group], more: str = "") -> list[str]:
    """Tables of changes, and what is not listed."""
    lines: list[str] = []
    for group in told:
        lines += [f"{group.title}:", ""] if group.title else []
        lines += [*_HEAD, *map(_change, group.changes), ""]
    return [*lines, *([f"... {markdown(more)}", ""] if more else [])]


def _change(change: Change) -> str:
    what = [code(clip(change.what, WIDEST)), markdown(change.follows), markdown(change.of)]
    mark = f"{markdown(change.mark)} " if change.mark else ""
    return (
        f"| {mark}{markdown(change.kind)} | {change.count:,} | {'<br>'.join(filter(None, what))} "
        f"| {markdown(change.cost)} | {'<br>'.join(map(code, change.where))} |"
    )


def overview(told: Overview) -> list[str]:
    """All programs of one stage together: how much is the same, and the largest changes."""
    same = f"**{STAGES[told.stage]}**: {many(told.programs, 'program')} changed, the same are {markdown(told.same)}"
    return [same, "", *groups(told.groups, told.more)]
