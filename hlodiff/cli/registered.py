"""What is registered, what is recorded, and what of both was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hlodiff.capture import Discovery, Request
from hlodiff.cli.output import near
from hlodiff.cli.recording import Stored, parse
from hlodiff.cli.scenario_runs import ChosenScenarios, all_scenarios, chosen_scenarios
from hlodiff.cli.selecting import select
from hlodiff.cli.trouble import foreseen
from hlodiff.config import Config
from hlodiff.config_policy import budget_of
from hlodiff.errors import HlodiffError
from hlodiff.store import FolderTree, Key, list_snapshots, read_snapshot


@dataclass(frozen=True, slots=True)
class Chosen:
    """The programs of one run.

    Args:
        registered: chosen programs that are registered, in the order of registration.
        orphaned: chosen snapshots whose function, case or target is registered no more.
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


def choose(config: Config, discovery: Discovery, names: Sequence[str], targets: Sequence[str]) -> Chosen:
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
    return Chosen(
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


def load_stored(config: Config, keys: Sequence[Key]) -> tuple[dict[Key, Stored], dict[Key, HlodiffError]]:
    """Read those snapshots that exist.

    Args:
        config: says where they are.
        keys: which ones.

    Returns:
        what was read, its fingerprints verified, and what is broken and why; a program in neither has no snapshot.
    """
    tree = FolderTree(near(config.snapshots))
    there = dict.fromkeys(list_snapshots(tree).keys)
    stored: dict[Key, Stored] = {}
    broken: dict[Key, HlodiffError] = {}
    for key in keys:
        # A folder without a summary holds half a snapshot: broken rather than new.
        if key in there or _has_files(config.snapshots / key.folder):
            try:
                stored[key] = parse(read_snapshot(tree, key), f"{tree.where}/{key.folder}", verify=True)
            except Exception as error:
                broken[key] = foreseen(error)
    return stored, broken


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(entry.is_file() for entry in folder.iterdir())


def requests_for(keys: Sequence[Key], stored: Mapping[Key, Stored], lower_only: bool = False) -> tuple[Request, ...]:
    """One request for each program; where the stored one is intact, it need not be compiled to be known again."""
    requests = []
    for key in keys:
        known = stored.get(key)
        if known is not None and known.intact:
            summary = known.snapshot.summary
            stablehlo, toolchain = summary["fingerprints"]["stablehlo"], dict(summary.get("toolchain") or {})
            requests.append(Request(key.function, key.case, key.target, stablehlo, toolchain, lower_only))
        else:
            requests.append(Request(key.function, key.case, key.target, lower_only=lower_only))
    return tuple(requests)
