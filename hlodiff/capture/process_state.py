"""What a registered function may change of its worker process, and putting it back before the next function runs."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import Any

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


class ProcessState:
    """The state of a process once its modules are imported.

    Each function then finds the process as the imports have left it, whichever functions ran before: the folder,
    environment variables, JAX's configuration, signal handlers and timers, stdout and stderr, the recursion limit and
    the mask of new files.

    Args:
        log: a descriptor of the log that stdout and stderr lead to.
    """

    def __init__(self, log: int) -> None:
        self._log = log
        self._threads = set(threading.enumerate())
        self.keep()

    def keep(self) -> None:
        """Take the state of now for that of the imports."""
        self._folder = os.getcwd()  # noqa: PTH109 - exactly what chdir takes back
        self._variables = dict(os.environ)
        self._jax = _jax_values()
        self._handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self._recursion = sys.getrecursionlimit()
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        self._mask = os.umask(0)
        os.umask(self._mask)

    def restore(self) -> None:
        """Put back what has changed since."""
        with contextlib.suppress(OSError):  # the folder is gone: what needs it says so
            os.chdir(self._folder)
        if dict(os.environ) != self._variables:
            os.environ.clear()
            os.environ.update(self._variables)
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        sys.setrecursionlimit(self._recursion)
        os.umask(self._mask)
        self._restore_jax()
        self._open_output()

    def _restore_jax(self) -> None:
        changed = {
            name: self._jax[name] for name, value in _jax_values().items() if self._jax.get(name, value) != value
        }
        for name, value in changed.items():
            with contextlib.suppress(Exception):  # a setting that JAX no longer lets anybody change
                sys.modules["jax"].config.update(name, value)

    def _open_output(self) -> None:
        """Lead stdout and stderr to the log again where the user's code has closed or redirected them."""
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            if not _same_file(descriptor, self._log):
                os.dup2(self._log, descriptor)
            stream = self._streams[name]
            if stream is None or stream.closed:
                stream = open(descriptor, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
                self._streams[name] = stream
            setattr(sys, name, stream)

    def left_threads(self) -> str:
        """The Python threads that were started since the last call and still run, by their names; "" where none do."""
        new = [thread for thread in threading.enumerate() if thread not in self._threads]
        self._threads.update(new)
        return ", ".join(f"the thread {thread.name}" for thread in new)


def _same_file(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def _jax_values() -> dict[str, Any]:
    jax = sys.modules.get("jax")
    return dict(jax.config.values) if jax is not None else {}
