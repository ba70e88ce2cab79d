"""Growth in `check` and `update`: findings against `growth.yaml`, and writing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlodiff.anatomy.growth import Growth
from hlodiff.capture import Discovery, GrowthRequest, NotChecked
from hlodiff.cli.growing import Grew, growing_keys, grown
from hlodiff.cli.leaving import Leaving
from hlodiff.cli.output import near
from hlodiff.cli.registered import Chosen
from hlodiff.cli.selecting import selected
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config
from hlodiff.errors import HlodiffError
from hlodiff.policy import Finding
from hlodiff.policy.findings import Severity
from hlodiff.policy.growth import RULE, changed_growth, growth_record, judge_growth, recorded_classes
from hlodiff.report.growth_report import causes, growing_tables
from hlodiff.store import (
    FolderTree,
    Key,
    StaleError,
    list_growth,
    read_growth,
    recorded_text,
    remove_growth,
    write_growth,
)

PLACE = "growth"
"""What stands for the target in the lists of `update`: growth is recorded once for all targets."""


def check_growth(
    config: Config, discovery: Discovery, chosen: Chosen, names: Sequence[str], jobs: int | None, leaving: Leaving
) -> tuple[Finding, ...]:
    """Look how the chosen cases grow, and compare with what is recorded.

    Args:
        config: the project's.
        discovery: what is registered.
        chosen: the programs of this run.
        names: the patterns that chose them.
        jobs: how many workers.
        leaving: keeps what is not recorded for `accept`.

    Returns:
        findings in the order of registration, orphans last.
    """
    keys = growing_keys(discovery, chosen)
    found = {grew.key: grew for grew in grown(config, [_request(key) for key in keys], jobs)}
    findings = [finding for key in keys if key in found for finding in _judged(config, found[key], leaving)]
    for function, case in orphaned_growth(config, discovery, names):
        what = "has growth.yaml, and its case names no sizes any more"
        name = Key(function, case, PLACE).name
        findings.append(Finding("error", RULE, name, None, what, "hlodiff update --prune"))
    return tuple(findings)


def _request(key: Key) -> GrowthRequest:
    return GrowthRequest(key.function, key.case, key.target)


def _judged(config: Config, grew: Grew, leaving: Leaving) -> tuple[Finding, ...]:
    key, own = grew.key, Key(grew.key.function, grew.key.case, PLACE)
    try:
        record = read_growth(near(config.snapshots), key.function, key.case)
        text = recorded_text(FolderTree(near(config.snapshots)), own)
    except HlodiffError as error:
        advice = f"hlodiff update {key.name}"
        what = str(error).removesuffix(f"\nhint: {error.hint}")
        return (Finding("broken", RULE, key.name, None, what, advice),)
    if isinstance(grew.trouble, NotChecked):
        severity: Severity = "info" if record is None else "warning"
        return (Finding(severity, RULE, key.name, key.target, grew.trouble.reason, grew.trouble.advice),)
    if grew.trouble is not None:
        leaving.forget_record(own)
        log = tuple(grew.trouble.log_tail.rstrip().split("\n")[-12:]) if grew.trouble.log_tail else ()
        return (Finding("broken", RULE, key.name, None, grew.trouble.what, "", log),)
    found = growth_record(key.function, key.case, grew.growths)
    leaving.record(own, found, text, text is None or bool(changed_growth(record, found)[0]))
    words = {growth.parameter: grown_words(growth, str(config.root)) for growth in grew.growths}
    return tuple(judge_growth(key.name, grew.growths, record, dict(grew.limits), words))


def grown_words(growth: Growth, root: str) -> tuple[str, ...]:
    """Where growth comes from, in words: lines that are repeated, and tables that grow."""
    return (*causes(growth, root), *growing_tables(growth, root))


def orphaned_growth(config: Config, discovery: Discovery, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What is recorded of cases that name no sizes any more, among those that were asked for."""
    known = {(found.name, case) for found in discovery.functions for case in found.grown}
    unknown = {found.name for found in discovery.functions if found.problem}
    return tuple(
        one
        for one in list_growth(config.snapshots)
        if one not in known and one[0] not in unknown and selected(Key(*one, PLACE), names, ())
    )


@dataclass(frozen=True, slots=True)
class GrowthRow:
    """What became of the growth of one case in `update`: its key, a status as programs have it, and lines of text."""

    key: Key
    status: str
    what: tuple[str, ...] = ()
    log: str = ""


def update_growth(
    config: Config, discovery: Discovery, chosen: Chosen, names: Sequence[str], jobs: int | None, prune: bool
) -> tuple[GrowthRow, ...]:
    """Record how the chosen cases grow. Call it with the snapshots held for writing.

    Args:
        config, discovery, chosen, names, jobs: see `check_growth`.
        prune: whether what is recorded of cases that name no sizes any more is deleted.

    Returns:
        one row for each case.
    """
    keys = growing_keys(discovery, chosen)
    found = {grew.key: grew for grew in grown(config, [_request(key) for key in keys], jobs)}
    rows = [_written(config, found[key]) for key in keys if key in found]
    for function, case in orphaned_growth(config, discovery, names):
        if prune:
            remove_growth(config.snapshots, function, case)
        rows.append(GrowthRow(Key(function, case, PLACE), "deleted" if prune else "orphaned"))
    return tuple(rows)


def _written(config: Config, grew: Grew) -> GrowthRow:
    key, root = Key(grew.key.function, grew.key.case, PLACE), near(config.snapshots)
    if isinstance(grew.trouble, NotChecked):
        advice = (f"hint: {grew.trouble.advice}",) if grew.trouble.advice else ()
        return GrowthRow(key, "not checked", (grew.trouble.reason, *advice))
    if grew.trouble is not None:
        return GrowthRow(key, "failed", (grew.trouble.what,), grew.trouble.log_tail)
    status = "changed"
    try:
        old = read_growth(root, key.function, key.case)
        status = "new" if old is None else status
    except HlodiffError as error:
        old, status = None, "healed" if isinstance(error, StaleError) else "repaired"
        if foreseen(error).hint.startswith("pip install"):  # a newer hlodiff wrote it
            return GrowthRow(key, "failed", tuple(str(error).split("\n")))
    if not write_growth(root, key.function, key.case, growth_record(key.function, key.case, grew.growths)):
        return GrowthRow(key, "unchanged")
    return GrowthRow(key, status, tuple(_told(grew, old)))


def _told(grew: Grew, old: object) -> list[str]:
    """The classes of a parameter in one line, with what they were."""
    lines = []
    for growth in grew.growths:
        before = recorded_classes(old if isinstance(old, dict) else None, growth.parameter)
        words = []
        for series in growth.series:
            was = before.get(series.name, series.fit.kind)
            name = series.name.replace("_", " ")
            words.append(f"{name} {series.fit.kind}" + (f" (was {was})" if was != series.fit.kind else ""))
        lines.append(f"with `{growth.parameter}`: {', '.join(words)}")
    return lines
