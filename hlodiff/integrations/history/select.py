"""The part of `log` that resolves NAME and a range of revisions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hlodiff.config import closest, shown_path
from hlodiff.errors import StoreError, UsageError
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history.commits import GitObjects, open_repository, revisions_of
from hlodiff.integrations.history.rows import History, check_metrics, completed, histories
from hlodiff.integrations.history.steps import folders_of, key_of
from hlodiff.snapshots import PYTEST, FolderTree, GitTree, Key, list_snapshots, open_revision, scenarios_of
from hlodiff.snapshots.trees import git
from hlodiff.workflows.select import selected

_TARGET_OF_SCENARIOS = "cpu"


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """The request of the command line.

    Args:
        name: a function, a case (`function/case`), a scenario or a pattern; it may no longer exist.
        targets: patterns; all if empty.
        metrics: names of metrics; the default ones if empty.
        stage: which of a snapshot's two programs to read.
        revision: as in `git log`.
        first_parent: whether to skip merged branches.
    """

    name: str
    targets: tuple[str, ...]
    metrics: tuple[str, ...]
    stage: Stage
    revision: str
    first_parent: bool = False

    def selects(self, key: Key) -> bool:
        """Whether a recorded file is selected; scenarios run on cpu."""
        return selected(key if key.target else Key(key.function, "", _TARGET_OF_SCENARIOS), [self.name], self.targets)


@dataclass(frozen=True, slots=True)
class HistoryMatch:
    """The result of a request.

    Args:
        histories: in order, those of tests last.
        folders: each searched folder of snapshots, with its request.
    """

    histories: tuple[History, ...]
    folders: tuple[_SnapshotFolder, ...]


@dataclass(frozen=True, slots=True)
class _SnapshotFolder:
    """A folder of snapshots: of registered functions, or of tests."""

    request: HistoryRequest
    repository: GitObjects
    tree: GitTree
    folder: Path
    of_tests: bool = False

    def histories(self) -> tuple[History, ...]:
        """The selected histories of this folder."""
        request, repository = self.request, self.repository
        revisions = revisions_of(repository, request.revision)
        prefix = f"{repository.below}/" if repository.below else ""
        tip = {f"{prefix}{name}": oid for name, (oid, _) in self.tree.entries.items()}
        options = ["--first-parent"] if request.first_parent else []
        found = histories(repository, revisions, [request.name], tip, request.selects, request.stage, options)
        return tuple(replace(one, of_tests=True) for one in found) if self.of_tests else found


def find(request: HistoryRequest, project: Path, snapshots: Path) -> HistoryMatch:
    """The requested histories, with all requested metrics.

    A name that no function has may belong to a test's snapshot, which the prefix `pytest/` selects explicitly.

    Args:
        request: the request of the command line.
        project: a folder in the repository.
        snapshots: absolute path of the snapshots folder.

    Returns:
        histories in order; none if the name is known and no commit of the range touched it.

    Raises:
        UsageError: nothing with this name was ever recorded in these commits, or a metric is unknown.
        StoreError: no repository, no such revision, or git fails.
    """
    of_tests = replace(request, name=request.name.removeprefix(f"{PYTEST}/"))
    is_test = of_tests.name != request.name
    folders = [] if is_test else [_open_folder(request, project, snapshots)]
    found = folders[0].histories() if folders else ()
    if not found or request.name == "*":  # asking git twice is slow
        folders.append(_open_folder(of_tests, project, snapshots / PYTEST, of_tests=True))
        found += folders[-1].histories()
    if not found:
        _refuse_unknown(request, folders)
    return HistoryMatch(_measured(request, found, folders[0].repository), tuple(folders))


def _open_folder(request: HistoryRequest, project: Path, folder: Path, *, of_tests: bool = False) -> _SnapshotFolder:
    repository = open_repository(project, folder)
    newest = next((one for one in revisions_of(repository, request.revision) if not one.startswith("^")), "HEAD")
    return _SnapshotFolder(request, repository, open_revision(project, newest, folder), folder, of_tests)


def _measured(request: HistoryRequest, found: tuple[History, ...], repository: GitObjects) -> tuple[History, ...]:
    """Histories with metrics that no summary stores, limited to those of a kind that can have the requested ones."""
    programs = [one for one in found if one.kind == "program"]
    scenarios = [one for one in found if one.kind == "scenario"]
    if not request.metrics:
        return found
    if programs:
        check_metrics(request.metrics, programs, "program", request.stage)
        return completed(programs, request.metrics, repository, request.stage)
    if scenarios:
        check_metrics(request.metrics, scenarios, "scenario", request.stage)
    return tuple(scenarios)


def _refuse_unknown(request: HistoryRequest, folders: Sequence[_SnapshotFolder]) -> None:
    """Report a name that no commit has ever recorded; a name that was only not touched is fine."""
    keys = [(snapshots, key) for snapshots in folders for key in _keys(snapshots.tree)]
    if any(snapshots.request.selects(key) for snapshots, key in keys):
        return
    same = [key for snapshots, key in keys if selected(key, [snapshots.request.name], [])]
    if same:
        on = ", ".join(dict.fromkeys(key.target or _TARGET_OF_SCENARIOS for key in same))
        raise UsageError(f"no target of {request.name} matches `{request.targets[0]}`", hint=f"it is recorded on {on}")
    if any(snapshots.request.selects(key) for snapshots in folders for key in _keys(FolderTree(snapshots.folder))):
        if request.revision != "HEAD":
            hint = f"it came later, or had another name: `hlodiff log {request.name}` shows when"
            raise UsageError(f"nothing called `{request.name}` was recorded in {request.revision}", hint=hint)
        hint = f"git add {shown_path(folders[0].folder)}, then git commit"
        raise UsageError(f"the snapshot of {request.name} was never committed", hint=hint)
    known = dict.fromkeys(
        f"{PYTEST}/{name}" if snapshots.of_tests else name
        for snapshots, key in keys
        for name in (key.function, key.name)
    )
    guess = closest(request.name, known) or next((name for name in known if request.name in name), "")
    hint = f"did you mean `{guess}`? " if guess else ""
    what = f"nothing called `{request.name}` was recorded in {request.revision}"
    raise UsageError(what, hint=f"{hint}`hlodiff log` shows what there is")


def is_revision(project: Path, snapshots: Path, word: str) -> bool:
    """Whether git resolves a word as a revision or a range."""
    if ".." in word or word.startswith("^"):
        return True
    try:
        revisions_of(open_repository(project, snapshots), word)
    except StoreError:
        return False
    return True


def uncommitted(found: HistoryMatch) -> bool:
    """Whether the work tree has snapshots with these names that are in no commit."""
    command = ["--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--"]
    for snapshots in found.folders:
        request, repository = snapshots.request, snapshots.repository
        if request.revision == "HEAD":
            paths = folders_of([request.name], repository.below)
            rows = os.fsdecode(git(repository.folder, [*command, *paths], "git status")).split("\0")
            keys = (key_of(row[3:], repository.below) for row in rows if len(row) > 3)
            if any(request.selects(one[0]) for one in keys if one):
                return True
    return False


def _keys(tree: GitTree | FolderTree) -> list[Key]:
    return [*list_snapshots(tree).keys, *(Key(name, "", "") for name in scenarios_of(tree.files()))]
