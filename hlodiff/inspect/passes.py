"""The effect of each XLA pass on a program, for registered functions or for a folder with a dump."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hlodiff.capture import discover
from hlodiff.config import Config
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.passes.origin import PassHistory, origin_of, pass_words
from hlodiff.differ.passes.steps import NUMBERS, Numbers, PassStep, first_module, pass_steps
from hlodiff.errors import UsageError, expected_error
from hlodiff.hlo.model import Place
from hlodiff.inspect.origin import headline, touch_words
from hlodiff.progress import progress
from hlodiff.report.edits import format_edit
from hlodiff.report.grouping import EditGroup, edit_groups_of, format_follows
from hlodiff.report.lines import Line, clip, code, escape_markdown, json_text, lay_out, printable
from hlodiff.report.report import Report
from hlodiff.report.wording import format_bytes, format_names, many
from hlodiff.snapshots import Key
from hlodiff.workflows import folder_dumps, is_dump_folder, load, load_if_any
from hlodiff.workflows.passes import DumpedProgram, dumped_program
from hlodiff.workflows.select import select
from hlodiff.workflows.sides import SideFailure


def dumped_programs(
    names: Sequence[str], targets: Sequence[str], modules: Sequence[str], project: Path
) -> Iterator[tuple[str, str | None, DumpedProgram | SideFailure]]:
    """The selected programs, each with its dump, which exists until the next program is requested.

    Args:
        names: folders with dumps; or functions, cases and patterns.
        targets: patterns for targets; all targets if empty.
        modules: regular expressions for the modules of a folder.
        project: where to look for the configuration.

    Returns:
        name, target, and the program or why there is none.

    Raises:
        UsageError: a name matches nothing, or folders and functions are mixed.
    """
    folders = [name for name in names if is_dump_folder(Path(name))]
    if folders and len(folders) != len(names):
        raise UsageError("folders and functions are asked for one at a time", hint="give one kind")
    if folders:
        for folder in folders:
            for found in folder_dumps(Path(folder), modules):
                yield found.name, None, found
        return
    if modules:
        raise UsageError("--module chooses modules of a folder", hint="give a folder with a pass dump")
    paths = [name for name in names if "/" in name and Path(name).is_dir()]
    if paths:
        folder_dumps(Path(paths[0]))  # reports what is missing
    config = load(project)
    keys = select((Key(r.function, r.case, r.target) for r in discover(config).requests()), names, targets)
    with progress(len(keys), "compiling") as step:
        for key in keys:
            step(f"{key.name} on {key.target}", 0)
            with dumped_program(config, key) as found_here:
                yield key.name, key.target, found_here
            step(f"{key.name} on {key.target}", 1)


def limits_of(project: Path) -> tuple[Limits, str]:
    """Limits on the work, and the project's folder."""
    config: Config | None = load_if_any(project)
    return (Limits(**dict(config.limits)), str(config.root)) if config else (DEFAULTS, str(project.absolute()))


def passes_view(name: str, target: str | None, found: DumpedProgram | SideFailure, limits: Limits) -> PassesView:
    """The effect of each pass on one program.

    Args:
        name, target: the program.
        found: its dump, or why there is none.
        limits: limits on the work for each pass.
    """
    if isinstance(found, SideFailure):
        return PassesView(name, target, problem=found.reason, advice=found.advice, broken=found.broken)
    try:
        steps = tuple(pass_steps(found.dump, limits))
        first = steps[0].numbers[0] if steps else Numbers.of(first_module(found.dump))
    except Exception as error:
        known = expected_error(error)
        return PassesView(name, target, problem=str(known), advice=known.hint, broken=True)
    return PassesView(name, target, found.dump.texts, found.dump.last, steps, first)


# Computing the origins of more instructions than this takes longer than a page is worth.
_MOST_REMARKS = 60_000
_MOST_REASONS = 6_000


def passes_page(views: Sequence[PassesView], root: str) -> str:
    """One HTML file with a slider over the passes: the program before and after each, and the origins of its lines.

    Args:
        views: the effect of each pass on each program.
        root: the project's folder.
    """
    from hlodiff.report.html import to_page

    programs = tuple(program for view in views for program in _page_programs(view, len(views) > 1))
    problems = tuple(f"{view.label}: {view.problem}" for view in views if view.problem)
    title = ", ".join(view.label for view in views[:3])
    report = Report("diff", "before all passes", "after all passes", programs, notes=problems, root=root)
    return to_page(report, passes=f"{title}: {many(len(programs), 'pass', 'passes')} with edits")


