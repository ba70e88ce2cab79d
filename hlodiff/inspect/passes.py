"""What each of XLA's passes did to a program: asked of registered functions, or of a folder with a dump."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hlodiff.capture import discover
from hlodiff.config import Config
from hlodiff.differ.limits import DEFAULTS, Limits
from hlodiff.differ.passes.steps import Numbers, first_module, pass_steps
from hlodiff.errors import UsageError, expected_error
from hlodiff.inspect.passes_report import PassesView
from hlodiff.snapshots import Key
from hlodiff.workflows.configuration import load, load_if_any
from hlodiff.workflows.passes import DumpedProgram, dumped_program, folder_dumps, is_dump_folder
from hlodiff.workflows.progress import progress
from hlodiff.workflows.select import select
from hlodiff.workflows.sides import SideFailure

Show = Callable[[DumpedProgram | SideFailure, str, str | None], None]


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
