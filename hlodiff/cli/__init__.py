"""The command line: arguments, progress, printing, exit codes. One file for each command."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.cli.entry import COMMANDS as COMMANDS
    from hlodiff.cli.entry import FORMER as FORMER
    from hlodiff.cli.entry import GROUPS as GROUPS
    from hlodiff.cli.entry import program as program
    from hlodiff.cli.entry import run as run


if not TYPE_CHECKING:
    # Import a name on first use: streams and signals are set up before click and the differ are imported.
    __getattr__ = lazy_names(__spec__)

# Garbage collection threshold. Programs are acyclic trees of records: collecting every 700 objects took 10 to 17 % of a
# long diff, and collecting less often cost no measurable memory.
_MANY_OBJECTS = 100_000


def main() -> None:
    """Run the command line and exit with its exit code.

    Streams and signals are set up first, because the imports that follow (click, perhaps the whole differ) take time.
    """
    from hlodiff.interrupts import exit_code, ignore, install

    gc.set_threshold(_MANY_OBJECTS)
    _open_streams()
    install()
    try:
        from hlodiff.cli.entry import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt as error:  # during imports
        code = exit_code(error)
    ignore()
    _flush()
    sys.exit(code)


def _open_streams() -> None:
    """Open /dev/null for closed standard streams; without it the next file opened would become stdout."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _flush() -> None:
    """Flush both streams. A stream that cannot be written has no reader; the exit code does not change."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
