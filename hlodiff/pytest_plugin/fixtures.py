"""The fixtures `hlodiff_case` and `hlodiff_program`, which compile a test's function in the test's process."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from hlodiff.config import Config, in_ci
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.registry import Case, folder_name_problem
from hlodiff.snapshots import PYTEST, Key
from hlodiff.workflows import load_if_any
from hlodiff.workflows.staleness import UnchangedPrograms

if TYPE_CHECKING:
    from hlodiff.capture import Outcome
    from hlodiff.capture.compile_case import Bench
    from hlodiff.policy.assertions import Program
    from hlodiff.workflows import ParsedSnapshot


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST = 100
_PATIENCE = 60  # seconds to wait for other pytest-xdist processes to write theirs


@dataclass(slots=True)
class UsedSnapshots:
    """The snapshots used by tests of this process.

    Args:
        project: the configuration; its snapshots are those of tests.
        update: whether snapshots are written.
        folders: folders of the used snapshots, below the folder of tests.
        written: how many were written.
        kept: how many were unchanged.
        bench: shared state of captures in this process; None before the first one.
    """

    project: Config
    update: bool
    folders: dict[str, None] = field(default_factory=dict)
    written: int = 0
    kept: int = 0
    bench: Bench | None = None


USED = pytest.StashKey[UsedSnapshots]()


def used_by(config: pytest.Config) -> UsedSnapshots:
    """The snapshots used so far by tests of this process."""
    if USED not in config.stash:
        root = config.rootpath
        project = load_if_any(root) or Config(root, snapshots=root / "snapshots")
        project = replace(project, snapshots=project.snapshots / PYTEST)
        config.stash[USED] = UsedSnapshots(project, bool(config.getoption("hlodiff_update")))
    return config.stash[USED]


def snapshot_name(nodeid: str) -> str:
    """The name of a test's snapshots: its path, class and function joined by dots, and its parameters.

    Args:
        nodeid: pytest's name of the test.

    Returns:
        a folder name; if characters had to be replaced, it ends in a hash.

    Example:
        >>> snapshot_name("tests/test_model.py::TestStep::test_step[8-f32]")
        'tests.test_model.TestStep.test_step-8-f32'
        >>> snapshot_name("test_a.py::test_b[x/y]")
        'test_a.test_b-x_y-fe8c31'
    """
    path, _, rest = nodeid.partition("::")
    function, _, parameters = rest.partition("[")
    parts = [path.removesuffix(".py").replace("/", "."), function.replace("::", ".")]
    name = ".".join(parts).lstrip(".-") + (f"-{parameters.removesuffix(']')}" if parameters else "")
    safe = _UNSAFE.sub("_", name)
    if safe == name and not folder_name_problem(name):
        return name
    tag = hashlib.sha256(nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{safe[: _LONGEST - 7]}-{tag}"


class CaseChecker:
    """Compares compiled functions with snapshots of this test; a difference fails the test with the report."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._used = used_by(request.config)
        self._test = snapshot_name(request.node.nodeid)
        self._asked: set[Key] = set()

    def __call__(
        self, case: Case | Callable[..., Case], /, *, name: str = "", targets: Sequence[str] | None = None
    ) -> None:
        """Compile a case and compare it with its snapshot.

        Args:
            case: a `hlodiff.Case`, or a function that returns one for a `hlodiff.Target`, to build a mesh of its
                devices.
            name: distinguishes several cases of one test; it becomes a folder.
            targets: targets to compile for; by default those of the test's marker `hlodiff`, else "cpu".

        Raises:
            pytest.fail.Exception: the program changed, has no snapshot, or does not compile: the report is the message;
                or the name cannot be a folder's, or was used before in this test.
            pytest.skip.Exception: this machine cannot compile for a target.

        Example:
            >>> def test_step(hlodiff_case):
            ...     hlodiff_case(hlodiff.Case(step, hlodiff.abstract((32, 64), "float32")), name="small")
        """
        __tracebackhide__ = True
        message = ""
        try:
            self._check(case, name, targets)
        except HlodiffError as error:
            message = f"{type(error).__name__}: {error.render()}"
        if message:  # outside of `except`, because pytest would show the handled exception first
            pytest.fail(message, pytrace=False)

    def _check(self, case: Case | Callable[..., Case], name: str, targets: Sequence[str] | None) -> None:
        __tracebackhide__ = True
        if not isinstance(case, Case) and not callable(case):
            raise UsageError(f"`hlodiff_case` takes a hlodiff.Case, not {type(case).__name__}")
        keys = [self._key(name, target) for target in dict.fromkeys(targets or self._targets())]
        self._used.folders.update(dict.fromkeys(key.folder for key in keys))
        stored = self._stored(keys)
        outcomes = {key: self._capture(case, key, stored) for key in keys}
        if self._used.update:
            self._write(outcomes)
        else:
            self._compare(outcomes, stored)

    def _targets(self) -> Sequence[str]:
        marker = self._request.node.get_closest_marker("hlodiff")
        if marker is None:
            return ("cpu",)
        if marker.args or set(marker.kwargs) - {"targets"} or isinstance(marker.kwargs.get("targets"), str):
            raise UsageError('the marker takes a list of targets: @pytest.mark.hlodiff(targets=["cpu"])')
        return tuple(marker.kwargs.get("targets") or ("cpu",))

    def _key(self, name: str, target: str) -> Key:
        from hlodiff.capture import is_target

        problem = folder_name_problem(name) if name else ""
        if problem or is_target(name.lower()):
            what = problem or "it is the name of a target"
            raise UsageError(f"{name!r} cannot name a case of a test: {what}", where=self._request.node.nodeid)
        key = Key(self._test, name, target)
        if key in self._asked:
            hint = 'give each a name: hlodiff_case(case, name="...")'
            what = f"this test has already compared a case {f'called {name!r}' if name else 'without a name'}"
            raise UsageError(what, where=self._request.node.nodeid, hint=hint)
        self._asked.add(key)
        return key

    def _command(self) -> str:
        return f"pytest {shlex.quote(self._request.node.nodeid)} --hlodiff-update"

    def _stored(self, keys: Sequence[Key]) -> dict[Key, ParsedSnapshot]:
        from hlodiff.workflows.select import load_stored

        stored, broken = load_stored(self._used.project, keys)
        for error in broken.values():
            if not self._used.update:
                reason = str(error)
                pytest.fail(f"{reason}\nhint: record it again: {self._command()}", pytrace=False)
        return stored

    def _capture(self, case: Case | Callable[..., Case], key: Key, stored: dict[Key, ParsedSnapshot]) -> Outcome:
        from hlodiff.capture.compile_case import Bench, capture_with
        from hlodiff.capture.environment import defaults_for
        from hlodiff.capture.jax_private import exclude_frames
        from hlodiff.config import process_environment, set_defaults
        from hlodiff.workflows.select import intact_snapshots, requests_for

        set_defaults(defaults_for(key.target))
        project = self._used.project
        if self._used.bench is None:
            self._used.bench = Bench(project.root, process_environment(), project.large_constants)
            exclude_frames(__file__, generated=False)  # this frame is not part of the recorded program

        def find(target: Any, keep: bool) -> Case:
            made = case if isinstance(case, Case) else case(target)
            if not isinstance(made, Case):
                raise HlodiffError(
                    f"the function given to `hlodiff_case` made {type(made).__name__}, not a hlodiff.Case"
                )
            return made

        (request,) = requests_for([key], {} if self._used.update else intact_snapshots(stored))
        return capture_with(self._used.bench, request, find)

    def _compare(self, outcomes: dict[Key, Outcome], stored: dict[Key, ParsedSnapshot]) -> None:
        __tracebackhide__ = True
        from hlodiff.policy import exit_code, judge
        from hlodiff.report import Report, to_terminal, toolchain_changes
        from hlodiff.workflows.check import CheckRun
        from hlodiff.workflows.pending_writer import NullPendingWriter

        project = self._used.project
        run = CheckRun(
            project, NullPendingWriter(project.root, project.max_file_bytes), UnchangedPrograms(project, None)
        )
        for key, outcome in outcomes.items():
            run.compare_one(key, outcome, stored.get(key))
        programs = tuple(program for key in outcomes for program in run.results[key])
        findings = judge(programs, project)
        lacking = [p for p in programs if p.status == "not_checked" and not p.broken]
        # Without libtpu, a test of a TPU program is skipped on a laptop, but CI that cannot check it must not pass.
        failing = [f for f in findings if f.severity in ("broken", "error") or (f.rule == "not-checked" and in_ci())]
        if failing:
            report = Report(
                "check", "snapshots of tests", "this test", programs, findings,
                toolchain_changes(run.toolchains), next=self._command() if exit_code(findings) == 1 else "",
                root=str(project.root),
            )  # fmt: skip
            columns = self._request.config.get_terminal_writer().fullwidth
            pytest.fail(to_terminal(report, width=columns).rstrip("\n"), pytrace=False)
        if lacking:
            pytest.skip(f"{lacking[0].label} is not checked: {lacking[0].reason}")

    def _write(self, outcomes: dict[Key, Outcome]) -> None:
        __tracebackhide__ = True
        from hlodiff.capture import CapturedProgram, CaptureFailure
        from hlodiff.snapshots import write_snapshot, writing
        from hlodiff.workflows import snapshot_of

        project = self._used.project
        for key, outcome in outcomes.items():
            if isinstance(outcome, CaptureFailure):
                pytest.fail(f"{key.name} on {key.target}: {outcome.what}\n{outcome.log_tail}".rstrip(), pytrace=False)
            if isinstance(outcome, CapturedProgram):
                snapshot = snapshot_of(outcome, str(project.root), project.large_constants)
                with writing(project.snapshots, wait=_PATIENCE):
                    is_new = write_snapshot(project.snapshots, snapshot, project.max_file_bytes)
                self._used.written += is_new
                self._used.kept += not is_new
        for key, outcome in outcomes.items():
            if not isinstance(outcome, CapturedProgram):
                pytest.skip(f"{key.name} on {key.target} is not recorded: {getattr(outcome, 'reason', '')}")