def _page_programs(view: PassesView, with_label: bool) -> Iterator[ProgramComparison]:
    if not view.steps:
        return
    history = PassHistory.of_steps(view.steps)
    lines = sum(step.diff.old.instruction_count() + step.diff.new.instruction_count() for step in view.edited)
    for state, step in enumerate(view.steps, 1):
        if not step.has_edits:
            continue
        number = "" if step.stage.number is None else f"{step.stage.number:04d} "
        name = f"{number}{step.passed.label}" + (f" ({view.name})" if with_label else "")
        remarks = partial(_remark, history, state, lines <= _MOST_REASONS) if lines <= _MOST_REMARKS else None
        yield ProgramComparison(name, view.target, "compiled", "changed", step.diff, remarks=remarks)


def _remark(history: PassHistory, state: int, with_reasons: bool, side: int, place: Place) -> str:
    """The origin of an instruction, in a few lines."""
    state = state if side else state - 1
    if with_reasons:
        found = origin_of(history, state, place)
        words = [headline(found), *found.reasons]
    else:
        touches = history.touches(state, place)
        made = touches[0] if touches and touches[0].kind == "added" else None
        words = [f"added by {pass_words(made.step)}" if made else "in the program before all passes"]
    for touch in history.touches(state, place):
        if touch.kind != "added":
            words.append(f"{pass_words(touch.step)}: {touch_words(touch)}")
    return "\n".join(words)


# --- The report of `hlodiff inspect passes`.

KINDS = ("added", "removed", "changed", "moved")
_MOST_EDITS = 30
_WIDEST = {"pipeline": 32, "pass": 38}
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}


@dataclass(frozen=True, slots=True)
class PassesView:
    """The effect of each pass on one program.

    Args:
        name, target: the program; no target for a folder.
        texts: number of texts that XLA dumped.
        last: the highest number among them.
        steps: consecutive texts that differ, in order.
        first: the instructions of the program before all passes.
        problem: why there is nothing to show; `advice` is then a hint.
        broken: whether something is wrong, rather than missing on this machine.

    Example:
        >>> PassesView("f", "tpu-v5e-2x2", problem="libtpu is not installed").edited
        ()
    """

    name: str
    target: str | None
    texts: int = 0
    last: int = 0
    steps: tuple[PassStep, ...] = ()
    first: Numbers | None = None
    problem: str = ""
    advice: str = ""
    broken: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def edited(self) -> tuple[PassStep, ...]:
        """The steps with edits."""
        return tuple(step for step in self.steps if step.has_edits)

    @property
    def label(self) -> str:
        """Display name of the program: `train_step on cpu`."""
        return f"{self.name} on {self.target}" if self.target else self.name

    @property
    def folded(self) -> int:
        """Number of texts without an edit."""
        return max(self.texts - 1 - len(self.edited), 0)


def matching(view: PassesView, pattern: re.Pattern[str] | None) -> tuple[PassStep, ...]:
    """The steps whose pass or pipeline matches a regular expression; none without one."""
    if pattern is None:
        return ()
    words = ((step, f"{step.passed.pipeline} {step.passed.label}") for step in view.steps)
    return tuple(step for step, text in words if pattern.search(text))


def passes_text(
    views: Sequence[PassesView], pattern: re.Pattern[str] | None, everything: bool, root: str, width: int, color: bool
) -> str:
    """The report for a terminal.

    Args:
        views: in display order.
        pattern: passes whose edits are listed.
        everything: whether to list texts without an edit, and all edits.
        root: the project's folder.
        width: columns of the terminal.
        color: whether to use terminal colors, which carry no meaning.
    """
    lines = [line for view in views for line in _lines(view, pattern, everything, root, width)]
    return lay_out(lines, width=width, color=color)


def _lines(
    view: PassesView, pattern: re.Pattern[str] | None, everything: bool, root: str, width: int
) -> Iterator[Line]:
    if view.problem:
        yield Line(0, f"{view.label}: {view.problem}", style="bold", wrap=True)
        if view.advice:
            yield Line(2, view.advice)
        return
    yield Line(0, f"{view.label}: {_head(view)}", style="bold")
    yield from (Line(2, words, wrap=True) for words in _table(view, everything, width - 2))
    if not everything and view.folded:
        yield Line(2, _folded(view))
    for note in view.notes:
        yield Line(2, note, wrap=True)
    if words := _limits(view):
        yield Line(2, words, wrap=True)
    chosen = matching(view, pattern)
    if pattern is not None and not chosen:
        yield Line(2, f"no text that differs follows a pass that matches {pattern.pattern}")
    for step in chosen:
        yield Line(0, "")
        yield Line(0, f"{step_label(step)}: {_format_counts(step)}", style="bold")
        yield Line(2, step.stage.file)
        yield from _edit_lines(step, everything, root)
    yield Line(0, "")


