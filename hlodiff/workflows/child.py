"""Runs another program, and ends it with everything it started if this process has to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from hlodiff.capture.supervision import bound_to_parent
from hlodiff.interrupts import deferred

_PATIENCE = 5.0  # seconds that a program has to clean up


def run_child(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, given: bytes = b"", timeout: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program and keep what it prints.

    It gets its own session: Ctrl-C reaches this process, which then ends the program and everything it started. The
    program dies with this process.

    Args:
        command: the program and its arguments.
        env: its environment variables; those of this process by default.
        given: its stdin.
        timeout: limit in seconds.

    Returns:
        its exit code and output.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took too long, and was ended.

    Example:
        >>> run_child(["echo", "here"]).stdout
        b'here\\n'
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, preexec_fn=bound_to_parent()
    ) as process:
        try:
            out, error = process.communicate(given, timeout)
        except BaseException:
            with deferred():
                _end(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, error)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has already exited
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
