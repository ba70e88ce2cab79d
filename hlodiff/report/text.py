"""The report for a terminal: a headline for each changed program, its meaning, then the edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

from hlodiff.differ.classify import CLASSES
from hlodiff.differ.comparison import ProgramComparison, Status
from hlodiff.differ.result import ModuleDiff
from hlodiff.hlo.metadata import own_frame, shown_file
from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.policy.findings import end_of_log
from hlodiff.report.digest import digest_of
from hlodiff.report.edits import COSTS, format_beside, format_left, format_listed
from hlodiff.report.function_view import (
    MANY,
    OTHER_LINES,
    ChangedLine,
    ChangeView,
    FunctionView,
    NumberTotals,
    ProgramView,
    StageView,
)
from hlodiff.report.functions import overall, totals_by_number, verdict_rows, without_lines
from hlodiff.report.grouping import EditGroup, format_follows
from hlodiff.report.headline import (
    SAME,
    checked_scenarios,
    format_changed,
    format_checked,
    format_meanings,
    format_totals,
    looked_at,
)
from hlodiff.report.lines import NEXT, Line, lay_out, lay_out_html
from hlodiff.report.numbers import MOST_ROWS, format_share, format_shares, share
from hlodiff.report.parts import ReportParts
from hlodiff.report.report import Report, cause_lines, format_causes, toolchain_by_kind
from hlodiff.report.shared_text import (
    MORE,
    MOST_NAMES,
    ReportTexts,
    differs,
    format_marks,
    format_programs,
    format_shared,
)
from hlodiff.report.timings import run_lines, timing_lines
from hlodiff.report.verdict import (
    MARKS,
    STYLES,
    VERDICT_NAMES,
    format_legend,
    format_numbers,
    other_memory,
    other_work,
    unlisted,
)
from hlodiff.report.wording import format_classes, format_names, format_next, format_pair, format_targets, many

if TYPE_CHECKING:
    from hlodiff.report.view import ReportView

_MOST_GROUPS = 100
_MOST_BRIEFLY = 8
_WIDEST_TARGETS, _WIDEST_CELL, _WIDEST_NAMES = 32, 48, 20
_MOST_LINES = 300  # as far as a reviewer scrolls; longer reports become an overview
_MOST_FINDINGS = 10  # distinct ones, worst first
_MOST_AT_A_GLANCE = 10  # lines, so that the last one, with the next command, is visible together with the first
_MOST_ON_A_SCREEN = 40
_BELOW = 15  # indentation of further lines about an edit
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan", "replaced": "yellow"}
_WORDS = {"added": "new: no snapshot", "removed": "orphaned: no longer registered"}
_SEVERITIES = {"warning": "warning: ", "info": "note: "}  # failing ones have no prefix


def to_terminal(
    report: Report,
    *,
    width: int = 100,
    color: bool = False,
    footer: bool = True,
    legend: bool = True,
    meanings: bool = True,
    parts: ReportParts | None = None,
) -> str:
    """The report as text.

    Args:
        report: the report.
        width: columns of the window, at least 40; long lines are truncated or wrapped.
        color: whether to use terminal colours. They carry no meaning of their own.
        footer: whether to end with how much was compared and the totals, as every complete report does.
        legend: whether to explain marks, and where flops and bytes come from.
        meanings: whether to explain the classes of changes.
        parts: those of the report, if shared among several forms.

    Returns:
        text ending in a newline; its last line is always the totals.

    Example:
        >>> print(to_terminal(Report("diff", "a", "b", ())), end="")
        nothing to compare
    """
    lines = [*_lines(parts or ReportParts(report), legend, meanings), *(_checked(report) if footer else ())]
    return lay_out(_with_next(lines, report, width, footer), width=width, color=color)


def saved_to_terminal(view: ReportView, *, width: int = 100, color: bool = False) -> str:
    """The text of a saved result, laid out for this window.

    Example:
        >>> from hlodiff.report.view import ReportView
        >>> saved_to_terminal(ReportView("diff", "a", "b", ()))
        'nothing to compare\\n'
    """
    return lay_out(_with_next(view.text, view, width), width=width, color=color)


def lines_of(parts: ReportParts) -> tuple[Line, ...]:
    """The lines of the report except the totals, saved to be laid out elsewhere.

    Example:
        >>> lines_of(ReportParts(Report("diff", "a", "b", ())))
        ()
    """
    return (*_lines(parts), *_checked(parts.report))


def whole_lines(report: Report, width: int) -> tuple[Line, ...]:
    """The complete report as lines, for a width in columns.

    Example:
        >>> [line.text for line in whole_lines(Report("diff", "a", "b", ()), 80)]
        ['nothing to compare']
    """
    return tuple(_with_next(lines_of(ReportParts(report)), report, width))


def _with_next(lines: Iterable[Line], report: Report | ReportView, width: int, footer: bool = True) -> list[Line]:
    """The lines followed by the totals, with the next command where it is visible; once in a report of one screen.

    A report of a few lines ends with it. A longer one shows it below the verdict. One of several screens also ends with
    it, because its first lines have scrolled away. Lines of a saved result have only its position: a command from a
    file is only shown if it is known.
    """
    lines = list(lines)
    shown = [line for line in lines if line.style != NEXT]
    rows = len(shown)
    if rows <= _MOST_ON_A_SCREEN:  # long lines take several rows
        rows = max(rows, len(lay_out(shown, width=width).splitlines()))
    is_said = bool(report.next) and rows >= _MOST_AT_A_GLANCE and len(shown) < len(lines)
    placed = [
        line if line.style != NEXT else Line(line.indent, format_next(report.next), wrap=True)
        for line in lines
        if line.style != NEXT or is_said
    ]
    if footer:
        ends_with_next = not is_said or rows > _MOST_ON_A_SCREEN
        totals = format_totals(report if ends_with_next else replace(report, next=""))
        placed.append(Line(0, totals, style="bold", wrap=True))
    return placed


def _lines(parts: ReportParts, legend: bool = True, meanings: bool = True) -> Iterator[Line]:
    report, texts = parts.report, parts.texts
    changed = any(_is_listed(program) or other_memory(program, report.threshold) for program in report.programs)
    programs, functions, written = parts.functions if changed else ((), (), ())
    if len(functions) > 1:
        words, style = f"{MARKS[functions[0].verdict]} {overall(functions)}", STYLES[functions[0].verdict]
        yield Line(0, words, style=style, wrap=True)
    listed = list(_changed_functions(texts, functions, written)) if changed and not report.brief else []
    is_short = len(listed) <= _MOST_LINES or report.all
    is_followed = (legend or meanings) and len(functions) == 1 and is_short and _ends_with_it(report)
    listed = listed[:-1] if is_followed else listed  # its lines are indented, what follows is not
    for line in () if report.brief else written:  # edited lines that changed several functions
        yield Line(2, _place(line), wrap=True)
        yield from _sources(line, 4)
    if len(functions) != 1 or not (listed and is_short):  # a single function shows the cause below its verdict
        yield from _toolchain_lines(report)
        yield from (Line(0, words, wrap=True) for words in format_causes(report))
    if report.next and len(functions) > 1 and not report.brief:
        yield Line(0, "", style=NEXT)
    if len(functions) > 1 or (report.toolchain and not (functions and listed and is_short)):
        yield Line(0, "")
    if changed and len({*(one.name for one in functions), *_one_sided(report)}) >= MANY:
        yield from _in_short(report.command, functions, programs)
    if not changed or report.brief:  # without details: silence never means "no change"
        limits = texts.limits({program.name for program in report.programs})
        yield from (Line(0, f"limits: {words}", wrap=True) for words in limits)
    if changed and report.brief:
        yield from _briefly(report, functions)
    elif changed:
        yield from listed if is_short else _overview(texts)
    if any(program.status == "not_checked" for program in report.programs):
        yield from _not_checked(report)
    yield from _further_findings(report) if report.findings else ()
    for note in report.notes:
        yield Line(0, f"note: {note}", wrap=True)
    if legend and any(one.targets for one in functions):
        # Numbers that no row of a target lists; equal ones on several targets count once.
        has_rows = is_short and not (report.brief or report.all)  # else none, or all numbers of each program
        of_functions = [one.targets for one in functions if has_rows and one.name not in texts.folded]
        of_targets = [*chain(*of_functions)]
        below, small = sum(one.below - len(one.small) for one in of_targets), chain(*(one.small for one in of_targets))
        neither = chain(*(unlisted(one.numbers) for one in of_targets))
        unmarked = (number.least for one in of_targets for number in one.numbers if number.least)
        yield Line(0, format_legend(report.threshold, below, small, neither, unmarked), wrap=True)
    if meanings and (words := format_meanings(programs)):
        yield Line(0, words, wrap=True)
    if legend and report.all:
        listed_lines = (line for one in functions for stage in one.stages for line in stage.lines)
        if any(change.cost for line in listed_lines for change in line.changes):
            yield Line(0, COSTS, wrap=True)
    yield from (Line(0, line) for line in timing_lines(report.timings)) if report.timings else ()
    yield from (Line(0, line) for line in run_lines(report.run_parts)) if report.run_parts else ()


def _ends_with_it(report: Report) -> bool:
    """Whether the changed functions are all that a report lists."""
    is_listed = {"not_checked", "added", "removed"}.isdisjoint(program.status for program in report.programs)
    return is_listed and not report.further_findings() and not report.notes


def _toolchain_lines(report: Report, indent: int = 0, sentence: str = "") -> Iterator[Line]:
    """Differences between the toolchains not reported yet, a line for each kind and its targets."""
    for (kind, targets), changes in toolchain_by_kind(report.toolchain).items():
        words = [f"{change.what} {format_pair(change.old, change.new)}" for change in changes]
        further = ", ".join(one for one in words if one not in sentence)
        if further:
            on = f" ({', '.join(targets)})" if targets else ""
            yield Line(indent, f"{kind} differs: {further}{on}", style="" if indent else "bold", wrap=True)


def _one_sided(report: Report) -> set[str]:
    return {program.name for program in report.programs if program.status in ("added", "removed")}


def _checked(report: Report) -> Iterator[Line]:
    if report.command == "check" and (looked_at(report) or checked_scenarios(report.scenarios)):
        yield Line(0, f"checked {format_checked(report)}", wrap=True)


def _changed_functions(
    texts: ReportTexts, functions: Sequence[FunctionView], written: Sequence[ChangedLine]
) -> Iterator[Line]:
    """Shared changes once, then every function or file with its own changes, worst first."""
    report = texts.report
    yield from _shared_changes(texts)
    limits = texts.limits(texts.folded)
    yield from (Line(0, f"limits: {words}", wrap=True) for words in limits)
    yield from [Line(0, "")] if limits else []
    by_name = report.by_name()
    for function in functions:
        if function.name not in texts.folded:
            programs = by_name[function.name]
            yield _head(function)
            if function.targets:
                yield from _status_line(function.name, programs, report, indent=2)
            if len(functions) == 1:
                yield from [Line(2, "", style=NEXT)] if report.next else []
                yield from _toolchain_lines(report, indent=2, sentence=function.sentence)
            if function.targets or report.all:
                yield from _below_verdict(without_lines(function, written), programs, texts)
            yield Line(0, "")
    if texts.folded:
        names = format_names(texts.folded, MOST_NAMES)
        yield Line(0, f"only the shared changes: {names}; --all lists each", wrap=True)
        yield Line(0, "")
    known = {function.name for function in functions}
    others = [(name, programs) for name, programs in by_name.items() if name not in known]
    lines = [
        line
        for name, programs in others
        if any(map(_is_listed, programs))
        for line in _status_line(name, programs, report)
    ]
    yield from [*lines, Line(0, "")] if lines else []


def _head(function: FunctionView) -> Line:
    words = f"{function.name}  {MARKS[function.verdict]} {function.sentence}"
    return Line(0, words, style=STYLES[function.verdict], wrap=True)


def _briefly(report: Report, functions: Sequence[FunctionView]) -> Iterator[Line]:
    """Two lines for each function: the verdict, and what happened."""
    shown = functions[:_MOST_BRIEFLY]
    for function in shown:
        yield _head(function)
        yield from [Line(2, function.what, wrap=True)] if function.what else []
    left = [*functions[_MOST_BRIEFLY:], *_one_sided(report)]
    if functions[_MOST_BRIEFLY:]:
        yield Line(0, f"... and {many(len(functions) - len(shown), 'more function')}")
    yield from [Line(0, "")] if shown or left else []


def _below_verdict(function: FunctionView, programs: list[ProgramComparison], texts: ReportTexts) -> Iterator[Line]:
    """The lines below the verdict of a function or file."""
    report = texts.report
    passing: dict[str, list[str]] = {}  # why changes do not fail, and on which targets
    for one in report.findings:
        if (one.program, one.rule, one.severity) == (function.name, "changed", "info"):
            passing.setdefault(one.what, []).append(one.target or "")
    causes = cause_lines(report, programs, function.sentence)
    for words in (*(f"passes{format_targets(on)}: {what}" for what, on in passing.items()), *causes):
        yield Line(2, words, wrap=True)
    if function.budget:
        yield Line(2, f"closest budget: {function.budget}", wrap=True)
    if not report.all:
        yield from _function_lines(function, programs, report)
        return
    # Changes by the compiler alone are already marked as such: StableHLO is the same.
    compilers = {program.target for program in programs if program.by_compiler}
    for text in [one for one in texts.program_texts if one.name == function.name]:
        is_known = text.headline == SAME and text.stage == "stablehlo" and compilers.issuperset(text.targets)
        if compilers and is_known:
            continue
        yield Line(2, f"{STAGE_NAMES[text.stage]}{format_targets(text.targets)}: {text.headline}", wrap=True)
        for section in text.sections:
            for number, line in enumerate(section.lines):
                yield Line(4, line, title="" if number else section.title, wrap=True)
        if numbers := texts.numbers(text):
            listed = (*texts.listed, *texts.repeated)
            yield Line(4, format_marks(numbers, listed), title="shared", wrap=True)
        if own := texts.own(text):
            yield Line(4, "edits")
            for edit_group in own:
                mark = texts.number(edit_group)
                yield from _edit_group_lines(edit_group, report, f"[{mark}] " if mark else "")


def _function_lines(function: FunctionView, programs: list[ProgramComparison], report: Report) -> Iterator[Line]:
    """Changes of StableHLO by Python line, the numbers of each target, then changes of the compiled program."""
    written = [stage for stage in function.stages if stage.stage == "stablehlo"]
    compiled = [stage for stage in function.stages if stage.stage == "compiled"]
    targets = {target for one in function.targets for target in one.targets}
    for stage in written:
        on = "" if set(stage.targets) == targets else format_targets(stage.targets)
        yield from _stage_lines(stage, f"StableHLO{on}", report)
    is_compiled = any(program.stage == "compiled" and program.status == "changed" for program in programs)
    sources = [program for program in programs if program.stage == "stablehlo"]
    is_same = bool(sources) and not any(program.status == "changed" or differs(program) for program in sources)
    if is_same and is_compiled and not any(program.by_compiler for program in programs):
        yield Line(2, "StableHLO is the same")
    same = [one.target or "" for one in programs if (one.stage, one.status) == ("compiled", "identical")]
    if is_compiled:
        yield Line(2, "compiled (executed numbers)")
    elif written and same:
        yield Line(2, f"compiled{format_targets(same)}: the same program", wrap=True)
        return
    rows: list[tuple[tuple[str, ...], str, str]] = []
    for one in function.targets if is_compiled or any(one.numbers for one in function.targets) else ():
        style = STYLES[one.verdict].removeprefix("bold").strip()
        is_changed = any(number.mark for number in one.numbers)  # an unchanged program may need different memory
        equal = () if is_changed else tuple(target for target in one.targets if target in same)
        others = tuple(target for target in one.targets if target not in equal)
        own = [other_work(program) for program in programs if program.target in (others or (None,))]
        work = [work for work in dict.fromkeys(chain(*own)) if all(work in alike for alike in own if alike)]
        rows += (
            [(others, format_numbers(one.numbers, one.below, work, one.verdict), style)] if others or not equal else []
        )
        rows += [(equal, SAME, style)] if equal else []
    width = min(max((len(", ".join(some)) for some, _, _ in rows), default=0), _WIDEST_TARGETS)
    for some, words, style in rows:
        yield Line(4, f"{', '.join(some):<{width}}  {words}" if some else words, style=style, wrap=True)
    for stage in compiled:
        on = "" if set(stage.targets) == targets and targets else format_targets(stage.targets)
        yield from _stage_lines(stage, on.strip(), report, indent=4)
    if function.shared:
        yield Line(2, f"shared with other functions: {function.shared}", wrap=True)


def written_lines(function: FunctionView, report: Report) -> Iterator[Line]:
    """Changes in the StableHLO of a function by Python line, with both source texts if known.

    Example:
        >>> list(written_lines(FunctionView("f", "same", "same cost"), Report("diff", "a", "b", ())))
        []
    """
    for stage in function.stages:
        if stage.stage == "stablehlo":
            yield from _stage_lines(replace(stage, left=0), f"StableHLO{format_targets(stage.targets)}", report)
            if stage.left:
                yield Line(4, f"{format_left(stage)}, --details lists them", wrap=True)


def _stage_lines(stage: StageView, head: str, report: Report, indent: int = 2) -> Iterator[Line]:
    """Changes in a stage by Python line."""
    words = ": ".join(filter(None, (head, stage.what)))
    deeper = indent + 2 if words else indent
    left = format_left(stage)
    changes = [change for line in stage.lines for change in line.changes]
    if head and not stage.what and stage.stage == "compiled" and len(changes) == 1:
        where = "" if report.stacks else stage.lines[0].place_of(changes[0])
        yield from _change_lines(changes[0], indent, where, report, stage.stage, f"{head}: ")
        stage = replace(stage, lines=())
    else:
        yield from [Line(indent, words, wrap=True)] if words else []
    for line in stage.lines:
        within = deeper
        if stage.stage == "stablehlo" and line.where:
            yield Line(deeper, _place(line), wrap=True)
            within = deeper + 2
            yield from _sources(line, within)
        for change in line.changes:
            own = next(iter(change.where), "") if line.is_elsewhere else line.place_of(change)
            where = "" if (stage.stage == "stablehlo" and not line.is_elsewhere) or report.stacks else own
            yield from _change_lines(change, within, where, report, stage.stage)
    if stage.left:
        yield Line(deeper, f"{left}, {MORE}")
    yield from (Line(deeper, note, wrap=True) for note in stage.notes)


def _place(line: ChangedLine) -> str:
    if line.is_gone:
        return f"was {line.was}{line.in_loops}"
    return f"{line.where} (was {line.was}){line.in_loops}" if line.was else f"{line.where}{line.in_loops}"


def _sources(line: ChangedLine, indent: int) -> Iterator[Line]:
    """The Python line before and after; an added or deleted line has one of them."""
    if not line.is_edited:
        yield from [Line(indent, f"| {line.new_source}", wrap=True)] if line.new_source else []
        return
    for source in line.old_sources:
        yield Line(indent, f"- {source}", style="red", wrap=True)
    for source in line.new_sources:
        yield Line(indent, f"+ {source}", style="green", wrap=True)


def _change_lines(
    change: ChangeView, indent: int, where: str, report: Report, stage: str, head: str = ""
) -> Iterator[Line]:
    """One change in full: what, its cost, its knock-on edits, where."""
    beside = format_beside(change, stage)
    ends = tuple(filter(None, (f"({beside})" if beside else "", where)))
    yield Line(indent, head + format_listed(change), ends, _STYLES[change.kind], wrap=True)
    if change.passes:
        yield Line(indent + 2, change.passes, wrap=True)
    yield from (Line(indent + 4, f"at {frame}") for frame in change.where) if report.stacks else ()


def _marks(numbers: Sequence[int]) -> str:
    """`[1] to [4]` of neighbours, else `[1], [3] and [4]`."""
    marks = [f"[{number}]" for number in numbers]
    if len(marks) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{marks[0]} to {marks[-1]}"
    return " and ".join([", ".join(marks[:-1]), marks[-1]])


def _shared_changes(texts: ReportTexts) -> Iterator[Line]:
    """Changes shared by several programs, each once, with its id for `hlodiff accept`."""
    if not texts.shared:
        return
    yield Line(0, "the same in several programs", style="bold")
    for programs, alike in groupby(texts.listed, key=lambda shared: format_shared(texts.report, shared)):
        numbers = []
        for shared in alike:
            yield from _edit_group_lines(shared.edit_group, texts.report, f"[{shared.number}] ", shared.cost_words)
            numbers.append(shared.number)
        of = "" if len(numbers) == 1 else f"{_marks(numbers)}: "
        yield Line(_BELOW, f"{of}{programs}", wrap=True)
    if left := texts.unlisted:
        yield Line(6, f"... and {left} more, {MORE}" if texts.listed else f"{many(left, 'change')}, {MORE}")
    yield Line(0, "")


def _is_listed(program: ProgramComparison) -> bool:
    return program.status in ("changed", "added", "removed") or differs(program)


def _status_line(name: str, programs: list[ProgramComparison], report: Report, indent: int = 0) -> Iterator[Line]:
    """The status of a function or file on each target, and the classes of its change."""
    targets: dict[str, dict[str, None]] = {}
    for program in programs:
        if program.status in _STYLES:
            mark = f" ({program.id})" if program.id else ""
            targets.setdefault(program.status, {})[f"{program.target or ''}{mark}"] = None
    if not targets:  # unchanged program, different memory
        return
    parts = []
    for status, on in targets.items():
        word = _WORDS.get(status, status) if report.command == "check" else status
        if status == "changed":
            parts += format_changed(programs)
        else:
            parts.append(f"{word} on {', '.join(on)}" if any(on) else word)
    classes = format_classes(((one.target, one.classes) for one in programs if one.status == "changed"), CLASSES)
    words = ": ".join(filter(None, ("; ".join(parts), classes)))
    style = _STYLES[next(iter(targets))]
    if indent:
        yield Line(indent, words, wrap=True)
    else:
        yield Line(0, f"{name}  {words}", style=f"bold {style}".rstrip(), wrap=True)


def _edit_group_lines(edit_group: EditGroup, report: Report, mark: str = "", cost: str | None = None) -> Iterator[Line]:
    # The line of what was removed has the number that it had; no sources are asked here for the one that it has now.
    where = f"was {edit_group.where}" if edit_group.kind == "removed" and edit_group.where else edit_group.where
    where += OTHER_LINES * (bool(where) and edit_group.is_of_several_lines)
    ends = tuple(word for word in (edit_group.cost_words if cost is None else cost, where) if word)
    words = f"{mark}{edit_group.kind:<8} {edit_group.times}{edit_group.what}"
    indent = 6 - len(mark)
    yield Line(indent, words, ends, _STYLES[edit_group.kind], wrap=True, hanging=_BELOW - indent)
    if edit_group.follows:
        yield Line(_BELOW, format_follows(edit_group), wrap=True)
    if edit_group.passes:
        yield Line(_BELOW, edit_group.passes, wrap=True)
    for frame in edit_group.stack if report.stacks else ():
        yield Line(_BELOW + 2, f"at {frame}")


def _overview(texts: ReportTexts) -> Iterator[Line]:
    """The overview in place of a list that is too long: unchanged share, largest changes, a line for each program."""
    report = texts.report
    for stage, word in STAGE_NAMES.items():
        numbers = [n for n, program in enumerate(report.programs) if program.stage == stage and differs(program)]
        if not numbers:
            continue
        yield Line(0, f"{word}: {many(len(numbers), 'program')} changed", style="bold")
        yield Line(4, format_share(share(report, numbers)), title="same")
        digest = digest_of([edit_group for edit_group in texts.patterns if edit_group.key[0] == stage])
        for title, edit_groups in (("bytes", digest.by_bytes), ("count", digest.by_count)):
            yield from [Line(4, f"largest changes by {title}")] if edit_groups else []
            for edit_group in edit_groups:
                yield from _edit_group_lines(edit_group, report)
                yield Line(_BELOW, format_programs(report, (number for number, _ in edit_group.edits)))
        if digest.others:
            words = f"... and {many(digest.others, 'more group')} of {many(digest.unlisted, 'instruction')}, {MORE}"
            yield Line(6, words)
        yield Line(0, "")
    if any(program.id for program in report.programs):  # there is something to accept
        yield from _shared_changes(texts)
    yield from _table(texts)
    for name, programs in report.by_name().items():
        if any(program.status in _WORDS for program in programs):
            yield from _status_line(name, programs, report)
    yield Line(0, f"too long to list every change here (more than {_MOST_LINES} lines), {MORE}", wrap=True)
    yield Line(0, "")


def _table(texts: ReportTexts) -> Iterator[Line]:
    """A row for each program text, most changed first: unchanged share and headline."""
    changed = [text for text in texts.program_texts if text.edit_groups]
    changed.sort(key=lambda text: -sum(group.count + group.following for group in text.edit_groups))
    rows = []
    for text in changed[:_MOST_GROUPS]:
        same = format_shares(share(texts.report, text.programs[:1]))
        rows.append((text.name + format_targets(text.targets), STAGE_NAMES[text.stage], *same, text.headline))
    widths = [max(len(row[n]) for row in rows) for n in range(4)] if rows else []
    yield Line(0, "Unchanged share per program (instructions / bytes written)", style="bold")
    for name, stage, count, size, words in rows:
        row = f"{name:<{widths[0]}}  {stage:<{widths[1]}}  {count:>{widths[2]}}  {size:>{widths[3]}}  {words}"
        yield Line(2, row)
    if len(changed) > _MOST_GROUPS:
        yield Line(2, f"... and {len(changed) - _MOST_GROUPS} more, {MORE}")


def _in_short(command: str, functions: Sequence[FunctionView], programs: Sequence[ProgramView]) -> Iterator[Line]:
    """A table with a row for each function, worst first."""
    rows = verdict_rows(functions, programs, command)
    cells = [("function", "target", "verdict", "main change", "line")]
    for row in rows[:MOST_ROWS]:
        on = ", ".join(row.targets)  # their number, if their names are long
        on = on if len(row.targets) < 2 or len(on) <= _WIDEST_NAMES else many(len(row.targets), "target")
        verdict = f"{MARKS[row.verdict]} {VERDICT_NAMES[row.verdict]}" if row.verdict in MARKS else row.verdict
        cells.append((row.label, on, verdict, row.largest, row.where))
    columns = [n for n in range(5) if any(row[n] for row in cells[1:])]
    widths = {n: min(max(len(row[n]) for row in cells), _WIDEST_CELL) for n in columns}
    for number, line in enumerate(cells):
        style = "bold" if not number else STYLES.get(rows[number - 1].verdict, "").removeprefix("bold").strip()
        text = "  ".join(f"{line[n]:<{widths[n]}}" for n in columns[:-1])
        end = line[columns[-1]]
        yield Line(0, text if end else text.rstrip(), (end,) if end else (), style, wrap=True)
    if len(rows) > MOST_ROWS:
        names = {name for row in rows[MOST_ROWS:] for name in row.names}
        yield Line(0, f"... and {many(len(names), 'more function')}")
    yield Line(0, "")
    yield from number_lines(totals_by_number(functions))


def number_lines(numbers: Sequence[NumberTotals]) -> Iterator[Line]:
    """A table of numbers: in how many programs each got worse and better, and the largest changes.

    Example:
        >>> list(number_lines(()))
        []
    """
    if not numbers:
        return
    width = max(len(one.name) for one in numbers)
    yield Line(0, f"{'number':<{width}}  worse in  better in", ("most",), "bold", wrap=True)
    for one in numbers:
        both = (MARKS["worse"], one.most_worse), (MARKS["better"], one.most_better)
        most = tuple(f"{mark} {words}" for mark, words in both if words)
        yield Line(0, f"{one.name:<{width}}  {one.worse:>8,}  {one.better:>9,}", most, wrap=True)
    yield Line(0, "")


def _not_checked(report: Report) -> Iterator[Line]:
    """Reasons with their programs; one reason often applies to all programs of a target."""
    from hlodiff.report.findings import group_reasons

    for words, programs in group_reasons(report.programs):
        first = programs[0]
        labels = list(dict.fromkeys(program.label for program in programs))
        yield Line(0, f"{words}: {format_names(labels)}", style="bold red" if first.broken else "", wrap=True)
        for part in first.reason.split("\n"):
            yield Line(2, part, wrap=True)
        if first.advice:
            yield Line(2, f"hint: {first.advice}", wrap=True)
        for part in end_of_log(first.log):
            yield Line(4, f"| {part}")
        yield Line(0, "")


def _further_findings(report: Report) -> Iterator[Line]:
    """Findings other than changed programs: budgets, rules, growth, parity, traces. Equal ones are listed once."""
    from hlodiff.report.findings import first_of_rules, group_findings

    styles = {"broken": "bold red", "error": "bold yellow"}
    groups = group_findings(report.further_findings())
    groups = groups if report.all else first_of_rules(groups)
    shown = groups if report.all else groups[:_MOST_FINDINGS]
    for group in shown:
        finding = group.findings[0]
        word = _SEVERITIES.get(finding.severity, "")
        head = f"{group.label}  {word}{finding.rule}: {finding.what}"
        yield Line(0, head, style=styles.get(finding.severity, ""), wrap=True)
        if group.more:
            yield Line(2, f"and {many(group.more, 'more finding')} of this rule, {MORE}")
        if group.of:
            yield Line(2, group.of, wrap=True)
        for detail in finding.details:
            yield Line(2, detail, wrap=True)
        frames = list(dict.fromkeys(own_frame(one.source) for one in group.findings))
        if frame := frames[0]:
            others = f" and {many(len(frames) - 1, 'other place')}" if len(frames) > 1 else ""
            function = f" ({frame.function})" if frame.function else ""
            place = f"{shown_file(frame.file, report.root)}:{frame.line}{function}"
            yield Line(2, f"at {place}{others}", wrap=True)
        if finding.advice:
            yield Line(2, f"hint: {finding.advice}", wrap=True)
        yield Line(0, "")
    left = sum(len(group.findings) + group.more for group in groups[len(shown) :])
    if left:
        yield Line(0, f"... and {many(left, 'more finding')}, {MORE}")
        yield Line(0, "")


# --- Renders differences and reports for `print` and notebook cells.

WIDTH = 110


def report_of(diff: ModuleDiff) -> Report:
    """A report on two programs that were compared in Python.

    Args:
        diff: their difference.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> report_of(ModuleDiff(Module("step", "compiled", (), 0), Module("step", "compiled", (), 0))).programs[0].name
        'step'
    """
    status: Status = "identical" if diff.identical else "changed"
    return Report("diff", "old", "new", (ProgramComparison(diff.new.name, None, diff.new.stage, status, diff),))


def show_text(value: ModuleDiff | Report) -> str:
    """The short text, as printed by commands, without a trailing newline.

    Example:
        >>> show_text(Report("diff", "a", "b", ()))
        'nothing to compare'
    """
    report = report_of(value) if isinstance(value, ModuleDiff) else value
    return lay_out(whole_lines(report, WIDTH), width=WIDTH).rstrip("\n")


def show_html(value: ModuleDiff | Report) -> str:
    """The short text as HTML for a notebook cell.

    Example:
        >>> "nothing to compare" in show_html(Report("diff", "a", "b", ()))
        True
    """
    report = report_of(value) if isinstance(value, ModuleDiff) else value
    return lay_out_html(whole_lines(report, WIDTH), width=WIDTH)