@pytest.fixture
def hlodiff_case(request: pytest.FixtureRequest) -> CaseChecker:
    """Compares a compiled function with a snapshot of this test.

    Example:
        >>> def test_step(hlodiff_case):
        ...     hlodiff_case(hlodiff.Case(step, hlodiff.abstract((32, 64), "float32")))
    """
    return CaseChecker(request)


# --- `hlodiff_program`: a compiled case, to make assertions on.


@pytest.fixture
def hlodiff_program(request: pytest.FixtureRequest) -> Callable[..., Program]:
    """Compiles a case. If this machine cannot compile for the target, the test is skipped, or fails in CI.

    Example:
        >>> def test_step(hlodiff_program):
        ...     program = hlodiff_program(hlodiff.Case(step, hlodiff.abstract((32, 64), "float32")), target="tpu-v5e")
        ...     program.assert_no_copy_in_loop()
    """

    def captured(case: Case | Callable[..., Case], *, target: str = "cpu", name: str = "") -> Program:
        __tracebackhide__ = True
        from hlodiff.config import in_ci
        from hlodiff.errors import HlodiffError
        from hlodiff.workflows.capture_program import NotAvailableHere, capture_program

        try:
            return capture_program(case, target=target, name=name or request.node.name, root=request.config.rootpath)
        except HlodiffError as error:
            if isinstance(error, NotAvailableHere) and not in_ci():
                pytest.skip(error.render())
            message = f"{type(error).__name__}: {error.render()}"
        pytest.fail(message, pytrace=False)  # outside, so that the error is not shown twice

    return captured
