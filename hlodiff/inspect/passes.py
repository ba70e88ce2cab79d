"""What each of XLA's passes did to a program: asked of registered functions, or of a folder with a dump."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from hlodiff.capture import discover
from hlodiff.config import Config
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.computation_matches import Place
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.passes.origin import PassHistory, origin_of, pass_words
from hlodiff.differ.passes.steps import Numbers, first_module, pass_steps
from hlodiff.errors import UsageError, expected_error
from hlodiff.inspect.origin_report import headline, touch_words
from hlodiff.inspect.passes_report import PassesView
from hlodiff.progress import progress
from hlodiff.report.report import Report
from hlodiff.report.wording import many
from hlodiff.snapshots import Key
from hlodiff.workflows.configuration import load, load_if_any
from hlodiff.workflows.passes import DumpedProgram, dumped_program, folder_dumps, is_dump_folder
from hlodiff.workflows.select import select
from hlodiff.workflows.sides import SideFailure


def dumped_programs(
    names: Sequence[str], targets: Sequence[str], modules: Sequence[str], project: Path
) -> Iterator[tuple[str, str | None, DumpedProgram | SideFailure]]:
    """The programs that a command names, each with its dump, which lasts until the next one is asked for.

    Args:
        names: folders with dumps; or functions, cases and patterns.
        targets: patterns for targets; all where empty.
        modules: regular expressions for the modules of a folder.
        project: where the configuration is looked for.

    Returns:
        name, target, and the program or why there is none.

    Raises:
        UsageError: names fit nothing, or folders and functions are mixed.
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
        folder_dumps(Path(paths[0]))  # says what it lacks
    config = load(project)
    keys = select((Key(r.function, r.case, r.target) for r in discover(config).requests()), names, targets)
    with progress(len(keys), "compiling") as step:
        for key in keys:
            step(f"{key.name} on {key.target}", 0)
            with dumped_program(config, key) as found_here:
                yield key.name, key.target, found_here
            step(f"{key.name} on {key.target}", 1)


def limits_of(project: Path) -> tuple[Limits, str]:
    """How much may be tried, and the project's folder."""
    config: Config | None = load_if_any(project)
    return (Limits(**dict(config.limits)), str(config.root)) if config else (DEFAULTS, str(project.absolute()))


def passes_view(name: str, target: str | None, found: DumpedProgram | SideFailure, limits: Limits) -> PassesView:
    """What each pass did to one program.

    Args:
        name, target: which program.
        found: its dump, or why there is none.
        limits: how much may be tried for each pass.
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


# Origins of more instructions than these take longer to work out than a page is worth.
_MOST_REMARKS = 60_000
_MOST_REASONS = 6_000


def passes_page(views: Sequence[PassesView], root: str) -> str:
    """One HTML file with a slider over the passes: the program before and after each, and where its lines come from.

    Args:
        views: what each pass did to each program.
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
    """Where an instruction comes from, in a few lines."""
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
