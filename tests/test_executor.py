"""Captures on other machines: what is refused before a job runs, and real jobs in threads and on Dask's workers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hlodiff
from hlodiff.capture import (
    CapturedProgram,
    Inputs,
    NotChecked,
    Request,
    capture,
    file_digest,
    jobs,
    package_version,
    worker_reuse,
)
from hlodiff.capture.executor import EXECUTOR, RunningExecutor, executed_on
from hlodiff.capture.jobs import JobContext, JobResult, capture_on, examined, own_code, run_job
from hlodiff.config import Config
from hlodiff.errors import CaptureError, HlodiffError, UsageError
from hlodiff.progress import Progress

HELPER = "def twice(x):\n    return x + x\n"
PROGRAMS = """\
import helper
import hlodiff
import jax.numpy as jnp


def make(i):
    def f(x):
        for _ in range(i):
            x = jnp.tanh(helper.twice(x))
        return x

    @hlodiff.register(name=f"f{i}")
    def case():
        return hlodiff.Case(f, hlodiff.abstract((8,), "float32"))


for i in range(1, COUNT + 1):
    make(i)
"""


def write_project(folder: Path, count: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\njobs = 1\n')
    (folder / "helper.py").write_text(HELPER)
    (folder / "programs.py").write_text(PROGRAMS.replace("COUNT", str(count)))
    return folder


def recorded(folder: Path) -> dict[str, bytes]:
    root = folder / "snapshots"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


# ---- what is refused


def context_of(folder: Path, **changes: Any) -> JobContext:
    files = {"helper.py": file_digest(folder / "helper.py")}
    inputs = Inputs(files, {"jax": package_version("jax")})
    found = JobContext(os.urandom(8).hex(), Config(folder), {}, own_code(), inputs)
    return replace(found, **changes)


def test_a_machine_that_has_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = write_project(tmp_path / "here")
    assert examined(context_of(here)).refusal == ""
    assert "another hlodiff" in examined(context_of(here, code="0")).refusal
    older = Inputs({}, {"jax": "0.1"})
    refused = run_job(context_of(here, inputs=older), Request("f1", "", "cpu"))
    assert refused.answer is None and refused.machine
    assert refused.refusal == f"it has jax {package_version('jax')}, and this machine 0.1"
    more = Inputs({}, {"nothing": "1"})
    assert examined(context_of(here, inputs=more)).refusal == "it has no nothing, and this machine 1"

    monkeypatch.setenv("HLODIFF_PROJECT", str(tmp_path / "there"))
    assert "it has no project at" in examined(context_of(here)).refusal
    write_project(tmp_path / "there")
    assert examined(context_of(here)).refusal == ""
    (tmp_path / "there" / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    assert examined(context_of(here)).refusal == "it has other content of helper.py than this machine"


class Answers:
    """An executor that returns what it was given."""

    def __init__(self, *results: JobResult | Exception) -> None:
        self.results = list(results)

    def submit(self, *_: object) -> Future[JobResult]:
        future: Future[JobResult] = Future()
        result = self.results.pop(0)
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
        return future


def program(**files: str) -> CapturedProgram:
    return CapturedProgram("f1", "", "cpu", "", "", {}, {}, inputs=Inputs(files))


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([JobResult("one", refusal="it has no project at /x")], "the worker one is refused: it has no project at /x"),
        ([JobResult("one", program(data="0"))], "the worker one is refused: it has other content of data"),
        (
            [
                JobResult("a", program(), compilers={"libtpu": "1"}),
                JobResult("b", program(), compilers={"libtpu": "2"}),
            ],
            "is refused: it has libtpu",
        ),
        (
            [JobResult("a", program(), compilers={"libtpu": "1"}), JobResult("b", program(), compilers={})],
            "libtpu",
        ),
        ([JobResult("one", error=CaptureError("JAX cannot be started"))], "JAX cannot be started"),
        ([JobResult("one")], "the worker one of x returned nothing"),
        ([{"machine": "one"}], "a worker of x returned something that is not the result of a capture"),
        (
            [JobResult("one", replace(program(), function="g"))],
            "the worker one of x returned a program that was not requested",
        ),
    ],
)
def test_what_ends_the_run(
    results: list[JobResult], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlodiff.capture.jobs.imported_inputs", lambda config: Inputs())
    executor: Any = Answers(*results)
    requests = [Request("f1", "", "cpu") for _ in results]
    with pytest.raises(CaptureError, match=words):
        list(capture_on(RunningExecutor("x", executor), Config(tmp_path), requests))


def test_a_job_that_ends_every_machine_is_a_failure_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlodiff.capture.jobs.imported_inputs", lambda config: Inputs())
    executor: Any = Answers(RuntimeError("4 workers died"), JobResult("one", program()))
    requests = [Request("f0", "", "cpu"), Request("f1", "", "cpu")]
    found = {one.function: one for one in capture_on(RunningExecutor("x", executor), Config(tmp_path), requests)}
    assert "what='no machine of x has returned it: RuntimeError: 4 workers died'" in repr(found["f0"])
    assert isinstance(found["f1"], CapturedProgram)


def test_files_of_the_project_are_named_as_here() -> None:
    text = '#loc1 = loc("/there/project/m.py":1:2 to :3)'
    moved = jobs._moved(CapturedProgram("f", "", "cpu", text, text, {}, {}), '"/there/project/', '"/here/')
    assert moved.stablehlo == moved.compiled == '#loc1 = loc("/here/m.py":1:2 to :3)'
    assert jobs._moved(NotChecked("f", "", "cpu", "x", ""), '"/there/', '"/here/').reason == "x"


@pytest.mark.parametrize(
    "address", ["tcp://h:1", "dask://", "dask://host", "dask://h:1/x", "dask://h:1;id", "spark://h:1"]
)
def test_what_is_no_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="is not the address of an executor") as raised, executed_on(address):
        pass
    assert raised.value.where == "--executor"
    monkeypatch.setenv("HLODIFF_EXECUTOR", address)
    with pytest.raises(UsageError) as raised, executed_on(None):
        pass
    assert raised.value.where == "HLODIFF_EXECUTOR"


def test_dask_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlodiff.capture.executor.find_spec", lambda name: None)
    with pytest.raises(CaptureError, match="not installed") as raised, executed_on("dask://localhost:1"):
        pass
    assert raised.value.hint == "pip install dask distributed"


def test_a_configuration_cannot_name_an_executor(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    for line in ('executor = "dask://h:1"', 'env = { HLODIFF_EXECUTOR = "dask://h:1" }'):
        (project / "pyproject.toml").write_text(f'[tool.hlodiff]\nmodules = ["nothing.py"]\n{line}\n')
        with pytest.raises(HlodiffError) as raised:  # the second as ever: there is no such module
            hlodiff.update(root=project)
        assert "dask" not in str(raised.value)


def test_another_revision_is_captured_here(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--against captures a temporary checkout"):
        hlodiff.check(root=write_project(tmp_path), against="HEAD", executor="dask://h:1")


# ---- real jobs


@pytest.mark.slow
def test_threads_record_the_same_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = write_project(tmp_path / "here", 3)
    hlodiff.update(root=here)
    wanted = recorded(here)
    shutil.rmtree(here / "snapshots")
    there = shutil.copytree(here, tmp_path / "far" / "away")
    monkeypatch.setenv("HLODIFF_PROJECT", str(there))
    seen: list[Progress] = []
    with ThreadPoolExecutor(2) as threads:
        result = hlodiff.update(root=here, executor=threads, on_progress=seen.append)
        assert [row.status for row in result.rows] == ["new"] * 3
        assert recorded(here) == wanted and not (there / "snapshots").exists()
        assert "capturing on a ThreadPoolExecutor" in {one.activity for one in seen}
        checked = hlodiff.check(root=here, executor=threads)
        assert checked.verdict == "clean", str(checked)
        (there / "helper.py").write_text("def twice(x):\n    return x * 3\n")
        with pytest.raises(CaptureError, match=r"refused: it has other content of helper\.py"):
            hlodiff.check(root=here, executor=threads)
        (there / "helper.py").write_text(HELPER)
        config = Config(here, modules=("programs.py",))
        with worker_reuse(), executed_on(threads):
            (outcome,) = capture(config, [Request("f9", "", "cpu")])
        assert "no function is registered as `f9`" in repr(outcome)
    assert EXECUTOR.get() is None


DASK = str(Path(sys.executable).with_name("dask"))


@contextmanager
def started(*command: str, log: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [DASK, *command],
            stdout=stream,
            stderr=stream,
            cwd=log.parent,
            env={**os.environ, **variables},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of a Dask scheduler, Dask's and ours."""
    file = tmp_path / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with started("scheduler", *options, log=tmp_path / "scheduler.log"):
        until(lambda: file.exists() and file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]
        yield address, address.replace("tcp://", "dask://")


