"""Selecting by name and target: shell patterns over `function`, `function/case` and targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from hlodiff.capture import Discovery, Request
from hlodiff.capture.targets import looks_like
from hlodiff.config import Config, budget_of, closest, shown_path
from hlodiff.errors import HlodiffError, UsageError, expected_error
from hlodiff.report.wording import format_names
from hlodiff.snapshots import FolderTree, Key, Snapshot, list_snapshots, read_whole_snapshot
from hlodiff.workflows.build_snapshot import ParsedSnapshot, parse_snapshot
from hlodiff.workflows.scenarios import ChosenScenarios, all_scenarios, chosen_scenarios

_MOST_NAMED = 5  # targets listed if a pattern matches none


def as_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Patterns as a tuple; a string is one pattern.

    Example:
        >>> as_patterns("train*"), as_patterns(["f", "g"])
        (('train*',), ('f', 'g'))
    """
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def selected(key: Key, names: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether a program matches; without patterns, every program does.

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
        keys: all keys.
        names: patterns for functions (`train*`) or cases (`train/small`); all if empty.
        targets: patterns for targets; all if empty.
        others: names of scenarios, which run on cpu; a pattern may match only these.

    Returns:
        the chosen keys, in order.

    Raises:
        UsageError: a pattern matches nothing; the hint suggests the nearest name.
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
        strays: folders that hold a summary but are not named like a snapshot.
        scenarios: chosen scenarios.
    """

    registered: tuple[Key, ...]
    orphaned: tuple[Key, ...]
    strays: tuple[str, ...]
    scenarios: ChosenScenarios

    def notes(self) -> tuple[str, ...]:
        """Report notes on folders that are not snapshots."""
        return tuple(f"{folder}: a summary.yaml, but no snapshot's place" for folder in self.strays)


def choose(config: Config, discovery: Discovery, names: Sequence[str], targets: Sequence[str]) -> ChosenFunctions:
    """Choose the programs of a run.

    Args:
        config: the project's, for the snapshots folder.
        discovery: what is registered.
        names, targets: patterns; all if empty.

    Returns:
        the chosen programs; with patterns, only orphans that match.

    Raises:
        UsageError: a pattern matches nothing that is registered or recorded.
    """
    listing = list_snapshots(FolderTree(config.snapshots))
    registered = tuple(Key(r.function, r.case, r.target) for r in discovery.requests())
    # The cases of a function with a problem are unknown, so none of its snapshots counts as orphaned.
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
    """The configuration with the budgets of registered functions appended.

    Raises:
        ConfigError: one of them has a mistake.
    """
    own = [found for found in discovery.functions if found.budget is not None]
    further = tuple(budget_of(found.name, found.budget, f"{found.file}:{found.line}") for found in own)
    return replace(config, budgets=(*config.budgets, *further))


def load_stored(config: Config, keys: Sequence[Key]) -> tuple[dict[Key, ParsedSnapshot], dict[Key, HlodiffError]]:
    """Read the snapshots that exist.

    Args:
        config: the project's, for the snapshots folder.
        keys: which ones.

    Returns:
        the snapshots with verified fingerprints, and an error for each broken one; a program in neither has no
        snapshot.
    """
    tree = FolderTree(shown_path(config.snapshots))
    there = dict.fromkeys(list_snapshots(tree).keys)
    stored: dict[Key, ParsedSnapshot] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        # A folder without a summary is half a snapshot: broken rather than new.
        folder = config.snapshots / key.folder
        if key in there or (folder.is_dir() and any(entry.is_file() for entry in folder.iterdir())):
            try:
                stored[key] = parse_snapshot(read_whole_snapshot(tree, key), f"{tree.where}/{key.folder}", verify=True)
            except Exception as error:
                broken[key] = expected_error(error)
    return stored, broken


def intact_snapshots(stored: Mapping[Key, ParsedSnapshot]) -> dict[Key, Snapshot]:
    """Snapshots that are intact, so that an unchanged program is recognized without compiling."""
    return {key: one.snapshot for key, one in stored.items() if one.intact}


def requests_for(keys: Sequence[Key], known: Mapping[Key, Snapshot], lower_only: bool = False) -> tuple[Request, ...]:
    """One request for each program.

    Args:
        keys: which programs.
        known: snapshots of some programs; XLA is skipped if StableHLO and toolchain are the same.
        lower_only: whether to never compile.
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