def _head(view: PassesView) -> str:
    edited = f", {many(len(view.edited), 'text')} with edits" if view.edited else ""
    return f"XLA wrote {many(view.texts, 'text')}{edited}"


def step_label(step: PassStep) -> str:
    """`pass 14, fusion (pipeline HLO_passes_after_layout_assignment)`.

    Example:
        >>> from types import SimpleNamespace as N
        >>> from hlodiff.differ.passes.dumps import PassName
        >>> step_label(N(stage=N(number=14), passed=PassName("late", "fusion")))
        'pass 14, fusion (pipeline late)'
    """
    number = f"pass {step.stage.number}, " if step.stage.number is not None else ""
    pipeline = f" (pipeline {step.passed.pipeline})" if step.passed.pipeline and step.passed.name else ""
    return f"{number}{step.passed.label}{pipeline}"


_TITLES = ("#", "pipeline", "pass", *KINDS, *NUMBERS)
_LEFT = ("pipeline", "pass")


_NARROWEST = 20  # columns for the name of a pipeline or a pass, which are clipped before any number is


def _table(view: PassesView, everything: bool, room: int) -> Iterator[str]:
    """One row per text; if the terminal is too narrow for a table, one sentence per text."""
    rows = [_TITLES, *_rows(view, everything)]
    wide = [max(len(row[n]) for row in rows) for n in range(len(_TITLES))]
    names = [n for n, title in enumerate(_TITLES) if title in _LEFT]
    over = sum(wide) + 2 * (len(wide) - 1) - room
    for n in names:
        less = max(min(over, wide[n] - _NARROWEST), 0)
        wide[n] -= less
        over -= less
    if over > 0:
        yield from _listed(rows[1:])
        return
    for row in rows:
        cells = (
            _fit(text, size).ljust(size) if n in names else text.rjust(size)
            for n, (text, size) in enumerate(zip(row, wide, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _fit(text: str, size: int) -> str:
    """A name within so many columns; text in brackets after it is kept."""
    name, bracket, bracketed = text.partition(" [")
    return text if len(text) <= size else clip(name, size - len(bracket + bracketed)) + bracket + bracketed


def _listed(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    for number, pipeline, name, *values in rows:
        words = [f"{value} {title}" for title, value in zip(KINDS, values, strict=False) if value]
        words += [f"{title} {value}" for title, value in zip(NUMBERS, values[len(KINDS) :], strict=True) if value]
        head = f"{number} " if number else ""
        yield f"{head}{f'{pipeline}: ' if pipeline else ''}{name}: {', '.join(words) or 'nothing that is counted'}"


def _rows(view: PassesView, everything: bool) -> Iterator[tuple[str, ...]]:
    if view.first:
        yield ("", "", "before all passes", "", "", "", "", *_numbers(view.first, None))
    for step in view.steps if everything else view.edited:
        counts = [step.diff.summary[kind] for kind in KINDS]
        before, after = step.numbers
        name = clip(step.passed.label, _WIDEST["pass"]) + _channels(step)
        number = "" if step.stage.number is None else str(step.stage.number)
        yield (
            number,
            printable(clip(step.passed.pipeline, _WIDEST["pipeline"])),
            printable(name),
            *(str(count) if count else "" for count in counts),
            *_numbers(after, before),
        )


def _channels(step: PassStep) -> str:
    """Changes of a step besides the program."""
    words = [word for word, edits in (("schedule", step.diff.schedule), ("tuning", step.diff.tuning)) if edits]
    return f" [{', '.join(words)}]" if words else "" if step.diff.edits else " [names only]"


def _numbers(after: Numbers, before: Numbers | None) -> tuple[str, ...]:
    found = []
    for name in NUMBERS:
        value = getattr(after, name)
        if before is not None and getattr(before, name) == value:
            found.append("")
        else:
            found.append(format_bytes(value) if name == "bytes" else f"{value:,}")
    return tuple(found)


def _format_counts(step: PassStep) -> str:
    words = [f"{count:,} {kind}" for kind in KINDS if (count := step.diff.summary[kind])]
    words += (
        [many(len(step.diff.schedule), "edit of the schedule", "edits of the schedule")] if step.diff.schedule else []
    )
    words += [many(len(step.diff.tuning), "edit of the tuning", "edits of the tuning")] if step.diff.tuning else []
    return ", ".join(words) or "names only"


def _folded(view: PassesView) -> str:
    return f"{many(view.folded, 'text')} without an edit {'is' if view.folded == 1 else 'are'} folded"


def _limits(view: PassesView) -> str:
    """Where matching was cut short. This is always reported; `--pass` has the details."""
    cut = [step for step in view.steps if step.diff.limit_hits]
    if not cut:
        return ""
    names = format_names([step.passed.label for step in cut])
    return f"Matching was cut short in {names}: the edits are complete but may not be the fewest; --pass shows which."


def _edit_lines(step: PassStep, everything: bool, root: str) -> Iterator[Line]:
    groups = edit_groups_of(step.diff.edits, "compiled", root)
    shown = groups if everything else groups[:_MOST_EDITS]
    for group in shown:
        where = f"  {group.where}" if group.where else ""
        yield Line(4, _group_words(group) + where, style=_STYLES[group.kind], wrap=True)
        if group.follows:
            yield Line(15, format_follows(group), wrap=True)
    if len(groups) > len(shown):
        yield Line(4, f"{many(len(groups) - len(shown), 'more group')}, --all lists all")
    for name, edits in (("schedule", step.diff.schedule), ("tuning", step.diff.tuning)):
        for edit in edits if everything else edits[:3]:
            yield Line(4, f"{name}  {format_edit(edit)}")
    for limit in step.diff.limits:
        yield Line(4, f"note: {limit}", wrap=True)


def _group_words(group: EditGroup) -> str:
    times = f"{group.count:,}x " if group.count > 1 else ""
    return f"{group.kind:<8} {times}{group.what}"


def passes_markdown(views: Sequence[PassesView], pattern: re.Pattern[str] | None, everything: bool, root: str) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    lines = ["### hlodiff: passes", ""]
    for view in views:
        lines += [*_markdown(view, pattern, everything, root), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown(view: PassesView, pattern: re.Pattern[str] | None, everything: bool, root: str) -> Iterator[str]:
    head = code(view.name) + (f" on {code(view.target)}" if view.target else "")
    if view.problem:
        yield f"{head}: {escape_markdown(view.problem)} {escape_markdown(view.advice)}".rstrip()
        return
    yield from (f"{head}: {_head(view)}", "", f"| {' | '.join(_TITLES)} |")
    yield "|" + "|".join("---" if title in _LEFT else "--:" for title in _TITLES) + "|"
    for row in _rows(view, everything):
        cells = [code(text) if title in _LEFT and text else text for title, text in zip(_TITLES, row, strict=True)]
        yield f"| {' | '.join(cells)} |"
    if not everything and view.folded:
        yield from ("", f"{_folded(view)}.")
    if words := _limits(view):
        yield from ("", escape_markdown(words))
    for step in matching(view, pattern):
        yield from ("", f"**{escape_markdown(step_label(step))}**: {_format_counts(step)}", "")
        groups = edit_groups_of(step.diff.edits, "compiled", root)
        for group in groups if everything else groups[:_MOST_EDITS]:
            where = f" ({code(group.where)})" if group.where else ""
            yield f"- {escape_markdown(_group_words(group))}{where}"


def passes_json(views: Sequence[PassesView]) -> str:
    """Everything as JSON text; the edits of all passes."""
    value = {"format_version": "1.0", "command": "inspect passes", "programs": [_json(view) for view in views]}
    return json_text(value)


def _json(view: PassesView) -> dict[str, Any]:
    head: dict[str, Any] = {"name": view.name, "target": view.target}
    if view.problem:
        return {**head, "status": "not_checked", "reason": view.problem, "advice": view.advice}
    return {
        **head,
        "status": "compiled",
        "texts": view.texts,
        "last": view.last,
        "first": _numbers_json(view.first),
        "passes": [step_json(step) for step in view.steps],
    }


def step_json(step: PassStep) -> dict[str, Any]:
    """One step as plain values."""
    before, after = step.numbers
    found = step.diff.to_json()
    return {
        "number": step.stage.number,
        "pipeline": step.passed.pipeline or None,
        "pass": step.passed.name or None,
        "step": step.passed.step or None,
        "file": step.stage.file,
        "compared_with": step.before.file,
        "summary": found["summary"],
        "before": _numbers_json(before),
        "after": _numbers_json(after),
        "edits": found["edits"],
        "fusions": found["fusions"],
        "channels": found["channels"],
        "limits": found["limits"],
    }


def _numbers_json(numbers: Numbers | None) -> dict[str, int] | None:
    return None if numbers is None else {name: getattr(numbers, name) for name in NUMBERS}
