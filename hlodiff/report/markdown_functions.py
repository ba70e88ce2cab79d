"""Changed functions as Markdown: the table of verdicts, and for each function a fold that stands by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.addresses import fragment, program_address
from hlodiff.report.functions import VerdictRow, format_beside, format_listed
from hlodiff.report.lines import clip, code, escape_html, escape_markdown, printable
from hlodiff.report.numbers import by_how_much, is_expression
from hlodiff.report.shared_text import MORE
from hlodiff.report.view import ChangedLine, ChangeView, FunctionView, Number, ProgramView, ReportView, StageView
from hlodiff.report.wording import FORMATS, format_bytes, format_sides, format_targets, many

SIGNS: dict[str, str] = {"worse": "🔴", "better": "🟢", "mixed": "🟡", "same": "⚪"}
"""The mark of each verdict where Markdown has no colours; the word stands beside it."""
ROW_WORDS = {"check": {"added": "new", "removed": "orphaned"}, "diff": {"added": "added", "removed": "removed"}}
"""What each command calls programs of one side."""
_WIDEST = 160
_LONGEST = 640  # of a change: more is no prose that a reader takes in
_MOST_TARGETS = 3


def verdict_words(verdict: str) -> str:
    """A verdict with its mark: `🔴 worse`; other words as they are.

    Example:
        >>> verdict_words("new")
        'new'
    """
    word = "same cost" if verdict == "same" else verdict
    return f"{SIGNS[verdict]} {word}" if verdict in SIGNS else escape_markdown(word)


def verdict_table(rows: Sequence[VerdictRow], link: str = "", page: str = "") -> list[str]:
    """The table of verdicts, at most six columns: function, target, verdict, largest change, line, link.

    Args:
        rows: worst first.
        link: address of all of it, such as the CI run; "" where there is none.
        page: address of the HTML page: each row then links to its program there.
    """
    if not rows:
        return []
    columns = {
        "function": [_names(row) for row in rows],
        "target": [_targets(row.targets) for row in rows],
        "verdict": [verdict_words(row.verdict) for row in rows],
        "largest change": [escape_markdown(clip(row.largest, _WIDEST)) for row in rows],
        "line": [code(clip(row.where, 2 * _WIDEST)) if row.where else "" for row in rows],
    }
    if link or page:
        columns["link"] = [f"[details]({_on_page(row, page) if page else link})" for row in rows]
    kept = [name for name, cells in columns.items() if any(cells)]
    lines = [f"| {' | '.join(kept)} |", f"|{' --- |' * len(kept)}"]
    return [*lines, *(f"| {' | '.join(columns[name][n] for name in kept)} |" for n in range(len(rows)))]


def _on_page(row: VerdictRow, page: str) -> str:
    """Where the page has the first program of a row."""
    address = program_address(row.name, row.targets[0] if row.targets else None)
    return page.partition("#")[0] + fragment(address)


def _names(row: VerdictRow) -> str:
    """The function; with others of the same row: the first few and how many more."""
    names = [code(clip(name, _WIDEST)) for name in (row.name, *row.also[:2])]
    left = len(row.also) + 1 - len(names)
    return ", ".join(names) + (f" and {left:,} more" if left else "")


def _targets(targets: Sequence[str]) -> str:
    if len(targets) > _MOST_TARGETS:
        return f"{code(targets[0])} and {len(targets) - 1} more"
    return ", ".join(map(code, targets))


def function_fold(function: FunctionView, view: ReportView, unfolded: bool = False) -> list[str]:
    """Everything about one function that a reviewer reads first, folded: nothing in it refers to another fold.

    Args:
        function: one of the view's.
        view: the whole report, for changes that other functions have too.
        unfolded: whether it is open.
    """
    programs = [one for one in view.programs if one.name == function.name]
    head = escape_html(f"{clip(function.name, _WIDEST)}: {clip(function.sentence, 2 * _WIDEST)}")
    lines = [f"<details{' open' if unfolded else ''}><summary>{SIGNS[function.verdict]} {head}</summary>", ""]
    lines += [escape_markdown(_status(programs)), ""]
    if function.shared:
        lines += [f"Also the shared changes {escape_markdown(function.shared)} listed above the folds.", ""]
    for stage in function.stages:
        if stage.stage == "stablehlo":
            lines += [*_stage(stage), ""]
    lines += _numbers(function)
    lines += [f"Closest budget: {escape_markdown(function.budget)}.", ""] if function.budget else []
    for stage in function.stages:
        if stage.stage == "compiled":
            lines += [*_stage(stage), ""]
    return [*lines, "</details>", ""]


def _status(programs: Sequence[ProgramView]) -> str:
    """`changed on cpu (1a2b3c4d), tpu-v5e: structure, cost`."""
    changed = [one for one in programs if one.status == "changed"]
    on = dict.fromkeys(f"{one.target or ''}{f' ({one.id})' if one.id else ''}" for one in changed)
    kinds = dict.fromkeys(word for one in reversed(changed) for word in one.word.split(", ") if word)
    words = "changed" + format_targets(tuple(on))
    return f"{words}: {', '.join(kinds)}" if kinds else words


def _stage(stage: StageView) -> Iterator[str]:
    head = f"**{STAGE_NAMES[stage.stage]}**{escape_markdown(format_targets(stage.targets))}"
    yield f"{head}: {escape_markdown(clip(stage.what, _LONGEST))}" if stage.what else head
    yield ""
    for line in stage.lines:
        yield from _line(line, stage)
    if stage.left:
        yield f"- ... and {many(stage.left, 'more change')}, {MORE}"
    yield from (f"- {escape_markdown(note)}" for note in stage.notes)


def _line(line: ChangedLine, stage: StageView) -> Iterator[str]:
    is_written = stage.stage == "stablehlo"
    where = code(clip(line.where, 2 * _WIDEST)) if line.where else ""
    if is_written and where:
        yield f"{where} (was {code(line.was)})" if line.was else where
        yield ""
        yield from _sources(line)
    for change in line.changes:
        own = code(change.where[0]) if change.where and line.is_elsewhere else ""
        yield from _change(change, stage.stage, own if is_written else where)
    if is_written:
        yield ""


def _sources(line: ChangedLine) -> Iterator[str]:
    """The line of Python before and after."""
    if line.old_source != line.new_source:
        yield from [f"- was {code(line.old_source)}"] if line.old_source else []
        yield from [f"- is {code(line.new_source)}"] if line.new_source else []
    elif text := line.new_source:
        yield f"- {code(text)}"


def _change(change: ChangeView, stage: str, where: str) -> Iterator[str]:
    kind, _, words = format_listed(change).partition(" ")
    beside = format_beside(change, stage)
    cost = f" ({escape_markdown(beside)})" if beside else ""
    yield f"- {escape_markdown(kind)} {code(clip(words, _LONGEST))}{cost}{f' at {where}' if where else ''}"
    if len(change.where) > 1:  # the whole stack, where that was asked for
        yield f"  - {'<br>'.join(map(code, change.where))}"
    if change.passes:
        yield f"  - {escape_markdown(change.passes)}"


def _numbers(function: FunctionView) -> list[str]:
    """The numbers of each target before and after, those that cost more first."""
    rows = []
    for one in function.targets:
        on = ", ".join(map(code, one.targets))
        for number in one.numbers:
            sign = f"{SIGNS[number.mark]} {number.mark}" if number.mark else ""
            old, new = _sides(number)
            cells = (on, escape_markdown(number.name + number.per), old, new, by_how_much(number), sign)
            rows.append(f"| {' | '.join(cells)} |")
    below = sum(one.below for one in function.targets)
    lines = ["| target | number | before | after | change | |", "| --- | --- | ---: | ---: | ---: | --- |", *rows, ""]
    return [*(lines if rows else []), *([f"{many(below, 'number')} below the threshold.", ""] if below else [])]


def _sides(number: Number) -> tuple[str, str]:
    old, new = format_sides(number.old, number.new, FORMATS[number.unit])
    if is_expression(number):
        old, new = (escape_markdown(printable(words)) for words in (number.old_words, number.new_words))
    if number.old_bytes or number.new_bytes:
        sizes = format_sides(number.old_bytes, number.new_bytes, format_bytes)
        old, new = f"{old} ({sizes[0]})", f"{new} ({sizes[1]})"
    return old, new
