"""The pytest plugin for a whole run: options, snapshots used by all pytest-xdist processes, and unused ones."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hlodiff.config import in_ci
from hlodiff.pytest_plugin.fixtures import USED, snapshot_name, used_by
from hlodiff.report.wording import many
from hlodiff.snapshots import FolderTree, Key, list_snapshots, remove_snapshot, writing

_NAME = "hlodiff-suite"
_MOST = 20
# Options that deselect tests, and how they are typed.
_SELECTING = {
    "keyword": "-k", "markexpr": "-m", "deselect": "--deselect", "ignore": "--ignore", "ignore_glob": "--ignore-glob",
    "lf": "--lf", "stepwise": "--stepwise", "collectonly": "--collect-only", "setuponly": "--setup-only",
    "setupplan": "--setup-plan",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--hlodiff-update`, `--hlodiff-prune` and `--hlodiff-ci-write`."""
    group = parser.getgroup("hlodiff", "what functions compile to")
    group.addoption(
        "--hlodiff-update", action="store_true", help="Record what `hlodiff_case` finds instead of comparing."
    )
    prune = "With --hlodiff-update: delete snapshots that no test of the whole suite used."
    group.addoption("--hlodiff-prune", action="store_true", help=prune)
    group.addoption("--hlodiff-ci-write", action="store_true", help="Record although this is CI (variable CI).")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, refuse to record in CI, and register `Suite`."""
    config.addinivalue_line("markers", "hlodiff(targets): what `hlodiff_case` compiles for in this test")
    if config.getoption("hlodiff_prune") and not config.getoption("hlodiff_update"):
        raise pytest.UsageError("--hlodiff-prune goes with --hlodiff-update")
    if config.getoption("hlodiff_update") and in_ci() and not config.getoption("hlodiff_ci_write"):
        raise pytest.UsageError(
            "--hlodiff-update records nothing in CI (the variable CI is set): record on your machine and commit, "
            "or pass --hlodiff-ci-write"
        )
    config.pluginmanager.register(Suite(config), _NAME)


class Suite:
    """One run of pytest in one process; the controller of pytest-xdist also collects results of its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.partial = "" if self._is_worker() else selected_by(config)
        self.folders: dict[str, None] = {}
        self.written = 0
        self.kept = 0
        self.seen: dict[str, None] = {}
        self.passed: dict[str, None] = {}
        self.unused: tuple[Key, ...] = ()
        self.pruned = False

    def _is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that tests were deselected, whatever the reason."""
        if items:
            self.partial = self.partial or "some tests were deselected"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Note dropped items: plugins that split a suite among machines do not report deselection."""
        before = len(items)
        result = yield
        if len(items) < before:
            self.partial = self.partial or "some tests were not run"
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests exist, and which of them passed."""
        name = snapshot_name(report.nodeid)
        self.seen[name] = None
        if report.when == "call" and report.outcome == "passed":
            self.passed[name] = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Collect what a worker of pytest-xdist used; a lost worker reports nothing."""
        output = getattr(node, "workeroutput", {}).get(_NAME)
        if error or output is None:
            self.partial = self.partial or "a worker was lost"
            return
        self.folders.update(dict.fromkeys(output["folders"]))
        self.written += output["written"]
        self.kept += output["kept"]
        self.partial = self.partial or output["partial"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Send results to the controller, or look for unused snapshots."""
        used = self.config.stash.get(USED, None)
        if used is not None:
            self.folders.update(used.folders)
            self.written += used.written
            self.kept += used.kept
        if self._is_worker():
            output = {
                "folders": list(self.folders),
                "written": self.written,
                "kept": self.kept,
                "partial": self.partial,
            }
            self.config.workeroutput[_NAME] = output  # type: ignore[attr-defined]
            return
        if exitstatus != 0 or session.shouldstop or session.shouldfail:
            self.partial = self.partial or "not every test passed"
        if not self.partial:
            self._look_for_unused()
            if self.unused and not self.pruned and in_ci():
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _look_for_unused(self) -> None:
        root = used_by(self.config).project.snapshots
        self.unused = tuple(key for key in list_snapshots(FolderTree(root)).keys if self._is_unused(key))
        if self.unused and self.config.getoption("hlodiff_prune"):
            with writing(root):
                for key in self.unused:
                    remove_snapshot(root, key)
            self.pruned = True

    def _is_unused(self, key: Key) -> bool:
        """Whether a snapshot is unused: its test was removed, or passed without it. A skipped test might use it."""
        is_there = key.function in self.seen and key.function not in self.passed
        return key.folder not in self.folders and not is_there

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was written, and unused snapshots."""
        lines = list(self._lines())
        if lines and not self._is_worker():
            terminalreporter.section("hlodiff")
            for line in lines:
                terminalreporter.write_line(line)

    def _lines(self) -> Generator[str, None, None]:
        if self.config.getoption("hlodiff_update") and self.folders:
            yield f"snapshots of tests: {self.written} written, {self.kept} as they were"
        if self.config.getoption("hlodiff_prune") and self.partial:
            yield f"nothing is deleted, because not the whole suite ran: {self.partial}"
        if self.unused:
            fails = "this fails in CI, used by no test" if in_ci() else "used by no test"
            yield f"{'deleted' if self.pruned else fails}: {many(len(self.unused), 'snapshot')}"
            yield from (f"  {key.folder}" for key in self.unused[:_MOST])
            yield from ([f"  ... and {len(self.unused) - _MOST} more"] if len(self.unused) > _MOST else [])
            if not self.pruned:
                yield "to delete them: pytest --hlodiff-update --hlodiff-prune"


def selected_by(config: pytest.Config) -> str:
    """The options on the command line that deselect tests; "" for the whole suite.

    Args:
        config: configuration of a run, not of a pytest-xdist worker.

    Returns:
        text for a message.
    """
    for option, typed in _SELECTING.items():
        if getattr(config.option, option, None):
            return f"{typed} was given"
    here = config.invocation_params.dir
    whole = {config.rootpath, *(config.rootpath / path for path in config.getini("testpaths"))}
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        given = {Path(here, arg.partition("::")[0]).resolve() if "::" not in arg else None for arg in config.args}
        tests = {(config.rootpath / path).resolve() for path in config.getini("testpaths")}
        is_whole = config.rootpath.resolve() in given or (bool(tests) and tests <= given)
        return "" if is_whole and None not in given else "paths were given"
    if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR and here not in whole:
        return "only this folder was run"
    return ""