@pytest.mark.slow
def test_a_dask_worker_is_killed_in_between_and_nothing_is_lost(scheduler: tuple[str, str], tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", 8)
    hlodiff.update(root=project)
    wanted = recorded(project)
    shutil.rmtree(project / "snapshots")
    workers: list[subprocess.Popen[bytes]] = []
    killed_at: list[int] = []

    def watch(one: Progress) -> None:
        if one.done >= 2 and not killed_at:
            killed_at.append(one.done)
            kill(workers[0])

    with ExitStack() as stack:
        for name in ("first", "second"):
            options = ("--nthreads", "1", "--no-dashboard", "--name", name, "--local-directory", str(tmp_path / name))
            workers.append(stack.enter_context(started("worker", scheduler[0], *options, log=tmp_path / f"{name}.log")))
        until(lambda: all("Registered to" in (tmp_path / f"{name}.log").read_text() for name in ("first", "second")))
        result = hlodiff.update(root=project, executor=scheduler[1], on_progress=watch)
        assert killed_at and workers[0].poll() is not None
        assert [row.status for row in result.rows] == ["new"] * 8
        assert recorded(project) == wanted
        assert hlodiff.check(root=project, executor=scheduler[1]).verdict == "clean"

        options = ("--nthreads", "1", "--no-dashboard", "--name", "stale", "--local-directory", str(tmp_path / "stale"))
        other = write_project(tmp_path / "other", 7)
        log = tmp_path / "stale.log"
        stack.enter_context(started("worker", scheduler[0], *options, log=log, HLODIFF_PROJECT=str(other)))
        until(lambda: "Registered to" in log.read_text())
        words = r"the worker stale \(tcp.*refused: it has other content of programs\.py"
        with pytest.raises(CaptureError, match=words):
            hlodiff.check(root=project, executor=scheduler[1])


@pytest.mark.slow
def test_a_scheduler_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, scheduler: tuple[str, str], tmp_path: Path
) -> None:
    monkeypatch.setattr("hlodiff.capture.executor._WORKER_SECONDS", 0.5)
    project = write_project(tmp_path / "project")
    with monkeypatch.context() as short, pytest.raises(CaptureError, match="cannot be reached") as raised:
        short.setattr("hlodiff.capture.executor._CONNECT_SECONDS", 0.5)
        hlodiff.update(root=project, executor="dask://127.0.0.1:1")
    assert "dask scheduler" in raised.value.hint
    with pytest.raises(CaptureError, match="has no worker") as raised:
        hlodiff.update(root=project, executor=scheduler[1])
    assert f"dask worker {scheduler[1].removeprefix('dask://')}" in raised.value.hint
    assert not (project / "snapshots").exists()
