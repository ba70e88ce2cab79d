"""`hlodiff bisect NAME METRIC`: the commit that changed a number of a recorded program."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import NO_TERMINAL, emit, shows_blocks, tell, width
from hlodiff.config import Config, amount
from hlodiff.differ.limits import Limits
from hlodiff.errors import ConfigError, HlodiffError, UsageError
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history import (
    History,
    NumberChange,
    at_least,
    by_size,
    changes,
    comparable,
    crossings,
    values_on,
)
from hlodiff.integrations.history.bisect import BisectResult, Culprit, bisect_json, bisect_markdown, bisect_text
from hlodiff.integrations.history.select import HistoryRequest, find
from hlodiff.integrations.history.text import ShownHistory, format_value
from hlodiff.workflows.compare import compare_sides
from hlodiff.workflows.configuration import load
from hlodiff.workflows.sides import open_side

_MOST_COMPARED = 3  # commits of one program whose programs are compared; the rest is listed
_PLAIN = re.compile(r"[\w@%+=:,./-][\w@%+=:,./~-]*", re.ASCII)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%?")


@dataclass(frozen=True, slots=True)
class _ChangeQuery:
    """What is looked for: one of a limit to be crossed, a least change in percent, or the largest change."""

    above: float | None = None
    below: float | None = None
    percent: float | None = None

    def among(self, found: tuple[NumberChange, ...]) -> tuple[NumberChange, ...]:
        """The commits in question, first the one that matters most."""
        if self.above is not None:
            return crossings(found, self.above, above=True)
        if self.below is not None:
            return crossings(found, self.below, above=False)
        return at_least(found, self.percent) if self.percent is not None else by_size(found)[:1]

    def in_words(self, metric: str) -> str:
        if self.above is not None:
            return f"went above {format_value(metric, self.above)}"
        if self.below is not None:
            return f"went below {format_value(metric, self.below)}"
        return f"changed by {self.percent:g} % or more" if self.percent is not None else "the largest change"


@click.command("bisect")
@click.argument("name", metavar="NAME")
@click.argument("metric", metavar="METRIC")
@options.target
@options.stage
@click.option("--from", "start", metavar="REV", help="Look at the commits after this one; all by default.")
@click.option("--to", "end", metavar="REV", default="HEAD", show_default=True, help="Look no further than this one.")
@click.option("--above", metavar="X", help="Find the commit that took it over X, as in 12 or '3 MiB'.")
@click.option("--below", metavar="X", help="Find the commit that took it below X.")
@click.option("--change", "percent", metavar="PERCENT", help="Find every commit that changed it by so much or more.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@options.output
@options.project
def command(
    name: str,
    metric: str,
    targets: tuple[str, ...],
    stage: Stage,
    start: str | None,
    end: str,
    above: str | None,
    below: str | None,
    percent: str | None,
    form: str,
    output: str | None,
    project: Path,
) -> int:
    """Find the commit that changed a number of a recorded program, and say what it did.

    METRIC is called as in budgets: temp_bytes, fusions, op.convert, collectives.all-gather.bytes, loop.copies. Without
    --above, --below or --change it is the commit of the largest change. All values are read from git, so nothing is
    compiled and every commit is looked at.

    Exits 0 where a commit was found, 1 where none was, 2 where the question makes no sense.
    """
    wanted = _wanted(metric, above, below, percent)
    revision = f"{start}..{end}" if start else end
    config = load(project)
    asked = HistoryRequest(name, targets, (metric,), stage, revision)
    found = find(asked, project, config.snapshots).histories
    if not found:
        tell(f"no commit of {revision} touched the snapshots of {name}")
    done = [_bisected(one, metric, stage, wanted, config, project) for one in found]
    root = str(config.root)
    if form == "json":
        text = bisect_json(done, revision, root)
    elif form == "markdown":
        text = bisect_markdown(done, root)
    else:
        to_file = output not in (None, "-")
        ascii_only = not to_file and not shows_blocks()
        text = bisect_text(done, width=NO_TERMINAL if to_file else width(), ascii_only=ascii_only, root=root)
    emit(text, output)
    return 0 if any(one.culprits for one in done) else 1


def _wanted(metric: str, above: str | None, below: str | None, percent: str | None) -> _ChangeQuery:
    if sum(one is not None for one in (above, below, percent)) > 1:
        raise UsageError("--above, --below and --change exclude each other", hint="give one of them")
    share = _SHARE.fullmatch(percent.strip()) if percent is not None else None
    if percent is not None and not share:
        raise UsageError("--change takes a number of percent", where=percent, hint="as in `--change 10%`")
    return _ChangeQuery(
        _limit(metric, above, "--above"), _limit(metric, below, "--below"), float(share[1]) if share else None
    )


def _limit(metric: str, value: str | None, option: str) -> float | None:
    if value is None:
        return None
    try:
        return amount(float(value) if re.fullmatch(r"\d+(\.\d+)?", value.strip()) else value, metric, option)
    except ConfigError as error:
        raise UsageError(error.what, where=option) from None


def _bisected(
    one: History, metric: str, stage: Stage, wanted: _ChangeQuery, config: Config, project: Path
) -> BisectResult:
    shown = ShownHistory(one, (metric,), stage)
    every = changes(one, metric)
    found = wanted.among(every)
    words = wanted.in_words(metric)
    if not found:
        return BisectResult(shown, words, nothing=_nothing(one, metric, wanted, every))
    compared = found[:_MOST_COMPARED] if wanted.percent is not None else found[:1]
    culprits = tuple(_culprit(one, change, config, project) for change in compared)
    further = tuple(
        change for change in (found if wanted.percent is not None else by_size(every)) if change not in compared
    )
    return BisectResult(shown, words, culprits, further)


def _nothing(one: History, metric: str, wanted: _ChangeQuery, every: tuple[NumberChange, ...]) -> str:
    """Why there is no such commit."""
    lately = {row.commit.id for row in comparable(one, metric)}
    known = [(row, value) for row, _, value in values_on(one, metric) if row.commit.id in lately]
    if not known:
        return f"no commit says what {metric} is: the compiler for this target does not tell it"
    high, low = max(known, key=lambda pair: pair[1]), min(known, key=lambda pair: pair[1])
    if wanted.above is not None or wanted.below is not None:
        row, extreme = high if wanted.above is not None else low
        way = "above" if wanted.above is not None else "below"
        limit = wanted.above if wanted.above is not None else wanted.below
        assert limit is not None
        if (extreme > limit) if wanted.above is not None else (extreme < limit):
            first = known[0][0]
            start = "since it is counted as it is now" if first.recounts(metric) else "from the start"
            return f"was {way} {format_value(metric, limit)} {start} ({first.commit.short})"
        most = "most" if wanted.above is not None else "least"
        said = f"at {most} {format_value(metric, extreme)} ({row.commit.short})"
        return f"was never {way} {format_value(metric, limit)}: {said}"
    if not every:
        return f"never changed: {format_value(metric, known[0][1])}"
    largest = max(change.share for change in every) * 100
    return f"never changed by {wanted.percent:g} % or more: at most by {largest:.3g} %"


def _culprit(one: History, change: NumberChange, config: Config, project: Path) -> Culprit:
    step, row = change.row.step, change.row
    old = row.since.short if row.since else f"{row.commit.short}~1"
    new = row.commit.short
    if step.was or one.of_tests:
        command = ["hlodiff", "diff", f"{old}:{step.was or step.folder}", f"{new}:{step.folder}"]
    else:
        command = ["hlodiff", "diff", old, new, "--name", step.key.name]
        command += ["--target", step.key.target] if step.key.target else []
    if one.kind == "scenario" or not step.old:
        return Culprit(change, (), _typed(command))
    sides = f"{old}:{step.was or step.folder}", f"{new}:{step.folder}"
    try:
        limits = Limits(**dict(config.limits))
        before, after = (open_side(side, project) for side in sides)
        programs = compare_sides(before, after, limits).programs
    except HlodiffError as error:
        return Culprit(change, (), _typed(command), f"{error.where}: {error.what}" if error.where else error.what)
    broken = next((one.reason for one in programs if one.broken), "")
    return Culprit(change, () if broken else programs, _typed(command), broken)


def _typed(command: list[str]) -> str:
    """A command as people type it; shlex also quotes the `~` of a revision, which no shell minds inside a word."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in command)
