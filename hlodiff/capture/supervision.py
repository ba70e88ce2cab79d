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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


# --- A process with all that it started, and that these started: which they are, what they hold, how they end.
# Linux alone tells; elsewhere a process is known by itself.


_MOST = 4096  # processes of one tree; a fork bomb is ended long before
_LOOK = 0.5  # seconds
_ADOPT = 36  # PR_SET_CHILD_SUBREAPER


def adopt_orphans(adopted: bool = True) -> None:
    """Make processes whose parent ends children of this one, so that they stay in its tree.

    Args:
        adopted: False to end it.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_ADOPT, int(adopted), 0, 0, 0)


def tree_of(process: int) -> list[int]:
    """The ids of a process and of all below it, parents first.

    Args:
        process: its id; it need not live any more.

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
    """Bytes of memory that a process and all below it hold, and how many processes that are.

    Pages that several of them share count once for each, unless that is more than `most`: then they count once,
    which takes longer to find out.

    Args:
        process: its id.
        most: bytes; 0 where nothing hangs on it.

    Returns:
        0 bytes where that is not known.
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
    """Handles of all processes below one: they mean these processes, and no later one with the same id.

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
        handles: what `handles_below` gave.
    """
    for handle in handles:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


def end_adopted(seconds: float) -> None:
    """End all processes below this one, gently first.

    Args:
        seconds: how long they may take to end by themselves.
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
    """Whether one of them still lives; those that have ended are forgotten."""
    for one in processes:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(one, os.WNOHANG)
    return any(Path(f"/proc/{one}").exists() for one in processes)
