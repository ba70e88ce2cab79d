"""What a worker may use - time, memory, room for its log - and how the parent ends one that uses more.

Memory is what the process and all that it started hold (resident sets), not what it has reserved: XLA and libtpu
reserve tens of GiB, so RLIMIT_AS would end every worker. The parent looks twice a second. What grows faster is
ended by the kernel, which takes workers before their parent (`prefer_to_be_killed`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hlodiff.capture.process_tree import handles_below, held_memory, kill_all

LOOK_SECONDS = 0.5
"""How long the parent waits for workers before it looks at what they use."""

_STACK_SECONDS = 2.0  # how long a worker may take to write its Python stack before it is killed
_MOST_LOG = 256 << 20
_SHARE = 0.9  # of the machine's memory, where the configuration names no limit
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What each worker may use.

    Args:
        seconds: for one task; 0 for any time.
        memory: bytes; 0 where the machine does not tell.
        log: bytes that it may print.

    Example:
        >>> Allowance(1200, 1 << 30).log >> 20
        256
    """

    seconds: float
    memory: int
    log: int = _MOST_LOG


def allowance(seconds: float, memory: float | None) -> Allowance:
    """What workers of a configuration may use.

    Args:
        seconds: its `timeout`.
        memory: its `memory` in bytes; None for nine tenths of this machine's or this container's.
    """
    return Allowance(seconds, int(memory if memory is not None else _SHARE * machine_memory()))


@cache
def machine_memory() -> int:
    """Bytes of memory that this machine, or this container, has; 0 where it does not tell."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (OSError, ValueError):
        return 0
    for name in _GROUPS:
        with contextlib.suppress(OSError, ValueError):  # no such control group, or "max"
            found.append(int(Path(name).read_text()))
    return min(found)


def excess(allowed: Allowance, process: int, log: Path, started: float) -> str:
    """What a worker has used too much of.

    Args:
        allowed: the limits.
        process: its id.
        log: what it prints to.
        started: when its task began, in seconds of `time.monotonic`.

    Returns:
        how it is ended, in words; "" where it is within its limits.
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
    """Seconds as people say them.

    Example:
        >>> duration(1200), duration(90), duration(0.5)
        ('20 min', '90 s', '0.5 s')
    """
    return f"{seconds / 60:g} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:g} s"


def _gib(amount: int) -> str:
    return f"{amount / (1 << 30):.1f} GiB"


def end(process: subprocess.Popen[bytes]) -> None:
    """End a worker and all that it started; its log then shows where it was.

    SIGABRT first: `faulthandler` writes the Python stack in a signal handler, also where the interpreter is stuck.
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
    """Have the kernel send this process a signal when its parent dies, also while native code holds Python's lock."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # Linux alone has it
        ctypes.CDLL(None).prctl(1, int(number), 0, 0, 0)  # PR_SET_PDEATHSIG


def bound_to_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """What `subprocess` calls in a new process so that it dies with this one; it takes no lock there.

    Args:
        number: the signal that it gets then.

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
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return bind


def prefer_to_be_killed() -> None:
    """Have the kernel take this process before its parent where memory ends; and leave no core file anywhere."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")
