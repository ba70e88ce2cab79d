"""`hlodiff.check`: capture registered functions again, compare and judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hlodiff.capture import one_worker_for_both
from hlodiff.errors import UsageError
from hlodiff.policy import exit_code
from hlodiff.report.report import Report
from hlodiff.workflows.against import check_against
from hlodiff.workflows.check_snapshots import CheckRun, check_snapshots
from hlodiff.workflows.configuration import load
from hlodiff.workflows.pending import NullPendingWriter, PendingWriter, pending_folder
from hlodiff.workflows.progress import OnProgress, reporting_to
from hlodiff.workflows.select import as_patterns
from hlodiff.workflows.staleness import settings_of

Verdict = Literal["clean", "failed", "undecided"]
_VERDICTS: tuple[Verdict, ...] = ("clean", "failed", "undecided")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found.

    Args:
        report: programs, findings, scenarios and notes, as the command renders them.
        exit_code: 0 nothing changed, 1 a finding fails, 2 no verdict was possible.
    """

    report: Report
    exit_code: int

    @property
    def verdict(self) -> Verdict:
        """The exit code as a word: "clean", "failed" or "undecided"."""
        return _VERDICTS[self.exit_code]


def check(
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    *,
    root: str | Path = ".",
    jobs: int | None = None,
    against: str | None = None,
    stage: Literal["stablehlo", "all"] = "all",
    timings: bool = False,
    pending: str | Path | None = None,
    everything: bool = False,
    on_progress: OnProgress | None = None,
) -> CheckResult:
    """Compile registered functions, compare them with their snapshots and judge the differences.

    Snapshots are not written. What is new or changed is left in the pending folder for `hlodiff.accept`. Nothing is
    printed.

    Args:
        names: functions (`"train"`), cases (`"train/small"`) or patterns (`"train*"`); all functions where empty.
        targets: targets (`"cpu"`) or patterns (`"tpu-*"`); all targets where empty.
        root: the project: a folder with pyproject.toml, or one below it.
        jobs: number of worker processes, 1 or more; None for that of the configuration.
        against: a git revision to compare with instead of the snapshots; `"main..."` is where this branch left main.
        stage: "stablehlo" only lowers: nothing is compiled, run or left pending. "all" compiles too.
        timings: whether to compile everything, also what did not change, and report how long each program took.
        pending: the folder for what is new or changed; None for `.hlodiff/pending` of the project.
        everything: whether the report lists every change, where it would show the largest of many.
        on_progress: called with a `hlodiff.Progress` whenever a program is begun or finished.

    Returns:
        the report, the exit code and the verdict.

    Raises:
        ConfigError: there is no `[tool.hlodiff]` table, or it has a mistake.
        RegistryError: a module that the configuration names cannot be imported.
        UsageError: a name or target matches nothing, there is no such revision, or the options exclude each other.

    Example:
        >>> result = hlodiff.check(["train_step"], ["cpu"], root="project")  # doctest: +SKIP
        >>> result.verdict, [finding.rule for finding in result.report.findings]  # doctest: +SKIP
        ('failed', ['changed'])
    """
    config = load(Path(root))
    names, targets = as_patterns(names), as_patterns(targets)
    if stage == "stablehlo" and (timings or pending or against is not None):
        what = "--stage stablehlo only lowers: it leaves nothing pending, times nothing and looks at no revision"
        raise UsageError(what, hint="leave out one of the options")
    if against is not None and (timings or pending):
        raise UsageError("--against leaves nothing pending and times nothing", hint="leave out one of the options")
    with reporting_to(on_progress), one_worker_for_both():
        if against is not None:
            report = check_against(config, against, names, targets, jobs)
        else:
            lower_only = stage == "stablehlo"
            writer = NullPendingWriter if lower_only else PendingWriter
            folder = pending_folder(config, Path(pending) if pending else None)
            kept = writer(folder, config.max_file_bytes, settings_of(config))
            run = CheckRun(config, kept, timed={} if timings else None, lower_only=lower_only)
            report = check_snapshots(run, names, targets, everything, jobs)
    return CheckResult(replace(report, all=everything), exit_code(report.findings))
