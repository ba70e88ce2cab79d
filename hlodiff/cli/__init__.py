"""The command line: arguments, progress, printing, exit codes. One file for each command."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence

# Programs are trees of records without cycles: looking for cycles each 700 objects took 10 to 17 % of a long diff, and
# looking less often no memory that could be measured.
_MANY_OBJECTS = 100_000


def main() -> None:
    """Run the command line and leave the process with its exit code.

    The streams and signals are set up first: what follows imports click, and perhaps the whole differ.
    """
    from hlodiff.interrupts import exit_code, ignore, install

    gc.set_threshold(_MANY_OBJECTS)
    _open_streams()
    install()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt as error:  # during imports
        code = exit_code(error)
    ignore()
    _flush()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command, see `hlodiff.cli.entry.run`."""
    from hlodiff.cli.entry import run

    return run(arguments)


def _open_streams() -> None:
    """Lead closed standard streams to nowhere: otherwise the next file that is opened would be stdout."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _flush() -> None:
    """Write what is left; nobody reads a stream that cannot be written, and the verdict stands."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
