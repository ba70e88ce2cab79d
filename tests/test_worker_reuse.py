"""The worker that discovers also captures within one command, with the results that a new worker would give."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.capture import CapturedProgram, capture, discover, worker_reuse
from hlodiff.config import Config
from hlodiff.errors import CaptureError
from tests.captured_programs import HEAD, Project
from tests.captured_programs import project as project

COUNTED = HEAD + 'open("imported", "a").write(f"{os.getpid()} ")\n'
SINE = "@hlodiff.register\ndef f(): return hlodiff.Case(jnp.sin, VECTOR)\n"


def found(config: Config) -> list[CapturedProgram]:
    """What is captured of everything that is registered, but for the time it took."""
    outcomes = [one for one in capture(config, discover(config).requests()) if isinstance(one, CapturedProgram)]
    return [replace(one, seconds={}) for one in outcomes]


def workers(folder: Path) -> int:
    """How many processes have imported the module since this was asked last."""
    file = folder / "imported"
    count = len(set(file.read_text().split()))
    file.unlink()
    return count


def working_in(folder: Path) -> list[str]:
    """Processes whose working folder this is."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # others' processes, and those that have ended
            if process.name.isdigit() and (process / "cwd").samefile(folder):
                found.append(process.name)
    return found


def test_it_captures_what_a_new_worker_would(project: Project, tmp_path: Path) -> None:
    config = project(SINE, head=COUNTED)
    apart = found(config)
    assert workers(tmp_path) == 2
    with worker_reuse():
        together = found(config)
        assert workers(tmp_path) == 1
        assert discover(config).functions, "its worker waits"
    assert len(apart) == 1 and together == apart
    if sys.platform == "linux":
        assert working_in(tmp_path) == []


@pytest.mark.parametrize(
    ("more", "devices"),
    [("ONES = jnp.ones(8)\n", 1), ('jax.config.update("jax_num_cpu_devices", 3)\n', 3)],
    ids=["XLA has started", "the module chooses devices"],
)
def test_one_that_would_capture_something_else_is_ended(
    project: Project, tmp_path: Path, more: str, devices: int
) -> None:
    config = project(
        """
        @hlodiff.register
        def f():
            open("devices", "w").write(str(len(jax.devices())))
            return hlodiff.Case(jnp.sin, VECTOR)
        """,
        head=COUNTED + more,
    )
    with worker_reuse():
        assert len(found(config)) == 1
        assert (tmp_path / "devices").read_text() == str(devices)
        assert workers(tmp_path) == 2
        assert sys.platform != "linux" or working_in(tmp_path) == []


def test_flags_that_xla_does_not_know_are_still_told_before_any_program(project: Project, tmp_path: Path) -> None:
    config = project(SINE, head=COUNTED, xla_flags=("--xla_no_such_flag=1",))
    with worker_reuse(), pytest.raises(CaptureError, match="before it could start") as error:
        found(config)
    assert "xla_no_such_flag" in str(error.value)
    assert workers(tmp_path) == 1
