"""`hlodiff git status`: what is installed, what is missing, what no longer works, and which snapshots are stale."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hlodiff.cli.git_attributes import PROBES, block_of, own_row, rows
from hlodiff.cli.git_drivers import PROGRAMS, is_ours, python_of, runs, settings
from hlodiff.cli.git_installing import read_attributes
from hlodiff.cli.git_repository import Repository
from hlodiff.cli.output import near
from hlodiff.report.numbers import many
from hlodiff.store import PYTEST, FolderTree, is_stale, list_growth, list_snapshots, stale_of
from hlodiff.store.growth_file import growth_path
from hlodiff.store.recorded_traces import TRACES, scenarios_of

State = Literal["installed", "missing", "stale", "overridden"]
_INSTALL = "hlodiff git install"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of what is set up.

    Args:
        name: "diff driver", "textconv", "merge driver", "attributes", "snapshots".
        state: "stale" no longer does what it should; "overridden" by lines or values of somebody's own.
        what: more words; "" where the state says all.
        next: the command that repairs it; "" where it is well.
    """

    name: str
    state: State | Literal["ok"]
    what: str = ""
    next: str = ""

    @property
    def is_well(self) -> bool:
        """Whether nothing has to be done about it."""
        return self.state in ("installed", "ok")


def status(repository: Repository) -> tuple[Part, ...]:
    """Look at everything that `hlodiff git install` sets up, and at what merges have left in the snapshots.

    Args:
        repository: where.

    Returns:
        one record for each part.
    """
    return (*_drivers(repository), _attributes(repository), _snapshots(repository))


def _drivers(repository: Repository) -> Iterator[Part]:
    everything = settings()
    works: dict[str, bool] = {}
    for driver in dict.fromkeys(one.driver for one in everything):
        mine = [(one, repository.values(one.key)) for one in everything if one.driver == driver]
        foreign = [one.key for one, values in mine if values and not is_ours(one, values[-1])]
        pythons = dict.fromkeys(python for one, values in mine for value in values if (python := python_of(value)))
        for python in pythons:
            works.setdefault(python, runs(python, repository.top))
        gone = [python for python in pythons if not works[python]]
        current = settings(next(iter(pythons), sys.executable))
        as_set = {one.key: one.value for one in current}
        if foreign:
            hint = f"git config --unset-all {foreign[0]}"
            yield Part(driver, "overridden", f"{foreign[0]} holds something of your own", hint)
        elif not all(values for _, values in mine):
            yield Part(driver, "missing", "", _INSTALL)
        elif gone:
            yield Part(driver, "stale", f"{gone[0]} is gone, or has no hlodiff any more", _INSTALL)
        elif any(values != (as_set[one.key],) for one, values in mine):
            yield Part(driver, "stale", "another version of hlodiff has set it", _INSTALL)
        else:
            other = next((python for python in pythons if python != sys.executable), "")
            yield Part(driver, "installed", f"runs {other}" if other else "")


def _attributes(repository: Repository) -> Part:
    name, file = "attributes", near(repository.attributes)
    block = block_of(read_attributes(repository.attributes))
    if block is None:
        return Part(name, "missing", f"not in {file}", _INSTALL)
    if block != rows(repository.below):
        return Part(
            name,
            "stale",
            f"{file} has lines of another version of hlodiff or for another folder",
            _INSTALL,
        )
    own = repository.own_attributes
    if own_row(repository.below_top) not in read_attributes(own).splitlines():
        return Part(name, "missing", f"source.json is not in {near(own)}", _INSTALL)
    others = list(_overridden(repository))
    if others:
        return Part(name, "overridden", f"other lines decide about {others[0]}", f"git check-attr --all {others[0]}")
    committed = repository.ask(["status", "--porcelain", "--", str(repository.attributes)]).strip()
    return Part(name, "installed", f"in {file}" + (", not committed yet" if committed else ""))


def _overridden(repository: Repository) -> Iterator[str]:
    """Files of which git, asked, says other than our lines do."""
    top = os.path.realpath(repository.top)
    below = repository.snapshots.relative_to(top).as_posix()
    drivers = {f"{below}/{path}" if below != "." else path: driver for path, driver in PROBES.items()}
    said = [
        os.fsdecode(word) for word in repository.ask(["check-attr", "-z", "diff", "merge", "--", *drivers]).split(b"\0")
    ]
    for path, kind, value in zip(said[0::3], said[1::3], said[2::3], strict=False):
        if value != (PROGRAMS if kind == "merge" else drivers[path]):
            yield path


def _snapshots(repository: Repository) -> Part:
    tree = FolderTree(repository.snapshots)
    files = tree.files()
    found = [key.name for key in stale_of(tree, list_snapshots(tree).keys)]
    found += [name for name in scenarios_of(files) if is_stale(tree, [f"{name}/{TRACES}"])]
    for function, case in list_growth(repository.snapshots):
        if is_stale(tree, [growth_path(function, case)]):
            found.append(f"{function}/{case}" if case else function)
    own = list(dict.fromkeys(found))
    of_tests = FolderTree(repository.snapshots / PYTEST)
    tests = dict.fromkeys(f"{PYTEST}/{key.name}" for key in stale_of(of_tests, list_snapshots(of_tests).keys))
    names = [*own, *tests]
    if not names:
        return Part("snapshots", "ok", "none is stale")
    shown = f"{', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
    again = " && ".join([*([_update(own)] if own else []), *(["pytest --hlodiff-update"] if tests else [])])
    return Part("snapshots", "stale", f"{many(len(names), 'name')} since a merge: {shown}", again)


def _update(names: list[str]) -> str:
    return f"hlodiff update {' '.join(names)}" if len(names) <= 3 else "hlodiff update"
