"""`hlodiff check --against REV`: the work tree against a revision, both captured now, by the same compiler."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from hlodiff.capture import Discovery, discover, one_worker_for_both
from hlodiff.cli.against_records import Side, compared_scenarios, judged_growth, judged_scenarios, scenario_names
from hlodiff.cli.parity import check_parity
from hlodiff.cli.registered import with_budgets
from hlodiff.cli.renamed import renamed
from hlodiff.cli.selecting import select
from hlodiff.cli.taking import Names, Taken, compare_taken, take
from hlodiff.cli.worktree import Checkout, checked_out
from hlodiff.config import TABLE, Config, load_if_any
from hlodiff.diff.compared import Compared
from hlodiff.diff.limits import Limits
from hlodiff.errors import ConfigError, HlodiffError, UsageError
from hlodiff.policy import PROGRAM_RULES, Finding, judge, of_policy
from hlodiff.report.record import Report, toolchain_changes
from hlodiff.store import Key

# What the work tree says counts for both sides: none of it belongs to what is compared.
_SHARED = (
    "jobs", "limits", "large_constants", "max_file_bytes", "snapshots", "fail_on", "changes", "budgets", "rules",
)  # fmt: skip
_PLAIN = re.compile(r"[\w./@:+~^-]+")  # what a shell takes as it is, inside of a word
# These may differ: each side is what its own revision registers and how it has it compiled.
_MODULES = ("modules", "path", "targets", "root")


@one_worker_for_both()
def check_against(config: Config, spec: str, names: Sequence[str], targets: Sequence[str], jobs: int | None) -> Report:
    """Capture a revision and the work tree in one run and compare them.

    Nothing is written: neither snapshots nor pending programs.

    Args:
        config: the work tree's.
        spec: the revision.
        names, targets: patterns; all where empty.
        jobs: how many workers.

    Returns:
        the report; a function that only one side has is told and does not fail.

    Raises:
        UsageError: git has no such revision, or a pattern matches nothing on either side.
        HlodiffError: a side cannot be imported or has no configuration; says which.
    """
    here = discover(config)
    policy = with_budgets(config, here)
    with checked_out(spec, config.root) as checkout:
        there_config = _config_of(checkout, config)
        with_name = Names(f"at {checkout.label}", "in this work tree")
        there = _discovered(there_config, checkout, with_name.old)
        old_keys, new_keys = _chosen(there, here, names, targets)
        old = take(there_config, old_keys, jobs)
        new = take(config, new_keys, jobs, old.snapshots)
        programs = compare_taken(old, new, Limits(**dict(config.limits)), with_name)
        before = Side(there_config, there, old_keys, with_name.old)
        after = Side(config, here, new_keys, with_name.new)
        scenarios = compared_scenarios(before, after, names, targets, jobs)
        grown = judged_growth(before, after, jobs, spec)
        settings = _settings(there_config, config, checkout.label)
        notes = (*checkout.notes, *renamed(programs, recorded=False), *settings)
        repairable = [key.name for key, trouble in new.troubles.items() if trouble.broken]
    judged = [one for one in judge(programs, policy) if one.rule not in ("new", "orphaned")]
    findings = (
        *(_reworded(finding, spec) for finding in judged),
        *grown,
        *check_parity(config, here, after.chosen(), jobs),
        *judged_scenarios(scenarios),
    )
    return Report(
        command="diff",
        old=checkout.label,
        new="this work tree",
        programs=programs,
        findings=findings,
        toolchain=toolchain_changes(_toolchains(old, new)),
        notes=notes,
        next=_following(programs, findings, repairable, spec, config.snapshots.is_dir()),
        root=str(config.root),
        scenarios=scenarios,
        registered={found.name: (found.file, found.line) for found in here.functions},
    )


def _reworded(finding: Finding, spec: str) -> Finding:
    """What `check` says of snapshots, said of a revision."""
    if finding.rule != "changed":
        return finding
    return replace(finding, what=finding.what.replace("than the snapshot", f"than at {spec}"), advice="")


def _following(
    programs: Sequence[Compared], findings: Sequence[Finding], repairable: Sequence[str], spec: str, recorded: bool
) -> str:
    """The command to type next: to accept what changed one has to check it against the snapshots, if there are any."""
    again = f"hlodiff check --against {spec if _PLAIN.fullmatch(spec) else shlex.quote(spec)}"
    # What the revision did wrong nobody can repair any more.
    further = [f for f in findings if f.severity == "broken" and f.rule not in PROGRAM_RULES]
    broken = [*repairable, *(f.program for f in further if not f.what.startswith("at "))]
    if broken:
        return f"{again} {broken[0]}, once it is repaired"
    over = dict.fromkeys(f.program for f in findings if f.severity == "error" and of_policy(f))
    if over:
        return f"{again} {' '.join(list(over)[:3])}, once within limits"
    names = dict.fromkeys(one.name for one in programs if one.status == "changed")
    names |= dict.fromkeys(f.program for f in findings if f.severity == "error")
    chosen = f" {' '.join(names)}" if len(names) <= 3 else ""
    if not names:
        return ""
    return f"hlodiff check{chosen}" if recorded else f"{again}{chosen} --stacks"


def _toolchains(old: Taken, new: Taken) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """They differ only where the two revisions have other compiler flags."""
    both = [(old.snapshots[key], snapshot) for key, snapshot in new.snapshots.items() if key in old.snapshots]
    return [(b.target, a.summary.get("toolchain") or {}, b.summary.get("toolchain") or {}) for a, b in both]


def _chosen(
    there: Discovery, here: Discovery, names: Sequence[str], targets: Sequence[str]
) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    """A pattern may match on one side only: a function that came or went."""
    old, new = (tuple(Key(r.function, r.case, r.target) for r in side.requests()) for side in (there, here))
    chosen = dict.fromkeys(select(dict.fromkeys((*new, *old)), names, targets, scenario_names(here, there)))
    return tuple(key for key in old if key in chosen), tuple(key for key in new if key in chosen)


def _config_of(checkout: Checkout, config: Config) -> Config:
    """The revision's own configuration, with what concerns both sides taken from the work tree's."""
    try:
        root = checkout.counterpart(config.root)
    except ValueError:
        hint = "run it where pyproject.toml lies inside the repository"
        raise UsageError("the project lies outside this git repository", where=str(config.root), hint=hint) from None
    where = f"{checkout.label}:pyproject.toml"
    try:
        found = load_if_any(root / "pyproject.toml") if (root / "pyproject.toml").is_file() else None
    except ConfigError as error:
        raise ConfigError(error.what, where=where, hint=error.hint or "choose a revision that can be read") from None
    if found is None:
        hint = "choose a revision since hlodiff was set up; `git log --oneline -- pyproject.toml` lists candidates"
        raise ConfigError(f"has no [{TABLE}] table", where=where, hint=hint)
    own = replace(found, **{name: getattr(config, name) for name in _SHARED})
    return replace(own, path=(*own.path, *_paths_inside(checkout)))


def _paths_inside(checkout: Checkout) -> tuple[str, ...]:
    """The revision's counterparts of folders that Python finds packages in, such as an editable install's `src`."""
    found: dict[str, None] = {}
    for entry in (*sys.path, *_editable()):
        path = Path(entry or ".").resolve()
        if path.is_relative_to(checkout.top) and not any(
            part in ("site-packages", "dist-packages") for part in path.parts
        ):
            mine = checkout.counterpart(path)
            if mine.is_dir():
                found[str(mine)] = None
    return tuple(found)


def _editable() -> tuple[str, ...]:
    """Folders of packages that an editable install finds by a hook instead of `sys.path`."""
    mappings = [getattr(sys.modules.get(getattr(f, "__module__", "")), "MAPPING", None) for f in sys.meta_path]
    return tuple(str(Path(place).parent) for one in mappings if isinstance(one, dict) for place in one.values())


def _discovered(config: Config, checkout: Checkout, side: str) -> Discovery:
    try:
        found = discover(config)
    except HlodiffError as error:
        hint = error.hint or "files that git does not track are not there: is one of them needed?"
        where = f"{side}, {error.where}" if error.where else side
        raise type(error)(error.what.replace(str(checkout.folder) + "/", ""), where=where, hint=hint) from None
    mine = [file for file in found.files if Path(file).is_relative_to(checkout.folder)]
    foreign = [file for file in found.files if file not in mine and Path(file).is_relative_to(checkout.top)]
    outside = [file for file in foreign if not _is_installed(file)]
    if outside:
        shown = ", ".join(str(Path(file).relative_to(checkout.top)) for file in outside[:3])
        what = f"imports files of the work tree instead of its own: {shown}"
        hint = f'name their folder in `path` of [{TABLE}], as in path = [".", "src"]'
        raise ConfigError(what, where=side, hint=hint)
    return found


def _is_installed(file: str) -> bool:
    return any(part in ("site-packages", "dist-packages") for part in Path(file).parts)


def _settings(old: Config, new: Config, label: str) -> tuple[str, ...]:
    """Settings that may change programs and differ, though no line of code does."""
    names = [each.name for each in fields(Config) if each.name not in (*_SHARED, *_MODULES)]
    different = [name for name in names if getattr(old, name) != getattr(new, name)]
    if not different:
        return ()
    return (f"[{TABLE}] {', '.join(different)} is another one at {label}: each side was compiled with its own",)
