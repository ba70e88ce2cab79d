"""Processes that hlodiff starts: the limits of a worker - time, memory, log size - and how the parent stops one.

Memory is the resident sets of the process and all its descendants, not reserved memory: XLA and libtpu reserve tens of
GiB, so RLIMIT_AS would kill every worker. The parent checks twice a second. If memory grows faster, the kernel kills
workers before their parent (`prefer_to_be_killed`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hlodiff.interrupts import deferred

LOOK_SECONDS = 0.5
"""How long the parent waits for workers before it checks their limits."""

_STACK_SECONDS = 2.0  # time for a worker to write its Python stack before it is killed
_MOST_LOG = 256 << 20
_SHARE = 0.9  # of the machine's memory, if the configuration sets no limit
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of each worker.

    Args:
        seconds: time for one task; 0 for no limit.
        memory: bytes; 0 if the machine's memory is unknown.
        log: maximum bytes of output.

    Example:
        >>> Allowance(1200, 1 << 30).log >> 20
        256
    """

    seconds: float
    memory: int
    log: int = _MOST_LOG


def allowance(seconds: float, memory: float | None) -> Allowance:
    """The limits of workers in a configuration.

    Args:
        seconds: its `timeout`.
        memory: its `memory` in bytes; None for nine tenths of this machine's or this container's.
    """
    return Allowance(seconds, int(memory if memory is not None else _SHARE * machine_memory()))


@cache
def machine_memory() -> int:
    """Bytes of memory of this machine, or this container; 0 if unknown."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (OSError, ValueError):
        return 0
    for name in _GROUPS:
        with contextlib.suppress(OSError, ValueError):  # no such control group, or "max"
            found.append(int(Path(name).read_text()))
    return min(found)


def excess(allowed: Allowance, process: int, log: Path, started: float) -> str:
    """The limit that a worker has exceeded.

    Args:
        allowed: the limits.
        process: id of the process.
        log: its log file.
        started: start of its task, in seconds of `time.monotonic`.

    Returns:
        how it is stopped, in words; "" if it is within its limits.
    """
    if allowed.seconds and time.monotonic() - started > allowed.seconds:
        return f"ended after {duration(allowed.seconds)} (the limit `timeout`)"
    held, processes = held_memory(process, allowed.memory)
    if allowed.memory and held > allowed.memory:
        who = "it" if processes == 1 else f"it and the {processes - 1} processes below it"
        return f"ended when {who} held {_gib(held)} of memory (the limit `memory` is {_gib(allowed.memory)})"
    with contextlib.suppress(OSError):
        if log.stat().st_size > allowed.log:
            return f"ended when it had printed {log.stat().st_size >> 20} MiB"
    return ""


def duration(seconds: float) -> str:
    """Format a duration.

    Example:
        >>> duration(1200), duration(90), duration(0.5)
        ('20 min', '90 s', '0.5 s')
    """
    return f"{seconds / 60:g} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:g} s"


def _gib(amount: int) -> str:
    return f"{amount / (1 << 30):.1f} GiB"


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a worker and everything that it started; its log then shows its Python stack.

    SIGABRT first: `faulthandler` writes the Python stack in a signal handler, even if the interpreter is stuck.
    """
    below = handles_below(process.pid)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STACK_SECONDS)
    kill_all(below)
    kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker, its process group and everything below it, and wait for it."""
    below = handles_below(process.pid)
    with contextlib.suppress(ProcessLookupError):  # it has already exited
        os.killpg(process.pid, signal.SIGKILL)
    kill_all(below)
    process.wait()


# ---- in the worker


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Let the kernel signal this process when its parent dies, even while native code holds Python's lock."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(1, int(number), 0, 0, 0)  # PR_SET_PDEATHSIG


def bound_to_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """A `preexec_fn` for `subprocess` that makes a new process die with this one; it takes no lock there.

    Args:
        number: the signal sent to it then.

    Example:
        >>> subprocess.run(["true"], preexec_fn=bound_to_parent()).returncode
        0
    """
    import ctypes

    try:
        prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    except (OSError, AttributeError):
        return lambda: None

    def bind() -> None:
        prctl(1, int(number), 0, 0, 0)
        if os.getppid() != parent:  # the parent died in between
            os._exit(1)

    return bind


def prefer_to_be_killed() -> None:
    """Let the kernel kill this process before its parent if memory runs out, and write no core file."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


# --- A process tree: its processes, their memory, and how to stop them. Only Linux gives this information; elsewhere a
# tree is only its root process.


_MOST = 4096  # processes of one tree; a fork bomb is stopped long before
_LOOK = 0.5  # seconds
_ADOPT = 36  # PR_SET_CHILD_SUBREAPER


def adopt_orphans(adopted: bool = True) -> None:
    """Make orphaned descendants children of this process, so that they stay in its tree.

    Args:
        adopted: False to stop adopting.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_ADOPT, int(adopted), 0, 0, 0)


def tree_of(process: int) -> list[int]:
    """The ids of a process and all its descendants, parents first.

    Args:
        process: its id; it may be dead.

    Example:
        >>> os.getpid() in tree_of(os.getpid())
        True
    """
    found = [process]
    for one in found:
        if len(found) > _MOST:
            break
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += map(int, (task / "children").read_bytes().split())
    return found


def held_memory(process: int, most: int = 0) -> tuple[int, int]:
    """Bytes of memory of a process and all its descendants, and their number.

    Shared pages count once for each process, unless the total exceeds `most`: then they count once, which takes longer
    to compute.

    Args:
        process: its id.
        most: bytes; 0 for no threshold.

    Returns:
        bytes and number of processes; 0 bytes if unknown.
    """
    tree = tree_of(process)
    held = sum(map(_resident, tree))
    if len(tree) > 1 and most and held > most:
        held = sum(_proportional(one) or _resident(one) for one in tree)
    return held, len(tree)


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _proportional(process: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def handles_below(process: int) -> list[int]:
    """Handles of all descendants of a process: they never refer to a later process with the same id.

    Args:
        process: its id.

    Returns:
        file descriptors for `kill_all`, which closes them.
    """
    found = []
    for one in tree_of(process)[1:]:
        with contextlib.suppress(OSError, AttributeError):
            found.append(os.pidfd_open(one))
    return found


def kill_all(handles: Iterable[int]) -> None:
    """Kill processes, and close their handles.

    Args:
        handles: the result of `handles_below`.
    """
    for handle in handles:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


def end_adopted(seconds: float) -> None:
    """Stop all descendants of this process, gently first.

    Args:
        seconds: time for them to exit by themselves.
    """
    until = time.monotonic() + seconds
    number = signal.SIGTERM
    while below := tree_of(os.getpid())[1:]:
        for one in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, number)
        until_look = time.monotonic() + _LOOK
        while time.monotonic() < until_look and _reap(below):
            time.sleep(_LOOK / 10)
        if time.monotonic() > until:
            if number == signal.SIGKILL:
                return
            number, until = signal.SIGKILL, until + seconds


def _reap(processes: Sequence[int]) -> bool:
    """Whether one of them is still alive; those that exited are reaped."""
    for one in processes:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(one, os.WNOHANG)
    return any(Path(f"/proc/{one}").exists() for one in processes)


# --- Runs another program, and ends it with everything it started if this process has to stop.

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
