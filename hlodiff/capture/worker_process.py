"""A worker process, seen from the process that asks it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hlodiff.capture.environment import Setting

_TAIL = 4000
# What absl says before anything has gone wrong: its own start, and lines of severity I (INFO).
_CHATTER = re.compile(
    r"WARNING: (All log messages before|Logging before InitGoogle)|I\d{4} \d\d:\d\d:\d\d|I0000 00:00:"
)


@dataclass(slots=True, eq=False)
class Worker:
    """A process, the connection to it and what it is doing."""

    setting: Setting
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    log: Path
    request: Any = None
    log_start: int = 0  # where the log of the request begins

    def log_tail(self) -> str:
        with self.log.open("rb") as stream:
            stream.seek(max(self.log_start, self.log.stat().st_size - _TAIL))
            text = stream.read().decode(errors="replace")
        return "\n".join(line for line in text.splitlines() if not _CHATTER.match(line)).strip()

    def death(self) -> str:
        """How the process ended, in words."""
        code = self.process.wait()
        if code >= 0:
            return f"the worker left with exit code {code}"
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return f"the worker was ended by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")

    def end(self) -> None:
        """End the process and all that it has started."""
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):  # it is gone already
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
