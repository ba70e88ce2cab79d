"""`hlodiff growth NAME`: how programs grow with a size, and where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from hlodiff.capture import Discovery, GrowthRequest, discover, one_worker_for_both
from hlodiff.cli import options
from hlodiff.cli.output import emit, tell
from hlodiff.config import Config, shown_path
from hlodiff.differ.growth import Growth
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.policy.growth import recorded_classes
from hlodiff.report.growth import growth_json, growth_markdown, growth_text
from hlodiff.snapshots import Key, read_growth
from hlodiff.workflows.configuration import load
from hlodiff.workflows.growth import growing_keys, measure_growth
from hlodiff.workflows.select import ChosenFunctions, choose, selected

_FORMS = {"text": growth_text, "json": growth_json, "markdown": growth_markdown}


@click.command("growth")
@options.names
@click.option(
    "--at",
    "sizes",
    multiple=True,
    metavar="NAME=N,N,N",
    help="Other sizes than those of the case: --at length=8,16,32.",
)
@click.option("-t", "--target", metavar="TARGET", help="What to lower for; cpu where the case has it.")
@click.option("--compile", "compile_too", is_flag=True, help="Compile at each size too, and count what XLA made of it.")
@click.option("--format", "form", type=click.Choice(list(_FORMS)), default="text", show_default=True, help="Form.")
@options.output
@options.jobs
@options.project
@one_worker_for_both()
def command(
    names: tuple[str, ...],
    sizes: tuple[str, ...],
    target: str | None,
    compile_too: bool,
    form: str,
    output: str | None,
    jobs: int | None,
    project: Path,
) -> int:
    """Lower programs at several sizes and show how they grow.

    NAME is a function, a case (`function/case`) or a pattern; all cases that name sizes where none is given. Nothing
    is written, and XLA is asked only with --compile. Shown are counts at every size and how they grow, lines of Python
    that give more operations at larger sizes, and what the largest program holds more often than it must.
    """
    config = load(project)
    discovery = discover(config)
    chosen = choose(config, discovery, names, ())
    wanted = tuple(_size(text) for text in sizes)
    keys = growing_keys(discovery, chosen) if not wanted else _first_targets(discovery, names)
    unknown = [] if wanted else _unknown(discovery, chosen)
    for message in unknown:
        tell(message)
    if not keys and unknown:
        return 2
    if not keys:
        hint = 'Case(..., grow={"length": [8, 16, 32, 64]}), or --at length=8,16,32,64'
        raise UsageError("no case that was asked for names sizes", hint=hint)
    requests = [GrowthRequest(key.function, key.case, target or key.target, compile_too, wanted) for key in keys]
    found: dict[tuple[str, str], tuple[Growth, ...]] = {}
    code = 0
    for series in measure_growth(config, requests, jobs):
        found[series.key.function, series.key.case] = series.growths
        if series.failure is not None:
            reason = getattr(series.failure, "reason", "") or getattr(series.failure, "what", "")
            tell(f"{series.key.name} on {series.key.target}: {reason}")
            code = 2
    growths = [
        (growth, _recorded(config, key, growth)) for key in keys for growth in found.get((key.function, key.case), ())
    ]
    if growths or not code:
        emit(_FORMS[form](growths, str(config.root)), output)
    return code


def _size(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, numbers = text.partition("=")
    try:
        return name.strip(), tuple(int(number) for number in numbers.split(","))
    except ValueError:
        raise UsageError(f"--at {text!r} is no list of sizes", hint="--at length=8,16,32,64") from None


def _unknown(discovery: Discovery, chosen: ChosenFunctions) -> list[str]:
    """Messages on chosen functions whose cases, and so their sizes, are unknown."""
    asked = {key.function for key in chosen.registered}
    broken = [found for found in discovery.functions if found.problem and found.cases == ("",) and not found.grown]
    return [f"the cases of `{one.name}` cannot be listed: {one.problem}" for one in broken if one.name in asked]


def _first_targets(discovery: Discovery, names: tuple[str, ...]) -> tuple[Key, ...]:
    """The asked for cases, each with one target; they need not name sizes of their own."""
    if not names:
        raise UsageError("--at needs a NAME", hint="hlodiff growth NAME --at length=8,16,32,64")
    keys = []
    for found in discovery.functions:
        targets = sorted(found.targets, key=lambda target: target != "cpu")
        keys += [Key(found.name, case, targets[0]) for case in found.cases]
    return tuple(key for key in keys if selected(key, names, ()))


def _recorded(config: Config, key: Key, growth: Growth) -> Mapping[str, str]:
    try:
        return recorded_classes(read_growth(shown_path(config.snapshots), key.function, key.case), growth.parameter)
    except HlodiffError:
        return {}  # `check` says what is wrong with it
