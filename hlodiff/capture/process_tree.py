"""A process with all that it started, and that these started: which they are, what they hold, how they end.

Linux alone tells; elsewhere a process is known by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

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
