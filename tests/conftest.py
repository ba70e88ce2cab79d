"""What holds for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from hlodiff.capture.environment import LIBTPU
from hlodiff.cli import run

# libtpu is here to compile; without this, a test that touches jax would ask for a TPU that is not there, for minutes.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ |= LIBTPU
# Tests play a developer's machine, also where CI runs them; those about CI set it.
os.environ.pop("CI", None)

# What a shell starts in the background ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process: its exit code, what it printed, and what it said on stderr."""

    def ask(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return ask
