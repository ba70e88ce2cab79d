"""`hlodiff profile NAME`: what a first call pays before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import click

from hlodiff.capture import CaptureFailure, NotChecked, Request, discover
from hlodiff.capture.profile import PHASE_NAMES, ProfileRequest, ProfileResult, profile
from hlodiff.cli import options
from hlodiff.cli.output import color, emit
from hlodiff.config import Config
from hlodiff.inspect.profile_report import Profile, profiles_json, profiles_markdown, profiles_text
from hlodiff.inspect.reasons import to_mend
from hlodiff.snapshots import Key
from hlodiff.workflows.capture_side import instructions
from hlodiff.workflows.configuration import load
from hlodiff.workflows.progress import progress
from hlodiff.workflows.select import select


@click.command("profile")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@options.target
@click.option(
    "-n",
    "--repeat",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="Compile again so often after the first time.",
)
@click.option("--no-passes", is_flag=True, help="Leave out the further compile that tells XLA's passes apart.")
@click.option("--all", "everything", is_flag=True, help="List every pass.")
@options.form
@options.output
@options.project
def command(
    names: tuple[str, ...],
    targets: tuple[str, ...],
    repeat: int,
    no_passes: bool,
    everything: bool,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Tell how long a function's first call takes before it runs: tracing, lowering, XLA, and XLA's passes.

    NAME is a function, a case (`function/case`) or a pattern. Each program is compiled in a process of its own, one
    after the other; nothing is run, and no snapshot is read or written.

    Exits 0, or 2 where a program could not be compiled.
    """  # fmt: skip
    config = load(project)
    keys = select((Key(r.function, r.case, r.target) for r in discover(config).requests()), names, targets)
    found = _profiles(config, keys, repeat, not no_passes)
    if form == "json":
        emit(profiles_json(found), output)
    elif form == "markdown":
        emit(profiles_markdown(found, everything), output)
    else:
        emit(profiles_text(found, everything, color() and output in (None, "-")), output)
    return 2 if any(each.broken for each in found) or not any(each.first for each in found) else 0


def _profiles(config: Config, keys: Sequence[Key], repeat: int, passes: bool) -> list[Profile]:
    requests = [ProfileRequest(Request(key.function, key.case, key.target), repeat, passes) for key in keys]
    found: list[Profile] = []
    with progress(len(keys), "timing") as step, closing(cast(Any, profile(config, requests))) as outcomes:
        for key in keys:
            step(f"{key.name} on {key.target}", 0)
            found.append(_profile(key, next(outcomes), config.root))
            step(f"{key.name} on {key.target}", 1)
    return found


def _profile(key: Key, outcome: ProfileResult | NotChecked | CaptureFailure, root: Path) -> Profile:
    if isinstance(outcome, NotChecked):
        return Profile(key.name, key.target, problem=outcome.reason, advice=outcome.advice)
    if isinstance(outcome, CaptureFailure):
        return Profile(key.name, key.target, problem=outcome.what, broken=True)
    stablehlo, compiled = (instructions(text) for text in (outcome.stablehlo, outcome.compiled))
    first, *later = ({name: getattr(run, name) for name in PHASE_NAMES} for run in (outcome.first, *outcome.later))
    return Profile(
        key.name,
        key.target,
        stablehlo,
        compiled,
        first,
        tuple(later),
        outcome.passes,
        outcome.source,
        outcome.observed,
        reasons=to_mend(outcome.stablehlo, root),
    )
