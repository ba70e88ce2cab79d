"""Selecting by name and target: shell patterns over `function`, `function/case` and targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from hlodiff.capture import Discovery, Request
from hlodiff.capture.targets import looks_like
from hlodiff.config import Config, budget_of, closest, shown_path
from hlodiff.errors import HlodiffError, UsageError, expected_error
from hlodiff.report.wording import format_names
from hlodiff.snapshots import FolderTree, Key, Snapshot, list_snapshots, read_whole_snapshot
from hlodiff.workflows.build_snapshot import ParsedSnapshot, parse
from hlodiff.workflows.scenarios import ChosenScenarios, all_scenarios, chosen_scenarios

_MOST_NAMED = 5  # targets, where a pattern matches none


def as_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Patterns as a tuple; a text is one pattern, not one for each letter.

    Example:
        >>> as_patterns("train*"), as_patterns(["f", "g"])
        (('train*',), ('f', 'g'))
    """
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def selected(key: Key, names: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether a program is among the chosen ones; no pattern chooses all.

    Example:
        >>> selected(Key("train", "small", "cpu"), ["train"], ["c*"])
        True
    """
    return _matches((key.function, key.name), names) and _matches((key.target,), targets)


def select(
    keys: Iterable[Key], names: Sequence[str], targets: Sequence[str], others: Sequence[str] = ()
) -> tuple[Key, ...]:
    """The chosen keys.

    Args:
        keys: everything there is.
        names: patterns for functions (`train*`) or cases (`train/small`); all where empty.
        targets: patterns for targets; all where empty.
        others: names of scenarios, which run on cpu: a pattern may be meant for them alone.

    Returns:
        the chosen keys, in order.

    Raises:
        UsageError: a pattern matches nothing; says what is nearest.
    """
    keys = tuple(keys)
    for pattern in names:
        there = any(_matches((key.function, key.name), [pattern]) for key in keys)
        if not there and not any(fnmatchcase(name, pattern) for name in others):
            raise _nothing("function", pattern, [*(key.name for key in keys), *others], "hlodiff list")
    for pattern in targets:
        if not any(_matches((key.target,), [pattern]) for key in keys) and not (others and fnmatchcase("cpu", pattern)):
            raise _nothing("target", pattern, [key.target for key in keys], "hlodiff list")
    return tuple(key for key in keys if selected(key, names, targets))


def _matches(values: Sequence[str], patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for value in values for pattern in patterns)


def _nothing(what: str, pattern: str, options: list[str], command: str) -> UsageError:
    options = list(dict.fromkeys(options))
    if what == "target":
        hint = f"{looks_like(pattern, options)}, or a pattern such as 'tpu-*'; "
        hint += f"registered: {format_names(options, _MOST_NAMED)}; " if options else ""
    else:
        near = closest(pattern, options)
        hint = f"did you mean `{near}`? " if near else ""
    return UsageError(f"no {what} matches `{pattern}`", hint=f"{hint}`{command}` shows what there is")


@dataclass(frozen=True, slots=True)
class ChosenFunctions:
    """The programs of one run.

    Args:
        registered: chosen programs that are registered, in the order of registration.
        orphaned: chosen snapshots whose function, case or target is no longer registered.
        strays: folders that hold a summary but have no name of ours.
        scenarios: chosen scenarios.
    """

    registered: tuple[Key, ...]
    orphaned: tuple[Key, ...]
    strays: tuple[str, ...]
    scenarios: ChosenScenarios

    def notes(self) -> tuple[str, ...]:
        """What a report says of folders that are no snapshots."""
        return tuple(f"{folder}: a summary.yaml, but no snapshot's place" for folder in self.strays)


def choose(config: Config, discovery: Discovery, names: Sequence[str], targets: Sequence[str]) -> ChosenFunctions:
    """Which programs a run is about.

    Args:
        config: says where the snapshots are.
        discovery: what is registered.
        names, targets: patterns; all where empty.

    Returns:
        the chosen programs; a run with patterns never names an orphan outside them.

    Raises:
        UsageError: a pattern matches nothing that is registered or recorded.
    """
    listing = list_snapshots(FolderTree(config.snapshots))
    registered = tuple(Key(r.function, r.case, r.target) for r in discovery.requests())
    # Nobody knows the cases of a function whose cases could not be listed, so none of its snapshots is blamed.
    unknown = {found.name for found in discovery.functions if found.problem}
    known = dict.fromkeys(registered)
    orphaned = tuple(key for key in listing.keys if key not in known and key.function not in unknown)
    scenarios = all_scenarios(config, discovery)
    chosen = dict.fromkeys(select((*registered, *orphaned), names, targets, scenarios.names))
    return ChosenFunctions(
        tuple(key for key in registered if key in chosen),
        tuple(key for key in orphaned if key in chosen),
        listing.strays,
        chosen_scenarios(scenarios, names, targets),
    )


def with_budgets(config: Config, discovery: Discovery) -> Config:
    """The configuration with the budgets that functions are registered with behind its own.

    Raises:
        ConfigError: one of them holds a mistake.
    """
    own = [found for found in discovery.functions if found.budget is not None]
    further = tuple(budget_of(found.name, found.budget, f"{found.file}:{found.line}") for found in own)
    return replace(config, budgets=(*config.budgets, *further))


def load_stored(config: Config, keys: Sequence[Key]) -> tuple[dict[Key, ParsedSnapshot], dict[Key, HlodiffError]]:
    """Read those snapshots that exist.

    Args:
        config: says where they are.
        keys: which ones.

    Returns:
        what was read, its fingerprints verified, and what is broken and why; a program in neither has no snapshot.
    """
    tree = FolderTree(shown_path(config.snapshots))
    there = dict.fromkeys(list_snapshots(tree).keys)
    stored: dict[Key, ParsedSnapshot] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        # A folder without a summary holds half a snapshot: broken rather than new.
        if key in there or _has_files(config.snapshots / key.folder):
            try:
                stored[key] = parse(read_whole_snapshot(tree, key), f"{tree.where}/{key.folder}", verify=True)
            except Exception as error:
                broken[key] = expected_error(error)
    return stored, broken


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(entry.is_file() for entry in folder.iterdir())


def intact_snapshots(stored: Mapping[Key, ParsedSnapshot]) -> dict[Key, Snapshot]:
    """Snapshots whose programs need not be compiled to be recognized."""
    return {key: one.snapshot for key, one in stored.items() if one.intact}


def requests_for(keys: Sequence[Key], known: Mapping[Key, Snapshot], lower_only: bool = False) -> tuple[Request, ...]:
    """One request for each program.

    Args:
        keys: which programs.
        known: snapshots of some: where StableHLO and toolchain are found again, XLA is not asked.
        lower_only: whether XLA is never asked.
    """
    requests = []
    for key in keys:
        request = Request(key.function, key.case, key.target, lower_only=lower_only)
        if snapshot := known.get(key):
            stablehlo = snapshot.summary["fingerprints"]["stablehlo"]
            toolchain = dict(snapshot.summary.get("toolchain") or {})
            request = replace(request, known_stablehlo=stablehlo, known_toolchain=toolchain)
        requests.append(request)
    return tuple(requests)
